//! Start, output and end of the processes of ranks.
#![allow(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mcpsim_core::engine::{PreparedRun, RankPrograms, RunResult};
use mcpsim_core::rank::{FailureKind, Program, ProgramError, Rank};

use super::memory::{self, RankMemory};
use super::remote::RemoteProgram;
use super::setup::RankSetup;
use crate::loader::STUB;
use crate::process::{Job, Stream, launched_environment};

/// Time after the run in which processes can end by themselves.
const PATIENCE: Duration = Duration::from_secs(10);

/// An MPI library that mcpsim can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiLibrary {
    /// Open MPI 4.
    OpenMpi,
    /// MPICH and libraries with its binary interface.
    Mpich,
}

impl MpiLibrary {
    /// Returns the library with the file name `name`, if mcpsim can replace it.
    pub fn named(name: &str) -> Option<MpiLibrary> {
        match name {
            "libmpi.so.40" => Some(MpiLibrary::OpenMpi),
            "libmpi.so.12" | "libmpich.so.12" => Some(MpiLibrary::Mpich),
            _ => None,
        }
    }
}

/// File names of the libraries that processes of ranks load. The first one is preloaded.
const FILES: [&str; 3] = ["libmcpsim_preload.so", "libmcpsim_openmpi.so", "libmcpsim_mpich.so"];

/// Returns the directory of mcpsim's libraries.
fn library_directory() -> Result<PathBuf, LaunchError> {
    let own = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let beside = own.iter().flat_map(|own| [own.clone(), own.join("../lib/mcpsim")]);
    let named = std::env::var_os(LIBRARIES).map(PathBuf::from);
    let all: Vec<PathBuf> = named.into_iter().chain(beside).collect();
    let missing = |place: &PathBuf| FILES.into_iter().find(|file| !place.join(file).is_file());
    match all.iter().find(|place| missing(place).is_none()) {
        Some(place) => std::path::absolute(place).map_err(|error| LaunchError::System { rank: None, error }),
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
    /// The system refuses memory or a process.
    System {
        /// Rank whose process could not be started.
        rank: Option<Rank>,
        /// Error of the system.
        error: std::io::Error,
    },
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LaunchError::NoLibrary { name } => write!(
                f,
                "{name} is missing: expected it beside the mcpsim executable, in ../lib/mcpsim, or in the directory \
                 that the environment variable {LIBRARIES} names"
            ),
            LaunchError::System { rank: Some(rank), error } => {
                write!(f, "cannot start the process of rank {rank}: {error}")
            }
            LaunchError::System { rank: None, error } => write!(f, "cannot share memory with processes: {error}"),
        }
    }
}

impl std::error::Error for LaunchError {}

/// Returns the names of the libraries that the program with the content `data` needs.
fn needed(data: &[u8]) -> Option<Vec<String>> {
    use object::read::elf::{Dyn, FileHeader};
    let header = object::elf::FileHeader64::<object::Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != object::elf::EM_X86_64 {
        return None;
    }
    let sections = header.sections(endian, data).ok()?;
    let (entries, link) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, link).ok()?;
    let is_name = |entry: &&object::elf::Dyn64<object::Endianness>| entry.d_tag(endian) == object::elf::DT_NEEDED;
    let names = entries.iter().filter(is_name);
    let text = |entry: &object::elf::Dyn64<object::Endianness>| {
        Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned())
    };
    Some(names.filter_map(text).collect())
}

/// Execution of a program file that `mcpsim cc` has not built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProgram {
    /// The program is linked with an MPI library that mcpsim can replace.
    Linked(MpiLibrary),
    /// The program may load an MPI library or start a program that does: a script, an interpreter or a launcher.
    Launcher,
    /// The program cannot run as processes.
    Unsupported,
}

impl ForeignProgram {
    /// Returns the execution of a program file with the content `data`.
    pub fn of(data: &[u8]) -> ForeignProgram {
        if data.starts_with(b"#!") {
            return ForeignProgram::Launcher;
        }
        let Some(names) = needed(data) else { return ForeignProgram::Unsupported };
        if let Some(library) = names.iter().find_map(|name| MpiLibrary::named(name)) {
            return ForeignProgram::Linked(library);
        }
        // The Fortran libraries of an MPI library have names of their own and need that library.
        let is_other = |name: &String| name.starts_with("libmpi.so") || name.starts_with(STUB);
        if names.iter().any(is_other) { ForeignProgram::Unsupported } else { ForeignProgram::Launcher }
    }
}

