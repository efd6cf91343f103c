//! Tests that cache sizes and copy bandwidths of simulated machines are recovered.

use mcpsim_core::platform::{
    Contention, Copies, CopyMemory, CopyTraffic, Level, Link, Occupancy, Placement, Platform, Shape,
};
use mcpsim_core::units::{Bandwidth, Bytes, SimSpan};

use super::{machine, measured_machine, row};
use crate::*;

const MIB: u64 = 1 << 20;

/// Measures a CMP with caches of `cache` bytes, whose cores copy 8 GB/s each from a memory of 10 GB/s. Also returns the
/// text of the platform file.
fn found(cores: u32, cache: Option<u64>) -> (Option<MeasuredCaches>, String) {
    let shape = Shape { nodes: 1, cmps: 1, cores };
    let rows = vec![row(0, u64::MAX, 300, 8000, [0, 0])];
    let copied = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let link = Link::new(Contention::Fair, Bytes::MAX, SimSpan::from_ns(100), rows).occupying(copied);
    let memory = cache.map(|cache| CopyMemory {
        cache: Bytes::new(cache),
        replacement: Default::default(),
        cmp: Bandwidth::new(10_000_000_000),
        node: None,
        traffic: CopyTraffic::Two,
        interconnect: None,
        code: 0,
    });
    let platform = Platform { memory, ..machine(shape, link) };
    let pairs = (0..cores / 2).map(|first| RankPair { first, second: first + cores / 2 }).collect();
    let levels = vec![LevelPlan { level: Level::IntraCmp, pairs }];
    let plan = CampaignPlan { levels, most_bytes: MIB, budget: 1.0, window: WINDOW };
    let samples = simulate(&platform, Placement::Block.sites(shape, cores, false).unwrap(), &plan).unwrap();
    let fit = LinkFit::of(&samples, Level::IntraCmp, &Corrections::default()).unwrap().fair(&samples);
    let mut measured = measured_machine(shape, fit, &samples);
    measured.speed.cmp_memory = Some(9.5037e9);
    measured.library.own_data = Some([8e-6, 16e-6]);
    (MeasuredCaches::of(&samples), measured.text())
}

#[test]
fn the_end_of_caches_and_what_memory_copies_come_back() {
    for (cores, cache) in [(2, 16 * MIB), (4, 40 * MIB)] {
        let (caches, text) = found(cores, Some(cache));
        let MeasuredCaches { cache: end, copied } = caches.unwrap();
        // The number of buffers doubles between series, so the derived cache size is between the last series whose
        // buffers fit into the caches and the first series whose buffers do not fit.
        let step = 2 * u64::from(cores) * MIB;
        let held = (0..).map(|power| step << power).take_while(|bytes| *bytes <= cache).last().unwrap() as f64;
        assert!(end > held && end < 2.0 * held, "{end} {held}\n{text}");
        // A memory bandwidth of 10 GB/s permits 5 GB/s of copies.
        assert!((copied / 5e9 - 1.0).abs() < 0.02, "{copied}\n{text}");
        // The copy bandwidth in the platform file does not exceed the memory bandwidth of the compute kernels.
        let read = test_support::load(&text, &[]);
        let memory = read.memory.unwrap_or_else(|| panic!("{text}"));
        assert!((memory.cache.get() as f64 / end - 1.0).abs() < 0.001, "{text}");
        assert_eq!(memory.cmp, Bandwidth::new(9_500_000_000), "{text}");
        // Three times 256 KiB in 16 us is a lower rate than that of a copy.
        let in_cache = read.core.in_cache.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(Bandwidth::new(in_cache.bandwidth.get()), Bandwidth::new(49_150_000_000), "{text}");
    }
}

#[test]
fn caches_that_hold_all_or_do_not_count_are_not_stated() {
    for cache in [None, Some(1 << 30), Some(0)] {
        let (caches, text) = found(2, cache);
        assert!(caches.is_none() && !text.contains("\ncache = ") && !text.contains("in_cache"), "{caches:?}\n{text}");
    }
}

/// Creates samples of exchanges between two ranks with 1, 2, 4, … buffers of 1 MiB and the copy rates `rates`, bytes
/// per second.
fn copying(rates: &[f64], after_code: Option<f64>) -> Samples {
    let series = |test, load: u32, rate: f64| {
        let seconds = vec![2.0 * f64::from(load) * MIB as f64 / rate];
        SampleSeries { level: Some(Level::IntraCmp), test, bytes: MIB, load, count: load, seconds }
    };
    let each = (0..).zip(rates).map(|(power, rate)| series(Test::ManyBuffers, 1 << power, *rate));
    let series = each.chain(after_code.map(|rate| series(Test::AfterCode, 8, rate))).collect();
    Samples { series, ..Samples::default() }
}

#[test]
fn the_end_lies_between_two_series_by_their_rates() {
    // Between 8 MiB and 16 MiB of buffers the rate decreases from 8 to 2 GB/s; at 8 √2 MiB the rate is 4 GB/s.
    let found = |rates: &[f64], after| MeasuredCaches::of(&copying(rates, after));
    let caches = found(&[5e9, 8e9, 2e9, 2e9], None).unwrap();
    assert!((caches.cache / MIB as f64 - 8.0 * 2f64.sqrt()).abs() < 1e-9, "{caches:?}");
    assert!((caches.copied / 2e9 - 1.0).abs() < 1e-9, "{caches:?}");
    // The copy rate after other code has run is used if this rate is lower.
    let copied = |after| found(&[8e9, 8e9, 2e9, 2e9], Some(after)).unwrap().copied;
    assert_eq!([1.5e9, 3e9].map(|after| (copied(after) / 1e8).round()), [15.0, 20.0]);
    // If copy rates still decrease with more buffers, or with a single series, the copy rate of memory is unknown.
    assert!(
        found(&[8e9, 8e9, 6e9, 2e9], None).is_none() && found(&[8e9], None).is_none() && found(&[], None).is_none()
    );
}
