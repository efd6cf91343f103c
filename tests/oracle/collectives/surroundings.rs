//! Expected times of collectives with overheads, with the rendezvous protocol, with late ranks and with concurrent
//! collectives. Tests of the errors for mismatched collectives. Comments give times in ns.

use super::*;

/// Creates nodes on which a send costs 30 ns and a receive costs 7 ns of core time.
fn with_overheads(ranks: u32) -> Platform {
    let costly = Row { send_overhead: ns(30), recv_overhead: ns(7), ..row(L) };
    with_link(ideal(ranks), Level::InterNode, Link::new(Contention::Ideal, Bytes::MAX, ns(L), vec![costly]))
}

#[test]
fn overheads_are_paid_for_every_message_of_a_collective() {
    use Algorithm::{Binomial, Dissemination, Linear, Pairwise};
    // A round of the barrier takes 30 + 1000 + 7 ns.
    assert_eq!(all(&with_overheads(2), Dissemination, Collective::Barrier, 2, &same(0)), [L + 37; 2]);
    assert_eq!(all(&with_overheads(4), Dissemination, Collective::Barrier, 4, &same(0)), [2 * (L + 37); 4]);
    // The root sends to rank 2 and then to rank 1. Rank 2 sends to rank 3.
    let done = all(&with_overheads(4), Binomial, Collective::Bcast, 4, &same(N));
    assert_eq!(done, [60, 60 + M + 7, 30 + M + 7 + 30, 30 + M + 7 + 30 + M + 7]);
    // The two sends of a rank leave one after the other. The receives of a rank complete in the order of arrival, which
    // is M after K + 30 and M after K + 60.
    let done = all(&with_overheads(3), Linear, Collective::Alltoall, 3, &same(N));
    assert_eq!(done, [K + 60 + M + 7; 3]);
    let done = all(&with_overheads(3), Pairwise, Collective::Alltoall, 3, &same(N));
    assert_eq!(done, [K + 2 * (30 + M + 7); 3]);
    // Both messages arrive at the root at the same time, so the overheads of the two receives follow each other.
    let done = all(&with_overheads(3), Linear, Collective::Gather, 3, &same(N));
    assert_eq!(done, [30 + M + 14, 30, 30]);
}

#[test]
fn a_rendezvous_within_a_collective_waits_for_both() {
    let link = Link::new(Contention::Ideal, Bytes::new(100), ns(400), vec![row(L)]);
    let platform = with_link(ideal(3), Level::InterNode, link);
    // The request and the grant of a rendezvous message take 400 ns each. The root of the broadcast waits until the
    // transfers to both other ranks have ended.
    let done = all(&platform, Algorithm::Linear, Collective::Bcast, 3, &same(N));
    assert_eq!(done, [800 + M; 3]);
    // In the binomial tree, the root sends first to rank 2 and then to rank 1.
    let done = all(&platform, Algorithm::Binomial, Collective::Bcast, 3, &same(N));
    assert_eq!(done, [2 * (800 + M), 2 * (800 + M), 800 + M]);
    // A receiver that calls the broadcast late delays the root, which receives the grant at 5000 + 400 ns.
    let bcast = |rank| Line::Collective(part_by(Algorithm::Linear, Collective::Bcast, rank, 2, same(N)));
    let programs = [vec![bcast(0)], vec![Line::Compute(5000), bcast(1)]];
    assert_eq!(line_clocks(&platform, &programs), [5400 + M; 2]);
}

#[test]
fn ranks_that_come_late_are_waited_for() {
    let barrier = |rank| Line::Collective(part_by(Algorithm::Dissemination, Collective::Barrier, rank, 4, same(0)));
    let programs: Vec<_> = (0..4).map(|rank| vec![Line::Compute(u64::from(rank) * 300), barrier(rank)]).collect();
    // The ranks begin at 0, 300, 600 and 900 ns. In the round with distance 1, rank r receives from rank r − 1: rank 0
    // at 1900 ns, rank 1 at 1000 ns, rank 2 at 1300 ns and rank 3 at 1600 ns. In the round with distance 2, rank r
    // receives from rank r − 2: rank 0 from rank 2 at max(1900, 2300) ns, rank 1 from rank 3 at 2600 ns, rank 2 from
    // rank 0 at 2900 ns, and rank 3 from rank 1 at max(1600, 2000) ns.
    assert_eq!(line_clocks(&ideal(4), &programs), [2300, 2600, 2900, 2000]);
}

