//! mcpsim under the name of a launcher: `mpiexec` and `mpirun` next to `mpicc`, for build systems and scripts that
//! require these names.
//!
//! `mpiexec -n 4 ./a.out args` simulates four ranks of a program that `mcpsim cc` has compiled, by default on one node
//! with as many cores. mcpsim prints only the output of the simulated program. The environment variable `MCPSIM_NCT`
//! selects another machine shape. A colon separates several programs of one simulation run.

mod options;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::run::is_elf;

use super::exit::Failure;
use options::{LauncherOption, OptionEffect};

/// Names of launchers that mcpsim accepts as its own name.
const NAMES: [&str; 4] = ["mpiexec", "mpirun", "orterun", "mpiexec.hydra"];
/// Arguments with which a launcher only prints its version.
const VERSION: [&str; 3] = ["mpichversion", "mpiexec.version", "ompi_info"];

/// Parsed command line of an MPI launcher.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// Print the text, such as a version or a help text.
    Show(String),
    /// Simulate the run that the launcher's command line requests.
    Run(LaunchedRun),
}

/// Simulation run that a launcher's command line requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LaunchedRun {
    /// Equivalent command line of mcpsim, one element per word.
    pub words: Vec<OsString>,
    /// Text of an application file in TOML, if no existing file describes the whole run.
    pub text: Option<String>,
    /// Options of the launcher that affect only a real machine and are ignored.
    pub ignored: Vec<String>,
}

impl LaunchedRun {
    /// Prints the ignored launcher options on stderr.
    pub fn tell_ignored(&self, name: &str) {
        if !self.ignored.is_empty() {
            let options = self.ignored.join(" ");
            let note = format!(
                "note: {name}: these options have no effect: {options} (MCPSIM_NCT=NODES,CMPS,CORES sets \
                         the simulated machine)"
            );
            let _ = writeln!(std::io::stderr(), "{note}");
        }
    }
}

/// Parses the command line as that of a launcher if `name` is the name of a launcher.
///
/// # Errors
/// The launcher's command line has no program, or no valid number of ranks.
pub(super) fn read(
    name: &str,
    arguments: &[OsString],
    variable: impl Fn(&str) -> Option<String>,
) -> Option<Result<Launch, Failure>> {
    if VERSION.contains(&name) {
        return Some(Ok(Launch::Show(version())));
    }
    NAMES.contains(&name).then(|| LaunchLine { name, arguments, at: 0 }.read(&variable))
}

fn version() -> String {
    format!("mcpsim {}\n", env!("CARGO_PKG_VERSION"))
}

/// Program with its options: the words between two colons of the launcher's command line.
#[derive(Debug, Default)]
struct LaunchPart {
    ranks: Option<u32>,
    directory: Option<String>,
    environment: Vec<(String, String)>,
    program: String,
    arguments: Vec<OsString>,
}

impl LaunchPart {
    /// Returns the path of the program, which is searched in the directory that an option sets, in the current
    /// directory, or in `PATH`.
    fn file(&self, path: Option<&str>) -> PathBuf {
        let here = Path::new(self.directory.as_deref().unwrap_or_default()).join(&self.program);
        if here.exists() || self.program.contains('/') {
            return here;
        }
        let found = std::env::split_paths(path.unwrap_or_default()).map(|directory| directory.join(&self.program));
        found.into_iter().find(|path| is_elf(path)).unwrap_or(here)
    }
}

/// Command line of a launcher that is parsed word by word.
struct LaunchLine<'a> {
    name: &'a str,
    arguments: &'a [OsString],
    at: usize,
}

