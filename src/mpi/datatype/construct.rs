//! Constructors of datatypes (MPI-3.1, sections 4.1.2, 4.1.7 and 4.1.10).
//!
//! Counts may have any integer type, so MPI functions for large counts use the same constructors.

use super::layout::{LayoutPiece, TypeMap};
use super::{Datatype, Type, TypeEnvelope, TypeError};
use crate::abi::{self, Aint};

type Result<T> = std::result::Result<T, TypeError>;

/// Integer type of a count argument of an MPI function: `int` or MPI_Count.
pub trait CountArgument: Copy + Into<i64> {}
impl<T: Copy + Into<i64>> CountArgument for T {}

pub(super) fn wide<N: CountArgument>(numbers: &[N]) -> impl Iterator<Item = i64> + Clone {
    numbers.iter().map(|&number| number.into())
}

/// Creates a derived datatype from its layout and its constructor call.
pub(super) fn derived(
    layout: TypeMap,
    combiner: std::ffi::c_int,
    integers: Vec<i64>,
    addresses: Vec<Aint>,
    types: Vec<Type>,
) -> Type {
    Datatype::new(layout, TypeEnvelope { combiner, integers, addresses, types }, None).into()
}

fn count(count: i64) -> Result<i64> {
    match count {
        0.. => Ok(count),
        _ => Err(TypeError::count(format!("count is {count}; expected 0 or more"))),
    }
}

fn block(length: i64) -> Result<i64> {
    match length {
        0.. => Ok(length),
        _ => Err(TypeError::argument(format!("blocklength is {length}; expected 0 or more"))),
    }
}

fn blocks<N: CountArgument>(lengths: &[N]) -> Result<()> {
    match wide(lengths).enumerate().find(|&(_, length)| length < 0) {
        None => Ok(()),
        Some((i, length)) => {
            Err(TypeError::argument(format!("array_of_blocklengths[{i}] is {length}; expected 0 or more")))
        }
    }
}

fn lengths(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(TypeError::argument(format!("{what} has {found} entries; expected {expected}, one for each block")))
}

fn bytes(elements: i64, extent: i64) -> Result<i64> {
    elements.checked_mul(extent).ok_or_else(|| {
        TypeError::argument(format!("{elements} times the extent of {extent} bytes is not a 64-bit displacement"))
    })
}

impl Datatype {
    /// Implements MPI_Type_contiguous.
    pub fn contiguous(n: impl CountArgument, old: &Type) -> Result<Type> {
        let n = count(n.into())?;
        let layout = old.layout.contiguous(n)?;
        Ok(derived(layout, abi::MPI_COMBINER_CONTIGUOUS, vec![n], vec![], vec![old.clone()]))
    }

    /// Implements MPI_Type_vector: the unit of the stride is the extent of `old`.
    pub fn vector(
        n: impl CountArgument,
        blocklength: impl CountArgument,
        stride: impl CountArgument,
        old: &Type,
    ) -> Result<Type> {
        let (n, length, stride) = (count(n.into())?, block(blocklength.into())?, stride.into());
        let layout = old.layout.contiguous(length)?.repeated(n, bytes(stride, old.extent())?)?;
        Ok(derived(layout, abi::MPI_COMBINER_VECTOR, vec![n, length, stride], vec![], vec![old.clone()]))
    }

    /// Implements MPI_Type_create_hvector: the stride is in bytes.
    pub fn hvector(n: impl CountArgument, blocklength: impl CountArgument, stride: Aint, old: &Type) -> Result<Type> {
        let (n, length) = (count(n.into())?, block(blocklength.into())?);
        let layout = old.layout.contiguous(length)?.repeated(n, stride as i64)?;
        Ok(derived(layout, abi::MPI_COMBINER_HVECTOR, vec![n, length], vec![stride], vec![old.clone()]))
    }

    /// Implements MPI_Type_indexed: the unit of displacements is the extent of `old`.
    pub fn indexed<N: CountArgument>(blocklengths: &[N], displacements: &[N], old: &Type) -> Result<Type> {
        blocks(blocklengths)?;
        lengths("array_of_displacements", displacements.len(), blocklengths.len())?;
        let places = scaled(displacements, old.extent())?;
        let pieces = places.iter().zip(wide(blocklengths));
        let layout = TypeMap::assembled(pieces.map(|(&at, n)| LayoutPiece { at, n, of: &old.layout }))?;
        let integers = std::iter::once(blocklengths.len() as i64).chain(wide(blocklengths)).chain(wide(displacements));
        Ok(derived(layout, abi::MPI_COMBINER_INDEXED, integers.collect(), vec![], vec![old.clone()]))
    }

