//! Cartesian grids (MPI-3.1, section 7.5): row-major, the last coordinate varies fastest.

use std::ffi::c_int;

use crate::abi::{MPI_ERR_ARG, MPI_ERR_DIMS, MPI_ERR_RANK, MPI_PROC_NULL, MPI_UNDEFINED};
use crate::fault::Fault;

/// A Cartesian grid. A grid without dimensions has one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    dims: Vec<u32>,
    periods: Vec<bool>,
}

/// Neighbours returned by MPI_Cart_shift; MPI_PROC_NULL beyond the boundary of a non-periodic dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// Rank from which the caller of MPI_Cart_shift receives.
    pub source: c_int,
    /// Rank to which the caller of MPI_Cart_shift sends.
    pub destination: c_int,
}

/// One of the grids that MPI_Cart_sub creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubGrid {
    /// Grid of the remaining dimensions, to which the caller belongs.
    pub grid: Cart,
    /// Ranks in the original grid of the members of the sub-grid, in order.
    pub members: Vec<u32>,
    /// Rank of the caller of MPI_Cart_sub in `grid`.
    pub rank: u32,
    /// Index of this sub-grid among all sub-grids, counted from 0.
    pub number: u32,
}

impl Cart {
    /// Creates a grid for a communicator with `members` members.
    ///
    /// # Errors
    /// An extent is below 1, or the grid has more points than the communicator has members.
    pub fn new(members: u32, dims: &[c_int], periods: &[bool]) -> Result<Self, Fault> {
        let mut places: u64 = 1;
        for (dimension, &extent) in dims.iter().enumerate() {
            if extent < 1 {
                let what = format!("dimension {dimension} has the extent {extent}, expected at least 1");
                return Err(Fault::new(MPI_ERR_DIMS, what));
            }
            places = places.saturating_mul(extent as u64);
        }
        if places > u64::from(members) {
            return Err(Fault::new(MPI_ERR_ARG, format!("a grid of {places} places for a group of {members} members")));
        }
        Ok(Cart { dims: dims.iter().map(|&extent| extent as u32).collect(), periods: periods.to_vec() })
    }

