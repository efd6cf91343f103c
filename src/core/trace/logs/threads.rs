//! Calls of the threads of a rank, if the program of a run has threads. A log has the calls of all threads of its rank in
//! the order in which the calls ended. A replay executes each thread separately, so the order of calls of different
//! threads differs from the order in the log.
//!
//! These properties of the log's order are therefore computed before the replay: which message a receive gets, the
//! order of the collectives on each communicator, and which requests a wait completes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::TraceError;
use super::call::{CallClass, LogCall, MessageEnd};
use super::cursor::{LogCursor, LoggedCall};
use super::numbers::{ChannelUse, ThreadClocks};
use super::rank_log::RankLog;
use super::resolve::{ResolvedLog, SELF};
use crate::mpi::{CommMember, Group};
use crate::rank::{Context, Rank, Tag};

/// Greatest context of communicators. Greater contexts are those of numbered messages.
const NUMBERED: Context = 1 << 31;

/// Index of a call without a message or request.
pub(super) const NONE: u32 = u32::MAX;

/// A call of a thread.
#[derive(Debug)]
pub(super) struct ThreadCall {
    pub call: Arc<LogCall>,
    /// Time of the code before the call, and time that this code slept, in ns.
    pub code: u64,
    pub slept: u64,
    /// Index of the first message of the call in [`RankThreads::messages`], number of the collective among those on its
    /// communicator, or index of the first request of a wait in [`RankThreads::waited`]. [`NONE`] for a call without
    /// message.
    pub index: u32,
    /// Number of the request that the call starts.
    pub request: u32,
}

/// Message of a call: its peer, and context and tag by which the replay matches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadMessage {
    pub peer: Rank,
    pub context: Context,
    pub tag: Tag,
}

/// Calls of the threads of a rank.
#[derive(Debug, Default)]
pub(super) struct RankThreads {
    /// Calls of each thread by its number. The main thread has the number 0.
    pub threads: BTreeMap<u32, Vec<ThreadCall>>,
    /// Threads whose creation was not recorded. They begin with the rank.
    pub uncreated: Vec<u32>,
    /// Messages of all calls; `None` for a message to or from MPI_PROC_NULL, and for a probe or receive without
    /// message.
    pub messages: Vec<Option<ThreadMessage>>,
    /// Requests of all waits, by their numbers in the order of starts.
    pub waited: Vec<u32>,
    /// Requests that another thread completes than the one that starts them.
    pub shared: BTreeSet<u32>,
    /// Communicators of the rank.
    pub comms: Vec<(u32, CommMember)>,
}

/// A channel: context, sender, receiver and tag.
type Channel = (Context, Rank, Rank, Tag);

/// The threads that use one end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    One(u32),
    Several,
}

/// Splits the logs of a run by thread.
///
/// # Errors
/// A record of a log is invalid.
pub(super) fn split(logs: &[Arc<RankLog>], resolved: &[ResolvedLog]) -> Result<Vec<Arc<RankThreads>>, TraceError> {
    // Messages of channels that several threads of a rank use are numbered, so that each receive gets the message that
    // it got in the recorded run.
    let mut users: FxHashMap<(Channel, bool), Users> = FxHashMap::default();
    for (log, resolved) in logs.iter().zip(resolved) {
        let mut ends = RankEnds::new(log, resolved);
        ends.each_call(log, |ends, step| {
            for (channel, is_send) in ends.of(&step.call.what).into_iter().flatten().flatten() {
                let of = users.entry((channel, is_send)).or_insert(Users::One(step.thread));
                if *of != Users::One(step.thread) {
                    *of = Users::Several;
                }
            }
        })?;
    }
    let several = users.iter().filter(|(_, of)| **of == Users::Several).map(|((channel, _), _)| *channel);
    let numbered: BTreeSet<Channel> = several.collect();
    let numbered: FxHashMap<Channel, Context> = numbered.into_iter().zip(NUMBERED..).collect();
    let rank_of = |(log, resolved)| split_rank(log, resolved, &numbered).map(Arc::new);
    logs.iter().zip(resolved).map(rank_of).collect()
}

/// Communicators and posted receives of a rank, in one pass over its log.
struct RankEnds<'a> {
    resolved: &'a ResolvedLog,
    rank: Rank,
    comms: FxHashMap<u32, CommMember>,
    posted: u64,
    late: usize,
}

/// Channels of the messages of a call, and whether the call sends the message.
type CallEnds = [Option<Option<(Channel, bool)>>; 2];

