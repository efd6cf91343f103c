//! Tests of C++ programs: exceptions, static objects and thread-local objects.

use super::*;

const SOURCE: &str = r#"
#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static int ended;
struct Object { int value; Object(int v) : value(v) {} ~Object() { ended += value; } };
static Object global(5);
static std::map<std::string, std::vector<int>> table{{"a", {1, 2}}, {"b", {3}}};
thread_local Object local(20);
struct Failure : std::runtime_error { using std::runtime_error::runtime_error; };
static void fail(int n) { Object guard(1); if (n > 2) throw Failure("n is " + std::to_string(n)); }
extern "C" int go(int n) {
    try { fail(n); } catch (const std::exception &e) { return 100 + (int)std::string(e.what()).size() + ended; }
    return table["a"][1] + table.at("b")[0];
}
extern "C" int at(int n) { try { return table.at("c")[0]; } catch (const std::out_of_range &) { return n; } }
extern "C" int bump(int n) { static Object lazy(7); global.value += n; return global.value + lazy.value + local.value; }
extern "C" int once(int n) { std::once_flag flag; int calls = 0; for (int i = 0; i < n; i++) std::call_once(flag, [&] { calls++; }); return calls; }
extern "C" int thread(int n) { int seen = 0; std::thread([&] { local.value += n; seen = local.value; }).join(); return seen * 100 + ended; }
extern "C" int total(int n) { return ended + n; }
"#;

fn is_there() -> bool {
    Command::new("g++").arg("--version").output().is_ok()
}

fn check(workshop: &Workshop, arguments: &[&str]) {
    let path = workshop.run("g++", "program", &format!("{MARK}{SOURCE}"), arguments);
    let image = Image::open(&path, &Nothing, &[], 0).unwrap();
    let instances = [fresh(&image), fresh(&image), fresh(&image)];
    for instance in &instances {
        start(instance);
        assert_eq!(call(instance, "go", 1), 5);
        assert_eq!(call(instance, "go", 3), 100 + 6 + 2);
        assert_eq!(call(instance, "at", 9), 9);
        assert_eq!(call(instance, "bump", 1), 6 + 7 + 20);
        assert_eq!(call(instance, "once", 3), 1);
        assert_eq!(call(instance, "thread", 2), 2200 + 2 + 22);
    }
    set_main(Some(instances[1].id()));
    end(&instances[1]);
    assert_eq!(call(&instances[1], "total", 0), 24 + 20 + 7 + 6);
    assert_eq!(call(&instances[0], "total", 0), 24);
    drop(instances);
    let again = fresh(&image);
    start(&again);
    assert_eq!(call(&again, "go", 300), 100 + 8 + 1);
    set_main(None);
}

#[test]
fn exceptions_are_caught_and_objects_end_in_every_instance() {
    let Some(workshop) = Workshop::new().filter(|_| is_there()) else { return };
    check(&workshop, &[]);
    check(&workshop, &["-Wl,-Bsymbolic", "-g"]);
}

#[test]
fn the_runtime_library_may_be_linked_into_the_program() {
    let Some(workshop) = Workshop::new().filter(|_| is_there()) else { return };
    check(&workshop, &["-static-libstdc++", "-Wl,-Bsymbolic"]);
    check(&workshop, &["-static-libstdc++", "-static-libgcc", "-Wl,-Bsymbolic"]);
}
