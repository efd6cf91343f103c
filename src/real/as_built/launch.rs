//! Start, output and end of the processes of ranks.
#![allow(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpsim_core::engine::{PreparedRun, RankPrograms, RunResult};
use mcpsim_core::rank::{Program, Rank};

use super::children::{RankProcesses, StartedProcess, input_of_terminal};
use super::foreign::MpiLibrary;
use super::memory::{self, Area, RankMemory, StartDecision};
use super::output::{OutputPipes, OutputThread};
use super::remote::RemoteProgram;
use super::setup::{PLACE, RankSetup, START, VARIABLES, place};
use crate::process::{Job, StartMethod, launched_environment, launched_variables};

/// Time after the run in which processes can end by themselves.
const PATIENCE: Duration = Duration::from_secs(10);

/// File names of the libraries that processes of ranks load. The first one is preloaded.
const FILES: [&str; 4] = ["libmcpsim_preload.so", "libmcpsim_openmpi.so", "libmcpsim_mpich.so", "libmcpsim_mpi_abi.so"];

/// Returns the directory of mcpsim's libraries.
fn library_directory() -> Result<PathBuf, LaunchError> {
    let own = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let beside = own.iter().flat_map(|own| [own.clone(), own.join("../lib/mcpsim")]);
    let named = std::env::var_os(LIBRARIES).map(PathBuf::from);
    let all: Vec<PathBuf> = named.into_iter().chain(beside).collect();
    let missing = |place: &PathBuf| FILES.into_iter().find(|file| !place.join(file).is_file());
    match all.iter().find(|place| missing(place).is_none()) {
        Some(place) => std::path::absolute(place).map_err(LaunchError::System),
        None => Err(LaunchError::NoLibrary { name: all.first().and_then(missing).unwrap_or(FILES[0]) }),
    }
}

/// Environment variable with the directory of the libraries that replace MPI libraries.
const LIBRARIES: &str = "MCPSIM_LIBRARIES";

/// Reason why the processes of ranks cannot be started.
#[derive(Debug)]
pub enum LaunchError {
    /// A library that the processes of ranks load is missing.
    NoLibrary {
        /// File name of the library.
        name: &'static str,
    },
    /// The system refuses a process.
    Process {
        /// Program that could not be started.
        program: PathBuf,
        /// Rank whose process could not be started.
        rank: Rank,
        /// Error of the system.
        error: std::io::Error,
    },
    /// The system refuses memory, a pipe or a thread.
    System(std::io::Error),
    /// A limit of the system is too low for the ranks.
    Limit {
        /// Number of ranks.
        ranks: usize,
        /// Limited quantity and its limit.
        what: String,
        /// Way to change the limit.
        advice: &'static str,
    },
    /// The program cannot start by `--start fork`.
    CannotFork(&'static str),
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LaunchError::NoLibrary { name } => write!(
                f,
                "{name} is missing: expected it beside the mcpsim executable, in ../lib/mcpsim, or in the directory \
                 that the environment variable {LIBRARIES} names; cargo install does not install it: run cargo build \
                 --release --workspace in the sources of mcpsim, and name the directory target/release"
            ),
            LaunchError::Process { program, rank, error } => {
                write!(f, "cannot start {} as the process of rank {rank}: {error}", program.display())?;
                match error.kind() {
                    std::io::ErrorKind::PermissionDenied => {
                        write!(f, ": expected an executable file on a file system without the option noexec")
                    }
                    std::io::ErrorKind::WouldBlock => {
                        write!(f, ": expected more permitted processes (ulimit -u), or fewer ranks")
                    }
                    _ => Ok(()),
                }
            }
            LaunchError::System(error) if error.kind() == std::io::ErrorKind::OutOfMemory => write!(
                f,
                "cannot share memory with the processes of ranks: {error}: expected a larger address space (ulimit \
                 -v), or fewer ranks"
            ),
            LaunchError::System(error) => write!(f, "cannot share memory and pipes with processes: {error}"),
            LaunchError::Limit { ranks, what, advice } => {
                write!(f, "{ranks} ranks as processes: the system permits {what}: {advice}")
            }
            LaunchError::CannotFork(reason) => {
                write!(f, "--start fork: {reason}: expected --start exec, which starts the program once per rank")
            }
        }
    }
}

impl std::error::Error for LaunchError {}

