//! Datatypes for parts of arrays: subarray and darray (MPI-3.1, sections 4.1.3 and 4.1.4).

use std::ffi::c_int;

use super::construct::{CountArgument, derived, wide};
use super::layout::{LayoutPiece, TypeMap};
use super::{Datatype, Type, TypeError};
use crate::abi;

type Result<T> = std::result::Result<T, TypeError>;

/// Storage order of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index varies fastest, as in C.
    C,
    /// The first index varies fastest, as in Fortran.
    Fortran,
}

impl Order {
    /// Converts the MPI constant MPI_ORDER_C or MPI_ORDER_FORTRAN to an order.
    pub fn from_constant(order: c_int) -> Result<Order> {
        match order {
            abi::MPI_ORDER_C => Ok(Order::C),
            abi::MPI_ORDER_FORTRAN => Ok(Order::Fortran),
            _ => Err(TypeError::argument(format!("order is {order}; expected MPI_ORDER_C or MPI_ORDER_FORTRAN"))),
        }
    }

    fn constant(self) -> c_int {
        match self {
            Order::C => abi::MPI_ORDER_C,
            Order::Fortran => abi::MPI_ORDER_FORTRAN,
        }
    }

    /// Indices of the array's dimensions, from the fastest to the slowest varying dimension.
    fn fastest_first(self, dimensions: usize) -> impl Iterator<Item = usize> {
        (0..dimensions).map(move |i| if self == Order::C { dimensions - 1 - i } else { i })
    }
}

/// Arguments of MPI_Type_create_darray except the order and the old type.
#[derive(Clone, Copy, Debug)]
pub struct Distributed<'a, N> {
    /// Number of processes in the process grid.
    pub size: c_int,
    /// Rank of the process whose local array the datatype describes.
    pub rank: c_int,
    /// Size of each dimension of the global array.
    pub gsizes: &'a [N],
    /// MPI_DISTRIBUTE_… constant of each dimension.
    pub distributions: &'a [c_int],
    /// Distribution argument of each dimension (such as the block size), or MPI_DISTRIBUTE_DFLT_DARG.
    pub arguments: &'a [c_int],
    /// Sizes of the process grid, in row-major order.
    pub psizes: &'a [c_int],
}

fn product(mut factors: impl Iterator<Item = i64>, what: &str) -> Result<i64> {
    factors
        .try_fold(1i64, |product, factor| product.checked_mul(factor))
        .ok_or_else(|| TypeError::argument(format!("{what} has more bytes than 64 bits can count")))
}

fn dimensions(n: usize, others: &[(&str, usize)]) -> Result<()> {
    if n == 0 {
        return Err(TypeError::argument("ndims is 0; expected 1 or more".to_owned()));
    }
    match others.iter().find(|(_, length)| *length != n) {
        None => Ok(()),
        Some((what, length)) => Err(TypeError::argument(format!("{what} has {length} entries; expected {n}"))),
    }
}

impl Datatype {
    /// Implements MPI_Type_create_subarray.
    pub fn subarray<N: CountArgument>(
        sizes: &[N],
        subsizes: &[N],
        starts: &[N],
        order: Order,
        old: &Type,
    ) -> Result<Type> {
        dimensions(sizes.len(), &[("array_of_subsizes", subsizes.len()), ("array_of_starts", starts.len())])?;
        for (i, ((size, subsize), start)) in wide(sizes).zip(wide(subsizes)).zip(wide(starts)).enumerate() {
            let error = |what: &str, found: i64, expected: String| {
                Err(TypeError::argument(format!("{what}[{i}] is {found}; expected {expected}")))
            };
            if size < 1 {
                return error("array_of_sizes", size, "1 or more".to_owned());
            }
            if !(1..=size).contains(&subsize) {
                return error("array_of_subsizes", subsize, format!("1 to {size}, the size of the array"));
            }
            if !(0..=size - subsize).contains(&start) {
                return error("array_of_starts", start, format!("0 to {}, size less subsize", size - subsize));
            }
        }
        let whole = product(wide(sizes).chain([old.extent()]), "the array")?;
        let (mut layout, mut stride, mut start) = (old.layout.clone(), old.extent(), 0);
        for i in order.fastest_first(sizes.len()) {
            layout = layout.repeated(subsizes[i].into(), stride)?;
            start += stride * starts[i].into();
            stride *= sizes[i].into();
        }
        let placed = TypeMap::assembled(std::iter::once(LayoutPiece { at: start, n: 1, of: &layout }))?;
        let integers = std::iter::once(sizes.len() as i64).chain(wide(sizes)).chain(wide(subsizes)).chain(wide(starts));
        let integers = integers.chain([i64::from(order.constant())]).collect();
        Ok(derived(placed.resized(0, whole)?, abi::MPI_COMBINER_SUBARRAY, integers, vec![], vec![old.clone()]))
    }

