//! Format of batches of events between host processes.
//!
//! ```text
//! thread: u32 | large: u32 | news | (event [path] [data])… | size: u64, one for each large
//! ```
//!
//! Updates of flows, events, and the paths and data of events use the format of postcard. The data of an event follow
//! the event, unless the data are large. Large data follow the package as separate messages, from the buffer of the
//! sending rank into the buffer of the receiving rank. All other numbers of the package are little-endian. Sender and
//! receiver have the same version of mcpsim, which `TransportWorld::join` checks.

use serde::{Deserialize, Serialize};

use crate::activity::ClockPoint;
use crate::delays::Charges;
use crate::event::Event;
use crate::paths::Path;
use crate::payloads::PayloadSlot;
use crate::resource::flows::FlowUpdate;
use crate::transport::Batch;
use mcpsim_base::rank::{Data, EarlyMessage, Rank};

/// Size in bytes from which the data of an event are sent as a separate message.
const LARGE: usize = 32 << 10;
/// Size in bytes from which a package is sent before its batch is complete.
const FULL: usize = 64 << 20;
/// Thread number that marks a package with printed output of ranks.
const SCREEN: u32 = u32::MAX;
/// Thread number that marks a package with early messages of ranks.
const LETTERS: u32 = u32::MAX - 1;
const PRELUDE: usize = 8;
const EXPECT: &str = "what a process of the same version has packed";

/// A serialized batch of events, or a part of a batch, for a thread of another host process.
#[derive(Debug)]
pub struct Package {
    /// Bytes in the format of this module.
    pub bytes: Vec<u8>,
    /// Large data of events, which follow the package as separate messages.
    pub large: Vec<Data>,
}

/// Position of the data of an early message in a package.
#[derive(Serialize, Deserialize)]
enum Near<'a> {
    /// The early message has no data.
    None,
    #[serde(borrow)]
    Here(&'a [u8]),
    /// The data of the early message follow the package as a separate message.
    Behind,
}

/// Receiver of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// A thread of the receiving host process.
    Thread(usize),
    /// The printed output of ranks.
    Screen,
}

impl Package {
    fn to(thread: u32) -> Package {
        Package { bytes: [thread.to_le_bytes(), [0; 4]].concat(), large: Vec::new() }
    }

    /// Creates a package with printed output of ranks, for host process 0.
    pub fn printed(printed: Vec<u8>) -> Package {
        let mut package = Package::to(SCREEN);
        package.large.push(printed.into());
        package.close();
        package
    }

    /// Creates a package of early messages with their destination ranks.
    pub fn messages(messages: impl Iterator<Item = (Rank, EarlyMessage)>) -> Package {
        let mut package = Package::to(LETTERS);
        let mut bytes = std::mem::take(&mut package.bytes);
        for (to, message) in messages {
            let EarlyMessage { source, context, tag, size, number, data } = message;
            let near = match &data {
                None => Near::None,
                Some(data) if data.len() < LARGE => Near::Here(data),
                Some(_) => Near::Behind,
            };
            let head = (to, source, context, tag, size, number, &near);
            bytes = postcard::to_extend(&head, bytes).expect("a vector takes everything");
            let is_behind = matches!(near, Near::Behind);
            package.large.extend(data.filter(|_| is_behind));
        }
        package.bytes = bytes;
        package.close();
        package
    }

    /// Calls `take` for each early message of the package.
    pub fn each_message(mut self, mut take: impl FnMut(Rank, EarlyMessage)) {
        let mut large = std::mem::take(&mut self.large).into_iter();
        let mut rest = &self.bytes[PRELUDE..self.end()];
        while !rest.is_empty() {
            let (head, behind) = postcard::take_from_bytes::<(_, _, _, _, _, _, Near<'_>)>(rest).expect(EXPECT);
            rest = behind;
            let (to, source, context, tag, size, number, near) = head;
            let data = match near {
                Near::None => None,
                Near::Here(data) => Some(data.to_vec().into()),
                Near::Behind => Some(large.next().expect(EXPECT)),
            };
            take(to, EarlyMessage { source, context, tag, size, number, data });
        }
    }

    /// Appends the sizes of the large data to the package.
    fn close(&mut self) {
        self.bytes[4..PRELUDE].copy_from_slice(&(self.large.len() as u32).to_le_bytes());
        self.large.iter().for_each(|data| self.bytes.extend((data.len() as u64).to_le_bytes()));
    }

    /// Returns the receiver of the package.
    pub fn addressee(&self) -> Addressee {
        match u32::from_le_bytes(self.bytes[..4].try_into().expect(EXPECT)) {
            SCREEN => Addressee::Screen,
            thread => Addressee::Thread(thread as usize),
        }
    }

    /// Returns the sizes of the large data that follow the package.
    pub fn sizes(&self) -> Vec<usize> {
        let size = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect(EXPECT)) as usize;
        self.bytes[self.end()..].chunks(8).map(size).collect()
    }

