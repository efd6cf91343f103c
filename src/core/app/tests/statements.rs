//! Tests of the engine calls that statements make.

use crate::mpi::{MpiCall, MpiProgram};
use crate::platform::{CacheRates, MemoryPart, MemorySharing};
use crate::rank::{Call, Describe, Reply, ReplyKind};
use crate::units::{Bandwidth, Bytes, Rate, SimTime};

use super::super::AppProgram;
use super::driver::{calls, load, load_with, program, record, target};

fn main(statements: &str, rank: u32, ranks: u32) -> Vec<String> {
    calls(&format!("main = [{statements}]"), rank, ranks)
}

#[test]
fn blocking_messages_become_calls_in_order() {
    let log = main(
        r#"{ send = { to = "(rank + 1) % size", bytes = "4 KiB", tag = 3, mode = "synchronous" } },
           { recv = { from = "any", tag = "any", bytes = 100, source_as = "w", tag_as = "t", bytes_as = "b" } },
           { send = { to = "w", bytes = "b + 1", tag = "t" } },
           { sendrecv = { to = 0, bytes = 8, tag = 5, from = 1, bytes_as = "b" } },
           { probe = { from = "any", source_as = "w" } },
           { iprobe = { from = "w", tag = 2, found_as = "there" } },
           { if = "there", then = [{ send = { to = "w", bytes = 7.5 } }] }"#,
        2,
        3,
    );
    assert_eq!(
        log,
        [
            "send 4096 to 0 tag 3 Synchronous",
            "recv from any tag any room 100",
            "send 65 to 1 tag 7",
            "exchange 8 to 0 tag 5 and from 1 tag 5",
            "probe from any tag 0",
            "iprobe from 1 tag 2",
            "send 8 to 1 tag 0",
            "finish"
        ]
    );
}

#[test]
fn messages_to_and_from_none_are_not_sent() {
    let log = main(
        r#"{ send = { to = "none", bytes = 8 } },
           { recv = { from = "none", source_as = "w", tag_as = "t", bytes_as = "b" } },
           { irecv = { from = -1, request = "r" } }, { isend = { to = "null", bytes = 8 } },
           { wait = "r" }, "waitall", { waitany = { index_as = "i" } }, { test = { done_as = "d" } },
           { probe = { from = "none" } }, { iprobe = { from = "none", found_as = "f" } },
           { sendrecv = { to = "none", from = 0, bytes = 1 } }, { sendrecv = { to = 0, from = "none", bytes = 1 } },
           { if = "d and f", then = [{ compute = "(10 + w + t + b + i) * 1 s" }] }"#,
        0,
        2,
    );
    assert_eq!(log, ["recv from 0 tag 0", "send 1 to 0 tag 0", "compute 7.000 s", "finish"]);
}

#[test]
fn loops_are_half_open_and_nest() {
    let log = main(
        r#"{ for = "i", from = 0, to = 3, do = [{ for = "j", from = "i", to = 0, step = -1, do = [
              { compute = "(10 * i + j) * 1 s" } ] } ] },
           { for = "i", to = 0, do = ["barrier"] }, { repeat = 0, do = ["barrier"] },
           { set = { left = 2 } },
           { while = "left > 0", do = [{ compute = "left" }, { set = { left = "left - 1" } }] }"#,
        0,
        1,
    );
    let spans = ["11.00 s", "22.00 s", "21.00 s", "2.000 s", "1.000 s"];
    assert_eq!(
        log,
        spans.map(|span| format!("compute {span}")).into_iter().chain(["finish".to_owned()]).collect::<Vec<_>>()
    );
}

#[test]
fn a_loop_near_the_greatest_number_ends() {
    let log = main(
        r#"{ for = "i", from = "2 ** 62 * 1 + 2 ** 62 - 3 + 0 if false else 9223372036854775805", to = 9223372036854775807, step = 5, do = ["barrier"] }"#,
        0,
        1,
    );
    assert_eq!(log, ["Barrier 0 root 0", "finish"]);
}

#[test]
fn conditions_choose() {
    let statements = r#"{ if = "rank == 0", then = [{ compute = 1 }], else = [{ if = "rank == 1", then = [{ compute = 2 }] }] },
        { compute = 3 }"#;
    assert_eq!(main(statements, 0, 3), ["compute 1.000 s", "compute 3.000 s", "finish"]);
    assert_eq!(main(statements, 1, 3), ["compute 2.000 s", "compute 3.000 s", "finish"]);
    assert_eq!(main(statements, 2, 3), ["compute 3.000 s", "finish"]);
}

#[test]
fn procedures_take_parameters_and_call_others() {
    let log = calls(
        r#"main = [{ for = "i", to = 2, do = [{ call = "outer", with = { k = "i + 1" } }] }, "last"]
           [procedures]
           last = ["barrier"]
           outer = { params = ["k"], do = [{ call = "inner", with = { k = "k * 10" } }, { compute = "k" }] }
           inner = { params = ["k"], do = [{ set = { k = "k + 1" } }, { for = "i", to = 1, do = [{ compute = "k" }] }] }"#,
        0,
        1,
    );
    let spans = ["compute 11.00 s", "compute 1.000 s", "compute 21.00 s", "compute 2.000 s"];
    assert_eq!(log[..4], spans);
    assert_eq!(log[4..], ["Barrier 0 root 0", "finish"]);
}

