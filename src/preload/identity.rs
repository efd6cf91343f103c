//! Host name, processors and affinity of a rank, as on the simulated node. They apply from the start of the process, so
//! that libraries do not start more threads than the rank has cores.

use std::ffi::{c_char, c_int, c_long, c_uint};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::next::call_next;
use crate::variables::note_read;

/// Environment variable with the node's name, its number of processors, the rank's first processor and the number of the
/// rank's processors.
const PLACE: &str = "MCPSIM_PLACE";

/// Number of processors that a set of the C library has room for.
const WORDS: usize = 16;

struct RankPlace {
    node: String,
    processors: usize,
    first: usize,
    /// Processors on which the program lets the process run.
    set: Mutex<[u64; WORDS]>,
}

/// Place of the rank after a fork, or null.
static FORKED: AtomicPtr<RankPlace> = AtomicPtr::new(std::ptr::null_mut());

fn read_place() -> Option<RankPlace> {
    let text = std::env::var(PLACE).ok()?;
    let mut words = text.split(' ');
    let node = words.next()?.to_owned();
    let mut number = || words.next()?.parse::<usize>().ok();
    let (processors, first, count) = (number()?, number()?, number()?);
    let mut set = [0; WORDS];
    (first..first + count).filter(|&cpu| cpu < WORDS * 64).for_each(|cpu| set[cpu / 64] |= 1 << (cpu % 64));
    Some(RankPlace { node, processors, first, set: Mutex::new(set) })
}

/// Reads the place again, because a forked process has one of its own.
pub fn read_again() {
    let place = read_place().map_or(std::ptr::null_mut(), |place| Box::into_raw(Box::new(place)));
    FORKED.store(place, Ordering::Release);
}

fn place() -> Option<&'static RankPlace> {
    static PLACE_OF_RANK: OnceLock<Option<RankPlace>> = OnceLock::new();
    let forked = FORKED.load(Ordering::Acquire);
    if !forked.is_null() {
        // SAFETY: the place is never freed.
        return Some(unsafe { &*forked });
    }
    PLACE_OF_RANK.get_or_init(read_place).as_ref()
}

/// Returns the place of the rank for a function whose result differs between ranks.
fn own_place() -> Option<&'static RankPlace> {
    note_read();
    place()
}

fn put_text(to: *mut c_char, room: usize, text: &str) {
    let length = text.len().min(room.saturating_sub(1));
    if room > 0 {
        // SAFETY: the caller's buffer has the stated room.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), length);
            *to.add(length) = 0;
        }
    }
}

fn error(number: c_int) -> c_int {
    // SAFETY: the location belongs to the thread.
    unsafe { *libc::__errno_location() = number };
    -1
}

