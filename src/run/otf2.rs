//! Use of the installed OTF2 library by C programs that mcpsim compiles on demand.

use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::PredictError;
use crate::trace::import::ImportedTrace;
use crate::trace::otf2::READ;

/// Commands that print compiler options for the OTF2 library: the library's own tool, and pkg-config.
const TELLERS: [(&str, &[&str]); 2] =
    [("otf2-config", &["--cflags", "--ldflags", "--libs"]), ("pkg-config", &["--cflags --libs otf2"])];

/// Returns true if a file with the first bytes `start` is the anchor file of an OTF2 archive.
pub(super) fn is_anchor(start: &[u8]) -> bool {
    matches!(start, [3, b'B' | b'L', b'O', b'T', b'F', b'2', ..])
}

/// Compiles the C program `source` with the OTF2 library into the executable `name` in `directory`.
///
/// # Errors
/// The OTF2 library or a compiler is missing, or the directory cannot be written.
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

/// Returns the compiler and linker options of the OTF2 library, if the library is installed.
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

/// Runs `command` and waits for its end. The error message is `what` followed by the command's stderr.
///
/// # Errors
/// The command cannot be started, or fails.
pub(crate) fn run_to_end(command: &mut Command, what: &str) -> Result<(), PredictError> {
    let output = command.output().map_err(|error| PredictError::input(format!("{what}: cannot start it: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = text.lines().take(8).collect();
    Err(PredictError::input(format!("{what}: {}\n{}", output.status, first.join("\n"))))
}

/// Reads the OTF2 archive whose anchor file is `anchor`. `name` is the name of the archive in error messages.
///
/// # Errors
/// The OTF2 library is missing or cannot read the archive, or the archive has errors or unsupported content.
pub(super) fn read(anchor: &Path, name: &str) -> Result<ImportedTrace, PredictError> {
    let wrong = |what: String| PredictError::input(format!("{name}: {what}"));
    let scratch =
        tempfile::tempdir().map_err(|error| wrong(format!("cannot create a temporary directory: {error}")))?;
    compile_with_otf2(READ, scratch.path(), "read")?;
    let mut command = Command::new(scratch.path().join("read"));
    // Messages of the OTF2 library are written to a file, because a pipe for output and a pipe for messages could block
    // each other.
    let said = scratch.path().join("said");
    let stderr = std::fs::File::create(&said).map_err(|error| wrong(error.to_string()))?;
    command.arg(anchor).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let mut reader = command.spawn().map_err(|error| {
        wrong(format!(
            "cannot start the program that reads the OTF2 \
    archive: {error}"
        ))
    })?;
    let mut lines = BufReader::new(reader.stdout.take().expect("it is piped"));
    let read = ImportedTrace::read_otf2(&mut lines);
    // The remaining output lines are read, so that an error of the OTF2 library is reported instead of a parse error.
    let _ = std::io::copy(&mut lines, &mut std::io::sink());
    let status = reader.wait().map_err(|error| wrong(error.to_string()))?;
    if !status.success() {
        let said = std::fs::read(&said).unwrap_or_default();
        let text = String::from_utf8_lossy(&said);
        let first = text.lines().next().unwrap_or("its reader ended without an error message").to_owned();
        return Err(wrong(format!("the OTF2 library cannot read the archive: {first}")));
    }
    read.map_err(|error| wrong(error.to_string()))
}
