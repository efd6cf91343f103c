//! Tests of further message costs: connection set-up, copies of unexpected messages, progress during computation, and
//! incast.

use mcpsim_core::platform::Level;

use super::super::protocol::{self, RankPair};
use super::super::samples::{SampleSeries, Test};
use super::{Campaign, LevelPlan, Next, SMALL, large};

impl Campaign<'_> {
    /// Measures the first message of each pair of ranks, one sample per pair. The first pair is skipped, because its
    /// ranks may already be connected.
    ///
    /// The test cannot detect connections that collectives of the MPI library have made before.
    pub(super) fn first_messages(&mut self, plan: &LevelPlan) {
        let mut seconds = Vec::new();
        for pair in plan.pairs.iter().skip(1) {
            let mut took = vec![protocol::ping_pong(self.port, *pair, 0, 1)];
            self.port.share(pair.first, &mut took);
            seconds.extend(took);
        }
        if !seconds.is_empty() {
            let (level, test) = (Some(plan.level), Test::FirstMessage);
            self.samples.series.push(SampleSeries { level, test, bytes: 0, load: 1, count: 1, seconds });
        }
    }

    /// Measures receives that are posted before the message is sent, while the receiving core computes. The tested
    /// message sizes are the eager sizes and two sizes above the eager threshold.
    pub(super) fn posted(&mut self, level: Level, pair: RankPair, eager: Option<u64>) {
        let most = self.plan.most_bytes;
        let mut sizes: Vec<u64> =
            self.plan.few_sizes().into_iter().filter(|size| eager.is_none_or(|eager| *size <= eager)).collect();
        sizes.extend(eager.into_iter().flat_map(|eager| [eager, 2 * eager, 4 * eager]));
        sizes.retain(|size| (1..=most).contains(size));
        sizes.sort_unstable();
        sizes.dedup();
        for bytes in sizes {
            let mut once = vec![protocol::ping_pong(self.port, pair, bytes, 2)];
            self.port.share(pair.first, &mut once);
            let work = 4.0 * once[0] + 5e-6;
            let next =
                Next { level: Some(level), test: Test::PostedReceive, bytes, load: 1, count: 1, leader: pair.first };
            self.series(next, |port| protocol::posted_receive(port, pair, bytes, work));
        }
    }

    /// Measures the time of messages that a growing number of ranks sends to one rank.
    pub(super) fn incast(&mut self, plan: &LevelPlan) {
        let most = plan.pairs.len() as u32;
        let target = plan.pair().second;
        let loads = (1..).map(|power| 1u32 << power).take_while(|load| *load < most);
        for load in loads.chain((most > 1).then_some(most)) {
            let pairs = &plan.pairs[..load as usize];
            for bytes in SMALL.into_iter().chain(large(self.plan.most_bytes)) {
                let count = (self.plan.messages(bytes) / load).max(1);
                let next = Next { level: Some(plan.level), test: Test::Incast, bytes, load, count, leader: target };
                self.series(next, |port| {
                    port.barrier();
                    protocol::incast(port, pairs, bytes, count)
                });
            }
        }
    }
}
