//! Runs a program ahead of virtual time: its code goes on as soon as the data that it waits for are there, whenever in
//! virtual time they come.
//!
//! What a receive from a stated source gets does not depend on time: a pair's messages are matched in the order sent.
//! So a program is given such data at once, by early messages from rank to rank ([`Mailboxes`]), and its calls are
//! queued for the engine, which is told their sizes and decides their times. The engine's messages carry tickets in
//! place of data; it must come to the same matches, which is checked. What does depend on time waits for the engine:
//! receives from any source and all that are posted after them in their context, tests, probes, cancelling, waiting for
//! one of several, and looking at the clock (a [`Call::Compute`] of no length).
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

use super::call::{
    COMPLETE, Call, CallSite, Called, Completion, Context, Message, Pattern, Program, Rank, Reply, ReplyKind,
    RequestId, Requests, Served,
};
use crate::profile::StepSource;
use crate::units::{Bytes, SimSpan, SimTime};
use mailbox::{Mailbox, ReceiveId};
pub use mailboxes::{Doorbell, EarlyMessage, Mailboxes};
use program::Nobody;

/// Messages in contexts from here on carry their data in virtual time: adapters serve them, or answer with them.
pub const CARRIED: Context = 1 << 31;

/// As many calls may wait for the engine.
const MOST_QUEUED: usize = 4096;

/// A program that runs ahead.
pub struct RunAhead {
    /// Calls for the engine; requests have this task's own names.
    queue: VecDeque<Queued>,
    /// What the reply to the call at the engine is for.
    asked: ReplyUse,
    /// What the program waits for.
    state: AheadState,
    /// Its requests by their own names.
    requests: Vec<Kind>,
    free: Vec<RequestId>,
    /// The engine's names for them; it hears of requests later than the program.
    names: Vec<RequestId>,
    /// The numbers of messages that the engine has still to match as they were matched here.
    matched: VecDeque<u64>,
    rank: Rank,
    /// Its clock as far as the engine has come.
    clock: SimTime,
    mailbox: Arc<Mutex<Mailbox>>,
    mailboxes: Arc<Mailboxes>,
    doorbell: Arc<Doorbell>,
    /// Where the call at the engine was made.
    site: CallSite,
    /// What is told of the collective that the call at the engine enters, where that is wanted.
    called: Option<Called>,
    // Last: what strands in the queue point to.
    program: Box<dyn Program>,
}

/// A call for the engine.
#[derive(Debug)]
struct Queued {
    call: Call,
    /// The request it starts.
    starts: Option<RequestId>,
    /// Where the program made it.
    site: CallSite,
    /// What [`Program::called`] tells of it.
    called: Option<Called>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Send,
    Receive(ReceiveId),
    Strand,
}

/// What the reply to the call at the engine is for.
#[derive(Debug)]
enum ReplyUse {
    /// Nothing, unless it has completions: their tickets say what the program knows already.
    Nothing,
    /// The engine's name of a request.
    Start(RequestId),
    /// The program.
    Reply,
}

/// What the program waits for.
#[derive(Debug)]
enum AheadState {
    /// Its turn to begin.
    Begin,
    /// Its turn to go on with the answer Done.
    Done,
    /// Its turn to go on with a request.
    Started(RequestId),
    /// The data of receives.
    Data(AheadWait),
    /// The engine's reply, which completes these.
    Engine(AheadWait),
    /// Nothing any more.
    Ended,
}

/// A call that completes requests.
#[derive(Debug)]
enum AheadWait {
    /// Completes all of them and tells the program.
    All(Requests),
    /// Completes all of them.
    Quietly(Requests),
    /// A receive without a request.
    Receive(ReceiveId),
    /// Completes those of them that the engine says.
    Some(Requests),
    /// Nothing is completed: the reply is passed on.
    Nothing,
}

impl RunAhead {
    /// Runs `program`, which is rank `rank`, ahead; `mailboxes` is that of all ranks.
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

