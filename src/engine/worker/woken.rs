//! Continuation of a rank after an event: of tasks whose waits are over, and of copies that are queued for the rank's
//! core.

use mcpsim_base::rank::Program;

use crate::calls::resume;
use crate::error::RunError;
use crate::lp::LogicalProcess;
use crate::messages::finish_copy;
use crate::shared_cores::leave_core_to_wait;
use crate::state::TargetRank;

/// Starts the message copies that are queued for the rank's core.
pub(super) fn next_copies(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    let mut known = std::mem::take(&mut lp.known_copies);
    lp.next_copies(target, &mut known);
    for (job, end, delays) in known.drain(..) {
        finish_copy(target, lp, &job, end, delays);
    }
    lp.known_copies = known;
}

/// Runs the tasks of the rank whose waits are over. Also starts the copies and computing blocks that these tasks have
/// added.
#[inline(always)]
pub(super) fn go_on<P: Program>(program: &mut P, target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    run_woken(program, target, lp);
    lp.settle_memory(target);
}

/// Runs the tasks of the rank whose waits are over.
#[inline(always)]
pub(super) fn run_woken<P: Program>(program: &mut P, target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    if !lp.woken.is_empty() || lp.failure.is_some() {
        run_some(program, target, lp);
    }
}

#[inline(never)]
fn run_some<P: Program>(program: &mut P, target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    while lp.failure.is_none()
        && let Some(task) = lp.woken.pop()
    {
        resume(program, target, lp, task);
        leave_core_to_wait(target, lp);
    }
    if let Some((_, RunError::Truncated { position, .. })) = &mut lp.failure {
        *position = program.position();
    }
}
