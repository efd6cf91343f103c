//! Datatypes: layouts of data in memory and their packed form (MPI-3.1, chapter 4).
//!
//! A [`Datatype`] is immutable. Mutable properties (name, attributes, whether it is committed) belong to its handle.
//! Counts and displacements have 64 bits. This module does not depend on ranks and MPI calls.
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
pub use kind::{BasicKind, Scalar, TypeGroup};
pub use named::{MPI_LB, MPI_UB};

use crate::abi::{self, Aint, Handle};
use layout::{Mix, TypeMap};

/// A reference to a shared datatype. An [`Arc`] counts the references to a datatype that a program created. Predefined
/// datatypes live as long as the host process and have no reference count, so threads do not contend for a counter.
pub struct Type(NonNull<Datatype>);

// SAFETY: `Type` shares a `Datatype` as an `Arc<Datatype>` does, and the bound of this impl requires that an
// `Arc<Datatype>` may be sent to other threads.
unsafe impl Send for Type where Arc<Datatype>: Send {}
// SAFETY: the reason of `unsafe impl Send for Type` applies here too.
unsafe impl Sync for Type where Arc<Datatype>: Sync {}

impl Type {
    /// Creates a datatype that is never freed.
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
        // SAFETY: the datatype is leaked, or this `Type` owns one strong count of its `Arc`.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Type {
    #[inline]
    fn clone(&self) -> Type {
        if !self.lasting {
            // SAFETY: a datatype that is not `lasting` came from `Arc::into_raw`, and this `Type` owns one of its
            // strong counts.
            unsafe { Arc::increment_strong_count(self.0.as_ptr()) }
        }
        Type(self.0)
    }
}

impl Drop for Type {
    #[inline]
    fn drop(&mut self) {
        if !self.lasting {
            // SAFETY: this `Type` owns one strong count of its `Arc`, as in `clone`, and releases this count.
            unsafe { Arc::decrement_strong_count(self.0.as_ptr()) }
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Reason why a datatype cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// MPI error class, such as MPI_ERR_ARG.
    pub class: c_int,
    /// Description of the wrong value and of the expected value.
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

/// Construction of a datatype (MPI-3.1, section 4.1.13): the arguments in the order of MPI_Type_get_contents.
#[derive(Clone, Debug)]
pub struct TypeEnvelope {
    /// MPI constant of the constructor function (MPI_COMBINER_…).
    pub combiner: c_int,
    /// Counts and other integer arguments. Arguments of functions for large counts may exceed an `int`.
    pub integers: Vec<i64>,
    /// Arguments of the constructor that are displacements, in bytes.
    pub addresses: Vec<Aint>,
    /// The old datatypes that were passed to the constructor.
    pub types: Vec<Type>,
}

/// An MPI datatype: its layout and its construction.
#[derive(Debug)]
pub struct Datatype {
    /// Number of data bytes in one item of the datatype.
    size: usize,
    /// Extent of the datatype: number of bytes from the start of one item to the start of the next item.
    extent: i64,
    /// Displacement of the first data byte if the data of one item are contiguous in memory, in the order of the type
    /// map.
    run: Option<isize>,
    /// Whether the data of consecutive items are contiguous in memory.
    dense: bool,
    layout: TypeMap,
    envelope: TypeEnvelope,
    /// Basic element of a named datatype, of a duplicate of a named datatype, or of a Fortran 90 datatype that is equal
    /// to a named datatype.
    kind: Option<&'static BasicKind>,
    /// Whether the datatype is never freed and has no reference count.
    lasting: bool,
}

impl Datatype {
    fn of_kind(kind: &'static BasicKind) -> Datatype {
        let envelope =
            TypeEnvelope { combiner: abi::MPI_COMBINER_NAMED, integers: vec![], addresses: vec![], types: vec![] };
        Datatype::new(TypeMap::basic(kind), envelope, Some(kind))
    }

    /// Creates a datatype and caches the most frequently used properties of its layout.
    fn new(layout: TypeMap, envelope: TypeEnvelope, kind: Option<&'static BasicKind>) -> Datatype {
        let plan = layout.bytes();
        let (extent, run) = match plan.node {
            plan::PlanNode::Run(_) => (layout.extent(), Some(plan.at as isize)),
            plan::PlanNode::Nothing => (layout.extent(), Some(0)),
            _ => (layout.extent(), None),
        };
        let dense = matches!(plan.node, plan::PlanNode::Nothing) || run.is_some() && extent == plan.bytes as i64;
        Datatype { size: layout.size as usize, extent, run, dense, layout, envelope, kind, lasting: false }
    }

    /// Handle of the datatype, if it is a named datatype.
    pub fn handle(&self) -> Option<Handle> {
        if self.envelope.combiner == abi::MPI_COMBINER_NAMED { self.kind.map(|kind| kind.handle) } else { None }
    }

    /// Name of a named datatype; empty for a derived datatype.
    pub fn name(&self) -> &'static str {
        if self.envelope.combiner == abi::MPI_COMBINER_NAMED { self.kind.map_or("", |kind| kind.name) } else { "" }
    }

    /// Returns the constructor call that created the datatype.
    pub fn envelope(&self) -> &TypeEnvelope {
        &self.envelope
    }

    /// Basic element of a named datatype or of a datatype equal to a named datatype. Built-in reduction operations
    /// accept only these datatypes.
    #[inline]
    pub fn kind(&self) -> Option<&'static BasicKind> {
        self.kind
    }

    /// Basic element of the data, if all data of the datatype have the same basic element.
    #[inline]
    pub fn uniform(&self) -> Option<&'static BasicKind> {
        match self.layout.mix {
            Mix::One(kind) => Some(kind),
            _ => None,
        }
    }

