//! Checks the stages that are read from records, and errors in logs.

use super::super::analysis::TaskAnalysis;
use super::super::file::read_task_logs;

/// Returns a log of the records `of`, one per line, without source positions.
fn log(name: &str, of: &str) -> (String, String) {
    (name.to_owned(), of.lines().map(|line| format!("{} | rts.cpp:1\n", line.trim())).collect())
}

/// The main fragment creates two fragments. The first waits for data, and the second is executed by process 1.
const FIRST: &str = "0 | 0.000000 | Create CF _main : 0
    0 | 0.000001 | Invoke CF _main : 0
    0 | 0.000003 | Create CF 16 : 1
    0 | 0.000003 | Create CF 32 : 2
    0 | 0.000004 | Finish CF _main : 0
    0 | 0.000005 | Invoke CF 16 : 1
    0 | 0.000005 | requested\tID<0, 7> by CF 16 : 1
    0 | 0.000006 | Wait ID<0, 7> by CF 16 : 1
    0 | 0.000005 | Invoke CF 32 : 2
    0 | 0.000006 | Migrate CF 32 : 2 to 1
    0 | 0.000020 | responded ID<0, 7>=a | b for CF 9 : 1 for CF 16 : 1
    0 | 0.000022 | Invoke CF 16 : 1
    0 | 0.000022 | Wait ID<0, 7> -> a by CF 16 : 1
    0 | 0.000025 | Finish CF 16 : 1";
const SECOND: &str = "1 | 0.000008 | Receive CF 48 : 2
    1 | 0.000009 | Invoke CF 48 : 2
    1 | 0.000019 | POST ID<0, 7> := a &1
    1 | 0.000019 | Finish CF 48 : 2";

#[test]
fn stages_of_fragments_are_read_from_records() {
    let files = [log("log.00", FIRST), log("log.01", SECOND)];
    let logs = read_task_logs(&files).unwrap();
    let analysis = TaskAnalysis::from_logs(&logs);
    assert_eq!((analysis.total, &analysis.distribs[..], analysis.waited), (3, &[2, 1][..], 1));
    assert_eq!(analysis.end.as_ps(), 25_000_000);
    let visits = |log: usize| logs[log].visits.iter().map(|of| (of.fragment, of.ready.as_ps(), of.started.as_ps()));
    // The main fragment, the fragment that is sent, and the fragment that waits from 6 to 20 us.
    let never = u64::MAX;
    let expected = [(0, 0, 1_000_000), (2, never, never), (1, 20_000_000, 22_000_000)];
    assert_eq!(visits(0).collect::<Vec<_>>(), expected);
    assert_eq!(visits(1).collect::<Vec<_>>(), [(2, 8_000_000, 9_000_000)]);
    assert_eq!(logs[0].visits[2].settled.as_ps(), 6_000_000);
    let useful: Vec<_> = logs.iter().map(|log| (log.threads, log.useful.as_ps())).collect();
    assert_eq!(useful, [(1, 6_000_000), (1, 10_000_000)]);
    // One file with the records of both processes contains the same run.
    let text = format!("{}{}", files[1].1, files[0].1);
    assert_eq!(read_task_logs(&[("log".to_owned(), text)]).unwrap(), logs);
}

#[test]
fn threads_are_the_fragments_at_a_time() {
    let logs = read_task_logs(&[log(
        "log.00",
        "0 | 0.1 | Create CF 1 : 0
        0 | 0.1 | Create CF 2 : 0
        0 | 0.2 | Invoke CF 1 : 0
        0 | 0.3 | Invoke CF 2 : 0
        0 | 0.4 | Finish CF 1 : 0
        0 | 0.4 | Create CF 1 : 0
        0 | 0.5 | Invoke CF 1 : 0
        0 | 0.6 | Finish CF 1 : 0
        0 | 0.7 | Finish CF 2 : 0",
    )])
    .unwrap();
    assert_eq!((logs[0].threads, TaskAnalysis::from_logs(&logs).total), (2, 3));
}

#[test]
fn errors_name_file_line_and_fragment() {
    let error = |text: &str| read_task_logs(&[log("log.00", text)]).unwrap_err();
    assert_eq!(
        error("0 | 0.1 | Create CF 1 : 0\n0 | x | Finish CF 1 : 0"),
        "log.00:2: expected \"process | seconds | message | file:line\"; found \"0 | x | Finish CF 1 : 0 | rts.cpp:1\""
    );
    assert_eq!(
        error("0 | 0.1 | WORKLOAD\n0 | 0.2 | Invoke CF 1 : 0"),
        "log.00:2: CF 1 is unknown: expected \"Create CF 1\" or \"Receive CF 1\" before"
    );
    assert_eq!(
        error("0 | 0.1 | Create CF 1 : 0\n0 | 0.2 | Create CF 1 : 0"),
        "log.00:2: CF 1 arrives, but is already there"
    );
    assert_eq!(
        error("0 | 0.1 | Create CF 1 : 0\n0 | 0.2 | Finish CF 1 : 0"),
        "log.00:2: CF 1 ends, but has not started"
    );
    assert_eq!(
        error(
            "0 | 0.1 | Create CF 1 : 0\n0 | 0.2 | Invoke CF 1 : 0\n0 | 0.2 | Wait ID<0, 7> by CF 1 : 0
            0 | 0.1 | Create CF 2 : 5\n0 | 0.2 | Migrate CF 2 : 5 to 1"
        ),
        "2 of 2 fragments were not executed:\n  CF 1 : 0 waits for data on process 0 since 200.0 ms: ID<0, 7>\n  \
         CF 2 : 5 was sent, but never arrived"
    );
    assert_eq!(error("4000000000 | 0.1 | WORKLOAD x"), "expected processes below 1048576; found 4000000000");
    let cut = [("log.00".to_owned(), "0 | 0.1 | Create CF 1 : 0 | rts.cpp:1\n0 | 0.2 | Inv".to_owned())];
    let what = "log.00:2: the log is truncated: expected a record that ends with \"| file:line\"";
    assert_eq!(read_task_logs(&cut).unwrap_err(), what);
}
