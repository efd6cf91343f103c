//! Read-only access to a git repository through the program `git`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::RevisionError;

/// Commit of the user's git repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Full hash of the commit.
    pub hash: String,
    /// Date of the commit: YYYY-MM-DD.
    pub date: String,
    /// First line of the commit message.
    pub subject: String,
}

impl Commit {
    /// Returns the abbreviated commit hash.
    pub fn short(&self) -> String {
        self.hash.chars().take(10).collect()
    }
}

/// The user's git repository, which is only read.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// Path of the repository as the user wrote it.
    shown: String,
    /// Directory inside the repository that the user named.
    path: PathBuf,
    /// Directory with the repository's objects and references, from which revisions are cloned.
    pub source: PathBuf,
}

impl Repository {
    pub fn open(path: &Path) -> Result<Repository, RevisionError> {
        let shown = path.display().to_string();
        if !path.is_dir() {
            return Err(RevisionError::input(format!("--repo {shown}: no such directory")));
        }
        let mut repository = Repository { shown: shown.clone(), path: path.to_owned(), source: PathBuf::new() };
        // A clone of a linked git work tree is made from the repository to which the work tree belongs.
        match repository.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]) {
            Ok(source) => {
                repository.source = PathBuf::from(source.trim_end_matches('\n'));
                Ok(repository)
            }
            Err(Said::NoGit(error)) => Err(RevisionError::input(format!("git cannot be started: {error}"))),
            Err(Said::Error(text)) if text.contains("not a git repository") => {
                Err(RevisionError::input(format!("--repo {shown}: this is no git repository")))
            }
            Err(Said::Error(text)) => Err(RevisionError::input(format!("--repo {shown}: git says: {text}"))),
        }
    }

    /// Runs git and returns its output, or the last line of git's error output.
    fn git(&self, arguments: &[&str]) -> Result<String, Said> {
        let output = Command::new("git")
            .arg("-C")
            .arg(&self.path)
            .args(arguments)
            // git must not write to the repository, not even to refresh its index.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            // Git sets the variables GIT_… for its hooks, and a hook may run mcpsim.
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Said::NoGit(error.to_string()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Said::Error(text.lines().last().unwrap_or("nothing").trim().to_owned()))
    }

    /// Returns the named revisions without duplicates. A range `A..B` yields commit A and the first-parent commits from
    /// A to B, the oldest commit first.
    pub fn commits(&self, revisions: &[String]) -> Result<Vec<Commit>, RevisionError> {
        let mut found: Vec<Commit> = Vec::new();
        for revision in revisions {
            if let Some((from, to)) = revision.split_once("...") {
                let shown = &self.shown;
                let what = format!("--repo {shown}: {revision}: expected a range with two dots, {from}..{to}");
                return Err(RevisionError::input(what));
            }
            let hashes = match revision.split_once("..") {
                Some((from, to)) => self.range(revision, from, to)?,
                None => vec![self.hash(revision)?],
            };
            for hash in hashes {
                if !found.iter().any(|commit| commit.hash == hash) {
                    found.push(self.commit(&hash)?);
                }
            }
        }
        Ok(found)
    }

    fn hash(&self, revision: &str) -> Result<String, RevisionError> {
        let wanted = format!("{revision}^{{commit}}");
        match self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]) {
            Ok(hash) if !revision.is_empty() => Ok(hash.trim().to_owned()),
            _ => Err(RevisionError::input(format!("--repo {}: no revision \"{revision}\" in it", self.shown))),
        }
    }

    fn range(&self, range: &str, from: &str, to: &str) -> Result<Vec<String>, RevisionError> {
        let (from, to) = (self.hash(from)?, self.hash(if to.is_empty() { "HEAD" } else { to })?);
        let wrong = |what: &str| RevisionError::input(format!("--repo {}: {range}: {what}", self.shown));
        let list = self
            .git(&["rev-list", "--reverse", "--first-parent", &format!("{from}..{to}")])
            .map_err(|_| wrong("git cannot list this range"))?;
        let rest: Vec<String> = list.lines().map(str::to_owned).collect();
        if rest.is_empty() {
            return Err(wrong("expected the older revision first; the first revision is no ancestor of the second"));
        }
        Ok(std::iter::once(from).chain(rest).collect())
    }

    fn commit(&self, hash: &str) -> Result<Commit, RevisionError> {
        let told = self.git(&["log", "-1", "--format=%cs%x09%s", hash]);
        let what = || format!("--repo {}: git cannot show the revision {hash}", self.shown);
        let told = told.map_err(|_| RevisionError::input(what()))?;
        let (date, subject) = told.trim_end().split_once('\t').unwrap_or(("", ""));
        Ok(Commit { hash: hash.to_owned(), date: date.to_owned(), subject: subject.to_owned() })
    }

    /// Returns the number of files with uncommitted changes in the user's work tree.
    pub fn uncommitted(&self) -> Result<usize, RevisionError> {
        let told = self.git(&["status", "--porcelain", "--untracked-files=no"]);
        // A bare git repository has no work tree, so it has no uncommitted changes.
        Ok(told.map_or(0, |text| text.lines().count()))
    }
}

/// Reason why git has returned no output.
enum Said {
    NoGit(String),
    Error(String),
}
