//! Table `[pairs]` of a platform file, and the file that the table names: classes of pairs of cores, and the costs of
//! the messages of each class.

use std::path::Path;

use serde::Deserialize;

use crate::config::{ConfigError, Document};
use crate::units::{Bandwidth, Bytes, SimSpan};

use super::super::pairs::{NO_CLASS, PairClasses};
use super::super::{Level, Link, LoadColumn, Row, Shape};
use super::link::{IntervalFile, rows};

/// The latency of a message is at least its time divided by this number, whatever the overheads of the level.
const NETWORK: u64 = 20;

/// Table `[pairs]` of a platform file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PairsKey {
    file: String,
}

/// Contents of the file that `[pairs]` names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PairsFile {
    /// Text for human readers, which mcpsim ignores.
    #[serde(rename = "about")]
    _about: Option<String>,
    /// Class of each pair of cores, one row per sending core: 0 for the costs of the level, otherwise the number of a
    /// cost, from 1. The matrix has all cores of the machine, or the cores of one node or CMP if all nodes or CMPs are
    /// alike.
    class: Vec<Vec<u32>>,
    cost: Vec<CostFile>,
}

/// Time of a message of a class, from the start of the send to the end of the receive.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CostFile {
    interval: Vec<IntervalFile>,
}

impl PairsKey {
    /// Reads the file that `[pairs]` names. A relative file name is relative to the directory of the platform file.
    pub fn classes(&self, document: &Document, shape: Shape, links: &[Link; 3]) -> Result<PairClasses, ConfigError> {
        let path = Path::new(document.name()).parent().unwrap_or(Path::new("")).join(&self.file);
        let document = Document::read(&path)?.with_error_lines();
        let file: PairsFile = document.deserialize()?;
        let cores = file.class.len();
        let sides = PairClasses::sides(shape);
        let Some(side) = sides.into_iter().find(|side| *side == cores as u64) else {
            let [all, node, cmp] = sides;
            let expected = format!(
                "a row for each of the machine's {all} cores, of the {node} of a node, or of the {cmp} of a CMP,"
            );
            return Err(document.expected("class", expected, cores));
        };
        if file.cost.is_empty() || file.cost.len() >= usize::from(NO_CLASS) {
            let expected = format!("1 to {} costs", NO_CLASS - 1);
            return Err(document.expected("cost", expected, file.cost.len()));
        }
        let mut class = Vec::with_capacity(cores * cores);
        for (place, row) in file.class.iter().enumerate() {
            if row.len() != cores {
                let expected = format!("a class for each of {cores} cores");
                return Err(document.expected(&format!("class[{place}]"), expected, row.len()));
            }
            for (column, number) in row.iter().enumerate() {
                if *number as usize > file.cost.len() {
                    let expected = format!("0 to {}, as there are costs,", file.cost.len());
                    return Err(document.expected(&format!("class[{place}][{column}]"), expected, number));
                }
                class.push(number.checked_sub(1).map_or(NO_CLASS, |number| number as u16));
            }
        }
        let mut all = Vec::with_capacity(file.cost.len());
        for (number, cost) in file.cost.iter().enumerate() {
            let rows = rows(&document, &format!("cost[{number}]"), &cost.interval)?;
            all.push(Level::ALL.map(|level| merged(&rows, &links[level as usize])));
        }
        Ok(PairClasses::new(shape, side, class, all))
    }
}

/// Returns the link of `level` with these costs of whole messages. The link has the size borders of `costs` and of
/// `level`.
fn merged(costs: &[Row], level: &Link) -> Link {
    let by_ranks = level.rows_by_ranks().iter().map(|(ranks, rows)| (*ranks, merged_rows(costs, level, rows)));
    Link::new(level.contention(), level.eager_threshold(), level.handshake(), merged_rows(costs, level, level.rows()))
        .occupying(level.occupancy().clone())
        .with_protocol(level.protocol())
        .with_rows_by_ranks(by_ranks.collect())
}

