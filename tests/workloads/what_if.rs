//! First-order savings in an Outcome compared with runs on the changed machine. The changes are so small that the
//! critical path remains the same.

use serde_json::Value;

use super::{CASES, number, outcome};

const OPTIONS: &str = "--nct 4,2,2 --workers 1";

/// For each workload, compares the saving by a change of one fiftieth according to the Outcome with that of a run. Both
/// savings differ by at most 2 % of the predicted time, mostly by less than 0.1 %, and savings above noise mostly have
/// the same sign. Exceptions are unavoidable: if transfers share ports, any change alters their order, which changes
/// the time by more than the change itself. A full change, to a half or to the double, saves `whole` times as much.
/// Managers of code fragments decide by time, so their order differs on any other machine.
fn agrees(change: &str, factor: &str, whole: f64) {
    let (mut answers, mut near, mut above_noise, mut same_sign) = (0, 0, 0, 0);
    for case in CASES.into_iter().filter(|case| !case.of_fragments()) {
        let sets = format!("{} {}", case.form, case.small);
        let before = outcome(case.workload, &sets, OPTIONS);
        let predicted = number(&before["predicted_ps"]) as f64;
        let what_if = before["what_if"].as_array().unwrap();
        for what in what_if.iter().filter(|what| what["change"] == change) {
            let level = what["level"].as_str().unwrap();
            let expected = number(&what["saved_ps"]) as f64 / whole;
            let after = outcome(case.workload, &format!("{sets} platform.{level}.{factor}"), OPTIONS);
            let saved = predicted - number(&after["predicted_ps"]) as f64;
            let apart = (saved - expected).abs() / predicted;
            assert!(
                apart <= 0.02,
                "{} {sets}: {level}.{factor} saves {saved} ps of {predicted}, not {expected}",
                case.workload
            );
            answers += 1;
            near += u32::from(apart <= 0.001);
            if expected > predicted * 1e-4 {
                above_noise += 1;
                same_sign += u32::from(saved > 0.0);
            }
        }
    }
    assert!(answers > CASES.len() && f64::from(near) >= 0.8 * answers as f64, "{near} of {answers} answers are near");
    let signs = format!("{same_sign} of {above_noise} answers have the right sign");
    assert!(above_noise > 10 && f64::from(same_sign) >= 0.8 * above_noise as f64, "{signs}");
}

#[test]
fn two_hundredths_less_latency_saves_what_the_path_says() {
    agrees("latency_halved", "latency_factor=0.98", 0.5 / 0.02);
}

#[test]
fn two_hundredths_more_bandwidth_saves_what_the_path_says() {
    agrees("bandwidth_doubled", "bandwidth_factor=1.02", 0.5 / (1.0 - 1.0 / 1.02));
}

/// Returns, for each workload, the saving of a run without the contention of a level, the saving in the Outcome, and
/// the predicted time.
fn without_contention(options: &str, mut check: impl FnMut(&str, [u64; 3])) {
    let mut answers = 0;
    for case in CASES.into_iter().filter(|case| !case.of_fragments()) {
        let sets = format!("{} {}", case.form, case.small);
        let before = outcome(case.workload, &sets, options);
        let what_if = before["what_if"].as_array().unwrap();
        for what in what_if.iter().filter(|what| what["change"] == "contention_gone") {
            let level = what["level"].as_str().unwrap();
            let after = outcome(case.workload, &format!("{sets} platform.{level}.contention=ideal"), options);
            let [predicted, without] = [&before, &after].map(|outcome| number(&outcome["predicted_ps"]));
            check(
                &format!("{} {sets} {level}", case.workload),
                [predicted, predicted - without, number(&what["saved_ps"])],
            );
            answers += 1;
        }
    }
    assert!(answers > 10);
}

