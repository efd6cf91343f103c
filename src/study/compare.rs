//! Comparison of a study's points: spread of times over seeds, best point, speed-up, and the largest number of ranks
//! that pays off.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{PointResult, Results};

/// Combination of a study's values: the points that differ only in the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// Step of the combination on each axis of the study; 0 on the axis of seeds.
    pub steps: Vec<usize>,
    /// Indices of the points of this combination, in increasing order.
    pub points: Vec<usize>,
    /// Spread of the predicted times of the points; `None` if no point has a prediction.
    pub spread: Option<ResultSpread>,
    /// Number of ranks of the combination, if a point of the combination has a prediction.
    pub ranks: Option<u64>,
    /// Speed-up over the base combination, if the study states a base and the two combinations have predictions.
    pub speedup: Option<Speedup>,
    /// True if this combination is the fastest of all combinations that do the same work.
    pub best: bool,
    /// Number of other combinations with the same work that are as fast as the fastest.
    pub equals: usize,
}

/// Spread of predicted times over the seeds of a combination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultSpread {
    /// Number of points of the combination that have a prediction.
    pub runs: usize,
    /// Mean predicted time in picoseconds.
    pub mean_ps: u64,
    /// Sample standard deviation of the predicted times in picoseconds; 0 for one run.
    pub deviation_ps: f64,
    /// Least and greatest predicted time, in picoseconds.
    pub range_ps: (u64, u64),
}

/// Speed-up of a combination of values over the base combination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// Time of the base combination divided by the time of this combination.
    pub factor: f64,
    /// Parallel efficiency: speed-up divided by the ratio of the numbers of ranks.
    pub efficiency: f64,
}

/// Largest number of ranks up to which each doubling of the number of ranks pays off.
#[derive(Clone, Debug, PartialEq)]
pub struct PaysOff {
    /// Index of one of the compared combinations. The values of this combination, except the number of ranks, identify
    /// the comparison.
    pub combination: usize,
    /// Keys of the study whose value is fixed in the comparison.
    pub columns: Vec<String>,
    /// Largest number of ranks that pays off.
    pub ranks: u64,
    /// True if the study also predicted larger numbers of ranks, which do not pay off.
    pub ends: bool,
}

impl ResultSpread {
    fn of(times: &[u64]) -> Option<ResultSpread> {
        let runs = times.len();
        let (least, greatest) = (*times.iter().min()?, *times.iter().max()?);
        let mean = times.iter().copied().map(u128::from).sum::<u128>() / runs as u128;
        let squares: f64 = times.iter().map(|&time| (time as f64 - mean as f64).powi(2)).sum();
        let deviation = if runs > 1 { (squares / (runs - 1) as f64).sqrt() } else { 0.0 };
        Some(ResultSpread { runs, mean_ps: mean as u64, deviation_ps: deviation, range_ps: (least, greatest) })
    }
}

impl Results {
    /// Returns all combinations of the study's values without the seeds, in the order of points.
    pub fn combinations(&self) -> Vec<Combination> {
        let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for index in 0..self.points.len() {
            let steps = self.steps(index).into_iter().zip(&self.axes);
            let steps = steps.map(|(step, axis)| if axis.is_seed() { 0 } else { step }).collect();
            groups.entry(steps).or_default().push(index);
        }
        let combination = |(steps, points): (Vec<usize>, Vec<usize>)| {
            let times: Vec<u64> = points.iter().filter_map(|&index| self.points[index].predicted_ps()).collect();
            let ranks = points.iter().find_map(|&index| self.points[index].ranks());
            Combination {
                steps,
                points,
                spread: ResultSpread::of(&times),
                ranks,
                speedup: None,
                best: false,
                equals: 0,
            }
        };
        let mut all: Vec<Combination> = groups.into_iter().map(combination).collect();
        all.sort_by_key(|combination| combination.points[0]);
        self.mark_best(&mut all);
        self.add_speedups(&mut all);
        all
    }

