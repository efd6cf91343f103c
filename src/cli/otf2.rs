//! OTF2 archives, by the OTF2 library of the machine: what works with it is a C program, compiled where it is asked for.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::exit::Failure;
use super::output::cannot_write;
use crate::trace::otf2::WRITE;

/// What tells how to compile against the library: its own tool, and what Debian has.
const TELLERS: [(&str, &[&str]); 2] =
    [("otf2-config", &["--cflags", "--ldflags", "--libs"]), ("pkg-config", &["--cflags --libs otf2"])];

/// Writes an archive.
#[derive(Debug)]
pub(super) struct Otf2Writer {
    /// With the compiled program; beside the archive, to which its files are moved.
    scratch: TempDir,
    anchor: PathBuf,
}

impl Otf2Writer {
    /// Makes ready to write an archive whose anchor file is `anchor`, "run.otf2"; beside it come "run.def" and a directory "run".
    ///
    /// # Errors
    /// If something of these is there already, or there is no OTF2 library or no compiler.
    pub fn new(anchor: &Path) -> Result<Otf2Writer, Failure> {
        for file in parts(anchor) {
            if file.exists() {
                let (anchor, file) = (anchor.display(), file.display());
                return Err(Failure::bad_input(format!(
                    "--timeline {anchor}: an archive consists of several files, of which {file} is there: give another name"
                )));
            }
        }
        let directory = anchor.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let scratch = tempfile::Builder::new().prefix(".mcpsim-otf2").tempdir_in(directory);
        let scratch = scratch.map_err(|error| cannot_write(&anchor.display().to_string(), &error))?;
        compile(WRITE, scratch.path(), "write")?;
        Ok(Otf2Writer { scratch, anchor: anchor.to_owned() })
    }

    /// Writes what `events` say, see `trace/otf2/write.c`.
    ///
    /// # Errors
    /// If the library does not write it.
    pub fn write(&self, events: &str) -> Result<(), Failure> {
        let name = self.anchor.display().to_string();
        let cannot = |error: std::io::Error| cannot_write(&name, &error);
        let at = |file: &str| self.scratch.path().join(file);
        std::fs::write(at("events"), events).map_err(cannot)?;
        let stem = self.anchor.file_stem().unwrap_or_default();
        let mut command = Command::new(at("write"));
        command.arg(at("archive")).arg(stem).stdin(Stdio::from(File::open(at("events")).map_err(cannot)?));
        finished(&mut command, &format!("{name}: the OTF2 library"))?;
        for to in parts(&self.anchor) {
            let from = at("archive").join(to.file_name().unwrap_or_default());
            std::fs::rename(from, to).map_err(cannot)?;
        }
        Ok(())
    }
}

/// The files of an archive, its anchor last: with it the archive is there.
fn parts(anchor: &Path) -> [PathBuf; 3] {
    [anchor.with_extension("def"), anchor.with_extension(""), anchor.to_owned()]
}

/// Compiles `source` into the program `name` in `directory`, with the OTF2 library.
fn compile(source: &str, directory: &Path, name: &str) -> Result<(), Failure> {
    let file = directory.join(format!("{name}.c"));
    std::fs::write(&file, source).map_err(|error| cannot_write(&file.display().to_string(), &error))?;
    let Some(flags) = flags() else {
        return Err(Failure::bad_input(
            "OTF2: expected the OTF2 library with its otf2-config, or Debian's libopen-trace-format2-dev and pkg-config; \
             found neither",
        ));
    };
    let cc = std::env::var_os("MCPSIM_CC").filter(|cc| !cc.is_empty()).unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&cc);
    command.args(["-O1", "-w", "-o"]).arg(directory.join(name)).arg(&file).args(flags);
    finished(&mut command, &format!("OTF2: {}", cc.to_string_lossy()))
}

/// How to compile and link against the library, if it is installed.
fn flags() -> Option<Vec<String>> {
    let told = |(teller, questions): (&str, &[&str])| {
        let mut flags = Vec::new();
        for question in questions {
            let answer = Command::new(teller).args(question.split(' ')).stdin(Stdio::null()).output().ok()?;
            let text = String::from_utf8(answer.stdout).ok().filter(|_| answer.status.success())?;
            flags.extend(text.split_whitespace().map(str::to_owned));
        }
        Some(flags)
    };
    TELLERS.into_iter().find_map(told)
}

/// Runs `command` to its end; what it says on stderr if it fails, after `what`.
fn finished(command: &mut Command, what: &str) -> Result<(), Failure> {
    let output = command.output().map_err(|error| Failure::bad_input(format!("{what}: cannot start it: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = text.lines().take(8).collect();
    Err(Failure::bad_input(format!("{what}: {}\n{}", output.status, first.join("\n"))))
}
