//! Logs of task-based programs as JSON files, one per MPI process. mcpsim and runtime systems write these files.
//!
//! ```json
//! {"format": "mcpsim-tasks 1", "run": "a", "process": 0, "processes": 2, "threads": 1, "ticks_per_second": 1000000,
//!  "ended": 900, "events": [[0, "main", "distrib"], [0, "main", "ready"], [3, "main", "start"], [9, "main", "end"]]}
//! ```

use std::fmt::Write;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Number;

use crate::units::{SimSpan, SimTime};

use super::log::{Left, Stage, TaskLog, Visit};
use super::luna::{is_luna_log, read_luna_logs};

/// Value of the key `format` in the log of a process.
pub const LOG_FORMAT: &str = "mcpsim-tasks 1";

/// Greatest number of unexecuted fragments that an error message lists.
const MOST_LINES: usize = 10;

#[derive(Deserialize)]
struct LogFile {
    format: String,
    #[serde(default)]
    run: String,
    process: u32,
    processes: u32,
    #[serde(default = "one")]
    threads: u32,
    ticks_per_second: f64,
    ended: Number,
    useful: Option<Number>,
    overhead: Option<Number>,
    manager: Option<Number>,
    #[serde(default = "yes")]
    own_thread: bool,
    events: Vec<EventRow>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// An event of a process's log: time, fragment, and name of the event. The event "wait" may also state the data for
/// which the fragment waits.
#[derive(Deserialize)]
struct EventRow(Number, Name, String, #[serde(default)] Vec<Name>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Number(u64),
    Text(String),
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Number(number) => write!(f, "{number}"),
            Name::Text(text) => f.write_str(text),
        }
    }
}

impl TaskLog {
    /// Writes the log of one MPI process. The run has the identifier `run` and `processes` MPI processes.
    pub fn to_json(&self, run: &str, processes: usize) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!(
            "{{\"format\": {}, \"run\": {}, \"process\": {}, \"processes\": {processes}, \"threads\": {},\n \
             \"ticks_per_second\": 1000000000000, \"ended\": {}, \"useful\": {}, \"overhead\": {}, \"manager\": {}, \
             \"own_thread\": {},\n \"events\": [",
            quoted(LOG_FORMAT),
            quoted(run),
            self.process,
            self.threads,
            self.ended.as_ps(),
            self.useful.as_ps(),
            self.overhead.as_ps(),
            self.manager.as_ps(),
            self.own_thread,
        );
        let mut events: Vec<(SimTime, usize, &str)> = Vec::new();
        for (index, visit) in self.visits.iter().enumerate() {
            let mut happened = |at: SimTime, what| {
                if at != SimTime::NEVER {
                    events.push((at, index, what));
                }
            };
            happened(visit.entered, "distrib");
            if visit.waited {
                happened(visit.settled, "wait");
            }
            happened(visit.ready, "ready");
            happened(visit.started, "start");
            happened(visit.ended, if visit.left == Left::Sent { "send" } else { "end" });
        }
        // A stable sort keeps the order of simultaneous events of a fragment.
        events.sort_by_key(|&(at, ..)| at);
        for (number, (at, index, what)) in events.into_iter().enumerate() {
            let name = match self.names.get(index) {
                Some(name) => quoted(name),
                None => self.visits[index].fragment.to_string(),
            };
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\n  [{}, {name}, \"{what}\"]", at.as_ps());
        }
        text.push_str("\n]}\n");
        text
    }
}

/// Integer identifiers of the names of computation fragments. All logs of a run share the identifiers.
#[derive(Default)]
struct LogNames {
    numbers: FxHashMap<String, u32>,
    names: Vec<String>,
}

impl LogNames {
    fn number(&mut self, name: &Name) -> u32 {
        let name = name.to_string();
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.clone(), number);
        self.names.push(name);
        number
    }
}

/// A fragment that is still on a process at the end of the process's log.
pub(super) struct Remaining {
    pub process: u32,
    pub visit: Visit,
    pub awaited: String,
}

