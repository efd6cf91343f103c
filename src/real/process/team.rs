//! Threads of a rank that compute while one thread at a time calls MPI.
//!
//! Each thread has a position in virtual time, which its CPU time advances. A local execution block of the rank ends at
//! the last position of all threads, and not before the cores of the rank could have done the work of all threads. All
//! positions then move to the end of the block. A thread that waits for the end of another thread moves to the position
//! of this thread. CPU time that a thread uses while another thread is in an MPI function is concurrent with the function.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::job::ComputeMode;
use super::rank::Process;
use super::timer::{SHORT, cpu_time_of, wall};
use mcpsim_core::units::{SimSpan, SimTime};

/// Threads of the process's rank.
static TEAM: Mutex<RankTeam> = Mutex::new(RankTeam::new());

/// A thread of the rank.
#[derive(Clone, Copy, Debug)]
struct TeamThread {
    /// Number of the thread in the system.
    number: i32,
    /// Identifier of the thread in the program, or 0 if it is unknown.
    id: usize,
    /// Position of the thread when it had used the CPU time `cpu`, in ns.
    at: SimTime,
    cpu: u64,
    /// Time that the thread has computed since the last common position.
    busy: SimSpan,
    has_ended: bool,
}

impl TeamThread {
    /// Adds the CPU time that the thread has used since the last call of this function.
    fn advance(&mut self, p: &Process) {
        if !self.has_ended
            && let Some(cpu) = cpu_time_of(self.number)
        {
            self.add(p.job.scaled(p.rank, cpu.saturating_sub(self.cpu)));
            self.cpu = cpu;
        }
    }

    fn add(&mut self, span: SimSpan) {
        self.at += span;
        self.busy += span;
    }
}

#[derive(Debug)]
struct RankTeam {
    threads: Vec<TeamThread>,
    /// Number of the thread that calls MPI.
    caller: i32,
    /// Virtual time at the end of the last local execution block.
    known: SimTime,
    /// Last common position of all threads.
    common: SimTime,
    /// Time that the caller has computed since `common`, and part of its current block before `common`.
    own: SimSpan,
    before: SimSpan,
    /// Wall time of the host at the last common position, in ns.
    looked: u64,
    /// True if positions have changed in other ways than by CPU time.
    is_changed: bool,
}

/// End and length of a local execution block.
struct BlockEnd {
    end: SimTime,
    block: SimSpan,
}

impl RankTeam {
    const fn new() -> RankTeam {
        RankTeam {
            threads: Vec::new(),
            caller: 0,
            known: SimTime::ZERO,
            common: SimTime::ZERO,
            own: SimSpan::ZERO,
            before: SimSpan::ZERO,
            looked: 0,
            is_changed: false,
        }
    }

    fn find(&mut self, number: i32) -> Option<&mut TeamThread> {
        self.threads.iter_mut().find(|thread| thread.number == number && !thread.has_ended)
    }

    /// Returns the virtual time at which the current local execution block has started.
    fn start(&self, p: &Process) -> SimTime {
        p.clock.get().max(self.known)
    }

    /// Moves all threads to the end of a block in which the caller has computed for `own`.
    fn meet(&mut self, p: &Process, own: SimSpan) -> BlockEnd {
        let start = self.start(p);
        let measures = p.job.options.compute == ComputeMode::Measure;
        let cores = u64::from(p.job.options.cores_per_rank.max(1));
        let mut end = start + own;
        let mut busy = self.own + own - self.before;
        for thread in &mut self.threads {
            if thread.number == self.caller {
                continue;
            }
            if measures {
                thread.advance(p);
            }
            end = end.max(thread.at);
            busy += thread.busy;
        }
        end = end.max(self.common + SimSpan::from_ps(busy.as_ps() / cores));
        self.threads.retain(|thread| !thread.has_ended);
        for thread in &mut self.threads {
            (thread.at, thread.busy) = (end, SimSpan::ZERO);
        }
        (self.common, self.own, self.is_changed) = (end, SimSpan::ZERO, false);
        self.looked = wall();
        BlockEnd { end, block: end.since(start) }
    }
}

fn team() -> MutexGuard<'static, RankTeam> {
    TEAM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time of the local execution block that ends now, in which the caller of MPI has computed for `own`.
#[cold]
pub fn settle(p: &Process, own: SimSpan) -> SimSpan {
    // A signal handler that reports a crash must not wait.
    let Ok(mut team) = TEAM.try_lock() else { return own };
    let start = team.start(p);
    let measures = p.job.options.compute == ComputeMode::Measure;
    // No thread can have used much CPU time in a short time.
    if measures && !team.is_changed && wall().saturating_sub(team.looked) < SHORT {
        let before = std::mem::take(&mut team.before);
        team.own += own - before;
        team.known = start + own;
        return own;
    }
    let BlockEnd { end, block } = team.meet(p, own);
    (team.known, team.before) = (end, SimSpan::ZERO);
    block
}

