//! Tests of `mcpsim measure` under the real launchers. The written platform file can be read, and errors are printed
//! once.

use std::fs;
use std::path::Path;
use std::process::Command;

use mcpsim::config::Document;
use mcpsim::platform::{Contention, Level, Library, Platform};
use mcpsim::units::{Bytes, SimSpan};

use super::hosts::{HostMpi, host_mpis};
use super::real::{directory, limited, told};
use super::support::{Ran, mcpsim, open_mpi_environment};

/// Runs `mcpsim measure` with two ranks in `directory`. The options select the shortest possible measurement.
fn measure(mpi: &HostMpi, directory: &Path, options: &[&str]) -> Ran {
    let mut command = mpi.launch(2, &mpi.binary);
    // The checks of measurement quality are disabled, because the quality of such a short measurement depends on the
    // load of the machine.
    command
        .current_dir(directory)
        .args(["measure", "--force", "--time", "100 ms", "--max-size", "16 KiB"])
        .args(options);
    limited(&command)
}

fn platform(directory: &Path, name: &str) -> (Platform, String) {
    let text = fs::read_to_string(directory.join(name)).unwrap();
    (Platform::load(Document::parse(name, &text).unwrap(), &[]).unwrap(), text)
}

#[test]
fn a_measured_platform_is_read_back_with_its_levels_samples_and_figures() {
    for mpi in host_mpis() {
        let directory = directory();
        let options =
            ["-o", "here.toml", "--samples", "here.csv", "--figures", "drawn", "--format", "svg", "--name", "box"];
        let ran = measure(mpi, directory.path(), &options);
        assert_eq!(ran.code, Some(0), "{}", told(mpi.name, &ran));
        let (platform, text) = platform(directory.path(), "here.toml");
        assert_eq!((platform.name.as_str(), platform.shape.nodes), ("box", 1), "{text}");
        // `mcpsim measure` recognises both MPI libraries, and the measured overhead of datatypes is not zero.
        let rules = &platform.collectives;
        assert_eq!(rules.library.is_open_mpi(), mpi.is_open_mpi, "{text}");
        assert_ne!(rules.library, Library::default(), "{text}");
        assert!((10_000..1_000_000_000).contains(&rules.datatype_overhead.as_ps()), "{text}");
        // Both ranks are on one machine, so the measured level is within a CMP or between two CMPs.
        let measured: Vec<Level> = Level::ALL
            .into_iter()
            .filter(|level| ran.stdout.contains(&level.name().replace('_', "-").replace("cmp", "CMP")))
            .collect();
        assert_eq!(measured.len(), 1, "{}", ran.stdout);
        assert_eq!(platform.link(measured[0]).contention(), Contention::Fair, "{text}");
        assert_eq!(text.matches("# NOT MEASURED").count(), 2, "{text}");
        let samples = fs::read_to_string(directory.path().join("here.csv")).unwrap();
        let name = measured[0].name();
        for test in ["ping_pong", "window", "train", "delayed_train", "late_receive", "exchange"] {
            assert!(samples.contains(&format!("\n{name},{test},1,")), "{test}");
        }
        assert!(samples.contains("\nall,ring,1,"));
        for figure in ["latency", "bandwidth", "messages"] {
            assert!(directory.path().join(format!("drawn/measured-{figure}.svg")).is_file(), "{figure}");
        }
        // The written platform file is used for a run.
        let mut again = mcpsim(Path::new(env!("CARGO_MANIFEST_DIR")));
        again.arg("--quiet").arg("--platform").arg(directory.path().join("here.toml")).args([
            "--ranks",
            "1",
            "workloads/prime.toml",
        ]);
        assert_eq!(limited(&again).code, Some(0));
    }
}

