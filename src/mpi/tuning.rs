//! Open MPI's dynamic rules for collectives: reads and writes files for `coll_tuned_dynamic_rules_filename`.
//!
//! A rules file is a sequence of numbers, with comments from `#` to the end of a line. The first number is the count of
//! collectives. A collective consists of its identifier in Open MPI, the count of communicator sizes, and the
//! communicator sizes. A communicator size consists of its value, the count of message sizes, and the message sizes. A
//! message size consists of the least size in bytes, the identifier of an algorithm, a fan and a segment size in bytes.
//! The rule with the greatest communicator size not above the size of the communicator applies; the same holds for
//! message sizes. Algorithm 0 leaves the choice to Open MPI.
//!
//! Since Open MPI 5.0.7, a rules file may begin with `rule-file-version-2`. A message size may then have one more
//! number on its line: the greatest number of concurrent messages. Open MPI 6.0 also reads rules in JSON (module
//! `json`).

mod json;

use super::library::{number_of, numbered};
use super::names::collective_word;
use mcpsim_base::platform::{Algorithm, Collective, CollectiveRule, Method, Volume};
use mcpsim_base::units::Bytes;

/// Collectives in the order of their identifiers in Open MPI 4; `None` for collectives whose rules mcpsim skips.
const NUMBERS: [Option<Collective>; 17] = [
    Some(Collective::Allgather),
    Some(Collective::Allgatherv),
    Some(Collective::Allreduce),
    Some(Collective::Alltoall),
    Some(Collective::Alltoallv),
    None,
    Some(Collective::Barrier),
    Some(Collective::Bcast),
    Some(Collective::Exscan),
    Some(Collective::Gather),
    None,
    Some(Collective::Reduce),
    Some(Collective::ReduceScatter),
    None,
    Some(Collective::Scan),
    Some(Collective::Scatter),
    None,
];

/// List of collectives, each with its Open MPI rules.
pub type Rules = Vec<(Collective, Vec<CollectiveRule>)>;

/// Rules of a rules file that Open MPI applies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppliedRules {
    /// Rules of the file; empty if Open MPI ignores the file.
    pub rules: Rules,
    /// Reason why Open MPI ignores the rules file, if it ignores the file.
    pub ignored: Option<String>,
}

/// Numbers in a rules file, each with the number of its line.
struct TuningNumbers<'a> {
    numbers: Vec<(usize, &'a str)>,
    at: usize,
}

impl<'a> TuningNumbers<'a> {
    /// Splits `text` into numbers; `text` begins in line `first` of the file.
    fn split(text: &'a str, first: usize) -> Self {
        let lines = (first..).zip(text.lines());
        let words = |(line, text): (usize, &'a str)| {
            let text = text.split('#').next().unwrap_or_default();
            text.split_whitespace().map(move |word| (line, word))
        };
        TuningNumbers { numbers: lines.flat_map(words).collect(), at: 0 }
    }

    /// Returns the next number of the rules file; `what` describes the number in error messages.
    fn next(&mut self, what: &str) -> Result<u64, String> {
        let Some(&(line, word)) = self.numbers.get(self.at) else {
            let last = self.numbers.last().map_or(0, |(line, _)| *line);
            return Err(format!("the file ends too soon after line {last}: expected {what}"));
        };
        self.at += 1;
        word.parse().map_err(|_| format!("line {line}: expected {what}; found \"{word}\""))
    }

    /// Whether the next number is on the same line as the last number read.
    fn goes_on(&self) -> bool {
        self.numbers.get(self.at).is_some_and(|(line, _)| *line == self.line())
    }

    fn line(&self) -> usize {
        self.numbers.get(self.at.saturating_sub(1)).map_or(0, |(line, _)| *line)
    }

    /// Reads the count of the items that follow in the rules file.
    fn count(&mut self, what: &str) -> Result<u64, String> {
        let count = self.next(what)?;
        // Each item needs at least one number in the rules file.
        if count > self.numbers.len() as u64 {
            return Err(format!("line {}: {what} {count} is more than the file has entries for", self.line()));
        }
        Ok(count)
    }
}

