//! Tests of `--timeline` files, which are read by the rules of the two formats.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use crate::support;
use serde_json::Value;
use tempfile::TempDir;

/// State of a rank with its start and end, in picoseconds.
type Slice = (u64, u64, String);

/// Returns the timeline of a workload in the format of `name`, and its outcome.
fn written(workload: &str, options: &str, name: &str) -> (String, Value) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = directory.path().join(name);
    let line = format!("workloads/{workload}.toml --quiet --json - {options} --timeline {}", file.display());
    let ran = support::run(Path::new(env!("CARGO_MANIFEST_DIR")), &line);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (std::fs::read_to_string(file).unwrap(), serde_json::from_str(&ran.stdout).unwrap())
}

/// Parses a decimal number with `behind` digits after the point, in units of its last digit.
fn digits(text: &str, behind: usize) -> u64 {
    let (whole, rest) = text.split_once('.').expect("a point");
    assert_eq!(rest.len(), behind, "{text}");
    format!("{whole}{rest}").parse().expect("digits")
}

/// Parses a number of microseconds in the text of an event, in picoseconds.
fn field(line: &str, key: &str) -> u64 {
    let rest = line.split_once(&format!("\"{key}\":")).unwrap().1;
    digits(rest.split([',', '}']).next().unwrap(), 6)
}

/// Adds a slice, or extends the last slice if both have the same state.
fn add(slices: &mut Vec<Slice>, slice: Slice) {
    match slices.last_mut() {
        Some(last) if last.1 == slice.0 && last.2 == slice.2 => last.1 = slice.1,
        _ => slices.push(slice),
    }
}

/// Reads the Trace Event Format: an object with `traceEvents`, each with the fields that its phase requires. Numbers
/// are parsed as text, because a double cannot represent them exactly.
fn read_perfetto(text: &str) -> BTreeMap<u64, Vec<Slice>> {
    let value: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(value["displayTimeUnit"], "ns");
    let mut slices: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    let mut named = HashSet::new();
    let mut calls: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    let mut open: HashMap<(String, u64), u64> = HashMap::new();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"ph\"")).collect();
    let events = value["traceEvents"].as_array().expect("a list of events");
    assert_eq!(lines.len(), events.len());
    for (event, line) in events.iter().zip(lines) {
        let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} in {event}"));
        let name = event["name"].as_str().expect("a name");
        let _ = number("pid");
        match event["ph"].as_str().expect("a phase") {
            "M" => {
                assert!(["process_name", "process_sort_index", "thread_name", "thread_sort_index"].contains(&name));
                if name == "thread_name" {
                    assert!(event["args"]["name"].as_str().unwrap().starts_with(&format!("rank {}", number("tid"))));
                    named.insert(number("tid"));
                }
            }
            "X" => {
                assert!(event["ts"].is_number() && event["dur"].is_number());
                let (start, span) = (field(line, "ts"), field(line, "dur"));
                if event["cat"] == "call" {
                    calls.entry(number("tid")).or_default().push((start, start + span, name.to_owned()));
                    continue;
                }
                assert!(event["cat"] == "state" && event["args"]["merged"].is_u64(), "{event}");
                add(slices.entry(number("tid")).or_default(), (start, start + span, name.to_owned()));
            }
            // A flow event and an asynchronous event begin once and then end once.
            phase @ ("s" | "f" | "b" | "e") => {
                let key = (event["cat"].as_str().expect("a category").to_owned(), number("id"));
                let ts = field(line, "ts");
                match phase {
                    "s" | "b" => assert!(open.insert(key, ts).is_none(), "{event}"),
                    _ => assert!(open.remove(&key).expect("it has begun") <= ts, "{event}"),
                }
                assert!(phase != "f" || event["bp"] == "e", "{event}");
            }
            phase => panic!("phase {phase}"),
        }
    }
    assert!(open.is_empty(), "what begins ends: {open:?}");
    assert!(slices.keys().all(|rank| named.contains(rank)), "every rank has a name");
    slices
}

