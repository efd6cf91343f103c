//! Execution of a rank's calls: runs a task (the rank's program or a strand) until the task waits, and resumes it.
//!
//! A task resumes as soon as the end of its wait is known, even if its clock is far ahead of the simulated time. The
//! effects of a task on other ranks are events at the times of the task's clock. Posting a receive is not an event.
//! Posted receives are kept in program order, and messages in the order of the arrival times of their heads. So
//! matching does not depend on when the simulator executes the post of a receive.

mod strands;

use std::mem::take;

use mcpsim_base::rank::{COMPLETE, Call, Completion, Immediate, Pattern, Program, Requests, SERVICE, Simulator};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::clock::{TimeCategory, WaitCause};
use super::conditions::{Effects, sent};
use super::error::RunError;
use super::idle::begin_idle;
use super::lp::LogicalProcess;
use super::memory::{begin_block, begin_code, begin_data, compute};
use super::messages::{post, recv, start_send};
use super::mpi_intervals::{begin_call, end_call, end_wait, is_driven, is_inside, strand_goes_on};
use super::shared_cores::{asks_core_early, makes_on_core, put_off_end};
use super::state::{Answer, MAIN, TargetRank, TaskState, Wait, WaitKind};
use super::waits::{complete_all, probe, wait_all, wait_any, wait_for_own_time};
use strands::{of_strand, run_strand, start_strand};

/// Work that a task may do before other tasks run: a call counts 1, and a send counts [`SEND_WEIGHT`]. The limit bounds
/// the number of pending events of ranks that never wait. The limit has no effect on outcomes.
const STRETCH: u32 = 4096;
const SEND_WEIGHT: u32 = 16;

/// Turn of a task: the calls from the end of one wait to the start of the next wait.
struct CallTurn<'t, 'd> {
    target: &'t mut TargetRank,
    lp: &'t mut LogicalProcess<'d>,
    task: u32,
    stretch: u32,
    /// The task's clock has passed the time limit.
    over: bool,
    /// The rank has more outstanding requests than the limit allows.
    crowded: bool,
    /// The simulation has reached the time of the task's clock. A message that has no credit at this time will get
    /// none, and the task may then request a shared core.
    in_time: bool,
}

/// Runs the rank's program from its beginning until the program waits, ends or fails.
#[inline(never)]
pub(super) fn begin<P: Program>(program: &mut P, target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    run(program, target, lp, MAIN, Answer::Begin);
}

/// Gives `task` the reply `answer`, and runs the task until it waits, ends or fails.
#[inline(always)]
fn run<P: Program + ?Sized>(
    program: &mut P,
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    answer: Answer,
) {
    let turn = CallTurn { target, lp, task, stretch: 0, over: false, crowded: false, in_time: false };
    turn.run(program, answer);
}

/// Executes `call` of `task` at the time of the task's clock, and continues the task.
#[cold]
fn run_from<P: Program + ?Sized>(
    program: &mut P,
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    mut call: Box<Call>,
) {
    let mut turn = CallTurn { target, lp, task, stretch: 0, over: false, crowded: false, in_time: true };
    match turn.make(&mut call) {
        Some(answer) => turn.run(program, answer),
        None => turn.look_at_limits(program),
    }
}

impl CallTurn<'_, '_> {
    /// Gives the task the reply `answer`, and runs the task until it waits, ends or fails.
    #[inline(always)]
    fn run<P: Program + ?Sized>(self, program: &mut P, answer: Answer) {
        let (mut turn, mut answer) = (self, answer);
        while turn.is_in_time() {
            let clock = turn.target.control(turn.task).clock;
            let completes = matches!(answer, Answer::Completed) && !turn.lp.recording.watches;
            let mut completions = if completes { turn.take_completions() } else { Vec::new() };
            // The call stays where the program writes it: a copy of the call at once would stall.
            let mut next = match turn.lp.recording.watches {
                true => Some(turn.next_watched(program, answer)),
                false => program.next_asking(&mut answer.reply(clock, &mut completions), &mut turn),
            };
            if completes {
                turn.lp.spare = completions;
            }
            let Some(call) = &mut next else { break };
            if turn.lp.recording.watches
                && turn.lp.recording.limits.is_on()
                && (turn.task == MAIN || program.thread().is_some())
            {
                turn.target.control(turn.task).site = turn.lp.recording.sites.number(program.site());
            }
            turn.lp.statistics.record_code(turn.target.rank, call, || program.site());
            let made = turn.make(call);
            let_go(next);
            match made {
                Some(next) => answer = next,
                None => break,
            }
        }
        turn.look_at_limits(program);
    }

