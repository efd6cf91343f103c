//! Reader of mcpsim's traces. The length and the checksum are corrected first, so that changed contents reach the
//! reader.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use mcpsim_core::trace::{Trace, head, info, stats};
use mcpsim_fuzz::checksum;

/// Length of magic, version, length and checksum.
const FRONT: usize = 28;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if bytes.len() >= FRONT {
        bytes[..9].copy_from_slice(b"MCPSIM\0T\x07");
        bytes[9..12].fill(0);
        let (front, body) = bytes.split_at_mut(FRONT);
        front[12..20].copy_from_slice(&(body.len() as u64).to_le_bytes());
        front[20..].copy_from_slice(&checksum(body).to_le_bytes());
    }
    if let Ok(trace) = Trace::read(bytes) {
        let trace = Arc::new(trace);
        let _ = (info(&trace), stats(&trace), head(&trace, 0, 20));
    }
});
