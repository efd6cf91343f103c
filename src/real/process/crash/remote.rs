//! Crashes while a rank's memory is reached for another rank: its own code does not run then.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use super::report;
use crate::process::Process;
use mcpsim_core::rank::Rank;

/// Memory that a rank has given to other ranks, as it stated it.
#[derive(Clone, Copy, Debug)]
pub struct GivenMemory {
    /// The function that the rank called.
    function: &'static str,
    /// The place of the call: a file of the program and an offset.
    code: Option<(usize, usize)>,
    base: usize,
    size: usize,
}

impl GivenMemory {
    /// Memory that `p` gives in the call that it is in.
    pub fn new(p: &Process, base: *const u8, size: usize) -> Self {
        let code = report::calling_code(p, p.here.get(), &p.stack());
        GivenMemory { function: p.function.get(), code, base: base as usize, size }
    }
}

/// An access of another rank to given memory.
#[derive(Clone, Copy, Debug)]
pub struct RemoteAccess {
    /// The other rank.
    pub from: Rank,
    /// The function that it called.
    pub function: &'static str,
    /// The memory.
    pub memory: GivenMemory,
}

impl RemoteAccess {
    /// The end of the sentence about an address of `p` that could not be reached.
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
    /// The rank whose memory is reached on this thread.
    static REACHED: Cell<*const Process> = const { Cell::new(ptr::null()) };
}

/// Runs `serve`, which reaches memory of `p` for other ranks.
pub fn serving(p: &Process, serve: impl FnOnce()) {
    REACHED.set(p);
    serve();
    REACHED.set(ptr::null());
}

/// The rank whose memory is reached on this thread.
pub(super) fn reached() -> Option<*const Process> {
    Some(REACHED.get()).filter(|process| !process.is_null())
}
