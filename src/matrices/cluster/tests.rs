//! Tests of the whole clustering of rank pairs: an example computed by hand, matrices of known structure, and access to
//! stored files.

use std::io::Cursor;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::tests::SharedCursor;
use crate::{Compressed, CompressedWriter, Matrices, PairTest, Parameters, Statistic};

/// Creates time matrices with the elements `values` for messages of 0, 1, … bytes.
fn matrices(ranks: u32, values: &[Vec<f64>]) -> Matrices {
    let end = values.len() as u32;
    let test = PairTest::OneToOne;
    let parameters = Parameters {
        ranks,
        test,
        begin: 0,
        end,
        step: 1,
        repeats: 1,
        noise_bytes: 0,
        noise_messages: 0,
        noise_ranks: 0,
    };
    Matrices::of(parameters, Statistic::Median, values.concat()).unwrap()
}

fn clustered(matrices: &mut Matrices, options: &ClusterOptions) -> Vec<LengthRange> {
    let mut found = Vec::new();
    cluster(matrices, options, &mut |partition| {
        found.push(partition);
        Ok(())
    })
    .unwrap();
    found
}

/// Creates the time matrices of the example computed by hand. Ranks 0 and 1 are near each other, and so are ranks 2 and
/// 3. The following times are in microseconds:
///
/// ```text
/// 0 B              1 B              2 B              3 B
/// 0  1  4  4       0  1  4  5       0  1  5  5       0  2  5  5
/// 1  0  4  4.1     1  0  4  4       1  0  5  5       2  0  5  5
/// 4  4  0  1       4  4  0  1       5  5  0  1       5  5  0  2
/// 4  4  1.2 0      4  4  1  0       5  5  1  0       5  5  2  0
/// ```
fn by_hand() -> Matrices {
    let rows: [[f64; 16]; 4] = [
        [0.0, 1.0, 4.0, 4.0, 1.0, 0.0, 4.0, 4.1, 4.0, 4.0, 0.0, 1.0, 4.0, 4.0, 1.2, 0.0],
        [0.0, 1.0, 4.0, 5.0, 1.0, 0.0, 4.0, 4.0, 4.0, 4.0, 0.0, 1.0, 4.0, 4.0, 1.0, 0.0],
        [0.0, 1.0, 5.0, 5.0, 1.0, 0.0, 5.0, 5.0, 5.0, 5.0, 0.0, 1.0, 5.0, 5.0, 1.0, 0.0],
        [0.0, 2.0, 5.0, 5.0, 2.0, 0.0, 5.0, 5.0, 5.0, 5.0, 0.0, 2.0, 5.0, 5.0, 2.0, 0.0],
    ];
    matrices(4, &rows.map(|row| row.map(|value| value * 1e-6).to_vec()))
}

const LEVELS: [u32; 16] = [0, 1, 2, 2, 1, 0, 2, 2, 2, 2, 0, 1, 2, 2, 1, 0];

#[test]
fn four_ranks_are_clustered_as_by_hand() {
    let options = ClusterOptions { precision: Precision::Seconds(0.5e-6), first: 3, further: 1, drop: 0.1 };
    // Steps 1 and 2. The first range of each matrix is the diagonal, four values of 0; the value 1 is too far from 0.
    // The second range has four pairs of ranks with values from 1 to 1.5. The third range extends to 4.5, and the value
    // 5 in the second matrix forms its own range.
    assert_eq!(ranges(&by_hand().matrix(0).unwrap(), 4, options.precision), LEVELS);
    let mut second = LEVELS;
    second[3] = 3;
    assert_eq!(ranges(&by_hand().matrix(1).unwrap(), 4, options.precision), second);
    // Steps 3 and 4: the greatest intersections have 4, 4 and 7 elements. Element (0, 3) is in two of the three ranges
    // of the third intersection, so step 4 adds the element. In step 5, all elements of each preliminary cluster are in
    // one range of the fourth matrix. The absolute times may differ between the matrices.
    let found = clustered(&mut by_hand(), &options);
    assert_eq!(found.len(), 1);
    let partition = &found[0];
    assert_eq!((partition.first, partition.matrices, &partition.labels[..]), (0, 4, &LEVELS[..]));
    assert_eq!(partition.clusters.iter().map(|of| of.pairs).collect::<Vec<_>>(), [4, 4, 8]);
    assert_eq!(
        partition.values,
        [vec![0.0; 4], vec![1e-6, 1e-6, 1e-6, 2e-6], vec![4e-6, 4e-6, 5.0 * 1e-6, 5.0 * 1e-6]]
    );
    // Only element (0, 3) at 1 B differs from the value of its cluster by more than the precision.
    assert_eq!(partition.exceptions.len(), 1);
    let exception = partition.exceptions[0];
    assert_eq!((exception.matrix, exception.x, exception.y, exception.value), (1, 0, 3, 5.0 * 1e-6));
}

