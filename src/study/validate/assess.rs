//! Judging a case: calibrate on the points given, predict the others.

use std::collections::BTreeMap;

use crate::config::{ConfigError, Override};

use super::fit::GoldenSection;
use super::{
    Calibrate, Calibrated, Case, CasePoints, ErrorSummary, MeasuredPoint, MeasuredTable, ModelErrors, OrderFound, Role,
    ValidatedPoint, Validation,
};

/// A run that is wanted: its predicted seconds.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What it sets.
    pub set: Vec<Override>,
    /// What it is, for messages and progress.
    pub label: String,
}

/// Judges `case` with each of `models`; `predict` gives the seconds of runs with a model, in their order.
///
/// What is calibrated is calibrated for each model on the same points, so that they are compared at their best.
///
/// # Errors
/// Those of `predict`; a parameter that cannot be calibrated; no point that is predicted.
pub fn assess<E: From<ConfigError>>(
    case: &Case,
    table: &MeasuredTable,
    points: &CasePoints,
    models: &[&str],
    mut predict: impl FnMut(&str, &[Ask]) -> Result<Vec<f64>, E>,
) -> Result<Validation, E> {
    if !points.all.iter().any(|point| point.role == Role::Predicted) {
        let why = "no row is left to be predicted: all are given, left out or not chosen";
        return Err(ConfigError::new(format!("{}: {why}", case.file)).into());
    }
    let counted: Vec<&MeasuredPoint> =
        points.all.iter().filter(|point| !matches!(point.role, Role::LeftOut(_))).collect();
    let mut judged: Vec<ValidatedPoint> = counted.iter().map(|point| unpredicted(point)).collect();
    let mut found = Vec::new();
    for (index, model) in models.iter().enumerate() {
        let mut fits = Fits::default();
        for calibrate in &case.calibrate {
            fits.add(case, calibrate, points, |asks| predict(model, asks))?;
        }
        let asks = counted.iter().map(|point| fits.ask(case, point, &points.columns)).collect::<Result<Vec<_>, _>>()?;
        let seconds = predict(model, &asks)?;
        for ((point, judged), seconds) in counted.iter().zip(&mut judged).zip(seconds) {
            judged.predicted_s.push(seconds * point.times);
        }
        found.push(errors(case, model, index, fits.found, &judged));
    }
    let mut left_out = BTreeMap::new();
    for point in &points.all {
        if let Role::LeftOut(because) = &point.role {
            *left_out.entry(because.clone()).or_default() += 1;
        }
    }
    Ok(Validation {
        mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
        case: case.name.clone(),
        about: case.about.clone(),
        measured: table.told.clone(),
        provenance: case.provenance.clone(),
        limit: case.limit,
        columns: points.columns.iter().filter(|column| case.shows(column)).cloned().collect(),
        plot: case.plot.clone(),
        models: found,
        points: judged,
        left_out,
    })
}

fn unpredicted(point: &MeasuredPoint) -> ValidatedPoint {
    ValidatedPoint {
        values: point.cells.clone(),
        given: point.role == Role::Given,
        measured_s: point.median(),
        measured_min_s: point.seconds[0],
        measured_max_s: point.seconds[point.seconds.len() - 1],
        runs: point.seconds.len(),
        predicted_s: Vec::new(),
    }
}

fn errors(case: &Case, model: &str, index: usize, calibrated: Vec<Calibrated>, all: &[ValidatedPoint]) -> ModelErrors {
    let predicted = || all.iter().filter(|point| !point.given);
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut orders: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for point in predicted() {
        let group = case.group.as_ref().map_or("", |column| point.values[column].as_str());
        orders.entry(group).or_default().push((point.measured_s, point.predicted_s[index]));
    }
    if let Some(column) = &case.group {
        for point in predicted() {
            groups.entry(point.values[column].clone()).or_default().push(point.error_percent(index));
        }
    }
    ModelErrors {
        model: model.to_owned(),
        calibrated,
        all: ErrorSummary::over(predicted().map(|point| point.error_percent(index))),
        groups: groups.into_iter().map(|(group, errors)| (group, ErrorSummary::over(errors))).collect(),
        order: OrderFound::of(orders.into_values()),
    }
}

/// What was calibrated so far.
#[derive(Debug, Default)]
struct Fits<'a> {
    done: Vec<&'a Calibrate>,
    found: Vec<Calibrated>,
}

