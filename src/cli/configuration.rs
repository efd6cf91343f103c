//! Everything a run is given, read and layered but not yet understood: settings, the platform's document, the application's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::app::App;
use crate::cc::ProgramFile;
use crate::config::{Document, Override};
use crate::platform::{Platform, PlatformSource};

use super::args::{RunArgs, is_elf};
use super::exit::Failure;
use super::mistake;
use super::replay::TraceFile;
use super::settings::Settings;
use super::shipped::Shipped;

/// The tables of a whole configuration, as `--show-config` prints it.
const TABLES: [&str; 3] = ["run", "platform", "app"];

/// What a run is given.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    /// How it is to be made.
    pub settings: Settings,
    /// The machine's document; `None` stands for the built-in one.
    pub platform: Option<Document>,
    /// What `--set platform.…` lays over it.
    pub platform_overrides: Vec<Override>,
    /// The application's document without its `[run]` table.
    pub app: Document,
    /// Where relative paths in it begin.
    directory: PathBuf,
    /// The application as the user typed it.
    pub typed: String,
    /// What `--set app.…` lays over it.
    pub app_overrides: Vec<Override>,
}

/// What the user gave, with the application's file read: runs of it may differ in their overrides.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    args: RunArgs,
    file: Document,
    overrides: Vec<Override>,
}

impl Sources {
    /// Reads the application's file.
    pub fn read(args: &RunArgs) -> Result<Sources, Failure> {
        let args = &located(args)?;
        let file = if is_elf(&args.app) {
            of_binary(args)?
        } else if TraceFile::is_at(&args.app) {
            TraceFile::document(&args.app)?
        } else {
            mistake::by_form(&args.app)?;
            let document = Document::read(&args.app)?;
            mistake::by_keys(&document)?;
            document
        };
        Sources::of(file, args)
    }

    /// The same with an application's file that has been read already.
    pub fn of(file: Document, args: &RunArgs) -> Result<Sources, Failure> {
        let overrides = args.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(Sources { args: args.clone(), file, overrides })
    }

    /// Merges the settings, with `more` overrides after those of the arguments.
    pub fn configure(&self, more: &[Override]) -> Result<Configuration, Failure> {
        let Sources { args, mut file, mut overrides } = self.clone();
        overrides.extend_from_slice(more);
        let args = &args;
        let of =
            |what: &str| -> Vec<Override> { overrides.iter().filter(|over| over.key[0] == what).cloned().collect() };
        let mut run = file.clone();
        file.table().keys().filter(|key| *key != "run").for_each(|key| {
            run.take(key);
        });
        file.take("run");
        let (app, platform) = match is_whole(&file) {
            true => (part(&mut file, "app")?, part(&mut file, "platform")?),
            false => (Some(file), None),
        };
        let directory = args.app.parent().unwrap_or(Path::new(""));
        let mut app = app.expect("a whole configuration has an app");
        if TraceFile::is_in(&app)
            && (args.seed.is_some() || overrides.iter().any(|over| over.key[..] == ["run", "seed"]))
        {
            let name = args.app.display();
            return Err(Failure::bad_input(format!("a seed: the trace {name} has no random draws, expected none")));
        }
        if let Some(first) = args.arguments.first() {
            if !ProgramFile::is_in(&app) {
                let (first, name) = (first.display(), args.app.display());
                let why = match TraceFile::is_in(&app) {
                    true => format!("the trace {name} takes none"),
                    false => {
                        format!("the described application {name} takes none, change its keys with --set app.KEY=VALUE")
                    }
                };
                return Err(Failure::bad_input(format!("unexpected argument \"{first}\": {why}")));
            }
            set_arguments(&mut app, &args.arguments)?;
        }
        let settings = Settings::merge(run, directory, &of("run"), args)?;
        let platform = match &settings.platform {
            Some(path) => Some(Document::read(path)?),
            None => platform,
        };
        Ok(Configuration {
            settings,
            platform,
            platform_overrides: of("platform"),
            app,
            directory: directory.to_owned(),
            typed: args.app.to_string_lossy().into_owned(),
            app_overrides: of("app"),
        })
    }
}

