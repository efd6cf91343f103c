//! The tests of pairs on a simulated machine.

use std::sync::{Arc, Mutex};

use crate::engine::{Labels, Progress, RunError, RunOptions, Simulation};
use crate::mpi::{CollectiveCall, CommMember, DataCost, Group, NoData, Runner, Sizes};
use crate::platform::{Collective, Platform, Site};
use crate::rank::{
    Call, Context, Fiber, FiberHandle, Message, Program, Rank, Reply, ReplyKind, Requests, SERVICE, SendMode, Served,
};
use crate::units::Bytes;

use super::super::port::RankPort;
use super::super::simulated::{STACK, Simulated, message, pattern_in};
use super::campaign::{MeasuredPairs, PairPlan, measure_length};
use super::port::PairPort;

/// The context of messages that are sent at once and of noise, apart from those of other tests.
const AT_ONCE: Context = 1 << 20;
/// Where answers to one-sided operations come in.
const ANSWERS: Context = AT_ONCE + 1;
/// What the message of a one-sided operation has before its data, and of one that ends an epoch: as mcpsim's windows have.
const HEADER: u64 = 16;
const END: u64 = 5;
/// Tags of one-sided messages.
const PUT: u32 = 0;
const GET: u32 = 1;
const UNLOCK: u32 = 2;

/// Measures all pairs of a length on the machine's cores at `sites`, a rank each.
///
/// # Errors
/// If the run ends without a result, for which there is no reason in the tests.
pub fn simulate_length(
    platform: &Platform,
    sites: Vec<Site>,
    plan: &PairPlan,
    bytes: u64,
) -> Result<MeasuredPairs, RunError> {
    let ranks = sites.len() as u32;
    let found: Arc<Mutex<Option<MeasuredPairs>>> = Arc::default();
    let options = RunOptions { workers: Some(1), ..RunOptions::default() };
    let shared = Arc::new((platform.clone(), plan.clone()));
    let memory = |rank: Rank| {
        let own = sites[rank as usize];
        let on_node = sites.iter().filter(|site| site.node == own.node);
        let on_cmp = on_node.clone().filter(|site| site.cmp == own.cmp).count();
        platform.core.memory_share(on_cmp as u32, on_node.count() as u32)
    };
    let memories: Vec<f64> = (0..ranks).map(memory).collect();
    let make = |rank: Rank| {
        let here = Here { rank, ranks, bytes, memory: memories[rank as usize] };
        PairRank::new(here, Arc::clone(&shared), Arc::clone(&found))
    };
    Simulation::new(platform, sites, options, Labels::default()).run(make, &Progress::default())?;
    let found = found.lock().expect("no rank has failed").take();
    Ok(found.expect("the first rank has the result"))
}

/// What a rank starts with.
#[derive(Clone, Copy)]
struct Here {
    rank: Rank,
    ranks: u32,
    bytes: u64,
    memory: f64,
}

/// A rank that makes the tests, and answers what is one-sided.
struct PairRank(Fiber);

impl PairRank {
    fn new(here: Here, shared: Arc<(Platform, PairPlan)>, found: Arc<Mutex<Option<MeasuredPairs>>>) -> PairRank {
        let Here { rank, ranks, bytes, memory } = here;
        let body = move |gate: &FiberHandle<'_>| {
            let clock = gate.begin(|reply| reply.clock);
            let (platform, plan) = &*shared;
            let port = Simulated { gate, clock, rank, ranks };
            let mut port = PairSimulated { port, platform, memory, collectives: 0 };
            if let Some(measured) = measure_length(&mut port, plan, bytes, &mut |_| ()) {
                *found.lock().expect("no rank has failed") = Some(measured);
            }
            Call::Finish
        };
        PairRank(Fiber::new(STACK, body).expect("there is memory for a stack"))
    }
}

impl Program for PairRank {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.0.next(reply)
    }

    fn serve(&mut self, served: Served, answers: &mut Vec<Message>) {
        let size = match (served.tag, served.payload) {
            (GET, Some(asked)) => asked.first_chunk().map_or(0, |size| u64::from_le_bytes(*size)),
            (UNLOCK, _) => 1,
            _ => return,
        };
        answers.push(Message { context: ANSWERS, ..message(served.from, size, served.tag, SendMode::Buffered) });
    }
}

/// A rank of the simulated machine that can do what tests of pairs need.
struct PairSimulated<'a> {
    port: Simulated<'a>,
    platform: &'a Platform,
    /// The rank's part of the memory bandwidth.
    memory: f64,
    /// How many collectives there were.
    collectives: u32,
}

