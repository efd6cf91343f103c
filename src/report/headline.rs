//! First lines of a report: the application, the machine and the predicted time.

use crate::engine::{HostScale, Outcome, Repeats};
use crate::platform::Shape;
use crate::profile::{AppFigure, AppResult};
use crate::units::SimSpan;

use super::numbers;

/// Width of a text report in characters.
const WIDTH: usize = 80;

pub(super) fn headline(outcome: &Outcome) -> String {
    let [nodes, cmps, cores] = outcome.nct;
    let what = format!("{}: {}", clip(&outcome.app, 50), plural(u64::from(outcome.ranks), "rank"));
    let machine = format!("on {} ({nodes}, {cmps}, {cores})", clip(&outcome.platform, 40));
    let between = if what.len() + 1 + machine.len() <= WIDTH { " " } else { "\n  " };
    let mut time = format!("  predicted time   {}", outcome.predicted);
    if let Some(long) = in_hours(outcome.predicted.as_seconds()) {
        time.push_str(&format!(" ({long})"));
    }
    let model = match outcome.model.as_str() {
        "mcpsim" => String::new(),
        "two-level" | "bigsim" => {
            format!("  model            two-level: ({nodes}, {})\n", u64::from(cmps) * u64::from(cores))
        }
        "hockney" | "logp" | "loggp" | "xu-hwang" => {
            format!("  model            {}: {nodes} processors, all equally far apart\n", outcome.model)
        }
        other => format!("  model            {}\n", clip(other, 50)),
    };
    // The results of several jobs are rows of the table of jobs.
    let own_results = if outcome.jobs.is_empty() { results(outcome) } else { String::new() };
    format!(
        "{what}{between}{machine}\n\n{time}\n{}{}{model}{}{}",
        scale(outcome),
        repeats(outcome),
        last_rank(outcome),
        own_results
    )
}

/// Returns a text about the range of predicted times because of the range of `scale_factor`; empty without such a range.
fn scale(outcome: &Outcome) -> String {
    let Some(HostScale { processor, low, high, predicted }) = &outcome.host.scale else { return String::new() };
    let factors = format!("scale_factor {low:.2} to {high:.2}, from rates of {}", clip(processor, 40));
    match predicted {
        Some([low, high]) => format!("  range            {low} to {high}\n    {factors}\n"),
        None => format!("    {factors}\n"),
    }
}

/// Returns a text about the runs with other seeds; empty if the user requested no such runs.
fn repeats(outcome: &Outcome) -> String {
    let Some(Repeats { runs, mean_s, deviation_s, interval_s: [low, high], .. }) = &outcome.repeats else {
        return String::new();
    };
    let time = |seconds: f64| SimSpan::from_seconds(seconds).unwrap_or(SimSpan::MAX);
    let percent = if *mean_s > 0.0 { 100.0 * deviation_s / mean_s } else { 0.0 };
    let (mean, deviation) = (time(*mean_s), time(*deviation_s));
    let of = format!("of {runs} runs");
    format!(
        "  {of:<16} mean {mean}, deviation {deviation} ({percent:.2}%)\n  95% of runs      {} to {}\n",
        time(*low),
        time(*high)
    )
}

/// Returns a text about the results that the application computes from its timers.
pub(super) fn results(outcome: &Outcome) -> String {
    let width = outcome.results.iter().map(|result| result.name.chars().count().min(32)).max().unwrap_or(0).max(16);
    let line = |result: &AppResult| {
        let found = match &result.found {
            AppFigure::Value(value) => numbers::figure(*value, &clip(&result.unit, 16)),
            AppFigure::Error(why) => format!("not computed: {}", clip(why, 400)),
        };
        format!("  {:<width$} {found}\n", clip(&result.name, 32))
    };
    outcome.results.iter().map(line).collect()
}