/// Tests that the receiving rank releases the core to the sending rank if both ranks share a core. Otherwise the send
/// would begin only when the next receive releases the core.
#[test]
fn ranks_that_share_a_core_find_up_to_which_size_messages_are_eager() {
    // MPICH is omitted, because its waiting ranks do not release their core.
    for mpi in host_mpis().iter().filter(|mpi| mpi.is_open_mpi) {
        let directory = directory();
        let core = directory.path().join("core");
        fs::write(&core, "exec taskset -c \"$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')\" \"$@\"\n").unwrap();
        let mut command = mpi.launch(2, Path::new("sh"));
        // With this setting of Open MPI, a waiting rank releases its core.
        command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        command.current_dir(directory.path()).args([&core, &mpi.binary]);
        command.args(["measure", "--force", "--time", "100 ms", "--max-size", "1 MiB", "-o", "one.toml"]);
        let ran = limited(&command);
        assert_eq!(ran.code, Some(0), "{}", told(mpi.name, &ran));
        assert!(
            ran.stderr.contains("1 of 2 ranks are bound to a core to which another rank is bound"),
            "{}",
            told(mpi.name, &ran)
        );
        let (platform, text) = platform(directory.path(), "one.toml");
        let link = platform.link(Level::IntraCmp);
        assert!(link.eager_threshold() < Bytes::new(1 << 20), "{text}");
        // On one core, the latency of a message is core time of the two ranks.
        assert!(platform.core.context_switch > SimSpan::ZERO, "{text}");
    }
}

#[test]
fn ranks_that_call_their_nodes_differently_measure_between_nodes() {
    for mpi in host_mpis() {
        let directory = directory();
        let script = directory.path().join("named");
        fs::write(&script, "MCPSIM_NODE=n${OMPI_COMM_WORLD_RANK-}${PMI_RANK-} exec \"$@\"\n").unwrap();
        let mut command = mpi.launch(2, Path::new("sh"));
        command.current_dir(directory.path()).args([&script, &mpi.binary]);
        command.args(["measure", "--force", "--time", "100 ms", "--max-size", "4 KiB", "-o", "two.toml"]);
        let ran = limited(&command);
        assert_eq!(ran.code, Some(0), "{}", told(mpi.name, &ran));
        let (platform, _) = platform(directory.path(), "two.toml");
        assert_eq!(platform.shape.nodes, 2);
        assert!(
            ran.stdout.contains("inter-node") && ran.stderr.contains("one machine has several host names"),
            "{}",
            told(mpi.name, &ran)
        );
    }
}

#[test]
fn what_a_measurement_cannot_do_is_told_once_before_it() {
    for mpi in host_mpis() {
        let directory = directory();
        for (options, said) in [
            (&["-o", "none/here.toml"][..], "error: --output none/here.toml: no such directory: none"),
            (&["-o", "."], "error: --output .: is a directory, expected a file to write"),
            (
                &["--samples", "-"],
                "error: --output and --samples name the same file: give another file for one of \
                them",
            ),
            (&["--max-size", "3 B"], "error: "),
            (&["--compute"], "error: mcpsim measure --compute works in one process: start it without an MPI launcher"),
            (&["--bogus"], "error: unexpected argument '--bogus' found"),
        ] {
            let ran = measure(mpi, directory.path(), options);
            let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!((ran.code, errors.len()), (Some(2), 1), "{}", told(&options.join(" "), &ran));
            assert!(errors[0].starts_with(said), "{}", errors[0]);
        }
        let alone = mpi.run(1, "measure -o here.toml");
        assert_eq!(alone.code, Some(2));
        assert!(alone.stderr.starts_with("error: mcpsim measure needs two or more ranks"), "{}", alone.stderr);
    }
}

