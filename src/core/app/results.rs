//! `[results]`: what an application works out from its timers once all ranks have ended.

use std::sync::Arc;

use crate::platform::MemoryPart;
use crate::profile::{AppFigure, AppResult, TimerSums};
use crate::rank::Call;

use super::code::{Code, Op, Pc, ResultCode};
use super::expr::{Expr, GridFunction};
use super::functions::NumericFunction;
use super::program::{ProgramState, SharedProgram};
use super::timers::{NO_RANK, result_slots};
use super::value::{EvalError, Evaluated};

/// What [`check`] finds wrong.
pub(super) struct ResultFault {
    /// The op that it stands in.
    pub(super) pc: Pc,
    pub(super) what: String,
}

/// Whether the ops from `start` to `end`, and those of the procedures that they call, are the same for all ranks and
/// only compute values.
pub(super) fn check(
    ops: &[Op],
    (start, end): (Pc, Pc),
    procedure: impl Fn(u32) -> (Pc, Pc),
    differs: &impl Fn(u32) -> Option<String>,
) -> Result<(), ResultFault> {
    let mut ranges = vec![(start, end)];
    let mut next = 0;
    while let Some(&(start, end)) = ranges.get(next) {
        next += 1;
        for pc in start..end {
            let fault = |what: String| ResultFault { pc, what };
            let mut formulas = Vec::new();
            match &ops[pc as usize] {
                Op::Jump(_) | Op::Again(_) | Op::Next(_) | Op::Turn { .. } | Op::Return { .. } | Op::Finish => {}
                Op::Unless { condition, .. } => formulas.push(condition),
                Op::For(each) => formulas.extend([&each.from, &each.to, &each.step]),
                Op::Repeat { count, .. } => formulas.push(count),
                Op::Set { value, .. } => formulas.push(value),
                Op::Call { procedure: called, arguments } => {
                    formulas.extend(arguments.iter().map(|(_, value)| value));
                    let range = procedure(*called);
                    if !ranges.contains(&range) {
                        ranges.push(range);
                    }
                }
                _ => {
                    let what = "results are worked out after the run, expected \"set\", \"for\", \"repeat\", \
                                \"while\", \"if\" or \"call\"";
                    return Err(fault(what.to_owned()));
                }
            }
            if let Some(what) = formulas.iter().find_map(|formula| of_one_rank(&formula.expr, differs)) {
                return Err(fault(what));
            }
        }
    }
    Ok(())
}

/// What in the expression depends on the rank that asks.
pub(super) fn of_one_rank(expr: &Expr, differs: &impl Fn(u32) -> Option<String>) -> Option<String> {
    let mut found = None;
    expr.any(&mut |expr| {
        let name = match expr {
            Expr::Rank => "\"rank\"".to_owned(),
            Expr::CommRank(_) => "\"comm_rank\"".to_owned(),
            Expr::CommSize(_) => "\"comm_size\"".to_owned(),
            Expr::Grid(GridFunction::Coord, _, arguments) if arguments.len() == 1 => "\"coord\" of no rank".to_owned(),
            Expr::Grid(GridFunction::Neighbor, ..) => "\"neighbor\"".to_owned(),
            Expr::Call(function @ (NumericFunction::Random | NumericFunction::Randint), _) => {
                format!("\"{}\"", function.name())
            }
            Expr::Name(slot, _) => match differs(*slot) {
                Some(name) => format!("\"{name}\" of [let]"),
                None => return false,
            },
            _ => return false,
        };
        found = Some(format!("{name} differs from rank to rank, and results are of all ranks"));
        true
    });
    found
}

/// The application's results, where all ranks timed `sums`. What has no value, or needs a loop that never ends, says so.
pub(super) fn work_out(shared: &Arc<SharedProgram>, sums: &TimerSums) -> Vec<AppResult> {
    let code = &shared.code;
    let Some(results) = &code.results else { return Vec::new() };
    let file = code.source.as_ref().map_or("the application", |source| &source.name);
    let mut state = ProgramState::new(result_slots(code, sums), NO_RANK, results.start, MemoryPart::from(0.0));
    let failed = loop {
        match state.work_out(shared) {
            Call::Finish => break None,
            Call::Fail(error) => break Some(format!("{} in {}", error.what, error.place)),
            // A chance to look after limits, of which there are none here.
            _ => {}
        }
    };
    let show = |result: &ResultCode| {
        let (name, unit) = (result.name.clone(), result.unit.clone());
        let found = match &failed {
            // What all of them are made of.
            Some(why) => AppFigure::Error(why.clone()),
            None => match value(result, &mut state, code) {
                Ok(value) => AppFigure::Value(value?),
                Err(fault) => AppFigure::Error(format!("{fault} in results.show.{name} of {file}")),
            },
        };
        Some(AppResult { name, found, unit })
    };
    results.shown.iter().filter_map(show).collect()
}

/// The figure, where its condition holds.
fn value(result: &ResultCode, state: &mut ProgramState, code: &Code) -> Evaluated<Option<f64>> {
    let mut env = state.env(code);
    if !result.condition.as_ref().map_or(Ok(true), |condition| condition.truth(&mut env))? {
        return Ok(None);
    }
    let value = result.value.number(&mut env)?;
    match value.is_finite() {
        true => Ok(Some(value)),
        false => Err(EvalError::new("expected a finite number")),
    }
}
