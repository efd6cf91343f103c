//! Report of several jobs: their times, the delays that they cause each other, and the tables of each job.

use crate::engine::{DelayPart, JobDelay, JobOutcome, Outcome};
use crate::units::SimSpan;

use super::headline::{clip, plural, wrapped};
use super::table::{Align, Table};
use super::{collectives, critical, messages, notes, path, time};

/// Greatest number of jobs whose tables are printed.
const MOST_TABLES: usize = 8;
/// Greatest number of rows in the table of delays.
const MOST_DELAYS: usize = 20;
/// Least delay that the table shows, as a fraction of the job's time.
const LEAST: f64 = 0.0005;

/// Returns the tables of the jobs; empty for a run without jobs.
pub(super) fn jobs(outcome: &Outcome) -> String {
    if outcome.jobs.is_empty() {
        return String::new();
    }
    let mut parts = vec![times(&outcome.jobs), delays(&outcome.jobs)];
    parts.extend(outcome.jobs.iter().take(MOST_TABLES).map(tables));
    if outcome.jobs.len() > MOST_TABLES {
        let more = outcome.jobs.len() - MOST_TABLES;
        parts.push(format!("  tables of {} are in the JSON outcome (--json)\n", plural(more as u64, "further job")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Returns the table of the jobs' nodes and times.
fn times(jobs: &[JobOutcome]) -> String {
    let starts = jobs.iter().any(|job| job.start.as_ps() > 0);
    let mut columns = vec![("job", Align::Left), ("ranks", Align::Right), ("nodes", Align::Left)];
    columns.extend(starts.then_some(("start", Align::Right)));
    columns.extend([("time", Align::Right), ("alone", Align::Right), ("longer", Align::Right)]);
    let mut table = Table::new(&columns);
    for job in jobs {
        let mut cells =
            vec![clip(&job.name, 16), super::numbers::count(job.outcome.ranks.into()), clip(&job.nodes, 18)];
        cells.extend(starts.then(|| job.start.to_string()));
        cells.push(job.outcome.predicted.to_string());
        cells.push(job.alone.map_or_else(|| "-".to_owned(), |alone| alone.to_string()));
        cells
            .push(job.slowdown.map_or_else(|| "-".to_owned(), |slowdown| format!("{:+.1}%", 100.0 * (slowdown - 1.0))));
        table.row(cells.into_iter().map(|cell| if cell == "-0.0%" { "+0.0%".to_owned() } else { cell }));
    }
    table.render()
}

/// Returns the table of the delays that jobs cause each other.
fn delays(jobs: &[JobOutcome]) -> String {
    let columns =
        [("delayed job", Align::Left), ("by", Align::Left), ("delay", Align::Right), ("mostly at", Align::Left)];
    let mut table = Table::new(&columns);
    let mut found: Vec<(&JobOutcome, &JobDelay)> =
        jobs.iter().flat_map(|job| job.delays.iter().map(move |delay| (job, delay))).collect();
    let is_shown = |(job, delay): &(&JobOutcome, &JobDelay)| {
        delay.delay_ps.unsigned_abs() as f64 >= LEAST * job.outcome.predicted.as_ps() as f64 && delay.delay_ps != 0
    };
    found.retain(is_shown);
    found.sort_by_key(|(_, delay)| std::cmp::Reverse(delay.delay_ps));
    let all = found.len();
    for (job, delay) in found.into_iter().take(MOST_DELAYS) {
        let cells = [clip(&job.name, 16), clip(&delay.by, 16), signed(delay.delay_ps), places(delay)];
        table.row(cells);
    }
    if all == 0 {
        let compared = jobs.iter().any(|job| !job.delays.is_empty());
        return if compared { "  no job delays another job\n".to_owned() } else { String::new() };
    }
    let more = all.saturating_sub(MOST_DELAYS);
    let rest = if more > 0 { format!("  and {more} smaller delays\n") } else { String::new() };
    let text = "  delay: time of the job minus its time in a run without the other job";
    table.render() + &rest + &wrapped(text, 2)
}

/// Returns the one or two greatest parts of a delay.
fn places(delay: &JobDelay) -> String {
    let grows = |part: &&DelayPart| (part.ps > 0) == (delay.delay_ps > 0);
    let great = |part: &&DelayPart| part.ps.unsigned_abs() >= delay.delay_ps.unsigned_abs() / 10;
    let parts: Vec<String> =
        delay.parts.iter().filter(grows).filter(great).take(2).map(|part| place(&part.part)).collect();
    parts.join(", ")
}

/// Returns the part of the critical path with the name `part`, such as "inter-node uplink".
fn place(part: &str) -> String {
    let words: Vec<&str> = part.split('.').filter(|word| *word != "contention").collect();
    let word = |word: &&str| match *word {
        "intra_cmp" => "intra-CMP".to_owned(),
        "inter_cmp" => "inter-CMP".to_owned(),
        "inter_node" => "inter-node".to_owned(),
        word => word.replace('_', " "),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn signed(ps: i64) -> String {
    let sign = if ps < 0 { "-" } else { "+" };
    format!("{sign}{}", SimSpan::from_ps(ps.unsigned_abs()))
}

/// Returns the tables of one job, below a line with its name.
fn tables(job: &JobOutcome) -> String {
    let outcome = &job.outcome;
    let app = if outcome.app == job.name { String::new() } else { format!(" ({})", clip(&outcome.app, 30)) };
    let ranks = plural(outcome.ranks.into(), "rank");
    let head = format!("job {}{app}: {ranks}, {}\n", clip(&job.name, 30), outcome.predicted);
    let results = super::headline::results(outcome);
    let parts = [
        head + &results,
        time::time_parts(outcome),
        path::parts(outcome),
        critical::shares(outcome),
        collectives::by_algorithm(outcome),
        messages::by_level(outcome),
        notes::notes(outcome),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{busy, empty};
    use crate::report::{ReportTables, summary};
    use crate::units::SimTime;

    #[test]
    fn jobs_and_their_delays_are_tables_of_at_most_80_columns() {
        let part = |part: &str, ps| DelayPart { part: part.to_owned(), ps };
        let parts =
            vec![part("inter_node.contention.adapter_out", 3_000_000_000), part("inter_node.bytes", 1_000_000_000)];
        let delay = |by: &str, delay_ps, parts| JobDelay { by: by.to_owned(), delay_ps, parts, ..JobDelay::default() };
        let job = |name: &str, outcome: Outcome, delays| JobOutcome {
            name: name.to_owned(),
            nodes: "0,2,4,6,8,10,12,14,16,18,20".to_owned(),
            start: SimTime::from_ps(1_234_567_890),
            alone: Some(outcome.predicted),
            slowdown: Some(1.25),
            delays,
            outcome,
            ..JobOutcome::default()
        };
        let long = "a_job_with_a_long_name";
        let first = job(long, busy(), vec![delay("b", 4_000_000_000, parts)]);
        let jobs = vec![first, job("b", empty(), vec![delay(long, 0, Vec::new())])];
        let text = summary(&Outcome { jobs, ..busy() }, &ReportTables::Full);
        for line in text.lines() {
            assert!(line.chars().count() <= 80 && line.trim_end() == line, "{line}");
        }
        for part in [
            "a_job_with_a_...     16  0,2,4,6,8,10,12...",
            "+25.0%",
            "+4.000 ms  inter-node adapter out, inter-node bytes",
            "job a_job_with_a_long_name (",
            "all jobs\n",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(text.matches("mostly at").count(), 1, "one delay:\n{text}");
    }
}
