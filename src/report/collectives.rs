//! Tables of the algorithms of collectives, with their numbers of calls and times.

use crate::engine::Outcome;
use crate::mpi::collective_word;
use crate::profile::CollectiveUse;
use crate::units::signed;

use super::numbers::{count, percent, share, volume};
use super::table::{Align, Table};
use super::tuning::parts_text;

/// Number of table rows in the text; the JSON output has all rows.
const ROWS: usize = 12;

/// Returns a table of the calls of collectives by algorithm, in decreasing order of time. The text is empty if no MPI
/// collective of the run had a choice of algorithms.
pub(super) fn by_algorithm(outcome: &Outcome) -> String {
    let mut rows: Vec<&CollectiveUse> = outcome.collectives.iter().filter(|use_| use_.algorithm.is_some()).collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by_key(|use_| std::cmp::Reverse(use_.mean_time));
    let mut table = Table::new(&[
        ("collective", Align::Left),
        ("algorithm", Align::Left),
        ("calls", Align::Right),
        ("sizes", Align::Right),
        ("time per rank", Align::Right),
        ("", Align::Right),
    ])
    .keyed(2);
    for use_ in rows.iter().take(ROWS) {
        let sizes = match (use_.least_bytes, use_.most_bytes) {
            (least, most) if least == most => volume(least),
            (least, most) => format!("{} to {}", volume(least), volume(most)),
        };
        table.row([
            use_.call.clone(),
            parts_text(use_.algorithm, use_.segment, use_.fan),
            count(use_.calls),
            sizes,
            use_.mean_time.to_string(),
            percent(share(use_.mean_time.as_ps() as f64, outcome.predicted.as_ps() as f64)),
        ]);
    }
    let mut text = table.render();
    if rows.len() > ROWS {
        text.push_str(&format!("  and {} more rows, which the --json output lists\n", rows.len() - ROWS));
    }
    text
}

/// Returns a table of the predicted times with other algorithms of collectives, the fastest run first.
pub(super) fn by_other_algorithms(outcome: &Outcome) -> String {
    let Some(all) = &outcome.other_algorithms else { return String::new() };
    if all.is_empty() {
        return "  no other algorithms: no called collective has a choice of algorithms\n".to_owned();
    }
    let mut table = Table::new(&[
        ("collective", Align::Left),
        ("algorithm of all calls", Align::Left),
        ("predicted", Align::Right),
        ("change", Align::Right),
    ]);
    for other in all.iter().take(ROWS) {
        let method = other.method;
        let change = other.predicted.as_ps() as f64 / outcome.predicted.as_ps() as f64 - 1.0;
        table.row([
            collective_word(other.collective).to_owned(),
            parts_text(Some(method.algorithm), method.segment, method.fan),
            other.predicted.to_string(),
            format!("{}%", signed(100.0 * change, 2)),
        ]);
    }
    let mut text = table.render();
    if all.len() > ROWS {
        text.push_str(&format!("  and {} slower algorithms, which the --json output lists\n", all.len() - ROWS));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Algorithm;
    use crate::units::SimSpan;

    #[test]
    fn the_longest_comes_first_and_what_has_no_algorithm_is_left_out() {
        let mut outcome = super::super::busy();
        assert_eq!(by_algorithm(&outcome), "");
        let row = |call: &str, algorithm, us| CollectiveUse {
            call: call.to_owned(),
            algorithm,
            segment: 0,
            fan: 0,
            calls: 16,
            least_bytes: 8,
            most_bytes: 8,
            mean_time: SimSpan::from_us(us),
        };
        let pipeline =
            CollectiveUse { segment: 65_536, most_bytes: 1 << 20, ..row("MPI_Bcast", Some(Algorithm::Pipeline), 30) };
        outcome.collectives =
            vec![row("MPI_Allreduce", Some(Algorithm::Ring), 10), pipeline, row("MPI_Comm_split", None, 50)];
        let text = by_algorithm(&outcome);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].starts_with("  MPI_Bcast") && lines[1].contains("pipeline 64 KiB"), "{text}");
        assert!(lines[2].starts_with("  MPI_Allreduce") && lines[2].contains("ring"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
