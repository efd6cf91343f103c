//! Tests of function calls: sources of symbols, indirect functions, initialisers and finalisers.

use super::*;

struct Doubler;

extern "C" fn twice(n: c_int) -> c_int {
    2 * n
}

impl Host for Doubler {
    fn function(&self, name: &str) -> Option<usize> {
        (name == "MPI_Twice").then_some(twice as *const () as usize)
    }

    fn owned_names(&self) -> &'static [&'static str] {
        &["stdout", "rank_state"]
    }
}

#[test]
fn the_host_gives_functions_and_each_rank_its_data() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "extern int MPI_Twice(int), rank_state; extern void *stdout; int (*pointer)(int) = MPI_Twice;
         int go(int n) { return pointer(n) + rank_state + *(int *)stdout; }
         int *state(int n) { return &rank_state + n; }";
    let image = Image::open(&workshop.program(source, &[]), &Doubler, &[], 0).unwrap();
    let values = [[100, 1], [200, 2]];
    for [first, second] in &values {
        let stream = second as *const i32;
        let data = |name: &str| match name {
            "rank_state" => Some(first as *const i32 as usize),
            "stdout" => Some(&raw const stream as usize),
            _ => None,
        };
        let instance = image.instance(&data).unwrap();
        assert_eq!(call(&instance, "go", 7), 14 + first + second);
    }
    let error = image.instance(&no_data).err().unwrap();
    assert!(error.to_string().contains("undefined: "), "{error}");
}

#[test]
fn system_functions_come_in_the_version_that_is_asked_for() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "#include <math.h>\n#include <string.h>\n
         __asm__(\".symver memcpy, memcpy@GLIBC_2.2.5\");
         int go(int n) { char a[8] = {0}, b[8] = {3}; memcpy(a, b, n); return (int)(1000 * cbrt(n)) + a[0]; }";
    let image = workshop.image(source, &["-lm", "-fno-builtin"]);
    assert_eq!(call(&fresh(&image), "go", 8), 2003);
}

#[test]
fn weak_symbols_may_be_missing_or_defined() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "extern int nowhere(int) __attribute__((weak)); extern int abs(int) __attribute__((weak));
         __attribute__((weak)) int replaced(int n) { return n + 1; }
         int go(int n) { return (nowhere ? 1000 : 0) + (abs ? abs(-n) : 500) + replaced(n); }";
    assert_eq!(call(&fresh(&workshop.image(source, &["-fno-builtin", "-Wl,--no-as-needed"])), "go", 4), 9);
}

#[test]
fn indirect_functions_are_resolved_in_each_instance() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "static int calls; static int plus(int n) { return n + 1; } static int minus(int n) { return n - 1; } int positive = 1;
         static void *pick(void) { calls++; return positive ? plus : minus; }
         int step(int) __attribute__((ifunc(\"pick\"))); static int hidden(int) __attribute__((ifunc(\"pick\")));
         int (*pointer)(int) = step; int go(int n) { return step(n) * 100 + pointer(n) * 10 + hidden(n); }
         int count(int n) { return calls + n; }";
    let image = workshop.image(source, &[]);
    for _ in 0..3 {
        let instance = fresh(&image);
        assert_eq!(call(&instance, "go", 4), 555);
        assert!((2..=4).contains(&call(&instance, "count", 0)));
        assert_eq!(call(&instance, "step", 6), 7);
    }
}

#[test]
fn initialisers_and_finalisers_run_in_order() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "#include <stdlib.h>\nextern void record(int);
         __attribute__((constructor(101))) static void first(int argc, char **argv, char **envp) {
            record(argc == 1 && argv[0][0] == 'p' && !envp[0] ? 1 : -1); }
         __attribute__((constructor)) static void second(void) { record(2); }
         __attribute__((destructor)) static void last_but_one(void) { record(5); }
         __attribute__((destructor(101))) static void last(void) { record(6); }
         static void sooner(void) { record(4); }
         static void soonest(void) { record(3); atexit(sooner); }
         int go(int n) { atexit(soonest); return n; }";
    let recorder = "static int log; void record(int n) { log = 10 * log + n; } int get(int n) { return log + n; }
         __attribute__((constructor)) static void begin(void) { record(9); }
         __attribute__((destructor)) static void finish(void) { record(8); }";
    workshop.library("librecord.so", recorder, &[]);
    let image = workshop.image(source, &["-L.", "-lrecord", "-Wl,-rpath,$ORIGIN"]);
    for _ in 0..2 {
        let instance = fresh(&image);
        start(&instance);
        assert_eq!(call(&instance, "get", 0), 912);
        call(&instance, "go", 0);
        end(&instance);
        assert_eq!(call(&instance, "get", 0), 91_234_568);
    }
}
