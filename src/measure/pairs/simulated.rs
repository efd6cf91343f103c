//! The tests of rank pairs on a simulated machine.

use mcpsim_core::engine::{Progress, RunError};
use mcpsim_core::platform::{Platform, Site};
use mcpsim_core::rank::{Call, Context, Message, ReplyKind, Requests, SERVICE, SendMode, Served};

use super::super::port::RankPort;
use super::super::simulated::{Simulated, message, on_simulated_with, pattern_in};
use super::campaign::{MeasuredPairs, PairPlan, measure_length};
use super::port::PairPort;

/// Communication context of concurrent messages and of noise, different from the contexts of other tests.
const AT_ONCE: Context = 1 << 20;
/// Communication context of answers to one-sided operations.
const ANSWERS: Context = AT_ONCE + 1;
/// Size in bytes of the header of a one-sided message, and of the message that ends an epoch, as in mcpsim's windows.
const HEADER: u64 = 16;
const END: u64 = 5;
/// Tag of a put message; the next constants are tags of other one-sided messages.
const PUT: u32 = 0;
const GET: u32 = 1;
const UNLOCK: u32 = 2;

/// Measures all rank pairs for one message length on the machine's cores at `sites`, one rank per core.
///
/// # Errors
/// [`RunError::Interrupted`] after a cancellation by `progress`. The tests cannot end without a result for another
/// reason.
pub fn simulate_length(
    platform: &Platform,
    sites: Vec<Site>,
    plan: &PairPlan,
    bytes: u64,
    progress: &Progress,
) -> Result<MeasuredPairs, RunError> {
    let plan = plan.clone();
    let work = move |port: &mut Simulated<'_>| measure_length(port, &plan, bytes, &mut |_| ());
    let found = on_simulated_with(platform, sites, progress, work)?;
    Ok(found.expect("the first rank has the result"))
}

/// Returns the answer that a rank's adapter sends to a one-sided operation.
pub fn answer(served: Served) -> Option<Message> {
    let size = match (served.tag, served.payload) {
        (GET, Some(asked)) => asked.first_chunk().map_or(0, |size| u64::from_le_bytes(*size)),
        (UNLOCK, _) => 1,
        _ => return None,
    };
    Some(Message { context: ANSWERS, ..message(served.from, size, served.tag, SendMode::Buffered) })
}

impl Simulated<'_> {
    fn at_once(&mut self, with: u32, bytes: u64) -> (u32, u32) {
        let send = Message { context: AT_ONCE, ..message(with, bytes, 0, SendMode::Standard) };
        let send = self.started(Call::Isend(send));
        let recv = self.started(Call::Irecv(pattern_in(AT_ONCE, with, 0)));
        (send, recv)
    }

    /// Sends a message that is served by the adapter of rank `to`.
    fn serve(&mut self, to: u32, bytes: u64, tag: u32, asked: Option<u64>) {
        let payload = asked.map(|asked| {
            let mut payload = asked.to_le_bytes().to_vec();
            payload.resize(bytes as usize, 0);
            payload.into()
        });
        let message = Message { context: SERVICE, payload, ..message(to, bytes, tag, SendMode::Buffered) };
        self.call(Call::Send(message), |_| ());
    }

    /// Ends an epoch of one-sided operations and completes the pending receive.
    fn unlock(&mut self, with: u32, pending: Option<u32>) {
        let answer = self.started(Call::Irecv(pattern_in(ANSWERS, with, UNLOCK)));
        self.serve(with, END, UNLOCK, None);
        let requests: Requests = pending.into_iter().chain([answer]).collect();
        self.call(Call::Complete(requests), |_| ());
    }
}

impl PairPort for Simulated<'_> {
    fn swap(&mut self, with: u32, bytes: u64) {
        let sent = self.started(Call::Isend(message(with, bytes, 0, SendMode::Standard)));
        self.recv(with, bytes);
        self.call(Call::Complete(Requests::from_slice(&[sent])), |_| ());
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
            let place = self.call(Call::WaitAny(requests), |reply| match &reply.kind {
                ReplyKind::Completed(completions) => completions[0].index as usize,
                _ => unreachable!("one of them completes"),
            });
            let (from, _) = recvs.remove(place);
            found[from as usize] = self.now() - started;
        }
        self.call(Call::Complete(sends), |_| ());
        found
    }

    fn noise(&mut self, with: &[u32], bytes: u64, count: u32) {
        for _ in 0..count {
            let both = |other: &u32| {
                let (send, recv) = self.at_once(*other, bytes);
                [send, recv]
            };
            let requests: Requests = with.iter().flat_map(both).collect();
            self.call(Call::Complete(requests), |_| ());
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
        let answer = self.started(Call::Irecv(pattern_in(ANSWERS, from, GET)));
        self.serve(from, HEADER, GET, Some(bytes));
        self.unlock(from, Some(answer));
        self.now() - started
    }
}
