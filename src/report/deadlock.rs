//! Text about a run that ended without a prediction.

use std::collections::BTreeSet;

use crate::engine::{Deadlock, RunError, Waiting};
use crate::rank::Rank;

use super::numbers::count;
use super::table::{Align, Table};
use super::threads::task_name;

/// Number of waiting ranks that the text shows.
const ROWS: usize = 20;
/// Number of ranks in a deadlock cycle that the text shows.
const CYCLE: usize = 8;
/// Width of text lines, in columns.
const WIDTH: usize = 80;

/// Returns one line about the failure, followed by the details of a crash or by a table of the ranks that wait in a
/// deadlock. The table contains the call, the peer, the virtual time and the source position of each rank. The text
/// does not end with a newline.
pub fn failure(error: &RunError) -> String {
    match error {
        RunError::Deadlock(deadlock) => format!("{error}\n{}", deadlock_table(deadlock)),
        _ => error.to_string(),
    }
}

fn deadlock_table(deadlock: &Deadlock) -> String {
    let cycle = deadlock.cycle();
    let rows: Vec<[String; 5]> = shown(deadlock, &cycle)
        .into_iter()
        .map(|waiting| {
            let [rank, since] = [task_name(waiting.rank, waiting.thread), waiting.since.to_string()];
            [rank, waiting.call.clone(), since, awaited(waiting), position(waiting).to_owned()]
        })
        .collect();
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let rank = widest(0).max(4);
    // Two blanks precede each table column. The headings of the first three columns have at most eight characters.
    let whole = rank + widest(1).max(8) + widest(2).max(5) + widest(3).max(3) + widest(4) + 5 * 2;
    // Source positions that do not fit into the table are listed below the table, without duplicates.
    let first = deadlock.waiting.first().map(position).unwrap_or_default();
    let same = deadlock.waiting.len() > 1 && deadlock.waiting.iter().all(|waiting| position(waiting) == first);
    let is_below_once = whole > WIDTH && same && !first.is_empty();
    let mut table = Table::new(&[
        ("rank", Align::Right),
        ("waits in", Align::Left),
        ("since", Align::Right),
        ("for", Align::Left),
        (if is_below_once { "" } else { "at" }, Align::Left),
    ]);
    for [number, call, since, awaits, place] in rows {
        let place = if is_below_once { String::new() } else { end_of(&place, WIDTH - rank - 4) };
        table.row([number, call, since, awaits, place]);
    }
    let mut text = table.render();
    let more = (deadlock.waiting.len() + deadlock.threads.len()).saturating_sub(ROWS);
    if more > 0 {
        text.push_str(&format!("  and {} more\n", count(more as u64)));
    }
    if is_below_once {
        text.push_str(&format!("  all at {}\n", end_of(first, WIDTH - "  all at ".len())));
    }
    if !cycle.is_empty() {
        text.push_str(&format!("  cycle: {}\n", cycle_text(&cycle)));
    }
    let threads = deadlock.thread_cycle();
    if !threads.is_empty() && threads.len() <= CYCLE + 1 {
        let name = |&(rank, thread): &(Rank, u32)| task_name(rank, Some(thread).filter(|&thread| thread > 0));
        text.push_str(&format!("  cycle: rank {}\n", threads.iter().map(name).collect::<Vec<_>>().join(" -> ")));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns at most [`ROWS`] waiting ranks and threads in increasing order. Ranks in the deadlock cycle precede other ranks
/// in this choice, and ranks precede threads.
fn shown<'a>(deadlock: &'a Deadlock, cycle: &[Rank]) -> Vec<&'a Waiting> {
    let members: BTreeSet<Rank> = cycle.iter().copied().collect();
    let (first, rest): (Vec<&Waiting>, Vec<&Waiting>) =
        deadlock.waiting.iter().partition(|waiting| members.contains(&waiting.rank));
    let all = first.into_iter().chain(rest).chain(&deadlock.threads);
    let mut rows: Vec<&Waiting> = all.take(ROWS).collect();
    rows.sort_by_key(|waiting| (waiting.rank, waiting.thread));
    rows
}

/// Returns the source position of a waiting rank without the name of its call, which has a separate column.
fn position(waiting: &Waiting) -> &str {
    let place = waiting.position.as_deref().unwrap_or_default();
    place.strip_prefix(&waiting.call).and_then(|rest| rest.strip_prefix(" at ")).unwrap_or(place)
}

/// Returns the first peer for which a rank waits, and the number of further peers.
fn awaited(waiting: &Waiting) -> String {
    let text = waiting.awaits.first().cloned().unwrap_or_default();
    match waiting.awaits.len().saturating_sub(1) {
        0 => text,
        more => format!("{text}; {} more", count(more as u64)),
    }
}

/// Returns the last `width` characters of `text`. A mark replaces the truncated start of the text.
fn end_of(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - (width - 2)).collect();
    format!("..{kept}")
}

