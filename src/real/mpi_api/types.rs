//! Datatypes of a rank (MPI-3.1, chapter 4). The table of datatypes contains the state that the program can change,
//! by datatype handle.

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::handles::{HandleKind, HandleTable};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::datatype::{Datatype, Type};

/// A datatype that the program has created.
#[derive(Debug)]
struct Derived {
    datatype: Type,
    committed: bool,
    notes: Notes,
}

/// Name and attributes that the program has set for a datatype.
#[derive(Debug, Default)]
pub struct Notes {
    /// Name of the datatype, or `None` if the program has not set a name.
    pub name: Option<String>,
    /// Attribute keys with their values, in the order in which the program set the attributes.
    pub attributes: Vec<(c_int, usize)>,
}

/// Table of a rank's datatypes.
#[derive(Debug)]
pub struct Types {
    derived: HandleTable<Derived>,
    /// Names and attributes that the program has set for named datatypes.
    named: BTreeMap<Handle, Notes>,
    /// Handles of datatypes for Fortran 90 numbers. The handles are stored because MPI_Type_create_f90_real and similar
    /// functions must return the same handle for equal arguments (MPI-3.1, section 17.1.9).
    fortran: Vec<Handle>,
}

fn bad_type(handle: Handle) -> MpiError {
    let what = match handle {
        abi::MPI_DATATYPE_NULL => "the datatype is MPI_DATATYPE_NULL".to_owned(),
        _ => format!("{handle:#x} is no handle of a datatype"),
    };
    MpiError::new(abi::MPI_ERR_TYPE, what)
}

impl Types {
    /// Creates a table that contains only the named datatypes.
    pub const fn new() -> Self {
        Types { derived: HandleTable::new(HandleKind::Datatype), named: BTreeMap::new(), fortran: Vec::new() }
    }

    /// Adds a datatype to the table and returns the handle of the datatype.
    pub fn insert(&mut self, datatype: Type, committed: bool) -> Handle {
        self.derived.insert(Derived { datatype, committed, notes: Notes::default() })
    }

    /// Returns the handle of the Fortran 90 datatype `datatype`. Equal Fortran 90 datatypes have the same handle.
    pub fn fortran(&mut self, datatype: Type) -> Handle {
        let wanted = datatype.envelope();
        let same = |&handle: &Handle| {
            let known = self.derived.get(handle).expect("never freed").datatype.envelope();
            (known.combiner, &known.integers) == (wanted.combiner, &wanted.integers)
        };
        if let Some(known) = self.fortran.iter().copied().find(same) {
            return known;
        }
        let handle = self.insert(datatype, true);
        self.fortran.push(handle);
        handle
    }

    /// Returns a handle for a component of another datatype. A named datatype keeps its handle, and a derived
    /// datatype receives a new handle.
    pub fn part(&mut self, datatype: &Type) -> Handle {
        match datatype.handle() {
            Some(handle) => handle,
            None if is_fortran(datatype) => self.fortran(datatype.clone()),
            None => self.insert(datatype.clone(), true),
        }
    }

    /// Returns the datatype of `handle`. The datatype need not be committed.
    pub fn get(&self, handle: Handle) -> MpiResult<Type> {
        let named = Datatype::named(handle);
        named.or_else(|| Some(&self.derived.get(handle)?.datatype)).cloned().ok_or_else(|| bad_type(handle))
    }

    /// Returns true if the datatype may be used in communication.
    pub fn is_committed(&self, handle: Handle) -> bool {
        Datatype::named(handle).is_some() || self.derived.get(handle).is_some_and(|derived| derived.committed)
    }

    /// Returns a mutable reference to the name and attributes of the datatype of `handle`.
    pub fn notes(&mut self, handle: Handle) -> MpiResult<&mut Notes> {
        if Datatype::named(handle).is_some() {
            return Ok(self.named.entry(handle).or_default());
        }
        Ok(&mut self.derived.get_mut(handle).ok_or_else(|| bad_type(handle))?.notes)
    }

    /// Marks the datatype of `handle` as committed.
    pub fn commit(&mut self, handle: Handle) -> MpiResult {
        if Datatype::named(handle).is_none() {
            self.derived.get_mut(handle).ok_or_else(|| bad_type(handle))?.committed = true;
        }
        Ok(())
    }

    /// Checks that the program may free the datatype of `handle`.
    pub fn can_free(&self, handle: Handle) -> MpiResult {
        let datatype = self.get(handle)?;
        if datatype.handle().is_some() || is_fortran(&datatype) {
            let name = if datatype.name().is_empty() { "a datatype of Fortran 90 numbers" } else { datatype.name() };
            let what = format!("{name} is predefined: expected a datatype that the program made");
            return Err(MpiError::new(abi::MPI_ERR_TYPE, what));
        }
        Ok(())
    }

    /// Removes a datatype handle. Pending communication operations still refer to the datatype.
    pub fn remove(&mut self, handle: Handle) {
        self.derived.remove(handle);
    }

    /// Returns the handles of datatypes that the program has created and not freed.
    pub fn left(&self) -> Vec<Handle> {
        self.derived.iter().map(|(handle, _)| handle).filter(|handle| !self.fortran.contains(handle)).collect()
    }

    /// Starts tracking new datatypes; see [`HandleTable::track`].
    pub fn track(&mut self) {
        self.derived.track();
    }

    /// Returns the handles of new datatypes; see [`HandleTable::take_recent`].
    pub fn take_recent(&mut self) -> Vec<Handle> {
        self.derived.take_recent()
    }
}

