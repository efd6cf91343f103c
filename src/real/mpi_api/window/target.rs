//! Code of windows at the target rank. A target serves operations of origins on its exposed memory and manages its
//! window lock.
//!
//! The simulator serves messages of origins one by one while the target's program is suspended. Accumulate operations
//! are therefore atomic.
#![allow(unsafe_code)]

use std::collections::VecDeque;

use super::conflicts::{OpenAccess, OpenAccesses};
use super::wire::{self, CallOrigin, TargetOperation, TargetRange, WindowRequest};
use super::{Window, epoch};
use crate::mpi_api::error::MpiError;
use crate::mpi_api::process::MpiProcess;
use crate::process::{RemoteAccess, bytes};
use mcpsim_core::engine::{Mistake, MistakeKind};
use mcpsim_core::mpi::abi;
use mcpsim_core::rank::{Message, Rank, SendMode, Served, Tag};

/// State of a rank as the target of operations on a window.
#[derive(Debug, Default)]
pub struct Exposed {
    locks: Locks,
    /// Origins and errors of failed operations. The target has not reported the errors to the origins yet.
    errors: Vec<(Rank, MpiError)>,
    /// Number of origins of the exposure epoch (MPI_Win_post) that have not called MPI_Win_complete. The number of
    /// origins is negative if origins complete before the target calls MPI_Win_post.
    pub awaited: i64,
    /// Accesses to the target's window memory that are compared with later accesses (`--check`).
    accesses: OpenAccesses,
    /// Memory attached to a dynamic window: start address and size in bytes of each region.
    pub regions: Vec<(usize, usize)>,
}

/// Ranks that hold the target's window lock, and ranks that wait for the lock in order of arrival.
#[derive(Debug, Default)]
struct Locks {
    exclusive: bool,
    shared: u32,
    waiting: VecDeque<(Rank, Tag, bool)>,
}

impl Locks {
    fn is_free_for(&self, exclusive: bool) -> bool {
        !self.exclusive && (!exclusive || self.shared == 0)
    }

    fn ask(&mut self, from: Rank, tag: Tag, exclusive: bool, granted: impl FnMut(Rank, Tag)) {
        self.waiting.push_back((from, tag, exclusive));
        self.grant(granted);
    }

    fn release(&mut self, granted: impl FnMut(Rank, Tag)) {
        if self.exclusive {
            self.exclusive = false;
        } else {
            self.shared = self.shared.saturating_sub(1);
        }
        self.grant(granted);
    }

    fn grant(&mut self, mut granted: impl FnMut(Rank, Tag)) {
        while let Some(&(to, tag, exclusive)) = self.waiting.front()
            && self.is_free_for(exclusive)
        {
            self.waiting.pop_front();
            self.exclusive = exclusive;
            self.shared += u32::from(!exclusive);
            granted(to, tag);
        }
    }
}

impl Exposed {
    /// Removes and returns the first unreported error of an operation of the rank `from`. If `from` is `None`, the
    /// function considers errors of all origins.
    pub fn take_error(&mut self, from: Option<Rank>) -> Option<MpiError> {
        let mut first = None;
        self.errors.retain(|(origin, error)| {
            let taken = from.is_none_or(|from| from == *origin);
            if taken && first.is_none() {
                first = Some(error.clone());
            }
            !taken
        });
        first
    }
}

/// Serves a message of an origin at the target rank `p`, and adds replies to `answers`.
pub fn serve(p: &MpiProcess, message: Served, answers: &mut Vec<Message>) {
    let Served { from, tag, payload, .. } = message;
    let Some(payload) = payload else { return };
    let (asked, origin) = match p.job.options.checks.calls {
        true => wire::split_origin(&payload).map_or((&[][..], None), |(asked, origin)| (asked, Some(origin))),
        false => (&payload[..], None),
    };
    let Some(asked) = wire::read(asked) else { return };
    // If no window has the identifier in the message, the window was already freed, and no rank waits for an answer.
    let window = p.windows.borrow().numbers.get(&asked.window).cloned();
    if let Some(window) = window {
        Service { p, window: &window, from, tag, origin, answers }.carry_out(asked);
    }
}

struct Service<'a> {
    p: &'a MpiProcess,
    window: &'a Window,
    from: Rank,
    tag: Tag,
    /// Origin of the MPI call, if accesses are compared.
    origin: Option<CallOrigin>,
    answers: &'a mut Vec<Message>,
}

