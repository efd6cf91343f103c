//! Noise: interruptions of cores by the operating system, delays of messages by the network, and variation of computing
//! times between runs and nodes.
//!
//! A random draw depends on the seed of the run, the purpose of the draw and a number, but never on the order of draws.
//! Therefore runs are equal for any number of workers, and the replay of a trace has the noise of the recorded run.

use std::hash::Hasher;

use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal, StandardNormal};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use siphasher::sip::SipHasher13;

use crate::units::{SimSpan, SimTime};

/// All kinds of noise of a machine; by default there is no noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Interruptions (detours) of cores by the operating system.
    pub system: Option<SystemNoise>,
    /// Delays of messages by the network.
    pub network: Option<NetworkNoise>,
    /// Variation of the computing time of each node between runs.
    pub nodes: Option<Spread>,
}

/// Distribution of a random draw around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseDistribution {
    /// The draw is Gaussian; a negative draw becomes zero.
    Normal,
    /// The logarithm of the draw is Gaussian.
    Lognormal,
}

/// Distribution and deviation of random draws around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Distribution of the draws.
    pub distribution: NoiseDistribution,
    /// Standard deviation of the draws divided by their mean.
    pub deviation: f64,
}

/// Interruptions of a core by the operating system, one per period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemNoise {
    /// Time between the beginnings of two successive detours (interruptions) of a core. The first detours of different
    /// cores begin at different times.
    pub period: SimSpan,
    /// Mean length of a detour, which is less than the period.
    pub length: SimSpan,
    /// Deviation of the length of a detour.
    pub spread: Spread,
}

/// Delays of messages by the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkNoise {
    /// Mean delay of every message.
    pub delay: SimSpan,
    /// Additional mean delay as a fraction of the time of the message without noise.
    pub part: f64,
    /// Deviation of the delay of a message.
    pub spread: Spread,
}

/// Purpose of a random draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Phase,
    Detour,
    Delay,
    Node,
}

/// Greatest number of detours during a computing block whose lengths are drawn one by one; for more detours, the sum of
/// the lengths is one draw.
const SINGLY: u64 = 64;

fn source(seed: u64, purpose: Purpose, of: u32, number: u64) -> Pcg64Mcg {
    let mut hash = SipHasher13::new_with_keys(seed, purpose as u64);
    hash.write_u32(of);
    hash.write_u64(number);
    Pcg64Mcg::seed_from_u64(hash.finish())
}

impl Spread {
    /// Draws a random value with mean `mean`, at least zero.
    fn draw(self, mean: f64, random: &mut Pcg64Mcg) -> f64 {
        let draw = match self.distribution {
            _ if self.deviation == 0.0 || mean == 0.0 => mean,
            NoiseDistribution::Normal => {
                let z: f64 = StandardNormal.sample(random);
                mean * (1.0 + self.deviation * z)
            }
            NoiseDistribution::Lognormal => {
                LogNormal::from_mean_cv(mean, self.deviation).map_or(mean, |distribution| distribution.sample(random))
            }
        };
        draw.max(0.0)
    }
}

fn span(ps: f64) -> SimSpan {
    SimSpan::from_ps(ps.round() as u64)
}

impl Noise {
    /// Returns the factor on computing times on `node` in the run with seed `seed`.
    pub fn of_node(&self, seed: u64, node: u32) -> f64 {
        self.nodes.map_or(1.0, |spread| spread.draw(1.0, &mut source(seed, Purpose::Node, node, 0)))
    }
}

impl NetworkNoise {
    /// Returns the delay by noise of message number `number` of `rank`, which takes `alone` without noise.
    pub fn delay(&self, seed: u64, rank: u32, number: u64, alone: SimSpan) -> SimSpan {
        let mean = self.delay.as_ps() as f64 + self.part * alone.as_ps() as f64;
        span(self.spread.draw(mean, &mut source(seed, Purpose::Delay, rank, number)))
    }
}

