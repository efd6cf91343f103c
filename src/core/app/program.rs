//! Program of a rank of a described application. Its state is a program counter, the values of variables, and the
//! outstanding requests.

use std::sync::Arc;

use crate::mpi::{BeginCollective, MpiCall, MpiProgram};
use crate::platform::{CoreRates, MemoryPart};
use crate::profile::{StepSource, TaskLog, TimerSums, Unwaited};
use crate::rank::{Call, CallSite, Describe, Envelope, FailureKind, ProgramError, Rank, Reply, ReplyKind};
use crate::units::{Bytes, SimTime};

use super::code::{Code, Op, Pc, Start};
use super::expr::Env;
use super::grid::NONE;
use super::random::Random;
use super::requests::Outstanding;
use super::slots::Slots;
use super::tasks::TaskProgram;
use super::timers::rank_slots;
use super::value::{EvalError, Value};
use super::work::Taken;

/// Number of loop iterations without communication after which the program yields, so that the engine can check its
/// limits.
const TURNS_PER_YIELD: u64 = 1 << 17;

/// Data shared by the ranks of a run.
#[derive(Debug)]
pub(super) struct SharedProgram {
    pub(super) code: Code,
    pub(super) rates: CoreRates,
    pub(super) max_turns: u64,
}

/// Program of a rank of a described application.
#[derive(Debug)]
pub enum AppProgram {
    /// The program of the rank executes statements.
    #[doc(hidden)]
    Statements(RankProgram),
    /// The program of the rank is the task manager of an MPI process.
    #[doc(hidden)]
    Fragments(FragmentProgram),
}

/// Program of a simulated rank that executes statements.
#[derive(Debug)]
pub struct RankProgram {
    shared: Arc<SharedProgram>,
    pub(super) state: ProgramState,
}

/// Program of an MPI process that executes the fragments of a task-based application.
#[derive(Debug)]
pub struct FragmentProgram(pub(super) Box<TaskProgram>);

/// State of one simulated rank that executes statements.
#[derive(Debug)]
pub(super) struct ProgramState {
    pub(super) rank: Rank,
    pub(super) pc: Pc,
    pub(super) slots: Slots,
    pub(super) outstanding: Outstanding,
    random: Random,
    /// Number of loop iterations and procedure calls since the last communication.
    pub(super) turns: u64,
    pub(super) bandwidth: f64,
    /// The rank's share of the caches in bytes. The type is f32 to save memory, because there may be millions of
    /// ranks.
    pub(super) cache: f32,
    /// Whether the instruction at `pc` has made a call to which the engine has not replied.
    called: bool,
}

impl RankProgram {
    pub(super) fn new(shared: Arc<SharedProgram>, rank: Rank, memory_share: MemoryPart) -> Self {
        let state = ProgramState::new(rank_slots(&shared.code), rank, 0, memory_share);
        RankProgram { shared, state }
    }
}

impl MpiProgram for AppProgram {
    fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        let mut requested: Option<MpiCall> = None;
        let call = self.next_call(reply, &mut requested);
        requested.unwrap_or(MpiCall::Call(call))
    }

    #[inline]
    fn next_call(&mut self, reply: Reply<'_>, collectives: &mut dyn BeginCollective) -> Call {
        match self {
            AppProgram::Statements(RankProgram { shared, state }) => {
                let clock = reply.clock;
                state.answered(&shared.code, reply.kind);
                state.run(shared, clock, collectives)
            }
            AppProgram::Fragments(FragmentProgram(program)) => program.next_call(reply, collectives),
        }
    }
}

impl Describe for AppProgram {
    fn position(&self) -> Option<String> {
        match self {
            AppProgram::Statements(RankProgram { shared, state }) => Some(state.position(&shared.code)),
            AppProgram::Fragments(FragmentProgram(program)) => program.position(),
        }
    }

    fn site(&self) -> CallSite {
        match self {
            AppProgram::Statements(program) => CallSite::Step(program.state.pc),
            AppProgram::Fragments(_) => CallSite::Unknown,
        }
    }

