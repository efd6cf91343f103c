//! Resources that transfers, copies and computing blocks hold for some time. This module does not use ranks or
//! messages.
//!
//! A resource has one of three disciplines:
//!
//! | discipline | module | time at which the end of a use is known |
//! |---|---|---|
//! | once: the load is judged at the start of the use | `once` | start of the use |
//! | first in, first out | `fifo` | arrival of the use |
//! | max-min: uses share over time | `shares`, `flows`, `code_clock` | when the use is the next to end |
//!
//! `shares` has the resources of one owner and finds all rates at each event, by progressive filling: the rates of all
//! uses rise together. `flows` has resources of several workers, which know each other's levels only between windows.
//! It finds the levels at slots, one resource at a time (`flows::filling`), in supersteps until the levels settle. Both
//! find the same max-min rates; a test of `shares` compares them. `code_clock` has one resource whose speed depends on
//! the number of uses.

pub(super) mod code_clock;
pub(super) mod fifo;
pub(super) mod flows;
pub(super) mod once;
pub(super) mod shares;
