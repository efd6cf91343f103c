//! Functions for communicators: creation, comparison, names and destruction (MPI-3.1, sections 6.4, 6.6 and 6.8).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::rc::Rc;

use crate::mpi_api::collective::{CollectivePlan, own};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::process::job::MOST_COMMS;
use crate::process::{current_as, put_text, text};
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::groups;
use mcpsim_core::mpi::info::Info;

/// Returns the number of ranks in the group of a communicator of the current rank, and that of an intercommunicator's
/// remote group.
pub fn group_sizes(handle: Handle) -> Option<(u32, Option<u32>)> {
    // SAFETY: all ranks are of the type `MpiProcess`.
    let process = unsafe { current_as::<MpiProcess>() }?;
    let comm = process.comm(handle).ok()?;
    Some((comm.size(), comm.is_inter().then(|| comm.peers().size())))
}

impl MpiProcess {
    /// Returns the intercommunicator of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_COMM if the handle is not a valid intercommunicator.
    pub fn inter_comm(&self, handle: Handle) -> MpiResult<Rc<Comm>> {
        let comm = self.comm(handle)?;
        error::expect(comm.is_inter(), abi::MPI_ERR_COMM, || {
            format!("{}: expected an intercommunicator", comm.describe())
        })
        .map_err(|error| error.on_comm(handle))?;
        Ok(comm)
    }

    /// Returns the intracommunicator of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_COMM if the handle is not a valid intracommunicator.
    pub fn intra_comm(&self, handle: Handle) -> MpiResult<Rc<Comm>> {
        let comm = self.comm(handle)?;
        error::expect(!comm.is_inter(), abi::MPI_ERR_COMM, || {
            format!("{} is an intercommunicator: expected an intracommunicator", comm.describe())
        })
        .map_err(|error| error.on_comm(handle))?;
        Ok(comm)
    }

    /// Adds a communicator that is derived from `old` and has the same error handler. If `remote` is not `None`, the
    /// new communicator is an intercommunicator. Ranks that are not members receive MPI_COMM_NULL.
    ///
    /// # Errors
    /// No communicator identifier is free.
    pub fn make_comm(&self, old: &Comm, number: u32, local: Group, remote: Option<Group>) -> MpiResult<Handle> {
        error::expect(number < MOST_COMMS, abi::MPI_ERR_OTHER, || {
            format!("the run has created {MOST_COMMS} communicators: expected fewer")
        })
        .map_err(|error| error.on_comm(old.handle))?;
        let Some(rank) = local.member(self.rank) else { return Ok(abi::MPI_COMM_NULL) };
        if remote.as_ref().is_some_and(|remote| remote.size() == 0) {
            return Ok(abi::MPI_COMM_NULL);
        }
        Ok(self.add_comm(|handle| {
            let local = mcpsim_core::mpi::CommMember::new(number, rank, local);
            let comm = match remote {
                Some(remote) => Comm::inter(handle, local, remote),
                None => Comm::intra(handle, local),
            };
            comm.errhandler.set(old.errhandler.get());
            comm
        }))
    }
}

/// Returns a new communicator identifier if the calling rank is the leader of `comm`, and 0 otherwise.
pub fn offer(p: &MpiProcess, comm: &Comm) -> u32 {
    if comm.rank() == 0 { p.new_comm() } else { 0 }
}

/// Agrees with all members of `comm` on the identifier of a new communicator. `sequence` is the sequence number of
/// the collective that creates the communicator.
///
/// # Errors
/// Errors of the schedule that exchanges the communicator identifiers.
pub fn agree(p: &MpiProcess, comm: &Rc<Comm>, sequence: u32) -> MpiResult<u32> {
    match comm.is_inter() {
        true => Ok(own::leaders_tell(p, comm, sequence, &[offer(p, comm)], 1)?[0]),
        false => own::greatest(p, comm, sequence, offer(p, comm)),
    }
}

/// Returns the remote group of an intercommunicator, or `None` for an intracommunicator.
fn remote(comm: &Comm) -> Option<Group> {
    comm.is_inter().then(|| comm.peers().clone())
}

