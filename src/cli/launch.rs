//! Under `mpirun`: finding the other host processes, and telling them what the first has read.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::config::Document;
use crate::engine::{HostThreads, Processes};
use crate::platform::{Placement, Site};

use super::args::{Parsed, parse};
use super::configuration::{Configuration, Sources};
use super::exit::{Exit, Failure};
use super::values::PlacementChoice;

/// What launchers tell each process of how many there are.
const SIZES: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE"];
/// And of which it is.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK"];
/// How the names of variables begin that launchers set for a process of their own.
const PREFIXES: [&str; 9] = ["OMPI_", "OPAL_", "ORTE_", "PMI_", "PMIX_", "PRTE_", "MV2_", "HYD", "MPI_LOCAL"];

/// The processes of this run; `variable` reads the environment. MPI is started only where a launcher has started several.
pub(super) fn join(threads: HostThreads, variable: impl Fn(&str) -> Option<String>) -> Result<Processes, Failure> {
    let Some(launched) = launched(&variable) else { return Ok(Processes::one()) };
    // Without MPI the processes do not know each other: most launchers say who shall speak for all.
    let speaks = RANKS.iter().find_map(|name| number(&variable, name)).is_none_or(|rank| rank == 0);
    Processes::join(threads).map_err(|why| match speaks {
        true => Failure::bad_input(format!("started {launched}, {why}")),
        false => Failure::said_elsewhere(Exit::BadInput),
    })
}

fn number(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Option<u64> {
    variable(name).and_then(|text| text.trim().parse().ok())
}

/// "4 times by an MPI launcher (PMI_SIZE=4)", if there are several.
fn launched(variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let size = SIZES.into_iter().find_map(|name| Some((name, number(variable, name)?)));
    match size {
        Some((name, size)) => (size > 1).then(|| format!("{size} times by an MPI launcher ({name}={size})")),
        // PMIx tells a process its rank only.
        None => number(variable, "PMIX_RANK").map(|rank| format!("by an MPI launcher (PMIX_RANK={rank})")),
    }
}

/// Whether a variable of the environment is a launcher's, and of one of its processes only.
pub(super) fn is_launchers(name: &OsString) -> bool {
    PREFIXES.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}

/// Whether all could do a thing: if one could not, nobody goes on, and the first process says why.
pub(super) fn agree<T>(processes: &Processes, result: Result<T, Failure>) -> Result<T, Failure> {
    if processes.count() == 1 {
        return result;
    }
    let mine = result.as_ref().err().map(|failure| (failure.exit.code(), failure.text.clone(), processes.name()));
    let mut found = (0..).zip(processes.gather(mine));
    let first = found.find_map(|(process, failure)| Some((process, failure?)));
    match processes.broadcast(|| first) {
        None => result,
        Some((process, (code, text, name))) => Err(match (processes.is_first(), result) {
            (true, Err(failure)) if process == 0 => failure,
            (true, _) => Failure { exit: Exit::Program(code), text: format!("{name}: {text}") },
            (false, _) => Failure::said_elsewhere(Exit::BadInput),
        }),
    }
}

/// A configuration on its way to other processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Brief {
    /// As `--show-config` prints it.
    whole: String,
    typed: String,
    check_leaks: bool,
    host_profile: bool,
    critical_path: bool,
    functions: bool,
    timeline: bool,
    /// Whether a trace is wanted.
    pub recorded: bool,
    /// The ranks' places, where a file has them.
    sites: Option<Vec<Site>>,
}

impl Brief {
    /// Of a run that is `recorded` or not.
    pub fn of(configuration: &Configuration, recorded: bool) -> Result<Brief, Failure> {
        let mut tables = configuration.tables()?;
        let sites = match &configuration.settings.placement {
            PlacementChoice::File(path) => match Placement::read(path)? {
                Placement::Explicit(sites) => Some(sites),
                Placement::Block | Placement::Cyclic => None,
            },
            _ => None,
        };
        if let (Some(_), Some(run)) = (&sites, tables.get_mut("run").and_then(toml::Value::as_table_mut)) {
            run.remove("placement");
        }
        let whole = toml::to_string(&tables).map_err(|error| Failure::bad_input(error.to_string()))?;
        let settings = &configuration.settings;
        Ok(Brief {
            whole,
            typed: configuration.typed.clone(),
            check_leaks: settings.job.check_leaks,
            host_profile: settings.host_profile,
            critical_path: settings.critical_path,
            functions: settings.functions,
            timeline: settings.timeline,
            recorded,
            sites,
        })
    }

