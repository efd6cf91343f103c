//! Datatypes for parameterized Fortran 90 numbers (MPI-3.1, section 17.1.9), with the kinds of GNU Fortran on x86-64.

use std::ffi::c_int;

use super::{Datatype, Type, TypeEnvelope, TypeError};
use crate::abi::{self, Handle, MPI_UNDEFINED};

/// Real kinds of GNU Fortran: decimal digits, decimal exponent range, and the real and complex MPI datatypes.
const REALS: [(c_int, c_int, Handle, Handle); 4] = [
    (6, 37, abi::MPI_REAL4, abi::MPI_COMPLEX8),
    (15, 307, abi::MPI_REAL8, abi::MPI_COMPLEX16),
    (18, 4931, abi::MPI_LONG_DOUBLE, abi::MPI_C_LONG_DOUBLE_COMPLEX),
    (33, 4931, abi::MPI_REAL16, abi::MPI_COMPLEX32),
];

/// Integer kinds of GNU Fortran: decimal digits and the MPI datatype.
const INTEGERS: [(c_int, Handle); 5] = [
    (2, abi::MPI_INTEGER1),
    (4, abi::MPI_INTEGER2),
    (9, abi::MPI_INTEGER4),
    (18, abi::MPI_INTEGER8),
    (38, abi::MPI_INTEGER16),
];

/// Datatypes of the smallest Fortran real kind with decimal precision `p` and exponent range `r`. `p` or `r` may be
/// MPI_UNDEFINED.
fn real(p: c_int, r: c_int) -> Result<(Handle, Handle), TypeError> {
    if p == MPI_UNDEFINED && r == MPI_UNDEFINED {
        return Err(TypeError::argument("p and r are MPI_UNDEFINED; expected at least one of them".to_owned()));
    }
    let enough = |has: c_int, asked: c_int| asked == MPI_UNDEFINED || asked <= has;
    match REALS.iter().find(|&&(digits, exponent, ..)| enough(digits, p) && enough(exponent, r)) {
        Some(&(.., real, complex)) => Ok((real, complex)),
        None => Err(TypeError::argument(format!("p is {p} and r is {r}; expected at most 33 digits and range 4931"))),
    }
}

fn like(handle: Handle, combiner: c_int, arguments: &[c_int]) -> Type {
    let named = Datatype::named(handle).expect("a named datatype");
    let integers = arguments.iter().map(|&argument| i64::from(argument)).collect();
    let envelope = TypeEnvelope { combiner, integers, addresses: vec![], types: vec![] };
    Datatype::new(named.layout.clone(), envelope, named.kind).into()
}

impl Datatype {
    /// Implements MPI_Type_create_f90_real. The standard requires the same handle for the same arguments; the caller of
    /// this function must reuse handles.
    pub fn f90_real(p: c_int, r: c_int) -> Result<Type, TypeError> {
        Ok(like(real(p, r)?.0, abi::MPI_COMBINER_F90_REAL, &[p, r]))
    }

    /// Implements MPI_Type_create_f90_complex, see [`Datatype::f90_real`].
    pub fn f90_complex(p: c_int, r: c_int) -> Result<Type, TypeError> {
        Ok(like(real(p, r)?.1, abi::MPI_COMBINER_F90_COMPLEX, &[p, r]))
    }

    /// Implements MPI_Type_create_f90_integer, see [`Datatype::f90_real`].
    pub fn f90_integer(r: c_int) -> Result<Type, TypeError> {
        match INTEGERS.iter().find(|&&(digits, _)| r <= digits) {
            Some(&(_, handle)) => Ok(like(handle, abi::MPI_COMBINER_F90_INTEGER, &[r])),
            None => Err(TypeError::argument(format!("r is {r}; expected at most 38 digits"))),
        }
    }
}
