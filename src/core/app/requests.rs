//! Outstanding requests of a rank, and the completion of requests.

use std::collections::BTreeMap;

use crate::profile::Unwaited;
use crate::rank::{Call, Completion, RequestId, Requests, Which};

use super::code::{Code, CompletionSlots, Op, Pc, ReceiveOp, RequestName, Start, WaitForm, WaitOp};
use super::grid::NONE;
use super::program::ProgramState;
use super::value::Value;

/// Outstanding requests of a rank in the order of their start.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    entries: Vec<OutstandingEntry>,
    /// Number of requests at the front of the list for which the last call waits, or which the last call tests.
    awaited: u32,
}

#[derive(Clone, Copy, Debug)]
struct OutstandingEntry {
    id: RequestId,
    /// Instruction that started the request. The instruction defines the request's name and the variables for received
    /// values.
    op: Pc,
}

impl Outstanding {
    pub(super) fn push(&mut self, id: RequestId, op: Pc) {
        // A full vector would double its capacity. With a million ranks, the twelve requests of a stencil must not use
        // memory for sixteen requests.
        let room = self.entries.capacity();
        if self.entries.len() == room && room < 32 {
            self.entries.reserve_exact(4);
        }
        self.entries.push(OutstandingEntry { id, op });
    }

    /// Whether the rank has an outstanding request with the name `name`.
    pub(super) fn has(&self, code: &Code, name: RequestName) -> bool {
        self.entries.iter().any(|entry| name_of(code, entry.op) == Some(name))
    }

    /// Adds the requests that are outstanding at the end of the program to `sums`.
    pub(super) fn sum_unwaited(&self, code: &Code, sums: &mut Unwaited) {
        if self.entries.is_empty() {
            return;
        }
        let mut steps = BTreeMap::new();
        self.entries.iter().for_each(|entry| *steps.entry(entry.op).or_default() += 1);
        let name = |op| name_of(code, op).map(|name| code.request_names[name as usize].clone());
        sums.add(&steps, |op| (code.site(op), name(op)));
    }

    /// Returns the requests that a wait statement names, and moves these requests to the front of the list.
    fn await_these(&mut self, code: &Code, names: Option<&[RequestName]>) -> Requests {
        match names {
            None => self.awaited = self.entries.len() as u32,
            Some(names) => {
                self.awaited = 0;
                for name in names {
                    let rest = &mut self.entries[self.awaited as usize..];
                    if let Some(index) = rest.iter().position(|entry| name_of(code, entry.op) == Some(*name)) {
                        rest[..=index].rotate_right(1);
                        self.awaited += 1;
                    }
                }
            }
        }
        self.entries[..self.awaited as usize].iter().map(|entry| entry.id).collect()
    }
}

/// Name of the request that the instruction `op` starts, if the request has a name.
fn name_of(code: &Code, op: Pc) -> Option<RequestName> {
    let start = match &code.ops[op as usize] {
        Op::Send(send) => send.start,
        Op::Recv(receive) => receive.start,
        Op::Collective(collective) => collective.start,
        _ => Start::Blocking,
    };
    if let Start::Request(name) = start { name } else { None }
}

impl ProgramState {
    /// Engine call for a wait statement; `None` if the rank has no outstanding request, because the wait then returns
    /// at once (MPI-3.1, section 3.7.3).
    pub(super) fn wait(&mut self, code: &Code, wait: &WaitOp) -> Option<Call> {
        let requests = self.outstanding.await_these(code, wait.requests.as_deref());
        if requests.is_empty() {
            match wait.kind {
                WaitForm::All => {}
                WaitForm::Any(index) => self.assign(index, Value::Int(NONE)),
                WaitForm::Test(done) => self.assign(done, Value::Bool(true)),
            }
            self.received_from_none(wait.outputs);
            return None;
        }
        Some(match wait.kind {
            WaitForm::All if wait.reported => Call::WaitAll(requests),
            WaitForm::All => Call::Complete(requests),
            WaitForm::Any(_) => Call::WaitAny(requests),
            WaitForm::Test(_) => Call::Test { requests, which: Which::All, poll: true },
        })
    }

    /// Handles the completions in the engine's reply to the instruction `op`.
    pub(super) fn completed(&mut self, code: &Code, op: &Op, completions: &[Completion]) {
        match op {
            Op::Recv(receive) | Op::Probe(receive) => self.received_first(code, receive, completions),
            Op::Exchange(both) => self.received_first(code, &both.1, completions),
            Op::Iprobe { pattern, found } => {
                self.assign(*found, Value::Bool(!completions.is_empty()));
                self.received_first(code, pattern, completions);
                if !completions.is_empty() {
                    self.progressed();
                }
            }
            Op::Wait(wait) => self.waited(code, wait, completions),
            _ => {}
        }
    }

    fn waited(&mut self, code: &Code, wait: &WaitOp, completions: &[Completion]) {
        if !completions.is_empty() {
            self.progressed();
        }
        for completion in completions {
            let Some(entry) = self.outstanding.entries.get(completion.index as usize).copied() else { continue };
            let receive = match &code.ops[entry.op as usize] {
                Op::Recv(receive) => Some(&**receive),
                _ => None,
            };
            match receive {
                Some(receive) => {
                    self.received(code, receive.comm, receive.outputs, completion);
                    self.received(code, receive.comm, wait.outputs, completion);
                }
                None => self.received_from_none(wait.outputs),
            }
        }
        match (wait.kind, completions) {
            (WaitForm::Any(slot), [completion, ..]) => {
                let index = completion.index as usize;
                let op = self.outstanding.entries.get(index).map(|entry| entry.op);
                if let Some(op) = op {
                    self.outstanding.entries.remove(index);
                    let named = wait.requests.as_deref().zip(name_of(code, op));
                    let position = named.and_then(|(names, name)| names.iter().position(|other| *other == name));
                    self.assign(slot, Value::Int(position.unwrap_or(index) as i64));
                }
            }
            (WaitForm::Test(done), completions) => {
                self.assign(done, Value::Bool(!completions.is_empty()));
                if !completions.is_empty() {
                    self.forget_awaited();
                }
            }
            _ => self.forget_awaited(),
        }
    }

    /// Removes the requests of the last wait from the list of outstanding requests.
    pub(super) fn forget_awaited(&mut self) {
        let awaited = self.outstanding.awaited as usize;
        self.outstanding.entries.drain(..awaited);
    }

    fn received_first(&mut self, code: &Code, receive: &ReceiveOp, completions: &[Completion]) {
        if let Some(completion) = completions.first() {
            self.received(code, receive.comm, receive.outputs, completion);
        }
    }

    /// Assigns the sender (as rank of the communicator), tag and size of a received message to variables.
    fn received(&mut self, code: &Code, comm: u32, outputs: CompletionSlots, completion: &Completion) {
        if outputs.source.is_some() {
            let source = code.world.comms[comm as usize].rank_of(completion.source);
            self.assign(outputs.source, Value::Int(source.map_or(NONE, i64::from)));
        }
        self.assign(outputs.tag, Value::Int(i64::from(completion.tag)));
        self.assign(outputs.bytes, Value::Int(i64::try_from(completion.size.get()).unwrap_or(i64::MAX)));
    }

    /// Assigns the values of a receive from MPI_PROC_NULL to variables (MPI-3.1, section 3.11).
    pub(super) fn received_from_none(&mut self, outputs: CompletionSlots) {
        self.assign(outputs.source, Value::Int(NONE));
        self.assign(outputs.tag, Value::Int(NONE));
        self.assign(outputs.bytes, Value::Int(0));
    }
}
