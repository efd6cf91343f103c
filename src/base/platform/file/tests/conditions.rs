//! Tests of the keys of platform files about protocol, progress, noise and unequal nodes.

use crate::platform::{NoiseDistribution, ProgressEngine, Site, Spread};

use super::*;

fn with(extra: &str) -> Platform {
    Platform::load(document(&format!("{MACHINE}{NETWORK}{extra}")), &[]).unwrap()
}

#[test]
fn what_is_left_out_changes_nothing() {
    assert_eq!(with("").conditions, crate::platform::Conditions::default());
    assert_eq!(with("").link(Level::InterNode).protocol(), crate::platform::Protocol::default());
}

#[test]
fn a_level_states_its_protocol() {
    let link =
        with("connection_time = \"40 us\"\ncredits = 8\nunexpected_copy_bandwidth = \"2 GB/s\"").links[2].clone();
    assert_eq!((link.protocol().connection_time, link.protocol().credits), (SimSpan::from_us(40), Some(8)));
    assert_eq!(link.protocol().unexpected(Bytes::new(2000)), SimSpan::from_us(1));
    let expected =
        "expected at least 1 message (no limit where the key is left out) in inter_node.credits of x.toml; found 0";
    assert_eq!(network_error("latency = \"2 us\"\nbandwidth = \"1 GB/s\"\ncredits = 0"), expected);
}

#[test]
fn progress_is_one_of_three() {
    let progress = |text: &str| {
        let text = format!("progress = {text}\n{MACHINE}{NETWORK}");
        Platform::load(document(&text), &[]).map(|platform| platform.conditions.progress)
    };
    assert_eq!(progress("\"hardware\"").unwrap(), ProgressEngine::Hardware);
    assert_eq!(progress("\"call\"").unwrap(), ProgressEngine::Call);
    assert_eq!(progress("\"thread\"").unwrap(), ProgressEngine::Thread { share: 0.5 });
    assert_eq!(progress("\"thread\"\nprogress_share = 0.1").unwrap(), ProgressEngine::Thread { share: 0.1 });
    let error = |text: &str| said(&progress(text).unwrap_err());
    let expected = "expected one of \"hardware\", \"call\", \"thread\" in progress of x.toml; found \"calls\"";
    assert_eq!(error("\"calls\""), expected);
    let expected = "expected a part of a core from 0 to below 1 in progress_share of x.toml; found 1";
    assert_eq!(error("\"thread\"\nprogress_share = 1.0"), expected);
}

#[test]
fn noise_is_of_the_system_the_network_and_of_nodes() {
    let noise = with(
        "[noise]\nsystem = { period = \"1 ms\", length = \"10 us\" }\nnetwork = { part = 0.1 }\n\
         nodes = { deviation = 0.02, distribution = \"lognormal\" }",
    )
    .conditions
    .noise;
    assert_eq!(noise.system.unwrap().spread, Spread { distribution: NoiseDistribution::Normal, deviation: 0.0 });
    assert_eq!(noise.network.unwrap().spread, Spread { distribution: NoiseDistribution::Lognormal, deviation: 1.0 });
    assert_eq!(noise.nodes, Some(Spread { distribution: NoiseDistribution::Lognormal, deviation: 0.02 }));
    for (text, error) in [
        (
            "system = { period = \"1 us\", length = \"1 us\" }",
            "expected a time below the period, 1.000 us, in noise.system.length of x.toml; found 1.000 us",
        ),
        (
            "system = { period = \"1 ms\", length = \"1 us\", deviation = -0.1 }",
            "expected a number of at least 0 such as 0.05 in noise.system.deviation of x.toml; found -0.1",
        ),
        (
            "network = { part = -1.0 }",
            "expected a number of at least 0 such as 0.05 in noise.network.part of x.toml; found -1",
        ),
        (
            "nodes = { deviation = inf }",
            "expected a number of at least 0 such as 0.05 in noise.nodes.deviation of x.toml; found inf",
        ),
    ] {
        assert_eq!(error_with(&format!("[noise]\n{text}")), error);
    }
}

#[test]
fn nodes_differ_by_factors() {
    let nodes = with(
        "[[nodes]]\nonly = [1, 3]\nrate = [0.5, 0.8]\nslowdown = [1.0, 1.2]\n\
         [[nodes]]\nabout = \"all\"\nrate = 0.5\nmemory = [1, 2, 1, 1]\nadapter = 0.9",
    )
    .conditions
    .nodes;
    assert_eq!(nodes.rate, [0.5, 0.25, 0.5, 0.4]);
    let at = |node, cmp| Site { node, cmp, core: 0 };
    assert_eq!((nodes.memory(1), nodes.adapter(2), nodes.rate(at(7, 0))), (2.0, 0.9, 1.0));
    let of_cmp = with("[[nodes]]\nrate = 0.5\n[[nodes]]\ncmp = 0\nonly = [2]\nrate = 0.9").conditions.nodes;
    assert_eq!((of_cmp.rate(at(2, 0)), of_cmp.rate(at(1, 0)), of_cmp.rate(at(2, 1))), (0.45, 0.5, 0.5));
    assert_eq!((nodes.slowdown(0), nodes.slowdown(3)), (None, Some(&[1.0, 1.2][..])));
    for (text, error) in [
        ("rate = [1.0, 2.0]", "expected a factor for each of 4 nodes in nodes[0].rate of x.toml; found 2"),
        ("only = [4]\nrate = 2.0", "expected nodes from 0 to 3 in nodes[0].only of x.toml; found 4"),
        (
            "slowdown = []",
            "expected a factor for 1, 2, … ranks per CMP such as [1.0, 1.1] in nodes[0].slowdown of x.toml; found []",
        ),
        ("rate = \"none.txt\"", "none.txt: no such file"),
        ("cmp = 9\nrate = 2.0", "expected a CMP from 0 to 1 in nodes[0].cmp of x.toml; found 9"),
        (
            "cmp = 0\nmemory = 0.5",
            "expected \"rate\" as the only key with \"cmp\" in nodes[0] of x.toml; found another",
        ),
    ] {
        assert_eq!(error_with(&format!("[[nodes]]\n{text}")), error);
    }
    let fair = "contention = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n[[nodes]]\nadapter = 0.5";
    let expected = "expected no \"adapter\", which contention \"fair\" does not model yet (\"share\" does), in nodes[0].adapter of x.toml; found one";
    assert_eq!(network_error(fair), expected);
}

#[test]
fn factors_may_stand_in_a_file_beside_the_platforms() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.toml");
    std::fs::write(&path, format!("{MACHINE}{NETWORK}[[nodes]]\nrate = \"rates.txt\"\n")).unwrap();
    let load = |rates: &str| {
        std::fs::write(directory.path().join("rates.txt"), rates).unwrap();
        let loaded = Platform::load(Document::read(&path).unwrap(), &[]);
        loaded.map(|platform| platform.conditions.nodes.rate).map_err(|error| said(&error))
    };
    assert_eq!(load("1\n0.9 # slow\n1\n1.05\n").unwrap(), [1.0, 0.9, 1.0, 1.05]);
    let name = directory.path().join("rates.txt").display().to_string();
    assert_eq!(
        load("1\n1\n").unwrap_err(),
        format!("{name}: expected a factor for each of 4 nodes, one per line; found 2")
    );
    assert_eq!(
        load("1\n-1\n").unwrap_err(),
        format!("{name}:2: expected a number above zero such as 0.95; found \"-1\"")
    );
}
