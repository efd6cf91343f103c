//! Replacements of `dlopen` and related functions (POSIX `<dlfcn.h>`, and `<link.h>` of the C library) for programs.
//!
//! `RTLD_NEXT` and the library search depend on the file that contains the call. The return address of the call
//! identifies the calling file.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::library::Shared;
use super::loaded;
use super::search::{Found, is_stub, other_mpi};
use super::space::{Handle, InstanceMemory, Opened};

/// Returns the address of the replacement function `name` if the module `dl` implements the function. `opens.c` of
/// the support archive calls some of the functions by separate names.
pub(super) fn function(name: &str) -> Option<usize> {
    Some(match name {
        "dlopen" | "mcpsim_dlopen" => mcpsim_dlopen as *const () as usize,
        "dlmopen" | "mcpsim_dlmopen" => mcpsim_dlmopen as *const () as usize,
        "dlsym" | "mcpsim_dlsym" => mcpsim_dlsym as *const () as usize,
        "dlvsym" | "mcpsim_dlvsym" => mcpsim_dlvsym as *const () as usize,
        "dlclose" => mcpsim_dlclose as *const () as usize,
        "dlerror" => mcpsim_dlerror as *const () as usize,
        "dladdr" => address as *const () as usize,
        "dladdr1" => address_and_more as *const () as usize,
        "dlinfo" => mcpsim_dlinfo as *const () as usize,
        "dl_iterate_phdr" => mcpsim_dl_iterate_phdr as *const () as usize,
        _ => return None,
    })
}

macro_rules! with_caller {
    ($($name:ident $register:literal $to:path;)*) => {
        unsafe extern "C" {
            $(fn $name();)*
        }

        $(
            std::arch::global_asm!(
                concat!(".pushsection .text.", stringify!($name), ", \"ax\", @progbits"),
                concat!(".globl ", stringify!($name)),
                concat!(".hidden ", stringify!($name)),
                concat!(".type ", stringify!($name), ", @function"),
                concat!(stringify!($name), ":"),
                concat!("mov ", $register, ", [rsp]"),
                "jmp {to}",
                concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
                ".popsection",
                to = sym $to,
            );
        )*
    };
}

// `with_caller` passes the return address as an additional argument, after the arguments of the program.
with_caller! {
    mcpsim_dlopen "rdx" open;
    mcpsim_dlmopen "rcx" open_apart;
    mcpsim_dlsym "rdx" symbol;
    mcpsim_dlvsym "rcx" versioned_symbol;
    mcpsim_dlclose "rsi" close;
    mcpsim_dlerror "rdi" error;
    mcpsim_dlinfo "rcx" info;
    mcpsim_dl_iterate_phdr "rdx" iterate;
}

/// Target of calls to functions that are undefined in a library opened with `RTLD_LAZY`. The target function prints a
/// message and aborts the program.
pub(super) unsafe extern "C" fn undefined() -> ! {
    const TEXT: &[u8] = b"error: a library has called a function that no loaded library defines (see RTLD_LAZY in \
                          dlopen)\n";
    // SAFETY: `TEXT` has `TEXT.len()` bytes, which `write` only reads. `abort` has no preconditions; the crash report
    // of the signal contains the position of the call.
    unsafe {
        libc::write(2, TEXT.as_ptr().cast(), TEXT.len());
        libc::abort()
    }
}

/// Returns the instance memory that contains the code at `caller`.
fn space(caller: usize) -> Option<Arc<InstanceMemory>> {
    loaded::space(caller)
}

unsafe extern "C" fn open(name: *const c_char, flags: c_int, caller: usize) -> *mut c_void {
    let Some(space) = space(caller) else { return ptr::null_mut() };
    let namespace = space.namespace(caller);
    // SAFETY: the program calls `dlopen` with valid arguments, which `open_in` requires.
    unsafe { open_in(&space, namespace, name, flags, caller) }
}

unsafe fn open_in(
    space: &Arc<InstanceMemory>,
    namespace: usize,
    name: *const c_char,
    flags: c_int,
    caller: usize,
) -> *mut c_void {
    if name.is_null() {
        return space.handle(Opened::Program).cast();
    }
    // SAFETY: `name` is not null, and `dlopen` requires the program to pass a zero-terminated string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    // SAFETY: the program called `dlopen`, which permits the initialisers of the library to run.
    match unsafe { opened(space, namespace, &name, flags, caller) } {
        Ok(Some(what)) => space.handle(what).cast(),
        Ok(None) => ptr::null_mut(),
        Err(text) => {
            space.fail(text);
            ptr::null_mut()
        }
    }
}

