//! Comparison of input files between the host processes of a simulation run, because hosts may have different files
//! under one path.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::engine::Processes;

use super::conduct::agree;
use super::error::{ErrorKind, PredictError};

/// Number of bytes that are read from a file at a time.
const BLOCK: usize = 1 << 20;

/// Input file of a run as one host process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InputFile {
    path: PathBuf,
    digest: String,
}

/// Input files of one host process, by their roles in the run.
type InputFiles = BTreeMap<String, InputFile>;

/// Host processes that must have an input file of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// All host processes must have the file.
    Everywhere,
    /// Only host processes that open the file must have it, with equal content. Some libraries are opened only by the
    /// ranks of one host process.
    WhereOpened,
}

/// Compares the input files of the host processes by role and path. All host processes must call this function.
///
/// # Errors
/// An input file cannot be read, or its content differs between host processes. Only the first host process has the
/// message.
pub(super) fn compare(
    processes: &Processes,
    files: impl FnOnce() -> Vec<(String, PathBuf)>,
    presence: Presence,
) -> Result<(), PredictError> {
    if processes.count() == 1 {
        return Ok(());
    }
    let mine = agree(processes, files().into_iter().map(read).collect::<Result<InputFiles, _>>())?;
    let all = processes.gather((processes.name(), mine));
    match processes.broadcast(|| difference(&all, presence)) {
        None => Ok(()),
        Some(text) if processes.is_first() => Err(PredictError::input(text)),
        Some(_) => Err(PredictError::Elsewhere { kind: ErrorKind::Input, text: String::new() }),
    }
}

fn read((what, path): (String, PathBuf)) -> Result<(String, InputFile), PredictError> {
    let digest = digest(&path).map_err(|error| PredictError::input(format!("{}: {error}", path.display())))?;
    Ok((what, InputFile { path, digest }))
}

/// Returns the hash of a file's content as 32 hexadecimal digits.
fn digest(path: &Path) -> io::Result<String> {
    let (mut file, mut hasher, mut block) = (File::open(path)?, SipHasher24::new(), vec![0; BLOCK]);
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(format!("{:032x}", hasher.finish128().as_u128())),
            Ok(read) => hasher.write(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns a text about the first input file whose content differs, with one host process per version of the file.
fn difference(all: &[(String, InputFiles)], presence: Presence) -> Option<String> {
    let mut names: Vec<&String> = all.iter().flat_map(|(_, files)| files.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().find_map(|name| {
        let found: Vec<_> = all.iter().map(|(process, files)| (process, files.get(name))).collect();
        let found = found.into_iter().filter(|(_, file)| presence == Presence::Everywhere || file.is_some());
        let found: Vec<(&String, Option<&InputFile>)> = found.collect();
        let content = |file: Option<&InputFile>| file.map(|file| file.digest.clone());
        let (_, first) = *found.first()?;
        if found.iter().all(|(_, file)| content(*file) == content(first)) {
            return None;
        }
        // The text names one host process for each version of the file.
        let mut told = Vec::new();
        let each: Vec<String> = found
            .iter()
            .filter(|(_, file)| {
                let is_new = !told.contains(&content(*file));
                told.push(content(*file));
                is_new
            })
            .map(|(process, file)| match file {
                Some(file) => format!("{process} has {} with digest {}", file.path.display(), file.digest),
                None => format!("{process} has none"),
            })
            .collect();
        Some(format!("{name} differs between hosts: expected the same file on all hosts: {}", each.join("; ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u32, files: &[(&str, &str, &str)]) -> (String, InputFiles) {
        let file = |&(what, path, digest): &(&str, &str, &str)| {
            (what.to_owned(), InputFile { path: path.into(), digest: digest.to_owned() })
        };
        (format!("process {number} on node{number}"), files.iter().map(file).collect())
    }

    #[test]
    fn a_file_that_differs_is_told_with_hosts_and_digests() {
        let all = [
            process(0, &[("library libx.so", "/a/libx.so", "1"), ("the trace", "t.trace", "5")]),
            process(1, &[("library libx.so", "/a/libx.so", "1"), ("the trace", "t.trace", "5")]),
            process(2, &[("library libx.so", "/b/libx.so", "2"), ("the trace", "t.trace", "5")]),
        ];
        let text = "library libx.so differs between hosts: expected the same file on all hosts: process 0 on node0 has \
                    /a/libx.so with digest 1; process 2 on node2 has /b/libx.so with digest 2";
        for presence in [Presence::Everywhere, Presence::WhereOpened] {
            assert_eq!(difference(&all, presence).as_deref(), Some(text));
            assert_eq!(difference(&all[..2], presence), None);
        }
    }

    #[test]
    fn a_library_that_only_some_ranks_open_is_no_difference() {
        let all = [process(0, &[]), process(1, &[("library libx.so", "libx.so", "1")])];
        assert_eq!(difference(&all, Presence::WhereOpened), None);
        let text = difference(&all, Presence::Everywhere).unwrap();
        assert!(text.ends_with("process 0 on node0 has none; process 1 on node1 has libx.so with digest 1"), "{text}");
    }

    #[test]
    fn digests_tell_contents_apart_and_a_missing_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let of = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            digest(&path).unwrap()
        };
        let long = vec![7; BLOCK + 1];
        assert_eq!(of(&long), of(&long));
        assert_ne!(of(&long), of(&long[1..]));
        let error = read(("the trace".to_owned(), directory.path().join("none"))).unwrap_err().to_string();
        assert!(error.contains("none: No such file"), "{error}");
    }
}
