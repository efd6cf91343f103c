//! Machine-readable output of a run: the whole Outcome as JSON, the message profile as CSV.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::config::schema_faults;
use crate::engine::{Mistake, MistakeKind, Outcome, RunError, Waiting};
use crate::platform::Level;
use crate::rank::FailureKind;

use super::sizes::{exact_percent, levels};

/// Version of the JSON form of an Outcome. The version increases if a key disappears or changes its meaning. Further keys
/// do not change the version.
const OUTCOME_VERSION: u32 = 1;

/// Returns the Outcome of a run as indented JSON. `mcpsim schema outcome` states the keys.
///
/// # Errors
/// The function never fails for a valid Outcome, but serde's signature requires the error.
///
/// # Panics
/// In builds with debug assertions, if the JSON does not conform to [`outcome_schema`].
pub fn json(outcome: &Outcome) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(outcome)? + "\n";
    if cfg!(debug_assertions) {
        let faults = schema_faults(&outcome_schema(), &serde_json::from_str(&text)?);
        assert!(faults.is_empty(), "the Outcome does not conform to its schema: {faults:?}");
    }
    Ok(text)
}

/// Returns the JSON Schema of an Outcome, from the types that write it.
pub fn outcome_schema() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Outcome>().to_value();
    schema["$id"] = json!(format!("urn:mcpsim:outcome:{OUTCOME_VERSION}"));
    schema["title"] = json!(format!("outcome of mcpsim, version {OUTCOME_VERSION}"));
    schema["description"] =
        json!("Prediction of a run and its explanation. Times are picoseconds, and sizes are bytes.");
    without_links(&mut schema);
    schema
}

