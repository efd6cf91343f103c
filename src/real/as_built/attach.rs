//! Process of a rank. It creates the rank's state at the first MPI call and passes the rank's engine calls to the
//! simulator.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

use mcpsim_core::mpi::abi;
use mcpsim_core::rank::{
    COMPLETE, Call, FailureKind, FiberHandle, Immediate, Message, Program, ProgramError, Rank, Reply, ReplyKind,
    RequestId, Requests, Simulator,
};
use mcpsim_core::units::SimSpan;

use super::crashed;
use super::fork::{end_at_once, fork_ranks, preloaded};
use super::memory::{self, Area, OpenedMemory, ProcessTurn};
use super::own_process::{own_library, own_stack, refuse, wait_for_debugger};
use super::reader::BoxReader;
use super::setup::RankSetup;
use super::sync;
use super::tasks;
use super::threads;
use super::wire::{OwnReply, OwnReplyKind, Received, waited_by};
use super::writer::BoxWriter;
use crate::mpi_api::{MpiProcess, payloads};
use crate::process::{Endings, Interface, Process, RankStage, current, replacement, run_as};

/// Size of the outbox in bytes at which calls are passed to the simulator at the latest.
const BATCH: u64 = 256 << 10;

static ATTACHED: AtomicPtr<MpiProcess> = AtomicPtr::new(std::ptr::null_mut());
/// Connection of this process, or null.
static CONNECTION: AtomicPtr<Connection> = AtomicPtr::new(std::ptr::null_mut());
/// True in a process that a rank has forked.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Connection of a rank's process to the simulator.
struct Connection {
    area: Area,
    outbox: BoxWriter,
    process: *const MpiProcess,
    /// True while the rank exchanges messages with the simulator.
    is_busy: bool,
    /// Name of the last MPI function that was written to the simulator.
    function: &'static str,
    free: Vec<RequestId>,
    requests: RequestId,
    strands: HashMap<u32, RunningStrand>,
    started: u32,
    /// Reply to the last call, which the rank's code reads.
    reply: OwnReply,
    has_ended: bool,
}

/// A strand that has not ended.
struct RunningStrand {
    /// The strand; absent while it runs.
    program: Option<Box<dyn Program>>,
    /// Request that the strand's current call starts.
    starting: Option<RequestId>,
    /// Requests of the strand's current call, and whether the call completes all of them.
    waited: (Requests, bool),
}

/// Answer to a call of the rank.
enum CallAnswer {
    Done,
    Started(RequestId),
    Asks,
}

