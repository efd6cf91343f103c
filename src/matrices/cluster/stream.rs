//! Step 6 of the clustering: portions of the time matrices are clustered in sequence, up to the last message length.
//!
//! The matrices of a portion are read once for their ranges, and a second time at the end of the partition for the
//! values of its clusters. Memory contains one matrix and the ranges of one portion, independent of the number of
//! message lengths.

use std::ops::Range;

use super::noise::{Deviations, Noise};
use super::ranges::{Precision, ranges};
use super::steps::{by_label, preliminary, prolonged};
use crate::{Exception, Matrices, MatrixError};

/// Parameters of the clustering of rank pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterOptions {
    /// Greatest width of a range of similar times.
    pub precision: Precision,
    /// Number of time matrices (message lengths) from which preliminary clusters are made.
    pub first: usize,
    /// Number of time matrices in a further portion of the clustering.
    pub further: usize,
    /// Fraction of a cluster's elements that may leave the cluster when it is prolonged.
    pub drop: f64,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        ClusterOptions { precision: Precision::Share(0.2), first: 5, further: 4, drop: 0.1 }
    }
}

impl ClusterOptions {
    /// Checks the parameters of the clustering.
    ///
    /// # Errors
    /// A parameter of the clustering is invalid; the error message contains the name of the parameter and the expected
    /// value.
    pub fn check(&self) -> Result<(), MatrixError> {
        let (Precision::Seconds(width) | Precision::Share(width)) = self.precision;
        if !(width > 0.0 && width.is_finite()) {
            return Err(MatrixError::new(format!("precision: expected more than 0; found {width}")));
        }
        if self.first == 0 || self.further == 0 {
            return Err(MatrixError::new("matrices of a portion: expected 1 or more; found 0"));
        }
        if !(0.0..1.0).contains(&self.drop) {
            return Err(MatrixError::new(format!(
                "share that may drop out: expected 0 to below 1; found {}",
                self.drop
            )));
        }
        Ok(())
    }
}

/// Range of message lengths over which the clusters of rank pairs do not change.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthRange {
    /// Index of the first time matrix in this range of message lengths.
    pub first: usize,
    /// Number of time matrices in this range of message lengths.
    pub matrices: usize,
    /// Cluster of each matrix element (pair of ranks) in row-major order. Clusters are numbered in the order of
    /// increasing times.
    pub labels: Vec<u32>,
    /// Value of each cluster in each time matrix, seconds: the median of the cluster's elements.
    pub values: Vec<Vec<f64>>,
    /// Summaries of the clusters of rank pairs.
    pub clusters: Vec<ClusterSummary>,
    /// Matrix elements that differ from the value of their cluster by more than the precision.
    pub exceptions: Vec<Exception>,
}

/// Summary of a cluster of rank pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterSummary {
    /// Number of pairs of ranks in the cluster.
    pub pairs: usize,
    /// Mean of the cluster's elements over all matrices of the partition, seconds.
    pub mean: f64,
}

/// Clusters the rank pairs in `matrices`, and passes the clusters of each finished range of message lengths to `take`.
///
/// # Errors
/// Invalid parameters of the clustering, an unreadable matrix, or an error of `take`.
pub fn cluster(
    matrices: &mut Matrices,
    options: &ClusterOptions,
    take: &mut dyn FnMut(LengthRange) -> Result<(), MatrixError>,
) -> Result<(), MatrixError> {
    options.check()?;
    let ranks = matrices.parameters.ranks as usize;
    let all = matrices.parameters.count();
    let portion = |from: usize, most: usize, matrices: &mut Matrices| -> Result<Vec<Vec<u32>>, MatrixError> {
        let of = |number| Ok(ranges(&matrices.matrix(number)?, ranks, options.precision));
        (from..all.min(from + most)).map(of).collect()
    };
    let (mut first, mut noise) = (0, None);
    while first < all {
        let labels = portion(first, options.first, matrices)?;
        let mut end = first + labels.len();
        let mut clusters = preliminary(&labels);
        drop(labels);
        while end < all {
            let further = portion(end, options.further, matrices)?;
            let Some(longer) = prolonged(&clusters, &further, options.drop, ranks) else { break };
            clusters = longer;
            end += further.len();
        }
        take(partition(matrices, first..end, clusters, options.precision, &mut noise)?)?;
        first = end;
    }
    Ok(())
}

