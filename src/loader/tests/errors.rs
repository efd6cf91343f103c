//! The exact texts of what can be wrong with a program.

use super::*;

#[test]
fn files_that_are_no_programs_are_refused() {
    let Some(workshop) = Workshop::new() else { return };
    let text = |path: &Path| {
        let error = Image::open(path, &Nothing, &[]).err().unwrap().to_string();
        error.replace(workshop.directory.path().to_str().unwrap(), "")
    };
    std::fs::write(workshop.path("script"), "#!/bin/sh\n").unwrap();
    let script = workshop.path("script");
    assert_eq!(text(&script), "/script: expected a program built by mcpsim cc; this is no ELF file");
    let missing = workshop.path("missing");
    assert_eq!(text(&missing), "/missing: cannot be read: No such file or directory (os error 2)");
    let directory = workshop.path("");
    assert_eq!(text(&directory), "/: cannot be read: not a regular file");
    let plain = workshop.library("plain", "int a;", &[]);
    assert_eq!(text(&plain), "/plain: expected a program built by mcpsim cc; build it with mcpsim cc");
    let fixed = workshop.run("cc", "fixed", "int main(void) { return 0; }", &["-no-pie", "-fno-PIC"]);
    assert!(text(&fixed).starts_with("/fixed: expected a program built by mcpsim cc"), "{}", text(&fixed));
    let old = MARK.replace(".long 1\\n.popsection", ".long 9\\n.popsection");
    let old = workshop.library("old", &old, &[]);
    let expected = "/old: was built by another version of mcpsim cc (format 9, expected 1); build it again";
    assert_eq!(text(&old), expected);
}

#[test]
fn the_marker_tells_programs() {
    let Some(workshop) = Workshop::new() else { return };
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    assert_eq!(is_program(b"#!/bin/sh"), FileKind::NotElf);
    assert_eq!(is_program(&read(workshop.library("plain", "int a;", &[]))), FileKind::Unmarked);
    let program = read(workshop.program("int a;", &[]));
    assert_eq!(is_program(&program), FileKind::Program);
    assert_eq!(is_program(&program[..4096]), FileKind::Program);
    assert_eq!(is_program(&program[..20]), FileKind::Unmarked);
}

#[test]
fn undefined_symbols_are_named() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "extern int gone(int), lost(int); extern __thread int absent; int go(int n) { return gone(n) + lost(n) + absent; }";
    let text = workshop.failure(source, &[]);
    for name in ["gone", "lost", "absent"] {
        assert!(text.starts_with("/program: undefined: ") && text.matches(name).count() == 1, "{text}");
    }
    workshop.library("libbroken.so", "extern int gone(int); int half(int n) { return gone(n); }", &[]);
    let source = "extern int half(int); int go(int n) { return half(n); }";
    let text = workshop.failure(source, &["-L.", "-lbroken", "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined"]);
    assert_eq!(text, "/libbroken.so: undefined: gone");
}

#[test]
fn missing_libraries_are_named() {
    let Some(workshop) = Workshop::new() else { return };
    let library = workshop.library("libaway.so", "int away(int n) { return n; }", &[]);
    let program = workshop.program("extern int away(int); int go(int n) { return away(n); }", &["-L.", "-laway"]);
    std::fs::remove_file(library).unwrap();
    let text = Image::open(&program, &Nothing, &[]).err().unwrap().to_string();
    assert!(text.contains("/program: needs the library libaway.so, which cannot be loaded: "), "{text}");
}

#[test]
fn code_for_another_model_is_refused_with_advice() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "__thread int counter; int go(int n) { return counter += n; }";
    assert_eq!(
        workshop.failure(source, &["-ftls-model=initial-exec"]),
        "/program: uses the static thread-local storage model for counter; compile with -fPIC and without -ftls-model"
    );
    let text = workshop.failure(source, &["-mtls-dialect=gnu2"]);
    let expected = "/program: uses thread-local storage descriptors of counter; compile without -mtls-dialect=gnu2";
    assert_eq!(text, expected);
    let source = "int value; __asm__(\".text\\n.quad value\"); int go(int n) { return value + n; }";
    let text = workshop.failure(source, &["-Wl,-z,notext"]);
    assert!(text.contains("needs its code or constants changed when loaded (at 0x"), "{text}");
}
