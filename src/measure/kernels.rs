//! A small fixed set of compute kernels, and the rates of a core that their times yield.

mod wide;

use serde::{Deserialize, Serialize};

use super::Summary;
use super::program_memory::ProgramVec;

/// A compute kernel: a fixed amount of work on data that belongs to the kernel.
pub struct Kernel {
    /// Name of the compute kernel in files.
    pub name: &'static str,
    /// Work per run of the kernel: floating-point operations, instructions or bytes.
    pub work: f64,
    /// True if the kernel is used to compare machines and to derive slowdowns of cores.
    pub is_typical: bool,
    data: ProgramVec<f64>,
    run: fn(&mut [f64]) -> f64,
}

/// Number of doubles in the arrays of kernels that fit in a core's own cache (256 KiB), and number of doubles in the
/// larger arrays (96 MiB).
const NEAR: usize = 32 << 10;
const FAR: usize = 12 << 20;
/// Number of points along an edge of the stencil's grids.
const EDGE: usize = 96;

impl Kernel {
    /// Returns all compute kernels.
    pub fn all() -> Vec<Kernel> {
        let points = ((EDGE - 2) * (EDGE - 2) * (EDGE - 2)) as f64;
        let kernel = |name, work, is_typical, length, run| Kernel {
            name,
            work,
            is_typical,
            data: ProgramVec::new(1.0, length),
            run,
        };
        vec![
            kernel("multiply_add", 2.0 * 64.0 * NEAR as f64, true, NEAR, multiply_add),
            kernel("integers", 3.0 * f64::from(INTEGER_TURNS), true, 1, integers),
            kernel("triad_near", 24.0 * 64.0 * (NEAR / 3) as f64, true, NEAR, triad_near),
            kernel("stencil", points, true, 2 * EDGE * EDGE * EDGE, stencil),
            kernel("multiply_add_wide", wide::WORK, false, 1, wide::multiply_add_wide),
            kernel("triad_far", 24.0 * (FAR / 3) as f64, false, FAR, triad),
        ]
    }

    /// Runs the kernel's work once.
    pub fn run(&mut self) {
        let result = (self.run)(std::hint::black_box(&mut self.data));
        std::hint::black_box(result);
    }
}

/// Sums products, eight products at a time.
fn multiply_add(data: &mut [f64]) -> f64 {
    let mut sums = [0.0; 8];
    for turn in 0..64 {
        let factor = f64::from(turn) * 1e-9;
        for values in data.as_chunks::<8>().0 {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value * factor;
            }
        }
    }
    sums.iter().sum()
}

const INTEGER_TURNS: u32 = 2_000_000;

/// Runs a chain of integer operations (Marsaglia's xorshift, six instructions per turn, two of which load constants).
fn integers(data: &mut [f64]) -> f64 {
    let mut state = data[0].to_bits();
    for _ in 0..INTEGER_TURNS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    (state >> 12) as f64
}

fn triad_near(data: &mut [f64]) -> f64 {
    (0..64).map(|_| triad(data)).sum()
}

/// Runs McCalpin's STREAM triad on the thirds of `data`.
fn triad(data: &mut [f64]) -> f64 {
    let (a, rest) = data.split_at_mut(data.len() / 3);
    let (b, c) = rest.split_at(rest.len() / 2);
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = *b + 1e-9 * *c;
    }
    a[0]
}

/// Applies a 7-point stencil from one grid to another grid.
fn stencil(data: &mut [f64]) -> f64 {
    let (to, from) = data.split_at_mut(EDGE * EDGE * EDGE);
    for z in 1..EDGE - 1 {
        for y in 1..EDGE - 1 {
            let at = (z * EDGE + y) * EDGE;
            for i in at + 1..at + EDGE - 1 {
                to[i] = (from[i - 1]
                    + from[i + 1]
                    + from[i - EDGE]
                    + from[i + EDGE]
                    + from[i - EDGE * EDGE]
                    + from[i + EDGE * EDGE])
                    / 6.0;
            }
        }
    }
    to[EDGE * EDGE + EDGE + 1]
}

