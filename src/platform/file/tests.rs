//! What a platform file means, and the text of every error one can cause.

use proptest::prelude::*;

use crate::platform::{Algorithm, Collective, CopyTraffic, Library, LoadLaw, Method};
use crate::units::{Bytes, SimSpan};

use super::*;

/// What every platform file must say, without `[inter_node]`.
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

/// A platform with `text` as its `[inter_node]`.
fn network(text: &str) -> Result<Platform, String> {
    Platform::load(document(&format!("{MACHINE}[inter_node]\n{text}")), &[]).map_err(|error| error.to_string())
}

fn network_error(text: &str) -> String {
    network(text).unwrap_err()
}

/// The error of a platform file that is right but for `extra`.
fn error_with(extra: &str) -> String {
    Platform::load(document(&format!("{MACHINE}{NETWORK}{extra}")), &[]).unwrap_err().to_string()
}

/// The error of a platform file in which `from` is replaced.
fn error_replacing(from: &str, to: &str) -> String {
    let text = format!("{MACHINE}{NETWORK}");
    assert!(text.contains(from), "{from}");
    Platform::load(document(&text.replacen(from, to, 1)), &[]).unwrap_err().to_string()
}

fn load_with(text: &str, overrides: &[&str]) -> Result<PlatformSource, String> {
    let overrides: Vec<_> = overrides.iter().map(|over| Override::parse(over).unwrap()).collect();
    PlatformSource::load(document(text), &overrides).map_err(|error| error.to_string())
}

/// The rows of a link: where they end, latency in ps, bytes a second.
fn rows(link: &crate::platform::Link) -> Vec<(u64, u64, u64)> {
    link.rows().iter().map(|row| (row.up_to.get(), row.latency.as_ps(), row.bandwidth.get())).collect()
}

const END: u64 = u64::MAX;

#[test]
fn every_platform_of_the_project_loads() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/configs");
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
fn what_a_file_leaves_out_costs_nothing_and_limits_nothing() {
    let platform = network("latency = \"2 us\"\nbandwidth = \"1 GB/s\"").unwrap();
    assert_eq!(platform.shape, Shape { nodes: 4, cmps: 2, cores: 8 });
    assert_eq!(platform.core.poll, SimSpan::from_ns(100));
    assert_eq!((platform.core.scale_factor, &platform.core.slowdown[..]), (1.0, &[1.0][..]));
    // With 16 ranks on the node each still has the core's own bandwidth.
    assert_eq!(platform.core.memory_share(8, 16), 5e9);
    let link = platform.link(Level::InterNode);
    assert_eq!(
        (link.law(), link.eager_threshold(), link.handshake()),
        (LoadLaw::Share, Bytes::MAX, SimSpan::from_us(2))
    );
    assert_eq!(platform.link(Level::InterCmp).law(), LoadLaw::Ideal);
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

/// Two intervals with values of their own, the second measured under load.
const MEASURED: &str = r#"
[inter_node]
law = "measured"
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
    // The bandwidths are still those of the file, and what was merged says what was used.
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
    let source = load_with(&format!("{MACHINE}{MEASURED}"), &["platform.inter_node.law=share"]).unwrap();
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
    // The handshake is a latency too, stated or not, and is scaled once.
    assert_eq!(link.handshake(), SimSpan::from_ns(500));
    let stated = [&factors[..], &["platform.inter_node.handshake=3us"]].concat();
    let source = load_with(&format!("{MACHINE}{MEASURED}"), &stated).unwrap();
    assert_eq!(source.platform.link(Level::InterNode).handshake(), SimSpan::from_ns(1500));
    // The other levels are as they were.
    assert_eq!(rows(source.platform.link(Level::IntraCmp)), [(END, 400_000, 4_000_000_000)]);
}