/// Returns a text about the rank that finished last and thereby determined the predicted time; empty if this rank is
/// unknown.
fn last_rank(outcome: &Outcome) -> String {
    // Among ranks with equal end times the lowest rank is named, so the line is the same in every run.
    let Some(last) = outcome.per_rank.iter().rev().max_by_key(|rank| rank.clock) else { return String::new() };
    if outcome.predicted.as_ps() == 0 || outcome.per_rank.len() < 2 {
        return String::new();
    }
    let together = outcome.per_rank.iter().filter(|rank| rank.clock == last.clock).count();
    let place = format!("node {}, CMP {}, core {}", last.node, last.cmp, last.core);
    match together {
        1 => format!("  finished last    rank {} ({place})\n", last.rank),
        n if n == outcome.per_rank.len() => "  finished last    all ranks at the same time\n".to_owned(),
        n => format!("  finished last    rank {} ({place}) and {} more\n", last.rank, numbers::count(n as u64 - 1)),
    }
}

/// Returns the number of cores of the simulated machine; the number saturates on overflow.
pub(super) fn cores(outcome: &Outcome) -> u64 {
    let [nodes, cmps, cores] = outcome.nct;
    Shape { nodes, cmps, cores }.total_cores()
}

/// Formats a number with a noun: "1 rank", "16 ranks".
pub(super) fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", numbers::count(number), if number == 1 { "" } else { "s" })
}

/// Formats a duration of two minutes or more in a form such as "1 h 30 min 5 s".
fn in_hours(seconds: f64) -> Option<String> {
    if seconds < 120.0 {
        return None;
    }
    let seconds = seconds.round() as u64;
    let parts = [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let parts = parts.iter().skip_while(|part| part.0 == 0).map(|(number, unit)| format!("{number} {unit}"));
    Some(parts.collect::<Vec<_>>().join(" "))
}

/// Returns at most `width` characters of a name that the user chose, without control characters.
pub(super) fn clip(name: &str, width: usize) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().count() <= width {
        return name;
    }
    let kept: String = name.chars().take(width - 3).collect();
    format!("{kept}...")
}

/// Wraps `text` to lines. The first line has at most `first` characters, later lines at most `others`. Words that are
/// longer than a line are divided.
pub(super) fn lines(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut found: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let mut letters: Vec<char> = word.chars().collect();
        while !letters.is_empty() {
            let room = if found.len() == 1 { first } else { others };
            let line = found.last_mut().expect("there is a first line");
            let used = line.chars().count() + usize::from(!line.is_empty());
            if used > 0 && used + letters.len() > room {
                found.push(String::new());
                continue;
            }
            if used > 0 {
                line.push(' ');
            }
            line.extend(letters.drain(..letters.len().min(room)));
        }
    }
    found
}

/// Wraps `text` to lines of at most 80 characters, each with a newline. Lines after the first are indented by `hanging`
/// blanks. Words longer than a line are not divided.
pub fn wrapped(text: &str, hanging: usize) -> String {
    let start = text.len() - text.trim_start().len();
    let mut found = String::new();
    let mut line = text[..start].to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            found.push_str(&line);
            found.push('\n');
            line = " ".repeat(hanging);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    found + &line + "\n"
}

