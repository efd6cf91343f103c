//! The statics of the sources and of the table in ARCHITECTURE.md.

use std::collections::BTreeSet;

use super::rules::{code, is_test, without_tests};

/// A file and the name of a static in it.
pub type Static = (String, String);

/// Returns the statics of `files`, except those of tests. Foreign variables have small letters and do not count.
pub fn defined(files: &[(String, String)]) -> BTreeSet<Static> {
    let mut found = BTreeSet::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test(path)) {
        for (_, line) in code(without_tests(text)) {
            found.extend(name(line).map(|name| (path.clone(), name.to_owned())));
        }
    }
    found
}

/// Returns the name of the static that `line` defines.
fn name(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("static ")?;
    let is_definition = before.trim().is_empty() || before.trim().starts_with("pub") && !before.contains('=');
    let name = rest.strip_prefix("mut ").unwrap_or(rest).split_once(':')?.0;
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (is_definition && is_name).then_some(name)
}

/// Returns the statics of the table: rows that begin with the path of a file in `src` or `python`, followed by names.
pub fn listed(architecture: &str) -> BTreeSet<Static> {
    let mut found = BTreeSet::new();
    for line in architecture.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, path, names, _, _] = cells[..] else { continue };
        let path = path.trim_matches('`');
        if ["src/", "python/"].iter().any(|directory| path.starts_with(directory)) && path.ends_with(".rs") {
            found.extend(names.split(", ").map(|name| (path.to_owned(), name.trim_matches('`').to_owned())));
        }
    }
    found
}

#[test]
fn a_static_that_only_one_has_is_caught() {
    let text = "static ONE: u8 = 0;\n    pub(super) static mut TWO_2: u8 = 0;\nstatic tzname: u8;\nlet s: &'static str;\n\
                // static NOT: u8\n#[cfg(test)]\nmod tests {\n    static TEST: u8 = 0;\n}\n";
    let files = [("src/a.rs".to_owned(), text.to_owned()), ("src/a/tests.rs".to_owned(), "static T: u8".to_owned())];
    let expected = ["ONE", "TWO_2"].map(|name| ("src/a.rs".to_owned(), name.to_owned()));
    assert_eq!(defined(&files), BTreeSet::from(expected.clone()));
    let table = "| file | statics | content |\n|---|---|---|\n| `src/a.rs` | `ONE`, `TWO_2` | numbers |\n";
    assert_eq!(listed(table), BTreeSet::from(expected));
}