#[test]
fn the_shape_can_be_overridden_in_the_form_of_the_command_line() {
    let text = format!("{MACHINE}{NETWORK}");
    let shape = Shape { nodes: 2, cmps: 1, cores: 3 };
    for over in ["platform.nct=2,1,3", "platform.nct=[2, 1, 3]"] {
        assert_eq!(load_with(&text, &[over]).unwrap().platform.shape, shape);
    }
    let source = load_with(&text, &[]).unwrap().with_shape(shape);
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
fn collective_rules_apply_in_the_order_of_the_file() {
    let text = format!(
        "{MACHINE}{NETWORK}{}",
        r#"
        [[collectives.bcast]]
        up_to_ranks = 8
        up_to_bytes = "2 KiB"
        algorithm = "binomial"
        [[collectives.bcast]]
        algorithm = "scatter_allgather"
        "#
    );
    let rules = load_with(&text, &[]).unwrap().platform.collectives;
    let bcast = |ranks, size| rules.method(Collective::Bcast, ranks, Bytes::new(size)).map(|method| method.algorithm);
    assert_eq!(bcast(8, 2048), Some(Algorithm::Binomial));
    assert_eq!(bcast(9, 2048), Some(Algorithm::ScatterAllgather));
    assert_eq!(bcast(8, 2049), Some(Algorithm::ScatterAllgather));
    assert_eq!(rules.method(Collective::Reduce, 8, Bytes::ZERO), None);
}

#[test]
fn missing_costs_are_named_with_an_example() {
    let time = "a time such as \"1.2 us\"; found none";
    let bandwidth = "a bandwidth above zero such as \"12.5 GB/s\"; found none";
    assert_eq!(
        network_error("bandwidth = \"1 GB/s\""),
        format!("expected \"latency\" in inter_node of x.toml, {time}")
    );
    assert_eq!(
        network_error("latency = \"1 us\""),
        format!("expected \"bandwidth\" in inter_node of x.toml, {bandwidth}")
    );
    assert_eq!(
        network_error("bandwidth = \"1 GB/s\"\ninterval = [{ up_to = 8, latency = \"1 us\" }, {}]"),
        format!("expected \"latency\" in inter_node.interval[1] of x.toml, {time}")
    );
    assert_eq!(
        network_error("law = \"measured\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\""),
        "expected \"loads\" in inter_node of x.toml, the loads measured, such as [1, 2, 4]; found none"
    );
}

#[test]
fn costs_of_a_wrong_kind_are_refused() {
    let one = |key: &str, value: &str| {
        let others: String = [("latency", "\"1 us\""), ("bandwidth", "\"1 GB/s\"")]
            .into_iter()
            .filter(|(other, _)| *other != key)
            .map(|(other, value)| format!("{other} = {value}\n"))
            .collect();
        network_error(&format!("{others}{key} = {value}"))
    };
    let time = "expected a time such as \"1.2 us\" in inter_node";
    assert_eq!(one("latency", "7"), format!("{time}.latency of x.toml; found 7"));
    assert_eq!(one("latency", "1.5"), format!("{time}.latency of x.toml; found 1.5"));
    assert_eq!(one("latency", "true"), format!("{time}.latency of x.toml; found true"));
    assert_eq!(one("latency", "{ a = 1 }"), format!("{time}.latency of x.toml; found a table"));
    assert_eq!(one("latency", "\"-1 us\""), format!("{time}.latency of x.toml; found \"-1 us\""));
    assert_eq!(one("latency", "\"1 GB\""), format!("{time}.latency of x.toml; found \"1 GB\""));
    assert_eq!(one("latency", "[\"1 us\", 2]"), format!("{time}.latency[1] of x.toml; found 2"));
    assert_eq!(one("handshake", "[]"), format!("{time}.handshake of x.toml; found an array"));
    let bandwidth = "expected a bandwidth above zero such as \"12.5 GB/s\" in inter_node.bandwidth of x.toml";
    for found in ["\"0 GB/s\"", "\"-1 GB/s\"", "\"1 GB\"", "\"1 us\"", "7"] {
        assert_eq!(one("bandwidth", found), format!("{bandwidth}; found {found}"));
    }
    let size = "expected a size such as \"64 KiB\" or 65536 in inter_node.eager_threshold of x.toml";
    for found in ["\"1 us\"", "-5", "\"0.5 B\""] {
        assert_eq!(one("eager_threshold", found), format!("{size}; found {found}"));
    }
    for found in ["0", "-1", "0.0", "inf", "nan", "\"2\""] {
        let expected = "expected a number above zero such as 1.5 in inter_node.latency_factor of x.toml";
        let error = one("latency_factor", found);
        assert!(error.starts_with(&format!("{expected}; found ")), "{error}");
    }
    assert_eq!(
        one("bandwidth_factor", "1e-300"),
        "expected a factor that leaves at least 1 B/s of 1.000 GB/s in inter_node.bandwidth_factor of x.toml; found 1e-300"
    );
    assert_eq!(
        one("law", "\"even\""),
        "expected one of \"ideal\", \"share\", \"queue\", \"measured\", \"fair\" in inter_node.law of x.toml; found \"even\""
    );
}

#[test]
fn intervals_that_do_not_fit_together_name_both() {
    let error = |intervals: &str| {
        network_error(&format!("latency = \"1 us\"\nbandwidth = \"1 GB/s\"\ninterval = [{intervals}]"))
    };
    assert_eq!(
        error("{ up_to = \"4 KiB\" }, { above = \"8 KiB\" }"),
        "expected 4 KiB, where inter_node.interval[0] ends, in inter_node.interval[1].above of x.toml; found 8 KiB, which leaves a gap"
    );
    assert_eq!(
        error("{ up_to = \"4 KiB\" }, { above = \"2 KiB\" }"),
        "expected 4 KiB, where inter_node.interval[0] ends, in inter_node.interval[1].above of x.toml; found 2 KiB, which leaves an overlap"
    );
    assert_eq!(
        error("{ above = 1, up_to = 4 }, {}"),
        "expected 0 B, where the first interval starts, in inter_node.interval[0].above of x.toml; found 1 B"
    );
    assert_eq!(
        error("{ up_to = 8 }, { up_to = 8 }, {}"),
        "expected a size above 8 B, where inter_node.interval[0] ends, in inter_node.interval[1].up_to of x.toml; found 8 B"
    );
    assert_eq!(
        error("{ up_to = 0 }, { up_to = 0 }, {}"),
        "expected a size above 0 B, where inter_node.interval[0] ends, in inter_node.interval[1].up_to of x.toml; found 0 B"
    );
    assert_eq!(
        error("{ up_to = 8 }, {}, {}"),
        "expected \"up_to\" in inter_node.interval[1] of x.toml, a size such as \"64 KiB\" (only the last interval has none); found none"
    );
    assert_eq!(
        error("{ up_to = 8 }, { up_to = \"1 MiB\" }"),
        "expected no \"up_to\" in the last interval, which holds all greater sizes, in inter_node.interval[1].up_to of x.toml; found 1 MiB"
    );
    assert_eq!(error(""), "expected 1 to 65535 intervals in inter_node.interval of x.toml; found 0");
}

#[test]
fn lists_of_measured_values_must_match_their_loads() {
    let error = |loads: &str, latency: &str| {
        network_error(&format!("law = \"measured\"\nbandwidth = \"1 GB/s\"\nloads = {loads}\nlatency = {latency}"))
    };
    assert_eq!(
        error("[1, 2, 4]", "[\"1 us\", \"2 us\"]"),
        "expected as many times as \"loads\" has entries, which is 3, in inter_node.latency of x.toml; found 2"
    );
    for loads in ["[]", "[2, 4]", "[0, 1]", "[1, 4, 4]", "[1, 4, 2]"] {
        let expected = "expected increasing loads that begin with 1, such as [1, 2, 4], in inter_node.loads of x.toml";
        assert_eq!(error(loads, "\"1 us\""), format!("{expected}; found {loads}"));
    }
    assert_eq!(
        network_error("latency = \"1 us\"\ninterval = [{ bandwidth = [\"1 GB/s\", \"2 GB/s\"] }]"),
        "expected as many bandwidths as \"loads\" has entries, which is 1, in inter_node.interval[0].bandwidth of x.toml; found 2"
    );
}

#[test]
fn the_shape_must_be_three_whole_numbers_above_zero() {
    for nct in ["[0, 2, 2]", "[4, 2]", "[4, 2, 2, 1]", "[4, -2, 2]", "[4, \"x\", 2]", "[]", "7", "\"4,2\""] {
        let expected = "expected three whole numbers above zero such as [4, 2, 2] in nct of x.toml";
        assert_eq!(error_replacing("[4, 2, 8]", nct), format!("{expected}; found {nct}"));
    }
    assert_eq!(
        error_replacing("[4, 2, 8]", "[65536, 65536, 1]"),
        "expected at most 16777216 cores in all in nct of x.toml; found [65536, 65536, 1]"
    );
}

#[test]
fn unknown_and_missing_keys_are_named() {
    assert_eq!(
        network_error("latency = \"1 us\"\nbandwith = \"1 GB/s\""),
        "unknown field \"bandwith\" in inter_node.bandwith of x.toml, did you mean \"bandwidth\"?"
    );
    assert_eq!(error_replacing("name = \"tiny\"", ""), "missing field \"name\" in x.toml");
    assert_eq!(error_replacing("flops = \"10 Gflop/s\", ", ""), "missing field \"flops\" in core of x.toml");
    assert_eq!(error_with("[cmp]"), "missing field \"memory_bandwidth\" in cmp of x.toml");
    assert_eq!(
        error_with("[bigsim.intra_node]\nlatency = \"1 us\""),
        "missing field \"bandwidth\" in bigsim.intra_node of x.toml"
    );
    let error = Platform::load(document(MACHINE), &[]).unwrap_err().to_string();
    assert_eq!(error, "missing field \"inter_node\" in x.toml");
}

#[test]
fn caches_and_memory_of_copies() {
    let cmp = "[cmp]\nmemory_bandwidth = \"60 GB/s\"\n";
    let memory = |extra: &str| Platform::load(document(&format!("{MACHINE}{NETWORK}{extra}")), &[]).unwrap().memory;
    assert_eq!(memory(cmp), None);
    let stated = memory(&format!("{cmp}cache = \"40 MB\"\n")).unwrap();
    assert_eq!((stated.cache, stated.traffic), (Bytes::new(40_000_000), CopyTraffic::Two));
    assert_eq!((stated.cmp.map(Bandwidth::get), stated.node), (Some(60_000_000_000), None), "its memory's bandwidth");
    let node = "[node]\nmemory_bandwidth = \"90 GB/s\"\ncopy_bandwidth = \"80 GB/s\"";
    let keys = "cache = \"40 MB\"\ncopy_bandwidth = \"50 GB/s\"\ncopy_traffic = 3\n";
    let stated = memory(&format!("{cmp}{keys}{node}")).unwrap();
    assert_eq!([stated.cmp, stated.node].map(|rate| rate.unwrap().get()), [50_000_000_000, 80_000_000_000]);
    assert_eq!(stated.traffic, CopyTraffic::Three);

    let error = |extra: &str| error_with(&format!("{cmp}{extra}"));
    assert_eq!(
        error("copy_bandwidth = \"50 GB/s\""),
        "expected \"cache\" in [cmp] too, beyond which copies use memory, in cmp.copy_bandwidth of x.toml; \
         found 50.00 GB/s and no \"cache\""
    );
    assert_eq!(
        error_with(node),
        "expected \"cache\" in [cmp] too, beyond which copies use memory, in node.copy_bandwidth of x.toml; \
         found 80.00 GB/s and no \"cache\""
    );
    assert_eq!(
        error("cache = \"40 MB\"\ncopy_bandwidth = \"61 GB/s\""),
        "expected at most 60.00 GB/s, the memory_bandwidth there, in cmp.copy_bandwidth of x.toml; found 61.00 GB/s"
    );
    assert_eq!(
        error("cache = \"40 MB\"\ncopy_traffic = 1"),
        "expected 2 bytes moved for each one copied, or 3 with write-allocate, in cmp.copy_traffic of x.toml; found 1"
    );
    assert_eq!(error("cache = \"65 GiB\""), "expected at most 64 GiB of caches in cmp.cache of x.toml; found 65 GiB");
    let text = format!("{MACHINE}{NETWORK}{cmp}cache = \"40 MB\"");
    let text = text.replacen("latency = \"400 ns\"", "law = \"fair\", copies = \"both\", latency = \"400 ns\"", 1);
    assert_eq!(
        Platform::load(document(&text), &[]).unwrap_err().to_string(),
        "expected \"receiver\" or \"none\" beside \"cache\" in [cmp] in intra_cmp.copies of x.toml; \
         found copies by the sender"
    );
}

#[test]
fn rates_and_factors_of_a_core_must_be_above_zero() {
    assert_eq!(
        error_replacing("10 Gflop/s", "0 flop/s"),
        "expected a rate of at least 1/s such as \"8 Gflop/s\" in core.flops of x.toml; found \"0 flop/s\""
    );
    let core = |extra: &str| {
        error_replacing("memory_bandwidth = \"5 GB/s\"", &format!("memory_bandwidth = \"5 GB/s\", {extra}"))
    };
    assert_eq!(
        core("scale_factor = -0.5"),
        "expected a number above zero such as 1.5 in core.scale_factor of x.toml; found -0.5"
    );
    assert_eq!(
        core("poll = \"0 ns\""),
        "expected a time above zero such as \"100 ns\" in core.poll of x.toml; found 0"
    );
    assert_eq!(
        core("slowdown = [1.0, 0]"),
        "expected a number above zero such as 1.5 in core.slowdown[1] of x.toml; found 0"
    );
    assert_eq!(
        core("slowdown = []"),
        "expected a factor for 1, 2, … ranks a CMP such as [1.0, 1.1] in core.slowdown of x.toml; found []"
    );
}

#[test]
fn a_library_chooses_where_no_rule_does() {
    let text = format!(
        "{MACHINE}{NETWORK}{}",
        r#"
        [collectives]
        library = "openmpi-4.1"
        allreduce = { algorithm = "segmented_ring", above = "64 KiB", segment = "1 MiB" }
        bcast = [
            { algorithm = "knomial", fan = 8, up_to_bytes = "1 KiB" },
            { algorithm = "pipeline", segment = "16 KiB", above_ranks = 4 },
        ]
        "#
    );
    let rules = load_with(&text, &[]).unwrap().platform.collectives;
    assert_eq!(rules.library, Library::OpenMpi41);
    let allreduce = |size| rules.method(Collective::Allreduce, 4, Bytes::new(size));
    assert_eq!(allreduce(65_536), None);
    assert_eq!(allreduce(65_537), Some(Method::from(Algorithm::SegmentedRing).in_segments(1 << 20)));
    let bcast = |ranks, size| rules.method(Collective::Bcast, ranks, Bytes::new(size));
    assert_eq!(bcast(4, 1024), Some(Method::from(Algorithm::Knomial).by(8)));
    assert_eq!(bcast(4, 1025), None);
    assert_eq!(bcast(5, 1025), Some(Method::from(Algorithm::Pipeline).in_segments(16 << 10)));
    assert_eq!(rules.method(Collective::Gather, 4, Bytes::ZERO), None);
}

#[test]
fn unknown_libraries_and_what_no_rule_says_are_refused() {
    assert_eq!(
        error_with("[collectives]\nlibrary = \"lam\""),
        "expected one of \"mpich-3-flat\", \"openmpi-4.0\", \"openmpi-4.1\", \"openmpi-5.0\", \"mpich-4\" in \
         collectives.library of x.toml; found \"lam\""
    );
    assert_eq!(
        error_with("[collectives]\nbcast = { algorithm = \"pipeline\", segment = \"4 GiB\" }"),
        "expected a segment of less than 4 GiB such as \"64 KiB\" in collectives.bcast.segment of x.toml; found 4 GiB"
    );
    let error = error_with("[collectives]\nbcast = { algorithm = \"pipeline\", below = 8 }");
    assert!(error.contains("below") && error.contains("collectives.bcast"), "{error}");
    let error = error_with("[collectives]\nbcast = \"pipeline\"");
    assert!(error.contains("collectives.bcast"), "{error}");
}

#[test]
fn unknown_collectives_and_algorithms_are_refused() {
    let error = error_with("[[collectives.bcast]]\nalgorithm = \"magic\"");
    assert!(error.starts_with("expected one of \"linear\", \"linear_sync\", "), "{error}");
    assert!(error.ends_with(" in collectives.bcast[0].algorithm of x.toml; found \"magic\""), "{error}");
    let error = error_with("[[collectives.broadcast]]\nalgorithm = \"linear\"");
    assert!(error.starts_with("expected one of \"barrier\", \"bcast\", "), "{error}");
    assert!(error.ends_with(" in collectives.broadcast of x.toml; found \"broadcast\""), "{error}");
}

#[test]
fn a_wrong_override_is_quoted_as_it_was_given() {
    let error = |over: &str| load_with(&format!("{MACHINE}{NETWORK}"), &[over]).unwrap_err();
    assert_eq!(
        error("platform.inter_node.latency=7"),
        "expected a time such as \"1.2 us\" in --set platform.inter_node.latency=7; found 7"
    );
    assert_eq!(
        error("platform.inter_node.latency.x=7"),
        "--set platform.inter_node.latency.x=7: \"inter_node.latency\" of x.toml is no table of keys"
    );
    assert_eq!(
        error("platform.internode.latency=2us"),
        "unknown field \"internode\" in --set platform.internode.latency=2us, did you mean \"inter_node\"?"
    );
    assert!(error("platform.colour=red").starts_with("unknown field \"colour\", expected one of \"name\", "));
    assert_eq!(
        error("platform.nct=4,2"),
        "expected three whole numbers above zero such as [4, 2, 2] in --set platform.nct=4,2; found \"4,2\""
    );
}

proptest! {
    #[test]
    fn no_value_makes_reading_panic(key in "(law|latency|bandwidth|loads|interval|handshake|gap|latency_factor)", value in any::<i64>(), form in 0u8..5) {
        let value = match form {
            0 => format!("{value}"),
            1 => format!("\"{value} us\""),
            2 => format!("\"{value} GB/s\""),
            3 => format!("[{value}, {value}]"),
            _ => format!("[{{ up_to = {value}, latency = \"{value} us\" }}, {{}}]"),
        };
        let _ = load_with(&format!("{MACHINE}{NETWORK}"), &[&format!("platform.inter_node.{key}={value}")]);
    }
}

mod occupancy {
    use super::*;
    use crate::platform::{Copies, Occupancy, Rails, Tolerance};
    use crate::units::Bandwidth;

    fn rate(gigabytes: f64) -> Option<Bandwidth> {
        Bandwidth::new((gigabytes * 1e9) as u64)
    }

    #[test]
    fn without_keys_an_adapter_carries_the_greatest_bandwidth_and_the_receiver_copies_within_a_node() {
        let platform = network("law = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"").unwrap();
        let node = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
        assert_eq!(*platform.link(Level::IntraCmp).occupancy(), node);
        assert_eq!(*platform.link(Level::InterCmp).occupancy(), node);
        let network = Occupancy { capacity: rate(1.0), ..Occupancy::default() };
        assert_eq!(*platform.link(Level::InterNode).occupancy(), network);
        assert_eq!(platform.link(Level::InterNode).rows()[0].copy_bandwidth, None);
    }

    #[test]
    fn what_is_stated_holds_and_bandwidth_factor_scales_it() {
        let text = "law = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\ncopies = \"both\"\ncapacity = \"2 GB/s\"\n\
                    duplex = \"3 GB/s\"\npair_duplex = \"2 GB/s\"\nrails = { count = 2, cmp = [0, 1] }\nslot = \"100 ns\"\ntolerance = 0.01\n\
                    copy_bandwidth = \"4 GB/s\"\nbandwidth_factor = 0.5\n";
        let platform = network(text).unwrap();
        let link = platform.link(Level::InterNode);
        let expected = Occupancy {
            copies: Copies::Both,
            capacity: rate(1.0),
            duplex: rate(1.5),
            pair_duplex: rate(1.0),
            rails: Rails { count: 2, of_cmp: vec![0, 1] },
            slot: Some(SimSpan::from_ns(100)),
            tolerance: Tolerance::new(0.01).unwrap(),
        };
        assert_eq!(*link.occupancy(), expected);
        assert_eq!(link.rows()[0].copy_bandwidth, rate(2.0));
        assert_eq!(link.rows()[0].copy(Bytes::new(1000)), SimSpan::from_ns(500));
    }

    #[test]
    fn contradictions_are_refused() {
        let fair = "law = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n";
        for (keys, error) in [
            (
                "capacity = \"0.5 GB/s\"",
                "expected at least 1.000 GB/s, the level's greatest bandwidth, in inter_node.capacity of x.toml; \
                 found 500.0 MB/s",
            ),
            (
                "duplex = \"0.9 GB/s\"",
                "expected at least 1.000 GB/s, the capacity of one direction, in inter_node.duplex of x.toml; \
                 found 900.0 MB/s",
            ),
            (
                "pair_duplex = \"0.9 GB/s\"",
                "expected at least 1.000 GB/s, the capacity of one direction, in inter_node.pair_duplex of x.toml; \
                 found 900.0 MB/s",
            ),
            ("rails = { count = 0 }", "expected 1 to 64 adapters in inter_node.rails.count of x.toml; found 0"),
            (
                "rails = { count = 2, cmp = [0] }",
                "expected an adapter for each of the node's 2 CMPs in inter_node.rails.cmp of x.toml; found [0]",
            ),
            (
                "slot = \"1.5 us\"",
                "expected at most 1.000 us, half the least latency between nodes, in inter_node.slot of x.toml; \
                 found 1.500 us",
            ),
            ("tolerance = 0.5", "expected a part from 0.001 to 0.1 in inter_node.tolerance of x.toml; found 0.5"),
            (
                "rails = { count = 2, cmp = [0, 2] }",
                "expected adapters from 0 to 1 in inter_node.rails.cmp of x.toml; found 2",
            ),
        ] {
            assert_eq!(network_error(&format!("{fair}{keys}")), error);
        }
    }

    #[test]
    fn levels_within_a_node_have_no_adapters() {
        let near =
            |level: &str, key: &str| error_replacing(&format!("{level} = {{ "), &format!("{level} = {{ {key}, "));
        let expected = "expected no \"duplex\", which only inter_node has, in inter_cmp.duplex of \
                        x.toml; found 1.000 GB/s";
        assert_eq!(near("inter_cmp", "duplex = \"1 GB/s\""), expected);
        let expected = "expected no \"rails\", which only inter_node has, in intra_cmp.rails of \
                        x.toml; found 2";
        assert_eq!(near("intra_cmp", "rails = { count = 2 }"), expected);
        let expected = "expected no \"capacity\", which only inter_node has, in intra_cmp.capacity of x.toml; found \
                        9.000 GB/s";
        assert_eq!(near("intra_cmp", "capacity = \"9 GB/s\""), expected);
    }
}

mod conditions {
    use crate::platform::{NoiseLaw, ProgressEngine, Spread};

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
        let link = with("connect = \"40 us\"\ncredits = 8\nunexpected_copy = \"2 GB/s\"").links[2].clone();
        assert_eq!((link.protocol().connect, link.protocol().credits), (SimSpan::from_us(40), Some(8)));
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
        let error = |text: &str| progress(text).unwrap_err().to_string();
        let expected = "expected one of \"hardware\", \"call\", \"thread\" in progress of x.toml; found \"calls\"";
        assert_eq!(error("\"calls\""), expected);
        let expected = "expected a part of a core from 0 to below 1 in progress_share of x.toml; found 1";
        assert_eq!(error("\"thread\"\nprogress_share = 1.0"), expected);
    }

    #[test]
    fn noise_is_of_the_system_the_network_and_of_nodes() {
        let noise = with(
            "[noise]\nsystem = { period = \"1 ms\", length = \"10 us\" }\nnetwork = { part = 0.1 }\n\
             nodes = { deviation = 0.02, law = \"lognormal\" }",
        )
        .conditions
        .noise;
        assert_eq!(noise.system.unwrap().spread, Spread { law: NoiseLaw::Normal, deviation: 0.0 });
        assert_eq!(noise.network.unwrap().spread, Spread { law: NoiseLaw::Lognormal, deviation: 1.0 });
        assert_eq!(noise.nodes, Some(Spread { law: NoiseLaw::Lognormal, deviation: 0.02 }));
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
        assert_eq!((nodes.memory(1), nodes.adapter(2), nodes.rate(7)), (2.0, 0.9, 1.0));
        assert_eq!((nodes.slowdown(0), nodes.slowdown(3)), (None, Some(&[1.0, 1.2][..])));
        for (text, error) in [
            ("rate = [1.0, 2.0]", "expected a factor for each of 4 nodes in nodes[0].rate of x.toml; found 2"),
            ("only = [4]\nrate = 2.0", "expected nodes from 0 to 3 in nodes[0].only of x.toml; found 4"),
            (
                "slowdown = []",
                "expected a factor for 1, 2, … ranks a CMP such as [1.0, 1.1] in nodes[0].slowdown of x.toml; found []",
            ),
            ("rate = \"none.txt\"", "none.txt: no such file"),
        ] {
            assert_eq!(error_with(&format!("[[nodes]]\n{text}")), error);
        }
        let fair = "law = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n[[nodes]]\nadapter = 0.5";
        let expected = "expected no \"adapter\", which the law \"fair\" does not model yet, in nodes[0].adapter of x.toml; found one";
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
            loaded.map(|platform| platform.conditions.nodes.rate).map_err(|error| error.to_string())
        };
        assert_eq!(load("1\n0.9 # slow\n1\n1.05\n").unwrap(), [1.0, 0.9, 1.0, 1.05]);
        let name = directory.path().join("rates.txt").display().to_string();
        assert_eq!(
            load("1\n1\n").unwrap_err(),
            format!("{name}: expected a factor for each of 4 nodes, one a line; found 2")
        );
        assert_eq!(
            load("1\n-1\n").unwrap_err(),
            format!("{name}:2: expected a number above zero such as 0.95; found \"-1\"")
        );
    }
}
