//! Fibers: sequential code that makes calls to the simulator and runs on its own stack.
//!
//! A fiber may have C frames on its stack and is therefore never unwound. Dropping an unfinished fiber frees its stack
//! and leaks all values that the frames own. Each fiber has its own floating-point environment, which is saved while
//! the fiber is suspended and while it makes immediate calls.
#![allow(unsafe_code)]

mod float;
mod stack;

use std::cell::Cell;
use std::io;
use std::mem::ManuallyDrop;

use corosensei::stack::Stack;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::ask::{Immediate, Simulator};
use super::call::{Call, Reply};
use crate::units::SimSpan;

pub use float::FloatEnvironment;
use float::FloatWords;
use stack::FiberStack;
pub use stack::{GUARD, mappings_of_stacks};

/// Argument with which a fiber is resumed: the reply, valid until the fiber's next call, and the simulator for
/// immediate calls, valid until the fiber is suspended.
struct FiberTurn<'a> {
    reply: *mut Reply<'a>,
    simulator: Option<*mut dyn Simulator>,
}

type Resumed = *mut FiberTurn<'static>;

/// Pointer to a call on the fiber's stack, valid until the fiber is resumed. Copying a call would take longer than a
/// switch of stacks. The pointer is null if the fiber has already made the call through the simulator.
type Suspended = *mut ManuallyDrop<Call>;

/// Code that runs on its own stack and is suspended at its last call.
pub struct Fiber {
    coroutine: Coroutine<Resumed, Suspended, Call, FiberStack>,
    stack: std::ops::Range<usize>,
    seal: *const usize,
}

/// Handle through which the code in a fiber makes calls.
pub struct FiberHandle<'a> {
    /// Switch to the code that resumed the fiber; `None` for code that runs outside fibers.
    yielder: Option<&'a Yielder<Resumed, Suspended>>,
    /// Argument with which the fiber was last resumed.
    turn: Cell<Resumed>,
    begun: Cell<bool>,
    /// Whether the whole floating-point environment is saved at every call, because the code has changed or read it.
    keeps_floats: Cell<bool>,
}

/// Handle through which a signal handler ends a fiber that cannot continue.
pub type Trap = CoroutineTrapHandler<Call>;

// SAFETY: only one thread at a time resumes a fiber. The code in the fiber must permit a move to another thread between
// two calls.
unsafe impl Send for Fiber {}

impl Fiber {
    /// Creates a fiber that runs `body` on a stack of `size` bytes above a guard page. The call that `body` returns is
    /// the last call of the fiber: [`Call::Finish`] or [`Call::Fail`].
    ///
    /// # Errors
    /// The host has no memory for the stack.
    pub fn new(size: usize, body: impl FnOnce(&FiberHandle<'_>) -> Call + 'static) -> io::Result<Self> {
        let stack = FiberStack::new(size)?;
        let range = stack.range();
        let seal = (stack.base().get() - size_of::<usize>()) as *const usize;
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<Resumed, Suspended>, first: Resumed| {
            float::reset();
            let turn = Cell::new(first);
            let last = body(&FiberHandle {
                yielder: Some(yielder),
                turn,
                begun: Cell::new(false),
                keeps_floats: Cell::new(false),
            });
            float::reset();
            last
        });
        Ok(Fiber { coroutine, stack: range, seal })
    }

    /// Resumes the fiber with the reply to its last call and runs the fiber until its next call.
    ///
    /// # Panics
    /// If the fiber has returned its last call, or if its code panics.
    #[inline]
    pub fn next(&mut self, mut reply: Reply<'_>) -> Call {
        self.resume(FiberTurn { reply: &raw mut reply, simulator: None }).expect("the fiber has nobody to ask")
    }

    /// Like [`Fiber::next`], but the fiber makes calls through `simulator` as long as `simulator` replies immediately.
    /// Returns `None` if the fiber waits for the reply to a call that it made through `simulator`.
    ///
    /// # Panics
    /// The fiber has returned its last call, or its code panics.
    #[inline]
    pub fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        // SAFETY: only the lifetime changes. The fiber uses the simulator only before it suspends again, which is
        // within this call and thus within the borrow.
        let simulator = unsafe { std::mem::transmute::<*mut dyn Simulator, *mut dyn Simulator>(simulator) };
        self.resume(FiberTurn { reply, simulator: Some(simulator) })
    }

    #[inline(always)]
    fn resume(&mut self, mut turn: FiberTurn<'_>) -> Option<Call> {
        // The fiber uses the reply only before it suspends again, which is within the reply's lifetime.
        match self.coroutine.resume((&raw mut turn).cast()) {
            CoroutineResult::Yield(call) if call.is_null() => None,
            // SAFETY: the pointer is valid because the fiber stays suspended while the call is read. The fiber yields
            // each call once, so each call is taken once.
            CoroutineResult::Yield(call) => Some(unsafe { ManuallyDrop::take(&mut *call) }),
            CoroutineResult::Return(call) => Some(call),
        }
    }

    /// Addresses of the fiber's stack, without the guard below the stack.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.stack.clone()
    }

    /// Topmost word of the fiber's stack, written once before the fiber runs. The return address of the fiber's code is
    /// just below this word.
    pub fn seal(&self) -> *const usize {
        self.seal
    }

    /// Handle through which a signal handler ends the fiber.
    pub fn trap(&self) -> Trap {
        self.coroutine.trap_handler()
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if self.coroutine.started() && !self.coroutine.done() {
            // SAFETY: the fiber is suspended and never resumed again, so no code uses its stack. The values in the
            // frames of the stack are leaked, not used.
            unsafe { self.coroutine.force_reset() };
        }
    }
}

