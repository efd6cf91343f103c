//! Bounds-checked access to the contents of an ELF shared object: segments, dynamic section, and the tables to which
//! the dynamic section refers.

use object::LittleEndian as LE;
use object::elf::{
    self, DynamicTag, FileHeader64, GnuHashHeader, ProgramHeader64, ProgramType, Rela64, Relr64, Sym64, SymbolBind,
    SymbolType,
};
use object::pod;
use object::read::elf::{FileHeader, ProgramHeader, RelrIterator};

use super::error::{FileFault, malformed};

/// Page size and alignment of segments, in bytes.
pub(super) const PAGE: u64 = 4096;
/// Upper bound of addresses in a shared object. The bound is far above the addresses of real programs and prevents
/// overflow when addresses are added.
const HIGHEST: u64 = 1 << 45;
/// Maximum alignment of a segment, in bytes.
const ALIGNMENT: u64 = 1 << 30;

/// A loadable segment: a part of the file that is mapped to an address in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub address: u64,
    pub size: u64,
    pub offset: u64,
    /// Number of bytes of the segment that the file provides. The remaining bytes up to `size` are zero.
    pub filled: u64,
    pub align: u64,
    pub writable: bool,
    pub executable: bool,
}

impl Segment {
    fn new(header: &ProgramHeader64<LE>, length: u64) -> Result<Segment, FileFault> {
        let flags = header.p_flags(LE);
        let segment = Segment {
            address: header.p_vaddr(LE),
            size: header.p_memsz(LE),
            offset: header.p_offset(LE),
            filled: header.p_filesz(LE),
            align: header.p_align(LE).max(1),
            writable: flags.contains(elf::PF_W),
            executable: flags.contains(elf::PF_X),
        };
        if segment.offset.checked_add(segment.filled).is_none_or(|end| end > length) {
            return malformed("a segment is beyond the end of the file");
        }
        if segment.filled > segment.size || segment.address >= HIGHEST || segment.size >= HIGHEST {
            return malformed("a segment has an impossible size");
        }
        if !segment.align.is_power_of_two() || segment.align > ALIGNMENT {
            return malformed("a segment has an impossible alignment");
        }
        Ok(segment)
    }

    pub fn end(&self) -> u64 {
        self.address + self.size
    }

    /// Returns the address range of the memory pages that contain the segment.
    pub fn pages(&self) -> std::ops::Range<u64> {
        self.address / PAGE * PAGE..self.end().next_multiple_of(PAGE)
    }
}

/// A symbol of the dynamic symbol table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    pub value: u64,
    pub size: u64,
    pub kind: SymbolType,
    pub bind: SymbolBind,
    pub defined: bool,
    /// True if the symbol's value is a constant and not an address of the module.
    pub absolute: bool,
    /// True if definitions in other modules cannot replace the symbol.
    pub hidden: bool,
}

/// A relocation entry with an addend (`Elf64_Rela`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Relocation {
    pub at: u64,
    pub kind: elf::RelocationType,
    pub symbol: u32,
    pub addend: u64,
}

/// A parsed shared object.
pub(super) struct Elf<'a> {
    bytes: &'a [u8],
    /// Segments in the order of their addresses. No two segments overlap in a page.
    pub segments: Vec<Segment>,
    pub tls: Option<Segment>,
    /// Address of the search table of call frame information (program header `PT_GNU_EH_FRAME`).
    pub frame_header: Option<u64>,
    /// File offset of the program headers, and number of program headers. The first segment starts at the beginning
    /// of the file.
    pub headers: (u64, u16),
    pub dynamic_address: u64,
    dynamic: Vec<(DynamicTag, u64)>,
    strings: &'a [u8],
    symbols: &'a [Sym64<LE>],
}

impl<'a> Elf<'a> {
    /// Parses a shared object.
    pub fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, FileFault> {
        let damaged = |error: object::read::Error| FileFault::Malformed(error.to_string());
        let header = check_kind(bytes)?;
        let headers = header.program_headers(LE, bytes).map_err(damaged)?;
        let of_kind = |kind: ProgramType| headers.iter().filter(move |header| header.p_type(LE) == kind);
        let segment = |header: &ProgramHeader64<LE>| Segment::new(header, bytes.len() as u64);

        let loaded = of_kind(elf::PT_LOAD).filter(|header| header.p_memsz(LE) > 0);
        let mut segments: Vec<Segment> = loaded.map(segment).collect::<Result<_, _>>()?;
        segments.sort_by_key(|segment| segment.address);
        if segments.is_empty() {
            return malformed("the file has no segment to load");
        }
        if segments.iter().any(|segment| segment.address % PAGE != segment.offset % PAGE) {
            return malformed("a segment is not aligned with its place in the file");
        }
        if segments.windows(2).any(|pair| pair[0].pages().end > pair[1].pages().start) {
            return malformed("two segments share a page");
        }
        let mut elf = Elf {
            bytes,
            segments,
            tls: of_kind(elf::PT_TLS).next().map(segment).transpose()?.filter(|tls| tls.size > 0),
            frame_header: of_kind(elf::PT_GNU_EH_FRAME).next().map(|header| header.p_vaddr(LE)),
            headers: (header.e_phoff.get(LE), header.e_phnum.get(LE)),
            dynamic_address: 0,
            dynamic: Vec::new(),
            strings: &[],
            symbols: &[],
        };
        let Some(dynamic) = of_kind(elf::PT_DYNAMIC).next() else {
            return malformed("there is no dynamic section");
        };
        elf.dynamic_address = dynamic.p_vaddr(LE);
        let entries = dynamic.dynamic(LE, bytes).map_err(damaged)?.unwrap_or_default().iter();
        let entries = entries.map(|entry| (entry.d_tag.get(LE), entry.d_val.get(LE)));
        elf.dynamic = entries.take_while(|&(tag, _)| tag != elf::DT_NULL).collect();
        if let Some(tls) = elf.tls
            && tls.filled > 0
        {
            elf.at(tls.address, tls.filled)?;
        }
        elf.find_tables()?;
        Ok(elf)
    }

