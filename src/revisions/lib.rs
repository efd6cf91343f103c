//! Test over many revisions of a program: mcpsim checks out, builds and runs each revision, and a significance test
//! compares the revision with the previous revision.
//!
//! ```text
//! A..B ─(git)─▶ Commit … ─▶ tree, build (kept by commit) ─▶ runs (kept in a log) ─▶ RevisionTable: judged
//! ```
//!
//! The user's repository is only read: every revision gets its own git clone, which shares the objects of the
//! repository.
//!
//! The package `mcpsim-revisions` does not know how a run is simulated; it starts the simulation as a command. The
//! package does not know where results are stored; it stores them through a [`RunLog`].

mod checkout;
mod error;
mod file;
mod gate;
mod git;
mod judge;
mod shell;
mod table;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use mcpsim_core::config::InputHash;
use mcpsim_core::engine::Outcome;
use mcpsim_core::units::{SimSpan, SimTime};

use checkout::Checkouts;
pub use error::RevisionError;
pub use file::RevisionFile;
pub use gate::{Gate, GateResult};
pub use git::Commit;
pub use judge::{RevisionChange, Verdict, welch};
pub use table::{RevisionRow, RevisionTable};

/// Request of a test over the revisions of a program by `mcpsim revisions`.
#[derive(Clone, Debug, Default)]
pub struct RevisionRequest {
    /// Path of the user's git repository.
    pub repo: PathBuf,
    /// Shell command that builds a revision in its work tree; `None` if nothing is built.
    pub build: Option<String>,
    /// Program in the work tree with its arguments; for real runs the whole command.
    pub run: String,
    /// Tested revisions and ranges of revisions, in order.
    pub revisions: Vec<String>,
    /// Further sets of program arguments; every revision runs with every set.
    pub arguments: Vec<String>,
    /// Number of runs of each revision with each argument set.
    pub repeats: u32,
    /// True if the command runs on the host and mcpsim measures its time.
    pub real: bool,
    /// For real runs, the text in the output that precedes the number of seconds.
    pub time_after: Option<String>,
    /// Options of `mcpsim run` for simulated runs.
    pub options: Vec<String>,
    /// Content of the files that options name, from which the key of stored results is computed.
    pub given: Vec<u8>,
    /// Seed of the first run.
    pub seed: u64,
    /// Time limit of a build.
    pub build_timeout: Duration,
    /// Time limit of a run.
    pub run_timeout: Duration,
    /// Significance level: a change counts if chance alone causes such a change with a lower probability.
    pub alpha: f64,
    /// Least change of a value that counts, in percent.
    pub least_percent: f64,
    /// True if a bisection searches for the first change, so that only some revisions run.
    pub bisect: bool,
    /// Directory that stores the work trees and builds of revisions.
    pub cache: PathBuf,
    /// Executable that simulates runs (mcpsim).
    pub mcpsim: PathBuf,
}

/// Progress messages of a test over revisions.
#[derive(Clone, Debug)]
pub enum RevisionNote {
    /// The user's repository has uncommitted changes in the stated number of files.
    Dirty(usize),
    /// The build of the stated revision starts.
    Builds(Commit),
    /// The runs of the stated revision start; the second value is the number of runs.
    Runs(Commit, usize),
}

/// Results of finished runs by the hash of their inputs.
pub trait RunLog {
    /// Returns the result of a finished run with the input hash `key`.
    fn outcome(&self, key: InputHash) -> Option<&Outcome>;

    /// Adds the result of a run with the input hash `key`.
    ///
    /// # Errors
    /// The result of the run cannot be stored.
    fn append(&mut self, key: InputHash, outcome: Outcome) -> Result<(), RevisionError>;
}

/// A test over revisions that is ready to run.
#[derive(Debug)]
pub struct RevisionTest<'a> {
    request: &'a RevisionRequest,
    checkouts: Checkouts<'a>,
    commits: Vec<Commit>,
    cancelled: &'a AtomicBool,
}

