//! Incoming packages. They are received in parts while the leader does other work, and delivered complete, in the order
//! of sending for each source process.

use std::collections::VecDeque;

use super::network::{HostNetwork, HostRequest, MOST};
use super::wire::Package;

/// Packages with two tags: one for the package, and one for its large data.
pub struct Arrivals {
    tags: [i32; 2],
    under_way: VecDeque<Arrival>,
}

/// A partly received package.
struct Arrival {
    from: u32,
    package: Package,
    /// Pending receives.
    requests: Vec<HostRequest>,
    /// The sizes are known, and the large data are being received.
    is_open: bool,
}

impl Arrivals {
    pub fn new(tags: [i32; 2]) -> Self {
        Arrivals { tags, under_way: VecDeque::new() }
    }

    /// Returns the next package, if it has arrived.
    pub fn take(&mut self, network: &dyn HostNetwork) -> Option<Package> {
        while let Some((from, size)) = network.probe(self.tags[0]) {
            let mut package = Package { bytes: vec![0; size], large: Vec::new() };
            let requests = receive_all(network, &mut package.bytes, from, self.tags[0]);
            self.under_way.push_back(Arrival { from, package, requests, is_open: false });
        }
        let first = self.under_way.front_mut()?;
        if !first.is_here() {
            return None;
        }
        if !first.is_open {
            // Later packages have not yet posted receives for large data, so each package gets its own.
            first.is_open = true;
            first.package.large = first.package.sizes().into_iter().map(|size| Box::new(vec![0; size])).collect();
            for data in &mut first.package.large {
                first.requests.extend(receive_all(network, data, first.from, self.tags[1]));
            }
            if !first.is_here() {
                return None;
            }
        }
        self.under_way.pop_front().map(|arrival| arrival.package)
    }
}

impl Arrival {
    fn is_here(&mut self) -> bool {
        self.requests.iter_mut().all(HostRequest::is_complete)
    }
}

impl Drop for Arrivals {
    /// Leaks incomplete packages, because the network may still write to them. They exist only if the process ends early.
    fn drop(&mut self) {
        self.under_way.drain(..).for_each(std::mem::forget);
    }
}

/// Starts to receive `bytes` of a package or of large data, in messages of at most [`MOST`] bytes.
fn receive_all(network: &dyn HostNetwork, bytes: &mut [u8], from: u32, tag: i32) -> Vec<HostRequest> {
    // SAFETY: the bytes belong to a vector that stays unchanged in its arrival until the requests are complete, or is
    // leaked.
    bytes.chunks_mut(MOST).map(|part| unsafe { network.receive(part, from, tag) }).collect()
}
