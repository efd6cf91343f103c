//! Checks the exact text of each error in an application file that a user can cause.

use super::driver::{calls, load, load_with, target};

/// Error text of an application whose `main` is `statements`.
fn wrong(statements: &str) -> String {
    wrong_file(&format!("main = [{statements}]"))
}

fn wrong_file(text: &str) -> String {
    load(text).and_then(|app| app.bind(target(8))).map(|_| ()).unwrap_err().to_string()
}

/// Error text of rank 0 of 8 ranks when the rank executes `statements`.
fn fails(statements: &str) -> String {
    let log = calls(&format!("main = [{statements}]"), 0, 8);
    log.last().unwrap().strip_prefix("fail ").unwrap_or("no failure").to_owned()
}

#[test]
fn unknown_words_are_named_with_their_place() {
    for (statements, expected) in [
        (r#"{ sned = { to = 1 } }"#, r#"unknown operation "sned", did you mean "send"? in main[0] of app.toml:1"#),
        (r#""exchange""#, r#"unknown procedure or operation "exchange" in main[0] of app.toml:1"#),
        (r#""bcast""#, r#""bcast" needs its arguments, expected { bcast = … } in main[0] of app.toml:1"#),
        (
            r#""barrier", { send = { to = 1, size = 8 } }"#,
            r#"unknown key "size", expected to, bytes, tag, comm or mode in main[1].send of app.toml:1"#,
        ),
        (r#"{ send = { to = 1 } }"#, r#"missing "bytes" (a size) in main[0].send of app.toml:1"#),
        (
            r#"{ repeat = 2, do = [{ send = { to = "rank + * 2", bytes = 8 } }] }"#,
            r#""rank + * 2" in main[0].do[0].send.to of app.toml:1, character 8: expected a number, a name or "(", found "*""#,
        ),
        (
            r#"{ send = { to = [1], bytes = 8 } }"#,
            r#"expected a number or an expression such as "2 * n" in main[0].send.to of app.toml:1; found an array"#,
        ),
        (r#"{ send = 1 }"#, r#"expected a table of send's arguments in main[0].send of app.toml:1; found 1"#),
        (
            r#"{ send = { to = 1, bytes = 8, mode = "fast" } }"#,
            r#"expected "standard", "synchronous" or "buffered" in main[0].send.mode of app.toml:1; found "fast""#,
        ),
        (
            r#"{ send = { to = 1, bytes = 8, comm = "row" } }"#,
            r#"unknown communicator "row", expected world in main[0].send.comm of app.toml:1"#,
        ),
        (
            r#"{ bcast = { bytes = 8, algorithm = "magic" } }"#,
            "expected one of \"linear\", \"linear_sync\", \"chain\", \"pipeline\", \"chains\", \"binary\", \
             \"split_binary\", \"in_order_binary\", \"binomial\", \"knomial\", \"dissemination\", \
             \"double_ring\", \"recursive_doubling\", \"recursive_halving\", \"butterfly\", \"ring\", \
             \"segmented_ring\", \"neighbor_exchange\", \"bruck\", \"pairwise\", \"two_procs\", \
             \"rabenseifner\", \"scatter_allgather\", \"scatter_ring\", \"nonoverlapping\", \"node_aware\" \
             in main[0].bcast.algorithm of app.toml; found \"magic\"",
        ),
        (
            r#"{ barrier = { bytes = 8 } }"#,
            r#"unknown key "bytes", expected comm or algorithm in main[0].barrier of app.toml:1"#,
        ),
        (
            r#"{ wait = "r" }"#,
            r#"no statement starts the request "r", which is waited for in main[0].wait of app.toml:1"#,
        ),
        (
            r#"{ barrier = {}, send = {} }"#,
            r#"expected one operation per statement, found "barrier" and "send" in main[0] of app.toml:1"#,
        ),
        (r#"{}"#, r#"expected a statement, found {} in main[0] of app.toml:1"#),
        (
            r#"7"#,
            r#"expected a statement such as "barrier" or { send = { to = 1, bytes = 8 } } in main[0] of app.toml:1; found 7"#,
        ),
        (r#"{ repeat = 2 }"#, r#"missing "do" (the statements to repeat) in main[0] of app.toml:1"#),
        (
            r#"{ for = "i", to = 2, do = [{ set = { i = 1 } }] }"#,
            r#""i" is a name of [let] or set elsewhere, choose another name in main[0].for of app.toml:1"#,
        ),
        (
            r#"{ for = "i", to = 2, do = [{ for = "i", to = 2, do = [] }] }"#,
            r#""i" is a loop variable or parameter around this, choose another name in main[0].do[0].for of app.toml:1"#,
        ),
        (
            r#"{ set = { rank = 1 } }"#,
            r#""rank" has a fixed meaning, choose another name in main[0].set.rank of app.toml:1"#,
        ),
        (
            r#"{ recv = { from = 0, source_as = "2x" } }"#,
            r#""2x" is no name, expected letters, digits and "_", beginning with a letter in main[0].recv.source_as of app.toml:1"#,
        ),
        (
            r#"{ compute = { time = 1, working_set = 2 } }"#,
            "expected an amount of work (flops, bytes, instructions) with a working_set in \
             main[0].compute.working_set of app.toml:1",
        ),
        (
            r#"{ compute = { time = 1, flops = 2 } }"#,
            "expected one of time, an amount of work (flops, bytes, instructions) or a distribution in main[0].compute of app.toml:1",
        ),
        (
            r#"{ compute = { normal = { mean = 1 } } }"#,
            r#"missing "sd" (a parameter of the distribution) in main[0].compute.normal of app.toml:1"#,
        ),
        (
            r#"{ test = { request = "a", requests = [] } }"#,
            "expected request or requests, found both in main[0].test of app.toml:1",
        ),
        (
            r#"{ repeat = 2000, do = [{ compute = 1 }] }"#,
            "a loop takes 2000 iterations without communication, expected at most 1000 (--max-iterations) in main[0] of app.toml:1",
        ),
        (
            r#"{ for = "i", to = 10000, step = 4, do = [] }"#,
            "a loop takes 2500 iterations without communication, expected at most 1000 (--max-iterations) in main[0] of app.toml:1",
        ),
    ] {
        assert_eq!(wrong(statements), expected, "{statements}");
    }
    let deep = format!("{}{}", "{ repeat = 1, do = [".repeat(35), "] }".repeat(35));
    assert!(wrong(&deep).starts_with("statements nested more than 30 deep in main[0].do[0]"), "{}", wrong(&deep));
}

#[test]
fn what_is_wrong_with_the_file_is_named() {
    for (text, expected) in [
        ("mian = []", r#"unknown key "mian", did you mean "main"? in app.toml"#),
        ("name = 'x'", r#"missing "main" (the statements each rank executes) in app.toml"#),
        ("[params]\nn = 1\nmain = []", r#""main" is inside [params] of app.toml, but must precede the first [table]"#),
        ("main = 1", "expected an array of statements in main of app.toml; found 1"),
        ("name = 1\nmain = []", "expected a name in name of app.toml; found 1"),
        ("main = []\n[params]\nn = 'm'\nm = 1", r#""m" in params.n of app.toml, character 1: unknown name "m""#),
        (
            "main = []\n[params]\nn = 'rank'",
            r#""rank" in params.n of app.toml, character 1: "rank" is not known where parameters are defined"#,
        ),
        ("main = []\n[params]\nn = '1 / 0'", "expected a value in params.n of app.toml; found division by zero"),
        (
            "main = []\n[params]\nsize = 1",
            r#""size" has a fixed meaning, choose another name in params.size of app.toml"#,
        ),
        ("main = []\n[params]\nn = 1\n[let]\nn = 2", r#""n" is a parameter, choose another name in let.n of app.toml"#),
        ("main = []\n[let]\na = 'b'\nb = 1", r#""b" in let.a of app.toml, character 1: unknown name "b""#),
        (
            "main = []\n[grids]\ng = { dims = [3, 2] }",
            "expected extents that multiply to the number of ranks, 8 (0 lets mcpsim choose) in grids.g.dims of app.toml; found [3, 2]",
        ),
        (
            "main = []\n[grids]\ng = { dims = [3, 0] }",
            "expected extents that divide the number of ranks, 8 (0 lets mcpsim choose) in grids.g.dims of app.toml; found [3, 0]",
        ),
        (
            "main = []\n[grids]\ng = { dims = ['rank'] }",
            r#""rank" in grids.g.dims[0] of app.toml:3, character 1: "rank" is not known where grids are defined"#,
        ),
        (
            "main = []\n[grids]\ng = { dims = [-1] }",
            "expected an extent of at least 0 in grids.g.dims[0] of app.toml:3; found -1",
        ),
        (
            "main = []\n[grids]\ng = { dims = [0, 0], periodic = [true] }",
            "expected true, false or one of these for each of 2 dimensions in grids.g.periodic of app.toml; found 1 values",
        ),
        (
            "main = []\n[comms]\nc = { split = '1 / (rank - 3)' }",
            r#"comms.c.split = "1 / (rank - 3)": expected a whole number; found -0.3333333333333333, for rank 0, in comms.c of app.toml"#,
        ),
        (
            "main = []\n[comms]\nc = { split = 'random()' }",
            r#""random()" in comms.c.split of app.toml, character 1: random numbers differ from rank to rank and can be used only in [let] and statements"#,
        ),
        (
            "main = []\n[comms]\nc = { grid = 'g', keep = [] }",
            r#"unknown grid "g", there are no [grids] in comms.c.grid of app.toml"#,
        ),
        (
            "main = []\n[procedures]\na = ['b']\nb = ['c']\nc = ['b']",
            "procedures call each other in a cycle: b → c → b in procedures of app.toml",
        ),
        (
            "main = []\n[procedures]\nsend = []",
            r#""send" is the name of an operation, choose another name in procedures.send of app.toml"#,
        ),
        (
            "main = ['p']\n[procedures]\np = { params = ['k'], do = [] }",
            r#"missing argument "k" of "p" in main[0] of app.toml:1"#,
        ),
        (
            "main = [{ call = 'p', with = { j = 1 } }]\n[procedures]\np = { params = ['k'], do = [] }",
            r#""p" has no parameter "j", expected k in main[0].with.j of app.toml:1"#,
        ),
    ] {
        assert_eq!(wrong_file(text), expected, "{text}");
    }
}

#[test]
fn overrides_are_checked_against_the_parameters() {
    let text = "main = []\n[params]\nn = 1\niterations = 2";
    let wrong = |over| load_with(text, &[over]).unwrap_err().to_string();
    assert_eq!(wrong("app.m=3"), r#"--set app.m=3: app.toml has no parameter "m", expected n or iterations"#);
    assert_eq!(wrong("app.n.x=3"), r#"--set app.n.x=3: app.toml has no parameter "n.x", expected n or iterations"#);
    assert_eq!(
        wrong("app.n=1 +"),
        r#""1 +" in --set app.n=1 +, character 4: expected a number, a name or "(", found the end"#
    );
    assert_eq!(
        load_with("main = []", &["app.n=1"]).unwrap_err().to_string(),
        r#"--set app.n=1: app.toml has no parameter "n", it has no parameters"#
    );
}

#[test]
fn run_time_errors_name_the_statement_and_the_expression() {
    for (statements, expected) in [
        (
            r#"{ send = { to = "rank + 9", bytes = 8 } }"#,
            "main[0] of app.toml:1: send.to = \"rank + 9\": peer 9 is outside the communicator of 8 ranks: expected 0 to \
             7, or none",
        ),
        (
            r#"{ repeat = 1, do = [{ irecv = { from = -2 } }] }"#,
            "main[0].do[0] of app.toml:1: irecv.from = -2: peer -2 is outside the communicator of 8 ranks: expected \
             0 to 7, or none",
        ),
        (
            r#"{ send = { to = "1 / rank", bytes = 8 } }"#,
            r#"main[0] of app.toml:1: send.to = "1 / rank": division by zero"#,
        ),
        (
            r#"{ send = { to = 0.5, bytes = 8 } }"#,
            "main[0] of app.toml:1: send.to = 0.5: expected a whole number; found 0.5",
        ),
        (
            r#"{ send = { to = 0, bytes = "rank - 8" } }"#,
            r#"main[0] of app.toml:1: send.bytes = "rank - 8": expected a size of at least 0 bytes; found -8"#,
        ),
        (
            r#"{ send = { to = 0, bytes = 8, tag = -1 } }"#,
            "main[0] of app.toml:1: send.tag = -1: expected a tag from 0 to 2147483647; found -1",
        ),
        (
            r#"{ bcast = { bytes = 8, root = "none" } }"#,
            "main[0] of app.toml:1: bcast.root = \"none\": root -1 is outside the communicator of 8 ranks: expected 0 \
             to 7",
        ),
        (
            r#"{ compute = "-1 s" }"#,
            r#"main[0] of app.toml:1: compute = "-1 s": expected a time from 0 to 213 days; found -1 s"#,
        ),
        (
            r#"{ compute = { flops = 5, working_set = -1 } }"#,
            "main[0] of app.toml:1: expected a working set of at least 0 bytes; found -1",
        ),
        (
            r#"{ compute = { flops = -5 } }"#,
            "main[0] of app.toml:1: expected amounts of at least 0 that take less than 213 days; found -5 flops, 0 \
             instructions, 0 bytes",
        ),
        (
            r#"{ compute = { normal = { mean = 1, sd = -1 } } }"#,
            "main[0] of app.toml:1: compute.normal.mean = 1: no normal distribution has mean = 1, sd = -1",
        ),
        (
            r#"{ if = "rank", then = [] }"#,
            r#"main[0] of app.toml:1: if = "rank": expected a condition such as rank == 0; found 0"#,
        ),
        (r#"{ repeat = -1, do = [] }"#, "main[0] of app.toml:1: repeat = -1: expected a count of at least 0; found -1"),
        (
            r#"{ for = "i", to = 1, step = "rank", do = [] }"#,
            r#"main[0] of app.toml:1: step = "rank": a step of 0 never ends"#,
        ),
        (
            r#"{ if = "rank == 1", then = [{ set = { x = 1 } }] }, { compute = "x" }"#,
            r#"main[1] of app.toml:1: compute = "x": x is used before it is set"#,
        ),
        (
            r#"{ irecv = { from = 1, request = "r" } }, { irecv = { from = 1, request = "r" } }, { wait = "r" }"#,
            r#"main[1] of app.toml:1: the request "r" is still outstanding; wait for it before starting it again"#,
        ),
        (
            r#"{ while = "true", do = [{ compute = 1 }] }"#,
            "main[0] of app.toml:1: a rank executed 1000 loop iterations without communication; allow more with --max-iterations",
        ),
    ] {
        assert_eq!(fails(statements), expected, "{statements}");
    }
}

#[test]
fn a_failing_name_fails_the_rank_at_its_start() {
    let log = calls("main = ['barrier']\n[let]\na = '1 / rank'", 0, 2);
    assert_eq!(log, [r#"fail let.a of app.toml:3: let.a = "1 / rank": division by zero"#]);
}

#[test]
fn a_rank_outside_a_communicator_cannot_use_it() {
    let text =
        |statement: &str| format!("main = [{statement}]\n[comms]\nodd = {{ split = '1 if rank % 2 == 1 else none' }}");
    for statement in ["{ barrier = { comm = 'odd' } }", "{ send = { to = 0, bytes = 8, comm = 'odd' } }"] {
        let log = calls(&text(statement), 0, 4);
        assert_eq!(
            log,
            [r#"fail main[0] of app.toml:1: this rank is in no group of the communicator "odd""#],
            "{statement}"
        );
    }
}