/// Duplicates a communicator. The duplicate has the hints `hints`, or the hints of the original if `hints` is `None`.
fn dup(p: &MpiProcess, comm: Handle, hints: Option<Info>, newcomm: *mut Handle) -> MpiResult<CollectivePlan> {
    // SAFETY: MPI requires the program to pass a valid pointer for the result, and `mpi_functions!` rejects null.
    unsafe { *newcomm = abi::MPI_COMM_NULL };
    let comm = p.comm(comm)?;
    let old = comm.clone();
    // The duplicate receives the attributes that the original has at the time of the call, even if the duplicate is
    // created later (MPI-3.1, section 6.4.2).
    let given = comm.attributes.borrow().clone();
    let attributes = p.copy_attributes(comm.handle, &given).map_err(|error| error.on_comm(comm.handle))?;
    let topology = comm.topology.borrow().clone();
    let info = hints.unwrap_or_else(|| comm.info.borrow().clone());
    Ok(CollectivePlan::code(&comm, move |p, sequence| {
        let number = agree(p, &old, sequence)?;
        let handle = p.make_comm(&old, number, old.local.group().clone(), remote(&old))?;
        let new = p.comm(handle)?;
        new.topology.replace(topology);
        new.info.replace(info);
        new.attributes.replace(attributes);
        // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation completes.
        unsafe { *newcomm = handle };
        Ok(())
    }))
}

fn subset(group: &Group, comm: &Comm) -> MpiResult {
    let stranger = group.ranks().position(|rank| comm.local.group().member(rank).is_none());
    let Some(place) = stranger else { return Ok(()) };
    let what = format!("member {place} of the group is not in {}", comm.describe());
    Err(MpiError::new(abi::MPI_ERR_GROUP, what).on_comm(comm.handle))
}

fn create(p: &MpiProcess, comm: Handle, group: Handle, newcomm: *mut Handle) -> MpiResult<CollectivePlan> {
    let (comm, group) = (p.comm(comm)?, p.group(group)?);
    subset(&group, &comm)?;
    let old = comm.clone();
    Ok(CollectivePlan::code(&comm, move |p, sequence| {
        let (number, remote) = if old.is_inter() {
            let mut mine = vec![offer(p, &old), group.size()];
            mine.extend(group.ranks());
            let theirs = own::leaders_tell(p, &old, sequence, &mine, 2 + old.peers().size() as usize)?;
            let end = 2 + theirs[1] as usize;
            (theirs[0], Some(Group::from_ranks(theirs[2..end].to_vec())))
        } else {
            (agree(p, &old, sequence)?, None)
        };
        let handle = p.make_comm(&old, number, group, remote)?;
        // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation completes.
        unsafe { *newcomm = handle };
        Ok(())
    }))
}

fn create_group(
    p: &MpiProcess,
    comm: Handle,
    group: Handle,
    tag: c_int,
    newcomm: *mut Handle,
) -> MpiResult<CollectivePlan> {
    let (comm, group) = (p.intra_comm(comm)?, p.group(group)?);
    subset(&group, &comm)?;
    let tag = message_tag(tag, &comm)?;
    let Some(rank) = group.member(p.rank) else {
        // The standard requires the call of the creating function only from members of the group. Other callers
        // receive MPI_COMM_NULL, as in MPI libraries.
        let alone = mcpsim_core::mpi::CommMember::new(comm.local.id(), 0, Group::from_ranks(vec![p.rank]));
        return Ok(CollectivePlan::code(&Rc::new(Comm::intra(comm.handle, alone)), move |_, _| {
            // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation
            // completes.
            unsafe { *newcomm = abi::MPI_COMM_NULL };
            Ok(())
        }));
    };
    let members =
        Rc::new(Comm::intra(comm.handle, mcpsim_core::mpi::CommMember::new(comm.local.id(), rank, group.clone())));
    let within = members.clone();
    Ok(CollectivePlan::code(&members, move |p, _| {
        let number = own::greatest(p, &within, Comm::tagged(tag), offer(p, &within))?;
        let handle = p.make_comm(&comm, number, group, None)?;
        // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation completes.
        unsafe { *newcomm = handle };
        Ok(())
    }))
}

