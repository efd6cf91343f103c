//! Test that creates as many instances of a program as a large run has.

use super::*;

const RANKS: usize = 5000;

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter(|line| line.contains("/many")).count()
}

#[test]
fn thousands_of_instances_have_a_mapping_of_the_file_each() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "#include <stdio.h>\n#include <math.h>\nint rank, field[500]; const char *names[] = {\"a\", \"b\"};
         int set(int n) { rank = n; field[n % 500] = n; return n; } int get(int n) { return rank + field[(rank + n) % 500]; }
         int main(void) { printf(\"%f\\n\", cbrt(rank)); return 0; }";
    let path = workshop.run("cc", "many", &format!("{MARK}{source}"), &["-lm"]);
    let image = Image::open(&path, &Nothing, &[], 0).unwrap();
    let instances: Vec<Instance> = (0..RANKS).map(|_| fresh(&image)).collect();
    for (rank, instance) in instances.iter().enumerate() {
        call(instance, "set", rank as i32);
    }
    for (rank, instance) in instances.iter().enumerate() {
        assert_eq!(call(instance, "get", 0), 2 * rank as i32);
    }
    // Each rank has one mapping of the program file. The rank's second mapping contains the data and is anonymous.
    assert_eq!(mappings(), RANKS);
    drop(instances);
    assert_eq!(mappings(), 0);
}