#[test]
fn a_non_blocking_collective_goes_on_while_its_rank_computes() {
    let allreduce = |rank| part_by(Algorithm::RecursiveDoubling, Collective::Allreduce, rank, 2, same(N));
    let program = |rank, compute| vec![Line::Begin(allreduce(rank)), Line::Compute(compute), Line::WaitAll];
    let whole = K + M + C;
    // Each rank ends when both the nonblocking collective and the rank's computation have ended.
    assert_eq!(line_clocks(&ideal(2), &[program(0, 100), program(1, 50_000)]), [whole, 50_000]);
    assert_eq!(line_clocks(&ideal(2), &[program(0, 0), program(1, whole)]), [whole, whole]);
    // Rank 1 begins at 2000 ns, and rank 0 waits for it. The data of rank 0 arrive at rank 1 at K + M = 3880, before
    // rank 1 has copied its own data at 3920 ns.
    let late = vec![Line::Compute(2000), Line::Begin(allreduce(1)), Line::WaitAll];
    assert_eq!(line_clocks(&ideal(2), &[program(0, 100), late]), [2000 + whole, 2000 + K + C]);
}

#[test]
fn outstanding_collectives_of_one_communicator_do_not_mix() {
    use Algorithm::{Binomial, Dissemination, Linear};
    let bcast = |rank, size| Line::Begin(part_by(Binomial, Collective::Bcast, rank, 2, same(size)));
    // Two broadcasts run concurrently, and the larger broadcast starts first. The ranks wait for the broadcasts in
    // different orders. The data of each broadcast arrive at L plus the size.
    let program = |rank, waits: [usize; 2]| {
        vec![bcast(rank, 2000), bcast(rank, 100), Line::Wait(waits[0]), Line::Compute(10_000), Line::Wait(waits[1])]
    };
    // The computation of each rank starts when the first wait returns.
    assert_eq!(line_clocks(&ideal(2), &[program(0, [0, 0]), program(1, [0, 0])]), [10_000, 13_000]);
    assert_eq!(line_clocks(&ideal(2), &[program(0, [0, 0]), program(1, [1, 0])]), [10_000, 11_100]);

    // Three nonblocking collectives of different kinds run concurrently with a blocking collective. The blocking
    // collective ends at 2 L, although its ranks have not waited for the nonblocking collectives.
    let program = |rank, ranks| {
        let of = |algorithm, collective, size| part_by(algorithm, collective, rank, ranks, same(size));
        vec![
            Line::Begin(of(Binomial, Collective::Reduce, N)),
            Line::Begin(of(Linear, Collective::Gather, N)),
            Line::Collective(of(Dissemination, Collective::Barrier, 0)),
            Line::Begin(of(Binomial, Collective::Bcast, 50)),
            Line::WaitAll,
        ]
    };
    // At rank 0, the reduce takes M + 2 C and the gather takes M. Ranks 1 and 2 end when the data of the bcast, which
    // begins at 2 L, have arrived.
    let programs: Vec<_> = (0..3).map(|rank| program(rank, 3)).collect();
    assert_eq!(line_clocks(&ideal(3), &programs), [M + 2 * C, 2 * L + L + 50, 2 * L + L + 50]);
}

