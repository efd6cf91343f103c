//! Functions that pack data in the representation external32 (MPI-3.1, section 4.3).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use super::packing::part;
use crate::mpi_api::error::{self, MpiResult};
use crate::process::text;
use mcpsim_core::mpi::abi::{self, Aint, Handle};

/// Checks that the data representation argument is "external32".
unsafe fn external32(name: *const c_char) -> MpiResult {
    // SAFETY: MPI requires the program to pass a zero-terminated string.
    let name = unsafe { text(name) }.unwrap_or_default();
    error::expect(name == "external32", abi::MPI_ERR_ARG, || {
        format!("data representation \"{name}\": expected \"external32\"")
    })
}

mpi_functions! {
    fn MPI_Pack_external(
        p; datarep: *const c_char, inbuf: *const c_void, incount: c_int, datatype: Handle, outbuf: *mut u8,
        outsize: Aint, position: *mut Aint,
    ) {
        external32(datarep)?;
        let (count, datatype) = (error::count(incount, "incount")?, p.committed(datatype)?);
        let part = part(*position, datatype.external_size(count), outsize)?;
        let mut data = Vec::with_capacity(part.len());
        datatype.pack_external(inbuf.cast(), count, &mut data);
        std::ptr::copy_nonoverlapping(data.as_ptr(), outbuf.wrapping_add(part.start), data.len());
        *position = part.end as Aint;
        Ok(())
    }
    fn MPI_Unpack_external(
        p; datarep: *const c_char, inbuf: *const u8, insize: Aint, position: *mut Aint, outbuf: *mut c_void,
        outcount: c_int, datatype: Handle,
    ) {
        external32(datarep)?;
        let (count, datatype) = (error::count(outcount, "outcount")?, p.committed(datatype)?);
        let part = part(*position, datatype.external_size(count), insize)?;
        if !part.is_empty() {
            let data = std::slice::from_raw_parts(inbuf.add(part.start), part.len());
            datatype.unpack_external(outbuf.cast(), count, data);
        }
        *position = part.end as Aint;
        Ok(())
    }
    fn MPI_Pack_external_size(p; datarep: *const c_char, incount: c_int, datatype: Handle, size: *mut Aint) {
        external32(datarep)?;
        let count = error::count(incount, "incount")?;
        *size = p.datatype(datatype)?.external_size(count) as Aint;
        Ok(())
    }
}
