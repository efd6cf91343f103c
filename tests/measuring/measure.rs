//! `mcpsim measure` without MPI: compute kernels, comparison of machines, and error messages for invalid requests.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Ran, ended, holds_within_limit, interrupt, is_full, is_there, mcpsim, run, skipped};

/// Runs `mcpsim measure` with `line` in `directory`, without the environment variables of launchers.
fn measure(directory: &Path, line: &str) -> Ran {
    run(directory, &format!("measure {line}"))
}

#[test]
fn a_machine_compared_with_half_its_speed_is_scaled_by_two() {
    let directory = tempfile::tempdir().unwrap();
    let ran = measure(directory.path(), "--compute --force -o there.toml");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (
            Some(0),
            "the kernel times of there are written to \
         there.toml\n"
        ),
        "{}",
        ran.stderr
    );
    let text = fs::read_to_string(directory.path().join("there.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let seconds = table["seconds"].as_table().unwrap();
    assert_eq!(table["machine"].as_str(), Some("there"));
    assert!(seconds.len() == 6 && seconds.values().all(|seconds| seconds.as_float().unwrap() > 0.0), "{text}");
    let ran = measure(directory.path(), "--compute --force --against there.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let factor = ran.stdout.lines().find_map(|line| line.strip_prefix("scale_factor = ")).unwrap();
    assert!(factor.parse::<f64>().unwrap() > 0.0, "{}", ran.stdout);
}

#[test]
fn kernels_on_a_loaded_host_are_refused() {
    // More threads than processors compute, so the kernels must wait for a processor.
    let over = AtomicBool::new(false);
    let threads = 2 * std::thread::available_parallelism().map_or(2, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let directory = tempfile::tempdir().unwrap();
        let ran = measure(directory.path(), "--compute -o there.toml");
        over.store(true, Ordering::Relaxed);
        assert_eq!(ran.code, Some(5), "{}", ran.stderr);
        assert!(ran.stderr.contains("error: this measurement is unusable, so nothing is written"), "{}", ran.stderr);
        assert!(!directory.path().join("there.toml").exists());
    });
}

#[test]
fn an_interrupt_within_a_long_length_names_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = mcpsim(directory.path());
    let line = "measure --pairs --simulate default --nct 8,1,1 --end 500 --step 500 --repeats 4000000000 -o p";
    command.args(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    assert!(holds_within_limit(|| directory.path().join("p.partial").exists() || child.try_wait().unwrap().is_some()));
    interrupt(&mut child);
    let ran = ended(child);
    let told = "error: interrupted after 0 of 1 message lengths, whose results are in p.partial: repeat the same \
                command to continue\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(130), told));
}

#[test]
fn an_interrupted_measurement_of_pairs_goes_on_and_repeats_what_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let line = "--pairs --simulate default --nct 4,2,2 --end 60000 --step 500 --repeats 3 --jitter 0.1";
    let whole = measure(here, &format!("{line} -o whole"));
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    let mut command = mcpsim(here);
    command.arg("measure").args(line.split(' ')).args(["-o", "p"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let partial = here.join("p.partial");
    let record = 8 + 4 * 8 * 16 * 16;
    let has_begun = || fs::metadata(&partial).is_ok_and(|of| of.len() > 3 * record);
    assert!(holds_within_limit(|| has_begun() || child.try_wait().unwrap().is_some()));
    interrupt(&mut child);
    let ran = ended(child);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let told = "of 120 message lengths, whose results are in p.partial: repeat the same command to continue\n";
    assert!(ran.stderr.starts_with("error: interrupted after ") && ran.stderr.ends_with(told), "{}", ran.stderr);
    let mut bytes = fs::read(&partial).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&partial, bytes).unwrap();
    let ran = measure(here, &format!("{line} -o p"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("note: p.partial: 1 record is damaged"), "{}", ran.stderr);
    let [found, expected] = ["p", "whole"].map(|name| fs::read(here.join(format!("{name}_median.nc"))).unwrap());
    assert!(found == expected);
}

#[test]
fn what_cannot_be_measured_is_told_with_code_2() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("bad.toml"), "machine = \"m\"\n[seconds]\nstencil = -1.0\n").unwrap();
    fs::write(directory.path().join("other.toml"), "machine = \"m\"\n[seconds]\nfuture = 1.0\n").unwrap();
    for (line, said) in [
        ("--compute -o none/a.toml", "--output none/a.toml: no such directory: none"),
        ("--compute --against no.toml", "no.toml: no such file"),
        ("--compute --against bad.toml", "bad.toml: expected seconds above zero for kernel \"stencil\"; found -1"),
        (
            "--compute --against other.toml",
            "--against other.toml: expected kernel times that mcpsim measure \
          --compute of this version wrote; found none",
        ),
        ("--compute --program a", "the argument '--compute' cannot be used with '--program <PROGRAM>...'"),
        ("--program-ranks 4", "the following required arguments were not provided:\n  --program <PROGRAM>..."),
        ("--against bad.toml", "the following required arguments were not provided:\n  --compute"),
        ("--compute --samples a.csv", "the argument '--compute' cannot be used with '--samples <FILE.csv>'"),
        ("--time soon", "invalid value 'soon' for '--time <TIME>': expected a time such as \"1.2 us\""),
        ("--time 1us", "--time: expected 100 ms or more; found 1.000 us"),
        ("--max-size 12", "--max-size: expected 1 KiB to 1 GiB; found 12 B"),
        ("--max-size 1TiB", "--max-size: expected 1 KiB to 1 GiB; found 1024 GiB"),
        ("--name= --compute", "--name and --node: expected a name; found empty text"),
        ("--base default", "the following required arguments were not provided:\n  --import <LEVEL[:PROCESSES]=FILE>"),
        ("--import inter_node=no.txt", "no.txt: no such file"),
        ("--import inter_node", "--import inter_node: expected LEVEL=FILE or LEVEL:PROCESSES=FILE, such as "),
        ("--import inter_node=bad.toml --nct 2,1,1", "bad.toml: expected the output of osu_latency, osu_bw, "),
        ("--import inter_node=a --base none.toml", "none.toml: no such file"),
        ("--import inter_node=a --eager 4KiB", "--eager 4KiB: expected LEVEL=SIZE, such as inter_node=16KiB"),
        ("--import inter_node=a --eager node=4KiB", "--eager node=4KiB: expected a level: intra_cmp, inter_cmp, "),
        ("--import inter_node=a --eager inter_cmp=4", "a: no such file"),
        (
            "--import inter_node=a --eager inter_cmp=x",
            "--eager inter_cmp=x: expected a size such as \"64 KiB\" or 65536",
        ),
        ("--simulate default", "--simulate: expected one of --pairs, --collectives and --b-eff in the same command"),
        ("--collectives --simulate default --nct 1,1,1", "--collectives: expected two ranks or more; found 1"),
        (
            "--b-eff --simulate default --nct 1,1,2 --ranks 3",
            "--b-eff: 3 ranks on 2 cores: expected one core per rank; ",
        ),
        (
            "--pairs -o p --simulate default --nct 1,1,2 --ranks 3 --end 9 --step 9",
            "--pairs: 3 ranks on 2 cores: expected one core per rank; ",
        ),
        (
            "--pairs -o p --simulate default --nct 1,1,4 --test noise --noise-ranks 3",
            "--pairs: --noise-ranks: expected at most 2, which is 4 ranks without the two of a pair; found 3",
        ),
        (
            "--pairs -o p --simulate default --nct 1,1,4 --noise-ranks 2",
            "--pairs: --noise-ranks 2: expected with --test noise or noise_blocking, in which other ranks send; found \
             --test one_to_one",
        ),
        ("--b-eff --simulate none.toml", "none.toml: no such file"),
        ("--b-eff --collectives", "the argument '--b-eff' cannot be used with '--collectives'"),
        ("--collectives", "mcpsim measure needs "),
        ("more", "unexpected argument 'more' found"),
        ("-o here.toml", "mcpsim measure needs "),
    ] {
        let ran = measure(directory.path(), line);
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.stdout);
        assert!(ran.stderr.starts_with(&format!("error: {said}")), "{line}: {}", ran.stderr);
    }
    assert!(!directory.path().join("here.toml").exists());
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_says_how_to_build_one_with() {
    let ran = measure(Path::new("."), "");
    assert!(ran.stderr.contains("cargo build --release --features mpi"), "{}", ran.stderr);
}

