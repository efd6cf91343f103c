//! A rank as its MPI functions see it: the objects behind its handles, beside what the rank is as real code.
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

/// A rank with its MPI objects. What every call touches comes first.
#[repr(C)]
pub struct MpiProcess {
    /// The rank as real code. It is first, as [`Interface`] wants it.
    process: Process,
    pub world: Rc<Comm>,
    /// The communicator that it was given, where that is not MPI_COMM_WORLD: whose errors are its errors.
    pub given: Cell<Option<Handle>>,
    /// Communicators and windows that this rank has given numbers.
    numbered: Cell<u32>,
    /// Operations whose requests the program has freed before they were complete.
    pub abandoned: RefCell<Vec<Request>>,
    pub requests: RefCell<HandleTable<Request>>,
    /// Non-blocking collectives.
    pub under_way: UnderWay,

    pub itself: Rc<Comm>,
    pub comms: RefCell<HandleTable<Rc<Comm>>>,
    pub groups: RefCell<HandleTable<Group>>,
    pub messages: RefCell<HandleTable<Matched>>,
    pub ops: RefCell<HandleTable<Combine>>,
    pub windows: RefCell<Windows>,
    /// How many windows there are whose memory other ranks share.
    pub shared_windows: Cell<u32>,
    pub types: RefCell<Types>,
    pub infos: RefCell<HandleTable<Info>>,
    pub errors: Errors,
    pub attributes: AttributeKeys,
    /// How many times the tool information interface was initialised and not ended.
    pub tools: Cell<u32>,
    /// The program's part of memory for buffered sends.
    pub buffer: Cell<(*mut u8, usize)>,
    /// The numbers of buffers by their addresses, in the order of their first messages.
    buffers: RefCell<FxHashMap<usize, u32>>,
    /// What made the objects that are there, by their handles; kept only if leaks are looked for.
    pub makers: RefCell<HashMap<Handle, String>>,
    /// The arguments of the collective that begins, and its function, if they are compared.
    pub compared: RefCell<Option<(&'static str, ComparedArguments)>>,
}

impl Deref for MpiProcess {
    type Target = Process;

    #[inline]
    fn deref(&self) -> &Process {
        &self.process
    }
}

// SAFETY: it is `repr(C)` and begins with its process.
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

/// Begins the MPI function `name`: the rank that calls it.
#[inline]
pub fn enter<'a>(name: &'static str) -> &'a MpiProcess {
    // SAFETY: only this module runs ranks, and all of them as this type: [`super::RealProgram`] and strands.
    let Some(process) = (unsafe { current_as::<MpiProcess>() }) else { no_rank(name) };
    process.function.set(name);
    process.counts.enter(name);
    process.given.set(None);
    if process.stage.get() != RankStage::Initialised {
        process.check_stage(name);
    }
    process
}

/// The rank whose code runs on this thread.
pub fn current_process<'a>() -> Option<&'a MpiProcess> {
    // SAFETY: as in [`enter`].
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
    /// Waits until virtual time has come to the rank's clock. Plain loads and stores of shared memory happen when code
    /// runs: so the code of ranks that share memory runs in the order of virtual time, whatever the number of workers.
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
        // Info objects may say how MPI is to begin; tools have a beginning of their own.
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

    /// What is left to do when the rank calls MPI_Finalize.
    ///
    /// # Errors
    /// Of functions that free attributes.
    pub fn finalise(&self) -> MpiResult {
        // The standard has the first of these only (MPI-3.1, section 8.7.1); MPI libraries do both.
        for comm in [&self.itself, &self.world] {
            let list = comm.attributes.take();
            self.delete_attributes(comm.handle, list)?;
        }
        self.detach_collectives();
        self.report_leaks();
        Ok(())
    }

    /// The communicator behind `handle`.
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

    /// A number that no communicator or window has, whichever ranks give out others at the same time; [`MOST_COMMS`] if
    /// there are no more.
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

    /// Takes up a new communicator and gives its handle.
    pub fn add_comm(&self, make: impl FnOnce(Handle) -> Comm) -> Handle {
        // The handle is part of the communicator: reserve it first.
        let mut comms = self.comms.borrow_mut();
        let handle = comms.insert(self.world.clone());
        let comm = Rc::new(make(handle));
        *comms.get_mut(handle).expect("just inserted") = comm;
        self.note_maker(handle);
        handle
    }

    /// The buffer at `address` for a message of `size` bytes, if that counts.
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

    /// A message's data, from the pool.
    pub fn payload(&self, data: Vec<u8>) -> Payload {
        (!data.is_empty()).then(|| Box::new(data))
    }
}
