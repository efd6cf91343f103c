//! File `case.toml` of a validation case: measured runs, their machine and application, calibrated parameters, and the
//! allowed error.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::config::{ConfigError, Document, Override, json_schema};
use crate::units::SimSpan;

use super::super::axis::over;
use super::super::file::leaves;
use super::RowChoice;

/// Content of a validation case file. Relative paths start at the directory of the case file.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the case file in error messages.
    pub file: String,
    /// Name of the validation case.
    pub name: String,
    /// Purpose of the validation case in one or two sentences.
    pub about: String,
    /// Application file or real program whose runs were measured.
    pub app: PathBuf,
    /// Platform file; by default the platform of the application, otherwise the built-in platform.
    pub platform: Option<PathBuf>,
    /// CSV file of the measured runs.
    pub measured: PathBuf,
    /// Column of the CSV file that contains the measured seconds.
    pub time: String,
    /// Result of the application, in seconds, that is compared with the measured times; by default the time of the run.
    pub result: Option<String>,
    /// Column of the CSV file by whose values errors are also summarised.
    pub group: Option<String>,
    /// Machine on which program code is timed, if runs of the validation case time code. The predictions require this
    /// machine.
    pub timed_on: Option<String>,
    /// Columns of the CSV file, each with the setting that gets the value of the column.
    pub columns: Vec<(String, String)>,
    /// Settings that apply to all points of the validation case.
    pub set: Vec<Override>,
    /// Settings that apply to some points of the validation case.
    pub when: Vec<When>,
    /// Calibrated parameters of the validation case, in the order of calibration.
    pub calibrate: Vec<Calibrate>,
    /// Rows of the CSV file that are used neither for calibration nor for comparison.
    pub leave_out: Vec<LeftOut>,
    /// Runs with noise, from which the prediction intervals are computed.
    pub interval: Option<NoisyRuns>,
    /// Allowed prediction error, if the validation case has one.
    pub limit: Option<Limit>,
    /// Source of each parameter's value, such as a paper or a measurement.
    pub provenance: BTreeMap<String, String>,
    /// Content of the figures of the validation case.
    pub plot: Option<Plot>,
}

/// Additional runs of each point of a validation case with noise and different seeds.
#[derive(Clone, Debug)]
pub struct NoisyRuns {
    /// Number of runs with noise per point.
    pub runs: u32,
    /// Settings that only runs with noise use: the noise of the machine.
    pub set: Vec<Override>,
}

/// Settings that apply to some rows of the CSV file of measured runs.
#[derive(Clone, Debug)]
pub struct When {
    /// Rows of the CSV file to which the settings apply.
    pub rows: RowChoice,
    /// Settings of the selected rows.
    pub set: Vec<Override>,
    /// Settings of a second run, whose time is subtracted from the predicted time: the part of the run that was not
    /// measured.
    pub minus: Vec<Override>,
    /// Factor that multiplies the predicted time, if the simulation covers only a part of the measured run.
    pub times: f64,
    /// Seconds that are added to the predicted time, for measured parts of the run that are not simulated.
    pub plus: f64,
}

/// Parameter that is calibrated on measured runs. The parameter has a separate value for each combination of values in
/// the columns `by`. The calibrated value minimises the squared logarithms of the ratios between predicted and measured
/// times of `rows`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrate {
    /// Setting that gets the calibrated value of the parameter.
    pub key: String,
    /// Unit that is appended to the parameter's value: `s`, `GB/s`.
    #[serde(default)]
    pub unit: String,
    /// Rows of the CSV file on which the parameter is calibrated; these rows are not compared with predictions.
    pub rows: RowChoice,
    /// Rows of the CSV file whose runs use the parameter; by default all rows.
    #[serde(default)]
    pub applies_to: RowChoice,
    /// Columns of the CSV file for whose values the parameter has separate values.
    #[serde(default)]
    pub by: Vec<String>,
    /// Search interval of the parameter's calibration: two positive numbers.
    pub between: [f64; 2],
}