/// Removes the brackets of rustdoc's links from all descriptions of a schema.
fn without_links(schema: &mut Value) {
    match schema {
        Value::Object(table) => {
            for (key, value) in table {
                match value {
                    Value::String(text) if key == "description" => *text = text.replace("[`", "`").replace("`]", "`"),
                    value => without_links(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_links),
        _ => {}
    }
}

/// Returns indented JSON with the key `program`, which describes how a failed simulated program ended. The README
/// describes the content of the key. Returns `None` if the program did not cause the failure.
///
/// The key `mistakes` contains the mistakes that `--check` found earlier and the cause of the failure.
pub fn end_json(error: &RunError, mistakes: &[Mistake], exit_code: u8) -> Option<String> {
    let last = mistakes_of(error);
    if mistakes.is_empty() && last.is_empty() {
        return None;
    }
    let mistakes = [mistakes, &last].concat();
    let mut end = json!({ "mcpsim": env!("CARGO_PKG_VERSION"), "mistakes": mistakes });
    if let Some(ended) = ended_by(error) {
        end["program"] = json!({ "exit_code": exit_code, "ended": ended });
    }
    serde_json::to_string_pretty(&end).ok().map(|text| text + "\n")
}

/// Converts the failure of a run to a list of mistakes of ranks.
fn mistakes_of(error: &RunError) -> Vec<Mistake> {
    match error {
        RunError::Program { rank, error, .. } => {
            let kind = match error.kind {
                FailureKind::Description | FailureKind::NoRoom => return Vec::new(),
                FailureKind::Error => MistakeKind::MpiError,
                FailureKind::Aborted { .. } => MistakeKind::Abort,
                FailureKind::Exited { .. } => MistakeKind::Exit,
                FailureKind::Crashed { .. } => MistakeKind::Crash,
            };
            let (call, place) = match kind {
                MistakeKind::Crash => (String::new(), Some(error.place.clone())),
                _ => Mistake::call_and_place(&error.place),
            };
            vec![Mistake { rank: *rank, kind, call, place, text: error.what.clone() }]
        }
        RunError::Truncated { rank, position, .. } => {
            let (call, place) = Mistake::call_and_place(position.as_deref().unwrap_or_default());
            vec![Mistake { rank: *rank, kind: MistakeKind::MpiError, call, place, text: error.to_string() }]
        }
        RunError::Deadlock(deadlock) => {
            let waits = |waiting: &Waiting| {
                let place = waiting.position.as_deref().and_then(|position| Mistake::call_and_place(position).1);
                let text = format!("waits for {}", waiting.awaits.join("; "));
                Mistake { rank: waiting.rank, kind: MistakeKind::Deadlock, call: waiting.call.clone(), place, text }
            };
            deadlock.waiting.iter().map(waits).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the rank that ended the run, and a JSON description of how the rank ended the run.
fn ended_by(error: &RunError) -> Option<Value> {
    let (rank, clock, by, number) = match error {
        RunError::Program { rank, clock, error: why } => {
            let (by, number) = match why.kind {
                FailureKind::Description | FailureKind::NoRoom => return None,
                FailureKind::Error => ("error", json!(null)),
                FailureKind::Aborted { code } => ("MPI_Abort", json!(code)),
                FailureKind::Exited { code } => ("exit", json!(code)),
                FailureKind::Crashed { signal } => ("signal", json!(signal)),
            };
            (*rank, json!(clock.as_ps()), by, number)
        }
        RunError::Deadlock(deadlock) => (*deadlock.unfinalised.first()?, json!(null), "exit", json!(0)),
        _ => return None,
    };
    Some(json!({ "rank": rank, "by": by, "number": number, "clock_ps": clock, "text": error.to_string() }))
}

/// Returns the message profile of a run as CSV, one row per size interval and network level, including intervals
/// without messages.
///
/// The column `up_to` is empty in the last size interval. One percentage is relative to the messages of the network
/// level, another to all messages of the run.
pub fn profile_csv(outcome: &Outcome) -> String {
    let mut text = String::from(
        "above,up_to,level,count,bytes,count_percent_of_level,count_percent_of_all,bytes_percent_of_level,bytes_percent_of_all,\
         time_ps,time_percent_of_all\n",
    );
    let of = |level: Level| match level {
        Level::IntraCmp => outcome.levels.intra_cmp,
        Level::InterCmp => outcome.levels.inter_cmp,
        Level::InterNode => outcome.levels.inter_node,
    };
    let time: u64 = Level::ALL.into_iter().fold(0, |sum: u64, level| sum.saturating_add(of(level).time.as_ps()));
    for row in &outcome.profile {
        let up_to = row.up_to.map_or(String::new(), |bytes| bytes.to_string());
        for (level, cell) in levels(row) {
            let total = of(level);
            let percents = [
                exact_percent(cell.count, total.count),
                exact_percent(cell.count, outcome.messages.count),
                exact_percent(cell.bytes, total.bytes),
                exact_percent(cell.bytes, outcome.messages.bytes),
            ];
            let (above, name) = (row.above, level.name());
            let (took, of_all) = (cell.time.as_ps(), exact_percent(cell.time.as_ps(), time));
            let percents = percents.join(",");
            writeln!(text, "{above},{up_to},{name},{},{},{percents},{took},{of_all}", cell.count, cell.bytes)
                .expect("a String takes all that is written");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{busy, empty};

    /// Collects the dotted names of all JSON keys, including the keys in the first entry of each list.
    fn keys(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                    found.push(path.clone());
                    keys(value, &path, found);
                }
            }
            Value::Array(list) => {
                if let Some(first) = list.first() {
                    keys(first, &format!("{at}[]"), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn json_has_the_keys_that_scripts_rely_on() {
        let value: Value = serde_json::from_str(&json(&busy()).unwrap()).unwrap();
        let mut found = Vec::new();
        keys(&value, "", &mut found);
        assert_eq!(found.join("\n") + "\n", include_str!("keys.txt"));
    }

    #[test]
    fn the_schema_of_an_outcome_describes_every_key() {
        let schema = outcome_schema();
        assert_eq!(schema["$id"], "urn:mcpsim:outcome:1");
        assert_eq!(schema["properties"]["predicted_ps"]["$ref"], "#/$defs/SimTime");
        assert_eq!(schema["$defs"]["SimTime"]["minimum"], 0);
        assert!(!schema.to_string().contains("[`"), "descriptions have no links of rustdoc");
        let described = |table: &Value| {
            let keys = table["properties"].as_object().into_iter().flatten();
            let bare = keys.filter(|(_, key)| key["description"].is_null()).map(|(name, _)| name.clone());
            bare.collect::<Vec<_>>()
        };
        assert_eq!(described(&schema), [""; 0]);
        let mut names = Vec::new();
        for (name, table) in schema["$defs"].as_object().unwrap() {
            names.extend(table["properties"].as_object().into_iter().flatten().map(|(key, _)| format!("{name}.{key}")));
        }
        names.extend(schema["properties"].as_object().unwrap().keys().cloned());
        // A key that disappears changes the version of the schema.
        let lost = include_str!("schema_keys.txt").lines().filter(|key| !names.iter().any(|name| name == key));
        assert_eq!(lost.collect::<Vec<_>>(), [""; 0]);
        let wrong = json!({ "predicted_ps": -1 });
        assert!(schema_faults(&schema, &wrong).iter().any(|fault| fault.starts_with(".predicted_ps is -1")));
    }

    #[test]
    fn json_of_an_empty_run_is_still_whole() {
        let value: Value = serde_json::from_str(&json(&empty()).unwrap()).unwrap();
        assert_eq!(value["predicted_ps"], 0);
        assert_eq!(value["messages"]["count"], 0);
        assert_eq!(value["host"]["messages_per_s"], 0.0);
    }

    #[test]
    fn csv_has_a_row_for_each_interval_and_level() {
        let outcome = busy();
        let text = profile_csv(&outcome);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 3 * outcome.profile.len());
        let width = lines[0].split(',').count();
        assert!(lines.iter().all(|line| line.split(',').count() == width));
        assert!(lines[1].starts_with("0,64,intra_cmp,2560,20480,25.0000,11.1111,0.0509,0.0141,"), "{}", lines[1]);
        let share = |line: &&str| line.rsplit(',').next().and_then(|cell| cell.parse::<f64>().ok()).unwrap();
        assert!((lines[1..].iter().map(share).sum::<f64>() - 100.0).abs() < 0.01, "shares of all the time");
        assert!(lines[28].starts_with("4194304,,intra_cmp,0,0,0.0000,"), "{}", lines[28]);
    }
}
