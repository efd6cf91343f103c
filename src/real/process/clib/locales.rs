//! A rank's locale. The C library has one for the process and lets a thread use another (`uselocale`): a rank that has
//! set one uses it whenever its code runs.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use super::environment;
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] =
    &[("setlocale", Function(setlocale as *const ())), ("uselocale", Function(uselocale as *const ()))];

/// The categories by their numbers; LC_ALL is 6.
const CATEGORIES: [&str; 13] = [
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
];
/// The process's own locale (`LC_GLOBAL_LOCALE`).
const GLOBAL: libc::locale_t = usize::MAX as libc::locale_t;

/// What a rank has set.
#[derive(Debug)]
pub struct Locale {
    /// In place of the process's; null if it has set none.
    own: Cell<libc::locale_t>,
    /// What the rank's main thread uses in place of that; null if nothing else.
    used: Cell<libc::locale_t>,
    /// The names of the categories; empty of "C" in all.
    names: RefCell<Vec<String>>,
    /// What `setlocale` has given last.
    said: RefCell<CString>,
    is_set: Cell<bool>,
}

impl Default for Locale {
    fn default() -> Self {
        Locale {
            own: Cell::new(ptr::null_mut()),
            used: Cell::new(ptr::null_mut()),
            names: RefCell::default(),
            said: RefCell::default(),
            is_set: Cell::new(false),
        }
    }
}

impl Locale {
    /// Whether the rank has one of its own.
    pub fn is_own(&self) -> bool {
        !self.own.get().is_null() || !self.used.get().is_null()
    }

    /// What the rank's main thread uses.
    fn effective(&self) -> libc::locale_t {
        let set = |locale: libc::locale_t| (!locale.is_null()).then_some(locale);
        set(self.used.get()).or(set(self.own.get())).unwrap_or(GLOBAL)
    }

    /// Makes it that of this thread, now.
    fn apply(&self) {
        self.is_set.set(true);
        // SAFETY: one that the program or this module has made.
        unsafe { libc::uselocale(self.effective()) };
    }

    /// The rank's code begins to run on this thread, or stops.
    pub fn exchange(&self) {
        let set = !self.is_set.get();
        self.is_set.set(set);
        // SAFETY: as above.
        unsafe { libc::uselocale(if set { self.effective() } else { GLOBAL }) };
    }

    fn name(&self, category: usize) -> String {
        self.names.borrow().get(category).cloned().unwrap_or_else(|| "C".to_owned())
    }

    /// The name of all categories: one if it is the same of all.
    fn names(&self) -> String {
        let all = (0..CATEGORIES.len()).filter(|&category| !CATEGORIES[category].is_empty());
        let first = self.name(0);
        if all.clone().all(|category| self.name(category) == first) {
            return first;
        }
        let each = all.map(|category| format!("{}={}", CATEGORIES[category], self.name(category)));
        each.collect::<Vec<_>>().join(";")
    }

    fn say(&self, text: String) -> *mut c_char {
        let mut said = self.said.borrow_mut();
        *said = CString::new(text).unwrap_or_default();
        said.as_ptr().cast_mut()
    }
}

/// The name that an empty one stands for.
fn usual(category: usize) -> String {
    let names = [c"LC_ALL".to_owned(), CString::new(CATEGORIES[category]).unwrap_or_default(), c"LANG".to_owned()];
    let mut values = names.iter().filter_map(|name| environment::value(name));
    let found = values.find(|value| !value.is_empty());
    found.map_or_else(|| "C".to_owned(), |value| value.to_string_lossy().into_owned())
}

unsafe extern "C" fn setlocale(category: c_int, name: *const c_char) -> *mut c_char {
    let Some(p) = current() else {
        // SAFETY: a thread of the program's own may ask, but not change what is the rank's.
        return unsafe { libc::setlocale(category, ptr::null()) };
    };
    let locale = &p.variables.locale;
    let all = category == libc::LC_ALL;
    let Some(place) = usize::try_from(category).ok().filter(|&place| place < CATEGORIES.len()) else {
        super::error(libc::EINVAL);
        return ptr::null_mut();
    };
    if name.is_null() {
        return locale.say(if all { locale.names() } else { locale.name(place) });
    }
    // SAFETY: the caller's string.
    let text = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    // "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;…", as this function gives it.
    let parts: Vec<(&str, &str)> = text.split(';').filter_map(|part| part.split_once('=')).collect();
    let mut names: Vec<String> = (0..CATEGORIES.len()).map(|category| locale.name(category)).collect();
    // SAFETY: the locale is one of this module, which `newlocale` changes or leaves as it is.
    let mut new = unsafe {
        match locale.own.get() {
            own if own.is_null() => libc::newlocale(mask(libc::LC_ALL as usize), c"C".as_ptr(), ptr::null_mut()),
            own => libc::duplocale(own),
        }
    };
    for at in (0..CATEGORIES.len()).filter(|&at| if all { !CATEGORIES[at].is_empty() } else { at == place }) {
        let wanted = match parts.iter().find(|(category, _)| *category == CATEGORIES[at]) {
            Some((_, name)) => (*name).to_owned(),
            None if text.is_empty() => usual(at),
            None => text.clone(),
        };
        let Ok(wanted_text) = CString::new(wanted.clone()) else { return ptr::null_mut() };
        // SAFETY: as above.
        let changed = unsafe { libc::newlocale(mask(at), wanted_text.as_ptr(), new) };
        if changed.is_null() {
            // SAFETY: it was not taken.
            unsafe { libc::freelocale(new) };
            return ptr::null_mut();
        }
        new = changed;
        names[at] = if wanted == "POSIX" { "C".to_owned() } else { wanted };
    }
    // The one before stays: what was asked of it may be looked at.
    locale.own.set(new);
    *locale.names.borrow_mut() = names;
    p.variables.has_surroundings();
    locale.apply();
    locale.say(if all { locale.names() } else { locale.name(place) })
}

/// The bit of a category, or all (`LC_CTYPE_MASK` and so on).
fn mask(category: usize) -> c_int {
    if category == libc::LC_ALL as usize { 0x1fbf } else { 1 << category }
}

unsafe extern "C" fn uselocale(new: libc::locale_t) -> libc::locale_t {
    let Some(p) = current() else {
        // SAFETY: the caller's.
        return unsafe { libc::uselocale(new) };
    };
    let locale = &p.variables.locale;
    let before = if locale.used.get().is_null() { GLOBAL } else { locale.used.get() };
    if !new.is_null() {
        locale.used.set(if new == GLOBAL { ptr::null_mut() } else { new });
        p.variables.has_surroundings();
        locale.apply();
    }
    before
}
