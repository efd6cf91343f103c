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
        print(&match self.shell {
            Shell::Bash => with_names(&script),
            Shell::Zsh => zsh_with_names(&script),
            Shell::Fish => script + &fish_names(),
            _ => script,
        })
    }
}

/// Returns the names of shipped files of a kind, separated by blanks.
fn names(kind: Shipped) -> String {
    kind.all().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// Adds the names of shipped machines and applications to a completion script of zsh.
fn zsh_with_names(script: &str) -> String {
    let action = |kind: Shipped| format!(":{{_files; compadd -- {}}}' \\", names(kind));
    let (machines, applications) = (action(Shipped::Platform), action(Shipped::Application));
    let line = |line: &str| {
        let of = |option: &str| line.trim_start().starts_with(option);
        let stem = |end: &str| line.strip_suffix(end).map(str::to_owned);
        let completed = match () {
            () if of("'--platform=") => stem(":_default' \\").map(|stem| stem + &machines),
            () if of("'::app --") || of("':app --") => stem(":_files' \\").map(|stem| stem + &applications),
            () => None,
        };
        completed.unwrap_or_else(|| line.to_owned()) + "\n"
    };
    script.lines().map(line).collect()
}

/// Returns further lines of a completion script of fish: the names of shipped machines and applications.
fn fish_names() -> String {
    let (machines, applications) = (names(Shipped::Platform), names(Shipped::Application));
    let runs = "__fish_mcpsim_needs_command; or __fish_mcpsim_using_subcommand run sweep collectives models";
    format!(
        "complete -c mcpsim -n \"{runs}\" -l platform -r -a \"{machines}\"\n\
         complete -c mcpsim -n \"__fish_mcpsim_needs_command; or __fish_mcpsim_using_subcommand run sweep\" -a \
         \"{applications}\"\n"
    )
}

/// Adds the names of shipped machines and applications to a completion script of bash.
fn with_names(script: &str) -> String {
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
    fn zsh_and_fish_complete_names_of_machines_and_applications() {
        let script = "'--platform=[The machine]:FILE|NAME:_default' \\\n'::app -- The application:_files' \\\n\
                      '--json=[JSON]:FILE:_default' \\\n";
        let found = zsh_with_names(script);
        let lines: Vec<&str> = found.lines().collect();
        assert!(lines[0].starts_with("'--platform=[The machine]:FILE|NAME:{_files; compadd -- archer2 "), "{found}");
        assert!(lines[1].contains(":{_files; compadd -- ") && lines[1].contains(" jacobi3d "), "{found}");
        assert!(lines[0].ends_with("}' \\") && lines[2] == "'--json=[JSON]:FILE:_default' \\", "{found}");
        let fish = fish_names();
        let lines: Vec<&str> = fish.lines().collect();
        assert!(lines[0].contains("-l platform -r -a \"archer2 ") && lines[1].contains(" jacobi3d "), "{fish}");
    }

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
