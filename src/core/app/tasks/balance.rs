//! Work stealing and termination detection between the MPI processes of a task-based program.
//!
//! An MPI process that has a free thread and no ready fragments (the thief) sends a request for work to another MPI
//! process (the victim). A victim with ready fragments sends some of them to the thief. A victim without ready
//! fragments forwards the request to the next victim. The last victim keeps the request while it executes fragments,
//! because these fragments may create more fragments than the victim's threads can execute. A victim that executes no
//! fragment answers that it has no work. The thief then pauses before its next request. Each further failure makes the
//! pause longer.

use std::collections::VecDeque;

use crate::rank::Rank;
use crate::units::SimSpan;

use super::graph::TaskGraph;
use super::message::{Note, Settled};
use super::options::{Manager, Progress, Take, Victim};
use super::process::ProcessState;

/// Greatest number of times that the pause between requests for work is doubled.
const MOST_DOUBLINGS: u32 = 10;

/// Requests for work that an MPI process has sent or received.
#[derive(Debug, Default)]
pub(super) struct Balance {
    /// Whether this process has a request for work in progress.
    outstanding: bool,
    /// Number of consecutive unsuccessful requests for work of this process.
    failures: u32,
    /// Whether this process pauses before its next request for work.
    resting: bool,
    /// Number of stolen fragments that wait for their input data.
    pub fetching: u32,
    /// Requests for work of other processes, each with the number of visited processes; `None` for a request that this
    /// process keeps.
    requests: VecDeque<(Rank, Option<u8>)>,
}

impl Balance {
    pub fn asked(&mut self, thief: Rank, tries: u8) {
        self.requests.push_back((thief, Some(tries)));
    }

    /// Handles the answer to this process's request for work.
    pub fn answered(&mut self, with_work: bool) {
        self.outstanding = false;
        self.resting = !with_work;
        self.failures = if with_work { 0 } else { self.failures + 1 };
    }

    /// Ends the pause before the next request for work.
    pub fn rested(&mut self) {
        self.resting = false;
    }
}

impl ProcessState {
    /// Returns a random process other than this process.
    pub(super) fn random_other(&mut self, graph: &TaskGraph) -> Rank {
        let most = i64::from(graph.processes) - 2;
        let other = self.random.int(graph.seed, self.rank, 0, most).expect("there is another process") as Rank;
        other + Rank::from(other >= self.rank)
    }

    fn victim(&mut self, graph: &TaskGraph, thief: Rank) -> Rank {
        match graph.options.victim {
            Victim::Ring => (self.rank + 1) % graph.processes,
            Victim::Random => loop {
                let victim = self.random_other(graph);
                // With two processes, the only other process is the thief, so the victim may be the thief.
                if victim != thief || graph.processes == 2 {
                    return victim;
                }
            },
        }
    }

    /// Answers requests for work of other processes, and sends a request if this process needs work. If this process
    /// must pause before its request, returns the length of the pause.
    pub(super) fn look_for_work(&mut self, graph: &TaskGraph) -> Option<SimSpan> {
        let options = &graph.options;
        if options.manager != Manager::Stealing || graph.processes == 1 {
            return None;
        }
        self.answer_requests(graph);
        let idle = self.has_free_thread() && self.ready.is_empty() && self.balance.fetching == 0;
        if self.end.quiet || self.balance.outstanding || !idle {
            return None;
        }
        if self.balance.resting {
            let doublings = (self.balance.failures - 1).min(MOST_DOUBLINGS);
            return (!self.has_timer()).then(|| options.retry * (1 << doublings));
        }
        self.balance.outstanding = true;
        let victim = self.victim(graph, self.rank);
        self.outbox.push_back((victim, Note::Steal(self.rank, 1)));
        None
    }