impl Connection {
    fn process(&self) -> &'static MpiProcess {
        // SAFETY: the rank's state is never freed.
        unsafe { &*self.process }
    }

    /// Writes a message with `write`. If the outbox has too little room left, passes its content to the simulator
    /// first.
    fn write(&mut self, write: &dyn Fn(&mut BoxWriter)) {
        let before = self.outbox.length;
        write(&mut self.outbox);
        if std::mem::take(&mut self.outbox.is_full) {
            self.outbox.length = before;
            self.outbox.call(&Call::Yield);
            self.exchange();
            write(&mut self.outbox);
            if std::mem::take(&mut self.outbox.is_full) {
                self.outbox.length = 0;
                let what = format!("a message is longer than {} bytes", self.area.room());
                let error = ProgramError { kind: FailureKind::NoRoom, place: self.function.to_owned(), what };
                self.outbox.call(&Call::Fail(Box::new(error)));
                self.exchange();
            }
        }
    }

    /// Passes the calls in the outbox to the simulator and waits for its reply to the last call.
    fn exchange(&mut self) {
        loop {
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
                    self.outbox.length = 0;
                    self.reply = reply;
                    return;
                }
                Received::Strand(number, reply) => self.continue_strand(number, reply),
                Received::Serve(message) => {
                    let mut answers: Vec<Message> = Vec::new();
                    self.process().serve(message, &mut answers);
                    self.outbox.answers(&answers);
                }
                Received::End if self.has_ended => return,
                Received::End => {
                    // SAFETY: the function has no requirements for a null pointer, which means all streams.
                    unsafe { libc::fflush(std::ptr::null_mut()) };
                    end_at_once(1)
                }
            }
        }
    }

    /// Continues a strand with the reply to its last call, and writes its next call.
    fn continue_strand(&mut self, number: u32, mut reply: OwnReply) {
        let Some(strand) = self.strands.get_mut(&number) else { return self.outbox.call(&Call::Finish) };
        if let (OwnReplyKind::Started(_), Some(own)) = (&reply.kind, strand.starting.take()) {
            reply.kind = OwnReplyKind::Started(own);
        }
        let (waited, is_whole) = std::mem::take(&mut strand.waited);
        let program = strand.program.take();
        self.release_completed(&waited, is_whole, &reply.kind);
        let mut program = program.expect("a strand does not run twice at a time");
        let mut call = program.next(reply.reply());
        run_as(self.process());
        let mut running = RunningStrand { program: Some(program), starting: None, waited: waited_by(&call) };
        match &mut call {
            Call::Finish => {
                self.strands.remove(&number);
                return self.outbox.call(&call);
            }
            Call::Start(_) => {
                let Call::Start(program) = std::mem::replace(&mut call, Call::Yield) else { unreachable!("just seen") };
                running.starting = Some(self.start(program));
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
    }

    /// Writes the start of a strand, and returns its request.
    fn start(&mut self, program: Box<dyn Program>) -> RequestId {
        let (number, id, is_thread) = (self.started, self.add_request(), program.is_thread());
        self.started += 1;
        let strand = RunningStrand { program: Some(program), starting: None, waited: Default::default() };
        self.strands.insert(number, strand);
        self.write(&|outbox| outbox.strand(number, id, is_thread));
        id
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

    fn send(&mut self, call: &mut Call) -> CallAnswer {
        match call {
            Call::Start(_) => {
                let Call::Start(program) = std::mem::replace(call, Call::Yield) else { unreachable!("just seen") };
                CallAnswer::Started(self.start(program))
            }
            Call::Isend(_) | Call::Irecv(_) => {
                let id = self.add_request();
                self.write(&|outbox| {
                    outbox.starts(id);
                    outbox.call(call);
                });
                CallAnswer::Started(id)
            }
            Call::Compute(SimSpan::ZERO) => {
                self.write(&|outbox| outbox.call(call));
                CallAnswer::Asks
            }
            _ => {
                self.write(&|outbox| outbox.call(call));
                match call {
                    Call::Compute(_) | Call::Work(_) | Call::Code(_) | Call::Data(_) | Call::Send(_) => {
                        CallAnswer::Done
                    }
                    Call::Enter(_) | Call::Leave => CallAnswer::Done,
                    _ => CallAnswer::Asks,
                }
            }
        }
    }
}

impl Simulator for Connection {
    fn ask(&mut self, call: &mut Call) -> Immediate<'_> {
        self.is_busy = true;
        let kind = self.answer(call);
        self.is_busy = false;
        match kind {
            Some(kind) => Immediate::Replied(Reply { clock: self.process().clock.get(), kind }),
            None => Immediate::Replied(self.reply.reply()),
        }
    }
}

impl Connection {
    /// Passes a call to the simulator. Returns the reply, or `None` if the reply is that of the simulator.
    fn answer(&mut self, call: &mut Call) -> Option<ReplyKind<'static>> {
        let function = self.process().function.get();
        if !std::ptr::eq(function, self.function) {
            self.function = function;
            self.write(&|outbox| outbox.function(function));
        }
        let answer = self.send(call);
        let (waited, is_whole) = waited_by(call);
        // The content of the call is dropped here, as the caller expects.
        match std::mem::replace(call, Call::Yield) {
            Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => payloads::done(message.payload),
            other => drop(other),
        }
        match answer {
            CallAnswer::Asks => self.exchange(),
            CallAnswer::Done | CallAnswer::Started(_) if self.outbox.length < BATCH => {
                let kind = match answer {
                    CallAnswer::Started(id) => ReplyKind::Started(id),
                    _ => ReplyKind::Done,
                };
                return Some(kind);
            }
            CallAnswer::Done => {
                self.outbox.call(&Call::Yield);
                self.exchange();
            }
            CallAnswer::Started(id) => {
                self.outbox.call(&Call::Yield);
                self.exchange();
                self.reply.kind = OwnReplyKind::Started(id);
            }
        }
        let kind = std::mem::replace(&mut self.reply.kind, OwnReplyKind::Done);
        self.release_completed(&waited, is_whole, &kind);
        self.reply.kind = kind;
        None
    }

    /// Passes the time of the rank's code up to a crash to the simulator. Allocates no memory and does not wait.
    fn report_crash(&mut self) {
        if self.is_busy || self.has_ended {
            return;
        }
        let p = self.process();
        self.area.control().crashed.store(if p.in_call() { 2 } else { 1 }, Ordering::Release);
        self.outbox.function(p.function.get());
        self.outbox.call(&p.last_block());
        self.area.control().written.store(self.outbox.length, Ordering::Relaxed);
        self.area.pass(ProcessTurn::Simulator);
    }
}

