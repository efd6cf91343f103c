//! Timeline in an HTML page: one text per rank and thread, with the states of the rank and the lengths of the states.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::super::threads::task_name;
use super::super::timeline::call_name;
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
    let mut ranks: BTreeMap<Row, Vec<(f64, f64, &str)>> = BTreeMap::new();
    let mut end = 0.0f64;
    for event in events.iter().filter(|event| event["ph"] == "X" && !is_call(event)) {
        let (start, length) = (event["ts"].as_f64().unwrap_or(0.0), event["dur"].as_f64().unwrap_or(0.0));
        ranks.entry(row_of(event)).or_default().push((start, start + length, event["name"].as_str().unwrap_or("")));
        end = end.max(start + length);
    }
    // A rank without states has a row if it has calls or messages.
    for event in events.iter().filter(|event| is_call(event) || event["cat"] == "message") {
        ranks.entry(row_of(event)).or_default();
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
    let mut found = json!({ "unit": unit, "end": units(end), "states": states, "ranks": rows });
    let keys: Vec<Row> = ranks.keys().copied().collect();
    if keys.iter().any(|&(_, thread)| thread > 0) {
        let name = |&(rank, thread): &Row| task_name(rank as u32, Some(thread as u32).filter(|&thread| thread > 0));
        found["names"] = json!(keys.iter().map(name).collect::<Vec<_>>());
    }
    let messages = messages(events, &keys, units);
    if !messages.is_empty() {
        found["messages"] = json!(messages);
    }
    if let Some(calls) = calls(events, &keys, units) {
        found["calls"] = calls;
    }
    Ok(found)
}

/// Maximum number of messages and of calls in the timeline of an HTML page.
const MOST: usize = 100_000;

/// Row of a timeline: a rank, and the number of a thread of the rank or 0.
type Row = (u64, u64);

fn is_call(event: &Value) -> bool {
    event["cat"].as_str().is_some_and(|category| category.starts_with("call"))
}

fn row_of(event: &Value) -> Row {
    let of = |key: &str| event["args"][key].as_u64();
    match (of("rank"), of("thread")) {
        (Some(rank), Some(thread)) => (rank, thread),
        _ => (event["tid"].as_u64().unwrap_or(0), 0),
    }
}

/// Returns the messages of a timeline as row of the sender, departure, row of the receiver, arrival and bytes. Messages
/// beyond the maximum number are omitted.
fn messages(events: &[Value], rows: &[Row], units: impl Fn(f64) -> u64) -> Vec<[u64; 5]> {
    let mut left: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut messages = Vec::new();
    for event in events.iter().filter(|event| event["cat"] == "message") {
        let at = units(event["ts"].as_f64().unwrap_or(0.0));
        let row = rows.binary_search(&(event["tid"].as_u64().unwrap_or(0), 0));
        let (Some(id), Ok(row)) = (event["id"].as_u64(), row) else { continue };
        if event["ph"] == "s" {
            left.insert(id, (row as u64, at));
        } else if let (Some((from, departure)), true) = (left.remove(&id), messages.len() < MOST) {
            messages.push([from, departure, row as u64, at, event["args"]["bytes"].as_u64().unwrap_or(0)]);
        }
    }
    messages
}

/// Returns the names of calls, and a list of name, start and length of the calls of each row. Returns `None` without
/// calls, or if there are too many calls.
fn calls(events: &[Value], rows: &[Row], units: impl Fn(f64) -> u64) -> Option<Value> {
    let mut names: Vec<String> = Vec::new();
    let mut indices: HashMap<String, u64> = HashMap::new();
    let mut ranks: BTreeMap<Row, Vec<[u64; 3]>> = BTreeMap::new();
    let mut count = 0;
    for event in events.iter().filter(|event| event["ph"] == "X" && is_call(event)) {
        let index = *indices.entry(call_name(event)).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u64 - 1
        });
        let (start, length) = (event["ts"].as_f64().unwrap_or(0.0), event["dur"].as_f64().unwrap_or(0.0));
        let own = [index, units(start), units(start + length).saturating_sub(units(start))];
        ranks.entry(row_of(event)).or_default().push(own);
        count += 1;
    }
    if count == 0 || count > MOST {
        return None;
    }
    let rows: Vec<Vec<u64>> = rows.iter().map(|row| ranks.remove(row).unwrap_or_default().concat()).collect();
    Some(json!({ "names": names, "ranks": rows }))
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
        // The page shows messages from the sender's call to the receiver's call, and the names of calls.
        let point = |phase: &str, rank: u64, at: f64| json!({ "ph": phase, "pid": 0, "tid": rank, "ts": at, "cat": "message", "id": 1, "args": { "bytes": 8 } });
        let mut call = event(1, 0.00001, 0.000002, "MPI_Recv");
        call["cat"] = json!("call");
        let events = json!({ "traceEvents": [
            event(0, 0.0, 0.00004, "send"), point("s", 0, 0.00001), point("f", 1, 0.00003), call,
        ] });
        let found = timeline("t", &events.to_string()).unwrap();
        assert_eq!(found["messages"], json!([[0, 10, 1, 30, 8]]));
        assert_eq!(found["calls"], json!({ "names": ["MPI_Recv"], "ranks": [[], [0, 10, 2]] }));
        // A rounding error between two states does not count as a gap.
        let near = json!({ "traceEvents": [event(0, 0.0, 0.00004, "send"), event(0, 0.000041, 0.0001, "wait")] });
        assert_eq!(timeline("t", &near.to_string()).unwrap()["ranks"], json!(["A14B2t"]));
        // A thread follows its rank.
        let mut thread = event(2, 0.00001, 0.00002, "wait");
        (thread["cat"], thread["args"]) = (json!("state,thread"), json!({ "rank": 0, "thread": 1 }));
        let events = json!({ "traceEvents": [
            event(0, 0.0, 0.00004, "send"), thread, event(1, 0.0, 0.00004, "recv"), point("s", 0, 0.00001),
            point("f", 1, 0.00003),
        ] });
        let found = timeline("t", &events.to_string()).unwrap();
        assert_eq!(found["names"], json!(["0", "0 thread 1", "1"]));
        assert_eq!(found["ranks"], json!(["A14", "BaCk", "D14"]));
        assert_eq!(found["messages"], json!([[0, 10, 2, 30, 8]]));
        let error = timeline("t.json", "{}").unwrap_err().to_string();
        assert_eq!(error, "t.json: expected the output of --timeline FILE.json; found no traceEvents");
    }
}
