//! Rates of the host's cores, for machines with `scale_factor = "auto"`: kernels are timed once per processor model, and
//! their times are stored in the user's cache directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Document;
use crate::engine::{HostScale, Processes};
use crate::measure::{Figures, Kernel};
use crate::run::{COMPARED_KERNELS, Resolved, host_scale, write_whole};

use super::measure::{HostLoad, kernel_times, processor, today};

/// Returns the range of factors on the host's times, if a real program is timed and the machine states
/// `scale_factor = "auto"`. The first host process times the kernels. The second value has notes for the user.
pub(super) fn scale(run: &Resolved, processes: &Processes) -> (Option<HostScale>, Vec<String>) {
    let core = &run.platform.platform.core;
    if !run.is_scaled_by_host() {
        return (None, Vec::new());
    }
    processes.broadcast(|| {
        let (figures, doubts) = figures(&processor());
        (host_scale(&figures, core, !doubts.is_empty()), doubts)
    })
}

/// Returns the kernel times of this host, and whether other load makes the times doubtful.
pub(super) fn kernels_of_host() -> (Figures, bool) {
    let (figures, doubts) = figures(&processor());
    (figures, !doubts.is_empty())
}

/// Returns the kernel times of this host, from the cache or measured, and the reasons why they are doubtful. Doubtful
/// times are not stored.
fn figures(processor: &str) -> (Figures, Vec<String>) {
    let path = cache_file(processor);
    if let Some(known) = path.as_deref().and_then(|path| read(path, processor)) {
        return (known, Vec::new());
    }
    let mut kernels: Vec<Kernel> =
        Kernel::all().into_iter().filter(|kernel| COMPARED_KERNELS.contains(&kernel.name)).collect();
    let before = HostLoad::now();
    let figures = kernel_times(&mut kernels, processor);
    let mut doubts = HostLoad::now().doubts_since(&before);
    if let (Some(path), true) = (path, doubts.is_empty()) {
        let text = toml::to_string(&figures).unwrap_or_default();
        let about = format!("# Times of mcpsim's kernels on {processor}, {}, for scale_factor = \"auto\".\n", today());
        let parent = path.parent().map(fs::create_dir_all);
        if !matches!(parent, Some(Ok(()))) || write_whole(&path, about + &text).is_err() {
            doubts.push(format!("cannot write {}: each run times the kernels of the host again", path.display()));
            return (figures, doubts);
        }
    }
    (figures, doubts)
}

/// Reads stored kernel times; `None` if they are missing, damaged or of another processor.
fn read(path: &Path, processor: &str) -> Option<Figures> {
    let figures: Figures = Document::parse("kernel times", &fs::read_to_string(path).ok()?).ok()?.deserialize().ok()?;
    let has_all = COMPARED_KERNELS.iter().all(|name| figures.seconds.contains_key(*name));
    (figures.check().is_ok() && figures.machine == processor && has_all).then_some(figures)
}

/// Returns the file with the kernel times of a processor, in the user's cache directory.
fn cache_file(processor: &str) -> Option<PathBuf> {
    let stated = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = stated("XDG_CACHE_HOME").or_else(|| Some(stated("HOME")?.join(".cache")))?;
    let name: String = processor.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(cache.join("mcpsim").join(format!("kernels-{name}.toml")))
}
