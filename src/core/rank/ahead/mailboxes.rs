//! Letters between ranks: the data of messages, apart from their times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::super::call::{Completion, Context, Payload, Rank, Tag};
use crate::units::Bytes;

/// A message's data and what it is matched by.
#[derive(Debug)]
pub struct EarlyMessage {
    /// Its sender.
    pub source: Rank,
    /// The message's context.
    pub context: Context,
    /// Its tag.
    pub tag: Tag,
    /// Its size.
    pub size: Bytes,
    /// Its number among those its sender has sent.
    pub number: u64,
    /// Its data.
    pub data: Payload,
}

impl EarlyMessage {
    /// The completion, at place `index`, of the receive that it is for.
    pub(super) fn completion(self, index: u32) -> Completion {
        let EarlyMessage { source, tag, size, data, .. } = self;
        Completion { index, source, tag, size, payload: data, cancelled: false }
    }
}

/// Brings early messages from rank to rank. Those of a pair of ranks come in the order sent.
#[derive(Debug)]
pub struct Mailboxes {
    boxes: Box<[Mutex<Inbox>]>,
    abroad: OnceLock<Abroad>,
}

/// Letters for ranks of other processes.
#[derive(Debug)]
struct Abroad {
    me: u32,
    /// The process of each rank.
    process: Box<[u32]>,
    messages: Mutex<Vec<(u32, Rank, EarlyMessage)>>,
}

/// Letters that have come for a rank.
#[derive(Debug, Default)]
struct Inbox {
    messages: Vec<EarlyMessage>,
    doorbell: Option<Arc<Doorbell>>,
}

impl Mailboxes {
    /// For so many ranks.
    pub fn new(ranks: u32) -> Self {
        Mailboxes { boxes: (0..ranks).map(|_| Mutex::default()).collect(), abroad: OnceLock::new() }
    }

    fn with<R>(&self, rank: Rank, what: impl FnOnce(&mut Inbox) -> R) -> R {
        what(&mut self.boxes[rank as usize].lock().expect("nobody panics with an inbox"))
    }

    /// This is process `me`, and only some of the ranks are here: each is in the process of its place in the list.
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

    /// Takes the early messages for ranks of other processes, with these processes.
    pub fn outgoing(&self) -> Vec<(u32, Rank, EarlyMessage)> {
        let take = |abroad: &Abroad| std::mem::take(&mut *abroad.messages.lock().expect("nobody panics with messages"));
        self.abroad.get().map(take).unwrap_or_default()
    }

    /// Gives an early message to rank `to`, which is here; its doorbell rings if it is the first that lies there.
    pub fn deliver(&self, to: Rank, message: EarlyMessage) {
        let doorbell = self.with(to, |inbox| {
            inbox.messages.push(message);
            if inbox.messages.len() == 1 { inbox.doorbell.clone() } else { None }
        });
        if let Some(doorbell) = doorbell {
            doorbell.ring(to);
        }
    }

    /// Gives `take` all early messages that have come for `rank`.
    pub(super) fn collect(&self, rank: Rank, take: impl FnMut(EarlyMessage)) {
        let messages = self.with(rank, |inbox| std::mem::take(&mut inbox.messages));
        messages.into_iter().for_each(take);
    }

    /// `doorbell` rings for `rank` from now on.
    pub(super) fn attach(&self, rank: Rank, doorbell: &Arc<Doorbell>) {
        self.with(rank, |inbox| inbox.doorbell = Some(doorbell.clone()));
    }
}

/// Tells a worker which of its ranks may be able to run ahead.
#[derive(Debug, Default)]
pub struct Doorbell {
    rung: AtomicBool,
    ranks: Mutex<Vec<Rank>>,
}

impl Doorbell {
    /// Rings for `rank`.
    pub fn ring(&self, rank: Rank) {
        self.ranks.lock().expect("nobody panics with a doorbell").push(rank);
        self.rung.store(true, Ordering::Release);
    }

    /// A rank for which it has rung.
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
