//! Messages between host processes over the world communicator of the host's MPI library.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use mcpsim_core::engine::{HostNetwork, HostReduction, HostRequest, HostThreads, merge_words};
use mpi::environment::Universe;
use mpi::ffi;
use mpi::traits::Communicator;

/// Open MPI setting that yields the core at each test for messages. A yield takes milliseconds, so mcpsim sleeps
/// between tests instead. Open MPI enables the setting by default if a machine has more MPI processes than cores.
const YIELDS: &str = "OMPI_MCA_mpi_yield_when_idle";

/// Connection of the host processes of an MPI job. MPI ends the program on errors, so return codes of MPI calls are
/// not checked.
pub struct MpiNetwork {
    me: u32,
    size: u32,
    here: u32,
    // Finalises MPI when the network is dropped.
    _universe: Universe,
}

impl MpiNetwork {
    /// Starts MPI. A host process can start MPI only once.
    ///
    /// # Errors
    /// MPI has already been started, or the MPI library does not support the needed thread level.
    pub fn join(threads: HostThreads) -> Result<MpiNetwork, String> {
        let wanted = match threads {
            HostThreads::None => mpi::Threading::Single,
            HostThreads::Several => mpi::Threading::Funneled,
        };
        // Measurements use the MPI library as MPI programs do, without the setting `YIELDS`.
        let simulates = threads == HostThreads::Several;
        if simulates && std::env::var_os(YIELDS).is_none() {
            // SAFETY: no other thread of the host process reads the environment yet.
            unsafe { std::env::set_var(YIELDS, "0") };
        }
        let (universe, threading) =
            mpi::initialize_with_threading(wanted).ok_or_else(|| "MPI has been started already".to_owned())?;
        if threading < wanted {
            return Err("this MPI library was built without support of threads".to_owned());
        }
        if simulates {
            // The sleeps between tests for messages are short, but by default Linux makes each sleep up to 50
            // microseconds longer.
            // SAFETY: the call changes only the wake-up time of the calling thread and of threads that the calling
            // thread starts.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        }
        let world = universe.world();
        let here = world.split_shared(0).size() as u32;
        Ok(MpiNetwork { me: world.rank() as u32, size: world.size() as u32, here, _universe: universe })
    }
}

impl HostNetwork for MpiNetwork {
    fn me(&self) -> u32 {
        self.me
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn here(&self) -> u32 {
        self.here
    }

    fn host(&self) -> String {
        mpi::environment::processor_name().unwrap_or_default()
    }

    fn library(&self) -> String {
        let text = mpi::environment::library_version().unwrap_or_default();
        text.lines().next().unwrap_or_default().trim_end_matches(['\0', ',']).to_owned()
    }

    unsafe fn send(&self, bytes: &[u8], to: u32, tag: i32) -> HostRequest {
        let (start, count) = (bytes.as_ptr().cast::<c_void>(), bytes.len() as c_int);
        // SAFETY: the caller guarantees that the buffer stays valid until the request is complete.
        started(|request| unsafe {
            ffi::MPI_Isend(start, count, ffi::RSMPI_UINT8_T, to as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
        })
    }

    unsafe fn receive(&self, bytes: &mut [u8], from: u32, tag: i32) -> HostRequest {
        let (start, count) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len() as c_int);
        // SAFETY: the caller guarantees that the buffer stays valid until the request is complete.
        started(|request| unsafe {
            ffi::MPI_Irecv(start, count, ffi::RSMPI_UINT8_T, from as c_int, tag, ffi::RSMPI_COMM_WORLD, request);
        })
    }

    fn probe(&self, tag: i32) -> Option<(u32, usize)> {
        let (mut flag, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        // SAFETY: MPI writes the status if a message exists. Without a message, nothing reads the status.
        unsafe {
            ffi::MPI_Iprobe(ffi::RSMPI_ANY_SOURCE, tag, ffi::RSMPI_COMM_WORLD, &mut flag, status.as_mut_ptr());
            if flag == 0 {
                return None;
            }
            let (status, mut size) = (status.assume_init(), 0);
            ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut size);
            Some((status.MPI_SOURCE as u32, size as usize))
        }
    }

    fn reduction(&self, length: usize) -> Box<dyn HostReduction + '_> {
        // SAFETY: the null datatype and the null operation are constants of the MPI library. MPI replaces the null
        // datatype and the null operation below.
        let (mut datatype, mut op) = unsafe { (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_MIN) };
        // SAFETY: MPI is initialised, and `combine` reads and writes values of the new datatype.
        unsafe {
            ffi::MPI_Type_contiguous(length as c_int, ffi::RSMPI_UINT64_T, &mut datatype);
            ffi::MPI_Type_commit(&mut datatype);
            ffi::MPI_Op_create(Some(combine), 1, &mut op);
        }
        Box::new(WordReduction { datatype, op })
    }
}

/// Starts a nonblocking MPI operation on the host and returns the operation's request.
fn started(start: impl FnOnce(&mut ffi::MPI_Request)) -> HostRequest {
    // SAFETY: the null request is a constant of the MPI library.
    let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
    start(&mut request);
    HostRequest::new(move || {
        let mut flag = 0;
        // SAFETY: `request` is a request from MPI, or the null request after the completion of the operation.
        unsafe { ffi::MPI_Test(&mut request, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
        flag != 0
    })
}

/// MPI datatype and MPI operation with which host processes reduce words.
struct WordReduction {
    /// MPI datatype of a whole word, so that no MPI library splits a word.
    datatype: ffi::MPI_Datatype,
    op: ffi::MPI_Op,
}

impl HostReduction for WordReduction {
    unsafe fn start(&self, word: &[u64], all: &mut [u64]) -> HostRequest {
        let (word, all) = (word.as_ptr().cast::<c_void>(), all.as_mut_ptr().cast::<c_void>());
        // SAFETY: the caller guarantees that the buffers stay valid until the request is complete.
        started(|request| unsafe {
            ffi::MPI_Iallreduce(word, all, 1, self.datatype, self.op, ffi::RSMPI_COMM_WORLD, request);
        })
    }
}

impl Drop for WordReduction {
    /// Frees the MPI datatype and the MPI operation. After a panic nothing is freed, because reductions may still use
    /// the datatype and the operation.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // SAFETY: the datatype and the operation were created together with the reduction object, and no reduction
        // uses them any more.
        unsafe {
            ffi::MPI_Op_free(&mut self.op);
            ffi::MPI_Type_free(&mut self.datatype);
        }
    }
}

/// Combines words of two host processes. MPI calls `combine` during a reduction.
unsafe extern "C" fn combine(
    from: *mut c_void,
    into: *mut c_void,
    count: *mut c_int,
    datatype: *mut ffi::MPI_Datatype,
) {
    let mut bytes = 0;
    // SAFETY: MPI passes `count` words of the word datatype.
    let (from, into, length) = unsafe {
        ffi::MPI_Type_size(*datatype, &mut bytes);
        let length = bytes as usize / size_of::<u64>();
        let all = length * *count as usize;
        let from = std::slice::from_raw_parts(from.cast::<u64>(), all);
        (from, std::slice::from_raw_parts_mut(into.cast::<u64>(), all), length)
    };
    from.chunks(length).zip(into.chunks_mut(length)).for_each(|(from, into)| merge_words(from, into));
}
