//! Tests of the shipped studies with fewer points, and of figures of each kind, drawn from exported runs and studies.

use std::fs;
use std::path::Path;

use crate::support::run;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs mcpsim in the root directory of the project. Asserts that the command `line` succeeds, and returns its output.
fn mcpsim(line: &str) -> String {
    let ran = run(root(), line);
    assert_eq!(ran.code, Some(0), "mcpsim {line}\n{}", ran.stderr);
    ran.stdout
}

/// Returns the words in the SVG figure at `path`. Asserts that a PNG file of the figure has twice the size.
fn words(path: &Path) -> Vec<String> {
    let svg = fs::read_to_string(path.with_extension("svg")).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if let Ok(png) = fs::read(path.with_extension("png")) {
        let size = |name: &str| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
        let pixels = |at: usize| f64::from(u32::from_be_bytes(png[at..at + 4].try_into().unwrap()));
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", path.display());
        assert_eq!([pixels(16), pixels(20)], [2.0 * size("width"), 2.0 * size("height")], "{}", path.display());
    }
    document
        .descendants()
        .filter_map(|node| node.text().filter(|_| node.has_tag_name("text")).map(str::to_owned))
        .collect()
}

/// Draws the figures of `source` and asserts that they contain the expected words.
fn drawn(source: &Path, formats: &str, expected: &[(&str, &[&str])]) {
    let directory = tempfile::tempdir().unwrap();
    let figures = directory.path().display();
    let said = mcpsim(&format!("report {} --figures {figures} --format {formats}", source.display()));
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    assert_eq!(said.replace("\n  ", " "), format!("in {figures}: {}\n", names.join(", ")));
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let files = expected.len() * formats.split(',').count();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), files);
    for (name, wanted) in expected {
        let found = words(&directory.path().join(name));
        for word in *wanted {
            assert!(found.iter().any(|found| found == word), "{word:?} of {name} in {found:?}");
        }
    }
}

/// Runs the study `name` of `configs/studies` with fewer points, draws it, and returns its points.
fn study(name: &str, small: &str, points: usize, expected: &[(&str, &[&str])]) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("study");
    mcpsim(&format!("sweep --quiet --out {} {small} configs/studies/{name}.toml", out.display()));
    drawn(&out, "svg", expected);
    let json: Value = serde_json::from_str(&fs::read_to_string(out.join("study.json")).unwrap()).unwrap();
    let found = json["points"].as_array().unwrap().clone();
    assert_eq!(found.len(), points);
    found
}

fn predicted(point: &Value) -> u64 {
    point["outcome"]["predicted_ps"].as_u64().unwrap()
}

#[test]
fn a_run_is_drawn_with_its_parts_ranks_sizes_and_pairs() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("run.json");
    mcpsim(&format!("--quiet --pairs --nct 4,2,2 --json {} workloads/jacobi3d.toml", json.display()));
    let title = "jacobi3d: 16 ranks on default (4, 2, 2)";
    drawn(
        &json,
        "svg,png",
        &[
            (
                "time-parts",
                &[title, "compute", "2.621 ms   90.0%", "collective", "time (ms)", "predicted time", "2.912 ms"],
            ),
            ("time-path", &[title, "compute", "inter-node latency", "inter-node bytes", "predicted time", "2.912 ms"]),
            ("time-ranks", &[title, "compute", "wait", "rank", "15", "time (ms)"]),
            (
                "messages-count",
                &[title, "1,200 messages by size and level", "intra-CMP  26.7%", "≤ 64 B", "size of a message"],
            ),
            ("messages-volume", &[title, "inter-node  60.0%", "≤ 16 KiB", "volume (MiB)"]),
            ("matrix-count", &[title, "messages between pairs of ranks; lines between nodes", "sender (rank)", "none"]),
            (
                "matrix-volume",
                &[
                    title,
                    "volume between pairs of ranks, shades by their logarithm; lines between nodes",
                    "receiver (rank)",
                ],
            ),
            ("messages-time", &[title, "inter-node  84.9%", "≤ 16 KiB", "time of all messages (ms)"]),
        ],
    );
}

#[test]
fn the_shapes_of_16_cores_are_compared() {
    let best = [
        "is-shapes: 15 points on clovertown-gige",
        "16,1,1",
        "1,1,16",
        "platform.nct: nodes, CMPs per node, cores per CMP",
    ];
    let points = study(
        "is-shapes",
        "--set app.iterations=1",
        15,
        &[("study-time", &best), ("study-parts", &["compute", "bytes", "contention"])],
    );
    // One adapter and one memory bus per rank are best, a machine without a network is second, and one adapter for
    // eight ranks is last.
    let time = |nct: &str| predicted(points.iter().find(|point| point["values"]["platform.nct"] == nct).unwrap());
    assert!(time("16,1,1") < time("1,2,8") && time("1,2,8") < time("2,2,4") && time("2,2,4") < time("2,1,8"));
}

