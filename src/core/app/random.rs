//! Random numbers of a simulated rank. Each rank has its own generator, seeded by the run's seed and the rank. A random
//! number therefore depends only on the seed, the rank, and the rank's previous random numbers.

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, Gamma, LogNormal, StandardNormal, Weibull};
use rand_pcg::Pcg64Mcg;

use super::permute::mix;
use super::value::{EvalError, Evaluated};

/// Random number generator of a rank. The generator is created when the rank draws its first random number, because
/// most programs draw no random numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Random(Option<Box<Pcg64Mcg>>);

/// A probability distribution. The comments of the variants name the parameters, which are keys of `compute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DistributionKind {
    /// Normal distribution with the parameters `mean` and `sd`.
    Normal,
    /// Lognormal distribution. `mean` and `sd` are the mean and standard deviation of the random number, not of its
    /// logarithm.
    Lognormal,
    /// Uniform distribution from `low` to `high`.
    Uniform,
    /// Exponential distribution with the parameter `mean`.
    Exponential,
    /// Gamma distribution with the parameters `shape` and `scale`.
    Gamma,
    /// Weibull distribution with the parameters `shape` and `scale`.
    Weibull,
}

impl Random {
    fn generator(&mut self, seed: u64, rank: u32) -> &mut Pcg64Mcg {
        self.0.get_or_insert_with(|| Box::new(Pcg64Mcg::seed_from_u64(mix(mix(seed).wrapping_add(u64::from(rank))))))
    }

    /// Returns a random number uniform in [0, 1), a multiple of 2^-53.
    pub(super) fn unit(&mut self, seed: u64, rank: u32) -> f64 {
        (self.generator(seed, rank).next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a random integer, uniform from `low` to `high` inclusive.
    pub(super) fn int(&mut self, seed: u64, rank: u32, low: i64, high: i64) -> Evaluated<i64> {
        if low > high {
            return Err(EvalError::new(format!("randint needs a range that is not empty; found {low} to {high}")));
        }
        let count = high.abs_diff(low) as u128 + 1;
        let draw = (u128::from(self.generator(seed, rank).next_u64()) * count) >> 64;
        Ok(low.wrapping_add(draw as u64 as i64))
    }

    /// Returns a random number from the distribution `family`. The number may be negative.
    pub(super) fn draw(&mut self, seed: u64, rank: u32, family: DistributionKind, a: f64, b: f64) -> Evaluated<f64> {
        let random = self.generator(seed, rank);
        let draw = match family {
            DistributionKind::Normal if b >= 0.0 => {
                let z: f64 = StandardNormal.sample(random);
                Some(a + b * z)
            }
            DistributionKind::Lognormal if a > 0.0 => {
                LogNormal::from_mean_cv(a, b / a).ok().filter(|_| b >= 0.0).map(|law| law.sample(random))
            }
            DistributionKind::Uniform if a <= b => {
                let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                Some(a + (b - a) * unit)
            }
            DistributionKind::Exponential if a >= 0.0 => {
                let x: f64 = Exp1.sample(random);
                Some(a * x)
            }
            DistributionKind::Gamma => Gamma::new(a, b).ok().map(|law| law.sample(random)),
            DistributionKind::Weibull => Weibull::new(b, a).ok().map(|law| law.sample(random)),
            _ => None,
        };
        draw.filter(|x| x.is_finite()).ok_or_else(|| {
            let (first, second) = family.parameters();
            let second = second.map_or(String::new(), |name| format!(", {name} = {b}"));
            EvalError::new(format!("no {} distribution has {first} = {a}{second}", family.name()))
        })
    }
}

impl DistributionKind {
    pub(super) const ALL: [DistributionKind; 6] = [
        DistributionKind::Normal,
        DistributionKind::Lognormal,
        DistributionKind::Uniform,
        DistributionKind::Exponential,
        DistributionKind::Gamma,
        DistributionKind::Weibull,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            DistributionKind::Normal => "normal",
            DistributionKind::Lognormal => "lognormal",
            DistributionKind::Uniform => "uniform",
            DistributionKind::Exponential => "exponential",
            DistributionKind::Gamma => "gamma",
            DistributionKind::Weibull => "weibull",
        }
    }

    /// Names of the parameters of the distribution.
    pub(super) fn parameters(self) -> (&'static str, Option<&'static str>) {
        match self {
            DistributionKind::Normal | DistributionKind::Lognormal => ("mean", Some("sd")),
            DistributionKind::Uniform => ("low", Some("high")),
            DistributionKind::Exponential => ("mean", None),
            DistributionKind::Gamma | DistributionKind::Weibull => ("shape", Some("scale")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_their_parameters_say() {
        // The expected means of the distributions are: the parameter `mean`; (low + high) / 2; shape × scale; scale ×
        // Γ(1 + 1/2) = 2 × 0.8862.
        for (family, a, b, mean) in [
            (DistributionKind::Normal, 5.0, 2.0, 5.0),
            (DistributionKind::Lognormal, 5.0, 2.0, 5.0),
            (DistributionKind::Uniform, 1.0, 4.0, 2.5),
            (DistributionKind::Exponential, 3.0, 0.0, 3.0),
            (DistributionKind::Gamma, 2.0, 1.5, 3.0),
            (DistributionKind::Weibull, 2.0, 2.0, 1.7725),
        ] {
            let mut random = Random::default();
            let sum: f64 = (0..20_000).map(|_| random.draw(1, 0, family, a, b).unwrap()).sum();
            assert!((sum / 20_000.0 - mean).abs() < 0.05 * mean, "{family:?}: {}", sum / 20_000.0);
        }
    }

    #[test]
    fn ranks_and_seeds_draw_apart_and_repeatably() {
        let draw = |seed, rank| Random::default().unit(seed, rank);
        assert_eq!(draw(1, 0).to_bits(), draw(1, 0).to_bits());
        assert_ne!(draw(1, 0).to_bits(), draw(1, 1).to_bits());
        assert_ne!(draw(1, 0).to_bits(), draw(2, 0).to_bits());
        let mut random = Random::default();
        assert!((0..1000).all(|_| (-2..=3).contains(&random.int(1, 0, -2, 3).unwrap())));
        assert!(random.int(1, 0, i64::MIN, i64::MAX).is_ok());
    }

    #[test]
    fn impossible_parameters_are_named() {
        let error = |family, a, b| Random::default().draw(1, 0, family, a, b).unwrap_err().to_string();
        assert_eq!(error(DistributionKind::Normal, 1.0, -1.0), "no normal distribution has mean = 1, sd = -1");
        assert_eq!(error(DistributionKind::Exponential, -1.0, 0.0), "no exponential distribution has mean = -1");
        assert_eq!(error(DistributionKind::Uniform, 2.0, 1.0), "no uniform distribution has low = 2, high = 1");
        assert_eq!(
            Random::default().int(1, 0, 3, 2).unwrap_err().to_string(),
            "randint needs a range that is not empty; found 3 to 2"
        );
    }
}
