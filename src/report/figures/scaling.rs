//! Figures of a study that varies the number of ranks: speed-up and parallel efficiency over the number of ranks.

use crate::study::{Measure, Speedup};
use crate::units::counted;

use super::axis::PlotAxis;
use super::canvas::{Dash, Figure, GRAY, PALETTE, Place};
use super::curves::head;
use super::frame::{Head, begin, dashes, feet, frame, horizontal, vertical};
use super::points::Panel;

/// Points of a curve: number of ranks and value, in increasing order of ranks.
type RankCurve = Vec<(f64, f64)>;

/// Returns the figure of the speed-up over the base, with a dashed line for an ideal speed-up. Returns `None` if the
/// number of ranks does not vary.
pub(super) fn speedup(name: &str, title: &str, panel: &Panel) -> Option<Figure> {
    let curves = curves(panel, |speedup| speedup.factor)?;
    // The efficiency relates the speed-up to the ratio of the numbers of ranks, and thereby states the base.
    let samples = panel.series.iter().flat_map(|series| &series.samples).flatten();
    let bases = samples.filter_map(|sample| {
        let speedup = sample.speedup?;
        Some(sample.ranks? as f64 * speedup.efficiency / speedup.factor)
    });
    let bases: Vec<f64> = bases.collect();
    let base = *bases.first()?;
    let what = match bases.iter().all(|other| other.round() == base.round()) {
        true => format!("speed-up compared with {}; dashed: ideal", counted(base.round() as u64, "rank")),
        false => "speed-up compared with the base; dashed: ideal".to_owned(),
    };
    // The ideal speed-ups are the marks of the axis, which is logarithmic where the axis of ranks is.
    let mut ideal: Vec<f64> = curves.iter().flatten().map(|point| point.0 / base).collect();
    ideal.sort_by(f64::total_cmp);
    ideal.dedup();
    let least = curves.iter().flatten().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let y = PlotAxis::values("speed-up", Measure::Number, &ideal).containing(least, greatest(&curves));
    draw((name, title, &what), panel, &curves, &y, |ranks| ranks / base)
}

/// Returns the figure of the parallel efficiency. Returns `None` if the number of ranks does not vary.
pub(super) fn efficiency(name: &str, title: &str, panel: &Panel) -> Option<Figure> {
    let curves = curves(panel, |speedup| speedup.efficiency * 100.0)?;
    let y = PlotAxis::count("parallel efficiency (%)", greatest(&curves).max(100.0));
    draw((name, title, "parallel efficiency; dashed: ideal"), panel, &curves, &y, |_| 100.0)
}

fn greatest(curves: &[RankCurve]) -> f64 {
    curves.iter().flatten().map(|point| point.1).fold(0.0, f64::max)
}

/// Returns one curve per colour of the panel. Among points with equal numbers of ranks, the curve has the fastest.
fn curves(panel: &Panel, value: impl Fn(&Speedup) -> f64) -> Option<Vec<RankCurve>> {
    let curve = |series: &super::points::PointSeries| {
        let point = |sample: &super::points::PointSample| Some((sample.ranks? as f64, value(&sample.speedup?)));
        let mut curve: RankCurve = series.samples.iter().flatten().filter_map(point).collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        curve.dedup_by_key(|point| point.0);
        curve
    };
    let curves: Vec<RankCurve> = panel.series.iter().map(curve).collect();
    curves.iter().any(|curve| curve.len() > 1).then_some(curves)
}

fn draw(
    (name, title, what): (&str, &str, &str),
    panel: &Panel,
    curves: &[RankCurve],
    y: &PlotAxis,
    ideal: impl Fn(f64) -> f64,
) -> Option<Figure> {
    let mut ranks: Vec<f64> = curves.iter().flatten().map(|point| point.0).collect();
    ranks.sort_by(f64::total_cmp);
    ranks.dedup();
    let (least, most) = (*ranks.first()?, *ranks.last()?);
    let lines = dashes(curves);
    let head = Head { lines: lines.clone(), best: String::new(), ..head(title, panel, what) };
    let (mut figure, top) = begin(name, &head, 420.0);
    let x = PlotAxis::values("ranks", Measure::Number, &ranks);
    let frame = frame(&figure, top, y, 50.0);
    vertical(&mut figure, frame, y);
    horizontal(&mut figure, frame, &x);
    let place = |(ranks, value): (f64, f64)| (frame.x(x.at(ranks)), frame.y(y.at(value)));
    // The line of ideal values is a curve on a logarithmic axis. It ends at the upper edge of the frame.
    let along = (0..=100).map(|step| {
        let ranks = least + (most - least) * (f64::from(step) / 100.0).powi(3);
        place((ranks, ideal(ranks)))
    });
    let along: Vec<Place> = along.filter(|at| at.1 >= frame.top).collect();
    if along.len() > 1 {
        figure.line(along, GRAY, 1.2, Dash::Dashed);
    }
    for ((curve, color), dash) in curves.iter().zip(PALETTE).zip(lines) {
        figure.line(curve.iter().map(|point| place(*point)).collect(), color, 2.0, dash);
        curve.iter().for_each(|point| figure.dot(place(*point), 3.4, color));
    }
    feet(&mut figure, frame);
    Some(figure)
}