/// Checks the tag argument of a function that creates a communicator.
///
/// # Errors
/// MPI_ERR_TAG if the tag is negative.
pub fn message_tag(tag: c_int, comm: &Comm) -> MpiResult<u32> {
    u32::try_from(tag)
        .map_err(|_| MpiError::new(abi::MPI_ERR_TAG, format!("tag {tag}: expected 0 or more")).on_comm(comm.handle))
}

/// Returns the members of `group` whose colour is `colour`, ordered by key and then by rank. `table` contains the
/// colour and the key of each member of the group.
fn of_colour(table: &[u32], colour: u32, group: &Group) -> Group {
    let members = table.chunks_exact(2).zip(0u32..).filter(|(pair, _)| pair[0] == colour);
    let mut members: Vec<(c_int, u32)> = members.map(|(pair, member)| (pair[1] as c_int, member)).collect();
    members.sort_unstable();
    Group::from_ranks(members.into_iter().map(|(_, member)| group.world(member)).collect())
}

fn split(p: &MpiProcess, comm: Handle, colour: c_int, key: c_int, newcomm: *mut Handle) -> MpiResult<CollectivePlan> {
    let comm = p.comm(comm)?;
    error::expect(colour >= 0 || colour == abi::MPI_UNDEFINED, abi::MPI_ERR_ARG, || {
        format!("the colour is {colour}: expected 0 or more, or MPI_UNDEFINED")
    })
    .map_err(|error| error.on_comm(comm.handle))?;
    let old = comm.clone();
    Ok(CollectivePlan::code(&comm, move |p, sequence| {
        let (mine, offered) = (colour as u32, offer(p, &old));
        let (number, local, remote) = match &old.remote {
            None => {
                // The allgather also distributes the identifier of the new communicator.
                let all = own::allgather(p, &old, sequence, &[mine, key as u32, offered])?;
                let table: Vec<u32> = all.chunks_exact(3).flat_map(|member| [member[0], member[1]]).collect();
                (all[2], table, None)
            }
            Some((_, within)) => {
                let table = own::allgather(p, within, Comm::part(sequence, 0), &[mine, key as u32])?;
                let mut told = vec![offered];
                told.extend_from_slice(&table);
                let theirs = own::leaders_tell(p, &old, sequence, &told, 1 + 2 * old.peers().size() as usize)?;
                (theirs[0], table, Some(of_colour(&theirs[1..], mine, old.peers())))
            }
        };
        let handle = if colour == abi::MPI_UNDEFINED {
            abi::MPI_COMM_NULL
        } else {
            p.make_comm(&old, number, of_colour(&local, mine, old.local.group()), remote)?
        };
        // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation completes.
        unsafe { *newcomm = handle };
        Ok(())
    }))
}

/// Returns the colour of the calling rank for MPI_Comm_split_type. The colour is the index of the rank's node.
fn shared(p: &MpiProcess, comm: Handle, split_type: c_int) -> MpiResult<c_int> {
    match split_type {
        abi::MPI_UNDEFINED => Ok(abi::MPI_UNDEFINED),
        abi::MPI_COMM_TYPE_SHARED => Ok(p.job.sites[p.rank as usize].node as c_int),
        _ => {
            let what = format!("the type of split is {split_type}: expected MPI_COMM_TYPE_SHARED or MPI_UNDEFINED");
            Err(MpiError::new(abi::MPI_ERR_ARG, what).on_comm(comm))
        }
    }
}

fn free(p: &MpiProcess, comm: *mut Handle) -> MpiResult {
    // SAFETY: MPI requires the program to pass a valid pointer to a handle.
    let handle = unsafe { *comm };
    let object = p.comm(handle)?;
    error::expect(handle != abi::MPI_COMM_WORLD && handle != abi::MPI_COMM_SELF, abi::MPI_ERR_COMM, || {
        format!("{} cannot be freed: expected a communicator that the program has made", object.describe())
    })
    .map_err(|error| error.on_comm(handle))?;
    let attributes = object.attributes.take();
    p.delete_attributes(handle, attributes).map_err(|error| error.on_comm(handle))?;
    // Pending operations hold a reference to the communicator, so the communicator exists until the operations
    // complete.
    p.comms.borrow_mut().remove(handle);
    // SAFETY: MPI requires the program to pass a valid pointer to a handle.
    unsafe { *comm = abi::MPI_COMM_NULL };
    Ok(())
}

