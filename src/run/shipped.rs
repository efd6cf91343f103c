//! Machines, applications and studies that are part of mcpsim, found by name from any directory.
//!
//! The shipped files are embedded in the executable. At the first use of a name, all files are written to the cache
//! directory. Error messages can then name files that a user can open and copy, and the sources of real programs are
//! next to their descriptions.

use std::fs;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::cc;
use crate::config::did_you_mean;

use super::error::PredictError;
use crate::config::InputHash;

/// Kind of a file that is shipped with mcpsim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shipped {
    /// Machine that is shipped with mcpsim, a file in `configs`.
    Platform,
    /// Application that is shipped with mcpsim, a file in `workloads`.
    Application,
    /// Study that is shipped with mcpsim, a file in `configs/studies`.
    Study,
}

static CONFIGS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/configs");
static WORKLOADS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/workloads");

/// Directories of shipped files that are written into the cache directory.
static PARTS: [(&str, &Dir<'_>); 2] = [("configs", &CONFIGS), ("workloads", &WORKLOADS)];

impl Shipped {
    fn directory(self) -> (&'static str, &'static Dir<'static>) {
        match self {
            Shipped::Platform => ("configs", &CONFIGS),
            Shipped::Application => ("workloads", &WORKLOADS),
            Shipped::Study => ("configs/studies", CONFIGS.get_dir("studies").expect("studies are shipped")),
        }
    }

    /// Returns the names of all shipped files of a kind in alphabetical order, each with the description of the file.
    pub fn all(self) -> Vec<(&'static str, String)> {
        let files = self.directory().1.files();
        let toml = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"));
        // A shipped file with a dot in its name, such as the machine of a study, is used only by other files and is not
        // listed.
        let named =
            toml.filter(|file| file.path().file_stem().is_some_and(|stem| Path::new(stem).extension().is_none()));
        let mut all: Vec<(&str, String)> =
            named.filter_map(|file| Some((file.path().file_stem()?.to_str()?, about(file.contents_utf8()?)))).collect();
        all.sort();
        all
    }

    /// Returns true if a file of this kind is shipped under the name `name`.
    pub fn has(self, name: &str) -> bool {
        self.all().iter().any(|(shipped, _)| *shipped == name)
    }

    /// Returns the file that `typed` names: an existing file of the user, or otherwise the shipped file with the name
    /// `typed` (see [`Shipped::all`]).
    ///
    /// # Errors
    /// No such file exists (the message contains the most similar name), or the cache directory cannot be written.
    pub fn resolve(self, typed: &Path) -> Result<PathBuf, PredictError> {
        let path = self.named(typed)?;
        match path.try_exists() {
            Ok(false) => Err(PredictError::input(format!("{}: no such file{}", typed.display(), self.hint(typed)))),
            _ => Ok(path),
        }
    }

    /// Resolves `typed` like [`Shipped::resolve`], but returns `typed` unchanged if no such file exists. The reader of
    /// the file then reports the error.
    ///
    /// # Errors
    /// The cache directory of the shipped files cannot be written.
    pub fn named(self, typed: &Path) -> Result<PathBuf, PredictError> {
        match typed.to_str().filter(|name| self.has(name)) {
            Some(name) if !hides(typed) => Ok(unpacked()?.join(self.directory().0).join(format!("{name}.toml"))),
            _ => Ok(typed.to_owned()),
        }
    }

    /// Returns a text with the shipped name that is most similar to the unknown name `typed`.
    fn hint(self, typed: &Path) -> String {
        let beside = typed.with_extension("toml");
        if typed.extension().is_none() && beside.is_file() {
            return format!(", did you mean \"{}\"?", beside.display());
        }
        let Some(stem) = typed.file_stem().and_then(|stem| stem.to_str()) else { return String::new() };
        let is_plain = typed.as_os_str() == stem;
        if typed.extension().is_none_or(|extension| extension == "toml") && self.has(stem) {
            return format!("; the file that comes with mcpsim is called {stem}, without directory and extension");
        }
        let names = self.all();
        match did_you_mean(stem, names.iter().map(|(name, _)| *name)).as_str() {
            "" if is_plain => "; mcpsim list shows the names of shipped machines and applications".to_owned(),
            near if is_plain => near.to_owned(),
            _ => String::new(),
        }
    }

    /// Returns true if a file of the user has the name of a shipped file and is therefore used instead of the shipped
    /// file.
    pub fn is_hidden_by(self, typed: &Path) -> bool {
        hides(typed) && typed.to_str().is_some_and(|name| self.has(name))
    }
}

/// Returns true if a file of the user is used instead of a shipped file with the same name. A directory of the user is
/// not used instead of a shipped file.
pub fn hides(typed: &Path) -> bool {
    typed.exists() && !typed.is_dir()
}

/// Returns the list of shipped files that `mcpsim list` prints.
pub fn list() -> String {
    let table = |title: &str, what: Shipped| {
        let all = what.all();
        let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let rows = all.iter().map(|(name, about)| described(name, width, about));
        format!("{title}\n{}", rows.collect::<String>())
    };
    let platforms = table("machines, for --platform NAME", Shipped::Platform);
    let applications = table("applications, for mcpsim NAME", Shipped::Application);
    format!("{platforms}\n{applications}\n{}", table("studies, for mcpsim sweep NAME", Shipped::Study))
}

/// Returns `name` and `about` in two columns, wrapped to 80 characters.
fn described(name: &str, width: usize, about: &str) -> String {
    let mut text = String::new();
    let mut line = format!("  {name:width$} ");
    for word in about.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > 80 {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(width + 3);
        }
        line.push(' ');
        line.push_str(word);
    }
    text + line.trim_end() + "\n"
}

/// Returns the description of a shipped file: the value of its key `about`, or otherwise the first sentence of its
/// first comment, after a reference to a schema. The first sentence must end at the end of a line.
fn about(text: &str) -> String {
    let table: Option<toml::Table> = text.parse().ok();
    let stated = table.as_ref().and_then(|table| table.get("about")?.as_str()).map(str::to_owned);
    let comment = || {
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("#:schema"))
            .take_while(|line| line.starts_with('#'))
            .collect();
        let until = lines.iter().position(|line| line.ends_with('.')).map_or(lines.len(), |last| last + 1);
        lines[..until].iter().map(|line| line.trim_start_matches(['#', ' '])).collect::<Vec<_>>().join(" ")
    };
    let about = stated.unwrap_or_else(comment);
    about.strip_suffix('.').map(str::to_owned).unwrap_or(about)
}

