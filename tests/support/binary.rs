//! What integration tests share: running the binary and reading what it said.

#[path = "tools.rs"]
mod tools;

use std::path::Path;
use std::process::{Command, Output, Stdio};

#[allow(unused_imports)]
pub use tools::{is_full, is_there, skipped};

/// What a run of the binary gave.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The binary, with no launcher's variables, in `directory`.
pub fn mcpsim(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
    command.current_dir(directory).stdin(Stdio::null());
    for name in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"] {
        command.env_remove(name);
    }
    command
}

/// Runs the binary in `directory` with the words of `line` as arguments.
pub fn run(directory: &Path, line: &str) -> Ran {
    finish(mcpsim(directory).args(line.split_whitespace()).output().expect("the binary starts"))
}

/// The output as text.
pub fn finish(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("mcpsim prints UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}
