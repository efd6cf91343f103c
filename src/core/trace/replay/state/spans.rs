//! Virtual times of computing in a replay.

use super::{Step, TaskPosition, take_at};
use crate::rank::Call;
use crate::trace::Trace;
use crate::units::SimSpan;

impl TaskPosition {
    /// Engine call for a block of computing. If the recording measured real code, the engine call is [`Call::Code`].
    #[inline]
    pub(super) fn computing(&mut self, trace: &Trace, span: SimSpan) -> Call {
        self.is_block = self.collective.is_none();
        let is_program = self.depth == 0 || self.thread > 0;
        let is_code = self.is_block && is_program && !trace.header().factors.is_empty() && span > SimSpan::ZERO;
        let span = self.scaled(span);
        if is_code { Call::Code(span) } else { Call::Compute(span) }
    }

    /// Virtual time that a recorded block of computing takes on the simulated machine.
    #[inline]
    pub(super) fn scaled(&self, span: SimSpan) -> SimSpan {
        if self.factor == 1.0 || self.collective.is_some() {
            return span;
        }
        SimSpan::from_ps((span.as_ps() as f64 * self.factor).round() as u64)
    }

    #[inline]
    pub(super) fn listed_span(&mut self, trace: &Trace) -> Step<SimSpan> {
        let value = take_at(&trace.bytes, &mut self.spans).ok_or("its lengths of computing end too soon")?;
        Ok(if value & 1 == 0 { SimSpan::from_ns(value >> 1) } else { SimSpan::from_ps(value >> 1) })
    }
}