/// The processes of a job's ranks.
pub struct RankProcesses(Vec<Mutex<RankProcess>>);

struct RankProcess {
    child: Child,
    status: Option<ExitStatus>,
}

impl RankProcess {
    fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }
}

impl RankProcesses {
    fn of(&self, rank: Rank) -> std::sync::MutexGuard<'_, RankProcess> {
        self.0[rank as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the process of a rank at once.
    pub(super) fn kill(&self, rank: Rank) {
        // A process that has ended already needs no signal.
        let _ = self.of(rank).child.kill();
    }

    /// Returns the error of a rank whose process has ended without a report. `attached` is the identifier of the
    /// process that has connected as the rank, or 0.
    pub(super) fn ended(&self, rank: Rank, attached: u32) -> Option<ProgramError> {
        let mut of = self.of(rank);
        let status = of.status();
        let is_own = attached == 0 || attached == of.child.id();
        // SAFETY: signal 0 only asks whether the process exists.
        let exists = !is_own && unsafe { libc::kill(attached as i32, 0) } == 0;
        if exists || (is_own && status.is_none()) {
            return None;
        }
        let (kind, what) = match status.and_then(|status| status.signal()) {
            Some(signal) => (FailureKind::Crashed { signal }, "the process of the rank got a signal".to_owned()),
            None => {
                let code = status.and_then(|status| status.code()).unwrap_or(1);
                let what = match attached {
                    0 => {
                        "without a call of an MPI function that mcpsim replaces: expected a program, or a program that \
                          it starts, that loads the shared library of Open MPI 4 or MPICH and calls MPI_Init"
                    }
                    _ => "without MPI_Finalize",
                };
                (FailureKind::Exited { code }, what.to_owned())
            }
        };
        Some(ProgramError { kind, place: String::new(), what })
    }
}

/// Restores the cores of a thread when it is dropped.
pub struct Pinned(libc::cpu_set_t);

impl Pinned {
    /// Restricts the current thread, and the threads and processes that it starts, to one of its cores. Simulator and
    /// ranks alternate, so one core is enough. A process wakes up on the same core in a tenth of the time.
    pub fn to_one_core() -> Option<Pinned> {
        // SAFETY: zero is a valid set, and the calls get sets of the stated size.
        unsafe {
            let mut before: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut before) != 0 {
                return None;
            }
            let cores: Vec<usize> =
                (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &before)).collect();
            // Concurrent runs use different cores.
            let core = *cores.get(std::process::id() as usize % cores.len().max(1))?;
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut one);
            (libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one) == 0).then_some(Pinned(before))
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the set has the stated size.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
    }
}

/// Program and environment of the processes.
pub struct Launcher<'a> {
    /// The program's file.
    pub program: &'a Path,
    /// True if the program itself is linked with an MPI library.
    pub is_linked: bool,
    /// Description of the run.
    pub setup: &'a RankSetup,
    /// The job, without loaded code.
    pub job: Arc<Job>,
}

/// Started processes. They end when this value is dropped.
pub struct Launched {
    file: RankMemory,
    processes: Arc<RankProcesses>,
    job: Arc<Job>,
    output: Option<JoinHandle<()>>,
}

