//! `mcpsim completions` and `mcpsim man`: shell completions and man pages, generated from the definitions of the
//! arguments.

use std::path::PathBuf;

use clap::Parser;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::run::write_whole;

use super::commands::command;
use super::exit::Failure;
use super::output::{cannot_write, print};

const SHELLS: &str = "\
Examples:
  bash, for this user
    mcpsim completions bash > ~/.local/share/bash-completion/completions/mcpsim
  zsh, into a directory of fpath
    mcpsim completions zsh > _mcpsim
  fish
    mcpsim completions fish > ~/.config/fish/completions/mcpsim.fish";

const PAGES: &str = "\
Examples:
  Show the manual page of mcpsim itself
    mcpsim man | man -l -
  Write one manual page per command, for this user
    mcpsim man ~/.local/share/man/man1";

/// Prints the argument-completion script of a shell
#[derive(Clone, Debug, Parser)]
#[command(after_help = SHELLS)]
pub(super) struct CompletionArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionArgs {
    pub fn print(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "mcpsim", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

/// Prints the manual page, or writes one page per command into a directory
#[derive(Clone, Debug, Parser)]
#[command(after_help = PAGES)]
pub(super) struct ManualArgs {
    /// Directory of the pages
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl ManualArgs {
    pub fn write(&self) -> Result<(), Failure> {
        let Some(directory) = &self.directory else {
            let mut page = Vec::new();
            Man::new(command()).render(&mut page).map_err(|error| cannot_write("the page", &error))?;
            return print(&String::from_utf8_lossy(&page));
        };
        let failed = |error| cannot_write(&directory.display().to_string(), &error);
        std::fs::create_dir_all(directory).map_err(failed)?;
        let made = tempfile::tempdir().map_err(failed)?;
        clap_mangen::generate_to(command(), made.path()).map_err(failed)?;
        for page in std::fs::read_dir(made.path()).map_err(failed)? {
            let page = page.map_err(failed)?;
            let text = std::fs::read(page.path()).map_err(failed)?;
            write_whole(&directory.join(page.file_name()), text).map_err(failed)?;
        }
        Ok(())
    }
}
