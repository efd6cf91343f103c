//! Timeline in an HTML page: one text per rank, with the states of the rank and the lengths of the states.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::wrong;
use crate::config::ConfigError;

/// Minimum number of time units in a timeline. Lengths of states are rounded to whole time units.
const UNITS: f64 = 1e8;

/// Converts a timeline in the Trace Event Format that `--timeline` writes. Each rank gets a text that lists its states.
/// A state in this text consists of a letter and a length in base 36.
pub(super) fn timeline(name: &str, text: &str) -> Result<Value, ConfigError> {
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(name, format!("not JSON: {error}")))?;
    let events = value["traceEvents"].as_array();
    let events =
        events.ok_or_else(|| wrong(name, "expected the output of --timeline FILE.json; found no traceEvents"))?;
    let mut ranks: BTreeMap<u64, Vec<(f64, f64, &str)>> = BTreeMap::new();
    let mut end = 0.0f64;
    for event in events.iter().filter(|event| event["ph"] == "X" && event["cat"] != "call") {
        let (start, length) = (event["ts"].as_f64().unwrap_or(0.0), event["dur"].as_f64().unwrap_or(0.0));
        let rank = event["tid"].as_u64().unwrap_or(0);
        ranks.entry(rank).or_default().push((start, start + length, event["name"].as_str().unwrap_or("")));
        end = end.max(start + length);
    }
    if ranks.is_empty() {
        return Err(wrong(name, "expected intervals of ranks in traceEvents; found none"));
    }
    let mut states: Vec<&str> = Vec::new();
    // Number of picoseconds per unit; the file contains microseconds.
    let unit = (end * 1e6 / UNITS).ceil().max(1.0);
    let units = |time: f64| (time * 1e6 / unit).round() as u64;
    let mut rows = Vec::new();
    for intervals in ranks.values_mut() {
        intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut row, mut at) = (String::new(), 0);
        for &(start, until, state) in &*intervals {
            let (start, until) = (units(start), units(until));
            // Times are rounded, so a distance of one unit between states does not count as a gap.
            let start = if start > at + 1 { start } else { at };
            if start > at {
                put(&mut row, place(&mut states, "ended"), start - at);
            }
            if until > start {
                put(&mut row, place(&mut states, state), until - start);
                at = until;
            }
        }
        rows.push(row);
    }
    Ok(json!({ "unit": unit, "end": units(end), "states": states, "ranks": rows }))
}

/// Returns the index of a timeline state. All states after the 26th have the last index.
fn place<'a>(states: &mut Vec<&'a str>, state: &'a str) -> usize {
    match states.iter().position(|known| *known == state) {
        Some(place) => place,
        None if states.len() == 26 => 25,
        None => {
            states.push(state);
            states.len() - 1
        }
    }
}

fn put(row: &mut String, state: usize, mut length: u64) {
    row.push((b'A' + state as u8) as char);
    let mut digits = Vec::new();
    while length > 0 {
        digits.push(char::from_digit((length % 36) as u32, 36).expect("a digit below 36"));
        length /= 36;
    }
    row.extend(digits.into_iter().rev());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_become_letters_and_lengths() {
        let event = |rank: u64, start: f64, length: f64, name: &str| json!({ "ph": "X", "pid": 0, "tid": rank, "ts": start, "dur": length, "name": name });
        let events = json!({ "traceEvents": [
            event(0, 0.0, 0.00004, "compute"), event(0, 0.00004, 0.0001, "send"), event(1, 0.00001, 0.000002, "compute"),
        ] });
        let found = timeline("t", &events.to_string()).unwrap();
        assert_eq!(
            found,
            json!({ "unit": 1.0, "end": 140, "states": ["compute", "send", "ended"], "ranks": ["A14B2s", "CaA2"] })
        );
        // A rounding error between two states does not count as a gap.
        let near = json!({ "traceEvents": [event(0, 0.0, 0.00004, "send"), event(0, 0.000041, 0.0001, "wait")] });
        assert_eq!(timeline("t", &near.to_string()).unwrap()["ranks"], json!(["A14B2t"]));
        let error = timeline("t.json", "{}").unwrap_err().to_string();
        assert_eq!(error, "t.json: expected the output of --timeline FILE.json; found no traceEvents");
    }
}
