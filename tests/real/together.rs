//! Tests of several runs in one process that use mcpsim as a library. Runs of described applications execute
//! concurrently. Runs of real programs execute one after another.

use mcpsim::run::{Outcome, RunRequest};

use crate::real;

#[test]
fn runs_of_all_kinds_in_one_process_give_what_they_give_alone() {
    let directory = real::directory();
    let program = directory.path().join("ring");
    real::compile(&real::file("workloads/c/ring.c"), "-O1", &program).unwrap();
    let request = |app: &std::path::Path, nct: &str| {
        let request = RunRequest::new(app).set(&format!("run.nct={nct}")).unwrap();
        request.set("run.compute=skip").unwrap()
    };
    let described = real::file("workloads/jacobi3d.toml");
    let requests = [
        request(&program, "2,1,2"),
        RunRequest::new(&described).set("run.nct=2,1,2").unwrap(),
        request(&program, "4,1,1"),
        RunRequest::new(&described).set("run.nct=4,1,1").unwrap(),
    ];
    let run = |request: &RunRequest| request.resolve().unwrap().run().unwrap();
    let alone: Vec<Outcome> = requests.iter().map(run).collect();
    let together: Vec<Outcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = requests.iter().map(|request| scope.spawn(|| run(request))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (alone, together) in alone.into_iter().zip(together) {
        assert_eq!(Outcome { host: alone.host.clone(), ..together }, alone);
    }
}

#[test]
fn reductions_by_nodes_take_as_long_on_any_number_of_workers() {
    let directory = real::directory();
    let program = directory.path().join("nodes");
    real::compile(&real::file("tests/real/nodes.c"), "-O1", &program).unwrap();
    let described = directory.path().join("nodes.toml");
    std::fs::write(&described, "main = [{ reduce = { bytes = 131072, root = 2 } }]\n").unwrap();
    let time = |app: &std::path::Path, workers: u32| {
        let settings = ["run.nct=2,1,3", "platform.collectives.library=openmpi-5.0"];
        let request = settings.into_iter().fold(RunRequest::new(app), |request, set| request.set(set).unwrap());
        let request = request.set(&format!("run.workers={workers}")).unwrap();
        let request = match app == program {
            true => request.set("run.compute=skip").unwrap(),
            false => request,
        };
        request.resolve().unwrap().run().unwrap().predicted
    };
    let of = |app: &std::path::Path| [1, 2, 3].map(|workers| time(app, workers));
    assert_eq!(of(&program), of(&described));
    assert_eq!(of(&program), [time(&program, 1); 3]);
}
