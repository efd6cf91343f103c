//! Program of a rank that repeats the actions of its log.

mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::call::{CallClass, JoinedCall, LogCall, MessageEnd, NeighbourCall, SizesOf};
use super::cursor::LogCursor;
use super::function::LoggedFunction;
use super::handover::Handover;
use super::rank_log::RankLog;
use super::resolve::{ResolvedLog, SELF};
use super::threads::{NONE, ThreadMessage};
use crate::mpi::{CallForm, CollectiveCall, CommMember, Elements, Group, Runner, Sizes, Strand, rule_size};
use crate::platform::Collective;
use crate::rank::{
    Call, CallSite, Called, CollectiveEntry, Describe, FailureKind, Message, Pattern, Program, ProgramError, Rank,
    Reply, ReplyKind, RequestId, Requests, SendMode, Source, Tag, TagPattern,
};
use crate::trace::Machine;
use crate::trace::cores::{SharedCores, wait_for_own_time};
use crate::units::{Bytes, SimSpan};
use source::{CallSource, DueCall, RankTables};

/// A communicator, and the number of collectives that the rank has begun on the communicator.
#[derive(Debug)]
struct KnownComm {
    comm: CommMember,
    begun: u32,
}

/// Program of a rank of a recorded real run, or of a thread of the rank.
#[derive(Debug)]
pub struct LogProgram {
    source: CallSource,
    resolved: Arc<ResolvedLog>,
    machine: Machine,
    /// Factor by which times of the program's code are multiplied.
    factor: f64,
    rank: Rank,
    tables: RankTables,
    /// The tables of a rank with threads, while no thread makes a call.
    shared: Option<Arc<Mutex<RankTables>>>,
    /// Cores of the rank, if its threads take turns.
    cores: Option<SharedCores>,
    /// Threads that start at the beginning.
    unstarted: Vec<u32>,
    slots: Vec<Option<RequestId>>,
    due: Option<DueCall>,
    /// Index and request of the present call of a thread.
    present: (u32, u32),
    state: LogStep,
    function: Option<LoggedFunction>,
    /// Number of receives that the rank has posted so far. `late` is the number of these receives whose message is a
    /// late value.
    posted: u64,
    late: usize,
    made: u64,
}

/// Purpose of the last engine call of the program.
#[derive(Debug)]
enum LogStep {
    /// The program ignores the reply to the call.
    Free,
    /// The call starts the request of this request slot.
    Starting(u32),
    /// The call belongs to the collective in progress.
    Collective(Box<Runner<Elements>>),
    /// The call belongs to an exchange with neighbours. The fields are the remaining calls and the started requests.
    Near(Vec<Call>, Requests),
    /// The program has made all calls of the exchange with neighbours.
    Leaving,
    /// The call hands a request over to another thread of the rank.
    Handover(Handover),
}

impl LogProgram {
    /// Creates the program of a rank whose times of code are multiplied by the factor of `details`. Its threads share the
    /// cores of `details`, if they take turns.
    pub(super) fn new(
        log: Arc<RankLog>,
        resolved: Arc<ResolvedLog>,
        machine: Machine,
        details: (f64, Option<SharedCores>),
    ) -> Self {
        let (factor, cores) = details;
        let (rank, ranks) = (log.info.rank, log.info.ranks);
        let known = |id, rank, group| KnownComm { comm: CommMember::new(id, rank, group), begun: 0 };
        let world = known(0, rank, Group::Strided { first: 0, stride: 1, size: ranks });
        let own = known(SELF, 0, Group::Strided { first: rank, stride: 1, size: 1 });
        let mut comms = BTreeMap::from([(0, world), (SELF, own)]);
        let mut program = match &resolved.threads {
            None => LogProgram::of(CallSource::Log(LogCursor::new(log)), resolved, machine, (factor, rank)),
            Some(of) => {
                comms.extend(
                    of.comms.iter().map(|(number, comm)| (*number, KnownComm { comm: comm.clone(), begun: 0 })),
                );
                let (unstarted, source) =
                    (of.uncreated.clone(), CallSource::Thread { of: of.clone(), number: 0, at: 0 });
                let program = LogProgram::of(source, resolved, machine, (factor, rank));
                LogProgram { shared: Some(Arc::default()), unstarted, ..program }
            }
        };
        program.tables.comms = comms;
        program.cores = cores;
        program.exchange_tables();
        program
    }

