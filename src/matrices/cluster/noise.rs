//! Merging of clusters of rank pairs that differ only by noise.
//!
//! Steps 1 to 5 of the clustering ignore noise. If the values of similar pairs vary by more than the precision, similar
//! pairs fall into many clusters. The matrices of a partition (one per message length) are repeated measurements of
//! each rank pair. The ratio of a pair's value to its cluster's value changes smoothly with the length, except for the
//! noise that remains in the statistic of one element's samples. The mean of the ratio over m lengths has a standard
//! error of noise / √m. Clusters are merged if noise explains the difference between their mean ratios.

/// Variance of the logarithm of one measured time due to noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise(f64);

/// Least variance that is taken for noise; smaller variances are rounding errors.
const LEAST_VARIANCE: f64 = 1e-12;

/// Sums over the time matrices of a partition, which are read one after the other.
pub(super) struct Deviations {
    matrices: usize,
    elements: Vec<ElementDeviations>,
    /// Logarithm of each cluster's value in each time matrix.
    logarithms: Vec<Vec<f64>>,
}

/// Differences between the logarithm of a matrix element and the logarithm of its cluster's value. Message costs are
/// linear in the message length, so second differences consist of noise.
#[derive(Clone, Copy, Default)]
struct ElementDeviations {
    /// Differences of a matrix element from its cluster in the last two matrices, the latest first.
    last: [f64; 2],
    /// Sum of squared second differences of a matrix element, relative to the cluster's value.
    squares: f64,
}

impl Deviations {
    /// Creates sums for `elements` matrix elements in `clusters` clusters.
    pub(super) fn new(elements: usize, clusters: usize) -> Deviations {
        let elements = vec![ElementDeviations::default(); elements];
        Deviations { matrices: 0, elements, logarithms: vec![Vec::new(); clusters] }
    }

    /// Adds a time matrix to the sums. The iterator `values` yields the value of each cluster in the matrix.
    pub(super) fn add(&mut self, matrix: &[f64], labels: &[u32], values: impl Iterator<Item = f64>) {
        let values: Vec<f64> = values.collect();
        for (element, (value, label)) in self.elements.iter_mut().zip(matrix.iter().zip(labels)) {
            let of_cluster = values[*label as usize];
            let deviation = value - of_cluster;
            if self.matrices >= 2 {
                let [latest, before] = element.last;
                element.squares += ((deviation - 2.0 * latest + before) / of_cluster).powi(2);
            }
            element.last = [deviation, element.last[0]];
        }
        self.matrices += 1;
        self.logarithms.iter_mut().zip(values).for_each(|(of_cluster, value)| of_cluster.push(value.ln()));
    }

    /// Returns the noise of the matrix elements `elements`: the median of their variances. Returns `None` if the matrix
    /// elements have no noise, or the partition has fewer than three matrices.
    fn noise<'a>(&self, elements: impl Iterator<Item = &'a u32>) -> Option<Noise> {
        let differences = self.matrices.checked_sub(2).filter(|differences| *differences > 0)? as f64;
        let squares = elements.map(|element| self.elements[*element as usize].squares);
        let mut squares: Vec<f64> = squares.filter(|squares| squares.is_finite()).collect();
        if squares.is_empty() {
            return None;
        }
        let middle = squares.len() / 2;
        let median = *squares.select_nth_unstable_by(middle, f64::total_cmp).1;
        // For independent values, a second difference has six times the variance of a value. The covariances of
        // neighbouring second differences are -4 and 1 times the variance of a value. The sum of squared second
        // differences is approximately chi-squared with k degrees of freedom (Satterthwaite 1946). The median of a
        // chi-squared variable is (1 - 2 / 9k)^3 of its mean (Wilson and Hilferty 1931).
        let covariances = 36.0 * differences + 32.0 * (differences - 1.0) + 2.0 * (differences - 2.0).max(0.0);
        let freedom = 36.0 * differences * differences / covariances;
        let variance = median / (6.0 * differences) / (1.0 - 2.0 / (9.0 * freedom)).powi(3);
        (variance > LEAST_VARIANCE).then_some(Noise(variance))
    }

    /// Returns the noise of the matrix elements in all clusters of more than one element, as one value.
    pub(super) fn common_noise(&self, members: &[Vec<u32>]) -> Option<Noise> {
        self.noise(members.iter().filter(|of_cluster| of_cluster.len() > 1).flatten())
    }

    /// Returns, for each cluster, the index of the cluster with which it is merged. For a cluster that is not merged,
    /// the function returns the cluster's own index. `members` contains the elements of each cluster. Clusters with
    /// fewer elements than `small` use the noise `common`.
    ///
    /// The merging processes clusters of rank pairs from large to small. A cluster joins the nearest of the preceding
    /// unmerged clusters, if noise explains the distance between the two clusters.
    pub(super) fn merged(&self, members: &[Vec<u32>], small: usize, common: Option<Noise>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|cluster| std::cmp::Reverse(members[*cluster].len()));
        let mut target: Vec<usize> = (0..members.len()).collect();
        let mut stay: Vec<(usize, Noise)> = Vec::new();
        for cluster in order {
            let near = stay.iter().filter_map(|(other, noise)| Some((self.distance(cluster, *other, *noise)?, *other)));
            if let Some((_, nearest)) = near.min_by(|one, other| one.0.total_cmp(&other.0)) {
                target[cluster] = nearest;
                continue;
            }
            let is_own = members[cluster].len() >= small && self.matrices > 2;
            let noise = if is_own { self.noise(members[cluster].iter()) } else { common };
            stay.extend(noise.map(|noise| (cluster, noise)));
        }
        target
    }

    /// Returns the distance between the mean ratios of two clusters if noise explains the distance.
    ///
    /// The furthest of n rank pairs in a cluster is expected √(2 ln n) standard errors from the mean. The code compares
    /// the sum of squared distances over message lengths with the bound of Laurent and Massart (2000).
    fn distance(&self, one: usize, other: usize, Noise(variance): Noise) -> Option<f64> {
        let matrices = self.matrices as f64;
        let tail = (self.elements.len() as f64).ln();
        let apart = || self.logarithms[one].iter().zip(&self.logarithms[other]).map(|(one, other)| one - other);
        let mean = apart().sum::<f64>().abs() / matrices;
        let squares: f64 = apart().map(|apart| apart * apart).sum();
        let most_squares = matrices + 2.0 * (matrices * tail).sqrt() + 2.0 * tail;
        let is_near = mean * mean <= 2.0 * tail * variance / matrices;
        (is_near && squares <= most_squares * variance).then_some(mean)
    }
}
