//! Calls of futex by the C function `syscall`. A thread waits while a number in memory has a value, and another thread
//! changes the number and then ends the wait.

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mcpsim_core::rank::{Call, ObjectUse, Rank, RequestId, UNCOUNTED_BLOCK};
use mcpsim_core::units::SimSpan;

use super::timed::{span, time_left, times_out_after};
use super::{enlist, first, own_rank, resume, suspend, withdraw};
use crate::as_built::tasks::{in_function, own_turn};
use crate::mpi_api::MpiProcess;
use crate::process::ComputeMode;

/// Bits of a wait that each call ends, and of a call that ends each wait.
const ANY: u32 = u32::MAX;

const NANOSECONDS: i64 = 1_000_000_000;

/// Time limit of a wait.
enum TimeLimit {
    After(SimSpan),
    /// Point in time of a clock of the C library.
    Until(libc::timespec),
}

impl TimeLimit {
    fn left(&self, p: &MpiProcess) -> SimSpan {
        match self {
            TimeLimit::After(span) => *span,
            TimeLimit::Until(time) => time_left(p, time),
        }
    }
}

/// Lists the current thread as waiting for the number at `address` while it has the value `value`. Returns `None` if it
/// has another value.
pub fn enlist_while(p: &MpiProcess, address: usize, value: u32) -> Option<RequestId> {
    // SAFETY: the caller passes the address of a number.
    let is_same = || unsafe { (*(address as *const AtomicU32)).load(Ordering::SeqCst) } == value;
    if !is_same() {
        return None;
    }
    let request = enlist(p, address, p.clock.get());
    // Another thread may have continued meanwhile.
    if !is_same() && withdraw(address, request) {
        p.call_done(Call::Cancel(request));
    }
    Some(request)
}

/// Resumes at most `most` threads that wait for the number at `address`. Returns the number of these threads.
pub fn resume_most(p: &MpiProcess, address: usize, most: usize) -> usize {
    let threads: Vec<_> = (0..most).map_while(|_| first(address)).collect();
    let count = threads.len();
    threads.into_iter().for_each(|thread| resume(p, thread));
    count
}

fn wait(p: &MpiProcess, address: usize, value: u32, limit: Option<TimeLimit>) -> c_long {
    own_turn(p);
    p.uses_object(address, ObjectUse::Next);
    let Some(request) = enlist_while(p, address, value) else { return -c_long::from(libc::EAGAIN) };
    match limit {
        None => suspend(p, request),
        Some(limit) if times_out_after(p, address, request, limit.left(p)) => return -c_long::from(libc::ETIMEDOUT),
        Some(_) => {}
    }
    0
}

/// Longest measured block in ps before a thread ended waits. Other threads have seen its changes of numbers in memory from
/// the start of the block.
static LONGEST: AtomicU64 = AtomicU64::new(0);

/// Returns the longest measured block before a thread ended waits, if it is long.
pub fn early_wakes(p: &MpiProcess) -> Option<(SimSpan, Rank)> {
    let longest = SimSpan::from_ps(LONGEST.load(Ordering::Relaxed));
    (longest >= UNCOUNTED_BLOCK).then_some((longest, p.rank))
}

fn end_waits(p: &MpiProcess, address: usize, most: usize) -> usize {
    if p.job.options.compute == ComputeMode::Measure {
        LONGEST.fetch_max(p.block_so_far().as_ps(), Ordering::Relaxed);
    }
    own_turn(p);
    p.uses_object(address, ObjectUse::Next);
    resume_most(p, address, most)
}

/// Calls futex in the system. Returns its result, or a negative error number.
unsafe fn of_system(arguments: [usize; 6]) -> c_long {
    let [address, operation, value, time, second, bits] = arguments;
    // SAFETY: the arguments are those of the caller. The location of the error number belongs to the thread.
    unsafe {
        let result = libc::syscall(libc::SYS_futex, address, operation, value, time, second, bits);
        if result < 0 { -c_long::from(*libc::__errno_location()) } else { result }
    }
}

/// Returns the time limit of a wait with the time `time`, or an error number.
fn time_limit(command: c_int, time: Option<libc::timespec>) -> Result<Option<TimeLimit>, c_int> {
    let Some(time) = time else { return Ok(None) };
    if time.tv_sec < 0 || !(0..NANOSECONDS).contains(&time.tv_nsec) {
        return Err(libc::EINVAL);
    }
    Ok(Some(match command {
        libc::FUTEX_WAIT => TimeLimit::After(span(&time)),
        _ => TimeLimit::Until(time),
    }))
}

/// Executes a call of futex. Returns its result, or a negative error number. The system executes operations other than
/// waits and ends of waits, and waits for events that bits select.
pub(super) unsafe extern "C" fn futex(
    address: usize,
    operation: c_int,
    value: u32,
    time: *const libc::timespec,
    second: usize,
    bits: u32,
) -> c_long {
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let has_bits = matches!(command, libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET) && bits != ANY;
    let is_number = address != 0 && address.is_multiple_of(align_of::<AtomicU32>());
    let system = |value: u32| {
        // SAFETY: the arguments are those of the caller.
        unsafe { of_system([address, operation as usize, value as usize, time as usize, second, bits as usize]) }
    };
    match command {
        _ if has_bits || !is_number => system(value),
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // SAFETY: the caller passes null or a valid time.
            let limit = match time_limit(command, unsafe { time.as_ref() }.copied()) {
                Ok(limit) => limit,
                Err(number) => return -c_long::from(number),
            };
            in_function(own_rank(), "futex", |p| wait(p, address, value, limit))
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => in_function(own_rank(), "futex", |p| {
            // The system ends at least one wait.
            let most = (value as c_int).max(1) as usize;
            let count = end_waits(p, address, most);
            // Threads without clocks of their own wait in the system.
            let others = if count < most { system((most - count) as u32).max(0) } else { 0 };
            count as c_long + others
        }),
        _ => system(value),
    }
}
