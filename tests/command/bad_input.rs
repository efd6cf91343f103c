//! Error messages for invalid input: their exact text, exit code 2 (3 for a deadlock), and empty stdout.
//!
//! If the command line is invalid, a hint to `--help` follows the line of the error.

#[path = "bad_input/files.rs"]
mod files;
#[path = "bad_input/jobs.rs"]
mod jobs;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::support::{Ran, finish, mcpsim, run};
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn write(directory: &Path, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(directory.join(name), text).unwrap();
}

/// Asserts that the run prints only `error` and ends with code 2.
pub fn says(ran: &Ran, error: &str, what: &str) {
    let hint = "\n\nFor more information, try '--help'.";
    let said = ran.stderr.trim_end().trim_end_matches(hint);
    assert_eq!(said, format!("error: {error}"), "{what}");
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(2)), "{what}");
}

/// Asserts the error of each application `a.toml` with its arguments.
fn applications(cases: &[(&str, &str, &str)]) {
    let directory = directory();
    let here = directory.path();
    for (text, line, error) in cases {
        write(here, "a.toml", text);
        says(&run(here, &format!("a.toml {line}")), error, &format!("{text} {line}"));
    }
}

/// Asserts the errors of applications that consist of a single statement.
fn statements(cases: &[(&str, &str)]) {
    let directory = directory();
    let here = directory.path();
    for (statement, error) in cases {
        write(here, "a.toml", format!("main = [{statement}]\n"));
        says(&run(here, "a.toml --nct 1,1,2"), error, statement);
    }
}

/// Asserts the error of each command line. The application `a.toml` does nothing and has a parameter `n`.
fn lines(cases: &[(&str, &str)]) {
    let directory = directory();
    let here = directory.path();
    write(here, "a.toml", "main = []\nparams.n = 1\n");
    std::fs::create_dir(here.join("dir")).unwrap();
    write(here, "binary", [0x7f, b'E', b'L', b'F', 0xff, 0x00]);
    write(here, "empty", "");
    write(here, "words", "0 0 0\nx\n");
    write(here, "twice", "0 0 0\n0 0 0\n");
    write(here, "beyond", "0 0 0\n0 9 9\n");
    for (line, error) in cases {
        says(&run(here, line), error, line);
    }
}

#[test]
fn keys_and_words_that_do_not_exist() {
    statements(&[
        ("{ snd = { to = 1, bytes = 8 } }", "unknown operation \"snd\", did you mean \"send\"? in main[0] of a.toml:1"),
        (
            "{ send = { to = 1, bites = 8 } }",
            "unknown key \"bites\", did you mean \"bytes\"? in main[0].send of a.toml:1",
        ),
        ("{ wait = \"x\" }", "no statement starts the request \"x\", which is waited for in main[0].wait of a.toml:1"),
        (
            "{ waitall = [\"x\"] }",
            "no statement starts the request \"x\", which is waited for in main[0].waitall[0] \
          of a.toml:1",
        ),
    ]);
    applications(&[
        ("mian = []", "", "unknown key \"mian\", did you mean \"main\"? in a.toml"),
        ("", "", "missing \"main\" (the statements each rank executes) in a.toml"),
        (
            "main = [{ barrier = { comm = \"od\" } }]\ncomms.odd = { split = \"rank % 2\" }",
            "",
            "unknown communicator \"od\", expected world or odd in main[0].barrier.comm of a.toml:1",
        ),
    ]);
}

