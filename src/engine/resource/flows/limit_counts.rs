//! Limits of flows below and above a level.

#![allow(unsafe_code)]

use super::resources::{Member, exact};

/// Whole numbers up to this one are exact as floating-point numbers.
pub(super) const EXACT: u64 = 1 << 53;

/// Summary of the limits below and above a level.
#[derive(Default)]
pub(in crate::resource) struct LimitCounts {
    /// Weighted sum of the limits below the level.
    pub sum: u64,
    /// Total weight of the limits below the level.
    pub below: u64,
    /// Greatest limit below the level.
    pub top: u64,
    /// Least limit not below the level.
    pub next: u64,
}

impl LimitCounts {
    /// Summarises limits and their weights.
    #[inline(always)]
    pub fn of(level: u64, limits: impl Iterator<Item = (u64, u64)>) -> LimitCounts {
        limits.fold(LimitCounts { next: u64::MAX, ..LimitCounts::default() }, |sides, (limit, weight)| {
            // There is no branch, because it would be unpredictable: many flows have limits close to the level.
            let mask = u64::from(limit < level).wrapping_neg();
            LimitCounts {
                sum: sides.sum + ((limit * weight) & mask),
                below: sides.below + (weight & mask),
                top: sides.top.max(limit & mask),
                next: sides.next.min(limit | mask),
            }
        })
    }

    /// Summarises the limits of bundles that pass two resources each. `rates` has the levels of all resources.
    ///
    /// The result is exact if the level times the total weight is at most [`EXACT`]. No product or sum of limits below
    /// the level is then greater.
    #[inline(always)]
    pub(super) fn of_two(level: u64, members: &[Member], rates: &[f64]) -> LimitCounts {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: every processor of this architecture has SSE2.
            unsafe { LimitCounts::by_twos(level, members, rates) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let limit = |member: &Member| member.pace.min(rates[member.other as usize]) as u64;
            LimitCounts::of(level, members.iter().map(|member| (limit(member), member.weight as u64)))
        }
    }

    /// Summarises two limits per step, without a branch.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "sse2")]
    #[inline]
    fn by_twos(level: u64, members: &[Member], rates: &[f64]) -> LimitCounts {
        use std::arch::x86_64::*;
        let (level, none) = (_mm_set1_pd(exact(level)), _mm_setzero_pd());
        let (mut sum, mut below, mut top, mut next) = (none, none, none, _mm_set1_pd(f64::INFINITY));
        let mut look = |pace, rate, weight| {
            let limit = _mm_min_pd(pace, rate);
            let is_less = _mm_cmplt_pd(limit, level);
            let less = _mm_and_pd(limit, is_less);
            sum = _mm_add_pd(sum, _mm_mul_pd(less, weight));
            below = _mm_add_pd(below, _mm_and_pd(weight, is_less));
            top = _mm_max_pd(top, less);
            // What is less is no number here, and the least of that and another is the second.
            next = _mm_min_pd(_mm_or_pd(limit, is_less), next);
        };
        let (pairs, last) = members.as_chunks::<2>();
        for [one, other] in pairs {
            look(
                _mm_set_pd(other.pace, one.pace),
                _mm_set_pd(rates[other.other as usize], rates[one.other as usize]),
                _mm_set_pd(other.weight, one.weight),
            );
        }
        for one in last {
            // The second lane has no limit, so it is not below the level.
            look(
                _mm_set_pd(f64::INFINITY, one.pace),
                _mm_set_pd(f64::INFINITY, rates[one.other as usize]),
                _mm_set_sd(one.weight),
            );
        }
        let second = |lanes| _mm_unpackhi_pd(lanes, lanes);
        // Where there is no limit, this gives more than any number.
        let whole = |lanes| _mm_cvttsd_si64(lanes) as u64;
        LimitCounts {
            sum: whole(_mm_add_sd(sum, second(sum))),
            below: whole(_mm_add_sd(below, second(below))),
            top: whole(_mm_max_sd(top, second(top))),
            next: whole(_mm_min_sd(next, second(next))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_at_a_time_give_what_one_after_the_other_does() {
        let mut x = 1_u64;
        let mut some = |end: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 20) % end
        };
        for round in 0..20_000 {
            // Few values, so that many are equal, and as great ones as are exact.
            let values = [3, 50, 100_000, 1 << 40][round % 4];
            let rates: Vec<u64> = (0..10).map(|_| 1 + some(values)).collect();
            let flows = some(9);
            let members: Vec<_> = (0..flows).map(|_| (1 + some(values), 1 + some(1000), some(10) as u32)).collect();
            let weight = members.iter().map(|(_, weight, _)| weight).sum::<u64>().max(1);
            let level = 1 + some(values.min(EXACT / weight));
            let expected = LimitCounts::of(
                level,
                members.iter().map(|&(pace, weight, other)| (pace.min(rates[other as usize]), weight)),
            );
            let rates: Vec<f64> = rates.into_iter().map(exact).collect();
            let members: Vec<_> = (0..)
                .zip(&members)
                .map(|(bundle, &(pace, weight, other))| Member {
                    pace: exact(pace),
                    weight: exact(weight),
                    other,
                    bundle,
                })
                .collect();
            let found = LimitCounts::of_two(level, &members, &rates);
            assert_eq!((found.sum, found.below, found.top), (expected.sum, expected.below, expected.top));
            // Where no limit is left, any number above the levels will do.
            assert_eq!(found.next.min(1 << 60), expected.next.min(1 << 60));
        }
    }
}
