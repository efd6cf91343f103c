//! Thread-local storage of programs.
//!
//! A program asks `__tls_get_addr` for the address of a variable, with a pointer to the [`Descriptor`] of the module and an
//! offset. A rank's own variables follow it from host thread to host thread: they belong to the instance. A thread that the
//! program started itself has a block a module, until it ends.
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
