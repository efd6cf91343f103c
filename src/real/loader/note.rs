//! ELF note that marks a program as built by `mcpsim cc`.

use object::LittleEndian as LE;
use object::elf::{FileHeader64, NoteType};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};

/// Owner name in the ELF note.
pub const OWNER: &str = "mcpsim";
/// Name of the ELF section that contains the note.
pub const SECTION: &str = ".note.mcpsim";
/// Type number of the ELF note. The descriptor of the note contains the program format as a 32-bit little-endian
/// number.
pub const TYPE: u32 = 1;
/// Number of the program format that this version of mcpsim builds and loads.
pub const FORMAT: u32 = 1;

/// Result of checking whether a file is a program of `mcpsim cc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Not an ELF file.
    NotElf,
    /// An ELF file without the marker of `mcpsim cc`.
    Unmarked,
    /// A program of `mcpsim cc` with an unsupported format.
    OtherFormat(u32),
    /// A program of `mcpsim cc`.
    Program,
}

/// Checks whether a file with the contents `bytes` is a program of `mcpsim cc`. `bytes` may be only the beginning of
/// the file.
pub fn is_program(bytes: &[u8]) -> FileKind {
    if !bytes.starts_with(b"\x7fELF") {
        return FileKind::NotElf;
    }
    match format(bytes) {
        None => FileKind::Unmarked,
        Some(FORMAT) => FileKind::Program,
        Some(other) => FileKind::OtherFormat(other),
    }
}

fn format(bytes: &[u8]) -> Option<u32> {
    let header = FileHeader64::<LE>::parse(bytes).ok()?;
    header.endian().ok()?;
    let segments = header.program_headers(LE, bytes).unwrap_or_default();
    let in_segment = segments.iter().find_map(|segment| find(segment.notes(LE, bytes).ok()??));
    in_segment.or_else(|| {
        let sections = header.section_headers(LE, bytes).ok()?;
        sections.iter().find_map(|section| find(section.notes(LE, bytes).ok()??))
    })
}

fn find(mut notes: NoteIterator<'_, FileHeader64<LE>>) -> Option<u32> {
    while let Ok(Some(note)) = notes.next() {
        if note.name() == OWNER.as_bytes() && note.n_type(LE) == NoteType(TYPE) {
            return Some(u32::from_le_bytes(note.desc().get(..4)?.try_into().ok()?));
        }
    }
    None
}
