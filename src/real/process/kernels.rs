//! Kernels of BLAS that take their predicted time and compute nothing (`mcpsim cc --model-blas`). The functions of
//! `cc/support/blas.c` pass the operations and the size of each call.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_long};

use serde::{Deserialize, Serialize};

use super::{Function, NamedFunction, Process, current};
use mcpsim_core::engine::KernelCalls;
use mcpsim_core::rank::FailureKind;
use mcpsim_core::units::SimSpan;

/// Names of the kernels in the order of the enumeration in `blas.c`, without the letter of the precision.
pub const KERNELS: [&str; 10] = ["gemm", "syrk", "trsm", "gemv", "ger", "trsv", "axpy", "scal", "swap", "amax"];

/// Letters of the precisions of kernels: single and double.
pub const PRECISIONS: [&str; 2] = ["s", "d"];

/// Functions of the simulator that `blas.c` calls.
pub const FUNCTIONS: &[NamedFunction] =
    &[("mcpsim_kernel", Function(kernel as *const ())), ("mcpsim_kernel_index", Function(index as *const ()))];

/// Rates of the kernels of BLAS on a host, as `mcpsim measure --kernels` writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelRates {
    /// Name of the measured machine.
    pub machine: String,
    /// File of the measured library.
    #[serde(default)]
    pub library: String,
    /// Operations per second of a kernel such as "dgemm" at increasing sizes: pairs of a size and a rate.
    pub rates: BTreeMap<String, Vec<(f64, f64)>>,
}

impl KernelRates {
    /// Checks rates that were read from a file.
    ///
    /// # Errors
    /// A name, a size or a rate is invalid.
    pub fn check(&self) -> Result<(), String> {
        let is_known = |name: &String| {
            PRECISIONS.iter().any(|letter| name.strip_prefix(letter).is_some_and(|rest| KERNELS.contains(&rest)))
        };
        for (name, rates) in &self.rates {
            if !is_known(name) {
                let all = KERNELS.map(|kernel| format!("d{kernel}")).join(", ");
                return Err(format!("unknown kernel rates.{name}: expected one of {all}, or the same names with s"));
            }
            let is_valid =
                |(size, rate): &(f64, f64)| size.is_finite() && *size >= 1.0 && rate.is_finite() && *rate > 0.0;
            let increases = rates.windows(2).all(|pair| pair[0].0 < pair[1].0);
            if rates.is_empty() || !rates.iter().all(is_valid) || !increases {
                return Err(format!(
                    "rates.{name}: expected pairs [size, operations per second] with increasing sizes from 1 on and \
                     rates above zero"
                ));
            }
        }
        if self.rates.is_empty() { Err("rates: expected the rates of kernels; found none".to_owned()) } else { Ok(()) }
    }

    /// Returns the operations per second of the kernel `name` at `size`. Between measured sizes the rate is linear in
    /// the logarithm of the size. Beyond the measured sizes the rate is constant.
    fn rate(&self, name: &str, size: f64) -> Option<f64> {
        let rates = self.rates.get(name)?;
        let above = rates.partition_point(|(known, _)| *known <= size);
        let (Some(&(low, slow)), Some(&(high, fast))) = (rates[..above].last(), rates.get(above)) else {
            let nearest = rates[..above].last().or(rates.first())?;
            return Some(nearest.1);
        };
        Some(slow + (fast - slow) * (size / low).ln() / (high / low).ln())
    }
}

/// Calls of modelled kernels by precision and kernel, and the state of the indices of amax.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelUse {
    calls: [[KernelCalls; KERNELS.len()]; 2],
    indices: u64,
}

impl KernelUse {
    /// Returns the calls of each kernel that was called, by the name of the kernel.
    pub fn by_name(&self) -> BTreeMap<String, KernelCalls> {
        let all = PRECISIONS.iter().zip(&self.calls).flat_map(|(letter, calls)| {
            KERNELS.iter().zip(calls).map(move |(kernel, calls)| (format!("{letter}{kernel}"), *calls))
        });
        all.filter(|(_, calls)| calls.calls > 0).collect()
    }
}

/// Charges a call of a kernel to the rank. Threads that run no rank are not charged.
unsafe extern "C" fn kernel(kernel: c_int, is_double: c_int, operations: f64, size: f64) {
    let Some(p) = current() else { return };
    let (precision, kernel) = (usize::from(is_double != 0), kernel as usize % KERNELS.len());
    let name = || format!("{}{}", PRECISIONS[precision], KERNELS[kernel]);
    let Some(rates) = &p.job.kernels else { return refuse(p, name(), "--kernels FILE") };
    let Some(rate) = rates.of(precision, kernel, size) else { return refuse(p, name(), "the rates of this kernel") };
    let Some(span) = SimSpan::from_seconds(operations / rate * p.job.factor(p.rank)) else {
        p.fail_at(name(), FailureKind::Error, format!("{operations:e} operations take more than 213 days"))
    };
    p.charge(span);
    let mut used = p.counts.kernels.borrow_mut();
    let calls = &mut used.calls[precision][kernel];
    calls.calls += 1;
    calls.time += span;
}

