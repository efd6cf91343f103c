//! The tests themselves: what the two ranks of a pair do for one sample.
//!
//! Each function is called by both ranks of the pair with the same arguments, and gives the first one's seconds; others
//! may call it and do nothing.

use super::port::RankPort;

/// Two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPair {
    /// The one that measures.
    pub first: u32,
    /// The one that answers.
    pub second: u32,
}

impl RankPair {
    pub(super) fn has(self, rank: u32) -> bool {
        self.first == rank || self.second == rank
    }
}

/// Half a round trip of messages of `bytes`, the mean of `turns`.
pub fn ping_pong(port: &mut dyn RankPort, pair: RankPair, bytes: u64, turns: u32) -> f64 {
    let started = port.now();
    for _ in 0..turns {
        if port.rank() == pair.first {
            port.send(pair.second, bytes);
            port.recv(pair.second, bytes);
        } else if port.rank() == pair.second {
            port.recv(pair.first, bytes);
            port.send(pair.first, bytes);
        }
    }
    (port.now() - started) / f64::from(2 * turns)
}

/// `count` messages under way at once, answered by an empty one: the time of all of it.
pub fn window(port: &mut dyn RankPort, pair: RankPair, bytes: u64, count: u32) -> f64 {
    let started = port.now();
    if port.rank() == pair.first {
        port.send_window(pair.second, bytes, count);
        port.recv(pair.second, 0);
    } else if port.rank() == pair.second {
        port.recv_window(pair.first, bytes, count);
        port.send(pair.first, 0);
    }
    port.now() - started
}

/// The windows of all `pairs` at the same time.
pub fn windows(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    window(port, *pair, bytes, count)
}

/// `count` blocking sends with a `delay` of computing between two, answered by an empty message: the time of all of it.
///
/// This is PRTT(n, d, s), the parametrized round trip time of Hoefler, Lichei and Rehm: Low-Overhead LogGP Parameter
/// Assessment for Modern Interconnection Networks, IPDPS 2007. [`super::link`] has the formulas that it serves.
pub fn train(port: &mut dyn RankPort, pair: RankPair, bytes: u64, count: u32, delay: f64) -> f64 {
    let started = port.now();
    if port.rank() == pair.first {
        for message in 0..count {
            if message > 0 && delay > 0.0 {
                port.compute(delay);
            }
            port.send(pair.second, bytes);
        }
        port.recv(pair.second, 0);
    } else if port.rank() == pair.second {
        (0..count).for_each(|_| port.recv(pair.first, bytes));
        port.send(pair.first, 0);
    }
    port.now() - started
}

/// A send, `work` and a receive against a receive, a send and `work`, `count` times: the mean time of one.
pub fn work_between(port: &mut dyn RankPort, pair: RankPair, bytes: u64, count: u32, work: f64) -> f64 {
    let started = port.now();
    for _ in 0..count {
        if port.rank() == pair.first {
            port.send(pair.second, bytes);
            port.compute(work);
            port.recv(pair.second, bytes);
        } else if port.rank() == pair.second {
            port.recv(pair.first, bytes);
            port.send(pair.first, bytes);
            port.compute(work);
        }
    }
    (port.now() - started) / f64::from(count)
}

/// What a receive takes when `count` messages have been there for long: the first rank computes for `delay`, longer
/// than the round trip, between asking for them and receiving them (Culler and others: Assessing Fast Network
/// Interfaces, IEEE Micro 16, 1996).
pub fn late_receive(port: &mut dyn RankPort, pair: RankPair, bytes: u64, count: u32, delay: f64) -> f64 {
    if port.rank() == pair.first {
        port.send(pair.second, 0);
        port.compute(delay);
        let started = port.now();
        (0..count).for_each(|_| port.recv(pair.second, bytes));
        return (port.now() - started) / f64::from(count);
    }
    if port.rank() == pair.second {
        port.recv(pair.first, 0);
        port.send_window(pair.first, bytes, count);
    }
    0.0
}

/// What is left of a receive that was posted before its message was sent, after `work` without MPI in which the message
/// could come.
pub fn posted_receive(port: &mut dyn RankPort, pair: RankPair, bytes: u64, work: f64) -> f64 {
    if port.rank() == pair.first {
        return port.recv_beside(pair.second, bytes, work);
    }
    if port.rank() == pair.second {
        port.recv(pair.first, 0);
        port.send(pair.first, bytes);
    }
    0.0
}

/// `count` messages from the first ranks of all `pairs` to the first pair's second rank, which asks for them with empty
/// messages: the time until it has them all.
pub fn incast(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32) -> f64 {
    let target = pairs[0].second;
    let started = port.now();
    if port.rank() == target {
        pairs.iter().for_each(|pair| port.send(pair.first, 0));
        let senders: Vec<u32> = pairs.iter().map(|pair| pair.first).collect();
        port.recv_windows(&senders, bytes, count);
    } else if pairs.iter().any(|pair| pair.first == port.rank()) {
        port.recv(target, 0);
        port.send_window(target, bytes, count);
    }
    port.now() - started
}

/// The time of `count` sends for which no receive is posted until `delay` later: eager ones that find buffers end
/// before. The receiving rank leaves its core meanwhile, which the sending one may share.
pub fn early_sends(port: &mut dyn RankPort, pair: RankPair, bytes: u64, count: u32, delay: f64) -> f64 {
    if port.rank() == pair.first {
        port.recv(pair.second, 0);
        let started = port.now();
        (0..count).for_each(|_| port.send(pair.second, bytes));
        return port.now() - started;
    }
    if port.rank() == pair.second {
        port.send(pair.first, 0);
        port.pause(delay);
        (0..count).for_each(|_| port.recv(pair.first, bytes));
    }
    0.0
}

/// Both ranks of all `pairs` send each other `count` messages at the same time: the time of that, the mean of `turns`.
pub fn exchanges(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32, turns: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    let other = if port.rank() == pair.first { pair.second } else { pair.first };
    let started = port.now();
    (0..turns).for_each(|_| port.exchange_window(other, bytes, count));
    (port.now() - started) / f64::from(turns)
}

/// The same, once, each message from and to a buffer of its own.
pub fn exchanges_of_buffers(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    let other = if port.rank() == pair.first { pair.second } else { pair.first };
    let started = port.now();
    port.exchange_buffers(other, bytes, count);
    port.now() - started
}

/// The first ranks of all `pairs` send at the same time and get an empty answer: the time of that, the mean of `turns`.
pub fn one_way(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, turns: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    let started = port.now();
    for _ in 0..turns {
        if port.rank() == pair.first {
            port.send(pair.second, bytes);
            port.recv(pair.second, 0);
        } else {
            port.recv(pair.first, bytes);
            port.send(pair.first, 0);
        }
    }
    (port.now() - started) / f64::from(turns)
}
