//! Implements the interface of a compiled program's rank to the simulation engine.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use super::clib;
use super::crash::{self, CrashContext};
use super::job::{self, Job, JobProgram};
use super::launched;
use super::outermost::{self, outermost};
use super::rank::{Interface, Process, ProgramMemory, RankStage, run_as, run_as_nobody};
use super::string_list::StringList;
use crate::loader;
use mcpsim_core::profile::StepSource;
use mcpsim_core::rank::{
    Call, CallSite, Called, Describe, FailureKind, Fiber, FiberHandle, Message, Program, ProgramError, Rank, Reply,
    Served, Simulator,
};
use mcpsim_core::units::SimSpan;

/// Number of the program's code outside of functions among the calls of a rank.
const OWN_CODE: u64 = u64::MAX;

/// A rank that runs a compiled program. `I` provides the MPI functions.
pub struct RealProgram<I: Interface> {
    /// Fiber that runs the rank's code. The fiber is `None` before the start of the rank and after a normal end.
    fiber: Option<Fiber>,
    /// Engine call that follows the local execution block that the simulation engine received last.
    held: Option<Call>,
    /// Collective that the rank enters with the engine call in `held`, for a recording of MPI calls.
    called: Option<Called>,
    begun: bool,
    /// True if the rank has ended normally. A crash, or the end of the run by another rank, is not a normal end.
    finished: bool,
    // The field `process` is last, because the fiber's code uses `process` and fields are dropped in order.
    process: Box<I>,
}

// SAFETY: the simulation engine runs a rank on one host thread at a time, and ranks share only the job, which is
// `Sync`.
unsafe impl<I: Interface> Send for RealProgram<I> {}

impl<I: Interface> RealProgram<I> {
    /// Creates the rank `rank` of `job` without starting the rank.
    pub fn new(job: Arc<Job>, rank: Rank) -> Self {
        RealProgram {
            fiber: None,
            held: None,
            called: None,
            begun: false,
            finished: false,
            process: Box::new(I::new(Process::new(job, rank))),
        }
    }

    fn begin(&mut self) -> Result<(), Call> {
        self.begun = true;
        job::set_latest(&self.process.job);
        let process: *const I = &*self.process;
        let stack = self.process.job.options.stack_size;
        let fiber = Fiber::new(stack, move |handle| {
            // SAFETY: `process` is dropped after the fiber, because the field `process` is the last field.
            let process = unsafe { &*process };
            handle.begin(|reply| process.clock.set(reply.clock));
            // SAFETY: the fiber handle lives as long as the code of the fiber, and only the fiber's code uses the
            // handle.
            process.set_handle(unsafe {
                std::mem::transmute::<*const FiberHandle<'_>, *const FiberHandle<'static>>(handle)
            });
            main(process)
        });
        match fiber {
            Ok(fiber) => {
                self.process.ground.replace(Some(CrashContext::of(&fiber)));
                self.fiber = Some(fiber);
            }
            Err(error) => {
                let what = format!("no room for a stack of {stack} bytes: {error}");
                return Err(fail(FailureKind::NoRoom, "the start of the rank", what));
            }
        }
        Ok(())
    }
}

fn fail(kind: FailureKind, place: &str, what: String) -> Call {
    Call::Fail(Box::new(ProgramError { kind, place: place.to_owned(), what }))
}

impl<I: Interface> Drop for RealProgram<I> {
    /// Prints the remaining output of the rank, even if the rank has failed.
    fn drop(&mut self) {
        clib::close_streams(&self.process);
        // Threads that the rank created may still run code of the program and access the rank's stack.
        if self.process.runtime.is_some() && !self.finished || clib::threads_were_started() {
            std::mem::forget(self.process.instance.take());
            std::mem::forget(self.fiber.take());
        }
    }
}

impl<I: Interface> RealProgram<I> {
    /// Runs the rank's code with `resume` until the code sends a call to the simulation engine.
    #[inline(always)]
    fn run(&mut self, resume: impl FnOnce(&mut Fiber) -> Option<Call>) -> Option<Call> {
        if let Some(call) = self.held.take() {
            return Some(call);
        }
        if !self.begun
            && let Err(failure) = self.begin()
        {
            return Some(failure);
        }
        crash::ready();
        let fiber = self.fiber.as_mut().expect("a rank that has ended is asked for nothing");
        run_as(&*self.process);
        self.process.swap_runtime();
        let call = resume(fiber);
        self.process.swap_runtime();
        run_as_nobody();
        let call = call?;
        if let Call::Finish | Call::Fail(_) = call {
            self.finished = matches!(call, Call::Finish);
            if self.finished && self.process.ended() == ProgramMemory::Free {
                self.fiber = None;
            }
            self.process.ground.replace(None);
        }
        if let Call::Enter(_) = call {
            // The value of `called` must be taken before a strand of the rank enters another collective.
            self.called = self.process.called.take();
        }
        let charge = self.process.take_charge();
        if charge > SimSpan::ZERO {
            self.held = Some(call);
            return Some(self.process.charged_block(charge));
        }
        Some(call)
    }
}

impl<I: Interface> Program for RealProgram<I> {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        self.run(|fiber| Some(fiber.next(reply))).expect("without anybody to ask, calls are given")
    }

    fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        self.run(|fiber| fiber.next_asking(reply, simulator))
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        crash::serving(&self.process, || self.process.serve(message, answers));
    }
}

