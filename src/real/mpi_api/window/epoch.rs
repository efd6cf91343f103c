//! Epochs of a window (MPI-3.1, section 11.5). The module tracks the open access and exposure epochs of a rank and
//! checks that each one-sided operation is permitted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;

use super::Window;
use super::wire::{self, TargetOperation};
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::Group;
use mcpsim_core::mpi::abi;
use mcpsim_core::rank::{COMPLETE, Call, Pattern, RequestId, Requests, SendMode, Source, Tag, TagPattern, Which};
use mcpsim_core::units::Bytes;

/// Tag of the message by which a target informs an origin that the target's window memory is exposed. The message
/// uses the same message context as answers to operations.
pub const POSTED: Tag = 0;
/// Tag of the message that a target sends to itself after the last origin has called MPI_Win_complete.
pub const COMPLETED: Tag = 1;
/// First message tag of answers to one-sided operations.
pub const FIRST_ANSWER: Tag = 2;

/// Access epoch of a rank on a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// No access epoch is open.
    #[default]
    Closed,
    /// All targets are accessible until the next MPI_Win_fence.
    Fence,
    /// The target ranks in the group are accessible (MPI_Win_start).
    Started(Group),
    /// The target ranks that are keys of the map are accessible (MPI_Win_lock). The flag of a target is true after
    /// the origin has requested the target's lock.
    Locked(BTreeMap<u32, bool>),
    /// All targets are accessible (MPI_Win_lock_all). The set contains the targets whose lock the origin has
    /// requested. The set is `None` if the accesses need no locks.
    AllLocked(Option<BTreeSet<u32>>),
}

impl Access {
    fn name(&self) -> &'static str {
        match self {
            Access::Closed => "no epoch",
            Access::Fence => "an epoch of MPI_Win_fence",
            Access::Started(_) => "an epoch of MPI_Win_start",
            Access::Locked(_) => "an epoch of MPI_Win_lock",
            Access::AllLocked(_) => "an epoch of MPI_Win_lock_all",
        }
    }
}

/// Checks that the argument `assert` contains only MPI assertions in `allowed`.
fn check_assert(assert: c_int, allowed: c_int) -> MpiResult {
    if assert & !allowed != 0 {
        let what =
            format!("assert {assert}: expected a combination of the function's MPI_MODE_ values, {allowed} in all");
        return Err(MpiError::new(abi::MPI_ERR_ASSERT, what));
    }
    Ok(())
}

impl Window {
    /// Creates an error of the class MPI_ERR_RMA_SYNC that states the actual and the expected epoch.
    fn out_of_order(&self, found: &str, expected: &str) -> MpiError {
        self.error(abi::MPI_ERR_RMA_SYNC, format!("{} is in {found}: expected {expected}", self.describe()))
    }

    fn from(&self, source: u32, tag: Tag) -> Pattern {
        let from = Source::Rank(self.comm.local.world(source));
        Pattern {
            from,
            context: self.context(),
            tag: TagPattern::Tag(tag),
            capacity: Bytes::MAX,
            buffer: Default::default(),
        }
    }

    /// Checks that a new access epoch may start. The start of an access epoch fails if another access epoch is open,
    /// except a fence epoch without operations.
    fn check_idle(&self) -> MpiResult {
        let origin = self.origin.borrow();
        match &origin.access {
            Access::Closed => Ok(()),
            Access::Fence if origin.is_quiet() => Ok(()),
            open => Err(self.out_of_order(open.name(), "the end of this epoch before another epoch begins")),
        }
    }

    /// Checks that no epoch is open on the window. A window with an open epoch cannot be freed.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the state of the window's epochs does not permit the call.
    pub fn check_closed(&self) -> MpiResult {
        self.check_idle()?;
        match self.origin.borrow().posted {
            None => Ok(()),
            Some(_) => Err(self.out_of_order("an epoch of MPI_Win_post", "MPI_Win_wait before")),
        }
    }

