//! `mcpsim init`: writes a commented file of a machine, an application or a study after few questions.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

use crate::app::App;
use crate::config::Document;
use crate::platform::Platform;
use crate::run::directory_of;
use crate::study::StudyFile;

use super::exit::Failure;
use super::output::{cannot_write, print};

const EXAMPLES: &str = "\
Examples:
  A machine, after five questions
    mcpsim init machine -o mine.toml
  An application and a study of it, with all defaults
    mcpsim init app --yes
    mcpsim init study --yes";

/// Writes a commented file of a machine, an application or a study
#[derive(Clone, Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(super) struct InitArgs {
    /// Kind of the file
    #[arg(value_name = "KIND")]
    kind: InitKind,

    /// The new file; default: KIND.toml
    #[arg(long, short, value_name = "FILE.toml")]
    output: Option<PathBuf>,

    /// Ask no questions
    #[arg(long, short)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InitKind {
    Machine,
    App,
    Study,
}

/// Question about a value of a template: placeholder, question, default answer.
type InitQuestion = (&'static str, &'static str, &'static str);

impl InitKind {
    /// Returns the template, its questions, and the command to try next.
    fn template(self) -> (&'static str, &'static [InitQuestion], &'static str) {
        match self {
            InitKind::Machine => (
                include_str!("init/machine.toml"),
                &[
                    ("NAME", "name of the machine", "mine"),
                    ("SHAPE", "nodes, CMPs (sockets) per node, cores per CMP", "8, 2, 12"),
                    ("FLOPS", "floating-point rate of a core", "20 Gflop/s"),
                    ("LATENCY", "latency of a message between nodes", "1.5 us"),
                    ("BANDWIDTH", "bandwidth of a message between nodes", "11 GB/s"),
                ],
                "mcpsim --platform FILE jacobi3d",
            ),
            InitKind::App => (
                include_str!("init/app.toml"),
                &[
                    ("NAME", "name of the application", "app"),
                    ("STEPS", "number of steps", "10"),
                    ("WORK", "floating-point operations per step, on all ranks together", "1e9"),
                    ("HALO", "size of a message to a neighbour", "64 KiB"),
                ],
                "mcpsim --nct 4,2,2 FILE",
            ),
            InitKind::Study => (
                include_str!("init/study.toml"),
                &[
                    ("NAME", "name of the study", "scaling"),
                    ("APP", "application: a file or a name from mcpsim list", "jacobi3d"),
                    ("SHAPE", "nodes, CMPs per node, cores per CMP", "8,2,2"),
                    ("RANKS", "numbers of ranks", "1..32:x2"),
                ],
                "mcpsim sweep FILE",
            ),
        }
    }

    /// Checks that mcpsim can read the text of the file `path`.
    fn check(self, path: &Path, text: &str) -> Result<(), Failure> {
        let document = Document::parse(&path.display().to_string(), text)?;
        match self {
            InitKind::Machine => drop(Platform::load(document, &[])?),
            InitKind::App => drop(App::load(document, &[])?),
            InitKind::Study => drop(StudyFile::load(&document)?),
        }
        Ok(())
    }
}

/// Executes the command `mcpsim init`.
pub(super) fn init(args: &InitArgs) -> Result<(), Failure> {
    let (template, questions, next) = args.kind.template();
    let value = args.kind.to_possible_value().expect("every kind has a name");
    let path = args.output.clone().unwrap_or_else(|| format!("{}.toml", value.get_name()).into());
    let shown = path.display().to_string();
    if path.exists() {
        return Err(Failure::bad_input(format!("{shown}: this file exists already: expected a new file (-o FILE)")));
    }
    let mut text = template.to_owned();
    for (placeholder, question, default) in questions {
        let answer = if args.yes { (*default).to_owned() } else { answer(question, default)? };
        let answer = answer.replace('\\', "\\\\").replace('"', "\\\"");
        text = text.replacen(placeholder, &answer, 1);
    }
    args.kind.check(&path, &text)?;
    let failed = |error| cannot_write(&shown, &error);
    let mut file = tempfile::NamedTempFile::new_in(directory_of(&path)).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist_noclobber(&path).map_err(|error| failed(error.error))?;
    print(&format!("{shown}\nnext: {}\n", next.replace("FILE", &shown)))
}

/// Returns the user's answer to a question; an empty line or the end of the input selects the default.
fn answer(question: &str, default: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "{question} [{default}]: ").and_then(|()| stderr.flush());
    let mut line = String::new();
    stdin.lock().read_line(&mut line).map_err(|error| Failure::bad_input(format!("stdin: {error}")))?;
    if !stdin.is_terminal() {
        let _ = writeln!(stderr);
    }
    let line = line.trim();
    Ok(if line.is_empty() { default.to_owned() } else { line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_valid_with_its_default_answers() {
        for kind in [InitKind::Machine, InitKind::App, InitKind::Study] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("new.toml");
            let args = InitArgs { kind, output: Some(path.clone()), yes: true };
            init(&args).unwrap_or_else(|failure| panic!("{kind:?}: {}", failure.text));
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("# ") && text.lines().all(|line| line.len() <= 120), "{text}");
            let again = init(&args).unwrap_err();
            assert!(again.text.ends_with("this file exists already: expected a new file (-o FILE)"), "{}", again.text);
        }
    }
}
