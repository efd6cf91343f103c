//! Executes collectives with the program's data. Schedules of collectives move data between the buffers of ranks. A
//! blocking collective runs in the fiber of the rank. A nonblocking collective runs in a strand, which is a separate
//! fiber of the rank.

mod mover;
pub mod own;
mod peer_exchange;
mod region;
mod strand;
mod under_way;

pub use mover::{Combine, DataMover, UserFunction};
pub use peer_exchange::CollectiveMessages;
pub use region::{BufferShape, NO_LAYOUT, Region};
pub use strand::start_strand;
pub use under_way::UnderWay;

use std::mem::ManuallyDrop;
use std::rc::Rc;

use under_way::{CheckedMover, StrandMover};

use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::empty_status;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::{CallForm, CalledCollective, CalledData, CollectiveCall, Runner, Sizes, choose, rule_size};
use mcpsim_core::platform::Collective;
use mcpsim_core::rank::{Call, CollectiveEntry, Reply, ReplyKind};

/// Participation of one rank in a collective: the operation and the rank's data.
pub struct CollectivePart<M = DataMover> {
    pub collective: Collective,
    pub comm: Rc<Comm>,
    pub root: u32,
    pub sizes: Sizes,
    pub mover: M,
}

impl<M: CheckedMover> CollectivePart<M> {
    fn call(&self) -> CollectiveCall {
        let (collective, comm, root, sizes) = (self.collective, self.comm.local.clone(), self.root, self.sizes.clone());
        CollectiveCall { collective, comm, root, sizes, algorithm: None }
    }

    /// Returns the description of the collective for the simulation engine.
    fn entry(&self, p: &MpiProcess, form: CallForm) -> CollectiveEntry {
        let (call, mover) = (self.call(), &self.mover);
        let choice =
            choose((&call, form), &p.job.platform.collectives, mover.is_ordered(), mover.element(call.collective));
        let method = choice.ok().map(|choice| choice.method);
        CollectiveEntry { name: p.function.get(), method, bytes: rule_size(&call) }
    }

    /// Returns the description of the collective for a recording of MPI calls. `sequence` is the collective's
    /// sequence number in the communicator.
    fn called(&self, sequence: u32) -> CalledCollective {
        let (call, mover) = (self.call(), &self.mover);
        let data = CalledData { element: mover.element(call.collective).max(1), in_order: mover.is_ordered() };
        CalledCollective { call, data, sequence }
    }

    /// Executes the collective between the calls Enter and Leave of the simulation engine.
    fn entered(self, p: &MpiProcess, form: CallForm, sequence: u32) -> MpiResult {
        if p.tells_collectives.get() {
            p.called.replace(Some(Box::new(self.called(sequence))));
        }
        p.call_done(Call::Enter(self.entry(p, form)));
        let result = self.carry_out_as(p, form, sequence);
        p.call_done(Call::Leave);
        result
    }

    /// Executes the collective in the current task. `sequence` is the collective's sequence number in the
    /// communicator.
    ///
    /// # Errors
    /// The sizes of the collective's blocks are invalid.
    pub fn carry_out(self, p: &MpiProcess, sequence: u32) -> MpiResult {
        self.carry_out_as(p, CallForm::Blocking, sequence)
    }

    fn carry_out_as(self, p: &MpiProcess, form: CallForm, sequence: u32) -> MpiResult {
        let call = self.call();
        let CollectivePart { comm, mover, .. } = self;
        let handle = comm.handle;
        let failed = |what| MpiError::new(abi::MPI_ERR_ARG, what).on_comm(handle);
        let rules = &p.job.platform.collectives;
        let mut runner = Runner::new((call, form), rules, p.job.cost(p.rank), sequence, mover).map_err(failed)?;
        let first = runner.next_call(&mut Reply { clock: p.clock.get(), kind: ReplyKind::Done });
        let mut next = first.map(ManuallyDrop::new);
        while let Some(call) = &mut next {
            next = p.call_there(call, |reply| runner.next_call(reply).map(ManuallyDrop::new));
        }
        match runner.into_mover().too_long() {
            None => Ok(()),
            Some((size, room)) => {
                let what = format!("a message of {size} bytes arrived for blocks of {room} bytes");
                Err(MpiError::new(abi::MPI_ERR_TRUNCATE, what).on_comm(handle))
            }
        }
    }
}

