//! Online detection of loops in a sequence of integers. Repetitions, including nested repetitions, are stored as loops.
//!
//! A folded sequence consists of nodes: integers and loops. If the last w nodes equal the w preceding nodes, the 2 w
//! nodes become a loop of two iterations. If the last w nodes equal the body of the preceding loop, the loop gets one
//! iteration more. The tried values of w are the distances to earlier positions of the last integer. Hashes of prefixes
//! reject most values of w. Nodes that are farther back than a few of the longest loop bodies are converted to bytes
//! and no longer compared.
//!
//! The encoding uses the integers of module `bytes`. An integer n is stored as 2 n. A loop with c iterations is stored
//! as 2 c + 1, then the length of the loop's body in bytes, then the body.

use super::bytes::put;

/// Greatest number of nodes in the body of a detected loop of a folded sequence.
pub(super) const LONGEST: usize = 2048;
/// Number of earlier positions of the last integer that are tried as the end of a loop's body.
const PLACES: usize = 12;
/// Greatest nesting depth of loops in a folded sequence.
pub(super) const DEEPEST: u8 = 32;
/// Marks that an integer has no earlier position in the sequence.
const NONE: u64 = u64::MAX;

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
static POWERS: [u64; LONGEST + 1] = {
    let mut powers = [1u64; LONGEST + 1];
    let mut at = 1;
    while at <= LONGEST {
        powers[at] = powers[at - 1].wrapping_mul(BASE);
        at += 1;
    }
    powers
};

#[derive(Clone, Debug, PartialEq, Eq)]
enum FoldNode {
    One(u32),
    Loop(Box<Loop>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Loop {
    turns: u64,
    hash: u64,
    depth: u8,
    body: Vec<FoldNode>,
}

fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ value >> 29
}

impl FoldNode {
    fn hash(&self) -> u64 {
        match self {
            FoldNode::One(number) => mix(u64::from(*number) + 1),
            FoldNode::Loop(inner) => mix(inner.hash ^ mix(inner.turns).rotate_left(17)),
        }
    }

    /// Last integer of the node. The last node of a loop's body is always an integer, because loops are detected when
    /// an integer is appended.
    fn last(&self) -> u32 {
        match self {
            FoldNode::One(number) => *number,
            FoldNode::Loop(inner) => inner.body.last().map_or(0, FoldNode::last),
        }
    }

    fn depth(&self) -> u8 {
        match self {
            FoldNode::One(_) => 0,
            FoldNode::Loop(inner) => inner.depth,
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            FoldNode::One(number) => put(out, u64::from(*number) << 1),
            FoldNode::Loop(inner) => {
                put(out, inner.turns << 1 | 1);
                let mut body = Vec::new();
                inner.body.iter().for_each(|node| node.put(&mut body));
                put(out, body.len() as u64);
                out.extend(body);
            }
        }
    }
}

/// A folded sequence (integers with repetitions stored as loops) under construction.
#[derive(Debug)]
pub(super) struct Folder {
    longest: usize,
    sealed: Vec<u8>,
    /// Number of nodes of the sequence that have been converted to bytes.
    base: u64,
    nodes: Vec<FoldNode>,
    /// For each n, the hash over all nodes of the sequence before the n-th node.
    hashes: Vec<u64>,
    /// For each node, the previous position of a node that ends with the same integer.
    earlier: Vec<u64>,
    /// For each integer, the last position of a node that ends with the integer.
    last: Vec<u64>,
}

impl Folder {
    /// Creates an empty folded sequence. Loops whose bodies have up to `longest` nodes are detected.
    pub fn new(longest: usize) -> Self {
        Folder {
            longest: longest.clamp(1, LONGEST),
            sealed: Vec::new(),
            base: 0,
            nodes: Vec::new(),
            hashes: vec![0],
            earlier: Vec::new(),
            last: Vec::new(),
        }
    }

    /// Appends the integer `number` to the folded sequence.
    pub fn push(&mut self, number: u32) {
        let mut place = self.last.get(number as usize).copied().unwrap_or(NONE);
        self.append(FoldNode::One(number));
        for _ in 0..PLACES {
            if place == NONE || place < self.base {
                break;
            }
            let at = (place - self.base) as usize;
            let period = self.nodes.len() - 1 - at;
            if period > self.longest {
                break;
            }
            if self.fold(at, period) {
                break;
            }
            place = self.earlier[at];
        }
        if self.nodes.len() >= 4 * self.longest {
            self.seal(self.nodes.len() - 2 * self.longest);
        }
    }

    /// Returns the encoding of the whole folded sequence.
    pub fn finish(mut self) -> Vec<u8> {
        self.seal(self.nodes.len());
        self.sealed
    }