/// Compares two communicators. Returns MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR or MPI_UNEQUAL.
fn compare(a: &Comm, b: &Comm) -> c_int {
    if a.handle == b.handle {
        return abi::MPI_IDENT;
    }
    if a.is_inter() != b.is_inter() {
        return abi::MPI_UNEQUAL;
    }
    let alike = [groups::compare(a.local.group(), b.local.group()), groups::compare(a.peers(), b.peers())];
    if alike.contains(&abi::MPI_UNEQUAL) {
        abi::MPI_UNEQUAL
    } else if alike.contains(&abi::MPI_SIMILAR) {
        abi::MPI_SIMILAR
    } else {
        abi::MPI_CONGRUENT
    }
}

mpi_functions! {
    fn MPI_Comm_dup(p; comm: Handle, newcomm: *mut Handle) {
        dup(p, comm, None, newcomm)?.block(p)
    }
    fn MPI_Comm_dup_with_info(p; comm: Handle, info: Handle, newcomm: *mut Handle) {
        let hints = p.info_argument(info).map_err(|error| error.on_comm(comm))?;
        dup(p, comm, Some(hints), newcomm)?.block(p)
    }
    fn MPI_Comm_idup_with_info(
        p; comm: Handle, info: Handle, newcomm: *mut Handle, request: *mut Handle,
    ) {
        let hints = p.info_argument(info).map_err(|error| error.on_comm(comm))?;
        *request = dup(p, comm, Some(hints), newcomm)?.start(p)?;
        Ok(())
    }
    fn MPI_Comm_idup(p; comm: Handle, newcomm: *mut Handle, request: *mut Handle) {
        *request = dup(p, comm, None, newcomm)?.start(p)?;
        Ok(())
    }
    fn MPI_Comm_create(p; comm: Handle, group: Handle, newcomm: *mut Handle) {
        create(p, comm, group, newcomm)?.block(p)
    }
    fn MPI_Comm_create_group(p; comm: Handle, group: Handle, tag: c_int, newcomm: *mut Handle) {
        create_group(p, comm, group, tag, newcomm)?.block(p)
    }
    fn MPI_Comm_split(p; comm: Handle, color: c_int, key: c_int, newcomm: *mut Handle) {
        split(p, comm, color, key, newcomm)?.block(p)
    }
    fn MPI_Comm_split_type(
        p; comm: Handle, split_type: c_int, key: c_int, _info: Handle, newcomm: *mut Handle,
    ) {
        let colour = shared(p, comm, split_type)?;
        split(p, comm, colour, key, newcomm)?.block(p)
    }
    fn MPI_Comm_free(p; comm: *mut Handle) {
        free(p, comm)
    }
    fn MPI_Comm_disconnect(p; comm: *mut Handle) {
        free(p, comm)
    }
    fn MPI_Comm_get_parent(_p; parent: *mut Handle) {
        *parent = abi::MPI_COMM_NULL;
        Ok(())
    }
    fn MPI_Comm_compare(p; comm1: Handle, comm2: Handle, result: *mut c_int) {
        *result = compare(&*p.comm(comm1)?, &*p.comm(comm2)?);
        Ok(())
    }
    fn MPI_Comm_test_inter(p; comm: Handle, flag: *mut c_int) {
        *flag = c_int::from(p.comm(comm)?.is_inter());
        Ok(())
    }
    fn MPI_Comm_remote_size(p; comm: Handle, size: *mut c_int) {
        *size = p.inter_comm(comm)?.peers().size() as c_int;
        Ok(())
    }
    fn MPI_Comm_set_name(p; comm: Handle, name: *const c_char) {
        let comm = p.comm(comm)?;
        let name = text(name).ok_or_else(|| MpiError::new(abi::MPI_ERR_ARG, "the name is null").on_comm(comm.handle))?;
        comm.set_name(&name);
        Ok(())
    }
    fn MPI_Comm_get_name(p; comm: Handle, name: *mut c_char, length: *mut c_int) {
        let comm = p.comm(comm)?;
        *length = put_text(name, abi::MPI_MAX_OBJECT_NAME, &comm.name.borrow()) as c_int;
        Ok(())
    }
}
