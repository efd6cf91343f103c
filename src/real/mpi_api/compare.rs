//! Compares the arguments of collectives and the datatypes of messages between ranks (`--check`).

use crate::mpi_api::collective::Combine;
use crate::mpi_api::comm::Comm;
use crate::mpi_api::process::MpiProcess;
use crate::process::{Buffering, CollectiveRecord, ComparedArguments, Signature, with_current};
use mcpsim_core::engine::{Mistake, MistakeKind};
use mcpsim_core::mpi::datatype::Datatype;
use mcpsim_core::rank::{Completion, Data, SendMode};

impl Combine {
    /// Returns the name of the reduction operator, such as MPI_SUM.
    pub fn name(self) -> &'static str {
        match self {
            Combine::Builtin(builtin) => builtin.name(),
            Combine::User { .. } => "an operator of the program",
        }
    }
}

impl MpiProcess {
    /// Stores the arguments of the collective that the rank calls, if the check of MPI calls is enabled.
    #[inline]
    pub fn compare(&self, arguments: impl FnOnce() -> ComparedArguments) {
        if self.job.options.checks.calls {
            self.compared.replace(Some((self.function.get(), arguments())));
        }
    }

    /// Compares the rank's call of the collective `sequence` of `comm` with the calls of other ranks, if the check of
    /// MPI calls is enabled.
    #[inline]
    pub fn check_collective(&self, comm: &Comm, sequence: u32) {
        if self.job.options.checks.calls {
            self.compare_collective(comm, sequence);
        }
    }

    #[cold]
    fn compare_collective(&self, comm: &Comm, sequence: u32) {
        let function = self.function.get();
        let stated = self.compared.take().filter(|(of, _)| *of == function && !comm.is_inter());
        let local = comm.local.group();
        let (mut first, mut members) = (local.world(0), comm.size());
        if let Some((remote, _)) = &comm.remote {
            first = first.min(remote.world(0));
            members += remote.size();
        }
        let record = CollectiveRecord {
            rank: self.rank,
            member: comm.rank(),
            position: self.position().unwrap_or_default(),
            function,
            arguments: stated.map_or_else(ComparedArguments::default, |(_, arguments)| arguments),
        };
        let found = self.job.collectives.add((comm.local.id(), first, sequence), members, record);
        found.into_iter().for_each(|mistake| self.job.add_mistake(mistake));
    }

    /// Returns the simulation engine's send mode for a message that the program sends in the MPI mode `mode`.
    #[inline]
    pub fn sent_as(&self, mode: SendMode) -> SendMode {
        match (self.job.options.buffering, mode) {
            (Buffering::None, SendMode::Standard) => SendMode::Synchronous,
            (_, mode) => mode,
        }
    }
}

/// Appends the type signature of a message to the data of the message.
#[cold]
pub fn sign(data: &mut Data, datatype: &Datatype, count: usize) {
    Signature::new(datatype, count).encode(data.bytes_mut());
}

/// Compares the type signature of a message with the signature of the receive. In the message, the type signature
/// follows the `size` bytes of data.
#[cold]
pub fn check_received(payload: &Data, completion: &Completion, comm: &Comm, datatype: &Datatype, count: usize) {
    let sent = Signature::decode(&payload[completion.size.get() as usize..]);
    let expected = Signature::new(datatype, count);
    if sent.fits(&expected) {
        return;
    }
    let from = comm.peer_number(completion.source);
    let text = format!("{sent} from rank {from} of {}, received as {expected}", comm.describe());
    with_current(|p| {
        let (call, place) = Mistake::call_and_place(&p.position().unwrap_or_default());
        p.job.add_mistake(Mistake { rank: p.rank, kind: MistakeKind::TypeMismatch, call, place, text });
    });
}