impl PairSimulated<'_> {
    fn at_once(&mut self, with: u32, bytes: u64) -> (u32, u32) {
        let send = Message { context: AT_ONCE, ..message(with, bytes, 0, SendMode::Standard) };
        let send = self.port.started(Call::Isend(send));
        let recv = self.port.started(Call::Irecv(pattern_in(AT_ONCE, with, 0)));
        (send, recv)
    }

    /// Sends a message that the rank's adapter serves.
    fn serve(&mut self, to: u32, bytes: u64, tag: u32, asked: Option<u64>) {
        let payload = asked.map(|asked| {
            let mut payload = asked.to_le_bytes().to_vec();
            payload.resize(bytes as usize, 0);
            Box::new(payload)
        });
        let message = Message { context: SERVICE, payload, ..message(to, bytes, tag, SendMode::Buffered) };
        self.port.call(Call::Send(message), |_| ());
    }

    /// Ends an epoch in which this is still to come back.
    fn unlock(&mut self, with: u32, pending: Option<u32>) {
        let answer = self.port.started(Call::Irecv(pattern_in(ANSWERS, with, UNLOCK)));
        self.serve(with, END, UNLOCK, None);
        let requests: Requests = pending.into_iter().chain([answer]).collect();
        self.port.call(Call::Complete(requests), |_| ());
    }
}

impl PairPort for PairSimulated<'_> {
    fn tell(&mut self, to: u32, values: &[f64]) {
        self.port.tell(to, values);
    }

    fn told(&mut self, from: u32) -> Vec<f64> {
        self.port.told(from)
    }

    fn swap(&mut self, with: u32, bytes: u64) {
        let sent = self.port.started(Call::Isend(message(with, bytes, 0, SendMode::Standard)));
        self.recv(with, bytes);
        self.port.call(Call::Complete(Requests::from_slice(&[sent])), |_| ());
    }

    fn all_at_once(&mut self, bytes: u64) -> Vec<f64> {
        let started = self.now();
        let ranks = self.size();
        let (sends, mut recvs): (Requests, Vec<(u32, u32)>) = {
            let both: Vec<(u32, u32)> = (0..ranks).map(|rank| self.at_once(rank, bytes)).collect();
            (both.iter().map(|(send, _)| *send).collect(), (0..).zip(both.iter().map(|(_, recv)| *recv)).collect())
        };
        let mut found = vec![0.0; ranks as usize];
        while !recvs.is_empty() {
            let requests: Requests = recvs.iter().map(|(_, recv)| *recv).collect();
            let place = self.port.call(Call::WaitAny(requests), |reply| match &reply.kind {
                ReplyKind::Completed(completions) => completions[0].index as usize,
                _ => unreachable!("one of them completes"),
            });
            let (from, _) = recvs.remove(place);
            found[from as usize] = self.now() - started;
        }
        self.port.call(Call::Complete(sends), |_| ());
        found
    }

    fn noise(&mut self, with: &[u32], bytes: u64, count: u32) {
        for _ in 0..count {
            let both = |other: &u32| {
                let (send, recv) = self.at_once(*other, bytes);
                [send, recv]
            };
            let requests: Requests = with.iter().flat_map(both).collect();
            self.port.call(Call::Complete(requests), |_| ());
        }
    }

    fn broadcast(&mut self, root: u32, bytes: u64) {
        let comm = CommMember::new(0, self.rank(), Group::Strided { first: 0, stride: 1, size: self.size() });
        let (collective, sizes) = (Collective::Bcast, Sizes::Same(Bytes::new(bytes)));
        let call = CollectiveCall { collective, comm, root, sizes, algorithm: None };
        let cost = DataCost::new(&self.platform.core, self.memory);
        self.collectives += 1;
        let runner = Runner::new(call, &self.platform.collectives, cost, self.collectives, NoData);
        let mut runner = runner.expect("a platform's rules have been checked");
        let mut next = self.port.call(Call::Yield, |reply| runner.next_call(reply));
        while let Some(call) = next {
            next = self.port.call(call, |reply| runner.next_call(reply));
        }
    }

    fn expose(&mut self, _bytes: Option<u64>) {
        self.barrier();
    }

    fn put(&mut self, to: u32, bytes: u64) -> f64 {
        let started = self.now();
        self.serve(to, HEADER + bytes, PUT, None);
        self.unlock(to, None);
        self.now() - started
    }

    fn get(&mut self, from: u32, bytes: u64) -> f64 {
        let started = self.now();
        let answer = self.port.started(Call::Irecv(pattern_in(ANSWERS, from, GET)));
        self.serve(from, HEADER, GET, Some(bytes));
        self.unlock(from, Some(answer));
        self.now() - started
    }
}

impl RankPort for PairSimulated<'_> {
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
