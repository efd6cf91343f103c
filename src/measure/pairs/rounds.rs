//! Schedule of the measurements of rank pairs: sequential, or concurrent for pairs on disjoint nodes.

/// Rank pairs that are measured concurrently. A pair consists of the rank whose clock is used, and the partner of this
/// rank.
pub type Round = Vec<(u32, u32)>;

/// Returns all rank pairs in rounds. Without `nodes`, a round has one pair, and the pairs are in row-major order. If
/// `nodes` contains the node of each rank, pairs on disjoint nodes are measured concurrently.
///
/// Nodes are matched as in a round-robin tournament (the circle method), so each round has as many node pairs as
/// possible. A node pair, or a single node, measures one rank pair at a time.
pub fn rounds(ranks: u32, nodes: Option<&[u32]>) -> Vec<Round> {
    let Some(nodes) = nodes else {
        return (0..ranks).flat_map(|x| (0..ranks).map(move |y| vec![(x, y)])).collect();
    };
    let mut known: Vec<u32> = nodes.to_vec();
    known.sort_unstable();
    known.dedup();
    let members: Vec<Vec<u32>> =
        known.iter().map(|node| (0..ranks).filter(|rank| nodes[*rank as usize] == *node).collect()).collect();
    let mut found = Vec::new();
    // Rank pairs within nodes are measured first, concurrently on all nodes.
    let within: Vec<Round> = members.iter().map(|of| cross(of, of)).collect();
    zip(&within, &mut found);
    let teams = members.len().next_multiple_of(2);
    for day in 0..teams.saturating_sub(1) {
        // One node is fixed in the circle of the tournament, and the other nodes rotate.
        let place = |seat: usize| if seat == 0 { 0 } else { 1 + (seat - 1 + day) % (teams - 1) };
        let meetings = (0..teams / 2).map(|seat| (place(seat), place(teams - 1 - seat)));
        let meetings = meetings.filter(|(one, other)| one.max(other) < &members.len());
        let between = |(one, other): (usize, usize)| -> Round {
            let (one, other) = (&members[one], &members[other]);
            [cross(one, other), cross(other, one)].concat()
        };
        zip(&meetings.map(between).collect::<Vec<_>>(), &mut found);
    }
    found
}

/// Returns the measurement rounds that `rank` needs. Without nodes, ranks other than the first rank need only the
/// rounds in which they take part. Memory therefore grows with the square of the number of ranks, not with the cube, if
/// all ranks are in one process.
pub fn rounds_of(rank: u32, ranks: u32, nodes: Option<&[u32]>) -> Vec<Round> {
    if rank == 0 || nodes.is_some() {
        return rounds(ranks, nodes);
    }
    let partners = |x: u32| if x == rank { 0..ranks } else { rank..rank + 1 };
    (0..ranks).flat_map(|x| partners(x).map(move |y| vec![(x, y)])).collect()
}

fn cross(one: &[u32], other: &[u32]) -> Round {
    one.iter().flat_map(|x| other.iter().map(move |y| (*x, *y))).collect()
}

/// Merges the n-th rank pairs of all lists into one round.
fn zip(lists: &[Round], found: &mut Vec<Round>) {
    let most = lists.iter().map(Vec::len).max().unwrap_or(0);
    found.extend((0..most).map(|n| lists.iter().filter_map(|list| list.get(n).copied()).collect::<Round>()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(rounds: &[Round]) -> Vec<(u32, u32)> {
        let mut pairs = rounds.concat();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn a_rank_knows_the_rounds_it_is_in() {
        for rank in 1..5 {
            let of: Vec<Round> = rounds(5, None).into_iter().filter(|of| [of[0].0, of[0].1].contains(&rank)).collect();
            assert_eq!(of.len(), 9);
            assert_eq!(rounds_of(rank, 5, None), of);
        }
        assert_eq!(rounds_of(0, 5, None), rounds(5, None));
        assert_eq!(rounds_of(3, 4, Some(&[0, 0, 1, 1])), rounds(4, Some(&[0, 0, 1, 1])));
    }

    #[test]
    fn alone_pairs_go_row_by_row() {
        assert_eq!(rounds(2, None), [[(0, 0)], [(0, 1)], [(1, 0)], [(1, 1)]]);
    }

    #[test]
    fn together_each_pair_comes_once_and_no_node_twice_in_a_round() {
        for ranks_a_node in [1, 2, 3] {
            for nodes in 1..8 {
                let of: Vec<u32> = (0..nodes * ranks_a_node).map(|rank| 7 + rank / ranks_a_node).collect();
                let found = rounds(of.len() as u32, Some(&of));
                assert_eq!(all(&found), all(&rounds(of.len() as u32, None)));
                for round in &found {
                    let mut busy: Vec<u32> = Vec::new();
                    for (x, y) in round {
                        let mut here = vec![of[*x as usize], of[*y as usize]];
                        here.dedup();
                        busy.extend(here);
                    }
                    let count = busy.len();
                    busy.sort_unstable();
                    busy.dedup();
                    assert_eq!(busy.len(), count, "{round:?}");
                }
                let alone = (nodes * ranks_a_node).pow(2) as usize;
                assert!(nodes < 4 || found.len() * 3 < alone * 2, "{} of {alone}", found.len());
            }
        }
    }
}
