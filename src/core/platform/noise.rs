//! Noise: interruptions of cores by the operating system, delays of messages by the network, and variation between
//! runs and nodes.
//!
//! A draw depends on the seed, its purpose and a number, but never on the order of draws. Runs are therefore equal
//! for any number of workers, and a replay has the noise of its recording.

use std::hash::Hasher;

use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal, StandardNormal};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use siphasher::sip::SipHasher13;

use crate::units::{SimSpan, SimTime};

/// All kinds of noise; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Interruptions (detours) of cores.
    pub system: Option<SystemNoise>,
    /// Delays of messages.
    pub network: Option<NetworkNoise>,
    /// Variation of the computing time of a node in this run.
    pub nodes: Option<Spread>,
}

/// Distribution of a draw around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseDistribution {
    /// Gaussian; a draw below zero becomes zero.
    Normal,
    /// Its logarithm is Gaussian.
    Lognormal,
}

/// Deviation of draws from their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Distribution.
    pub distribution: NoiseDistribution,
    /// Standard deviation divided by the mean.
    pub deviation: f64,
}

/// Interruptions of a core by the operating system, one per period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemNoise {
    /// Time between the beginnings of two detours. Each core has its own phase.
    pub period: SimSpan,
    /// Mean length of a detour, below the period.
    pub length: SimSpan,
    /// Deviation of a detour's length.
    pub spread: Spread,
}

/// Delays of messages by the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkNoise {
    /// Mean delay of every message.
    pub delay: SimSpan,
    /// Additional mean delay as a fraction of the message's undisturbed time.
    pub part: f64,
    /// Deviation of a delay.
    pub spread: Spread,
}

/// Purpose of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Phase,
    Detour,
    Delay,
    Node,
}

/// Greatest number of detours of a block that are drawn individually; for more, their sum is one draw.
const SINGLY: u64 = 64;

fn source(seed: u64, purpose: Purpose, of: u32, number: u64) -> Pcg64Mcg {
    let mut hash = SipHasher13::new_with_keys(seed, purpose as u64);
    hash.write_u32(of);
    hash.write_u64(number);
    Pcg64Mcg::seed_from_u64(hash.finish())
}

impl Spread {
    /// Draws a value with mean `mean`, at least zero.
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
    /// Factor on computing times on `node` in the run with `seed`.
    pub fn of_node(&self, seed: u64, node: u32) -> f64 {
        self.nodes.map_or(1.0, |spread| spread.draw(1.0, &mut source(seed, Purpose::Node, node, 0)))
    }
}

impl NetworkNoise {
    /// Delay of message `number` of `rank`, whose undisturbed time is `alone`.
    pub fn delay(&self, seed: u64, rank: u32, number: u64, alone: SimSpan) -> SimSpan {
        let mean = self.delay.as_ps() as f64 + self.part * alone.as_ps() as f64;
        span(self.spread.draw(mean, &mut source(seed, Purpose::Delay, rank, number)))
    }
}

impl SystemNoise {
    /// Beginning of the first detour of the core of `rank`.
    pub fn phase(&self, seed: u64, rank: u32) -> SimTime {
        use rand::Rng;
        let bits = u128::from(source(seed, Purpose::Phase, rank, 0).next_u64());
        SimTime::from_ps(((bits * u128::from(self.period.as_ps())) >> 64) as u64)
    }

    fn length(&self, seed: u64, rank: u32, number: u64) -> SimSpan {
        span(self.spread.draw(self.length.as_ps() as f64, &mut source(seed, Purpose::Detour, rank, number)))
    }

    /// Time of the core of `rank` from `start` on for work of length `alone`. Its first detour begins at `phase`.
    pub fn stretched(&self, seed: u64, rank: u32, phase: SimTime, start: SimTime, alone: SimSpan) -> SimSpan {
        if alone == SimSpan::ZERO {
            return alone;
        }
        let period = self.period.as_ps();
        let begins = |number: u64| phase + self.period * number;
        let mut end = start;
        // The detour in progress, if there is one.
        let mut next = 0;
        if start >= phase {
            let last = start.since(phase).as_ps() / period;
            end = end.max(begins(last) + self.length(seed, rank, last));
            next = last + 1;
        }
        end += alone;
        let met = alone.as_ps() / (period - self.length.as_ps());
        if met > SINGLY {
            // The sum of many detours is nearly normal, whatever their distribution.
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
        // 90 us of work per period: 9 s are 100,000 periods.
        assert_eq!(takes(60, 9_000_000), us(10_000_000));
    }
}
