//! Reader and compiler of described applications.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpsim_core::app::{App, TargetMachine};
use mcpsim_core::config::Document;
use mcpsim_core::platform::Platform;

fuzz_target!(|text: &str| {
    let Ok(document) = Document::parse("fuzz.toml", text) else { return };
    let Ok(app) = App::load(document, &[]) else { return };
    let rates = Platform::embedded().core;
    let _ = app.bind(TargetMachine { ranks: 4, rates, seed: 1, max_turns: 10_000 });
});
