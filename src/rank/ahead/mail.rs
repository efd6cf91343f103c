//! A rank's letters and the receives they are for.

use std::collections::{HashMap, VecDeque};

use super::super::call::{Completion, Context, Data, Pattern, Payload, Rank, Source, TagPattern};
use super::CARRIED;
use super::post::Letter;

/// A receive's number among those of its rank.
pub(super) type ReceiveId = u32;

/// Lanes without letters and receives are kept up to this number.
const IDLE_LANES: usize = 64;

/// What has come for a rank, and what it has posted.
#[derive(Debug, Default)]
pub(super) struct Mail {
    /// Letters sent so far.
    sent: u64,
    /// Tickets to be used again.
    spare: Vec<Data>,
    lanes: HashMap<(Context, Rank), Lane>,
    receives: Vec<Option<Receive>>,
    free: Vec<ReceiveId>,
    /// Of each context in which there are any: how many receives are for the engine to decide.
    deferred: HashMap<Context, u32>,
}

/// What one rank sends in one context.
#[derive(Debug, Default)]
struct Lane {
    /// Letters that no receive takes yet, in the order sent.
    letters: VecDeque<Letter>,
    /// Receives that wait for theirs, in the order posted.
    posted: VecDeque<(ReceiveId, TagPattern)>,
}

#[derive(Debug)]
struct Receive {
    pattern: Pattern,
    /// The engine decides what it gets.
    deferred: bool,
    letter: Option<Letter>,
}

fn takes(pattern: TagPattern, letter: &Letter) -> bool {
    pattern == TagPattern::Any || pattern == TagPattern::Tag(letter.tag)
}

impl Mail {
    /// The next letter's number, and the ticket that the engine carries for it.
    pub fn ticket(&mut self) -> (u64, Data) {
        self.sent += 1;
        let mut ticket = self.spare.pop().unwrap_or_else(|| Box::new(Vec::with_capacity(8)));
        ticket.extend_from_slice(&self.sent.to_le_bytes());
        (self.sent, ticket)
    }

    /// The number that a ticket stands for.
    pub fn redeem(&mut self, ticket: Data) -> u64 {
        let mut ticket = ticket;
        let number = u64::from_le_bytes(ticket[..].try_into().expect("a ticket of eight bytes"));
        ticket.clear();
        self.spare.push(ticket);
        number
    }

    /// A letter has come.
    pub fn arrive(&mut self, letter: Letter) {
        let lane = self.lanes.entry((letter.context, letter.source)).or_default();
        match lane.posted.iter().position(|&(_, pattern)| takes(pattern, &letter)) {
            Some(at) => {
                let (receive, _) = lane.posted.remove(at).expect("just found");
                self.receives[receive as usize].as_mut().expect("it waits").letter = Some(letter);
            }
            None => lane.letters.push_back(letter),
        }
    }