#[test]
fn requests_are_waited_for_by_name_or_all_in_the_order_started() {
    let log = main(
        r#"{ irecv = { from = 1, request = "a", bytes_as = "got" } },
           { isend = { to = 1, bytes = 8 } },
           { iallreduce = { bytes = 8, request = "c" } },
           { irecv = { from = 0, request = "d", tag = 4 } },
           { waitall = ["d", "a"] },
           { send = { to = 0, bytes = "got" } },
           { irecv = { from = 0, request = "a" } },
           "waitall", "waitall""#,
        0,
        2,
    );
    assert_eq!(
        log,
        [
            "irecv from 1 tag 0",
            "isend 8 to 1 tag 0",
            "start Allreduce 8 root 0",
            "irecv from 0 tag 4",
            "waitall [4, 1]",
            "send 64 to 0 tag 0",
            "irecv from 0 tag 0",
            "waitall [2, 3, 5]",
            "finish"
        ]
    );
}

#[test]
fn waitany_gives_the_index_in_the_list_and_the_sender() {
    let log = main(
        r#"{ for = "i", to = 3, do = [{ irecv = { from = "i", tag = "i" } }] },
           { waitany = { index_as = "i0", source_as = "w", tag_as = "t", bytes_as = "b" } },
           { compute = "i0 + 10 * w + 100 * t + 1000 * b" },
           { irecv = { from = 1, request = "x" } }, { irecv = { from = 0, request = "y" } },
           { waitany = { requests = ["y", "x"], index_as = "i0", source_as = "w" } },
           { compute = "i0 + 10 * w" },
           { test = { request = "y", done_as = "done" } },
           { waitany = { requests = ["y", "x"], index_as = "i0" } },
           { compute = "10 + i0 if done else 0" },
           "waitall""#,
        0,
        3,
    );
    assert_eq!(
        log[3..],
        [
            "waitany [1, 2, 3]",
            // The completed request has index 2; its message is from rank 2 with tag 2 and 64 bytes.
            "compute 64222 s",
            "irecv from 1 tag 0",
            "irecv from 0 tag 0",
            "waitany [5, 4]",
            // The last request in the list is named x; its message is from rank 1.
            "compute 11.00 s",
            "test [5]",
            "compute 9.000 s",
            "waitall [1, 2]",
            "finish"
        ]
    );
}

#[test]
fn work_takes_the_slowest_of_its_parts() {
    // The target machine has 1e9 flop/s, 1e9 instructions/s and 1e9 bytes/s.
    let log = main(
        r#"{ compute = { flops = 2000, bytes = 1000 } }, { compute = { flops = 2000, bytes = 3000, times = 2 } },
           { compute = { instructions = 5000 } }, { compute = { time = "1 ms", times = "rank + 2" } },
           { compute = { normal = { mean = "1 ms", sd = 0 } } }, { compute = { uniform = { low = -2, high = -1 } } }"#,
        0,
        1,
    );
    let spans = ["2.000 us", "6.000 us", "5.000 us", "2.000 ms", "1.000 ms", "0 s"];
    assert_eq!(log[..6], spans.map(|span| format!("compute {span}")));
}

#[test]
fn collectives_carry_sizes_roots_and_algorithms() {
    let log = main(
        r#""barrier", { bcast = { bytes = "1 KiB", root = "size - 1", algorithm = "binomial" } },
           { gatherv = { bytes = "10 * peer" } }, { scatterv = { bytes = "10 * peer", root = 1 } },
           { scatterv = { bytes = "10 * peer", root = 0 } }, { allgatherv = { bytes = "peer + 1" } },
           { alltoallv = { bytes = "10 * rank + peer" } }, { alltoallv = { bytes = 4 } },
           { reduce_scatter = { bytes = 5 } }, { ialltoall = { bytes = 6 } }"#,
        1,
        3,
    );
    assert_eq!(
        log,
        [
            "Barrier 0 root 0",
            "Bcast 1024 root 2 Binomial",
            "Gatherv 10 root 0",
            "Scatterv [0, 10, 20] root 1",
            "Scatterv 10 root 0",
            "Allgatherv [1, 2, 3] root 0",
            "Alltoallv [10, 11, 12] root 0",
            "Alltoallv 4 root 0",
            "ReduceScatter 5 root 0",
            "start Alltoall 6 root 0",
            "finish"
        ]
    );
}

