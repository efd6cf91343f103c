//! Encoding of integers: seven bits per byte, least significant bits first. The highest bit of a byte is set if another
//! byte of the integer follows.

use std::ops::Range;

use super::TraceError;

/// Appends the encoding of the integer `value` to `out`.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a text to `out`: the length of the text and its bytes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Maps signed numbers of small magnitude to small numbers: 0, −1, 1, −2, …
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Converts an integer encoded by [`zigzag`] to the original signed integer.
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Decodes the integer at offset `at` and advances `at`; `None` at the end of the bytes.
#[inline(always)]
pub(super) fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    get_rest(bytes, at, u64::from(first & 0x7f))
}

/// Decodes the next integer in `range` and removes its bytes from `range`; `None` at the end of the range.
#[inline]
pub(super) fn take_at(bytes: &[u8], range: &mut Range<usize>) -> Option<u64> {
    get(&bytes[..range.end], &mut range.start)
}

fn get_rest(bytes: &[u8], at: &mut usize, mut value: u64) -> Option<u64> {
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            return None;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Reader of the bytes of a trace. Error messages name the section of the trace that the reader is in.
pub(super) struct TraceReader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    part: &'static str,
}

impl<'a> TraceReader<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        TraceReader { bytes, at, end: bytes.len(), part: "header" }
    }

    /// Sets the name of the section of the trace that the reader reads next.
    pub fn part(&mut self, part: &'static str) {
        self.part = part;
    }

    /// Creates an error in the section of the trace that the reader is in.
    pub fn error(&self, what: impl std::fmt::Display) -> TraceError {
        TraceError::damaged(format!("{}, byte {}: {what}", self.part, self.at))
    }

    /// Number of bytes of the trace that the reader has not read.
    pub fn rest(&self) -> usize {
        self.end - self.at
    }

    pub fn number(&mut self) -> Result<u64, TraceError> {
        let mut at = self.at;
        let value = get(&self.bytes[..self.end], &mut at).ok_or_else(|| self.error("expected a number"))?;
        self.at = at;
        Ok(value)
    }

    /// Reads an integer that must not exceed `most`.
    pub fn at_most(&mut self, most: u64, what: &str) -> Result<u64, TraceError> {
        let value = self.number()?;
        if value > most {
            return Err(self.error(format_args!("expected {what} up to {most}; found {value}")));
        }
        Ok(value)
    }

    /// Reads a 32-bit integer.
    pub fn word(&mut self, what: &str) -> Result<u32, TraceError> {
        Ok(self.at_most(u32::MAX.into(), what)? as u32)
    }

    /// Reads the count of the items that follow. Each item has at least one byte.
    pub fn count(&mut self, what: &str) -> Result<usize, TraceError> {
        let most = self.rest() as u64;
        Ok(self.at_most(most, what)? as usize)
    }

    /// Reads a length in bytes and skips this number of bytes. Returns the range of the skipped bytes.
    pub fn range(&mut self, what: &str) -> Result<std::ops::Range<usize>, TraceError> {
        let length = self.count(what)?;
        if length > self.rest() {
            return Err(self.error(format_args!("expected {length} bytes of {what}")));
        }
        let start = self.at;
        self.at += length;
        Ok(start..self.at)
    }

    /// Reads the next `N` bytes of the trace.
    pub fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let found = self.bytes[self.at..self.end].first_chunk().copied();
        let found = found.ok_or_else(|| self.error(format_args!("expected {N} bytes of {what}")))?;
        self.at += N;
        Ok(found)
    }

    pub fn text(&mut self, what: &str) -> Result<&'a str, TraceError> {
        let range = self.range(what)?;
        std::str::from_utf8(&self.bytes[range]).map_err(|_| self.error(format_args!("expected {what} in UTF-8")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_small_ones_take_a_byte() {
        for value in [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, value);
            let mut at = 0;
            assert_eq!(get(&out, &mut at), Some(value));
            assert_eq!(at, out.len());
            assert_eq!(out.len() == 1, value < 128);
            assert_eq!(get(&out[..out.len() - 1], &mut 0), None);
        }
        for value in [0, 1, -1, 5, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_none() {
        assert_eq!(get(&[0xff; 12], &mut 0), None);
        assert_eq!(get(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], &mut 0), None);
    }
}
