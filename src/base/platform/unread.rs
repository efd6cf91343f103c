//! Keys of a platform file that have no effect, because no level uses the contention model that reads the keys.

use serde::{Deserialize, Serialize};

/// Keys that only [`Contention::Fair`](super::Contention::Fair) reads, or the key `loads`, which only
/// [`Contention::Measured`](super::Contention::Measured) reads. The platform file states the keys under another
/// contention model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UnreadKeys {
    /// Table of the platform file with the keys: a level, `cmp` or `node`.
    pub table: String,
    /// Names of the keys without effect, in the order of the documentation.
    pub keys: Vec<String>,
}

impl UnreadKeys {
    /// Returns the keys of `keys` that the table `table` states; `None` if the table states none of these keys.
    pub(super) fn stated(table: &str, keys: &[(&str, bool)]) -> Option<UnreadKeys> {
        let keys: Vec<String> = keys.iter().filter(|(_, stated)| *stated).map(|(key, _)| (*key).to_owned()).collect();
        (!keys.is_empty()).then(|| UnreadKeys { table: table.to_owned(), keys })
    }
}
