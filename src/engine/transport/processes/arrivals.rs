//! Incoming packages (serialized events) from other host processes. Packages are received in parts while the leader
//! does other work. Complete packages are delivered in the order in which each source process sent them.

use std::collections::VecDeque;

use super::network::{HostNetwork, HostRequest, MOST};
use super::wire::Package;
use mcpsim_base::rank::Data;

/// Packages that arrive with two tags: one tag for the package, and one for the large data of the package.
pub struct Arrivals {
    tags: [i32; 2],
    under_way: VecDeque<Arrival>,
}

/// A package that has been received in part.
struct Arrival {
    from: u32,
    package: Package,
    /// Pending receives for the bytes of the package or for its large data.
    requests: Vec<HostRequest>,
    /// The package has arrived, so the sizes of its large data are known, and the large data are being received.
    is_open: bool,
}

impl Arrivals {
    pub fn new(tags: [i32; 2]) -> Self {
        Arrivals { tags, under_way: VecDeque::new() }
    }

    /// Returns the next package in order, if it has arrived completely.
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
            // Later packages of the same source have not yet posted receives for their large data, so each package
            // receives its own large data.
            first.is_open = true;
            first.package.large = first.package.sizes().into_iter().map(|size| Data::from(vec![0; size])).collect();
            for data in &mut first.package.large {
                first.requests.extend(receive_all(network, data.bytes_mut(), first.from, self.tags[1]));
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
    /// Leaks the memory of incomplete packages, because the network may still write to this memory. Incomplete packages
    /// exist only if the host process ends early.
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