#[test]
fn output_of_benchmarks_becomes_the_platform_of_its_case() {
    let case = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("validation").join(name);
    let directory = case("alaska-pairs-ib");
    let all = ["osu_latency", "osu_bw", "osu_bibw", "osu_mbw_mr", "imb_biband"];
    let imported = |names: &[&str]| -> String {
        let files: String = names.iter().map(|name| format!("--import inter_node=import/{name}.txt ")).collect();
        files + "--import inter_node:4,8,16,32=import/mbw_mr.csv "
    };
    let made = |directory: &Path, names: &[&str]| {
        let ran = measure(directory, &format!("{}--base default --nct 2,2,16 --windows few --name m", imported(names)));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let files = imported(&all);
    // Values that no benchmark file contains are copied from another machine. The printed table shows which values have
    // data.
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("made.toml");
    let told = measure(&directory, &format!("{files}--base default --nct 2,2,16 -o {}", out.display()));
    let rows: Vec<String> =
        told.stdout.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for row in
        ["intra_cmp all assumed values of configs/default.toml", "inter_node latency, bandwidth data half round trips"]
    {
        assert!(rows.iter().any(|found| found == row), "{row} in {}", told.stdout);
    }
    assert!(rows.iter().any(|row| row.starts_with("capacity data windows one way")), "{}", told.stdout);
    // With windows of all sizes, more values have data.
    assert!(rows.iter().any(|row| row == "gap data messages per second of 32 pairs up"), "{}", told.stdout);
    assert!(told.stdout.lines().all(|line| line.chars().count() <= 80), "{}", told.stdout);
    // Without --name, the name of the machine is that of its file.
    assert!(told.stdout.starts_with("made: (2, 2, 16)\n"), "{}", told.stdout);
    assert!(fs::read_to_string(&out).unwrap().contains("\nname = \"made\"\n"));
    let network = |text: &str| text.split_once("\n\n# import/osu_latency").unwrap().1.to_owned();
    let shipped = |directory: &Path| fs::read_to_string(directory.join("platform.toml")).unwrap();
    let roce = case("alaska-pairs-roce");
    assert_eq!(network(&made(&roce, &all[..4])), network(&shipped(&roce)));
    // In the other file, the sender's cost per byte was added to the intervals by hand.
    let by_hand = |line: &&str| ["# send_bandwidth", "#   ", "    {"].iter().any(|start| line.starts_with(start));
    let rest = |text: &str| -> Vec<String> {
        network(text).lines().filter(|line| !by_hand(line)).map(str::to_owned).collect()
    };
    let (here, there) = (made(&directory, &all), shipped(&directory));
    assert_eq!(rest(&here), rest(&there));
    let posting = |text: &str| text.lines().find(|line| line.starts_with("post_overhead")).map(str::to_owned);
    assert!(posting(&here).is_some());
    assert_eq!(posting(&here), posting(&there));
}

#[test]
fn what_ranks_do_together_on_a_simulated_machine_is_told_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let simulated = "--simulate default --nct 2,1,2 --max-size 4KiB";
    let ran = measure(directory.path(), &format!("--collectives {simulated} -o all.csv"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("Xu and Hwang") && ran.stdout.contains("alltoall"), "{}", ran.stdout);
    let csv = fs::read_to_string(directory.path().join("all.csv")).unwrap();
    assert!(csv.starts_with("collective,ranks,bytes,measured_s,simulated_s\nbarrier,2,0,,"), "{csv}");
    let ran = measure(directory.path(), &format!("--b-eff {simulated} -o b_eff.csv"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("effective bandwidth of 4 ranks, L_max = 4 KiB\n"), "{}", ran.stdout);
    let csv = fs::read_to_string(directory.path().join("b_eff.csv")).unwrap();
    assert!(csv.starts_with("figure,measured,simulated,unit\nb_eff,,"), "{csv}");
}

#[test]
fn models_of_a_platform_and_of_samples_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let ran = run(here, "models default --nct 2,2,2 --csv a.csv --figures drawn --format svg");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for text in ["P = 8 processors", "Hockney: ", "LogP: ", "LogGP: ", "LogP from simple tests", "models-inter_node"] {
        assert!(ran.stdout.contains(text), "{text} in {}", ran.stdout);
    }
    assert!(here.join("drawn/models-intra_cmp.svg").is_file());
    let csv = fs::read_to_string(here.join("a.csv")).unwrap();
    assert!(csv.starts_with("level,model,parameter,value,unit\nintra_cmp,hockney,t0,"), "{csv}");
    let rows = "level,test,bytes,load,messages,sample,seconds\n\
        inter_node,ping_pong,8,1,2,1,2e-6\ninter_node,ping_pong,1008,1,2,1,3e-6\n";
    fs::write(here.join("s.csv"), rows).unwrap();
    let ran = run(here, "models s.csv");
    assert!(ran.stdout.contains("1.992 us") && ran.stdout.contains("no overheads were measured"), "{}", ran.stdout);
    for (line, said) in [
        ("a.csv", "a.csv:1: expected the columns level,test,bytes,load,messages,sample,seconds; found level,model,"),
        ("none.toml", "none.toml: no such file"),
        ("none.csv", "none.csv: no such file"),
        (
            "s.csv --nct 2,1,1",
            "--nct and --set: expected a platform to simulate; found measured samples, which have \
          a fixed machine",
        ),
        ("default --nct 1,1,1", "default: expected two cores; found none"),
        ("default --set app.n=1", "--set app.n: expected a platform key, which begins with \"platform.\""),
    ] {
        let ran = run(here, &format!("models {line}"));
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.stdout);
        assert!(ran.stderr.starts_with(&format!("error: {said}")), "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_program_that_times_its_pairs_finds_what_pairs_of_a_simulated_machine_take() {
    if !is_there("cc") {
        skipped("there is no compiler (cc)");
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = directory.path();
    let source = format!("{}/tests/real/pairs.c", env!("CARGO_MANIFEST_DIR"));
    let ran = run(here, &format!("cc -O1 -o pairs {source}"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = run(here, "--nct 2,2,2 --compute skip --quiet pairs");
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    for test in ["one_to_one", "send_recv_and_recv_send", "put", "get", "bcast"] {
        let options = format!("--nct 2,2,2 --begin 2000 --end 2001 --step 1 --repeats 3 --test {test} -o p");
        let ran = measure(here, &format!("--quiet --pairs --simulate default {options}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let rows: Vec<Vec<&str>> = told.stdout.lines().map(|line| line.split(' ').collect()).collect();
        let of_test: Vec<_> = rows.iter().filter(|row| row[0] == test).collect();
        assert_eq!(of_test.len(), 8 * 7, "{}", told.stdout);
        let mut far = Vec::new();
        // One pair of ranks per level, in both directions.
        for pair in [["0", "1"], ["1", "0"], ["2", "0"], ["1", "3"], ["7", "1"], ["0", "4"]] {
            let row = of_test.iter().find(|row| row[1..3] == pair).unwrap();
            let ran = run(here, &format!("cluster p_median.nc --at {},2000", pair.join(",")));
            let simulated: f64 = ran.stdout.trim().parse().unwrap();
            // Reading the clock takes 20 ns in the C program. Headers of one-sided messages may differ by a byte.
            let off = row[3].parse::<f64>().unwrap() - 20e-9 - simulated;
            // Ranks that read the clock begin a broadcast later by the time of reading, one rank after another.
            let most = if test == "bcast" { 60e-9 } else { 0.5e-9 };
            assert!(off.abs() < most, "{test} {pair:?}: {off:e} s, of {simulated:e}");
            far.push(off.abs() / simulated);
        }
        assert!(far.iter().sum::<f64>() < 0.03 * far.len() as f64, "{test}: {far:?}");
    }
}

#[test]
fn pairs_are_in_their_class_with_noise_on_each_of_a_hundred_repeats() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let end = if is_full("pairs with noise at 18 lengths; here at one") { 10_000 } else { 1_001 };
    let lengths = format!("--begin 1000 --end {end} --step 500 --repeats 100");
    for (jitter, least) in [(0.05, 98.0), (0.2, 90.0)] {
        let options = format!("--pairs --simulate default --nct 16,2,4 {lengths} --jitter {jitter} -o p");
        let ran = measure(here, &options);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ran = run(here, "cluster p_median.nc --truth default --nct 16,2,4");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let told: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("against the platform")).collect();
        assert!(!told.is_empty() && ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
        for line in told {
            let share = line.split([',', '%']).nth(1).and_then(|share| share.trim().parse::<f64>().ok());
            assert!(share.is_some_and(|share| share >= least), "{jitter}: {line}");
        }
    }
}

#[test]
fn an_inferred_machine_shares_adapters_with_classes_of_pairs_and_without_and_runs_on_two_workers() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let true_machine = format!("{}/configs/clovertown-gige.toml", env!("CARGO_MANIFEST_DIR"));
    let lengths = "--begin 1000 --end 10000 --step 500 --repeats 3";
    let ran = measure(here, &format!("--quiet --pairs --simulate {true_machine} --nct 2,2,4 {lengths} -o p"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for line in ["cluster p_median.nc --platform levels.toml", "cluster p_median.nc --platform classes.toml --pairs"] {
        let ran = run(here, line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
    }
    // 16 MB from one node to the other take 136 ms on gigabit Ethernet, for any cost of single messages.
    let many = "name = \"many\"\nmain = [{ if = \"rank < 8\",
        then = [{ repeat = 20, do = [{ isend = { to = \"rank + 8\", bytes = 100000 } }] }, \"waitall\"],
        else = [{ repeat = 20, do = [{ irecv = { from = \"rank - 8\" } }] }, \"waitall\"] }]\n";
    fs::write(here.join("many.toml"), many).unwrap();
    let outcome = |line: &str| {
        let ran = run(here, &format!("--quiet --json - --nct 2,2,4 {line}"));
        let mut value: serde_json::Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{line}: {}", ran.stderr));
        let host = value.as_object_mut().unwrap().remove("host").unwrap();
        (value, host["workers"].as_u64().unwrap())
    };
    let seconds = |line: &str| outcome(line).0["predicted_s"].as_f64().unwrap();
    let workload = |name: &str| format!("{}/workloads/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    for app in ["many.toml".to_owned(), workload("alltoall"), workload("halo3d")] {
        let [levels, classes] =
            ["levels", "classes"].map(|machine| seconds(&format!("--platform {machine}.toml {app}")));
        assert!((classes / levels - 1.0).abs() < 0.01, "{app}: {classes} s with classes, {levels} s without");
    }
    let levels = seconds("--platform levels.toml many.toml");
    assert!((levels / 0.1363 - 1.0).abs() < 0.01, "{levels} s");
    // The same holds with a handshake that is much shorter than the latency.
    for machine in ["levels.toml", "classes.toml", "levels.toml --set platform.inter_node.handshake=1ns"] {
        let [one, two] = [1, 2].map(|workers| outcome(&format!("--platform {machine} --workers {workers} many.toml")));
        assert_eq!((one.1, two.1), (1, 2), "{machine}");
        assert_eq!(one.0, two.0, "{machine}");
    }
}

#[test]
fn switches_come_back_as_places_from_the_times_of_pairs() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let machine = fs::read_to_string(format!("{}/configs/default.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let uplinks = "\n[places.rack]\nnodes = \"racks.txt\"\nuplink_latency = \"2 us\"\n";
    fs::write(here.join("tree.toml"), machine + uplinks).unwrap();
    let time = |platform: &str, b: u32| {
        let app = format!("{}/workloads/pingpong.toml", env!("CARGO_MANIFEST_DIR"));
        let set = format!("--set app.bytes=4000 --set app.b={b} --nct 4,1,2 --ranks 8 --json - {app}");
        let ran = run(here, &format!("--platform {platform} {set}"));
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        value["predicted_s"].as_f64().unwrap()
    };
    for (racks, expected) in [
        ("node rack\n0 a\n1 a\n2 b\n3 b\n", "nodes = 2\n"),
        ("node rack\n0 a\n1 b\n2 a\n3 b\n", "nodes = \"g.nodes.txt\"\n"),
    ] {
        // The list has all nodes of the file, of which four are used.
        let others: String = (4..16).map(|node| format!("{node} c\n")).collect();
        fs::write(here.join("racks.txt"), format!("{racks}{others}")).unwrap();
        let lengths = "--test send_recv_and_recv_send --begin 0 --end 8001 --step 1000 --repeats 2";
        let ran = measure(here, &format!("--pairs --simulate tree.toml --nct 4,1,2 {lengths} -o p"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        fs::write(here.join("p_hosts.txt"), "a\na\nb\nb\nc\nc\nd\nd\n").unwrap();
        let ran = run(here, "cluster p_median.nc --platform g.toml");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let text = fs::read_to_string(here.join("g.toml")).unwrap();
        assert!(text.contains(&format!("[places.switch]\n{expected}")), "{text}");
        for b in 1..8 {
            let ratio = time("g.toml", b) / time("tree.toml", b);
            assert!((0.9..1.1).contains(&ratio), "{racks} rank {b}: {ratio}");
        }
    }
}

#[test]
fn a_machine_comes_back_from_the_times_of_its_pairs() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for (test, nct) in [("one_to_one", "4,2,2"), ("send_recv_and_recv_send", "3,1,4"), ("async_one_to_one", "2,2,2")] {
        let options = format!("--pairs --simulate default --nct {nct} --test {test} --begin 0 --end 8001 --step 1000");
        let ran = measure(here, &format!("{options} --repeats 3 --jitter 0.03 -o p"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ran = run(here, "cluster p_median.nc --platform g.toml");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let shape = nct.split(',').collect::<Vec<_>>();
        let told = format!("nodes {}, CMPs per node {}, cores per CMP {}\n", shape[0], shape[1], shape[2]);
        assert!(ran.stdout.starts_with(&told) && !ran.stdout.contains("NOT EXPLAINED"), "{test}: {}", ran.stdout);
        assert!(ran.stdout.ends_with("platform in g.toml\n"), "{test}: {}", ran.stdout);
        if test == "async_one_to_one" {
            // Concurrent messages in both directions share resources, so no message is undisturbed.
            continue;
        }
        // Messages take the same time on the inferred machine as on the simulated machine that was measured.
        let time = |platform: &str, b: u32| {
            let ranks = shape.iter().map(|n| n.parse::<u32>().unwrap()).product::<u32>();
            let app = format!("{}/workloads/pingpong.toml", env!("CARGO_MANIFEST_DIR"));
            let set = format!("--set app.bytes=4000 --set app.b={b} --nct {nct} --ranks {ranks} --json - {app}");
            let ran = run(here, &format!("--platform {platform} {set}"));
            let value: serde_json::Value =
                serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
            value["predicted_s"].as_f64().unwrap()
        };
        for b in [1, shape[1..].iter().map(|n| n.parse::<u32>().unwrap()).product::<u32>()] {
            let ratio = time("g.toml", b) / time("default", b);
            assert!((0.85..1.15).contains(&ratio), "{test} {nct} with rank {b}: {ratio}");
        }
    }
    let ran = run(here, "cluster p_median.nc --platform g.toml --precision 300ns");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let said = "error: --platform: expected --precision as a share such as 20%, not as a time\n";
    assert_eq!(ran.stderr, said);
    for (content, said) in [
        (&b""[..], "p_hosts.txt: the file is empty; expected one line with a host name for each rank"),
        (b"\xff\xfe", "p_hosts.txt: cannot read the host names of the ranks: stream did not contain valid UTF-8"),
        (b"a\nb\n", "p_median.nc: the file of host names beside it has 2 names: expected one name for each of 8 ranks"),
    ] {
        fs::write(here.join("p_hosts.txt"), content).unwrap();
        let ran = run(here, "cluster p_median.nc --platform g.toml");
        assert_eq!((ran.code, ran.stderr), (Some(2), format!("error: {said}\n")));
    }
    assert_eq!(run(here, "cluster p_median.nc -o small").code, Some(0));
    fs::write(here.join("small_info.nc"), "CDF").unwrap();
    let ran = run(here, "cluster --expand small --at 0,1,1000");
    let said = "error: small_info.nc and small_data.nc: ";
    assert!(ran.code == Some(2) && ran.stderr.starts_with(said), "{}", ran.stderr);
}
