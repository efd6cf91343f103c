//! Programs of a task runtime's code fragments: times computed by hand, properties of any program under any manager,
//! exact texts of errors, and `mcpsim tasks`.

use std::fmt::Write;
use std::path::Path;

use crate::support::{self, Ran};
use serde_json::Value;

/// A machine on which messages within a node take no time. Between nodes o_s = 1 us, L = 1 us, 1 GB/s and o_r = 2 us.
const MACHINE: &str = r#"
name = "hand"
nct = [1, 1, 4]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[intra_cmp]
latency = "0 ps"
bandwidth = "1000000 GB/s"
[inter_cmp]
latency = "0 ps"
bandwidth = "1000000 GB/s"
[inter_node]
latency = "1 us"
bandwidth = "1 GB/s"
send_overhead = "1 us"
recv_overhead = "2 us"
eager_threshold = "10 MB"
"#;

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Desk(tempfile::tempdir().unwrap());
        desk.write("hand.toml", MACHINE);
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn run(&self, line: &str) -> Ran {
        support::run(self.path(), line)
    }

    /// Returns the Outcome of the application text `app` with these options.
    fn outcome(&self, app: &str, options: &str) -> Value {
        self.write("app.toml", app);
        let ran = self.run(&format!("--quiet --json - --platform hand.toml {options} app.toml"));
        assert_eq!(ran.code, Some(0), "{}\n{app}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    fn error(&self, app: &str) -> String {
        self.write("app.toml", app);
        let ran = self.run("--quiet --platform hand.toml app.toml");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{app}");
        ran.stderr
    }
}

fn us(outcome: &Value) -> f64 {
    // Times are compared in nanoseconds, because even free messages take a picosecond.
    (outcome["predicted_ps"].as_u64().unwrap() as f64 / 1e3).round() / 1e3
}

/// Fragment a on process 0 runs for 20 us and creates 1000 bytes. Fragment b on process 1 needs them, and runs for 10
/// us.
const PAIR: &str = r#"
[tasks]
[tasks.data.x]
bytes = 1000
[tasks.fragments.a]
cost = "20 us"
out = ["x"]
at = 0
[tasks.fragments.b]
cost = "10 us"
in = ["x"]
at = 1
"#;

#[test]
fn data_travels_to_who_asked_for_it() {
    let desk = Desk::new();
    let outcome = desk.outcome(PAIR, "--nct 2,1,1");
    // Fragment a ends at 20. Its manager sends x: 1 us overhead, 1 us latency, 1 us for 1000 B, 2 us overhead, until
    // 25. b ends at 35. Process 1 reports its end to process 0 with 40 B in 1 + 1.04 + 2; the answer takes as long:
    // 43.08.
    assert_eq!(us(&outcome), 20.0 + 5.0 + 10.0 + 2.0 * 4.04);
    let path = &outcome["path"];
    assert_eq!(path["compute_ps"].as_u64().unwrap() + path["imbalance_ps"].as_u64().unwrap(), 30_000_000);
    let tasks = &outcome["tasks"];
    assert_eq!((&tasks["total"], &tasks["waited"]), (&2.into(), &1.into()));
    assert_eq!(tasks["distribs"], serde_json::json!([2]));
    // Fragment b has waited from the beginning until 25.
    assert_eq!(tasks["stages"][1]["sum_s"], 25e-6);
    // Within a node messages take no time.
    assert_eq!(us(&desk.outcome(PAIR, "--ranks 2")), 30.0);
}

