//! Fibers: straight-line code as a generator of calls, on a stack of its own.
//!
//! A fiber may have frames of C on its stack. It is therefore never unwound: when it is dropped before its end, its
//! stack is given back and whatever its frames own is lost. Its floating-point environment is its own: kept while it is
//! suspended, and put aside while it asks somebody.
#![allow(unsafe_code)]

mod float;

use std::cell::Cell;
use std::io;
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use corosensei::stack::{Stack, StackPointer};
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::ask::{Immediate, Simulator};
use super::call::{Call, Reply};

pub use float::FloatEnvironment;
use float::FloatWords;

/// What a fiber is resumed with: a reply that lives until the fiber's next call, and whom it may ask until it is
/// suspended.
struct FiberTurn<'a> {
    reply: *mut Reply<'a>,
    simulator: Option<*mut dyn Simulator>,
}

type Resumed = *mut FiberTurn<'static>;

/// A call on the fiber's stack, there until the fiber is resumed: calls are large, and copying one takes longer than a
/// switch. Null if the fiber has asked for it already.
type Suspended = *mut ManuallyDrop<Call>;

/// Code on a stack of its own, suspended at its last call.
pub struct Fiber {
    coroutine: Coroutine<Resumed, Suspended, Call, FiberStack>,
    stack: std::ops::Range<usize>,
    seal: *const usize,
}

/// The way out of a fiber, for the code that runs in it.
pub struct FiberHandle<'a> {
    yielder: &'a Yielder<Resumed, Suspended>,
    /// Its turn.
    turn: Cell<Resumed>,
    begun: Cell<bool>,
    /// Whether the whole floating-point environment is kept: the code has changed it, or looks at it.
    keeps_floats: Cell<bool>,
}

/// How a handler of signals ends a fiber that cannot go on.
pub type Trap = CoroutineTrapHandler<Call>;

// SAFETY: a fiber is resumed by one thread at a time, and the code in it knows that it may move to another thread
// between two calls.
unsafe impl Send for Fiber {}

impl Fiber {
    /// A fiber that runs `body` on a stack of `size` bytes, below which is a page that traps. The call that `body`
    /// returns is its last: [`Call::Finish`] or [`Call::Fail`].
    ///
    /// # Errors
    /// If there is no room for the stack.
    pub fn new(size: usize, body: impl FnOnce(&FiberHandle<'_>) -> Call + 'static) -> io::Result<Self> {
        let stack = FiberStack::new(size)?;
        let range = stack.bottom.get() + GUARD..stack.bottom.get() + stack.size;
        let seal = (stack.base().get() - size_of::<usize>()) as *const usize;
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<Resumed, Suspended>, first: Resumed| {
            float::reset();
            let turn = Cell::new(first);
            let last = body(&FiberHandle { yielder, turn, begun: Cell::new(false), keeps_floats: Cell::new(false) });
            float::reset();
            last
        });
        Ok(Fiber { coroutine, stack: range, seal })
    }

    /// Goes on with the reply to the last call, up to the next.
    ///
    /// # Panics
    /// If the fiber has given its last call, or if its code panics.
    #[inline]
    pub fn next(&mut self, mut reply: Reply<'_>) -> Call {
        self.resume(FiberTurn { reply: &raw mut reply, simulator: None }).expect("the fiber has nobody to ask")
    }

    /// As [`Fiber::next`], but the fiber asks `simulator` as long as that answers. None if it waits for the answer.
    ///
    /// # Panics
    /// As [`Fiber::next`].
    #[inline]
    pub fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        // SAFETY: the fiber asks only before it suspends again, and so within the simulator's life.
        let simulator = unsafe { std::mem::transmute::<*mut dyn Simulator, *mut dyn Simulator>(simulator) };
        self.resume(FiberTurn { reply, simulator: Some(simulator) })
    }

    #[inline(always)]
    fn resume(&mut self, mut turn: FiberTurn<'_>) -> Option<Call> {
        // The fiber uses the reply only before it suspends again, and so within the reply's life.
        match self.coroutine.resume((&raw mut turn).cast()) {
            CoroutineResult::Yield(call) if call.is_null() => None,
            // SAFETY: the fiber gives each call once, and is suspended while this reads it.
            CoroutineResult::Yield(call) => Some(unsafe { ManuallyDrop::take(&mut *call) }),
            CoroutineResult::Return(call) => Some(call),
        }
    }

    /// The addresses of its stack, without the guard below.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.stack.clone()
    }

    /// The topmost word of its stack, written before the fiber runs and not again. Just below it is the way out.
    pub fn seal(&self) -> *const usize {
        self.seal
    }

    /// For a handler of signals.
    pub fn trap(&self) -> Trap {
        self.coroutine.trap_handler()
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if self.coroutine.started() && !self.coroutine.done() {
            // SAFETY: nothing runs on the stack any more; what its frames own is leaked.
            unsafe { self.coroutine.force_reset() };
        }
    }
}

