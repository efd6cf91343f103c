//! Creates windows. The ranks of a new window agree on the window's properties, and the window memory is allocated.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

use super::{Exposed, Origin, Window};
use crate::mpi_api::attribute::OfWindow;
use crate::mpi_api::collective::{BufferShape as Blocks, CollectivePart, CollectivePlan, Combine, DataMover, Region};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult, expect};
use crate::mpi_api::process::MpiProcess;
use crate::process::job::MOST_COMMS;
use crate::process::{GivenMemory, bytes, heap};
use mcpsim_core::mpi::Sizes;
use mcpsim_core::mpi::abi::{self, Aint, Handle};
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::op::Builtin;
use mcpsim_core::platform::Collective;
use mcpsim_core::units::Bytes;

/// Alignment of window memory in bytes. The alignment is the size of a cache line.
const ALIGNMENT: usize = 64;
/// Alignment in bytes that `calloc` guarantees.
const CALLOC_ALIGNMENT: usize = 16;

/// Returns the current MPI function of `p` if the heap is checked (`--check-heap`).
fn guarded(p: &MpiProcess) -> Option<&'static str> {
    p.job.options.checks.heap.then_some(p.function.get())
}

/// Size of a rank's window memory, and unit of displacements. The size and the unit are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    pub size: Aint,
    pub unit: c_int,
}

impl WindowSize {
    /// Converts `displacement` to an offset in bytes from the base of the window memory. The accessed bytes are
    /// `first..end`, relative to the displacement. Returns an error text if the accessed bytes are not within the
    /// window memory.
    pub fn place(&self, displacement: i64, (first, end): (i64, i64)) -> Result<isize, String> {
        let place = || {
            let at = displacement.checked_mul(i64::from(self.unit))?;
            let (from, to) = (at.checked_add(first)?, at.checked_add(end)?);
            (first == end || (from >= 0 && to <= self.size as i64)).then_some(at as isize)
        };
        place().ok_or_else(|| {
            let bytes = end - first;
            format!("{bytes} bytes from byte {first} on, in units of {}, of {} bytes", self.unit, self.size)
        })
    }
}

/// Origin of the memory of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// The program provides the window memory at the address in the field.
    Create(*mut u8),
    /// The window memory is allocated with the window.
    Allocate,
}

/// Memory that was allocated with a window. The C library allocates the memory, as for MPI_Alloc_mem.
#[derive(Debug)]
pub struct WindowMemory {
    base: *mut u8,
    start: *mut u8,
    layout: Layout,
    /// True if the window memory is a block of the checked heap.
    guarded: bool,
}

impl WindowMemory {
    /// Allocates `size` bytes of window memory, filled with zeros. If `guarded` contains the name of an MPI function,
    /// the memory is a block of the checked heap.
    fn new(size: usize, guarded: Option<&'static str>) -> MpiResult<Self> {
        let failed = || MpiError::new(abi::MPI_ERR_NO_MEM, format!("no room for a window of {size} bytes"));
        let room = size.max(1).checked_add(ALIGNMENT).ok_or_else(failed)?;
        // With a larger alignment, the allocator would write zeros to all pages, which would use memory.
        let layout = Layout::from_size_align(room, CALLOC_ALIGNMENT).map_err(|_| failed())?;
        let start = match guarded {
            Some(function) => heap::allocate(function, size, ALIGNMENT).cast(),
            // SAFETY: the layout has a nonzero size.
            None => unsafe { System.alloc_zeroed(layout) },
        };
        let guarded = guarded.is_some();
        if start.is_null() {
            return Err(failed());
        }
        Ok(WindowMemory { base: start.wrapping_add(start.align_offset(ALIGNMENT)), start, layout, guarded })
    }
}

impl Drop for WindowMemory {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory with the corresponding function and with the same layout.
        unsafe {
            match self.guarded {
                true => heap::release("MPI_Win_free", self.start.cast()),
                false => System.dealloc(self.start, self.layout),
            }
        }
    }
}

fn integer() -> Type {
    Datatype::named(abi::MPI_INT64_T).expect("a named datatype").clone()
}

/// Returns the maximum of each element of `values` over all ranks of `comm`.
fn agree<const N: usize>(p: &MpiProcess, comm: &Rc<Comm>, values: [i64; N]) -> MpiResult<[i64; N]> {
    let (mut mine, mut all) = (values, [0; N]);
    let region = |values: &mut [i64; N]| Region::new(values.as_mut_ptr().cast(), integer(), Blocks::Whole(N));
    let (input, output) = (region(&mut mine), region(&mut all));
    let mover = DataMover::combining(input, output, Combine::Builtin(Builtin::Max), N, abi::MPI_INT64_T);
    let sizes = Sizes::Same(bytes(8 * N));
    let part = CollectivePart { collective: Collective::Allreduce, comm: comm.clone(), root: 0, sizes, mover };
    CollectivePlan::from(part).block_with_data(p)?;
    Ok(all)
}

