//! Study file: the application, the settings of all points, and the axes.

use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};

use crate::config::{ConfigError, Document, Override, json_schema};

use super::axis::over;
use super::{Asked, Axis, FitFormula, values};

/// Content of a study file. Relative paths start at the directory of the study file.
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// Name of the study; by default the name of the study file.
    pub name: Option<String>,
    /// Application file or real program.
    pub app: PathBuf,
    /// Platform file; by default the platform of the application, otherwise the built-in platform.
    pub platform: Option<PathBuf>,
    /// Settings that apply to all points of the study.
    pub set: Vec<Override>,
    /// Axes of the study.
    pub axes: Vec<Axis>,
    /// Number of seeds with which each point of the study runs.
    pub repeats: Option<u32>,
    /// Questions about the results of the study.
    pub questions: Questions,
}

/// Questions about the results of a study, as the study file states them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions {
    /// Keys of the application that change the method but not the work.
    pub choices: Vec<String>,
    /// `KEY=VALUE` that identifies the base combination of the speed-up.
    pub base: Option<String>,
    /// Least speed-up per doubling of the number of ranks that counts as paying off.
    pub gain: Option<f64>,
    /// Formula that is fitted to the predicted times.
    pub fit: Option<String>,
}

impl Questions {
    /// Returns the questions of `self`; a missing question is taken from `other`.
    #[must_use]
    pub fn or(self, other: Questions) -> Questions {
        Questions {
            choices: if self.choices.is_empty() { other.choices } else { self.choices },
            base: self.base.or(other.base),
            gain: self.gain.or(other.gain),
            fit: self.fit.or(other.fit),
        }
    }

