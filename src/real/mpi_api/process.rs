//! State of a simulated rank that MPI functions use: the `Process`, and the MPI objects to which the rank's handles
//! refer.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::ops::Deref;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::attribute::AttributeKeys;
use super::calls::{KnownArray, Matched};
use super::collective::{Combine, UnderWay};
use super::comm::Comm;
use super::error::{MpiError, MpiResult};
use super::handler::Errors;
use super::handles::{HandleKind, HandleTable};
use super::request::Request;
use super::request_handles::RequestHandles;
use super::types::Types;
use super::window::{self, Windows};
use crate::loader::AS_BUILT;
use crate::process::job::{MOST_COMMS, fatal};
use crate::process::{ComparedArguments, Interface, Process, ProgramMemory, RankStage, current_as};
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::info::Info;
use mcpsim_core::rank::{Buffer, Call, FailureKind, Message, Payload, Requests, Served, Which};

/// A simulated rank with its MPI objects. The fields that every MPI call uses are first.
#[repr(C)]
pub struct MpiProcess {
    /// State of the rank that is independent of MPI. The field `process` is first, as [`Interface`] requires.
    process: Process,
    pub world: Rc<Comm>,
    /// Communicator argument of the current MPI call, if the argument is not MPI_COMM_WORLD. Errors of the call use
    /// the error handler of the stored communicator.
    pub given: Cell<Option<Handle>>,
    /// Number of communicators and windows for which the rank has created an identifier.
    numbered: Cell<u32>,
    /// Communication operations whose requests the program freed before the operations completed.
    pub abandoned: RefCell<Vec<Request>>,
    pub requests: RefCell<RequestHandles>,
    /// Requests of the array of the last MPI_Waitany with a long array.
    pub known_array: Cell<Option<Box<KnownArray>>>,
    /// Nonblocking collectives of the rank that have not completed.
    pub under_way: UnderWay,

    pub itself: Rc<Comm>,
    pub comms: RefCell<HandleTable<Rc<Comm>>>,
    pub groups: RefCell<HandleTable<Group>>,
    pub messages: RefCell<HandleTable<Matched>>,
    pub ops: RefCell<HandleTable<Combine>>,
    pub windows: RefCell<Windows>,
    /// Number of the rank's windows in shared memory.
    pub shared_windows: Cell<u32>,
    pub types: RefCell<Types>,
    pub infos: RefCell<HandleTable<Info>>,
    pub errors: Errors,
    pub attributes: AttributeKeys,
    /// Number of MPI_T_init_thread calls minus the number of MPI_T_finalize calls.
    pub tools: Cell<u32>,
    /// Address and size of the memory that the program has attached for buffered sends.
    pub buffer: Cell<(*mut u8, usize)>,
    /// Identifiers of the program's message buffers by address. The identifiers are in the order of first use.
    buffers: RefCell<FxHashMap<usize, u32>>,
    /// Call that created each MPI object, by handle of the object. The map is empty unless leaks are checked.
    pub makers: RefCell<HashMap<Handle, String>>,
    /// Support of threads.
    pub threads: ThreadLevels,
    /// Function and arguments of the collective that the rank is calling, if the check of MPI calls is enabled.
    pub compared: RefCell<Option<(&'static str, ComparedArguments)>>,
}

/// Support of threads (MPI-3.1, section 12.4).
#[derive(Debug)]
pub struct ThreadLevels {
    /// Greatest level that the execution of the rank supports.
    pub most: Cell<c_int>,
    /// Level that MPI_Init_thread has provided.
    pub provided: Cell<c_int>,
    /// True if the current thread has called MPI_Init.
    pub is_main: Cell<bool>,
    /// Returns another thread of the rank that is in an MPI function, and the name of the function.
    pub other_in_mpi: Cell<Option<OtherThread>>,
}

/// Type of [`ThreadLevels::other_in_mpi`].
pub type OtherThread = fn(&MpiProcess) -> Option<(u32, &'static str)>;

impl Deref for MpiProcess {
    type Target = Process;

    #[inline]
    fn deref(&self) -> &Process {
        &self.process
    }
}

// SAFETY: the type is `repr(C)` and the first field is the `Process`.
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
            requests: RefCell::default(),
            known_array: Cell::default(),
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
            threads: ThreadLevels {
                most: Cell::new(abi::MPI_THREAD_FUNNELED),
                provided: Cell::new(abi::MPI_THREAD_SINGLE),
                is_main: Cell::new(true),
                other_in_mpi: Cell::new(None),
            },
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
        self.end_loans();
        if self.needs_memory() { ProgramMemory::Needed } else { ProgramMemory::Free }
    }
}

