//! Resources that transfers, copies and computing blocks hold for some time. This module knows no ranks and no messages.

pub(super) mod code_clock;
pub(super) mod fifo;
pub(super) mod flows;
pub(super) mod once;
pub(super) mod shares;
