//! Facts about a program for reports, profiles and recordings of traces.
//!
//! The functions of this module do not advance the program and do not depend on the engine.

use std::any::Any;

use crate::profile::{StepSource, TaskLog, TimerSums, Unwaited};
use crate::units::Bytes;

use super::matcher::Envelope;

/// Description of the code of a rank, for reports, profiles and recordings of traces. A program without certain
/// information uses the default of the function.
pub trait Describe {
    /// Name of the present call in reports, such as "MPI_Recv". If the name is `None`, reports use the name of the
    /// engine's call.
    fn call_name(&self) -> Option<&'static str> {
        None
    }

    /// Position of the program in errors, such as "exchange\[2\] of app.toml:20 in main\[0\].do\[1\] of app.toml:12".
    fn position(&self) -> Option<String> {
        None
    }

    /// Source position of the present call, by which reports separate the times of calls. The function must be fast,
    /// because the engine calls it at every call of the program.
    fn site(&self) -> CallSite {
        self.call_name().map_or(CallSite::Unknown, CallSite::Function)
    }

    /// Returns true if the statement or source position with index `step` belongs to this program. Programs of several
    /// jobs have different indexes.
    fn knows_step(&self, step: u32) -> bool {
        let _ = step;
        true
    }

    /// Path of the statement with index `step` of the program, such as "main\[0\].do\[1\]".
    fn step_name(&self, step: u32) -> String {
        step.to_string()
    }

    /// Path of the statement with index `step`, with file name and line if known, such as "main\[0\].do\[1\] at
    /// app.toml:12". For a [`CallSite::Place`], the source position with this index, such as "main at ring.c:42".
    fn site_name(&self, step: u32) -> String {
        self.step_name(step)
    }

    /// Operation of the statement with index `step` of the program, and the source line of the statement if known.
    fn step_source(&self, step: u32) -> StepSource {
        let _ = step;
        StepSource::default()
    }

    /// Announces that the program's calls will be counted. If `by_place` is set, the program reports each known source
    /// position as [`CallSite::Place`].
    fn count_calls(&mut self, by_place: bool) {
        let _ = by_place;
    }

    /// Index of the present call, for programs that count their calls. One call of the program may need several calls
    /// of the engine, or no call of the engine.
    fn entry(&self) -> Option<u64> {
        None
    }

    /// Number of calls of each function that the program counts itself.
    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Whether the program requests profiling (MPI_Pcontrol).
    fn is_profiled(&self) -> bool {
        true
    }

    /// Whether this strand is a thread of the rank. A thread's time counts as computing of the rank and not as part of
    /// a collective.
    fn is_thread(&self) -> bool {
        false
    }

    /// Number of the thread that this strand is, from 1, if reports name the thread. The main thread has none.
    fn thread(&self) -> Option<u32> {
        None
    }

    /// Returns the log of the executed computation fragments, if any. The engine calls this function once, after the
    /// end of the program.
    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        None
    }

    /// Adds the timers of this rank to `sums`. The engine calls this function once, after the end of the program.
    fn sum_timers(&self, sums: &mut TimerSums) {
        let _ = sums;
    }

    /// Adds the requests for which the program has not waited to `sums`, with the statements that started them, if
    /// known. The engine calls this function once, after the end of the program.
    fn sum_unwaited(&self, sums: &mut Unwaited) {
        let _ = sums;
    }

    /// Statement of the program that sends messages with the context and tag of `sent` and this size, if only one
    /// statement sends such messages: "isend at ring.toml:7". All ranks have the same program.
    fn sender(&self, sent: &Envelope, size: Bytes) -> Option<String> {
        let _ = (sent, size);
        None
    }

    /// Announces that collectives of the program will be recorded. The program must then keep the data for
    /// [`Describe::called`].
    fn record_collectives(&mut self) {}

    /// Description of the collective that the program has just entered ([`super::Call::Enter`] with a method). The
    /// description suffices to execute the collective again as a call. It is `None` if only the messages of the
    /// collective can be repeated. The recorder calls this function before the program's next call.
    fn called(&mut self) -> Option<Called> {
        None
    }
}

/// Description of a collective. The module that executes the collective defines its type, which the recorder of traces
/// knows.
pub type Called = Box<dyn Any + Send>;

/// Source position of a call in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallSite {
    /// The source position of the call is unknown.
    Unknown,
    /// A statement of a described program, by its index; see [`Describe::step_name`].
    Step(u32),
    /// A call of the function with this name.
    Function(&'static str),
    /// A call of the function with this name at the source position with this index; see [`Describe::site_name`].
    Place(&'static str, u32),
}