/// Reports a crash of the rank's thread to the simulator.
fn report_crash() {
    let connection = CONNECTION.load(Ordering::Acquire);
    if !connection.is_null() && current().is_some() {
        // SAFETY: the connection is never freed, and only the rank's thread uses it.
        unsafe { (*connection).report_crash() }
    }
}

/// Makes the forked process of a rank no rank.
extern "C" fn forked() {
    IS_CHILD.store(true, Ordering::Relaxed);
    CONNECTION.store(std::ptr::null_mut(), Ordering::Relaxed);
    crate::process::run_as_nobody();
}

/// Connects the process to the simulator as the rank for which it was started. Only the first call has an effect.
pub fn attach() {
    if !attached() {
        connect();
    }
}

/// Returns true if the process is a rank.
pub fn attached() -> bool {
    !ATTACHED.load(Ordering::Acquire).is_null()
}

/// Returns true if the current thread runs the rank's own code, not an MPI function.
extern "C" fn runs_rank_code() -> bool {
    threads::is_caller() && current().is_some_and(|p| !p.in_call())
}

/// Returns the address of the function of virtual time that replaces the function `name` of the C library.
extern "C" fn replacement_of(name: *const c_char) -> usize {
    // SAFETY: the preloaded library passes a text that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    let found = name.to_str().ok().and_then(|name| sync::find(name).or_else(|| replacement(name)));
    found.expect("the simulator replaces the function")
}

/// Registers the functions of virtual time with the preloaded library.
fn register() {
    let (Some(clocks), Some(end)) = (preloaded(c"mcpsim_register"), preloaded(c"mcpsim_register_end")) else {
        refuse("the library libmcpsim_preload.so is missing in the process of a rank");
    };
    type Register = extern "C" fn(extern "C" fn(*const c_char) -> usize, extern "C" fn() -> bool);
    type RegisterEnd = extern "C" fn(extern "C" fn(c_int));
    // SAFETY: the preloaded library has functions with these names and signatures.
    unsafe {
        std::mem::transmute::<*mut c_void, Register>(clocks)(replacement_of, runs_rank_code);
        std::mem::transmute::<*mut c_void, RegisterEnd>(end)(ended);
    }
}

/// Makes the rank of the process the rank of the current thread. Each MPI function begins with this call. The first
/// call connects the process to the simulator.
#[inline]
pub fn needs_rank() {
    if current().is_none() || !threads::is_caller() {
        become_caller();
    }
}

/// Makes the current thread the one that calls MPI.
#[cold]
fn become_caller() {
    if IS_CHILD.load(Ordering::Relaxed) {
        refuse("MPI was called by a second process of a rank: expected one process that calls MPI");
    }
    let is_first = !attached();
    attach();
    // SAFETY: the pointer is not null after `attach`, and the rank's state is never freed.
    let p = unsafe { &*ATTACHED.load(Ordering::Acquire) };
    if !is_first {
        if p.threads.provided.get() < abi::MPI_THREAD_SERIALIZED {
            refuse(
                "MPI was called by a second thread: expected calls by one thread, or MPI_Init_thread with \
                 MPI_THREAD_SERIALIZED",
            );
        }
        if p.in_call() || tasks::is_managed() {
            refuse(&format!(
                "a second thread called MPI while another thread was in {}: expected calls of one thread at a time, or \
                 of threads that pthread_create has started after MPI_Init_thread with MPI_THREAD_MULTIPLE",
                p.function.get()
            ));
        }
        threads::take_over(p);
        p.own_stack.set(own_stack());
        p.threads.is_main.set(threads::is_main());
    }
    run_as(p);
}

