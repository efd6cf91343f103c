//! Goes through the pieces of a plan, or of a range of its packed form, and moves bytes.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr;

use super::kind::BasicKind;
use super::plan::{Node, PackPlan};

/// The longest list of runs in a loop that is moved run by run, each over many iterations.
const FEW: usize = 8;
/// Iterations at a time for such a list: their data stay in the nearest cache.
const BLOCK: u64 = 256;

/// Pieces of equal length at equal distances, in memory and in the packed form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strided {
    /// From the origin of the datatype.
    pub at: i64,
    pub stride: i64,
    /// In the packed form.
    pub start: u64,
    pub step: u64,
    /// Bytes of a piece.
    pub bytes: u64,
    pub count: u64,
    pub kind: &'static BasicKind,
}

/// What is done with the pieces.
pub(super) trait Visitor {
    /// Whether pieces must come in the order of the packed form.
    const ORDERED: bool;
    fn run(&mut self, at: i64, start: u64, bytes: u64, kind: &'static BasicKind);
    fn strided(&mut self, pieces: Strided);
}

/// Shows a visitor the part of `plan` that lies in `range` of the packed form, where the plan itself is at `start`.
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
        Node::Nothing => {}
        Node::Run(kind) => clipped_run(at, start, plan.bytes, kind, range, to),
        Node::Loop { count, stride, body } => clipped_loop(body, *count, *stride, at, start, range, to),
        Node::Runs(runs) => {
            let first = runs.partition_point(|run| start + run.start + run.bytes <= range.start);
            let last = runs.partition_point(|run| start + run.start < range.end);
            for run in &runs[first..last] {
                clipped_run(at + run.at, start + run.start, run.bytes, run.kind, range, to);
            }
        }
        Node::Parts(parts) => {
            let first = parts.partition_point(|part| start + part.start + part.plan.bytes <= range.start);
            let last = parts.partition_point(|part| start + part.start < range.end);
            for part in &parts[first..last] {
                clipped(&part.plan, at, start + part.start, range, to);
            }
        }
    }
}

/// The same for `count` copies of `body`, `stride` bytes apart.
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
        Node::Nothing => {}
        Node::Run(kind) => to.run(at, start, plan.bytes, kind),
        Node::Loop { count, stride, body } => whole_loop(body, *count, *stride, at, start, to),
        Node::Runs(runs) => runs.iter().for_each(|run| to.run(at + run.at, start + run.start, run.bytes, run.kind)),
        Node::Parts(parts) => parts.iter().for_each(|part| whole(&part.plan, at, start + part.start, to)),
    }
}

fn whole_loop<V: Visitor>(body: &PackPlan, count: u64, stride: i64, at: i64, start: u64, to: &mut V) {
    let step = body.bytes;
    match &body.node {
        Node::Run(kind) => {
            let at = at + body.at;
            to.strided(Strided { at, stride, start, step, bytes: step, count, kind });
        }
        Node::Runs(runs) if runs.len() <= FEW && !V::ORDERED => {
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

/// Copies out of memory to the packed form, whose byte `offset` is at `packed`.
pub(super) struct Gather {
    pub base: *const u8,
    pub packed: *mut u8,
    pub offset: u64,
}

impl Visitor for Gather {
    const ORDERED: bool = false;

    #[inline]
    fn run(&mut self, at: i64, start: u64, bytes: u64, _: &'static BasicKind) {
        // SAFETY: who made the visitor vouches for the memory that the plan covers and for the packed range.
        unsafe {
            let to = self.packed.add((start - self.offset) as usize);
            ptr::copy_nonoverlapping(self.base.wrapping_offset(at as isize), to, bytes as usize);
        }
    }

    #[inline]
    fn strided(&mut self, s: Strided) {
        // SAFETY: as in `run`.
        unsafe {
            let to = self.packed.add((s.start - self.offset) as usize);
            let from = self.base.wrapping_offset(s.at as isize);
            strided(to, s.step as isize, from, s.stride as isize, s.bytes as usize, s.count as usize);
        }
    }
}

/// Copies from the packed form, whose byte `offset` is at `packed`, into memory.
pub(super) struct Scatter {
    pub base: *mut u8,
    pub packed: *const u8,
    pub offset: u64,
}

impl Visitor for Scatter {
    const ORDERED: bool = false;

    #[inline]
    fn run(&mut self, at: i64, start: u64, bytes: u64, _: &'static BasicKind) {
        // SAFETY: as for `Gather`.
        unsafe {
            let from = self.packed.add((start - self.offset) as usize);
            ptr::copy_nonoverlapping(from, self.base.wrapping_offset(at as isize), bytes as usize);
        }
    }

    #[inline]
    fn strided(&mut self, s: Strided) {
        // SAFETY: as for `Gather`.
        unsafe {
            let from = self.packed.add((s.start - self.offset) as usize);
            let to = self.base.wrapping_offset(s.at as isize);
            strided(to, s.stride as isize, from, s.step as isize, s.bytes as usize, s.count as usize);
        }
    }
}

/// Calls a function with every run: element, place, number of elements.
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

/// Copies `count` pieces of `bytes` bytes at distances.
///
/// # Safety
/// Every piece can be read and written; source and destination do not overlap.
unsafe fn strided(to: *mut u8, step: isize, from: *const u8, stride: isize, bytes: usize, count: usize) {
    macro_rules! sizes {
        ($($size:literal)*) => {
            match bytes {
                // SAFETY: the caller's.
                $($size => unsafe { fixed::<$size>(to, step, from, stride, count) },)*
                _ => {
                    let (mut to, mut from) = (to, from);
                    for _ in 0..count {
                        // SAFETY: the caller's.
                        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
                        (to, from) = (to.wrapping_offset(step), from.wrapping_offset(stride));
                    }
                }
            }
        };
    }
    sizes!(1 2 3 4 6 8 12 16 20 24 28 32 36 40 48 56 64);
}

/// [`strided`] for a number of bytes that the compiler knows.
///
/// # Safety
/// As there.
unsafe fn fixed<const N: usize>(mut to: *mut u8, step: isize, mut from: *const u8, stride: isize, count: usize) {
    for _ in 0..count {
        // SAFETY: the caller's.
        unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
        (to, from) = (to.wrapping_offset(step), from.wrapping_offset(stride));
    }
}
