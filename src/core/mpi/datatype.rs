//! Datatypes: layouts of data in memory, and their packed form (MPI-3.1, chapter 4).
//!
//! A [`Datatype`] is a value that never changes; what a program can change (its name, attributes, whether it is
//! committed) belongs to the handle. Counts and places have 64 bits. It knows nothing of ranks and calls.
#![allow(unsafe_code)]

mod arrays;
mod construct;
mod external;
mod fortran;
mod kind;
mod layout;
mod movement;
mod named;
mod plan;
#[cfg(test)]
mod tests;
mod walk;
pub mod wire;

use std::ffi::c_int;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

pub use arrays::{Distributed, Order};
pub use kind::{BasicKind, Group, Scalar};
pub use named::{MPI_LB, MPI_UB};

use crate::mpi::abi::{self, Aint, Handle};
use layout::{Mix, TypeMap};

/// A shared datatype: one that a program made, of which an [`Arc`] counts the users, or one of the ABI's, which are
/// always there: nobody counts who uses them, so that threads do not meet in a counter.
pub struct Type(NonNull<Datatype>);

// SAFETY: shared as by an `Arc`, of what threads may share.
unsafe impl Send for Type where Arc<Datatype>: Send {}
// SAFETY: as above.
unsafe impl Sync for Type where Arc<Datatype>: Sync {}

impl Type {
    /// One that lasts as long as the process.
    fn lasting(datatype: Datatype) -> Type {
        Type(NonNull::from(Box::leak(Box::new(Datatype { lasting: true, ..datatype }))))
    }
}

impl From<Datatype> for Type {
    fn from(datatype: Datatype) -> Type {
        let made = Arc::into_raw(Arc::new(datatype));
        Type(NonNull::new(made.cast_mut()).expect("an Arc's content has an address"))
    }
}

impl Deref for Type {
    type Target = Datatype;

