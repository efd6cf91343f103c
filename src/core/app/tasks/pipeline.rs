//! Stages of a fragment on an MPI process: distribution, waiting for input data, the queue of ready fragments,
//! execution.

use crate::profile::{Left, Visit};
use crate::rank::{Call, Rank};
use crate::units::{SimSpan, SimTime};

use super::graph::{DYNAMIC, Data, Fragment, HERE, TaskGraph};
use super::message::{Note, Settled};
use super::options::Manager;
use super::process::{AgendaJob, ProcessState};
use super::store::Availability;

/// State of a fragment on one MPI process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub fragment: Fragment,
    /// Number of fragments that this structured fragment has created, and this number at the end of the present batch.
    pub created: u32,
    pub creating: u32,
    pub settled_here: Settled,
    pub waited: bool,
    pub entered: SimTime,
    pub settled: SimTime,
    pub ready: SimTime,
    pub started: SimTime,
}

impl ProcessState {
    /// Starts the fragments of this process that exist from the start of the run.
    pub(super) fn begin(&mut self, graph: &TaskGraph) {
        for &fragment in graph.roots.of(self.rank) {
            self.arrive(fragment, Settled::No(0));
        }
        if self.rank == 0 && graph.count() == 0 {
            self.all_executed(graph);
        }
    }

    /// Handles the arrival of a fragment on this process. The arriving fragment will enter the distribution stage.
    fn arrive(&mut self, fragment: Fragment, settled_here: Settled) -> u32 {
        let record = self.record(fragment, settled_here);
        self.agenda.push_back(AgendaJob::Enter(record));
        record
    }

    fn record(&mut self, fragment: Fragment, settled_here: Settled) -> u32 {
        let never = SimTime::NEVER;
        let record = Record {
            fragment,
            created: 0,
            creating: 0,
            settled_here,
            waited: false,
            entered: self.now,
            settled: never,
            ready: never,
            started: never,
        };
        match self.free.pop() {
            Some(free) => {
                self.records[free as usize] = record;
                free
            }
            None => {
                self.records.push(record);
                self.missing.push(0);
                self.records.len() as u32 - 1
            }
        }
    }