    fn step_name(&self, step: u32) -> String {
        match self {
            AppProgram::Statements(program) => program.shared.code.places[step as usize].to_string(),
            AppProgram::Fragments(_) => step.to_string(),
        }
    }

    fn site_name(&self, step: u32) -> String {
        match self {
            AppProgram::Statements(program) => program.shared.code.place_with_line(step),
            AppProgram::Fragments(_) => step.to_string(),
        }
    }

    fn step_source(&self, step: u32) -> StepSource {
        match self {
            AppProgram::Statements(program) => program.shared.code.step_source(step),
            AppProgram::Fragments(_) => StepSource::default(),
        }
    }

    fn sum_timers(&self, sums: &mut TimerSums) {
        if let AppProgram::Statements(RankProgram { shared, state }) = self {
            state.sum_timers(&shared.code, sums);
        }
    }

    fn sum_unwaited(&self, sums: &mut Unwaited) {
        if let AppProgram::Statements(RankProgram { shared, state }) = self {
            state.outstanding.sum_unwaited(&shared.code, sums);
        }
    }

    fn sender(&self, sent: &Envelope, size: Bytes) -> Option<String> {
        match self {
            AppProgram::Statements(program) => program.shared.code.sender(sent, size),
            AppProgram::Fragments(_) => None,
        }
    }

    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        match self {
            AppProgram::Statements(_) => None,
            AppProgram::Fragments(FragmentProgram(program)) => program.take_log(),
        }
    }
}

impl ProgramState {
    /// Creates a state with program counter `pc` and without outstanding requests.
    pub(super) fn new(slots: Slots, rank: Rank, pc: Pc, memory_share: MemoryPart) -> Self {
        let (outstanding, random) = (Outstanding::default(), Random::default());
        let (bandwidth, cache) = (memory_share.bandwidth, memory_share.cache as f32);
        ProgramState { rank, pc, slots, outstanding, random, turns: 0, bandwidth, cache, called: false }
    }

    /// Executes code that computes results. Such code makes no calls except the end, a failure and yields.
    pub(super) fn work_out(&mut self, shared: &SharedProgram) -> Call {
        self.run(shared, SimTime::ZERO, &mut None::<MpiCall>)
    }

    /// Handles the engine's reply to the last call, if the program needs the reply.
    #[inline]
    fn answered(&mut self, code: &Code, reply: ReplyKind<'_>) {
        if !self.called {
            return;
        }
        self.called = false;
        let op = self.pc;
        match reply {
            ReplyKind::Started(id) => self.outstanding.push(id, op),
            ReplyKind::Completed(completions) => self.completed(code, &code.ops[op as usize], completions),
            ReplyKind::Done if matches!(code.ops[op as usize], Op::Wait(_)) => {
                self.progressed();
                self.forget_awaited();
            }
            ReplyKind::Begin | ReplyKind::Done => {}
        }
        self.pc += 1;
    }