    fn of(source: CallSource, resolved: Arc<ResolvedLog>, machine: Machine, (factor, rank): (f64, Rank)) -> Self {
        LogProgram {
            source,
            resolved,
            machine,
            factor,
            rank,
            tables: RankTables::default(),
            shared: None,
            cores: None,
            unstarted: Vec::new(),
            slots: Vec::new(),
            due: None,
            present: (NONE, NONE),
            state: LogStep::Free,
            function: None,
            posted: 0,
            late: 0,
            made: 0,
        }
    }

    fn message(&self, mail: &MessageEnd, function: LoggedFunction) -> Option<Message> {
        let comm = &self.tables.comms[&mail.comm].comm;
        let ThreadMessage { peer, context, tag } = self.matched(0, || {
            let (context, tag) = (comm.point_to_point(), mail.tag.unwrap_or(0));
            Some(ThreadMessage { peer: comm.world(mail.peer?), context, tag })
        })?;
        let mode = match function.name() {
            "MPI_Ssend" | "MPI_Issend" => SendMode::Synchronous,
            "MPI_Bsend" | "MPI_Ibsend" => SendMode::Buffered,
            _ => SendMode::Standard,
        };
        Some(Message {
            to: peer,
            context,
            tag,
            size: Bytes::new(mail.bytes),
            mode,
            payload: None,
            buffer: mail.stated(),
        })
    }

    /// Pattern of a receive or probe, whose message has the index `place` among those of the present call.
    fn pattern(&self, mail: &MessageEnd, place: u32) -> Option<Pattern> {
        let comm = &self.tables.comms[&mail.comm].comm;
        let ThreadMessage { peer, context, tag } = self.matched(place, || {
            Some(ThreadMessage { peer: comm.world(mail.peer?), context: comm.point_to_point(), tag: mail.tag? })
        })?;
        Some(Pattern {
            from: Source::Rank(peer),
            context,
            tag: TagPattern::Tag(tag),
            capacity: Bytes::MAX,
            buffer: mail.stated(),
        })
    }

    /// Message of the receive that is posted now; `None` if the receive gets no message. If the receive has no fixed
    /// source or tag, the message is a late value.
    fn posts(&mut self, mail: &MessageEnd) -> Option<MessageEnd> {
        self.posted += 1;
        self.resolved.posted(self.posted - 1, &mut self.late, mail)
    }

    /// Number of earlier collectives on `comm`.
    fn sequence(&mut self, comm: u32) -> u32 {
        if self.shared.is_some() {
            return self.present.0;
        }
        let known = self.tables.comms.get_mut(&comm).expect("communicators were checked");
        let sequence = known.begun;
        known.begun = known.begun.wrapping_add(1);
        sequence
    }

    /// Creates the execution of a collective on `comm`.
    fn runner(
        &mut self,
        comm: u32,
        (call, form): (CollectiveCall, CallForm),
        element: u32,
        in_order: bool,
    ) -> Result<Runner<Elements>, String> {
        let sequence = self.sequence(comm);
        let rules = &self.machine.platform.collectives;
        Runner::new((call, form), rules, self.machine.cost, sequence, Elements { size: element, in_order })
    }

    fn join(&mut self, call: &LogCall, joined: &JoinedCall) -> Option<Call> {
        let collective = call.collective().unwrap_or(Collective::Barrier);
        let comm = self.tables.comms[&joined.comm].comm.clone();
        let sizes = match &joined.sizes {
            // In MPI_Reduce_scatter_block, all ranks have blocks of the same size.
            SizesOf::Same(size) if collective == Collective::ReduceScatter => {
                Sizes::Each(vec![Bytes::new(*size); comm.size() as usize].into())
            }
            SizesOf::Same(size) => Sizes::Same(Bytes::new(*size)),
            SizesOf::Each(sizes) => Sizes::Each(sizes.clone()),
        };
        let whole = CollectiveCall { collective, comm, root: joined.root, sizes, algorithm: None };
        let (name, bytes) = (call.function.name(), rule_size(&whole));
        let form = if joined.slot.is_none() { CallForm::Blocking } else { CallForm::NonBlocking };
        match self.runner(joined.comm, (whole, form), joined.element, joined.in_order) {
            Err(what) => Some(self.fail(what)),
            Ok(runner) => match joined.slot {
                None => {
                    let entry = CollectiveEntry { name, method: Some(runner.method()), bytes };
                    self.state = LogStep::Collective(Box::new(runner));
                    Some(Call::Enter(entry))
                }
                Some(slot) => self.start(slot, Some(Call::Start(Box::new(Strand::new(runner, name, bytes))))),
            },
        }
    }