/// Reads the Paje format: a header that defines event types and their fields, then events in order of time. The types,
/// containers and values of events must be defined before they are used.
fn read_paje(text: &str) -> BTreeMap<u64, Vec<Slice>> {
    let mut lines = text.lines().peekable();
    let mut events: HashMap<String, (String, usize)> = HashMap::new();
    while lines.peek().is_some_and(|line| line.starts_with('%')) {
        let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        let ["%EventDef", name, number] = head[..] else { panic!("{head:?}") };
        let mut fields = 0;
        loop {
            let words: Vec<&str> = lines.next().expect("an end of the definition").split_whitespace().collect();
            match words[..] {
                ["%EndEventDef"] => break,
                ["%", _, "string" | "date" | "color"] => fields += 1,
                _ => panic!("{words:?}"),
            }
        }
        assert!(events.insert(number.to_owned(), (name.to_owned(), fields)).is_none(), "{number} defined twice");
    }
    let mut types: HashSet<String> = HashSet::from(["0".to_owned()]);
    let mut values: HashMap<String, String> = HashMap::new();
    let mut links: HashMap<String, u64> = HashMap::new();
    let mut containers: HashMap<String, bool> = HashMap::from([("0".to_owned(), true)]);
    let mut states: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    let mut now = 0;
    for line in lines {
        let words = words(line);
        let (name, fields) = &events[&words[0]];
        assert_eq!(words.len() - 1, *fields, "{line}");
        let mut time = |text: &str| {
            let time = digits(text, 12);
            assert!(time >= now, "{line} is earlier than the one before");
            now = time;
            time
        };
        let rank = |container: &str| container.strip_prefix('r').and_then(|rank| rank.parse::<u64>().ok());
        let fields: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        match (name.as_str(), &fields[..]) {
            ("PajeDefineLinkType", [alias, of, from, to, _]) => {
                assert!([of, from, to].iter().all(|name| types.contains(**name)) && types.insert((*alias).to_owned()));
            }
            ("PajeStartLink", [at, of, within, from, _, key]) => {
                let time = time(at);
                assert!(types.contains(*of) && containers[*within] && containers[*from], "{line}");
                assert!(links.insert((*key).to_owned(), time).is_none(), "{line}");
            }
            ("PajeEndLink", [at, of, within, to, _, key]) => {
                let time = time(at);
                assert!(types.contains(*of) && containers[*within] && containers[*to], "{line}");
                assert!(links.remove(*key).expect("the link has begun") <= time, "{line}");
            }
            ("PajeSetState", [at, "CALL", container, value]) => {
                time(at);
                assert!(containers[*container] && values.contains_key(*value), "{line}");
            }
            ("PajeDefineContainerType" | "PajeDefineStateType", [alias, of, _]) => {
                assert!(types.contains(*of) && types.insert((*alias).to_owned()), "{line}");
            }
            ("PajeDefineEntityValue", [alias, of, name, colour]) => {
                assert!(types.contains(*of) && values.insert((*alias).to_owned(), (*name).to_owned()).is_none());
                let colours: Vec<f64> = colour.split(' ').map(|part| part.parse().unwrap()).collect();
                assert!(colours.len() == 3 && colours.iter().all(|part| (0.0..=1.0).contains(part)), "{line}");
            }
            ("PajeCreateContainer", [at, alias, of, within, _]) => {
                time(at);
                assert!(types.contains(*of) && containers[*within], "{line}");
                assert!(containers.insert((*alias).to_owned(), true).is_none(), "{line}");
            }
            ("PajeSetState", [at, of, container, value]) => {
                let time = time(at);
                assert!(types.contains(*of) && containers[*container], "{line}");
                let states = states.entry(rank(container).unwrap()).or_default();
                if let Some(last) = states.last_mut() {
                    last.1 = time;
                }
                match states.last() {
                    Some(last) if last.2 == values[*value] => {}
                    _ => states.push((time, time, values[*value].clone())),
                }
            }
            ("PajeDestroyContainer", [at, of, container]) => {
                let time = time(at);
                assert!(types.contains(*of) && containers.insert((*container).to_owned(), false) == Some(true));
                if let Some(last) = rank(container).and_then(|rank| states.get_mut(&rank)?.last_mut()) {
                    last.1 = time;
                }
            }
            _ => panic!("{line}"),
        }
    }
    assert!(links.is_empty(), "what begins ends: {links:?}");
    assert!(containers.iter().all(|(name, open)| *open == (name == "0")), "all containers end");
    states
}

/// Returns the words of a line. A word may be quoted.
fn words(line: &str) -> Vec<String> {
    let outside = line.split('"').enumerate().flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    outside.collect()
}

