//! The engine's view of a rank in a process of its own.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcpsim_core::rank::{
    COMPLETE, Call, Completion, Describe, FailureKind, Message, Program, ProgramError, Rank, Reply, ReplyKind,
    RequestId, Requests, Served,
};

use super::children::RankProcesses;
use super::memory::{Area, ProcessTurn};
use super::reader::BoxReader;
use super::wire::{FromRank, ToRank};
use super::writer::BoxWriter;
use crate::mpi_api::payloads;
use crate::process::Job;

/// Interval of the checks that the process still exists.
const LOOK: Duration = Duration::from_millis(20);
/// Number of intervals of `LOOK` between two checks that some process computes.
const LOOKS: u32 = 50;
/// Time without any computation after which the run ends.
const IDLE: Duration = Duration::from_secs(15);

/// Connection of the simulator to the process of a rank.
struct RankLink {
    rank: Rank,
    area: Area,
    reader: BoxReader,
    processes: Arc<RankProcesses>,
    /// Request identifier of the engine for each request identifier of the rank.
    names: Vec<RequestId>,
    /// True if the rank runs ahead of virtual time.
    is_ahead: bool,
    /// Reason why the process can no longer answer.
    lost: Option<ProgramError>,
}

impl RankLink {
    /// Waits until the process has passed calls or an answer.
    fn wait(&mut self) {
        let (mut looks, mut idle) = (0, None);
        while self.lost.is_none() {
            if self.has_stopped(LOOK) {
                let written = self.area.control().written.load(Ordering::Relaxed).min(self.area.room());
                self.reader = BoxReader::new(self.area.outbox(), self.reader.next, written);
                return;
            }
            let attached = self.area.control().process.load(Ordering::Acquire);
            // The process may have passed calls just before its end.
            if let Some(error) = self.processes.ended(self.rank, attached)
                && !self.has_stopped(Duration::ZERO)
            {
                self.lost = Some(error);
            }
            looks += 1;
            if looks % LOOKS == 0 && self.is_idle(attached, &mut idle) {
                self.lost = Some(ProgramError {
                    kind: FailureKind::Error,
                    place: String::new(),
                    what: format!(
                        "the rank has waited for {} s outside of MPI, while no rank has computed: expected a rank that \
                         waits for other ranks only in MPI functions, not by files, pipes, signals or shared memory",
                        IDLE.as_secs()
                    ),
                });
                self.processes.kill(self.rank);
            }
        }
    }

    /// Waits at most `longest` for the end of the process's turn.
    fn has_stopped(&self, longest: Duration) -> bool {
        match self.is_ahead {
            true => self.area.wait_stopped(longest),
            false => self.area.wait(ProcessTurn::Simulator, longest),
        }
    }

    /// Returns true if all processes have slept for a long time. `idle` contains their CPU time and the start of their
    /// sleep.
    fn is_idle(&self, process: u32, idle: &mut Option<(u64, Instant)>) -> bool {
        // A read from standard input or a debugger may take any time.
        let call = std::fs::read_to_string(format!("/proc/{process}/syscall")).unwrap_or_default();
        let ticks = self.processes.group.idle_ticks().filter(|_| !call.starts_with("0 0x0 "));
        match (ticks, *idle) {
            (None, _) => *idle = None,
            (Some(ticks), Some((before, since))) if ticks == before => return since.elapsed() >= IDLE,
            (Some(ticks), _) => *idle = Some((ticks, Instant::now())),
        }
        false
    }

    /// Passes `message` to the process.
    fn tell(&mut self, message: &ToRank<'_>) {
        let mut inbox = BoxWriter::new(self.area.inbox(), self.area.room(), 0);
        inbox.message_of_simulator(message);
        if inbox.is_full {
            let what = format!("a message is longer than {} bytes", self.area.room());
            self.lost = Some(ProgramError { kind: FailureKind::NoRoom, place: String::new(), what });
            return;
        }
        self.area.control().answered.store(inbox.length, Ordering::Relaxed);
        match message {
            _ if !self.is_ahead => self.area.pass(ProcessTurn::Process),
            // A process that still runs would wait for a message of the simulator, which no longer exists.
            ToRank::End if !self.area.continue_process() => self.processes.kill(self.rank),
            ToRank::End => {}
            _ => {
                while !self.area.continue_process() && self.lost.is_none() {
                    self.wait();
                }
            }
        }
        if let ToRank::Reply(_) = message {
            // The process starts to write at the first byte again.
            self.reader = BoxReader::new(self.area.outbox(), 0, 0);
        }
    }

