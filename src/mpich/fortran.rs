//! Functions of MPICH that its library for Fortran calls.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use mcpsim_core::mpi::abi as standard;

use crate::abi::{MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, Raw};
use crate::callbacks::{CopyProxy, DeleteProxy, set_proxies};
use crate::convert::keyval_in;
use crate::functions::*;

/// Generalised requests whose functions are Fortran code.
static FORTRAN_REQUESTS: Mutex<Vec<Raw>> = Mutex::new(Vec::new());

/// Notes whether the functions of the generalised request are Fortran code.
pub fn set_fortran_request(request: Raw, is_fortran: bool) {
    let mut all = FORTRAN_REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|other| *other != request);
    if is_fortran {
        all.push(request);
    }
}

/// Returns true if the functions of the generalised request are Fortran code.
pub fn is_fortran_request(request: Raw) -> bool {
    FORTRAN_REQUESTS.lock().unwrap_or_else(PoisonError::into_inner).contains(&request)
}

#[unsafe(no_mangle)]
pub extern "C" fn MPII_Grequest_set_lang_f77(request: Raw) {
    set_fortran_request(request, true);
}

#[unsafe(no_mangle)]
pub extern "C" fn MPII_Keyval_set_proxy(key: c_int, copy: CopyProxy, delete: DeleteProxy) {
    set_proxies(key, copy, delete);
}

/// Least key of a predefined attribute.
const FIRST_PREDEFINED: c_int = 0x6400_0000;

/// Returns the key in C for a key in Fortran. Predefined keys of Fortran follow those of C, which are odd.
fn c_key(key: c_int) -> c_int {
    if key >= FIRST_PREDEFINED && key % 2 == 0 { key - 1 } else { key }
}

macro_rules! attributes {
    ($($get:ident $of_get:ident $set:ident $of_set:ident)*) => {
        $(
            /// Stores the value of an attribute as an integer.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $get(
                handle: Raw,
                key: c_int,
                value: *mut *mut c_void,
                flag: *mut c_int,
                _: c_int,
            ) -> c_int {
                let key = c_key(key);
                // SAFETY: the library for Fortran passes valid pointers.
                unsafe {
                    let code = $of_get(handle, key, value.cast(), flag);
                    if code == 0 && *flag != 0 {
                        *value = match keyval_in(key) {
                            standard::MPI_WIN_SIZE => *(*value).cast::<isize>() as *mut c_void,
                            standard::MPI_WIN_BASE => *value,
                            // C code gets the addresses of predefined values.
                            known if known != key => *(*value).cast::<c_int>() as isize as *mut c_void,
                            _ => *value,
                        };
                    }
                    code
                }
            }

            /// Sets an attribute to an integer.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $set(handle: Raw, key: c_int, value: *mut c_void, _: c_int) -> c_int {
                // SAFETY: as above.
                unsafe { $of_set(handle, key, value) }
            }
        )*
    };
}

attributes! {
    MPII_Comm_get_attr MPI_Comm_get_attr MPII_Comm_set_attr MPI_Comm_set_attr
    MPII_Type_get_attr MPI_Type_get_attr MPII_Type_set_attr MPI_Type_set_attr
    MPII_Win_get_attr MPI_Win_get_attr MPII_Win_set_attr MPI_Win_set_attr
}

/// Statuses that a program ignores, for the module `mpi_f08`.
#[unsafe(no_mangle)]
pub static mut MPI_F08_STATUS_IGNORE: usize = 0;
#[unsafe(no_mangle)]
pub static mut MPI_F08_STATUSES_IGNORE: usize = 0;

/// Sets variables of the library for Fortran to constants of C.
extern "C" fn set_constants() {
    let constants = [
        (c"MPIR_C_MPI_UNWEIGHTED", &raw const MPI_UNWEIGHTED),
        (c"MPIR_C_MPI_WEIGHTS_EMPTY", &raw const MPI_WEIGHTS_EMPTY),
    ];
    for (name, constant) in constants {
        // SAFETY: the name ends with a zero byte. The variable has the size of a pointer.
        unsafe {
            let variable = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            if !variable.is_null() {
                *variable.cast::<*const c_int>() = *constant.cast::<*const c_int>();
            }
        }
    }
}

/// The dynamic linker calls the function after it has loaded the library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = set_constants;
