//! The other host processes of a run: connecting them, and ending them.

use crate::engine::{HostThreads, Processes};

/// Starts MPI for several processes of an MPI launcher.
///
/// # Errors
/// If MPI cannot start, or the processes do not find each other.
#[cfg(feature = "mpi")]
pub(super) fn connect(threads: HostThreads) -> Result<Processes, String> {
    Processes::over(Box::new(mcpsim_host_mpi::MpiNetwork::join(threads)?))
}

/// Fails, because this build has no MPI.
///
/// # Errors
/// Always.
#[cfg(not(feature = "mpi"))]
pub(super) fn connect(_: HostThreads) -> Result<Processes, String> {
    Err("but this build simulates in one process: build one that can with cargo build --release --features mpi, \
         which needs an MPI library and libclang (see docs/guide/many-hosts.md)"
        .to_owned())
}

/// Ends this process and all others of the run with this code; callable from any thread at any point.
pub(super) fn end_processes(code: i32) -> ! {
    #[cfg(feature = "mpi")]
    mcpsim_host_mpi::end_all(code);
    std::process::exit(code)
}

/// Ends this process with this code if the launcher or the user ends all processes.
pub(super) fn end_process(code: i32) -> ! {
    #[cfg(feature = "mpi")]
    mcpsim_host_mpi::leave(code);
    std::process::exit(code)
}

/// Ends this process with this code unless it ends by itself shortly: the others may have ended, and MPI may wait for
/// them.
pub(super) fn end_process_soon(code: i32) {
    #[cfg(feature = "mpi")]
    mcpsim_host_mpi::leave_soon(code);
    let _ = code;
}
