//! What wrappers around a program hand on to it: in which call it is and where, and its timers, for reports.

/// Functions of [`crate::rank::Program`] that ask the program within in which call it is, and where, and for
/// its timers.
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
    };
}

pub(crate) use forward_reports;
