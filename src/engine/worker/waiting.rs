//! Descriptions of the waits of unfinished ranks, for the report of a deadlock.

use mcpsim_base::rank::{COMPLETE, CallSite, Program, Rank};

use super::Worker;
use crate::error::Waiting;
use crate::requests::{RequestKind, RequestRecord, RequestState};
use crate::state::{RankState, TargetRank, TaskState, Wait};

impl<P: Program> Worker<'_, P> {
    /// Returns the unfinished ranks of the worker and their threads, with the events that each of them waits for.
    pub fn waiting(&self) -> Vec<Waiting> {
        let unfinished = self.ranks.iter().filter(|state| !matches!(state.target.main.wait, Wait::Finished));
        let mut all = Vec::new();
        for RankState { target, program, .. } in unfinished {
            all.push(waiting(target, &target.main, program));
            let threads =
                target.strands.iter().flatten().filter_map(|strand| Some((strand, strand.program.as_deref()?)));
            let threads = threads.filter(|(_, program)| program.thread().is_some());
            all.extend(threads.map(|(strand, program)| waiting(target, &strand.control, program)));
        }
        all
    }
}

/// Describes the wait of a rank's program, or of the program of a strand, whose state is `control`.
fn waiting(target: &TargetRank, control: &TaskState, program: &(impl Program + ?Sized)) -> Waiting {
    let position = program.position();
    let name = program.call_name();
    let word = |call: &str| match name {
        Some(_) => call.to_owned(),
        None => word(call),
    };
    let mut since = control.since;
    let mut awaits = Vec::new();
    let mut peers = Vec::new();
    let mut awaited_thread = None;
    let mut add = |(text, peer): (String, Option<Rank>)| {
        awaits.push(text);
        peers.extend(peer);
    };
    let call = match &control.wait {
        Wait::All { kind, requests, .. } => {
            let unfinished = requests.iter().filter(|&&id| id != COMPLETE).map(|&id| target.requests.get(id));
            unfinished.filter(|request| request.state == RequestState::Pending).for_each(|request| {
                awaited_thread = awaited_thread.or_else(|| thread_of(target, request));
                add(awaited(target, request, word));
            });
            kind.name()
        }
        Wait::Recv { kind, pattern } => {
            add(RequestRecord::receive(pattern, control.since, control.path).awaits());
            kind.name()
        }
        Wait::Flow(kind) => kind.name(),
        Wait::Any(requests) | Wait::AnyOfMany(requests) => {
            requests.iter().for_each(|&id| add(awaited(target, target.requests.get(id), word)));
            "waitany"
        }
        Wait::Probe(pattern) => {
            add(RequestRecord::receive(pattern, control.since, control.path).awaits());
            "probe"
        }
        Wait::Test { .. } => "test",
        Wait::Iprobe(_) => "iprobe",
        Wait::Cancel(_) => "cancel",
        Wait::Idle { .. } => {
            add(("a message or the end of a request".to_owned(), None));
            since = target.idle.as_ref().map_or(since, |idle| idle.since);
            "polling"
        }
        Wait::Nothing | Wait::Parked(_) | Wait::OwnTime(_) | Wait::Block(_) | Wait::Finished => "run",
    };
    // The call site of a real program is an MPI function, and the call site of a described program is a statement.
    let statement = match program.site() {
        CallSite::Step(step) => program.step_source(step).operation,
        _ => None,
    };
    let call = match (name, statement) {
        (Some(name), _) => name.to_owned(),
        (None, Some(statement)) => statement,
        (None, None) => word(control.collective.unwrap_or(call)),
    };
    let (rank, thread) = (target.rank, program.thread());
    let position = position.filter(|_| thread.is_none());
    Waiting { rank, thread, call, awaits, peers, awaited_thread, since, position }
}

/// Returns true if the thread `thread` of the rank has not ended.
fn has_thread(target: &TargetRank, thread: u32) -> bool {
    let programs = target.strands.iter().flatten().filter_map(|strand| strand.program.as_ref());
    programs.into_iter().any(|program| program.thread() == Some(thread))
}

/// Returns the thread of the rank that can complete the request: the holder of a lock, or a thread that is joined.
fn thread_of(target: &TargetRank, request: &RequestRecord) -> Option<u32> {
    match request.kind {
        RequestKind::Strand => target.strands[request.peer as usize - 1].as_ref()?.program.as_ref()?.thread(),
        _ => request.holder(),
    }
}

/// Returns the word of the application language for an MPI function: "ibcast" for "MPI_Ibcast".
fn word(call: &str) -> String {
    call.strip_prefix("MPI_").map_or_else(|| call.to_owned(), str::to_ascii_lowercase)
}

/// Describes the event that a request waits for; for the request of a strand, the events that the strand waits for.
/// `word` converts the name of the strand's call to the name in the description.
fn awaited(target: &TargetRank, request: &RequestRecord, word: impl Fn(&str) -> String) -> (String, Option<Rank>) {
    let strand = match request.kind {
        RequestKind::Strand => target.strands[request.peer as usize - 1].as_ref(),
        RequestKind::Unmatched
        | RequestKind::Matched
        | RequestKind::Cancelled
        | RequestKind::Send
        | RequestKind::Granted => None,
    };
    let Some(strand) = strand else {
        let (text, peer) = request.awaits();
        let has_ended = request.holder().is_some_and(|holder| holder > 0 && !has_thread(target, holder));
        return (if has_ended { format!("{text}, which has ended") } else { text }, peer);
    };
    let name = strand.program.as_ref().and_then(|program| program.position());
    let inner = match &strand.control.wait {
        Wait::All { requests, .. } => requests
            .iter()
            .filter(|&&id| id != COMPLETE)
            .map(|&id| target.requests.get(id))
            .find(|request| request.state == RequestState::Pending)
            .map(RequestRecord::awaits),
        _ => None,
    };
    let (text, peer) = inner.unwrap_or_else(|| request.awaits());
    (name.map_or(text.clone(), |name| format!("{}: {text}", word(&name))), peer)
}
