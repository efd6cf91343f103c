//! Tuning files of MPI libraries, and error messages for unusable selection rules.

use std::fs;
use std::path::Path;

use crate::support::run;

const APP: &str = "main = [{ alltoall = { bytes = 100 } }, { allreduce = { bytes = \"64 KiB\" } }]\n";

/// Returns a directory with an application and the built-in machine, whose table `[collectives]` has this text.
fn machine(collectives: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("app.toml"), APP).unwrap();
    let built_in = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/configs/default.toml")).unwrap();
    fs::write(directory.path().join("m.toml"), format!("{built_in}\n[collectives]\n{collectives}\n")).unwrap();
    directory
}

fn refused(here: &Path, line: &str) -> String {
    let ran = run(here, line);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{line}\n{}", ran.stderr);
    ran.stderr
}

/// Returns the first line of the error that the rules file `file` of `library` causes.
fn wrong(library: &str, file: &str) -> String {
    let directory = machine(&format!("library = \"{library}\"\nrules = \"own.rules\""));
    fs::write(directory.path().join("own.rules"), file).unwrap();
    let [run, tuned] = ["app.toml", "collectives --of bcast --sizes 8"]
        .map(|line| refused(directory.path(), &format!("{line} --nct 2,1,2 --platform m.toml")));
    // `mcpsim run` and `mcpsim collectives` print the same error.
    assert_eq!(run.lines().next(), tuned.lines().next());
    run.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_tuning_file_that_cannot_be_followed_is_refused() {
    let of = "error: own.rules, collectives.rules of platform default: ";
    for (library, file, what) in [
        ("openmpi-4.1", "1\n3\n1\n4 1\n0 2 0", "the file ends too soon after line 5: expected a segment size"),
        ("openmpi-5.0", "rule-file-version-7\n0\n", "line 1: expected rule-file-version-1 or -2, or none"),
        ("openmpi-5.0", "{\"rule_file_version\": 9}", "expected rule_file_version 3; found 9"),
        ("openmpi-5.0", "{\"collectives\": {", "expected Open MPI's rules as JSON: EOF while parsing"),
        ("openmpi-4.0", "1\n3\n1\n4 1\n0 9 0 0", "line 5: expected an algorithm of alltoall from 0 to 5; found 9"),
        ("mpich-4", "{\"collective=bcast\": {", "expected MPICH's selection file: EOF while parsing"),
        ("mpich-4", "1\n3\n", "expected MPICH's selection file: invalid type: integer"),
        ("mpich-3-flat", "0\n", "expected collectives.library openmpi-4.0, -4.1, -5.0 or mpich-4; found mpich-3-flat"),
    ] {
        let found = wrong(library, file);
        assert!(found.starts_with(&format!("{of}{what}")), "{found}");
    }
    let directory = machine("library = \"openmpi-4.1\"\nrules = \"none.rules\"");
    let found = refused(directory.path(), "--nct 2,1,2 --platform m.toml app.toml");
    assert!(found.starts_with("error: none.rules, collectives.rules of platform default: no such file"), "{found}");
}

#[test]
fn a_file_that_open_mpi_ignores_changes_nothing_and_is_noted() {
    let predicted = |rules: &str| {
        let directory = machine("library = \"openmpi-4.1\"\nrules = \"own.rules\"");
        fs::write(directory.path().join("own.rules"), rules).unwrap();
        let ran = run(directory.path(), "app.toml --nct 2,1,2 --platform m.toml");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        (ran.stdout, ran.stderr)
    };
    let none = predicted("0\n");
    assert_eq!(none.1, "");
    let ignored = predicted("1\n3\n1\n2 1\n16 4 0 0\n");
    let note = "note: Open MPI ignores own.rules, and so does this run: line 5: the first message size of a communicator is \
                16, expected 0\n";
    assert_eq!((ignored.0.lines().nth(2), ignored.1.as_str()), (none.0.lines().nth(2), note));
    let json = "{\"module\": \"tuned\", \"collectives\": {\"alltoall\": [{\"comm_size_min\": 0, \"rules\": \
                [{\"msg_size_min\": 16, \"alg\": \"linear_sync\",},],},],},}";
    assert_eq!(predicted(json).1, "");
}

#[test]
fn another_library_meets_the_same_machine() {
    let [own, other] = ["openmpi-4.0", "mpich-4"].map(|library| {
        let directory = machine(&format!("library = \"{library}\"\nblock_overhead = \"1 us\""));
        let line = "collectives --nct 4,1,2 --platform m.toml --of alltoall --sizes 8 --library openmpi-4.0 --csv -";
        run(directory.path(), line).stdout
    });
    // The run uses Bruck's algorithm, which packs blocks separately.
    assert!(own.contains("bruck"), "{own}");
    assert_eq!(own, other);
}

#[test]
fn names_that_are_none_are_answered_with_those_that_are() {
    let directory = machine("");
    let here = directory.path();
    for (line, what) in [
        ("--set platform.collectives.library=openmpi-3 app.toml", "expected one of \"mpich-3-flat\", \"openmpi-4.0\""),
        ("--set platform.collectives.alltoall.algorithm=bruk app.toml", "expected one of \"linear\", \"linear_sync\""),
        ("--set platform.collectives.alltoal.algorithm=bruck app.toml", "expected one of \"barrier\", \"bcast\""),
        ("--set platform.collectives.alltoall.algorithm=ring app.toml", "algorithm \"ring\" does not suit alltoall"),
        ("--set platform.collectives.alltoall.algorithm=two_procs app.toml", "of alltoall: expected 2 ranks; found 4"),
        ("collectives --library openmpi-3", "expected one of mpich-3-flat, openmpi-4.0"),
        ("collectives --oversubscribe --ranks 16777217", "16777217 is not in 1..=16777216"),
        ("collectives --of bcats", "expected one of barrier, bcast"),
        (
            "collectives --of alltoall --set platform.collectives.alltoall.algorithm=two_procs",
            "expected 2 ranks; found 4",
        ),
        ("collectives --of alltoall --set platform.collectives.alltoall.algorithm=ring", "does not suit alltoall"),
        (
            "collectives --library mpich-4 --rules x",
            "--rules: expected --library openmpi-4.0, -4.1 or -5.0; found mpich-4",
        ),
    ] {
        let found = refused(here, &format!("{line} --nct 2,1,2"));
        assert!(found.contains(what), "{line}: {found}");
    }
}

/// Returns the algorithms that the table of `mcpsim collectives` marks as taken, by message size.
fn taken(here: &Path, line: &str) -> Vec<String> {
    let ran = run(here, &format!("collectives {line} --csv -"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let own = |row: &str| {
        let cells: Vec<_> = row.split(',').collect();
        cells[9].split_whitespace().any(|by| by == cells[1]).then(|| cells[4].to_owned())
    };
    ran.stdout.lines().skip(1).filter_map(own).collect()
}

#[test]
fn the_table_of_collectives_obeys_the_platforms_rules() {
    let directory = machine("library = \"openmpi-4.1\"\nrules = \"own.rules\"");
    let here = directory.path();
    fs::write(here.join("own.rules"), "1\n3\n1\n2 2\n0 2 0 0\n4000 1 0 0\n").unwrap();
    let line = "--nct 2,1,2 --of alltoall --sizes 8,64KiB";
    assert_eq!(taken(here, &format!("{line} --platform m.toml")), ["pairwise", "linear"]);
    // The rules do not affect another library.
    assert_eq!(taken(here, line), taken(here, &format!("{line} --platform m.toml --library mpich-3-flat")));
    // A run uses the same rules as `mcpsim collectives`.
    let ran = run(here, "--nct 2,1,2 --platform m.toml --report collectives app.toml");
    assert!(ran.stdout.contains("pairwise"), "{}", ran.stdout);

    let directory = machine("library = \"mpich-4\"\nrules = \"own.json\"");
    let here = directory.path();
    let file = "{\"collective=alltoall\": {\"avg_msg_size<=64\": {\"algorithm=MPIR_Alltoall_intra_pairwise\": {}}, \
                \"any\": {\"algorithm=MPIR_Alltoall_intra_brucks\": {}}}, \"collective=allreduce\": \
                {\"any\": {\"algorithm=MPIR_Allreduce_intra_recexch\": {}}}}";
    fs::write(here.join("own.json"), file).unwrap();
    assert_eq!(taken(here, &format!("{line} --platform m.toml")), ["pairwise", "bruck"]);
    let found = refused(here, "--nct 2,1,2 --platform m.toml app.toml");
    let what = "the selection file takes MPIR_Allreduce_intra_recexch, which mcpsim does not have: expected \
                one of recursive_doubling, rabenseifner, ring";
    assert!(found.contains(what), "{found}");
}

#[test]
fn one_rank_is_one_rank() {
    let directory = machine("");
    let ran = run(directory.path(), "collectives --nct 1,1,1 --of bcast,barrier --sizes 8");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("bcast of 1 rank, mpich-3-flat\n") && !ran.stdout.contains("1 ranks"),
        "{}",
        ran.stdout
    );
}

#[test]
fn chains_are_four_as_where_open_mpi_is_asked_for_them() {
    let directory = machine("");
    let here = directory.path();
    let line = "collectives --nct 1,1,5 --library openmpi-4.1 --of bcast --sizes 4KiB --csv - --rules best.rules";
    let ran = run(here, line);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // The columns are algorithm, segment, fan and time.
    let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|row| row.split(',').skip(4).take(4).collect()).collect();
    let time = |method: [&str; 3]| rows.iter().find(|row| row[..3] == method).map(|row| row[3]);
    // The algorithm `chains` forms four chains of one rank each.
    assert!(time(["chains", "0", "4"]).is_some(), "{}", ran.stdout);
    assert_eq!(time(["chains", "0", "4"]), time(["linear", "0", "0"]));
    assert_ne!(time(["chains", "0", "4"]), time(["pipeline", "0", "0"]));
    assert_eq!(time(["chains", "0", "0"]), None);
    let line = "collectives --nct 1,1,4 --library openmpi-4.1 --of reduce --sizes 8 --rules best.rules";
    assert_eq!(run(here, line).code, Some(0));
    let rules = fs::read_to_string(here.join("best.rules")).unwrap();
    assert!(rules.contains("\n0 2 4 0 # chains\n"), "{rules}");
}
