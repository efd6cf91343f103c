//! An engine without virtual time for tests. The engine matches messages in order, completes a send when the matching
//! receive completes, and records all calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{CollectiveCall, CommMember, Group, MpiCall, MpiDriver, MpiProgram, Sizes};
use mcpsim_base::platform::{
    Algorithm, Collective, CollectiveRule, CollectiveRules, Contention, CoreRates, Link, Platform,
};
use mcpsim_base::rank::{
    Call, Completion, DataBlock, Describe, Message, Pattern, Program, Reply, ReplyKind, Requests, Source, TagPattern,
};
use mcpsim_base::units::{Bytes, Rate, SimSpan, SimTime};

/// A rank that performs the actions of a list, then waits for all started requests in reverse order.
pub(super) struct Script {
    actions: std::vec::IntoIter<MpiCall>,
    started: Requests,
}

impl MpiProgram for Script {
    fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        if let ReplyKind::Started(request) = reply.kind {
            self.started.push(request);
        }
        self.actions.next().unwrap_or_else(|| {
            if self.started.is_empty() {
                return MpiCall::Call(Call::Finish);
            }
            self.started.reverse();
            MpiCall::Call(Call::WaitAll(std::mem::take(&mut self.started)))
        })
    }
}

impl Describe for Script {}

/// Machine with a memory bandwidth of 1 GB/s per rank, and arithmetic so fast that operations take no time.
pub(super) fn platform(rules: &[(Collective, Algorithm)]) -> Arc<Platform> {
    let link = Link::new(Contention::Ideal, Bytes::ZERO, SimSpan::ZERO, vec![test_support::row(1000)]);
    let mut collectives = CollectiveRules::default();
    for &(collective, algorithm) in rules {
        collectives.set(
            collective,
            vec![CollectiveRule { up_to_bytes: Bytes::new(1000), ..CollectiveRule::always(algorithm.into()) }],
        );
    }
    let rate = Rate::new(1e15).unwrap();
    let core = CoreRates { flops: rate, instructions: rate, ..test_support::rates() };
    let links = [link.clone(), link.clone(), link];
    Arc::new(Platform { collectives, ..test_support::platform([1, 1, 1], core, links) })
}

/// MPI_COMM_WORLD of `size` ranks as seen by `rank`.
pub(super) fn world(rank: u32, size: u32) -> CommMember {
    CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size })
}

/// A collective call on MPI_COMM_WORLD with root 0.
pub(super) fn collective(collective: Collective, rank: u32, size: u32, sizes: Sizes) -> CollectiveCall {
    CollectiveCall { collective, comm: world(rank, size), root: 0, sizes, algorithm: None }
}

pub(super) fn same(size: u64) -> Sizes {
    Sizes::Same(Bytes::new(size))
}

/// Engine calls and messages of a test run.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// Engine calls of each rank, without the calls of its non-blocking collectives.
    pub(super) calls: Vec<Vec<String>>,
    /// Sender, receiver, size and tag of each sent message, matched or not.
    pub(super) messages: Vec<(u32, u32, u64, u32)>,
    /// Per blocked rank: the MPI function that blocks.
    pub(super) stuck: BTreeMap<u32, &'static str>,
    /// Errors of the ranks that failed in the test run.
    pub(super) failed: Vec<String>,
}

#[derive(Clone)]
enum TestRankState {
    Begin,
    Done,
    Started(u32),
    Waits(Requests),
    Finished,
}

struct TestLane<'a> {
    rank: u32,
    program: Box<dyn Program + 'a>,
    state: TestRankState,
    request: Option<u32>,
}