/// Returns the elements of `values` of all ranks of `comm` in rank order.
fn gather<const N: usize>(p: &MpiProcess, comm: &Rc<Comm>, values: [i64; N]) -> MpiResult<Vec<[i64; N]>> {
    let mut mine = values;
    let mut all = vec![[0; N]; comm.size() as usize];
    let input = Region::new(mine.as_mut_ptr().cast(), integer(), Blocks::Only(comm.rank(), N));
    let output = Region::new(all.as_mut_ptr().cast(), integer(), Blocks::Blocks(N));
    let (sizes, mover) = (Sizes::Same(bytes(8 * N)), DataMover::new(input, output));
    let part = CollectivePart { collective: Collective::Allgather, comm: comm.clone(), root: 0, sizes, mover };
    CollectivePlan::from(part).block_with_data(p)?;
    Ok(all)
}

/// Synchronises all ranks of the communicator `comm`.
pub fn barrier(p: &MpiProcess, comm: &Rc<Comm>) -> MpiResult {
    let mover = DataMover::new(Region::absent(integer()), Region::absent(integer()));
    let sizes = Sizes::Same(Bytes::ZERO);
    CollectivePlan::from(CollectivePart { collective: Collective::Barrier, comm: comm.clone(), root: 0, sizes, mover })
        .block(p)
}

fn check_shape(shape: WindowSize, comm: &Comm) -> MpiResult {
    let WindowSize { size, unit } = shape;
    expect(size >= 0, abi::MPI_ERR_SIZE, || format!("the window's size is {size} bytes: expected 0 or more"))
        .and_then(|()| {
            expect(unit > 0, abi::MPI_ERR_DISP, || format!("the displacement unit is {unit}: expected 1 or more"))
        })
        .map_err(|error| error.on_comm(comm.handle))
}

/// Properties of a new window on which the ranks of the window have agreed.
struct AgreedWindow {
    comm: Rc<Comm>,
    everywhere: Option<WindowSize>,
}

impl AgreedWindow {
    /// Agrees with the other ranks on the message contexts of the window, and determines whether all ranks have the
    /// same size and displacement unit.
    fn new(p: &MpiProcess, parent: &Rc<Comm>, WindowSize { size, unit }: WindowSize) -> MpiResult<Self> {
        let (size, unit) = (size as i64, i64::from(unit));
        let number = if parent.rank() == 0 { p.new_comm() } else { 0 };
        let mine = [i64::from(number), size, -size, unit, -unit];
        let [number, most, least, greatest, smallest] = agree(p, parent, mine)?;
        expect(number < i64::from(MOST_COMMS), abi::MPI_ERR_OTHER, || {
            format!("the run has created {MOST_COMMS} communicators and windows: expected fewer")
        })
        .map_err(|error| error.on_comm(parent.handle))?;
        let alike = most == -least && greatest == -smallest;
        let local = mcpsim_core::mpi::CommMember::new(number as u32, parent.rank(), parent.local.group().clone());
        let everywhere = alike.then_some(WindowSize { size: most as Aint, unit: greatest as c_int });
        Ok(AgreedWindow { comm: Rc::new(Comm::intra(parent.handle, local)), everywhere })
    }
}

/// Properties of a window before the window is registered.
struct Blank {
    agreed: AgreedWindow,
    base: *mut u8,
    shape: WindowSize,
    flavor: c_int,
    memory: Option<WindowMemory>,
    shared: Vec<(*mut u8, WindowSize)>,
}

impl Blank {
    /// Registers the window at the calling rank. `take_up` returns only after all ranks have registered the window.
    fn take_up(self, p: &MpiProcess) -> MpiResult<Rc<Window>> {
        let Blank { agreed: AgreedWindow { comm, everywhere }, base, shape, flavor, memory, shared } = self;
        let make = |handle| Window {
            handle,
            comm: comm.clone(),
            base,
            size: shape.size,
            unit: shape.unit,
            flavor,
            model: abi::MPI_WIN_UNIFIED,
            everywhere,
            shared,
            given: GivenMemory::new(p, base, shape.size as usize),
            memory: RefCell::new(memory),
            origin: RefCell::new(Origin::default()),
            exposed: RefCell::new(Exposed::default()),
            name: RefCell::default(),
            info: RefCell::default(),
        };
        let window = p.windows.borrow_mut().insert(make);
        let attached = Rc::new(OfWindow::new(window.predefined()));
        p.attributes.windows.borrow_mut().insert(window.handle, attached);
        barrier(p, &comm)?;
        Ok(window)
    }
}

