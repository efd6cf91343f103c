//! Textbook models of message times: Hockney, LogP and LogGP, with their parameters, and the machine that each model
//! describes.
//!
//! This module uses no measurements; the package `mcpsim-measure` fits the same models to measured times.

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::{Conditions, Contention, CoreRates, Level, Link, MemorySharing, Platform, Row, Shape, Site};

/// A textbook model of messages between processors, with equal costs for all pairs of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Textbook {
    /// The model [`Hockney`].
    Hockney,
    /// The model [`LogP`].
    LogP,
    /// The model [`LogGp`].
    LogGp,
    /// The model [`Hockney`] of messages, and the times of collectives of Xu and Hwang ([`CollectiveTimes`]).
    ///
    /// [`CollectiveTimes`]: super::CollectiveTimes
    XuHwang,
}

/// Message size in bytes for which LogP's parameters are derived.
pub const LOGP_BYTES: u64 = 8;

/// Greatest message size in bytes to which parameters are fitted, as in `mcpsim measure`.
const MOST_BYTES: u64 = 4 << 20;

/// Hockney's model: a message of m bytes takes t(m) = t0 + m / r∞ (Hockney: The communication challenge for MPP,
/// Parallel Computing 20, 1994).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hockney {
    /// Parameter t0 in seconds.
    pub start: f64,
    /// Parameter 1 / r∞ in seconds per byte.
    pub per_byte: f64,
}

/// LogP: a message of one small size takes t = L + 2 o, and a processor sends at most one message per gap (Culler and
/// others: LogP: Towards a realistic model of parallel computation, PPoPP 1993).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogP {
    /// Parameter L (latency) in seconds.
    pub latency: f64,
    /// Parameter o in seconds: mean of the core times of send and receive.
    pub overhead: f64,
    /// Parameter g in seconds: least time between two sends or two receives of a processor.
    pub gap: f64,
}

/// LogGP: a message of m bytes takes t(m) = L + 2 o + (m − 1) G (Alexandrov, Ionescu, Schauser, Scheiman: LogGP, SPAA
/// 1995).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGp {
    /// Parameters L, o and g for messages of one byte.
    pub small: LogP,
    /// Parameter G in seconds per byte.
    pub per_byte: f64,
}

impl Hockney {
    /// Fits the parameters to `points` (bytes, seconds above zero) by least squares of relative errors, so that no
    /// parameter is negative. `None`: the points have fewer than two different sizes.
    pub fn fit(points: &[(u64, f64)]) -> Option<Hockney> {
        let mut sums = [0.0; 5];
        for &(bytes, seconds) in points {
            let (x, weight) = (bytes as f64, 1.0 / (seconds * seconds));
            for (sum, term) in sums.iter_mut().zip([1.0, x, x * x, seconds, x * seconds]) {
                *sum += weight * term;
            }
        }
        let [n, x, xx, y, xy] = sums;
        let determinant = n * xx - x * x;
        if points.len() < 2 || determinant <= 1e-12 * n * xx {
            return None;
        }
        let (start, per_byte) = ((xx * y - x * xy) / determinant, (n * xy - x * y) / determinant);
        Some(match (start < 0.0, per_byte < 0.0) {
            (true, _) => Hockney { start: 0.0, per_byte: xy / xx },
            (_, true) => Hockney { start: y / n, per_byte: 0.0 },
            _ => Hockney { start, per_byte },
        })
    }

    /// Returns the time of a message of `bytes` bytes, in seconds.
    pub fn at(&self, bytes: u64) -> f64 {
        self.start + self.per_byte * bytes as f64
    }

    /// Returns n½ = t0 · r∞, the size in bytes of a message that reaches half of the bandwidth r∞.
    pub fn half_size(&self) -> f64 {
        self.start / self.per_byte
    }
}

impl LogP {
    /// Derives the parameters from the time of a small message, the core times of sender and receiver, and the time of
    /// each further message of a sequence, all in seconds.
    pub fn new(message: f64, overheads: [f64; 2], gap: f64) -> LogP {
        let overhead = ((overheads[0] + overheads[1]) / 2.0).min(message / 2.0);
        LogP { latency: message - 2.0 * overhead, overhead, gap }
    }

    /// Returns the time L + 2 o of a message in seconds.
    pub fn message(&self) -> f64 {
        self.latency + 2.0 * self.overhead
    }

    /// Returns L / g, the greatest number of messages in transfer from or to a processor; at least 1.
    pub fn capacity(&self) -> f64 {
        (self.latency / self.gap).ceil().max(1.0)
    }
}

