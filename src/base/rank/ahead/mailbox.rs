//! Early messages to a rank, and the receives that match them.

use std::collections::{HashMap, VecDeque};

use super::super::call::{Completion, Context, Pattern, Payload, Rank, Source, TagPattern};
use super::super::data::Data;
use super::CARRIED;
use super::mailboxes::EarlyMessage;

/// Index of a receive among the receives of its rank.
pub type ReceiveId = u32;

/// Greatest number of empty lanes that a mailbox stores for later use.
const IDLE_LANES: usize = 64;

/// Greatest number of unused tickets that a mailbox stores.
const MOST_SPARE: usize = 4096;

/// Early messages that have arrived for a rank, and receives that the rank has posted.
#[derive(Debug, Default)]
pub struct Mailbox {
    /// Number of early messages that the rank has sent so far.
    sent: u64,
    /// Tickets that are no longer in use, for reuse.
    spare: Vec<Data>,
    lanes: HashMap<(Context, Rank), Lane>,
    receives: Vec<Option<Receive>>,
    free: Vec<ReceiveId>,
    /// For each context, the number of receives whose matching message the engine decides. Contexts without such
    /// receives are absent.
    deferred: HashMap<Context, u32>,
}

/// A lane: early messages of one sender in one context, and the receives for these messages.
#[derive(Debug, Default)]
struct Lane {
    /// Early messages without a matching receive, in the order in which they were sent.
    messages: VecDeque<EarlyMessage>,
    /// Receives without a matching early message, in the order in which they were posted.
    posted: VecDeque<(ReceiveId, TagPattern)>,
}

#[derive(Debug)]
struct Receive {
    pattern: Pattern,
    /// Whether the engine decides the matching message of the receive.
    deferred: bool,
    message: Option<EarlyMessage>,
}

fn takes(pattern: TagPattern, message: &EarlyMessage) -> bool {
    pattern == TagPattern::Any || pattern == TagPattern::Tag(message.tag)
}

impl Mailbox {
    /// Returns the sequence number of the next early message, and the ticket that the engine carries instead of the
    /// message's data.
    pub fn ticket(&mut self) -> (u64, Data) {
        self.sent += 1;
        let mut ticket = self.spare.pop().unwrap_or_else(|| Data::from(Vec::with_capacity(8)));
        ticket.bytes_mut().extend_from_slice(&self.sent.to_le_bytes());
        (self.sent, ticket)
    }

    /// Returns the sequence number of the early message to which `ticket` belongs.
    pub fn redeem(&mut self, ticket: Data) -> u64 {
        let mut ticket = ticket;
        let number = u64::from_le_bytes(ticket[..].try_into().expect("a ticket of eight bytes"));
        ticket.bytes_mut().clear();
        if self.spare.len() < MOST_SPARE {
            self.spare.push(ticket);
        }
        number
    }

    /// Adds an early message that has arrived for the rank.
    pub fn arrive(&mut self, message: EarlyMessage) {
        let lane = self.lanes.entry((message.context, message.source)).or_default();
        match lane.posted.iter().position(|&(_, pattern)| takes(pattern, &message)) {
            Some(at) => {
                let (receive, _) = lane.posted.remove(at).expect("just found");
                self.receives[receive as usize].as_mut().expect("it waits").message = Some(message);
            }
            None => lane.messages.push_back(message),
        }
    }

    fn add(&mut self) -> ReceiveId {
        self.free.pop().unwrap_or_else(|| {
            self.receives.push(None);
            self.receives.len() as ReceiveId - 1
        })
    }

    /// Posts a receive for early messages. The engine decides its matching message.
    pub fn receive_deferred(&mut self, pattern: Pattern) -> ReceiveId {
        let id = self.add();
        if pattern.context < CARRIED {
            *self.deferred.entry(pattern.context).or_default() += 1;
        }
        self.receives[id as usize] = Some(Receive { pattern, deferred: true, message: None });
        id
    }

    /// Posts a receive for early messages.
    pub fn receive(&mut self, pattern: Pattern) -> ReceiveId {
        let Pattern { from, context, tag, .. } = pattern;
        let id = self.add();
        let mut receive = Receive { pattern, deferred: true, message: None };
        match from {
            Source::Rank(source) if context < CARRIED && !self.deferred.contains_key(&context) => {
                receive.deferred = false;
                let lane = self.lanes.entry((context, source)).or_default();
                match lane.messages.iter().position(|message| takes(tag, message)) {
                    Some(at) => receive.message = lane.messages.remove(at),
                    None => lane.posted.push_back((id, tag)),
                }
            }
            _ if context < CARRIED => *self.deferred.entry(context).or_default() += 1,
            _ => {}
        }
        self.receives[id as usize] = Some(receive);
        id
    }

