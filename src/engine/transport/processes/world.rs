//! The host processes of a run, and simple messages between host processes before and after a run.

use crate::transport::backoff::Backoff;

use super::network::{HostNetwork, MOST};

/// Number of polls, of some tenths of a microsecond each, before a host process sleeps. The number of polls is lower if
/// the host process may occupy a core that the other host processes need.
const PATIENT: u32 = 500;
const HASTY: u32 = 20;
/// Tag of messages between host processes before and after a run.
const PLAIN: i32 = 0;

/// The host processes of a run.
pub struct TransportWorld {
    /// Number of this host process, from 0.
    pub me: u32,
    /// Number of host processes.
    pub size: u32,
    pub network: Box<dyn HostNetwork>,
}

impl TransportWorld {
    pub fn new(network: Box<dyn HostNetwork>) -> TransportWorld {
        TransportWorld { me: network.me(), size: network.size(), network }
    }

    /// Returns the number of threads that wait for each other on the cores of this host process, if each host process
    /// has `threads` threads.
    pub fn busy(&self, threads: u32) -> u32 {
        // SAFETY: the call only queries a number.
        let all = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        // If a launcher has bound this host process to some cores, the launcher has bound the other host processes to
        // other cores.
        let is_bound = (cores() as i64) < all;
        threads * if is_bound { 1 } else { self.network.here() }
    }

    /// Returns the number of polls before a sleep, if each host process has `threads` threads.
    pub fn turns(&self, threads: u32) -> u32 {
        if self.busy(threads) as usize <= cores() { PATIENT } else { HASTY }
    }

    /// Sends the bytes of host process 0 to all host processes.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) {
        if self.me == 0 {
            (1..self.size).for_each(|to| self.send(to, bytes));
        } else {
            *bytes = self.receive(0);
        }
    }

    /// Returns the bytes of all host processes to host process 0, in order; the other host processes receive an empty
    /// vector.
    pub fn gather(&self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        if self.me != 0 {
            self.send(0, &bytes);
            return Vec::new();
        }
        let mut all = vec![bytes];
        all.extend((1..self.size).map(|from| self.receive(from)));
        all
    }

    fn send(&self, to: u32, bytes: &[u8]) {
        let size = (bytes.len() as u64).to_le_bytes();
        for part in std::iter::once(&size[..]).chain(bytes.chunks(MOST)) {
            // SAFETY: the bytes stay borrowed until the request is complete.
            let mut request = unsafe { self.network.send(part, to, PLAIN) };
            poll(HASTY, &mut || false, || request.is_complete());
        }
    }

    fn receive(&self, from: u32) -> Vec<u8> {
        let mut size = [0; 8];
        self.receive_all(&mut size, from);
        let mut bytes = vec![0; u64::from_le_bytes(size) as usize];
        self.receive_all(&mut bytes, from);
        bytes
    }

    /// Receives `bytes` from the host process `from` in messages of at most [`MOST`] bytes each.
    fn receive_all(&self, bytes: &mut [u8], from: u32) {
        for part in bytes.chunks_mut(MOST) {
            // SAFETY: the bytes stay borrowed until the request is complete.
            let mut request = unsafe { self.network.receive(part, from, PLAIN) };
            poll(HASTY, &mut || false, || request.is_complete());
        }
    }
}

/// Returns the number of host cores that this host process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Polls until `is_so` returns true, and calls `meanwhile` between polls. Unlike the waits of MPI, this function yields
/// the core to other host processes if there are more host processes than cores.
pub(super) fn poll(turns: u32, meanwhile: &mut dyn FnMut() -> bool, mut is_so: impl FnMut() -> bool) {
    let mut patience = Backoff::new(turns);
    while !is_so() {
        if meanwhile() {
            patience.renew();
        } else {
            patience.wait(std::thread::sleep);
        }
    }
}
