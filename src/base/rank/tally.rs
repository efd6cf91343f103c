//! Profiles by function: a wrapper around each rank's program observes the program's calls without changing the run.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::ahead::Doorbell;
use super::{Call, CallSite, Called, Describe, Message, Program, Rank, Reply, ReplyKind, Served, forward_reports};
use crate::platform::{Level, Site};
use crate::profile::{FunctionCalls, MessageSort, POINT_TO_POINT, RankProfile};
use crate::units::{SimSpan, SimTime};

/// Counts of the calls of all ranks of a run, by function.
#[derive(Debug)]
pub struct Tallies {
    ranks: Vec<Mutex<Option<RankProfile>>>,
    /// Core on which each rank runs.
    cores: Vec<Site>,
    /// Whether calls are counted separately by source position.
    by_place: bool,
}

/// Source position of a program's call, and the name of the engine's call.
type Key = (CallSite, &'static str);

/// Counts of the calls of one rank. The rank's program and its strands share the counts.
type Shared = Arc<Mutex<Counted>>;

/// Counts of the calls and of the sent messages of a rank.
#[derive(Debug, Default)]
struct Counted {
    calls: FxHashMap<Key, FunctionCalls>,
    /// Number of sent messages by type (point-to-point or collective), level of the machine and size.
    sent: FxHashMap<(&'static str, Level, u64), u64>,
}

impl Counted {
    /// Counts the message that the engine's call `call` sends, if any. `kind` is the type of the message
    /// (point-to-point or collective). `key` is the program's call that sends the message.
    fn sends(&mut self, key: Key, call: &Call, kind: &'static str, (from, cores): (Rank, &[Site])) {
        if let Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) = call {
            let size = message.size.get();
            let sent = &mut self.calls.entry(key).or_default().bytes;
            *sent = sent.saturating_add(size);
            let level = Level::between(cores[from as usize], cores[message.to as usize]);
            *self.sent.entry((kind, level, size)).or_default() += 1;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tallies {
    /// Creates the counts for a run with one rank on each core of `cores`. If `by_place` is set, calls are counted
    /// separately by source position.
    pub fn new(cores: &[Site], by_place: bool) -> Self {
        Tallies { ranks: cores.iter().map(|_| Mutex::default()).collect(), cores: cores.to_owned(), by_place }
    }

    /// Wraps `program` of `rank` in a counter of its calls.
    pub fn wrap<P: Program>(self: &Arc<Self>, rank: Rank, mut program: P) -> Tallied<P> {
        program.count_calls(self.by_place);
        let counter = CallCounter::new(rank, Shared::default(), self.clone());
        Tallied { program, counter, named: RankProfile::default() }
    }

    /// Removes and returns the profiles of the ranks whose programs ran in this host process and have been dropped.
    pub fn take(&self) -> Vec<(Rank, RankProfile)> {
        (0..).zip(&self.ranks).filter_map(|(rank, calls)| Some((rank, locked(calls).take()?))).collect()
    }
}

/// A function call of a rank in progress.
#[derive(Clone, Copy, Debug)]
struct OpenCall {
    key: Key,
    since: SimTime,
    /// Index of the program's call, if the program counts its calls.
    entry: Option<u64>,
    counted: bool,
}

/// Counter of the calls of a rank's main program, or of a thread of the rank.
struct CallCounter {
    rank: Rank,
    open: Option<OpenCall>,
    /// Name of the collective in progress, if any.
    within: Option<&'static str>,
    calls: Shared,
    tallies: Arc<Tallies>,
}

/// Wrapper that counts the calls of a program.
pub struct Tallied<P> {
    program: P,
    counter: CallCounter,
    /// Counts by function name, available after the end of the program.
    named: RankProfile,
}

/// Default function name for the engine's call `call`, for programs that do not name their calls. `None` for an engine
/// call that is not a call of the program.
fn own_name(call: &Call) -> Option<&'static str> {
    Some(match call {
        Call::Send(_) => "send",
        Call::Recv(_) => "recv",
        Call::Exchange(..) => "sendrecv",
        Call::Isend(_) => "isend",
        Call::Irecv(_) => "irecv",
        Call::WaitAll(_) | Call::Complete(_) => "waitall",
        Call::WaitAny(_) => "waitany",
        Call::Test { .. } => "test",
        Call::Cancel(_) => "cancel",
        Call::Probe(_) => "probe",
        Call::Iprobe(_) => "iprobe",
        Call::Enter(entry) => entry.name,
        Call::Start(_) => "start",
        Call::Compute(_) | Call::Work(_) | Call::Code(_) | Call::Data(_) => return None,
        Call::Idle(_) | Call::Leave | Call::Mark(_) | Call::Yield | Call::Finish | Call::Fail(_) => return None,
    })
}

impl CallCounter {
    fn new(rank: Rank, calls: Shared, tallies: Arc<Tallies>) -> CallCounter {
        CallCounter { rank, open: None, within: None, calls, tallies }
    }

    /// Ends the function call in progress at virtual time `at`.
    fn close(&mut self, at: SimTime) {
        let Some(open) = self.open.take() else { return };
        if open.counted {
            locked(&self.calls).calls.entry(open.key).or_default().record(at.since(open.since));
        }
    }

    /// Source position and name of `call`; `None` for an engine call that is not a call of the program.
    fn key<P: Program>(program: &P, call: &Call) -> Option<Key> {
        let own = own_name(call)?;
        Some(match (call, program.site()) {
            (_, step @ CallSite::Step(_)) => (step, own),
            (Call::Enter(entry), CallSite::Place(_, place)) => (CallSite::Place(entry.name, place), ""),
            (Call::Enter(entry), _) => (CallSite::Function(entry.name), ""),
            (_, known @ (CallSite::Function(_) | CallSite::Place(..))) => (known, ""),
            (_, CallSite::Unknown) => (CallSite::Unknown, own),
        })
    }

    /// Counts `call`, which `program` has made after a reply at the virtual time `clock`. Wraps a strand that the call
    /// starts in a counter.
    fn count<P: Program>(&mut self, program: &P, call: Call, (clock, is_begin): (SimTime, bool)) -> Call {
        let entry = program.entry();
        // One MPI function of a real program may make several engine calls.
        let goes_on = self.open.is_some_and(|open| self.within.is_some() || (entry.is_some() && open.entry == entry));
        if !goes_on || is_begin {
            self.close(clock);
        }
        match &call {
            Call::Enter(entry) if !goes_on => self.within = Some(entry.name),
            Call::Leave => self.within = None,
            _ => {}
        }
        let computes = matches!(call, Call::Compute(_) | Call::Work(_) | Call::Code(_)) && self.within.is_none();
        if self.open.is_none() && !computes {
            let counted = program.is_profiled();
            self.open = CallCounter::key(program, &call).map(|key| OpenCall { key, since: clock, entry, counted });
        } else if computes && entry.is_none() {
            self.close(clock);
        }
        if let Some(open) = self.open.filter(|open| open.counted) {
            let (kind, place) = (self.within.unwrap_or(POINT_TO_POINT), (self.rank, &self.tallies.cores[..]));
            locked(&self.calls).sends(open.key, &call, kind, place);
        }
        match (call, self.open.filter(|open| open.counted)) {
            (Call::Start(program), _) if program.thread().is_some() => {
                let counter = CallCounter::new(self.rank, self.calls.clone(), self.tallies.clone());
                Call::Start(Box::new(TalliedThread { program, counter }))
            }
            (Call::Start(program), Some(open)) => Call::Start(Box::new(TalliedStrand {
                program,
                key: open.key,
                within: None,
                rank: self.rank,
                calls: self.calls.clone(),
                tallies: self.tallies.clone(),
            })),
            (call, _) => call,
        }
    }
}

impl<P: Program> Tallied<P> {
    /// Converts the counts by source position to counts by function name, at the end of the program.
    fn end(&mut self) {
        let mut counted = locked(&self.counter.calls);
        let sort = |((kind, level, bytes), count): ((&str, Level, u64), u64)| {
            (MessageSort { kind: kind.to_owned(), level, bytes }, count)
        };
        self.named.sent = counted.sent.drain().map(sort).collect();
        for ((site, own), calls) in counted.calls.drain() {
            let name = match site {
                CallSite::Function(name) | CallSite::Place(name, _) => name.to_owned(),
                CallSite::Step(step) => format!("{own} in {}", self.program.step_name(step)),
                CallSite::Unknown => own.to_owned(),
            };
            if self.counter.tallies.by_place {
                let place = match site {
                    CallSite::Place(_, place) | CallSite::Step(place) => self.program.site_name(place),
                    CallSite::Function(_) | CallSite::Unknown => String::new(),
                };
                let function = if let CallSite::Step(_) = site { own.to_owned() } else { name.clone() };
                *self.named.sites.entry((function, place)).or_default() += calls;
            }
            *self.named.calls.entry(name).or_default() += calls;
        }
        // Only the program can count calls that do not reach the simulator and take no time.
        for (name, made) in self.program.calls_made() {
            let calls = self.named.calls.entry(name.to_owned()).or_default();
            if made > calls.calls {
                (calls.calls, calls.least) = (made, SimSpan::ZERO);
            }
        }
    }
}

impl<P: Program> Program for Tallied<P> {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let at = (reply.clock, matches!(reply.kind, ReplyKind::Begin));
        let call = self.program.next(reply);
        let call = self.counter.count(&self.program, call, at);
        if let Call::Finish | Call::Fail(_) = call {
            self.end();
        }
        call
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        self.program.serve(message, answers);
    }

    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        self.program.attach(doorbell);
    }

    fn run_ahead(&mut self) {
        self.program.run_ahead();
    }
}

impl<P: Program> Describe for Tallied<P> {
    forward_reports!(self, self.program);

    fn task_log(&mut self) -> Option<Box<crate::profile::TaskLog>> {
        self.program.task_log()
    }

    fn record_collectives(&mut self) {
        self.program.record_collectives();
    }

    fn called(&mut self) -> Option<Called> {
        self.program.called()
    }
}

impl<P> Drop for Tallied<P> {
    fn drop(&mut self) {
        let calls = std::mem::take(&mut self.named);
        *locked(&self.counter.tallies.ranks[self.counter.rank as usize]) = Some(calls);
    }
}

/// A thread of a rank, whose calls are counted as those of the main program.
struct TalliedThread {
    program: Box<dyn Program>,
    counter: CallCounter,
}

impl Program for TalliedThread {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let at = (reply.clock, matches!(reply.kind, ReplyKind::Begin));
        let call = self.program.next(reply);
        self.counter.count(&self.program, call, at)
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        self.program.serve(message, answers);
    }
}