#[test]
fn values_of_the_wrong_type_or_unit() {
    statements(&[
        (
            "{ send = { to = 1, bytes = \"8 s\" } }",
            "expected a size such as \"64 KiB\" in main[0].send.bytes of a.toml:1; found \"8 s\"",
        ),
        (
            "{ sendrecv = { to = 1, bytes = 8, from = 1, recv_bytes = \"1 ms\" } }",
            "expected a size such as \"64 KiB\" in main[0].sendrecv.recv_bytes of a.toml:1; found \"1 ms\"",
        ),
        (
            "{ bcast = { bytes = \"1 h\" } }",
            "expected a size such as \"64 KiB\" in main[0].bcast.bytes of a.toml:1; found \"1 h\"",
        ),
        (
            "{ compute = { bytes = \"3 s\" } }",
            "expected a size such as \"64 KiB\" in main[0].compute.bytes of a.toml:1; found \"3 s\"",
        ),
        ("{ compute = \"8 kB\" }", "expected a time such as \"1.2 us\" in main[0].compute of a.toml:1; found \"8 kB\""),
        (
            "{ compute = { time = \"8 B\" } }",
            "expected a time such as \"1.2 us\" in main[0].compute.time of a.toml:1; found \"8 B\"",
        ),
        (
            "{ compute = \"8 parsecs\" }",
            "\"8 parsecs\" in main[0].compute of a.toml:1, character 1: unknown unit \"parsecs\" after \"8\", expected one of \
             time or size such as us or KiB",
        ),
        (
            "{ send = { to = 1, bytes = true } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: send.bytes = true: expected a size of at least 0 \
             bytes; found true",
        ),
        (
            "{ compute = nan }",
            "expected a number or an expression such as \"2 * n\" in main[0].compute of a.toml:1; found nan",
        ),
        (
            "{ compute = -inf }",
            "expected a number or an expression such as \"2 * n\" in main[0].compute of a.toml:1; found -inf",
        ),
        ("{ compute = \"nan\" }", "\"nan\" in main[0].compute of a.toml:1, character 1: unknown name \"nan\""),
        (
            "{ compute = \"1e400 s\" }",
            "\"1e400 s\" in main[0].compute of a.toml:1, character 1: the number is out of range",
        ),
    ]);
    // The product of a size and another value may be a time.
    let directory = directory();
    write(directory.path(), "a.toml", "main = [{ compute = \"8 kB * 1e-9\" }, { barrier = {} }]\n");
    assert_eq!(run(directory.path(), "a.toml --nct 1,1,2").code, Some(0));
}

#[test]
fn expressions_that_have_no_value() {
    statements(&[
        ("{ compute = \"nn\" }", "\"nn\" in main[0].compute of a.toml:1, character 1: unknown name \"nn\""),
        (
            "{ compute = \"foo(1)\" }",
            "\"foo(1)\" in main[0].compute of a.toml:1, character 1: unknown function \"foo\"",
        ),
        (
            "{ compute = \"1 / 0\" }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: compute = \"1 / 0\": division by zero",
        ),
        (
            "{ compute = \"1 // (rank - rank)\" }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: compute = \"1 // (rank - rank)\": division by zero",
        ),
        // Only rank 1 divides by zero.
        (
            "{ compute = \"1 % (rank - 1)\" }",
            "rank 1 at virtual time 0 s: main[0] of a.toml:1: compute = \"1 % (rank - 1)\": division by zero",
        ),
        (
            "{ compute = \"sqrt(-1)\" }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: compute = \"sqrt(-1)\": sqrt(-1) is not defined",
        ),
        (
            "{ set = { x = \"log(0)\" } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: set.x = \"log(0)\": log(0) is not defined",
        ),
        (
            "{ set = { x = \"randint(5, 1)\" } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: set.x = \"randint(5, 1)\": randint needs a range that \
             is not empty; found 5 to 1",
        ),
        (
            "{ for = \"i\", to = 5.5, do = [] }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: to = 5.5: expected a whole number; found 5.5",
        ),
    ]);
    for text in [
        "2 ** 64",
        "3037000500 * 3037000500",
        "9223372036854775807 + 1 + rank * 0",
        "-9223372036854775807 - 2",
        "-(-9223372036854775807 - 1)",
        "abs(-9223372036854775807 - 1)",
        "(-9223372036854775807 - 1) // -1",
        "(-9223372036854775807 - 1) % -1",
        "10.0 ** 400",
        "int(1e300)",
        "exp(1e300)",
    ] {
        let error =
            format!("rank 0 at virtual time 0 s: main[0] of a.toml:1: set.x = \"{text}\": the result is out of range");
        statements(&[(&format!("{{ set = {{ x = \"{text}\" }} }}"), &error)]);
    }
    applications(&[
        ("main = []\nparams.a = \"b\"", "", "\"b\" in params.a of a.toml, character 1: unknown name \"b\""),
        ("main = []\nparams.a = 1", "--set app.a=foo", "\"foo\" in --set app.a=foo, character 1: unknown name \"foo\""),
        (
            "main = []\nparams.a = 1",
            "--set app.a=",
            "\"\" in --set app.a=, character 1: expected a number, a name or \"(\", found the end",
        ),
    ]);
}