impl<'a> RevisionTest<'a> {
    /// Resolves the names of the requested revisions. The test ends early when `cancelled` is true.
    ///
    /// # Errors
    /// The request is invalid, the repository is unusable, or a revision does not exist.
    pub fn load(request: &'a RevisionRequest, cancelled: &'a AtomicBool) -> Result<Self, RevisionError> {
        let wrong = |what: String| Err(RevisionError::input(what));
        if request.run.trim().is_empty() {
            return wrong("--run: expected a program, such as './app 100'".to_owned());
        }
        if request.revisions.is_empty() {
            return wrong("expected revisions, such as v1.0 v1.1 or v1.0..main".to_owned());
        }
        if !(request.alpha > 0.0 && request.alpha < 1.0) {
            return wrong(format!("--alpha {}: expected a probability between 0 and 1 such as 0.01", request.alpha));
        }
        if !(request.least_percent >= 0.0 && request.least_percent.is_finite()) {
            return wrong(format!("--least {}: expected percent, such as 0.5", request.least_percent));
        }
        let repository = git::Repository::open(&request.repo)?;
        let commits = repository.commits(&request.revisions)?;
        let checkouts = Checkouts::new(request, repository);
        Ok(RevisionTest { request, checkouts, commits, cancelled })
    }

    /// Returns the revisions in the order of comparison.
    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Executes all missing runs of the test, or the runs that a bisection needs.
    ///
    /// # Errors
    /// The log of results cannot be written, or the user interrupts; finished runs remain in the log.
    pub fn run(&self, log: &mut dyn RunLog, say: &dyn Fn(&RevisionNote)) -> Result<RevisionTable, RevisionError> {
        let changed = self.checkouts.repository.uncommitted()?;
        if changed > 0 {
            say(&RevisionNote::Dirty(changed));
        }
        let mut rows: Vec<Option<Vec<RevisionRow>>> = vec![None; self.commits.len()];
        let mut table = RevisionTable::new(self.request);
        if self.request.bisect {
            table.first_change = self.bisect(&mut rows, log, say)?;
        } else {
            for (index, row) in rows.iter_mut().enumerate() {
                *row = Some(self.rows_of(index, log, say)?);
            }
        }
        table.revisions = rows.into_iter().flatten().flatten().collect();
        table.judge();
        Ok(table)
    }

    /// Returns the first revision whose results differ from those of the oldest revision, if the results of the newest
    /// revision also differ from those of the oldest.
    fn bisect(
        &self,
        rows: &mut [Option<Vec<RevisionRow>>],
        log: &mut dyn RunLog,
        say: &dyn Fn(&RevisionNote),
    ) -> Result<Option<String>, RevisionError> {
        let last = self.commits.len() - 1;
        for end in [0, last] {
            rows[end] = Some(self.rows_of(end, log, say)?);
        }
        let differs = |rows: &[Option<Vec<RevisionRow>>], index: usize| {
            let (Some(first), Some(other)) = (&rows[0], &rows[index]) else { return false };
            first.iter().zip(other).any(|(first, other)| RevisionTable::differ(self.request, first, other))
        };
        let failed = |rows: &[Option<Vec<RevisionRow>>], index: usize| {
            rows[index].as_ref().is_some_and(|rows| rows.iter().any(|row| row.times_s.is_empty()))
        };
        if failed(rows, 0) || failed(rows, last) || !differs(rows, last) {
            return Ok(None);
        }
        let (mut good, mut bad) = (0, last);
        while bad - good > 1 {
            // A revision that cannot be built is skipped, and neighbouring revisions are tried.
            let middle = good + (bad - good) / 2;
            let mut between: Vec<usize> = (good + 1..bad).filter(|&index| !failed(rows, index)).collect();
            between.sort_by_key(|index| index.abs_diff(middle));
            let Some(&next) = between.first() else { break };
            if rows[next].is_none() {
                rows[next] = Some(self.rows_of(next, log, say)?);
            }
            if failed(rows, next) {
                continue;
            }
            if differs(rows, next) {
                bad = next;
            } else {
                good = next;
            }
        }
        Ok(Some(self.commits[bad].short()))
    }

