//! Reader of exported JSON files: the Outcome of a run or the results of a study.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::ConfigError;
use crate::engine::Outcome;
use crate::study::Results;

/// Name of the expected input in messages of commands that read only exported JSON.
pub const RUN_OR_STUDY: &str = "the --json output of a run, or study.json of a sweep";

/// Content of an exported JSON file: a run or a study.
#[derive(Debug)]
pub enum Exported {
    /// Output of `--json` for a run.
    Run(Box<Outcome>),
    /// File `study.json` that a sweep has written.
    Study(Box<Results>),
}

impl Exported {
    /// Parses the exported JSON text `json`. Error messages contain the file name `name` and the expected input
    /// `expected`.
    ///
    /// # Errors
    /// The JSON text is neither a run nor a study, or was edited after mcpsim had written it.
    pub fn read(name: &str, json: &str, expected: &str) -> Result<Exported, ConfigError> {
        let wrong = |what: String| ConfigError::new(format!("{name}: {what}"));
        let value: Value = serde_json::from_str(json).map_err(|error| wrong(format!("not JSON: {error}")))?;
        match (value.get("points").is_some(), value.get("predicted_ps").is_some()) {
            (true, _) => typed(name, "the results of a study", json).map(Exported::Study),
            (false, true) => typed(name, "the outcome of a run", json).map(Exported::Run),
            (false, false) => Err(wrong(format!("expected {expected}; found no predicted_ps and no points"))),
        }
    }
}

fn typed<T: DeserializeOwned>(name: &str, what: &str, json: &str) -> Result<T, ConfigError> {
    serde_json::from_str(json).map_err(|error| ConfigError::new(format!("{name}: not {what}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{busy, json};

    #[test]
    fn an_outcome_reads_back_as_it_was_exported() {
        let outcome = busy();
        let Exported::Run(read) = Exported::read("run.json", &json(&outcome).unwrap(), RUN_OR_STUDY).unwrap() else {
            panic!()
        };
        assert_eq!(*read, outcome);
        let error = Exported::read("x", "[1]", RUN_OR_STUDY).unwrap_err().to_string();
        assert_eq!(
            error,
            "x: expected the --json output of a run, or study.json of a sweep; found no predicted_ps and no points"
        );
    }
}
