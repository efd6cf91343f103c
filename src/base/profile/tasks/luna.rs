//! Logs of the LuNA runtime system: files `log.00`, `log.01`, … with one record per event.
//!
//! ```text
//! 0 | 0.001250 | Create CF 94210 : 3 | rts.cpp:594
//! 0 | 0.001302 | Wait ID<0, 4> by CF 94210 : 3 | cf.cpp:136
//! ```
//!
//! A record has process, seconds, message, and source position. Messages name a fragment by its title or its address,
//! and by its next block of code. A fragment has another address on each process: the n-th fragment with a next block
//! that is sent to a process is the n-th that arrives there.

use rustc_hash::FxHashMap;

use crate::units::{SimSpan, SimTime};

use super::file::{Remaining, check};
use super::log::{Left, Stage, TaskLog, Visit};
use super::series::most;

/// Number of processes above which a log is refused.
const MOST_PROCESSES: usize = 1 << 20;

/// Returns true if `text` starts as a log of the LuNA runtime system does.
pub fn is_luna_log(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let mut fields = first.splitn(3, " | ");
    let mut next = || fields.next().unwrap_or_default();
    next().trim().parse::<u32>().is_ok() && next().parse::<f64>().is_ok() && next().contains(' ')
}

/// A record of a log.
struct LogRecord<'a> {
    process: u32,
    at: SimTime,
    message: &'a str,
    file: &'a str,
    line: usize,
}

/// A fragment as messages name it.
struct NamedFragment<'a> {
    /// Title or address.
    name: &'a str,
    /// Next block of code, and what else the runtime states.
    block: &'a str,
}

/// Events of fragments.
enum LunaEvent<'a> {
    Create(NamedFragment<'a>),
    Receive(NamedFragment<'a>),
    Invoke(NamedFragment<'a>),
    Wait(&'a str, NamedFragment<'a>),
    Responded(&'a str, NamedFragment<'a>),
    Send(NamedFragment<'a>, u32),
    Finish(NamedFragment<'a>),
}

/// Reads a fragment such as "CF 94210 : 3".
fn named(text: &str) -> Option<NamedFragment<'_>> {
    let (name, block) = text.trim().strip_prefix("CF ")?.split_once(" : ")?;
    Some(NamedFragment { name, block: block.trim() })
}

/// Returns the data fragment at the start of `text`, such as "ID<0, 4>".
fn data(text: &str) -> Option<&str> {
    let text = text.trim_start();
    text.starts_with("ID<").then(|| text.find('>').map(|end| &text[..=end]))?
}

/// Reads a message. Returns `None` for events other than those of fragments.
fn event(message: &str) -> Option<LunaEvent<'_>> {
    let (word, rest) = message.split_once([' ', '\t'])?;
    // Values of data may contain any text, so fragments are read from the end of the message.
    let last = |mark: &str| rest.rfind(mark).map(|at| (&rest[..at], &rest[at + mark.len() - "CF ".len()..]));
    let sent = |text| {
        let (fragment, to) = last_of(text, " to ")?;
        Some(LunaEvent::Send(named(fragment)?, to.trim().parse().ok()?))
    };
    match word {
        "Create" => named(rest).map(LunaEvent::Create),
        "Receive" => named(rest).map(LunaEvent::Receive),
        "Invoke" => named(rest).map(LunaEvent::Invoke),
        "Finish" => named(rest).map(LunaEvent::Finish),
        "Migrate" => sent(rest),
        "Stealing" => sent(rest.strip_prefix("job ")?),
        "Wait" => {
            let (before, fragment) = last(" by CF ")?;
            (!before.contains(" -> ")).then(|| Some(LunaEvent::Wait(data(rest)?, named(fragment)?)))?
        }
        "responded" => Some(LunaEvent::Responded(data(rest)?, named(last(" for CF ")?.1)?)),
        _ => None,
    }
}

fn last_of<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    text.rfind(mark).map(|at| (&text[..at], &text[at + mark.len()..]))
}

/// Splits the text of a log into records. Messages may contain line breaks.
fn records<'a>(file: &'a str, text: &'a str, all: &mut Vec<LogRecord<'a>>) -> Result<(), String> {
    let (mut from, mut first, mut at) = (0, 1, 0);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        at += line.len();
        let record = text[from..at].trim_end();
        let is_whole = last_of(record, " | ").and_then(|(_, place)| place.rsplit_once(':'));
        if is_whole.is_none_or(|(_, line)| line.parse::<u32>().is_err()) {
            continue;
        }
        let mut fields = record.splitn(3, " | ");
        let mut next = || fields.next().unwrap_or_default();
        let (process, seconds, rest) = (next().trim().parse(), next().parse::<f64>(), next());
        let at_time = seconds.ok().and_then(SimSpan::from_seconds);
        let (Ok(process), Some(at_time), Some((message, _))) = (process, at_time, last_of(rest, " | ")) else {
            return Err(format!(
                "{file}:{first}: expected \"process | seconds | message | file:line\"; found {record:?}"
            ));
        };
        all.push(LogRecord { process, at: SimTime::ZERO + at_time, message, file, line: first });
        (from, first) = (at, number + 1);
    }
    match text[from..].trim().is_empty() {
        true => Ok(()),
        false => Err(format!("{file}:{first}: the log is truncated: expected a record that ends with \"| file:line\"")),
    }
}

