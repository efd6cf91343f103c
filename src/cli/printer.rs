//! Output of simulated ranks on stdout and stderr. The first host process prints the output line by line; the other
//! host processes collect the output of their ranks for the first host process.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::{Progress, Screen};
use crate::process::{Output, Stream};
use crate::rank::Rank;

/// Printer of the simulated ranks' output.
#[derive(Debug)]
pub(super) struct Printer {
    tagged: bool,
    to_stderr: bool,
    /// Output that is collected for the first host process. The collected output contains the rank, the stream, the
    /// length and the bytes of each piece.
    collected: Option<Mutex<Vec<u8>>>,
    /// Simulation run that is cancelled when stdout is closed.
    cancels: Option<Arc<Progress>>,
    /// True if stdout was closed.
    closed: AtomicBool,
}

const HEAD: usize = 4 + 1 + 8;

impl Printer {
    /// Creates a printer. If `tagged` is true, each line starts with the rank. If `to_stderr` is true, output goes to
    /// stderr, because results go to stdout. If `shows` is true, this host process prints the output of ranks.
    pub fn new(tagged: bool, to_stderr: bool, shows: bool) -> Self {
        let collected = (!shows).then(Mutex::default);
        Printer { tagged, to_stderr, collected, cancels: None, closed: AtomicBool::new(false) }
    }

    /// Makes the printer cancel the simulation run `run` when stdout is closed.
    pub fn cancelling(self, run: Arc<Progress>) -> Self {
        Printer { cancels: Some(run), ..self }
    }

    /// Returns true if stdout was closed and the simulation run was cancelled.
    pub fn has_cancelled(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn show_one(&self, rank: Rank, stream: Stream, bytes: &[u8]) {
        let tagged = self.tagged.then(|| tag(rank, stream, bytes));
        let bytes = tagged.as_deref().unwrap_or(bytes);
        // Write errors such as a full disk are ignored, because they are no errors of mcpsim.
        let shown = match stream {
            Stream::Out if !self.to_stderr => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            _ => return drop(io::stderr().lock().write_all(bytes)),
        };
        // If the reader has closed the pipe (`| head`), the run needs to print no more output.
        if let (Err(error), Some(run)) = (shown, &self.cancels)
            && error.kind() == ErrorKind::BrokenPipe
        {
            self.closed.store(true, Ordering::Relaxed);
            run.cancel();
        }
    }
}

impl Output for Printer {
    fn write(&self, rank: Rank, stream: Stream, bytes: &[u8]) {
        match &self.collected {
            None => self.show_one(rank, stream, bytes),
            Some(collected) => {
                let mut printed = collected.lock().unwrap_or_else(PoisonError::into_inner);
                printed.extend(rank.to_le_bytes());
                printed.push(u8::from(stream == Stream::Err));
                printed.extend((bytes.len() as u64).to_le_bytes());
                printed.extend(bytes);
            }
        }
    }
}

impl Screen for Printer {
    fn collect(&self) -> Vec<u8> {
        match &self.collected {
            Some(collected) => std::mem::take(&mut *collected.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Vec::new(),
        }
    }

    fn show(&self, printed: &[u8]) {
        opened(printed).for_each(|(rank, stream, bytes)| self.show_one(rank, stream, bytes));
    }
}

/// Splits the collected output of ranks into pieces of one rank and stream.
fn opened(printed: &[u8]) -> impl Iterator<Item = (Rank, Stream, &[u8])> {
    let mut rest = printed;
    std::iter::from_fn(move || {
        let (head, behind) = rest.split_at_checked(HEAD)?;
        let rank = Rank::from_le_bytes(head[..4].try_into().ok()?);
        let stream = if head[4] == 0 { Stream::Out } else { Stream::Err };
        let (bytes, behind) = behind.split_at_checked(u64::from_le_bytes(head[5..].try_into().ok()?) as usize)?;
        rest = behind;
        Some((rank, stream, bytes))
    })
}

/// Inserts the rank at the start of each line in `bytes`.
fn tag(rank: Rank, stream: Stream, bytes: &[u8]) -> Vec<u8> {
    let stream = match stream {
        Stream::Out => "out",
        Stream::Err => "err",
    };
    let mut tagged = Vec::with_capacity(bytes.len() + 16);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let _ = write!(tagged, "[{rank}:{stream}] ");
        tagged.extend_from_slice(line);
    }
    tagged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_collected_is_what_will_be_shown_once() {
        let printer = Printer::new(true, false, false);
        printer.write(3, Stream::Out, b"three\n");
        printer.write(70_000, Stream::Err, b"");
        printer.write(0, Stream::Out, b"no newline");
        let printed = printer.collect();
        let found: Vec<_> = opened(&printed).collect();
        let expected: [(Rank, Stream, &[u8]); 3] =
            [(3, Stream::Out, b"three\n"), (70_000, Stream::Err, b""), (0, Stream::Out, b"no newline")];
        assert_eq!(found, expected);
        assert!(printer.collect().is_empty());
        assert!(Printer::new(true, false, true).collect().is_empty());
    }

    #[test]
    fn every_line_gets_its_tag() {
        assert_eq!(tag(3, Stream::Err, b"a\nb\n"), b"[3:err] a\n[3:err] b\n");
    }
}
