//! Memory that the processes of ranks share with the simulator: an unnamed file with one area per rank.
//!
//! ```text
//!   header │ states of processes │ setup text │ area of rank 0 │ area of rank 1 │ …
//!   area: control │ calls (outbox) │ replies (inbox) │ early messages
//! ```
//!
//! Areas are sparse: only pages that have been written use memory.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::early::EarlyControl;

/// Environment variable with the path of the shared file.
pub const FILE: &str = "MCPSIM_SHARED_FILE";
/// Environment variable with the rank.
pub const RANK: &str = "MCPSIM_SHARED_RANK";
/// First word of the shared file. It changes with the layout of the file and of the messages in it.
const MARK: u64 = 0x6d63_7073_696d_0004;
const PAGE: u64 = 4096;
/// Greatest size in bytes of a box of an area.
const MOST_ROOM: u64 = 4 << 30;
/// Least size in bytes of a box of an area.
const LEAST_ROOM: u64 = 1 << 20;
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
    /// The simulator has calls to read, and the process waits for a reply.
    Simulator = 1,
    /// The process waits for early messages, and the simulator may read its calls.
    Messages = 2,
}

#[repr(C)]
struct MemoryHeader {
    mark: u64,
    ranks: u32,
    simulator: u32,
    /// Position and length of the setup text.
    setup: [u64; 2],
    areas: u64,
    room: u64,
    /// Decision of the first process about the start of the ranks, see [`StartDecision`].
    decision: AtomicU32,
    /// Rank and error number of a process that the first process could not start.
    failed: [AtomicU32; 2],
    /// Number of processes that have not stopped, if ranks run ahead. See [`super::early`].
    running: AtomicU32,
}

/// State of a rank's process that the first process has forked.
#[repr(C)]
struct ForkedState {
    process: AtomicU32,
    /// Wait status of the process plus one after its end, else 0.
    status: AtomicU32,
}

/// Decision of the first process at its first MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StartDecision {
    /// The process has not called MPI yet.
    Undecided = 0,
    /// The process has forked all ranks.
    Forked,
    /// The system refused a process.
    Refused,
    /// The process is rank 0, because it has several threads.
    HasThreads,
    /// The process is rank 0, because it has an open file, whose position forked processes would share.
    HasFiles,
    /// The process is rank 0, because it has read an environment variable whose value depends on the rank.
    HasReadRank,
    /// The process is rank 0, because another process than mcpsim has started it.
    HasLauncher,
}

impl StartDecision {
    fn from_word(word: u32) -> StartDecision {
        use StartDecision::{Forked, HasFiles, HasLauncher, HasReadRank, HasThreads, Refused, Undecided};
        let all = [Undecided, Forked, Refused, HasThreads, HasFiles, HasReadRank, HasLauncher];
        all.into_iter().find(|of| *of as u32 == word).unwrap_or(Undecided)
    }

    /// Returns the reason why the process has not forked the ranks.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            StartDecision::Undecided | StartDecision::Forked | StartDecision::Refused => None,
            StartDecision::HasThreads => Some("the program has several threads at MPI_Init"),
            StartDecision::HasFiles => Some("the program has an open file at MPI_Init"),
            StartDecision::HasReadRank => Some("the program reads a variable of a launcher before MPI_Init"),
            StartDecision::HasLauncher => Some("a launcher or script starts the process that calls MPI_Init"),
        }
    }
}

/// Control block of a rank's area.
#[repr(C, align(128))]
pub struct Control {
    pub(super) turn: AtomicU32,
    /// Identifier of the process, or 0 before MPI_Init.
    pub process: AtomicU32,
    /// Number of the MPI library in [`super::MpiLibrary::ALL`] plus one, or 0 before MPI_Init.
    pub library: AtomicU32,
    /// 1 after a crash of the rank's code, 2 after a crash in an MPI function.
    pub crashed: AtomicU32,
    /// Number of bytes of calls in the outbox.
    pub written: AtomicU64,
    /// Number of bytes in the inbox.
    pub answered: AtomicU64,
    /// True if the inbox of a rank that runs ahead contains a message that the process has not read.
    pub is_asked: AtomicBool,
    /// True if the simulator counts the calls of the rank, at its first reply.
    pub counts_calls: AtomicBool,
    /// State of the box of early messages.
    pub(super) early: EarlyControl,
}

/// Area of a rank in this process's memory.
pub struct Area {
    at: *mut u8,
    /// Rank whose area this is.
    pub(super) rank: u32,
    /// The shared file.
    pub(super) table: Arc<SharedTable>,
}