    /// Returns true if results at different steps of an axis must not be compared. The results must not be compared if
    /// the steps differ in the work or in the model of the machine. A key of the application changes the work, unless
    /// the study declares the key as a choice or the key belongs to the task manager of a task runtime.
    fn is_problem(&self, axis: usize) -> bool {
        let managers = |key: &str| key.strip_prefix("app.tasks.").is_some_and(|key| !key.contains('.'));
        let is_choice = |key: &String| managers(key) || self.asked.choices.contains(key);
        self.axes[axis].keys.iter().any(|key| key == "run.model" || key.starts_with("app.") && !is_choice(key))
    }

    /// Marks the combination with the least mean time for each kind of work. Among combinations with equal times, the
    /// function marks the first.
    fn mark_best(&self, all: &mut [Combination]) {
        let mut best: BTreeMap<Vec<usize>, (u64, usize, usize)> = BTreeMap::new();
        for (index, combination) in all.iter().enumerate() {
            let Some(spread) = combination.spread else { continue };
            let problem = (0..self.axes.len()).filter(|&axis| self.is_problem(axis));
            let problem = problem.map(|axis| combination.steps[axis]).collect();
            let own = (spread.mean_ps, index, 0);
            let least = best.entry(problem).or_insert(own);
            match own.0.cmp(&least.0) {
                Ordering::Less => *least = own,
                Ordering::Equal => least.2 += usize::from(least.1 != index),
                Ordering::Greater => {}
            }
        }
        // A combination without another combination of the same work is not marked as best.
        let predicted = all.iter().filter(|combination| combination.spread.is_some()).count();
        if all.len() > 1 && (best.len() == 1 || best.len() < predicted) {
            best.into_values().for_each(|(_, index, equals)| (all[index].best, all[index].equals) = (true, equals));
        }
    }

    /// Returns the axes of the study on which the number of ranks differs between two steps while all other axes are
    /// fixed.
    fn scaling_axes(&self, all: &[Combination]) -> Vec<usize> {
        let mut scaling: Vec<usize> = Vec::new();
        for axis in (0..self.axes.len()).filter(|&axis| !self.axes[axis].is_seed() && !self.is_problem(axis)) {
            let mut ranks: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
            let differs = |combination: &Combination| {
                let Some(own) = combination.ranks else { return false };
                let mut others = combination.steps.clone();
                others[axis] = 0;
                *ranks.entry(others).or_insert(own) != own
            };
            if all.iter().any(differs) {
                scaling.push(axis);
            }
        }
        scaling
    }

    /// Returns the axis and the step of the base of speed-ups: the requested base, or the least number of ranks if one
    /// axis varies it.
    fn base(&self, all: &[Combination]) -> Option<(usize, usize)> {
        if let Some((key, value)) = &self.asked.base {
            let at = |axis: usize| self.axes[axis].keys.iter().position(|known| known == key);
            let (axis, column) = (0..self.axes.len()).find_map(|axis| Some((axis, at(axis)?)))?;
            return Some((axis, self.axes[axis].steps.iter().position(|values| values[column] == *value)?));
        }
        let [axis] = self.scaling_axes(all)[..] else { return None };
        let ranks = |found: &Combination| Some((found.ranks?, found.steps[axis]));
        let (_, step) = all.iter().filter(|found| found.spread.is_some()).filter_map(ranks).min()?;
        Some((axis, step))
    }

    fn add_speedups(&self, all: &mut [Combination]) {
        let Some((axis, step)) = self.base(all) else { return };
        let bases: BTreeMap<Vec<usize>, (u64, u64)> = all
            .iter()
            .filter(|combination| combination.steps[axis] == step)
            .filter_map(|base| Some((base.steps.clone(), (base.spread?.mean_ps, base.ranks?))))
            .collect();
        for combination in all {
            let mut of = combination.steps.clone();
            of[axis] = step;
            let (Some(spread), Some(ranks), Some(&(base, base_ranks))) =
                (combination.spread, combination.ranks, bases.get(&of))
            else {
                continue;
            };
            let factor = base as f64 / spread.mean_ps.max(1) as f64;
            let more = ranks as f64 / base_ranks.max(1) as f64;
            combination.speedup = Some(Speedup { factor, efficiency: factor / more });
        }
    }

