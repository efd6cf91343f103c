//! Predictions of real programs with typical times: the recorded run is replayed, and each block of code takes the time
//! that is typical of equal blocks.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::{HostUse, Outcome, Processes, Progress};
use crate::profile::typical_times;
use crate::rank::{Call, CallSite, Called, Describe, Doorbell, Message, Program, Rank, Reply, Served, forward_reports};
use crate::units::SimSpan;

use super::application::Application;
use super::conduct::{Conduct, Prediction, silent};
use super::error::PredictError;
use super::replay;
use super::resolved::Resolved;
use super::trace_file::TraceFile;

/// Call that follows a block of code: its name, and the bytes of its message or collective.
type Site = (String, u64);

/// Blocks of a rank's code in the order of execution.
pub(super) type CodeBlocks = Vec<(Site, SimSpan)>;

/// Treatment of the blocks of code in a replay.
pub(super) enum BlockPass {
    /// Blocks of each rank are stored.
    Collect(Vec<Mutex<CodeBlocks>>),
    /// Blocks of each rank take these times.
    Replace(Vec<Vec<SimSpan>>),
}

impl BlockPass {
    /// Wraps the program of a rank.
    pub(super) fn wrap(self: &Arc<Self>, rank: Rank, program: Box<dyn Program>) -> Box<dyn Program> {
        Box::new(BlockProgram { program, rank, pass: self.clone(), blocks: Vec::new(), is_open: false, done: 0 })
    }
}

impl Resolved {
    /// Predicts the run as [`Resolved::run_in`] does, with typical times of the program's code. The run must have a single
    /// host process.
    pub(super) fn typical_in(&self, conduct: Conduct<'_>) -> Result<Option<Prediction>, PredictError> {
        let mut measured = self.clone();
        measured.settings.typical = false;
        measured.with_blocks(conduct, "--compute typical", |blocks| Ok(typical_times(blocks)))
    }

    /// Predicts the run as [`Resolved::run_in`] does. The blocks of each rank's code take the times that `times` returns
    /// for the measured blocks. The run must have a single host process. `option` requires the replay.
    pub(super) fn with_blocks(
        &self,
        conduct: Conduct<'_>,
        option: &str,
        times: impl FnOnce(&[CodeBlocks]) -> Result<Vec<Vec<SimSpan>>, PredictError>,
    ) -> Result<Option<Prediction>, PredictError> {
        if conduct.processes.count() > 1 {
            return Err(PredictError::input(format!("{option}: expected a single host process")));
        }
        let Some(first) = self.first_in(Conduct { recorded: false, ..conduct }, option)? else { return Ok(None) };
        let Application::Trace(file) = &first.again.application else { return Ok(Some(first.prediction)) };
        let blocks = first.again.code_blocks(file, conduct)?;
        let replace = Arc::new(BlockPass::Replace(times(&blocks)?));
        let replaced = replay::simulate_in_pass(&first.again, file, conduct, Some(&replace))?;
        let (measured, Some(replaced)) = (first.prediction, replaced) else { return Ok(None) };
        let Outcome { app, config, host, program, mistakes, .. } = measured.outcome;
        let host = HostUse { noise: None, ..host };
        let outcome = Outcome { app, config, host, program, mistakes, ..replaced.outcome };
        Ok(Some(Prediction { outcome, trace: replaced.trace, ..measured }))
    }

    /// Returns the blocks of code of each rank in the trace `file`.
    fn code_blocks(&self, file: &TraceFile, conduct: Conduct<'_>) -> Result<Vec<CodeBlocks>, PredictError> {
        let ranks = (0..self.ranks()).map(|_| Mutex::default()).collect();
        let collected = Arc::new(BlockPass::Collect(ranks));
        replay::simulate_in_pass(self, file, Conduct { recorded: false, ..conduct }, Some(&collected))?;
        let BlockPass::Collect(blocks) = &*collected else { unreachable!("the pass collects blocks") };
        Ok(blocks.iter().map(|of| take(&mut *of.lock().unwrap_or_else(PoisonError::into_inner))).collect())
    }

    /// Returns the time of a recorded program's code by the MPI function that follows the code, over all ranks.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`].
    pub fn code_before_calls(&self) -> Result<BTreeMap<String, SimSpan>, PredictError> {
        let mut found = BTreeMap::new();
        let Application::Trace(file) = &self.application else { return Ok(found) };
        let (progress, processes, console) = (Progress::default(), Processes::one(), silent());
        let conduct = Conduct { progress: &progress, processes: &processes, recorded: false, console: &console };
        for ((call, _), span) in self.code_blocks(file, conduct)?.into_iter().flatten() {
            *found.entry(call).or_insert(SimSpan::ZERO) += span;
        }
        Ok(found)
    }
}

