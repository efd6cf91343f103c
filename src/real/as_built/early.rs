//! Early messages between the processes of ranks, and the waits for these messages.
//!
//! A rank that runs ahead gets the data of a message from the sender, and the engine gets a ticket in place of the data.
//! The sender appends the message to a box of the receiver's area and wakes the receiver. The simulator waits until no
//! process runs. It then reads the calls of all ranks.
//!
//! ```text
//!   process of rank 0 ──early message──▶ area of rank 1        simulator waits for running = 0
//!        waits for messages ◀──wakes── process of rank 1
//! ```
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcpsim_core::rank::EarlyMessage;

use super::children::exists;
use super::memory::{Area, ProcessTurn, sleep, wake};
use super::reader::BoxReader;
use super::writer::BoxWriter;

/// Number of attempts to lock a box after which a process looks whether the owner of the lock still exists.
const ATTEMPTS: u32 = 1000;

/// Owner of a lock that is not a rank.
const SIMULATOR: u32 = u32::MAX;

/// State of a box of early messages. All fields except the lock change only under the lock.
#[repr(C, align(64))]
pub struct EarlyControl {
    /// Rank whose process has locked the box plus one, [`SIMULATOR`], or 0.
    lock: AtomicU32,
    /// Number of messages in the box.
    count: AtomicU32,
    /// Number of messages for which the process waits.
    missing: AtomicU32,
    /// Number of bytes in the box.
    written: AtomicU64,
}

/// Lock of a box of early messages.
struct EarlyLock<'a>(&'a Area);

impl Drop for EarlyLock<'_> {
    fn drop(&mut self) {
        self.0.control().early.lock.store(0, Ordering::Release);
    }
}

/// Result of an attempt to deliver an early message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The message is in the box.
    Delivered,
    /// The box has no room at present.
    Full,
    /// The message is longer than the box.
    TooLong,
}

impl Area {
    fn running(&self) -> &AtomicU32 {
        self.table.running()
    }

    /// Locks the box of early messages. The owner of the lock may have lost the core or may have been killed.
    fn lock(&self, own: u32) -> EarlyLock<'_> {
        let lock = &self.control().early.lock;
        let has_ended = |owner: u32| {
            let area = owner.checked_sub(1).and_then(|rank| self.table.area(rank));
            area.is_some_and(|area| !exists(area.control().process.load(Ordering::Relaxed)))
        };
        let mut attempts = 0;
        while let Err(owner) = lock.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed) {
            // SAFETY: the call has no requirement.
            unsafe { libc::sched_yield() };
            attempts += 1;
            if attempts % ATTEMPTS == 0 && has_ended(owner) {
                let _ = lock.compare_exchange(owner, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
        EarlyLock(self)
    }

    fn early_writer(&self) -> BoxWriter {
        BoxWriter::new(self.early_box(), self.room(), self.control().early.written.load(Ordering::Relaxed))
    }

    /// Adds an early message for the rank of this area. Wakes the process if it waits for no further message, or if it
    /// must empty the full box.
    pub fn deliver(&self, message: &EarlyMessage) -> Delivery {
        let locked = self.lock(message.source + 1);
        let (control, early) = (self.control(), &self.control().early);
        let mut writer = self.early_writer();
        writer.early(message);
        let result = match (writer.is_full, early.written.load(Ordering::Relaxed)) {
            (true, 0) => return Delivery::TooLong,
            (true, _) => Delivery::Full,
            (false, _) => {
                early.written.store(writer.length, Ordering::Relaxed);
                early.count.store(early.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                Delivery::Delivered
            }
        };
        let has_all = early.count.load(Ordering::Relaxed) >= early.missing.load(Ordering::Relaxed);
        let wakes = match control.turn.load(Ordering::Relaxed) {
            turn if turn == ProcessTurn::Process as u32 => false,
            turn => result == Delivery::Full || turn == ProcessTurn::Messages as u32 && has_all,
        };
        if wakes {
            self.set_running();
        }
        drop(locked);
        if wakes {
            wake(&control.turn);
        }
        result
    }

    fn set_running(&self) {
        self.running().fetch_add(1, Ordering::Relaxed);
        self.control().turn.store(ProcessTurn::Process as u32, Ordering::Release);
    }

    /// Removes the early messages from the box and calls `take` with each message.
    pub fn collect(&self, mut take: impl FnMut(EarlyMessage)) {
        let early = &self.control().early;
        if early.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let _locked = self.lock(self.rank + 1);
        let written = early.written.swap(0, Ordering::Relaxed);
        early.count.store(0, Ordering::Relaxed);
        let mut reader = BoxReader::new(self.early_box(), 0, written.min(self.room()));
        while let Some(message) = reader.early() {
            take(message);
        }
        self.give_back(self.early_box(), written);
    }

    /// Lets the process stop until `missing` further early messages have arrived or the simulator passes a message.
    /// Returns false if messages have arrived in the meantime.
    pub fn stop_for_messages(&self, missing: u32) -> bool {
        let control = self.control();
        let locked = self.lock(self.rank + 1);
        if control.early.count.load(Ordering::Relaxed) > 0 {
            return false;
        }
        control.early.missing.store(missing, Ordering::Relaxed);
        control.turn.store(ProcessTurn::Messages as u32, Ordering::Release);
        drop(locked);
        self.count_stop();
        true
    }

    /// Lets the process stop until the simulator passes a message.
    pub fn stop_for_simulator(&self) {
        self.control().turn.store(ProcessTurn::Simulator as u32, Ordering::Release);
        self.count_stop();
    }

    /// Notes that the process no longer runs. The last process wakes the simulator.
    pub fn count_stop(&self) {
        if self.running().fetch_sub(1, Ordering::AcqRel) == 1 {
            wake(self.running());
        }
    }

    /// Returns true if the process waits for a message of the simulator.
    pub fn waits_for_simulator(&self) -> bool {
        self.control().turn.load(Ordering::Acquire) == ProcessTurn::Simulator as u32
    }

    /// Continues a process that has stopped and has a message of the simulator in its inbox. Returns false if the process
    /// runs.
    pub fn continue_process(&self) -> bool {
        let locked = self.lock(SIMULATOR);
        if self.control().turn.load(Ordering::Acquire) == ProcessTurn::Process as u32 {
            return false;
        }
        self.control().is_asked.store(true, Ordering::Relaxed);
        self.set_running();
        drop(locked);
        wake(&self.control().turn);
        true
    }

    /// Waits until the process has stopped, and until all others have stopped too, but at most `longest`. Returns true
    /// if the process has stopped.
    pub fn wait_stopped(&self, longest: Duration) -> bool {
        let (turn, start) = (&self.control().turn, Instant::now());
        let has_stopped = || turn.load(Ordering::Acquire) != ProcessTurn::Process as u32;
        loop {
            match self.running().load(Ordering::Acquire) {
                0 if has_stopped() => return true,
                // The process has not been counted, or it has ended.
                0 => sleep(turn, ProcessTurn::Process as u32, longest),
                running => sleep(self.running(), running, longest),
            }
            if start.elapsed() >= longest {
                return has_stopped();
            }
        }
    }
}
