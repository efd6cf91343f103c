//! Tests of thread-local variables. A rank keeps its variables on every host thread, and other threads have separate
//! variables.

use super::*;

const SOURCE: &str = "#include <pthread.h>
 __thread int counter = 7; static __thread char wide[100] __attribute__((aligned(256))); static __thread int *pointer; int other;
 static __thread int *linked = &other;
 int add(int n) { return counter += n; }
 int check(int n) { if ((unsigned long)wide % 256) return -1; if (!pointer) pointer = &counter; if (linked != &other) return -2;
   wide[n]++; return *pointer + wide[n]; }
 static void *body(void *argument) { return (void *)(long)(add(*(int *)argument) * 1000 + check(3)); }
 int thread(int n) { pthread_t id; void *result; pthread_create(&id, 0, body, &n); pthread_join(id, &result); return (long)result; }";

#[test]
fn a_rank_s_variables_follow_it_over_threads() {
    let Some(workshop) = Workshop::new() else { return };
    let image = workshop.image(SOURCE, &[]);
    let (one, two) = (fresh(&image), fresh(&image));
    set_main(Some(one.id()));
    assert_eq!(call(&one, "add", 1), 8);
    set_main(Some(two.id()));
    assert_eq!(call(&two, "add", 10), 17);
    assert_eq!(call(&two, "check", 0), 18);
    set_main(None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            set_main(Some(one.id()));
            assert_eq!(call(&one, "add", 1), 9);
            assert_eq!(call(&one, "check", 0), 10);
        });
    });
    assert_eq!(main_instance(), None);
}

#[test]
fn other_threads_have_variables_of_their_own() {
    let Some(workshop) = Workshop::new() else { return };
    let image = workshop.image(SOURCE, &[]);
    for _ in 0..3 {
        let instance = fresh(&image);
        set_main(Some(instance.id()));
        assert_eq!(call(&instance, "add", 1), 8);
        assert_eq!(call(&instance, "thread", 3), 10_011);
        assert_eq!(call(&instance, "thread", 4), 11_012);
        assert_eq!(call(&instance, "add", 1), 9);
        set_main(None);
        // The host thread no longer runs the rank, so the host thread has a separate block of the instance's
        // variables.
        assert_eq!(call(&instance, "add", 5), 12);
    }
}

#[test]
fn descriptors_give_the_same_variables() {
    let Some(workshop) = Workshop::new() else { return };
    // `mcpsim_tls_distance` preserves all registers, including vector registers whose values are used after the call.
    workshop.library(
        "libstore.so",
        "__thread int stored = 4; int get(int n) { return stored + n; }",
        &["-mtls-dialect=gnu2"],
    );
    let source = format!(
        "{SOURCE}\nextern __thread int stored; extern int get(int);
         int sum(int n) {{ double a = n, b = n * 2.0, c = n * 3.0; int i; for (i = 0; i < n; i++) {{ a += b * c; counter++; stored++; b += a; }}
         return (int)(a + b + c) + get(0); }}"
    );
    let arguments = ["-L.", "-lstore", "-Wl,-rpath,$ORIGIN", "-mtls-dialect=gnu2"];
    let image = workshop.image(&source, &arguments);
    let (one, two) = (fresh(&image), fresh(&image));
    set_main(Some(one.id()));
    assert_eq!((call(&one, "add", 1), call(&one, "check", 0)), (8, 9));
    assert_eq!(call(&one, "thread", 3), 10_011);
    assert_eq!(call(&one, "sum", 1), 24);
    set_main(Some(two.id()));
    assert_eq!((call(&two, "add", 10), call(&two, "check", 0)), (17, 18));
    assert_eq!(call(&two, "sum", 1), 24);
    set_main(None);
    assert_eq!(call(&one, "add", 5), 12);
}

#[test]
fn variables_are_shared_between_the_modules_of_an_instance() {
    let Some(workshop) = Workshop::new() else { return };
    workshop.library("libstore.so", "__thread int stored = 4; int get(int n) { return stored + n; }", &[]);
    let source = "extern __thread int stored; extern int get(int); int go(int n) { stored += n; return get(0); }";
    let image = workshop.image(source, &["-L.", "-lstore", "-Wl,-rpath,$ORIGIN"]);
    let (one, two) = (fresh(&image), fresh(&image));
    set_main(Some(one.id()));
    assert_eq!(call(&one, "go", 1), 5);
    set_main(Some(two.id()));
    assert_eq!(call(&two, "go", 2), 6);
    set_main(None);
}