impl FiberHandle<'_> {
    /// Takes the very first reply, before any call.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn begin<R>(&self, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        assert!(!self.begun.replace(true), "the first reply is taken once");
        // SAFETY: the turn lives until the fiber suspends, for which `take` has no way.
        take(unsafe { &mut *(*self.turn.get()).reply })
    }

    #[inline(always)]
    fn simulator(&self) -> Option<*mut dyn Simulator> {
        // SAFETY: this is the fiber's turn.
        unsafe { (*self.turn.get()).simulator }
    }

    /// Whether calls are answered on the spot, as far as they can be.
    #[inline(always)]
    pub fn asks(&self) -> bool {
        self.simulator().is_some()
    }

    /// The code looks at its floating-point environment or changes it: from now on, the whole of it is kept at every
    /// call.
    pub fn keep_floats(&self) {
        self.keeps_floats.set(true);
    }

    /// Whether [`FiberHandle::keep_floats`] holds.
    pub fn keeps_floats(&self) -> bool {
        self.keeps_floats.get()
    }

    /// Makes `call`, and lets `take` see the reply to it: on the spot, or after the fiber has been suspended.
    ///
    /// Inlined, as all on the way to a switch: the processor foresees returns by the calls before them, and each
    /// function that is left on one side of a switch and was called on the other costs a wrong guess.
    #[inline(always)]
    pub fn call<R>(&self, call: Call, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.call_there(&mut ManuallyDrop::new(call), take)
    }

    /// As [`FiberHandle::call`], from where the call was made: copying what was just written in pieces stalls the
    /// processor. Nothing is left there to be dropped.
    #[inline(always)]
    pub fn call_there<R>(&self, call: &mut ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        if self.keeps_floats.get() {
            return self.call_apart(call, take);
        }
        self.make(call, take)
    }

    /// As [`FiberHandle::call_there`], by code that has a floating-point environment of its own.
    #[cold]
    fn call_apart<R>(&self, call: &mut ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        let own = FloatEnvironment::leave();
        self.make(call, |reply| {
            own.enter();
            take(reply)
        })
    }

    #[inline(always)]
    fn make<R>(&self, call: &mut ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        let mut suspended = &raw mut *call;
        if let Some(simulator) = self.simulator() {
            // SAFETY: it is there during the fiber's turn.
            let mut asked = unsafe { (*simulator).ask(call) };
            match &mut asked {
                Immediate::Replied(reply) => return take(reply),
                Immediate::Waits => suspended = std::ptr::null_mut(),
                Immediate::Refused => {}
            }
        }
        let words = FloatWords::now();
        if !words.are_usual() {
            return self.suspend_apart(suspended, take);
        }
        let turn = self.suspend(suspended);
        words.set_again();
        // SAFETY: the turn lives until the fiber suspends, for which `take` has no way.
        take(unsafe { &mut *(*turn).reply })
    }

    /// The code has changed its floating-point environment without saying so.
    #[cold]
    fn suspend_apart<R>(&self, suspended: Suspended, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.keep_floats();
        let own = FloatEnvironment::leave();
        let turn = self.suspend(suspended);
        own.enter();
        // SAFETY: the turn lives until the fiber suspends, for which `take` has no way.
        take(unsafe { &mut *(*turn).reply })
    }

    /// Suspends the fiber; what it is resumed with.
    #[inline(always)]
    fn suspend(&self, suspended: Suspended) -> Resumed {
        // SAFETY: the location is the thread's own.
        let errno = unsafe { *libc::__errno_location() };
        let turn = self.yielder.suspend(suspended);
        // SAFETY: as above; the fiber may run on another thread now.
        unsafe { *libc::__errno_location() = errno };
        self.turn.set(turn);
        turn
    }
}

/// A mapping whose lowest [`GUARD`] bytes trap.
struct FiberStack {
    bottom: NonZeroUsize,
    size: usize,
    /// What is left free at the top: equal places of all stacks would compete for the same few lines of the host's
    /// caches.
    free: usize,
}

/// How far the tops of stacks made one after the other are apart, of the [`PAGE`] bytes over which they are spread.
const STAGGER: usize = 5 * 64;

static STACKS: AtomicUsize = AtomicUsize::new(0);

const PAGE: usize = 4096;

/// What traps below a stack. A function whose frame is larger than this may step over it and write to the stack of
/// another rank: so it is as much as Linux keeps free below the stack of a process. It takes addresses only, no memory.
pub const GUARD: usize = 1 << 20;

