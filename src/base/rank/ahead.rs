//! Runs a program ahead of virtual time. The program continues as soon as the data for which it waits are available,
//! even if these data arrive later in virtual time.
//!
//! The data of a receive from a certain source do not depend on time, because MPI matches the messages between two
//! ranks in the order in which they were sent. The program therefore gets these data at once, in *early messages* from
//! rank to rank ([`Mailboxes`]). The program's calls are queued for the engine, which computes the virtual times of the
//! calls. The engine's messages have the same sizes but contain *tickets* instead of data. The engine must match the
//! same messages and receives as this module, which this module checks.
//!
//! The program waits for the engine in operations that depend on time: receives from any source and all later receives
//! in the same context, tests, probes, cancelling, waiting for one of several requests, and reading the clock (a
//! [`Call::Compute`] of length zero).
//!
//! ```text
//!   program ──Call──▶ RunAhead ──queue──▶ engine          data:  Ahead ──early message──▶ Ahead of the receiver
//!           ◀─Reply──       ◀──Reply──                 time:  engine ──event──▶ engine of the receiver
//! ```

mod mailbox;
mod mailboxes;
mod program;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use smallvec::SmallVec;

use super::ask::{Immediate, Simulator};
use super::call::{
    COMPLETE, Call, Completion, Context, Message, Pattern, Program, Rank, Reply, ReplyKind, RequestId, Requests, Served,
};
use super::describe::{CallSite, Called, Describe};
use crate::profile::StepSource;
use crate::units::{Bytes, SimSpan, SimTime};
pub use mailbox::{Mailbox, ReceiveId};
pub use mailboxes::{Doorbell, EarlyMessage, Mailboxes};
use program::Nobody;

/// Least context whose messages contain their data instead of tickets. A rank's service handles these messages or sends
/// them as answers.
pub const CARRIED: Context = 1 << 31;

/// Greatest number of calls queued for the engine.
const MOST_QUEUED: usize = 4096;

/// Wrapper that runs a program ahead of virtual time.
pub struct RunAhead {
    /// Calls that wait for the engine. Requests in these calls have the identifiers that this wrapper assigned.
    queue: VecDeque<Queued>,
    /// How the reply to the call that the engine executes at present is used.
    asked: ReplyUse,
    /// Event for which the program waits.
    state: AheadState,
    /// Requests of the program, indexed by the identifiers that this wrapper assigned.
    requests: Vec<Kind>,
    free: Vec<RequestId>,
    /// For each request, the identifier that the engine assigned. The engine starts a request later than the program.
    names: Vec<RequestId>,
    /// Sequence numbers of the early messages that were matched, in the order in which the engine has to match the
    /// corresponding messages.
    matched: VecDeque<u64>,
    rank: Rank,
    /// Clock of the rank in the engine. The program's code is ahead of this clock.
    clock: SimTime,
    mailbox: Arc<Mutex<Mailbox>>,
    mailboxes: Arc<Mailboxes>,
    doorbell: Arc<Doorbell>,
    /// Source position of the call that the engine executes at present.
    site: CallSite,
    /// Description of the collective that the engine's present call enters, if collectives are recorded.
    called: Option<Called>,
    // The program is the last field and thus dropped last, because strands in the queue contain pointers into the
    // program.
    program: Box<dyn Program>,
}

/// A call of the program that waits in the queue for the engine.
#[derive(Debug)]
struct Queued {
    call: Call,
    /// Identifier of the request that the call starts, if any.
    starts: Option<RequestId>,
    /// Source position of the call.
    site: CallSite,
    /// Description of the collective that the call enters: the result of [`Program::called`].
    called: Option<Called>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Send,
    Receive(ReceiveId),
    Strand,
}

/// How the reply to the call that the engine executes at present is used.
#[derive(Debug)]
enum ReplyUse {
    /// The reply is ignored, except for tickets in its completions, because the program already has the result.
    Nothing,
    /// The reply states the engine's identifier of this request.
    Start(RequestId),
    /// The engine's reply is passed to the program.
    Reply,
}

/// Event for which the program waits.
#[derive(Debug)]
enum AheadState {
    /// The program waits for its first turn of execution.
    Begin,
    /// The program waits for its next turn of execution, and then gets the reply Done.
    Done,
    /// The program waits for its next turn of execution, and then gets this started request as reply.
    Started(RequestId),
    /// The program waits for the data of receives.
    Data(AheadWait),
    /// The program waits for a reply of the engine, which completes these requests.
    Engine(AheadWait),
    /// The program has ended and waits for no event.
    Ended,
}

