//! Traffic that copies and compute blocks cause in the memory of nodes, and the delay of ranks that share the memory.

use crate::engine::Outcome;
use crate::units::SimSpan;

use super::numbers::{count, percent, share, volume};
use super::table::{Align, Table};

/// Returns the statistics of copies within nodes. The text is empty if the platform has no caches or the run made no
/// copies.
pub(super) fn copies(outcome: &Outcome) -> String {
    let Some(copies) = outcome.copies.filter(|copies| copies.count > 0) else { return String::new() };
    let columns = [
        ("copies within nodes", Align::Left),
        ("count", Align::Right),
        ("volume", Align::Right),
        ("share", Align::Right),
    ];
    let mut table = Table::new(&columns);
    let mut row = |name: &str, number: u64, bytes: u64| {
        let part = share(bytes as f64, copies.bytes as f64);
        table.row([name.to_owned(), count(number), volume(bytes), percent(part)]);
    };
    row("in caches", copies.count - copies.memory_count, copies.bytes - copies.memory_bytes);
    row("through memory", copies.memory_count, copies.memory_bytes);
    let mut text = table.render();
    let mean = |sum: SimSpan, number: u64| SimSpan::from_ps(sum.as_ps() / number.max(1));
    let mut facts = vec![format!("mean wait for the core {}", mean(copies.waited, copies.count))];
    if copies.memory_count > 0 {
        facts.push(format!("for memory {}", mean(copies.slowed, copies.memory_count)));
    }
    let could = copies.cmp_bytes_per_s as f64 * outcome.predicted_s;
    if copies.memory_count > 0 && could > 0.0 {
        facts.push(format!("busiest memory {}", percent(share(copies.busiest_bytes as f64, could).min(1.0))));
    }
    text.push_str(&format!("  {}\n", facts.join(", ")));
    text
}

/// Returns the utilisation of shared resources. The text is empty if the platform shares no resource over time, or the
/// run used no shared resource.
pub(super) fn utilisation(outcome: &Outcome) -> String {
    if outcome.utilisation.is_empty() {
        return String::new();
    }
    let right = |name| (name, Align::Right);
    let columns = [("used over time", Align::Left), right("of"), right("mean"), right("busiest"), right("greatest")];
    let mut table = Table::new(&columns);
    for used in &outcome.utilisation {
        let greatest = used.greatest.map_or("-".to_owned(), percent);
        let name = used.resource.name().to_owned();
        table.row([name, count(used.count), percent(used.mean), percent(used.busiest), greatest]);
    }
    table.render()
}

/// Returns the slowdown of memory-bound compute blocks and real code by contention. The text is empty if the platform
/// does not share memory over time, or no block was slowed down.
pub(super) fn blocks(outcome: &Outcome) -> String {
    let Some(blocks) = outcome.blocks else { return String::new() };
    let mut text = format!("  {} computing", of(blocks.count, "block"));
    // The number of bytes that compiled program code accesses is unknown.
    if blocks.bytes > 0 {
        text.push_str(&format!(" moved {} through memory", volume(blocks.bytes)));
    }
    if let Some(each) = blocks.slowed.as_ps().checked_div(blocks.slowed_count) {
        let each = SimSpan::from_ps(each);
        text.push_str(&format!("; memory contention slowed {} by {each} on average", count(blocks.slowed_count)));
    }
    text + "\n"
}

/// Formats a count with a noun.
fn of(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::SharedKind;
    use crate::profile::{BlockUse, CopyUse, ResourceUse};
    use crate::report::samples::{busy, empty};
    use crate::units::Bytes;

    #[test]
    fn copies_have_a_table_where_there_were_some() {
        assert_eq!(copies(&empty()), "");
        let mut outcome = busy();
        outcome.copies = Some(CopyUse::default());
        assert_eq!(copies(&outcome), "");
        let mut found = CopyUse::default();
        found.begin(Bytes::new(3 << 20), SimSpan::from_ns(10));
        found.begin(Bytes::new(1 << 20), SimSpan::from_ns(30));
        outcome.copies = Some(found);
        assert!(copies(&outcome).ends_with("  mean wait for the core 20.00 ns\n"), "{}", copies(&outcome));
        found.begin_through_memory(Bytes::new(1 << 20), 3 << 20);
        (found.slowed, found.busiest_bytes) = (SimSpan::from_ns(500), 3 << 20);
        // The test run uses half of the memory bandwidth.
        found.cmp_bytes_per_s = (2.0 * (3 << 20) as f64 / outcome.predicted_s) as u64;
        outcome.copies = Some(found);
        let text = copies(&outcome);
        assert!(text.contains("25.0%") && text.contains("75.0%"), "{text}");
        let last = "  mean wait for the core 20.00 ns, for memory 500.0 ns, busiest memory 50.0%\n";
        assert!(text.ends_with(last), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn what_was_used_has_a_row_each() {
        assert_eq!(utilisation(&busy()), "");
        let row = |resource, greatest| ResourceUse { resource, count: 16, mean: 0.125, busiest: 0.5, greatest };
        let utilisation = |rows| super::utilisation(&Outcome { utilisation: rows, ..busy() });
        let text = utilisation(vec![row(SharedKind::Core, None), row(SharedKind::AdapterOut, Some(1.0))]);
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
        let expected = [
            "used over time of mean busiest greatest",
            "cores, copying 16 12.5% 50.0% -",
            "adapters, out 16 12.5% 50.0% 100.0%",
        ];
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn blocks_have_a_line_where_they_share_memory() {
        assert_eq!(blocks(&empty()), "");
        let mut found = BlockUse::default();
        found.add(Bytes::new(1_500_000_000), SimSpan::ZERO);
        let text = |found| blocks(&Outcome { blocks: Some(found), ..busy() });
        assert_eq!(text(found), "  1 block computing moved 1.397 GiB through memory\n");
        let mut code = BlockUse::default();
        code.add(Bytes::ZERO, SimSpan::from_us(2));
        assert_eq!(text(code), "  1 block computing; memory contention slowed 1 by 2.000 us on average\n");
        found.add(Bytes::ZERO, SimSpan::from_us(3));
        assert_eq!(
            text(found),
            "  2 blocks computing moved 1.397 GiB through memory; memory contention slowed 1 by \
                                 3.000 us on average\n"
        );
    }
}
