//! All pairs of the ranks of a real MPI.

use std::path::Path;

use mpi::point_to_point::{Destination, Source};
use mpi::request::{multiple_scope, scope};
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use crate::engine::{HostWindow, Processes};
use crate::measure::pairs::{PairPlan, PairPort, measure_length};
use crate::measure::{Binding, HostFacts, RankPort, bind};

use super::super::super::exit::Failure;
use super::super::MeasureArgs;
use super::super::port::RealPort;
use super::super::seen;
use super::Work;
use crate::run::agree;

/// The tag of what ranks tell each other.
const TOLD: i32 = 1;

/// Measures all pairs; the first process writes.
pub(super) fn measure(args: &MeasureArgs, prefix: &Path, processes: &Processes) -> Result<(), Failure> {
    let parameters = args.pairs.parameters(processes.count());
    let checked = parameters.check().map_err(|error| Failure::bad_input(format!("--pairs: {error}")));
    agree(processes, checked)?;
    let named = args.node.clone().or_else(|| std::env::var(seen::NODE).ok().filter(|name| !name.is_empty()));
    let all: Vec<HostFacts> = processes.gather(seen::seen(named.as_deref()));
    let (all, bindings): (Vec<HostFacts>, Vec<Binding>) = processes.broadcast(|| (all.clone(), bind(&all)));
    if let Binding::To(cpu) = bindings[processes.me() as usize] {
        seen::bind_to(cpu);
    }
    let places = crate::measure::places(&all, &bindings);
    let nodes = args.pairs.parallel.then(|| places.iter().map(|place| place.node).collect());
    let plan = PairPlan { parameters, nodes, jitter: None };
    let hosts: Vec<String> = all.iter().map(|seen| seen.node.clone()).collect();
    let begun = processes.is_first().then(|| {
        let about = format!("{plan:?} on {}", hosts.join(" "));
        Work::start(args, prefix, &plan.parameters, &hosts, &about)
    });
    let mut work = agree(processes, begun.transpose())?;
    let done = processes.broadcast(|| work.as_ref().map_or(0, |work| work.journal.done()));
    let most = parameters.length(parameters.count() - 1).max(u64::from(parameters.noise_bytes)).max(8);
    let mut port = RealPairPort { port: RealPort::new(most), window: None, room: Vec::new() };
    for matrix in done..parameters.count() {
        let mut tell = |part: f64| {
            if let Some(work) = &mut work {
                work.line.tell(&parameters, matrix, part);
            }
        };
        let measured = measure_length(&mut port, &plan, parameters.length(matrix), &mut tell);
        let kept = work.as_mut().zip(measured).map(|(work, measured)| work.add(measured));
        agree(processes, kept.transpose())?;
    }
    let ended = work.map(Work::end);
    agree(processes, ended.transpose()).map(|_| ())
}

/// A rank of a real MPI that can do what tests of pairs need.
struct RealPairPort {
    port: RealPort,
    window: Option<HostWindow>,
    /// What is received at once.
    room: Vec<u8>,
}

impl RealPairPort {
    fn make_room(&mut self, bytes: u64, count: usize) {
        let needed = bytes as usize * count;
        if self.room.len() < needed {
            self.room.resize(needed, 3);
        }
    }
}

impl PairPort for RealPairPort {
    fn tell(&mut self, to: u32, values: &[f64]) {
        self.port.world.process_at_rank(to as i32).send_with_tag(values, TOLD);
    }

    fn told(&mut self, from: u32) -> Vec<f64> {
        self.port.world.process_at_rank(from as i32).receive_vec_with_tag(TOLD).0
    }

    fn swap(&mut self, with: u32, bytes: u64) {
        let process = self.port.world.process_at_rank(with as i32);
        let bytes = bytes as usize;
        scope(|scope| {
            let sent = process.immediate_send(scope, &self.port.sent[..bytes]);
            process.receive_into(&mut self.port.received[..bytes]);
            sent.wait();
        });
        std::mem::swap(&mut self.port.sent, &mut self.port.received);
    }

