//! Number of messages by exact size, in groups of sizes: shares of count, of volume and, if message times are known, of
//! time.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

use crate::config::ConfigError;
use crate::profile::MessageSort;
use crate::units::Bytes;

use super::numbers::{count, volume};
use super::table::{Align, Table};

/// Number of messages of each exact size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    sizes: BTreeMap<u64, u64>,
}

impl Histogram {
    /// Parses a histogram file with lines of the form `count:size`. Lines that start with `#` are ignored. Error
    /// messages contain the file name `name`.
    ///
    /// # Errors
    /// A line of the histogram file has another form.
    pub fn read(name: &str, text: &str) -> Result<Histogram, ConfigError> {
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pair = line
                .split_once(':')
                .and_then(|(count, size)| Some((count.trim().parse::<u64>().ok()?, size.trim().parse::<u64>().ok()?)));
            let (count, size) = pair.ok_or_else(|| {
                let what = "expected count:size, two whole numbers such as 128:4096";
                ConfigError::new(format!("{name}, line {number}: {what}; found \"{line}\""))
            })?;
            let all = sizes.entry(size).or_default();
            let sum = all.checked_add(count).filter(|sum| sum.checked_mul(size.max(1)).is_some());
            *all = sum.ok_or_else(|| {
                ConfigError::new(format!(
                    "{name}, line {number}: expected at most 2^64 bytes of \
                                                         messages in all; found more"
                ))
            })?;
        }
        if sizes.values().all(|count| *count == 0) {
            return Err(ConfigError::new(format!("{name}: expected lines of count:size; found no messages")));
        }
        Ok(Histogram { sizes })
    }

    /// Creates a histogram from pairs of message sizes and counts.
    pub fn of(sizes: impl IntoIterator<Item = (u64, u64)>) -> Histogram {
        Histogram { sizes: sizes.into_iter().collect() }
    }

    /// Returns the text of a histogram file: one `count:size` per line, in increasing order of message sizes.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (size, count) in &self.sizes {
            writeln!(text, "{count}:{size}").expect("a String takes all that is written");
        }
        text
    }
}

/// Returns the number of messages of each kind, network level and exact size as CSV.
pub fn sorts_csv(sorts: &BTreeMap<MessageSort, u64>) -> String {
    let mut text = String::from("kind,level,bytes,count\n");
    for (MessageSort { kind, level, bytes }, count) in sorts {
        writeln!(text, "{kind},{},{bytes},{count}", level.name()).expect("a String takes all that is written");
    }
    text
}

/// Groups of message sizes, each with its least and greatest size. Sizes between two groups may belong to no group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(Vec<RangeInclusive<u64>>);

impl std::str::FromStr for Groups {
    type Err = String;

    fn from_str(text: &str) -> Result<Groups, String> {
        let wrong = |part: &str| format!("expected sizes such as 32-40,69-80,4KiB-64KiB; found \"{part}\"");
        let size = |text: &str, part: &str| -> Result<u64, String> {
            let text = text.trim();
            if let Ok(bytes) = text.parse::<u64>() {
                return Ok(bytes);
            }
            text.parse::<Bytes>().map(Bytes::get).map_err(|_| wrong(part))
        };
        let mut groups: Vec<RangeInclusive<u64>> = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let group = size(from, part)?..=size(to, part)?;
            if group.is_empty() {
                return Err(format!("{part}: expected the smaller size first"));
            }
            if let Some(last) = groups.last().filter(|last| last.end() >= group.start()) {
                return Err(format!("{part}: expected sizes above {} B, where the group before ends", last.end()));
            }
            groups.push(group);
        }
        Ok(Groups(groups))
    }
}

/// Time of a message as a function of the message size, from measured samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Message sizes and seconds, in increasing order of sizes.
    points: Vec<(u64, f64)>,
}

