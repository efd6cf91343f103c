//! The end of processes while MPI runs.

use std::ffi::c_int;
use std::time::Duration;

use mpi::ffi;

/// Time for MPI's finalisation if processes end early.
const LAST: Duration = Duration::from_secs(1);
/// Time for the launcher to read the last output of a process before all are ended, ms. MPICH's launcher drops unread
/// output.
const HEARING: u32 = 1000;

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
