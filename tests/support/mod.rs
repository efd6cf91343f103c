//! Scripted test programs on tiny simulated machines, whose expected times can be computed by hand.
#![allow(dead_code)]

pub mod collectives;
pub mod replays;

use std::sync::{Arc, Mutex};

use mcpsim::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use mcpsim::platform::{Level, Placement, Platform, Site};
use mcpsim::profile::{PathShare, TimeParts};
use mcpsim::rank::{
    Call, Completion, Context, DataBlock, Describe, MemoryBlock, Message, Pattern, Program, Rank, Reply, ReplyKind,
    RequestId, SERVICE, SendMode, Served, Source, TagPattern, Which,
};
use mcpsim::units::{Bytes, SimSpan, SimTime};
pub use test_support::{link, machine, ns, row, with_link};

/// Returns the virtual time `count` nanoseconds after the start.
pub fn at(count: u64) -> SimTime {
    SimTime::ZERO + ns(count)
}

/// A step of a rank's test script.
#[derive(Clone, Debug)]
pub enum Do {
    Compute(u64),
    /// A compute block that takes the first number of ns and moves the second number of bytes.
    Work(u64, u64),
    /// A block of program code that takes the stated time in ns if no other rank slows the code down.
    Code(u64),
    /// A copy within the rank's memory: number of bytes, and time in ns if caches contain the data.
    Own(u64, u64),
    /// A reduction of data in a collective: number of bytes, and time in ns if caches contain the data.
    Combine(u64, u64),
    Send(Rank, u64),
    SendTag(Rank, u64, u32),
    SendMode(Rank, u64, SendMode),
    Recv(Rank),
    RecvTag(Rank, u32),
    RecvAny,
    RecvUpTo(Rank, u64),
    Isend(Rank, u64),
    Irecv(Rank),
    IrecvTag(Rank, u32),
    IrecvAny,
    Exchange(Rank, u64, Rank),
    /// Waits for all MPI requests that the script has started since its last wait.
    WaitAll,
    /// Waits for any MPI request that the script has started since its last wait.
    WaitAny,
    /// Tests all MPI requests that the script has started since its last wait.
    Test,
    /// Tests all MPI requests that the script has started since its last wait; an unsuccessful test takes no time.
    Look,
    /// Sends a message that the MPI process of the receiver serves without a receive call. The tag selects the action
    /// of the receiver (see [`serve`]).
    Ask(Rank, u64, u32),
    /// Waits for at most the stated time in ns, as an idle rank that polls does.
    Idle(u64),
    /// Tests all MPI requests since the script's last wait, or probes for any message, until the test or probe
    /// succeeds.
    Poll(Polling),
    /// Cancels the first MPI request that the script has started since its last wait.
    Cancel,
    /// Cancels the request of the rank with this number, for which another task may wait.
    CancelNumber(RequestId),
    ProbeAny,
    IprobeAny,
    /// Probes for any message with the stated tag, and then receives the message from its source.
    ProbeRecv(u32),
    IsendWith(Rank, u64, u32, SendMode),
    IrecvAnyTag(u32),
    RecvAnyTag(u32),
    ExchangeTag(Rank, u64, Rank, u32),
    /// Starts a strand (thread of the rank's program) that executes the stated steps.
    Start(Vec<Do>),
    /// Starts a strand (thread of the rank's program) whose messages match only messages of strands with the same
    /// identifier on other ranks.
    StartApart(Vec<Do>),
    /// Records the virtual clock of the rank.
    Clock,
}

/// Method by which a test script polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// True if the script probes for a message and then receives the message; false if the script tests the requests
    /// since its last wait.
    pub probe: bool,
    /// Number of failed polls after which the rank idles before each further poll, and the duration of this idle time
    /// in ns.
    pub idle: Option<(u32, u64)>,
    /// True if polls take no time, and the rank idles from the first poll on.
    pub free: bool,
}

/// Observation that a test script records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saw {
    /// Virtual clock of the rank at a step [`Do::Clock`].
    Clock(SimTime),
    /// Index of a completed MPI request, and the source and the size of the request's message.
    Got(u32, Rank, u64),
    /// An unsuccessful test or probe of the script.
    Nothing,
    /// Index of a receive that the script has cancelled.
    Cancelled(u32),
    /// Virtual time at which a message was served, the sender of the message, and its bytes.
    Served(SimTime, Rank, u64),
}

/// Tag of a message that the receiver serves without an answer.
pub const TAKE: u32 = 0;
/// Tag of a message that the receiver serves with an answer of 50 bytes to the sender.
pub const ANSWER: u32 = 1;
/// Tag of a message that the receiver serves by forwarding the message to the next rank, which answers to the
/// forwarding rank.
pub const HAND_ON: u32 = 2;
/// Tag of a message that the receiver serves with an answer, which the sender also serves.
pub const ECHO: u32 = 3;

