//! One-sided communication windows of the host's MPI library (MPI-3.1, chapter 11), as far as measurements need them.
//! The Rust crate `mpi` has no windows.

use std::ffi::{c_int, c_void};
use std::ops::DerefMut;

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;

/// MPI window over all host processes of MPI_COMM_WORLD, with the same size in each host process.
pub struct HostWindow {
    /// Window memory that other host processes access. The memory does not move before the window is freed.
    _memory: Box<dyn DerefMut<Target = [u8]>>,
    length: usize,
    handle: ffi::MPI_Win,
}

impl HostWindow {
    /// Creates an MPI window of `memory`, which has the same size in all host processes. All host processes must call
    /// `new` and [`free`](Self::free).
    pub fn new(mut memory: Box<dyn DerefMut<Target = [u8]>>) -> HostWindow {
        let world = SimpleCommunicator::world();
        let (base, length) = (memory.as_mut_ptr().cast::<c_void>(), memory.len());
        // SAFETY: MPI_Win_create writes the window handle. `free` ends the window before the memory is freed, and no
        // code in this host process reads the memory meanwhile.
        let handle = unsafe {
            let mut handle = std::mem::zeroed();
            ffi::MPI_Win_create(
                base,
                length as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                world.as_raw(),
                &raw mut handle,
            );
            handle
        };
        HostWindow { _memory: memory, length, handle }
    }

    /// Locks the window memory of the host process `target` exclusively.
    pub fn lock(&self, target: u32) {
        // SAFETY: the window exists, and MPI errors end the program.
        unsafe { ffi::MPI_Win_lock(ffi::MPI_LOCK_EXCLUSIVE as c_int, target as c_int, 0, self.handle) };
    }

    /// Completes operations in the window memory of the host process `target`, and unlocks the memory.
    pub fn unlock(&self, target: u32) {
        // SAFETY: as in `lock`.
        unsafe { ffi::MPI_Win_unlock(target as c_int, self.handle) };
    }

    /// Puts `data` at the beginning of the locked window memory of the host process `target`, and unlocks the memory.
    pub fn put_and_unlock(&self, target: u32, data: &[u8]) {
        let count = data.len().min(self.length) as c_int;
        // SAFETY: all host processes have the same window size, which `count` does not exceed. The unlock completes
        // the operation before `data` can be freed.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            ffi::MPI_Put(data.as_ptr().cast(), count, byte, target as c_int, 0, count, byte, self.handle);
        }
        self.unlock(target);
    }

    /// Reads the beginning of the locked window memory of the host process `target` into `room`, and unlocks the
    /// memory.
    pub fn get_and_unlock(&self, target: u32, room: &mut [u8]) {
        let count = room.len().min(self.length) as c_int;
        // SAFETY: as in `put_and_unlock`.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            ffi::MPI_Get(room.as_mut_ptr().cast(), count, byte, target as c_int, 0, count, byte, self.handle);
        }
        self.unlock(target);
    }

    /// Frees the window. All host processes must call `free`.
    pub fn free(mut self) {
        // SAFETY: nothing uses the window handle after the call.
        unsafe { ffi::MPI_Win_free(&raw mut self.handle) };
    }
}
