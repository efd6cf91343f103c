//! A TOML file with the values that command-line options override.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::foreign::{foreign_directory, foreign_file, moved_list};
use super::{ConfigError, Override, SourceLines, did_you_mean};

/// A TOML document, the name of its file, and the values that options `--set` override.
#[derive(Clone, Debug)]
pub struct Document {
    name: String,
    text: Arc<str>,
    table: toml::Table,
    overrides: Vec<Override>,
    lines: ErrorLines,
    /// Prefix of the document's keys in the text of the file. The prefix is empty, or is the key of a table and a dot.
    below: &'static str,
    /// Paths of renamed keys, with their paths in the text of the file.
    renamed: Vec<(String, String)>,
}

/// Values for which error messages state the line in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorLines {
    /// Error messages state only the lines of values that are passed to [`Document::place_in_lists`].
    OfLists,
    All,
}

impl Document {
    /// Reads the TOML file at `path`.
    ///
    /// # Errors
    /// The file is missing, a directory, not text, or not TOML. An error of TOML syntax states line and column.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = read_text(path, "TOML in UTF-8")?;
        Self::parse(&name, &text).map_err(|error| moved_list(path, &text).map_or(error, ConfigError::new))
    }

    /// Reads the TOML document in `text`; `name` is the file's name in messages.
    ///
    /// # Errors
    /// The text is not TOML. If the text has a known format of another program, the error names that format.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let read = text.parse::<toml::Table>();
        // Some formats of other programs have lines that look like TOML comments, so files of these formats may be
        // valid TOML without keys.
        if read.as_ref().map_or(true, toml::Table::is_empty)
            && let Some(foreign) = foreign_file(name, text.as_bytes())
        {
            return Err(ConfigError::new(foreign));
        }
        let table = read.map_err(|error| {
            let (line, column) = error.span().map_or((1, 1), |span| line_and_column(text, span.start));
            let what = match error.message().split('`').collect::<Vec<_>>()[..] {
                ["invalid type: integer ", number, rest] if rest.starts_with(" as i128") => {
                    format!("expected whole numbers from -2^63 to 2^63 - 1; found {number}")
                }
                _ => format!("not TOML: {}", error.message().replace('\n', ", ")),
            };
            ConfigError::new(format!("{name}:{line}:{column}: {what}"))
        })?;
        Ok(Document {
            name: name.to_owned(),
            text: text.into(),
            table,
            overrides: Vec::new(),
            lines: ErrorLines::OfLists,
            below: "",
            renamed: Vec::new(),
        })
    }

    /// Returns the document with error messages that state the line of any value: `inter_node.latency of a.toml:7`.
    /// Lines are useful for long files with many similar tables.
    pub fn with_error_lines(self) -> Self {
        Document { lines: ErrorLines::All, ..self }
    }

    /// Returns the document with messages that refer to the original of the document's file.
    pub fn copied_from(self, (name, text): (String, Arc<str>)) -> Self {
        Document { name, text, ..self }
    }

    /// Returns the document as one table of a larger file. `text` is the text of the larger file, and `below` the
    /// table's key with a dot (for example `app.`).
    pub fn part_of(self, text: Arc<str>, below: &'static str) -> Self {
        Document { text, below, ..self }
    }

    /// Name of the document's file in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Text of the file, without the values of options `--set`.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Content of the file, with the values of options `--set`.
    pub fn table(&self) -> &toml::Table {
        &self.table
    }

    /// Mutable content of the file with the values of options `--set`, for a reader that rearranges keys.
    pub fn table_mut(&mut self) -> &mut toml::Table {
        &mut self.table
    }

    /// Renames the key `former` of the table at the dotted `path` (empty for the whole file), if the table and the key
    /// exist. Error messages about the value still name the key in the text.
    ///
    /// # Errors
    /// The table has both the former and the new key.
    pub fn rename(&mut self, path: &str, former: &str, name: &str) -> Result<(), ConfigError> {
        let mut parts = path.split('.').filter(|part| !part.is_empty());
        let table = parts.try_fold(&mut self.table, |table, part| table.get_mut(part)?.as_table_mut());
        let Some(table) = table else { return Ok(()) };
        let Some(value) = table.remove(former) else { return Ok(()) };
        if table.contains_key(name) {
            let expected = format!("one of \"{name}\" and \"{former}\", its former name,");
            return Err(self.expected(if path.is_empty() { name } else { path }, expected, "both"));
        }
        table.insert(name.to_owned(), value);
        let key = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        self.renamed.push((key(name), key(former)));
        Ok(())
    }

    /// Removes a top-level key and returns its value. Errors about the removed value still name the file.
    pub fn take(&mut self, key: &str) -> Option<toml::Value> {
        self.table.remove(key)
    }

    /// Sets `key` to the value of the option `over`, and creates tables as needed. `key` is the option's key without
    /// the prefix of this document.
    ///
    /// # Errors
    /// A prefix of the key has a value that is not a table.
    pub fn set(&mut self, key: &[String], over: &Override) -> Result<(), ConfigError> {
        let (last, way) = key.split_last().expect("an override has a key");
        let mut table = &mut self.table;
        for (depth, part) in way.iter().enumerate() {
            let entry = table.entry(part.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            table = entry.as_table_mut().ok_or_else(|| {
                let so_far = key[..=depth].join(".");
                ConfigError::new(format!("--set {}: \"{so_far}\" of {} is no table of keys", over.text, self.name))
            })?;
        }
        table.insert(last.clone(), over.value.clone());
        self.overrides.push(Override { key: key.to_vec(), ..over.clone() });
        Ok(())
    }

    /// Text for messages that states the origin of the value at the dotted `path`: `inter_node.latency of a.toml`, or
    /// `--set platform.…=…`. If messages state lines, the line is the line of the longest prefix of `path` in the file.
    pub fn place(&self, path: &str) -> String {
        let by_user = self.overrides.iter().rev().find(|over| {
            let key = over.key.join(".");
            path == key || path.strip_prefix(&key).is_some_and(|rest| rest.starts_with(['.', '[']))
        });
        match by_user {
            Some(over) => format!("--set {}", over.text),
            None if path.is_empty() => self.name.clone(),
            None => match self.lines {
                ErrorLines::OfLists => format!("{path} of {}", self.name),
                ErrorLines::All => self.place_in_file(self.path_in_text(path)),
            },
        }
    }

    fn path_in_text<'p>(&'p self, path: &'p str) -> &'p str {
        self.renamed.iter().find(|(name, _)| name == path).map_or(path, |(_, former)| former)
    }

    fn place_in_file(&self, path: &str) -> String {
        match SourceLines::new(&self.text).line(&format!("{}{path}", self.below)) {
            Some(line) => format!("{path} of {}:{line}", self.name),
            None => format!("{path} of {}", self.name),
        }
    }

    /// Like [`Document::place`], but states the line of the file for values in lists (`main[2].send of a.toml:7`), so
    /// that users need not count list elements.
    pub fn place_in_lists(&self, path: &str) -> String {
        let place = self.place(path);
        let of_file = path.contains('[') && !place.starts_with("--set");
        if of_file { self.place_in_file(path) } else { place }
    }

    /// Error for the value at `path`: `expected EXPECTED in PATH of FILE; found FOUND`.
    pub fn expected(&self, path: &str, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(format!("expected {expected} in {}; found {found}", self.place(path)))
    }

    /// Error for a key missing at `path`: `expected "KEY" in PATH of FILE, EXPECTED; found none`.
    pub fn missing(&self, path: &str, key: &str, expected: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(format!("expected \"{key}\" in {}, {expected}; found none", self.place(path)))
    }

    /// Reads the whole document as a value of type `T`.
    ///
    /// # Errors
    /// A key is unknown or missing, or a value has a wrong type or form. The error states the origin of the key or
    /// value.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        self.deserialize_value("", toml::Value::Table(self.table.clone()))
    }

    /// Reads `value`, which is at the dotted `path` of this document, as a value of type `T`.
    ///
    /// # Errors
    /// The errors of [`Document::deserialize`].
    pub fn deserialize_value<T: DeserializeOwned>(&self, path: &str, value: toml::Value) -> Result<T, ConfigError> {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let inner = error.path().to_string();
            let full = match (path, inner.as_str()) {
                ("", ".") => String::new(),
                ("", inner) => inner.to_owned(),
                (path, ".") => path.to_owned(),
                (path, inner) if inner.starts_with('[') => format!("{path}{inner}"),
                (path, inner) => format!("{path}.{inner}"),
            };
            self.explain(&full, error.inner().message())
        })
    }

    /// Rewords an error message of the library serde, and adds the origin of the value.
    fn explain(&self, path: &str, message: &str) -> ConfigError {
        let message = message.trim().replace('`', "\"");
        let found = message.strip_prefix("invalid value: ").or_else(|| message.strip_prefix("invalid type: "));
        if let Some((found, expected)) = found.and_then(|rest| rest.rsplit_once(", expected ")) {
            return self.expected(path, expected_value(expected), found_value(found));
        }
        if let Some((variant, expected)) =
            message.strip_prefix("unknown variant ").and_then(|rest| rest.rsplit_once(", expected "))
        {
            return self.expected(path, expected, variant);
        }
        if message.starts_with("unknown field ") {
            // The value may be a table with a key that an option `--set` overrides.
            let below = format!("{path}.");
            let by_user = self.overrides.iter().rev().find(|over| over.key.join(".").starts_with(&below));
            let place = by_user.map_or_else(|| self.place(path), |over| format!("--set {}", over.text));
            return ConfigError::new(unknown_field(&message, &place));
        }
        ConfigError::new(format!("{message} in {}", self.place(path)))
    }
}