/// Observations of all test scripts: the rank, the index of the rank's strand (0 is the main program), and the
/// observation.
pub type Log = Arc<Mutex<Vec<(Rank, u32, Saw)>>>;

/// Simulator call whose reply the script expects, if the reply matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Other,
    Test,
    WaitAny,
    ProbeRecv(u32),
    /// A poll: the polling method, and the number of failed polls.
    Poll(Polling, u32),
    /// Idle time between polls: the polling method, and the number of failed polls.
    Idle(Polling, u32),
}

/// A simulated program that executes a test script.
pub struct Script {
    rank: Rank,
    strand: u32,
    strands: u32,
    context: Context,
    lines: std::vec::IntoIter<Do>,
    requests: Vec<RequestId>,
    asked: Asked,
    clock: SimTime,
    log: Log,
}

fn data(size: u64, time: u64, combines: bool) -> DataBlock {
    DataBlock { size: Bytes::new(size), span: ns(time), context: 1, combines }
}

impl Script {
    pub fn new(rank: Rank, lines: Vec<Do>, log: Log) -> Self {
        Script {
            rank,
            strand: 0,
            strands: 0,
            context: 0,
            lines: lines.into_iter(),
            requests: Vec::new(),
            asked: Asked::Other,
            clock: SimTime::ZERO,
            log,
        }
    }

    fn start(&mut self, lines: Vec<Do>, context: Context) -> Call {
        self.strands += 1;
        let script = Script::new(self.rank, lines, self.log.clone());
        Call::Start(Box::new(Script { strand: self.strands, context, ..script }))
    }

    /// Returns the next simulator call of a script that polls.
    fn poll(&mut self, how: Polling, failed: u32) -> Call {
        self.asked = Asked::Poll(how, failed);
        match how.probe {
            true => Call::Iprobe(self.pattern(None, None)),
            false => {
                Call::Test { requests: self.requests.iter().copied().collect(), which: Which::All, poll: !how.free }
            }
        }
    }

    fn message(&self, to: Rank, size: u64, tag: u32, mode: SendMode) -> Message {
        Message {
            to,
            context: self.context,
            tag,
            size: Bytes::new(size),
            mode,
            payload: None,
            buffer: Default::default(),
        }
    }

    fn pattern(&self, from: Option<Rank>, tag: Option<u32>) -> Pattern {
        Pattern {
            from: from.map_or(Source::Any, Source::Rank),
            context: self.context,
            tag: tag.map_or(TagPattern::Any, TagPattern::Tag),
            capacity: Bytes::MAX,
            buffer: Default::default(),
        }
    }
}

