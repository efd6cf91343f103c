//! Sanity checks of samples: impossible values, uncertain medians, and platforms on which the measured tests take other
//! times.

use mcpsim_core::platform::Level;

use super::campaign::LEAST;
use super::collectives::TimedCollective;
use super::link::LinkFit;
use super::rings::Effective;
use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// Mean relative error above which the cost table of a network level does not model the measured half round trips.
const FAR_OFF: f64 = 0.25;
/// Median uncertainty of all medians above which the medians are unreliable.
const UNSURE: f64 = 0.25;
/// Least ratio of a message's time to the time of a message with a quarter of the bytes, on any known machine.
const FASTER: f64 = 0.5;
/// Greatest plausible bandwidth between two ranks, bytes per second.
const MOST: f64 = 10e12;

/// Geometric mean of the ratios of simulated to measured test times above which a platform does not model the machine.
/// The first limit applies to ping-pongs, the second limit applies to other tests, which the model does not reproduce
/// by construction.
const OTHER_PING_PONG: f64 = 1.0 + FAR_OFF;
const OTHER: f64 = 3.0;
/// Geometric mean of the ratios of simulated to measured test times above which a warning is printed.
const WARNED: f64 = 1.5;

/// Ratio between the times of repetitions of an exchange above which the repetitions count as disturbed.
const REPEATED: f64 = 3.0;

/// Comparison of the measured tests with the same tests on the fitted platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Reasons why the platform should not be used.
    pub doubts: Vec<String>,
    /// Large deviations that do not prevent the use of the platform.
    pub warnings: Vec<String>,
}

/// Compares the medians of `samples` with the medians of `again`, which contains samples of the same tests on the
/// fitted platform.
pub fn judged(samples: &Samples, again: &Samples) -> Judgement {
    let mut judgement = Judgement::default();
    let ratios = samples.ratios_to(again);
    for level in Level::ALL {
        for test in Test::ALL {
            let of: Vec<f64> = ratios
                .iter()
                .filter(|(series, _)| series.level == Some(level) && series.test == test)
                .map(|(_, ratio)| ratio.ln().abs())
                .collect();
            if of.is_empty() || matches!(test, Test::FirstMessage | Test::TrainOfOne | Test::DelayedTrain) {
                continue;
            }
            let factor = (of.iter().sum::<f64>() / of.len() as f64).exp();
            let line = format!(
                "{}: the written platform is off by a factor of {factor:.1} from the test \"{}\" (mean over message sizes)",
                level.name(),
                test.name().replace('_', " "),
            );
            // The core time of receives of arrived messages grows in steps; the platform model has only the mean of
            // these times.
            let most = match test {
                Test::PingPong => OTHER_PING_PONG,
                Test::LateReceive | Test::PostedReceive => f64::INFINITY,
                _ => OTHER,
            };
            if factor > most {
                judgement.doubts.push(line);
            } else if factor > WARNED {
                judgement.warnings.push(line);
            }
        }
    }
    judgement
}

/// Returns the reasons why `samples` should not be used, one line each. `links` were fitted to `samples`.
pub fn doubts(samples: &Samples, links: &[LinkFit]) -> Vec<String> {
    let mut found = Vec::new();
    let ping_pongs = || samples.series.iter().filter(|of| of.test == Test::PingPong);
    let few = ping_pongs().filter(|of| of.seconds.len() < LEAST).count();
    if few > 0 {
        let all = ping_pongs().count();
        found.push(format!(
            "{few} of {all} ping-pongs have fewer than {LEAST} samples, because twice the duration \
                            --time was over"
        ));
    }
    for fit in links {
        let level = fit.level.name();
        let (mean, most, size) = fit.error();
        if mean > FAR_OFF {
            found.push(format!(
                "{level}: the fitted table differs from half round trips by {:.0} % on average, {:.0} % at {size} B",
                mean * 100.0,
                most.abs() * 100.0
            ));
        }
        let series: Vec<(&SampleSeries, Summary)> = samples
            .of(fit.level, Test::PingPong)
            .into_iter()
            .filter_map(|of| Some((of, Summary::of(&of.seconds)?)))
            .collect();
        let unsure: Vec<f64> = series.iter().map(|(_, summary)| summary.uncertainty).collect();
        if let Some(middle) = Summary::of(&unsure).filter(|middle| middle.median > UNSURE) {
            found.push(format!(
                "{level}: half of the ping-pong medians have an uncertainty of {:.0} % or more",
                middle.median * 100.0
            ));
        }
        let faster = series.iter().find_map(|(large, of_large)| {
            let small = series.iter().rev().find(|(small, _)| small.bytes > 0 && small.bytes * 4 <= large.bytes)?;
            (of_large.median < FASTER * small.1.median).then_some((small, large, of_large))
        });
        if let Some(((small, of_small), large, of_large)) = faster {
            found.push(format!(
                "{level}: {} B take {:.3} us and {} B only {:.3} us",
                small.bytes,
                of_small.median * 1e6,
                large.bytes,
                of_large.median * 1e6
            ));
        }
        let rate = series.iter().map(|(of, summary)| of.bytes as f64 / summary.median).fold(0.0, f64::max);
        if rate > MOST {
            found.push(format!("{level}: {:.0} TB/s between two ranks", rate / 1e12));
        }
    }
    found
}

