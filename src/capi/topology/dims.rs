//! MPI_Dims_create (MPI-3.1, section 7.5.2): extents as close to each other as can be.

use std::ffi::c_int;

use crate::capi::abi::{MPI_ERR_ARG, MPI_ERR_DIMS};
use crate::capi::fault::Fault;

/// Fills in the zeros of `dims` so that the product is `nodes`: non-increasing, the greatest as small as possible, then the next.
///
/// # Errors
/// `nodes` below 1, an extent below 0, or given extents that do not divide `nodes`.
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

/// `count` factors of `number`, none greater than the one before, the least such list.
fn balanced(number: u64, count: usize) -> Vec<u64> {
    let primes = primes(number);
    let mut divisors = vec![1];
    for &prime in &primes {
        let more: Vec<u64> = divisors.iter().map(|divisor| divisor * prime).collect();
        divisors.extend(more);
        divisors.sort_unstable();
        divisors.dedup();
    }
    // Factors of 1 fill what the primes cannot: below, there is at least one prime a factor.
    let real = count.min(primes.len());
    let mut found = Vec::with_capacity(count);
    let fits = real == 0 || split(number, real, number, &divisors, &mut found);
    debug_assert!(fits, "{number} itself and ones are such a list");
    found.resize(count, 1);
    found
}

/// Appends the least list of `count` factors of `number` that are at most `most`; leaves `found` as it was if there is none.
fn split(number: u64, count: usize, most: u64, divisors: &[u64], found: &mut Vec<u64>) -> bool {
    if count == 1 {
        found.extend((number <= most).then_some(number));
        return number <= most;
    }
    let enough = |factor: u64| u32::try_from(count).is_ok_and(|count| factor.saturating_pow(count) >= number);
    let factors = divisors.iter().copied().filter(|&factor| number.is_multiple_of(factor) && enough(factor));
    for factor in factors.take_while(|&factor| factor <= most) {
        found.push(factor);
        if split(number / factor, count - 1, factor, divisors, found) {
            return true;
        }
        found.pop();
    }
    false
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
