//! Operations of the two ranks of a pair for the samples of a pair test, as in `network_test2`. Rank x measures, and
//! rank y is the partner of x.

use super::port::PairPort;
use mcpsim_matrices::{PairTest, Parameters};

/// Size of the confirmation of a message in bytes: an int.
const CONFIRMATION: u64 = 4;

/// Takes all samples of the rank pair x, y. The ranks x and y must call this function. Returns the measured seconds on
/// rank x, and an empty vector on rank y.
pub(super) fn samples(port: &mut dyn PairPort, of: &Parameters, bytes: u64, x: u32, y: u32) -> Vec<f64> {
    let repeats = of.repeats;
    let measures = port.rank() == x;
    let own = x == y;
    match of.test {
        PairTest::OneToOne if !own => {
            if !measures {
                for _ in 0..repeats {
                    port.send(x, bytes);
                    port.recv(x, CONFIRMATION);
                }
                return Vec::new();
            }
            let one = |port: &mut dyn PairPort| {
                let started = port.now();
                port.recv(y, bytes);
                let took = port.now() - started;
                port.send(y, CONFIRMATION);
                took
            };
            (0..repeats).map(|_| one(port)).collect()
        }
        PairTest::AsyncOneToOne => {
            let other = if measures { y } else { x };
            // The two ranks begin one message apart, independent of the times at which the ranks were started.
            match (own, measures) {
                (true, _) => {}
                (_, true) => {
                    port.recv(y, 0);
                    port.send(y, 0);
                }
                _ => {
                    port.send(x, 0);
                    port.recv(x, 0);
                }
            }
            let one = |port: &mut dyn PairPort| {
                let started = port.now();
                port.swap(other, bytes);
                port.now() - started
            };
            let found = (0..repeats).map(|_| one(port)).collect();
            if measures { found } else { Vec::new() }
        }
        PairTest::SendRecvAndRecvSend if !own => {
            if !measures {
                for _ in 0..repeats {
                    port.recv(x, bytes);
                    port.send(x, bytes);
                }
                return Vec::new();
            }
            let one = |port: &mut dyn PairPort| {
                let started = port.now();
                port.send(y, bytes);
                port.recv(y, bytes);
                port.now() - started
            };
            (0..repeats).map(|_| one(port)).collect()
        }
        PairTest::Put if !own && measures => (0..repeats).map(|_| port.put(y, bytes)).collect(),
        PairTest::Get if !own && measures => (0..repeats).map(|_| port.get(y, bytes)).collect(),
        _ => Vec::new(),
    }
}

/// Takes one sample of the rank pair x, y while other ranks send noise messages. All ranks must call this function.
/// Returns the measured seconds on rank x.
pub(super) fn noisy_sample(
    port: &mut dyn PairPort,
    of: &Parameters,
    bytes: u64,
    (x, y): (u32, u32),
    makers: &[u32],
) -> Option<f64> {
    port.barrier();
    let rank = port.rank();
    if rank != x && rank != y {
        if makers.contains(&rank) {
            let others: Vec<u32> = makers.iter().copied().filter(|maker| *maker != rank).collect();
            port.noise(&others, u64::from(of.noise_bytes), of.noise_messages);
        }
        return None;
    }
    let started = port.now();
    match of.test {
        PairTest::Noise => port.swap(if rank == x { y } else { x }, bytes),
        _ if rank == x => port.recv(y, bytes),
        _ => port.send(x, bytes),
    }
    (rank == x).then(|| port.now() - started)
}

/// Returns the ranks that send noise messages, spread evenly over all ranks outside the pair. The number of these ranks
/// is the requested number, but at most the number of ranks outside the pair.
pub(super) fn noise_makers(of: &Parameters, x: u32, y: u32) -> Vec<u32> {
    let free: Vec<u32> = (0..of.ranks).filter(|rank| *rank != x && *rank != y).collect();
    let wanted = (of.noise_ranks as usize).min(free.len());
    (0..wanted).map(|number| free[number * free.len() / wanted]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_spread_over_ranks_that_are_not_of_the_pair() {
        let of = Parameters {
            ranks: 8,
            test: PairTest::Noise,
            begin: 0,
            end: 1,
            step: 1,
            repeats: 1,
            noise_bytes: 1,
            noise_messages: 1,
            noise_ranks: 3,
        };
        assert_eq!(noise_makers(&of, 0, 4), [1, 3, 6]);
        assert_eq!(noise_makers(&Parameters { noise_ranks: 99, ..of }, 1, 1), [0, 2, 3, 4, 5, 6, 7]);
        assert!(noise_makers(&Parameters { noise_ranks: 0, ..of }, 0, 1).is_empty());
        assert!(noise_makers(&Parameters { ranks: 2, ..of }, 0, 1).is_empty());
    }
}
