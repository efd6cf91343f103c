//! Packages on their way to this process: received piece by piece while the leader does other things, and given out
//! whole, those of a process in the order sent.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;

use mpi::ffi;

use super::wire::Package;
use super::world::{HostRequest, MOST, receive};

/// Packages that come with two tags: one for themselves, and one for what is large.
pub struct Arrivals {
    tags: [c_int; 2],
    under_way: VecDeque<Arrival>,
}

/// A package of which something has come.
struct Arrival {
    from: u32,
    package: Package,
    /// What is still to come.
    requests: Vec<HostRequest>,
    /// Its sizes are known, and what is large is being received.
    is_open: bool,
}

impl Arrivals {
    pub fn new(tags: [c_int; 2]) -> Self {
        Arrivals { tags, under_way: VecDeque::new() }
    }

    /// The next package, if it is here.
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
            // Those behind it have none posted yet, so that each gets its own.
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

    /// The sender and the size of a package that nobody receives yet.
    fn probe(&self) -> Option<(u32, usize)> {
        let (mut flag, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        // SAFETY: the status is written if there is a message, and not looked at otherwise.
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
    /// Only a process that ends at once leaves packages under way; MPI may still write to them.
    fn drop(&mut self) {
        self.under_way.drain(..).for_each(std::mem::forget);
    }
}

/// Starts receiving a package's `bytes`, or what is large, in messages of at most [`MOST`] bytes each.
fn receive_all(bytes: &mut [u8], from: u32, tag: c_int) -> Vec<HostRequest> {
    // SAFETY: the bytes are a vector's, which stays as it is in its arrival until the requests are complete, or for
    // ever.
    bytes.chunks_mut(MOST).map(|part| unsafe { receive(part, from, tag) }).collect()
}