#[test]
fn times_sizes_and_amounts_out_of_range() {
    statements(&[
        (
            "{ compute = \"-1 us\" }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: compute = \"-1 us\": expected a time from 0 to 213 \
             days; found -0.000001 s",
        ),
        (
            "{ compute = \"1e300 s\" }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: compute = \"1e300 s\": expected a time from 0 to 213 \
             days; found 1e300 s",
        ),
        (
            "{ compute = { flops = \"1e300\" } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: expected amounts of at least 0 that take less than 213 \
             days; found 1e300 flops, 0 instructions, 0 bytes",
        ),
        (
            "{ compute = { flops = -1 } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: expected amounts of at least 0 that take less than 213 \
             days; found -1 flops, 0 instructions, 0 bytes",
        ),
        (
            "{ send = { to = 1, bytes = -1 } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: send.bytes = -1: expected a size of at least 0 bytes; \
             found -1",
        ),
        (
            "{ send = { to = 1, bytes = 1, tag = -1 } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: send.tag = -1: expected a tag from 0 to 2147483647; \
             found -1",
        ),
        (
            "{ send = { to = 1, bytes = 1, tag = \"2 ** 31\" } }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: send.tag = \"2 ** 31\": expected a tag from 0 to \
             2147483647; found 2147483648",
        ),
        (
            "{ repeat = -1, do = [] }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: repeat = -1: expected a count of at least 0; found -1",
        ),
        (
            "{ for = \"i\", to = 5, step = 0, do = [] }",
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: step = 0: a step of 0 never ends",
        ),
    ]);
}

#[test]
fn messages_that_take_longer_than_the_clock_can_hold() {
    let past = |rank: u32, place: &str| {
        format!("rank {rank} at {place}: the virtual clock passed 213 days, the most it can hold")
    };
    applications(&[
        (
            "main = [{ isend = { to = \"1 - rank\", bytes = \"2 ** 62\" } }, { recv = { from = \"1 - rank\" } }, \"waitall\"]",
            "--nct 2,1,1",
            &past(0, "main[1] of a.toml:1"),
        ),
        (
            "main = [{ send = { to = \"1 - rank\", bytes = \"2 ** 62\", mode = \"buffered\" } }, { recv = { from = \"1 - rank\" } }]",
            "--nct 2,1,1",
            &past(0, "main[1] of a.toml:1"),
        ),
        (
            "main = [{ isend = { to = \"1 - rank\", bytes = \"2 ** 62\" } }, { recv = { from = \"1 - rank\" } }, \"waitall\"]",
            "--nct 2,1,1 --set platform.inter_node.contention=fair",
            &past(0, "main[1] of a.toml:1"),
        ),
        (
            "main = [{ compute = \"200 * 24 h\" }, { compute = \"200 * 24 h\" }]",
            "--nct 2,1,1",
            &past(0, "main[1] of a.toml:1"),
        ),
    ]);
    let directory = directory();
    let collectives = [
        "bcast",
        "reduce",
        "allreduce",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "allgather",
        "allgatherv",
        "alltoall",
        "alltoallv",
        "scan",
        "exscan",
        "reduce_scatter",
    ];
    for collective in collectives {
        write(directory.path(), "a.toml", format!("main = [{{ {collective} = {{ bytes = \"2 ** 62\" }} }}]\n"));
        for workers in [1, 2] {
            let ran = run(directory.path(), &format!("a.toml --nct 2,1,2 --workers {workers}"));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{collective}: {}", ran.stderr);
            let (rank, rest) = ran.stderr.split_once(" at ").unwrap_or_default();
            assert!(rank.starts_with("error: rank "), "{collective}: {}", ran.stderr);
            assert_eq!(
                rest, "main[0] of a.toml:1: the virtual clock passed 213 days, the most it can hold\n",
                "{collective}"
            );
        }
    }
}