impl SystemNoise {
    /// Returns the beginning of the first detour of the core of `rank`.
    pub fn phase(&self, seed: u64, rank: u32) -> SimTime {
        use rand::Rng;
        let bits = u128::from(source(seed, Purpose::Phase, rank, 0).next_u64());
        SimTime::from_ps(((bits * u128::from(self.period.as_ps())) >> 64) as u64)
    }

    fn length(&self, seed: u64, rank: u32, number: u64) -> SimSpan {
        span(self.spread.draw(self.length.as_ps() as f64, &mut source(seed, Purpose::Detour, rank, number)))
    }

    /// Returns the time that work takes the core of `rank` from `start` on, if the work takes `alone` without noise.
    /// The first detour of the core begins at `phase`.
    pub fn stretched(&self, seed: u64, rank: u32, phase: SimTime, start: SimTime, alone: SimSpan) -> SimSpan {
        if alone == SimSpan::ZERO {
            return alone;
        }
        let period = self.period.as_ps();
        let begins = |number: u64| phase + self.period * number;
        let mut end = start;
        // The core may be in a detour at `start`.
        let mut next = 0;
        if start >= phase {
            let last = start.since(phase).as_ps() / period;
            end = end.max(begins(last) + self.length(seed, rank, last));
            next = last + 1;
        }
        end += alone;
        let met = alone.as_ps() / (period - self.length.as_ps());
        if met > SINGLY {
            // The sum of the lengths of many detours is nearly normal, whatever the distribution of a length.
            let mean = met as f64 * self.length.as_ps() as f64;
            let spread = Spread {
                distribution: NoiseDistribution::Normal,
                deviation: self.spread.deviation / (met as f64).sqrt(),
            };
            return end.since(start) + span(spread.draw(mean, &mut source(seed, Purpose::Detour, rank, next)));
        }
        while begins(next) < end {
            end += self.length(seed, rank, next);
            next += 1;
        }
        end.since(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_deviation(draws: impl Iterator<Item = f64>) -> (f64, f64) {
        let draws: Vec<f64> = draws.collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let squares: f64 = draws.iter().map(|draw| (draw - mean).powi(2)).sum();
        (mean, (squares / (draws.len() - 1) as f64).sqrt())
    }

    #[test]
    fn draws_have_the_mean_and_the_deviation_that_are_stated() {
        for distribution in [NoiseDistribution::Normal, NoiseDistribution::Lognormal] {
            let spread = Spread { distribution, deviation: 0.2 };
            let draw = |number| spread.draw(50.0, &mut source(1, Purpose::Delay, 0, number));
            let (mean, deviation) = mean_and_deviation((0..20_000).map(draw));
            assert!(
                (mean - 50.0).abs() < 0.3 && (deviation - 10.0).abs() < 0.3,
                "{distribution:?}: {mean}, {deviation}"
            );
        }
    }

    #[test]
    fn a_detour_of_a_core_delays_what_runs_then() {
        let spread = Spread { distribution: NoiseDistribution::Normal, deviation: 0.0 };
        let us = SimSpan::from_us;
        let noise = SystemNoise { period: us(100), length: us(10), spread };
        let at = |micros| SimTime::ZERO + us(micros);
        let takes = |start, alone| noise.stretched(1, 0, at(50), at(start), us(alone));
        assert_eq!(takes(0, 49), us(49), "it ends before the first detour");
        assert_eq!(takes(0, 50), us(50), "and here when that begins");
        assert_eq!(takes(0, 51), us(61));
        assert_eq!(takes(55, 10), us(15), "the rest of a detour under way comes first");
        assert_eq!(takes(60, 90), us(90), "the next begins at 150");
        assert_eq!(takes(60, 91), us(101));
        assert_eq!(takes(60, 180), us(190), "90 between two detours");
        assert_eq!(takes(60, 181), us(201));
        assert_eq!(takes(55, 0), us(0), "looking at the clock takes no time");
        // Each period has 90 us of work, so 9 s of work take 100,000 periods.
        assert_eq!(takes(60, 9_000_000), us(10_000_000));
    }
}
