//! A rank whose operations are ordered by what each of them needs, and no more.
//!
//! Receives are posted and sends started as soon as they may be, in the order of the file; then the first block of work
//! that may be done is. Where nothing can be done, the rank waits for the first of what is under way.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::rank::{Call, Message, Pattern, Reply, ReplyKind, RequestId, Requests, Which};
use crate::units::SimSpan;

/// Operations and what they need.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Graph {
    pub nodes: Vec<Node>,
}

/// An operation.
#[derive(Debug, PartialEq)]
pub(super) struct Node {
    pub work: Work,
    /// What its label is, for reports.
    pub label: String,
    /// How many things it needs.
    pub needs: u32,
    /// Those that need its start.
    pub at_start: Vec<u32>,
    /// Those that need its end.
    pub at_end: Vec<u32>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    Calc(SimSpan),
    Send(GraphMessage),
    Recv(Pattern),
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GraphMessage {
    pub to: u32,
    pub tag: u32,
    pub size: crate::units::Bytes,
}

impl Graph {
    /// An operation that can never start, because it needs what needs it.
    pub fn stuck(&self) -> Option<&Node> {
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

/// A rank that executes a graph.
pub struct GraphProgram {
    graph: Arc<Graph>,
    needs: Vec<u32>,
    /// Messages that may be started, and work that may be done, in the order of the file.
    messages: BTreeSet<u32>,
    work: BTreeSet<u32>,
    under_way: Vec<(u32, RequestId)>,
    doing: Doing,
    last: u32,
}

/// What the last call does.
#[derive(Clone, Copy)]
enum Doing {
    Nothing,
    Work(u32),
    Start(u32),
    Wait,
    /// Looks what is complete before the next block of work.
    Look,
}

impl GraphProgram {
    pub(super) fn new(graph: Arc<Graph>) -> Self {
        let needs: Vec<u32> = graph.nodes.iter().map(|node| node.needs).collect();
        let (messages, work, under_way) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut program = GraphProgram { graph, needs, messages, work, under_way, doing: Doing::Nothing, last: 0 };
        (0..program.needs.len() as u32).for_each(|node| program.start_if_ready(node));
        program
    }

    pub(super) fn position(&self) -> Option<String> {
        self.graph.nodes.get(self.last as usize).map(|node| node.label.clone())
    }

    fn start_if_ready(&mut self, node: u32) {
        if self.needs[node as usize] == 0 {
            match self.graph.nodes[node as usize].work {
                Work::Calc(_) => self.work.insert(node),
                Work::Send(_) | Work::Recv(_) => self.messages.insert(node),
            };
        }
    }

    /// Those of `list` need one thing less.
    fn satisfy(&mut self, list: impl Fn(&Node) -> &[u32], node: u32) {
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
        match (std::mem::replace(&mut self.doing, Doing::Nothing), reply.kind) {
            (Doing::Work(node), _) => self.ended(node),
            (Doing::Start(node), ReplyKind::Started(id)) => match id {
                crate::rank::COMPLETE => self.ended(node),
                id => self.under_way.push((node, id)),
            },
            (doing @ (Doing::Wait | Doing::Look), ReplyKind::Completed(done)) => {
                looked = matches!(doing, Doing::Look);
                let ended: Vec<u32> =
                    done.iter().rev().map(|one| self.under_way.remove(one.index as usize).0).collect();
                ended.into_iter().rev().for_each(|node| self.ended(node));
            }
            _ => {}
        }
        if let Some(node) = self.messages.pop_first() {
            self.last = node;
            self.doing = Doing::Start(node);
            self.started(node);
            return match self.graph.nodes[node as usize].work {
                Work::Recv(pattern) => Call::Irecv(pattern),
                Work::Send(GraphMessage { to, tag, size }) => Call::Isend(Message {
                    to,
                    context: 0,
                    tag,
                    size,
                    mode: crate::rank::SendMode::Standard,
                    payload: None,
                    buffer: Default::default(),
                }),
                Work::Calc(_) => Call::Yield,
            };
        }
        let requests = || -> Requests { self.under_way.iter().map(|(_, id)| *id).collect() };
        if let Some(&node) = self.work.first() {
            // What has come meanwhile may let messages go before it.
            if !looked && !self.under_way.is_empty() {
                let requests = requests();
                self.doing = Doing::Look;
                return Call::Test { requests, which: Which::Some, poll: false };
            }
            self.work.remove(&node);
            self.last = node;
            self.doing = Doing::Work(node);
            self.started(node);
            let Work::Calc(span) = self.graph.nodes[node as usize].work else { return Call::Yield };
            return Call::Compute(span);
        }
        if self.under_way.is_empty() {
            return Call::Finish;
        }
        let requests = requests();
        self.doing = Doing::Wait;
        Call::WaitAny(requests)
    }
}
