//! Search for the formula of a run time: sums of terms n^i · log2(n)^j, the search space of Extra-P.
//!
//! Each candidate is fitted to relative differences by linear least squares. Its cross-validated error is that of a
//! point which did not take part in the fit, over all points. A candidate with more terms must halve this error.

use crate::app::Equation;
use crate::config::ConfigError;

use super::Observations;

/// Least number of different values of the quantity.
const LEAST_VALUES: usize = 5;
/// Greatest exponent of the quantity, in quarters.
const MOST_QUARTERS: i32 = 12;
/// Greatest exponent of the logarithm.
const MOST_LOGARITHMS: i32 = 2;
/// Relative error below which a candidate counts as exact.
const EXACT: f64 = 1e-9;

/// Formula of a fit: stated by the user, or found by a search.
#[derive(Clone, Debug)]
pub enum FitFormula {
    /// Formula that the user states.
    Given(Equation),
    /// Search for a formula of the column with this name.
    Search(String),
}

/// Term x^(quarters / 4) · log2(x)^logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    quarters: i32,
    logarithms: i32,
}

impl FitFormula {
    /// Parses a formula. `auto` means a search over the number of ranks, and `auto NAME` over the column NAME.
    ///
    /// # Errors
    /// Description of the syntax error.
    pub fn parse(text: &str) -> Result<FitFormula, ConfigError> {
        let mut words = text.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("auto"), None, None) => Ok(FitFormula::Search("n".to_owned())),
            (Some("auto"), Some(name), None) => Ok(FitFormula::Search(name.to_owned())),
            _ => Equation::parse(text).map(FitFormula::Given),
        }
    }

    /// Returns the formula, after a search if the user states none.
    ///
    /// # Errors
    /// The column of the search does not exist, or has too few values.
    pub fn equation(&self, observations: &Observations) -> Result<Equation, ConfigError> {
        match self {
            FitFormula::Given(equation) => Ok(equation.clone()),
            FitFormula::Search(name) => search(name, observations),
        }
    }
}

/// Finds the formula of `observations` in the column `name`.
fn search(name: &str, observations: &Observations) -> Result<Equation, ConfigError> {
    let wrong = |what: String| ConfigError::new(format!("formula \"auto\": {what}"));
    let Some(column) = observations.variable(name).map_err(|error| wrong(error.to_string()))? else {
        let known = observations.names().collect::<Vec<_>>().join(", ");
        return Err(wrong(format!("expected the name of a column after auto, one of {known}; found {name}")));
    };
    let mut different = column.numbers.clone();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if different.len() < LEAST_VALUES {
        let found = different.len();
        return Err(wrong(format!("expected at least {LEAST_VALUES} different values of {name}; found {found}")));
    }
    if different[0] < 1.0 {
        return Err(wrong(format!("expected values of {name} from 1; found {}", different[0])));
    }
    if let Some(time) = observations.times.iter().find(|time| time.is_nan() || **time <= 0.0) {
        return Err(wrong(format!("expected times above zero; found {time}")));
    }
    Equation::parse(&text(name, &found_terms(&column.numbers, &observations.times)))
}

/// Returns the terms of the best candidate, besides the constant.
fn found_terms(x: &[f64], times: &[f64]) -> Vec<Term> {
    let terms: Vec<Term> = (-MOST_QUARTERS..=MOST_QUARTERS)
        .flat_map(|quarters| (0..=MOST_LOGARITHMS).map(move |logarithms| Term { quarters, logarithms }))
        .filter(|term| *term != Term { quarters: 0, logarithms: 0 })
        .collect();
    let mut best = (error_of(&[], x, times).unwrap_or(f64::INFINITY), Vec::new());
    let singles = terms.iter().map(|term| vec![*term]);
    let pairs = terms.iter().enumerate().flat_map(|(index, a)| terms[index + 1..].iter().map(|b| vec![*a, *b]));
    for candidates in [singles.collect::<Vec<_>>(), pairs.collect()] {
        let mut nearest: Option<(f64, Vec<Term>)> = None;
        for candidate in candidates {
            let Some(error) = error_of(&candidate, x, times) else { continue };
            // Of equally good candidates, the search takes the simplest.
            let is_better = nearest.as_ref().is_none_or(|(least, chosen)| {
                error < least * 0.99 || error < least * 1.01 && simplicity(&candidate) < simplicity(chosen)
            });
            if is_better {
                nearest = Some((error, candidate));
            }
        }
        if let Some(nearest) = nearest.filter(|(error, _)| best.0 > EXACT && *error < best.0 / 2.0) {
            best = nearest;
        }
    }
    best.1
}

/// Sum of exponents, which is smaller for a simpler candidate. A whole exponent counts less than a fraction.
fn simplicity(terms: &[Term]) -> i32 {
    let of = |term: &Term| {
        let fraction = i32::from(term.quarters % 4 != 0) + i32::from(term.quarters % 2 != 0);
        term.quarters.abs() + 4 * term.logarithms + 2 * fraction
    };
    terms.iter().map(of).sum()
}

impl Term {
    fn value(self, x: f64) -> f64 {
        x.powf(f64::from(self.quarters) / 4.0) * x.log2().powi(self.logarithms)
    }

