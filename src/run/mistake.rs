//! Detection of files that the user passes as an application but that are something else. The error message states the
//! kind of the file and gives advice.

use std::path::Path;

use crate::config::Document;

use super::application::first_bytes;
use super::error::PredictError;

const SOURCES: [&str; 5] = ["c", "cc", "cpp", "cxx", "C"];

/// File extensions of source languages, each with the tool that builds a program of that language.
const BUILT: [(&[&str], &str, &str); 2] = [
    (&["f", "F", "for", "f77", "f90", "F90", "f95", "F95", "f03", "F03", "f08", "F08"], "Fortran", "mpifort"),
    (&["rs"], "Rust", "cargo"),
];

/// Rejects a file as an application if its name or first bytes show that it is something else.
pub(super) fn by_form(path: &Path) -> Result<(), PredictError> {
    let name = path.display();
    if !path.is_file() {
        return Ok(());
    }
    if let Some(ending) = path.extension().and_then(|ending| ending.to_str()).filter(|it| SOURCES.contains(it)) {
        let wrapper = if ending == "c" { "cc" } else { "cxx" };
        let program = path.with_extension("");
        return Err(PredictError::input(format!(
            "{name} is source code: compile it by mcpsim {wrapper} -O2 -o {} {name}, then run that",
            program.display()
        )));
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if let Some((_, language, tool)) = BUILT.iter().find(|(endings, ..)| endings.contains(&ending)) {
        return Err(PredictError::input(format!(
            "{name} is source code in {language}: build it with {tool} and run the program"
        )));
    }
    if first_bytes(path).trim_ascii_start().starts_with(b"{") {
        return Err(PredictError::input(format!(
            "{name} is JSON, expected an application; figures of an outcome are drawn by mcpsim report {name} --figures DIR"
        )));
    }
    Ok(())
}

/// Rejects an application file whose keys are those of a machine or a study.
pub(super) fn by_keys(document: &Document) -> Result<(), PredictError> {
    let (table, name) = (document.table(), document.name());
    let has = |key: &str| table.contains_key(key);
    if has("main") || has("program") || has("trace") {
        return Ok(());
    }
    if has("intra_cmp") || has("inter_node") {
        return Err(PredictError::input(format!("{name} describes a machine: mcpsim --platform {name} APP")));
    }
    if has("vary") {
        return Err(PredictError::input(format!("{name} is a study: mcpsim sweep {name}")));
    }
    Ok(())
}

/// Rejects a machine file whose keys are those of an application or a study.
pub(super) fn machine_by_keys(document: &Document) -> Result<(), PredictError> {
    let (table, name) = (document.table(), document.name());
    let what = match ["main", "program", "tasks", "vary"].into_iter().find(|key| table.contains_key(*key)) {
        None => return Ok(()),
        Some("vary") => "is a study",
        Some(_) => "describes an application",
    };
    Err(PredictError::input(format!(
        "--platform {name}: {name} {what}, expected a machine such as configs/default.toml"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_instead_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let error = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            let form = by_form(&path).err();
            form.map(|failure| failure.to_string().replace(&format!("{}/", directory.path().display()), ""))
        };
        assert_eq!(
            error("ring.c", "int main;").unwrap(),
            "ring.c is source code: compile it by mcpsim cc -O2 -o ring ring.c, then run that"
        );
        assert!(error("a.cpp", "").unwrap().contains("mcpsim cxx -O2 -o a a.cpp"));
        assert_eq!(
            error("heat.f90", "end").unwrap(),
            "heat.f90 is source code in Fortran: build it with mpifort and run the program"
        );
        assert!(error("run.json", "\n {}").unwrap().starts_with("run.json is JSON"));
        assert_eq!(error("app.toml", "main = []"), None);
        assert!(by_form(&directory.path().join("no.c")).is_ok());

        let keys =
            |text: &str| by_keys(&Document::parse("x.toml", text).unwrap()).map_err(|failure| failure.to_string());
        assert_eq!(
            keys("[core]\n[intra_cmp]\n").unwrap_err(),
            "x.toml describes a machine: mcpsim --platform x.toml APP"
        );
        assert_eq!(keys("app = 'a.toml'\n[vary]\n").unwrap_err(), "x.toml is a study: mcpsim sweep x.toml");
        let machine = |text: &str| {
            machine_by_keys(&Document::parse("x.toml", text).unwrap()).map_err(|failure| failure.to_string())
        };
        assert_eq!(machine("[core]\n[intra_cmp]\n"), Ok(()));
        let expected =
            "--platform x.toml: x.toml describes an application, expected a machine such as configs/default.toml";
        assert_eq!(machine("main = []").unwrap_err(), expected);
        assert!(machine("[vary]").unwrap_err().contains("x.toml is a study"));
        assert_eq!(keys("main = []\n[params]\nvary = 1"), Ok(()));
        assert_eq!(keys("[platform.inter_node]\n[app]\nmain = []"), Ok(()));
    }
}
