//! Programs of several jobs in one simulation: each job numbers its ranks from 0, and the simulation numbers them
//! consecutively over the jobs.

use std::sync::Arc;

use super::ahead::Doorbell;
use super::call::{Call, Message, Pattern, Program, Rank, Reply, ReplyKind, Served, Source};
use super::describe::{CallSite, Called, Describe};
use crate::profile::{StepSource, TaskLog, TimerSums, Unwaited};

/// Position of a job among the jobs of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPosition {
    /// Rank of the simulation that is rank 0 of the job.
    pub first: Rank,
    /// Number of the job, from 0.
    pub number: u32,
    /// Number of jobs.
    pub jobs: u32,
}

/// Program of a rank of one of several jobs. The ranks in its calls are ranks of the job, and the engine gets ranks of
/// the simulation.
///
/// Ranks of different jobs never name each other, so contexts and tags of jobs need no separation: a rank gets only
/// messages of its own job.
pub struct Shifted<P> {
    program: P,
    position: JobPosition,
}

impl<P> Shifted<P> {
    /// Creates the program of a rank of the job at `position`, which runs `program`.
    pub fn new(program: P, position: JobPosition) -> Self {
        Shifted { program, position }
    }

    fn message(&self, message: &mut Message) {
        message.to += self.position.first;
    }

    fn pattern(&self, pattern: &mut Pattern) {
        if let Source::Rank(rank) = &mut pattern.from {
            *rank += self.position.first;
        }
    }

    /// Returns the call with ranks of the simulation.
    fn shifted(&self, mut call: Call) -> Call {
        match &mut call {
            Call::Send(message) | Call::Isend(message) => self.message(message),
            Call::Recv(pattern) | Call::Irecv(pattern) | Call::Probe(pattern) | Call::Iprobe(pattern) => {
                self.pattern(pattern);
            }
            Call::Exchange(message, pattern) => {
                self.message(message);
                self.pattern(pattern);
            }
            Call::Start(_) => {
                let Call::Start(program) = call else { unreachable!("just matched") };
                return Call::Start(Box::new(Shifted::new(program, self.position)));
            }
            _ => {}
        }
        call
    }

    /// Returns the statement of the job's program, if the number `step` belongs to this job.
    fn own_step(&self, step: u32) -> Option<u32> {
        let JobPosition { number, jobs, .. } = self.position;
        (step % jobs == number).then_some(step / jobs)
    }

    /// Returns the number of the statement `step` among the statements of the jobs.
    fn step_of_all(&self, step: u32) -> u32 {
        let JobPosition { number, jobs, .. } = self.position;
        step.wrapping_mul(jobs).wrapping_add(number)
    }
}

impl<P: Program> Program for Shifted<P> {
    #[inline]
    fn next(&mut self, mut reply: Reply<'_>) -> Call {
        if let ReplyKind::Completed(done) = &mut reply.kind {
            let first = self.position.first;
            done.iter_mut().for_each(|done| done.source = done.source.saturating_sub(first));
        }
        let call = self.program.next(reply);
        self.shifted(call)
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let known = answers.len();
        self.program.serve(Served { from: message.from - self.position.first, ..message }, answers);
        answers[known..].iter_mut().for_each(|answer| answer.to += self.position.first);
    }

    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        self.program.attach(doorbell);
    }

    fn run_ahead(&mut self) {
        self.program.run_ahead();
    }
}

impl<P: Program> Describe for Shifted<P> {
    fn call_name(&self) -> Option<&'static str> {
        self.program.call_name()
    }

    fn position(&self) -> Option<String> {
        self.program.position()
    }

    fn site(&self) -> CallSite {
        match self.program.site() {
            CallSite::Step(step) => CallSite::Step(self.step_of_all(step)),
            CallSite::Place(function, step) => CallSite::Place(function, self.step_of_all(step)),
            site => site,
        }
    }

    fn knows_step(&self, step: u32) -> bool {
        self.own_step(step).is_some()
    }

    fn step_name(&self, step: u32) -> String {
        self.own_step(step).map_or_else(String::new, |step| self.program.step_name(step))
    }

    fn site_name(&self, step: u32) -> String {
        self.own_step(step).map_or_else(String::new, |step| self.program.site_name(step))
    }

    fn step_source(&self, step: u32) -> StepSource {
        self.own_step(step).map_or_else(StepSource::default, |step| self.program.step_source(step))
    }

    fn sum_timers(&self, sums: &mut TimerSums) {
        self.program.sum_timers(sums);
    }

    fn sum_unwaited(&self, sums: &mut Unwaited) {
        self.program.sum_unwaited(sums);
    }

    fn sender(&self, sent: &super::Envelope, size: crate::units::Bytes) -> Option<String> {
        self.program.sender(sent, size)
    }

    fn count_calls(&mut self, by_place: bool) {
        self.program.count_calls(by_place);
    }

    fn entry(&self) -> Option<u64> {
        self.program.entry()
    }

    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        self.program.calls_made()
    }

    fn is_profiled(&self) -> bool {
        self.program.is_profiled()
    }

    fn is_thread(&self) -> bool {
        self.program.is_thread()
    }

    fn thread(&self) -> Option<u32> {
        self.program.thread()
    }

    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        self.program.task_log()
    }

    fn record_collectives(&mut self) {
        self.program.record_collectives();
    }

    fn called(&mut self) -> Option<Called> {
        self.program.called()
    }
}
