//! Data sizes of collectives, derived from the byte counts of Score-P.
//!
//! Score-P's event `MPI_COLLECTIVE_END` contains the numbers of bytes that a rank sent and received. Score-P counts
//! bytes as if the owner of a block sent the block directly to each receiver, including itself. In this table N is the
//! number of members:
//!
//! | collective | sent | received |
//! |---|---|---|
//! | bcast | root: N blocks | one block |
//! | gather(v), reduce | one block | root: all blocks |
//! | scatter(v) | root: all blocks | one block |
//! | allgather(v), allreduce | N times its block | all blocks |
//! | alltoall | N blocks | N blocks |
//! | alltoallv | all that it sends | all that it receives |
//! | reduce_scatter | all blocks | N times its block |
//! | scan (exscan) | to itself and higher ranks (higher ranks) | from itself and lower ranks (lower ranks) |
//!
//! With `MPI_IN_PLACE`, the block that a rank would send to itself is not counted. If the byte counts do not show
//! whether a rank used `MPI_IN_PLACE`, mcpsim assumes N blocks if the number of bytes is divisible by N.

use std::sync::Arc;

use super::rank::MAKES_COMM;
use super::{CommMembers, Definitions, Otf2Collective, RankActions, error};
use crate::mpi::Sizes;
use crate::platform::Collective;
use crate::trace::import::ImportError;
use crate::units::Bytes;

/// Data sizes of a collective, derived from the byte counts of every member.
#[derive(Clone, Debug)]
pub(super) enum MemberSizes {
    /// Only the byte counts of this rank are known. No other member takes part, or the byte counts of the members have
    /// not been combined yet.
    Own,
    Same(u64),
    Each(Arc<[Bytes]>),
    /// Number of bytes that each member receives. The data of a sender are divided among the receivers in the same
    /// proportions.
    Spread(Arc<[Bytes]>),
}

/// Collective that corresponds to OTF2's operation identifier in `joined`.
pub(super) fn collective(joined: &Otf2Collective) -> Option<Collective> {
    use Collective as C;
    const BY_NUMBER: [Collective; 17] = [
        C::Barrier,
        C::Bcast,
        C::Gather,
        C::Gatherv,
        C::Scatter,
        C::Scatterv,
        C::Allgather,
        C::Allgatherv,
        C::Alltoall,
        C::Alltoallv,
        C::Alltoallv,
        C::Allreduce,
        C::Reduce,
        C::ReduceScatter,
        C::Scan,
        C::Exscan,
        C::ReduceScatter,
    ];
    if joined.op == MAKES_COMM {
        // To create a communicator, members exchange colour and key or agree on an identifier, as in recorded runs.
        return Some(if splits(joined) { C::Allgather } else { C::Allreduce });
    }
    BY_NUMBER.get(joined.op as usize).copied()
}

fn splits(joined: &Otf2Collective) -> bool {
    joined.function.is_some_and(|function| function.name().starts_with("MPI_Comm_split"))
}

impl Otf2Collective {
    /// Data sizes that member `member` of a communicator with `count` members passes to the collective.
    pub fn sizes(&self, collective: Collective, member: u32, count: u32) -> Sizes {
        let own = |all: &[Bytes]| all.get(member as usize).copied().unwrap_or(Bytes::ZERO);
        match &self.member_sizes {
            MemberSizes::Own if collective == Collective::Alltoallv => {
                Sizes::Each(vec![Bytes::new(self.sent); count as usize].into())
            }
            MemberSizes::Own => Sizes::Same(Bytes::new(self.sent.max(self.received))),
            MemberSizes::Same(size) if collective == Collective::ReduceScatter => {
                Sizes::Each(vec![Bytes::new(*size); count as usize].into())
            }
            MemberSizes::Same(size) => Sizes::Same(Bytes::new(*size)),
            // Ranks other than the root know only the size of their own block.
            MemberSizes::Each(all)
                if matches!(collective, Collective::Gatherv | Collective::Scatterv) && member != self.root =>
            {
                Sizes::Same(own(all))
            }
            MemberSizes::Each(all) => Sizes::Each(all.clone()),
            MemberSizes::Spread(all) => {
                let total: u128 = all.iter().map(|size| u128::from(size.get())).sum();
                let share = |size: &Bytes| u128::from(self.sent) * u128::from(size.get()) / total.max(1);
                Sizes::Each(all.iter().map(|size| Bytes::new(share(size) as u64)).collect())
            }
        }
    }
}