    fn find_tables(&mut self) -> Result<(), FileFault> {
        if let Some(strings) = self.entry(elf::DT_STRTAB) {
            self.strings = self.at(strings, self.entry(elf::DT_STRSZ).unwrap_or(0))?;
        }
        if let Some(symbols) = self.entry(elf::DT_SYMTAB) {
            let count = self.symbol_count()?;
            let bytes = self.at(symbols, count * size_of::<Sym64<LE>>() as u64)?;
            self.symbols = pod::slice_from_all_bytes(bytes).or_else(|()| malformed("the symbols cannot be read"))?;
        }
        Ok(())
    }

    /// Returns the number of symbols in the dynamic symbol table. Only the hash tables of the file contain the number
    /// of symbols.
    fn symbol_count(&self) -> Result<u64, FileFault> {
        if let Some(hash) = self.entry(elf::DT_HASH) {
            return self.number(hash.wrapping_add(4)).map(u64::from);
        }
        let Some(hash) = self.entry(elf::DT_GNU_HASH) else { return Ok(0) };
        let header = self.at(hash, size_of::<GnuHashHeader<LE>>() as u64)?;
        let Ok((header, _)) = pod::from_bytes::<GnuHashHeader<LE>>(header) else {
            return malformed("the hash table cannot be read");
        };
        let buckets = hash + 16 + 8 * u64::from(header.bloom_count.get(LE));
        let count = u64::from(header.bucket_count.get(LE));
        let base = header.symbol_base.get(LE);
        let bucket_bytes = self.at(buckets, 4 * count)?;
        let starts = bucket_bytes.chunks_exact(4).map(|start| u32::from_le_bytes(start.try_into().unwrap_or_default()));
        let Some(mut last) = starts.max().filter(|&last| last >= base) else { return Ok(base.into()) };
        // The last value of a hash chain has its lowest bit set.
        while self.number(buckets + 4 * count + 4 * u64::from(last - base))? & 1 == 0 {
            last = last.checked_add(1).ok_or_else(|| FileFault::Malformed("the hash table has no end".into()))?;
        }
        Ok(u64::from(last) + 1)
    }

    /// Returns the value of the first entry with the tag `tag` in the dynamic section.
    pub fn entry(&self, tag: DynamicTag) -> Option<u64> {
        self.entries(tag).next()
    }

    pub fn entries(&self, tag: DynamicTag) -> impl Iterator<Item = u64> {
        self.dynamic.iter().filter(move |entry| entry.0 == tag).map(|entry| entry.1)
    }