    #[inline(always)]
    fn deref(&self) -> &Datatype {
        // SAFETY: it lasts, or an `Arc` keeps it as long as there is a `Type`.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Type {
    #[inline]
    fn clone(&self) -> Type {
        if !self.lasting {
            // SAFETY: what does not last came from an `Arc`, of which this is a user.
            unsafe { Arc::increment_strong_count(self.0.as_ptr()) }
        }
        Type(self.0)
    }
}

impl Drop for Type {
    #[inline]
    fn drop(&mut self) {
        if !self.lasting {
            // SAFETY: as above; this user is gone.
            unsafe { Arc::decrement_strong_count(self.0.as_ptr()) }
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Why there is no such datatype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// The error class, such as MPI_ERR_ARG.
    pub class: c_int,
    /// What was found and what was expected.
    pub what: String,
}

impl TypeError {
    fn argument(what: String) -> TypeError {
        TypeError { class: abi::MPI_ERR_ARG, what }
    }

    fn count(what: String) -> TypeError {
        TypeError { class: abi::MPI_ERR_COUNT, what }
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for TypeError {}

/// How a datatype was made (MPI-3.1, section 4.1.13): the arguments in the order of MPI_Type_get_contents.
#[derive(Clone, Debug)]
pub struct TypeEnvelope {
    /// MPI_COMBINER_…
    pub combiner: c_int,
    /// Counts and other numbers; those of functions for large counts may not fit in an int.
    pub integers: Vec<i64>,
    /// Displacements in bytes.
    pub addresses: Vec<Aint>,
    /// The datatypes it was made from.
    pub types: Vec<Type>,
}

/// A datatype.
#[derive(Debug)]
pub struct Datatype {
    /// Bytes of data.
    size: usize,
    /// Bytes from one item to the next.
    extent: i64,
    /// Where the data begin, if those of an item are one piece of memory in order.
    run: Option<isize>,
    /// Whether those of any number of items are.
    dense: bool,
    layout: TypeMap,
    envelope: TypeEnvelope,
    /// For a named datatype, a duplicate of one, or one that stands for a named one (of Fortran 90).
    kind: Option<&'static BasicKind>,
    /// Whether it lasts as long as the process, and nobody counts who uses it.
    lasting: bool,
}

impl Datatype {
    fn of_kind(kind: &'static BasicKind) -> Datatype {
        let envelope =
            TypeEnvelope { combiner: abi::MPI_COMBINER_NAMED, integers: vec![], addresses: vec![], types: vec![] };
        Datatype::new(TypeMap::basic(kind), envelope, Some(kind))
    }

    /// What is asked of a layout most often is kept beside it.
    fn new(layout: TypeMap, envelope: TypeEnvelope, kind: Option<&'static BasicKind>) -> Datatype {
        let plan = layout.bytes();
        let (extent, run) = match plan.node {
            plan::Node::Run(_) => (layout.extent(), Some(plan.at as isize)),
            plan::Node::Nothing => (layout.extent(), Some(0)),
            _ => (layout.extent(), None),
        };
        let dense = matches!(plan.node, plan::Node::Nothing) || run.is_some() && extent == plan.bytes as i64;
        Datatype { size: layout.size as usize, extent, run, dense, layout, envelope, kind, lasting: false }
    }

    /// The handle of a named datatype.
    pub fn handle(&self) -> Option<Handle> {
        if self.envelope.combiner == abi::MPI_COMBINER_NAMED { self.kind.map(|kind| kind.handle) } else { None }
    }

    /// The name of a named datatype, empty for others.
    pub fn name(&self) -> &'static str {
        if self.envelope.combiner == abi::MPI_COMBINER_NAMED { self.kind.map_or("", |kind| kind.name) } else { "" }
    }

    /// How it was made.
    pub fn envelope(&self) -> &TypeEnvelope {
        &self.envelope
    }

    /// The basic element that it is, for a named datatype and what equals one: built-in operations take these.
    #[inline]
    pub fn kind(&self) -> Option<&'static BasicKind> {
        self.kind
    }

    /// The basic element that all its data are of, if there is one.
    #[inline]
    pub fn uniform(&self) -> Option<&'static BasicKind> {
        match self.layout.mix {
            Mix::One(kind) => Some(kind),
            _ => None,
        }
    }

    /// Bytes of data, so of the packed form.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The lower bound.
    pub fn lb(&self) -> i64 {
        self.layout.lb()
    }

    /// The upper bound.
    pub fn ub(&self) -> i64 {
        self.layout.ub()
    }

    /// Bytes from one item to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// Where the first byte of data is.
    pub fn true_lb(&self) -> i64 {
        self.layout.true_lb
    }

    /// Bytes from the first byte of data to the last.
    pub fn true_extent(&self) -> i64 {
        self.layout.true_ub - self.layout.true_lb
    }

    /// Where the bytes of `count` items lie: the first, and the one after the last; an empty range without data.
    pub fn span(&self, count: usize) -> (i64, i64) {
        if count == 0 || self.size() == 0 {
            return (0, 0);
        }
        let last = (count as i64 - 1).saturating_mul(self.extent());
        (self.true_lb().saturating_add(last.min(0)), self.layout.true_ub.saturating_add(last.max(0)))
    }

    /// Whether an item is one piece of memory, in order.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.run.is_some()
    }

    /// Whether any number of items is one piece of memory, in order.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.is_contiguous() && self.extent() == self.layout.size as i64
    }

    /// Basic elements of an item.
    pub fn elements(&self) -> u64 {
        self.layout.typed.basics
    }

    /// The basic elements in so many bytes of items (MPI_Get_elements); none if they end within one.
    pub fn elements_in(&self, bytes: usize) -> Option<u64> {
        match self.layout.size {
            0 => (bytes == 0).then_some(0),
            size => {
                let (items, rest) = (bytes as u64 / size, bytes as u64 % size);
                Some(items * self.elements() + self.layout.typed.basics_in(rest)?)
            }
        }
    }

    /// The items in so many bytes (MPI_Get_count); none if they end within one.
    pub fn items_in(&self, bytes: usize) -> Option<u64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then_some((bytes / size) as u64),
        }
    }
}
