//! Expected times of several jobs on one machine, computed by hand. A byte takes 1 ns at an adapter.

use std::path::Path;

use mcpsim::engine::{JobOutcome, Outcome};
use mcpsim::run::{Conduct, Given, RunRequest, silent};
use mcpsim::units::SimTime;

/// Eight nodes with four cores, two per switch. The uplink of a switch carries as much as one adapter.
const MACHINE: &str = r#"
name = "tree"
nct = [8, 1, 4]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[cmp]
memory_bandwidth = "1 GB/s"
[intra_cmp]
latency = "10 ns"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "100 ns"
bandwidth = "1 GB/s"
[inter_node]
contention = "fair"
latency = "1 us"
bandwidth = "1 GB/s"
[places.switch]
nodes = 2
uplink_bandwidth = "1 GB/s"
"#;

/// A crossbar of the same nodes, with noise.
const CROSSBAR: &str = r#"
name = "crossbar"
nct = [8, 1, 4]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[intra_cmp]
latency = "10 ns"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "100 ns"
bandwidth = "1 GB/s"
[inter_node]
contention = "fair"
latency = "1 us"
bandwidth = "1 GB/s"
[noise.system]
period = "100 us"
length = "5 us"
[noise.network]
delay = "200 ns"
distribution = "lognormal"
deviation = 0.5
"#;

/// Rank 0 sends `bytes` bytes to rank 1.
const SEND: &str = r#"
params = { bytes = 100e6 }
main = [
    { if = "rank == 0", then = [{ send = { to = 1, bytes = "bytes" } }], else = [{ recv = { from = 0 } }] },
]
"#;

/// An application with all kinds of waits, random times and timers.
const MIXED: &str = r#"
params = { n = 5 }
main = [{ repeat = "n", do = [
    { compute = { normal = { mean = "10 us", sd = "2 us" } } },
    { sendrecv = { to = "(rank + 1) % size", from = "(rank - 1) % size", bytes = 30000 } },
    { alltoall = { bytes = 5000 } },
    { time = "sum", do = [{ allreduce = { bytes = 8 } }] },
] }]
[timers]
sum = 1
[results]
show.sum = { value = "longest(sum)", unit = "s" }
"#;

/// Writes the machines and applications to `directory`.
fn write(directory: &Path) {
    for (name, text) in
        [("tree.toml", MACHINE), ("crossbar.toml", CROSSBAR), ("send.toml", SEND), ("mixed.toml", MIXED)]
    {
        std::fs::write(directory.join(name), text).unwrap();
    }
}

/// Runs `file` of a directory with the shared machines and applications.
fn run_in(directory: &Path, text: &str, given: Given) -> Outcome {
    let path = directory.join("file.toml");
    std::fs::write(&path, text).unwrap();
    RunRequest::new(&path).with(given).resolve().and_then(|run| run.run()).unwrap_or_else(|error| panic!("{error}"))
}

fn run(text: &str) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    let one = run_in(directory.path(), text, Given::default());
    for workers in [2, 3] {
        let given = Given { workers: Some(workers), ..Given::default() };
        let other = run_in(directory.path(), text, given);
        assert_eq!(
            (&one.jobs, one.predicted, &one.path),
            (&other.jobs, other.predicted, &other.path),
            "{workers} workers"
        );
    }
    one
}

fn jobs(platform: &str, jobs: &str) -> String {
    format!("run.platform = \"{platform}.toml\"\n{jobs}")
}

fn named<'a>(outcome: &'a Outcome, name: &str) -> &'a JobOutcome {
    outcome.jobs.iter().find(|job| job.name == name).unwrap()
}

/// Checks a time in ms. The shares of transfers change only at slots of some microseconds.
fn near(found: SimTime, expected_ms: f64) {
    let found = found.as_seconds() * 1000.0;
    assert!((found - expected_ms).abs() < 0.01, "{found} ms, expected {expected_ms} ms");
}

const TWO: &str = r#"
[jobs.a]
app = "send.toml"
ranks = 2
ranks_per_node = 1
hosts = [0, 2]
[jobs.b]
app = "send.toml"
ranks = 2
ranks_per_node = 1
hosts = "1,3"
set = { bytes = 50e6 }
"#;

