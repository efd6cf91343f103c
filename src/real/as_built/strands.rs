//! Strands of a rank in its process: nonblocking operations, which the process continues while it waits, and threads with
//! clocks of their own.

use std::sync::Arc;

use mcpsim_core::rank::{Call, Program, RequestId, Requests};

use super::ahead::EarlyWait;
use super::connection::{AnnouncedCall, Connection, NextReply, RankTask};
use super::gate::{self, ThreadGate};
use super::wire::{OwnReply, OwnReplyKind, waited_by};
use crate::process::run_as;

/// A strand that has not ended.
#[derive(Default)]
pub(super) struct RunningStrand {
    /// The strand; absent while it runs, and for a thread.
    pub(super) program: Option<Box<dyn Program>>,
    /// The point at which the thread waits, if the strand is a thread.
    pub(super) gate: Option<Arc<ThreadGate>>,
    /// Last call of the thread that was written to the simulator.
    pub(super) announced: AnnouncedCall,
    /// Request that the strand's current call starts.
    pub(super) starting: Option<RequestId>,
    /// Requests of the strand's current call, and whether the call completes all of them.
    pub(super) waited: (Requests, bool),
    /// Receives of the strand's current call, if the rank runs ahead.
    pub(super) receives: EarlyWait,
}

impl Connection {
    pub(super) fn add_strand(&mut self, program: Box<dyn Program>) {
        let gate = program.thread().is_some().then(|| gate::of_started(self.started)).flatten();
        let program = gate.is_none().then_some(program);
        self.strands.insert(self.started, RunningStrand { program, gate, ..RunningStrand::default() });
        self.started += 1;
    }

    /// Continues a strand with the reply to its last call. Returns the reply if the strand is a thread. Otherwise writes
    /// its next call.
    pub(super) fn continue_strand(&mut self, number: u32, reply: OwnReply, task: RankTask) -> Option<NextReply> {
        let mut reply = reply;
        let Some(strand) = self.strands.get_mut(&number) else {
            self.answers.call(&Call::Finish);
            return None;
        };
        if let (OwnReplyKind::Started(_), Some(own)) = (&reply.kind, strand.starting.take()) {
            reply.kind = OwnReplyKind::Started(own);
        }
        let (waited, is_whole) = std::mem::take(&mut strand.waited);
        let (program, gate) = (strand.program.take(), strand.gate.clone());
        let receives = std::mem::take(&mut strand.receives);
        self.finish_receives(&receives, &mut reply.kind);
        self.release_completed(&waited, is_whole, &reply.kind);
        if gate.is_some() {
            return Some(if task == RankTask::Thread(number) {
                NextReply::Own(reply)
            } else {
                NextReply::Other(gate, reply)
            });
        }
        let mut program = program.expect("a strand does not run twice at a time");
        let mut call = program.next(reply.reply());
        run_as(self.process);
        let receives = self.prepare(&mut call, RankTask::Thread(number));
        let starting = self.write(RankTask::Thread(number), &call);
        if std::mem::take(&mut self.answers.is_full) {
            self.answers.length = 0;
            self.answers.call(&self.no_room());
        }
        if matches!(call, Call::Finish) {
            self.strands.remove(&number);
            return None;
        }
        let waited = waited_by(&call);
        let running = RunningStrand { program: Some(program), starting, waited, receives, ..RunningStrand::default() };
        self.strands.insert(number, running);
        starting.into_iter().for_each(|id| self.begin(id, &mut call));
        None
    }

    /// Returns the first thread other than the main thread that waits in an MPI function, and the name of the function.
    pub fn thread_in_mpi(&self) -> Option<(u32, &'static str)> {
        let gates = self.strands.values().filter_map(|strand| strand.gate.as_ref());
        gates.filter_map(|gate| Some((gate.task, gate.inside()?))).min()
    }
}
