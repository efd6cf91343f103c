//! Recordings of a study's real programs: one recorded run for all points at which the ranks of the program behave the
//! same.
//!
//! The points of the study replay the recorded runs. Many replays can run at once, and replays are as fast as runs of
//! TOML applications. All replays of one recording have the same measurement noise. Traces are stored in the study's
//! directory, so a resumed sweep uses the same traces.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::run::{ErrorKind, PredictError};
use crate::trace::Trace;
use crate::units::Bytes;

use super::directory::Directory;
use super::points::{PreparedPoint, Study};
use super::running::Running;
use super::{InputHash, Limits, MemoryBudget, RankKind};

/// Notes to the user about recorded runs of real programs.
#[derive(Clone, Debug)]
pub enum RecordingNote {
    /// The real program runs `runs` times and every run is recorded; the study's points replay the recorded runs.
    Records {
        /// Number of recorded runs.
        runs: usize,
        /// Number of points in the study.
        points: usize,
    },
    /// A stored trace cannot be replayed, so the real program is recorded again.
    Anew {
        /// File of the trace that cannot be replayed.
        path: PathBuf,
        /// Reason why the trace cannot be replayed.
        why: String,
    },
}

/// Records the missing traces of the study's real programs, and assigns a trace to each point.
///
/// # Errors
/// The directory of traces cannot be created.
pub fn record(
    study: &Study,
    points: &mut [PreparedPoint],
    directory: &Directory,
    limits: Limits,
    running: &Running,
    note: &dyn Fn(RecordingNote),
) -> Result<(), PredictError> {
    let mut groups: BTreeMap<InputHash, &PreparedPoint> = BTreeMap::new();
    let mut order = Vec::new();
    for point in points.iter() {
        if let Some(replay) = &point.replay
            && groups.insert(replay.group, point).is_none()
        {
            order.push((replay.group, point));
        }
    }
    if order.is_empty() {
        return Ok(());
    }
    let traces = directory.subdirectory("traces")?;
    let path = |group: InputHash| -> PathBuf { traces.join(format!("{group}.trace")) };
    let missing: Vec<(InputHash, &PreparedPoint)> =
        order.iter().copied().filter(|(group, _)| !is_recorded(&path(*group), note)).collect();
    if !missing.is_empty() {
        note(RecordingNote::Records { runs: missing.len(), points: points.len() });
    }
    let alone = missing.iter().any(|(_, point)| study.measures(point));
    let limits = if alone { Limits { jobs: NonZeroUsize::MIN, ..limits } } else { limits };
    let ranks = |point: &PreparedPoint| study.configure(&study.plan.point(point.index)).map_or(1, |of| of.ranks());
    let tasks: Vec<(usize, MemoryBudget)> =
        (0..missing.len()).map(|task| (task, MemoryBudget::of_run(ranks(missing[task].1), RankKind::Real))).collect();
    let mut failed = BTreeMap::new();
    let work = |task: usize| study.record(missing[task].1, &path(missing[task].0), running);
    super::run(&tasks, limits, running.flag(), work, |ended| {
        for (task, result) in ended {
            if let Err(failure) = result
                && failure.kind() != ErrorKind::Interrupted
            {
                failed.insert(missing[task].0, failure);
            }
        }
    });
    let mut found = BTreeMap::new();
    for (group, _) in order {
        let trace = match failed.remove(&group) {
            Some(failure) => Err(failure),
            None => content(path(group)),
        };
        found.insert(group, trace);
    }
    for point in points {
        let Some(replay) = &mut point.replay else { continue };
        match &found[&replay.group] {
            Ok((path, hash, size)) => {
                point.key = InputHash::of(&[
                    ("given", point.given.to_string().as_bytes()),
                    ("trace", hash.to_string().as_bytes()),
                ]);
                point.memory = point.memory.and(*size);
                replay.trace = Ok(path.clone());
            }
            Err(failure) => replay.trace = Err(failure.clone()),
        }
    }
    Ok(())
}

/// Returns true if a replayable trace exists at `path`. A damaged trace, or a trace of another format version, is
/// recorded again.
fn is_recorded(path: &Path, note: &dyn Fn(RecordingNote)) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let read = Trace::read(bytes);
    if let Err(error) = &read {
        note(RecordingNote::Anew { path: path.to_owned(), why: error.to_string() });
    }
    read.is_ok()
}

/// Returns the path of a trace file, the hash of its content and its size.
fn content(path: PathBuf) -> Result<(PathBuf, InputHash, Bytes), PredictError> {
    match fs::read(&path) {
        Ok(bytes) => Ok((path, InputHash::of(&[("trace", &bytes)]), Bytes::new(bytes.len() as u64))),
        Err(error) => Err(PredictError::input(format!("{}: {error}", path.display()))),
    }
}
