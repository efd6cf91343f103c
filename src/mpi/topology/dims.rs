//! MPI_Dims_create (MPI-3.1, section 7.5.2): extents that are as equal as possible.

use std::ffi::c_int;

use crate::abi::{MPI_ERR_ARG, MPI_ERR_DIMS};
use crate::fault::Fault;

/// Replaces the zeros of `dims` so that the product is `nodes`. The new extents do not increase, and the greatest is as
/// close as possible to the smallest. If several lists satisfy this condition, the list with the greatest smallest
/// extent is chosen, then the list with the greatest second-smallest extent.
///
/// # Errors
/// `nodes` is below 1, an extent is below 0, or the product of the nonzero extents does not divide `nodes`.
pub fn dims_create(nodes: c_int, dims: &mut [c_int]) -> Result<(), Fault> {
    if nodes < 1 {
        return Err(Fault::new(MPI_ERR_ARG, format!("a grid for {nodes} processes, expected at least 1")));
    }
    let mut given: u64 = 1;
    for (dimension, &extent) in dims.iter().enumerate() {
        if extent < 0 {
            let what = format!("dimension {dimension} has the extent {extent}, expected at least 0");
            return Err(Fault::new(MPI_ERR_DIMS, what));
        }
        given = given.saturating_mul(extent.max(1) as u64);
    }
    let (nodes, free) = (nodes as u64, dims.iter().filter(|&&extent| extent == 0).count());
    if free > 0 && !nodes.is_multiple_of(given) {
        let what = format!("the product {given} of the given extents does not divide {nodes}");
        return Err(Fault::new(MPI_ERR_DIMS, what));
    }
    if free == 0 && given != nodes && !dims.is_empty() {
        return Err(Fault::new(MPI_ERR_DIMS, format!("the extents have the product {given}, expected {nodes}")));
    }
    let found = balanced(nodes / given, free);
    dims.iter_mut().filter(|extent| **extent == 0).zip(found).for_each(|(extent, found)| *extent = found as c_int);
    Ok(())
}

/// Returns `count` factors of `number` in non-increasing order, as balanced as possible.
fn balanced(number: u64, count: usize) -> Vec<u64> {
    let primes = primes(number);
    let mut divisors = vec![1];
    for &prime in &primes {
        let more: Vec<u64> = divisors.iter().map(|divisor| divisor * prime).collect();
        divisors.extend(more);
        divisors.sort_unstable();
        divisors.dedup();
    }
    // Factors of 1 are appended if there are fewer primes than factors. The search below considers only factors above
    // 1.
    let real = count.min(primes.len());
    let mut best = Vec::new();
    if real > 0 {
        split(number, real, &divisors, &mut Vec::with_capacity(real), &mut best);
    }
    best.resize(count, 1);
    best
}

/// Difference between the greatest and the smallest factor.
fn spread(factors: &[u64]) -> u64 {
    factors.first().zip(factors.last()).map_or(u64::MAX, |(greatest, smallest)| greatest - smallest)
}

/// Extends the list of factors `found` by every possible list of `count` factors with product `number`, and stores the
/// most balanced list in `best`.
fn split(number: u64, count: usize, divisors: &[u64], found: &mut Vec<u64>, best: &mut Vec<u64>) {
    if count == 0 {
        let smaller_first = |factors: &[u64]| factors.iter().rev().copied().collect::<Vec<u64>>();
        let closer = spread(found).cmp(&spread(best)).then_with(|| smaller_first(best).cmp(&smaller_first(found)));
        if closer.is_lt() {
            best.clone_from(found);
        }
        return;
    }
    let power = |factor: u64| u32::try_from(count).map_or(u64::MAX, |count| factor.saturating_pow(count));
    let most = found.last().copied().unwrap_or(number);
    let from = divisors.partition_point(|&factor| count > 1 && power(factor) < number);
    for &factor in divisors[from..].iter().take_while(|&&factor| factor <= most) {
        let least = found.first().unwrap_or(&factor).saturating_sub(spread(best)).max(1);
        if factor >= least && power(least) <= number && number.is_multiple_of(factor) {
            found.push(factor);
            split(number / factor, count - 1, divisors, found, best);
            found.pop();
        }
    }
}

fn primes(mut number: u64) -> Vec<u64> {
    let (mut primes, mut candidate) = (Vec::new(), 2);
    while candidate * candidate <= number {
        while number.is_multiple_of(candidate) {
            primes.push(candidate);
            number /= candidate;
        }
        candidate += 1;
    }
    primes.extend((number > 1).then_some(number));
    primes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims<const N: usize>(nodes: c_int, mut dims: [c_int; N]) -> Result<[c_int; N], c_int> {
        dims_create(nodes, &mut dims).map(|()| dims).map_err(|fault| fault.class)
    }

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(dims(6, [0, 0]), Ok([3, 2]));
        assert_eq!(dims(7, [0, 0]), Ok([7, 1]));
        assert_eq!(dims(6, [0, 3, 0]), Ok([2, 3, 1]));
        assert_eq!(dims(7, [0, 3, 0]), Err(MPI_ERR_DIMS));
    }

    #[test]
    fn extents_are_close_to_each_other() {
        assert_eq!(dims(16, [0, 0, 0]), Ok([4, 2, 2]));
        assert_eq!(dims(36, [0, 0, 0]), Ok([4, 3, 3]));
        assert_eq!(dims(72, [0, 0, 0]), Ok([6, 4, 3]));
        assert_eq!(dims(60, [0, 0]), Ok([10, 6]));
        assert_eq!(dims(100_000, [0, 0, 0]), Ok([50, 50, 40]));
        assert_eq!(dims(1, [0, 0, 0]), Ok([1, 1, 1]));
        assert_eq!(dims(2, [0; 5]), Ok([2, 1, 1, 1, 1]));
        assert_eq!(dims(64, [0; 4]), Ok([4, 4, 2, 2]));
        assert_eq!(dims(c_int::MAX, [0, 0]), Ok([c_int::MAX, 1]), "a prime");
        assert_eq!(dims(720_720, [0; 3]), Ok([91, 90, 88]));
        assert_eq!(dims(7488, [0; 3]), Ok([26, 18, 16]), "10 apart, and 24 x 24 x 13 is 11");
        assert_eq!(dims(5040, [0; 3]), Ok([21, 16, 15]), "6 apart as 20 x 18 x 14, whose smallest is smaller");
        let widest = dims(2_095_133_040, [0; 6]).unwrap();
        assert_eq!(widest.iter().map(|&extent| u64::from(extent as u32)).product::<u64>(), 2_095_133_040);
        assert_eq!(dims(1 << 30, [0; 40]).unwrap()[..31], [[2; 30].as_slice(), &[1]].concat());
    }

    #[test]
    fn free_extents_never_increase_and_the_product_is_right() {
        for nodes in 1..400 {
            for fixed in (1..=nodes).filter(|fixed| nodes % fixed == 0) {
                let [a, kept, b, c] = dims(nodes, [0, fixed, 0, 0]).unwrap();
                assert!(a >= b && b >= c && c >= 1 && kept == fixed && a * b * c * fixed == nodes);
            }
        }
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        assert_eq!(dims(0, [0]), Err(MPI_ERR_ARG));
        assert_eq!(dims(4, [-1, 0]), Err(MPI_ERR_DIMS));
        assert_eq!(dims(6, [2, 2]), Err(MPI_ERR_DIMS));
        assert_eq!(dims(4, [8, 0]), Err(MPI_ERR_DIMS));
        assert_eq!(dims(4, [2, 2]), Ok([2, 2]));
        assert_eq!(dims(4, []), Ok([]));
    }
}
