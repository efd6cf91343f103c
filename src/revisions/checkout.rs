//! Work trees of a program's revisions and their builds, stored by commit hash.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use mcpsim_core::config::InputHash;

use super::git::Repository;
use super::shell::Shell;
use super::{Commit, RevisionError, RevisionNote, RevisionRequest};

/// Work trees of the revisions of one repository, built with one build command.
#[derive(Debug)]
pub(crate) struct Checkouts<'a> {
    request: &'a RevisionRequest,
    pub repository: Repository,
    directory: PathBuf,
}

impl<'a> Checkouts<'a> {
    pub fn new(request: &'a RevisionRequest, repository: Repository) -> Self {
        let path = repository.source.display().to_string();
        let build = request.build.as_deref().unwrap_or_default();
        let key = InputHash::of(&[("repository", path.as_bytes()), ("build", build.as_bytes())]).to_string();
        let directory = request.cache.join("revisions").join(&key[..16]);
        Checkouts { request, repository, directory }
    }

    /// Returns the work tree of a revision after its build. An interrupted build is repeated, not used.
    pub fn built(
        &self,
        commit: &Commit,
        cancelled: &AtomicBool,
        say: &dyn Fn(&RevisionNote),
    ) -> Result<PathBuf, RevisionError> {
        let place = self.directory.join(&commit.hash);
        let (tree, mark) = (place.join("tree"), place.join("built"));
        if mark.is_file() && tree.is_dir() {
            return Ok(tree);
        }
        let failed = |error: std::io::Error| RevisionError::input(format!("{}: {error}", place.display()));
        if place.exists() {
            fs::remove_dir_all(&place).map_err(failed)?;
        }
        fs::create_dir_all(&place).map_err(failed)?;
        let (request, quoted) =
            (self.request, |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''")));
        let shell = |tree| Shell { tree, mcpsim: &request.mcpsim, timeout: request.build_timeout, cancelled };
        let git = format!(
            "git -c core.hooksPath=/dev/null clone --quiet --shared --no-checkout -- {} tree && \
             git -c core.hooksPath=/dev/null -C tree checkout --quiet --detach {}",
            quoted(&self.repository.source),
            commit.hash
        );
        shell(&place).run("the checkout", "--build-timeout", &git, &[])?;
        if let Some(build) = &request.build {
            say(&RevisionNote::Builds(commit.clone()));
            shell(&tree).run("the build", "--build-timeout", build, &[])?;
        }
        fs::write(&mark, "").map_err(failed)?;
        Ok(tree)
    }
}
