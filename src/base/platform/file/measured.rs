//! Compares the platform files of real machines with measurements. Each platform file names the source of the
//! measurements.
//!
//! The tests check a few sizes in each size interval, away from the steps of the measured curves. Each platform file
//! states the error of its whole table, including steps.

use std::path::Path;

use crate::config::Document;
use crate::units::{Bytes, SimSpan};

use super::super::{Contention, Level, Link, Platform};

fn platform(name: &str) -> Platform {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    Platform::load(Document::read(&path).unwrap(), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns half of the round-trip time of a ping-pong without other transfers. The message is eager, or has two control
/// messages before its data.
fn one_way(link: &Link, size: u64) -> SimSpan {
    let size = Bytes::new(size);
    let row = link.row(size);
    let control = if size > link.eager_threshold() { link.handshake() * 2 } else { SimSpan::ZERO };
    let alone = row.latency_under(Contention::Ideal, 1) + row.bytes_under(Contention::Ideal, 1, size);
    row.sending(size) + control + alone + row.receiving(size)
}

/// Compares the times of messages with measured times. `measured` has pairs of bytes and microseconds.
fn assert_near(file: &str, level: Level, most: f64, measured: &[(u64, f64)]) {
    let platform = platform(file);
    for &(size, us) in measured {
        let predicted = one_way(platform.link(level), size).as_seconds() * 1e6;
        let error = predicted / us - 1.0;
        assert!(error.abs() <= most, "{file} {level:?}: {predicted:.2} us for {size} B, measured {us} us: {error:+.3}");
    }
}

#[test]
fn lcc2_answers_pings_as_measured_on_one_socket() {
    let measured = [
        (0, 0.42),
        (8, 0.48),
        (256, 0.62),
        (2048, 1.295),
        (4096, 3.915),
        (32768, 9.23),
        (1 << 20, 178.2),
        (2 << 20, 1289.),
    ];
    assert_near("lcc2.toml", Level::IntraCmp, 0.06, &measured);
}

#[test]
fn lcc2_answers_pings_as_measured_between_sockets() {
    let measured = [
        (0, 0.645),
        (8, 0.725),
        (256, 1.445),
        (2048, 4.685),
        (4096, 4.81),
        (32768, 10.17),
        (2 << 20, 372.),
        (4 << 20, 2568.),
    ];
    assert_near("lcc2.toml", Level::InterCmp, 0.03, &measured);
}

#[test]
fn lcc2_answers_pings_as_measured_between_nodes() {
    let measured =
        [(0, 3.495), (64, 3.82), (1024, 7.265), (8192, 18.42), (16384, 26.2), (131072, 100.6), (4 << 20, 2740.)];
    assert_near("lcc2.toml", Level::InterNode, 0.01, &measured);
}

#[test]
fn graphene_and_its_likeness_answer_pings_as_measured_between_nodes() {
    let measured = [
        (1, 34.17),
        (726, 47.785),
        (914, 50.5),
        (2578, 86.4),
        (8504, 156.6),
        (32862, 367.25),
        (50239, 517.5),
        (132_414, 1291.5),
        (433_518, 4092.5),
        (579_575, 5260.),
        (765_921, 7240.),
    ];
    for file in ["graphene.toml", "clovertown-gige.toml"] {
        assert_near(file, Level::InterNode, 0.06, &measured);
    }
}

#[test]
fn dahu_answers_pings_as_measured_between_nodes() {
    let measured = [
        (50, 1.64385),
        (1133, 1.9459),
        (5413, 3.17875),
        (12592, 5.0375),
        (24149, 6.878),
        (49958, 15.0935),
        (111_149, 23.992),
        (1_281_401, 120.625),
        (9_359_640, 778.3),
    ];
    assert_near("dahu.toml", Level::InterNode, 0.04, &measured);
}
