//! Trees that Open MPI and MPICH use in collectives: parents and children as formulas.
//!
//! The in-order trees number their nodes by rank. All other trees number their nodes from the root: node v is relative
//! rank v.
//!
//! | tree | parent of v > 0 | children |
//! |---|---|---|
//! | chains(k) | v − 1, or the root at the head of a chain | v + 1; the root has the k heads |
//! | binary | the level above has 2^(l−1) nodes: v minus once or twice that number | v + 2^l, v + 2^(l+1), where l is the level |
//! | binomial | v without its lowest set bit | v + 1, v + 2, v + 4, … below that bit |
//! | high binomial | v without its highest set bit | v + 2^j above that bit, ascending |
//! | knomial(k) | v without its lowest digit in base k | farthest first |
//! | in-order binomial | as binomial, from rank 0 | |
//! | in-order binary | the root is the last rank; its subtrees are [0, ⌊p/2⌋) and the rest | the nearer subtree first |

use super::seat::{RootNumbering, Seat};

/// Shape of the tree that the members of a collective form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// A number of chains of members that begin at the root.
    Chains(u16),
    Binary,
    Binomial,
    /// Binomial tree in which the root's neighbour is the first child and has the largest subtree.
    HighBinomial,
    /// K-nomial tree; the integer is the radix k.
    Knomial(u16),
    /// In-order binary tree whose nodes are numbered by rank.
    InOrderBinary,
    /// Binomial tree whose nodes are numbered by rank.
    InOrderBinomial,
}

/// A node of a tree with `size` nodes. A schedule computes the tree node of a member once per step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeNode {
    tree: Tree,
    size: u32,
    root: u32,
    numbering: RootNumbering,
    v: u32,
}

/// Divides p − 1 nodes into chains of equal length if possible. Returns the number of longer chains, the length of the
/// longer chains, and the length of the other chains.
fn chains(size: u32, chains: u16) -> (u32, u32, u32) {
    let count = u32::from(chains).clamp(1, (size - 1).max(1));
    let longest = (size - 1).div_ceil(count);
    let over = (size - 1) % count;
    (count, longest, if over == 0 { count } else { over })
}

impl Tree {
    /// Node of the tree that belongs to the member at `seat`.
    pub(super) fn node(self, seat: Seat) -> TreeNode {
        let v = if self.is_absolute() { seat.rank } else { seat.relative() };
        TreeNode { tree: self, size: seat.size, root: seat.root, numbering: seat.numbering, v }
    }

    /// Rank of the member at the top of the tree.
    pub(super) fn top(self, seat: Seat) -> u32 {
        match self {
            Tree::InOrderBinary => seat.size - 1,
            Tree::InOrderBinomial => 0,
            _ => seat.root,
        }
    }

    /// Whether the nodes of the tree are absolute ranks instead of relative ranks.
    fn is_absolute(self) -> bool {
        matches!(self, Tree::InOrderBinary | Tree::InOrderBinomial)
    }
}

impl TreeNode {
    /// Whether the node is the top of the tree.
    pub(super) fn is_top(self) -> bool {
        self.v == if self.tree == Tree::InOrderBinary { self.size - 1 } else { 0 }
    }

    fn member(self, v: u32) -> u32 {
        if self.tree.is_absolute() {
            return v;
        }
        if self.numbering == RootNumbering::Swapped {
            return RootNumbering::swap(v, self.root);
        }
        let left = self.size - self.root;
        if v >= left { v - left } else { v + self.root }
    }

    /// Parent of the node, which must not be the top of the tree.
    pub(super) fn parent(self) -> u32 {
        let v = self.v;
        let parent = match self.tree {
            Tree::Chains(count) => {
                let (_, longest, longer) = chains(self.size, count);
                let at = if v - 1 < longer * longest {
                    (v - 1) % longest
                } else {
                    (v - 1 - longer * longest) % (longest - 1)
                };
                if at == 0 { 0 } else { v - 1 }
            }
            Tree::Binary => {
                let above = 1 << ((v + 1).ilog2() - 1);
                if v - above < 2 * above - 1 { v - above } else { v - 2 * above }
            }
            Tree::Binomial | Tree::InOrderBinomial => v & (v - 1),
            Tree::HighBinomial => v ^ (1 << v.ilog2()),
            Tree::Knomial(radix) => {
                let radix = u64::from(radix);
                let mut unit = 1;
                while u64::from(v) % (unit * radix) == 0 {
                    unit *= radix;
                }
                (u64::from(v) / (unit * radix) * (unit * radix)) as u32
            }
            Tree::InOrderBinary => self.in_order().0,
        };
        self.member(parent)
    }

