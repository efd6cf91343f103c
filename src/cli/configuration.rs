//! Everything a run is given, read and layered but not yet understood: settings, the platform's document, the application's.

use std::path::Path;

use crate::config::{Document, Override};
use crate::platform::Platform;

use super::args::RunArgs;
use super::exit::Failure;
use super::settings::Settings;

/// The tables of a whole configuration, as `--show-config` prints it.
const TABLES: [&str; 3] = ["run", "platform", "app"];

/// What a run is given.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    /// How it is to be made.
    pub settings: Settings,
    /// The machine's document: a file, a part of the application's, or the built-in one.
    pub platform: Document,
    /// The application's document without its `[run]` table.
    pub app: Document,
    /// What `--set` lays over both.
    pub overrides: Vec<Override>,
}

impl Configuration {
    /// Reads the files that `args` name, and merges the settings.
    pub fn load(args: &RunArgs) -> Result<Configuration, Failure> {
        let mut file = Document::read(&args.app)?;
        let overrides = args.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let for_run: Vec<Override> = overrides.iter().filter(|over| over.key[0] == "run").cloned().collect();
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
        let settings = Settings::merge(run, directory, &for_run, args)?;
        let platform = match &settings.platform {
            Some(path) => Document::read(path)?,
            None => platform.unwrap_or_else(Platform::default_document),
        };
        Ok(Configuration { settings, platform, app: app.expect("a whole configuration has an app"), overrides })
    }
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
    fn the_application_does_not_see_the_run_table() {
        let directory = tempfile::tempdir().unwrap();
        let configuration = load(directory.path(), "n = 1\nrun.seed = 7", "").unwrap();
        assert_eq!(configuration.app.table().keys().collect::<Vec<_>>(), ["n"]);
        assert_eq!(configuration.settings.seed, 7);
        assert_eq!(configuration.platform.table(), Platform::default_document().table());
    }

    #[test]
    fn a_whole_configuration_has_its_own_machine_unless_another_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let platform = here.join("m.toml");
        std::fs::write(&platform, "name = \"m\"").unwrap();
        let whole = "[run]\nseed = 3\n[platform]\nname = \"p\"\n[app]\nname = \"a\"";
        let configuration = load(here, whole, "").unwrap();
        assert_eq!(configuration.platform.table()["name"].as_str(), Some("p"));
        assert_eq!(configuration.app.table()["name"].as_str(), Some("a"));
        assert!(configuration.app.name().ends_with("app.toml, table app"));
        let configuration = load(here, whole, &format!("--platform {}", platform.display())).unwrap();
        assert_eq!(configuration.platform.table()["name"].as_str(), Some("m"));
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