/// Rows of the CSV file that are not used.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Rows of the CSV file that are not used.
    pub rows: RowChoice,
    /// Reason why the rows are not used.
    pub because: String,
}

/// Allowed relative prediction error in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Limit of the mean absolute prediction error.
    pub mean_percent: f64,
    /// Limit of the greatest absolute prediction error.
    pub max_percent: f64,
    /// Greatest deviation of a point's measured runs from their median in percent. The limits of the error do not apply
    /// to points with a greater deviation, because no prediction can be close to all of their runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_spread_percent: Option<f64>,
}

/// Content of the figures of a validation case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Column of the CSV file that is the horizontal axis of the figures.
    pub x: String,
    /// Columns of the CSV file whose values form separate curves.
    #[serde(default)]
    pub curves: Vec<String>,
    /// Columns of the CSV file whose values form separate figures.
    #[serde(default)]
    pub figures: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    name: Option<String>,
    about: String,
    app: PathBuf,
    platform: Option<PathBuf>,
    measured: PathBuf,
    time: String,
    result: Option<String>,
    group: Option<String>,
    timed_on: Option<String>,
    columns: Table,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    when: Vec<WhenForm>,
    #[serde(default)]
    calibrate: Vec<Calibrate>,
    #[serde(default)]
    leave_out: Vec<LeftOut>,
    interval: Option<NoisyForm>,
    limit: Option<Limit>,
    #[serde(default)]
    provenance: BTreeMap<String, String>,
    plot: Option<Plot>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhenForm {
    rows: RowChoice,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    minus: Table,
    #[serde(default = "once")]
    times: f64,
    #[serde(default)]
    plus: Option<SimSpan>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoisyForm {
    runs: i64,
    set: Table,
}

/// Maximum number of runs with noise per point.
const MOST_RUNS: u32 = 10_000;

fn once() -> f64 {
    1.0
}

impl Case {
    /// Returns the JSON Schema of case files.
    pub fn schema() -> serde_json::Value {
        json_schema::<Form>("validation case of mcpsim")
    }

    /// Reads the validation case in `document`. `folder` is the default name of the case.
    ///
    /// # Errors
    /// The content of the case file is invalid.
    pub fn load(document: &Document, folder: &str) -> Result<Case, ConfigError> {
        let form: Form = document.deserialize()?;
        let place = |error: ConfigError| ConfigError::new(format!("{}: {error}", document.name()));
        let mut columns = Vec::new();
        for (column, value) in form.columns {
            let key = value.as_str().ok_or_else(|| {
                document.expected(
                    &format!("columns.{column}"),
                    "the key that gets the column's value, such as \"run.ranks\"",
                    &value,
                )
            })?;
            Override::parse(&format!("{key}=0")).map_err(place)?;
            columns.push((column, key.to_owned()));
        }
        let mut when = Vec::new();
        for (index, form) in form.when.into_iter().enumerate() {
            let above_zero = form.times.is_finite() && form.times > 0.0;
            if !above_zero {
                return Err(document.expected(&format!("when[{index}].times"), "a number above zero", form.times));
            }
            when.push(When {
                rows: form.rows,
                set: settings(form.set).map_err(place)?,
                minus: settings(form.minus).map_err(place)?,
                times: form.times,
                plus: form.plus.map_or(0.0, SimSpan::as_seconds),
            });
        }
        for (index, calibrate) in form.calibrate.iter().enumerate() {
            Override::parse(&format!("{}=0", calibrate.key)).map_err(place)?;
            let [least, most] = calibrate.between;
            if !(least > 0.0 && most > least && most.is_finite()) {
                let path = format!("calibrate[{index}].between");
                return Err(document.expected(
                    &path,
                    "two numbers above zero, the second greater",
                    format!("[{least}, {most}]"),
                ));
            }
        }
        let interval = match form.interval {
            None => None,
            Some(NoisyForm { runs, set }) => {
                match u32::try_from(runs).ok().filter(|runs| (2..=MOST_RUNS).contains(runs)) {
                    Some(runs) => Some(NoisyRuns { runs, set: settings(set).map_err(place)? }),
                    None => return Err(document.expected("interval.runs", format!("2 to {MOST_RUNS} runs"), runs)),
                }
            }
        };
        let limit = form.limit;
        let stated = limit.iter().flat_map(|limit| {
            let spread = limit.max_spread_percent.unwrap_or(1.0);
            [("mean_percent", limit.mean_percent), ("max_percent", limit.max_percent), ("max_spread_percent", spread)]
        });
        for (key, percent) in stated {
            if !(percent.is_finite() && percent > 0.0) {
                return Err(document.expected(&format!("limit.{key}"), "a number above zero", percent));
            }
        }
        let case = Case {
            file: document.name().to_owned(),
            name: form.name.unwrap_or_else(|| folder.to_owned()),
            about: form.about,
            app: form.app,
            platform: form.platform,
            measured: form.measured,
            time: form.time,
            result: form.result,
            group: form.group,
            timed_on: form.timed_on,
            columns,
            set: settings(form.set).map_err(place)?,
            when,
            calibrate: form.calibrate,
            leave_out: form.leave_out,
            interval,
            limit,
            provenance: form.provenance,
            plot: form.plot,
        };
        case.check_provenance(document)?;
        Ok(case)
    }

    /// Checks that the case file states the source of every parameter.
    fn check_provenance(&self, document: &Document) -> Result<(), ConfigError> {
        let set = self.set.iter().chain(self.when.iter().flat_map(|when| when.set.iter().chain(&when.minus)));
        let noise = self.interval.iter().flat_map(|interval| &interval.set);
        let set = set.chain(noise).map(|over| over.key.join("."));
        let calibrated = self.calibrate.iter().map(|calibrate| calibrate.key.clone());
        let plus = self.when.iter().filter(|when| when.plus > 0.0).map(|_| "plus".to_owned());
        let files = ["app".to_owned()].into_iter().chain(self.platform.as_ref().map(|_| "platform".to_owned()));
        let told = |key: &String| self.provenance.get(key).is_some_and(|text| !text.trim().is_empty());
        match files.chain(set).chain(calibrated).chain(plus).find(|key| !told(key)) {
            Some(key) => Err(document.missing("provenance", &key, "where it is from")),
            None => Ok(()),
        }
    }

    /// Returns true if result tables show a column of the CSV file: the column sets a key, or errors are grouped by the
    /// column. All other columns follow from the shown columns, or only select rows.
    pub fn shows(&self, column: &str) -> bool {
        self.columns.iter().any(|(own, _)| own == column) || self.group.as_deref() == Some(column)
    }

    /// Returns the columns of the CSV file that identify points: columns that set keys, select rows, or group errors.
    pub fn told_apart_by(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.columns.iter().map(|(column, _)| column.as_str()).collect();
        let rows = self.when.iter().map(|when| &when.rows).chain(self.leave_out.iter().map(|left| &left.rows));
        let rows = rows.chain(self.calibrate.iter().flat_map(|calibrate| [&calibrate.rows, &calibrate.applies_to]));
        all.extend(rows.flat_map(RowChoice::columns));
        all.extend(self.calibrate.iter().flat_map(|calibrate| &calibrate.by).map(String::as_str));
        all.extend(self.group.as_deref());
        if let Some(plot) = &self.plot {
            all.extend(plot.curves.iter().chain(&plot.figures).chain([&plot.x]).map(String::as_str));
        }
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|column| seen.insert(*column));
        all
    }
}

