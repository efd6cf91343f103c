//! [`Program`] implementation of [`RunAhead`] for the engine.

use super::*;

/// Placeholder program that replaces the program of a strand.
pub(super) struct Nobody;

impl Program for Nobody {
    fn next(&mut self, _: Reply<'_>) -> Call {
        unreachable!("a program that has been replaced")
    }
}

impl Describe for Nobody {}

impl RunAhead {
    /// Takes the engine's reply and returns the next call for the engine; `None` if the program waits for the reply to
    /// a call that it made through `simulator`.
    fn turn(&mut self, reply: &mut Reply<'_>, simulator: Option<&mut dyn Simulator>) -> Option<Call> {
        self.clock = reply.clock;
        match std::mem::replace(&mut self.asked, ReplyUse::Nothing) {
            ReplyUse::Reply => {
                if self.answer(reply, simulator) {
                    return None;
                }
            }
            ReplyUse::Start(id) => {
                let ReplyKind::Started(engine) = reply.kind else { unreachable!("a start is answered by its name") };
                self.names[id as usize] = engine;
            }
            ReplyUse::Nothing => {
                if let ReplyKind::Completed(completions) = &mut reply.kind {
                    // The engine may have executed all queued calls.
                    if self.queue.is_empty() {
                        self.run();
                    }
                    self.check(completions);
                }
            }
        }
        if self.queue.is_empty() {
            self.run();
        } else if self.queue.len() == MOST_QUEUED / 2 {
            self.doorbell.ring(self.rank);
        }
        Some(self.give())
    }
}

impl Program for RunAhead {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        let mut reply = reply;
        self.turn(&mut reply, None).expect("without a simulator each turn ends with a call")
    }

    fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        self.turn(reply, Some(simulator))
    }

    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        self.doorbell = doorbell.clone();
        self.mailboxes.attach(self.rank, doorbell);
    }

    fn run_ahead(&mut self) {
        if !matches!(self.state, AheadState::Begin) {
            self.run();
        }
    }

    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        self.program.serve(message, answers);
    }
}

impl Describe for RunAhead {
    // Reports refer to the call that the engine executes. The program is inside that call only if no later call is
    // queued.

    fn call_name(&self) -> Option<&'static str> {
        match self.site {
            CallSite::Function(name) | CallSite::Place(name, _) => Some(name),
            CallSite::Unknown | CallSite::Step(_) => self.is_in_step().then(|| self.program.call_name()).flatten(),
        }
    }

    fn position(&self) -> Option<String> {
        match self.site {
            _ if self.is_in_step() => self.program.position(),
            CallSite::Step(step) => Some(self.program.step_source(step).place(&self.program.step_name(step))),
            CallSite::Function(_) | CallSite::Place(..) | CallSite::Unknown => None,
        }
    }

    fn site(&self) -> CallSite {
        self.site
    }

    fn step_name(&self, step: u32) -> String {
        self.program.step_name(step)
    }

    fn site_name(&self, step: u32) -> String {
        self.program.site_name(step)
    }

    fn step_source(&self, step: u32) -> StepSource {
        self.program.step_source(step)
    }

    fn record_collectives(&mut self) {
        self.program.record_collectives();
    }

    fn called(&mut self) -> Option<Called> {
        self.called.take()
    }
}
