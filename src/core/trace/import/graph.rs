//! Program of a rank whose operations are ordered only by dependences.
//!
//! Receives are posted and sends started as early as possible, in the order of the file. Then the first executable
//! block of work is executed. If no operation is executable, the rank waits until one of its requests completes.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::rank::{Call, Message, Pattern, Reply, ReplyKind, RequestId, Requests, Which};
use crate::units::SimSpan;

/// Operations of one rank in a GOAL schedule, and the dependences between the operations.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Graph {
    pub nodes: Vec<GraphNode>,
}

/// An operation of a rank in a GOAL schedule.
#[derive(Debug, PartialEq)]
pub(super) struct GraphNode {
    pub work: GraphWork,
    /// Label of the operation in the GOAL schedule, for reports.
    pub label: String,
    /// Number of operations on which this operation depends.
    pub needs: u32,
    /// Operations that depend on the start of this operation.
    pub at_start: Vec<u32>,
    /// Operations that depend on the end of this operation.
    pub at_end: Vec<u32>,
}

/// Action of an operation: work, a send or a receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum GraphWork {
    Calc(SimSpan),
    Send(GraphMessage),
    Recv(Pattern),
}

/// A message that a rank sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GraphMessage {
    pub to: u32,
    pub tag: u32,
    pub size: crate::units::Bytes,
}

impl Graph {
    /// Returns an operation that can never start because its dependences form a cycle, if any.
    pub fn stuck(&self) -> Option<&GraphNode> {
        let mut needs: Vec<u32> = self.nodes.iter().map(|node| node.needs).collect();
        let mut ready: Vec<u32> = (0..).zip(&needs).filter(|(_, needs)| **needs == 0).map(|(node, _)| node).collect();
        while let Some(node) = ready.pop() {
            let node = &self.nodes[node as usize];
            for &next in node.at_start.iter().chain(&node.at_end) {
                needs[next as usize] -= 1;
                if needs[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        self.nodes.iter().zip(needs).find(|(_, needs)| *needs > 0).map(|(node, _)| node)
    }
}

/// Program of a rank that executes the operations of a graph.
pub struct GraphProgram {
    graph: Arc<Graph>,
    needs: Vec<u32>,
    /// Sends and receives whose dependences are satisfied, in the order of the file. `work` contains the blocks of work
    /// whose dependences are satisfied.
    messages: BTreeSet<u32>,
    work: BTreeSet<u32>,
    under_way: Vec<(u32, RequestId)>,
    pending: PendingOp,
    last: u32,
}

/// Purpose of the last call of the program.
#[derive(Clone, Copy)]
enum PendingOp {
    Nothing,
    GraphWork(u32),
    Start(u32),
    Wait,
    /// The call tests for completed requests before the next block of work.
    Look,
}

impl GraphProgram {
    pub(super) fn new(graph: Arc<Graph>) -> Self {
        let needs: Vec<u32> = graph.nodes.iter().map(|node| node.needs).collect();
        let (messages, work, under_way) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut program =
            GraphProgram { graph, needs, messages, work, under_way, pending: PendingOp::Nothing, last: 0 };
        (0..program.needs.len() as u32).for_each(|node| program.start_if_ready(node));
        program
    }

    pub(super) fn position(&self) -> Option<String> {
        self.graph.nodes.get(self.last as usize).map(|node| node.label.clone())
    }

    fn start_if_ready(&mut self, node: u32) {
        if self.needs[node as usize] == 0 {
            match self.graph.nodes[node as usize].work {
                GraphWork::Calc(_) => self.work.insert(node),
                GraphWork::Send(_) | GraphWork::Recv(_) => self.messages.insert(node),
            };
        }
    }

    /// Removes one unsatisfied dependence of each operation that `list` returns for the operation `node`.
    fn satisfy(&mut self, list: impl Fn(&GraphNode) -> &[u32], node: u32) {
        let graph = self.graph.clone();
        for &next in list(&graph.nodes[node as usize]) {
            self.needs[next as usize] -= 1;
            self.start_if_ready(next);
        }
    }

    fn started(&mut self, node: u32) {
        self.satisfy(|node| &node.at_start, node);
    }

    fn ended(&mut self, node: u32) {
        self.satisfy(|node| &node.at_end, node);
    }

    pub(super) fn next(&mut self, reply: Reply<'_>) -> Call {
        let mut looked = false;
        match (std::mem::replace(&mut self.pending, PendingOp::Nothing), reply.kind) {
            (PendingOp::GraphWork(node), _) => self.ended(node),
            (PendingOp::Start(node), ReplyKind::Started(id)) => match id {
                crate::rank::COMPLETE => self.ended(node),
                id => self.under_way.push((node, id)),
            },
            (pending @ (PendingOp::Wait | PendingOp::Look), ReplyKind::Completed(done)) => {
                looked = matches!(pending, PendingOp::Look);
                let ended: Vec<u32> =
                    done.iter().rev().map(|one| self.under_way.remove(one.index as usize).0).collect();
                ended.into_iter().rev().for_each(|node| self.ended(node));
            }
            _ => {}
        }
        if let Some(node) = self.messages.pop_first() {
            self.last = node;
            self.pending = PendingOp::Start(node);
            self.started(node);
            return match self.graph.nodes[node as usize].work {
                GraphWork::Recv(pattern) => Call::Irecv(pattern),
                GraphWork::Send(GraphMessage { to, tag, size }) => Call::Isend(Message {
                    to,
                    context: 0,
                    tag,
                    size,
                    mode: crate::rank::SendMode::Standard,
                    payload: None,
                    buffer: Default::default(),
                }),
                GraphWork::Calc(_) => Call::Yield,
            };
        }
        let requests = || -> Requests { self.under_way.iter().map(|(_, id)| *id).collect() };
        if let Some(&node) = self.work.first() {
            // Messages that have arrived meanwhile may allow further sends and receives, which precede the next block
            // of work.
            if !looked && !self.under_way.is_empty() {
                let requests = requests();
                self.pending = PendingOp::Look;
                return Call::Test { requests, which: Which::Some, poll: false };
            }
            self.work.remove(&node);
            self.last = node;
            self.pending = PendingOp::GraphWork(node);
            self.started(node);
            let GraphWork::Calc(span) = self.graph.nodes[node as usize].work else { return Call::Yield };
            return Call::Compute(span);
        }
        if self.under_way.is_empty() {
            return Call::Finish;
        }
        let requests = requests();
        self.pending = PendingOp::Wait;
        Call::WaitAny(requests)
    }
}