/// Runs one script per rank on the simulated machine `platform`.
pub(super) fn run(platform: &Arc<Platform>, scripts: Vec<Vec<MpiCall>>) -> Ran {
    let mut ran = Ran { calls: vec![Vec::new(); scripts.len()], ..Ran::default() };
    let mut lanes: Vec<TestLane<'_>> = Vec::new();
    for (rank, script) in (0..).zip(scripts) {
        let script = Script { actions: script.into_iter(), started: Requests::new() };
        let program = Box::new(MpiDriver::new(script, Arc::clone(platform), 1e9));
        lanes.push(TestLane { rank, program, state: TestRankState::Begin, request: None });
    }
    let mut done: Vec<bool> = Vec::new();
    let mut sends: Vec<(u32, Message, u32)> = Vec::new();
    let mut receives: Vec<(u32, Pattern, u32)> = Vec::new();
    loop {
        let mut moved = false;
        let mut lane = 0;
        while lane < lanes.len() {
            let at = &mut lanes[lane];
            lane += 1;
            let mut completed = Vec::new();
            let kind = match &at.state {
                TestRankState::Begin => ReplyKind::Begin,
                TestRankState::Done => ReplyKind::Done,
                TestRankState::Started(request) => ReplyKind::Started(*request),
                TestRankState::Waits(requests) if requests.iter().all(|request| done[*request as usize]) => {
                    completed.extend(requests.iter().map(|_| Completion {
                        index: 0,
                        source: 0,
                        tag: 0,
                        size: Bytes::ZERO,
                        payload: None,
                        cancelled: false,
                    }));
                    ReplyKind::Completed(&mut completed)
                }
                TestRankState::Waits(_) | TestRankState::Finished => continue,
            };
            moved = true;
            let call = at.program.next(Reply { clock: SimTime::ZERO, kind });
            if at.request.is_none() {
                let text = format!("{call:?}");
                let name = text.split(['(', '{', ' ']).next().unwrap_or_default();
                ran.calls[at.rank as usize].push(match &call {
                    Call::Compute(span) | Call::Data(DataBlock { span, .. }) => format!("Compute {span}"),
                    Call::Enter(entry) => format!("Enter {}", entry.name),
                    _ => name.to_owned(),
                });
            }
            let mut open = |out: Option<Message>, into: Option<Pattern>| {
                let mut requests = Requests::new();
                if let Some(message) = out {
                    ran.messages.push((at.rank, message.to, message.size.get(), message.tag));
                    requests.push(done.len() as u32);
                    sends.push((at.rank, message, done.len() as u32));
                    done.push(false);
                }
                if let Some(pattern) = into {
                    requests.push(done.len() as u32);
                    receives.push((at.rank, pattern, done.len() as u32));
                    done.push(false);
                }
                requests
            };
            let state = match call {
                Call::Send(message) => TestRankState::Waits(open(Some(message), None)),
                Call::Recv(pattern) => TestRankState::Waits(open(None, Some(pattern))),
                Call::Exchange(message, pattern) => TestRankState::Waits(open(Some(message), Some(pattern))),
                Call::Isend(message) => TestRankState::Started(open(Some(message), None)[0]),
                Call::Irecv(pattern) => TestRankState::Started(open(None, Some(pattern))[0]),
                Call::WaitAll(requests) | Call::Complete(requests) => TestRankState::Waits(requests),
                Call::Enter(entry) => {
                    ran.stuck.insert(at.rank, entry.name);
                    TestRankState::Done
                }
                Call::Leave => {
                    ran.stuck.remove(&at.rank);
                    TestRankState::Done
                }
                Call::Start(program) => {
                    let (rank, request) = (at.rank, done.len() as u32);
                    done.push(false);
                    at.state = TestRankState::Started(request);
                    lanes.push(TestLane { rank, program, state: TestRankState::Begin, request: Some(request) });
                    continue;
                }
                Call::Finish => {
                    if let Some(request) = at.request {
                        done[request as usize] = true;
                    }
                    TestRankState::Finished
                }
                Call::Fail(error) => {
                    ran.failed.push(error.to_string());
                    TestRankState::Finished
                }
                Call::Compute(_) | Call::Data(_) => TestRankState::Done,
                other => panic!("a script does not call {other:?}"),
            };
            at.state = state;
            match_all(&mut sends, &mut receives, &mut done);
        }
        if !moved {
            return ran;
        }
    }
}

fn match_all(sends: &mut Vec<(u32, Message, u32)>, receives: &mut Vec<(u32, Pattern, u32)>, done: &mut [bool]) {
    let fits = |(from, message, _): &(u32, Message, u32), (rank, pattern, _): &(u32, Pattern, u32)| {
        message.to == *rank
            && pattern.from == Source::Rank(*from)
            && pattern.context == message.context
            && pattern.tag == TagPattern::Tag(message.tag)
    };
    while let Some((s, r)) =
        sends.iter().enumerate().find_map(|(s, send)| Some((s, receives.iter().position(|recv| fits(send, recv))?)))
    {
        let ((_, message, sent), (_, pattern, received)) = (sends.remove(s), receives.remove(r));
        assert!(message.size <= pattern.capacity, "{message:?} does not fit {pattern:?}");
        done[sent as usize] = true;
        done[received as usize] = true;
    }
}
