//! Result columns in a study's table. A result column contains a value of the Outcome.

use crate::engine::Outcome;

/// Result column of a study's table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Heading of the result column.
    pub name: &'static str,
    cell: fn(&Outcome) -> ColumnValue,
}

/// Value of the Outcome, in the form of a table cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnValue {
    /// Plain number in a table cell.
    Count(u64),
    /// Time in picoseconds, which the table cell contains in seconds without rounding.
    Seconds(u64),
    /// Part and whole, which the table cell contains as a percentage.
    Percent(u64, u64),
}

const fn column(name: &'static str, cell: fn(&Outcome) -> ColumnValue) -> Column {
    Column { name, cell }
}

/// Result columns of a study's table, which follow the columns of the axes.
pub const COLUMNS: &[Column] = &[
    column("nodes", |o| ColumnValue::Count(o.nct[0].into())),
    column("cmps", |o| ColumnValue::Count(o.nct[1].into())),
    column("cores", |o| ColumnValue::Count(o.nct[2].into())),
    column("ranks", |o| ColumnValue::Count(o.ranks.into())),
    column("predicted_s", |o| ColumnValue::Seconds(o.predicted.as_ps())),
    column("compute_s", |o| ColumnValue::Seconds(o.mean_parts.compute.as_ps())),
    column("send_s", |o| ColumnValue::Seconds(o.mean_parts.send.as_ps())),
    column("recv_s", |o| ColumnValue::Seconds(o.mean_parts.recv.as_ps())),
    column("wait_s", |o| ColumnValue::Seconds(o.mean_parts.wait.as_ps())),
    column("collective_s", |o| ColumnValue::Seconds(o.mean_parts.collective.as_ps())),
    column("path_compute_s", |o| ColumnValue::Seconds(o.path.compute.as_ps())),
    column("path_imbalance_s", |o| ColumnValue::Seconds(o.path.imbalance.as_ps())),
    column("path_combine_s", |o| ColumnValue::Seconds(o.path.combine.as_ps())),
    column("path_send_s", |o| ColumnValue::Seconds(o.path.send.as_ps())),
    column("path_recv_s", |o| ColumnValue::Seconds(o.path.recv.as_ps())),
    column("path_poll_s", |o| ColumnValue::Seconds(o.path.poll.as_ps())),
    column("path_intra_cmp_latency_s", |o| ColumnValue::Seconds(o.path.levels.intra_cmp.latency.as_ps())),
    column("path_intra_cmp_bytes_s", |o| ColumnValue::Seconds(o.path.levels.intra_cmp.bytes.as_ps())),
    column("path_intra_cmp_contention_s", |o| ColumnValue::Seconds(o.path.levels.intra_cmp.contention.as_ps())),
    column("path_intra_cmp_protocol_s", |o| ColumnValue::Seconds(o.path.levels.intra_cmp.protocol.as_ps())),
    column("path_inter_cmp_latency_s", |o| ColumnValue::Seconds(o.path.levels.inter_cmp.latency.as_ps())),
    column("path_inter_cmp_bytes_s", |o| ColumnValue::Seconds(o.path.levels.inter_cmp.bytes.as_ps())),
    column("path_inter_cmp_contention_s", |o| ColumnValue::Seconds(o.path.levels.inter_cmp.contention.as_ps())),
    column("path_inter_cmp_protocol_s", |o| ColumnValue::Seconds(o.path.levels.inter_cmp.protocol.as_ps())),
    column("path_inter_node_latency_s", |o| ColumnValue::Seconds(o.path.levels.inter_node.latency.as_ps())),
    column("path_inter_node_bytes_s", |o| ColumnValue::Seconds(o.path.levels.inter_node.bytes.as_ps())),
    column("path_inter_node_contention_s", |o| ColumnValue::Seconds(o.path.levels.inter_node.contention.as_ps())),
    column("path_inter_node_protocol_s", |o| ColumnValue::Seconds(o.path.levels.inter_node.protocol.as_ps())),
    column("messages", |o| ColumnValue::Count(o.messages.count)),
    column("bytes", |o| ColumnValue::Count(o.messages.bytes)),
    column("intra_cmp_count_percent", |o| ColumnValue::Percent(o.levels.intra_cmp.count, o.messages.count)),
    column("inter_cmp_count_percent", |o| ColumnValue::Percent(o.levels.inter_cmp.count, o.messages.count)),
    column("inter_node_count_percent", |o| ColumnValue::Percent(o.levels.inter_node.count, o.messages.count)),
    column("intra_cmp_bytes_percent", |o| ColumnValue::Percent(o.levels.intra_cmp.bytes, o.messages.bytes)),
    column("inter_cmp_bytes_percent", |o| ColumnValue::Percent(o.levels.inter_cmp.bytes, o.messages.bytes)),
    column("inter_node_bytes_percent", |o| ColumnValue::Percent(o.levels.inter_node.bytes, o.messages.bytes)),
    column("unreceived", |o| ColumnValue::Count(o.unreceived)),
];

impl Column {
    /// Returns the text of this column's table cell for `outcome`.
    pub fn text(&self, outcome: &Outcome) -> String {
        match (self.cell)(outcome) {
            ColumnValue::Count(count) => count.to_string(),
            ColumnValue::Seconds(ps) => exact_seconds(ps),
            ColumnValue::Percent(part, whole) => {
                let percent = if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
                format!("{percent:.4}")
            }
        }
    }
}

/// Formats picoseconds as seconds with up to twelve decimals, without trailing zeros.
fn exact_seconds(ps: u64) -> String {
    let text = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimTime;

    #[test]
    fn times_are_exact_and_shares_are_percent() {
        for (ps, text) in [(0, "0"), (1, "0.000000000001"), (3_075_000_000, "0.003075"), (2_000_000_000_000, "2")] {
            assert_eq!(exact_seconds(ps), text);
        }
        let mut outcome = Outcome { ranks: 4, predicted: SimTime::from_ps(1_500_000_000_000), ..Outcome::default() };
        outcome.messages.count = 3;
        outcome.levels.intra_cmp.count = 1;
        let text = |name: &str| COLUMNS.iter().find(|column| column.name == name).unwrap().text(&outcome);
        assert_eq!((text("ranks"), text("predicted_s"), text("wait_s")), ("4".into(), "1.5".into(), "0".into()));
        assert_eq!(
            (text("intra_cmp_count_percent"), text("intra_cmp_bytes_percent")),
            ("33.3333".into(), "0.0000".into())
        );
    }
}
