//! Keys with wildcards: kinds of wildcards, and the messages of a long list in order by such keys.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::{ANY, Envelope, Want};

/// Number of kinds of wildcards: any tag, any source, and both.
const KINDS: usize = 3;
/// Numbers in a [`WildOrder`] per message of the list, above which the order is created again at the next look-up.
const MOST_EACH: usize = 8;
/// Numbers in a [`WildOrder`] that are always kept.
const ALWAYS_KEPT: usize = 1024;

impl Want {
    /// Returns the kind of wildcards; `None` without wildcards.
    #[inline]
    pub(super) fn kind(self) -> Option<usize> {
        (usize::from(self.0.tag == ANY) + 2 * usize::from(self.0.source == ANY)).checked_sub(1)
    }
}

/// Returns the key of the messages that a pattern with wildcards of this kind accepts together with `envelope`.
#[inline]
fn with_wildcards(envelope: &Envelope, kind: usize) -> Envelope {
    let Envelope { context, source, tag } = *envelope;
    let bits = kind + 1;
    Envelope { context, source: if bits & 2 != 0 { ANY } else { source }, tag: if bits & 1 != 0 { ANY } else { tag } }
}

/// Set of kinds of wildcards.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WildKinds([bool; KINDS]);

impl WildKinds {
    /// Adds the kind of the key of a receive.
    #[inline]
    pub fn add(&mut self, key: &Envelope) {
        if let Some(kind) = Want(*key).kind() {
            self.0[kind] = true;
        }
    }

    /// Returns the keys with wildcards of these kinds that accept a message with `envelope`.
    #[inline]
    pub fn of(self, envelope: &Envelope) -> impl Iterator<Item = Envelope> + use<'_> {
        (0..KINDS).filter(move |kind| self.0[*kind]).map(|kind| with_wildcards(envelope, kind))
    }
}

/// Sequence numbers of messages by keys with wildcards, in the order of arrival. Numbers of messages that were taken
/// remain until a look-up finds them.
#[derive(Debug, Default)]
pub(super) struct WildOrder {
    kinds: WildKinds,
    by_key: FxHashMap<Envelope, VecDeque<u32>>,
    count: usize,
}

impl WildOrder {
    /// Adds a message to a list that has `live` messages.
    #[inline]
    pub fn push(&mut self, number: u32, envelope: &Envelope, live: usize) {
        if self.kinds.0 == [false; KINDS] {
            return;
        }
        if self.count > MOST_EACH * live + ALWAYS_KEPT {
            *self = WildOrder::default();
            return;
        }
        for key in self.kinds.of(envelope) {
            self.by_key.entry(key).or_default().push_back(number);
            self.count += 1;
        }
    }

    /// Returns the number of the first message that `want`, which has wildcards, accepts. `all` are the messages of the
    /// list, and `is_kept` returns whether a message is still in the list.
    pub fn first(
        &mut self,
        want: Want,
        all: impl Iterator<Item = (u32, Envelope)>,
        is_kept: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let kind = want.kind()?;
        if !self.kinds.0[kind] {
            self.kinds.0[kind] = true;
            for (number, envelope) in all {
                self.by_key.entry(with_wildcards(&envelope, kind)).or_default().push_back(number);
                self.count += 1;
            }
        }
        let numbers = self.by_key.get_mut(&want.0)?;
        while let Some(&number) = numbers.front() {
            if is_kept(number) {
                return Some(number);
            }
            numbers.pop_front();
            self.count -= 1;
        }
        self.by_key.remove(&want.0);
        None
    }
}
