//! Keys of a platform file without effect, because no level uses the required contention model.

use serde::{Deserialize, Serialize};

/// Keys that require [`Contention::Fair`](super::Contention::Fair), or `loads`, which requires
/// [`Contention::Measured`](super::Contention::Measured), stated under another contention model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadKeys {
    /// Table with the keys: a level, `cmp` or `node`.
    pub table: String,
    /// The keys, in the order of the documentation.
    pub keys: Vec<String>,
}

impl UnreadKeys {
    /// Collects the stated ones of `keys` in `table`; `None` if there are none.
    pub(super) fn stated(table: &str, keys: &[(&str, bool)]) -> Option<UnreadKeys> {
        let keys: Vec<String> = keys.iter().filter(|(_, stated)| *stated).map(|(key, _)| (*key).to_owned()).collect();
        (!keys.is_empty()).then(|| UnreadKeys { table: table.to_owned(), keys })
    }
}