impl From<std::io::Error> for LaunchError {
    fn from(error: std::io::Error) -> LaunchError {
        LaunchError::System(error)
    }
}

/// Program and environment of the processes.
pub struct Launcher<'a> {
    /// The program's file.
    pub program: &'a Path,
    /// True if the program itself is linked with an MPI library.
    pub is_linked: bool,
    /// Description of the run.
    pub setup: RankSetup,
    /// The job, without loaded code.
    pub job: Arc<Job>,
    /// Ranks that this host process starts.
    pub ranks: Vec<Rank>,
    /// Start of the processes.
    pub start: StartMethod,
}

/// Started processes. They end when this value is dropped.
pub struct Launched {
    areas: Vec<Mutex<Option<Area>>>,
    processes: Arc<RankProcesses>,
    job: Arc<Job>,
    runs_ahead: bool,
    _output: OutputThread,
}

/// Raises the limit of open files to its greatest permitted value and returns it.
fn open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the values are valid.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
    limit.rlim_cur
}

/// Returns the number of further processes that the control group of this process permits.
fn further_processes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |name| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup{group}/{name}")).ok()?.trim().parse().ok()
    };
    Some(number("pids.max")?.saturating_sub(number("pids.current")?))
}

/// Checks the limits of the system for `ranks` processes.
fn check_limits(ranks: usize) -> Result<(), LaunchError> {
    let limit = |what, advice| Err(LaunchError::Limit { ranks, what, advice });
    let files = open_files();
    if files < 2 * ranks as u64 + 64 {
        return limit(format!("{files} open files"), "expected at least two per rank (ulimit -n)");
    }
    let numbers = std::fs::read_to_string("/proc/sys/kernel/pid_max").ok().and_then(|text| text.trim().parse().ok());
    if numbers.is_some_and(|numbers: u64| numbers < ranks as u64 + 64) {
        return limit(format!("{} processes", numbers.unwrap_or(0)), "expected a greater kernel.pid_max");
    }
    if further_processes().is_some_and(|further| further < ranks as u64 + 2) {
        let further = further_processes().unwrap_or(0);
        return limit(format!("{further} further processes"), "expected a greater limit of the container or session");
    }
    Ok(())
}

