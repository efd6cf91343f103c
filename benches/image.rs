//! Cost of loading a real program once per rank: processor time, mappings and memory per instance.
//!
//! `cargo bench --bench image` compiles a small program with the system's `cc` and loads it 8,192 times. The processor
//! time is that of this process, including the kernel; most of it is spent on new pages for the program's data.

#![allow(unsafe_code)]

use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::Command;

use mcpsim::loader::{Host, Image, Instance, set_main};

#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;

const RANKS: usize = 8192;

/// Test program: a marker, some data that are relocated, a thread-local variable, and calls of functions from two
/// libraries.
const SOURCE: &str = r#"
__asm__(".pushsection .note.mcpsim,\"a\",@note\n.balign 4\n.long 7,4,1\n.asciz \"mcpsim\"\n.balign 4\n.long 1\n.popsection");
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int rank, field[500];
const char *names[] = {"a", "b"};
static __thread int turn = 4;
int *turns(void) { return &turn; }
int main(int argc, char **argv) { printf("%f %s\n", cbrt(rank), names[argc % 2]); return atoi(argv[1]); }
"#;

struct System;

impl Host for System {
    fn function(&self, _name: &str) -> Option<usize> {
        None
    }
}

/// Returns the processor time of this process in microseconds.
fn microseconds() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the structure, which is large enough.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let of = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    of(usage.ru_utime) + of(usage.ru_stime)
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
}

/// Returns the anonymous memory of this process in KiB.
fn anonymous() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn each(what: &str, start: f64) {
    println!("{what:<12} {:>8.2} us each", (microseconds() - start) / RANKS as f64);
}

fn compile(directory: &Path) -> std::path::PathBuf {
    let (source, program) = (directory.join("small.c"), directory.join("small"));
    fs::write(&source, SOURCE).expect("the temporary directory can be written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-Wl,-Bsymbolic", "-o"]).arg(&program).arg(&source).arg("-lm");
    assert!(compiler.status().is_ok_and(|status| status.success()), "cc compiles the program");
    program
}

fn main() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let program = compile(directory.path());
    let start = microseconds();
    let image = Image::open(&program, &System, &[], 0).expect("the program can be loaded");
    println!("{:<12} {:>8.2} us", "open", microseconds() - start);

    let (mapped, memory) = (mappings(), anonymous());
    let start = microseconds();
    let instances: Vec<Instance> = (0..RANKS).map(|_| image.instance(&|_| None).expect("there is room")).collect();
    each("instance", start);
    println!("{:<12} {:>8.2} each", "mappings", (mappings() - mapped) as f64 / RANKS as f64);
    println!("{:<12} {:>8.2} KiB each", "memory", (anonymous() - memory) as f64 / RANKS as f64);

    let environment = [std::ptr::null_mut()];
    let start = microseconds();
    for instance in &instances {
        set_main(Some(instance.id()));
        // SAFETY: the program in SOURCE has no initialisers except those of the compiler.
        unsafe { instance.initialise(0, environment.as_ptr(), environment.as_ptr()) }
    }
    each("initialise", start);
    let start = microseconds();
    drop(instances);
    each("drop", start);
}
