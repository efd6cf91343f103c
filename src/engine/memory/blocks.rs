//! Blocks that compute and use memory meanwhile: each instant they proceed as the slower of core and memory lets them.
//!
//! Whether a block can be slowed by others at all is known from the placement, before the run. If it cannot, its time
//! is known at once, and its rank runs ahead. Otherwise it is a flow on the memories of its CMP and its node, from
//! when it begins; its rank goes on when that has ended.

use mcpsim_base::rank::{DataBlock, MemoryBlock};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::super::clock::TimeCategory;
use super::super::lp::LogicalProcess;
use super::super::state::{Answer, TargetRank, Wait};
use super::super::waits::wait_for_own_time;
use super::nodes::NO_LIMIT;

/// A block that is under way, or is to begin when its task's clock is there.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct SharedBlock {
    /// How long it takes if memory does not bound it, and if nobody shares that.
    core: SimSpan,
    alone: SimSpan,
    bytes: Bytes,
    shares: BlockShares,
}

/// What a block shares with others.
#[derive(Clone, Copy, Debug)]
enum BlockShares {
    /// Memory, of which it moves so much a second at most.
    Memory { pace: u64 },
    /// Whatever slows real code.
    Cmp,
    /// Memory, if caches do not hold what a collective copies or combines.
    Data(DataBlock),
}

impl SharedBlock {
    /// On a core that moves `rate` bytes a second.
    fn new(core: SimSpan, bytes: Bytes, rate: f64) -> SharedBlock {
        let memory = SimSpan::from_seconds(bytes.get() as f64 / rate).unwrap_or(SimSpan::MAX);
        let alone = core.max(memory);
        let rate = rate.clamp(1.0, NO_LIMIT as f64);
        let pace = match core > memory {
            false => rate as u64,
            true => rounded_up(bytes.get() as f64 / core.as_seconds()).min(rate as u64),
        };
        SharedBlock { core, alone, bytes, shares: BlockShares::Memory { pace: pace.max(1) } }
    }

    /// Real code.
    fn of_code(alone: SimSpan) -> SharedBlock {
        SharedBlock { core: SimSpan::ZERO, alone, bytes: Bytes::ZERO, shares: BlockShares::Cmp }
    }

    /// What a collective copies or combines.
    fn of_data(alone: SimSpan, block: DataBlock) -> SharedBlock {
        SharedBlock { core: alone, alone, bytes: block.size, shares: BlockShares::Data(block) }
    }
}

/// A pace with nine significant bits, not below `pace`: blocks that are nearly alike share one.
fn rounded_up(pace: f64) -> u64 {
    let pace = pace.clamp(1.0, NO_LIMIT as f64).ceil() as u64;
    let dropped = (64 - pace.leading_zeros()).saturating_sub(9);
    pace.div_ceil(1 << dropped) << dropped
}

/// The task computes a block: the answer, if its time is known.
pub(in super::super) fn begin_block(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    asked: MemoryBlock,
) -> Option<Answer> {
    let seat = lp.seats[target.rank as usize];
    let sharing = lp.longer(target.sharing);
    let slower = if lp.effects.slows { target.meets().slower() } else { 1.0 };
    let longer = |span: SimSpan| match slower == 1.0 {
        true => lp.on_core(target.sharing, span),
        false => SimSpan::from_seconds(span.as_seconds() * slower * sharing).unwrap_or(SimSpan::MAX),
    };
    let (rate, is_shared) = match &lp.node_memory {
        Some(memory) => (lp.core.memory * memory.factor(seat), memory.is_shared(seat)),
        None => (lp.core.memory, false),
    };
    let block = SharedBlock::new(longer(asked.core), asked.bytes, rate / (slower * sharing));
    let clock = target.control(task).clock;
    if !is_shared || block.bytes == Bytes::ZERO {
        end(target, lp, task, block, clock + block.alone);
        return Some(Answer::Done);
    }
    begin(target, lp, task, block)
}

/// The task computes for so long, whatever others do.
#[inline(always)]
pub(in super::super) fn compute(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    span: SimSpan,
) -> Answer {
    let mut span = lp.on_core(target.turns_at_core(lp, task), span);
    if lp.effects.slows {
        let start = target.control(task).clock;
        span = lp.slowed(target, start, span);
    }
    target.spend(lp, task, TimeCategory::Compute, span);
    Answer::Done
}