    /// Number of children of the tree node.
    pub(super) fn children(self) -> u32 {
        let (v, size) = (self.v, self.size);
        match self.tree {
            Tree::Chains(count) if v == 0 => chains(size, count).0.min(size - 1),
            Tree::Chains(_) => u32::from(self.goes_on()),
            Tree::Binary => {
                let level = (v + 1).ilog2();
                let child = |i: u32| (u64::from(v) + (u64::from(i) << level)) < u64::from(size);
                u32::from(child(1)) + u32::from(child(2))
            }
            Tree::Binomial | Tree::InOrderBinomial => {
                v.trailing_zeros().min(u32::BITS - (size - 1 - v).leading_zeros())
            }
            Tree::HighBinomial => {
                // The children of node v are v + 2^j for each 2^j above the highest bit of v, as long as v + 2^j is
                // below the size.
                let from = if v == 0 { 0 } else { v.ilog2() + 1 };
                let room = size - 1 - v;
                if room == 0 { 0 } else { (room.ilog2() + 1).saturating_sub(from) }
            }
            Tree::Knomial(_) => self.knomial_children(|_| false).1,
            Tree::InOrderBinary => self.in_order().1.iter().flatten().count() as u32,
        }
    }

    /// Child of the node with index `i`, which must be below [`TreeNode::children`].
    pub(super) fn child(self, i: u32) -> u32 {
        let v = self.v;
        let child = match self.tree {
            Tree::Chains(count) if v == 0 => {
                let (_, longest, longer) = chains(self.size, count);
                1 + i * longest - i.saturating_sub(longer)
            }
            Tree::Chains(_) => v + 1,
            Tree::Binary => v + ((i + 1) << (v + 1).ilog2()),
            Tree::Binomial | Tree::InOrderBinomial => v + (1 << i),
            Tree::HighBinomial => v + (1 << (if v == 0 { 0 } else { v.ilog2() + 1 } + i)),
            Tree::Knomial(_) => self.knomial_children(|number| number == i).0,
            Tree::InOrderBinary => self.in_order().1.into_iter().flatten().nth(i as usize).expect("a child"),
        };
        self.member(child)
    }

    /// Whether a node of a chain has a next node.
    fn goes_on(self) -> bool {
        let Tree::Chains(count) = self.tree else { return false };
        let (_, longest, longer) = chains(self.size, count);
        let v = self.v;
        let last = if v - 1 < longer * longest {
            (v - 1) % longest == longest - 1
        } else {
            (v - 1 - longer * longest) % (longest - 1) == longest - 2
        };
        !last
    }

    /// Returns the first child of a k-nomial tree's node whose index satisfies `wanted`, or the number of children if
    /// no index satisfies `wanted`.
    fn knomial_children(self, wanted: impl Fn(u32) -> bool) -> (u32, u32) {
        let Tree::Knomial(radix) = self.tree else { return (0, 0) };
        let (radix, size, v) = (u64::from(radix), u64::from(self.size), u64::from(self.v));
        let mut unit = 1;
        while unit < size && v % (unit * radix) == 0 {
            unit *= radix;
        }
        let mut number = 0;
        while unit > 1 {
            unit /= radix;
            for digit in 1..radix {
                let child = v + unit * digit;
                if child < size {
                    if wanted(number) {
                        return (child as u32, number);
                    }
                    number += 1;
                }
            }
        }
        (0, number)
    }