/// Derives the data sizes of each collective from the byte counts of its members. Returns whether the sizes of an
/// alltoallv were estimated.
pub(super) fn combine_members(definitions: &Definitions, ranks: &mut [RankActions]) -> Result<bool, ImportError> {
    let mut estimated = false;
    for (&comm, members) in &definitions.comms {
        let CommMembers::Group(group) = members else { continue };
        let count = group.size();
        if count < 2 {
            continue;
        }
        let places: Vec<Vec<usize>> = group
            .ranks()
            .map(|rank| {
                let all = &ranks[rank as usize].collectives;
                (0..all.len()).filter(|at| all[*at].comm == comm && all[*at].op != u32::MAX).collect()
            })
            .collect();
        let world: Vec<usize> = group.ranks().map(|rank| rank as usize).collect();
        let most = places.iter().map(Vec::len).max().unwrap_or(0);
        for turn in 0..most {
            let mut called: Vec<&Otf2Collective> = Vec::with_capacity(count as usize);
            for (&rank, places) in world.iter().zip(&places) {
                let Some(&place) = places.get(turn) else {
                    let what = format!("rank {rank} takes no part in collective {turn} of communicator {comm}");
                    return Err(error(format!("{what}, others do")));
                };
                called.push(&ranks[rank].collectives[place]);
            }
            let first = called[0];
            if let Some(other) = called.iter().position(|one| (one.op, one.root) != (first.op, first.root)) {
                let (a, b) = (world[0], world[other]);
                let what = format!("collective {turn} of communicator {comm}");
                return Err(error(format!("{what} is another one for rank {a} than for rank {b}")));
            }
            let member_sizes = derive_sizes(&called).map_err(|what| {
                let name = first.function.map_or("a collective", |function| function.name());
                error(format!("{name}, collective {turn} of communicator {comm}: {what}"))
            })?;
            estimated |= matches!(member_sizes, MemberSizes::Spread(_));
            for (&rank, places) in world.iter().zip(&places) {
                ranks[rank].collectives[places[turn]].member_sizes = member_sizes.clone();
            }
        }
    }
    Ok(estimated)
}

/// Derives the data sizes of a collective from the byte counts of at least two members.
fn derive_sizes(called: &[&Otf2Collective]) -> Result<MemberSizes, String> {
    use Collective as C;
    let first = called[0];
    let count = called.len() as u64;
    let (sent, received) = (|one: &&Otf2Collective| one.sent, |one: &&Otf2Collective| one.received);
    let each =
        |of: &dyn Fn(&&Otf2Collective) -> u64| called.iter().map(|one| Bytes::new(of(one))).collect::<Arc<[Bytes]>>();
    let most = |of: &dyn Fn(&&Otf2Collective) -> u64| called.iter().map(of).max().unwrap_or(0);
    let sum = |of: &dyn Fn(&&Otf2Collective) -> u64| called.iter().map(|one| u128::from(of(one))).sum::<u128>();
    let whole = |bytes: u64, parts: u64| match bytes % parts {
        0 => Ok(bytes / parts),
        _ => Err(format!("expected {parts} blocks, as Score-P counts them; found {bytes} bytes")),
    };
    // Size of one of N blocks, or of one of N − 1 blocks with MPI_IN_PLACE.
    let blocks = |bytes: u64| if bytes.is_multiple_of(count) { Ok(bytes / count) } else { whole(bytes, count - 1) };
    if first.op == MAKES_COMM {
        return Ok(MemberSizes::Same(if splits(first) { 12 } else { 4 }));
    }
    let collective = collective(first).ok_or_else(|| format!("OTF2's collective {} is not replayed", first.op))?;
    let root = first.root as usize;
    if matches!(collective, C::Bcast | C::Reduce | C::Gather | C::Gatherv | C::Scatter | C::Scatterv)
        && root >= called.len()
    {
        return Err(format!("expected a root up to {}; found {root}", called.len() - 1));
    }
    // Sizes of the blocks of every member. The root's own block is the root's total minus the other blocks. With
    // MPI_IN_PLACE, Score-P does not count the root's own block.
    Ok(match collective {
        C::Barrier => MemberSizes::Same(0),
        C::Bcast => MemberSizes::Same(most(&received)),
        C::Gather | C::Reduce => MemberSizes::Same(most(&|one| if one.received > 0 { 0 } else { one.sent })),
        C::Scatter => MemberSizes::Same(most(&received)),
        C::Gatherv => MemberSizes::Each(each(&sent)),
        C::Scatterv => MemberSizes::Each(each(&received)),
        C::Allgather | C::Allreduce | C::Alltoall => MemberSizes::Same(blocks(most(&sent))?),
        C::Allgatherv => {
            let parts = if sum(&sent) == u128::from(count) * u128::from(most(&received)) { count } else { count - 1 };
            let all: Result<Vec<u64>, String> = called.iter().map(|one| whole(one.sent, parts)).collect();
            MemberSizes::Each(all?.into_iter().map(Bytes::new).collect())
        }
        C::ReduceScatter if first.op == 16 => MemberSizes::Same(blocks(most(&received))?),
        C::ReduceScatter => {
            let parts = if sum(&received) == u128::from(count) * u128::from(most(&sent)) { count } else { count - 1 };
            let all: Result<Vec<u64>, String> = called.iter().map(|one| whole(one.received, parts)).collect();
            MemberSizes::Each(all?.into_iter().map(Bytes::new).collect())
        }
        // Rank 0 receives its own block, or nothing with MPI_IN_PLACE.
        C::Scan if first.received > 0 => MemberSizes::Same(first.received),
        C::Scan | C::Exscan => MemberSizes::Same(whole(first.sent, count - 1)?),
        C::Alltoallv => MemberSizes::Spread(each(&received)),
    })
}
