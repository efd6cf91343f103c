//! Tests of the reports for crashes of real programs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{program, run};

/// Returns the program `crash`, which is compiled once for all tests of this file.
fn crasher() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    MADE.get_or_init(|| program("crash.c", "-g -O1 -pthread -fno-inline")).as_deref()
}

/// Runs the program on two ranks, one of which crashes in the way `how`. Asserts that the crash report contains all
/// texts in `expected`.
fn crashes(how: &str, expected: &[&str]) {
    let Some(program) = crasher() else { return };
    let ran = run(program, "--nct 1,1,2", how);
    assert_eq!(ran.code, Some(4), "{how}: {}{}", ran.stdout, ran.stderr);
    for part in expected {
        assert!(ran.stderr.contains(part), "{how}: no \"{part}\" in:\n{}", ran.stderr);
    }
}

#[test]
fn a_crash_tells_rank_signal_time_call_and_the_calls_that_led_there() {
    crashes(
        "write",
        &[
            "error: rank 1 crashed with signal 11 (SIGSEGV) at virtual time ",
            ": nothing is mapped at 0x10, after MPI_Bcast\n",
        ],
    );
    crashes("write", &["\n  crash at crash.c:80\n  main at crash.c:"]);
}

#[test]
fn functions_of_cpp_programs_have_their_names_of_the_source() {
    let places = [("-g -O1", "grid::Field<double>::at(int) const at crash.cc:10"), ("-O1", "at(int) const+0x")];
    for (flags, place) in places {
        let Some(program) = program("crash.cc", flags) else { return };
        let ran = run(&program, "--nct 1,1,2", "");
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(place), "no \"{place}\" in:\n{}", ran.stderr);
    }
}

#[test]
fn exceptions_that_nothing_catches_end_the_rank_where_they_are_thrown() {
    let Some(program) = program("thrown.cc", "-g -O1") else { return };
    for (how, place) in [("end", "after MPI_Finalize\n"), ("operator", "in MPI_Iallreduce\n")] {
        let ran = run(&program, "--nct 1,1,2", how);
        assert_eq!(ran.code, Some(4), "{how}: {}{}", ran.stdout, ran.stderr);
        for part in ["terminate called after throwing", "(SIGABRT)", "abort was called, ", place, " at thrown.cc:"] {
            assert!(ran.stderr.contains(part), "{how}: no \"{part}\" in:\n{}", ran.stderr);
        }
    }
}

#[test]
fn each_kind_of_crash_has_its_words() {
    crashes(
        "early",
        &[
            "rank 0 crashed with signal 11 (SIGSEGV)",
            "nothing is mapped at 0x10, before any MPI call\n  main at crash.c",
        ],
    );
    crashes("strlen", &["nothing is mapped at 0x10", "  crash at crash.c:81"]);
    crashes("call", &["no code at 0x0, after MPI_Bcast\n  crash at crash.c:82"]);
    crashes("divide", &["signal 8 (SIGFPE)", "integer division by zero", "  crash at crash.c:83"]);
    crashes("trap", &["signal 4 (SIGILL)", "__builtin_trap", "  crash at crash.c:87"]);
    crashes("breakpoint", &["signal 5 (SIGTRAP)", "a breakpoint", "  crash at crash.c:88"]);
    crashes("raise", &["signal 11 (SIGSEGV)", "the program sent this signal to itself", "  crash at crash.c:89"]);
    crashes("print", &["signal 11 (SIGSEGV)", "nothing is mapped at 0x10", "  crash at crash.c:90"]);
    crashes("buffer", &["nothing is mapped at 0x10000000, in MPI_Send\n  crash at crash.c:106"]);
}

#[test]
fn a_stack_that_overflows_is_told_from_other_crashes() {
    crashes(
        "stack",
        &["stack overflow: the stack has 8 MiB, see --stack-size, after", "\n  deeper at crash.c", "\n  and so on"],
    );
}

#[test]
fn a_stack_that_a_rank_writes_over_is_said_to_be() {
    crashes(
        "smash",
        &[
            "error: rank 1 crashed with signal 11 (SIGSEGV) at virtual time ",
            "; the stack is overwritten up to its top, as by a local array that is too short, after MPI_Bcast\n  smash at",
        ],
    );
}

