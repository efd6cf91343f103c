//! Comparison of predictions with those stored in `tests/golden.txt`.

use std::fmt::Write;

use super::{CASES, messages, number, outcome, root};

/// Machines; the workloads use all levels of each machine.
const MACHINES: [(&str, &str); 2] = [("default", "--nct 4,2,2"), ("lcc2", "--platform configs/lcc2.toml --nct 2,2,2")];

/// Contention models: that of the machine's file, which is `fair`, and one that judges loads only once.
const LAWS: [(&str, &str); 2] = [("fair", ""), ("share", SHARE)];

/// Settings of a contention model that judges the load of a resource only once per message.
pub const SHARE: &str = " --set platform.intra_cmp.contention=ideal --set platform.inter_cmp.contention=ideal --set platform.inter_node.contention=share";

const HEAD: &str = "\
# What mcpsim predicts for each workload with its own parameters, on two machines: --nct 4,2,2 of the default platform,
# and --platform configs/lcc2.toml --nct 2,2,2. Each as it comes, under fair shares, and with its laws set to ideal within
# a node and share between nodes. A line that changes is a changed prediction: say in CHANGELOG why.
# Written by: MCPSIM_UPDATE_GOLDEN=1 cargo test --test workloads golden
#
# predicted_ps  messages  bytes  machine  law  workload
";

#[test]
fn predictions_are_the_golden_ones() {
    let mut text = HEAD.to_owned();
    let machines = MACHINES.iter().flat_map(|machine| LAWS.iter().map(move |law| (machine, law)));
    for ((machine, options), (law, set)) in machines {
        let options = format!("{options}{set}");
        for case in CASES {
            // Forms that require other numbers of ranks than these machines have belong to other tests.
            if case.form.contains("run.ranks") || case.form.contains("app.b=12") {
                continue;
            }
            let outcome = outcome(case.workload, case.form, &options);
            let (count, bytes) = messages(&outcome);
            let form = format!("{} {}", case.workload, case.form);
            let predicted = number(&outcome["predicted_ps"]);
            writeln!(text, "{predicted:>14} {count:>9} {bytes:>11}  {machine:<7}  {law:<5}  {}", form.trim_end())
                .unwrap();
        }
    }
    let path = root().join("tests/golden.txt");
    if std::env::var_os("MCPSIM_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<String> = golden
        .lines()
        .zip(text.lines())
        .filter(|(before, now)| before != now)
        .map(|(before, now)| format!("- {before}\n+ {now}"))
        .collect();
    assert!(changed.is_empty() && golden.lines().count() == text.lines().count(), "{HEAD}{}", changed.join("\n"));
}