    /// Number of bytes of data in one item, which is the size of its packed form.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Lower bound of the datatype (MPI_Type_get_extent), in bytes.
    pub fn lb(&self) -> i64 {
        self.layout.lb()
    }

    /// Upper bound of the datatype (lower bound plus extent), in bytes.
    pub fn ub(&self) -> i64 {
        self.layout.ub()
    }

    /// Extent of the datatype: number of bytes from the start of one item to the start of the next item.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// Displacement of the first data byte of one item.
    pub fn true_lb(&self) -> i64 {
        self.layout.true_lb
    }

    /// Number of bytes from the first byte of data to the last.
    pub fn true_extent(&self) -> i64 {
        self.layout.true_ub - self.layout.true_lb
    }

    /// Displacements of the first data byte of `count` items and of the byte after their last data byte. The range is
    /// empty if the items contain no data.
    pub fn span(&self, count: usize) -> (i64, i64) {
        if count == 0 || self.size() == 0 {
            return (0, 0);
        }
        let last = (count as i64 - 1).saturating_mul(self.extent());
        (self.true_lb().saturating_add(last.min(0)), self.layout.true_ub.saturating_add(last.max(0)))
    }

    /// Whether the data of one item are contiguous in memory, in the order of the type map.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.run.is_some()
    }

    /// Whether the data of consecutive items are contiguous in memory, in the order of the type map.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.is_contiguous() && self.extent() == self.layout.size as i64
    }

    /// Number of basic elements in one item.
    pub fn elements(&self) -> u64 {
        self.layout.typed.basics
    }

    /// Number of basic elements in `bytes` bytes of packed items (MPI_Get_elements). `None` if the bytes end within an
    /// element.
    pub fn elements_in(&self, bytes: usize) -> Option<u64> {
        match self.layout.size {
            0 => (bytes == 0).then_some(0),
            size => {
                let (items, rest) = (bytes as u64 / size, bytes as u64 % size);
                Some(items * self.elements() + self.layout.typed.basics_in(rest)?)
            }
        }
    }

    /// Number of items in `bytes` bytes of packed data (MPI_Get_count). `None` if the bytes end within an item.
    pub fn items_in(&self, bytes: usize) -> Option<u64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then_some((bytes / size) as u64),
        }
    }
}
