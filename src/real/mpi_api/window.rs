//! MPI windows of a rank (MPI-3.1, chapter 11). Other ranks access the memory of a window by messages. The simulator
//! serves the messages at the target rank without the target's program.
//!
//! Operations of an origin rank are messages in the message context [`mcpsim_core::rank::SERVICE`]. The module `wire`
//! defines the format of the messages, and `origin` sends the messages. The module `target` applies operations to the
//! target's memory and answers with ordinary messages in the message context of the window. The module `epoch` checks
//! access and exposure epochs. The module `make` creates windows.

mod conflicts;
mod epoch;
mod make;
mod origin;
mod target;
mod wire;

pub use epoch::Access;
pub use make::{Flavor, WindowSize, make_dynamic, make_shared, make_window};
pub use origin::{Back, CheckedOperation, OriginMemory};
pub use target::serve;
pub use wire::TargetOperation;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;

use crate::mpi_api::attribute::Attributes;
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::handles::{HandleKind, HandleTable};
use crate::mpi_api::process::MpiProcess;
use crate::process::GivenMemory;
use mcpsim_core::mpi::abi::{self, Aint, Handle};
use mcpsim_core::mpi::info::Info;
use mcpsim_core::rank::{CARRIED, Context};
use origin::Origin;
use target::Exposed;

/// State of an MPI window at one rank of the window.
#[derive(Debug)]
pub struct Window {
    pub handle: Handle,
    /// Communicator of the window's ranks. Answers of targets and collectives of the window use the message contexts
    /// of this communicator.
    pub comm: Rc<Comm>,
    /// Address of the rank's memory in the window (MPI_WIN_BASE).
    pub base: *mut u8,
    /// Size of the rank's window memory in bytes (MPI_WIN_SIZE).
    pub size: Aint,
    /// Unit of displacements in the rank's window memory, in bytes (MPI_WIN_DISP_UNIT).
    pub unit: c_int,
    /// Function that created the window (MPI_WIN_CREATE_FLAVOR).
    pub flavor: c_int,
    /// Memory model of the window (MPI_WIN_MODEL).
    pub model: c_int,
    /// Size and displacement unit of every rank's window memory, or `None` if the ranks have different values.
    everywhere: Option<WindowSize>,
    /// Address, size and displacement unit of each rank's window memory, for windows in shared memory.
    pub shared: Vec<(*mut u8, WindowSize)>,
    /// Window memory of the rank as declared when the window was created, for crash reports.
    given: GivenMemory,
    /// Memory that was allocated with the window. MPI_Win_free frees the memory.
    memory: RefCell<Option<make::WindowMemory>>,
    origin: RefCell<Origin>,
    exposed: RefCell<Exposed>,
    pub name: RefCell<String>,
    pub info: RefCell<Info>,
}

impl Window {
    /// Returns the predefined attributes of the window. The attribute values are addresses, as MPI_Win_get_attr
    /// returns the values (MPI-3.1, section 11.2.6).
    fn predefined(&self) -> Attributes {
        vec![
            (abi::MPI_WIN_BASE, self.base as usize),
            (abi::MPI_WIN_SIZE, &raw const self.size as usize),
            (abi::MPI_WIN_DISP_UNIT, &raw const self.unit as usize),
            (abi::MPI_WIN_CREATE_FLAVOR, &raw const self.flavor as usize),
            (abi::MPI_WIN_MODEL, &raw const self.model as usize),
        ]
    }

    /// Returns the identifier of the window, which is the same on all ranks of the window.
    fn number(&self) -> u32 {
        self.comm.local.id()
    }

    /// Returns the message context in which targets of the window answer.
    fn context(&self) -> Context {
        CARRIED | self.comm.context()
    }

    /// Creates an error of the class `class` that is assigned to the window.
    pub fn error(&self, class: c_int, what: impl Into<String>) -> MpiError {
        MpiError::new(class, what).on_win(self.handle)
    }

    /// Converts a rank argument to a rank of the window's group. The rank is `None` if the argument is MPI_PROC_NULL.
    ///
    /// # Errors
    /// MPI_ERR_RANK if the rank is outside the window's group.
    pub fn target(&self, rank: c_int) -> MpiResult<Option<u32>> {
        if rank == abi::MPI_PROC_NULL {
            return Ok(None);
        }
        let size = self.comm.size();
        u32::try_from(rank).ok().filter(|&rank| rank < size).map(Some).ok_or_else(|| {
            let what = format!("target rank {rank}: expected 0 to {}, a rank of {}", size - 1, self.describe());
            self.error(abi::MPI_ERR_RANK, what)
        })
    }

    /// Returns the name of the window for messages to the user.
    pub fn describe(&self) -> String {
        let name = self.name.borrow();
        if name.is_empty() { format!("window {:#x}", self.handle) } else { name.clone() }
    }
}

/// Table of a rank's windows.
#[derive(Debug)]
pub struct Windows {
    pub table: HandleTable<Rc<Window>>,
    /// Windows by window identifier, which messages of one-sided operations contain.
    numbers: HashMap<u32, Rc<Window>>,
}

impl Default for Windows {
    fn default() -> Self {
        Windows { table: HandleTable::new(HandleKind::Win), numbers: HashMap::new() }
    }
}

impl MpiProcess {
    /// Returns the window of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_WIN if the handle is not a valid window.
    pub fn window(&self, handle: Handle) -> MpiResult<Rc<Window>> {
        self.windows.borrow().table.get(handle).cloned().ok_or_else(|| {
            let what = match handle {
                abi::MPI_WIN_NULL => "the window is MPI_WIN_NULL".to_owned(),
                _ => format!("{handle:#x} is no handle of a window"),
            };
            MpiError::new(abi::MPI_ERR_WIN, what)
        })
    }
}