    /// Waits until a rank that runs ahead has stopped. Returns true if it has written calls that the engine has not read.
    fn has_further_calls(&mut self) -> bool {
        if !self.is_ahead {
            return false;
        }
        let end = self.reader.end();
        self.wait();
        if self.lost.is_none() && self.reader.end() == end && !self.area.waits_for_simulator() {
            self.damaged();
        }
        self.reader.end() > end
    }

    fn next(&mut self) -> Option<FromRank> {
        if self.lost.is_some() { None } else { self.reader.message_of_rank(static_name) }
    }

    /// Passes `message` to the process and reads its answer, which replaces the message in the inbox. The engine may not
    /// have executed the calls of the main thread.
    fn ask(&mut self, message: &ToRank<'_>) -> VecDeque<FromRank> {
        self.tell(message);
        self.wait();
        if self.lost.is_some() {
            return VecDeque::new();
        }
        let length = self.area.control().answered.load(Ordering::Relaxed).min(self.area.room());
        let mut reader = BoxReader::new(self.area.inbox(), 0, length);
        let answer = std::iter::from_fn(|| reader.message_of_rank(static_name)).collect();
        self.area.give_back(self.area.inbox(), length);
        answer
    }

    fn named(&self, requests: Requests) -> Requests {
        requests.into_iter().map(|id| self.name(id)).collect()
    }

    fn name(&self, id: RequestId) -> RequestId {
        if id == COMPLETE { COMPLETE } else { self.names.get(id as usize).copied().unwrap_or(COMPLETE) }
    }

    /// Stores the engine's identifier of the request that the rank's last call has started.
    fn note_started(&mut self, starting: Option<RequestId>, reply: &Reply<'_>) {
        if let (Some(id), &ReplyKind::Started(engine)) = (starting, &reply.kind) {
            let id = id as usize;
            if self.names.len() <= id {
                self.names.resize(id + 1, COMPLETE);
            }
            self.names[id] = engine;
        }
    }

    /// Replaces the rank's request identifiers in `call` by those of the engine.
    fn translated(&self, call: Call) -> Call {
        match call {
            Call::WaitAll(requests) => Call::WaitAll(self.named(requests)),
            Call::Complete(requests) => Call::Complete(self.named(requests)),
            Call::WaitAny(requests) => Call::WaitAny(self.named(requests)),
            Call::Test { requests, which, poll } => Call::Test { requests: self.named(requests), which, poll },
            Call::Cancel(id) => Call::Cancel(self.name(id)),
            other => other,
        }
    }

    /// Returns the call that ends a rank whose process can no longer answer. `function` is the last MPI function.
    fn failure(&self, function: &str) -> Call {
        let mut error = self.lost.clone().unwrap_or_default();
        if error.place.is_empty() {
            let crashed = self.area.control().crashed.load(Ordering::Acquire);
            error.place = match (function, crashed) {
                ("", _) => String::new(),
                (_, 2) => format!("in {function}"),
                _ => format!("after {function}"),
            };
        }
        Call::Fail(Box::new(error))
    }

    /// Notes that the other process has damaged the shared memory.
    fn damaged(&mut self) {
        self.lost = Some(ProgramError {
            kind: FailureKind::Error,
            place: String::new(),
            what:
                "the rank has overwritten memory that its process shares with mcpsim: expected a program that writes \
                   only to its own memory"
                    .to_owned(),
        });
        self.processes.kill(self.rank);
    }
}

/// Returns true if the engine completed receives with the messages that the rank was given. Removes the tickets.
fn agree(completions: &mut [Completion], numbers: &[u64]) -> bool {
    let mut numbers = numbers.iter();
    let mut agrees = true;
    for ticket in completions.iter_mut().filter_map(|of| of.payload.take()) {
        let number = ticket[..].try_into().map(u64::from_le_bytes).ok();
        agrees &= number.is_some() && number.as_ref() == numbers.next();
        payloads::done(Some(ticket));
    }
    agrees
}

