//! Idle detection for ranks that poll for messages in a loop.
//!
//! Each poll of a program gets an answer and costs time. A rank that only polls until a change would poll millions of
//! times. Idle detection compares the state at each poll: the callee-saved registers and the innermost part of the
//! stack. If the state equals that of an earlier poll, the rank is in a cycle and may idle until the next change. If
//! the state always differs, for example in a loop with a counter, the rank may leave the loop by itself, and each poll
//! is executed.

use std::cell::Cell;
use std::ops::Range;

use crate::process::Process;
use crate::process::unwind::{Registers, kept_registers, read};
use mcpsim_core::rank::Call;
use mcpsim_core::units::SimSpan;

/// Consecutive failed polls after which a rank with a recurring state may idle.
const POLLS_BEFORE_IDLE: u32 = 16;
/// Number of further polls after which the idle time doubles.
const POLLS_A_DOUBLING: u32 = 8;
/// Idle time after which a rank executes [`LAST_POLLS`] single polls, because a counter may be outside the compared
/// state. After these polls the rank may be in a deadlock, see [`Call::Idle`].
const LONG: SimSpan = SimSpan::from_us(10_000_000);
const LAST_POLLS: u32 = 20_000;
/// Maximum idle time: 2^40 polls.
const MOST_DOUBLINGS: u32 = 40;
/// Minimum idle time without effect that is reported if the rank then continues.
const LONG_IN_VAIN: SimSpan = SimSpan::from_us(1000);
/// Number of polls after which a rank without a recurring state also idles. The idle time doubles after every
/// [`SINGLE_A_DOUBLING`] further polls.
const MOST_SINGLE: u32 = 65_536;
const SINGLE_A_DOUBLING: u32 = 8192;

/// Compared part of the stack in bytes: from the program's call upwards, and below the start of its frame.
const INNERMOST: usize = 1024;
const FRAME: usize = 256;

/// Consecutive failed polls of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polls {
    /// Number of polls.
    count: u32,
    /// State expected to recur, and the number of its poll. Brent's cycle detection stores the states of polls at
    /// powers of two.
    anchor: u64,
    anchored: u32,
    /// Number of polls since the first recurrence, or 0.
    circling: u32,
    /// Number of the poll by which the state must recur again.
    due: u32,
    /// Number of single polls since a long idle time was permitted.
    last: u32,
    /// Idle time without effect.
    in_vain: SimSpan,
}

impl Polls {
    /// Records a poll with this state and cost `poll`. Returns the idle time permitted before the poll.
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
    /// Records an action other than a poll.
    #[inline]
    pub fn no_poll(&self) {
        let polls = self.polls.get();
        if polls.count > 0 {
            self.go_on_from(polls);
            self.polls.set(Polls::default());
        }
    }

    /// Records the first action after polls, and reports a rank that continued by itself after a long idle time.
    #[cold]
    fn go_on_from(&self, polls: Polls) {
        if polls.in_vain >= LONG_IN_VAIN {
            self.in_vain.set(self.in_vain.get() + polls.in_vain);
        }
    }

    /// Starts a poll. A rank that only polls idles until the next change, at most about as long as it has polled so
    /// far.
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
            // An idle time that ended early was ended by a change, which may also explain the idle times before.
            polls.in_vain = if idled < longest { SimSpan::ZERO } else { polls.in_vain + idled };
        }
        polls
    }

    /// Ends a poll.
    pub fn after_poll(&self, polls: Polls, found: bool) {
        // A long block between polls is work and must not be skipped.
        let busy = self.block.get() > self.job.platform.core.poll * 10;
        let next = Polls { count: polls.count.saturating_add(1), ..polls };
        self.polls.set(if found || busy { Polls::default() } else { next });
    }
}

/// Locations where an MPI function saves the registers of its caller.
#[derive(Clone, Copy, Debug)]
struct KnownPolls {
    /// Address in the function.
    at: usize,
    /// Offsets from the stack pointer: to the first saved register, to the frame of the caller, and to the end of the
    /// function's frame.
    first: usize,
    frame: Option<usize>,
    end: usize,
}

thread_local! {
    /// Functions of recent polls.
    static KEPT: Cell<[Option<KnownPolls>; 4]> = const { Cell::new([None; 4]) };
}

/// Returns a hash of the program's state at its call of the MPI function at `here` on `stack`. Equal states have equal
/// hashes; 0 represents an unknown state.
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
    // Without optimisation, variables of a function are directly below the start of its frame.
    if let Some(frame) = frame.and_then(|offset| read(stack, top + offset))
        && frame > innermost.end
    {
        hash = digest(hash, frame.saturating_sub(FRAME).max(innermost.end)..frame, stack);
    }
    hash | 1
}

/// Returns where the function at `here` saves the registers of its caller.
fn kept(here: [usize; 3]) -> Option<KnownPolls> {
    let [at, top, _] = here;
    let (end, saved) = kept_registers(&Registers::at(here))?;
    let first = saved.iter().copied().flatten().min().unwrap_or(end);
    let inside = |address: usize| (top..end).contains(&address).then_some(address - top);
    let frame = saved[Registers::FRAME].and_then(inside);
    Some(KnownPolls { at, first: inside(first).unwrap_or(end - top), frame, end: end - top })
}

/// Returns a hash of `before` and the words of `part` that are on `stack`.
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

    /// Returns the idle times, in polls, for polls with these states.
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
