//! Tests of profiles of calls and messages: by position in the program, by kind and level, and by size. Tests of the
//! efficiency of a run.

use std::fs;
use std::path::Path;

use crate::real;
use crate::support::{mcpsim, run};
use serde_json::Value;

/// Runs mcpsim with the arguments `line` and returns the exported Outcome.
fn outcome(directory: &Path, line: &str) -> Value {
    let ran = run(directory, &format!("--quiet --json outcome.json {line}"));
    assert_eq!(ran.code, Some(0), "{line}\n{}", ran.stderr);
    serde_json::from_str(&fs::read_to_string(directory.join("outcome.json")).unwrap()).unwrap()
}

/// Returns `(function, site, calls, bytes)` for each call site in the profile.
fn sites(outcome: &Value) -> Vec<(&str, &str, u64, u64)> {
    let row = |one: &'_ Value| (one["calls"].as_u64().unwrap(), one["bytes"].as_u64().unwrap());
    let sites = outcome["sites"].as_array().unwrap();
    let name = |one: &'_ Value, key: &str| one[key].as_str().unwrap_or("").to_owned();
    sites
        .iter()
        .map(|one| {
            let (function, site) = (name(one, "function").leak(), name(one, "site").leak());
            (&*function, &*site, row(one).0, row(one).1)
        })
        .collect()
}

const APP: &str = "name = \"pair\"\nmain = [\n  { repeat = 10, do = [\n    { compute = { time = \"1 us\" } },\n    \
                   { sendrecv = { to = \"1 - rank\", bytes = 64, from = \"1 - rank\" } },\n  ] },\n  \
                   { call = \"sum\" },\n]\n[procedures]\nsum = [\n  { allreduce = { bytes = 8 } },\n]\n";

#[test]
fn statements_are_told_with_their_lines() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("pair.toml"), APP).unwrap();
    let told = outcome(here, "--nct 2,1,1 --sites pair.toml");
    let mut found = sites(&told);
    found.sort_unstable();
    let expected =
        [("MPI_Allreduce", "sum[0] at pair.toml:11", 2, 16), ("sendrecv", "main[0].do[1] at pair.toml:5", 20, 1280)];
    assert_eq!(found, expected);
    // A profile without `--sites` contains the same numbers per function.
    let plain = outcome(here, "--nct 2,1,1 --functions pair.toml");
    assert_eq!((&plain["functions"], &plain["sites"]), (&told["functions"], &Value::Null));
    let csv = run(here, "report outcome.json --csv calls.csv");
    assert_eq!((csv.code, csv.stderr.as_str()), (Some(0), ""));
    let csv = fs::read_to_string(here.join("calls.csv")).unwrap();
    assert!(csv.starts_with("function,site,rank,calls,bytes,time_ps,mean_ps,least_ps,most_ps\n"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 * 3, "{csv}");
    let bad = run(here, "report pair.toml --csv calls.csv");
    assert_eq!(bad.code, Some(2));
    assert!(
        bad.stderr.starts_with("error: pair.toml: expected the --json output of a run with --functions or"),
        "{}",
        bad.stderr
    );
}

#[test]
fn pcontrol_stops_functions_sites_and_histogram_but_no_profile_of_messages() {
    let directory = real::directory();
    let here = directory.path();
    let program = |level: &str| {
        format!(
            "#include <mpi.h>\nint main(int argc, char **argv) {{\n  int rank, value = 0;\n  MPI_Init(&argc, &argv);\n\
             MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  {level}\n  for (int i = 0; i < 5; i++)\n\
             if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n\
             else MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
             MPI_Finalize();\n  return 0;\n}}\n"
        )
    };
    let told = |name: &str, level: &str| {
        fs::write(here.join(format!("{name}.c")), program(level)).unwrap();
        let cc = run(here, &format!("cc -O1 {name}.c -o {name}"));
        assert_eq!(cc.code, Some(0), "{}", cc.stderr);
        outcome(here, &format!("--nct 2,1,1 --sites --histogram {name}.csv --timeline {name}.json ./{name}"))
    };
    let (on, off) = (told("on", ""), told("off", "MPI_Pcontrol(0);"));
    let sends = |outcome: &Value, key: &str| {
        outcome[key].as_array().unwrap().iter().filter(|one| one["function"] == "MPI_Send").count()
    };
    assert_eq!(["functions", "sites"].map(|key| [sends(&on, key), sends(&off, key)]), [[1, 0]; 2]);
    let lines = |name: &str| fs::read_to_string(here.join(format!("{name}.csv"))).unwrap().lines().count();
    assert_eq!([lines("on"), lines("off")], [2, 1]);
    // The profile contains all messages and all intervals of time.
    let count = |outcome: &Value| outcome["levels"]["inter_node"]["count"].as_u64();
    assert_eq!((count(&on), count(&off)), (Some(5), Some(5)));
    let arrows =
        |name: &str| fs::read_to_string(here.join(format!("{name}.json"))).unwrap().matches("\"ph\":\"s\"").count();
    assert_eq!((arrows("on"), arrows("off")), (5, 5));
}