/// Creates a window for MPI_Win_create and MPI_Win_allocate.
///
/// # Errors
/// MPI_ERR_COMM, MPI_ERR_SIZE, MPI_ERR_DISP or MPI_ERR_BASE if the corresponding argument is invalid, and
/// MPI_ERR_NO_MEM if the memory cannot be allocated.
pub fn make_window(p: &MpiProcess, flavor: Flavor, shape: WindowSize, comm: Handle) -> MpiResult<Rc<Window>> {
    let parent = p.intra_comm(comm)?;
    check_shape(shape, &parent)?;
    let (flavor, base, memory) = match flavor {
        Flavor::Create(base) => {
            expect(!base.is_null() || shape.size == 0, abi::MPI_ERR_BASE, || {
                format!("the base is null: expected the address of {} bytes", shape.size)
            })
            .map_err(|error| error.on_comm(comm))?;
            (abi::MPI_WIN_FLAVOR_CREATE, base, None)
        }
        Flavor::Allocate => {
            let memory = WindowMemory::new(shape.size as usize, guarded(p)).map_err(|error| error.on_comm(comm))?;
            (abi::MPI_WIN_FLAVOR_ALLOCATE, memory.base, Some(memory))
        }
    };
    let agreed = AgreedWindow::new(p, &parent, shape)?;
    Blank { agreed, base, shape, flavor, memory, shared: Vec::new() }.take_up(p)
}

/// Creates a window for MPI_Win_create_dynamic.
///
/// # Errors
/// MPI_ERR_COMM if the handle is not a valid communicator.
pub fn make_dynamic(p: &MpiProcess, comm: Handle) -> MpiResult<Rc<Window>> {
    let parent = p.intra_comm(comm)?;
    let shape = WindowSize { size: 0, unit: 1 };
    let mut agreed = AgreedWindow::new(p, &parent, shape)?;
    agreed.everywhere = None;
    let flavor = abi::MPI_WIN_FLAVOR_DYNAMIC;
    Blank { agreed, base: std::ptr::null_mut(), shape, flavor, memory: None, shared: Vec::new() }.take_up(p)
}

/// Creates a window for MPI_Win_allocate_shared. Rank 0 allocates the memory of all ranks. The memory is contiguous
/// unless `apart` is true.
///
/// # Errors
/// The errors of [`make_window`], and MPI_ERR_RMA_SHARED if the window's ranks are on several nodes.
pub fn make_shared(p: &MpiProcess, shape: WindowSize, apart: bool, comm: Handle) -> MpiResult<Rc<Window>> {
    let parent = p.intra_comm(comm)?;
    check_shape(shape, &parent)?;
    let node = |rank: u32| p.job.sites[rank as usize].node;
    if let Some(stranger) = parent.local.group().ranks().find(|&rank| node(rank) != node(p.rank)) {
        let what = format!(
            "ranks of {} are on node {} and on node {}: expected one node, as of MPI_COMM_TYPE_SHARED",
            parent.describe(),
            node(p.rank),
            node(stranger)
        );
        return Err(MpiError::new(abi::MPI_ERR_RMA_SHARED, what).on_comm(comm));
    }
    if parent.size() > 1 && p.program().image.is_none() {
        let what = "several ranks cannot share memory if each rank is a process: expected a program built by mcpsim cc";
        return Err(MpiError::new(abi::MPI_ERR_RMA_SHARED, what).on_comm(comm));
    }
    let agreed = AgreedWindow::new(p, &parent, shape)?;
    let mut shared = Vec::new();
    let mut total = 0;
    for [size, unit, apart] in gather(p, &parent, [shape.size as i64, i64::from(shape.unit), i64::from(apart)])? {
        shared.push((total, WindowSize { size: size as Aint, unit: unit as c_int }));
        total += size as usize;
        if apart != 0 {
            total = total.next_multiple_of(ALIGNMENT);
        }
    }
    let memory = if parent.rank() == 0 {
        Some(WindowMemory::new(total, guarded(p)).map_err(|error| error.on_comm(comm))?)
    } else {
        None
    };
    let base = memory.as_ref().map_or(std::ptr::null_mut(), |memory| memory.base);
    // All ranks of a node run in one host process of mcpsim, so the address is valid for all ranks of the window.
    let [base] = agree(p, &parent, [base as i64])?;
    let shared: Vec<(*mut u8, WindowSize)> =
        shared.into_iter().map(|(at, shape)| ((base as usize + at) as *mut u8, shape)).collect();
    let base = shared[parent.rank() as usize].0;
    let window = Blank { agreed, base, shape, flavor: abi::MPI_WIN_FLAVOR_SHARED, memory, shared }.take_up(p)?;
    p.shared_windows.set(p.shared_windows.get() + u32::from(window.is_shared()));
    Ok(window)
}

