//! Rates of the host's cores, for machines with `scale_factor = "auto"`: kernels are timed once per processor model, and
//! their times are stored in the user's cache directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Document;
use crate::engine::{HostScale, Processes};
use crate::measure::{Figures, Kernel, Speed};
use crate::platform::{CoreRates, ScaleFactor};
use crate::process::ComputeMode;
use crate::run::{Application, Resolved, write_whole};

use super::measure::{HostLoad, kernel_times, processor, today};

/// Kernels that are compared with the rates of a machine: dense arithmetic and streaming.
const COMPARED: [&str; 2] = ["multiply_add_wide", "triad_far"];
/// Factor by which each end of the range of a loaded host is wider.
const LOADED: f64 = 1.5;

/// Returns the range of factors on the host's times, if a real program is timed and the machine states
/// `scale_factor = "auto"`. The first host process times the kernels. The second value has notes for the user.
pub(super) fn scale(run: &Resolved, processes: &Processes) -> (Option<HostScale>, Vec<String>) {
    let core = &run.platform.platform.core;
    let is_timed = matches!(run.application, Application::Real(_)) && run.settings.job.compute == ComputeMode::Measure;
    if !is_timed || core.scale_factor != ScaleFactor::Auto {
        return (None, Vec::new());
    }
    processes.broadcast(|| {
        let (figures, doubts) = figures(&processor());
        (range(&figures, core, !doubts.is_empty()), doubts)
    })
}

/// Returns the range of factors of a machine with the rates `core`, whose ends are the factors of dense arithmetic and
/// of streaming.
fn range(host: &Figures, core: &CoreRates, is_loaded: bool) -> Option<HostScale> {
    let speed = Speed::of(host, &[]);
    let known = COMPARED.iter().all(|name| host.seconds.contains_key(*name));
    let [dense, streaming] = [speed.wide_flops / core.flops.get(), speed.memory / core.memory.get() as f64];
    let wider = if is_loaded { LOADED } else { 1.0 };
    let (low, high) = (dense.min(streaming) / wider, dense.max(streaming) * wider);
    let is_range = low > 0.0 && high.is_finite();
    (known && is_range).then(|| HostScale { processor: host.machine.clone(), low, high, predicted: None })
}

/// Returns the kernel times of this host, from the cache or measured, and the reasons why they are doubtful. Doubtful
/// times are not stored.
fn figures(processor: &str) -> (Figures, Vec<String>) {
    let path = cache_file(processor);
    if let Some(known) = path.as_deref().and_then(|path| read(path, processor)) {
        return (known, Vec::new());
    }
    let mut kernels: Vec<Kernel> = Kernel::all().into_iter().filter(|kernel| COMPARED.contains(&kernel.name)).collect();
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
    let has_all = COMPARED.iter().all(|name| figures.seconds.contains_key(*name));
    (figures.check().is_ok() && figures.machine == processor && has_all).then_some(figures)
}

/// Returns the file with the kernel times of a processor, in the user's cache directory.
fn cache_file(processor: &str) -> Option<PathBuf> {
    let stated = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = stated("XDG_CACHE_HOME").or_else(|| Some(stated("HOME")?.join(".cache")))?;
    let name: String = processor.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(cache.join("mcpsim").join(format!("kernels-{name}.toml")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bandwidth, Rate};

    #[test]
    fn the_ends_of_the_range_are_dense_arithmetic_and_streaming() {
        let work = |name: &str| Kernel::all().iter().find(|kernel| kernel.name == name).unwrap().work;
        // The host has 40 Gflop/s and 20 GB/s, the target 10 Gflop/s and 10 GB/s.
        let seconds = [(COMPARED[0], 40e9), (COMPARED[1], 20e9)];
        let seconds = seconds.map(|(name, rate)| (name.to_owned(), work(name) / rate)).into();
        let host = Figures { machine: "CPU".to_owned(), seconds };
        let core = CoreRates {
            flops: Rate::new(10e9).unwrap(),
            memory: Bandwidth::new(10_000_000_000).unwrap(),
            ..crate::platform::Platform::load(crate::platform::Platform::default_document(), &[]).unwrap().core
        };
        let found = range(&host, &core, false).unwrap();
        assert!((found.low - 2.0).abs() < 1e-9 && (found.high - 4.0).abs() < 1e-9, "{found:?}");
        let loaded = range(&host, &core, true).unwrap();
        assert!((loaded.low - 2.0 / 1.5).abs() < 1e-9 && (loaded.high - 6.0).abs() < 1e-9, "{loaded:?}");
        assert_eq!(range(&Figures::default(), &core, false), None);
    }
}
