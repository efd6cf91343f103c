//! Handles crashes of simulated programs. A signal that would end the host process ends the run instead, and the
//! error message reports the position of the crash.
//!
//! The signal handler walks the stack. The handler then makes the rank's fiber return a last engine call,
//! [`Call::Fail`], and the run ends like any failed run. Two classes of crashes need a separate thread: a crash of a
//! thread without a rank, and a crash in the memory management of the C library, whose locks may be held. The
//! separate thread waits for such crashes, reports the crash and ends the host process.
//!
//! A crash while no rank's code runs is a crash of mcpsim itself. The previous action of the signal then handles the
//! crash.
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

/// Signals that indicate a crash.
const SIGNALS: [c_int; 6] = [libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV];
/// Size of the signal handler's stack in bytes. A stack walk needs some tens of KiB.
const STACK: usize = 256 << 10;
/// Maximum size in bytes of a function's stack frame for the detection of stack overflows. The accesses of a function
/// with a large frame may skip the guard page of the stack.
const LARGEST_FRAME: usize = 1 << 30;

/// Description of a crash.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    pub signal: c_int,
    /// Reason of the signal (`si_code`), or [`CALLED`].
    pub code: c_int,
    /// Memory address of the failed access.
    pub address: usize,
    /// Error code of the processor for a page fault.
    pub error: i64,
    /// Overflowed stack, if the crash is a stack overflow.
    pub overflow: Option<Overflow>,
    /// True if the rank has overwritten its whole stack, including the part above `main`.
    pub overwritten: bool,
    pub trace: StackTrace,
}

/// Overflowed stack, with the stack's size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The stack of a rank, with the size of the stack in bytes.
    Rank(usize),
    /// The stack of a thread that the program created, with the size of the stack in bytes.
    Thread(usize),
}

/// Value of [`Crash::code`] if the program requested the signal with `abort` or `raise`.
pub const CALLED: c_int = c_int::MIN;

/// State that a signal handler needs to end the code of a rank.
pub struct CrashContext {
    trap: mcpsim_core::rank::Trap,
    stack: (usize, usize),
    /// Address and expected value of a word at the top of the stack that the program must not change.
    seal: (*const usize, usize),
}

impl CrashContext {
    /// Creates the crash context of a fiber.
    pub fn of(fiber: &Fiber) -> CrashContext {
        let stack = fiber.stack();
        let seal = fiber.seal();
        // SAFETY: the seal is a word on the mapped stack of the fiber.
        CrashContext { trap: fiber.trap(), stack: (stack.start, stack.end), seal: (seal, unsafe { seal.read() }) }
    }

    /// Returns true if the program has overwritten the fiber's exit frame. The exit frame is above all frames of the
    /// program.
    fn is_overwritten(&self) -> bool {
        // SAFETY: the seal is a word on the mapped stack of the fiber.
        unsafe { self.seal.0.read_volatile() != self.seal.1 }
    }

    /// Returns the address range of the fiber's stack.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.stack.0..self.stack.1
    }
}

thread_local! {
    static READY: Cell<bool> = const { Cell::new(false) };
    /// Crash that the signal handler passes to the code that continues on the rank's fiber.
    static CRASH: Cell<Option<Crash>> = const { Cell::new(None) };
}

/// Prepares the current host thread to handle crashes of the ranks that run on the host thread.
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
    /// Bounds of the stack of a thread created by a program.
    static THREAD_STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Prepares the current thread, which a program created, to handle crashes of the program's code.
pub fn ready_for_thread() {
    if THREAD_STACK.get().1 != 0 {
        return;
    }
    HANDLER_STACK.with(|_| ());
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (ptr::null_mut(), 0);
    // SAFETY: `pthread_getattr_np` initialises the attributes of the current thread, and the attributes are destroyed
    // after use.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
    THREAD_STACK.set((start as usize, start as usize + size));
}

/// Stack for the signal handlers of the current thread. The stack is freed when the thread ends.
struct HandlerStack(*mut c_void);

impl HandlerStack {
    fn new() -> Self {
        // SAFETY: the memory is new and used only as the handler's stack until the memory is unmapped.
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
            // SAFETY: the thread ends and runs no signal handler now. The stack is removed from use before the memory
            // is unmapped, so no handler will use the stack.
            unsafe {
                libc::sigaltstack(&none, ptr::null_mut());
                libc::munmap(self.0, STACK);
            }
        }
    }
}

