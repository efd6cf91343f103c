//! Start of mcpsim under `mpirun`: connects the host processes, and sends the input that the first host process has
//! read to the others.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::engine::{HostThreads, Processes};
use crate::platform::{Placement, Site};
use crate::process::{Checks, SIMULATED_RANK};
use crate::run::{Application, Details, PlacementChoice, Resolved, RunRequest};

use super::commands::Parsed;
use super::exit::{Exit, Failure};
use super::processes::connect;

/// Environment variables in which MPI launchers store the number of host processes.
const SIZES: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE"];
/// Environment variables in which MPI launchers store the rank of a host process.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK"];

/// Returns the host processes of this simulation run. `variable` reads an environment variable. MPI is initialised only
/// if a launcher has started several host processes.
pub(super) fn join(
    parsed: &Result<Parsed, Failure>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Processes, Failure> {
    let Some(launched) = launched(&variable) else { return Ok(Processes::one()) };
    // Without MPI the host processes do not know each other. Most launchers set the rank of a host process in its
    // environment, and then only the host process of rank 0 prints errors.
    let speaks = RANKS.iter().find_map(|name| number(&variable, name)).is_none_or(|rank| rank == 0);
    // Number of host threads in addition to the first: simulations have worker threads, measured programs have none.
    let threads = match parsed {
        Ok(Parsed::Measure(_)) => HostThreads::None,
        _ => HostThreads::Several,
    };
    connect(threads).map_err(|why| match speaks {
        true => Failure::bad_input(format!("started {launched}, {why}{}", without_mpi(parsed))),
        false => Failure::said_elsewhere(Exit::BadInput),
    })
}

/// Describes the abilities of a build without MPI. The returned text is empty if mcpsim was built with MPI.
fn without_mpi(parsed: &Result<Parsed, Failure>) -> &'static str {
    match parsed {
        _ if cfg!(feature = "mpi") => "",
        Ok(Parsed::Measure(_)) => ", or leave out the launcher for --compute, --import, --layer or --simulate",
        Ok(Parsed::Alone(_)) => ", or leave out the launcher: this command works in one process",
        _ => ", or leave out the launcher and give --workers W for as many threads",
    }
}

fn number(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Option<u64> {
    variable(name).and_then(|text| text.trim().parse().ok())
}

/// Returns a text such as "4 times by an MPI launcher (PMI_SIZE=4)" if a launcher has started several host processes. A
/// process that a simulated rank starts has the environment variable of the rank but not that of the launcher's number
/// of processes.
fn launched(variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    if variable(SIMULATED_RANK).is_some() {
        return None;
    }
    let size = SIZES.into_iter().find_map(|name| Some((name, number(variable, name)?)));
    match size {
        Some((name, size)) => (size > 1).then(|| format!("{size} times by an MPI launcher ({name}={size})")),
        // PMIx launchers set only the rank of a host process, not the number of processes.
        None => number(variable, "PMIX_RANK").map(|rank| format!("by an MPI launcher (PMIX_RANK={rank})")),
    }
}

/// Message that describes a simulation run to the other host processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunMessage {
    /// Configuration of the simulation run as `--show-config` prints it.
    whole: String,
    typed: String,
    /// Name and text of the file of an application in TOML, so that all host processes report the same positions in the
    /// file.
    file: Option<(String, Arc<str>)>,
    checks: Checks,
    details: Details,
    /// True if the simulation run records a trace.
    pub recorded: bool,
    /// True if each output line of a rank is prefixed with the number of the rank.
    pub tagged: bool,
    /// Cores on which the ranks are placed, if a placement file contains the cores.
    sites: Option<Vec<Site>>,
}

