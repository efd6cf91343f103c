//! `mcpsim schema`: prints the JSON Schema of a kind of file, which editors of TOML files read.

use clap::{Parser, ValueEnum};

use crate::platform::PlatformSource;
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

/// Prints the JSON Schema of platforms, studies or validation cases
#[derive(Clone, Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(super) struct SchemaArgs {
    /// Kind of the file
    #[arg(value_name = "KIND")]
    kind: SchemaKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaKind {
    Platform,
    Study,
    Case,
}

impl SchemaKind {
    fn schema(self) -> serde_json::Value {
        match self {
            SchemaKind::Platform => PlatformSource::schema(),
            SchemaKind::Study => StudyFile::schema(),
            SchemaKind::Case => Case::schema(),
        }
    }
}

/// Executes the command `mcpsim schema`.
pub(super) fn schema(args: &SchemaArgs) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&args.kind.schema());
    print(&(text.map_err(|error| Failure { exit: Exit::Bug, text: error.to_string() })? + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::path::Path;

    /// Returns the places of `value` that do not conform to `schema`.
    fn faults(place: &str, schema: &Value, value: &Value) -> Vec<String> {
        let kind = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            _ => "integer",
        };
        let is_kind = |wanted: &str| wanted == kind || wanted == "number" && kind == "integer";
        let allowed = schema["enum"].as_array().is_none_or(|all| all.contains(value));
        if schema["type"].as_str().is_some_and(|wanted| !is_kind(wanted)) || !allowed {
            return vec![format!("{place} is {value}: {schema}")];
        }
        let mut found = Vec::new();
        for (key, value) in value.as_object().into_iter().flatten() {
            let more = &schema["additionalProperties"];
            let schema = if schema["properties"][key].is_null() { more } else { &schema["properties"][key] };
            match schema == &Value::Bool(false) {
                true => found.push(format!("{place}.{key} is unknown")),
                false => found.extend(faults(&format!("{place}.{key}"), schema, value)),
            }
        }
        for value in value.as_array().into_iter().flatten() {
            found.extend(faults(&format!("{place}[]"), &schema["items"], value));
        }
        found
    }

    fn check(kind: SchemaKind, path: &Path) {
        let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        let found = faults("", &kind.schema(), &serde_json::to_value(table).unwrap());
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }

    #[test]
    fn shipped_files_conform_to_their_schemas() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = |directory: &str| {
            let all = std::fs::read_dir(root.join(directory)).unwrap().map(|entry| entry.unwrap().path());
            all.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect::<Vec<_>>()
        };
        let platforms = files("configs");
        assert!(platforms.len() > 8);
        platforms.iter().for_each(|path| check(SchemaKind::Platform, path));
        for path in files("configs/studies")
            .iter()
            .filter(|path| path.file_stem().is_some_and(|stem| Path::new(stem).extension().is_none()))
        {
            check(SchemaKind::Study, path);
        }
        let cases = std::fs::read_dir(root.join("validation")).unwrap();
        let cases = cases.map(|entry| entry.unwrap().path().join("case.toml")).filter(|path| path.is_file());
        cases.for_each(|path| check(SchemaKind::Case, &path));
    }

    #[test]
    fn a_schema_knows_keys_units_and_choices() {
        let schema = SchemaKind::Platform.schema();
        let level = &schema["properties"]["inter_node"]["properties"];
        assert!(level["latency"].is_object() && level["eager_threshold"]["description"].is_string(), "{level}");
        let contention = level["contention"]["enum"].as_array().unwrap();
        assert!(contention.iter().any(|name| name == "fair"), "{contention:?}");
        let wrong = serde_json::json!({ "inter_node": { "latncy": "1 us" } });
        assert_eq!(faults("", &schema, &wrong), [".inter_node.latncy is unknown"]);
    }
}