#[cold]
fn connect() {
    crate::process::use_host_clock();
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(path), Some(rank)) = (variable(memory::FILE), variable(memory::RANK).and_then(|text| text.parse().ok()))
    else {
        refuse("this MPI library belongs to mcpsim: start the program with mcpsim");
    };
    let opened = OpenedMemory::new(&path).unwrap_or_else(|error| refuse(&format!("{path}: {error}")));
    let setup = RankSetup::read(&opened.setup).unwrap_or_else(|| refuse("unknown format of the run's description"));
    let job = setup.job().unwrap_or_else(|what| refuse(&what));
    let rank: Rank = fork_ranks(&opened, &setup, &job, rank)
        .unwrap_or_else(|error| refuse(&format!("cannot open the streams of a rank: {error}")));
    let area = opened.area(rank).unwrap_or_else(|error| refuse(&format!("cannot share memory with mcpsim: {error}")));
    drop(opened);
    let owner = std::process::id();
    if let Err(other) = area.control().process.compare_exchange(0, owner, Ordering::AcqRel, Ordering::Acquire) {
        refuse(match other == owner {
            true => "a process of a rank uses two MPI libraries or programs: expected one program with one MPI library",
            false => "MPI was called by a second process of a rank: expected one process that calls MPI",
        });
    }
    area.control().library.store(own_library(), Ordering::Relaxed);
    if setup.debugged == Some(rank) {
        wait_for_debugger(rank);
    }
    let process: &'static MpiProcess = Box::leak(Box::new(MpiProcess::new(Process::new(Arc::new(job), rank))));
    process.own_stack.set(own_stack());
    let outbox = BoxWriter::new(area.outbox(), area.room(), 0);
    let connection: &'static mut Connection = Box::leak(Box::new(Connection {
        area,
        outbox,
        process,
        is_busy: false,
        function: "",
        free: Vec::new(),
        requests: 0,
        strands: HashMap::new(),
        started: 0,
        reply: OwnReply { clock: process.clock.get(), kind: OwnReplyKind::Begin },
        has_ended: false,
    }));
    CONNECTION.store(std::ptr::from_mut(connection), Ordering::Release);
    // SAFETY: the functions are called with valid arguments.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::pthread_atfork(None, None, Some(forked));
    }
    crashed::watch(report_crash);
    run_as(process);
    connection.exchange();
    process.clock.set(connection.reply.clock);
    let handle: &'static FiberHandle<'static> = Box::leak(Box::new(FiberHandle::outside(connection)));
    process.set_handle(handle);
    process.threads.most.set(if setup.has_threads { abi::MPI_THREAD_MULTIPLE } else { abi::MPI_THREAD_SERIALIZED });
    ATTACHED.store(std::ptr::from_ref(process).cast_mut(), Ordering::Release);
    register();
    threads::watch(process);
}

/// Reports the end of the rank to the simulator. The process then serves one-sided operations until the run ends.
extern "C" fn ended(code: c_int) {
    let connection = CONNECTION.load(Ordering::Acquire);
    if connection.is_null() {
        return;
    }
    // SAFETY: the connection is never freed. A process that the rank has forked has none.
    let connection = unsafe { &mut *connection };
    let p = connection.process();
    if connection.has_ended {
        return;
    }
    if tasks::own_task() != 0 {
        tasks::refuse_exit(p, code);
    }
    run_as(p);
    // SAFETY: the function has no requirements for a null pointer, which means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let code = code & 0xff;
    let orderly = p.stage.get() != RankStage::Initialised;
    if code != 0 && !orderly {
        let place = p.position().map_or(String::new(), |place| format!("after {place}"));
        let error = ProgramError { kind: FailureKind::Exited { code }, place, what: "without MPI_Finalize".to_owned() };
        connection.has_ended = true;
        p.call_done(Call::Fail(Box::new(error)));
        return;
    }
    if p.in_vain.get() > SimSpan::ZERO {
        p.job.idled_in_vain(p.rank, p.in_vain.get());
    }
    p.job.ended(p.rank, code, orderly);
    p.ended();
    let endings: Endings = p.job.endings();
    let text = postcard::to_stdvec(&endings).expect("the results have a known length");
    connection.outbox.ending(&text);
    connection.has_ended = true;
    p.call_done(Call::Finish);
}
