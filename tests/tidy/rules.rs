//! Rules for source files. Each rule gets a file's path from the project's root and its text, and returns its findings.

use std::collections::BTreeMap;

use super::unsafe_files::UNSAFE;

/// Modules of all packages in order. A module may use only the modules before it.
const ORDER: [&str; 22] = [
    "units",
    "config",
    "platform",
    "profile",
    "rank",
    "engine",
    "mpi",
    "trace",
    "app",
    "host_mpi",
    "matrices",
    "measure",
    "revisions",
    "loader",
    "cc",
    "process",
    "mpi_api",
    "as_built",
    "run",
    "study",
    "report",
    "cli",
];

/// Packages that are one module.
const PACKAGES: [&str; 6] = ["engine/", "mpi/", "host_mpi/", "matrices/", "measure/", "revisions/"];

/// Greatest percentage of all Rust lines in `src` that one module may have.
const LARGEST_PERCENT: usize = 15;

/// Greatest number of lines in a file.
const LONGEST_FILE: usize = 500;

/// Greatest number of type names that are defined in several places.
pub const DOUBLED: usize = 13;

/// Modules that may access files.
const FILES: [&str; 10] =
    ["config", "revisions", "loader", "cc", "process", "as_built", "preload", "run", "study", "cli"];

/// Files in the modules from `units` to `mpi` that may read a clock of the host, each with the reason: none.
const CLOCKS: [(&str, &str); 0] = [];

/// Test executables, each of which takes seconds to link. A new test should be a module of one of them.
pub const TESTS: [&str; 11] = [
    "command",
    "guide",
    "measuring",
    "mpirun",
    "oracle",
    "real",
    "simgrid",
    "simulation",
    "studies",
    "tidy",
    "workloads",
];

/// A violation in a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// Line number, from 1.
    pub line: usize,
    pub what: String,
}

/// Iterates over the lines of code without their comments, with line numbers from 1. String literals remain, because
/// they rarely contain a word of a rule.
pub fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.map(|(number, line)| {
        let comment = line.match_indices("//").map(|(at, _)| at).find(|&at| !line[..at].ends_with(':'));
        (number, comment.map_or(line, |at| &line[..at]))
    })
}

/// Returns whether `line` contains `word` without an adjacent letter, digit or underscore.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(part) && !line[at + word.len()..].chars().next().is_some_and(part)
    })
}

/// Returns the path of a file within its crate, whose root is `src/base`, `src/core`, `src/real` or `src`. (Other
/// packages count as modules of `src`.)
fn in_crate(path: &str) -> Option<&str> {
    ["src/base/", "src/core/", "src/real/", "src/"].iter().find_map(|root| path.strip_prefix(root))
}

/// Returns the position in [`ORDER`] of the module of the file at `path`; `None` for `lib.rs` and `main.rs`.
fn module(path: &str) -> Option<usize> {
    let name = in_crate(path)?.split('/').next()?.trim_end_matches(".rs");
    ORDER.iter().position(|module| *module == name)
}

fn is_in(path: &str, modules: &[&str]) -> bool {
    module(path).is_some_and(|place| modules.contains(&ORDER[place]))
}

fn words(path: &str, text: &str, allowed: bool, words: &[&str], what: &str) -> Vec<Finding> {
    if allowed || !path.ends_with(".rs") {
        return Vec::new();
    }
    code(text)
        .filter_map(|(line, code)| {
            let word = words.iter().find(|word| has_word(code, word))?;
            Some(Finding { line, what: format!("{word}: {what}") })
        })
        .collect()
}

