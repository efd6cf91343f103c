//! Tests of OpenMP threads: the threads of a rank use the rank's data and have separate thread-local variables.

use super::*;

#[test]
fn threads_share_the_rank_s_globals_and_have_their_own_variables() {
    let Some(workshop) = Workshop::new() else { return };
    let source = "#include <omp.h>\n int base = 1; static int copied = 3; static __thread int mine = 5;\n#pragma omp threadprivate(copied)\n
         int go(int n) { int sum = 0; copied = n; mine = n;\n#pragma omp parallel num_threads(3) reduction(+:sum) copyin(copied)\n
         { mine += omp_get_thread_num(); sum += mine * 1000 + copied;\n#pragma omp for\n
           for (int i = 0; i < 100; i++) sum += base; }
         base++; return sum; }";
    let probe = workshop.path("probe.c");
    std::fs::write(&probe, "int a;").unwrap();
    let output = workshop.path("probe");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-fopenmp", "-o"]).arg(output).arg(probe).output().unwrap();
    if !built.status.success() {
        return;
    }
    let image = workshop.image(source, &["-fopenmp"]);
    for _ in 0..3 {
        let instance = fresh(&image);
        set_main(Some(instance.id()));
        assert_eq!(call(&instance, "go", 7), (7 + 6 + 7) * 1000 + 21 + 100);
        assert_eq!(call(&instance, "go", 7), (7 + 7 + 9) * 1000 + 21 + 200);
    }
    set_main(None);
}
