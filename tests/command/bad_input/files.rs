//! Error messages for invalid machines, options, files and arguments.

use super::*;

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
    let bandwidth = "a bandwidth above zero such as \"12.5 GB/s\" or \"100 Gbit/s\"";
    for (text, error) in [
        (
            "interval = [{ up_to = \"1 KiB\", latency = \"1 us\", bandwidth = \"1 GB/s\" }]",
            "expected no \"up_to\" in the last interval, which holds all greater sizes, in inter_node.interval[0].up_to of \
             p.toml:14; found 1 KiB",
        ),
        (
            "interval = [{ above = 8, latency = \"1 us\", bandwidth = \"1 GB/s\" }]",
            "expected 0 B, where the first interval starts, in inter_node.interval[0].above of p.toml:14; found 8 B",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ninterval = [{ up_to = 8 }, { above = 10 }]",
            "expected 8 B, where inter_node.interval[0] ends, in inter_node.interval[1].above of p.toml:16; found \
             10 B, which leaves a gap",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ninterval = [{ up_to = 8 }, { above = 4 }]",
            "expected 8 B, where inter_node.interval[0] ends, in inter_node.interval[1].above of p.toml:16; found \
             4 B, which leaves an overlap",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ninterval = [{ up_to = 8 }, { up_to = 8 }, {}]",
            "expected a size above 8 B, where inter_node.interval[0] ends, in inter_node.interval[1].up_to of \
             p.toml:16; found 8 B",
        ),
        ("latency = \"1 us\"", &format!("expected \"bandwidth\" in inter_node of p.toml:13, {bandwidth}; found none")),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB\"",
            &format!("expected {bandwidth} in inter_node.bandwidth of p.toml:15; found \"1 GB\""),
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"-1 GB/s\"",
            &format!("expected {bandwidth} in inter_node.bandwidth of p.toml:15; found \"-1 GB/s\""),
        ),
        (
            "latency = \"1 us\"\nbandwidth = 0",
            &format!("expected {bandwidth} in inter_node.bandwidth of p.toml:15; found 0"),
        ),
        (
            "latency = 7\nbandwidth = \"1 GB/s\"",
            "expected a time such as \"1.2 us\" in inter_node.latency of p.toml:14; found 7",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ncontention = \"even\"",
            "expected one of \"ideal\", \"share\", \"queue\", \"measured\", \"fair\" in inter_node.contention of \
             p.toml:16; found \"even\"",
        ),
        (
            "latency = \"1 us\"\nbandwith = \"1 GB/s\"",
            "unknown field \"bandwith\" in inter_node.bandwith of p.toml:15, did you mean \"bandwidth\"?",
        ),
        (
            "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\n[collectives]\nbcast = [{ algorithm = \"ring\" }]",
            "collectives.bcast[0] of platform p: algorithm \"ring\" does not suit bcast: expected one of binomial, \
             scatter_allgather, linear, chain, pipeline, chains, binary, split_binary, knomial, scatter_ring, node_aware",
        ),
    ] {
        write(here, "p.toml", format!("{MACHINE}{text}\n"));
        let ran = run(here, "a.toml --platform p.toml");
        says(&ran, error, text);
    }
    // In a complete configuration, errors have the line numbers of the configuration file.
    write(here, "p.toml", format!("{MACHINE}latency = \"1 us\"\nbandwidth = \"1 GB/s\"\n"));
    let whole = run(here, "a.toml --platform p.toml --show-config").stdout;
    let line = whole.lines().position(|line| line.starts_with("flops")).unwrap() + 1;
    write(here, "w.toml", whole.replacen("flops = \"1 Gflop/s\"", "flops = 7", 1));
    let ran = run(here, "w.toml");
    let said = format!("in core.flops of w.toml, table platform:{line}; found 7\n");
    assert!(ran.stderr.ends_with(&said), "{said} {}", ran.stderr);
    let rate = "a rate of at least 1/s such as \"8 Gflop/s\"";
    let time = "a time such as \"1.2 us\"";
    let scale = "\"auto\" or a number above zero such as 1.5";
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
        ("core.scale_factor=-1", scale, "-1"),
        ("core.scale_factor=nan", scale, "NaN"),
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
            "unexpected argument \"b.toml\": the described application a.toml has no arguments; change its keys \
             with --set app.KEY=VALUE",
        ),
        ("a.toml --nct", "a value is required for '--nct <N,C,T>' but none was supplied"),
    ]);
    // The number of nodes, not the option, limits the number of workers.
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
        ("a.toml --platform binary", "binary is a program in machine code: give it as the application: mcpsim binary"),
        ("a.toml --platform empty", "missing field \"name\" in empty"),
        ("a.toml --placement none", "expected block, cyclic, socket or a file in --placement; no such file: none"),
        ("a.toml --placement dir", "dir: is a directory, expected a file"),
        ("a.toml --placement binary", "binary is a program in machine code: give it as the application: mcpsim binary"),
        ("a.toml --placement empty", "empty: expected a line \"node cmp core\" for each rank; found none"),
        (
            "a.toml --ranks 2 --placement words",
            "words:2: expected a rank's node, CMP and core, numbered from 0, such as \"0 1 3\"; found \"x\"",
        ),
        (
            "a.toml --ranks 2 --placement twice",
            "rank 1 is placed on node 0, CMP 0, core 0, which another rank has: allow several ranks per core with \
             --oversubscribe",
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
        ("a.toml --json none/x.json", "--json none/x.json: no such directory: none"),
        ("a.toml --json a.toml/x.json", "--json a.toml/x.json: no such directory: a.toml"),
    ]);
}

