//! Processes of ranks: their states, their ends, and the process group that ends with the simulator.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcpsim_core::rank::{FailureKind, ProgramError, Rank};

use super::foreign::MpiLibrary;
use super::memory::RankMemory;

/// Process group of the ranks. The group ends when this value is dropped or the simulator ends.
///
/// The leader of the group is a process that waits for the end of the simulator and then kills the group. Processes that
/// ranks have started in the background therefore end too.
pub struct ProcessGroup {
    leader: i32,
    /// End of a pipe that the simulator closes at its end, also if it is killed.
    _open: OwnedFd,
}

impl ProcessGroup {
    /// Starts the leader of a new process group.
    ///
    /// # Errors
    /// The system refuses a process or a pipe.
    pub fn new() -> io::Result<ProcessGroup> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for two descriptors, which belong to the new values. The new process makes only
        // system calls.
        unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            let [read, write] = ends.map(|end| OwnedFd::from_raw_fd(end));
            match libc::fork() {
                -1 => Err(io::Error::last_os_error()),
                0 => wait_and_kill(read.as_raw_fd()),
                leader => {
                    // Both processes make this call, because either of them may run first.
                    libc::setpgid(leader, leader);
                    Ok(ProcessGroup { leader, _open: write })
                }
            }
        }
    }

    /// Ends all processes of the group at once.
    pub fn kill(&self) {
        // SAFETY: the leader is waited for when the group is dropped, so its identifier is still that of the group.
        unsafe { libc::kill(-self.leader, libc::SIGKILL) };
    }

    /// Identifier of the process group.
    pub fn id(&self) -> i32 {
        self.leader
    }

    /// Returns the CPU time of the group in clock ticks, or `None` if a process of the group is not asleep.
    pub fn idle_ticks(&self) -> Option<u64> {
        let mut sum = 0;
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let is_process = entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
            let text = is_process.then(|| std::fs::read_to_string(entry.path().join("stat")).ok()).flatten();
            // The name of the program, in parentheses, can contain any character.
            let Some(rest) = text.as_ref().and_then(|text| Some(text.rsplit_once(") ")?.1)) else { continue };
            let fields: Vec<&str> = rest.split(' ').collect();
            if fields.get(2).and_then(|group| group.parse().ok()) != Some(self.leader) {
                continue;
            }
            if !matches!(fields[0], "S" | "Z") {
                return None;
            }
            sum += [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<u64>().ok()).sum::<u64>();
        }
        Some(sum)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
        // SAFETY: the leader has not been waited for, so its identifier is still that of the group.
        unsafe {
            while libc::waitpid(self.leader, std::ptr::null_mut(), 0) == -1
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}

/// Waits for the end of the simulator, which closes the other end of the pipe `read`, and kills the process group.
unsafe fn wait_and_kill(read: i32) -> ! {
    // SAFETY: only system calls are made. The process is the leader of the group that it kills.
    unsafe {
        libc::setpgid(0, 0);
        libc::dup2(read, 0);
        libc::close_range(1, u32::MAX, 0);
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) != 0 {}
        libc::kill(-libc::getpid(), libc::SIGKILL);
        libc::_exit(0)
    }
}

/// Process that the simulator has started.
pub struct StartedProcess {
    child: Child,
    status: Option<ExitStatus>,
}

impl StartedProcess {
    /// Returns the state of `child`.
    pub fn new(child: Child) -> StartedProcess {
        StartedProcess { child, status: None }
    }

    /// Returns the status of the process, if it has ended.
    pub fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Ends the process at once.
    pub fn kill(&mut self) {
        // A process that has ended already needs no signal.
        let _ = self.child.kill();
        self.status = self.child.wait().ok();
    }
}

/// The processes of a job's ranks.
pub struct RankProcesses {
    /// Processes that the simulator has started, by rank.
    started: Vec<Option<Mutex<StartedProcess>>>,
    /// Memory that the processes share with the simulator.
    pub memory: Arc<RankMemory>,
    /// Rank of the only process that the simulator has started, if this process has forked all ranks.
    pub first: Option<Rank>,
    /// Group of the processes.
    pub group: ProcessGroup,
    /// Number of the MPI library in [`MpiLibrary::ALL`] plus one, or 0 before MPI_Init.
    library: AtomicU32,
}

