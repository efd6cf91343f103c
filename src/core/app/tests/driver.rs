//! A scripted engine for tests, which answers calls as simply as possible and records the calls.

use crate::config::{ConfigError, Document, Override};
use crate::mpi::{MpiCall, MpiProgram, Sizes};
use crate::platform::CoreRates;
use crate::rank::{Call, Completion, Message, Pattern, Reply, ReplyKind, Source, TagPattern};
use crate::units::{Bytes, SimTime};
use test_support::{self, gigabytes};

use super::super::{App, AppProgram, TargetMachine};

/// Target machine with 1 Gflop/s and 1 Ginstr/s per core, and 1 GB/s for a core, a CMP and a node.
pub(super) fn target(ranks: u32) -> TargetMachine {
    let rates = CoreRates { cmp_memory: gigabytes(1), node_memory: gigabytes(1), ..test_support::rates() };
    TargetMachine { ranks, rates, seed: 1, max_turns: 1000 }
}

pub(super) fn load(text: &str) -> Result<App, ConfigError> {
    load_with(text, &[])
}

pub(super) fn load_with(text: &str, overrides: &[&str]) -> Result<App, ConfigError> {
    let overrides: Vec<_> = overrides.iter().map(|text| Override::parse(text).unwrap()).collect();
    App::load(Document::parse("app.toml", text)?, &overrides)
}

pub(super) fn program(text: &str, rank: u32, ranks: u32) -> AppProgram {
    load(text).unwrap().bind(target(ranks)).unwrap().program(rank, 1e9)
}

/// Calls of `rank` until the rank's program ends, one text per call: `compute 1 ms`, `send 8 to 3 tag 0`, `fail …`.
///
/// Requests are numbered from 1 and complete in order. A received message has the requested source (1 for any), the
/// requested tag (7 for any), and 64 bytes.
pub(super) fn calls(text: &str, rank: u32, ranks: u32) -> Vec<String> {
    record(program(text, rank, ranks))
}

pub(super) fn record(mut program: AppProgram) -> Vec<String> {
    let mut log = Vec::new();
    let mut started: Vec<Option<(u32, u32)>> = Vec::new();
    let mut completions: Vec<Completion> = Vec::new();
    let mut begin = true;
    let mut was_started = false;
    loop {
        let kind = if std::mem::take(&mut begin) {
            ReplyKind::Begin
        } else if std::mem::take(&mut was_started) {
            ReplyKind::Started(started.len() as u32)
        } else if completions.is_empty() {
            ReplyKind::Done
        } else {
            ReplyKind::Completed(&mut completions)
        };
        let action = program.next(Reply { clock: SimTime::ZERO, kind });
        assert!(log.len() < 1_000_000, "runs away: {:?} …", &log[..20]);
        log.push(describe(&action));
        completions.clear();
        let received = |index: usize, message: Option<(u32, u32)>| Completion {
            index: index as u32,
            source: message.map_or(0, |(source, _)| source),
            tag: message.map_or(0, |(_, tag)| tag),
            size: Bytes::new(if message.is_some() { 64 } else { 0 }),
            payload: None,
            cancelled: false,
        };
        match action {
            MpiCall::Call(Call::Finish | Call::Fail(_)) => {
                return log;
            }
            MpiCall::Call(
                Call::Recv(pattern) | Call::Probe(pattern) | Call::Iprobe(pattern) | Call::Exchange(_, pattern),
            ) => {
                completions.push(received(0, Some(message(&pattern))));
            }
            MpiCall::Call(Call::Irecv(pattern)) => {
                started.push(Some(message(&pattern)));
                was_started = true;
            }
            MpiCall::Call(Call::Isend(_)) | MpiCall::StartCollective(_) => {
                started.push(None);
                was_started = true;
            }
            MpiCall::Call(Call::WaitAll(requests) | Call::Test { requests, .. }) => {
                for (index, id) in requests.iter().enumerate() {
                    completions.push(received(index, started[*id as usize - 1]));
                }
            }
            // The scripted engine completes the last request, so that a test can check the index.
            MpiCall::Call(Call::WaitAny(requests)) => {
                let id = requests[requests.len() - 1];
                completions.push(received(requests.len() - 1, started[id as usize - 1]));
            }
            _ => {}
        }
    }
}

fn message(pattern: &Pattern) -> (u32, u32) {
    let source = if let Source::Rank(rank) = pattern.from { rank } else { 1 };
    let tag = if let TagPattern::Tag(tag) = pattern.tag { tag } else { 7 };
    (source, tag)
}

fn describe(action: &MpiCall) -> String {
    let send = |m: &Message| {
        let context = if m.context == 0 { String::new() } else { format!(" in {}", m.context) };
        let mode = if m.mode == crate::rank::SendMode::Standard { String::new() } else { format!(" {:?}", m.mode) };
        format!("{} to {} tag {}{context}{mode}", m.size.get(), m.to, m.tag)
    };
    let receive = |p: &Pattern| {
        let from = if let Source::Rank(rank) = p.from { rank.to_string() } else { "any".to_owned() };
        let tag = if let TagPattern::Tag(tag) = p.tag { tag.to_string() } else { "any".to_owned() };
        let context = if p.context == 0 { String::new() } else { format!(" in {}", p.context) };
        let room = if p.capacity == Bytes::MAX { String::new() } else { format!(" room {}", p.capacity.get()) };
        format!("from {from} tag {tag}{context}{room}")
    };
    match action {
        MpiCall::Call(call) => match call {
            Call::Compute(span) => format!("compute {span}"),
            Call::Work(block) => format!("compute {} {}", block.core, block.bytes),
            Call::Send(m) => format!("send {}", send(m)),
            Call::Isend(m) => format!("isend {}", send(m)),
            Call::Recv(p) => format!("recv {}", receive(p)),
            Call::Irecv(p) => format!("irecv {}", receive(p)),
            Call::Probe(p) => format!("probe {}", receive(p)),
            Call::Iprobe(p) => format!("iprobe {}", receive(p)),
            Call::Exchange(m, p) => format!("exchange {} and {}", send(m), receive(p)),
            Call::WaitAll(requests) | Call::Complete(requests) => format!("waitall {:?}", requests.as_slice()),
            Call::WaitAny(requests) => format!("waitany {:?}", requests.as_slice()),
            Call::Test { requests, .. } => format!("test {:?}", requests.as_slice()),
            Call::Fail(error) => format!("fail {error}"),
            other => format!("{other:?}").to_lowercase(),
        },
        MpiCall::Collective(call) | MpiCall::StartCollective(call) => {
            let verb = if matches!(action, MpiCall::Collective(_)) { "" } else { "start " };
            let sizes = match &call.sizes {
                Sizes::Same(size) => size.get().to_string(),
                Sizes::Each(sizes) => format!("{:?}", sizes.iter().map(|size| size.get()).collect::<Vec<_>>()),
            };
            let comm = if call.comm.id() == 0 {
                String::new()
            } else {
                format!(" comm {} rank {} of {}", call.comm.id(), call.comm.rank(), call.comm.size())
            };
            let algorithm = call.algorithm.map_or(String::new(), |algorithm| format!(" {algorithm:?}"));
            format!("{verb}{:?} {sizes} root {}{comm}{algorithm}", call.collective, call.root)
        }
    }
}
