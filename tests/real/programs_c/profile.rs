//! Compares the message sizes of HPL with published values.

use serde_json::Value;

use super::real;

/// Returns the fraction of messages in the size interval above `low`, and the fraction of bytes in the size interval
/// above `high`.
fn shares(outcome: &Value, low: u64, high: u64) -> [f64; 2] {
    let share = |above: u64, key: &str| {
        let rows = outcome["profile"].as_array().unwrap();
        let row = rows.iter().find(|row| row["above"] == above).unwrap();
        let levels = ["intra_cmp", "inter_cmp", "inter_node"].map(|level| row[level][key].as_u64().unwrap());
        levels.iter().sum::<u64>() as f64 / outcome["messages"][key].as_u64().unwrap() as f64
    };
    [share(low, "count"), share(high, "bytes")]
}

#[test]
fn most_messages_of_hpl_are_small_and_most_bytes_are_in_large_ones_as_the_paper_found() {
    // Values of the paper for N = 4096 and NB = 64 on the machine (4,2,2): most messages have 256 B to 4 KB, and most
    // of the volume is in messages of 16 KB to 256 KB.
    let ran = real::simulate(
        "--quiet --compute skip --nct 4,2,2 --intervals 256,4KiB,16KiB,256KiB --json - \
         --set app.program.arguments=[\"4096\",\"64\"] workloads/hpl-c.toml",
    );
    let told = real::told("hpl", &ran);
    // mcpsim writes its results to stdout, so the output of the program is on stderr.
    assert!(ran.code == Some(0) && ran.stderr.ends_with("verified: ok\n"), "{told}");
    let [messages, bytes] = shares(&serde_json::from_str(&ran.stdout).unwrap(), 256, 16 << 10);
    println!(
        "above 256 B up to 4 KiB: {messages:.3} of the messages; above 16 KiB up to 256 KiB: {bytes:.3} of the bytes"
    );
    assert!(messages > 0.5 && bytes > 0.5, "{messages} {bytes}");
}