/// Rewords the message of the library serde "unknown field `levl`, expected …" with the origin of the key. If a similar
/// key exists, the message names that key instead of all keys.
fn unknown_field(message: &str, place: &str) -> String {
    let mut words = message.split('"').skip(1).step_by(2);
    let name = words.next().unwrap_or_default();
    match did_you_mean(name, words).as_str() {
        "" => format!("{message} in {place}"),
        meant => format!("unknown field \"{name}\" in {place}{meant}"),
    }
}

/// Greatest size in bytes of a text file that mcpsim reads. The largest useful file, a complete placement list, is
/// smaller.
const MOST_BYTES: u64 = 256 << 20;

/// Reads the text of the file at `path`; `expected` describes the expected content in errors.
///
/// # Errors
/// The file is missing, a directory, too long, or not text.
pub fn read_text(path: &Path, expected: &str) -> Result<String, ConfigError> {
    let name = path.display();
    let mut bytes = Vec::new();
    super::note_input(path);
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::IsADirectory => match foreign_directory(path) {
                Some(foreign) => return ConfigError::new(foreign),
                None => "is a directory, expected a file".to_owned(),
            },
            _ => error.to_string(),
        };
        ConfigError::new(format!("{name}: {what}"))
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ConfigError::new(format!("{name}: longer than 256 MiB, expected {expected}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let foreign = foreign_file(&name.to_string(), error.as_bytes());
        ConfigError::new(foreign.unwrap_or_else(|| format!("{name}: not a text file, expected {expected}")))
    })
}

