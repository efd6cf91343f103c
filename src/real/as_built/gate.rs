//! Switches between the threads of a rank that have clocks of their own. One of them runs at a time. The others wait at
//! their gates for replies of the simulator.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpsim_core::mpi::abi::{self, Handle};

use super::connection;
use super::memory::{sleep, wake as wake_up};
use super::threads;
use super::watch::TurnWatch;
use super::wire::OwnReply;
use crate::mpi_api::MpiProcess;
use crate::process::{TaskContext, run_as_nobody};

/// Gate of the main thread.
static MAIN: ThreadGate = ThreadGate::new(0);
/// Gate of the thread that starts in the engine next.
static STARTING: Mutex<Option<Arc<ThreadGate>>> = Mutex::new(None);

/// State of the rank that belongs to a thread, while the thread waits.
#[derive(Default)]
struct ThreadState {
    context: TaskContext,
    /// Communicator argument of the thread's current MPI call.
    given: Option<Handle>,
}

thread_local! {
    /// Gate of the current thread, if it has a clock of its own and is not the main thread.
    /// The gate is never freed, because the value is also read while the thread's values are dropped.
    static GATE: Cell<Option<&'static ThreadGate>> = const { Cell::new(None) };
    static STATE: RefCell<ThreadState> = RefCell::default();
}

/// Point at which a thread waits for replies of the simulator.
#[derive(Debug)]
pub struct ThreadGate {
    /// Number of the thread among the threads of the rank; 0 for the main thread.
    pub task: u32,
    /// Number of the thread's strand.
    pub strand: AtomicU32,
    state: Mutex<GateState>,
    /// Number of events so far, for which the thread waits.
    changes: AtomicU32,
}

/// Reason why a waiting thread continues.
#[derive(Debug)]
enum GateEvent {
    /// Reply of the simulator to the thread.
    Reply(OwnReply),
    /// The thread that was the strand with this number has ended and passes the turn to the main thread. An ended
    /// thread cannot read messages, because its variables have been destroyed.
    Ended(u32),
}

#[derive(Debug)]
struct GateState {
    event: Option<GateEvent>,
    /// MPI function in which the thread waits.
    inside: Option<&'static str>,
}

impl ThreadGate {
    /// Creates the gate of a thread that has not started.
    pub const fn new(task: u32) -> ThreadGate {
        let state = Mutex::new(GateState { event: None, inside: None });
        ThreadGate { task, strand: AtomicU32::new(0), state, changes: AtomicU32::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, event: GateEvent) {
        self.lock().event = Some(event);
        self.changes.fetch_add(1, Ordering::Release);
        wake_up(&self.changes);
    }

    fn event(&self) -> GateEvent {
        let mut watch = TurnWatch::new();
        loop {
            let changes = self.changes.load(Ordering::Acquire);
            if let Some(event) = self.lock().event.take() {
                return event;
            }
            sleep(&self.changes, changes, watch.interval());
            if self.changes.load(Ordering::Relaxed) == changes {
                watch.look();
            }
        }
    }

    /// Name of the MPI function in which the thread waits.
    pub fn inside(&self) -> Option<&'static str> {
        self.lock().inside
    }
}

/// Number of the current thread among the threads of the rank; 0 for the main thread.
pub fn own_task() -> u32 {
    GATE.get().map_or(0, |gate| gate.task)
}

/// Sets the gate of the thread that the next call of a strand starts.
pub fn start(gate: Arc<ThreadGate>) {
    *STARTING.lock().unwrap_or_else(PoisonError::into_inner) = Some(gate);
}

/// Returns the gate of the thread that starts as the strand `number`.
pub fn of_started(number: u32) -> Option<Arc<ThreadGate>> {
    let gate = STARTING.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    gate.strand.store(number, Ordering::Relaxed);
    Some(gate)
}

/// Exchanges the rank's state that belongs to the current thread.
fn exchange(p: &MpiProcess) {
    STATE.with_borrow_mut(|state| {
        p.exchange_context(&mut state.context);
        state.given = p.given.replace(state.given);
    });
}

fn wake(to: Option<Arc<ThreadGate>>, reply: OwnReply) {
    match to {
        Some(gate) => gate.put(GateEvent::Reply(reply)),
        None => MAIN.put(GateEvent::Reply(reply)),
    }
}

/// Waits at the gate `own` of the current thread, and makes the thread the caller of MPI.
fn wait(p: &MpiProcess, own: &ThreadGate) -> OwnReply {
    loop {
        match own.event() {
            GateEvent::Reply(reply) => {
                own.lock().inside = None;
                exchange(p);
                let may_call = own.task == 0 || p.threads.provided.get() >= abi::MPI_THREAD_SERIALIZED;
                threads::set_running(may_call);
                p.threads.is_main.set(threads::is_main());
                return reply;
            }
            GateEvent::Ended(strand) => {
                exchange(p);
                let (to, reply) = connection::after_end(strand);
                exchange(p);
                wake(to, reply);
            }
        }
    }
}

/// Wakes the thread at the gate `to`, or the main thread, and waits for the next reply to the current thread.
pub fn switch(p: &MpiProcess, to: Option<Arc<ThreadGate>>, reply: OwnReply) -> OwnReply {
    let own = GATE.get().unwrap_or(&MAIN);
    let function = p.function.get();
    own.lock().inside = (p.in_call() && function.starts_with("MPI_")).then_some(function);
    exchange(p);
    wake(to, reply);
    wait(p, own)
}

/// Waits for the first reply to the current thread, whose gate is `gate`.
pub fn enter(p: &MpiProcess, gate: Arc<ThreadGate>) -> OwnReply {
    // SAFETY: the reference is never dropped.
    let gate: &'static ThreadGate = unsafe { &*Arc::into_raw(gate) };
    GATE.set(Some(gate));
    wait(p, gate)
}

/// Passes the turn of the current thread, which has ended, to the main thread.
pub fn leave(p: &MpiProcess) {
    let Some(gate) = GATE.take() else { return };
    exchange(p);
    run_as_nobody();
    MAIN.put(GateEvent::Ended(gate.strand.load(Ordering::Relaxed)));
}
