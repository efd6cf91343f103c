//! `mcpsim schema`: prints the JSON Schema of a kind of file. Editors of TOML files read it.

use clap::{Parser, ValueEnum};

use crate::platform::PlatformSource;
use crate::report::outcome_schema;
use crate::run::Application;
use crate::study::StudyFile;
use crate::study::validate::Case;

use super::exit::{Exit, Failure};
use super::output::print;

const EXAMPLES: &str = "\
Examples:
  Let Even Better TOML and taplo complete the keys of a machine
    mcpsim schema platform > platform.schema.json
  and begin the file of the machine with the line
    #:schema ./platform.schema.json";

/// Prints the JSON Schema of a kind of file
#[derive(Clone, Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(super) struct SchemaArgs {
    /// Kind of the file
    #[arg(value_name = "KIND")]
    kind: SchemaKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaKind {
    /// File of a machine
    Platform,
    /// Application: a description, a program or jobs
    App,
    /// Study of many runs
    Study,
    /// Validation case
    Case,
    /// Output of --json
    Outcome,
}

impl SchemaKind {
    fn schema(self) -> serde_json::Value {
        match self {
            SchemaKind::Platform => PlatformSource::schema(),
            SchemaKind::App => Application::schema(),
            SchemaKind::Study => StudyFile::schema(),
            SchemaKind::Case => Case::schema(),
            SchemaKind::Outcome => outcome_schema(),
        }
    }

    fn text(self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(&self.schema())? + "\n")
    }
}

/// Executes the command `mcpsim schema`.
pub(super) fn schema(args: &SchemaArgs) -> Result<(), Failure> {
    print(&args.kind.text().map_err(|error| Failure { exit: Exit::Bug, text: error.to_string() })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::schema_faults;
    use std::path::{Path, PathBuf};

    fn files(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => files(&path, found),
                Some(extension) if extension == "toml" => found.push(path),
                _ => {}
            }
        }
    }

    /// Descriptions of traces and of pairs of ranks, which have no schema.
    const WITHOUT_SCHEMA: [&str; 4] = ["trace.toml", "ccx.toml", "ring.pairs.toml", "levels.pairs.toml"];

    #[test]
    fn shipped_files_name_their_schema_and_conform_to_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut all = Vec::new();
        for directory in ["configs", "workloads", "validation"] {
            files(&root.join(directory), &mut all);
        }
        let has_schema = |path: &PathBuf| !WITHOUT_SCHEMA.iter().any(|name| path.ends_with(name));
        for path in all.into_iter().filter(has_schema) {
            let text = std::fs::read_to_string(&path).unwrap();
            let named = text.lines().next().and_then(|line| line.strip_prefix("#:schema "));
            let named = named.unwrap_or_else(|| panic!("{}: expected a line #:schema", path.display()));
            let named = path.with_file_name(named).canonicalize().unwrap();
            assert_eq!(named.parent(), root.join("configs/schemas").canonicalize().ok().as_deref());
            let kind = named.file_stem().and_then(|stem| stem.to_str()).unwrap();
            let table: toml::Table = text.parse().unwrap();
            let schema = SchemaKind::from_str(kind, false).unwrap().schema();
            let found = schema_faults(&schema, &serde_json::to_value(table).unwrap());
            assert!(found.is_empty(), "{}: {found:?}", path.display());
        }
    }

    #[test]
    fn shipped_schemas_are_those_of_the_types() {
        for kind in SchemaKind::value_variants().iter().filter(|kind| **kind != SchemaKind::Outcome) {
            let name = kind.to_possible_value().unwrap().get_name().to_owned();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("configs/schemas/{name}.json"));
            let expected = kind.text().unwrap();
            let found = std::fs::read_to_string(&path).unwrap();
            assert!(found == expected, "mcpsim schema {name} > configs/schemas/{name}.json");
        }
    }

    #[test]
    fn a_schema_knows_keys_units_and_choices() {
        let schema = SchemaKind::Platform.schema();
        let level = &schema["properties"]["inter_node"]["properties"];
        assert!(level["latency"].is_object() && level["eager_threshold"]["description"].is_string(), "{level}");
        let contention = level["contention"]["enum"].as_array().unwrap();
        assert!(contention.iter().any(|name| name == "fair"), "{contention:?}");
        let wrong = serde_json::json!({ "inter_node": { "latncy": "1 us" } });
        assert_eq!(schema_faults(&schema, &wrong), [".inter_node.latncy is unknown"]);
    }
}