impl LogGp {
    /// Creates the model with L, o and g of `small`, and with the G that fits `points` best by least squares of
    /// relative errors.
    pub fn fit(small: LogP, points: &[(u64, f64)]) -> LogGp {
        let (mut above, mut below) = (0.0, 0.0);
        for &(bytes, seconds) in points.iter().filter(|(bytes, _)| *bytes > 1) {
            let further = (bytes - 1) as f64;
            above += (seconds - small.message()) * further / (seconds * seconds);
            below += further * further / (seconds * seconds);
        }
        LogGp { small, per_byte: if below > 0.0 { (above / below).max(0.0) } else { 0.0 } }
    }

    /// Returns the time of a message of `bytes` bytes, in seconds.
    pub fn at(&self, bytes: u64) -> f64 {
        self.small.message() + (bytes as f64 - 1.0) * self.per_byte
    }

    /// Returns the bandwidth m / t(m) of successive messages of m = `bytes` bytes, in bytes per second. The bandwidth
    /// approaches 1 / G for large messages.
    pub fn bandwidth(&self, bytes: u64) -> f64 {
        bytes as f64 / self.at(bytes)
    }
}

/// Returns message sizes from 0 to `most` bytes, two sizes per power of two above 32.
pub fn message_sizes(most: u64) -> Vec<u64> {
    let powers = (0..).map(|power| 1u64 << power).take_while(|size| *size <= most);
    let both = powers.flat_map(|size| [Some(size), (size >= 32).then_some(size / 2 * 3)]);
    [0].into_iter().chain(both.flatten()).filter(|size| *size <= most).collect()
}

impl Link {
    /// Returns the time in seconds of a message without other transfers, from the send to the end of the receive: half
    /// of a round trip.
    fn alone(&self, bytes: u64) -> f64 {
        let size = Bytes::new(bytes);
        let row = self.row(size);
        let network = row.latency_under(self.contention(), 1).as_seconds()
            + row.bytes_under(self.contention(), 1, size).as_seconds();
        let handshakes = if size > self.eager_threshold() { 2.0 * self.handshake().as_seconds() } else { 0.0 };
        row.sending(size).as_seconds() + network + row.receiving(size).as_seconds() + handshakes
    }

    /// Returns half of the round-trip time by message size, without sizes whose time is zero.
    fn times(&self) -> Vec<(u64, f64)> {
        let all = message_sizes(MOST_BYTES).into_iter().map(|bytes| (bytes, self.alone(bytes)));
        all.filter(|(_, seconds)| *seconds > 0.0).collect()
    }

    /// Returns the parameters of Hockney's model for this link.
    pub fn hockney(&self) -> Hockney {
        Hockney::fit(&self.times()).unwrap_or(Hockney { start: 0.0, per_byte: 0.0 })
    }

    /// Returns the parameters of LogP for this link and messages of `bytes` bytes.
    pub fn log_p(&self, bytes: u64) -> LogP {
        let size = Bytes::new(bytes);
        let row = self.row(size);
        let overheads = [row.sending(size), row.receiving(size)].map(SimSpan::as_seconds);
        let adapter = match self.contention() {
            Contention::Queue => row.gap.max(row.bandwidth.span(size, 1)),
            Contention::Fair => row.gap,
            Contention::Ideal | Contention::Share | Contention::Measured => SimSpan::ZERO,
        };
        // LogP's gap is the greatest of three times: the core time of the sender, the core time of the receiver, and
        // the gap of the adapter.
        let gap = overheads.into_iter().fold(adapter.as_seconds(), f64::max);
        LogP::new(self.alone(bytes), overheads, gap)
    }

    /// Returns the parameters of LogGP for this link.
    pub fn log_gp(&self) -> LogGp {
        LogGp::fit(self.log_p(1), &self.times())
    }
}

impl Shape {
    /// Returns the level of the most distant pairs of cores.
    pub fn farthest(self) -> Level {
        match (self.nodes, self.cmps) {
            (1, 1) => Level::IntraCmp,
            (1, _) => Level::InterCmp,
            _ => Level::InterNode,
        }
    }

    /// Returns the shape `(N × C × T, 1, 1)`, in which every core is a node of its own.
    pub fn flat(self) -> Shape {
        Shape { nodes: self.total_cores() as u32, cmps: 1, cores: 1 }
    }
}

impl Site {
    /// Returns this core of a machine of `shape` as a core of its [`Shape::flat`].
    pub fn flat(self, shape: Shape) -> Site {
        let node = (self.node * shape.cmps + self.cmp) * shape.cores + self.core;
        Site { node, cmp: 0, core: 0 }
    }
}