/// Program of a rank whose blocks of code are stored or replaced.
struct BlockProgram {
    program: Box<dyn Program>,
    rank: Rank,
    pass: Arc<BlockPass>,
    blocks: CodeBlocks,
    /// Whether the call that follows the last block is unknown.
    is_open: bool,
    done: usize,
}

impl BlockProgram {
    fn collect(&mut self, call: &Call) {
        if let Call::Code(span) = call {
            self.blocks.push((Site::default(), *span));
            self.is_open = true;
            return;
        }
        if take(&mut self.is_open)
            && let Some((site, _)) = self.blocks.last_mut()
        {
            let name = match self.program.site() {
                CallSite::Function(name) | CallSite::Place(name, _) => name.to_owned(),
                CallSite::Step(step) => self.program.step_name(step),
                CallSite::Unknown => String::new(),
            };
            let bytes = match call {
                Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => message.size.get(),
                Call::Enter(entry) => entry.bytes.get(),
                _ => 0,
            };
            *site = (name, bytes);
        }
        if let (Call::Finish | Call::Fail(_), BlockPass::Collect(ranks)) = (call, &*self.pass) {
            let mut stored = ranks[self.rank as usize].lock().unwrap_or_else(PoisonError::into_inner);
            *stored = take(&mut self.blocks);
        }
    }
}

impl Program for BlockProgram {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let call = self.program.next(reply);
        match (&*self.pass.clone(), call) {
            (BlockPass::Replace(times), Call::Code(span)) => {
                let typical = times[self.rank as usize].get(self.done).copied();
                self.done += 1;
                Call::Code(typical.unwrap_or(span))
            }
            (BlockPass::Replace(_), call) => call,
            (BlockPass::Collect(_), call) => {
                self.collect(&call);
                call
            }
        }
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        self.program.serve(message, answers);
    }

    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        self.program.attach(doorbell);
    }

    fn run_ahead(&mut self) {
        self.program.run_ahead();
    }
}

impl Describe for BlockProgram {
    forward_reports!(self, self.program);

    fn record_collectives(&mut self) {
        self.program.record_collectives();
    }

    fn called(&mut self) -> Option<Called> {
        self.program.called()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::{CollectiveEntry, ReplyKind};
    use crate::units::SimTime;

    /// Program that computes for the spans `.0` before barriers.
    struct Steps(Vec<u64>, bool);

    impl Describe for Steps {
        fn site(&self) -> CallSite {
            CallSite::Function("MPI_Barrier")
        }
    }

    impl Program for Steps {
        fn next(&mut self, _: Reply<'_>) -> Call {
            self.1 = !self.1;
            match (self.1, self.0.first().copied()) {
                (true, Some(us)) => {
                    self.0.remove(0);
                    Call::Code(SimSpan::from_us(us))
                }
                (true, None) => Call::Finish,
                (false, _) => Call::Enter(CollectiveEntry::named("MPI_Barrier")),
            }
        }
    }

    fn calls(pass: &Arc<BlockPass>, rank: Rank, times: &[u64]) -> Vec<u64> {
        let mut program = pass.wrap(rank, Box::new(Steps(times.to_vec(), false)));
        let mut spans = Vec::new();
        loop {
            match program.next(Reply { clock: SimTime::ZERO, kind: ReplyKind::Done }) {
                Call::Code(span) => spans.push(span.as_ps() / 1_000_000),
                Call::Finish => return spans,
                _ => {}
            }
        }
    }

    #[test]
    fn collected_blocks_are_replaced_by_typical_times() {
        let measured: [&[u64]; 3] = [&[10, 30, 10], &[10, 10, 10], &[25, 10, 10]];
        let collect = Arc::new(BlockPass::Collect((0..3).map(|_| Mutex::default()).collect()));
        for (rank, times) in (0..).zip(measured) {
            assert_eq!(calls(&collect, rank, times), times);
        }
        let BlockPass::Collect(ranks) = &*collect else { panic!("the pass collects") };
        let blocks: Vec<CodeBlocks> = ranks.iter().map(|of| of.lock().unwrap().clone()).collect();
        assert_eq!(blocks[1][2].0, ("MPI_Barrier".to_owned(), 0));
        let replace = Arc::new(BlockPass::Replace(typical_times(&blocks)));
        for (rank, times) in (0..).zip(measured) {
            assert_eq!(calls(&replace, rank, times), [10, 10, 10]);
        }
    }
}