/// Formats a cycle of waiting ranks as "rank 0 -> 1 -> 0".
fn cycle_text(cycle: &[Rank]) -> String {
    let link = |ranks: &[Rank]| ranks.iter().map(Rank::to_string).collect::<Vec<_>>().join(" -> ");
    if cycle.len() <= CYCLE + 1 {
        return format!("rank {}", link(cycle));
    }
    let (start, end) = (&cycle[..CYCLE], &cycle[cycle.len() - 1..]);
    format!("rank {} -> ... -> {} ({} ranks)", link(start), link(end), count(cycle.len() as u64 - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::ProgramError;
    use crate::units::SimTime;

    fn waiting(rank: Rank, peer: Option<Rank>) -> Waiting {
        Waiting {
            rank,
            thread: None,
            call: "recv".to_owned(),
            awaits: vec![peer.map_or("any message".to_owned(), |peer| format!("a message from rank {peer}, tag 0"))],
            peers: peer.into_iter().collect(),
            awaited_thread: None,
            since: SimTime::from_ps(1_250_000 + u64::from(rank)),
            position: Some("main[0].do[1]".to_owned()),
        }
    }

    #[test]
    fn two_ranks_that_wait_for_each_other_are_a_cycle() {
        let waiting = vec![waiting(0, Some(1)), waiting(1, Some(0)), waiting(2, None)];
        let text = failure(&RunError::Deadlock(Deadlock {
            waiting,
            finished: 1,
            threads: vec![],
            unfinalised: vec![],
            codes: vec![],
        }));
        let expected = [
            "deadlock: 3 ranks wait and no rank can continue (1 finished)",
            "  rank  waits in     since  for                           at",
            "     0  recv      1.250 us  a message from rank 1, tag 0  main[0].do[1]",
            "     1  recv      1.250 us  a message from rank 0, tag 0  main[0].do[1]",
            "     2  recv      1.250 us  any message                   main[0].do[1]",
            "  cycle: rank 0 -> 1 -> 0",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        assert!(!text.ends_with('\n'));
    }

    #[test]
    fn a_long_table_and_a_long_cycle_are_cut() {
        let ring = |size: u32| (0..size).map(|rank| waiting(rank, Some((rank + 1) % size))).collect();
        let text = failure(&RunError::Deadlock(Deadlock {
            waiting: ring(1000),
            finished: 0,
            threads: vec![],
            unfinalised: vec![],
            codes: vec![],
        }));
        assert_eq!(text.lines().count(), 1 + 1 + 20 + 2);
        assert!(text.contains("\n  and 980 more\n"), "{text}");
        assert!(
            text.ends_with("\n  cycle: rank 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> ... -> 0 (1,000 ranks)"),
            "{text}"
        );
    }

    #[test]
    fn the_ranks_of_the_cycle_are_shown_before_others() {
        let mut ranks: Vec<Waiting> = (0..50).map(|rank| waiting(rank, None)).collect();
        ranks.push(waiting(50, Some(51)));
        ranks.push(waiting(51, Some(50)));
        let text = failure(&RunError::Deadlock(Deadlock {
            waiting: ranks,
            finished: 0,
            threads: vec![],
            unfinalised: vec![],
            codes: vec![],
        }));
        assert!(text.contains("\n    50  recv") && text.contains("\n    51  recv"), "{text}");
        assert!(text.contains("\n  and 32 more\n"), "{text}");
    }

    #[test]
    fn many_partners_are_summed_up() {
        let mut all = waiting(0, None);
        all.call = "waitall".to_owned();
        all.awaits = (1..6).map(|rank| format!("a message from rank {rank}, tag 0")).collect();
        let text = failure(&RunError::Deadlock(Deadlock {
            waiting: vec![all],
            finished: 0,
            threads: vec![],
            unfinalised: vec![],
            codes: vec![],
        }));
        assert!(text.contains("  a message from rank 1, tag 0; 4 more  "), "{text}");
    }

    #[test]
    fn places_that_do_not_fit_beside_the_others_follow_below() {
        let at = |rank: Rank, place: &str| Waiting {
            call: "MPI_Reduce_scatter".to_owned(),
            position: Some(place.to_owned()),
            ..waiting(rank, Some(1 - rank))
        };
        let text = |waiting: Vec<Waiting>| {
            let text = failure(&RunError::Deadlock(Deadlock {
                waiting,
                finished: 0,
                threads: vec![],
                unfinalised: vec![],
                codes: vec![],
            }));
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        let (here, there) = ("main[0].do[1] of halo.toml:12", "main[7].else[1] of halo.toml:40");
        let rows = [
            "  rank  waits in               since  for",
            "     0  MPI_Reduce_scatter  1.250 us  a message from rank 1, tag 0",
            "     1  MPI_Reduce_scatter  1.250 us  a message from rank 0, tag 0",
        ];
        let once = "  all at main[0].do[1] of halo.toml:12";
        let cycle = "  cycle: rank 0 -> 1 -> 0";
        assert_eq!(text(vec![at(0, here), at(1, here)]), [&rows[..], &[once, cycle]].concat());
        let below = ["", "  rank  at", &format!("     0  {here}"), &format!("     1  {there}"), cycle];
        assert_eq!(text(vec![at(0, here), at(1, there)]), [&rows[..], &below].concat());
        let long = format!("{}{here}", "exchange[2] of halo.toml:20 in ".repeat(3));
        let cut = text(vec![at(0, &long)]);
        assert!(cut[4].starts_with("     0  ..") && cut[4].ends_with(here), "{cut:?}");
    }

    #[test]
    fn other_failures_are_one_line() {
        let error = ProgramError { place: "main[2]".into(), what: "rank 99 of 16".into(), ..ProgramError::default() };
        let text = failure(&RunError::Program { rank: 3, clock: SimTime::ZERO, error });
        assert_eq!(text, "rank 3 at virtual time 0 s: main[2]: rank 99 of 16");
    }
}