impl Launcher<'_> {
    /// Starts one process per rank.
    ///
    /// # Errors
    /// The library is missing, or the system refuses memory or a process.
    pub fn start(self) -> Result<Launched, LaunchError> {
        let libraries = library_directory()?;
        let ranks = self.job.size();
        let system = |rank| move |error| LaunchError::System { rank, error };
        let file = RankMemory::new(ranks, &self.setup.text()).map_err(system(None))?;
        let (mut processes, mut pipes) = (Vec::new(), Vec::new());
        for rank in 0..ranks {
            let started = self.command(rank, &file, &libraries).spawn();
            let mut child = match started {
                Ok(child) => child,
                Err(error) => {
                    drop(Launched { file, processes: Arc::new(RankProcesses(processes)), job: self.job, output: None });
                    return Err(LaunchError::System { rank: Some(rank), error });
                }
            };
            pipes.extend(child.stdout.take().map(|pipe| (rank, Stream::Out, OwnedFd::from(pipe))));
            pipes.extend(child.stderr.take().map(|pipe| (rank, Stream::Err, OwnedFd::from(pipe))));
            processes.push(Mutex::new(RankProcess { child, status: None }));
        }
        let job = self.job.clone();
        let output = std::thread::Builder::new().name("output".to_owned()).spawn(move || forward(&job, pipes));
        let output = Some(output.map_err(system(None))?);
        Ok(Launched { file, processes: Arc::new(RankProcesses(processes)), job: self.job, output })
    }

    /// Returns the name of the rank's node, its number of processors, the rank's first processor and the number of the
    /// rank's processors.
    fn place(&self, rank: Rank) -> String {
        let (job, site) = (&self.job, self.job.sites[rank as usize]);
        let shape = job.platform.shape;
        let processors = job.platform.most_ranks() / shape.nodes;
        let first = site.cmp * shape.cores + site.core;
        let earlier = job.sites[..rank as usize].iter().filter(|other| **other == site).count() as u32;
        // The second hardware threads of the cores follow all the first ones.
        let thread = earlier % (processors / shape.cores_in_node() as u32).max(1);
        format!("node{} {processors} {} 1", site.node, thread * shape.cores_in_node() as u32 + first)
    }

    fn command(&self, rank: Rank, file: &RankMemory, libraries: &Path) -> Command {
        let program = &self.job.programs[self.job.program_number(rank)];
        let mut command = Command::new(self.program);
        let words: Vec<&OsStr> = program.arguments.iter().map(|word| OsStr::from_bytes(word.to_bytes())).collect();
        command.arg0(words[0]).args(&words[1..]).env_clear();
        for entry in launched_environment(&self.job, rank) {
            let entry = entry.to_bytes();
            let split = entry.iter().position(|&byte| byte == b'=').unwrap_or(entry.len());
            let value = entry.get(split + 1..).unwrap_or_default();
            command.env(OsStr::from_bytes(&entry[..split]), OsStr::from_bytes(value));
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
        command.env("MCPSIM_LIBRARY_DIRECTORY", libraries).env("MCPSIM_PLACE", self.place(rank));
        command.env(memory::FILE, file.path()).env(memory::RANK, rank.to_string());
        if let Some(directory) = &program.directory {
            command.current_dir(OsStr::from_bytes(directory.to_bytes()));
        }
        command.stdin(if rank == 0 { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
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
        command
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
        let area = self.file.area(rank).unwrap_or_else(|error| panic!("no address space for rank {rank}: {error}"));
        RemoteProgram::new(rank, area, self.processes.clone(), self.job.clone())
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let start = Instant::now();
        for process in &self.processes.0 {
            let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
            while process.status().is_none() && start.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_micros(500));
            }
            if process.status().is_none() {
                let _ = process.child.kill();
                process.status = process.child.wait().ok();
            }
        }
        if let Some(output) = self.output.take() {
            let _ = output.join();
        }
    }
}

/// Bytes of a stream that do not end a line yet.
struct PendingOutput {
    rank: Rank,
    stream: Stream,
    pipe: Option<std::fs::File>,
    line: Vec<u8>,
}

/// Forwards the output of processes in whole lines until all pipes are closed.
fn forward(job: &Job, pipes: Vec<(Rank, Stream, OwnedFd)>) {
    let mut all: Vec<PendingOutput> = pipes
        .into_iter()
        .map(|(rank, stream, pipe)| PendingOutput { rank, stream, pipe: Some(pipe.into()), line: Vec::new() })
        .collect();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let mut polled: Vec<libc::pollfd> = Vec::new();
        let mut indices = Vec::new();
        for (index, pending) in all.iter().enumerate() {
            if let Some(pipe) = &pending.pipe {
                polled.push(libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 });
                indices.push(index);
            }
        }
        if polled.is_empty() {
            return;
        }
        // SAFETY: the list has the stated length.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
        for (index, _) in indices.iter().zip(&polled).filter(|(_, polled)| polled.revents != 0) {
            let pending = &mut all[*index];
            let Some(pipe) = &mut pending.pipe else { continue };
            let count = match pipe.read(&mut bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read.unwrap_or(0),
            };
            let before = pending.line.len();
            pending.line.extend_from_slice(&bytes[..count]);
            let whole = bytes[..count].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| before + at + 1);
            let end = if count == 0 { pending.line.len() } else { whole };
            if end > 0 {
                job.output.write(pending.rank, pending.stream, &pending.line[..end]);
                pending.line.drain(..end);
            }
            if count == 0 {
                pending.pipe = None;
            }
        }
    }
}
