//! Transfer of packages and agreements between the threads of a host process and the leader of the host process.
//!
//! In a round, the threads of a host process pack events for other host processes, and exchange events among
//! themselves. The leader exchanges packages with the other host processes while the other threads wait at a barrier.
//! After the barrier each thread unpacks the packages that it received. All threads take part in packing and unpacking,
//! which is most of the work of a round.

use std::sync::Mutex;

use crate::meter::timed;
use crate::processes::Screen;
use crate::simulation::Progress;
use crate::transport::barrier::Barrier;
use crate::transport::{Batch, ExchangeBuffers, GlobalBound, LocalBound, ThreadsTransport};
use mcpsim_base::units::SimTime;

use mcpsim_base::rank::Mailboxes;

use super::link::{LeaderLink, Remote};
use super::process_threads::ProcessThreads;
use super::wire::{self, Addressee, Package};
use super::world::TransportWorld;

/// State of exchanges that the threads of a host process share.
pub struct ProcessExchange<'w> {
    team: ProcessThreads,
    world: &'w TransportWorld,
    screen: &'w dyn Screen,
    progress: &'w Progress,
    mailboxes: Option<&'w Mailboxes>,
    clock: Option<fn() -> u64>,
    buffers: ExchangeBuffers,
    barrier: Barrier,
    /// Packages to other host processes by sending thread; threads never contend for the locks.
    outbound: Vec<Mutex<Vec<(u32, Package)>>>,
    inbound: Vec<Mutex<Vec<Package>>>,
    remote: Mutex<Option<Remote>>,
}

const LOCKED: &str = "no worker panics here";

impl<'w> ProcessExchange<'w> {
    pub fn new(
        team: ProcessThreads,
        world: &'w TransportWorld,
        screen: &'w dyn Screen,
        progress: &'w Progress,
        mailboxes: Option<&'w Mailboxes>,
        clock: Option<fn() -> u64>,
    ) -> Self {
        let threads = team.threads as usize;
        let busy = world.busy(team.threads);
        ProcessExchange {
            team,
            world,
            screen,
            progress,
            mailboxes,
            clock,
            buffers: ExchangeBuffers::new(team.threads, busy, clock),
            barrier: Barrier::new(threads, busy as usize),
            outbound: (0..threads).map(|_| Mutex::default()).collect(),
            inbound: (0..threads).map(|_| Mutex::default()).collect(),
            remote: Mutex::new(None),
        }
    }

    /// Returns the transport of a thread of this host process. Thread 0 is the leader and must be the thread that
    /// created the network.
    pub fn transport(&self, thread: u32) -> ProcessTransport<'_> {
        let turns = self.world.turns(self.team.threads);
        ProcessTransport {
            relay: self,
            thread: thread as usize,
            threads: self.buffers.transport(thread),
            link: (thread == 0).then(|| LeaderLink::new(self.world, self.mailboxes, turns, self.clock)),
            round: 0,
            waited: 0,
        }
    }

    /// Exchanges packages with the other host processes on behalf of all threads of this host process.
    fn lead(&self, link: &mut LeaderLink<'_>, bound: LocalBound, meanwhile: &mut dyn FnMut() -> bool) {
        let printed = if self.team.me == 0 { Vec::new() } else { self.screen.collect() };
        let last = (!printed.is_empty()).then(|| (0, Package::printed(printed)));
        let packages = self.outbound.iter().flat_map(|outbound| std::mem::take(&mut *outbound.lock().expect(LOCKED)));
        let receive = |mut package: Package| match package.addressee() {
            Addressee::Thread(thread) => self.inbound[thread].lock().expect(LOCKED).push(package),
            Addressee::Screen => package.large.drain(..).for_each(|printed| self.screen.show(&printed)),
        };
        let delivered = self.progress.delivered_here();
        let remote = link.exchange(bound, delivered, packages.chain(last), receive, meanwhile);
        self.progress.report_elsewhere(remote.delivered - delivered);
        *self.remote.lock().expect(LOCKED) = Some(remote);
    }
}

/// Connection of one worker to the workers of all host processes.
pub struct ProcessTransport<'a> {
    relay: &'a ProcessExchange<'a>,
    thread: usize,
    threads: ThreadsTransport<'a>,
    link: Option<LeaderLink<'a>>,
    round: usize,
    /// Host time for which the last exchange has waited.
    pub(in crate::transport) waited: u64,
}

impl ProcessTransport<'_> {
    pub(in crate::transport) fn exchange(
        &mut self,
        bound: LocalBound,
        outgoing: &mut [Batch],
        incoming: &mut Batch,
        meanwhile: &mut dyn FnMut() -> bool,
    ) -> GlobalBound {
        let relay = self.relay;
        let team = relay.team;
        {
            let mut outbound = relay.outbound[self.thread].lock().expect(LOCKED);
            for (worker, batch) in (0..).zip(outgoing.iter_mut()).filter(|(_, batch)| !batch.is_empty()) {
                let (process, thread) = team.place(worker);
                if process != team.me {
                    wire::pack(batch, thread, |package| outbound.push((process, package)));
                }
            }
        }
        let first = team.worker(0) as usize;
        let (mine, link) = (&mut outgoing[first..first + team.threads as usize], &mut self.link);
        let mut letters_too = || link.as_mut().is_some_and(|link| link.run_bulk()) | meanwhile();
        let here = self.threads.exchange(bound, mine, incoming, &mut letters_too);
        self.waited = self.threads.waited;
        if let Some(link) = &mut self.link {
            // To the other host processes, the events of this thread count as events of another worker.
            let GlobalBound { others, handled, slot, until, again, stop } = here;
            let queued = others.min(bound.queued);
            let bound = LocalBound { queued, sent: SimTime::NEVER, handled, slot, until, again, stop };
            relay.lead(link, bound, meanwhile);
            self.waited += link.waited;
        }
        let whole = timed(relay.clock, &mut self.waited, || relay.barrier.wait(self.round, meanwhile));
        self.round += 1;
        let remote = *relay.remote.lock().expect(LOCKED);
        let Some(remote) = remote.filter(|_| whole) else {
            return GlobalBound::BROKEN;
        };
        for package in std::mem::take(&mut *relay.inbound[self.thread].lock().expect(LOCKED)) {
            package.unpack(incoming);
        }
        GlobalBound {
            others: here.others.min(remote.others),
            handled: remote.handled,
            slot: remote.slot,
            until: remote.until,
            again: remote.again,
            stop: remote.stop,
        }
    }
}

impl Drop for ProcessTransport<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.relay.barrier.tear_down();
        }
    }
}
