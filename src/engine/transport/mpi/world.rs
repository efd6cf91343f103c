//! The processes that MPI started together, and plain messages between them: what is said before and after a run.

use std::ffi::{c_int, c_void};

use mpi::environment::Universe;
use mpi::ffi;

/// What one MPI call transfers at most: its counts are C's int.
pub(super) const MOST: usize = 1 << 30;
/// Turns of polling before the process lets others have the core.
const TURNS: u32 = 200;
/// The tag of plain messages.
const PLAIN: c_int = 0;

/// The processes that MPI started together.
pub struct World {
    /// This process.
    pub me: u32,
    /// How many there are.
    pub size: u32,
    // Dropping it finalises MPI.
    _universe: Universe,
}

impl World {
    /// Starts MPI, which a process does once.
    ///
    /// # Errors
    /// If MPI has been started already, or lets no thread but one run.
    pub fn join() -> Result<World, String> {
        let (universe, threading) = mpi::initialize_with_threading(mpi::Threading::Funneled)
            .ok_or_else(|| "MPI has been started already".to_owned())?;
        if threading < mpi::Threading::Funneled {
            return Err("this MPI library was built without support of threads".to_owned());
        }
        let (mut me, mut size) = (0, 0);
        // SAFETY: MPI is initialised, and the numbers are written there.
        unsafe {
            ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut me);
            ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut size);
        }
        Ok(World { me: me as u32, size: size as u32, _universe: universe })
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
            poll(|| request.is_complete());
        }
    }

    fn receive(&self, from: u32) -> Vec<u8> {
        let mut size = [0; 8];
        receive_all(&mut size, from, PLAIN);
        let mut bytes = vec![0; u64::from_le_bytes(size) as usize];
        receive_all(&mut bytes, from, PLAIN);
        bytes
    }
}

/// Fills `bytes` from messages of at most [`MOST`] bytes each.
pub(super) fn receive_all(bytes: &mut [u8], from: u32, tag: c_int) {
    for part in bytes.chunks_mut(MOST) {
        // SAFETY: the bytes stay borrowed until the request is complete.
        let mut request = unsafe { receive(part, from, tag) };
        poll(|| request.is_complete());
    }
}

/// A started operation. MPI's default is to end the program on errors, so that codes need not be looked at.
pub(super) struct Request(ffi::MPI_Request);

impl Request {
    pub fn is_complete(&mut self) -> bool {
        let mut flag = 0;
        // SAFETY: a request that MPI gave, or the null request that it becomes once complete.
        unsafe { ffi::MPI_Test(&mut self.0, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        flag != 0
    }

    pub fn of(start: impl FnOnce(&mut ffi::MPI_Request)) -> Request {
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        start(&mut request);
        Request(request)
    }
}

/// Starts sending at most [`MOST`] bytes.
///
/// # Safety
/// They stay where and as they are until the request is complete.
pub(super) unsafe fn send(bytes: &[u8], to: u32, tag: c_int) -> Request {
    let (start, count) = (bytes.as_ptr().cast::<c_void>(), bytes.len() as c_int);
    // SAFETY: by the condition above.
    Request::of(|request| unsafe {
        ffi::MPI_Isend(start, count, ffi::RSMPI_UINT8_T, to as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
    })
}

/// Starts receiving exactly as many bytes as there is room for, at most [`MOST`].
///
/// # Safety
/// They stay where they are, and nobody else touches them, until the request is complete.
pub(super) unsafe fn receive(bytes: &mut [u8], from: u32, tag: c_int) -> Request {
    let (start, count) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len() as c_int);
    // SAFETY: by the condition above.
    Request::of(|request| unsafe {
        ffi::MPI_Irecv(start, count, ffi::RSMPI_UINT8_T, from as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
    })
}

/// Asks until it is so, with something useful between if there is something. Unlike MPI's own ways of waiting, this lets another process have the core where there are more
/// processes than cores.
pub(super) fn poll(mut is_so: impl FnMut() -> bool) {
    let mut turns = 0;
    while !is_so() {
        if turns < TURNS {
            turns += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// Ends all processes at once with this code, if MPI runs; otherwise gives it back.
pub fn end_all(code: i32) {
    let (mut begun, mut over) = (0, 0);
    // SAFETY: these may be called at any time and from any thread; MPI_Abort too in both libraries, if not by the standard.
    unsafe {
        ffi::MPI_Initialized(&mut begun);
        ffi::MPI_Finalized(&mut over);
        if begun != 0 && over == 0 {
            ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code);
        }
    }
}