    /// Extent of each dimension of the grid.
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Whether each dimension of the grid is periodic.
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Number of points in the grid.
    pub fn size(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Coordinates of `rank` in the grid.
    ///
    /// # Errors
    /// The rank `rank` is outside the grid.
    pub fn coords(&self, rank: c_int) -> Result<Vec<c_int>, Fault> {
        let known = u32::try_from(rank).ok().filter(|&rank| rank < self.size());
        let rank = known.ok_or_else(|| {
            Fault::new(MPI_ERR_RANK, format!("rank {rank}, expected a rank of a grid of {} places", self.size()))
        })?;
        Ok(self.places(rank).into_iter().map(|place| place as c_int).collect())
    }

    /// Rank at the coordinates `coords`. In a periodic dimension every coordinate is valid.
    ///
    /// # Errors
    /// A coordinate is outside a non-periodic dimension.
    pub fn rank(&self, coords: &[c_int]) -> Result<u32, Fault> {
        let mut rank = 0;
        for (dimension, (&at, &extent)) in coords.iter().zip(&self.dims).enumerate() {
            let Some(place) = self.place(dimension, i64::from(at)) else {
                let what = format!("coordinate {at} in dimension {dimension}, expected one of 0 to {}", extent - 1);
                return Err(Fault::new(MPI_ERR_ARG, what));
            };
            rank = rank * extent + place;
        }
        Ok(rank)
    }

    /// Source and destination of `rank` for a shift by `distance` along dimension `direction`.
    ///
    /// # Errors
    /// `direction` is not a dimension of the grid.
    pub fn shift(&self, rank: u32, direction: c_int, distance: c_int) -> Result<Shift, Fault> {
        let known = usize::try_from(direction).ok().filter(|&direction| direction < self.dims.len());
        let direction = known.ok_or_else(|| {
            Fault::new(MPI_ERR_DIMS, format!("direction {direction} of a grid of {} dimensions", self.dims.len()))
        })?;
        let distance = i64::from(distance);
        Ok(Shift { source: self.away(rank, direction, -distance), destination: self.away(rank, direction, distance) })
    }

    /// Neighbours of `rank` for neighbourhood collectives (section 7.6): for each dimension the previous neighbour,
    /// then the next.
    pub fn neighbours(&self, rank: u32) -> Vec<c_int> {
        let both = |dimension| [self.away(rank, dimension, -1), self.away(rank, dimension, 1)];
        (0..self.dims.len()).flat_map(both).collect()
    }

    /// Grid of the ranks whose coordinates differ from the coordinates of `rank` only in the remaining dimensions.
    pub fn sub(&self, rank: u32, remain: &[bool]) -> SubGrid {
        let mut grid = Cart { dims: Vec::new(), periods: Vec::new() };
        let (mut members, mut number, mut place, mut base) = (vec![0], 0, 0, 0);
        let mut stride = self.size();
        for (dimension, at) in self.places(rank).into_iter().enumerate() {
            let extent = self.dims[dimension];
            stride /= extent;
            if remain[dimension] {
                grid.dims.push(extent);
                grid.periods.push(self.periods[dimension]);
                place = place * extent + at;
                members = members.iter().flat_map(|first| (0..extent).map(move |step| first + step * stride)).collect();
            } else {
                number = number * extent + at;
                base += at * stride;
            }
        }
        members.iter_mut().for_each(|member| *member += base);
        SubGrid { grid, members, rank: place, number }
    }

    /// New rank of the caller in MPI_Cart_map and MPI_Cart_create: its own rank, or MPI_UNDEFINED if the rank is
    /// outside the grid.
    pub fn map(&self, rank: u32) -> c_int {
        if rank < self.size() { rank as c_int } else { MPI_UNDEFINED }
    }

    fn places(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut places: Vec<u32> = self.dims.iter().rev().map(|extent| (rest % extent, rest /= extent).0).collect();
        places.reverse();
        places
    }

    /// Reduces the coordinate `at` modulo the extent of a periodic dimension. Returns `None` if the coordinate is
    /// outside a non-periodic dimension.
    fn place(&self, dimension: usize, at: i64) -> Option<u32> {
        let extent = i64::from(self.dims[dimension]);
        let at = if self.periods[dimension] { at.rem_euclid(extent) } else { at };
        (0..extent).contains(&at).then_some(at as u32)
    }

    fn away(&self, rank: u32, dimension: usize, distance: i64) -> c_int {
        let stride: u32 = self.dims[dimension + 1..].iter().product();
        let at = rank / stride % self.dims[dimension];
        match self.place(dimension, i64::from(at) + distance) {
            Some(place) => (rank - at * stride + place * stride) as c_int,
            None => MPI_PROC_NULL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cart(dims: &[c_int], periods: &[bool]) -> Cart {
        Cart::new(1000, dims, periods).unwrap()
    }

    #[test]
    fn ranks_go_row_by_row_as_in_the_standard() {
        let grid = cart(&[2, 2], &[false, false]);
        let coords: Vec<_> = (0..4).map(|rank| grid.coords(rank).unwrap()).collect();
        assert_eq!(coords, [[0, 0], [0, 1], [1, 0], [1, 1]]);
        let grid = cart(&[2, 3, 4], &[true, false, true]);
        for rank in 0..24 {
            assert_eq!(grid.rank(&grid.coords(rank).unwrap()).unwrap(), rank as u32);
        }
        assert_eq!(grid.rank(&[-1, 2, 9]).unwrap(), 12 + 8 + 1, "rings have every coordinate");
        assert_eq!(cart(&[], &[]).rank(&[]).unwrap(), 0);
        assert_eq!(cart(&[], &[]).coords(0).unwrap(), [0; 0]);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let class = |dims: &[c_int]| Cart::new(6, dims, &[false; 3][..dims.len()]).unwrap_err().class;
        assert_eq!([class(&[7]), class(&[2, 4]), class(&[1 << 30, 1 << 30, 1 << 30])], [MPI_ERR_ARG; 3]);
        assert_eq!([class(&[0]), class(&[2, -1])], [MPI_ERR_DIMS; 2]);
        let grid = cart(&[2, 3], &[true, false]);
        assert_eq!(grid.coords(6).unwrap_err().class, MPI_ERR_RANK);
        assert_eq!(grid.coords(-1).unwrap_err().class, MPI_ERR_RANK);
        assert_eq!(grid.rank(&[0, 3]).unwrap_err().what, "coordinate 3 in dimension 1, expected one of 0 to 2");
        assert_eq!(grid.shift(0, 2, 1).unwrap_err().class, MPI_ERR_DIMS);
        assert_eq!(grid.shift(0, -1, 1).unwrap_err().class, MPI_ERR_DIMS);
    }

    #[test]
    fn shifts_end_at_open_ends_and_go_round_rings() {
        let grid = cart(&[3, 4], &[true, false]);
        let shift = |rank, direction, distance| {
            let shift = grid.shift(rank, direction, distance).unwrap();
            (shift.source, shift.destination)
        };
        assert_eq!(shift(1, 0, 1), (9, 5));
        assert_eq!(shift(1, 0, -1), (5, 9));
        assert_eq!(shift(1, 0, 5), (5, 9), "round and round");
        assert_eq!(shift(1, 1, 1), (0, 2));
        assert_eq!(shift(1, 1, 2), (MPI_PROC_NULL, 3));
        assert_eq!(shift(3, 1, -1), (MPI_PROC_NULL, 2));
        assert_eq!(shift(5, 1, c_int::MIN), (MPI_PROC_NULL, MPI_PROC_NULL));
        assert_eq!(shift(5, 0, 0), (5, 5));
    }

    #[test]
    fn neighbours_come_by_dimension_before_and_after() {
        let grid = cart(&[3, 4], &[true, false]);
        assert_eq!(grid.neighbours(0), [8, 4, MPI_PROC_NULL, 1]);
        assert_eq!(grid.neighbours(6), [2, 10, 5, 7]);
        assert_eq!(cart(&[1], &[true]).neighbours(0), [0, 0], "a ring of one is its own neighbour twice");
        assert_eq!(cart(&[2], &[true]).neighbours(0), [1, 1]);
    }

    #[test]
    fn sub_grids_are_those_of_the_standard() {
        // Example of section 7.5.7: a grid of 2 × 3 × 4 with the remaining dimensions (true, false, true) has three
        // sub-grids of 2 × 4.
        let grid = cart(&[2, 3, 4], &[false, true, true]);
        let mut seen = [0; 24];
        for rank in 0..24 {
            let part = grid.sub(rank, &[true, false, true]);
            assert_eq!((part.grid.dims(), part.grid.periods()), (&[2, 4][..], &[false, true][..]));
            assert_eq!(part.members.len(), 8);
            assert_eq!(part.members[part.rank as usize], rank);
            let (whole, own) = (grid.coords(rank as c_int).unwrap(), part.grid.coords(part.rank as c_int).unwrap());
            assert_eq!((vec![whole[0], whole[2]], part.number), (own, whole[1] as u32));
            part.members.iter().for_each(|&member| seen[member as usize] += 1);
        }
        assert_eq!(seen, [8; 24], "each is in a grid of eight, seen by all of its members");
        let alone = grid.sub(17, &[false; 3]);
        assert_eq!((alone.members, alone.grid.size(), alone.number), (vec![17], 1, 17));
        assert_eq!(grid.sub(17, &[true; 3]).grid, grid);
    }

    #[test]
    fn those_beyond_the_grid_have_no_place() {
        let grid = cart(&[2, 2], &[false; 2]);
        assert_eq!([grid.map(0), grid.map(3), grid.map(4)], [0, 3, MPI_UNDEFINED]);
    }
}
