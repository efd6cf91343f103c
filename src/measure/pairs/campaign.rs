//! Tests of all pairs of ranks for one message length: their order, their statistics, and the collection of results on
//! rank 0.

use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

use mcpsim_core::platform::Collective;

use super::port::PairPort;
use super::protocol::{noise_makers, noisy_sample, samples};
use super::rounds::{Round, rounds_of};
use mcpsim_matrices::{PairTest, Parameters};

/// Plan of the tests of rank pairs. All ranks follow the same plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PairPlan {
    /// Pair test and its parameters.
    pub parameters: Parameters,
    /// Node of each rank. Rank pairs on disjoint nodes can be measured concurrently.
    pub nodes: Option<Vec<u32>>,
    /// Noise that multiplies each sample of a simulated machine. The values are the standard deviation σ of the
    /// factor's logarithm, and a seed.
    pub jitter: Option<(f64, u64)>,
}

/// Results for one message length on the first rank: one matrix per statistic, in the order of
/// [`mcpsim_matrices::Statistic::ALL`].
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredPairs {
    /// One time matrix per statistic.
    pub matrices: [Vec<f64>; 4],
    /// Comparison of concurrent with separate measurements of rank pairs.
    pub check: Option<Check>,
}

/// Comparison of rank pairs that were measured concurrently with other pairs, and then again separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Number of rank pairs in the comparison.
    pub pairs: usize,
    /// Greatest difference between the concurrent and the separate median of a rank pair, relative to the separate
    /// median.
    pub greatest: f64,
}

/// Number of rank pairs that are measured again separately.
const CHECKED: usize = 16;

/// Measures all rank pairs with messages of `bytes` bytes. Each rank calls this function, and the first rank gets the
/// measured matrices. On the first rank, `tell` receives the finished fraction of the work.
pub fn measure_length(
    port: &mut dyn PairPort,
    plan: &PairPlan,
    bytes: u64,
    tell: &mut dyn FnMut(f64),
) -> Option<MeasuredPairs> {
    let of = &plan.parameters;
    let mut row = CampaignRow::new(of.ranks);
    match of.test {
        PairTest::AllToAll => {
            let mut found = vec![Vec::new(); of.ranks as usize];
            // No barrier separates the samples, as in `network_test2`.
            port.collective(Collective::Barrier, 0, 0);
            for _ in 0..of.repeats {
                for (samples, seconds) in found.iter_mut().zip(port.all_at_once(bytes)) {
                    samples.push(seconds);
                }
            }
            (0..).zip(found).for_each(|(y, samples)| row.set(plan, bytes, port.rank(), y, samples));
        }
        PairTest::Bcast => {
            for root in 0..of.ranks {
                let one = |_| {
                    // The broadcast test uses the barrier of the MPI library, as `network_test2` does. Ranks return
                    // from the barrier at different times, and the sample includes this difference.
                    port.collective(Collective::Barrier, 0, 0);
                    let started = port.now();
                    port.collective(Collective::Bcast, root, bytes);
                    port.now() - started
                };
                let found = (0..of.repeats).map(one).collect();
                row.set(plan, bytes, port.rank(), root, found);
            }
        }
        PairTest::Noise | PairTest::NoiseBlocking => {
            for (x, y) in (0..of.ranks).flat_map(|x| (0..of.ranks).map(move |y| (x, y))) {
                if x == y && of.test == PairTest::NoiseBlocking {
                    continue;
                }
                let makers = noise_makers(of, x, y);
                let one = |_| noisy_sample(port, of, bytes, (x, y), &makers);
                let found: Vec<f64> = (0..of.repeats).filter_map(one).collect();
                row.set(plan, bytes, x, y, found);
                tell(f64::from(x * of.ranks + y) / f64::from(of.ranks * of.ranks));
            }
        }
        _ => {
            let is_remote = matches!(of.test, PairTest::Put | PairTest::Get);
            if is_remote {
                port.expose(Some(bytes));
            }
            let all = rounds_of(port.rank(), of.ranks, plan.nodes.as_deref());
            in_rounds(port, plan, bytes, &all, &mut row, tell);
            let checked = plan.nodes.is_some().then(|| check(port, plan, bytes, &all, &row));
            if is_remote {
                port.expose(None);
            }
            let matrices = gather(port, &row)?;
            return Some(MeasuredPairs { matrices, check: checked.flatten() });
        }
    }
    Some(MeasuredPairs { matrices: gather(port, &row)?, check: None })
}

/// Measurements of one rank: four statistics for each partner rank.
#[derive(Clone, Debug)]
struct CampaignRow(Vec<[f64; 4]>);

impl CampaignRow {
    fn new(ranks: u32) -> CampaignRow {
        CampaignRow(vec![[0.0; 4]; ranks as usize])
    }

