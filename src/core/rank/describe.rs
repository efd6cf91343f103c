//! Facts about a program for reports, profiles and recordings.
//!
//! No method makes a step, and none knows the engine.

use std::any::Any;

use crate::profile::{StepSource, TaskLog, TimerSums, Unwaited};
use crate::units::Bytes;

use super::matcher::Envelope;

/// Description of the code of a rank, for reports, profiles and recordings. Every method has a default for programs
/// without this information.
pub trait Describe {
    /// Name of the present call in reports, such as "MPI_Recv". If `None`, reports use the name of the engine's call.
    fn call_name(&self) -> Option<&'static str> {
        None
    }

    /// Position of the program in errors, such as "exchange\[2\] of app.toml:20 in main\[0\].do\[1\] of app.toml:12".
    fn position(&self) -> Option<String> {
        None
    }

    /// Source position of the present call, by which reports separate the times of calls. The function must be fast,
    /// because it is called at every call.
    fn site(&self) -> CallSite {
        self.call_name().map_or(CallSite::Unknown, CallSite::Function)
    }

    /// Path of step `step` of the program, such as "main\[0\].do\[1\]".
    fn step_name(&self, step: u32) -> String {
        step.to_string()
    }

    /// Path of step `step`, with file name and line if known, such as "main\[0\].do\[1\] at app.toml:12". For a
    /// [`CallSite::Place`], the source position with that number, such as "main at ring.c:42".
    fn site_name(&self, step: u32) -> String {
        self.step_name(step)
    }

    /// Operation of step `step` of the program, and its source line if known.
    fn step_source(&self, step: u32) -> StepSource {
        let _ = step;
        StepSource::default()
    }

    /// Announces that the calls of the program will be counted. If `by_place` is set, the program reports each
    /// position as [`CallSite::Place`] if it is known.
    fn count_calls(&mut self, by_place: bool) {
        let _ = by_place;
    }

    /// Number of the present call, for programs that count their calls. One call of the program may need several calls
    /// of the engine, or none.
    fn entry(&self) -> Option<u64> {
        None
    }

    /// For each function, number of calls that the program counts itself.
    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Whether the program requests profiling (MPI_Pcontrol).
    fn is_profiled(&self) -> bool {
        true
    }

    /// Whether this strand is a thread of the rank. The time of a thread is computing of the rank and not part of a
    /// collective.
    fn is_thread(&self) -> bool {
        false
    }

    /// Returns the log of the executed fragments, if any. Called once, after the end of the program.
    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        None
    }

    /// Adds the timers of this rank to `sums`. Called once, after the end of the program.
    fn sum_timers(&self, sums: &mut TimerSums) {
        let _ = sums;
    }

    /// Adds the requests without a wait to `sums`, with the statements that started them, if known. Called once, after
    /// the end of the program.
    fn sum_unwaited(&self, sums: &mut Unwaited) {
        let _ = sums;
    }

    /// Statement of the program that sends messages with the context and tag of `sent` and this size, if there is only
    /// one such statement: "isend at ring.toml:7". All ranks have the same program.
    fn sender(&self, sent: &Envelope, size: Bytes) -> Option<String> {
        let _ = (sent, size);
        None
    }

    /// Announces that collectives of the program will be recorded, so the program must keep the data for
    /// [`Describe::called`].
    fn record_collectives(&mut self) {}

    /// Description of the collective that the program has just entered ([`super::Call::Enter`] with a method). The
    /// description is sufficient to execute the collective again as a call. `None` if only its messages can be
    /// repeated. Called before the program's next call.
    fn called(&mut self) -> Option<Called> {
        None
    }
}

/// Description of a collective, which the module that executes the collective defines. The recorder knows the type.
pub type Called = Box<dyn Any + Send>;

/// Source position of a call in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallSite {
    /// The position is unknown.
    Unknown,
    /// A step of a described program; see [`Describe::step_name`].
    Step(u32),
    /// A call of the function with this name.
    Function(&'static str),
    /// A call of the function with this name at a place of the program's code with this number; see
    /// [`Describe::site_name`].
    Place(&'static str, u32),
}
