//! What a user reads who gives mcpsim something wrong: the exact text, exit code 2 (3 for a deadlock), nothing on stdout.
//!
//! Where the command line itself is wrong, a hint at `--help` follows the error's line.

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

/// The run says `error` and nothing else, and ends with code 2.
fn says(ran: &Ran, error: &str, what: &str) {
    let hint = "\n\nFor more information, try '--help'.";
    let said = ran.stderr.trim_end().trim_end_matches(hint);
    assert_eq!(said, format!("error: {error}"), "{what}");
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(2)), "{what}");
}

/// Each application `a.toml`, run with these arguments, is refused so.
fn applications(cases: &[(&str, &str, &str)]) {
    let directory = directory();
    let here = directory.path();
    for (text, line, error) in cases {
        write(here, "a.toml", text);
        says(&run(here, &format!("a.toml {line}")), error, &format!("{text} {line}"));
    }
}

/// An application that consists of one statement.
fn statements(cases: &[(&str, &str)]) {
    let directory = directory();
    let here = directory.path();
    for (statement, error) in cases {
        write(here, "a.toml", format!("main = [{statement}]\n"));
        says(&run(here, "a.toml --nct 1,1,2"), error, statement);
    }
}

/// Each command line is refused so, where `a.toml` does nothing and has a parameter `n`.
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
        ("{ snd = { to = 1, bytes = 8 } }", "unknown operation \"snd\", did you mean \"send\"? in main[0] of a.toml"),
        (
            "{ send = { to = 1, bites = 8 } }",
            "unknown key \"bites\", did you mean \"bytes\"? in main[0].send of a.toml",
        ),
        ("{ wait = \"x\" }", "no statement starts a request \"x\", waited for in main[0].wait of a.toml"),
        ("{ waitall = [\"x\"] }", "no statement starts a request \"x\", waited for in main[0].waitall[0] of a.toml"),
    ]);
    applications(&[
        ("mian = []", "", "unknown key \"mian\", did you mean \"main\"? in a.toml"),
        ("", "", "missing \"main\" (the statements each rank executes) in a.toml"),
        (
            "main = [{ barrier = { comm = \"od\" } }]\ncomms.odd = { split = \"rank % 2\" }",
            "",
            "unknown communicator \"od\", expected world or odd in main[0].barrier.comm of a.toml",
        ),
    ]);
}

#[test]
fn values_of_the_wrong_type_or_unit() {
    statements(&[
        (
            "{ send = { to = 1, bytes = \"8 s\" } }",
            "expected a size such as \"64 KiB\" in main[0].send.bytes of a.toml; found \"8 s\"",
        ),
        (
            "{ sendrecv = { to = 1, bytes = 8, from = 1, recv_bytes = \"1 ms\" } }",
            "expected a size such as \"64 KiB\" in main[0].sendrecv.recv_bytes of a.toml; found \"1 ms\"",
        ),
        (
            "{ bcast = { bytes = \"1 h\" } }",
            "expected a size such as \"64 KiB\" in main[0].bcast.bytes of a.toml; found \"1 h\"",
        ),
        (
            "{ compute = { bytes = \"3 s\" } }",
            "expected a size such as \"64 KiB\" in main[0].compute.bytes of a.toml; found \"3 s\"",
        ),
        ("{ compute = \"8 kB\" }", "expected a time such as \"1.2 us\" in main[0].compute of a.toml; found \"8 kB\""),
        (
            "{ compute = { time = \"8 B\" } }",
            "expected a time such as \"1.2 us\" in main[0].compute.time of a.toml; found \"8 B\"",
        ),
        (
            "{ compute = \"8 parsecs\" }",
            "\"8 parsecs\" in main[0].compute of a.toml, column 1: unknown unit \"parsecs\" after \"8\", expected one of \
             time or size such as us or KiB",
        ),
        (
            "{ send = { to = 1, bytes = true } }",
            "rank 0 at virtual time 0 s: main[0]: send.bytes = true: expected a size of at least 0 bytes; found true",
        ),
        (
            "{ compute = nan }",
            "expected a number or an expression such as \"2 * n\" in main[0].compute of a.toml; found nan",
        ),
        (
            "{ compute = -inf }",
            "expected a number or an expression such as \"2 * n\" in main[0].compute of a.toml; found -inf",
        ),
        ("{ compute = \"nan\" }", "\"nan\" in main[0].compute of a.toml, column 1: unknown name \"nan\""),
        ("{ compute = \"1e400 s\" }", "\"1e400 s\" in main[0].compute of a.toml, column 1: the number is out of range"),
    ]);
    // A product of a size and something else may well be a time.
    let directory = directory();
    write(directory.path(), "a.toml", "main = [{ compute = \"8 kB * 1e-9\" }, { barrier = {} }]\n");
    assert_eq!(run(directory.path(), "a.toml --nct 1,1,2").code, Some(0));
}

