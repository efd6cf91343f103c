//! Tests of state that ranks of real programs must not share. Each program of these tests prints the same output under
//! mcpsim, with one worker and with two workers, as under a real MPI, whose ranks are processes.

use std::path::Path;
use std::process::Command;

use crate::real;
use crate::support;

/// Runs the program `name` under mcpsim on four ranks of one node and returns the sorted output lines. Asserts that the
/// program prints the same lines under a real MPI.
fn same(name: &str, flags: &str, arguments: &str) -> Vec<String> {
    let directory = real::directory();
    prepared(directory.path(), name, flags, arguments)
}

/// Variant of [`same`] that compiles and runs the program in `directory`, which may contain libraries.
fn prepared(directory: &Path, name: &str, flags: &str, arguments: &str) -> Vec<String> {
    let source = real::file("tests/real").join(name);
    let program = directory.join("program");
    let flags = flags.replace("DIR", &directory.display().to_string());
    let arguments = arguments.replace("DIR", &directory.display().to_string());
    let made = real::compile_with(&source, "-O1", &program, &flags);
    made.unwrap_or_else(|why| panic!("{why}"));
    let mut expected: Option<Vec<String>> = None;
    let mut said = |what: &str, ran: support::Ran| {
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{what}: {}", ran.stdout);
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(expected.get_or_insert_with(|| lines.clone()), &lines, "{what}");
    };
    for options in ["--nct 1,2,2", "--nct 2,1,2 --workers 2"] {
        said(options, real::run(&program, options, &arguments));
    }
    for mpi in real::real_mpis() {
        let program = directory.join("real");
        mpi.compile_with(&source, &program, &flags).unwrap_or_else(|why| panic!("{why}"));
        said(mpi.name, mpi.run(&program, 4, &arguments));
    }
    expected.unwrap_or_default()
}

#[test]
fn each_rank_has_its_own_floating_point_environment() {
    let lines = same("floats.c", "-frounding-math", "");
    assert_eq!(lines.len(), 4, "{lines:?}");
}

