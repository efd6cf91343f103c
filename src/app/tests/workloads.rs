//! The files in `workloads` load, bind and run to their end against the scripted engine.

use crate::config::Document;

use super::super::App;
use super::driver::{record, target};

#[test]
fn every_workload_runs_to_its_end_on_1_2_and_12_ranks() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads");
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 6);
    for path in files {
        let app = App::load(Document::read(&path).unwrap(), &[]).unwrap();
        assert!(app.about().is_some(), "{}", path.display());
        for ranks in [1, 2, 12] {
            // Some need a certain number of ranks.
            let Ok(bound) = app.bind(target(ranks)) else { continue };
            for rank in 0..ranks {
                let log = record(bound.program(rank, 1e9));
                let last = log.last().unwrap();
                let by_choice = app.name() == "pingpong" && ranks == 1;
                assert!(last == "finish" || by_choice, "{} rank {rank} of {ranks}: {last}", path.display());
            }
        }
    }
}