/// The task computes a block of real code, which others may slow: the answer, if its time is known.
#[cold]
pub(in super::super) fn begin_code(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    span: SimSpan,
) -> Option<Answer> {
    let (rank, seat) = (target.rank, lp.seats[target.rank as usize]);
    let times = [lp.now.time, target.control(task).clock];
    if let Some(memory) = lp.memory() {
        memory.compute(rank, seat, times, span);
    }
    if !lp.slows_code(target) {
        return Some(compute(target, lp, task, span));
    }
    let alone = lone(target, lp, span, target.sharing);
    begin(target, lp, task, SharedBlock::of_code(alone))
}

/// How long the rank takes for what takes `span` on a core of its own, where so many take turns.
fn lone(target: &mut TargetRank, lp: &LogicalProcess<'_>, span: SimSpan, turns: u32) -> SimSpan {
    let span = lp.on_core(turns, span);
    match lp.effects.slows {
        true => SimSpan::from_seconds(span.as_seconds() * target.meets().slower()).unwrap_or(SimSpan::MAX),
        false => span,
    }
}

/// The task copies or combines data in a collective: the answer, if the end of that is known.
#[inline]
pub(in super::super) fn begin_data(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    block: DataBlock,
) -> Option<Answer> {
    if !lp.memory().is_some_and(|memory| memory.feels_own(block.size)) {
        return Some(compute(target, lp, task, block.span));
    }
    let turns = target.turns_at_core(lp, task);
    let alone = lone(target, lp, block.span, turns);
    begin(target, lp, task, SharedBlock::of_data(alone, block))
}

/// The block begins when the simulation has got to the task's clock: the answer, if it has ended then.
fn begin(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, block: SharedBlock) -> Option<Answer> {
    if target.control(task).clock != lp.now.time {
        wait_for_own_time(target, lp, task, Wait::Block(block));
        return None;
    }
    target.begin_wait(task, Wait::Block(block));
    if !flow(target, lp, task, block) {
        return None;
    }
    target.control(task).wait = Wait::Nothing;
    Some(Answer::Done)
}

/// The simulation has got to the beginning of a block: whether its end is known, and the task goes on.
pub(in super::super) fn flow(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    task: u32,
    block: SharedBlock,
) -> bool {
    let (now, seat) = (lp.now.time, lp.seats[target.rank as usize]);
    if let BlockShares::Data(data) = block.shares {
        let moves = lp.memory().expect("there are caches").own_moves(target.rank, seat, data, now);
        if moves.is_empty() {
            end(target, lp, task, block, now + block.alone);
            return true;
        }
        let pace = rounded_up(block.bytes.get() as f64 / block.alone.as_seconds());
        let memory = lp.node_memory.as_mut().expect("copies share memory");
        memory.begin_copy(seat, now, pace, moves, block.bytes.get(), (target.rank, task));
        return false;
    }
    let memory = lp.node_memory.as_mut().expect("blocks share memory");
    match block.shares {
        BlockShares::Memory { pace } => {
            memory.begin_block(seat, now, pace, block.bytes.get(), (target.rank, task));
        }
        BlockShares::Cmp => memory.begin_code(seat, now, block.alone, (target.rank, task)),
        BlockShares::Data(_) => unreachable!("handled above"),
    }
    false
}

/// What the task's block moves has been moved by now: it goes on when that has ended.
pub(in super::super) fn end_block(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32) {
    let Wait::Block(block) = target.control(task).wait else { unreachable!("a block was under way") };
    let end_of_core = target.control(task).clock + block.core;
    let time = lp.now.time.max(end_of_core);
    end(target, lp, task, block, time);
    lp.woken.push(task);
}

/// The task's block ends at `time`, but for what stops its core.
fn end(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, block: SharedBlock, time: SimTime) {
    let clock = target.control(task).clock;
    let mut span = time.since(clock);
    let waited = match block.shares {
        BlockShares::Data(_) => SimSpan::ZERO,
        BlockShares::Memory { .. } | BlockShares::Cmp => {
            let waited = span.saturating_sub(block.alone);
            lp.statistics.blocks.add(block.bytes, waited);
            waited
        }
    };
    // A block takes at least its time alone, and at least half of its time with twice the memory bandwidth.
    let saved = waited.min(SimSpan::from_ps(span.as_ps() / 2));
    if lp.effects.slows {
        span = lp.with_detours(target, clock, span);
    }
    target.spend(lp, task, TimeCategory::Compute, span);
    if waited > SimSpan::ZERO {
        target.wait_for_memory(lp, task, waited, saved);
    }
}