/// Reads the logs of a run and sorts the logs by process. `files` contains the name and the text of each log file.
///
/// # Errors
/// A text is not a log, is truncated, belongs to another run or is inconsistent; the log of a process is missing; or
/// some fragments were not executed. The error names the file, the fragment, and the data for which the fragment
/// waited.
pub fn read_task_logs(files: &[(String, String)]) -> Result<Vec<TaskLog>, String> {
    if files.iter().all(|(_, text)| is_luna_log(text)) {
        return read_luna_logs(files);
    }
    let mut logs: Vec<(usize, TaskLog)> = Vec::new();
    let mut names = LogNames::default();
    let mut remaining = Vec::new();
    let mut first: Option<(&str, String, u32)> = None;
    for (index, (file, text)) in files.iter().enumerate() {
        let log: LogFile = serde_json::from_str(text).map_err(|error| match error.is_eof() {
            true => format!("{file}: the log is truncated: {error}"),
            false => format!("{file}: not a log of fragments: {error}"),
        })?;
        if log.format != LOG_FORMAT {
            return Err(format!("{file}: expected \"format\": \"{LOG_FORMAT}\"; found \"{}\"", log.format));
        }
        let (other, run, processes) = first.get_or_insert_with(|| (file, log.run.clone(), log.processes));
        if *run != log.run {
            return Err(format!("{file}: a log of run \"{}\", but {other} is of run \"{run}\"", log.run));
        }
        if *processes != log.processes {
            let count = log.processes;
            return Err(format!("{file}: a log of a run of {count} processes, but {other} is of {processes}"));
        }
        if log.process >= *processes {
            let last = processes.saturating_sub(1);
            return Err(format!("{file}: expected a process from 0 to {last}; found {}", log.process));
        }
        if let Some((before, _)) = logs.iter().find(|(_, before)| before.process == log.process) {
            return Err(format!("{file}: a second log of process {}, as {}", log.process, files[*before].0));
        }
        logs.push((index, read(file, &log, &mut names, &mut remaining)?));
    }
    let processes = first.map_or(0, |(_, _, processes)| processes);
    if logs.len() < processes as usize {
        let missing = (0..processes).find(|process| logs.iter().all(|(_, log)| log.process != *process));
        let missing = missing.unwrap_or_default();
        return Err(format!(
            "expected the logs of {processes} processes; found {}, none of process {missing}",
            logs.len()
        ));
    }
    logs.sort_unstable_by_key(|(_, log)| log.process);
    let logs: Vec<TaskLog> = logs.into_iter().map(|(_, log)| log).collect();
    check(&logs, &names.names, &remaining)?;
    Ok(logs)
}

