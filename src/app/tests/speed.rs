//! How fast ranks step; run by hand with `cargo test --release app::tests::speed -- --ignored --nocapture`.

use std::time::Instant;

use crate::mpi::{Action, MpiProgram};
use crate::rank::{Call, Reply, ReplyKind};
use crate::units::SimTime;

use super::driver::{load, target};

fn nanoseconds_a_call(statements: &str) -> f64 {
    let text = format!(
        "main = [{{ repeat = 1000000, do = [{statements}] }}]\n[grids]\ng = {{ dims = [0, 0], periodic = true }}\n[let]\neast = \"neighbor(g, 0, 1)\""
    );
    let mut target = target(16);
    target.max_turns = u64::MAX;
    let mut program = load(&text).unwrap().bind(target).unwrap().program(0, 1e9);
    let start = Instant::now();
    let mut calls = 0u32;
    let mut kind = ReplyKind::Begin;
    loop {
        let action = program.next(Reply { clock: SimTime::ZERO, kind });
        calls += 1;
        kind = match &action {
            Action::Call(Call::Finish) => break,
            Action::Call(Call::Isend(_) | Call::Irecv(_)) => ReplyKind::Started(calls),
            Action::Call(Call::WaitAll(_)) => ReplyKind::Completed(&mut []),
            _ => ReplyKind::Done,
        };
        std::hint::black_box(&action);
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

#[test]
#[ignore = "measures host time"]
fn a_simple_statement_takes_some_ten_nanoseconds() {
    for statements in [
        r#"{ compute = "1 us" }"#,
        r#"{ compute = { flops = "9 * size", bytes = "24 * rank" } }"#,
        r#"{ send = { to = "east", bytes = "8 KiB" } }"#,
        r#"{ send = { to = "(rank + 1) % size", bytes = "8 * (rank + 4)" } }"#,
        r#"{ send = { to = "neighbor(g, 0, 1)", bytes = 8 } }"#,
        r#"{ isend = { to = "east", bytes = 8 } }, { irecv = { from = "east" } }, "waitall""#,
        r#"{ set = { x = "rank + 1" } }, { set = { x = "x * 2" } }, { if = "x > 1", then = [{ send = { to = "east", bytes = 8 } }] }"#,
        r#"{ allreduce = { bytes = 8 } }"#,
    ] {
        let best = (0..7).map(|_| nanoseconds_a_call(statements)).fold(f64::MAX, f64::min);
        println!("{best:6.1} ns  {statements}");
    }
}

#[test]
#[ignore = "measures host time"]
fn a_million_ranks_are_made_in_a_second() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/workloads/halo3d.toml")).unwrap();
    let comms = "\n[comms]\nplane = { grid = 'box', keep = [false, true, true] }\nlast = { split = 'rank % 7', key = '-rank' }\n";
    let app = load(&(text + comms)).unwrap();
    let start = Instant::now();
    let bound = app.bind(target(1 << 20)).unwrap();
    println!("bound after {:?}", start.elapsed());
    let mut programs: Vec<_> = (0..1 << 20).map(|rank| bound.program(rank, 1e9)).collect();
    for program in &mut programs {
        program.next(Reply { clock: SimTime::ZERO, kind: ReplyKind::Begin });
    }
    println!("at their first call after {:?}", start.elapsed());
}