    /// Returns the result rows of a revision, one row per argument set.
    fn rows_of(
        &self,
        index: usize,
        log: &mut dyn RunLog,
        say: &dyn Fn(&RevisionNote),
    ) -> Result<Vec<RevisionRow>, RevisionError> {
        let commit = &self.commits[index];
        let keys = |arguments: &str| -> Vec<InputHash> {
            (0..self.request.repeats).map(|repeat| self.key(commit, arguments, repeat)).collect()
        };
        let one = vec![String::new()];
        let all = if self.request.arguments.is_empty() { &one } else { &self.request.arguments };
        let missing =
            all.iter().flat_map(|arguments| keys(arguments)).filter(|key| log.outcome(*key).is_none()).count();
        let tree = match missing {
            0 => None,
            _ => match self.checkouts.built(commit, self.cancelled, say) {
                Ok(tree) => Some(tree),
                Err(RevisionError::Interrupted) => return Err(RevisionError::Interrupted),
                Err(error) => {
                    let text = error.to_string();
                    return Ok(all.iter().map(|arguments| RevisionRow::failed(commit, arguments, &text)).collect());
                }
            },
        };
        if missing > 0 {
            say(&RevisionNote::Runs(commit.clone(), missing));
        }
        let mut rows = Vec::new();
        for arguments in all {
            let mut row = RevisionRow::new(commit, arguments);
            for (repeat, key) in (0..).zip(keys(arguments)) {
                if let Some(outcome) = log.outcome(key) {
                    row.add(outcome);
                    continue;
                }
                let Some(tree) = &tree else { continue };
                match self.once(tree, arguments, repeat) {
                    Ok(outcome) => {
                        row.add(&outcome);
                        log.append(key, outcome)?;
                    }
                    Err(RevisionError::Interrupted) => return Err(RevisionError::Interrupted),
                    Err(error) => {
                        row.fail(&error.to_string());
                        break;
                    }
                }
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Returns the hash of all inputs of a revision's run.
    fn key(&self, commit: &Commit, arguments: &str, repeat: u32) -> InputHash {
        let request = self.request;
        InputHash::of(&[
            ("mcpsim", env!("CARGO_PKG_VERSION").as_bytes()),
            ("commit", commit.hash.as_bytes()),
            ("build", request.build.as_deref().unwrap_or_default().as_bytes()),
            ("run", request.run.as_bytes()),
            ("arguments", arguments.as_bytes()),
            ("options", request.options.join("\0").as_bytes()),
            ("given", &request.given),
            ("real", &[u8::from(request.real)]),
            ("after", request.time_after.as_deref().unwrap_or_default().as_bytes()),
            ("repeat", &repeat.to_le_bytes()),
            ("seed", &request.seed.to_le_bytes()),
        ])
    }

    /// Executes one run of a revision and returns its Outcome, reduced to the data that a study stores.
    fn once(&self, tree: &std::path::Path, arguments: &str, repeat: u32) -> Result<Outcome, RevisionError> {
        let request = self.request;
        let line = format!("{} {arguments}", request.run);
        let shell =
            shell::Shell { tree, mcpsim: &request.mcpsim, timeout: request.run_timeout, cancelled: self.cancelled };
        if request.real {
            let began = Instant::now();
            let said = shell.run("the run", "--run-timeout", &line, &[])?;
            let seconds = match &request.time_after {
                None => began.elapsed().as_secs_f64(),
                Some(text) => after(&said.stdout, text).ok_or_else(|| {
                    RevisionError::input(format!("the run printed no number of seconds after \"{text}\""))
                })?,
            };
            let span = SimSpan::from_seconds(seconds).ok_or_else(|| {
                let text = request.time_after.as_deref().unwrap_or_default();
                let what = format!("printed {seconds:e} after \"{text}\", expected seconds from 0 to 213 days");
                RevisionError::input(format!("the run {what}"))
            })?;
            // A real run has no simulated ranks, so its Outcome has only a time.
            return Ok(Outcome { predicted: SimTime::ZERO + span, ..Outcome::default() });
        }
        let place = tempfile::tempdir()
            .map_err(|error| RevisionError::input(format!("cannot create a temporary directory: {error}")))?;
        let json = place.path().join("outcome.json");
        let mut words = vec!["run".to_owned(), "--quiet".to_owned(), "--json".to_owned(), json.display().to_string()];
        words.extend(["--seed".to_owned(), (request.seed + u64::from(repeat)).to_string()]);
        words.extend(request.options.iter().cloned());
        shell.run("the run", "--run-timeout", &format!("exec \"$MCPSIM\" \"$@\" {line}"), &words)?;
        let failed = |error: &dyn std::fmt::Display| RevisionError::input(format!("the outcome: {error}"));
        let text = std::fs::read_to_string(&json).map_err(|error| failed(&error))?;
        let outcome: Outcome = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        Ok(outcome.of_point())
    }
}

/// Returns the number that follows the last occurrence of `text` in the program's output.
fn after(printed: &str, text: &str) -> Option<f64> {
    let (_, rest) = printed.rsplit_once(text)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ".eE+-".contains(c))).unwrap_or(rest.len());
    rest[..end].parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_after_the_text_is_the_time() {
        assert_eq!(after("time: 1 s\ntime: 2.5e-1 s\n", "time:"), Some(0.25));
        assert_eq!(after("time: soon", "time:"), None);
        assert_eq!(after("no", "time:"), None);
        assert_eq!(after("time: -1", "time:"), None);
    }
}