/// Notes that the caller of MPI continues with its own code.
#[cold]
pub fn begin(p: &Process) {
    let mut team = team();
    let (at, caller) = (team.start(p), team.caller);
    if let Some(thread) = team.find(caller) {
        thread.at = at;
        thread.cpu = cpu_time_of(caller).unwrap_or(thread.cpu);
    }
}

/// Adds the threads with these numbers in the system to those of the rank, whose thread `caller` calls MPI. All of them
/// have the same position.
pub fn start_team(p: &Process, caller: i32, numbers: &[i32]) {
    let mut team = team();
    let own = p.block_so_far();
    let at = team.start(p) + own;
    (team.caller, team.before) = (caller, own);
    (team.common, team.is_changed) = (at, true);
    team.threads = numbers
        .iter()
        .map(|&number| {
            let cpu = cpu_time_of(number).unwrap_or(0);
            TeamThread { number, id: 0, at, cpu, busy: SimSpan::ZERO, has_ended: false }
        })
        .collect();
    team.looked = wall();
    drop(team);
    p.timer.share();
}

/// Makes the thread `number` the caller of MPI.
pub fn switch_caller(p: &Process, number: i32) {
    match p.job.options.compute {
        // The time of the former caller is its CPU time since the end of its last MPI function.
        ComputeMode::Measure => p.timer.abandon(),
        ComputeMode::Skip | ComputeMode::Fixed(_) => p.stop_timer(),
    }
    let mut team = team();
    team.caller = 0;
    meet_now(&mut team, p);
    team.caller = number;
}

/// Moves all threads to the same position within the current block of the caller.
fn meet_now(team: &mut RankTeam, p: &Process) {
    let own = p.block_so_far();
    let BlockEnd { block, .. } = team.meet(p, own);
    p.charge(block - own);
    team.before = block;
}

/// Returns the position of the thread `number`. The caller of MPI passes the time of its current block.
fn position(team: &mut RankTeam, p: &Process, number: i32) -> SimTime {
    if number == team.caller {
        return team.start(p) + p.block_so_far();
    }
    let common = team.common;
    let measures = p.job.options.compute == ComputeMode::Measure;
    team.find(number).map_or(common, |thread| {
        if measures {
            thread.advance(p);
        }
        thread.at
    })
}

/// Returns the position at which a thread starts that the thread `creator` creates.
pub fn position_of(p: &Process, creator: i32) -> SimTime {
    position(&mut team(), p, creator)
}

/// Adds a thread that starts at the position `at`.
pub fn add_thread(number: i32, id: usize, at: SimTime) {
    let mut team = team();
    team.threads.retain(|thread| thread.id != id);
    team.threads.push(TeamThread { number, id, at, cpu: 0, busy: SimSpan::ZERO, has_ended: false });
    team.is_changed = true;
}

/// Notes the end of the thread `number`.
pub fn end_thread(p: &Process, number: i32) {
    let mut team = team();
    position(&mut team, p, number);
    team.is_changed = true;
    if let Some(thread) = team.find(number) {
        thread.has_ended = true;
    }
}

/// Moves the thread `number` to the last position of the ended thread `id`, for which it has waited.
pub fn join_thread(p: &Process, number: i32, id: usize) {
    let mut team = team();
    let Some(end) = team.threads.iter().find(|thread| thread.id == id).map(|thread| thread.at) else { return };
    let own = position(&mut team, p, number);
    if end > own {
        let longer = end.since(own);
        if number == team.caller {
            p.charge(longer);
            // The caller has waited, which is no work.
            team.before += longer;
        } else if let Some(thread) = team.find(number) {
            thread.at = end;
        }
    }
}

/// Adds the stated time `span` to the thread `number`.
pub fn charge_thread(number: i32, span: SimSpan) {
    let mut team = team();
    team.is_changed = true;
    if let Some(thread) = team.find(number) {
        thread.add(span);
    }
}

/// Moves all threads to the same position, at the start or end of a parallel region of the caller of MPI.
pub fn meet_in_region(p: &Process) {
    let is_running = p.timer.is_running() && p.job.options.compute == ComputeMode::Measure;
    if is_running {
        p.timer.stop();
    }
    meet_now(&mut team(), p);
    if is_running {
        p.timer.start();
    }
}