impl Platform {
    /// Returns the machine of `--model hockney`, `logp` and `loggp` for ranks at `sites`: P processors whose messages
    /// have the costs of the model, with the parameters of the most distant pair of cores.
    ///
    /// - Hockney: a message of m bytes takes t0 + m / r∞, and occupies neither cores nor the network.
    /// - LogP: a message of any size takes L + 2 o, and the core of each of the two ranks is busy for o. Between two
    ///   sends of a processor there is at least the time g, and also between two receives.
    /// - LogGP: a message of m bytes takes (m − 1) G longer, and occupies the adapters of both processors for m G or g,
    ///   whichever is longer.
    ///
    /// The machine has no levels, size intervals, thresholds or rendezvous, and processors do not share adapters. A
    /// core computes as in the full model if all CMPs have as many ranks as the CMP with the most ranks.
    pub fn textbook(&self, model: Textbook, sites: &[Site]) -> Platform {
        let link = self.link(self.shape.farthest());
        let (contention, row) = match model {
            Textbook::Hockney | Textbook::XuHwang => (Contention::Ideal, hockney_row(link.hockney())),
            Textbook::LogP => (Contention::Queue, log_gp_row(LogGp { small: link.log_p(LOGP_BYTES), per_byte: 0.0 })),
            Textbook::LogGp => (Contention::Queue, log_gp_row(link.log_gp())),
        };
        let between = Link::new(contention, Bytes::MAX, row.latency, vec![row.clone()]);
        // Ranks on the same core use no adapter.
        let within = Link::new(Contention::Ideal, Bytes::MAX, row.latency, vec![row]);
        Platform {
            shape: self.shape.flat(),
            core: self.core.as_among(sites),
            links: [within.clone(), within, between],
            // The textbook models have no progress, noise or unequal nodes.
            conditions: Conditions::default(),
            // The textbook models have no classes of pairs and no places.
            pairs: None,
            places: Default::default(),
            unread: Vec::new(),
            ..self.clone()
        }
    }
}

impl CoreRates {
    /// Returns the rates of a core that is alone on its node. The memory bandwidth and the slowdown of the core are
    /// those of a core on the CMP with the most ranks among `sites`.
    fn as_among(&self, sites: &[Site]) -> CoreRates {
        let mut sorted = sites.to_vec();
        sorted.sort_unstable();
        let ranks = most_alike(sorted.iter().map(|site| (site.node, site.cmp)));
        let slower = self.threads.factor(most_alike(sorted.iter().copied()) as u32);
        let places = self.threads.places(sites);
        let on_cmp = most_alike(places.iter().map(|site| (site.node, site.cmp)));
        let on_node = most_alike(places.iter().map(|site| site.node));
        let share = self.memory_share_slowed(slower, on_cmp as u32, on_node as u32).round() as u64;
        let memory = Bandwidth::new(share).unwrap_or(self.memory);
        let slowdown = self.slowdown.get(ranks.max(1) - 1).or(self.slowdown.last()).copied().unwrap_or(1.0);
        CoreRates {
            memory,
            cmp_memory: Bandwidth::MAX,
            node_memory: Bandwidth::MAX,
            memory_sharing: MemorySharing::Placed,
            in_cache: None,
            slowdown: vec![slowdown],
            ..self.clone()
        }
    }
}

/// Returns the length of the longest sequence of equal keys.
fn most_alike<K: PartialEq>(keys: impl Iterator<Item = K>) -> usize {
    let keys: Vec<K> = keys.collect();
    keys.chunk_by(|a, b| a == b).map(<[K]>::len).max().unwrap_or(0)
}

fn hockney_row(model: Hockney) -> Row {
    row(model.start, 0.0, 0.0, model.per_byte)
}

fn log_gp_row(model: LogGp) -> Row {
    // The formula of LogGP counts m − 1 bytes, and a row of a link counts m bytes.
    row(model.small.latency - model.per_byte, model.small.overhead, model.small.gap, model.per_byte)
}