#[test]
fn the_script_measures_a_machine_runs_programs_on_it_and_judges_their_predictions() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 || Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    for mpi in host_mpis() {
        let directory = directory();
        let launcher = if mpi.is_open_mpi { " --oversubscribe --bind-to none" } else { "" };
        let mut command = Command::new("python3");
        command.args(["validation/here/run.py", "--mpicc", mpi.compiler, "--ranks", "1,2", "--repeats", "1"]);
        command.args([
            "--mpirun",
            &format!("{}{launcher}", mpi.launcher),
            "--only",
            "pi,pingpong",
            "--time",
            "100 ms",
            "--force",
        ]);
        command.arg("--mcpsim").arg(&mpi.binary).arg("--out").arg(directory.path().join("case"));
        command.envs(open_mpi_environment());
        let ran = limited(command.current_dir(env!("CARGO_MANIFEST_DIR")));
        // mcpsim may accept or reject such a short measurement.
        assert!(matches!(ran.code, Some(0 | 5)), "{}", told(mpi.name, &ran));
        let results = fs::read_to_string(directory.path().join("case/results.csv")).unwrap();
        let predicted: Vec<&str> = results.lines().filter(|row| row.contains(",predicted,mcpsim,")).collect();
        let on = |ranks: &str| predicted.iter().filter(|row| row.contains("/pi.c") && row.contains(ranks)).count();
        assert_eq!((predicted.len(), on("ranks=1\""), on("ranks=2\"")), (4, 2, 2), "{results}");
        assert!(ran.stdout.contains("they never rewrite what they send"), "{}", told(mpi.name, &ran));
        for file in ["platform.toml", "samples.csv", "measured.csv", "measured-latency.svg"] {
            assert!(directory.path().join("case").join(file).is_file(), "{file}");
        }
    }
}

/// Tests that `mcpsim measure` times each algorithm of Open MPI's allreduce, bcast and alltoall and compares the times
/// with predictions.
#[test]
fn algorithms_measured_under_open_mpi_are_laid_beside_predictions() {
    let mpis = host_mpis();
    let Some(mpi) = mpis.iter().find(|mpi| mpi.is_open_mpi) else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let directory = directory();
    let run = |program: &str, words: &[&str]| {
        limited(Command::new(program).args(words).envs(open_mpi_environment()).current_dir(directory.path()))
    };
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/validation/here/");
    let compiled = run(mpi.compiler, &["-O2", "-o", "algorithms", &format!("{here}algorithms.c")]);
    assert_eq!(compiled.code, Some(0), "{}", told(mpi.compiler, &compiled));
    let launch = ["--oversubscribe", "--bind-to", "none", "-n", "2"];
    let timed = ["./algorithms", "2", "1e-4"];
    // If the launcher option is missing, Open MPI ignores the requested algorithms.
    let unheard = run(mpi.launcher, &[&launch[..], &timed].concat());
    assert!(unheard.code != Some(0) && unheard.stderr.contains("wants Open MPI 4"), "{}", told("algorithms", &unheard));
    let heard = [&launch[..], &["--mca", "coll_tuned_use_dynamic_rules", "1"], &timed].concat();
    let measured = run(mpi.launcher, &heard);
    assert_eq!(measured.code, Some(0), "{}", told("algorithms", &measured));
    // The table has a row for each of six, nine and five algorithms and three message sizes, and rows for segments that
    // are shorter than the message.
    let rows = measured.stdout.lines().count();
    assert_eq!(rows, 2 * (3 * (6 + 9 + 5) + 3 + 6 * 3), "{}", measured.stdout);
    fs::write(directory.path().join("measured.csv"), &measured.stdout).unwrap();
    let script = format!("{here}algorithms.py");
    let mcpsim = mpi.binary.display().to_string();
    let judge = |platform: &str| {
        let options = ["--nct", "1,1,1", "--ranks", "2", "--mcpsim", &mcpsim, "--platform", platform];
        run("python3", &[&[script.as_str(), "measured.csv"], &options[..]].concat())
    };
    let judged = judge("default");
    assert_eq!(judged.code, Some(0), "{}", told("algorithms.py", &judged));
    let lines: Vec<&str> = judged.stdout.lines().collect();
    assert_eq!(lines.len(), 12, "{}", judged.stdout);
    assert!(lines[10].contains(" of 9; with those not told apart: "), "{}", judged.stdout);
    assert!(lines[11].starts_with("where those predicted alike count as one: "), "{}", judged.stdout);
    let unknown = judge("nowhere.toml");
    assert_eq!(unknown.code, Some(2), "{}", told("algorithms.py", &unknown));
    fs::write(directory.path().join("measured.csv"), "bcast,8,1,0,0,1.5\nbcast,8,one\n").unwrap();
    let cut = judge("default");
    assert!(cut.code == Some(1) && cut.stderr.contains("measured.csv") && cut.stderr.contains("in line 2"));
}
