//! Loader tests. The system's compiler compiles the test programs, and each test loads its program several times in
//! one host process. If the system has no compiler, the tests pass without a check.
#![allow(unsafe_code)]

mod calls;
mod cpp;
mod damage;
mod data;
mod errors;
mod libraries;
mod many;
mod openmp;
mod storage;

use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

/// Assembler source of the ELF note that marks a program of `mcpsim cc`.
const MARK: &str = r#"__asm__(".pushsection .note.mcpsim,\"a\",@note\n.balign 4\n.long 7,4,1\n.asciz \"mcpsim\"\n"
 ".balign 4\n.long 1\n.popsection");
"#;

/// A temporary directory in which test programs are compiled.
struct Workshop {
    directory: tempfile::TempDir,
}

impl Workshop {
    /// Creates a temporary directory for test programs. Returns `None` if the system has no compiler.
    fn new() -> Option<Workshop> {
        Command::new("cc").arg("--version").output().ok()?;
        Some(Workshop { directory: tempfile::tempdir().unwrap() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, compiler: &str, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
        let extension = if compiler == "g++" { "cc" } else { "c" };
        let (input, output) = (self.path(&format!("{name}.{extension}")), self.path(name));
        std::fs::write(&input, source).unwrap();
        let mut command = Command::new(compiler);
        command.current_dir(self.directory.path()).args(["-shared", "-fPIC", "-O1", "-o"]).arg(&output).arg(&input);
        let done = command.args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        output
    }

    fn library(&self, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
        self.run("cc", name, source, arguments)
    }

    fn program(&self, source: &str, arguments: &[&str]) -> PathBuf {
        self.run("cc", "program", &format!("{MARK}{source}"), arguments)
    }

    fn image(&self, source: &str, arguments: &[&str]) -> Image {
        Image::open(&self.program(source, arguments), &Nothing, &[], 0).unwrap()
    }

    fn failure(&self, source: &str, arguments: &[&str]) -> String {
        let path = self.program(source, arguments);
        let error = Image::open(&path, &Nothing, &[], 0).err().expect("an error");
        error.to_string().replace(self.directory.path().to_str().unwrap(), "")
    }
}

/// A provider of replacement symbols that provides no symbols.
struct Nothing;

impl Host for Nothing {
    fn function(&self, _name: &str) -> Option<usize> {
        None
    }
}

fn no_data(_name: &str) -> Option<usize> {
    None
}

fn fresh(image: &Image) -> Instance {
    image.instance(&no_data).unwrap()
}

/// Calls the test program's function `name`, which takes and returns an `int`.
fn call(instance: &Instance, name: &str, argument: c_int) -> c_int {
    let address = instance.symbol(name).unwrap_or_else(|| panic!("no {name}"));
    // SAFETY: the tests' programs define functions with this signature.
    unsafe { std::mem::transmute::<usize, extern "C" fn(c_int) -> c_int>(address)(argument) }
}

fn start(instance: &Instance) {
    let arguments: [*mut c_char; 2] = [c"program".as_ptr().cast_mut(), std::ptr::null_mut()];
    set_main(Some(instance.id()));
    // SAFETY: the test programs are valid C programs, and the argument list ends with a null pointer.
    unsafe { instance.initialise(1, arguments.as_ptr(), arguments[1..].as_ptr()) }
}

fn end(instance: &Instance) {
    // SAFETY: `start` initialised the instance.
    unsafe { instance.finalise(0) }
    set_main(None);
}