fn is_fortran(datatype: &Datatype) -> bool {
    let combiners = [abi::MPI_COMBINER_F90_REAL, abi::MPI_COMBINER_F90_COMPLEX, abi::MPI_COMBINER_F90_INTEGER];
    combiners.contains(&datatype.envelope().combiner)
}

impl MpiProcess {
    /// Returns the datatype of `handle` for use in a communication operation.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if the handle is not a valid datatype or the datatype is not committed.
    #[inline]
    pub fn committed(&self, handle: Handle) -> MpiResult<Type> {
        match Datatype::named(handle) {
            Some(named) => Ok(named.clone()),
            None => self.committed_derived(handle),
        }
    }

    fn committed_derived(&self, handle: Handle) -> MpiResult<Type> {
        match self.types.borrow().derived.get(handle) {
            Some(Derived { datatype, committed: true, .. }) => Ok(datatype.clone()),
            Some(_) => Err(MpiError::new(abi::MPI_ERR_TYPE, "the datatype is not committed: expected MPI_Type_commit")),
            None => Err(bad_type(handle)),
        }
    }

    /// Calls `of` with the datatype of `handle` and returns the result of `of`. The datatype need not be committed.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if the handle is not a valid datatype.
    #[inline]
    pub fn of_datatype<T>(&self, handle: Handle, of: impl FnOnce(&Datatype) -> T) -> MpiResult<T> {
        match Datatype::named(handle) {
            Some(named) => Ok(of(named)),
            None => self.types.borrow().get(handle).map(|derived| of(&derived)),
        }
    }

    /// Returns the datatype of `handle`. The datatype need not be committed.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if the handle is not a valid datatype.
    pub fn datatype(&self, handle: Handle) -> MpiResult<Type> {
        self.types.borrow().get(handle)
    }
}

/// Lowest address that can contain data of a program. MPI_BOTTOM, MPI_IN_PLACE and other constants have lower
/// addresses.
const LOWEST: usize = 4096;

/// Rejects buffers with addresses that cannot contain data of a program.
///
/// # Errors
/// MPI_ERR_BUFFER if the `count` items at `base` include the null page.
#[inline]
pub fn check_buffer(base: *const u8, count: usize, datatype: &Datatype) -> MpiResult {
    if base as usize >= LOWEST { Ok(()) } else { check_low_buffer(base as usize, count, datatype) }
}

#[cold]
fn check_low_buffer(base: usize, count: usize, datatype: &Datatype) -> MpiResult {
    let (first, end) = datatype.span(count);
    // If the datatype contains absolute addresses, `base` may be MPI_BOTTOM, so the check uses the addresses of the
    // data.
    if first == end || first.saturating_add(base as i64) >= LOWEST as i64 {
        return Ok(());
    }
    let what = match base {
        abi::MPI_BOTTOM => "the buffer is null and the datatype has no absolute addresses".to_owned(),
        abi::MPI_IN_PLACE => "the buffer is MPI_IN_PLACE: expected an address".to_owned(),
        _ => format!("the buffer is at {base:#x}: expected an address"),
    };
    Err(MpiError::new(abi::MPI_ERR_BUFFER, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_datatypes_have_handles_of_their_own() {
        let mut types = Types::new();
        let int = Datatype::named(abi::MPI_INT).unwrap();
        let pair = types.insert(Datatype::contiguous(2, int).unwrap(), false);
        assert!(!types.is_committed(pair) && types.is_committed(abi::MPI_INT) && !types.is_committed(0x77));
        types.commit(pair).unwrap();
        assert!(types.is_committed(pair));
        let datatype = types.get(pair).unwrap();
        let part = types.part(&datatype);
        assert!(part != pair);
        assert_eq!(types.part(int), abi::MPI_INT);
        assert_eq!((types.left().len(), types.can_free(part)), (2, Ok(())));
        types.remove(part);
        assert_eq!((types.left().len(), types.get(part).unwrap_err().class), (1, abi::MPI_ERR_TYPE));
        assert_eq!(types.can_free(abi::MPI_INT).unwrap_err().class, abi::MPI_ERR_TYPE);
    }

    #[test]
    fn fortran_numbers_have_one_handle_for_the_same_arguments() {
        let mut types = Types::new();
        let six = types.fortran(Datatype::f90_real(6, 30).unwrap());
        assert_eq!(types.fortran(Datatype::f90_real(6, 30).unwrap()), six);
        assert!(types.fortran(Datatype::f90_complex(6, 30).unwrap()) != six);
        assert!(types.fortran(Datatype::f90_real(6, 31).unwrap()) != six);
        let again = types.get(six).unwrap();
        assert_eq!((types.part(&again), types.left().len()), (six, 0));
        assert_eq!(types.can_free(six).unwrap_err().class, abi::MPI_ERR_TYPE);
    }

    #[test]
    fn data_at_null_is_an_error_unless_its_addresses_are_absolute() {
        let class = |base: usize, count, datatype: &Datatype| {
            check_buffer(base as *const u8, count, datatype).map_err(|error| error.class)
        };
        let int = Datatype::named(abi::MPI_INT).unwrap();
        let (absolute, near) = ([0x5000_0000_0000], [8]);
        let absolute = Datatype::hindexed(&[1], &absolute, int).unwrap();
        let near = Datatype::hindexed(&[1], &near, int).unwrap();
        let bad = Err(abi::MPI_ERR_BUFFER);
        assert_eq!((class(0, 1, int), class(0, 0, int), class(0x6000, 1, int)), (bad, Ok(()), Ok(())));
        assert_eq!((class(0, 1, &absolute), class(0, 1, &near), class(abi::MPI_IN_PLACE, 1, int)), (Ok(()), bad, bad));
    }
}
