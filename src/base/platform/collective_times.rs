//! Times of collectives in the model of Xu and Hwang (Modeling communication overhead: MPI and MPL performance on the
//! IBM SP2, IEEE Parallel & Distributed Technology 4, 1996): t(m, n) = t0(n) + m / r∞(n), with m bytes and n ranks.

use super::{Collective, Hockney};
use crate::units::{Bytes, SimSpan};

/// Number of bytes in a mebibyte.
const MEBIBYTE: u64 = 1 << 20;

/// Times of collectives by number of ranks and message size. All ranks of a collective leave the collective at the same
/// time: t0(n) + m / r∞(n) after the last rank enters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveTimes {
    /// Time of a message without data, by which the ranks of a collective wait for each other.
    pub message: SimSpan,
    fits: Vec<(Collective, Vec<SizeTimes>)>,
}

/// Parameters of a collective for one number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SizeTimes {
    ranks: u32,
    /// Parameter t0.
    start: SimSpan,
    /// 2^20 bytes / r∞.
    per_mebibyte: SimSpan,
}

impl CollectiveTimes {
    /// Creates an empty table for a machine on which a message without data takes `message`.
    pub fn new(message: SimSpan) -> Self {
        CollectiveTimes { message, fits: Vec::new() }
    }

    /// Adds the parameters of `collective` by number of ranks. The numbers of ranks increase.
    pub fn add(&mut self, collective: Collective, by_ranks: impl IntoIterator<Item = (u32, Hockney)>) {
        let span = |seconds: f64| SimSpan::from_seconds(seconds.max(0.0)).unwrap_or(SimSpan::ZERO);
        let times = by_ranks.into_iter().map(|(ranks, fit)| SizeTimes {
            ranks,
            start: span(fit.start),
            per_mebibyte: span(fit.per_byte * MEBIBYTE as f64),
        });
        self.fits.push((collective, times.collect()));
    }

    /// Returns the time of `collective` among `ranks` ranks with messages of `size`. Between two numbers of ranks of the
    /// table, the time is interpolated linearly. Beyond them, the time is that of the nearest number. Returns `None` if
    /// the table does not contain the collective.
    pub fn span(&self, collective: Collective, ranks: u32, size: Bytes) -> Option<SimSpan> {
        let (_, fits) = self.fits.iter().find(|(other, _)| *other == collective)?;
        let above = fits.iter().position(|fit| fit.ranks >= ranks).unwrap_or(fits.len());
        Some(match (above.checked_sub(1).and_then(|below| fits.get(below)), fits.get(above)) {
            (None, None) => return None,
            (Some(fit), None) | (None, Some(fit)) => fit.at(size),
            (Some(below), Some(above)) => {
                let (low, high) = (below.at(size).as_ps(), above.at(size).as_ps());
                let part = f64::from(ranks - below.ranks) / f64::from(above.ranks - below.ranks);
                SimSpan::from_ps((low as f64 + (high as f64 - low as f64) * part).round() as u64)
            }
        })
    }
}

impl SizeTimes {
    fn at(&self, size: Bytes) -> SimSpan {
        let bytes = u128::from(self.per_mebibyte.as_ps()) * u128::from(size.get()) / u128::from(MEBIBYTE);
        self.start + SimSpan::from_ps(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_formula_and_are_interpolated_between_numbers_of_ranks() {
        let mut times = CollectiveTimes::new(SimSpan::from_us(1));
        let fit = |start, per_byte| Hockney { start, per_byte };
        times.add(Collective::Bcast, [(2, fit(2e-6, 1e-9)), (4, fit(4e-6, 2e-9)), (8, fit(6e-6, 3e-9))]);
        let ns = |ranks, bytes| {
            times.span(Collective::Bcast, ranks, Bytes::new(bytes)).map(|span| (span.as_ps() + 500) / 1000)
        };
        // 4 us + 2 ns · 1000 = 6 us, and 6 us + 3 ns · 1000 = 9 us. Six ranks are in the middle.
        assert_eq!([ns(4, 1000), ns(6, 1000), ns(8, 1000)], [Some(6000), Some(7500), Some(9000)]);
        assert_eq!([ns(2, 0), ns(1, 0), ns(100, 0)], [Some(2000), Some(2000), Some(6000)]);
        assert_eq!(times.span(Collective::Barrier, 4, Bytes::ZERO), None);
    }
}
