//! Creates the command line of the compiler, and answers queries such as `-show` about the command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

use super::arguments::{self, Arguments, CompileStage};
use super::sysroot::SupportFiles;
use super::{CcError, Language, WrapperRequest};

/// Environment variable that a wrapper sets for the compiler. The variable prevents endless recursion if the compiler
/// is also a wrapper.
const INSIDE: &str = "MCPSIM_INSIDE_CC";

/// Linker options for simulated programs. A simulated program is a shared object with an entry point, prefers its own
/// symbols, and has no undefined symbols.
const SHAPE: [&str; 4] = ["-Wl,-e,mcpsim_start", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,--no-undefined"];

/// Linker option that always links the symbols `main`, `puts` and `putchar`. `main` may be in an archive that the
/// linker reads before the first reference to `main`, and the compiler may replace calls of `printf` by calls of
/// `puts` and `putchar`.
const WANTED: &str = "-Wl,-u,main,-u,puts,-u,putchar";

/// Linker option that links replacements of C library functions for use by libraries. The replacements use some tens
/// of KiB of memory per rank, so programs without libraries omit the replacements. In programs that call `dlopen`,
/// `opens.c` links the replacements.
const FOR_LIBRARIES: &str = "-Wl,-u,mcpsim_own";

/// Returns true if `compiler` is known to link only its own libraries and the C library by default.
fn adds_no_libraries(compiler: &[OsString]) -> bool {
    let [name] = compiler else { return false };
    let name = Path::new(name).file_name().unwrap_or_default().as_bytes();
    [&b"cc"[..], b"gcc", b"clang", b"c++", b"g++"].iter().any(|known| {
        let rest = name.strip_prefix(*known).and_then(|rest| rest.strip_prefix(b"++").or(Some(rest)));
        rest.is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_digit() || b".-".contains(byte)))
    })
}

pub(super) fn request(language: Language, arguments: &[OsString]) -> Result<WrapperRequest, CcError> {
    let (variable, _) = language.compiler();
    if std::env::var_os(INSIDE).is_some() {
        return Err(CcError::new(format!("the compiler is this wrapper itself: set {variable} to another one")));
    }
    if let Some(question) = arguments.iter().find_map(|argument| Question::of(argument)) {
        let rest: Vec<OsString> =
            arguments.iter().filter(|argument| Question::of(argument).is_none()).cloned().collect();
        return Ok(WrapperRequest::Show(question.answer(language, &rest)?));
    }
    if let Some(source) = arguments.iter().find(|argument| is_fortran(argument)) {
        return Err(CcError::new(format!(
            "{} is Fortran, which this wrapper does not compile: build it with mpif90 of Open MPI or MPICH, and run it as \
             built: mcpsim … ./PROGRAM",
            source.to_string_lossy()
        )));
    }
    let words = words(language, arguments)?;
    let hint = links_others(arguments, &words).then_some(HINT);
    Ok(WrapperRequest::Run(command(&words), hint))
}

