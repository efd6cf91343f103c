//! Checks the engine calls that `MpiDriver` makes for the actions of an MPI program.

use super::engine::{Ran, Script, collective, platform, run, same, world};
use crate::{CollectiveCall, CommMember, Group, MpiCall, MpiDriver, Sizes, check_rules};
use mcpsim_base::platform::{Algorithm, Collective};
use mcpsim_base::rank::{Call, CollectiveEntry};
use mcpsim_base::units::{Bytes, SimSpan};

fn each(sizes: &[u64]) -> Sizes {
    Sizes::Each(sizes.iter().map(|&size| Bytes::new(size)).collect())
}

fn blocking(size: u32, call: impl Fn(u32) -> CollectiveCall) -> Ran {
    run(&platform(&[]), (0..size).map(|rank| vec![MpiCall::Collective(call(rank))]).collect())
}

/// Sender, receiver and size in bytes of each message, sorted.
fn sizes(ran: &Ran) -> Vec<(u32, u32, u64)> {
    let mut sizes: Vec<_> = ran.messages.iter().map(|&(from, to, size, _)| (from, to, size)).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn an_allreduce_enters_copies_exchanges_combines_and_leaves() {
    let ran = blocking(4, |rank| collective(Collective::Allreduce, rank, 4, same(1000)));
    // A copy of 1000 bytes moves 2000 bytes, a combination moves 3000 bytes; the memory bandwidth is 1 GB/s.
    let expected = [
        "Enter MPI_Allreduce",
        "Compute 2.000 us",
        "Exchange",
        "Compute 3.000 us",
        "Exchange",
        "Compute 3.000 us",
        "Leave",
        "Finish",
    ];
    assert!(ran.calls.iter().all(|calls| calls == &expected), "{:?}", ran.calls);
}

#[test]
fn data_of_no_size_costs_no_computation() {
    let ran = blocking(2, |rank| collective(Collective::Allreduce, rank, 2, same(0)));
    assert_eq!(ran.calls[0], ["Enter MPI_Allreduce", "Exchange", "Leave", "Finish"]);
}

#[test]
fn a_communicator_of_one_rank_needs_no_messages() {
    for which in crate::rules::tests::COLLECTIVES {
        for &algorithm in crate::schedule::suitable(which) {
            let ran = blocking(1, |rank| CollectiveCall {
                algorithm: Some(algorithm),
                ..collective(which, rank, 1, same(100))
            });
            assert!(ran.messages.is_empty() && ran.failed.is_empty(), "{which:?} {algorithm:?}");
            assert_eq!(ran.calls[0].last().unwrap(), "Finish");
            assert!(!ran.calls[0].contains(&"Complete".to_owned()));
        }
    }
}

#[test]
fn every_collective_ends_for_any_size_blocking_or_not() {
    for which in crate::rules::tests::COLLECTIVES {
        let suitable = crate::schedule::suitable(which).iter();
        for &algorithm in suitable.filter(|&&algorithm| algorithm != Algorithm::TwoProcs) {
            for bytes in [0, 1, 8, 100_003] {
                let call =
                    |rank| CollectiveCall { algorithm: Some(algorithm), ..collective(which, rank, 6, same(bytes)) };
                let scripts =
                    (0..6).map(|rank| vec![MpiCall::StartCollective(call(rank)), MpiCall::Collective(call(rank))]);
                let ran = run(&platform(&[]), scripts.collect());
                assert!(ran.stuck.is_empty() && ran.failed.is_empty(), "{which:?} {algorithm:?} {bytes}: {ran:?}");
                assert!(ran.calls.iter().all(|calls| calls.last().unwrap() == "Finish"));
            }
        }
    }
}

#[test]
fn the_platform_chooses_before_the_defaults_and_the_call_before_both() {
    let rules = platform(&[(Collective::Bcast, Algorithm::Linear)]);
    let root_sends = |size, algorithm| {
        let call = |rank| CollectiveCall { algorithm, ..collective(Collective::Bcast, rank, 8, same(size)) };
        let ran = run(&rules, (0..8).map(|rank| vec![MpiCall::Collective(call(rank))]).collect());
        ran.messages.iter().filter(|(from, ..)| *from == 0).count()
    };
    assert_eq!(root_sends(1000, None), 7, "linear by the platform's rule up to 1000 bytes");
    assert_eq!(root_sends(1001, None), 3, "binomial by default beyond");
    assert_eq!(root_sends(1000, Some(Algorithm::Chain)), 1, "a chain as the call insists");
}

#[test]
fn a_communicator_s_members_are_addressed_by_their_world_ranks() {
    let scripts = (0..5).map(|rank| {
        let group = Group::from_ranks(vec![4, 1, 3]);
        let Some(member) = group.member(rank) else { return Vec::new() };
        vec![MpiCall::Collective(CollectiveCall {
            comm: CommMember::new(7, member, group),
            root: 2,
            algorithm: Some(Algorithm::Linear),
            ..collective(Collective::Bcast, 0, 1, same(10))
        })]
    });
    assert_eq!(sizes(&run(&platform(&[]), scripts.collect())), [(3, 1, 10), (3, 4, 10)]);
}

#[test]
fn varying_sizes_go_where_they_belong() {
    let mine = [[0, 1, 2], [10, 11, 12], [20, 21, 22]];
    let ran = blocking(3, |rank| collective(Collective::Alltoallv, rank, 3, each(&mine[rank as usize])));
    assert_eq!(sizes(&ran), [(0, 1, 1), (0, 2, 2), (1, 0, 10), (1, 2, 12), (2, 0, 20), (2, 1, 21)]);

    let ran = blocking(3, |rank| collective(Collective::Gatherv, rank, 3, same(u64::from(rank) * 10)));
    assert_eq!(sizes(&ran), [(1, 0, 10), (2, 0, 20)]);

    let ran = blocking(3, |rank| {
        let sizes = if rank == 0 { each(&[5, 6, 7]) } else { same(5 + u64::from(rank)) };
        collective(Collective::Scatterv, rank, 3, sizes)
    });
    assert_eq!(sizes(&ran), [(0, 1, 6), (0, 2, 7)]);

    let ran = blocking(3, |rank| CollectiveCall {
        algorithm: Some(Algorithm::Ring),
        ..collective(Collective::Allgatherv, rank, 3, each(&[5, 6, 7]))
    });
    assert_eq!(sizes(&ran), [(0, 1, 5), (0, 1, 7), (1, 2, 5), (1, 2, 6), (2, 0, 6), (2, 0, 7)]);

    let ran = blocking(2, |rank| collective(Collective::ReduceScatter, rank, 2, each(&[5, 6])));
    assert_eq!(sizes(&ran), [(0, 1, 6), (1, 0, 5)]);
}

#[test]
fn what_is_wrong_with_a_collective_is_said() {
    let failure = |call: CollectiveCall| run(&platform(&[]), vec![vec![MpiCall::Collective(call)], vec![]]).failed;
    let good = |which, sizes| collective(which, 0, 2, sizes);
    for (call, text) in [
        (
            CollectiveCall { algorithm: Some(Algorithm::Chain), ..good(Collective::Alltoallv, same(1)) },
            "MPI_Alltoallv: algorithm \"chain\" does not suit alltoallv: expected one of pairwise, linear",
        ),
        (
            CollectiveCall { root: 2, ..good(Collective::Gather, same(1)) },
            "MPI_Gather: root 2 of gather: expected a rank of the communicator, which has 2",
        ),
        (
            good(Collective::Bcast, each(&[1, 2])),
            "MPI_Bcast: sizes of bcast: expected one size for all ranks; found a list of 2",
        ),
        (
            good(Collective::Allgatherv, each(&[1, 2, 3])),
            "MPI_Allgatherv: sizes of allgatherv: expected 2, one per rank of the communicator; found 3",
        ),
    ] {
        assert_eq!(failure(call), [text]);
    }
}

#[test]
fn a_platform_s_rule_that_does_not_suit_is_found_before_the_run() {
    assert_eq!(check_rules(&platform(&[(Collective::Scan, Algorithm::Chain)])), Ok(()));
    let wrong = platform(&[(Collective::Scan, Algorithm::Chain), (Collective::Barrier, Algorithm::Ring)]);
    assert_eq!(
        check_rules(&wrong).unwrap_err().to_string(),
        "collectives.barrier[0] of platform tiny: algorithm \"ring\" does not suit barrier: \
         expected one of dissemination, binomial, recursive_doubling, linear, double_ring, two_procs, node_aware"
    );
}

#[test]
fn other_calls_pass_untouched() {
    let calls = || {
        vec![
            MpiCall::Call(Call::Compute(SimSpan::from_ns(7))),
            MpiCall::Call(Call::Enter(CollectiveEntry::named("main"))),
        ]
    };
    let ran = run(&platform(&[]), vec![calls()]);
    assert_eq!(ran.calls[0], ["Compute 7.000 ns", "Enter main", "Finish"]);
}

#[test]
fn a_process_without_a_collective_under_way_is_small() {
    assert!(size_of::<MpiDriver<Script>>() - size_of::<Script>() <= 64);
    let _ = world(0, 1);
}
