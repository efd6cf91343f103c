//! Tasks of a rank: the main program and threads with clocks of their own, which share the cores of the rank.

use super::polling::Polls;
use super::rank::Process;
use mcpsim_core::rank::{Call, FiberHandle, Requests, Which};
use mcpsim_core::units::{SimSpan, SimTime};

/// Values of a rank's state that belong to the task that runs.
#[derive(Debug)]
pub struct TaskContext {
    handle: *const FiberHandle<'static>,
    function: &'static str,
    here: [usize; 3],
    came_with: [usize; 5],
    polls: Polls,
    own_stack: (usize, usize),
}

impl Default for TaskContext {
    fn default() -> Self {
        TaskContext {
            handle: std::ptr::null(),
            function: "",
            here: [0; 3],
            came_with: [0; 5],
            polls: Polls::default(),
            own_stack: (0, 0),
        }
    }
}

impl Process {
    /// Exchanges the state of the task that has run and that of the task that runs now.
    pub fn exchange_context(&self, other: &mut TaskContext) {
        other.handle = self.handle.replace(other.handle);
        other.function = self.function.replace(other.function);
        other.here = self.here.replace(other.here);
        other.came_with = self.came_with.replace(other.came_with);
        other.polls = self.polls.replace(other.polls);
        other.own_stack = self.own_stack.replace(other.own_stack);
    }

    /// Notes that the rank may have more threads than `cores`, the number of its cores.
    pub fn crowd(&self, cores: u32) {
        self.cores.borrow_mut().resize(cores as usize, SimTime::ZERO);
        self.timer.crowd();
    }

    /// Waits until a core of the rank is free for a block with the cost `charge`. Each block of a thread runs on the
    /// core that is free first, in the order of the starts of blocks.
    #[cold]
    pub(super) fn wait_for_core(&self, handle: &FiberHandle<'static>, charge: SimSpan) {
        let call = Call::Test { requests: Requests::new(), which: Which::Some, poll: false };
        let clock = handle.call(call, |reply| reply.clock);
        let start = {
            let mut cores = self.cores.borrow_mut();
            let free = cores.iter_mut().min().expect("a rank has a core");
            let start = clock.max(*free);
            *free = start + charge;
            start
        };
        if start > clock {
            handle.call(Call::Compute(start.since(clock)), |_| ());
        }
    }
}