/// Returns the reasons why the times of collectives should not be used, one line each.
pub fn doubts_of_collectives(timed: &[TimedCollective]) -> Vec<String> {
    let mut found = Vec::new();
    let mut unsure: Vec<f64> = timed.iter().map(|of| of.unsure).collect();
    unsure.sort_by(f64::total_cmp);
    if let Some(middle) = unsure.get(unsure.len() / 2).filter(|middle| **middle > UNSURE) {
        found.push(match middle.is_finite() {
            true => format!("half of the medians have an uncertainty of {:.0} % or more", middle * 100.0),
            false => "half of the medians come from too few calls to estimate their uncertainty".to_owned(),
        });
    }
    let faster = timed.iter().find_map(|large| {
        let is_small = |small: &&TimedCollective| {
            let alike = (small.collective, small.ranks) == (large.collective, large.ranks);
            alike && small.bytes * 4 <= large.bytes && large.seconds < FASTER * small.seconds
        };
        Some((timed.iter().find(is_small)?, large))
    });
    if let Some((small, large)) = faster {
        found.push(format!(
            "{:?} among {} ranks: {} B take {:.3} us and {} B only {:.3} us",
            small.collective,
            small.ranks,
            small.bytes,
            small.seconds * 1e6,
            large.bytes,
            large.seconds * 1e6
        ));
    }
    found
}