    /// Prepares a one-sided operation on the rank `target`. If the epoch requires a lock of the target that was not
    /// requested yet, `reach` requests the lock.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the epoch does not permit access to the target.
    pub fn reach(&self, p: &MpiProcess, target: u32) -> MpiResult {
        let ask = match &self.origin.borrow().access {
            Access::Fence => false,
            Access::Started(group) if group.member(self.comm.local.world(target)).is_some() => false,
            Access::Locked(targets) if targets.contains_key(&target) => false,
            Access::AllLocked(None) => false,
            Access::AllLocked(Some(asked)) => !asked.contains(&target),
            closed => {
                let expected = format!("an epoch in which rank {target} can be reached");
                return Err(self.out_of_order(closed.name(), &expected));
            }
        };
        if ask { self.lock_some(p, &[target]) } else { Ok(()) }
    }

    /// Requests shared locks of the ranks `targets` for MPI_Win_lock_all and waits for the locks.
    fn lock_some(&self, p: &MpiProcess, targets: &[u32]) -> MpiResult {
        let grants: Requests = targets.iter().map(|&target| self.ask(p, target, TargetOperation::LockShared)).collect();
        p.complete(grants);
        if let Access::AllLocked(Some(asked)) = &mut self.origin.borrow_mut().access {
            asked.extend(targets);
        }
        Ok(())
    }

    /// MPI_Win_fence: completes the operations of the calling rank at their targets, then synchronises all ranks of
    /// the window.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the state of the window's epochs does not permit the call, MPI_ERR_ASSERT if `assert` is
    /// invalid, and errors of the completed operations.
    pub fn fence(&self, p: &MpiProcess, assert: c_int) -> MpiResult {
        let modes = abi::MPI_MODE_NOSTORE | abi::MPI_MODE_NOPUT | abi::MPI_MODE_NOPRECEDE | abi::MPI_MODE_NOSUCCEED;
        check_assert(assert, modes)?;
        match &self.origin.borrow().access {
            Access::Closed | Access::Fence => {}
            open => return Err(self.out_of_order(open.name(), "the end of this epoch before a fence")),
        }
        let result = self.flush(p, None);
        self.barrier(p)?;
        let succeeds = assert & abi::MPI_MODE_NOSUCCEED == 0;
        let mut origin = self.origin.borrow_mut();
        origin.access = if succeeds { Access::Fence } else { Access::Closed };
        origin.fences = origin.fences.wrapping_add(1).max(1);
        result
    }

    /// MPI_Win_post: exposes the window memory of the calling rank to the ranks `origins`.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if an exposure epoch is open, MPI_ERR_ASSERT if `assert` is invalid, and MPI_ERR_GROUP for
    /// ranks outside the window's group.
    pub fn post(&self, p: &MpiProcess, origins: &Group, assert: c_int) -> MpiResult {
        check_assert(assert, abi::MPI_MODE_NOCHECK | abi::MPI_MODE_NOSTORE | abi::MPI_MODE_NOPUT)?;
        self.check_members(origins)?;
        if self.origin.borrow().posted.is_some() {
            return Err(self.out_of_order("an epoch of MPI_Win_post", "MPI_Win_wait before another"));
        }
        let awaited = {
            let mut exposed = self.exposed.borrow_mut();
            exposed.awaited += i64::from(origins.size());
            exposed.awaited
        };
        let all_done = match awaited {
            0 => COMPLETE,
            _ => p.call_start(Call::Irecv(self.from(self.comm.rank(), COMPLETED))),
        };
        self.origin.borrow_mut().posted = Some(all_done);
        if assert & abi::MPI_MODE_NOCHECK == 0 {
            for origin in origins.ranks() {
                let mode = SendMode::Buffered;
                let (context, tag, size) = (self.context(), POSTED, Bytes::ZERO);
                p.call_done(Call::Send(mcpsim_core::rank::Message {
                    to: origin,
                    context,
                    tag,
                    size,
                    mode,
                    payload: None,
                    buffer: Default::default(),
                }));
            }
        }
        Ok(())
    }

