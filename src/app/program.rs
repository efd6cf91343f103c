//! A rank of a described application: a program counter, its names, its outstanding requests.

use std::sync::Arc;

use crate::mpi::{Action, MpiProgram};
use crate::platform::{CoreRates, Work};
use crate::rank::{Call, ProgramError, Rank, Reply, ReplyKind};
use crate::units::SimSpan;

use super::code::{Block, Code, Cost, Op, Pc};
use super::expr::Env;
use super::grid::NONE;
use super::random::Random;
use super::requests::Outstanding;
use super::slots::Slots;
use super::value::{Evaluated, Fault, Value};

/// Silent loop turns between two chances for the engine to look after its limits.
const TURNS_PER_YIELD: u64 = 1 << 17;

/// What the ranks of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) code: Code,
    pub(super) rates: CoreRates,
    pub(super) max_turns: u64,
}

/// One rank of a described application.
#[derive(Debug)]
pub struct AppProgram {
    shared: Arc<Shared>,
    pub(super) state: RankState,
}

/// What differs from rank to rank.
#[derive(Debug)]
pub(super) struct RankState {
    pub(super) rank: Rank,
    pub(super) pc: Pc,
    pub(super) slots: Slots,
    pub(super) outstanding: Outstanding,
    random: Random,
    /// Loop turns and procedure calls since the last communication.
    turns: u64,
    memory_share: f64,
    /// The op at `pc` has made a call that is not answered yet.
    called: bool,
}

impl AppProgram {
    pub(super) fn new(shared: Arc<Shared>, rank: Rank, memory_share: f64) -> Self {
        let slots = Slots::new(shared.code.slots);
        let state = RankState {
            rank,
            pc: 0,
            slots,
            outstanding: Outstanding::default(),
            random: Random::default(),
            turns: 0,
            memory_share,
            called: false,
        };
        AppProgram { shared, state }
    }
}

impl MpiProgram for AppProgram {
    fn next(&mut self, reply: Reply<'_>) -> Action {
        let AppProgram { shared, state } = self;
        state.answered(&shared.code, reply.kind);
        state.run(shared)
    }

    fn position(&self) -> Option<String> {
        Some(self.state.position(&self.shared.code))
    }
}

