//! Tests with damaged program files. The loader returns an error or an image that is consistent with the file, and
//! never panics.

use super::*;

fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

fn sample(workshop: &Workshop) -> Vec<u8> {
    let source = "#include <math.h>\n#include <stdio.h>\n__thread int counter = 3; int *where(void) { return &counter; }
         static int one(int n) { return n; } static void *pick(void) { return one; } int step(int) __attribute__((ifunc(\"pick\")));
         int (*table[])(int) = {one, step}; int go(int n) { printf(\"%f\", cbrt(n)); return table[1](n); }";
    std::fs::read(workshop.program(source, &["-lm", "-Wl,-z,pack-relative-relocs"])).unwrap()
}

fn open(workshop: &Workshop, bytes: &[u8]) -> Option<Image> {
    let path = workshop.path("damaged");
    std::fs::write(&path, bytes).unwrap();
    Image::open(&path, &Nothing, &[], 0).ok()
}

#[test]
fn a_file_cut_anywhere_is_no_panic() {
    let Some(workshop) = Workshop::new() else { return };
    let whole = sample(&workshop);
    assert!(open(&workshop, &whole).is_some());
    let step = whole.len() / 400;
    for length in (0..whole.len()).step_by(step).chain(0..80) {
        let _ = open(&workshop, &whole[..length]);
    }
    assert!(open(&workshop, &whole[..whole.len() / 2]).is_none());
}

#[test]
fn changed_bytes_are_no_panic() {
    let Some(workshop) = Workshop::new() else { return };
    let whole = sample(&workshop);
    let header = object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*whole).unwrap();
    let places: Vec<usize> = {
        use object::{Object, ObjectSection};
        let named = header.sections().filter(|section| {
            let wanted =
                [".dynamic", ".dynsym", ".gnu.hash", ".gnu.version", ".gnu.version_r", ".rela.dyn", ".rela.plt"];
            let frames = [".relr.dyn", ".eh_frame_hdr", ".eh_frame", ".note.mcpsim"];
            section.name().is_ok_and(|name| wanted.contains(&name) || frames.contains(&name))
        });
        let ranges = named.filter_map(|section| section.file_range());
        (0..64 + 56 * 12).chain(ranges.flat_map(|(start, size)| start as usize..(start + size) as usize)).collect()
    };
    let mut number = numbers(1);
    let values = [0, 1, 0x7f, 0x80, 0xff];
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + number(3) {
            let at = places[number(places.len())];
            bytes[at] = if number(2) == 0 { values[number(5)] } else { bytes[at] ^ (1 << number(8)) };
        }
        let _ = open(&workshop, &bytes);
    }
}
