//! Parallel regions of OpenMP (libgomp): threads that the runtime has started are made ready for crashes when they
//! first run code of a program. The runtime is shared by all ranks and starts threads by the C library itself.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use crate::process::crash;
use crate::process::{Function, NamedFunction, current};

/// What a thread of a team runs.
type Region = unsafe extern "C-unwind" fn(*mut c_void);
/// A function of the runtime: a region, its argument, and at most six whole numbers (number of threads, bounds, chunk,
/// flags).
type Parallel = unsafe extern "C-unwind" fn(Region, *mut c_void, usize, usize, usize, usize, usize, usize);

/// The region of a team and its argument. It stays if the rank ends within the region, whose other threads may just
/// begin.
#[derive(Clone, Copy)]
#[repr(C)]
struct Team {
    region: Region,
    argument: *mut c_void,
}

/// The first function of each thread of a team, which leaves its stack to the region.
#[unsafe(naked)]
unsafe extern "C-unwind" fn enter(team: *mut c_void) {
    naked_asm!("push rdi", "call {open}", "pop rdi", "mov rdi, rdx", "jmp rax", open = sym open)
}

/// What the thread runs is in the registers in which [`enter`] finds it.
unsafe extern "C" fn open(team: *mut c_void) -> Team {
    if current().is_none() {
        crash::ready_for_thread();
    }
    // SAFETY: what `run` has made, which takes it back after the region only.
    unsafe { *team.cast::<Team>() }
}

/// Runs a region by the runtime's function `name`.
///
/// # Safety
/// The arguments are what a compiler gives that function.
unsafe fn run(name: &CStr, known: &OnceLock<usize>, team: Team, numbers: [usize; 6]) {
    let function = *known.get_or_init(|| {
        // SAFETY: the names are terminated. Who calls this was linked with the runtime, so it is loaded.
        unsafe {
            let library = libc::dlopen(c"libgomp.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            if library.is_null() { 0 } else { libc::dlsym(library, name.as_ptr()) as usize }
        }
    });
    assert!(function != 0, "the OpenMP runtime has no {name:?}");
    let team = Box::into_raw(Box::new(team));
    // SAFETY: the runtime's functions begin so; those with fewer numbers do not look at the others. When they return,
    // no thread is in the region any more.
    unsafe {
        let function: Parallel = std::mem::transmute(function);
        let [a, b, c, d, e, f] = numbers;
        function(enter, team.cast(), a, b, c, d, e, f);
        drop(Box::from_raw(team));
    }
}

macro_rules! parallel {
    ($($name:ident)*) => {
        pub const FUNCTIONS: &[NamedFunction] = &[$((stringify!($name), Function($name as *const ()))),*];
        $(
            #[allow(non_snake_case)]
            unsafe extern "C-unwind" fn $name(
                region: Region,
                argument: *mut c_void,
                a: usize,
                b: usize,
                c: usize,
                d: usize,
                e: usize,
                f: usize,
            ) {
                static KNOWN: OnceLock<usize> = OnceLock::new();
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("the name is terminated"),
                };
                // SAFETY: the caller's.
                unsafe { run(NAME, &KNOWN, Team { region, argument }, [a, b, c, d, e, f]) }
            }
        )*
    };
}

parallel! {
    GOMP_parallel
    GOMP_parallel_sections
    GOMP_parallel_loop_static
    GOMP_parallel_loop_dynamic
    GOMP_parallel_loop_guided
    GOMP_parallel_loop_runtime
    GOMP_parallel_loop_nonmonotonic_dynamic
    GOMP_parallel_loop_nonmonotonic_guided
    GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}