    fn check_members(&self, group: &Group) -> MpiResult {
        match group.ranks().find(|&rank| self.comm.local.group().member(rank).is_none()) {
            None => Ok(()),
            Some(stranger) => {
                let what = format!("the group has world rank {stranger}: expected ranks of {}", self.describe());
                Err(self.error(abi::MPI_ERR_GROUP, what))
            }
        }
    }

    /// MPI_Win_start: waits until the ranks `targets` have exposed their window memory to the calling rank.
    ///
    /// # Errors
    /// The same MPI errors as for [`Window::post`].
    pub fn start(&self, p: &MpiProcess, targets: Group, assert: c_int) -> MpiResult {
        check_assert(assert, abi::MPI_MODE_NOCHECK)?;
        self.check_members(&targets)?;
        self.check_idle()?;
        if assert & abi::MPI_MODE_NOCHECK == 0 {
            let member = |world| self.comm.local.group().member(world).expect("the group was checked");
            let posts = targets.ranks().map(|world| p.call_start(Call::Irecv(self.from(member(world), POSTED))));
            p.complete(posts.collect());
        }
        self.origin.borrow_mut().access = Access::Started(targets);
        Ok(())
    }

    /// MPI_Win_complete: ends the access epoch that [`Window::start`] started.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the state of the window's epochs does not permit the call, and errors of operations that
    /// return a result.
    pub fn finish(&self, p: &MpiProcess) -> MpiResult {
        let targets = match &self.origin.borrow().access {
            Access::Started(targets) => targets.clone(),
            other => return Err(self.out_of_order(other.name(), "an epoch of MPI_Win_start")),
        };
        let result = self.flush_local(p, None);
        for target in targets.ranks() {
            self.tell(p, target, 0, wire::header(self.number(), TargetOperation::Complete));
        }
        let mut origin = self.origin.borrow_mut();
        origin.access = Access::Closed;
        origin.unacknowledged.clear();
        result
    }

    fn posted(&self) -> MpiResult<RequestId> {
        self.origin.borrow().posted.ok_or_else(|| self.out_of_order("no epoch of MPI_Win_post", "one"))
    }

    /// MPI_Win_wait: waits until all origins have called MPI_Win_complete.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the state of the window's epochs does not permit the call, and errors of operations of the
    /// origins.
    pub fn wait(&self, p: &MpiProcess) -> MpiResult {
        let all_done = self.posted()?;
        if all_done != COMPLETE {
            p.complete(Requests::from_slice(&[all_done]));
        }
        self.unpost()
    }

    /// MPI_Win_test: returns true if all origins have called MPI_Win_complete.
    ///
    /// # Errors
    /// The same MPI errors as for [`Window::wait`].
    pub fn test(&self, p: &MpiProcess) -> MpiResult<bool> {
        let requests = Requests::from_slice(&[self.posted()?]);
        let polls = p.before_poll();
        let call = Call::Test { requests, which: Which::All, poll: true };
        let found = p.call_completed(call, |completions| !completions.is_empty());
        p.after_poll(polls, found);
        if found { self.unpost().map(|()| true) } else { Ok(false) }
    }

    fn unpost(&self) -> MpiResult {
        self.origin.borrow_mut().posted = None;
        let error = self.exposed.borrow_mut().take_error(None);
        error.map_or(Ok(()), |error| Err(error.on_win(self.handle)))
    }

