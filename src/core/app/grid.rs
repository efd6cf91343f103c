//! Cartesian grids of all ranks (MPI-3.1, section 7.5): row-major, the last dimension varies fastest.

use super::value::{EvalError, Evaluated};

/// Value of MPI_PROC_NULL in expressions. A message to this peer is not sent.
pub(super) const NONE: i64 = -1;

/// A Cartesian grid. The product of its extents is the number of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    dims: Box<[u32]>,
    /// Difference of the ranks of neighbours along each dimension.
    strides: Box<[u32]>,
    periodic: Box<[bool]>,
}

impl Grid {
    /// Creates a grid of `ranks` ranks. [`dims_create`] chooses the extents that are 0. `periodic` states for each
    /// dimension whether it is periodic. Returns `None` if the product of the extents cannot be `ranks`.
    pub(super) fn new(dims: &[u32], periodic: &[bool], ranks: u32) -> Option<Self> {
        debug_assert_eq!(dims.len(), periodic.len());
        let dims = dims_create(ranks, dims)?;
        let strides = (1..=dims.len()).map(|next| dims[next..].iter().product()).collect();
        Some(Grid { dims, strides, periodic: periodic.into() })
    }

    #[inline]
    fn dimension(&self, d: i64) -> Evaluated<usize> {
        match usize::try_from(d) {
            Ok(d) if d < self.dims.len() => Ok(d),
            _ => Err(self.no_dimension(d)),
        }
    }

    #[cold]
    fn no_dimension(&self, d: i64) -> EvalError {
        EvalError::new(format!("dimension {d} is not in the grid: expected 0 to {}", self.dims.len() as i64 - 1))
    }

    /// Extent of the grid in dimension `d`.
    pub(super) fn extent(&self, d: i64) -> Evaluated<i64> {
        Ok(i64::from(self.dims[self.dimension(d)?]))
    }

    /// Coordinate of `rank` in dimension `d`.
    pub(super) fn coord(&self, rank: u32, d: i64) -> Evaluated<i64> {
        let d = self.dimension(d)?;
        Ok(self.at(rank, d))
    }

    #[inline]
    fn at(&self, rank: u32, d: usize) -> i64 {
        i64::from(rank / self.strides[d] % self.dims[d])
    }

    /// Rank at `distance` from `rank` along dimension `d`; [`NONE`] beyond the border of a non-periodic dimension.
    #[inline]
    pub(super) fn neighbor(&self, rank: u32, d: i64, distance: i64) -> Evaluated<i64> {
        let index = self.dimension(d)?;
        let here = self.at(rank, index);
        let there = here.checked_add(distance).and_then(|there| self.within(index, there));
        Ok(there.map_or(NONE, |there| i64::from(rank) + (there - here) * i64::from(self.strides[index])))
    }

    /// Rank at the coordinates `coords`, one per dimension; [`NONE`] if a coordinate is beyond the border of a
    /// non-periodic dimension.
    pub(super) fn rank_at(&self, coords: &[i64]) -> Evaluated<i64> {
        debug_assert_eq!(coords.len(), self.dims.len());
        let mut rank = 0;
        for (d, &coord) in coords.iter().enumerate() {
            match self.within(d, coord) {
                Some(coord) => rank = rank * i64::from(self.dims[d]) + coord,
                None => return Ok(NONE),
            }
        }
        Ok(rank)
    }

    /// Colour of `rank` in MPI_Cart_sub, which is equal for ranks that differ only in the kept dimensions.
    pub(super) fn color(&self, rank: u32, keep: &[bool]) -> i64 {
        let dropped = (0..self.dims.len()).filter(|&d| !keep[d]);
        dropped.fold(0, |color, d| color * i64::from(self.dims[d]) + self.at(rank, d))
    }

    #[inline]
    fn within(&self, d: usize, coord: i64) -> Option<i64> {
        let extent = i64::from(self.dims[d]);
        // Most coordinates are within the grid, and a remainder takes longer than the other steps.
        if (0..extent).contains(&coord) {
            return Some(coord);
        }
        self.periodic[d].then(|| coord.rem_euclid(extent))
    }
}

/// Implements MPI_Dims_create: replaces the zeros of `dims` so that the product of the extents is `ranks`. Each prime
/// factor, in descending order, multiplies the extent that is smallest so far. The chosen extents do not increase with
/// the dimension. Returns `None` if the product of the nonzero extents does not divide `ranks`.
pub(super) fn dims_create(ranks: u32, dims: &[u32]) -> Option<Box<[u32]>> {
    let given =
        dims.iter().filter(|&&extent| extent > 0).try_fold(1u32, |product, &extent| product.checked_mul(extent))?;
    let free = dims.iter().filter(|&&extent| extent == 0).count();
    if !ranks.is_multiple_of(given) || free == 0 && ranks != given {
        return None;
    }
    let mut chosen = vec![1u32; free];
    for factor in prime_factors(ranks / given).into_iter().rev() {
        if let Some(least) = chosen.iter_mut().min() {
            *least *= factor;
        }
    }
    chosen.sort_unstable_by(|a, b| b.cmp(a));
    let mut chosen = chosen.into_iter();
    dims.iter().map(|&extent| if extent == 0 { chosen.next() } else { Some(extent) }).collect()
}

/// Prime factors of `n` in increasing order.
fn prime_factors(mut n: u32) -> Vec<u32> {
    let mut factors = Vec::new();
    let mut p = 2;
    while u64::from(p) * u64::from(p) <= u64::from(n) {
        if n.is_multiple_of(p) {
            factors.push(p);
            n /= p;
        } else {
            p += 1;
        }
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_extents_are_chosen_near_each_other_and_do_not_increase() {
        let dims = |ranks, dims: &[u32]| dims_create(ranks, dims).map(Vec::from);
        assert_eq!(dims(6, &[0, 0]), Some(vec![3, 2]));
        assert_eq!(dims(7, &[0, 0]), Some(vec![7, 1]));
        assert_eq!(dims(6, &[0, 3, 0]), Some(vec![2, 3, 1]));
        assert_eq!(dims(7, &[0, 3, 0]), None);
        assert_eq!(dims(64, &[0, 0, 0]), Some(vec![4, 4, 4]));
        assert_eq!(dims(1 << 20, &[0, 0, 0]), Some(vec![128, 128, 64]));
        assert_eq!(dims(24, &[4, 6]), Some(vec![4, 6]));
        assert_eq!(dims(25, &[4, 6]), None);
        assert_eq!(dims(1, &[]), Some(vec![]));
    }

    #[test]
    fn neighbours_end_at_borders_and_wrap_where_periodic() {
        // The rows of the grid are ranks 0 1 2 and ranks 3 4 5. The first dimension is not periodic; the second
        // dimension is periodic.
        let grid = Grid::new(&[2, 3], &[false, true], 6).unwrap();
        let neighbor = |rank, d, distance| grid.neighbor(rank, d, distance).unwrap();
        assert_eq!((neighbor(4, 0, -1), neighbor(4, 0, 1)), (1, NONE));
        assert_eq!((neighbor(5, 1, 1), neighbor(3, 1, -1), neighbor(3, 1, -4)), (3, 5, 5));
        assert_eq!(neighbor(0, 0, i64::MAX), NONE);
        assert_eq!(grid.rank_at(&[1, -1]), Ok(5));
        assert_eq!(grid.rank_at(&[2, 0]), Ok(NONE));
        assert_eq!(grid.coord(5, 0), Ok(1));
        assert_eq!(grid.coord(5, 2).unwrap_err().to_string(), "dimension 2 is not in the grid: expected 0 to 1");
    }
}
