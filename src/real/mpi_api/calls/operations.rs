//! Functions for reduction operations (MPI-3.1, section 5.9).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::mpi_api::collective::{Combine, UserFunction};
use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::datatype::Datatype;
use mcpsim_core::mpi::op;

fn bad_op(handle: Handle) -> MpiError {
    MpiError::new(abi::MPI_ERR_OP, format!("{handle:#x} is no handle of an operation"))
}

impl MpiProcess {
    /// Returns the reduction operation of `handle` for items of `datatype`.
    ///
    /// # Errors
    /// MPI_ERR_OP if the operation is unknown or does not support the datatype.
    pub fn combine(&self, handle: Handle, datatype: &Datatype) -> MpiResult<Combine> {
        if let Some(builtin) = op::builtin(handle) {
            error::expect(builtin.allowed(datatype) && !builtin.only_accumulates(), abi::MPI_ERR_OP, || {
                let name = if datatype.name().is_empty() { "a derived datatype" } else { datatype.name() };
                format!("{} does not take items of {name} (MPI-3.1, section 5.9.2)", builtin.name())
            })?;
            return Ok(Combine::Builtin(builtin));
        }
        self.ops.borrow().get(handle).copied().ok_or_else(|| bad_op(handle))
    }
}

mpi_functions! {
    fn MPI_Op_create(p; function: Option<UserFunction>, commute: c_int, op: *mut Handle) {
        let function = function.ok_or_else(|| MpiError::new(abi::MPI_ERR_ARG, "the function is null"))?;
        *op = p.ops.borrow_mut().insert(Combine::User { function, commutes: commute != 0 });
        Ok(())
    }
    fn MPI_Op_free(p; op: *mut Handle) {
        p.ops.borrow_mut().remove(*op).ok_or_else(|| bad_op(*op))?;
        *op = abi::MPI_OP_NULL;
        Ok(())
    }
    fn MPI_Op_commutative(p; op: Handle, commute: *mut c_int) {
        let commutes = match op::builtin(op) {
            Some(builtin) => builtin.commutes(),
            None => p.ops.borrow().get(op).ok_or_else(|| bad_op(op))?.commutes(),
        };
        *commute = c_int::from(commutes);
        Ok(())
    }
    fn MPI_Reduce_local(
        p; inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype: Handle, op: Handle,
    ) {
        let count = error::count(count, "the count")?;
        let items = p.committed(datatype)?;
        let combine = p.combine(op, &items)?;
        for (buffer, name) in [(inbuf, "inbuf"), (inoutbuf.cast_const(), "inoutbuf")] {
            error::expect(buffer as usize != abi::MPI_IN_PLACE, abi::MPI_ERR_BUFFER, || {
                format!("{name} is MPI_IN_PLACE: expected a buffer")
            })?;
        }
        error::expect(count == 0 || inbuf != inoutbuf.cast_const(), abi::MPI_ERR_BUFFER, || {
            "inbuf and inoutbuf are the same: expected buffers that do not overlap".to_owned()
        })?;
        combine.apply(&items, datatype, inbuf.cast_mut().cast(), inoutbuf.cast(), count);
        Ok(())
    }
}
