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
    /// Spine switches of a fat tree with 16 nodes per leaf switch, whose links have the bandwidth of a node.
    spines: Option<u32>,
}

/// Switches of equal numbers of consecutive nodes.
struct Leaf {
    nodes: u32,
    /// Capacity of an uplink per direction.
    gigabytes: u32,
}

const MACHINE: Machine = Machine { nodes: 16, latency_us: 2, gigabytes: 1, leaf: None, spines: None };

/// Four nodes of 1 GB/s per switch, with 2 GB/s above the switch (a taper of 2:1) or 1 GB/s (4:1). Uplinks have no
/// latency, because SimGrid divides a link among transfers in inverse proportion to the latencies of their routes.
const TREES: [Machine; 2] = [
    Machine { leaf: Some(Leaf { nodes: 4, gigabytes: 2 }), ..MACHINE },
    Machine { leaf: Some(Leaf { nodes: 4, gigabytes: 1 }), ..MACHINE },
];

/// Four leaf switches of 16 nodes with tapers of 1:1, 2:1 and 4:1 (D-mod-k).
const FAT_TREES: [Machine; 3] = [
    Machine { nodes: 64, spines: Some(16), ..MACHINE },
    Machine { nodes: 64, spines: Some(8), ..MACHINE },
    Machine { nodes: 64, spines: Some(4), ..MACHINE },
];

/// Nodes per leaf switch of [`FAT_TREES`].
const OF_LEAF: u32 = 16;

/// Greatest eager message size in bytes. SMPI's thresholds exclude the threshold itself.
const EAGER: u32 = 65_536;

