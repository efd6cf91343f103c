//! Dense arithmetic with the widest vectors of the host's processor, as tuned libraries of linear algebra compute. The
//! vectors are explicit, so the rate does not depend on the optimization by the compiler.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm_add_pd, _mm_cvtsd_f64, _mm_mul_pd, _mm_set1_pd, _mm256_cvtsd_f64, _mm256_fmadd_pd, _mm256_set1_pd,
    _mm512_cvtsd_f64, _mm512_fmadd_pd, _mm512_set1_pd,
};

/// Number of independent vectors, which hide the latency of the multiply-add units.
const VECTORS: usize = 12;
/// Number of multiply-adds of a vector of eight numbers.
const STEPS: usize = 200_000;
/// Number of floating-point operations of [`multiply_add_wide`].
pub(super) const WORK: f64 = (2 * 8 * VECTORS * STEPS) as f64;

/// Computes independent chains of multiply-adds in registers.
macro_rules! chains {
    ($data:expr, $steps:expr, $all:expr, $multiply_add:expr, $first:expr) => {{
        let (factor, summand, one) = ($all(1.0 - $data[0] * 1e-9), $all($data[0] * 1e-9), $all(1.0));
        let step = |vector| $multiply_add(vector, factor, summand);
        let (mut a, mut b, mut c, mut d, mut e, mut f) = (one, one, one, one, one, one);
        let (mut g, mut h, mut i, mut j, mut k, mut l) = (one, one, one, one, one, one);
        // Builds without optimization call a function for each element of a range.
        let mut left = $steps;
        while left > 0 {
            left -= 1;
            (a, b, c, d, e, f) = (step(a), step(b), step(c), step(d), step(e), step(f));
            (g, h, i, j, k, l) = (step(g), step(h), step(i), step(j), step(k), step(l));
        }
        [a, b, c, d, e, f, g, h, i, j, k, l].into_iter().map($first).sum::<f64>()
    }};
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn chains_512(data: &[f64]) -> f64 {
    chains!(data, STEPS, _mm512_set1_pd, _mm512_fmadd_pd, |vector| _mm512_cvtsd_f64(vector))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn chains_256(data: &[f64]) -> f64 {
    chains!(data, 2 * STEPS, _mm256_set1_pd, _mm256_fmadd_pd, |vector| _mm256_cvtsd_f64(vector))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn chains_128(data: &[f64]) -> f64 {
    let multiply_add = |vector, factor, summand| _mm_add_pd(_mm_mul_pd(vector, factor), summand);
    chains!(data, 4 * STEPS, _mm_set1_pd, multiply_add, |vector| _mm_cvtsd_f64(vector))
}

/// Runs the chains with the widest vectors that the processor has.
#[cfg(target_arch = "x86_64")]
pub(super) fn multiply_add_wide(data: &mut [f64]) -> f64 {
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        return unsafe { chains_512(data) };
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the instructions.
        return unsafe { chains_256(data) };
    }
    // SAFETY: every processor of this architecture has the instructions.
    unsafe { chains_128(data) }
}

/// Runs the chains without vectors.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn multiply_add_wide(data: &mut [f64]) -> f64 {
    chains!(data, 8 * STEPS, |number| number, |sum: f64, factor: f64, summand: f64| sum * factor + summand, |sum| sum)
}
