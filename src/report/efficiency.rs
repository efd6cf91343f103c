//! Text about the parallel efficiency of a run and about its tolerance of network latency.

use crate::engine::Outcome;
use crate::platform::Level;
use crate::profile::{Efficiencies, HybridEfficiencies, LatencyTolerance};

use super::messages::level_names;
use super::table::{Align, Table};

/// Returns a table of the POP efficiencies. An efficiency that is a product precedes its factors.
pub(super) fn table(outcome: &Outcome) -> String {
    let Some(of) = &outcome.efficiencies else { return String::new() };
    let mut table = Table::new(&[("efficiency", Align::Left), ("", Align::Right), ("", Align::Left)]);
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    if let Some(hybrid) = &outcome.hybrid {
        for (name, share, what) in of_threads(hybrid, of) {
            table.row([name.to_owned(), percent(share), what.to_owned()]);
        }
        return table.render() + &ideal(of);
    }
    let rows = [
        ("parallel", of.parallel, "load balance x communication"),
        ("  load balance", of.load_balance, "mean / greatest computing"),
        ("  communication", of.communication, "serialization x transfer"),
        ("    serialization", of.serialization, "greatest computing / ideal network"),
        ("    transfer", of.transfer, "ideal network / predicted"),
    ];
    let of_memory = [
        ("with memory", of.parallel * of.memory, "parallel x memory"),
        ("  memory", of.memory, "computing without waiting for memory"),
    ];
    for (name, share, what) in rows.into_iter().chain(of_memory.into_iter().filter(|_| of.memory < 1.0)) {
        table.row([name.to_owned(), percent(share), what.to_owned()]);
    }
    table.render() + &ideal(of)
}

fn ideal(of: &Efficiencies) -> String {
    format!("  predicted time with an ideal network {}\n", of.ideal)
}

/// Returns name, value and meaning of the efficiencies of ranks with threads.
fn of_threads(hybrid: &HybridEfficiencies, of: &Efficiencies) -> [(&'static str, f64, &'static str); 9] {
    [
        ("parallel", hybrid.parallel, "MPI x threads"),
        ("  MPI", hybrid.mpi, "load balance x communication"),
        ("    load balance", hybrid.mpi_load_balance, "mean / greatest time outside of MPI"),
        ("    communication", hybrid.mpi_communication, "serialization x transfer"),
        ("      serialization", of.serialization, "greatest time outside of MPI / ideal network"),
        ("      transfer", of.transfer, "ideal network / predicted"),
        ("  threads", hybrid.threads, "load balance x communication"),
        ("    load balance", hybrid.threads_load_balance, "mean / greatest computing / that of MPI"),
        ("    communication", hybrid.threads_communication, "greatest computing / time outside of MPI"),
    ]
}

/// Returns a text about the increases of network latency that make the run 1, 2 and 5 % longer.
pub(super) fn tolerance(outcome: &Outcome) -> String {
    let Some(all) = &outcome.latency_tolerance else { return String::new() };
    if all.is_empty() {
        return "  latency tolerance: no latency is on the critical path\n".to_owned();
    }
    let [first, second, third] = LatencyTolerance::PERCENT.map(|percent| format!("{percent} % longer"));
    let mut table = Table::new(&[
        ("added latency for a run (to first order)", Align::Left),
        (first.as_str(), Align::Right),
        (second.as_str(), Align::Right),
        (third.as_str(), Align::Right),
    ]);
    for (level, name) in Level::ALL.into_iter().zip(level_names(outcome)) {
        let of_level: Vec<_> = all.iter().filter(|of| of.level == level).collect();
        if of_level.is_empty() {
            continue;
        }
        let row = |cell: &dyn Fn(&LatencyTolerance) -> String| of_level.iter().map(|of| cell(of)).collect::<Vec<_>>();
        let parts = row(&|of| format!("+{:.1}%", 100.0 * of.more));
        table.row(std::iter::once(name.to_owned()).chain(parts));
        let spans = row(&|of| format!("+{}", of.added));
        table.row(std::iter::once("  per smallest message".to_owned()).chain(spans));
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{busy, empty};
    use crate::units::SimSpan;

    #[test]
    fn efficiencies_and_tolerances_are_tables() {
        let mut outcome = busy();
        assert_eq!(table(&outcome) + &tolerance(&outcome), "");
        let parts = outcome.per_rank.iter().map(|rank| &rank.parts);
        outcome.efficiencies = Efficiencies::from_run(outcome.predicted, outcome.predicted, parts);
        let text = table(&outcome);
        let transfer = text.lines().find(|line| line.contains("transfer  ")).unwrap();
        assert!(transfer.contains("100.0%"), "{text}");
        outcome.latency_tolerance =
            Some(LatencyTolerance::all(&outcome.path, outcome.predicted, |_| SimSpan::from_us(2)));
        let text = tolerance(&outcome);
        assert!(
            text.contains("\n  inter-node ") && text.contains("\n  intra-CMP ") && !text.contains("inter-CMP"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let mut outcome = empty();
        outcome.latency_tolerance = Some(Vec::new());
        assert_eq!(tolerance(&outcome), "  latency tolerance: no latency is on the critical path\n");
    }
}
