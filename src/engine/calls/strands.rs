//! Strands: tasks that run concurrently with the program of their rank.

use mcpsim_base::profile::StrandSpan;
use mcpsim_base::rank::{Program, RequestId};

use super::run;
use crate::activity::{ClockMark, ClockPoint};
use crate::lp::LogicalProcess;
use crate::messages::set_ready;
use crate::requests::RequestRecord;
use crate::state::{Answer, StrandState, TargetRank, TaskState, Wait};

pub(super) fn run_strand(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, answer: Answer) {
    of_strand(target, lp, task, |program, target, lp| run(program, target, lp, task, answer));
}

/// Calls `run` with the program and the state of a strand (concurrent task).
pub(super) fn of_strand(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    run: impl FnOnce(&mut Box<dyn Program>, &mut TargetRank, &mut LogicalProcess<'_>),
) {
    let index = task as usize - 1;
    let strand = target.strands[index].as_mut().expect("the strand is alive");
    let mut program = strand.program.take().expect("a strand does not run twice at a time");
    run(&mut program, target, lp);
    let strand = target.strands[index].as_mut().expect("the strand is still there");
    if matches!(strand.control.wait, Wait::Finished) {
        let StrandState { request, began: start, control, thread, .. } = &mut **strand;
        let (request, start) = (*request, *start);
        let TaskState { clock, path, site: place, .. } = *control;
        if let Some(record) = thread.take() {
            lp.recording.threads.extend(target.add_ended_thread(*record));
        } else if let Some(trail) = &mut target.trail {
            trail.strand(StrandSpan { start, end: clock, place });
        }
        target.requests.get_mut(request).came_at(clock, path);
        target.strands[index] = None;
        set_ready(target, lp, request, clock);
    } else {
        strand.program = Some(program);
    }
}

/// Starts a strand (concurrent task) of the task `parent`. The strand's path begins as a copy of the parent's path.
pub(super) fn start_strand(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    parent: u32,
    program: Box<dyn Program>,
) -> RequestId {
    let TaskState { clock, path, serial, site, .. } = *target.control(parent);
    let mut control = TaskState::new(clock, lp.paths.share(path));
    control.computes = program.is_thread();
    control.site = site;
    if let Some(trail) = &mut target.trail
        && lp.recording.limits.marks > 0
    {
        control.serial = trail.next_serial(program.thread());
        lp.paths.claim(&mut control.path, target.rank, control.serial);
        let came = Some(ClockPoint { rank: target.rank, serial, time: clock });
        trail.mark(control.serial, ClockMark { until: clock, site, came });
    }
    let index = target.strands.iter().position(Option::is_none).unwrap_or_else(|| {
        target.strands.push(None);
        target.strands.len() - 1
    });
    let task = index as u32 + 1;
    let request = target.requests.add(RequestRecord::strand(task, program.thread().is_some(), clock));
    let thread = target.begin_thread(program.thread(), clock, lp.recording.limits);
    let strand = StrandState { control, program: Some(program), request, began: clock, thread };
    target.strands[index] = Some(Box::new(strand));
    run_strand(target, lp, task, Answer::Begin);
    request
}
