//! The tests on a simulated machine: what `measure` would find there, where every cost is known.
//!
//! This is how the tests themselves are tested, and how a fitted platform shows what it makes of more than it was fitted to.

use std::sync::{Arc, Mutex};

use crate::engine::{Labels, Progress, RunError, RunOptions, Simulation};
use crate::platform::{Platform, Site};
use crate::rank::{
    Call, Context, Fiber, FiberHandle, Message, Pattern, Program, Rank, Reply, ReplyKind, Requests, SendMode, Source,
    TagPattern,
};
use crate::units::{Bytes, SimSpan, SimTime};

use super::campaign::{CampaignPlan, measure};
use super::port::RankPort;
use super::samples::Samples;

/// The tags of what is measured, and of what ranks tell each other meanwhile.
const TEST: u32 = 0;
const TOLD: u32 = 1;

/// The stack of a rank.
pub(super) const STACK: usize = 256 << 10;

/// Makes the tests of `plan` on the machine's cores at `sites`, a rank each; the samples.
///
/// # Errors
/// If the run ends without a result, for which there is no reason in the tests.
pub fn simulate(platform: &Platform, sites: Vec<Site>, plan: &CampaignPlan) -> Result<Samples, RunError> {
    let ranks = sites.len() as u32;
    let found: Arc<Mutex<Samples>> = Arc::default();
    let options = RunOptions { workers: Some(1), ..RunOptions::default() };
    let make = |rank: Rank| Measuring::new(rank, ranks, plan.clone(), Arc::clone(&found));
    Simulation::new(platform, sites, options, Labels::default()).run(make, &Progress::default())?;
    let mut found = found.lock().expect("no rank has failed");
    Ok(std::mem::take(&mut *found))
}

/// A rank that makes the tests.
struct Measuring(Fiber);

impl Measuring {
    fn new(rank: Rank, ranks: u32, plan: CampaignPlan, found: Arc<Mutex<Samples>>) -> Measuring {
        let body = move |gate: &FiberHandle<'_>| {
            let clock = gate.begin(|reply| reply.clock);
            let mut port = Simulated { gate, clock, rank, ranks };
            let samples = measure(&mut port, &plan, &mut |_, _| ());
            if rank == 0 {
                *found.lock().expect("no rank has failed") = samples;
            }
            Call::Finish
        };
        Measuring(Fiber::new(STACK, body).expect("there is memory for a stack"))
    }
}

impl Program for Measuring {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.0.next(reply)
    }
}

/// A rank of the simulated machine.
pub(super) struct Simulated<'a> {
    pub gate: &'a FiberHandle<'a>,
    pub clock: SimTime,
    pub rank: Rank,
    pub ranks: u32,
}

impl Simulated<'_> {
    /// Makes a call, and keeps the clock.
    pub fn call<R>(&mut self, call: Call, take: impl FnOnce(&mut Reply<'_>) -> R) -> R {
        let clock = &mut self.clock;
        self.gate.call(call, |reply| {
            *clock = reply.clock;
            take(reply)
        })
    }

    /// Starts a request.
    pub fn started(&mut self, call: Call) -> u32 {
        self.call(call, |reply| match reply.kind {
            ReplyKind::Started(request) => request,
            _ => unreachable!("a request was started"),
        })
    }

    /// Sends values and takes those of another.
    pub fn tell(&mut self, to: Rank, values: &[f64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let size = Bytes::new(bytes.len() as u64);
        let message = Message { size, payload: Some(Box::new(bytes)), ..message(to, 0, TOLD, SendMode::Buffered) };
        self.call(Call::Send(message), |_| ());
    }

    /// Takes values that another sends.
    pub fn told(&mut self, from: Rank) -> Vec<f64> {
        let bytes = self.call(Call::Recv(pattern(from, TOLD)), |reply| match &mut reply.kind {
            ReplyKind::Completed(completions) => completions[0].payload.take().expect("values were sent"),
            _ => unreachable!("a receive completes"),
        });
        bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }
}

/// A message of the tests' own context.
pub(super) fn message(to: Rank, bytes: u64, tag: u32, mode: SendMode) -> Message {
    Message { to, context: 0, tag, size: Bytes::new(bytes), mode, payload: None }
}

fn pattern(from: Rank, tag: u32) -> Pattern {
    pattern_in(0, from, tag)
}

/// A receive in a context.
pub(super) fn pattern_in(context: Context, from: Rank, tag: u32) -> Pattern {
    Pattern { from: Source::Rank(from), context, tag: TagPattern::Tag(tag), capacity: Bytes::MAX }
}

fn test(to: Rank, bytes: u64) -> Message {
    message(to, bytes, TEST, SendMode::Standard)
}

impl RankPort for Simulated<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.ranks
    }

    fn now(&mut self) -> f64 {
        self.clock.as_seconds()
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.call(Call::Send(test(to, bytes)), |_| ());
    }

    fn recv(&mut self, from: u32, _bytes: u64) {
        self.call(Call::Recv(pattern(from, TEST)), |_| ());
    }

    fn send_window(&mut self, to: u32, bytes: u64, count: u32) {
        let requests: Requests = (0..count).map(|_| self.started(Call::Isend(test(to, bytes)))).collect();
        self.call(Call::Complete(requests), |_| ());
    }

    fn recv_window(&mut self, from: u32, _bytes: u64, count: u32) {
        let requests: Requests = (0..count).map(|_| self.started(Call::Irecv(pattern(from, TEST)))).collect();
        self.call(Call::Complete(requests), |_| ());
    }

    fn exchange(&mut self, to: u32, from: u32, bytes: u64) {
        self.call(Call::Exchange(test(to, bytes), pattern(from, TEST)), |_| ());
    }

    fn exchange_window(&mut self, with: u32, bytes: u64, count: u32) {
        let mut requests: Requests = (0..count).map(|_| self.started(Call::Irecv(pattern(with, TEST)))).collect();
        (0..count).for_each(|_| requests.push(self.started(Call::Isend(test(with, bytes)))));
        self.call(Call::Complete(requests), |_| ());
    }

    fn compute(&mut self, seconds: f64) {
        let span = SimSpan::from_seconds(seconds).unwrap_or_else(|| panic!("a delay of {seconds} s"));
        self.call(Call::Compute(span), |_| ());
    }

    fn barrier(&mut self) {
        if self.rank > 0 {
            self.tell(0, &[]);
            self.told(0);
            return;
        }
        (1..self.ranks).for_each(|rank| _ = self.told(rank));
        (1..self.ranks).for_each(|rank| self.tell(rank, &[]));
    }

    fn share(&mut self, from: u32, values: &mut Vec<f64>) {
        if self.rank != from {
            *values = self.told(from);
            return;
        }
        (0..self.ranks).filter(|rank| *rank != from).for_each(|rank| self.tell(rank, values));
    }
}
