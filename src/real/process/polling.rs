//! Ranks that look for messages in a loop, and when the time between two looks may pass at once.
//!
//! A program that polls gets an answer for each poll, and each costs time. But a rank that does nothing else until
//! something changes would poll millions of times. Whether it does nothing else shows in what it comes with: the
//! registers that functions keep for their callers and the innermost part of the stack. If these are as they were at an
//! earlier poll, the rank goes round in a circle and may idle; if they are not, as where a loop counts its turns, it
//! may leave the loop by itself, and each poll is one.

use std::cell::Cell;
use std::ops::Range;

use crate::process::Process;
use crate::process::unwind::{Registers, kept_registers, read};
use mcpsim_core::rank::Call;
use mcpsim_core::units::SimSpan;

/// Failed polls in a row after which a rank is taken to do nothing else, if its state recurs.
const POLLS_BEFORE_IDLE: u32 = 16;
/// As many polls later, idling takes twice as long.
const POLLS_A_DOUBLING: u32 = 8;
/// Once it could idle so long, it polls one by one so many times: what it counts may be where nobody looks. After that
/// it may be a deadlock, see [`Call::Idle`].
const LONG: SimSpan = SimSpan::from_us(10_000_000);
const LAST_POLLS: u32 = 20_000;
/// The longest idling: 2^40 polls.
const MOST_DOUBLINGS: u32 = 40;
/// A rank that has idled so long in vain and then goes on is told of.
const LONG_IN_VAIN: SimSpan = SimSpan::from_us(1000);
/// A rank that comes with something else each time idles after so many polls all the same, twice as long every so many.
const MOST_SINGLE: u32 = 65_536;
const SINGLE_A_DOUBLING: u32 = 8192;

/// What is looked at of the stack: from where the program called, and below where its frame begins.
const INNERMOST: usize = 1024;
const FRAME: usize = 256;

/// A rank's polls that failed, one right after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polls {
    /// How many.
    count: u32,
    /// The state that is waited for to recur, and of which poll it was (Brent's search for cycles: of powers of two).
    anchor: u64,
    anchored: u32,
    /// Polls since the state recurred first; 0 if it has not.
    circling: u32,
    /// The poll by which the state must have recurred again.
    due: u32,
    /// Polls one by one since it could idle long.
    last: u32,
    /// What it has idled without a change.
    in_vain: SimSpan,
}

impl Polls {
    /// A poll comes with this state, and costs `poll`: for how long the rank may idle before it, if it may.
    fn come(&mut self, state: u64, poll: SimSpan) -> Option<SimSpan> {
        let Polls { count, anchor, anchored, circling, due, last, .. } = self;
        if *count < POLLS_BEFORE_IDLE {
            return None;
        }
        if *anchored > 0 && state == *anchor {
            *circling = (*circling).max(1);
            *due = *count + 2 * (*count - *anchored);
            *anchored = *count;
        } else if *circling > 0 && *count > *due {
            (*circling, *anchor, *anchored) = (0, state, *count);
        } else if *circling == 0 && (*anchored == 0 || *count >= anchored.saturating_mul(2)) {
            (*anchor, *anchored) = (state, *count);
        }
        let idle = |doublings: u32| poll * (1 << doublings.min(MOST_DOUBLINGS));
        if *circling == 0 {
            let beyond = count.checked_sub(MOST_SINGLE)?;
            return Some(idle(beyond / SINGLE_A_DOUBLING));
        }
        *circling += 1;
        let idle = idle(*circling / POLLS_A_DOUBLING);
        if idle >= LONG && *last < LAST_POLLS {
            *last += 1;
            return None;
        }
        Some(idle)
    }
}

impl Process {
    /// The rank does something else than polling.
    #[inline]
    pub fn no_poll(&self) {
        let polls = self.polls.get();
        if polls.count > 0 {
            self.go_on_from(polls);
            self.polls.set(Polls::default());
        }
    }

    /// The rank does something else than before: was it by itself, after a long time?
    #[cold]
    fn go_on_from(&self, polls: Polls) {
        if polls.in_vain >= LONG_IN_VAIN {
            self.in_vain.set(self.in_vain.get() + polls.in_vain);
        }
    }

    /// A poll begins. A rank that does nothing but poll lets the time up to the next change pass at once, at most about
    /// as long as it has polled already.
    pub fn before_poll(&self) -> Polls {
        let mut polls = self.polls.get();
        if polls.count < POLLS_BEFORE_IDLE {
            return polls;
        }
        let idle = polls.come(state(self.here.get(), self.came_with.get(), &self.stack()), self.job.platform.core.poll);
        if polls.circling == 0 && polls.in_vain > SimSpan::ZERO && polls.count < MOST_SINGLE {
            self.go_on_from(polls);
            polls.in_vain = SimSpan::ZERO;
        }
        if let Some(longest) = idle {
            let start = self.clock.get();
            self.call_done(Call::Idle(longest));
            let idled = self.clock.get().since(start);
            // What ends before its time was ended by a change, and so is perhaps all that was before.
            polls.in_vain = if idled < longest { SimSpan::ZERO } else { polls.in_vain + idled };
        }
        polls
    }

