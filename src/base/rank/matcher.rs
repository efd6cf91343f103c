//! Matching of messages and posted receives of one rank (MPI-3.1, section 3.5).
//!
//! A message matches the first posted receive that accepts the message; a receive matches the first arrived message
//! that the receive accepts. Short lists are scanned. A long list gets a hash index by context, source and tag at the
//! first look-up by context, source and tag. Wildcards are values of source and tag in this index. Messages that receives with
//! wildcards take from far within a long list get an order for each such key (`wild`).

mod index;
mod list;
mod wild;

use super::call::{Context, Pattern, Rank, Source, Tag, TagPattern};
use list::List;

/// Properties of a message that determine the matching receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// Context of the message.
    pub context: Context,
    /// Rank that sent the message.
    pub source: Rank,
    /// Tag of the message.
    pub tag: Tag,
}

/// Value for any source or any tag. No rank and no tag has this value.
const ANY: u32 = u32::MAX;

/// Pattern of a receive, stored in the same form as an envelope.
#[derive(Clone, Copy, Debug)]
struct Want(Envelope);

impl From<&Pattern> for Want {
    #[inline]
    fn from(pattern: &Pattern) -> Self {
        let source = match pattern.from {
            Source::Rank(rank) => rank,
            Source::Any => ANY,
        };
        let tag = match pattern.tag {
            TagPattern::Tag(tag) => tag,
            TagPattern::Any => ANY,
        };
        Want(Envelope { context: pattern.context, source, tag })
    }
}

impl Want {
    #[inline]
    fn takes(self, envelope: &Envelope) -> bool {
        #[cfg(test)]
        tests::COMPARED.set(tests::COMPARED.get() + 1);
        let Envelope { context, source, tag } = self.0;
        context == envelope.context
            && (source == envelope.source || source == ANY)
            && (tag == envelope.tag || tag == ANY)
    }
}

impl Pattern {
    /// Whether the pattern accepts a message with `envelope`.
    #[inline]
    pub fn takes(&self, envelope: &Envelope) -> bool {
        Want::from(self).takes(envelope)
    }
}

/// Posted receives and unexpected messages of a rank. `R` is the caller's value for a receive, `M` the caller's value
/// for a message.
#[derive(Debug)]
pub struct Matcher<R, M> {
    posted: List<Want, R>,
    unexpected: List<Envelope, M>,
}

impl<R, M> Default for Matcher<R, M> {
    fn default() -> Self {
        Matcher { posted: List::Short(Vec::new()), unexpected: List::Short(Vec::new()) }
    }
}

