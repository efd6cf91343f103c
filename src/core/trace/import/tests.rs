//! Traces of other tools: compares predicted times with times computed by hand, and checks errors.

use std::sync::Arc;

use super::{ImportedTrace, TraceFormat, format_of};
use crate::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use crate::mpi::MpiDriver;
use crate::platform::{Placement, Platform};
use crate::rank::Rank;
use proptest::prelude::*;

/// A machine with one core of 1 Gflop/s per node. A message between nodes takes 1000 ns plus 1 ns per byte, is eager
/// up to 1 KB, and has no overheads.
const MACHINE: &str = r#"
name = "tiny"
nct = [4, 1, 1]
core = { flops = "1 Gflop/s", instructions = "1 Ginstr/s", memory_bandwidth = "1 GB/s" }
intra_cmp = { contention = "ideal", latency = "10 ns", bandwidth = "1 GB/s" }
inter_cmp = { contention = "ideal", latency = "100 ns", bandwidth = "1 GB/s" }
inter_node = { contention = "ideal", latency = "1000 ns", bandwidth = "1 GB/s", eager_threshold = 1000, handshake = "1000 ns" }
"#;

pub(super) fn platform() -> Platform {
    test_support::load(MACHINE, &[])
}

fn run(format: TraceFormat, text: &str) -> Result<Outcome, RunError> {
    execute(&ImportedTrace::read(format, text).unwrap(), RunOptions::default())
}

pub(super) fn execute(import: &ImportedTrace, options: RunOptions) -> Result<Outcome, RunError> {
    let platform = Arc::new(platform());
    let sites = Placement::Block.sites(platform.shape, import.ranks(), true).unwrap();
    let make = |rank: Rank| MpiDriver::new(import.program(rank, &platform.core), platform.clone(), 1e9);
    Simulation::new(&platform, sites, options, Labels::default()).run(make, &Progress::default())
}

/// Final virtual times of the ranks in ns.
fn clocks(format: TraceFormat, text: &str) -> Vec<u64> {
    run(format, text).unwrap().per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect()
}

fn error(format: TraceFormat, text: &str) -> String {
    ImportedTrace::read(format, text).unwrap_err().to_string()
}

#[test]
fn formats_are_told_from_the_first_line() {
    assert_eq!(format_of("\n# made by a tool\n0 init\n"), Some(TraceFormat::TimeIndependent));
    assert_eq!(format_of("// a schedule\nnum_ranks 4\n"), Some(TraceFormat::Goal));
    for other in ["", "0 = 1\n", "[a]\nb = 1", "num_ranks = 4", "name = \"x\"", "actions0.txt\n"] {
        assert_eq!(format_of(other), None, "{other}");
    }
}

#[test]
fn deeds_take_what_the_machine_says() {
    // 500 flops take 500 ns. A message of 100 doubles takes 1000 + 800 ns and arrives at 2300 ns. The receiver then
    // works for 200 ns.
    let text =
        "0 init 1\n1 init 1\n0 compute 5e2\n0 send 1 7 100\n1 recv 0 7 100\n1 compute 200\n0 finalize\n1 finalize\n";
    assert_eq!(clocks(TraceFormat::TimeIndependent, text), [500, 2500]);
    // Without an argument of `init`, sizes are in bytes. The lines have the form of versions before 3.21, whose `wait`
    // waits for the last request.
    let text = "0 init\n1 init\n1 Irecv 0 100\n0 send 1 1e2\n1 compute 50\n1 wait\n";
    assert_eq!(clocks(TraceFormat::TimeIndependent, text), [0, 1100]);
    // Datatype 1 is an int of 4 bytes, so the first message takes 1400 ns. The second message leaves after 1000 ns of
    // work and takes 1000 + 800 ns. The receiver waits for one request, then for all requests.
    let text = "0 isend 1 1 100 1\n0 compute 1000\n0 isend 1 2 100 0\n0 waitall 2\n\
                1 irecv 0 2 100 0\n1 irecv 0 1 100 1\n1 wait 0 1 1\n1 compute 1\n1 waitall\n";
    assert_eq!(clocks(TraceFormat::TimeIndependent, text), [1000, 2800]);
    // A rank does not wait again for a request that a test completed.
    let text = "0 send 1 0 100\n1 irecv 0 0 100\n1 compute 2000\n1 test 0 1 0\n1 wait 0 1 0\n1 sleep 1e-6\n";
    assert_eq!(clocks(TraceFormat::TimeIndependent, text), [0, 3000]);
}

#[test]
fn a_collective_of_some_ranks_is_told_from_one_of_all_where_it_has_a_size_for_each() {
    // SMPI's line for an allgatherv among three of the six ranks does not name the communicator.
    let lines: String = (0..6).map(|rank| format!("{rank} allgatherv 1 1 2 3 0 0\n")).collect();
    assert_eq!(
        error(TraceFormat::TimeIndependent, &lines),
        "line 1: expected 6 counts, one per rank; found 5: this format has no collectives of smaller communicators"
    );
}

