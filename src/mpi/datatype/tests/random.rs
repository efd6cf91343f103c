//! Compares randomly nested datatypes with the naive type map.

use proptest::collection::vec;
use proptest::prelude::*;

use super::naive::{Map, Recipe};
use crate::datatype::{Datatype, Type};

fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = (0usize..80).prop_map(Recipe::Named);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let old = || inner.clone().prop_map(Box::new);
        let dimension = (1i64..5).prop_flat_map(|size| {
            (Just(size), 1..=size).prop_flat_map(|(size, sub)| (Just(size), Just(sub), 0..=size - sub))
        });
        prop_oneof![
            (0i64..4, old()).prop_map(|(n, old)| Recipe::Contiguous(n, old)),
            (0i64..4, 0i64..4, -4i64..5, old()).prop_map(|(n, l, s, old)| Recipe::Vector(n, l, s, old)),
            (0i64..12, 1i64..3, -40isize..41, old()).prop_map(|(n, l, s, old)| Recipe::Hvector(n, l, s, old)),
            (vec((0i64..3, -6i64..7), 0..5), old()).prop_map(|(b, old)| Recipe::Indexed(b, old)),
            (vec((0i64..3, -60isize..61), 0..5), old()).prop_map(|(b, old)| Recipe::Hindexed(b, old)),
            (0i64..3, vec(-6i64..7, 0..5), old()).prop_map(|(n, b, old)| Recipe::IndexedBlock(n, b, old)),
            (0i64..3, vec(-60isize..61, 0..5), old()).prop_map(|(n, b, old)| Recipe::HindexedBlock(n, b, old)),
            vec((0i64..3, -60isize..61, inner.clone()), 0..4).prop_map(Recipe::Struct),
            (-20isize..21, -40isize..60, old()).prop_map(|(lb, e, old)| Recipe::Resized(lb, e, old)),
            (vec(dimension, 1..4), any::<bool>(), old()).prop_map(|(d, f, old)| Recipe::Subarray(d, f, old)),
            old().prop_map(Recipe::Dup),
        ]
    })
    .prop_filter("type maps that can be spelled out", |recipe| entries(recipe) < 3000)
}

/// Upper bound of the number of elements in the recipe's type map.
fn entries(recipe: &Recipe) -> i64 {
    match recipe {
        Recipe::Named(_) => 1,
        Recipe::Contiguous(n, old) => n * entries(old),
        Recipe::Vector(n, l, _, old) | Recipe::Hvector(n, l, _, old) => n * l * entries(old),
        Recipe::Indexed(blocks, old) => blocks.iter().map(|b| b.0).sum::<i64>() * entries(old),
        Recipe::Hindexed(blocks, old) => blocks.iter().map(|b| b.0).sum::<i64>() * entries(old),
        Recipe::IndexedBlock(n, blocks, old) => n * blocks.len() as i64 * entries(old),
        Recipe::HindexedBlock(n, blocks, old) => n * blocks.len() as i64 * entries(old),
        Recipe::Struct(fields) => fields.iter().map(|(n, _, field)| n * entries(field)).sum(),
        Recipe::Subarray(dimensions, _, old) => dimensions.iter().map(|d| d.1).product::<i64>() * entries(old),
        Recipe::Resized(.., old) | Recipe::Dup(old) => entries(old),
    }
}

/// Returns a buffer that covers all displacements, and the buffer index of displacement 0. Neighbouring bytes of the
/// buffer are distinct.
fn memory(places: &[i64]) -> (Vec<u8>, i64) {
    let low = places.iter().copied().min().unwrap_or(0).min(0) - 32;
    let high = places.iter().copied().max().unwrap_or(0).max(0) + 32;
    ((0..high - low).map(|i| (i * 37 + i / 251) as u8).collect(), -low)
}

