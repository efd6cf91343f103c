//! Early messages between ranks: the data of messages, separate from the virtual times of messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::super::call::{Completion, Context, Payload, Rank, Tag};
use crate::units::Bytes;

/// An early message: the data and the envelope of a message.
#[derive(Debug)]
pub struct EarlyMessage {
    /// Rank that sent the message.
    pub source: Rank,
    /// Context of the message.
    pub context: Context,
    /// Tag of the message.
    pub tag: Tag,
    /// Size of the message.
    pub size: Bytes,
    /// Sequence number of the message among the messages of its sender.
    pub number: u64,
    /// Data of the message.
    pub data: Payload,
}

impl EarlyMessage {
    /// Returns the completion of the receive that matches this message. `index` is the index of the receive in the
    /// call's list.
    pub fn completion(self, index: u32) -> Completion {
        let EarlyMessage { source, tag, size, data, .. } = self;
        Completion { index, source, tag, size, payload: data, cancelled: false }
    }
}

/// Transports early messages between ranks. The messages from one rank to another arrive in the order in which they
/// were sent.
#[derive(Debug)]
pub struct Mailboxes {
    boxes: Box<[Mutex<Inbox>]>,
    abroad: OnceLock<Abroad>,
}

/// Early messages to ranks of other host processes.
#[derive(Debug)]
struct Abroad {
    me: u32,
    /// Host process of each rank.
    process: Box<[u32]>,
    messages: Mutex<Vec<(u32, Rank, EarlyMessage)>>,
}

/// Early messages that have arrived for a rank.
#[derive(Debug, Default)]
struct Inbox {
    messages: Vec<EarlyMessage>,
    doorbell: Option<Arc<Doorbell>>,
}

impl Mailboxes {
    /// Creates mailboxes for `ranks` ranks.
    pub fn new(ranks: u32) -> Self {
        Mailboxes { boxes: (0..ranks).map(|_| Mutex::default()).collect(), abroad: OnceLock::new() }
    }

    fn with<R>(&self, rank: Rank, what: impl FnOnce(&mut Inbox) -> R) -> R {
        what(&mut self.boxes[rank as usize].lock().expect("nobody panics with an inbox"))
    }

    /// Sets that this host process has the index `me`, and the host process of each rank.
    pub fn spread(&self, me: u32, process: Vec<u32>) {
        let abroad = Abroad { me, process: process.into(), messages: Mutex::default() };
        self.abroad.set(abroad).expect("ranks are spread once");
    }

    /// Sends an early message to rank `to`.
    pub fn send(&self, to: Rank, message: EarlyMessage) {
        match self.abroad.get() {
            Some(abroad) if abroad.process[to as usize] != abroad.me => {
                let process = abroad.process[to as usize];
                abroad.messages.lock().expect("nobody panics with messages").push((process, to, message));
            }
            _ => self.deliver(to, message),
        }
    }

    /// Removes and returns the early messages to ranks of other host processes. A message is returned with the host
    /// process and the rank of its receiver.
    pub fn outgoing(&self) -> Vec<(u32, Rank, EarlyMessage)> {
        let take = |abroad: &Abroad| std::mem::take(&mut *abroad.messages.lock().expect("nobody panics with messages"));
        self.abroad.get().map(take).unwrap_or_default()
    }

    /// Delivers an early message to rank `to` of this host process. If the inbox of the rank was empty, rings the
    /// rank's doorbell.
    pub fn deliver(&self, to: Rank, message: EarlyMessage) {
        let doorbell = self.with(to, |inbox| {
            inbox.messages.push(message);
            if inbox.messages.len() == 1 { inbox.doorbell.clone() } else { None }
        });
        if let Some(doorbell) = doorbell {
            doorbell.ring(to);
        }
    }

    /// Calls `take` with each early message that has arrived for `rank`.
    pub(super) fn collect(&self, rank: Rank, take: impl FnMut(EarlyMessage)) {
        let messages = self.with(rank, |inbox| std::mem::take(&mut inbox.messages));
        messages.into_iter().for_each(take);
    }

    /// Sets the doorbell that is rung for `rank`.
    pub(super) fn attach(&self, rank: Rank, doorbell: &Arc<Doorbell>) {
        self.with(rank, |inbox| inbox.doorbell = Some(doorbell.clone()));
    }
}

/// Signals to a worker (a host thread of the simulator) which of its ranks may be able to run ahead.
#[derive(Debug, Default)]
pub struct Doorbell {
    rung: AtomicBool,
    ranks: Mutex<Vec<Rank>>,
}

impl Doorbell {
    /// Signals that `rank` may be able to run ahead.
    pub fn ring(&self, rank: Rank) {
        self.ranks.lock().expect("nobody panics with a doorbell").push(rank);
        self.rung.store(true, Ordering::Release);
    }

    /// Returns a rank for which the doorbell has rung, if any.
    pub fn answer(&self) -> Option<Rank> {
        if !self.rung.load(Ordering::Acquire) {
            return None;
        }
        let mut ranks = self.ranks.lock().expect("nobody panics with a doorbell");
        let rank = ranks.pop();
        self.rung.store(!ranks.is_empty(), Ordering::Release);
        rank
    }
}