/// Returns a static text equal to `name`. The only names are those of MPI functions, so the texts are never freed.
fn static_name(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    match names.get(name) {
        Some(known) => known,
        None => {
            let known: &'static str = Box::leak(name.to_owned().into_boxed_str());
            names.insert(known);
            known
        }
    }
}

/// A rank in a process of its own.
pub struct RemoteProgram {
    link: Arc<Mutex<RankLink>>,
    job: Arc<Job>,
    /// The rank's identifier of the request that the current call starts.
    starting: Option<RequestId>,
    function: &'static str,
    counted: CountedCall,
    /// Number of calls by function, after the end of a rank whose calls are counted.
    calls: Vec<(&'static str, u64)>,
    has_begun: bool,
}

/// Number of the current call of a task whose calls are counted.
#[derive(Clone, Copy, Default)]
struct CountedCall {
    number: u64,
    is_profiled: bool,
}

impl CountedCall {
    fn begin(&mut self, is_profiled: bool) {
        *self = CountedCall { number: self.number + 1, is_profiled };
    }
}

fn lock(link: &Mutex<RankLink>) -> MutexGuard<'_, RankLink> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RemoteProgram {
    /// Creates the rank `rank`, whose process uses `area`.
    pub(super) fn new(rank: Rank, area: Area, processes: Arc<RankProcesses>, job: Arc<Job>, is_ahead: bool) -> Self {
        let reader = BoxReader::new(area.outbox(), 0, 0);
        let link = RankLink { rank, area, reader, processes, names: Vec::new(), is_ahead, lost: None };
        RemoteProgram {
            link: Arc::new(Mutex::new(link)),
            job,
            starting: None,
            function: "",
            counted: CountedCall::default(),
            calls: Vec::new(),
            has_begun: false,
        }
    }
}

impl Program for RemoteProgram {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let shared = self.link.clone();
        let mut link = lock(&shared);
        link.note_started(self.starting.take(), &reply);
        if !std::mem::replace(&mut self.has_begun, true) {
            link.wait();
            let library = link.area.control().library.load(Ordering::Relaxed);
            link.processes.set_library(library);
        }
        let mut reply = Some(reply);
        loop {
            match link.next() {
                Some(FromRank::Matched(numbers)) => {
                    if let Some(Reply { kind: ReplyKind::Completed(completions), .. }) = &mut reply
                        && !agree(completions, &numbers)
                    {
                        link.damaged();
                    }
                }
                Some(FromRank::Function(name)) => self.function = static_name(&name),
                Some(FromRank::Starts(id, call)) => {
                    self.starting = Some(id);
                    return call;
                }
                Some(FromRank::Strand(number, id, thread)) => {
                    self.starting = Some(id);
                    return Call::Start(RemoteStrand::boxed(&shared, number, self.function, thread));
                }
                Some(FromRank::Call(call)) => return link.translated(call),
                Some(FromRank::NewCall(is_profiled)) => self.counted.begin(is_profiled),
                Some(FromRank::Ending(ending)) => {
                    self.calls = ending.calls.iter().map(|(name, calls)| (static_name(name), *calls)).collect();
                    self.job.add_endings(ending.endings);
                }
                Some(FromRank::Answers(_) | FromRank::Damaged) => link.damaged(),
                None if link.lost.is_some() => return link.failure(self.function),
                None if link.has_further_calls() => {}
                None => match reply.take() {
                    Some(reply) => {
                        let mut told = ToRank::Reply(reply);
                        link.tell(&told);
                        if let ToRank::Reply(Reply { kind: ReplyKind::Completed(completions), .. }) = &mut told {
                            completions.iter_mut().for_each(|of| payloads::done(of.payload.take()));
                        }
                        link.wait();
                    }
                    // A process passes at least one call in its turn.
                    None => link.damaged(),
                },
            }
        }
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        for answer in lock(&self.link).ask(&ToRank::Serve(message)) {
            if let FromRank::Answers(given) = answer {
                answers.extend(given);
            }
        }
    }
}

impl Drop for RemoteProgram {
    fn drop(&mut self) {
        let mut link = lock(&self.link);
        if link.lost.is_none() && self.has_begun {
            link.tell(&ToRank::End);
        } else if !self.has_begun {
            link.processes.kill(link.rank);
        }
    }
}