impl RunMessage {
    /// Creates the message that describes a simulation run.
    pub fn of(run: &Resolved, recorded: bool, tagged: bool) -> Result<RunMessage, Failure> {
        let mut tables = run.portable_tables();
        let sites = match &run.settings.placement {
            PlacementChoice::File(path) => {
                let machine = &run.platform.platform;
                Some(Placement::read_on(path, machine.shape, &machine.places)?)
            }
            _ => None,
        };
        if let (Some(_), Some(run)) = (&sites, tables.get_mut("run").and_then(toml::Value::as_table_mut)) {
            run.remove("placement");
        }
        let whole = toml::to_string(&tables).map_err(|error| Failure::bad_input(error.to_string()))?;
        let (checks, details) = (run.settings.job.checks, run.settings.details);
        let file = match &run.application {
            Application::Described(app) => Some(app.file()),
            Application::Real(_) | Application::Trace(_) | Application::Jobs(_) => None,
        };
        Ok(RunMessage { whole, typed: run.typed.clone(), file, checks, details, recorded, tagged, sites })
    }

    pub fn open(self) -> Result<Resolved, Failure> {
        let request =
            RunRequest { checks: self.checks, details: self.details, ..RunRequest::of_text(&self.typed, &self.whole)? };
        let mut run = request.resolve()?;
        if let (Application::Described(app), Some(file)) = (&run.application, self.file) {
            run.application = Application::Described(Arc::new(App::clone(app).copied_from(file)));
        }
        if let Some(sites) = self.sites {
            run.settings.placement = PlacementChoice::Given(sites);
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Given;

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
        let of = |rank: &'static str, command: &[&str]| {
            let variable = |name: &str| match name {
                "PMI_SIZE" => Some("4".to_owned()),
                "PMI_RANK" => Some(rank.to_owned()),
                _ => None,
            };
            let command = ["mcpsim"].iter().chain(command).map(Into::into).collect();
            join(&super::super::args::parse(command), variable).err().unwrap()
        };
        let text = |rank| of(rank, &["a.toml"]);
        let failure = text("0");
        assert!(
            failure.text.starts_with("started 4 times by an MPI launcher (PMI_SIZE=4), but this build simulates in")
        );
        assert!(failure.text.contains("cargo build --release --features mpi"), "{}", failure.text);
        assert_eq!((failure.exit, text("3").exit), (Exit::BadInput, Exit::BadInput));
        assert_eq!(text("3").text, "");
        for (command, advice) in [
            (&["a.toml"][..], " and give --workers W for as many threads"),
            (&["measure"], " for --compute, --import, --layer or --simulate"),
            (&["report", "a.json"], ": this command works in one process"),
        ] {
            let said = of("0", command).text;
            assert!(said.ends_with(&format!("many-hosts.md), or leave out the launcher{advice}")), "{said}");
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
        let keys = ["run.nct=2,1,2", "run.ranks=2", "app.n=3"];
        let request = keys.into_iter().try_fold(RunRequest::new(&app), RunRequest::set).unwrap();
        let given = Given { placement: Some(places.into()), ..Given::default() };
        let run = request.with(given).resolve().unwrap();
        let brief = RunMessage::of(&run, false, false).unwrap();
        std::fs::remove_file(path("places")).unwrap();
        std::fs::remove_file(path("app.toml")).unwrap();
        let other = brief.open().unwrap();
        let sites = [(0, 0), (1, 1)].map(|(node, core)| Site { node, cmp: 0, core });
        assert_eq!(other.settings.placement, PlacementChoice::Given(sites.to_vec()));
        let file = |run: &Resolved| match &run.application {
            Application::Described(app) => app.file(),
            other => panic!("{other:?}"),
        };
        assert_eq!(file(&other), file(&run));
        assert!(file(&run).0.ends_with("app.toml"));
        let mut tables = run.tables();
        tables["run"].as_table_mut().unwrap().insert("placement".to_owned(), "block".into());
        let mut others = other.tables();
        others["run"].as_table_mut().unwrap().insert("placement".to_owned(), "block".into());
        assert_eq!(tables, others);
    }
}
