//! Figures of machine measurements: latency, bandwidth and message rate over the message size. Each network level or
//! machine has its own colour.

use crate::measure::{Samples, Test};
use crate::platform::Level;
use crate::study::Measure;

use super::axis::PlotAxis;
use super::canvas::{Color, Dash, Figure, Place, colors};
use super::frame::{Head, begin, feet, frame, horizontal, vertical};
use crate::report::palette::{INTER_CMP, INTER_NODE, INTRA_CMP};

/// Points of a curve: message sizes and values.
type Points = Vec<(f64, f64)>;

/// Quantities that figures show over the message size, and the meaning of the line styles in these figures.
const DRAWN: [(&str, &str); 3] = [
    ("latency", "half a round trip"),
    ("bandwidth", "solid: windows that one message answers; dashed: ping-pong"),
    ("messages", "messages per second in windows that one message answers"),
];

/// Curves of one colour, with their legend entry.
struct MeasuredEntry {
    name: String,
    color: Color,
    lines: Vec<(Dash, Points)>,
}

/// Returns the figures of `samples`, with one colour per network level. Quantities that were not measured are omitted.
pub fn measured_figures(machine: &str, samples: &Samples) -> Vec<Figure> {
    let figure = |(what, more): (&str, &str)| {
        let entry = |(level, color): (Level, Color)| {
            let name = level.name().replace('_', "-").replace("cmp", "CMP");
            MeasuredEntry { name, color, lines: lines(what, samples, level) }
        };
        let entries: Vec<MeasuredEntry> =
            Level::ALL.into_iter().zip([INTRA_CMP, INTER_CMP, INTER_NODE]).map(entry).collect();
        figure(&format!("measured-{what}"), &format!("{machine}: {what}"), (what, more), entries)
    };
    DRAWN.into_iter().filter_map(figure).collect()
}

/// Returns the figures of several measurements, one figure per network level. Each measurement has a name and a colour.
pub fn beside_figures(measured: &[(String, Samples)]) -> Vec<Figure> {
    let each = |level: Level| DRAWN.into_iter().map(move |drawn| (level, drawn));
    let figure = |(level, (what, more)): (Level, (&str, &str))| {
        let entry = |((name, samples), color): (&(String, Samples), Color)| MeasuredEntry {
            name: name.clone(),
            color,
            lines: lines(what, samples, level),
        };
        let entries: Vec<MeasuredEntry> = measured.iter().zip(colors()).map(entry).collect();
        let title = format!("{}: {what}", level.name().replace('_', "-").replace("cmp", "CMP"));
        figure(&format!("beside-{}-{what}", level.name()), &title, (what, more), entries)
    };
    Level::ALL.into_iter().flat_map(each).filter_map(figure).collect()
}

/// Returns the curves of a network level in the figure `what`.
fn lines(what: &str, samples: &Samples, level: Level) -> Vec<(Dash, Points)> {
    let found = match what {
        "latency" => vec![(Dash::Solid, each(samples, level, Test::PingPong, |_, _, seconds| seconds))],
        "bandwidth" => {
            let rate = |bytes: f64, count: f64, seconds: f64| bytes * count / seconds;
            let window = each(samples, level, Test::Window, rate);
            let ping = each(samples, level, Test::PingPong, |bytes, _, seconds| bytes / seconds);
            vec![(Dash::Solid, window), (Dash::Dashed, ping)]
        }
        _ => vec![(Dash::Solid, each(samples, level, Test::Window, |_, count, seconds| count / seconds))],
    };
    found.into_iter().filter(|(_, points)| !points.is_empty()).collect()
}

/// Returns the points of a test. A point consists of the message size and the result of `value` for bytes, messages and
/// median seconds. Empty messages are omitted, because a logarithmic axis has no position for 0.
fn each(samples: &Samples, level: Level, test: Test, value: impl Fn(f64, f64, f64) -> f64) -> Points {
    let series = samples.of(level, test);
    let counts = series.iter().map(|series| f64::from(series.count));
    let medians = samples.medians(level, test);
    let all = medians.iter().zip(counts);
    let sized = all.filter(|((bytes, _), _)| *bytes > 0);
    sized.map(|((bytes, seconds), count)| (*bytes as f64, value(*bytes as f64, count, *seconds))).collect()
}

/// Returns the figure named `name`; `None` without measured points.
fn figure(name: &str, title: &str, (what, more): (&str, &str), entries: Vec<MeasuredEntry>) -> Option<Figure> {
    let entries: Vec<MeasuredEntry> = entries.into_iter().filter(|entry| !entry.lines.is_empty()).collect();
    let legend = entries.iter().map(|entry| (entry.color, entry.name.clone())).collect();
    // Earlier curves are wider, so that they stay visible below later curves.
    let wider = |of: usize| 1.4 * (entries.len() - 1 - of) as f64;
    let drawn = || {
        let each = entries.iter().enumerate();
        each.flat_map(|(number, of)| of.lines.iter().map(move |(dash, points)| (number, of.color, *dash, points)))
    };
    let values = || drawn().flat_map(|(.., points)| points.iter().copied());
    let least = values().map(|(_, y)| y).reduce(f64::min).filter(|least| *least > 0.0)?;
    let most = values().map(|(_, y)| y).reduce(f64::max)?;
    let largest = values().map(|(x, _)| x).reduce(f64::max)?;
    let y = match what {
        "latency" => PlotAxis::log_time(what, least, most),
        "bandwidth" => PlotAxis::values(what, Measure::Bandwidth, &decades(least, most)),
        _ => PlotAxis::values("messages a second", Measure::Rate, &decades(least, most)),
    };
    let sizes: Vec<f64> = (0..).map(|power| 4f64.powi(power)).take_while(|size| *size <= largest * 2.0).collect();
    let x = PlotAxis::values("message size", Measure::Size, &sizes);
    let head = Head { title: title.to_owned(), more: more.to_owned(), legend, ..Head::default() };
    let (mut figure, top) = begin(name, &head, 420.0);
    let frame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    for (number, color, dash, points) in drawn() {
        let along: Vec<Place> =
            points.iter().map(|&(size, value)| (frame.x(x.at(size)), frame.y(y.at(value)))).collect();
        along.iter().for_each(|at| figure.dot(*at, 2.2 + wider(number), color));
        if along.len() > 1 {
            figure.line(along, color, 1.6 + wider(number), dash);
        }
    }
    feet(&mut figure, frame);
    Some(figure)
}

/// Returns the powers of ten that enclose the values `least` and `most`.
fn decades(least: f64, most: f64) -> Vec<f64> {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    (first..=last.max(first + 2)).map(|power| 10f64.powi(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::canvas::Mark;
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
        let two = [("one".to_owned(), samples.clone()), ("other".to_owned(), samples)];
        let figures = beside_figures(&two);
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        let expected = ["beside-intra_cmp-latency", "beside-intra_cmp-bandwidth", "beside-intra_cmp-messages"];
        assert_eq!(names, expected);
        // The lower curve is wide, so its edges are visible next to the upper curve.
        let widths = |figure: &Figure| -> Vec<f64> {
            let wide = |mark: &Mark| match mark {
                Mark::Line { color, width, .. } if colors().take(2).any(|own| own == *color) => Some(*width),
                _ => None,
            };
            figure.marks.iter().filter_map(wide).collect()
        };
        assert_eq!(widths(&figures[0]), [3.0, 1.6]);
        let words: Vec<&str> = figures[0].words().collect();
        assert!(["one", "other", "intra-CMP: latency"].iter().all(|word| words.contains(word)), "{words:?}");
    }
}