#[test]
fn abort_and_failed_assertions_are_crashes() {
    crashes("abort", &["signal 6 (SIGABRT)", "abort was called, after MPI_Bcast\n", "  crash at crash.c:85"]);
    crashes("assert", &["Assertion `zero == 1' failed", "signal 6 (SIGABRT)", "  crash at crash.c:86"]);
}

#[test]
fn a_crash_in_the_memory_management_is_reported_without_hanging() {
    crashes(
        "heap",
        &["rank 1 crashed with signal 6 (SIGABRT)", "the C library has ended the program", "  crash at crash.c:10"],
    );
}

#[test]
fn a_window_larger_than_its_memory_is_a_crash_of_the_rank_that_made_it() {
    let Some(program) = program("too_large.c", "-g -O1") else { return };
    for (how, function, access) in
        [("put", "MPI_Put", "written"), ("get", "MPI_Get", "read"), ("sum", "MPI_Accumulate", "read")]
    {
        for options in ["--nct 1,1,2", "--nct 2,1,1 --workers 2"] {
            let ran = run(&program, options, how);
            assert_eq!(ran.code, Some(4), "{how}: {}{}", ran.stdout, ran.stderr);
            let parts = [
                "error: rank 1 crashed with signal 11 (SIGSEGV) at virtual time ",
                &format!(" must not be {access}: {function} of rank 0 reached byte 4100 of 8192 bytes at 0x"),
                ", which the rank gave in MPI_Win_create at too_large.c:14\n",
            ];
            for part in parts {
                assert!(ran.stderr.contains(part), "{how}: no \"{part}\" in:\n{}", ran.stderr);
            }
        }
    }
}

#[test]
fn a_crash_in_a_function_that_a_collective_calls_names_the_collective() {
    crashes("reduce", &["in MPI_Reduce\n  dies_in_reduction at crash.c:", "\n  reduce at crash.c:64\n"]);
    crashes("ireduce", &["in MPI_Iallreduce\n  dies_in_reduction at crash.c:"]);
}

#[test]
fn a_handler_is_called_for_what_the_program_sends_itself_and_for_a_fault_and_without_one_it_crashes() {
    let Some(program) = crasher() else { return };
    let ran = run(program, "--nct 1,1,2", "handled");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), "handled 11\nhandled 11\n"), "{}", ran.stderr);
}

#[test]
fn threads_of_a_program_may_crash_but_not_call_mpi() {
    crashes(
        "thread",
        &["a thread of the program crashed with signal 11", "nothing is mapped at 0x10", "  thread at crash.c:"],
    );
    let Some(program) = crasher() else { return };
    let ran = run(program, "--nct 1,1,2", "thread_mpi");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains(
            "MPI_Comm_size was called from a thread that is not its rank's main thread: ranks as fibers have \
             MPI_THREAD_FUNNELED; for MPI_THREAD_SERIALIZED and MPI_THREAD_MULTIPLE, build the program with the compiler \
             wrapper of Open MPI or MPICH and run it as built, with a process per rank: mpicc -o PROGRAM …, then mcpsim … \
             ./PROGRAM"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_stack_of_a_programs_thread_that_overflows_is_reported_with_its_place() {
    let told = "a thread of the program crashed with signal 11 (Segmentation fault): stack overflow: the stack has ";
    crashes("thread_stack", &[told, "\n  large at crash.c:", "\n  thread at crash.c:"]);
    let Some(program) = program("threads.c", "-g -O1 -fopenmp") else { return };
    let ran = run(&program, "--nct 1,1,2", "deep");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let setting = "see OMP_STACKSIZE, pthread_attr_setstacksize or ulimit -s\n  deep at threads.c:";
    assert!(ran.stderr.contains(told) && ran.stderr.contains(setting), "{}", ran.stderr);
}

#[test]
fn threads_of_a_program_may_end_themselves_or_be_cancelled() {
    let Some(program) = crasher() else { return };
    for how in ["thread_exit", "thread_cancel"] {
        let ran = run(program, "--nct 1,1,2", how);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{how}");
    }
    // The host thread that runs a rank does not belong to the rank. Cancelling the thread ends only the rank, in this
    // test before MPI_Finalize.
    let ran = run(program, "--nct 1,1,2", "cancel");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("rank 1") && ran.stderr.contains("MPI_Finalize"), "{}", ran.stderr);
}
