//! The OTF2 library of the machine: C programs that work with it, compiled where they are asked for.

use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::PredictError;
use crate::trace::import::ImportedTrace;
use crate::trace::otf2::READ;

/// What tells how to compile against the library: its own tool, and what Debian has.
const TELLERS: [(&str, &[&str]); 2] =
    [("otf2-config", &["--cflags", "--ldflags", "--libs"]), ("pkg-config", &["--cflags --libs otf2"])];

/// Whether a file that begins like this is an archive's anchor.
pub(super) fn is_anchor(start: &[u8]) -> bool {
    matches!(start, [3, b'B' | b'L', b'O', b'T', b'F', b'2', ..])
}

/// Compiles `source` into the program `name` in `directory`, with the OTF2 library.
///
/// # Errors
/// If there is no OTF2 library or no compiler, or the directory cannot be written to.
pub(crate) fn compile_with_otf2(source: &str, directory: &Path, name: &str) -> Result<(), PredictError> {
    let file = directory.join(format!("{name}.c"));
    std::fs::write(&file, source)
        .map_err(|error| PredictError::input(format!("cannot write {}: {error}", file.display())))?;
    let Some(flags) = flags() else {
        return Err(PredictError::input(
            "OTF2: expected the OTF2 library with its otf2-config, or Debian's libopen-trace-format2-dev and pkg-config; \
             found neither",
        ));
    };
    let cc = std::env::var_os("MCPSIM_CC").filter(|cc| !cc.is_empty()).unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&cc);
    command.args(["-O1", "-w", "-o"]).arg(directory.join(name)).arg(&file).args(flags);
    run_to_end(&mut command, &format!("OTF2: {}", cc.to_string_lossy()))
}

/// How to compile and link against the library, if it is installed.
fn flags() -> Option<Vec<String>> {
    let told = |(teller, questions): (&str, &[&str])| {
        let mut flags = Vec::new();
        for question in questions {
            let answer = Command::new(teller).args(question.split(' ')).stdin(Stdio::null()).output().ok()?;
            let text = String::from_utf8(answer.stdout).ok().filter(|_| answer.status.success())?;
            flags.extend(text.split_whitespace().map(str::to_owned));
        }
        Some(flags)
    };
    TELLERS.into_iter().find_map(told)
}

/// Runs `command` to its end; what it says on stderr if it fails, after `what`.
///
/// # Errors
/// If it cannot be started, or fails.
pub(crate) fn run_to_end(command: &mut Command, what: &str) -> Result<(), PredictError> {
    let output = command.output().map_err(|error| PredictError::input(format!("{what}: cannot start it: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = text.lines().take(8).collect();
    Err(PredictError::input(format!("{what}: {}\n{}", output.status, first.join("\n"))))
}

/// Reads the archive of the anchor file `anchor`, which `name` is in messages.
///
/// # Errors
/// If there is no OTF2 library, or it cannot read the archive; what is wrong with it, or not replayed.
pub(super) fn read(anchor: &Path, name: &str) -> Result<ImportedTrace, PredictError> {
    let wrong = |what: String| PredictError::input(format!("{name}: {what}"));
    let scratch = tempfile::tempdir().map_err(|error| wrong(format!("cannot make a temporary directory: {error}")))?;
    compile_with_otf2(READ, scratch.path(), "read")?;
    let mut command = Command::new(scratch.path().join("read"));
    // What the library says comes in lines of its own: it goes to a file, so that nobody waits for whom.
    let said = scratch.path().join("said");
    let stderr = std::fs::File::create(&said).map_err(|error| wrong(error.to_string()))?;
    command.arg(anchor).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let mut reader = command.spawn().map_err(|error| wrong(format!("cannot start the reader: {error}")))?;
    let mut lines = BufReader::new(reader.stdout.take().expect("it is piped"));
    let read = ImportedTrace::read_otf2(&mut lines);
    // What the library finds wrong comes before what its last words look like.
    let _ = std::io::copy(&mut lines, &mut std::io::sink());
    let status = reader.wait().map_err(|error| wrong(error.to_string()))?;
    if !status.success() {
        let said = std::fs::read(&said).unwrap_or_default();
        let text = String::from_utf8_lossy(&said);
        let first = text.lines().next().unwrap_or("it ended without a word").to_owned();
        return Err(wrong(format!("the OTF2 library cannot read the archive: {first}")));
    }
    read.map_err(|error| wrong(error.to_string()))
}
