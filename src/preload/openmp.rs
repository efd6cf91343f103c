//! Functions of GCC's OpenMP library at which threads of a rank meet, compete or wait. If the threads have clocks of
//! their own, they enter these functions in the order of virtual time. The library itself is unchanged.
//!
//! The code of regions and tasks is replaced by code that calls it and then keeps the order, because the library
//! continues with a barrier or with another task.

use std::arch::{global_asm, naked_asm};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::next::next;
use crate::threads::{at_region, keep_order};

/// Path of the OpenMP library that the process has loaded, for a library that a program has opened itself.
unsafe extern "C" fn find_runtime(object: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes valid objects, and `to` is the location of the result.
    unsafe {
        let name = (*object).dlpi_name;
        if name.is_null() || !CStr::from_ptr(name).to_bytes().windows(7).any(|part| part == b"libgomp") {
            return 0;
        }
        *to.cast::<*mut c_void>() = libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
    }
    1
}

/// Returns the function `name` of the OpenMP library.
fn of_runtime(known: &AtomicUsize, name: &CStr) -> usize {
    let function = match next(known, name) {
        0 => {
            let mut library: *mut c_void = std::ptr::null_mut();
            // SAFETY: the callback gets the location of a pointer, and the name ends with a zero byte.
            let found = unsafe {
                libc::dl_iterate_phdr(Some(find_runtime), (&raw mut library).cast());
                if library.is_null() { 0 } else { libc::dlsym(library, name.as_ptr()) as usize }
            };
            known.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    };
    assert!(function != 0, "the library of OpenMP has no {name:?}");
    function
}

/// Number of functions of regions and tasks that can be replaced, as in the code below.
const MOST_BODIES: usize = 1024;
/// Functions of regions and tasks of the program, by the number of the function that replaces them.
static BODIES: [AtomicUsize; MOST_BODIES] = [const { AtomicUsize::new(0) }; MOST_BODIES];

unsafe extern "C" {
    /// The first of the replacing functions, which have 16 bytes each.
    fn mcpsim_openmp_bodies();
}

extern "C" fn body(number: usize) -> usize {
    BODIES[number].load(Ordering::Relaxed)
}

extern "C" fn body_ended() {
    keep_order(c"OpenMP");
}

// The argument of the function is in rdi. The return address and 24 bytes align the stack.
global_asm!(
    ".pushsection .text.mcpsim_openmp_bodies, \"ax\", @progbits",
    ".balign 16",
    ".hidden mcpsim_openmp_bodies",
    ".globl mcpsim_openmp_bodies",
    ".type mcpsim_openmp_bodies, @function",
    "mcpsim_openmp_bodies:",
    ".cfi_startproc",
    ".set mcpsim_openmp_number, 0",
    ".rept 1024",
    ".balign 16",
    "mov eax, offset mcpsim_openmp_number",
    "jmp 2f",
    ".set mcpsim_openmp_number, mcpsim_openmp_number + 1",
    ".endr",
    ".balign 16",
    "2:",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "sub rsp, 16",
    ".cfi_adjust_cfa_offset 16",
    "mov rdi, rax",
    "call {body}",
    "mov rdi, [rsp + 16]",
    "call rax",
    "add rsp, 16",
    ".cfi_adjust_cfa_offset -16",
    "call {ended}",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".size mcpsim_openmp_bodies, . - mcpsim_openmp_bodies",
    ".popsection",
    body = sym body,
    ended = sym body_ended,
);

/// Returns the function that calls `function` and then keeps the order of threads. Returns `function` itself if the
/// program has too many functions.
fn ordered_body(function: usize) -> usize {
    let first = function / 16 % MOST_BODIES;
    for number in (first..MOST_BODIES).chain(0..first) {
        let known = match BODIES[number].compare_exchange(0, function, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => function,
            Err(known) => known,
        };
        if known == function {
            return mcpsim_openmp_bodies as *const () as usize + 16 * number;
        }
    }
    function
}

/// Function of the OpenMP library: a region, its argument, and at most six whole numbers.
type RegionFunction = unsafe extern "C" fn(usize, *mut c_void, usize, usize, usize, usize, usize, usize) -> usize;

macro_rules! parallel {
    ($($name:ident)*) => {
        $(
            /// Runs a parallel region of OpenMP. All threads of the rank meet at its start and end. A region within an
            /// MPI function, in an operation of the program, has one thread.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub unsafe extern "C" fn $name(
                region: usize,
                argument: *mut c_void,
                a: usize,
                b: usize,
                c: usize,
                d: usize,
                e: usize,
                f: usize,
            ) -> usize {
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                const NAME: &CStr = name_of(concat!(stringify!($name), "\0"));
                let function = of_runtime(&NEXT, NAME);
                at_region();
                // The third argument is the number of threads.
                let a = if keep_order(NAME) { a } else { 1 };
                let region = ordered_body(region);
                // SAFETY: the function has these arguments. Functions with fewer numbers ignore the others, and the
                // callers of functions without a result ignore it.
                let result = unsafe {
                    std::mem::transmute::<usize, RegionFunction>(function)(region, argument, a, b, c, d, e, f)
                };
                at_region();
                result
            }
        )*
    };
}

