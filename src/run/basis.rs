//! Basis of a prediction: origins of the parameters on the critical path, and errors of similar validated predictions.

use std::collections::BTreeMap;

use toml::Value;

use crate::engine::Outcome;
use crate::platform::{Level, ParameterOrigin, PlatformSource, ScaleFactor};
use crate::process::ComputeMode;
use crate::profile::{Basis, BasisShares, DominantPart, LikelyTimes};
use crate::units::SimSpan;

use super::application::Application;
use super::resolved::Resolved;
use super::values::Model;

/// Ranges of measured / predicted time by dominant part, computed from the validation cases.
const LIKELY: &str = include_str!("likely.csv");

/// Keys of the rates of described work.
const RATES: [(&str, &str); 3] =
    [("flops", "core.flops"), ("instructions", "core.instructions"), ("bytes", "core.memory_bandwidth")];

/// Parameters that determine a part of the path.
enum Rests {
    /// Times that the application states.
    Application,
    /// Keys of the platform file.
    Keys(Vec<String>),
}

/// Returns the basis of the prediction `outcome` of `run`; `None` for other models and for several jobs.
pub(super) fn basis(run: &Resolved, outcome: &Outcome) -> Option<Basis> {
    if run.settings.model != Model::Mcpsim || matches!(run.application, Application::Jobs(_)) {
        return None;
    }
    let dominant = DominantPart::of(&outcome.path);
    // The validation cases calibrate computing on the target machine. Real code is timed on the host.
    let is_timed_here = run.application.program().is_some() && dominant == Some(DominantPart::Computing);
    let likely = dominant.filter(|_| !is_timed_here).and_then(|part| likely(part, outcome.predicted_s));
    Some(Basis { shares: shares(run, outcome), dominant, likely, memory_bound_s: memory_bound(run, outcome) })
}

/// Part of the prediction above which a range of times is worth a line.
const WIDE: f64 = 0.05;

/// Returns the predicted times of a real program whose code memory bounds not at all, and completely. The prediction is
/// one of the two times: memory bounds all code on machines that state a slowdown, and no code on other machines.
fn memory_bound(run: &Resolved, outcome: &Outcome) -> Option<[f64; 2]> {
    let settings = &run.settings;
    let is_timed = run.application.program().is_some() && settings.job.compute == ComputeMode::Measure;
    if !is_timed || settings.memory_bound.is_some() {
        return None;
    }
    let mut on_cmp = BTreeMap::<_, u32>::new();
    outcome.per_rank.iter().for_each(|rank| *on_cmp.entry((rank.node, rank.cmp)).or_default() += 1);
    let ranks = on_cmp.into_values().max()?;
    let core = &run.platform.platform.core;
    let computing = (outcome.path.compute + outcome.path.imbalance).as_seconds();
    let stated = core.slowdown_of(ranks as usize) / core.slowdown_of(1);
    let predicted = outcome.predicted_s;
    let range = match core.slowdown.iter().all(|factor| *factor == 1.0) {
        true => [predicted, predicted + computing * (core.streaming_slowdown(ranks) - 1.0)],
        false => [predicted - computing * (1.0 - 1.0 / stated), predicted],
    };
    (range[1] - range[0] > WIDE * predicted).then_some(range)
}

/// Returns the likely times of a prediction of `seconds`, if enough validation cases have the dominant part.
fn likely(part: DominantPart, seconds: f64) -> Option<LikelyTimes> {
    let row = LIKELY.lines().map(|line| line.split(',').collect::<Vec<_>>()).find(|cells| cells[0] == part.name())?;
    let number = |place: usize| row.get(place)?.parse::<f64>().ok();
    Some(LikelyTimes { cases: number(1)? as u32, low_s: seconds * number(2)?, high_s: seconds * number(3)? })
}

