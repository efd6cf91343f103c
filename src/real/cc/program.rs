//! Description of a program to simulate in a TOML file: sources, arguments, environment and number of ranks.

mod table;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toml::Value;

use mcpsim_core::config::{ConfigError, Document, Override};

use super::arguments::{self, CompileStage};
use super::{CcError, Language, WrapperRequest, request};
use table::ProgramTable;

/// The `[program]` table of a TOML file. If the file has several `[[program]]` tables, the value contains the first
/// table, and `others` contains the remaining tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFile {
    /// Name of the program. The default is the name of the TOML file.
    pub name: String,
    /// Origin of the program's code.
    pub code: CodeOrigin,
    /// Arguments of the program, without `argv[0]`.
    pub arguments: Vec<String>,
    /// Environment variables of the program in addition to mcpsim's environment.
    pub environment: BTreeMap<String, String>,
    /// Start directory of the program's ranks, if the directory differs from mcpsim's directory.
    pub directory: Option<PathBuf>,
    /// Number of ranks of the program, if the TOML file states the number. A TOML file with several programs must
    /// state the number for each program.
    pub ranks: Option<u32>,
    /// Programs of further ranks, if the TOML file has a list of programs.
    pub others: Option<Vec<ProgramFile>>,
}

/// Origin of a program's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeOrigin {
    /// A program file that `mcpsim cc` has built.
    Binary(PathBuf),
    /// Sources that mcpsim compiles.
    Sources {
        /// Source files of the simulated program.
        files: Vec<PathBuf>,
        /// Language whose compiler compiles and links the files.
        language: Language,
        /// Compiler arguments before the source files and after the source files.
        around: [Vec<String>; 2],
        /// Directory of the TOML file, to which relative paths in compiler arguments refer.
        directory: PathBuf,
    },
}

/// A program file that is ready to run. When the `Built` value is dropped, a program file that mcpsim compiled is
/// removed.
#[derive(Debug)]
pub struct Built {
    /// Path of the program file.
    pub path: PathBuf,
    _directory: Option<TempDir>,
}

impl Built {
    /// Stores the program file with the contents `file`, received from another host process, in a temporary file.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub fn of(file: &[u8]) -> Result<Built, CcError> {
        let (temporary, path) = room()?;
        std::fs::write(&path, file).map_err(|error| CcError::new(format!("{}: {error}", path.display())))?;
        Ok(Built { path, _directory: Some(temporary) })
    }
}

/// Creates a temporary directory and returns the directory and the path for a program file in the directory.
fn room() -> Result<(TempDir, PathBuf), CcError> {
    let temporary = tempfile::Builder::new().prefix("mcpsim-").tempdir();
    let temporary = temporary.map_err(|error| CcError::new(format!("cannot create a temporary directory: {error}")))?;
    let path = temporary.path().join("program");
    Ok((temporary, path))
}

impl ProgramFile {
    /// Keys of a `[program]` table.
    pub const KEYS: [&str; 10] = table::KEYS;

    /// Returns true if `document` describes a program with sources or a program file.
    pub fn is_in(document: &Document) -> bool {
        document.table().contains_key("program")
    }

    /// Reads the description of the program in `document`, a TOML file of the directory `directory`. Overrides whose
    /// key starts with `app` replace values of the TOML file.
    ///
    /// # Errors
    /// A value of the TOML file is invalid, or a source file is missing.
    pub fn load(mut document: Document, directory: &Path, overrides: &[Override]) -> Result<ProgramFile, ConfigError> {
        for over in overrides.iter().filter(|over| over.key[0] == "app") {
            document.set(&over.key[1..], over)?;
        }
        if let Some(key) = document.table().keys().find(|key| *key != "program") {
            return Err(ConfigError::new(format!(
                "unknown key \"{key}\", expected \"program\" in {}",
                document.place(key)
            )));
        }
        let count = match document.table().get("program") {
            Some(Value::Array(list)) if !list.is_empty() => list.len(),
            _ => return ProgramTable { document: &document, key: "program".to_owned() }.read(directory),
        };
        let one = |index| ProgramTable { document: &document, key: format!("program[{index}]") }.read(directory);
        let mut programs = (0..count).map(one).collect::<Result<Vec<_>, _>>()?;
        if let Some(index) = programs.iter().position(|program| program.ranks.is_none()) {
            let expected = "the number of ranks of each of several programs";
            return Err(document.missing(&format!("program[{index}]"), "ranks", expected));
        }
        let first = programs.remove(0);
        Ok(ProgramFile { others: Some(programs), ..first })
    }

