//! Tests that every described workload has the same Outcome in 1 to 4 processes with 1 or 2 threads each. Only the
//! Outcome's data about the host may differ. `./check` uses three processes, and `./check full` uses all numbers of
//! processes.

use super::cases::CASES;
use super::hosts::{host_mpi, host_mpis};
use super::support::is_full;

const MACHINE: &str = "--nct 8,2,1";

/// Asserts that the Outcome of each workload in `processes` processes equals the Outcome of a run with one worker.
fn same_in(library: &str, processes: u32) {
    if processes != 3 && !is_full(&format!("all workloads in {processes} processes of {library}")) {
        return;
    }
    let Some(mpi) = host_mpi(library) else { return };
    for case in CASES {
        let sets: String = [case.form, case.small]
            .iter()
            .flat_map(|sets| sets.split_whitespace())
            .map(|set| format!(" --set {set}"))
            .collect();
        let line =
            |threads: u32| format!("{MACHINE} --workers {threads} --pairs workloads/{}.toml{sets}", case.workload);
        let (reference, _) = mpi.outcome(1, &line(1));
        for threads in [1, 2] {
            let (outcome, host) = mpi.outcome(processes, &line(threads));
            assert_eq!((&host["processes"], &host["workers"]), (&processes.into(), &(processes * threads).into()));
            assert!(outcome == reference, "{library}, {processes} x {threads} differ: mcpsim {}", line(threads));
        }
    }
}

macro_rules! matrix {
    ($($name:ident: $library:literal, $processes:literal;)*) => {
        $(#[test]
        fn $name() {
            same_in($library, $processes);
        })*
    };
}

matrix! {
    every_workload_is_the_same_in_one_process_of_a_build_with_open_mpi: "openmpi", 1;
    every_workload_is_the_same_in_two_processes_of_open_mpi: "openmpi", 2;
    every_workload_is_the_same_in_three_processes_of_open_mpi: "openmpi", 3;
    every_workload_is_the_same_in_four_processes_of_open_mpi: "openmpi", 4;
    every_workload_is_the_same_in_two_processes_of_mpich: "mpich", 2;
    every_workload_is_the_same_in_three_processes_of_mpich: "mpich", 3;
    every_workload_is_the_same_in_four_processes_of_mpich: "mpich", 4;
}

#[test]
fn connections_credits_rails_and_noise_are_the_same_in_any_number_of_processes() {
    let keys = [
        "inter_node.connection_time=40us",
        "inter_node.credits=1",
        "inter_node.contention=fair",
        "inter_node.rails={count=2}",
        "inter_cmp.contention=ideal",
        "progress=call",
        "noise.system={period=\"100us\",length=\"5us\",deviation=0.3}",
        "noise.network={delay=\"1us\",part=0.1}",
        "noise.nodes={deviation=0.05}",
        "cmp.memory_sharing=fair",
        "cmp.memory_bandwidth=9GB/s",
    ];
    let sets: String = keys.iter().map(|key| format!(" --set platform.{key}")).collect();
    for workload in ["jacobi3d", "alltoall"] {
        let line = |threads: u32| format!("{MACHINE} --workers {threads} --seed 3{sets} workloads/{workload}.toml");
        for mpi in host_mpis() {
            let (reference, _) = mpi.outcome(1, &line(1));
            for (processes, threads) in [(1, 2), (2, 1), (3, 2)] {
                let (outcome, _) = mpi.outcome(processes, &line(threads));
                assert!(outcome == reference, "{}, {processes} x {threads}: mcpsim {}", mpi.name, line(threads));
            }
        }
    }
}

#[test]
fn a_placement_by_a_file_is_read_once_and_rank_0_may_be_anywhere() {
    let directory = super::real::directory();
    let places = directory.path().join("places");
    let sites: String = (0..8).rev().map(|node| format!("{node} 0 0\n{node} 1 0\n")).collect();
    std::fs::write(&places, sites).unwrap();
    let line = format!("{MACHINE} --placement {} workloads/jacobi3d.toml", places.display());
    for mpi in host_mpis() {
        assert!(mpi.outcome(3, &line).0 == mpi.outcome(1, &line).0, "{}", mpi.name);
    }
}

#[test]
fn what_workers_did_with_their_time_is_told_of_all_processes() {
    for mpi in host_mpis() {
        let (_, host) = mpi.outcome(2, &format!("{MACHINE} --workers 2 --host-profile workloads/ring.toml"));
        let profile = host["profile"].as_array().unwrap();
        let places: Vec<_> =
            profile.iter().map(|time| (time["worker"].as_u64().unwrap(), time["process"].as_u64().unwrap())).collect();
        assert_eq!(places, [(0, 0), (1, 0), (2, 1), (3, 1)], "{}", mpi.name);
        assert!(profile.iter().all(|time| time["windows_ns"].as_u64().unwrap() > 0));
    }
}
