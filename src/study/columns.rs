//! What a study says of a point beside its values: columns, read from the Outcome's JSON.

use serde_json::Value;

/// A column of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// As it is called in the table.
    pub name: &'static str,
    /// Where it stands in the Outcome.
    pub pointer: &'static str,
    /// How it is written.
    pub kind: ColumnKind,
}

/// How a value of the Outcome is written in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// As it is.
    Plain,
    /// Picoseconds, written as seconds, exactly.
    Seconds,
    /// Its share of the value at this place, in percent.
    PercentOf(&'static str),
}

const fn plain(name: &'static str, pointer: &'static str) -> Column {
    Column { name, pointer, kind: ColumnKind::Plain }
}

const fn seconds(name: &'static str, pointer: &'static str) -> Column {
    Column { name, pointer, kind: ColumnKind::Seconds }
}

const fn percent(name: &'static str, pointer: &'static str, of: &'static str) -> Column {
    Column { name, pointer, kind: ColumnKind::PercentOf(of) }
}

/// The columns of a study's table after those of its axes.
pub const COLUMNS: &[Column] = &[
    plain("nodes", "/nct/0"),
    plain("cmps", "/nct/1"),
    plain("cores", "/nct/2"),
    plain("ranks", "/ranks"),
    seconds("predicted_s", "/predicted_ps"),
    seconds("compute_s", "/mean_parts/compute_ps"),
    seconds("send_s", "/mean_parts/send_ps"),
    seconds("recv_s", "/mean_parts/recv_ps"),
    seconds("wait_s", "/mean_parts/wait_ps"),
    seconds("collective_s", "/mean_parts/collective_ps"),
    seconds("path_compute_s", "/path/compute_ps"),
    seconds("path_imbalance_s", "/path/imbalance_ps"),
    seconds("path_combine_s", "/path/combine_ps"),
    seconds("path_send_s", "/path/send_ps"),
    seconds("path_recv_s", "/path/recv_ps"),
    seconds("path_poll_s", "/path/poll_ps"),
    seconds("path_intra_cmp_latency_s", "/path/levels/intra_cmp/latency_ps"),
    seconds("path_intra_cmp_bytes_s", "/path/levels/intra_cmp/bytes_ps"),
    seconds("path_intra_cmp_contention_s", "/path/levels/intra_cmp/contention_ps"),
    seconds("path_intra_cmp_protocol_s", "/path/levels/intra_cmp/protocol_ps"),
    seconds("path_inter_cmp_latency_s", "/path/levels/inter_cmp/latency_ps"),
    seconds("path_inter_cmp_bytes_s", "/path/levels/inter_cmp/bytes_ps"),
    seconds("path_inter_cmp_contention_s", "/path/levels/inter_cmp/contention_ps"),
    seconds("path_inter_cmp_protocol_s", "/path/levels/inter_cmp/protocol_ps"),
    seconds("path_inter_node_latency_s", "/path/levels/inter_node/latency_ps"),
    seconds("path_inter_node_bytes_s", "/path/levels/inter_node/bytes_ps"),
    seconds("path_inter_node_contention_s", "/path/levels/inter_node/contention_ps"),
    seconds("path_inter_node_protocol_s", "/path/levels/inter_node/protocol_ps"),
    plain("messages", "/messages/count"),
    plain("bytes", "/messages/bytes"),
    percent("intra_cmp_count_percent", "/levels/intra_cmp/count", "/messages/count"),
    percent("inter_cmp_count_percent", "/levels/inter_cmp/count", "/messages/count"),
    percent("inter_node_count_percent", "/levels/inter_node/count", "/messages/count"),
    percent("intra_cmp_bytes_percent", "/levels/intra_cmp/bytes", "/messages/bytes"),
    percent("inter_cmp_bytes_percent", "/levels/inter_cmp/bytes", "/messages/bytes"),
    percent("inter_node_bytes_percent", "/levels/inter_node/bytes", "/messages/bytes"),
    plain("unreceived", "/unreceived"),
];

impl Column {
    /// What stands in the column for `outcome`; nothing where the Outcome does not say.
    pub fn text(&self, outcome: &Value) -> String {
        let Some(value) = outcome.pointer(self.pointer) else { return String::new() };
        match (self.kind, value.as_u64()) {
            (ColumnKind::Seconds, Some(ps)) => exact_seconds(ps),
            (ColumnKind::PercentOf(whole), Some(part)) => {
                let whole = outcome.pointer(whole).and_then(Value::as_u64).unwrap_or(0);
                let percent = if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
                format!("{percent:.4}")
            }
            _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        }
    }
}

/// All twelve decimals of a second, less the zeros at their end.
fn exact_seconds(ps: u64) -> String {
    let text = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_shares_are_percent() {
        for (ps, text) in [(0, "0"), (1, "0.000000000001"), (3_075_000_000, "0.003075"), (2_000_000_000_000, "2")] {
            assert_eq!(exact_seconds(ps), text);
        }
        let outcome = serde_json::json!({
            "ranks": 4, "predicted_ps": 1_500_000_000_000u64,
            "messages": { "count": 3, "bytes": 0 }, "levels": { "intra_cmp": { "count": 1, "bytes": 0 } }
        });
        let text = |name: &str| COLUMNS.iter().find(|column| column.name == name).unwrap().text(&outcome);
        assert_eq!((text("ranks"), text("predicted_s"), text("wait_s")), ("4".into(), "1.5".into(), String::new()));
        assert_eq!(
            (text("intra_cmp_count_percent"), text("intra_cmp_bytes_percent")),
            ("33.3333".into(), "0.0000".into())
        );
    }
}