/// Extreme files cause an error message of limited length, not a crash.
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
    // This application has the greatest permitted depth and length.
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
        (vec![raw(b"a.toml"), raw(b"--json"), raw(b"\xff/x")], "--json \u{fffd}/x: no such directory: \u{fffd}"),
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
    let title = "error: deadlock: 2 ranks wait and no rank can continue (0 finished)\n";
    for (text, table) in [
        (
            "main = [{ recv = { from = \"rank\" } }]",
            "  rank  waits in  since  for                           at\n     \
             0  recv        0 s  a message from rank 0, tag 0  main[0] of a.toml:1\n     \
             1  recv        0 s  a message from rank 1, tag 0  main[0] of a.toml:1\n  \
             cycle: rank 0 -> 0\n",
        ),
        (
            "main = [{ recv = { from = \"any\" } }]",
            "  rank  waits in  since  for                             at\n     \
             0  recv        0 s  a message from any rank, tag 0  main[0] of a.toml:1\n     \
             1  recv        0 s  a message from any rank, tag 0  main[0] of a.toml:1\n",
        ),
        (
            "main = [{ irecv = { from = \"1 - rank\", request = \"a\" } }, { wait = \"a\" }]",
            "  rank  waits in  since  for                           at\n     \
             0  wait        0 s  a message from rank 1, tag 0  main[1] of a.toml:1\n     \
             1  wait        0 s  a message from rank 0, tag 0  main[1] of a.toml:1\n  \
             cycle: rank 0 -> 1 -> 0\n",
        ),
        // The message is longer than the eager threshold, so its send waits for a receive.
        (
            "main = [{ send = { to = \"1 - rank\", bytes = \"1 MiB\" } }, { recv = { from = \"1 - rank\" } }]",
            "  rank  waits in     since  for                             at\n     \
             0  send      100.0 ns  rank 1 to receive 1 MiB, tag 0  main[0] of a.toml:1\n     \
             1  send      100.0 ns  rank 0 to receive 1 MiB, tag 0  main[0] of a.toml:1\n  \
             cycle: rank 0 -> 1 -> 0\n",
        ),
        (
            "main = [{ if = \"rank == 0\", then = [{ bcast = { bytes = 8, root = 1 } }], else = [{ reduce = { bytes = 8, root = 1 } }] }]",
            "  rank  waits in   since  for\n     \
             0  bcast        0 s  a message from rank 1, tag 1\n     \
             1  reduce    800 ps  a message from rank 0, tag 2\n\n  \
             rank  at\n     \
             0  main[0].then[0] of a.toml:1\n     \
             1  main[0].else[0] of a.toml:1\n  \
             cycle: rank 0 -> 1 -> 0\n",
        ),
    ] {
        write(here, "a.toml", text);
        let ran = run(here, "a.toml --nct 1,1,2");
        assert_eq!(ran.stderr, format!("{title}{table}"), "{text}");
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(3)), "{text}");
    }
}
