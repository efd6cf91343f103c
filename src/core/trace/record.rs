//! Recording of a run. A wrapper around each rank's program observes the calls of the program and the replies of the
//! engine without changing the run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::fold::LONGEST;
use super::op::{Mode, TagOrigin, TagRef};
use super::op::{PeerEnd, Sent};
use super::task::{RankPoints, RecordedTask, TaskRecorder};
use crate::mpi::CalledCollective;
use crate::rank::forward_reports;
use crate::rank::{Call, Describe, Doorbell, Message, Program, Rank, Reply, ReplyKind, Served, Tag};

/// Total number of nodes of folded sequences that all ranks together keep for the detection of loops.
const IN_VIEW: u32 = 1 << 22;

/// A recording of a run in progress.
#[derive(Debug)]
pub struct Recording {
    ranks: u32,
    longest: usize,
    /// Whether the recorded programs are real code whose time was measured.
    is_code: bool,
    logs: Vec<Mutex<Option<RecordedRank>>>,
}

/// Recorded actions of some ranks of a run, for transfer between host processes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Portion(Vec<(Rank, RecordedRank)>);

/// Recorded actions of a rank: its program and its strands.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedRank {
    pub main: RecordedTask,
    pub strands: Arc<Mutex<Strands>>,
    pub served: ServedLog,
    pub fault: Option<String>,
}

/// Recorded strands (concurrent activities) of a rank. Equal strands are stored once.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Strands {
    pub logs: Vec<Arc<RecordedTask>>,
    #[serde(skip)]
    numbers: FxHashMap<Arc<RecordedTask>, u32>,
    /// For each strand in the order of start: index of its actions in `logs`, and its first tag. `None` until the
    /// strand ends.
    pub ended: Vec<Option<(u32, Tag)>>,
    /// For each strand in the order of start: its number among the threads of the rank, or 0.
    pub threads: Vec<u32>,
    fault: Option<String>,
}

/// Answers of a rank's service to messages: for each sender, groups of consecutive equal answers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ServedLog {
    pub answers: Vec<Vec<Sent>>,
    #[serde(skip)]
    numbers: FxHashMap<Vec<Sent>, u32>,
    pub runs: BTreeMap<Rank, Vec<(u32, u64)>>,
}

impl Recording {
    /// Creates a recording of a run of `ranks` ranks.
    pub fn new(ranks: u32) -> Self {
        let longest = ((IN_VIEW / ranks.max(1)) as usize).clamp(256, LONGEST);
        Recording { ranks, longest, is_code: false, logs: (0..ranks).map(|_| Mutex::default()).collect() }
    }

    /// Sets whether the recorded programs are real code whose time was measured.
    #[must_use]
    pub fn of_code(self, is_code: bool) -> Self {
        Recording { is_code, ..self }
    }

    /// Number of ranks of the run.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Wraps the program of `rank` in a recorder.
    pub fn wrap<P: Program>(self: &Arc<Self>, rank: Rank, mut program: P) -> Recorder<P> {
        program.record_collectives();
        let points: Arc<RankPoints> = Arc::default();
        let mut task = TaskRecorder::new(rank, self.ranks, self.longest, false).with_points(points.clone());
        task.is_code = self.is_code;
        let task = Some(task);
        let strands = Arc::default();
        Recorder { program, rank, task, strands, points, served: ServedLog::default(), recording: self.clone() }
    }

    /// Removes and returns the recorded actions of each rank. The recorded programs must have been dropped.
    pub(super) fn take(&self) -> Vec<Option<RecordedRank>> {
        self.logs.iter().map(|log| lock(log).take()).collect()
    }

    /// Removes and returns the recorded actions of the ranks whose programs ran in this host process and have been
    /// dropped.
    pub fn give(&self) -> Portion {
        let logs = (0..).zip(self.take());
        Portion(logs.filter_map(|(rank, log)| Some((rank, log?))).collect())
    }

    /// Adds the recorded actions of other ranks of the same run.
    pub fn take_in(&self, portion: Portion) {
        portion.0.into_iter().for_each(|(rank, log)| *lock(&self.logs[rank as usize]) = Some(log));
    }
}

/// Wrapper that records the calls of a program.
pub struct Recorder<P> {
    program: P,
    rank: Rank,
    task: Option<TaskRecorder>,
    strands: Arc<Mutex<Strands>>,
    points: Arc<RankPoints>,
    served: ServedLog,
    recording: Arc<Recording>,
}

/// A strand (concurrent activity of a rank) that is being recorded.
struct StrandRecorder {
    program: Box<dyn Program>,
    task: Option<TaskRecorder>,
    number: u32,
    of: RankDetails,
}

