//! Observed times and the named numbers on which the times depend. Observations are the input of a fit. Observations
//! come from a study's results or from a table.

use std::collections::BTreeMap;

use crate::config::{ConfigError, did_you_mean};
use crate::engine::Outcome;

use super::{Measure, Results};

/// Observed points, each with its time and named numbers.
#[derive(Clone, Debug)]
pub struct Observations {
    /// Meaning of the times: "predicted time", or the name of a table column.
    pub what: String,
    names: BTreeMap<String, Vec<Named>>,
    /// Time in seconds of each observed point.
    pub times: Vec<f64>,
}

/// Column of numbers under one of the column's names.
#[derive(Clone, Debug, PartialEq)]
struct Named {
    /// Unique full name of the column.
    full: String,
    /// Number at each observed point, or the first cell that is not a number.
    numbers: Result<Vec<f64>, String>,
    /// True if the numbers of the column have no unit.
    plain: bool,
}

/// Column of numbers that a formula uses.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberColumn {
    /// Number at each observed point.
    pub numbers: Vec<f64>,
    /// True if the numbers of the column have no unit.
    pub plain: bool,
}

/// Column names that the reader tries for the time, in order of priority.
const TIMES: [&str; 4] = ["predicted_s", "time_s", "measured_s", "seconds"];
/// Names of table columns that contain the number of ranks.
const RANKS: [&str; 4] = ["n", "ranks", "run.ranks", "processes"];
/// Function that returns a number from an Outcome.
type Number = fn(&Outcome) -> u64;
/// Numbers of an Outcome other than its time, by name.
const OF_OUTCOME: [(&str, Number); 6] = [
    ("nodes", |outcome| outcome.nct[0].into()),
    ("cmps", |outcome| outcome.nct[1].into()),
    ("cores", |outcome| outcome.nct[2].into()),
    ("ranks", |outcome| outcome.ranks.into()),
    ("messages", |outcome| outcome.messages.count),
    ("bytes", |outcome| outcome.messages.bytes),
];

impl Observations {
    /// Returns the points of a study that have a prediction as observations. A column of an axis has two names: the
    /// whole key with `_` for `.`, and the last word of the key. `n` is the number of ranks.
    pub fn of_study(results: &Results) -> Observations {
        let points: Vec<_> = results.points.iter().filter(|point| point.predicted_ps().is_some()).collect();
        let times = points.iter().filter_map(|point| point.predicted_ps()).map(|ps| ps as f64 / 1e12).collect();
        let mut observations = Observations { what: "predicted time".to_owned(), names: BTreeMap::new(), times };
        for key in results.columns() {
            observations.add_key(key, &points.iter().map(|point| point.values[key].as_str()).collect::<Vec<_>>());
        }
        for (name, number) in OF_OUTCOME {
            let outcomes = points.iter().filter_map(|point| point.outcome.as_deref());
            let numbers = outcomes.map(|outcome| number(outcome) as f64).collect();
            let column = Named { full: name.to_owned(), numbers: Ok(numbers), plain: true };
            if name == "ranks" {
                observations.add("n", &column);
            }
            // An axis that has the same values as a column of the Outcome replaces that column.
            if observations
                .names
                .get(name)
                .is_none_or(|known| known.iter().all(|other| other.numbers != column.numbers))
            {
                observations.add(name, &column);
            }
        }
        observations
    }

    /// Reads observations from the rows of a CSV table. Lines that start with `#` are ignored. `wanted` selects rows by
    /// column and cell.
    ///
    /// # Errors
    /// The table is malformed, a column is missing, or a time is not a number.
    pub fn of_table(
        name: &str,
        text: &str,
        time: Option<&str>,
        wanted: &[(String, String)],
    ) -> Result<Observations, ConfigError> {
        let wrong = |what: String| ConfigError::new(format!("{name}: {what}"));
        let mut reader =
            csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
        let heads: Vec<String> =
            reader.headers().map_err(|error| wrong(error.to_string()))?.iter().map(str::to_owned).collect();
        let column = |wanted: &str| {
            let known = || heads.iter().map(String::as_str);
            heads.iter().position(|head| head == wanted).ok_or_else(|| {
                let hint = did_you_mean(wanted, known());
                wrong(format!("no column \"{wanted}\"{hint}; it has {}", known().collect::<Vec<_>>().join(", ")))
            })
        };
        let time = match time {
            Some(time) => column(time)?,
            None => {
                let found = TIMES.iter().find_map(|time| heads.iter().position(|head| head == time));
                found.ok_or_else(|| {
                    let all = heads.join(", ");
                    wrong(format!(
                        "found none of the columns {}: select the column of times among {all} with --time",
                        TIMES.join(", ")
                    ))
                })?
            }
        };
        let wanted =
            wanted.iter().map(|(head, cell)| Ok((column(head)?, cell))).collect::<Result<Vec<_>, ConfigError>>()?;
        let (mut rows, mut times) = (Vec::new(), Vec::new());
        for record in reader.records() {
            let record = record.map_err(|error| wrong(error.to_string()))?;
            let cell = |index: usize| record.get(index).unwrap_or_default();
            // A table row without a time is a point without a prediction.
            if cell(time).is_empty() || wanted.iter().any(|(index, wanted)| cell(*index) != wanted.as_str()) {
                continue;
            }
            let line = record.position().map_or(0, csv::Position::line);
            let (_, seconds) = Measure::of(std::iter::once(cell(time)))
                .filter(|(measure, _)| matches!(measure, Measure::Number | Measure::Time))
                .ok_or_else(|| {
                    let (head, found) = (&heads[time], cell(time));
                    ConfigError::new(format!("{name}:{line}: expected a time in {head}, in seconds; found \"{found}\""))
                })?;
            times.push(seconds[0]);
            rows.push(record);
        }
        if times.is_empty() {
            let chosen: Vec<String> = wanted.iter().map(|(head, cell)| format!("{}={cell}", &heads[*head])).collect();
            let of = if chosen.is_empty() { String::new() } else { format!(": none has {}", chosen.join(" and ")) };
            return Err(wrong(format!("no row is left to fit{of}")));
        }
        let mut observations = Observations { what: heads[time].clone(), names: BTreeMap::new(), times };
        for (index, head) in heads.iter().enumerate().filter(|(index, _)| *index != time) {
            let cells: Vec<&str> = rows.iter().map(|row| row.get(index).unwrap_or_default()).collect();
            observations.add_key(head, &cells);
            if RANKS.contains(&head.as_str()) && head != "n" && !observations.names.contains_key("n") {
                observations.add("n", &named(head, &cells));
            }
        }
        Ok(observations)
    }