#[test]
fn messages_are_told_by_kind_level_and_size() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("pair.toml"), APP).unwrap();
    let told = outcome(here, "--nct 2,1,1 --functions --histogram sizes.csv pair.toml");
    let kinds = told["kinds"].as_array().unwrap();
    let row = |kind: &str| {
        kinds.iter().find(|one| one["kind"] == kind).map(|one| (&one["level"], &one["count"], &one["bytes"]))
    };
    let level = Value::from("inter_node");
    assert_eq!(row("point-to-point"), Some((&level, &Value::from(20), &Value::from(1280))));
    assert_eq!(row("MPI_Allreduce"), Some((&level, &Value::from(2), &Value::from(16))));
    let csv = fs::read_to_string(here.join("sizes.csv")).unwrap();
    assert_eq!(csv, "kind,level,bytes,count\nMPI_Allreduce,inter_node,8,2\npoint-to-point,inter_node,64,20\n");
    // The sum of the times by message size equals the sum of the times by level.
    let sum: u64 =
        told["profile"].as_array().unwrap().iter().map(|row| row["inter_node"]["time_ps"].as_u64().unwrap()).sum();
    assert_eq!(Value::from(sum), told["levels"]["inter_node"]["time_ps"]);
    assert!(sum > 0);
    // If the ranks are on one node, the same messages belong to another level.
    let near = outcome(here, "--nct 1,1,2 --functions pair.toml");
    assert!(near["kinds"].as_array().unwrap().iter().all(|one| one["level"] == "intra_cmp"), "{}", near["kinds"]);
}

const PROGRAM: &str = "#include <mpi.h>\n\
    static void pass(int rank, int n) {\n\
        char x[64] = {0};\n\
        if (rank == 0) MPI_Send(x, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD);\n\
        if (rank == 1) MPI_Recv(x, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
    }\n\
    int main(int argc, char **argv) {\n    int rank;\n    MPI_Init(&argc, &argv);\n\
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
        for (int i = 0; i < 5; i++) pass(rank, 8);\n\
        pass(rank, 64);\n\
        MPI_Barrier(MPI_COMM_WORLD);\n\
        MPI_Barrier(MPI_COMM_WORLD);\n\
        return MPI_Finalize();\n}\n";

#[test]
fn calls_of_real_programs_are_told_with_their_lines() {
    let directory = real::directory();
    let here = directory.path();
    fs::write(here.join("pass.c"), PROGRAM).unwrap();
    real::compile(&here.join("pass.c"), "-g -O0", &here.join("pass")).unwrap();
    let told = outcome(here, "--nct 2,1,1 --compute skip --sites ./pass");
    let mut found = sites(&told);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("MPI_Barrier", "main at pass.c:13", 2, 0),
            ("MPI_Barrier", "main at pass.c:14", 2, 0),
            ("MPI_Recv", "pass at pass.c:5", 6, 0),
            ("MPI_Send", "pass at pass.c:4", 6, 104),
        ]
    );
    // If the program has no debug information, a call site is printed as an offset in a function. The number of call
    // sites is the same.
    real::compile(&here.join("pass.c"), "-O0", &here.join("plain")).unwrap();
    let told = outcome(here, "--nct 2,1,1 --compute skip --sites --workers 2 ./plain");
    let found = sites(&told);
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|(_, site, ..)| site.starts_with("main+0x") || site.starts_with("pass+0x")), "{found:?}");
    // The critical path names the same call sites.
    let path = outcome(here, "--nct 2,1,1 --compute skip --sites --critical-path ./pass");
    let sites = path["critical_path"]["sites"].as_array().unwrap();
    assert!(sites.iter().any(|one| one["site"] == "MPI_Recv in pass at pass.c:5"), "{}", path["critical_path"]);
}

