//! Handles of MPI objects that a program creates. A handle contains the index and the type of the object, such as
//! communicator or datatype. The simulator therefore detects handles of the wrong type.

use mcpsim_core::mpi::abi::{FIRST_USER, Handle};

/// Types of MPI objects. The low bits of a handle contain the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs)]
pub enum HandleKind {
    Comm = 1,
    Group,
    Datatype,
    Op,
    Request,
    Info,
    Errhandler,
    Win,
    Message,
}

const KIND_BITS: u32 = 4;

/// Table of the MPI objects of one type, such as communicator, that a rank has created.
#[derive(Debug)]
pub struct HandleTable<T> {
    kind: HandleKind,
    entries: Vec<Option<T>>,
    free: Vec<u32>,
    /// Handles of new MPI objects. The list of new handles is `None` if the table does not track new objects.
    recent: Option<Vec<Handle>>,
}

impl<T> HandleTable<T> {
    /// Creates an empty table for MPI objects of the type `kind`.
    pub const fn new(kind: HandleKind) -> Self {
        HandleTable { kind, entries: Vec::new(), free: Vec::new(), recent: None }
    }

    /// Starts tracking new MPI objects; see [`HandleTable::take_recent`].
    pub fn track(&mut self) {
        self.recent = Some(Vec::new());
    }

    /// Returns the handles of MPI objects that were inserted since the last call of `take_recent`.
    pub fn take_recent(&mut self) -> Vec<Handle> {
        self.recent.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Inserts an MPI object and returns the object's handle.
    #[inline(always)]
    pub fn insert(&mut self, object: T) -> Handle {
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = Some(object);
                index as usize
            }
            None => {
                self.entries.push(Some(object));
                self.entries.len() - 1
            }
        };
        let handle = FIRST_USER + (index << KIND_BITS | self.kind as usize);
        if let Some(recent) = &mut self.recent {
            recent.push(handle);
        }
        handle
    }

    /// Returns the handle that the next inserted MPI object will have.
    pub fn next_handle(&self) -> Handle {
        let index = self.free.last().map_or(self.entries.len(), |&index| index as usize);
        FIRST_USER + (index << KIND_BITS | self.kind as usize)
    }

    /// Returns the index of the MPI object of `handle` in the table, if the handle has the type of the table.
    #[inline]
    pub fn index(&self, handle: Handle) -> Option<usize> {
        let rest = handle.checked_sub(FIRST_USER)?;
        (rest & ((1 << KIND_BITS) - 1) == self.kind as usize).then_some(rest >> KIND_BITS)
    }

    /// Returns the MPI object of `handle`, if the object is in the table.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<&T> {
        self.entries.get(self.index(handle)?)?.as_ref()
    }

    /// Variant of [`HandleTable::get`] that returns a mutable reference to the MPI object.
    #[inline]
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let index = self.index(handle)?;
        self.entries.get_mut(index)?.as_mut()
    }

    /// Removes and drops the MPI object of `handle`.
    #[inline]
    pub fn discard(&mut self, handle: Handle) {
        if let Some(index) = self.index(handle)
            && let Some(entry) = self.entries.get_mut(index)
            && entry.is_some()
        {
            *entry = None;
            self.free.push(index as u32);
        }
    }

    /// Removes and returns the MPI object of `handle`. New MPI objects may reuse the handle.
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let index = self.index(handle)?;
        let object = self.entries.get_mut(index)?.take()?;
        self.free.push(index as u32);
        Some(object)
    }

    /// Iterates over all MPI objects of the table for changes.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().flatten()
    }

    /// Iterates over all MPI objects of the table with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        let handle = |index: usize| FIRST_USER + (index << KIND_BITS | self.kind as usize);
        self.entries.iter().enumerate().filter_map(move |(index, entry)| Some((handle(index), entry.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_finds_its_object_and_no_other_kind() {
        let mut comms = HandleTable::new(HandleKind::Comm);
        let mut groups = HandleTable::new(HandleKind::Group);
        let (a, b) = (comms.insert('a'), comms.insert('b'));
        let g = groups.insert('g');
        assert!(a >= FIRST_USER && a != b && a != g);
        assert_eq!((comms.get(a), comms.get(b), comms.get(g), groups.get(a)), (Some(&'a'), Some(&'b'), None, None));
        let next = groups.next_handle();
        assert_eq!(groups.insert('h'), next);
        assert_eq!(comms.remove(a), Some('a'));
        assert_eq!(comms.next_handle(), a);
        assert_eq!(comms.get(a), None);
        assert_eq!(comms.remove(a), None);
        assert_eq!(comms.insert('c'), a);
        assert_eq!(comms.iter().count(), 2);
        assert_eq!((comms.get(0), comms.get(usize::MAX)), (None, None));
    }
}