fn refuse(p: &Process, name: String, expected: &str) {
    let what = format!(
        "the program was linked with --model-blas, and this function takes its time from a table: expected {expected}; \
         \"mcpsim measure --kernels -o kernels.toml\" measures one"
    );
    p.fail_at(name, FailureKind::Error, what)
}

/// Returns an index from 0 to `count` − 1. Consecutive indices of a rank are spread evenly, as the positions of greatest
/// elements of random numbers are.
unsafe extern "C" fn index(count: c_long) -> c_long {
    let number = current().map_or(0, |p| {
        let mut used = p.counts.kernels.borrow_mut();
        used.indices += 1;
        u64::from(p.rank) << 40 | used.indices
    });
    let most = u64::try_from(count).unwrap_or(1).max(1);
    ((u128::from(scrambled(number)) * u128::from(most)) >> 64) as c_long
}

/// Returns the output of the generator SplitMix64 (Steele, Lea, Flood 2014) for the state `number`.
fn scrambled(number: u64) -> u64 {
    let state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Rates of kernels in the order of [`KERNELS`], which calls find without names.
#[derive(Debug)]
pub struct KernelTable {
    rates: KernelRates,
    names: [[String; KERNELS.len()]; 2],
}

impl From<KernelRates> for KernelTable {
    fn from(rates: KernelRates) -> Self {
        let names = PRECISIONS.map(|letter| KERNELS.map(|kernel| format!("{letter}{kernel}")));
        KernelTable { rates, names }
    }
}

impl KernelTable {
    fn of(&self, precision: usize, kernel: usize, size: f64) -> Option<f64> {
        self.rates.rate(&self.names[precision][kernel], size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(pairs: &[(f64, f64)]) -> KernelRates {
        let rates = BTreeMap::from([("dgemm".to_owned(), pairs.to_vec())]);
        KernelRates { machine: "m".to_owned(), library: String::new(), rates }
    }

    #[test]
    fn rates_between_sizes_follow_the_logarithm_of_the_size() {
        let rates = rates(&[(4.0, 1e9), (64.0, 5e9)]);
        let rate = |size| rates.rate("dgemm", size);
        assert_eq!([rate(1.0), rate(4.0), rate(64.0), rate(1e6)], [1e9, 1e9, 5e9, 5e9].map(Some));
        // 16 is half-way between 4 and 64.
        assert!((rate(16.0).unwrap() / 3e9 - 1.0).abs() < 1e-12);
        assert_eq!(rates.rate("sgemm", 4.0), None);
    }

    #[test]
    fn invalid_rates_are_refused() {
        assert_eq!(rates(&[(1.0, 1e9), (2.0, 1e9)]).check(), Ok(()));
        for wrong in [&[][..], &[(0.5, 1e9)], &[(1.0, 0.0)], &[(1.0, f64::NAN)], &[(2.0, 1e9), (2.0, 1e9)]] {
            assert!(rates(wrong).check().unwrap_err().starts_with("rates.dgemm: expected pairs"), "{wrong:?}");
        }
        let unknown = BTreeMap::from([("dgemmm".to_owned(), vec![(1.0, 1.0)])]);
        let error = KernelRates { rates: unknown, ..rates(&[]) }.check().unwrap_err();
        assert!(error.starts_with("unknown kernel rates.dgemmm: expected one of dgemm, dsyrk"), "{error}");
        assert!(KernelRates { rates: BTreeMap::new(), ..rates(&[]) }.check().is_err());
    }

    #[test]
    fn kernels_have_the_order_of_the_c_source() {
        let source = include_str!("../cc/support/blas.c");
        let (_, rest) = source.split_once("enum kernel {").unwrap();
        let (names, _) = rest.split_once('}').unwrap();
        assert_eq!(names.split(',').map(str::trim).collect::<Vec<_>>(), KERNELS);
    }

    #[test]
    fn indices_are_valid_and_spread() {
        // SAFETY: the function accepts any number.
        let index = |count| unsafe { index(count) };
        assert_eq!([index(1), index(0), index(-5)], [0; 3]);
        let mut found = [0; 4];
        (0..4000u64).for_each(|number| found[((u128::from(scrambled(number)) * 4) >> 64) as usize] += 1);
        assert!(found.iter().all(|count| (900..1100).contains(count)), "{found:?}");
    }
}
