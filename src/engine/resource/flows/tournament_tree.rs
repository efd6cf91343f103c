//! Minimum of many times, each of which can change.

/// Tournament tree with a time for each number. A change of a time updates only the ancestors whose minimum changes.
#[derive(Debug, Default)]
pub(super) struct TournamentTree {
    /// Nodes of the tree. Index 1 is the root, and index k has the minimum of the indices 2k and 2k + 1. The second
    /// half has the times themselves.
    times: Vec<u64>,
}

impl TournamentTree {
    /// Adds a number without a time.
    pub fn add(&mut self, number: u32) {
        let (at, room) = (number as usize, self.times.len() / 2);
        if at < room {
            return;
        }
        let more = (at + 1).next_power_of_two();
        let mut times = vec![u64::MAX; 2 * more];
        times[more..more + room].copy_from_slice(&self.times[room..]);
        for k in (1..more).rev() {
            times[k] = times[2 * k].min(times[2 * k + 1]);
        }
        self.times = times;
    }

    /// Sets the time of `number`.
    #[inline]
    pub fn set(&mut self, number: u32, time: u64) {
        let mut k = self.times.len() / 2 + number as usize;
        self.times[k] = time;
        while k > 1 {
            let earlier = self.times[k].min(self.times[k ^ 1]);
            k /= 2;
            if self.times[k] == earlier {
                return;
            }
            self.times[k] = earlier;
        }
    }

    /// Returns the earliest time; `u64::MAX` if no number has a time.
    #[inline]
    pub fn first(&self) -> u64 {
        self.times.get(1).copied().unwrap_or(u64::MAX)
    }

    /// Returns the least number with the earliest time, if this time is before `end`.
    #[inline]
    pub fn before(&self, end: u64) -> Option<u32> {
        let first = self.first();
        if first >= end {
            return None;
        }
        let half = self.times.len() / 2;
        let mut k = 1;
        while k < half {
            k *= 2;
            k += usize::from(self.times[k] != first);
        }
        Some((k - half) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_of_times_that_change_is_that_of_a_list() {
        let (mut earliest, mut list) = (TournamentTree::default(), Vec::new());
        assert_eq!((earliest.first(), earliest.before(u64::MAX)), (u64::MAX, None));
        let mut x = 1_u64;
        for step in 0..2000_u64 {
            if step.is_multiple_of(50) {
                earliest.add(list.len() as u32);
                list.push(u64::MAX);
            }
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (number, time) = ((x >> 33) as usize % list.len(), x >> 50 & 1023);
            list[number] = if time > 1000 { u64::MAX } else { time };
            earliest.set(number as u32, list[number]);
            let first = list.iter().copied().min().unwrap();
            assert_eq!(earliest.first(), first);
            let number = list.iter().position(|&time| time == first).map(|number| number as u32);
            assert_eq!(earliest.before(u64::MAX), number.filter(|_| first < u64::MAX));
            assert_eq!(earliest.before(first), None);
        }
    }
}
