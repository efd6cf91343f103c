//! Shell commands of the user, which run in the work tree of a revision with a time limit.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::RevisionError;

/// Interval in which mcpsim polls a running shell command.
const PERIOD: Duration = Duration::from_millis(5);

/// Time for which the output may stay open after the shell command has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// Number of bytes at the start of a command's output that are stored, and least number of bytes at the end of the
/// output.
const KEPT: usize = 1 << 20;

/// Environment in which the user's shell commands run.
pub(crate) struct Shell<'a> {
    pub tree: &'a Path,
    /// Path of mcpsim, which shell commands find under the name `mcpsim`.
    pub mcpsim: &'a Path,
    pub timeout: Duration,
    /// True if the running shell command has to end.
    pub cancelled: &'a AtomicBool,
}

/// Output of a finished shell command.
pub(crate) struct CommandOutput {
    pub stdout: String,
}

impl Shell<'_> {
    /// Runs the shell command `line` with the positional parameters `words`. Error messages contain the command's name
    /// `what` and the `option` that extends the time limit.
    pub fn run(&self, what: &str, option: &str, line: &str, words: &[String]) -> Result<CommandOutput, RevisionError> {
        let directory = self.mcpsim.parent().unwrap_or(Path::new("/"));
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&paths));
        let paths = std::env::join_paths(paths).map_err(|error| RevisionError::input(format!("PATH: {error}")))?;
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
            // The shell command gets a process group, so all processes that it starts can be killed together.
            .process_group(0)
            .spawn()
            .map_err(|error| RevisionError::input(format!("{what}: cannot start a shell: {error}")))?;
        let (stdout, stderr) = (ShellOutput::of(child.stdout.take()), ShellOutput::of(child.stderr.take()));
        let ended = self.wait(&mut child);
        // Child processes that outlive the shell command would keep the output open.
        kill(&child);
        let (stdout, stderr) = (stdout.text(), stderr.text());
        let status = match ended {
            Some(status) => status,
            None if self.cancelled.load(Ordering::SeqCst) => return Err(RevisionError::Interrupted),
            None => {
                let seconds = self.timeout.as_secs_f64();
                return Err(RevisionError::Program(format!(
                    "{what} took more than {seconds} s and was ended ({option})"
                )));
            }
        };
        if status.success() {
            return Ok(CommandOutput { stdout });
        }
        let code = status.code().map_or("by a signal".to_owned(), |code| format!("with code {code}"));
        let mut lines = stderr.lines().chain(stdout.lines()).map(str::trim).filter(|line| !line.is_empty());
        // The last line of a compiler's output is a count of errors, so the first line with an error is reported.
        let error = lines.clone().find(|line| line.contains("error")).or(lines.next_back());
        Err(RevisionError::Program(format!(
            "{what} ended {code}{}",
            error.map_or(String::new(), |line| format!(": {line}"))
        )))
    }

    fn wait(&self, child: &mut Child) -> Option<std::process::ExitStatus> {
        let began = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if !self.cancelled.load(Ordering::SeqCst) && began.elapsed() < self.timeout => {
                    std::thread::sleep(PERIOD)
                }
                _ => {
                    kill(child);
                    let _ = child.wait();
                    return None;
                }
            }
        }
    }
}

/// Kills the process group of the shell command.
fn kill(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Output of a shell command, which a thread reads.
struct ShellOutput {
    kept: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl ShellOutput {
    fn of(pipe: Option<impl Read + Send + 'static>) -> ShellOutput {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (close, closed) = channel();
        let into = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut piece = [0; 1 << 14];
            if let Some(mut pipe) = pipe {
                while let Ok(length @ 1..) = pipe.read(&mut piece) {
                    keep(&mut into.lock().unwrap_or_else(PoisonError::into_inner), &piece[..length]);
                }
            }
            let _ = close.send(());
        });
        ShellOutput { kept, closed }
    }

    /// Returns the output of the shell command. If a process outside the process group keeps the output open, the
    /// result is incomplete.
    fn text(self) -> String {
        let _ = self.closed.recv_timeout(DRAIN);
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// Appends the output `piece` to the stored output `kept`. If the output becomes too long, lines in its middle are
/// dropped.
fn keep(kept: &mut Vec<u8>, piece: &[u8]) {
    kept.extend_from_slice(piece);
    if kept.len() > 4 * KEPT {
        kept.drain(KEPT..kept.len() - KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_much_output_beginning_and_end_are_kept() {
        let mut kept = b"first\n".to_vec();
        for _ in 0..1000 {
            keep(&mut kept, &[b'x'; 1 << 14]);
        }
        keep(&mut kept, b"last");
        assert!(kept.starts_with(b"first\n") && kept.ends_with(b"last") && kept.len() <= 4 * KEPT, "{}", kept.len());
    }
}
