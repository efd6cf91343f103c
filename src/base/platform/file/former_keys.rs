//! Former names of keys of the platform file, which mcpsim still reads.

use crate::config::{ConfigError, Document};
use crate::platform::Level;

/// Path of a table (empty for the whole file), former name of a key in the table, and present name of the key.
type FormerKey = (&'static [&'static str], &'static str, &'static str);

const LEVELS: [&str; 3] = [Level::ALL[0].name(), Level::ALL[1].name(), Level::ALL[2].name()];

const FORMER: [FormerKey; 8] = [
    (&[""], "bigsim", "two_level"),
    (&LEVELS, "law", "contention"),
    (&LEVELS, "connect", "connection_time"),
    (&LEVELS, "unexpected_copy", "unexpected_copy_bandwidth"),
    (&["cmp"], "memory", "memory_sharing"),
    (&["noise.system"], "law", "distribution"),
    (&["noise.network"], "law", "distribution"),
    (&["noise.nodes"], "law", "distribution"),
];

/// Replaces former names of keys in the document by the present names.
///
/// # Errors
/// A table has both the former and the present name of a key.
pub(super) fn rename(document: &mut Document) -> Result<(), ConfigError> {
    for (tables, former, name) in FORMER {
        for path in tables {
            document.rename(path, former, name)?;
        }
    }
    Ok(())
}

/// Returns the present name of the key of an override, without the first component `platform`.
pub(super) fn present(key: &[String]) -> Vec<String> {
    let mut key = key.to_vec();
    if let Some(first) = key.first_mut().filter(|first| *first == "bigsim") {
        *first = "two_level".to_owned();
    }
    if let Some((last, way)) = key.split_last_mut() {
        let way = way.join(".");
        let found = FORMER.iter().find(|(tables, former, _)| tables.contains(&way.as_str()) && last == former);
        found.into_iter().for_each(|(_, _, name)| *last = (*name).to_owned());
    }
    key
}