impl LaunchLine<'_> {
    fn wrong(&self, what: &str) -> Failure {
        let name = self.name;
        Failure::bad_input(format!("{name}: {what}: expected {name} -n RANKS PROGRAM [ARGUMENTS] [: …]"))
    }

    /// Returns the next word of the command line, which is an operand of `option`. If the operand is missing, the error
    /// message describes it by `kind`.
    fn word(&mut self, option: &str, kind: &str) -> Result<String, Failure> {
        let word = self.arguments.get(self.at).and_then(|word| word.to_str());
        let word = word.ok_or_else(|| self.wrong(&format!("{option}: {kind} is missing")))?.to_owned();
        self.at += 1;
        Ok(word)
    }

    fn read(mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Launch, Failure> {
        let mut parts = Vec::new();
        // Options that apply to all programs, options without effect, and the number of ranks per node.
        let (mut general, mut ignored, mut per_node) = (LaunchPart::default(), Vec::new(), None);
        while self.at < self.arguments.len() || parts.is_empty() {
            let mut part = LaunchPart::default();
            while let Some(word) =
                self.arguments.get(self.at).and_then(|word| word.to_str()).filter(|word| word.starts_with('-'))
            {
                let typed = word.to_owned();
                self.at += 1;
                let (option, given) = LauncherOption::find(&typed).map_err(|hint| self.wrong(&hint))?;
                let mut values = Vec::new();
                values.extend(given.map(str::to_owned));
                while values.len() < option.values {
                    values.push(self.word(&typed, "its value")?);
                }
                match option.effect {
                    OptionEffect::Version => return Ok(Launch::Show(version())),
                    OptionEffect::Help => return Ok(Launch::Show(options::help(self.name))),
                    OptionEffect::Ranks => part.ranks = Some(self.number(&typed, &values[0])?),
                    OptionEffect::RanksPerNode => per_node = Some(self.number(&typed, &values[0])?),
                    OptionEffect::Export => {
                        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
                        // An option that names an environment variable without a value exports the variable of mcpsim's
                        // environment, which every simulated rank has anyway.
                        part.environment.extend(values[0].split_once('=').map(own));
                    }
                    OptionEffect::Set => part.environment.push((values[0].clone(), values[1].clone())),
                    OptionEffect::SetAll => general.environment.push((values[0].clone(), values[1].clone())),
                    OptionEffect::Directory => part.directory = Some(values[0].clone()),
                    OptionEffect::DirectoryOfAll => general.directory = Some(values[0].clone()),
                    OptionEffect::Ignored => ignored.push([&[typed][..], &values].concat().join(" ")),
                    OptionEffect::None => {}
                    OptionEffect::Refused(why) => return Err(self.wrong(&format!("{typed}: {why}"))),
                }
            }
            part.program = self.word("", "").map_err(|_| self.wrong("no program is named"))?;
            let rest = &self.arguments[self.at..];
            let end = rest.iter().position(|word| word == ":").unwrap_or(rest.len());
            part.arguments = rest[..end].to_vec();
            self.at += end;
            parts.push(part);
            if end < rest.len() {
                self.at += 1;
                if self.at == self.arguments.len() {
                    return Err(self.wrong("no program follows the last colon"));
                }
            }
        }
        for part in &mut parts {
            part.directory = part.directory.take().or_else(|| general.directory.clone());
            part.environment = [&general.environment[..], &part.environment].concat();
        }
        self.run(&parts, per_node, ignored, variable).map(Launch::Run)
    }

    fn number(&self, option: &str, text: &str) -> Result<u32, Failure> {
        let number = text.parse::<u32>().ok().filter(|&number| number > 0);
        number.ok_or_else(|| self.wrong(&format!("{option} {text}")))
    }

    fn run(
        &self,
        parts: &[LaunchPart],
        per_node: Option<u32>,
        mut ignored: Vec<String>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<LaunchedRun, Failure> {
        let counts = parts.iter().map(|part| part.ranks.unwrap_or(1));
        let ranks = counts.clone().try_fold(0, u32::checked_add);
        let ranks = ranks.ok_or_else(|| self.wrong("more than 4,294,967,295 ranks"))?;
        let shape = variable("MCPSIM_NCT").filter(|shape| !shape.is_empty());
        let shape = match (shape, per_node) {
            (Some(shape), Some(per_node)) => {
                ignored.push(format!("{per_node} ranks per node"));
                shape
            }
            (Some(shape), None) => shape,
            (None, Some(per_node)) => format!("{},1,{per_node}", ranks.div_ceil(per_node)),
            (None, None) => format!("1,1,{ranks}"),
        };
        let mut words: Vec<OsString> =
            ["mcpsim", "--quiet", "--ranks", &ranks.to_string(), "--nct", &shape].map(OsString::from).to_vec();
        let path = variable("PATH");
        let files: Vec<PathBuf> = parts.iter().map(|part| part.file(path.as_deref())).collect();
        // If no option sets a directory, an existing file has priority over a shipped name, as in launchers.
        words.extend([files[0].clone().into(), "--".into()]);
        let is_plain = |part: &LaunchPart| part.environment.is_empty() && part.directory.is_none();
        if let [part] = parts
            && (is_plain(part) || !is_elf(&files[0]))
        {
            words.extend_from_slice(&part.arguments);
            return Ok(LaunchedRun { words, text: None, ignored });
        }
        let tables = parts.iter().zip(&files).zip(counts).map(|((part, file), ranks)| self.table(part, file, ranks));
        let tables = tables.collect::<Result<Vec<toml::Value>, Failure>>()?;
        let text = toml::Table::from_iter([("program".to_owned(), toml::Value::Array(tables))]).to_string();
        Ok(LaunchedRun { words, text: Some(text), ignored })
    }

    /// Returns the TOML table that describes the program `part` in an application file.
    fn table(&self, part: &LaunchPart, file: &Path, ranks: u32) -> Result<toml::Value, Failure> {
        let text = |word: &std::ffi::OsStr| match word.to_str() {
            Some(text) => Ok(toml::Value::from(text)),
            None => Err(self.wrong(&format!("\"{}\" is no valid UTF-8", word.display()))),
        };
        let arguments = part.arguments.iter().map(|word| text(word)).collect::<Result<Vec<_>, _>>()?;
        let variables = part.environment.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        let mut table = toml::Table::from_iter([
            ("name".to_owned(), part.program.as_str().into()),
            ("binary".to_owned(), text(file.as_os_str())?),
            ("arguments".to_owned(), arguments.into()),
            ("environment".to_owned(), toml::Value::Table(variables.collect())),
            ("ranks".to_owned(), i64::from(ranks).into()),
        ]);
        if let Some(directory) = &part.directory {
            table.insert("directory".to_owned(), directory.as_str().into());
        }
        Ok(table.into())
    }
}

#[cfg(test)]
mod tests;