#[test]
fn expressions_that_have_no_value() {
    statements(&[
        ("{ compute = \"nn\" }", "\"nn\" in main[0].compute of a.toml, column 1: unknown name \"nn\""),
        ("{ compute = \"foo(1)\" }", "\"foo(1)\" in main[0].compute of a.toml, column 1: unknown function \"foo\""),
        ("{ compute = \"1 / 0\" }", "rank 0 at virtual time 0 s: main[0]: compute = \"1 / 0\": division by zero"),
        (
            "{ compute = \"1 // (rank - rank)\" }",
            "rank 0 at virtual time 0 s: main[0]: compute = \"1 // (rank - rank)\": division by zero",
        ),
        // Only rank 1 divides by zero.
        (
            "{ compute = \"1 % (rank - 1)\" }",
            "rank 1 at virtual time 0 s: main[0]: compute = \"1 % (rank - 1)\": division by zero",
        ),
        (
            "{ compute = \"sqrt(-1)\" }",
            "rank 0 at virtual time 0 s: main[0]: compute = \"sqrt(-1)\": sqrt(-1) is not defined",
        ),
        (
            "{ set = { x = \"log(0)\" } }",
            "rank 0 at virtual time 0 s: main[0]: set.x = \"log(0)\": log(0) is not defined",
        ),
        (
            "{ set = { x = \"randint(5, 1)\" } }",
            "rank 0 at virtual time 0 s: main[0]: set.x = \"randint(5, 1)\": randint needs a range that is not empty; \
             found 5 to 1",
        ),
        (
            "{ for = \"i\", to = 5.5, do = [] }",
            "rank 0 at virtual time 0 s: main[0]: to = 5.5: expected a whole number; found 5.5",
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
        let error = format!("rank 0 at virtual time 0 s: main[0]: set.x = \"{text}\": the result is out of range");
        statements(&[(&format!("{{ set = {{ x = \"{text}\" }} }}"), &error)]);
    }
    applications(&[
        ("main = []\nparams.a = \"b\"", "", "\"b\" in params.a of a.toml, column 1: unknown name \"b\""),
        ("main = []\nparams.a = 1", "--set app.a=foo", "\"foo\" in --set app.a=foo, column 1: unknown name \"foo\""),
        (
            "main = []\nparams.a = 1",
            "--set app.a=",
            "\"\" in --set app.a=, column 1: expected a number, a name or \"(\", found the end",
        ),
    ]);
}

#[test]
fn times_sizes_and_amounts_out_of_range() {
    statements(&[
        (
            "{ compute = \"-1 us\" }",
            "rank 0 at virtual time 0 s: main[0]: compute = \"-1 us\": expected a time from 0 to 213 days; found \
             -0.000001 s",
        ),
        (
            "{ compute = \"1e300 s\" }",
            "rank 0 at virtual time 0 s: main[0]: compute = \"1e300 s\": expected a time from 0 to 213 days; found 1e300 s",
        ),
        (
            "{ compute = { flops = \"1e300\" } }",
            "rank 0 at virtual time 0 s: main[0]: expected amounts of at least 0 that take less than 213 days; found \
             1e300 flops, 0 instructions, 0 bytes",
        ),
        (
            "{ compute = { flops = -1 } }",
            "rank 0 at virtual time 0 s: main[0]: expected amounts of at least 0 that take less than 213 days; found \
             -1 flops, 0 instructions, 0 bytes",
        ),
        (
            "{ send = { to = 1, bytes = -1 } }",
            "rank 0 at virtual time 0 s: main[0]: send.bytes = -1: expected a size of at least 0 bytes; found -1",
        ),
        (
            "{ send = { to = 1, bytes = 1, tag = -1 } }",
            "rank 0 at virtual time 0 s: main[0]: send.tag = -1: expected a tag from 0 to 2147483647; found -1",
        ),
        (
            "{ send = { to = 1, bytes = 1, tag = \"2 ** 31\" } }",
            "rank 0 at virtual time 0 s: main[0]: send.tag = \"2 ** 31\": expected a tag from 0 to 2147483647; found \
             2147483648",
        ),
        (
            "{ repeat = -1, do = [] }",
            "rank 0 at virtual time 0 s: main[0]: repeat = -1: expected a count of at least 0; found -1",
        ),
        (
            "{ for = \"i\", to = 5, step = 0, do = [] }",
            "rank 0 at virtual time 0 s: main[0]: step = 0: a step of 0 never ends",
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
            &past(0, "main[1]"),
        ),
        (
            "main = [{ send = { to = \"1 - rank\", bytes = \"2 ** 62\", mode = \"buffered\" } }, { recv = { from = \"1 - rank\" } }]",
            "--nct 2,1,1",
            &past(0, "main[1]"),
        ),
        (
            "main = [{ isend = { to = \"1 - rank\", bytes = \"2 ** 62\" } }, { recv = { from = \"1 - rank\" } }, \"waitall\"]",
            "--nct 2,1,1 --set platform.inter_node.law=fair",
            &past(0, "main[1]"),
        ),
        ("main = [{ compute = \"200 * 24 h\" }, { compute = \"200 * 24 h\" }]", "--nct 2,1,1", &past(0, "main[1]")),
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
            assert_eq!(rest, "main[0]: the virtual clock passed 213 days, the most it can hold\n", "{collective}");
        }
    }
}

#[test]
fn peers_roots_and_members_outside_the_communicator() {
    let outside = "is outside the communicator of 2 ranks: expected 0 to 1";
    statements(&[
        (
            "{ send = { to = \"rank + 1\", bytes = 8 } }",
            &format!("rank 1 at virtual time 0 s: main[0]: send.to = \"rank + 1\": peer 2 {outside}, or none"),
        ),
        (
            "{ send = { to = -2, bytes = 8 } }",
            &format!("rank 0 at virtual time 0 s: main[0]: send.to = -2: peer -2 {outside}, or none"),
        ),
        (
            "{ recv = { from = 7 } }",
            &format!("rank 0 at virtual time 0 s: main[0]: recv.from = 7: peer 7 {outside}, or none"),
        ),
        (
            "{ bcast = { bytes = 8, root = 7 } }",
            &format!("rank 0 at virtual time 0 s: main[0]: bcast.root = 7: root 7 {outside}"),
        ),
        (
            "{ send = { to = \"any\", bytes = 1 } }",
            "\"any\" in main[0].send.to of a.toml, column 1: \"any\" has a meaning only by itself, as the from or tag of a \
             receive",
        ),
        (
            "{ irecv = { from = 0, request = \"a\" } }, { irecv = { from = 0, request = \"a\" } }",
            "rank 0 at virtual time 0 s: main[1]: the request \"a\" is still outstanding; wait for it before starting it \
             again",
        ),
    ]);
    let odd = "comms.odd = { split = \"1 if rank % 2 == 1 else none\" }";
    let error = "rank 0 at virtual time 0 s: main[0]: this rank is in no group of the communicator \"odd\"";
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
                   in main[0] of a.toml";
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
    let turns =
        "10000000 iterations of loops without communication; a loop that is meant to take more needs --max-iterations";
    applications(&[
        (
            computing,
            "--nct 1,1,2 --max-turns 1000000000000000000 --max-time 1ms",
            "rank 0 at main[0].do[0] passed the virtual time of 1.000 ms that --max-time allows",
        ),
        (
            empty,
            "--nct 1,1,2 --max-turns 1000000000000000000 --max-events 1000",
            "more than 1000 events, as --max-events allows; virtual time 0 s reached",
        ),
        (
            barriers,
            "--nct 2,1,2 --max-time 1ms",
            "rank 0 at main[0].do[1] passed the virtual time of 1.000 ms that --max-time allows",
        ),
        (
            polling,
            "--nct 1,1,2 --max-time 10ms",
            "rank 0 at main[0].do[0] passed the virtual time of 10.00 ms that --max-time allows",
        ),
        (
            "main = [{ repeat = \"10 ** 18\", do = [{ irecv = { from = 0 } }] }]",
            "--nct 1,1,2 --max-requests 7",
            "rank 0 at main[0].do[0] has more than 7 outstanding requests, the most that --max-requests allows: \
             complete or free some, or allow more, each of which takes about 200 B",
        ),
        (
            "main = [{ while = \"true\", do = [] }]",
            "--nct 1,1,2",
            &format!("rank 0 at virtual time 0 s: main[0]: {turns}"),
        ),
        (polling, "--nct 1,1,1", &format!("rank 0 at virtual time 1.000 s: main[0]: {turns}")),
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
fn machines_that_cannot_be() {
    let three = |text: &str| {
        format!(
            "invalid value '{text}' for '--nct <N,C,T>': expected three whole numbers above zero such as 4,2,2; found \
             \"{text}\""
        )
    };
    for text in ["0,1,1", "4,2", "4,0,2", "4,2,2,2", "4,2,x", "4,2,1.5", "NaN,1,1"] {
        lines(&[(&format!("--nct {text} a.toml"), &three(text))]);
    }
    for text in ["4294967295,1,1", "65536,65536,2", "4294967296,1,1", "99999999999,99999999999,1", "1,1,16777217"] {
        let error = format!(
            "invalid value '{text}' for '--nct <N,C,T>': expected at most 16777216 cores in all; found \"{text}\""
        );
        lines(&[(&format!("--nct {text} a.toml"), &error), (&format!("--nct {text} --ranks 2 a.toml"), &error)]);
    }
    lines(&[
        ("a.toml --nct 1,1,4 --ranks 5", "5 ranks on 4 cores: give fewer --ranks, a larger --nct, or --oversubscribe"),
        ("a.toml --ranks 0", "invalid value '0' for '--ranks <P>': expected a whole number above zero; found 0"),
        ("a.toml --ranks 4294967295 --oversubscribe", "4294967295 ranks: expected at most 16777216"),
        (
            "a.toml --set run.ranks=0",
            "expected a whole number above zero that is not too large in --set run.ranks=0; found 0",
        ),
        (
            "a.toml --set run.nct=1,2",
            "expected three whole numbers above zero such as [4, 2, 2] in --set run.nct=1,2; found \"1,2\"",
        ),
    ]);
}

#[test]
fn platform_files_and_overrides() {
    const MACHINE: &str = "name = \"p\"\nnct = [2, 1, 2]\n\
        [core]\nflops = \"1 Gflop/s\"\ninstructions = \"1 Ginstr/s\"\nmemory_bandwidth = \"1 GB/s\"\n\
        [intra_cmp]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n[inter_cmp]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n\
        [inter_node]\n";
    let directory = directory();
    let here = directory.path();
    write(here, "a.toml", "main = []");
    let bandwidth = "a bandwidth above zero such as \"12.5 GB/s\"";
    for (text, error) in [
        (
            "interval = [{ up_to = \"1 KiB\", latency = \"1 us\", bandwidth = \"1 GB/s\" }]",
            "expected no \"up_to\" in the last interval, which holds all greater sizes, in inter_node.interval[0].up_to of \
             p.toml; found 1 KiB",
        ),
        (
            "interval = [{ above = 8, latency = \"1 us\", bandwidth = \"1 GB/s\" }]",
            "expected 0 B, where the first interval starts, in inter_node.interval[0].above of p.toml; found 8 B",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ninterval = [{ up_to = 8 }, { above = 10 }]",
            "expected 8 B, where inter_node.interval[0] ends, in inter_node.interval[1].above of p.toml; found 10 B, which \
             leaves a gap",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ninterval = [{ up_to = 8 }, { above = 4 }]",
            "expected 8 B, where inter_node.interval[0] ends, in inter_node.interval[1].above of p.toml; found 4 B, which \
             leaves an overlap",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ninterval = [{ up_to = 8 }, { up_to = 8 }, {}]",
            "expected a size above 8 B, where inter_node.interval[0] ends, in inter_node.interval[1].up_to of p.toml; \
             found 8 B",
        ),
        ("latency = \"1 us\"", &format!("expected \"bandwidth\" in inter_node of p.toml, {bandwidth}; found none")),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB\"",
            &format!("expected {bandwidth} in inter_node.bandwidth of p.toml; found \"1 GB\""),
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"-1 GB/s\"",
            &format!("expected {bandwidth} in inter_node.bandwidth of p.toml; found \"-1 GB/s\""),
        ),
        (
            "latency = \"1 us\"\nbandwidth = 0",
            &format!("expected {bandwidth} in inter_node.bandwidth of p.toml; found 0"),
        ),
        (
            "latency = 7\nbandwidth = \"1 GB/s\"",
            "expected a time such as \"1.2 us\" in inter_node.latency of p.toml; found 7",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\nlaw = \"even\"",
            "expected one of \"ideal\", \"share\", \"queue\", \"measured\", \"fair\" in inter_node.law of p.toml; found \"even\"",
        ),
        (
            "latency = \"1 us\"\nbandwith = \"1 GB/s\"",
            "unknown field \"bandwith\" in inter_node.bandwith of p.toml, did you mean \"bandwidth\"?",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\n[collectives]\nbcast = [{ algorithm = \"ring\" }]",
            "collectives.bcast[0] of platform p: algorithm \"ring\" does not suit bcast: expected one of binomial, \
             scatter_allgather, linear, chain, pipeline, chains, binary, split_binary, knomial, scatter_ring",
        ),
    ] {
        write(here, "p.toml", format!("{MACHINE}{text}\n"));
        let ran = run(here, "a.toml --platform p.toml");
        says(&ran, error, text);
    }
    let rate = "a rate of at least 1/s such as \"8 Gflop/s\"";
    let time = "a time such as \"1.2 us\"";
    let factor = "a number above zero such as 1.5";
    for (set, expected, found) in [
        ("inter_node.latency=-1us", time, "\"-1us\""),
        ("inter_node.latency=1kB", time, "\"1kB\""),
        ("inter_node.latency=inf", time, "inf"),
        ("inter_node.latency=NaNus", time, "\"NaNus\""),
        ("inter_node.bandwidth=0", bandwidth, "0"),
        ("inter_node.bandwidth=-5GB/s", bandwidth, "\"-5GB/s\""),
        ("inter_node.bandwidth=infGB/s", bandwidth, "\"infGB/s\""),
        ("inter_node.bandwidth=nan", bandwidth, "NaN"),
        ("core.flops=nan", rate, "NaN"),
        ("core.flops=0", rate, "0"),
        ("core.flops=1e999Gflop/s", rate, "\"1e999Gflop/s\""),
        ("core.scale_factor=-1", factor, "-1"),
        ("core.scale_factor=nan", factor, "NaN"),
    ] {
        let error = format!("expected {expected} in --set platform.{set}; found {found}");
        says(&run(here, &format!("a.toml --set platform.{set}")), &error, set);
    }
}

#[test]
fn options() {
    let key = "a key such as platform.inter_node.latency, app.n or run.seed";
    lines(&[
        ("a.toml --set app", &format!("--set app: no \"=\", expected KEY=VALUE with {key}")),
        ("a.toml --set =1", &format!("--set =1: not a dotted key, expected KEY=VALUE with {key}")),
        ("a.toml --set app.b=1", "--set app.b=1: a.toml has no parameter \"b\", expected n"),
        ("a.toml --max-time -1us", "invalid value '-1us' for '--max-time <TIME>': expected a time such as \"1.2 us\""),
        ("a.toml --max-time 5", "invalid value '5' for '--max-time <TIME>': expected a time such as \"1.2 us\""),
        ("a.toml --max-time nan", "invalid value 'nan' for '--max-time <TIME>': expected a time such as \"1.2 us\""),
        (
            "a.toml --max-events 0",
            "invalid value '0' for '--max-events <N>': expected a whole number above zero; found 0",
        ),
        (
            "a.toml --max-events -1",
            "invalid value '-1' for '--max-events <N>': expected a whole number above zero; found -1",
        ),
        (
            "a.toml --max-iterations 0",
            "invalid value '0' for '--max-iterations <N>': expected a whole number above zero; found 0",
        ),
        ("a.toml --workers 0", "invalid value '0' for '--workers <W>': expected a whole number above zero; found 0"),
        (
            "a.toml --intervals 5,5",
            "invalid value '5,5' for '--intervals <SIZES>': expected sizes in increasing order, at most 1000, such as \
             256,4KiB,64KiB",
        ),
        (
            "a.toml b.toml",
            "unexpected argument \"b.toml\": the described application a.toml takes none, change its keys with --set \
             app.KEY=VALUE",
        ),
        ("a.toml --nct", "a value is required for '--nct <N,C,T>' but none was supplied"),
    ]);
    // As many workers as anybody wants, of which a machine uses no more than it has nodes.
    let directory = directory();
    write(directory.path(), "a.toml", "main = [\"barrier\"]");
    let ran = run(directory.path(), "a.toml --nct 4,1,1 --workers 4294967295 --quiet");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn files_that_cannot_be_read() {
    lines(&[
        ("none.toml", "none.toml: no such file"),
        ("a.toml/b.toml", "a.toml/b.toml: Not a directory (os error 20)"),
        ("dir", "dir: is a directory, expected a file"),
        ("binary", "binary: expected a program built by mcpsim cc for x86-64; found a file of another byte order"),
        ("empty", "missing \"main\" (the statements each rank executes) in empty"),
        ("a.toml --platform none.toml", "none.toml: no such file"),
        ("a.toml --platform dir", "dir: is a directory, expected a file"),
        ("a.toml --platform binary", "binary: not a text file, expected TOML in UTF-8"),
        ("a.toml --platform empty", "missing field \"name\" in empty"),
        ("a.toml --placement none", "expected block, cyclic, socket or a file in --placement; no such file: none"),
        ("a.toml --placement dir", "dir: is a directory, expected a file"),
        ("a.toml --placement binary", "binary: not a text file, expected plain text"),
        ("a.toml --placement empty", "empty: expected a line \"node cmp core\" for each rank; found none"),
        (
            "a.toml --ranks 2 --placement words",
            "words:2: expected a rank's node, CMP and core, numbered from 0, such as \"0 1 3\"; found \"x\"",
        ),
        (
            "a.toml --ranks 2 --placement twice",
            "rank 1 is placed on node 0, CMP 0, core 0, which is taken: allow it with --oversubscribe",
        ),
        (
            "a.toml --ranks 2 --placement beyond",
            "rank 1 is placed on node 0, CMP 9, core 9, which a (16, 2, 16) machine does not have",
        ),
    ]);
}

#[test]
fn results_that_cannot_be_written() {
    let full = "cannot write /dev/full: No space left on device (os error 28)";
    lines(&[
        ("a.toml --quiet --json /dev/full", full),
        ("a.toml --quiet --profile /dev/full", full),
        ("a.toml --json dir", "--json dir: is a directory, expected a file to write"),
        ("a.toml --profile dir", "--profile dir: is a directory, expected a file to write"),
        ("a.toml --json none/x.json", "--json none/x.json: no such directory as none"),
        ("a.toml --json a.toml/x.json", "--json a.toml/x.json: no such directory as a.toml"),
    ]);
}

/// Files that nobody writes by hand end with an error too, neither with a crash nor with an endless line.
#[test]
fn files_made_to_break_things() {
    let directory = directory();
    let here = directory.path();
    let deep = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let expression = |text: &str| format!("main = [{{ compute = \"{text}\" }}]\n");
    let conditions = |depth| format!("main = [{}]", deep("{ if = \"true\", then = [", "", "]}", depth));
    let n = 100_000;
    let mut keys = String::from("main = []\n[params]\n");
    for i in 0..n {
        writeln!(keys, "a{i} = \"a{}\"", i + 1).unwrap();
    }
    let long = "longer than 1000 numbers, names and operators";
    let cases = [
        ("[".repeat(10_000_000), "not TOML"),
        (format!("a = {}", "[".repeat(1_000_000)), "a.toml:1:85: not TOML: cannot recurse further"),
        (format!("a = {}", "{".repeat(1_000_000)), "not TOML"),
        (format!("a = {}", "{ a = ".repeat(100_000)), "not TOML: cannot recurse further"),
        (format!("a{} = 1", ".a".repeat(20_000)), "not TOML: recursion limit"),
        (format!("[a{}]", ".a".repeat(20_000)), "not TOML: recursion limit"),
        (conditions(30), "statements nested more than 30 deep in main[0].then[0]"),
        (conditions(300), "not TOML: cannot recurse further"),
        (expression(&deep("(", "1", ")", n)), long),
        (expression(&deep("(", "1", ")", 101)), "nested more than 100 deep"),
        (expression(&deep("abs(", "1", ")", n)), long),
        (expression(&deep("-", "1", "", n)), long),
        (expression(&deep("not ", "true", "", n)), long),
        (expression(&deep("1 + ", "1", "", n)), long),
        (expression(&deep("1 ** ", "1", "", n)), long),
        (expression(&deep("1 if true else ", "1", "", n)), long),
        (expression(&format!("min({} 1)", "1, ".repeat(n))), long),
        (expression(&"9".repeat(n)), "is out of range"),
        (expression(&"x".repeat(n)), "unknown name \"xxxx"),
        (format!("main = [{{ send = {{ to = 1, {} = 1 }} }}]", "y".repeat(n)), "unknown key \"yyyy"),
        (format!("main = [\"{}\"]", "z".repeat(n)), "zzzz"),
        (keys, "unknown name \"a1\""),
    ];
    for (text, error) in cases {
        let start = &text[..text.len().min(40)];
        write(here, "a.toml", &text);
        let ran = run(here, "a.toml --nct 1,1,2");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{start}: {}", ran.stderr);
        let cut = ran.stderr.contains(error) || error.starts_with("is out") && ran.stderr.ends_with("…\n");
        assert!(ran.stderr.starts_with("error: ") && cut, "{start}: {}", ran.stderr);
        assert_eq!((ran.stderr.lines().count(), ran.stderr.len() < 4100), (1, true), "{start}: {}", ran.stderr);
    }
    // As deep and as long as is allowed.
    write(here, "a.toml", conditions(29));
    assert_eq!(run(here, "a.toml --nct 1,1,2").code, Some(0));
    write(here, "a.toml", expression(&deep("(", "0", ")", 99)));
    assert_eq!(run(here, "a.toml --nct 1,1,2").code, Some(0));
}

#[test]
fn arguments_that_are_not_utf_8() {
    let directory = directory();
    let here = directory.path();
    write(here, "a.toml", "main = []");
    let raw = OsStr::from_bytes;
    for (arguments, error) in [
        (vec![raw(b"\xff.toml")], "\u{fffd}.toml: no such file"),
        (vec![raw(b"a.toml"), raw(b"--platform"), raw(b"\xff")], "\u{fffd}: no such file"),
        (
            vec![raw(b"a.toml"), raw(b"--placement"), raw(b"\xff")],
            "expected block, cyclic, socket or a file in --placement; no such file: \u{fffd}",
        ),
        (vec![raw(b"a.toml"), raw(b"--json"), raw(b"\xff/x")], "--json \u{fffd}/x: no such directory as \u{fffd}"),
        (vec![raw(b"a.toml"), raw(b"--nct"), raw(b"\xff")], "invalid UTF-8 was detected in one or more arguments"),
        (
            vec![raw(b"a.toml"), raw(b"--set"), raw(b"app.n=\xff")],
            "invalid UTF-8 was detected in one or more arguments",
        ),
    ] {
        let ran = finish(mcpsim(here).args(&arguments).output().unwrap());
        assert_eq!(ran.stderr.lines().next(), Some(format!("error: {error}").as_str()));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
    }
}

#[test]
fn deadlocks_show_who_waits_for_whom() {
    let directory = directory();
    let here = directory.path();
    let title = "error: deadlock: 2 ranks wait and nobody can go on (0 finished)\n";
    for (text, table) in [
        (
            "main = [{ recv = { from = \"rank\" } }]",
            "  rank  waits in  since  for                           at\n     \
             0  recv        0 s  a message from rank 0, tag 0  main[0]\n     \
             1  recv        0 s  a message from rank 1, tag 0  main[0]\n  \
             cycle: rank 0 -> 0\n",
        ),
        (
            "main = [{ recv = { from = \"any\" } }]",
            "  rank  waits in  since  for                             at\n     \
             0  recv        0 s  a message from any rank, tag 0  main[0]\n     \
             1  recv        0 s  a message from any rank, tag 0  main[0]\n",
        ),
        (
            "main = [{ irecv = { from = \"1 - rank\", request = \"a\" } }, { wait = \"a\" }]",
            "  rank  waits in  since  for                           at\n     \
             0  wait        0 s  a message from rank 1, tag 0  main[1]\n     \
             1  wait        0 s  a message from rank 0, tag 0  main[1]\n  \
             cycle: rank 0 -> 1 -> 0\n",
        ),
        // Too long to be sent without a receiver.
        (
            "main = [{ send = { to = \"1 - rank\", bytes = \"1 MiB\" } }, { recv = { from = \"1 - rank\" } }]",
            "  rank  waits in     since  for                             at\n     \
             0  send      100.0 ns  rank 1 to receive 1 MiB, tag 0  main[0]\n     \
             1  send      100.0 ns  rank 0 to receive 1 MiB, tag 0  main[0]\n  \
             cycle: rank 0 -> 1 -> 0\n",
        ),
        (
            "main = [{ if = \"rank == 0\", then = [{ bcast = { bytes = 8, root = 1 } }], else = [{ reduce = { bytes = 8, root = 1 } }] }]",
            "  rank  waits in       since  for                           at\n     \
             0  MPI_Bcast        0 s  a message from rank 1, tag 1  main[0].then[0]\n     \
             1  MPI_Reduce  1.333 ns  a message from rank 0, tag 2  main[0].else[0]\n  \
             cycle: rank 0 -> 1 -> 0\n",
        ),
    ] {
        write(here, "a.toml", text);
        let ran = run(here, "a.toml --nct 1,1,2");
        assert_eq!(ran.stderr, format!("{title}{table}"), "{text}");
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(3)), "{text}");
    }
}
