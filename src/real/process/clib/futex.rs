//! Waiting at a word in memory by the system's own means (`futex`): who waits there would keep its host thread. Ranks
//! that wake each other find each other here; programs with threads are left to the system.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error;
use super::files::{pause_at_most, wait_is_endless};
use super::threads::alone;
use super::time::{length, read, span};
use crate::process::Process;
use mcpsim_core::units::SimSpan;

const WAIT: c_int = libc::FUTEX_WAIT;
const WAKE: c_int = libc::FUTEX_WAKE;
const WAIT_BITSET: c_int = libc::FUTEX_WAIT_BITSET;
const WAKE_BITSET: c_int = libc::FUTEX_WAKE_BITSET;
/// What matches any waiter.
const ANY: u32 = u32::MAX;

/// What tells words apart: of memory that processes share, the place in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Address(usize),
    /// Device, number and offset.
    InFile(String, u64, usize),
}

#[derive(Debug)]
struct Waiter {
    word: Word,
    bits: u32,
    woken: Arc<AtomicBool>,
}

/// The ranks that wait at words, the first first.
#[derive(Debug, Default)]
pub struct Futexes(Mutex<Vec<Waiter>>);

impl Futexes {
    fn waiters(&self) -> MutexGuard<'_, Vec<Waiter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, woken: &Arc<AtomicBool>) {
        self.waiters().retain(|waiter| !Arc::ptr_eq(&waiter.woken, woken));
    }

    /// Wakes at most `most` at `word`; how many.
    fn wake(&self, word: &Word, bits: u32, most: u32) -> u32 {
        let mut woken = 0;
        self.waiters().retain(|waiter| {
            let meant = woken < most && waiter.bits & bits != 0 && waiter.word == *word;
            if meant {
                waiter.woken.store(true, Ordering::Release);
                woken += 1;
            }
            !meant
        });
        woken
    }
}

/// The word at `address`, which another rank may have elsewhere.
fn word_at(address: usize, is_private: bool) -> Word {
    let mapped = || {
        let maps = fs::read_to_string("/proc/thread-self/maps").ok()?;
        maps.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (from, to) = words.next()?.split_once('-')?;
            let from = usize::from_str_radix(from, 16).ok()?;
            if !(from..usize::from_str_radix(to, 16).ok()?).contains(&address) {
                return None;
            }
            let is_shared = words.next()?.ends_with('s');
            let start = usize::from_str_radix(words.next()?, 16).ok()?;
            let (device, number) = (words.next()?, words.next()?.parse().ok()?);
            is_shared.then(|| Word::InFile(device.to_owned(), number, start + address - from))
        })
    };
    let found = if is_private { None } else { mapped() };
    found.unwrap_or(Word::Address(address))
}

/// `futex`, by the words of the system call, as far as it waits or wakes; none if that is left to the system.
pub(super) unsafe fn futex([at, operation, value, time, _, bits]: [usize; 6]) -> Option<c_long> {
    let p = alone().filter(|_| at != 0 && at.is_multiple_of(align_of::<u32>()))?;
    let (operation, value) = (operation as c_int, value as u32);
    let is_private = operation & libc::FUTEX_PRIVATE_FLAG != 0;
    let plain = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let bits = if matches!(plain, WAIT_BITSET | WAKE_BITSET) { bits as u32 } else { ANY };
    match plain {
        WAKE | WAKE_BITSET if !p.job.futexes.waiters().is_empty() && bits != 0 => {
            let woken = p.job.futexes.wake(&word_at(at, is_private), bits, value);
            (woken > 0).then_some(woken.into())
        }
        WAIT | WAIT_BITSET if bits != 0 => {
            // SAFETY: the caller's time, if there is one.
            let limit = match unsafe { (time as *const libc::timespec).as_ref() } {
                None => None,
                Some(&time) => Some(limit(operation, plain, length(time)?)?),
            };
            // SAFETY: the caller's word.
            let word = unsafe { AtomicU32::from_ptr(at as *mut u32) };
            Some(match wait(p, word, value, (word_at(at, is_private), bits), limit) {
                0 => 0,
                number => error(number).into(),
            })
        }
        _ => None,
    }
}

/// How long a rank waits that states `time`: from now on, or until then.
fn limit(operation: c_int, plain: c_int, time: Duration) -> Option<SimSpan> {
    if plain == WAIT {
        return Some(span(time));
    }
    let is_of_day = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    let now = read(if is_of_day { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC })?;
    Some(span(time.saturating_sub(Duration::from_nanos(now))))
}

/// Waits until it is woken, or until `word` holds something else: another process may have changed it. An error number.
fn wait(p: &Process, word: &AtomicU32, value: u32, (place, bits): (Word, u32), limit: Option<SimSpan>) -> c_int {
    if word.load(Ordering::Acquire) != value {
        return libc::EAGAIN;
    }
    let since = p.now();
    let woken = Arc::new(AtomicBool::new(false));
    p.job.futexes.waiters().push(Waiter { word: place, bits, woken: woken.clone() });
    let is_over = || woken.load(Ordering::Acquire) || word.load(Ordering::Acquire) != value;
    let mut number = 0;
    while !is_over() {
        let left = limit.map(|limit| limit.saturating_sub(p.now().since(since)));
        if left == Some(SimSpan::ZERO) {
            number = libc::ETIMEDOUT;
            break;
        }
        if !pause_at_most(p, since, left) {
            wait_is_endless(p, "somebody to wake it at a word in memory (futex)");
        }
    }
    p.job.futexes.leave(&woken);
    number
}
