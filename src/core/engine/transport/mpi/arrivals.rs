//! Incoming packages. They are received in parts while the leader does other work, and delivered complete, in the order
//! of sending for each source process.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;

use mpi::ffi;

use super::wire::Package;
use super::world::{HostRequest, MOST, receive};

/// Packages with two tags: one for the package, and one for its large data.
pub struct Arrivals {
    tags: [c_int; 2],
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
    pub fn new(tags: [c_int; 2]) -> Self {
        Arrivals { tags, under_way: VecDeque::new() }
    }

    /// Returns the next package, if it has arrived.
    pub fn take(&mut self) -> Option<Package> {
        while let Some((from, size)) = self.probe() {
            let mut package = Package { bytes: vec![0; size], large: Vec::new() };
            let requests = receive_all(&mut package.bytes, from, self.tags[0]);
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
                first.requests.extend(receive_all(data, first.from, self.tags[1]));
            }
            if !first.is_here() {
                return None;
            }
        }
        self.under_way.pop_front().map(|arrival| arrival.package)
    }

    /// Returns the sender and the size of an arrived package without a posted receive.
    fn probe(&self) -> Option<(u32, usize)> {
        let (mut flag, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        // SAFETY: MPI writes the status if there is a message; otherwise the status is not read.
        unsafe {
            let any = ffi::RSMPI_ANY_SOURCE;
            ffi::MPI_Iprobe(any, self.tags[0], ffi::RSMPI_COMM_WORLD, &mut flag, status.as_mut_ptr());
            if flag == 0 {
                return None;
            }
            let (status, mut size) = (status.assume_init(), 0);
            ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut size);
            Some((status.MPI_SOURCE as u32, size as usize))
        }
    }
}

impl Arrival {
    fn is_here(&mut self) -> bool {
        self.requests.iter_mut().all(HostRequest::is_complete)
    }
}

impl Drop for Arrivals {
    /// Leaks incomplete packages, because MPI may still write to them. They exist only if the process ends early.
    fn drop(&mut self) {
        self.under_way.drain(..).for_each(std::mem::forget);
    }
}

/// Starts to receive `bytes` of a package or of large data, in messages of at most [`MOST`] bytes.
fn receive_all(bytes: &mut [u8], from: u32, tag: c_int) -> Vec<HostRequest> {
    // SAFETY: the bytes belong to a vector that stays unchanged in its arrival until the requests are complete, or is
    // leaked.
    bytes.chunks_mut(MOST).map(|part| unsafe { receive(part, from, tag) }).collect()
}