/// Checks that paths from the crate's root, by `crate::` or a sufficient number of `super::`, refer only to earlier
/// modules of [`ORDER`].
pub fn module_order(path: &str, text: &str) -> Vec<Finding> {
    let (Some(own), Some(path)) = (module(path), in_crate(path)) else { return Vec::new() };
    // engine.rs is one `super` below the root, and engine/a.rs is two. Nested test modules are one further, which is
    // also checked.
    let depth = path.matches('/').count() + 1;
    // Comments are removed without changing line numbers. A `use` may span several lines.
    let code: String = code(text).map(|(_, line)| format!("{line}\n")).collect();
    let mut findings = Vec::new();
    let mut look = |at: usize| {
        for (start, name) in first_names(&code, at) {
            if let Some(place) = ORDER.iter().position(|module| *module == name)
                && place > own
            {
                let line = code[..start].matches('\n').count() + 1;
                findings.push(Finding { line, what: format!("{} uses {name}, which is to its right", ORDER[own]) });
            }
        }
    };
    // The root of a package that is one module has no other modules.
    let is_package = PACKAGES.iter().any(|package| path.starts_with(package));
    let own_root = if is_package { None } else { Some("crate::") };
    for root in own_root.into_iter().chain(["mcpsim::", "mcpsim_base::", "mcpsim_core::", "mcpsim_real::"]) {
        code.match_indices(root).for_each(|(at, _)| look(at + root.len()));
    }
    let mut rest = 0;
    while let Some(found) = code[rest..].find("super::") {
        let start = rest + found;
        let times = code[start..].split("super::").take_while(|part| part.is_empty()).count();
        // `split` yields an empty part for each `super::` that directly follows another `super::`.
        rest = start + times * "super::".len();
        if times >= depth {
            look(rest);
        }
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// Returns the first names in the path, or in the braced list of paths, at `at`, with their positions.
fn first_names(code: &str, at: usize) -> Vec<(usize, &str)> {
    let name_at = |start: usize| {
        let end = code[start..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(code.len(), |end| start + end);
        (start, &code[start..end])
    };
    if !code[at..].starts_with('{') {
        return vec![name_at(at)];
    }
    let mut names = Vec::new();
    let mut depth = 0;
    let mut expected = true;
    for (offset, c) in code[at..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => expected = true,
            c if expected && depth == 1 && !c.is_whitespace() => {
                names.push(name_at(at + offset));
                expected = false;
            }
            _ => {}
        }
    }
    names
}

/// Returns public modules of a `lib.rs` that are not in [`ORDER`].
pub fn modules_without_place(lib: &str) -> Vec<String> {
    let declared = code(lib).filter_map(|(_, line)| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'));
    declared.filter(|name| !ORDER.contains(name)).map(str::to_owned).collect()
}

/// Checks that only the module `cli` prints.
pub fn printing(path: &str, text: &str) -> Vec<Finding> {
    let macros = ["println!", "eprintln!", "print!", "eprint!"];
    let streams = ["stdout()", "stderr()"];
    let allowed = is_in(path, &["cli"]) || is_build_script(path);
    words(path, text, allowed, &[&macros[..], &streams[..]].concat(), "only cli prints")
}

/// Checks that only modules of [`FILES`] and tests access files.
pub fn file_access(path: &str, text: &str) -> Vec<Finding> {
    let allowed = is_in(path, &FILES) || is_test(path) || is_build_script(path) || path.starts_with("src/preload/");
    let names = ["std::fs", "fs::read", "File::open", "File::create", "tempfile"];
    words(path, without_tests(text), allowed, &names, "this module does not touch files")
}

fn is_build_script(path: &str) -> bool {
    path.ends_with("/build.rs")
}

/// Returns whether the file at `path` is a test of a module.
pub fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Returns the text of a source file without the test module at its end.
pub fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

/// Checks that no module from `units` to `mpi` uses a clock of the host.
pub fn wall_clock(path: &str, text: &str) -> Vec<Finding> {
    let allowed = !is_in(path, &ORDER[..7]) || CLOCKS.iter().any(|(file, _)| *file == path);
    words(path, text, allowed, &["Instant", "SystemTime"], "no clock of the host between units and mpi")
}

/// Checks that `unsafe` occurs only in tests and where [`UNSAFE`] permits it; the compiler checks it in tests.
pub fn unsafe_code(path: &str, text: &str) -> Vec<Finding> {
    let allowed = is_test(path) || UNSAFE.iter().any(|allowed| path.starts_with(allowed));
    words(path, without_tests(text), allowed, &["unsafe"], "only files that the rules list may")
}

/// Returns the entries of [`UNSAFE`] that contain no `unsafe`.
pub fn unsafe_without_need(files: &[(String, String)]) -> Vec<&'static str> {
    let uses = |text: &str| code(text).any(|(_, line)| has_word(line, "unsafe"));
    let needed = |place: &str| files.iter().any(|(path, text)| path.starts_with(place) && uses(text));
    UNSAFE.iter().copied().filter(|place| !needed(place)).collect()
}

/// Returns the modules that exceed [`LARGEST_PERCENT`], with their percentage of all lines.
pub fn too_large(files: &[(String, String)]) -> Vec<(&'static str, usize)> {
    let lines = |place: Option<usize>| -> usize {
        let own = files.iter().filter(|(path, _)| place.is_none() || module(path) == place);
        own.map(|(_, text)| text.lines().count()).sum()
    };
    let all = lines(None).max(1);
    let shares = (0..ORDER.len()).map(|place| (ORDER[place], lines(Some(place)) * 100 / all));
    shares.filter(|(_, percent)| *percent >= LARGEST_PERCENT).collect()
}

/// Returns files with more than [`LONGEST_FILE`] lines, with their lengths.
pub fn long_files(files: &[(String, String)]) -> Vec<String> {
    let lengths = files.iter().map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LONGEST_FILE);
    long.map(|(path, lines)| format!("{path}: {lines} lines")).collect()
}

/// Returns the names of types that several files define, not counting tests.
pub fn doubled_types(files: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, text) in files.iter().filter(|(path, _)| !is_test(path) && !path.ends_with("/model.rs")) {
        for (_, line) in code(without_tests(text)) {
            let line = match line.strip_prefix("pub") {
                Some(rest) => rest.split_once(") ").map_or(rest, |(_, rest)| rest).trim_start(),
                None => line,
            };
            let keyword =
                ["struct ", "enum ", "trait ", "union "].iter().find_map(|keyword| line.strip_prefix(keyword));
            let name = keyword.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
            name.into_iter().for_each(|name| *places.entry(name).or_default() += 1);
        }
    }
    places.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name.to_owned()).collect()
}

