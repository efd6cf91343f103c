//! Order of the message tests of a measurement campaign, and number of samples per test. A test takes as many samples
//! as a reliable median needs, within a time budget.
//!
//! All ranks execute the same campaign program. One rank sends the measured times, on which decisions depend, to all
//! other ranks.

mod effects;
mod limits;
mod repeated;

use mcpsim_core::platform::{Level, message_sizes};

use self::repeated::quieter_of_all;
use super::port::{GroupPort, RankPort};
use super::protocol::{self, RankPair};
use super::rings::{effective_bandwidth, measure_rings};
use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// Number of samples after which the campaign decides if a test needs more samples.
const BATCH: usize = 5;
/// Least number of samples per test, unless the campaign is late, and greatest number of samples per test.
pub(super) const LEAST: usize = 10;
const MOST: usize = 200;
/// Multiple of the time budget after which the campaign is late. A late campaign repeats no test and takes [`BATCH`]
/// samples per median. Ranks that wait for cores of a busy machine take a thousand times as long.
const PATIENCE: f64 = 2.0;
/// Relative uncertainty of a median below which a test takes no more samples.
pub(super) const SURE: f64 = 0.004;
/// Least duration of a sample in seconds, so that the resolution of the clock does not matter.
const LONG: f64 = 40e-6;
/// Number of messages in a train of back-to-back sends, and number of messages in a late-receive test.
pub const TRAIN: u32 = 16;
const LATE: u32 = 8;
/// Greatest number of concurrent messages between the pairs of a node. With fewer pairs, each pair has several
/// messages.
const LOADS: u32 = 16;
/// Greatest number of messages in a window, unless the user states another number, and greatest number of bytes in a
/// window.
pub const WINDOW: u32 = 64;
const WINDOW_BYTES: u64 = 4 << 20;
/// Greatest number of messages in a short window (few concurrent messages), and greatest number of bytes in a short
/// window of more than four messages. The buffers of a short window fit into the caches of a core.
const SHORT_WINDOW: u32 = 16;
const SHORT_BYTES: u64 = 1 << 19;
/// Greatest message size in short windows, bytes.
const SHORT_MOST: u64 = 3 << 18;

/// Number of repetitions of each ring exchange, as in b_eff.
const REPETITIONS: u32 = 3;

/// Sizes in bytes of the small messages whose rate determines the gap of a network adapter.
pub const SMALL: [u64; 2] = [8, 128];

/// Sizes in bytes of ping-pongs of several pairs at once.
const TOGETHER: [u64; 4] = [0, 8, 128, 4096];

/// Returns the message sizes of windows that measure bandwidth: sizes that fit into caches, and the greatest message
/// size.
fn large(most: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> = [64 << 10, 1 << 20, most].into_iter().filter(|size| *size <= most).collect();
    sizes.dedup();
    sizes
}

/// Size of the messages with separate buffers, and greatest number of these messages per direction. A rank sends and
/// receives 64 MiB, so caches of up to 128 MiB per rank show their limit.
const APART_BYTES: u64 = 1 << 20;
const APART_MOST: u32 = 64;
/// Number of messages with separate buffers that are exchanged after other code has evicted the caches.
const AFTER_CODE: u32 = 8;

/// Plan of a measurement campaign. All ranks follow the same campaign plan.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignPlan {
    /// Network levels of the machine at which messages between ranks are measured.
    pub levels: Vec<LevelPlan>,
    /// Greatest measured message size, bytes.
    pub most_bytes: u64,
    /// Approximate duration of the campaign, seconds.
    pub budget: f64,
    /// Greatest number of messages in a window, if the buffers of all messages fit into 64 MiB.
    pub window: u32,
}

/// Pairs of ranks that measure one network level of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelPlan {
    /// The network level that the pairs measure.
    pub level: Level,
    /// Disjoint pairs of ranks that share the resource of the network level, such as the adapter of a node.
    pub pairs: Vec<RankPair>,
}

impl CampaignPlan {
    /// Returns the message sizes from zero to the greatest: two per power of two above 32 B.
    pub fn sizes(&self) -> Vec<u64> {
        message_sizes(self.most_bytes)
    }

