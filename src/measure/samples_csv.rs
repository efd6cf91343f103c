//! Parser of the CSV form that [`Samples::csv`] writes.

use csv::{ReaderBuilder, StringRecord};

use mcpsim_core::config::ConfigError;
use mcpsim_core::platform::Level;

use super::samples::{SampleSeries, Samples, Test};

/// Columns of the CSV form in order.
const COLUMNS: [&str; 7] = ["level", "test", "bytes", "load", "messages", "sample", "seconds"];

impl Samples {
    /// Parses the output of `mcpsim measure --samples`. `name` is the file name in error messages. The CSV file
    /// contains no eager thresholds.
    ///
    /// # Errors
    /// The file has other columns, an unknown network level or test, an invalid number, a time that is not above zero,
    /// or no samples.
    pub fn parse(name: &str, text: &str) -> Result<Samples, ConfigError> {
        let wrong = |line: u64, what: String| ConfigError::new(format!("{name}:{line}: {what}"));
        let mut reader = ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| ConfigError::new(format!("{name}: not CSV: {error}")))?;
        if headers != &StringRecord::from(COLUMNS.to_vec()) {
            let (expected, found) = (COLUMNS.join(","), headers.iter().collect::<Vec<_>>().join(","));
            return Err(wrong(1, format!("expected the columns {expected}; found {found}")));
        }
        let mut samples = Samples::default();
        for record in reader.records() {
            let record = record.map_err(|error| ConfigError::new(format!("{name}: not CSV: {error}")))?;
            let line = record.position().map_or(0, csv::Position::line);
            let (series, seconds) = row(&record).map_err(|what| wrong(line, what))?;
            let same = |last: &&mut SampleSeries| SampleSeries { seconds: Vec::new(), ..(**last).clone() } == series;
            match samples.series.last_mut().filter(same) {
                Some(last) => last.seconds.push(seconds),
                None => samples.series.push(SampleSeries { seconds: vec![seconds], ..series }),
            }
        }
        if samples.series.is_empty() {
            return Err(wrong(1, "expected one row per sample; found no rows".to_owned()));
        }
        Ok(samples)
    }
}

/// Parses a CSV row. Returns a sample series without samples, and the seconds of the row's sample.
fn row(record: &StringRecord) -> Result<(SampleSeries, f64), String> {
    let cell = |column: usize| record.get(column).unwrap_or_default();
    let whole = |column: usize| {
        let found = cell(column);
        found.parse::<u64>().map_err(|_| format!("expected a whole number of {}; found \"{found}\"", COLUMNS[column]))
    };
    let small = |column: usize| {
        u32::try_from(whole(column)?).map_err(|_| format!("{} {}: too many", COLUMNS[column], cell(column)))
    };
    let level =
        match cell(0) {
            "all" => None,
            name => Some(Level::ALL.into_iter().find(|level| level.name() == name).ok_or_else(|| {
                format!("expected a level: intra_cmp, inter_cmp, inter_node or all; found \"{name}\"")
            })?),
        };
    let test = Test::ALL
        .into_iter()
        .find(|test| test.name() == cell(1))
        .ok_or_else(|| format!("expected a test such as ping_pong; found \"{}\"", cell(1)))?;
    let seconds = cell(6).parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    // Times of delayed trains may be negative on a busy machine, because the delays are subtracted.
    let seconds = seconds.filter(|seconds| *seconds > 0.0 || test == Test::DelayedTrain || *seconds == 0.0);
    let seconds = seconds.ok_or_else(|| format!("expected seconds, not below zero; found \"{}\"", cell(6)))?;
    Ok((
        SampleSeries { level, test, bytes: whole(2)?, load: small(3)?, count: small(4)?, seconds: Vec::new() },
        seconds,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let series = |level, test, bytes, seconds: &[f64]| SampleSeries {
            level,
            test,
            bytes,
            load: 1,
            count: 2,
            seconds: seconds.to_vec(),
        };
        let samples = Samples {
            series: vec![
                series(Some(Level::InterNode), Test::PingPong, 8, &[1e-6, 2e-6]),
                series(Some(Level::InterNode), Test::PingPong, 16, &[1e-6]),
                series(None, Test::Ring, 16, &[3e-6]),
            ],
            ..Samples::default()
        };
        assert_eq!(Samples::parse("a.csv", &samples.csv()), Ok(samples));
    }

    #[test]
    fn what_is_no_sample_is_told_with_its_line() {
        let head = "level,test,bytes,load,messages,sample,seconds\n";
        for (text, told) in [
            ("", "a.csv:1: expected the columns level,test,bytes,load,messages,sample,seconds; found "),
            ("a,b\n", "a.csv:1: expected the columns level,test,bytes,load,messages,sample,seconds; found a,b"),
            (head, "a.csv:1: expected one row per sample; found no rows"),
            (
                &format!("{head}intra_cmp,ping_pong,8,1,2,1\n"),
                "a.csv: not CSV: CSV error: record 1 (line: 2, byte: 46): ",
            ),
            (
                &format!("{head}near,ping_pong,8,1,2,1,1e-6\n"),
                "a.csv:2: expected a level: intra_cmp, inter_cmp, inter_node or all; found \"near\"",
            ),
            (&format!("{head}all,ring,x,1,2,1,1e-6\n"), "a.csv:2: expected a whole number of bytes; found \"x\""),
            (&format!("{head}all,rings,8,1,2,1,1e-6\n"), "a.csv:2: expected a test such as ping_pong; found \"rings\""),
            (&format!("{head}all,ring,8,1,2,1,-1\n"), "a.csv:2: expected seconds, not below zero; found \"-1\""),
            (&format!("{head}all,ring,8,1,2,1,nan\n"), "a.csv:2: expected seconds, not below zero; found \"nan\""),
            (&format!("{head}all,ring,8,99999999999,2,1,1\n"), "a.csv:2: load 99999999999: too many"),
        ] {
            let error = Samples::parse("a.csv", text).unwrap_err().to_string();
            assert!(error.starts_with(told), "{error}\nexpected {told}");
        }
    }
}