#[test]
fn code_before_a_look_at_the_clock_counts_as_that_call() {
    let directory = real::directory();
    let here = directory.path();
    let program = "#include <mpi.h>\n#include <mcpsim.h>\nint main(int c, char **v) {\n  int n;\n  MPI_Init(&c, &v);\n  \
                   mcpsim_compute(1e-3);\n  MPI_Comm_size(MPI_COMM_WORLD, &n);\n  mcpsim_compute(5e-3);\n  \
                   MPI_Wtime();\n  mcpsim_compute(2e-3);\n  MPI_Barrier(MPI_COMM_WORLD);\n  return MPI_Finalize();\n}\n";
    fs::write(here.join("clock.c"), program).unwrap();
    real::compile(&here.join("clock.c"), "-O1", &here.join("clock")).unwrap();
    let told = outcome(here, "--nct 2,1,1 --compute skip --critical-path ./clock");
    let sites = told["critical_path"]["sites"].as_array().unwrap();
    let compute = |name: &str| {
        let of = sites.iter().filter(|one| one["site"].as_str().is_some_and(|site| site.starts_with(name)));
        of.map(|one| one["own_ps"].as_u64().unwrap()).sum::<u64>() / 1_000_000_000
    };
    let before = ["MPI_Wtime", "MPI_Barrier", "MPI_Comm_size"].map(|call| compute(&format!("computing before {call}")));
    assert_eq!(before, [6, 2, 0], "{sites:?}");
    assert_eq!(compute("MPI_"), 0, "{sites:?}");
}

#[test]
fn code_between_calls_is_part_of_no_call() {
    let directory = real::directory();
    let here = directory.path();
    let program = "#include <mpi.h>\n#include <mcpsim.h>\n#include <time.h>\nint main(int c, char **v) {\n  char x = 0;\n  \
                   struct timespec now;\n  MPI_Init(&c, &v);\n  MPI_Send(&x, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF);\n  \
                   mcpsim_compute(1e-3);\n  MPI_Wtime();\n  mcpsim_compute(2e-3);\n  \
                   MPI_Recv(&x, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);\n  mcpsim_compute(3e-3);\n  \
                   clock_gettime(CLOCK_MONOTONIC, &now);\n  MPI_Finalize();\n  mcpsim_compute(4e-3);\n  return 0;\n}\n";
    fs::write(here.join("between.c"), program).unwrap();
    real::compile(&here.join("between.c"), "-O1", &here.join("between")).unwrap();
    let told = outcome(here, "--nct 1,1,1 --compute skip --functions ./between");
    let all = told["functions"].as_array().unwrap().iter();
    let mut all: Vec<_> =
        all.map(|of| (of["function"].as_str().unwrap(), of["calls"].as_u64(), &of["time_ps"])).collect();
    all.sort_by_key(|of| of.0);
    let names = ["MPI_Finalize", "MPI_Init", "MPI_Recv", "MPI_Send"];
    assert!(told["predicted_ps"].as_u64() >= Some(10_000_000_000), "{told}");
    let short: Vec<_> = all.iter().map(|of| (of.0, of.1, of.2.as_u64().unwrap() / 1_000_000)).collect();
    assert_eq!(short, names.map(|name| (name, Some(1), 0)), "{all:?}");
}

/// Returns the predicted time of a run in picoseconds.
fn predicted(outcome: &Value) -> f64 {
    outcome["predicted_ps"].as_f64().unwrap()
}