/// Returns the time of a rank in each state.
fn totals(slices: &[Slice]) -> BTreeMap<&str, u64> {
    let mut totals = BTreeMap::new();
    slices.iter().for_each(|(start, end, state)| *totals.entry(state.as_str()).or_insert(0) += end - start);
    totals
}

#[test]
fn both_formats_say_what_the_outcome_says_of_each_rank() {
    for (workload, options) in [
        ("jacobi3d", "--nct 4,2,2"),
        ("master-worker", "--nct 2,2,2 --set app.tasks=40"),
        ("hpl", "--nct 2,1,2 --set app.n=200"),
        ("heat3d", "--nct 2,2,1 --set app.steps=5 --set app.room_size=13 --set app.exchange=blocking"),
    ] {
        let (text, outcome) = written(workload, &format!("{options} --workers 1"), "t.json");
        let slices = read_perfetto(&text);
        let ranks = outcome["per_rank"].as_array().unwrap();
        assert_eq!(slices.len(), ranks.len(), "{workload}");
        for (rank, slices) in &slices {
            assert!(slices.windows(2).all(|pair| pair[0].1 == pair[1].0), "without gaps or overlaps");
            assert_eq!(slices[0].0, 0);
            let totals = totals(slices);
            for part in ["compute", "send", "recv", "wait", "collective"] {
                let expected = ranks[*rank as usize][format!("{part}_ps")].as_u64().unwrap();
                assert_eq!(totals.get(part).copied().unwrap_or(0), expected, "{workload}: {part} of rank {rank}");
            }
        }
        let (text, _) = written(workload, &format!("{options} --workers 2"), "t.paje");
        assert_eq!(read_paje(&text), slices, "{workload}: Paje, by two workers");
    }
}

#[test]
fn a_long_run_is_merged_to_a_bounded_number_of_slices() {
    // The ranks make 120,000 iterations of a send and a receive.
    let (text, outcome) = written("pingpong", "--nct 2,1,1 --set app.iterations=120000", "t.json");
    let slices = read_perfetto(&text);
    for (rank, slices) in &slices {
        assert!((1000..=4096).contains(&slices.len()), "{} slices", slices.len());
        assert!(slices.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].2 != pair[1].2));
        assert_eq!(slices.last().unwrap().1, outcome["per_rank"][*rank as usize]["clock_ps"].as_u64().unwrap());
    }
}