/// Compute and memory rates of the cores of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speed {
    /// Floating-point operations per second of one core.
    pub flops: f64,
    /// Floating-point operations per second of one core with its widest vectors.
    pub wide_flops: f64,
    /// Instructions per second of one core.
    pub instructions: f64,
    /// Bytes per second that a single core transfers from main memory.
    pub memory: f64,
    /// Bytes per second that all measured cores of a CMP transfer from main memory together.
    pub cmp_memory: Option<f64>,
    /// Measured numbers of ranks per CMP, and the bytes per second that the ranks transfer from main memory together.
    pub memory_by_ranks: Vec<(u32, f64)>,
    /// Slowdown factors of each compute kernel with 1, 2, … ranks on the CMP.
    pub slowdowns: Vec<(String, Vec<f64>)>,
}

/// Seconds per run of each compute kernel on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Name of the machine on which the kernels were timed.
    pub machine: String,
    /// Seconds per run of a kernel, by the name of the kernel.
    pub seconds: std::collections::BTreeMap<String, f64>,
}

impl Speed {
    /// Derives the rates of the cores from the times of kernels, alone and with 1, 2, … ranks on a CMP.
    pub fn of(alone: &Figures, crowded: &[Figures]) -> Speed {
        let kernels = Kernel::all();
        let rate = |name: &str| {
            let work = kernels.iter().find(|kernel| kernel.name == name).map_or(0.0, |kernel| kernel.work);
            alone.seconds.get(name).map_or(1.0, |seconds| work / seconds)
        };
        let factor = |name: &str, figures: &Figures| {
            let (one, some) = (alone.seconds.get(name)?, figures.seconds.get(name)?);
            Some((some / one).max(1.0))
        };
        let slowdowns = kernels.iter().filter(|kernel| kernel.is_typical).map(|kernel| {
            (kernel.name.to_owned(), crowded.iter().filter_map(|figures| factor(kernel.name, figures)).collect())
        });
        let memory = rate("triad_far");
        let all =
            crowded.last().and_then(|figures| Some(memory / factor("triad_far", figures)? * crowded.len() as f64));
        let together = |(ranks, figures): (u32, &Figures)| {
            Some((ranks, memory / factor("triad_far", figures)? * f64::from(ranks)))
        };
        // A number of ranks that was not measured gets the values of the previous number of ranks.
        let tried = (1..).zip(crowded).filter(|(ranks, of)| *ranks == 1 || crowded[*ranks as usize - 2] != **of);
        let by_ranks = tried.filter_map(together);
        Speed {
            flops: rate("multiply_add"),
            wide_flops: rate("multiply_add_wide"),
            instructions: 2.0 * rate("integers"),
            memory,
            cmp_memory: all.filter(|_| crowded.len() > 1),
            memory_by_ranks: by_ranks.collect(),
            slowdowns: slowdowns.collect(),
        }
    }

    /// Returns the median of the kernels' slowdowns, which never decreases with the number of ranks. A mean would
    /// overweight a kernel that streams from shared memory.
    pub fn slowdown(&self) -> Vec<f64> {
        let ranks = self.slowdowns.iter().map(|(_, factors)| factors.len()).min().unwrap_or(0);
        let median = |index: usize| {
            let factors: Vec<f64> = self.slowdowns.iter().map(|(_, factors)| factors[index]).collect();
            Summary::of(&factors).map_or(1.0, |summary| summary.median)
        };
        let mut factors = vec![1.0];
        for index in 1..ranks {
            factors.push(median(index).max(factors[index - 1]));
        }
        factors
    }
}

