//! Adapter that runs an [`MpiProgram`] as a program of the engine.

use std::sync::Arc;

use smallvec::SmallVec;

use super::cost::DataCost;
use super::mover::{Mover, NoData};
use super::names::{blocking_name, non_blocking_name};
use super::rules::rule_size;
use super::runner::Runner;
use super::{BeginCollective, CallForm, MpiCall, MpiProgram};
use mcpsim_base::platform::{MemoryPart, Platform};
use mcpsim_base::profile::TaskLog;
use mcpsim_base::rank::forward_reports;
use mcpsim_base::rank::{Call, Called, CollectiveEntry, Describe, FailureKind, Program, ProgramError, Reply};
use mcpsim_base::units::Bytes;

/// Runs an [`MpiProgram`] on the engine: forwards point-to-point calls to the engine and executes collectives.
///
/// A blocking collective becomes [`Call::Enter`] with the name of the MPI function, the point-to-point calls of the
/// algorithm, and [`Call::Leave`]. Then the MPI program receives `Done`. A non-blocking collective becomes
/// [`Call::Start`] of a concurrent program with the same calls, and the MPI program receives `Started`.
///
/// Collectives of a communicator are matched in the order in which each rank calls them, as MPI requires (MPI-3.1,
/// section 5.12). If ranks call different collectives at the same position, the messages of these collectives never
/// match.
///
/// `repr(C)` keeps the fields used by every call in the same cache line as the beginning of the program.
#[repr(C)]
pub struct MpiDriver<P> {
    active: Option<Box<EnteredCollective>>,
    program: P,
    collectives: Collectives,
}

/// Data that a rank needs when it begins a collective.
struct Collectives {
    platform: Arc<Platform>,
    memory: MemoryPart,
    /// Pairs of a communicator's identifier and the number of collectives that this rank has begun on the communicator.
    begun: SmallVec<[(u32, u32); 2]>,
}

/// Begins collectives of a rank and sets its active collective.
struct CollectiveStart<'a> {
    active: &'a mut Option<Box<EnteredCollective>>,
    collectives: &'a mut Collectives,
}

/// State of a blocking collective that is in progress.
struct EnteredCollective {
    runner: Runner,
    left: bool,
}

/// A non-blocking collective as a program that runs concurrently with its caller: Enter, the point-to-point calls of
/// the algorithm, Leave.
pub struct Strand<M> {
    runner: Runner<M>,
    name: &'static str,
    bytes: Bytes,
    stage: StrandStage,
}

impl<M> Strand<M> {
    /// Creates a program that executes the collective of `runner`. `name` is the MPI function, and `bytes` the size of
    /// the collective (see [`rule_size`]).
    pub fn new(runner: Runner<M>, name: &'static str, bytes: Bytes) -> Self {
        Strand { runner, name, bytes, stage: StrandStage::Outside }
    }
}

/// Progress of a non-blocking collective.
enum StrandStage {
    Outside,
    Inside,
    Left,
}

impl<P: MpiProgram> MpiDriver<P> {
    /// Creates the engine's program of a rank that runs the MPI program `program` on `platform`. The rank may use the
    /// share `memory` of the memory bandwidth and caches. If `memory` is a number, it is the memory bandwidth in bytes
    /// per second (see [`mcpsim_base::platform::CoreRates::memory_share`]).
    pub fn new(program: P, platform: Arc<Platform>, memory: impl Into<MemoryPart>) -> Self {
        let collectives = Collectives { platform, memory: memory.into(), begun: SmallVec::new() };
        MpiDriver { active: None, program, collectives }
    }
}

impl BeginCollective for CollectiveStart<'_> {
    #[inline(never)]
    fn begin(&mut self, requested: MpiCall, place: &dyn Fn() -> Option<String>) -> Call {
        let (call, form) = match requested {
            MpiCall::Call(call) => return call,
            MpiCall::Collective(call) => (call, CallForm::Blocking),
            MpiCall::StartCollective(call) => (call, CallForm::NonBlocking),
        };
        let blocking = form == CallForm::Blocking;
        let collective = call.collective;
        let Collectives { platform, memory, .. } = &*self.collectives;
        let cost = DataCost::of_machine(platform, *memory);
        let sequence = self.collectives.sequence(call.comm.id());
        let bytes = rule_size(&call);
        let name = if blocking { blocking_name(collective) } else { non_blocking_name(collective) };
        match Runner::new((call, form), &self.collectives.platform.collectives, cost, sequence, NoData) {
            Ok(runner) if blocking => {
                let entry = CollectiveEntry { name, method: Some(runner.method()), bytes };
                *self.active = Some(Box::new(EnteredCollective { runner, left: false }));
                Call::Enter(entry)
            }
            Ok(runner) => Call::Start(Box::new(Strand::new(runner, name, bytes))),
            Err(what) => {
                let place = place().unwrap_or_else(|| name.to_owned());
                Call::Fail(Box::new(ProgramError { kind: FailureKind::Description, place, what }))
            }
        }
    }
}

impl Collectives {
    /// Returns the number of collectives that this rank has begun on communicator `comm`, then increments this number.
    fn sequence(&mut self, comm: u32) -> u32 {
        let begun = match self.begun.iter_mut().find(|(id, _)| *id == comm) {
            Some((_, begun)) => begun,
            None => {
                self.begun.push((comm, 0));
                &mut self.begun.last_mut().expect("just pushed").1
            }
        };
        let sequence = *begun;
        *begun = begun.wrapping_add(1);
        sequence
    }
}

impl<P: MpiProgram> Program for MpiDriver<P> {
    #[inline]
    fn next(&mut self, mut reply: Reply<'_>) -> Call {
        if let Some(active) = &mut self.active {
            if !active.left {
                return active.runner.next_call(&mut reply).unwrap_or_else(|| {
                    active.left = true;
                    Call::Leave
                });
            }
            // The MPI program receives the reply to the Leave call.
            self.active = None;
        }
        let MpiDriver { active, program, collectives } = self;
        program.next_call(reply, &mut CollectiveStart { active, collectives })
    }
}

impl<P: MpiProgram> Describe for MpiDriver<P> {
    forward_reports!(self, self.program);

    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        self.program.task_log()
    }

    fn called(&mut self) -> Option<Called> {
        Some(Box::new(self.active.as_ref()?.runner.called()))
    }
}

impl<M: Mover + Send> Program for Strand<M> {
    fn next(&mut self, mut reply: Reply<'_>) -> Call {
        match self.stage {
            StrandStage::Outside => {
                self.stage = StrandStage::Inside;
                Call::Enter(CollectiveEntry { name: self.name, method: Some(self.runner.method()), bytes: self.bytes })
            }
            StrandStage::Inside => self.runner.next_call(&mut reply).unwrap_or_else(|| {
                self.stage = StrandStage::Left;
                Call::Leave
            }),
            StrandStage::Left => Call::Finish,
        }
    }
}

impl<M: Mover + Send> Describe for Strand<M> {
    fn position(&self) -> Option<String> {
        Some(self.name.to_owned())
    }

    fn called(&mut self) -> Option<Called> {
        Some(Box::new(self.runner.called()))
    }
}

#[cfg(test)]
mod tests;
