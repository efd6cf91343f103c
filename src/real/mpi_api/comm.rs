//! Communicators of a rank (MPI-3.1, chapter 6): groups, attributes, names and hints.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::mpi_api::attribute::Attributes;
use crate::mpi_api::error::{MpiError, MpiResult};
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::info::Info;
use mcpsim_core::mpi::topology::Topology;
use mcpsim_core::rank::{Context, Rank, Source, Tag};

/// First sequence number of collectives identified by a tag of the program. Message tags have 28 bits for sequence
/// numbers.
const TAGGED: u32 = 1 << 27;

/// A communicator from the view of one member.
#[derive(Debug)]
pub struct Comm {
    pub handle: Handle,
    /// Local group, rank in the local group, and message contexts.
    pub local: mcpsim_core::mpi::CommMember,
    /// Remote group of an intercommunicator, and the communicator of the local group.
    pub remote: Option<(Group, Rc<Comm>)>,
    /// Number of collectives started.
    sequence: Cell<u32>,
    pub errhandler: Cell<Handle>,
    pub name: RefCell<String>,
    pub topology: RefCell<Option<Rc<Topology>>>,
    /// Attribute values by key, in the order in which they were set.
    pub attributes: RefCell<Attributes>,
    /// Hints. They are stored and have no effect.
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

    /// Creates an intercommunicator of `local` and `remote`.
    pub fn inter(handle: Handle, local: mcpsim_core::mpi::CommMember, remote: Group) -> Self {
        // The local communicator may use the same contexts, because no rank is in both groups.
        let local_only = Rc::new(Comm::intra(handle, local.clone()));
        Comm { remote: Some((remote, local_only)), ..Comm::intra(handle, local) }
    }

    /// Returns the sequence number of a collective among some members, identified by `tag`.
    /// [`CommMember::next_sequence`] never returns this number.
    pub fn tagged(tag: u32) -> u32 {
        tag | TAGGED
    }

    /// Returns the number of stage `part` (0 or 1) in the local group, for collective `sequence` of an
    /// intercommunicator.
    pub fn part(sequence: u32, part: u32) -> u32 {
        sequence << 1 | part
    }

    /// Returns the rank of this process in the communicator.
    pub fn rank(&self) -> u32 {
        self.local.rank()
    }

    /// Returns the size of the local group.
    pub fn size(&self) -> u32 {
        self.local.size()
    }

    pub fn set_name(&self, name: &str) {
        *self.name.borrow_mut() = name.to_owned();
    }

    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Returns the group that receives messages: the remote group for an intercommunicator.
    #[inline]
    pub fn peers(&self) -> &Group {
        match &self.remote {
            Some((remote, _)) => remote,
            None => self.local.group(),
        }
    }

    /// Returns the world rank of the peer `rank`.
    ///
    /// # Errors
    /// MPI_ERR_RANK.
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

    /// Returns the rank among the peers of world rank `world`.
    pub fn peer_number(&self, world: Rank) -> i32 {
        match self.peers() {
            Group::Strided { first: 0, stride: 1, .. } => world as i32,
            peers => peers.member(world).map_or(abi::MPI_UNDEFINED, |rank| rank as i32),
        }
    }

    /// Returns the source for a receive from `rank`.
    ///
    /// # Errors
    /// MPI_ERR_RANK.
    #[inline]
    pub fn source(&self, rank: i32) -> MpiResult<Source> {
        if rank == abi::MPI_ANY_SOURCE { Ok(Source::Any) } else { self.peer(rank).map(Source::Rank) }
    }

    /// Returns the context of point-to-point messages.
    #[inline]
    pub fn context(&self) -> Context {
        self.local.point_to_point()
    }

    /// Returns the sequence number of the collective that starts.
    pub fn next_sequence(&self) -> u32 {
        let sequence = self.sequence.get();
        self.sequence.set((sequence + 1) % TAGGED);
        sequence
    }

    /// Returns the tag of messages outside a schedule in collective `sequence`. Schedules use kinds 0 to 14.
    pub fn tag(sequence: u32) -> Tag {
        sequence << 4 | 15
    }

    /// Returns the name, such as "MPI_COMM_WORLD".
    pub fn describe(&self) -> String {
        let name = self.name.borrow();
        if name.is_empty() { format!("communicator {:#x}", self.handle) } else { name.clone() }
    }
}
