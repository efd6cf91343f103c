//! Idling: a rank that polls in a loop lets time pass in whole polls until something has changed for it.
//!
//! The outcome is that of polling step by step; the polls that would find nothing, and their events, are left out.

use crate::units::{SimSpan, SimTime};

use super::clock::TimeCategory;
use super::event::EventKind;
use super::lp::LogicalProcess;
use super::requests::{NOBODY, RequestState};
use super::state::{Answer, MAIN, TargetRank, Wait};
use super::waits::wait_for_own_time;

/// A rank that has idled this long, less what it spent otherwise, without a change or a message sent waits for a change
/// without limit. So ranks that wait for each other by polling end in a deadlock, not at the end of time.
const PATIENCE: SimSpan = SimSpan::from_us(1_000_000_000);

/// What is kept of a rank that has idled.
#[derive(Debug)]
pub(super) struct Idle {
    /// The end of the last.
    ended: SimTime,
    /// A request has been decided since.
    decided: bool,
    /// The first message that has come since without a receive waiting for it, or was served.
    news: Option<SimTime>,
    /// The time of the last event that is to end one at its limit; NEVER if there is none.
    timer: SimTime,
    /// The time idled without a change, less what the rank spent otherwise.
    dry: SimSpan,
    /// When that began.
    pub since: SimTime,
    /// The latest head of the rank's messages when it idled last: tells whether it has sent any since.
    head: SimTime,
}

impl Idle {
    /// Of a rank that has not idled yet. What has come before it ends the first.
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

/// The rank's own program idles for at most `span`; a strand lets one poll pass.
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
    // Later ones than needed stay: of those there is one at a time, unless limits get shorter.
    let has_timer = first > limit && idle.timer <= limit;
    if first > limit && !has_timer {
        idle.timer = limit;
    }
    target.begin_wait(MAIN, Wait::Idle { start, until, changed: first <= limit });
    if !has_timer {
        wake_at(target, lp, until);
    }
}

/// The first point at or after `time` of the grid that begins at `start`.
fn grid_point(start: SimTime, poll: SimSpan, time: SimTime) -> SimTime {
    start + poll * time.since(start).as_ps().div_ceil(poll.as_ps())
}

/// An event that ends the idling at `time`, unless that is never.
fn wake_at(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    if time < SimTime::NEVER {
        let rank = target.rank;
        lp.push(target, time, rank, || EventKind::Idle);
    }
}

/// A request that no task waits for is ready at `time`.
#[inline]
pub(super) fn decided(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    if let Some(idle) = &mut target.idle {
        idle.decided = true;
        changed(target, lp, time);
    }
}

/// A message has been served.
pub(super) fn served(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    target.idle.get_or_insert_with(|| Box::new(Idle::new(None)));
    noticed(target, lp);
}

/// A message has come that no receive waited for.
#[inline]
pub(super) fn noticed(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    if let Some(idle) = &mut target.idle {
        let now = lp.now.time;
        idle.news.get_or_insert(now);
        changed(target, lp, now);
    }
}

/// Something will have changed for the rank at `time`: a rank that idles ends at the first poll that sees it.
fn changed(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, time: SimTime) {
    let Wait::Idle { start, until, changed } = &mut target.main.wait else { return };
    let now = lp.now;
    let mut first = grid_point(*start, lp.poll, time.max(now.time));
    if first == now.time && now.from > target.rank {
        // A poll at this time would have come before this event.
        first += lp.poll;
    }
    // At the limit itself there may be no event yet, only an earlier timer.
    if first < *until || (first == *until && !*changed) {
        (*until, *changed) = (first, true);
        wake_at(target, lp, first);
    }
}

/// The simulation has got to a time at which the rank may have to end its idling: true if it does.
pub(super) fn end_idle(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) -> bool {
    let now = lp.now.time;
    let Some(idle) = &mut target.idle else { return false };
    let timer = idle.timer == now;
    if timer {
        idle.timer = SimTime::NEVER;
    }
    let Wait::Idle { start, until, changed } = target.main.wait else { return false };
    if until != now {
        // Its limit is later than that of the one for which the timer was set.
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