impl Rates {
    /// Parses a table with the columns `bytes` and `seconds`, such as `mcpsim measure --samples` writes, and computes
    /// the median time of each size. Windows of messages (`window`) have priority over `ping_pong`. Only samples of the
    /// lowest load and of the last network level are used.
    ///
    /// # Errors
    /// A column of the table is missing, or a cell is not a number.
    pub fn read(name: &str, text: &str) -> Result<Rates, ConfigError> {
        let wrong = |what: String| ConfigError::new(format!("{name}: {what}"));
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| wrong(error.to_string()))?.clone();
        let column = |name: &str| header.iter().position(|column| column.trim() == name);
        let (Some(bytes), Some(seconds)) = (column("bytes"), column("seconds")) else {
            return Err(wrong("expected a table with the columns bytes and seconds".to_owned()));
        };
        let [test, load, level, messages] = ["test", "load", "level", "messages"].map(column);
        let mut rows = Vec::new();
        for (line, row) in (2..).zip(reader.records()) {
            let row = row.map_err(|error| wrong(error.to_string()))?;
            let text =
                |column: Option<usize>| column.and_then(|column| row.get(column)).unwrap_or("").trim().to_owned();
            let bad = |column| wrong(format!("row {line}: expected {column}; found \"{}\"", text(Some(bytes))));
            let size = text(Some(bytes)).parse::<u64>().map_err(|_| bad("bytes, a whole number"))?;
            // Samples of other tests may be differences of times, which may be negative.
            let time = text(Some(seconds)).parse::<f64>().unwrap_or(f64::NAN);
            // The time of a window is the time of all messages of the window together.
            let of = if text(test) == "window" { text(messages).parse().unwrap_or(1.0) } else { 1.0 };
            let time = time / f64::max(of, 1.0);
            rows.push((text(test), text(level), text(load).parse::<u64>().unwrap_or(0), size, time, line));
        }
        for wanted in ["window", "ping_pong"] {
            if rows.iter().any(|row| row.0 == wanted) {
                rows.retain(|row| row.0 == wanted);
                break;
            }
        }
        if let Some(level) = rows.last().map(|row| row.1.clone()) {
            rows.retain(|row| row.1 == level);
        }
        let least = rows.iter().map(|row| row.2).min();
        let mut by_size: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (.., load, size, time, line) in rows {
            if !(time.is_finite() && time >= 0.0) {
                return Err(wrong(format!("row {line}: expected seconds, a time; found {time}")));
            }
            if Some(load) == least {
                by_size.entry(size).or_default().push(time);
            }
        }
        if by_size.is_empty() {
            return Err(wrong("expected rows of samples; found none".to_owned()));
        }
        let median = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2.0
        };
        Ok(Rates { points: by_size.into_iter().map(|(size, times)| (size, median(times))).collect() })
    }

    /// Returns the time of a message of `size` bytes in seconds by linear interpolation. Beyond the last measured size
    /// the last slope applies.
    fn seconds(&self, size: u64) -> f64 {
        let place = self.points.partition_point(|(other, _)| *other < size);
        match (place.checked_sub(1).map(|before| self.points[before]), self.points.get(place)) {
            (_, Some(&(exact, time))) if exact == size => time,
            (None, Some(&(_, time))) => time,
            (Some((a, from)), Some(&(b, to))) => from + (to - from) * (size - a) as f64 / (b - a) as f64,
            (Some((a, from)), None) => match place.checked_sub(2).map(|before| self.points[before]) {
                Some((b, to)) => from + (from - to).max(0.0) / (a - b) as f64 * (size - a) as f64,
                None => from * size.max(1) as f64 / a.max(1) as f64,
            },
            (None, None) => 0.0,
        }
    }
}

/// Messages of a size group, and their shares of all messages in percent.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupShares {
    /// Least and greatest message size of the group; `None` for sizes outside all groups.
    pub bounds: Option<(u64, u64)>,
    /// Number of messages in the group.
    pub count: u64,
    /// Bytes of the messages in the group.
    pub bytes: u64,
    /// Share of the group in the number of all messages, percent.
    pub count_share: f64,
    /// Share of the group in the bytes of all messages, percent.
    pub bytes_share: f64,
    /// Share of the group in the time of all messages, percent, if message times are known.
    pub time_share: Option<f64>,
}

