//! Readers of matrices, in NetCDF and as text, and of compressed matrices.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use mcpsim_matrices::{Compressed, Matrices, SeekRead};

fuzz_target!(|data: &[u8]| {
    let input = || -> Box<dyn SeekRead> { Box::new(Cursor::new(data.to_vec())) };
    if let Ok(mut matrices) = Matrices::open(input()) {
        let count = matrices.parameters.count();
        let _ = (matrices.matrix(0), matrices.matrix(count - 1));
    }
    if let Ok(mut matrices) = Compressed::open(input(), input()) {
        let _ = matrices.matrix(0);
    }
});