#[test]
fn a_partition_ends_where_clusters_do() {
    // In the first two matrices ranks 0 and 1 are near each other. In the last two matrices all pairs of ranks are
    // similar except those with rank 3.
    let near = [0.0, 1.0, 4.0, 4.0, 1.0, 0.0, 4.0, 4.0, 4.0, 4.0, 0.0, 4.0, 4.0, 4.0, 4.0, 0.0].to_vec();
    let other = [0.0, 4.0, 4.0, 9.0, 4.0, 0.0, 4.0, 9.0, 4.0, 4.0, 0.0, 9.0, 9.0, 9.0, 9.0, 0.0].to_vec();
    let mut of = matrices(4, &[near.clone(), near, other.clone(), other]);
    let options = ClusterOptions { first: 2, further: 2, ..ClusterOptions::default() };
    let found = clustered(&mut of, &options);
    let shapes: Vec<(usize, usize, usize)> =
        found.iter().map(|of| (of.first, of.matrices, of.clusters.len())).collect();
    assert_eq!(shapes, [(0, 2, 3), (2, 2, 3)]);
    assert_eq!(found[1].labels[..4], [0, 1, 1, 2]);
}

/// Creates time matrices of a machine whose pairs of ranks have the kinds that `kind` returns. A message between a pair
/// of kind 0 takes no time. A message between a pair of kind k takes k times 2 µs, plus k times 0.1 µs per index of the
/// message length. Every matrix element is the median of 100 samples.
fn of_kinds(ranks: u32, lengths: usize, sigma: f64, seed: u64, kind: impl Fn(u32, u32) -> u32) -> (Matrices, Vec<u32>) {
    repeated(100.0, ranks, lengths, sigma, seed, kind)
}

fn repeated(
    repeats: f64,
    ranks: u32,
    lengths: usize,
    sigma: f64,
    seed: u64,
    kind: impl Fn(u32, u32) -> u32,
) -> (Matrices, Vec<u32>) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    // The standard deviation of the median of n samples is 1.2533 / √n of the samples' deviation.
    let noise = LogNormal::new(0.0, sigma * 1.2533 / repeats.sqrt()).unwrap();
    let kinds: Vec<u32> = (0..ranks * ranks).map(|pair| kind(pair / ranks, pair % ranks)).collect();
    let mut values = Vec::new();
    for length in 0..lengths {
        let time = |kind: &u32| if *kind == 0 { 0.0 } else { f64::from(*kind) * (2e-6 + length as f64 * 1e-7) };
        values.push(kinds.iter().map(|kind| time(kind) * noise.sample(&mut random)).collect());
    }
    (matrices(ranks, &values), kinds)
}

fn levels(x: u32, y: u32) -> u32 {
    match (x == y, x / 4 == y / 4, x / 8 == y / 8) {
        (true, ..) => 0,
        (_, true, _) => 1,
        (.., true) => 2,
        _ => 3,
    }
}

#[test]
fn the_levels_of_a_cluster_are_found_exactly_without_noise_and_nearly_with_it() {
    for (sigma, least) in [(0.0, 1.0), (0.05, 0.98), (0.2, 0.9)] {
        for seed in 1..4 {
            let (mut of, kinds) = of_kinds(128, 19, sigma, seed, levels);
            for partition in clustered(&mut of, &ClusterOptions::default()) {
                let found = agreement(&partition.labels, &kinds);
                assert!(found.share >= least, "{sigma}: {found:?} in {} clusters", partition.clusters.len());
                assert!(found.rand_index >= least, "{sigma}: {found:?}");
                assert!(sigma > 0.0 || partition.clusters.len() == 4);
            }
        }
    }
}

