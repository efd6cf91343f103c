//! Steps 3, 4 and 5 of the clustering: clusters of elements (pairs of ranks) over several matrices, from the ranges of
//! similar times in each matrix.
//!
//! For each range C₁ of similar times in the first matrix, step 3 of the clustering needs the greatest intersection C₁
//! ∩ C₂ ∩ … ∩ C_m with ranges of the other matrices. A search over all combinations is not needed: each element has a
//! tuple of ranges, and the most frequent tuple is the greatest intersection. Step 4 extends the greatest intersection
//! by the elements that are in at least m − 1 of the m ranges of the intersection.

use rustc_hash::FxHashMap;

/// Label of a matrix element without a cluster.
const NONE: u32 = u32::MAX;

/// Numbers the distinct tuples of ranges in the order of matrix elements. `labels` contains the range of each element,
/// one list per matrix.
fn tuples(labels: &[&[u32]]) -> (Vec<u32>, usize) {
    let mut numbers: Vec<u32> = vec![0; labels[0].len()];
    let mut count = 1;
    for of_matrix in labels {
        let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        for (number, label) in numbers.iter_mut().zip(*of_matrix) {
            let next = known.len() as u32;
            *number = *known.entry((*number, *label)).or_insert(next);
        }
        count = known.len();
    }
    (numbers, count)
}

/// Returns, for each cluster of `first`, the cluster's greatest intersection with one range of each matrix of
/// `further`. An intersection is returned as one of its elements and its number of elements. Matrix elements without a
/// cluster are ignored.
fn greatest(first: &[u32], further: &[&[u32]]) -> Vec<Option<(u32, u32)>> {
    let (numbers, count) = tuples(&[&[first], further].concat());
    let mut sizes = vec![(NONE, 0u32); count];
    for (element, number) in (0..).zip(&numbers) {
        let (representative, size) = &mut sizes[*number as usize];
        *representative = element.min(*representative);
        *size += 1;
    }
    let clusters = first.iter().filter(|label| **label != NONE).max().map_or(0, |most| *most as usize + 1);
    let mut found: Vec<Option<(u32, u32)>> = vec![None; clusters];
    for (representative, size) in sizes {
        let Some(best) = found.get_mut(first[representative as usize] as usize) else { continue };
        // Among intersections of equal size the first intersection is chosen.
        if best.is_none_or(|(_, most)| size > most) {
            *best = Some((representative, size));
        }
    }
    found
}

/// Returns the number of matrices in `labels` in which the two elements are in one range.
fn shared(labels: &[&[u32]], one: u32, other: u32) -> usize {
    labels.iter().filter(|of| of[one as usize] == of[other as usize]).count()
}

/// Returns the number of ranges of an intersection in which an element may be absent. For two ranges or fewer this
/// number is 0, because elements that agree in only one range may differ.
fn missing_allowed(ranges: usize) -> usize {
    usize::from(ranges > 2)
}

/// Steps 3 and 4 of the clustering: returns the preliminary clusters from one list of ranges per matrix.
///
/// Large intersections are extended before small ones, so a range of one value does not take elements that belong to a
/// large intersection. Steps 3 and 4 of the clustering are repeated for the remaining matrix elements until each
/// element is in a cluster.
pub(super) fn preliminary(labels: &[Vec<u32>]) -> Vec<u32> {
    let elements = labels[0].len();
    let all: Vec<&[u32]> = labels.iter().map(Vec::as_slice).collect();
    let mut members: Vec<Vec<Vec<u32>>> = all.iter().map(|of| by_label(of)).collect();
    let needed = all.len() - missing_allowed(all.len());
    let mut clusters = vec![NONE; elements];
    let (mut next, mut left) = (0, elements);
    while left > 0 {
        let open: Vec<u32> = all[0].iter().zip(&clusters).map(|(l, c)| if *c == NONE { *l } else { NONE }).collect();
        let mut found: Vec<(u32, u32)> = greatest(&open, &all[1..]).into_iter().flatten().collect();
        found.sort_by_key(|(representative, size)| (std::cmp::Reverse(*size), all[0][*representative as usize]));
        for (representative, _) in found {
            if clusters[representative as usize] != NONE {
                continue;
            }
            // An element that is absent from at most one range is in at least one of any two ranges, so the code
            // searches only the two ranges with the fewest elements.
            let mut order: Vec<usize> = (0..all.len()).collect();
            let of = |matrix: usize| all[matrix][representative as usize] as usize;
            order.sort_by_key(|matrix| members[*matrix][of(*matrix)].len());
            for matrix in order.into_iter().take(1 + missing_allowed(all.len())) {
                let list = &mut members[matrix][of(matrix)];
                list.retain(|element| clusters[*element as usize] == NONE);
                for element in list.iter() {
                    if shared(&all, representative, *element) >= needed {
                        clusters[*element as usize] = next;
                        left -= 1;
                    }
                }
            }
            next += 1;
        }
    }
    clusters
}

