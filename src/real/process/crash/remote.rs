//! Crashes during accesses to a rank's memory on behalf of another rank, while the rank's own code does not run.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use super::report;
use crate::process::Process;
use mcpsim_core::rank::Rank;

/// Memory that a rank exposes to other ranks, with its declared size.
#[derive(Clone, Copy, Debug)]
pub struct GivenMemory {
    /// Function called by the exposing rank.
    function: &'static str,
    /// Position of the call: file of the program and offset.
    code: Option<(usize, usize)>,
    base: usize,
    size: usize,
}

impl GivenMemory {
    /// Creates a description of memory that `p` exposes in its current call.
    pub fn new(p: &Process, base: *const u8, size: usize) -> Self {
        let code = report::calling_code(p, p.here.get(), &p.stack());
        GivenMemory { function: p.function.get(), code, base: base as usize, size }
    }
}

/// An access of another rank to exposed memory.
#[derive(Clone, Copy, Debug)]
pub struct RemoteAccess {
    /// The accessing rank.
    pub from: Rank,
    /// Function called by the accessing rank.
    pub function: &'static str,
    /// The exposed memory.
    pub memory: GivenMemory,
}

impl RemoteAccess {
    /// Returns the end of the message about an inaccessible address of `p`.
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
    /// The rank whose memory is accessed on this thread.
    static REACHED: Cell<*const Process> = const { Cell::new(ptr::null()) };
}

/// Runs `serve`, which accesses memory of `p` for other ranks.
pub fn serving(p: &Process, serve: impl FnOnce()) {
    REACHED.set(p);
    serve();
    REACHED.set(ptr::null());
}

/// Returns the rank whose memory is accessed on this thread.
pub(super) fn reached() -> Option<*const Process> {
    Some(REACHED.get()).filter(|process| !process.is_null())
}
