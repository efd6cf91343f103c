//! Memory that the processes of ranks share with the simulator: an unnamed file with one area per rank.
//!
//! ```text
//!   header │ setup text │ area of rank 0: control, calls (outbox), replies (inbox) │ area of rank 1 │ …
//! ```
//!
//! Areas are sparse: only pages that have been written use memory.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Environment variable with the path of the shared file.
pub const FILE: &str = "MCPSIM_SHARED_FILE";
/// Environment variable with the rank.
pub const RANK: &str = "MCPSIM_SHARED_RANK";
/// First word of the shared file. It changes with the layout of the file and of the messages in it.
const MARK: u64 = 0x6d63_7073_696d_0001;
const PAGE: u64 = 4096;
/// Greatest size in bytes of an outbox or inbox.
const MOST_ROOM: u64 = 4 << 30;
/// Greatest total size of the areas in bytes.
const MOST_MEMORY: u64 = 16 << 40;
/// Bytes of a box whose pages are kept after use. Further pages are returned to the system.
const KEPT: u64 = 1 << 20;

/// Side that may use the area: the process or the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProcessTurn {
    /// The process runs.
    Process = 0,
    /// The simulator has calls to read.
    Simulator = 1,
}

#[repr(C)]
struct MemoryHeader {
    mark: u64,
    ranks: u32,
    simulator: u32,
    setup: u64,
    areas: u64,
    room: u64,
}

/// Control block of a rank's area.
#[repr(C, align(128))]
pub struct Control {
    turn: AtomicU32,
    /// Identifier of the process, or 0 before MPI_Init.
    pub process: AtomicU32,
    /// Number of bytes of calls in the outbox.
    pub written: AtomicU64,
    /// Number of bytes in the inbox.
    pub answered: AtomicU64,
}

/// Area of a rank in this process's memory.
pub struct Area {
    at: *mut u8,
    room: u64,
    /// Identifier of the simulator's process.
    pub simulator: u32,
}

// SAFETY: an area is plain memory. The turn decides which side uses the boxes, and each side has one user at a time.
unsafe impl Send for Area {}
// SAFETY: as for `Send`.
unsafe impl Sync for Area {}

fn area_size(room: u64) -> u64 {
    PAGE + 2 * room
}

/// Maps `size` bytes of `file` from `offset`.
fn map(file: &File, offset: u64, size: u64) -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: the call creates a new mapping at an address that the system chooses.
    let at = unsafe {
        libc::mmap(std::ptr::null_mut(), size as usize, protection, flags, file.as_raw_fd(), offset as libc::off_t)
    };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at.cast()) }
}

/// The shared file of the simulator.
pub struct RankMemory {
    file: File,
    areas: u64,
    room: u64,
}

impl RankMemory {
    /// Creates the file for `ranks` ranks with the text `setup`.
    ///
    /// # Errors
    /// The system has no memory for the file.
    pub fn new(ranks: u32, setup: &[u8]) -> io::Result<RankMemory> {
        // SAFETY: the name is a C string, and the new descriptor belongs to the file.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"mcpsim".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(descriptor)
        };
        let room = (MOST_MEMORY / u64::from(ranks.max(1)) / 2).min(MOST_ROOM) / PAGE * PAGE;
        let areas = (PAGE + setup.len() as u64).next_multiple_of(PAGE);
        file.set_len(areas + area_size(room) * u64::from(ranks))?;
        let header =
            MemoryHeader { mark: MARK, ranks, simulator: std::process::id(), setup: setup.len() as u64, areas, room };
        let at = map(&file, 0, areas)?;
        // SAFETY: the mapping has room for the header, one page long, and the text behind it.
        unsafe {
            at.cast::<MemoryHeader>().write(header);
            std::ptr::copy_nonoverlapping(setup.as_ptr(), at.add(PAGE as usize), setup.len());
            libc::munmap(at.cast(), areas as usize);
        }
        Ok(RankMemory { file, areas, room })
    }

    /// Returns the path by which other processes open the file.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Maps the area of `rank`.
    ///
    /// # Errors
    /// The system has no address space for the area.
    pub fn area(&self, rank: u32) -> io::Result<Area> {
        let at = map(&self.file, self.areas + area_size(self.room) * u64::from(rank), area_size(self.room))?;
        Ok(Area { at, room: self.room, simulator: std::process::id() })
    }
}