impl<'a> RankEnds<'a> {
    fn new(log: &RankLog, resolved: &'a ResolvedLog) -> Self {
        let (rank, ranks) = (log.info.rank, log.info.ranks);
        let world = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: ranks });
        let own = CommMember::new(SELF, 0, Group::Strided { first: rank, stride: 1, size: 1 });
        RankEnds { resolved, rank, comms: FxHashMap::from_iter([(0, world), (SELF, own)]), posted: 0, late: 0 }
    }

    /// Passes the calls that a replay executes to `body`.
    fn each_call(
        &mut self,
        log: &Arc<RankLog>,
        mut body: impl FnMut(&mut Self, &LoggedCall),
    ) -> Result<(), TraceError> {
        let mut cursor = LogCursor::new(log.clone());
        let mut left = self.resolved.keep.unwrap_or(u64::MAX);
        while left > 0
            && let Some(step) = cursor.step()?
        {
            left -= 1;
            if let CallClass::Comm { made: Some(made), .. } = &step.call.what {
                let member = made.group.member(self.rank).expect("members were checked");
                let comm = CommMember::new(self.resolved.comms[&made.number], member, made.group.clone());
                self.comms.insert(made.number, comm);
            }
            body(self, &step);
        }
        Ok(())
    }

    /// Returns the channels of the messages of the call, which is the next call of the log. An item is `None` if the
    /// call has no such message, and `Some(None)` if the call has no peer.
    fn of(&mut self, what: &CallClass) -> CallEnds {
        match what {
            CallClass::Send(mail) | CallClass::Isend(_, mail) => [Some(self.end(mail, true)), None],
            CallClass::Recv(mail) => [Some(self.end(mail, false)), None],
            CallClass::Irecv(_, mail) => {
                let mail = self.resolved.posted(self.posted, &mut self.late, mail);
                self.posted += 1;
                [Some(mail.and_then(|mail| self.end(&mail, false))), None]
            }
            CallClass::Exchange(both) => [Some(self.end(&both.0, true)), Some(self.end(&both.1, false))],
            _ => [None, None],
        }
    }

    fn end(&self, mail: &MessageEnd, is_send: bool) -> Option<(Channel, bool)> {
        let comm = &self.comms[&mail.comm];
        let (peer, tag) = (comm.world(mail.peer?), if is_send { mail.tag.unwrap_or(0) } else { mail.tag? });
        let (from, to) = if is_send { (self.rank, peer) } else { (peer, self.rank) };
        Some(((comm.point_to_point(), from, to, tag), is_send))
    }

    /// Communicator on which the call executes a collective.
    fn collective_on(what: &CallClass) -> Option<u32> {
        match what {
            CallClass::Collective(joined) => Some(joined.comm),
            CallClass::Near(near) => Some(near.comm),
            CallClass::Comm { telling: 2, made, .. } => made.as_ref().map(|made| made.number),
            CallClass::Comm { telling: 3, .. } => None,
            CallClass::Comm { parent, .. } => Some(*parent),
            _ => None,
        }
    }
}

/// State of the pass that splits the log of a rank.
#[derive(Default)]
struct Splitter {
    found: RankThreads,
    /// Messages of each numbered channel so far.
    channels: FxHashMap<Channel, ChannelUse>,
    /// For each request slot with a receive of a numbered channel, the index of the receive in the channel.
    receives: FxHashMap<u32, (Channel, usize)>,
    /// Probes of numbered channels with the receives of the same messages, by the indexes of the messages.
    probed: Vec<(usize, usize)>,
    clocks: ThreadClocks,
    /// Number of calls so far.
    position: u64,
    /// Probes of each numbered channel since the last receive: thread, and index of the message.
    probes: FxHashMap<Channel, Vec<(u32, usize)>>,
    /// Number of collectives on each communicator so far.
    begun: FxHashMap<u32, u32>,
    /// For each request slot in use, the number of the request and the thread that started it.
    slots: FxHashMap<u32, (u32, u32)>,
    started: u32,
    /// For each created thread that was not joined, the request of the creation and the creator.
    created: FxHashMap<u32, (u32, u32)>,
    all_created: BTreeSet<u32>,
}

fn split_rank(
    log: &Arc<RankLog>,
    resolved: &ResolvedLog,
    numbered: &FxHashMap<Channel, Context>,
) -> Result<RankThreads, TraceError> {
    let mut splitter = Splitter::default();
    let mut ends = RankEnds::new(log, resolved);
    ends.each_call(log, |_, step| splitter.clocks.scan(step))?;
    splitter.clocks.restart();
    splitter.found.threads.insert(0, Vec::new());
    let mut ends = RankEnds::new(log, resolved);
    ends.each_call(log, |ends, step| {
        let (index, request) = splitter.call(ends, step, numbered);
        let call = ThreadCall { call: step.call.clone(), code: step.code, slept: step.slept, index, request };
        splitter.found.threads.entry(step.thread).or_default().push(call);
    })?;
    splitter.number_messages();
    let Splitter { mut found, all_created, .. } = splitter;
    let is_uncreated = |thread: &&u32| **thread != 0 && !all_created.contains(thread);
    found.comms = ends.comms.into_iter().collect();
    found.uncreated = found.threads.keys().filter(is_uncreated).copied().collect();
    Ok(found)
}

