//! Summary of a machine's measurement: the parameters of the network levels, and the simulation of the same tests.

use crate::measure::{LinkFit, MeasuredCaches, MeasuredMachine, Samples, Summary, Test};
use crate::platform::Level;
use crate::units::{Bandwidth, Bytes, SimSpan};

use super::table::{Align, Table};

/// Returns the summary of the measurement. `again` contains samples of the same tests on the fitted platform, or is
/// empty.
pub fn measured_summary(measured: &MeasuredMachine, again: &Samples) -> String {
    let shape = measured.shape;
    let mut text = format!("{}: ({}, {}, {})\n\n", measured.name, shape.nodes, shape.cmps, shape.cores);
    let columns = ["latency", "bandwidth", "o_s", "o_r", "gap", "eager", "fit"].map(|name| (name, Align::Right));
    let mut table = Table::new(&[&[("level", Align::Left)], &columns[..]].concat());
    for fit in &measured.links {
        table.row(figures(fit, &measured.samples));
    }
    text.push_str(&table.render());
    text.push_str(
        "\nlatency: half a round trip of 0 B; bandwidth: of the best window of messages;\no_s, o_r: \
                   overhead of a send and a receive; fit: mean and greatest error\n",
    );
    let slowdown: Vec<String> = measured.speed.slowdown().iter().map(|factor| format!("{factor:.3}")).collect();
    text.push_str(&format!("slowdown of code with 1, 2, … computing ranks on a CMP: {}\n", slowdown.join(", ")));
    if let Some(MeasuredCaches { cache, copied }) = MeasuredCaches::of(&measured.samples) {
        let (mib, rate) = (cache / f64::from(1 << 20), Bandwidth::new(copied as u64).unwrap_or(Bandwidth::MAX));
        text.push_str(&format!("caches of a CMP: {mib:.1} MiB of message buffers; more are copied at {rate:.3}\n"));
    }
    if let Some(effective) = measured.samples.effective_bandwidth.and_then(|rate| Bandwidth::new(rate as u64)) {
        text.push_str(&format!("effective bandwidth of all ranks (b_eff, rings): {effective}\n"));
    }
    let (all, apart) = measured.samples.counts();
    text.push_str(&format!("{all} samples, of which {apart} are outliers\n"));
    let checked: Vec<String> =
        measured.links.iter().flat_map(|fit| check(fit.level, &measured.samples, again)).collect();
    if !checked.is_empty() {
        text.push_str("\nthe same tests, simulated on the written platform: errors of the medians\n");
        checked.iter().for_each(|line| text.push_str(line));
    }
    text
}

fn figures(fit: &LinkFit, samples: &Samples) -> Vec<String> {
    let span = |seconds: f64| SimSpan::from_seconds(seconds).map_or(String::new(), |span| format!("{span:.3}"));
    let windows = samples.of(fit.level, Test::Window);
    let medians = samples.medians(fit.level, Test::Window);
    let rates = windows
        .iter()
        .zip(&medians)
        .map(|(of, (bytes, seconds))| (f64::from(of.count) * *bytes as f64 / seconds) as u64);
    let best = rates.max().and_then(Bandwidth::new).map_or(String::new(), |best| format!("{best:.3}"));
    let row = &fit.rows[0];
    let (mean, most, _) = fit.error();
    vec![
        fit.level.name().replace('_', "-").replace("cmp", "CMP"),
        span(samples.median(fit.level, Test::PingPong, 0)),
        best,
        span(row.send_overhead),
        span(row.recv_overhead),
        span(row.gap),
        fit.eager.map_or("all".to_owned(), |eager| Bytes::new(eager).to_string()),
        format!("{:.1}% {:.1}%", mean * 100.0, most.abs() * 100.0),
    ]
}

/// Compares the simulated median of each test with the measured median.
fn check(level: Level, samples: &Samples, again: &Samples) -> Vec<String> {
    let tests = [
        Test::PingPong,
        Test::PingPongs,
        Test::Exchange,
        Test::OneWay,
        Test::Window,
        Test::ShortWindow,
        Test::Windows,
        Test::BothWays,
        Test::ManyBuffers,
        Test::AfterCode,
        Test::Train,
        Test::LateReceive,
        Test::PostedReceive,
        Test::Incast,
    ];
    let line = |test: Test| {
        let simulated = again.of(level, test);
        let errors: Vec<f64> = samples
            .of(level, test)
            .iter()
            .filter_map(|series| {
                let other = simulated.iter().find(|of| (of.bytes, of.load) == (series.bytes, series.load))?;
                let (found, goal) = (Summary::of(&other.seconds)?.median, Summary::of(&series.seconds)?.median);
                (goal > 0.0).then(|| (found / goal - 1.0).abs())
            })
            .collect();
        let most = errors.iter().copied().reduce(f64::max)?;
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let (name, level) = (test.name().replace('_', " "), level.name().replace('_', "-").replace("cmp", "CMP"));
        Some(format!("  {level:<10}  {name:<14}  mean {:5.1}%  greatest {:5.1}%\n", mean * 100.0, most * 100.0))
    };
    tests.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{
        CampaignPlan, Corrections, LevelPlan, MeasuredCores, MeasuredLibrary, RankPair, Speed, WINDOW, simulate,
    };
    use crate::platform::{Placement, Platform};

    #[test]
    fn a_machine_is_told_in_a_few_lines_and_agrees_with_itself() {
        let mut platform = Platform::embedded();
        platform.memory.as_mut().unwrap().cmp = Bandwidth::new(10_000_000_000);
        let pairs = vec![RankPair { first: 0, second: 1 }];
        let levels = vec![LevelPlan { level: Level::IntraCmp, pairs }];
        let plan = CampaignPlan { levels, most_bytes: 1 << 20, budget: 1.0, window: WINDOW };
        let sites = Placement::Block.sites(platform.shape, 2, false).unwrap();
        let samples = simulate(&platform, sites, &plan).unwrap();
        let links = vec![LinkFit::of(&samples, Level::IntraCmp, &Corrections::default()).unwrap()];
        let speed = Speed { slowdowns: vec![("a".into(), vec![1.0, 1.25])], ..Speed::default() };
        let (name, shape) = ("default".to_owned(), platform.shape);
        let cores = MeasuredCores::default();
        let (provenance, own) = (vec![], samples.clone());
        let library = MeasuredLibrary::default();
        let measured = MeasuredMachine {
            name,
            provenance,
            shape,
            speed,
            links,
            samples: own,
            cores,
            library,
            domains: Vec::new(),
            states_noise: false,
        };
        let text = measured_summary(&measured, &samples);
        assert!(text.contains("slowdown of code with 1, 2, … computing ranks on a CMP: 1.000, 1.250"), "{text}");
        // The caches of 38 MB have room for eight send buffers of 1 MiB and as many receive buffers per rank, but not
        // 16. Memory transfers three bytes per copied byte.
        let told = text.lines().find(|line| line.starts_with("caches of a CMP: ")).unwrap();
        let figures: Vec<f64> = told.split(' ').filter_map(|word| word.parse().ok()).collect();
        assert!((32.0..64.0).contains(&figures[0]) && (figures[1] - 3.33).abs() < 0.1, "{told}");
        // The ping-pong takes half of the round trip, of which each direction takes 100 + 200 + 100 ns.
        assert!(text.contains("  intra-CMP   400 ns"), "{text}");
        assert!(text.contains("  intra-CMP   ping pong       mean   0.0%  greatest   0.0%"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!measured_summary(&measured, &Samples::default()).contains("simulated"));
    }
}
