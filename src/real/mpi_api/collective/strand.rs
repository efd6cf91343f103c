//! Runs nonblocking functions in strands. A strand is a separate fiber of a rank that executes the code of the blocking
//! function.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::Rc;

use crate::mpi_api::comm::Comm;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::{Operation, Request, empty_status};
use crate::process::crash::CrashContext;
use crate::process::unwind::here;
use crate::process::{outermost, run_as, run_as_nobody};
use mcpsim_core::mpi::abi::{self, Handle, Status};
use mcpsim_core::rank::{Call, Called, Describe, Fiber, FiberHandle, FloatEnvironment, Program, Reply};

/// Stack size of a strand in bytes. The stack size is sufficient for reduction functions of programs.
const STACK: usize = 256 << 10;

/// A strand that executes a nonblocking collective of a rank.
struct CollectiveStrand {
    fiber: Fiber,
    handle: Rc<Cell<*const FiberHandle<'static>>>,
    process: *const MpiProcess,
    name: &'static str,
}

// SAFETY: a strand runs only on the host thread that runs the strand's rank, so no other thread uses the pointers at
// the same time.
unsafe impl Send for CollectiveStrand {}

/// Starts `body` in a strand of the rank `p`. Returns the request of the strand, which completes with the status that
/// `body` returns.
///
/// # Errors
/// MPI_ERR_NO_MEM if the stack of the strand cannot be allocated.
pub fn start_strand(
    p: &MpiProcess,
    name: &'static str,
    comm: Rc<Comm>,
    body: impl FnOnce(&MpiProcess) -> MpiResult<Status> + 'static,
) -> MpiResult<Handle> {
    let result = Rc::new(RefCell::new(Ok(empty_status())));
    let handle = Rc::new(Cell::new(ptr::null()));
    let process: *const MpiProcess = p;
    let (to, own_handle) = (result.clone(), handle.clone());
    // Reductions in the strand use the floating-point environment that the rank has at the start of the strand.
    let floats = p.keeps_floats().then(FloatEnvironment::now);
    let fiber = Fiber::new(STACK, move |out| {
        // SAFETY: the state of the rank outlives the rank's strands, and the fiber handle lives as long as the code
        // of the strand's fiber.
        let p = unsafe { &*process };
        let out = unsafe { std::mem::transmute::<*const FiberHandle<'_>, *const FiberHandle<'static>>(out) };
        own_handle.set(out);
        p.set_handle(out);
        if let Some(floats) = &floats {
            p.keep_floats();
            floats.enter();
        }
        let result = outermost(|| body(p));
        *to.borrow_mut() = result;
        Call::Finish
    });
    let fiber = fiber.map_err(|error| {
        MpiError::new(abi::MPI_ERR_NO_MEM, format!("no room for a stack of {STACK} bytes: {error}"))
    })?;
    let engine = p.call_start(Call::Start(Box::new(CollectiveStrand { fiber, handle, process, name })));
    Ok(p.add_request(Request::new(engine, Operation::Strand { function: name, result }, comm)))
}

impl Program for CollectiveStrand {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        // SAFETY: the state of the rank outlives the rank's strands.
        let p = unsafe { &*self.process };
        let outer = p.set_handle(self.handle.get());
        let ground = p.ground.replace(Some(CrashContext::of(&self.fiber)));
        let function = p.function.replace(self.name);
        let here = p.here.replace(here());
        p.clock.set(reply.clock);
        run_as(p);
        p.swap_runtime();
        let call = self.fiber.next(reply);
        p.swap_runtime();
        run_as_nobody();
        p.set_handle(outer);
        p.ground.replace(ground);
        p.function.set(function);
        p.here.set(here);
        call
    }
}

impl Describe for CollectiveStrand {
    fn position(&self) -> Option<String> {
        Some(self.name.to_owned())
    }

    fn called(&mut self) -> Option<Called> {
        // SAFETY: the state of the rank outlives the rank's strands.
        unsafe { &*self.process }.called.take()
    }
}
