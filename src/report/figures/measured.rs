//! Figures of what was measured on a machine: latency, bandwidth and messages a second over the size, a colour a level.

use crate::measure::{Samples, Test};
use crate::platform::Level;
use crate::study::Measure;

use super::axis::Axis;
use super::canvas::{Color, Dash, Figure, PALETTE, Place};
use super::frame::{Head, begin, feet, frame, horizontal, vertical};

/// Values by size.
type Points = Vec<(f64, f64)>;

/// A line in a figure.
struct Curve {
    color: Color,
    dash: Dash,
    points: Points,
}

/// The figures of `samples`; those of which there is nothing are left out.
pub fn measured_figures(machine: &str, samples: &Samples) -> Vec<Figure> {
    let windows = "solid: windows of messages answered by one; dashed: ping-pong";
    [
        figure("latency", machine, "half a round trip", samples, |samples, level| {
            vec![(Dash::Solid, each(samples, level, Test::PingPong, |_, _, seconds| seconds))]
        }),
        figure("bandwidth", machine, windows, samples, |samples, level| {
            let rate = |bytes: f64, count: f64, seconds: f64| bytes * count / seconds;
            let window = each(samples, level, Test::Window, rate);
            let ping = each(samples, level, Test::PingPong, |bytes, _, seconds| bytes / seconds);
            vec![(Dash::Solid, window), (Dash::Dashed, ping)]
        }),
        figure("messages", machine, "messages a second in windows answered by one", samples, |samples, level| {
            vec![(Dash::Solid, each(samples, level, Test::Window, |_, count, seconds| count / seconds))]
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `value` of bytes, messages and median seconds by size; there is no place for 0 on an axis of ratios.
fn each(samples: &Samples, level: Level, test: Test, value: impl Fn(f64, f64, f64) -> f64) -> Points {
    let series = samples.of(level, test);
    let counts = series.iter().map(|series| f64::from(series.count));
    let medians = samples.medians(level, test);
    let all = medians.iter().zip(counts);
    let sized = all.filter(|((bytes, _), _)| *bytes > 0);
    sized.map(|((bytes, seconds), count)| (*bytes as f64, value(*bytes as f64, count, *seconds))).collect()
}

fn figure(
    what: &str,
    machine: &str,
    more: &str,
    samples: &Samples,
    curves: impl Fn(&Samples, Level) -> Vec<(Dash, Points)>,
) -> Option<Figure> {
    let mut drawn: Vec<Curve> = Vec::new();
    let mut legend = Vec::new();
    for (level, color) in Level::ALL.into_iter().zip(PALETTE) {
        let found = curves(samples, level).into_iter().filter(|(_, points)| !points.is_empty());
        let before = drawn.len();
        drawn.extend(found.map(|(dash, points)| Curve { color, dash, points }));
        if drawn.len() > before {
            legend.push((color, level.name().replace('_', "-").replace("cmp", "CMP")));
        }
    }
    let values = || drawn.iter().flat_map(|curve| curve.points.iter().copied());
    let least = values().map(|(_, y)| y).reduce(f64::min).filter(|least| *least > 0.0)?;
    let most = values().map(|(_, y)| y).reduce(f64::max)?;
    let largest = values().map(|(x, _)| x).reduce(f64::max)?;
    let y = match what {
        "latency" => Axis::log_time(what, least, most),
        "bandwidth" => Axis::values(what, Measure::Bandwidth, &decades(least, most)),
        _ => Axis::values("messages a second", Measure::Rate, &decades(least, most)),
    };
    let sizes: Vec<f64> = (0..).map(|power| 4f64.powi(power)).take_while(|size| *size <= largest * 2.0).collect();
    let x = Axis::values("message size", Measure::Size, &sizes);
    let head = Head { title: format!("{machine}: {what}"), more: more.to_owned(), legend, ..Head::default() };
    let (mut figure, top) = begin(&format!("measured-{what}"), &head, 420.0);
    let frame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    for Curve { color, dash, points } in drawn {
        let along: Vec<Place> =
            points.iter().map(|&(size, value)| (frame.x(x.at(size)), frame.y(y.at(value)))).collect();
        along.iter().for_each(|at| figure.dot(*at, 2.2, color));
        if along.len() > 1 {
            figure.line(along, color, 1.6, dash);
        }
    }
    feet(&mut figure, frame);
    Some(figure)
}

/// Powers of ten around both.
fn decades(least: f64, most: f64) -> Vec<f64> {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    (first..=last.max(first + 2)).map(|power| 10f64.powi(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::SampleSeries;

    #[test]
    fn three_figures_show_each_level_that_was_measured() {
        let series = |test, bytes: u64, count, seconds: f64| SampleSeries {
            level: Some(Level::IntraCmp),
            test,
            bytes,
            load: 1,
            count,
            seconds: vec![seconds],
        };
        let mut samples = Samples::default();
        for bytes in [0, 1, 1024, 65536] {
            let seconds = 1e-6 + 1e-9 * bytes as f64;
            samples.series.push(series(Test::PingPong, bytes, 2, seconds));
            samples.series.push(series(Test::Window, bytes, 8, 8.0 * seconds));
        }
        let figures = measured_figures("here", &samples);
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["measured-latency", "measured-bandwidth", "measured-messages"]);
        for (figure, word) in figures.iter().zip(["10 us", "100 MB/s", "100 k /s"]) {
            let words: Vec<&str> = figure.words().collect();
            for word in [word, "64 KiB", "intra-CMP"] {
                assert!(words.contains(&word), "{word} in {words:?}");
            }
            assert!(figure.svg().contains("<svg"));
        }
        assert!(measured_figures("here", &Samples::default()).is_empty());
    }
}
