//! `mcpsim trace lib`: compiles the library that records programs under a real MPI library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::cli::exit::Failure;
use crate::cli::output::{cannot_write, print};
use crate::run::write_whole;
use crate::trace::logs::SOURCES;

#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct LibArgs {
    /// The compiler wrapper of the program's MPI
    #[arg(long, value_name = "MPICC", default_value = "mpicc")]
    mpicc: OsString,

    /// The library to write
    #[arg(long, short, value_name = "FILE", default_value = "libmcpsim-trace.so")]
    output: PathBuf,
}

/// Compiles the recording library.
pub(in crate::cli) fn make(args: &LibArgs) -> Result<(), Failure> {
    let directory = tempfile::tempdir()
        .map_err(|error| Failure::bad_input(format!("cannot create a temporary directory: {error}")))?;
    for (name, text) in SOURCES {
        let file = directory.path().join(name);
        std::fs::write(&file, text).map_err(|error| cannot_write(&file.display().to_string(), &error))?;
    }
    let [object, library] = ["library.o", "library.so"].map(|name| directory.path().join(name));
    let source = directory.path().join("library.c");
    let mpicc = args.mpicc.to_string_lossy();
    run(Command::new(&args.mpicc).args(["-c", "-O2", "-fPIC", "-w", "-o"]).args([&object, &source]), &mpicc)?;
    // The recording library is linked without an MPI library, because the recorded program is linked with an MPI
    // library. The recording library can therefore detect that the program uses another MPI library.
    let cc = std::env::var_os("MCPSIM_CC").filter(|cc| !cc.is_empty()).unwrap_or_else(|| "cc".into());
    let link = ["-shared", "-Wl,-z,lazy", "-o"];
    run(Command::new(&cc).args(link).args([&library, &object]).arg("-ldl"), &cc.to_string_lossy())?;
    let name = args.output.display().to_string();
    let bytes = std::fs::read(&library).map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
    write_whole(&args.output, bytes).map_err(|error| cannot_write(&name, &error))?;
    print(&format!(
        "{name} records programs built with {mpicc}; run such programs with LD_PRELOAD={}\n",
        std::path::absolute(&args.output).as_deref().unwrap_or(Path::new(&args.output)).display()
    ))
}

fn run(command: &mut Command, name: &str) -> Result<(), Failure> {
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::bad_input(format!(
            "{name}: no such command: expected a compiler; give the mpicc of the program's MPI with --mpicc"
        )),
        _ => Failure::bad_input(format!("cannot start {name}: {error}")),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = text.lines().take(8).collect();
    Err(Failure::bad_input(format!("{name} cannot compile the library: {}\n{}", output.status, first.join("\n"))))
}