    /// Returns the strings of all entries with the tag `tag` in the dynamic section.
    pub fn names(&self, tag: DynamicTag) -> Result<Vec<&'a str>, FileFault> {
        self.entries(tag).map(|index| self.string(index)).collect()
    }

    /// Returns the `length` bytes that the file provides for memory at `address`.
    pub fn at(&self, address: u64, length: u64) -> Result<&'a [u8], FileFault> {
        let segment = self.segments.iter().rfind(|segment| segment.address <= address);
        let found = segment.and_then(|segment| {
            let skip = address - segment.address;
            let start = (segment.offset + skip) as usize;
            (skip.checked_add(length)? <= segment.filled).then(|| &self.bytes[start..start + length as usize])
        });
        found.ok_or_else(|| FileFault::Malformed(format!("{length} bytes at {address:#x} are not in the file")))
    }

    /// Returns the 32-bit number at `address`.
    pub fn number(&self, address: u64) -> Result<u32, FileFault> {
        let bytes = self.at(address, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Returns the string at byte offset `index` of the string table.
    pub fn string(&self, index: u64) -> Result<&'a str, FileFault> {
        let rest = usize::try_from(index).ok().and_then(|index| self.strings.get(index..));
        let found = rest.and_then(|rest| Some(&rest[..rest.iter().position(|&byte| byte == 0)?]));
        let found = found.and_then(|name| std::str::from_utf8(name).ok());
        found.ok_or_else(|| FileFault::Malformed(format!("there is no string {index:#x}")))
    }

    /// Iterates over the dynamic symbols. The first symbol is the null symbol.
    pub fn symbols(&self) -> impl Iterator<Item = Result<Symbol<'a>, FileFault>> {
        (0..self.symbols.len() as u32).map(|index| self.symbol(index))
    }

    /// Returns the dynamic symbol at `index`.
    pub fn symbol(&self, index: u32) -> Result<Symbol<'a>, FileFault> {
        let Some(symbol) = self.symbols.get(index as usize) else {
            return malformed(format!("there is no symbol {index}"));
        };
        let section = symbol.st_shndx.get(LE);
        let visibility = symbol.st_visibility();
        Ok(Symbol {
            name: self.string(symbol.st_name.get(LE).into())?,
            value: symbol.st_value.get(LE),
            size: symbol.st_size.get(LE).min(HIGHEST),
            kind: symbol.st_type(),
            bind: symbol.st_bind(),
            defined: section != elf::SHN_UNDEF,
            absolute: section == elf::SHN_ABS,
            hidden: symbol.st_bind() == elf::STB_LOCAL || visibility != elf::STV_DEFAULT,
        })
    }

    /// Returns the relocations of the file. The relocations of the procedure linkage table are last.
    pub fn relocations(&self) -> Result<Vec<Relocation>, FileFault> {
        let mut found = Vec::new();
        for (table, size) in [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)] {
            let Some(table) = self.entry(table) else { continue };
            let bytes = self.at(table, self.entry(size).unwrap_or(0))?;
            let Ok(entries) = pod::slice_from_all_bytes::<Rela64<LE>>(bytes) else {
                return malformed("the size of the relocations is no multiple of one");
            };
            found.extend(entries.iter().map(|entry| Relocation {
                at: entry.r_offset.get(LE),
                kind: entry.r_type(LE, false),
                symbol: entry.r_sym(LE, false),
                addend: entry.r_addend.get(LE) as u64,
            }));
        }
        Ok(found)
    }

    /// Returns the addresses that the packed relative relocations (`DT_RELR`) cover.
    pub fn packed_relocations(&self) -> Result<Vec<u64>, FileFault> {
        let Some(table) = self.entry(elf::DT_RELR) else { return Ok(Vec::new()) };
        let bytes = self.at(table, self.entry(elf::DT_RELRSZ).unwrap_or(0))?;
        let Ok(entries) = pod::slice_from_all_bytes::<Relr64<LE>>(bytes) else {
            return malformed("the size of the packed relocations is no multiple of one");
        };
        Ok(RelrIterator::<FileHeader64<LE>>::new(LE, entries).collect())
    }

    /// Returns true if the `length` bytes at `address` are within a writable segment.
    pub fn is_writable(&self, address: u64, length: u64) -> bool {
        let inside = |segment: &&Segment| {
            segment.address <= address && address.checked_add(length).is_some_and(|end| end <= segment.end())
        };
        self.segments.iter().find(inside).is_some_and(|segment| segment.writable)
    }

    /// Returns true if `address` is in an executable segment.
    pub fn is_code(&self, address: u64) -> bool {
        self.segments.iter().any(|segment| segment.executable && (segment.address..segment.end()).contains(&address))
    }
}

/// Returns true if the program names no dynamic linker.
fn is_static(header: &FileHeader64<LE>, bytes: &[u8]) -> bool {
    let segments = header.program_headers(LE, bytes).unwrap_or_default();
    segments.iter().all(|segment| segment.p_type(LE) != elf::PT_INTERP)
}

fn check_kind(bytes: &[u8]) -> Result<&FileHeader64<LE>, FileFault> {
    if !bytes.starts_with(b"\x7fELF") {
        return Err(FileFault::NotElf);
    }
    match bytes.get(4..6) {
        None => return malformed("the file ends within its header"),
        Some([2, 1]) => {}
        Some([1, _]) => return Err(FileFault::OtherKind("a 32-bit file".into())),
        Some(_) => return Err(FileFault::OtherKind("a file of another byte order".into())),
    }
    let header = FileHeader64::<LE>::parse(bytes).map_err(|error| FileFault::Malformed(error.to_string()))?;
    if header.e_machine(LE) != elf::EM_X86_64 {
        return Err(FileFault::OtherKind(format!("a file for machine {}", header.e_machine(LE).0)));
    }
    match header.e_type(LE) {
        elf::ET_DYN => Ok(header),
        elf::ET_EXEC if is_static(header, bytes) => Err(FileFault::OtherKind(super::error::STATIC.into())),
        elf::ET_EXEC => Err(FileFault::OtherKind("an executable with fixed addresses".into())),
        elf::ET_REL => Err(FileFault::OtherKind("an object file that is not linked".into())),
        other => Err(FileFault::OtherKind(format!("a file of type {}", other.0))),
    }
}
