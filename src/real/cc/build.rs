//! Compiles the support files: start object, support archive and stub library.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use super::header::SUPPORT_FUNCTIONS;
use super::sysroot::SupportFiles;
use super::{CcError, HOST_FUNCTIONS, functions, line};

macro_rules! sources {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("support/", $name)))),*] };
}

/// Sources of the start object, of the BLAS functions that compute nothing, and of the support archive.
pub(super) const SOURCES: [(&str, &str); 25] = sources![
    "start.c",
    "own.h",
    "assert.c",
    "blas.c",
    "dprintf.c",
    "error.c",
    "gamma.c",
    "getopt.c",
    "name.c",
    "omp.c",
    "opens.c",
    "perror.c",
    "print.c",
    "psignal.c",
    "rand48.c",
    "random.c",
    "read.c",
    "scan.c",
    "scan23.c",
    "scan99.c",
    "statics.c",
    "strtok.c",
    "time.c",
    "warn.c",
    "wprint.c",
];

const START: &str = "start.c";
const BLAS: &str = "blas.c";

/// Compiler flags for all support sources, and additional flags for the start object. The start object must need
/// neither relocations nor a C library.
pub(super) const FLAGS: [&[&str]; 2] = [
    &["-std=gnu11", "-O2", "-fPIC", "-fno-builtin", "-fno-lto", "-U_FORTIFY_SOURCE", "-w", "-c"],
    &[
        "-ffreestanding",
        "-fno-stack-protector",
        "-fno-tree-loop-distribute-patterns",
        "-fcf-protection=none",
        "-mgeneral-regs-only",
        "-fno-asynchronous-unwind-tables",
    ],
];

/// Writes the support sources to the directory `work`.
pub(super) fn write_sources(work: &Path) -> std::io::Result<()> {
    for (name, text) in SOURCES {
        fs::write(work.join(name), text)?;
    }
    fs::write(work.join("stubs.c"), stubs())
}

/// Compiles the support sources in the directory `work` and creates the libraries of `kit`. A compiled program that a
/// user starts without mcpsim executes the mcpsim executable `own` if this file exists.
pub(super) fn all(kit: &SupportFiles, work: &Path, compiler: &[OsString], own: &Path) -> Result<(), CcError> {
    let cc = || {
        let mut command = line::command(compiler);
        command.current_dir(work);
        command
    };
    let path = format!("-DMCPSIM_PATH={}", c_string(own.as_os_str().as_bytes()));
    finish(cc().args(FLAGS.concat()).args([&path, START, "-o"]).arg(kit.start()))?;
    finish(cc().args(FLAGS[0]).args([BLAS, "-o"]).arg(kit.blas()))?;
    let is_object = |name: &&str| name.ends_with(".c") && ![START, BLAS].contains(name);
    let names: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).filter(is_object).collect();
    finish(cc().args(FLAGS[0]).args(&names))?;
    let objects: Vec<String> = names.iter().map(|name| name.replace(".c", ".o")).collect();
    for_libraries(work, cc, &objects)?;
    let archive = |objects: &[String]| {
        let mut command = Command::new("ar");
        command.current_dir(work).arg("rcs").arg(kit.support()).arg(kit.start()).args(objects).arg(RENAMED);
        command
    };
    finish(&mut archive(&objects))?;
    let shared =
        ["-w", "-O1", "-fPIC", "-fno-lto", "-fno-builtin", "-shared", "-Wl,-soname,libmcpsim_mpi.so", "stubs.c", "-o"];
    finish(cc().args(shared).arg(kit.stubs()))
}

/// File name of the object that contains all support functions under different names. The object is linked into each
/// program that has libraries. The loader resolves references of libraries to C library functions with the object
/// `own.o`. Support functions under the original names could replace functions of other libraries.
const RENAMED: &str = "own.o";

/// Creates the object [`RENAMED`] from the object files `objects`.
fn for_libraries(work: &Path, cc: impl Fn() -> Command, objects: &[String]) -> Result<(), CcError> {
    let failed = |error: &dyn std::fmt::Display| CcError::new(format!("mcpsim's own library: {error}"));
    let marker = format!("const char {} = 1;\n", super::OWN_MARKER);
    fs::write(work.join("marker.c"), marker).map_err(|error| failed(&error))?;
    finish(cc().args(FLAGS[0]).arg("marker.c"))?;
    finish(cc().args(["-r", "-nostdlib", "-o", "joined.o"]).args(objects).arg("marker.o"))?;
    let bytes = fs::read(work.join("joined.o")).map_err(|error| failed(&error))?;
    let joined = object::File::parse(&*bytes).map_err(|error| failed(&error))?;
    let mut names = String::new();
    for symbol in joined.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition()) {
        let name = symbol.name().map_err(|error| failed(&error))?;
        if name != super::OWN_MARKER {
            let _ = writeln!(names, "{name} {}{name}", crate::loader::OWN_PREFIX);
        }
    }
    fs::write(work.join("names"), names).map_err(|error| failed(&error))?;
    finish(Command::new("objcopy").current_dir(work).args(["--redefine-syms=names", "joined.o", RENAMED]))
}

/// Returns the C source of the stub library, which defines all functions of the simulator. A stub function prints
/// that the function is implemented in mcpsim.
fn stubs() -> String {
    let mut text = String::from(
        "#include <unistd.h>\n\
         static void stub(void) {\n\
         static const char text[] = \"an MPI function of mcpsim was called outside a simulation: run the program with mcpsim\\n\";\n\
         if (write(2, text, sizeof text - 1)) {}\n\
         _exit(127);\n}\n",
    );
    let names = functions();
    let twins = names.iter().map(|name| format!("P{name}"));
    let own = HOST_FUNCTIONS.iter().chain(&SUPPORT_FUNCTIONS).map(|name| (*name).to_owned());
    for name in names.iter().cloned().chain(twins).chain(own) {
        let _ = writeln!(text, "void {name}(void) __attribute__((alias(\"stub\")));");
    }
    text
}

/// Returns a C string literal that contains `bytes`.
fn c_string(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|&byte| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Runs `command` and returns an error if the command fails.
fn finish(command: &mut Command) -> Result<(), CcError> {
    let output = command.output().map_err(|error| line::not_started(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let program = command.get_program().display().to_string();
    let text = String::from_utf8_lossy(&output.stderr);
    Err(CcError::new(format!("{program} cannot compile mcpsim's own library:\n{}", text.trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_c_strings() {
        assert_eq!(c_string(b"/a b\"\\1"), "\"/a\\040b\\042\\1341\"");
    }

    #[test]
    fn the_stubs_have_both_names_of_each_function() {
        let text = stubs();
        for name in ["void MPI_Send(void)", "void PMPI_Send(void)", "void mcpsim_compute(void)"] {
            assert_eq!(text.matches(name).count(), 1, "{name}");
        }
    }

    #[test]
    fn every_source_of_the_directory_is_built() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("cc/support");
        let mut found: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.sort();
        let mut listed = SOURCES.map(|(name, _)| name.to_owned());
        listed.sort();
        assert_eq!(found, listed);
    }
}