/// The simulated node has no load. OpenMP reads the load if it chooses the number of threads itself (`OMP_DYNAMIC`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getloadavg(to: *mut f64, count: c_int) -> c_int {
    if place().is_none() {
        // SAFETY: the function has this signature, and the caller passes valid arguments.
        return unsafe { call_next!(c"getloadavg"(to => *mut f64, count => c_int) -> c_int) };
    }
    let count = count.min(3);
    // SAFETY: the caller passes room for this number of values.
    (0..count).for_each(|index| unsafe { *to.add(index as usize) = 0.0 });
    count
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostname(to: *mut c_char, room: usize) -> c_int {
    match own_place() {
        // SAFETY: the function has this signature, and the caller passes valid arguments.
        None => unsafe { call_next!(c"gethostname"(to => *mut c_char, room => usize) -> c_int) },
        Some(place) => {
            put_text(to, room, &place.node);
            if place.node.len() < room { 0 } else { error(libc::ENAMETOOLONG) }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uname(to: *mut libc::utsname) -> c_int {
    // SAFETY: as in `gethostname`.
    unsafe {
        let result = call_next!(c"uname"(to => *mut libc::utsname) -> c_int);
        if let (0, Some(place)) = (result, own_place()) {
            put_text((*to).nodename.as_mut_ptr(), (*to).nodename.len(), &place.node);
        }
        result
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    match (name, place()) {
        (libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF, Some(place)) => place.processors as c_long,
        // SAFETY: as in `gethostname`.
        _ => unsafe { call_next!(c"sysconf"(name => c_int) -> c_long) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn get_nprocs() -> c_int {
    match place() {
        Some(place) => place.processors as c_int,
        // SAFETY: as in `gethostname`.
        None => unsafe { call_next!(c"get_nprocs"() -> c_int) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn get_nprocs_conf() -> c_int {
    match place() {
        Some(place) => place.processors as c_int,
        // SAFETY: as in `gethostname`.
        None => unsafe { call_next!(c"get_nprocs_conf"() -> c_int) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getcpu() -> c_int {
    match place() {
        Some(place) => place.first as c_int,
        // SAFETY: as in `gethostname`.
        None => unsafe { call_next!(c"sched_getcpu"() -> c_int) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_int {
    // SAFETY: as in `gethostname`.
    unsafe {
        match place() {
            Some(place) => {
                for (to, value) in [(cpu, place.first as c_uint), (node, 0)] {
                    if !to.is_null() {
                        *to = value;
                    }
                }
                0
            }
            None => call_next!(c"getcpu"(cpu => *mut c_uint, node => *mut c_uint) -> c_int),
        }
    }
}

/// Returns true if `pid` is the process or a thread of the process.
fn is_own(pid: c_int) -> bool {
    // SAFETY: the call has no requirement.
    pid == 0 || pid == unsafe { libc::getpid() } || std::path::Path::new(&format!("/proc/self/task/{pid}")).exists()
}

fn read_set(place: &RankPlace, room: usize, to: *mut libc::cpu_set_t) -> c_int {
    let used = place.processors.div_ceil(64).min(WORDS) * 8;
    if room < used || !room.is_multiple_of(8) {
        return libc::EINVAL;
    }
    let set = place.set.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's set has `room` bytes.
    unsafe {
        std::ptr::write_bytes(to.cast::<u8>(), 0, room);
        std::ptr::copy_nonoverlapping(set.as_ptr().cast::<u8>(), to.cast(), room.min(WORDS * 8));
    }
    0
}

fn write_set(place: &RankPlace, size: usize, from: *const libc::cpu_set_t) -> c_int {
    let mut wanted = [0u64; WORDS];
    // SAFETY: the caller's set has `size` bytes.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), wanted.as_mut_ptr().cast(), size.min(WORDS * 8)) };
    for (index, word) in wanted.iter_mut().enumerate() {
        // Processors that the node does not have are left out, as the kernel does.
        let there = place.processors.saturating_sub(index * 64).min(64);
        *word &= if there == 64 { u64::MAX } else { (1 << there) - 1 };
    }
    if wanted == [0; WORDS] {
        return libc::EINVAL;
    }
    *place.set.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    0
}

fn result_of(number: c_int) -> c_int {
    if number == 0 { 0 } else { error(number) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(pid: c_int, room: usize, to: *mut libc::cpu_set_t) -> c_int {
    match place().filter(|_| is_own(pid)) {
        Some(place) => result_of(read_set(place, room, to)),
        // SAFETY: as in `gethostname`.
        None => unsafe {
            call_next!(c"sched_getaffinity"(pid => c_int, room => usize, to => *mut libc::cpu_set_t) -> c_int)
        },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setaffinity(pid: c_int, size: usize, from: *const libc::cpu_set_t) -> c_int {
    match place().filter(|_| is_own(pid)) {
        Some(place) => result_of(write_set(place, size, from)),
        // SAFETY: as in `gethostname`.
        None => unsafe {
            call_next!(c"sched_setaffinity"(pid => c_int, size => usize, from => *const libc::cpu_set_t) -> c_int)
        },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getaffinity_np(
    thread: libc::pthread_t,
    room: usize,
    to: *mut libc::cpu_set_t,
) -> c_int {
    match place() {
        Some(place) => read_set(place, room, to),
        // SAFETY: as in `gethostname`.
        None => unsafe {
            call_next!(c"pthread_getaffinity_np"(thread => libc::pthread_t, room => usize, to => *mut libc::cpu_set_t)
                -> c_int)
        },
    }
}

/// Affinities of threads have no effect, because the simulated processors are not those of the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setaffinity_np(
    thread: libc::pthread_t,
    size: usize,
    from: *const libc::cpu_set_t,
) -> c_int {
    match place() {
        Some(_) => 0,
        // SAFETY: as in `gethostname`.
        None => unsafe {
            call_next!(c"pthread_setaffinity_np"(
                thread => libc::pthread_t, size => usize, from => *const libc::cpu_set_t) -> c_int)
        },
    }
}

/// See [`pthread_setaffinity_np`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_setaffinity_np(
    attributes: *mut libc::pthread_attr_t,
    size: usize,
    from: *const libc::cpu_set_t,
) -> c_int {
    match place() {
        Some(_) => 0,
        // SAFETY: as in `gethostname`.
        None => unsafe {
            call_next!(c"pthread_attr_setaffinity_np"(
                attributes => *mut libc::pthread_attr_t, size => usize, from => *const libc::cpu_set_t) -> c_int)
        },
    }
}