/// If loads are judged only once, removing contention shortens all paths, but no path by more than the longest. The
/// saving in the Outcome is therefore an upper bound. An exception is a receiver of many messages, which starts with
/// the earliest message: without contention, another message may be the earliest. In the gather of `heat3d`, a message of
/// 117 bytes replaces one of 156 bytes, and the run saves 46 ns of 181 us more. A thousandth of the run is tolerated. The
/// run saves at least four fifths of the bound.
#[test]
fn no_more_is_saved_without_contention_than_the_path_says() {
    let options = format!("{OPTIONS}{}", super::golden::SHARE);
    without_contention(&options, |what, [predicted, saved, most]| {
        assert!(saved <= most + predicted / 1000 && saved * 5 >= most * 4, "{what}: {saved} ps, not {most}");
    });
}

/// In the `fair` contention model a core copies the messages of both levels in its node, one at a time. Without the
/// contention of one level, that of the other level may increase by as much.
#[test]
fn no_more_is_saved_without_fair_shares_than_the_path_says() {
    without_contention(OPTIONS, |what, [predicted, saved, most]| {
        assert!(saved <= most + predicted / 100, "{what}: {saved} ps of {predicted}, not {most}");
    });
}

/// Compares every exact answer that a setting of the platform can state with a run on that machine.
#[test]
fn exact_answers_are_the_times_of_runs_on_the_changed_machine() {
    let mut answers = 0;
    for case in CASES.into_iter().filter(|case| !case.of_fragments()) {
        let sets = format!("{} {}", case.form, case.small);
        let before = outcome(case.workload, &sets, &format!("{OPTIONS} --what-if exact"));
        for what in before["what_if"].as_array().unwrap() {
            let key = match what["change"].as_str().unwrap() {
                "latency_halved" => "latency_factor=0.5",
                "bandwidth_doubled" => "bandwidth_factor=2",
                "contention_gone" => "contention=ideal",
                _ => continue,
            };
            let key = format!("platform.{}.{key}", what["level"].as_str().unwrap());
            let after = outcome(case.workload, &format!("{sets} {key}"), OPTIONS);
            assert_eq!(what["exact_ps"], after["predicted_ps"], "{} {sets} {key}", case.workload);
            answers += 1;
        }
    }
    assert!(answers > CASES.len(), "{answers}");
}

/// Returns the `what_if` row of computing in an Outcome.
fn memory_row(outcome: &Value) -> [u64; 2] {
    let what_if = outcome["what_if"].as_array().unwrap();
    let row = what_if.iter().find(|what| what["change"] == "computing_memory_doubled").unwrap();
    [number(&row["saved_ps"]), number(&row["exact_ps"])]
}

