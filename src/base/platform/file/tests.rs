//! Tests of the meaning of the keys of platform files.

mod collectives;
mod conditions;
mod errors;
mod former_keys;
mod occupancy;

use crate::platform::{Collective, Contention};
use crate::units::{Bytes, SimSpan};

use super::*;

/// The required keys of a platform file, without the table `[inter_node]`.
const MACHINE: &str = r#"
name = "tiny"
nct = [4, 2, 8]
core = { flops = "10 Gflop/s", instructions = "3 Ginstr/s", memory_bandwidth = "5 GB/s" }
intra_cmp = { latency = "400 ns", bandwidth = "4 GB/s" }
inter_cmp = { latency = "700 ns", bandwidth = "3 GB/s" }
"#;

const NETWORK: &str = r#"
[inter_node]
latency = "2 us"
bandwidth = "1 GB/s"
"#;

fn document(text: &str) -> Document {
    Document::parse("x.toml", text).unwrap()
}

/// Returns the message of an error without the line number, which `errors_name_the_line_of_the_key` tests.
fn said(error: &ConfigError) -> String {
    let text = error.to_string();
    match text.split_once(".toml:") {
        Some((before, after)) => format!("{before}.toml{}", after.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => text,
    }
}

/// Returns the platform with `text` as its table `[inter_node]`, or the error message.
fn network(text: &str) -> Result<Platform, String> {
    Platform::load(document(&format!("{MACHINE}[inter_node]\n{text}")), &[]).map_err(|error| said(&error))
}

fn network_error(text: &str) -> String {
    network(text).unwrap_err()
}

/// Returns the error message for a platform file that is correct except for the lines `extra`.
fn error_with(extra: &str) -> String {
    said(&Platform::load(document(&format!("{MACHINE}{NETWORK}{extra}")), &[]).unwrap_err())
}

/// Returns the error message for a correct platform file in which the text `from` is replaced.
fn error_replacing(from: &str, to: &str) -> String {
    let text = format!("{MACHINE}{NETWORK}");
    assert!(text.contains(from), "{from}");
    said(&Platform::load(document(&text.replacen(from, to, 1)), &[]).unwrap_err())
}

fn load_with(text: &str, overrides: &[&str]) -> Result<PlatformSource, String> {
    let overrides: Vec<_> = overrides.iter().map(|over| Override::parse(over).unwrap()).collect();
    PlatformSource::load(document(text), &overrides).map_err(|error| said(&error))
}

/// Returns, for each size interval of a link, its end in bytes, its latency in ps, and its bandwidth in bytes per
/// second.
fn rows(link: &crate::platform::Link) -> Vec<(u64, u64, u64)> {
    link.rows().iter().map(|row| (row.up_to.get(), row.latency.as_ps(), row.bandwidth.get())).collect()
}

const END: u64 = u64::MAX;

#[test]
fn every_platform_of_the_project_loads() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let platform = Platform::load(Document::read(&path).unwrap(), &[]).unwrap_or_else(|error| panic!("{error}"));
        assert!(platform.lookahead() > SimSpan::ZERO, "{}: workers cannot run in parallel", platform.name);
        assert_eq!(Some(platform.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        names.push(platform.name);
    }
    assert!(names.contains(&Platform::embedded().name));
}

#[test]
fn what_cores_take_a_byte_is_of_a_level_or_of_an_interval() {
    let platform = network(
        "latency = \"2 us\"\nbandwidth = \"1 GB/s\"\nsend_overhead = \"100 ns\"\nsend_bandwidth = \"2 GB/s\"\n\
         interval = [{ up_to = 1000, recv_bandwidth = \"4 GB/s\" }, { send_bandwidth = \"1 GB/s\" }]",
    )
    .unwrap();
    let taken = |size| {
        let row = platform.link(Level::InterNode).row(Bytes::new(size));
        [row.sending(Bytes::new(size)), row.receiving(Bytes::new(size))].map(|span| span.as_ps() / 1000)
    };
    assert_eq!((taken(1000), taken(2000), taken(0)), ([600, 250], [2100, 0], [100, 0]));
    let wrong = network("latency = \"2 us\"\nbandwidth = \"1 GB/s\"\nrecv_bandwidth = \"0 GB/s\"").unwrap_err();
    assert!(wrong.to_string().contains("recv_bandwidth") && wrong.to_string().contains("above zero"), "{wrong}");
}

#[test]
fn what_a_file_leaves_out_costs_nothing_and_limits_nothing() {
    let platform = network("latency = \"2 us\"\nbandwidth = \"1 GB/s\"").unwrap();
    assert_eq!(platform.shape, Shape { nodes: 4, cmps: 2, cores: 8 });
    assert_eq!((platform.core.poll, platform.core.post_overhead), (SimSpan::from_ns(100), SimSpan::ZERO));
    assert_eq!(platform.core.context_switch, SimSpan::ZERO);
    assert_eq!((platform.core.scale_factor, &platform.core.slowdown[..]), (ScaleFactor::Unstated, &[1.0][..]));
    // With 16 ranks on the node, each rank still has the memory bandwidth of a single core.
    assert_eq!(platform.core.memory_share(8, 16), 5e9);
    let link = platform.link(Level::InterNode);
    assert_eq!(
        (link.contention(), link.eager_threshold(), link.handshake()),
        (Contention::Share, Bytes::MAX, SimSpan::from_us(2))
    );
    assert_eq!(platform.link(Level::InterCmp).contention(), Contention::Ideal);
    let row = &link.rows()[0];
    assert_eq!((row.send_overhead, row.recv_overhead, row.gap), (SimSpan::ZERO, SimSpan::ZERO, SimSpan::ZERO));
    assert_eq!(platform.collectives.method(Collective::Bcast, 8, Bytes::ZERO), None);
}

#[test]
fn an_interval_says_only_what_its_level_does_not() {
    let platform = network(
        r#"
        latency = "2 us"
        bandwidth = "1 GB/s"
        send_overhead = "100 ns"
        eager_threshold = "4 KiB"
        handshake = "1 us"
        [[inter_node.interval]]
        up_to = "0 B"
        latency = "1 us"
        [[inter_node.interval]]
        above = 0
        up_to = "4 KiB"
        send_overhead = "300 ns"
        [[inter_node.interval]]
        bandwidth = "2 GB/s"
        recv_overhead = "200 ns"
        gap = "5 ns"
        "#,
    )
    .unwrap();
    let link = platform.link(Level::InterNode);
    assert_eq!(
        rows(link),
        [(0, 1_000_000, 1_000_000_000), (4096, 2_000_000, 1_000_000_000), (END, 2_000_000, 2_000_000_000)]
    );
    let overheads: Vec<_> =
        link.rows().iter().map(|row| (row.send_overhead.as_ps(), row.recv_overhead.as_ps())).collect();
    assert_eq!(overheads, [(100_000, 0), (300_000, 0), (100_000, 200_000)]);
    assert_eq!(link.rows()[2].gap, SimSpan::from_ns(5));
    assert_eq!((link.eager_threshold(), link.handshake()), (Bytes::new(4096), SimSpan::from_us(1)));
    assert_eq!(link.row(Bytes::ZERO).latency, SimSpan::from_us(1));
    assert_eq!(link.row(Bytes::new(1)).latency, SimSpan::from_us(2));
}

/// Two size intervals with values of their own; the second size interval was measured under load.
const MEASURED: &str = r#"
[inter_node]
contention = "measured"
loads = [1, 2]
[[inter_node.interval]]
up_to = "1 KiB"
latency = "1 us"
bandwidth = ["1 GB/s", "500 MB/s"]
[[inter_node.interval]]
loads = [1, 2, 4]
latency = ["3 us", "4 us", "8 us"]
bandwidth = ["2 GB/s", "1.5 GB/s", "1 GB/s"]
"#;

#[test]
fn a_measured_interval_has_a_column_for_each_load() {
    let platform = load_with(&format!("{MACHINE}{MEASURED}"), &[]).unwrap().platform;
    let link = platform.link(Level::InterNode);
    let columns = |row: usize| -> Vec<_> {
        let columns = link.rows()[row].columns.iter();
        columns.map(|column| (column.load, column.latency.as_ps(), column.bandwidth.get())).collect()
    };
    assert_eq!(columns(0), [(1, 1_000_000, 1_000_000_000), (2, 1_000_000, 500_000_000)]);
    assert_eq!(
        columns(1),
        [(1, 3_000_000, 2_000_000_000), (2, 4_000_000, 1_500_000_000), (4, 8_000_000, 1_000_000_000)]
    );
    assert_eq!(rows(link), [(1024, 1_000_000, 1_000_000_000), (END, 3_000_000, 2_000_000_000)]);
}

#[test]
fn an_override_of_a_level_reaches_every_interval_and_column() {
    let text = format!("{MACHINE}{MEASURED}");
    let source = load_with(&text, &["platform.inter_node.latency=2us", "app.n=4", "run.seed=2"]).unwrap();
    let link = source.platform.link(Level::InterNode);
    assert!(link.rows().iter().all(|row| row.latency == SimSpan::from_us(2)));
    assert!(link.rows().iter().flat_map(|row| &row.columns).all(|column| column.latency == SimSpan::from_us(2)));
    assert_eq!(link.handshake(), SimSpan::from_us(2));
    // The bandwidths are still the values of the file, and the merged table contains the values that the platform uses.
    assert_eq!(link.rows()[1].columns[2].bandwidth, Bandwidth::new(1_000_000_000).unwrap());
    assert_eq!(source.table["inter_node"]["latency"].as_str(), Some("2us"));
    assert_eq!(source.table["inter_node"]["interval"][0].get("latency"), None);
}

#[test]
fn an_override_of_the_latency_holds_for_control_messages_unless_they_have_their_own() {
    let text = format!("{MACHINE}{NETWORK}eager_threshold = 0\nhandshake = \"500 ns\"");
    let handshake = |overrides: &[&str]| {
        load_with(&text, overrides).unwrap().platform.link(Level::InterNode).handshake().as_ps() / 1000
    };
    let (latency, own) = ("platform.inter_node.latency=20us", "platform.inter_node.handshake=3us");
    assert_eq!(handshake(&[]), 500);
    assert_eq!(handshake(&[latency]), 20_000);
    assert_eq!(handshake(&[latency, own]), 3000);
    assert_eq!(handshake(&[own, latency]), 3000);
    assert_eq!(handshake(&["platform.intra_cmp.latency=20us"]), 500);
}

#[test]
fn under_another_law_a_measured_table_has_the_costs_of_one_transfer() {
    let source = load_with(&format!("{MACHINE}{MEASURED}"), &["platform.inter_node.contention=share"]).unwrap();
    let link = source.platform.link(Level::InterNode);
    assert_eq!(rows(link), [(1024, 1_000_000, 1_000_000_000), (END, 3_000_000, 2_000_000_000)]);
    assert!(link.rows().iter().all(|row| row.columns.is_empty()));
}

#[test]
fn factors_scale_all_latencies_and_bandwidths_of_a_level() {
    let factors = ["platform.inter_node.latency_factor=0.5", "platform.inter_node.bandwidth_factor=3"];
    let source = load_with(&format!("{MACHINE}{MEASURED}"), &factors).unwrap();
    let link = source.platform.link(Level::InterNode);
    assert_eq!(rows(link), [(1024, 500_000, 3_000_000_000), (END, 1_500_000, 6_000_000_000)]);
    let last = link.rows()[1].columns[2];
    assert_eq!((last.latency, last.bandwidth.get()), (SimSpan::from_us(4), 3_000_000_000));
    // The handshake is a latency, too. Whether the file states it or not, it is scaled once.
    assert_eq!(link.handshake(), SimSpan::from_ns(500));
    let stated = [&factors[..], &["platform.inter_node.handshake=3us"]].concat();
    let source = load_with(&format!("{MACHINE}{MEASURED}"), &stated).unwrap();
    assert_eq!(source.platform.link(Level::InterNode).handshake(), SimSpan::from_ns(1500));
    // The other levels are unchanged.
    assert_eq!(rows(source.platform.link(Level::IntraCmp)), [(END, 400_000, 4_000_000_000)]);
}

#[test]
fn the_shape_can_be_overridden_in_the_form_of_the_command_line() {
    let text = format!("{MACHINE}{NETWORK}");
    let shape = Shape { nodes: 2, cmps: 1, cores: 3 };
    for over in ["platform.nct=2,1,3", "platform.nct=[2, 1, 3]"] {
        assert_eq!(load_with(&text, &[over]).unwrap().platform.shape, shape);
    }
    let source = load_with(&text, &[]).unwrap().with_shape(shape).unwrap();
    assert_eq!(source, load_with(&text, &["platform.nct=[2, 1, 3]"]).unwrap());
}

#[test]
fn a_zero_latency_between_nodes_is_allowed() {
    let platform = network("latency = \"0 us\"\nbandwidth = \"1 GB/s\"").unwrap();
    assert_eq!(platform.lookahead(), SimSpan::ZERO);
}

#[test]
fn a_handshake_bounds_the_lookahead_even_where_only_synchronous_sends_need_it() {
    let text = "latency = \"2 us\"\nbandwidth = \"1 GB/s\"\nhandshake = \"1 us\"";
    assert_eq!(network(text).unwrap().lookahead(), SimSpan::from_us(1));
    assert_eq!(network(&format!("{text}\neager_threshold = 0")).unwrap().lookahead(), SimSpan::from_us(1));
}

#[test]
fn a_handshake_shorter_than_two_slots_is_the_lookahead() {
    let text = "contention = \"fair\"\nlatency = \"30 us\"\nbandwidth = \"1 GB/s\"\nhandshake = \"1 ns\"";
    assert_eq!(network(text).unwrap().lookahead(), SimSpan::from_ns(1));
}

#[test]
fn errors_name_the_line_of_the_key() {
    let machine = MACHINE.trim_start();
    for (network, place) in [
        // The platform files have a value of a wrong kind, an unknown key, and a missing key.
        ("[inter_node]\nlatency = 7\nbandwidth = \"1 GB/s\"\n", "in inter_node.latency of x.toml:7; found 7"),
        ("[inter_node]\n\nlatenzy = 7\n", "in inter_node.latenzy of x.toml:8, did you mean \"latency\"?"),
        ("# A comment.\n[inter_node]\nbandwidth = \"1 GB/s\"\n", "\"latency\" in inter_node of x.toml:7, a time"),
        ("inter_node.bandwidth = \"1 GB/s\"\n", "\"latency\" in inter_node of x.toml:6, a time"),
        // These platform files have keys that contradict each other.
        (
            "[inter_node]\nlaw = \"fair\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nduplex = \"1 MB/s\"\n",
            "in inter_node.duplex of x.toml:10; found 1.000 MB/s",
        ),
        (
            "[inter_node]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n[[inter_node.interval]]\nup_to = 8\n\
             [[inter_node.interval]]\nabove = 9\n",
            "in inter_node.interval[1].above of x.toml:12; found 9 B, which leaves a gap",
        ),
    ] {
        let error = Platform::load(document(&format!("{machine}{network}")), &[]).unwrap_err().to_string();
        assert!(error.contains(place), "{error}");
    }
}
