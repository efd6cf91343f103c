//! Messages that ranks send in a collective: the messages that mcpsim predicts, and the messages that Open MPI's
//! component `pml_monitoring` counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::support;

/// Number of messages and bytes, by sender and receiver.
pub type Sends = BTreeMap<(u64, u64), (u64, u64)>;

/// Returns the messages of simulated ranks on a machine of shape `shape` with the MPI library `library`, and the
/// selected algorithm of the collective.
pub fn predicted(directory: &Path, shape: &str, library: &str, what: &str, bytes: u32) -> (Sends, String) {
    let argument = if what.ends_with("barrier") { String::new() } else { format!("bytes = {bytes}") };
    let wait = if what.starts_with('i') { ", \"waitall\"" } else { "" };
    fs::write(directory.join("one.toml"), format!("main = [{{ {what} = {{ {argument} }} }}{wait}]\n")).unwrap();
    let options = format!("--quiet --pairs --json - --set platform.collectives.library={library}");
    let ran = support::run(directory, &format!("one.toml --nct {shape} {options}"));
    let outcome: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    (of_outcome(&ran.stdout), outcome["collectives"][0]["algorithm"].to_string())
}

/// Returns the messages of the ranks in the JSON output `json` of a run.
pub fn of_outcome(json: &str) -> Sends {
    let outcome: serde_json::Value = serde_json::from_str(json).expect("an outcome");
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let pairs = outcome["pairs"].as_array().unwrap().iter();
    pairs
        .map(|pair| ((number(&pair["from"]), number(&pair["to"])), (number(&pair["count"]), number(&pair["bytes"]))))
        .collect()
}

/// Returns the messages that Open MPI's ranks have written to `directory` with the options of [`monitoring`].
pub fn monitored(directory: &Path, ranks: u32) -> Result<Sends, String> {
    let mut sends = Sends::new();
    let mut files = 0;
    for entry in fs::read_dir(directory).map_err(|error| error.to_string())?.flatten() {
        files += 1;
        // A line of the monitoring file has the form: I sender receiver "100 bytes" "1 msgs sent" …
        for line in fs::read_to_string(entry.path()).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["I", from, to, bytes, "bytes", count, ..] = words[..] {
                let number = |word: &str| word.parse::<u64>().map_err(|error| format!("{line}: {error}"));
                sends.insert((number(from)?, number(to)?), (number(count)?, number(bytes)?));
            }
        }
    }
    if files == ranks { Ok(sends) } else { Err(format!("{files} files of {ranks} ranks")) }
}

/// Returns the launcher options of Open MPI with which each rank writes its messages to a file in `directory`.
pub fn monitoring(directory: &Path) -> String {
    format!(
        "--mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename {}",
        directory.join("sent").display()
    )
}

/// Returns the messages of one collective call: half of the difference between a run of three calls and a run of one
/// call, because the first call may send additional messages. An odd or negative difference of the message counts is an
/// error.
pub fn one_more<K: Ord + Copy>(
    one: &BTreeMap<K, (u64, u64)>,
    three: BTreeMap<K, (u64, u64)>,
) -> Result<BTreeMap<K, (u64, u64)>, String> {
    let mut sends = BTreeMap::new();
    for (key, (messages, bytes)) in three {
        let (first, its_bytes) = one.get(&key).copied().unwrap_or_default();
        let half = |all: u64, part: u64| all.checked_sub(part).filter(|more| more % 2 == 0).map(|more| more / 2);
        let Some((messages, bytes)) = half(messages, first).zip(half(bytes, its_bytes)) else {
            return Err(format!("{messages} messages in three calls, {first} in one"));
        };
        if messages > 0 {
            sends.insert(key, (messages, bytes));
        }
    }
    Ok(sends)
}
