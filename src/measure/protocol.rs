//! Operations of the two ranks of a pair for one sample of each message test.
//!
//! Both ranks of the pair call each function with the same arguments. The functions return the seconds of the first
//! rank. Ranks outside the pair may call the functions, and then do not communicate.

use super::port::RankPort;

/// Two ranks that measure message times together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPair {
    /// Rank whose clock measures the times.
    pub first: u32,
    /// Rank that answers the first rank.
    pub second: u32,
}

impl RankPair {
    pub(super) fn has(self, rank: u32) -> bool {
        self.first == rank || self.second == rank
    }
}

/// Returns half the time of a round trip of messages of `bytes`, as the mean of `turns` round trips.
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

/// Runs the ping-pongs of the rank pairs `pairs` concurrently.
pub fn ping_pongs(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, turns: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    ping_pong(port, *pair, bytes, turns)
}

/// Sends `count` concurrent messages from the first rank, and an empty answer back. Returns the total time in seconds.
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

/// Runs the windows of all rank pairs in `pairs` concurrently.
pub fn windows(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    window(port, *pair, bytes, count)
}

/// Sends `count` blocking messages, computes for `delay` seconds between consecutive messages, and sends an empty
/// answer back. Returns the total time in seconds.
///
/// The total time of the messages is PRTT(n, d, s), the parametrized round trip time of Hoefler, Lichei and Rehm:
/// Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks, IPDPS 2007. [`super::link`] has the
/// formulas that use PRTT.
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

/// The first rank sends, computes and receives while the second rank receives, sends and computes. Both ranks repeat
/// these operations `count` times. Returns the mean time of one repetition.
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

/// Returns the time of a receive of `count` messages that arrived long before. The first rank asks for the messages,
/// computes for `delay` seconds, which is longer than the round trip, and then receives (Culler and others: Assessing
/// Fast Network Interfaces, IEEE Micro 16, 1996).
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

/// Returns the remaining time of a receive after `work` seconds of computation without MPI. The receive was posted
/// before its message was sent, and the message could arrive during the computation.
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

/// Sends `count` messages from the first rank of each pair to the second rank of the first pair. The receiving rank
/// requests the messages by empty messages. Returns the time until the receiving rank has received all messages.
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

/// Returns the time of `count` sends whose receives are posted `delay` seconds later. Eager sends end before the
/// receives are posted if the library can buffer the messages. Meanwhile the receiving rank releases its core, which
/// the sending rank may share.
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

/// Exchanges `count` messages between the two ranks of each pair concurrently. Returns the mean time of `turns`
/// exchanges in seconds.
pub fn exchanges(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32, turns: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    let other = if port.rank() == pair.first { pair.second } else { pair.first };
    let started = port.now();
    (0..turns).for_each(|_| port.exchange_window(other, bytes, count));
    (port.now() - started) / f64::from(turns)
}

/// Executes the message exchange of [`exchanges`] once, with a separate buffer for each message.
pub fn exchanges_of_buffers(port: &mut dyn RankPort, pairs: &[RankPair], bytes: u64, count: u32) -> f64 {
    let Some(pair) = pairs.iter().find(|pair| pair.has(port.rank())) else { return 0.0 };
    let other = if port.rank() == pair.first { pair.second } else { pair.first };
    let started = port.now();
    port.exchange_buffers(other, bytes, count);
    port.now() - started
}

/// Sends a message from the first rank of each pair concurrently, and an empty answer back. Returns the mean time of
/// `turns` repetitions in seconds.
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
