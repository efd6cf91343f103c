//! A datatype as long as a communication needs it: named ones are there for good and need no counting.

use std::ops::Deref;

use crate::mpi_api::error::MpiResult;
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::Handle;
use mcpsim_core::mpi::datatype::{Datatype, Type};

/// A datatype that a communication uses; the program may free its handle meanwhile.
#[derive(Clone, Debug)]
pub enum DatatypeRef {
    /// A named one.
    Named(&'static Datatype),
    /// One that the program made.
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
    /// The datatype behind `handle`, for communication.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none or it is not committed.
    #[inline]
    pub fn held(&self, handle: Handle) -> MpiResult<DatatypeRef> {
        match Datatype::named(handle) {
            Some(named) => Ok(DatatypeRef::Named(named)),
            None => self.committed(handle).map(DatatypeRef::Derived),
        }
    }
}