#[test]
fn communicators_keep_their_collectives_apart() {
    let comm = |id, rank, group: &Group| CommMember::new(id, rank, group.clone());
    let bcast = |comm, root, size| CollectiveCall {
        collective: Collective::Bcast,
        comm,
        root,
        sizes: same(size),
        algorithm: Some(Algorithm::Chain),
    };
    // The even ranks and the odd ranks of six ranks broadcast concurrently. The chain 0 → 2 → 4 moves N bytes, and the
    // chain 1 → 3 → 5 moves 500 bytes.
    let (even, odd) =
        (Group::Strided { first: 0, stride: 2, size: 3 }, Group::Strided { first: 1, stride: 2, size: 3 });
    let program = |rank: u32| {
        let (group, size) = if rank.is_multiple_of(2) { (&even, N) } else { (&odd, 500) };
        vec![Line::Collective(bcast(comm(1, rank / 2, group), 0, size))]
    };
    let programs: Vec<_> = (0..6).map(program).collect();
    assert_eq!(line_clocks(&ideal(6), &programs), [0, 0, M, L + 500, 2 * M, 2 * (L + 500)]);

    // The members of the communicator are the world ranks 3, 0, 2 in this order. The root is member 1, which is world
    // rank 0. The chain is therefore 0 → 2 → 3.
    let listed = Group::from_ranks([3, 0, 2].into());
    let mut programs = vec![Vec::new(); 4];
    for (member, rank) in [3, 0, 2].into_iter().enumerate() {
        programs[rank] = vec![Line::Collective(bcast(comm(1, member as u32, &listed), 1, N))];
    }
    assert_eq!(line_clocks(&ideal(4), &programs), [0, 0, M, 2 * M]);

    // The ranks belong to two communicators and execute the same kind of collective on both communicators concurrently.
    // The messages between the same ranks have different sizes.
    let (pair, turned) = (Group::Strided { first: 0, stride: 1, size: 2 }, Group::from_ranks([1, 0].into()));
    let program = |rank: u32| {
        vec![
            Line::Begin(bcast(comm(1, rank, &pair), 0, 2000)),
            Line::Begin(bcast(comm(2, 1 - rank, &turned), 1, 100)),
            Line::Wait(1),
            Line::WaitAll,
        ]
    };
    // Both collectives send a message from rank 0 to rank 1, and the short message leaves second.
    assert_eq!(line_clocks(&ideal(2), &[program(0), program(1)]), [0, L + 2000]);
}

/// Runs programs of ranks that must deadlock. Returns each waiting rank with its call and the ranks for which it waits.
fn stuck(programs: &[Vec<Line>]) -> Vec<(u32, String, Vec<String>)> {
    let ended = |workers| match run_lines(&ideal(programs.len() as u32), programs, workers) {
        Err(RunError::Deadlock(deadlock)) => deadlock,
        other => panic!("a deadlock is expected, not {other:?}"),
    };
    let deadlock = ended(1);
    assert_eq!(deadlock, ended(2), "one and two workers");
    deadlock.waiting.into_iter().map(|Waiting { rank, call, awaits, .. }| (rank, call, awaits)).collect()
}

#[test]
fn ranks_that_call_different_collectives_wait_for_ever_and_are_named() {
    let line = |collective, rank, root| Line::Collective(CollectiveCall { root, ..part(collective, rank, 2, same(N)) });
    // Both ranks wait for a message. Rank 0 waits for rank 1, the root of the bcast, and rank 1 waits for the other
    // rank of its reduce.
    let programs = [vec![line(Collective::Bcast, 0, 1)], vec![line(Collective::Reduce, 1, 1)]];
    let found = stuck(&programs);
    assert_eq!(
        found.iter().map(|(rank, call, _)| (*rank, call.as_str())).collect::<Vec<_>>(),
        [(0, "bcast"), (1, "reduce")]
    );
    assert!(found[0].2[0].contains("rank 1") && found[1].2[0].contains("rank 0"), "{found:?}");

    // The root of a bcast only sends and continues. Rank 1 waits for the root's message.
    let programs = [vec![line(Collective::Bcast, 0, 0)], vec![line(Collective::Reduce, 1, 1)]];
    let found = stuck(&programs);
    assert_eq!((found.len(), found[0].0, found[0].1.as_str()), (1, 1, "reduce"));

    // One rank starts one more nonblocking barrier than the other rank. The error for the wait names the awaited rank.
    let barrier = |rank| Line::Begin(part(Collective::Barrier, rank, 2, same(0)));
    let found = stuck(&[vec![barrier(0), barrier(0), Line::WaitAll], vec![barrier(1), Line::WaitAll]]);
    assert_eq!((found.len(), found[0].0, found[0].1.as_str()), (1, 0, "wait"));
    assert!(found[0].2.iter().any(|text| text.contains("rank 1")), "{found:?}");

    // One rank calls a blocking barrier and the other a nonblocking barrier. MPI forbids this (MPI-3.1, section 5.12),
    // but the messages of both barriers are equal, so the run succeeds.
    let programs = [vec![barrier(0), Line::WaitAll], vec![line(Collective::Barrier, 1, 0)]];
    assert_eq!(line_clocks(&ideal(2), &programs), [L; 2]);
}