#[test]
fn clusters_that_only_noise_divides_are_one() {
    // With 19 message lengths the last portion of the clustering has four lengths. With 17 message lengths the last
    // portion has two lengths, from which no noise can be computed.
    for (repeats, lengths, seed) in [(3.0, 19, 1), (10.0, 19, 2), (10.0, 17, 3), (30.0, 19, 4)] {
        let (mut of, kinds) = repeated(repeats, 128, lengths, 0.2, seed, levels);
        for partition in clustered(&mut of, &ClusterOptions::default()) {
            let found = agreement(&partition.labels, &kinds);
            let clusters = partition.clusters.len();
            assert!(clusters <= 32 && found.share >= 0.98, "{repeats} {lengths}: {found:?} in {clusters}");
        }
    }
}

/// Creates matrices without noise for a ring of 64 ranks, in which the kind of a pair is the distance of its ranks, 0
/// to 32. Each kind has a greater latency than the previous kind. `per_byte` returns the seconds per byte, and messages
/// of 10 and more length steps take longer.
fn ring_without_noise(start: f64, per_byte: impl Fn(u32) -> f64) -> Matrices {
    let kind = |pair: u32| (pair / 64).abs_diff(pair % 64).min(64 - (pair / 64).abs_diff(pair % 64));
    let time = |kind: u32, length: u32| {
        let threshold = if length >= 10 { 0.5 } else { 0.0 };
        if kind == 0 { 0.0 } else { 1.0 + start * f64::from(kind) + threshold + per_byte(kind) * f64::from(length) }
    };
    let values: Vec<Vec<f64>> =
        (0..19).map(|length| (0..64 * 64).map(|pair| time(kind(pair), length) * 1e-6).collect()).collect();
    matrices(64, &values)
}

#[test]
fn without_noise_nothing_merges() {
    for start in [0.01, 0.03, 0.1, 0.3] {
        for slope in [0.0, 0.001, 0.01, 0.05] {
            let mut of = ring_without_noise(start, |kind| 0.02 + slope * f64::from((kind * 7) % 33));
            let options = ClusterOptions::default();
            let labels: Vec<Vec<u32>> =
                (0..5).map(|number| ranges(&of.matrix(number).unwrap(), 64, options.precision)).collect();
            let preliminary = steps::preliminary(&labels);
            let found = clustered(&mut of, &ClusterOptions { further: 1, drop: 0.0, ..options });
            let expected = steps::by_label(&preliminary).len();
            assert!(found[0].clusters.len() >= expected, "{start} {slope}: {} {expected}", found[0].clusters.len());
        }
    }
}