    pub fn open(self) -> Result<Configuration, Failure> {
        let line = ["mcpsim", "--", &self.typed].map(OsString::from);
        let mut args = match parse(line.to_vec())? {
            Parsed::Run(args) => args,
            _ => return Err(Failure::bad_input("expected a run")),
        };
        args.check_leaks = self.check_leaks;
        args.host_profile = self.host_profile;
        args.critical_path = self.critical_path;
        args.functions = self.functions;
        // Only the first process writes it, and it knows where.
        args.timeline = self.timeline.then(OsString::new);
        let mut configuration = Sources::of(Document::parse(&self.typed, &self.whole)?, &args)?.configure(&[])?;
        if let Some(sites) = self.sites {
            configuration.settings.placement = PlacementChoice::Given(sites);
        }
        Ok(configuration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &'static str, value: &'static str) -> Option<String> {
        launched(&|asked: &str| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn launchers_of_several_processes_are_known_by_what_they_say() {
        assert_eq!(found("HOME", "8"), None);
        assert_eq!(found("OMPI_COMM_WORLD_SIZE", "1"), None);
        assert_eq!(found("PMI_SIZE", "x"), None);
        assert_eq!(found("OMPI_COMM_WORLD_SIZE", "8").unwrap(), "8 times by an MPI launcher (OMPI_COMM_WORLD_SIZE=8)");
        assert_eq!(found("PMIX_RANK", "0").unwrap(), "by an MPI launcher (PMIX_RANK=0)");
    }

    #[cfg(not(feature = "mpi"))]
    #[test]
    fn a_build_without_mpi_is_refused_by_the_first_of_several_and_says_how_to_build_one_with() {
        let text = |rank: &'static str| {
            let variable = |name: &str| match name {
                "PMI_SIZE" => Some("4".to_owned()),
                "PMI_RANK" => Some(rank.to_owned()),
                _ => None,
            };
            join(HostThreads::Several, variable).err().unwrap()
        };
        let failure = text("0");
        assert!(
            failure.text.starts_with("started 4 times by an MPI launcher (PMI_SIZE=4), but this build simulates in")
        );
        assert!(failure.text.contains("cargo build --release --features mpi"), "{}", failure.text);
        assert_eq!((failure.exit, text("3").exit), (Exit::BadInput, Exit::BadInput));
        assert_eq!(text("3").text, "");
    }

    #[test]
    fn a_launchers_variables_are_told_from_a_users() {
        for (name, launchers) in
            [("OMPI_COMM_WORLD_RANK", true), ("PMI_FD", true), ("HOME", false), ("OMP_NUM_THREADS", false)]
        {
            assert_eq!(is_launchers(&name.into()), launchers, "{name}");
        }
    }

    #[test]
    fn what_a_brief_holds_is_the_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("places"), "0 0 0\n1 0 1\n").unwrap();
        std::fs::write(path("app.toml"), "main = [{ compute = { time = \"n * 1 us\" } }]\nparams = { n = 1 }").unwrap();
        let places = path("places").display().to_string();
        let app = path("app.toml").display().to_string();
        let line = ["mcpsim", "--nct", "2,1,2", "--ranks", "2", "--set", "app.n=3", "--placement", &places, &app];
        let Ok(Parsed::Run(args)) = parse(line.map(OsString::from).to_vec()) else { panic!() };
        let configuration = Configuration::load(&args).unwrap();
        let brief = Brief::of(&configuration, false).unwrap();
        std::fs::remove_file(path("places")).unwrap();
        std::fs::remove_file(path("app.toml")).unwrap();
        let other = brief.open().unwrap();
        let sites = [(0, 0), (1, 1)].map(|(node, core)| Site { node, cmp: 0, core });
        assert_eq!(other.settings.placement, PlacementChoice::Given(sites.to_vec()));
        let mut tables = configuration.tables().unwrap();
        tables["run"].as_table_mut().unwrap().insert("placement".to_owned(), "block".into());
        let mut others = other.tables().unwrap();
        others["run"].as_table_mut().unwrap().insert("placement".to_owned(), "block".into());
        assert_eq!(tables, others);
    }
}
