//! The marker by which programs of `mcpsim cc` are known: an ELF note.

use object::LittleEndian as LE;
use object::elf::{FileHeader64, NoteType};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};

/// The owner of the note.
pub const OWNER: &str = "mcpsim";
/// The section that the note stands in.
pub const SECTION: &str = ".note.mcpsim";
/// The type of the note; its descriptor is the format as a 32-bit little-endian number.
pub const TYPE: u32 = 1;
/// The format of programs that this version builds and loads.
pub const FORMAT: u32 = 1;

/// What a file is, from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// No ELF file.
    NotElf,
    /// An ELF file that `mcpsim cc` has not built as a program.
    Unmarked,
    /// A program of `mcpsim cc`, of a format that this version does not load.
    OtherFormat(u32),
    /// A program of `mcpsim cc`.
    Program,
}

/// What the file with these contents is. Says nothing about whether it is whole.
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
