//! A rank from the view of its MPI functions: the `Process` and the objects behind its handles.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::attribute::AttributeKeys;
use super::calls::Matched;
use super::collective::{Combine, UnderWay};
use super::comm::Comm;
use super::error::{MpiError, MpiResult};
use super::handler::Errors;
use super::handles::{HandleKind, HandleTable};
use super::request::Request;
use super::types::Types;
use super::window::{self, Windows};
use crate::process::job::{MOST_COMMS, fatal};
use crate::process::{ComparedArguments, Interface, Process, ProgramMemory, RankStage, current_as};
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::info::Info;
use mcpsim_core::rank::{Buffer, Call, FailureKind, Message, Payload, Requests, Served, Which};

/// A rank with its MPI objects. Fields used by every call are first.
#[repr(C)]
pub struct MpiProcess {
    /// The rank as real code; first, as [`Interface`] requires.
    process: Process,
    pub world: Rc<Comm>,
    /// The communicator argument of the current call, if it is not MPI_COMM_WORLD. Errors of the call belong to it.
    pub given: Cell<Option<Handle>>,
    /// Number of communicators and windows numbered by this rank.
    numbered: Cell<u32>,
    /// Operations whose requests were freed before completion.
    pub abandoned: RefCell<Vec<Request>>,
    pub requests: RefCell<HandleTable<Request>>,
    /// Active nonblocking collectives.
    pub under_way: UnderWay,

    pub itself: Rc<Comm>,
    pub comms: RefCell<HandleTable<Rc<Comm>>>,
    pub groups: RefCell<HandleTable<Group>>,
    pub messages: RefCell<HandleTable<Matched>>,
    pub ops: RefCell<HandleTable<Combine>>,
    pub windows: RefCell<Windows>,
    /// Number of windows in shared memory.
    pub shared_windows: Cell<u32>,
    pub types: RefCell<Types>,
    pub infos: RefCell<HandleTable<Info>>,
    pub errors: Errors,
    pub attributes: AttributeKeys,
    /// Number of MPI_T_init_thread calls without MPI_T_finalize.
    pub tools: Cell<u32>,
    /// The program's memory for buffered sends.
    pub buffer: Cell<(*mut u8, usize)>,
    /// Buffer numbers by address, in the order of first use.
    buffers: RefCell<FxHashMap<usize, u32>>,
    /// Creating call of each object, by handle. Empty unless leaks are checked.
    pub makers: RefCell<HashMap<Handle, String>>,
    /// Function and arguments of the collective that starts, if the check is enabled.
    pub compared: RefCell<Option<(&'static str, ComparedArguments)>>,
}

impl Deref for MpiProcess {
    type Target = Process;

    #[inline]
    fn deref(&self) -> &Process {
        &self.process
    }
}

// SAFETY: the type is `repr(C)` and its first field is the process.
unsafe impl Interface for MpiProcess {
    fn new(process: Process) -> Self {
        let size = process.size();
        let program = process.job.program_number(process.rank);
        let everybody = Group::Strided { first: 0, stride: 1, size };
        let alone = Group::Strided { first: process.rank, stride: 1, size: 1 };
        let world = Comm::intra(abi::MPI_COMM_WORLD, mcpsim_core::mpi::CommMember::new(0, process.rank, everybody));
        let itself = Comm::intra(abi::MPI_COMM_SELF, mcpsim_core::mpi::CommMember::new(1, 0, alone));
        world.set_name("MPI_COMM_WORLD");
        itself.set_name("MPI_COMM_SELF");
        let made = MpiProcess {
            process,
            world: Rc::new(world),
            given: Cell::new(None),
            numbered: Cell::new(0),
            abandoned: RefCell::default(),
            requests: RefCell::new(HandleTable::new(HandleKind::Request)),
            under_way: RefCell::default(),
            itself: Rc::new(itself),
            comms: RefCell::new(HandleTable::new(HandleKind::Comm)),
            groups: RefCell::new(HandleTable::new(HandleKind::Group)),
            messages: RefCell::new(HandleTable::new(HandleKind::Message)),
            ops: RefCell::new(HandleTable::new(HandleKind::Op)),
            windows: RefCell::default(),
            shared_windows: Cell::new(0),
            types: RefCell::new(Types::new()),
            infos: RefCell::new(HandleTable::new(HandleKind::Info)),
            errors: Errors::new(),
            attributes: AttributeKeys::new(size, program),
            tools: Cell::new(0),
            buffer: Cell::new((std::ptr::null_mut(), 0)),
            buffers: RefCell::default(),
            makers: RefCell::default(),
            compared: RefCell::default(),
        };
        if made.job.options.checks.leaks {
            made.track_objects();
        }
        made
    }

    fn serve(&self, message: Served, answers: &mut Vec<Message>) {
        window::serve(self, message, answers);
    }

    fn ended(&self) -> ProgramMemory {
        self.detach_collectives();
        if self.needs_memory() { ProgramMemory::Needed } else { ProgramMemory::Free }
    }
}

/// Starts the MPI function `name` and returns the calling rank.
#[inline]
pub fn enter<'a>(name: &'static str) -> &'a MpiProcess {
    // SAFETY: only this module runs ranks, and it runs all of them as this type ([`super::RealProgram`] and strands).
    let Some(process) = (unsafe { current_as::<MpiProcess>() }) else { no_rank(name) };
    process.function.set(name);
    process.counts.enter(name);
    process.given.set(None);
    if process.stage.get() != RankStage::Initialised {
        process.check_stage(name);
    }
    process
}