/// Values that the recorders of all tasks of a rank share.
#[derive(Clone)]
struct RankDetails {
    rank: Rank,
    ranks: u32,
    longest: usize,
    /// Whether the program of the rank is real code whose time was measured.
    is_code: bool,
    strands: Arc<Mutex<Strands>>,
    points: Arc<RankPoints>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes the engine's reply to the program, gets the program's next call, and records the reply and the call.
#[inline]
fn step<P: Program + ?Sized>(
    task: &mut TaskRecorder,
    reply: Reply<'_>,
    program: &mut P,
    start: impl FnOnce(Box<dyn Program>) -> (u32, Box<dyn Program>),
) -> Call {
    let only_done = task.hears(&reply.kind);
    let reply = if only_done { Reply { kind: ReplyKind::Done, ..reply } } else { reply };
    match program.next(reply) {
        Call::Start(strand) => {
            let (number, strand) = start(strand);
            task.starts(number);
            Call::Start(strand)
        }
        Call::Enter(entry) if entry.method.is_some() => {
            let called = program.called().and_then(|called| called.downcast::<CalledCollective>().ok());
            match called {
                Some(called) => {
                    task.calls(entry.name, &called);
                    Call::Enter(entry)
                }
                None => task.asks(Call::Enter(entry)),
            }
        }
        call => task.asks(call),
    }
}

/// Wraps a strand of the rank `of` in a recorder. Returns the strand's index among the rank's strands, and the recorder.
fn wrap_strand(program: Box<dyn Program>, of: RankDetails) -> (u32, Box<dyn Program>) {
    let thread = program.thread();
    let mut all = lock(&of.strands);
    all.ended.push(None);
    all.threads.push(thread.unwrap_or(0));
    let number = all.ended.len() as u32 - 1;
    drop(all);
    let mut task = TaskRecorder::new(of.rank, of.ranks, of.longest, thread.is_none()).with_points(of.points.clone());
    task.is_code = of.is_code && thread.is_some();
    (number, Box::new(StrandRecorder { program, task: Some(task), number, of }))
}

impl<P: Program> Program for Recorder<P> {
    #[inline]
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let Recorder { program, rank, task, strands, points, recording, .. } = self;
        let task = task.as_mut().expect("it is there until the end");
        step(task, reply, program, |strand| {
            let Recording { ranks, longest, is_code, .. } = **recording;
            let (strands, points) = (strands.clone(), points.clone());
            wrap_strand(strand, RankDetails { rank: *rank, ranks, longest, is_code, strands, points })
        })
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let (from, tag, before) = (message.from, message.tag, answers.len());
        self.program.serve(message, answers);
        self.served.add(self.rank, self.recording.ranks, (from, tag), &answers[before..]);
    }

    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        self.program.attach(doorbell);
    }

    fn run_ahead(&mut self) {
        self.program.run_ahead();
    }
}

impl<P: Program> Describe for Recorder<P> {
    forward_reports!(self, self.program);

    fn task_log(&mut self) -> Option<Box<crate::profile::TaskLog>> {
        self.program.task_log()
    }
}

impl<P> Drop for Recorder<P> {
    fn drop(&mut self) {
        let Some(mut task) = self.task.take() else { return };
        let fault = task.fault.take();
        let (strands, served) = (self.strands.clone(), std::mem::take(&mut self.served));
        *lock(&self.recording.logs[self.rank as usize]) =
            Some(RecordedRank { main: task.finish(), strands, served, fault });
    }
}

impl Program for StrandRecorder {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let StrandRecorder { program, task, of, .. } = self;
        let task = task.as_mut().expect("it is there until the end");
        step(task, reply, &mut **program, |strand| wrap_strand(strand, of.clone()))
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        self.program.serve(message, answers);
    }
}

impl Describe for StrandRecorder {
    forward_reports!(self, self.program);

    fn is_thread(&self) -> bool {
        self.program.is_thread()
    }

    fn thread(&self) -> Option<u32> {
        self.program.thread()
    }
}

impl Drop for StrandRecorder {
    fn drop(&mut self) {
        let Some(mut task) = self.task.take() else { return };
        let (fault, base) = (task.fault.take(), task.base.unwrap_or(0));
        let log = RecordedTask { name: self.program.position().unwrap_or_default(), ..task.finish() };
        let mut all = lock(&self.of.strands);
        all.fault = all.fault.take().or(fault);
        let number = match all.numbers.get(&log) {
            Some(&number) => number,
            None => {
                let (log, number) = (Arc::new(log), all.logs.len() as u32);
                all.logs.push(log.clone());
                all.numbers.insert(log, number);
                number
            }
        };
        all.ended[self.number as usize] = Some((number, base));
    }
}

impl Strands {
    /// Reason why a strand cannot be recorded.
    pub fn fault(&self) -> Option<&String> {
        self.fault.as_ref()
    }
}

impl ServedLog {
    /// Adds the answers of the service of `rank` to a message. The tags of the answers are stored relative to the tag
    /// of the message.
    fn add(&mut self, rank: Rank, ranks: u32, (from, tag): (Rank, Tag), answers: &[Message]) {
        let answer = |message: &Message| {
            let peer = if message.to >= rank { message.to - rank } else { message.to + (ranks - rank) };
            let tag = TagRef { origin: TagOrigin::Zero, offset: message.tag.wrapping_sub(tag) };
            let to = PeerEnd { peer, context: message.context, tag };
            Sent { to, size: message.size.get(), mode: Mode::from(message.mode) }
        };
        let answers: Vec<Sent> = answers.iter().map(answer).collect();
        let number = match self.numbers.get(&answers) {
            Some(&number) => number,
            None => {
                let number = self.answers.len() as u32;
                self.answers.push(answers.clone());
                self.numbers.insert(answers, number);
                number
            }
        };
        let runs = self.runs.entry(from).or_default();
        match runs.last_mut() {
            Some((last, count)) if *last == number => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
}