#[test]
fn a_timeline_names_calls_and_draws_messages_and_strands() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = directory.path();
    let app = |bytes: u64| {
        format!(
            "main = [\n  {{ compute = {{ time = \"1 us\" }} }},\n  {{ isend = {{ to = \"1 - rank\", bytes = {bytes} }} }},\n  \
             {{ recv = {{ from = \"1 - rank\" }} }},\n  \"waitall\",\n  {{ iallreduce = {{ bytes = 8 }} }},\n  \
             \"waitall\",\n]\n"
        )
    };
    for (name, bytes) in [("small", 8), ("large", 8000)] {
        std::fs::write(here.join(format!("{name}.toml")), app(bytes)).unwrap();
        let ran = support::run(here, &format!("--quiet --nct 2,1,1 --timeline {name}.json {name}.toml"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
    let text = std::fs::read_to_string(here.join("small.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let events = value["traceEvents"].as_array().unwrap();
    let count = |phase: &str, cat: &str, name: &str| {
        events.iter().filter(|event| event["ph"] == phase && event["cat"] == cat && event["name"] == name).count()
    };
    let at = |event: &Value, name: &str, place: &str| event["name"] == name && event["args"]["place"] == place;
    assert!(events.iter().any(|event| at(event, "recv", "main[2]")), "{text}");
    assert_eq!(count("X", "call", "recv"), 2, "the receive of each rank: {text}");
    assert_eq!(count("X", "call", "compute"), 2, "a statement that computes");
    // In each direction there is one message of the program and one message of the allreduce.
    assert_eq!((count("s", "message", "message"), count("f", "message", "message")), (4, 4));
    assert_eq!((count("b", "strand", "iallreduce"), count("e", "strand", "iallreduce")), (2, 2));
    let sent = events.iter().find(|event| event["ph"] == "s" && event["args"]["bytes"] == 8).unwrap();
    let call =
        events.iter().find(|event| event["cat"] == "call" && event["tid"] == sent["tid"] && event["name"] == "isend");
    let (at, call) = (sent["ts"].as_f64().unwrap(), call.unwrap());
    let start = call["ts"].as_f64().unwrap();
    assert!(
        start <= at && at < start + call["dur"].as_f64().unwrap(),
        "it leaves from the call that sends: {sent} {call}"
    );
    // `trace compare` writes both timelines into one file.
    let compared = support::run(here, "trace compare small.json large.json --timeline both.json");
    assert_eq!((compared.code, compared.stderr.as_str()), (Some(0), ""));
    let slower = compared.stdout.lines().find(|line| line.contains("  recv at main[2]")).unwrap();
    assert!(slower.contains('+') && !compared.stdout.contains("note:"), "{}", compared.stdout);
    let both: Value = serde_json::from_str(&std::fs::read_to_string(here.join("both.json")).unwrap()).unwrap();
    let processes = both["traceEvents"].as_array().unwrap().iter().filter(|event| event["name"] == "process_name");
    let names: Vec<&str> = processes.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["small.json", "large.json"]);
    let refused = support::run(here, "trace compare small.json small.toml");
    assert_eq!(refused.code, Some(2));
}

#[test]
fn an_archive_in_otf2_is_read_by_its_own_tool() {
    if !support::is_there("otf2-print") {
        return support::skipped("otf2-print is not found (otf2-tools): what archives hold");
    }
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = directory.path();
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/ring.toml"), here.join("ring.toml")).unwrap();
    let simulate = || support::run(here, "--quiet --nct 2,1,2 --json out.json --timeline ring.otf2 ring.toml");
    let ran = simulate();
    if ran.stderr.contains("expected the OTF2 library") {
        return support::skipped("no OTF2 library is found (libopen-trace-format2-dev): archives");
    }
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let mut command = std::process::Command::new("timeout");
    command.args(["60", "otf2-print", "ring.otf2"]).current_dir(here).stdin(std::process::Stdio::null());
    let printed = command.output().unwrap();
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let outcome: Value = serde_json::from_str(&std::fs::read_to_string(here.join("out.json")).unwrap()).unwrap();
    let count = |event: &str| text.lines().filter(|line| line.split_whitespace().next() == Some(event)).count() as u64;
    assert_eq!(Value::from(count("MPI_SEND")), outcome["messages"]["count"], "{text}");
    assert_eq!((count("MPI_RECV"), count("ENTER")), (count("MPI_SEND"), count("LEAVE")), "{text}");
    assert!(text.contains(" at main["), "{text}");
    // The OTF2 archive can be replayed like the trace of the run.
    let replay = support::run(here, "--quiet --nct 2,1,2 --json replay.json ring.otf2");
    assert_eq!((replay.code, replay.stderr.as_str()), (Some(0), ""));
    let replayed: Value = serde_json::from_str(&std::fs::read_to_string(here.join("replay.json")).unwrap()).unwrap();
    assert_eq!(replayed["predicted_ps"], outcome["predicted_ps"]);
    assert_eq!(replayed["collectives"], outcome["collectives"]);
    std::fs::remove_file(here.join("ring/mcpsim.trace")).unwrap();
    let lacking = support::run(here, "--nct 2,1,2 ring.otf2");
    assert_eq!(lacking.code, Some(2), "{}", lacking.stderr);
    assert!(lacking.stderr.contains("it lacks the trace that a replay needs"), "{}", lacking.stderr);
    // Existing files are not overwritten.
    let again = simulate();
    assert_eq!(again.code, Some(2));
    assert!(
        again.stderr.contains("the file ring.def of this OTF2 archive exists already: give another name"),
        "{}",
        again.stderr
    );
}

#[test]
fn a_timeline_needs_a_name_that_tells_its_format() {
    let run = |name: &str| {
        let line = format!("workloads/ring.toml --timeline {name}");
        support::run(Path::new(env!("CARGO_MANIFEST_DIR")), &line)
    };
    for name in ["t.txt", "timeline", "-"] {
        let ran = run(name);
        assert_eq!(ran.code, Some(2), "{name}");
        let text =
            format!("error: --timeline {name}: expected a file ending in .json (Perfetto, Chrome), .paje or .otf2\n");
        assert_eq!(ran.stderr, text);
    }
    assert!(run("no-such-directory/t.json").stderr.starts_with("error: --timeline no-such-directory/t.json: no such"));
}
