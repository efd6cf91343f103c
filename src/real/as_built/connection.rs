//! Connection of a rank's process to the simulator. All threads of the rank that have clocks of their own use it, one at
//! a time: the thread whose call the simulator has answered. A thread passes its calls to the simulator itself, and
//! wakes the thread to which the next reply belongs.
//!
//! The outbox contains the calls of the main thread since the last reply. The calls of other threads and strands, and
//! answers to one-sided messages, replace the message of the simulator in the inbox.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use mcpsim_core::rank::{
    COMPLETE, Call, FailureKind, Immediate, Message, ProgramError, RequestId, Requests, Served, Simulator,
};
use mcpsim_core::units::SimSpan;

use super::ahead::Ahead;
use super::fork::end_at_once;
use super::gate::{self, ThreadGate};
use super::memory::{Area, ProcessTurn};
use super::reader::BoxReader;
use super::strands::RunningStrand;
use super::watch::turn_changes;
use super::wire::{OwnReply, OwnReplyKind, RankEnding, Received, waited_by};
use super::writer::BoxWriter;
use crate::mpi_api::{MpiProcess, payloads};
use crate::process::{CurrentCall, Interface, current};

/// Size in bytes of the calls of a task at which they are passed to the simulator at the latest.
const BATCH: u64 = 256 << 10;

/// Connection of this process, or null.
static CONNECTION: AtomicPtr<Connection> = AtomicPtr::new(std::ptr::null_mut());

/// The task that makes a call: the main thread, or the thread that is the strand with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankTask {
    Main,
    Thread(u32),
}

/// Connection of a rank's process to the simulator.
pub struct Connection {
    pub(super) area: Area,
    pub(super) outbox: BoxWriter,
    /// Writer of calls of other tasks than the main thread, and of answers.
    pub(super) answers: BoxWriter,
    /// State of a rank that runs ahead; `None`: the process and the simulator alternate.
    pub(super) ahead: Option<Ahead>,
    pub(super) process: &'static MpiProcess,
    /// True while the rank exchanges messages with the simulator.
    pub(super) is_busy: bool,
    /// Last call of the main thread that was written to the simulator.
    announced: AnnouncedCall,
    /// True if the simulator counts calls.
    counts_calls: bool,
    free: Vec<RequestId>,
    requests: RequestId,
    pub(super) strands: HashMap<u32, RunningStrand>,
    pub(super) started: u32,
    pub has_ended: bool,
}

/// Result of writing a call.
enum WrittenCall {
    Done,
    Started(RequestId),
    /// The call needs a reply of the simulator.
    Asks,
    /// The outbox has too little room after the earlier calls of the task.
    Full,
    /// The outbox has too little room for the call.
    TooLong,
}

/// The task to which a reply of the simulator belongs.
pub(super) enum NextReply {
    Own(OwnReply),
    Other(Option<Arc<ThreadGate>>, OwnReply),
}

/// Function of a task to which its calls of the engine belong.
#[derive(Clone, Copy, Default)]
pub(super) struct AnnouncedCall {
    function: &'static str,
    /// Call of the function, if the simulator counts calls.
    current: CurrentCall,
}

/// Calls `body` with the connection of this process.
pub fn with<T>(body: impl FnOnce(&mut Connection) -> T) -> Option<T> {
    let connection = CONNECTION.load(Ordering::Acquire);
    // SAFETY: the connection is never freed. Only the thread that has the turn uses it, and `body` does not wait for
    // other threads.
    (!connection.is_null()).then(|| body(unsafe { &mut *connection }))
}

fn connected<T>(body: impl FnOnce(&mut Connection) -> T) -> T {
    with(body).expect("the process is connected")
}

/// Ends the process, because the run has ended.
fn end_of_run() -> ! {
    // SAFETY: the function has no requirements for a null pointer, which means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    end_at_once(1)
}

/// Removes the connection of a forked process, which is no rank.
pub fn forget() {
    CONNECTION.store(std::ptr::null_mut(), Ordering::Relaxed);
}