    /// Combines the last `period` nodes with the preceding nodes into a loop if the nodes are equal. `at` is the
    /// position before the last `period` nodes. Returns false if the nodes differ.
    fn fold(&mut self, at: usize, period: usize) -> bool {
        let (start, tail) = (at + 1, self.hash(at + 1, period));
        match &self.nodes[at] {
            FoldNode::Loop(inner) => {
                if inner.hash != tail || inner.body.len() != period || inner.body != self.nodes[start..] {
                    return false;
                }
                (0..period).for_each(|_| _ = self.remove());
                if let FoldNode::Loop(inner) = &mut self.nodes[at] {
                    inner.turns += 1;
                }
                self.hashes[start] = self.after(at);
            }
            FoldNode::One(_) => {
                if start < period
                    || self.hash(start - period, period) != tail
                    || self.nodes[start - period..start] != self.nodes[start..]
                {
                    return false;
                }
                let depth = 1 + self.nodes[start..].iter().map(FoldNode::depth).max().unwrap_or(0);
                if depth > DEEPEST {
                    return false;
                }
                let mut body: Vec<FoldNode> = (0..period).map(|_| self.remove()).collect();
                body.reverse();
                (0..period).for_each(|_| _ = self.remove());
                self.append(FoldNode::Loop(Box::new(Loop { turns: 2, hash: tail, depth, body })));
            }
        }
        true
    }

    /// Hash of `count` nodes, starting with the node at position `start`.
    fn hash(&self, start: usize, count: usize) -> u64 {
        self.hashes[start + count].wrapping_sub(self.hashes[start].wrapping_mul(POWERS[count]))
    }

    /// Hash over all nodes up to and including the node at position `at`, which has changed or is new.
    fn after(&self, at: usize) -> u64 {
        self.hashes[at].wrapping_mul(BASE).wrapping_add(self.nodes[at].hash())
    }

    fn append(&mut self, node: FoldNode) {
        let last = node.last() as usize;
        if last >= self.last.len() {
            self.last.resize(last + 1, NONE);
        }
        let at = self.nodes.len();
        self.earlier.push(std::mem::replace(&mut self.last[last], self.base + at as u64));
        self.nodes.push(node);
        self.hashes.push(self.after(at));
    }

    fn remove(&mut self) -> FoldNode {
        let node = self.nodes.pop().expect("only what is there is folded");
        self.hashes.pop();
        self.last[node.last() as usize] = self.earlier.pop().expect("each node has one");
        node
    }

    /// Converts the first `count` nodes of the sequence to bytes.
    fn seal(&mut self, count: usize) {
        self.nodes.drain(..count).for_each(|node| node.put(&mut self.sealed));
        self.hashes.drain(..count);
        self.earlier.drain(..count);
        self.base += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::code::{Cursor, SequenceAmount, check};
    use super::*;
    use proptest::prelude::*;

    fn fold(numbers: &[u32], longest: usize) -> Vec<u8> {
        let mut folder = Folder::new(longest);
        numbers.iter().for_each(|&number| folder.push(number));
        folder.finish()
    }

    fn unfold(bytes: &[u8]) -> Vec<u32> {
        let mut cursor = Cursor::new(0..bytes.len());
        std::iter::from_fn(|| cursor.next(bytes)).collect()
    }

    #[test]
    fn a_loop_takes_the_room_of_one_turn() {
        let turn: Vec<u32> = (0..20).collect();
        let loops = fold(&turn.repeat(1000), 64);
        assert_eq!(loops.len(), 20 + 3);
        assert_eq!(unfold(&loops), turn.repeat(1000));
    }

    #[test]
    fn loops_within_loops_are_found() {
        let turn = [&[1, 2].repeat(50)[..], &[3], &[4].repeat(7), &[5]].concat();
        let loops = fold(&turn.repeat(100), 64);
        assert!(loops.len() <= 20, "{} bytes", loops.len());
        assert_eq!(unfold(&loops), turn.repeat(100));
    }

    #[test]
    fn what_comes_before_and_after_a_loop_stays() {
        let numbers = [&[9, 8, 7][..], &[1, 2, 3, 4].repeat(30), &[1, 2, 9]].concat();
        let loops = fold(&numbers, 64);
        assert_eq!(loops.len(), 3 + 2 + 4 + 3);
        assert_eq!(unfold(&loops), numbers);
    }

    #[test]
    fn a_period_may_be_as_long_as_said_and_no_longer() {
        let turn: Vec<u32> = (0..50).collect();
        assert_eq!(fold(&turn.repeat(10), 50).len(), 52);
        assert_eq!(fold(&turn.repeat(10), 49).len(), 500);
    }

    proptest! {
        #[test]
        fn what_is_folded_unfolds_to_the_same(
            parts in proptest::collection::vec((proptest::collection::vec(0u32..5, 1..6), 1usize..9), 0..40),
            longest in 1usize..20,
        ) {
            let numbers: Vec<u32> = parts.iter().flat_map(|(part, turns)| part.repeat(*turns)).collect();
            let bytes = fold(&numbers, longest);
            prop_assert_eq!(&unfold(&bytes), &numbers);
            let one = SequenceAmount { calls: 1, ..SequenceAmount::default() };
            let all = check(&bytes, 0..bytes.len(), &|number| (number < 5).then_some(one));
            prop_assert_eq!(all, Ok(SequenceAmount { calls: numbers.len() as u64, ..one }));
        }
    }
}
