//! Properties of logs that are computed before a replay: the messages of receives from any source, and identifiers of
//! communicators that are common to all ranks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::TraceError;
use super::beginning;
use super::call::{ANY, CallClass, MessageEnd};
use super::cursor::{LogCursor, of_rank};
use super::function::LoggedFunction;
use super::rank_log::RankLog;
use super::threads::{self, RankThreads};
use crate::mpi::Group;

/// Identifier of MPI_COMM_SELF; MPI_COMM_WORLD has identifier 0.
pub(super) const SELF: u32 = 1;

/// Properties of a rank's log that are computed before a replay.
#[derive(Debug, Default)]
pub(super) struct ResolvedLog {
    /// Receives without a fixed source or tag: index among the posted receives, and source and tag of the received
    /// message (`None` if no message matches).
    pub late: Vec<(u64, Option<(u32, u32)>)>,
    /// Common identifier of each communicator, by the identifier that the rank assigned to it.
    pub comms: BTreeMap<u32, u32>,
    /// Number of calls in the log.
    pub calls: u64,
    /// Number of initial calls that a replay executes, if the replay does not execute all calls.
    pub keep: Option<u64>,
    /// MPI function of the first call that cannot be replayed, if any.
    pub refused: Option<LoggedFunction>,
    /// Calls by thread, if a rank of the run has several threads.
    pub threads: Option<Arc<RankThreads>>,
}

fn wrong<T>(what: String) -> Result<T, TraceError> {
    Err(TraceError::damaged(what))
}

/// Reads all logs, and checks that the request slots and communicators of calls exist.
pub(super) fn all(logs: &[Arc<RankLog>]) -> Result<Vec<Arc<ResolvedLog>>, TraceError> {
    let mut keys = BTreeSet::new();
    let mut found = Vec::new();
    for (rank, log) in (0..).zip(logs) {
        let one = Scan::new(log, logs.len() as u32).map_err(|error| of_rank(rank, &error))?;
        keys.extend(one.keys.values().cloned());
        found.push(one);
    }
    let has_threads = found.iter().any(|one| one.has_threads);
    let numbers: BTreeMap<Identity, u32> = keys.into_iter().zip(SELF + 1..).collect();
    let mut by_parent = BTreeMap::new();
    let mut resolved: Vec<ResolvedLog> = found
        .into_iter()
        .map(|one| {
            let comms = match has_threads {
                true => one.comms_by_parent(&mut by_parent),
                false => one.keys.iter().map(|(number, identity)| (*number, numbers[identity])).collect(),
            };
            ResolvedLog { comms, ..one.resolved }
        })
        .collect();
    if logs.iter().any(|log| !log.info.finished) || resolved.iter().any(|one| one.refused.is_some()) {
        let keep = beginning::keep(logs, &resolved)?;
        resolved.iter_mut().zip(keep).for_each(|(one, keep)| one.keep = Some(keep));
    }
    if has_threads {
        let threads = threads::split(logs, &resolved)?;
        resolved.iter_mut().zip(threads).for_each(|(one, threads)| one.threads = Some(threads));
    }
    Ok(resolved.into_iter().map(Arc::new).collect())
}

impl ResolvedLog {
    /// Message of the rank's posted receive with index `place`, if the receive gets a message. `late` is the index of
    /// the next late value.
    pub fn posted(&self, place: u64, late: &mut usize, mail: &MessageEnd) -> Option<MessageEnd> {
        match self.late.get(*late) {
            Some((index, got)) if *index == place => {
                *late += 1;
                let (source, tag) = (*got)?;
                Some(MessageEnd { peer: Some(source), tag: Some(tag), ..*mail })
            }
            _ => Some(*mail),
        }
    }
}

/// Key and members of a communicator, equal at all members.
type Identity = ((u32, u32), Group);

/// Result of one pass over a rank's log.
struct Scan {
    resolved: ResolvedLog,
    keys: BTreeMap<u32, Identity>,
    /// Created communicators in order: number, number of the old communicator, members.
    made: Vec<(u32, u32, Group)>,
    /// Whether the rank has several threads.
    has_threads: bool,
}

/// Identifiers of communicators by the identifier of the old communicator, members, and index among the communicators
/// that were created from it with these members.
type ByParent = BTreeMap<(u32, Group, u32), u32>;

/// A receive that a rank has posted.
#[derive(Clone, Copy)]
struct Posted {
    place: u64,
    mail: MessageEnd,
}

impl Scan {
    /// Common identifiers of the rank's communicators in a run with threads. Threads may create communicators at the same
    /// time, so only the order of communicators from the same old communicator is equal at all members.
    fn comms_by_parent(&self, known: &mut ByParent) -> BTreeMap<u32, u32> {
        let mut comms = BTreeMap::new();
        let mut counts: BTreeMap<(u32, &Group), u32> = BTreeMap::new();
        for (number, parent, group) in &self.made {
            let parent = comms.get(parent).copied().unwrap_or(*parent);
            let count = counts.entry((parent, group)).or_default();
            let next = known.len() as u32 + SELF + 1;
            comms.insert(*number, *known.entry((parent, group.clone(), *count)).or_insert(next));
            *count += 1;
        }
        comms
    }

