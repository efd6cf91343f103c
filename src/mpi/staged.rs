//! Node-aware collectives as sequences of inner collectives. The members of an inner collective are the members of one
//! node, or one member of each node.
//!
//! The node-aware algorithms of MPICH are those of `ch4_coll_impl.h` in 4.0 (compositions alpha and beta), but use
//! messages instead of shared memory within a node. The node-aware algorithms of Open MPI are those of its component
//! `han` in 5.0, with segments of 64 KiB. In each round, a rank works on several segments, with a different inner
//! collective for each segment. Inner collectives between nodes proceed while the rank executes inner collectives
//! within its node.
//!
//! | collective | MPICH | Open MPI |
//! |---|---|---|
//! | barrier | barrier within each node, barrier of the leaders, a byte from each leader to its node | barrier within each node, barrier of the leaders, barrier within each node |
//! | bcast | root to its leader, bcast of leaders, bcast within each node; from 12 KiB on, bcast within the root's node first | bcast of the members at the root's place, bcast within each node |
//! | reduce | reduce to each leader, reduce of leaders to rank 0, rank 0 to the root; up to 2 KiB, reduce within the root's node last | reduce to the members at the root's place, reduce of these members |
//! | allreduce | reduce to each leader, allreduce of leaders, bcast within each node | reduce to each leader, reduce and bcast of leaders, bcast within each node |
//! | gather, scatter, allgather | as in Open MPI | see module `blocks` |

mod blocks;

use super::library::{ChoiceContext, decide, style};
use super::nodes::{NodeSpread, Nodes};
use super::runner::{blocks, seat_of};
use super::schedule::{BlockLayout, Extent, Schedule, ScheduleStyle, Space};
use super::{CallForm, CollectiveCall, CommMember, Sizes};
use mcpsim_base::platform::{Collective, Library};
use mcpsim_base::units::Bytes;

/// Number of bytes of a segment in Open MPI (`coll_han_…_segsize`).
const SEGMENT: u64 = 64 << 10;
/// Least size in bytes for which MPICH's bcast first sends within the root's node.
const WITHIN_FIRST: u64 = 12_288;
/// Least number of ranks with which MPICH's bcast first sends within the root's node.
const FEW: u32 = 8;
/// Greatest size in bytes for which MPICH's reduce executes the inner reduce within the root's node last.
const TO_ROOTS_NODE: u64 = 2048;

/// A stage of a node-aware collective: an inner collective among some members, and the buffers of its data.
#[derive(Debug)]
pub(super) struct FlatStage {
    pub(super) schedule: Schedule,
    pub(super) layout: BlockLayout,
    pub(super) comm: CommMember,
    /// Buffer that the inner collective uses as input.
    pub(super) input: Space,
    /// Buffer that the inner collective uses as output.
    pub(super) output: Space,
    /// Number of bytes that this rank copies before the inner collective.
    pub(super) copied: Bytes,
    /// Collective that identifies the stage in message tags, so that messages of different stages do not match.
    pub(super) kind: Collective,
    /// Whether the rank starts the stage without waiting for its end, so that other stages proceed concurrently.
    pub(super) started: bool,
}

pub(super) use blocks::BlockMove;

/// The stages of one rank in a node-aware collective.
#[derive(Debug)]
pub(super) struct Staged {
    library: Library,
    call: CollectiveCall,
    whole: Extent,
    nodes: Nodes,
    mine: CommMember,
    /// Node of this member, and index of this member among the members on its node.
    here: (u32, u32),
    /// Node of the root, and index of the root among the members on its node.
    root: (u32, u32),
    next: u32,
}

/// Members of an inner collective of a node-aware collective.
enum Among {
    /// The members of the communicator on this rank's node.
    Node,
    /// The members with this index among the members on their nodes.
    Row(u32),
    /// The two members of the communicator with these ranks.
    Pair(u32, u32),
}

/// An inner collective of a node-aware collective.
struct FlatPart {
    among: Among,
    collective: Collective,
    root: u32,
    input: Space,
    output: Space,
    /// Index of the segment that the inner collective transfers; `None` if it transfers all data.
    segment: Option<u64>,
    /// Whether the MPI library starts the inner collective and waits for it later.
    started: bool,
}

impl FlatPart {
    fn new(among: Among, collective: Collective, root: u32) -> Self {
        FlatPart { among, collective, root, input: Space::Input, output: Space::Output, segment: None, started: false }
    }

    fn between(self, input: Space, output: Space) -> Self {
        FlatPart { input, output, ..self }
    }
}

impl Staged {
    /// Creates the stages of this rank in `call`, whose communicator spans `nodes`. Data are divided only between
    /// elements of `element` bytes.
    pub(super) fn new(library: Library, call: CollectiveCall, nodes: Nodes, element: u32) -> Self {
        let size = match &call.sizes {
            Sizes::Same(size) if call.collective != Collective::Barrier => *size,
            _ => Bytes::ZERO,
        };
        let (mine, here, root) = (nodes.mine(), nodes.place(call.comm.rank()), nodes.place(call.root));
        Staged { library, call, whole: Extent { size, element }, nodes, mine, here, root, next: 0 }
    }

