//! How much data collectives moved, from what Score-P counts of them.
//!
//! Score-P's `MPI_COLLECTIVE_END` has the bytes that a rank sent and received as if every block went straight from its
//! owner to who gets it, own blocks included, of N members:
//!
//! | collective | sent | received |
//! |---|---|---|
//! | bcast | root: N blocks | a block |
//! | gather(v), reduce | a block | root: all blocks |
//! | scatter(v) | root: all blocks | a block |
//! | allgather(v), allreduce | N times its block | all blocks |
//! | alltoall | N blocks | N blocks |
//! | alltoallv | all that it sends | all that it gets |
//! | reduce_scatter | all blocks | N times its block |
//! | scan (exscan) | to itself and those above (above) | from itself and those below (below) |
//!
//! With `MPI_IN_PLACE` a rank's block to itself does not count. Where a rank alone cannot tell, N blocks are assumed if
//! the sizes divide by N.

use std::sync::Arc;

use super::rank::MAKES_COMM;
use super::{Definitions, Joined, Members, RankDeeds, error};
use crate::mpi::Sizes;
use crate::platform::Collective;
use crate::trace::import::ImportError;
use crate::units::Bytes;

/// The sizes that all members together tell.
#[derive(Clone, Debug)]
pub(super) enum Agreed {
    /// Nobody else takes part, or nothing is known yet.
    Own,
    Same(u64),
    Each(Arc<[Bytes]>),
    /// What each gets of all that is sent: a rank's data are divided in the same proportions.
    Spread(Arc<[Bytes]>),
}

/// Which collective OTF2's number is.
pub(super) fn collective(joined: &Joined) -> Option<Collective> {
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
        // As recorded runs have it: members tell each other colour and key, or agree on a number.
        return Some(if splits(joined) { C::Allgather } else { C::Allreduce });
    }
    BY_NUMBER.get(joined.op as usize).copied()
}

fn splits(joined: &Joined) -> bool {
    joined.function.is_some_and(|function| function.name().starts_with("MPI_Comm_split"))
}

impl Joined {
    /// The sizes that member `member` of a communicator of `count` gives.
    pub fn sizes(&self, collective: Collective, member: u32, count: u32) -> Sizes {
        let own = |all: &[Bytes]| all.get(member as usize).copied().unwrap_or(Bytes::ZERO);
        match &self.agreed {
            Agreed::Own if collective == Collective::Alltoallv => {
                Sizes::Each(vec![Bytes::new(self.sent); count as usize].into())
            }
            Agreed::Own => Sizes::Same(Bytes::new(self.sent.max(self.received))),
            Agreed::Same(size) if collective == Collective::ReduceScatter => {
                Sizes::Each(vec![Bytes::new(*size); count as usize].into())
            }
            Agreed::Same(size) => Sizes::Same(Bytes::new(*size)),
            // Others than the root know only their own block.
            Agreed::Each(all)
                if matches!(collective, Collective::Gatherv | Collective::Scatterv) && member != self.root =>
            {
                Sizes::Same(own(all))
            }
            Agreed::Each(all) => Sizes::Each(all.clone()),
            Agreed::Spread(all) => {
                let total: u128 = all.iter().map(|size| u128::from(size.get())).sum();
                let share = |size: &Bytes| u128::from(self.sent) * u128::from(size.get()) / total.max(1);
                Sizes::Each(all.iter().map(|size| Bytes::new(share(size) as u64)).collect())
            }
        }
    }
}

/// Brings together what members tell of each collective; whether sizes of an alltoallv were estimated.
pub(super) fn agree(definitions: &Definitions, ranks: &mut [RankDeeds]) -> Result<bool, ImportError> {
    let mut estimated = false;
    for (&comm, members) in &definitions.comms {
        let Members::Group(group) = members else { continue };
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
            let mut called: Vec<&Joined> = Vec::with_capacity(count as usize);
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
            let agreed = together(&called).map_err(|what| {
                let name = first.function.map_or("a collective", |function| function.name());
                error(format!("{name}, collective {turn} of communicator {comm}: {what}"))
            })?;
            estimated |= matches!(agreed, Agreed::Spread(_));
            for (&rank, places) in world.iter().zip(&places) {
                ranks[rank].collectives[places[turn]].agreed = agreed.clone();
            }
        }
    }
    Ok(estimated)
}

/// The sizes of what all members of a communicator, two at least, called.
fn together(called: &[&Joined]) -> Result<Agreed, String> {
    use Collective as C;
    let first = called[0];
    let count = called.len() as u64;
    let (sent, received) = (|one: &&Joined| one.sent, |one: &&Joined| one.received);
    let each = |of: &dyn Fn(&&Joined) -> u64| called.iter().map(|one| Bytes::new(of(one))).collect::<Arc<[Bytes]>>();
    let most = |of: &dyn Fn(&&Joined) -> u64| called.iter().map(of).max().unwrap_or(0);
    let sum = |of: &dyn Fn(&&Joined) -> u64| called.iter().map(|one| u128::from(of(one))).sum::<u128>();
    let whole = |bytes: u64, parts: u64| match bytes % parts {
        0 => Ok(bytes / parts),
        _ => Err(format!("expected {parts} blocks, as Score-P counts them; found {bytes} bytes")),
    };
    // Of N blocks, or in place of N - 1.
    let blocks = |bytes: u64| if bytes.is_multiple_of(count) { Ok(bytes / count) } else { whole(bytes, count - 1) };
    if first.op == MAKES_COMM {
        return Ok(Agreed::Same(if splits(first) { 12 } else { 4 }));
    }
    let collective = collective(first).ok_or_else(|| format!("OTF2's collective {} is not replayed", first.op))?;
    let root = first.root as usize;
    if matches!(collective, C::Bcast | C::Reduce | C::Gather | C::Gatherv | C::Scatter | C::Scatterv)
        && root >= called.len()
    {
        return Err(format!("expected a root up to {}; found {root}", called.len() - 1));
    }
    // The blocks of all, where the root's own is what is left of its sum: in place, it counts neither here nor there.
    Ok(match collective {
        C::Barrier => Agreed::Same(0),
        C::Bcast => Agreed::Same(most(&received)),
        C::Gather | C::Reduce => Agreed::Same(most(&|one| if one.received > 0 { 0 } else { one.sent })),
        C::Scatter => Agreed::Same(most(&received)),
        C::Gatherv => Agreed::Each(each(&sent)),
        C::Scatterv => Agreed::Each(each(&received)),
        C::Allgather | C::Allreduce | C::Alltoall => Agreed::Same(blocks(most(&sent))?),
        C::Allgatherv => {
            let parts = if sum(&sent) == u128::from(count) * u128::from(most(&received)) { count } else { count - 1 };
            let all: Result<Vec<u64>, String> = called.iter().map(|one| whole(one.sent, parts)).collect();
            Agreed::Each(all?.into_iter().map(Bytes::new).collect())
        }
        C::ReduceScatter if first.op == 16 => Agreed::Same(blocks(most(&received))?),
        C::ReduceScatter => {
            let parts = if sum(&received) == u128::from(count) * u128::from(most(&sent)) { count } else { count - 1 };
            let all: Result<Vec<u64>, String> = called.iter().map(|one| whole(one.received, parts)).collect();
            Agreed::Each(all?.into_iter().map(Bytes::new).collect())
        }
        // Rank 0 receives its own block, or nothing in place.
        C::Scan if first.received > 0 => Agreed::Same(first.received),
        C::Scan | C::Exscan => Agreed::Same(whole(first.sent, count - 1)?),
        C::Alltoallv => Agreed::Spread(each(&received)),
    })
}
