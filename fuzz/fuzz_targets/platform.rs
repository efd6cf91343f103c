//! Reader of platform files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpsim_core::config::Document;
use mcpsim_core::platform::Platform;

fuzz_target!(|text: &str| {
    let _ = Document::parse("fuzz.toml", text).and_then(|document| Platform::load(document, &[]));
});
