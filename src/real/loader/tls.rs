//! Thread-local storage of programs.
//!
//! A program calls `__tls_get_addr` for the address of a variable, with a pointer to the [`Descriptor`] of the module
//! and an offset. Variables of a rank belong to the instance and follow the rank between host threads. A thread created
//! by the program has one block per module until it ends.
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

/// Identifier of an instance, unique in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub(super) u64);

impl InstanceId {
    pub(super) fn next() -> InstanceId {
        static LAST: AtomicU64 = AtomicU64::new(0);
        InstanceId(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

thread_local! {
    /// The instance whose rank runs on this thread, or 0.
    static RUNNING: Cell<u64> = const { Cell::new(0) };
    /// Blocks of this thread for instances that it does not run as their rank; null at first and after the end of the
    /// thread.
    static THREAD: Cell<*mut Thread> = const { Cell::new(ptr::null_mut()) };
    static END: End = const { End };
}

/// Sets the instance whose rank runs on this thread. Must be called whenever a rank's fiber is resumed or suspended.
// Not inlined: a fiber may continue on another thread, where a cached address of a thread-local variable would be
// wrong.
#[inline(never)]
pub fn set_main(instance: Option<InstanceId>) {
    RUNNING.set(instance.map_or(0, |id| id.0));
}

/// Returns the instance whose rank runs on this thread.
#[inline(never)]
pub fn main_instance() -> Option<InstanceId> {
    Some(InstanceId(RUNNING.get())).filter(|id| id.0 != 0)
}

/// Thread-local variables of a module, as described by its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    pub size: usize,
    pub align: usize,
    /// Address of the first variable modulo `align`.
    pub skew: usize,
    /// Offset of the initial values in an instance.
    pub at: usize,
    pub filled: usize,
}

impl Template {
    fn layout(&self) -> Layout {
        // Both values were checked when the file was opened.
        Layout::from_size_align(self.size + self.skew, self.align).unwrap_or(Layout::new::<u64>())
    }

    /// Allocates a block.
    ///
    /// # Safety
    /// The initial values of the instance are at `image`.
    unsafe fn allocate(&self, image: *const u8) -> *mut u8 {
        // SAFETY: the size is not zero because the module has variables, and the initial values fit into the block.
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

    /// Frees a block.
    ///
    /// # Safety
    /// `first` is from [`Template::allocate`] of an equal template and is not used any more.
    unsafe fn free(&self, first: *mut u8) {
        // SAFETY: the block starts `skew` bytes before `first` and was allocated with this layout.
        unsafe { alloc::dealloc(first.sub(self.skew), self.layout()) }
    }
}

/// Target of a `DTPMOD64` slot.
pub(super) enum Descriptor {
    /// A module of an instance.
    Own(Own),
    /// A variable of a shared library, with one copy per host thread.
    Shared { library: Shared, name: CString },
    /// A module without thread-local variables. No slot points to it.
    None,
}

pub(super) struct Own {
    instance: u64,
    module: usize,
    template: Template,
    image: *const u8,
    /// Block of the rank; null until the first access.
    block: AtomicPtr<u8>,
}

// SAFETY: `image` is only read, and lives as long as the instance that owns the descriptor.
unsafe impl Send for Descriptor {}
// SAFETY: `image` is only read, and the other fields are atomic or constant.
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
            // SAFETY: the instance ends, so none of its code runs.
            unsafe { self.template.free(block) }
        }
    }
}

/// Argument of `__tls_get_addr`: the two slots filled by `DTPMOD64` and `DTPOFF64`.
#[repr(C)]
pub(super) struct Index {
    descriptor: *const Descriptor,
    offset: usize,
}

impl Index {
    /// Creates the argument for the variable at `offset`. The descriptor must outlive it.
    pub fn new(descriptor: *const Descriptor, offset: usize) -> Index {
        Index { descriptor, offset }
    }
}

// SAFETY: the descriptor may be used from any thread, and lives as long as the instance that owns both.
unsafe impl Send for Index {}
// SAFETY: the descriptor may be used from any thread, and lives as long as the instance that owns both.
unsafe impl Sync for Index {}

