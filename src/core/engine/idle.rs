//! Idling: a rank that polls in a loop advances by whole polls until a change for the rank.
//!
//! The outcome is the same as with individual polls. Polls without a result, and their events, are skipped.

use crate::units::{SimSpan, SimTime};

use super::clock::TimeCategory;
use super::event::EventKind;
use super::lp::LogicalProcess;
use super::requests::{NOBODY, RequestState};
use super::state::{Answer, MAIN, TargetRank, Wait};
use super::waits::wait_for_own_time;

/// Limit of idle time, less the rank's other core time, without a change or a sent message. Then the rank waits for a
/// change without a time limit. So ranks that poll for each other end in a deadlock and not at the end of time.
const PATIENCE: SimSpan = SimSpan::from_us(1_000_000_000);

/// State of a rank that has idled.
#[derive(Debug)]
pub(super) struct Idle {
    /// End of the last idling.
    ended: SimTime,
    /// A request has completed since then.
    decided: bool,
    /// First message since then that was served or arrived without a matching receive.
    news: Option<SimTime>,
    /// Time of the last timer event for the end of an idling; NEVER without a timer.
    timer: SimTime,
    /// Idle time without a change, less the rank's other core time.
    dry: SimSpan,
    /// Start of `dry`.
    pub since: SimTime,
    /// Latest head of the rank's messages at the last idling; a later head shows that the rank has sent.
    head: SimTime,
}

impl Idle {
    /// Creates the state of a rank that has not idled. Earlier messages end the first idling.
    fn new(news: Option<SimTime>) -> Self {
        Idle {
            ended: SimTime::ZERO,
            decided: true,
            news,
            timer: SimTime::NEVER,
            dry: SimSpan::ZERO,
            since: SimTime::ZERO,
            head: SimTime::ZERO,
        }
    }
}

/// Starts idling of the rank's program for at most `span`; a strand polls once.
pub(super) fn begin_idle(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, span: SimSpan) {
    let poll = lp.poll;
    if task != MAIN {
        target.spend(lp, task, TimeCategory::Poll, poll);
        wait_for_own_time(target, lp, task, Wait::Parked(Answer::Done));
        return;
    }
    let start = target.main.clock;
    let unreceived = (target.matcher.unexpected() > 0).then_some(SimTime::ZERO);
    let idle = target.idle.get_or_insert_with(|| Box::new(Idle::new(unreceived)));
    idle.dry = idle.dry.saturating_sub(start.since(idle.ended));
    if std::mem::replace(&mut idle.head, target.furthest_head) != target.furthest_head {
        idle.dry = SimSpan::ZERO;
    }
    if idle.dry == SimSpan::ZERO {
        idle.since = start;
    }
    let after_last = |time: SimTime| time > idle.ended || (idle.decided && time == idle.ended);
    let ready =
        target.requests.iter().filter(|request| request.state == RequestState::Ready && request.waiter == NOBODY);
    let change = ready.map(|request| request.ready).filter(|&time| after_last(time)).chain(idle.news).min();
    let limit = match idle.dry < PATIENCE {
        true => start + poll * span.as_ps().div_ceil(poll.as_ps()).max(1),
        false => SimTime::NEVER,
    };
    let first = change.map_or(SimTime::NEVER, |time| grid_point(start, poll, time));
    let until = limit.min(first);
    // An earlier timer is kept and renewed when it fires. So there is one timer at a time, unless limits decrease.
    let has_timer = first > limit && idle.timer <= limit;
    if first > limit && !has_timer {
        idle.timer = limit;
    }
    target.begin_wait(MAIN, Wait::Idle { start, until, changed: first <= limit });
    if !has_timer {
        wake_at(target, lp, until);
    }
}

/// Returns the first point at or after `time` of the grid that begins at `start`.
fn grid_point(start: SimTime, poll: SimSpan, time: SimTime) -> SimTime {
    start + poll * time.since(start).as_ps().div_ceil(poll.as_ps())
}

/// Schedules an event that ends the idling at `time`, unless `time` is NEVER.
fn wake_at(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    if time < SimTime::NEVER {
        let rank = target.rank;
        lp.push(target, time, rank, || EventKind::Idle);
    }
}

/// Reports that a request without a waiting task is ready at `time`.
#[inline]
pub(super) fn decided(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    if let Some(idle) = &mut target.idle {
        idle.decided = true;
        changed(target, lp, time);
    }
}

/// Reports a served message.
pub(super) fn served(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    target.idle.get_or_insert_with(|| Box::new(Idle::new(None)));
    noticed(target, lp);
}

/// Reports the arrival of a message without a matching receive.
#[inline]
pub(super) fn noticed(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    if let Some(idle) = &mut target.idle {
        let now = lp.now.time;
        idle.news.get_or_insert(now);
        changed(target, lp, now);
    }
}

/// Ends the idling of the rank at the first poll that sees a change at `time`.
fn changed(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    let Wait::Idle { start, until, changed } = &mut target.main.wait else { return };
    let now = lp.now;
    let mut first = grid_point(*start, lp.poll, time.max(now.time));
    if first == now.time && now.from > target.rank {
        // A poll at this time would have preceded this event.
        first += lp.poll;
    }
    // At the limit itself there may be only an earlier timer and no event yet.
    if first < *until || (first == *until && !*changed) {
        (*until, *changed) = (first, true);
        wake_at(target, lp, first);
    }
}

/// Handles the time at which the rank may have to end its idling; returns true if idling ends.
pub(super) fn end_idle(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) -> bool {
    let now = lp.now.time;
    let Some(idle) = &mut target.idle else { return false };
    let timer = idle.timer == now;
    if timer {
        idle.timer = SimTime::NEVER;
    }
    let Wait::Idle { start, until, changed } = target.main.wait else { return false };
    if until != now {
        // The limit is later than the limit for which the timer was set.
        if timer && !changed && until < SimTime::NEVER {
            idle.timer = until;
            wake_at(target, lp, until);
        }
        return false;
    }
    idle.dry = if changed { SimSpan::ZERO } else { idle.dry + now.since(start) };
    (idle.ended, idle.decided, idle.news) = (now, false, None);
    let idled = now.since(target.main.clock);
    target.spend(lp, MAIN, TimeCategory::Poll, idled);
    true
}
