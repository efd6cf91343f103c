//! Comparison with SimGrid's SMPI, if it is installed: the same C programs on the same machine. Both simulators share
//! bandwidth over time by max-min fairness.
//!
//! A machine in these tests is a list of nodes with one outgoing and one incoming link per node. In SimGrid it is a
//! cluster with split-duplex links, in mcpsim a platform with one core per node. A machine with leaf switches is a cluster
//! per switch in SimGrid, with a split-duplex link above each, and a machine with uplinks of places in mcpsim. Other costs of SMPI (overheads,
//! factors by size, cross traffic of acknowledgements, computing) are switched off. A new test consists of a C program
//! in `simgrid/` and a call of [`same`].

#[path = "support/binary.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::run;

/// Machine that both simulators model.
struct Machine {
    nodes: u32,
    /// Latency of a message in microseconds. Each of the two SimGrid links on a path has half of it.
    latency_us: u32,
    gigabytes: u32,
    leaf: Option<Leaf>,
}

/// Switches of equal numbers of consecutive nodes.
struct Leaf {
    nodes: u32,
    /// Capacity of an uplink per direction.
    gigabytes: u32,
}

const MACHINE: Machine = Machine { nodes: 16, latency_us: 2, gigabytes: 1, leaf: None };

/// Four nodes of 1 GB/s per switch, with 2 GB/s above the switch (a taper of 2:1) or 1 GB/s (4:1). Uplinks have no
/// latency, because SimGrid divides a link among transfers in inverse proportion to the latencies of their routes.
const TREES: [Machine; 2] = [
    Machine { leaf: Some(Leaf { nodes: 4, gigabytes: 2 }), ..MACHINE },
    Machine { leaf: Some(Leaf { nodes: 4, gigabytes: 1 }), ..MACHINE },
];

/// Greatest eager message size in bytes. SMPI's thresholds exclude the threshold itself.
const EAGER: u32 = 65_536;

impl Machine {
    fn platform(&self) -> String {
        let Machine { nodes, latency_us, gigabytes, leaf } = self;
        let leaf = leaf.as_ref().map_or(String::new(), |Leaf { nodes, gigabytes }| {
            format!("[places.leaf]\nnodes = {nodes}\nuplink_bandwidth = \"{gigabytes} GB/s\"\n")
        });
        let level = format!("contention = \"fair\"\nlatency = \"{latency_us} us\"\nbandwidth = \"{gigabytes} GB/s\"\n");
        let near = "latency = \"1 us\"\nbandwidth = \"100 GB/s\"\n";
        format!(
            "name = \"both\"\nnct = [{nodes}, 1, 1]\n[core]\nflops = \"1 Gflop/s\"\ninstructions = \"1 Ginstr/s\"\n\
             memory_bandwidth = \"100 GB/s\"\n[intra_cmp]\n{near}[inter_cmp]\n{near}[inter_node]\n{level}\
             eager_threshold = {EAGER}\nhandshake = \"1 ps\"\n{leaf}"
        )
    }

    fn simgrid(&self) -> String {
        let half = f64::from(self.latency_us) / 2.0;
        let cluster = |id: &str, first: u32, nodes: u32| {
            format!(
                "<cluster id=\"{id}\" prefix=\"n\" suffix=\"\" radical=\"{first}-{}\" speed=\"1Gf\" bw=\"{}GBps\" \
                 lat=\"{half}us\" router_id=\"router-{id}\"/>\n",
                first + nodes - 1,
                self.gigabytes
            )
        };
        let machine = match &self.leaf {
            None => cluster("c", 0, self.nodes),
            Some(leaf) => {
                let count = self.nodes / leaf.nodes;
                let clusters = (0..count).map(|at| cluster(&format!("leaf{at}"), at * leaf.nodes, leaf.nodes));
                let links = (0..count).map(|at| {
                    format!(
                        "<link id=\"up{at}\" bandwidth=\"{}GBps\" latency=\"0us\" sharing_policy=\"SPLITDUPLEX\"/>\n",
                        leaf.gigabytes
                    )
                });
                let pairs = (0..count).flat_map(|from| (from + 1..count).map(move |to| (from, to)));
                let routes = pairs.map(|(from, to)| {
                    format!(
                        "<zoneRoute src=\"leaf{from}\" dst=\"leaf{to}\" gw_src=\"router-leaf{from}\" \
                         gw_dst=\"router-leaf{to}\"><link_ctn id=\"up{from}\" direction=\"UP\"/><link_ctn id=\"up{to}\" \
                         direction=\"DOWN\"/></zoneRoute>\n"
                    )
                });
                let inside: String = clusters.chain(links).chain(routes).collect();
                format!("<zone id=\"all\" routing=\"Full\">\n{inside}</zone>\n")
            }
        };
        format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\">\n{machine}</platform>\n"
        )
    }
}

/// Options that switch off further costs of SMPI.
const PLAIN: [&str; 12] = [
    "network/crosstraffic:0",
    "network/TCP-gamma:0",
    "network/weight-S:0",
    "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1",
    "smpi/os:0:0:0",
    "smpi/or:0:0:0",
    "smpi/ois:0:0:0",
    "smpi/async-small-thresh:65537",
    "smpi/send-is-detached-thresh:65537",
    "smpi/simulate-computation:no",
    "smpi/wtime:0",
];

fn is_installed() -> bool {
    let works = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success());
    works("smpirun") && works("smpicc")
}

/// Returns the output of `command`, run in `directory`.
fn printed(directory: &Path, command: &str) -> String {
    let ran = Command::new("timeout").arg("120").args(command.split(' ')).current_dir(directory).output().unwrap();
    let text = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(ran.status.success(), "{command}: {text}");
    text
}