    /// Collective call that the stages implement.
    pub(super) fn call(&self) -> &CollectiveCall {
        &self.call
    }

    /// Returns the next stages of this rank. If there are several stages, they are concurrent.
    pub(super) fn next(&mut self) -> Option<Vec<FlatStage>> {
        loop {
            let mut stages = Vec::new();
            for _ in 0..self.kinds() {
                stages.extend(self.one()?);
            }
            if !stages.is_empty() {
                return Some(stages);
            }
        }
    }

    /// Number of inner collectives per round of an Open MPI collective.
    fn kinds(&self) -> u32 {
        match self.call.collective {
            Collective::Bcast | Collective::Reduce if self.is_han() => 2,
            Collective::Allreduce if self.is_han() => 4,
            _ => 1,
        }
    }

    fn is_han(&self) -> bool {
        style(self.library) == ScheduleStyle::OpenMpi
    }

    /// Next stage: `Some(None)` if this rank does not take part in the stage, `None` after the last stage.
    fn one(&mut self) -> Option<Option<FlatStage>> {
        let n = self.next;
        self.next += 1;
        if self.is_by_block() {
            return self.of_blocks(n);
        }
        let part = if self.is_han() { self.han(n)? } else { self.composition(n)? };
        Some(part.and_then(|part| self.stage(part)))
    }

    /// Inner collective `n` of MPICH's algorithm: `Some(None)` if this rank does not take part, `None` after the last
    /// inner collective.
    fn composition(&self, n: u32) -> Option<Option<FlatPart>> {
        use Collective::{Allreduce, Barrier, Bcast, Reduce};
        let (size, root, (node, place)) = (self.whole.size.get(), self.call.root, self.here);
        let (root_node, root_place) = self.root;
        let at_root = node == root_node;
        let alone = self.mine.size() == 1;
        let direct = size < WITHIN_FIRST || self.call.comm.size() < FEW;
        // Buffer of the result of a node: the output buffer at the root, the node's buffer at other node leaders.
        let home = if self.call.comm.rank() == root { Space::Output } else { Space::Node };
        let to_node = if alone { Space::Input } else { home };
        Some(match (self.call.collective, n) {
            (Barrier, 0) => Some(FlatPart::new(Among::Node, Barrier, 0)),
            (Barrier, 1) => Some(FlatPart::new(Among::Row(0), Barrier, 0)),
            (Barrier, 2) => Some(FlatPart::new(Among::Node, Bcast, 0)),
            (Bcast, 0) if direct => {
                let leader = self.nodes.leader(root_node);
                (root_place > 0).then(|| FlatPart::new(Among::Pair(root, leader), Bcast, 0))
            }
            (Bcast, 0) => (at_root && root_place > 0).then(|| FlatPart::new(Among::Node, Bcast, root_place)),
            (Bcast, 1) => Some(FlatPart::new(Among::Row(0), Bcast, root_node)),
            (Bcast, 2) if !direct && at_root && root_place > 0 => None,
            (Bcast, 2) => Some(FlatPart::new(Among::Node, Bcast, 0)),
            (Allreduce, 0) => Some(FlatPart::new(Among::Node, Reduce, 0)),
            (Allreduce, 1) => Some(FlatPart::new(Among::Row(0), Allreduce, 0).between(Space::Output, Space::Output)),
            (Allreduce, 2) => Some(FlatPart::new(Among::Node, Bcast, 0)),
            (Reduce, 0) if size > TO_ROOTS_NODE => {
                (!alone).then(|| FlatPart::new(Among::Node, Reduce, 0).between(Space::Input, home))
            }
            (Reduce, 1) if size > TO_ROOTS_NODE => Some(FlatPart::new(Among::Row(0), Reduce, 0).between(to_node, home)),
            (Reduce, 2) if size > TO_ROOTS_NODE => {
                (root > 0).then(|| FlatPart::new(Among::Pair(0, root), Bcast, 0).between(Space::Input, home))
            }
            (Reduce, 0) => {
                (!at_root && !alone).then(|| FlatPart::new(Among::Node, Reduce, 0).between(Space::Input, Space::Node))
            }
            (Reduce, 1) => {
                let input = if at_root { Space::Input } else { to_node };
                Some(FlatPart::new(Among::Row(0), Reduce, root_node).between(input, home))
            }
            (Reduce, 2) => {
                let input = if place == 0 { home } else { Space::Input };
                (at_root && !alone)
                    .then(|| FlatPart::new(Among::Node, Reduce, root_place).between(input, Space::Output))
            }
            _ => return None,
        })
    }