/// Compiles libraries of `tests/real/libraries` into `directory`. If `real` is given, the compiler of the real MPI is
/// used, and otherwise `mcpsim cc` or `mcpsim cxx`.
fn libraries(directory: &Path, names: &[&str], real: Option<&real::RealMpi>) {
    for name in names {
        let source = real::file("tests/real/libraries").join(name);
        let library = directory.join(format!("lib{}.so", name.split('.').next().unwrap()));
        let flags = format!("-shared -fPIC -L{0} -Wl,-rpath,{0}", directory.display());
        let flags = if *name == "speak.c" { format!("{flags} -lstate") } else { flags };
        let made = match real {
            None => real::compile_with(&source, "-O1", &library, &flags),
            Some(mpi) => mpi.compile_with(&source, &library, &flags),
        };
        made.unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn each_rank_has_its_own_copy_of_libraries_that_it_opens() {
    let directory = real::directory();
    let names = ["state.c", "speak.c", "throw.cc", "plain.c"];
    libraries(directory.path(), &names, None);
    let source = real::file("tests/real/plugins.cc");
    let [program, native] = ["program", "real"].map(|name| directory.path().join(name));
    real::compile_with(&source, "-O1", &program, "-rdynamic -ldl").unwrap_or_else(|why| panic!("{why}"));
    let here = directory.path().display().to_string();
    let lines = |ran: support::Ran, what: &str| {
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{what}: {}", ran.stdout);
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let one = lines(real::run(&program, "--nct 1,2,2", &here), "one worker");
    assert_eq!(one.len(), 12, "{one:?}");
    assert_eq!(one, lines(real::run(&program, "--nct 2,1,2 --workers 2", &here), "two workers"));
    for mpi in real::real_mpis() {
        let apart = real::directory();
        libraries(apart.path(), &names, Some(mpi));
        mpi.compile_with(&source, &native, "-rdynamic -ldl").unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(one, lines(mpi.run(&native, 4, &apart.path().display().to_string()), mpi.name));
    }
}

#[test]
fn only_programs_that_may_have_libraries_carry_what_those_get() {
    let directory = real::directory();
    libraries(directory.path(), &["state.c"], None);
    let with = format!("-L{} -lstate", directory.path().display());
    let opens = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint main(void) { return CALL == 0; }\n";
    for (text, flags, wanted) in [
        ("int main(void) { return 0; }\n", "-O2 -g", false),
        ("int main(void) { return 0; }\n", &with, true),
        ("int main(void) { return 0; }\n", "-fopenmp", true),
        (opens, "-DCALL=dlopen(0,RTLD_NOW)", true),
        (opens, "-DCALL=dlmopen(0,0,RTLD_NOW)", true),
        (opens, "-DCALL=dlsym(RTLD_DEFAULT,\"main\")", true),
        (opens, "-DCALL=dlvsym(0,\"main\",\"1\")", true),
    ] {
        let [source, program] = ["a.c", "program"].map(|name| directory.path().join(name));
        std::fs::write(&source, text).unwrap();
        real::compile_with(&source, "-O1", &program, flags).unwrap_or_else(|why| panic!("{why}"));
        let bytes = std::fs::read(&program).unwrap();
        assert_eq!(bytes.windows(11).any(|part| part == b"mcpsim_own_"), wanted, "{flags}");
    }
}

#[test]
fn several_libraries_are_shared_by_names_with_commas_between() {
    let directory = real::directory();
    for name in ["libone.so", "libtwo.so"] {
        let source = real::file("tests/real/libraries/state.c");
        let made = real::compile_with(&source, "-O1", &directory.path().join(name), "-shared -fPIC");
        made.unwrap_or_else(|why| panic!("{why}"));
    }
    let program = directory.path().join("program");
    let made = real::compile(&real::file("tests/real/shared.c"), "-O1", &program);
    made.unwrap_or_else(|why| panic!("{why}"));
    let here = directory.path().display().to_string();
    let said = |options: &str| {
        let ran = real::run(&program, &format!("--nct 1,1,2 {options}"), &here);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{options}");
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(said(""), ["1001 and 1001", "1001 and 1001"]);
    assert_eq!(said("--share-library libone,libtwo"), ["1001 and 1001", "1002 and 1002"]);
    assert_eq!(said("--share-library libtwo"), ["1001 and 1001", "1001 and 1002"]);
    // The JSON result lists the libraries that all ranks share.
    let file = directory.path().join("run.json");
    said(&format!("--share-library libtwo --json {}", file.display()));
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let two = directory.path().join("libtwo.so").canonicalize().unwrap();
    assert_eq!(json["program"]["shared_libraries"], serde_json::json!([two]));
    assert_eq!(json["program"]["exit_code"], 0);
}

#[test]
fn each_rank_has_its_own_directory_umask_environment_of_children_and_process_number() {
    let directory = real::directory();
    let here = directory.path().display().to_string();
    assert_eq!(prepared(directory.path(), "surroundings.c", "", &here).len(), 4);
}

#[test]
fn handlers_of_faults_run_in_the_rank_that_faulted() {
    assert_eq!(same("faults.c", "-O0 -frounding-math", "").len(), 4);
}

#[test]
fn handlers_of_faults_run_in_mpi_functions_too() {
    let directory = real::directory();
    let source = real::file("tests/real/within.c");
    let [program, native] = ["program", "real"].map(|name| directory.path().join(name));
    real::compile(&source, "-g -O1", &program).unwrap_or_else(|why| panic!("{why}"));
    let sorted = |ran: &support::Ran| {
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let calls = ["mend send", "mend recv", "mend allreduce", "jump send", "jump isend", "mend reduction"];
    for how in calls {
        for options in ["--nct 1,1,2", "--nct 2,1,1 --workers 2"] {
            let ran = real::run(&program, options, how);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{how}: {}", ran.stdout);
            assert_eq!(sorted(&ran).len(), 4, "{how}: {}", ran.stdout);
        }
    }
    for (how, code) in [("exit send", 3), ("exit recv", 3), ("abort send", 5)] {
        let ran = real::run(&program, "--nct 1,1,2", how);
        assert_eq!(ran.code, Some(code), "{how}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("fault 11\n"), "{how}: {}", ran.stdout);
    }
    // A signal handler that does not repair the fault runs repeatedly. Under a real MPI, the program would never end.
    let ran = real::run(&program, "--nct 1,1,2", "nothing send");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(" must not be read, in MPI_Send\n  fault at within.c:"), "{}", ran.stderr);
    for mpi in real::real_mpis() {
        mpi.compile(&source, &native).unwrap_or_else(|why| panic!("{why}"));
        // Modes that jump out of an MPI function run only under mcpsim, because Open MPI makes no progress after such a
        // jump.
        for how in ["mend send", "mend allreduce", "mend reduction"] {
            let [ours, theirs] = [real::run(&program, "--nct 1,1,2", how), mpi.run(&native, 2, how)];
            assert_eq!(sorted(&ours), sorted(&theirs), "{} {how}: {}", mpi.name, theirs.stderr);
        }
    }
}

#[test]
fn threads_that_go_on_beyond_the_end_of_their_rank_do_no_harm() {
    let directory = real::directory();
    let program = directory.path().join("program");
    let source = real::file("tests/real/beyond.c");
    real::compile_with(&source, "-g -O1", &program, "-pthread -fopenmp").unwrap_or_else(|why| panic!("{why}"));
    for (how, code) in [("return", 0), ("crash", 4), ("error", 1), ("region", 4)] {
        for _ in 0..3 {
            let ran = real::run(&program, "--nct 1,1,2", how);
            assert_eq!(ran.code, Some(code), "{how}: {}{}", ran.stdout, ran.stderr);
        }
    }
}

/// Returns the output lines of the program `name`, which uses a library of the system. `file` is a file of the library,
/// and `flags` contains the compiler flags for the library. Returns `None` if the library is not installed.
fn with_library(name: &str, file: &str, flags: &str) -> Option<Vec<String>> {
    if !Path::new(file).is_file() {
        support::skipped(&format!("{file} is not there: {name} is not tried"));
        return None;
    }
    let directory = real::directory();
    let here = directory.path().display().to_string();
    Some(prepared(directory.path(), name, flags, &here))
}

#[test]
fn each_rank_has_its_own_gsl() {
    let lines = with_library("gsl.c", "/usr/include/gsl/gsl_rng.h", "-lgsl -lgslcblas");
    assert!(lines.is_none_or(|lines| lines.len() == 4));
}

#[test]
fn each_rank_has_its_own_hdf5() {
    let flags = "-I/usr/include/hdf5/serial -L/usr/lib/x86_64-linux-gnu/hdf5/serial -lhdf5";
    let lines = with_library("hdf5.c", "/usr/include/hdf5/serial/hdf5.h", flags);
    assert!(lines.is_none_or(|lines| lines.len() == 4));
}

#[test]
fn each_rank_has_its_own_statics_of_the_c_library_keys_and_locks() {
    let directory = real::directory();
    let here = directory.path().display().to_string();
    assert_eq!(prepared(directory.path(), "statics.c", "-pthread", &here).len(), 4);
}

#[test]
fn children_have_the_streams_of_their_rank_and_memory_is_its_own() {
    let directory = real::directory();
    let here = directory.path().display().to_string();
    assert_eq!(prepared(directory.path(), "inherits.c", "", &here).len(), 4);
}

#[test]
fn ranks_wait_for_each_other_at_what_processes_share() {
    let directory = real::directory();
    let here = directory.path().display().to_string();
    assert_eq!(prepared(directory.path(), "between.c", "-pthread -lrt", &here).len(), 4);
}

#[test]
fn signals_are_the_ranks_own() {
    assert_eq!(same("signals.c", "-pthread", "").len(), 4);
}

/// Runs `tests/real/outside.c` on two ranks. One of the ranks executes the action `how`.
fn outside(how: &str) -> support::Ran {
    let directory = real::directory();
    let program = directory.path().join("program");
    real::compile(&real::file("tests/real/outside.c"), "-g -O1", &program).unwrap_or_else(|why| panic!("{why}"));
    real::run(&program, "--nct 1,1,2", &format!("{how} {}", directory.path().display()))
}

#[test]
fn a_rank_waits_for_what_another_does_to_files_while_that_one_goes_on() {
    for how in [
        "access", "stat", "open", "fifo", "line", "socket", "poll", "select", "epoll", "again", "full", "writev",
        "sendmsg", "lockfile", "lockdir",
    ] {
        let ran = outside(how);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "found\n", ""), "{how}");
    }
}

#[test]
fn ranks_that_wait_for_each_other_outside_of_mpi_are_named() {
    for (how, what) in [
        ("never", "/none, which is not there"),
        ("nobody", "somebody to open the other end of "),
        ("locked", "a lock of "),
        ("silent", "somebody to write into "),
        ("alone", "somebody to connect to its socket "),
        ("unpolled", "somebody to write into "),
        ("unread", "somebody to read from "),
    ] {
        let ran = outside(how);
        assert_eq!(ran.code, Some(1), "{how}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.starts_with("error: rank 1 at virtual time 50"), "{how}: {}", ran.stderr);
        let expected = ": outside of MPI: it has waited for 500.0 s for ";
        assert!(ran.stderr.contains(expected) && ran.stderr.contains(what), "{how}: {}", ran.stderr);
        assert!(ran.stderr.contains("let the ranks wait for each other by MPI"), "{how}: {}", ran.stderr);
    }
}

#[test]
fn functions_that_fibers_do_not_have_are_named_with_the_other_way_to_run_the_program() {
    for how in ["pause", "sigwait"] {
        let ran = outside(how);
        assert_eq!(ran.code, Some(1), "{how}: {}{}", ran.stdout, ran.stderr);
        let expected = format!(
            ": {how}: ranks as fibers do not have this function of the C library; build the program with the compiler \
             wrapper of Open MPI or MPICH and run it as built, with a process per rank: mpicc -o PROGRAM …, then mcpsim \
             … ./PROGRAM\n"
        );
        assert!(ran.stderr.starts_with("error: rank 1 at ") && ran.stderr.contains(&expected), "{how}: {}", ran.stderr);
    }
    let directory = real::directory();
    let program = directory.path().join("program");
    real::compile(&real::file("tests/real/absent.c"), "", &program).unwrap_or_else(|why| panic!("{why}"));
    for (how, function) in [
        ("execl", "execl"),
        ("call", "execveat"),
        ("fork", "fork"),
        ("zone", "a change of the time zone (TZ)"),
        ("lock", "fcntl with a record lock"),
    ] {
        let ran = real::run(&program, "--nct 1,1,2", how);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{how}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!(": {function}: ranks as fibers do not have ")), "{how}: {}", ran.stderr);
    }
}

#[test]
fn processes_have_what_fibers_do_not_have() {
    real::libraries();
    for mpi in real::real_mpis() {
        let directory = real::directory();
        let here = directory.path().display().to_string();
        let [program, other] = ["processes", "absent"].map(|name| directory.path().join(name));
        mpi.compile_with(&real::file("tests/real/processes.c"), &program, "-pthread -lrt").unwrap();
        let natively = mpi.run(&program, 4, &here);
        let ran = real::run(&program, "--nct 1,2,2", &here);
        for (what, ran) in [("natively", natively), ("under mcpsim", ran)] {
            let mut lines: Vec<&str> = ran.stdout.lines().collect();
            lines.sort_unstable();
            let expected: Vec<String> = (0..4).map(|rank| format!("rank {rank}: 0 failures")).collect();
            assert_eq!(
                (ran.code, lines.as_slice()),
                (Some(0), &expected.iter().map(String::as_str).collect::<Vec<_>>()[..]),
                "{} {what}: {}",
                mpi.name,
                ran.stderr
            );
        }
        mpi.compile(&real::file("tests/real/absent.c"), &other).unwrap();
        for how in ["fork", "zone", "lock"] {
            let ran = real::run(&other, "--nct 1,1,2", how);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{} {how}: {}", mpi.name, ran.stderr);
        }
        let ran = real::run(&other, "--nct 1,1,2", "execl");
        // The end of one rank without MPI_Finalize may end the other before it prints.
        assert!(ran.stdout.starts_with("another program\n"), "{}: {}", mpi.name, ran.stderr);
    }
}

#[test]
fn ranks_that_touch_what_is_another_ranks_are_told() {
    let ran = outside("fixed");
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let expected = "mmap: MAP_FIXED for 8192 bytes at 0x600000008000, where rank 0 has mapped memory: all ranks are in \
                    one process; let the system choose the address, or derive it from the rank";
    assert!(ran.stderr.starts_with("error: rank 1 at ") && ran.stderr.contains(expected), "{}", ran.stderr);
    let ran = outside("kill");
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("kill: signal 15 to process ") && ran.stderr.contains(", which is rank 0: "),
        "{}",
        ran.stderr
    );
    let ran = outside("child");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "found\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("mcpsim: rank 1 starts a command that names process "), "{}", ran.stderr);
}

#[test]
fn a_launcher_and_a_program_by_its_own_name_end_with_the_code_that_a_shell_expects() {
    let directory = real::directory();
    let [program, native, launcher] = ["program", "real", "mpiexec"].map(|name| directory.path().join(name));
    let source = real::file("tests/real/ends.c");
    real::compile(&source, "-g", &program).unwrap_or_else(|why| panic!("{why}"));
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcpsim"), &launcher).unwrap();
    let open_mpi = real::real_mpis().iter().find(|mpi| mpi.name == "Open MPI");
    if let Some(mpi) = open_mpi {
        mpi.compile(&source, &native).unwrap_or_else(|why| panic!("{why}"));
    }
    for (how, code) in
        [("signal", 134), ("abort", 9), ("early", 3), ("return", 4), ("forgotten", 1), ("without", 0), ("pipe", 141)]
    {
        let mut command = support::without_launcher(Command::new(&launcher), directory.path());
        let ran = real::limited(command.env_remove("MCPSIM_NCT").args(["-n", "2"]).arg(&program).arg(how));
        assert_eq!(ran.code, Some(code), "{how}: {}{}", ran.stdout, ran.stderr);
        if let Some(mpi) = open_mpi {
            assert_eq!(mpi.run(&native, 2, how).code, Some(code), "{how}");
        }
        let mut command = support::without_launcher(Command::new(&program), directory.path());
        let ran = real::limited(command.env("MCPSIM_NCT", "1,1,2").arg(how));
        assert_eq!(ran.code, Some(code), "{how}: {}{}", ran.stdout, ran.stderr);
        let ran = real::run(&program, "--nct 1,1,2", how);
        assert_eq!(ran.code, Some(if ["signal", "pipe"].contains(&how) { 4 } else { code }), "{how}: {}", ran.stderr);
    }
}
