//! Table `[origin]` of a platform file: origins of the values of parameters.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use crate::config::{ConfigError, Document};

/// Origin of a parameter's value, the most certain origin first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterOrigin {
    /// The value was measured on the machine.
    Measured,
    /// The value is from a data sheet or a publication.
    Published,
    /// The value is assumed.
    Assumed,
    /// The file or an option states the value without an origin.
    Stated,
    /// No file states the value.
    #[serde(skip)]
    Default,
}

const EXPECTED: &str = "\"measured\", \"published\", \"assumed\" or \"stated\"";

/// Origins of the parameters of a platform file, by key or by the beginning of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, ParameterOrigin>);

impl Origins {
    /// Reads the table `[origin]` of `document`.
    ///
    /// # Errors
    /// The file does not state the key, or the origin has another name.
    pub(super) fn read(document: &Document, origin: Option<&BTreeMap<String, Value>>) -> Result<Origins, ConfigError> {
        let mut origins = Origins::default();
        for (key, value) in origin.into_iter().flatten() {
            origins.add(document, key.clone(), value)?;
        }
        Ok(origins)
    }

    fn add(&mut self, document: &Document, key: String, value: &Value) -> Result<(), ConfigError> {
        if let Value::Table(keys) = value {
            return keys.iter().try_for_each(|(name, value)| self.add(document, format!("{key}.{name}"), value));
        }
        if !is_stated(document.table(), &key) {
            return Err(document.expected("origin", "keys that the file states", format!("{key:?}")));
        }
        let origin = value.clone().try_into().map_err(|_| document.expected("origin", EXPECTED, value))?;
        self.0.insert(key, origin);
        Ok(())
    }

    /// Returns the origin of the parameter `key` of the platform file with the content `table`.
    pub fn of(&self, table: &toml::Table, key: &str) -> ParameterOrigin {
        if !is_stated(table, key) {
            return ParameterOrigin::Default;
        }
        let is_part = |mark: &str| key.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let marks = self.0.iter().filter(|(mark, _)| is_part(mark));
        marks.max_by_key(|(mark, _)| mark.len()).map_or(ParameterOrigin::Stated, |(_, origin)| *origin)
    }
}

/// Returns whether `table` states the key, or a size interval of the key's table does.
fn is_stated(table: &toml::Table, key: &str) -> bool {
    let (place, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut found = Some(table);
    for part in place.split('.').filter(|part| !part.is_empty()) {
        found = found.and_then(|table| table.get(part)?.as_table());
    }
    let of_interval = |interval: &Value| interval.get(name).is_some();
    found.is_some_and(|table| {
        let intervals = table.get("interval").and_then(Value::as_array);
        table.contains_key(name) || intervals.is_some_and(|intervals| intervals.iter().any(of_interval))
    })
}

/// Marks the parameter `key`, which an option sets, as stated, if the document has marks.
pub(super) fn mark_as_stated(table: &mut toml::Table, key: &[String]) {
    if let Some(marks) = table.get_mut("origin").and_then(Value::as_table_mut)
        && key[0] != "origin"
    {
        marks.insert(key.join("."), "stated".into());
    }
}