    /// The rank's mailbox with all early messages that have come.
    fn collected(&self) -> MutexGuard<'_, Mailbox> {
        let mut mailbox = self.mailbox();
        self.mailboxes.collect(self.rank, |message| mailbox.arrive(message));
        mailbox
    }

    /// Runs the program until it must wait, or the queue is full.
    fn run(&mut self) {
        while self.queue.len() < MOST_QUEUED {
            let mut completions: Vec<Completion> = Vec::new();
            let kind = match std::mem::replace(&mut self.state, AheadState::Ended) {
                AheadState::Begin => ReplyKind::Begin,
                AheadState::Done => ReplyKind::Done,
                AheadState::Started(id) => ReplyKind::Started(id),
                AheadState::Data(wait) => match self.complete(&wait, &mut completions) {
                    Completed::Told => ReplyKind::Completed(&mut completions),
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

    /// Completes `wait` without the engine, if all data are there.
    fn complete(&mut self, wait: &AheadWait, completions: &mut Vec<Completion>) -> Completed {
        let mut mailbox = self.collected();
        let (ids, told) = match wait {
            AheadWait::Receive(receive) if mailbox.has(*receive) => {
                let message = mailbox.take(*receive);
                drop(mailbox);
                self.matched.push_back(message.number);
                completions.push(message.completion(0));
                return Completed::Told;
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
            Completed::Told
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

    /// Posts the data of `message`, which gets a ticket in their place.
    fn send(&self, message: &mut Message) {
        let &mut Message { to, context, tag, size, .. } = message;
        if context < CARRIED {
            let (number, ticket) = self.mailbox().ticket();
            let data = message.payload.replace(ticket);
            self.mailboxes.send(to, EarlyMessage { source: self.rank, context, tag, size, number, data });
        }
    }

    /// The program has made `call`: queues it, and decides what the program waits for.
    fn take(&mut self, call: Call) {
        let mut call = call;
        let mut starts = None;
        self.state = match &mut call {
            &mut Call::Compute(SimSpan::ZERO) => AheadState::Engine(AheadWait::Nothing),
            Call::Compute(_) | Call::Work(_) | Call::Code(_) | Call::Data(_) => AheadState::Done,
            Call::Enter(_) | Call::Leave | Call::Yield => AheadState::Done,
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
        // What the engine decides it must say.
        if let (AheadState::Engine(AheadWait::Quietly(_)), Call::Complete(ids)) = (&self.state, &mut call) {
            call = Call::WaitAll(std::mem::take(ids));
        }
        let called = if let Call::Enter(_) = call { self.program.called() } else { None };
        self.queue.push_back(Queued { call, starts, site: self.program.site(), called });
    }

    /// Waits for a receive without a request.
    fn receive(&mut self, pattern: Pattern) -> AheadState {
        let mut mailbox = self.collected();
        let receive = mailbox.receive(pattern);
        let wait = AheadWait::Receive(receive);
        if mailbox.is_deferred(receive) { AheadState::Engine(wait) } else { AheadState::Data(wait) }
    }

    /// Waits for data, or for the engine if anything among the requests is for it to decide.
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

    /// The engine has replied to the call that the program waits in: gives it its data, and goes on.
    fn answer(&mut self, reply: &mut Reply<'_>) {
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
        let call = self.program.next(Reply { clock: self.clock, kind });
        self.take(call);
    }

    /// The engine completed what the program knows to be complete: it must have found the same messages.
    fn check(&mut self, completions: &mut [Completion]) {
        for completion in completions {
            if let Some(ticket) = completion.payload.take() {
                let number = self.mailbox().redeem(ticket);
                let expected = self.matched.pop_front();
                assert_eq!(Some(number), expected, "the engine matched another message than the program was given");
            }
        }
    }

    /// Whether the program is in the call that is at the engine.
    fn is_in_step(&self) -> bool {
        self.queue.is_empty()
    }

    /// The next call for the engine, by its names.
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

/// What became of a wait.
enum Completed {
    Told,
    Quietly,
    NotYet,
}

fn sent(rank: Rank, index: u32) -> Completion {
    Completion { index, source: rank, tag: 0, size: Bytes::ZERO, payload: None, cancelled: false }
}
