//! MPI functions that pack data into buffers of the program and unpack the data (MPI-3.1, section 4.2).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ops::Range;

use super::type_contents::int;
use crate::mpi_api::error::{self, MpiError, MpiResult};
use mcpsim_core::mpi::abi::{self, Aint, Handle};

/// Returns the range of the `length` bytes that start at `position` in a buffer of `size` bytes.
///
/// # Errors
/// MPI_ERR_TRUNCATE if the range exceeds the buffer's size.
pub fn part(position: Aint, length: usize, size: Aint) -> MpiResult<Range<usize>> {
    let (Ok(start), Ok(room)) = (usize::try_from(position), usize::try_from(size)) else {
        let what = format!("position {position} in a buffer of {size} bytes: expected 0 or more of both");
        return Err(MpiError::new(abi::MPI_ERR_ARG, what));
    };
    match start.checked_add(length) {
        Some(end) if end <= room => Ok(start..end),
        _ => {
            let what = format!("{length} bytes at position {start} in a buffer of {room} bytes: expected as much room");
            Err(MpiError::new(abi::MPI_ERR_TRUNCATE, what))
        }
    }
}

mpi_functions! {
    fn MPI_Pack(
        p; inbuf: *const c_void, incount: c_int, datatype: Handle, outbuf: *mut u8, outsize: c_int,
        position: *mut c_int, comm: Handle,
    ) {
        let on = |error: MpiError| error.on_comm(comm);
        p.comm(comm)?;
        let (count, datatype) = (error::count(incount, "incount").map_err(on)?, p.committed(datatype).map_err(on)?);
        let size = datatype.packed_size(count);
        let part = part(*position as Aint, size, outsize as Aint).map_err(on)?;
        datatype.pack_to(inbuf.cast(), count, 0..size, outbuf.wrapping_add(part.start));
        *position = part.end as c_int;
        Ok(())
    }
    fn MPI_Unpack(
        p; inbuf: *const u8, insize: c_int, position: *mut c_int, outbuf: *mut c_void, outcount: c_int,
        datatype: Handle, comm: Handle,
    ) {
        let on = |error: MpiError| error.on_comm(comm);
        p.comm(comm)?;
        let (count, datatype) = (error::count(outcount, "outcount").map_err(on)?, p.committed(datatype).map_err(on)?);
        let part = part(*position as Aint, datatype.packed_size(count), insize as Aint).map_err(on)?;
        if !part.is_empty() {
            let data = std::slice::from_raw_parts(inbuf.add(part.start), part.len());
            datatype.unpack(outbuf.cast(), count, data);
        }
        *position = part.end as c_int;
        Ok(())
    }
    fn MPI_Pack_size(p; incount: c_int, datatype: Handle, comm: Handle, size: *mut c_int) {
        p.comm(comm)?;
        let count = error::count(incount, "incount").map_err(|error| error.on_comm(comm))?;
        *size = int(p.datatype(datatype)?.packed_size(count) as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(part(2, 3, 5), Ok(2..5));
        assert_eq!(part(5, 0, 5), Ok(5..5));
        let class = |result: MpiResult<Range<usize>>| result.unwrap_err().class;
        assert_eq!(class(part(3, 3, 5)), abi::MPI_ERR_TRUNCATE);
        assert_eq!(class(part(1, usize::MAX, 5)), abi::MPI_ERR_TRUNCATE);
        assert_eq!((class(part(-1, 1, 5)), class(part(0, 0, -1))), (abi::MPI_ERR_ARG, abi::MPI_ERR_ARG));
    }
}
