//! A growable vector whose memory consists of pieces of fixed size. Values never move when the vector grows.

use std::ops::{Index, IndexMut};

/// Number of values in each piece of a vector's memory.
const PIECE: usize = 256;

/// Values by index, in pieces of equal size.
#[derive(Debug)]
pub(super) struct ChunkedVec<T> {
    pieces: Vec<Vec<T>>,
}

impl<T> Default for ChunkedVec<T> {
    fn default() -> Self {
        ChunkedVec { pieces: Vec::new() }
    }
}

impl<T> ChunkedVec<T> {
    pub fn len(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * PIECE + last.len())
    }

    /// Appends a value to the vector; the index of the value is the previous length.
    #[inline]
    pub fn push(&mut self, value: T) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE => last.push(value),
            _ => self.begin(value),
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, value: T) {
        let mut piece = Vec::with_capacity(PIECE);
        piece.push(value);
        self.pieces.push(piece);
    }

    /// Iterates over all values of the vector in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }
}

impl<T> Index<usize> for ChunkedVec<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        &self.pieces[number / PIECE][number % PIECE]
    }
}

impl<T> IndexMut<usize> for ChunkedVec<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.pieces[number / PIECE][number % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_numbers_and_stay_where_they_are() {
        let mut pieces = ChunkedVec::default();
        assert_eq!(pieces.len(), 0);
        pieces.push(0);
        let first = std::ptr::from_ref(&pieces[0]);
        for number in 1..3 * PIECE {
            assert_eq!(pieces.len(), number);
            pieces.push(number);
        }
        pieces[PIECE] += 1;
        assert_eq!((pieces[PIECE - 1], pieces[PIECE], pieces[2 * PIECE]), (PIECE - 1, PIECE + 1, 2 * PIECE));
        assert_eq!(first, std::ptr::from_ref(&pieces[0]));
        assert_eq!(pieces.iter().sum::<usize>(), (0..3 * PIECE).sum::<usize>() + 1);
    }
}
