//! Shares of ranks and calls in the critical path of a run.

use crate::engine::Outcome;
use crate::profile::PathShare;
use crate::units::SimSpan;

use super::headline::{clip, plural};
use super::numbers::{percent, share};
use super::table::{Align, Table};
use super::threads::task_name;

/// Number of rows in each table of the critical path.
const ROWS: usize = 10;

/// Returns tables of the ranks and source positions with the largest shares of the critical path. The text is empty if
/// the run did not record the critical path.
pub(super) fn shares(outcome: &Outcome) -> String {
    let Some(path) = outcome.critical_path.as_ref().filter(|path| path.known > SimSpan::ZERO) else {
        return String::new();
    };
    let predicted = outcome.predicted.as_ps() as f64;
    let table = |name: &str, rows: &mut dyn Iterator<Item = (String, PathShare)>, count: usize| {
        let columns = [(name, Align::Left), ("share", Align::Right), ("own", Align::Right), ("messages", Align::Right)];
        let mut table = Table::new(&columns);
        for (name, part) in rows.take(ROWS) {
            let total = percent(share(part.total().as_ps() as f64, predicted));
            table.row([name, total, part.own.to_string(), part.messages.to_string()]);
        }
        let more = count.saturating_sub(ROWS);
        table.render() + &if more > 0 { format!("  and {more} more\n") } else { String::new() }
    };
    let ranks = table(
        "path by rank",
        &mut path.ranks.iter().map(|rank| (task_name(rank.rank, rank.thread), rank.share)),
        path.ranks.len(),
    );
    let sites = table(
        "path by call",
        &mut path.sites.iter().map(|site| (clip(&site.label(), 46), site.share)),
        path.sites.len(),
    );
    let known = if path.known.as_ps() == outcome.predicted.as_ps() {
        String::new()
    } else {
        format!("  only the last {} of the path are known: the number of steps is limited\n", path.known)
    };
    format!("{ranks}\n{sites}  the path moves to another rank {}\n{known}", plural(path.hops, "time"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CriticalPath, RankShare, SiteShare, StepSource};
    use crate::report::samples::busy;

    #[test]
    fn computing_before_a_call_is_named_as_such() {
        let source = StepSource { operation: Some("MPI_Send".to_owned()), line: Some("heat2d.c:88".to_owned()) };
        let share = PathShare { own: SimSpan::from_us(5), messages: SimSpan::ZERO };
        let site = SiteShare { site: "MPI_Send in main at heat2d.c:88".to_owned(), source, share };
        assert_eq!(site.label(), "MPI_Send in main at heat2d.c:88");
        assert_eq!(site.computing_before().label(), "computing before MPI_Send in main at heat2d.c:88");
    }

    #[test]
    fn the_ten_with_most_are_shown_and_what_is_not_known_is_said() {
        let mut outcome = busy();
        assert_eq!(shares(&outcome), "");
        let share = |us| PathShare { own: SimSpan::from_us(us), messages: SimSpan::from_us(2 * us) };
        let known = SimSpan::from_us(900_000);
        let ranks =
            (0..12).map(|rank| RankShare { rank, thread: None, share: share(50_000 - u64::from(rank)) }).collect();
        let source = StepSource { operation: Some("waitall".to_owned()), line: Some("jacobi3d.toml:54".to_owned()) };
        let sites =
            [("a_procedure_with_a_very_long_name[12].do[3].then[1]", StepSource::default()), ("main[0].do[1]", source)]
                .map(|(site, source)| SiteShare { site: site.to_owned(), source, share: share(9) })
                .to_vec();
        outcome.critical_path = Some(CriticalPath { known, hops: 1, ranks, sites });
        let text = shares(&outcome);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("waitall at jacobi3d.toml:54 ") && !text.contains("main[0]"), "{text}");
        assert!(text.contains("  and 2 more\n"), "{text}");
        assert!(text.contains("  the path moves to another rank 1 time\n"), "{text}");
        let end = "  only the last 900.0 ms of the path are known: the number of steps is limited\n";
        assert!(text.ends_with(end), "{text}");
    }
}