const fn name_of(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => unreachable!(),
    }
}

parallel! {
    GOMP_parallel
    GOMP_parallel_reductions
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

/// A function of the OpenMP library that threads enter in the order of virtual time.
struct OrderedFunction {
    name: &'static CStr,
    /// True if the first argument is the function of a task.
    has_body: bool,
    known: AtomicUsize,
}

/// Keeps the order of threads. Returns the address of the function of the OpenMP library.
unsafe extern "C" fn enter(function: &OrderedFunction, first_argument: &mut usize) -> usize {
    if function.has_body {
        *first_argument = ordered_body(*first_argument);
    }
    keep_order(function.name);
    of_runtime(&function.known, function.name)
}

macro_rules! ordered {
    ($has_body:literal: $($name:ident)*) => {
        $(
            const _: () = {
                static FUNCTION: OrderedFunction = OrderedFunction {
                    name: name_of(concat!(stringify!($name), "\0")),
                    has_body: $has_body,
                    known: AtomicUsize::new(0),
                };

                // The registers of arguments are restored, so the stack of the caller may have further arguments.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                #[allow(non_snake_case)]
                unsafe extern "C" fn $name() {
                    naked_asm!(
                        "push rax",
                        "push r9",
                        "push r8",
                        "push rcx",
                        "push rdx",
                        "push rsi",
                        "push rdi",
                        "lea rdi, [rip + {function}]",
                        "mov rsi, rsp",
                        "call {enter}",
                        "mov r11, rax",
                        "pop rdi",
                        "pop rsi",
                        "pop rdx",
                        "pop rcx",
                        "pop r8",
                        "pop r9",
                        "pop rax",
                        "jmp r11",
                        function = sym FUNCTION,
                        enter = sym enter,
                    )
                }
            };
        )*
    };
}

ordered! { true:
    GOMP_parallel_loop_dynamic_start
    GOMP_parallel_loop_guided_start
    GOMP_parallel_loop_runtime_start
    GOMP_parallel_loop_static_start
    GOMP_parallel_sections_start
    GOMP_parallel_start
    GOMP_task
    GOMP_taskloop
    GOMP_taskloop_ull
}

ordered! { false:
    GOMP_atomic_end
    GOMP_atomic_start
    GOMP_barrier
    GOMP_barrier_cancel
    GOMP_cancel
    GOMP_critical_end
    GOMP_critical_name_end
    GOMP_critical_name_start
    GOMP_critical_start
    GOMP_doacross_post
    GOMP_doacross_ull_post
    GOMP_doacross_ull_wait
    GOMP_doacross_wait
    GOMP_loop_doacross_dynamic_start
    GOMP_loop_doacross_guided_start
    GOMP_loop_doacross_runtime_start
    GOMP_loop_doacross_start
    GOMP_loop_doacross_static_start
    GOMP_loop_dynamic_next
    GOMP_loop_dynamic_start
    GOMP_loop_end
    GOMP_loop_end_cancel
    GOMP_loop_end_nowait
    GOMP_loop_guided_next
    GOMP_loop_guided_start
    GOMP_loop_maybe_nonmonotonic_runtime_next
    GOMP_loop_maybe_nonmonotonic_runtime_start
    GOMP_loop_nonmonotonic_dynamic_next
    GOMP_loop_nonmonotonic_dynamic_start
    GOMP_loop_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_guided_start
    GOMP_loop_nonmonotonic_runtime_next
    GOMP_loop_nonmonotonic_runtime_start
    GOMP_loop_ordered_dynamic_next
    GOMP_loop_ordered_dynamic_start
    GOMP_loop_ordered_guided_next
    GOMP_loop_ordered_guided_start
    GOMP_loop_ordered_runtime_next
    GOMP_loop_ordered_runtime_start
    GOMP_loop_ordered_start
    GOMP_loop_ordered_static_next
    GOMP_loop_ordered_static_start
    GOMP_loop_runtime_next
    GOMP_loop_runtime_start
    GOMP_loop_start
    GOMP_loop_static_next
    GOMP_loop_static_start
    GOMP_loop_ull_doacross_dynamic_start
    GOMP_loop_ull_doacross_guided_start
    GOMP_loop_ull_doacross_runtime_start
    GOMP_loop_ull_doacross_start
    GOMP_loop_ull_doacross_static_start
    GOMP_loop_ull_dynamic_next
    GOMP_loop_ull_dynamic_start
    GOMP_loop_ull_guided_next
    GOMP_loop_ull_guided_start
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start
    GOMP_loop_ull_nonmonotonic_dynamic_next
    GOMP_loop_ull_nonmonotonic_dynamic_start
    GOMP_loop_ull_nonmonotonic_guided_next
    GOMP_loop_ull_nonmonotonic_guided_start
    GOMP_loop_ull_nonmonotonic_runtime_next
    GOMP_loop_ull_nonmonotonic_runtime_start
    GOMP_loop_ull_ordered_dynamic_next
    GOMP_loop_ull_ordered_dynamic_start
    GOMP_loop_ull_ordered_guided_next
    GOMP_loop_ull_ordered_guided_start
    GOMP_loop_ull_ordered_runtime_next
    GOMP_loop_ull_ordered_runtime_start
    GOMP_loop_ull_ordered_start
    GOMP_loop_ull_ordered_static_next
    GOMP_loop_ull_ordered_static_start
    GOMP_loop_ull_runtime_next
    GOMP_loop_ull_runtime_start
    GOMP_loop_ull_start
    GOMP_loop_ull_static_next
    GOMP_loop_ull_static_start
    GOMP_ordered_end
    GOMP_ordered_start
    GOMP_parallel_end
    GOMP_scope_start
    GOMP_sections2_start
    GOMP_sections_end
    GOMP_sections_end_cancel
    GOMP_sections_end_nowait
    GOMP_sections_next
    GOMP_sections_start
    GOMP_single_copy_end
    GOMP_single_copy_start
    GOMP_single_start
    GOMP_taskgroup_end
    GOMP_taskgroup_start
    GOMP_taskwait
    GOMP_taskwait_depend
    GOMP_taskyield
    omp_fulfill_event
    omp_fulfill_event_
    omp_set_lock
    omp_set_lock_
    omp_set_nest_lock
    omp_set_nest_lock_
    omp_test_lock
    omp_test_lock_
    omp_test_nest_lock
    omp_test_nest_lock_
    omp_unset_lock
    omp_unset_lock_
    omp_unset_nest_lock
    omp_unset_nest_lock_
}