fn shares(run: &Resolved, outcome: &Outcome) -> BasisShares {
    let PlatformSource { table, origins, .. } = &run.platform;
    let (path, mut found) = (&outcome.path, BasisShares::default());
    let total = path.total().as_ps() as f64;
    let mut add = |time: SimSpan, rests: &Rests| {
        let origin = match rests {
            Rests::Application => None,
            Rests::Keys(keys) => keys.iter().map(|key| origins.of(table, key)).max(),
        };
        let share = match origin {
            None => &mut found.application,
            Some(ParameterOrigin::Measured) => &mut found.measured,
            Some(ParameterOrigin::Published) => &mut found.published,
            Some(ParameterOrigin::Assumed) => &mut found.assumed,
            Some(ParameterOrigin::Stated) => &mut found.unmarked,
            Some(ParameterOrigin::Default) => &mut found.default,
        };
        *share += if total > 0.0 { time.as_ps() as f64 / total } else { 0.0 };
    };
    let keys = |keys: &[&str]| Rests::Keys(keys.iter().map(|key| (*key).to_owned()).collect());
    let computing = path.compute + path.imbalance;
    let for_memory = path.memory.min(computing);
    add(computing - for_memory, &of_computing(run));
    let memories = ["cmp.memory_bandwidth", "node.memory_bandwidth"];
    add(for_memory, &keys(&memories[..if table.contains_key("node") { 2 } else { 1 }]));
    add(path.combine, &keys(&["core.flops", "core.memory_bandwidth"]));
    add(path.poll, &keys(&["core.poll"]));
    let busiest = Level::ALL.into_iter().max_by_key(|level| path.level(*level).total()).unwrap_or(Level::InterNode);
    let of_level = |level: Level, name: &str| Rests::Keys(vec![format!("{}.{name}", level.name())]);
    add(path.send, &of_level(busiest, "send_overhead"));
    add(path.recv, &of_level(busiest, "recv_overhead"));
    for level in Level::ALL {
        let parts = path.level(level);
        add(parts.latency, &of_level(level, "latency"));
        add(parts.bytes, &of_level(level, "bandwidth"));
        add(parts.protocol, &of_level(level, "handshake"));
        let contention = if level == Level::InterNode { "capacity" } else { "copy_bandwidth" };
        add(parts.contention, &of_level(level, contention));
    }
    found
}

/// Returns the parameters on which the times of computing rest.
fn of_computing(run: &Resolved) -> Rests {
    match &run.application {
        Application::Real(_) => Rests::Keys(match run.platform.platform.core.scale_factor {
            ScaleFactor::Auto => vec!["core.flops".to_owned(), "core.memory_bandwidth".to_owned()],
            ScaleFactor::Stated(_) | ScaleFactor::Unstated => vec!["core.scale_factor".to_owned()],
        }),
        Application::Described(app) => {
            let app = Value::Table(app.config());
            let used = RATES.iter().filter(|(amount, _)| states_amount(&app, amount, false));
            let keys: Vec<String> = used.map(|(_, key)| (*key).to_owned()).collect();
            if keys.is_empty() { Rests::Application } else { Rests::Keys(keys) }
        }
        Application::Trace(_) | Application::Jobs(_) => Rests::Application,
    }
}