fn read(file: &str, log: &LogFile, names: &mut LogNames, remaining: &mut Vec<Remaining>) -> Result<TaskLog, String> {
    if !(log.ticks_per_second > 0.0 && log.ticks_per_second.is_finite()) {
        return Err(format!("{file}: expected ticks_per_second above 0; found {}", log.ticks_per_second));
    }
    if log.threads == 0 {
        return Err(format!("{file}: expected threads above 0; found 0"));
    }
    let ps = |ticks: &Number| -> Option<u64> {
        match ticks.as_u64().filter(|_| log.ticks_per_second == 1e12) {
            Some(ticks) => Some(ticks),
            None => SimSpan::from_seconds(ticks.as_f64()? / log.ticks_per_second).map(SimSpan::as_ps),
        }
    };
    let time = |what: &str, ticks: &Number| {
        let wrong = || format!("{file}: {what}: expected a time from 0 to 213 days; found {ticks} ticks");
        ps(ticks).filter(|&ps| ps < u64::MAX).map(SimTime::from_ps).ok_or_else(wrong)
    };
    let ended = time("ended", &log.ended)?;
    let mut open: FxHashMap<u32, (Visit, String)> = FxHashMap::default();
    let mut visits: Vec<Visit> = Vec::new();
    let mut last = SimTime::ZERO;
    for (number, EventRow(ticks, name, what, awaited)) in (1..).zip(&log.events) {
        let at = time(&format!("event {number}"), ticks)?;
        let wrong = |why: &str| Err(format!("{file}: event {number}: {name} {why}"));
        if at < last {
            return wrong(&format!("at {ticks} ticks is before the event above"));
        }
        if at > ended {
            return wrong(&format!("at {ticks} ticks is after the end of the process"));
        }
        last = at;
        let fragment = names.number(name);
        let never = SimTime::NEVER;
        if what == "distrib" {
            let (left, waited, entered) = (Left::Executed, false, at);
            let visit =
                Visit { fragment, waited, left, entered, settled: never, ready: never, started: never, ended: never };
            if open.insert(fragment, (visit, String::new())).is_some() {
                return wrong("arrives, but is already there");
            }
            continue;
        }
        let Some((visit, waits_for)) = open.get_mut(&fragment) else {
            return wrong(&format!("has \"{what}\" before its arrival (\"distrib\")"));
        };
        match what.as_str() {
            "wait" if visit.settled == never => {
                (visit.settled, visit.waited) = (at, true);
                *waits_for = awaited.iter().map(Name::to_string).collect::<Vec<_>>().join(", ");
            }
            "ready" if visit.ready == never => {
                visit.settled = visit.settled.min(at);
                visit.ready = at;
            }
            "start" if visit.ready == never => return wrong("starts, but is not ready"),
            "start" if visit.started == never => visit.started = at,
            "end" if visit.started == never => return wrong("ends, but has not started"),
            "send" if visit.started != never => return wrong("is sent, but has started"),
            "end" | "send" => {
                visit.ended = at;
                visit.left = if what == "end" { Left::Executed } else { Left::Sent };
                visits.push(*visit);
                open.remove(&fragment);
            }
            "wait" | "ready" | "start" => return wrong(&format!("has \"{what}\" twice, or too late")),
            _ => {
                let expected = "expected \"distrib\", \"send\", \"wait\", \"ready\", \"start\" or \"end\"";
                return wrong(&format!("has \"{what}\", {expected}"));
            }
        }
    }
    let mut left: Vec<Remaining> =
        open.into_values().map(|(visit, awaited)| Remaining { process: log.process, visit, awaited }).collect();
    left.sort_unstable_by_key(|remaining| remaining.visit.fragment);
    remaining.append(&mut left);
    let executing = |visit: &Visit| visit.stay(Stage::Execution).map_or(0, |(from, to)| to.since(from).as_ps());
    let span = |what: &str, ticks: &Option<Number>| match ticks {
        Some(ticks) => time(what, ticks).map(|time| time.since(SimTime::ZERO)),
        None => Ok(SimSpan::ZERO),
    };
    Ok(TaskLog {
        process: log.process,
        threads: log.threads,
        own_thread: log.own_thread,
        ended,
        useful: match &log.useful {
            Some(_) => span("useful", &log.useful)?,
            None => SimSpan::from_ps(visits.iter().map(executing).fold(0, u64::saturating_add)),
        },
        overhead: span("overhead", &log.overhead)?,
        manager: span("manager", &log.manager)?,
        visits,
        names: Vec::new(),
    })
}

/// Checks that the logs of a run are consistent: every fragment is executed exactly once.
pub(super) fn check(logs: &[TaskLog], names: &[String], remaining: &[Remaining]) -> Result<(), String> {
    let mut executed: Vec<Option<u32>> = vec![None; names.len()];
    let mut away: Vec<i64> = vec![0; names.len()];
    for log in logs {
        for visit in &log.visits {
            let name = || &names[visit.fragment as usize];
            match visit.left {
                Left::Sent => away[visit.fragment as usize] += 1,
                Left::Executed => {
                    if let Some(before) = executed[visit.fragment as usize].replace(log.process) {
                        return Err(format!(
                            "{} is executed by process {before} and by process {}",
                            name(),
                            log.process
                        ));
                    }
                }
            }
        }
    }
    let mut lines = Vec::new();
    for Remaining { process, visit, awaited } in remaining {
        let name = &names[visit.fragment as usize];
        away[visit.fragment as usize] = i64::MIN / 2;
        let (stage, since) = match visit {
            visit if visit.started != SimTime::NEVER => ("is being executed", visit.started),
            visit if visit.ready != SimTime::NEVER => ("is ready", visit.ready),
            visit if visit.settled != SimTime::NEVER => ("waits for data", visit.settled),
            visit => ("is being distributed", visit.entered),
        };
        let awaited = if awaited.is_empty() { String::new() } else { format!(": {awaited}") };
        lines.push(format!("  {name} {stage} on process {process} since {since}{awaited}"));
    }
    for (fragment, &sent) in away.iter().enumerate().filter(|&(fragment, _)| executed[fragment].is_none()) {
        if sent > 0 {
            lines.push(format!("  {} was sent, but never arrived", names[fragment]));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let mut text = format!("{} of {} fragments were not executed:\n", lines.len(), names.len());
    text.push_str(&lines[..lines.len().min(MOST_LINES)].join("\n"));
    if lines.len() > MOST_LINES {
        let _ = write!(text, "\n  … and {} more", lines.len() - MOST_LINES);
    }
    Err(text)
}

#[cfg(test)]
mod tests;
