//! Scatter of the times of real code on the host: differences between equal blocks of code that repeat neither per rank
//! nor per iteration.
//!
//! Blocks of code before the same call, at the same position in the sequence of these blocks, are compared over ranks.
//! The time of a block is the sum of a mean, a part of its rank, a part of its position, and scatter (an analysis of
//! variance with two factors). The part of a rank is imbalance of the program. Scatter is noise of the host, or a choice
//! of the program that differs between ranks and iterations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Greatest number of blocks per call site and rank whose times are stored.
pub const MOST_BLOCKS: usize = 64;
/// Greatest number of call sites per rank.
const MOST_SITES: usize = 64;
/// Greatest number of ranks whose blocks are compared.
pub const MOST_RANKS: u32 = 1024;

/// Times of a rank's blocks of code by the call that follows the block, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CodeTimes {
    sites: Vec<SiteTimes>,
}

/// Times of a rank's blocks of code before a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SiteTimes {
    /// Name of the call.
    name: Cow<'static, str>,
    /// Number of all blocks.
    count: u64,
    /// Times of the first blocks.
    first: Vec<f64>,
}

/// Scatter of the times of equal blocks of code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostNoise {
    /// Part of the ranks' waiting that the scatter may cause, from 0 to 1.
    pub waiting: f64,
    /// Calls with the most scatter before them, the greatest expected waiting first.
    pub sites: Vec<SiteScatter>,
}

/// Scatter of the times of blocks of code before a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SiteScatter {
    /// Name of the call that follows the blocks.
    pub site: String,
    /// Number of blocks per rank, as the mean over the compared ranks.
    pub blocks: f64,
    /// Mean time of a block in seconds.
    pub mean_s: f64,
    /// Standard deviation of the scatter, divided by the mean time.
    pub scatter: f64,
    /// Standard deviation of the ranks' mean times without scatter, divided by the mean time.
    pub imbalance: f64,
    /// Expected waiting per rank because of the scatter, if all ranks wait for the slowest rank after each block, in
    /// seconds.
    pub waiting_s: f64,
}

impl CodeTimes {
    /// Adds the time of a block of code before the call `site`.
    pub fn add(&mut self, site: &'static str, seconds: f64) {
        let at = match self.sites.iter().position(|times| times.name == site) {
            Some(at) => at,
            None if self.sites.len() == MOST_SITES => return,
            None => {
                self.sites.push(SiteTimes { name: Cow::Borrowed(site), count: 0, first: Vec::new() });
                self.sites.len() - 1
            }
        };
        let times = &mut self.sites[at];
        times.count += 1;
        if times.first.len() < MOST_BLOCKS {
            times.first.push(seconds);
        }
    }
}

impl HostNoise {
    /// Compares the blocks of ranks. `waiting_s` is the mean time that a rank waits in the prediction. Returns `None` if
    /// less than two ranks have blocks before the same call, or no rank waits.
    pub fn of(ranks: &[CodeTimes], waiting_s: f64) -> Option<HostNoise> {
        let mut by_site: BTreeMap<&str, Vec<&SiteTimes>> = BTreeMap::new();
        for times in ranks.iter().flat_map(|rank| &rank.sites) {
            by_site.entry(&times.name).or_default().push(times);
        }
        let mut sites: Vec<SiteScatter> =
            by_site.into_iter().filter_map(|(site, times)| SiteScatter::of(site, &times)).collect();
        sites.sort_by(|a, b| b.waiting_s.total_cmp(&a.waiting_s).then_with(|| a.site.cmp(&b.site)));
        let waiting: f64 = sites.iter().map(|site| site.waiting_s).sum();
        (waiting_s > 0.0 && !sites.is_empty()).then(|| HostNoise { waiting: (waiting / waiting_s).min(1.0), sites })
    }
}