/// Returns the settings in a TOML table with dotted keys.
fn settings(table: Table) -> Result<Vec<Override>, ConfigError> {
    let setting =
        |(key, value): (String, toml::Value)| Override::parse(&format!("{key}=0")).map(|_| over(&key, &value));
    leaves(table).into_iter().map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "about = \"a\"\napp = \"a.toml\"\nmeasured = \"m.csv\"\ntime = \"time_s\"\n\
        [columns]\nranks = \"run.ranks\"\n[limit]\nmean_percent = 3\nmax_percent = 6\n[provenance]\napp = \"own\"\n";

    fn load(text: &str) -> Result<Case, String> {
        Case::load(&Document::parse("case.toml", text).unwrap(), "folder").map_err(|error| error.to_string())
    }

    #[test]
    fn a_case_is_named_after_its_folder_and_told_apart_by_all_columns_it_names() {
        let more = "[[when]]\nrows = { n = 4 }\nset = { app.k = 2 }\ntimes = 10\n\
            [[calibrate]]\nkey = \"app.x\"\nrows = { split = \"a\" }\nby = [\"kind\"]\nbetween = [1, 2]\n";
        let case = load(&format!("group = \"date\"\n{WHOLE}\"app.k\" = \"b\"\n\"app.x\" = \"c\"\n{more}")).unwrap();
        assert_eq!((case.name.as_str(), case.limit.unwrap().max_percent), ("folder", 6.0));
        let without = WHOLE.replace("[limit]\nmean_percent = 3\nmax_percent = 6\n", "");
        assert_eq!(load(&without).unwrap().limit, None);
        assert_eq!(case.told_apart_by(), ["ranks", "n", "split", "kind", "date"]);
        assert_eq!((case.when[0].set[0].text.as_str(), case.when[0].times), ("app.k=2", 10.0));
    }

    #[test]
    fn what_is_wrong_with_a_case_is_told_with_its_place() {
        let cases = [
            (WHOLE.replace("about", "abut"), "unknown field \"abut\" in abut of case.toml, did you mean \"about\"?"),
            (WHOLE.replace("time = \"time_s\"\n", ""), "missing field \"time\" in case.toml"),
            (
                WHOLE.replace("\"run.ranks\"", "3"),
                "expected the key that gets the column's value, such as \"run.ranks\" in columns.ranks of case.toml; found 3",
            ),
            (WHOLE.replace("run.ranks", "ranks"), "case.toml: --set ranks=0: not a dotted key"),
            (
                WHOLE.replace("= 6", "= nan"),
                "expected a number above zero in limit.max_percent of case.toml; found NaN",
            ),
            (
                WHOLE.replace("app = \"own\"", ""),
                "expected \"app\" in provenance of case.toml, where it is from; found none",
            ),
            (
                format!("{WHOLE}[set]\napp.n = 3\n"),
                "expected \"app.n\" in provenance of case.toml, where it is from; found none",
            ),
            (
                format!("{WHOLE}[[calibrate]]\nkey = \"app.x\"\nrows = {{}}\nbetween = [2, 1]\n"),
                "expected two numbers above zero, the second greater in calibrate[0].between of case.toml; found [2, 1]",
            ),
            (
                format!("{WHOLE}[interval]\nruns = 1\nset = {{}}\n"),
                "expected 2 to 10000 runs in interval.runs of case.toml; found 1",
            ),
            (
                format!("{WHOLE}[interval]\nruns = 9\nset = {{ platform.noise.nodes.deviation = 0.1 }}\n"),
                "expected \"platform.noise.nodes.deviation\" in provenance of case.toml, where it is from; found none",
            ),
            (
                format!("{WHOLE}[[when]]\nrows = {{}}\ntimes = 0\n"),
                "expected a number above zero in when[0].times of case.toml; found 0",
            ),
            (
                format!("{WHOLE}[[when]]\nrows = {{}}\nplus = \"2 s\"\n"),
                "expected \"plus\" in provenance of case.toml, where it is from; found none",
            ),
            (
                format!("{WHOLE}[[when]]\nrows = {{}}\nminus = {{ app.n = 0 }}\n"),
                "expected \"app.n\" in provenance of case.toml, where it is from; found none",
            ),
        ];
        for (text, start) in cases {
            let error = load(&text).unwrap_err();
            assert!(error.starts_with(start), "{error}\n{start}");
        }
    }
}
