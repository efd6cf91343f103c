//! Tests of the compiler wrapper `mcpsim cc` as a command: compiled programs, errors, and the equivalence of the
//! support library and the C library.

#[path = "cc/launched.rs"]
mod launched;
#[path = "cc/natively.rs"]
mod natively;
#[path = "cc/systems.rs"]
mod systems;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{Ran, finish, mcpsim};
use tempfile::TempDir;

/// Returns the cache directory that all tests of this file share.
fn cache() -> &'static Path {
    static CACHE: OnceLock<TempDir> = OnceLock::new();
    CACHE.get_or_init(|| TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()).path()
}

/// Runs the wrapper in `directory` with the words of `line`.
fn compile(directory: &Path, line: &str) -> Ran {
    finish(wrapper(directory).args(line.split_whitespace()).output().unwrap())
}

fn wrapper(directory: &Path) -> Command {
    let mut command = mcpsim(directory);
    command.env("MCPSIM_CACHE", cache());
    for name in ["MCPSIM_CC", "MCPSIM_CXX"] {
        command.env_remove(name);
    }
    command
}

/// Runs the wrapper and asserts that the compilation succeeds without output.
fn compiles(directory: &Path, line: &str) {
    let ran = compile(directory, line);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{line}");
}

/// Creates a temporary directory with these files.
fn files(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

const HELLO: &str = "#include <mpi.h>\n#include <stdio.h>\n\
    int main(int argc, char **argv) {\n    int rank;\n    MPI_Init(&argc, &argv);\n\
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    printf(\"%d\\n\", rank);\n    return MPI_Finalize();\n}\n";

const HELLO_CXX: &str = "#include <iostream>\n#include <stdexcept>\n#include <mpi.h>\n\
    int main(int argc, char **argv) {\n    MPI_Init(&argc, &argv);\n\
    try { throw std::runtime_error(\"x\"); } catch (const std::exception &e) { std::cout << e.what() << std::endl; }\n\
    return MPI_Finalize();\n}\n";

/// Returns the defined symbols and the undefined symbols in the file's dynamic symbol table.
fn symbols(file: &Path) -> [Vec<String>; 2] {
    use object::{Object, ObjectSymbol};
    let bytes = fs::read(file).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    let (defined, open): (Vec<_>, Vec<_>) = file.dynamic_symbols().partition(|symbol| symbol.is_definition());
    [defined, open].map(|symbols| symbols.iter().map(|symbol| symbol.name().unwrap().to_owned()).collect())
}

/// Asserts that the file is a program for the loader of mcpsim. Such a program has the entry point, the ELF note, and
/// its own `printf`.
fn check_program(file: &Path) {
    use object::{Object, ObjectKind, ObjectSection};
    let bytes = fs::read(file).unwrap();
    let parsed = object::File::parse(bytes.as_slice()).unwrap();
    assert_eq!(parsed.kind(), ObjectKind::Dynamic);
    assert!(parsed.section_by_name(".interp").is_none());
    let note = parsed.section_by_name(".note.mcpsim").expect("a note").data().unwrap();
    assert_eq!(note, b"\x07\0\0\0\x04\0\0\0\x01\0\0\0mcpsim\0\0\x01\0\0\0");
    let [defined, open] = symbols(file);
    for name in ["mcpsim_start", "mcpsim_main"] {
        assert!(defined.iter().any(|found| found == name), "{name}: {defined:?}");
    }
    assert!(!open.iter().any(|found| found == "printf" || found == "puts"), "{open:?}");
}

#[test]
fn programs_of_both_languages_are_compiled_and_linked() {
    let directory =
        files(&[("a b.c", HELLO), ("c.cc", HELLO_CXX), ("sub/x.c", "int x(void);\nint x(void) { return 1; }\n")]);
    let here = directory.path();
    let ran =
        finish(wrapper(here).args(["cc", "-Wall", "-Wextra", "-pedantic", "a b.c", "-o", "a out"]).output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    check_program(&here.join("a out"));
    compiles(here, "cxx -Wall -Wextra -pedantic -Wold-style-cast c.cc -o sub/c");
    check_program(&here.join("sub/c"));
    compiles(here, "cc -c sub/x.c -o x.o");
    compiles(here, "cc -shared x.o -o libx.so");
    assert!(symbols(&here.join("libx.so"))[0].contains(&"x".to_owned()));
}

#[test]
fn flags_of_other_kinds_of_programs_do_no_harm() {
    let directory = files(&[("a.c", HELLO), ("a.txt", HELLO), ("args", "-static -O2 'a.c' -o a")]);
    for flags in [
        "-static a.c",
        "-fPIE -pie a.c",
        "-no-pie -fno-pic a.c",
        "-static-pie a.c",
        "-fopenmp -O3 -g -ffast-math a.c -lm -lc",
        "-O2 -D_FORTIFY_SOURCE=2 a.c",
        "-flto -O2 a.c",
        "-flto -O2 -fvisibility=hidden -s -Wl,--gc-sections a.c",
        "-x c a.txt",
        "@args",
    ] {
        let out = directory.path().join("a");
        let _ = fs::remove_file(&out);
        compiles(directory.path(), &format!("cc {flags} -o a"));
        check_program(&out);
    }
}

#[test]
fn extensions_of_open_mpi_are_declared() {
    let source = "#include <mpi.h>\n#include <mpi-ext.h>\n\
        #if !defined(MPIX_CUDA_AWARE_SUPPORT) || MPIX_CUDA_AWARE_SUPPORT || MPIX_ROCM_AWARE_SUPPORT\n#error\n#endif\n\
        int main(void) { return MPIX_Query_cuda_support() + MPIX_Query_rocm_support(); }\n";
    let directory = files(&[("a.c", source), ("a.cc", source)]);
    for line in ["cc -Wall -Wextra -Werror a.c -o a", "cxx -Wall -Wextra -Werror a.cc -o a"] {
        compiles(directory.path(), line);
        let ran = finish(wrapper(directory.path()).args(["--nct", "1,1,1", "./a"]).output().unwrap());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
}

#[test]
fn fortran_is_refused_with_the_way_to_run_it() {
    let directory = files(&[("a.f90", "end\n"), ("b.c", HELLO)]);
    for line in ["cc a.f90 -o a", "cc -c b.c a.f90", "cxx -O2 a.f90"] {
        let ran = compile(directory.path(), line);
        let said = "a.f90 is Fortran, which this wrapper does not compile: build it with mpif90 of Open MPI or \
                    MPICH, and run it as built: mcpsim … ./PROGRAM\n";
        assert!(ran.code == Some(2) && ran.stderr.ends_with(said), "{line}: {:?} {}", ran.code, ran.stderr);
    }
}

#[test]
fn a_program_that_another_linker_linked_is_told_how_to_link_it() {
    let directory = files(&[("a.c", HELLO)]);
    // Build scripts such as rsmpi's take only these options from the wrapper.
    let shown = compile(directory.path(), "cc -show").stdout;
    let is_taken = |word: &&str| ["-I", "-L", "-l"].iter().any(|option| word.starts_with(option));
    let taken: Vec<&str> = shown.split_whitespace().filter(is_taken).collect();
    let linked =
        Command::new("cc").current_dir(&directory).args(["a.c", "-pie", "-fPIE", "-o", "a"]).args(taken).status();
    assert!(linked.expect("cc").success());
    let ran = finish(wrapper(directory.path()).args(["--nct", "1,1,1", "./a"]).output().unwrap());
    let said = "has mcpsim's MPI but was linked without its wrapper: link it with mcpsim cc or mcpsim cxx";
    assert!(ran.code == Some(2) && ran.stderr.contains(said), "{:?} {}", ran.code, ran.stderr);
}

#[test]
fn main_may_stand_in_an_archive() {
    let directory = files(&[("a.c", HELLO), ("b.c", "int unused;")]);
    compiles(directory.path(), "cc -c a.c b.c");
    let ar = Command::new("ar").current_dir(&directory).args(["rc", "liba.a", "a.o"]).status();
    assert!(ar.expect("ar").success());
    compiles(directory.path(), "cc b.o liba.a -o a");
    check_program(&directory.path().join("a"));
}

#[test]
fn parts_that_cannot_be_linked_are_explained() {
    let directory = files(&[
        ("a.c", "int say(void); int main(void) { return say(); }"),
        ("b.c", "#include <stdio.h>\nint say(void) { return fputs(\"hi\", stderr); }"),
    ]);
    let other = Command::new("cc").current_dir(&directory).args(["-fno-pic", "-c", "b.c"]).status();
    assert!(other.expect("cc").success());
    for (line, hint) in [("cc a.c b.o", true), ("cc a.c", false), ("cc -c nowhere.c", false)] {
        let ran = compile(directory.path(), line);
        let said = ran
            .stderr
            .contains("mcpsim: mcpsim links programs as shared objects: object files that another compiler made");
        assert!(ran.code != Some(0) && said == hint, "{line}\n{}", ran.stderr);
    }
}

#[test]
fn what_is_missing_is_missed_by_the_linker() {
    let directory = files(&[
        ("a.c", "int nothing(void);\nint main(void) { return nothing(); }\n"),
        ("b.c", "int b(void);\nint b(void) { return 1; }\n"),
        ("c.c", "int MPI_Sent();\nint main(void) { return MPI_Sent(); }\n"),
        ("d.c", "#error no\n"),
    ]);
    for (file, missed) in [("a.c", "`nothing'"), ("b.c", "`main'"), ("c.c", "`MPI_Sent'"), ("d.c", "#error no")] {
        let ran = compile(directory.path(), &format!("cc {file} -o x"));
        assert_eq!(ran.code, Some(1), "{file}");
        assert!(ran.stderr.contains(missed) && !ran.stderr.contains("error: error"), "{}", ran.stderr);
        assert!(!directory.path().join("x").exists());
    }
}

#[test]
fn questions_are_answered() {
    let directory = files(&[("a.c", HELLO)]);
    let here = directory.path();
    let native =
        |line: &str| finish(Command::new("cc").current_dir(here).args(line.split_whitespace()).output().unwrap());
    for line in ["--version", "-dumpmachine", "-print-file-name=libc.so", "-dM -E -x c /dev/null"] {
        assert_eq!(compile(here, &format!("cc {line}")).code, Some(0), "{line}");
    }
    assert_eq!(compile(here, "cc --version").stdout, native("--version").stdout);
    let none = compile(here, "cc");
    assert_eq!((none.code, none.stderr), (native("").code, native("").stderr));
    assert_eq!(compile(here, "cc -showme:version").stdout, format!("mcpsim {}\n", env!("CARGO_PKG_VERSION")));
    assert!(compile(here, "cc -show -c a.c").stdout.starts_with("cc -I"));
    // If the compiler is run directly with the words that the wrapper shows, the result is the same.
    let words = |line: &str| compile(here, line).stdout.trim_end().to_owned();
    let compile_words = words("cc -showme:compile");
    let link_words = words("cc -showme:link");
    assert_eq!(native(&format!("{compile_words} -c a.c -o a.o")).code, Some(0));
    let ran = native(&format!("a.o {link_words} -o a"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    check_program(&here.join("a"));
}

#[test]
fn a_link_named_as_another_mpis_wrapper_is_that_wrapper() {
    let directory = files(&[("a.c", HELLO), ("c.cc", HELLO_CXX)]);
    for (name, file) in [("mpicc", "a.c"), ("mpicxx", "c.cc"), ("mpic++", "c.cc"), ("mcpsim-cc", "a.c")] {
        let link = directory.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcpsim"), &link).unwrap();
        let mut command = Command::new(&link);
        let ran = finish(
            command
                .current_dir(directory.path())
                .env("MCPSIM_CACHE", cache())
                .args([file, "-o", "x"])
                .output()
                .unwrap(),
        );
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{name}");
        check_program(&directory.path().join("x"));
        fs::remove_file(directory.path().join("x")).unwrap();
    }
}

#[test]
fn compilers_that_cannot_be_used_are_named() {
    let directory = files(&[("a.c", HELLO)]);
    let with = |name: &str, value: &str| {
        finish(wrapper(directory.path()).env(name, value).args(["cc", "a.c"]).output().unwrap())
    };
    let ran = with("MCPSIM_CC", "no-such-compiler");
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.stderr,
        "error: cannot start \"no-such-compiler\": No such file or directory (os error 2); \
         install a C compiler, or set MCPSIM_CC (MCPSIM_CXX for C++) to one\n"
    );
    let itself = with("MCPSIM_CC", &format!("{} cc", env!("CARGO_BIN_EXE_mcpsim")));
    assert_eq!(itself.code, Some(2));
    assert!(
        itself.stderr.contains("the compiler is this wrapper itself: set MCPSIM_CC to another one"),
        "{}",
        itself.stderr
    );
    let unwritable = with("MCPSIM_CACHE", "/proc/no");
    assert_eq!(unwritable.code, Some(2));
    assert!(unwritable.stderr.starts_with("error: cannot write the cache /proc/no: "), "{}", unwritable.stderr);
}

#[test]
fn many_at_once_make_one_kit_and_a_broken_one_is_mended() {
    let directory = files(&[("a.c", HELLO)]);
    let cache = directory.path().join("cache");
    let start = |number: usize| {
        let name = format!("a{number}");
        wrapper(directory.path()).env("MCPSIM_CACHE", &cache).args(["cc", "a.c", "-o", &name]).spawn().unwrap()
    };
    let kits = || {
        let all = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        all.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let all_at_once = || {
        let all: Vec<_> = (0..6).map(start).collect();
        assert!(all.into_iter().all(|mut child| child.wait().unwrap().success()));
        assert_eq!(kits().len(), 1);
    };
    all_at_once();
    fs::remove_file(kits()[0].join("include/mpi.h")).unwrap();
    all_at_once();
    // The removal of the digests simulates a cache of an mcpsim version without digests.
    fs::remove_file(kits()[0].join("digests")).unwrap();
    all_at_once();
    // A truncated library and a modified header simulate the effects of a full disk and of an editor.
    let [library, header] = ["lib/libmcpsim_support.a", "include/mpi.h"].map(|name| kits()[0].join(name));
    let whole = [fs::read(&library).unwrap(), fs::read(&header).unwrap()];
    fs::write(&library, &whole[0][..whole[0].len() / 2]).unwrap();
    fs::write(&header, String::from_utf8(whole[1].clone()).unwrap().replacen("MPI_ANY_SOURCE", "MPI_ANY_OTHER", 1))
        .unwrap();
    assert!(start(6).wait().unwrap().success());
    assert_eq!(kits().len(), 1);
    assert!(fs::read(&library).unwrap().len() == whole[0].len() && fs::read(&header).unwrap() == whole[1]);
}

#[test]
fn the_header_has_the_values_of_the_host() {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mpi/abi.rs")).unwrap();
    let constants = source.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("pub const MPI_")?.split_once(':')?;
        Some((name, rest.split_once("= ")?.1.trim_end_matches(';')))
    });
    let of = |(name, value)| format!("_Static_assert((intptr_t)(MPI_{name}) == ({value}), \"{name}\");\n");
    let checks: Vec<String> = constants.map(of).collect();
    assert!(checks.len() > 250, "{}", checks.len());
    let sizes = "_Static_assert(sizeof(MPI_Status) == 32 && sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8, \"\");\n";
    let directory = files(&[("a.c", &format!("#include <mpi.h>\n{sizes}{}", checks.concat()))]);
    compiles(directory.path(), "cc -c a.c");
}

#[test]
fn the_headers_are_clean_in_all_dialects() {
    let sampling = "#include <mcpsim.h>\nint work(int);\nint work(int n) {\n    int i, sum = 0;\n\
        for (i = 0; i < n; i++) MCPSIM_SAMPLE_LOCAL(3) { sum += i; MCPSIM_SAMPLE_GLOBAL(2) { if (i) continue; sum++; } }\n\
        mcpsim_compute(1e-3);\n    return sum;\n}\n";
    let directory = files(&[("a.c", HELLO), ("a.cc", HELLO), ("s.c", sampling), ("s.cc", sampling)]);
    let here = directory.path();
    let strict = "-Wall -Wextra -Wshadow -pedantic -Werror";
    for standard in ["c89", "c99", "gnu17"] {
        compiles(here, &format!("cc -std={standard} {strict} -c a.c"));
    }
    for standard in ["c++98", "c++20"] {
        compiles(here, &format!("cxx -std={standard} {strict} -c a.cc"));
        compiles(here, &format!("cxx -std={standard} {strict} -c s.cc"));
    }
    compiles(here, &format!("cc -std=c99 {strict} -c s.c"));
    // The test simulates the compiler wrapper of another MPI that uses a copy of mcpsim's header.
    let include = compile(here, "cc -showme:incdirs").stdout;
    fs::copy(Path::new(include.trim_end()).join("mcpsim.h"), here.join("mcpsim.h")).unwrap();
    let arguments = "-std=c89 -Wall -Wextra -pedantic -Werror -I. -c s.c";
    let ran = finish(Command::new("cc").current_dir(here).args(arguments.split_whitespace()).output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_program_started_by_its_name_comes_to_mcpsim() {
    let directory = files(&[("a.c", HELLO)]);
    let here = directory.path();
    compiles(here, "cc a.c -o a");
    let ran = finish(Command::new(here.join("a")).args(["-x", "y z"]).output().unwrap());
    assert!(ran.code != Some(127) && !ran.stderr.contains("built by mcpsim cc"), "{}", ran.stderr);
    // A program that is started directly uses the mcpsim in PATH if the mcpsim that compiled the program is missing. If
    // PATH contains no mcpsim either, the program prints an error.
    let link = here.join("gone");
    fs::copy(env!("CARGO_BIN_EXE_mcpsim"), &link).unwrap();
    let status =
        Command::new(&link).env("MCPSIM_CACHE", cache()).current_dir(here).args(["cc", "a.c", "-o", "c"]).status();
    assert!(status.unwrap().success());
    fs::remove_file(&link).unwrap();
    let ran = finish(Command::new(here.join("c")).env("PATH", "/no:").output().unwrap());
    let path = fs::canonicalize(here.join("c")).unwrap().display().to_string();
    assert_eq!(ran.code, Some(127));
    assert_eq!(ran.stderr, format!("{path}: built by mcpsim cc: run it by mcpsim {path}\n"));
    fs::write(here.join("mcpsim"), "#!/bin/sh\nprintf '[%s]' \"$@\"\nexit 9\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(here.join("mcpsim"), mode).unwrap();
    let search = format!("/no:{}:/bin:/usr/bin", here.display());
    let ran = finish(Command::new(here.join("c")).env("PATH", search).args(["-x", "y z", ""]).output().unwrap());
    assert_eq!((ran.code, ran.stdout), (Some(9), format!("[run][--direct][{path}][--][-x][y z][]")));
}