    /// Returns the number of messages of `bytes` bytes in a window.
    fn messages(&self, bytes: u64) -> u32 {
        u32::try_from(WINDOW_BYTES / bytes.max(1)).unwrap_or(u32::MAX).max(4).min(self.window.max(1))
    }

    /// Returns the numbers of messages of the two short windows of a message size.
    fn few_messages(bytes: u64) -> [u32; 2] {
        let most = u32::try_from(SHORT_BYTES / bytes.max(1)).unwrap_or(u32::MAX).clamp(4, SHORT_WINDOW);
        [(most / 4).max(2), most]
    }

    /// Returns the message sizes of short windows. There are two sizes between consecutive powers of two from 1 KiB,
    /// and fewer sizes below 1 KiB.
    fn short_sizes(&self) -> Vec<u64> {
        let few = (1..5).map(|power| 3u64 << (2 * power));
        let more = (8..).flat_map(|power| [5u64 << power, 6 << power]);
        few.chain(more).take_while(|size| *size <= self.most_bytes.min(SHORT_MOST)).collect()
    }

    /// Returns a short list of message sizes: every second power of two.
    fn few_sizes(&self) -> Vec<u64> {
        (0..).map(|power| 1u64 << (2 * power)).take_while(|size| *size <= self.most_bytes).collect()
    }

    /// Returns the approximate number of sample series in the campaign.
    fn series(&self) -> usize {
        let (sizes, few) = (self.sizes().len(), self.few_sizes().len());
        let loads: usize = self.levels.iter().map(|level| loads(level).len()).sum();
        let pairs: usize = self.levels.iter().map(|level| level.pairs.len().ilog2() as usize * 14 + 10).sum();
        self.levels.len() * (sizes * 3 / 2 + 4 * self.short_sizes().len() + 5 * few + 14) + loads * few + pairs
    }
}

impl LevelPlan {
    fn pair(&self) -> RankPair {
        self.pairs[0]
    }
}

/// Returns the loads (numbers of concurrent transfers) above 1 with which the pairs of a network level are tested. An
/// exchange of messages by a pair of ranks is two transfers on a resource that the cores of a node share. The adapter
/// of a node has one resource per direction.
fn loads(plan: &LevelPlan) -> Vec<(Test, u32)> {
    let pairs = plan.pairs.len() as u32;
    let doubled = |most: u32| (1..).map(|power| 1u32 << power).take_while(move |load| *load <= most);
    match plan.level {
        Level::InterNode => doubled(pairs).map(|load| (Test::OneWay, load)).collect(),
        Level::IntraCmp | Level::InterCmp => doubled(LOADS.max(2 * pairs)).map(|load| (Test::Exchange, load)).collect(),
    }
}

/// Runs all tests of the campaign plan `plan`. On each rank, `tell` receives the name of the next test and the finished
/// fraction of the work.
pub fn measure(port: &mut dyn GroupPort, plan: &CampaignPlan, tell: &mut dyn FnMut(&str, f64)) -> Samples {
    let mut samples = measure_levels(port, plan, tell);
    samples.series.extend(measure_rings(port, plan.most_bytes, REPETITIONS, tell));
    samples.effective_bandwidth = effective_bandwidth(&samples, port.size());
    samples
}

/// Runs the tests of the network levels in `plan`, which are a part of [`measure`].
pub fn measure_levels(port: &mut dyn RankPort, plan: &CampaignPlan, tell: &mut dyn FnMut(&str, f64)) -> Samples {
    let started = port.now();
    let mut campaign = Campaign {
        port,
        plan,
        started,
        left: plan.series().max(1),
        all: plan.series(),
        samples: Samples::default(),
        tell,
    };
    for level in &plan.levels {
        campaign.level(level);
    }
    campaign.samples
}

struct Campaign<'a> {
    port: &'a mut dyn RankPort,
    plan: &'a CampaignPlan,
    started: f64,
    /// Approximate number of remaining sample series and total number of sample series.
    left: usize,
    all: usize,
    samples: Samples,
    tell: &'a mut dyn FnMut(&str, f64),
}

