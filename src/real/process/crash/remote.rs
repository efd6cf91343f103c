//! Handles crashes while mcpsim accesses the memory of a rank on behalf of another rank. The code of the accessed rank
//! does not run at that time.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use super::report;
use crate::process::Process;
use mcpsim_core::rank::Rank;

/// Memory that a rank exposes to other ranks, with the size that the rank declared.
#[derive(Clone, Copy, Debug)]
pub struct GivenMemory {
    /// MPI function by which the rank exposed the memory.
    function: &'static str,
    /// Position of the exposing MPI call in the program: module identifier and address in the module's file.
    code: Option<(usize, usize)>,
    base: usize,
    size: usize,
}

impl GivenMemory {
    /// Describes memory that the rank `p` exposes in its current MPI call.
    pub fn new(p: &Process, base: *const u8, size: usize) -> Self {
        let code = report::calling_code(p, p.here.get(), &p.stack());
        GivenMemory { function: p.function.get(), code, base: base as usize, size }
    }
}

/// An access of one rank to memory that another rank exposed.
#[derive(Clone, Copy, Debug)]
pub struct RemoteAccess {
    /// Rank that accesses the memory.
    pub from: Rank,
    /// MPI function that the accessing rank called.
    pub function: &'static str,
    /// Memory that the accessed rank exposed.
    pub memory: GivenMemory,
}

impl RemoteAccess {
    /// Returns the last part of the error message about an inaccessible address of the rank `p`.
    pub fn describe(&self, p: &Process, address: usize) -> String {
        let RemoteAccess { from, function, memory } = self;
        let line = memory.code.and_then(|(module, offset)| {
            let place = p.job.describe(module, offset);
            place.rsplit_once(" at ").map(|(_, line)| format!(" at {line}"))
        });
        let byte = match address.checked_sub(memory.base).filter(|byte| *byte < memory.size) {
            Some(byte) => format!("byte {byte} of {} bytes at {:#x}", memory.size, memory.base),
            None => "memory".to_owned(),
        };
        let maker = memory.function;
        let line = line.unwrap_or_default();
        format!("{function} of rank {from} reached {byte}, which the rank gave in {maker}{line}")
    }
}

thread_local! {
    /// Rank whose memory the current host thread accesses on behalf of another rank, or null.
    static REACHED: Cell<*const Process> = const { Cell::new(ptr::null()) };
}

/// Runs `serve`, which accesses memory of the rank `p` on behalf of other ranks.
pub fn serving(p: &Process, serve: impl FnOnce()) {
    REACHED.set(p);
    serve();
    REACHED.set(ptr::null());
}

/// Returns the rank whose memory the current host thread accesses on behalf of another rank.
pub(super) fn reached() -> Option<*const Process> {
    Some(REACHED.get()).filter(|process| !process.is_null())
}