impl<R, M> Matcher<R, M> {
    /// Removes and returns the first arrived message that `pattern` accepts.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> Option<(Envelope, M)> {
        if self.unexpected.len() == 0 {
            return None;
        }
        let want = Want::from(pattern);
        match want.kind() {
            None => self.unexpected.take_exact(&want.0),
            Some(_) => self.unexpected.take_wild(want),
        }
    }

    /// Posts a receive. Returns the matching message with `receive`, or stores the receive.
    pub fn post(&mut self, pattern: Pattern, receive: R) -> Option<(Envelope, M, R)> {
        match self.take(&pattern) {
            Some((envelope, message)) => Some((envelope, message, receive)),
            None => {
                self.posted.push(|| (Want::from(&pattern), receive));
                None
            }
        }
    }

    /// Handles an arriving message. Returns the matching receive with `message`, or stores the message.
    pub fn arrive(&mut self, envelope: Envelope, message: M) -> Option<(R, M)> {
        match self.posted_for(&envelope) {
            Some(receive) => Some((receive, message)),
            None => {
                self.keep(envelope, message);
                None
            }
        }
    }

    /// Removes and returns the first posted receive that accepts a message with `envelope`.
    #[inline]
    pub fn posted_for(&mut self, envelope: &Envelope) -> Option<R> {
        if self.posted.len() == 0 {
            return None;
        }
        self.posted.take_taking(envelope).map(|(_, receive)| receive)
    }

    /// Slot of the hash index that [`Matcher::posted_for`] reads first, if many receives are posted. The caller
    /// prefetches the slot into the cache.
    #[inline]
    pub fn slot_for(&self, envelope: &Envelope) -> Option<&impl Sized> {
        self.posted.slot(envelope)
    }

    /// List entry that [`Matcher::posted_for`] probably reads next. The caller prefetches the entry into the cache.
    #[inline]
    pub fn entry_for(&self, envelope: &Envelope) -> Option<&impl Sized> {
        self.posted.guess(envelope)
    }

    /// Receive that [`Matcher::posted_for`] probably returns, if many receives are posted.
    #[inline]
    pub fn likely_for(&self, envelope: &Envelope) -> Option<&R> {
        self.posted.guess(envelope)?.value()
    }

    /// Removes the posted receive `receive`. Returns false if the receive is not posted.
    pub fn withdraw(&mut self, receive: &R) -> bool
    where
        R: PartialEq,
    {
        self.posted.remove(receive)
    }

    /// Stores a message that matches no posted receive.
    pub fn keep(&mut self, envelope: Envelope, message: M) {
        self.unexpected.push(|| (envelope, message));
    }

    /// Returns the first arrived message that `pattern` accepts, without removing the message.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<(Envelope, &M)> {
        self.unexpected.first(Want::from(pattern))
    }

    /// Calls `take` for each unexpected message of the rank, in the order of arrival.
    pub fn each_unexpected(&self, take: impl FnMut(&Envelope, &M)) {
        self.unexpected.each(take);
    }

    /// Number of stored messages that match no posted receive.
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::units::Bytes;

    thread_local! {
        /// Number of comparisons of a pattern and an envelope.
        pub static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    fn pattern(from: Source, tag: TagPattern) -> Pattern {
        Pattern { from, context: 0, tag, capacity: Bytes::MAX, buffer: Default::default() }
    }

    fn envelope(source: Rank, tag: Tag) -> Envelope {
        Envelope { context: 0, source, tag }
    }

    #[test]
    fn a_receive_takes_the_first_message_and_a_message_the_first_receive() {
        let mut matcher = Matcher::default();
        assert!(matcher.arrive(envelope(1, 7), "a").is_none());
        assert!(matcher.arrive(envelope(1, 7), "b").is_none());
        assert_eq!(matcher.post(pattern(Source::Any, TagPattern::Any), 0).unwrap().1, "a");
        assert_eq!(matcher.post(pattern(Source::Rank(1), TagPattern::Tag(7)), 1).unwrap().1, "b");
        assert!(matcher.post(pattern(Source::Any, TagPattern::Tag(7)), 2).is_none());
        assert!(matcher.post(pattern(Source::Rank(1), TagPattern::Any), 3).is_none());
        assert_eq!(matcher.arrive(envelope(1, 7), "c"), Some((2, "c")));
        assert_eq!(matcher.arrive(envelope(1, 8), "d"), Some((3, "d")));
    }

    /// Calls `work` and returns the number of comparisons.
    fn comparisons(work: impl FnOnce()) -> u64 {
        let before = COMPARED.get();
        work();
        COMPARED.get() - before
    }

    #[test]
    fn wildcards_need_few_comparisons_in_long_lists() {
        const COUNT: u32 = 100_000;
        // A receive compares at most the first messages of the list, however long the list is.
        let most = u64::from(COUNT) * 50;
        for by_tag in [true, false] {
            let one = |i| if by_tag { envelope(i % 7, i) } else { envelope(i, i % 7) };
            let wild = |i| match by_tag {
                true => pattern(Source::Any, TagPattern::Tag(i)),
                false => pattern(Source::Rank(i), TagPattern::Any),
            };
            let mut matcher: Matcher<u32, u32> = Matcher::default();
            (0..COUNT).for_each(|i| assert!(matcher.arrive(one(i), i).is_none()));
            let compared = comparisons(|| {
                for i in (0..COUNT).rev() {
                    assert_eq!(matcher.probe(&wild(i)).map(|(_, message)| *message), Some(i));
                    assert_eq!(matcher.take(&wild(i)), Some((one(i), i)));
                }
            });
            assert!(compared <= 2 * most, "{compared}");
            (0..COUNT).for_each(|i| assert!(matcher.post(wild(i), i).is_none()));
            let compared = comparisons(|| {
                (0..COUNT).rev().for_each(|i| assert_eq!(matcher.arrive(one(i), i), Some((i, i))));
            });
            assert!(compared <= most, "{compared}");
        }
    }

    #[test]
    fn an_order_by_wildcards_survives_streams_of_messages() {
        let mut matcher: Matcher<u32, u32> = Matcher::default();
        (0..100).for_each(|i| assert!(matcher.arrive(envelope(i, i), i).is_none()));
        let any = |tag| pattern(Source::Any, TagPattern::Tag(tag));
        assert_eq!(matcher.take(&any(99)).map(|(_, message)| message), Some(99));
        for i in 100..20_000 {
            assert!(matcher.arrive(envelope(i, i), i).is_none());
            let exact = pattern(Source::Rank(i - 1), TagPattern::Tag(i - 1));
            assert_eq!(matcher.take(&exact).map(|(_, message)| message), (i > 100).then_some(i - 1));
        }
        assert!(matcher.take(&any(150)).is_none());
        assert_eq!(matcher.take(&any(19_999)).map(|(_, message)| message), Some(19_999));
        assert_eq!(matcher.take(&any(98)).map(|(_, message)| message), Some(98));
        assert_eq!(matcher.unexpected(), 98);
    }

    #[test]
    fn contexts_keep_messages_apart() {
        let mut matcher = Matcher::default();
        assert!(matcher.arrive(Envelope { context: 1, source: 0, tag: 0 }, ()).is_none());
        assert!(matcher.post(pattern(Source::Any, TagPattern::Any), ()).is_none());
        assert_eq!(matcher.unexpected(), 1);
    }

    /// Reference implementation for tests by the definition of MPI matching: lists are scanned from the front.
    #[derive(Default)]
    struct Naive {
        posted: Vec<(Pattern, usize)>,
        unexpected: Vec<(Envelope, usize)>,
    }

    impl Naive {
        fn post(&mut self, pattern: Pattern, id: usize) -> Option<usize> {
            match self.unexpected.iter().position(|(envelope, _)| pattern.takes(envelope)) {
                Some(at) => Some(self.unexpected.remove(at).1),
                None => {
                    self.posted.push((pattern, id));
                    None
                }
            }
        }

        fn arrive(&mut self, envelope: Envelope, id: usize) -> Option<usize> {
            match self.posted.iter().position(|(pattern, _)| pattern.takes(&envelope)) {
                Some(at) => Some(self.posted.remove(at).1),
                None => {
                    self.unexpected.push((envelope, id));
                    None
                }
            }
        }

        fn withdraw(&mut self, id: usize) -> bool {
            let before = self.posted.len();
            self.posted.retain(|&(_, other)| other != id);
            self.posted.len() < before
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Action {
        Post(Option<Rank>, Option<Tag>),
        Arrive(Rank, Tag),
        /// Withdraws the receive that was posted this number of test actions ago, if that action was a receive.
        Withdraw(usize),
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let post = (proptest::option::weighted(0.8, 0..6u32), proptest::option::weighted(0.8, 0..3u32))
            .prop_map(|(from, tag)| Action::Post(from, tag));
        let arrive = (0..6u32, 0..3u32).prop_map(|(source, tag)| Action::Arrive(source, tag));
        let withdraw = (1..120usize).prop_map(Action::Withdraw);
        // Long sequences that mostly post receives or mostly deliver messages lead to long lists, which test the hash
        // index.
        prop::collection::vec((0..8u8, post, arrive, withdraw), 0..600).prop_map(|steps| {
            let mut mostly_posts = false;
            steps
                .into_iter()
                .enumerate()
                .map(|(number, (choice, post, arrive, withdraw))| {
                    if number % 150 == 0 {
                        mostly_posts = !mostly_posts;
                    }
                    match choice {
                        0 | 1 if mostly_posts => arrive,
                        0 | 1 => post,
                        2 => withdraw,
                        _ if mostly_posts => post,
                        _ => arrive,
                    }
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn matching_agrees_with_a_naive_list(actions in actions()) {
            let mut naive = Naive::default();
            let mut matcher = Matcher::default();
            for (id, action) in actions.into_iter().enumerate() {
                match action {
                    Action::Post(from, tag) => {
                        let pattern = pattern(
                            from.map_or(Source::Any, Source::Rank),
                            tag.map_or(TagPattern::Any, TagPattern::Tag),
                        );
                        prop_assert_eq!(matcher.probe(&pattern).map(|(_, id)| *id), naive.unexpected.iter().find(|(e, _)| pattern.takes(e)).map(|(_, id)| *id));
                        prop_assert_eq!(matcher.post(pattern, id).map(|(_, message, _)| message), naive.post(pattern, id));
                    }
                    Action::Withdraw(ago) => {
                        let id = id.wrapping_sub(ago);
                        prop_assert_eq!(matcher.withdraw(&id), naive.withdraw(id));
                    }
                    Action::Arrive(source, tag) => {
                        let envelope = envelope(source, tag);
                        prop_assert_eq!(matcher.arrive(envelope, id).map(|(receive, _)| receive), naive.arrive(envelope, id));
                    }
                }
                prop_assert_eq!(matcher.unexpected(), naive.unexpected.len());
            }
        }
    }
}