/// Starts the MPI function `name` and returns the calling rank.
#[inline]
pub fn enter<'a>(name: &'static str) -> &'a MpiProcess {
    // SAFETY: only [`super::RealProgram`] and strands run ranks, and all ranks are of the type `MpiProcess`.
    let Some(process) = (unsafe { current_as::<MpiProcess>() }) else { no_rank(name) };
    process.function.set(name);
    process.counts.enter(name);
    if process.counts.has_paths.get() {
        process.tree.begin_mpi(name, process.reached());
    }
    process.given.set(None);
    if process.stage.get() != RankStage::Initialised {
        process.check_stage(name);
    }
    process
}

#[cold]
fn no_rank(name: &str) -> ! {
    let what = format!(
        "{name} was called from a thread that is not its rank's main thread: \
         ranks as fibers have MPI_THREAD_FUNNELED; for MPI_THREAD_SERIALIZED and MPI_THREAD_MULTIPLE, {AS_BUILT}"
    );
    fatal(&what, None)
}

impl MpiProcess {
    /// Waits until virtual time reaches the clock of the rank. Loads and stores of shared memory take effect when the
    /// rank's code runs. With the wait, ranks that share memory run in the order of virtual time, for any number of
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
        // The program may use info objects before MPI_Init, and the tool interface (MPI_T) has a separate
        // initialisation.
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

    /// Deletes the attributes of the predefined communicators in MPI_Finalize.
    ///
    /// # Errors
    /// Errors that the delete functions of attributes return.
    pub fn finalise(&self) -> MpiResult {
        // The standard requires the deletion of attributes only for MPI_COMM_SELF (MPI-3.1, section 8.7.1). MPI
        // libraries also delete the attributes of MPI_COMM_WORLD.
        for comm in [&self.itself, &self.world] {
            let list = comm.attributes.take();
            self.delete_attributes(comm.handle, list)?;
        }
        self.detach_collectives();
        self.end_loans();
        self.report_leaks();
        Ok(())
    }

    /// Ends the loans of the program's buffers to messages of sends that the program has not completed.
    fn end_loans(&self) {
        self.requests.borrow_mut().values_mut().for_each(Request::end_loan);
    }

    /// Returns the communicator of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_COMM if the handle is not a valid communicator.
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

    /// Returns an unused identifier for a new communicator or window. Concurrent calls of other ranks return
    /// different identifiers. If no identifier is free, the result is [`MOST_COMMS`].
    pub fn new_comm(&self) -> u32 {
        let given = self.numbered.get();
        // The communicator identifiers 0 and 1 belong to MPI_COMM_WORLD and MPI_COMM_SELF.
        let number = 2 + u64::from(given) * u64::from(self.size()) + u64::from(self.rank);
        if number >= u64::from(MOST_COMMS) {
            return MOST_COMMS;
        }
        self.numbered.set(given + 1);
        number as u32
    }

    /// Adds the communicator that `make` creates, and returns the handle of the communicator.
    pub fn add_comm(&self, make: impl FnOnce(Handle) -> Comm) -> Handle {
        // The communicator stores its own handle, so the handle is determined before the communicator is created.
        let mut comms = self.comms.borrow_mut();
        let handle = comms.insert(self.world.clone());
        let comm = Rc::new(make(handle));
        *comms.get_mut(handle).expect("just inserted") = comm;
        self.note_maker(handle);
        handle
    }

    /// Returns the identifier of the message buffer at `address` for a message of `size` bytes, if the cost of the
    /// message depends on the buffer.
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

    /// Returns the message payload that contains the bytes `data`.
    pub fn payload(&self, data: Vec<u8>) -> Payload {
        (!data.is_empty()).then(|| data.into())
    }
}
