//! Matching of messages and posted receives of one rank (MPI-3.1, section 3.5).
//!
//! A message goes to the first receive posted that takes it; a receive gets the first message that has come of those it takes.
//! Short lists are scanned; a long one is indexed by (context, source, tag), wildcards kept apart in order.

use std::collections::{HashMap, VecDeque};

use super::call::{Context, Pattern, Rank, Source, Tag, TagPattern};

/// What matching looks at in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The context it was sent in.
    pub context: Context,
    /// Its sender.
    pub source: Rank,
    /// Its tag.
    pub tag: Tag,
}

/// Stands for any source or any tag; no rank and no tag has this number.
const ANY: u32 = u32::MAX;

/// What a receive takes, as small as an envelope.
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
        let Envelope { context, source, tag } = self.0;
        context == envelope.context
            && (source == envelope.source || source == ANY)
            && (tag == envelope.tag || tag == ANY)
    }
}

impl Pattern {
    /// Whether a message with `envelope` is taken.
    #[inline]
    pub fn takes(&self, envelope: &Envelope) -> bool {
        Want::from(self).takes(envelope)
    }
}

/// The posted receives and unexpected messages of a rank; `R` and `M` are what the owner keeps with each.
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
    /// Takes the first message that has come of those `pattern` takes.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> Option<(Envelope, M)> {
        if self.unexpected.len() == 0 {
            return None;
        }
        let want = Want::from(pattern);
        match want.exact() {
            Some(envelope) => self.unexpected.take_exact(&envelope),
            None => self.unexpected.take_first(|envelope| want.takes(envelope)),
        }
    }

    /// Posts a receive: gives back the message it takes at once with `receive`, or keeps it.
    pub fn post(&mut self, pattern: Pattern, receive: R) -> Option<(Envelope, M, R)> {
        match self.take(&pattern) {
            Some((envelope, message)) => Some((envelope, message, receive)),
            None => {
                self.posted.push(Want::from(&pattern), receive);
                None
            }
        }
    }

    /// A message has come: gives back the receive that takes it with `message`, or keeps it.
    pub fn arrive(&mut self, envelope: Envelope, message: M) -> Option<(R, M)> {
        match self.posted_for(&envelope) {
            Some(receive) => Some((receive, message)),
            None => {
                self.keep(envelope, message);
                None
            }
        }
    }

    /// Takes the first receive posted that takes a message with `envelope`.
    #[inline]
    pub fn posted_for(&mut self, envelope: &Envelope) -> Option<R> {
        if self.posted.len() == 0 {
            return None;
        }
        self.posted.take_taking(envelope).map(|(_, receive)| receive)
    }

    /// Takes back the posted receive kept as `receive`; false if it is not posted.
    pub fn withdraw(&mut self, receive: &R) -> bool
    where
        R: PartialEq,
    {
        self.posted.remove(receive)
    }

    /// Keeps a message that no receive takes yet.
    pub fn keep(&mut self, envelope: Envelope, message: M) {
        self.unexpected.push(envelope, message);
    }

    /// The first message that has come of those `pattern` takes, left where it is.
    pub fn probe(&self, pattern: &Pattern) -> Option<(Envelope, &M)> {
        let want = Want::from(pattern);
        self.unexpected.first(|envelope| want.takes(envelope))
    }

    /// The number of messages that no receive has taken.
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }
}

/// Where a list becomes indexed, and how few entries make it short again.
const LONG: usize = 48;

/// Entries in order of their coming.
#[derive(Debug)]
enum List<K, T> {
    Short(Vec<(K, T)>),
    Long(Box<LongList<K, T>>),
}

/// Entries by number; the index gives the numbers of each exact key, `wild` those of patterns with wildcards.
#[derive(Debug)]
struct LongList<K, T> {
    entries: VecDeque<Option<(K, T)>>,
    /// The number of `entries[0]`.
    first: u64,
    live: usize,
    index: HashMap<Envelope, VecDeque<u64>>,
    wild: VecDeque<u64>,
}

/// What both kinds of key can tell.
trait Key: Copy {
    /// The envelope this key is equal to, if it has no wildcards.
    fn exact(&self) -> Option<Envelope>;
}

impl Key for Envelope {
    fn exact(&self) -> Option<Envelope> {
        Some(*self)
    }
}

impl Key for Want {
    #[inline]
    fn exact(&self) -> Option<Envelope> {
        (self.0.source != ANY && self.0.tag != ANY).then_some(self.0)
    }
}

impl<K: Key, T> List<K, T> {
    fn len(&self) -> usize {
        match self {
            List::Short(entries) => entries.len(),
            List::Long(long) => long.live,
        }
    }

    fn push(&mut self, key: K, value: T) {
        match self {
            List::Short(entries) if entries.len() < LONG => {
                // Most ranks of a large machine hold one or two: do not take room for four.
                if entries.capacity() == entries.len() && entries.len() < 4 {
                    entries.reserve_exact(1 + entries.len());
                }
                entries.push((key, value));
            }
            List::Short(entries) => {
                let mut long = LongList::new();
                entries.drain(..).for_each(|(key, value)| long.push(key, value));
                long.push(key, value);
                *self = List::Long(Box::new(long));
            }
            List::Long(long) => long.push(key, value),
        }
    }

    fn take_exact(&mut self, envelope: &Envelope) -> Option<(K, T)> {
        let taken = match self {
            List::Short(entries) => {
                let at = entries.iter().position(|(key, _)| key.exact().as_ref() == Some(envelope))?;
                return Some(entries.remove(at));
            }
            List::Long(long) => {
                let number = long.indexed(envelope)?;
                long.take(number)
            }
        };
        self.shorten();
        Some(taken)
    }

