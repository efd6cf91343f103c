//! Tools that tests need and a machine may not have, and comparisons that take long.
#![allow(dead_code)]

use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Says that something is not tested here, for want of `what`. With MCPSIM_REQUIRE_TOOLS=1 that is a failure.
pub fn skipped(what: &str) {
    assert!(!is_set("MCPSIM_REQUIRE_TOOLS"), "skipped: {what}; MCPSIM_REQUIRE_TOOLS is set");
    // What `eprintln!` says is not shown if the test passes.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Says that something is not tested here, as the system does not allow it: no tool would change that.
pub fn not_allowed(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped, as this system does not allow it: {what}");
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

/// What Open MPI's launcher needs in its environment: it may be started by root, and many launchers at a time.
pub fn open_mpi_environment() -> [(&'static str, String); 3] {
    let directory = session_directory().to_string_lossy().into_owned();
    [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1".to_owned()),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".to_owned()),
        ("OMPI_MCA_orte_tmpdir_base", directory),
    ]
}

/// Where Open MPI's launchers keep what belongs to a run. Each makes a directory `ompi.HOST.USER` there and removes it
/// once it is empty; one that starts while another ends fails if that comes in between. So there is a directory in it,
/// which they leave alone.
fn session_directory() -> PathBuf {
    let user = fs::metadata("/proc/self").map_or(0, |of| of.uid());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let base = env::temp_dir().join(format!("mcpsim-tests-{user}"));
    let stays = base.join(format!("ompi.{}.{user}/stays", host.trim()));
    fs::create_dir_all(&stays).expect("a directory for temporary files");
    base
}
