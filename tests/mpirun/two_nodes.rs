//! Tests of `mcpsim measure` with four ranks on two nodes. The nodes are Linux namespaces that are connected by a
//! virtual network.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpsim::config::Document;
use mcpsim::platform::Platform;

use super::hosts::{HostMpi, host_mpis};
use super::real::{directory, file, limited, limited_to, real_mpis, simulate, told};
use super::support::{Ran, is_full, is_there, mcpsim, not_allowed, open_mpi_environment, skipped};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mpirun/two_nodes.sh");
pub const NETWORK: &str = "10.77.0.0/24";
const HOSTS: &str = "10.77.0.1:2,10.77.0.2:2";

/// Returns a command that runs `command` on the first of the two nodes.
pub fn on_two_nodes(directory: &Path, command: &str) -> Command {
    let mut nodes = Command::new("unshare");
    nodes.args(["--net", "--uts", "--mount", "sh", SCRIPT, "sh", "-c", command, "sh"]).current_dir(directory);
    nodes
}

/// Lock that prevents concurrent tests. Two concurrent tests would have eight ranks that poll without a pause.
static ALONE: Mutex<()> = Mutex::new(());

/// Acquires the lock for the two nodes. If the system cannot create the nodes, prints a note and returns `None`.
pub fn two_nodes() -> Option<MutexGuard<'static, ()>> {
    if !["unshare", "nsenter", "ip", "hostname"].into_iter().all(is_there) {
        skipped("two nodes on one machine: there is no unshare, nsenter, ip or hostname");
        return None;
    }
    let ran = limited(&on_two_nodes(Path::new("/"), "exec sh $REMOTE_SHELL -x 10.77.0.2 hostname"));
    if ran.code != Some(0) || ran.stdout != "east\n" {
        not_allowed(&format!(
            "two nodes on one machine: {}",
            ran.stderr.lines().next().unwrap_or("no rights to make them")
        ));
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns true if the run is complete, so that its standard output contains the line `last`. The exit code must be 0,
/// except with MPICH 4.0 over UCX's TCP. This MPICH does not always return from MPI_Finalize, because one rank waits
/// for its connections to close while the other ranks already wait for the process manager. mcpsim has written all
/// results before MPI_Finalize.
fn is_whole(mpi: &HostMpi, ran: &Ran, last: &str) -> bool {
    let hung = !mpi.is_open_mpi && ran.code == Some(124);
    if hung {
        eprintln!("{}: MPI_Finalize did not return", mpi.name);
    }
    (ran.code == Some(0) || hung) && ran.stdout.contains(last)
}

/// Runs mcpsim with the arguments `line` in four MPI processes, two per node. The run is ended after `seconds` seconds.
fn run_on_two_nodes(mpi: &HostMpi, directory: &Path, line: &str, seconds: u32) -> Ran {
    let launcher = mpi.launcher;
    let options = match mpi.is_open_mpi {
        true => format!(
            "--oversubscribe --bind-to none --mca plm_rsh_agent $REMOTE_SHELL --mca oob_tcp_if_include {NETWORK} \
             --mca btl_tcp_if_include {NETWORK} --host {HOSTS}"
        ),
        false => format!("-launcher rsh -launcher-exec $REMOTE_SHELL -hosts {HOSTS}"),
    };
    let mut command = on_two_nodes(directory, &format!("exec {launcher} {options} -n 4 \"$@\""));
    mpi.prepare(&mut command);
    // UCX detects that both nodes are on one machine and would use shared memory, so the transports are restricted to
    // TCP.
    command.env("UCX_TLS", "tcp,self");
    limited_to(command.arg(&mpi.binary).args(line.split_whitespace()), seconds)
}

#[test]
fn a_link_with_a_rate_is_shaped_on_both_nodes() {
    let Some(_alone) = two_nodes() else { return };
    if !can_be_shaped() {
        return;
    }
    let show = "tc qdisc show dev west && sh $REMOTE_SHELL 10.77.0.2 tc qdisc show dev east";
    let mut shaped = Command::new("unshare");
    shaped.args(["--net", "--uts", "--mount", "sh", SCRIPT, "--rate", "100", "sh", "-c", show]);
    let ran = limited(&shaped);
    let rates: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("qdisc tbf")).collect();
    assert_eq!((ran.code, rates.len()), (Some(0), 2), "{}", told("two nodes", &ran));
    assert!(rates.iter().all(|line| line.contains("rate 100Mbit")), "{}", ran.stdout);
}

/// Returns true if the system can limit the rate of the link. Prints a note otherwise.
fn can_be_shaped() -> bool {
    if !is_there("tc") {
        skipped("a link with a rate: there is no tc");
        return false;
    }
    let ran =
        limited(Command::new("unshare").args(["--net", "--uts", "--mount", "sh", SCRIPT, "--rate", "100", "true"]));
    if ran.code != Some(0) {
        not_allowed(&format!("a link with a rate: {}", ran.stderr.lines().next().unwrap_or_default()));
    }
    ran.code == Some(0)
}