    fn get(&self, id: ReceiveId) -> &Receive {
        self.receives[id as usize].as_ref().expect("a receive that is not complete")
    }

    /// Whether the engine decides the matching message of the receive.
    pub fn is_deferred(&self, id: ReceiveId) -> bool {
        self.get(id).deferred
    }

    /// Whether the early message that matches the receive has arrived.
    pub fn has(&self, id: ReceiveId) -> bool {
        self.get(id).message.is_some()
    }

    fn remove(&mut self, id: ReceiveId) -> Receive {
        self.free.push(id);
        self.receives[id as usize].take().expect("a receive that is not complete")
    }

    /// Completes a receive whose matching early message has arrived.
    pub fn take(&mut self, id: ReceiveId) -> EarlyMessage {
        let message = self.remove(id).message.expect("the message has come");
        if self.lanes.len() > IDLE_LANES {
            let key = (message.context, message.source);
            if self.lanes.get(&key).is_some_and(|lane| lane.messages.is_empty() && lane.posted.is_empty()) {
                self.lanes.remove(&key);
            }
        }
        message
    }

    /// Lets the engine decide the matching message of a receive, because the success of cancelling the receive depends
    /// on time. The same applies to all incomplete receives of the same context.
    pub fn defer(&mut self, id: ReceiveId) {
        let context = self.get(id).pattern.context;
        if context >= CARRIED {
            return;
        }
        let mut count = 0;
        for (receive, id) in self.receives.iter_mut().zip(0..) {
            let Some(receive) = receive else { continue };
            if receive.deferred || receive.pattern.context != context {
                continue;
            }
            receive.deferred = true;
            count += 1;
            let Source::Rank(source) = receive.pattern.from else { unreachable!("others are deferred anyway") };
            let lane = self.lanes.entry((context, source)).or_default();
            match receive.message.take() {
                Some(message) => {
                    let at = lane.messages.partition_point(|other| other.number < message.number);
                    lane.messages.insert(at, message);
                }
                None => lane.posted.retain(|&(other, _)| other != id),
            }
        }
        if count > 0 {
            *self.deferred.entry(context).or_default() += count;
        }
    }

    /// Replaces the ticket in the completion of a receive by the data of the message. The engine has completed the
    /// receive.
    pub fn finish(&mut self, id: ReceiveId, completion: &mut Completion) {
        let Receive { pattern, deferred, message } = self.remove(id);
        if pattern.context >= CARRIED {
            return;
        }
        let message = match deferred {
            false => message,
            true => {
                let count = self.deferred.get_mut(&pattern.context).expect("it was counted");
                *count -= 1;
                if *count == 0 {
                    self.deferred.remove(&pattern.context);
                }
                None
            }
        };
        if completion.cancelled {
            return;
        }
        let ticket: Payload = completion.payload.take();
        let number = self.redeem(ticket.expect("messages carry tickets"));
        let message = message.unwrap_or_else(|| self.find(pattern.context, completion.source, number));
        assert_eq!(message.number, number, "the engine matched another message than the program was given");
        completion.payload = message.data;
    }

