//! What a rank's calls do: runs a task until it must wait, and resumes it.
//!
//! A task runs as soon as what it waited for is decided, however far its clock lies ahead; what it does to the rest of the
//! simulation are events at the times of its clock. Posting a receive is no event: which message it gets does not depend on
//! when the simulator hears of it, since receives are kept in program order and messages in order of their heads.

use std::mem::take;

use crate::rank::{Asked, COMPLETE, Call, Completion, Program, Reply, ReplyKind, RequestId, Requests, Simulator};
use crate::units::SimTime;

use super::clock::Spent;
use super::desk::Desk;
use super::error::RunError;
use super::idle::begin_idle;
use super::messages::{post, recv, set_ready, start_send};
use super::requests::Request;
use super::state::{Answer, Control, MAIN, Shared, Strand, Wait, WaitKind};
use super::trail::{Mark, Point};
use super::waits::{complete_all, probe, wait_all, wait_any, wait_for_own_time};

/// How much a task may do before others get their turn: calls count 1, sends [`SEND_WEIGHT`]. Bounds the events that ranks
/// who never wait can pile up; outcomes do not depend on it.
const STRETCH: u32 = 4096;
const SEND_WEIGHT: u32 = 16;

/// A task's turn: from what it waited for to its next wait.
struct Turn<'t, 'd> {
    shared: &'t mut Shared,
    desk: &'t mut Desk<'d>,
    task: u32,
    stretch: u32,
    /// Its clock has passed the limit.
    over: bool,
}

/// Runs `task` from the reply `answer` until it waits, ends or fails.
pub(super) fn run<P: Program + ?Sized>(
    program: &mut P,
    shared: &mut Shared,
    desk: &mut Desk<'_>,
    task: u32,
    answer: Answer,
) {
    let mut answer = answer;
    let mut turn = Turn { shared, desk, task, stretch: 0, over: false };
    while turn.is_in_time() {
        let Some(mut call) = turn.next(program, answer) else { break };
        if turn.desk.recording.marks > 0 && task == MAIN {
            turn.shared.main.site = turn.desk.sites.number(program.site());
        }
        match turn.make(&mut call) {
            Some(next) => answer = next,
            None => break,
        }
    }
    if turn.over {
        desk.fail_by_time(shared.rank, program.position());
    }
}

impl Turn<'_, '_> {
    #[inline(always)]
    fn is_in_time(&mut self) -> bool {
        self.over = self.shared.control(self.task).clock > self.desk.limit;
        !self.over
    }

    /// Gives the program its reply and takes its next call; none if it waits for what it has asked for itself.
    #[inline(always)]
    fn next<P: Program + ?Sized>(&mut self, program: &mut P, answer: Answer) -> Option<Call> {
        // Where calls are looked at, or the time between them, programs give each.
        if self.desk.recording.marks > 0 || self.desk.meter.is_some() {
            let Turn { shared, desk, task, .. } = self;
            let clock = shared.control(*task).clock;
            let reply = reply(clock, answer, &mut desk.completions);
            return Some(match &mut desk.meter {
                None => program.next(reply),
                Some(meter) => meter.code(|| program.next(reply)),
            });
        }
        let clock = self.shared.control(self.task).clock;
        if !matches!(answer, Answer::Completed) {
            return program.next_asking(&mut reply(clock, answer, &mut []), self);
        }
        // What the program asks for may complete before it gives the reply back.
        let spare = std::mem::take(&mut self.desk.spare);
        let mut completions = std::mem::replace(&mut self.desk.completions, spare);
        let call = program.next_asking(&mut reply(clock, answer, &mut completions), self);
        self.desk.spare = completions;
        call
    }

