//! Search for a placement of ranks with a short predicted time: a greedy start by the traffic between ranks, then
//! exchanges of two ranks on different nodes.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::engine::PairMessages;
use crate::platform::Site;
use crate::units::SimTime;

/// Greatest number of ranks of a search, whose greedy start takes time by the square of this number.
pub const MOST_PLACED: usize = 16_384;

/// Result of a search for a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementSearch {
    /// Cores of the ranks with the shortest predicted time.
    pub sites: Vec<Site>,
    /// Predicted time of this placement.
    pub time: SimTime,
    /// Predicted time of the first placement.
    pub first: SimTime,
    /// Predicted time of the greedy placement; `None` if the number of tries is 1.
    pub greedy: Option<SimTime>,
    /// Number of placements whose time was predicted.
    pub tried: u32,
    /// Number of exchanges that shortened the time.
    pub improved: u32,
}

/// Searches a placement on the cores of `first`. `pairs` has the messages between ranks, and `predict` returns the time
/// of a placement. At most `tries` placements are predicted. Equal seeds give equal results.
///
/// # Errors
/// The errors of `predict`.
pub fn search_placement<E>(
    first: &[Site],
    pairs: &[PairMessages],
    (tries, seed): (u32, u64),
    mut predict: impl FnMut(&[Site]) -> Result<SimTime, E>,
) -> Result<PlacementSearch, E> {
    let time = predict(first)?;
    let mut found = PlacementSearch { sites: first.to_vec(), time, first: time, greedy: None, tried: 1, improved: 0 };
    let peers = peers(first.len(), pairs);
    if tries > 1 {
        let sites = greedy(first, &peers);
        let time = predict(&sites)?;
        (found.greedy, found.tried) = (Some(time), 2);
        if time < found.time {
            (found.sites, found.time) = (sites, time);
        }
    }
    let several_nodes = first.iter().any(|site| site.node != first[0].node);
    while found.tried < tries && several_nodes {
        let mut random = Draws { seed, number: found.tried.into(), drawn: 0 };
        let (a, b) = exchange(&found.sites, &peers, &mut random);
        let mut sites = found.sites.clone();
        sites.swap(a, b);
        let time = predict(&sites)?;
        found.tried += 1;
        if time < found.time {
            (found.sites, found.time) = (sites, time);
            found.improved += 1;
        }
    }
    Ok(found)
}

/// Returns the ranks with which each rank exchanges messages, with the bytes in both directions. A message counts as 64
/// bytes more than its size, so that small messages count as well.
fn peers(ranks: usize, pairs: &[PairMessages]) -> Vec<Vec<(usize, u64)>> {
    let mut peers: Vec<std::collections::BTreeMap<usize, u64>> = vec![Default::default(); ranks];
    for pair in pairs.iter().filter(|pair| pair.from != pair.to) {
        let weight = pair.bytes.saturating_add(pair.count.saturating_mul(64));
        for (from, to) in [(pair.from, pair.to), (pair.to, pair.from)] {
            let sum = peers[from as usize].entry(to as usize).or_default();
            *sum = sum.saturating_add(weight);
        }
    }
    peers.into_iter().map(|of| of.into_iter().collect()).collect()
}

/// Fills node after node. The next rank on a node is the rank with the most traffic to the ranks that the node has.
fn greedy(first: &[Site], peers: &[Vec<(usize, u64)>]) -> Vec<Site> {
    let mut cores = first.to_vec();
    cores.sort_unstable();
    let total = |rank: usize| peers[rank].iter().fold(0u64, |sum, peer| sum.saturating_add(peer.1));
    let totals: Vec<u64> = (0..first.len()).map(total).collect();
    let mut sites: Vec<Option<Site>> = vec![None; first.len()];
    let mut pull = vec![0u64; first.len()];
    let mut node = None;
    for core in cores {
        if node != Some(core.node) {
            node = Some(core.node);
            pull.fill(0);
        }
        let free = (0..first.len()).filter(|rank| sites[*rank].is_none());
        let next = free.max_by_key(|rank| (pull[*rank], totals[*rank], std::cmp::Reverse(*rank)));
        let next = next.expect("there are as many ranks as cores");
        sites[next] = Some(core);
        for (peer, weight) in &peers[next] {
            pull[*peer] = pull[*peer].saturating_add(*weight);
        }
    }
    sites.into_iter().map(|site| site.expect("each rank was placed")).collect()
}

/// Returns two ranks on different nodes. Usually the second rank is on a node with a peer of the first rank.
fn exchange(sites: &[Site], peers: &[Vec<(usize, u64)>], random: &mut Draws) -> (usize, usize) {
    let a = random.below(sites.len());
    let node = sites[a].node;
    let far: Vec<usize> = peers[a].iter().map(|peer| peer.0).filter(|peer| sites[*peer].node != node).collect();
    let target = if far.is_empty() { None } else { Some(sites[far[random.below(far.len())]].node) };
    let is_near = |rank: &usize| target == Some(sites[*rank].node) && !far.contains(rank);
    let near: Vec<usize> = (0..sites.len()).filter(is_near).collect();
    let others: Vec<usize> = match near.is_empty() {
        true => (0..sites.len()).filter(|rank| sites[*rank].node != node).collect(),
        false => near,
    };
    (a, others[random.below(others.len())])
}

/// Random draws for one try.
struct Draws {
    seed: u64,
    number: u64,
    drawn: u64,
}

impl Draws {
    /// Returns a number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        let mut hash = SipHasher13::new_with_keys(self.seed, self.number);
        hash.write_u64(self.drawn);
        self.drawn += 1;
        ((u128::from(hash.finish()) * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four nodes of two cores; ranks r and r + 4 exchange messages.
    fn sites() -> Vec<Site> {
        (0..8).map(|rank| Site { node: rank / 2, cmp: 0, core: rank % 2 }).collect()
    }

    fn pairs() -> Vec<PairMessages> {
        (0..4).map(|from| PairMessages { from, to: from + 4, count: 1, bytes: 100 }).collect()
    }

    /// Number of pairs on different nodes, as a time.
    fn far(sites: &[Site]) -> SimTime {
        SimTime::from_ps(
            pairs().iter().filter(|p| sites[p.from as usize].node != sites[p.to as usize].node).count() as u64
        )
    }

    #[test]
    fn the_greedy_placement_puts_peers_on_one_node() {
        let found = search_placement(&sites(), &pairs(), (2, 1), |sites| Ok::<_, ()>(far(sites))).unwrap();
        assert_eq!((found.first.as_ps(), found.greedy.map(SimTime::as_ps), found.tried), (4, Some(0), 2));
        let mut cores = found.sites.clone();
        cores.sort_unstable();
        assert_eq!(cores, sites(), "the cores are the same");
    }

    #[test]
    fn exchanges_shorten_the_time_and_depend_only_on_the_seed() {
        // The search knows no messages, so the greedy placement is the first placement.
        let search = |seed| search_placement(&sites(), &[], (200, seed), |sites| Ok::<_, ()>(far(sites))).unwrap();
        assert!(search(1).time.as_ps() < 4 && search(1).improved > 0, "{:?}", search(1));
        assert_eq!((search(1).tried, search(2)), (200, search(2)));
    }

    #[test]
    fn one_node_has_nothing_to_exchange() {
        let one: Vec<Site> = (0..4).map(|core| Site { node: 0, cmp: 0, core }).collect();
        let found = search_placement(&one, &[], (50, 1), |_| Ok::<_, ()>(SimTime::ZERO)).unwrap();
        assert_eq!(found.tried, 2);
    }
}