// SAFETY: an area is plain memory. The turn decides which side uses the boxes, and each side has one user at a time.
unsafe impl Send for Area {}
// SAFETY: as for `Send`.
unsafe impl Sync for Area {}

fn area_size(room: u64) -> u64 {
    PAGE + 3 * room
}

/// Maps the first `size` bytes of `file`.
fn map(file: &File, size: u64) -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: the call creates a new mapping at an address that the system chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), size as usize, protection, flags, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at.cast()) }
}

/// The shared file of the simulator.
pub struct RankMemory {
    file: File,
    table: Arc<SharedTable>,
}

/// Mapping of the shared file.
pub struct SharedTable {
    at: *mut u8,
    size: u64,
}

// SAFETY: all values that change are atomic.
unsafe impl Send for SharedTable {}
// SAFETY: as for `Send`.
unsafe impl Sync for SharedTable {}

impl Drop for SharedTable {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value.
        unsafe { libc::munmap(self.at.cast(), self.size as usize) };
    }
}

impl SharedTable {
    fn header(&self) -> &MemoryHeader {
        // SAFETY: the mapping begins with the header.
        unsafe { &*self.at.cast() }
    }

    /// Returns the area of `rank`, if the run has such a rank.
    pub fn area(self: &Arc<Self>, rank: u32) -> Option<Area> {
        let header = self.header();
        let position = header.areas + area_size(header.room) * u64::from(rank);
        // SAFETY: the mapping contains the areas of all ranks.
        (rank < header.ranks).then(|| Area { at: unsafe { self.at.add(position as usize) }, rank, table: self.clone() })
    }

    /// Number of processes that run, where ranks run ahead.
    pub(super) fn running(&self) -> &AtomicU32 {
        &self.header().running
    }

    /// Identifier of the simulator's process.
    pub fn simulator(&self) -> u32 {
        self.header().simulator
    }

    fn state(&self, rank: u32) -> &ForkedState {
        assert!(rank < self.header().ranks, "the table has one entry per rank");
        // SAFETY: the states of the ranks follow the page of the header.
        unsafe { &*self.at.add(PAGE as usize).cast::<ForkedState>().add(rank as usize) }
    }

    /// Returns the decision of the first process.
    pub fn decision(&self) -> StartDecision {
        StartDecision::from_word(self.header().decision.load(Ordering::Acquire))
    }

    /// Stores the decision of the first process.
    pub fn decide(&self, decision: StartDecision) {
        self.header().decision.store(decision as u32, Ordering::Release);
    }

    /// Stores the rank whose process the system has refused, and the error number.
    pub fn refuse(&self, rank: u32, number: i32) {
        let failed = &self.header().failed;
        failed[0].store(rank, Ordering::Relaxed);
        failed[1].store(number as u32, Ordering::Relaxed);
        self.decide(StartDecision::Refused);
    }

    /// Returns the rank whose process the system has refused, and the error.
    pub fn refused(&self) -> (u32, io::Error) {
        let [rank, number] = [0, 1].map(|index| self.header().failed[index].load(Ordering::Relaxed));
        (rank, io::Error::from_raw_os_error(number as i32))
    }

    /// Stores the identifier of a rank's forked process.
    pub fn set_process(&self, rank: u32, process: u32) {
        self.state(rank).process.store(process, Ordering::Release);
    }

    /// Returns the identifier of a rank's forked process, or 0.
    pub fn process(&self, rank: u32) -> u32 {
        self.state(rank).process.load(Ordering::Acquire)
    }

    /// Stores the wait status of a rank's forked process.
    pub fn set_status(&self, rank: u32, status: i32) {
        self.state(rank).status.store((status as u32).wrapping_add(1), Ordering::Release);
    }

    /// Returns the wait status of a rank's forked process after its end.
    pub fn status(&self, rank: u32) -> Option<i32> {
        Some(self.state(rank).status.load(Ordering::Acquire).checked_sub(1)? as i32)
    }
}

