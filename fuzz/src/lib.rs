//! Parts that fuzz targets share.

/// Returns the checksum of traces and logs: 64-bit FNV-1a over words of eight bytes, then over the remaining bytes.
pub fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let mut words = bytes.chunks_exact(8);
    let hash = words.by_ref().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        step(hash, u64::from_le_bytes(word.try_into().expect("eight bytes")))
    });
    words.remainder().iter().fold(hash, |hash, &byte| step(hash, byte.into()))
}