    /// Stores the samples that rank x measured with rank y.
    fn set(&mut self, plan: &PairPlan, bytes: u64, x: u32, y: u32, mut samples: Vec<f64>) {
        if samples.is_empty() {
            return;
        }
        if let Some((sigma, seed)) = plan.jitter {
            let pair = u64::from(x) << 32 | u64::from(y);
            let mut random = Pcg64Mcg::seed_from_u64(seed ^ pair.rotate_left(17) ^ bytes.rotate_left(43));
            let factor = LogNormal::new(0.0, sigma).expect("a deviation is finite and not negative");
            samples.iter_mut().for_each(|sample| *sample *= factor.sample(&mut random));
        }
        self.0[y as usize] = statistics(&mut samples);
    }
}

/// Returns four statistics of the samples: the average, the median (the upper of the two middle values), the standard
/// deviation and the minimum.
fn statistics(samples: &mut [f64]) -> [f64; 4] {
    let count = samples.len() as f64;
    let average = samples.iter().sum::<f64>() / count;
    let deviation = (samples.iter().map(|sample| (sample - average).powi(2)).sum::<f64>() / count).sqrt();
    samples.sort_unstable_by(f64::total_cmp);
    [average, samples[samples.len() / 2], deviation, samples[0]]
}

/// Measures the rounds of rank pairs. The first rank starts all ranks of a round, and waits until all ranks of the
/// round have finished.
fn in_rounds(
    port: &mut dyn PairPort,
    plan: &PairPlan,
    bytes: u64,
    all: &[Round],
    row: &mut CampaignRow,
    tell: &mut dyn FnMut(f64),
) {
    let rank = port.rank();
    for (number, round) in all.iter().enumerate() {
        // The partner is the first of the two ranks of a pair, because the partner sends first.
        let both = |(x, y): &(u32, u32)| if x == y { vec![*x] } else { vec![*y, *x] };
        let mut members: Vec<u32> = round.iter().flat_map(both).collect();
        members.retain(|member| *member != 0);
        if rank == 0 {
            members.iter().for_each(|member| port.tell(*member, &[0.0]));
        } else if members.contains(&rank) {
            port.told(0);
        }
        if let Some(&(x, y)) = round.iter().find(|(x, y)| rank == *x || rank == *y) {
            let found = samples(port, &plan.parameters, bytes, x, y);
            row.set(plan, bytes, x, y, found);
        }
        if rank == 0 {
            members.iter().for_each(|member| _ = port.told(*member));
            tell(number as f64 / all.len() as f64);
        } else if members.contains(&rank) {
            port.tell(0, &[]);
        }
    }
}

/// Measures some rank pairs of the concurrent rounds again, separately.
fn check(port: &mut dyn PairPort, plan: &PairPlan, bytes: u64, all: &[Round], row: &CampaignRow) -> Option<Check> {
    let together: Vec<(u32, u32)> = all
        .iter()
        .filter(|round| round.len() > 1)
        .flat_map(|round| round.iter().copied())
        .filter(|(x, y)| x != y)
        .collect();
    let step = together.len().div_ceil(CHECKED).max(1);
    let again: Vec<Round> = together.iter().step_by(step).map(|pair| vec![*pair]).collect();
    let mut alone = CampaignRow::new(plan.parameters.ranks);
    in_rounds(port, plan, bytes, &again, &mut alone, &mut |_| ());
    let ratio = |[_, here, ..]: &[f64; 4], [_, alone, ..]: &[f64; 4]| match *alone > 0.0 {
        true => (here / alone - 1.0).abs(),
        false => 0.0,
    };
    let mine = row.0.iter().zip(&alone.0).map(|(here, alone)| ratio(here, alone)).fold(0.0, f64::max);
    if port.rank() > 0 {
        port.tell(0, &[mine]);
        return None;
    }
    let others = (1..port.size()).map(|rank| port.told(rank)[0]).fold(mine, f64::max);
    (!again.is_empty()).then_some(Check { pairs: again.len(), greatest: others })
}

/// Gathers the measurements of all ranks on the first rank, as one matrix per statistic.
fn gather(port: &mut dyn PairPort, row: &CampaignRow) -> Option<[Vec<f64>; 4]> {
    let mut mine: Vec<f64> = row.0.iter().flatten().copied().collect();
    if port.rank() > 0 {
        port.tell(0, &mine);
        return None;
    }
    let size = port.size();
    let mut matrices: [Vec<f64>; 4] = Default::default();
    for x in 0..size {
        if x > 0 {
            mine = port.told(x);
        }
        for values in mine.as_chunks::<4>().0 {
            matrices.iter_mut().zip(values).for_each(|(matrix, value)| matrix.push(*value));
        }
    }
    Some(matrices)
}
