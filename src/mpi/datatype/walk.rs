//! Traverses the runs of a plan, or the runs in a range of the packed form, and copies their bytes.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr;

use super::kind::BasicKind;
use super::plan::{PackPlan, PlanNode};

/// Greatest number of runs in a loop body for which each run is copied for many loop iterations before the next run.
const FEW: usize = 8;
/// Number of loop iterations for which the runs of a loop body are copied one after another. The data of these
/// iterations stay in the first-level cache.
const BLOCK: u64 = 256;

/// Runs of basic elements with equal lengths at equal distances, in memory and in the packed form of a datatype.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strided {
    /// Displacement of the first run from the origin of the datatype.
    pub at: i64,
    pub stride: i64,
    /// Offset of the first run in the packed form.
    pub start: u64,
    pub step: u64,
    /// Number of bytes per run.
    pub bytes: u64,
    pub count: u64,
    pub kind: &'static BasicKind,
}

/// Action on the runs of basic elements that a plan contains.
pub(super) trait Visitor {
    /// Whether the action must visit the runs in the order of the packed form.
    const ORDERED: bool;
    fn run(&mut self, at: i64, start: u64, bytes: u64, kind: &'static BasicKind);
    fn strided(&mut self, pieces: Strided);
}

/// Visits the data of `plan` that are in `range` of the packed form. The plan's data begin at offset `start` of the
/// packed form.
pub(super) fn clipped(plan: &PackPlan, at: i64, start: u64, range: &Range<u64>, to: &mut impl Visitor) {
    let end = start + plan.bytes;
    if range.start <= start && end <= range.end {
        return whole(plan, at, start, to);
    }
    if end <= range.start || range.end <= start {
        return;
    }
    let at = at + plan.at;
    match &plan.node {
        PlanNode::Nothing => {}
        PlanNode::Run(kind) => clipped_run(at, start, plan.bytes, kind, range, to),
        PlanNode::Loop { count, stride, body } => clipped_loop(body, *count, *stride, at, start, range, to),
        PlanNode::Runs(runs) => {
            let first = runs.partition_point(|run| start + run.start + run.bytes <= range.start);
            let last = runs.partition_point(|run| start + run.start < range.end);
            for run in &runs[first..last] {
                clipped_run(at + run.at, start + run.start, run.bytes, run.kind, range, to);
            }
        }
        PlanNode::Parts(parts) => {
            let first = parts.partition_point(|part| start + part.start + part.plan.bytes <= range.start);
            let last = parts.partition_point(|part| start + part.start < range.end);
            for part in &parts[first..last] {
                clipped(&part.plan, at, start + part.start, range, to);
            }
        }
    }
}

/// Like [`clipped`], for `count` copies of the plan `body`, `stride` bytes apart.
pub(super) fn clipped_loop(
    body: &PackPlan,
    count: u64,
    stride: i64,
    at: i64,
    start: u64,
    range: &Range<u64>,
    to: &mut impl Visitor,
) {
    if body.bytes == 0 || range.end <= start {
        return;
    }
    let (from, until) = (range.start.saturating_sub(start), (range.end - start).min(body.bytes.saturating_mul(count)));
    if from >= until {
        return;
    }
    let first_whole = from.div_ceil(body.bytes);
    let end_whole = until / body.bytes;
    let place = |i: u64| (at + i as i64 * stride, start + i * body.bytes);
    if first_whole > end_whole {
        let (at, start) = place(end_whole);
        return clipped(body, at, start, range, to);
    }
    if from % body.bytes != 0 {
        let (at, start) = place(first_whole - 1);
        clipped(body, at, start, range, to);
    }
    if first_whole < end_whole {
        let (at, start) = place(first_whole);
        whole_loop(body, end_whole - first_whole, stride, at, start, to);
    }
    if until % body.bytes != 0 {
        let (at, start) = place(end_whole);
        clipped(body, at, start, range, to);
    }
}

fn clipped_run(at: i64, start: u64, bytes: u64, kind: &'static BasicKind, range: &Range<u64>, to: &mut impl Visitor) {
    let (from, until) = (start.max(range.start), (start + bytes).min(range.end));
    if from < until {
        to.run(at + (from - start) as i64, from, until - from, kind);
    }
}

fn whole(plan: &PackPlan, at: i64, start: u64, to: &mut impl Visitor) {
    let at = at + plan.at;
    match &plan.node {
        PlanNode::Nothing => {}
        PlanNode::Run(kind) => to.run(at, start, plan.bytes, kind),
        PlanNode::Loop { count, stride, body } => whole_loop(body, *count, *stride, at, start, to),
        PlanNode::Runs(runs) => runs.iter().for_each(|run| to.run(at + run.at, start + run.start, run.bytes, run.kind)),
        PlanNode::Parts(parts) => parts.iter().for_each(|part| whole(&part.plan, at, start + part.start, to)),
    }
}

fn whole_loop<V: Visitor>(body: &PackPlan, count: u64, stride: i64, at: i64, start: u64, to: &mut V) {
    let step = body.bytes;
    match &body.node {
        PlanNode::Run(kind) => {
            let at = at + body.at;
            to.strided(Strided { at, stride, start, step, bytes: step, count, kind });
        }
        PlanNode::Runs(runs) if runs.len() <= FEW && !V::ORDERED => {
            let mut done = 0;
            while done < count {
                let (n, at) = ((count - done).min(BLOCK), at + body.at + done as i64 * stride);
                for run in runs.iter() {
                    let (at, start) = (at + run.at, start + done * step + run.start);
                    to.strided(Strided { at, stride, start, step, bytes: run.bytes, count: n, kind: run.kind });
                }
                done += n;
            }
        }
        _ => (0..count).for_each(|i| whole(body, at + i as i64 * stride, start + i * step, to)),
    }
}

/// Copies data from memory to the packed form; `packed` points to byte `offset` of the packed form.
pub(super) struct Gather {
    pub base: *const u8,
    pub packed: *mut u8,
    pub offset: u64,
}

impl Visitor for Gather {
    const ORDERED: bool = false;