impl Describe for TalliedThread {
    forward_reports!(self, self.program);

    fn is_thread(&self) -> bool {
        true
    }

    fn thread(&self) -> Option<u32> {
        self.program.thread()
    }

    fn called(&mut self) -> Option<Called> {
        self.program.called()
    }
}

/// A strand of a rank. Its messages are counted as messages of the function that started the strand.
struct TalliedStrand {
    program: Box<dyn Program>,
    key: Key,
    within: Option<&'static str>,
    rank: Rank,
    calls: Shared,
    tallies: Arc<Tallies>,
}

impl Program for TalliedStrand {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let call = self.program.next(reply);
        match &call {
            Call::Enter(entry) => self.within = Some(entry.name),
            Call::Leave => self.within = None,
            _ => {}
        }
        let (kind, place) = (self.within.unwrap_or(POINT_TO_POINT), (self.rank, &self.tallies.cores[..]));
        locked(&self.calls).sends(self.key, &call, kind, place);
        call
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        self.program.serve(message, answers);
    }
}

impl Describe for TalliedStrand {
    forward_reports!(self, self.program);

    fn is_thread(&self) -> bool {
        self.program.is_thread()
    }

    fn thread(&self) -> Option<u32> {
        self.program.thread()
    }

    fn called(&mut self) -> Option<Called> {
        self.program.called()
    }
}
