//! Checks that written logs can be read, and that errors name the file and the fragment.

use super::super::analysis::TaskAnalysis;
use super::*;

fn log(process: u32, events: &str) -> (String, String) {
    let text = format!(
        r#"{{"format": "mcpsim-tasks 1", "run": "a", "process": {process}, "processes": 2, "ticks_per_second": 1e6,
            "ended": 100, "events": [{events}]}}"#
    );
    (format!("prof_{process:05}.json"), text)
}

const WHOLE: &str =
    r#"[0, "b", "distrib"], [1, "b", "wait", ["x"]], [5, "b", "ready"], [5, "b", "start"], [7, "b", "end"]"#;

#[test]
fn a_log_of_a_real_runtime_is_analysed() {
    let first = r#"[0, "a", "distrib"], [0, "a", "ready"], [1, "c", "distrib"], [2, "a", "start"], [3, "c", "send"],
        [4, "a", "end"]"#;
    let second = format!(r#"{WHOLE}, [8.5, "c", "distrib"], [9, "c", "ready"], [9, "c", "start"], [19, "c", "end"]"#);
    let logs = read_task_logs(&[log(1, &second), log(0, first)]).unwrap();
    let analysis = TaskAnalysis::from_logs(&logs);
    assert_eq!((analysis.total, &analysis.distribs[..], analysis.waited), (3, &[2, 1][..], 1));
    // Fragment b waited from 1 to 5 microseconds. The threads were busy for 2, 2 and 10 of 2 × 100 microseconds.
    assert_eq!(analysis.stages[1].sum_s, 4e-6);
    let useful = analysis.processes.iter().map(|process| process.useful.as_ps()).collect::<Vec<_>>();
    assert_eq!(useful, [2_000_000, 12_000_000]);
    assert_eq!(analysis.processes[0].idle.as_ps(), 98_000_000);
    // Writing the logs and reading the written logs again changes nothing.
    let files: Vec<_> = logs.iter().map(|log| (format!("{}", log.process), log.to_json("b", 2))).collect();
    assert_eq!(TaskAnalysis::from_logs(&read_task_logs(&files).unwrap()), analysis);
}

#[test]
fn the_numbers_of_the_published_log_come_out() {
    // The expected values are those of a published log of a runtime system, whose analyser printed Total cf, Distribs
    // and Wait df.
    let (total, migrated, waited) = (60_334u32, 27_903u32, 55_801u32);
    let mut events = [String::new(), String::new()];
    for fragment in 0..total {
        let target = usize::from(fragment < migrated);
        if target == 1 {
            events[0].push_str(&format!("[0, {fragment}, \"distrib\"], [0, {fragment}, \"send\"],"));
        }
    }
    for fragment in 0..total {
        let own = &mut events[usize::from(fragment < migrated)];
        own.push_str(&format!("[2, {fragment}, \"distrib\"],"));
        // The fragments that wait are distributed over both processes.
        if fragment % total < waited {
            own.push_str(&format!("[2, {fragment}, \"wait\"],"));
        }
        own.push_str(&format!("[2, {fragment}, \"ready\"], [2, {fragment}, \"start\"], [2, {fragment}, \"end\"],"));
    }
    let files: Vec<_> =
        (0..).zip(&events).map(|(process, events)| log(process, events.trim_end_matches(','))).collect();
    let analysis = TaskAnalysis::from_logs(&read_task_logs(&files).unwrap());
    assert_eq!((analysis.total, &analysis.distribs[..], analysis.waited), (60_334, &[32_431, 27_903][..], 55_801));
    assert_eq!(analysis.distribs.iter().sum::<u64>(), analysis.total);
}

#[test]
fn times_that_sum_to_more_than_a_clock_shows_are_the_most_it_shows() {
    let events: Vec<String> = ["distrib", "ready", "start", "end"]
        .iter()
        .flat_map(|what| (0..20).map(move |f| format!("[{}, {f}, \"{what}\"]", if *what == "end" { 100 } else { 0 })))
        .collect();
    let (name, text) = log(0, &events.join(","));
    let text = text.replace("1e6", "5.6e-6").replace("\"processes\": 2", "\"processes\": 1");
    let analysis = TaskAnalysis::from_logs(&read_task_logs(&[(name, text)]).unwrap());
    assert_eq!((analysis.total, analysis.processes[0].useful.as_ps()), (20, u64::MAX));
}

#[test]
fn what_is_wrong_with_logs_is_said() {
    let error = |files: &[(String, String)]| read_task_logs(files).unwrap_err();
    let one = |events: &str| error(&[log(0, events), log(1, "")]);
    let cut = |text: &str| text[..text.len() - 30].to_owned();
    let (name, text) = log(0, WHOLE);
    assert_eq!(
        error(&[(name.clone(), cut(&text))]),
        "prof_00000.json: the log is truncated: EOF while parsing a string at line 2 column 108"
    );
    assert_eq!(
        error(&[(name.clone(), "{}".to_owned())]),
        "prof_00000.json: not a log of fragments: missing field `format` at line 1 column 2"
    );
    assert_eq!(
        error(&[(name.clone(), text.replace("tasks 1", "tasks 2"))]),
        "prof_00000.json: expected \"format\": \"mcpsim-tasks 1\"; found \"mcpsim-tasks 2\""
    );
    assert_eq!(
        error(&[(name.clone(), text.replace("\"run\"", "\"threads\": 0, \"run\""))]),
        "prof_00000.json: expected threads above 0; found 0"
    );
    assert_eq!(error(&[log(0, WHOLE)]), "expected the logs of 2 processes; found 1, none of process 1");
    assert_eq!(error(&[log(0, ""), log(0, "")]), "prof_00000.json: a second log of process 0, as prof_00000.json");
    assert_eq!(error(&[log(0, ""), log(7, "")]), "prof_00007.json: expected a process from 0 to 1; found 7");
    let (other, text) = log(1, "");
    assert_eq!(
        error(&[log(0, ""), (other.clone(), text.replace("\"a\"", "\"b\""))]),
        "prof_00001.json: a log of run \"b\", but prof_00000.json is of run \"a\""
    );
    assert_eq!(
        error(&[log(0, ""), (other, text.replace("\"processes\": 2", "\"processes\": 3"))]),
        "prof_00001.json: a log of a run of 3 processes, but prof_00000.json is of 2"
    );
    for (events, expected) in [
        (r#"[0, "f", "ready"]"#, "event 1: f has \"ready\" before its arrival (\"distrib\")"),
        (r#"[0, "f", "distrib"], [1, "f", "start"]"#, "event 2: f starts, but is not ready"),
        (r#"[0, "f", "distrib"], [1, "f", "end"]"#, "event 2: f ends, but has not started"),
        (r#"[0, "f", "distrib"], [1, "f", "distrib"]"#, "event 2: f arrives, but is already there"),
        (r#"[5, "f", "distrib"], [1, "f", "wait"]"#, "event 2: f at 1 ticks is before the event above"),
        (r#"[500, "f", "distrib"]"#, "event 1: f at 500 ticks is after the end of the process"),
        (
            r#"[0, "f", "distrib"], [1, "f", "run"]"#,
            "event 2: f has \"run\", expected \"distrib\", \"send\", \"wait\", \"ready\", \"start\" or \"end\"",
        ),
        (r#"[-1, "f", "distrib"]"#, "event 1: expected a time from 0 to 213 days; found -1 ticks"),
    ] {
        assert_eq!(one(events), format!("prof_00000.json: {expected}"));
    }
    assert_eq!(error(&[log(0, WHOLE), log(1, WHOLE)]), "b is executed by process 0 and by process 1");
    assert_eq!(
        one(r#"[0, "f", "distrib"], [2, "f", "wait", ["u[1]", "u[2]"]], [3, "g", "distrib"], [4, "g", "send"]"#),
        "2 of 2 fragments were not executed:\n  f waits for data on process 0 since 2.000 us: u[1], u[2]\n  \
         g was sent, but never arrived"
    );
}
