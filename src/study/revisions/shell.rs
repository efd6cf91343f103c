//! Commands of the user: run by a shell in a tree, for so long and no longer.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::run::PredictError;
use crate::study::Running;

/// How often a command is looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// Where and how commands run.
pub(super) struct Shell<'a> {
    pub tree: &'a Path,
    /// The program that commands find as `mcpsim`.
    pub mcpsim: &'a Path,
    pub timeout: Duration,
    pub running: &'a Running,
}

/// What a command printed.
pub(super) struct CommandOutput {
    pub stdout: String,
}

impl Shell<'_> {
    /// Runs `line` with these positional parameters; `what` it is and the `option` that gives it more time are told in errors.
    pub fn run(&self, what: &str, option: &str, line: &str, words: &[String]) -> Result<CommandOutput, PredictError> {
        let directory = self.mcpsim.parent().unwrap_or(Path::new("/"));
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&paths));
        let paths = std::env::join_paths(paths).map_err(|error| PredictError::input(format!("PATH: {error}")))?;
        let mut child = Command::new("sh")
            .args(["-c", line, "sh"])
            .args(words)
            .current_dir(self.tree)
            .env("PATH", paths)
            .env("MCPSIM", self.mcpsim)
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // All that the command starts ends with it.
            .process_group(0)
            .spawn()
            .map_err(|error| PredictError::input(format!("{what}: cannot start a shell: {error}")))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdout = std::thread::spawn(move || read(stdout));
        let stderr = std::thread::spawn(move || read(stderr));
        let ended = self.wait(&mut child);
        // What the command left running would keep its output open.
        kill(&child);
        let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
        let status = match ended {
            Some(status) => status,
            None if self.running.cancelled() => return Err(PredictError::Interrupted),
            None => {
                let seconds = self.timeout.as_secs_f64();
                return Err(PredictError::Program(format!(
                    "{what} took more than {seconds} s and was ended ({option})"
                )));
            }
        };
        if status.success() {
            return Ok(CommandOutput { stdout });
        }
        let code = status.code().map_or("by a signal".to_owned(), |code| format!("with code {code}"));
        let mut lines = stderr.lines().chain(stdout.lines()).map(str::trim).filter(|line| !line.is_empty());
        // Compilers end with a count of errors, so the first error is what is told.
        let error = lines.clone().find(|line| line.contains("error")).or(lines.next_back());
        Err(PredictError::Program(format!(
            "{what} ended {code}{}",
            error.map_or(String::new(), |line| format!(": {line}"))
        )))
    }

    fn wait(&self, child: &mut Child) -> Option<std::process::ExitStatus> {
        let began = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if !self.running.cancelled() && began.elapsed() < self.timeout => std::thread::sleep(PERIOD),
                _ => {
                    kill(child);
                    let _ = child.wait();
                    return None;
                }
            }
        }
    }
}

/// Ends the command's group.
fn kill(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn read(pipe: Option<impl Read>) -> String {
    let mut text = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}
