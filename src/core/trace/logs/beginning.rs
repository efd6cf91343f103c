//! Selection of the calls to replay if the recording of a run is incomplete. For each rank, the replay executes the
//! longest initial sequence of calls whose matching calls at other ranks are recorded, too.
//!
//! A receive needs its send, a blocking send needs its receive, and a collective needs the calls of all members. A
//! channel is a communicator, sender, receiver and tag; the n-th send of a channel belongs to its n-th receive. The
//! replay of a rank ends before the rank's first call without a matching call. As a result, calls of other ranks may
//! lose their matching calls.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::TraceError;
use super::call::{CallClass, MessageEnd, NewComm};
use super::cursor::LogCursor;
use super::rank_log::RankLog;
use super::resolve::{ResolvedLog, SELF};
use crate::mpi::{CommMember, Group};
use crate::rank::Rank;

/// A channel: communicator, sender, receiver and tag.
type Channel = (u32, Rank, Rank, u32);

/// The send or the receive of a message: channel, index of the message in the channel, and whether this is the send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct End {
    channel: Channel,
    number: u32,
    is_send: bool,
}

impl End {
    fn other(self) -> End {
        End { is_send: !self.is_send, ..self }
    }

    /// Rank that makes the send or the receive of the message.
    fn rank(self) -> Rank {
        if self.is_send { self.channel.1 } else { self.channel.2 }
    }
}

/// A rank, and the index of a call in the rank's log.
type Place = (Rank, u64);

/// A collective in an incomplete recording: the calls of its members, and the number of calls that complete the
/// collective.
#[derive(Debug, Default)]
struct Joined {
    members: Vec<Place>,
    size: u32,
    is_cut: bool,
}

/// Dependences between the calls of all ranks in an incomplete recording.
#[derive(Debug, Default)]
struct Beginning {
    /// For each send or receive, the index of the call that makes the send or receive.
    ends: FxHashMap<End, u64>,
    /// Calls that wait for a send or receive of another rank, each with that send or receive.
    waits: Vec<(Place, End)>,
    collectives: Vec<Joined>,
    /// Index of each collective, by communicator and by the number of earlier collectives on the communicator.
    numbers: FxHashMap<(u32, u32), usize>,
    /// For each rank, the rank's calls of collectives in order: index of the call, and index of the collective.
    joined: Vec<Vec<(u64, usize)>>,
    /// For each rank, the number of initial calls that the replay executes.
    keep: Vec<u64>,
}

/// For each rank of an incomplete run, the number of initial calls that the replay executes.
///
/// # Errors
/// A record of a log is invalid.
pub(super) fn keep(logs: &[Arc<RankLog>], resolved: &[ResolvedLog]) -> Result<Vec<u64>, TraceError> {
    let mut beginning = Beginning { joined: vec![Vec::new(); logs.len()], ..Beginning::default() };
    for (log, resolved) in logs.iter().zip(resolved) {
        let mut scan = RankScan::new(&mut beginning, log, resolved);
        let calls = scan.calls(log)?;
        beginning.keep.push(calls);
    }
    beginning.cut();
    Ok(beginning.keep)
}

impl Beginning {
    /// Reduces the number of replayed calls per rank until every replayed call has its matching calls.
    fn cut(&mut self) {
        // For each rank, calls of other ranks that need a call of this rank, in the order of the needed calls.
        let mut needed: Vec<Vec<(u64, Place)>> = vec![Vec::new(); self.keep.len()];
        let mut cuts: Vec<Place> = Vec::new();
        for &(place, end) in &self.waits {
            match self.ends.get(&end) {
                Some(&call) => needed[end.rank() as usize].push((call, place)),
                None => cuts.push(place),
            }
        }
        needed.iter_mut().for_each(|calls| calls.sort_unstable());
        for collective in self.collectives.iter_mut().filter(|all| all.members.len() < all.size as usize) {
            collective.is_cut = true;
            cuts.extend(&collective.members);
        }
        while let Some((rank, call)) = cuts.pop() {
            let rank = rank as usize;
            self.keep[rank] = self.keep[rank].min(call);
            while let Some((_, place)) = needed[rank].pop_if(|(needed, _)| *needed >= call) {
                cuts.push(place);
            }
            while let Some((_, collective)) = self.joined[rank].pop_if(|(joined, _)| *joined >= call) {
                let collective = &mut self.collectives[collective];
                if !std::mem::replace(&mut collective.is_cut, true) {
                    cuts.extend(&collective.members);
                }
            }
        }
    }
}

/// State of one pass over the calls in a rank's log.
struct RankScan<'a> {
    beginning: &'a mut Beginning,
    resolved: &'a ResolvedLog,
    rank: Rank,
    comms: FxHashMap<u32, CommMember>,
    /// Number of sends (true) and of receives (false) in each channel up to the present call.
    counts: FxHashMap<(Channel, bool), u32>,
    /// Number of collectives on each communicator up to the present call.
    begun: FxHashMap<u32, u32>,
    /// For each request slot in use, the send or receive of another rank for which the request waits.
    slots: FxHashMap<u32, End>,
    /// Number of receives that the rank has posted up to the present call. `late` is the number of these receives whose
    /// message is a late value.
    posted: u64,
    late: usize,
}

