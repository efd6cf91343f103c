//! Reasons why a run ended without a prediction.

use std::fmt;

use serde::{Deserialize, Serialize};

use mcpsim_base::rank::{FailureKind, ProgramError, Rank};
use mcpsim_base::units::{Bytes, SimTime};

/// Approximate host memory in bytes of an outstanding receive.
const REQUEST_MEMORY: Bytes = Bytes::new(200);

/// Reason why a run ended without a prediction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunError {
    /// A rank's program could not continue.
    Program {
        /// The rank.
        rank: Rank,
        /// Clock of the rank.
        clock: SimTime,
        /// Error that the program reports.
        error: ProgramError,
    },
    /// A message was longer than the receive that took it (MPI_ERR_TRUNCATE).
    Truncated {
        /// The receiver.
        rank: Rank,
        /// The sender.
        source: Rank,
        /// Size of the message.
        size: Bytes,
        /// Size of the receive buffer.
        capacity: Bytes,
        /// Arrival time of the message at the receiver.
        clock: SimTime,
        /// Position of the receiver's program.
        position: Option<String>,
    },
    /// No rank can continue.
    Deadlock(Deadlock),
    /// A rank's clock passed the limit of `--max-time`.
    MaxTime {
        /// The rank.
        rank: Rank,
        /// The limit.
        limit: SimTime,
        /// Position of the rank's program.
        position: Option<String>,
    },
    /// The run passed the limit of `--max-events`.
    MaxEvents {
        /// The limit.
        limit: u64,
        /// Virtual time that the run had reached.
        clock: SimTime,
    },
    /// A rank had more requests outstanding than `--max-requests` allows.
    MaxRequests {
        /// The rank.
        rank: Rank,
        /// The limit.
        limit: u32,
        /// Position of the rank's program.
        position: Option<String>,
    },
    /// A clock passed the greatest representable time, 213 days.
    ClockOverflow {
        /// The rank.
        rank: Rank,
        /// Position of the rank's program.
        position: Option<String>,
    },
    /// The run has more host processes than the machine has nodes with ranks.
    TooManyProcesses {
        /// Number of host processes.
        processes: u32,
        /// Greatest possible number of host processes.
        most: u32,
    },
    /// A latency or the handshake between nodes is zero, so the host processes have no lookahead.
    NoLookahead {
        /// Number of host processes.
        processes: u32,
    },
    /// The user interrupted the run.
    Interrupted {
        /// Virtual time that the run had reached.
        clock: SimTime,
    },
}

/// Ranks that wait in a deadlock, and the ranks that they wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlock {
    /// Unfinished ranks in increasing order.
    pub waiting: Vec<Waiting>,
    /// Waiting threads of these ranks, other than the main threads.
    pub threads: Vec<Waiting>,
    /// Number of finished ranks.
    pub finished: u32,
    /// Ranks that ended without MPI_Finalize. A real MPI launcher would have ended the job.
    pub unfinalised: Vec<Rank>,
    /// Ranks that ended with an exit code other than 0, with the exit code.
    pub codes: Vec<(Rank, i32)>,
}

/// A rank that waits in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The rank.
    pub rank: Rank,
    /// Number of the thread, if it is not the main thread of the rank.
    pub thread: Option<u32>,
    /// Call in which the rank waits: "recv", "MPI_Allreduce", or the name that the program gives.
    pub call: String,
    /// Events that the rank waits for, one text for each: "a message from rank 3, tag 0", "any message".
    pub awaits: Vec<String>,
    /// Ranks that the rank waits for; empty if the rank waits for a message from any source. Cycles of waiting ranks
    /// are detected by these lists.
    pub peers: Vec<Rank>,
    /// Thread of the same rank that has the lock, or whose end the rank waits for; 0 is the main thread.
    pub awaited_thread: Option<u32>,
    /// Virtual time at which the wait of the rank began.
    pub since: SimTime,
    /// Position of the rank's program.
    pub position: Option<String>,
}

