//! The rules. Each takes a file's path from the root and its text, and gives what is wrong with it.

/// The modules of `src`; one may use those before it.
const ORDER: [&str; 14] = [
    "units", "config", "platform", "profile", "rank", "engine", "mpi", "trace", "app", "capi", "study", "measure",
    "report", "cli",
];

/// Files between `units` and `mpi` that may look at a clock of the host, each with the reason. None does: `cli` times a run.
const CLOCKS: [(&str, &str); 0] = [];

/// Where `unsafe` is allowed: fibers, the loader of real programs, the MPI transport.
const UNSAFE: [&str; 4] = ["src/rank/fiber", "src/capi.rs", "src/capi/", "src/engine/transport/mpi"];

/// Something wrong in a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1.
    pub line: usize,
    pub what: String,
}

/// The lines that have code, numbered from 1, without comments. Strings stay: a rule's word in one is rare enough.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.map(|(number, line)| {
        let comment = line.match_indices("//").map(|(at, _)| at).find(|&at| !line[..at].ends_with(':'));
        (number, comment.map_or(line, |at| &line[..at]))
    })
}

/// Whether `line` has `word` with no letter, digit or underscore around it.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(part) && !line[at + word.len()..].chars().next().is_some_and(part)
    })
}

/// The place in [`ORDER`] of the module that the file at `path` belongs to; `None` for `lib.rs` and `main.rs`.
fn module(path: &str) -> Option<usize> {
    let name = path.strip_prefix("src/")?.split('/').next()?.trim_end_matches(".rs");
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

/// Paths from the crate's root, by `crate::` or by enough `super::`, lead to the left.
pub fn module_order(path: &str, text: &str) -> Vec<Finding> {
    let Some(own) = module(path) else { return Vec::new() };
    // src/engine.rs is one `super` from the root, src/engine/a.rs two; tests inside are one further, which is looked at too.
    let depth = path.matches('/').count();
    // Comments go, line numbers stay: a `use` may go over several lines.
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
    for root in ["crate::", "mcpsim::"] {
        code.match_indices(root).for_each(|(at, _)| look(at + root.len()));
    }
    let mut rest = 0;
    while let Some(found) = code[rest..].find("super::") {
        let start = rest + found;
        let times = code[start..].split("super::").take_while(|part| part.is_empty()).count();
        // `split` gives one empty part before each `super::` that follows another directly.
        rest = start + times * "super::".len();
        if times >= depth {
            look(rest);
        }
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// The first names of the path or of the braced list of paths at `at`, with where they begin.
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

/// Public modules of `lib.rs` that [`ORDER`] does not have.
pub fn modules_without_place(lib: &str) -> Vec<String> {
    let declared = code(lib).filter_map(|(_, line)| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'));
    declared.filter(|name| !ORDER.contains(name)).map(str::to_owned).collect()
}

/// Only `cli` prints.
pub fn printing(path: &str, text: &str) -> Vec<Finding> {
    let macros = ["println!", "eprintln!", "print!", "eprint!"];
    let streams = ["stdout()", "stderr()"];
    let allowed = is_in(path, &["cli"]);
    words(path, text, allowed, &[&macros[..], &streams[..]].concat(), "only cli prints")
}

/// Only `config`, `capi` and `cli` touch files; tests may anywhere.
pub fn file_access(path: &str, text: &str) -> Vec<Finding> {
    let allowed = is_in(path, &["config", "capi", "cli"]) || path.contains("/tests/") || path.ends_with("/tests.rs");
    let names = ["std::fs", "fs::read", "File::open", "File::create", "tempfile"];
    words(path, without_tests(text), allowed, &names, "only config, capi and cli touch files")
}

/// The text up to the tests at its end.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

/// No clock of the host between `units` and `mpi`.
pub fn wall_clock(path: &str, text: &str) -> Vec<Finding> {
    let allowed = !is_in(path, &ORDER[..7]) || CLOCKS.iter().any(|(file, _)| *file == path);
    words(path, text, allowed, &["Instant", "SystemTime"], "no clock of the host between units and mpi")
}

/// `unsafe` only where [`UNSAFE`] allows it.
pub fn unsafe_code(path: &str, text: &str) -> Vec<Finding> {
    let allowed = UNSAFE.iter().any(|allowed| path.starts_with(allowed));
    words(path, text, allowed, &["unsafe"], "only fibers, capi and the MPI transport may")
}

/// Nothing unfinished. The words are put together here so that this file does not have them.
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

/// The first line says what a file answers for.
pub fn module_docs(_path: &str, text: &str) -> Vec<Finding> {
    let found = text.lines().next().is_some_and(|line| line.starts_with("//! "));
    if found { Vec::new() } else { vec![Finding { line: 1, what: "expected //! and what this file is for".into() }] }
}

/// A described workload or machine says first what it is: in a comment or with the key made for it.
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
        let findings = module_order("src/engine/a.rs", text);
        assert_eq!(findings[0].what, "engine uses report, which is to its right");
        assert_eq!(lines(findings), [3, 6, 8]);
        assert_eq!(lines(module_order("src/engine/a.rs", "use super::super::cli;\nuse super::cli;\n")), [1]);
        assert_eq!(lines(module_order("src/engine.rs", "use super::cli;\nuse super::units;\n")), [1]);
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
        assert_eq!(lines(file_access("src/config/document.rs", text)), [0usize; 0]);
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
        assert_eq!(lines(unsafe_code("src/capi/loader.rs", text)), [0usize; 0]);
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
