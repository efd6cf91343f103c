//! The machine with an ideal network: messages take no time, regardless of other messages.

use crate::units::SimSpan;

use super::{Baseline, Conditions, Contention, Link, Noise, Platform, ProgressEngine, Row};

impl Platform {
    /// Returns the machine without latency and with infinite bandwidth: no overheads, copies, load, credits or
    /// connections. Computing, and combining and copying in collectives, take the same time as before. Eager
    /// thresholds do not change, so a send waits for its receive in the same cases.
    ///
    /// Infinite is the greatest bandwidth that can be stated: 9 MB take half a picosecond.
    pub fn with_ideal_network(&self) -> Platform {
        let Conditions { progress, noise, nodes } = self.conditions.clone();
        // A progress thread takes time from computing, so it stays. Progress within calls belongs to the network.
        let progress = if progress == ProgressEngine::Call { ProgressEngine::Hardware } else { progress };
        Platform {
            links: self.links.each_ref().map(ideal),
            memory: None,
            conditions: Conditions { progress, noise: Noise { network: None, ..noise }, nodes },
            baseline: Baseline::default(),
            unread: Vec::new(),
            ..self.clone()
        }
    }
}

fn ideal(link: &Link) -> Link {
    Link::new(Contention::Ideal, link.eager_threshold(), SimSpan::ZERO, vec![Row::default()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Level;
    use crate::units::Bytes;

    #[test]
    fn messages_take_no_time_and_thresholds_stay() {
        let platform = Platform::load(Platform::default_document(), &[]).unwrap();
        let ideal = platform.with_ideal_network();
        for level in Level::ALL {
            let (link, before) = (ideal.link(level), platform.link(level));
            assert_eq!(link.eager_threshold(), before.eager_threshold());
            assert_eq!((link.least_latency(), link.handshake()), (SimSpan::ZERO, SimSpan::ZERO));
            assert_eq!(
                link.row(Bytes::new(1 << 20)).bytes_under(link.contention(), 1, Bytes::new(1 << 20)),
                SimSpan::ZERO
            );
        }
        assert_eq!((&ideal.core, ideal.shape), (&platform.core, platform.shape));
        assert_eq!(ideal.lookahead(), SimSpan::ZERO);
    }
}