    /// Calls by which the members of a communicator agree on a new communicator, and the new communicator.
    fn make_comm(
        &mut self,
        function: LoggedFunction,
        parent: u32,
        telling: u8,
        made: Option<&super::NewComm>,
    ) -> Option<Call> {
        if let Some(made) = made {
            let member = made.group.member(self.rank).expect("members were checked");
            let comm = CommMember::new(self.resolved.comms[&made.number], member, made.group.clone());
            self.tables.comms.insert(made.number, KnownComm { comm, begun: 0 });
        }
        let (collective, size) = if telling == 1 { (Collective::Allgather, 12) } else { (Collective::Allreduce, 4) };
        let among = match (telling, made) {
            (2, Some(made)) => made.number,
            (2, None) | (3, _) => return None,
            _ => parent,
        };
        let comm = self.tables.comms[&among].comm.clone();
        let call = CollectiveCall { collective, comm, root: 0, sizes: Sizes::Same(Bytes::new(size)), algorithm: None };
        match self.runner(among, (call, CallForm::Blocking), 4, false) {
            Ok(runner) => {
                self.state = LogStep::Collective(Box::new(runner));
                Some(Call::Enter(CollectiveEntry::named(function.name())))
            }
            Err(what) => Some(self.fail(what)),
        }
    }

    fn exchange_near(&mut self, function: LoggedFunction, near: &NeighbourCall) -> Option<Call> {
        // The tag differs from the tags of collectives, whose low bits are below 15.
        let tag: Tag = self.sequence(near.comm) << 4 | 15;
        let comm = &self.tables.comms[&near.comm].comm;
        let context = comm.collective();
        let receives = near.sources.iter().flatten().map(|&from| {
            let from = Source::Rank(comm.world(from));
            Call::Irecv(Pattern {
                from,
                context,
                tag: TagPattern::Tag(tag),
                capacity: Bytes::MAX,
                buffer: Default::default(),
            })
        });
        let sends = near.destinations.iter().filter_map(|&(to, bytes)| {
            let (to, size) = (comm.world(to?), Bytes::new(bytes));
            Some(Call::Isend(Message {
                to,
                context,
                tag,
                size,
                mode: SendMode::Standard,
                payload: None,
                buffer: Default::default(),
            }))
        });
        let mut calls: Vec<Call> = receives.chain(sends).collect();
        calls.reverse();
        self.state = LogStep::Near(calls, Requests::new());
        Some(Call::Enter(CollectiveEntry::named(function.name())))
    }

    fn fail(&self, what: String) -> Call {
        let place = self.position().unwrap_or_default();
        Call::Fail(Box::new(ProgramError { kind: FailureKind::Description, place, what }))
    }

    /// Returns the engine call for the recorded call `call`; `None` if `call` has no effect on other ranks.
    fn perform(&mut self, call: &LogCall) -> Option<Call> {
        let function = call.function;
        match &call.what {
            CallClass::Nothing | CallClass::Refused | CallClass::Thread(_) => None,
            CallClass::Create(thread) => {
                let of = self.threads()?.clone();
                self.state = LogStep::Starting(NONE);
                Some(self.start_thread(&of, *thread))
            }
            CallClass::Join(_) => self.wait(1),
            CallClass::Send(mail) => self.message(mail, function).map(Call::Send),
            CallClass::Recv(mail) => self.pattern(mail, 0).map(Call::Recv),
            CallClass::Isend(slot, mail) => {
                let call = self.message(mail, function).map(Call::Isend);
                self.start(*slot, call)
            }
            CallClass::Irecv(slot, mail) => {
                let mail = if self.shared.is_some() { Some(*mail) } else { self.posts(mail) };
                let call = mail.and_then(|mail| self.pattern(&mail, 0)).map(Call::Irecv);
                self.start(*slot, call)
            }
            CallClass::Exchange(both) => match (self.message(&both.0, function), self.pattern(&both.1, 1)) {
                (Some(sent), Some(received)) => Some(Call::Exchange(sent, received)),
                (Some(sent), None) => Some(Call::Send(sent)),
                (None, Some(received)) => Some(Call::Recv(received)),
                (None, None) => None,
            },
            CallClass::Probe(mail) => self.pattern(mail, 0).map(Call::Probe),
            CallClass::Wait { slots, .. } if self.shared.is_some() => self.wait(slots.len()),
            CallClass::Wait { slots, .. } => {
                let request = |slot: &u32| self.slots.get_mut(*slot as usize)?.take();
                let requests: Requests = slots.iter().filter_map(request).collect();
                (!requests.is_empty()).then_some(Call::Complete(requests))
            }
            CallClass::Release(slot) => {
                if self.shared.is_some() {
                    self.tables.requests.release(self.present.1);
                } else if let Some(slot) = slot {
                    self.set(*slot, None);
                }
                None
            }
            CallClass::Collective(joined) => self.join(call, joined),
            CallClass::Near(near) => self.exchange_near(function, near),
            CallClass::Comm { parent, telling, made } => self.make_comm(function, *parent, *telling, made.as_deref()),
        }
    }

