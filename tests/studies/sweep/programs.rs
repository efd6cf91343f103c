//! Real programs in sweeps: each program runs and is recorded once for all points at which it behaves the same; the
//! points replay the recording.

use super::*;

/// Sweeps over a program whose argument is its number of barriers, and which crashes at 13 barriers. Asserts this exit
/// code of the sweep.
fn barriers(here: &Path, line: &str, code: i32) -> Ran {
    let source = "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(int c, char **v) { int rank, size; MPI_Init(&c, &v);\n\
                  MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);\n\
                  if (atoi(v[1]) == 13) *(volatile int *)0 = rank;\n\
                  for (int i = 0; i < atoi(v[1]); i++) MPI_Barrier(MPI_COMM_WORLD);\n\
                  MPI_Finalize();\n\
                  if (atoi(v[1]) == 14) fprintf(stderr, \"it is wrong\\n\");\n\
                  return atoi(v[1]) == 14 ? 3 : 0; }\n";
    fs::write(here.join("b.c"), source).unwrap();
    fs::write(here.join("b.toml"), "# Barriers.\n[program]\nsource = \"b.c\"\narguments = [4]\n").unwrap();
    let mut command = mcpsim(here);
    command.env("MCPSIM_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep-cache"));
    let ran = finish(command.arg("sweep").args(line.split_whitespace()).output().unwrap());
    assert_eq!(ran.code, Some(code), "mcpsim sweep {line}\n{}", ran.stderr);
    ran
}

fn compiler_is_missing() -> bool {
    let missing = !support::is_there("cc");
    if missing {
        support::skipped("there is no compiler (cc)");
    }
    missing
}

fn traces(here: &Path, study: &str) -> usize {
    fs::read_dir(here.join(study).join("traces")).map_or(0, Iterator::count)
}

#[test]
fn real_programs_are_run_once_for_all_points_at_which_they_do_the_same() {
    if compiler_is_missing() {
        return;
    }
    let directory = directory();
    let here = directory.path();
    let line = "--nct 2,2,2 --vary app.program.arguments=[4];[13];[8] --vary run.ranks=2,4 \
                --vary platform.inter_node.latency=1us,2us,9us --vary run.placement=block,cyclic b.toml";
    barriers(here, &format!("--out s {line}"), 1);
    // There is one trace per number of ranks and argument; runs that crashed have no trace.
    assert_eq!(traces(here, "s"), 4);
    let points = json(here, "s/study.json")["points"].as_array().unwrap().clone();
    let at = |arguments: &str, ranks: &str| -> Vec<Value> {
        let wanted = |point: &&Value| {
            point["values"]["app.program.arguments"] == arguments && point["values"]["run.ranks"] == ranks
        };
        points.iter().filter(wanted).cloned().collect()
    };
    // A barrier of two ranks sends two messages, and a barrier of four ranks sends eight.
    for (arguments, ranks, messages) in
        [("[4]", "2", 4 * 2), ("[4]", "4", 4 * 8), ("[8]", "2", 8 * 2), ("[8]", "4", 8 * 8)]
    {
        let points = at(arguments, ranks);
        assert_eq!(points.len(), 6);
        assert!(points.iter().all(|point| point["outcome"]["messages"]["count"] == messages), "{arguments} {ranks}");
        // The measured times of code are equal at all points, because only the network differs.
        let compute = |point: &Value| point["outcome"]["mean_parts"]["compute_ps"].as_u64().unwrap();
        assert!(points.iter().all(|point| compute(point) == compute(&points[0]) && compute(point) > 0));
        // With block placement and two CMPs per node, two ranks are neighbours; with cyclic placement they are not.
        let time = |point: &Value| point["outcome"]["predicted_ps"].as_u64().unwrap();
        assert!(time(&points[1]) < time(&points[3]) && time(&points[3]) < time(&points[5]));
    }
    for point in at("[13]", "2") {
        assert!(point["error"].as_str().unwrap().contains("crashed with signal 11"), "{point}");
    }
    // If the sweep is repeated, recorded runs remain, so only the crashing program is run again.
    let table = || {
        let csv = read(here, "s/study.csv");
        csv.lines()
            .filter(|row| row.starts_with("[4]") || row.starts_with("[8]"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let before = table();
    barriers(here, &format!("--out s {line}"), 1);
    assert_eq!((table(), before.len()), (before, 24));
}

#[test]
fn a_program_that_says_that_it_failed_has_no_prediction() {
    if compiler_is_missing() {
        return;
    }
    let directory = directory();
    let here = directory.path();
    for (way, kept) in [("", 1), ("--rerun", 0)] {
        let line = format!("--out s{way} {way} --nct 1,2,1 --vary app.program.arguments=[4];[14] b.toml");
        barriers(here, &line, 1);
        let points = json(here, &format!("s{way}/study.json"))["points"].as_array().unwrap().clone();
        assert!(points[0]["outcome"]["predicted_ps"].is_u64(), "{points:?}");
        assert_eq!(points[1]["error"], "the program ended with code 3: it is wrong");
        assert_eq!(traces(here, &format!("s{way}")), kept);
    }
}

#[test]
fn a_trace_that_cannot_be_read_is_recorded_anew() {
    if compiler_is_missing() {
        return;
    }
    let directory = directory();
    let here = directory.path();
    let line = "--out s --compute 1us --nct 1,2,1 --vary platform.inter_cmp.latency=1us,2us b.toml";
    let first = barriers(here, line, 0);
    assert!(first.stderr.contains("the program runs once and is recorded"), "{}", first.stderr);
    let table = read(here, "s/study.csv");
    let trace = fs::read_dir(here.join("s/traces")).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&trace).unwrap();
    // The first trace has another format version, the second is damaged.
    for (at, found) in [(8, "version 254 of the format"), (bytes.len() - 1, "its checksum does not agree")] {
        let mut other = bytes.clone();
        other[at] = 254 - u8::from(other[at] == 254);
        fs::write(&trace, other).unwrap();
        let again = barriers(here, line, 0);
        assert!(
            again.stderr.contains(found)
                && again.stderr.contains(
                    "; mcpsim records the program \
             again"
                ),
            "{}",
            again.stderr
        );
        assert_eq!(read(here, "s/study.csv"), table);
    }
}

#[test]
fn a_program_is_recorded_anew_where_its_own_code_takes_another_time() {
    if compiler_is_missing() {
        return;
    }
    let directory = directory();
    let here = directory.path();
    let line = "--out s --compute 1us --nct 1,2,2 --vary platform.core.slowdown=[1.0];[1.0,3.0] --vary run.ranks=2 \
                --vary run.placement=block,cyclic b.toml";
    barriers(here, line, 0);
    // Without a slowdown of cores the placement has no effect. With a slowdown, ranks that share a CMP are slower.
    let points = json(here, "s/study.json")["points"].as_array().unwrap().clone();
    assert_eq!((points.len(), traces(here, "s")), (4, 2));
}

#[test]
fn real_programs_can_be_run_at_every_point_and_do_what_their_replays_do() {
    if compiler_is_missing() {
        return;
    }
    let directory = directory();
    let here = directory.path();
    let line = "--compute 1us --nct 2,2,2 --vary run.ranks=2,4 --vary platform.inter_node.latency=1us,9us b.toml";
    barriers(here, &format!("--out run --rerun {line}"), 0);
    barriers(here, &format!("--out replay {line}"), 0);
    assert_eq!((traces(here, "run"), traces(here, "replay")), (0, 2));
    assert_eq!(read(here, "run/study.csv"), read(here, "replay/study.csv"));
}
