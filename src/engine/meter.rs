//! Host time of a worker by activity, measured with a host clock that the caller supplies.

use super::outcome::HostTime;

/// Account of the host time of a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    clock: fn() -> u64,
    /// Host time that the worker has spent by activity, without the code of ranks since the last mark.
    pub time: HostTime,
    last: u64,
    /// Host time that the worker has spent in the code of ranks, and in waits for other workers, since the last mark.
    code: u64,
    idle: u64,
}

impl Meter {
    pub fn new(clock: fn() -> u64, worker: u32) -> Self {
        let time = HostTime { worker, ..HostTime::default() };
        Meter { clock, time, last: clock(), code: 0, idle: 0 }
    }

    /// Runs `work`, and counts its host time as code of a rank.
    pub fn code<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let began = (self.clock)();
        let result = work();
        self.code += (self.clock)() - began;
        result
    }

    /// Adds `ns` nanoseconds to the host time for which the worker waited for other workers.
    pub fn waited(&mut self, ns: u64) {
        self.idle += ns;
    }

    /// Adds the host time since the end of the last exchange to the time of handling events.
    pub fn window(&mut self) {
        let (spent, code) = self.mark();
        self.time.code += code;
        self.time.windows += spent - code.min(spent);
    }

    /// Adds the host time since the end of the last window to the time of exchanges and of waiting.
    pub fn exchange(&mut self) {
        let idle = std::mem::take(&mut self.idle);
        let (spent, code) = self.mark();
        // Code of ranks that run ahead is executed while the worker waits for other workers.
        let idle = idle.min(spent);
        self.time.code += code;
        self.time.idle += idle - code.min(idle);
        self.time.exchange += spent - idle;
    }

    /// Returns the host time since the last mark, and how much of it was in the code of ranks.
    fn mark(&mut self) -> (u64, u64) {
        let now = (self.clock)();
        let spent = now - std::mem::replace(&mut self.last, now);
        (spent, std::mem::take(&mut self.code))
    }
}

/// Runs `work` and adds its host time to `spent`, if there is a host clock.
pub(super) fn timed<R>(clock: Option<fn() -> u64>, spent: &mut u64, work: impl FnOnce() -> R) -> R {
    let Some(clock) = clock else { return work() };
    let began = clock();
    let result = work();
    *spent += clock() - began;
    result
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    fn pass(ns: u64) {
        NOW.set(NOW.get() + ns);
    }

    #[test]
    fn every_moment_is_accounted_for_once() {
        let clock: fn() -> u64 = || NOW.get();
        let mut meter = Meter::new(clock, 3);
        pass(5);
        meter.code(|| pass(20));
        meter.window();
        let mut waited = 0;
        pass(2);
        timed(Some(clock), &mut waited, || {
            pass(30);
            meter.code(|| pass(100));
        });
        meter.waited(waited);
        meter.exchange();
        let time = HostTime { worker: 3, process: 0, windows: 5, code: 120, exchange: 2, idle: 30 };
        assert_eq!(meter.time, time);
        timed(None, &mut waited, || pass(7));
        assert_eq!(waited, 130);
    }
}
