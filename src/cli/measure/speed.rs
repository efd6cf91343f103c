//! Timing of compute kernels by the CPU time of the thread. Other load on the host affects CPU time less than elapsed
//! time.

use crate::measure::{Figures, Kernel, Summary};

use super::host::thread_time;

/// Number of timed runs of each kernel, whose median is the result.
const RUNS: usize = 9;

/// Returns the seconds of each compute kernel on this core. Calls `ready` before each kernel.
pub(super) fn time(kernels: &mut [Kernel], machine: &str, mut ready: impl FnMut()) -> Figures {
    let mut figures = Figures { machine: machine.to_owned(), ..Figures::default() };
    for kernel in kernels {
        kernel.run();
        ready();
        let runs: Vec<f64> = (0..RUNS)
            .map(|_| {
                let started = thread_time();
                kernel.run();
                // A clock of coarse resolution must not yield a time of zero.
                (thread_time() - started).max(1e-9)
            })
            .collect();
        let median = Summary::of(&runs).expect("runs take time").median;
        figures.seconds.insert(kernel.name.to_owned(), median);
    }
    figures
}

/// Returns the seconds of each compute kernel on this core.
pub(in super::super) fn time_kernels(kernels: &mut [Kernel], machine: &str) -> Figures {
    time(kernels, machine, || ())
}
