//! Checks that the application files in the directory `workloads` load, bind and run to their end on the scripted
//! engine.

use crate::config::Document;

use super::super::{App, TargetMachine};
use super::driver::{record, target};

#[test]
fn every_workload_runs_to_its_end_on_1_2_and_12_ranks() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 6);
    for path in files {
        let document = Document::read(&path).unwrap();
        // Other tests run the files that start real programs.
        if document.table().contains_key("program") {
            continue;
        }
        let app = App::load(document, &[]).unwrap();
        assert!(app.about().is_some(), "{}", path.display());
        for ranks in [1, 2, 12] {
            // Some applications run only with a certain number of ranks.
            let target = TargetMachine { max_turns: TargetMachine::DEFAULT_MAX_TURNS, ..target(ranks) };
            let Ok(bound) = app.bind(target) else { continue };
            for rank in 0..ranks {
                if app.document().table().contains_key("tasks") {
                    // Whether this application ends depends on received data, which the scripted engine invents.
                    bound.program(rank, 1e9);
                    continue;
                }
                let log = record(bound.program(rank, 1e9));
                let last = log.last().unwrap();
                let by_choice = app.name() == "pingpong" && ranks == 1;
                assert!(last == "finish" || by_choice, "{} rank {rank} of {ranks}: {last}", path.display());
            }
        }
    }
}

#[test]
fn the_examples_of_the_reference_are_read() {
    let reference = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/README.md")).unwrap();
    let examples: Vec<&str> =
        reference.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 7);
    for example in examples {
        // An example is a complete application file, or a list of statements that use names.
        let text = if example.contains("main =") {
            example.replace("main = [\n", "main = [ # as shown\n")
        } else {
            let statements = example.lines().map(|line| match line.split_once("  #") {
                Some((statement, _)) => statement.trim_end(),
                None => line,
            });
            let statements: Vec<String> = statements
                .filter(|line| !line.is_empty())
                .map(|line| format!("  {},", line.replace('…', "")))
                .collect();
            format!(
                "main = [\n  {{ irecv = {{ from = 0, request = 'out' }} }}, {{ irecv = {{ from = 0, request = 'a' }} }}, \
                 {{ irecv = {{ from = 0, request = 'b' }} }}, {{ irecv = {{ from = 0, request = 'in' }} }},\n{}\n]\n\
                 [params]\nn = 2\nk = 1\n[let]\nleft = 0\nright = 0\n\
                 [comms]\nrow = {{ split = 'rank' }}\n[timers]\nrings = 42\n[procedures]\npanel = {{ params = ['p'], do = [] }}\n",
                statements.join("\n").replace("with = { k =", "with = { p =")
            )
        };
        let text = if text.contains("tasks") { format!("{text}[params]\ntasks = 9\n") } else { text };
        let document = Document::parse("README", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        App::load(document, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}
