//! Tests of libraries that programs need: per-rank libraries and system libraries.

use super::*;

#[test]
fn a_private_library_has_globals_an_instance() {
    let Some(workshop) = Workshop::new() else { return };
    workshop.library("libbase.so", "int base = 1; int shift(int n) { return base += n; }", &[]);
    let middle = "extern int base, shift(int); int middle(int n) { return shift(n) * 100 + base; }";
    workshop.library("libmiddle.so", middle, &["-L.", "-lbase", "-Wl,-rpath,$ORIGIN"]);
    let source = "extern int middle(int), base, shift(int); int *pointer = &base; int go(int n) { middle(n); shift(1); return *pointer; }";
    let image = workshop.image(source, &["-L.", "-lmiddle", "-lbase", "-Wl,-rpath,${ORIGIN}"]);
    let (one, two) = (fresh(&image), fresh(&image));
    assert_eq!(call(&one, "go", 10), 12);
    assert_eq!(call(&one, "go", 10), 23);
    assert_eq!(call(&two, "go", 1), 3);
    // The library that two files need must be loaded once. A second copy would have a separate variable.
    let address = one.symbol("base").unwrap();
    let (module, _) = one.contains(address).unwrap();
    assert_eq!(image.module(module), Some(workshop.path("libbase.so").canonicalize().unwrap()));
    assert_eq!(image.module(3), None);
}

#[test]
fn the_program_s_definition_stands_in_unless_the_library_is_symbolic() {
    let Some(workshop) = Workshop::new() else { return };
    let library = "int choice(int n) { return n + 1; } int through(int n) { return choice(n); }";
    let source = "extern int through(int); int choice(int n) { return n + 100; } int go(int n) { return through(n); }";
    for (extra, expected) in [(&[][..], 105), (&["-Wl,-Bsymbolic"][..], 6)] {
        workshop.library("libchoice.so", library, extra);
        let image = workshop.image(source, &["-L.", "-lchoice", "-Wl,-rpath,$ORIGIN"]);
        assert_eq!(call(&fresh(&image), "go", 5), expected);
    }
}

#[test]
fn a_function_of_a_library_is_picked_by_its_resolver_and_has_state_an_instance() {
    let Some(workshop) = Workshop::new() else { return };
    let library = "static int state; static int one(int n) { return state += n; } static void *pick(void) { return one; } \
        int count(int) __attribute__((ifunc(\"pick\"))); int (*pointer)(int) = count;";
    workshop.library("libpick.so", library, &[]);
    let source = "extern int count(int), (*pointer)(int); int go(int n) { return count(n) * 100 + pointer(n); }";
    let image = workshop.image(source, &["-L.", "-lpick", "-Wl,-rpath,$ORIGIN"]);
    let (one, two) = (fresh(&image), fresh(&image));
    start(&one);
    start(&two);
    assert_eq!((call(&one, "go", 2), call(&one, "go", 1), call(&two, "go", 1)), (204, 506, 102));
}

#[test]
fn the_stub_is_never_loaded() {
    let Some(workshop) = Workshop::new() else { return };
    workshop.library(STUB, "int MPI_Nothing(int n) { return n; }", &[]);
    let link = format!("-l:{STUB}");
    let text = workshop.failure("int MPI_Nothing(int); int go(int n) { return MPI_Nothing(n); }", &["-L.", &link]);
    assert_eq!(
        text,
        "/program: undefined: MPI_Nothing; ranks as fibers lack functions beyond MPI-3.1: build the program with the compiler wrapper of Open MPI or MPICH and run it as built, with a process per rank: mpicc -o PROGRAM …, then mcpsim … ./PROGRAM"
    );
}

#[test]
fn libraries_of_networks_are_shared_where_only_libraries_need_them() {
    let Some(workshop) = Workshop::new() else { return };
    workshop.library("libcurl.so.4", "int curl; int fetch(int n) { return curl += n; }", &["-Wl,-soname,libcurl.so.4"]);
    let middle = "extern int fetch(int); int middle(int n) { return fetch(n); }";
    workshop.library("libmiddle.so", middle, &["-L.", "-l:libcurl.so.4", "-Wl,-rpath,$ORIGIN"]);
    let source = "extern int middle(int); int go(int n) { return middle(n); }";
    let image = workshop.image(source, &["-L.", "-lmiddle", "-Wl,-rpath,$ORIGIN"]);
    let (one, two) = (fresh(&image), fresh(&image));
    assert_eq!((call(&one, "go", 1), call(&two, "go", 1)), (1, 2));
    assert_eq!(image.shared(), [workshop.path("libcurl.so.4").canonicalize().unwrap().display().to_string()]);
    // A library that the program needs directly has one copy per rank, even if libraries of the program also need it.
    let source = "extern int middle(int), fetch(int); int go(int n) { return middle(n) + fetch(n); }";
    let image = workshop.image(source, &["-L.", "-lmiddle", "-l:libcurl.so.4", "-Wl,-rpath,$ORIGIN"]);
    let (one, two) = (fresh(&image), fresh(&image));
    assert_eq!((call(&one, "go", 1), call(&two, "go", 1)), (3, 3));
}
