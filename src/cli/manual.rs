//! `mcpsim completions` and `mcpsim man`: shell completions and man pages, generated from the definitions of the
//! arguments.

use std::path::PathBuf;

use clap::Parser;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::run::{Shipped, write_whole};

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
        let script = String::from_utf8_lossy(&script).into_owned();
        print(&if self.shell == Shell::Bash { with_names(&script) } else { script })
    }
}

/// Adds the names of shipped machines and applications to a completion script of bash.
fn with_names(script: &str) -> String {
    let names = |kind: Shipped| kind.all().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ");
    let files = "COMPREPLY=($(compgen -f \"${cur}\"))";
    let machines = format!("COMPREPLY=($(compgen -f -W \"{}\" -- \"${{cur}}\"))", names(Shipped::Platform));
    let mut is_platform = false;
    let line = |line: &str| {
        let of_platform = std::mem::replace(&mut is_platform, line.trim() == "--platform)");
        let line = if of_platform { line.replace(files, &machines) } else { line.to_owned() };
        line.replace(" [APP]", &format!(" {}", names(Shipped::Application))) + "\n"
    };
    script.lines().map(line).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_completes_names_of_machines_and_applications() {
        let script = "opts=\"-h [APP] run\"\n--platform)\n    COMPREPLY=($(compgen -f \"${cur}\"))\n--json)\n    \
                      COMPREPLY=($(compgen -f \"${cur}\"))\n";
        let found = with_names(script);
        let lines: Vec<&str> = found.lines().collect();
        assert!(lines[0].contains(" jacobi3d ") && !lines[0].contains("[APP]"), "{found}");
        assert!(lines[2].contains("-f -W \"archer2 ") && lines[4].ends_with("(compgen -f \"${cur}\"))"), "{found}");
    }
}
