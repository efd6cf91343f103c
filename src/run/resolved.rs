//! Resolved simulation run: settings, machine and application after all files were read and merged.

use std::path::{Path, PathBuf};

use toml::Value;

use crate::cc::ProgramFile;
use crate::engine::{Outcome, Processes, Progress};
use crate::platform::PlatformSource;

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::inputs::{self, Presence};
use super::settings::{Setting, Settings};
use super::trace_file::TraceFile;
use super::{basis, described, jobs, real, replay};

/// Resolved simulation run: all files were read and all settings merged.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Settings of the simulation run.
    pub settings: Settings,
    /// Simulated machine, with the merged TOML table that defines the machine.
    pub platform: PlatformSource,
    /// Files that the machine's TOML table names, each with its key and absolute path.
    pub(super) platform_files: Vec<(String, PathBuf)>,
    /// Application that the run simulates.
    pub application: Application,
    /// Application file as the user typed its name.
    pub typed: String,
    /// Name of the application file in error messages.
    pub(super) name: String,
    /// Options that have no effect on this kind of application.
    pub(super) unheeded: Vec<&'static Setting>,
    /// Note on a file of selection rules that the MPI library ignores.
    pub(super) ignored_rules: Option<String>,
}

/// Platform key that names a file of selection rules for collectives.
pub(super) const RULES: &str = "collectives.rules";

/// Returns the values in a machine's TOML table that are file names, with the keys of the values.
pub(super) fn file_keys(table: &mut toml::Table) -> Vec<(String, &mut Value)> {
    let mut found = Vec::new();
    for (name, value) in table.iter_mut() {
        match (name.as_str(), value) {
            ("collectives", Value::Table(of)) => found.extend(of.get_mut("rules").map(|file| (RULES.to_owned(), file))),
            ("pairs", Value::Table(of)) => found.extend(of.get_mut("file").map(|file| ("pairs.file".to_owned(), file))),
            ("places", Value::Table(of)) => {
                for (place, keys) in of.iter_mut() {
                    let file = keys.get_mut("nodes").filter(|nodes| nodes.is_str());
                    found.extend(file.map(|file| (format!("places.{place}.nodes"), file)));
                }
            }
            ("nodes", Value::Array(entries)) => {
                for (index, entry) in entries.iter_mut().enumerate() {
                    let keys = entry.as_table_mut().into_iter().flatten();
                    let files = keys.filter(|(key, value)| NODE_FILES.contains(&key.as_str()) && value.is_str());
                    found.extend(files.map(|(key, file)| (format!("nodes[{index}].{key}"), file)));
                }
            }
            _ => {}
        }
    }
    found
}

/// Keys in an entry of `[[nodes]]` whose value may be a file name.
const NODE_FILES: [&str; 3] = ["rate", "memory", "adapter"];

impl Resolved {
    /// Predicts the run in this host process. The output of a real program is discarded.
    ///
    /// # Errors
    /// The input is invalid, or the simulation ends without a prediction.
    pub fn run(&self) -> Result<Outcome, PredictError> {
        let (progress, processes) = (Progress::default(), Processes::one());
        let conduct =
            Conduct { progress: &progress, processes: &processes, recorded: false, console: &super::conduct::silent() };
        let prediction = self.run_in(conduct)?;
        Ok(prediction.expect("the first process has the result").outcome)
    }

    /// Predicts the run in the context `conduct`. All host processes must call this function; the first host process
    /// gets the result.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`].
    pub fn run_in(&self, conduct: Conduct<'_>) -> Result<Option<Prediction>, PredictError> {
        inputs::compare(conduct.processes, || self.input_files(), Presence::Everywhere)?;
        let mut prediction = match &self.application {
            _ if self.has_memory_bound_calls() => self.memory_bound_in(conduct),
            Application::Described(app) => described::simulate(self, app, conduct),
            Application::Real(_) if self.settings.typical => self.typical_in(conduct),
            Application::Real(program) => real::simulate(self, program, conduct),
            Application::Trace(file) => replay::simulate(self, file, conduct),
            Application::Jobs(set) => jobs::simulate(self, set, conduct),
        }?;
        if let Some(prediction) = &mut prediction {
            prediction.notes.extend(self.unheeded());
            prediction.notes.extend(self.ignored_rules.clone());
            prediction.outcome.basis = basis::basis(self, &prediction.outcome);
        }
        Ok(prediction)
    }