#[test]
fn peers_roots_and_members_outside_the_communicator() {
    let outside = "is outside the communicator of 2 ranks: expected 0 to 1";
    statements(&[
        (
            "{ send = { to = \"rank + 1\", bytes = 8 } }",
            &format!(
                "rank 1 at virtual time 0 s: main[0] of a.toml:1: send.to = \"rank + 1\": peer 2 {outside}, or none"
            ),
        ),
        (
            "{ send = { to = -2, bytes = 8 } }",
            &format!("rank 0 at virtual time 0 s: main[0] of a.toml:1: send.to = -2: peer -2 {outside}, or none"),
        ),
        (
            "{ recv = { from = 7 } }",
            &format!("rank 0 at virtual time 0 s: main[0] of a.toml:1: recv.from = 7: peer 7 {outside}, or none"),
        ),
        (
            "{ bcast = { bytes = 8, root = 7 } }",
            &format!("rank 0 at virtual time 0 s: main[0] of a.toml:1: bcast.root = 7: root 7 {outside}"),
        ),
        (
            "{ send = { to = \"any\", bytes = 1 } }",
            "\"any\" in main[0].send.to of a.toml:1, character 1: \"any\" has a meaning only by itself, as the from or tag of a \
             receive",
        ),
        (
            "{ irecv = { from = 0, request = \"a\" } }, { irecv = { from = 0, request = \"a\" } }",
            "rank 0 at virtual time 0 s: main[1] of a.toml:1: the request \"a\" is still outstanding; wait for it \
             before starting it again",
        ),
    ]);
    let odd = "comms.odd = { split = \"1 if rank % 2 == 1 else none\" }";
    let error = "rank 0 at virtual time 0 s: main[0] of a.toml:1: this rank is in no group of the communicator \"odd\"";
    for statement in ["{ barrier = { comm = \"odd\" } }", "{ send = { to = 0, bytes = 1, comm = \"odd\" } }"] {
        applications(&[(&format!("main = [{statement}]\n{odd}"), "--nct 1,1,4", error)]);
    }
    applications(&[(
        "main = []\ngrids.g = { dims = [3, 0] }",
        "--nct 1,1,4",
        "expected extents that divide the number of ranks, 4 (0 lets mcpsim choose) in grids.g.dims of a.toml; found [3, 0]",
    )]);
}

