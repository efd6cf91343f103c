//! Crashes of programs: signals that would end the process end the run instead, with a report of where.
//!
//! The handler looks at the stack, and then has the rank's fiber return a last call, [`Call::Fail`]: what follows is
//! ordinary. Two crashes cannot end so: that of a thread which is no rank's, and that in the C library's memory
//! management, whose locks may be held. A thread that has waited for this reports them and ends the process.
//!
//! A crash while no rank's code runs is mcpsim's own, and handled as if this were not here.
#![allow(unsafe_code)]

mod look;
mod own;
mod remote;
mod report;

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::sync::{Once, OnceLock};

use crate::loader;
use crate::process::job;
use crate::process::unwind::{Registers, StackTrace, here};
use crate::process::{Process, current};
use mcpsim_core::engine::RunError;
use mcpsim_core::rank::{Call, Fiber, GUARD};

pub use look::running;
pub use own::FaultInCall;
pub use remote::{GivenMemory, RemoteAccess, serving};
pub use report::{caller, calling_code, calling_codes};

/// The signals that a crash is known by.
const SIGNALS: [c_int; 6] = [libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV];
/// A handler's stack: walking up a stack takes some tens of KiB.
const STACK: usize = 256 << 10;
/// A frame of this size may step over the page that traps.
const LARGEST_FRAME: usize = 1 << 30;

/// What a crash is.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    pub signal: c_int,
    /// The system's reason (`si_code`); [`CALLED`] if there was none.
    pub code: c_int,
    /// The address that could not be reached.
    pub address: usize,
    /// What the processor says about it.
    pub error: i64,
    /// Whose stack had no more room, if that is what happened.
    pub overflow: Option<Overflow>,
    /// Whether the rank has written over its whole stack, up to what lies above `main`.
    pub overwritten: bool,
    pub trace: StackTrace,
}

/// A stack without more room, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// A rank's.
    Rank(usize),
    /// That of a thread of the program's own.
    Thread(usize),
}

/// The code of a crash that the program asked for, by `abort` or `raise`.
pub const CALLED: c_int = c_int::MIN;

/// Where a rank's code runs: what a handler needs to end it.
pub struct CrashContext {
    trap: mcpsim_core::rank::Trap,
    stack: (usize, usize),
    /// A word at the top of the stack that nobody changes, and where.
    seal: (*const usize, usize),
}

impl CrashContext {
    /// That of a fiber.
    pub fn of(fiber: &Fiber) -> CrashContext {
        let stack = fiber.stack();
        let seal = fiber.seal();
        // SAFETY: on the fiber's stack.
        CrashContext { trap: fiber.trap(), stack: (stack.start, stack.end), seal: (seal, unsafe { seal.read() }) }
    }

    /// Whether the way out of the fiber, which lies above all that its code has on the stack, is lost.
    fn is_overwritten(&self) -> bool {
        // SAFETY: on the fiber's stack.
        unsafe { self.seal.0.read_volatile() != self.seal.1 }
    }

    /// The stack's addresses.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.stack.0..self.stack.1
    }
}

thread_local! {
    static READY: Cell<bool> = const { Cell::new(false) };
    /// On its way from the handler to what follows it in the fiber.
    static CRASH: Cell<Option<Crash>> = const { Cell::new(None) };
}

/// Makes this thread ready for crashes of the ranks that it runs.
#[inline]
pub fn ready() {
    if !READY.get() {
        prepare();
    }
}

#[cold]
fn prepare() {
    static INSTALLED: Once = Once::new();
    READY.set(true);
    super::clib::count_thread();
    INSTALLED.call_once(install);
    HANDLER_STACK.with(|_| ());
    LISTED.with(|_| ());
}

thread_local! {
    static LISTED: look::Listed = look::Listed::new();
    static HANDLER_STACK: HandlerStack = HandlerStack::new();
    /// The first and the last address of the stack of a thread that a program has started.
    static THREAD_STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Makes this thread, which a program has started, ready for crashes.
pub fn ready_for_thread() {
    if THREAD_STACK.get().1 != 0 {
        return;
    }
    HANDLER_STACK.with(|_| ());
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (ptr::null_mut(), 0);
    // SAFETY: room for what is told of this thread.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
    THREAD_STACK.set((start as usize, start as usize + size));
}

/// The stack of this thread's handlers, for as long as the thread is.
struct HandlerStack(*mut c_void);

impl HandlerStack {
    fn new() -> Self {
        // SAFETY: new memory that is the handler's until it is given back.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let memory = libc::mmap(ptr::null_mut(), STACK, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if memory != libc::MAP_FAILED {
                let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: STACK };
                libc::sigaltstack(&stack, ptr::null_mut());
            }
            HandlerStack(memory)
        }
    }
}

impl Drop for HandlerStack {
    fn drop(&mut self) {
        if self.0 != libc::MAP_FAILED {
            let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            // SAFETY: no handler runs on this thread while it ends, and none will run on that stack.
            unsafe {
                libc::sigaltstack(&none, ptr::null_mut());
                libc::munmap(self.0, STACK);
            }
        }
    }
}

