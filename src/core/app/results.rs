//! Table `[results]`: values that an application computes from its timers after all ranks have ended.

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

/// Error in the code of results, found by [`check`].
pub(super) struct ResultFault {
    /// Index of the instruction that contains the error.
    pub(super) pc: Pc,
    pub(super) what: String,
}

/// Checks that the instructions from `start` to `end` and the procedures that they call only compute values, and that
/// these values do not depend on the rank.
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
                    let what = "results are computed after the run, expected \"set\", \"for\", \"repeat\", \
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

/// Description of a subexpression of `expr` whose value depends on the rank, if there is such a subexpression.
pub(super) fn of_one_rank(expr: &Expr, differs: &impl Fn(u32) -> Option<String>) -> Option<String> {
    let mut found = None;
    expr.any(&mut |expr| {
        let name = match expr {
            Expr::Rank => "\"rank\"".to_owned(),
            Expr::CommRank(_) => "\"comm_rank\"".to_owned(),
            Expr::CommSize(_) => "\"comm_size\"".to_owned(),
            Expr::Grid(GridFunction::Coord, _, arguments) if arguments.len() == 1 => {
                "\"coord\" without a rank".to_owned()
            }
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
        found = Some(format!("{name} differs between ranks, and results are common to all ranks"));
        true
    });
    found
}

/// Computes the application's results from the timers `sums` of all ranks. If a result has no value, for example
/// because of an endless loop, the result contains the reason.
pub(super) fn work_out(shared: &Arc<SharedProgram>, sums: &TimerSums) -> Vec<AppResult> {
    let code = &shared.code;
    let Some(results) = &code.results else { return Vec::new() };
    let file = code.source.as_ref().map_or("the application", |source| &source.name);
    let mut state = ProgramState::new(result_slots(code, sums), NO_RANK, results.start, MemoryPart::from(0.0));
    let failed = loop {
        match state.work_out(shared) {
            Call::Finish => break None,
            Call::Fail(error) => break Some(format!("{} in {}", error.what, error.place)),
            // The call is a yield, which has no effect outside of the engine.
            _ => {}
        }
    };
    let show = |result: &ResultCode| {
        let (name, unit) = (result.name.clone(), result.unit.clone());
        let found = match &failed {
            // The code before the results failed, so no result has a value.
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

/// Value of a result; `None` if the condition of the result is false.
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
