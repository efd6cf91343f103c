//! Expected times of messages whose costs depend on the number of ranks per node, computed by hand. A byte takes 1 ns.

use crate::support::Do::{Irecv, Isend, Recv, Send, WaitAll};
use crate::support::{Do, clocks};
use mcpsim::config::Document;
use mcpsim::platform::{Level, Placement, Platform, Shape};

/// Platform file of two nodes of four cores. Messages within a node take no overhead and 10 ns.
const MACHINE: &str = r#"
name = "busy"
nct = [2, 1, 4]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[intra_cmp]
latency = "10 ns"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "100 ns"
bandwidth = "1 GB/s"
"#;

/// Returns the machine with `nodes` nodes and the table `inter_node`, for `ranks` ranks in blocks of nodes.
fn machine(inter_node: &str, nodes: u32, ranks: u32) -> Platform {
    let text = format!("{MACHINE}[inter_node]\n{inter_node}");
    let platform = Platform::load(Document::parse("busy.toml", &text).unwrap(), &[]).unwrap();
    let mut platform = platform.with_shape(Shape { nodes, ..platform.shape });
    let sites = Placement::Block.sites(platform.shape, ranks, false).unwrap();
    platform.spread_ranks(&sites);
    platform
}

const OVERHEADS: &str = r#"
contention = "fair"
bandwidth = "1 GB/s"
ranks_per_node = [2, 4]
latency = ["1000 ns", "1400 ns"]
send_overhead = ["100 ns", "140 ns"]
recv_overhead = ["50 ns", "70 ns"]
"#;

#[test]
fn latency_and_overheads_are_those_of_the_fullest_node() {
    // Rank 0 sends 8 bytes to the first rank of the second node, which is rank 4. With two ranks, both ranks are on the
    // first node, so no message passes between nodes.
    let time = |ranks: u32| {
        let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); ranks as usize];
        scripts[0] = vec![Send(4, 8)];
        scripts[4] = vec![Recv(0)];
        clocks(&machine(OVERHEADS, 2, ranks), &scripts)[4]
    };
    // The first node has four ranks: 140 + 1400 + 8 + 70.
    assert_eq!([time(5), time(8)], [1618, 1618]);
    let link = |ranks| machine(OVERHEADS, 2, ranks).link(Level::InterNode).rows()[0].clone();
    // With one or two ranks per node the first values apply, with three ranks the mean of both.
    let costs =
        [1, 2, 3, 4].map(|ranks| (link(ranks).latency.as_ps() / 1000, link(ranks).send_overhead.as_ps() / 1000));
    assert_eq!(costs, [(1000, 100), (1000, 100), (1200, 120), (1400, 140)]);
    // The file also states the costs without a placement: those of the first number.
    let text = format!("{MACHINE}[inter_node]\n{OVERHEADS}");
    let platform = Platform::load(Document::parse("busy.toml", &text).unwrap(), &[]).unwrap();
    assert_eq!(platform.link(Level::InterNode).rows()[0].latency.as_ps(), 1_000_000);
}

const GAPS: &str = r#"
contention = "fair"
bandwidth = "1 GB/s"
latency = "1000 ns"
ranks_per_node = [2, 4]
gap = ["10 ns", "92 ns"]
"#;

#[test]
fn the_gap_of_an_adapter_depends_on_the_ranks_of_its_node() {
    // Each rank of the first node sends ten messages of 8 bytes to a rank of the second node, and all are ready at 0.
    // The messages pass both adapters one after another: n messages take n (gap + 8), and the last byte of the last
    // message arrives 1000 + 8 after its message has started.
    let time = |pairs: u32| {
        let per_node = pairs;
        let sends = |to: u32| std::iter::repeat_n(Isend(to, 8), 10).chain([WaitAll]).collect::<Vec<Do>>();
        let receives = |from: u32| std::iter::repeat_n(Irecv(from), 10).chain([WaitAll]).collect::<Vec<Do>>();
        let mut scripts: Vec<Vec<Do>> = (0..per_node).map(|rank| sends(per_node + rank)).collect();
        scripts.extend((0..per_node).map(receives));
        let text = format!("{MACHINE}[inter_node]\n{GAPS}").replace("[2, 1, 4]", &format!("[2, 1, {per_node}]"));
        let mut platform = Platform::load(Document::parse("busy.toml", &text).unwrap(), &[]).unwrap();
        let sites = Placement::Block.sites(platform.shape, 2 * per_node, false).unwrap();
        platform.spread_ranks(&sites);
        clocks(&platform, &scripts).into_iter().max().unwrap()
    };
    // Two pairs: 20 messages of 10 + 8. Four pairs: 40 messages of 92 + 8. Three pairs: 30 messages of 51 + 8.
    assert_eq!([2, 4, 3].map(time), [19 * 18 + 1008, 39 * 100 + 1008, 29 * 59 + 1008]);
}