    /// Continues the action in progress of the rank, such as a collective, if the rank has an action in progress.
    fn go_on(&mut self, reply: &mut Reply<'_>) -> Option<Call> {
        match &mut self.state {
            LogStep::Free | LogStep::Leaving => None,
            LogStep::Starting(slot) => {
                let slot = *slot;
                self.state = LogStep::Free;
                if let ReplyKind::Started(request) = reply.kind {
                    self.set(slot, Some(request));
                }
                self.hands_over().then(wait_for_own_time)
            }
            LogStep::Handover(_) => {
                let LogStep::Handover(step) = std::mem::replace(&mut self.state, LogStep::Free) else { return None };
                let of = self.threads()?.clone();
                let (call, next) = self.tables.requests.go_on(step, &reply.kind, (&of, self.rank))?;
                self.state = next.map_or(LogStep::Free, LogStep::Handover);
                Some(call)
            }
            LogStep::Collective(runner) => match runner.next_call(reply) {
                Some(call) => Some(call),
                None => {
                    self.state = LogStep::Leaving;
                    Some(Call::Leave)
                }
            },
            LogStep::Near(calls, requests) => {
                if let ReplyKind::Started(request) = reply.kind {
                    requests.push(request);
                }
                if let Some(call) = calls.pop() {
                    return Some(call);
                }
                if requests.is_empty() {
                    self.state = LogStep::Leaving;
                    return Some(Call::Leave);
                }
                Some(Call::Complete(std::mem::take(requests)))
            }
        }
    }
}

impl LogProgram {
    fn next_call(&mut self, mut reply: Reply<'_>) -> Call {
        if let Some(call) = self.go_on(&mut reply) {
            return call;
        }
        self.state = LogStep::Free;
        if let Some(thread) = self.unstarted.pop()
            && let Some(of) = self.threads()
        {
            return self.start_thread(of, thread);
        }
        loop {
            let step = match self.due.take() {
                Some(step) => step,
                None => {
                    self.function = None;
                    let Some(step) = self.next_due() else { return Call::Finish };
                    self.made += 1;
                    step
                }
            };
            let seconds = |ns: u64| ns as f64 * 1e-9;
            if step.slept > 0 {
                let span = SimSpan::from_seconds(seconds(step.slept)).unwrap_or(SimSpan::MAX);
                self.due = Some(DueCall { slept: 0, ..step });
                return Call::Compute(span);
            }
            if step.code > 0 {
                let span = SimSpan::from_seconds(seconds(step.code) * self.factor).unwrap_or(SimSpan::MAX);
                self.due = Some(DueCall { code: 0, ..step });
                return Call::Code(span);
            }
            self.function = Some(step.call.function);
            self.present = (step.index, step.request);
            if let Some(call) = self.perform(&step.call) {
                return call;
            }
        }
    }
}

impl Program for LogProgram {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.exchange_tables();
        let call = self.next_call(reply);
        self.exchange_tables();
        call
    }
}

impl Describe for LogProgram {
    fn call_name(&self) -> Option<&'static str> {
        self.function.map(LoggedFunction::name)
    }

    fn position(&self) -> Option<String> {
        Some(match self.thread() {
            Some(thread) => format!("call {} of thread {thread} of the trace", self.made),
            None => format!("call {} of the trace", self.made),
        })
    }

    /// Calls by which a thread waits for another thread are not calls of the program.
    fn is_profiled(&self) -> bool {
        !self.hands_over()
    }

    fn is_thread(&self) -> bool {
        self.thread().is_some()
    }

    fn thread(&self) -> Option<u32> {
        match self.source {
            CallSource::Thread { number, .. } => Some(number).filter(|number| *number > 0),
            CallSource::Log(_) => None,
        }
    }

    fn called(&mut self) -> Option<Called> {
        let LogStep::Collective(runner) = &self.state else { return None };
        Some(Box::new(runner.called()))
    }

    fn site(&self) -> CallSite {
        CallSite::Function(self.function.map_or("compute", LoggedFunction::name))
    }
}