/// Connects the process, passes the turn to the simulator, and returns its first reply.
pub fn connect(area: Area, process: &'static MpiProcess, ahead: Option<Ahead>) -> OwnReply {
    let [outbox, answers] = [area.outbox(), area.inbox()].map(|start| BoxWriter::new(start, area.room(), 0));
    let connection = Connection {
        area,
        outbox,
        answers,
        ahead,
        process,
        is_busy: false,
        announced: AnnouncedCall::default(),
        counts_calls: false,
        free: Vec::new(),
        requests: 0,
        strands: HashMap::new(),
        started: 0,
        has_ended: false,
    };
    CONNECTION.store(Box::leak(Box::new(connection)), Ordering::Release);
    let reply = pass(process, RankTask::Main);
    connected(|connection| {
        connection.counts_calls = connection.area.control().counts_calls.load(Ordering::Relaxed);
        process.counts.is_wanted.set(connection.counts_calls);
    });
    reply
}

/// Returns true for calls after which the rank continues without a reply.
fn runs_ahead(call: &Call) -> bool {
    match call {
        Call::Compute(span) => *span != SimSpan::ZERO,
        Call::Work(_)
        | Call::Code(_)
        | Call::Data(_)
        | Call::Send(_)
        | Call::Enter(_)
        | Call::Leave
        | Call::Mark(_) => true,
        _ => false,
    }
}

impl Connection {
    /// Box into which the calls of `task` are written.
    pub(super) fn calls_of(&mut self, task: RankTask) -> &mut BoxWriter {
        if task == RankTask::Main { &mut self.outbox } else { &mut self.answers }
    }

    /// Returns true if `task` must pass its calls to the simulator.
    fn is_due(&mut self, task: RankTask) -> bool {
        let length = self.calls_of(task).length;
        self.ahead.as_ref().map_or(length >= BATCH, |ahead| ahead.is_due(length))
    }

    fn announced_of(&mut self, task: RankTask) -> &mut AnnouncedCall {
        match task {
            RankTask::Main => &mut self.announced,
            RankTask::Thread(number) => &mut self.strands.entry(number).or_default().announced,
        }
    }

    /// Writes the function of `task`, if it has changed. Returns the former one.
    fn announce(&mut self, task: RankTask) -> AnnouncedCall {
        let function = self.process.function.get();
        let current = if self.counts_calls { self.process.current_call() } else { CurrentCall::default() };
        let announced = self.announced_of(task);
        let former = std::mem::replace(announced, AnnouncedCall { function, current });
        if !std::ptr::eq(function, former.function) {
            self.calls_of(task).function(function);
        }
        if current != former.current {
            self.calls_of(task).new_call(current.is_profiled);
        }
        former
    }

    /// Writes a call of `task`, with its function.
    fn put(&mut self, task: RankTask, call: &mut Call) -> WrittenCall {
        let before = self.calls_of(task).length;
        let former = self.announce(task);
        let starting = self.write(task, call);
        let calls = self.calls_of(task);
        if std::mem::take(&mut calls.is_full) {
            calls.length = before;
            *self.announced_of(task) = former;
            starting.into_iter().for_each(|id| self.release(id));
            return if before > 0 { WrittenCall::Full } else { WrittenCall::TooLong };
        }
        match starting {
            Some(id) => {
                self.begin(id, call);
                WrittenCall::Started(id)
            }
            None if runs_ahead(call) => WrittenCall::Done,
            None => WrittenCall::Asks,
        }
    }

    /// Writes a call of `task`. Returns the request that the call starts.
    pub(super) fn write(&mut self, task: RankTask, call: &Call) -> Option<RequestId> {
        let starting = matches!(call, Call::Start(_) | Call::Isend(_) | Call::Irecv(_)).then(|| self.add_request());
        let number = self.started;
        let calls = self.calls_of(task);
        match (call, starting) {
            (Call::Start(program), Some(id)) => calls.strand(number, id, program.thread().unwrap_or(0)),
            (_, Some(id)) => {
                calls.starts(id);
                calls.call(call);
            }
            _ => calls.call(call),
        }
        starting
    }

    /// Notes the request `id` and the strand that `call` has started.
    pub(super) fn begin(&mut self, id: RequestId, call: &mut Call) {
        self.note_request(id, call);
        if matches!(call, Call::Start(_))
            && let Call::Start(program) = std::mem::replace(call, Call::Yield)
        {
            self.add_strand(program);
        }
    }

    fn add_request(&mut self) -> RequestId {
        self.free.pop().unwrap_or_else(|| {
            self.requests += 1;
            self.requests - 1
        })
    }

    fn release(&mut self, id: RequestId) {
        if id != COMPLETE {
            self.free.push(id);
        }
    }

