//! `mcpsim measure` without MPI: kernels, comparison of machines, and what is wrong with what was asked.

#[path = "support/binary.rs"]
mod support;

use std::fs;
use std::path::Path;

use support::{Ran, run};

/// Runs `mcpsim measure` with `line` in `directory`; launchers' variables are not this test's.
fn measure(directory: &Path, line: &str) -> Ran {
    run(directory, &format!("measure {line}"))
}

#[test]
fn a_machine_compared_with_half_its_speed_is_scaled_by_two() {
    let directory = tempfile::tempdir().unwrap();
    let ran = measure(directory.path(), "--compute --name there -o there.toml");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    let text = fs::read_to_string(directory.path().join("there.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let seconds = table["seconds"].as_table().unwrap();
    assert_eq!(table["machine"].as_str(), Some("there"));
    assert!(seconds.len() == 5 && seconds.values().all(|seconds| seconds.as_float().unwrap() > 0.0), "{text}");
    let ran = measure(directory.path(), "--compute --against there.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let factor = ran.stdout.lines().find_map(|line| line.strip_prefix("scale_factor = ")).unwrap();
    assert!(factor.parse::<f64>().unwrap() > 0.0, "{}", ran.stdout);
}

#[test]
fn what_cannot_be_measured_is_told_with_code_2() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("bad.toml"), "machine = \"m\"\n[seconds]\nstencil = -1.0\n").unwrap();
    fs::write(directory.path().join("other.toml"), "machine = \"m\"\n[seconds]\nfuture = 1.0\n").unwrap();
    for (line, said) in [
        ("--compute -o none/a.toml", "--output none/a.toml: no such directory as none"),
        ("--compute --against no.toml", "no.toml: no such file"),
        ("--compute --against bad.toml", "bad.toml: expected seconds above zero for kernel \"stencil\"; found -1"),
        ("--compute --against other.toml", "--against other.toml: expected kernels of this version; found none"),
        ("--against bad.toml", "the following required arguments were not provided:\n  --compute"),
        ("--compute --samples a.csv", "the argument '--compute' cannot be used with '--samples <FILE.csv>'"),
        ("--time soon", "invalid value 'soon' for '--time <TIME>': expected a time such as \"1.2 us\""),
        ("--time 1us", "--time: expected 100 ms or more; found 1.000 us"),
        ("--max-size 12", "--max-size: expected 1 KiB to 1 GiB; found 12 B"),
        ("--max-size 1TiB", "--max-size: expected 1 KiB to 1 GiB; found 1024 GiB"),
        ("--name= --compute", "--name, --node: expected a name; found an empty one"),
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
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("validation/alaska-pairs-ib");
    let files = ["osu_latency", "osu_bw", "osu_bibw", "osu_mbw_mr"];
    let files: String = files.iter().map(|name| format!("--import inter_node=import/{name}.txt ")).collect();
    let ran = measure(&directory, &format!("{files}--base default --nct 2,2,16 --name alaska-ib"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // The rest is another machine's.
    let network = |text: &str| text.split_once("\n\n# import/osu_latency").unwrap().1.to_owned();
    let shipped = fs::read_to_string(directory.join("platform.toml")).unwrap();
    assert_eq!(network(&ran.stdout), network(&shipped));
}