#[test]
fn rings_tori_and_trees_are_found() {
    let ring = |x: u32, y: u32| {
        let apart = x.abs_diff(y);
        apart.min(64 - apart)
    };
    let torus = |x: u32, y: u32| {
        let along = |a: u32, b: u32| a.abs_diff(b).min(8 - a.abs_diff(b));
        along(x / 8, y / 8) + along(x % 8, y % 8)
    };
    let tree = |x: u32, y: u32| match (x == y, x / 4 == y / 4, x / 16 == y / 16) {
        (true, ..) => 0,
        (_, true, _) => 1,
        (.., true) => 2,
        _ => 4,
    };
    // The message times of neighbouring distances in the ring differ by a thirtieth.
    let options = ClusterOptions { precision: Precision::Seconds(1e-6), ..ClusterOptions::default() };
    type Kind<'a> = (&'a str, &'a dyn Fn(u32, u32) -> u32, usize);
    let kinds: [Kind<'_>; 3] = [("ring", &ring, 33), ("torus", &torus, 9), ("tree", &tree, 4)];
    for (name, kind, count) in kinds {
        let (mut of, truth) = of_kinds(64, 9, 0.0, 1, kind);
        let found = clustered(&mut of, &options);
        assert_eq!((found.len(), found[0].clusters.len()), (1, count), "{name}");
        assert_eq!(agreement(&found[0].labels, &truth), Agreement { rand_index: 1.0, share: 1.0 }, "{name}");
    }
}

#[test]
fn options_that_cannot_be_are_refused() {
    let error = |options: ClusterOptions| cluster(&mut by_hand(), &options, &mut |_| Ok(())).unwrap_err().to_string();
    let options = ClusterOptions::default();
    let none = ClusterOptions { precision: Precision::Seconds(0.0), ..options };
    assert_eq!(error(none), "precision: expected more than 0; found 0");
    let none = ClusterOptions { first: 0, ..options };
    assert_eq!(error(none), "matrices of a portion: expected 1 or more; found 0");
    let all = ClusterOptions { drop: 1.0, ..options };
    assert_eq!(error(all), "share that may drop out: expected 0 to below 1; found 1");
}

/// Clusters the matrices `of`, writes the compressed pair of files, and reads the pair of files again.
fn stored(of: &mut Matrices, options: &ClusterOptions) -> (Compressed, usize) {
    let (parameters, statistic) = (of.parameters, of.statistic);
    let mut writer = CompressedWriter::new(parameters, statistic, SharedCursor::default());
    cluster(of, options, &mut |found| writer.partition(found.first, &found.labels, &found.values, found.exceptions))
        .unwrap();
    let files = [SharedCursor::default(), SharedCursor::default()];
    writer.finish(Box::new(files[0].clone()), Box::new(files[1].clone())).unwrap();
    let contents = files.map(|file| file.content());
    let size = contents.iter().map(Vec::len).sum();
    let [info, data] = contents.map(|content| Box::new(Cursor::new(content)));
    (Compressed::open(info, data).unwrap(), size)
}

#[test]
fn files_of_a_machine_without_noise_are_ten_times_smaller() {
    let (mut of, _) = of_kinds(128, 19, 0.0, 1, levels);
    let (mut read, size) = stored(&mut of, &ClusterOptions::default());
    let whole = 128 * 128 * 19 * 8;
    assert!(size * 10 < whole, "{size} of {whole}");
    assert_eq!(read.counts(), (1, 4 * 19, 0));
    assert_eq!(read.matrix(18).unwrap(), of.matrix(18).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn each_element_is_within_the_precision_or_an_exception(
        ranks in 2u32..9, lengths in 1usize..13, seed: u64, sigma in 0.0..4.0f64, wide in 0.001..1.0f64, absolute: bool,
        first in 1usize..6, further in 1usize..5, drop in 0.0..0.5f64,
    ) {
        let (mut of, _) = of_kinds(ranks, lengths, sigma, seed, |x, y| (x ^ y).min(3));
        let precision = if absolute { Precision::Seconds(wide * 1e-5) } else { Precision::Share(wide) };
        let options = ClusterOptions { precision, first, further, drop };
        let found = clustered(&mut of, &options);
        // The partitions of the clustering cover contiguous ranges of message lengths.
        let mut next = 0;
        for partition in &found {
            prop_assert_eq!(partition.first, next);
            next += partition.matrices;
        }
        prop_assert_eq!(next, lengths);
        let (mut read, _) = stored(&mut of, &options);
        for matrix in 0..lengths {
            let (whole, again) = (of.matrix(matrix).unwrap(), read.matrix(matrix).unwrap());
            for (element, (value, stands)) in whole.iter().zip(&again).enumerate() {
                prop_assert!(precision.allows(*stands, *value), "{} for {} of {} in {}", stands, value, element, matrix);
                let (x, y) = (element as u32 / ranks, element as u32 % ranks);
                prop_assert_eq!(read.at(x, y, matrix as u64).unwrap(), *stands);
                // A matrix element that is not an exception has the value of its cluster.
                let partition = found.iter().rfind(|of| of.first <= matrix).unwrap();
                let listed = partition.exceptions.iter().find(|of| (of.matrix, of.x, of.y) == (matrix as u32, x, y));
                let expected = listed.map_or_else(
                    || partition.values[partition.labels[element] as usize][matrix - partition.first],
                    |exception| exception.value,
                );
                prop_assert_eq!(*stands, expected);
            }
        }
    }
}