impl super::Windows {
    fn insert(&mut self, make: impl FnOnce(Handle) -> Window) -> Rc<Window> {
        // The window stores its own handle, which is the next free handle of the window table.
        let handle = self.table.next_handle();
        let window = Rc::new(make(handle));
        self.table.insert(window.clone());
        self.numbers.insert(window.number(), window.clone());
        window
    }
}

impl Window {
    /// MPI_Win_free: synchronises all ranks of the window, then removes the window.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if an epoch is open, and errors that delete functions of attributes return.
    pub fn free(&self, p: &MpiProcess) -> MpiResult {
        self.check_closed()?;
        let attached = p.of_window(self.handle)?;
        p.delete_attributes(self.handle, attached.attributes.take())?;
        self.barrier(p)?;
        p.attributes.windows.borrow_mut().remove(&self.handle);
        let mut windows = p.windows.borrow_mut();
        windows.table.remove(self.handle);
        windows.numbers.remove(&self.number());
        self.memory.take();
        p.shared_windows.set(p.shared_windows.get() - u32::from(self.is_shared()));
        Ok(())
    }

    /// Returns true if other ranks access the window's memory with loads and stores.
    fn is_shared(&self) -> bool {
        self.shared.len() > 1
    }

    /// MPI_Win_attach: attaches `size` bytes at `base` to a dynamic window.
    ///
    /// # Errors
    /// MPI_ERR_RMA_FLAVOR if the window is not dynamic, and MPI_ERR_RMA_ATTACH if the memory overlaps attached memory.
    pub fn attach(&self, base: *mut u8, size: Aint) -> MpiResult {
        self.check_dynamic()?;
        let length = usize::try_from(size).map_err(|_| {
            self.error(abi::MPI_ERR_SIZE, format!("the size of attached memory is {size} bytes: expected 0 or more"))
        })?;
        let start = base as usize;
        let regions = &mut self.exposed.borrow_mut().regions;
        let overlaps = |&(other, room): &(usize, usize)| other < start + length && start < other + room;
        if let Some((other, room)) = regions.iter().copied().find(overlaps) {
            let what = format!("{length} bytes at {start:#x} overlap {room} bytes at {other:#x}, attached already");
            return Err(self.error(abi::MPI_ERR_RMA_ATTACH, what));
        }
        regions.push((start, length));
        Ok(())
    }

    /// MPI_Win_detach: detaches the memory that starts at `base` from a dynamic window.
    ///
    /// # Errors
    /// MPI_ERR_RMA_FLAVOR if the window is not dynamic, and MPI_ERR_BASE if no attached memory starts at `base`.
    pub fn detach(&self, base: *const u8) -> MpiResult {
        self.check_dynamic()?;
        let regions = &mut self.exposed.borrow_mut().regions;
        let at = regions.iter().position(|(start, _)| *start == base as usize).ok_or_else(|| {
            self.error(abi::MPI_ERR_BASE, format!("no memory attached to the window begins at {base:p}"))
        })?;
        regions.swap_remove(at);
        Ok(())
    }

    fn check_dynamic(&self) -> MpiResult {
        expect(self.flavor == abi::MPI_WIN_FLAVOR_DYNAMIC, abi::MPI_ERR_RMA_FLAVOR, || {
            format!("{} has memory of its own: expected a window of MPI_Win_create_dynamic", self.describe())
        })
        .map_err(|error| self.on(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_lies_within_or_is_an_error() {
        let shape = WindowSize { size: 40, unit: 4 };
        assert_eq!(shape.place(3, (0, 28)), Ok(12));
        assert_eq!(shape.place(1, (-4, 4)), Ok(4));
        for (displacement, span) in [(3, (0, 29)), (0, (-1, 4)), (-1, (0, 4)), (i64::MAX, (0, 4)), (10, (0, 1))] {
            assert!(shape.place(displacement, span).is_err(), "{displacement} {span:?}");
        }
        // An empty byte range is valid at any displacement.
        assert!(shape.place(1000, (0, 0)).is_ok());
    }

    #[test]
    fn memory_is_clear_and_aligned() {
        let memory = WindowMemory::new(100, None).unwrap();
        assert_eq!(memory.base as usize % ALIGNMENT, 0);
        // SAFETY: the window memory has 100 initialised bytes.
        assert!(unsafe { std::slice::from_raw_parts(memory.base, 100) }.iter().all(|&byte| byte == 0));
    }
}