    /// Number of fragments on this process that are not yet executed.
    pub(super) fn held(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// Performs the job `job` of the task manager after the time of the job has passed.
    pub(super) fn perform(&mut self, graph: &TaskGraph, job: AgendaJob) {
        match job {
            AgendaJob::Take(from, note) => self.take(graph, from, note),
            AgendaJob::Enter(record) => self.distribute(graph, record),
            AgendaJob::Children(record) => self.next_child(graph, record),
            AgendaJob::Ended(record) => self.ended(graph, record),
        }
    }

    fn take(&mut self, graph: &TaskGraph, from: Rank, note: Note) {
        match note {
            Note::Fragment(fragment, settled) => {
                if settled == Settled::Answer {
                    self.balance.answered(true);
                }
                // The task manager has spent the time for the fragment's message, but not the time for the fragment's
                // distribution.
                let record = self.record(fragment, settled);
                self.agenda.push_front(AgendaJob::Enter(record));
            }
            Note::Request(data) => {
                if self.store.ask(graph.place(data, self.rank), from) == Availability::Here {
                    self.outbox.push_back((from, Note::Data(data)));
                }
            }
            Note::Data(data) => {
                if graph.keeping[data as usize].home == self.rank {
                    self.end.kept += 1;
                } else {
                    self.end.unanswered -= 1;
                }
                self.put(graph, data);
            }
            Note::Steal(thief, tries) => self.balance.asked(thief, tries),
            Note::Nothing => self.balance.answered(false),
            Note::Count(count) => self.counted(graph, count),
            Note::Quiet => self.quieten(graph),
            Note::Stop => self.stop(graph),
            Note::Finished(fragment) => self.farm_finished(graph, from, fragment),
        }
    }

    /// Decides on which process the fragment of record `record` runs.
    fn distribute(&mut self, graph: &TaskGraph, record: u32) {
        let Record { fragment, settled_here, .. } = self.records[record as usize];
        let Settled::No(hops) = settled_here else { return self.settle(graph, record) };
        if graph.options.manager == Manager::Queue {
            match self.rank {
                0 => self.farm_arrived(graph, record),
                _ => self.send_on(record, 0, Settled::No(0)),
            }
            return;
        }
        match graph.at[fragment as usize] {
            HERE => self.settle(graph, record),
            DYNAMIC => {
                let full = self.held() > graph.options.threshold as usize;
                match full && u32::from(hops) < graph.options.transfers && graph.processes > 1 {
                    true => {
                        let other = self.random_other(graph);
                        self.send_on(record, other, Settled::No(hops + 1));
                    }
                    false => self.settle(graph, record),
                }
            }
            place if place == self.rank => self.settle(graph, record),
            place => self.send_on(record, place, Settled::Yes),
        }
    }

    /// Sends the fragment of record `record` to process `to`.
    pub(super) fn send_on(&mut self, record: u32, to: Rank, settled: Settled) {
        self.outbox.push_back((to, Note::Fragment(self.records[record as usize].fragment, settled)));
        self.leave(record, Left::Sent);
    }

    /// Keeps the fragment of record `record` on this process and requests the fragment's missing input data.
    pub(super) fn settle(&mut self, graph: &TaskGraph, record: u32) {
        let fragment = self.records[record as usize].fragment;
        let mut missing = 0;
        for &data in graph.inputs.of(fragment) {
            let wanted = self.store.want(graph.place(data, self.rank), record);
            missing += u32::from(wanted != Availability::Here);
            let home = graph.keeping[data as usize].home;
            if wanted == Availability::New && home != self.rank {
                self.end.unanswered += 1;
                self.outbox.push_back((home, Note::Request(data)));
            }
        }
        self.missing[record as usize] = missing;
        let state = &mut self.records[record as usize];
        (state.settled, state.waited) = (self.now, missing > 0);
        if missing == 0 {
            self.get_ready(graph, record);
        } else if state.settled_here == Settled::Answer {
            self.balance.fetching += 1;
        }
    }

    fn get_ready(&mut self, graph: &TaskGraph, record: u32) {
        let state = &mut self.records[record as usize];
        state.ready = self.now;
        if state.waited && state.settled_here == Settled::Answer {
            self.balance.fetching -= 1;
        }
        let structured = graph.is_structured(state.fragment);
        self.ready.push(record, structured);
    }

    /// Starts the fragment of record `record` on a thread. Returns the time until the fragment ends, or until it has
    /// created its next batch of fragments.
    pub(super) fn start(&mut self, graph: &TaskGraph, record: u32) -> Result<SimSpan, Call> {
        let Record { fragment, created, started, .. } = self.records[record as usize];
        let (options, children) = (&graph.options, graph.children.of(fragment).len() as u32);
        let first = started == SimTime::NEVER;
        let cost = if first { self.cost(graph, fragment)? } else { SimSpan::ZERO };
        let piece = match options.batch {
            0 => children - created,
            batch => batch.min(children - created),
        };
        let overhead = options.dispatch + options.unfolding * u64::from(piece);
        let state = &mut self.records[record as usize];
        state.creating = created + piece;
        if first {
            state.started = self.now;
        }
        if let Some(log) = &mut self.log {
            log.useful += cost;
            log.overhead += overhead;
        }
        Ok(cost + overhead)
    }

    /// Handles that a fragment on a thread has ended, or has created its next batch of fragments.
    fn ended(&mut self, graph: &TaskGraph, record: u32) {
        let Record { created, creating, .. } = self.records[record as usize];
        if created < creating {
            self.agenda.push_back(AgendaJob::Children(record));
        } else {
            self.complete(graph, record);
        }
    }

    /// Creates the next child of the structured fragment of record `record`.
    fn next_child(&mut self, graph: &TaskGraph, record: u32) {
        let Record { fragment, created, creating, .. } = self.records[record as usize];
        let children = graph.children.of(fragment);
        self.records[record as usize].created = created + 1;
        let child = self.record(children[created as usize], Settled::No(0));
        self.distribute(graph, child);
        if created + 1 < creating {
            self.agenda.push_back(AgendaJob::Children(record));
        } else if (creating as usize) < children.len() {
            self.ready.push(record, true);
        } else {
            self.complete(graph, record);
        }
    }

    /// Handles that the fragment of record `record` has been executed.
    fn complete(&mut self, graph: &TaskGraph, record: u32) {
        let fragment = self.records[record as usize].fragment;
        for &data in graph.outputs.of(fragment) {
            let home = graph.keeping[data as usize].home;
            if home == self.rank {
                self.end.kept += 1;
            } else {
                self.outbox.push_back((home, Note::Data(data)));
            }
            self.put(graph, data);
        }
        self.leave(record, Left::Executed);
        self.end.executed += 1;
        if graph.options.manager == Manager::Queue {
            match self.rank {
                0 => self.farm_finished(graph, 0, fragment),
                _ => self.outbox.push_back((0, Note::Finished(fragment))),
            }
        }
    }

    /// Handles the arrival of the data fragment `data` on this process.
    fn put(&mut self, graph: &TaskGraph, data: Data) {
        let (records, processes) = self.store.put(graph.place(data, self.rank));
        for record in records {
            let missing = &mut self.missing[record as usize];
            *missing -= 1;
            if *missing == 0 {
                self.get_ready(graph, record);
            }
        }
        self.outbox.extend(processes.into_iter().map(|process| (process, Note::Data(data))));
    }

    /// Logs that a fragment has left this process, and frees the fragment's record.
    fn leave(&mut self, record: u32, left: Left) {
        let Record { fragment, waited, entered, settled, ready, started, .. } = self.records[record as usize];
        let visit = Visit { fragment, waited, left, entered, settled, ready, started, ended: self.now };
        if let Some(log) = &mut self.log {
            log.visits.push(visit);
        }
        self.free.push(record);
    }
}
