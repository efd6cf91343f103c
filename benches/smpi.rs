//! Whole runs of real programs, start included, under mcpsim and under SMPI of SimGrid, in alternation.
//!
//! `cargo bench --bench smpi [-- FILTER] [--runs N]` prints a table; `benches/README.md` contains measured tables. With
//! `MCPSIM=FILE` in the environment, the bench measures this mcpsim.

#[expect(dead_code, reason = "the bench needs arguments and medians only")]
mod runs;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use runs::{Asked, median};

/// Programs of the comparison with SMPI: name, number of ranks, and the program with its arguments.
const COMPARED: [(&str, u32, &str); 5] = [
    ("ping-pong, 200,000 round trips", 2, "pingpong 8 200000"),
    ("ring, 1024 ranks, 100 rounds", 1024, "ring 100"),
    ("halo, 512 ranks, 8 KiB", 512, "halo3d 8192 10"),
    ("halo, 512 ranks, 8 B", 512, "halo3d 8 10"),
    ("alltoall, 256 ranks, 1 KiB", 256, "alltoall 1024 1"),
];

/// Hosts and platform of SMPI: a cluster whose hosts have a core each.
const CLUSTER: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-1023" speed="1Gf" bw="12.5GBps" lat="1us" bb_bw="1000GBps" bb_lat="1us"/>
</platform>
"#;

fn mcpsim(directory: &Path, line: &str) -> Command {
    let mut command = runs::mcpsim();
    command.current_dir(directory).args(line.split_whitespace());
    command
}

/// Returns the seconds that `command` takes from its start to its end.
fn seconds(mut command: Command) -> f64 {
    let began = Instant::now();
    let output = command.output().expect("the simulator starts");
    let took = began.elapsed().as_secs_f64();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    took
}

/// Prints the times of whole runs under mcpsim and SMPI, and the median of their ratios.
fn compare(directory: &Path, sources: &Path, asked: &Asked) {
    std::fs::write(directory.join("cluster.xml"), CLUSTER).expect("a file");
    let hosts: String = (0..1024).map(|host| format!("h{host}\n")).collect();
    std::fs::write(directory.join("hosts"), hosts).expect("a file");
    println!("{:<32} {:>9} {:>9} {:>8}", "seconds of a whole run", "mcpsim", "SMPI", "ratio");
    for (name, ranks, program) in COMPARED.into_iter().filter(|(name, ..)| asked.for_row(name)) {
        let (file, arguments) = program.split_once(' ').expect("arguments");
        let smpi = format!("{file}.smpi");
        let source = sources.join(file).with_extension("c");
        seconds(mcpsim(directory, &format!("cc -O2 -o {file} {} -lm", source.display())));
        let mut smpicc = Command::new("smpicc");
        smpicc.current_dir(directory).args(["-O2", "-o", &smpi]).arg(&source).arg("-lm");
        seconds(smpicc);
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..asked.runs {
            let line = format!("--quiet --workers 1 --compute skip --nct {ranks},1,1 ./{program}");
            let ours = seconds(mcpsim(directory, &line));
            let line = format!(
                "-np {ranks} -platform cluster.xml -hostfile hosts --cfg=smpi/simulate-computation:no \
                 --log=root.thres:critical ./{smpi} {arguments}"
            );
            let mut smpirun = Command::new("smpirun");
            smpirun.current_dir(directory).args(line.split_whitespace());
            let theirs = seconds(smpirun);
            all.iter_mut().zip([ours, theirs, theirs / ours]).for_each(|(all, one)| all.push(one));
        }
        let [ours, theirs, ratio] = all.map(median);
        println!("{name:<32} {ours:>9.3} {theirs:>9.3} {ratio:>8.1}");
    }
}

fn main() {
    let asked = Asked::or(3);
    assert!(Command::new("smpirun").arg("-version").output().is_ok(), "smpirun of SimGrid is not installed");
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/c");
    compare(temporary.path(), &sources, &asked);
}
