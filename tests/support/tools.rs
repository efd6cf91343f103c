//! Tools that tests need and a machine may not have, and comparisons that take long.
#![allow(dead_code)]

use std::env;
use std::io::Write;

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Says that something is not tested here, for want of `what`. With MCPSIM_REQUIRE_TOOLS=1 that is a failure.
pub fn skipped(what: &str) {
    assert!(!is_set("MCPSIM_REQUIRE_TOOLS"), "skipped: {what}; MCPSIM_REQUIRE_TOOLS is set");
    // What `eprintln!` says is not shown if the test passes.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Whether the program is one of `PATH`.
pub fn is_there(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|place| place.join(program).is_file()))
}

/// Whether long comparisons are made, as `./check full` does (MCPSIM_TEST_FULL=1); says so if not.
pub fn is_full(what: &str) -> bool {
    let full = is_set("MCPSIM_TEST_FULL");
    if !full {
        let _ = writeln!(std::io::stderr(), "left to ./check full: {what}");
    }
    full
}
