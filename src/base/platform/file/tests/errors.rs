//! Tests of the texts of all errors in platform files.

use proptest::prelude::*;

use super::*;

#[test]
fn missing_costs_are_named_with_an_example() {
    let time = "a time such as \"1.2 us\"; found none";
    let bandwidth = "a bandwidth above zero such as \"12.5 GB/s\" or \"100 Gbit/s\"; found none";
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
        network_error("contention = \"measured\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\""),
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
    let bandwidth =
        "expected a bandwidth above zero such as \"12.5 GB/s\" or \"100 Gbit/s\" in inter_node.bandwidth of x.toml";
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
        one("contention", "\"even\""),
        "expected one of \"ideal\", \"share\", \"queue\", \"measured\", \"fair\" in inter_node.contention of x.toml; found \"even\""
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
        network_error(&format!(
            "contention = \"measured\"\nbandwidth = \"1 GB/s\"\nloads = {loads}\nlatency = {latency}"
        ))
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
        error_with("[two_level.intra_node]\nlatency = \"1 us\""),
        "missing field \"bandwidth\" in two_level.intra_node of x.toml"
    );
    let error = said(&Platform::load(document(MACHINE), &[]).unwrap_err());
    assert_eq!(error, "missing field \"inter_node\" in x.toml");
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
        "expected \"auto\" or a number above zero such as 1.5 in core.scale_factor of x.toml; found -0.5"
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
        "expected a factor for 1, 2, … ranks per CMP such as [1.0, 1.1] in core.slowdown of x.toml; found []"
    );
    for count in [0, 65] {
        assert_eq!(
            core(&format!("threads = {count}, sibling_slowdown = 1.5")),
            format!("expected from 1 to 64 hardware threads per core in core.threads of x.toml; found {count}")
        );
    }
    assert_eq!(
        core("threads = 2"),
        "expected also \"sibling_slowdown\" such as 1.6, the slowdown of a thread with a busy sibling, in \
         core.threads of x.toml; found 2 and no \"sibling_slowdown\""
    );
    assert_eq!(
        core("sibling_slowdown = 1.5"),
        "expected \"threads\" above 1 in [core] in core.sibling_slowdown of x.toml; found [1.5]"
    );
    for (stated, found) in
        [("0.9", "[0.9]"), ("[]", "[]"), ("[2.0, 1.5]", "[2, 1.5]"), ("[1, 2, 3, 4]", "[1, 2, 3, 4]")]
    {
        assert_eq!(
            core(&format!("threads = 4, sibling_slowdown = {stated}")),
            format!(
                "expected a factor of at least 1, or a non-decreasing list for 1 to 3 busy siblings, such as 1.6, in \
                 core.sibling_slowdown of x.toml; found {found}"
            )
        );
    }
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
    fn no_value_makes_reading_panic(key in "(contention|latency|bandwidth|loads|interval|handshake|gap|latency_factor)", value in any::<i64>(), form in 0u8..5) {
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
