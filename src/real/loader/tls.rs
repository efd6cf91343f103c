//! Thread-local storage of simulated programs.
//!
//! A program calls `__tls_get_addr` for the address of a thread-local variable, with a pointer to the [`Descriptor`] of
//! the module and an offset. The variables of a rank belong to the rank's instance, and the rank uses them on every
//! host thread. A thread that the program creates has one block of variables per module until the thread ends.
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

/// Identifier of a program instance, unique in the host process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub(super) u64);

impl InstanceId {
    pub(super) fn next() -> InstanceId {
        static LAST: AtomicU64 = AtomicU64::new(0);
        InstanceId(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

thread_local! {
    /// Identifier of the program instance whose rank runs on the current host thread, or 0 if no rank runs.
    static RUNNING: Cell<u64> = const { Cell::new(0) };
    /// The host thread's blocks of variables for instances whose rank does not run on the host thread. The pointer to
    /// the blocks is null before the first use and after the thread's destructors have run.
    static THREAD: Cell<*mut Thread> = const { Cell::new(ptr::null_mut()) };
    static END: End = const { End };
}

/// Sets the instance whose rank runs on the current host thread. The caller must set the instance whenever a rank's
/// fiber is resumed or suspended.
// `set_main` is not inlined, because a fiber may continue on another host thread, where a cached address of a
// thread-local variable would be wrong.
#[inline(never)]
pub fn set_main(instance: Option<InstanceId>) {
    RUNNING.set(instance.map_or(0, |id| id.0));
}

/// Returns the instance whose rank runs on the current host thread.
#[inline(never)]
pub fn main_instance() -> Option<InstanceId> {
    Some(InstanceId(RUNNING.get())).filter(|id| id.0 != 0)
}

/// Size, alignment and initial values of a module's thread-local variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    pub size: usize,
    pub align: usize,
    /// Address of the module's first thread-local variable modulo `align`.
    pub skew: usize,
    /// Offset of the initial values in an instance, in bytes.
    pub at: usize,
    pub filled: usize,
}

impl Template {
    fn layout(&self) -> Layout {
        // The size and the alignment of the block were checked when the file was opened.
        Layout::from_size_align(self.size + self.skew, self.align).unwrap_or(Layout::new::<u64>())
    }

    /// Allocates a block of thread-local variables with their initial values.
    ///
    /// # Safety
    /// `image` points to the initial values of the module's thread-local variables.
    unsafe fn allocate(&self, image: *const u8) -> *mut u8 {
        // SAFETY: the size of the block is not zero, because the module has thread-local variables. The caller
        // guarantees that `image` points to the initial values, which fit into the block.
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

    /// Frees a block of thread-local variables.
    ///
    /// # Safety
    /// [`Template::allocate`] with equal size and alignment returned `first`, and no code uses the block any more.
    unsafe fn free(&self, first: *mut u8) {
        // SAFETY: the caller guarantees that `allocate` returned `first`, so the block starts `skew` bytes before
        // `first` and has the layout of the template.
        unsafe { alloc::dealloc(first.sub(self.skew), self.layout()) }
    }
}

/// Descriptor of a module's thread-local variables. A `DTPMOD64` relocation stores a pointer to the descriptor in the
/// module.
pub(super) enum Descriptor {
    /// A module of a program instance.
    Own(Own),
    /// A variable of a shared library. Each host thread has one copy of the shared library's variable.
    Shared { library: Shared, name: CString },
    /// A module without thread-local variables. No relocation refers to such a module.
    None,
}

pub(super) struct Own {
    instance: u64,
    module: usize,
    template: Template,
    image: *const u8,
    /// Address of the rank's block of thread-local variables. The block is allocated at the first access, and the
    /// address is null before.
    block: AtomicPtr<u8>,
}

// SAFETY: the memory at `image` is only read, and lives as long as the instance that owns the descriptor.
unsafe impl Send for Descriptor {}
// SAFETY: the memory at `image` is only read, and the other fields are atomic or constant.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    /// Creates the descriptor of a module of the instance at `base`.
    pub fn own(instance: InstanceId, module: usize, template: Template, base: usize) -> Descriptor {
        let image = (base + template.at) as *const u8;
        Descriptor::Own(Own { instance: instance.0, module, template, image, block: AtomicPtr::new(ptr::null_mut()) })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let block = *self.block.get_mut();
        if !block.is_null() {
            // SAFETY: the instance is being dropped, so none of the instance's code runs and no pointer into the
            // block is used.
            unsafe { self.template.free(block) }
        }
    }
}

/// Argument of `__tls_get_addr`: the two words that the relocations `DTPMOD64` and `DTPOFF64` fill.
#[repr(C)]
pub(super) struct Index {
    descriptor: *const Descriptor,
    offset: usize,
}

impl Index {
    /// Creates the argument of `__tls_get_addr` for the variable at `offset`. The descriptor must outlive the
    /// argument.
    pub fn new(descriptor: *const Descriptor, offset: usize) -> Index {
        Index { descriptor, offset }
    }
}

// SAFETY: the descriptor may be used from any thread. The instance owns the descriptor and the argument, so
// descriptor and argument live equally long.
unsafe impl Send for Index {}
// SAFETY: the descriptor may be used from any thread. The instance owns the descriptor and the argument, so
// descriptor and argument live equally long.
unsafe impl Sync for Index {}

/// `__tls_get_addr` of programs: returns the address of a thread-local variable.
///
/// # Safety
/// `index` points to two words that the loader filled with a descriptor and an offset.
pub(super) unsafe extern "C" fn address(index: *const Index) -> *mut u8 {
    // SAFETY: the caller guarantees that the loader filled the two words at `index`. The descriptor lives as long as
    // the calling instance.
    let (descriptor, offset) = unsafe { (&*(*index).descriptor, (*index).offset) };
    let block = match descriptor {
        Descriptor::Own(own) if own.instance == RUNNING.get() => {
            let block = own.block.load(Ordering::Relaxed);
            if block.is_null() { first_of_rank(own) } else { block }
        }
        Descriptor::Own(own) => of_thread(own),
        // SAFETY: the shared library is never closed, and the name is zero-terminated.
        Descriptor::Shared { library, name } => unsafe { libc::dlsym(library.0, name.as_ptr()).cast() },
        Descriptor::None => ptr::null_mut(),
    };
    block.wrapping_add(offset)
}

/// Returns the address of a thread-local variable of the running rank, or null if the rank's block of variables does
/// not exist yet. `known_address` uses only general registers and the lower halves of the first 16 vector registers.
unsafe extern "C" fn known_address(index: *const Index) -> *mut u8 {
    // SAFETY: the caller guarantees that the loader filled the two words at `index`. The descriptor lives as long as
    // the calling instance.
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
    /// Function whose address is the first word of a descriptor of thread-local storage (`-mtls-dialect=gnu2`). The
    /// register `rax` contains the address of the descriptor. `mcpsim_tls_distance` returns the distance from the
    /// thread pointer to the variable and preserves all other registers.
    pub(super) fn mcpsim_tls_distance();
}

// The second word of the descriptor is the address of an `Index`. The fast path calls `known_address` and saves only
// the caller-saved general registers and the lower halves of 16 vector registers. The slow path calls `address` and
// saves all registers (`xsave`).
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
    // The header of the `xsave` area must be zero. `cpuid` returns the size of the `xsave` area.
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

/// Returns the address of the thread-local variable at `offset` in the module's block for the calling thread.
pub(super) fn address_in(descriptor: &Descriptor, offset: usize) -> *mut u8 {
    // SAFETY: `descriptor` is a valid reference, and its module has a block of variables that contains `offset`.
    unsafe { address(&Index { descriptor, offset }) }
}

#[cold]
fn first_of_rank(own: &Own) -> *mut u8 {
    // SAFETY: the initial values belong to the calling instance, which is therefore mapped.
    let block = unsafe { own.template.allocate(own.image) };
    own.block.store(block, Ordering::Relaxed);
    block
}

/// Address of a block of thread-local variables, and the template that allocated the block.
type Block = (*mut u8, Template);

/// Thread-local variables of one host thread for all instances.
#[derive(Default)]
struct Thread {
    /// Blocks of thread-local variables by instance identifier and module index.
    blocks: RefCell<HashMap<(u64, usize), Block>>,
    exits: RefCell<Vec<(InstanceId, ExitFunction)>>,
}

/// Thread-local value whose destructor frees the thread's blocks when the thread ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let thread = THREAD.get();
        if thread.is_null() {
            return;
        }
        // SAFETY: the function `thread` created the pointer from a box, and only this destructor frees the box.
        let kept = unsafe { &*thread };
        // Destructors of thread-local objects may use thread-local variables and may register further destructors.
        while let Some((instance, exit)) = { kept.exits.borrow_mut().pop() } {
            if loaded::is_alive(instance) {
                // SAFETY: the instance that registered the destructor is mapped, as checked above.
                unsafe { exit.run(0) }
            }
        }
        THREAD.set(ptr::null_mut());
        // SAFETY: the function `thread` created the pointer from a box, and no reference to the box is used any more.
        for (block, template) in unsafe { Box::from_raw(thread) }.blocks.take().into_values() {
            // SAFETY: an equal template allocated the block, and the thread ends, so no code uses the block.
            unsafe { template.free(block) }
        }
    }
}

/// Returns the thread-local variables of the current host thread. The returned state lives until the host thread
/// ends.
fn thread() -> &'static Thread {
    if THREAD.get().is_null() {
        THREAD.set(Box::into_raw(Box::default()));
        // The access of `END` registers the destructor of `End`. While the thread ends, the access fails and the
        // state is leaked.
        let _ = END.try_with(|_| ());
    }
    // SAFETY: `THREAD` was set above, and the thread's variables are not freed before the thread ends.
    unsafe { &*THREAD.get() }
}

#[inline(never)]
fn of_thread(own: &Own) -> *mut u8 {
    let mut blocks = thread().blocks.borrow_mut();
    let entry = blocks.entry((own.instance, own.module));
    // SAFETY: the initial values belong to the calling instance, which is therefore mapped.
    entry.or_insert_with(|| (unsafe { own.template.allocate(own.image) }, own.template)).0
}

/// Registers the exit handler `exit` for the end of the current host thread. The exit handler runs only if the
/// instance is still mapped when the thread ends.
pub(super) fn at_thread_end(instance: InstanceId, exit: ExitFunction) {
    thread().exits.borrow_mut().push((instance, exit));
}
