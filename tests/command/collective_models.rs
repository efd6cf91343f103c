//! `--model xu-hwang`: times of collectives, computed by hand.

use crate::support::run;

/// Four nodes. A message takes 2 us + 1 ns per byte, and a bcast uses a binomial tree.
const MACHINE: &str = r#"
name = "four"
nct = [4, 1, 1]
cmp = { memory_bandwidth = "1 GB/s" }
node = { memory_bandwidth = "1 GB/s" }
core = { flops = "1 Gflop/s", instructions = "1 Ginstr/s", memory_bandwidth = "1 GB/s" }
intra_cmp = { latency = "2 us", bandwidth = "1 GB/s" }
inter_cmp = { latency = "2 us", bandwidth = "1 GB/s" }
inter_node = { contention = "ideal", latency = "2 us", bandwidth = "1 GB/s" }
[collectives]
bcast = [{ algorithm = "binomial" }]
"#;

#[test]
fn all_ranks_leave_a_collective_at_its_time_after_the_last_rank_enters() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("m.toml"), MACHINE).unwrap();
    // A bcast of 1000 B passes two messages in sequence among four ranks, so it takes 4 us + 2 ns per byte = 6 us. Among
    // two ranks it takes 2 us + 1 us. Rank `late` enters 10 us after the others, and all ranks compute for
    // 1 us afterwards.
    for (ranks, expected) in [(2, 14_000_000), (4, 17_000_000)] {
        for late in 0..ranks {
            let app = format!(
                "main = [{{ if = \"rank == {late}\", then = [{{ compute = {{ time = \"10 us\" }} }}] }}, {{ bcast = {{ bytes \
                 = 1000 }} }}, {{ compute = {{ time = \"1 us\" }} }}]\n"
            );
            std::fs::write(here.join("a.toml"), app).unwrap();
            let ran =
                run(here, &format!("--platform m.toml --ranks {ranks} --model xu-hwang --per-rank --json - a.toml"));
            let outcome: serde_json::Value =
                serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
            let clocks: Vec<u64> =
                outcome["per_rank"].as_array().unwrap().iter().map(|rank| rank["clock_ps"].as_u64().unwrap()).collect();
            assert_eq!(clocks, vec![expected; ranks], "rank {late} of {ranks} is late");
        }
    }
}

#[test]
fn programs_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("a.c"), "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n")
        .unwrap();
    assert_eq!(run(here, "cc -o a a.c").code, Some(0));
    let ran = run(here, "--nct 2,1,1 --model xu-hwang ./a");
    let error =
        "error: --model xu-hwang: expected a description or a trace; found a program, whose collectives carry data";
    assert_eq!((ran.code, ran.stderr.trim_end()), (Some(2), error));
}