    /// Iterates over all programs of the TOML file in the order of their ranks.
    pub fn all(&self) -> impl Iterator<Item = &ProgramFile> {
        std::iter::once(self).chain(self.others.iter().flatten())
    }

    /// Returns the total number of ranks of all programs, if the TOML file states the number.
    pub fn all_ranks(&self) -> Option<u32> {
        self.all().try_fold(0, |sum: u32, program| sum.checked_add(program.ranks?))
    }

    /// Returns the name of the application, which consists of the names of the application's programs.
    pub fn title(&self) -> String {
        self.all().map(|program| program.name.as_str()).collect::<Vec<_>>().join(" : ")
    }

    /// Returns the value of the TOML key `program` with absolute paths. [`ProgramFile::load`] of the returned value
    /// returns an equal description.
    pub fn config(&self) -> Value {
        match &self.others {
            None => Value::Table(self.table()),
            Some(_) => Value::Array(self.all().map(|program| Value::Table(program.table())).collect()),
        }
    }

    fn table(&self) -> toml::Table {
        let list = |words: &[String]| Value::Array(words.iter().map(|word| word.as_str().into()).collect());
        let path = |path: &PathBuf| Value::from(path.display().to_string());
        let mut table = toml::Table::from_iter([("name".to_owned(), self.name.as_str().into())]);
        match &self.code {
            CodeOrigin::Binary(binary) => {
                table.insert("binary".to_owned(), path(binary));
            }
            CodeOrigin::Sources { files, language, around: [flags, libraries], .. } => {
                let language = if *language == Language::C { "c" } else { "c++" };
                table.insert("source".to_owned(), Value::Array(files.iter().map(path).collect()));
                table.insert("language".to_owned(), language.into());
                table.insert("flags".to_owned(), list(flags));
                table.insert("libraries".to_owned(), list(libraries));
            }
        }
        table.insert("arguments".to_owned(), list(&self.arguments));
        let environment = self.environment.iter().map(|(name, text)| (name.clone(), text.as_str().into()));
        table.insert("environment".to_owned(), Value::Table(environment.collect()));
        if let Some(directory) = &self.directory {
            table.insert("directory".to_owned(), path(directory));
        }
        if let Some(ranks) = self.ranks {
            table.insert("ranks".to_owned(), i64::from(ranks).into());
        }
        table
    }