/// Returns the size of a box. Processes with a limit of their address space get small boxes.
fn room(ranks: u32) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the result has room.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
    let ranks = u64::from(ranks.max(1));
    let room = (MOST_MEMORY / ranks / 3).min(MOST_ROOM);
    let room = if known { room.min(limit.rlim_cur / ranks / 16) } else { room };
    room.max(LEAST_ROOM) / PAGE * PAGE
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
        let room = room(ranks);
        let text = PAGE + u64::from(ranks) * size_of::<ForkedState>() as u64;
        let areas = (text + setup.len() as u64).next_multiple_of(PAGE);
        let size = areas + area_size(room) * u64::from(ranks);
        file.set_len(size)?;
        let table = SharedTable { at: map(&file, size)?, size };
        // SAFETY: the mapping has room for the header, the states of the processes, and the text behind them.
        unsafe {
            table.at.cast::<MemoryHeader>().write(MemoryHeader {
                mark: MARK,
                ranks,
                simulator: std::process::id(),
                setup: [text, setup.len() as u64],
                areas,
                room,
                decision: AtomicU32::new(0),
                failed: [AtomicU32::new(0), AtomicU32::new(0)],
                running: AtomicU32::new(ranks),
            });
            std::ptr::copy_nonoverlapping(setup.as_ptr(), table.at.add(text as usize), setup.len());
        }
        Ok(RankMemory { file, table: Arc::new(table) })
    }

    /// Returns the mapping of the file.
    pub fn table(&self) -> &Arc<SharedTable> {
        &self.table
    }

    /// Returns the path by which other processes open the file.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// The shared file in the process of a rank.
pub struct OpenedMemory {
    file: File,
    /// Mapping of the file.
    pub table: Arc<SharedTable>,
    /// Setup text.
    pub setup: Vec<u8>,
}

impl OpenedMemory {
    /// Opens the shared file at `path` in the process of a rank.
    ///
    /// # Errors
    /// The file cannot be opened, or another version of mcpsim has written it.
    pub fn new(path: &str) -> io::Result<OpenedMemory> {
        let file = File::options().read(true).write(true).open(path)?;
        let first = SharedTable { at: map(&file, PAGE)?, size: PAGE };
        let header = first.header();
        if header.mark != MARK {
            return Err(io::Error::other("the library and the simulator are of different versions of mcpsim"));
        }
        let size = header.areas + area_size(header.room) * u64::from(header.ranks);
        let table = SharedTable { at: map(&file, size)?, size };
        let [start, length] = header.setup;
        // SAFETY: the setup text is within the mapping, and nothing changes it.
        let setup = unsafe { std::slice::from_raw_parts(table.at.add(start as usize), length as usize) }.to_vec();
        Ok(OpenedMemory { file, table: Arc::new(table), setup })
    }

    /// Descriptor of the file.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

impl Area {
    /// Control block of the area.
    pub fn control(&self) -> &Control {
        // SAFETY: the first page of the area is the control block, and all its values are atomic.
        unsafe { &*self.at.cast::<Control>() }
    }

    /// Size of each box in bytes.
    pub fn room(&self) -> u64 {
        self.table.header().room
    }

    /// First byte of the outbox, which the process writes.
    pub fn outbox(&self) -> *mut u8 {
        // SAFETY: the outbox begins one page into the area.
        unsafe { self.at.add(PAGE as usize) }
    }

    /// First byte of the inbox, which the simulator writes.
    pub fn inbox(&self) -> *mut u8 {
        // SAFETY: the inbox follows the outbox within the area.
        unsafe { self.at.add((PAGE + self.room()) as usize) }
    }

    /// First byte of the box of early messages.
    pub(super) fn early_box(&self) -> *mut u8 {
        // SAFETY: the box of early messages follows the inbox within the area.
        unsafe { self.at.add((PAGE + 2 * self.room()) as usize) }
    }

    /// Returns the pages beyond the first [`KEPT`] bytes of a box to the system, if `used` bytes of the box were used.
    pub fn give_back(&self, start: *mut u8, used: u64) {
        if used > KEPT {
            let end = used.next_multiple_of(PAGE).min(self.room());
            // SAFETY: the range is in the box that begins at `start`, and its content is no longer needed.
            unsafe { libc::madvise(start.add(KEPT as usize).cast(), (end - KEPT) as usize, libc::MADV_REMOVE) };
        }
    }

    /// Passes the turn to `to` and wakes that side.
    pub fn pass(&self, to: ProcessTurn) {
        self.control().turn.store(to as u32, Ordering::Release);
        wake(&self.control().turn);
    }

    /// Waits at most `longest` for the turn of `of`. Returns true if `of` has the turn.
    pub fn wait(&self, of: ProcessTurn, longest: Duration) -> bool {
        let turn = &self.control().turn;
        let now = turn.load(Ordering::Acquire);
        if now == of as u32 {
            return true;
        }
        sleep(turn, now, longest);
        turn.load(Ordering::Acquire) == of as u32
    }
}

/// Wakes the process that waits for a change of `word`.
pub(super) fn wake(word: &AtomicU32) {
    // SAFETY: the word is in memory that all processes map.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// Waits at most `longest` while `word` has the value `value`.
pub(super) fn sleep(word: &AtomicU32, value: u32, longest: Duration) {
    let time = libc::timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos().into() };
    // SAFETY: the word is in memory that all processes map, and the time is valid.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const time) };
}