    /// Adds a column under its whole key and under the last word of the key.
    fn add_key(&mut self, key: &str, cells: &[&str]) {
        let column = named(key, cells);
        self.add(&column.full.clone(), &column);
        let short = key.rsplit('.').next().unwrap_or(key);
        if name_of(short) != column.full {
            self.add(&name_of(short), &column);
        }
    }

    fn add(&mut self, name: &str, column: &Named) {
        self.names.entry(name.to_owned()).or_default().push(column.clone());
    }

    /// Returns the column with the name `name`, if it exists.
    ///
    /// # Errors
    /// Several columns have the name `name`, or cells of the column are not numbers.
    pub fn variable(&self, name: &str) -> Result<Option<NumberColumn>, ConfigError> {
        let Some(columns) = self.names.get(name) else { return Ok(None) };
        if let [first, second, ..] = &columns[..] {
            let (first, second) = (&first.full, &second.full);
            return Err(ConfigError::new(format!("\"{name}\" is {first} or {second}: write which of the two")));
        }
        match &columns[0].numbers {
            Ok(numbers) => Ok(Some(NumberColumn { numbers: numbers.clone(), plain: columns[0].plain })),
            Err(cell) => Err(ConfigError::new(format!("expected numbers of one kind in {name}; found \"{cell}\""))),
        }
    }

    /// Returns the names of all columns of numbers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

fn named(key: &str, cells: &[&str]) -> Named {
    let read = Measure::of(cells.iter().copied());
    let plain = matches!(read, Some((Measure::Number, _)));
    let stranger = || {
        let none = |cell: &&&str| Measure::of(std::iter::once(**cell)).is_none();
        cells.iter().find(none).or(cells.first()).map_or(String::new(), |cell| (*cell).to_owned())
    };
    let numbers = read.map(|(_, numbers)| numbers).ok_or_else(stranger);
    Named { full: name_of(key), numbers, plain }
}

/// Converts the name of a column to a valid name in formulas.
fn name_of(key: &str) -> String {
    key.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "# a comment\nkind,processes,app.size,time_s\nmeasured,1,1 KiB,8\nmeasured,2,2 KiB,5\nother,4,big,3\n";

    fn table(time: Option<&str>, wanted: &[(&str, &str)]) -> Result<Observations, String> {
        let wanted: Vec<_> = wanted.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Observations::of_table("t.csv", TABLE, time, &wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn columns_of_a_table_have_names_and_processes_are_n() {
        let rows = table(None, &[("kind", "measured")]).unwrap();
        assert_eq!((rows.what.as_str(), &rows.times[..]), ("time_s", &[8.0, 5.0][..]));
        let numbers = |name: &str| rows.variable(name).unwrap().unwrap();
        assert_eq!(numbers("n"), NumberColumn { numbers: vec![1.0, 2.0], plain: true });
        assert_eq!(numbers("n"), numbers("processes"));
        assert_eq!(numbers("app_size"), NumberColumn { numbers: vec![1024.0, 2048.0], plain: false });
        assert_eq!(numbers("app_size"), numbers("size"));
        assert_eq!(rows.variable("t"), Ok(None));
        assert_eq!(table(None, &[]).unwrap().times.len(), 3);
    }

    #[test]
    fn what_is_wrong_with_a_table_is_told() {
        let all = table(None, &[]).unwrap();
        let error = all.variable("size").unwrap_err().to_string();
        assert_eq!(error, "expected numbers of one kind in size; found \"big\"");
        for (time, wanted, error) in [
            (
                Some("tme_s"),
                None,
                "t.csv: no column \"tme_s\", did you mean \"time_s\"?; it has kind, processes, app.size, time_s",
            ),
            (Some("kind"), None, "t.csv:3: expected a time in kind, in seconds; found \"measured\""),
            (None, Some(("kind", "none")), "t.csv: no row is left to fit: none has kind=none"),
        ] {
            assert_eq!(table(time, wanted.as_slice()).unwrap_err(), error);
        }
        let error = Observations::of_table("t.csv", "a,b\n1,2\n", None, &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "t.csv: found none of the columns predicted_s, time_s, measured_s, seconds: select the column of times among a, b with --time"
        );
        let error = Observations::of_table("t.csv", "n,app.n,time_s\n1,2,3\n", None, &[]).unwrap();
        assert_eq!(error.variable("n").unwrap_err().to_string(), "\"n\" is n or app_n: write which of the two");
    }
}
