//! Least-squares fit of a formula to times (Levenberg and Marquardt), with standard errors of its unknowns.

use rmpfit::{MPConfig, MPError, MPFitter, MPMaxFev, MPResult};
use serde::{Deserialize, Serialize};

use crate::app::Equation;
use crate::config::ConfigError;

use super::Observations;
use super::observations::NumberColumn;

/// A formula and the times to which the formula was fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Regression {
    /// Formula as the user wrote it.
    pub formula: String,
    /// Meaning of the times, such as "predicted time".
    pub what: String,
    /// Unknowns of the formula in order. The list is empty if the formula has no unknowns and is only compared with the
    /// times.
    pub unknowns: Vec<Unknown>,
    /// Name of the quantity on the horizontal axis of the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// Fitted points, each with its time and the value of the formula.
    pub points: Vec<FittedPoint>,
    /// Curves of the formula over `x`, one for each set of values of the other quantities.
    pub curves: Vec<FittedCurve>,
}

/// Fitted unknown of a formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Unknown {
    /// Name of the unknown in the formula.
    pub name: String,
    /// Fitted value of the unknown, in base units such as seconds and bytes.
    pub value: f64,
    /// Standard error of the unknown; `None` if the formula has as many unknowns as points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// True if the unknown is a time.
    pub is_time: bool,
}

/// Point to which a formula is fitted, with the time and the value of the formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FittedPoint {
    /// Label with the values of the formula's quantities at this point.
    pub label: String,
    /// Text of the values of the quantities that are not on the horizontal axis.
    pub series: String,
    /// Value of the point on the horizontal axis.
    pub x: f64,
    /// Time to which the formula was fitted, seconds.
    pub time_s: f64,
    /// Value of the formula at this point, seconds.
    pub formula_s: f64,
}

/// Curve of the fitted formula in a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FittedCurve {
    /// Text of the values of the quantities that are not on the horizontal axis.
    pub series: String,
    /// Values on the horizontal axis, each with the value of the formula.
    pub points: Vec<(f64, f64)>,
}

/// Number of points on a curve of the formula.
const ALONG: usize = 120;
/// Start values of unknowns that the solver tries, because the magnitudes of a program's quantities differ widely.
const STARTS: [f64; 6] = [1.0, 1e-3, 1e-6, 1e3, 1e-9, -1.0];
/// Maximum number of unknowns in a formula.
const MOST_UNKNOWNS: usize = 20;

impl FittedPoint {
    /// Returns the difference between the observed time and the formula, in percent of the formula's value.
    pub fn percent(&self) -> f64 {
        (self.time_s / self.formula_s - 1.0) * 100.0
    }
}

impl Regression {
    /// Fits the formula `equation` to `observations`. Names in the formula without a column are unknowns.
    ///
    /// # Errors
    /// A column has no numbers, there are too few points, unknowns have no effect or cannot be determined, or the
    /// formula has no value at a point.
    pub fn fit(equation: &Equation, observations: &Observations) -> Result<Regression, ConfigError> {
        let wrong = |what: String| ConfigError::new(format!("formula \"{}\": {what}", equation.text()));
        let mut sides = Vec::new();
        for name in equation.names() {
            let variable = observations.variable(name).map_err(|error| wrong(error.to_string()))?;
            sides.push((name.as_str(), variable));
        }
        let mut problem = Problem { equation, sides, times: &observations.times, fault: None };
        let unknowns = problem.unknowns();
        let count = unknowns.len();
        if count > MOST_UNKNOWNS {
            return Err(wrong(format!("expected at most {MOST_UNKNOWNS} unknowns; found {count}")));
        }
        if count > observations.times.len() {
            let (points, s) = (observations.times.len(), if observations.times.len() == 1 { "" } else { "s" });
            let list = unknowns.join(", ");
            let known = observations.names().collect::<Vec<_>>().join(", ");
            return Err(wrong(format!(
                "{count} unknowns ({list}) need at least {count} points; there {} {points} point{s} (names that are known: {known})",
                if points == 1 { "is" } else { "are" }
            )));
        }
        let (values, errors) = problem.solve().map_err(wrong)?;
        let times = problem.times_among(&values);
        let unknowns = unknowns.iter().enumerate().map(|(index, name)| Unknown {
            name: (*name).to_owned(),
            value: values[index],
            standard_error: errors.as_ref().map(|errors| errors[index]),
            is_time: times.contains(&index),
        });
        let unknowns = unknowns.collect();
        let (x, points, curves) = problem.drawn(&values).map_err(wrong)?;
        let (formula, what) = (equation.text().to_owned(), observations.what.clone());
        Ok(Regression { formula, what, unknowns, x, points, curves })
    }