/// Reads the time matrices of a partition (range of message lengths) again to compute the value of each cluster, and
/// merges clusters that differ only by noise.
///
/// `known` is the noise of the previous partition, because a partition of two message lengths or fewer does not show
/// its own noise.
fn partition(
    matrices: &mut Matrices,
    lengths: Range<usize>,
    mut clusters: Vec<u32>,
    precision: Precision,
    known: &mut Option<Noise>,
) -> Result<LengthRange, MatrixError> {
    let small = matrices.parameters.ranks as usize;
    loop {
        let (range, deviations) = values_of(matrices, lengths.clone(), &clusters, precision)?;
        let members = by_label(&clusters);
        if lengths.len() > 2 {
            *known = deviations.common_noise(&members);
        }
        let target = deviations.merged(&members, small, *known);
        if target.iter().enumerate().all(|(cluster, target)| cluster == *target) {
            return Ok(range);
        }
        // The clusters that remain after merging get consecutive numbers.
        let mut number = vec![0; target.len()];
        let stay = target.iter().enumerate().filter(|(cluster, target)| cluster == *target);
        (0..).zip(stay).for_each(|(new, (old, _)): (u32, _)| number[old] = new);
        clusters.iter_mut().for_each(|cluster| *cluster = number[target[*cluster as usize]]);
    }
}

/// Reads time matrices to compute the value of each cluster in each matrix.
fn values_of(
    matrices: &mut Matrices,
    lengths: Range<usize>,
    clusters: &[u32],
    precision: Precision,
) -> Result<(LengthRange, Deviations), MatrixError> {
    let side = matrices.parameters.ranks;
    let members = by_label(clusters);
    let mut deviations = Deviations::new(clusters.len(), members.len());
    let first = lengths.start;
    let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(lengths.len()); members.len()];
    let mut sums = vec![0.0; members.len()];
    let mut exceptions = Vec::new();
    for number in lengths.clone() {
        let matrix = matrices.matrix(number)?;
        for ((of_cluster, values), sum) in members.iter().zip(&mut values).zip(&mut sums) {
            let mut found: Vec<f64> = of_cluster.iter().map(|element| matrix[*element as usize]).collect();
            *sum += found.iter().sum::<f64>();
            let middle = found.len() / 2;
            values.push(*found.select_nth_unstable_by(middle, f64::total_cmp).1);
        }
        deviations.add(&matrix, clusters, values.iter().map(|values| values[number - first]));
        for (element, value) in (0..).zip(&matrix) {
            let stands = values[clusters[element as usize] as usize][number - first];
            if !precision.allows(stands, *value) {
                let (x, y) = (element / side, element % side);
                exceptions.push(Exception { matrix: number as u32, x, y, value: *value });
            }
        }
    }
    let count = lengths.len() as f64;
    let summary =
        |(of, sum): (&Vec<u32>, &f64)| ClusterSummary { pairs: of.len(), mean: sum / count / of.len() as f64 };
    let summaries: Vec<ClusterSummary> = members.iter().zip(&sums).map(summary).collect();
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|a, b| summaries[*a].mean.total_cmp(&summaries[*b].mean));
    let mut place = vec![0; order.len()];
    (0..).zip(&order).for_each(|(new, old): (u32, _)| place[*old] = new);
    let range = LengthRange {
        first,
        matrices: lengths.len(),
        labels: clusters.iter().map(|label| place[*label as usize]).collect(),
        values: order.iter().map(|old| std::mem::take(&mut values[*old])).collect(),
        clusters: order.iter().map(|old| summaries[*old]).collect(),
        exceptions,
    };
    Ok((range, deviations))
}
