//! What a worker does with its time, by a clock of the host that the caller gives.

use super::outcome::HostTime;

/// A worker's account of its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    clock: fn() -> u64,
    /// The time spent so far, but for the code of the window at hand.
    pub time: HostTime,
    last: u64,
    /// Code and waiting since then.
    code: u64,
    idle: u64,
}

impl Meter {
    pub fn new(clock: fn() -> u64, worker: u32) -> Self {
        let time = HostTime { worker, ..HostTime::default() };
        Meter { clock, time, last: clock(), code: 0, idle: 0 }
    }

    /// Does `work` of a rank's own.
    pub fn code<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let began = (self.clock)();
        let result = work();
        self.code += (self.clock)() - began;
        result
    }

    /// Of the time until the next mark, so much was spent waiting.
    pub fn waited(&mut self, ns: u64) {
        self.idle += ns;
    }

    /// A window ends.
    pub fn window(&mut self) {
        let (spent, code) = self.mark();
        self.time.code += code;
        self.time.windows += spent - code.min(spent);
    }

    /// An exchange ends.
    pub fn exchange(&mut self) {
        let idle = std::mem::take(&mut self.idle);
        let (spent, code) = self.mark();
        // Ranks run ahead while their worker waits.
        let idle = idle.min(spent);
        self.time.code += code;
        self.time.idle += idle - code.min(idle);
        self.time.exchange += spent - idle;
    }

    /// The time since the last mark, and the code in it.
    fn mark(&mut self) -> (u64, u64) {
        let now = (self.clock)();
        let spent = now - std::mem::replace(&mut self.last, now);
        (spent, std::mem::take(&mut self.code))
    }
}

/// Does `work` and adds the time it takes to `spent`, if there is a clock.
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