    /// Ends the run with an error if the task has passed a limit of the run.
    #[inline(always)]
    fn look_at_limits<P: Program + ?Sized>(self, program: &P) {
        if self.over {
            self.lp.fail_by_time(self.target.rank, program.position());
        }
        if self.crowded {
            let (rank, limit) = (self.target.rank, self.lp.limits.requests);
            self.lp.fail(RunError::MaxRequests { rank, limit, position: program.position() });
        }
    }

    #[inline(always)]
    fn is_in_time(&mut self) -> bool {
        self.over = self.target.control(self.task).clock > self.lp.limits.clock;
        !self.over
    }

    /// Gives the program the reply to its last call and returns its next call, if the run is watched. The program then
    /// executes no call itself.
    fn next_watched<P: Program + ?Sized>(&mut self, program: &mut P, answer: Answer) -> Call {
        let CallTurn { target, lp, task, .. } = self;
        let clock = target.control(*task).clock;
        let reply = answer.reply(clock, &mut lp.completions);
        match &mut lp.meter {
            None => program.next(reply),
            Some(meter) => meter.code(|| program.next(reply)),
        }
    }

    /// Takes the completions of the reply to a program. Calls that the program executes itself may complete requests
    /// before the program returns its next call.
    #[inline(always)]
    fn take_completions(&mut self) -> Vec<Completion> {
        let spare = std::mem::take(&mut self.lp.spare);
        std::mem::replace(&mut self.lp.completions, spare)
    }

    #[inline(always)]
    fn make(&mut self, call: &mut Call) -> Option<Answer> {
        match self.lp.effects {
            Effects { credits: false, by_call: false, shares_cores: false, .. } => self.make_now(call),
            _ => self.make_under_conditions(call),
        }
    }