impl Program for Script {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        assert!(reply.clock >= self.clock, "the clock of rank {} goes back to {}", self.rank, reply.clock);
        self.clock = reply.clock;
        let asked = std::mem::replace(&mut self.asked, Asked::Other);
        match reply.kind {
            ReplyKind::Started(id) => self.requests.push(id),
            ReplyKind::Completed(completed) => {
                if let (Asked::Poll(how, failed), []) = (asked, &*completed) {
                    return match how.idle {
                        Some((after, span)) if failed + 1 >= after => {
                            self.asked = Asked::Idle(how, failed + 1);
                            Call::Idle(ns(span))
                        }
                        _ => self.poll(how, failed + 1),
                    };
                }
                let mut log = self.log.lock().unwrap();
                if completed.is_empty() {
                    log.push((self.rank, self.strand, Saw::Nothing));
                }
                let saw = |c: &Completion| match c.cancelled {
                    true => Saw::Cancelled(c.index),
                    false => Saw::Got(c.index, c.source, c.size.get()),
                };
                log.extend(completed.iter().map(|c| (self.rank, self.strand, saw(c))));
                match asked {
                    Asked::Poll(how, _) => match how.probe {
                        true => return Call::Recv(self.pattern(Some(completed[0].source), None)),
                        false => self.requests.clear(),
                    },
                    Asked::Test if completed.len() == self.requests.len() => self.requests.clear(),
                    Asked::WaitAny => {
                        self.requests.remove(completed[0].index as usize);
                    }
                    Asked::ProbeRecv(tag) => return Call::Recv(self.pattern(Some(completed[0].source), Some(tag))),
                    Asked::Test | Asked::Idle(..) | Asked::Other => {}
                }
            }
            ReplyKind::Begin | ReplyKind::Done => {
                if let Asked::Idle(how, failed) = asked {
                    return self.poll(how, failed);
                }
            }
        }
        loop {
            let Some(line) = self.lines.next() else { return Call::Finish };
            return match line {
                Do::Compute(time) => Call::Compute(ns(time)),
                Do::Code(time) => Call::Code(ns(time)),
                Do::Own(size, time) => Call::Data(data(size, time, false)),
                Do::Combine(size, time) => Call::Data(data(size, time, true)),
                Do::Work(core, bytes) => Call::Work(MemoryBlock { core: ns(core), bytes: Bytes::new(bytes) }),
                Do::Send(to, size) => Call::Send(self.message(to, size, 0, SendMode::Standard)),
                Do::SendTag(to, size, tag) => Call::Send(self.message(to, size, tag, SendMode::Standard)),
                Do::SendMode(to, size, mode) => Call::Send(self.message(to, size, 0, mode)),
                Do::Recv(from) => Call::Recv(self.pattern(Some(from), None)),
                Do::RecvTag(from, tag) => Call::Recv(self.pattern(Some(from), Some(tag))),
                Do::RecvAny => Call::Recv(self.pattern(None, None)),
                Do::RecvUpTo(from, size) => {
                    Call::Recv(Pattern { capacity: Bytes::new(size), ..self.pattern(Some(from), None) })
                }
                Do::Isend(to, size) => Call::Isend(self.message(to, size, 0, SendMode::Standard)),
                Do::Irecv(from) => Call::Irecv(self.pattern(Some(from), None)),
                Do::IrecvTag(from, tag) => Call::Irecv(self.pattern(Some(from), Some(tag))),
                Do::IrecvAny => Call::Irecv(self.pattern(None, None)),
                Do::Exchange(to, size, from) => {
                    Call::Exchange(self.message(to, size, 0, SendMode::Standard), self.pattern(Some(from), None))
                }
                Do::WaitAll => Call::WaitAll(self.requests.drain(..).collect()),
                Do::WaitAny => {
                    self.asked = Asked::WaitAny;
                    Call::WaitAny(self.requests.iter().copied().collect())
                }
                Do::Test | Do::Look => {
                    self.asked = Asked::Test;
                    let poll = matches!(line, Do::Test);
                    Call::Test { requests: self.requests.iter().copied().collect(), which: Which::All, poll }
                }
                Do::Ask(to, size, tag) => {
                    let payload = Some(vec![self.rank as u8; size as usize].into());
                    Call::Send(Message { context: SERVICE, payload, ..self.message(to, size, tag, SendMode::Standard) })
                }
                Do::Idle(span) => Call::Idle(ns(span)),
                Do::Poll(how) => self.poll(how, 0),
                Do::Cancel => Call::Cancel(self.requests[0]),
                Do::CancelNumber(request) => Call::Cancel(request),
                Do::ProbeAny => Call::Probe(self.pattern(None, None)),
                Do::IprobeAny => Call::Iprobe(self.pattern(None, None)),
                Do::ProbeRecv(tag) => {
                    self.asked = Asked::ProbeRecv(tag);
                    Call::Probe(self.pattern(None, Some(tag)))
                }
                Do::IsendWith(to, size, tag, mode) => Call::Isend(self.message(to, size, tag, mode)),
                Do::IrecvAnyTag(tag) => Call::Irecv(self.pattern(None, Some(tag))),
                Do::RecvAnyTag(tag) => Call::Recv(self.pattern(None, Some(tag))),
                Do::ExchangeTag(to, size, from, tag) => {
                    let message = self.message(to, size, tag, SendMode::Standard);
                    Call::Exchange(message, self.pattern(Some(from), Some(tag)))
                }
                Do::Start(lines) => self.start(lines, 0),
                Do::StartApart(lines) => self.start(lines, self.strands + 1),
                Do::Clock => {
                    self.log.lock().unwrap().push((self.rank, self.strand, Saw::Clock(reply.clock)));
                    continue;
                }
            };
        }
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let Served { at, from, tag, size, payload } = message;
        let data = payload.expect("it was sent with data");
        assert_eq!(*data, vec![from as u8; size.get() as usize]);
        // Observations of served messages are separate from observations of the scripts, because the order of served
        // messages on the host is undefined.
        self.log.lock().unwrap().push((self.rank, u32::MAX, Saw::Served(at, from, size.get())));
        let answer = |to, context, tag, size| {
            let payload = Some(vec![self.rank as u8; size as usize].into());
            Message { context, payload, ..self.message(to, size, tag, SendMode::Standard) }
        };
        answers.extend(match tag {
            ANSWER => Some(answer(from, 0, 0, 50)),
            HAND_ON => Some(answer(self.rank + 1, SERVICE, ANSWER, size.get())),
            ECHO => Some(answer(from, SERVICE, TAKE, size.get())),
            _ => None,
        });
    }
}

impl Describe for Script {}

