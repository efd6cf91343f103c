//! Tests of the event queue.

use proptest::prelude::*;

use super::*;

fn push(queue: &mut EventQueue, time: u64, to: u32, sequence: u32) {
    let key = EventKey { time: SimTime::from_ps(time), to, from: 0, sequence };
    queue.push(key, || EventKind::Wake { task: 0, turn: 0 });
}

/// Greatest number of pushes and pops of a random test. The number is lower under Miri, which interprets the test.
const STEPS: usize = if cfg!(miri) { 100 } else { 3000 };

proptest! {
    /// The pushed times exceed the last taken time by spans of all magnitudes, including zero.
    #[test]
    fn events_come_in_order_of_their_keys(
        steps in prop::collection::vec((0..4u8, 0..64u32, any::<u64>(), 0..4u32), 1..STEPS),
        known in 0..10usize,
    ) {
        let mut queue = EventQueue::default();
        queue.know(known);
        let mut reference = std::collections::BTreeMap::new();
        let mut now = 0u64;
        for (sequence, (action, bits, noise, to)) in (0..).zip(steps) {
            if action == 0 {
                let expected = reference.pop_first().map(|((time, to, sequence), ())| (time, to, sequence));
                prop_assert_eq!(queue.first_time() != SimTime::NEVER, expected.is_some());
                let taken = queue.pop_before(SimTime::NEVER);
                let taken = taken.map(|e| (e.key.time.as_ps(), e.key.to, e.key.sequence));
                prop_assert_eq!(taken, expected);
                now = taken.map_or(now, |(time, _, _)| time);
            } else {
                let time = now.saturating_add(noise.checked_shr(bits).unwrap_or(0)).min(u64::MAX - 1);
                push(&mut queue, time, to, sequence);
                reference.insert((time, to, sequence), ());
            }
            prop_assert_eq!(queue.len, reference.len());
        }
    }
}

#[test]
fn many_events_at_few_times_come_in_order() {
    let mut queue = EventQueue::default();
    let events: u32 = if cfg!(miri) { 1_000 } else { 100_000 };
    for sequence in 0..events {
        push(&mut queue, u64::from(sequence % 7) << 40, sequence.wrapping_mul(2_654_435_761), sequence);
    }
    let mut before = None;
    while let Some(event) = queue.pop_before(SimTime::NEVER) {
        assert!(before < Some(event.key));
        before = Some(event.key);
    }
    assert_eq!(queue.len, 0);
}

#[test]
fn events_pushed_into_the_time_span_of_the_run_do_not_stay_in_the_heap() {
    let mut queue = EventQueue::default();
    // The first event is the run, and most others precede it.
    push(&mut queue, 1 << 30, 0, 0);
    let times = (1..3000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33);
    (1..).zip(times).for_each(|(sequence, time)| push(&mut queue, time, 0, sequence));
    assert!(queue.near.len() <= MOST_NEAR, "{}", queue.near.len());
    let mut before = None;
    while let Some(event) = queue.pop_before(SimTime::NEVER) {
        assert!(before < Some(event.key));
        before = Some(event.key);
    }
}

#[test]
fn nothing_is_taken_at_or_past_the_end_of_the_window() {
    let mut queue = EventQueue::default();
    push(&mut queue, 5, 0, 0);
    assert!(queue.pop_before(SimTime::from_ps(5)).is_none());
    assert!(queue.pop_before(SimTime::from_ps(6)).is_some());
}