/// Returns whether a computing block in `value` states the amount `name`.
fn states_amount(value: &Value, name: &str, in_block: bool) -> bool {
    match value {
        Value::Table(table) => {
            (in_block && table.contains_key(name))
                || table.iter().any(|(key, value)| states_amount(value, name, in_block || key == "compute"))
        }
        Value::Array(values) => values.iter().any(|value| states_amount(value, name, in_block)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::Document;
    use crate::run::RunRequest;

    use super::*;

    const APP: &str = "main = [\n\
        { if = \"rank == 0\", then = [{ compute = BLOCK }, { send = { to = 1, bytes = 1000 } }] },\n\
        { if = \"rank == 1\", then = [{ recv = { from = 0 } }] }]";

    fn basis_of(block: &str, origin: &str, set: &[&str]) -> (Basis, f64) {
        let directory = tempfile::tempdir().unwrap();
        let level = "contention = \"ideal\"\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n";
        let machine = format!(
            "name = \"m\"\nnct = [2, 1, 1]\n[core]\nflops = \"1 Gflop/s\"\ninstructions = \"1 Ginstr/s\"\n\
             memory_bandwidth = \"1 GB/s\"\n[intra_cmp]\n{level}[inter_cmp]\n{level}[inter_node]\n{level}\
             send_overhead = \"1 us\"\n{origin}"
        );
        std::fs::write(directory.path().join("m.toml"), machine).unwrap();
        let mut request = RunRequest::of_text("app", &APP.replace("BLOCK", block)).unwrap();
        request.given.platform = Some(directory.path().join("m.toml"));
        for set in set {
            request = request.set(set).unwrap();
        }
        let outcome = request.resolve().unwrap().run().unwrap();
        (outcome.basis.unwrap(), outcome.predicted_s)
    }

    #[test]
    fn each_part_of_the_path_has_the_origin_of_its_parameter() {
        let origin = "[origin]\ninter_node = \"measured\"\n\"inter_node.bandwidth\" = \"assumed\"\n";
        // 4 us of computing, 1 us overhead, 2 us latency and 1 us for 1000 B.
        let (basis, seconds) = basis_of("\"4 us\"", origin, &[]);
        assert!((seconds - 8e-6).abs() < 1e-12, "{seconds}");
        let expected = BasisShares { application: 0.5, measured: 0.375, assumed: 0.125, ..BasisShares::default() };
        assert_eq!((basis.shares, basis.dominant), (expected, Some(DominantPart::Computing)));
        // 4,000 flops at a stated rate without a mark. An option has no origin either.
        let (basis, _) = basis_of("{ flops = 4000 }", origin, &["platform.inter_node.bandwidth=1GB/s"]);
        let expected = BasisShares { unmarked: 0.625, measured: 0.375, ..BasisShares::default() };
        assert_eq!(basis.shares, expected);
        let (basis, _) = basis_of("{ flops = 4000 }", "[origin]\ncore.flops = \"published\"\n", &[]);
        assert_eq!((basis.shares.published, basis.shares.unmarked), (0.5, 0.5));
    }

    #[test]
    fn likely_times_are_those_of_similar_cases() {
        let (basis, seconds) = basis_of("\"4 us\"", "", &[]);
        let found = basis.likely.unwrap();
        assert!(found.cases >= 5 && found.low_s <= seconds && seconds <= found.high_s, "{found:?}");
    }

    #[test]
    fn marks_of_keys_that_the_file_does_not_state_and_other_words_are_errors() {
        let error = |line: &str| {
            let text = Document::parse("default.toml", include_str!("../../configs/default.toml")).unwrap();
            let set = [crate::config::Override::parse(line).unwrap()];
            PlatformSource::load(text, &set).unwrap_err().to_string()
        };
        let expected = "\"measured\", \"published\", \"assumed\" or \"stated\" in origin of default.toml";
        let found = error("platform.origin.cmp=guessed");
        assert!(
            found.starts_with(&format!("expected {expected}")) && found.ends_with("; found \"guessed\""),
            "{found}"
        );
        let found = error("platform.origin.core.poll_time=measured");
        assert!(found.contains("is no table of keys"), "{found}");
        let found = error("platform.origin.node=measured");
        assert!(found.starts_with("expected keys that the file states in origin of default.toml"), "{found}");
        assert!(found.ends_with("; found \"node\""), "{found}");
    }

    #[test]
    fn shipped_machines_mark_the_origins_of_all_levels_and_rates() {
        for (name, _) in crate::run::Shipped::Platform.all() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("configs/{name}.toml"));
            let document = Document::read(&path).unwrap();
            let source = PlatformSource::load(document, &[]).unwrap();
            for key in ["core.flops", "core.memory_bandwidth", "inter_node.latency", "intra_cmp.bandwidth"] {
                let origin = source.origins.of(&source.table, key);
                assert!(origin <= ParameterOrigin::Assumed, "{name}: {key} is {origin:?}");
            }
        }
    }
}
