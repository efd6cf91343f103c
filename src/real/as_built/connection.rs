//! Connection of a rank's process to the simulator. All threads of the rank that have clocks of their own use it, one at
//! a time: the thread whose call the simulator has answered. A thread passes its calls to the simulator itself, and
//! wakes the thread to which the next reply belongs.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use mcpsim_core::rank::{
    COMPLETE, Call, FailureKind, Immediate, Message, Program, ProgramError, Reply, ReplyKind, RequestId, Requests,
    Simulator,
};
use mcpsim_core::units::SimSpan;

use super::fork::end_at_once;
use super::gate::{self, ThreadGate};
use super::memory::{Area, ProcessTurn};
use super::reader::BoxReader;
use super::wire::{OwnReply, OwnReplyKind, Received, waited_by};
use super::writer::BoxWriter;
use crate::mpi_api::{MpiProcess, payloads};
use crate::process::{Interface, current, run_as};

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
    area: Area,
    outbox: BoxWriter,
    /// End of the main thread's calls in the outbox. The calls of other threads follow.
    main_end: u64,
    process: &'static MpiProcess,
    /// True while the rank exchanges messages with the simulator.
    is_busy: bool,
    /// Name of the last MPI function of the main thread that was written to the simulator.
    function: &'static str,
    free: Vec<RequestId>,
    requests: RequestId,
    strands: HashMap<u32, RunningStrand>,
    started: u32,
    pub has_ended: bool,
}

/// A strand that has not ended.
#[derive(Default)]
struct RunningStrand {
    /// The strand; absent while it runs, and for a thread.
    program: Option<Box<dyn Program>>,
    /// The point at which the thread waits, if the strand is a thread.
    gate: Option<Arc<ThreadGate>>,
    /// Name of the last function of the thread that was written to the simulator.
    function: &'static str,
    /// Request that the strand's current call starts.
    starting: Option<RequestId>,
    /// Requests of the strand's current call, and whether the call completes all of them.
    waited: (Requests, bool),
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
enum NextReply {
    Own(OwnReply),
    Other(Option<Arc<ThreadGate>>, OwnReply),
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

/// Removes the connection of a forked process, which is no rank.
pub fn forget() {
    CONNECTION.store(std::ptr::null_mut(), Ordering::Relaxed);
}

/// Connects the process, passes the turn to the simulator, and returns its first reply.
pub fn connect(area: Area, process: &'static MpiProcess) -> OwnReply {
    let outbox = BoxWriter::new(area.outbox(), area.room(), 0);
    let connection = Connection {
        area,
        outbox,
        main_end: 0,
        process,
        is_busy: false,
        function: "",
        free: Vec::new(),
        requests: 0,
        strands: HashMap::new(),
        started: 0,
        has_ended: false,
    };
    CONNECTION.store(Box::leak(Box::new(connection)), Ordering::Release);
    pass(process, RankTask::Main)
}

/// Returns true for calls after which the rank continues without a reply.
fn runs_ahead(call: &Call) -> bool {
    match call {
        Call::Compute(span) => *span != SimSpan::ZERO,
        Call::Work(_) | Call::Code(_) | Call::Data(_) | Call::Send(_) | Call::Enter(_) | Call::Leave => true,
        _ => false,
    }
}

impl Connection {
    /// Position in the outbox after which the calls of `task` are written.
    fn start_of(&self, task: RankTask) -> u64 {
        if task == RankTask::Main { 0 } else { self.main_end }
    }

    fn function_of(&mut self, task: RankTask) -> &mut &'static str {
        match task {
            RankTask::Main => &mut self.function,
            RankTask::Thread(number) => &mut self.strands.entry(number).or_default().function,
        }
    }

    /// Writes the function of `task`, if it has changed.
    fn announce(&mut self, task: RankTask) {
        let function = self.process.function.get();
        let known = self.function_of(task);
        if !std::ptr::eq(function, *known) {
            *known = function;
            self.outbox.function(function);
        }
    }

    /// Writes a call of `task`, with its function.
    fn put(&mut self, task: RankTask, call: &mut Call) -> WrittenCall {
        let before = self.outbox.length;
        self.announce(task);
        let starting = matches!(call, Call::Start(_) | Call::Isend(_) | Call::Irecv(_)).then(|| self.add_request());
        match (&*call, starting) {
            (Call::Start(program), Some(id)) => self.outbox.strand(self.started, id, program.thread().unwrap_or(0)),
            (_, Some(id)) => {
                self.outbox.starts(id);
                self.outbox.call(call);
            }
            _ => self.outbox.call(call),
        }
        if std::mem::take(&mut self.outbox.is_full) {
            self.outbox.length = before;
            *self.function_of(task) = "";
            starting.into_iter().for_each(|id| self.release(id));
            return if before > self.start_of(task) { WrittenCall::Full } else { WrittenCall::TooLong };
        }
        if matches!(call, Call::Start(_))
            && let Call::Start(program) = std::mem::replace(call, Call::Yield)
        {
            self.add_strand(program);
        }
        match starting {
            Some(id) => WrittenCall::Started(id),
            None if runs_ahead(call) => WrittenCall::Done,
            None => WrittenCall::Asks,
        }
    }