#[test]
fn procedures_and_loops_without_end() {
    applications(&[(
        "main = [\"a\"]\n[procedures]\na = [\"b\"]\nb = [{ call = \"a\" }]",
        "",
        "procedures call each other in a cycle: a → b → a in procedures of a.toml",
    )]);
    let endless = "a loop takes 1000000000000000000 iterations without communication, expected at most 10000000 (--max-iterations) \
                   in main[0] of a.toml:1";
    for body in ["", "{ set = { x = \"rank\" } }", "{ compute = \"1 us\" }"] {
        let text = format!("main = [{{ repeat = \"10 ** 18\", do = [{body}] }}]");
        for limit in ["", "--max-time 1s", "--max-events 1000"] {
            applications(&[(&text, &format!("--nct 1,1,2 {limit}"), endless)]);
        }
    }
    let empty = "main = [{ repeat = \"10 ** 18\", do = [] }]";
    let computing = "main = [{ repeat = \"10 ** 18\", do = [{ compute = \"1 us\" }] }]";
    let barriers = "main = [{ repeat = \"10 ** 18\", do = [{ compute = \"1 us\" }, \"barrier\"] }]";
    let sending =
        "main = [{ while = \"true\", do = [{ send = { to = \"rank\", bytes = 0 } }, { recv = { from = \"rank\" } }] }]";
    let polling = "main = [{ while = \"true\", do = [{ iprobe = { from = \"any\", found_as = \"x\" } }] }]";
    let turns = "a rank executed 10000000 loop iterations without communication; allow more with --max-iterations";
    applications(&[
        (
            computing,
            "--nct 1,1,2 --max-turns 1000000000000000000 --max-time 1ms",
            "rank 0 at main[0].do[0] of a.toml:1 passed the virtual time of 1.000 ms that --max-time allows",
        ),
        (
            empty,
            "--nct 1,1,2 --max-turns 1000000000000000000 --max-events 1000",
            "more than 1000 events, as --max-events allows; virtual time 0 s reached",
        ),
        (
            barriers,
            "--nct 2,1,2 --max-time 1ms",
            "rank 0 at main[0].do[1] of a.toml:1 passed the virtual time of 1.000 ms that --max-time allows",
        ),
        (
            polling,
            "--nct 1,1,2 --max-time 10ms",
            "rank 0 at main[0].do[0] of a.toml:1 passed the virtual time of 10.00 ms that --max-time allows",
        ),
        (
            "main = [{ repeat = \"10 ** 18\", do = [{ irecv = { from = 0 } }] }]",
            "--nct 1,1,2 --max-requests 7",
            "rank 0 at main[0].do[0] of a.toml:1 has more than 7 outstanding requests, the most that --max-requests \
             allows: complete or free some, or allow more, each of which takes about 200 B",
        ),
        (
            "main = [{ while = \"true\", do = [] }]",
            "--nct 1,1,2",
            &format!("rank 0 at virtual time 0 s: main[0] of a.toml:1: {turns}"),
        ),
        (polling, "--nct 1,1,1", &format!("rank 0 at virtual time 1.000 s: main[0] of a.toml:1: {turns}")),
    ]);
    let directory = directory();
    for text in [barriers, sending] {
        write(directory.path(), "a.toml", text);
        let ran = run(directory.path(), "a.toml --nct 2,1,2 --max-events 100000");
        assert!(ran.stderr.starts_with("error: more than 100000 events, as --max-events allows; "), "{}", ran.stderr);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    }
}

#[test]
fn what_a_run_leaves_over_is_told_with_its_statement() {
    let directory = directory();
    let here = directory.path();
    let app = "main = [\n  { isend = { to = \"1 - rank\", bytes = 64, tag = 3, request = \"out\" } },\n  \
               { irecv = { from = \"1 - rank\" } },\n  { isend = { to = \"1 - rank\", bytes = 8 } },\n  \
               { if = \"rank == 1\", then = [\"waitall\"] },\n]\n";
    write(here, "a.toml", app);
    for workers in [1, 2] {
        let ran = run(here, &format!("a.toml --nct 2,1,1 --workers {workers}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let notes: Vec<&str> = ran.stdout.lines().skip_while(|line| !line.starts_with("  note: ")).take(6).collect();
        let expected = [
            "  note: 2 messages were sent but never received: from rank 0 to rank 1, tag 3,",
            "    64 B, by isend at a.toml:2; from rank 1 to rank 0, tag 3, 64 B, by isend at",
            "    a.toml:2",
            "  note: 1 rank ended without waiting for 1 request \"out\" of isend at a.toml:2",
            "  note: 1 rank ended without waiting for 1 request of irecv at a.toml:3",
            "  note: 1 rank ended without waiting for 1 request of isend at a.toml:4",
        ];
        assert_eq!(notes, expected, "{}", ran.stdout);
    }
    // Two statements of the application may have sent these messages.
    write(here, "a.toml", app.replace("tag = 3", "tag = 0").replace("bytes = 64", "bytes = \"8 + 0 * rank\""));
    let ran = run(here, "a.toml --nct 2,1,1");
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("never received: from rank 0 to rank 1, tag 0, 8 B; from rank 1"), "{said}");
}