/// Data size (such as the block size) by which Open MPI's rules for `collective` are selected.
fn volume(collective: Collective) -> Volume {
    match collective {
        Collective::Alltoall | Collective::Gather | Collective::Scatter => Volume::Total,
        Collective::Allgatherv => Volume::Mean,
        _ => Volume::Usual,
    }
}

/// Adds the parameters of a rule that the algorithm of `method` uses: fan, segment size, and number of concurrent
/// messages.
fn parameters(collective: Collective, mut method: Method, (fan, segment, requests): (u64, u64, u64)) -> Method {
    let (segments, fans) = super::schedule::takes(collective, method.algorithm);
    let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    if segments {
        method.segment = narrow(segment);
    }
    let fan = match method.algorithm {
        Algorithm::Linear => 0,
        Algorithm::LinearSync => requests,
        _ => fan,
    };
    if fans && fan > 0 {
        method.fan = narrow(fan);
    }
    method
}

/// Format version in the first line of a rules file, and the text after that line.
fn version(text: &str) -> Result<(u32, &str), String> {
    const WORD: &str = "rule-file-version-";
    let Some(rest) = text.strip_prefix(WORD) else { return Ok((1, text)) };
    let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    match line.split('#').next().unwrap_or_default().trim() {
        "1" => Ok((1, rest)),
        "2" => Ok((2, rest)),
        other => Err(format!("line 1: expected {WORD}1 or -2, or none; found \"{WORD}{other}\"")),
    }
}

/// Reads a rules file, in numbers or in JSON. All versions of Open MPI ignore a file in numbers in which the first
/// message size of any communicator size is not 0.
///
/// # Errors
/// Description of the error in the rules file, with the line of the error or the path of JSON keys to it.
pub fn read_open_mpi_rules(text: &str) -> Result<AppliedRules, String> {
    if text.trim_start().starts_with('{') {
        return json::read(text).map(|rules| AppliedRules { rules, ignored: None });
    }
    let (version, rest) = version(text)?;
    let mut numbers = TuningNumbers::split(rest, if rest.len() < text.len() { 2 } else { 1 });
    let mut rules = Rules::new();
    let mut ignored = None;
    for _ in 0..numbers.count("the number of collectives")? {
        let id = numbers.next("the number that stands for a collective")?;
        let known = usize::try_from(id).ok().and_then(|id| NUMBERS.get(id));
        let collective =
            *known.ok_or_else(|| format!("line {}: expected a collective from 0 to 16; found {id}", numbers.line()))?;
        let mut entries: Vec<(u64, Vec<(u64, CollectiveRule)>)> = Vec::new();
        for _ in 0..numbers.count("the number of communicator sizes")? {
            let ranks = numbers.next("a communicator size")?;
            let mut sizes = Vec::new();
            for _ in 0..numbers.count("the number of message sizes")? {
                let least = numbers.next("a message size")?;
                if sizes.is_empty() && least > 0 {
                    let line = numbers.line();
                    ignored.get_or_insert_with(|| {
                        format!("line {line}: the first message size of a communicator is {least}, expected 0")
                    });
                }
                let algorithm = numbers.next("an algorithm")?;
                let fan = numbers.next("a fan")?;
                let segment = numbers.next("a segment size")?;
                let requests =
                    if version > 1 && numbers.goes_on() { numbers.next("a number of requests")? } else { 0 };
                let Some(collective) = collective.filter(|_| algorithm > 0) else {
                    sizes.push((least, None));
                    continue;
                };
                let methods = numbered(collective);
                let Some(&method) = usize::try_from(algorithm - 1).ok().and_then(|place| methods.get(place)) else {
                    let (line, word, most) = (numbers.line(), collective_word(collective), methods.len());
                    return Err(format!(
                        "line {line}: expected an algorithm of {word} from 0 to {most}; found {algorithm}"
                    ));
                };
                let method = parameters(collective, method, (fan, segment, requests));
                let rule = CollectiveRule { volume: volume(collective), ..CollectiveRule::always(method) };
                sizes.push((least, Some(rule)));
            }
            let sized = sizes.iter().enumerate().filter_map(|(place, (least, rule))| {
                let next = sizes.get(place + 1).map_or(u64::MAX, |(next, _)| next.saturating_sub(1));
                let (from_bytes, up_to_bytes) = (Bytes::new(*least), Bytes::new(next));
                rule.map(|rule| (*least, CollectiveRule { from_bytes, up_to_bytes, ..rule }))
            });
            entries.push((ranks, sized.collect()));
        }
        let ends: Vec<u64> = entries.iter().skip(1).map(|(ranks, _)| ranks.saturating_sub(1)).collect();
        let mut list = Vec::new();
        for (place, (ranks, sizes)) in entries.into_iter().enumerate() {
            let narrow = |ranks: u64| u32::try_from(ranks).unwrap_or(u32::MAX);
            let (from_ranks, up_to_ranks) = (narrow(ranks), ends.get(place).map_or(u32::MAX, |&end| narrow(end)));
            list.extend(sizes.into_iter().map(|(_, rule)| CollectiveRule { from_ranks, up_to_ranks, ..rule }));
        }
        if let Some(collective) = collective {
            rules.push((collective, list));
        }
    }
    match numbers.numbers.get(numbers.at) {
        None if ignored.is_some() => Ok(AppliedRules { rules: Rules::new(), ignored }),
        None => Ok(AppliedRules { rules, ignored }),
        Some((line, word)) => Err(format!("line {line}: expected the end of the file; found \"{word}\"")),
    }
}