/// Description of the next sample series.
#[derive(Clone, Copy)]
struct Next {
    level: Option<Level>,
    test: Test,
    bytes: u64,
    load: u32,
    count: u32,
    /// Rank whose samples form the series.
    leader: u32,
}

impl Campaign<'_> {
    fn level(&mut self, plan: &LevelPlan) {
        let (level, pair) = (plan.level, plan.pair());
        self.first_messages(plan);
        let eager = self.eager(level, pair);
        let credits = self.credits(level, pair, eager);
        self.samples.credits.extend(credits.map(|credits| (level, credits)));
        let mut sizes = self.plan.sizes();
        sizes.extend(eager.into_iter().flat_map(|most| [most, most + 1]));
        sizes.sort_unstable();
        sizes.dedup();
        let next = |test, bytes| Next { level: Some(level), test, bytes, load: 1, count: 1, leader: pair.first };
        for bytes in sizes.iter().copied() {
            let turns = self.turns(pair.first, |port| protocol::ping_pong(port, pair, bytes, 1) * 2.0);
            let next = Next { count: 2 * turns, ..next(Test::PingPong, bytes) };
            self.series(next, |port| protocol::ping_pong(port, pair, bytes, turns));
        }
        for bytes in sizes.iter().copied().filter(|size| size.is_power_of_two()) {
            let next = Next { count: self.plan.messages(bytes), ..next(Test::Window, bytes) };
            let count = next.count;
            self.series(next, |port| protocol::window(port, pair, bytes, count));
        }
        if level != Level::InterNode {
            self.short_windows(level, pair, eager);
        }
        self.occupancy(plan);
        if level == Level::IntraCmp && self.plan.most_bytes >= APART_BYTES {
            self.many_buffers(plan);
        }
        self.overheads(level, pair, eager);
        self.posted(level, pair, eager);
        self.incast(plan);
        self.crowds(plan, eager);
        self.again(level, pair);
        if level != Level::InterNode {
            // The short windows are measured again later, because noise lasts for seconds.
            self.short_windows(level, pair, eager);
            quieter_of_all(&mut self.samples.series, Test::ShortWindow);
        }
        self.samples.eager.push((level, eager));
    }

    /// Measures windows of two small numbers of messages. The message sizes of these short windows do not occur in
    /// other windows and lie on both sides of the eager threshold.
    fn short_windows(&mut self, level: Level, pair: RankPair, eager: Option<u64>) {
        let mut sizes = self.plan.short_sizes();
        sizes.extend(eager.into_iter().flat_map(|most| [most, most + 1]).filter(|size| *size > 0));
        sizes.sort_unstable();
        sizes.dedup();
        for bytes in sizes {
            for count in CampaignPlan::few_messages(bytes) {
                let (level, leader) = (Some(level), pair.first);
                let next = Next { level, test: Test::ShortWindow, bytes, load: count, count, leader };
                self.series(next, |port| protocol::window(port, pair, bytes, count));
            }
        }
    }

    /// Measures how long many messages occupy a resource such as a network adapter. Windows of several pairs use small
    /// messages for the gap of the adapter and large messages for copies by cores and memory. Further windows send in
    /// both directions. Ping-pongs of several pairs show the latency of busy nodes.
    fn occupancy(&mut self, plan: &LevelPlan) {
        let (level, pair) = (plan.level, plan.pair());
        let large = large(self.plan.most_bytes);
        let campaign_plan = self.plan;
        let next = |test, bytes: u64, load| {
            let count = campaign_plan.messages(bytes);
            Next { level: Some(level), test, bytes, load, count, leader: pair.first }
        };
        let most = plan.pairs.len() as u32;
        let loads = (1..).map(|power| 1u32 << power).take_while(|load| *load < most);
        for load in loads.chain((most > 1).then_some(most)) {
            let pairs = &plan.pairs[..load as usize];
            let sizes = TOGETHER.into_iter().filter(|size| load > 1 && *size <= campaign_plan.most_bytes);
            for bytes in sizes {
                let turns = self.turns(pair.first, |port| protocol::ping_pongs(port, pairs, bytes, 1) * 2.0);
                let next = Next { count: 2 * turns, ..next(Test::PingPongs, bytes, load) };
                self.series(next, |port| {
                    port.barrier();
                    protocol::ping_pongs(port, pairs, bytes, turns)
                });
            }
            for bytes in SMALL.into_iter().chain(large.iter().copied()) {
                let next = next(Test::Windows, bytes, load);
                self.series(next, |port| {
                    port.barrier();
                    protocol::windows(port, pairs, bytes, next.count)
                });
            }
        }
        // The cores of one pair may limit the message rate of the pair, so the bandwidth of an adapter in both
        // directions needs all pairs.
        for load in [1].into_iter().chain((most > 1).then_some(most)) {
            for bytes in large.iter().copied() {
                let next = next(Test::BothWays, bytes, load);
                self.series(next, |port| {
                    port.barrier();
                    protocol::exchanges(port, &plan.pairs[..load as usize], bytes, next.count, 1)
                });
            }
        }
    }

    /// Measures copies in both directions between the ranks of a CMP. The number of buffers grows until the buffers
    /// exceed the capacity of the caches.
    fn many_buffers(&mut self, plan: &LevelPlan) {
        let bytes = APART_BYTES;
        for count in (0..).map(|power| 1u32 << power).take_while(|count| *count <= APART_MOST) {
            let (level, leader) = (Some(plan.level), plan.pair().first);
            let load = count * plan.pairs.len() as u32;
            let next = Next { level, test: Test::ManyBuffers, bytes, load, count, leader };
            self.series(next, |port| {
                port.barrier();
                protocol::exchanges_of_buffers(port, &plan.pairs, bytes, count)
            });
            if count == AFTER_CODE {
                self.series(Next { test: Test::AfterCode, ..next }, |port| {
                    if plan.pairs.iter().any(|pair| pair.has(port.rank())) {
                        port.pass_memory();
                    }
                    port.barrier();
                    protocol::exchanges_of_buffers(port, &plan.pairs, bytes, count)
                });
            }
        }
    }

    /// Measures the core overheads of sends and receives.
    fn overheads(&mut self, level: Level, pair: RankPair, eager: Option<u64>) {
        let most = eager.unwrap_or(self.plan.most_bytes);
        let mut sizes: Vec<u64> = self.plan.few_sizes().into_iter().filter(|size| *size < most).collect();
        // The greatest eager message size is measured too, if there is an eager threshold.
        sizes.extend(eager.filter(|most| *most > 0));
        let next = |test, bytes| Next { level: Some(level), test, bytes, load: 1, count: 1, leader: pair.first };
        for bytes in sizes {
            let turn = self.samples.median(level, Test::PingPong, bytes) * 2.0;
            self.series(next(Test::TrainOfOne, bytes), |port| protocol::train(port, pair, bytes, 1, 0.0));
            let count = TRAIN;
            let next = |test| Next { count, ..next(test, bytes) };
            self.series(next(Test::Train), |port| protocol::train(port, pair, bytes, count, 0.0));
            let delay = 1.5 * turn + 1e-6;
            self.series(next(Test::DelayedTrain), |port| {
                protocol::train(port, pair, bytes, count, delay) - f64::from(count - 1) * delay
            });
            let count = u32::try_from(WINDOW_BYTES / 4 / bytes).unwrap_or(LATE).clamp(1, LATE);
            let next = Next { count, ..next(Test::LateReceive) };
            let delay = f64::from(count) * 2.0 * turn + 5e-6;
            self.series(next, |port| protocol::late_receive(port, pair, bytes, count, delay));
        }
        let Some(most) = eager else { return };
        for bytes in [most + 1, 2 * most, 4 * most].into_iter().filter(|size| (1..=self.plan.most_bytes).contains(size))
        {
            let turns = self.turns(pair.first, |port| protocol::ping_pong(port, pair, bytes, 1) * 2.0);
            let again = Next { count: 2 * turns, ..next(Test::PingPong, bytes) };
            if self.samples.median(level, Test::PingPong, bytes) == 0.0 {
                self.series(again, |port| protocol::ping_pong(port, pair, bytes, turns));
            }
            let delay = 4.0 * self.samples.median(level, Test::PingPong, bytes) + 5e-6;
            self.series(next(Test::LateReceive, bytes), |port| protocol::late_receive(port, pair, bytes, 1, delay));
        }
    }

    /// Measures messages of several concurrent transfers.
    fn crowds(&mut self, plan: &LevelPlan, eager: Option<u64>) {
        let mut sizes = self.plan.few_sizes();
        sizes.extend(eager.into_iter().flat_map(|most| [most, most + 1]).filter(|size| *size > 0));
        for (test, load) in loads(plan) {
            let wanted = if test == Test::Exchange { load / 2 } else { load };
            let pairs = &plan.pairs[..plan.pairs.len().min(wanted as usize)];
            // Number of concurrent messages per rank of a pair.
            let count = wanted / pairs.len() as u32;
            for bytes in sizes.iter().copied() {
                let one = |port: &mut dyn RankPort, turns: u32| match test {
                    Test::Exchange => protocol::exchanges(port, pairs, bytes, count, turns),
                    _ => protocol::one_way(port, pairs, bytes, turns),
                };
                let leader = plan.pair().first;
                let turns = self.turns(leader, |port| one(port, 1));
                let next = Next { level: Some(plan.level), test, bytes, load, count, leader };
                self.series(next, |port| {
                    port.barrier();
                    one(port, turns)
                });
            }
        }
    }

    /// Returns the number of repetitions that make a sample long enough, derived from the time of one repetition on the
    /// leading rank.
    fn turns(&mut self, leader: u32, mut one: impl FnMut(&mut dyn RankPort) -> f64) -> u32 {
        one(self.port);
        let mut turns = vec![(LONG / one(self.port).max(1e-9)).ceil().clamp(1.0, 64.0)];
        self.port.share(leader, &mut turns);
        turns[0] as u32
    }

    /// Takes samples until their median is reliable or the time share of the sample series is spent. All ranks get the
    /// samples of the leading rank.
    fn series(&mut self, next: Next, mut one: impl FnMut(&mut dyn RankPort) -> f64) {
        let Next { level, test, bytes, load, count, leader } = next;
        let place = level.map_or("all", Level::name);
        let done = self.done();
        (self.tell)(&format!("{place}: {} of {bytes} B", test.name().replace('_', " ")), done);
        let port = &mut *self.port;
        let left = self.plan.budget - (port.now() - self.started);
        let least = if left < (1.0 - PATIENCE) * self.plan.budget { BATCH } else { LEAST };
        let mut told = vec![left.max(0.0) / self.left as f64, least as f64];
        port.share(0, &mut told);
        let (allowed, least) = (told[0], told[1] as usize);
        // The first run of a test is not a sample, because the caches are cold and the connections are new.
        one(port);
        let started = port.now();
        let mut seconds = Vec::new();
        loop {
            seconds.extend((0..BATCH).map(|_| one(port)));
            let is_sure = Summary::of(&seconds).is_some_and(|summary| summary.uncertainty <= SURE);
            let is_over = port.now() - started > allowed || seconds.len() >= MOST;
            let mut end = vec![f64::from(u8::from(seconds.len() >= least && (is_sure || is_over)))];
            port.share(leader, &mut end);
            if end[0] > 0.0 {
                break;
            }
        }
        port.share(leader, &mut seconds);
        self.samples.series.push(SampleSeries { level, test, bytes, load, count, seconds });
        self.left = (self.left - 1).max(1);
    }

    /// Returns true if the campaign is late according to the clock of the first rank.
    fn is_late(&mut self) -> bool {
        let late = self.port.now() - self.started > PATIENCE * self.plan.budget;
        let mut told = vec![f64::from(u8::from(late))];
        self.port.share(0, &mut told);
        told[0] > 0.0
    }

    fn done(&self) -> f64 {
        1.0 - self.left as f64 / self.all.max(1) as f64
    }
}