    /// Returns the program file. If the TOML file names sources, the function compiles the sources.
    ///
    /// # Errors
    /// The compiler fails. The error text contains the compiler's output.
    pub fn build(&self) -> Result<Built, CcError> {
        let (files, language, around, directory) = match &self.code {
            CodeOrigin::Binary(path) => return Ok(Built { path: path.clone(), _directory: None }),
            CodeOrigin::Sources { files, language, around, directory } => (files, *language, around, directory),
        };
        let (temporary, path) = room()?;
        let [flags, libraries] = around;
        let mut arguments: Vec<OsString> = flags.iter().map(OsString::from).collect();
        arguments.extend(files.iter().map(OsString::from));
        arguments.extend(libraries.iter().map(OsString::from));
        arguments.extend(["-o".into(), path.clone().into()]);
        let WrapperRequest::Run(mut compiler, _) = request(language, &arguments)? else {
            return Err(self.no_program());
        };
        if arguments::read(&arguments).step != CompileStage::Program {
            return Err(self.no_program());
        }
        let output =
            compiler.current_dir(directory).output().map_err(|error| super::line::not_started(&compiler, &error))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(CcError::new(format!("{} does not compile:\n{}", self.name, said.trim_end())));
        }
        if !path.is_file() {
            return Err(self.no_program());
        }
        Ok(Built { path, _directory: Some(temporary) })
    }

    fn no_program(&self) -> CcError {
        CcError::new(format!("{}: the compiler makes no program with these flags", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, set: &[&str]) -> Result<ProgramFile, String> {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.c", "b.cpp", "prog"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let overrides: Vec<Override> = set.iter().map(|text| Override::parse(text).unwrap()).collect();
        let document = Document::parse("dir/x.toml", text).unwrap();
        let loaded = ProgramFile::load(document, directory.path(), &overrides);
        loaded.map_err(|error| error.to_string().replace(directory.path().to_str().unwrap(), "DIR"))
    }

    #[test]
    fn a_whole_table_is_read() {
        let text = "[program]\nname = \"jacobi\"\nsource = [\"a.c\", \"b.cpp\"]\nflags = [\"-O2\"]\nlibraries = [\"-lm\"]\n\
                    arguments = [\"x\", 12, 1.5]\nenvironment = { OMP_NUM_THREADS = 1 }\nranks = 16";
        let program = load(text, &[]).unwrap();
        assert_eq!((program.name.as_str(), program.ranks), ("jacobi", Some(16)));
        assert_eq!(program.arguments, ["x", "12", "1.5"]);
        assert_eq!(program.environment["OMP_NUM_THREADS"], "1");
        let CodeOrigin::Sources { files, language, around, .. } = program.code else { panic!("no sources") };
        assert_eq!((files.len(), language), (2, Language::Cxx));
        assert_eq!(around, [vec!["-O2".to_owned()], vec!["-lm".to_owned()]]);
    }

    #[test]
    fn little_is_needed_and_the_rest_can_be_set() {
        let program =
            load("program.source = \"a.c\"", &["app.program.arguments=[4, \"y\"]", "app.program.ranks=2"]).unwrap();
        assert_eq!((program.name.as_str(), program.ranks), ("x", Some(2)));
        assert_eq!(program.arguments, ["4", "y"]);
        let program = load("program.binary = \"prog\"", &[]).unwrap();
        assert!(matches!(program.code, CodeOrigin::Binary(path) if path.ends_with("prog")));
    }

    #[test]
    fn errors_name_the_place_and_what_was_expected() {
        let missing = "the files to compile (or \"binary\", a program that mcpsim cc made)";
        for (text, error) in [
            ("program = 5", "expected a table in program of dir/x.toml; found 5".to_owned()),
            ("[program]", format!("expected \"source\" in program of dir/x.toml, {missing}; found none")),
            (
                "program.source = \"no.c\"",
                "expected a file in program.source of dir/x.toml; no such file: DIR/no.c".to_owned(),
            ),
            (
                "program.source = []",
                "expected a file or a list of files in program.source of dir/x.toml; found []".to_owned(),
            ),
            (
                "program.source = \"a.c\"\nprogram.ranks = 0",
                "expected a whole number above zero that is not too large in program.ranks of dir/x.toml; found 0"
                    .to_owned(),
            ),
            (
                "program.source = \"a.c\"\nprogram.flags = \"-O2\"",
                "expected a list of words such as [\"-n\", \"128\"] in program.flags of dir/x.toml; found \"-O2\""
                    .to_owned(),
            ),
            (
                "program.source = \"a.c\"\nprogram.arguments = [\"a\", true]",
                "expected a word in program.arguments[1] of dir/x.toml; found true".to_owned(),
            ),
            (
                "program.source = \"a.c\"\nprogram.language = \"fortran\"",
                "expected \"c\" or \"c++\" in program.language of dir/x.toml; found \"fortran\"".to_owned(),
            ),
            (
                "program.source = \"a.c\"\nprogram.environment = { \"A=B\" = \"\" }",
                "expected names of variables in program.environment of dir/x.toml; found \"A=B\"".to_owned(),
            ),
            (
                "program.source = \"a.c\"\nprogram.binary = \"prog\"",
                "expected either \"source\" or \"binary\", not both in program.binary of dir/x.toml; found \"prog\""
                    .to_owned(),
            ),
            (
                "program.binary = \"prog\"\nprogram.flags = []",
                "expected nothing, since \"binary\" is not compiled in program.flags of dir/x.toml; found []"
                    .to_owned(),
            ),
            (
                "program.source = \"a.c\"\nmain = []",
                "unknown key \"main\", expected \"program\" in main of dir/x.toml".to_owned(),
            ),
        ] {
            assert_eq!(load(text, &[]), Err(error), "{text}");
        }
        assert!(
            load("program.sauce = \"a.c\"", &[])
                .unwrap_err()
                .starts_with("unknown key \"sauce\", expected one of \"name\"")
        );
        assert_eq!(
            load("program.source = \"a.c\"", &["app.program.ranks=x"]).unwrap_err(),
            "expected a whole number above zero that is not too large in --set app.program.ranks=x; found \"x\""
        );
    }
}