/// Returns the cache directory of the shipped files, after writing the files into it if necessary.
fn unpacked() -> Result<PathBuf, PredictError> {
    let (root, hint) = cc::cache()?;
    let files = PARTS.map(|(_, directory)| files_of(directory));
    let parts: Vec<(&str, &[u8])> = files.iter().flatten().map(|(path, content)| (*path, *content)).collect();
    let place = root.join(format!("shipped-{}", InputHash::of(&parts)));
    let failed =
        |error: std::io::Error| PredictError::input(format!("cannot write {}: {error}; {hint}", place.display()));
    if is_whole(&place) {
        return Ok(place);
    }
    fs::create_dir_all(&root).map_err(failed)?;
    // Several host processes may write the same files, so a complete directory is renamed to its final name.
    let aside = tempfile::Builder::new().prefix(".shipping-").tempdir_in(&root).map_err(failed)?;
    let made = aside.path().join("shipped");
    for (name, directory) in PARTS {
        fs::create_dir_all(made.join(name)).map_err(failed)?;
        directory.extract(made.join(name)).map_err(failed)?;
    }
    if place.exists() && !is_whole(&place) {
        // A shipped file in the cache directory was changed or removed, so the directory is replaced.
        fs::rename(&place, aside.path().join("broken")).map_err(failed)?;
    }
    match fs::rename(&made, &place) {
        Err(error) if !is_whole(&place) => Err(failed(error)),
        _ => Ok(place),
    }
}

/// Returns true if all shipped files in the directory `place` are unchanged.
fn is_whole(place: &Path) -> bool {
    PARTS.iter().all(|(name, directory)| {
        let as_written = |(path, content): &(&str, &[u8])| {
            fs::read(place.join(name).join(path)).is_ok_and(|found| found == *content)
        };
        files_of(directory).iter().all(as_written)
    })
}

/// Returns all shipped files below `directory`, with their paths.
fn files_of(directory: &'static Dir<'static>) -> Vec<(&'static str, &'static [u8])> {
    let own = directory.files().filter_map(|file| Some((file.path().to_str()?, file.contents())));
    own.chain(directory.dirs().flat_map(files_of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_listed_whole_in_80_columns() {
        let text = list();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        for what in [Shipped::Platform, Shipped::Application, Shipped::Study] {
            for (name, about) in what.all() {
                assert!(words(&text).contains(&words(&format!("{name} {about}"))), "{name} {about} in\n{text}");
            }
        }
        let three = [
            "  ljj-c            A fluxon in a long Josephson junction: a chain of ranks that",
            "                   exchange 64 bytes after every step, as ljj.toml describes it;",
            "                   the real program",
        ];
        assert!(text.contains(&three.join("\n")), "{text}");
        for name in ["  dahu ", "  jacobi3d ", "  jacobi3d-c ", "  is-shapes "] {
            assert!(text.contains(name), "{name} in\n{text}");
        }
        let nameless = |what: Shipped| what.all().into_iter().filter(|(_, about)| about.is_empty()).count();
        assert_eq!([Shipped::Platform, Shipped::Application, Shipped::Study].map(nameless), [0, 0, 0]);
        assert!(!Shipped::Study.has("cloud.platform"));
    }

    #[test]
    fn files_stay_as_they_are_and_names_that_are_neither_are_told_what_was_meant() {
        let directory = tempfile::tempdir().unwrap();
        let mine = directory.path().join("mine.toml");
        fs::write(&mine, "").unwrap();
        assert_eq!(Shipped::Application.resolve(&mine).unwrap(), mine);
        // A directory of the user with the name of a shipped file is not used instead of the shipped file.
        assert!(!hides(directory.path()) && hides(&mine));
        let error = |what: Shipped, name: &Path| what.resolve(name).unwrap_err().to_string();
        let without = error(Shipped::Platform, &directory.path().join("mine"));
        assert!(without.ends_with(&format!("mine: no such file, did you mean \"{}\"?", mine.display())), "{without}");
        for (what, name, expected) in [
            (Shipped::Application, "no-such", "; mcpsim list shows the names of shipped machines and applications"),
            (Shipped::Application, "jacobi3", ", did you mean \"jacobi3d\"?"),
            (Shipped::Platform, "dahoo", ", did you mean \"dahu\"?"),
            (
                Shipped::Application,
                "no/jacobi3d.toml",
                "; the file that comes with mcpsim is called jacobi3d, without directory and extension",
            ),
            (Shipped::Application, "no/such.toml", ""),
            (Shipped::Application, "such.trace", ""),
        ] {
            assert_eq!(error(what, Path::new(name)), format!("{name}: no such file{expected}"));
        }
    }
}