#[test]
fn collectives_are_those_of_the_machine() {
    for (deed, messages) in [
        ("barrier", 4),
        ("bcast 100 1", 1),
        ("reduce 100 0 0 1", 1),
        ("allreduce 100 0", 2),
        ("allToAll 100 100", 2),
        ("gather 68 68 1 0 0", 1),
        ("scatter 68 68 0 0 0", 1),
        ("allgather 8 8 6 6", 2),
        ("gatherv 10 10 20 1 6 6", 1),
        ("allGatherV 10 10 20 0 10 6 6", 2),
        ("scatterv 10 10 10 0", 1),
        ("reduceScatter 10 20 500 6", 2),
        ("allToAllV 30 10 20 30 10 20", 2),
    ] {
        let all: String = (0..2).map(|rank| format!("{rank} {deed}\n")).collect();
        let outcome = run(TraceFormat::TimeIndependent, &all).unwrap();
        assert_eq!(outcome.messages.count, if deed == "barrier" { 2 } else { messages }, "{deed}");
    }
}

/// Lines that SMPI 3.32 writes and that differ between ranks, with the number of bytes that all ranks send.
#[test]
fn what_only_some_ranks_know_of_a_collective_is_taken_from_their_lines() {
    let int_and_double = "1 0";
    for (lines, count, bytes) in [
        // In the lines of ranks other than the root, the list of sizes contains zeros. The root uses MPI_IN_PLACE and
        // sends nothing.
        ("gatherv 10 0 0 1 1 1|gatherv 20 10 20 1 1 1", 1, 40),
        ("gatherv 10 10 20 0 1 1|gatherv 20 0 0 0 1 1", 1, 80),
        ("gather 10 10 1 1 1|gather 0 10 1 1 1", 1, 40),
        ("gather 0 10 0 1 1|gather 10 10 0 1 1", 1, 40),
        ("scatterv 0 0 10 1 1 1|scatterv 10 20 20 1 1 1", 1, 40),
        ("scatter 0 10 1 1 1|scatter 10 0 1 1 1", 1, 40),
        // The two datatypes in a line belong to the send and to the receive. 20 ints have the same size as 10 doubles.
        ("gather 20 10 0 DT|gather 20 10 0 DT", 1, 80),
        ("gatherv 20 10 10 0 DT|gatherv 20 0 0 0 DT", 1, 80),
        ("scatter 20 10 0 DT|scatter 20 10 0 DT", 1, 80),
        ("scatterv 20 20 10 0 DT|scatterv 0 0 10 0 DT", 1, 80),
        ("allgatherv 20 10 20 DT|allgatherv 40 10 20 DT", 2, 240),
        ("allgatherv 10 10 20 1 1|allgatherv 20 10 20 1 1", 2, 120),
        // MPI_Reduce_scatter_block has one block per rank.
        ("reducescatter 0 0 0 0 0 1|reducescatter 0 0 0 0 0 1", 2, 40),
        ("scan 100 0 1|scan 100 0 1", 2, 800),
        ("exscan 100 0 1|exscan 100 0 1", 2, 800),
        ("sendRecv 100 1 200 1 1 1|sendRecv 101 0 200 0 1 1", 2, 804),
        ("Ssend 1 5 100 1|recv -333 -444 200 1", 1, 400),
        ("send -333 5 5 1|sleep 0", 0, 0),
    ] {
        let lines = lines.replace("DT", int_and_double);
        let text: String = lines.split('|').enumerate().map(|(rank, line)| format!("{rank} {line}\n")).collect();
        let outcome = run(TraceFormat::TimeIndependent, &text).unwrap();
        assert_eq!((outcome.messages.count, outcome.messages.bytes), (count, bytes), "{text}");
    }
}

#[test]
fn wrong_deeds_name_the_line_and_what_was_expected() {
    for (text, what) in [
        (
            "0 init\n0 dance 1\n",
            "line 2: \"dance\" of rank 0: expected compute, sleep, send, isend, recv, irecv, sendRecv, wait, waitall, test or a blocking collective",
        ),
        ("0 send 3 0 1\n", "line 1: expected a rank up to 0 and a tag; found 3 and 0"),
        ("0 compute x\n", "line 1: expected flops, a number; found \"x\""),
        ("0 send 0 0 1 99\n", "line 1: expected the number of a datatype, 0 to 59; found \"99\""),
        ("0 compute 1 2\n", "line 1: expected the end of the line; found \"2\""),
        ("0 allreduce 1\n", "line 1: expected flops; found the end of the line"),
        ("0 bcast 1 0 -1\n", "line 1: -1 is a datatype that the program made: SMPI does not write its size"),
        ("9 init\n", "expected lines of all ranks up to 9"),
        ("-1 init\n", "line 1: expected a rank from 0 to 16777215"),
    ] {
        assert_eq!(error(TraceFormat::TimeIndependent, text), what);
    }
}