#[test]
fn two_jobs_share_an_uplink() {
    let outcome = run(&jobs("tree", TWO));
    let (a, b) = (named(&outcome, "a"), named(&outcome, "b"));
    // Alone, a needs 100 ms and b 50 ms. Together each has half of the uplink, so b needs 100 ms. Then a has 50 MB left,
    // which need 50 ms.
    [(a, 150.0, 100.0), (b, 100.0, 50.0)].into_iter().for_each(|(job, with, alone)| {
        near(job.outcome.predicted, with + 0.001);
        near(job.alone.unwrap(), alone + 0.001);
        assert!((job.slowdown.unwrap() - with / alone).abs() < 0.001, "{:?}", job.slowdown);
        let delay = &job.delays[0];
        assert_eq!((delay.by == "a", job.delays.len()), (job.name == "b", 1));
        assert!((delay.delay_ps - 50_000_000_000).abs() < 10_000_000, "{delay:?}");
        assert_eq!(delay.parts[0].part, "inter_node.contention.uplink");
        let sum: i64 = delay.parts.iter().map(|part| part.ps).sum();
        assert_eq!(sum, delay.delay_ps, "the parts sum to the delay");
    });
    assert_eq!((a.nodes.as_str(), b.nodes.as_str(), a.first_rank, b.first_rank), ("0,2", "1,3", 0, 2));
    assert_eq!(
        (a.outcome.messages.bytes, b.outcome.messages.bytes, outcome.messages.bytes),
        (100_000_000, 50_000_000, 150_000_000)
    );
    assert_eq!(outcome.predicted, a.end);
    assert_eq!(outcome.path.total().as_ps(), outcome.predicted.as_ps());
    // Each job has one message, and each is simulated together with the other job and alone.
    assert_eq!((outcome.messages.count, outcome.host.all_messages), (2, 4));
}

#[test]
fn a_job_that_starts_later_shares_only_what_is_left() {
    let late = |start: &str| {
        let text = jobs("tree", &TWO.replace("[jobs.b]", &format!("[jobs.b]\nstart = \"{start}\"")));
        let outcome = run(&text);
        assert_eq!(outcome.path.total().as_ps(), outcome.predicted.as_ps());
        for rank in &outcome.per_rank {
            let parts = rank.parts;
            let sum = parts.compute + parts.send + parts.recv + parts.wait + parts.collective;
            assert_eq!(sum.as_ps(), rank.clock.as_ps(), "{rank:?}");
        }
        outcome
    };
    // After 50 ms a has 50 MB left and b starts its 50 MB: each takes 100 ms with half of the uplink.
    let outcome = late("50 ms");
    let (a, b) = (named(&outcome, "a"), named(&outcome, "b"));
    near(a.outcome.predicted, 150.001);
    near(b.outcome.predicted, 100.001);
    near(b.end, 150.001);
    assert_eq!(b.outcome.path.total().as_ps(), b.outcome.predicted.as_ps());
    assert_eq!(b.outcome.per_rank[1].clock, b.outcome.predicted);
    // After 101 ms a has ended.
    let outcome = late("101 ms");
    let (a, b) = (named(&outcome, "a"), named(&outcome, "b"));
    assert_eq!((a.slowdown, b.slowdown), (Some(1.0), Some(1.0)));
    assert_eq!((a.delays[0].delay_ps, b.delays[0].delay_ps, b.start), (0, 0, SimTime::from_ps(101_000_000_000)));
    near(outcome.predicted, 151.001);
}

#[test]
fn the_job_that_causes_a_delay_is_named() {
    let third = "[jobs.c]\napp = \"send.toml\"\nhosts = \"4,5\"\nranks_per_node = 1\n";
    let outcome = run(&jobs("tree", &format!("{TWO}{third}")));
    let of = |job: &str, by: &str| named(&outcome, job).delays.iter().find(|delay| delay.by == by).unwrap().delay_ps;
    assert_eq!([of("a", "c"), of("b", "c"), of("c", "a"), of("c", "b")], [0; 4]);
    assert!(of("a", "b") > 49_000_000_000 && of("b", "a") > 49_000_000_000);
}

#[test]
fn jobs_on_a_node_share_its_memory() {
    // A block moves 100 MB from memory, which takes 100 ms alone. Four ranks share 1 GB/s.
    let app = "main = [{ compute = { bytes = 100e6 } }]";
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    std::fs::write(directory.path().join("work.toml"), app).unwrap();
    let job = |name: &str, cores: &str| format!("[jobs.{name}]\napp = \"work.toml\"\nhosts = 0\ncores = \"{cores}\"\n");
    let text = jobs("tree", &[job("a", "0"), job("b", "1-3")].concat());
    let outcome = run_in(directory.path(), &text, Given::default());
    let times: Vec<f64> = outcome
        .jobs
        .iter()
        .flat_map(|job| [job.outcome.predicted, job.alone.unwrap()])
        .map(SimTime::as_seconds)
        .collect();
    assert_eq!(times, [0.4, 0.1, 0.4, 0.3]);
    assert_eq!(outcome.jobs[0].delays[0].parts[0].part, "compute");
    assert_eq!(outcome.jobs[1].nodes, "0");
}

