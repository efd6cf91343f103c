//! Simulation runs of real programs, each in a separate host process, so that a crash ends only one run of the study.
//!
//! A program is compiled once for all points of the study that run it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::cc::{Built, CodeOrigin, ProgramFile};
use crate::engine::Outcome;
use crate::process::ComputeMode;
use crate::run::{PredictError, Resolved};

use super::InputHash;
use super::running::Running;

/// Interval in which the parent process polls a run in a child process.
const PERIOD: Duration = Duration::from_millis(2);

/// Compiled real program of a study.
#[derive(Debug)]
pub struct ChildProgram {
    built: Built,
    /// Hash of the compiled program's content.
    pub hash: InputHash,
}

/// Compiled programs of a study, by their source files.
#[derive(Debug, Default)]
pub struct Programs {
    built: Mutex<BTreeMap<String, Arc<ChildProgram>>>,
}

impl Programs {
    /// Returns the compiled program of `file`. The program is compiled on first use.
    ///
    /// # Errors
    /// The compiler fails (the message contains its output), or a file cannot be read.
    pub fn built(&self, file: &ProgramFile) -> Result<Arc<ChildProgram>, PredictError> {
        let code = format!("{:?}", file.code);
        let mut all = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = all.get(&code) {
            return Ok(Arc::clone(program));
        }
        let built = file.build()?;
        let path = built.path.display().to_string();
        let content = std::fs::read(&built.path).map_err(|error| PredictError::input(format!("{path}: {error}")))?;
        let program = Arc::new(ChildProgram { built, hash: InputHash::of(&[("program", &content)]) });
        all.insert(code, Arc::clone(&program));
        Ok(program)
    }
}

/// Returns true if a run measures the time of the program's own code on the host.
pub fn measures(run: &Resolved) -> bool {
    run.settings.job.compute == ComputeMode::Measure
}

/// Simulates `program` as `run` describes, and returns the Outcome of the run, reduced to the data that a study stores.
pub(super) fn run(run: &Resolved, program: &ChildProgram, running: &Running) -> Result<Outcome, PredictError> {
    let directory = tempfile::tempdir().map_err(|error| failed("cannot create a temporary directory", &error))?;
    let json = directory.path().join("outcome.json");
    start(run, program, ("--json", &json), running)?;
    let text = std::fs::read_to_string(&json).map_err(|error| failed("the outcome", &error))?;
    serde_json::from_str(&text).map(Outcome::of_point).map_err(|error| failed("the outcome", &error))
}

/// Simulates `program` as `run` describes, and records a trace into the file at `path`.
pub(super) fn record(
    run: &Resolved,
    program: &ChildProgram,
    path: &Path,
    running: &Running,
) -> Result<(), PredictError> {
    start(run, program, ("--record", path), running)
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> PredictError {
    PredictError::input(format!("{what}: {error}"))
}

/// Starts the simulation of `program` in a separate host process. `option` selects the output file of the process.
fn start(
    run: &Resolved,
    program: &ChildProgram,
    (option, written): (&str, &Path),
    running: &Running,
) -> Result<(), PredictError> {
    let directory = tempfile::tempdir().map_err(|error| failed("cannot create a temporary directory", &error))?;
    let whole = directory.path().join("point.toml");
    let of = run.application.program().ok_or_else(|| PredictError::input("expected a real program"))?;
    let file = ProgramFile { code: CodeOrigin::Binary(program.built.path.clone()), ..of.clone() };
    std::fs::write(&whole, run.to_toml_of(&file)?).map_err(|error| failed("the point's file", &error))?;
    let own =
        std::env::current_exe().map_err(|error| failed("cannot find the path of the mcpsim executable", &error))?;
    let mut child = Command::new(own)
        .args(["run", "--quiet", option])
        .args([written, &whole])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed("cannot start another mcpsim process", &error))?;
    let mut errors = child.stderr.take().expect("it is piped");
    // A thread reads the output of the child process, because a full pipe would block the program.
    let said = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if running.cancelled() => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(PredictError::Interrupted);
            }
            Ok(None) => std::thread::sleep(PERIOD),
            Err(error) => return Err(failed("the run", &error)),
        }
    };
    let said = said.join().unwrap_or_default();
    if running.cancelled() {
        return Err(PredictError::Interrupted);
    }
    if status.success() && written.is_file() {
        return Ok(());
    }
    // If the program reports failure, its prediction does not count as a result and its trace is not replayed.
    let text = match std::fs::remove_file(written) {
        Ok(()) => ended(&said, status.code()),
        Err(_) => reason(&said, status.code()),
    };
    Err(PredictError::Program(text))
}

/// Describes how a predicted program ended, with the last line of the program's output that is not a note of mcpsim.
fn ended(said: &str, code: Option<i32>) -> String {
    let code = code.map_or("by a signal".to_owned(), |code| format!("with code {code}"));
    let is_output = |line: &&str| !line.is_empty() && !line.starts_with("note: ");
    let last = said.lines().map(str::trim).rfind(is_output);
    format!("the program ended {code}{}", last.map_or(String::new(), |last| format!(": {last}")))
}

/// Returns the error message of mcpsim in the output of a child process: the text after the last "error: ".
fn reason(said: &str, code: Option<i32>) -> String {
    match said.rfind("error: ") {
        Some(at) => said[at + "error: ".len()..].trim_end().to_owned(),
        None => format!("the run ended {}", code.map_or("by a signal".to_owned(), |code| format!("with code {code}"))),
    }
}