    /// Implements MPI_Type_create_hindexed: displacements are in bytes.
    pub fn hindexed<N: CountArgument>(blocklengths: &[N], displacements: &[Aint], old: &Type) -> Result<Type> {
        blocks(blocklengths)?;
        lengths("array_of_displacements", displacements.len(), blocklengths.len())?;
        let pieces = displacements.iter().zip(wide(blocklengths));
        let layout = TypeMap::assembled(pieces.map(|(&at, n)| LayoutPiece { at: at as i64, n, of: &old.layout }))?;
        let integers = std::iter::once(blocklengths.len() as i64).chain(wide(blocklengths)).collect();
        Ok(derived(layout, abi::MPI_COMBINER_HINDEXED, integers, displacements.to_vec(), vec![old.clone()]))
    }

    /// Implements MPI_Type_create_indexed_block: the unit of displacements is the extent of `old`.
    pub fn indexed_block<N: CountArgument>(
        blocklength: impl CountArgument,
        displacements: &[N],
        old: &Type,
    ) -> Result<Type> {
        let n = block(blocklength.into())?;
        let places = scaled(displacements, old.extent())?;
        let layout = TypeMap::assembled(places.iter().map(|&at| LayoutPiece { at, n, of: &old.layout }))?;
        let integers = [displacements.len() as i64, n].into_iter().chain(wide(displacements)).collect();
        Ok(derived(layout, abi::MPI_COMBINER_INDEXED_BLOCK, integers, vec![], vec![old.clone()]))
    }

    /// Implements MPI_Type_create_hindexed_block: displacements are in bytes.
    pub fn hindexed_block(blocklength: impl CountArgument, displacements: &[Aint], old: &Type) -> Result<Type> {
        let n = block(blocklength.into())?;
        let layout =
            TypeMap::assembled(displacements.iter().map(|&at| LayoutPiece { at: at as i64, n, of: &old.layout }))?;
        let integers = vec![displacements.len() as i64, n];
        Ok(derived(layout, abi::MPI_COMBINER_HINDEXED_BLOCK, integers, displacements.to_vec(), vec![old.clone()]))
    }

    /// Implements MPI_Type_create_struct, with the markers MPI_LB and MPI_UB of MPI-1.
    pub fn structure<N: CountArgument>(blocklengths: &[N], displacements: &[Aint], types: &[Type]) -> Result<Type> {
        blocks(blocklengths)?;
        lengths("array_of_displacements", displacements.len(), blocklengths.len())?;
        lengths("array_of_types", types.len(), blocklengths.len())?;
        let pieces = displacements.iter().zip(wide(blocklengths)).zip(types);
        let layout = TypeMap::assembled(pieces.map(|((&at, n), of)| LayoutPiece { at: at as i64, n, of: &of.layout }))?;
        let integers = std::iter::once(blocklengths.len() as i64).chain(wide(blocklengths)).collect();
        Ok(derived(layout, abi::MPI_COMBINER_STRUCT, integers, displacements.to_vec(), types.to_vec()))
    }

    /// Implements MPI_Type_create_resized.
    pub fn resized(lb: Aint, extent: Aint, old: &Type) -> Result<Type> {
        let layout = old.layout.resized(lb as i64, extent as i64)?;
        Ok(derived(layout, abi::MPI_COMBINER_RESIZED, vec![], vec![lb, extent], vec![old.clone()]))
    }

    /// Implements MPI_Type_dup.
    pub fn dup(old: &Type) -> Type {
        let envelope = TypeEnvelope {
            combiner: abi::MPI_COMBINER_DUP,
            integers: vec![],
            addresses: vec![],
            types: vec![old.clone()],
        };
        Datatype::new(old.layout.clone(), envelope, old.kind).into()
    }
}

/// Converts displacements in units of the extent to displacements in bytes.
fn scaled<N: CountArgument>(displacements: &[N], extent: i64) -> Result<Vec<i64>> {
    wide(displacements).map(|displacement| bytes(displacement, extent)).collect()
}