/// Rewords the library serde's description of an expected value.
fn expected_value(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i64" => "a whole number",
        "f64" => "a number",
        "a string" | "string only" => "text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// Rewords the library serde's description of a found value: "string \"7 GB\"" → "\"7 GB\"", "integer \"7\"" → "7".
fn found_value(found: &str) -> String {
    match found.split_once(' ') {
        Some(("string", text)) => text.to_owned(),
        Some(("integer" | "boolean", number)) => number.trim_matches('"').to_owned(),
        Some(("floating", rest)) => short_number(rest.trim_start_matches("point ").trim_matches('"')),
        _ => match found {
            "map" => "a table".to_owned(),
            "sequence" => "an array".to_owned(),
            other => other.to_owned(),
        },
    }
}

/// Formats a number with many digits in scientific notation: "0.00…01" → "1e-300".
fn short_number(digits: &str) -> String {
    const READABLE: usize = 20;
    match digits.parse::<f64>() {
        Ok(number) if digits.len() > READABLE => format!("{number:e}"),
        _ => digits.to_owned(),
    }
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::units::SimSpan;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct File {
        level: Option<LevelFile>,
        rows: Option<Vec<LevelFile>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct LevelFile {
        latency: SimSpan,
    }

    fn error(text: &str) -> String {
        Document::parse("a.toml", text).and_then(|document| document.deserialize::<File>()).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_place_the_value_and_what_was_expected() {
        let time = "a time such as \"1.2 us\"";
        assert_eq!(error("level.latency = 7"), format!("expected {time} in level.latency of a.toml; found 7"));
        assert_eq!(
            error("level.latency = \"7 GB\""),
            format!("expected {time} in level.latency of a.toml; found \"7 GB\"")
        );
        assert_eq!(
            error("[[rows]]\nlatency = \"1 us\"\n[[rows]]\nlatency = 1.5"),
            format!("expected {time} in rows[1].latency of a.toml; found 1.5")
        );
        assert_eq!(
            error("level.latency = 1e-300"),
            format!("expected {time} in level.latency of a.toml; found 1e-300")
        );
        assert_eq!(error("levl = 1"), "unknown field \"levl\" in levl of a.toml, did you mean \"level\"?");
        assert_eq!(error("depth = 1"), "unknown field \"depth\", expected \"level\" or \"rows\" in depth of a.toml");
        assert_eq!(error("level = 7"), "expected a table in level of a.toml; found 7");
        assert_eq!(error("rows = 7"), "expected a list in rows of a.toml; found 7");
        assert_eq!(error("level = {}"), "missing field \"latency\" in level of a.toml");
        assert_eq!(
            error("rows = 99999999999999999999"),
            "a.toml:1:8: expected whole numbers from -2^63 to 2^63 - 1; found 99999999999999999999"
        );
        assert_eq!(error("level = "), "a.toml:1:9: not TOML: string values must be quoted, expected literal string");
    }

    #[test]
    fn an_override_is_named_as_the_source_of_its_value() {
        let mut document = Document::parse("a.toml", "level.latency = \"1 us\"").unwrap();
        let over = Override::parse("platform.level.latency=7").unwrap();
        document.set(&over.key[1..], &over).unwrap();
        assert_eq!(
            document.deserialize::<File>().unwrap_err().to_string(),
            "expected a time such as \"1.2 us\" in --set platform.level.latency=7; found 7"
        );
    }

    #[test]
    fn an_unknown_key_that_an_override_made_is_not_the_files_fault() {
        let mut document = Document::parse("a.toml", "level.latency = \"1 us\"").unwrap();
        let over = Override::parse("platform.levl.latency=2us").unwrap();
        document.set(&over.key[1..], &over).unwrap();
        assert_eq!(
            document.deserialize::<File>().unwrap_err().to_string(),
            "unknown field \"levl\" in --set platform.levl.latency=2us, did you mean \"level\"?"
        );
    }

    #[test]
    fn missing_and_binary_files_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.toml");
        let text = |path: &Path| Document::read(path).unwrap_err().to_string();
        assert_eq!(text(&path), format!("{}: no such file", path.display()));
        std::fs::write(&path, [0xff, 0xfe, 0]).unwrap();
        assert_eq!(text(&path), format!("{}: not a text file, expected TOML in UTF-8", path.display()));
        assert!(text(directory.path()).ends_with("is a directory, expected a file"));
        // Reading a device that never ends stops at the size limit.
        assert_eq!(text(Path::new("/dev/zero")), "/dev/zero: longer than 256 MiB, expected TOML in UTF-8");
    }
}
