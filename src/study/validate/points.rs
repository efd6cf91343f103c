//! Points of a validation case, formed from the measured runs of the case. Runs with the same settings are repetitions
//! of one point.

use std::collections::BTreeMap;

use crate::config::{ConfigError, Override};

use super::{Case, Cells, MeasuredTable, RowChoice};

/// Role of a point in a validation case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The point is used for the calibration of parameters.
    Given,
    /// The point is predicted, and the prediction is compared with the point's measured times.
    Predicted,
    /// The point is not used in the validation, for the stated reason.
    LeftOut(String),
}

/// Point of a validation case: measured runs with the same settings.
#[derive(Clone, Debug)]
pub struct MeasuredPoint {
    /// Table cells that identify the point, by column.
    pub cells: BTreeMap<String, String>,
    /// Measured seconds of each run of the point, in increasing order.
    pub seconds: Vec<f64>,
    /// Line number of the point's first run in the table of measured runs.
    pub line: u64,
    /// Role of the point in the validation.
    pub role: Role,
    /// Settings of the point's runs, without calibrated parameters.
    pub set: Vec<Override>,
    /// Settings of a second run, whose time is subtracted; empty if there is no second run.
    pub minus: Vec<Override>,
    /// Factor that multiplies the simulated time.
    pub times: f64,
    /// Seconds that are added to the simulated time.
    pub plus: f64,
}

/// All points of a validation case.
#[derive(Clone, Debug)]
pub struct CasePoints {
    /// Columns that identify points, in the order of the table of measured runs.
    pub columns: Vec<String>,
    /// Points in the order of their first rows in the table of measured runs.
    pub all: Vec<MeasuredPoint>,
}

impl MeasuredPoint {
    /// Returns the predicted seconds that are compared with the measured times, if `seconds` are simulated.
    pub fn predicted(&self, seconds: f64) -> f64 {
        seconds * self.times + self.plus
    }

    /// Returns true if `choice` selects the table rows of this point.
    pub fn is_in(&self, choice: &RowChoice) -> bool {
        choice.holds(|column| self.cells.get(column).map(String::as_str))
    }

    /// Returns the median of the point's measured times.
    pub fn median(&self) -> f64 {
        let (count, middle) = (self.seconds.len(), self.seconds.len() / 2);
        if count % 2 == 1 { self.seconds[middle] } else { (self.seconds[middle - 1] + self.seconds[middle]) / 2.0 }
    }

    /// Returns a label of the point such as "split=slabs ranks=8" with the values of the columns `columns`.
    pub fn label<'a>(&self, columns: impl IntoIterator<Item = &'a String>) -> String {
        let pairs = columns.into_iter().filter_map(|column| Some(format!("{column}={}", self.cells.get(column)?)));
        pairs.collect::<Vec<_>>().join(" ")
    }
}

impl CasePoints {
    /// Creates the points of the validation case `case` from the measured runs in `table`.
    ///
    /// # Errors
    /// The table of measured runs lacks a column, or a cell is not a time.
    pub fn new(case: &Case, table: &MeasuredTable) -> Result<CasePoints, ConfigError> {
        let time = table.column(&case.time, &format!("time of {}", case.file))?;
        let mut apart = Vec::new();
        for column in case.told_apart_by() {
            apart.push((table.column(column, &case.file)?, column.to_owned()));
        }
        apart.sort_unstable();
        let mut all: Vec<MeasuredPoint> = Vec::new();
        for (line, cells) in table.rows() {
            let seconds = table.seconds(line, time, &cells[time])?;
            let own: BTreeMap<String, String> =
                apart.iter().map(|(index, column)| (column.clone(), cells[*index].clone())).collect();
            match all.iter_mut().find(|point| point.cells == own) {
                Some(point) => point.seconds.push(seconds),
                None => all.push(point(case, own, seconds, line)),
            }
        }
        all.iter_mut().for_each(|point| point.seconds.sort_by(f64::total_cmp));
        Ok(CasePoints { columns: apart.into_iter().map(|(_, column)| column).collect(), all })
    }