impl<'a> Fits<'a> {
    /// The run of `point` with everything calibrated so far.
    fn ask(&self, case: &Case, point: &MeasuredPoint, columns: &[String]) -> Result<Ask, ConfigError> {
        let mut set = point.set.clone();
        for calibrate in self.done.iter().filter(|done| point.is_in(&done.applies_to)) {
            let key = &calibrate.key;
            let own = |found: &&Calibrated| {
                found.key == *key && found.by.iter().all(|(column, cell)| point.cells.get(column) == Some(cell))
            };
            let found = self.found.iter().find(own).ok_or_else(|| {
                let label = point.label(columns);
                ConfigError::new(format!(
                    "{}: {key} is not calibrated for {label}: no row that is given is like it",
                    case.file
                ))
            })?;
            set.push(setting(key, &found.value));
        }
        Ok(Ask { set, label: point.label(columns) })
    }

    /// Calibrates one more.
    fn add<E: From<ConfigError>>(
        &mut self,
        case: &Case,
        calibrate: &'a Calibrate,
        points: &CasePoints,
        mut predict: impl FnMut(&[Ask]) -> Result<Vec<f64>, E>,
    ) -> Result<(), E> {
        let wrong =
            |what: String| E::from(ConfigError::new(format!("{}: calibrating {}: {what}", case.file, calibrate.key)));
        let mut kinds: BTreeMap<Vec<&str>, Vec<&MeasuredPoint>> = BTreeMap::new();
        for point in points.all.iter().filter(|point| point.is_in(&calibrate.rows)) {
            kinds
                .entry(calibrate.by.iter().map(|column| point.cells[column].as_str()).collect())
                .or_default()
                .push(point);
        }
        if kinds.is_empty() {
            return Err(wrong("no row is as its rows say".to_owned()));
        }
        let [least, most] = calibrate.between;
        let mut searches: Vec<_> =
            kinds.into_iter().map(|(kind, points)| (kind, points, GoldenSection::new(least, most))).collect();
        let trial = |fits: &Fits, point: &MeasuredPoint, value: f64| -> Result<Ask, ConfigError> {
            let mut ask = fits.ask(case, point, &points.columns)?;
            ask.set.push(setting(&calibrate.key, &text(value, &calibrate.unit)));
            Ok(ask)
        };
        loop {
            // All searches make a step together, so that their runs go side by side.
            let mut asks = Vec::new();
            for (_, points, search) in &searches {
                let Some(value) = search.next() else { continue };
                for point in points {
                    asks.push(trial(self, point, value)?);
                }
            }
            if asks.is_empty() {
                break;
            }
            let mut seconds = predict(&asks)?.into_iter();
            for (_, points, search) in &mut searches {
                let Some(value) = search.next() else { continue };
                let off = points.iter().map(|point| {
                    let predicted = seconds.next().unwrap_or(f64::NAN) * point.times;
                    (predicted / point.median()).ln().powi(2)
                });
                let sum = off.sum();
                search.tell(value, sum);
            }
        }
        let mut found = Vec::new();
        for (kind, points, search) in searches {
            let by: BTreeMap<String, String> =
                calibrate.by.iter().cloned().zip(kind.into_iter().map(str::to_owned)).collect();
            if search.at_an_end() {
                let with: Vec<String> = by.iter().map(|(column, cell)| format!(" with {column}={cell}")).collect();
                return Err(wrong(format!(
                    "the best value{} lies at an end of between = [{least}, {most}]: give it more room",
                    with.concat()
                )));
            }
            let asks = points.iter().map(|point| trial(self, point, search.best())).collect::<Result<Vec<_>, _>>()?;
            let seconds = predict(&asks)?;
            let squares =
                seconds.iter().zip(&points).map(|(s, point)| (s * point.times / point.median() - 1.0).powi(2));
            let residual_percent = (squares.sum::<f64>() / points.len() as f64).sqrt() * 100.0;
            let value = text(search.best(), &calibrate.unit);
            found.push(Calibrated { key: calibrate.key.clone(), by, value, points: points.len(), residual_percent });
        }
        self.found.extend(found);
        self.done.push(calibrate);
        Ok(())
    }
}

