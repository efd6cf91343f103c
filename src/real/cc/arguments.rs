//! Parser of compiler arguments. The parser interprets only arguments that change the behaviour of the compiler
//! wrapper.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Last compilation stage that the arguments request from the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompileStage {
    /// No compilation, because the arguments are a query to the compiler such as `--version`.
    Question,
    /// Preprocessing or compilation to object files, without linking.
    Compile,
    /// Linking of object files to a relocatable object file (`-r`).
    Relocatable,
    /// Linking of a shared library (`-shared`).
    Library,
    /// Linking of a program.
    Program,
}

/// Parsed arguments of the compiler wrapper.
#[derive(Debug)]
pub(super) struct Arguments {
    /// Arguments of the user that are passed to the compiler. The wrapper's own arguments follow the user's
    /// arguments.
    pub passed: Vec<OsString>,
    /// Last compilation stage that the arguments request.
    pub step: CompileStage,
    /// True if the option `-x` sets the language of files that follow the arguments.
    pub language_set: bool,
    /// True if functions of BLAS take their predicted time and compute nothing (`--model-blas`).
    pub models_blas: bool,
    /// True if the program may need libraries other than the parts of the C library.
    pub libraries: bool,
    /// Arguments such as `-lm` that name parts of the C library, if the program needs no other libraries. Arguments for
    /// parts of the C library must follow the support archive, which replaces some functions of the C library.
    pub last: Vec<OsString>,
}

/// Linker options for libraries that are parts of the C library.
const C_LIBRARIES: [&str; 6] = ["-lc", "-lm", "-lpthread", "-lrt", "-ldl", "-lutil"];

/// File extensions of sources and objects. A file with such an extension is no library and requires no library.
const NO_LIBRARY_ENDS: [&str; 14] =
    [".c", ".i", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".ii", ".s", ".S", ".o", ".a"];

/// Prefixes of compiler options that may link further libraries into the program.
const MAY_LINK: [&str; 16] = [
    "@",
    "-Wl,",
    "-Xlinker",
    "-T",
    "-z",
    "-R",
    "-B",
    "-specs",
    "--specs",
    "-fopen",
    "-fgnu-tm",
    "-fsanitize",
    "-ftree-parallelize",
    "-nodefaultlibs",
    "-nolibc",
    "-nostdlib",
];

/// Compiler options that the wrapper removes, because the options prevent position-independent code or a shared
/// object.
const DROPPED: [&str; 18] = [
    "-static",
    "--static",
    "-static-pie",
    "--static-pie",
    "-pie",
    "--pie",
    "-no-pie",
    "--no-pie",
    "-nopie",
    "-fPIE",
    "-fpie",
    "-fno-PIE",
    "-fno-pie",
    "-fno-PIC",
    "-fno-pic",
    "-fpic",
    "-mdynamic-no-pic",
    "-Wl,-pie",
];

/// Compiler options whose value is the next argument.
const WITH_VALUE: [&str; 42] = [
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-u",
    "-T",
    "-z",
    "-e",
    "-h",
    "-A",
    "-B",
    "-G",
    "-R",
    "-F",
    "-J",
    "-MF",
    "-MT",
    "-MQ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "--param",
    "--sysroot",
    "-target",
];

/// Option of the wrapper itself: functions of BLAS compute nothing.
const MODEL_BLAS: &str = "--model-blas";

const UP_TO_OBJECTS: [&str; 12] = [
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--compile",
    "--assemble",
    "--preprocess",
    "--dependencies",
    "--user-dependencies",
    "-emit-llvm",
];

const HEADER_ENDS: [&str; 7] = [".h", ".hh", ".hpp", ".hxx", ".h++", ".H", ".tcc"];

/// Maximum nesting depth of argument files (`@file`).
const DEEPEST: usize = 16;

/// Parses the arguments of the compiler wrapper.
pub(super) fn read(arguments: &[OsString]) -> Arguments {
    let mut seen = Seen::default();
    let mut passed = Vec::new();
    for argument in arguments {
        let inner = expand(argument, 0);
        let before = seen.dropped;
        let kept: Vec<OsString> = inner.iter().filter(|inner| seen.see(inner)).cloned().collect();
        // An argument file is passed unchanged unless the wrapper must remove arguments in the file.
        match seen.dropped == before && inner.len() != 1 {
            true => {
                seen.libraries = true;
                passed.push(argument.clone());
            }
            false => passed.extend(kept),
        }
    }
    if seen.default_libraries {
        // The compiler links the C library last, after the support archive that replaces some functions of the C
        // library.
        passed.retain(|argument| argument != "-lc");
    }
    let mut last = Vec::new();
    if !seen.libraries {
        let is_last = |argument: &OsString| argument.to_str().is_some_and(|text| C_LIBRARIES.contains(&text));
        (last, passed) = passed.into_iter().partition(is_last);
    }
    let Seen { language_set, models_blas, libraries, .. } = seen;
    Arguments { passed, step: seen.step(), language_set, models_blas, libraries, last }
}

