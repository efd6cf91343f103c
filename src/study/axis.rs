//! Axis of a study: one key, or several keys that vary together, and the values of the keys at each step.

use toml::Value;

use crate::config::{ConfigError, Override};

use super::values;

/// Key of a study's axis whose values are core counts; a core count stands for all machine shapes with that number of
/// cores.
const CORES: &str = "cores";

/// Axis of a study: one or more keys, and the values of the keys at each step.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    keys: Vec<String>,
    /// Values of the axis at each step, one value per key.
    steps: Vec<Vec<Value>>,
}

impl Axis {
    /// Parses an axis from `KEY=VALUES`, or from `KEY=VALUES & KEY=VALUES` for keys that vary together.
    ///
    /// # Errors
    /// A key or value of the axis is invalid, or keys that vary together have different numbers of values.
    pub fn parse(text: &str) -> Result<Axis, ConfigError> {
        let named = |error: ConfigError| ConfigError::new(format!("--vary {text}: {error}"));
        let mut columns = Vec::new();
        for part in text.split('&') {
            let (key, list) = part.split_once('=').ok_or_else(|| {
                named(ConfigError::new("no \"=\", expected KEY=VALUES such as app.n=64,128 or run.ranks=1..64:x2"))
            })?;
            let key = key.trim();
            known(key).map_err(named)?;
            let values = values::parse(key, list.trim()).map_err(|what| {
                // If the axis has several keys, the error message names the key.
                let of = if text.contains('&') { format!("values of {key}: ") } else { String::new() };
                named(ConfigError::new(format!("{of}{what}")))
            })?;
            columns.push((key.to_owned(), values));
        }
        Axis::new(columns).map_err(named)
    }

    /// Creates an axis from keys and the values of each key.
    ///
    /// # Errors
    /// The errors are those of [`Axis::parse`].
    pub fn new(columns: Vec<(String, Vec<Value>)>) -> Result<Axis, ConfigError> {
        let columns: Vec<(String, Vec<Value>)> = columns
            .into_iter()
            .map(|(key, values)| {
                known(&key)?;
                if key != CORES {
                    return Ok((key, values));
                }
                let counts = values::core_counts(&values)?;
                Ok(("platform.nct".to_owned(), counts.into_iter().flat_map(values::shapes).collect()))
            })
            .collect::<Result<_, ConfigError>>()?;
        let length = columns.first().map_or(0, |(_, values)| values.len());
        if let Some((key, _)) = columns.iter().find(|(_, values)| values.is_empty()) {
            return Err(ConfigError::new(format!("expected at least one value of {key}; found none")));
        }
        if let Some((key, values)) = columns.iter().find(|(_, values)| values.len() != length) {
            let (first, found) = (&columns[0].0, values.len());
            return Err(ConfigError::new(format!(
                "expected {length} values of {key}, as many as of {first}, because both keys vary together; found \
                 {found}"
            )));
        }
        let keys: Vec<String> = columns.iter().map(|(key, _)| key.clone()).collect();
        let step = |index: usize| columns.iter().map(|(_, values)| values[index].clone()).collect();
        Ok(Axis { keys, steps: (0..length).map(step).collect() })
    }

    /// Creates a study axis of `count` consecutive seeds, the first of which is `first`.
    pub fn seeds(first: u64, count: u32) -> Axis {
        let last = first.saturating_add(count.into());
        let seed = |seed| vec![Value::Integer(i64::try_from(seed).unwrap_or(i64::MAX))];
        Axis { keys: vec!["run.seed".to_owned()], steps: (first..last).map(seed).collect() }
    }

    /// Returns the keys that vary together on this axis.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Returns the number of steps of the axis, at least one.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Returns the values of the axis at `step` as text, in the order of the keys.
    pub fn texts(&self, step: usize) -> impl Iterator<Item = String> {
        self.steps[step].iter().map(text)
    }

    /// Returns the values of the axis at `step` as overrides of settings.
    pub fn overrides(&self, step: usize) -> impl Iterator<Item = Override> {
        self.keys.iter().zip(&self.steps[step]).map(|(key, value)| over(key, value))
    }
}

/// Returns the override that sets `key` to `value`.
pub(super) fn over(key: &str, value: &Value) -> Override {
    let key_parts = key.split('.').map(str::to_owned).collect();
    Override { key: key_parts, value: value.clone(), text: format!("{key}={}", text(value)) }
}

/// Formats a TOML string without quotes, and other TOML values as in a file.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Checks that `key` has the form of a setting's name.
fn known(key: &str) -> Result<(), ConfigError> {
    if key == CORES {
        return Ok(());
    }
    // Keys of an axis have the same form as in the option --set.
    Override::parse(&format!("{key}=0")).map(|_| ()).map_err(|_| {
        let expected = "cores, or a dotted key such as platform.inter_node.latency, app.n or run.ranks";
        ConfigError::new(format!("expected {expected}; found \"{key}\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_go_together_take_their_values_side_by_side() {
        let axis = Axis::parse("app.n=64,128 & run.ranks=8,64").unwrap();
        assert_eq!((axis.keys(), axis.steps()), (&["app.n".to_owned(), "run.ranks".to_owned()][..], 2));
        let texts: Vec<String> = axis.overrides(1).map(|over| over.text).collect();
        assert_eq!(texts, ["app.n=128", "run.ranks=64"]);
        assert_eq!(axis.texts(0).collect::<Vec<_>>(), ["64", "8"]);
        assert_eq!(
            Axis::parse("app.n=64,128&run.ranks=8").unwrap_err().to_string(),
            "--vary app.n=64,128&run.ranks=8: expected 2 values of run.ranks, as many as of app.n, because both \
             keys vary together; found 1"
        );
    }

    #[test]
    fn cores_stand_for_all_shapes_of_that_many() {
        let axis = Axis::parse("cores=4").unwrap();
        assert_eq!(axis.keys(), ["platform.nct"]);
        let shapes: Vec<String> = (0..axis.steps()).flat_map(|step| axis.texts(step)).collect();
        assert_eq!(shapes, ["4,1,1", "2,2,1", "2,1,2", "1,4,1", "1,2,2", "1,1,4"]);
        assert_eq!(Axis::parse("cores=1,2").unwrap().steps(), 4);
        assert!(Axis::parse("cores=0").unwrap_err().to_string().ends_with("in cores; found 0"));
    }

    #[test]
    fn malformed_axes_are_explained() {
        let key = "expected cores, or a dotted key such as platform.inter_node.latency, app.n or run.ranks; found";
        for (text, error) in [
            ("app.n", "no \"=\", expected KEY=VALUES such as app.n=64,128 or run.ranks=1..64:x2".to_owned()),
            ("n=5", format!("{key} \"n\"")),
            ("foo.n=5", format!("{key} \"foo.n\"")),
            ("app..n=5", format!("{key} \"app..n\"")),
            ("app.n=1..fast", "expected a number, with its unit if it has one; found \"fast\"".to_owned()),
            ("app.n=64:128", "expected values, or a range such as 64..128; in quotes it is text".to_owned()),
            ("app.n=1,2 & app.m=5..1", "values of app.m: expected FIRST below LAST".to_owned()),
        ] {
            assert_eq!(Axis::parse(text).unwrap_err().to_string(), format!("--vary {text}: {error}"));
        }
    }

    #[test]
    fn seeds_follow_each_other() {
        let seeds = Axis::seeds(5, 3);
        assert_eq!((0..3).flat_map(|step| seeds.texts(step)).collect::<Vec<_>>(), ["5", "6", "7"]);
    }
}
