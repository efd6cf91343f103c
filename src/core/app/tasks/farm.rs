//! Central work queue of fragments. Process 0 keeps every fragment until its input data have been produced. Then
//! process 0 sends the fragment to the process that has had a free thread for the longest time.

use std::collections::VecDeque;

use crate::rank::Rank;

use super::graph::{Fragment, TaskGraph};
use super::message::Settled;
use super::process::ProcessState;
use super::ready::Ready;

const NOT_THERE: u32 = u32::MAX;

/// State of the central work queue on process 0.
#[derive(Debug)]
pub(super) struct Farm {
    /// For each fragment, the number of its input data that have not been produced.
    missing: Vec<u32>,
    /// For each fragment that has arrived in the queue, the index of its state record.
    record: Vec<u32>,
    ready: Ready,
    /// Processes with free threads. A process occurs once per fragment that it can accept.
    free: VecDeque<Rank>,
}

impl Farm {
    pub fn new(graph: &TaskGraph) -> Self {
        let fragments = 0..graph.count();
        let slots = 0..graph.options.threads + graph.options.ahead;
        Farm {
            missing: fragments.clone().map(|fragment| graph.inputs.of(fragment).len() as u32).collect(),
            record: vec![NOT_THERE; fragments.len()],
            ready: Ready::new(graph.options.unfold, graph.options.order),
            free: slots.flat_map(|_| 0..graph.processes).collect(),
        }
    }
}

impl ProcessState {
    /// Handles the arrival of a fragment in the queue.
    pub(super) fn farm_arrived(&mut self, graph: &TaskGraph, record: u32) {
        let fragment = self.records[record as usize].fragment;
        let structured = graph.is_structured(fragment);
        let farm = self.farm.as_mut().expect("process 0 has the queue");
        farm.record[fragment as usize] = record;
        if farm.missing[fragment as usize] == 0 {
            farm.ready.push(record, structured);
        }
        self.farm_assign(graph);
    }

    /// Handles the event that `process` has executed `fragment`. The output data of the fragment exist, and the process
    /// can accept another fragment.
    pub(super) fn farm_finished(&mut self, graph: &TaskGraph, process: Rank, fragment: Fragment) {
        let readers = graph.readers.as_ref().expect("the work queue knows who needs data");
        let farm = self.farm.as_mut().expect("process 0 has the queue");
        farm.free.push_back(process);
        for &data in graph.outputs.of(fragment) {
            for &reader in readers.of(data) {
                let missing = &mut farm.missing[reader as usize];
                *missing -= 1;
                let record = farm.record[reader as usize];
                if *missing == 0 && record != NOT_THERE {
                    farm.ready.push(record, graph.is_structured(reader));
                }
            }
        }
        self.farm_assign(graph);
        self.end.counted += 1;
        if self.end.counted == graph.count() {
            self.all_executed(graph);
        }
    }

    fn farm_assign(&mut self, graph: &TaskGraph) {
        loop {
            let farm = self.farm.as_mut().expect("process 0 has the queue");
            if farm.ready.is_empty() {
                return;
            }
            let Some(process) = farm.free.pop_front() else { return };
            let record = farm.ready.pop().expect("there is one");
            match process {
                0 => self.settle(graph, record),
                _ => self.send_on(record, process, Settled::Yes),
            }
        }
    }
}
