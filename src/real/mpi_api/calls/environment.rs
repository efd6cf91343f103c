//! Functions for the MPI environment: initialisation, finalisation, time, names and versions (MPI-3.1, chapter 8 and
//! section 14.2.4).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::mpi_api::error::{self, MpiError};
use crate::mpi_api::process::MpiProcess;
use crate::process::{Function, RankStage, folded, heap, put_text, with_current};
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::rank::FailureKind;

fn begin(p: &MpiProcess, required: c_int, provided: *mut c_int) -> error::MpiResult {
    error::expect(p.stage.get() == RankStage::Started, abi::MPI_ERR_OTHER, || {
        "MPI_Init was called a second time: expected once".to_owned()
    })?;
    p.stage.set(RankStage::Initialised);
    p.threads.provided.set(required.min(p.threads.most.get()));
    if !provided.is_null() {
        // SAFETY: MPI requires the program to pass a valid result pointer, and the pointer is not null.
        unsafe { *provided = p.threads.provided.get() };
    }
    Ok(())
}

mpi_functions! {
    fn MPI_Init(p; _argc: *mut c_int, _argv: *mut *mut *mut c_char) {
        begin(p, abi::MPI_THREAD_FUNNELED, std::ptr::null_mut())
    }
    fn MPI_Init_thread(p; _argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        begin(p, required, provided)
    }
    fn MPI_Initialized(p; flag: *mut c_int) {
        *flag = c_int::from(p.stage.get() != RankStage::Started);
        Ok(())
    }
    fn MPI_Finalized(p; flag: *mut c_int) {
        *flag = c_int::from(p.stage.get() == RankStage::Finalised);
        Ok(())
    }
    fn MPI_Finalize(p;) {
        if let Some((thread, function)) = p.threads.other_in_mpi.get().and_then(|find| find(p)) {
            let what = format!("thread {thread} of the rank is in {function}: expected that all threads have left MPI");
            return Err(MpiError::new(abi::MPI_ERR_OTHER, what));
        }
        p.finalise()?;
        p.stage.set(RankStage::Finalised);
        Ok(())
    }
    fn MPI_Abort(p; _comm: Handle, errorcode: c_int) {
        p.fail(FailureKind::Aborted { code: errorcode }, String::new())
    }
    fn MPI_Query_thread(p; provided: *mut c_int) {
        *provided = p.threads.provided.get();
        Ok(())
    }
    fn MPI_Is_thread_main(p; flag: *mut c_int) {
        *flag = c_int::from(p.threads.is_main.get());
        Ok(())
    }
    fn MPI_Get_version(_p; version: *mut c_int, subversion: *mut c_int) {
        *version = 3;
        *subversion = 1;
        Ok(())
    }
    fn MPI_Get_library_version(_p; version: *mut c_char, length: *mut c_int) {
        let text = concat!("mcpsim ", env!("CARGO_PKG_VERSION"));
        *length = put_text(version, abi::MPI_MAX_LIBRARY_VERSION_STRING, text) as c_int;
        Ok(())
    }
    fn MPI_Get_processor_name(p; name: *mut c_char, length: *mut c_int) {
        *length = put_text(name, abi::MPI_MAX_PROCESSOR_NAME, &p.node_name()) as c_int;
        Ok(())
    }
    fn MPI_Pcontrol(p; level: c_int) {
        match level {
            0 => p.counts.is_off.set(true),
            1 => p.counts.is_off.set(false),
            _ => {}
        }
        Ok(())
    }
    fn MPI_Comm_rank(p; comm: Handle, rank: *mut c_int) {
        *rank = p.comm(comm)?.rank() as c_int;
        Ok(())
    }
    fn MPI_Comm_size(p; comm: Handle, size: *mut c_int) {
        *size = p.comm(comm)?.size() as c_int;
        Ok(())
    }
    fn MPI_Alloc_mem(p; size: abi::Aint, _info: Handle, baseptr: *mut *mut u8) {
        error::expect(size >= 0, abi::MPI_ERR_ARG, || format!("the size is {size}: expected 0 or more"))?;
        let memory: *mut u8 = match p.job.options.checks.heap {
            true => heap::allocate("MPI_Alloc_mem", size as usize, heap::ALIGNMENT).cast(),
            false => folded::malloc(size.max(1) as usize).cast(),
        };
        if memory.is_null() {
            return Err(MpiError::new(abi::MPI_ERR_NO_MEM, format!("no memory for {size} bytes")));
        }
        *baseptr = memory;
        Ok(())
    }
    fn MPI_Free_mem(p; base: *mut u8) {
        match p.job.options.checks.heap && !base.is_null() {
            true => heap::release("MPI_Free_mem", base.cast()),
            false => folded::release(base.cast()),
        }
        Ok(())
    }
}

#[allow(non_snake_case)]
unsafe extern "C" fn MPI_Wtime() -> f64 {
    let time = with_current(|p| {
        // The function name is set because the local execution block that is charged here ends at MPI_Wtime.
        p.function.set("MPI_Wtime");
        p.wtime().as_seconds()
    });
    // On a thread that runs no rank, MPI_Wtime returns 0, which is the start of the run.
    time.unwrap_or(0.0)
}

#[allow(non_snake_case)]
unsafe extern "C" fn MPI_Wtick() -> f64 {
    1e-9
}

#[allow(non_snake_case)]
unsafe extern "C" fn MPI_Aint_add(base: abi::Aint, displacement: abi::Aint) -> abi::Aint {
    base.wrapping_add(displacement)
}

#[allow(non_snake_case)]
unsafe extern "C" fn MPI_Aint_diff(a: abi::Aint, b: abi::Aint) -> abi::Aint {
    a.wrapping_sub(b)
}

/// MPI functions that return a value instead of an error code.
pub const VALUES: &[(&str, Function)] = &[
    ("MPI_Wtime", Function(MPI_Wtime as *const ())),
    ("MPI_Wtick", Function(MPI_Wtick as *const ())),
    ("MPI_Aint_add", Function(MPI_Aint_add as *const ())),
    ("MPI_Aint_diff", Function(MPI_Aint_diff as *const ())),
];