#[test]
fn a_slower_network_is_never_faster() {
    let words = ["platform.inter_node.latency", "platform.inter_node.bandwidth:", "1 Gbit/s", "200 Gbit/s"];
    let small = "--set app.iterations=1 --set app.n=64";
    let points = study("jacobi-network", small, 45, &[("study-time", &words)]);
    // The rows of the table are in the order of latency, then of bandwidth.
    for (index, point) in points.iter().enumerate() {
        assert!(index % 5 == 4 || predicted(point) >= predicted(&points[index + 1]), "bandwidth at point {index}");
        assert!(index < 5 || predicted(point) >= predicted(&points[index - 5]), "latency at point {index}");
    }
}

#[test]
fn more_processes_pay_off_less_on_slow_networks() {
    let small = "--set app.scale=400000 --repeats 2 --vary run.ranks=1,4,16";
    let words = ["run.ranks", "predicted time; mean and range over seeds", "40 Gbit/s & 2 us", "10 Gbit/s & 200 us"];
    let scaling = ["study-speedup", "study-efficiency"].map(|name| (name, &["ranks", "16"][..]));
    let points = study("ljj-processes", small, 24, &[("study-time", &words), scaling[0], scaling[1]]);
    let time = |latency: &str, ranks: &str| {
        let wanted = |point: &&Value| {
            point["values"]["platform.inter_node.latency"] == latency && point["values"]["run.ranks"] == ranks
        };
        predicted(points.iter().find(wanted).unwrap()) as f64
    };
    let gain = |latency: &str| time(latency, "1") / time(latency, "16");
    assert!(gain("2 us") > gain("20 us") && gain("20 us") > gain("50 us") && gain("50 us") > gain("200 us"));
    // The time per step is T = Tv / n + t, with Tv = 910 us.
    assert!((gain("200 us") - 910.2 / (910.2 / 16.0 + 202.0)).abs() < 0.5, "{}", gain("200 us"));
}

/// Returns how much each point of a study deviates from the study's formula, in percent.
fn off(name: &str, typed: &str) -> Vec<f64> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("study");
    mcpsim(&format!("sweep --quiet --out {} {typed} configs/studies/{name}.toml", out.display()));
    let table = fs::read_to_string(out.join("fit.csv")).unwrap();
    table.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().parse::<f64>().unwrap().abs()).collect()
}

#[test]
fn the_cloud_study_is_within_a_thousandth_of_its_formula_and_near_it_with_scatter() {
    let exact = off("cloud-formula", "");
    assert!(exact.len() == 10 && exact.iter().all(|percent| *percent < 0.1), "{exact:?}");
    let scattered = off("cloud-formula", "--set app.sd=0.05 --set app.prepare_sd=0.05 --repeats 2");
    assert!(scattered.len() == 20 && scattered.iter().all(|percent| *percent < 2.5), "{scattered:?}");
    assert!(scattered.iter().sum::<f64>() > 3.0 * exact.iter().sum::<f64>(), "{scattered:?}");
}

#[test]
fn preparation_that_grows_has_a_best_number_of_processes_which_the_fit_finds() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("study");
    let said = mcpsim(&format!("sweep --out {} configs/studies/cloud-growth.toml", out.display()));
    assert!(said.contains("best   3.779 s  with run.ranks=7\n"), "{said}");
    let study: Value = serde_json::from_str(&fs::read_to_string(out.join("study.json")).unwrap()).unwrap();
    let unknown = |index: usize| &study["fit"]["unknowns"][index];
    let near = |index: usize, name: &str, value: f64| {
        let found = unknown(index)["value"].as_f64().unwrap();
        assert!(unknown(index)["name"] == name && (found / value - 1.0).abs() < 2e-3, "{study}");
        assert!(unknown(index)["standard_error"].as_f64().unwrap() < 1e-3 * value, "{study}");
    };
    near(0, "Tv", 910.234e-6);
    near(1, "t", 202.132e-6);
    near(2, "g", 0.1);
    drawn(
        &out,
        "svg",
        &[
            ("study-time", &["best: 3.779 s at 7"]),
            ("study-speedup", &["speed-up compared with 1 rank; dashed: ideal"]),
            ("study-efficiency", &["parallel efficiency (%)"]),
            ("study-parts", &["compute"]),
            ("fit", &["I = 8720; Tv*I/n + I*t*(n>1)*(1 + g*(n-2))", "n", "time (s)"]),
        ],
    );
}