impl GroupShares {
    /// Returns the name of the size group: "32–40", or "others".
    pub fn name(&self) -> String {
        match self.bounds {
            Some((from, to)) if from == to => from.to_string(),
            Some((from, to)) => format!("{from}–{to}"),
            None => "others".to_owned(),
        }
    }
}

/// Returns the shares of the size groups, or of each message size without groups. The last row is for sizes outside all
/// groups.
pub fn shares(histogram: &Histogram, groups: Option<&Groups>, rates: Option<&Rates>) -> Vec<GroupShares> {
    let each = Groups(histogram.sizes.keys().map(|&size| size..=size).collect());
    let groups = groups.unwrap_or(&each);
    let of = |sizes: &mut dyn Iterator<Item = (u64, u64)>| {
        let (mut count, mut bytes, mut time) = (0u64, 0u64, 0.0);
        for (size, number) in sizes {
            count += number;
            bytes = bytes.saturating_add(size.saturating_mul(number));
            time += number as f64 * rates.map_or(0.0, |rates| rates.seconds(size));
        }
        (count, bytes, time)
    };
    let mut sizes = histogram.sizes.iter().map(|(size, count)| (*size, *count));
    let all = of(&mut sizes);
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let row = |bounds, (count, bytes, time): (u64, u64, f64)| GroupShares {
        bounds,
        count,
        bytes,
        count_share: percent(count as f64, all.0 as f64),
        bytes_share: percent(bytes as f64, all.1 as f64),
        time_share: rates.map(|_| percent(time, all.2)),
    };
    let within = |group: &RangeInclusive<u64>| {
        let mut sizes = histogram.sizes.range(group.clone()).map(|(size, count)| (*size, *count));
        row(Some((*group.start(), *group.end())), of(&mut sizes))
    };
    let mut rows: Vec<GroupShares> = groups.0.iter().map(within).collect();
    let mut outside = histogram.sizes.iter().map(|(size, count)| (*size, *count));
    let mut outside = outside.by_ref().filter(|(size, _)| !groups.0.iter().any(|group| group.contains(size)));
    let others = of(&mut outside);
    if others.0 > 0 {
        rows.push(row(None, others));
    }
    rows
}

/// Returns the shares of the size groups as a text table.
pub fn shares_table(rows: &[GroupShares]) -> String {
    let mut columns = vec![
        ("size, B", Align::Left),
        ("messages", Align::Right),
        ("volume", Align::Right),
        ("% of count", Align::Right),
        ("% of volume", Align::Right),
    ];
    if rows.iter().any(|row| row.time_share.is_some()) {
        columns.push(("% of time", Align::Right));
    }
    let mut table = Table::new(&columns);
    for row in rows {
        let mut cells = vec![
            row.name(),
            count(row.count),
            volume(row.bytes),
            format!("{:.1}", row.count_share),
            format!("{:.1}", row.bytes_share),
        ];
        cells.extend(row.time_share.map(|share| format!("{share:.1}")));
        table.row(cells);
    }
    table.render()
}

