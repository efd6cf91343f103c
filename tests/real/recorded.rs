//! Tests of recordings. The library of `mcpsim trace lib` records programs under the real MPIs of the machine, and
//! mcpsim replays the traces. If the machine has no MPI, the tests print a note and pass.

use std::fs;
use std::path::{Path, PathBuf};

use crate::real::{self, RealMpi, WORKLOADS};
use serde_json::Value;

/// Calls `test` for each MPI of the machine, with the recording library for this MPI and a temporary directory.
pub fn for_each_mpi(test: impl Fn(&RealMpi, &Path, &Path) -> Result<(), String>) {
    for mpi in real::real_mpis() {
        let directory = real::directory();
        let library = directory.path().join("libmcpsim-trace.so");
        let made = real::simulate(&format!("trace lib --mpicc {} -o {}", mpi.compiler(), library.display()));
        assert_eq!(made.code, Some(0), "{}", real::told("trace lib", &made));
        if let Err(why) = test(mpi, &library, directory.path()) {
            panic!("{}: {why}", mpi.name);
        }
    }
}

/// Records a run of `program` under the real MPI and returns the path of the trace.
pub fn record(mpi: &RealMpi, library: &Path, program: &Path, ranks: u32, arguments: &str) -> Result<PathBuf, String> {
    let trace = program.with_extension("trace");
    let ran = mpi.run_with(program, ranks, arguments, &[("LD_PRELOAD", library), ("MCPSIM_TRACE", &trace)]);
    if ran.code != Some(0) || ran.stderr.contains("mcpsim-trace") {
        return Err(real::told(&format!("{} {arguments}", program.display()), &ran));
    }
    Ok(trace)
}

/// Runs `mcpsim` with the arguments `line` and returns the exported Outcome.
pub fn outcome(line: &str, file: &Path) -> Result<Value, String> {
    let ran = real::simulate(&format!("--quiet --json {} {line}", file.display()));
    let text = fs::read_to_string(file).map_err(|_| real::told(line, &ran))?;
    fs::remove_file(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Records the program with this source under the real MPI. Compares the messages of the replay with the messages of a
/// run of the program under mcpsim.
fn replays_as_it_runs(
    (mpi, library, directory): (&RealMpi, &Path, &Path),
    source: &Path,
    (ranks, arguments): (u32, &str),
) -> Result<(), String> {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let [program, own] = [format!("{name}.real"), format!("{name}.own")].map(|name| directory.join(name));
    mpi.compile(source, &program)?;
    real::compile(source, "-O1 -w", &own)?;
    let trace = record(mpi, library, &program, ranks, arguments)?;
    let json = directory.join("outcome.json");
    let machine = format!("--nct {ranks},1,1 --pairs");
    let replayed = outcome(&format!("{machine} {}", trace.display()), &json)?;
    let own = outcome(&format!("{machine} --compute skip {} -- {arguments}", own.display()), &json)?;
    for key in ["messages", "pairs", "profile", "unreceived"] {
        let [replayed, own] = [&replayed, &own].map(|outcome| without_times(outcome[key].clone()));
        if replayed != own {
            return Err(format!("{name} {arguments}: {key} of the replay {replayed}, of a run {own}"));
        }
    }
    Ok(())
}

/// Returns the value without the times of messages. These times depend on the measured time of the code between MPI
/// calls and therefore differ between runs.
fn without_times(mut value: Value) -> Value {
    match &mut value {
        Value::Array(all) => all.iter_mut().for_each(|one| *one = without_times(one.take())),
        Value::Object(keys) => {
            keys.remove("time_ps");
            keys.values_mut().for_each(|one| *one = without_times(one.take()));
        }
        _ => {}
    }
    value
}

#[test]
fn recorded_workloads_send_what_they_send_under_mcpsim() {
    for_each_mpi(|mpi, library, directory| {
        for (name, arguments) in WORKLOADS {
            let source = real::file("workloads/c").join(name).with_extension("c");
            let arguments = arguments.replace("\",\"", " ").replace('"', "");
            replays_as_it_runs((mpi, library, directory), &source, (4, &arguments))?;
        }
        Ok(())
    });
}

#[test]
fn recorded_calls_of_each_kind_send_what_they_send_under_mcpsim() {
    for_each_mpi(|mpi, library, directory| {
        replays_as_it_runs((mpi, library, directory), &real::file("tests/real/recorded.c"), (4, ""))?;
        replays_as_it_runs((mpi, library, directory), &real::file("tests/real/recorded.c"), (5, ""))
    });
}

#[test]
fn recorded_twice_the_calls_are_the_same() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("recorded");
        mpi.compile(&real::file("workloads/c/halo3d.c"), &program)?;
        let stats = || -> Result<Vec<String>, String> {
            let trace = record(mpi, library, &program, 4, "100 3")?;
            let ran = real::simulate(&format!("trace stats {}", trace.display()));
            // The comparison uses all columns of a line except the times.
            let line = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
            Ok(ran.stdout.lines().map(line).collect())
        };
        let first = stats()?;
        assert!(first.iter().any(|line| line == "MPI_Isend 96 9600"), "{first:?}");
        assert_eq!(first, stats()?);
        Ok(())
    });
}