    /// Executes instructions until the next engine call, at the virtual time `clock`. The return type is not `Result`,
    /// because copying a call costs as much as constructing it.
    #[inline]
    fn run(&mut self, shared: &SharedProgram, clock: SimTime, collectives: &mut dyn BeginCollective) -> Call {
        let code = &shared.code;
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(fault) => return self.failed(code, &fault),
                }
            };
        }
        loop {
            match &code.ops[self.pc as usize] {
                Op::Send(send) => {
                    // The code has two return statements, so that the message is constructed in place.
                    if let Some(address) = attempt!(self.address(code, send)) {
                        self.communicate();
                        if send.start == Start::Blocking {
                            return Call::Send(address.message(send.mode));
                        }
                        return Call::Isend(address.message(send.mode));
                    }
                    self.pc += 1;
                }
                Op::Recv(receive) => {
                    if let Some(pattern) = attempt!(self.receive(code, receive)) {
                        self.communicate();
                        if receive.start == Start::Blocking {
                            return Call::Recv(pattern);
                        }
                        return Call::Irecv(pattern);
                    }
                    self.pc += 1;
                }
                Op::Exchange(both) => {
                    if let Some(call) = attempt!(self.exchange(code, &both.0, &both.1)) {
                        self.communicate();
                        return call;
                    }
                    self.pc += 1;
                }
                Op::Wait(wait) => {
                    if let Some(call) = self.wait(code, wait) {
                        // A test that completes no request is not communication, see `completed`.
                        self.called = true;
                        return call;
                    }
                    self.pc += 1;
                }
                Op::Compute(block) => {
                    let taken = attempt!(self.taken(shared, block));
                    self.called = true;
                    return match taken {
                        Taken::Span(span) => Call::Compute(span),
                        Taken::Shared(block) => Call::Work(block),
                    };
                }
                Op::Collective(collective) => {
                    let action = attempt!(self.collective(code, collective));
                    self.called = true;
                    self.turns = 0;
                    return collectives.begin(action, &|| Some(self.position(code)));
                }
                Op::Set { slot, value } => {
                    let value = attempt!(value.value(&mut self.env(code)));
                    self.slots.set(*slot, value);
                    self.pc += 1;
                }
                Op::Unless { condition, to } => {
                    self.pc = if attempt!(condition.truth(&mut self.env(code))) { self.pc + 1 } else { *to };
                }
                Op::Jump(to) => self.pc = *to,
                Op::Again(_) | Op::Next(_) | Op::Turn { .. } | Op::Call { .. } => {
                    attempt!(self.count_turn(shared));
                    attempt!(self.turn(code));
                    if self.turns.is_multiple_of(TURNS_PER_YIELD) {
                        return Call::Yield;
                    }
                }
                Op::For(_) | Op::Repeat { .. } => attempt!(self.begin_loop(code)),
                Op::Return { slot } => self.pc = self.slots.counter(*slot) as Pc,
                Op::Probe(pattern) => {
                    if let Some(pattern) = attempt!(self.pattern(code, pattern)) {
                        self.communicate();
                        return Call::Probe(pattern);
                    }
                    self.received_from_none(pattern.outputs);
                    self.pc += 1;
                }
                Op::Iprobe { pattern, found } => {
                    if let Some(pattern) = attempt!(self.pattern(code, pattern)) {
                        self.called = true;
                        return Call::Iprobe(pattern);
                    }
                    self.received_from_none(pattern.outputs);
                    self.assign(*found, Value::Bool(true));
                    self.pc += 1;
                }
                Op::Time(block) => {
                    attempt!(self.begin_timing(code, block, clock));
                    self.pc += 1;
                }
                Op::Timed { place, began } => {
                    attempt!(self.end_timing((*place, *began), clock));
                    self.pc += 1;
                }
                Op::Finish => return Call::Finish,
            }
        }
    }

    #[cold]
    fn failed(&self, code: &Code, fault: &EvalError) -> Call {
        let place = self.position(code);
        Call::Fail(Box::new(ProgramError { kind: FailureKind::Description, place, what: fault.to_string() }))
    }

    #[inline]
    pub(super) fn env<'a>(&'a mut self, code: &'a Code) -> Env<'a> {
        Env { world: &code.world, rank: self.rank, slots: &self.slots, random: &mut self.random, peer: NONE }
    }

    /// Records that the program makes a call that communicates.
    #[inline(always)]
    fn communicate(&mut self) {
        self.called = true;
        self.turns = 0;
    }

    /// Resets the count of loop iterations without communication, after a successful test or probe.
    pub(super) fn progressed(&mut self) {
        self.turns = 0;
    }

    #[inline]
    pub(super) fn assign(&mut self, slot: Option<u32>, value: Value) {
        if let Some(slot) = slot {
            self.slots.set(slot, value);
        }
    }

    /// Position of the next statement and of the calling statements, with lines in the file if known.
    pub(super) fn position(&self, code: &Code) -> String {
        let mut text = code.place_in_errors(self.pc);
        let mut pc = self.pc;
        while let Some(inside) = code.procedures.iter().find(|procedure| (procedure.start..procedure.end).contains(&pc))
        {
            pc = (self.slots.counter(inside.return_slot) as Pc).saturating_sub(1);
            text.push_str(" in ");
            text.push_str(&code.place_in_errors(pc));
        }
        text
    }
}
