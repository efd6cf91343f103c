//! Collectives in the model of Xu and Hwang (Modeling communication overhead: MPI and MPL performance on the IBM SP2,
//! IEEE Parallel & Distributed Technology 4, 1996): t(m, n) = t0(n) + m / r∞(n), with m bytes and n ranks.
//!
//! The time of a collective call is the time of the slowest rank, from a barrier to the end of the call. Simulated
//! ranks begin each call at the same instant. t0(n) and 1 / r∞(n) grow with log n or with n, whichever fits better.

use mcpsim_core::platform::{Collective, Hockney};

use super::port::GroupPort;
use super::rings::slowest;
use super::statistics::Summary;

/// MPI collectives that are measured.
const COLLECTIVES: [Collective; 8] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Scatter,
    Collective::Gather,
    Collective::Alltoall,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Scan,
];

/// Greatest total size in bytes of the blocks of one rank in a collective.
const MOST_OF_RANK: u64 = 64 << 20;

/// Plan of the tests of collectives. All ranks follow the same plan of tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveTests {
    /// Greatest size of a buffer or block of a collective, bytes.
    pub most_bytes: u64,
    /// Greatest number of timed calls per collective, number of ranks and size.
    pub repeats: u32,
    /// Approximate total duration of the tests, seconds.
    pub budget: f64,
}

/// Measured time of a collective for one number of ranks and one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedCollective {
    /// The measured MPI collective.
    pub collective: Collective,
    /// Number of participating ranks, which are the first ranks from rank 0.
    pub ranks: u32,
    /// Size of the buffer or of a block of the collective, bytes.
    pub bytes: u64,
    /// Median time of the collective's calls. The time of a collective call is the time of the call's slowest rank.
    pub seconds: f64,
    /// Uncertainty of the median time, see [`Summary::uncertainty`].
    pub unsure: f64,
}

/// Returns the numbers of participating ranks to test: powers of two, and all ranks.
fn members(ranks: u32) -> Vec<u32> {
    let powers = (1..).map(|power| 1u32 << power).take_while(|members| *members < ranks);
    powers.chain((ranks > 1).then_some(ranks)).collect()
}

/// Returns the message sizes to test for a collective among `members` ranks; each size is eight times the previous
/// size.
fn sizes(collective: Collective, members: u32, most: u64) -> Vec<u64> {
    let copies = match collective {
        Collective::Barrier => return vec![0],
        Collective::Scatter | Collective::Gather | Collective::Alltoall => u64::from(members),
        _ => 1,
    };
    let all = (1..).map(|power| 1u64 << (3 * power)).take_while(|bytes| *bytes <= most);
    all.filter(|bytes| bytes * copies <= MOST_OF_RANK).collect()
}

/// Times all MPI collectives of the plan. Each rank must call this function and gets the measured times. `tell`
/// receives the name of the next test and the finished fraction of the work.
pub fn time_collectives(
    port: &mut dyn GroupPort,
    plan: &CollectiveTests,
    tell: &mut dyn FnMut(&str, f64),
) -> Vec<TimedCollective> {
    let mut found = Vec::new();
    let groups = members(port.size());
    let each = |members: u32| {
        COLLECTIVES
            .into_iter()
            .flat_map(move |of| sizes(of, members, plan.most_bytes).into_iter().map(move |bytes| (of, bytes)))
    };
    let count: usize = groups.iter().map(|members| each(*members).count()).sum();
    for ranks in groups {
        port.among(ranks);
        for (collective, bytes) in each(ranks) {
            tell(&format!("{collective:?} of {bytes} B among {ranks} ranks"), found.len() as f64 / count as f64);
            // The first call of a collective is not timed, because the caches are cold and the connections are new.
            one(port, ranks, collective, bytes);
            let mut trial = vec![one(port, ranks, collective, bytes)];
            slowest(port, &mut trial);
            let fitting = plan.budget / count as f64 / trial[0].max(1e-9);
            let repeats = fitting.max(3.0).min(f64::from(plan.repeats.max(1))) as u32;
            let mut seconds: Vec<f64> = (0..repeats).map(|_| one(port, ranks, collective, bytes)).collect();
            slowest(port, &mut seconds);
            seconds.sort_by(f64::total_cmp);
            let unsure = Summary::of(&seconds).map_or(f64::INFINITY, |summary| summary.uncertainty);
            found.push(TimedCollective { collective, ranks, bytes, seconds: seconds[seconds.len() / 2], unsure });
        }
    }
    port.among(port.size());
    found
}