fn row(latency: f64, overhead: f64, gap: f64, per_byte: f64) -> Row {
    let span = |seconds: f64| SimSpan::from_seconds(seconds.max(0.0)).unwrap_or(SimSpan::ZERO);
    let rate = if per_byte > 0.0 { (1.0 / per_byte).round() as u64 } else { u64::MAX };
    Row {
        latency: span(latency),
        bandwidth: Bandwidth::new(rate.max(1)).expect("a rate above zero"),
        send_overhead: span(overhead),
        recv_overhead: span(overhead),
        gap: span(gap),
        ..Row::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = r#"
name = "tiny"
nct = [4, 2, 2]
cmp = { memory_bandwidth = "6 GB/s" }
node = { memory_bandwidth = "10 GB/s" }
[core]
flops = "10 Gflop/s"
instructions = "3 Ginstr/s"
memory_bandwidth = "5 GB/s"
slowdown = [1.0, 1.5]
[intra_cmp]
latency = "400 ns"
bandwidth = "4 GB/s"
[inter_cmp]
latency = "600 ns"
bandwidth = "3 GB/s"
[inter_node]
contention = "queue"
latency = "2 us"
bandwidth = "1 GB/s"
send_overhead = "200 ns"
recv_overhead = "300 ns"
gap = "500 ns"
"#;

    fn machine(overrides: &[&str]) -> Platform {
        crate::test_support::load(MACHINE, overrides)
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}, expected {expected}");
    }

    #[test]
    fn the_toy_example_of_a_course() {
        // With L + 2 o − G = 5 and G = 3, one byte takes 8, and m bytes take 5 + 3 m. The bandwidth m / (5 + 3 m)
        // approaches 1 / 3.
        let model = LogGp { small: LogP { latency: 6.0, overhead: 1.0, gap: 1.0 }, per_byte: 3.0 };
        for (bytes, bandwidth) in [(1, 1.0 / 8.0), (5, 5.0 / 20.0), (10, 10.0 / 35.0), (100, 100.0 / 305.0)] {
            near(model.bandwidth(bytes), bandwidth);
        }
        near(model.bandwidth(1_000_000_000), 1.0 / 3.0);
        // Half of the greatest bandwidth is reached at 5 / 3 bytes: m / (5 + 3 m) = 1 / 6.
        near(Hockney { start: 5.0, per_byte: 3.0 }.half_size(), 5.0 / 3.0);
    }

    #[test]
    fn parameters_of_a_link_of_one_row_are_those_it_states() {
        let link = machine(&[]).link(Level::InterNode).clone();
        let hockney = link.hockney();
        near(hockney.start, 2.5e-6);
        near(hockney.per_byte, 1e-9);
        near(hockney.half_size(), 2500.0);
        let log_p = link.log_p(8);
        near(log_p.overhead, 250e-9);
        near(log_p.latency, 2008e-9);
        near(log_p.gap, 500e-9);
        assert_eq!(log_p.capacity(), 5.0);
        let log_gp = link.log_gp();
        near(log_gp.small.latency, 2001e-9);
        near(log_gp.per_byte, 1e-9);
        near(log_gp.at(1001), 3501e-9);
    }

    #[test]
    fn a_fit_never_goes_below_zero() {
        assert_eq!(Hockney::fit(&[(8, 1e-6)]), None);
        assert_eq!(Hockney::fit(&[(8, 1e-6), (8, 2e-6)]), None);
        let falling = Hockney::fit(&[(1, 3e-6), (1000, 1e-6)]).unwrap();
        assert_eq!(falling.per_byte, 0.0);
        let steep = Hockney::fit(&[(100, 1e-7), (200, 1e-6)]).unwrap();
        assert!(steep.start == 0.0 && steep.per_byte > 0.0, "{steep:?}");
    }

    #[test]
    fn a_textbook_machine_has_processors_that_are_all_as_far_apart() {
        let machine = machine(&[]);
        let sites: Vec<Site> = (0..16).map(|core| machine.shape.site(core)).collect();
        let flat: Vec<u32> = sites.iter().map(|site| site.flat(machine.shape).node).collect();
        assert_eq!(flat, (0..16).collect::<Vec<_>>());
        let ns = |platform: &Platform| {
            let row = &platform.link(Level::InterNode).rows()[0];
            [row.latency, row.send_overhead, row.recv_overhead, row.gap].map(|span| span.as_ps() / 1000)
        };
        let made = |model| machine.textbook(model, &sites);
        assert_eq!(made(Textbook::Hockney).shape, Shape { nodes: 16, cmps: 1, cores: 1 });
        assert_eq!(ns(&made(Textbook::Hockney)), [2500, 0, 0, 0]);
        assert_eq!(ns(&made(Textbook::LogP)), [2008, 250, 250, 500]);
        assert_eq!(ns(&made(Textbook::LogGp)), [2000, 250, 250, 500]);
        // A core keeps its part of the memory bandwidth: 3 of 6 GB/s of its CMP, and 2.5 of 10 GB/s of its node with
        // four ranks.
        let core = made(Textbook::LogGp).core;
        assert_eq!((core.memory.get(), core.slowdown), (2_500_000_000, vec![1.5]));
        assert_eq!(machine.textbook(Textbook::LogP, &sites[..1]).core.slowdown, [1.0]);
        assert_eq!(Shape { nodes: 1, cmps: 2, cores: 1 }.farthest(), Level::InterCmp);
        assert_eq!(Shape { nodes: 1, cmps: 1, cores: 9 }.farthest(), Level::IntraCmp);
    }
}