impl<'a> RankScan<'a> {
    fn new(beginning: &'a mut Beginning, log: &RankLog, resolved: &'a ResolvedLog) -> Self {
        let (rank, ranks) = (log.info.rank, log.info.ranks);
        let world = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: ranks });
        let own = CommMember::new(SELF, 0, Group::Strided { first: rank, stride: 1, size: 1 });
        RankScan {
            beginning,
            resolved,
            rank,
            comms: FxHashMap::from_iter([(0, world), (SELF, own)]),
            counts: FxHashMap::default(),
            begun: FxHashMap::default(),
            slots: FxHashMap::default(),
            posted: 0,
            late: 0,
        }
    }

    /// Adds the calls of a rank up to the first call that cannot be replayed. Returns the number of added calls.
    fn calls(&mut self, log: &Arc<RankLog>) -> Result<u64, TraceError> {
        let (mut cursor, mut call) = (LogCursor::new(log.clone()), 0);
        while let Some(step) = cursor.step()? {
            if step.call.what == CallClass::Refused {
                break;
            }
            self.note(call, &step.call.what, step.call.function.name());
            call += 1;
        }
        Ok(call)
    }

    /// Send or receive with the arguments `mail`. The message gets the next index in its channel.
    fn end(&mut self, mail: &MessageEnd, is_send: bool) -> Option<End> {
        let comm = &self.comms[&mail.comm];
        let (peer, tag) = (comm.world(mail.peer?), if is_send { mail.tag.unwrap_or(0) } else { mail.tag? });
        let (from, to) = if is_send { (self.rank, peer) } else { (peer, self.rank) };
        let channel = (comm.id(), from, to, tag);
        let number = self.counts.get(&(channel, is_send)).copied().unwrap_or(0);
        Some(End { channel, number, is_send })
    }

    /// Like [`RankScan::end`], and registers `call` as the index of the call that makes the send or receive.
    fn make(&mut self, call: u64, mail: &MessageEnd, is_send: bool) -> Option<End> {
        let end = self.end(mail, is_send)?;
        *self.counts.entry((end.channel, is_send)).or_default() += 1;
        self.beginning.ends.insert(end, call);
        Some(end)
    }

    fn wait(&mut self, call: u64, end: Option<End>) {
        self.beginning.waits.extend(end.map(|end| ((self.rank, call), end)));
    }

    fn join(&mut self, call: u64, comm: u32) {
        let comm = &self.comms[&comm];
        let begun = self.begun.entry(comm.id()).or_default();
        let (number, size) = ((comm.id(), *begun), comm.size());
        *begun += 1;
        if size == 1 {
            return;
        }
        let all = &mut self.beginning.collectives;
        let index = *self.beginning.numbers.entry(number).or_insert_with(|| {
            all.push(Joined { size, ..Joined::default() });
            all.len() - 1
        });
        all[index].members.push((self.rank, call));
        self.beginning.joined[self.rank as usize].push((call, index));
    }

    fn add_comm(&mut self, made: &NewComm) {
        let member = made.group.member(self.rank).expect("members were checked");
        self.comms.insert(made.number, CommMember::new(self.resolved.comms[&made.number], member, made.group.clone()));
    }

    fn note(&mut self, call: u64, what: &CallClass, name: &str) {
        let is_buffered = matches!(name, "MPI_Bsend" | "MPI_Ibsend");
        match what {
            CallClass::Nothing
            | CallClass::Refused
            | CallClass::Thread(_)
            | CallClass::Create(_)
            | CallClass::Join(_) => {}
            CallClass::Send(mail) => {
                let end = self.make(call, mail, true).filter(|_| !is_buffered);
                self.wait(call, end.map(End::other));
            }
            CallClass::Recv(mail) => {
                let end = self.make(call, mail, false);
                self.wait(call, end.map(End::other));
            }
            CallClass::Exchange(both) => {
                for (mail, is_send) in [(&both.0, true), (&both.1, false)] {
                    let end = self.make(call, mail, is_send);
                    self.wait(call, end.map(End::other));
                }
            }
            CallClass::Isend(slot, mail) => {
                let end = self.make(call, mail, true).filter(|_| !is_buffered);
                self.start(*slot, end);
            }
            CallClass::Irecv(slot, mail) => {
                let mail = self.resolved.posted(self.posted, &mut self.late, mail);
                self.posted += 1;
                let end = mail.and_then(|mail| self.make(call, &mail, false));
                self.start(*slot, end);
            }
            CallClass::Probe(mail) => {
                let end = self.end(mail, false);
                self.wait(call, end.map(End::other));
            }
            CallClass::Wait { slots, .. } => {
                for slot in slots {
                    let end = self.slots.remove(slot);
                    self.wait(call, end);
                }
            }
            CallClass::Release(slot) => {
                slot.map(|slot| self.slots.remove(&slot));
            }
            CallClass::Collective(joined) => {
                joined.slot.map(|slot| self.slots.remove(&slot));
                self.join(call, joined.comm);
            }
            CallClass::Near(near) => self.join(call, near.comm),
            CallClass::Comm { parent, telling, made } => {
                if let Some(made) = made {
                    self.add_comm(made);
                }
                match (telling, made) {
                    (2, Some(made)) => self.join(call, made.number),
                    (2, None) | (3, _) => {}
                    _ => self.join(call, *parent),
                }
            }
        }
    }

    /// Registers that the request in request slot `slot` waits for the matching send or receive of `end`.
    fn start(&mut self, slot: u32, end: Option<End>) {
        match end {
            Some(end) => self.slots.insert(slot, end.other()),
            None => self.slots.remove(&slot),
        };
    }
}