/// Returns the rows of [`merged`], with the overheads and gaps of `rows`, which have the size intervals of `level`. The
/// latencies have the ratio of the latencies of `rows` to those of `level`.
fn merged_rows(costs: &[Row], level: &Link, rows: &[Row]) -> Vec<Row> {
    let threshold = Some(level.eager_threshold()).filter(|size| *size < Bytes::MAX);
    let mut ends: Vec<Bytes> = costs.iter().chain(level.rows()).map(|row| row.up_to).chain(threshold).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut above = Bytes::ZERO;
    let mut merged = Vec::with_capacity(ends.len());
    for up_to in ends {
        let cost = costs.iter().find(|row| up_to <= row.up_to).expect("the last row has no end");
        let usual = level.row(up_to);
        let own = rows.iter().find(|row| up_to <= row.up_to).expect("the last row has no end");
        let control = if up_to > level.eager_threshold() { level.handshake() * 2 } else { SimSpan::ZERO };
        let rest = usual.send_overhead + usual.recv_overhead + control;
        let least = SimSpan::from_ps(cost.latency.as_ps() / NETWORK).max(SimSpan::from_ps(1));
        let latency = SimSpan::from_ps(cost.latency.as_ps().saturating_sub(rest.as_ps())).max(least);
        let of_ranks = own.latency.as_ps() as f64 / usual.latency.as_ps().max(1) as f64;
        let scaled = SimSpan::from_ps((latency.as_ps() as f64 * of_ranks).round() as u64);
        let latency = if own.latency == usual.latency { latency } else { scaled };
        let under = |column: &LoadColumn| {
            let longer = column.latency.as_ps() as f64 / usual.latency.as_ps().max(1) as f64;
            let narrower = column.bandwidth.get() as f64 / usual.bandwidth.get() as f64;
            LoadColumn {
                load: column.load,
                latency: SimSpan::from_ps((latency.as_ps() as f64 * longer).round() as u64),
                bandwidth: Bandwidth::new(((cost.bandwidth.get() as f64 * narrower) as u64).max(1))
                    .unwrap_or(Bandwidth::MAX),
            }
        };
        let columns = usual.columns.iter().map(under).collect();
        // The measured bandwidth of a pair already includes the time per byte of the cores.
        let (send_bandwidth, recv_bandwidth) = (None, None);
        let bandwidth = cost.bandwidth;
        let row = Row { above, up_to, latency, bandwidth, send_bandwidth, recv_bandwidth, columns, ..own.clone() };
        merged.push(row);
        above = up_to;
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::super::super::{Platform, Site};
    use super::*;

    const PLATFORM: &str = r#"
name = "ring"
nct = [4, 1, 1]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "10 GB/s"
[intra_cmp]
latency = "1 us"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "1 us"
bandwidth = "1 GB/s"
[inter_node]
latency = "5 us"
bandwidth = "1 GB/s"
send_overhead = "100 ns"
recv_overhead = "200 ns"
eager_threshold = 4000
handshake = "400 ns"
[pairs]
file = "pairs.toml"
"#;

    const PAIRS: &str = r#"
class = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
[[cost]]
interval = [{ latency = "2 us", bandwidth = "2 GB/s" }]
[[cost]]
interval = [{ up_to = 1000, latency = "9 us", bandwidth = "1 GB/s" }, { latency = "8 us", bandwidth = "500 MB/s" }]
"#;

    fn load(pairs: &str) -> Result<Platform, ConfigError> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("pairs.toml"), pairs).unwrap();
        let name = directory.path().join("ring.toml").display().to_string();
        Platform::load(Document::parse(&name, PLATFORM).unwrap(), &[])
    }

    #[test]
    fn a_class_has_its_times_and_the_rest_of_its_level() {
        let platform = load(PAIRS).unwrap();
        let classes = platform.pairs.as_ref().unwrap();
        assert_eq!((classes.count(), classes.core(Site { node: 3, cmp: 0, core: 0 })), (2, 3));
        let row = |from, to, size| classes.row(from, to, Level::InterNode, Bytes::new(size)).unwrap();
        // The message takes 2 us in all, including 300 ns of the cores.
        assert_eq!(row(0, 1, 8).latency, SimSpan::from_ns(1700));
        assert_eq!((row(0, 1, 8).send_overhead, row(0, 1, 8).bandwidth.get()), (SimSpan::from_ns(100), 2_000_000_000));
        // Above the eager threshold the time also includes two control messages.
        assert_eq!(row(0, 1, 4001).latency, SimSpan::from_ns(900));
        assert_eq!([1000, 1001].map(|size| row(0, 2, size).latency), [8700, 7700].map(SimSpan::from_ns));
        assert!(classes.row(1, 1, Level::IntraCmp, Bytes::ZERO).is_none());
        // The lookahead of the workers is the least latency of all classes.
        assert_eq!(platform.lookahead(), SimSpan::from_ns(400));
    }

    #[test]
    fn a_class_bounds_only_levels_at_which_it_has_pairs() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("ring.toml").display().to_string();
        let text = PLATFORM
            .replace("nct = [4, 1, 1]", "nct = [2, 1, 2]")
            .replace("eager_threshold = 4000\nhandshake = \"400 ns\"\n", "");
        // Pairs within nodes have class 1, and pairs between nodes have class 2.
        let rows = "class = [[1, 1, 2, 2], [1, 1, 2, 2], [2, 2, 1, 1], [2, 2, 1, 1]]";
        let costs = &PAIRS[PAIRS.find("[[cost]]").unwrap()..];
        std::fs::write(directory.path().join("pairs.toml"), format!("{rows}\n{costs}")).unwrap();
        let fair = text.replace("[inter_node]", "[inter_node]\nlaw = \"fair\"");
        let platform = Platform::load(Document::parse(&name, &fair).unwrap(), &[]).unwrap();
        // Pairs of class 1 have 2 GB/s and 2 us. Pairs of class 2 have at most 1 GB/s and at least 8 us. A handshake
        // takes the latency of the level.
        let capacity = platform.link(Level::InterNode).occupancy().capacity;
        assert_eq!(capacity.map(|rate| rate.get()), Some(1_000_000_000));
        let classes = platform.pairs.as_ref().unwrap();
        let latency = |level| classes.least_latency(level).map(|latency| latency.as_ps() / 1000);
        assert_eq!((latency(Level::InterCmp), latency(Level::InterNode)), (None, Some(5000)));
        assert_eq!(latency(Level::IntraCmp), Some(1000));
    }

    #[test]
    fn under_fair_no_class_is_faster_than_the_stated_capacity() {
        for (contention, fastest) in [("fair", 700_000_000), ("share", 2_000_000_000)] {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join("pairs.toml"), PAIRS).unwrap();
            let name = directory.path().join("ring.toml").display().to_string();
            let stated = format!("[inter_node]\ncontention = \"{contention}\"\ncapacity = \"700 MB/s\"");
            let document = Document::parse(&name, &PLATFORM.replace("[inter_node]", &stated)).unwrap();
            let classes = Platform::load(document, &[]).unwrap().pairs.unwrap();
            let bandwidth = |from, to| classes.row(from, to, Level::InterNode, Bytes::new(8)).unwrap().bandwidth.get();
            assert_eq!(bandwidth(0, 1), fastest, "{contention}");
            assert_eq!(bandwidth(0, 2), fastest.min(1_000_000_000), "{contention}");
        }
    }

    #[test]
    fn classes_of_a_node_hold_in_each_and_on_more_nodes() {
        let directory = tempfile::tempdir().unwrap();
        let machine = |pairs: &str| {
            std::fs::write(directory.path().join("pairs.toml"), pairs).unwrap();
            let name = directory.path().join("ring.toml").display().to_string();
            let text = PLATFORM.replace("nct = [4, 1, 1]", "nct = [2, 2, 2]");
            Platform::load(Document::parse(&name, &text).unwrap(), &[]).unwrap()
        };
        let costs = &PAIRS[PAIRS.find("[[cost]]").unwrap()..];
        let shape = |text: &str| text.parse::<Shape>().unwrap();
        let class = |of: &Platform, from, to| {
            let row = of.pairs.as_ref().unwrap().row(from, to, Level::InterCmp, Bytes::new(8));
            row.map(|row| row.latency.as_ps() / 1000)
        };
        // Cores 0 and 3 of a node are a pair of class 1, and so are cores 4 and 7. Cores 3 and 4 are on different
        // nodes.
        let of_node = machine(&format!("class = [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]\n{costs}"));
        for machine in [&of_node, &of_node.with_shape(shape("5,2,2"))] {
            let found = [(0, 3), (3, 0), (4, 7), (0, 1), (3, 4), (0, 7)].map(|(from, to)| class(machine, from, to));
            assert_eq!(found, [Some(2000), Some(2000), Some(2000), None, None, None]);
        }
        assert!(of_node.with_shape(shape("2,4,2")).pairs.is_none());
        // Within a CMP, cores 0 and 1 are a pair of class 1, and so are cores 2 and 3.
        let of_cmp = machine(&format!("class = [[0, 1], [1, 0]]\n{costs}"));
        for machine in [&of_cmp, &of_cmp.with_shape(shape("2,4,2"))] {
            assert_eq!(
                [(0, 1), (3, 2), (1, 2)].map(|(from, to)| class(machine, from, to).is_some()),
                [true, true, false]
            );
        }
        assert!(of_cmp.with_shape(shape("2,2,4")).pairs.is_none());
    }

    #[test]
    fn what_is_wrong_with_a_file_of_pairs_is_told_with_its_place() {
        for (from, to, said) in [
            (
                "[0, 1, 2, 1], ",
                "",
                "expected a row for each of the machine's 4 cores, of the 1 of a node, or of the 1 of a CMP, in class of ",
            ),
            ("[0, 1, 2, 1]", "[0, 1, 2]", "expected a class for each of 4 cores in class[0] of "),
            ("[0, 1, 2, 1]", "[0, 1, 3, 1]", "expected 0 to 2, as there are costs, in class[0][2] of "),
            ("latency = \"2 us\", ", "", "expected \"latency\" in cost[0].interval[0] of "),
            ("up_to = 1000", "up_to = \"x\"", "expected a size"),
            ("up_to = 1000", "up_to = \"x\"", "pairs.toml:6; found \"x\""),
            ("class", "classes", "unknown"),
        ] {
            let error = load(&PAIRS.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let error = Platform::load(Document::parse("none/ring.toml", PLATFORM).unwrap(), &[]).unwrap_err();
        assert_eq!(error.to_string(), "none/pairs.toml: no such file");
    }
}
