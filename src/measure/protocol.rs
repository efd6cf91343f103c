//! Operations of the two ranks of a pair for one sample of each test.
//!
//! Both ranks of the pair call each function with the same arguments, and it returns the seconds of the first; other
//! ranks may call it and do nothing.

use super::port::RankPort;

/// Two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPair {
    /// Rank that measures.
    pub first: u32,
    /// Rank that answers.
    pub second: u32,
}

impl RankPair {
    pub(super) fn has(self, rank: u32) -> bool {
        self.first == rank || self.second == rank
    }
}

/// Returns half a round trip of messages of `bytes`, the mean of `turns`.
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

/// Sends `count` concurrent messages, and an empty answer; returns the total time.
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

/// Runs the windows of the `pairs` concurrently.
pub fn windows(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    window(port, *pair, bytes, count)
}

/// Sends `count` blocking messages with a `delay` of computing between consecutive ones, and an empty answer; returns
/// the total time.
///
/// This is PRTT(n, d, s), the parametrized round trip time of Hoefler, Lichei and Rehm: Low-Overhead LogGP Parameter
/// Assessment for Modern Interconnection Networks, IPDPS 2007. [`super::link`] has the formulas that use it.
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

/// Runs a send, `work` and a receive against a receive, a send and `work`, `count` times; returns the mean time of one.
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

/// Returns the time of a receive of `count` messages that arrived long before. The first rank computes for `delay`,
/// longer than the round trip, between the request and the receives (Culler and others: Assessing Fast Network
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

/// Returns the remaining time of a receive that was posted before its message was sent, after `work` without MPI in
/// which the message could arrive.
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

/// Sends `count` messages from the first rank of each pair to the first pair's second rank, which requests
/// them with empty messages. Returns the time until it has all.
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

/// Returns the time of `count` sends whose receives are posted `delay` later; eager sends with buffers end earlier.
/// Meanwhile the receiving rank releases its core, which the sending one may share.
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

/// Exchanges `count` messages between both ranks of each pair concurrently; returns the mean time of `turns`.
pub fn exchanges(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32, turns: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    let other = if port.rank() == pair.first { pair.second } else { pair.first };
    let started = port.now();
    (0..turns).for_each(|_| port.exchange_window(other, bytes, count));
    (port.now() - started) / f64::from(turns)
}

/// Does the same once, with a separate buffer for each message.
pub fn exchanges_of_buffers(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    let other = if port.rank() == pair.first { pair.second } else { pair.first };
    let started = port.now();
    port.exchange_buffers(other, bytes, count);
    port.now() - started
}

/// Sends from the first rank of each pair concurrently, with an empty answer; returns the mean time of `turns`.
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