    /// Inner collective `n` of Open MPI's algorithm: `Some(None)` if this rank does not take part, `None` after the
    /// last inner collective.
    fn han(&self, n: u32) -> Option<Option<FlatPart>> {
        use Collective::{Barrier, Bcast, Reduce};
        let (root_node, root_place) = self.root;
        let segments = self.segments();
        if self.call.collective == Barrier {
            return (n < 3).then(|| {
                let among = if n == 1 { Among::Row(0) } else { Among::Node };
                Some(FlatPart::new(among, Barrier, 0))
            });
        }
        // A round has one inner collective of each type, for successive segments: inner collective `kind` of a round
        // handles segment `round − kind`.
        let kinds = self.kinds();
        let (round, lag) = (u64::from(n / kinds), u64::from(n % kinds));
        let kind = n % kinds;
        if round >= segments + u64::from(kinds) - 1 {
            return None;
        }
        let Some(segment) = round.checked_sub(lag).filter(|segment| *segment < segments) else { return Some(None) };
        let part = match (self.call.collective, kind) {
            // The rank executes the inner collective of the first segment at once, and only starts the inner
            // collectives of later segments.
            (Bcast, 0) => FlatPart { started: segment > 0, ..FlatPart::new(Among::Row(root_place), Bcast, root_node) },
            (Bcast, _) => FlatPart::new(Among::Node, Bcast, root_place),
            (Reduce, 0) => FlatPart::new(Among::Node, Reduce, root_place).between(Space::Input, Space::Node),
            (Reduce, _) => {
                let up = FlatPart::new(Among::Row(root_place), Reduce, root_node).between(Space::Node, Space::Output);
                FlatPart { started: true, ..up }
            }
            (_, 0) => FlatPart::new(Among::Node, Reduce, 0).between(Space::Input, Space::Node),
            (_, 1) => FlatPart {
                started: true,
                ..FlatPart::new(Among::Row(0), Reduce, 0).between(Space::Node, Space::Output)
            },
            (_, 2) => FlatPart { started: true, ..FlatPart::new(Among::Row(0), Bcast, 0) },
            _ => FlatPart::new(Among::Node, Bcast, 0),
        };
        Some(Some(FlatPart { segment: Some(segment), ..part }))
    }

    /// Number of segments in Open MPI's algorithm; 1 if there are no data.
    fn segments(&self) -> u64 {
        self.whole.count().div_ceil(self.in_segment()).max(1)
    }

    /// Number of elements per segment in Open MPI's algorithm.
    fn in_segment(&self) -> u64 {
        self.whole.in_segment(SEGMENT as u32).max(1)
    }

    /// Communicator of the members `among`; `None` if this rank is not a member.
    fn members(&self, among: Among) -> Option<CommMember> {
        match among {
            Among::Node => Some(self.mine.clone()),
            Among::Row(row) => self.nodes.row(row),
            Among::Pair(first, second) => self.nodes.pair(first, second),
        }
    }

    /// Stage that this rank executes for the inner collective `part`; `None` if the rank does not take part.
    fn stage(&self, part: FlatPart) -> Option<FlatStage> {
        let comm = self.members(part.among)?;
        let element = u64::from(self.whole.element);
        let (start, size) = match part.segment {
            None if self.call.collective == Collective::Barrier && part.collective == Collective::Bcast => (0, 1),
            None => (0, self.whole.size.get()),
            Some(segment) => {
                let each = self.in_segment().saturating_mul(element);
                let start = segment.saturating_mul(each);
                (start, self.whole.size.get().saturating_sub(start).min(each))
            }
        };
        let extent = Extent { size: Bytes::new(size), element: if size == 1 { 1 } else { self.whole.element } };
        let question = ChoiceContext {
            collective: part.collective,
            form: if part.started { CallForm::NonBlocking } else { CallForm::Blocking },
            ranks: comm.size(),
            size,
            total: size,
            element: extent.element,
            ordered: false,
            spread: NodeSpread::FLAT,
        };
        let choice = decide(self.library, question);
        let seat = seat_of((part.collective, question.form), (comm.size(), comm.rank()), part.root, self.library);
        let (schedule, _) = Schedule::plan(part.collective, choice, seat, extent).expect("a library's choice suits");
        let inner = blocks(&schedule, seat, extent, &Sizes::Same(extent.size));
        let layout = if start == 0 && size == self.whole.size.get() {
            inner
        } else {
            BlockLayout::Window { start, whole: self.whole.size, inner: Box::new(inner) }
        };
        // Reductions and bcasts between the same two members can be concurrent. Different collectives in the tags
        // separate their messages.
        let whole = self.call.collective;
        let kind = if whole == Collective::Allreduce { part.collective } else { whole };
        let (input, output, started, copied) = (part.input, part.output, part.started, Bytes::ZERO);
        Some(FlatStage { schedule, layout, comm, input, output, copied, kind, started })
    }
}

#[cfg(test)]
mod tests;
