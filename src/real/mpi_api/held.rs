//! References to datatypes in use by communication. Named datatypes are static and need no reference count.

use std::ops::Deref;

use crate::mpi_api::error::MpiResult;
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::Handle;
use mcpsim_core::mpi::datatype::{Datatype, Type};

/// A datatype in use by communication. The program may free its handle in the meantime.
#[derive(Clone, Debug)]
pub enum DatatypeRef {
    /// A named datatype.
    Named(&'static Datatype),
    /// A datatype created by the program.
    Derived(Type),
}

impl Deref for DatatypeRef {
    type Target = Datatype;

    #[inline]
    fn deref(&self) -> &Datatype {
        match self {
            DatatypeRef::Named(datatype) => datatype,
            DatatypeRef::Derived(datatype) => datatype,
        }
    }
}

impl MpiProcess {
    /// Returns the datatype of `handle` for communication.
    ///
    /// # Errors
    /// MPI_ERR_TYPE for an unknown or uncommitted datatype.
    #[inline]
    pub fn held(&self, handle: Handle) -> MpiResult<DatatypeRef> {
        match Datatype::named(handle) {
            Some(named) => Ok(DatatypeRef::Named(named)),
            None => self.committed(handle).map(DatatypeRef::Derived),
        }
    }
}
