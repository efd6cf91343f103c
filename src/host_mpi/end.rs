//! Ends host processes of a simulation while the host's MPI library runs.

use std::ffi::c_int;
use std::time::Duration;

use mpi::ffi;

/// Maximum time that the host's MPI library gets for its finalisation if host processes end early.
const LAST: Duration = Duration::from_secs(1);
/// Time in milliseconds for the MPI launcher to read the last output of a host process before MPI_Abort ends all host
/// processes. The launcher of MPICH drops unread output.
const HEARING: u32 = 1000;

/// Ends all host processes with the exit code `code` if MPI runs, after the MPI launcher has read the output of the
/// calling host process.
pub fn end_all(code: i32) {
    if is_running() {
        for _ in 0..HEARING {
            if ![libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().any(is_unread) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: Open MPI and MPICH permit MPI_Abort in any thread, although the MPI standard does not.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
    }
}

/// Returns true if the file descriptor `output` is a pipe with unread data.
fn is_unread(output: c_int) -> bool {
    // SAFETY: `fstat` and `ioctl` write only into `status` and `bytes`.
    unsafe {
        let (mut status, mut bytes) = (std::mem::zeroed::<libc::stat>(), 0 as c_int);
        libc::fstat(output, &mut status) == 0
            && status.st_mode & libc::S_IFMT == libc::S_IFIFO
            && libc::ioctl(output, libc::FIONREAD, &mut bytes) == 0
            && bytes > 0
    }
}

/// Ends the host process with the exit code `code` if MPI runs, without exit handlers. The exit handlers of MPI
/// libraries would wait for the exit handlers in other host processes.
pub fn leave(code: i32) {
    if is_running() {
        // SAFETY: no other code of the ending host process needs to run.
        unsafe { libc::_exit(code) }
    }
}

/// Ends the host process with the exit code `code` after the time [`LAST`], if MPI runs.
pub fn leave_soon(code: i32) {
    if is_running() {
        std::thread::spawn(move || {
            std::thread::sleep(LAST);
            // SAFETY: only the finalisation of MPI may still run in the ending host process.
            unsafe { libc::_exit(code) }
        });
    }
}

fn is_running() -> bool {
    let (mut begun, mut over) = (0, 0);
    // SAFETY: MPI_Initialized and MPI_Finalized may be called at any time and from any thread.
    unsafe {
        ffi::MPI_Initialized(&mut begun);
        ffi::MPI_Finalized(&mut over);
    }
    begun != 0 && over == 0
}
