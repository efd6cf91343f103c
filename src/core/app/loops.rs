//! Loops and procedure calls of a rank: jumps, and the counter that stops an endless loop.

use super::code::{Code, Op};
use super::program::{ProgramState, SharedProgram};
use super::value::{EvalError, Evaluated, Value};

impl ProgramState {
    #[inline]
    pub(super) fn count_turn(&mut self, shared: &SharedProgram) -> Evaluated<()> {
        self.turns += 1;
        if self.turns <= shared.max_turns {
            return Ok(());
        }
        let turns = shared.max_turns;
        Err(EvalError::new(format!(
            "a rank executed {turns} loop iterations without communication; allow more with --max-iterations"
        )))
    }

    pub(super) fn begin_loop(&mut self, code: &Code) -> Evaluated<()> {
        match &code.ops[self.pc as usize] {
            Op::For(each) => {
                let mut env = self.env(code);
                let from = each.from.whole(&mut env)?;
                let to = each.to.whole(&mut env)?;
                let step = each.step.whole(&mut env)?;
                if step == 0 {
                    return Err(each.step.explain(&EvalError::new("a step of 0 never ends")));
                }
                self.slots.set_counter(each.limit, to);
                self.slots.set_counter(each.stride, step);
                self.slots.set(each.variable, Value::Int(from));
                self.pc = if if step > 0 { from < to } else { from > to } { self.pc + 1 } else { each.exit };
            }
            Op::Repeat { count, left, exit } => {
                let n = count.whole(&mut self.env(code))?;
                if n < 0 {
                    return Err(count.explain(&EvalError::new(format!("expected a count of at least 0; found {n}"))));
                }
                self.slots.set_counter(*left, n);
                self.pc = if n > 0 { self.pc + 1 } else { *exit };
            }
            _ => unreachable!("only loops begin"),
        }
        Ok(())
    }

    pub(super) fn turn(&mut self, code: &Code) -> Evaluated<()> {
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
                // The called procedure is not running and has its own variables. Assigning a parameter therefore does
                // not change the other arguments.
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
}
