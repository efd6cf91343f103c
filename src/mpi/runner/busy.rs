//! Local work of a collective: copying and combining of data.

use crate::CommMember;
use crate::cost::DataRates;
use mcpsim_base::rank::{Call, DataBlock};
use mcpsim_base::units::{Bytes, SimSpan};

/// Virtual time that a rank spends on copying and combining data, and the number of bytes moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busy {
    pub(super) span: SimSpan,
    size: Bytes,
    combines: bool,
}

impl Busy {
    /// Creates local work that takes `span` of virtual time and moves a negligible number of bytes.
    pub(super) fn new(span: SimSpan) -> Busy {
        Busy { span, ..Busy::default() }
    }

    #[inline]
    pub(super) fn combine(cost: DataRates, size: Bytes) -> Busy {
        Busy { span: cost.combine(size), size, combines: true }
    }

    /// Adds the time and the bytes of copying `size` bytes to the local work.
    pub(super) fn copy(&mut self, cost: DataRates, size: Bytes) {
        self.span += cost.copy(size);
        self.size = Bytes::new(self.size.get().saturating_add(size.get()));
    }

    /// Engine call that executes the work; `None` if the work takes no time.
    #[inline]
    pub(super) fn call(self, comm: &CommMember) -> Option<Call> {
        let Busy { span, size, combines } = self;
        (span > SimSpan::ZERO).then(|| Call::Data(DataBlock { span, size, context: comm.collective(), combines }))
    }
}
