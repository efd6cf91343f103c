//! Selection of rows in the table of measured runs by the values of their columns.

use serde::Deserialize;
use toml::Value;

/// Conditions on the columns of a table row. Without conditions every row is selected.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct RowChoice {
    columns: std::collections::BTreeMap<String, Cells>,
}

/// Values that a table cell may have.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub struct Cells(Vec<String>);

impl From<Value> for Cells {
    fn from(value: Value) -> Self {
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Cells(match value {
            Value::Array(values) => values.into_iter().map(text).collect(),
            other => vec![text(other)],
        })
    }
}

impl Cells {
    /// Creates a set of allowed values of a table cell.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        Cells(texts.into_iter().collect())
    }

    /// Returns true if `cell` is equal to an allowed value as text or as number, or is in an inclusive range such as
    /// `1..8`.
    fn holds(&self, cell: &str) -> bool {
        let number = cell.parse::<f64>().ok();
        self.0.iter().any(|wanted| {
            let same = |wanted: &str| wanted.trim().parse::<f64>().ok().zip(number);
            wanted == cell
                || same(wanted).is_some_and(|(a, b)| a == b)
                || wanted.split_once("..").is_some_and(|(from, to)| {
                    same(from).is_some_and(|(from, number)| from <= number)
                        && same(to).is_some_and(|(to, number)| number <= to)
                })
        })
    }
}

impl RowChoice {
    /// Adds the condition that the table cell in `column` is one of `cells`.
    pub fn and(mut self, column: &str, cells: Cells) -> Self {
        self.columns.insert(column.to_owned(), cells);
        self
    }

    /// Returns the table columns that have conditions.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Returns true if a table row is selected. `cell` returns the cell of the row in a column.
    pub fn holds<'a>(&self, cell: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.columns.iter().all(|(column, cells)| cell(column).is_some_and(|cell| cells.holds(cell)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_chosen_if_all_its_columns_hold_what_they_must() {
        let choice: RowChoice = toml::from_str("split = [\"slabs\", \"poles\"]\nranks = \"1..8\"\nn = 64").unwrap();
        let holds = |split: &str, ranks: &str, n: &str| {
            let cells = [("split", split.to_owned()), ("ranks", ranks.to_owned()), ("n", n.to_owned())];
            choice.holds(|column| cells.iter().find(|(name, _)| *name == column).map(|(_, cell)| cell.as_str()))
        };
        assert!(holds("slabs", "1", "64") && holds("poles", "8", "64.0"));
        for (split, ranks, n) in
            [("cubes", "1", "64"), ("slabs", "9", "64"), ("slabs", "many", "64"), ("slabs", "1", "65")]
        {
            assert!(!holds(split, ranks, n), "{split} {ranks} {n}");
        }
        assert!(RowChoice::default().holds(|_| None));
        assert!(!RowChoice::default().and("x", Cells::new(["1".to_owned()])).holds(|_| None));
    }
}
