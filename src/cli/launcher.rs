//! mcpsim under a launcher's name: `mpiexec` and `mpirun` beside `mpicc`, for build systems that ask for them and for
//! scripts.
//!
//! `mpiexec -n 4 ./a.out args` runs four ranks of a program of `mcpsim cc`, by default on one node with as many cores,
//! and prints what the program prints. `MCPSIM_NCT` names another shape.

use std::ffi::OsString;

use super::exit::Failure;

/// The names.
const NAMES: [&str; 4] = ["mpiexec", "mpirun", "orterun", "mpiexec.hydra"];
/// What asks only for the version.
const VERSION: [&str; 3] = ["mpichversion", "mpiexec.version", "ompi_info"];
/// Options with a value that say where processes run, and how: all of this is the simulator's.
const WITH_VALUE: [&str; 22] = [
    "host",
    "hosts",
    "H",
    "hostfile",
    "machinefile",
    "f",
    "map-by",
    "bind-to",
    "rank-by",
    "ppn",
    "npernode",
    "perhost",
    "wdir",
    "wd",
    "x",
    "genvlist",
    "envlist",
    "timeout",
    "launcher",
    "bootstrap",
    "N",
    "prefix",
];
/// Options with two values.
const WITH_TWO: [&str; 5] = ["mca", "omca", "pmca", "genv", "env"];

/// What a launcher's command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// To print this.
    Show(String),
    /// A line of mcpsim's own.
    Run(Vec<OsString>),
}

/// What the line asks for if `name` is a launcher's.
///
/// # Errors
/// If the number of ranks or the program is missing or wrong.
pub(super) fn read(
    name: &str,
    arguments: &[OsString],
    variable: impl Fn(&str) -> Option<String>,
) -> Option<Result<Launch, Failure>> {
    if VERSION.contains(&name) {
        return Some(Ok(Launch::Show(version())));
    }
    NAMES.contains(&name).then(|| line(name, arguments, variable))
}

fn version() -> String {
    format!("mcpsim {}\n", env!("CARGO_PKG_VERSION"))
}

fn line(name: &str, arguments: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Result<Launch, Failure> {
    let usage =
        |what: String| Failure::bad_input(format!("{name}: {what}: expected {name} -n RANKS PROGRAM [ARGUMENTS]"));
    let mut ranks = None;
    let mut at = 0;
    let text = |at: usize| arguments.get(at).and_then(|word| word.to_str());
    while let Some(option) = text(at).and_then(|word| word.strip_prefix('-')) {
        let option = option.strip_prefix('-').unwrap_or(option);
        let (option, given) = option.split_once('=').map_or((option, None), |(option, value)| (option, Some(value)));
        at += 1;
        match option {
            "version" | "V" => return Ok(Launch::Show(version())),
            "help" | "h" => {
                return Ok(Launch::Show(format!("{name} -n RANKS PROGRAM [ARGUMENTS]: see mcpsim --help\n")));
            }
            "n" | "np" | "c" => {
                let value = given.or_else(|| text(at)).unwrap_or_default();
                at += usize::from(given.is_none());
                let number = value.parse::<u32>().ok().filter(|&number| number > 0);
                ranks = Some(number.ok_or_else(|| usage(format!("-{option} {value}")))?);
            }
            option if given.is_none() && WITH_TWO.contains(&option) => at += 2,
            option if given.is_none() && WITH_VALUE.contains(&option) => at += 1,
            _ => {}
        }
    }
    let Some(program) = arguments.get(at) else { return Err(usage("no program is named".to_owned())) };
    let ranks = ranks.unwrap_or(1).to_string();
    let mut words: Vec<OsString> = vec!["mcpsim".into(), "--quiet".into(), "--ranks".into(), ranks.clone().into()];
    let shape = variable("MCPSIM_NCT").filter(|shape| !shape.is_empty());
    words.extend(["--nct".into(), shape.unwrap_or_else(|| format!("1,1,{ranks}")).into()]);
    // A file that is there is meant, as launchers take it, where no path is given.
    words.extend([program.clone(), "--".into()]);
    words.extend_from_slice(&arguments[at + 1..]);
    Ok(Launch::Run(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn read_line(name: &str, line: &str, shape: Option<&str>) -> Result<Launch, String> {
        let found = read(name, &words(line), |_| shape.map(str::to_owned)).expect("a launcher");
        found.map_err(|failure| failure.text)
    }

    #[test]
    fn lines_of_both_families_become_runs() {
        let run = |line: &str| Ok(Launch::Run(words(line)));
        assert_eq!(
            read_line("mpiexec", "-n 4 ./a.out -n 7", None),
            run("mcpsim --quiet --ranks 4 --nct 1,1,4 ./a.out -- -n 7")
        );
        let open_mpi = "--oversubscribe --map-by core --mca btl self -np 2 a x";
        assert_eq!(read_line("mpirun", open_mpi, Some("2,1,1")), run("mcpsim --quiet --ranks 2 --nct 2,1,1 a -- x"));
        assert_eq!(read_line("mpirun", "a", None), run("mcpsim --quiet --ranks 1 --nct 1,1,1 a --"));
        assert!(read("mcpsim", &[], |_| None).is_none());
    }

    #[test]
    fn the_version_is_told_and_what_is_wrong() {
        let version = Ok(Launch::Show(version()));
        assert_eq!(read_line("mpiexec", "--version", None), version);
        assert_eq!(read_line("mpichversion", "", None), version);
        assert_eq!(
            read_line("mpiexec", "-n 0 a", None),
            Err("mpiexec: -n 0: expected mpiexec -n RANKS PROGRAM [ARGUMENTS]".to_owned())
        );
        assert_eq!(
            read_line("mpirun", "-n 2", None),
            Err("mpirun: no program is named: expected mpirun -n RANKS PROGRAM [ARGUMENTS]".to_owned())
        );
    }
}