/// Opens the library `name`. With `RTLD_NOLOAD`, returns `None` without an error if the library is not loaded.
unsafe fn opened(
    space: &Arc<InstanceMemory>,
    namespace: usize,
    name: &str,
    flags: c_int,
    caller: usize,
) -> Result<Option<Opened>, String> {
    if flags & (libc::RTLD_LAZY | libc::RTLD_NOW) == 0 {
        return Err(format!("{name}: invalid mode for dlopen(): Invalid argument"));
    }
    if name.is_empty() || is_stub(name) {
        return Ok(Some(Opened::Program));
    }
    if other_mpi(name) {
        return Err(format!(
            "{name}: cannot open shared object file: this library is another MPI, but the program \
                            runs with mcpsim's MPI"
        ));
    }
    let (global, stays) = (flags & libc::RTLD_GLOBAL != 0, flags & libc::RTLD_NODELETE != 0);
    let known = |path: &Path| {
        space.find(path, namespace).map(|(group, module)| {
            group.opened.fetch_add(1, Ordering::Relaxed);
            if global {
                group.is_global.store(true, Ordering::Relaxed);
            }
            if stays {
                group.stays.store(true, Ordering::Relaxed);
            }
            Opened::Own(group, module)
        })
    };
    if !name.contains('/')
        && let Some(found) = known(Path::new(name))
    {
        return Ok(Some(found));
    }
    let absent = || format!("{name}: cannot open shared object file: No such file or directory");
    if name.contains('/') && !Path::new(name).exists() {
        return Err(absent());
    }
    let found = space.search(name, caller).map_err(|error| error.for_program())?;
    let source = match found {
        Found::Shared { name, told } => {
            let asked = flags & libc::RTLD_NOLOAD != 0;
            let own = libc::RTLD_NOW | (flags & libc::RTLD_GLOBAL);
            let shared = if asked { Shared::find(&name) } else { Shared::open_as(&name, own).ok() };
            return match shared {
                Some(shared) => {
                    space.common.opened_shared(told);
                    Ok(Some(Opened::Shared(shared)))
                }
                None if asked => Ok(None),
                None => Err(absent()),
            };
        }
        Found::Own(source) => source,
    };
    if let Some(found) = known(&source.path) {
        return Ok(Some(found));
    }
    if flags & libc::RTLD_NOLOAD != 0 {
        return Ok(None);
    }
    // SAFETY: the program called `dlopen`, which permits the initialisers of the library to run.
    match unsafe { space.load(&source.path, flags, namespace) } {
        Ok(group) => {
            group.opened.fetch_add(1, Ordering::Relaxed);
            group.stays.fetch_or(stays, Ordering::Relaxed);
            Ok(Some(Opened::Own(group, 0)))
        }
        Err(error) => {
            if !error.is_usual() {
                space.common.host.refuse(&error);
            }
            Err(error.for_program())
        }
    }
}

/// `dlmopen`: loads the libraries that the namespace does not contain. New copies of libraries have separate global
/// variables.
unsafe extern "C" fn open_apart(namespace: c_long, name: *const c_char, flags: c_int, caller: usize) -> *mut c_void {
    let Some(space) = space(caller) else { return ptr::null_mut() };
    let refuse = |why: &str| {
        space.fail(why.to_owned());
        ptr::null_mut()
    };
    if namespace != libc::LM_ID_BASE && name.is_null() {
        return refuse("invalid namespace: Invalid argument");
    }
    if namespace != libc::LM_ID_BASE && flags & libc::RTLD_GLOBAL != 0 {
        return refuse("invalid mode: Invalid argument");
    }
    let namespace = match usize::try_from(namespace) {
        Ok(known) if space.is_namespace(known) => known,
        Err(_) if namespace == libc::LM_ID_NEWLM => space.new_namespace(),
        _ => return refuse("invalid target namespace in dlmopen(): Invalid argument"),
    };
    // SAFETY: the program calls `dlmopen` with valid arguments, which `open_in` requires.
    unsafe { open_in(&space, namespace, name, flags, caller) }
}

unsafe extern "C" fn symbol(handle: *mut c_void, name: *const c_char, caller: usize) -> *mut c_void {
    // SAFETY: the program calls `dlsym` with a handle and a zero-terminated name, which `find` requires.
    unsafe { find(handle, name, ptr::null(), caller) }
}