/// A call that completes requests of the program.
#[derive(Debug)]
enum AheadWait {
    /// Completes all requests and passes their completions to the program.
    All(Requests),
    /// Completes all requests without passing their completions to the program.
    Quietly(Requests),
    /// Completes a blocking receive, which has no request.
    Receive(ReceiveId),
    /// Completes the requests that the engine reports as complete.
    Some(Requests),
    /// Completes no request. The engine's reply is passed to the program.
    Nothing,
}

impl RunAhead {
    /// Creates a wrapper that runs `program` of rank `rank` ahead. `mailboxes` are the mailboxes of all ranks.
    pub fn new(program: Box<dyn Program>, rank: Rank, mailboxes: Arc<Mailboxes>) -> Self {
        RunAhead::task(program, rank, mailboxes, Arc::default())
    }

    fn task(program: Box<dyn Program>, rank: Rank, mailboxes: Arc<Mailboxes>, mailbox: Arc<Mutex<Mailbox>>) -> Self {
        RunAhead {
            queue: VecDeque::new(),
            asked: ReplyUse::Nothing,
            state: AheadState::Begin,
            requests: Vec::new(),
            free: Vec::new(),
            names: Vec::new(),
            matched: VecDeque::new(),
            rank,
            clock: SimTime::ZERO,
            mailbox,
            mailboxes,
            doorbell: Arc::default(),
            site: CallSite::Unknown,
            called: None,
            program,
        }
    }

    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().expect("no task of a rank panics with its mailbox")
    }

    /// Returns the mailbox of the rank, with all early messages that have arrived.
    fn collected(&self) -> MutexGuard<'_, Mailbox> {
        let mut mailbox = self.mailbox();
        self.mailboxes.collect(self.rank, |message| mailbox.arrive(message));
        mailbox
    }

    /// Runs the program until the program must wait or the queue of calls is full.
    fn run(&mut self) {
        while self.queue.len() < MOST_QUEUED {
            let mut completions: Vec<Completion> = Vec::new();
            let kind = match std::mem::replace(&mut self.state, AheadState::Ended) {
                AheadState::Begin => ReplyKind::Begin,
                AheadState::Done => ReplyKind::Done,
                AheadState::Started(id) => ReplyKind::Started(id),
                AheadState::Data(wait) => match self.complete(&wait, &mut completions) {
                    Completed::Reported => ReplyKind::Completed(&mut completions),
                    Completed::Quietly => ReplyKind::Done,
                    Completed::NotYet => {
                        self.state = AheadState::Data(wait);
                        return;
                    }
                },
                state @ (AheadState::Engine(_) | AheadState::Ended) => {
                    self.state = state;
                    return;
                }
            };
            let call = self.program.next(Reply { clock: self.clock, kind });
            self.take(call);
        }
    }

    fn receive_of(&self, id: RequestId) -> Option<ReceiveId> {
        match self.requests.get(id as usize) {
            Some(Kind::Receive(receive)) => Some(*receive),
            _ => None,
        }
    }

    /// Completes the requests of `wait` without the engine, if all data are available.
    fn complete(&mut self, wait: &AheadWait, completions: &mut Vec<Completion>) -> Completed {
        let mut mailbox = self.collected();
        let (ids, told) = match wait {
            AheadWait::Receive(receive) if mailbox.has(*receive) => {
                let message = mailbox.take(*receive);
                drop(mailbox);
                self.matched.push_back(message.number);
                completions.push(message.completion(0));
                return Completed::Reported;
            }
            AheadWait::All(ids) => (ids, true),
            AheadWait::Quietly(ids) => (ids, false),
            AheadWait::Receive(_) | AheadWait::Some(_) | AheadWait::Nothing => return Completed::NotYet,
        };
        if !ids.iter().filter_map(|&id| self.receive_of(id)).all(|receive| mailbox.has(receive)) {
            return Completed::NotYet;
        }
        let mut numbers: SmallVec<[u64; 8]> = SmallVec::new();
        for (index, &id) in (0..).zip(ids) {
            match self.receive_of(id).map(|receive| mailbox.take(receive)) {
                Some(message) => {
                    numbers.push(message.number);
                    completions.push(message.completion(index));
                }
                None => completions.push(sent(self.rank, index)),
            }
        }
        drop(mailbox);
        ids.iter().for_each(|&id| self.release(id));
        if told {
            self.matched.extend(numbers);
            Completed::Reported
        } else {
            Completed::Quietly
        }
    }

    fn add(&mut self, kind: Kind) -> RequestId {
        match self.free.pop() {
            Some(id) => {
                self.requests[id as usize] = kind;
                id
            }
            None => {
                self.requests.push(kind);
                self.names.push(COMPLETE);
                self.requests.len() as RequestId - 1
            }
        }
    }

    fn release(&mut self, id: RequestId) {
        if id != COMPLETE {
            self.free.push(id);
        }
    }

    /// Sends the data of `message` as an early message and replaces the data by a ticket.
    fn send(&self, message: &mut Message) {
        let &mut Message { to, context, tag, size, .. } = message;
        if context < CARRIED {
            let (number, ticket) = self.mailbox().ticket();
            let data = message.payload.replace(ticket);
            self.mailboxes.send(to, EarlyMessage { source: self.rank, context, tag, size, number, data });
        }
    }

    /// Queues the program's call `call` for the engine and determines the event for which the program waits.
    fn take(&mut self, call: Call) {
        let mut call = call;
        let mut starts = None;
        self.state = match &mut call {
            &mut Call::Compute(SimSpan::ZERO) => AheadState::Engine(AheadWait::Nothing),
            Call::Compute(_) | Call::Work(_) | Call::Code(_) | Call::Data(_) => AheadState::Done,
            Call::Enter(_) | Call::Leave | Call::Mark(_) | Call::Yield => AheadState::Done,
            Call::Send(message) => {
                self.send(message);
                AheadState::Done
            }
            Call::Isend(message) => {
                self.send(message);
                AheadState::Started(*starts.insert(self.add(Kind::Send)))
            }
            Call::Irecv(pattern) => {
                let receive = self.collected().receive(*pattern);
                AheadState::Started(*starts.insert(self.add(Kind::Receive(receive))))
            }
            Call::Recv(pattern) => self.receive(*pattern),
            Call::Exchange(message, pattern) => {
                self.send(message);
                self.receive(*pattern)
            }
            Call::WaitAll(ids) => self.wait(AheadWait::All(ids.clone())),
            Call::Complete(ids) => self.wait(AheadWait::Quietly(ids.clone())),
            Call::WaitAny(ids) | Call::Test { requests: ids, .. } => AheadState::Engine(AheadWait::Some(ids.clone())),
            Call::Idle(_) | Call::Probe(_) | Call::Iprobe(_) => AheadState::Engine(AheadWait::Nothing),
            Call::Cancel(id) => {
                if let Some(receive) = self.receive_of(*id) {
                    self.collected().defer(receive);
                }
                AheadState::Engine(AheadWait::Nothing)
            }
            Call::Start(program) => {
                let inner = std::mem::replace(program, Box::new(Nobody));
                let mut strand = RunAhead::task(inner, self.rank, self.mailboxes.clone(), self.mailbox.clone());
                strand.run();
                *program = Box::new(strand);
                AheadState::Started(*starts.insert(self.add(Kind::Strand)))
            }
            Call::Finish | Call::Fail(_) => AheadState::Ended,
        };
        // The engine must report the completions of requests whose matching messages the engine decides.
        if let (AheadState::Engine(AheadWait::Quietly(_)), Call::Complete(ids)) = (&self.state, &mut call) {
            call = Call::WaitAll(std::mem::take(ids));
        }
        let called = if let Call::Enter(_) = call { self.program.called() } else { None };
        self.queue.push_back(Queued { call, starts, site: self.program.site(), called });
    }

    /// Posts a blocking receive, which has no request, and waits for it.
    fn receive(&mut self, pattern: Pattern) -> AheadState {
        let mut mailbox = self.collected();
        let receive = mailbox.receive(pattern);
        let wait = AheadWait::Receive(receive);
        if mailbox.is_deferred(receive) { AheadState::Engine(wait) } else { AheadState::Data(wait) }
    }

    /// Waits for data. If the engine decides the matching message of any of the requests, waits for the engine instead.
    fn wait(&self, wait: AheadWait) -> AheadState {
        let (AheadWait::All(ids) | AheadWait::Quietly(ids)) = &wait else {
            unreachable!("other waits know for whom they wait")
        };
        let mailbox = self.mailbox();
        let decided_later = |&id: &RequestId| match self.requests.get(id as usize) {
            Some(&Kind::Receive(receive)) => mailbox.is_deferred(receive),
            Some(Kind::Strand) => true,
            Some(Kind::Send) | None => false,
        };
        let engine = ids.iter().any(decided_later);
        drop(mailbox);
        if engine { AheadState::Engine(wait) } else { AheadState::Data(wait) }
    }

    /// Passes the engine's reply with the data to the waiting program. If `simulator` is present, the program makes
    /// local calls immediately, such as reads of the clock in a loop. Returns whether the program waits for the reply
    /// to a local call.
    fn answer(&mut self, reply: &mut Reply<'_>, simulator: Option<&mut dyn Simulator>) -> bool {
        let AheadState::Engine(wait) = std::mem::replace(&mut self.state, AheadState::Ended) else {
            unreachable!("the program waits for the engine")
        };
        let mut done = ReplyKind::Done;
        let kind = match (&mut reply.kind, &wait) {
            (kind, AheadWait::Nothing) => kind,
            (ReplyKind::Completed(completions), wait) => {
                let mut mailbox = self.collected();
                for completion in completions.iter_mut() {
                    let receive = match wait {
                        AheadWait::Receive(receive) => Some(*receive),
                        AheadWait::All(ids) | AheadWait::Quietly(ids) | AheadWait::Some(ids) => {
                            self.receive_of(ids[completion.index as usize])
                        }
                        AheadWait::Nothing => None,
                    };
                    if let Some(receive) = receive {
                        mailbox.finish(receive, completion);
                    }
                }
                drop(mailbox);
                if let AheadWait::All(ids) | AheadWait::Quietly(ids) | AheadWait::Some(ids) = wait {
                    completions.iter().for_each(|completion| self.release(ids[completion.index as usize]));
                }
                if matches!(wait, AheadWait::Quietly(_)) { &mut done } else { &mut reply.kind }
            }
            (kind, _) => kind,
        };
        let kind = std::mem::replace(kind, ReplyKind::Done);
        let mut reply = Reply { clock: self.clock, kind };
        let call = match simulator {
            None => Some(self.program.next(reply)),
            Some(simulator) => {
                let mut local = LocalCalls { simulator, clock: &mut self.clock };
                self.program.next_asking(&mut reply, &mut local)
            }
        };
        match call {
            Some(call) => self.take(call),
            None => {
                (self.asked, self.state) = (ReplyUse::Reply, AheadState::Engine(AheadWait::Nothing));
                return true;
            }
        }
        false
    }

    /// Checks that the engine completed the requests with the same messages as this module, and removes the tickets
    /// from the completions.
    fn check(&mut self, completions: &mut [Completion]) {
        for completion in completions {
            if let Some(ticket) = completion.payload.take() {
                let number = self.mailbox().redeem(ticket);
                let expected = self.matched.pop_front();
                assert_eq!(Some(number), expected, "the engine matched another message than the program was given");
            }
        }
    }

    /// Whether the program is inside the call that the engine executes at present.
    fn is_in_step(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the next call for the engine, with the engine's identifiers of requests.
    fn give(&mut self) -> Call {
        let Queued { mut call, starts, site, called } = self.queue.pop_front().expect("the program has made a call");
        (self.site, self.called) = (site, called);
        let names = &self.names;
        let rename = |id: &mut RequestId| *id = names.get(*id as usize).copied().unwrap_or(COMPLETE);
        match &mut call {
            Call::WaitAll(ids) | Call::Complete(ids) | Call::WaitAny(ids) | Call::Test { requests: ids, .. } => {
                ids.iter_mut().for_each(rename);
            }
            Call::Cancel(id) => rename(id),
            _ => {}
        }
        self.asked = match starts {
            Some(id) => ReplyUse::Start(id),
            None if self.queue.is_empty() && matches!(self.state, AheadState::Engine(_)) => ReplyUse::Reply,
            None => ReplyUse::Nothing,
        };
        call
    }
}

/// Interface of the engine for local calls, which affect no other task and no request.
struct LocalCalls<'a> {
    simulator: &'a mut dyn Simulator,
    /// Clock of the rank after the last local call.
    clock: &'a mut SimTime,
}

impl Simulator for LocalCalls<'_> {
    fn ask(&mut self, call: &mut Call) -> Immediate<'_> {
        let (Call::Compute(_) | Call::Code(_) | Call::Work(_) | Call::Data(_)) = call else {
            return Immediate::Refused;
        };
        let answer = self.simulator.ask(call);
        if let Immediate::Replied(reply) = &answer {
            *self.clock = reply.clock;
        }
        answer
    }

    fn count_code(&mut self, span: SimSpan, before: &'static str) {
        self.simulator.count_code(span, before);
    }
}

/// Result of an attempt to complete a wait without the engine.
enum Completed {
    Reported,
    Quietly,
    NotYet,
}

fn sent(rank: Rank, index: u32) -> Completion {
    Completion { index, source: rank, tag: 0, size: Bytes::ZERO, payload: None, cancelled: false }
}
