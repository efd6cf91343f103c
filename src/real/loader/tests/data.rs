//! Tests of instance data. Global variables are private to each instance, and addresses in global variables are
//! relocated.

use super::*;

#[test]
fn globals_and_statics_are_an_instance_s_own() {
    let Some(workshop) = Workshop::new() else { return };
    let image = workshop.image(
        "int global = 5; static int zero; int add(int n) { static int kept = 1; global += n; zero += n; return kept += n; }
         int total(int n) { return global * 10000 + zero * 100 + n; }",
        &[],
    );
    let (one, two) = (fresh(&image), fresh(&image));
    assert_eq!(call(&one, "add", 3), 4);
    assert_eq!(call(&one, "add", 2), 6);
    assert_eq!(call(&two, "add", 1), 2);
    assert_eq!(call(&one, "total", 7), 100507);
    assert_eq!(call(&two, "total", 7), 60107);
    assert_eq!(call(&fresh(&image), "total", 0), 50000);
}

#[test]
fn pointers_in_data_point_into_the_same_instance() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "static int value = 3; static int get(int n) { return value + n; } static int set(int n) { return value = n; }
         int (*table[])(int) = {get, set}; int *pointer = &value; int *beyond = &value + 5; const char *text[] = {\"a\", \"bc\"};
         int use(int n) { return table[1](n) + table[0](1) + *pointer + (int)(beyond - pointer) + text[1][1]; }
         int read(int n) { return table[0](n); }";
    for extra in [&[][..], &["-Wl,-z,pack-relative-relocs"], &["-Wl,-Bsymbolic"], &["-Wl,--hash-style=sysv"]] {
        let image = workshop.image(source, extra);
        let (one, two) = (fresh(&image), fresh(&image));
        assert_eq!(call(&one, "use", 10), 10 + 11 + 10 + 5 + i32::from(b'c'), "{extra:?}");
        assert_eq!(call(&two, "read", 0), 3);
        assert_eq!(call(&one, "read", 0), 10);
    }
}

#[test]
fn data_of_any_size_and_alignment_is_laid_out_right() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "int many[30000] = {1, 2, 3}; int zeros[100000]; __attribute__((aligned(65536))) int wide = 9;
         int *where = &many[29999];
         int check(int n) { int sum = 0; for (int i = 0; i < 100000; i++) sum += zeros[i]; for (int i = 0; i < 30000; i++) sum += many[i];
         sum += (unsigned long)&wide % 65536 + wide; *where += n; many[0] += n; zeros[99999] = n; return sum; }";
    for extra in [&[][..], &["-Wl,-z,noseparate-code"], &["-Wl,-z,max-page-size=0x200000"]] {
        let image = workshop.image(source, extra);
        let instances = [fresh(&image), fresh(&image), fresh(&image)];
        for instance in &instances {
            assert_eq!(call(instance, "check", 4), 15, "{extra:?}");
        }
        assert_eq!(call(&instances[0], "check", 0), 15 + 4 + 4 + 4);
    }
}

#[test]
fn untouched_zeros_cost_no_memory() {
    let Some(workshop) = Workshop::new() else { return };
    let image =
        workshop.image("char big[1 << 30]; int touch(int n) { big[1 << 29] = n; return big[(1 << 29) + 1] + n; }", &[]);
    let before = resident();
    let instances: Vec<Instance> = (0..64).map(|_| fresh(&image)).collect();
    for (index, instance) in instances.iter().enumerate() {
        assert_eq!(call(instance, "touch", index as i32), index as i32);
    }
    // The instances have 64 GiB of zeros, which must not use memory. The margin of 600 MiB allows for other tests
    // that allocate memory concurrently.
    assert!(resident() < before + (600 << 20), "{} {before}", resident());
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * status.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

#[test]
fn a_dropped_instance_is_unmapped() {
    let Some(workshop) = Workshop::new() else { return };
    let image = workshop.image("int global = 1; int get(int n) { return global + n; }", &[]);
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains(workshop.path("program").to_str().unwrap())
    };
    let instance = fresh(&image);
    let address = instance.symbol("global").unwrap();
    assert!(mapped());
    assert_eq!(instance.contains(address).map(|found| found.0), Some(0));
    assert_eq!(instance.contains(address + (1 << 40)), None);
    let text = instance.symbol("get").unwrap();
    let (module, offset) = instance.contains(text).unwrap();
    assert_eq!(image.describe(module, offset), "get+0x0");
    drop(instance);
    assert!(!mapped());
}

#[test]
fn an_address_is_described_by_function_file_and_line() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "int helper(int n);\n#line 120 \"sub/jacobi3d.c\"\nint exchange(int n) { return helper(n) + 1; }\nint helper(int n) { return n; }";
    let image = workshop.image(source, &["-g", "-O0"]);
    let instance = fresh(&image);
    let (module, offset) = instance.contains(instance.symbol("exchange").unwrap()).unwrap();
    assert_eq!(image.describe(module, offset + 4), "exchange at jacobi3d.c:120");
    assert_eq!(image.describe(module, 8), "program+0x8");
    assert_eq!(image.describe(7, 8), "0x8");
}