    /// Returns the offset in the package at which the sizes of the large data begin.
    fn end(&self) -> usize {
        let large = u32::from_le_bytes(self.bytes[4..PRELUDE].try_into().expect(EXPECT));
        self.bytes.len() - large as usize * 8
    }

    /// Adds the events of the package to `incoming`.
    pub fn unpack(mut self, incoming: &mut Batch) {
        let large = std::mem::take(&mut self.large);
        let mut large = large.into_iter();
        let mut rest = &self.bytes[PRELUDE..self.end()];
        let (news, behind) = postcard::take_from_bytes::<Vec<FlowUpdate>>(rest).expect(EXPECT);
        rest = behind;
        incoming.news.extend(news);
        while !rest.is_empty() {
            let (mut event, behind) = postcard::take_from_bytes::<Event>(rest).expect(EXPECT);
            rest = behind;
            if event.body.path_mut().is_some() {
                let (path, behind) = postcard::take_from_bytes::<TravelledPath>(rest).expect(EXPECT);
                rest = behind;
                incoming.paths.push(path.0);
                incoming.origins.extend(path.1);
                incoming.charges.extend(path.2);
            }
            if has_data(&mut event) {
                let (data, behind) = postcard::take_from_bytes::<Option<&[u8]>>(rest).expect(EXPECT);
                rest = behind;
                let data = data.map_or_else(|| large.next().expect(EXPECT), |data| data.to_vec().into());
                incoming.payloads.push(Some(data));
            }
            incoming.events.push(event);
        }
    }
}

/// A critical path, the last clock of a task on the path, and the contention on the path by resource.
type TravelledPath = (Path, Option<ClockPoint>, Option<Charges>);

fn has_data(event: &mut Event) -> bool {
    event.body.payload_mut().is_some_and(|slot| *slot != PayloadSlot::NONE)
}