/// Returns the seconds of the ranks, of which each rank prints a line.
fn seconds(text: &str, ranks: u32) -> Vec<f64> {
    let mut found = vec![f64::NAN; ranks as usize];
    for line in text.lines() {
        if let ["rank", rank, seconds] = line.split_whitespace().collect::<Vec<_>>()[..] {
            found[rank.parse::<usize>().unwrap()] = seconds.parse().unwrap();
        }
    }
    assert!(found.iter().all(|seconds| seconds.is_finite()), "{text}");
    found
}

/// Handles [`same_on`] for the machine without switches.
fn same(program: &str, ranks: u32, arguments: &str, percent: f64) {
    same_on(&MACHINE, program, ranks, arguments, percent);
}

/// Runs `program` on `ranks` ranks of `machine` in both simulators, and asserts that the times of each rank differ by at
/// most `percent`.
fn same_on(machine: &Machine, program: &str, ranks: u32, arguments: &str, percent: f64) {
    if !support::is_full("the comparison with SimGrid") {
        return;
    }
    if !is_installed() {
        support::skipped("smpirun and smpicc (Debian's package simgrid) are not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let source: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/simgrid/{program}.c"));
    let source = source.display();
    fs::write(here.join("platform.xml"), machine.simgrid()).unwrap();
    fs::write(here.join("platform.toml"), machine.platform()).unwrap();
    fs::write(here.join("hosts"), (0..machine.nodes).map(|node| format!("n{node}\n")).collect::<String>()).unwrap();
    printed(here, &format!("smpicc -O1 {source} -o theirs"));
    let plain: Vec<String> = PLAIN.iter().map(|option| format!("--cfg={option}")).collect();
    let plain = plain.join(" ");
    let smpirun = format!("smpirun -np {ranks} -platform platform.xml -hostfile hosts {plain} ./theirs {arguments}");
    let theirs = seconds(&printed(here, &smpirun), ranks);
    let built = run(here, &format!("cc -O1 {source} -o ours"));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let ran = run(here, &format!("--platform platform.toml --ranks {ranks} --compute skip ./ours {arguments}"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ours = seconds(&ran.stdout, ranks);
    let off = |rank: usize| (ours[rank] / theirs[rank] - 1.0) * 100.0;
    for rank in 0..ranks as usize {
        let is_near = off(rank).abs() <= percent || (ours[rank] - theirs[rank]).abs() < 1e-9;
        assert!(is_near, "{program} {arguments}: rank {rank} takes {} s, under SMPI {} s", ours[rank], theirs[rank]);
    }
}

/// Greatest deviation of a rank's time from SMPI's, in percent.
const PERCENT: f64 = 3.0;

#[test]
fn overlaps_end_as_under_simgrid() {
    // Start and sizes of two transfers: not overlapping, the second within the first, simultaneous, and a small
    // transfer in the middle of a large one.
    for arguments in ["10 1000000 100000000", "10 10000000 10000000", "0 1000000 3000000", "3000 8000000 1000000"] {
        same("overlap", 4, arguments, PERCENT);
    }
}

#[test]
fn incasts_end_as_under_simgrid() {
    for (ranks, arguments) in [(4, "10 1000000"), (16, "5 200000"), (16, "3 40000")] {
        same("incast", ranks, arguments, PERCENT);
    }
}

#[test]
fn alltoalls_of_all_requests_at_once_end_as_under_simgrid() {
    for (ranks, arguments) in [(8, "20 100000"), (16, "10 100000"), (16, "10 30000")] {
        same("alltoall", ranks, arguments, PERCENT);
    }
}

#[test]
fn halos_with_skew_end_as_under_simgrid() {
    for (ranks, arguments) in [(8, "20 100000 5"), (16, "100 60000 5"), (16, "100 200000 5")] {
        same("halo", ranks, arguments, PERCENT);
    }
}

/// Greatest deviation on machines with uplinks, in percent: the levels of longer paths settle more slowly.
const PERCENT_OF_TREES: f64 = 5.0;

#[test]
fn transfers_through_uplinks_end_as_under_simgrid() {
    for machine in &TREES {
        for (program, arguments) in [("alltoall", "10 100000"), ("halo", "20 100000 5"), ("incast", "5 200000")] {
            same_on(machine, program, 16, arguments, PERCENT_OF_TREES);
        }
    }
}

/// An SMPI trace with all calls that SMPI's replay supports sends the same messages as the program does in mcpsim.
#[test]
fn traces_of_smpi_send_what_the_program_sends() {
    if !is_installed() {
        support::skipped("smpirun and smpicc (Debian's package simgrid) are not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simgrid/calls.c");
    let source = source.display();
    fs::write(here.join("platform.xml"), MACHINE.simgrid()).unwrap();
    fs::write(here.join("hosts"), "n0\nn1\nn2\nn3\n").unwrap();
    printed(here, &format!("smpicc -O1 {source} -o theirs"));
    let traced = "--cfg=tracing/filename:all.txt -platform platform.xml -hostfile hosts ./theirs";
    printed(here, &format!("smpirun -trace-ti -np 4 {traced}"));
    let built = run(here, &format!("cc -O1 {source} -o ours"));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let histogram = |line: &str| {
        let ran = run(here, &format!("--quiet --nct 4,1,1 --histogram sizes.csv {line}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        fs::read_to_string(here.join("sizes.csv")).unwrap()
    };
    // SMPI uses the name MPI_Reduce_scatter for MPI_Reduce_scatter_block.
    let program = histogram("--compute skip ./ours").replace("_block", "");
    assert_eq!(histogram("all.txt"), program);
}