/// Writes a rules file for communicators of `ranks` ranks. For each collective, `best` lists ascending message sizes
/// ([`super::rule_size`]), each with the best algorithm from that size on. An algorithm that Open MPI does not have
/// becomes algorithm 0.
pub fn write_open_mpi_rules(ranks: u32, best: &[(Collective, Vec<(Bytes, Method)>)]) -> String {
    let mut text = format!("{} # collectives\n", best.len());
    for (collective, sizes) in best {
        let id = NUMBERS.iter().position(|known| *known == Some(*collective)).unwrap_or_default();
        text.push_str(&format!("{id} # {}\n1 # communicator size\n{ranks}\n", collective_word(*collective)));
        let scale = match volume(*collective) {
            Volume::Total => u64::from(ranks),
            Volume::Usual | Volume::Mean => 1,
        };
        let mut lines: Vec<(u64, String)> = Vec::new();
        for (place, (size, method)) in sizes.iter().enumerate() {
            let (number, algorithm) = match number_of(*collective, *method) {
                Some(number) => (number, super::algorithm_word(method.algorithm)),
                None => (0, "the library's choice"),
            };
            let what = format!("{number} {} {} # {algorithm}", method.fan, method.segment);
            // The rule for the first message size also applies to all smaller sizes.
            let least = if place == 0 { 0 } else { size.get() * scale };
            if lines.last().is_none_or(|(_, last)| *last != what) {
                lines.push((least, what));
            }
        }
        text.push_str(&format!("{} # message sizes\n", lines.len()));
        lines.iter().for_each(|(least, what)| text.push_str(&format!("{least} {what}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_open_mpi_looks_them_up() {
        let text = "2 # two collectives\n2 # allreduce\n2\n4 1\n0 3 0 0\n16 2\n0 4 0 0 # ring\n65536 5 0 1048576\n\
                    3\n1\n8 2\n0 0 0 0\n8192 4 16 0\n";
        let rules = read_open_mpi_rules(text).unwrap().rules;
        let mut all = mcpsim_base::platform::CollectiveRules::default();
        rules.into_iter().for_each(|(collective, rules)| all.set(collective, rules));
        let allreduce = |ranks, size| all.method(Collective::Allreduce, ranks, Bytes::new(size));
        assert_eq!(allreduce(3, 8), None);
        assert_eq!(allreduce(15, 1 << 20), Some(Algorithm::RecursiveDoubling.into()));
        assert_eq!(allreduce(16, 65_535), Some(Algorithm::Ring.into()));
        assert_eq!(allreduce(99, 65_536), Some(Method::from(Algorithm::SegmentedRing).in_segments(1 << 20)));
        // The rules of an alltoall refer to all bytes that a rank sends.
        let alltoall = |ranks, size| all.method(Collective::Alltoall, ranks, Bytes::new(size));
        assert_eq!(alltoall(8, 1023), None);
        // The algorithm is not a tree, so the fan is ignored. Version 1 has no number of concurrent messages.
        assert_eq!(alltoall(8, 1024), Some(Algorithm::LinearSync.into()));
    }

    #[test]
    fn version_2_may_say_how_many_messages_are_under_way() {
        let text = "rule-file-version-2\n1\n3\n1\n8\n3\n0 4 0 0 16 # with\n800 4 0 0\n8000 2 0 0 7\n";
        let mut all = mcpsim_base::platform::CollectiveRules::default();
        read_open_mpi_rules(text).unwrap().rules.into_iter().for_each(|(collective, rules)| all.set(collective, rules));
        let alltoall = |size| all.method(Collective::Alltoall, 8, Bytes::new(size));
        assert_eq!(alltoall(1), Some(Method::from(Algorithm::LinearSync).by(16)));
        assert_eq!(alltoall(100), Some(Algorithm::LinearSync.into()));
        assert_eq!(alltoall(1000), Some(Algorithm::Pairwise.into()));
        // Without its first line, which states version 2, the file has one number too many.
        let (_, first) = text.split_once('\n').unwrap();
        assert!(read_open_mpi_rules(first).is_err());
        assert!(read_open_mpi_rules(&text.replace("-2", "-1")).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_rules_file_is_said_with_its_line() {
        let error = |text: &str| read_open_mpi_rules(text).unwrap_err();
        assert_eq!(error(""), "the file ends too soon after line 0: expected the number of collectives");
        assert_eq!(error("1\n2\n1\n4 1\n0 3 0"), "the file ends too soon after line 5: expected a segment size");
        assert_eq!(error("1\n40"), "line 2: expected a collective from 0 to 16; found 40");
        assert_eq!(error("1\n2\n1\n4 1\n0 9 0 0"), "line 5: expected an algorithm of allreduce from 0 to 6; found 9");
        assert_eq!(error("1\n2\n1\nfour"), "line 4: expected a communicator size; found \"four\"");
        assert_eq!(error("0\n7"), "line 2: expected the end of the file; found \"7\"");
        assert_eq!(
            error("rule-file-version-3\n1"),
            "line 1: expected rule-file-version-1 or -2, or none; found \"rule-file-version-3\""
        );
        assert_eq!(error("rule-file-version-2\nx"), "line 2: expected the number of collectives; found \"x\"");
        assert_eq!(error("99999"), "line 1: the number of collectives 99999 is more than the file has entries for");
    }

    #[test]
    fn a_file_whose_first_message_size_is_not_0_has_no_rules() {
        let read = |text: &str| read_open_mpi_rules(text).unwrap();
        let good = "2\n2\n1\n4 1\n0 3 0 0\n3\n1\n8 1\n0 2 0 0\n";
        assert_eq!((read(good).rules.len(), read(good).ignored), (2, None));
        let found = read(&good.replace("8 1\n0 2", "8 1\n1024 2"));
        let reason = "line 9: the first message size of a communicator is 1024, expected 0";
        assert_eq!(found, AppliedRules { rules: Rules::new(), ignored: Some(reason.to_owned()) });
    }

    #[test]
    fn what_is_written_is_read_back() {
        let best = vec![
            (
                Collective::Alltoall,
                vec![
                    (Bytes::new(8), Algorithm::Bruck.into()),
                    (Bytes::new(64), Algorithm::Bruck.into()),
                    (Bytes::new(512), Algorithm::Pairwise.into()),
                ],
            ),
            (Collective::Bcast, vec![(Bytes::new(8), Method::from(Algorithm::Pipeline).in_segments(4096))]),
        ];
        let text = write_open_mpi_rules(16, &best);
        let rules = read_open_mpi_rules(&text).unwrap().rules;
        assert_eq!(rules.len(), 2);
        let mut all = mcpsim_base::platform::CollectiveRules::default();
        rules.into_iter().for_each(|(collective, rules)| all.set(collective, rules));
        for (size, algorithm) in [(1, Algorithm::Bruck), (511, Algorithm::Bruck), (512, Algorithm::Pairwise)] {
            assert_eq!(all.method(Collective::Alltoall, 16, Bytes::new(size)), Some(algorithm.into()), "{text}");
        }
        let pipeline = Method::from(Algorithm::Pipeline).in_segments(4096);
        assert_eq!(all.method(Collective::Bcast, 16, Bytes::new(1 << 20)), Some(pipeline));
    }
}