/// Returns the seconds of a collective call on this rank. The call begins when all ranks are ready.
fn one(port: &mut dyn GroupPort, ranks: u32, collective: Collective, bytes: u64) -> f64 {
    if port.rank() >= ranks {
        return 0.0;
    }
    port.begin_together();
    let started = port.now();
    port.collective(collective, 0, bytes);
    port.now() - started
}

/// Form in which a parameter of a collective grows with the number of ranks n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthForm {
    /// The parameter grows with log2 n.
    Logarithm,
    /// The parameter grows with n.
    Linear,
}

/// Function constant + slope · x of the number of ranks n, with x = log2 n or x = n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Form of the growth, which determines x.
    pub form: GrowthForm,
    /// Value of the function at x = 0.
    pub constant: f64,
    /// Increase of the function per unit of x.
    pub slope: f64,
    /// Mean absolute relative error of the function at the fitted points.
    pub error: f64,
}

impl Growth {
    /// Fits the better of the two growth forms to `points` (number of ranks, value above zero). Returns `None` if
    /// `points` has fewer than two elements.
    pub fn fit(points: &[(u32, f64)]) -> Option<Growth> {
        let of = |form: GrowthForm| {
            let x = |ranks: u32| Growth::x(form, ranks);
            let mut sums = [0.0; 5];
            for &(ranks, value) in points.iter().filter(|(_, value)| *value > 0.0) {
                let weight = 1.0 / (value * value);
                for (sum, term) in sums.iter_mut().zip([1.0, x(ranks), x(ranks).powi(2), value, x(ranks) * value]) {
                    *sum += weight * term;
                }
            }
            let [n, x1, x2, y, xy] = sums;
            let determinant = n * x2 - x1 * x1;
            if determinant <= 1e-12 * n * x2 {
                return None;
            }
            let (constant, slope) = ((x2 * y - x1 * xy) / determinant, (n * xy - x1 * y) / determinant);
            let growth = Growth { form, constant, slope, error: 0.0 };
            let off = points.iter().map(|(ranks, value)| (growth.at(*ranks) / value - 1.0).abs()).sum::<f64>();
            Some(Growth { error: off / points.len() as f64, ..growth })
        };
        let both = [GrowthForm::Logarithm, GrowthForm::Linear].into_iter().filter_map(of);
        both.min_by(|a, b| a.error.total_cmp(&b.error))
    }

    fn x(form: GrowthForm, ranks: u32) -> f64 {
        match form {
            GrowthForm::Logarithm => f64::from(ranks).log2(),
            GrowthForm::Linear => f64::from(ranks),
        }
    }

    /// Returns the value of the function for `ranks` ranks.
    pub fn at(&self, ranks: u32) -> f64 {
        self.constant + self.slope * Growth::x(self.form, ranks)
    }
}

/// Fit of one collective to the model of Xu and Hwang.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveFit {
    /// The collective that is fitted.
    pub collective: Collective,
    /// For each number of ranks n: t0(n) and 1 / r∞(n), and the mean relative error over message sizes.
    pub by_ranks: Vec<(u32, Hockney, f64)>,
    /// Growth of the start-up time t0(n), seconds.
    pub start: Option<Growth>,
    /// Growth of 1 / r∞(n), seconds per byte; `None` for a barrier.
    pub per_byte: Option<Growth>,
}

impl CollectiveFit {
    /// Fits the model of Xu and Hwang to each timed collective.
    pub fn all(timed: &[TimedCollective]) -> Vec<CollectiveFit> {
        COLLECTIVES.into_iter().filter_map(|collective| CollectiveFit::of(timed, collective)).collect()
    }