/// Returns the text `head`, two blanks, the word "with" and the text `label` on one line if the line is short.
/// Otherwise every pair `key=value` of `label` is on its own line, which is indented by `hanging` blanks.
pub(super) fn with_label(head: &str, label: &str, hanging: usize) -> String {
    if label.is_empty() {
        return format!("{head}\n");
    }
    let whole = format!("{head}  with {label}\n");
    if whole.chars().count() <= WIDTH + 1 {
        return whole;
    }
    let mut pairs: Vec<String> = Vec::new();
    for word in label.split(' ') {
        match pairs.last_mut() {
            // A value of a label may contain blanks.
            Some(pair) if !word.contains('=') => *pair = format!("{pair} {word}"),
            _ => pairs.push(word.to_owned()),
        }
    }
    let mut lines = vec![format!("{head}  with")];
    for pair in pairs {
        match lines.last_mut() {
            Some(line)
                if line.starts_with(' ') && !line.ends_with("  with") && line.len() + 1 + pair.len() <= WIDTH =>
            {
                line.push(' ');
                line.push_str(&pair);
            }
            _ => lines.push(format!("{}{pair}", " ".repeat(hanging))),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::busy;
    use crate::units::SimTime;

    #[test]
    fn words_keep_to_lines_and_none_is_lost() {
        assert_eq!(lines("one two three", 7, 5), ["one two", "three"]);
        assert_eq!(lines("a abcdefghij b", 4, 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(lines("", 4, 4), [""]);
    }

    #[test]
    fn lines_are_at_most_80_columns_wide_and_words_stay_whole() {
        assert_eq!(wrapped("  one two", 4), "  one two\n");
        let long = format!("  in {}: {} b", "d".repeat(90), "a".repeat(40));
        assert_eq!(wrapped(&long, 4), format!("  in\n    {}:\n    {} b\n", "d".repeat(90), "a".repeat(40)));
        let words = wrapped(&"word ".repeat(40), 2);
        assert!(words.lines().all(|line| line.len() <= 80) && words.matches("word").count() == 40, "{words}");
    }

    #[test]
    fn pairs_that_are_too_long_for_a_line_follow_whole() {
        assert_eq!(with_label("  best 1 s", "", 4), "  best 1 s\n");
        assert_eq!(with_label("  best 1 s", "a=1 b=2 us", 4), "  best 1 s  with a=1 b=2 us\n");
        let label = "run.ranks=64 platform.inter_node.bandwidth=40 Gbit/s platform.inter_node.latency=2 us";
        let expected = "  best 1 s  with\n    run.ranks=64 platform.inter_node.bandwidth=40 Gbit/s\n    \
                        platform.inter_node.latency=2 us\n";
        assert_eq!(with_label("  best 1 s", label, 4), expected);
    }

    #[test]
    fn long_times_are_also_given_in_hours() {
        assert_eq!(in_hours(119.0), None);
        assert_eq!(in_hours(5400.4).as_deref(), Some("1 h 30 min 0 s"));
        assert_eq!(in_hours(90_000.0).as_deref(), Some("1 d 1 h 0 min 0 s"));
    }

    #[test]
    fn the_lowest_of_the_ranks_that_finish_last_is_named() {
        let mut outcome = busy();
        for (rank, ps) in [(3, 7), (9, 7), (4, 5)] {
            outcome.per_rank[rank].clock = outcome.predicted + crate::units::SimSpan::from_ps(ps);
        }
        assert_eq!(last_rank(&outcome), "  finished last    rank 3 (node 0, CMP 1, core 1) and 1 more\n");
        outcome.per_rank.iter_mut().for_each(|rank| rank.clock = SimTime::from_ps(5));
        assert_eq!(last_rank(&outcome), "  finished last    all ranks at the same time\n");
    }

    #[test]
    fn results_stand_below_each_other_with_their_units() {
        let of = |name: &str, value: f64, unit: &str| AppResult {
            name: name.into(),
            found: AppFigure::Value(value),
            unit: unit.into(),
        };
        let results = vec![
            of("b_eff", 6.79e9, "B/s"),
            of("latency", 1.5e-6, "s"),
            of("room", 123_456_789.0, "B"),
            of("share", 0.25, ""),
            of("of_something_with_a_long_name", -3.0, "points"),
            of("tiny", 1e-12, "B/s"),
            of("huge", 1e300, "flop/s"),
            of("off", -1e-6, "s"),
            AppResult { name: "none".into(), found: AppFigure::Error("1 / 0".into()), unit: "s".into() },
        ];
        let outcome = Outcome { results, ..Outcome::default() };
        let expected = "  b_eff                         6.790 GB/s
  latency                       1.500 us
  room                          117.7 MiB
  share                         0.2500
  of_something_with_a_long_name -3 points
  tiny                          1.000e-12 B/s
  huge                          1.000e300 flop/s
  off                           -1.000e-6 s
  none                          not computed: 1 / 0
";
        assert_eq!(super::results(&outcome), expected);
    }

    #[test]
    fn names_are_clipped_and_cleaned() {
        assert_eq!(clip("a\nb\x1b[0m", 10), "a b [0m");
        assert_eq!(clip("abcdefghij", 8), "abcde...");
    }
}
