//! The processes of an MPI job, and plain messages between them before and after a run.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use mpi::environment::Universe;
use mpi::ffi;
use mpi::traits::Communicator;

use crate::engine::processes::HostThreads;
use crate::engine::transport::backoff::Backoff;

/// Maximum count of one MPI call, because counts are C's int.
pub(super) const MOST: usize = 1 << 30;
/// Number of polls, each of some tenths of a microsecond, before the process sleeps. The number is lower if the process
/// may occupy a core that the others need.
const PATIENT: u32 = 500;
const HASTY: u32 = 20;
/// Setting of Open MPI that yields the core at each test for messages. A yield takes milliseconds, see [`Backoff`].
/// Open MPI sets it by default if there are more processes than cores.
const YIELDS: &str = "OMPI_MCA_mpi_yield_when_idle";
/// Time for MPI's finalisation if processes end early.
const LAST: Duration = Duration::from_secs(1);
/// Time for the launcher to read the last output of a process before all are ended, ms. MPICH's launcher drops unread
/// output.
const HEARING: u32 = 1000;
/// Tag of plain messages.
const PLAIN: c_int = 0;

/// Processes of the MPI job.
pub struct TransportWorld {
    /// Number of this process.
    pub me: u32,
    /// Number of processes.
    pub size: u32,
    /// Number of processes on this host.
    here: u32,
    // Finalises MPI when dropped.
    _universe: Universe,
}

impl TransportWorld {
    /// Starts MPI; a process can do this once.
    ///
    /// # Errors
    /// If MPI has already been started, or does not support the needed threads.
    pub fn join(threads: HostThreads) -> Result<TransportWorld, String> {
        let wanted = match threads {
            HostThreads::None => mpi::Threading::Single,
            HostThreads::Several => mpi::Threading::Funneled,
        };
        // Measurements use the library as programs do, without this setting.
        let simulates = threads == HostThreads::Several;
        if simulates && std::env::var_os(YIELDS).is_none() {
            // SAFETY: no other thread reads the environment yet.
            unsafe { std::env::set_var(YIELDS, "0") };
        }
        let (universe, threading) =
            mpi::initialize_with_threading(wanted).ok_or_else(|| "MPI has been started already".to_owned())?;
        if threading < wanted {
            return Err("this MPI library was built without support of threads".to_owned());
        }
        if simulates {
            // Sleeps are short, and by default Linux adds 50 microseconds.
            // SAFETY: the call changes only the wake-up time of this thread and of threads that it starts.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        }
        let world = universe.world();
        let here = world.split_shared(0).size() as u32;
        Ok(TransportWorld { me: world.rank() as u32, size: world.size() as u32, here, _universe: universe })
    }

    /// Returns the number of threads that wait for each other on the cores of this process, with `threads` per process.
    pub fn busy(&self, threads: u32) -> u32 {
        // SAFETY: the call only queries a number.
        let all = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        // If a launcher has bound this process to some cores, it has bound the other processes to others.
        let is_bound = (cores() as i64) < all;
        threads * if is_bound { 1 } else { self.here }
    }

    /// Returns the number of polls before a sleep, with `threads` per process.
    pub fn turns(&self, threads: u32) -> u32 {
        if self.busy(threads) as usize <= cores() { PATIENT } else { HASTY }
    }

    /// Returns the name of the MPI library, in one line.
    pub fn library() -> String {
        let text = mpi::environment::library_version().unwrap_or_default();
        text.lines().next().unwrap_or_default().trim_end_matches(['\0', ',']).to_owned()
    }

    /// Returns the name of this host.
    pub fn host() -> String {
        mpi::environment::processor_name().unwrap_or_default()
    }

    /// Sends the bytes of process 0 to all processes.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) {
        if self.me == 0 {
            (1..self.size).for_each(|to| self.send(to, bytes));
        } else {
            *bytes = self.receive(0);
        }
    }

    /// Returns the bytes of all processes to process 0, in order; the others receive an empty vector.
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
            let mut request = unsafe { send(part, to, PLAIN) };
            poll(HASTY, &mut || false, || request.is_complete());
        }
    }

    fn receive(&self, from: u32) -> Vec<u8> {
        let mut size = [0; 8];
        receive_all(&mut size, from);
        let mut bytes = vec![0; u64::from_le_bytes(size) as usize];
        receive_all(&mut bytes, from);
        bytes
    }
}