#[test]
fn fortran_programs_are_recorded() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("fortran");
        let Some(compiled) = mpi.compile_fortran(&real::file("tests/real/recorded.f90"), &program) else {
            return Ok(());
        };
        compiled?;
        let trace = record(mpi, library, &program, 4, "")?;
        let ran = real::simulate(&format!("trace stats {}", trace.display()));
        let line = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let found: Vec<String> = ran.stdout.lines().skip(1).map(line).collect();
        let wanted = [
            "MPI_Allreduce 4 640",
            "MPI_Bcast 4 960",
            "MPI_Comm_split 4 0",
            "MPI_Finalize 4 0",
            "MPI_Init 4 0",
            "MPI_Irecv 4 0",
            "MPI_Isend 4 1920",
            "MPI_Reduce 4 96",
            "MPI_Sendrecv 4 320",
            "MPI_Waitall 4 0",
        ];
        if found != wanted {
            return Err(format!("{found:#?}"));
        }
        let json = directory.join("outcome.json");
        outcome(&format!("--nct 4,1,1 {}", trace.display()), &json).map(|_| ())
    });
}

const CONTROLLED: &str = "#include <mpi.h>\n\
    int main(int argc, char **argv) {\n    int rank, x = 0;\n    MPI_Init(&argc, &argv);\n\
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
    for (int i = 0; i < 101; i++) {\n\
        if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n\
        if (rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
        if (i == 0) MPI_Pcontrol(0);\n    }\n    return MPI_Finalize();\n}\n";

/// Returns `(calls, bytes)` of MPI_Send in a profile by function.
fn sends(outcome: &Value) -> (u64, u64) {
    let functions = outcome["functions"].as_array().unwrap();
    let send = functions.iter().find(|one| one["function"] == "MPI_Send").unwrap();
    (send["calls"].as_u64().unwrap(), send["bytes"].as_u64().unwrap())
}

#[test]
fn pcontrol_stops_recording_and_profiling() {
    let directory = real::directory();
    let source = directory.path().join("controlled.c");
    fs::write(&source, CONTROLLED).unwrap();
    let (program, json) = (directory.path().join("own"), directory.path().join("outcome.json"));
    real::compile(&source, "-O1", &program).unwrap();
    let own = outcome(&format!("--nct 2,1,1 --functions {}", program.display()), &json).unwrap();
    assert_eq!(sends(&own), (1, 4));
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("controlled");
        mpi.compile(&source, &program)?;
        let trace = record(mpi, library, &program, 2, "")?;
        let replayed = outcome(&format!("--nct 2,1,1 --functions {}", trace.display()), &json)?;
        assert_eq!((sends(&replayed), &replayed["messages"]["count"]), ((1, 4), &Value::from(1)));
        Ok(())
    });
}