impl Launcher<'_> {
    /// Starts one process per rank.
    ///
    /// # Errors
    /// The library is missing, or the system refuses memory or a process.
    pub fn start(mut self) -> Result<Launched, LaunchError> {
        let libraries = library_directory()?;
        check_limits(self.ranks.len())?;
        let pipes: Vec<OutputPipes> =
            self.ranks.iter().map(|&rank| OutputPipes::new(rank)).collect::<std::io::Result<_>>()?;
        self.setup.pipes = self.ranks.iter().zip(&pipes).map(|(&rank, pipes)| (rank, pipes.numbers())).collect();
        let memory = Arc::new(RankMemory::new(self.job.size(), &self.setup.text())?);
        let mut areas: Vec<Mutex<Option<Area>>> = (0..self.job.size()).map(|_| Mutex::new(None)).collect();
        for &rank in &self.ranks {
            areas[rank as usize] = Mutex::new(memory.table().area(rank));
        }
        let mut processes = RankProcesses::new(memory, self.job.size())?;
        let may_fork = self.start != StartMethod::Exec && (self.start == StartMethod::Fork || self.ranks.len() > 1);
        for (index, (&rank, pipes)) in self.ranks.iter().zip(&pipes).enumerate() {
            let is_first = may_fork && index == 0;
            let mut command = self.command(rank, &processes, &libraries, is_first)?;
            let [out, err] = pipes.streams()?;
            let started = command.stdout(out).stderr(err).spawn();
            let refused = |error| LaunchError::Process { program: self.program.to_owned(), rank, error };
            processes.add(rank, StartedProcess::new(started.map_err(refused)?));
            if is_first {
                match wait_for_decision(&processes) {
                    StartDecision::Forked => {
                        processes.first = Some(rank);
                        break;
                    }
                    StartDecision::Refused => {
                        let (rank, error) = processes.memory.table().refused();
                        return Err(LaunchError::Process { program: self.program.to_owned(), rank, error });
                    }
                    other => match other.reason() {
                        Some(reason) if self.start == StartMethod::Fork => {
                            return Err(LaunchError::CannotFork(reason));
                        }
                        _ => {}
                    },
                }
            }
        }
        let output = OutputThread::new(self.job.clone(), pipes)?;
        let runs_ahead = self.setup.runs_ahead;
        Ok(Launched { areas, processes: Arc::new(processes), job: self.job, runs_ahead, _output: output })
    }

    fn command(
        &self,
        rank: Rank,
        processes: &RankProcesses,
        libraries: &Path,
        may_fork: bool,
    ) -> Result<Command, LaunchError> {
        let program = &self.job.programs[self.job.program_number(rank)];
        let mut command = Command::new(self.program);
        let words: Vec<&OsStr> = program.arguments.iter().map(|word| OsStr::from_bytes(word.to_bytes())).collect();
        command.arg0(words[0]).args(&words[1..]).env_clear();
        let mut variables = OsString::new();
        let own: Vec<_> = launched_variables(&self.job, rank).collect();
        for entry in launched_environment(&self.job, rank) {
            let is_own = own.iter().any(|own| **own == *entry);
            let entry = entry.to_bytes();
            let split = entry.iter().position(|&byte| byte == b'=').unwrap_or(entry.len());
            let value = entry.get(split + 1..).unwrap_or_default();
            // A process that may fork all ranks gets the variables of its rank only if it reads them.
            if is_own && may_fork {
                variables.push(OsStr::from_bytes(entry));
                variables.push("\n");
            } else {
                command.env(OsStr::from_bytes(&entry[..split]), OsStr::from_bytes(value));
            }
        }
        // One thread of a rank runs at a time, so those that wait must not compute.
        command.env("GOMP_SPINCOUNT", "0").env("KMP_BLOCKTIME", "0");
        if may_fork {
            command.env(START, "fork").env(VARIABLES, variables);
        }
        let own = libraries.join(FILES[0]);
        for name in ["LD_PRELOAD", "LD_AUDIT"] {
            let mut value = OsString::from(&own);
            if let Some(other) = std::env::var_os(name).filter(|other| !other.is_empty()) {
                value.push(":");
                value.push(other);
            }
            command.env(name, value);
        }
        if self.is_linked {
            command.env("MCPSIM_LINKED", "1");
        }
        command.env("MCPSIM_LIBRARY_DIRECTORY", libraries).env(PLACE, place(&self.job, rank));
        command.env(memory::FILE, processes.memory.path()).env(memory::RANK, rank.to_string());
        if let Some(directory) = &program.directory {
            command.current_dir(OsStr::from_bytes(directory.to_bytes()));
        }
        command.stdin(match rank {
            0 if std::io::stdin().is_terminal() => Stdio::from(input_of_terminal()?),
            0 => Stdio::inherit(),
            _ => Stdio::null(),
        });
        command.process_group(processes.group.id());
        let simulator = std::process::id();
        // SAFETY: the function makes only system calls.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() as u32 != simulator {
                    libc::_exit(1)
                }
                Ok(())
            });
        }
        Ok(command)
    }
}

/// Waits until the first process has called MPI or has ended.
fn wait_for_decision(processes: &RankProcesses) -> StartDecision {
    loop {
        let decision = processes.memory.table().decision();
        if decision != StartDecision::Undecided || processes.have_ended() {
            return decision;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

impl RankPrograms for Launched {
    fn program(&self, rank: Rank) -> Box<dyn Program> {
        Box::new(self.rank(rank))
    }

    fn run_prepared(&self, prepared: PreparedRun<'_>) -> RunResult {
        prepared.run(|rank| self.rank(rank))
    }
}

impl Launched {
    fn rank(&self, rank: Rank) -> RemoteProgram {
        let area = self.areas[rank as usize].lock().unwrap_or_else(PoisonError::into_inner).take();
        let area = area.expect("the engine creates each rank of this host process once");
        RemoteProgram::new(rank, area, self.processes.clone(), self.job.clone(), self.runs_ahead)
    }

    /// Returns the MPI library that the processes have called.
    pub fn library(&self) -> Option<MpiLibrary> {
        self.processes.library()
    }

    /// Ends the processes. Returns the exit codes other than 0 of the processes that the simulator has started, which may
    /// be scripts that start the program.
    pub fn end(self) -> Vec<(Rank, i32)> {
        self.processes.wait(PATIENCE);
        self.processes.end();
        self.processes.codes()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.processes.wait(PATIENCE);
        // Processes that ranks have started in the background end here too.
        self.processes.end();
    }
}
