//! Checks the calls that the engine receives from a program that runs ahead. The tests take the role of the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::rank::Data;
use crate::rank::call::{SendMode, Source, TagPattern};

/// A program that sends `messages` messages to itself, receives them, and counts the messages.
struct Talker {
    messages: u32,
    calls: Arc<AtomicU32>,
}

const PATTERN: Pattern = Pattern {
    from: Source::Rank(0),
    context: 0,
    tag: TagPattern::Tag(3),
    capacity: Bytes::MAX,
    buffer: crate::rank::Buffer::NONE,
};

impl Program for Talker {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if let ReplyKind::Completed([completion]) = reply.kind {
            let data = completion.payload.take().unwrap();
            assert_eq!(data[..], (call - self.messages - 1).to_le_bytes());
        }
        if call < self.messages {
            let payload = Some(call.to_le_bytes().to_vec().into());
            let (size, mode) = (Bytes::new(4), SendMode::Buffered);
            Call::Send(Message { to: 0, context: 0, tag: 3, size, mode, payload, buffer: Default::default() })
        } else if call < 2 * self.messages {
            Call::Recv(PATTERN)
        } else {
            Call::Finish
        }
    }
}

impl Describe for Talker {}

fn ahead(messages: u32) -> (RunAhead, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let program = Box::new(Talker { messages, calls: calls.clone() });
    (RunAhead::new(program, 0, Arc::new(Mailboxes::new(1))), calls)
}

/// Answers `call` as the engine would, which matches messages in the order sent. Returns the program's next call.
fn answered(ahead: &mut RunAhead, call: Call, tickets: &mut VecDeque<Data>) -> Call {
    let clock = SimTime::ZERO;
    match call {
        Call::Send(message) => {
            tickets.extend(message.payload);
            ahead.next(Reply { clock, kind: ReplyKind::Done })
        }
        Call::Recv(_) => {
            let size = Bytes::new(4);
            let completion =
                Completion { index: 0, source: 0, tag: 3, size, payload: tickets.pop_front(), cancelled: false };
            ahead.next(Reply { clock, kind: ReplyKind::Completed(&mut [completion]) })
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_is_no_more_calls_ahead_than_may_wait_and_goes_on_as_they_are_taken() {
    let messages = 10_000;
    let (mut ahead, calls) = ahead(messages);
    let doorbell = Arc::new(Doorbell::default());
    ahead.attach(&doorbell);
    let mut call = ahead.next(Reply { clock: SimTime::ZERO, kind: ReplyKind::Begin });
    let (mut tickets, mut taken) = (VecDeque::new(), 1);
    let mut rung = 0;
    while !matches!(call, Call::Finish) {
        let made = calls.load(Ordering::Relaxed) as usize;
        assert!(made >= taken && made - taken < MOST_QUEUED, "{made} made, {taken} taken");
        if let Some(rank) = doorbell.answer() {
            assert_eq!(rank, 0);
            ahead.run_ahead();
            assert_eq!(calls.load(Ordering::Relaxed) as usize, (taken + MOST_QUEUED).min(2 * messages as usize + 1));
            rung += 1;
        }
        call = answered(&mut ahead, call, &mut tickets);
        taken += 1;
    }
    assert_eq!(taken, 2 * messages as usize + 1);
    assert!(rung >= 4, "the doorbell rings while half of them wait");
}

#[test]
#[should_panic(expected = "the engine matched another message than the program was given")]
fn an_engine_that_matches_otherwise_is_noticed() {
    let (mut ahead, _) = ahead(2);
    let mut call = ahead.next(Reply { clock: SimTime::ZERO, kind: ReplyKind::Begin });
    let mut tickets = VecDeque::new();
    for _ in 0..3 {
        call = answered(&mut ahead, call, &mut tickets);
        if tickets.len() == 2 {
            tickets.swap(0, 1);
        }
    }
    panic!("went on with {call:?}");
}

/// A program that reads its clock, first with a call that ends its turn, then three times with immediate calls, and
/// then ends.
struct ClockReader;

impl Program for ClockReader {
    fn next(&mut self, _: Reply<'_>) -> Call {
        Call::Compute(SimSpan::ZERO)
    }

    fn next_asking(&mut self, _: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        for read in 1..=3 {
            match simulator.ask(&mut Call::Compute(SimSpan::ZERO)) {
                Immediate::Replied(reply) => assert_eq!(reply.clock, SimTime::from_ps(read)),
                Immediate::Waits => return None,
                Immediate::Refused => panic!("a read of the clock concerns nobody else"),
            }
        }
        assert!(matches!(simulator.ask(&mut Call::Recv(PATTERN)), Immediate::Refused));
        Some(Call::Finish)
    }
}

impl Describe for ClockReader {}

/// An engine that answers a certain number of calls immediately. The clock of the engine advances by one picosecond per
/// call.
struct Answering {
    calls: u64,
    most: u64,
}

impl Simulator for Answering {
    fn ask(&mut self, _: &mut Call) -> Immediate<'_> {
        self.calls += 1;
        if self.calls > self.most {
            return Immediate::Waits;
        }
        Immediate::Replied(Reply { clock: SimTime::from_ps(self.calls), kind: ReplyKind::Done })
    }
}

#[test]
fn reads_of_the_clock_are_answered_within_the_turn() {
    let begin = || {
        let mut ahead = RunAhead::new(Box::new(ClockReader), 0, Arc::new(Mailboxes::new(1)));
        let call = ahead.next(Reply { clock: SimTime::ZERO, kind: ReplyKind::Begin });
        assert!(matches!(call, Call::Compute(SimSpan::ZERO)));
        ahead
    };
    let done = || Reply { clock: SimTime::ZERO, kind: ReplyKind::Done };
    let mut engine = Answering { calls: 0, most: 3 };
    assert!(matches!(begin().next_asking(&mut done(), &mut engine), Some(Call::Finish)));
    assert_eq!(engine.calls, 3);
    // The engine does not answer the second read immediately, so the program gets the reply in its next turn.
    let mut ahead = begin();
    assert!(ahead.next_asking(&mut done(), &mut Answering { calls: 0, most: 1 }).is_none());
    assert!(matches!(ahead.next_asking(&mut done(), &mut Answering { calls: 0, most: 3 }), Some(Call::Finish)));
}