    /// Compares numbers of ranks while all other values of the study are fixed. Returns the largest number of ranks up
    /// to which each doubling has the requested gain.
    pub fn pays_off(&self, all: &[Combination]) -> Vec<PaysOff> {
        let Some(gain) = self.asked.gain else { return Vec::new() };
        let scaling = self.scaling_axes(all);
        if scaling.is_empty() {
            return Vec::new();
        }
        let mut groups: BTreeMap<Vec<usize>, Vec<(u64, u64, usize)>> = BTreeMap::new();
        for (index, combination) in all.iter().enumerate() {
            let (Some(spread), Some(ranks)) = (combination.spread, combination.ranks) else { continue };
            let kept =
                (0..self.axes.len()).map(|axis| if scaling.contains(&axis) { 0 } else { combination.steps[axis] });
            groups.entry(kept.collect()).or_default().push((ranks, spread.mean_ps, index));
        }
        let fixed = (0..self.axes.len()).filter(|axis| !scaling.contains(axis) && !self.axes[*axis].is_seed());
        let columns: Vec<String> = fixed.flat_map(|axis| self.axes[axis].keys.clone()).collect();
        let mut found: Vec<PaysOff> = Vec::new();
        for mut points in groups.into_values() {
            // Among machine shapes with equal numbers of ranks, the fastest shape is used.
            points.sort_unstable();
            points.dedup_by_key(|(ranks, ..)| *ranks);
            let paid = points.windows(2).take_while(|pair| {
                let ((few, slow, _), (many, fast, _)) = (pair[0], pair[1]);
                let doublings = (many as f64 / few.max(1) as f64).log2();
                (slow as f64 / fast.max(1) as f64).powf(1.0 / doublings) >= gain
            });
            let last = paid.count();
            let (ranks, _, combination) = points[last];
            found.push(PaysOff { combination, columns: columns.clone(), ranks, ends: last + 1 < points.len() });
        }
        found.sort_by_key(|pays| pays.combination);
        found
    }