/// Serializes all events of `batch` into packages for `thread` of another host process, and empties the batch.
pub fn pack(batch: &mut Batch, thread: u32, mut send: impl FnMut(Package)) {
    let mut data = batch.payloads.drain(..);
    let (mut paths, mut origins) = (batch.paths.drain(..), batch.origins.drain(..));
    let mut charges = batch.charges.drain(..);
    let open = |news: &mut Vec<FlowUpdate>| {
        let mut package = Package::to(thread);
        let bytes = std::mem::take(&mut package.bytes);
        package.bytes = postcard::to_extend(news, bytes).expect("a vector takes everything");
        news.clear();
        package
    };
    let mut package = open(&mut batch.news);
    for mut event in batch.events.drain(..) {
        if package.bytes.len() >= FULL {
            package.close();
            send(std::mem::replace(&mut package, open(&mut batch.news)));
        }
        let mut bytes = std::mem::take(&mut package.bytes);
        bytes = postcard::to_extend(&event, bytes).expect("a vector takes everything");
        if event.body.path_mut().is_some() {
            let path: TravelledPath =
                (paths.next().expect("the path of every event that has one"), origins.next(), charges.next());
            bytes = postcard::to_extend(&path, bytes).expect("a vector takes everything");
        }
        if has_data(&mut event) {
            let data = data.next().flatten().expect("the data of every event that has some");
            let near = (data.len() < LARGE).then_some(&data[..]);
            bytes = postcard::to_extend(&near, bytes).expect("a vector takes everything");
            if near.is_none() {
                package.large.push(data);
            }
        }
        package.bytes = bytes;
    }
    package.close();
    send(package);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::ClockPoint;
    use crate::delays::Delays;
    use crate::departure::{Carrier, Passage};
    use crate::event::{EventKey, EventKind, InFlightMessage};
    use crate::paths::{Path, PathSlot, Paths};
    use crate::payloads::Payloads;
    use mcpsim_base::platform::Level;
    use mcpsim_base::profile::Resource;
    use mcpsim_base::units::{Bytes, SimSpan, SimTime};

    fn event(number: u64, payload: PayloadSlot, path: PathSlot) -> Event {
        let time = SimTime::from_ps(u64::MAX - number);
        let key = EventKey { time, to: number as u32, from: u32::MAX - 1, sequence: u32::MAX };
        let size = Bytes::new(number);
        let message = InFlightMessage { context: u32::MAX, tag: 7, size, rendezvous: Some(9), payload, path };
        let (send, recv, left) = (3, u32::MAX, SimTime::ZERO);
        let carrier = match number % 8 < 4 {
            true => Carrier::Port { load: 5 },
            false => Carrier::Flow { turn: 2, detour: true, bundle: None },
        };
        let passage = Passage { carrier, delayed_by: number.is_multiple_of(3).then_some(Resource::Gap) };
        let body = match number % 4 {
            0 => EventKind::Arrival { message, left, passage },
            1 => EventKind::ClearToSend { send, recv, path },
            2 => EventKind::TransferArrival { send, recv, size, left, since: left, passage, path },
            _ => EventKind::TransferEnd { send, left, path },
        };
        Event { key, body }
    }

    #[test]
    fn what_is_unpacked_is_what_was_packed() {
        let (mut batch, mut payloads, mut paths) = (Batch::default(), Payloads::default(), Paths::new(true, true, 0));
        let mut expected = Vec::new();
        for number in 0..100u64 {
            let size = [0, 1, LARGE - 1, LARGE, 3 * LARGE][(number / 4 % 5) as usize];
            let data = (number % 8 == 0).then(|| vec![number as u8; size]);
            let path = Path { compute: SimSpan::from_ps(number), ..Path::default() };
            let origin = ClockPoint { rank: 1, serial: number as u32, time: SimTime::NEVER };
            let without = event(number, PayloadSlot::NONE, PathSlot::NONE);
            let mut charges = Charges::default();
            let waited = Delays::default().and(Resource::AdapterIn, SimSpan::from_ps(number));
            charges.charge(Level::InterNode, SimSpan::from_ps(number), &waited);
            expected.push((format!("{without:?} {path:?} {origin:?} {charges:?}"), data.clone()));
            let slot = paths.put(path);
            paths.set_origin(slot, origin);
            paths.set_charges(slot, charges);
            batch.push(event(number, payloads.put(data.map(Data::from)), slot), &mut payloads, &mut paths);
        }
        let news = FlowUpdate::FirstLevel { resource: 1 << 60, number: 1, level: 7, told: 8 };
        batch.news.push(news);
        let mut packages = Vec::new();
        pack(&mut batch, 4, |package| packages.push(package));
        assert!(batch.is_empty() && packages.len() == 1);
        let package = packages.pop().unwrap();
        assert_eq!(package.addressee(), Addressee::Thread(4));
        assert!(package.sizes().iter().copied().eq(package.large.iter().map(|data| data.len())));
        let mut incoming = Batch::default();
        package.unpack(&mut incoming);
        assert_eq!(std::mem::take(&mut incoming.news), [news]);
        let (mut payloads, mut paths) = (Payloads::default(), Paths::new(true, true, 0));
        let events: Vec<Event> = incoming.drain(&mut payloads, &mut paths).collect();
        let found = events.into_iter().map(|mut event| {
            let slot = event.body.payload_mut().map(|slot| std::mem::replace(slot, PayloadSlot::NONE));
            let path = std::mem::replace(event.body.path_mut().unwrap(), PathSlot::NONE);
            let origin = paths.origin(path).unwrap();
            let charges = paths.charges(path).unwrap();
            let text = format!("{event:?} {:?} {origin:?} {charges:?}", paths.get(path));
            (text, slot.and_then(|slot| payloads.take(slot)).map(Data::into_vec))
        });
        assert!(found.eq(expected));
    }

    #[test]
    fn letters_arrive_as_they_were_sent_large_ones_too() {
        let message = |number: u64| {
            let size = [0, 1, LARGE - 1, LARGE, 3 * LARGE][(number % 5) as usize];
            let data = (!number.is_multiple_of(7)).then(|| Data::from(vec![number as u8; size]));
            let rank = number as u32;
            EarlyMessage { source: rank, context: 1, tag: u32::MAX - 1, size: Bytes::new(size as u64), number, data }
        };
        let package = Package::messages((0..100).map(|number| (number as u32 / 2, message(number))));
        assert!(package.sizes().iter().copied().eq(package.large.iter().map(|data| data.len())));
        let mut found = Vec::new();
        package.each_message(|to, message| found.push(format!("{to} {message:?}")));
        assert!(found.into_iter().eq((0..100).map(|number| format!("{} {:?}", number / 2, message(number)))));
    }

    #[test]
    fn what_is_printed_travels_by_itself() {
        let package = Package::printed(b"messages".to_vec());
        assert_eq!((package.addressee(), package.sizes()), (Addressee::Screen, vec![8]));
    }
}