impl Configuration {
    /// Reads the files that `args` name, and merges the settings.
    pub fn load(args: &RunArgs) -> Result<Configuration, Failure> {
        Sources::read(args)?.configure(&[])
    }

    /// The machine, with its merged table.
    pub fn platform(&self) -> Result<PlatformSource, Failure> {
        let document = self.platform.clone().unwrap_or_else(Platform::default_document);
        let source = PlatformSource::load(document, &self.platform_overrides)?;
        Ok(match self.settings.shape {
            Some(shape) => source.with_shape(shape),
            None => source,
        })
    }

    /// Whether the application is a real program.
    pub fn is_program(&self) -> bool {
        ProgramFile::is_in(&self.app)
    }

    /// The trace, if the application is one.
    pub fn trace(&self) -> Option<Result<TraceFile, Failure>> {
        let load = || Ok(TraceFile::load(self.app.clone(), &self.directory, &self.app_overrides)?);
        TraceFile::is_in(&self.app).then(load)
    }

    /// The described application.
    pub fn app(&self) -> Result<App, Failure> {
        Ok(App::load(self.app.clone(), &self.app_overrides)?)
    }

    /// The real program.
    pub fn program(&self) -> Result<ProgramFile, Failure> {
        Ok(ProgramFile::load(self.app.clone(), &self.directory, &self.app_overrides)?)
    }

    /// The merged table of the application, and its name.
    fn app_table(&self) -> Result<(toml::Table, String), Failure> {
        if self.is_program() {
            let program = self.program()?;
            let table = toml::Table::from_iter([("program".to_owned(), program.config().into())]);
            return Ok((table, program.name));
        }
        if let Some(file) = self.trace() {
            let file = file?;
            return Ok((file.table(), file.path.display().to_string()));
        }
        let app = self.app()?;
        let mut table = app.config();
        // An application without a name has its file's, which is another when the tables are read back.
        table.insert("name".to_owned(), app.name().into());
        Ok((table, app.name().to_owned()))
    }

    /// The merged tables `run`, `platform` and `app`.
    pub fn tables(&self) -> Result<toml::Table, Failure> {
        let (app_table, _) = self.app_table()?;
        let tables =
            [("run", self.settings.table(self.is_program())), ("platform", self.platform()?.table), ("app", app_table)];
        Ok(tables.into_iter().map(|(name, table)| (name.to_owned(), table.into())).collect())
    }

    /// The merged tables as a file that runs as it is.
    pub fn to_toml(&self) -> Result<String, Failure> {
        let text =
            toml::to_string(&self.tables()?).map_err(|error| Failure::bad_input(format!("--show-config: {error}")))?;
        Ok(format!("# The merged configuration of {}; runs as it is: mcpsim FILE\n\n{text}", self.app.name()))
    }

    /// As [`Configuration::to_toml`], with `program` in place of the configuration's own.
    pub fn to_toml_of(&self, program: &ProgramFile) -> Result<String, Failure> {
        let mut tables = self.tables()?;
        let app = toml::Table::from_iter([("program".to_owned(), program.config().into())]);
        tables.insert("app".to_owned(), app.into());
        toml::to_string(&tables).map_err(|error| Failure::bad_input(format!("{}: {error}", self.app.name())))
    }

    /// The same with the trace at `path` in place of the application.
    pub fn replaying(self, path: &Path) -> Result<Configuration, Failure> {
        Ok(Configuration { app: TraceFile::document(path)?, app_overrides: Vec::new(), ..self })
    }

    /// How many ranks a run has, where that can be told.
    pub fn ranks(&self) -> u32 {
        let own = || self.is_program().then(|| self.program().ok()?.ranks).flatten();
        let cores = || self.platform().map_or(1, |source| source.platform.shape.total_cores() as u32);
        self.settings.ranks.or_else(own).unwrap_or_else(cores)
    }

    /// The merged tables for the Outcome: without the number of workers, which changes nothing but `host`.
    pub fn to_json(&self) -> Result<serde_json::Value, Failure> {
        let mut value = serde_json::to_value(self.tables()?)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", self.app.name())))?;
        if let Some(run) = value["run"].as_object_mut() {
            run.remove("workers");
        }
        Ok(value)
    }
}