/// Simulates one test script per rank with block placement and `workers` worker threads.
pub fn run_with(
    platform: &Platform,
    scripts: &[Vec<Do>],
    workers: u32,
) -> Result<(Outcome, Vec<(Rank, Saw)>), RunError> {
    let sites = Placement::Block.sites(platform.shape, scripts.len() as u32, false).unwrap();
    run_placed(platform, sites, scripts, workers)
}

/// Simulates one test script per rank with `workers` worker threads. Returns the Outcome, and the observations of each
/// rank by strand.
pub fn run_placed(
    platform: &Platform,
    sites: Vec<Site>,
    scripts: &[Vec<Do>],
    workers: u32,
) -> Result<(Outcome, Vec<(Rank, Saw)>), RunError> {
    run_placed_as(platform, sites, scripts, RunOptions { workers: Some(workers), pairs: true, ..RunOptions::default() })
}

/// Simulates one test script per rank with block placement and the run options `options`.
pub fn run_as(
    platform: &Platform,
    scripts: &[Vec<Do>],
    options: RunOptions,
) -> Result<(Outcome, Vec<(Rank, Saw)>), RunError> {
    let sites = Placement::Block.sites(platform.shape, scripts.len() as u32, false).unwrap();
    run_placed_as(platform, sites, scripts, options)
}

/// Simulates one test script per rank on the cores `sites` with the run options `options`.
pub fn run_placed_as(
    platform: &Platform,
    sites: Vec<Site>,
    scripts: &[Vec<Do>],
    options: RunOptions,
) -> Result<(Outcome, Vec<(Rank, Saw)>), RunError> {
    let log = Log::default();
    let run = |log: &Log, options: RunOptions| {
        let make = |rank: Rank| Script::new(rank, scripts[rank as usize].clone(), log.clone());
        Simulation::new(platform, sites.clone(), options, Labels::default()).run(make, &Progress::default())
    };
    let (wanted, alone) = (options.critical_path, options.workers == Some(1));
    let outcome = run(&log, RunOptions { critical_path: false, ..options.clone() })?;
    let recorded = run(&Log::default(), RunOptions { critical_path: true, timeline: true, ..options })?;
    the_way_back_is_the_path(&outcome, &recorded);
    let outcome = if wanted { recorded } else { outcome };
    if alone {
        replays::check(platform, &sites, scripts, &outcome);
    }
    let mut saw = log.lock().unwrap().clone();
    // The host may execute the tasks of a rank in any order.
    saw.sort_by_key(|&(rank, strand, _)| (rank, strand));
    Ok((outcome, saw.into_iter().map(|(rank, _, saw)| (rank, saw)).collect()))
}

/// Asserts that a run with a recorded critical path has the same Outcome as the run without a critical path, and that
/// the path agrees with the Outcome.
fn the_way_back_is_the_path(outcome: &Outcome, recorded: &Outcome) {
    let (path, way) = (outcome.path, recorded.critical_path.clone().unwrap());
    let messages = Level::ALL.iter().map(|&level| path.level(level).total()).sum();
    assert_eq!(path.total(), outcome.predicted.since(SimTime::ZERO));
    assert_eq!(way.known, path.total());
    let sum = |shares: Vec<PathShare>| {
        (shares.iter().map(|share| share.own).sum(), shares.iter().map(|share| share.messages).sum::<SimSpan>())
    };
    let ranks = sum(way.ranks.iter().map(|of| of.share).collect());
    // The answer to a served message has a core overhead that belongs to no rank's time.
    let answers = ranks.1.saturating_sub(messages);
    assert!(answers <= path.send, "{path:?} {way:?}");
    assert_eq!(ranks, (path.total() - messages - answers, messages + answers));
    assert_eq!(ranks, sum(way.sites.iter().map(|of| of.share).collect()));
    for (rank, timeline) in recorded.per_rank.iter().zip(&recorded.timelines) {
        let mut spans = [SimSpan::ZERO; 5];
        timeline.intervals().for_each(|(start, of)| spans[of.state as usize] += of.until.since(start));
        let TimeParts { compute, memory: _, send, recv, wait, collective } = rank.parts;
        assert_eq!(spans, [compute, send, recv, wait, collective], "the timeline of rank {}", rank.rank);
    }
    let plain = Outcome { critical_path: None, timelines: Vec::new(), host: outcome.host.clone(), ..recorded.clone() };
    assert_eq!(*outcome, plain, "recording changes nothing");
}

/// Simulates one test script per rank with one worker thread.
///
/// # Panics
/// The function panics if the run fails.
pub fn run(platform: &Platform, scripts: &[Vec<Do>]) -> (Outcome, Vec<(Rank, Saw)>) {
    run_with(platform, scripts, 1).expect("the scripts run to their end")
}

/// Returns the final virtual clocks of the ranks in nanoseconds.
pub fn clocks(platform: &Platform, scripts: &[Vec<Do>]) -> Vec<u64> {
    run(platform, scripts).0.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect()
}
