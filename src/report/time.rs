//! Tables of the parts of the predicted time.

use crate::engine::{Outcome, RankTime};
use crate::profile::{HybridEfficiencies, TimeParts};
use crate::units::SimSpan;

use super::numbers::{bar, count, percent, share};
use super::table::{Align, Table};

const BAR: usize = 10;
/// Maximum error of the sum of five means, each rounded to a picosecond.
const ROUNDING: SimSpan = SimSpan::from_ps(5);

/// Part of the time of a rank: name and accessor.
pub(super) type Part = (&'static str, fn(&TimeParts) -> SimSpan);

pub(super) const PARTS: [Part; 5] = [
    ("compute", |parts| parts.compute),
    ("send", |parts| parts.send),
    ("recv", |parts| parts.recv),
    ("wait", |parts| parts.wait),
    ("collective", |parts| parts.collective),
];

/// Parts of the computing time, shown if computing waits for memory.
const OF_COMPUTE: [Part; 2] =
    [("  alone", |parts| parts.compute.saturating_sub(parts.memory)), ("  for memory", |parts| parts.memory)];

/// Returns a table with the mean of each time part over all ranks, as time and as share of the predicted time. The
/// table also contains the ranks with the least and the greatest value of each part.
///
/// The shares sum to 100 %, because the time between a rank's end and the end of the run is a separate part.
pub(super) fn time_parts(outcome: &Outcome) -> String {
    let predicted = outcome.predicted.as_ps() as f64;
    if predicted == 0.0 || outcome.ranks == 0 {
        return String::new();
    }
    let columns = [
        ("rank time", Align::Left),
        ("", Align::Left),
        ("mean", Align::Right),
        ("share", Align::Right),
        ("least", Align::Right),
        ("@rank", Align::Left),
        ("most", Align::Right),
        ("@rank", Align::Left),
    ];
    let mut table = Table::new(if outcome.per_rank.len() > 1 { &columns } else { &columns[..4] });
    let mut row = |name: &str, mean: SimSpan, extremes: Option<[(SimSpan, u32); 2]>| {
        let part = share(mean.as_ps() as f64, predicted);
        let mut cells = vec![name.to_owned(), bar(part, BAR), mean.to_string(), percent(part)];
        for (time, rank) in extremes.into_iter().flatten() {
            cells.extend([time.to_string(), rank.to_string()]);
        }
        table.row(cells);
    };
    for (name, part) in PARTS {
        row(name, part(&outcome.mean_parts), extremes(&outcome.per_rank, |rank| part(&rank.parts)));
        if name == "compute" && outcome.mean_parts.memory > SimSpan::ZERO {
            for (name, part) in OF_COMPUTE {
                row(name, part(&outcome.mean_parts), extremes(&outcome.per_rank, |rank| part(&rank.parts)));
            }
        }
    }
    let ended = SimSpan::from_ps(outcome.predicted.as_ps()).saturating_sub(outcome.mean_parts.total());
    if ended > ROUNDING {
        row("ended early", ended, extremes(&outcome.per_rank, |rank| outcome.predicted.since(rank.clock)));
    }
    table.render() + &efficiency(outcome)
}

/// Returns the least and the greatest result of `value`, each with the lowest rank that has this result.
fn extremes(ranks: &[RankTime], value: impl Fn(&RankTime) -> SimSpan) -> Option<[(SimSpan, u32); 2]> {
    let of = |rank: &RankTime| (value(rank), rank.rank);
    let least = ranks.iter().map(of).min_by_key(|&(time, rank)| (time, rank))?;
    let most = ranks.iter().map(of).max_by_key(|&(time, rank)| (time, std::cmp::Reverse(rank)))?;
    (ranks.len() > 1).then_some([least, most])
}

/// Returns a text about the parallel efficiency of the POP metrics, which is the share of computing in the ranks' time.
/// Parallel efficiency is the product of load balance (mean divided by greatest compute time) and communication
/// efficiency (greatest compute time divided by predicted time). The factor of memory is the share of computing without
/// waiting for memory. With threads, it is the product of the efficiencies of MPI and of threads.
fn efficiency(outcome: &Outcome) -> String {
    if let Some(of) = &outcome.hybrid {
        return hybrid_efficiency(of, outcome.ranks);
    }
    let mean = outcome.mean_parts.compute.as_ps() as f64;
    let most = outcome.per_rank.iter().map(|rank| rank.parts.compute).max().unwrap_or_default().as_ps() as f64;
    if mean == 0.0 || most == 0.0 || outcome.ranks < 2 {
        return String::new();
    }
    let predicted = outcome.predicted.as_ps() as f64;
    let waits = outcome.mean_parts.memory.as_ps() as f64;
    let parallel = format!(
        "\n  parallel efficiency {} = load balance {} x communication {}\n",
        percent(share(mean, predicted)),
        percent(share(mean, most)),
        percent(share(most, predicted))
    );
    if waits == 0.0 {
        return parallel;
    }
    let limit = if waits > predicted / 2.0 { "; memory is the limit" } else { "" };
    format!(
        "{parallel}  efficiency {} = parallel {} x memory {}{limit}\n",
        percent(share(mean - waits, predicted)),
        percent(share(mean, predicted)),
        percent(share(mean - waits, mean)),
    )
}

fn hybrid_efficiency(of: &HybridEfficiencies, ranks: u32) -> String {
    let cores = u64::from(of.cores_per_rank) * u64::from(ranks);
    let [parallel, mpi, threads] = [of.parallel, of.mpi, of.threads].map(percent);
    let factors = |[balance, communication]: [f64; 2]| {
        format!("load balance {} x communication {}", percent(balance), percent(communication))
    };
    format!(
        "\n  parallel efficiency {parallel} = MPI {mpi} x threads {threads}, on {} cores\n  MPI {mpi} = {}\n  \
         threads {threads} = {}\n",
        count(cores),
        factors([of.mpi_load_balance, of.mpi_communication]),
        factors([of.threads_load_balance, of.threads_communication])
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{busy, empty, huge};

    #[test]
    fn shares_of_the_predicted_time_add_up() {
        let outcome = busy();
        let sum: f64 = time_parts(&outcome)
            .lines()
            .take(7)
            .filter_map(|line| line.split_whitespace().find_map(|word| word.strip_suffix('%')?.parse::<f64>().ok()))
            .sum();
        assert!((sum - 100.0).abs() < 0.5, "{sum}");
    }

    #[test]
    fn without_ranks_listed_only_the_means_are_shown() {
        let text = time_parts(&huge());
        assert!(text.contains("compute") && !text.contains("parallel"), "{text}");
        assert_eq!(time_parts(&empty()), "");
    }

    #[test]
    fn what_rounding_leaves_is_no_part() {
        let mut outcome = huge();
        outcome.mean_parts.wait = SimSpan::ZERO;
        outcome.mean_parts.compute = SimSpan::from_ps(outcome.predicted.as_ps() - 5);
        assert!(!time_parts(&outcome).contains("ended early"));
        outcome.mean_parts.compute = SimSpan::from_ps(outcome.predicted.as_ps() - 6);
        assert!(time_parts(&outcome).contains("ended early"));
    }

    #[test]
    fn equal_ranks_are_told_by_the_lowest() {
        let mut outcome = busy();
        outcome.per_rank.iter_mut().for_each(|rank| rank.parts.send = SimSpan::from_us(1));
        let [least, most] = extremes(&outcome.per_rank, |rank| rank.parts.send).unwrap();
        assert_eq!((least.1, most.1), (0, 0));
    }
}