fn distinct(places: &[i64]) -> bool {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

fn pack(ty: &Type, memory: &[u8], origin: i64, count: usize, range: std::ops::Range<usize>) -> Vec<u8> {
    let mut out = vec![0xaa];
    // SAFETY: the buffer covers all displacements of the items.
    unsafe { ty.pack_range(memory.as_ptr().offset(origin as isize), count, range, &mut out) };
    assert_eq!(out.remove(0), 0xaa);
    out
}

fn at(memory: &[u8], origin: i64, places: &[i64]) -> Vec<u8> {
    places.iter().map(|place| memory[(origin + place) as usize]).collect()
}

/// Unpacks data into a new buffer and compares every byte of the buffer.
fn check_unpack(ty: &Type, count: usize, places: &[i64], from: usize, data: &[u8]) {
    let (mut found, origin) = memory(places);
    let mut expected = found.clone();
    places.iter().skip(from).zip(data).for_each(|(place, &byte)| expected[(origin + place) as usize] = byte);
    // SAFETY: the buffer covers all displacements of the items.
    let taken = unsafe { ty.unpack_range(found.as_mut_ptr().offset(origin as isize), count, from, data) };
    assert_eq!(taken, data.len().min(places.len().saturating_sub(from)));
    assert_eq!(found, expected);
}

fn check_elements(ty: &Type, map: &Map, cut: usize) {
    let total: u64 = map.entries.iter().map(|(kind, _)| kind.basics()).sum();
    assert_eq!(ty.elements(), total);
    let (mut bytes, mut elements, mut ends) = (0, 0, vec![(0usize, 0u64)]);
    for (kind, _) in &map.entries {
        if kind.basics() == 2 {
            ends.push((bytes + kind.scalar.size(), elements + 1));
        }
        bytes += kind.size();
        elements += kind.basics();
        ends.push((bytes, elements));
    }
    if bytes > 0 {
        let cut = cut % (2 * bytes);
        let (items, rest) = (cut / bytes, cut % bytes);
        let expected = ends.iter().find(|end| end.0 == rest).map(|end| end.1 + items as u64 * total);
        assert_eq!(ty.elements_in(cut), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 5 } else { 1500 }, ..ProptestConfig::default() })]

    #[test]
    fn a_datatype_is_its_type_map(recipe in recipe(), count in 0usize..5, a in 0usize..10_000, b in 0usize..10_000) {
        let (ty, map) = recipe.make();
        prop_assert_eq!(ty.size(), map.size());
        prop_assert_eq!((ty.lb(), ty.ub()), map.bounds());
        let (true_lb, true_ub) = map.true_bounds();
        prop_assert_eq!((ty.true_lb(), ty.true_extent()), (true_lb, true_ub - true_lb));
        check_elements(&ty, &map, a);

        let places = map.bytes(count);
        let (memory, origin) = memory(&places);
        let expected = at(&memory, origin, &places);
        prop_assert_eq!(&pack(&ty, &memory, origin, count, 0..places.len()), &expected);
        let (from, until) = (a % (places.len() + 1), b % (places.len() + 1));
        let range = from.min(until)..from.max(until);
        prop_assert_eq!(&pack(&ty, &memory, origin, count, range.clone()), &expected[range.clone()]);
        if !places.is_empty() {
            let (first, end) = ty.span(count);
            prop_assert_eq!(first, *places.iter().min().unwrap());
            prop_assert_eq!(end, *places.iter().max().unwrap() + 1);
        }
        if distinct(&places) {
            let data: Vec<u8> = (0..range.len()).map(|i| (i * 11 + 3) as u8).collect();
            check_unpack(&ty, count, &places, range.start, &data);
            let longer: Vec<u8> = (0..places.len() + 5).map(|i| (i * 7 + 1) as u8).collect();
            check_unpack(&ty, count, &places, 0, &longer);
        }
        if ty.is_contiguous() && places.len() > 1 && count == 1 {
            prop_assert!(places.windows(2).all(|pair| pair[1] == pair[0] + 1));
        }
    }

    #[test]
    fn runs_are_the_type_map(recipe in recipe(), count in 0usize..4) {
        let (ty, map) = recipe.make();
        let mut found = Vec::new();
        ty.for_each_run(count, |kind, at, n| {
            found.extend((0..n).map(|i| (kind.name, at as i64 + (i * kind.extent()) as i64)));
        });
        let item = |i: i64| map.entries.iter().map(move |&(kind, at)| (kind.name, at, i));
        let expected: Vec<_> = (0..count as i64).flat_map(item).map(|(k, at, i)| (k, at + i * map.extent())).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_copy_is_packing_and_unpacking(one in recipe(), other in recipe(), n in 0usize..4, m in 0usize..4) {
        let ((from, a), (to, b)) = (one.make(), other.make());
        let (sources, targets) = (a.bytes(n), b.bytes(m));
        prop_assume!(distinct(&targets));
        let (source, source_origin) = memory(&sources);
        let (mut found, origin) = memory(&targets);
        let mut expected = found.clone();
        let bytes = at(&source, source_origin, &sources);
        targets.iter().zip(&bytes).for_each(|(place, &byte)| expected[(origin + place) as usize] = byte);
        // SAFETY: the buffers cover all displacements of the items.
        let moved = unsafe {
            let (source, found) = (source.as_ptr().offset(source_origin as isize), found.as_mut_ptr().offset(origin as isize));
            from.copy(source, n, &to, found, m)
        };
        prop_assert_eq!(moved, sources.len().min(targets.len()));
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_large_vector_stays_a_loop() {
    let double = Datatype::named(crate::abi::MPI_DOUBLE).unwrap();
    let column = Datatype::vector(1_000_000_000, 1, 1000, double).unwrap();
    assert!(format!("{column:?}").len() < 5000);
    assert_eq!(column.elements_in(8 * 77), Some(77));
}