    /// Releases the identifiers of requests that a call has completed.
    pub(super) fn release_completed(&mut self, waited: &Requests, is_whole: bool, reply: &OwnReplyKind) {
        if is_whole {
            waited.iter().for_each(|&id| self.release(id));
        } else if let OwnReplyKind::Completed(completions) = reply {
            let done: Requests = completions.iter().filter_map(|of| waited.get(of.index as usize).copied()).collect();
            done.into_iter().for_each(|id| self.release(id));
        }
    }

    /// Passes the calls in the outbox, the last of which is of `task`, to the simulator. Continues strands other than
    /// threads. Returns the next reply to a thread.
    pub(super) fn exchange(&mut self, task: RankTask) -> NextReply {
        self.is_busy = true;
        let turn = loop {
            self.wait_for_simulator();
            match self.received() {
                Received::Reply(reply) => {
                    self.area.give_back(self.area.outbox(), self.outbox.length);
                    self.outbox.length = 0;
                    self.begin_batch();
                    break if task == RankTask::Main { NextReply::Own(reply) } else { NextReply::Other(None, reply) };
                }
                Received::Strand(number, reply) => {
                    if let Some(turn) = self.continue_strand(number, reply, task) {
                        break turn;
                    }
                }
                Received::Serve(message) => self.serve(message),
                Received::End if self.has_ended => {
                    let reply = OwnReply { clock: self.process.clock.get(), kind: OwnReplyKind::Done };
                    break if task == RankTask::Main { NextReply::Own(reply) } else { NextReply::Other(None, reply) };
                }
                Received::End => end_of_run(),
            }
        };
        self.is_busy = false;
        turn
    }

    /// Makes the calls and answers in the boxes visible to the simulator.
    pub(super) fn publish(&self) {
        self.area.control().written.store(self.outbox.length, Ordering::Relaxed);
        self.area.control().answered.store(self.answers.length, Ordering::Relaxed);
    }

    /// Passes the turn to the simulator.
    fn stop(&self) {
        self.publish();
        match self.ahead {
            Some(_) => self.area.stop_for_simulator(),
            None => self.area.pass(ProcessTurn::Simulator),
        }
    }

    /// Passes the turn to the simulator and waits for its message.
    fn wait_for_simulator(&mut self) {
        turn_changes();
        self.stop();
        self.wait_for_turn();
        // A sender wakes the process if the box of early messages is full.
        while self.ahead.is_some() && !self.area.control().is_asked.load(Ordering::Relaxed) {
            self.collect();
            self.stop();
            self.wait_for_turn();
        }
        turn_changes();
    }

    /// Waits until the process has the turn.
    pub(super) fn wait_for_turn(&self) {
        while !self.area.wait(ProcessTurn::Process, Duration::from_secs(1)) {
            // SAFETY: signal 0 only asks whether the process exists.
            if unsafe { libc::kill(self.area.table.simulator() as i32, 0) } != 0 {
                end_at_once(1);
            }
        }
    }

    /// Reads the message of the simulator. The inbox then has room for answers.
    fn received(&mut self) -> Received {
        let control = self.area.control();
        control.is_asked.store(false, Ordering::Relaxed);
        let length = control.answered.load(Ordering::Relaxed);
        let received = BoxReader::new(self.area.inbox(), 0, length).message_of_simulator();
        self.area.give_back(self.area.inbox(), length);
        self.answers.length = 0;
        received
    }

    /// Executes a one-sided operation or a strand for the simulator, and writes the answer. Ends the process at the end
    /// of the run.
    pub(super) fn answer_simulator(&mut self) {
        match self.received() {
            Received::Serve(message) => self.serve(message),
            Received::Strand(number, reply) => {
                let turn = self.continue_strand(number, reply, RankTask::Main);
                assert!(turn.is_none(), "a rank with several threads waits for the simulator");
            }
            Received::End => end_of_run(),
            Received::Reply(_) => unreachable!("the rank waits for messages"),
        }
    }

    fn serve(&mut self, message: Served) {
        let mut answers: Vec<Message> = Vec::new();
        self.process.serve(message, &mut answers);
        self.answers.answers(&answers);
    }

    /// Returns the call that ends the run, because a message is too long.
    pub(super) fn no_room(&self) -> Call {
        let what = format!("a message is longer than {} bytes", self.area.room());
        let place = self.process.function.get().to_owned();
        Call::Fail(Box::new(ProgramError { kind: FailureKind::NoRoom, place, what }))
    }