impl SiteScatter {
    fn of(site: &str, ranks: &[&SiteTimes]) -> Option<SiteScatter> {
        let length = ranks.iter().map(|times| times.first.len()).min()?;
        if ranks.len() < 2 || length == 0 {
            return None;
        }
        let (count, blocks) = (ranks.len() as f64, length as f64);
        let of_rank: Vec<f64> = ranks.iter().map(|times| times.first[..length].iter().sum::<f64>() / blocks).collect();
        let at: Vec<f64> =
            (0..length).map(|block| ranks.iter().map(|times| times.first[block]).sum::<f64>() / count).collect();
        let mean = of_rank.iter().sum::<f64>() / count;
        let rest = |rank: usize, block: usize| match length {
            // A single block per rank does not tell imbalance from scatter.
            1 => ranks[rank].first[0] - mean,
            _ => ranks[rank].first[block] - of_rank[rank] - at[block] + mean,
        };
        let squares: f64 =
            (0..ranks.len()).flat_map(|rank| (0..length).map(move |block| rest(rank, block).powi(2))).sum();
        let variance = squares / ((count - 1.0) * (blocks - 1.0).max(1.0));
        let between = of_rank.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let imbalance = (between - variance / blocks).max(0.0);
        let worst =
            (0..length).map(|block| (0..ranks.len()).map(|rank| rest(rank, block)).fold(0.0, f64::max)).sum::<f64>()
                / blocks;
        let all = ranks.iter().map(|times| times.count as f64).sum::<f64>() / count;
        (mean > 0.0).then(|| SiteScatter {
            site: site.to_owned(),
            blocks: all,
            mean_s: mean,
            scatter: variance.sqrt() / mean,
            imbalance: imbalance.sqrt() / mean,
            waiting_s: worst * all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times of 8 ranks with 16 blocks each.
    fn ranks(time: impl Fn(u32, u32) -> f64) -> Vec<CodeTimes> {
        let of_rank = |rank| {
            let mut times = CodeTimes::default();
            (0..16).for_each(|block| times.add("MPI_Barrier", time(rank, block)));
            times
        };
        (0..8).map(of_rank).collect()
    }

    #[test]
    fn imbalance_that_repeats_and_iterations_that_differ_are_no_noise() {
        // Rank 7 computes twice as long as the other ranks in each iteration, and iterations become shorter.
        let heavy = ranks(|rank, block| {
            let own = if rank == 7 { 2.0 } else { 1.0 };
            own * 1e-3 + f64::from(16 - block) * 1e-4
        });
        let found = HostNoise::of(&heavy, 1e-3 * 16.0 * 7.0 / 8.0).unwrap();
        assert!(found.waiting < 1e-9 && found.sites[0].scatter < 1e-9, "{found:?}");
        // The deviation of seven times 1 and one time 2 is the square root of 1/8 of the mean difference.
        assert!((found.sites[0].imbalance * found.sites[0].mean_s - 0.125_f64.sqrt() * 1e-3).abs() < 1e-9);
    }

    #[test]
    fn scatter_of_equal_ranks_is_noise() {
        // In each iteration another rank takes 1 ms longer than the other ranks, whose blocks take 1 ms.
        let noisy = ranks(|rank, block| if block % 8 == rank { 2e-3 } else { 1e-3 });
        // All ranks wait for the slow rank: 7/8 ms on average, 16 times.
        let waited = 16.0 * 7.0 / 8.0 * 1e-3;
        let found = HostNoise::of(&noisy, waited).unwrap();
        assert!((found.waiting - 1.0).abs() < 1e-6, "{found:?}");
        assert!(found.sites[0].imbalance < 1e-6 && found.sites[0].scatter > 0.2, "{found:?}");
        assert_eq!((found.sites[0].site.as_str(), found.sites[0].blocks), ("MPI_Barrier", 16.0));
        // The same scatter is a tenth of the waiting of a program that waits ten times as long.
        assert!((HostNoise::of(&noisy, 10.0 * waited).unwrap().waiting - 0.1).abs() < 1e-6);
        assert_eq!(HostNoise::of(&noisy[..1], waited), None);
        assert_eq!(HostNoise::of(&noisy, 0.0), None);
    }
}
