//! Algorithm selection of the components `tuned` and `basic` of Open MPI 4.0, from its source file
//! `coll_tuned_decision_fixed.c`.

use super::{ChoiceContext, KIB, MIB};
use mcpsim_base::platform::{Algorithm, Collective, Method};

const fn of(algorithm: Algorithm) -> Method {
    Method { algorithm, segment: 0, fan: 0 }
}

const K: u32 = 1 << 10;

/// Returns the algorithm that Open MPI 4.0 chooses.
pub(super) fn decide(question: ChoiceContext) -> Method {
    use Algorithm::*;
    let ChoiceContext { collective, ranks, size, total, element, ordered, .. } = question;
    let count = size.div_ceil(u64::from(element));
    match collective {
        Collective::Allreduce if size < 10_000 => of(RecursiveDoubling),
        Collective::Allreduce if ordered || count <= u64::from(ranks) => of(Nonoverlapping),
        Collective::Allreduce if u64::from(ranks) * MIB >= size => of(Ring),
        Collective::Allreduce => of(SegmentedRing).in_segments(K << 10),
        Collective::Alltoall if ranks == 2 => of(TwoProcs),
        Collective::Alltoall if size < 200 && ranks > 12 => of(Bruck),
        Collective::Alltoall if size < 3000 => of(Linear),
        Collective::Alltoall | Collective::Alltoallv => of(Pairwise),
        Collective::Barrier if ranks == 2 => of(TwoProcs),
        Collective::Barrier if ranks.is_power_of_two() => of(RecursiveDoubling),
        Collective::Barrier => of(Dissemination),
        Collective::Bcast => bcast(ranks, size, count),
        Collective::Reduce if ordered && ranks < 12 && size < 2048 => of(Linear),
        Collective::Reduce if ordered => of(InOrderBinary),
        Collective::Reduce => reduce(ranks, size, count),
        Collective::ReduceScatter if ordered => of(Nonoverlapping),
        Collective::ReduceScatter => {
            let few = total <= 12 * KIB || total <= 256 * KIB && ranks.is_power_of_two();
            let many = f64::from(ranks) >= 0.0012 * total as f64 + 8.0;
            of(if few || many { RecursiveHalving } else { Ring })
        }
        Collective::Allgather | Collective::Allgatherv if ranks == 2 => of(TwoProcs),
        Collective::Allgather if total < 50_000 && ranks.is_power_of_two() => of(RecursiveDoubling),
        Collective::Allgather | Collective::Allgatherv if total < 50_000 => of(Bruck),
        Collective::Allgather | Collective::Allgatherv if ranks % 2 == 1 => of(Ring),
        Collective::Allgather | Collective::Allgatherv => of(NeighborExchange),
        Collective::Gather if size > 92_160 => of(LinearSync).in_segments(32 * K),
        Collective::Gather if size > 6000 => of(LinearSync).in_segments(K),
        Collective::Gather if ranks > 60 || ranks > 10 && size < KIB => of(Binomial),
        Collective::Scatter if ranks > 10 && size < 300 => of(Binomial),
        Collective::Gather | Collective::Scatter | Collective::Gatherv | Collective::Scatterv => of(Linear).by(1),
        Collective::Scan | Collective::Exscan => of(Chain),
    }
}

/// Returns the bcast algorithm of Open MPI 4.0. The segment size of a pipeline depends on linear conditions on the
/// buffer size and the number of ranks.
fn bcast(ranks: u32, size: u64, count: u64) -> Method {
    let below = |slope: f64, offset: f64| f64::from(ranks) < slope * size as f64 + offset;
    match size {
        _ if size < 2048 || count <= 1 => of(Algorithm::Binomial),
        _ if size < 370_728 => of(Algorithm::SplitBinary).in_segments(K),
        _ if below(1.6134e-6, 2.1102) => of(Algorithm::Pipeline).in_segments(128 * K),
        _ if ranks < 13 => of(Algorithm::SplitBinary).in_segments(8 * K),
        _ if below(2.3679e-6, 1.1787) => of(Algorithm::Pipeline).in_segments(64 * K),
        _ if below(3.2118e-6, 8.7936) => of(Algorithm::Pipeline).in_segments(16 * K),
        _ => of(Algorithm::Pipeline).in_segments(8 * K),
    }
}

fn reduce(ranks: u32, size: u64, count: u64) -> Method {
    // Parameter `slope` of the line is in ranks per KiB.
    let above = |slope: f64, offset: f64| f64::from(ranks) > slope / 1024.0 * size as f64 + offset;
    match size {
        _ if ranks < 8 && size < 512 => of(Algorithm::Linear),
        _ if ranks < 8 && size < 20_480 || size < 2048 || count <= 1 => of(Algorithm::Binomial),
        _ if above(0.6016, 1.3496) => of(Algorithm::Binomial).in_segments(K),
        _ if above(0.0410, 9.7128) => of(Algorithm::Pipeline).in_segments(K),
        _ if above(0.0422, 1.1614) => of(Algorithm::Binary).in_segments(32 * K),
        _ if above(0.0033, 1.6761) => of(Algorithm::Pipeline).in_segments(32 * K),
        _ => of(Algorithm::Pipeline).in_segments(64 * K),
    }
}