/// Actions of the signals [`SIGNALS`] before the module `crash` installed its handler.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();
/// Addresses of the C library's functions that manage memory.
static MEMORY: OnceLock<Vec<usize>> = OnceLock::new();
/// File descriptor of a pipe that wakes the reporting thread.
static BELL: AtomicI32 = AtomicI32::new(-1);

fn install() {
    // A signal handler must not allocate memory, so `install` computes in advance all values that are otherwise
    // computed at the first use.
    loader::code(install as *const () as usize);
    let _ = MEMORY.set(report::memory_functions());
    let mut ends = [-1; 2];
    // SAFETY: `ends` has room for two file descriptors.
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
        // SAFETY: zero is a valid `sigaction`, and `sigaction` with a null new action only reads the current action.
        unsafe {
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            libc::sigaction(signal, ptr::null(), before.as_mut_ptr());
            before.assume_init()
        }
    });
    let _ = BEFORE.set(before);
    for signal in SIGNALS {
        // SAFETY: zero is a valid `sigaction`, and the handler has the signature that SA_SIGINFO requires.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
}

/// Restores the action that the signal `signal` had before the module `crash` installed its handler.
fn step_back(signal: c_int) {
    let index = SIGNALS.iter().position(|&known| known == signal);
    if let (Some(before), Some(index)) = (BEFORE.get(), index) {
        // SAFETY: `sigaction` returned the restored action before the module `crash` installed its handler.
        unsafe { libc::sigaction(signal, &before[index], ptr::null_mut()) };
    }
}

/// Index in the kernel's register array of each register, in the order of call frame information.
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
    // SAFETY: the kernel passes valid pointers to a handler that is installed with SA_SIGINFO.
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
        // SAFETY: the kernel provided the arguments, and the calling handler runs on its own alternate stack.
        if unsafe { own::deliver(p, signal, info, context, overflow) } {
            // SAFETY: the kernel saves the floating-point registers for every handler, and the pointer is null or
            // valid.
            if let Some(saved) = unsafe { context.uc_mcontext.fpregs.as_mut() } {
                (saved.cwd, saved.swd, saved.mxcsr) = calm;
            }
            return;
        }
    }
    let words = &mut context.uc_mcontext.gregs;
    if p.crashing.replace(true) {
        last_words(c"error: a program crashed, and crashed again while mcpsim reported the first crash\n");
    }
    let ground = p.ground.try_borrow();
    let Some(ground) = ground.as_ref().ok().and_then(|ground| ground.as_ref()) else { return step_back(signal) };
    let stack = ground.stack();
    let guard = stack.start - GUARD..stack.start;
    // SAFETY: the kernel initialises `si_addr` for every signal. The address is used only for signals that have an
    // address.
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
    // SAFETY: the fiber that owns the stack runs on this thread, and the rank's `Process` outlives the fiber.
    let go_on = unsafe { ground.trap.setup_trap_handler(move || failed(&*process)) };
    words[libc::REG_RIP as usize] = go_on.rip as i64;
    words[libc::REG_RSP as usize] = go_on.rsp as i64;
    words[libc::REG_RBP as usize] = go_on.rbp as i64;
    words[libc::REG_RDI as usize] = go_on.rdi as i64;
    words[libc::REG_RSI as usize] = go_on.rsi as i64;
    // The calling convention requires that the direction flag is clear and floating-point exceptions are masked.
    words[libc::REG_EFL as usize] &= !0x400;
    // SAFETY: the kernel saves the floating-point registers for every handler, and the pointer is null or valid.
    if let Some(saved) = unsafe { context.uc_mcontext.fpregs.as_mut() } {
        (saved.cwd, saved.swd, saved.mxcsr) = calm;
    }
}

/// Returns the last call that a crashed rank sends to the simulation engine.
fn failed(p: &Process) -> Call {
    let crash = CRASH.take().expect("the handler has left it on this thread");
    Call::Fail(Box::new(report::error(p, &crash)))
}

