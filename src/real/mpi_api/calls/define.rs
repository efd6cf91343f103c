//! Macros that define MPI functions. `mpi_functions!` creates C functions that look up the calling rank and convert
//! errors to error codes.
#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::mpi_api::error::MpiResult;
use crate::mpi_api::process::{MpiProcess, enter};
use crate::process::unwind::{here, kept_for_caller};
use mcpsim_core::mpi::abi;

/// Runs the body of an MPI function and returns the error code.
#[inline(always)]
pub fn run(name: &'static str, body: impl FnOnce(&MpiProcess) -> MpiResult) -> c_int {
    let came = if cfg!(debug_assertions) { kept_for_caller() } else { [0; 5] };
    let process = enter(name);
    process.pause_timer();
    let mut outer = process.here.replace(here());
    if outer != [0; 3] {
        outer = process.still_running(outer);
    }
    if cfg!(debug_assertions) {
        process.came_with.set(came);
    }
    let code = match body(process) {
        Ok(()) => abi::MPI_SUCCESS,
        Err(error) => process.raise(error),
    };
    if process.shared_windows.get() > 0 {
        process.wait_for_own_time();
    }
    if process.has_abandoned() {
        process.store_abandoned();
    }
    if process.job.options.checks.leaks {
        process.note_new_objects();
    }
    process.here.set(outer);
    process.start_timer();
    code
}

/// Defines the MPI functions of one chapter, and the table `TABLE` of the functions. In `fn MPI_Name(p; …)`, `p` is
/// the calling rank. The body of an MPI function returns an [`MpiResult`]. The responsible MPI error handler receives
/// errors of the body.
macro_rules! mpi_functions {
    ($($(#[$meta:meta])* fn $name:ident($p:ident; $($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$meta])*
            #[allow(non_snake_case, clippy::too_many_arguments, clippy::missing_safety_doc)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                #[allow(unused_imports)]
                use $crate::mpi_api::calls::results::{Given, Plain as _, Pointer as _, is_result, no_room};
                $crate::mpi_api::calls::define::run(stringify!($name), |$p: &$crate::mpi_api::process::MpiProcess| {
                    $(
                        if const { is_result(stringify!($argument)) } && (&Given($argument)).is_null() {
                            return Err(no_room(stringify!($argument)));
                        }
                    )*
                    // SAFETY: the MPI standard requires the program to pass valid arguments, on which the body
                    // relies.
                    #[allow(unused_unsafe)]
                    unsafe { $body }
                })
            }
        )*
        pub const TABLE: &[(&str, $crate::process::Function)] = &[
            $((stringify!($name), $crate::process::Function($name as *const ())),)*
        ];
    };
}

/// Defines the blocking and the nonblocking MPI function of a collective. The blocking and the nonblocking function
/// execute the same plan.
macro_rules! collectives {
    ($($blocking:ident $started:ident($p:ident; $($argument:ident: $type:ty),* $(,)?) $plan:block)*) => {
        mpi_functions! {
            $(
                fn $blocking($p; $($argument: $type),*) {
                    let plan: $crate::mpi_api::collective::CollectivePlan = $plan?;
                    plan.block($p)
                }
                fn $started($p; $($argument: $type),*, request: *mut Handle) {
                    let plan: $crate::mpi_api::collective::CollectivePlan = $plan?;
                    *request = plan.start($p)?;
                    Ok(())
                }
            )*
        }
    };
}