    fn find(&mut self, context: Context, source: Rank, number: u64) -> EarlyMessage {
        let lane = self.lanes.get_mut(&(context, source)).expect("messages come before their messages");
        let at = lane.messages.iter().position(|message| message.number == number);
        lane.messages.remove(at.expect("messages come before their messages")).expect("just found")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn pattern(from: Source, tag: TagPattern) -> Pattern {
        Pattern { from, context: 0, tag, capacity: Bytes::MAX, buffer: Default::default() }
    }

    fn from_1(tag: u32) -> Pattern {
        pattern(Source::Rank(1), TagPattern::Tag(tag))
    }

    const ANY: Pattern = Pattern {
        from: Source::Any,
        context: 0,
        tag: TagPattern::Any,
        capacity: Bytes::MAX,
        buffer: crate::rank::Buffer::NONE,
    };

    /// Early message of rank 1 with sequence number `number`.
    fn message(number: u64, tag: u32) -> EarlyMessage {
        EarlyMessage { source: 1, context: 0, tag, size: Bytes::new(8), number, data: Some(vec![number as u8].into()) }
    }

    /// Completion of a receive by the engine. The receive got the message of rank 1 with sequence number `number`.
    fn completion(number: u64, cancelled: bool) -> Completion {
        let payload = (!cancelled).then(|| Data::from(number.to_le_bytes().to_vec()));
        Completion { index: 0, source: 1, tag: 0, size: Bytes::new(8), payload, cancelled }
    }

    fn finished(mailbox: &mut Mailbox, receive: ReceiveId, number: u64) -> Vec<u8> {
        let mut completion = completion(number, false);
        mailbox.finish(receive, &mut completion);
        completion.payload.expect("data").into_vec()
    }

    #[test]
    fn letters_of_a_rank_go_to_its_receives_in_order() {
        let mut mailbox = Mailbox::default();
        mailbox.arrive(message(1, 5));
        mailbox.arrive(message(2, 6));
        let [second, any, third] =
            [from_1(6), pattern(Source::Rank(1), TagPattern::Any), from_1(5)].map(|p| mailbox.receive(p));
        assert!(mailbox.has(second) && mailbox.has(any) && !mailbox.has(third));
        mailbox.arrive(message(3, 6));
        assert!(!mailbox.has(third));
        mailbox.arrive(message(4, 5));
        assert_eq!([second, any, third].map(|id| mailbox.take(id).number), [2, 1, 4]);
        let last = mailbox.receive(from_1(6));
        assert_eq!(mailbox.take(last).number, 3);
    }

    #[test]
    fn what_is_posted_after_a_receive_from_any_source_is_decided_by_the_engine() {
        let mut mailbox = Mailbox::default();
        let before = mailbox.receive(from_1(5));
        let [any, after] = [ANY, from_1(5)].map(|pattern| mailbox.receive(pattern));
        (1..=3).for_each(|number| mailbox.arrive(message(number, 5)));
        assert!(mailbox.has(before) && mailbox.is_deferred(any) && mailbox.is_deferred(after));
        assert_eq!(finished(&mut mailbox, after, 3), [3]);
        assert_eq!(finished(&mut mailbox, any, 2), [2]);
        assert_eq!(mailbox.take(before).number, 1);
        let now = mailbox.receive(from_1(5));
        assert!(!mailbox.is_deferred(now));
    }

    #[test]
    fn the_engine_decides_a_deferred_receive() {
        let mut mailbox = Mailbox::default();
        (1..=2).for_each(|number| mailbox.arrive(message(number, 5)));
        let [first, second] = [from_1(5), from_1(5)].map(|pattern| mailbox.receive_deferred(pattern));
        assert!(mailbox.is_deferred(first) && !mailbox.has(first));
        assert_eq!([(first, 2), (second, 1)].map(|(id, number)| finished(&mut mailbox, id, number)), [[2], [1]]);
        let next = mailbox.receive(from_1(5));
        assert!(!mailbox.is_deferred(next));
    }

    #[test]
    fn the_letter_of_a_cancelled_receive_is_the_next_ones() {
        let mut mailbox = Mailbox::default();
        (1..=2).for_each(|number| mailbox.arrive(message(number, 5)));
        let [cancelled, other] = [from_1(5), from_1(5)].map(|pattern| mailbox.receive(pattern));
        mailbox.defer(cancelled);
        mailbox.finish(cancelled, &mut completion(0, true));
        assert_eq!(finished(&mut mailbox, other, 1), [1]);
        let next = mailbox.receive(from_1(5));
        assert_eq!(mailbox.take(next).number, 2);
    }

    #[test]
    #[should_panic(expected = "the engine matched another message than the program was given")]
    fn another_match_of_the_engine_is_noticed() {
        let mut mailbox = Mailbox::default();
        mailbox.arrive(message(1, 5));
        let receive = mailbox.receive(from_1(5));
        mailbox.finish(receive, &mut completion(2, false));
    }

    #[test]
    fn lanes_that_are_empty_do_not_pile_up() {
        let mut mailbox = Mailbox::default();
        for source in 0..1000 {
            mailbox.arrive(EarlyMessage { source, ..message(1, 5) });
            let receive = mailbox.receive(Pattern { from: Source::Rank(source), ..from_1(5) });
            assert_eq!(mailbox.take(receive).source, source);
        }
        assert!(mailbox.lanes.len() <= IDLE_LANES + 1);
    }
}
