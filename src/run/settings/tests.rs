//! Tests of the settings of a run: priority of sources, conversion to text and back, and errors.

use super::*;

fn merge(file: &str, line: &str) -> Result<Settings, String> {
    let request = RunRequest::typed("a.toml", line);
    let document = Document::parse("a.toml", file).unwrap();
    let merge = || Settings::merge(document, Path::new("dir"), &request.set, &request);
    request.refuse_twice().and_then(|()| merge()).map_err(|error| error.to_string())
}

#[test]
fn options_win_over_the_file_and_the_file_over_defaults() {
    let settings = merge("", "").unwrap();
    assert_eq!((settings.seed, settings.model, settings.ranks), (1, Model::Mcpsim, None));
    assert_eq!(settings.placement, PlacementChoice::Block);
    let file = "[run]\nseed = 5\nranks = 8\nmodel = \"bigsim\"\nplacement = \"cyclic\"\nnct = [4, 2, 2]\npairs = true";
    let settings = merge(file, "").unwrap();
    assert_eq!((settings.seed, settings.model, settings.ranks), (5, Model::TwoLevel, Some(8)));
    assert_eq!((settings.placement, settings.pairs), (PlacementChoice::Cyclic, true));
    let settings = merge(file, "--seed 7 --ranks 4 --model mcpsim --placement block --nct 1,1,4").unwrap();
    assert_eq!((settings.seed, settings.model, settings.ranks), (7, Model::Mcpsim, Some(4)));
    assert_eq!(settings.shape, Some(Shape { nodes: 1, cmps: 1, cores: 4 }));
    let settings = merge(file, "--set run.seed=9 --set run.nct=8,1,1 --set run.pairs=false").unwrap();
    assert_eq!((settings.seed, settings.pairs), (9, false));
    assert_eq!(settings.shape, Some(Shape { nodes: 8, cmps: 1, cores: 1 }));
}

#[test]
fn paths_in_the_file_are_beside_it_and_typed_ones_are_not() {
    let platform = |line: &str| merge("[run]\nplatform = \"x.toml\"", line).unwrap().platform.unwrap();
    assert_eq!(platform(""), PathBuf::from("dir/x.toml"));
    assert_eq!(platform("--platform y.toml"), PathBuf::from("y.toml"));
    assert_eq!(platform("--set run.platform=y.toml"), PathBuf::from("y.toml"));
}

#[test]
fn limits_and_intervals_reach_the_engine() {
    let settings = merge("[run]\nintervals = [256, \"4 KiB\"]", "--max-time 1us --max-events 7 --workers 2").unwrap();
    let options = settings.options();
    assert_eq!(options.max_time, Some(SimTime::from_ps(1_000_000)));
    assert_eq!((options.max_events, options.workers), (Some(7), Some(2)));
    assert_eq!(options.intervals.bounds(), [Bytes::new(256), Bytes::new(4096)]);
}

#[test]
fn the_table_reads_back_as_the_same_settings() {
    let line = "--nct 4,2,2 --ranks 9 --oversubscribe --placement cyclic --workers 3 --model two-level --seed 77 \
                --max-time 1.5ms --max-events 5 --max-turns 6 --intervals 1,2KiB --pairs --memory-bound 0.7";
    for line in [line, ""] {
        let settings = merge("", line).unwrap();
        let text =
            toml::to_string(&toml::Table::from_iter([("run".to_owned(), settings.table(false).into())])).unwrap();
        // A seed that an application file contains counts as requested by the user.
        let settings = Settings { asked_seed: Some(settings.seed), ..settings };
        assert_eq!(merge(&text, ""), Ok(settings), "{text}");
    }
}

#[test]
fn bad_values_of_the_run_table_name_key_place_and_what_was_expected() {
    let shape = "three whole numbers above zero such as [4, 2, 2]";
    let positive = "a whole number above zero that is not too large";
    for (file, error) in [
        ("run.nct = \"4,2\"", format!("expected {shape} in run.nct of a.toml; found \"4,2\"")),
        ("run.nct = [4, 2]", format!("expected {shape} in run.nct of a.toml; found [4, 2]")),
        ("run.ranks = 0", format!("expected {positive} in run.ranks of a.toml; found 0")),
        ("run.ranks = 5000000000", format!("expected {positive} in run.ranks of a.toml; found 5000000000")),
        ("run.workers = \"two or so\"", format!("expected {positive} in run.workers of a.toml; found \"two or so\"")),
        ("run.seed = -1", "expected a whole number from 0 on in run.seed of a.toml; found -1".to_owned()),
        (
            "run.model = \"logq\"",
            "expected mcpsim, two-level, hockney, logp, loggp or xu-hwang in run.model of a.toml; found \"logq\""
                .to_owned(),
        ),
        (
            "run.model = {}",
            "expected mcpsim, two-level, hockney, logp, loggp or xu-hwang in run.model of a.toml; found a table"
                .to_owned(),
        ),
        ("run.max_time = 7", "expected a time such as \"1.2 us\" in run.max_time of a.toml; found 7".to_owned()),
        ("run.memory_bound = 1.5", "expected a number from 0 to 1, or parts by MPI function such as \"0.4,MPI_Wait=0.6\" in run.memory_bound of a.toml; found 1.5".to_owned()),
        ("run.pairs = 1", "expected a boolean in run.pairs of a.toml; found 1".to_owned()),
        (
            "run.intervals = [4, 2]",
            "expected sizes in increasing order, at most 1000, such as 256,4KiB,64KiB in run.intervals of a.toml; \
             found [4, 2]"
                .to_owned(),
        ),
        (
            "run.placement = \"blok\"",
            "expected block, cyclic, socket or a file in run.placement of a.toml; no such file: dir/blok".to_owned(),
        ),
    ] {
        assert_eq!(merge(file, ""), Err(error));
    }
    let sed = merge("run.sed = 1", "");
    assert_eq!(sed.unwrap_err(), "unknown field \"sed\" in run.sed of a.toml, did you mean \"seed\"?");
    let colour = merge("run.colour = 1", "").unwrap_err();
    assert!(colour.starts_with("unknown field \"colour\", expected one of \"nct\""), "{colour}");
}

#[test]
fn bad_values_typed_by_the_user_name_the_option() {
    for (line, error) in [
        (
            "--set run.ranks=x",
            "expected a whole number above zero that is not too large in --set run.ranks=x; found \"x\"",
        ),
        ("--seed 1 --set run.seed=2", "--seed and --set run.seed=2 set the same key: leave out one of them"),
        ("--placement blok", "expected block, cyclic, socket or a file in --placement; no such file: blok"),
        (
            "--set run.seed.x=2 --set run.seed=1 --set run.seed.x=2",
            "--set run.seed.x=2: \"run.seed\" of a.toml is no table of keys",
        ),
    ] {
        assert_eq!(merge("", line), Err(error.to_owned()));
    }
}

#[test]
fn a_key_is_in_the_table_once() {
    let mut keys: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
    assert!(Setting::of("max_time").is_some() && Setting::of("colour").is_none());
    let given = RunRequest::typed("a.toml", "--pairs --max-time 1us").given;
    assert_eq!(given.keys(), ["max_time", "pairs"]);
    assert_eq!(Given::default().over(given.clone()), given);
}
