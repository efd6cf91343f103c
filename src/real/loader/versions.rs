//! Symbol versions that a file requires, from the tables `DT_VERSYM` and `DT_VERNEED`.

use std::collections::HashMap;

use object::elf;

use super::elf::Elf;
use super::error::{FileFault, malformed};

/// Versions of a file's symbols.
pub(super) struct Versions<'a> {
    /// Version number of each symbol, with 2 bytes per symbol. The table is empty if the file's symbols have no
    /// versions.
    table: &'a [u8],
    needed: HashMap<u16, &'a str>,
}

impl<'a> Versions<'a> {
    /// Reads the symbol versions of `elf`, which has `symbols` symbols.
    pub fn new(elf: &Elf<'a>, symbols: usize) -> Result<Versions<'a>, FileFault> {
        let Some(table) = elf.entry(elf::DT_VERSYM) else {
            return Ok(Versions { table: &[], needed: HashMap::new() });
        };
        let table = elf.at(table, 2 * symbols as u64)?;
        let mut needed = HashMap::new();
        if let Some(mut file) = elf.entry(elf::DT_VERNEED) {
            for _ in 0..elf.entry(elf::DT_VERNEEDNUM).unwrap_or(0) {
                let header = elf.at(file, 16)?;
                let mut version = step(file, field(header, 8))?;
                for _ in 0..u16::from_le_bytes([header[2], header[3]]) {
                    let entry = elf.at(version, 16)?;
                    let index = u16::from_le_bytes([entry[6], entry[7]]) & 0x7fff;
                    needed.insert(index, elf.string(field(entry, 8))?);
                    match field(entry, 12) {
                        0 => break,
                        next => version = step(version, next)?,
                    }
                }
                match field(header, 12) {
                    0 => break,
                    next => file = step(file, next)?,
                }
            }
        }
        Ok(Versions { table, needed })
    }

    fn index(&self, symbol: u32) -> Option<u16> {
        let at = 2 * symbol as usize;
        Some(u16::from_le_bytes(self.table.get(at..at + 2)?.try_into().ok()?))
    }

    /// Returns the version that the file requires for the undefined symbol with the index `symbol`.
    pub fn needed(&self, symbol: u32) -> Option<&'a str> {
        self.needed.get(&(self.index(symbol)? & 0x7fff)).copied()
    }

    /// Returns true if the definition of the symbol with the index `symbol` is an old version, which only references
    /// with the same version can use.
    pub fn is_old(&self, symbol: u32) -> bool {
        self.index(symbol).is_some_and(|index| index & 0x8000 != 0)
    }
}

fn field(entry: &[u8], at: usize) -> u64 {
    u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]).into()
}

fn step(address: u64, by: u64) -> Result<u64, FileFault> {
    address.checked_add(by).map_or_else(|| malformed("the versions of symbols have no end"), Ok)
}
