//! A rank's time zone: its `TZ`, and what the C library makes of it (`tzname`, `timezone`, `daylight`). The library
//! knows one zone at a time and looks for it in the environment of the process. So whoever asks it for local times first
//! makes the zone its own, while nobody else does.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_long};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::environment;
use crate::process::{Function, NamedFunction, Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("tzset", Function(set_zone as *const ())),
    ("localtime_r", Function(localtime_r as *const ())),
    ("ctime_r", Function(ctime_r as *const ())),
    ("mktime", Function(mktime as *const ())),
    ("timelocal", Function(mktime as *const ())),
    ("strftime", Function(strftime as *const ())),
    ("strftime_l", Function(strftime_l as *const ())),
    ("__strftime_l", Function(strftime_l as *const ())),
    ("wcsftime", Function(wcsftime as *const ())),
    ("wcsftime_l", Function(wcsftime_l as *const ())),
    ("__wcsftime_l", Function(wcsftime_l as *const ())),
];

/// The value of `TZ`, if there is one.
type Zone = Option<Vec<u8>>;

/// A rank's zone.
#[derive(Debug, Default)]
pub struct Zones {
    /// That of the rank's last `tzset`; none before the first.
    zone: RefCell<Option<Zone>>,
    names: Cell<[*mut c_char; 2]>,
    west: Cell<c_long>,
    has_summer: Cell<c_int>,
}

impl Zones {
    /// Where the variable `name` is.
    pub fn address(&self, name: &str) -> usize {
        match name.trim_start_matches('_') {
            "tzname" => self.names.as_ptr() as usize,
            "timezone" => self.west.as_ptr() as usize,
            _ => self.has_summer.as_ptr() as usize,
        }
    }
}

unsafe extern "C" {
    static mut tzname: [*mut c_char; 2];
    static mut timezone: c_long;
    static mut daylight: c_int;
    fn tzset();
    #[link_name = "ctime_r"]
    fn host_ctime_r(time: *const libc::time_t, to: *mut c_char) -> *mut c_char;
    #[link_name = "strftime_l"]
    fn host_strftime_l(
        to: *mut c_char,
        room: usize,
        format: *const c_char,
        time: *const libc::tm,
        locale: libc::locale_t,
    ) -> usize;
    #[link_name = "wcsftime"]
    fn host_wcsftime(to: *mut c_int, room: usize, format: *const c_int, time: *const libc::tm) -> usize;
    #[link_name = "wcsftime_l"]
    fn host_wcsftime_l(
        to: *mut c_int,
        room: usize,
        format: *const c_int,
        time: *const libc::tm,
        locale: libc::locale_t,
    ) -> usize;
}

const ROOM: usize = 1024;

/// An entry of the environment that is changed in place, so that nobody who reads the list meets freed memory.
struct ZoneEntry(UnsafeCell<[u8; ROOM]>);
// SAFETY: it is changed by who holds [`KNOWN`] only.
unsafe impl Sync for ZoneEntry {}
static ENTRY: ZoneEntry = ZoneEntry(UnsafeCell::new([0; ROOM]));

/// What the C library knows.
struct KnownZone {
    /// What the process began with, once somebody has asked.
    first: Option<Zone>,
    now: Zone,
    has_entry: bool,
}

static KNOWN: Mutex<KnownZone> = Mutex::new(KnownZone { first: None, now: None, has_entry: false });

/// The rank's `TZ` now; of a thread of no rank, that of the process.
fn wanted(known: &KnownZone) -> Zone {
    match current() {
        Some(_) => environment::value(c"TZ").map(|value| value.to_bytes().to_vec()),
        None => known.first.clone().flatten(),
    }
}

/// Makes the C library know `zone`.
fn make(known: &mut KnownZone, zone: &Zone) {
    if known.now == *zone {
        return;
    }
    // No zone is that of the machine.
    let text = zone.as_deref().unwrap_or(b":/etc/localtime");
    let text = &text[..text.len().min(ROOM - 4)];
    // SAFETY: the lock is held; the entry ends with a zero and stays for ever.
    unsafe {
        let entry = ENTRY.0.get().cast::<u8>();
        ptr::copy_nonoverlapping(b"TZ=".as_ptr(), entry, 3);
        ptr::copy_nonoverlapping(text.as_ptr(), entry.add(3), text.len());
        entry.add(3 + text.len()).write(0);
        if !known.has_entry {
            known.has_entry = true;
            libc::putenv(entry.cast());
        }
        tzset();
    }
    known.now.clone_from(zone);
}

fn lock() -> MutexGuard<'static, KnownZone> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.first.is_none() {
        // SAFETY: the process's variable is a string.
        let zone = unsafe {
            let value = libc::getenv(c"TZ".as_ptr());
            (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes().to_vec())
        };
        known.now.clone_from(&zone);
        known.first = Some(zone);
        // SAFETY: the lock is held.
        unsafe { tzset() };
    }
    known
}

/// The rank's variables are what the C library has found.
fn tell(p: &Process) {
    let zones = &p.variables.zones;
    // SAFETY: the lock is held.
    unsafe {
        zones.names.set(tzname);
        zones.west.set(timezone);
        zones.has_summer.set(daylight);
    }
}

/// Calls what looks at `TZ` itself, as `tzset` does.
fn anew<T>(call: impl FnOnce() -> T) -> T {
    let mut known = lock();
    let zone = wanted(&known);
    make(&mut known, &zone);
    let result = call();
    if let Some(p) = current() {
        *p.variables.zones.zone.borrow_mut() = Some(zone);
        tell(p);
    }
    result
}

/// Calls what uses the zone that was set last.
fn as_set<T>(call: impl FnOnce() -> T) -> T {
    let set = current().and_then(|p| p.variables.zones.zone.borrow().clone());
    let Some(zone) = set else { return anew(call) };
    let mut known = lock();
    make(&mut known, &zone);
    call()
}

unsafe extern "C" fn set_zone() {
    anew(|| ());
}

unsafe extern "C" fn localtime_r(time: *const libc::time_t, to: *mut libc::tm) -> *mut libc::tm {
    // SAFETY: the caller's.
    as_set(|| unsafe { libc::localtime_r(time, to) })
}

unsafe extern "C" fn ctime_r(time: *const libc::time_t, to: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's.
    as_set(|| unsafe { host_ctime_r(time, to) })
}

unsafe extern "C" fn mktime(time: *mut libc::tm) -> libc::time_t {
    // SAFETY: the caller's.
    anew(|| unsafe { libc::mktime(time) })
}

unsafe extern "C" fn strftime(to: *mut c_char, room: usize, format: *const c_char, time: *const libc::tm) -> usize {
    // SAFETY: the caller's.
    anew(|| unsafe { libc::strftime(to, room, format, time) })
}

unsafe extern "C" fn strftime_l(
    to: *mut c_char,
    room: usize,
    format: *const c_char,
    time: *const libc::tm,
    locale: libc::locale_t,
) -> usize {
    // SAFETY: the caller's.
    anew(|| unsafe { host_strftime_l(to, room, format, time, locale) })
}

unsafe extern "C" fn wcsftime(to: *mut c_int, room: usize, format: *const c_int, time: *const libc::tm) -> usize {
    // SAFETY: the caller's.
    anew(|| unsafe { host_wcsftime(to, room, format, time) })
}

unsafe extern "C" fn wcsftime_l(
    to: *mut c_int,
    room: usize,
    format: *const c_int,
    time: *const libc::tm,
    locale: libc::locale_t,
) -> usize {
    // SAFETY: the caller's.
    anew(|| unsafe { host_wcsftime_l(to, room, format, time, locale) })
}
