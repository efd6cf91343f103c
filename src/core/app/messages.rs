//! Messages and collectives of a rank. Evaluates expressions to engine calls, and converts ranks of communicators to
//! world ranks.

use std::sync::Arc;

use crate::mpi::{CollectiveCall, MpiCall, Sizes};
use crate::platform::Collective;
use crate::rank::{Call, Context, Message, Pattern, Rank, SendMode, Source, Tag, TagPattern};
use crate::units::Bytes;

use super::code::{Code, CollectiveOp, ReceiveOp, Send, Start};
use super::formula::Formula;
use super::grid::NONE;
use super::program::ProgramState;
use super::value::{EvalError, Evaluated};

/// Destination, tag and size of a message, without mode and payload. The fields stay in registers until the engine call
/// is written.
#[derive(Clone, Copy)]
pub(super) struct Address {
    to: Rank,
    context: Context,
    tag: Tag,
    size: Bytes,
}

impl Address {
    #[inline(always)]
    pub(super) fn message(self, mode: SendMode) -> Message {
        Message {
            to: self.to,
            context: self.context,
            tag: self.tag,
            size: self.size,
            mode,
            payload: None,
            buffer: Default::default(),
        }
    }
}

/// Greatest tag that described applications may use (MPI_TAG_UB).
const MAX_TAG: i64 = i32::MAX as i64;

impl ProgramState {
    /// Pattern of `recv` or `irecv`; `None` if the source is MPI_PROC_NULL.
    #[inline(always)]
    pub(super) fn receive(&mut self, code: &Code, receive: &ReceiveOp) -> Evaluated<Option<Pattern>> {
        let Some(pattern) = self.pattern(code, receive)? else {
            self.received_from_none(receive.outputs);
            return Ok(None);
        };
        if let Start::Request(name) = receive.start {
            self.check_name_is_free(code, name)?;
        }
        Ok(Some(pattern))
    }

    /// Engine call for `sendrecv`. The statement may lack the send or the receive.
    pub(super) fn exchange(&mut self, code: &Code, send: &Send, receive: &ReceiveOp) -> Evaluated<Option<Call>> {
        let message = self.message(code, send)?;
        let pattern = self.pattern(code, receive)?;
        if pattern.is_none() {
            self.received_from_none(receive.outputs);
        }
        Ok(match (message, pattern) {
            (Some(message), Some(pattern)) => Some(Call::Exchange(message, pattern)),
            (Some(message), None) => Some(Call::Send(message)),
            (None, Some(pattern)) => Some(Call::Recv(pattern)),
            (None, None) => None,
        })
    }

    fn message(&mut self, code: &Code, send: &Send) -> Evaluated<Option<Message>> {
        Ok(self.address(code, send)?.map(|address| address.message(send.mode)))
    }

    /// Destination of a send; `None` if it is MPI_PROC_NULL.
    #[inline(always)]
    pub(super) fn address(&mut self, code: &Code, send: &Send) -> Evaluated<Option<Address>> {
        let Some(to) = self.peer(code, &send.to, send.comm)? else { return Ok(None) };
        let mut env = self.env(code);
        let size = send.bytes.bytes(&mut env)?;
        let tag = tag(&send.tag, send.tag.whole(&mut env)?)?;
        if let Start::Request(name) = send.start {
            self.check_name_is_free(code, name)?;
        }
        let context = code.world.comms[send.comm as usize].point_to_point();
        Ok(Some(Address { to, context, tag, size }))
    }

    /// Pattern of a receive or probe; `None` if the source is MPI_PROC_NULL.
    #[inline(always)]
    pub(super) fn pattern(&mut self, code: &Code, receive: &ReceiveOp) -> Evaluated<Option<Pattern>> {
        let from = match &receive.from {
            None => {
                self.check_member(code, receive.comm)?;
                Source::Any
            }
            Some(from) => match self.peer(code, from, receive.comm)? {
                Some(rank) => Source::Rank(rank),
                None => return Ok(None),
            },
        };
        let mut env = self.env(code);
        let tag = match &receive.tag {
            None => TagPattern::Any,
            Some(formula) => TagPattern::Tag(tag(formula, formula.whole(&mut env)?)?),
        };
        let capacity = receive.capacity.as_ref().map_or(Ok(Bytes::MAX), |capacity| capacity.bytes(&mut env))?;
        let context = code.world.comms[receive.comm as usize].point_to_point();
        Ok(Some(Pattern { from, context, tag, capacity, buffer: Default::default() }))
    }

