//! Idling: a rank that polls in a loop advances by whole polls until the state of a request or message changes.
//!
//! The outcome of the run is the same as with individual polls. Polls without a result, and the events of such polls,
//! are skipped.

use mcpsim_base::units::{SimSpan, SimTime};

use super::clock::TimeCategory;
use super::event::EventKind;
use super::lp::LogicalProcess;
use super::requests::{NOBODY, RequestState};
use super::state::{Answer, MAIN, TargetRank, Wait};
use super::waits::wait_for_own_time;

/// Limit of a rank's idle time without a change or a sent message, less the rank's other core time. After this limit
/// the rank waits for a change without a time limit. So ranks that poll for each other end in a deadlock and not at the
/// greatest virtual time.
const PATIENCE: SimSpan = SimSpan::from_us(1_000_000_000);

/// State of a rank that has idled.
#[derive(Debug)]
pub(super) struct Idle {
    /// Virtual time at which the last idling of the rank ended.
    ended: SimTime,
    /// A request of the rank has completed since the last idling.
    decided: bool,
    /// Arrival time of the first message since the last idling that was served or had no matching receive.
    news: Option<SimTime>,
    /// Time of the last timer event that ends an idling of the rank; NEVER without a timer event.
    timer: SimTime,
    /// Idle time of the rank without a change, less the rank's other core time.
    dry: SimSpan,
    /// Virtual time from which `dry` is counted.
    pub since: SimTime,
    /// Latest arrival time of the heads of the rank's sent messages, at the last idling of the rank. A later arrival
    /// time of a head shows that the rank has sent a message since the last idling.
    head: SimTime,
}

impl Idle {
    /// Creates the state of a rank that has not idled. A message that arrived earlier ends the first idling.
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

/// Starts idling of the rank's program for at most `span`. A strand (concurrent task) polls only once and does not
/// idle.
pub(super) fn begin_idle(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, span: SimSpan) {
    let poll = lp.core.poll;
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
    // An earlier timer event is kept, and renewed when it fires. So a rank has only one timer event at a time, unless
    // the limits of successive idlings decrease.
    let has_timer = first > limit && idle.timer <= limit;
    if first > limit && !has_timer {
        idle.timer = limit;
    }
    target.begin_wait(MAIN, Wait::Idle { start, until, changed: first <= limit });
    if !has_timer {
        wake_at(target, lp, until);
    }
}

/// Returns the first time at or after `time` that is a whole number of polls after `start`.
fn grid_point(start: SimTime, poll: SimSpan, time: SimTime) -> SimTime {
    start + poll * time.since(start).as_ps().div_ceil(poll.as_ps())
}

/// Schedules an event that ends the rank's idling at `time`, unless `time` is NEVER.
fn wake_at(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    if time < SimTime::NEVER {
        let rank = target.rank;
        lp.push(target, time, rank, || EventKind::Idle);
    }
}

/// Tells an idling rank that a request without a waiting task is ready at `time`.
#[inline]
pub(super) fn decided(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    if let Some(idle) = &mut target.idle {
        idle.decided = true;
        changed(target, lp, time);
    }
}

/// Tells an idling rank that its program has served a message.
pub(super) fn served(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    target.idle.get_or_insert_with(|| Box::new(Idle::new(None)));
    noticed(target, lp);
}

/// Tells an idling rank that a message without a matching receive has arrived.
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
    let mut first = grid_point(*start, lp.core.poll, time.max(now.time));
    if first == now.time && now.from > target.rank {
        // A poll at the time of the current event would have preceded the event.
        first += lp.core.poll;
    }
    // At the limit of the idling there may be only an earlier timer event, and no event at the limit yet.
    if first < *until || (first == *until && !*changed) {
        (*until, *changed) = (first, true);
        wake_at(target, lp, first);
    }
}

/// Handles the time at which the rank's idling may have to end; returns true if the idling ends.
pub(super) fn end_idle(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) -> bool {
    let now = lp.now.time;
    let Some(idle) = &mut target.idle else { return false };
    let timer = idle.timer == now;
    if timer {
        idle.timer = SimTime::NEVER;
    }
    let Wait::Idle { start, until, changed } = target.main.wait else { return false };
    if until != now {
        // The limit of the idling is later than the limit for which the timer event was scheduled.
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