/// A value to six digits, with its unit.
fn text(value: f64, unit: &str) -> String {
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let number = format!("{value:.digits$}");
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

fn setting(key: &str, value: &str) -> Override {
    Override::parse(&format!("{key}={value}")).expect("the key was looked at with the case")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Document;

    const CASE: &str = "about = \"a\"\napp = \"a.toml\"\nmeasured = \"m.csv\"\ntime = \"t\"\ngroup = \"kind\"\n\
        [columns]\nranks = \"run.ranks\"\n[limit]\nmean_percent = 3\nmax_percent = 6\n\
        [[calibrate]]\nkey = \"app.work\"\nunit = \"s\"\nrows = { ranks = 1 }\nby = [\"kind\"]\nbetween = [0.01, 1000]\n\
        [[calibrate]]\nkey = \"app.start\"\nunit = \"s\"\nrows = { ranks = 2, kind = \"a\" }\nbetween = [0.01, 1000]\n\
        [provenance]\napp = \"own\"\n\"app.work\" = \"b\"\n\"app.start\" = \"c\"\n";
    const HEAD: &str = "# source: s\n# machine: m\n# date: d\n# licence: l\nkind,ranks,t\n";

    /// A machine on which a run takes work / ranks, and a start if there are several ranks.
    fn model(asks: &[Ask]) -> Result<Vec<f64>, ConfigError> {
        let value = |ask: &Ask, key: &str| {
            let found = ask.set.iter().rev().find(|over| over.key.join(".") == key)?;
            found.value.as_str().map_or_else(
                || found.value.as_integer().map(|n| n as f64),
                |text| text.trim_end_matches(" s").parse().ok(),
            )
        };
        let run = |ask: &Ask| {
            let ranks = value(ask, "run.ranks").unwrap();
            let start = if ranks > 1.0 { value(ask, "app.start").unwrap_or(0.0) } else { 0.0 };
            value(ask, "app.work").unwrap_or(1.0) / ranks + start
        };
        Ok(asks.iter().map(run).collect())
    }

    fn judged(case: &str, rows: &str) -> Result<Validation, String> {
        let case = Case::load(&Document::parse("case.toml", case).unwrap(), "c").unwrap();
        let table = MeasuredTable::parse("m.csv", &format!("{HEAD}{rows}")).unwrap();
        let points = CasePoints::new(&case, &table).unwrap();
        assess(&case, &table, &points, &["mcpsim"], |_, asks| model(asks))
            .map_err(|error: ConfigError| error.to_string())
    }

    #[test]
    fn what_is_given_is_calibrated_and_the_rest_is_predicted_with_it() {
        // Work 100 and 40, start 5: predicted 30 and 15 where 33 and 12 were measured.
        let found = judged(CASE, "a,1,100\nb,1,40\na,2,55\na,4,33\nb,4,12\n").unwrap();
        let model = &found.models[0];
        let values: Vec<_> = model.calibrated.iter().map(|found| (found.key.as_str(), found.value.as_str())).collect();
        let near =
            |text: &str, wanted: f64| (text.trim_end_matches(" s").parse::<f64>().unwrap() / wanted - 1.0).abs() < 1e-4;
        assert!(near(values[0].1, 100.0) && near(values[1].1, 40.0) && near(values[2].1, 5.0), "{values:?}");
        assert_eq!((model.all.points, model.groups.len()), (2, 2));
        assert!((model.groups["a"].bias_percent + 100.0 / 11.0).abs() < 0.01, "{model:?}");
        assert!((model.groups["b"].max_percent - 25.0).abs() < 0.01, "{model:?}");
        let given: Vec<bool> = found.points.iter().map(|point| point.given).collect();
        assert_eq!(given, [true, true, true, false, false]);
        assert!(!found.passes());
    }

    #[test]
    fn what_cannot_be_calibrated_is_told() {
        for (case, rows, error) in [
            (
                CASE.to_owned(),
                "a,2,3\na,1,2\nc,4,7\n",
                "case.toml: app.work is not calibrated for kind=c ranks=4: no row that is given is like it",
            ),
            (CASE.to_owned(), "a,1,1\na,4,2\n", "case.toml: calibrating app.start: no row is as its rows say"),
            (
                CASE.to_owned(),
                "a,1,1\na,2,2\n",
                "case.toml: no row is left to be predicted: all are given, left out or not chosen",
            ),
            (
                CASE.replace("[0.01, 1000]\n[provenance", "[0.01, 10]\n[provenance"),
                "a,1,1\na,2,200\na,4,2\n",
                "case.toml: calibrating app.start: the best value lies at an end of between = [0.01, 10]: give it more room",
            ),
        ] {
            assert_eq!(judged(&case, rows).unwrap_err(), error);
        }
    }
}
