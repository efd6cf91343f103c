//! What a platform file means, and the text of every error one can cause.

use super::*;

#[test]
fn the_default_platform_is_valid() {
    assert_eq!(Platform::embedded().name, "default");
}
