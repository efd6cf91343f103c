//! JSON Schema of a file, found from the type that reads the file.
//!
//! A probe deserializes the type without a file. It records which fields a struct has, and which kind of value each
//! field reads, and then stops. One probe is necessary per value, because a probe stops at the first value that it
//! records. Descriptions are the expectations that error messages state, such as "a size such as \"64 KiB\"".

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

/// Greatest depth of values in a schema.
const DEEPEST: usize = 12;

/// Returns the JSON Schema of files that `T` reads.
pub fn json_schema<T: DeserializeOwned>(title: &str) -> Value {
    let mut schema = schema_part::<T>();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    schema
}

/// Returns the schema of values that `T` reads, as a part of the schema of a file.
pub fn schema_part<T: DeserializeOwned>() -> Value {
    value_schema::<T>(&mut Vec::new())
}

/// Kind of a value that a type reads.
enum Probed {
    Fields(&'static [&'static str]),
    Map,
    List,
    Plain(Value),
}

/// Returns the schema of the value at `path`, which has one index per enclosing struct, map or list.
fn value_schema<T: DeserializeOwned>(path: &mut Vec<usize>) -> Value {
    if path.len() > DEEPEST {
        return json!({});
    }
    let found = RefCell::new(None);
    let _ = T::deserialize(Probe { path, found: &found });
    let mut at = |index: usize| {
        path.push(index);
        let schema = value_schema::<T>(path);
        path.pop();
        schema
    };
    match found.into_inner() {
        Some(Probed::Fields(names)) => {
            let properties: serde_json::Map<String, Value> =
                names.iter().enumerate().map(|(index, name)| ((*name).to_owned(), at(index))).collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": false })
        }
        Some(Probed::Map) => json!({ "type": "object", "additionalProperties": at(0) }),
        Some(Probed::List) => json!({ "type": "array", "items": at(0) }),
        Some(Probed::Plain(schema)) => schema,
        None => json!({}),
    }
}

/// Deserializer that records the kind of the value at a path.
struct Probe<'p> {
    path: &'p [usize],
    found: &'p RefCell<Option<Probed>>,
}

/// Error that ends a probe.
#[derive(Debug)]
struct ProbeEnd;

impl fmt::Display for ProbeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the probe has ended")
    }
}

impl std::error::Error for ProbeEnd {}

impl de::Error for ProbeEnd {
    fn custom<T: fmt::Display>(_: T) -> Self {
        ProbeEnd
    }
}

/// Expectation of a visitor as text.
struct Expectation<'v, V>(&'v V);

impl<'de, V: Visitor<'de>> fmt::Display for Expectation<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }
}

impl<'p> Probe<'p> {
    fn record<T>(self, found: Probed) -> Result<T, ProbeEnd> {
        *self.found.borrow_mut() = Some(found);
        Err(ProbeEnd)
    }

    fn plain<'de, V: Visitor<'de>>(self, kind: Option<&str>, visitor: &V) -> Result<V::Value, ProbeEnd> {
        let mut schema = json!({});
        if let Some(kind) = kind {
            schema["type"] = json!(kind);
        }
        let text = Expectation(visitor).to_string();
        // Expectations of serde's own types repeat the kind.
        let repeats = ["a string", "any ", "path string", "u32", "u64", "f64", "i64", "a boolean", "usize"];
        if !repeats.iter().any(|start| text.starts_with(start)) {
            schema["description"] = json!(text);
        }
        self.record(Probed::Plain(schema))
    }

    fn below(&self) -> Option<(usize, Probe<'p>)> {
        let (first, path) = self.path.split_first()?;
        Some((*first, Probe { path, found: self.found }))
    }
}

/// Gives one value of a struct, map or list to a visitor.
struct OneValue<'p> {
    key: &'static str,
    value: Option<Probe<'p>>,
}

impl<'de> MapAccess<'de> for OneValue<'_> {
    type Error = ProbeEnd;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ProbeEnd> {
        if self.value.is_none() {
            return Err(ProbeEnd);
        }
        seed.deserialize(StrDeserializer::<ProbeEnd>::new(self.key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ProbeEnd> {
        seed.deserialize(self.value.take().ok_or(ProbeEnd)?)
    }
}

impl<'de> SeqAccess<'de> for OneValue<'_> {
    type Error = ProbeEnd;

    fn next_element_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<Option<V::Value>, ProbeEnd> {
        seed.deserialize(self.value.take().ok_or(ProbeEnd)?).map(Some)
    }
}

/// Methods of a deserializer for values of a plain kind.
macro_rules! plain {
    ($($method:ident $kind:expr),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeEnd> {
            self.plain($kind, &visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = ProbeEnd;

    plain! {
        deserialize_any None,
        deserialize_bool Some("boolean"),
        deserialize_i8 Some("integer"), deserialize_i16 Some("integer"), deserialize_i32 Some("integer"),
        deserialize_i64 Some("integer"), deserialize_u8 Some("integer"), deserialize_u16 Some("integer"),
        deserialize_u32 Some("integer"), deserialize_u64 Some("integer"),
        deserialize_f32 Some("number"), deserialize_f64 Some("number"),
        deserialize_char Some("string"), deserialize_str Some("string"), deserialize_string Some("string"),
        deserialize_bytes None, deserialize_byte_buf None, deserialize_unit None,
        deserialize_identifier Some("string"), deserialize_ignored_any None,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeEnd> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ProbeEnd> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ProbeEnd> {
        self.plain(None, &visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeEnd> {
        match self.below() {
            Some((_, value)) => visitor.visit_seq(OneValue { key: "", value: Some(value) }),
            None => self.record(Probed::List),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ProbeEnd> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ProbeEnd> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeEnd> {
        match self.below() {
            Some((_, value)) => visitor.visit_map(OneValue { key: "key", value: Some(value) }),
            None => self.record(Probed::Map),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeEnd> {
        match self.below() {
            Some((index, value)) => visitor.visit_map(OneValue { key: fields[index], value: Some(value) }),
            None => self.record(Probed::Fields(fields)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ProbeEnd> {
        self.record(Probed::Plain(json!({ "enum": variants })))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::units::Bytes;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "snake_case")]
    enum Color {
        Red,
        LightBlue,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema of the type is read")]
    struct Inner {
        size: Option<Bytes>,
        #[serde(default)]
        colors: Vec<Color>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema of the type is read")]
    struct Outer {
        name: String,
        #[serde(rename = "inside")]
        inner: Option<Inner>,
        places: BTreeMap<String, [u32; 2]>,
    }

    #[test]
    fn a_schema_has_the_fields_kinds_and_expectations_of_the_type() {
        let size = json!({ "description": "a size such as \"64 KiB\" or 65536" });
        let colors = json!({ "type": "array", "items": { "enum": ["red", "light_blue"] } });
        let places = json!({ "type": "array", "items": { "type": "integer" } });
        let inner = json!({
            "type": "object", "properties": { "size": size, "colors": colors }, "additionalProperties": false
        });
        let expected = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "outer",
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "inside": inner,
                "places": { "type": "object", "additionalProperties": places },
            },
            "additionalProperties": false,
        });
        assert_eq!(json_schema::<Outer>("outer"), expected);
    }
}
