//! Parser of the `[program]` table of a TOML file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Value;

use mcpsim_core::config::{ConfigError, Document, note_input};

use super::super::Language;
use super::{CodeOrigin, ProgramFile};

/// Keys of a `[program]` table.
pub(super) const KEYS: [&str; 10] =
    ["name", "source", "binary", "language", "flags", "libraries", "arguments", "environment", "directory", "ranks"];

/// A `[program]` table of a TOML document.
pub(super) struct ProgramTable<'a> {
    pub document: &'a Document,
    /// Key of the table in the document, such as `program` or `program[1]`.
    pub key: String,
}

impl ProgramTable<'_> {
    /// Parses the `[program]` table. Relative paths in the table refer to `directory`.
    pub fn read(&self, directory: &Path) -> Result<ProgramFile, ConfigError> {
        if let Some(key) = self.entries()?.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let place = self.place(key);
            return Err(ConfigError::new(format!(
                "unknown key \"{key}\", expected one of {} in {place}",
                quoted(&KEYS)
            )));
        }
        let stem = Path::new(self.document.name()).file_stem();
        let stem = || stem.map_or("program".to_owned(), |stem| stem.to_string_lossy().into_owned());
        Ok(ProgramFile {
            name: self.text("name", "a name")?.unwrap_or_else(stem),
            code: self.code(directory)?,
            arguments: self.words("arguments")?,
            environment: self.environment()?,
            directory: self.directory(directory)?,
            ranks: self.ranks()?,
            others: None,
        })
    }

    fn entries(&self) -> Result<&toml::Table, ConfigError> {
        let found = match self.document.table().get("program") {
            Some(Value::Array(list)) => {
                let one = |(index, value)| (format!("program[{index}]") == self.key).then_some(value);
                list.iter().enumerate().find_map(one).or(self.document.table().get("program"))
            }
            found => found,
        };
        match found {
            Some(Value::Table(table)) => Ok(table),
            Some(other) => Err(self.document.expected(&self.key, "a table", other)),
            None => Err(self.document.missing("", "program", "a table with a key \"source\"")),
        }
    }

    fn place(&self, key: &str) -> String {
        self.document.place(&format!("{}.{key}", self.key))
    }

    fn directory(&self, directory: &Path) -> Result<Option<PathBuf>, ConfigError> {
        let Some(name) = self.text("directory", "the directory in which ranks start")? else { return Ok(None) };
        let path = directory.join(&name);
        let path = std::path::absolute(&path).unwrap_or(path);
        if path.is_dir() {
            return Ok(Some(path));
        }
        let (place, path) = (self.place("directory"), path.display());
        Err(ConfigError::new(format!("expected a directory in {place}; no such directory: {path}")))
    }

    fn get(&self, key: &str) -> Result<Option<&Value>, ConfigError> {
        Ok(self.entries()?.get(key))
    }

    fn expected(&self, key: &str, expected: &str, found: &Value) -> ConfigError {
        self.document.expected(&format!("{}.{key}", self.key), expected, found)
    }

    fn text(&self, key: &str, expected: &str) -> Result<Option<String>, ConfigError> {
        match self.get(key)? {
            None => Ok(None),
            Some(Value::String(text)) if is_word(text) && !text.is_empty() => Ok(Some(text.clone())),
            Some(other) => Err(self.expected(key, expected, other)),
        }
    }

    /// Returns the list of words at the TOML key `key`. Numbers in the list are converted to words.
    fn words(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        let expected = "a list of words such as [\"-n\", \"128\"]";
        match self.get(key)? {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => {
                let word = |(index, value)| {
                    word(value).ok_or_else(|| self.expected(&format!("{key}[{index}]"), "a word", value))
                };
                values.iter().enumerate().map(word).collect()
            }
            Some(other) => Err(self.expected(key, expected, other)),
        }
    }

    fn environment(&self) -> Result<BTreeMap<String, String>, ConfigError> {
        let Some(value) = self.get("environment")? else { return Ok(BTreeMap::new()) };
        let expected = "a table of variables such as { OMP_NUM_THREADS = \"1\" }";
        let Value::Table(table) = value else { return Err(self.expected("environment", expected, value)) };
        let entry = |(name, value): (&String, &Value)| {
            let key = format!("environment.{name}");
            if name.is_empty() || name.contains('=') || !is_word(name) {
                return Err(self.expected("environment", "names of variables", &Value::String(name.clone())));
            }
            let text = word(value).ok_or_else(|| self.expected(&key, "a variable's value", value))?;
            Ok((name.clone(), text))
        };
        table.iter().map(entry).collect()
    }

    fn ranks(&self) -> Result<Option<u32>, ConfigError> {
        match self.get("ranks")? {
            None => Ok(None),
            Some(value) => {
                let number =
                    value.as_integer().and_then(|number| u32::try_from(number).ok()).filter(|&number| number > 0);
                number
                    .map(Some)
                    .ok_or_else(|| self.expected("ranks", "a whole number above zero that is not too large", value))
            }
        }
    }

    fn code(&self, directory: &Path) -> Result<CodeOrigin, ConfigError> {
        let binary = self.text("binary", "the path of a program that mcpsim cc made")?;
        match (self.get("source")?, binary) {
            (Some(_), Some(binary)) => {
                Err(self.expected("binary", "either \"source\" or \"binary\", not both", &Value::String(binary)))
            }
            (None, None) => Err(self.document.missing(
                &self.key,
                "source",
                "the files to compile (or \"binary\", a program that mcpsim cc made)",
            )),
            (None, Some(binary)) => {
                for key in ["language", "flags", "libraries"] {
                    if let Some(value) = self.get(key)? {
                        return Err(self.expected(key, "nothing, since \"binary\" is not compiled", value));
                    }
                }
                Ok(CodeOrigin::Binary(self.file("binary", directory, &binary)?))
            }
            (Some(_), None) => self.sources(directory),
        }
    }

    fn sources(&self, directory: &Path) -> Result<CodeOrigin, ConfigError> {
        let names = match self.get("source")? {
            Some(Value::String(name)) => vec![name.clone()],
            Some(value @ Value::Array(values)) if values.is_empty() => {
                return Err(self.expected("source", "a file or a list of files", value));
            }
            _ => self.words("source")?,
        };
        let files: Vec<PathBuf> =
            names.iter().map(|name| self.file("source", directory, name)).collect::<Result<_, _>>()?;
        let language = match self.get("language")? {
            None if files.iter().any(|file| is_cxx(file)) => Language::Cxx,
            None => Language::C,
            Some(value) => match value.as_str() {
                Some("c") => Language::C,
                Some("c++" | "cxx") => Language::Cxx,
                _ => return Err(self.expected("language", "\"c\" or \"c++\"", value)),
            },
        };
        let around = [self.words("flags")?, self.words("libraries")?];
        // An empty path means the current directory, but the system rejects an empty path as the start directory of a
        // process.
        let here = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let directory = std::path::absolute(here).unwrap_or_else(|_| here.to_owned());
        Ok(CodeOrigin::Sources { files, language, around, directory })
    }

    /// Returns the absolute path of the file `name`. A missing file is an error.
    fn file(&self, key: &str, directory: &Path, name: &str) -> Result<PathBuf, ConfigError> {
        let path = directory.join(name);
        let path = std::path::absolute(&path).unwrap_or(path);
        if is_word(name) && path.is_file() {
            note_input(&path);
            return Ok(path);
        }
        let place = self.place(key);
        Err(ConfigError::new(format!("expected a file in {place}; no such file: {}", path.display())))
    }
}

/// Converts a TOML value to an argument of a program.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => is_word(text).then(|| text.clone()),
        Value::Integer(_) | Value::Float(_) => Some(value.to_string()),
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    !text.contains('\0')
}

fn is_cxx(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["cc", "cpp", "cxx", "c++", "C", "CPP", "cp"].contains(&extension)
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
