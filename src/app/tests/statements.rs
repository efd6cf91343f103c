//! What statements ask of the engine.

use super::driver::{calls, program};

fn main(statements: &str, rank: u32, ranks: u32) -> Vec<String> {
    calls(&format!("main = [{statements}]"), rank, ranks)
}

#[test]
fn blocking_messages_become_calls_in_order() {
    let log = main(
        r#"{ send = { to = "(rank + 1) % size", bytes = "4 KiB", tag = 3, mode = "synchronous" } },
           { recv = { from = "any", tag = "any", bytes = 100, source_as = "w", tag_as = "t", bytes_as = "b" } },
           { send = { to = "w", bytes = "b + 1", tag = "t" } }"#,
        2,
        3,
    );
    assert_eq!(
        log,
        ["send 4096 to 0 tag 3 Synchronous", "recv from any tag any room 100", "send 65 to 1 tag 7", "finish"]
    );
}

#[test]
fn a_program_takes_at_most_256_bytes() {
    assert!(size_of::<super::super::AppProgram>() <= 256, "{}", size_of::<super::super::AppProgram>());
}

#[test]
fn loops_are_half_open_and_nest() {
    let log = main(
        r#"{ for = "i", from = 0, to = 3, do = [{ for = "j", from = "i", to = 0, step = -1, do = [
              { compute = "(10 * i + j) * 1 s" } ] } ] }"#,
        0,
        1,
    );
    assert_eq!(log, ["compute 11.00 s", "compute 22.00 s", "compute 21.00 s", "finish"]);
    let _ = program;
}