    /// Answers or forwards the requests for work of other processes.
    pub(super) fn answer_requests(&mut self, graph: &TaskGraph) {
        if self.balance.requests.is_empty() {
            return;
        }
        let options = &graph.options;
        // If the manager's thread also executes fragments, this thread will execute one of the ready fragments.
        let own = usize::from(options.progress == Progress::Between);
        while self.ready.len() > own
            && let Some((thief, _)) = self.balance.requests.pop_front()
        {
            let count = match options.take {
                Take::One => 1,
                Take::Half => (self.ready.len() - own).div_ceil(2),
            };
            for number in 0..count {
                let Some(record) = self.ready.give() else { break };
                self.send_on(record, thief, if number == 0 { Settled::Answer } else { Settled::Yes });
            }
        }
        let busy = self.is_busy() || !self.ready.is_empty();
        for _ in 0..self.balance.requests.len() {
            let Some((thief, tries)) = self.balance.requests.pop_front() else { break };
            match tries {
                Some(tries) if u32::from(tries) < options.tries && !self.end.quiet => {
                    let victim = self.victim(graph, thief);
                    if victim == thief {
                        self.outbox.push_back((thief, Note::Nothing));
                    } else {
                        self.outbox.push_back((victim, Note::Steal(thief, tries + 1)));
                    }
                }
                _ if busy && !self.end.quiet => self.balance.requests.push_back((thief, None)),
                _ => self.outbox.push_back((thief, Note::Nothing)),
            }
        }
    }

    /// Reports the number of fragments that this process has executed to process 0, for termination detection.
    pub(super) fn tell(&mut self, graph: &TaskGraph) {
        let end = &mut self.end;
        let untold = end.executed - end.reported;
        let due = match &graph.expected {
            // The number of fragments per process is known before the run, so each process reports only once.
            Some(expected) => end.executed == expected[self.rank as usize],
            None => self.ready.is_empty() && !self.is_busy(),
        };
        if graph.options.manager != Manager::Queue && due && untold > 0 {
            self.end.reported += untold;
            self.report(graph, untold);
        }
        let end = &mut self.end;
        if end.quiet && !end.calm_told && !self.balance.outstanding {
            end.calm_told = true;
            self.report(graph, 0);
        }
    }

    fn report(&mut self, graph: &TaskGraph, count: u32) {
        match self.rank {
            0 => self.counted(graph, count),
            _ => self.outbox.push_back((0, Note::Count(count))),
        }
    }

    /// On process 0, adds `count` executed fragments to the total. A count of 0 means that the reporting process has no
    /// request for work in progress.
    pub(super) fn counted(&mut self, graph: &TaskGraph, count: u32) {
        let (total, processes) = (graph.count(), graph.processes);
        self.end.counted += count;
        if count == 0 {
            self.end.calm += 1;
            if self.end.calm == processes {
                self.stop(graph);
            }
        } else if self.end.counted == total {
            self.all_executed(graph);
        }
    }

    /// On process 0, handles the event that all fragments of the program have been executed.
    pub(super) fn all_executed(&mut self, graph: &TaskGraph) {
        match graph.options.manager {
            Manager::Stealing if graph.processes > 1 => self.quieten(graph),
            _ => self.stop(graph),
        }
    }

    /// Stops the requests for work of this process, and forwards the stop message along a binary tree of processes.
    pub(super) fn quieten(&mut self, graph: &TaskGraph) {
        self.end.quiet = true;
        self.tell_below(graph, Note::Quiet);
    }

    /// Ends the program on this process, and forwards the end message along a binary tree of processes.
    pub(super) fn stop(&mut self, graph: &TaskGraph) {
        self.end.stopped = true;
        self.tell_below(graph, Note::Stop);
    }

    fn tell_below(&mut self, graph: &TaskGraph, note: Note) {
        let (rank, processes) = (u64::from(self.rank), u64::from(graph.processes));
        let below = [2 * rank + 1, 2 * rank + 2].into_iter().filter(|&below| below < processes);
        self.outbox.extend(below.map(|below| (below as Rank, note)));
    }

    /// Whether no more messages will arrive at this process.
    pub(super) fn is_through(&self, graph: &TaskGraph) -> bool {
        let end = &self.end;
        end.stopped && end.unanswered == 0 && end.kept == graph.homed[self.rank as usize]
    }
}