#[test]
fn efficiencies_are_told_with_an_ideal_network() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    // Rank 0 computes for 3 us and then rank 1 computes for 1 us. With an ideal network the run takes 4 us.
    let app = "main = [\n { if = \"rank == 0\", then = [ { compute = { time = \"3 us\" } }, { send = { to = 1, bytes = 8 } } ], \
               else = [ { recv = { from = 0 } }, { compute = { time = \"1 us\" } } ] },\n]\n";
    fs::write(here.join("chain.toml"), app).unwrap();
    let told = outcome(here, "--nct 2,1,1 --efficiencies chain.toml");
    let of = &told["efficiencies"];
    let value = |key: &str| of[key].as_f64().unwrap();
    assert_eq!(of["ideal_ps"], 4_000_000);
    let time = predicted(&told);
    assert_eq!(value("transfer"), 4e6 / time);
    assert_eq!((value("serialization"), value("load_balance")), (0.75, 2.0 / 3.0));
    assert!((value("parallel") - 2e6 / time).abs() < 1e-12, "{of}");
    assert_eq!(predicted(&outcome(here, "--nct 2,1,1 chain.toml")), time, "the run itself is what it was");
    let text = run(here, "--nct 2,1,1 --efficiencies chain.toml");
    assert!(text.stdout.contains("    serialization  75.0%  greatest computing / ideal network\n"), "{}", text.stdout);
    let refused = run(here, "--efficiencies --model hockney chain.toml");
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (Some(2), "error: --efficiencies: expected --model mcpsim or two-level\n")
    );
    // A replay of the run's trace gives the same values. For a real program, mcpsim itself replays a trace to compute
    // these values.
    assert_eq!(run(here, "--nct 2,1,1 --quiet --record chain.trace chain.toml").code, Some(0));
    assert_eq!(&outcome(here, "--nct 2,1,1 --efficiencies chain.trace")["efficiencies"], of);
    let real = real::directory();
    fs::write(real.path().join("pass.c"), PROGRAM).unwrap();
    real::compile(&real.path().join("pass.c"), "-O0", &real.path().join("pass")).unwrap();
    let told = outcome(real.path(), "--nct 2,1,1 --compute 2us --efficiencies ./pass");
    let value = |key: &str| told["efficiencies"][key].as_f64().unwrap();
    assert!(value("transfer") < 1.0 && value("serialization") <= 1.0, "{}", told["efficiencies"]);
    assert!((value("communication") - value("serialization") * value("transfer")).abs() < 1e-9);
}