    /// Returns the values of a combination as text, without seeds and restricted to the `wanted` columns.
    pub fn label(&self, combination: &Combination, wanted: &[String]) -> String {
        let point: &PointResult = &self.points[combination.points[0]];
        point.label(&wanted.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the names of all columns of a study's table except the seed.
    pub fn own_columns(&self) -> Vec<String> {
        self.axes.iter().filter(|axis| !axis.is_seed()).flat_map(|axis| axis.keys.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::*;

    fn bests(results: &Results) -> Vec<(usize, u64)> {
        let all = results.combinations();
        let best = all.iter().filter(|combination| combination.best);
        best.map(|best| (best.points[0], best.spread.unwrap().mean_ps)).collect()
    }

    #[test]
    fn the_best_is_the_least_mean_over_seeds_of_each_problem() {
        let alone = results(&["run.ranks=1,2,3"], &[Some(7), Some(5), Some(5)]);
        assert_eq!(bests(&alone), [(1, 5)]);
        let equals = alone.combinations().iter().map(|found| found.equals).collect::<Vec<_>>();
        assert_eq!(equals, [0, 1, 0]);
        let seeds = results(&["run.ranks=1,2", "run.seed=1,2"], &[Some(1), Some(9), Some(4), Some(4)]);
        assert_eq!(bests(&seeds), [(2, 4)]);
        let failed = results(&["run.ranks=1,2", "run.seed=1,2"], &[None, Some(3), Some(4), Some(4)]);
        assert_eq!(bests(&failed), [(0, 3)]);
        assert!(bests(&results(&["run.ranks=1,2"], &[None, None])).is_empty());
        // If the study has only one combination, even with several seeds, nothing is compared.
        assert!(bests(&results(&["run.ranks=2", "run.seed=1,2"], &[Some(4), Some(5)])).is_empty());
        let mut sizes = results(&["app.n=1,2", "run.ranks=1,2"], &[Some(5), Some(4), Some(20), Some(30)]);
        assert_eq!(bests(&sizes), [(1, 4), (2, 20)]);
        let models = results(&["run.ranks=1,2", "run.model=mcpsim,two-level"], &[Some(5), Some(4), Some(3), Some(2)]);
        assert_eq!(bests(&models), [(2, 3), (3, 2)]);
        assert!(bests(&results(&["app.n=1,2"], &[Some(5), Some(4)])).is_empty());
        // The task manager of a task runtime is a choice of method, but another cost of code fragments is other work.
        let managers = "app.tasks.manager=static,queue";
        assert_eq!(bests(&results(&[managers], &[Some(5), Some(4)])), [(1, 4)]);
        let costs = "app.tasks.fragments.step.cost=1ms,2ms";
        assert!(bests(&results(&[costs], &[Some(5), Some(4)])).is_empty());
        sizes.asked.choices = vec!["app.n".to_owned()];
        assert_eq!(bests(&sizes), [(1, 4)]);
    }

    #[test]
    fn the_spread_over_seeds_is_that_of_a_sample() {
        let seeds = results(&["run.ranks=1", "run.seed=1..4"], &[Some(2), Some(4), Some(4), Some(6)]);
        let spread = seeds.combinations()[0].spread.unwrap();
        assert_eq!((spread.runs, spread.mean_ps, spread.range_ps), (4, 4, (2, 6)));
        assert!((spread.deviation_ps - (8f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    fn with_ranks(axes: &[&str], points: &[(u64, u64)]) -> Results {
        let mut results = results(axes, &points.iter().map(|(_, time)| Some(*time)).collect::<Vec<_>>());
        for (point, (ranks, _)) in results.points.iter_mut().zip(points) {
            point.outcome.as_mut().unwrap().ranks = *ranks as u32;
        }
        results
    }

    #[test]
    fn speed_up_is_against_the_stated_base_with_all_else_equal() {
        let points = [(1, 800), (2, 400), (4, 400), (1, 1000), (2, 1000), (4, 250)];
        let mut results = with_ranks(&["platform.x=1,2", "run.ranks=1,2,4"], &points);
        results.asked.base = Some(("run.ranks".to_owned(), "1".to_owned()));
        let found: Vec<(f64, f64)> = results
            .combinations()
            .iter()
            .map(|combination| combination.speedup.map(|speedup| (speedup.factor, speedup.efficiency)).unwrap())
            .collect();
        assert_eq!(found, [(1.0, 1.0), (2.0, 1.0), (2.0, 0.5), (1.0, 1.0), (1.0, 0.5), (4.0, 1.0)]);
    }

    #[test]
    fn what_pays_off_ends_before_the_first_doubling_that_gains_too_little() {
        let points = [(1, 800), (2, 420), (4, 300), (1, 800), (2, 400), (4, 200)];
        let mut results = with_ranks(&["platform.x=1,2", "run.ranks=1,2,4"], &points);
        results.asked.gain = Some(1.5);
        let all = results.combinations();
        let found: Vec<(String, u64, bool)> = results
            .pays_off(&all)
            .iter()
            .map(|pays| (results.label(&all[pays.combination], &pays.columns), pays.ranks, pays.ends))
            .collect();
        assert_eq!(found, [("platform.x=1".to_owned(), 2, true), ("platform.x=2".to_owned(), 4, false)]);
        // From 4 to 6 ranks, the number of ranks doubles 0.58 times.
        let mut steps = with_ranks(&["run.ranks=4,6"], &[(4, 1000), (6, 760)]);
        steps.asked.gain = Some(1.59);
        assert_eq!(steps.pays_off(&steps.combinations())[0].ranks, 6);
        steps.asked.gain = Some(1.61);
        assert_eq!(steps.pays_off(&steps.combinations())[0].ranks, 4);
    }
}