/// Records a run over a real link that is limited to 100 Mbit/s. Replays the trace on a model of this link and on a
/// model of a link with 1 Gbit/s. The run time depends on the host, but no link exceeds its rate.
#[test]
fn what_a_slow_link_carried_is_recorded_and_replayed_on_a_fast_one() {
    let Some(_alone) = two_nodes() else { return };
    if !can_be_shaped() {
        return;
    }
    let Some(mpi) = real_mpis().iter().find(|mpi| mpi.is_open_mpi) else { return };
    let directory = directory();
    let [program, library, trace, json] =
        ["alltoall", "lib.so", "link.trace", "link.json"].map(|name| directory.path().join(name));
    mpi.compile(&file("workloads/c/alltoall.c"), &program).unwrap();
    let made = simulate(&format!("trace lib --mpicc {} -o {}", mpi.compiler(), library.display()));
    assert_eq!(made.code, Some(0), "{}", told("trace lib", &made));
    // The program sends 60,000 B twenty times in each direction. At 100 Mbit/s, these messages take 96 ms without
    // packet headers.
    let launch = format!(
        "exec {} --oversubscribe --bind-to none --mca plm_rsh_agent $REMOTE_SHELL --mca oob_tcp_if_include {NETWORK} \
         --mca btl_tcp_if_include {NETWORK} --mca pml ob1 --mca btl tcp,self --host 10.77.0.1:1,10.77.0.2:1 -n 2 \
         -x LD_PRELOAD={} -x MCPSIM_TRACE={} {} 60000 20",
        mpi.launcher,
        library.display(),
        trace.display(),
        program.display()
    );
    let mut record = Command::new("unshare");
    record.args(["--net", "--uts", "--mount", "sh", SCRIPT, "--rate", "100", "--burst", "3200", "sh", "-c", &launch]);
    record.envs(open_mpi_environment());
    let ran = limited(&record);
    assert!(ran.code == Some(0) && trace.exists(), "{}", told("alltoall", &ran));
    let info = simulate(&format!("trace info {}", trace.display()));
    assert!(info.stdout.contains("2 on 2 hosts"), "{}", told("trace info", &info));
    let measured =
        info.stdout.lines().find_map(|line| line.strip_prefix("measured")?.split(" s ").next()?.trim().parse().ok());
    let measured: f64 = measured.expect("a measured time");
    assert!(measured > 0.09, "{}", told("trace info", &info));
    let predicted = |rate: &str| -> f64 {
        let set = format!("--set platform.inter_node.bandwidth={rate} --set platform.inter_node.capacity={rate}");
        let machine =
            format!("--nct 2,1,1 --platform {} {set}", file("validation/shaped-link/platform.toml").display());
        let ran = simulate(&format!("--quiet --json {} {machine} {}", json.display(), trace.display()));
        assert_eq!(ran.code, Some(0), "{}", told("the replay", &ran));
        let outcome: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        outcome["predicted_ps"].as_f64().unwrap() * 1e-12
    };
    let (slow, fast) = (predicted("11.95MB/s"), predicted("119.5MB/s"));
    // The two replays differ by the difference between the transfer times of 1.2 MB at the two rates.
    assert!((slow - fast - 1.2e6 / 11.95e6 * 0.9).abs() < 0.02, "{slow} s and {fast} s, measured {measured} s");
}

#[test]
fn four_ranks_on_two_nodes_measure_all_pairs_within_nodes_and_between() {
    let Some(_alone) = two_nodes() else { return };
    for mpi in host_mpis() {
        let directory = directory();
        let here = directory.path();
        let options = "measure --pairs --begin 0 --end 2001 --step 1000 --repeats 5 -o p";
        for parallel in ["", " --parallel"] {
            let ran =
                run_on_two_nodes(mpi, here, &format!("{options}{parallel}"), if mpi.is_open_mpi { 120 } else { 60 });
            assert!(is_whole(mpi, &ran, "p_hosts.txt\n"), "{}", told(mpi.name, &ran));
            assert_eq!(ran.stdout.contains("pairs measured at the same time"), !parallel.is_empty(), "{}", ran.stdout);
        }
        assert_eq!(fs::read_to_string(here.join("p_hosts.txt")).unwrap(), "west\nwest\neast\neast\n", "{}", mpi.name);
        // For each of the three message lengths, all elements of the matrix except the diagonal are times.
        for (x, y, length) in (0..4).flat_map(|x| (0..4).flat_map(move |y| [0, 1000, 2000].map(|of| (x, y, of)))) {
            let mut read = mcpsim(here);
            read.args(["cluster", "p_min.nc", "--at", &format!("{x},{y},{length}")]);
            let ran = limited(&read);
            let seconds = ran.stdout.trim().parse::<f64>().ok();
            let is_time = seconds.is_some_and(|seconds| if x == y { seconds == 0.0 } else { seconds > 0.0 });
            assert!(is_time, "{}: {}", mpi.name, told("cluster --at", &ran));
        }
        // The hosts file determines which ranks are on a node, regardless of the measured times.
        let mut guess = mcpsim(here);
        guess.args(["cluster", "p_min.nc", "--platform", "guessed.toml"]);
        let ran = limited(&guess);
        assert!(ran.code == Some(0) && ran.stdout.starts_with("nodes 2, "), "{}", told(mpi.name, &ran));
    }
}

#[test]
fn four_ranks_on_two_nodes_measure_a_platform_of_two_nodes() {
    if !is_full("a platform measured by four ranks on two nodes") {
        return;
    }
    let Some(_alone) = two_nodes() else { return };
    for mpi in host_mpis() {
        let directory = directory();
        let options = "measure --force --time 100ms --max-size 1KiB -o two.toml --samples two.csv";
        let ran = run_on_two_nodes(mpi, directory.path(), options, 240);
        assert!(is_whole(mpi, &ran, " samples"), "{}", told(mpi.name, &ran));
        let text = fs::read_to_string(directory.path().join("two.toml")).unwrap();
        let platform = Platform::load(Document::parse("two.toml", &text).unwrap(), &[]).unwrap();
        assert_eq!((platform.shape.nodes, platform.shape.total_cores()), (2, 4), "{text}");
        let samples = fs::read_to_string(directory.path().join("two.csv")).unwrap();
        assert!(samples.contains("\ninter_node,ping_pong,"), "{}", told(mpi.name, &ran));
        assert!(ran.stderr.contains("one machine has several host names"), "{}", told(mpi.name, &ran));
    }
}