    fn text(self, name: &str) -> String {
        let power = match (self.quarters, self.quarters % 4, self.quarters % 2) {
            (0, _, _) => None,
            (4, _, _) => Some(name.to_owned()),
            (quarters, 0, _) => Some(format!("{name}**{}", whole(quarters / 4))),
            (quarters, _, 0) => Some(format!("{name}**({}/2)", quarters / 2)),
            (quarters, _, _) => Some(format!("{name}**({quarters}/4)")),
        };
        let logarithm = match self.logarithms {
            0 => None,
            1 => Some(format!("log2({name})")),
            count => Some(format!("log2({name})**{count}")),
        };
        power.into_iter().chain(logarithm).collect::<Vec<_>>().join("*")
    }
}

fn whole(exponent: i32) -> String {
    if exponent < 0 { format!("({exponent})") } else { exponent.to_string() }
}

/// Returns the formula with the unknowns a, b and c.
fn text(name: &str, terms: &[Term]) -> String {
    // The unknowns must differ from the name of the column.
    let unknowns = ["a", "b", "c", "d"].into_iter().filter(|unknown| *unknown != name);
    let parts = std::iter::once(None).chain(terms.iter().map(Some)).zip(unknowns);
    let part = |(term, unknown): (Option<&Term>, &str)| match term {
        None => unknown.to_owned(),
        Some(term) => format!("{unknown}*{}", term.text(name)),
    };
    let text = parts.map(part).collect::<Vec<_>>().join(" + ");
    // A formula without the column would have no horizontal axis.
    if terms.is_empty() { format!("{text} + 0*{name}") } else { text }
}

/// Returns the cross-validated relative error of a constant and `terms`; `None` if the points do not determine the fit.
///
/// The residual of a point that is left out is its residual in the whole fit, divided by one minus its leverage.
fn error_of(terms: &[Term], x: &[f64], times: &[f64]) -> Option<f64> {
    let count = terms.len() + 1;
    if x.len() <= count {
        return None;
    }
    // Orthonormal columns of the weighted problem, by the modified Gram–Schmidt method.
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(count);
    for index in 0..count {
        let value = |x: f64| if index == 0 { 1.0 } else { terms[index - 1].value(x) };
        let mut column: Vec<f64> = x.iter().zip(times).map(|(x, time)| value(*x) / time).collect();
        let before = norm(&column);
        for _ in 0..2 {
            for other in &columns {
                let part = dot(other, &column);
                column.iter_mut().zip(other).for_each(|(entry, by)| *entry -= part * by);
            }
        }
        let rest = norm(&column);
        if !rest.is_finite() || rest <= before * 1e-7 {
            return None;
        }
        column.iter_mut().for_each(|entry| *entry /= rest);
        columns.push(column);
    }
    // The weighted times are 1 at each point.
    let ones = vec![1.0; x.len()];
    let parts: Vec<f64> = columns.iter().map(|column| dot(column, &ones)).collect();
    let mut squares = 0.0;
    for point in 0..x.len() {
        let fitted: f64 = columns.iter().zip(&parts).map(|(column, part)| column[point] * part).sum();
        let leverage: f64 = columns.iter().map(|column| column[point].powi(2)).sum();
        if leverage > 1.0 - 1e-9 {
            return None;
        }
        squares += ((1.0 - fitted) / (1.0 - leverage)).powi(2);
    }
    Some((squares / x.len() as f64).sqrt())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(of: impl Fn(f64) -> f64) -> Result<String, String> {
        let rows = (0..8).map(|step| f64::from(1 << step)).map(|n| format!("{n},{}\n", of(n)));
        let table: String = std::iter::once("n,time_s\n".to_owned()).chain(rows).collect();
        let observations = Observations::of_table("t.csv", &table, None, &[]).unwrap();
        let found = FitFormula::parse("auto").unwrap().equation(&observations);
        found.map(|equation| equation.text().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_search_finds_the_terms_of_the_times() {
        assert_eq!(formula(|_| 3.0).unwrap(), "a + 0*n");
        assert_eq!(formula(|n| 2.0 + 0.5 * n).unwrap(), "a + b*n");
        assert_eq!(formula(|n| 1.0 + 1e-3 * n.powf(1.5)).unwrap(), "a + b*n**(3/2)");
        assert_eq!(formula(|n| 0.1 + 4.0 / n).unwrap(), "a + b*n**(-1)");
        assert_eq!(formula(|n| 4.0 + 0.2 * n * n.log2()).unwrap(), "a + b*n*log2(n)");
        assert_eq!(formula(|n| 1.0 + 8.0 / n + 0.25 * n.log2()).unwrap(), "a + b*n**(-1) + c*log2(n)");
    }

    #[test]
    fn scatter_of_the_times_adds_no_term() {
        // Differences of 1 % with alternating signs.
        let scatter = |n: f64| if (n.log2() as u32).is_multiple_of(2) { 1.01 } else { 0.99 };
        assert_eq!(formula(|n| (2.0 + 0.5 * n) * scatter(n)).unwrap(), "a + b*n");
        assert_eq!(formula(|n| 3.0 * scatter(n)).unwrap(), "a + 0*n");
    }

    #[test]
    fn a_search_needs_five_values() {
        let observations = Observations::of_table("t.csv", "n,time_s\n1,1\n2,2\n4,4\n", None, &[]).unwrap();
        let error = |text: &str| FitFormula::parse(text).unwrap().equation(&observations).unwrap_err().to_string();
        assert_eq!(error("auto"), "formula \"auto\": expected at least 5 different values of n; found 3");
        assert_eq!(error("auto m"), "formula \"auto\": expected the name of a column after auto, one of n; found m");
    }
}