impl<I: Interface> Describe for RealProgram<I> {
    fn position(&self) -> Option<String> {
        self.process.position()
    }

    fn call_name(&self) -> Option<&'static str> {
        let name = self.process.function.get();
        (!name.is_empty()).then_some(name)
    }

    fn site(&self) -> CallSite {
        match (self.call_name(), self.process.counts.by_place.get()) {
            (None, _) => CallSite::Unknown,
            (Some(name), false) => CallSite::Function(name),
            (Some(name), true) => {
                self.process.call_place().map_or(CallSite::Function(name), |place| CallSite::Place(name, place))
            }
        }
    }

    fn site_name(&self, step: u32) -> String {
        self.process.job.call_place_name(step)
    }

    fn step_source(&self, step: u32) -> StepSource {
        let place = self.process.job.call_place_name(step);
        StepSource { operation: None, line: place.rsplit_once(" at ").map(|(_, line)| line.to_owned()) }
    }

    fn count_calls(&mut self, by_place: bool) {
        self.process.counts.is_wanted.set(true);
        self.process.counts.by_place.set(by_place);
        self.process.counts.has_paths.set(true);
    }

    fn entry(&self) -> Option<u64> {
        Some(self.process.current_call().number.unwrap_or(OWN_CODE))
    }

    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        self.process.counts.by_name()
    }

    fn is_profiled(&self) -> bool {
        self.process.current_call().is_profiled
    }

    fn record_collectives(&mut self) {
        self.process.tells_collectives.set(true);
    }

    fn called(&mut self) -> Option<Called> {
        self.called.take()
    }
}

/// Runs the code of a rank from start to end, and returns the rank's last call to the simulation engine.
fn main(p: &Process) -> Call {
    let data = |name: &str| clib::data(p, name);
    let image = p.program().image.as_ref().expect("a rank that runs as a fiber has loaded code");
    let instance = match image.instance(&data) {
        Ok(instance) => instance,
        Err(error) => {
            let kind = if error.is_for_room() { FailureKind::NoRoom } else { FailureKind::Error };
            return fail(kind, "the start of the rank", error.to_string());
        }
    };
    p.instance_id.set(Some(instance.id()));
    p.instance.replace(Some(instance));
    loader::set_main(p.instance_id.get());
    clib::open_streams(p);
    let arguments = arguments(p.program());
    clib::set_environment(p, launched::environment_list(&p.job, p.rank));
    if let Some(directory) = &p.program().directory
        && let Err(what) = clib::enter(p, directory)
    {
        return fail(FailureKind::Error, "the start of the rank", what);
    }
    let count = p.program().arguments.len() as c_int;
    let main = {
        let instance = p.instance.borrow();
        let instance = instance.as_ref().expect("just loaded");
        // SAFETY: the initialisers of the program run once and get the arguments that the C library would pass.
        outermost(|| unsafe { instance.initialise(count, arguments, clib::environment(p)) });
        // If the program does not export `main`, the symbol `mcpsim_main` is an alias of `main`.
        instance.symbol("main").or_else(|| instance.symbol("mcpsim_main"))
    };
    let Some(main) = main else {
        return fail(FailureKind::Error, "the start of the rank", "the program has no main function".to_owned());
    };
    p.start_timer();
    // SAFETY: `main` is the address of the program's `main` function. The arguments are valid lists that end with a
    // null pointer.
    let code = unsafe { outermost::main(count, arguments, clib::environment(p), main) };
    end(p, code)
}

/// Completes a rank that has returned from `main` or called `exit`, and returns the rank's last call to the
/// simulation engine.
pub fn end(p: &Process, code: c_int) -> Call {
    if let Some(instance) = &*p.instance.borrow() {
        // SAFETY: the finalisers of the program run once, after the initialisers, when the rank ends.
        outermost(|| unsafe { instance.finalise(code) });
    }
    leave(p, code)
}

/// Ends a rank without running the program's exit handlers.
pub fn leave(p: &Process, code: c_int) -> Call {
    clib::flush(p);
    if p.counts.has_paths.get() {
        p.job.add_paths(p.tree.take(p, p.reached()));
    }
    if let Some(kept) = &p.runtime
        && !kept.end_threads()
    {
        std::mem::forget(p.instance.take());
    }
    if p.in_vain.get() > SimSpan::ZERO {
        p.job.idled_in_vain(p.rank, p.in_vain.get());
    }
    p.job.add_kernels(p.counts.kernels.borrow().by_name());
    let code = code & 0xff;
    if code != 0 && p.stage.get() == RankStage::Initialised {
        let place = p.position().map_or(String::new(), |place| format!("after {place}"));
        return fail(FailureKind::Exited { code }, &place, "without MPI_Finalize".to_owned());
    }
    p.job.ended(p.rank, code, p.stage.get() != RankStage::Initialised);
    Call::Finish
}

/// Returns the value of `argv`.
fn arguments(program: &JobProgram) -> *mut *mut c_char {
    let mut list = StringList::with_capacity(program.arguments.len(), 0);
    program.arguments.iter().for_each(|argument| list.push(argument.to_bytes()));
    list.into_list()
}
