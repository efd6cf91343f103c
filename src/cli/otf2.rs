//! Writer of OTF2 archives, which uses the installed OTF2 library.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::exit::Failure;
use super::output::cannot_write;
use crate::run::{compile_with_otf2, run_to_end};
use crate::trace::otf2::{TRACE, WRITE};

/// Writer of one OTF2 archive.
#[derive(Debug)]
pub(super) struct Otf2Writer {
    /// Temporary directory with the compiled program. The directory is next to the archive, so files can be renamed
    /// into the archive.
    scratch: TempDir,
    anchor: PathBuf,
}

impl Otf2Writer {
    /// Prepares the archive whose anchor file is `anchor`, such as "run.otf2". The archive also consists of the file
    /// "run.def" and the directory "run".
    ///
    /// # Errors
    /// A file of the archive exists, or the OTF2 library or a compiler is missing.
    pub fn new(anchor: &Path) -> Result<Otf2Writer, Failure> {
        for file in parts(anchor) {
            if file.exists() {
                let (anchor, file) = (anchor.display(), file.display());
                return Err(Failure::bad_input(format!(
                    "--timeline {anchor}: the file {file} of this OTF2 archive exists already: give another name"
                )));
            }
        }
        let directory = anchor.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let scratch = tempfile::Builder::new().prefix(".mcpsim-otf2").tempdir_in(directory);
        let scratch = scratch.map_err(|error| cannot_write(&anchor.display().to_string(), &error))?;
        compile_with_otf2(WRITE, scratch.path(), "write")?;
        Ok(Otf2Writer { scratch, anchor: anchor.to_owned() })
    }

    /// Writes the archive from the text lines in `events` (see `trace/otf2/write.c`), together with the trace of the
    /// same run.
    ///
    /// # Errors
    /// The OTF2 library cannot write the archive.
    pub fn write(&self, events: &str, trace: Option<&[u8]>) -> Result<(), Failure> {
        let name = self.anchor.display().to_string();
        let cannot = |error: std::io::Error| cannot_write(&name, &error);
        let at = |file: &str| self.scratch.path().join(file);
        std::fs::write(at("events"), events).map_err(cannot)?;
        let stem = self.anchor.file_stem().unwrap_or_default();
        let mut command = Command::new(at("write"));
        command.arg(at("archive")).arg(stem).stdin(Stdio::from(File::open(at("events")).map_err(cannot)?));
        run_to_end(&mut command, &format!("{name}: the OTF2 library"))?;
        if let Some(trace) = trace {
            std::fs::write(at("archive").join(stem).join(TRACE), trace).map_err(cannot)?;
        }
        for to in parts(&self.anchor) {
            let from = at("archive").join(to.file_name().unwrap_or_default());
            std::fs::rename(from, to).map_err(cannot)?;
        }
        Ok(())
    }
}

/// Returns the files of an OTF2 archive. The anchor file is the last file, because the archive is visible once the
/// anchor exists.
fn parts(anchor: &Path) -> [PathBuf; 3] {
    [anchor.with_extension("def"), anchor.with_extension(""), anchor.to_owned()]
}