/// Opens the shared file at `path` as the process of `rank`. Returns the rank's area and the setup text.
///
/// # Errors
/// The file cannot be opened, or another version of mcpsim has written it.
pub fn open(path: &str, rank: u32) -> io::Result<(Area, Vec<u8>)> {
    let file = File::options().read(true).write(true).open(path)?;
    let at = map(&file, 0, PAGE)?;
    // SAFETY: the file begins with the header, and zero bytes are a header too.
    let header = unsafe { at.cast::<MemoryHeader>().read() };
    if header.mark != MARK || rank >= header.ranks {
        return Err(io::Error::other("the library and the simulator are of different versions of mcpsim"));
    }
    let whole = map(&file, 0, header.areas)?;
    // SAFETY: the setup text is behind the header, within the mapping.
    let setup = unsafe { std::slice::from_raw_parts(whole.add(PAGE as usize), header.setup as usize) }.to_vec();
    // SAFETY: nothing uses the two mappings any longer.
    unsafe {
        libc::munmap(at.cast(), PAGE as usize);
        libc::munmap(whole.cast(), header.areas as usize);
    }
    let size = area_size(header.room);
    let area = map(&file, header.areas + size * u64::from(rank), size)?;
    Ok((Area { at: area, room: header.room, simulator: header.simulator }, setup))
}

impl Area {
    /// Control block of the area.
    pub fn control(&self) -> &Control {
        // SAFETY: the first page of the area is the control block, and all its values are atomic.
        unsafe { &*self.at.cast::<Control>() }
    }

    /// Size of the outbox and of the inbox in bytes.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// First byte of the outbox, which the process writes.
    pub fn outbox(&self) -> *mut u8 {
        // SAFETY: the outbox begins one page into the area.
        unsafe { self.at.add(PAGE as usize) }
    }

    /// First byte of the inbox, which the simulator writes.
    pub fn inbox(&self) -> *mut u8 {
        // SAFETY: the inbox follows the outbox within the area.
        unsafe { self.at.add((PAGE + self.room) as usize) }
    }

    /// Returns the pages beyond the first [`KEPT`] bytes of a box to the system, if `used` bytes of the box were used.
    pub fn give_back(&self, start: *mut u8, used: u64) {
        if used > KEPT {
            let end = used.next_multiple_of(PAGE).min(self.room);
            // SAFETY: the range is in the box that begins at `start`, and its content is no longer needed.
            unsafe { libc::madvise(start.add(KEPT as usize).cast(), (end - KEPT) as usize, libc::MADV_REMOVE) };
        }
    }

    /// Passes the turn to `to` and wakes that side.
    pub fn pass(&self, to: ProcessTurn) {
        let turn = &self.control().turn;
        turn.store(to as u32, Ordering::Release);
        // SAFETY: the word is in memory that both processes map.
        unsafe { libc::syscall(libc::SYS_futex, turn.as_ptr(), libc::FUTEX_WAKE, 1) };
    }

    /// Waits at most `longest` for the turn of `of`. Returns true if `of` has the turn.
    pub fn wait(&self, of: ProcessTurn, longest: Duration) -> bool {
        let turn = &self.control().turn;
        let now = turn.load(Ordering::Acquire);
        if now == of as u32 {
            return true;
        }
        let time = libc::timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos().into() };
        // SAFETY: the word is in memory that both processes map, and the time is valid.
        unsafe { libc::syscall(libc::SYS_futex, turn.as_ptr(), libc::FUTEX_WAIT, now, &raw const time) };
        turn.load(Ordering::Acquire) == of as u32
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to the area.
        unsafe { libc::munmap(self.at.cast(), area_size(self.room) as usize) };
    }
}