impl Deadlock {
    /// Returns a shortest cycle of ranks in which each rank waits only for the next rank. The first rank of the cycle
    /// is repeated at the end of the list. The list is empty without a cycle.
    pub fn cycle(&self) -> Vec<Rank> {
        // A message of a rank to itself may be from any of its threads.
        let has_threads = |rank| self.threads.iter().any(|thread| thread.rank == rank);
        let next = self.waiting.iter().filter_map(|waiting| Some((waiting.rank, *waiting.peers.first()?)));
        shortest_cycle(&next.filter(|&(rank, peer)| rank != peer || !has_threads(rank)).collect())
    }

    /// Returns a shortest cycle of threads of a rank in which each thread waits only for the next thread. The result is
    /// as for [`Deadlock::cycle`]. The main thread has the number 0.
    pub fn thread_cycle(&self) -> Vec<(Rank, u32)> {
        let all = self.waiting.iter().chain(&self.threads);
        let next = all.filter_map(|waiting| {
            let own = (waiting.rank, waiting.thread.unwrap_or(0));
            Some((own, (waiting.rank, waiting.awaited_thread.filter(|_| waiting.awaits.len() == 1)?)))
        });
        shortest_cycle(&next.collect())
    }
}

/// Returns a shortest cycle of `next`, whose first element is repeated at its end. The list is empty without a cycle.
fn shortest_cycle<T: Copy + Ord>(next: &std::collections::BTreeMap<T, T>) -> Vec<T> {
    let mut shortest: Vec<T> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for &start in next.keys() {
        let mut path = Vec::new();
        let mut at = start;
        while seen.insert(at) {
            path.push(at);
            match next.get(&at) {
                Some(&peer) => at = peer,
                None => break,
            }
        }
        if let Some(from) = path.iter().position(|&one| one == at)
            && next.contains_key(&at)
        {
            let mut cycle = path.split_off(from);
            cycle.push(at);
            if shortest.is_empty() || cycle.len() < shortest.len() {
                shortest = cycle;
            }
        }
    }
    shortest
}

impl fmt::Display for RunError {
    /// Writes the error as one line, followed by the details of a crash. The report prints the waiting ranks of a
    /// deadlock as a table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |position: &Option<String>| position.as_ref().map_or(String::new(), |place| format!(" at {place}"));
        match self {
            RunError::Program { rank, clock, error } => write_failure(f, *rank, *clock, error),
            RunError::Truncated { rank, source, size, capacity, clock, position } => write!(
                f,
                "rank {rank}{} at virtual time {clock}: message truncated: {} bytes from rank {source}, room for {}",
                at(position),
                size.get(),
                capacity.get()
            ),
            RunError::Deadlock(deadlock) => {
                match deadlock.unfinalised[..] {
                    [] => write!(f, "deadlock: ")?,
                    [rank] => write!(f, "rank {rank} ended without MPI_Finalize: ")?,
                    [rank, ..] => {
                        let ranks = deadlock.unfinalised.len();
                        write!(f, "{ranks} ranks ended without MPI_Finalize, rank {rank} among them: ")?;
                    }
                }
                let waiting = match deadlock.waiting.len() {
                    1 => "1 rank waits".to_owned(),
                    ranks => format!("{ranks} ranks wait"),
                };
                write!(f, "{waiting} and no rank can continue ({} finished", deadlock.finished)?;
                match deadlock.codes[..] {
                    [] => f.write_str(")"),
                    [(rank, code)] => write!(f, ", rank {rank} with exit code {code})"),
                    [(rank, code), ..] => {
                        write!(f, ", {} with exit codes other than 0: rank {rank} with {code})", deadlock.codes.len())
                    }
                }
            }
            RunError::MaxTime { rank, limit, position } => {
                write!(f, "rank {rank}{} passed the virtual time of {limit} that --max-time allows", at(position))
            }
            RunError::MaxEvents { limit, clock } => {
                write!(f, "more than {limit} events, as --max-events allows; virtual time {clock} reached")
            }
            RunError::MaxRequests { rank, limit, position } => write!(
                f,
                "rank {rank}{} has more than {limit} outstanding requests, the most that --max-requests allows: \
                 complete or free some, or allow more, each of which takes about {REQUEST_MEMORY}",
                at(position)
            ),
            RunError::ClockOverflow { rank, position } => {
                write!(f, "rank {rank}{}: the virtual clock passed 213 days, the most it can hold", at(position))
            }
            RunError::TooManyProcesses { processes, most } => write!(
                f,
                "{processes} host processes, but at most {most} can take part, because each process simulates whole \
                 nodes with ranks"
            ),
            RunError::NoLookahead { processes } => write!(
                f,
                "{processes} host processes, but a latency or the handshake of inter_node is 0, so nodes cannot be \
                 simulated apart: start one process, or state times above 0"
            ),
            RunError::Interrupted { clock } => write!(f, "interrupted at virtual time {clock}"),
        }
    }
}

