//! Water-filling: the level of one resource from the limits of its flows at other resources.

use super::limit_counts::LimitCounts;
use super::resources::UNIT;

/// Computes the level of a resource and the used part of its capacity. The level is the greatest rate of flows that
/// other resources do not limit further. If other resources limit all flows, the level is the rate that the flow with
/// the greatest limit could have without this limit. `sides` returns the limits of flows below and above a level.
/// `weight` is the total weight of the flows.
///
/// The total rate of the flows is a concave function of the level. Newton's method finds the level at which the total
/// rate is the capacity. It starts at `last`, which is usually close. All later steps approach the level from below. If
/// rounding permits several levels, the result is the least, which is found from the equal share for any `last`.
#[inline(always)]
pub(in crate::resource) fn filled(
    capacity: u64,
    weight: u64,
    last: u64,
    sides: impl Fn(u64) -> LimitCounts,
) -> (u64, u64) {
    if weight == 0 {
        return (capacity, 0);
    }
    let all = capacity * UNIT;
    let share = all / weight;
    let mut level = last.max(share);
    let (mut from_share, mut fallen) = (level == share, false);
    loop {
        let LimitCounts { sum, below, top, next } = sides(level);
        let (left, others) = (all.saturating_sub(sum), weight - below);
        if others == 0 {
            if from_share || left >= weight {
                let level = (capacity.saturating_sub(sum / UNIT) + top).clamp(1, capacity);
                return (level, (sum / UNIT).min(capacity));
            }
            (level, from_share) = (share, true);
            continue;
        }
        let found = left / others;
        // True if exactly the flows that were below the level have limits below the result.
        let is_least = from_share || (found >= share && left >= (top + 1) * others + below);
        if found <= next && is_least {
            let level = found.clamp(1, capacity);
            return (level, (sum / UNIT + others * level / UNIT).min(capacity));
        }
        let falls = found < level;
        if from_share || (falls && !fallen) || (!falls && found > next) {
            (level, fallen) = (found.max(share), fallen || falls);
        } else {
            (level, from_share) = (share, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a generator of numbers below an end, always the same ones.
    fn numbers() -> impl FnMut(u64) -> u64 {
        let mut x = 1_u64;
        move |end| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % end
        }
    }

    #[test]
    fn flows_share_equally_what_others_leave() {
        let level = |all: &[(u64, u64)]| {
            let limits = || all.iter().map(|&(limit, flows)| (limit, flows * UNIT));
            let levels = [1, 250, 300, 305, 1000].map(|last| {
                filled(1000, limits().map(|(_, weight)| weight).sum(), last, |level| LimitCounts::of(level, limits()))
            });
            assert!(levels.iter().all(|level| *level == levels[0]), "{levels:?}");
            levels[0]
        };
        assert_eq!(level(&[]), (1000, 0));
        assert_eq!(level(&[(1000, 4)]), (250, 1000));
        // One is limited to 100: the others share 900.
        assert_eq!(level(&[(100, 1), (1000, 3)]), (300, 1000));
        assert_eq!(level(&[(100, 1), (290, 1), (1000, 2)]), (305, 1000));
        // Both are limited elsewhere: 500 + 300 more could be had.
        assert_eq!(level(&[(200, 1), (300, 1)]), (800, 500));
    }

    #[test]
    fn levels_are_those_of_one_flow_after_the_other() {
        let mut some = numbers();
        for _ in 0..2000 {
            let flows = 1 + some(40);
            let limits: Vec<_> = (0..flows).map(|_| (1 + some(100_000), UNIT)).collect();
            let mut sorted: Vec<_> = limits.iter().map(|&(limit, _)| limit).collect();
            sorted.sort_unstable();
            let (mut left, mut level) = (1_000_000, None);
            for (at, &limit) in sorted.iter().enumerate() {
                let share = left / (flows - at as u64);
                if limit >= share {
                    level = Some(share);
                    break;
                }
                left -= limit;
            }
            let level = level.unwrap_or(left + sorted[sorted.len() - 1]).min(1_000_000);
            let (found, used) = filled(1_000_000, flows * UNIT, some(1_000_001), |level| {
                LimitCounts::of(level, limits.iter().copied())
            });
            assert!(found.abs_diff(level) <= 1, "{found} for {level}");
            let all = sorted.iter().map(|&limit| limit.min(found)).sum::<u64>();
            assert!(all.abs_diff(used) <= flows, "{used} for {all}");
        }
    }

    #[test]
    fn a_level_does_not_depend_on_the_last_one() {
        let mut some = numbers();
        for round in 0..5000_u64 {
            // Few values, so that many are equal, on all sides of the equal share.
            let (flows, values) = (1 + some(12), 1 + some(1 + round % 40));
            let limits: Vec<_> = (0..flows).map(|_| (1 + some(values), 1 + some(3) * UNIT / 2)).collect();
            let weight = limits.iter().map(|(_, weight)| weight).sum();
            let capacity = 1 + some(values * flows + 10);
            let level = |last| filled(capacity, weight, last, |level| LimitCounts::of(level, limits.iter().copied()));
            let from_share = level(0);
            for last in 0..values + 30 {
                assert_eq!(level(last), from_share, "{limits:?}, {capacity}, {last}");
            }
        }
    }

    #[test]
    fn a_flow_that_starts_half_way_through_a_slot_counts_half() {
        // 1.5 flows: each may have 666, which is all the capacity over the slot.
        let level = |limits: &[(u64, u64)]| {
            let weight = limits.iter().map(|(_, weight)| weight).sum();
            filled(1000, weight, 1000, |level| LimitCounts::of(level, limits.iter().copied())).0
        };
        assert_eq!(level(&[(1000, UNIT), (1000, UNIT / 2)]), 666);
        assert_eq!(level(&[(1000, UNIT / 4)]), 1000);
    }
}
