//! JSON Schema of application files, from the tables of keys that the compiler reads.

use serde_json::{Map, Value, json};

use crate::config::schema_part;
use crate::platform::Algorithm;

use super::bind::{COMM_KEYS, GRID_KEYS};
use super::compile::{
    CONTROL, MODES, OPERATION_KEYS, PROCEDURE_KEYS, RESULT_KEYS, RESULTS_KEYS, block_keys, collective_by_name,
    collective_keys, collective_names,
};
use super::load::{App, KEYS};
use super::random::DistributionKind;
use super::tasks;

impl App {
    /// Returns the JSON Schema of described applications. The table `[run]` has the schema `run`.
    pub fn schema(run: Value) -> Value {
        let mut properties = properties(&KEYS, top_level);
        properties.insert("run".to_owned(), run);
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "application of mcpsim",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "$defs": definitions(),
        })
    }
}

/// Returns a reference to a definition of the schema.
fn defined(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn table_of(schema: &Value) -> Value {
    json!({ "type": "object", "additionalProperties": schema })
}

fn list_of(schema: &Value) -> Value {
    json!({ "type": "array", "items": schema })
}

fn properties(keys: &[&str], schema: impl Fn(&str) -> Value) -> Map<String, Value> {
    keys.iter().map(|key| ((*key).to_owned(), schema(key))).collect()
}

/// Returns the schema of a table that has no other keys than `keys`.
fn table(keys: &[&str], schema: impl Fn(&str) -> Value) -> Value {
    json!({ "type": "object", "properties": properties(keys, schema), "additionalProperties": false })
}

fn definitions() -> Value {
    let algorithm = schema_part::<Algorithm>()["enum"].take();
    json!({
        "expression": {
            "type": ["integer", "number", "boolean", "string"],
            "description": "a number or an expression such as \"2 * n\", \"64 KiB\" or \"1.5 us\"",
        },
        "mode": { "enum": MODES.map(|(name, _)| name) },
        "algorithm": { "enum": algorithm, "description": "algorithm of the collective" },
        "block": { "anyOf": [defined("expression"), table(&block_keys(), block_argument)] },
        "statements": list_of(&statement()),
        "reference": text("data or fragments such as \"u[i, j]\" or \"u[i - 1, 0 to n - 1] if i > 0\""),
    })
}

fn top_level(key: &str) -> Value {
    match key {
        "name" => text("name of the application"),
        "about" => text("description of the application"),
        "main" => defined("statements"),
        "grids" => table_of(&table(&GRID_KEYS, |key| match key {
            "dims" => list_of(&defined("expression")),
            _ => json!({ "anyOf": [defined("expression"), list_of(&defined("expression"))] }),
        })),
        "comms" => table_of(&table(&COMM_KEYS, |key| match key {
            "grid" => text("name of a grid"),
            "keep" => list_of(&json!({ "type": "boolean" })),
            _ => defined("expression"),
        })),
        "procedures" => table_of(&json!({ "anyOf": [defined("statements"), table(&PROCEDURE_KEYS, |key| match key {
            "params" => list_of(&text("name of a parameter")),
            _ => defined("statements"),
        })] })),
        "results" => table(&RESULTS_KEYS, |key| match key {
            "do" => defined("statements"),
            _ => table_of(&table(&RESULT_KEYS, |key| match key {
                "unit" => text("unit of the result"),
                _ => defined("expression"),
            })),
        }),
        "tasks" => tasks(),
        // Names with expressions: params, let, timers.
        _ => table_of(&defined("expression")),
    }
}

fn tasks() -> Value {
    let family = |key: &str| match key {
        "index" => table_of(&defined("expression")),
        "cost" => defined("block"),
        "in" | "out" | "unfold" => list_of(&defined("reference")),
        _ => defined("expression"),
    };
    let mut properties = properties(&tasks::KEYS, |_| defined("expression"));
    properties.insert("data".to_owned(), table_of(&table(&tasks::DATA_KEYS, family)));
    properties.insert("fragments".to_owned(), table_of(&table(&tasks::FRAGMENT_KEYS, family)));
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn block_argument(key: &str) -> Value {
    match DistributionKind::ALL.into_iter().find(|kind| kind.name() == key) {
        Some(kind) => {
            let (first, second) = kind.parameters();
            let keys: Vec<&str> = [first].into_iter().chain(second).collect();
            table(&keys, |_| defined("expression"))
        }
        None => defined("expression"),
    }
}

/// Returns the schema of a statement: a word, a control statement, or a table with one operation.
fn statement() -> Value {
    let word = text("\"waitall\", \"barrier\", \"ibarrier\" or the name of a procedure");
    let mut forms = vec![word];
    for (name, keys) in CONTROL {
        let mut form = table(keys, |key| match key {
            "do" | "then" | "else" => defined("statements"),
            "for" => text("name of the loop's variable"),
            "call" => text("name of a procedure"),
            "time" => text("name of a timer"),
            "with" => table_of(&defined("expression")),
            _ => defined("expression"),
        });
        form["required"] = json!([name]);
        forms.push(form);
    }
    let mut operations = Map::new();
    for (name, keys) in OPERATION_KEYS {
        operations.insert(name.to_owned(), table(keys, argument));
    }
    for name in collective_names() {
        let (collective, start) = collective_by_name(name).expect("the name is a collective's");
        operations.insert(name.to_owned(), table(&collective_keys(collective, start), argument));
    }
    let request = text("name of a request");
    operations.insert("compute".to_owned(), defined("block"));
    operations.insert("set".to_owned(), table_of(&defined("expression")));
    operations.insert("waitall".to_owned(), list_of(&request));
    operations.insert("wait".to_owned(), request);
    forms.push(json!({
        "type": "object", "properties": operations, "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
    }));
    json!({ "anyOf": forms })
}

/// Returns the schema of an argument of a statement that communicates.
fn argument(key: &str) -> Value {
    match key {
        "comm" => text("name of a communicator"),
        "request" => text("name of the request"),
        "requests" => list_of(&text("name of a request")),
        "mode" | "algorithm" => defined(key),
        _ if key.ends_with("_as") => text("name to which the statement assigns the value"),
        _ => defined("expression"),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, schema_faults};

    use super::*;

    #[test]
    fn the_schema_knows_the_arguments_of_each_statement() {
        let schema = App::schema(json!({ "type": "object" }));
        let faults = |text: &str| {
            let table: toml::Table = text.parse().unwrap();
            let loads = Document::parse("x.toml", text).is_ok_and(|document| App::load(document, &[]).is_ok());
            let found = schema_faults(&schema, &serde_json::to_value(table).unwrap());
            assert_eq!(loads, found.is_empty(), "{text}: {found:?}");
            found.first().cloned().unwrap_or_default()
        };
        assert_eq!(faults("main = [{ repeat = 3, do = [\"barrier\", { bcast = { bytes = 8, root = 1 } }] }]"), "");
        assert_eq!(faults("main = [{ compute = { normal = { mean = \"1 us\", sd = \"0.1 us\" } } }]"), "");
        assert_eq!(faults("main = [{ isend = { to = 0, bytes = 8, request = \"r\" } }, { wait = \"r\" }]"), "");
        assert_eq!(faults("main = [{ send = { to = 0, byte = 8 } }]"), ".main[0].send.byte is unknown");
        assert_eq!(faults("main = [{ alltoall = { bytes = 8, root = 1 } }]"), ".main[0].alltoall.root is unknown");
        assert!(
            faults("main = [{ send = { to = 0, bytes = 8, mode = \"fast\" } }]").contains(".send.mode is \"fast\"")
        );
        assert!(faults("main = [{ repaet = 3, do = [] }]").starts_with(".main[0]"));
        assert_eq!(faults("main = []\n[grids.g]\ndims = [0]\nperiodc = true"), ".grids.g.periodc is unknown");
        assert_eq!(faults("mian = []"), ".mian is unknown");
    }
}