#[test]
fn the_managers_own_work_takes_its_time() {
    let desk = Desk::new();
    let costs = "[tasks]\ndistribute = \"1 us\"\ndispatch = \"2 us\"\nfinish = \"4 us\"\nmessage = \"8 us\"";
    let app = PAIR.replace("[tasks]", costs);
    // Fragment a is distributed at 1, starts at 3 and ends at 23, which is processed until 27. Process 1 has requested
    // x long before. x costs 8 us on each process: 27 + 8, then 8 + 10 + 2 for b, and 4 for its end. The two final
    // messages take 16 us each.
    assert_eq!(us(&desk.outcome(&app, "--ranks 2")), 27.0 + 16.0 + 12.0 + 4.0 + 32.0);
    let main = "[tasks]\nunfolding = \"3 us\"\nbatch = 2\n[tasks.fragments.main]\nunfold = [\"f[0 to 4]\"]\n\
                [tasks.fragments.f]\nindex = { i = 5 }\ncost = \"1 us\"\n";
    // Unfolding is first: it creates two, two and one fragments in 15 us in total. Then five fragments take 1 us each.
    assert_eq!(us(&desk.outcome(main, "--ranks 1")), 20.0);
    // With two threads, one thread runs the first fragments while the other unfolds the next ones: 15 us, and 1 us for
    // the last fragment. With `late`, both fragments of a batch run before the next batch is unfolded: 7 + 7 + 4.
    let options = "--ranks 1 --set app.tasks.threads=2";
    assert_eq!(us(&desk.outcome(main, options)), 16.0);
    let late = format!("{options} --set app.tasks.unfold=late");
    assert_eq!(us(&desk.outcome(main, &late)), 18.0);
}

#[test]
fn a_structured_fragment_waits_for_its_turn_as_it_is_asked_to() {
    let desk = Desk::new();
    // Process 0 has its own fragments, and creates those of process 1.
    let app = r#"
[tasks]
unfolding = "1 us"
[tasks.fragments.main]
unfold = ["own[0 to 3]", "more"]
[tasks.fragments.own]
index = { i = 4 }
cost = "10 us"
[tasks.fragments.more]
unfold = ["other[0 to 3]"]
[tasks.fragments.other]
index = { i = 4 }
cost = "10 us"
at = 1
"#;
    let time = |unfold: &str| us(&desk.outcome(app, &format!("--ranks 2 --set app.tasks.unfold={unfold}")));
    // Fragment `main` takes 5 us. Its first fragment then gets the thread before `more` exists, until 15. With `early`,
    // the 4 us of `more` follow, and then process 1 works for 40 us.
    assert_eq!(time("early"), 5.0 + 10.0 + 4.0 + 40.0);
    // With `late` and `in-turn`, process 0 first works for 40 us, `more` takes 4 us, and then process 1 works for 40
    // us.
    assert_eq!(time("late"), 5.0 + 40.0 + 4.0 + 40.0);
    assert_eq!(time("in-turn"), 89.0);
}

#[test]
fn thieves_get_what_others_have_no_thread_for() {
    let desk = Desk::new();
    let app = "[tasks]\nmanager = \"stealing\"\n[tasks.fragments.f]\nindex = { i = 8 }\ncost = \"10 us\"\n";
    for options in ["", "--set app.tasks.take=half", "--set app.tasks.victim=ring"] {
        let outcome = desk.outcome(app, &format!("--ranks 4 {options}"));
        assert_eq!(us(&outcome), 20.0, "{options}");
        assert_eq!(outcome["unreceived"], 0);
    }
}

/// Returns a program of `n` fragments, each of which needs data of earlier fragments, the total time of the fragments,
/// and the longest chain of dependent fragments.
fn random_program(n: usize, seed: u64) -> (String, u64, u64) {
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut text = "[tasks]\n".to_owned();
    for i in 0..n {
        writeln!(text, "[tasks.data.d{i}]\nbytes = {}", random(5000)).unwrap();
    }
    let (mut work, mut ends) = (0, Vec::new());
    for i in 0..n {
        let cost = 1 + random(9) as u64;
        let inputs: Vec<usize> = (0..random(4).min(i)).map(|_| random(i)).collect();
        let start = inputs.iter().map(|&input| ends[input]).max().unwrap_or(0);
        let inputs: Vec<String> = inputs.iter().map(|input| format!("\"d{input}\"")).collect();
        let (inputs, place) = (inputs.join(", "), random(1000));
        writeln!(text, "[tasks.fragments.f{i}]\ncost = \"{cost} us\"\nin = [{inputs}]\nout = [\"d{i}\"]").unwrap();
        writeln!(text, "at = \"{place} % size\"").unwrap();
        work += cost;
        ends.push(start + cost);
    }
    (text, work, ends.into_iter().max().unwrap_or(0))
}

