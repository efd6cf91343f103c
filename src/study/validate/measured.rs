//! Measured runs in a CSV table whose comments state the source of the data.

use std::collections::BTreeMap;

use csv::{ErrorKind, ReaderBuilder, StringRecord};

use crate::config::ConfigError;

/// Keys that the comments of the table must contain.
const TOLD: [&str; 4] = ["source", "machine", "date", "licence"];

/// Table of text cells with named columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredTable {
    /// Name of the table's file in error messages.
    pub name: String,
    /// Keys and values in the comments of the table: `source`, `machine`, `date`, `licence` and others.
    pub told: BTreeMap<String, String>,
    columns: Vec<String>,
    rows: Vec<(u64, Vec<String>)>,
}

impl MeasuredTable {
    /// Parses the table of measured runs `text`: lines `# key: value`, a row of column names, then one row per run.
    /// `name` is the file name in error messages.
    ///
    /// # Errors
    /// Comments or rows of the table are missing, rows have different lengths, or a column has no name or a duplicate
    /// name.
    pub fn parse(name: &str, text: &str) -> Result<MeasuredTable, ConfigError> {
        let wrong = |what: String| ConfigError::new(format!("{name}{what}"));
        let told = comments(text);
        if let Some(missing) = TOLD.iter().find(|key| told.get(**key).is_none_or(String::is_empty)) {
            return Err(wrong(format!(": expected a comment \"# {missing}: …\" above the columns; found none")));
        }
        let mut reader = ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
        let columns = reader.headers().map_err(|error| wrong(explained(&error)))?.clone();
        let columns: Vec<String> = columns.iter().map(str::to_owned).collect();
        for (index, column) in columns.iter().enumerate() {
            if column.is_empty() || columns[..index].contains(column) {
                let what = if column.is_empty() { "no name" } else { "the name of another" };
                return Err(wrong(format!(": column {} has {what}", index + 1)));
            }
        }
        let mut rows = Vec::new();
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| wrong(explained(&error)))? {
            let line = record.position().map_or(0, csv::Position::line);
            rows.push((line, record.iter().map(str::to_owned).collect()));
        }
        if rows.is_empty() {
            return Err(wrong(": expected a row a measured run; found none".to_owned()));
        }
        Ok(MeasuredTable { name: name.to_owned(), told, columns, rows })
    }

    /// Returns the names of the table's columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the index of the table column with the name `column`.
    ///
    /// # Errors
    /// No column of the table has the name `column`. The error message names `asked`, which is the key that refers to
    /// the column.
    pub fn column(&self, column: &str, asked: &str) -> Result<usize, ConfigError> {
        self.columns.iter().position(|other| other == column).ok_or_else(|| {
            let all = self.columns.join(", ");
            ConfigError::new(format!("{}: no column \"{column}\", which {asked} names; found {all}", self.name))
        })
    }

    /// Iterates over the rows of the table with their line numbers.
    pub fn rows(&self) -> impl Iterator<Item = (u64, &[String])> {
        self.rows.iter().map(|(line, cells)| (*line, cells.as_slice()))
    }

    /// Parses a table cell as seconds.
    ///
    /// # Errors
    /// The table cell is not a finite positive number.
    pub fn seconds(&self, line: u64, column: usize, cell: &str) -> Result<f64, ConfigError> {
        let seconds = cell.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        seconds.ok_or_else(|| {
            ConfigError::new(format!(
                "{}:{line}: expected seconds above zero in column \"{}\"; found \"{cell}\"",
                self.name, self.columns[column]
            ))
        })
    }
}

/// Parses table comments of the form `# key: value`. A continuation line is indented by more than one blank.
fn comments(text: &str) -> BTreeMap<String, String> {
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    let mut last = String::new();
    for line in text.lines().map_while(|line| line.strip_prefix('#')) {
        let further = line.starts_with("  ");
        match line.split_once(':') {
            Some((key, value)) if !further && !key.trim().contains(' ') => {
                key.trim().clone_into(&mut last);
                told.insert(last.clone(), value.trim().to_owned());
            }
            _ => {
                if let Some(value) = told.get_mut(&last).filter(|_| further) {
                    *value = format!("{value} {}", line.trim());
                }
            }
        }
    }
    told
}

/// Formats an error of the CSV reader as ":LINE: DESCRIPTION".
fn explained(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!(":{line}: expected {expected_len} cells as in the first row; found {len}")
        }
        _ => format!(": not CSV: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# source: a book,\n#   page 7\n# machine: m\n# date: 2020\n# licence: none stated\n";

    fn parse(rows: &str) -> Result<MeasuredTable, String> {
        MeasuredTable::parse("m.csv", &format!("{HEAD}{rows}")).map_err(|error| error.to_string())
    }

    #[test]
    fn comments_rows_and_lines_are_read() {
        let measured = parse("n,time_s\n4, 1.5\n\"8\",2e-3\n").unwrap();
        assert_eq!(measured.told["source"], "a book, page 7");
        assert_eq!(measured.columns(), ["n", "time_s"]);
        let rows: Vec<_> = measured.rows().map(|(line, cells)| (line, cells.join("|"))).collect();
        assert_eq!(rows, [(7, "4|1.5".to_owned()), (8, "8|2e-3".to_owned())]);
        assert_eq!(measured.seconds(8, 1, "2e-3").unwrap(), 0.002);
    }

    #[test]
    fn what_is_no_table_of_runs_is_refused() {
        for (rows, error) in [
            ("", "m.csv: expected a row a measured run; found none"),
            ("n,time_s\n", "m.csv: expected a row a measured run; found none"),
            ("n,time_s\n1,2\n3\n", "m.csv:8: expected 2 cells as in the first row; found 1"),
            ("n,n\n1,2\n", "m.csv: column 2 has the name of another"),
            ("n,\n1,2\n", "m.csv: column 2 has no name"),
        ] {
            assert_eq!(parse(rows).unwrap_err(), error, "{rows}");
        }
        let error =
            MeasuredTable::parse("m.csv", "# source: a\n# machine: b\n# date: c\nn\n1\n").unwrap_err().to_string();
        assert_eq!(error, "m.csv: expected a comment \"# licence: …\" above the columns; found none");
    }

    #[test]
    fn a_time_is_a_number_above_zero() {
        let measured = parse("n,time_s\n1,2\n").unwrap();
        for cell in ["", "fast", "NaN", "inf", "-1", "0"] {
            let error = measured.seconds(7, 1, cell).unwrap_err().to_string();
            let expected = format!("m.csv:7: expected seconds above zero in column \"time_s\"; found \"{cell}\"");
            assert_eq!(error, expected);
        }
        let error = measured.column("ranks", "[columns] of case.toml").unwrap_err().to_string();
        assert_eq!(error, "m.csv: no column \"ranks\", which [columns] of case.toml names; found n, time_s");
    }
}