    /// Posts a receive.
    pub fn receive(&mut self, pattern: Pattern) -> ReceiveId {
        let Pattern { from, context, tag, .. } = pattern;
        let id = self.free.pop().unwrap_or_else(|| {
            self.receives.push(None);
            self.receives.len() as ReceiveId - 1
        });
        let mut receive = Receive { pattern, deferred: true, letter: None };
        match from {
            Source::Rank(source) if context < CARRIED && !self.deferred.contains_key(&context) => {
                receive.deferred = false;
                let lane = self.lanes.entry((context, source)).or_default();
                match lane.letters.iter().position(|letter| takes(tag, letter)) {
                    Some(at) => receive.letter = lane.letters.remove(at),
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

    /// Whether the engine decides what a receive gets.
    pub fn is_deferred(&self, id: ReceiveId) -> bool {
        self.get(id).deferred
    }

    /// Whether the letter for a receive has come.
    pub fn has(&self, id: ReceiveId) -> bool {
        self.get(id).letter.is_some()
    }

    fn remove(&mut self, id: ReceiveId) -> Receive {
        self.free.push(id);
        self.receives[id as usize].take().expect("a receive that is not complete")
    }

    /// Completes a receive that has its letter.
    pub fn take(&mut self, id: ReceiveId) -> Letter {
        let letter = self.remove(id).letter.expect("the letter has come");
        if self.lanes.len() > IDLE_LANES {
            let key = (letter.context, letter.source);
            if self.lanes.get(&key).is_some_and(|lane| lane.letters.is_empty() && lane.posted.is_empty()) {
                self.lanes.remove(&key);
            }
        }
        letter
    }

    /// From now on the engine decides what a receive gets, and so for all of its context that are not complete: whether it
    /// is cancelled depends on time.
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
            match receive.letter.take() {
                Some(letter) => {
                    let at = lane.letters.partition_point(|other| other.number < letter.number);
                    lane.letters.insert(at, letter);
                }
                None => lane.posted.retain(|&(other, _)| other != id),
            }
        }
        if count > 0 {
            *self.deferred.entry(context).or_default() += count;
        }
    }

    /// The engine has completed a receive: puts its data in place of the ticket.
    pub fn finish(&mut self, id: ReceiveId, completion: &mut Completion) {
        let Receive { pattern, deferred, letter } = self.remove(id);
        if pattern.context >= CARRIED {
            return;
        }
        let letter = match deferred {
            false => letter,
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
        let letter = letter.unwrap_or_else(|| self.find(pattern.context, completion.source, number));
        assert_eq!(letter.number, number, "the engine matched another message than the program was given");
        completion.payload = letter.data;
    }

    fn find(&mut self, context: Context, source: Rank, number: u64) -> Letter {
        let lane = self.lanes.get_mut(&(context, source)).expect("letters come before their messages");
        let at = lane.letters.iter().position(|letter| letter.number == number);
        lane.letters.remove(at.expect("letters come before their messages")).expect("just found")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn pattern(from: Source, tag: TagPattern) -> Pattern {
        Pattern { from, context: 0, tag, capacity: Bytes::MAX }
    }

    fn from_1(tag: u32) -> Pattern {
        pattern(Source::Rank(1), TagPattern::Tag(tag))
    }

    const ANY: Pattern = Pattern { from: Source::Any, context: 0, tag: TagPattern::Any, capacity: Bytes::MAX };

    /// Message `number` of rank 1.
    fn letter(number: u64, tag: u32) -> Letter {
        Letter { source: 1, context: 0, tag, size: Bytes::new(8), number, data: Some(Box::new(vec![number as u8])) }
    }

    /// What the engine says of a receive that got message `number` of rank 1.
    fn completion(number: u64, cancelled: bool) -> Completion {
        let payload = (!cancelled).then(|| Box::new(number.to_le_bytes().to_vec()));
        Completion { index: 0, source: 1, tag: 0, size: Bytes::new(8), payload, cancelled }
    }

    fn finished(mail: &mut Mail, receive: ReceiveId, number: u64) -> Vec<u8> {
        let mut completion = completion(number, false);
        mail.finish(receive, &mut completion);
        *completion.payload.expect("data")
    }

    #[test]
    fn letters_of_a_rank_go_to_its_receives_in_order() {
        let mut mail = Mail::default();
        mail.arrive(letter(1, 5));
        mail.arrive(letter(2, 6));
        let [second, any, third] =
            [from_1(6), pattern(Source::Rank(1), TagPattern::Any), from_1(5)].map(|p| mail.receive(p));
        assert!(mail.has(second) && mail.has(any) && !mail.has(third));
        mail.arrive(letter(3, 6));
        assert!(!mail.has(third));
        mail.arrive(letter(4, 5));
        assert_eq!([second, any, third].map(|id| mail.take(id).number), [2, 1, 4]);
        let last = mail.receive(from_1(6));
        assert_eq!(mail.take(last).number, 3);
    }

    #[test]
    fn what_is_posted_after_a_receive_from_any_source_is_decided_by_the_engine() {
        let mut mail = Mail::default();
        let before = mail.receive(from_1(5));
        let [any, after] = [ANY, from_1(5)].map(|pattern| mail.receive(pattern));
        (1..=3).for_each(|number| mail.arrive(letter(number, 5)));
        assert!(mail.has(before) && mail.is_deferred(any) && mail.is_deferred(after));
        assert_eq!(finished(&mut mail, after, 3), [3]);
        assert_eq!(finished(&mut mail, any, 2), [2]);
        assert_eq!(mail.take(before).number, 1);
        let now = mail.receive(from_1(5));
        assert!(!mail.is_deferred(now));
    }

    #[test]
    fn the_letter_of_a_cancelled_receive_is_the_next_ones() {
        let mut mail = Mail::default();
        (1..=2).for_each(|number| mail.arrive(letter(number, 5)));
        let [cancelled, other] = [from_1(5), from_1(5)].map(|pattern| mail.receive(pattern));
        mail.defer(cancelled);
        mail.finish(cancelled, &mut completion(0, true));
        assert_eq!(finished(&mut mail, other, 1), [1]);
        let next = mail.receive(from_1(5));
        assert_eq!(mail.take(next).number, 2);
    }

    #[test]
    #[should_panic(expected = "the engine matched another message than the program was given")]
    fn another_match_of_the_engine_is_noticed() {
        let mut mail = Mail::default();
        mail.arrive(letter(1, 5));
        let receive = mail.receive(from_1(5));
        mail.finish(receive, &mut completion(2, false));
    }

    #[test]
    fn lanes_that_are_empty_do_not_pile_up() {
        let mut mail = Mail::default();
        for source in 0..1000 {
            mail.arrive(Letter { source, ..letter(1, 5) });
            let receive = mail.receive(Pattern { from: Source::Rank(source), ..from_1(5) });
            assert_eq!(mail.take(receive).source, source);
        }
        assert!(mail.lanes.len() <= IDLE_LANES + 1);
    }
}
