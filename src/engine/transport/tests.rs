//! Tests of exchanges between workers that are threads: each batch arrives at its worker, and all workers agree on the
//! next window.

use super::{Batch, ExchangeBuffers, GlobalBound, LocalBound};
use crate::event::{Event, EventKey, EventKind, Going, InFlightMessage};
use crate::paths::{Path, PathSlot, Paths};
use crate::payloads::{PayloadSlot, Payloads};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

fn event(to: u32, from: u32, time: u64, payload: PayloadSlot, path: PathSlot) -> Event {
    let key = EventKey { time: SimTime::from_ps(time), to, from, sequence: 0 };
    let message = InFlightMessage { context: 0, tag: 0, size: Bytes::ZERO, rendezvous: None, payload, path };
    Event { key, body: EventKind::Departure { to, message, going: Going::Asked } }
}

/// Creates a batch of one event without data and one event with data. The compute part of the events' paths is the
/// number of the receiver in picoseconds.
fn batch(to: u32, from: u32, time: u64) -> Batch {
    let (mut batch, mut payloads, mut paths) = (Batch::default(), Payloads::default(), Paths::default());
    let path = paths.put(Path { compute: SimSpan::from_ps(u64::from(to)), ..Path::default() });
    batch.push(event(to, from, time, PayloadSlot::NONE, paths.share(path)), &mut payloads, &mut paths);
    let data = payloads.put(Some(vec![to as u8, from as u8].into()));
    batch.push(event(to, from, time, data, path), &mut payloads, &mut paths);
    batch
}

#[test]
fn every_batch_gets_to_its_worker_in_its_round_and_all_agree() {
    let workers = 3;
    let buffers = ExchangeBuffers::new(workers, workers, None);
    std::thread::scope(|scope| {
        for me in 0..workers {
            let buffers = &buffers;
            scope.spawn(move || {
                let mut transport = buffers.transport(me);
                for round in 0..1000u64 {
                    let mut outgoing: Vec<Batch> = (0..workers).map(|to| batch(to, me, round)).collect();
                    let mut incoming = Batch::default();
                    let at = |time: u64| SimTime::from_ps(time);
                    let (queued, sent) = (at(10 + round + u64::from(me)), at(12 + round));
                    let until = at(2000 - u64::from(me));
                    let stop = round == 999 && me == 1;
                    let slot = at(50 + u64::from(me));
                    let again = round % 5 == u64::from(me);
                    let bound = LocalBound { queued, sent, handled: 1 + u64::from(me), slot, until, again, stop };
                    let agreement = transport.exchange(bound, &mut outgoing, &mut incoming, &mut || false);
                    // The least time of a queued event at another worker is 10, or 11 for worker 0.
                    let others = at(10 + round + u64::from(me == 0));
                    let until = at(1998);
                    let slot = at(50);
                    let (again, stop) = (round % 5 < u64::from(workers), round == 999);
                    let expected = GlobalBound { others, handled: 6, slot, until, again, stop };
                    assert_eq!(agreement, expected);
                    let (mut payloads, mut paths) = (Payloads::default(), Paths::default());
                    let mut events: Vec<Event> = incoming.drain(&mut payloads, &mut paths).collect();
                    let slots = events.iter_mut().map(|event| *event.body.path_mut().unwrap());
                    assert!(slots.map(|slot| paths.get(slot).compute.as_ps()).all(|ps| ps == u64::from(me)));
                    let from = events.iter().map(|event| (event.key.to, event.key.from, event.key.time.as_ps()));
                    let expected = (0..workers).flat_map(|from| [(me, from, round); 2]);
                    assert!(from.eq(expected));
                    let data = |event: &Event| match event.body {
                        EventKind::Departure { message, .. } => {
                            payloads.take(message.payload).map(|data| data.into_vec())
                        }
                        _ => None,
                    };
                    let expected = (0..workers as u8).flat_map(|from| [None, Some(vec![me as u8, from])]);
                    assert!(events.iter().map(data).eq(expected));
                }
            });
        }
    });
}

#[test]
fn a_worker_that_panics_does_not_leave_the_others_waiting() {
    let buffers = ExchangeBuffers::new(2, 2, None);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _transport = buffers.transport(1);
            std::panic::resume_unwind(Box::new("as if by a bug"));
        });
        let bound = LocalBound { queued: SimTime::ZERO, ..LocalBound::NOTHING };
        let agreement = buffers.transport(0).exchange(
            bound,
            &mut [Batch::default(), Batch::default()],
            &mut Batch::default(),
            &mut || false,
        );
        assert!(agreement.stop);
        assert!(other.join().is_err());
    });
}