impl Figures {
    /// Returns the ratio of this machine's kernel times to the kernel times of `host`, as the geometric mean over the
    /// common kernels and for each kernel.
    pub fn scale_factor(&self, host: &Figures) -> Option<(f64, Vec<(String, f64)>)> {
        let typical: Vec<&str> =
            Kernel::all().iter().filter(|kernel| kernel.is_typical).map(|kernel| kernel.name).collect();
        let both = |(name, seconds): (&String, &f64)| Some((name.clone(), seconds / host.seconds.get(name)?));
        let known = self.seconds.iter().filter(|(name, _)| typical.contains(&name.as_str()));
        let ratios: Vec<(String, f64)> = known.filter_map(both).collect();
        let mean = ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>() / ratios.len() as f64;
        (!ratios.is_empty()).then(|| (mean.exp(), ratios))
    }

    /// Checks the kernel times that were read from a file.
    pub fn check(&self) -> Result<(), String> {
        let wrong = self.seconds.iter().find(|(_, seconds)| !seconds.is_finite() || **seconds <= 0.0);
        match wrong {
            Some((name, seconds)) => Err(format!("expected seconds above zero for kernel \"{name}\"; found {seconds}")),
            None if self.seconds.is_empty() => Err("expected the seconds of kernels; found none".to_owned()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(seconds: &[(&str, f64)]) -> Figures {
        let seconds = seconds.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
        Figures { machine: "m".into(), seconds }
    }

    #[test]
    fn kernels_do_what_they_say() {
        for mut kernel in Kernel::all().into_iter().filter(|kernel| kernel.is_typical) {
            kernel.run();
            assert!(kernel.work > 0.0 && (kernel.run)(&mut kernel.data).is_finite(), "{}", kernel.name);
        }
        let wide = wide::multiply_add_wide(&mut [1.0]);
        assert!((wide - 12.0).abs() < 1e-3, "{wide}");
        // The stencil maps a grid of ones to ones; the triad maps ones to slightly more than one.
        assert_eq!(stencil(&mut vec![1.0; 2 * EDGE * EDGE * EDGE]), 1.0);
        assert_eq!(triad(&mut [0.0, 2.0, 1.0]), 2.0 + 1e-9);
    }

    #[test]
    fn a_machine_is_compared_by_the_kernels_that_both_know() {
        let target = figures(&[("multiply_add", 4.0), ("integers", 1.0), ("triad_far", 100.0), ("another", 7.0)]);
        let host = figures(&[("multiply_add", 1.0), ("integers", 1.0), ("triad_far", 1.0)]);
        // The ratios 4 and 1 have a geometric mean of 2; kernels that memory limits are excluded.
        let (factor, each) = target.scale_factor(&host).unwrap();
        assert!((factor - 2.0).abs() < 1e-12 && each.len() == 2);
        assert_eq!(target.scale_factor(&figures(&[("x", 1.0)])), None);
        assert!(figures(&[("integers", -1.0)]).check().is_err() && figures(&[]).check().is_err());
    }

    #[test]
    fn rates_and_slowdowns_follow_from_times() {
        let works: Vec<(&str, f64)> = Kernel::all().iter().map(|kernel| (kernel.name, kernel.work / 1e9)).collect();
        let alone = figures(&works);
        let twice: Vec<(&str, f64)> = works.iter().map(|(name, seconds)| (*name, seconds * 2.0)).collect();
        let speed = Speed::of(&alone, &[alone.clone(), figures(&twice)]);
        assert!((speed.flops / 1e9 - 1.0).abs() < 1e-9 && (speed.memory / 1e9 - 1.0).abs() < 1e-9);
        // Two cores at half the rate together have the memory rate of one core.
        assert!((speed.cmp_memory.unwrap() / 1e9 - 1.0).abs() < 1e-9);
        let slowdown = speed.slowdown();
        assert!(slowdown.len() == 2 && slowdown[0] == 1.0 && (slowdown[1] - 2.0).abs() < 1e-9, "{slowdown:?}");
        assert_eq!(Speed::of(&alone, &[]).slowdown(), [1.0]);
    }
}