    /// Executes a call on a platform with credits, shared cores, or message progress only inside calls.
    #[cold]
    #[inline(never)]
    fn make_under_conditions(&mut self, call: &mut Call) -> Option<Answer> {
        let CallTurn { target, lp, task, in_time, .. } = self;
        let lacks = |target: &mut TargetRank, lp: &LogicalProcess<'_>| {
            lp.effects.credits && sent(call).is_some_and(|message| lp.lacks_credit(target, message))
        };
        let asks_early = asks_core_early(target, lp, *task, call);
        if !std::mem::replace(in_time, false) && (asks_early || lacks(target, lp)) {
            let call = Box::new(std::mem::replace(call, Call::Yield));
            wait_for_own_time(target, lp, *task, Wait::OwnTime(call));
            return None;
        }
        if lp.shares_core(target.rank, *task) && !makes_on_core(target, lp, call) {
            return None;
        }
        if !lp.effects.by_call || *task != MAIN || !is_inside(target, call) {
            return self.make_now(call);
        }
        begin_call(target, lp);
        let answer = self.make_now(call);
        end_call(self.target, answer.is_some());
        answer
    }

    /// Executes a call without regard to credits, shared cores and progress inside calls.
    #[inline(always)]
    fn make_now(&mut self, call: &mut Call) -> Option<Answer> {
        let CallTurn { target, lp, task, stretch, .. } = self;
        let task = *task;
        lp.handled += 1;
        *stretch += 1;
        let proceeds = match call {
            Call::Code(span) if *span > SimSpan::ZERO && task == MAIN && lp.follows_code(target) => {
                begin_code(target, lp, task, *span)
            }
            Call::Compute(span) | Call::Code(span) => Some(compute(target, lp, task, *span)),
            Call::Work(block) => begin_block(target, lp, task, *block),
            Call::Data(block) => begin_data(target, lp, task, *block),
            Call::Isend(message) => {
                *stretch += SEND_WEIGHT;
                Some(Answer::Started(start_send(target, lp, task, message)))
            }
            Call::Irecv(pattern) => {
                let clock = spend_posting(target, lp, task, pattern);
                Some(Answer::Started(post(target, lp, task, pattern, clock)))
            }
            Call::Send(message) => {
                *stretch += SEND_WEIGHT;
                match start_send(target, lp, task, message) {
                    COMPLETE => Some(Answer::Done),
                    id => wait_all(target, lp, task, WaitKind::Send, Requests::from_slice(&[id])),
                }
            }
            Call::Recv(pattern) => {
                let clock = spend_posting(target, lp, task, pattern);
                recv(target, lp, task, WaitKind::Recv, pattern, clock)
            }
            // The send of the exchange may wait for the shared core, and this wait is not on the path to the receive of
            // the exchange.
            Call::Exchange(message, pattern) if lp.shares_core(target.rank, task) => {
                *stretch += SEND_WEIGHT;
                let clock = spend_posting(target, lp, task, pattern);
                let recv = post(target, lp, task, pattern, clock);
                let send = start_send(target, lp, task, message);
                wait_all(target, lp, task, WaitKind::Exchange, Requests::from_slice(&[recv, send]))
            }
            Call::Exchange(message, pattern) => {
                *stretch += SEND_WEIGHT;
                let clock = spend_posting(target, lp, task, pattern);
                match start_send(target, lp, task, message) {
                    COMPLETE => recv(target, lp, task, WaitKind::Exchange, pattern, clock),
                    send => {
                        let recv = post(target, lp, task, pattern, clock);
                        wait_all(target, lp, task, WaitKind::Exchange, Requests::from_slice(&[recv, send]))
                    }
                }
            }
            Call::WaitAll(requests) => wait_all(target, lp, task, WaitKind::WaitAll, take(requests)),
            Call::Complete(requests) => wait_all(target, lp, task, WaitKind::Complete, take(requests)),
            Call::WaitAny(requests) => {
                wait_any(target, lp, task, take(requests));
                None
            }
            Call::Test { requests, which, poll } => {
                let wait = Wait::Test { requests: take(requests), which: *which, poll: *poll };
                wait_for_own_time(target, lp, task, wait);
                None
            }
            Call::Idle(span) => {
                begin_idle(target, lp, task, *span);
                None
            }
            Call::Cancel(id) => {
                wait_for_own_time(target, lp, task, Wait::Cancel(*id));
                None
            }
            Call::Probe(pattern) => probe(target, lp, task, *pattern),
            Call::Iprobe(pattern) => {
                wait_for_own_time(target, lp, task, Wait::Iprobe(*pattern));
                None
            }
            Call::Enter(entry) => {
                let kind = lp.statistics.collectives_of(target.rank).enter(entry.name, entry.method, entry.bytes);
                let control = target.control(task);
                (control.collective, control.entered) = (Some(entry.name), (control.clock, kind));
                control.receives = 0;
                Some(Answer::Done)
            }
            Call::Leave => {
                let control = target.control(task);
                if control.collective.take().is_some() {
                    let ((since, kind), clock) = (control.entered, control.clock);
                    lp.statistics.collectives_of(target.rank).leave(kind, clock.since(since));
                }
                Some(Answer::Done)
            }
            Call::Mark(_) => Some(Answer::Done),
            last_of_turn => self.make_last(std::mem::replace(last_of_turn, Call::Yield)),
        };
        match proceeds {
            Some(Answer::Started(id)) if id >= self.lp.limits.requests && id != COMPLETE => {
                self.crowded = true;
                None
            }
            // Completions are valid only during the current event, so an answer with completions is given to the
            // program at once.
            Some(answer @ (Answer::Done | Answer::Started(_))) if self.stretch >= STRETCH => {
                wait_for_own_time(self.target, self.lp, task, Wait::Parked(answer));
                None
            }
            proceeds if self.lp.failure.is_none() => proceeds,
            _ => None,
        }
    }

    /// Executes a call after which other tasks may run before the program continues.
    fn make_last(&mut self, call: Call) -> Option<Answer> {
        let CallTurn { target, lp, task, stretch, .. } = self;
        match call {
            Call::Start(strand) => {
                *stretch += SEND_WEIGHT;
                lp.alone = false;
                Some(Answer::Started(start_strand(target, lp, *task, strand)))
            }
            Call::Finish => {
                finish(target, lp, *task);
                None
            }
            Call::Fail(error) => {
                let clock = target.control(*task).clock;
                lp.fail(RunError::Program { rank: target.rank, clock, error: *error });
                None
            }
            _ => {
                *stretch = STRETCH;
                Some(Answer::Done)
            }
        }
    }
}

