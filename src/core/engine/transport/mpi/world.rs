//! The processes that MPI started together, and plain messages between them: what is said before and after a run.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use mpi::environment::Universe;
use mpi::ffi;
use mpi::traits::Communicator;

use crate::engine::processes::HostThreads;
use crate::engine::transport::backoff::Backoff;

/// What one MPI call transfers at most: its counts are C's int.
pub(super) const MOST: usize = 1 << 30;
/// Turns of polling, each of some tenths of a microsecond, before the process falls asleep: fewer where it may have the
/// very core that the others need.
const PATIENT: u32 = 500;
const HASTY: u32 = 20;
/// Open MPI's setting by which it gives the core away whenever it is asked whether something has come: for
/// milliseconds, see [`Backoff`]. It does so of its own accord where there are more processes than cores.
const YIELDS: &str = "OMPI_MCA_mpi_yield_when_idle";
/// What the end of MPI gets when the processes end before their time.
const LAST: Duration = Duration::from_secs(1);
/// What a launcher gets to read the last words of a process before all are ended, ms: MPICH's drops what it has not
/// read by then.
const HEARING: u32 = 1000;
/// The tag of plain messages.
const PLAIN: c_int = 0;

/// The processes that MPI started together.
pub struct TransportWorld {
    /// This process.
    pub me: u32,
    /// How many there are.
    pub size: u32,
    /// How many are on this host.
    here: u32,
    // Dropping it finalises MPI.
    _universe: Universe,
}

impl TransportWorld {
    /// Starts MPI, which a process does once.
    ///
    /// # Errors
    /// If MPI has been started already, or lets no thread but one run.
    pub fn join(threads: HostThreads) -> Result<TransportWorld, String> {
        let wanted = match threads {
            HostThreads::None => mpi::Threading::Single,
            HostThreads::Several => mpi::Threading::Funneled,
        };
        // What is measured is the library as programs meet it.
        let simulates = threads == HostThreads::Several;
        if simulates && std::env::var_os(YIELDS).is_none() {
            // SAFETY: no other thread looks at the environment yet.
            unsafe { std::env::set_var(YIELDS, "0") };
        }
        let (universe, threading) =
            mpi::initialize_with_threading(wanted).ok_or_else(|| "MPI has been started already".to_owned())?;
        if threading < wanted {
            return Err("this MPI library was built without support of threads".to_owned());
        }
        if simulates {
            // Naps are short: by default Linux adds 50 microseconds.
            // SAFETY: changes nothing but when this thread, and those it starts, are woken.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        }
        let world = universe.world();
        let here = world.split_shared(0).size() as u32;
        Ok(TransportWorld { me: world.rank() as u32, size: world.size() as u32, here, _universe: universe })
    }

    /// How many threads wait for each other on the cores that this process may use, if each process has so many.
    pub fn busy(&self, threads: u32) -> u32 {
        // SAFETY: asks the system for a number.
        let all = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        // A launcher that has bound the process to some cores has given others to the others.
        let is_bound = (cores() as i64) < all;
        threads * if is_bound { 1 } else { self.here }
    }

    /// How long to poll, in turns, if each process has so many threads.
    pub fn turns(&self, threads: u32) -> u32 {
        if self.busy(threads) as usize <= cores() { PATIENT } else { HASTY }
    }

    /// What the MPI library calls itself, in one line.
    pub fn library() -> String {
        let text = mpi::environment::library_version().unwrap_or_default();
        text.lines().next().unwrap_or_default().trim_end_matches(['\0', ',']).to_owned()
    }

    /// The host this process runs on.
    pub fn host() -> String {
        mpi::environment::processor_name().unwrap_or_default()
    }

    /// Gives all processes the bytes of process 0.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) {
        if self.me == 0 {
            (1..self.size).for_each(|to| self.send(to, bytes));
        } else {
            *bytes = self.receive(0);
        }
    }

    /// Gives process 0 the bytes of all, in order; others get nothing.
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

/// The cores that this process may use.
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

/// A started operation. MPI's default is to end the program on errors, so that codes need not be looked at.
pub(super) struct HostRequest(ffi::MPI_Request);

impl HostRequest {
    pub fn is_complete(&mut self) -> bool {
        let mut flag = 0;
        // SAFETY: a request that MPI gave, or the null request that it becomes once complete.
        unsafe { ffi::MPI_Test(&mut self.0, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        flag != 0
    }

    pub fn of(start: impl FnOnce(&mut ffi::MPI_Request)) -> HostRequest {
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        start(&mut request);
        HostRequest(request)
    }
}

/// Starts sending at most [`MOST`] bytes.
///
/// # Safety
/// They stay where and as they are until the request is complete.
pub(super) unsafe fn send(bytes: &[u8], to: u32, tag: c_int) -> HostRequest {
    let (start, count) = (bytes.as_ptr().cast::<c_void>(), bytes.len() as c_int);
    // SAFETY: by the condition above.
    HostRequest::of(|request| unsafe {
        ffi::MPI_Isend(start, count, ffi::RSMPI_UINT8_T, to as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
    })
}

/// Starts receiving exactly as many bytes as there is room for, at most [`MOST`].
///
/// # Safety
/// They stay where they are, and nobody else touches them, until the request is complete.
pub(super) unsafe fn receive(bytes: &mut [u8], from: u32, tag: c_int) -> HostRequest {
    let (start, count) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len() as c_int);
    // SAFETY: by the condition above.
    HostRequest::of(|request| unsafe {
        ffi::MPI_Irecv(start, count, ffi::RSMPI_UINT8_T, from as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
    })
}

/// Asks until it is so, with something useful between if there is something. Unlike MPI's own ways of waiting, this
/// lets another process have the core where there are more processes than cores.
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

/// Ends all processes at once with this code, if MPI runs, after the launcher has read what this one said.
pub fn end_all(code: i32) {
    if is_running() {
        for _ in 0..HEARING {
            if ![libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().any(is_unread) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: both libraries let any thread do so, if not the standard.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
    }
}

/// Whether this is a pipe with something in it.
fn is_unread(output: c_int) -> bool {
    // SAFETY: both calls write into the variables given to them, and only on success.
    unsafe {
        let (mut status, mut bytes) = (std::mem::zeroed::<libc::stat>(), 0 as c_int);
        libc::fstat(output, &mut status) == 0
            && status.st_mode & libc::S_IFMT == libc::S_IFIFO
            && libc::ioctl(output, libc::FIONREAD, &mut bytes) == 0
            && bytes > 0
    }
}

/// Ends this process at once with this code, if MPI runs: its libraries' ways to end wait for each other.
pub fn leave(code: i32) {
    if is_running() {
        // SAFETY: nothing is run any more.
        unsafe { libc::_exit(code) }
    }
}

/// Ends this process with this code after [`LAST`], if MPI runs.
pub fn leave_soon(code: i32) {
    if is_running() {
        std::thread::spawn(move || {
            std::thread::sleep(LAST);
            // SAFETY: nothing is run any more but MPI's end.
            unsafe { libc::_exit(code) }
        });
    }
}

fn is_running() -> bool {
    let (mut begun, mut over) = (0, 0);
    // SAFETY: these may be called at any time and from any thread.
    unsafe {
        ffi::MPI_Initialized(&mut begun);
        ffi::MPI_Finalized(&mut over);
    }
    begun != 0 && over == 0
}
