//! Tests that the fits of textbook models recover the parameters of a simulated machine.

use super::*;

const MACHINE: &str = r#"
name = "known"
nct = [2, 2, 2]
cmp = { memory_bandwidth = "6 GB/s" }
node = { memory_bandwidth = "10 GB/s" }
[core]
flops = "10 Gflop/s"
instructions = "3 Ginstr/s"
memory_bandwidth = "5 GB/s"
[intra_cmp]
contention = "queue"
latency = "400 ns"
bandwidth = "8 GB/s"
send_overhead = "60 ns"
recv_overhead = "40 ns"
gap = "100 ns"
[inter_cmp]
contention = "queue"
latency = "800 ns"
bandwidth = "5 GB/s"
send_overhead = "120 ns"
recv_overhead = "80 ns"
gap = "250 ns"
[inter_node]
contention = "queue"
latency = "2 us"
bandwidth = "1 GB/s"
send_overhead = "500 ns"
recv_overhead = "300 ns"
gap = "900 ns"
"#;

fn machine(overrides: &[&str]) -> Platform {
    test_support::load(MACHINE, overrides)
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{found:e}, expected {expected:e}");
}

#[test]
fn known_parameters_come_back_from_every_level() {
    let platform = machine(&[]);
    let (samples, courses) = sample_models(&platform).unwrap();
    // Parameters of each network level: latency, bytes per second, mean overhead, and gap.
    let known = [(400e-9, 8e9, 50e-9, 100e-9), (800e-9, 5e9, 100e-9, 250e-9), (2e-6, 1e9, 400e-9, 900e-9)];
    for ((level, (latency, rate, overhead, gap)), (of, course)) in Level::ALL.into_iter().zip(known).zip(courses) {
        let models = LevelModels::of(&samples, level).unwrap();
        near(models.hockney.start, latency + 2.0 * overhead);
        near(1.0 / models.hockney.per_byte, rate);
        near(models.hockney.half_size(), (latency + 2.0 * overhead) * rate);
        let small = models.log_p.unwrap();
        assert_eq!(small.bytes, LOGP_BYTES);
        near(small.log_p.latency, latency + 8.0 / rate);
        near(small.log_p.overhead, overhead);
        near(small.log_p.gap, gap);
        let log_gp = models.log_gp.unwrap();
        near(log_gp.small.latency, latency);
        near(log_gp.small.overhead, overhead);
        near(1.0 / log_gp.per_byte, rate);
        for model in [Textbook::Hockney, Textbook::LogP, Textbook::LogGp] {
            assert!(models.residual(model).unwrap().most.abs() < 0.01, "{models:?}");
        }
        // The methods of university courses yield the same values.
        assert_eq!(of, level);
        near(course.message, latency + 2.0 * overhead + 8.0 / rate);
        near(course.overhead, overhead);
        near(course.gap, gap);
        near(course.latency(), latency + 8.0 / rate);
    }
}

#[test]
fn a_receive_that_takes_longer_than_a_send_is_told_apart() {
    let keys = ["send_overhead=80ns", "recv_overhead=120ns"].map(|key| format!("platform.inter_cmp.{key}"));
    let platform = machine(&[&keys[0], &keys[1]]);
    let small = LevelModels::of(&sample_models(&platform).unwrap().0, Level::InterCmp).unwrap().log_p.unwrap();
    near(small.send, 80e-9);
    near(small.recv, 120e-9);
    near(small.log_p.gap, 250e-9);
    near(small.log_p.latency, 800e-9 + 8.0 / 5e9);
}

#[test]
fn what_is_fitted_to_samples_is_what_a_prediction_takes() {
    let rows = "platform.inter_node.interval=[{ up_to = \"4 KiB\" }, { latency = \"9 us\", bandwidth = \"3 GB/s\" }]";
    for overrides in
        [&[][..], &["platform.inter_node.contention=share"], &["platform.inter_node.eager_threshold=1KiB"], &[rows]]
    {
        let platform = machine(overrides);
        let (samples, _) = sample_models(&platform).unwrap();
        for level in Level::ALL {
            let (models, link) = (LevelModels::of(&samples, level).unwrap(), platform.link(level));
            near(models.hockney.start, link.hockney().start);
            near(models.hockney.per_byte, link.hockney().per_byte);
            near(models.log_p.unwrap().log_p.latency, link.log_p(LOGP_BYTES).latency);
            near(models.log_p.unwrap().log_p.gap, link.log_p(LOGP_BYTES).gap);
            near(models.log_gp.unwrap().per_byte, link.log_gp().per_byte);
        }
    }
}

#[test]
fn levels_without_cores_or_samples_have_no_models() {
    let levels = |shape| pairs_of(shape).into_iter().map(|(level, _)| level).collect::<Vec<_>>();
    assert_eq!(levels(Shape { nodes: 2, cmps: 1, cores: 1 }), [Level::InterNode]);
    assert_eq!(levels(Shape { nodes: 1, cmps: 2, cores: 2 }), [Level::IntraCmp, Level::InterCmp]);
    assert!(levels(Shape { nodes: 1, cmps: 1, cores: 1 }).is_empty());
    let ping = |bytes, seconds: f64| SampleSeries {
        level: Some(Level::IntraCmp),
        test: Test::PingPong,
        bytes,
        load: 1,
        count: 2,
        seconds: vec![seconds],
    };
    let samples = Samples { series: vec![ping(1, 1e-6), ping(1001, 2e-6)], ..Samples::default() };
    let models = LevelModels::of(&samples, Level::IntraCmp).unwrap();
    assert_eq!((models.log_p, models.log_gp), (None, None));
    near(models.hockney.per_byte, 1e-9);
    assert_eq!(LevelModels::of(&samples, Level::InterNode), None);
}
