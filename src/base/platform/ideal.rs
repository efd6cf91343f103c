//! The machine with an ideal network: each message takes no time, regardless of other messages.

use crate::units::SimSpan;

use super::{Baseline, Conditions, Contention, Link, Noise, Platform, ProgressEngine, Row};

impl Platform {
    /// Returns the machine with no latency, infinite bandwidth, and no overheads, copies, load effects, credits or
    /// connection set-up. Computation takes the same time as before, and so do combining and copying in collectives.
    /// Eager thresholds do not change, so a send waits for its receive in the same cases as before.
    ///
    /// The infinite bandwidth is the greatest bandwidth that can be stated, at which 9 MB take half a picosecond.
    pub fn with_ideal_network(&self) -> Platform {
        let Conditions { progress, noise, nodes } = self.conditions.clone();
        // A progress thread takes time from computation, so the ideal network does not remove the thread. Progress only
        // within MPI calls is a property of the network and is removed.
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