    /// Parses the questions of a study. The formula of the fit is returned separately.
    ///
    /// # Errors
    /// A question of the study is invalid.
    pub fn read(&self) -> Result<(Asked, Option<FitFormula>), ConfigError> {
        if let Some(choice) = self.choices.iter().find(|choice| !choice.starts_with("app.")) {
            return Err(ConfigError::new(format!(
                "--choice {choice}: expected a key of the application such as app.nb; keys of the platform and the \
                 run are choices anyway"
            )));
        }
        let base = self.base.as_ref().map(|text| {
            let parts = text.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
            parts
                .filter(|(key, value)| !key.is_empty() && !value.is_empty())
                .ok_or_else(|| ConfigError::new(format!("--base {text}: expected KEY=VALUE such as run.ranks=1")))
        });
        if let Some(gain) = self.gain.filter(|gain| !(gain.is_finite() && *gain > 0.0)) {
            return Err(ConfigError::new(format!("--gain {gain}: expected a factor above zero such as 1.5")));
        }
        let formula = self.fit.as_deref().map(FitFormula::parse).transpose()?;
        let asked = Asked { choices: self.choices.clone(), base: base.transpose()?, gain: self.gain, fit: None };
        Ok((asked, formula))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyForm {
    name: Option<String>,
    #[serde(rename = "about")]
    _about: Option<String>,
    app: PathBuf,
    platform: Option<PathBuf>,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    vary: Table,
    #[serde(default)]
    zip: Vec<Table>,
    repeats: Option<u32>,
    #[serde(default)]
    choices: Vec<String>,
    base: Option<String>,
    gain: Option<f64>,
    fit: Option<String>,
}

impl StudyFile {
    /// Returns the JSON Schema of study files.
    pub fn schema() -> serde_json::Value {
        json_schema::<StudyForm>("study of mcpsim")
    }

    /// Returns true if `document` is a study file: it names an application, but is not an application itself.
    pub fn is_in(document: &Document) -> bool {
        document.table().get("app").is_some_and(Value::is_str)
    }

    /// Reads the study file in `document`.
    ///
    /// # Errors
    /// The content of the study file is invalid.
    pub fn load(document: &Document) -> Result<StudyFile, ConfigError> {
        let mut form: StudyForm = document.deserialize()?;
        let place = |error: ConfigError| ConfigError::new(format!("{}: {error}", document.name()));
        let set = leaves(std::mem::take(&mut form.set)).into_iter().map(|(key, value)| {
            // Keys in a study file have the same form as in the option --set.
            Override::parse(&format!("{key}=0")).map(|_| over(&key, &value))
        });
        let set = set.collect::<Result<_, _>>().map_err(place)?;
        let together = |table: Table| -> Result<Vec<_>, ConfigError> {
            leaves(table).into_iter().map(|(key, value)| column(key, value)).collect()
        };
        let mut axes = Vec::new();
        for (key, value) in leaves(std::mem::take(&mut form.vary)) {
            axes.push(column(key, value).and_then(|column| Axis::new(vec![column])).map_err(place)?);
        }
        for table in std::mem::take(&mut form.zip) {
            axes.push(together(table).and_then(Axis::new).map_err(place)?);
        }
        if let Some(0) = form.repeats {
            return Err(document.expected("repeats", "a whole number above zero", 0));
        }
        let StudyForm { name, app, platform, repeats, choices, base, gain, fit, .. } = form;
        let questions = Questions { choices, base, gain, fit };
        Ok(StudyFile { name, app, platform, set, axes, repeats, questions })
    }
}

/// Returns a key and its values. The values come from a list, from a text in the form of `--vary`, or from a single
/// value.
fn column(key: String, value: Value) -> Result<(String, Vec<Value>), ConfigError> {
    let values = match value {
        Value::Array(values) => values,
        Value::String(text) => values::parse(&key, &text)
            .map_err(|what| ConfigError::new(format!("values \"{text}\" of {key}: {what}")))?,
        other => vec![other],
    };
    Ok((key, values))
}

/// Returns the dotted keys of nested TOML tables with their values, in the order of the file.
pub(super) fn leaves(table: Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(leaves(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            value => found.push((key, value)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::StudyPlan;

    fn load(text: &str) -> Result<StudyFile, String> {
        let document = Document::parse("s.toml", text).unwrap();
        assert!(StudyFile::is_in(&document) || text.starts_with("app = {"), "{text}");
        StudyFile::load(&document).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_states_what_is_set_and_what_varies() {
        let file = load(
            "app = \"a.toml\"\nplatform = \"m.toml\"\nrepeats = 3\n[set]\napp.n = 5\nrun.model = \
             \"two-level\"\n[vary]\n\
             cores = 4\nplatform.inter_node.latency = \"1us..4us:x2\"\napp.k = [1, 2]\n\
             [[zip]]\napp.x = [1, 2]\nrun.ranks = \"4,8\"",
        )
        .unwrap();
        assert_eq!((file.app, file.platform, file.repeats), ("a.toml".into(), Some("m.toml".into()), Some(3)));
        let set: Vec<String> = file.set.into_iter().map(|over| over.text).collect();
        assert_eq!(set, ["app.n=5", "run.model=two-level"]);
        let plan = StudyPlan::new(file.axes).unwrap();
        assert_eq!(plan.columns(), ["platform.nct", "platform.inter_node.latency", "app.k", "app.x", "run.ranks"]);
        assert_eq!(plan.points(), 6 * 3 * 2 * 2);
        assert_eq!(plan.point(0).values, ["4,1,1", "1 us", "1", "1", "4"]);
        assert_eq!(plan.point(plan.points() - 1).values, ["1,1,4", "4 us", "2", "2", "8"]);
    }

    #[test]
    fn questions_of_the_command_line_come_before_those_of_the_file() {
        let file =
            load("app = \"a\"\nchoices = [\"app.nb\"]\nbase = \"run.ranks=1\"\ngain = 1.5\nfit = \"a/n\"").unwrap();
        let typed = Questions { gain: Some(2.0), ..Questions::default() };
        let (asked, formula) = typed.or(file.questions).read().unwrap();
        assert_eq!((asked.base, asked.gain), (Some(("run.ranks".to_owned(), "1".to_owned())), Some(2.0)));
        assert_eq!(asked.choices, ["app.nb"]);
        assert!(matches!(formula, Some(FitFormula::Given(equation)) if equation.text() == "a/n"));
        let wrong = |questions: Questions| questions.read().unwrap_err().to_string();
        assert_eq!(
            wrong(Questions { choices: vec!["run.ranks".to_owned()], ..Questions::default() }),
            "--choice run.ranks: expected a key of the application such as app.nb; keys of the platform and the run \
             are choices anyway"
        );
        assert_eq!(
            wrong(Questions { base: Some("1".to_owned()), ..Questions::default() }),
            "--base 1: expected KEY=VALUE such as run.ranks=1"
        );
        assert_eq!(
            wrong(Questions { gain: Some(-1.0), ..Questions::default() }),
            "--gain -1: expected a factor above zero such as 1.5"
        );
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_with_its_name() {
        for (text, error) in [
            ("app = \"a\"\nvari = 1", "unknown field \"vari\" in vari of s.toml, did you mean \"vary\"?"),
            ("app = \"a\"\ngain = \"2\"", "expected a number in gain of s.toml; found \"2\""),
            ("app = \"a\"\nrepeats = 0", "expected a whole number above zero in repeats of s.toml; found 0"),
            ("app = \"a\"\nvary.app.n = []", "s.toml: expected at least one value of app.n; found none"),
            (
                "app = \"a\"\nvary.n = 1",
                "s.toml: expected cores, or a dotted key such as platform.inter_node.latency, app.n or run.ranks; found \"n\"",
            ),
            (
                "app = \"a\"\nvary.app.n = \"1..2:up\"",
                "s.toml: values \"1..2:up\" of app.n: expected FIRST..LAST:WAY with the way log5 (5 values at equal ratios), lin5 (at equal distances), +2 or x2",
            ),
            (
                "app = \"a\"\nset.n = 1",
                "s.toml: --set n=0: not a dotted key, expected KEY=VALUE with a key such as platform.inter_node.latency, app.n or run.seed",
            ),
        ] {
            assert_eq!(load(text).unwrap_err(), error);
        }
    }
}
