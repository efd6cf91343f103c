//! Optional tools that tests need, and long comparisons.
#![allow(dead_code)]

use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Prints that a test is skipped because the tool `what` is missing. If MCPSIM_REQUIRE_TOOLS=1, the test fails instead.
pub fn skipped(what: &str) {
    assert!(!is_set("MCPSIM_REQUIRE_TOOLS"), "skipped: {what}; MCPSIM_REQUIRE_TOOLS is set");
    // The test harness hides the output of `eprintln!` if the test passes.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Prints that a test is skipped because `what` is missing, which no machine needs to have.
pub fn optional(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped, as an optional tool is missing: {what}");
}

/// Prints that a test is skipped because the operating system does not permit it, whichever tools are installed.
pub fn not_allowed(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped, as this system does not allow it: {what}");
}

/// Returns true if the program `program` is in a directory of `PATH`.
pub fn is_there(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|place| place.join(program).is_file()))
}

/// Returns true if long comparisons are requested, as `./check full` does with MCPSIM_TEST_FULL=1. Otherwise the
/// function prints a note.
pub fn is_full(what: &str) -> bool {
    let full = is_set("MCPSIM_TEST_FULL");
    if !full {
        let _ = writeln!(std::io::stderr(), "left to ./check full: {what}");
    }
    full
}

/// Returns the environment variables that Open MPI's launcher needs, because tests may run as root and start many
/// launchers concurrently.
pub fn open_mpi_environment() -> [(&'static str, String); 3] {
    let directory = session_directory().to_string_lossy().into_owned();
    [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1".to_owned()),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".to_owned()),
        ("OMPI_MCA_orte_tmpdir_base", directory),
    ]
}

/// Returns the session directory for Open MPI's launchers. Each launcher creates a directory `ompi.HOST.USER` in the
/// session directory and removes that directory when it is empty. An Open MPI launcher that starts while the directory
/// is removed fails. Another directory inside `ompi.HOST.USER`, which launchers do not remove, prevents the removal.
fn session_directory() -> PathBuf {
    let user = fs::metadata("/proc/self").map_or(0, |of| of.uid());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let base = env::temp_dir().join(format!("mcpsim-tests-{user}"));
    let stays = base.join(format!("ompi.{}.{user}/stays", host.trim()));
    fs::create_dir_all(&stays).expect("a directory for temporary files");
    base
}