    /// World rank of a peer; `None` if the peer is MPI_PROC_NULL.
    #[inline(always)]
    fn peer(&mut self, code: &Code, formula: &Formula, comm: u32) -> Evaluated<Option<u32>> {
        let peer = formula.whole(&mut self.env(code))?;
        let table = &code.world.comms[comm as usize];
        let size = table.size_for(self.rank);
        if (0..i64::from(size)).contains(&peer) {
            return Ok(Some(table.world_rank(self.rank, peer as u32)));
        }
        if peer == NONE {
            return Ok(None);
        }
        self.check_member(code, comm)?;
        Err(formula.explain(&outside("peer", peer, size, ", or none")))
    }

    fn check_member(&self, code: &Code, comm: u32) -> Evaluated<()> {
        if code.world.comms[comm as usize].size_for(self.rank) > 0 {
            return Ok(());
        }
        Err(EvalError::new(format!(
            "this rank is in no group of the communicator \"{}\"",
            code.comm_names[comm as usize]
        )))
    }

    #[inline]
    fn check_name_is_free(&self, code: &Code, name: Option<u32>) -> Evaluated<()> {
        match name {
            Some(name) if self.outstanding.has(code, name) => {
                let name = &code.request_names[name as usize];
                Err(EvalError::new(format!(
                    "the request \"{name}\" is still outstanding; wait for it before starting it again"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Action of the MPI program for a collective statement.
    pub(super) fn collective(&mut self, code: &Code, op: &CollectiveOp) -> Evaluated<MpiCall> {
        let Some(comm) = code.world.comms[op.comm as usize].comm(self.rank) else {
            self.check_member(code, op.comm)?;
            unreachable!("a rank without a communicator is no member of it");
        };
        let root = op.root.whole(&mut self.env(code))?;
        let size = comm.size();
        if !(0..i64::from(size)).contains(&root) {
            return Err(op.root.explain(&outside("root", root, size, "")));
        }
        let root = root as u32;
        let sizes = self.sizes(code, op, comm.rank(), size, root)?;
        let call = CollectiveCall { collective: op.collective, comm, root, sizes, algorithm: op.algorithm };
        Ok(match op.start {
            Start::Blocking => MpiCall::Collective(call),
            Start::Request(name) => {
                self.check_name_is_free(code, name)?;
                MpiCall::StartCollective(call)
            }
        })
    }

    /// Data sizes of a collective. The table in [`Sizes`] defines the meaning of the sizes.
    fn sizes(&mut self, code: &Code, op: &CollectiveOp, me: u32, size: u32, root: u32) -> Evaluated<Sizes> {
        let mut env = self.env(code);
        let own_block = match op.collective {
            Collective::Gatherv => true,
            Collective::Scatterv => me != root,
            _ => false,
        };
        if !op.by_peer || own_block {
            env.peer = i64::from(me);
            return op.bytes.bytes(&mut env).map(Sizes::Same);
        }
        if let Some(blocks) = op.shared.as_ref().and_then(|shared| shared.get()) {
            return Ok(Sizes::Each(blocks.clone()));
        }
        let mut block = |peer: u32| {
            env.peer = i64::from(peer);
            op.bytes.bytes(&mut env)
        };
        let blocks: Arc<[Bytes]> = (0..size).map(&mut block).collect::<Evaluated<_>>()?;
        if let Some(shared) = &op.shared {
            // All ranks compute the same list of block sizes, so any rank may store the list.
            let _ = shared.set(blocks.clone());
        }
        Ok(Sizes::Each(blocks))
    }
}

#[inline]
fn tag(formula: &Formula, tag: i64) -> Evaluated<Tag> {
    if (0..=MAX_TAG).contains(&tag) {
        return Ok(tag as Tag);
    }
    Err(formula.explain(&EvalError::new(format!("expected a tag from 0 to {MAX_TAG}; found {tag}"))))
}

#[cold]
fn outside(what: &str, found: i64, size: u32, or: &str) -> EvalError {
    let last = i64::from(size) - 1;
    EvalError::new(format!("{what} {found} is outside the communicator of {size} ranks: expected 0 to {last}{or}"))
}
