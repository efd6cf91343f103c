//! Readers of time-independent traces and of GOAL schedules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpsim_core::trace::import::{ImportedTrace, format_of};

fuzz_target!(|text: &str| {
    if let Some(format) = format_of(text) {
        let _ = ImportedTrace::read(format, text).map(|trace| trace.ranks());
    }
});