impl Describe for RemoteProgram {
    fn call_name(&self) -> Option<&'static str> {
        (!self.function.is_empty()).then_some(self.function)
    }

    fn position(&self) -> Option<String> {
        self.call_name().map(str::to_owned)
    }

    fn count_calls(&mut self, _by_place: bool) {
        lock(&self.link).area.control().counts_calls.store(true, Ordering::Relaxed);
    }

    fn entry(&self) -> Option<u64> {
        Some(self.counted.number)
    }

    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        self.calls.clone()
    }

    fn is_profiled(&self) -> bool {
        self.counted.is_profiled
    }
}

/// A strand of a rank in a process of its own.
struct RemoteStrand {
    link: Arc<Mutex<RankLink>>,
    number: u32,
    /// The function in which the strand is.
    name: &'static str,
    counted: CountedCall,
    /// Number of the thread that the strand is, or 0.
    thread: u32,
    /// The rank's identifier of the request that the current call starts.
    starting: Option<RequestId>,
    /// Calls that the strand has made ahead.
    ahead: VecDeque<FromRank>,
}

impl RemoteStrand {
    fn boxed(link: &Arc<Mutex<RankLink>>, number: u32, name: &'static str, thread: u32) -> Box<dyn Program> {
        Box::new(RemoteStrand {
            link: link.clone(),
            number,
            name,
            counted: CountedCall::default(),
            thread,
            starting: None,
            ahead: VecDeque::new(),
        })
    }
}

impl Program for RemoteStrand {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let mut link = lock(&self.link);
        link.note_started(self.starting.take(), &reply);
        let mut reply = Some(reply);
        loop {
            match self.ahead.pop_front() {
                Some(FromRank::Function(name)) => self.name = static_name(&name),
                Some(FromRank::NewCall(is_profiled)) => self.counted.begin(is_profiled),
                Some(FromRank::Call(call)) => return link.translated(call),
                Some(FromRank::Starts(id, call)) => {
                    self.starting = Some(id);
                    return call;
                }
                Some(FromRank::Strand(number, id, thread)) => {
                    self.starting = Some(id);
                    return Call::Start(RemoteStrand::boxed(&self.link, number, self.name, thread));
                }
                Some(FromRank::Answers(_) | FromRank::Matched(_) | FromRank::Ending(_) | FromRank::Damaged) => {
                    link.damaged();
                }
                None if link.lost.is_some() => return link.failure(self.name),
                None => match reply.take() {
                    Some(reply) => self.ahead = link.ask(&ToRank::Strand(self.number, reply)),
                    // A process passes at least one call in its turn.
                    None => link.damaged(),
                },
            }
        }
    }
}

impl Describe for RemoteStrand {
    fn call_name(&self) -> Option<&'static str> {
        (self.is_thread() && !self.name.is_empty()).then_some(self.name)
    }

    fn position(&self) -> Option<String> {
        Some(self.thread().map_or_else(|| self.name.to_owned(), |thread| format!("thread {thread}")))
    }

    fn is_thread(&self) -> bool {
        self.thread > 0
    }

    fn thread(&self) -> Option<u32> {
        Some(self.thread).filter(|&thread| thread > 0)
    }

    fn entry(&self) -> Option<u64> {
        Some(self.counted.number)
    }

    fn is_profiled(&self) -> bool {
        self.counted.is_profiled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_core::units::Bytes;

    fn completion(ticket: &[u8]) -> Completion {
        let mut data = payloads::buffer(ticket.len());
        data.bytes_mut().extend_from_slice(ticket);
        Completion { index: 0, source: 1, tag: 0, size: Bytes::ZERO, payload: Some(data), cancelled: false }
    }

    #[test]
    fn other_messages_than_the_rank_was_given_are_found() {
        let tickets = |numbers: [u64; 2]| numbers.map(|number| completion(&number.to_le_bytes()));
        assert!(agree(&mut tickets([3, 4]), &[3, 4]));
        assert!(!agree(&mut tickets([3, 4]), &[4, 3]));
        assert!(!agree(&mut tickets([3, 4]), &[3]));
        assert!(!agree(&mut [completion(b"no")], &[3]));
    }
}