    /// Passes the time of the rank's code up to a crash to the simulator. Allocates no memory and does not wait.
    fn report_crash(&mut self) {
        if self.is_busy || self.has_ended {
            return;
        }
        let p = self.process;
        self.area.control().crashed.store(if p.in_call() { 2 } else { 1 }, Ordering::Release);
        let calls = if gate::own_task() == 0 { &mut self.outbox } else { &mut self.answers };
        calls.function(p.function.get());
        calls.call(&p.last_block());
        self.stop();
    }

    /// Writes the results of the rank.
    pub fn end(&mut self, results: &RankEnding) {
        self.outbox.ending(results);
        self.has_ended = true;
    }

    /// The rank's state.
    pub fn process(&self) -> &'static MpiProcess {
        self.process
    }
}

/// Reports a crash of the rank's thread to the simulator.
pub fn report_crash() {
    if current().is_some() {
        with(Connection::report_crash);
    }
}

/// Passes the calls of `task` to the simulator, and waits for the reply to the last one.
fn pass(p: &MpiProcess, task: RankTask) -> OwnReply {
    let reply = match connected(|connection| connection.exchange(task)) {
        NextReply::Own(reply) => reply,
        NextReply::Other(gate, reply) => gate::switch(p, gate, reply),
    };
    p.has_waited();
    reply
}

/// Ends the thread that was the strand `number`. Returns the next reply, and the gate of the thread to which it belongs
/// unless that is the main thread.
pub fn after_end(number: u32) -> (Option<Arc<ThreadGate>>, OwnReply) {
    let next = connected(|connection| {
        connection.strands.remove(&number);
        connection.answers.call(&Call::Finish);
        connection.exchange(RankTask::Thread(number))
    });
    match next {
        NextReply::Own(_) => unreachable!("an ended strand gets no reply"),
        NextReply::Other(gate, reply) => (gate, reply),
    }
}

/// Executes a call of a task. The task may continue before the simulator executes the call.
fn answer(p: &MpiProcess, task: RankTask, call: &mut Call) -> OwnReply {
    let wait = connected(|connection| connection.prepare(call, task));
    let (waited, is_whole) = waited_by(call);
    let mut written = connected(|connection| connection.put(task, call));
    if matches!(written, WrittenCall::Full) {
        connected(|connection| connection.calls_of(task).call(&Call::Yield));
        pass(p, task);
        written = connected(|connection| connection.put(task, call));
    }
    if matches!(written, WrittenCall::Full | WrittenCall::TooLong) {
        connected(|connection| {
            let error = connection.no_room();
            connection.calls_of(task).call(&error);
        });
        pass(p, task);
    }
    // The content of the call is dropped here, as the caller expects.
    match std::mem::replace(call, Call::Yield) {
        Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => payloads::done(message.payload),
        other => drop(other),
    }
    let early = connected(|connection| wait.is_early.then(|| connection.complete_early(&wait)));
    if early.is_some() {
        connected(|connection| waited.iter().for_each(|&id| connection.release(id)));
    }
    let known = match (written, early) {
        (WrittenCall::Done, _) => Some(OwnReplyKind::Done),
        (WrittenCall::Started(id), _) => Some(OwnReplyKind::Started(id)),
        (_, early) => early,
    };
    let Some(kind) = known else {
        let mut reply = pass(p, task);
        connected(|connection| {
            connection.finish_receives(&wait, &mut reply.kind);
            connection.release_completed(&waited, is_whole, &reply.kind);
        });
        return reply;
    };
    if connected(|connection| connection.is_due(task)) {
        connected(|connection| connection.calls_of(task).call(&Call::Yield));
        let OwnReply { clock, .. } = pass(p, task);
        return OwnReply { clock, kind };
    }
    OwnReply { clock: p.clock.get(), kind }
}

/// Simulator as the code of a task sees it.
pub struct TaskSimulator {
    process: &'static MpiProcess,
    task: RankTask,
    reply: OwnReply,
}

impl TaskSimulator {
    /// Creates the simulator of `task`, which has got `reply`.
    pub fn new(process: &'static MpiProcess, task: RankTask, reply: OwnReply) -> TaskSimulator {
        TaskSimulator { process, task, reply }
    }
}

impl Simulator for TaskSimulator {
    fn ask(&mut self, call: &mut Call) -> Immediate<'_> {
        self.reply = answer(self.process, self.task, call);
        Immediate::Replied(self.reply.reply())
    }
}
