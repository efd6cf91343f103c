//! The shipped described applications, in the forms and sizes that tests use.

/// A workload in one of its forms.
pub struct Case {
    pub workload: &'static str,
    /// Settings of the form; each word is the value of a `--set` option.
    pub form: &'static str,
    /// Settings that make the workload short enough for many runs.
    pub small: &'static str,
}

impl Case {
    /// Returns whether the workload is a program of a task runtime's code fragments. Such programs cannot be recorded,
    /// and the decisions of their managers depend on time.
    pub fn of_fragments(&self) -> bool {
        self.workload.ends_with("-tasks")
    }
}

const fn case(workload: &'static str, form: &'static str, small: &'static str) -> Case {
    Case { workload, form, small }
}

/// Every described workload.
pub const CASES: [Case; 31] = [
    case("allreduce", "", "app.iterations=1 app.most=65536"),
    case("alltoall", "", "app.iterations=2"),
    case("b_eff", "", "app.loops=1 app.lmax=8192 app.first_pattern=4 app.last_pattern=8"),
    case("b_eff", "app.method=sendrecv", "app.loops=1 app.lmax=8192 app.last_pattern=1"),
    case("b_eff", "app.method=all", "app.loops=1 app.lmax=8192 app.first_pattern=5 app.last_pattern=6"),
    case("barrier", "", "app.iterations=10"),
    case("halo3d", "", "app.iterations=3"),
    case("heat3d", "", "app.room_size=13 app.steps=5"),
    case("heat3d", "app.split=poles app.exchange=blocking", "app.room_size=13 app.steps=5"),
    case("heat3d", "app.split=slabs", "app.room_size=24 app.steps=5"),
    case("hpl", "", "app.n=200 app.nb=16 app.swap_threshold=20"),
    case(
        "hpl",
        "app.depth=1 app.broadcasting=two_ring_m app.swapping=binary_exchange app.pmap=column_major",
        "app.n=200 app.nb=16",
    ),
    case("hpl", "app.q=5 app.p=3 run.ranks=15", "app.n=130 app.nb=16 app.swap_threshold=20"),
    case("jacobi3d", "", "app.n=30 app.iterations=3"),
    case("ljj", "", "app.steps=20"),
    case(
        "ljj",
        "app.wait=left app.prepare=50us app.growth=0.1 app.signal=yes app.gather=yes app.slow=1 app.slowdown=1.5",
        "app.steps=20",
    ),
    case("lu-tasks", "", "app.n=4"),
    case("lu-tasks", "app.tasks.manager=stealing app.tasks.take=half", "app.n=4"),
    case("master-worker", "", "app.tasks=40"),
    case("master-worker", "app.task_bytes=100000", "app.tasks=40"),
    case("npb-is", "", "app.iterations=2"),
    case("npb-is", "app.class=W", "app.iterations=1"),
    case("pingpong", "", "app.iterations=20"),
    case("pingpong", "app.b=12 app.bytes=100000", "app.iterations=20"),
    case("poisson3d-tasks", "", "app.blocks=2 app.steps=3"),
    case("poisson3d-tasks", "app.tasks.manager=queue app.tasks.threads=2", "app.blocks=2 app.steps=3"),
    case("prime", "", ""),
    case("prime", "app.split=blocks", ""),
    case("ring", "", "app.rounds=3"),
    case("tree-tasks", "", "app.depth=4"),
    case("tree-tasks", "app.tasks.progress=between app.tasks.message=1us", "app.depth=4"),
];
