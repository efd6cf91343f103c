//! Conformity of a value to a JSON Schema.
//!
//! The module reads the keywords that the schemas of mcpsim contain. It is stricter than the standard in one point: an
//! object must have no other properties than the schema lists, unless the schema permits them.

use std::cmp::Reverse;

use serde_json::{Map, Value};

/// Greatest number of faults that are reported.
const MOST_FAULTS: usize = 20;

/// Returns the parts of `value` that do not conform to `schema`, each with its path.
pub fn schema_faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Conformity { root: schema }.collect("", schema, value, &mut found);
    found
}

struct Conformity<'s> {
    root: &'s Value,
}

impl Conformity<'_> {
    fn collect(&self, place: &str, schema: &Value, value: &Value, found: &mut Vec<String>) {
        let Value::Object(keywords) = schema else {
            if schema == &Value::Bool(false) {
                found.push(format!("{place} is unknown"));
            }
            return;
        };
        if found.len() >= MOST_FAULTS {
            return;
        }
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            match self.root.pointer(reference.trim_start_matches('#')) {
                Some(schema) => self.collect(place, schema, value, found),
                None => found.push(format!("{place}: the schema has no {reference}")),
            }
        }
        let own = keywords.get("properties").and_then(Value::as_object);
        let choices = ["anyOf", "oneOf"].iter().find_map(|keyword| keywords.get(*keyword)?.as_array());
        match (choices, own) {
            // The alternatives have further keys of the same object.
            (Some(choices), Some(own)) => {
                let merged: Vec<Value> = choices.iter().map(|choice| with_properties(choice, own)).collect();
                found.extend(self.nearest(place, &merged, value));
                return;
            }
            (Some(choices), None) => found.extend(self.nearest(place, choices, value)),
            (None, _) => {}
        }
        if !is_plain_match(keywords, value) {
            let shown: String = value.to_string().chars().take(60).collect();
            let expected: String = schema.to_string().chars().take(200).collect();
            found.push(format!("{place} is {shown}; expected {expected}"));
            return;
        }
        match value {
            Value::Object(table) => self.object(place, keywords, table, found),
            Value::Array(items) => self.array(place, keywords, items, found),
            _ => {}
        }
    }

    /// Returns the faults for the alternative that has the fewest, or whose first fault is deepest among these.
    fn nearest(&self, place: &str, choices: &[Value], value: &Value) -> Vec<String> {
        let faults = |schema| {
            let mut found = Vec::new();
            self.collect(place, schema, value, &mut found);
            found
        };
        let depth = |found: &Vec<String>| found.first().map_or(0, |fault| fault.find(' ').unwrap_or(fault.len()));
        choices.iter().map(faults).min_by_key(|found| (found.len(), Reverse(depth(found)))).unwrap_or_default()
    }

    fn object(&self, place: &str, keywords: &Map<String, Value>, table: &Map<String, Value>, found: &mut Vec<String>) {
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str).filter(|key| !table.contains_key(*key)) {
            found.push(format!("{place} lacks {key}"));
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        let pattern = keywords.get("patternProperties").and_then(|patterns| patterns.as_object()?.values().next());
        let closed = Value::Bool(false);
        for (key, value) in table {
            let known = properties.and_then(|properties| properties.get(key));
            let more = pattern.or(keywords.get("additionalProperties"));
            let schema = known.or(more).or(properties.map(|_| &closed));
            if let Some(schema) = schema {
                self.collect(&format!("{place}.{key}"), schema, value, found);
            }
        }
    }

    fn array(&self, place: &str, keywords: &Map<String, Value>, items: &[Value], found: &mut Vec<String>) {
        let first = keywords.get("prefixItems").and_then(Value::as_array);
        for (index, value) in items.iter().enumerate() {
            let schema = first.and_then(|schemas| schemas.get(index)).or(keywords.get("items"));
            if let Some(schema) = schema {
                self.collect(&format!("{place}[{index}]"), schema, value, found);
            }
        }
    }
}

/// Returns the schema of an object with the additional properties `more`.
fn with_properties(schema: &Value, more: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    for (key, value) in more {
        schema["properties"][key] = value.clone();
    }
    schema
}

/// Returns true if `value` conforms to the keywords that need no look at the parts of the value.
fn is_plain_match(keywords: &Map<String, Value>, value: &Value) -> bool {
    let kind = match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
    };
    let is_kind = |wanted: &Value| wanted == kind || wanted == "number" && kind == "integer";
    let is_typed = match keywords.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_kind),
        Some(wanted) => is_kind(wanted),
        None => true,
    };
    let count = |keyword: &str| keywords.get(keyword).and_then(Value::as_u64);
    let size = value.as_object().map_or(0, Map::len) as u64;
    let is_sized = !value.is_object()
        || count("minProperties").is_none_or(|least| size >= least)
            && count("maxProperties").is_none_or(|most| size <= most);
    let least = keywords.get("minimum").and_then(Value::as_f64);
    let choices = keywords.get("enum").and_then(Value::as_array);
    is_typed
        && is_sized
        && choices.is_none_or(|all| all.contains(value))
        && keywords.get("const").is_none_or(|only| only == value)
        && value.as_f64().zip(least).is_none_or(|(number, least)| number >= least)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn alternatives_have_the_keys_of_their_object() {
        let choice = |key: &str| json!({ "type": "object", "properties": { key: {} }, "required": [key] });
        let schema = json!({ "properties": { "name": {} }, "oneOf": [choice("value"), choice("error")] });
        assert!(schema_faults(&schema, &json!({ "name": "a", "value": 1 })).is_empty());
        assert_eq!(schema_faults(&schema, &json!({ "name": "a", "value": 1, "b": 1 })), [".b is unknown"]);
        assert_eq!(schema_faults(&schema, &json!({ "name": "a" })), [" lacks value"]);
    }

    #[test]
    fn a_fault_names_its_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "size": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/size" }] },
                "ranks": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
                "codes": { "type": "object", "patternProperties": { "^\\d+$": { "enum": [1, 2] } } },
            },
            "required": ["ranks"],
            "$defs": { "size": { "type": "object", "properties": { "bytes": { "type": "integer" } } } },
        });
        let faults = |value| schema_faults(&schema, &value);
        assert!(faults(json!({ "size": null, "ranks": [], "codes": { "7": 2 } })).is_empty());
        assert!(faults(json!({ "size": { "bytes": 1 }, "ranks": [1] })).is_empty());
        assert_eq!(faults(json!({})), [" lacks ranks"]);
        assert_eq!(faults(json!({ "ranks": [], "more": 1 })), [".more is unknown"]);
        let wrong = faults(json!({ "size": { "bytes": 1.5 }, "ranks": [0, -1], "codes": { "7": 3 } }));
        let places: Vec<&str> = wrong.iter().map(|fault| fault.split(" is ").next().unwrap()).collect();
        assert_eq!(places, [".codes.7", ".ranks[1]", ".size.bytes"]);
    }
}
