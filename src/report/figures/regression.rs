//! Figure of a fitted formula: curves of the formula, and dots at the times to which it was fitted.

use crate::study::{Measure, Regression};

use super::axis::PlotAxis;
use super::canvas::{BLACK, Dash, Figure, GRAY, PALETTE, Place};
use super::frame::{Head, begin, feet, frame, horizontal, vertical};

/// Returns the figure of a fitted formula; `None` if the formula has no quantity for the horizontal axis.
pub fn regression_figure(fit: &Regression) -> Option<Figure> {
    let title = fit.x.as_deref()?;
    let mut series: Vec<&str> = fit.curves.iter().map(|curve| curve.series.as_str()).collect();
    series.truncate(PALETTE.len());
    let all = fit.points.iter().flat_map(|point| [point.time_s, point.formula_s]);
    let all: Vec<f64> = all.chain(fit.curves.iter().flat_map(|curve| curve.points.iter().map(|(_, y)| *y))).collect();
    let least = all.iter().copied().reduce(f64::min)?;
    let most = all.iter().copied().reduce(f64::max)?;
    let y = if least > 0.0 && most > least * 12.0 {
        PlotAxis::log_time("time", least, most)
    } else {
        PlotAxis::time("time", most)
    };
    let mut numbers: Vec<f64> = fit.points.iter().map(|point| point.x).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let x = PlotAxis::values(title, Measure::Number, &numbers);
    // The figure shows the standard errors of at most two unknowns; the text table lists the standard errors of all
    // unknowns.
    let errors = fit.unknowns.len() <= 2;
    let unknowns: Vec<String> = fit
        .unknowns
        .iter()
        .map(|unknown| match unknown.standard_error.filter(|_| errors) {
            Some(error) => format!("{} = {:.4e} ± {error:.1e}", unknown.name, unknown.value),
            None => format!("{} = {:.4e}", unknown.name, unknown.value),
        })
        .collect();
    let unknowns = if unknowns.is_empty() { String::new() } else { format!("; {}", unknowns.join(", ")) };
    let off = fit.worst().map_or(0.0, |point| point.percent().abs());
    let head = Head {
        title: fit.formula.clone(),
        more: format!("dots: {}; lines: the formula, at most {off:.2} % off{unknowns}", fit.what),
        legend: PALETTE
            .into_iter()
            .zip(&series)
            .filter(|(_, name)| !name.is_empty())
            .map(|(c, n)| (c, (*n).to_owned()))
            .collect(),
        ..Head::default()
    };
    let (mut figure, top) = begin("fit", &head, 420.0);
    let frame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    let place = |at: f64, time: f64| -> Place { (frame.x(x.at(at)), frame.y(y.at(time))) };
    for (curve, color) in fit.curves.iter().zip(PALETTE) {
        let along: Vec<Place> = curve.points.iter().map(|(at, time)| place(*at, *time)).collect();
        if along.len() > 1 {
            figure.line(along, color, 1.6, Dash::Solid);
        }
    }
    for point in &fit.points {
        let color = series.iter().position(|name| *name == point.series).map_or(GRAY, |index| PALETTE[index]);
        figure.dot(place(point.x, point.time_s), 4.4, BLACK);
        figure.dot(place(point.x, point.time_s), 3.4, color);
    }
    feet(&mut figure, frame);
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Equation;
    use crate::study::Observations;

    #[test]
    fn curve_and_points_are_drawn_with_what_was_found() {
        let table = "processes,time_s\n1,10\n2,6\n4,4.2\n";
        let observations = Observations::of_table("t.csv", table, None, &[]).unwrap();
        let fit = Regression::fit(&Equation::parse("a/n + b").unwrap(), &observations).unwrap();
        let figure = regression_figure(&fit).unwrap();
        let words: Vec<&str> = figure.words().collect();
        assert!(words.contains(&"a/n + b") && words.contains(&"n") && words.contains(&"time (s)"), "{words:?}");
        assert!(words.iter().any(|word| word.starts_with("dots: time_s; lines: the formula, at most ")), "{words:?}");
    }
}