/// Returns the names of the test executables.
pub fn test_binaries(files: &[(String, String)]) -> Vec<&str> {
    let names = files.iter().filter_map(|(path, _)| path.strip_prefix("tests/")?.strip_suffix(".rs"));
    names.filter(|name| !name.contains('/')).collect()
}

/// Checks that nothing is marked as unfinished. The searched words are composed here, so that this file does not
/// contain them.
pub fn unfinished(_path: &str, text: &str) -> Vec<Finding> {
    let marks = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("db", "g!("),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("#[ig", "nore"),
    ];
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let mark = marks.iter().find(|mark| line.contains(**mark))?;
            Some(Finding { line: index + 1, what: format!("{mark} is left behind") })
        })
        .collect()
}

/// Checks that the first line of a file is a comment that describes the file.
pub fn module_docs(_path: &str, text: &str) -> Vec<Finding> {
    let found = text.lines().next().is_some_and(|line| line.starts_with("//! "));
    if found { Vec::new() } else { vec![Finding { line: 1, what: "expected //! and what this file is for".into() }] }
}

/// Checks that the file of a described workload or machine begins with a description: a comment or the key `about`.
pub fn toml_comment(_path: &str, text: &str) -> Vec<Finding> {
    let found = text.starts_with('#') || text.lines().take(2).any(|line| line.starts_with("about = "));
    let what = "expected # or, after the name, about = and what this file describes".to_owned();
    if found { Vec::new() } else { vec![Finding { line: 1, what }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: Vec<Finding>) -> Vec<usize> {
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_use_of_a_module_to_the_right_is_caught_in_every_form() {
        let text = "use crate::units::Bytes;\n/// Like [`crate::cli::main`].\nuse crate::report::json;\nuse crate::{\n    units::{Bytes, cli},\n    app::App,\n};\nlet x = crate::study::run();\n";
        let findings = module_order("src/base/rank/a.rs", text);
        assert_eq!(findings[0].what, "rank uses report, which is to its right");
        assert_eq!(lines(findings), [3, 6, 8]);
        assert_eq!(lines(module_order("src/base/rank/a.rs", "use super::super::cli;\nuse super::cli;\n")), [1]);
        assert_eq!(lines(module_order("src/base/rank.rs", "use super::cli;\nuse super::units;\n")), [1]);
        // The root of this package is the module `engine`.
        assert_eq!(lines(module_order("src/engine/a.rs", "use crate::report;")), [0usize; 0]);
        assert_eq!(lines(module_order("src/cli/a.rs", "use crate::engine::Outcome;")), [0usize; 0]);
        assert_eq!(lines(module_order("src/lib.rs", "use crate::cli;")), [0usize; 0]);
    }

    #[test]
    fn a_module_without_a_place_is_caught() {
        assert_eq!(modules_without_place("pub mod units;\npub mod extra; // new\n// pub mod old;\n"), ["extra"]);
    }

    #[test]
    fn printing_outside_cli_is_caught() {
        let text = "println!(\"x\");\n// println!\nmy_println!(1);\n    eprint!(\"\");\nwrite!(io::stderr(), \"\");\n";
        assert_eq!(lines(printing("src/engine/a.rs", text)), [1, 4, 5]);
        assert_eq!(lines(printing("src/cli/a.rs", text)), [0usize; 0]);
    }

    #[test]
    fn file_access_outside_its_modules_is_caught() {
        let text = "use std::fs;\nuse std::fs::File;\nlet f = File::open(p);\nlet fs = 1;\n";
        assert_eq!(lines(file_access("src/report.rs", text)), [1, 2, 3]);
        assert_eq!(
            lines(file_access("src/report.rs", &format!("{text}#[cfg(test)]\nmod tests {{\n{text}}}\n"))),
            [1, 2, 3]
        );
        assert_eq!(lines(file_access("src/report/tests.rs", text)), [0usize; 0]);
        assert_eq!(lines(file_access("src/base/config/document.rs", text)), [0usize; 0]);
    }

    #[test]
    fn a_clock_of_the_host_is_caught() {
        let text = "use std::time::Instant;\nstruct Instants;\nSystemTime::now();\n";
        assert_eq!(lines(wall_clock("src/mpi/a.rs", text)), [1, 3]);
        assert_eq!(lines(wall_clock("src/cli/progress.rs", text)), [0usize; 0]);
    }

    #[test]
    fn unsafe_code_elsewhere_is_caught() {
        let text = "#![deny(unsafe_code)]\nunsafe { f() }\n";
        assert_eq!(lines(unsafe_code("src/engine/queue.rs", text)), [2]);
        assert_eq!(lines(unsafe_code("src/real/loader/tls.rs", text)), [0usize; 0]);
        assert_eq!(lines(unsafe_code("src/real/loader/elf.rs", text)), [2]);
    }

    #[test]
    fn a_place_that_needs_no_unsafe_any_more_is_caught() {
        let files = |text: &str| UNSAFE.iter().map(|path| ((*path).to_owned(), text.to_owned())).collect::<Vec<_>>();
        assert_eq!(unsafe_without_need(&files("unsafe { f() }")), [""; 0]);
        assert_eq!(unsafe_without_need(&files("// unsafe")), UNSAFE);
    }

    #[test]
    fn a_module_that_has_outgrown_the_others_is_caught() {
        let file = |path: &str, lines: usize| (path.to_owned(), "x\n".repeat(lines));
        let files =
            [file("src/core/app.rs", 10), file("src/core/app/a.rs", 5), file("src/lib.rs", 35), file("src/cli.rs", 50)];
        assert_eq!(too_large(&files), [("app", 15), ("cli", 50)]);
    }

    #[test]
    fn a_long_file_is_caught() {
        let file = |path: &str, lines: usize| (path.to_owned(), "x\n".repeat(lines));
        assert_eq!(long_files(&[file("src/a.rs", 500), file("src/b.rs", 501)]), ["src/b.rs: 501 lines"]);
    }

    #[test]
    fn a_name_with_two_meanings_is_caught() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let files = [
            file("src/a.rs", "pub(super) struct Kind;\nstruct Own;\n// struct Entry\n    struct Inner;\n"),
            file(
                "src/b.rs",
                "pub enum Kind {}\nenum Entry {}\nstruct Inner;\n#[cfg(test)]\nmod tests {\nstruct Own;\n}\n",
            ),
            file("src/b/tests.rs", "struct Entry;\n"),
        ];
        assert_eq!(doubled_types(&files), ["Kind"]);
    }

    #[test]
    fn a_new_binary_of_tests_is_caught() {
        let files =
            ["tests/new.rs", "tests/oracle.rs", "tests/oracle/fair.rs"].map(|path| (path.to_owned(), String::new()));
        assert_eq!(test_binaries(&files), ["new", "oracle"]);
    }

    #[test]
    fn unfinished_work_is_caught() {
        let text = concat!("fine();\nto", "do!();\n// FIX", "ME later\n    unimple", "mented!(\"\")\n");
        assert_eq!(lines(unfinished("src/a.rs", text)), [2, 3, 4]);
    }

    #[test]
    fn files_that_do_not_say_what_they_are_for_are_caught() {
        assert_eq!(lines(module_docs("src/a.rs", "use std::io;\n")), [1]);
        assert_eq!(lines(module_docs("src/a.rs", "")), [1]);
        assert_eq!(lines(module_docs("src/a.rs", "//! Answers for.\n")), [0usize; 0]);
        assert_eq!(lines(toml_comment("configs/a.toml", "name = \"a\"\n")), [1]);
        assert_eq!(lines(toml_comment("configs/a.toml", "name = \"a\"\nabout = \"A machine.\"\n")), [0usize; 0]);
        assert_eq!(lines(toml_comment("configs/a.toml", "# A machine.\n")), [0usize; 0]);
    }
}