#[test]
fn one_job_is_the_run_without_jobs() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    for platform in ["tree", "crossbar"] {
        let job = jobs(platform, "[jobs.mixed]\napp = \"mixed.toml\"\nranks = 32\n");
        let of_job = run_in(directory.path(), &job, Given::default());
        let alone = run_in(directory.path(), &format!("run.platform = \"{platform}.toml\"\n{MIXED}"), Given::default());
        let job = &of_job.jobs[0];
        assert_eq!((of_job.predicted, job.end), (alone.predicted, alone.predicted), "{platform}");
        assert_eq!((&of_job.path, &of_job.profile, &of_job.per_rank), (&alone.path, &alone.profile, &alone.per_rank));
        let mine = &job.outcome;
        assert_eq!((&mine.path, &mine.profile, &mine.per_rank), (&alone.path, &alone.profile, &alone.per_rank));
        assert_eq!((&mine.results, &mine.collectives), (&alone.results, &alone.collectives));
        assert_eq!(
            (mine.mean_parts, &mine.contention, &mine.what_if),
            (alone.mean_parts, &alone.contention, &alone.what_if)
        );
        assert_eq!(of_job.utilisation, alone.utilisation);
    }
}

#[test]
fn jobs_on_their_own_nodes_of_a_crossbar_do_not_delay_each_other() {
    let job = |name: &str, more: &str| format!("[jobs.{name}]\napp = \"mixed.toml\"\nranks = 8\n{more}\n");
    let text = [job("a", ""), job("b", "allocation = \"random\""), job("c", "start = \"30 us\"\nseed = 7")].concat();
    let outcome = run(&jobs("crossbar", &text));
    for job in &outcome.jobs {
        assert_eq!((Some(job.outcome.predicted), job.slowdown), (job.alone, Some(1.0)), "{}", job.name);
        assert!(job.delays.iter().all(|delay| delay.delay_ps == 0), "{:?}", job.delays);
    }
    let sum = |count: fn(&Outcome) -> u64| outcome.jobs.iter().map(|job| count(&job.outcome)).sum::<u64>();
    assert_eq!(sum(|of| of.messages.count), outcome.messages.count);
    assert_ne!(outcome.jobs[0].outcome.predicted, outcome.jobs[2].outcome.predicted, "another seed");
    let titles: Vec<&str> = outcome.results.iter().map(|result| result.name.as_str()).collect();
    assert_eq!(titles, ["a.time", "a.slowdown", "b.time", "b.slowdown", "c.time", "c.slowdown"]);
}

#[test]
fn a_recorded_job_is_the_described_job() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    write(here);
    let run = RunRequest::new(here.join("mixed.toml")).set("run.nct=4,1,4").unwrap().set("run.ranks=8").unwrap();
    let run = run.with(Given { platform: Some(here.join("tree.toml")), ..Given::default() }).resolve().unwrap();
    let (progress, processes) = (Default::default(), mcpsim::engine::Processes::one());
    let conduct = Conduct { progress: &progress, processes: &processes, recorded: true, console: &silent() };
    let trace = run.run_in(conduct).unwrap().unwrap().trace.unwrap();
    std::fs::write(here.join("mixed.trace"), trace).unwrap();
    let both = |first: &str| {
        let job = |name: &str, app: &str| {
            format!("[jobs.{name}]\napp = \"{app}\"\nranks = 8\nranks_per_node = 2\nallocation = \"spread switch\"\n")
        };
        run_in(here, &jobs("tree", &[job("a", first), job("b", "mixed.toml")].concat()), Given::default())
    };
    let (described, recorded) = (both("mixed.toml"), both("mixed.trace"));
    for (described, recorded) in described.jobs.iter().zip(&recorded.jobs) {
        assert_eq!((described.end, described.alone), (recorded.end, recorded.alone));
        assert_eq!(described.delays, recorded.delays);
        assert_eq!(described.outcome.path, recorded.outcome.path);
    }
    assert!(described.jobs[0].slowdown.unwrap() > 1.0);
}
