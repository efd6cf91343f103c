//! Check of a NetCDF header before the `netcdf3` crate reads the file. The check rejects counts that are greater than
//! in any matrix file, because the crate would allocate memory according to the counts.

use super::parameters::MatrixError;

/// Greatest size of a NetCDF header, bytes.
pub(super) const MOST_HEADER: usize = 1 << 16;

/// Greatest number of names, of attributes, of dimensions and of variables in a NetCDF header.
const MOST: u32 = 1 << 12;

/// Cursor over the bytes of a NetCDF header.
struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn skip(&mut self, bytes: usize) -> Result<(), MatrixError> {
        self.rest = self.rest.get(bytes..).ok_or_else(truncated)?;
        Ok(())
    }

    fn word(&mut self) -> Result<u32, MatrixError> {
        let bytes: [u8; 4] = self.rest.get(..4).and_then(|part| part.try_into().ok()).ok_or_else(truncated)?;
        self.skip(4)?;
        Ok(u32::from_be_bytes(bytes))
    }

    /// Reads the number of items in the next list of the NetCDF header.
    fn count(&mut self, what: &str) -> Result<usize, MatrixError> {
        match self.word()? {
            count @ 0..=MOST => Ok(count as usize),
            count => Err(MatrixError::new(format!("a NetCDF header with {count} {what}: expected {MOST} at most"))),
        }
    }

    fn name(&mut self) -> Result<(), MatrixError> {
        let length = self.count("bytes in a name")?;
        self.skip(length.next_multiple_of(4))
    }

    /// Reads the number of entries of a list in the NetCDF header, whose tag is `tag`, or zero for an absent list.
    fn list(&mut self, tag: u32, what: &str) -> Result<usize, MatrixError> {
        let found = self.word()?;
        let count = self.count(what)?;
        match found {
            0 if count == 0 => Ok(0),
            of if of == tag => Ok(count),
            _ => Err(MatrixError::new(format!("not a NetCDF header: expected a list of {what}"))),
        }
    }

    fn attributes(&mut self) -> Result<(), MatrixError> {
        for _ in 0..self.list(12, "attributes")? {
            self.name()?;
            let size = match self.word()? {
                1 | 2 => 1,
                3 => 2,
                4 | 5 => 4,
                6 => 8,
                kind => return Err(unknown_type(kind)),
            };
            let count = self.word()? as usize;
            self.skip(count.saturating_mul(size).checked_next_multiple_of(4).ok_or_else(truncated)?)?;
        }
        Ok(())
    }
}

fn truncated() -> MatrixError {
    MatrixError::new("a NetCDF file that ends within its header: it is truncated")
}

fn unknown_type(kind: u32) -> MatrixError {
    MatrixError::new(format!("not a NetCDF header: no type has the number {kind}"))
}

/// Checks the NetCDF header at the start of a file.
pub(super) fn scan(header: &[u8]) -> Result<(), MatrixError> {
    let version = match header {
        [b'C', b'D', b'F', version @ (1 | 2), ..] => *version,
        [b'C', b'D', b'F', 5, ..] => {
            return Err(MatrixError::new("NetCDF with 64-bit data (CDF-5): expected classic or with 64-bit offsets"));
        }
        [0x89, b'H', b'D', b'F', ..] => {
            return Err(MatrixError::new(
                "NetCDF 4 (HDF5): expected NetCDF classic; nccopy -k nc6 IN OUT makes one of it",
            ));
        }
        [] => return Err(MatrixError::new("an empty file")),
        _ => return Err(MatrixError::new("not a NetCDF file: it does not begin with \"CDF\"")),
    };
    let mut walk = Walk { rest: &header[4..] };
    if walk.word()? == u32::MAX {
        return Err(MatrixError::new("a NetCDF file whose number of matrices is open: its writer has not ended"));
    }
    for _ in 0..walk.list(10, "dimensions")? {
        walk.name()?;
        walk.word()?;
    }
    walk.attributes()?;
    for _ in 0..walk.list(11, "variables")? {
        walk.name()?;
        let dimensions = walk.count("dimensions of a variable")?;
        if dimensions > 3 {
            return Err(MatrixError::new(format!("a variable of {dimensions} dimensions: expected 3 at most")));
        }
        walk.skip(4 * dimensions)?;
        walk.attributes()?;
        let kind = walk.word()?;
        if !(1..=6).contains(&kind) {
            return Err(unknown_type(kind));
        }
        // Skips the size of the NetCDF variable, which may be wrong, and the offset of the variable.
        walk.skip(4)?;
        walk.skip(if version == 2 { 8 } else { 4 })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_are_named() {
        let error = |bytes: &[u8]| scan(bytes).unwrap_err().to_string();
        assert_eq!(error(b""), "an empty file");
        assert_eq!(error(b"processors 4"), "not a NetCDF file: it does not begin with \"CDF\"");
        assert!(error(b"\x89HDF\r\n").starts_with("NetCDF 4 (HDF5): expected NetCDF classic"));
        assert!(error(b"CDF\x05\0\0\0\0").starts_with("NetCDF with 64-bit data (CDF-5)"));
        assert_eq!(error(b"CDF\x02\0\0"), "a NetCDF file that ends within its header: it is truncated");
        let open = "a NetCDF file whose number of matrices is open: its writer has not ended";
        assert_eq!(error(b"CDF\x02\xff\xff\xff\xff"), open);
    }

    #[test]
    fn counts_that_cannot_be_are_refused_before_memory_is_asked_for() {
        let mut header = b"CDF\x02\0\0\0\x04".to_vec();
        header.extend([0, 0, 0, 10, 0x7f, 0xff, 0xff, 0xff]);
        let expected = "a NetCDF header with 2147483647 dimensions: expected 4096 at most";
        assert_eq!(scan(&header).unwrap_err().to_string(), expected);
    }
}
