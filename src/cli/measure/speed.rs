//! Timing of kernels by the CPU time of the thread, which other load on the host affects least.

use crate::measure::{Figures, Kernel, Summary};

use super::host::thread_time;

/// Number of runs of each kernel, of which the median counts.
const RUNS: usize = 9;

/// Returns the seconds of each kernel on this core; calls `ready` before each.
pub(super) fn time(kernels: &mut [Kernel], machine: &str, mut ready: impl FnMut()) -> Figures {
    let mut figures = Figures { machine: machine.to_owned(), ..Figures::default() };
    for kernel in kernels {
        kernel.run();
        ready();
        let runs: Vec<f64> = (0..RUNS)
            .map(|_| {
                let started = thread_time();
                kernel.run();
                // A clock with a coarse resolution must not yield zero.
                (thread_time() - started).max(1e-9)
            })
            .collect();
        let median = Summary::of(&runs).expect("runs take time").median;
        figures.seconds.insert(kernel.name.to_owned(), median);
    }
    figures
}