/// The handlers before ours.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();
/// The functions of the C library that manage memory.
static MEMORY: OnceLock<Vec<usize>> = OnceLock::new();
/// What wakes the thread that reports.
static BELL: AtomicI32 = AtomicI32::new(-1);

fn install() {
    // What is worked out at first use must be there when a handler asks.
    loader::code(install as *const () as usize);
    let _ = MEMORY.set(report::memory_functions());
    let mut ends = [-1; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == 0 {
        let bell = ends[0];
        let watch = std::thread::Builder::new().name("crashes".to_owned()).spawn(move || report_when_asked(bell));
        if watch.is_ok() {
            BELL.store(ends[1], Ordering::Release);
        }
    }
    super::clib::protect_open();
    look::install();
    let before = SIGNALS.map(|signal| {
        // SAFETY: the handler is a function of this signature; all zeros is a valid action.
        unsafe {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            libc::sigaction(signal, ptr::null(), before.as_mut_ptr());
            before.assume_init()
        }
    });
    let _ = BEFORE.set(before);
    for signal in SIGNALS {
        // SAFETY: as above.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
}

/// As if the handler of `signal` had never been there.
fn step_back(signal: c_int) {
    let index = SIGNALS.iter().position(|&known| known == signal);
    if let (Some(before), Some(index)) = (BEFORE.get(), index) {
        // SAFETY: what was there before.
        unsafe { libc::sigaction(signal, &before[index], ptr::null_mut()) };
    }
}

/// The order of registers in call frame information, as the system has them.
const ORDER: [c_int; 17] = [
    libc::REG_RAX,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_RBX,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_RBP,
    libc::REG_RSP,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
    libc::REG_RIP,
];

unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the system gives a handler.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
    let words = &mut context.uc_mcontext.gregs;
    let mut registers = Registers(ORDER.map(|register| words[register as usize] as usize));
    if signal == libc::SIGTRAP {
        registers.step_back();
    }
    let Some(p) = current() else {
        return of_thread(signal, info, words[libc::REG_ERR as usize], &registers);
    };
    let calm = (0x37f, 0, 0x1f80);
    if !p.crashing.get() && signal != libc::SIGABRT {
        let overflow = p.stack().start > registers.stack();
        // SAFETY: what the system gives a handler.
        if unsafe { own::deliver(p, signal, info, context, overflow) } {
            // SAFETY: the system saves these registers for every handler.
            if let Some(saved) = unsafe { context.uc_mcontext.fpregs.as_mut() } {
                (saved.cwd, saved.swd, saved.mxcsr) = calm;
            }
            return;
        }
    }
    let words = &mut context.uc_mcontext.gregs;
    if p.crashing.replace(true) {
        last_words(c"error: a program crashed, and crashed again while that was reported\n");
    }
    let ground = p.ground.try_borrow();
    let Some(ground) = ground.as_ref().ok().and_then(|ground| ground.as_ref()) else { return step_back(signal) };
    let stack = ground.stack();
    let guard = stack.start - GUARD..stack.start;
    // SAFETY: a signal that comes of an address has one.
    let address = unsafe { info.si_addr() } as usize;
    let below = registers.stack() < stack.start && stack.start - registers.stack() < LARGEST_FRAME;
    let full = signal == libc::SIGSEGV
        && info.si_code > 0
        && (guard.contains(&address) || below && address.abs_diff(registers.stack()) < LARGEST_FRAME);
    let crash = Crash {
        signal,
        code: info.si_code,
        address,
        error: words[libc::REG_ERR as usize],
        overflow: full.then(|| Overflow::Rank(stack.len())),
        overwritten: ground.is_overwritten(),
        trace: StackTrace::new(registers, &stack),
    };
    if crash.overwritten || report::in_memory_management(&crash.trace) {
        hand_over(&Notice { crash, crashed: CrashedCode::Rank(p) });
    }
    CRASH.set(Some(crash));
    let process: *const Process = p;
    // SAFETY: the fiber whose stack this is runs on this thread, and its process outlives it.
    let go_on = unsafe { ground.trap.setup_trap_handler(move || failed(&*process)) };
    words[libc::REG_RIP as usize] = go_on.rip as i64;
    words[libc::REG_RSP as usize] = go_on.rsp as i64;
    words[libc::REG_RBP as usize] = go_on.rbp as i64;
    words[libc::REG_RDI as usize] = go_on.rdi as i64;
    words[libc::REG_RSI as usize] = go_on.rsi as i64;
    // As the calling convention wants it: the direction flag clear, floating-point exceptions masked.
    words[libc::REG_EFL as usize] &= !0x400;
    // SAFETY: the system saves these registers for every handler.
    if let Some(saved) = unsafe { context.uc_mcontext.fpregs.as_mut() } {
        (saved.cwd, saved.swd, saved.mxcsr) = calm;
    }
}

/// The last call of a rank that has crashed.
fn failed(p: &Process) -> Call {
    let crash = CRASH.take().expect("the handler has left it on this thread");
    Call::Fail(Box::new(report::error(p, &crash)))
}

/// Ends the rank, which has called for it, as a crash does.
pub fn called(p: &Process, signal: c_int) -> ! {
    p.crashing.set(true);
    let stack = p.stack();
    let trace = StackTrace::new(Registers::at(here()), &stack);
    let crash = Crash { signal, code: CALLED, address: 0, error: 0, overflow: None, overwritten: false, trace };
    p.call_done(Call::Fail(Box::new(report::error(p, &crash))));
    unreachable!("a failed rank does not go on")
}

/// A signal on a thread that runs no rank: a thread of a program's own, or mcpsim's.
fn of_thread(signal: c_int, info: &libc::siginfo_t, error: i64, registers: &Registers) {
    let top = registers.stack();
    let known = THREAD_STACK.get();
    // SAFETY: as in `handle`.
    let address = unsafe { info.si_addr() } as usize;
    // A frame that does not fit begins below the stack.
    let below = known.0 > top && known.0 - top < LARGEST_FRAME;
    let full = signal == libc::SIGSEGV
        && info.si_code > 0
        && (below || (known.0.saturating_sub(GUARD)..known.0).contains(&address));
    // The thread's stack from here on: as much as any frame information is believed.
    let stack = if full { known.0..known.1 } else { top..readable_end(top) };
    let overflow = full.then_some(Overflow::Thread(stack.len()));
    let trace = StackTrace::new(*registers, &stack);
    let crashed = if trace.frames().iter().any(|frame| loader::place_at_once(frame.at).is_some()) {
        CrashedCode::Thread
    } else if let (libc::SIGSEGV | libc::SIGBUS, Some(process)) = (signal, remote::reached()) {
        CrashedCode::Remote(process)
    } else if READY.get() && report::in_memory_management(&trace) {
        CrashedCode::Heap
    } else {
        return step_back(signal);
    };
    let crash = Crash { signal, code: info.si_code, address, error, overflow, overwritten: false, trace };
    hand_over(&Notice { crash, crashed });
}

/// How far memory can be read from `start` on, at most 64 KiB.
fn readable_end(start: usize) -> usize {
    const PAGE: usize = 4096;
    let mut end = start;
    for _ in 0..16 {
        let next = (end / PAGE + 1) * PAGE;
        let mut seen = 0u8;
        // SAFETY: of memory that is not there, the system says so.
        let there = unsafe { libc::mincore((end / PAGE * PAGE) as *mut c_void, PAGE, &mut seen) } == 0;
        if !there {
            break;
        }
        end = next;
    }
    end
}

/// A crash that another thread reports.
struct Notice {
    crash: Crash,
    crashed: CrashedCode,
}

/// The code that has crashed.
#[derive(Clone, Copy, Debug)]
enum CrashedCode {
    /// A rank's.
    Rank(*const Process),
    /// An access to a rank's memory for another rank.
    Remote(*const Process),
    /// That of a thread of the program's own.
    Thread,
    /// The memory management, called by the simulator: a rank has damaged the heap.
    Heap,
}

static NOTICE: AtomicPtr<Notice> = AtomicPtr::new(ptr::null_mut());

/// Has another thread report the crash and end the process, which it does soon.
fn hand_over(notice: &Notice) -> ! {
    let first =
        NOTICE.compare_exchange(ptr::null_mut(), ptr::from_ref(notice).cast_mut(), Ordering::AcqRel, Ordering::Acquire);
    // SAFETY: these functions may be called in handlers.
    unsafe {
        if first.is_ok() {
            libc::write(BELL.load(Ordering::Acquire), c"!".as_ptr().cast(), 1);
        }
        // On a busy host, reading a program's debug information may take many seconds.
        let mut left = libc::timespec { tv_sec: 60, tv_nsec: 0 };
        while libc::nanosleep(&left.clone(), &mut left) != 0 {}
    }
    last_words(c"error: a program crashed where it could not be reported\n")
}

fn last_words(text: &std::ffi::CStr) -> ! {
    // SAFETY: these functions may be called in handlers.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.count_bytes());
        libc::_exit(4)
    }
}

/// The thread that reports what a crashed one cannot.
fn report_when_asked(bell: c_int) {
    let mut byte = 0u8;
    // SAFETY: room for one byte.
    while unsafe { libc::read(bell, ptr::from_mut(&mut byte).cast(), 1) } != 1 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return;
        }
    }
    // SAFETY: the thread that has crashed waits, so the notice on its stack and the rank stay.
    let Some(notice) = (unsafe { NOTICE.load(Ordering::Acquire).as_ref() }) else { return };
    let crash = &notice.crash;
    // SAFETY: as above.
    let text = unsafe {
        match notice.crashed {
            CrashedCode::Rank(p) => text_of(&*p, report::error(&*p, crash)),
            CrashedCode::Remote(p) => text_of(&*p, report::of_remote(&*p, crash)),
            CrashedCode::Thread => report::of_thread(crash),
            CrashedCode::Heap => report::of_heap(crash),
        }
    };
    job::fatal(&text, Some(crash.signal))
}

fn text_of(p: &Process, error: mcpsim_core::rank::ProgramError) -> String {
    RunError::Program { rank: p.rank, clock: p.reached(), error }.to_string()
}