/// Ends the rank like a crash, because the program requested the signal `signal` with `abort` or `raise`.
pub fn called(p: &Process, signal: c_int) -> ! {
    p.crashing.set(true);
    let stack = p.stack();
    let trace = StackTrace::new(Registers::at(here()), &stack);
    let crash = Crash { signal, code: CALLED, address: 0, error: 0, overflow: None, overwritten: false, trace };
    p.call_done(Call::Fail(Box::new(report::error(p, &crash))));
    unreachable!("a failed rank does not go on")
}

/// Handles a crash of a thread that runs no rank. A simulated program or mcpsim created the thread.
fn of_thread(signal: c_int, info: &libc::siginfo_t, error: i64, registers: &Registers) {
    let top = registers.stack();
    let known = THREAD_STACK.get();
    // SAFETY: the kernel initialises `si_addr` for every signal. The address is used only for signals that have an
    // address.
    let address = unsafe { info.si_addr() } as usize;
    // The stack pointer is below the stack if a stack frame of the program is larger than the unused stack.
    let below = known.0 > top && known.0 - top < LARGEST_FRAME;
    let full = signal == libc::SIGSEGV
        && info.si_code > 0
        && (below || (known.0.saturating_sub(GUARD)..known.0).contains(&address));
    // The stack walk is limited to the readable part of the thread's stack.
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

/// Returns the end of the readable memory that starts at `start`, at most 64 KiB above `start`.
fn readable_end(start: usize) -> usize {
    const PAGE: usize = 4096;
    let mut end = start;
    for _ in 0..16 {
        let next = (end / PAGE + 1) * PAGE;
        let mut seen = 0u8;
        // SAFETY: `mincore` accepts any address, returns an error for unmapped memory, and writes one byte for one
        // page.
        let there = unsafe { libc::mincore((end / PAGE * PAGE) as *mut c_void, PAGE, &mut seen) } == 0;
        if !there {
            break;
        }
        end = next;
    }
    end
}

/// A crash that the reporting thread reports for the crashed thread.
struct Notice {
    crash: Crash,
    crashed: CrashedCode,
}

/// Code that crashed: code of a rank, of another thread, or of mcpsim.
#[derive(Clone, Copy, Debug)]
enum CrashedCode {
    /// The code of the rank in the field.
    Rank(*const Process),
    /// Code of mcpsim that accesses memory of the rank in the field on behalf of another rank.
    Remote(*const Process),
    /// Code of a thread that the program created.
    Thread,
    /// The C library's memory management, called by mcpsim. The cause is a rank that has damaged the heap.
    Heap,
}

static NOTICE: AtomicPtr<Notice> = AtomicPtr::new(ptr::null_mut());

/// Passes the crash to the reporting thread and waits until the reporting thread ends the host process.
fn hand_over(notice: &Notice) -> ! {
    let first =
        NOTICE.compare_exchange(ptr::null_mut(), ptr::from_ref(notice).cast_mut(), Ordering::AcqRel, Ordering::Acquire);
    // SAFETY: the called functions are async-signal-safe, and the pointers refer to local variables or statics.
    unsafe {
        if first.is_ok() {
            libc::write(BELL.load(Ordering::Acquire), c"!".as_ptr().cast(), 1);
        }
        // The time limit is long, because reading the debug information of a program may take many seconds on a busy
        // host.
        let mut left = libc::timespec { tv_sec: 60, tv_nsec: 0 };
        while libc::nanosleep(&left.clone(), &mut left) != 0 {}
    }
    last_words(c"error: a program crashed at a point where mcpsim cannot report the rank\n")
}

fn last_words(text: &std::ffi::CStr) -> ! {
    // SAFETY: the called functions are async-signal-safe, and the pointers refer to local variables or statics.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.count_bytes());
        libc::_exit(4)
    }
}

/// Body of the reporting thread, which reports a crash if the crashed thread cannot report the crash.
fn report_when_asked(bell: c_int) {
    let mut byte = 0u8;
    // SAFETY: the buffer has room for one byte.
    while unsafe { libc::read(bell, ptr::from_mut(&mut byte).cast(), 1) } != 1 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return;
        }
    }
    // SAFETY: the crashed thread waits until the host process ends, so the notice on its stack remains valid.
    let Some(notice) = (unsafe { NOTICE.load(Ordering::Acquire).as_ref() }) else { return };
    let crash = &notice.crash;
    // SAFETY: the crashed thread waits until the host process ends, so the rank remains valid.
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