fn write_failure(f: &mut fmt::Formatter<'_>, rank: Rank, clock: SimTime, error: &ProgramError) -> fmt::Result {
    let ProgramError { kind, place, what } = error;
    match kind {
        FailureKind::Error | FailureKind::Description | FailureKind::NoRoom => {
            write!(f, "rank {rank} at virtual time {clock}")?
        }
        FailureKind::Aborted { code } => {
            write!(f, "rank {rank} called MPI_Abort with code {code} at virtual time {clock}")?
        }
        FailureKind::Exited { code } => write!(f, "rank {rank} exited with code {code} at virtual time {clock}")?,
        FailureKind::Crashed { signal } => {
            write!(f, "rank {rank} crashed with {} at virtual time {clock}", signal_name(*signal))?;
        }
    }
    let before_details = if matches!(kind, FailureKind::Crashed { .. }) { "\n" } else { ": " };
    let told = matches!(kind, FailureKind::Aborted { .. }) && place == "MPI_Abort";
    for (between, text) in [(": ", place), (before_details, what)] {
        if !text.is_empty() && !told {
            write!(f, "{between}{text}")?;
        }
    }
    Ok(())
}

/// Returns the number and name of a signal: "signal 11 (SIGSEGV)".
fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        11 => "SIGSEGV",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

impl std::error::Error for RunError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_fail_has_its_words() {
        let text = |kind, place: &str, what: &str| {
            let error = ProgramError { kind, place: place.to_owned(), what: what.to_owned() };
            RunError::Program { rank: 3, clock: SimTime::from_ps(1_200_000_000), error }.to_string()
        };
        let place = "main at ring.c:12";
        assert_eq!(
            text(FailureKind::Error, "MPI_Send", "rank 9 of 4"),
            "rank 3 at virtual time 1.200 ms: MPI_Send: rank 9 of 4"
        );
        assert_eq!(
            text(FailureKind::Aborted { code: 7 }, place, ""),
            "rank 3 called MPI_Abort with code 7 at virtual time 1.200 ms: main at ring.c:12"
        );
        assert_eq!(
            text(FailureKind::Exited { code: 2 }, "", "before MPI_Finalize"),
            "rank 3 exited with code 2 at virtual time 1.200 ms: before MPI_Finalize"
        );
        assert_eq!(
            text(FailureKind::Crashed { signal: 11 }, place, "  main\n  _start"),
            "rank 3 crashed with signal 11 (SIGSEGV) at virtual time 1.200 ms: main at ring.c:12\n  main\n  _start"
        );
        assert_eq!(
            text(FailureKind::Crashed { signal: 64 }, "", ""),
            "rank 3 crashed with signal 64 at virtual time 1.200 ms"
        );
    }
}