#[test]
fn more_processes_pay_off_over_a_network_of_less_latency_whatever_its_rate() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("study");
    let small = "--repeats 1 --set app.scale=100000";
    let said = mcpsim(&format!("sweep {small} --out {} configs/studies/cloud-networks.toml", out.display()));
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let said = said.replace("\n      ", " ");
    let equal = |network: &str, ranks: &str| {
        let line = format!("    up to {ranks}  with {network} app.slow=0 app.slowdown=1.0");
        assert!(said.lines().any(|found| found == line), "{line}\n{said}");
    };
    let network = |rate: &str, latency: &str| {
        format!("platform.inter_node.bandwidth={rate} platform.inter_node.latency={latency}")
    };
    equal(&network("1 Gbit/s", "200 us"), "8 ranks");
    equal(&network("10 Gbit/s", "200 us"), "8 ranks");
    equal(&network("40 Gbit/s", "200 us"), "8 ranks");
    equal(&network("1 Gbit/s", "50 us"), "32 ranks");
    equal(&network("40 Gbit/s", "2 us"), "64 ranks, the most in this study");
    let csv = fs::read_to_string(out.join("summary.csv")).unwrap();
    assert_eq!(csv.lines().filter(|row| row.ends_with(",1")).count(), 1, "one is the best\n{csv}");
}

#[test]
fn the_measured_times_of_the_cloud_study_give_its_unknowns() {
    let table = "validation/jinr-ljj/measured.csv";
    let said =
        run(root(), "report --rows kind=measured --fit I=8720000;Tv*I/n+I*t*(n>1) validation/jinr-ljj/measured.csv");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for line in ["  Tv       9.1023e-4               -    910.2 us", "  t        2.0213e-4               -    202.1 us"]
    {
        assert!(said.stdout.lines().any(|found| found == line), "{line}\n{}", said.stdout);
    }
    for (line, error) in [
        (
            "--fit a+b*n+c*n**2",
            "formula \"a+b*n+c*n**2\": 3 unknowns (a, b, c) need at least 3 points; there are 2 points (names that are known: kind, n, processes)",
        ),
        (
            "--fit a+b+0*n",
            "formula \"a+b+0*n\": b cannot be separated from a by these points: other unknowns compensate for its \
             changes",
        ),
        (
            "--fit a+b*(n>4)",
            "formula \"a+b*(n>4)\": b has no effect: the formula gives the same times for all its values",
        ),
        ("--fit a+kind", "formula \"a+kind\": expected numbers of one kind in kind; found \"measured\""),
        ("--fit a+", "formula \"a+\": column 3: expected a number, a name or \"(\", found the end"),
        (
            "--fit a*n --time hour",
            "validation/jinr-ljj/measured.csv: no column \"hour\"; it has kind, processes, time_s",
        ),
        ("--fit a --rows processes", "--rows processes: expected COLUMN=CELL such as kind=measured"),
        ("--fit a --figures /proc/x", "--figures: nothing to draw: no column of the table is in the formula"),
    ] {
        let rows = if line.contains("--rows") { "" } else { "--rows kind=measured" };
        let ran = run(root(), &format!("report {rows} {line} {table}"));
        assert_eq!((ran.code, ran.stderr.trim_end()), (Some(2), format!("error: {error}").as_str()), "{line}");
    }
}

/// Returns the machine shapes in figure 11 of the MCPSim paper with one set of assumptions, the fastest shape first.
fn order<'a>(points: &'a [Value], name: &str) -> Vec<&'a str> {
    let mut own: Vec<&Value> = points.iter().filter(|point| point["values"]["platform.name"] == name).collect();
    own.sort_by_key(|point| predicted(point));
    own.iter().map(|point| point["values"]["platform.nct"].as_str().unwrap()).collect()
}

#[test]
fn the_papers_order_of_shapes_takes_three_assumptions_and_none_of_them_alone_gives_it() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("study");
    mcpsim(&format!(
        "sweep --quiet --out {} --set app.iterations=1 configs/studies/paper/fig11-is.toml",
        out.display()
    ));
    let json: Value = serde_json::from_str(&fs::read_to_string(out.join("study.json")).unwrap()).unwrap();
    let points = json["points"].as_array().unwrap();
    // Consider shapes with several cores per CMP: the first two are those of the paper with all assumptions together,
    // but with none of the other sets.
    let first_two = |name: &str| -> Vec<String> {
        let shapes = order(points, name).into_iter().filter(|shape| !shape.ends_with(",1"));
        shapes.take(2).map(str::to_owned).collect()
    };
    assert_eq!(first_two("all"), ["2,4,2", "4,2,2"]);
    assert_eq!(order(points, "all")[0], "2,4,2");
    // On the most plausible machine, one rank per node is fastest, a single node is second, and two nodes are slowest.
    let reasons = order(points, "reasons");
    assert_eq!((reasons[0], &reasons[11..]), ("16,1,1", &["2,2,4", "2,4,2", "2,8,1", "2,1,8"][..]));
    // With only the adapter assumption, two nodes are no longer last but in the middle; however, one node per pair of
    // ranks is first.
    assert_eq!(order(points, "adapter")[0], "8,2,1");
    assert_eq!(order(points, "sharing")[0], "16,1,1");
    for name in ["reasons", "adapter", "sharing", "memory", "no-adapter", "no-sharing", "no-memory"] {
        let mut two = first_two(name);
        two.sort();
        assert!(two != ["2,4,2", "4,2,2"] && order(points, name)[0] != "2,4,2", "{name}: {two:?}");
    }
    // Without shared memory bandwidth a single node is first. Without the adapter assumption two nodes are last, except
    // for full CMPs.
    assert!(order(points, "no-sharing")[0].starts_with("1,") && order(points, "no-adapter")[0].starts_with("1,"));
}