    /// Returns the root mean square of the differences between observed times and formula, in seconds.
    pub fn rms_s(&self) -> f64 {
        let squares = self.points.iter().map(|point| (point.time_s - point.formula_s).powi(2));
        (squares.sum::<f64>() / self.points.len().max(1) as f64).sqrt()
    }

    /// Returns the mean absolute difference between observed times and formula, in percent of the formula's value.
    pub fn mean_percent(&self) -> f64 {
        self.points.iter().map(|point| point.percent().abs()).sum::<f64>() / self.points.len().max(1) as f64
    }

    /// Returns the fitted point with the largest difference from the formula in percent.
    pub fn worst(&self) -> Option<&FittedPoint> {
        self.points.iter().max_by(|a, b| a.percent().abs().total_cmp(&b.percent().abs()))
    }
}

/// Least-squares problem that the solver minimises.
struct Problem<'a> {
    equation: &'a Equation,
    /// Names in the formula, each with its column. Names without a column are unknowns.
    sides: Vec<(&'a str, Option<NumberColumn>)>,
    times: &'a [f64],
    /// Reason why the formula had no value when it was last evaluated.
    fault: Option<String>,
}

impl<'a> Problem<'a> {
    fn unknowns(&self) -> Vec<&'a str> {
        self.sides.iter().filter(|(_, variable)| variable.is_none()).map(|(name, _)| *name).collect()
    }

    /// Returns the value of the formula at the point of index `point`.
    fn at(&self, point: usize, unknowns: &[f64]) -> Result<f64, String> {
        let mut left = unknowns.iter();
        let value = |(_, variable): &(&str, Option<NumberColumn>)| match variable {
            Some(variable) => variable.numbers[point],
            None => *left.next().expect("a value for each unknown"),
        };
        let values: Vec<f64> = self.sides.iter().map(value).collect();
        self.equation.value(&values).map_err(|error| match self.label(point) {
            label if label.is_empty() => error.to_string(),
            label => format!("{error} at {label}"),
        })
    }

    fn label(&self, point: usize) -> String {
        self.label_of(point, |_| true)
    }

    fn label_of(&self, point: usize, wanted: impl Fn(&str) -> bool) -> String {
        let pair = |(name, variable): &(&str, Option<NumberColumn>)| {
            variable.as_ref().filter(|_| wanted(name)).map(|variable| format!("{name}={}", variable.numbers[point]))
        };
        self.sides.iter().filter_map(pair).collect::<Vec<_>>().join(" ")
    }

    /// Returns the fitted unknowns, and the standard errors of the unknowns if the fit has more points than unknowns.
    fn solve(&mut self) -> Result<(Vec<f64>, Option<Vec<f64>>), String> {
        let count = self.unknowns().len();
        if count == 0 {
            (0..self.times.len()).try_for_each(|point| self.at(point, &[]).map(|_| ()))?;
            return Ok((Vec::new(), None));
        }
        let mut best: Option<(f64, Vec<f64>)> = None;
        for start in STARTS {
            let mut values = vec![start; count];
            // The least-squares solver restarts from its solution, because it derives bad scales from bad start values.
            for _ in 0..3 {
                if self.mpfit(&mut values).is_err() {
                    break;
                }
            }
            let squares = self.residuals(&values).map(|all| all.iter().map(|residual| residual.powi(2)).sum::<f64>());
            if let Ok(squares) = squares
                && squares.is_finite()
                && best.as_ref().is_none_or(|(least, _)| squares < least * (1.0 - 1e-9))
            {
                best = Some((squares, values));
            }
        }
        let Some((squares, values)) = best else {
            let fault = self.fault.take().unwrap_or_else(|| "the result is out of range".to_owned());
            return Err(format!("the formula has no value at any starting point of the fit: {fault}"));
        };
        let inverse = self.inverse(&values)?;
        let freedom = self.times.len() - count;
        let errors = (freedom > 0).then(|| {
            let variance = squares / freedom as f64;
            inverse.iter().map(|diagonal| (diagonal * variance).sqrt()).collect()
        });
        Ok((values, errors))
    }

    fn residuals(&self, values: &[f64]) -> Result<Vec<f64>, String> {
        (0..self.times.len()).map(|point| Ok(self.times[point] - self.at(point, values)?)).collect()
    }

    /// Returns the derivative of the formula with respect to each unknown at each point, by central differences.
    fn jacobian(&self, values: &[f64]) -> Result<Vec<Vec<f64>>, String> {
        let times = norm(self.times);
        let column = |unknown: usize| {
            let size = values[unknown].abs();
            let mut found = vec![0.0; self.times.len()];
            // The step of the difference quotient must change the formula's value. The value of an unknown near zero
            // does not determine a suitable step.
            for step in [size * 1e-6, size * 1e-3, 1e-12, 1e-9, 1e-6, 1e-3, 1.0].into_iter().filter(|step| *step > 0.0)
            {
                let moved = |by: f64| {
                    let mut moved = values.to_vec();
                    moved[unknown] += by;
                    moved
                };
                let (above, below) = (moved(step), moved(-step));
                let differences: Result<Vec<f64>, String> =
                    (0..self.times.len()).map(|point| Ok(self.at(point, &above)? - self.at(point, &below)?)).collect();
                let differences = differences?;
                found = differences.iter().map(|difference| difference / (2.0 * step)).collect();
                if norm(&differences) > 1e-8 * times {
                    break;
                }
            }
            Ok(found)
        };
        (0..values.len()).map(column).collect()
    }

    /// Returns the diagonal of the inverse of JᵀJ: the variances of the unknowns for residuals of variance one.
    fn inverse(&self, values: &[f64]) -> Result<Vec<f64>, String> {
        let unknowns = self.unknowns();
        let mut columns = self.jacobian(values)?;
        let norms: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
        if let Some(index) = norms.iter().position(|norm| *norm == 0.0) {
            let name = unknowns[index];
            return Err(format!("{name} has no effect: the formula gives the same times for all its values"));
        }
        for (column, norm) in columns.iter_mut().zip(&norms) {
            column.iter_mut().for_each(|entry| *entry /= norm);
        }
        // Gram–Schmidt orthogonalisation yields an upper triangular matrix R.
        let count = columns.len();
        let mut upper = vec![vec![0.0; count]; count];
        for index in 0..count {
            let before: Vec<Vec<f64>> = columns[..index].to_vec();
            for _ in 0..2 {
                for (row, other) in before.iter().enumerate() {
                    let part = dot(other, &columns[index]);
                    upper[row][index] += part;
                    columns[index].iter_mut().zip(other).for_each(|(entry, by)| *entry -= part * by);
                }
            }
            let rest = norm(&columns[index]);
            if rest < 1e-7 {
                let with: Vec<&str> =
                    (0..index).filter(|&row| upper[row][index].abs() > 1e-6).map(|row| unknowns[row]).collect();
                let (name, with) = (unknowns[index], with.join(", "));
                return Err(format!(
                    "{name} cannot be separated from {with} by these points: other unknowns compensate for its changes"
                ));
            }
            upper[index][index] = rest;
            columns[index].iter_mut().for_each(|entry| *entry /= rest);
        }
        // The rows of R⁻¹ yield the diagonal of (RᵀR)⁻¹.
        let diagonal = (0..count).map(|row| {
            let mut inverse = vec![0.0; count];
            inverse[row] = 1.0 / upper[row][row];
            for column in row + 1..count {
                let sum: f64 = (row..column).map(|middle| inverse[middle] * upper[middle][column]).sum();
                inverse[column] = -sum / upper[column][column];
            }
            dot(&inverse, &inverse) / norms[row].powi(2)
        });
        Ok(diagonal.collect())
    }

    /// Returns the unknowns that are times: the smallest set of unknowns whose common factor multiplies the formula.
    /// The method requires that all columns are plain numbers.
    fn times_among(&self, values: &[f64]) -> Vec<usize> {
        let plain = self.sides.iter().all(|(_, variable)| variable.as_ref().is_none_or(|variable| variable.plain));
        if !plain || values.len() > 8 {
            return Vec::new();
        }
        let mut sets: Vec<u32> = (1..1 << values.len()).collect();
        sets.sort_by_key(|set: &u32| set.count_ones());
        let doubles = |set: &u32| {
            let twice = |(index, value): (usize, &f64)| if set >> index & 1 == 1 { value * 2.0 } else { *value };
            let doubled: Vec<f64> = values.iter().enumerate().map(twice).collect();
            (0..self.times.len()).all(|point| match (self.at(point, values), self.at(point, &doubled)) {
                (Ok(once), Ok(twice)) => (twice - 2.0 * once).abs() <= 1e-9 * once.abs(),
                _ => false,
            })
        };
        let found = sets.iter().find(|set| doubles(set)).copied().unwrap_or(0);
        (0..values.len()).filter(|index| found >> index & 1 == 1).collect()
    }

    /// Returns the name of the quantity on the horizontal axis of the figure, the fitted points and the curves.
    #[allow(clippy::type_complexity)]
    fn drawn(&self, values: &[f64]) -> Result<(Option<String>, Vec<FittedPoint>, Vec<FittedCurve>), String> {
        let distinct = |numbers: &[f64]| {
            let mut sorted = numbers.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            sorted
        };
        let known = || self.sides.iter().filter_map(|(name, variable)| Some((*name, variable.as_ref()?)));
        let mut across: Option<(&str, &NumberColumn)> = None;
        for (name, variable) in known() {
            if across.is_none_or(|(_, most)| distinct(&variable.numbers).len() > distinct(&most.numbers).len()) {
                across = Some((name, variable));
            }
        }
        // Quantities with the same values as `x` are also on the horizontal axis.
        let on_axis = |name: &str| {
            let same = |(_, most): (&str, &NumberColumn)| {
                known().any(|(other, own)| other == name && own.numbers == most.numbers)
            };
            across.is_some_and(same)
        };
        let point = |index: usize| {
            Ok(FittedPoint {
                label: self.label(index),
                series: self.label_of(index, |name| !on_axis(name)),
                x: across.map_or(index as f64 + 1.0, |(_, variable)| variable.numbers[index]),
                time_s: self.times[index],
                formula_s: self.at(index, values)?,
            })
        };
        let points = (0..self.times.len()).map(point).collect::<Result<Vec<_>, String>>()?;
        let mut curves: Vec<FittedCurve> = Vec::new();
        let Some((x, variable)) = across else { return Ok((None, points, curves)) };
        for (index, point) in points.iter().enumerate() {
            if curves.iter().any(|curve| curve.series == point.series) {
                continue;
            }
            let own = points.iter().zip(&variable.numbers).filter(|(other, _)| other.series == point.series);
            let places = distinct(&own.map(|(_, x)| *x).collect::<Vec<_>>());
            let (first, last) = (places[0], places[places.len() - 1]);
            let ratio = first > 0.0 && last / first > 4.0;
            let along = |step: usize| {
                let part = step as f64 / (ALONG - 1) as f64;
                if ratio { first * (last / first).powf(part) } else { first + (last - first) * part }
            };
            // Whole numbers, such as numbers of ranks, are not interpolated to fractions. Between whole numbers the
            // formula may have no value.
            let whole = places.iter().all(|place| place.fract() == 0.0) && last - first <= 1000.0;
            let between: Vec<f64> = match whole {
                true => (0..=(last - first) as u32).map(|step| first + f64::from(step)).collect(),
                false => (0..ALONG).map(along).collect(),
            };
            let mut along: Vec<f64> = between.into_iter().chain(places).collect();
            along.sort_by(f64::total_cmp);
            along.dedup_by(|a, b| (*a - *b).abs() <= 1e-12 * b.abs());
            let at = |x: f64| {
                let mut left = values.iter();
                let value = |(name, variable): &(&str, Option<NumberColumn>)| match variable {
                    Some(_) if on_axis(name) => x,
                    Some(variable) => variable.numbers[index],
                    None => *left.next().expect("a value for each unknown"),
                };
                let values: Vec<f64> = self.sides.iter().map(value).collect();
                self.equation.value(&values).ok().map(|y| (x, y))
            };
            curves
                .push(FittedCurve { series: point.series.clone(), points: along.into_iter().filter_map(at).collect() });
        }
        Ok((Some(x.to_owned()), points, curves))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

impl MPFitter for Problem<'_> {
    fn eval(&mut self, params: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        match self.residuals(params) {
            Ok(residuals) => {
                deviates.copy_from_slice(&residuals);
                Ok(())
            }
            Err(fault) => {
                self.fault = Some(fault);
                Err(MPError::Eval)
            }
        }
    }

    fn number_of_points(&self) -> usize {
        self.times.len()
    }

    fn config(&self) -> &MPConfig {
        static PRECISE: MPConfig =
            MPConfig { ftol: 1e-14, xtol: 1e-14, gtol: 1e-14, max_fev: MPMaxFev::Limited(20_000), ..MPConfig::new() };
        &PRECISE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(formula: &str, table: &str) -> Result<Regression, String> {
        let observations = Observations::of_table("t.csv", table, None, &[]).unwrap();
        let equation = Equation::parse(formula).unwrap();
        Regression::fit(&equation, &observations).map_err(|error| error.to_string())
    }

    fn table(rows: &[(f64, f64)]) -> String {
        let rows = rows.iter().map(|(n, time)| format!("{n},{time}\n"));
        std::iter::once("n,time_s\n".to_owned()).chain(rows).collect()
    }

    #[test]
    fn the_two_times_of_the_cloud_study_give_its_two_unknowns() {
        let fit = fit("I=8720000; Tv*I/n + I*t*(n>1)", &table(&[(1.0, 7937.241), (2.0, 5731.212)])).unwrap();
        let found: Vec<(&str, String, bool)> =
            fit.unknowns.iter().map(|u| (u.name.as_str(), format!("{:.1}", u.value * 1e6), u.is_time)).collect();
        assert_eq!(found, [("Tv", "910.2".to_owned(), true), ("t", "202.1".to_owned(), true)]);
        assert!(fit.unknowns.iter().all(|unknown| unknown.standard_error.is_none()));
        assert!(fit.rms_s() < 1e-9, "{}", fit.rms_s());
    }

    #[test]
    fn standard_errors_are_those_of_linear_regression() {
        // By hand: mean of n 2.5, mean time 5, slope 9 / 5, residuals 0.2, -0.1, -0.4 and 0.3, variance s² = 0.3 / 2.
        let fit = fit("a + b*n", &table(&[(1.0, 2.5), (2.0, 4.0), (3.0, 5.5), (4.0, 8.0)])).unwrap();
        let b = &fit.unknowns[1];
        assert!((b.value - 1.8).abs() < 1e-7, "{b:?}");
        assert!((b.standard_error.unwrap() - (0.15f64 / 5.0).sqrt()).abs() < 1e-7, "{b:?}");
        let a = &fit.unknowns[0];
        assert!((a.value - 0.5).abs() < 1e-7, "{a:?}");
        assert!((a.standard_error.unwrap() - (0.15f64 * (0.25 + 6.25 / 5.0)).sqrt()).abs() < 1e-7, "{a:?}");
    }

    #[test]
    fn exponents_are_found_and_are_no_times() {
        let rows: Vec<(f64, f64)> = (1..8).map(|n| (f64::from(n), 3e-4 * f64::from(n).powf(1.7))).collect();
        let fit = fit("a * n ** b", &table(&rows)).unwrap();
        assert!((fit.unknowns[0].value - 3e-4).abs() < 1e-10 && (fit.unknowns[1].value - 1.7).abs() < 1e-6, "{fit:?}");
        assert_eq!(fit.unknowns.iter().map(|unknown| unknown.is_time).collect::<Vec<_>>(), [true, false]);
        assert_eq!((fit.x.as_deref(), fit.curves.len()), (Some("n"), 1));
    }

    #[test]
    fn a_formula_without_unknowns_is_compared() {
        let fit = fit("2*n", &table(&[(1.0, 2.0), (2.0, 4.4)])).unwrap();
        assert!(fit.unknowns.is_empty() && (fit.mean_percent() - 5.0).abs() < 1e-9);
        assert_eq!(fit.worst().unwrap().label, "n=2");
    }

    #[test]
    fn what_cannot_be_fitted_is_told() {
        let rows = table(&[(1.0, 2.0), (2.0, 4.4), (3.0, 5.0)]);
        for (formula, error) in [
            (
                "a + b*n + c*n**2 + d",
                "4 unknowns (a, b, c, d) need at least 4 points; there are 3 points (names that are known: n)",
            ),
            ("a*n + b*(n > 5)", "b has no effect: the formula gives the same times for all its values"),
            ("(a + b)*n", "b cannot be separated from a by these points: other unknowns compensate for its changes"),
            ("a*n + 1/(n - 1)", "the formula has no value at any starting point of the fit: division by zero at n=1"),
            ("1/(n - 2)", "division by zero at n=2"),
        ] {
            assert_eq!(fit(formula, &rows).unwrap_err(), format!("formula \"{formula}\": {error}"));
        }
        let error = fit("a*n", &table(&[])[..].replace("n,time_s\n", "n,time_s\nx,1\n")).unwrap_err();
        assert_eq!(error, "formula \"a*n\": expected numbers of one kind in n; found \"x\"");
    }
}