/// On a node with less memory bandwidth than its cores use, the report names memory as the limit, and twice the bandwidth
/// saves half of the time.
#[test]
fn a_report_names_memory_as_the_limit() {
    let machine = "platform.core.memory_bandwidth=20GB/s platform.cmp.memory_bandwidth=20GB/s \
                   platform.cmp.memory_sharing=fair app.n=512";
    let options = "--nct 1,2,8 --workers 1 --what-if exact";
    let before = outcome("jacobi3d", machine, options);
    let [predicted, compute, memory] =
        [&before["predicted_ps"], &before["mean_parts"]["compute_ps"], &before["mean_parts"]["memory_ps"]].map(number);
    assert!(memory * 100 > compute * 85 && memory < compute, "{memory} of {compute}");
    let [saved, exact] = memory_row(&before);
    assert!(saved * 100 > predicted * 48 && saved * 2 <= predicted, "{saved} of {predicted}");
    assert!((predicted - exact).abs_diff(saved) * 100 < predicted, "{exact} of {predicted}, not {saved}");
    let twice = machine.replace("cmp.memory_bandwidth=20", "cmp.memory_bandwidth=40");
    assert_eq!(number(&outcome("jacobi3d", &twice, "--nct 1,2,8 --workers 1")["predicted_ps"]), exact);
    let sets: String = machine.split_whitespace().map(|set| format!(" --set {set}")).collect();
    let text = crate::support::run(super::root(), &format!("workloads/jacobi3d.toml {options}{sets}")).stdout;
    for part in
        ["  for memory ", "; memory is the limit\n", "  waiting for memory ", "computing, memory bandwidth doubled "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_ping_pong_saves_exactly_what_the_path_says() {
    let run = |set: &str| outcome("pingpong", &format!("app.bytes=100000 {set}"), "--nct 2,1,1");
    let before = run("");
    let saved = |change: &str| {
        let is = |what: &&Value| what["level"] == "inter_node" && what["change"] == change;
        number(&before["what_if"].as_array().unwrap().iter().find(is).unwrap()["saved_ps"])
    };
    for (change, set) in [
        ("latency_halved", "platform.inter_node.latency_factor=0.5"),
        ("bandwidth_doubled", "platform.inter_node.bandwidth_factor=2"),
    ] {
        let really = number(&before["predicted_ps"]) - number(&run(set)["predicted_ps"]);
        // The transfer time of each message's bytes is rounded to a picosecond.
        let rounding = number(&before["messages"]["count"]);
        assert!(really.abs_diff(saved(change)) <= rounding, "{change}: {really} ps, not {}", saved(change));
    }
}

/// A control message resumes the sender, and the bytes arrive before this message, so no bandwidth shortens the path.
#[test]
fn a_sender_that_waits_for_the_end_of_a_short_transfer_saves_exactly_what_the_path_says() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let app = r#"main = [{ repeat = 100, do = [{ if = "rank == 0",
        then = [{ send = { to = 1, bytes = "bytes", mode = "synchronous" } }, { compute = "1 us" }],
        else = [{ recv = { from = 0 } }] }] }]
        params = { bytes = 1000 }"#;
    std::fs::write(directory.path().join("app.toml"), app).unwrap();
    let level = "latency = \"2 us\"\nbandwidth = \"1 GB/s\"\nlaw = \"ideal\"";
    let levels = ["intra_cmp", "inter_cmp", "inter_node"].map(|name| format!("[{name}]\n{level}\n")).concat();
    let core = "[core]\nflops = \"1 Gflop/s\"\ninstructions = \"1 Ginstr/s\"\nmemory_bandwidth = \"10 GB/s\"";
    std::fs::write(directory.path().join("m.toml"), format!("name = \"m\"\nnct = [2, 1, 1]\n{core}\n{levels}"))
        .unwrap();
    let run = |sets: &str| -> Value {
        let sets: String = sets.split_whitespace().map(|set| format!(" --set {set}")).collect();
        let line = format!("--quiet --json - --platform m.toml{sets} app.toml");
        let ran = crate::support::run(directory.path(), &line);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    // The bytes take 1 us or 20 us, and the handshake takes more or less time than the bytes.
    for (bytes, handshake) in [(1000, "10us"), (20_000, "10us"), (1000, "500ns")] {
        let sets = format!("app.bytes={bytes} platform.inter_node.handshake={handshake}");
        let before = run(&sets);
        let saved = |change: &str| {
            let what_if = before["what_if"].as_array().unwrap();
            let is = |what: &&Value| what["level"] == "inter_node" && what["change"] == change;
            what_if.iter().find(is).map_or(0, |what| number(&what["saved_ps"]))
        };
        for (change, key) in [("latency_halved", "latency_factor=0.5"), ("bandwidth_doubled", "bandwidth_factor=2")] {
            let after = run(&format!("{sets} platform.inter_node.{key}"));
            let really = number(&before["predicted_ps"]) - number(&after["predicted_ps"]);
            assert_eq!(really, saved(change), "{change}, {bytes} bytes, a handshake of {handshake}");
        }
    }
}

/// Send overheads are the part of the path that remains after all other parts, so without overheads this part must be
/// zero.
#[test]
fn nothing_is_taken_for_a_send_overhead_that_is_none() {
    let none: String =
        ["intra_cmp", "inter_cmp", "inter_node"].map(|level| format!(" platform.{level}.send_overhead=0s")).concat();
    for case in CASES.into_iter().filter(|case| !case.of_fragments()) {
        let found = outcome(case.workload, &format!("{} {}{none}", case.form, case.small), "--nct 4,2,2");
        assert_eq!(found["path"]["send_ps"], 0, "{} {}: {}", case.workload, case.form, found["path"]);
    }
}