    /// The poll has ended.
    pub fn after_poll(&self, polls: Polls, found: bool) {
        // Code of some length between polls is work, and not to be skipped over.
        let busy = self.block.get() > self.job.platform.core.poll * 10;
        let next = Polls { count: polls.count.saturating_add(1), ..polls };
        self.polls.set(if found || busy { Polls::default() } else { next });
    }
}

/// Where an MPI function keeps what it must give back to its caller.
#[derive(Clone, Copy, Debug)]
struct KnownPolls {
    /// Where in the function.
    at: usize,
    /// From its stack pointer to the first of the registers it has put on the stack, to that of its caller's frame, and
    /// to the end of its own.
    first: usize,
    frame: Option<usize>,
    end: usize,
}

thread_local! {
    /// The functions polled with last.
    static KEPT: Cell<[Option<KnownPolls>; 4]> = const { Cell::new([None; 4]) };
}

/// What the program came with to the MPI function that is `here` on `stack`, as a number: equal if all is as it was; 0
/// if it cannot be told.
fn state(here: [usize; 3], came_with: [usize; 5], stack: &Range<usize>) -> u64 {
    let mut known = KEPT.get();
    let kept = known.iter().flatten().find(|kept| kept.at == here[0]).copied().or_else(|| {
        let kept = kept(here)?;
        known.rotate_right(1);
        known[0] = Some(kept);
        KEPT.set(known);
        Some(kept)
    });
    let Some(KnownPolls { first, frame, end, .. }) = kept else { return 0 };
    let [_, top, _] = here;
    let innermost = top + first..(top + end).saturating_add(INNERMOST).min(stack.end);
    let registers = came_with.iter().fold(here[0] as u64, |hash, word| mixed(hash, *word));
    let mut hash = digest(registers, innermost.clone(), stack);
    // Without optimization, a function's variables are right below where its frame begins.
    if let Some(frame) = frame.and_then(|offset| read(stack, top + offset))
        && frame > innermost.end
    {
        hash = digest(hash, frame.saturating_sub(FRAME).max(innermost.end)..frame, stack);
    }
    hash | 1
}

/// Where the function that is `here` keeps the registers of its caller.
fn kept(here: [usize; 3]) -> Option<KnownPolls> {
    let [at, top, _] = here;
    let (end, saved) = kept_registers(&Registers::at(here))?;
    let first = saved.iter().copied().flatten().min().unwrap_or(end);
    let inside = |address: usize| (top..end).contains(&address).then_some(address - top);
    let frame = saved[Registers::FRAME].and_then(inside);
    Some(KnownPolls { at, first: inside(first).unwrap_or(end - top), frame, end: end - top })
}

/// The words of `part` that are on `stack`, and what was before, as a number.
fn digest(before: u64, part: Range<usize>, stack: &Range<usize>) -> u64 {
    let words = part.step_by(size_of::<usize>()).map_while(|address| read(stack, address));
    words.fold(before, mixed)
}

fn mixed(hash: u64, word: usize) -> u64 {
    (hash.rotate_left(5) ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: SimSpan = SimSpan::from_ns(100);

    /// How many times the cost of a poll ranks idle whose polls come with these states.
    fn idles(states: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
        let mut polls = Polls::default();
        let come = |state| {
            let idle = polls.come(state, POLL).map(|idle| idle.as_ps() / POLL.as_ps());
            polls.count += 1;
            idle
        };
        states.into_iter().map(come).collect()
    }

    #[test]
    fn a_rank_whose_state_recurs_idles_twice_as_long_every_few_polls() {
        let idles = idles([7; 30_000]);
        assert!(idles[..17].iter().all(Option::is_none));
        let at = |poll: usize| idles[poll].map(u64::ilog2);
        assert_eq!((at(17), at(24), at(17 + 80)), (Some(0), Some(1), Some(10)));
        // 2^27 polls take more than 10 s.
        let long = 17 + 8 * 27;
        assert!(idles[long..20_000].iter().all(Option::is_none), "the last polls, one by one");
        assert!(at(29_999).unwrap() >= 34, "longer than any rank may idle");
    }

    #[test]
    fn a_circle_of_many_polls_is_seen_whatever_was_before_it() {
        let idles = idles((1000..1300).chain((0..100).cycle().take(500)));
        assert!(idles[..300].iter().all(Option::is_none));
        assert!(idles[700..].iter().all(Option::is_some));
    }

    #[test]
    fn a_rank_that_counts_polls_one_by_one_up_to_a_bound() {
        let idles = idles(1..200_000);
        assert_eq!(idles.iter().position(Option::is_some), Some(MOST_SINGLE as usize));
        assert_eq!(idles[150_000], Some(1 << 10));
    }

    #[test]
    fn a_rank_that_leaves_its_circle_polls_one_by_one_again() {
        let idles = idles([7; 100].into_iter().chain(1000..2000));
        assert!(idles[50].is_some());
        assert!(idles[110..].iter().all(Option::is_none));
    }
}
