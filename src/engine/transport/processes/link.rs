//! Leader of a host process: the thread that communicates with the other host processes. The leader sends packages to
//! the other leaders and concurrently takes part in a reduction, by which all workers agree on the next window.
//!
//! The reduction also sums the number of packages for each host process, so that each leader knows when all its
//! packages have arrived. Packages of the next round may arrive before packages of this round, but packages of the
//! round after the next cannot. So tags alternate between two sets. If ranks run ahead, the reduction also sums the
//! number of early messages sent to each host process so far.

use crate::meter::timed;
use crate::transport::LocalBound;
use mcpsim_base::rank::Mailboxes;
use mcpsim_base::units::SimTime;

use super::arrivals::Arrivals;
use super::bulk_sender::BulkSender;
use super::network::{HostNetwork, HostReduction, HostRequest, MOST};
use super::wire::Package;
use super::world::{TransportWorld, poll};

/// Tags of packages, and of the large data of packages, for each of two alternating rounds.
const TAGS: [[i32; 2]; 2] = [[1, 2], [3, 4]];

/// Positions of values in the word that the leaders reduce. The values at these positions are followed by the number of
/// packages for each host process, and by the number of early messages for each host process so far.
const LEAST: usize = 0;
const OWNER: usize = 1;
const SECOND: usize = 2;
const HANDLED: usize = 3;
const UNTIL: usize = 4;
const FLAGS: usize = 5;
const SLOT: usize = 6;
const DELIVERED: usize = 7;
const COUNTS: usize = 8;

/// Bits of the flags.
const STOP: u64 = 1;
const AGAIN: u64 = 2;

/// Values on which the leaders of all host processes agree.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Earliest time at which another host process may have an event.
    pub others: SimTime,
    /// Number of events and calls that the workers of all host processes have handled.
    pub handled: u64,
    /// Next slot (step of virtual time) at which any worker has flows to judge.
    pub slot: SimTime,
    /// Time of the first failure in any host process, which ends the run.
    pub until: SimTime,
    /// Another exchange follows before any worker handles events.
    pub again: bool,
    /// The run ends with this exchange.
    pub stop: bool,
    /// Number of simulated messages that all host processes have delivered since the start of the run.
    pub delivered: u64,
}

/// Connection of a leader to the leaders of the other host processes.
pub struct LeaderLink<'w> {
    world: &'w TransportWorld,
    reduction: Box<dyn HostReduction + 'w>,
    sending: Vec<Sending>,
    arrivals: [Arrivals; 2],
    bulk: BulkSender<'w>,
    round: usize,
    /// Number of polls before the leader sleeps.
    turns: u32,
    clock: Option<fn() -> u64>,
    /// Host time for which the last exchange waited for the other leaders.
    pub waited: u64,
}

/// Package that is being sent, whose memory must stay unchanged until it is sent.
pub(super) struct Sending {
    pub requests: Vec<HostRequest>,
    _package: Package,
}

impl Sending {
    /// Starts to send `package` to the host process `to`, with one tag for the package and one for its large data.
    pub fn begin(network: &dyn HostNetwork, package: Package, to: u32, [tag, large]: [i32; 2]) -> Sending {
        let large = package.large.iter().flat_map(|data| data.chunks(MOST)).map(|part| (part, large));
        let parts = std::iter::once((package.bytes.as_slice(), tag)).chain(large);
        // SAFETY: the package is kept, and its bytes do not move, until the requests are complete.
        let requests = parts.map(|(part, tag)| unsafe { network.send(part, to, tag) }).collect();
        Sending { requests, _package: package }
    }

    pub fn is_complete(&mut self) -> bool {
        self.requests.iter_mut().all(HostRequest::is_complete)
    }
}

impl<'w> LeaderLink<'w> {
    pub fn new(
        world: &'w TransportWorld,
        mailboxes: Option<&'w Mailboxes>,
        turns: u32,
        clock: Option<fn() -> u64>,
    ) -> Self {
        LeaderLink {
            world,
            reduction: world.network.reduction(COUNTS + 2 * world.size as usize),
            sending: Vec::new(),
            arrivals: TAGS.map(Arrivals::new),
            bulk: BulkSender::new(world.size, mailboxes),
            round: 0,
            turns,
            clock,
            waited: 0,
        }
    }