/// A program that is given itself, as a file would describe it.
fn of_binary(args: &RunArgs) -> Result<Document, Failure> {
    let path = std::path::absolute(&args.app).unwrap_or(args.app.clone());
    let text = path
        .to_str()
        .ok_or_else(|| Failure::bad_input(format!("{}: expected a path that is valid UTF-8", args.app.display())))?;
    let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let program = toml::Table::from_iter([("name".to_owned(), name.into()), ("binary".to_owned(), text.into())]);
    let table = toml::Table::from_iter([("program".to_owned(), toml::Value::Table(program))]);
    Ok(Document::parse(&args.app.display().to_string(), &table.to_string())?)
}

/// The arguments with the files of machines and applications that were given by name.
fn located(args: &RunArgs) -> Result<RunArgs, Failure> {
    let platform = args.platform.as_deref().map(|name| Shipped::Platform.resolve(name)).transpose()?;
    Ok(RunArgs { app: Shipped::Application.resolve(&args.app)?, platform, ..args.clone() })
}

/// The arguments of the command line take the place of the file's.
fn set_arguments(app: &mut Document, arguments: &[OsString]) -> Result<(), Failure> {
    let words: Result<Vec<toml::Value>, Failure> = arguments
        .iter()
        .map(|argument| match argument.to_str() {
            Some(text) => Ok(text.into()),
            None => Err(Failure::bad_input(format!("argument \"{}\": expected valid UTF-8", argument.display()))),
        })
        .collect();
    let list = toml::Value::Array(words?);
    let over = Override::parse(&format!("app.program.arguments={list}"))?;
    Ok(app.set(&over.key[1..], &over)?)
}

/// Whether the file is one that `--show-config` printed: a table `app`, and beside it nothing but its companions.
fn is_whole(file: &Document) -> bool {
    let table = file.table();
    table.get("app").is_some_and(toml::Value::is_table) && table.keys().all(|key| TABLES.contains(&key.as_str()))
}

/// A table of a whole configuration as a document of its own; errors name the file and the table.
fn part(file: &mut Document, key: &str) -> Result<Option<Document>, Failure> {
    let name = format!("{}, table {key}", file.name());
    match file.take(key) {
        None => Ok(None),
        Some(toml::Value::Table(table)) => {
            let text = toml::to_string(&table).map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
            Ok(Some(Document::parse(&name, &text)?))
        }
        Some(other) => Err(file.expected(key, "a table", other).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Parsed, parse};

    fn load(directory: &Path, app: &str, line: &str) -> Result<Configuration, String> {
        let path = directory.join("app.toml");
        std::fs::write(&path, app).unwrap();
        let arguments = std::iter::once("mcpsim").chain(line.split_whitespace()).map(Into::into);
        let Ok(Parsed::Run(args)) = parse(arguments.chain([path.into_os_string()]).collect()) else { panic!("{line}") };
        Configuration::load(&args).map_err(|failure| failure.text)
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
        assert!(again.app.name().ends_with("app.toml, table app"));
        let other = load(here, &text, "--set platform.name=x --set app.n=2").unwrap().tables().unwrap();
        assert_eq!(other["platform"]["name"].as_str(), Some("x"));
        assert_eq!(other["app"]["params"]["n"].as_integer(), Some(2));
    }

    #[test]
    fn the_application_does_not_see_the_run_table() {
        let directory = tempfile::tempdir().unwrap();
        let configuration = load(directory.path(), "main = []\nrun.seed = 7", "").unwrap();
        assert_eq!(configuration.app.table().keys().collect::<Vec<_>>(), ["main"]);
        assert_eq!(configuration.settings.seed, 7);
        assert_eq!(configuration.platform().unwrap().table, *Platform::default_document().table());
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
        std::fs::write(&platform, "name = \"m\"").unwrap();
        let name = |line: &str| {
            let whole = "[run]\nseed = 3\n[platform]\nname = \"p\"\n[app]\nname = \"a\"";
            let configuration = load(here, whole, line).unwrap();
            assert_eq!(configuration.app.table()["name"].as_str(), Some("a"));
            configuration.platform.unwrap().table()["name"].as_str().unwrap().to_owned()
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
}