#[test]
fn communicators_have_ranks_of_their_own() {
    // In the 2 × 3 grid, rank 4 is the second rank of row 1 (3 4 5) and of column 1 (1 4). In the communicator
    // `halves`, ranks are in descending order.
    let text = r#"main = [
             { send = { to = "comm_size(row) - 1", bytes = 1, comm = "row" } },
             { recv = { from = 0, comm = "column", source_as = "w" } },
             { bcast = { bytes = "w + 1", comm = "half", root = "(comm_rank(half) + 1) % comm_size(half)" } },
             { compute = "comm_rank(few) + 2" },
           ]
           [grids]
           g = { dims = [2, 0], periodic = false }
           [comms]
           row = { grid = "g", keep = [false, true] }
           column = { grid = "g", keep = [true, false] }
           half = { split = "rank // 3", key = "-rank" }
           few = { split = "0 if rank < 2 else none" }"#;
    assert_eq!(
        calls(text, 4, 6),
        [
            "send 1 to 5 tag 0 in 2",
            "recv from 1 tag 0 in 4",
            "Bcast 1 root 2 comm 3 rank 1 of 3",
            "compute 1.000 s",
            "finish"
        ]
    );
}

#[test]
fn a_rank_draws_its_own_numbers_and_the_same_every_time() {
    let bound =
        load("main = [{ compute = { exponential = { mean = 1 } } }, { compute = 'randint(1, 1000000)' }]").unwrap();
    let bound = bound.bind(target(4)).unwrap();
    let draw = |rank| record(bound.program(rank, 1e9));
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn parameters_are_overridden_and_shown_resolved() {
    let text = "main = [{ compute = 'm' }]\n[params]\nn = 2\nm = 'n ** 2 + 0.5'\nb = '4 KiB'\n[run]\nnct = [1, 2, 3]";
    let app = load_with(text, &["app.n=3", "platform.x=1", "app.b=1 MB"]).unwrap();
    assert_eq!(app.config()["params"].to_string(), "{ n = 3, m = 9.5, b = 1000000 }");
    assert_eq!(app.run_table().unwrap()["nct"].to_string(), "[1, 2, 3]");
    assert_eq!(app.name(), "app");
    assert_eq!(record(app.bind(target(1)).unwrap().program(0, 1e9))[0], "compute 9.500 s");
}

#[test]
fn the_position_names_the_statement_and_its_callers() {
    let text = "main = [{ repeat = 2, do = [\n'barrier',\n'exchange'] }]\n[procedures]\nexchange = [{ compute = 1 }, \
                'inner']\n\
                inner = ['barrier']";
    let mut program = program(text, 0, 2);
    let mut next = |kind| {
        let action = program.next(Reply { clock: SimTime::ZERO, kind });
        (action, program.position().unwrap())
    };
    assert_eq!(next(ReplyKind::Begin).1, "main[0].do[0] of app.toml:2");
    assert_eq!(next(ReplyKind::Done).1, "exchange[0] of app.toml:5 in main[0].do[1] of app.toml:3");
    let inner = "inner[0] of app.toml:6 in exchange[1] of app.toml:5 in main[0].do[1] of app.toml:3";
    assert_eq!(next(ReplyKind::Done).1, inner);
    for _ in 0..3 {
        next(ReplyKind::Done);
    }
    let (action, position) = next(ReplyKind::Done);
    assert!(matches!(action, MpiCall::Call(Call::Finish)));
    assert_eq!(position, "end of main");
}

#[test]
fn long_silence_yields_now_and_then() {
    let app = load("main = [{ set = { i = 0 } }, { while = 'i < 200000', do = [{ set = { i = 'i + 1' } }] }]").unwrap();
    let mut target = target(1);
    target.max_turns = 1_000_000;
    assert_eq!(record(app.bind(target).unwrap().program(0, 1e9)), ["yield", "finish"]);
}

#[test]
fn a_program_takes_at_most_100_bytes_and_nine_a_name() {
    assert!(size_of::<AppProgram>() <= 100, "{}", size_of::<AppProgram>());
}

#[test]
fn a_working_set_that_fits_the_caches_is_computed_at_their_rates() {
    let computing = |law: MemorySharing, keys: &str| {
        let mut target = target(2);
        let (size, flops) = (Bytes::new(8000), Rate::new(2e9).unwrap());
        let bandwidth = Bandwidth::new(4_000_000_000).unwrap();
        target.rates.in_cache = Some(CacheRates { size, flops, instructions: target.rates.instructions, bandwidth });
        target.rates.memory_sharing = law;
        let text = format!("main = [{{ compute = {{ {keys} }} }}]");
        let part = MemoryPart { bandwidth: 5e8, cache: 4000.0 };
        record(load(&text).unwrap().bind(target).unwrap().program(0, part))[0].clone()
    };
    let both = |keys: &str| [MemorySharing::Placed, MemorySharing::Fair].map(|law| computing(law, keys));
    let work = "flops = 1000, bytes = 1000";
    assert_eq!(both(work), ["compute 2.000 us", "compute 1.000 us 1000 B"]);
    assert_eq!(both(&format!("{work}, working_set = \"5000 B\"")), both(work));
    assert_eq!(both(&format!("{work}, working_set = \"4000 B\"")), ["compute 500.0 ns"; 2]);
    assert_eq!(both(&format!("{work}, working_set = \"100 * size\"")), ["compute 500.0 ns"; 2]);
    assert_eq!(both("flops = 1000"), ["compute 1.000 us"; 2]);
}