/// Drops an executed call. Most calls own no memory, and testing for this is cheaper than dropping the call.
#[inline(always)]
fn let_go(call: Option<Call>) {
    let Some(made) = &call else { return };
    let owns = match made {
        Call::Compute(_) | Call::Code(_) | Call::Recv(_) | Call::Irecv(_) => false,
        Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => message.payload.is_some(),
        _ => true,
    };
    if owns {
        drop(call);
    } else {
        std::mem::forget(call);
    }
}

/// Charges the task's core for posting a receive, and returns the task's clock after the post.
#[inline(always)]
fn spend_posting(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, pattern: &Pattern) -> SimTime {
    if lp.core.post > SimSpan::ZERO && pattern.context != SERVICE {
        target.spend(lp, task, TimeCategory::Recv, lp.core.post);
    }
    target.control(task).clock
}

impl Simulator for CallTurn<'_, '_> {
    fn ask(&mut self, call: &mut Call) -> Immediate<'_> {
        if let Call::Start(_) | Call::Finish | Call::Fail(_) | Call::Yield = call {
            return Immediate::Refused;
        }
        match self.make(call) {
            Some(answer) if self.is_in_time() => {
                let clock = self.target.control(self.task).clock;
                Immediate::Replied(answer.reply(clock, &mut self.lp.completions))
            }
            _ => Immediate::Waits,
        }
    }

    fn count_code(&mut self, span: SimSpan, before: &'static str) {
        self.lp.statistics.code.record(self.target.rank, span, before);
    }
}

/// Resumes a task whose wait is over.
#[inline(always)]
pub(super) fn resume<P: Program>(program: &mut P, target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32) {
    // A task on a shared core resumes when the simulation reaches the end of its wait and the task has the core. Tasks
    // on other cores resume when the end of the wait becomes known.
    if lp.effects.shares_cores && matches!(target.control(task).wait, Wait::All { .. }) {
        let over = is_over_at(target, task);
        if put_off_end(target, lp, task, over) {
            return;
        }
    }
    let mut later = None;
    if lp.effects.by_call && is_driven(target, task) {
        let time = is_over_at(target, task);
        match strand_goes_on(target, lp, task, time) {
            Some(call) => later = call,
            None => return,
        }
    }
    let wait = &mut target.control(task).wait;
    let answer = if wait.end_receive() {
        // The completion is already stored in the logical process.
        Answer::Completed
    } else {
        match std::mem::replace(wait, Wait::Nothing) {
            Wait::OwnTime(call) => {
                if task == MAIN {
                    return run_from(program, target, lp, task, call);
                }
                return of_strand(target, lp, task, |program, target, lp| run_from(program, target, lp, task, call));
            }
            Wait::All { kind, requests, left } => {
                debug_assert_eq!(left, 0);
                complete_all(target, lp, task, kind, &requests)
            }
            Wait::Parked(answer) => answer,
            Wait::Cancel(_) | Wait::Idle { .. } | Wait::Block(_) => Answer::Done,
            // The completions of the waits below are already stored in the logical process.
            Wait::Any(_) | Wait::AnyOfMany(_) | Wait::Test { .. } | Wait::Probe(_) | Wait::Iprobe(_) => {
                Answer::Completed
            }
            wait @ (Wait::Nothing | Wait::Recv { .. } | Wait::Flow(_) | Wait::Finished) => {
                unreachable!("a task in {wait:?} was woken")
            }
        }
    };
    if let Some((left, path)) = later {
        // The task continues on the path of the MPI call that drives its progress.
        let cause = WaitCause { path, left, ends: (target.rank, target.rank), size: Bytes::ZERO };
        target.wait_until(lp, task, left, cause);
    }
    if task == MAIN {
        if lp.effects.by_call {
            end_wait(target);
        }
        run(program, target, lp, task, answer);
    } else {
        run_strand(target, lp, task, answer);
    }
}

pub(super) fn is_over_at(target: &mut TargetRank, task: u32) -> SimTime {
    let TaskState { clock, wait, .. } = target.control(task);
    let (clock, ids) = match wait {
        Wait::All { requests, .. } => (*clock, requests.clone()),
        _ => return *clock,
    };
    let ready = ids.iter().filter(|&&id| id != COMPLETE).map(|&id| target.requests.get(id).ready);
    ready.fold(clock, SimTime::max)
}

fn finish(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32) {
    target.control(task).wait = Wait::Finished;
    if task == MAIN {
        lp.unfinished -= 1;
    }
}
