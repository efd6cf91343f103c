//! Reader of runs recorded under a real MPI. The checksums of the chunks are corrected first.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpsim_core::trace::logs::Logs;
use mcpsim_fuzz::checksum;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    correct(&mut bytes);
    if let Ok(logs) = Logs::read(&bytes) {
        let _ = (logs.tell(), logs.statistics(), logs.head(0, 20), logs.spans(), logs.fault());
    }
});

/// Writes the checksum of every chunk whose length is plausible.
fn correct(bytes: &mut [u8]) {
    // The head of the file; then per rank: a length, the head of its log, and chunks of kind, length, checksum, content.
    let mut log = 32;
    while let Some(length) = number(bytes, log, 8) {
        let end = (log + 8).saturating_add(length).min(bytes.len());
        let mut chunk = log + 8 + 16;
        while let Some(count) = number(bytes, chunk + 4, 4) {
            let content = chunk + 16..(chunk + 16).saturating_add(count);
            if content.end > end {
                break;
            }
            let sum = checksum(&bytes[content.clone()]);
            bytes[chunk + 8..chunk + 16].copy_from_slice(&sum.to_le_bytes());
            chunk = content.end;
        }
        log = end;
    }
}

/// Little-endian number of `width` bytes at `at`.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let mut value = [0; 8];
    value[..width].copy_from_slice(bytes.get(at..at.checked_add(width)?)?);
    usize::try_from(u64::from_le_bytes(value)).ok()
}