/// Returns true if the argument names a Fortran source by its file extension.
fn is_fortran(argument: &OsStr) -> bool {
    const ENDINGS: [&str; 10] = ["f", "F", "for", "f77", "f90", "F90", "f95", "F95", "f03", "f08"];
    let ending = Path::new(argument).extension().and_then(OsStr::to_str);
    !argument.as_bytes().starts_with(b"-") && ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Linker option for the support archive.
const SUPPORT: &str = "-lmcpsim_support";

/// Hint that the wrapper prints after a link error of a program with precompiled objects or libraries.
const HINT: &str = "mcpsim links programs as shared objects: object files that another compiler made need -fPIC";

/// Returns true if the program contains objects or libraries that the current compiler command does not compile from
/// sources.
fn links_others(arguments: &[OsString], words: &[OsString]) -> bool {
    let part = |argument: &OsString| {
        let bytes = argument.as_bytes();
        bytes.starts_with(b"-L") || [&b".o"[..], b".a", b".so", b".lo"].iter().any(|end| bytes.ends_with(end))
    };
    words.iter().any(|word| word == SHAPE[0]) && arguments.iter().any(part)
}

/// Returns the words of the compiler's command line: the compiler and all arguments.
fn words(language: Language, arguments: &[OsString]) -> Result<Vec<OsString>, CcError> {
    let mut words = compiler(language);
    let Arguments { passed, step, language_set, models_blas, libraries, last } = arguments::read(arguments);
    let libraries = libraries || !adds_no_libraries(&words);
    if step == CompileStage::Question {
        words.extend_from_slice(arguments);
        return Ok(words);
    }
    let kit = SupportFiles::ready()?;
    words.push(joined("-I", &kit.include()));
    if models_blas && matches!(step, CompileStage::Program | CompileStage::Library) {
        // The object precedes the user's files, so that its functions are used and not those of a BLAS library.
        words.extend([kit.blas().into(), "-Wl,--allow-multiple-definition".into()]);
    }
    words.extend(passed);
    words.push("-fPIC".into());
    if step == CompileStage::Program {
        words.push("-shared".into());
        words.extend(SHAPE.map(OsString::from));
        words.push(WANTED.into());
        words.extend(libraries.then(|| FOR_LIBRARIES.into()));
        if language == Language::Cxx {
            words.push("-static-libstdc++".into());
        }
    }
    if matches!(step, CompileStage::Program | CompileStage::Library) {
        if language_set {
            words.extend(["-x".into(), "none".into()]);
        }
        // A build system may have copied the support archive from the output of `-showme:link`, as an option or as a
        // path. The support archive also contains the start object.
        let is_named = words.iter().any(|word| word == SUPPORT || Path::new(word) == kit.support());
        words.extend((step == CompileStage::Program && !is_named).then(|| kit.start().into()));
        words.extend([kit.support().into(), kit.stubs().into()]);
    }
    words.extend(last);
    Ok(words)
}

/// Returns the words of the compiler command from the language's environment variable, or the default compiler.
pub(super) fn compiler(language: Language) -> Vec<OsString> {
    let (variable, default) = language.compiler();
    let text = std::env::var_os(variable).unwrap_or_default();
    let words = text.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<OsString> = words.map(|word| OsString::from_vec(word.to_owned())).collect();
    if words.is_empty() { vec![default.into()] } else { words }
}

/// Creates the command whose program and arguments are `words`.
pub(super) fn command(words: &[OsString]) -> Command {
    let (program, arguments) = words.split_first().expect("a compiler has a name");
    let mut command = Command::new(program);
    command.args(arguments).env(INSIDE, "1");
    command
}

/// Returns the error for a command that cannot be started.
pub(super) fn not_started(command: &Command, error: &std::io::Error) -> CcError {
    let program = command.get_program().display();
    let hint = "install a C compiler, or set MCPSIM_CC (MCPSIM_CXX for C++) to one";
    CcError::new(format!("cannot start \"{program}\": {error}; {hint}"))
}

/// Queries that the compiler wrapper itself answers, with the option names of the wrappers of Open MPI and MPICH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Print the whole compiler command.
    Show,
    /// Print the command for compilation, with or without the name of the compiler.
    Compile {
        named: bool,
    },
    /// Print the command for linking, with or without the name of the compiler.
    Link {
        named: bool,
    },
    /// Print only the name of the compiler that the wrapper runs.
    Compiler,
    IncludeDirectories,
    LibraryDirectories,
    Libraries,
    Version,
}