    /// MPI_Win_lock: waits for the window lock of the rank `target`.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC, MPI_ERR_LOCKTYPE or MPI_ERR_ASSERT if the epoch, the lock type or the assertion is invalid.
    pub fn lock(&self, p: &MpiProcess, kind: c_int, target: Option<u32>, assert: c_int) -> MpiResult {
        let action = match kind {
            abi::MPI_LOCK_SHARED => TargetOperation::LockShared,
            abi::MPI_LOCK_EXCLUSIVE => TargetOperation::LockExclusive,
            _ => {
                let what = format!("lock type {kind}: expected MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED");
                return Err(self.error(abi::MPI_ERR_LOCKTYPE, what));
            }
        };
        check_assert(assert, abi::MPI_MODE_NOCHECK)?;
        let Some(target) = target else { return Ok(()) };
        let mut targets = match &self.origin.borrow().access {
            Access::Locked(targets) if targets.contains_key(&target) => {
                let found = format!("an epoch of MPI_Win_lock of rank {target}");
                return Err(self.out_of_order(&found, "MPI_Win_unlock before another"));
            }
            Access::Locked(targets) => Some(targets.clone()),
            _ => None,
        };
        if targets.is_none() {
            self.check_idle()?;
        }
        let asked = assert & abi::MPI_MODE_NOCHECK == 0;
        if asked {
            let grant = self.ask(p, target, action);
            p.complete(Requests::from_slice(&[grant]));
        }
        targets.get_or_insert_default().insert(target, asked);
        self.origin.borrow_mut().access = Access::Locked(targets.unwrap_or_default());
        Ok(())
    }

    /// MPI_Win_unlock: completes the operations on the rank `target` and releases the target's window lock.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the state of the window's epochs does not permit the call, and errors of the completed
    /// operations.
    pub fn unlock(&self, p: &MpiProcess, target: Option<u32>) -> MpiResult {
        let Some(target) = target else { return Ok(()) };
        let asked = match &self.origin.borrow().access {
            Access::Locked(targets) if targets.contains_key(&target) => targets[&target],
            other => {
                let expected = format!("an epoch of MPI_Win_lock of rank {target}");
                return Err(self.out_of_order(other.name(), &expected));
            }
        };
        let result = if asked { self.give_back(p, &[target]) } else { self.flush(p, Some(target)) };
        let mut origin = self.origin.borrow_mut();
        if let Access::Locked(targets) = &mut origin.access {
            targets.remove(&target);
            if targets.is_empty() {
                origin.access = Access::Closed;
            }
        }
        result
    }

    /// MPI_Win_lock_all: opens an access epoch for all targets. The first operation on a target requests the target's
    /// window lock. If the window is in shared memory, all locks are requested immediately, because the program can
    /// access shared memory without an MPI call.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the state of the window's epochs does not permit the call, and MPI_ERR_ASSERT if `assert` is
    /// invalid.
    pub fn lock_all(&self, p: &MpiProcess, assert: c_int) -> MpiResult {
        check_assert(assert, abi::MPI_MODE_NOCHECK)?;
        self.check_idle()?;
        let asks = assert & abi::MPI_MODE_NOCHECK == 0;
        self.origin.borrow_mut().access = Access::AllLocked(asks.then(BTreeSet::new));
        if !asks {
            return Ok(());
        }
        if self.shared.is_empty() {
            self.lock_some(p, &[self.comm.rank()])
        } else {
            self.lock_some(p, &Vec::from_iter(0..self.comm.size()))
        }
    }

    /// MPI_Win_unlock_all: completes all operations of the rank and releases all window locks.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if the state of the window's epochs does not permit the call, and errors of the completed
    /// operations.
    pub fn unlock_all(&self, p: &MpiProcess) -> MpiResult {
        let asked = match &self.origin.borrow().access {
            Access::AllLocked(asked) => asked.clone(),
            other => return Err(self.out_of_order(other.name(), "an epoch of MPI_Win_lock_all")),
        };
        let result = match asked {
            Some(asked) => self.give_back(p, &Vec::from_iter(asked)),
            None => self.flush(p, None),
        };
        self.origin.borrow_mut().access = Access::Closed;
        result
    }

    /// Checks that the open epoch permits a flush of operations on the rank `target`.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC if no epoch of MPI_Win_lock or MPI_Win_lock_all is open for the target.
    pub fn check_flush(&self, target: Option<u32>) -> MpiResult {
        match &self.origin.borrow().access {
            Access::AllLocked(_) => Ok(()),
            Access::Locked(targets) if target.is_none_or(|target| targets.contains_key(&target)) => Ok(()),
            other => Err(self.out_of_order(other.name(), "an epoch of MPI_Win_lock or MPI_Win_lock_all")),
        }
    }
}
