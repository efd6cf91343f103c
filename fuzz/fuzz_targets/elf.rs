//! Loader of compiled programs: everything up to the first instance. The system libraries that an input needs are
//! opened, as for a program.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mcpsim_real::loader::{Host, Image};

/// A host without functions.
struct Nothing;

impl Host for Nothing {
    fn function(&self, _name: &str) -> Option<usize> {
        None
    }
}

/// File of the input of this process, in memory.
fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| PathBuf::from(format!("/dev/shm/mcpsim-fuzz-{}", std::process::id())))
}

fuzz_target!(|data: &[u8]| {
    std::fs::write(file(), data).expect("a file in memory");
    let _ = Image::open(file(), &Nothing, &[], 0);
    let _ = std::fs::remove_file(file());
});
