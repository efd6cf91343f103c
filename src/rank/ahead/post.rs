//! Letters between ranks: the data of messages, apart from their times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::super::call::{Completion, Context, Payload, Rank, Tag};
use crate::units::Bytes;

/// A message's data and what it is matched by.
#[derive(Debug)]
pub struct Letter {
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

impl Letter {
    /// The completion, at place `index`, of the receive that it is for.
    pub(super) fn completion(self, index: u32) -> Completion {
        let Letter { source, tag, size, data, .. } = self;
        Completion { index, source, tag, size, payload: data, cancelled: false }
    }
}

/// Brings letters from rank to rank. Those of a pair of ranks come in the order sent.
#[derive(Debug)]
pub struct Post {
    boxes: Box<[Mutex<Inbox>]>,
}

/// Letters that have come for a rank.
#[derive(Debug, Default)]
struct Inbox {
    letters: Vec<Letter>,
    bell: Option<Arc<Bell>>,
}

impl Post {
    /// For so many ranks.
    pub fn new(ranks: u32) -> Self {
        Post { boxes: (0..ranks).map(|_| Mutex::default()).collect() }
    }

    fn with<R>(&self, rank: Rank, what: impl FnOnce(&mut Inbox) -> R) -> R {
        what(&mut self.boxes[rank as usize].lock().expect("nobody panics with an inbox"))
    }

    /// Sends a letter to rank `to`, whose bell rings if it is the first that lies there.
    pub fn send(&self, to: Rank, letter: Letter) {
        let bell = self.with(to, |inbox| {
            inbox.letters.push(letter);
            if inbox.letters.len() == 1 { inbox.bell.clone() } else { None }
        });
        if let Some(bell) = bell {
            bell.ring(to);
        }
    }

    /// Gives `take` all letters that have come for `rank`.
    pub(super) fn collect(&self, rank: Rank, take: impl FnMut(Letter)) {
        let letters = self.with(rank, |inbox| std::mem::take(&mut inbox.letters));
        letters.into_iter().for_each(take);
    }

    /// `bell` rings for `rank` from now on.
    pub(super) fn attach(&self, rank: Rank, bell: &Arc<Bell>) {
        self.with(rank, |inbox| inbox.bell = Some(bell.clone()));
    }
}

/// Tells a worker which of its ranks may be able to run ahead.
#[derive(Debug, Default)]
pub struct Bell {
    rung: AtomicBool,
    ranks: Mutex<Vec<Rank>>,
}

impl Bell {
    /// Rings for `rank`.
    pub fn ring(&self, rank: Rank) {
        self.ranks.lock().expect("nobody panics with a bell").push(rank);
        self.rung.store(true, Ordering::Release);
    }

    /// A rank for which it has rung.
    pub fn answer(&self) -> Option<Rank> {
        if !self.rung.load(Ordering::Acquire) {
            return None;
        }
        let mut ranks = self.ranks.lock().expect("nobody panics with a bell");
        let rank = ranks.pop();
        self.rung.store(!ranks.is_empty(), Ordering::Release);
        rank
    }
}