impl RankProcesses {
    /// Creates the process group of `ranks` ranks.
    ///
    /// # Errors
    /// The system refuses a process or a pipe.
    pub fn new(memory: Arc<RankMemory>, ranks: u32) -> io::Result<RankProcesses> {
        let started = (0..ranks).map(|_| None).collect();
        let library = AtomicU32::new(0);
        Ok(RankProcesses { started, memory, first: None, group: ProcessGroup::new()?, library })
    }

    /// Adds the process of a rank.
    pub fn add(&mut self, rank: Rank, process: StartedProcess) {
        self.started[rank as usize] = Some(Mutex::new(process));
    }

    /// Stores the number of the MPI library that the process of a rank has called.
    pub fn set_library(&self, number: u32) {
        self.library.store(number, Ordering::Relaxed);
    }

    /// Returns the MPI library that the processes have called.
    pub fn library(&self) -> Option<MpiLibrary> {
        MpiLibrary::ALL.get(self.library.load(Ordering::Relaxed).checked_sub(1)? as usize).copied()
    }

    fn of(&self, rank: Rank) -> Option<MutexGuard<'_, StartedProcess>> {
        let of = self.started[self.first.unwrap_or(rank) as usize].as_ref()?;
        Some(of.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the process of a rank at once.
    pub fn kill(&self, rank: Rank) {
        if self.first.is_none() {
            if let Some(mut of) = self.of(rank) {
                of.kill();
            }
        } else if self.memory.table().status(rank).is_none() {
            let process = self.memory.table().process(rank) as i32;
            // SAFETY: the first process has not reported the end of the process, whose identifier is not 0.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
    }

    fn all(&self) -> impl Iterator<Item = MutexGuard<'_, StartedProcess>> {
        self.started.iter().flatten().map(|of| of.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true if all processes have ended.
    pub fn have_ended(&self) -> bool {
        self.all().all(|mut of| of.status().is_some())
    }

    /// Waits until all processes have ended, but at most `longest`.
    pub fn wait(&self, longest: Duration) {
        let start = Instant::now();
        while !self.have_ended() && start.elapsed() < longest {
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Returns the exit codes other than 0 of the processes that the simulator has started, by rank. Processes that a
    /// signal has ended have none. If one process has forked all ranks, the list is empty.
    pub fn codes(&self) -> Vec<(Rank, i32)> {
        let started = if self.first.is_none() { &self.started[..] } else { &[] };
        let code = |of: &Option<Mutex<StartedProcess>>| {
            of.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).status()?.code().filter(|&code| code != 0)
        };
        (0..).zip(started).filter_map(|(rank, of)| Some((rank, code(of)?))).collect()
    }

    /// Ends all processes of the group at once.
    pub fn end(&self) {
        self.group.kill();
        self.all().filter(|of| of.status.is_none()).for_each(|mut of| of.kill());
    }

    /// Returns the error of a rank whose process has ended without a report. `attached` is the identifier of the
    /// process that has connected as the rank, or 0.
    pub fn ended(&self, rank: Rank, attached: u32) -> Option<ProgramError> {
        let mut of = self.of(rank)?;
        let is_forked = self.first.is_some();
        let status = match is_forked {
            true => self.memory.table().status(rank).map(ExitStatus::from_raw).or_else(|| of.status()),
            false => of.status(),
        };
        let is_own = attached == 0 || attached == of.child.id() || is_forked;
        if (is_own && status.is_none()) || (!is_own && exists(attached)) {
            return None;
        }
        let (kind, what) = match status.and_then(|status| status.signal()) {
            Some(signal) => (FailureKind::Crashed { signal }, String::new()),
            None => {
                let code = status.and_then(|status| status.code()).unwrap_or(1);
                let what = match attached {
                    0 => {
                        "without a call of MPI: expected a program that loads the shared library of Open MPI or MPICH \
                          and calls MPI_Init, or a program that starts such a program"
                    }
                    _ => "without MPI_Finalize",
                };
                (FailureKind::Exited { code }, what.to_owned())
            }
        };
        Some(ProgramError { kind, place: String::new(), what })
    }
}

impl Drop for RankProcesses {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns true if the process exists and has not ended.
pub fn exists(process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Returns a pipe whose content is the terminal's input. Processes of another group than the terminal's cannot read it.
pub fn input_of_terminal() -> io::Result<File> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors, which belong to the new values.
    let [read, write] = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        ends.map(|end| File::from_raw_fd(end))
    };
    // The thread ends with the process, because a read from a terminal has no other end.
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let mut to = write;
        io::copy(&mut io::stdin(), &mut to)
    })?;
    Ok(read)
}
