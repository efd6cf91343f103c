//! Cache of compiled test programs: each program of the project is compiled once by a compiler, also for later runs of
//! the tests.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Runs `compile`, which compiles `source` to `program`. If the cache contains the program for the same compiler,
/// command, source file, and headers in the directory of the source file, the function copies the program from the
/// cache instead. `compiler` is mcpsim or a command in `PATH`.
pub fn once(
    compiler: &Path,
    command: &str,
    source: &Path,
    program: &Path,
    compile: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let Some(entry) = entry(compiler, command, source) else { return compile() };
    if entry.is_file() && copied(&entry, program) {
        return Ok(());
    }
    compile()?;
    // A compiled program gets its name in the cache when the file is complete. Failures of copying are ignored: the
    // next test compiles again.
    let part = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR"));
    if let Ok(part) = part.as_ref().map(|directory| directory.path().join("program"))
        && copied(program, &part)
    {
        let _ = fs::rename(part, entry);
    }
    Ok(())
}

/// Copies a file in a separate host process. Otherwise a child process that another test starts during the copy would
/// inherit the open file, and the program could not be executed ("text file busy").
fn copied(from: &Path, to: &Path) -> bool {
    Command::new("cp").args([from, to]).status().is_ok_and(|status| status.success())
}

/// Returns the file of a program in the cache; `None` for programs outside of the project. Creates the directory of the
/// compiler, and removes the directories of former versions of the compiler.
fn entry(compiler: &Path, command: &str, source: &Path) -> Option<PathBuf> {
    if !source.starts_with(env!("CARGO_MANIFEST_DIR")) || source.starts_with(env!("CARGO_TARGET_TMPDIR")) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    for tool in [compiler, Path::new("cc"), Path::new("c++")] {
        last_change(tool).hash(&mut hasher);
    }
    let name = compiler.to_str()?.replace('/', "_");
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled").join(name);
    let directory = all.join(format!("{:016x}", hasher.finish()));
    if !directory.is_dir() {
        let _ = fs::remove_dir_all(&all);
        fs::create_dir_all(&directory).ok()?;
    }
    // Debug information of the compiled program contains the path of the source file.
    (command, source, fs::read(source).ok()?).hash(&mut hasher);
    let files = fs::read_dir(source.parent()?).ok()?.flatten().map(|entry| entry.path());
    let mut headers: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "h")).collect();
    headers.sort();
    for header in headers {
        (fs::read(&header).ok()?, header).hash(&mut hasher);
    }
    Some(directory.join(format!("{:016x}", hasher.finish())))
}

/// Returns the file length of a tool and the time of its last change.
fn last_change(tool: &Path) -> Option<(u64, SystemTime)> {
    let path = env::var_os("PATH")?;
    let found = match tool.is_absolute() {
        true => tool.to_owned(),
        false => env::split_paths(&path).map(|directory| directory.join(tool)).find(|file| file.is_file())?,
    };
    let metadata = fs::metadata(found).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

#[test]
fn a_program_is_compiled_once_for_a_command_and_again_for_another() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/c/ring.c");
    let unused = directory.path().display().to_string();
    let mut compilations = 0;
    for (command, expected) in [("first", 1), ("first", 1), ("second", 2)] {
        let program = directory.path().join("program");
        let compile = || {
            compilations += 1;
            fs::write(&program, command).map_err(|error| error.to_string())
        };
        once(Path::new("cc"), &format!("{command} {unused}"), &source, &program, compile).unwrap();
        assert_eq!((compilations, fs::read_to_string(&program).unwrap()), (expected, command.to_owned()));
        fs::remove_file(&program).unwrap();
    }
    for command in ["first", "second"] {
        fs::remove_file(entry(Path::new("cc"), &format!("{command} {unused}"), &source).unwrap()).unwrap();
    }
}