    /// Returns the files, with their roles, that each host process reads before it loads a program.
    fn input_files(&self) -> Vec<(String, PathBuf)> {
        let name = &self.platform.platform.name;
        let of_machine = |(key, path): &(String, PathBuf)| (format!("{key} of platform {name}"), path.clone());
        let mut files: Vec<_> = self.platform_files.iter().map(of_machine).collect();
        files.extend(self.settings.kernels.clone().map(|path| ("kernels".to_owned(), path)));
        if let Application::Trace(file) = &self.application {
            files.extend(file.files());
        }
        if let Application::Jobs(set) = &self.application {
            files.extend(set.trace_files());
        }
        files
    }

    /// Returns a note on options that have no effect on the run.
    fn unheeded(&self) -> Option<String> {
        let names: Vec<String> = self.unheeded.iter().map(|setting| format!("--{}", setting.option())).collect();
        let (names, name) = (names.join(", "), &self.name);
        let why = match &self.application {
            Application::Real(_) => return None,
            Application::Described(_) => format!("{name} is a described application, which states its own times"),
            Application::Jobs(_) => "no job runs a real program".to_owned(),
            Application::Trace(_) => format!("the trace {name} contains the times of its code"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "{names}: no effect, because only runs of real programs use such \
                                             options; {why}"
            )
        })
    }

    /// Returns the merged TOML tables `run`, `platform` and `app`.
    pub fn tables(&self) -> toml::Table {
        self.tables_with(self.application.table())
    }

    /// Returns the merged TOML tables in a form that can be used from any directory: paths of the machine's files are
    /// absolute.
    pub fn portable_tables(&self) -> toml::Table {
        self.portable_with(self.application.table())
    }

    fn portable_with(&self, app: toml::Table) -> toml::Table {
        let mut tables = self.tables_with(app);
        let machine = tables.get_mut("platform").and_then(Value::as_table_mut);
        for (key, file) in machine.into_iter().flat_map(file_keys) {
            if let Some((_, path)) = self.platform_files.iter().find(|(known, _)| *known == key) {
                *file = path.display().to_string().into();
            }
        }
        tables
    }

    fn tables_with(&self, app: toml::Table) -> toml::Table {
        let is_real = match &self.application {
            Application::Jobs(set) => set.has_program(),
            application => application.program().is_some(),
        };
        let tables = [("run", self.settings.table(is_real)), ("platform", self.platform.table.clone()), ("app", app)];
        tables.into_iter().map(|(name, table)| (name.to_owned(), table.into())).collect()
    }

    /// Returns the merged TOML tables as the text of a file that describes the same run.
    ///
    /// # Errors
    /// TOML cannot represent a merged table.
    pub fn to_toml(&self) -> Result<String, PredictError> {
        let text = toml::to_string(&self.portable_tables())
            .map_err(|error| PredictError::input(format!("--show-config: {error}")))?;
        Ok(format!("# The merged configuration of {}; runs as it is: mcpsim FILE\n\n{text}", self.name))
    }

    /// Returns the text of [`Resolved::to_toml`] with the program `program` in place of the application.
    ///
    /// # Errors
    /// TOML cannot represent a table.
    pub fn to_toml_of(&self, program: &ProgramFile) -> Result<String, PredictError> {
        let app = toml::Table::from_iter([("program".to_owned(), program.config())]);
        toml::to_string(&self.portable_with(app))
            .map_err(|error| PredictError::input(format!("{}: {error}", self.name)))
    }

    /// Replaces the application by the trace in the file `path`.
    #[must_use]
    pub fn replaying(self, path: &Path) -> Resolved {
        let path = std::path::absolute(path).unwrap_or(path.to_owned());
        Resolved { application: Application::Trace(TraceFile { path }), ..self }
    }

    /// Returns the number of simulated ranks, as far as the input determines this number.
    pub fn ranks(&self) -> u32 {
        let own = || match &self.application {
            Application::Jobs(set) => set.ranks(),
            application => application.program()?.all_ranks(),
        };
        let cores = || self.platform.platform.most_ranks();
        self.settings.ranks.or_else(own).unwrap_or_else(cores)
    }

    /// Returns the merged tables for the Outcome. The number of worker threads is excluded, because it affects only the
    /// table `host` of the Outcome.
    ///
    /// # Errors
    /// JSON cannot represent a merged table.
    pub fn to_json(&self) -> Result<serde_json::Value, PredictError> {
        let mut value = serde_json::to_value(self.tables())
            .map_err(|error| PredictError::input(format!("{}: {error}", self.name)))?;
        if let Some(run) = value["run"].as_object_mut() {
            run.remove("workers");
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;
    use crate::run::RunRequest;

    fn load(directory: &Path, app: &str, line: &str) -> Result<Resolved, String> {
        let path = directory.join("app.toml");
        std::fs::write(&path, app).unwrap();
        RunRequest::typed(path, line).resolve().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_shown_runs_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let machine = Platform::default_document().table().to_string().replacen("\"default\"", "\"m\"", 1);
        std::fs::write(here.join("m.toml"), machine).unwrap();
        let app = "main = [{ compute = { time = \"n * 1 us\" } }]\nrun = { platform = \"m.toml\", seed = 3 }\nparams = { n = 1 }";
        let line = "--set app.n=512 --set platform.inter_node.latency=2us --ranks 4 --nct 4,1,1";
        let first = load(here, app, line).unwrap();
        let text = first.to_toml().unwrap();
        assert!(text.starts_with("# "), "{text}");
        for part in ["name = \"app\"", "n = 512", "latency = \"2us\"", "seed = 3", "name = \"m\"", "nct = [4, 1, 1]"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let again = load(here, &text, "").unwrap();
        assert_eq!(again.tables(), first.tables());
        assert!(again.name.ends_with("app.toml, table app"));
        let other = load(here, &text, "--set platform.name=x --set app.n=2").unwrap().tables();
        assert_eq!(other["platform"]["name"].as_str(), Some("x"));
        assert_eq!(other["app"]["params"]["n"].as_integer(), Some(2));
    }

    #[test]
    fn the_application_does_not_see_the_run_table() {
        let directory = tempfile::tempdir().unwrap();
        let resolved = load(directory.path(), "main = []\nrun.seed = 7", "").unwrap();
        assert_eq!(resolved.tables()["app"].as_table().unwrap().get("run"), None);
        assert_eq!(resolved.settings.seed, 7);
        assert_eq!(resolved.platform.table, *Platform::default_document().table());
    }

    #[test]
    fn the_outcome_does_not_depend_on_the_number_of_workers() {
        let directory = tempfile::tempdir().unwrap();
        let json = |line: &str| load(directory.path(), "main = []", line).unwrap().to_json().unwrap();
        assert_eq!(json("--workers 3"), json(""));
        assert_eq!(json("")["run"]["seed"], 1);
        assert_eq!(json("")["app"]["name"], "app");
    }

    #[test]
    fn a_whole_configuration_has_its_own_machine_unless_another_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let platform = here.join("m.toml");
        let machine = |name: &str| {
            Platform::default_document().table().to_string().replacen("\"default\"", &format!("\"{name}\""), 1)
        };
        std::fs::write(&platform, machine("m")).unwrap();
        let name = |line: &str| {
            let own =
                toml::Table::from_iter([("platform".to_owned(), machine("p").parse::<toml::Table>().unwrap().into())]);
            let whole = format!("run.seed = 3\napp = {{ name = \"a\", main = [] }}\n{own}");
            let resolved = load(here, &whole, line).unwrap();
            assert_eq!(resolved.tables()["app"]["name"].as_str(), Some("a"));
            resolved.platform.platform.name
        };
        assert_eq!(name(""), "p");
        assert_eq!(name(&format!("--platform {}", platform.display())), "m");
    }

    #[test]
    fn missing_files_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = load(directory.path(), "run.platform = \"no.toml\"", "").unwrap_err();
        assert_eq!(error, format!("{}: no such file", directory.path().join("no.toml").display()));
        let error = load(directory.path(), "app = {}\nplatform = 7", "").unwrap_err();
        assert!(error.starts_with("expected a table in platform of "), "{error}");
    }

    #[test]
    fn runs_side_by_side_in_one_process_give_what_they_give_alone() {
        let directory = tempfile::tempdir().unwrap();
        let app = "main = [{ repeat = 20, do = [{ compute = { normal = { mean = \"1 us\", sd = \"0.1 us\" } } }, { allreduce = { bytes = 8 } }] }]";
        let described = |seed: u64| load(directory.path(), app, &format!("--nct 2,2,2 --workers 2 --seed {seed}"));
        let recorded = described(3).unwrap();
        let (progress, processes) = (Progress::default(), Processes::one());
        let console = crate::run::conduct::silent();
        let conduct = Conduct { progress: &progress, processes: &processes, recorded: true, console: &console };
        let prediction = recorded.run_in(conduct).unwrap().unwrap();
        let path = directory.path().join("a.trace");
        std::fs::write(&path, prediction.trace.unwrap()).unwrap();
        let runs: Vec<Resolved> = (1..4)
            .map(|seed| described(seed).unwrap())
            .chain([RunRequest::typed(&path, "--nct 2,2,2").resolve().unwrap()])
            .collect();
        let alone: Vec<Outcome> = runs.iter().map(|run| run.run().unwrap()).collect();
        let together: Vec<Outcome> = std::thread::scope(|scope| {
            let threads: Vec<_> = runs.iter().map(|run| scope.spawn(|| run.run().unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (alone, together) in alone.iter().zip(&together) {
            assert_eq!((alone.predicted, &alone.path), (together.predicted, &together.path));
        }
        assert_eq!(together[2].predicted, prediction.outcome.predicted);
        assert_eq!(together[3].predicted, prediction.outcome.predicted);
        assert_ne!(together[0].predicted, together[1].predicted);
    }

    #[test]
    fn options_without_effect_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let (progress, processes, console) = (Progress::default(), Processes::one(), crate::run::conduct::silent());
        let conduct = Conduct { progress: &progress, processes: &processes, recorded: true, console: &console };
        let ran = |run: Resolved| run.run_in(conduct).unwrap().unwrap();
        let line = "--nct 1,1,2 --compute skip --set run.memory_bound=0.5 --seed 2";
        let described = ran(load(here, "main = [{ barrier = {} }]", line).unwrap());
        let told = |name: &str, why: &str| {
            vec![format!(
                "{name}: no effect, because only runs of real programs use \
                                                         such options; {why}"
            )]
        };
        let name = here.join("app.toml").display().to_string();
        let notes = told(
            "--compute, --memory-bound",
            &format!(
                "{name} is a described application, which states its \
                          own times"
            ),
        );
        assert_eq!(described.notes, notes);
        let path = here.join("a.trace");
        std::fs::write(&path, described.trace.unwrap()).unwrap();
        let line = "--nct 1,1,2 --clock wall --memory-bound 0.5";
        let replayed = ran(RunRequest::typed(&path, line).resolve().unwrap());
        let why = format!("the trace {} contains the times of its code", path.display());
        assert_eq!(replayed.notes, told("--clock", &why));
        assert_eq!(ran(load(here, "main = [{ barrier = {} }]", "--nct 1,1,2").unwrap()).notes, [""; 0]);
    }
}