/// Returns the number of cores that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Fills `bytes` from plain messages of at most [`MOST`] bytes each.
fn receive_all(bytes: &mut [u8], from: u32) {
    for part in bytes.chunks_mut(MOST) {
        // SAFETY: the bytes stay borrowed until the request is complete.
        let mut request = unsafe { receive(part, from, PLAIN) };
        poll(HASTY, &mut || false, || request.is_complete());
    }
}

/// A started operation. By default MPI ends the program on errors, so error codes are not checked.
pub(super) struct HostRequest(ffi::MPI_Request);

impl HostRequest {
    pub fn is_complete(&mut self) -> bool {
        let mut flag = 0;
        // SAFETY: this is a request from MPI, or the null request after its completion.
        unsafe { ffi::MPI_Test(&mut self.0, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        flag != 0
    }

    pub fn of(start: impl FnOnce(&mut ffi::MPI_Request)) -> HostRequest {
        // SAFETY: this is a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        start(&mut request);
        HostRequest(request)
    }
}

/// Starts to send at most [`MOST`] bytes.
///
/// # Safety
/// The bytes must stay in place and unchanged until the request is complete.
pub(super) unsafe fn send(bytes: &[u8], to: u32, tag: c_int) -> HostRequest {
    let (start, count) = (bytes.as_ptr().cast::<c_void>(), bytes.len() as c_int);
    // SAFETY: guaranteed by the caller.
    HostRequest::of(|request| unsafe {
        ffi::MPI_Isend(start, count, ffi::RSMPI_UINT8_T, to as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
    })
}

/// Starts to receive exactly `bytes.len()` bytes, at most [`MOST`].
///
/// # Safety
/// The bytes must stay in place and unused until the request is complete.
pub(super) unsafe fn receive(bytes: &mut [u8], from: u32, tag: c_int) -> HostRequest {
    let (start, count) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len() as c_int);
    // SAFETY: guaranteed by the caller.
    HostRequest::of(|request| unsafe {
        ffi::MPI_Irecv(start, count, ffi::RSMPI_UINT8_T, from as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
    })
}

/// Polls until `is_so` returns true, and calls `meanwhile` between polls. Unlike the waits of MPI, this yields the core
/// to other processes if there are more processes than cores.
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

/// Ends all processes at once with this code, if MPI runs, after the launcher has read the output of this process.
pub fn end_all(code: i32) {
    if is_running() {
        for _ in 0..HEARING {
            if ![libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().any(is_unread) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: both libraries permit this call in any thread, although the standard does not.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
    }
}

/// Returns whether the file is a pipe with unread data.
fn is_unread(output: c_int) -> bool {
    // SAFETY: both calls write into their arguments, and only on success.
    unsafe {
        let (mut status, mut bytes) = (std::mem::zeroed::<libc::stat>(), 0 as c_int);
        libc::fstat(output, &mut status) == 0
            && status.st_mode & libc::S_IFMT == libc::S_IFIFO
            && libc::ioctl(output, libc::FIONREAD, &mut bytes) == 0
            && bytes > 0
    }
}

/// Ends this process at once with this code, if MPI runs, because the exit handlers of MPI libraries wait for each
/// other.
pub fn leave(code: i32) {
    if is_running() {
        // SAFETY: no other code of this process needs to run.
        unsafe { libc::_exit(code) }
    }
}

/// Ends this process with this code after [`LAST`], if MPI runs.
pub fn leave_soon(code: i32) {
    if is_running() {
        std::thread::spawn(move || {
            std::thread::sleep(LAST);
            // SAFETY: only the finalisation of MPI may still run.
            unsafe { libc::_exit(code) }
        });
    }
}

fn is_running() -> bool {
    let (mut begun, mut over) = (0, 0);
    // SAFETY: these functions may be called at any time and from any thread.
    unsafe {
        ffi::MPI_Initialized(&mut begun);
        ffi::MPI_Finalized(&mut over);
    }
    begun != 0 && over == 0
}