#[test]
fn what_cannot_be_recorded_is_said_once_and_the_program_goes_on() {
    let directory = real::directory();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let many = write(
        "many.c",
        "#include <mpi.h>\n#include <stdio.h>\n#include <sys/resource.h>\n\
         int main(int argc, char **argv) {\n    int x = 0, y, rank;\n    struct rlimit least = {1 << 19, 1 << 19};\n\
         MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
         setrlimit(RLIMIT_FSIZE, &least);\n\
         for (int i = 0; i < 300000; i++) MPI_Sendrecv(&x, 1, MPI_INT, 0, i % 100, &y, 1, MPI_INT, 0, i % 100,\n\
         MPI_COMM_SELF, MPI_STATUS_IGNORE);\n    if (rank == 0) puts(\"done\");\n    return MPI_Finalize();\n}\n",
    );
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("many");
        mpi.compile(&many, &program)?;
        let trace = directory.join("full.trace");
        // The program limits the size of files to half a MiB, so the recording library cannot write the complete log.
        let variables = [("LD_PRELOAD", library), ("MCPSIM_TRACE", &*trace)];
        let ran = mpi.run_with(&program, 2, "", &variables);
        let told = ran
            .stderr
            .lines()
            .filter(|line| line.contains("the trace ends at this call, and the program continues"))
            .count();
        if ran.stdout != "done\n" || told != 1 || ran.code != Some(0) {
            return Err(real::told("a full disk", &ran));
        }
        let parts = format!("{}.parts", trace.display());
        let over = real::simulate(&format!("trace merge {parts} -o {parts}/0.log"));
        if over.code != Some(2)
            || !over.stderr.ends_with(
                "0.log: expected another file to write, because this command also reads this \
                                       file\n",
            )
        {
            return Err(real::told("trace merge over a log", &over));
        }
        let merged = real::simulate(&format!("trace merge {parts} -o {}", trace.display()));
        if merged.code != Some(0) || !merged.stdout.contains("before MPI_Finalize; a replay executes the first ") {
            return Err(real::told("trace merge", &merged));
        }
        let replayed = real::simulate(&format!("--nct 2,1,1 {}", trace.display()));
        if replayed.code != Some(0) || !replayed.stderr.contains(" ends after ") {
            return Err(real::told("the replay of a cut run", &replayed));
        }
        let again = real::simulate(&format!("trace merge {0} -o {0}", trace.display()));
        let wanted =
            format!("error: {}: the file has merged logs; expected the logs of single ranks\n", trace.display());
        assert_eq!((again.code, again.stderr), (Some(2), wanted));
        let nowhere = Path::new("/proc/none.trace");
        let ran = mpi.run_with(&program, 2, "", &[("LD_PRELOAD", library), ("MCPSIM_TRACE", nowhere)]);
        let begins = "mcpsim-trace: rank 0: cannot make /proc/none.trace.parts: ";
        let told: Vec<_> = ran.stderr.lines().filter(|line| line.contains("mcpsim-trace")).collect();
        let is_told = told.len() == 1 && told[0].starts_with(begins) && told[0].ends_with(": nothing is recorded");
        if ran.stdout != "done\n" || !is_told || ran.code != Some(0) {
            return Err(real::told("a directory that cannot be made", &ran));
        }
        Ok(())
    });
}

#[test]
fn a_run_beside_another_of_its_name_has_a_trace_of_its_own() {
    for_each_mpi(|mpi, library, directory| {
        let [program, trace, own] = ["ring", "ring.trace", "ring-2.trace"].map(|name| directory.join(name));
        mpi.compile(&real::file("workloads/c/ring.c"), &program)?;
        let parts = directory.join("ring.trace.parts");
        fs::create_dir(&parts).map_err(|error| error.to_string())?;
        // The test holds the lock that the recording library acquires in rank 0 of a run.
        let other = fs::File::open(&parts).map_err(|error| error.to_string())?;
        other.lock().map_err(|error| error.to_string())?;
        let ran = mpi.run_with(&program, 2, "3 8", &[("LD_PRELOAD", library), ("MCPSIM_TRACE", &*trace)]);
        let wanted = format!(
            "mcpsim-trace: another run is being recorded to {}, so the trace of this run is {}",
            trace.display(),
            own.display()
        );
        if ran.code != Some(0) || !ran.stderr.lines().any(|line| line == wanted) || trace.exists() {
            return Err(real::told("a run beside another", &ran));
        }
        let replayed = real::simulate(&format!("--nct 2,1,1 {}", own.display()));
        if replayed.code != Some(0) || !parts.exists() {
            return Err(real::told("its replay", &replayed));
        }
        Ok(())
    });
}

#[test]
fn a_library_for_another_mpi_leaves_the_program_running() {
    let [one, other] = real::real_mpis() else { return };
    let directory = real::directory();
    for (mpi, wrong) in [(one, other), (other, one)] {
        let [library, program] = ["wrong.so", "ring"].map(|name| directory.path().join(name));
        let made = real::simulate(&format!("trace lib --mpicc {} -o {}", wrong.compiler(), library.display()));
        assert_eq!(made.code, Some(0), "{}", real::told("trace lib", &made));
        mpi.compile(&real::file("workloads/c/ring.c"), &program).unwrap();
        let ran = mpi.run_with(&program, 2, "2", &[("LD_PRELOAD", &library)]);
        assert_eq!(ran.code, Some(0), "{}", real::told(mpi.name, &ran));
        assert!(ran.stdout.ends_with("verified: ok\n"), "{}", real::told(mpi.name, &ran));
        let wanted =
            format!("mcpsim-trace: this library was made for {}, but the program runs with {}", wrong.name, mpi.name);
        assert_eq!(ran.stderr.matches(&wanted).count(), 1, "{}", real::told(mpi.name, &ran));
    }
}

#[test]
fn a_compiler_that_is_not_there_is_an_error() {
    let ran = real::simulate("trace lib --mpicc no-such-mpicc -o /tmp/x.so");
    let wanted = "error: no-such-mpicc: no such command: expected a compiler; give the mpicc of the program's MPI \
                  with --mpicc\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), wanted));
}