impl Splitter {
    /// Returns the index and the request of the call `step`; see [`ThreadCall`].
    fn call(
        &mut self,
        ends: &mut RankEnds<'_>,
        step: &LoggedCall,
        numbered: &FxHashMap<Channel, Context>,
    ) -> (u32, u32) {
        let (thread, what, begin) = (step.thread, &step.call.what, self.clocks.begin(step));
        self.position += 1;
        if let Some(comm) = RankEnds::collective_on(what) {
            let begun = self.begun.entry(comm).or_default();
            let number = *begun;
            *begun += 1;
            let slot = if let CallClass::Collective(joined) = what { joined.slot } else { None };
            return (number, slot.map_or(NONE, |slot| self.start(slot, thread)));
        }
        match what {
            CallClass::Probe(mail) => {
                let Some((channel, _)) = ends.end(mail, false) else { return (NONE, NONE) };
                let index = self.found.messages.len();
                let is_numbered = numbered.contains_key(&channel);
                if is_numbered {
                    // The probe finds the message that the thread receives next.
                    self.probes.entry(channel).or_default().push((thread, index));
                }
                self.found.messages.push((!is_numbered).then(|| plain(channel, false)));
                (index as u32, NONE)
            }
            CallClass::Wait { slots, .. } => {
                let first = self.found.waited.len() as u32;
                for slot in slots {
                    if let Some((channel, receive)) = self.receives.remove(slot) {
                        self.channels.entry(channel).or_default().completes(receive, self.position);
                    }
                    let request = self.slots.remove(slot);
                    self.waits(request, thread);
                }
                (first, NONE)
            }
            CallClass::Release(Some(slot)) => {
                self.receives.remove(slot);
                let request = self.slots.remove(slot);
                (NONE, request.map_or(NONE, |(number, _)| number))
            }
            CallClass::Create(made) => {
                let request = self.next_request();
                self.created.insert(*made, (request, thread));
                self.all_created.insert(*made);
                (NONE, request)
            }
            CallClass::Join(ended) => {
                let first = self.found.waited.len() as u32;
                let request = self.created.remove(ended);
                self.waits(request, thread);
                (first, NONE)
            }
            _ => {
                let first = self.found.messages.len() as u32;
                let slot = if let CallClass::Irecv(slot, _) = what { Some(*slot) } else { None };
                for end in ends.of(what).into_iter().flatten() {
                    let message = end.map(|(channel, is_send)| match numbered.get(&channel) {
                        Some(&context) if is_send => {
                            let message = self.found.messages.len();
                            self.channels.entry(channel).or_default().sends(begin, message);
                            ThreadMessage { context, ..plain(channel, true) }
                        }
                        Some(&context) => {
                            self.receive(channel, thread, slot);
                            ThreadMessage { context, ..plain(channel, false) }
                        }
                        None => plain(channel, is_send),
                    });
                    self.found.messages.push(message);
                }
                let request = match what {
                    CallClass::Isend(slot, _) | CallClass::Irecv(slot, _) => self.start(*slot, thread),
                    _ => NONE,
                };
                (first, request)
            }
        }
    }

    /// Adds the receive of the present call in a numbered channel. The receive is complete, unless it has a request
    /// slot.
    fn receive(&mut self, channel: Channel, thread: u32, slot: Option<u32>) {
        let message = self.found.messages.len();
        let of = self.channels.entry(channel).or_default();
        let receive = of.receives(thread, message);
        match slot {
            Some(slot) => _ = self.receives.insert(slot, (channel, receive)),
            None => of.completes(receive, self.position),
        }
        let probes = self.probes.remove(&channel).unwrap_or_default();
        self.probed.extend(probes.into_iter().filter(|(of, _)| *of == thread).map(|(_, probe)| (probe, message)));
    }

    /// Sets the tags of the messages of numbered channels to their numbers.
    fn number_messages(&mut self) {
        for channel in std::mem::take(&mut self.channels).into_values() {
            for messages in channel.numbered() {
                for (message, number) in messages.into_iter().zip(0..) {
                    if let Some(message) = &mut self.found.messages[message] {
                        message.tag = number;
                    }
                }
            }
        }
        for &(probe, receive) in &self.probed {
            self.found.messages[probe] = self.found.messages[receive];
        }
    }

    fn next_request(&mut self) -> u32 {
        self.started += 1;
        self.started - 1
    }

    fn start(&mut self, slot: u32, thread: u32) -> u32 {
        let request = self.next_request();
        self.slots.insert(slot, (request, thread));
        request
    }

    /// Adds a request to the present wait of `thread`.
    fn waits(&mut self, request: Option<(u32, u32)>, thread: u32) {
        if let Some((_, starter)) = request
            && starter != thread
        {
            self.found.shared.extend(request.map(|(number, _)| number));
        }
        self.found.waited.push(request.map_or(NONE, |(number, _)| number));
    }
}

/// Returns a message of a channel whose messages are not numbered.
fn plain((context, from, to, tag): Channel, is_send: bool) -> ThreadMessage {
    ThreadMessage { peer: if is_send { to } else { from }, context, tag }
}