    /// Sends each package of `outgoing` to its host process, passes incoming packages to `receive`, and agrees with the
    /// other leaders on the next window and on the number of delivered messages. Each leader must call this function in
    /// each round.
    pub fn exchange(
        &mut self,
        bound: LocalBound,
        delivered: u64,
        outgoing: impl IntoIterator<Item = (u32, Package)>,
        mut receive: impl FnMut(Package),
        meanwhile: &mut dyn FnMut() -> bool,
    ) -> Remote {
        let side = self.round % 2;
        self.round += 1;
        self.sending.retain_mut(|sending| !sending.is_complete());
        let mut word = self.word();
        for (to, package) in outgoing {
            word[COUNTS + to as usize] += 1;
            self.sending.push(Sending::begin(&*self.world.network, package, to, TAGS[side]));
        }
        word[LEAST] = bound.queued.min(bound.sent).as_ps();
        word[OWNER] = u64::from(self.world.me);
        word[SECOND] = u64::MAX;
        word[HANDLED] = bound.handled;
        word[UNTIL] = bound.until.as_ps();
        word[FLAGS] = if bound.stop { STOP } else { 0 } | if bound.again { AGAIN } else { 0 };
        word[SLOT] = bound.slot.as_ps();
        word[DELIVERED] = delivered;
        let mut all = vec![0; word.len()];
        // SAFETY: both vectors stay unchanged until the request is complete, which the loop below ensures.
        let mut reduction = unsafe { self.reduction.start(&word, &mut all) };
        let (me, messages) = (self.world.me as usize, COUNTS + self.world.size as usize);
        let (network, bulk, arrivals) = (&*self.world.network, &mut self.bulk, &mut self.arrivals[side]);
        let (mut agreed, mut received, mut waited, mut taking) = (false, 0, 0, 0);
        let began = self.clock.map(|clock| clock());
        poll(self.turns, meanwhile, || {
            if !agreed && reduction.is_complete() {
                agreed = true;
                waited = self.clock.map_or(0, |clock| clock() - began.unwrap_or_default()) - taking;
            }
            while let Some(package) = timed(self.clock, &mut taking, || arrivals.take(network)) {
                received += 1;
                receive(package);
            }
            bulk.run(network);
            agreed && received == all[COUNTS + me] && bulk.received >= all[messages + me]
        });
        self.waited = waited;
        let others = if all[OWNER] == u64::from(self.world.me) { all[SECOND] } else { all[LEAST] };
        Remote {
            others: SimTime::from_ps(others),
            handled: all[HANDLED],
            slot: SimTime::from_ps(all[SLOT]),
            until: SimTime::from_ps(all[UNTIL]),
            again: all[FLAGS] & AGAIN != 0,
            stop: all[FLAGS] & STOP != 0,
            delivered: all[DELIVERED],
        }
    }

    /// Sends all queued early messages, and creates a word with the number of early messages sent.
    fn word(&mut self) -> Vec<u64> {
        self.bulk.send(&*self.world.network);
        let mut word = vec![0; COUNTS + self.world.size as usize];
        word.extend(&self.bulk.sent);
        word
    }

    /// Sends queued early messages and receives arrived ones; returns whether any message was sent or received.
    pub fn run_bulk(&mut self) -> bool {
        self.bulk.run(&*self.world.network)
    }

    /// Receives the remaining early messages of the run; all leaders end in the same round.
    fn finish_letters(&mut self) {
        let word = self.word();
        let mut all = vec![0; word.len()];
        // SAFETY: both vectors stay unchanged until the request is complete, which the loop below ensures.
        let mut reduction = unsafe { self.reduction.start(&word, &mut all) };
        let mine = COUNTS + self.world.size as usize + self.world.me as usize;
        let (network, bulk, mut agreed) = (&*self.world.network, &mut self.bulk, false);
        poll(self.turns, &mut || false, || {
            agreed = agreed || reduction.is_complete();
            bulk.receive(network);
            agreed && bulk.received >= all[mine]
        });
        self.sending.extend(self.bulk.take_sending());
    }
}

impl Drop for LeaderLink<'_> {
    /// Completes the pending sends, whose receivers complete them in the same round. After a panic it does not wait.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.sending.extend(self.bulk.take_sending());
            self.sending.drain(..).for_each(std::mem::forget);
            return;
        }
        if self.bulk.is_needed() {
            self.finish_letters();
        }
        for sending in &mut self.sending {
            sending.requests.iter_mut().for_each(|request| poll(self.turns, &mut || false, || request.is_complete()));
        }
    }
}

/// Combines the words of two host processes in a reduction: the two least times and the owner of the least, sums, and
/// flags.
pub fn merge_words(from: &[u64], into: &mut [u64]) {
    let (mine, theirs) = ((into[LEAST], into[OWNER]), (from[LEAST], from[OWNER]));
    if theirs < mine {
        into[SECOND] = from[SECOND].min(mine.0);
        (into[LEAST], into[OWNER]) = theirs;
    } else {
        into[SECOND] = into[SECOND].min(theirs.0);
    }
    into[HANDLED] += from[HANDLED];
    into[UNTIL] = into[UNTIL].min(from[UNTIL]);
    into[FLAGS] |= from[FLAGS];
    into[SLOT] = into[SLOT].min(from[SLOT]);
    into[DELIVERED..].iter_mut().zip(&from[DELIVERED..]).for_each(|(mine, theirs)| *mine += theirs);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(owner: u64, least: u64, flags: u64) -> Vec<u64> {
        vec![least, owner, u64::MAX, owner, 100 - owner, flags, 30 + least, 10, 1, owner]
    }

    #[test]
    fn words_combine_to_the_two_least_times_in_any_order() {
        let words = [word(0, 7, 0), word(1, 5, AGAIN), word(2, 5, STOP), word(3, 9, 0)];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let mut all = words[order[0]].clone();
            order[1..].iter().for_each(|&next| merge_words(&words[next], &mut all));
            assert_eq!(all, [5, 1, 5, 6, 97, STOP | AGAIN, 35, 40, 4, 6]);
        }
        let mut pair = words[0].clone();
        let mut other = words[3].clone();
        merge_words(&words[1], &mut other);
        merge_words(&other, &mut pair);
        assert_eq!(pair[..3], [5, 1, 7]);
    }
}
