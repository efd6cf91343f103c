//! C sources of the library that records programs under a real MPI.

macro_rules! sources {
    ($($name:literal),*) => { &[$(($name, include_str!(concat!("../library/", $name)))),*] };
}

/// Names and texts of the C source files of the recording library. The file `library.c` includes the other files and is
/// compiled.
pub const SOURCES: &[(&str, &str)] = sources![
    "library.c",
    "log.h",
    "real.h",
    "calls.h",
    "objects.h",
    "notes.h",
    "lists.h",
    "body.h",
    "waits.h",
    "threads.h",
    "clocks.h",
    "start.h",
    "opened.h",
    "fortran.h",
    "fortran_all.h",
    "f08.h",
    "functions.h"
];
