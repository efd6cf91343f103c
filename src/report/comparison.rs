//! Comparison of several measurements, of different machines, MPI libraries or software layers of one machine.

use crate::measure::{SampleSeries, Samples, Summary, Test};
use crate::platform::Level;
use crate::units::{Bandwidth, SimSpan};

use super::numbers::rate;
use super::table::{Align, Table};

/// Largest number of measurements that fit in one table.
pub const MOST_BESIDE: usize = 4;

/// Unit of a quantity that measurements compare.
#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    BytesASecond,
    MessagesASecond,
}

/// Function that returns a compared quantity of one network level from samples.
type OfLevel = fn(&Samples, Level) -> Option<f64>;

/// Quantities that the comparison of measurements shows.
const FIGURES: [(&str, Unit, OfLevel); 6] = [
    ("latency", Unit::Seconds, |samples, level| Some(samples.medians(level, Test::PingPong).first()?.1)),
    ("bandwidth", Unit::BytesASecond, |samples, level| most(samples, level, Test::Window, bytes_a_second)),
    ("both ways", Unit::BytesASecond, |samples, level| most(samples, level, Test::BothWays, both_ways)),
    ("messages", Unit::MessagesASecond, |samples, level| most(samples, level, Test::Window, messages_a_second)),
    ("a message of a train", Unit::Seconds, in_train),
    ("late receive", Unit::Seconds, |samples, level| Some(samples.medians(level, Test::LateReceive).first()?.1)),
];

/// Returns one table per network level. A table row has the quantities of one measurement, and the ratios of the
/// measurement's times to those of the first measurement. `measured` contains names and samples.
pub fn beside_summary(measured: &[(String, Samples)]) -> String {
    let mut text = String::new();
    for level in Level::ALL {
        if !measured.iter().any(|(_, samples)| samples.series.iter().any(|series| series.level == Some(level))) {
            continue;
        }
        let names = measured.iter().map(|(name, _)| (name.as_str(), Align::Right));
        let name = level.name().replace('_', "-").replace("cmp", "CMP");
        let mut table = Table::new(&[(name.as_str(), Align::Left)].into_iter().chain(names).collect::<Vec<_>>());
        for (what, unit, of_level) in FIGURES {
            let found: Vec<Option<f64>> = measured.iter().map(|(_, samples)| of_level(samples, level)).collect();
            if found.iter().any(Option::is_some) {
                let cells = found.into_iter().map(|value| value.map_or("-".to_owned(), |value| told(unit, value)));
                table.row([what.to_owned()].into_iter().chain(cells));
            }
        }
        for test in Test::ALL {
            let cells: Vec<Option<f64>> =
                measured.iter().map(|(_, samples)| longer(samples, &measured[0].1, level, test)).collect();
            if cells[1..].iter().any(Option::is_some) {
                let cells =
                    cells.into_iter().map(|times| times.map_or("-".to_owned(), |times| format!("x {times:.2}")));
                table.row([test.name().replace('_', " ")].into_iter().chain(cells));
            }
        }
        text.push_str(&table.render());
        text.push('\n');
    }
    text.push_str("latency: half a round trip of the least size; bandwidth, messages: best window\n");
    text.push_str("x: times as long as in the first, geometric mean over sizes\n");
    text
}

fn told(unit: Unit, value: f64) -> String {
    let whole = Bandwidth::new(value as u64);
    match unit {
        Unit::Seconds => SimSpan::from_seconds(value).map_or("-".to_owned(), |span| format!("{span:.3}")),
        Unit::BytesASecond => whole.map_or("-".to_owned(), |bandwidth| format!("{bandwidth:.3}")),
        Unit::MessagesASecond => rate(value, ""),
    }
}

/// Returns the maximum of a quantity over the sample series of a test.
fn most(samples: &Samples, level: Level, test: Test, of: fn(&SampleSeries, f64) -> f64) -> Option<f64> {
    let each = samples.of(level, test).into_iter().filter_map(|series| {
        let median = Summary::of(&series.seconds)?.median;
        (median > 0.0 && series.bytes > 0).then(|| of(series, median))
    });
    each.reduce(f64::max)
}

fn bytes_a_second(series: &SampleSeries, seconds: f64) -> f64 {
    messages_a_second(series, seconds) * series.bytes as f64
}

fn both_ways(series: &SampleSeries, seconds: f64) -> f64 {
    2.0 * bytes_a_second(series, seconds)
}

fn messages_a_second(series: &SampleSeries, seconds: f64) -> f64 {
    f64::from(series.count) / seconds
}

/// Returns the time that a further message adds to a train of back-to-back messages of the smallest size.
fn in_train(samples: &Samples, level: Level) -> Option<f64> {
    let train = *samples.of(level, Test::Train).first()?;
    let one = samples.median(level, Test::TrainOfOne, train.bytes);
    let all = Summary::of(&train.seconds)?.median;
    (train.count > 1 && one > 0.0).then(|| (all - one).max(0.0) / f64::from(train.count - 1))
}

/// Returns the ratio of a test's times to the times in `first`, as the geometric mean over the message sizes in both
/// sets of samples.
fn longer(samples: &Samples, first: &Samples, level: Level, test: Test) -> Option<f64> {
    let ratios = samples.ratios_to(first).into_iter();
    let ratios: Vec<f64> = ratios
        .filter(|(series, _)| series.level == Some(level) && series.test == test)
        .map(|(_, ratio)| ratio.ln())
        .collect();
    (!ratios.is_empty()).then(|| (ratios.iter().sum::<f64>() / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(slower: f64, sizes: &[u64]) -> Samples {
        let series = |test, bytes: u64, count, seconds: f64| SampleSeries {
            level: Some(Level::InterNode),
            test,
            bytes,
            load: 1,
            count,
            seconds: vec![seconds * slower; 3],
        };
        let mut samples = Samples::default();
        for bytes in sizes {
            samples.series.push(series(Test::PingPong, *bytes, 2, 1e-6 + *bytes as f64 * 1e-9));
            samples.series.push(series(Test::Window, *bytes, 8, 1e-6 + *bytes as f64 * 8e-9));
        }
        samples
    }

    #[test]
    fn figures_and_ratios_stand_beside_each_other() {
        let both = [("eth".to_owned(), samples(2.0, &[0, 1000, 8000])), ("ib".to_owned(), samples(1.0, &[0, 1000]))];
        let text = beside_summary(&both);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["inter-node", "eth", "ib"]);
        // The message windows of the test are 8 x 8000 B in 2 x 65 us, and 8 x 1000 B in 9 us.
        let cells = |line: &str| {
            line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(cells(lines[1]), ["latency", "2.00 us", "1.00 us"]);
        assert_eq!(cells(lines[2]), ["bandwidth", "492 MB/s", "889 MB/s"]);
        assert_eq!(cells(lines[4]), ["ping pong", "x 1.00", "x 0.50"]);
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn what_one_has_not_measured_is_a_dash() {
        let none = [("a".to_owned(), samples(1.0, &[8])), ("b".to_owned(), Samples::default())];
        let text = beside_summary(&none);
        assert!(text.lines().nth(1).unwrap().ends_with(" -"), "{text}");
        assert!(!text.contains("x 1"), "{text}");
    }
}