impl FiberStack {
    fn new(size: usize) -> io::Result<Self> {
        let size = size.max(4 * PAGE).next_multiple_of(PAGE) + GUARD;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a new mapping at an address of the system's choice.
        let bottom = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        if bottom == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let free = STACKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STAGGER) % PAGE / 64 * 64;
        let stack =
            FiberStack { free, bottom: NonZeroUsize::new(bottom as usize).expect("a mapping has an address"), size };
        // SAFETY: the ranges are within the mapping. Huge pages would give every rank megabytes it does not need.
        unsafe {
            let top = bottom.cast::<u8>().add(GUARD).cast();
            if libc::mprotect(top, size - GUARD, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::madvise(top, size - GUARD, libc::MADV_NOHUGEPAGE);
        }
        Ok(stack)
    }
}

impl Drop for FiberStack {
    fn drop(&mut self) {
        // SAFETY: the mapping is the stack's own, and the fiber has ended.
        unsafe { libc::munmap(self.bottom.get() as *mut _, self.size) };
    }
}

// SAFETY: the mapping is page-aligned, has a guard at its bottom and at least four pages above it.
unsafe impl Stack for FiberStack {
    fn base(&self) -> StackPointer {
        self.bottom.checked_add(self.size - self.free).expect("a mapping does not wrap")
    }

    fn limit(&self) -> StackPointer {
        self.bottom
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::ReplyKind;
    use super::*;
    use crate::units::{SimSpan, SimTime};

    fn reply<'a>(ns: u64, kind: ReplyKind<'a>) -> Reply<'a> {
        Reply { clock: SimTime::ZERO + SimSpan::from_ns(ns), kind }
    }

    #[test]
    fn a_fiber_gives_its_calls_in_turn_and_sees_each_reply() {
        let mut fiber = Fiber::new(64 << 10, |gate| {
            let mut clock = gate.begin(|reply| reply.clock);
            for _ in 0..3 {
                let span = clock.since(SimTime::ZERO) + SimSpan::from_ns(1);
                clock = gate.call(Call::Compute(span), |reply| reply.clock);
            }
            Call::Finish
        })
        .unwrap();
        let mut kind = ReplyKind::Begin;
        for ns in [5, 7, 9] {
            assert!(matches!(fiber.next(reply(ns, kind)), Call::Compute(span) if span == SimSpan::from_ns(ns + 1)));
            kind = ReplyKind::Done;
        }
        assert!(matches!(fiber.next(reply(11, ReplyKind::Done)), Call::Finish));
    }

    /// Answers a cancelling after some time, a yielding not at all, and anything else at once.
    struct Answers(Vec<Call>);

    impl Simulator for Answers {
        fn ask(&mut self, call: &mut Call) -> Immediate<'_> {
            match std::mem::replace(call, Call::Yield) {
                Call::Yield => Immediate::Refused,
                waits @ Call::Cancel(_) => {
                    self.0.push(waits);
                    Immediate::Waits
                }
                other => {
                    self.0.push(other);
                    Immediate::Replied(reply(self.0.len() as u64, ReplyKind::Done))
                }
            }
        }
    }

    #[test]
    fn a_fiber_is_suspended_only_where_the_answer_takes_time() {
        let ns = |ns| SimTime::ZERO + SimSpan::from_ns(ns);
        let mut fiber = Fiber::new(64 << 10, move |gate| {
            let clocks = [Call::Leave, Call::Leave, Call::Cancel(3), Call::Yield, Call::Leave]
                .map(|call| gate.call(call, |reply| reply.clock));
            assert_eq!(clocks, [1, 2, 70, 80, 4].map(ns));
            Call::Finish
        })
        .unwrap();
        let mut answers = Answers(Vec::new());
        assert!(fiber.next_asking(&mut reply(0, ReplyKind::Begin), &mut answers).is_none());
        assert!(matches!(answers.0[..], [Call::Leave, Call::Leave, Call::Cancel(3)]));
        assert!(matches!(fiber.next_asking(&mut reply(70, ReplyKind::Done), &mut answers), Some(Call::Yield)));
        assert!(matches!(fiber.next_asking(&mut reply(80, ReplyKind::Done), &mut answers), Some(Call::Finish)));
        assert_eq!(answers.0.len(), 4);
    }

    #[test]
    fn a_suspended_fiber_may_be_dropped() {
        let mut fiber = Fiber::new(16 << 10, |gate| gate.call(Call::Yield, |_| Call::Finish)).unwrap();
        assert!(matches!(fiber.next(reply(0, ReplyKind::Begin)), Call::Yield));
        drop(fiber);
        drop(Fiber::new(16 << 10, |_| Call::Finish).unwrap());
    }
}