unsafe extern "C" fn versioned_symbol(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> *mut c_void {
    // SAFETY: the program calls `dlvsym` with a handle and zero-terminated strings, which `find` requires.
    unsafe { find(handle, name, version, caller) }
}

unsafe fn find(handle: *mut c_void, name: *const c_char, version: *const c_char, caller: usize) -> *mut c_void {
    let Some(space) = space(caller) else { return ptr::null_mut() };
    // SAFETY: the text is not null, and `dlsym` requires the program to pass zero-terminated strings.
    let text = |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    let (name, version) = (text(name).unwrap_or_default(), text(version));
    let found = match handle {
        libc::RTLD_DEFAULT => Some(space.global(&name)),
        libc::RTLD_NEXT => {
            space.place(caller).map(|(group, module, _)| space.behind(&group, module, &name, version.as_deref()))
        }
        handle => space.opened(handle.cast::<Handle>()).map(|opened| match opened {
            Opened::Program => space.global(&name),
            Opened::Own(group, module) => {
                space.of_module(&group, module, &name).or_else(|| space.outside(&name, version.as_deref()))
            }
            Opened::Shared(library) => {
                // Per-rank replacements take precedence over functions of the C library.
                let symbol = || {
                    let name = CString::new(name.as_bytes()).ok()?;
                    library.symbol(&name, None)
                };
                symbol().and_then(|address| space.outside(&name, version.as_deref()).or(Some(address)))
            }
        }),
    };
    match found {
        Some(Some(address)) => return address as *mut c_void,
        Some(None) => {
            let file = space.place(caller).map(|(group, module, _)| InstanceMemory::path(&group, module));
            let file = match (handle, file) {
                (libc::RTLD_DEFAULT | libc::RTLD_NEXT, Some(file)) => file.display().to_string(),
                _ => space.opened(handle.cast::<Handle>()).map_or(String::new(), |opened| match opened {
                    Opened::Own(group, module) => InstanceMemory::path(&group, module).display().to_string(),
                    _ => String::new(),
                }),
            };
            space.fail(format!("{file}: undefined symbol: {name}"));
        }
        None => space.fail("invalid handle".to_owned()),
    }
    ptr::null_mut()
}

unsafe extern "C" fn close(handle: *mut c_void, caller: usize) -> c_int {
    let Some(space) = space(caller) else { return -1 };
    match space.opened(handle.cast::<Handle>()) {
        Some(Opened::Own(group, _)) => {
            let count = |count: usize| count.checked_sub(1);
            if group.opened.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) == Ok(1) {
                // SAFETY: the program called `dlclose` and therefore no longer uses pointers into the library.
                unsafe { space.close(&group) }
            }
            0
        }
        Some(_) => 0,
        None => {
            space.fail("invalid handle".to_owned());
            -1
        }
    }
}

unsafe extern "C" fn error(caller: usize) -> *const c_char {
    space(caller).map_or(ptr::null(), |space| space.take_error())
}

/// `dladdr`: finds the file and the symbol that contain an address.
pub(super) unsafe extern "C" fn address(of: *const c_void, found: *mut libc::Dl_info) -> c_int {
    let own = loaded::space(of as usize).and_then(|space| space.place(of as usize));
    let Some((group, module, at)) = own else {
        // SAFETY: the program passes valid arguments to `dladdr`, and the call of the system's `dladdr` passes the
        // arguments on unchanged.
        return unsafe { libc::dladdr(of, found) };
    };
    let file = &group.parts.modules[module];
    let place = group.parts.layout.places[module];
    let nearest = file.exports.nearest(&file.path, at as u64);
    let info = libc::Dl_info {
        dli_fname: file.exports.path(&file.path).as_ptr(),
        dli_fbase: (group.base + place.start) as *mut c_void,
        dli_sname: nearest.map_or(ptr::null(), |(_, name)| name.as_ptr()),
        dli_saddr: nearest.map_or(ptr::null_mut(), |(at, _)| (group.base + place.offset(at)) as *mut c_void),
    };
    // SAFETY: `dladdr` requires the program to pass a pointer that is valid for writing the result.
    unsafe { found.write(info) };
    1
}

/// `dladdr1`: like `dladdr`, and stores a null pointer as the additional information.
unsafe extern "C" fn address_and_more(
    of: *const c_void,
    found: *mut libc::Dl_info,
    more: *mut *mut c_void,
    _what: c_int,
) -> c_int {
    // SAFETY: `dladdr1` requires the program to pass valid pointers for the results, and `more` is checked for null.
    unsafe {
        if !more.is_null() {
            *more = ptr::null_mut();
        }
        address(of, found)
    }
}

