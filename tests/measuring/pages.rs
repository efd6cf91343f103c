//! Tests that benchmark buffers do not use mcpsim's allocator, whose large pages make copies faster.

use std::fs;

use mcpsim::measure::ProgramVec;

use crate::support::not_allowed;

/// Returns whether the system was advised to use pages of 2 MiB for this memory, according to the flags of the mapping.
fn is_advised(memory: &[u8]) -> bool {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let address = memory.as_ptr() as usize;
    let mut inside = false;
    for line in maps.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let range = range.map(|(from, to)| [from, to].map(|end| usize::from_str_radix(end, 16)));
        if let Some([Ok(from), Ok(to)]) = range {
            inside = (from..to).contains(&address);
        } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
            return flags.split_whitespace().any(|flag| flag == "hg");
        }
    }
    panic!("no mapping of {address:x}");
}

#[test]
fn what_is_timed_lies_in_pages_as_programs_have_them() {
    const LENGTH: usize = 64 << 20;
    let (own, timed) = (vec![1u8; LENGTH], ProgramVec::new(1u8, LENGTH));
    assert!(!is_advised(&timed));
    if !is_advised(&own) {
        not_allowed("pages of 2 MiB");
    }
}