impl Service<'_> {
    fn answer(&mut self, to: Rank, tag: Tag, data: Vec<u8>) {
        let size = bytes(data.len());
        let payload = self.p.payload(data);
        let context = self.window.context();
        self.answers.push(Message {
            to,
            context,
            tag,
            size,
            mode: SendMode::Buffered,
            payload,
            buffer: Default::default(),
        });
    }

    fn carry_out(&mut self, asked: WindowRequest<'_>) {
        let (from, tag) = (self.from, self.tag);
        let mut granted = Vec::new();
        match asked.action {
            TargetOperation::LockShared | TargetOperation::LockExclusive => {
                let exclusive = asked.action == TargetOperation::LockExclusive;
                let mut exposed = self.window.exposed.borrow_mut();
                exposed.locks.ask(from, tag, exclusive, |to, tag| granted.push((to, tag)));
            }
            TargetOperation::Unlock | TargetOperation::Flush => {
                let mut exposed = self.window.exposed.borrow_mut();
                let error = exposed.take_error(Some(from));
                exposed.accesses.complete(from);
                if asked.action == TargetOperation::Unlock {
                    exposed.locks.release(|to, tag| granted.push((to, tag)));
                }
                drop(exposed);
                self.answer(from, tag, error.map_or(Vec::new(), |error| wire::put_error(&error)));
            }
            TargetOperation::Complete => {
                let mut exposed = self.window.exposed.borrow_mut();
                exposed.awaited -= 1;
                exposed.accesses.complete(from);
                if exposed.awaited == 0 {
                    granted.push((self.p.rank, epoch::COMPLETED));
                }
            }
            _ => self.operate(&asked),
        }
        for (to, tag) in granted {
            self.answer(to, tag, Vec::new());
        }
    }

    /// Reports the operation if the operation conflicts with an earlier operation. The operation's displacement is
    /// `start` bytes from the base of the target's window memory.
    #[cold]
    fn compare(&self, origin: CallOrigin, action: TargetOperation, range: &TargetRange, start: i64) {
        let (call, place) = Mistake::call_and_place(&origin.position);
        let access = OpenAccess::new(self.from, action, origin, range, start);
        let Some((bytes, other, earlier)) = self.window.exposed.borrow_mut().accesses.add(access) else { return };
        let (function, earlier) = Mistake::call_and_place(&earlier);
        let text = format!(
            "bytes {} to {} of {} at rank {}, which {function} of rank {other}{} reaches in the same epoch",
            bytes.start,
            bytes.end - 1,
            self.window.describe(),
            self.window.comm.rank(),
            earlier.map_or(String::new(), |place| format!(" at {place}"))
        );
        self.p.job.add_mistake(Mistake { rank: self.from, kind: MistakeKind::AccessConflict, call, place, text });
    }

    /// Executes an operation on the target's window memory.
    fn operate(&mut self, asked: &WindowRequest<'_>) {
        let span = asked.span.as_ref().expect("an operation has a place");
        let (action, data) = (asked.action, asked.data);
        let base = match self.window.locate(span) {
            Ok(base) => base,
            Err(error) => {
                if action.is_silent() || asked.told {
                    self.window.exposed.borrow_mut().errors.push((self.from, error));
                }
                if !action.is_silent() {
                    // An empty answer informs the origin that the operation failed.
                    self.answer(self.from, self.tag, Vec::new());
                }
                return;
            }
        };
        if let Some(origin) = self.origin.take() {
            self.compare(origin, action, span, (base as i64).wrapping_sub(self.window.base as i64));
        }
        let (from, memory) = (self.from, self.window.given);
        self.p.remote.set(Some(RemoteAccess { from, function: action.function(), memory }));
        let TargetRange { count, datatype, .. } = span;
        if !action.is_silent() {
            let mut before = Vec::with_capacity(datatype.packed_size(*count));
            // SAFETY: `locate` checked that the byte range is within the window memory.
            unsafe { datatype.pack(base, *count, &mut before) };
            if action == TargetOperation::CompareSwap {
                let (compared, new) = data.split_at(data.len() / 2);
                if compared == &before[..] {
                    // SAFETY: `locate` checked that the byte range is within the window memory.
                    unsafe { datatype.unpack(base, *count, new) };
                }
            }
            self.answer(self.from, self.tag, before);
        }
        // SAFETY: `locate` checked that the byte range is within the window memory, and the origin checked that the
        // operator accepts the datatype.
        unsafe {
            match (action, asked.op) {
                (TargetOperation::Put, _) => _ = datatype.unpack(base, *count, data),
                (_, Some(op)) => _ = op.accumulate(datatype, base, *count, data),
                _ => {}
            }
        }
    }
}