    fn all_at_once(&mut self, bytes: u64) -> Vec<f64> {
        let ranks = self.size() as usize;
        self.make_room(bytes, ranks);
        let RealPairPort { port, room, .. } = self;
        let mut found = vec![0.0; ranks];
        let started = port.now();
        let part = &port.sent[..bytes as usize];
        let (world, begun) = (&port.world, port.started);
        multiple_scope(ranks, |to, sends| {
            multiple_scope(ranks, |from, receives| {
                let mut rest = &mut room[..bytes as usize * ranks];
                for rank in 0..ranks {
                    let process = world.process_at_rank(rank as i32);
                    let (here, further) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                    sends.add(process.immediate_send(to, part));
                    receives.add(process.immediate_receive_into(from, here));
                    rest = further;
                }
                // One more call, with none left, is a panic of the crate's.
                for _ in 0..ranks {
                    if let Some((rank, ..)) = receives.wait_any() {
                        found[rank] = mpi::time() - begun - started;
                    }
                }
            });
            sends.wait_all(&mut Vec::with_capacity(ranks));
        });
        found
    }

    fn noise(&mut self, with: &[u32], bytes: u64, count: u32) {
        self.make_room(bytes, with.len());
        let RealPairPort { port, room, .. } = self;
        let part = &port.sent[..bytes as usize];
        for _ in 0..count {
            let mut rest = &mut room[..bytes as usize * with.len()];
            multiple_scope(2 * with.len(), |scope, all| {
                for rank in with {
                    let process = port.world.process_at_rank(*rank as i32);
                    let (here, further) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                    all.add(process.immediate_receive_into(scope, here));
                    rest = further;
                }
                for rank in with {
                    all.add(port.world.process_at_rank(*rank as i32).immediate_send(scope, part));
                }
                all.wait_all(&mut Vec::with_capacity(2 * with.len()));
            });
        }
    }

    fn broadcast(&mut self, root: u32, bytes: u64) {
        self.port.world.process_at_rank(root as i32).broadcast_into(&mut self.port.sent[..bytes as usize]);
    }

    fn expose(&mut self, bytes: Option<u64>) {
        if let Some(old) = self.window.take() {
            old.free();
        }
        self.window = bytes.map(|bytes| HostWindow::new(bytes as usize));
        self.port.world.barrier();
    }

    fn put(&mut self, to: u32, bytes: u64) -> f64 {
        let window = self.window.as_ref().expect("memory is exposed");
        window.lock(to);
        let started = self.port.now();
        window.put_and_unlock(to, &self.port.sent[..bytes as usize]);
        self.port.now() - started
    }

    fn get(&mut self, from: u32, bytes: u64) -> f64 {
        let window = self.window.as_ref().expect("memory is exposed");
        window.lock(from);
        let started = self.port.now();
        window.get_and_unlock(from, &mut self.port.received[..bytes as usize]);
        self.port.now() - started
    }
}

impl RankPort for RealPairPort {
    fn rank(&self) -> u32 {
        self.port.rank()
    }

    fn size(&self) -> u32 {
        self.port.size()
    }

    fn now(&mut self) -> f64 {
        self.port.now()
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.port.send(to, bytes);
    }

    fn recv(&mut self, from: u32, bytes: u64) {
        self.port.recv(from, bytes);
    }

    fn send_window(&mut self, to: u32, bytes: u64, count: u32) {
        self.port.send_window(to, bytes, count);
    }

    fn recv_window(&mut self, from: u32, bytes: u64, count: u32) {
        self.port.recv_window(from, bytes, count);
    }

    fn exchange(&mut self, to: u32, from: u32, bytes: u64) {
        self.port.exchange(to, from, bytes);
    }

    fn exchange_window(&mut self, with: u32, bytes: u64, count: u32) {
        self.port.exchange_window(with, bytes, count);
    }

    fn compute(&mut self, seconds: f64) {
        self.port.compute(seconds);
    }

    fn barrier(&mut self) {
        self.port.barrier();
    }

    fn share(&mut self, from: u32, values: &mut Vec<f64>) {
        self.port.share(from, values);
    }
}
