//! Thread-local storage of programs.
//!
//! A program asks `__tls_get_addr` for the address of a variable, with a pointer to the [`Descriptor`] of the module
//! and an offset. A rank's own variables follow it from host thread to host thread: they belong to the instance. A
//! thread that the program started itself has a block a module, until it ends.
#![allow(unsafe_code)]

use std::alloc::{self, Layout};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::exits::ExitFunction;
use super::library::Shared;
use super::loaded;

/// An instance among all that the process ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub(super) u64);

impl InstanceId {
    pub(super) fn next() -> InstanceId {
        static LAST: AtomicU64 = AtomicU64::new(0);
        InstanceId(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

thread_local! {
    /// The instance whose rank runs on this thread; 0 if none does.
    static RUNNING: Cell<u64> = const { Cell::new(0) };
    /// What this thread has of instances that it does not run as their rank; null at first and after the thread's end.
    static THREAD: Cell<*mut Thread> = const { Cell::new(ptr::null_mut()) };
    static END: End = const { End };
}

/// Says whose rank runs on this thread from now on. To be called whenever a rank's fiber is resumed or suspended.
// Not inlined: a fiber may go on in another thread, where the address of a thread-local that a caller kept is wrong.
#[inline(never)]
pub fn set_main(instance: Option<InstanceId>) {
    RUNNING.set(instance.map_or(0, |id| id.0));
}

/// Whose rank runs on this thread.
#[inline(never)]
pub fn main_instance() -> Option<InstanceId> {
    Some(InstanceId(RUNNING.get())).filter(|id| id.0 != 0)
}

/// The variables of a module, as its file describes them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    pub size: usize,
    pub align: usize,
    /// The address of the first variable modulo `align`.
    pub skew: usize,
    /// Where the first values are in an instance.
    pub at: usize,
    pub filled: usize,
}

impl Template {
    fn layout(&self) -> Layout {
        // Both were checked when the file was opened.
        Layout::from_size_align(self.size + self.skew, self.align).unwrap_or(Layout::new::<u64>())
    }

    /// A new block.
    ///
    /// # Safety
    /// The first values of the instance are at `image`.
    unsafe fn allocate(&self, image: *const u8) -> *mut u8 {
        // SAFETY: the size is not zero, as the module has variables; the values fit into the block.
        unsafe {
            let block = alloc::alloc_zeroed(self.layout());
            if block.is_null() {
                alloc::handle_alloc_error(self.layout());
            }
            let first = block.add(self.skew);
            ptr::copy_nonoverlapping(image, first, self.filled);
            first
        }
    }

    /// # Safety
    /// `first` is from [`Template::allocate`] of an equal template and not used any more.
    unsafe fn free(&self, first: *mut u8) {
        // SAFETY: the block began so much before.
        unsafe { alloc::dealloc(first.sub(self.skew), self.layout()) }
    }
}

/// What a `DTPMOD64` slot points to.
pub(super) enum Descriptor {
    /// A module of an instance.
    Own(Own),
    /// A variable of a library that all share, which has one a host thread.
    Shared { library: Shared, name: CString },
    /// Of a module without thread-local variables; no slot points to it.
    None,
}

pub(super) struct Own {
    instance: u64,
    module: usize,
    template: Template,
    image: *const u8,
    /// The rank's own block; null until it is asked for.
    block: AtomicPtr<u8>,
}

// SAFETY: `image` is only read, and lives as long as the instance that owns the descriptor.
unsafe impl Send for Descriptor {}
// SAFETY: as above; the rest is atomic or never changes.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    /// The descriptor of a module of the instance at `base`.
    pub fn own(instance: InstanceId, module: usize, template: Template, base: usize) -> Descriptor {
        let image = (base + template.at) as *const u8;
        Descriptor::Own(Own { instance: instance.0, module, template, image, block: AtomicPtr::new(ptr::null_mut()) })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let block = *self.block.get_mut();
        if !block.is_null() {
            // SAFETY: the instance ends, so nothing of it runs.
            unsafe { self.template.free(block) }
        }
    }
}

/// What a program passes: the two slots that `DTPMOD64` and `DTPOFF64` fill.
#[repr(C)]
pub(super) struct Index {
    descriptor: *const Descriptor,
    offset: usize,
}

impl Index {
    /// What a program passes for the variable at `offset` of a descriptor's, which outlives it.
    pub fn new(descriptor: *const Descriptor, offset: usize) -> Index {
        Index { descriptor, offset }
    }
}

// SAFETY: the descriptor may be used from any thread, and lives as long as the instance that owns both.
unsafe impl Send for Index {}
// SAFETY: as above.
unsafe impl Sync for Index {}

/// `__tls_get_addr` of the programs.
///
/// # Safety
/// `index` is a pair of slots that the loader has filled.
pub(super) unsafe extern "C" fn address(index: *const Index) -> *mut u8 {
    // SAFETY: the descriptor lives as long as the instance that calls.
    let (descriptor, offset) = unsafe { (&*(*index).descriptor, (*index).offset) };
    let block = match descriptor {
        Descriptor::Own(own) if own.instance == RUNNING.get() => {
            let block = own.block.load(Ordering::Relaxed);
            if block.is_null() { first_of_rank(own) } else { block }
        }
        Descriptor::Own(own) => of_thread(own),
        // SAFETY: the library stays open.
        Descriptor::Shared { library, name } => unsafe { libc::dlsym(library.0, name.as_ptr()).cast() },
        Descriptor::None => ptr::null_mut(),
    };
    block.wrapping_add(offset)
}

/// The address of a variable of the rank that runs, where it is known already; else null. Works with general registers
/// and, of the others, with the lower halves of the first sixteen at most.
unsafe extern "C" fn known_address(index: *const Index) -> *mut u8 {
    // SAFETY: as of `address`.
    let (descriptor, offset) = unsafe { (&*(*index).descriptor, (*index).offset) };
    match descriptor {
        Descriptor::Own(own) if own.instance == RUNNING.get() => {
            let block = own.block.load(Ordering::Relaxed);
            if block.is_null() { block } else { block.wrapping_add(offset) }
        }
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" {
    /// What descriptors of thread-local storage (`-mtls-dialect=gnu2`) have called: with the descriptor's address in
    /// `rax` it gives the distance from the thread pointer to the variable there, and keeps all other registers.
    pub(super) fn mcpsim_tls_distance();
}

// The descriptor's second word is the address of an `Index`. The registers that C functions may change are kept: the
// general ones and sixteen vectors' lower halves first; all of them (`xsave`) where more than a look-up is to be done.
std::arch::global_asm!(
    ".pushsection .text.mcpsim_tls_distance, \"ax\", @progbits",
    ".globl mcpsim_tls_distance",
    ".hidden mcpsim_tls_distance",
    ".type mcpsim_tls_distance, @function",
    "mcpsim_tls_distance:",
    "push rbp",
    "mov rbp, rsp",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push rbx",
    "mov rbx, [rax + 8]",
    "and rsp, -64",
    "sub rsp, 256",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "movaps [rsp + 16 * \\n], xmm\\n",
    ".endr",
    "mov rdi, rbx",
    "call {known}",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "movaps xmm\\n, [rsp + 16 * \\n]",
    ".endr",
    "test rax, rax",
    "jnz 2f",
    // The area of `xsave`: its header must be zero. Its size is told by cpuid.
    "mov rdi, rbx",
    "mov eax, 13",
    "xor ecx, ecx",
    "cpuid",
    "sub rsp, rbx",
    "and rsp, -64",
    "mov rbx, rdi",
    "xor eax, eax",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7",
    "mov [rsp + 512 + 8 * \\n], rax",
    ".endr",
    "mov eax, -1",
    "mov edx, -1",
    "xsave64 [rsp]",
    "mov rdi, rbx",
    "call {address}",
    "mov rcx, rax",
    "mov eax, -1",
    "mov edx, -1",
    "xrstor64 [rsp]",
    "mov rax, rcx",
    "2:",
    "sub rax, fs:[0]",
    "lea rsp, [rbp - 72]",
    "pop rbx",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop rcx",
    "pop rbp",
    "ret",
    ".size mcpsim_tls_distance, . - mcpsim_tls_distance",
    ".popsection",
    known = sym known_address,
    address = sym address,
);

/// The address of the variable at `offset` of a module's.
pub(super) fn address_in(descriptor: &Descriptor, offset: usize) -> *mut u8 {
    // SAFETY: the descriptor is there.
    unsafe { address(&Index { descriptor, offset }) }
}

#[cold]
fn first_of_rank(own: &Own) -> *mut u8 {
    // SAFETY: the image belongs to the instance, which is alive as it calls.
    let block = unsafe { own.template.allocate(own.image) };
    own.block.store(block, Ordering::Relaxed);
    block
}

/// A block with what it was made from.
type Block = (*mut u8, Template);

/// What a thread has of instances.
#[derive(Default)]
struct Thread {
    /// By instance and module.
    blocks: RefCell<HashMap<(u64, usize), Block>>,
    exits: RefCell<Vec<(InstanceId, ExitFunction)>>,
}

/// Runs at the thread's end.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let thread = THREAD.get();
        if thread.is_null() {
            return;
        }
        // SAFETY: made by `thread` below from a box; nothing else frees it.
        let kept = unsafe { &*thread };
        // Destructors may use variables, and register further destructors.
        while let Some((instance, exit)) = { kept.exits.borrow_mut().pop() } {
            if loaded::is_alive(instance) {
                // SAFETY: the instance that registered it is there.
                unsafe { exit.run(0) }
            }
        }
        THREAD.set(ptr::null_mut());
        // SAFETY: as above; no reference is left.
        for (block, template) in unsafe { Box::from_raw(thread) }.blocks.take().into_values() {
            // SAFETY: from `allocate` of the same template.
            unsafe { template.free(block) }
        }
    }
}

/// What this thread has; lives to the thread's end.
fn thread() -> &'static Thread {
    if THREAD.get().is_null() {
        THREAD.set(Box::into_raw(Box::default()));
        // A use of it has its destructor registered; fails when the thread is ending, and then what was made is leaked.
        let _ = END.try_with(|_| ());
    }
    // SAFETY: not freed before the thread's end.
    unsafe { &*THREAD.get() }
}

#[inline(never)]
fn of_thread(own: &Own) -> *mut u8 {
    let mut blocks = thread().blocks.borrow_mut();
    let entry = blocks.entry((own.instance, own.module));
    // SAFETY: the image belongs to the instance, which is alive as it calls.
    entry.or_insert_with(|| (unsafe { own.template.allocate(own.image) }, own.template)).0
}

/// Has `exit` run when this thread ends, if the instance is still there.
pub(super) fn at_thread_end(instance: InstanceId, exit: ExitFunction) {
    thread().exits.borrow_mut().push((instance, exit));
}