impl RankState {
    /// Takes the reply to the last call, if there was one that concerns the program.
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
            ReplyKind::Begin | ReplyKind::Done => {}
        }
        self.pc += 1;
    }

    /// Goes on to the next call. Gives the action by itself, not within a `Result`, as copying one costs as much as making it.
    #[inline]
    fn run(&mut self, shared: &Shared) -> Action {
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
                    if let Some(call) = attempt!(self.send(code, send)) {
                        return self.communicate(call);
                    }
                    self.pc += 1;
                }
                Op::Recv(receive) => {
                    if let Some(call) = attempt!(self.receive(code, receive)) {
                        return self.communicate(call);
                    }
                    self.pc += 1;
                }
                Op::Exchange(both) => {
                    if let Some(call) = attempt!(self.exchange(code, &both.0, &both.1)) {
                        return self.communicate(call);
                    }
                    self.pc += 1;
                }
                Op::Wait(wait) => {
                    if let Some(call) = self.wait(code, wait) {
                        // A test that finds nothing is no communication, see `completed`.
                        self.called = true;
                        return Action::Call(call);
                    }
                    self.pc += 1;
                }
                Op::Compute(block) => {
                    let span = attempt!(self.span(shared, block));
                    self.called = true;
                    return Action::Call(Call::Compute(span));
                }
                Op::Collective(collective) => {
                    let action = attempt!(self.collective(code, collective));
                    self.called = true;
                    self.turns = 0;
                    return action;
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
                        return Action::Call(Call::Yield);
                    }
                }
                Op::For(_) | Op::Repeat { .. } => attempt!(self.begin_loop(code)),
                Op::Return { slot } => self.pc = self.slots.counter(*slot) as Pc,
                Op::Probe(pattern) => {
                    if let Some(pattern) = attempt!(self.pattern(code, pattern)) {
                        return self.communicate(Call::Probe(pattern));
                    }
                    self.received_from_none(pattern.outputs);
                    self.pc += 1;
                }
                Op::Iprobe { pattern, found } => {
                    if let Some(pattern) = attempt!(self.pattern(code, pattern)) {
                        self.called = true;
                        return Action::Call(Call::Iprobe(pattern));
                    }
                    self.received_from_none(pattern.outputs);
                    self.assign(*found, Value::Bool(true));
                    self.pc += 1;
                }
                Op::Finish => return Action::Call(Call::Finish),
            }
        }
    }

    #[cold]
    fn failed(&self, code: &Code, fault: &Fault) -> Action {
        let place = self.position(code);
        Action::Call(Call::Fail(Box::new(ProgramError { place, what: fault.to_string() })))
    }

    #[inline]
    pub(super) fn env<'a>(&'a mut self, code: &'a Code) -> Env<'a> {
        Env { world: &code.world, rank: self.rank, slots: &self.slots, random: &mut self.random, peer: NONE }
    }

    #[inline(always)]
    fn communicate(&mut self, call: Call) -> Action {
        self.called = true;
        self.turns = 0;
        Action::Call(call)
    }

    /// Forgets the silent turns: something came of a test or probe.
    pub(super) fn progressed(&mut self) {
        self.turns = 0;
    }

    #[inline]
    pub(super) fn assign(&mut self, slot: Option<u32>, value: Value) {
        if let Some(slot) = slot {
            self.slots.set(slot, value);
        }
    }

    #[inline]
    fn count_turn(&mut self, shared: &Shared) -> Evaluated<()> {
        self.turns += 1;
        if self.turns <= shared.max_turns {
            return Ok(());
        }
        let turns = shared.max_turns;
        Err(Fault::new(format!(
            "{turns} turns of loops without communication; a loop that is meant to take more needs --max-turns"
        )))
    }

    fn begin_loop(&mut self, code: &Code) -> Evaluated<()> {
        match &code.ops[self.pc as usize] {
            Op::For(each) => {
                let mut env = self.env(code);
                let from = each.from.whole(&mut env)?;
                let to = each.to.whole(&mut env)?;
                let step = each.step.whole(&mut env)?;
                if step == 0 {
                    return Err(each.step.explain(&Fault::new("a step of 0 never ends")));
                }
                self.slots.set_counter(each.limit, to);
                self.slots.set_counter(each.stride, step);
                self.slots.set(each.variable, Value::Int(from));
                self.pc = if if step > 0 { from < to } else { from > to } { self.pc + 1 } else { each.exit };
            }
            Op::Repeat { count, left, exit } => {
                let n = count.whole(&mut self.env(code))?;
                if n < 0 {
                    return Err(count.explain(&Fault::new(format!("expected a count of at least 0; found {n}"))));
                }
                self.slots.set_counter(*left, n);
                self.pc = if n > 0 { self.pc + 1 } else { *exit };
            }
            _ => unreachable!("only loops begin"),
        }
        Ok(())
    }

    fn turn(&mut self, code: &Code) -> Evaluated<()> {
        match &code.ops[self.pc as usize] {
            Op::Again(start) => self.pc = *start,
            Op::Next(start) => {
                let Op::For(each) = &code.ops[*start as usize] else { unreachable!("a turn leads to its loop") };
                let (to, step) = (self.slots.counter(each.limit), self.slots.counter(each.stride));
                let next = self.slots.counter(each.variable).checked_add(step);
                match next.filter(|next| if step > 0 { *next < to } else { *next > to }) {
                    Some(next) => {
                        self.slots.set(each.variable, Value::Int(next));
                        self.pc = start + 1;
                    }
                    None => self.pc = each.exit,
                }
            }
            Op::Turn { left, body } => {
                let n = self.slots.counter(*left) - 1;
                self.slots.set_counter(*left, n);
                self.pc = if n > 0 { *body } else { self.pc + 1 };
            }
            Op::Call { procedure, arguments } => {
                // A procedure's slots are its own and it is not running, so assigning one does not change the others.
                for (slot, argument) in arguments {
                    let value = argument.value(&mut self.env(code))?;
                    self.slots.set(*slot, value);
                }
                let procedure = &code.procedures[*procedure as usize];
                self.slots.set_counter(procedure.return_slot, i64::from(self.pc) + 1);
                self.pc = procedure.start;
            }
            _ => unreachable!("only loops and calls turn"),
        }
        Ok(())
    }

    fn span(&mut self, shared: &Shared, block: &Block) -> Evaluated<SimSpan> {
        let memory = self.memory_share;
        let mut env = self.env(&shared.code);
        let times = block.times.as_ref().map_or(Ok(1.0), |times| times.number(&mut env))?;
        let seconds = match &block.cost {
            Cost::Time(time) => time.number(&mut env)?,
            Cost::Draw { family, a, b } => {
                let (first, second) = (a.number(&mut env)?, b.number(&mut env)?);
                let draw = env.random.draw(env.world.seed, env.rank, *family, first, second);
                a.explained(draw)?.max(0.0)
            }
            Cost::Work { flops, instructions, bytes } => {
                let work = Work {
                    flops: flops.number(&mut env)? * times,
                    instructions: instructions.number(&mut env)? * times,
                    bytes: bytes.number(&mut env)? * times,
                };
                return shared.rates.span(work, memory).ok_or_else(|| {
                    let Work { flops, instructions, bytes } = work;
                    let found = format!("{flops} flops, {instructions} instructions, {bytes} bytes");
                    Fault::new(format!("expected amounts of at least 0 that take less than 213 days; found {found}"))
                });
            }
        };
        SimSpan::from_seconds(seconds * times).ok_or_else(|| {
            let name = |formula: &super::formula::Formula, seconds: f64| {
                formula.explain(&Fault::new(format!("expected a time from 0 to 213 days; found {seconds} s")))
            };
            match &block.cost {
                Cost::Time(time) => name(time, seconds * times),
                Cost::Draw { a, .. } => name(a, seconds * times),
                Cost::Work { .. } => unreachable!("returned above"),
            }
        })
    }

    /// Where the next op stands, and from where that procedure was called.
    pub(super) fn position(&self, code: &Code) -> String {
        let mut text = code.places[self.pc as usize].to_string();
        let mut pc = self.pc;
        while let Some(inside) = code.procedures.iter().find(|procedure| (procedure.start..procedure.end).contains(&pc))
        {
            pc = (self.slots.counter(inside.return_slot) as Pc).saturating_sub(1);
            text.push_str(" in ");
            text.push_str(&code.places[pc as usize]);
        }
        text
    }
}