/// A host with stored kernel times that are twice as fast as the machine in arithmetic, and three times in streaming.
#[test]
fn rates_of_host_and_machine_give_a_range_of_times() {
    let directory = real::directory();
    let here = directory.path();
    fs::write(here.join("pass.c"), PROGRAM).unwrap();
    real::compile(&here.join("pass.c"), "-O1", &here.join("pass")).unwrap();
    let text = fs::read_to_string("/proc/cpuinfo").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processor = line.map_or("unknown processor", |(_, name)| name.trim());
    let file: String = processor.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let cache = here.join("cache").join("mcpsim");
    fs::create_dir_all(&cache).unwrap();
    // The kernels have 38.4 Mflop and 100,663,296 bytes. The machine has 27 Gflop/s and 12 GB/s.
    let seconds = [38.4e6 / 54e9, 100_663_296.0 / 36e9];
    let stored = format!(
        "machine = \"{processor}\"\n[seconds]\nmultiply_add_wide = {:e}\ntriad_far = {:e}\n",
        seconds[0], seconds[1]
    );
    fs::write(cache.join(format!("kernels-{file}.toml")), stored).unwrap();
    let ran = |options: &str| {
        let mut command = mcpsim(here);
        command.env("XDG_CACHE_HOME", here.join("cache"));
        command.args("--nct 2,1,1 --set platform.core.scale_factor=auto".split_whitespace());
        let ran = command.args(options.split_whitespace()).arg("./pass").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    let outcome: Value = serde_json::from_str(&ran("--quiet --json -")).unwrap();
    let scale = &outcome["host"]["scale"];
    let factor = |end: &str| (scale[end].as_f64().unwrap() * 1e6).round() / 1e6;
    assert_eq!((factor("low"), factor("high"), &scale["processor"]), (2.0, 3.0, &Value::from(processor)));
    let ends: Vec<u64> = scale["predicted_ps"].as_array().unwrap().iter().map(|end| end.as_u64().unwrap()).collect();
    let middle = outcome["predicted_ps"].as_u64().unwrap();
    assert!(ends[0] < middle && middle < ends[1], "{ends:?} {middle}");
    assert_eq!(outcome["host"]["stands_for_target"], Value::Null);
    let text = ran("");
    assert!(text.contains("\n  range ") && text.contains("\n    scale_factor 2.00 to 3.00, from rates of "), "{text}");
    // A sweep takes the geometric mean of the range for all its points.
    let mut command = mcpsim(here);
    command.env("XDG_CACHE_HOME", here.join("cache"));
    let line = "sweep --nct 2,1,1 --set platform.core.scale_factor=auto --vary run.seed=1 --out study ./pass";
    let swept = command.args(line.split_whitespace()).output().unwrap();
    assert!(swept.status.success(), "{}", String::from_utf8_lossy(&swept.stderr));
    let trace = fs::read_dir(here.join("study/traces")).unwrap().next().unwrap().unwrap().path();
    let info = run(here, &format!("trace info {}", trace.display()));
    assert!(info.stdout.contains("2.449"), "{}", info.stdout);
    // Times that are not measured need no factor.
    assert!(!ran("--compute skip").contains("scale_factor"));
}

/// Compares each prediction that `--other-algorithms` lists with a run that has a rule for the same algorithm. Returns
/// the number of listed predictions.
fn others_are_runs_with_rules(here: &Path, line: &str, collective: &str) -> usize {
    let told = outcome(here, &format!("--other-algorithms {line}"));
    let base = outcome(here, line);
    assert_eq!(predicted(&told), predicted(&base), "the run itself is what it was");
    let others = told["other_algorithms"].as_array().unwrap();
    let times: Vec<f64> = others.iter().map(predicted).collect();
    assert!(times.is_sorted(), "{others:?}");
    for other in others {
        assert_eq!(other["collective"], collective);
        let stated = |key: &str| match other[key].as_u64() {
            None | Some(0) => String::new(),
            Some(number) => format!(",{key}={number}"),
        };
        let rule = format!("{{algorithm={}{}{}}}", other["algorithm"], stated("segment"), stated("fan"));
        let ruled = outcome(here, &format!("--set platform.collectives.{collective}={rule} {line}"));
        assert_eq!(predicted(&ruled), predicted(other), "{other}");
        let ran = base["collectives"].as_array().unwrap().iter().find(|of| of["algorithm"].is_string()).unwrap();
        assert!((&ran["algorithm"], &ran["segment"]) != (&other["algorithm"], &other["segment"]), "{other}");
    }
    others.len()
}

#[test]
fn other_algorithms_of_collectives_are_tried() {
    let directory = real::directory();
    let here = directory.path();
    fs::write(here.join("bcast.toml"), "main = [\"barrier\", { bcast = { root = 0, bytes = \"16 KiB\" } }]\n").unwrap();
    // For messages of 16 KiB, `--other-algorithms` lists segments of 4 KiB and no segments of 32 KiB.
    let library = "--nct 5,1,1 --set platform.collectives.library=openmpi-4.1";
    fs::write(here.join("only.toml"), "main = [{ bcast = { root = 0, bytes = \"16 KiB\" } }]\n").unwrap();
    assert!(others_are_runs_with_rules(here, &format!("{library} only.toml"), "bcast") > 8);
    assert!(others_are_runs_with_rules(here, "--nct 5,1,1 only.toml", "bcast") > 0);
    let text = run(here, &format!("{library} --other-algorithms bcast.toml"));
    assert!(
        text.stdout.contains("collective  algorithm of all calls ") && text.stdout.contains("\n  barrier "),
        "{}",
        text.stdout
    );
    let program = "#include <mpi.h>\nint main(int c, char **v) {\n  static char data[16384];\n  MPI_Init(&c, &v);\n  \
                   MPI_Bcast(data, sizeof data, MPI_BYTE, 0, MPI_COMM_WORLD);\n  MPI_Finalize();\n}\n";
    fs::write(here.join("only.c"), program).unwrap();
    real::compile(&here.join("only.c"), "-O1", &here.join("only")).unwrap();
    assert!(others_are_runs_with_rules(here, &format!("{library} --compute skip ./only"), "bcast") > 8);
    fs::write(here.join("none.toml"), "main = [{ compute = { time = \"1 us\" } }]\n").unwrap();
    let none = run(here, "--nct 5,1,1 --other-algorithms none.toml");
    assert!(
        none.stdout.contains(
            "  no other algorithms: no called collective has a choice of \
         algorithms\n"
        ),
        "{}",
        none.stdout
    );
    let refused = run(here, "--nct 5,1,1 --other-algorithms --repeats 3 only.toml");
    assert!(refused.code == Some(2) && refused.stderr.contains("cannot be used with"), "{}", refused.stderr);
}

#[test]
fn latencies_that_a_run_bears_make_it_as_much_longer() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("pair.toml"), APP).unwrap();
    let halo = real::file("workloads/halo3d.toml").display().to_string();
    // In `pair`, overheads and computing do not overlap with other work, so the sum of the parts is accurate. In a halo
    // exchange another path may become critical, which only adds time.
    for (app, shape, most) in [("pair.toml", "2,1,1", 0.02), (&halo[..], "8,1,1", 0.5)] {
        let told = outcome(here, &format!("--nct {shape} --latency-tolerance {app}"));
        let rows = told["latency_tolerance"].as_array().unwrap();
        assert_eq!(rows.iter().map(|row| row["longer_percent"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 5]);
        for row in rows {
            assert_eq!(row["level"], "inter_node");
            let (percent, more) = (row["longer_percent"].as_f64().unwrap(), row["more"].as_f64().unwrap());
            let slower = format!("--set platform.inter_node.latency_factor={}", 1.0 + more);
            let then = outcome(here, &format!("--nct {shape} {slower} {app}"));
            let longer = 100.0 * (predicted(&then) / predicted(&told) - 1.0);
            assert!(
                longer >= percent * 0.99 && longer <= percent * (1.0 + most),
                "{app}: {percent} % became {longer} %"
            );
        }
    }
}