/// `__tls_get_addr` of programs.
///
/// # Safety
/// `index` is a pair of slots filled by the loader.
pub(super) unsafe extern "C" fn address(index: *const Index) -> *mut u8 {
    // SAFETY: the loader filled the slots, and the descriptor lives as long as the calling instance.
    let (descriptor, offset) = unsafe { (&*(*index).descriptor, (*index).offset) };
    let block = match descriptor {
        Descriptor::Own(own) if own.instance == RUNNING.get() => {
            let block = own.block.load(Ordering::Relaxed);
            if block.is_null() { first_of_rank(own) } else { block }
        }
        Descriptor::Own(own) => of_thread(own),
        // SAFETY: the library remains open, and the name has a final zero.
        Descriptor::Shared { library, name } => unsafe { libc::dlsym(library.0, name.as_ptr()).cast() },
        Descriptor::None => ptr::null_mut(),
    };
    block.wrapping_add(offset)
}

/// Returns the address of a variable of the running rank, or null if its block does not exist yet. Uses only general
/// registers and the lower halves of the first 16 vector registers.
unsafe extern "C" fn known_address(index: *const Index) -> *mut u8 {
    // SAFETY: the loader filled the slots, and the descriptor lives as long as the calling instance.
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
    /// Function called by descriptors of thread-local storage (`-mtls-dialect=gnu2`). `rax` contains the address of the
    /// descriptor. The function returns the distance from the thread pointer to the variable and preserves all other
    /// registers.
    pub(super) fn mcpsim_tls_distance();
}

// The second word of the descriptor is the address of an `Index`. The fast path saves the caller-saved general
// registers and the lower halves of 16 vector registers. The slow path saves all registers (`xsave`).
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
    // The header of the `xsave` area must be zero. `cpuid` returns the size of the area.
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

/// Returns the address of the variable at `offset` of a module.
pub(super) fn address_in(descriptor: &Descriptor, offset: usize) -> *mut u8 {
    // SAFETY: the descriptor is a valid reference.
    unsafe { address(&Index { descriptor, offset }) }
}

#[cold]
fn first_of_rank(own: &Own) -> *mut u8 {
    // SAFETY: the image belongs to the instance, which is alive as it calls.
    let block = unsafe { own.template.allocate(own.image) };
    own.block.store(block, Ordering::Relaxed);
    block
}

/// A block and its template.
type Block = (*mut u8, Template);

/// State of a thread for instances.
#[derive(Default)]
struct Thread {
    /// Blocks by instance and module.
    blocks: RefCell<HashMap<(u64, usize), Block>>,
    exits: RefCell<Vec<(InstanceId, ExitFunction)>>,
}

/// Destructor that runs at the end of the thread.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let thread = THREAD.get();
        if thread.is_null() {
            return;
        }
        // SAFETY: `thread` below created the pointer from a box, and only this function frees it.
        let kept = unsafe { &*thread };
        // Destructors may use variables and register further destructors.
        while let Some((instance, exit)) = { kept.exits.borrow_mut().pop() } {
            if loaded::is_alive(instance) {
                // SAFETY: the instance that registered it is mapped.
                unsafe { exit.run(0) }
            }
        }
        THREAD.set(ptr::null_mut());
        // SAFETY: `thread` below created the pointer from a box, and no reference is left.
        for (block, template) in unsafe { Box::from_raw(thread) }.blocks.take().into_values() {
            // SAFETY: the block was allocated by an equal template.
            unsafe { template.free(block) }
        }
    }
}

/// Returns the state of this thread, which lives until the thread ends.
fn thread() -> &'static Thread {
    if THREAD.get().is_null() {
        THREAD.set(Box::into_raw(Box::default()));
        // The access registers the destructor. It fails while the thread ends, and then the state is leaked.
        let _ = END.try_with(|_| ());
    }
    // SAFETY: the state is not freed before the end of the thread.
    unsafe { &*THREAD.get() }
}

#[inline(never)]
fn of_thread(own: &Own) -> *mut u8 {
    let mut blocks = thread().blocks.borrow_mut();
    let entry = blocks.entry((own.instance, own.module));
    // SAFETY: the image belongs to the instance, which is alive as it calls.
    entry.or_insert_with(|| (unsafe { own.template.allocate(own.image) }, own.template)).0
}

/// Registers `exit` for the end of this thread. It runs if the instance is still mapped.
pub(super) fn at_thread_end(instance: InstanceId, exit: ExitFunction) {
    thread().exits.borrow_mut().push((instance, exit));
}
