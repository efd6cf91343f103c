//! Common code of integration tests that run the mcpsim executable and read its output.
#![allow(dead_code)]

#[path = "tools.rs"]
mod tools;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

#[allow(unused_imports)]
pub use tools::{is_full, is_there, not_allowed, open_mpi_environment, optional, skipped};

/// Result of running the mcpsim executable.
#[derive(Debug)]
pub struct Ran {
    /// Exit code of the executable; `None` if a signal ended the process.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Returns a command that runs mcpsim in `directory`, without the environment variables of launchers. The environment
/// variable MCPSIM_TEST_BINARY replaces the executable that was built for tests.
pub fn mcpsim(directory: &Path) -> Command {
    let built = env!("CARGO_BIN_EXE_mcpsim").into();
    without_launcher(Command::new(std::env::var_os("MCPSIM_TEST_BINARY").unwrap_or(built)), directory)
}

/// Removes the environment variables of launchers from the command, and sets the command's directory.
pub fn without_launcher(mut command: Command, directory: &Path) -> Command {
    command.current_dir(directory).stdin(Stdio::null());
    for name in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"] {
        command.env_remove(name);
    }
    command
}

/// Runs mcpsim in `directory` with the words of `line` as arguments.
pub fn run(directory: &Path, line: &str) -> Ran {
    finish(mcpsim(directory).args(line.split_whitespace()).output().expect("the binary starts"))
}

/// Converts the output of a child process to text.
pub fn finish(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("mcpsim prints UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Time limit of waits in tests, which only a failing test reaches.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Waits for the end of the child process and returns the output of the process. After [`LIMIT`], the function kills
/// the process and the test fails.
pub fn ended(mut child: Child) -> Ran {
    let over = holds_within_limit(|| child.try_wait().expect("the child can be waited for").is_some());
    if !over {
        let _ = child.kill();
    }
    let ran = finish(child.wait_with_output().expect("the child's output can be read"));
    assert!(over, "still running after {LIMIT:?}: {ran:?}");
    ran
}

/// Returns true if the condition becomes true within [`LIMIT`].
pub fn holds_within_limit(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() > LIMIT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends SIGINT to mcpsim when Linux reports that mcpsim catches SIGINT. An earlier signal would end mcpsim without a
/// message. A shell that will execute mcpsim may catch the signal for itself.
pub fn interrupt(child: &mut Child) {
    let pid = child.id().to_string();
    let catches = || {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
            && program.ends_with("mcpsim")
    };
    let listens = holds_within_limit(|| catches() || child.try_wait().is_ok_and(|end| end.is_some()));
    if !listens {
        let _ = child.kill();
        panic!("the process does not catch SIGINT after {LIMIT:?}");
    }
    let _ = Command::new("kill").args(["-INT", &pid]).status().expect("kill starts");
}