impl Exposed {
    /// Returns true if all bytes of the range are in memory attached to the window. The bytes of the range may be in
    /// several attached regions.
    fn holds_all(&self, span: &TargetRange) -> bool {
        let (first, end) = span.datatype.span(span.count);
        let at = |offset: i64| span.displacement.wrapping_add(offset);
        if self.holds(at(first), at(end)) {
            return true;
        }
        let mut all = true;
        span.datatype.for_each_run(span.count, |kind, first, count| {
            let end = first as i64 + ((count - 1) * kind.extent() + kind.size()) as i64;
            all &= self.holds(at(first as i64), at(end));
        });
        all
    }

    /// Returns true if all addresses from `from` to `to` are in memory attached to the window. The addresses may be
    /// in several adjacent regions.
    fn holds(&self, from: i64, to: i64) -> bool {
        let mut reached = from;
        while reached < to {
            let holds = |&&(start, size): &&(usize, usize)| (start as i64..(start + size) as i64).contains(&reached);
            let Some((start, size)) = self.regions.iter().find(holds) else { return false };
            reached = (start + size) as i64;
        }
        true
    }
}

impl Window {
    /// Checks that a byte range is within the rank's window memory, and returns the address of the range.
    fn locate(&self, span: &TargetRange) -> Result<*mut u8, MpiError> {
        let (first, end) = span.datatype.span(span.count);
        let outside = |found: String| {
            let what = format!(
                "displacement {} at rank {} of {}: {found}",
                span.displacement,
                self.comm.rank(),
                self.describe()
            );
            MpiError::new(abi::MPI_ERR_RMA_RANGE, what)
        };
        if first == end {
            return Ok(self.base);
        }
        if self.flavor == abi::MPI_WIN_FLAVOR_DYNAMIC {
            let (from, to) = (span.displacement.wrapping_add(first), span.displacement.wrapping_add(end));
            return match self.exposed.borrow().holds_all(span) {
                true => Ok(span.displacement as *mut u8),
                false => Err(outside(format!("the addresses {from:#x} to {to:#x} are not attached"))),
            };
        }
        let shape = super::WindowSize { size: self.size, unit: self.unit };
        match shape.place(span.displacement, (first, end)) {
            Ok(at) => Ok(self.base.wrapping_offset(at)),
            Err(found) => Err(outside(found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_granted_in_turn() {
        let mut locks = Locks::default();
        let log = std::cell::RefCell::new(Vec::new());
        let note = |to: Rank, _: Tag| log.borrow_mut().push(to);
        locks.ask(1, 0, false, note);
        locks.ask(2, 0, false, note);
        locks.ask(3, 0, true, note);
        // A request for a shared window lock waits behind an earlier request for an exclusive lock.
        locks.ask(4, 0, false, note);
        locks.ask(5, 0, false, note);
        assert_eq!(*log.borrow(), [1, 2]);
        locks.release(note);
        assert_eq!(*log.borrow(), [1, 2]);
        locks.release(note);
        assert_eq!(*log.borrow(), [1, 2, 3]);
        locks.release(note);
        assert_eq!(*log.borrow(), [1, 2, 3, 4, 5]);
        locks.ask(6, 0, true, note);
        locks.release(note);
        locks.release(note);
        assert_eq!(*log.borrow(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_origin_hears_of_its_own_errors_once() {
        let error = |what: &str| MpiError::new(abi::MPI_ERR_RMA_RANGE, what);
        let errors = vec![(1, error("a")), (2, error("b")), (1, error("c"))];
        let mut exposed = Exposed { errors, ..Exposed::default() };
        assert_eq!(exposed.take_error(Some(1)), Some(error("a")));
        assert_eq!(exposed.take_error(Some(1)), None);
        assert_eq!(exposed.take_error(None), Some(error("b")));
    }
}