impl FiberHandle<'static> {
    /// Creates the handle of code that runs outside fibers and cannot be suspended. `simulator` answers every call with
    /// [`Immediate::Replied`].
    ///
    /// # Panics
    /// A call panics if `simulator` does not answer the call immediately.
    pub fn outside(simulator: &'static mut dyn Simulator) -> Self {
        let turn = FiberTurn { reply: std::ptr::null_mut(), simulator: Some(simulator) };
        FiberHandle {
            yielder: None,
            turn: Cell::new(Box::leak(Box::new(turn))),
            begun: Cell::new(true),
            keeps_floats: Cell::new(false),
        }
    }
}

impl FiberHandle<'_> {
    /// Passes the first reply to `take`. The first reply precedes all calls.
    ///
    /// # Panics
    /// If the first reply was taken before.
    pub fn begin<R>(&self, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        assert!(!self.begun.replace(true), "the first reply is taken once");
        // SAFETY: the argument of the resumption lives until the fiber suspends, and `take` has no means to suspend the
        // fiber.
        take(unsafe { &mut *(*self.turn.get()).reply })
    }

    #[inline(always)]
    fn simulator(&self) -> Option<*mut dyn Simulator> {
        // SAFETY: `turn` points to the argument of the present resumption, which lives until the fiber suspends.
        unsafe { (*self.turn.get()).simulator }
    }

    /// Whether the fiber has a simulator at present, which answers calls immediately if possible.
    #[inline(always)]
    pub fn asks(&self) -> bool {
        self.simulator().is_some()
    }

    /// Counts a block of real code before a call of the function `before`, if the fiber has a simulator at present.
    #[inline(always)]
    pub fn count_code(&self, span: SimSpan, before: &'static str) {
        if let Some(simulator) = self.simulator() {
            // SAFETY: the simulator pointer of the present turn is valid until the fiber suspends.
            unsafe { (*simulator).count_code(span, before) };
        }
    }

    /// From now on, saves the whole floating-point environment at every call, because the code reads or changes it.
    pub fn keep_floats(&self) {
        self.keeps_floats.set(true);
    }

    /// Whether the whole floating-point environment is saved at every call, see [`FiberHandle::keep_floats`].
    pub fn keeps_floats(&self) -> bool {
        self.keeps_floats.get()
    }

    /// Makes `call` and passes the reply to `take`. The reply is immediate or follows a suspension of the fiber.
    ///
    /// This function and all functions down to the switch of stacks are inlined. The processor predicts the target of a
    /// return from the preceding calls, so a function that is entered before a switch and left after it costs a
    /// misprediction.
    #[inline(always)]
    pub fn call<R>(&self, call: Call, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.call_there(&mut ManuallyDrop::new(call), take)
    }

    /// Like [`FiberHandle::call`], but reads the call at the address where it was constructed. Copying recently written
    /// data stalls the processor. The call is moved out of `call`, which needs no drop.
    #[inline(always)]
    pub fn call_there<R>(&self, call: &mut ManuallyDrop<Call>, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        if self.keeps_floats.get() {
            return self.call_apart(call, take);
        }
        self.make(call, take)
    }

    /// Like [`FiberHandle::call_there`], for code with its own floating-point environment.
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
            // SAFETY: the simulator pointer of the present turn is valid until the fiber suspends.
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
        // SAFETY: the argument of the resumption lives until the fiber suspends, and `take` has no means to suspend the
        // fiber.
        take(unsafe { &mut *(*turn).reply })
    }

    /// Suspends code that may have changed its floating-point environment.
    #[cold]
    fn suspend_apart<R>(&self, suspended: Suspended, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        self.keep_floats();
        let own = FloatEnvironment::leave();
        let turn = self.suspend(suspended);
        own.enter();
        // SAFETY: the argument of the resumption lives until the fiber suspends, and `take` has no means to suspend the
        // fiber.
        take(unsafe { &mut *(*turn).reply })
    }

    /// Suspends the fiber and returns the argument with which the fiber is resumed.
    #[inline(always)]
    fn suspend(&self, suspended: Suspended) -> Resumed {
        // SAFETY: `__errno_location` returns a valid pointer to a variable of this thread.
        let errno = unsafe { *libc::__errno_location() };
        let turn = self.yielder.expect("code outside fibers gets each reply at once").suspend(suspended);
        // SAFETY: `__errno_location` returns a valid pointer. The pointer is read again because the fiber may have
        // moved to another thread.
        unsafe { *libc::__errno_location() = errno };
        self.turn.set(turn);
        turn
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

    /// A simulator for tests that answers a cancel later, refuses a yield, and answers all other calls immediately.
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