    /// Restricts the predicted points to those whose cell in `column` is one of `cells`.
    pub fn only(&mut self, column: &str, cells: &Cells) {
        let choice = RowChoice::default().and(column, cells.clone());
        self.all.retain(|point| point.role == Role::Given || point.is_in(&choice));
    }
}

fn point(case: &Case, cells: BTreeMap<String, String>, seconds: f64, line: u64) -> MeasuredPoint {
    let (set, minus) = (case.set.clone(), Vec::new());
    let mut point =
        MeasuredPoint { cells, seconds: vec![seconds], line, role: Role::Predicted, set, minus, times: 1.0, plus: 0.0 };
    if case.calibrate.iter().any(|calibrate| point.is_in(&calibrate.rows)) {
        point.role = Role::Given;
    } else if let Some(left) = case.leave_out.iter().find(|left| point.is_in(&left.rows)) {
        point.role = Role::LeftOut(left.because.clone());
    }
    let own: Vec<_> = case.when.iter().filter(|when| point.is_in(&when.rows)).collect();
    for when in own {
        point.times *= when.times;
        point.plus += when.plus;
        point.minus.extend(when.minus.iter().cloned());
        point.set.extend(when.set.iter().cloned());
    }
    for (column, key) in &case.columns {
        let setting = Override::parse(&format!("{key}={}", point.cells[column]));
        point.set.push(setting.expect("the key was looked at with the case"));
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Document;

    const CASE: &str = "about = \"a\"\napp = \"a.toml\"\nmeasured = \"m.csv\"\ntime = \"t\"\n\
        [columns]\nranks = \"run.ranks\"\n[limit]\nmean_percent = 3\nmax_percent = 6\n\
        [[when]]\nrows = { ranks = \"3..4\" }\nset = { app.k = 2 }\ntimes = 10\n\
        [[calibrate]]\nkey = \"app.x\"\nrows = { ranks = 1 }\nbetween = [1, 2]\n\
        [[leave_out]]\nrows = { ranks = 2 }\nbecause = \"noise\"\n\
        [provenance]\napp = \"own\"\n\"app.k\" = \"b\"\n\"app.x\" = \"c\"\n";
    const HEAD: &str = "# source: s\n# machine: m\n# date: d\n# licence: l\n";

    fn points(rows: &str) -> Result<CasePoints, String> {
        let case = Case::load(&Document::parse("case.toml", CASE).unwrap(), "c").unwrap();
        let table = MeasuredTable::parse("m.csv", &format!("{HEAD}{rows}")).unwrap();
        CasePoints::new(&case, &table).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_of_the_same_settings_are_one_point() {
        let points = points("t,ranks,note\n3,1,x\n1,2,x\n5,1,y\n4,1,z\n2,4,x\n6,4,x\n").unwrap();
        let found: Vec<_> = points.all.iter().map(|point| (point.seconds.clone(), point.median())).collect();
        assert_eq!(found, [(vec![3.0, 4.0, 5.0], 4.0), (vec![1.0], 1.0), (vec![2.0, 6.0], 4.0)]);
        let roles: Vec<_> = points.all.iter().map(|point| point.role.clone()).collect();
        assert_eq!(roles, [Role::Given, Role::LeftOut("noise".to_owned()), Role::Predicted]);
        let set: Vec<_> = points.all[2].set.iter().map(|over| over.text.as_str()).collect();
        assert_eq!((set, points.all[2].times), (vec!["app.k=2", "run.ranks=4"], 10.0));
        assert_eq!((points.all[0].times, points.columns), (1.0, vec!["ranks".to_owned()]));
    }

    #[test]
    fn wrong_tables_are_told_with_their_place() {
        assert_eq!(
            points("time,ranks\n1,1\n").unwrap_err(),
            "m.csv: no column \"t\", which time of case.toml names; found time, ranks"
        );
        assert_eq!(points("t,r\n1,1\n").unwrap_err(), "m.csv: no column \"ranks\", which case.toml names; found t, r");
        assert_eq!(
            points("t,ranks\n1,1\n-1,2\n").unwrap_err(),
            "m.csv:7: expected seconds above zero in column \"t\"; found \"-1\""
        );
    }
}