    fn add_strand(&mut self, program: Box<dyn Program>) {
        let gate = program.thread().is_some().then(|| gate::of_started(self.started)).flatten();
        let program = gate.is_none().then_some(program);
        self.strands.insert(self.started, RunningStrand { program, gate, ..RunningStrand::default() });
        self.started += 1;
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
    fn release_completed(&mut self, waited: &Requests, is_whole: bool, reply: &OwnReplyKind) {
        if is_whole {
            waited.iter().for_each(|&id| self.release(id));
        } else if let OwnReplyKind::Completed(completions) = reply {
            let done: Requests = completions.iter().filter_map(|of| waited.get(of.index as usize).copied()).collect();
            done.into_iter().for_each(|id| self.release(id));
        }
    }

    /// Passes the calls in the outbox, the last of which is of `task`, to the simulator. Continues strands other than
    /// threads. Returns the next reply to a thread.
    fn exchange(&mut self, task: RankTask) -> NextReply {
        self.is_busy = true;
        if task == RankTask::Main {
            self.main_end = self.outbox.length;
        }
        let turn = loop {
            self.area.control().written.store(self.outbox.length, Ordering::Relaxed);
            self.area.pass(ProcessTurn::Simulator);
            while !self.area.wait(ProcessTurn::Process, Duration::from_secs(1)) {
                // SAFETY: signal 0 only asks whether the process exists.
                if unsafe { libc::kill(self.area.simulator as i32, 0) } != 0 {
                    end_at_once(1);
                }
            }
            let length = self.area.control().answered.load(Ordering::Relaxed);
            let received = BoxReader::new(self.area.inbox(), 0, length).message_of_simulator();
            self.area.give_back(self.area.inbox(), length);
            match received {
                Received::Reply(reply) => {
                    self.area.give_back(self.area.outbox(), self.outbox.length);
                    (self.outbox.length, self.main_end) = (0, 0);
                    break if task == RankTask::Main { NextReply::Own(reply) } else { NextReply::Other(None, reply) };
                }
                Received::Strand(number, reply) => {
                    // The simulator has read the calls after those of the main thread.
                    self.outbox.length = self.main_end;
                    if let Some(turn) = self.continue_strand(number, reply, task) {
                        break turn;
                    }
                }
                Received::Serve(message) => {
                    self.outbox.length = self.main_end;
                    let mut answers: Vec<Message> = Vec::new();
                    self.process.serve(message, &mut answers);
                    self.outbox.answers(&answers);
                }
                Received::End if self.has_ended => {
                    let reply = OwnReply { clock: self.process.clock.get(), kind: OwnReplyKind::Done };
                    break if task == RankTask::Main { NextReply::Own(reply) } else { NextReply::Other(None, reply) };
                }
                Received::End => {
                    // SAFETY: the function has no requirements for a null pointer, which means all streams.
                    unsafe { libc::fflush(std::ptr::null_mut()) };
                    end_at_once(1)
                }
            }
        };
        self.is_busy = false;
        turn
    }

    /// Continues a strand with the reply to its last call. Returns the reply if the strand is a thread. Otherwise writes
    /// its next call.
    fn continue_strand(&mut self, number: u32, mut reply: OwnReply, task: RankTask) -> Option<NextReply> {
        let Some(strand) = self.strands.get_mut(&number) else {
            self.outbox.call(&Call::Finish);
            return None;
        };
        if let (OwnReplyKind::Started(_), Some(own)) = (&reply.kind, strand.starting.take()) {
            reply.kind = OwnReplyKind::Started(own);
        }
        let (waited, is_whole) = std::mem::take(&mut strand.waited);
        let (program, gate) = (strand.program.take(), strand.gate.clone());
        self.release_completed(&waited, is_whole, &reply.kind);
        if gate.is_some() {
            return Some(if task == RankTask::Thread(number) {
                NextReply::Own(reply)
            } else {
                NextReply::Other(gate, reply)
            });
        }
        let mut program = program.expect("a strand does not run twice at a time");
        let mut call = program.next(reply.reply());
        run_as(self.process);
        let mut running =
            RunningStrand { program: Some(program), waited: waited_by(&call), ..RunningStrand::default() };
        match &mut call {
            Call::Finish => {
                self.strands.remove(&number);
                self.outbox.call(&call);
                return None;
            }
            Call::Start(_) => {
                let Call::Start(program) = std::mem::replace(&mut call, Call::Yield) else { unreachable!("just seen") };
                let id = self.add_request();
                running.starting = Some(id);
                self.outbox.strand(self.started, id, program.thread().unwrap_or(0));
                self.add_strand(program);
            }
            Call::Isend(_) | Call::Irecv(_) => {
                let id = self.add_request();
                running.starting = Some(id);
                self.outbox.starts(id);
                self.outbox.call(&call);
            }
            _ => self.outbox.call(&call),
        }
        self.strands.insert(number, running);
        None
    }

    /// Passes the time of the rank's code up to a crash to the simulator. Allocates no memory and does not wait.
    fn report_crash(&mut self) {
        if self.is_busy || self.has_ended {
            return;
        }
        let p = self.process;
        self.area.control().crashed.store(if p.in_call() { 2 } else { 1 }, Ordering::Release);
        self.outbox.function(p.function.get());
        self.outbox.call(&p.last_block());
        self.area.control().written.store(self.outbox.length, Ordering::Relaxed);
        self.area.pass(ProcessTurn::Simulator);
    }

    /// Writes the results of the rank.
    pub fn end(&mut self, results: &[u8]) {
        self.outbox.ending(results);
        self.has_ended = true;
    }

    /// Returns the first thread other than the main thread that waits in an MPI function, and the name of the function.
    pub fn thread_in_mpi(&self) -> Option<(u32, &'static str)> {
        let gates = self.strands.values().filter_map(|strand| strand.gate.as_ref());
        gates.filter_map(|gate| Some((gate.task, gate.inside()?))).min()
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
    match connected(|connection| connection.exchange(task)) {
        NextReply::Own(reply) => reply,
        NextReply::Other(gate, reply) => gate::switch(p, gate, reply),
    }
}

/// Ends the thread that was the strand `number`. Returns the next reply, and the gate of the thread to which it belongs
/// unless that is the main thread.
pub fn after_end(number: u32) -> (Option<Arc<ThreadGate>>, OwnReply) {
    let next = connected(|connection| {
        connection.strands.remove(&number);
        connection.outbox.call(&Call::Finish);
        connection.exchange(RankTask::Thread(number))
    });
    match next {
        NextReply::Own(_) => unreachable!("an ended strand gets no reply"),
        NextReply::Other(gate, reply) => (gate, reply),
    }
}

/// Answer to a call of a task.
enum CallAnswer {
    /// The task continues before the simulator executes the call.
    Ahead(ReplyKind<'static>),
    Replied(OwnReply),
}

fn answer(p: &MpiProcess, task: RankTask, call: &mut Call) -> CallAnswer {
    let (waited, is_whole) = waited_by(call);
    let mut written = connected(|connection| connection.put(task, call));
    if matches!(written, WrittenCall::Full) {
        connected(|connection| connection.outbox.call(&Call::Yield));
        pass(p, task);
        written = connected(|connection| connection.put(task, call));
    }
    if matches!(written, WrittenCall::Full | WrittenCall::TooLong) {
        let what = connected(|connection| format!("a message is longer than {} bytes", connection.area.room()));
        let error = ProgramError { kind: FailureKind::NoRoom, place: p.function.get().to_owned(), what };
        connected(|connection| connection.outbox.call(&Call::Fail(Box::new(error))));
        pass(p, task);
    }
    // The content of the call is dropped here, as the caller expects.
    match std::mem::replace(call, Call::Yield) {
        Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => payloads::done(message.payload),
        other => drop(other),
    }
    let is_long = connected(|connection| connection.outbox.length - connection.start_of(task) >= BATCH);
    match written {
        WrittenCall::Done if !is_long => return CallAnswer::Ahead(ReplyKind::Done),
        WrittenCall::Started(id) if !is_long => return CallAnswer::Ahead(ReplyKind::Started(id)),
        WrittenCall::Done | WrittenCall::Started(_) => connected(|connection| connection.outbox.call(&Call::Yield)),
        _ => {}
    }
    let mut reply = pass(p, task);
    match written {
        WrittenCall::Started(id) => reply.kind = OwnReplyKind::Started(id),
        WrittenCall::Done => reply.kind = OwnReplyKind::Done,
        _ => connected(|connection| connection.release_completed(&waited, is_whole, &reply.kind)),
    }
    CallAnswer::Replied(reply)
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
        match answer(self.process, self.task, call) {
            CallAnswer::Ahead(kind) => Immediate::Replied(Reply { clock: self.process.clock.get(), kind }),
            CallAnswer::Replied(reply) => {
                self.reply = reply;
                Immediate::Replied(self.reply.reply())
            }
        }
    }
}