#[test]
fn hpls_messages_are_as_the_paper_says_under_both_mappings_of_the_grid() {
    for (mapping, between_nodes) in [("row_major", 0.97), ("column_major", 0.03)] {
        let directory = tempfile::tempdir().unwrap();
        let json = directory.path().join("run.json");
        let sets = format!("--set app.n=4096 --set app.nb=64 --set app.p=4 --set app.q=4 --set app.pmap={mapping}");
        let platform = "--platform configs/studies/paper/testbed.toml --nct 4,2,2 --intervals 256,4KiB,16KiB,256KiB";
        mcpsim(&format!("{platform} {sets} --quiet --json {} workloads/hpl.toml", json.display()));
        let run: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        let share = |interval: usize, what: &str| {
            let levels = ["intra_cmp", "inter_cmp", "inter_node"];
            let number = |level: &&str| run["profile"][interval][*level][what].as_f64().unwrap();
            levels.iter().map(number).sum::<f64>() / run["messages"][what].as_f64().unwrap()
        };
        // Most messages have 256 B to 4 KB, and most of the volume is in messages of 16 to 256 KB.
        assert!((0.80..0.92).contains(&share(1, "count")), "{}", share(1, "count"));
        assert!((0.50..0.65).contains(&share(3, "bytes")), "{}", share(3, "bytes"));
        let found = run["levels"]["inter_node"]["count"].as_f64().unwrap() / run["messages"]["count"].as_f64().unwrap();
        assert!((found - between_nodes).abs() < 0.02, "{mapping}: {found}");
    }
}

#[test]
fn prime_hardly_tells_two_levels_from_three_and_jacobi3d_does() {
    let apart = |name: &str| -> Vec<f64> {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("study");
        mcpsim(&format!("sweep --quiet --out {} configs/studies/paper/{name}.toml", out.display()));
        let json: Value = serde_json::from_str(&fs::read_to_string(out.join("study.json")).unwrap()).unwrap();
        let points = json["points"].as_array().unwrap();
        points.chunks(2).map(|pair| predicted(&pair[1]) as f64 / predicted(&pair[0]) as f64 - 1.0).collect()
    };
    let (prime, jacobi) = (apart("fig09-prime"), apart("fig10-jacobi3d"));
    assert!(prime.len() == 8 && prime.iter().all(|apart| apart.abs() < 0.002), "{prime:?}");
    assert!(jacobi[..4].iter().all(|apart| apart.abs() < 0.002), "{jacobi:?}");
    assert!(jacobi[4..].iter().all(|apart| *apart < -0.1), "{jacobi:?}");
}

#[test]
fn hpl_scales_until_messages_take_over() {
    let small = "--set app.n=512 --vary run.ranks=1..64:x4";
    let curves = ["app.nb:", "64", "256"];
    let expected = ["study-time", "study-speedup", "study-efficiency"].map(|name| (name, &curves[..]));
    let points = study("hpl-scaling", small, 12, &expected);
    let time = |nb: &str, ranks: &str| {
        let wanted = |point: &&Value| point["values"]["app.nb"] == nb && point["values"]["run.ranks"] == ranks;
        predicted(points.iter().find(wanted).unwrap())
    };
    assert!(time("64", "1") > time("64", "4"));
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("x.json"), "{}").unwrap();
    for (line, error) in [
        (
            "report x.json --figures f",
            "x.json: expected the --json output of a run, or study.json of a sweep; found no predicted_ps and no points",
        ),
        ("report no.json --figures f", "no.json: no such file"),
        (
            "report . --figures f",
            "./study.json: no such file: the sweep has not ended; repeat its command to continue it",
        ),
    ] {
        let ran = run(here, line);
        assert_eq!((ran.code, ran.stderr), (Some(2), format!("error: {error}\n")), "{line}");
        assert!(!here.join("f").exists());
    }
}