/// Request number of `dlinfo` for the directory of the library's file.
const RTLD_DI_ORIGIN: c_int = 6;

unsafe extern "C" fn info(handle: *mut c_void, what: c_int, to: *mut c_void, caller: usize) -> c_int {
    let Some(space) = space(caller) else { return -1 };
    match space.opened(handle.cast::<Handle>()) {
        // SAFETY: `dlinfo` requires a buffer that is large enough for the path, and `dlopen` returned the handle.
        Some(Opened::Own(..) | Opened::Program) if what == RTLD_DI_ORIGIN => unsafe {
            // A `dlopen` handle starts with a link map. The second word of the link map points to the file name.
            let name = CStr::from_ptr(handle.cast::<*const c_char>().add(1).read()).to_bytes();
            let end = name.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at.max(1));
            ptr::copy_nonoverlapping(name.as_ptr().cast(), to.cast::<c_char>(), end);
            to.cast::<c_char>().add(end).write(0);
            0
        },
        // SAFETY: `dlinfo` requires the program to pass a pointer to a pointer for `RTLD_DI_LINKMAP`. A `dlopen`
        // handle starts with a link map.
        Some(Opened::Own(..) | Opened::Program) if what == libc::RTLD_DI_LINKMAP => unsafe {
            to.cast::<*mut c_void>().write(handle);
            0
        },
        // SAFETY: `dlinfo` requires the program to pass a pointer to a `long` for `RTLD_DI_LMID`.
        Some(Opened::Own(group, _)) if what == libc::RTLD_DI_LMID => unsafe {
            to.cast::<c_long>().write(group.namespace as c_long);
            0
        },
        // SAFETY: `dlinfo` requires the program to pass a pointer to a `long` for `RTLD_DI_LMID`.
        Some(Opened::Program) if what == libc::RTLD_DI_LMID => unsafe {
            to.cast::<c_long>().write(libc::LM_ID_BASE);
            0
        },
        // SAFETY: the library handle is open, and `to` is the program's buffer for the `dlinfo` request.
        Some(Opened::Shared(library)) => unsafe { libc::dlinfo(library.0, what, to) },
        Some(_) => {
            space.fail("unsupported dlinfo request".to_owned());
            -1
        }
        None => {
            space.fail("invalid handle".to_owned());
            -1
        }
    }
}

type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, libc::size_t, *mut c_void) -> c_int;

/// `dl_iterate_phdr`: iterates over the rank's own files and then over the shared libraries. The iteration omits the
/// executable of mcpsim.
unsafe extern "C" fn iterate(callback: Callback, data: *mut c_void, caller: usize) -> c_int {
    let groups = space(caller).map_or_else(Vec::new, |space| space.groups());
    let mut is_first = true;
    for group in &groups {
        for (file, place) in group.parts.modules.iter().zip(&group.parts.layout.places) {
            let name = file.exports.path(&file.path);
            // SAFETY: zero is a valid `dl_phdr_info`.
            let mut info: libc::dl_phdr_info = unsafe { std::mem::zeroed() };
            info.dlpi_addr = group.base.wrapping_add(place.offset(0)) as u64;
            info.dlpi_name = if std::mem::take(&mut is_first) { c"".as_ptr() } else { name.as_ptr() };
            info.dlpi_phdr = (group.base + file.headers.0) as *const _;
            info.dlpi_phnum = file.headers.1;
            info.dlpi_adds = groups.len() as u64;
            // SAFETY: the program passes a callback with this signature, and `data` is the argument of the callback.
            let result = unsafe { callback(&mut info, size_of::<libc::dl_phdr_info>(), data) };
            if result != 0 {
                return result;
            }
        }
    }
    struct Rest(Callback, *mut c_void, bool);
    unsafe extern "C" fn rest(info: *mut libc::dl_phdr_info, size: libc::size_t, rest: *mut c_void) -> c_int {
        // SAFETY: `dl_iterate_phdr` passes the pointer to `given`, which lives until `dl_iterate_phdr` returns.
        let rest = unsafe { &mut *rest.cast::<Rest>() };
        if std::mem::take(&mut rest.2) {
            return 0;
        }
        // SAFETY: the program passes a callback with this signature, and the system's loader provides valid `info` and
        // `size`.
        unsafe { rest.0(info, size, rest.1) }
    }
    let mut given = Rest(callback, data, true);
    // SAFETY: `rest` expects a pointer to `Rest`, and `given` lives until `dl_iterate_phdr` returns.
    unsafe { libc::dl_iterate_phdr(Some(rest), (&raw mut given).cast()) }
}
