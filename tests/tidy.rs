//! Rules for the project's own sources (invariants in ARCHITECTURE.md), as functions of text. Each test also shows that
//! its rule detects a violation.

#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/statics.rs"]
mod statics;
#[path = "tidy/unsafe_files.rs"]
mod unsafe_files;
#[path = "tidy/words.rs"]
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rules::Finding;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files below `directory` of the project with this extension, in order, with their paths from the
/// project's root.
fn files(directory: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![root().join(directory)];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// Fails if the rule has findings, and prints `file:line: what` for each finding.
fn hold(rule: fn(&str, &str) -> Vec<Finding>, files: Vec<(String, String)>) {
    assert!(!files.is_empty(), "nothing to look at");
    let findings: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| {
            rule(path, text).into_iter().map(move |finding| format!("{path}:{}: {}", finding.line, finding.what))
        })
        .collect();
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

fn sources() -> Vec<(String, String)> {
    files("src", "rs")
}

#[test]
fn a_module_uses_only_those_to_its_left() {
    hold(rules::module_order, sources());
}

#[test]
fn every_module_has_a_place_in_the_order() {
    for lib in ["src/base/lib.rs", "src/core/lib.rs", "src/real/lib.rs", "src/lib.rs"] {
        let text = fs::read_to_string(root().join(lib)).unwrap();
        assert_eq!(rules::modules_without_place(&text), Vec::<String>::new(), "{lib}");
    }
}

#[test]
fn only_cli_prints() {
    hold(rules::printing, sources());
}

#[test]
fn only_modules_that_are_listed_touch_files() {
    hold(rules::file_access, sources());
}

#[test]
fn no_wall_clock_between_units_and_mpi() {
    hold(rules::wall_clock, sources());
}

#[test]
fn unsafe_code_stays_where_it_is_allowed() {
    hold(rules::unsafe_code, sources());
    assert_eq!(rules::unsafe_without_need(&sources()), [""; 0]);
}

#[test]
fn no_module_outgrows_the_others() {
    assert_eq!(rules::too_large(&sources()), []);
}

#[test]
fn no_file_is_long() {
    let all = [sources(), files("tests", "rs"), files("benches", "rs"), files("python", "rs")].concat();
    assert_eq!(rules::long_files(&all), Vec::<String>::new());
}

#[test]
fn few_names_of_types_have_two_meanings() {
    let doubled = rules::doubled_types(&sources());
    assert!(doubled.len() <= rules::DOUBLED, "{} names: {}", doubled.len(), doubled.join(", "));
}

#[test]
fn tests_are_modules_of_few_binaries() {
    assert_eq!(rules::test_binaries(&files("tests", "rs")), rules::TESTS);
}

#[test]
fn texts_keep_the_level_of_plain_english() {
    let documents = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"];
    let mut all: Vec<(String, String)> =
        documents.iter().map(|name| ((*name).to_owned(), fs::read_to_string(root().join(name)).unwrap())).collect();
    for directory in ["docs", "validation", "benches", "configs", "workloads", "src", "tests", "python"] {
        ["md", "rs", "toml"].iter().for_each(|extension| all.extend(files(directory, extension)));
    }
    assert_eq!(words::above_level(&all), Vec::<String>::new());
}

#[test]
fn the_architecture_lists_all_statics() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let all = [sources(), files("python", "rs")].concat();
    let (listed, defined) = (statics::listed(&architecture), statics::defined(&all));
    let only = |one: &BTreeSet<statics::Static>, other| one.difference(other).cloned().collect::<Vec<_>>();
    assert_eq!(only(&defined, &listed), [], "not in the table of ARCHITECTURE.md");
    assert_eq!(only(&listed, &defined), [], "only in the table of ARCHITECTURE.md");
}

/// The lock file of the fuzz targets has every dependency of the packages under test. Otherwise `cargo build --locked`
/// of the fuzz targets fails.
#[test]
fn the_lock_file_of_fuzz_targets_is_up_to_date() {
    let table = |path: &str| -> toml::Table { fs::read_to_string(root().join(path)).unwrap().parse().unwrap() };
    let lock = table("fuzz/Cargo.lock");
    for directory in ["base", "engine", "mpi", "core", "matrices", "real"] {
        let manifest = table(&format!("src/{directory}/Cargo.toml"));
        let package =
            lock["package"].as_array().unwrap().iter().find(|package| package["name"] == manifest["package"]["name"]);
        let locked: BTreeSet<&str> =
            package.unwrap()["dependencies"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();
        let stated: BTreeSet<&str> = manifest["dependencies"].as_table().unwrap().keys().map(String::as_str).collect();
        assert_eq!(locked, stated, "fuzz/Cargo.lock, package {directory}: run cargo metadata in fuzz/");
    }
}

#[test]
fn nothing_unfinished_is_left_behind() {
    hold(rules::unfinished, [sources(), files("tests", "rs"), files("benches", "rs"), files("python", "rs")].concat());
}

#[test]
fn every_rust_file_says_first_what_it_is_for() {
    hold(rules::module_docs, [sources(), files("tests", "rs"), files("benches", "rs"), files("python", "rs")].concat());
}

/// Each setting of a run is an argument of the Python function `run`.
#[test]
fn every_setting_is_an_argument_in_python() {
    let text = fs::read_to_string(root().join("python/mcpsim/_run.py")).unwrap();
    let has = |key: &str| text.contains(&format!("\n    {key}: "));
    let missing: Vec<&str> = mcpsim::run::SETTINGS.iter().map(|setting| setting.key).filter(|key| !has(key)).collect();
    assert_eq!(missing, [""; 0], "not in python/mcpsim/_run.py");
}

#[test]
fn every_workload_and_machine_says_first_what_it_is() {
    for directory in ["workloads", "configs"] {
        let found = files(directory, "toml");
        if !found.is_empty() {
            hold(rules::toml_comment, found);
        }
    }
}

#[test]
fn shipped_files_are_toml_of_version_1_0() {
    let script = "import sys, tomllib\nfor name in sys.argv[1:]:\n    tomllib.load(open(name, 'rb'))";
    let python =
        |arguments: &[&str]| std::process::Command::new("python3").args(arguments).current_dir(root()).output();
    if !python(&["-c", "import tomllib"]).is_ok_and(|ran| ran.status.success()) {
        eprintln!("skipped: no Python 3.11 is found, which reads TOML 1.0");
        return;
    }
    let names: Vec<String> = ["configs", "workloads", "validation", "src/cli"]
        .into_iter()
        .flat_map(|directory| files(directory, "toml"))
        .map(|(name, _)| name)
        .collect();
    // A template with placeholders is no TOML file before the placeholders are replaced.
    let names =
        names.iter().map(String::as_str).filter(|name| !name.contains("/template/") && !name.contains("/init/"));
    let arguments: Vec<&str> = ["-c", script].into_iter().chain(names).collect();
    let ran = python(&arguments).unwrap();
    assert!(arguments.len() > 50 && ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
