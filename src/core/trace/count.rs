//! Statistics of a trace, computed without executing the loops of its folded sequences.

use std::ops::Range;

use super::bytes::get;
use super::late::{self, LateValue};
use super::op::{LISTED_SIZE, Sent, TraceOp};
use super::read::{Task, Trace};
use crate::rank::{MemoryBlock, Rank};
use crate::units::SimSpan;

/// Counts of the actions of a rank, including the rank's strands (concurrent activities). Sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// Number of calls of the rank.
    pub calls: u64,
    /// Number of messages that the rank sent, including messages to a rank's service and the answers of the service.
    pub messages: u64,
    /// Number of bytes of the sent messages.
    pub bytes: u64,
    /// Virtual time of the rank's own code and of combining data in collectives.
    pub compute: SimSpan,
    /// Number of strands (concurrent activities) that the rank started.
    pub strands: u64,
    /// Number of collectives stored as calls. `messages` does not include the messages of these collectives.
    pub collectives: u64,
}

impl OperationCounts {
    /// Returns the sum of these counts and `other`.
    pub fn plus(self, other: OperationCounts) -> OperationCounts {
        OperationCounts {
            calls: self.calls.saturating_add(other.calls),
            messages: self.messages.saturating_add(other.messages),
            bytes: self.bytes.saturating_add(other.bytes),
            compute: self.compute + other.compute,
            strands: self.strands.saturating_add(other.strands),
            collectives: self.collectives.saturating_add(other.collectives),
        }
    }

    /// Multiplies all counts of actions by `times`.
    fn times(self, times: u64) -> OperationCounts {
        OperationCounts {
            calls: self.calls.saturating_mul(times),
            messages: self.messages.saturating_mul(times),
            bytes: self.bytes.saturating_mul(times),
            compute: SimSpan::from_ps(self.compute.as_ps().saturating_mul(times)),
            strands: self.strands.saturating_mul(times),
            collectives: self.collectives.saturating_mul(times),
        }
    }
}

impl Trace {
    /// Returns the counts of the actions of each rank.
    pub fn counts(&self) -> Vec<OperationCounts> {
        let codes: Vec<OperationCounts> = self.codes.iter().map(|code| self.of_code(code.clone())).collect();
        let mut tasks: Vec<OperationCounts> = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let counts = self.of_task(task, codes[task.code as usize], &tasks);
            tasks.push(counts);
        }
        let answers: Vec<OperationCounts> = self.answers.iter().map(|answers| of_messages(answers)).collect();
        let of_rank = |(rank, task): (usize, &u32)| {
            let served = self.served.get(&(rank as Rank)).into_iter().flat_map(|runs| runs.iter());
            let runs = served.flat_map(|(_, runs)| runs).map(|&(answer, count)| answers[answer as usize].times(count));
            runs.fold(tasks[*task as usize], OperationCounts::plus)
        };
        self.ranks.iter().enumerate().map(of_rank).collect()
    }

    /// For each type of operation: its word and the number of its executions by all ranks, greatest number first.
    pub fn kinds(&self) -> Vec<(&'static str, u64)> {
        // Numbers of executions of each task and of each folded sequence. The index of a strand's task is below the
        // index of the task that starts the strand.
        let (mut runs, mut codes) = (vec![0u64; self.tasks.len()], vec![0u64; self.codes.len()]);
        self.ranks.iter().for_each(|&task| runs[task as usize] += 1);
        for (number, task) in self.tasks.iter().enumerate().rev() {
            let times = runs[number];
            self.strands(task).for_each(|strand| runs[strand] = runs[strand].saturating_add(times));
            codes[task.code as usize] = codes[task.code as usize].saturating_add(times);
        }
        let mut ops = vec![0u64; self.ops.len()];
        for (code, times) in self.codes.iter().zip(codes) {
            let mut add = |number: u32, count: u64| ops[number as usize] = ops[number as usize].saturating_add(count);
            walk(&self.bytes[..code.end], code.start, times, &mut add);
        }
        let mut kinds: Vec<(&'static str, u64)> = Vec::new();
        for (op, count) in self.ops.iter().zip(ops).filter(|(op, count)| op.is_call() && *count > 0) {
            match kinds.iter_mut().find(|(word, _)| *word == op.word()) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => kinds.push((op.word(), count)),
            }
        }
        kinds.sort_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
        kinds
    }

    /// Counts of a folded sequence, without the values in the lists of its task.
    fn of_code(&self, code: Range<usize>) -> OperationCounts {
        let mut all = OperationCounts::default();
        let mut add = |number: u32, count: u64| {
            let one = match &self.ops[number as usize] {
                TraceOp::Compute(span) | TraceOp::Pass(span) | TraceOp::Work(MemoryBlock { core: span, .. }) => {
                    OperationCounts { compute: *span, ..OperationCounts::default() }
                }
                TraceOp::Send(sent) | TraceOp::IsendEager(sent) | TraceOp::Isend(sent, _) => of_messages(&[*sent]),
                TraceOp::Exchange(both) => of_messages(&[both.0]),
                TraceOp::Called(_) => OperationCounts { collectives: 1, ..OperationCounts::default() },
                op if !op.is_call() => return,
                _ => OperationCounts::default(),
            };
            all = all.plus(OperationCounts { calls: 1, ..one }.times(count));
        };
        walk(&self.bytes[..code.end], code.start, 1, &mut add);
        all
    }

    fn of_task(&self, task: &Task, mut all: OperationCounts, earlier: &[OperationCounts]) -> OperationCounts {
        let listed = |range: &Range<usize>| numbers(&self.bytes, range.clone());
        for value in listed(&task.spans) {
            all.compute += if value & 1 == 0 { SimSpan::from_ns(value >> 1) } else { SimSpan::from_ps(value >> 1) };
        }
        all.bytes = listed(&task.sizes).fold(all.bytes, u64::saturating_add);
        self.strands(task).fold(all, |all, strand| {
            all.plus(OperationCounts { strands: 1, ..OperationCounts::default() }).plus(earlier[strand])
        })
    }

    /// Indices of the tasks of the strands that a task starts.
    fn strands(&self, task: &Task) -> impl Iterator<Item = usize> {
        let mut range = task.late.clone();
        let late = std::iter::from_fn(move || late::next(&self.bytes, &mut range));
        late.filter_map(|late| match late {
            LateValue::Strand(task, _) | LateValue::Thread(task, _) => Some(task as usize),
            _ => None,
        })
    }
}

fn of_messages(sent: &[Sent]) -> OperationCounts {
    let sizes = sent.iter().map(|sent| if sent.size == LISTED_SIZE { 0 } else { sent.size });
    OperationCounts {
        messages: sent.len() as u64,
        bytes: sizes.fold(0, u64::saturating_add),
        ..OperationCounts::default()
    }
}

/// Integers encoded in the bytes `range`.
fn numbers(bytes: &[u8], mut range: Range<usize>) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || get(&bytes[..range.end], &mut range.start))
}

/// Calls `add` with each operation index of a folded sequence and the number of executions of the operation. The
/// sequence must have been checked.
fn walk(bytes: &[u8], start: usize, times: u64, add: &mut impl FnMut(u32, u64)) {
    let mut at = start;
    while let Some(word) = get(bytes, &mut at) {
        if word & 1 == 0 {
            add((word >> 1) as u32, times);
            continue;
        }
        let length = get(bytes, &mut at).unwrap_or(0) as usize;
        walk(&bytes[..at + length], at, times.saturating_mul(word >> 1), add);
        at += length;
    }
}