/// A barrier in a function that two functions call has a row per caller.
#[test]
fn instrumented_functions_have_a_row_per_call_path() {
    let directory = real::directory();
    let here = directory.path();
    let program = "#include <mpi.h>\nstatic void sync(void) { MPI_Barrier(MPI_COMM_WORLD); }\n\
        static void outer1(void) { sync(); sync(); }\nstatic void outer2(void) { sync(); }\n\
        int main(int argc, char **argv) {\n  MPI_Init(&argc, &argv);\n\
        for (int i = 0; i < 5; i++) { outer1(); outer2(); }\n  MPI_Finalize();\n  return 0;\n}\n";
    fs::write(here.join("calls.c"), program).unwrap();
    let cc = run(here, "cc -O0 -finstrument-functions calls.c -o calls");
    assert_eq!(cc.code, Some(0), "{}", cc.stderr);
    let told = outcome(here, "--nct 2,1,1 --functions --compute 1us ./calls");
    let paths = told["call_paths"].as_object().unwrap();
    let calls = |path: &str| paths[path]["calls"].as_u64().unwrap();
    assert_eq!(calls("main > outer1 > sync > MPI_Barrier"), 20);
    assert_eq!(calls("main > outer2 > sync > MPI_Barrier"), 10);
    assert_eq!([calls("main"), calls("main > outer1"), calls("main > outer2 > sync")], [2, 10, 10]);
    let time = |path: &str, key: &str| paths[path][key].as_u64().unwrap();
    // The exclusive times add up to the inclusive time of main.
    let sum: u64 = paths.values().map(|times| times["exclusive_ps"].as_u64().unwrap()).sum();
    assert_eq!(sum, time("main", "inclusive_ps"));
    assert!(time("main > outer1", "inclusive_ps") > time("main > outer2", "inclusive_ps"), "{paths:?}");
    // Without a profile of functions there are no call paths.
    assert_eq!(outcome(here, "--nct 2,1,1 --compute 1us ./calls")["call_paths"], Value::Null);
    let text = run(here, "--nct 2,1,1 --functions --compute 1us ./calls").stdout;
    assert!(text.contains("own functions, mean of ranks") && text.contains("\n    sync "), "{text}");
}

/// Blocks of real code before the calls of all ranks are compared, also blocks that a rank's turn does not begin with.
#[test]
fn blocks_before_each_call_are_compared_over_ranks() {
    let directory = real::directory();
    let here = directory.path();
    // In each iteration another rank takes 100 ms in place of 50 ms.
    let program = "#include <mcpsim.h>\n#include <mpi.h>\nint main(int argc, char **argv) {\n  int rank, size;\n\
        MPI_Init(&argc, &argv);\n  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
        MPI_Comm_size(MPI_COMM_WORLD, &size);\n  for (int i = 0; i < 12; i++) {\n\
        mcpsim_compute(i % size == rank ? 0.1 : 0.05);\n    MPI_Barrier(MPI_COMM_WORLD);\n  }\n\
        MPI_Finalize();\n  return 0;\n}\n";
    fs::write(here.join("turns.c"), program).unwrap();
    let cc = run(here, "cc turns.c -o turns");
    assert_eq!(cc.code, Some(0), "{}", cc.stderr);
    let told = outcome(here, "--nct 4,1,1 ./turns");
    let noise = &told["host"]["noise"];
    let site = &noise["sites"][0];
    assert_eq!((site["site"].as_str(), site["blocks"].as_f64()), (Some("MPI_Barrier"), Some(12.0)), "{noise}");
    // Deviations are 12.5 ms (nine of twelve times) and 37.5 ms (three times) of a mean of 62.5 ms.
    assert!(site["scatter"].as_f64() > Some(0.3) && noise["waiting"].as_f64() > Some(0.9), "{noise}");
}
