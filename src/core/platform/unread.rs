//! Keys of a platform file that nothing reads, as no level has the law that would.

use serde::{Deserialize, Serialize};

/// Keys that only [`LoadLaw::Fair`](super::LoadLaw::Fair) reads, or `loads`, which only
/// [`LoadLaw::Measured`](super::LoadLaw::Measured) does, stated where there is another law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadKeys {
    /// The table that states them: a level, `cmp` or `node`.
    pub table: String,
    /// The keys, in the order of the documentation.
    pub keys: Vec<String>,
}

impl UnreadKeys {
    /// Those of `keys` that are stated in `table`; none if none is.
    pub(super) fn stated(table: &str, keys: &[(&str, bool)]) -> Option<UnreadKeys> {
        let keys: Vec<String> = keys.iter().filter(|(_, stated)| *stated).map(|(key, _)| (*key).to_owned()).collect();
        (!keys.is_empty()).then(|| UnreadKeys { table: table.to_owned(), keys })
    }
}