    #[inline]
    fn run(&mut self, at: i64, start: u64, bytes: u64, _: &'static BasicKind) {
        // SAFETY: the creator of the visitor guarantees that the memory of the plan is readable and the packed range
        // writable. This run lies in this memory and in this range.
        unsafe {
            let to = self.packed.add((start - self.offset) as usize);
            ptr::copy_nonoverlapping(self.base.wrapping_offset(at as isize), to, bytes as usize);
        }
    }

    #[inline]
    fn strided(&mut self, s: Strided) {
        // SAFETY: as in `run`, for all pieces.
        unsafe {
            let to = self.packed.add((s.start - self.offset) as usize);
            let from = self.base.wrapping_offset(s.at as isize);
            strided(to, s.step as isize, from, s.stride as isize, s.bytes as usize, s.count as usize);
        }
    }
}

/// Copies data from the packed form to memory; `packed` points to byte `offset` of the packed form.
pub(super) struct Scatter {
    pub base: *mut u8,
    pub packed: *const u8,
    pub offset: u64,
}

impl Visitor for Scatter {
    const ORDERED: bool = false;

    #[inline]
    fn run(&mut self, at: i64, start: u64, bytes: u64, _: &'static BasicKind) {
        // SAFETY: the creator of the visitor guarantees that the packed range is readable and the memory of the plan
        // writable. This run lies in this memory and in this range.
        unsafe {
            let from = self.packed.add((start - self.offset) as usize);
            ptr::copy_nonoverlapping(from, self.base.wrapping_offset(at as isize), bytes as usize);
        }
    }

    #[inline]
    fn strided(&mut self, s: Strided) {
        // SAFETY: as in `run`, for all pieces.
        unsafe {
            let from = self.packed.add((s.start - self.offset) as usize);
            let to = self.base.wrapping_offset(s.at as isize);
            strided(to, s.stride as isize, from, s.step as isize, s.bytes as usize, s.count as usize);
        }
    }
}

/// Calls a function for every run. The arguments are the basic element, the displacement and the number of elements of
/// the run.
pub(super) struct Each<F>(pub F);

impl<F: FnMut(&'static BasicKind, isize, usize)> Visitor for Each<F> {
    const ORDERED: bool = true;

    fn run(&mut self, at: i64, _: u64, bytes: u64, kind: &'static BasicKind) {
        (self.0)(kind, at as isize, bytes as usize / kind.size());
    }

    fn strided(&mut self, s: Strided) {
        let n = s.bytes as usize / s.kind.size();
        (0..s.count as i64).for_each(|i| (self.0)(s.kind, (s.at + i * s.stride) as isize, n));
    }
}

/// Copies `count` pieces of `bytes` bytes each at fixed distances.
///
/// # Safety
/// Every piece must be valid for reads at the source and for writes at the destination. Source and destination must
/// not overlap.
unsafe fn strided(to: *mut u8, step: isize, from: *const u8, stride: isize, bytes: usize, count: usize) {
    macro_rules! sizes {
        ($($size:literal)*) => {
            match bytes {
                // SAFETY: the caller guarantees that all pieces are readable and writable; `$size` equals `bytes`.
                $($size => unsafe { fixed::<$size>(to, step, from, stride, count) },)*
                _ => {
                    let (mut to, mut from) = (to, from);
                    for _ in 0..count {
                        // SAFETY: the caller guarantees that this piece is readable and writable.
                        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
                        (to, from) = (to.wrapping_offset(step), from.wrapping_offset(stride));
                    }
                }
            }
        };
    }
    sizes!(1 2 3 4 6 8 12 16 20 24 28 32 36 40 48 56 64);
}

/// Like [`strided`], for a piece length known at compile time.
///
/// # Safety
/// The requirements of [`strided`] apply.
unsafe fn fixed<const N: usize>(mut to: *mut u8, step: isize, mut from: *const u8, stride: isize, count: usize) {
    for _ in 0..count {
        // SAFETY: the caller guarantees that this piece of `N` bytes is readable and writable.
        unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
        (to, from) = (to.wrapping_offset(step), from.wrapping_offset(stride));
    }
}