/// Returns the rank whose code runs on this thread.
pub fn current_process<'a>() -> Option<&'a MpiProcess> {
    // SAFETY: as in [`enter`], all ranks have this type.
    unsafe { current_as::<MpiProcess>() }
}

#[cold]
fn no_rank(name: &str) -> ! {
    let what = format!(
        "{name} was called from a thread that is not its rank's main thread: \
         expected calls of MPI from the main thread only (MPI_THREAD_FUNNELED)"
    );
    fatal(&what, None)
}

impl MpiProcess {
    /// Waits until virtual time reaches the clock of the rank. Plain loads and stores of shared memory take effect when
    /// the code runs. After the wait, ranks that share memory run in the order of virtual time, for any number of
    /// workers.
    #[cold]
    pub fn wait_for_own_time(&self) {
        self.call_done(Call::Test { requests: Requests::new(), which: Which::Some, poll: false });
    }

    #[cold]
    fn check_stage(&self, name: &'static str) {
        let anytime = [
            "MPI_Init",
            "MPI_Init_thread",
            "MPI_Initialized",
            "MPI_Finalized",
            "MPI_Get_version",
            "MPI_Get_library_version",
            "MPI_Error_class",
            "MPI_Error_string",
            "MPI_Pcontrol",
        ];
        // Info objects may be used before MPI_Init, and the tool interface has its own initialisation.
        if anytime.contains(&name) || name.starts_with("MPI_Info_") || name.starts_with("MPI_T_") {
            return;
        }
        let when = match self.stage.get() {
            RankStage::Started => "before MPI_Init",
            RankStage::Initialised => return,
            RankStage::Finalised => "after MPI_Finalize",
        };
        self.fail(FailureKind::Error, format!("{name} was called {when}"));
    }

    /// Completes the work of MPI_Finalize.
    ///
    /// # Errors
    /// Errors of functions that delete attributes.
    pub fn finalise(&self) -> MpiResult {
        // The standard requires only the first (MPI-3.1, section 8.7.1); MPI libraries delete the attributes of both.
        for comm in [&self.itself, &self.world] {
            let list = comm.attributes.take();
            self.delete_attributes(comm.handle, list)?;
        }
        self.detach_collectives();
        self.report_leaks();
        Ok(())
    }

    /// Returns the communicator of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_COMM.
    #[inline]
    pub fn comm(&self, handle: Handle) -> MpiResult<Rc<Comm>> {
        if handle == abi::MPI_COMM_WORLD {
            return Ok(self.world.clone());
        }
        let comm = self.other_comm(handle)?;
        self.given.set(Some(handle));
        Ok(comm)
    }

    fn other_comm(&self, handle: Handle) -> MpiResult<Rc<Comm>> {
        match handle {
            abi::MPI_COMM_SELF => Ok(self.itself.clone()),
            abi::MPI_COMM_NULL => Err(MpiError::new(abi::MPI_ERR_COMM, "the communicator is MPI_COMM_NULL")),
            _ => {
                self.comms.borrow().get(handle).cloned().ok_or_else(|| {
                    MpiError::new(abi::MPI_ERR_COMM, format!("{handle:#x} is no handle of a communicator"))
                })
            }
        }
    }

    /// Returns an unused number for a communicator or window. Concurrent calls of other ranks return different numbers.
    /// The result is [`MOST_COMMS`] if no number is free.
    pub fn new_comm(&self) -> u32 {
        let given = self.numbered.get();
        // 0 and 1 are MPI_COMM_WORLD and MPI_COMM_SELF.
        let number = 2 + u64::from(given) * u64::from(self.size()) + u64::from(self.rank);
        if number >= u64::from(MOST_COMMS) {
            return MOST_COMMS;
        }
        self.numbered.set(given + 1);
        number as u32
    }

    /// Adds a new communicator and returns its handle.
    pub fn add_comm(&self, make: impl FnOnce(Handle) -> Comm) -> Handle {
        // The communicator contains its handle, so the handle is reserved first.
        let mut comms = self.comms.borrow_mut();
        let handle = comms.insert(self.world.clone());
        let comm = Rc::new(make(handle));
        *comms.get_mut(handle).expect("just inserted") = comm;
        self.note_maker(handle);
        handle
    }

    /// Returns the number of the buffer at `address` for a message of `size` bytes, if buffers affect its cost.
    #[inline]
    pub fn buffer_at(&self, address: *const u8, size: usize) -> Buffer {
        let counts = self.job.states_buffers && size as u64 >= Buffer::LEAST_MESSAGE && !address.is_null();
        if counts { self.numbered(address) } else { Buffer::NONE }
    }

    #[cold]
    fn numbered(&self, address: *const u8) -> Buffer {
        let mut buffers = self.buffers.borrow_mut();
        let next = buffers.len() as u32;
        Buffer::numbered(*buffers.entry(address as usize).or_insert(next))
    }

    /// Returns the payload for `data`.
    pub fn payload(&self, data: Vec<u8>) -> Payload {
        (!data.is_empty()).then(|| Box::new(data))
    }
}
