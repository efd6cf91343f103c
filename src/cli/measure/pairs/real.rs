//! Measurement of all pairs of ranks under a real MPI library.

use std::path::Path;

use mpi::point_to_point::{Destination, Source};
use mpi::request::{multiple_scope, scope};
use mpi::traits::{Communicator, CommunicatorCollectives};

use crate::engine::Processes;
use crate::measure::pairs::{PairPlan, PairPort, measure_length};
use crate::measure::{Binding, HostFacts, ProgramVec, RankPort, bind};
use mcpsim_host_mpi::HostWindow;

use super::super::super::exit::Failure;
use super::super::MeasureArgs;
use super::super::host_facts;
use super::super::port::RealPort;
use super::PairWork;
use crate::run::agree;

/// Measures the message times of all pairs of ranks. The first host process writes the matrix files.
pub(super) fn measure(args: &MeasureArgs, prefix: &Path, processes: &Processes) -> Result<(), Failure> {
    let parameters = agree(processes, args.pairs.parameters(processes.count()))?;
    let named = args.node.clone().or_else(|| std::env::var(host_facts::NODE).ok().filter(|name| !name.is_empty()));
    let all: Vec<HostFacts> = processes.gather(host_facts::local_facts(named.as_deref()));
    let (all, bindings): (Vec<HostFacts>, Vec<Binding>) = processes.broadcast(|| (all.clone(), bind(&all)));
    if let Binding::To(cpu) = bindings[processes.me() as usize] {
        host_facts::bind_to(cpu);
    }
    let places = crate::measure::places(&all, &bindings);
    let nodes = args.pairs.parallel.then(|| places.iter().map(|place| place.node).collect());
    let plan = PairPlan { parameters, nodes, jitter: None };
    let hosts: Vec<String> = all.iter().map(|seen| seen.node.clone()).collect();
    let begun = processes.is_first().then(|| {
        let about = format!("{plan:?} on {}", hosts.join(" "));
        PairWork::start(args, prefix, &plan.parameters, &hosts, &about)
    });
    let mut work = agree(processes, begun.transpose())?;
    let done = processes.broadcast(|| work.as_ref().map_or(0, |work| work.journal.done()));
    let most = parameters.length(parameters.count() - 1).max(u64::from(parameters.noise_bytes)).max(8);
    let mut port = RealPort::new(most);
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
    let ended = work.map(PairWork::end);
    agree(processes, ended.transpose()).map(|_| ())
}

impl PairPort for RealPort {
    fn swap(&mut self, with: u32, bytes: u64) {
        let process = self.world.process_at_rank(with as i32);
        let bytes = bytes as usize;
        scope(|scope| {
            let sent = process.immediate_send(scope, &self.sent[..bytes]);
            process.receive_into(&mut self.received[..bytes]);
            sent.wait();
        });
        std::mem::swap(&mut self.sent, &mut self.received);
    }

    fn all_at_once(&mut self, bytes: u64) -> Vec<f64> {
        let ranks = self.size() as usize;
        let needed = self.make_room(bytes, ranks as u32);
        let started = self.now();
        let RealPort { world, sent, several, started: begun, .. } = self;
        let mut found = vec![0.0; ranks];
        let part = &sent[..bytes as usize];
        multiple_scope(ranks, |to, sends| {
            multiple_scope(ranks, |from, receives| {
                let mut rest = &mut several[..needed];
                for rank in 0..ranks {
                    let process = world.process_at_rank(rank as i32);
                    let (here, further) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                    sends.add(process.immediate_send(to, part));
                    receives.add(process.immediate_receive_into(from, here));
                    rest = further;
                }
                // The MPI crate panics if the partner function is called again after the last partner.
                for _ in 0..ranks {
                    if let Some((rank, ..)) = receives.wait_any() {
                        found[rank] = mpi::time() - *begun - started;
                    }
                }
            });
            sends.wait_all(&mut Vec::with_capacity(ranks));
        });
        found
    }

    fn noise(&mut self, with: &[u32], bytes: u64, count: u32) {
        (0..count).for_each(|_| self.with_each(with, bytes));
    }

    fn expose(&mut self, bytes: Option<u64>) {
        if let Some(old) = self.window.take() {
            old.free();
        }
        self.window = bytes.map(|bytes| HostWindow::new(Box::new(ProgramVec::new(0u8, bytes.max(1) as usize))));
        self.world.barrier();
    }

    fn put(&mut self, to: u32, bytes: u64) -> f64 {
        let window = self.window.as_ref().expect("memory is exposed");
        window.lock(to);
        let started = mpi::time();
        window.put_and_unlock(to, &self.sent[..bytes as usize]);
        mpi::time() - started
    }

    fn get(&mut self, from: u32, bytes: u64) -> f64 {
        let window = self.window.as_ref().expect("memory is exposed");
        window.lock(from);
        let started = mpi::time();
        window.get_and_unlock(from, &mut self.received[..bytes as usize]);
        mpi::time() - started
    }
}
