//! References from communication operations to datatypes. Named datatypes are static and need no reference count.

use std::ops::Deref;

use crate::mpi_api::error::MpiResult;
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::Handle;
use mcpsim_core::mpi::datatype::{Datatype, Type};

/// A datatype that a communication operation uses. The program may free the datatype handle before the communication
/// operation completes.
#[derive(Clone, Debug)]
pub enum DatatypeRef {
    /// A named datatype.
    Named(&'static Datatype),
    /// A datatype that the program has created.
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
    /// Returns the datatype of `handle` for use in a communication operation.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if the handle is not a valid datatype or the datatype is not committed.
    #[inline]
    pub fn held(&self, handle: Handle) -> MpiResult<DatatypeRef> {
        match Datatype::named(handle) {
            Some(named) => Ok(DatatypeRef::Named(named)),
            None => self.committed(handle).map(DatatypeRef::Derived),
        }
    }
}
