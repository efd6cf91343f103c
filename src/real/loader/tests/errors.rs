//! Tests of the exact texts of load errors.

use super::*;

#[test]
fn files_that_are_no_programs_are_refused() {
    let Some(workshop) = Workshop::new() else { return };
    let text = |path: &Path| {
        let error = Image::open(path, &Nothing, &[], 0).err().unwrap().to_string();
        error.replace(workshop.directory.path().to_str().unwrap(), "")
    };
    std::fs::write(workshop.path("script"), "#!/bin/sh\n").unwrap();
    let script = workshop.path("script");
    assert_eq!(
        text(&script),
        "/script: expected a program built by mcpsim cc; found a file of another format than \
                               ELF"
    );
    let missing = workshop.path("missing");
    assert_eq!(text(&missing), "/missing: cannot be read: No such file or directory (os error 2)");
    let directory = workshop.path("");
    assert_eq!(text(&directory), "/: cannot be read: not a regular file");
    let plain = workshop.library("plain", "int a;", &[]);
    assert_eq!(
        text(&plain),
        format!(
            "/plain: not built by mcpsim cc: compile and link its sources with mcpsim cc or mcpsim cxx{}",
            super::super::error::RECORD
        )
    );
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
    let text = Image::open(&program, &Nothing, &[], 0).err().unwrap().to_string();
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
    let source = "int value; __asm__(\".text\\n.quad value\"); int go(int n) { return value + n; }";
    let text = workshop.failure(source, &["-Wl,-z,notext"]);
    assert!(text.contains("needs its code or constants changed when loaded (at 0x"), "{text}");
}

#[test]
fn libraries_that_ranks_cannot_have_for_their_own_are_named_with_the_way_out() {
    let Some(workshop) = Workshop::new() else { return };
    let library = "__thread int counter; int count(int n) { return counter += n; }";
    workshop.library("libfixed.so", library, &["-ftls-model=initial-exec"]);
    let source = "extern int count(int); int go(int n) { return count(n); }";
    let arguments = ["-L.", "-lfixed", "-Wl,-rpath,$ORIGIN"];
    assert_eq!(
        workshop.failure(source, &arguments),
        "/libfixed.so: each rank needs a copy of this library, which uses the static thread-local storage model for \
         counter; compile with -fPIC and without -ftls-model; or have all ranks share one copy of it: \
         --share-library libfixed"
    );
    // Libraries with relocations in code are rejected, because ranks could not share the relocated code.
    let library = "int value; __asm__(\".text\\n.quad value\"); int count(int n) { return value += n; }";
    workshop.library("libtext.so", library, &["-Wl,-z,notext"]);
    let text = workshop.failure(source, &["-L.", "-ltext", "-Wl,-rpath,$ORIGIN"]);
    let told = "/libtext.so: each rank needs a copy of this library, which needs its code or constants changed when loaded (at 0x";
    let way = "); compile with -fPIC; or have all ranks share one copy of it: --share-library libtext";
    assert!(text.starts_with(told) && text.ends_with(way), "{text}");
    let image = Image::open(&workshop.path("program"), &Nothing, &["libtext".to_owned()], 0).unwrap();
    let (one, two) = (fresh(&image), fresh(&image));
    assert_eq!((call(&one, "go", 1), call(&two, "go", 1)), (1, 2));
    // The same library can be loaded if all ranks share one copy.
    let program = workshop.program(source, &arguments);
    let image = Image::open(&program, &Nothing, &["libfixed".to_owned()], 0).unwrap();
    let (one, two) = (fresh(&image), fresh(&image));
    assert_eq!((call(&one, "go", 1), call(&two, "go", 1)), (1, 2));
    assert_eq!(image.shared(), [workshop.path("libfixed.so").canonicalize().unwrap().display().to_string()]);
}

#[test]
fn more_mappings_than_a_process_can_have_are_counted() {
    let Some(workshop) = Workshop::new() else { return };
    // Data segments above the copy limit are mapped from the file.
    let library = "int data[100000] = {1}, more[100000]; int count(int n) { return data[0] += n; }";
    workshop.library("libwide.so.3", library, &["-Wl,-soname,libwide.so.3"]);
    let arguments = ["-L.", "-l:libwide.so.3", "-Wl,-rpath,$ORIGIN"];
    let image = workshop.image("extern int count(int); int go(int n) { return count(n); }", &arguments);
    let limit: usize = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    assert!(image.check_room(1000).is_ok());
    let needed = limit * image.common.program.layout.mappings() + mappings_of_stacks(limit);
    let text = image.check_room(limit).unwrap_err().to_string();
    let expected = format!(
        "/program: its ranks and their libraries need {needed} mappings of memory, and a process can have {limit} \
         (vm.max_map_count); --share-library libwide has all ranks share one of them"
    );
    assert_eq!(text.replace(workshop.directory.path().to_str().unwrap(), ""), expected);
}
