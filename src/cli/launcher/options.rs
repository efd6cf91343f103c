//! Table of the options of launchers, one row per option.

use crate::config::did_you_mean;

/// Effect of an MPI launcher's option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionEffect {
    /// Prints the launcher's version.
    Version,
    /// Prints the list of the launcher's options.
    Help,
    /// Sets the number of ranks of a program.
    Ranks,
    /// Sets the number of ranks per node, unless `MCPSIM_NCT` selects the machine.
    RanksPerNode,
    /// Sets an environment variable of a program; the value is NAME=VALUE.
    Export,
    /// Sets an environment variable of a program; the values are its name and its value.
    Set,
    /// Sets an environment variable of all programs; the values are its name and its value.
    SetAll,
    /// Sets the directory in which a program starts.
    Directory,
    /// Sets the directory in which all programs start.
    DirectoryOfAll,
    /// Affects rank placement or components of the MPI library only on a real machine; a note lists the option.
    Ignored,
    /// Cannot change a prediction, so the option is silently ignored.
    None,
    /// mcpsim does not support the launcher option; the text is the reason.
    Refused(&'static str),
}

/// Option of an MPI launcher.
#[derive(Clone, Copy, Debug)]
pub(super) struct LauncherOption {
    /// Names of the launcher option without hyphens, separated by blanks.
    names: &'static str,
    /// Number of values that the launcher option takes.
    pub values: usize,
    pub effect: OptionEffect,
}

const fn row(names: &'static str, values: usize, effect: OptionEffect) -> LauncherOption {
    LauncherOption { names, values, effect }
}

const ENVIRONMENT: &str = "ranks always get the environment of the launcher: start the launcher by env -i NAME=VALUE";

const OPTIONS: &[LauncherOption] = &[
    row("version V info", 0, OptionEffect::Version),
    row("help h", 0, OptionEffect::Help),
    row("n np c", 1, OptionEffect::Ranks),
    row("ppn perhost npernode N", 1, OptionEffect::RanksPerNode),
    row("x", 1, OptionEffect::Export),
    row("env", 2, OptionEffect::Set),
    row("genv", 2, OptionEffect::SetAll),
    row("wdir wd", 1, OptionEffect::Directory),
    row("gwdir gwd", 1, OptionEffect::DirectoryOfAll),
    row("host hosts H hostfile machinefile default-hostfile f", 1, OptionEffect::Ignored),
    row("map-by bind-to rank-by rankfile rf cpu-set cpu-list mca omca pmixmca", 1, OptionEffect::Ignored),
    row("pernode bynode byslot bycore bysocket bind-to-core bind-to-socket bind-to-none", 0, OptionEffect::Ignored),
    row("npersocket cpus-per-proc cpus-per-rank", 1, OptionEffect::Ignored),
    row("envall genvall oversubscribe nooversubscribe no-oversubscribe allow-run-as-root", 0, OptionEffect::None),
    row(
        "tag-output timestamp-output l prepend-rank prefix-output quiet q verbose v d debug-daemons",
        0,
        OptionEffect::None,
    ),
    row("report-bindings display-map display-allocation do-not-resolve nolocal", 0, OptionEffect::None),
    row(
        "use-hwthread-cpus use-hwthreads print-all-exitcodes continuous enable-x forward-signals",
        0,
        OptionEffect::None,
    ),
    row(
        "genvlist envlist timeout launcher launcher-exec bootstrap bootstrap-exec rmk iface stdin",
        1,
        OptionEffect::None,
    ),
    row("prefix output output-filename output-file display prtemca pmca tune am", 1, OptionEffect::None),
    row("outfile-pattern errfile-pattern prepend-pattern ranks-per-proc personality tmpdir", 1, OptionEffect::None),
    row("genvnone envnone", 0, OptionEffect::Refused(ENVIRONMENT)),
    row(
        "app configfile file",
        1,
        OptionEffect::Refused(
            "this option is not supported: write the programs on the \
         command line, separated by colons",
        ),
    ),
    row(
        "path",
        1,
        OptionEffect::Refused(
            "this option is not supported: write the path as a part of the program's \
         name",
        ),
    ),
    row("disable-recovery enable-recovery disable-auto-cleanup", 0, OptionEffect::None),
];

/// Names of launcher options with two values, a key and the key's value.
const KEYED: [&str; 5] = ["mca", "omca", "pmixmca", "prtemca", "pmca"];

impl LauncherOption {
    /// Returns the launcher option that the user typed, and the option's value if a value follows `=`.
    ///
    /// # Errors
    /// The launcher has no such option; the message contains the typed name and a similar name.
    pub fn find(typed: &str) -> Result<(LauncherOption, Option<&str>), String> {
        let name = typed.trim_start_matches('-');
        let (name, given) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        let named = |option: &&LauncherOption| option.names.split(' ').any(|known| known == name);
        let Some(option) = OPTIONS.iter().find(named) else {
            let known = OPTIONS.iter().flat_map(|option| option.names.split(' ')).filter(|known| known.len() > 2);
            let hint = did_you_mean(name, known);
            return Err(format!("unknown option {typed}{hint}"));
        };
        if given.is_some() && option.values == 0 {
            return Err(format!("{typed}: this option has no value"));
        }
        let values = if KEYED.contains(&name) { 2 } else { option.values };
        Ok((LauncherOption { values, ..*option }, given))
    }
}

/// Returns the text of `--help` for the launcher `name`.
pub(super) fn help(name: &str) -> String {
    let list = |effect: OptionEffect| {
        let names = OPTIONS.iter().filter(|option| option.effect == effect).flat_map(|option| option.names.split(' '));
        let mut lines = vec![String::new()];
        for name in names {
            let name = if name.len() > 2 { format!("--{name}") } else { format!("-{name}") };
            if lines.last().is_some_and(|line| line.len() + name.len() > 76) {
                lines.push(String::new());
            }
            let line = lines.last_mut().expect("there is always one");
            *line += &format!(" {name}");
        }
        lines.iter().map(|line| format!(" {line}\n")).collect::<String>()
    };
    format!(
        "{name} [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]…\n\
         Runs programs built by mcpsim cc on simulated ranks. MCPSIM_NCT=NODES,CMPS,CORES\n\
         in the environment sets the shape of the simulated machine.\n\n  \
         -n RANKS               number of ranks of the program (default: 1)\n  \
         -ppn RANKS             number of ranks per node, unless MCPSIM_NCT is set\n  \
         -x NAME=VALUE          sets an environment variable of the program\n  \
         -env NAME VALUE        sets an environment variable of the program\n  \
         -genv NAME VALUE       sets an environment variable of all programs\n  \
         -wdir DIRECTORY        starts the program in this directory\n  \
         -gwdir DIRECTORY       starts all programs in this directory\n\n\
         Options without effect, which a note lists (the simulated machine decides):\n{}\n\
         Options that are accepted silently, because they cannot change a prediction:\n{}\n\
         Other options are errors. See mcpsim --help for the simulator.\n",
        list(OptionEffect::Ignored),
        list(OptionEffect::None),
    )
}