    fn of(timed: &[TimedCollective], collective: Collective) -> Option<CollectiveFit> {
        let mut by_ranks: Vec<(u32, Hockney, f64)> = Vec::new();
        let of = || timed.iter().filter(|of| of.collective == collective && of.seconds > 0.0);
        let mut groups: Vec<u32> = of().map(|of| of.ranks).collect();
        groups.dedup();
        for ranks in groups {
            let points: Vec<(u64, f64)> =
                of().filter(|of| of.ranks == ranks).map(|of| (of.bytes, of.seconds)).collect();
            let hockney = match points[..] {
                [(0, seconds)] => Hockney { start: seconds, per_byte: 0.0 },
                _ => Hockney::fit(&points)?,
            };
            let off = points.iter().map(|(bytes, seconds)| (hockney.at(*bytes) / seconds - 1.0).abs()).sum::<f64>();
            by_ranks.push((ranks, hockney, off / points.len() as f64));
        }
        let grown = |value: fn(&Hockney) -> f64| {
            let points: Vec<(u32, f64)> = by_ranks.iter().map(|(ranks, of, _)| (*ranks, value(of))).collect();
            if points.iter().any(|(_, value)| *value <= 0.0) { None } else { Growth::fit(&points) }
        };
        let (start, per_byte) = (grown(|of| of.start), grown(|of| of.per_byte));
        (!by_ranks.is_empty()).then_some(CollectiveFit { collective, by_ranks, start, per_byte })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_their_growth_come_back() {
        // A broadcast takes log2 n (2 us + 1 ns m), an alltoall n (3 us + 0.5 ns m), and a barrier 1 us + 4 us log2 n.
        let mut timed = Vec::new();
        for ranks in members(16) {
            let (log, n) = (f64::from(ranks).log2(), f64::from(ranks));
            timed.push(TimedCollective {
                collective: Collective::Barrier,
                ranks,
                bytes: 0,
                seconds: 1e-6 + 4e-6 * log,
                unsure: 0.0,
            });
            for bytes in sizes(Collective::Bcast, ranks, 1 << 20) {
                let at = |collective, seconds| TimedCollective { collective, ranks, bytes, seconds, unsure: 0.0 };
                timed.push(at(Collective::Bcast, log * (2e-6 + 1e-9 * bytes as f64)));
                timed.push(at(Collective::Alltoall, n * (3e-6 + 0.5e-9 * bytes as f64)));
            }
        }
        let fits = CollectiveFit::all(&timed);
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-3 * expected.max(1e-9), "{found:e}, {expected:e}")
        };
        let [barrier, bcast, alltoall] = &fits[..] else { panic!("{fits:?}") };
        let start = barrier.start.unwrap();
        assert_eq!((start.form, barrier.per_byte), (GrowthForm::Logarithm, None));
        near(start.constant, 1e-6);
        near(start.slope, 4e-6);
        for (fit, form, start, byte) in
            [(bcast, GrowthForm::Logarithm, 2e-6, 1e-9), (alltoall, GrowthForm::Linear, 3e-6, 0.5e-9)]
        {
            assert_eq!(fit.by_ranks.iter().map(|of| of.0).collect::<Vec<_>>(), [2, 4, 8, 16]);
            let (starts, bytes) = (fit.start.unwrap(), fit.per_byte.unwrap());
            assert_eq!((starts.form, bytes.form), (form, form));
            near(starts.slope, start);
            near(bytes.slope, byte);
            assert!(starts.error < 1e-9 && starts.constant.abs() < 1e-9);
        }
    }

    #[test]
    fn ranks_and_sizes_stay_within_memory() {
        assert_eq!(members(6), [2, 4, 6]);
        assert_eq!(members(2), [2]);
        assert!(members(1).is_empty());
        assert_eq!(sizes(Collective::Bcast, 4, 4096), [8, 64, 512, 4096]);
        assert_eq!(sizes(Collective::Barrier, 4, 4096), [0]);
        assert!(sizes(Collective::Alltoall, 1 << 20, 4096).iter().all(|bytes| bytes << 20 <= MOST_OF_RANK));
        assert_eq!(Growth::fit(&[(2, 1.0)]), None);
    }
}
