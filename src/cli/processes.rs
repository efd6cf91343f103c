//! Connection and end of the host processes of a run.

use crate::engine::{HostThreads, Processes};

/// Starts MPI for several host processes of an MPI launcher.
///
/// # Errors
/// MPI cannot start, or the host processes do not find each other.
#[cfg(feature = "mpi")]
pub(super) fn connect(threads: HostThreads) -> Result<Processes, String> {
    Processes::over(Box::new(mcpsim_host_mpi::MpiNetwork::join(threads)?))
}

/// Fails, because this build of mcpsim has no MPI.
///
/// # Errors
/// The function fails in every build without MPI.
#[cfg(not(feature = "mpi"))]
pub(super) fn connect(_: HostThreads) -> Result<Processes, String> {
    Err("but this build simulates in one process: build one that can with cargo build --release --features mpi, \
         which needs an MPI library and libclang (see docs/guide/many-hosts.md)"
        .to_owned())
}

/// Ends this host process and all other host processes of the run with the exit code `code`. Any thread may call the
/// function at any point.
pub(super) fn end_processes(code: i32) -> ! {
    #[cfg(feature = "mpi")]
    mcpsim_host_mpi::end_all(code);
    std::process::exit(code)
}

/// Ends this host process with the exit code `code` if the launcher or the user ends all host processes.
pub(super) fn end_process(code: i32) -> ! {
    #[cfg(feature = "mpi")]
    mcpsim_host_mpi::leave(code);
    std::process::exit(code)
}

/// Ends this host process with the exit code `code` unless the process ends by itself shortly. The other host processes
/// may have ended, and MPI may wait for the ended processes.
pub(super) fn end_process_soon(code: i32) {
    #[cfg(feature = "mpi")]
    mcpsim_host_mpi::leave_soon(code);
    let _ = code;
}