#[test]
fn a_check_tells_measured_and_replayed_times() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("ring");
        mpi.compile(&real::file("workloads/c/ring.c"), &program)?;
        let trace = record(mpi, library, &program, 2, "2")?;
        let beside = directory.join("beside.json");
        let info = real::simulate(&format!("trace info {}", trace.display()));
        let told =
            info.stdout.lines().any(|line| line.starts_with("waited") && line.contains(" s for a core in rank "));
        assert_eq!(told, Path::new("/proc/thread-self/schedstat").exists(), "{}", real::told("trace info", &info));
        // `mcpsim trace compare` prints the same last part as this command.
        let compared = real::simulate(&format!("trace compare {0} {0}", trace.display()));
        let seconds = |text: &str, row: &str, word: usize| -> f64 {
            let line = text.lines().find(|line| line.starts_with(row)).unwrap_or_default();
            line.split_whitespace().nth(word).unwrap_or_default().parse().unwrap_or(f64::NAN)
        };
        let [passed, end] =
            [seconds(&info.stdout, "passed", 1), seconds(&compared.stdout, "end of the last call, s", 6)];
        assert!((passed - end).abs() < 1e-6, "{}{}", info.stdout, compared.stdout);
        assert!(compared.stdout.contains("\nnote: times of a recorded run count"), "{}", compared.stdout);
        let options = format!("--nct 1,1,2 --timeline {}", beside.display());
        let ran = real::simulate(&format!("trace check {options} {}", trace.display()));
        let timeline: Value = serde_json::from_str(&fs::read_to_string(&beside).unwrap()).unwrap();
        let events = timeline["traceEvents"].as_array().unwrap();
        let has = |process: u64, name: &str| {
            events.iter().any(|event| event["ph"] == "X" && event["pid"] == process && event["name"] == name)
        };
        assert!(has(0, "MPI_Recv") && has(1, "MPI_Recv"), "{timeline}");
        let first: Vec<&str> = ran.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
        for name in ["measured", "total,", "code", "MPI_Send", "MPI_Recv", "rank"] {
            assert!(first.contains(&name), "{}", real::told("trace check", &ran));
        }
        let over = real::simulate(&format!("trace check --nct 1,1,2 --timeline {0} {0}", trace.display()));
        let refused = format!(
            "error: cannot write {}: expected another file to write, because this command also reads this \
                     file\n",
            trace.display()
        );
        assert_eq!((over.code, over.stderr), (Some(2), refused));
        // The replay ends at MPI_Finalize. No time is predicted for this call, so the prediction has no error.
        let last = ran.stdout.lines().find(|line| line.starts_with("MPI_Finalize "));
        assert!(last.is_some_and(|line| line.ends_with(" not replayed")), "{}", real::told("trace check", &ran));
        Ok(())
    });
}

#[test]
fn times_of_code_have_the_slowdown_of_the_ranks_beside_it() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("ring");
        mpi.compile(&real::file("workloads/c/ring.c"), &program)?;
        let trace = record(mpi, library, &program, 2, "100 100")?;
        let computed = |machine: &str| -> Result<f64, String> {
            let outcome = outcome(&format!("{machine} {}", trace.display()), &directory.join("outcome.json"))?;
            Ok(outcome["mean_parts"]["compute_ps"].as_f64().unwrap_or_default())
        };
        // Both ranks were recorded on this host. On a simulated machine whose two cores share a CMP, the times of the
        // ranks' code are the measured times.
        let measured = computed("--nct 1,1,2")?;
        let slowed = "--set platform.core.slowdown=[1,2]";
        let (beside, apart) =
            (computed(&format!("--nct 1,1,2 {slowed}"))?, computed(&format!("--nct 2,1,1 {slowed}"))?);
        if measured <= 0.0 || beside != measured || (apart / measured - 0.5).abs() > 0.01 {
            return Err(format!("measured {measured} ps, beside each other {beside}, apart {apart}"));
        }
        Ok(())
    });
}

#[test]
fn memory_that_a_call_touches_first_counts_as_the_programs_own_time() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("touches");
        mpi.compile(&real::file("tests/real/touches.c"), &program)?;
        let trace = record(mpi, library, &program, 2, "")?;
        let ran = real::simulate(&format!("trace head --rank 1 {}", trace.display()));
        let code: Vec<u64> = ran
            .stdout
            .lines()
            .filter(|line| line.contains(" MPI_Recv "))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok())
            .collect();
        // The first receive writes to 16,384 new pages, and the program executes no code between the two receives. The
        // time per page depends on the system.
        let [first, second] = code[..] else { return Err(real::told("trace head", &ran)) };
        if first < 1_000_000 || first < 4 * second {
            return Err(format!("before the first receive {first} ns of code, before the second {second}"));
        }
        Ok(())
    });
}