    /// Makes a call: the answer, if there is one now.
    #[inline(always)]
    fn make(&mut self, call: &mut Call) -> Option<Answer> {
        let Turn { shared, desk, task, stretch, .. } = self;
        let task = *task;
        desk.handled += 1;
        *stretch += 1;
        let proceeds = match call {
            Call::Compute(span) => {
                shared.spend(desk, task, Spent::Compute, *span * u64::from(shared.sharing));
                Some(Answer::Done)
            }
            Call::Isend(message) => {
                *stretch += SEND_WEIGHT;
                Some(Answer::Started(start_send(shared, desk, task, message)))
            }
            Call::Irecv(pattern) => {
                let clock = shared.control(task).clock;
                Some(Answer::Started(post(shared, desk, task, pattern, clock)))
            }
            Call::Send(message) => {
                *stretch += SEND_WEIGHT;
                match start_send(shared, desk, task, message) {
                    COMPLETE => Some(Answer::Done),
                    id => wait_all(shared, desk, task, WaitKind::Send, Requests::from_slice(&[id])),
                }
            }
            Call::Recv(pattern) => {
                let clock = shared.control(task).clock;
                recv(shared, desk, task, WaitKind::Recv, pattern, clock)
            }
            Call::Exchange(message, pattern) => {
                *stretch += SEND_WEIGHT;
                let clock = shared.control(task).clock;
                match start_send(shared, desk, task, message) {
                    COMPLETE => recv(shared, desk, task, WaitKind::Exchange, pattern, clock),
                    send => {
                        let recv = post(shared, desk, task, pattern, clock);
                        wait_all(shared, desk, task, WaitKind::Exchange, Requests::from_slice(&[recv, send]))
                    }
                }
            }
            Call::WaitAll(requests) => wait_all(shared, desk, task, WaitKind::WaitAll, take(requests)),
            Call::Complete(requests) => wait_all(shared, desk, task, WaitKind::Complete, take(requests)),
            Call::WaitAny(requests) => {
                wait_any(shared, desk, task, take(requests));
                None
            }
            Call::Test { requests, which, poll } => {
                let wait = Wait::Test { requests: take(requests), which: *which, poll: *poll };
                wait_for_own_time(shared, desk, task, wait);
                None
            }
            Call::Idle(span) => {
                begin_idle(shared, desk, task, *span);
                None
            }
            Call::Cancel(id) => {
                wait_for_own_time(shared, desk, task, Wait::Cancel(*id));
                None
            }
            Call::Probe(pattern) => probe(shared, desk, task, *pattern),
            Call::Iprobe(pattern) => {
                wait_for_own_time(shared, desk, task, Wait::Iprobe(*pattern));
                None
            }
            Call::Enter(entry) => {
                let kind = desk.collectives.enter(entry.name, entry.method, entry.bytes);
                let control = shared.control(task);
                (control.collective, control.entered) = (Some(entry.name), (control.clock, kind));
                Some(Answer::Done)
            }
            Call::Leave => {
                let control = shared.control(task);
                if control.collective.take().is_some() {
                    let (since, kind) = control.entered;
                    desk.collectives.leave(kind, control.clock.since(since));
                }
                Some(Answer::Done)
            }
            last_of_turn => self.make_last(std::mem::replace(last_of_turn, Call::Yield)),
        };
        match proceeds {
            // Completions do not outlive the moment, so that answer is given first.
            Some(answer @ (Answer::Done | Answer::Started(_))) if self.stretch >= STRETCH => {
                wait_for_own_time(self.shared, self.desk, task, Wait::Parked(answer));
                None
            }
            proceeds if self.desk.failure.is_none() => proceeds,
            _ => None,
        }
    }

    /// Makes a call that ends the program's turn, at least for a moment.
    fn make_last(&mut self, call: Call) -> Option<Answer> {
        let Turn { shared, desk, task, stretch, .. } = self;
        match call {
            Call::Start(strand) => {
                *stretch += SEND_WEIGHT;
                desk.alone = false;
                Some(Answer::Started(start_strand(shared, desk, *task, strand)))
            }
            Call::Finish => {
                finish(shared, desk, *task);
                None
            }
            Call::Fail(error) => {
                let clock = shared.control(*task).clock;
                desk.fail(RunError::Program { rank: shared.rank, clock, error: *error });
                None
            }
            _ => {
                *stretch = STRETCH;
                Some(Answer::Done)
            }
        }
    }
}