    /// Implements MPI_Type_create_darray.
    pub fn darray<N: CountArgument>(of: Distributed<N>, order: Order, old: &Type) -> Result<Type> {
        let n = of.gsizes.len();
        let others = [
            ("array_of_distribs", of.distributions.len()),
            ("array_of_dargs", of.arguments.len()),
            ("array_of_psizes", of.psizes.len()),
        ];
        dimensions(n, &others)?;
        let coordinates = of.coordinates()?;
        let shares: Vec<Share> = (0..n).map(|i| of.share(i, coordinates[i])).collect::<Result<_>>()?;
        let whole = product(wide(of.gsizes).chain([old.extent()]), "the array")?;
        let (mut layout, mut extent) = (old.layout.clone(), old.extent());
        for i in order.fastest_first(n) {
            layout = shares[i].of(&layout, extent)?;
            extent *= of.gsizes[i].into();
        }
        let head = [i64::from(of.size), i64::from(of.rank), n as i64];
        let integers = head.into_iter().chain(wide(of.gsizes)).chain(wide(of.distributions)).chain(wide(of.arguments));
        let integers = integers.chain(wide(of.psizes)).chain([i64::from(order.constant())]).collect();
        Ok(derived(layout.resized(0, whole)?, abi::MPI_COMBINER_DARRAY, integers, vec![], vec![old.clone()]))
    }
}

/// Array indices of one dimension that one process owns: blocks of `block` indices each. The first block starts at
/// index `first`, the next at `first + period`, and so on. All indices are below `size`, the extent of the dimension.
struct Share {
    first: i64,
    block: i64,
    period: i64,
    size: i64,
}

impl Share {
    /// Layout of the array items that this process owns, in an array whose items are `extent` bytes apart.
    fn of(&self, item: &TypeMap, extent: i64) -> Result<TypeMap> {
        let full = if self.first + self.block > self.size {
            0
        } else {
            (self.size - self.first - self.block) / self.period + 1
        };
        let rest_at = self.first + full * self.period;
        let rest = (self.size - rest_at).clamp(0, self.block);
        let scaled = |indices: i64| {
            let bytes = indices.checked_mul(extent);
            bytes.ok_or_else(|| TypeError::argument("array_of_dargs has a block that 64 bits cannot count".to_owned()))
        };
        // A block without owned items gets displacement 0, because its own displacement could be far beyond the array.
        let (mut blocks, mut last) = ((0, TypeMap::EMPTY), (0, TypeMap::EMPTY));
        if full > 0 {
            let stride = if full > 1 { scaled(self.period)? } else { 0 };
            blocks = (scaled(self.first)?, item.repeated(self.block, extent)?.repeated(full, stride)?);
        }
        if rest > 0 {
            last = (scaled(rest_at)?, item.repeated(rest, extent)?);
        }
        let pieces = [&blocks, &last].map(|(at, of)| LayoutPiece { at: *at, n: 1, of });
        TypeMap::assembled(pieces.into_iter())
    }
}

impl<N: CountArgument> Distributed<'_, N> {
    fn coordinates(&self) -> Result<Vec<i64>> {
        if let Some((i, size)) = wide(self.psizes).enumerate().find(|&(_, size)| size < 1) {
            return Err(TypeError::argument(format!("array_of_psizes[{i}] is {size}; expected 1 or more")));
        }
        let processes = product(wide(self.psizes), "the grid of processes")?;
        if processes != i64::from(self.size) {
            let size = self.size;
            return Err(TypeError::argument(format!(
                "array_of_psizes has {processes} processes; expected {size}, the size"
            )));
        }
        if !(0..self.size).contains(&self.rank) {
            let found = format!("rank is {}; expected 0 to {}", self.rank, self.size - 1);
            return Err(TypeError { class: abi::MPI_ERR_RANK, what: found });
        }
        let (mut rest, mut below) = (i64::from(self.rank), processes);
        let coordinate = |size: i64| {
            below /= size;
            let coordinate = rest / below;
            rest %= below;
            coordinate
        };
        Ok(wide(self.psizes).map(coordinate).collect())
    }

    fn share(&self, i: usize, coordinate: i64) -> Result<Share> {
        let (size, processes, argument) = (self.gsizes[i].into(), i64::from(self.psizes[i]), self.arguments[i]);
        let error = |what: String| Err(TypeError::argument(what));
        if size < 1 {
            return error(format!("array_of_gsizes[{i}] is {size}; expected 1 or more"));
        }
        let default = argument == abi::MPI_DISTRIBUTE_DFLT_DARG;
        if !default && argument < 1 && self.distributions[i] != abi::MPI_DISTRIBUTE_NONE {
            return error(format!(
                "array_of_dargs[{i}] is {argument}; expected 1 or more, or MPI_DISTRIBUTE_DFLT_DARG"
            ));
        }
        let block = match self.distributions[i] {
            abi::MPI_DISTRIBUTE_NONE if processes == 1 => size,
            abi::MPI_DISTRIBUTE_NONE => {
                return error(format!("array_of_psizes[{i}] is {processes}; expected 1 for MPI_DISTRIBUTE_NONE"));
            }
            abi::MPI_DISTRIBUTE_BLOCK if default => (size - 1) / processes + 1,
            abi::MPI_DISTRIBUTE_BLOCK if i64::from(argument) * processes < size => {
                return error(format!(
                    "array_of_dargs[{i}] is {argument}; expected blocks that cover the size of {size}"
                ));
            }
            abi::MPI_DISTRIBUTE_CYCLIC if default => 1,
            abi::MPI_DISTRIBUTE_BLOCK | abi::MPI_DISTRIBUTE_CYCLIC => i64::from(argument),
            found => return error(format!("array_of_distribs[{i}] is {found}; expected an MPI_DISTRIBUTE constant")),
        };
        let (first, period) = (block.checked_mul(coordinate), block.checked_mul(processes));
        match (first, period) {
            (Some(first), Some(period)) if first.checked_add(block).is_some() => {
                Ok(Share { first, block, period, size })
            }
            _ => error(format!("array_of_dargs[{i}] is {argument}; expected less")),
        }
    }
}
