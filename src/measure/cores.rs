//! System noise and relative node speeds, derived from fixed pieces of computation.
//!
//! | key | from |
//! |---|---|
//! | noise.system | frequency and excess time of pieces of work that take more than 1.1 times the median (fixed work quanta: Sottile and Minnich, Analysis of Microbenchmarks for Performance Tuning of Clusters, IEEE Cluster 2004) |
//! | nodes.rate | median time of a piece of work on the first node, divided by the median on each node |

use std::fmt::Write;
use std::hint::black_box;

use super::port::RankPort;
use super::statistics::Summary;
use super::text::comment;

/// Approximate time of a piece of computation, seconds.
pub const PIECE: f64 = 10e-6;
/// Relative excess over the median time above which a piece of computation contains a detour (interruption by the
/// operating system).
const DETOUR: f64 = 0.1;
/// Fewest detours from which a detour period is derived.
const FEWEST: usize = 5;
/// Relative difference of core speeds below which nodes count as equal.
const ALIKE: f64 = 0.05;

/// Interruptions of a core by the operating system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detours {
    /// Mean time between the starts of two detours, seconds.
    pub period: f64,
    /// Mean length of a detour, seconds.
    pub length: f64,
    /// Standard deviation of the detour lengths, relative to their mean.
    pub deviation: f64,
}

/// Measured properties of cores apart from their compute rates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredCores {
    /// Detours of the first rank's core; `None` if too few detours were found.
    pub detours: Option<Detours>,
    /// Speed of the cores of each node relative to the first node; `None` if all nodes are equal.
    pub nodes: Option<Vec<f64>>,
}

/// Executes one piece of computation on a real rank: integer operations of Marsaglia's xorshift generator.
pub(super) fn piece() {
    const TURNS: u32 = 5000;
    let mut state = black_box(88_172_645_463_325_252_u64);
    for _ in 0..TURNS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

/// Runs `count` pieces of computation concurrently on the ranks `firsts`, one rank per node. All ranks must call this
/// function.
pub fn measure_cores(port: &mut dyn RankPort, firsts: &[u32], count: u32) -> MeasuredCores {
    port.barrier();
    let mut times = Vec::new();
    if firsts.contains(&port.rank()) {
        port.work();
        times.reserve(count as usize);
        let mut before = port.now();
        for _ in 0..count {
            port.work();
            let now = port.now();
            times.push(now - before);
            before = now;
        }
    }
    let medians: Vec<f64> = firsts
        .iter()
        .map(|first| {
            let mut median = vec![Summary::of(&times).map_or(0.0, |summary| summary.median)];
            port.share(*first, &mut median);
            median[0]
        })
        .collect();
    MeasuredCores { detours: detours(&times), nodes: unlike(&medians) }
}

fn detours(times: &[f64]) -> Option<Detours> {
    let median = Summary::of(times)?.median;
    let mut ends = Vec::new();
    let mut lengths = Vec::new();
    let mut end = 0.0;
    for time in times {
        end += time;
        if *time > (1.0 + DETOUR) * median {
            ends.push(end);
            lengths.push(time - median);
        }
    }
    if lengths.len() < FEWEST {
        return None;
    }
    let count = lengths.len() as f64;
    let period = (ends[ends.len() - 1] - ends[0]) / (count - 1.0);
    let length = lengths.iter().sum::<f64>() / count;
    let variance = lengths.iter().map(|of| (of - length).powi(2)).sum::<f64>() / (count - 1.0);
    (length < period).then(|| Detours { period, length, deviation: variance.sqrt() / length })
}

fn unlike(medians: &[f64]) -> Option<Vec<f64>> {
    let first = medians.first().copied().filter(|first| *first > 0.0)?;
    let rates: Vec<f64> = medians.iter().map(|median| first / median).collect();
    rates.iter().any(|rate| (rate - 1.0).abs() > ALIKE && rate.is_finite()).then_some(rates)
}

impl MeasuredCores {
    /// Returns the tables of a platform file that describe the cores. System noise is written as keys if `stated` is
    /// true, otherwise as comments.
    pub fn text(&self, stated: bool) -> String {
        let mut text = String::new();
        if let Some(Detours { period, length, deviation }) = self.detours {
            let what = if stated { "" } else { " Remove the # for predictions with this noise." };
            text.push('\n');
            comment(
                &mut text,
                &format!("Time that the operating system used on the first rank's core, per block of work.{what}"),
            );
            let mark = if stated { "" } else { "# " };
            let _ = writeln!(text, "{mark}[noise.system]");
            let _ = writeln!(text, "{mark}period = \"{:.3} us\"", period * 1e6);
            let _ = writeln!(text, "{mark}length = \"{:.3} us\"", length * 1e6);
            let _ = writeln!(text, "{mark}deviation = {deviation:.3}");
            let _ = writeln!(text, "{mark}distribution = \"lognormal\"");
        }
        if let Some(rates) = &self.nodes {
            let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:.3}")).collect();
            let _ = writeln!(text, "\n[[nodes]]\nabout = \"pieces of integer work on a core of each node\"");
            let _ = writeln!(text, "rate = [{}]", rates.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_detours_tell_no_period_and_small_differences_no_kinds() {
        let mut times = vec![10e-6; 100];
        times[3] = 30e-6;
        assert_eq!(detours(&times), None);
        assert_eq!(detours(&[]), None);
        assert_eq!(unlike(&[1e-5, 1.03e-5, 0.97e-5]), None);
        assert_eq!(unlike(&[1e-5, 2e-5]), Some(vec![1.0, 0.5]));
        assert_eq!(unlike(&[]), None);
        assert_eq!(MeasuredCores::default().text(true), "");
    }
}
