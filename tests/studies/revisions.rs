//! `mcpsim revisions` on a new repository with a commit that is 10 % slower, a commit that doubles the messages, a
//! commit that does not build, and a commit whose build never ends. Also tests errors, and that the repository does not
//! change.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, Ran, finish, mcpsim, run};
use serde_json::Value;
use tempfile::TempDir;

/// Returns an application of two ranks that compute with noise and send messages.
fn app(work: &str, messages: u32) -> String {
    format!(
        "name = \"app\"\nmain = [{{ repeat = 20, do = [\n  {{ compute = {{ normal = {{ mean = \"{work}\", sd = \"noise * {work}\" }} }} }},\n  \
         {{ repeat = {messages}, do = [{{ sendrecv = {{ to = \"1 - rank\", bytes = \"bytes\", from = \"1 - rank\" }} }}] }},\n] }}]\n\
         [params]\nnoise = 0.02\nbytes = \"64 B\"\n[run]\nnct = [2, 1, 1]\n"
    )
}

fn git(repo: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(repo).args(["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.args(arguments).output().expect("git");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Creates a repository with one commit for each application and build script. Returns the directory of the repository.
fn repository(commits: &[(&str, String, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let repo = directory.path().join("repo");
    fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "--quiet", "--initial-branch", "main"]);
    for (subject, app, build) in commits {
        fs::write(repo.join("app.toml"), app).unwrap();
        fs::write(repo.join("build.sh"), build).unwrap();
        git(&repo, &["add", "."]);
        git(&repo, &["commit", "--quiet", "--allow-empty", "-m", subject]);
    }
    directory
}

/// Runs `mcpsim revisions` in the directory `directory`.
fn revisions(directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = mcpsim(directory);
    command.env("MCPSIM_CACHE", directory.join("cache")).arg("revisions").args(arguments);
    finish(command.output().unwrap())
}

fn table(directory: &Path, out: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(directory.join(out).join("revisions.json")).unwrap()).unwrap()
}

/// Returns the contents of all files in a directory, without their times.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn story() -> TempDir {
    let fine = "exit 0\n";
    repository(&[
        ("First", app("1 ms", 2), fine),
        ("Comments", app("1 ms", 2) + "# nothing new\n", fine),
        ("Slower by a tenth", app("1.1 ms", 2), fine),
        ("Does not build", app("1.1 ms", 2), "echo 'app.c:3: error: no such thing' >&2\nexit 3\n"),
        ("Twice the messages", app("1.1 ms", 4), fine),
        ("Hangs", app("1.1 ms", 4), "sleep 1000\n"),
        ("Same again", app("1.1 ms", 4), fine),
    ])
}

const TEST: [&str; 8] = ["--repo", "repo", "--build", "sh build.sh", "--run", "app.toml", "--build-timeout", "2"];

#[test]
fn a_slower_commit_and_one_that_doubles_messages_are_found_and_the_repository_stays_as_it_is() {
    let directory = story();
    let here = directory.path();
    let repo = here.join("repo");
    // Uncommitted changes are reported. Uncommitted changes are not tested, and remain in the work tree.
    fs::write(repo.join("app.toml"), "changed").unwrap();
    let before = contents(&repo);
    let first = git(&repo, &["rev-list", "--max-parents=0", "HEAD"]);
    let range = format!("{}..main", first.trim());
    let ran = revisions(here, &[&TEST[..], &["--figures", "figures", &range]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("note: 1 file has uncommitted changes, which are not tested\n"), "{}", ran.stderr);
    assert_eq!(contents(&repo), before);

    let table = table(here, "revisions");
    let rows = table["revisions"].as_array().unwrap();
    let subjects: Vec<&str> = rows.iter().map(|row| row["commit"]["subject"].as_str().unwrap()).collect();
    let story =
        ["First", "Comments", "Slower by a tenth", "Does not build", "Twice the messages", "Hangs", "Same again"];
    assert_eq!(subjects, story);
    let verdict = |row: usize, what: &str| rows[row][what]["verdict"].as_str().unwrap_or("none");
    let times: Vec<&str> = (0..7).map(|row| verdict(row, "time_change")).collect();
    // Messages take a few microseconds of a millisecond. Four more messages change the time by more than half a
    // percent.
    assert_eq!(times[..4], ["none", "same", "more", "none"]);
    assert_eq!((times[5], times[6]), ("none", "same"));
    let percent = rows[2]["time_change"]["percent"].as_f64().unwrap();
    assert!((percent - 10.0).abs() < 1.0, "{percent}");
    assert!(rows[2]["time_change"]["p"].as_f64().unwrap() < 1e-3);
    let messages: Vec<&str> = (0..7).map(|row| verdict(row, "messages_change")).collect();
    assert_eq!(messages, ["none", "same", "same", "none", "more", "none", "same"]);
    assert_eq!(rows[4]["messages_change"]["percent"].as_f64(), Some(100.0));
    assert_eq!(rows[4]["messages_change"].get("p"), None);
    assert_eq!(rows[3]["error"], "the build ended with code 3: app.c:3: error: no such thing");
    assert_eq!(rows[5]["error"], "the build took more than 2 s and was ended (--build-timeout)");

    let slower =
        ran.stdout.lines().find(|line| line.contains("slower (p ")).unwrap_or_else(|| panic!("{}", ran.stdout));
    assert!(slower.ends_with(": Slower by a tenth"), "{slower}");
    let doubled = "100.00% more messages (exact: all runs of a revision are equal): Twice the messages";
    assert!(ran.stdout.replace("\n    ", " ").lines().any(|line| line.ends_with(doubled)), "{}", ran.stdout);
    assert!(
        ran.stdout.ends_with("in figures: revisions-time, revisions-messages, revisions-volume\n"),
        "{}",
        ran.stdout
    );
    let csv = fs::read_to_string(here.join("revisions/revisions.csv")).unwrap();
    assert_eq!(csv.lines().count(), 8);
    for name in ["time", "messages", "volume"] {
        let svg = fs::read_to_string(here.join(format!("figures/revisions-{name}.svg"))).unwrap();
        roxmltree::Document::parse(&svg).unwrap();
        assert!(here.join(format!("figures/revisions-{name}.png")).exists());
    }

    // Finished runs and builds are not repeated; only failed runs are.
    fs::remove_file(here.join("figures/revisions-time.svg")).unwrap();
    let again = revisions(here, &[&TEST[..], &[&range]].concat());
    let notes: Vec<&str> = again.stderr.lines().filter(|line| !line.contains("uncommitted changes")).collect();
    assert!(notes.len() == 2 && notes.iter().all(|line| line.contains(" is built: ")), "{notes:?}");
    assert_eq!(self::table(here, "revisions"), table);
}

#[test]
fn a_bisection_builds_what_it_needs_and_passes_over_what_does_not_build() {
    let directory = story();
    let here = directory.path();
    let first = git(&here.join("repo"), &["rev-list", "--max-parents=0", "HEAD"]);
    let range = format!("{}..main", first.trim());
    let ran = revisions(here, &[&TEST[..], &["--bisect", &range]].concat());
    let hash = git(&here.join("repo"), &["rev-parse", "main~4"]);
    let line = format!("  the first revision that differs from the oldest revision is {}", &hash[..10]);
    assert!(ran.stdout.lines().any(|found| found == line), "{line}\n{}", ran.stdout);
    assert!(table(here, "revisions")["revisions"].as_array().unwrap().len() < 7);
    let same = revisions(here, &[&TEST[..], &["--bisect", "--out", "same", first.trim(), "main~5"]].concat());
    let line = "  no change found: the oldest and the newest revision do not differ, or one failed";
    assert!(same.code == Some(0) && same.stdout.lines().any(|found| found == line), "{}", same.stdout);
}

#[test]
fn arguments_are_an_axis_and_a_file_may_state_the_test() {
    let main = "exit 0\n";
    let directory = repository(&[("First", app("1 ms", 2), main), ("Second", app("1 ms", 2), main)]);
    let here = directory.path();
    let file = "repo = \"repo\"\nrun = \"app.toml\"\nrevisions = [\"main~1\", \"main\"]\nrepeats = 2\n\
                set = [\"app.noise=0\"]\narguments = [\"--set app.bytes=64\", \"--set app.bytes=6400\"]\n";
    fs::write(here.join("test.toml"), file).unwrap();
    let ran = revisions(here, &["--file", "test.toml", "--out", "a"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let table = table(here, "a");
    let rows: Vec<(String, String)> = table["revisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["commit"]["subject"].to_string(), row["arguments"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1], ("\"First\"".to_owned(), "--set app.bytes=6400".to_owned()));
    assert!(ran.stdout.contains("  no revision changed a result beyond noise\n"), "{}", ran.stdout);
    let bytes = |row: usize| table["revisions"][row]["bytes"][0].as_f64().unwrap();
    assert_eq!(bytes(1), 100.0 * bytes(0));
}

/// Returns whether `done` becomes true within two minutes.
fn soon(mut done: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(120) {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    done()
}

/// Waits until the file exists or the process has ended. Kills the process after a time limit.
fn follow(child: &mut Child, file: Option<&Path>) {
    let there = |file: &Path| file.exists();
    if !soon(|| file.is_some_and(there) || child.try_wait().unwrap().is_some()) {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("neither {file:?} nor an end within two minutes");
    }
}

/// Returns whether the process exists and is not a zombie.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn a_signal_ends_the_build_or_run_too_and_the_same_command_goes_on() {
    // The build or the run of the second revision never ends, as the variable states.
    let hold = |what: &str| {
        format!(
            "if [ \"$HOLD\" = {what} ]; then echo $$ > \"$PLACE/new\" && mv \"$PLACE/new\" \"$PLACE/pid\"; exec sleep 300; fi\n"
        )
    };
    let program = |seconds: &str| format!("{}echo time: {seconds}\n", hold("run"));
    let directory = repository(&[
        ("First", program("0.5").replace("$HOLD", "no"), "exit 0\n"),
        ("Second", program("0.6"), hold("build").leak()),
    ]);
    let here = directory.path();
    let line = [
        "revisions",
        "--repo",
        "repo",
        "--real",
        "--build",
        "sh build.sh",
        "--run",
        "sh app.toml",
        "--time-after",
        "time:",
        "--repeats",
        "2",
        "main~1..main",
    ];
    let command = |held: &str| {
        let mut command = mcpsim(here);
        command.args(line).env("MCPSIM_CACHE", here.join("cache")).env("HOLD", held).env("PLACE", here);
        command
    };
    for (held, signal) in [("build", "-TERM"), ("run", "-INT")] {
        let mut child = command(held).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        follow(&mut child, Some(&here.join("pid")));
        let pid = fs::read_to_string(here.join("pid")).unwrap().trim().to_owned();
        assert!(is_alive(&pid), "{held}");
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        follow(&mut child, None);
        let ran = finish(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{}", ran.stderr);
        let last = "error: interrupted: the finished runs are in revisions; repeat the same command to continue\n";
        assert!(ran.stderr.ends_with(last), "{}", ran.stderr);
        assert!(soon(|| !is_alive(&pid)), "the {held} goes on");
        fs::remove_file(here.join("pid")).unwrap();
        let log = fs::read_to_string(here.join("revisions/runs.jsonl")).unwrap();
        assert_eq!(log.lines().count(), 2, "{log}");
        assert!(!here.join("revisions/revisions.json").exists());
    }
    // Finished builds and runs are not repeated.
    let ran = finish(command("no").output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let notes: Vec<&str> = ran.stderr.lines().map(|line| line.split_once(": ").unwrap().1).collect();
    assert!(notes.len() == 1 && notes[0].ends_with(": 2 runs"), "{notes:?}");
    let table = table(here, "revisions");
    assert_eq!(table["revisions"][0]["times_s"], serde_json::json!([0.5, 0.5]));
    assert_eq!(table["revisions"][1]["times_s"], serde_json::json!([0.6, 0.6]));
}

#[test]
fn real_runs_are_timed_or_tell_their_time() {
    let script = |seconds: &str| format!("echo warming up\necho time: {seconds} s\n");
    let directory = repository(&[
        ("First", String::new(), script("0.5").leak()),
        ("Second", String::new(), script("0.6").leak()),
        ("Third", String::new(), "echo no\n"),
    ]);
    let here = directory.path();
    let own = ["--repo", "repo", "--real", "--run", "sh build.sh", "--repeats", "2"];
    let ran = revisions(here, &[&own[..], &["--time-after", "time:", "main~2..main"]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let told = table(here, "revisions");
    assert_eq!(told["revisions"][1]["times_s"], serde_json::json!([0.6, 0.6]));
    assert_eq!(told["revisions"][1]["time_change"]["verdict"], "more");
    assert_eq!(told["revisions"][2]["error"], "the run printed no number of seconds after \"time:\"");
    let ran = revisions(here, &[&own[..], &["--out", "clock", "main~2..main"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let clock = table(here, "clock");
    assert!(clock["revisions"][0]["times_s"][0].as_f64().unwrap() > 0.0);
}

#[test]
fn who_leaves_the_group_does_not_keep_a_run_from_ending() {
    if !support::is_there("setsid") {
        return support::skipped("no setsid");
    }
    // The process that remains in the background keeps the output open, and would print another time.
    let program = "setsid sh -c 'touch there; sleep 30; echo time: 7' &\nwhile [ ! -e there ]; do sleep 0.1; done\necho time: 2\n";
    let directory = repository(&[("First", program.to_owned(), "exit 0\n")]);
    let line = "--repo repo --real --run-timeout 100 --repeats 1 --time-after time: main --run";
    let ran = revisions(directory.path(), &[&line.split(' ').collect::<Vec<_>>()[..], &["sh app.toml"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let table = table(directory.path(), "revisions");
    assert_eq!(table["revisions"][0]["times_s"], serde_json::json!([2.0]));
}

#[test]
fn what_is_wrong_is_told() {
    let directory = repository(&[("First", app("1 ms", 2), "exit 0\n"), ("Second", app("1 ms", 2), "exit 1\n")]);
    let here = directory.path();
    fs::create_dir(here.join("empty")).unwrap();
    fs::write(here.join("test.toml"), "reop = \"repo\"\n").unwrap();
    for (line, error) in [
        ("--repo nowhere --run app.toml main", "--repo nowhere: no such directory"),
        ("--repo empty --run app.toml main", "--repo empty: this is no git repository"),
        ("--repo repo --run app.toml v9", "--repo repo: no revision \"v9\" in it"),
        ("--repo repo --run app.toml main~7..main", "--repo repo: no revision \"main~7\" in it"),
        (
            "--repo repo --run app.toml main~1...main",
            "--repo repo: main~1...main: expected a range with two dots, main~1..main",
        ),
        ("--repo repo --run app.toml --all", "unexpected argument '--all' found"),
        (
            "--repo repo --run app.toml main..main~1",
            "--repo repo: main..main~1: expected the older revision first; the first revision is no ancestor of the \
             second",
        ),
        ("--repo repo --run app.toml", "expected revisions, such as v1.0 v1.1 or v1.0..main"),
        ("--repo repo main", "no --run option is given: expected --run CMD, such as --run './app 100'"),
        ("--repo repo --run app.toml --alpha 2 main", "--alpha 2: expected a probability between 0 and 1 such as 0.01"),
        ("--repo repo --run app.toml --least=-1 main", "--least -1: expected percent, such as 0.5"),
        ("--repo repo --run app.toml --build-timeout 0 main", "--build-timeout 0: expected seconds above zero"),
        ("--repo repo --run app.toml --bisect main", "--bisect: expected at least two revisions, such as v1.0..main"),
        ("--repo repo --run app.toml --platform x main", "--platform x: no such file; mcpsim list shows"),
        ("--repo repo --run app --real --nct 2,1,1 main", "--nct applies to simulated runs only, not with --real"),
        ("--file test.toml", "unknown field \"reop\" in reop of test.toml, did you mean \"repo\"?"),
    ] {
        let ran = revisions(here, &line.split(' ').collect::<Vec<_>>());
        assert!(ran.code == Some(2) && ran.stderr.starts_with(&format!("error: {error}")), "{line}\n{}", ran.stderr);
        assert!(!here.join("revisions").exists(), "{line}");
    }
    // An impossible time in the output is an error too.
    let ran =
        revisions(here, &["--repo", "repo", "--real", "--run", "echo time: 1e300 #", "--time-after", "time:", "main"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("  no revision has a result\n"), "{}", ran.stdout);
    let error = table(here, "revisions")["revisions"][0]["error"].as_str().unwrap().to_owned();
    assert_eq!(error, "the run printed 1e300 after \"time:\", expected seconds from 0 to 213 days");
    fs::remove_dir_all(here.join("revisions")).unwrap();
    // A missing or failing program yields a row with an error.
    let ran = revisions(here, &["--repo", "repo", "--run", "other.toml", "main"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let error = table(here, "revisions")["revisions"][0]["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("the run ended with code 2: error: other.toml: no such file"), "{error}");
    let ran = run(here, "revisions --repo repo --run app.toml --list main~1..main");
    let lines: Vec<&str> = ran.stdout.lines().map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(lines, ["First", "Second"]);
}

#[test]
fn a_gate_fails_if_the_newest_revision_exceeds_the_oldest_by_the_factor() {
    let directory = repository(&[("First", app("1 ms", 2), "exit 0\n"), ("Slower", app("1.1 ms", 2), "exit 0\n")]);
    let here = directory.path();
    let test = ["--repo", "repo", "--run", "app.toml", "--repeats", "1", "--set", "app.noise=0", "main~1", "main"];
    let gates = ["--gate", "predicted_time < 1.05", "--gate", "messages <= 1"];
    let files = ["--junit", "gate.xml", "--markdown", "gate.md"];
    let ran = revisions(here, &[&test[..], &gates, &files].concat());
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    // 20 iterations of 1 ms or 1.1 ms, and the same messages in both revisions.
    let table = table(here, "revisions");
    let ratio = table["gates"][0]["ratio"].as_f64().unwrap();
    let [old, new] = [0, 1].map(|row: usize| table["revisions"][row]["times_s"][0].as_f64().unwrap());
    assert!((new - old - 0.002).abs() < 1e-12, "{old} {new}");
    assert_eq!(ratio, new / old);
    assert_eq!([0, 1].map(|gate: usize| table["gates"][gate]["holds"].as_bool().unwrap()), [false, true]);
    assert!(ran.stdout.contains("  gate predicted_time < 1.05: does not hold, "), "{}", ran.stdout);
    assert!(ran.stdout.contains("  gate messages <= 1: holds, 80 to 80 (0.00%)\n"), "{}", ran.stdout);

    let xml = fs::read_to_string(here.join("gate.xml")).unwrap();
    let junit = roxmltree::Document::parse(&xml).unwrap();
    let suite = junit.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!(["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap()), ["2", "1", "0"]);
    let failed = junit.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert_eq!(failed.parent().unwrap().attribute("name"), Some("predicted_time < 1.05"));
    let page = fs::read_to_string(here.join("gate.md")).unwrap();
    assert!(page.contains("| `messages <= 1` | ") && page.contains("| **no** |"), "{page}");

    let ran = revisions(here, &[&test[..], &["--gate", "predicted_time < 1.2"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = revisions(here, &[&test[..], &["--gate", "time < 1.2"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("expected VALUE < FACTOR or VALUE <= FACTOR"), "{}", ran.stderr);
}
