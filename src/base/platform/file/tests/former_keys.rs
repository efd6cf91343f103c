//! Tests of former names of keys in platform files.

use super::*;

const FORMER: &str =
    "law = \"fair\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\nconnect = \"40 us\"\nunexpected_copy = \"2 GB/s\"";

#[test]
fn former_names_mean_the_same_in_files_and_in_overrides() {
    let present = FORMER.replace("law", "contention").replace("connect ", "connection_time ");
    let present = present.replace("unexpected_copy", "unexpected_copy_bandwidth");
    assert_eq!(network(FORMER), network(&present));
    assert_eq!(network(FORMER).unwrap().link(Level::InterNode).contention(), Contention::Fair);
    let more = "[cmp]\nmemory_bandwidth = \"9 GB/s\"\nmemory = \"fair\"\n\
                [noise]\nsystem = { period = \"1 ms\", length = \"1 us\", deviation = 0.1, law = \"normal\" }\n";
    let text = format!("{MACHINE}{NETWORK}{more}");
    let renamed = text.replace("memory = ", "memory_sharing = ").replace("law", "distribution");
    assert_eq!(load_with(&text, &[]).unwrap(), load_with(&renamed, &[]).unwrap());
    let former = format!("{text}[bigsim.intra_node]\nlatency = \"1 us\"\nbandwidth = \"5 GB/s\"\n");
    assert_eq!(load_with(&former, &[]).unwrap(), load_with(&former.replace("bigsim", "two_level"), &[]).unwrap());
    let stated = |key: &str| format!("platform.{key}.intra_node={{latency = \"1 us\", bandwidth = \"5 GB/s\"}}");
    assert_eq!(load_with(&text, &[&stated("bigsim")]).unwrap(), load_with(&text, &[&stated("two_level")]).unwrap());
    let share = ["platform.inter_node.law=share", "platform.cmp.memory=placed"];
    let present = ["platform.inter_node.contention=share", "platform.cmp.memory_sharing=placed"];
    assert_eq!(load_with(&text, &share).unwrap(), load_with(&renamed, &present).unwrap());
}

#[test]
fn both_names_of_a_key_are_refused() {
    let error = network_error(&format!("{FORMER}\ncontention = \"share\""));
    assert_eq!(
        error,
        "expected one of \"contention\" and \"law\", its former name, in inter_node of x.toml; found both"
    );
    let error = network_error(&format!("{FORMER}\n[bigsim]\n[two_level]"));
    assert_eq!(
        error,
        "expected one of \"two_level\" and \"bigsim\", its former name, in two_level of x.toml; found both"
    );
}

#[test]
fn an_error_at_a_former_name_states_that_name_and_its_line() {
    for (value, wrong, place) in
        [("\"40 us\"", "7", "connect of x.toml:11"), ("\"fair\"", "\"fare\"", "law of x.toml:8")]
    {
        let text = format!("{MACHINE}[inter_node]\n{}", FORMER.replace(value, wrong));
        let error = Platform::load(document(&text), &[]).unwrap_err().to_string();
        assert!(error.ends_with(&format!(" in inter_node.{place}; found {wrong}")), "{error}");
    }
}