    fn new(log: &Arc<RankLog>, ranks: u32) -> Result<Scan, TraceError> {
        let (resolved, keys) = (ResolvedLog::default(), BTreeMap::new());
        let mut scan = Scan { resolved, keys, made: Vec::new(), has_threads: false };
        let mut created = BTreeSet::new();
        let mut sizes: BTreeMap<u32, u32> = BTreeMap::from([(0, ranks), (SELF, 1)]);
        let mut posted: BTreeMap<u32, Posted> = BTreeMap::new();
        let (mut late, mut place) = (BTreeMap::new(), 0);
        let mut cursor = LogCursor::new(log.clone());
        while let Some(step) = cursor.step()? {
            scan.resolved.calls += 1;
            scan.has_threads |= step.thread != 0;
            let name = step.call.function.name();
            let size_of = |comm: u32| match sizes.get(&comm) {
                Some(&size) => Ok(size),
                None => wrong(format!("{name} on communicator {comm}, which was not created")),
            };
            let known = |mail: &MessageEnd, open: bool| {
                let size = size_of(mail.comm)?;
                let any = open && mail.peer == Some(ANY);
                match mail.peer {
                    Some(peer) if peer >= size && !any => {
                        wrong(format!("{name} with rank {peer} of a communicator of {size}"))
                    }
                    Some(_) if mail.tag.is_none() && !open => wrong(format!("{name} without a tag")),
                    _ => Ok(()),
                }
            };
            match &step.call.what {
                CallClass::Send(mail) | CallClass::Recv(mail) | CallClass::Isend(_, mail) => known(mail, false)?,
                CallClass::Exchange(both) => {
                    known(&both.0, false)?;
                    known(&both.1, false)?;
                }
                CallClass::Probe(mail) => known(mail, false)?,
                CallClass::Irecv(slot, mail) => {
                    known(mail, true)?;
                    if mail.peer == Some(ANY) || mail.tag.is_none() {
                        // The receive gets no message, unless a later wait states the received message.
                        late.insert(place, None);
                    }
                    posted.insert(*slot, Posted { place, mail: *mail });
                    place += 1;
                }
                CallClass::Wait { slots, got } => {
                    for &(slot, source, tag) in got {
                        let Some(one) = posted.get(&slot) else { continue };
                        let got = match (u32::try_from(source), u32::try_from(tag)) {
                            (Ok(source), Ok(tag)) if source < size_of(one.mail.comm)? => Some((source, tag)),
                            (Ok(source), Ok(_)) => return wrong(format!("{name}: a message of rank {source}")),
                            _ => None,
                        };
                        late.insert(one.place, got);
                    }
                    slots.iter().for_each(|slot| _ = posted.remove(slot));
                }
                CallClass::Collective(joined) => {
                    let size = size_of(joined.comm)?;
                    if joined.root >= size {
                        return wrong(format!("{name} with root {} of a communicator of {size}", joined.root));
                    }
                    if let super::SizesOf::Each(sizes) = &joined.sizes
                        && sizes.len() != size as usize
                    {
                        return wrong(format!("{name} with {} sizes in a communicator of {size}", sizes.len()));
                    }
                }
                CallClass::Near(near) => {
                    let size = size_of(near.comm)?;
                    let peers = near.sources.iter().chain(near.destinations.iter().map(|(peer, _)| peer));
                    if let Some(peer) = peers.flatten().find(|peer| **peer >= size) {
                        return wrong(format!("{name} with rank {peer} of a communicator of {size}"));
                    }
                }
                CallClass::Comm { parent, made, .. } => {
                    size_of(*parent)?;
                    if let Some(made) = made {
                        let is_member = made.group.member(log.info.rank).is_some();
                        let most = (0..made.group.size()).map(|member| made.group.world(member)).max();
                        if !is_member || most.is_none_or(|most| most >= ranks) {
                            return wrong(format!(
                                "{name}: expected a communicator of ranks of the run, this one included"
                            ));
                        }
                        sizes.insert(made.number, made.group.size());
                        scan.made.push((made.number, *parent, made.group.clone()));
                        scan.keys.insert(made.number, (made.key, made.group.clone()));
                    }
                }
                CallClass::Refused => _ = scan.resolved.refused.get_or_insert(step.call.function),
                CallClass::Create(thread) => {
                    scan.has_threads = true;
                    if *thread == step.thread || *thread == 0 || !created.insert(*thread) {
                        return wrong(format!("{name} of thread {thread}, which exists"));
                    }
                }
                CallClass::Join(thread) if !created.contains(thread) => {
                    return wrong(format!("{name} of thread {thread}, which was not created"));
                }
                CallClass::Nothing | CallClass::Release(_) | CallClass::Thread(_) | CallClass::Join(_) => {}
            }
        }
        scan.resolved.late = late.into_iter().collect();
        Ok(scan)
    }
}