/// Returns the shares of the size groups as CSV.
pub fn shares_csv(rows: &[GroupShares]) -> String {
    let mut text = String::from("from,to,count,bytes,count_percent,bytes_percent,time_percent\n");
    for row in rows {
        let (from, to) = row.bounds.map_or((String::new(), String::new()), |(a, b)| (a.to_string(), b.to_string()));
        let time = row.time_share.map_or(String::new(), |share| share.to_string());
        writeln!(text, "{from},{to},{},{},{},{},{time}", row.count, row.bytes, row.count_share, row.bytes_share)
            .expect("a String takes all that is written");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Histogram whose groups have the shares of a published profile, LuNA's messages: 32–40 bytes 44.7 % of count and
    /// 1.5 % of volume, 69–80 bytes 37.2 and 2.3 %, 96–652 bytes 15.6 and 6.3 %, 41685–43288 bytes 2.5 and 90.0 %.
    const PUBLISHED: &str = "# count:size\n447:40\n372:73\n156:483\n25:43288\n";

    fn group(rows: &[GroupShares], place: usize) -> (String, String, String) {
        let row = &rows[place];
        (row.name(), format!("{:.1}", row.count_share), format!("{:.1}", row.bytes_share))
    }

    #[test]
    fn groups_have_the_published_shares() {
        let histogram = Histogram::read("h", PUBLISHED).unwrap();
        let groups = "32-40,69-80,96-652,41685-43288".parse().unwrap();
        let rows = shares(&histogram, Some(&groups), None);
        let wanted = [("32–40", "44.7", "1.5"), ("69–80", "37.2", "2.3"), ("96–652", "15.6", "6.3")];
        for (place, (name, count, volume)) in wanted.into_iter().enumerate() {
            assert_eq!(group(&rows, place), (name.to_owned(), count.to_owned(), volume.to_owned()));
        }
        assert_eq!(group(&rows, 3), ("41685–43288".to_owned(), "2.5".to_owned(), "90.0".to_owned()));
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn shares_by_hand_with_rates_and_what_is_in_no_group() {
        // Three messages of 100 B, one of 700 B and one of 1000 B have 2000 B. A message takes 1 s at 0 B and 11 s at
        // 1000 B, so messages of 100, 700 and 1000 B take 2, 8 and 11 s.
        let histogram = Histogram::read("h", "1:100\n1:700\n2:100\n1:1000").unwrap();
        let rates = Rates::read("r", "bytes,seconds\n0,1\n1000,11\n1000,13\n1000,9\n").unwrap();
        let rows = shares(&histogram, Some(&"0-100,1000".parse().unwrap()), Some(&rates));
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.name(), row.count, row.bytes, row.count_share, row.bytes_share, row.time_share.unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                ("0–100".to_owned(), 3, 300, 60.0, 15.0, 24.0),
                ("1000".to_owned(), 1, 1000, 20.0, 50.0, 44.0),
                ("others".to_owned(), 1, 700, 20.0, 35.0, 32.0),
            ]
        );
        assert_eq!(histogram.text(), "3:100\n1:700\n1:1000\n");
        let first = shares_csv(&rows).lines().nth(1).unwrap().to_owned();
        assert_eq!(first, "0,100,3,300,60,15,24");
    }

    #[test]
    fn what_is_no_histogram_group_or_table_is_told() {
        let error = |text: &str| Histogram::read("h.txt", text).unwrap_err().to_string();
        assert_eq!(
            error("1:2\n5 6\n"),
            "h.txt, line 2: expected count:size, two whole numbers such as 128:4096; found \"5 6\""
        );
        assert_eq!(error("# nothing\n"), "h.txt: expected lines of count:size; found no messages");
        assert_eq!(
            error("9:99999999999999999999"),
            "h.txt, line 1: expected count:size, two whole numbers such as 128:4096; found \"9:99999999999999999999\""
        );
        assert_eq!(
            error("2:18446744073709551615"),
            "h.txt, line 1: expected at most 2^64 bytes of messages in all; \
                          found more"
        );
        let error = |text: &str| text.parse::<Groups>().unwrap_err();
        assert_eq!(error("40-32"), "40-32: expected the smaller size first");
        assert_eq!(error("1-9,9-10"), "9-10: expected sizes above 9 B, where the group before ends");
        assert_eq!(error("a-b"), "expected sizes such as 32-40,69-80,4KiB-64KiB; found \"a-b\"");
        let error = |text: &str| Rates::read("r.csv", text).unwrap_err().to_string();
        assert_eq!(error("a,b\n1,2\n"), "r.csv: expected a table with the columns bytes and seconds");
        assert_eq!(error("bytes,seconds\n"), "r.csv: expected rows of samples; found none");
        assert_eq!(error("bytes,seconds\n1,-2\n"), "r.csv: row 2: expected seconds, a time; found -2");
        let other = "test,bytes,seconds\nlate_receive,1,-2\nping_pong,1,2\n";
        assert!(Rates::read("r.csv", other).is_ok());
    }
}
