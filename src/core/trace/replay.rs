//! Replays a trace: each rank repeats the calls that the trace contains.

mod driven;
mod state;

use std::sync::{Arc, Mutex};

use super::Machine;
use super::cores::{CoreTurns, CoreUser};
use super::op::TraceOp;
use super::read::{Runs, Trace};
use crate::rank::{
    COMPLETE, Call, CallSite, Called, Describe, Message, Program, Rank, Reply, ReplyKind, Requests, Served, Tag, Which,
};
use crate::units::{Bytes, SimSpan};
pub use driven::{ReplayMachine, ReplayedRun};
use state::{RecordedAnswer, TaskPosition, ThreadMeetings};

/// Program of a rank that repeats the calls recorded in a trace.
pub struct Replay {
    task: TaskReplay,
    served: Option<Box<Serving>>,
}

/// Replay of a task: the program of a rank, or of a strand (concurrent activity of a rank).
struct TaskReplay {
    trace: Arc<Trace>,
    state: TaskPosition,
    /// Turns on the cores of the rank, if the task is a thread that shares them.
    turns: Option<Box<CoreTurns>>,
}

/// Remaining answers of a rank's service: for each sender, the index of the present group of equal answers, and the
/// position in that group.
struct Serving {
    runs: Arc<Runs>,
    places: Vec<(usize, u64)>,
}

impl Trace {
    /// Program that repeats the calls of `rank` on the simulated machine `machine`, with the times of the program's
    /// code multiplied by `factor`.
    ///
    /// # Panics
    /// If the trace has no rank `rank`.
    pub fn program(self: &Arc<Self>, rank: Rank, machine: &Machine, factor: f64) -> Replay {
        self.replay(rank, Some(machine.clone()), factor)
    }

    /// Program that lists the recorded calls of `rank` without a simulated machine. Collectives are listed as calls and
    /// not executed.
    pub(super) fn calls(self: &Arc<Self>, rank: Rank) -> Replay {
        self.replay(rank, None, 1.0)
    }

    fn replay(self: &Arc<Self>, rank: Rank, machine: Option<Machine>, factor: f64) -> Replay {
        let has_threads = self.ops.iter().any(TraceOp::is_of_threads);
        let threads = has_threads.then(|| Arc::new(Mutex::new(ThreadMeetings::new(rank, machine.as_ref()))));
        let mut state = TaskPosition::new(self, machine, rank, self.ranks[rank as usize], (0, 0));
        (state.factor, state.threads) = (factor, threads);
        let serving = |runs: &Arc<Runs>| Box::new(Serving { places: vec![(0, 0); runs.len()], runs: runs.clone() });
        Replay {
            served: self.served.get(&rank).map(serving),
            task: TaskReplay { trace: self.clone(), state, turns: None },
        }
    }

    /// Rank that is `relative` ranks after `rank`, modulo the number of ranks.
    #[inline]
    fn peer(&self, rank: Rank, relative: u32) -> Rank {
        let ranks = self.header.ranks;
        if relative < ranks - rank { rank + relative } else { relative - (ranks - rank) }
    }
}

impl Program for Replay {
    #[inline]
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.task.next(reply)
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let Some(serving) = &mut self.served else { return };
        let Ok(sender) = serving.runs.binary_search_by_key(&message.from, |(from, _)| *from) else { return };
        let runs = &serving.runs[sender].1;
        let (run, done) = &mut serving.places[sender];
        while runs.get(*run).is_some_and(|(_, count)| *done >= *count) {
            (*run, *done) = (*run + 1, 0);
        }
        let Some((number, _)) = runs.get(*run) else { return };
        *done += 1;
        let (trace, rank) = (&self.task.trace, self.task.state.rank);
        answers.extend(trace.answers[*number as usize].iter().map(|sent| Message {
            to: trace.peer(rank, sent.to.peer),
            context: sent.to.context,
            tag: message.tag.wrapping_add(sent.to.tag.offset).min(Tag::MAX - 1),
            size: Bytes::new(sent.size),
            mode: sent.mode.into(),
            payload: None,
            buffer: Default::default(),
        }));
    }
}

impl Describe for Replay {
    fn position(&self) -> Option<String> {
        Some(self.task.state.place())
    }

    fn site(&self) -> CallSite {
        self.task.site()
    }

    fn called(&mut self) -> Option<Called> {
        self.task.called()
    }
}

impl Program for TaskReplay {
    #[inline]
    fn next(&mut self, reply: Reply<'_>) -> Call {
        if self.state.threads.is_some() { self.next_of_thread(reply) } else { self.next_call(reply) }
    }
}

impl TaskReplay {
    /// Returns the next call of a task of a rank whose threads share cores.
    #[inline(never)]
    fn next_of_thread(&mut self, reply: Reply<'_>) -> Call {
        if let Some(mut turns) = self.turns.take() {
            let call = turns.next(self, reply);
            self.turns = Some(turns);
            return call;
        }
        let call = self.next_call(reply);
        let Some(cores) = self.state.shared_cores() else { return call };
        let mut turns = Box::new(CoreTurns::new(cores));
        let call = turns.made(self, call);
        self.turns = Some(turns);
        call
    }
}

impl CoreUser for TaskReplay {
    #[inline]
    fn next_call(&mut self, mut reply: Reply<'_>) -> Call {
        let TaskReplay { trace, state, .. } = self;
        if state.is_in_call() {
            return state.go_on(&mut reply);
        }
        match reply.kind {
            ReplyKind::Started(id) => state.started(id),
            ReplyKind::Completed(done) if !matches!(state.asked, RecordedAnswer::Nothing) => {
                if let Some(wait) = state.answered(done) {
                    return wait;
                }
            }
            _ => {}
        }
        if state.threads.is_none() {
            return state.step(trace);
        }
        let call = state.after_meeting().unwrap_or_else(|| state.step(trace));
        state.note_time(&call);
        call
    }

    fn block(&self, call: &Call) -> SimSpan {
        match call {
            Call::Compute(span) | Call::Code(span) if self.state.is_block => *span,
            _ => SimSpan::ZERO,
        }
    }

    fn part(&self, part: SimSpan) -> Call {
        if self.trace.header.factors.is_empty() { Call::Compute(part) } else { Call::Code(part) }
    }
}

impl Describe for TaskReplay {
    fn site(&self) -> CallSite {
        CallSite::Function(self.state.site(&self.trace))
    }

    fn called(&mut self) -> Option<Called> {
        self.state.called()
    }

    fn is_thread(&self) -> bool {
        self.state.thread > 0
    }

    fn thread(&self) -> Option<u32> {
        Some(self.state.thread).filter(|&thread| thread > 0)
    }

    fn position(&self) -> Option<String> {
        let TaskReplay { trace, state, .. } = self;
        let name = &trace.names[trace.tasks[state.number as usize].name as usize];
        Some(if name.is_empty() { state.place() } else { name.clone() })
    }
}

/// Call that tests no requests and takes no virtual time.
fn look() -> Call {
    Call::Test { requests: Requests::from_slice(&[COMPLETE]), which: Which::Some, poll: false }
}