impl CollectivePart {
    /// Prepares the collective for a strand, which is a separate fiber of the rank. If the rank ends before the
    /// collective, copies replace the program's buffers.
    fn in_strand(self, p: &MpiProcess) -> CollectivePart<StrandMover> {
        let CollectivePart { collective, comm, root, sizes, mover } = self;
        let mover = StrandMover::new(p, mover, comm.size());
        CollectivePart { collective, comm, root, sizes, mover }
    }
}

/// Code that executes a collective. The arguments of the code are the calling rank and the sequence number of the
/// collective.
type Code = Box<dyn FnOnce(&MpiProcess, u32) -> MpiResult>;

/// Implementation of a collective, ready to be executed.
pub enum CollectivePlan {
    /// The collective follows one of the simulator's schedules of messages.
    Part(Box<CollectivePart>),
    /// The collective on the communicator in the first field is executed by its own code, without a schedule.
    Code(Rc<Comm>, Code),
}

impl CollectivePlan {
    /// Creates a plan for the code `body`, which is collective over the communicator `comm`.
    pub fn code(comm: &Rc<Comm>, body: impl FnOnce(&MpiProcess, u32) -> MpiResult + 'static) -> Self {
        CollectivePlan::Code(comm.clone(), Box::new(body))
    }
}

impl From<CollectivePart> for CollectivePlan {
    fn from(part: CollectivePart) -> Self {
        CollectivePlan::Part(Box::new(part))
    }
}

impl CollectivePlan {
    fn comm(&self) -> &Rc<Comm> {
        match self {
            CollectivePlan::Part(part) => &part.comm,
            CollectivePlan::Code(comm, _) => comm,
        }
    }

    /// Executes the plan between the calls Enter and Leave of the simulation engine.
    fn carry_out(self, p: &MpiProcess, form: CallForm, sequence: u32) -> MpiResult {
        match self {
            CollectivePlan::Part(part) => part.entered(p, form, sequence),
            CollectivePlan::Code(_, code) => {
                p.call_done(Call::Enter(CollectiveEntry::named(p.function.get())));
                let result = code(p, sequence);
                p.call_done(Call::Leave);
                result
            }
        }
    }

    /// Omits the data of long messages, if the options of the run require this or the data are in folded memory.
    fn limited(mut self, p: &MpiProcess) -> Self {
        if let CollectivePlan::Part(part) = &mut self {
            part.mover.most_data = p.job.options.most_data;
            part.mover.omit_folded();
        }
        self
    }

    /// Lets messages refer to the buffers of the collective. The program does not change the buffers of a blocking
    /// collective.
    fn lending(mut self, p: &MpiProcess) -> Self {
        if let CollectivePlan::Part(part) = &mut self {
            part.mover.lends = p.job.lends;
        }
        self
    }

    /// Executes the collective in the main task of the rank.
    ///
    /// # Errors
    /// MPI errors of the collective, such as truncated messages.
    pub fn block(self, p: &MpiProcess) -> MpiResult {
        self.limited(p).lending(p).block_with_data(p)
    }

    /// Executes the collective like [`CollectivePlan::block`]. All its messages carry data, because mcpsim itself needs
    /// the result.
    ///
    /// # Errors
    /// MPI errors of the collective, such as truncated messages.
    pub fn block_with_data(self, p: &MpiProcess) -> MpiResult {
        p.no_poll();
        let sequence = self.comm().next_sequence();
        p.check_collective(self.comm(), sequence);
        self.carry_out(p, CallForm::Blocking, sequence)
    }

    /// Starts the collective in a strand, which is a fiber that runs concurrently with the main task of the rank.
    /// Returns the handle of the collective's request.
    ///
    /// # Errors
    /// The operating system has no memory for another strand.
    pub fn start(self, p: &MpiProcess) -> MpiResult<Handle> {
        let comm = self.comm().clone();
        let sequence = comm.next_sequence();
        p.check_collective(&comm, sequence);
        let form = CallForm::NonBlocking;
        match self.limited(p) {
            CollectivePlan::Part(part) => {
                let part = part.in_strand(p);
                start_strand(p, p.function.get(), comm, move |p| {
                    part.entered(p, form, sequence).map(|()| empty_status())
                })
            }
            code @ CollectivePlan::Code(..) => start_strand(p, p.function.get(), comm, move |p| {
                code.carry_out(p, form, sequence).map(|()| empty_status())
            }),
        }
    }
}
