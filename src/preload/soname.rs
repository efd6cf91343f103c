//! Name that a shared library states for itself. It shows the binary interface of a library without a version in its file
//! name.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

const DYNAMIC: u64 = 2;
const LOADED: u64 = 1;
const STRING_TABLE: u64 = 5;
const OWN_NAME: u64 = 14;

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut word = [0; 8];
    word[..size].copy_from_slice(bytes.get(at..at + size)?);
    Some(u64::from_le_bytes(word))
}

/// Returns the name of the library at `path`, if the file is a 64-bit library with a name.
pub fn of(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let mut header = [0; 64];
    (&file).read_exact(&mut header).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, count) = (number(&header, 32, 8)?, number(&header, 56, 2)?);
    let mut segments = vec![0; 56 * count as usize];
    file.read_exact_at(&mut segments, start).ok()?;
    // Type, offset in the file, address and size in the file of each segment.
    let segments = segments.chunks(56).filter_map(|segment| {
        Some([number(segment, 0, 4)?, number(segment, 8, 8)?, number(segment, 16, 8)?, number(segment, 32, 8)?])
    });
    let segments: Vec<[u64; 4]> = segments.collect();
    let dynamic = segments.iter().find(|segment| segment[0] == DYNAMIC)?;
    let mut entries = vec![0; usize::try_from(dynamic[3]).ok().filter(|&size| size < 1 << 20)?];
    file.read_exact_at(&mut entries, dynamic[1]).ok()?;
    let value = |tag: u64| {
        let entry = entries.chunks_exact(16).find(|entry| number(entry, 0, 8) == Some(tag))?;
        number(entry, 8, 8)
    };
    let address = value(STRING_TABLE)? + value(OWN_NAME)?;
    let inside = |segment: &&[u64; 4]| segment[0] == LOADED && (segment[2]..segment[2] + segment[3]).contains(&address);
    let segment = segments.iter().find(inside)?;
    let mut name = [0; 64];
    let length = file.read_at(&mut name, address - segment[2] + segment[1]).ok()?;
    let end = name[..length].iter().position(|&byte| byte == 0)?;
    Some(name[..end].to_vec())
}
