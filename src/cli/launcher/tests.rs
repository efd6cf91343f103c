//! Tests of command lines for the launchers of Open MPI and MPICH.

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn read_line(name: &str, line: &str, shape: Option<&str>) -> Result<Launch, String> {
    let variable = |name: &str| shape.filter(|_| name == "MCPSIM_NCT").map(str::to_owned);
    let found = read(name, &words(line), variable).expect("a launcher");
    found.map_err(|failure| failure.text)
}

fn run(name: &str, line: &str, shape: Option<&str>) -> LaunchedRun {
    match read_line(name, line, shape) {
        Ok(Launch::Run(run)) => run,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn lines_of_both_families_become_runs() {
    let plain = |line: &str| LaunchedRun { words: words(line), text: None, ignored: vec![] };
    assert_eq!(
        run("mpiexec", "-n 4 ./a.out -n 7", None),
        plain("mcpsim --quiet --ranks 4 --nct 1,1,4 ./a.out -- -n 7")
    );
    let open_mpi = "--oversubscribe --map-by core --mca btl self -np 2 -x HOME a x";
    let ignored = ["--map-by core", "--mca btl self"].map(str::to_owned).to_vec();
    assert_eq!(
        run("mpirun", open_mpi, Some("2,1,1")),
        LaunchedRun { ignored, ..plain("mcpsim --quiet --ranks 2 --nct 2,1,1 a -- x") }
    );
    assert_eq!(run("mpirun", "a", None), plain("mcpsim --quiet --ranks 1 --nct 1,1,1 a --"));
    assert_eq!(run("mpiexec", "-ppn 2 -n 5 a", None), plain("mcpsim --quiet --ranks 5 --nct 3,1,2 a --"));
    assert!(read("mcpsim", &[], |_| None).is_none());
}

#[test]
fn several_programs_are_a_list_in_which_options_act_as_launchers_take_them() {
    let line = "-genv A 1 -gwdir / -n 2 -env B 2 ./one x : -x A=3 -wdir tmp -n 3 ../two : three";
    let found = run("mpiexec", line, None);
    assert_eq!(found.words[..6], words("mcpsim --quiet --ranks 6 --nct 1,1,6"));
    let expected: toml::Table = r#"
        [[program]]
        name = "./one"
        binary = "/./one"
        arguments = ["x"]
        environment = { A = "1", B = "2" }
        directory = "/"
        ranks = 2
        [[program]]
        name = "../two"
        binary = "tmp/../two"
        arguments = []
        environment = { A = "3" }
        directory = "tmp"
        ranks = 3
        [[program]]
        name = "three"
        binary = "/three"
        arguments = []
        environment = { A = "1" }
        directory = "/"
        ranks = 1
    "#
    .parse()
    .unwrap();
    assert_eq!(found.text.unwrap().parse::<toml::Table>().unwrap(), expected);
}

#[test]
fn version_and_options_are_shown_and_mistakes_are_errors() {
    let version = Ok(Launch::Show(version()));
    assert_eq!(read_line("mpiexec", "--version", None), version);
    assert_eq!(read_line("mpichversion", "", None), version);
    let Ok(Launch::Show(help)) = read_line("mpirun", "--help", None) else { panic!("no help") };
    assert!(
        help.contains("  --host") && help.contains(" --oversubscribe") && help.contains(" -genv NAME VALUE"),
        "{help}"
    );
    for (name, line, what) in [
        ("mpiexec", "-n 0 a", "-n 0"),
        ("mpirun", "-n 2", "no program is named"),
        ("mpirun", "-n 2 a :", "no program follows the last colon"),
        ("mpirun", "-n", "-n: its value is missing"),
        ("mpirun", "--mca btl", "--mca: its value is missing"),
        ("mpirun", "--oversubscrib a", "unknown option --oversubscrib, did you mean \"oversubscribe\"?"),
        ("mpirun", "-zz a", "unknown option -zz"),
        ("mpirun", "--oversubscribe=1 a", "--oversubscribe=1: this option has no value"),
        ("mpiexec", "-n 4294967295 a : -n 1 b", "more than 4,294,967,295 ranks"),
        (
            "mpiexec",
            "-genvnone a",
            "-genvnone: ranks always get the environment of the launcher: start the launcher by env -i NAME=VALUE",
        ),
    ] {
        let expected = format!("{name}: {what}: expected {name} -n RANKS PROGRAM [ARGUMENTS] [: …]");
        assert_eq!(read_line(name, line, None), Err(expected), "{line}");
    }
}