impl Simulator for Turn<'_, '_> {
    fn ask(&mut self, call: &mut Call) -> Asked<'_> {
        if let Call::Start(_) | Call::Finish | Call::Fail(_) | Call::Yield = call {
            return Asked::Refused;
        }
        match self.make(call) {
            Some(answer) if self.is_in_time() => {
                let clock = self.shared.control(self.task).clock;
                Asked::Replied(reply(clock, answer, &mut self.desk.completions))
            }
            _ => Asked::Waits,
        }
    }
}

#[inline(always)]
fn reply(clock: SimTime, answer: Answer, completions: &mut [Completion]) -> Reply<'_> {
    let kind = match answer {
        Answer::Begin => ReplyKind::Begin,
        Answer::Done => ReplyKind::Done,
        Answer::Started(id) => ReplyKind::Started(id),
        Answer::Completed => ReplyKind::Completed(completions),
    };
    Reply { clock, kind }
}

/// Resumes a task whose wait is over.
pub(super) fn resume<P: Program>(program: &mut P, shared: &mut Shared, desk: &mut Desk<'_>, task: u32) {
    let answer = match std::mem::replace(&mut shared.control(task).wait, Wait::Nothing) {
        Wait::All { kind, requests, left } => {
            debug_assert_eq!(left, 0);
            complete_all(shared, desk, task, kind, &requests)
        }
        Wait::Parked(answer) => answer,
        Wait::Cancel(_) | Wait::Idle { .. } => Answer::Done,
        // The waits below have left their completions at the desk.
        Wait::Recv { .. } | Wait::Any(_) | Wait::Test { .. } | Wait::Probe(_) | Wait::Iprobe(_) => Answer::Completed,
        wait @ (Wait::Nothing | Wait::Finished) => unreachable!("a task in {wait:?} was woken"),
    };
    if task == MAIN {
        run(program, shared, desk, task, answer);
    } else {
        run_strand(shared, desk, task, answer);
    }
}

fn run_strand(shared: &mut Shared, desk: &mut Desk<'_>, task: u32, answer: Answer) {
    let index = task as usize - 1;
    let strand = shared.strands[index].as_mut().expect("the strand is alive");
    let mut program = strand.program.take().expect("a strand does not run twice at a time");
    run(&mut program, shared, desk, task, answer);
    let strand = shared.strands[index].as_mut().expect("the strand is still there");
    if matches!(strand.control.wait, Wait::Finished) {
        let &mut Strand { request, control: Control { clock, path, .. }, .. } = &mut **strand;
        shared.requests.get_mut(request).came_at(clock, path);
        shared.strands[index] = None;
        set_ready(shared, desk, request, clock);
    } else {
        strand.program = Some(program);
    }
}

/// Starts a strand of `parent`, which goes on from there by a path of its own.
fn start_strand(shared: &mut Shared, desk: &mut Desk<'_>, parent: u32, program: Box<dyn Program>) -> RequestId {
    let Control { clock, path, serial, site, .. } = *shared.control(parent);
    let mut control = Control::new(clock, desk.paths.share(path));
    control.computes = program.is_thread();
    if let Some(trail) = &mut shared.trail
        && desk.recording.marks > 0
    {
        (control.serial, control.site) = (trail.next_serial(), site);
        desk.paths.claim(&mut control.path, shared.rank, control.serial);
        let came = Some(Point { rank: shared.rank, serial, time: clock });
        trail.mark(control.serial, Mark { until: clock, site, came });
    }
    let index = shared.strands.iter().position(Option::is_none).unwrap_or_else(|| {
        shared.strands.push(None);
        shared.strands.len() - 1
    });
    let task = index as u32 + 1;
    let request = shared.requests.add(Request::strand(task, clock));
    shared.strands[index] = Some(Box::new(Strand { control, program: Some(program), request }));
    run_strand(shared, desk, task, Answer::Begin);
    request
}

fn finish(shared: &mut Shared, desk: &mut Desk<'_>, task: u32) {
    shared.control(task).wait = Wait::Finished;
    if task == MAIN {
        desk.unfinished -= 1;
    }
}
