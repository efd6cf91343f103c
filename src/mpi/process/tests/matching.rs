//! Checks that the messages of different collectives do not match each other.

use super::engine::{collective, platform, run, same};
use crate::{CollectiveCall, MpiCall};
use mcpsim_base::platform::Collective;

#[test]
fn outstanding_collectives_of_one_communicator_do_not_mix() {
    // Sizes decrease from one collective to the next, so a message of another collective would not fit into the
    // receive buffer.
    let scripts = (0..5).map(|rank| {
        let call = |which, size| collective(which, rank, 5, same(size));
        vec![
            MpiCall::StartCollective(call(Collective::Allreduce, 800)),
            MpiCall::StartCollective(call(Collective::Allreduce, 400)),
            MpiCall::Collective(call(Collective::Bcast, 200)),
            MpiCall::StartCollective(call(Collective::Barrier, 0)),
        ]
    });
    let ran = run(&platform(&[]), scripts.collect());
    assert!(ran.stuck.is_empty() && ran.failed.is_empty());
    assert!(ran.calls.iter().all(|calls| calls.last().unwrap() == "Finish"));
    assert_eq!(ran.calls[0][..3], ["Start", "Start", "Enter MPI_Bcast"]);
    let mut tags: Vec<u32> = ran.messages.iter().map(|(.., tag)| *tag).collect();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(tags.len(), 4, "a tag a collective");
}

#[test]
fn mismatched_collectives_never_match() {
    let scripts = (0..2).map(|rank| {
        let which = if rank == 0 { Collective::Bcast } else { Collective::Reduce };
        vec![MpiCall::Collective(collective(which, rank, 2, same(8)))]
    });
    let ran = run(&platform(&[]), scripts.collect());
    assert_eq!(ran.stuck.into_iter().collect::<Vec<_>>(), [(0, "MPI_Bcast"), (1, "MPI_Reduce")]);
}

#[test]
fn collectives_in_another_order_never_match() {
    let scripts = (0..2).map(|rank| {
        let (first, second) =
            if rank == 0 { (Collective::Scan, Collective::Barrier) } else { (Collective::Barrier, Collective::Scan) };
        let call = |which| MpiCall::Collective(collective(which, rank, 2, same(8)));
        vec![call(first), call(second)]
    });
    assert_eq!(run(&platform(&[]), scripts.collect()).stuck.len(), 2);
}

#[test]
fn each_communicator_counts_its_own_collectives() {
    // Only rank 1 has already begun a collective on MPI_COMM_SELF.
    let scripts = (0..2).map(|rank| {
        let mut script = Vec::new();
        if rank == 1 {
            let alone = crate::Group::Strided { first: 1, stride: 1, size: 1 };
            let comm = crate::CommMember::new(5, 0, alone);
            script.push(MpiCall::Collective(CollectiveCall { comm, ..collective(Collective::Scan, 0, 1, same(8)) }));
        }
        script.push(MpiCall::Collective(collective(Collective::Scan, rank, 2, same(8))));
        script
    });
    assert!(run(&platform(&[]), scripts.collect()).stuck.is_empty());
}