    /// Parent and children of the node in the in-order tree. Of n consecutive nodes, the last node is the top, the
    /// first ⌊n/2⌋ nodes form the far subtree, and the other nodes form the near subtree.
    fn in_order(self) -> (u32, [Option<u32>; 2]) {
        let (mut first, mut count, mut parent) = (0, self.size, self.size - 1);
        loop {
            let top = first + count - 1;
            let far = count / 2;
            let near = count - 1 - far;
            if self.v == top {
                // The near subtree has at least as many nodes as the far subtree. If there are two nodes, the near
                // subtree is the node that is not the top.
                let (near_top, far_top) = match count {
                    1 => (None, None),
                    2 => (Some(first), None),
                    _ => (Some(top - 1), Some(first + far - 1)),
                };
                return (parent, [near_top, far_top]);
            }
            parent = top;
            if count == 2 {
                count = 1;
            } else if self.v < first + far {
                count = far;
            } else {
                first += far;
                count = near;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREES: [Tree; 10] = [
        Tree::Chains(1),
        Tree::Chains(3),
        Tree::Chains(4),
        Tree::Binary,
        Tree::Binomial,
        Tree::HighBinomial,
        Tree::Knomial(3),
        Tree::Knomial(4),
        Tree::InOrderBinary,
        Tree::InOrderBinomial,
    ];

    #[test]
    fn every_member_is_the_child_of_its_parent_and_of_nobody_else() {
        for tree in TREES {
            for size in (1..=40).chain([63, 64, 65, 100, 1000]) {
                let numberings = [RootNumbering::Rotated, RootNumbering::Swapped];
                for (root, numbering) in
                    [0, size / 2, size - 1].into_iter().flat_map(|root| numberings.map(|by| (root, by)))
                {
                    let node = |rank| tree.node(Seat { root, numbering, ..Seat::with_root_0(size, rank) });
                    let mut found = 0;
                    for rank in 0..size {
                        let here = node(rank);
                        for child in (0..here.children()).map(|i| here.child(i)) {
                            assert_eq!(node(child).parent(), rank, "{tree:?} among {size} from {root}: {child}");
                            found += 1;
                        }
                    }
                    assert_eq!(found, size - 1, "{tree:?} among {size}");
                    assert!(node(tree.top(Seat { root, ..Seat::with_root_0(size, 0) })).is_top());
                }
            }
        }
    }

    #[test]
    fn trees_have_the_shapes_of_their_figures() {
        let children = |tree: Tree, size, rank| {
            let node = tree.node(Seat::with_root_0(size, rank));
            (0..node.children()).map(|i| node.child(i)).collect::<Vec<_>>()
        };
        assert_eq!(children(Tree::Binary, 8, 0), [1, 2]);
        assert_eq!(children(Tree::Binary, 8, 1), [3, 5]);
        assert_eq!(children(Tree::Binary, 8, 2), [4, 6]);
        assert_eq!(children(Tree::Binary, 8, 3), [7]);
        assert_eq!(children(Tree::HighBinomial, 8, 0), [1, 2, 4]);
        assert_eq!(children(Tree::HighBinomial, 8, 1), [3, 5]);
        assert_eq!(children(Tree::HighBinomial, 8, 2), [6]);
        assert_eq!(children(Tree::Knomial(4), 16, 0), [4, 8, 12, 1, 2, 3]);
        assert_eq!(children(Tree::Knomial(4), 16, 8), [9, 10, 11]);
        assert_eq!(children(Tree::Chains(3), 9, 0), [1, 4, 7]);
        assert_eq!(children(Tree::Chains(3), 9, 7), [8]);
        assert_eq!(children(Tree::InOrderBinary, 8, 7), [6, 3]);
        assert_eq!(children(Tree::InOrderBinary, 8, 3), [2, 1]);
        assert_eq!(children(Tree::InOrderBinary, 8, 6), [5, 4]);
        assert_eq!(children(Tree::InOrderBinary, 2, 1), [0]);
        assert_eq!(children(Tree::InOrderBinomial, 6, 0), [1, 2, 4]);
        assert_eq!(children(Tree::InOrderBinomial, 6, 4), [5]);
    }
}