/// State of the argument parser.
#[derive(Debug)]
struct Seen {
    value_of: Option<OsString>,
    inputs: bool,
    other_than_headers: bool,
    up_to_objects: bool,
    shared: bool,
    relocatable: bool,
    language_set: bool,
    models_blas: bool,
    default_libraries: bool,
    libraries: bool,
    dropped: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Seen {
            value_of: None,
            inputs: false,
            other_than_headers: false,
            up_to_objects: false,
            shared: false,
            relocatable: false,
            language_set: false,
            models_blas: false,
            default_libraries: true,
            libraries: false,
            dropped: 0,
        }
    }
}

/// Returns true for options that link the library of another MPI. Make files of benchmarks contain such options, and
/// functions of the other MPI would replace the MPI functions of mcpsim.
fn is_mpi_library(text: &str) -> bool {
    const NAMES: [&str; 9] = ["mpi", "mpich", "mpi_cxx", "mpicxx", "mpichcxx", "mpi++", "pmpi", "open-rte", "open-pal"];
    let file = || {
        let name = text.rsplit('/').next()?.strip_prefix("lib")?;
        name.strip_suffix(".so").or_else(|| name.strip_suffix(".a"))
    };
    text.strip_prefix("-l").or_else(file).is_some_and(|name| NAMES.contains(&name))
}

impl Seen {
    /// Parses the next compiler argument. Returns true if the argument is passed to the compiler.
    fn see(&mut self, argument: &OsStr) -> bool {
        let text = argument.to_str().unwrap_or("\u{fffd}");
        if let Some(option) = self.value_of.take() {
            match option.to_str() {
                Some("-x") => self.language_set = text != "none",
                Some("-l") => self.input(text),
                _ => (),
            }
            return true;
        }
        self.models_blas |= text == MODEL_BLAS;
        if DROPPED.contains(&text) || is_mpi_library(text) || text == MODEL_BLAS {
            self.dropped += 1;
            return false;
        }
        if !text.starts_with('-') || text == "-" {
            self.input(text);
            return true;
        }
        self.libraries |= MAY_LINK.iter().any(|start| text.starts_with(start));
        if WITH_VALUE.contains(&text) {
            self.value_of = Some(argument.to_owned());
        }
        match text {
            "-shared" | "--shared" => self.shared = true,
            "-r" | "--relocatable" | "-Wl,-r" | "-Wl,--relocatable" => self.relocatable = true,
            "-nostdlib" | "-nodefaultlibs" | "-nolibc" => self.default_libraries = false,
            _ if UP_TO_OBJECTS.contains(&text) => self.up_to_objects = true,
            _ if text.starts_with("-x") && text.len() > 2 => self.language_set = text != "-xnone",
            _ if text.starts_with("-l") && text.len() > 2 => self.input(text),
            _ => (),
        }
        true
    }

    fn input(&mut self, name: &str) {
        self.inputs = true;
        let header = HEADER_ENDS.iter().any(|end| name.ends_with(end));
        self.other_than_headers |= !header;
        let known = header
            || name == "-"
            || C_LIBRARIES.contains(&name)
            || NO_LIBRARY_ENDS.iter().any(|end| name.ends_with(end));
        self.libraries |= !known;
    }

    fn step(&self) -> CompileStage {
        match () {
            () if !self.inputs => CompileStage::Question,
            () if self.up_to_objects || !self.other_than_headers => CompileStage::Compile,
            () if self.relocatable => CompileStage::Relocatable,
            () if self.shared => CompileStage::Library,
            () => CompileStage::Program,
        }
    }
}

/// Returns the arguments in the argument file `@file`. An argument that is no `@file`, or names a missing file, is
/// returned unchanged.
fn expand(argument: &OsStr, depth: usize) -> Vec<OsString> {
    let Some(path) = argument.as_bytes().strip_prefix(b"@") else { return vec![argument.to_owned()] };
    match std::fs::read(OsStr::from_bytes(path)) {
        Ok(text) if depth < DEEPEST => words(&text).iter().flat_map(|word| expand(word, depth + 1)).collect(),
        _ => vec![argument.to_owned()],
    }
}

