//! Dense arithmetic with the widest vectors of the host's processor, as tuned libraries of linear algebra compute.
#![allow(unsafe_code)]

/// Number of independent sums, which hide the latency of the multiply-add units.
const SUMS: usize = 48;
/// Number of multiply-adds of each sum.
pub(super) const TURNS: usize = 400_000;
/// Number of floating-point operations of [`multiply_add_wide`].
pub(super) const WORK: f64 = (2 * SUMS * TURNS) as f64;

/// Computes independent chains of multiply-adds in registers.
#[inline(always)]
fn chains(data: &[f64], multiply_add: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let (factor, summand) = (1.0 - data[0] * 1e-9, data[0] * 1e-9);
    let mut sums = [1.0; SUMS];
    for _ in 0..TURNS {
        for sum in &mut sums {
            *sum = multiply_add(*sum, factor, summand);
        }
    }
    sums.iter().sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn chains_512(data: &[f64]) -> f64 {
    chains(data, f64::mul_add)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn chains_256(data: &[f64]) -> f64 {
    chains(data, f64::mul_add)
}

/// Runs the chains with the widest vectors that the processor has.
pub(super) fn multiply_add_wide(data: &mut [f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return unsafe { chains_512(data) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return unsafe { chains_256(data) };
        }
    }
    chains(data, |sum, factor, summand| sum * factor + summand)
}