/// Returns the reasons why an effective bandwidth of `ranks` ranks should not be used, one line each.
pub fn doubts_of_rings(of: &Effective, ranks: u32) -> Vec<String> {
    let mut found = Vec::new();
    if of.spread > REPEATED {
        let times = of.spread;
        found.push(format!("half of the exchanges take {times:.1} times as long in one repetition as in another"));
    }
    // Least and greatest plausible exchange times in the ring of all ranks, and in ordered rings.
    let (least, most) = (2.0 * of.latency, 2.0 * f64::from(ranks) * of.most_bytes as f64 / of.at_most[0]);
    if most < FASTER * least {
        let bytes = of.most_bytes;
        found.push(format!("exchanges of 1 B take {:.3} us and of {bytes} B only {:.3} us", least * 1e6, most * 1e6));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::link::Corrections;
    use super::*;
    use mcpsim_core::platform::{Collective, Level};

    fn of(times: impl Fn(u64, usize) -> f64) -> Vec<String> {
        let level = Level::IntraCmp;
        let series = |bytes: u64| SampleSeries {
            level: Some(level),
            test: Test::PingPong,
            bytes,
            load: 1,
            count: 2,
            seconds: (0..20).map(|sample| times(bytes, sample)).collect(),
        };
        let sizes = [0, 1, 8, 64, 512, 4096, 32_768, 262_144];
        let series = sizes.map(series).into();
        let samples = Samples { series, eager: vec![(level, None)], ..Samples::default() };
        let fit = LinkFit::of(&samples, level, &Corrections::default()).unwrap();
        doubts(&samples, &[fit])
    }

    #[test]
    fn a_machine_with_a_little_noise_is_believed() {
        let noise = |sample: usize| 1.0 + 0.02 * (sample % 7) as f64;
        assert_eq!(of(|bytes, sample| (1e-6 + 1e-9 * bytes as f64) * noise(sample)), Vec::<String>::new());
    }

    #[test]
    fn a_platform_on_which_the_same_tests_take_other_times_is_doubted() {
        let series = |test: Test, seconds: f64| SampleSeries {
            level: Some(Level::InterNode),
            test,
            bytes: 8,
            load: 1,
            count: 2,
            seconds: vec![seconds; 5],
        };
        let of = |ping: f64, window: f64, late: f64| Samples {
            series: vec![series(Test::PingPong, ping), series(Test::Window, window), series(Test::LateReceive, late)],
            ..Samples::default()
        };
        let measured = of(1e-6, 1e-6, 1e-6);
        assert_eq!(judged(&measured, &of(1.2e-6, 0.8e-6, 1.1e-6)), Judgement::default());
        let far = judged(&measured, &of(1.3e-6, 0.5e-6, 9e-6));
        let line = |test: &str, factor: &str| {
            format!(
                "inter_node: the written platform is off by a factor of {factor} from the test \"{test}\" (mean over message sizes)"
            )
        };
        assert_eq!(far.doubts, [line("ping pong", "1.3")]);
        assert_eq!(far.warnings, [line("window", "2.0"), line("late receive", "9.0")]);
        assert_eq!(judged(&measured, &of(1e-6, 4e-6, 1e-6)).doubts, [line("window", "4.0")]);
    }

    #[test]
    fn times_of_collectives_that_say_nothing_are_doubted() {
        let at = |bytes: u64, seconds: f64, unsure: f64| TimedCollective {
            collective: Collective::Bcast,
            ranks: 4,
            bytes,
            seconds,
            unsure,
        };
        let good = [at(8, 2e-6, 0.01), at(64, 1.9e-6, 0.3), at(512, 2e-6, 0.02)];
        assert_eq!(doubts_of_collectives(&good), Vec::<String>::new());
        let unsure = [at(8, 2e-6, 0.5), at(64, 2e-6, 0.3), at(512, 2e-6, 0.02)];
        assert_eq!(doubts_of_collectives(&unsure), ["half of the medians have an uncertainty of 30 % or more"]);
        let few = [at(8, 2e-6, f64::INFINITY)];
        assert_eq!(
            doubts_of_collectives(&few),
            ["half of the medians come from too few calls to estimate their \
                                                  uncertainty"]
        );
        let faster = [at(8, 8e-3, 0.0), at(64, 2e-6, 0.0)];
        let expected = "Bcast among 4 ranks: 8 B take 8000.000 us and 64 B only 2.000 us";
        assert_eq!(doubts_of_collectives(&faster), [expected]);
        assert_eq!(doubts_of_collectives(&[]), Vec::<String>::new());
    }

    #[test]
    fn rings_whose_repetitions_differ_are_doubted() {
        let of = |latency, spread| Effective { bandwidth: 1e9, at_most: [1e9; 2], latency, most_bytes: 1000, spread };
        assert_eq!(doubts_of_rings(&of(1e-6, 2.9), 2), Vec::<String>::new());
        let expected = "half of the exchanges take 3.1 times as long in one repetition as in another";
        assert_eq!(doubts_of_rings(&of(1e-6, 3.1), 2), [expected]);
        // The test platform lets two ranks send 1,000 B in both directions in 4 us.
        let expected = "exchanges of 1 B take 20.000 us and of 1000 B only 4.000 us";
        assert_eq!(doubts_of_rings(&of(1e-5, 1.0), 2), [expected]);
    }

    #[test]
    fn what_no_machine_does_is_told() {
        let fast = of(|bytes, _| if bytes > 4096 { 1e-8 } else { 1e-6 + 1e-9 * bytes as f64 });
        assert!(
            fast.iter().any(|doubt| doubt == "intra_cmp: 4096 B take 5.096 us and 32768 B only 0.010 us"),
            "{fast:?}"
        );
        assert!(fast.iter().any(|doubt| doubt == "intra_cmp: 26 TB/s between two ranks"), "{fast:?}");
        let noisy = of(|bytes, sample| (1e-6 + 1e-9 * bytes as f64) * if sample % 2 == 0 { 1.0 } else { 9.0 });
        assert!(noisy.iter().any(|doubt| doubt.contains("medians have an uncertainty of")), "{noisy:?}");
    }
}
