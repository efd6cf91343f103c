//! Test of the guide and README: every command in a `console` block runs, and prints the lines that the block shows.
//!
//! Lines in a `console` block that begin with `$ ` are commands. A shell runs the commands in a directory that contains
//! `workloads`, `configs` and `validation`. The lines below a command must occur in its output in this order. A TOML or
//! C block that follows "Save this as `NAME`" is written to the file NAME. Blocks in other languages, and indented
//! blocks, are not run.

#[path = "support/tools.rs"]
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command, its line number in the page, and the expected lines of its output.
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

/// Parts of a page, in the order of the page.
enum Part {
    File(String, String),
    Step(Step),
}

/// Returns the files and commands of a page.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut name = None;
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    while let Some((_, line)) = lines.next() {
        if let Some((_, rest)) = line.split_once("Save this as `") {
            name = rest.split_once('`').map(|(name, _)| name.to_owned());
        }
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<_> = lines.by_ref().take_while(|(_, line)| !line.starts_with("```")).collect();
        match (language, name.take()) {
            ("console", _) => {
                for (line, text) in block {
                    match (text.strip_prefix("$ "), parts.last_mut()) {
                        (Some(command), _) => {
                            let (command, expected) = (command.to_owned(), Vec::new());
                            parts.push(Part::Step(Step { line, command, expected }));
                        }
                        (None, Some(Part::Step(step))) => step.expected.push(text.trim_end().to_owned()),
                        (None, _) => panic!("line {line}: a console block begins with a command"),
                    }
                }
            }
            ("toml" | "c", Some(name)) => {
                let text: String = block.iter().map(|(_, line)| format!("{line}\n")).collect();
                parts.push(Part::File(name, text));
            }
            _ => {}
        }
    }
    parts
}

/// Executes the commands of a page. Returns the errors.
fn follow(page: &Path) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for name in ["workloads", "configs", "validation"] {
        std::os::unix::fs::symlink(root.join(name), here.join(name)).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_mcpsim")).parent().unwrap();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::join_paths(std::iter::once(program.to_owned()).chain(std::env::split_paths(&paths))).unwrap();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let mut wrong = Vec::new();
    for part in parts(&std::fs::read_to_string(page).unwrap()) {
        let Step { line, command, expected } = match part {
            Part::File(name, text) => {
                std::fs::write(here.join(name), text).unwrap();
                continue;
            }
            Part::Step(step) => step,
        };
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(&command)
            .current_dir(here)
            .env("PATH", &paths)
            .env("MCPSIM_CACHE", &cache)
            .stdin(Stdio::null());
        let output = shell.output().expect("a shell");
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).expect("mcpsim prints UTF-8");
        let place = format!("{}:{line}: $ {command}", page.display());
        if !output.status.success() {
            wrong.push(format!("{place}\n{}\n{printed}", output.status));
            continue;
        }
        let mut left = printed.lines().map(str::trim_end);
        for expected in expected.iter().filter(|line| !line.trim().is_empty() && line.trim() != "…") {
            if !left.any(|line| line == expected) {
                wrong.push(format!("{place}\nexpected, in this order: {expected}\nprinted:\n{printed}"));
                break;
            }
        }
    }
    wrong
}

/// Returns the paths of README, of the gallery and of the pages of guide and evidence.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directories = ["docs/guide", "docs/evidence"].map(|name| std::fs::read_dir(root.join(name)).unwrap());
    let listed = directories.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        listed.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.push(root.join("README.md"));
    pages.push(root.join("docs/site/gallery.md"));
    pages.sort();
    pages
}

#[test]
fn every_command_of_the_guide_works() {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = pages().into_iter().map(|page| scope.spawn(move || follow(&page))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

#[test]
fn commands_files_and_expected_lines_are_told_apart() {
    let text =
        "Save this as `a.toml`:\n```toml\nx = 1\n```\n```console\n$ one\n  two\n$ three\n```\n```text\n$ no\n```\n";
    let found: Vec<String> = parts(text)
        .into_iter()
        .map(|part| match part {
            Part::File(name, text) => format!("{name}: {text}"),
            Part::Step(step) => format!("{} {} {:?}", step.line, step.command, step.expected),
        })
        .collect();
    assert_eq!(found, ["a.toml: x = 1\n", "6 one [\"  two\"]", "8 three []"]);
}

#[test]
fn every_page_of_the_guide_is_in_its_index() {
    let index = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/README.md")).unwrap();
    for page in pages().into_iter().filter(|page| page.parent().is_some_and(|parent| parent.ends_with("guide"))) {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(name == "README.md" || index.contains(&format!("({name})")), "docs/guide/README.md: no link to {name}");
    }
}

#[test]
fn readme_stays_short() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(readme.lines().count() <= 150, "README has {} lines, expected at most 150", readme.lines().count());
}

#[test]
fn the_site_has_every_page_and_no_broken_link() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("target/site-tools/bin");
    if !tools::is_there("mkdocs") && !own.join("mkdocs").is_file() {
        return tools::optional("mkdocs is not found (pip install mkdocs-material): the site");
    }
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(root.join("docs/site/build"));
    command.args(["--mcpsim", env!("CARGO_BIN_EXE_mcpsim"), "--out"]).arg(directory.path());
    command.env("MCPSIM_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    for page in ["index.html", "reference/options.html", "reference/outcome.html", "gallery/run/time-path.svg"] {
        assert!(directory.path().join(page).is_file(), "{page}: {text}");
    }
    let start = std::fs::read_to_string(directory.path().join("index.html")).unwrap();
    let options = std::fs::read_to_string(directory.path().join("reference/options.html")).unwrap();
    assert!(options.contains("Usage: mcpsim trace check"), "the help of commands with two words");
    assert!(start.contains("The first hour") && start.contains("prefers-color-scheme: dark"));
    let index = std::fs::read_to_string(directory.path().join("search/search_index.json")).unwrap();
    assert!(index.contains("eager_threshold"), "the search finds keys");
}
