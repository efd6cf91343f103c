//! MPI_Intercomm_create, which creates an intercommunicator from two groups, and MPI_Intercomm_merge, which creates an
//! intracommunicator from an intercommunicator (MPI-3.1, section 6.6.2).
#![allow(unsafe_code)]

use std::ffi::c_int;

use super::comms::{message_tag, offer};
use crate::mpi_api::collective::{CollectiveMessages, CollectivePlan, own};
use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi::{self, Handle};

fn create(
    p: &MpiProcess,
    (local_comm, local_leader): (Handle, c_int),
    (peer_comm, remote_leader): (Handle, c_int),
    tag: c_int,
    newcomm: *mut Handle,
) -> MpiResult<CollectivePlan> {
    let comm = p.intra_comm(local_comm)?;
    comm.peer(local_leader)?;
    let leader = local_leader as u32;
    let tag = message_tag(tag, &comm)?;
    // The arguments for the peer communicator and the remote leader are significant only at the local leader.
    let bridge = if comm.rank() == leader {
        let bridge = p.comm(peer_comm)?;
        bridge.peer(remote_leader)?;
        Some((bridge, remote_leader as u32))
    } else {
        None
    };
    let old = comm.clone();
    Ok(CollectivePlan::code(&comm, move |p, sequence| {
        let local = old.local.group();
        let (mut head, mut theirs) = ([0; 2], Vec::new());
        if let Some((bridge, to)) = &bridge {
            let number = p.new_comm();
            let mine: Vec<u32> = [number].into_iter().chain(local.ranks()).collect();
            let letters = CollectiveMessages::new(p, bridge, Comm::tagged(tag));
            theirs = own::unpacked(&letters.exchange(*to, own::packed(&mine)));
            head = [number.max(theirs.remove(0)), theirs.len() as u32];
        }
        own::bcast(p, &old, sequence, leader, &mut head)?;
        theirs.resize(head[1] as usize, 0);
        own::bcast(p, &old, old.next_sequence(), leader, &mut theirs)?;
        let remote = Group::from_ranks(theirs);
        if let Some(both) = remote.ranks().find(|&rank| local.member(rank).is_some()) {
            let what =
                format!("rank {both} of MPI_COMM_WORLD is in both groups: expected groups without common members");
            return Err(MpiError::new(abi::MPI_ERR_COMM, what).on_comm(old.handle));
        }
        let handle = p.make_comm(&old, head[0], local.clone(), Some(remote))?;
        // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation completes.
        unsafe { *newcomm = handle };
        Ok(())
    }))
}

fn merge(p: &MpiProcess, inter: Handle, high: bool, newcomm: *mut Handle) -> MpiResult<CollectivePlan> {
    let comm = p.inter_comm(inter)?;
    let old = comm.clone();
    Ok(CollectivePlan::code(&comm, move |p, sequence| {
        let (local, remote) = (old.local.group(), old.peers());
        let mine = [offer(p, &old), u32::from(high)];
        let theirs = own::leaders_tell(p, &old, sequence, &mine, mine.len())?;
        // If both groups pass the same `high` argument, the implementation may choose the order of the groups.
        let first = if theirs[1] == mine[1] { local.world(0) < remote.world(0) } else { !high };
        let (first, second) = if first { (local, remote) } else { (remote, local) };
        let all = Group::from_ranks(first.ranks().chain(second.ranks()).collect());
        let handle = p.make_comm(&old, theirs[0], all, None)?;
        // SAFETY: MPI requires the program to pass a result pointer that remains valid until the operation completes.
        unsafe { *newcomm = handle };
        Ok(())
    }))
}

mpi_functions! {
    fn MPI_Intercomm_create(
        p; local_comm: Handle, local_leader: c_int, peer_comm: Handle, remote_leader: c_int, tag: c_int,
        newintercomm: *mut Handle,
    ) {
        create(p, (local_comm, local_leader), (peer_comm, remote_leader), tag, newintercomm)?.block(p)
    }
    fn MPI_Intercomm_merge(p; intercomm: Handle, high: c_int, newintracomm: *mut Handle) {
        merge(p, intercomm, high != 0, newintracomm)?.block(p)
    }
}