#[test]
fn operations_start_when_what_they_need_is_there() {
    // The send starts after 100 ns of work. The work after the receive starts when the message has arrived at 100 +
    // 1000 + 8 ns. The rank also has 5000 ns of independent work.
    let text = "num_ranks 2\nrank 0 {\nl1: calc 100 cpu 0\nl2: send 8b to 1 tag 3 nic 1\nl2 requires l1\n}\n\
                rank 1 {\nl1: recv 8b from 0 tag 3\nl2: calc 50\nl2 requires l1\n}\n";
    assert_eq!(clocks(TraceFormat::Goal, text), [100, 1158]);
    // Work without dependences starts first. The message that arrived meanwhile allows the rank to send the answer
    // before the second block of work.
    let text = "num_ranks 2 // two\nrank 0 {\nl1: send 8b to 1\nl2: recv 8b from 1\n}\n/* the\nother */\nrank 1 {\n\
                l1: recv 8b from -1 tag -1\nl2: calc 3000\nl3: calc 3000\nl4: send 8b to 0\nl4 requires l1\n}\n";
    assert_eq!(clocks(TraceFormat::Goal, text), [3000 + 1008, 6000]);
    // With `irequires`, the send may start when the work has started, but the core is free only after the work.
    let text = "num_ranks 2\nrank 0 {\na: calc 700\nb: send 8b to 1\nb irequires a\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    assert_eq!(clocks(TraceFormat::Goal, text), [700, 1708]);
}

#[test]
fn wrong_schedules_name_the_line_and_what_was_expected() {
    for (text, what) in [
        ("rank 0 {\n", "line 1: expected num_ranks before the first rank"),
        ("num_ranks 1\nrank 1 {\n}\n", "line 2: expected a rank from 0 to 0; found 1"),
        ("num_ranks 1\nrank 0 {\ncalc 1\n", "rank 0 has no end: expected }"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1 cpu 1\n}\n",
            "line 3: cpu 1: expected 0, a rank has one core; give each core's work to a rank of its own",
        ),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n", "line 4: expected a label given before; found \"b\""),
        ("num_ranks 1\nrank 0 {\na: calc 1\na: calc 1\n}\n", "line 4: expected a new label; found \"a\" again"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
            "line 7: a of rank 0 needs itself: expected no cycle",
        ),
        ("num_ranks 1\nrank 0 {\na: send 8b to 4\n}\n", "line 3: expected a rank up to 0 and a tag; found 4 and 0"),
        ("num_ranks 1\nrank 0 {\na: send x to 0\n}\n", "line 3: expected a size such as 8b; found \"x\""),
        ("hello\n", "line 1: expected num_ranks, rank or a comment; found \"hello\""),
        ("", "expected num_ranks"),
    ] {
        assert_eq!(error(TraceFormat::Goal, text), what);
    }
}

const DEEDS: &str = "0 init\n1 init\n0 isend 1 1 100 1\n0 test 0 1 1\n0 waitall\n1 irecv 0 1 100 1\n1 wait 0 1 1\n\
    0 gatherv 10 10 20 1 6 6\n1 gatherv 10 10 20 1 6 6\n0 alltoallv 30 10 20 30 10 20\n1 alltoallv 30 10 20 30 10 20\n";
const SCHEDULE: &str = "num_ranks 2\nrank 0 {\na: calc 700\nb: send 8b to 1 tag 3\nb irequires a\nc: recv 8b from -1\n}\n\
    rank 1 {\nl1: recv 8b from 0 tag 3\nl2: calc 50 cpu 0\nl2 requires l1\nsend 8b to 0\n}\n";

/// Generates a text of random signs, or an integer beyond a limit of the format.
fn new_text() -> impl Strategy<Value = String> {
    let extreme =
        ["-1", "16777215", "4294967295", "9223372036854775807", "18446744073709551615", "1e15", "1e300", "nan"];
    prop_oneof![3 => "[0-9a-z{}:/\\- \n*]{0,3}", 1 => prop::sample::select(extreme.to_vec()).prop_map(str::to_owned)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn texts_of_any_content_are_errors_or_runs(
        schedule in any::<bool>(),
        changes in prop::collection::vec((any::<usize>(), new_text(), 0usize..4), 1..5),
    ) {
        let (format, text) = if schedule { (TraceFormat::Goal, SCHEDULE) } else { (TraceFormat::TimeIndependent, DEEDS) };
        let mut text = text.to_owned();
        for (at, new, length) in changes {
            let at = at % text.len().max(1);
            text.replace_range(at.min(text.len())..(at + length).min(text.len()), &new);
        }
        if let Ok(import) = ImportedTrace::read(format, &text)
            && import.ranks() <= 100
        {
            let _ = execute(&import, RunOptions { max_events: Some(20_000), ..RunOptions::default() });
        }
    }
}
