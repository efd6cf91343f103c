//! A collective whose time a model states. The ranks wait for each other by messages without data, and all ranks leave
//! the collective at the same time.
//!
//! Rank 0 receives a message of each other rank and then answers each. Two ranks send each other a message instead. The
//! time of the messages is a part of the stated time, so each rank computes for the rest of the time before its first
//! message. If the stated time is shorter than the messages, the collective takes the time of the messages.

use crate::rules::rule_size;
use crate::{CollectiveCall, CommMember};
use mcpsim_base::platform::CollectiveRules;
use mcpsim_base::rank::{Call, Message, Pattern, SendMode, Source, Tag, TagPattern};
use mcpsim_base::units::{Bytes, SimSpan};

use super::busy::Busy;

/// One rank's part of a collective whose time a model states.
#[derive(Debug)]
pub(super) struct ModelledCollective {
    call: CollectiveCall,
    /// Time from the entry of the last rank to the exit of all ranks.
    span: SimSpan,
    /// Time of a message without data.
    message: SimSpan,
    /// Number of steps that this rank has executed.
    done: u32,
}

/// A step of a rank.
enum SyncStep {
    Compute(SimSpan),
    Send(u32),
    Recv(u32),
    End,
}

impl ModelledCollective {
    /// Creates this rank's part of `call`, if `rules` state the time of the collective.
    pub(super) fn new(call: &CollectiveCall, rules: &CollectiveRules) -> Option<Self> {
        let times = rules.times.as_ref()?;
        let span = times.span(call.collective, call.comm.size(), rule_size(call))?;
        Some(ModelledCollective { call: call.clone(), span, message: times.message, done: 0 })
    }

    /// Returns the collective call.
    pub(super) fn call(&self) -> &CollectiveCall {
        &self.call
    }

    /// Returns the next engine call; `None` when the rank leaves the collective.
    pub(super) fn next_call(&mut self, tag: Tag) -> Option<Call> {
        loop {
            let step = self.step();
            self.done += 1;
            let comm = &self.call.comm;
            return match step {
                SyncStep::Compute(span) => match Busy::new(span).call(comm) {
                    None => continue,
                    call => call,
                },
                SyncStep::Send(to) => Some(Call::Send(message(comm, to, tag))),
                SyncStep::Recv(from) => Some(Call::Recv(pattern(comm, from, tag))),
                SyncStep::End => None,
            };
        }
    }

    fn step(&self) -> SyncStep {
        let (rank, size) = (self.call.comm.rank(), self.call.comm.size());
        let before = |messages: u64| {
            let span = self.message.as_ps().saturating_mul(messages);
            SimSpan::from_ps(self.span.as_ps().saturating_sub(span))
        };
        match (rank, size, self.done) {
            (_, 0 | 1, _) => SyncStep::End,
            (_, 2, 0) => SyncStep::Compute(before(1)),
            (_, 2, 1) => SyncStep::Send(1 - rank),
            // A rank that enters last leaves as late as the other rank.
            (_, 2, 2) => SyncStep::Compute(self.message),
            (_, 2, 3) => SyncStep::Recv(1 - rank),
            (0, _, 0) => SyncStep::Compute(before(2) + self.message),
            (0, _, done) if done < size => SyncStep::Recv(done),
            (0, _, done) if u64::from(done) <= 2 * (u64::from(size) - 1) => SyncStep::Send(done - (size - 1)),
            (0, _, done) if u64::from(done) == 2 * u64::from(size) - 1 => SyncStep::Compute(self.message),
            (1.., 3.., 0) => SyncStep::Compute(before(2)),
            (1.., 3.., 1) => SyncStep::Send(0),
            (1.., 3.., 2) => SyncStep::Recv(0),
            _ => SyncStep::End,
        }
    }
}

fn message(comm: &CommMember, to: u32, tag: Tag) -> Message {
    Message {
        to: comm.world(to),
        context: comm.collective(),
        tag,
        size: Bytes::ZERO,
        mode: SendMode::Standard,
        payload: None,
        buffer: Default::default(),
    }
}

fn pattern(comm: &CommMember, from: u32, tag: Tag) -> Pattern {
    Pattern {
        from: Source::Rank(comm.world(from)),
        context: comm.collective(),
        tag: TagPattern::Tag(tag),
        capacity: Bytes::MAX,
        buffer: Default::default(),
    }
}
