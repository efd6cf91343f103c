//! Idle detection for ranks that poll for messages in a loop.
//!
//! A poll is an MPI call such as MPI_Test, which returns immediately and costs time. A rank that polls until a
//! message arrives would poll millions of times. Idle detection compares the rank's state at each failed poll: the
//! callee-saved registers and the innermost part of the stack. If the state equals the state at an earlier poll, the
//! rank is in a cycle and may idle until another rank changes something. If the state always differs, for example in
//! a loop with a counter, the rank may leave the loop by itself. The simulator executes each poll of a rank whose
//! state always differs.

use std::cell::Cell;
use std::ops::Range;

use crate::process::Process;
use crate::process::unwind::{Registers, kept_registers, read};
use mcpsim_core::rank::Call;
use mcpsim_core::units::SimSpan;

/// Number of consecutive failed polls after which a rank with a recurring state may idle.
const POLLS_BEFORE_IDLE: u32 = 16;
/// Number of failed polls after which the maximum idle time of a polling rank doubles.
const POLLS_A_DOUBLING: u32 = 8;
/// Idle time after which a polling rank executes [`LAST_POLLS`] polls without idling. The polls without idling are
/// necessary because the program may have a counter outside the compared state. If the polls change nothing, the rank
/// may be in a deadlock; see [`Call::Idle`].
const LONG: SimSpan = SimSpan::from_us(10_000_000);
const LAST_POLLS: u32 = 20_000;
/// Maximum number of doublings of a polling rank's idle time. The maximum idle time is 2^40 times the cost of a poll.
const MOST_DOUBLINGS: u32 = 40;
/// Minimum idle time that is reported if idle detection made a rank idle and the rank then left its polling loop by
/// itself.
const LONG_IN_VAIN: SimSpan = SimSpan::from_us(1000);
/// Number of consecutive failed polls after which a rank without a recurring state also idles. The idle time doubles
/// after every [`SINGLE_A_DOUBLING`] further polls.
const MOST_SINGLE: u32 = 65_536;
const SINGLE_A_DOUBLING: u32 = 8192;

/// Size in bytes of each of the two compared parts of the stack. The first part is above the stack pointer at the
/// program's MPI call. The second part is below the start of the stack frame of the calling function.
const INNERMOST: usize = 1024;
const FRAME: usize = 256;

/// State of idle detection for one rank: the consecutive failed polls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polls {
    /// Number of consecutive failed polls.
    count: u32,
    /// Hash of the rank's state with which later states are compared, and the index of the poll with that state.
    /// Brent's cycle detection stores the states of polls whose index is a power of two.
    anchor: u64,
    anchored: u32,
    /// Number of polls since the rank's state recurred for the first time, or 0.
    circling: u32,
    /// Index of the latest poll by which the rank's state must recur again. Otherwise the rank has left the cycle.
    due: u32,
    /// Number of polls without idling since the rank's idle time reached [`LONG`].
    last: u32,
    /// Total idle time of the polling rank that no change by another rank ended.
    in_vain: SimSpan,
}

impl Polls {
    /// Adds a poll with the state hash `state` and the cost `poll`. Returns the time that the rank may idle before
    /// the poll, or `None` if the poll must be executed at once.
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
    /// Ends the sequence of failed polls, because the rank has made an MPI call other than a poll.
    #[inline]
    pub fn no_poll(&self) {
        let polls = self.polls.get();
        if polls.count > 0 {
            self.go_on_from(polls);
            self.polls.set(Polls::default());
        }
    }

    /// Ends a sequence of failed polls. Reports a rank that left its polling loop by itself after a long idle time.
    #[cold]
    fn go_on_from(&self, polls: Polls) {
        if polls.in_vain >= LONG_IN_VAIN {
            self.in_vain.set(self.in_vain.get() + polls.in_vain);
        }
    }

    /// Starts a poll of the rank. A rank in a polling loop idles until another rank changes something, at most about
    /// as long as the rank has polled so far.
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
            // If idling ended early, another rank has changed something. The change may also be the reason for the
            // earlier idle times of the rank.
            polls.in_vain = if idled < longest { SimSpan::ZERO } else { polls.in_vain + idled };
        }
        polls
    }

    /// Ends a poll of the rank. `found` is true if the poll found a message or a completed request.
    pub fn after_poll(&self, polls: Polls, found: bool) {
        // A long local execution block between polls is work, so the rank is not in a pure polling loop.
        let busy = self.block.get() > self.job.platform.core.poll * 10;
        let next = Polls { count: polls.count.saturating_add(1), ..polls };
        self.polls.set(if found || busy { Polls::default() } else { next });
    }
}

/// Stack locations at which an MPI function saves the registers of its caller.
#[derive(Clone, Copy, Debug)]
struct KnownPolls {
    /// Address of an instruction in the MPI function that polls.
    at: usize,
    /// Offsets in bytes from the stack pointer to the first saved register, to the stack frame of the caller, and to
    /// the end of the MPI function's stack frame.
    first: usize,
    frame: Option<usize>,
    end: usize,
}

thread_local! {
    /// MPI functions of recent polls on the current host thread.
    static KEPT: Cell<[Option<KnownPolls>; 4]> = const { Cell::new([None; 4]) };
}

/// Returns a hash of the program's state when the program called the MPI function at `here`. `stack` is the address
/// range of the rank's stack. Equal states of the program have equal hashes. The hash 0 represents an unknown state
/// of the program.
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
    // In programs compiled without optimisation, the variables of a function are directly below the start of the
    // function's frame.
    if let Some(frame) = frame.and_then(|offset| read(stack, top + offset))
        && frame > innermost.end
    {
        hash = digest(hash, frame.saturating_sub(FRAME).max(innermost.end)..frame, stack);
    }
    hash | 1
}

/// Returns the stack locations at which the function at `here` saves the registers of its caller.
fn kept(here: [usize; 3]) -> Option<KnownPolls> {
    let [at, top, _] = here;
    let (end, saved) = kept_registers(&Registers::at(here))?;
    let first = saved.iter().copied().flatten().min().unwrap_or(end);
    let inside = |address: usize| (top..end).contains(&address).then_some(address - top);
    let frame = saved[Registers::FRAME].and_then(inside);
    Some(KnownPolls { at, first: inside(first).unwrap_or(end - top), frame, end: end - top })
}

/// Returns a hash of the hash `before` and of the words that are in the address range `part` and in the stack's
/// address range `stack`.
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

    /// Returns the permitted idle times for polls with the state hashes `states`. The unit of the idle times is the
    /// cost of a poll.
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
        // 2^27 polls take more than 10 s of virtual time, which is the limit `LONG`.
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
