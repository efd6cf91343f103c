//! Output of the processes of ranks, which the simulator forwards in whole lines.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Stdio;
use std::thread::JoinHandle;

use mcpsim_core::rank::Rank;

use crate::process::{Job, Stream};
use std::sync::Arc;

/// Pipes for the standard output and the standard error of one rank.
pub struct OutputPipes {
    rank: Rank,
    /// Both descriptors are open for reading and writing. The pipe therefore remains open until the run ends, and a
    /// process opens its end by the descriptor's path.
    pipes: [File; 2],
}

/// Creates a pipe that does not block and returns a descriptor for reading and writing.
fn pipe() -> io::Result<File> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors, which belong to the new values.
    let [read, _write] = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    use std::os::unix::fs::OpenOptionsExt;
    let path = format!("/proc/self/fd/{}", read.as_raw_fd());
    File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
}

impl OutputPipes {
    /// Creates the pipes of `rank`.
    ///
    /// # Errors
    /// The system has no further descriptors.
    pub fn new(rank: Rank) -> io::Result<OutputPipes> {
        Ok(OutputPipes { rank, pipes: [pipe()?, pipe()?] })
    }

    /// Returns the numbers of the descriptors. A process opens `/proc/PID/fd/NUMBER` for writing.
    pub fn numbers(&self) -> [i32; 2] {
        [0, 1].map(|index| self.pipes[index].as_raw_fd())
    }

    /// Returns descriptors for the streams of a process that the simulator starts.
    ///
    /// # Errors
    /// The system has no further descriptors.
    pub fn streams(&self) -> io::Result<[Stdio; 2]> {
        let open = |file: &File| {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            Ok::<_, io::Error>(Stdio::from(File::options().write(true).open(path)?))
        };
        Ok([open(&self.pipes[0])?, open(&self.pipes[1])?])
    }
}

/// Bytes of a stream that do not end a line yet.
struct PendingOutput {
    rank: Rank,
    stream: Stream,
    pipe: File,
    line: Vec<u8>,
}

impl PendingOutput {
    /// Reads the bytes that the pipe contains at present, and forwards whole lines.
    fn forward(&mut self, job: &Job, bytes: &mut [u8]) -> usize {
        let count = match self.pipe.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return 1,
            read => read.unwrap_or(0),
        };
        let before = self.line.len();
        self.line.extend_from_slice(&bytes[..count]);
        let whole = bytes[..count].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| before + at + 1);
        if whole > 0 {
            job.output.write(self.rank, self.stream, &self.line[..whole]);
            self.line.drain(..whole);
        }
        count
    }
}

/// Thread that forwards the output of processes. The thread ends when this value is dropped.
pub struct OutputThread {
    thread: Option<JoinHandle<()>>,
    /// Pipe whose end of file ends the thread.
    stop: Option<OwnedFd>,
}

impl OutputThread {
    /// Starts to forward the output in `pipes`.
    ///
    /// # Errors
    /// The system refuses a thread or a pipe.
    pub fn new(job: Arc<Job>, pipes: Vec<OutputPipes>) -> io::Result<OutputThread> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for two descriptors, which belong to the new values.
        let [stopped, stop] = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            ends.map(|end| OwnedFd::from_raw_fd(end))
        };
        let builder = std::thread::Builder::new().name("output".to_owned());
        let thread = builder.spawn(move || forward(&job, pipes, &stopped))?;
        Ok(OutputThread { thread: Some(thread), stop: Some(stop) })
    }
}

impl Drop for OutputThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported.
            let _ = thread.join();
        }
    }
}

/// Forwards the output of processes in whole lines until `stopped` is closed. Then forwards the rest.
fn forward(job: &Job, pipes: Vec<OutputPipes>, stopped: &OwnedFd) {
    let mut all: Vec<PendingOutput> = Vec::new();
    for OutputPipes { rank, pipes: [out, err] } in pipes {
        for (stream, pipe) in [(Stream::Out, out), (Stream::Err, err)] {
            all.push(PendingOutput { rank, stream, pipe, line: Vec::new() });
        }
    }
    let waits = |descriptor: i32| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = all.iter().map(|of| waits(of.pipe.as_raw_fd())).collect();
    polled.push(waits(stopped.as_raw_fd()));
    let mut bytes = vec![0; 64 << 10];
    let is_ready = |polled: &libc::pollfd| polled.revents != 0;
    while !polled.last().is_some_and(is_ready) {
        // SAFETY: the list has the stated length.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
        for (pending, _) in all.iter_mut().zip(&polled).filter(|(_, polled)| is_ready(polled)) {
            pending.forward(job, &mut bytes);
        }
    }
    for pending in &mut all {
        while pending.forward(job, &mut bytes) > 0 {}
        if !pending.line.is_empty() {
            job.output.write(pending.rank, pending.stream, &pending.line);
        }
    }
}