/// Splits the text of an argument file into words. Quotes and backslashes have the same meaning as for gcc.
fn words(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(byte),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Arguments {
        read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn passed(line: &str) -> String {
        of(line).passed.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn the_step_is_told_by_options_and_inputs() {
        for (line, step) in [
            ("", CompileStage::Question),
            ("--version", CompileStage::Question),
            ("-v", CompileStage::Question),
            ("-dumpmachine -O2", CompileStage::Question),
            ("-o a -I dir -D X", CompileStage::Question),
            ("-c a.c", CompileStage::Compile),
            ("-E -dM -", CompileStage::Compile),
            ("-MM a.c", CompileStage::Compile),
            ("-fsyntax-only a.c", CompileStage::Compile),
            ("a.h", CompileStage::Compile),
            ("a.c", CompileStage::Program),
            ("-MD -MF a.d a.c -o a", CompileStage::Program),
            ("a.o -lm", CompileStage::Program),
            ("-o -c a.c", CompileStage::Program),
            ("-x c -", CompileStage::Program),
            ("-lfoo", CompileStage::Program),
            ("-shared a.o", CompileStage::Library),
            ("-shared -c a.c", CompileStage::Compile),
            ("-r a.o b.o", CompileStage::Relocatable),
            ("missing@file.c", CompileStage::Program),
        ] {
            assert_eq!(of(line).step, step, "{line}");
        }
    }

    #[test]
    fn what_may_need_libraries_is_told_from_what_does_not() {
        for line in ["a.c", "-O2 -o ring a.o b.c -lm -lpthread", "-g -D X -I dir/x.so -L lib a.cpp m.a", "-x c -"] {
            assert!(!of(line).libraries, "{line}");
        }
        let may =
            ["a.c -lfoo", "a.c -l m", "a.o libx.so.2", "a.c x", "a.c -Wl,--as-needed", "-fopenmp a.c", "@no/such"];
        may.into_iter().for_each(|line| assert!(of(line).libraries, "{line}"));
    }

    #[test]
    fn the_c_librarys_libraries_come_last_where_there_are_no_others() {
        let both = |line: &str| (passed(line), of(line).last);
        assert_eq!(both("a.o -lm b.o -lc -ldl"), ("a.o b.o".to_owned(), vec!["-lm".into(), "-ldl".into()]));
        assert_eq!(both("a.o -lm -lx"), ("a.o -lm -lx".to_owned(), vec![]));
        assert_eq!(both("a.o -nostdlib -lm"), ("a.o -nostdlib -lm".to_owned(), vec![]));
    }

    #[test]
    fn what_would_break_the_program_is_dropped() {
        assert_eq!(passed("-static -O2 -no-pie a.c -fno-pic -fPIE -pie"), "-O2 a.c");
        assert_eq!(passed("-o -static a.c"), "-o -static a.c");
        assert_eq!(passed("-static-libgcc a.c"), "-static-libgcc a.c");
        assert!(passed("--model-blas a.c") == "a.c" && of("--model-blas a.c").models_blas && !of("a.c").models_blas);
        assert_eq!(passed("a.o -L/opt/mpi/lib -lmpi -lmpich -lx"), "a.o -L/opt/mpi/lib -lx");
        assert_eq!(passed("a.o /opt/mpi/lib/libmpich.a libx.a"), "a.o libx.a");
        assert_eq!(passed("a.o -lc -lx -lm"), "a.o -lx -lm");
        assert_eq!(passed("a.o -nostdlib -lc"), "a.o -nostdlib -lc");
    }

    #[test]
    fn a_language_holds_for_later_files() {
        assert!(of("-x c a.txt").language_set);
        assert!(of("-xc++ a.txt").language_set);
        assert!(!of("-x c a.txt -x none b.o").language_set);
        assert!(!of("a.c").language_set);
    }

    #[test]
    fn files_of_arguments_are_looked_into_and_passed_on() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
            format!("@{}", directory.path().join(name).display())
        };
        let plain = file("plain", "-c 'a b.c'\n");
        assert_eq!(of(&plain).step, CompileStage::Compile);
        assert_eq!(passed(&plain), plain);
        let breaking = file("breaking", &format!("-static \"a b.o\" c\\ d.o {plain}"));
        let read = of(&breaking);
        assert_eq!(read.passed, ["a b.o", "c d.o", "-c", "a b.c"]);
        let itself = file("itself", &format!("@{}", directory.path().join("itself").display()));
        assert_eq!(of(&itself).step, CompileStage::Program);
        assert_eq!(passed("@no/such"), "@no/such");
    }

    #[test]
    fn words_are_split_as_compilers_do() {
        assert_eq!(words(b"a  'b c'\"d\"\n\\ e '' \"x\\\"y\""), ["a", "b cd", " e", "", "x\"y"]);
        assert_eq!(words(b""), [""; 0]);
        assert_eq!(words(b"a\\"), ["a"]);
    }
}