/// A fragment on a process.
struct Present<'a> {
    visit: Visit,
    /// Data for which the fragment waits.
    awaited: Vec<&'a str>,
}

/// State of the reader of a run's logs. Each arrival of a fragment on a process has a number of its own.
#[derive(Default)]
struct LunaReader<'a> {
    present: FxHashMap<(u32, &'a str), Present<'a>>,
    /// Names of fragments by the numbers of their arrivals.
    names: Vec<String>,
    visits: Vec<Vec<Visit>>,
    /// Arrivals of sent fragments by process and next block, in the order of times.
    received: FxHashMap<(u32, &'a str), Vec<u32>>,
    /// Arrivals whose fragments were then sent, by the process and the next block, in the order of times.
    sent: FxHashMap<(u32, &'a str), Vec<u32>>,
}

impl<'a> LunaReader<'a> {
    fn enter(&mut self, record: &LogRecord<'a>, of: &NamedFragment<'a>) -> Result<u32, String> {
        let fragment = self.names.len() as u32;
        self.names.push(format!("CF {} : {}", of.name, of.block));
        let never = SimTime::NEVER;
        let (left, waited, entered) = (Left::Executed, false, record.at);
        let visit =
            Visit { fragment, waited, left, entered, settled: never, ready: never, started: never, ended: never };
        match self.present.insert((record.process, of.name), Present { visit, awaited: Vec::new() }) {
            None => Ok(fragment),
            Some(_) => Err(format!("CF {} arrives, but is already there", of.name)),
        }
    }

    fn find(&mut self, record: &LogRecord<'a>, of: &NamedFragment<'a>) -> Result<&mut Present<'a>, String> {
        self.present.get_mut(&(record.process, of.name)).ok_or_else(|| unknown(of))
    }

    /// Ends the visit of a fragment.
    fn leave(&mut self, record: &LogRecord<'a>, of: &NamedFragment<'a>, left: Left) -> Result<(), String> {
        let Present { visit, .. } = self.present.remove(&(record.process, of.name)).ok_or_else(|| unknown(of))?;
        let mut visit = Visit { left, ended: record.at, ..visit };
        match left {
            Left::Executed if visit.started == SimTime::NEVER => {
                return Err(format!("CF {} ends, but has not started", of.name));
            }
            // A fragment that has not waited has been ready since its arrival.
            Left::Executed if visit.ready == SimTime::NEVER => visit.ready = visit.entered,
            Left::Executed => visit.ready = visit.ready.min(visit.started),
            // A fragment that is sent has executed only the code that decides where it is executed.
            Left::Sent => visit.started = SimTime::NEVER,
        }
        visit.settled = visit.settled.min(visit.ready);
        self.visits[record.process as usize].push(visit);
        Ok(())
    }

    fn handle(&mut self, record: &LogRecord<'a>, event: LunaEvent<'a>) -> Result<(), String> {
        let process = record.process;
        match event {
            LunaEvent::Create(of) => {
                self.enter(record, &of)?;
            }
            LunaEvent::Receive(of) => {
                let fragment = self.enter(record, &of)?;
                self.received.entry((process, of.block)).or_default().push(fragment);
            }
            LunaEvent::Send(of, to) => {
                let fragment = self.find(record, &of)?.visit.fragment;
                self.sent.entry((to, of.block)).or_default().push(fragment);
                self.leave(record, &of, Left::Sent)?;
            }
            LunaEvent::Finish(of) => self.leave(record, &of, Left::Executed)?,
            LunaEvent::Invoke(of) => self.find(record, &of)?.visit.started = record.at,
            LunaEvent::Wait(data, of) => {
                let Present { visit, awaited } = self.find(record, &of)?;
                visit.waited = true;
                visit.settled = visit.settled.min(record.at);
                if !awaited.contains(&data) {
                    awaited.push(data);
                }
            }
            LunaEvent::Responded(data, of) => {
                // The answer to a repeated request may follow the end of the fragment.
                if let Some(Present { visit, awaited }) = self.present.get_mut(&(process, of.name))
                    && awaited.contains(&data)
                {
                    awaited.retain(|other| *other != data);
                    visit.ready = record.at;
                }
            }
        }
        Ok(())
    }

    /// Returns the number of the fragment of each arrival, and the names of fragments.
    fn fragments(&self) -> (Vec<u32>, Vec<String>) {
        let mut before: Vec<Option<u32>> = vec![None; self.names.len()];
        let first = |before: &[Option<u32>], mut arrival: u32| {
            while let Some(earlier) = before[arrival as usize] {
                arrival = earlier;
            }
            arrival
        };
        let mut keys: Vec<_> = self.received.keys().collect();
        keys.sort_unstable();
        for key in keys {
            let departures = self.sent.get(key).into_iter().flatten();
            for (&arrival, &departure) in self.received[key].iter().zip(departures) {
                // Clocks of processes may differ, so that a fragment seems to follow itself.
                if first(&before, departure) != arrival {
                    before[arrival as usize] = Some(departure);
                }
            }
        }
        let mut names = Vec::new();
        let mut numbers = vec![0; before.len()];
        for (arrival, name) in self.names.iter().enumerate().filter(|&(arrival, _)| before[arrival].is_none()) {
            numbers[arrival] = names.len() as u32;
            names.push(name.clone());
        }
        let numbers = (0..before.len() as u32).map(|arrival| numbers[first(&before, arrival) as usize]).collect();
        (numbers, names)
    }
}

fn unknown(of: &NamedFragment<'_>) -> String {
    format!("CF {0} is unknown: expected \"Create CF {0}\" or \"Receive CF {0}\" before", of.name)
}

/// Reads the logs of a run. `files` contains the name and the text of each file. A file may have records of several
/// processes.
///
/// # Errors
/// A record has another form, a file is truncated, or some fragments were not executed.
pub fn read_luna_logs(files: &[(String, String)]) -> Result<Vec<TaskLog>, String> {
    let mut all = Vec::new();
    for (file, text) in files {
        records(file, text, &mut all)?;
    }
    // Threads of a process write their records one after another, but not in the order of times.
    all.sort_by_key(|record| record.at);
    let processes = all.iter().map(|record| record.process).max().map_or(0, |last| last as usize + 1);
    if processes > MOST_PROCESSES {
        return Err(format!("expected processes below {MOST_PROCESSES}; found {}", processes - 1));
    }
    let mut reader = LunaReader { visits: vec![Vec::new(); processes], ..LunaReader::default() };
    let mut ends = vec![SimTime::ZERO; processes];
    for record in &all {
        ends[record.process as usize] = record.at;
        if let Some(event) = event(record.message) {
            reader.handle(record, event).map_err(|what| format!("{}:{}: {what}", record.file, record.line))?;
        }
    }
    let (fragments, names) = reader.fragments();
    let mut remaining: Vec<Remaining> = std::mem::take(&mut reader.present)
        .into_iter()
        .map(|((process, _), Present { mut visit, awaited })| {
            visit.fragment = fragments[visit.fragment as usize];
            if !awaited.is_empty() {
                (visit.ready, visit.started) = (SimTime::NEVER, SimTime::NEVER);
            }
            Remaining { process, visit, awaited: awaited.join(", ") }
        })
        .collect();
    remaining.sort_unstable_by_key(|remaining| remaining.visit.fragment);
    let logs: Vec<TaskLog> = (0..)
        .zip(std::mem::take(&mut reader.visits))
        .map(|(process, mut visits)| {
            visits.iter_mut().for_each(|visit| visit.fragment = fragments[visit.fragment as usize]);
            log(process, ends[process as usize], visits)
        })
        .collect();
    check(&logs, &names, &remaining)?;
    Ok(logs)
}

/// Returns the log of a process. Its number of threads is the greatest number of fragments that it executed at a time.
fn log(process: u32, ended: SimTime, visits: Vec<Visit>) -> TaskLog {
    let executions = || visits.iter().filter_map(|visit| visit.stay(Stage::Execution));
    let (mut from, mut to): (Vec<u64>, Vec<u64>) =
        executions().filter(|(from, to)| from < to).map(|(from, to)| (from.as_ps(), to.as_ps())).unzip();
    let threads = most(&mut from, &mut to).0.max(1) as u32;
    let useful = executions().map(|(from, to)| to.since(from)).sum();
    let (overhead, manager) = (SimSpan::ZERO, SimSpan::ZERO);
    TaskLog { process, threads, own_thread: true, ended, useful, overhead, manager, visits, names: Vec::new() }
}

#[cfg(test)]
mod tests;
