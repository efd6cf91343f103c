//! Reader of OTF2 archives: the lines that the program of the OTF2 library prints for them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpsim_core::trace::import::ImportedTrace;

fuzz_target!(|lines: &[u8]| {
    let _ = ImportedTrace::read_otf2(lines).map(|trace| (trace.ranks(), trace.assumed()));
});