    fn take_first(&mut self, takes: impl Fn(&K) -> bool) -> Option<(K, T)> {
        let taken = match self {
            List::Short(entries) => {
                let at = entries.iter().position(|(key, _)| takes(key))?;
                return Some(entries.remove(at));
            }
            List::Long(long) => {
                let at = long.entries.iter().position(|entry| entry.as_ref().is_some_and(|(key, _)| takes(key)))?;
                long.take(long.first + at as u64)
            }
        };
        self.shorten();
        Some(taken)
    }

    /// Removes the entry of this value.
    fn remove(&mut self, value: &T) -> bool
    where
        T: PartialEq,
    {
        let at = match self {
            List::Short(entries) => entries.iter().position(|(_, other)| other == value),
            List::Long(long) => {
                long.entries.iter().position(|entry| entry.as_ref().is_some_and(|(_, other)| other == value))
            }
        };
        let Some(at) = at else { return false };
        match self {
            List::Short(entries) => {
                entries.remove(at);
            }
            List::Long(long) => {
                long.take(long.first + at as u64);
                self.shorten();
            }
        }
        true
    }

    fn first(&self, takes: impl Fn(&K) -> bool) -> Option<(K, &T)> {
        match self {
            List::Short(entries) => entries.iter().find(|(key, _)| takes(key)).map(|(key, value)| (*key, value)),
            List::Long(long) => {
                long.entries.iter().flatten().find(|(key, _)| takes(key)).map(|(key, value)| (*key, value))
            }
        }
    }

    /// A long list that has emptied gives its room back.
    fn shorten(&mut self) {
        if self.len() == 0 {
            *self = List::Short(Vec::new());
        }
    }
}

impl<T> List<Want, T> {
    /// Takes the first receive that takes `envelope`.
    fn take_taking(&mut self, envelope: &Envelope) -> Option<(Want, T)> {
        let taken = match self {
            List::Short(entries) => {
                let at = entries.iter().position(|(want, _)| want.takes(envelope))?;
                return Some(entries.remove(at));
            }
            List::Long(long) => {
                let exact = long.indexed(envelope);
                let wild = long.wild.iter().copied().find(|&number| long.key(number).takes(envelope));
                let number = [exact, wild].into_iter().flatten().min()?;
                long.take(number)
            }
        };
        self.shorten();
        Some(taken)
    }
}

impl<K: Key, T> LongList<K, T> {
    fn new() -> Self {
        LongList { entries: VecDeque::new(), first: 0, live: 0, index: HashMap::new(), wild: VecDeque::new() }
    }

    fn key(&self, number: u64) -> &K {
        let entry = &self.entries[(number - self.first) as usize];
        &entry.as_ref().expect("the index holds live entries only").0
    }

    fn push(&mut self, key: K, value: T) {
        let number = self.first + self.entries.len() as u64;
        match key.exact() {
            Some(envelope) => self.index.entry(envelope).or_default().push_back(number),
            None => self.wild.push_back(number),
        }
        self.entries.push_back(Some((key, value)));
        self.live += 1;
    }

    fn indexed(&self, envelope: &Envelope) -> Option<u64> {
        self.index.get(envelope).and_then(|numbers| numbers.front().copied())
    }

    fn take(&mut self, number: u64) -> (K, T) {
        let taken = self.entries[(number - self.first) as usize].take().expect("the entry is live");
        self.live -= 1;
        match taken.0.exact() {
            Some(envelope) => {
                let numbers = self.index.get_mut(&envelope).expect("an exact entry is indexed");
                // At the front, unless it is withdrawn: among equal keys the first is taken.
                let at = numbers.iter().position(|&other| other == number).expect("an exact entry is indexed");
                numbers.remove(at);
                if numbers.is_empty() {
                    self.index.remove(&envelope);
                }
            }
            None => {
                // Most often at the front, from where removing is cheap.
                let at = self.wild.iter().position(|&other| other == number).expect("a wild entry is listed");
                self.wild.remove(at);
            }
        }
        while let Some(None) = self.entries.front() {
            self.entries.pop_front();
            self.first += 1;
        }
        if self.entries.len() > 2 * self.live + LONG {
            self.compact();
        }
        taken
    }

    /// Renumbers the live entries without holes: an old entry at the front must not keep the room of all after it.
    fn compact(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        *self = LongList::new();
        entries.into_iter().flatten().for_each(|(key, value)| self.push(key, value));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Bytes;

    fn pattern(from: Source, tag: TagPattern) -> Pattern {
        Pattern { from, context: 0, tag, capacity: Bytes::MAX }
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

    #[test]
    fn contexts_keep_messages_apart() {
        let mut matcher = Matcher::default();
        assert!(matcher.arrive(Envelope { context: 1, source: 0, tag: 0 }, ()).is_none());
        assert!(matcher.post(pattern(Source::Any, TagPattern::Any), ()).is_none());
        assert_eq!(matcher.unexpected(), 1);
    }

    /// The definition, as lists scanned from the front.
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
        /// The receive that was posted so many actions ago, if that was one.
        Withdraw(usize),
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let post = (proptest::option::weighted(0.8, 0..6u32), proptest::option::weighted(0.8, 0..3u32))
            .prop_map(|(from, tag)| Action::Post(from, tag));
        let arrive = (0..6u32, 0..3u32).prop_map(|(source, tag)| Action::Arrive(source, tag));
        let withdraw = (1..120usize).prop_map(Action::Withdraw);
        // Long one-sided stretches make the lists long, so that the index is exercised.
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
