//! Checks that mcpsim loads, binds and executes any application file without a panic.

use proptest::prelude::*;

use crate::config::Document;
use crate::mpi::MpiProgram;
use crate::rank::{Call, Describe, Reply, ReplyKind};
use crate::units::SimTime;

use super::super::App;
use super::driver::target;

/// Keys and texts that occur in real application files.
const WORDS: [&str; 52] = [
    "send",
    "recv",
    "isend",
    "irecv",
    "sendrecv",
    "wait",
    "waitall",
    "waitany",
    "test",
    "probe",
    "iprobe",
    "compute",
    "set",
    "for",
    "from",
    "to",
    "step",
    "do",
    "repeat",
    "while",
    "if",
    "then",
    "else",
    "call",
    "with",
    "bytes",
    "tag",
    "comm",
    "root",
    "request",
    "requests",
    "source_as",
    "done_as",
    "time",
    "times",
    "normal",
    "mean",
    "sd",
    "flops",
    "barrier",
    "bcast",
    "alltoallv",
    "ialltoall",
    "world",
    "any",
    "i",
    "x",
    "p",
    "rank",
    "rank + 1",
    "1 ms",
    "peer",
];

fn value() -> impl Strategy<Value = toml::Value> {
    let word = prop::sample::select(WORDS.to_vec());
    let leaf = prop_oneof![
        (-2i64..9).prop_map(toml::Value::from),
        any::<i64>().prop_map(toml::Value::from),
        any::<f64>().prop_map(toml::Value::from),
        any::<bool>().prop_map(toml::Value::from),
        word.clone().prop_map(toml::Value::from),
        ".{0,8}".prop_map(toml::Value::from),
    ];
    leaf.prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(toml::Value::Array),
            prop::collection::vec((word.clone(), inner), 0..4).prop_map(|entries| {
                toml::Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

/// Generates statements of correct form with arbitrary arguments.
fn statement() -> impl Strategy<Value = toml::Value> {
    let argument = prop_oneof![
        prop::sample::select(vec![
            "rank", "x", "i", "rank + 1", "none", "1 / x", "random()", "1 KiB", "x > 1", "size - 1", "any"
        ])
        .prop_map(toml::Value::from),
        (-2i64..5).prop_map(toml::Value::from),
    ];
    let table = |keys: &'static [&'static str]| {
        prop::collection::vec(argument.clone(), keys.len()).prop_map(move |values| {
            let entries = keys.iter().zip(values).map(|(key, value)| ((*key).to_owned(), value));
            toml::Value::Table(entries.collect())
        })
    };
    let one =
        |key: &'static str, value: toml::Value| toml::Value::Table([(key.to_owned(), value)].into_iter().collect());
    let simple = prop_oneof![
        table(&["to", "bytes", "tag"]).prop_map(move |t| one("send", t)),
        table(&["to", "bytes"]).prop_map(move |t| one("isend", t)),
        table(&["from", "tag"]).prop_map(move |t| one("irecv", t)),
        table(&["from", "tag"]).prop_map(move |t| one("probe", t)),
        table(&["time", "times"]).prop_map(move |t| one("compute", t)),
        table(&["x"]).prop_map(move |t| one("set", t)),
        table(&["root", "bytes"]).prop_map(move |t| one("bcast", t)),
        table(&["bytes"]).prop_map(move |t| one("ialltoallv", t)),
        Just(toml::Value::from("waitall")),
        Just(toml::Value::from("p")),
        Just(one("waitany", toml::Value::Table([("index_as".to_owned(), "x".into())].into_iter().collect()))),
    ];
    simple.prop_recursive(3, 30, 4, move |inner| {
        let body = prop::collection::vec(inner, 0..4).prop_map(toml::Value::Array);
        let argument = argument.clone();
        (prop::sample::select(vec!["repeat", "while", "if"]), argument, body).prop_map(|(key, argument, body)| {
            let inside = if key == "if" { "then" } else { "do" };
            toml::Value::Table([(key.to_owned(), argument), (inside.to_owned(), body)].into_iter().collect())
        })
    })
}

fn execute(table: toml::Table) {
    let text = table.to_string();
    let Ok(document) = Document::parse("app.toml", &text) else { return };
    let Ok(app) = App::load(document, &[]) else { return };
    let _ = app.config();
    let Ok(bound) = app.bind(target(4)) else { return };
    let mut program = bound.program(1, 1e9);
    let mut kind = ReplyKind::Begin;
    for id in 0..200 {
        let action = program.next(Reply { clock: SimTime::ZERO, kind });
        let _ = program.position();
        kind = match action {
            crate::mpi::MpiCall::Call(Call::Finish | Call::Fail(_)) => return,
            crate::mpi::MpiCall::Call(Call::Isend(_) | Call::Irecv(_)) | crate::mpi::MpiCall::StartCollective(_) => {
                ReplyKind::Started(id)
            }
            crate::mpi::MpiCall::Call(Call::WaitAny(_)) => return,
            _ => ReplyKind::Done,
        };
    }
}

proptest! {
    #[test]
    fn any_values_as_main(main in value(), procedure in value()) {
        let mut table = toml::Table::new();
        table.insert("main".to_owned(), main);
        table.insert("procedures".to_owned(), toml::Value::Table([("p".to_owned(), procedure)].into_iter().collect()));
        execute(table);
    }

    #[test]
    fn any_values_in_the_other_sections(
        key in prop::sample::select(vec!["name", "about", "params", "let", "grids", "comms", "procedures", "run"]),
        inner in prop::sample::select(vec!["i", "g", "p"]),
        content in value(),
        whole in any::<bool>(),
    ) {
        let mut table = toml::Table::new();
        table.insert("main".to_owned(), toml::Value::Array(vec![]));
        let content = if whole { content } else { toml::Value::Table([(inner.to_owned(), content)].into_iter().collect()) };
        table.insert(key.to_owned(), content);
        execute(table);
    }

    #[test]
    fn any_arguments_of_statements(main in prop::collection::vec(statement(), 0..6), p in prop::collection::vec(statement(), 0..3)) {
        let mut table = toml::Table::new();
        table.insert("main".to_owned(), toml::Value::Array(main));
        table.insert("procedures".to_owned(), toml::Value::Table([("p".to_owned(), toml::Value::Array(p))].into_iter().collect()));
        execute(table);
    }
}
