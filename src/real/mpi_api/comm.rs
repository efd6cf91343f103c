//! Communicators of a rank (MPI-3.1, chapter 6): their groups, and what is attached to them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::mpi_api::attribute::Attributes;
use crate::mpi_api::error::{MpiError, MpiResult};
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::info::Info;
use mcpsim_core::mpi::topology::Topology;
use mcpsim_core::rank::{Context, Rank, Source, Tag};

/// Numbers of collectives from here on are tags of a program's; tags of messages have room for 28 bits of them.
const TAGGED: u32 = 1 << 27;

/// A communicator as one of its members sees it.
#[derive(Debug)]
pub struct Comm {
    pub handle: Handle,
    /// The local group and this rank's place in it, and the contexts of messages.
    pub local: mcpsim_core::mpi::CommMember,
    /// Of an intercommunicator: the remote group, and the communicator of the local group alone.
    pub remote: Option<(Group, Rc<Comm>)>,
    /// Collectives begun so far.
    sequence: Cell<u32>,
    pub errhandler: Cell<Handle>,
    pub name: RefCell<String>,
    pub topology: RefCell<Option<Rc<Topology>>>,
    /// Attribute values by key, in the order they were set.
    pub attributes: RefCell<Attributes>,
    /// Hints; they are kept and change nothing.
    pub info: RefCell<Info>,
}

impl Comm {
    /// An intracommunicator.
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

    /// An intercommunicator of `local` with `remote`.
    pub fn inter(handle: Handle, local: mcpsim_core::mpi::CommMember, remote: Group) -> Self {
        // Messages among the local group may have the same contexts: nobody is in both groups.
        let local_only = Rc::new(Comm::intra(handle, local.clone()));
        Comm { remote: Some((remote, local_only)), ..Comm::intra(handle, local) }
    }

    /// The collective among some members that programs tell by `tag`: a number that [`CommMember::next_sequence`] does
    /// not give.
    pub fn tagged(tag: u32) -> u32 {
        tag | TAGGED
    }

    /// The number that collective `part` (0 or 1) of the local group has in the `sequence`th of an intercommunicator.
    pub fn part(sequence: u32, part: u32) -> u32 {
        sequence << 1 | part
    }

    /// This rank's number in it.
    pub fn rank(&self) -> u32 {
        self.local.rank()
    }

    /// The size of the local group.
    pub fn size(&self) -> u32 {
        self.local.size()
    }

    pub fn set_name(&self, name: &str) {
        *self.name.borrow_mut() = name.to_owned();
    }

    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The group that messages go to: the remote one of an intercommunicator.
    #[inline]
    pub fn peers(&self) -> &Group {
        match &self.remote {
            Some((remote, _)) => remote,
            None => self.local.group(),
        }
    }

    /// The world rank of the peer `rank`.
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

    /// The number among the peers that world rank `world` has.
    pub fn peer_number(&self, world: Rank) -> i32 {
        match self.peers() {
            Group::Strided { first: 0, stride: 1, .. } => world as i32,
            peers => peers.member(world).map_or(abi::MPI_UNDEFINED, |rank| rank as i32),
        }
    }

    /// Where a receive from `rank` takes messages from.
    ///
    /// # Errors
    /// MPI_ERR_RANK.
    #[inline]
    pub fn source(&self, rank: i32) -> MpiResult<Source> {
        if rank == abi::MPI_ANY_SOURCE { Ok(Source::Any) } else { self.peer(rank).map(Source::Rank) }
    }

    /// The context of its point-to-point messages.
    #[inline]
    pub fn context(&self) -> Context {
        self.local.point_to_point()
    }

    /// The number of the collective that begins now.
    pub fn next_sequence(&self) -> u32 {
        let sequence = self.sequence.get();
        self.sequence.set((sequence + 1) % TAGGED);
        sequence
    }

    /// The tag of messages of the `sequence`th collective that are not those of a schedule, whose kinds have 0 to 14.
    pub fn tag(sequence: u32) -> Tag {
        sequence << 4 | 15
    }

    /// "MPI_COMM_WORLD", or what else it is called.
    pub fn describe(&self) -> String {
        let name = self.name.borrow();
        if name.is_empty() { format!("communicator {:#x}", self.handle) } else { name.clone() }
    }
}