impl Question {
    fn of(argument: &OsStr) -> Option<Question> {
        let text = argument.to_str()?.strip_prefix('-')?;
        match text.strip_prefix('-').unwrap_or(text) {
            "show" | "showme" => Some(Question::Show),
            "showme:compile" => Some(Question::Compile { named: false }),
            "showme:link" => Some(Question::Link { named: false }),
            "compile-info" | "compile_info" => Some(Question::Compile { named: true }),
            "link-info" | "link_info" => Some(Question::Link { named: true }),
            "showme:command" => Some(Question::Compiler),
            "showme:incdirs" => Some(Question::IncludeDirectories),
            "showme:libdirs" => Some(Question::LibraryDirectories),
            "showme:libs" => Some(Question::Libraries),
            "showme:version" => Some(Question::Version),
            _ => None,
        }
    }

    fn answer(self, language: Language, arguments: &[OsString]) -> Result<String, CcError> {
        if self == Question::Show && arguments::read(arguments).step != CompileStage::Question {
            return Ok(shown(&words(language, arguments)?));
        }
        let kit = SupportFiles::ready()?;
        let compiler = compiler(language);
        let compile = || vec![joined("-I", &kit.include()), "-fPIC".into()];
        let words = match self {
            Question::Show => [compiler, arguments.to_vec(), compile(), for_others(language, &kit)].concat(),
            Question::Compile { named: true } => [compiler, arguments.to_vec(), compile()].concat(),
            Question::Compile { named: false } => compile(),
            Question::Link { named: true } => [compiler, arguments.to_vec(), for_others(language, &kit)].concat(),
            Question::Link { named: false } => for_others(language, &kit),
            Question::Compiler => compiler,
            Question::IncludeDirectories => vec![kit.include().into()],
            Question::LibraryDirectories => vec![kit.lib().into()],
            Question::Libraries => vec!["mcpsim_support".into(), "mcpsim_mpi".into()],
            Question::Version => return Ok(format!("mcpsim {}\n", env!("CARGO_PKG_VERSION"))),
        };
        Ok(shown(&words))
    }
}

/// Returns the linker arguments for a build tool that calls the compiler directly. Build tools must recognise the
/// arguments as linker options, so the option for a shared object has the form that the compiler passes through to
/// the linker.
fn for_others(language: Language, kit: &SupportFiles) -> Vec<OsString> {
    let mut words = vec![
        "-Wl,-shared,-e,mcpsim_start,-Bsymbolic,-z,defs".into(),
        "-Wl,-u,main,-u,mcpsim_start,-u,mcpsim_main,-u,mcpsim_own,-u,puts,-u,putchar".into(),
    ];
    if language == Language::Cxx {
        words.push("-static-libstdc++".into());
    }
    words.extend([joined("-L", &kit.lib()), SUPPORT.into(), "-lmcpsim_mpi".into()]);
    words
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// Returns `words` as one line, quoted for a shell.
fn shown(words: &[OsString]) -> String {
    let quoted = words.iter().map(|word| {
        let text = word.to_string_lossy().into_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%^".contains(c);
        match !text.is_empty() && text.chars().all(plain) {
            true => text,
            false => format!("'{}'", text.replace('\'', "'\\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_both_families_are_known() {
        let of = |text: &str| Question::of(OsStr::new(text));
        assert_eq!(of("-show"), Some(Question::Show));
        assert_eq!(of("--showme:compile"), Some(Question::Compile { named: false }));
        assert_eq!(of("-link-info"), Some(Question::Link { named: true }));
        assert_eq!(of("-showx"), None);
        assert_eq!(of("show"), None);
    }

    #[test]
    fn compilers_that_may_add_libraries_are_told_from_those_that_do_not() {
        let plain = |line: &str| adds_no_libraries(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(["cc", "/usr/bin/gcc", "gcc-12", "clang-14", "clang++", "g++", "c++"].into_iter().all(plain));
        assert!(!["icx", "mpicc", "ccache gcc", "gcc -fopenmp", "x86_64-conda-gcc", ""].into_iter().any(plain));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["cc", "-I/a b", "", "it's", "-DX=\"1\""].map(OsString::from);
        assert_eq!(shown(&words), "cc '-I/a b' '' 'it'\\''s' '-DX=\"1\"'\n");
    }
}