#[test]
fn with_free_messages_the_work_queue_keeps_brents_bound() {
    let desk = Desk::new();
    for seed in 0..2 {
        let (app, work, chain) = random_program(40, seed);
        for (ranks, threads) in [(1, 1), (2, 1), (4, 1), (2, 3)] {
            let options = format!("--ranks {ranks} --set app.tasks.threads={threads}");
            for manager in ["queue", "static", "stealing"] {
                let outcome = desk.outcome(&app, &format!("{options} --set app.tasks.manager={manager}"));
                let (time, p) = (us(&outcome), f64::from(ranks * threads));
                let (work, chain) = (work as f64, chain as f64);
                assert!(time >= work / p && time >= chain, "{manager} {options} seed {seed}: {time} {work} {chain}");
                // Bound of greedy scheduling: while a thread is idle, the longest chain of unfinished fragments becomes
                // shorter.
                let greedy = manager == "queue" || p == 1.0;
                assert!(!greedy || time <= work / p + chain, "{manager} {options} {seed}: {time} {work} {chain}");
            }
        }
    }
}

/// Asserts properties that every run of `count` fragments has.
fn holds(tasks: &Value, count: u64) {
    let distribs: u64 = tasks["distribs"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!((tasks["total"].as_u64(), distribs), (Some(count), count));
    let executed: u64 = tasks["processes"].as_array().unwrap().iter().map(|p| p["executed"].as_u64().unwrap()).sum();
    assert_eq!(executed, count);
    let step = tasks["series"]["step_ps"].as_u64().unwrap() as f64 / 1e12;
    for stage in 0..4 {
        let means = tasks["series"]["stages"][stage]["mean"].as_array().unwrap();
        let integral: f64 = means.iter().map(|mean| mean.as_f64().unwrap()).sum::<f64>() * step;
        let sum = tasks["stages"][stage]["sum_s"].as_f64().unwrap();
        // Means are written with six digits.
        assert!((integral - sum).abs() <= 200.0 * step * 1e-6 + sum * 1e-9, "stage {stage}: {integral} and {sum}");
    }
}

#[test]
fn every_fragment_runs_once_after_its_data_under_any_manager() {
    let desk = Desk::new();
    let on_one = |app: &str| app.replace("at = \"", "at = \"0 * ");
    for seed in 10..11 {
        let (app, ..) = random_program(60, seed);
        let mut edges = Vec::new();
        for (fragment, line) in app.lines().filter(|line| line.starts_with("in = ")).enumerate() {
            for data in line.split('"').skip(1).step_by(2) {
                edges.push((data[1..].parse::<usize>().unwrap(), fragment));
            }
        }
        let forms = [
            app.clone(),
            on_one(&app),
            app.lines().filter(|line| !line.starts_with("at")).fold(String::new(), |text, line| {
                if line.starts_with("in = ") { text + line + "\nat = \"dynamic\"\n" } else { text + line + "\n" }
            }),
        ];
        for (form, app) in forms.iter().enumerate() {
            for manager in ["static", "stealing", "queue"] {
                for more in ["threads=1", "progress=between", "take=half", "order=lifo", "threshold=1", "ahead=2"] {
                    let options = format!("--nct 3,1,2 --set app.tasks.manager={manager} --set app.tasks.{more}");
                    let outcome = desk.outcome(app, &format!("{options} --task-logs logs --workers 1"));
                    let what = format!("seed {seed} form {form} {options}");
                    assert_eq!(outcome["unreceived"], 0, "{what}");
                    holds(&outcome["tasks"], 60);
                    let spans = executed(&desk.path().join("logs"), 60);
                    for &(before, after) in &edges {
                        assert!(spans[before].1 <= spans[after].0, "{what}: f{after} before f{before}");
                    }
                }
            }
        }
    }
}

/// Returns the start and the end of each fragment in the logs. Asserts that each fragment is logged once.
fn executed(logs: &Path, count: usize) -> Vec<(u64, u64)> {
    let mut spans = vec![(None, None); count];
    for process in 0..6 {
        let text = std::fs::read_to_string(logs.join(format!("prof_{process:05}.json"))).unwrap();
        let log: Value = serde_json::from_str(&text).unwrap();
        for event in log["events"].as_array().unwrap() {
            let fragment: usize = event[1].as_str().unwrap()[1..].parse().unwrap();
            let slot = match event[2].as_str().unwrap() {
                "start" => &mut spans[fragment].0,
                "end" => &mut spans[fragment].1,
                _ => continue,
            };
            assert_eq!(slot.replace(event[0].as_u64().unwrap()), None, "f{fragment} twice");
        }
    }
    spans.into_iter().map(|(start, end)| (start.unwrap(), end.unwrap())).collect()
}

#[test]
fn results_and_logs_say_the_same() {
    let desk = Desk::new();
    let (app, ..) = random_program(50, 3);
    let app = app.replace("[tasks]\n", "[tasks]\nmanager = \"stealing\"\nmessage = \"1 us\"\ndispatch = \"2 us\"\n");
    desk.outcome(&app, "--nct 2,1,2 --task-logs logs");
    let ran = desk.run("--quiet --platform hand.toml --nct 2,1,2 --json run.json app.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let analysis = |source: &str| {
        let ran = desk.run(&format!("tasks {source} --json -"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let mut value: Value = serde_json::from_str(&ran.stdout).unwrap();
        // Which fragments a figure shows depends on the order of simultaneous events.
        value.as_object_mut().unwrap().remove("waiting");
        value
    };
    assert_eq!(analysis("run.json"), analysis("logs"));
    let ran = desk.run("tasks run.json logs --figures figures");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("Comparison of the runs\n"), "{}", ran.stdout);
    let end = "in figures: tasks-waiting, tasks-stages, tasks-waiting-processes,\n  tasks-ready-processes\n";
    assert!(ran.stdout.ends_with(end), "{}", ran.stdout);
    let one = desk.run("tasks logs/prof_00000.json");
    assert_eq!(one.stderr, "error: expected the logs of 4 processes; found 1, none of process 1\n");
    let mixed = desk.run("tasks run.json logs/prof_00000.json");
    let expected = "error: logs/prof_00000.json: logs and other files together: expected the directory of the logs, or only \
         logs\n";
    assert_eq!((mixed.code, mixed.stderr.as_str()), (Some(2), expected));
    desk.write("main.toml", "main = []");
    desk.run("--quiet --json main.json main.toml");
    assert_eq!(
        desk.run("tasks main.json").stderr,
        "error: main.json: the run has no fragments: expected a run of an application with a [tasks] table\n"
    );
    let none = desk.run("--quiet --task-logs none main.toml");
    assert_eq!(
        none.stderr,
        "error: --task-logs: main has no fragments: expected an application with a [tasks] \
                             table\n"
    );
}

const PLAIN: &str =
    "[tasks.data.u]\nindex = { i = 3 }\nbytes = 8\n[tasks.fragments.f]\nindex = { i = 3 }\ncost = \"1 us\"\n";

#[test]
fn what_is_wrong_with_fragments_is_said() {
    let desk = Desk::new();
    for (app, expected) in [
        (
            format!("{PLAIN}in = [\"u[i]\"]\n"),
            "f[0] needs u[0], which no fragment makes, in tasks.fragments.f of app.toml",
        ),
        (
            format!("{PLAIN}out = [\"u[i // 2]\"]\n"),
            "u[0] is made by f[0] and by f[1] in tasks.fragments.f.out[0] of app.toml:7",
        ),
        (
            format!("{PLAIN}out = [\"u[i + 1]\"]\n"),
            "f[2] names u[3], which is outside of the index of u, in tasks.fragments.f.out[0] of app.toml:7",
        ),
        (
            format!("{PLAIN}at = \"2 * i\"\n"),
            "expected a process from 0 to 3 in tasks.fragments.f.at of app.toml; found 4 for f[2]",
        ),
        (format!("{PLAIN}at = \"1 // i\"\n"), "f[0]: division by zero in tasks.fragments.f.at of app.toml"),
        (
            format!("{PLAIN}in = [\"v[i]\"]\n"),
            "unknown data \"v\", expected u in tasks.fragments.f.in[0] of app.toml:7",
        ),
        (format!("{PLAIN}in = [\"u\"]\n"), "expected 1 index; found 0 in tasks.fragments.f.in[0] of app.toml:7"),
        (
            format!("{PLAIN}in = [\"u[i\"]\n"),
            "\"u[i\" in tasks.fragments.f.in[0] of app.toml:7, character 4: expected \"]\", found the end",
        ),
        (
            format!("{PLAIN}[tasks.fragments.g]\nunfold = [\"f[0 to 1]\"]\n"),
            "no fragment creates f[2] in tasks.fragments.f of app.toml",
        ),
        (
            format!("{PLAIN}[tasks.fragments.g]\nindex = {{ i = 2 }}\nunfold = [\"f[0 to 2]\"]\n"),
            "f[0] is created by g[0] and by g[1] in tasks.fragments.g of app.toml",
        ),
        (
            format!("{PLAIN}[tasks.fragments.g]\nunfold = [\"f[0 to 3]\"]\n"),
            "g creates f[3], which is outside of the index of f, in tasks.fragments.g.unfold[0] of app.toml:8",
        ),
        (
            "[tasks.fragments.f]\nindex = { i = 10, j = \"10**9\" }\ncost = 0\n".to_owned(),
            "expected at most 268435455 members of all families in tasks.fragments.f of app.toml",
        ),
        (
            "[tasks.fragments.f]\ncost = \"rank\"\n".to_owned(),
            "\"rank\" in tasks.fragments.f.cost of app.toml, character 1: \"rank\" is not known where fragments are defined",
        ),
        (
            "[tasks.fragments.f]\ncost = \"-1\"\n".to_owned(),
            "f: tasks.fragments.f.cost = \"-1\": expected a time from 0 to 213 days; found -1 s in tasks.fragments.f.cost \
             of app.toml",
        ),
        (
            "[tasks]\nmanager = \"lazy\"\n[tasks.fragments.f]\ncost = 0\n".to_owned(),
            "expected \"static\", \"stealing\" or \"queue\" in tasks.manager of app.toml; found \"lazy\"",
        ),
        (
            "[tasks]\nthreads = 2\nprogress = \"between\"\n[tasks.fragments.f]\ncost = 0\n".to_owned(),
            "expected 1 thread where progress = \"between\" in tasks.threads of app.toml; found 2",
        ),
        (
            "[tasks.fragments.f]\nindex = { i = 2 }\n".to_owned(),
            "missing \"cost\" (its time), or \"unfold\" (the fragments it creates) in tasks.fragments.f of app.toml",
        ),
        ("main = []\n[tasks]\n".to_owned(), "\"main\" and \"tasks\" in app.toml, expected one of them"),
        ("[tasks]\n".to_owned(), "missing \"fragments\" (a table of families of fragments) in tasks of app.toml"),
    ] {
        assert_eq!(desk.error(&app), format!("error: {expected}\n"));
    }
    desk.write("app.toml", PLAIN);
    let ran = desk.run("--set app.tasks.mangaer=queue app.toml");
    assert_eq!(ran.code, Some(2));
    let expected =
        "error: --set app.tasks.mangaer=queue: app.toml has no key \"mangaer\" of tasks to set, expected manager, ";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
}

#[test]
fn fragments_that_wait_for_each_other_are_shown() {
    let desk = Desk::new();
    let app = r#"
[tasks.data.x]
bytes = 8
[tasks.data.y]
index = { i = 4 }
bytes = 8
[tasks.fragments.first]
cost = 0
in = ["y[3]"]
out = ["x"]
[tasks.fragments.step]
index = { i = 4 }
cost = 0
in = ["x if i == 0", "y[i - 1] if i > 0"]
out = ["y[i]"]
[tasks.fragments.last]
cost = 0
in = ["y[0 to 3]"]
[tasks.fragments.alone]
cost = 0
"#;
    assert_eq!(
        desk.error(app),
        "error: 6 of 7 fragments can never be executed in tasks of app.toml; these wait for each other:\n  \
         first waits for y[3] of step[3]\n  step[3] waits for y[2] of step[2]\n  step[2] waits for y[1] of step[1]\n  \
         step[1] waits for y[0] of step[0]\n  step[0] waits for x of first\nand these fragments wait for them:\n  \
         last waits for y[0] of step[0]\n"
    );
    let created = "[tasks.data.x]\nbytes = 8\n[tasks.fragments.main]\nunfold = [\"f\"]\nin = [\"x\"]\n\
                   [tasks.fragments.f]\ncost = 0\nout = [\"x\"]\n";
    assert_eq!(
        desk.error(created),
        "error: 2 of 2 fragments can never be executed in tasks of app.toml; these wait for each other:\n  \
         main waits for x of f\n  f is created by main\n"
    );
}

/// Two managers of a published case take 28.38 s and 21.48 s; fragments begin to wait until 12 s and until 5 s.
#[test]
fn a_manager_that_unfolds_early_is_faster_and_holds_more_fragments() {
    let desk = Desk::new();
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/studies/poisson-managers.toml");
    let swept = desk.run(&format!("sweep --quiet --out managers {}", study.display()));
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    let study = std::fs::read_to_string(desk.path().join("managers/study.json")).unwrap();
    let study: Value = serde_json::from_str(&study).unwrap();
    let [late, early] = [0, 1].map(|point| &study["points"][point]["outcome"]);
    let seconds = |value: &Value| value.as_f64().unwrap() / 1e12;
    let time = |outcome: &Value| seconds(&outcome["predicted_ps"]);
    let came = |outcome: &Value| seconds(&outcome["tasks"]["stages"][1]["came_last_ps"]);
    let most = |outcome: &Value| outcome["tasks"]["series"]["held"]["most"].as_u64().unwrap();
    for (outcome, last, measured) in [(late, 12.0, 28.38), (early, 5.0, 21.48)] {
        assert!((came(outcome) / last - 1.0).abs() < 0.01, "{}", came(outcome));
        assert!((time(outcome) / measured - 1.0).abs() < 0.02, "{}", time(outcome));
        // Process 0 creates all fragments on its only thread and is never idle, so the time is the sum of its work.
        let process = &outcome["tasks"]["processes"][0];
        let [useful, overhead] = ["useful_ps", "overhead_ps"].map(|key| seconds(&process[key]));
        assert!((time(outcome) - useful - overhead).abs() < 0.02, "{useful} + {overhead}");
        // Each fragment except main and those that fill the blocks is created, at the stated cost.
        let created = outcome["tasks"]["total"].as_f64().unwrap() - 1.0 - 216.0;
        let each = if outcome == late { 191e-6 } else { 83e-6 };
        assert!((overhead - created * each).abs() < 1e-9, "{overhead}");
    }
    assert!(most(early) > most(late), "{} {}", most(early), most(late));

    let told = desk.run("tasks managers --figures figures");
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    assert!(told.stdout.contains("unfold in-turn, batch 50, unfolding 191 us"), "{}", told.stdout);
    // The names of the managers are too long for the figure, but their times are shown.
    let figure = std::fs::read_to_string(desk.path().join("figures/tasks-stages.svg")).unwrap();
    let time = format!("…: {:.2} s<", time(late));
    assert!(figure.contains(&time), "{time}");
    desk.write("other.toml", "name = \"other\"\napp = \"main.toml\"\n[vary]\nplatform.nct = [\"1,1,1\"]\n");
    desk.write("main.toml", "main = []");
    desk.run("sweep --quiet other.toml");
    let expected = "error: other.study/study.json: nct 1,1,1: the run has no fragments: expected a run of an \
                    application with a [tasks] table\n";
    assert_eq!(desk.run("tasks other.study").stderr, expected);
    desk.write("cut.json", "{\"points\": 3}");
    let expected = "error: cut.json: not the results of a study: invalid type: integer `3`, expected a sequence";
    assert!(desk.run("tasks cut.json").stderr.starts_with(expected));
}
