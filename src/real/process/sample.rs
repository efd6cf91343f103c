//! Sampled blocks (`mcpsim.h`), which are repeated code sections of a program. The code of a sampled block runs a few
//! times. Later executions are skipped, and the mean cost of the block is charged instead.
#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::process::{Function, NamedFunction};
use crate::process::{Process, current};
use mcpsim_core::rank::FailureKind;
use mcpsim_core::units::SimSpan;

/// Measured executions of a sampled block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Number of completed executions of the sampled block.
    times: u64,
    /// Total cost of the completed executions of the sampled block in ps.
    cost: u64,
}

impl Sampled {
    fn add(&mut self, cost: SimSpan) {
        self.times += 1;
        self.cost = self.cost.saturating_add(cost.as_ps());
    }

    /// Returns the mean cost of the sampled block. The mean cost is `None` if the block must be executed, because
    /// fewer than `asked` executions have completed.
    fn mean(self, asked: u64) -> Option<SimSpan> {
        match self.times {
            _ if asked == 0 => Some(SimSpan::ZERO),
            0 => None,
            times if times < asked => None,
            times => Some(SimSpan::from_ps(self.cost / times)),
        }
    }
}

/// Static variable that the program has for each sampled block. The program initialises the static variable with
/// zeros.
#[repr(C)]
pub struct SampleSite {
    times: u64,
    cost: u64,
    /// Total cost of the rank's code when the sampled block started, in ps.
    begun: u64,
    global: u64,
    rest: [u64; 4],
}

/// Functions that `mcpsim.h` declares for sampled blocks.
pub const FUNCTIONS: &[NamedFunction] = &[
    ("mcpsim_sample_begin", Function(begin as *const ())),
    ("mcpsim_sample_end", Function(end as *const ())),
    ("mcpsim_compute", Function(compute as *const ())),
];

/// Returns the key of a sampled block whose measurements all ranks share.
fn key(p: &Process, sample: *const SampleSite) -> (usize, usize) {
    let instance = p.instance.borrow();
    let place = instance.as_ref().and_then(|instance| instance.contains(sample as usize));
    place.unwrap_or((usize::MAX, sample as usize))
}

/// Returns 1 if the sampled block must be executed, and 0 if the mean cost of the block was charged. A thread that
/// runs no rank executes every block.
unsafe extern "C" fn begin(sample: *mut SampleSite, asked: c_int, global: c_int) -> c_int {
    let Some(p) = current() else { return 1 };
    // SAFETY: the macros of `mcpsim.h` pass the address of a static variable with the layout of `SampleSite`.
    let known = unsafe {
        (*sample).global = u64::from(global != 0);
        match global {
            0 => Sampled { times: (*sample).times, cost: (*sample).cost },
            _ => p
                .job
                .samples
                .lock()
                .expect("nothing panics with this lock held")
                .get(&key(p, sample))
                .copied()
                .unwrap_or_default(),
        }
    };
    match known.mean(asked.max(0) as u64) {
        Some(cost) => {
            p.charge(cost);
            0
        }
        None => {
            // SAFETY: the macros of `mcpsim.h` pass the address of a static variable with the layout of `SampleSite`.
            unsafe { (*sample).begun = p.computed().as_ps() };
            1
        }
    }
}

unsafe extern "C" fn end(sample: *mut SampleSite) {
    let Some(p) = current() else { return };
    // SAFETY: the macros of `mcpsim.h` pass the address of a static variable with the layout of `SampleSite`.
    let sample = unsafe { &mut *sample };
    let cost = SimSpan::from_ps(p.computed().as_ps().saturating_sub(sample.begun));
    if sample.global == 0 {
        let mut known = Sampled { times: sample.times, cost: sample.cost };
        known.add(cost);
        (sample.times, sample.cost) = (known.times, known.cost);
    } else {
        let mut samples = p.job.samples.lock().expect("nothing panics with this lock held");
        samples.entry(key(p, sample)).or_default().add(cost);
    }
}

unsafe extern "C" fn compute(seconds: f64) {
    let Some(p) = current() else { return };
    match SimSpan::from_seconds(seconds) {
        Some(span) => p.charge(span),
        None => {
            let what = format!("{seconds} seconds: expected 0 or more, and at most 213 days");
            p.fail_at("mcpsim_compute".to_owned(), FailureKind::Error, what)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_charged_once_there_are_enough_samples() {
        let mut sampled = Sampled::default();
        assert_eq!((sampled.mean(0), sampled.mean(2)), (Some(SimSpan::ZERO), None));
        sampled.add(SimSpan::from_ps(10));
        assert_eq!((sampled.mean(1), sampled.mean(2)), (Some(SimSpan::from_ps(10)), None));
        sampled.add(SimSpan::from_ps(20));
        assert_eq!(sampled.mean(2), Some(SimSpan::from_ps(15)));
    }
}