/// Returns the matrix elements of each cluster label.
pub(super) fn by_label(labels: &[u32]) -> Vec<Vec<u32>> {
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); labels.iter().max().map_or(0, |most| *most as usize + 1)];
    for (element, label) in (0..).zip(labels) {
        found[*label as usize].push(element);
    }
    found
}

/// Step 5 of the clustering: returns the clusters extended over a further portion of matrices, or `None` if the
/// clusters end before the portion.
///
/// The greatest intersection of a cluster with the ranges of the portion of matrices is extended as in step 4. A
/// cluster is prolonged if at most the fraction `drop` of its elements is outside the greatest intersection. The
/// elements outside the intersection form new clusters by their ranges. A cluster that has fewer elements than `small`
/// and cannot be prolonged is divided into such new clusters. If a larger cluster cannot be prolonged, all clusters
/// end, because the files store one range of message lengths for all clusters. All clusters also end if more than the
/// fraction `drop` of all elements is outside the intersections.
pub(super) fn prolonged(clusters: &[u32], portion: &[Vec<u32>], drop: f64, small: usize) -> Option<Vec<u32>> {
    let portion: Vec<&[u32]> = portion.iter().map(Vec::as_slice).collect();
    let needed = portion.len() - missing_allowed(portion.len() + 1);
    let best = greatest(clusters, &portion);
    let members = by_label(clusters);
    let mut stays = vec![true; clusters.len()];
    let mut lost = 0;
    for (of_cluster, best) in members.iter().zip(best) {
        let Some((representative, _)) = best else { continue };
        let outside = |element: &&u32| shared(&portion, representative, **element) < needed;
        let dropped = of_cluster.iter().filter(outside).count();
        if dropped as f64 > drop * of_cluster.len() as f64 {
            if of_cluster.len() >= small {
                return None;
            }
            of_cluster.iter().for_each(|element| stays[*element as usize] = false);
            lost += of_cluster.len();
        } else {
            of_cluster.iter().filter(outside).for_each(|element| stays[*element as usize] = false);
            lost += dropped;
        }
    }
    if lost as f64 > drop * clusters.len() as f64 {
        return None;
    }
    // Matrix elements that remain in a cluster keep the number of the cluster. The other elements get numbers that
    // depend on their cluster and their ranges.
    let (numbers, _) = tuples(&[&[clusters], &portion[..]].concat());
    let mut known: FxHashMap<(bool, u32), u32> = FxHashMap::default();
    let each = |element: usize| {
        let key = if stays[element] { (true, clusters[element]) } else { (false, numbers[element]) };
        let next = known.len() as u32;
        *known.entry(key).or_insert(next)
    };
    Some((0..clusters.len()).map(each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_intersection_is_the_one_that_trying_all_finds() {
        let first = [0, 0, 0, 0, 0, 1, 1, 1];
        let second: &[u32] = &[0, 0, 1, 1, 1, 1, 2, 2];
        let third: &[u32] = &[0, 0, 0, 1, 1, 1, 1, 1];
        // Cluster 0 has the elements {0, 1}, {2} and {3, 4} in different ranges; the first of the two largest sets is
        // chosen. Cluster 1 is divided into {5} and {6, 7}.
        assert_eq!(greatest(&first, &[second, third]), [Some((0, 2)), Some((6, 2))]);
    }

    #[test]
    fn an_element_that_misses_one_of_three_ranges_is_taken_in() {
        let labels = [vec![0, 0, 0, 1, 1], vec![0, 0, 1, 1, 1], vec![0, 0, 0, 1, 2]];
        // {0, 1} is the greatest intersection of range 0, and element 2 is in two of its three ranges. Elements 3 and 4
        // are together in two of three ranges.
        assert_eq!(preliminary(&labels), [0, 0, 0, 1, 1]);
        // With two matrices, an element must be in the intersection's ranges of both matrices.
        assert_eq!(preliminary(&labels[..2]), [0, 0, 2, 1, 1]);
        assert_eq!(preliminary(&labels[..1]), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_cluster_is_prolonged_while_few_drop_out() {
        let clusters = [0, 0, 0, 0, 1, 1, 1, 1];
        let portion = [vec![0, 0, 0, 1, 2, 2, 2, 2], vec![0, 0, 0, 1, 2, 2, 2, 2]];
        // A quarter of the first cluster's elements drop out of the cluster, an eighth of all elements.
        assert_eq!(prolonged(&clusters, &portion, 0.25, 1), Some(vec![0, 0, 0, 1, 2, 2, 2, 2]));
        assert_eq!(prolonged(&clusters, &portion, 0.2, 1), None);
        // A small cluster is divided instead, if the elements that drop out do not exceed the fraction `drop` of all
        // elements.
        assert_eq!(prolonged(&clusters, &portion, 0.2, 5), None);
        // An element agrees with its cluster in one of two ranges, which is sufficient.
        let portion = [vec![0, 0, 0, 1, 2, 2, 2, 2], vec![0, 0, 0, 0, 2, 2, 2, 2]];
        assert_eq!(prolonged(&clusters, &portion, 0.0, 1), Some(clusters.to_vec()));
    }
}
