//! Communicators of a rank (MPI-3.1, chapter 6), with groups, attributes, names and hints.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::mpi_api::attribute::Attributes;
use crate::mpi_api::error::{MpiError, MpiResult};
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::info::Info;
use mcpsim_core::mpi::topology::Topology;
use mcpsim_core::rank::{Context, Rank, Source, Tag};

/// First sequence number for collectives that a tag of the program identifies, such as MPI_Comm_create_group. Tags of
/// collective messages have 28 bits for sequence numbers.
const TAGGED: u32 = 1 << 27;

/// State of a communicator at one member rank.
#[derive(Debug)]
pub struct Comm {
    pub handle: Handle,
    /// Local group, rank in the local group, and message contexts of the communicator.
    pub local: mcpsim_core::mpi::CommMember,
    /// Remote group of an intercommunicator, and the communicator of the local group.
    pub remote: Option<(Group, Rc<Comm>)>,
    /// Number of collectives that the rank has started on the communicator.
    sequence: Cell<u32>,
    pub errhandler: Cell<Handle>,
    pub name: RefCell<String>,
    pub topology: RefCell<Option<Rc<Topology>>>,
    /// Attribute keys with their values, in the order in which the program set the attributes.
    pub attributes: RefCell<Attributes>,
    /// Hints of the program (MPI_Comm_set_info). Communicator hints are stored but have no effect.
    pub info: RefCell<Info>,
}

impl Comm {
    /// Creates an intracommunicator.
    pub fn intra(handle: Handle, local: mcpsim_core::mpi::CommMember) -> Self {
        Comm {
            handle,
            local,
            remote: None,
            sequence: Cell::new(0),
            errhandler: Cell::new(abi::MPI_ERRORS_ARE_FATAL),
            name: RefCell::default(),
            topology: RefCell::default(),
            attributes: RefCell::default(),
            info: RefCell::default(),
        }
    }

    /// Creates an intercommunicator with the local group `local` and the remote group `remote`.
    pub fn inter(handle: Handle, local: mcpsim_core::mpi::CommMember, remote: Group) -> Self {
        // The communicator of the local group uses the same message contexts as the intercommunicator. Messages of
        // the two communicators cannot be confused, because no rank is in both groups.
        let local_only = Rc::new(Comm::intra(handle, local.clone()));
        Comm { remote: Some((remote, local_only)), ..Comm::intra(handle, local) }
    }

    /// Returns the sequence number of a collective that only some members call and that `tag` identifies.
    /// [`CommMember::next_sequence`] never returns such a sequence number.
    pub fn tagged(tag: u32) -> u32 {
        tag | TAGGED
    }

    /// Returns the sequence number of a collective of the local group that is part of the intercommunicator's
    /// collective `sequence`. `part` is 0 for the first local collective and 1 for the second.
    pub fn part(sequence: u32, part: u32) -> u32 {
        sequence << 1 | part
    }

    /// Returns the calling rank's index in the local group of the communicator.
    pub fn rank(&self) -> u32 {
        self.local.rank()
    }

    /// Returns the size of the communicator's local group.
    pub fn size(&self) -> u32 {
        self.local.size()
    }

    pub fn set_name(&self, name: &str) {
        *self.name.borrow_mut() = name.to_owned();
    }

    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Returns the group whose ranks receive messages that the program sends on the communicator. For an
    /// intercommunicator, the result is the remote group.
    #[inline]
    pub fn peers(&self) -> &Group {
        match &self.remote {
            Some((remote, _)) => remote,
            None => self.local.group(),
        }
    }

    /// Converts the rank of a peer in the communicator to the rank in MPI_COMM_WORLD.
    ///
    /// # Errors
    /// MPI_ERR_RANK if the peer is outside the communicator.
    #[inline]
    pub fn peer(&self, rank: i32) -> MpiResult<Rank> {
        let peers = self.peers();
        if rank < 0 || rank as u32 >= peers.size() {
            return Err(self.bad_rank(rank));
        }
        Ok(peers.world(rank as u32))
    }

    #[cold]
    fn bad_rank(&self, rank: i32) -> MpiError {
        let size = self.peers().size();
        let what = format!("rank {rank}: expected 0 to {}, a rank of {}", size - 1, self.describe());
        MpiError::new(abi::MPI_ERR_RANK, what).on_comm(self.handle)
    }

    /// Converts the rank `world` in MPI_COMM_WORLD to the rank in the communicator.
    pub fn peer_number(&self, world: Rank) -> i32 {
        match self.peers() {
            Group::Strided { first: 0, stride: 1, .. } => world as i32,
            peers => peers.member(world).map_or(abi::MPI_UNDEFINED, |rank| rank as i32),
        }
    }

    /// Converts the source argument of a receive, which may be MPI_ANY_SOURCE.
    ///
    /// # Errors
    /// MPI_ERR_RANK if the source is outside the communicator.
    #[inline]
    pub fn source(&self, rank: i32) -> MpiResult<Source> {
        if rank == abi::MPI_ANY_SOURCE { Ok(Source::Any) } else { self.peer(rank).map(Source::Rank) }
    }

    /// Returns the message context of point-to-point messages in the communicator.
    #[inline]
    pub fn context(&self) -> Context {
        self.local.point_to_point()
    }

    /// Returns the sequence number for the next collective on the communicator.
    pub fn next_sequence(&self) -> u32 {
        let sequence = self.sequence.get();
        self.sequence.set((sequence + 1) % TAGGED);
        sequence
    }

    /// Returns the tag for messages of the collective `sequence` that belong to no schedule. The tag field that
    /// distinguishes classes of messages has the value 15, which messages of schedules never have.
    pub fn tag(sequence: u32) -> Tag {
        sequence << 4 | 15
    }

    /// Returns the name of the communicator for messages to the user, such as "MPI_COMM_WORLD".
    pub fn describe(&self) -> String {
        let name = self.name.borrow();
        if name.is_empty() { format!("communicator {:#x}", self.handle) } else { name.clone() }
    }
}