impl Machine {
    fn platform(&self) -> String {
        let Machine { nodes, latency_us, gigabytes, leaf, spines } = self;
        let leaf = leaf.as_ref().map_or(String::new(), |Leaf { nodes, gigabytes }| {
            format!("[places.leaf]\nnodes = {nodes}\nuplink_bandwidth = \"{gigabytes} GB/s\"\n")
        });
        let network = spines.map_or(String::new(), |spines| {
            let down = [OF_LEAF, nodes / OF_LEAF];
            let links = format!("up = [{spines}]\nbandwidth = \"{gigabytes} GB/s\"\n");
            format!("[network]\ntopology = \"fat_tree\"\ndown = {down:?}\n{links}")
        });
        let level = format!("contention = \"fair\"\nlatency = \"{latency_us} us\"\nbandwidth = \"{gigabytes} GB/s\"\n");
        let near = "latency = \"1 us\"\nbandwidth = \"100 GB/s\"\n";
        format!(
            "name = \"both\"\nnct = [{nodes}, 1, 1]\n[core]\nflops = \"1 Gflop/s\"\ninstructions = \"1 Ginstr/s\"\n\
             memory_bandwidth = \"100 GB/s\"\n[intra_cmp]\n{near}[inter_cmp]\n{near}[inter_node]\n{level}\
             eager_threshold = {EAGER}\nhandshake = \"1 ps\"\n{leaf}{network}"
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
            None if self.spines.is_some() => self.simgrid_fat_tree(),
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

impl Machine {
    /// Returns hosts with a route for each pair of hosts. The links between switches have no latency, as in [`TREES`].
    fn simgrid_fat_tree(&self) -> String {
        let spines = self.spines.unwrap_or(1);
        let link = |id: String, latency: f64| {
            format!("<link id=\"{id}\" bandwidth=\"{}GBps\" latency=\"{latency}us\"/>\n", self.gigabytes)
        };
        let mut text = "<zone id=\"all\" routing=\"Full\">\n".to_owned();
        text.extend((0..self.nodes).map(|node| format!("<host id=\"n{node}\" speed=\"1Gf\"/>\n")));
        for way in ["up", "down"] {
            text.extend((0..self.nodes).map(|node| link(format!("{way}{node}"), f64::from(self.latency_us) / 2.0)));
            let switches = (0..self.nodes / OF_LEAF).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine)));
            text.extend(switches.map(|(leaf, spine)| link(format!("{way}{leaf}.{spine}"), 0.0)));
        }
        let pairs = (0..self.nodes).flat_map(|from| (0..self.nodes).map(move |to| (from, to)));
        for (from, to) in pairs.filter(|(from, to)| from != to) {
            let mut ids = vec![format!("up{from}"), format!("down{to}")];
            if from / OF_LEAF != to / OF_LEAF {
                ids.insert(1, format!("up{}.{}", from / OF_LEAF, to % spines));
                ids.insert(2, format!("down{}.{}", to / OF_LEAF, to % spines));
            }
            let links: String = ids.iter().map(|id| format!("<link_ctn id=\"{id}\"/>")).collect();
            text.push_str(&format!("<route src=\"n{from}\" dst=\"n{to}\" symmetrical=\"NO\">{links}</route>\n"));
        }
        text + "</zone>\n"
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

#[test]
fn transfers_through_links_of_fat_trees_end_as_under_simgrid() {
    for machine in &FAT_TREES {
        for (program, arguments) in [("alltoall", "2 100000"), ("cube", "20 100000 5")] {
            same_on(machine, program, 64, arguments, PERCENT_OF_TREES);
        }
    }
}

/// Both simulators read the same XML file. The alltoall takes 1.51 and 3.00 times as long with tapers of 2:1 and 4:1.
#[test]
fn a_fat_tree_of_simgrid_that_both_read_gives_the_same_times() {
    if !support::is_full("the comparison with SimGrid") {
        return;
    }
    if !is_installed() {
        support::skipped("smpirun and smpicc (Debian's package simgrid) are not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simgrid/alltoall.c");
    let source = source.display();
    printed(here, &format!("smpicc -O1 {source} -o theirs"));
    let built = run(here, &format!("cc -O1 {source} -o ours"));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    fs::write(here.join("hosts"), (0..64).map(|node| format!("n{node}\n")).collect::<String>()).unwrap();
    let plain: Vec<String> = PLAIN.iter().map(|option| format!("--cfg={option}")).collect();
    let greatest = |text: &str| seconds(text, 64).into_iter().fold(0.0, f64::max);
    for spines in [16, 8, 4] {
        let cluster = format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-63\" speed=\"1Gf\" \
             bw=\"1GBps\" lat=\"500ns\" topology=\"FAT_TREE\" topo_parameters=\"2;16,4;1,{spines};1,1\"/></platform>\n"
        );
        fs::write(here.join("platform.xml"), cluster).unwrap();
        let smpirun = "smpirun -np 64 -platform platform.xml -hostfile hosts";
        let theirs = greatest(&printed(here, &format!("{smpirun} {} ./theirs 2 100000", plain.join(" "))));
        let imported = run(here, "platform import platform.xml -o part");
        assert_eq!(imported.code, Some(0), "{}", imported.stderr);
        let part = fs::read_to_string(here.join("part.toml")).unwrap();
        let near = "latency = \"1 us\"\nbandwidth = \"100 GB/s\"\n";
        let core = "[core]\nflops = \"1 Gflop/s\"\ninstructions = \"1 Ginstr/s\"\nmemory_bandwidth = \"100 GB/s\"\n";
        let whole = format!("name = \"both\"\n{part}{core}[intra_cmp]\n{near}[inter_cmp]\n{near}");
        fs::write(here.join("platform.toml"), whole).unwrap();
        let protocol = format!("--set platform.inter_node.eager_threshold={EAGER}");
        let ran = run(here, &format!("--platform platform.toml {protocol} --ranks 64 --compute skip ./ours 2 100000"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ours = greatest(&ran.stdout);
        assert!((ours / theirs - 1.0).abs() < 0.05, "{spines} spines: {ours} s, under SMPI {theirs} s");
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
