//! Timers: virtual times that ranks measure, and functions of the measured times of all ranks. Results use these
//! functions.
//!
//! A rank stores its timers after its variables, with one 64-bit word per timer element. During the computation of
//! results, three words per element are stored instead: the longest times over all ranks, the shortest times, and the
//! means.

use crate::config::ConfigError;
use crate::profile::TimerSums;
use crate::rank::Rank;
use crate::units::{SimSpan, SimTime, counted};

use super::code::{Code, TimeBlock};
use super::expr::{Env, Expr};
use super::formula::Formula;
use super::node::Node;
use super::program::ProgramState;
use super::scope::{Reach, Scope};
use super::slots::Slots;
use super::value::{EvalError, Evaluated, Value};
use super::world::AppWorld;

/// Greatest number of timer elements of all ranks together. A timer element needs eight bytes.
const MOST: u64 = 1 << 27;

/// Position of a timer's elements among the elements of all timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimerPlace {
    /// Distance from the timer's first element to the end of all timers.
    to_end: usize,
    length: usize,
}

/// Function of the times that all ranks measured in one element of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerFunction {
    Longest,
    Shortest,
    Mean,
}

impl TimerFunction {
    /// All functions of timers, in the order of their names in expressions.
    pub(super) const ALL: [TimerFunction; 3] = [TimerFunction::Longest, TimerFunction::Shortest, TimerFunction::Mean];

    /// Name of the function in expressions.
    pub(super) fn name(self) -> &'static str {
        match self {
            TimerFunction::Longest => "longest",
            TimerFunction::Shortest => "shortest",
            TimerFunction::Mean => "mean",
        }
    }
}

/// Reads the table `[timers]` of an application. If the number of ranks is known, assigns positions to the timers.
pub(super) fn arrange(node: &Node<'_>, scope: &mut Scope, arranged: &mut AppWorld) -> Result<(), ConfigError> {
    let mut lengths = Vec::new();
    let mut room = 0_u64;
    for (name, node) in node.entries("a table of timers and their numbers of elements")? {
        scope.is_free(name).map_err(|what| node.error(what))?;
        let reach = std::mem::replace(&mut scope.reach, Reach::Run);
        let formula = node.formula(scope);
        scope.reach = reach;
        let formula = formula?;
        scope.add_timer(name);
        if scope.size().is_none() && formula.expr.constant().is_none() {
            continue;
        }
        let length = length(&formula, arranged).map_err(|fault| node.expected_value("a number of elements", fault))?;
        let length = u64::try_from(length)
            .ok()
            .filter(|length| *length > 0)
            .ok_or_else(|| node.expected_value("a number of elements of at least 1", length))?;
        room = room.saturating_add(length);
        let ranks = u64::from(scope.size().unwrap_or(1));
        if room.saturating_mul(ranks) > MOST {
            let most = MOST / ranks;
            return Err(node
                .expected_value(format!("at most {most} elements in the timers of {}", counted(ranks, "rank")), room));
        }
        lengths.push(length as usize);
    }
    if scope.size().is_some() {
        arranged.timer_room = room as usize;
        let mut to_end = room as usize;
        for length in lengths {
            arranged.timers.push(TimerPlace { to_end, length });
            to_end -= length;
        }
    }
    Ok(())
}

fn length(formula: &Formula, arranged: &AppWorld) -> Evaluated<i64> {
    let slots = Slots::new(0);
    let random = &mut super::random::Random::default();
    formula
        .expr
        .evaluate(&mut Env { world: arranged, rank: 0, slots: &slots, random, peer: super::grid::NONE })?
        .whole()
}

/// Distance of a timer's element from the end of all timers.
fn place(world: &AppWorld, timer: u32, index: i64) -> Evaluated<usize> {
    let TimerPlace { to_end, length } = world.timers[timer as usize];
    match usize::try_from(index) {
        Ok(index) if index < length => Ok(to_end - index),
        _ => Err(EvalError::new(format!("expected an index from 0 to {}; found {index}", length - 1))),
    }
}

/// Evaluates `longest(NAME, INDEX)` or a similar function of a timer, in seconds.
pub(super) fn evaluate(function: TimerFunction, timer: u32, index: &Expr, env: &mut Env<'_>) -> Evaluated {
    let index = index.evaluate(env)?.whole()?;
    let place = place(env.world, timer, index)
        .map_err(|fault| EvalError::new(format!("{}(…, {index}): {fault}", function.name())))?;
    let after = TimerFunction::ALL.len() - 1 - function as usize;
    Ok(Value::Float(f64::from_bits(env.slots.word_from_end(after * env.world.timer_room + place))))
}

/// Creates the variables of a rank.
pub(super) fn rank_slots(code: &Code) -> Slots {
    Slots::with_words(code.slots, code.world.timer_room)
}

/// Creates the variables for the computation of results, with the measured times of all ranks.
pub(super) fn result_slots(code: &Code, sums: &TimerSums) -> Slots {
    let room = code.world.timer_room;
    let mut slots = Slots::with_words(code.slots, room * TimerFunction::ALL.len());
    let values = sums.longest().chain(sums.shortest()).chain(sums.mean());
    slots.last_words_mut(room * TimerFunction::ALL.len()).iter_mut().zip(values).for_each(|(word, value)| {
        *word = value.to_bits();
    });
    slots
}

impl ProgramState {
    /// Begins a timed block of statements at virtual time `clock`.
    pub(super) fn begin_timing(&mut self, code: &Code, block: &TimeBlock, clock: SimTime) -> Evaluated<()> {
        let index = block.at.whole(&mut self.env(code))?;
        let place = place(&code.world, block.timer, index).map_err(|fault| block.at.explain(&fault))?;
        self.slots.set_counter(block.place, place as i64);
        self.slots.set_counter(block.began, clock.as_ps() as i64);
        Ok(())
    }

    /// Ends a timed block of statements at virtual time `clock`.
    pub(super) fn end_timing(&mut self, (place, began): (u32, u32), clock: SimTime) -> Evaluated<()> {
        let began = SimTime::from_ps(self.slots.counter(began) as u64);
        let place = self.slots.counter(place) as usize;
        let before = self.slots.word_from_end(place);
        let after = before.checked_add(clock.since(began).as_ps());
        let after = after.ok_or_else(|| EvalError::new("a timer's time is out of range"))?;
        self.slots.set_word_from_end(place, after);
        Ok(())
    }

    /// Adds the timers of this rank to `sums`.
    pub(super) fn sum_timers(&self, code: &Code, sums: &mut TimerSums) {
        if code.world.timer_room > 0 {
            sums.add(self.slots.last_words(code.world.timer_room).iter().map(|ps| SimSpan::from_ps(*ps)));
        }
    }
}

/// Rank with which the expressions of results are evaluated. Results cannot depend on the rank.
pub(super) const NO_RANK: Rank = 0;
