//! Macro with which a wrapper around a program forwards the functions that reports need.

use std::sync::Arc;

use super::ahead::Doorbell;
use super::ask::Simulator;
use super::call::{Call, Message, Program, Reply, Served};
use super::describe::{Called, Describe};
use crate::profile::TaskLog;

/// Forwards the functions of [`crate::rank::Describe`] that reports need: call name, position, timers, and requests
/// without a wait.
#[macro_export]
macro_rules! forward_reports {
    ($this:ident, $program:expr) => {
        fn call_name(&$this) -> Option<&'static str> {
            ($program).call_name()
        }

        fn position(&$this) -> Option<String> {
            ($program).position()
        }

        fn site(&$this) -> $crate::rank::CallSite {
            ($program).site()
        }

        fn knows_step(&$this, step: u32) -> bool {
            ($program).knows_step(step)
        }

        fn step_name(&$this, step: u32) -> String {
            ($program).step_name(step)
        }

        fn site_name(&$this, step: u32) -> String {
            ($program).site_name(step)
        }

        fn step_source(&$this, step: u32) -> $crate::profile::StepSource {
            ($program).step_source(step)
        }

        fn sum_timers(&$this, sums: &mut $crate::profile::TimerSums) {
            ($program).sum_timers(sums);
        }

        fn sum_unwaited(&$this, sums: &mut $crate::profile::Unwaited) {
            ($program).sum_unwaited(sums);
        }

        fn sender(&$this, sent: &$crate::rank::Envelope, size: $crate::units::Bytes) -> Option<String> {
            ($program).sender(sent, size)
        }
    };
}

impl Program for Box<dyn Program> {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        (**self).next(reply)
    }

    fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        (**self).next_asking(reply, simulator)
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        (**self).serve(message, answers);
    }

    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        (**self).attach(doorbell);
    }

    fn run_ahead(&mut self) {
        (**self).run_ahead();
    }
}

impl Describe for Box<dyn Program> {
    forward_reports!(self, **self);

    fn count_calls(&mut self, by_place: bool) {
        (**self).count_calls(by_place);
    }

    fn entry(&self) -> Option<u64> {
        (**self).entry()
    }

    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        (**self).calls_made()
    }

    fn is_profiled(&self) -> bool {
        (**self).is_profiled()
    }

    fn is_thread(&self) -> bool {
        (**self).is_thread()
    }

    fn thread(&self) -> Option<u32> {
        (**self).thread()
    }

    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        (**self).task_log()
    }

    fn record_collectives(&mut self) {
        (**self).record_collectives();
    }

    fn called(&mut self) -> Option<Called> {
        (**self).called()
    }
}
