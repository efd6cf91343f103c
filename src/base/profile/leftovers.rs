//! Leftovers of a run: messages that no rank received, and requests for which no rank waited. Host processes exchange
//! leftovers in a format without field names, so serialization must not skip a field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, SimTime};

/// Number of unreceived messages that are reported individually.
const LISTED: usize = 5;

/// Unreceived messages of a run: the number of all these messages, and the messages that were sent first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreceived {
    /// Number of unreceived messages.
    pub count: u64,
    first: Vec<UnreceivedMessage>,
}

/// A message that no rank received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UnreceivedMessage {
    /// Virtual time at which the message was sent.
    #[serde(rename = "left_ps")]
    pub left: SimTime,
    /// Rank that sent the message.
    pub from: u32,
    /// Rank to which the message was sent.
    pub to: u32,
    /// Tag of the message.
    pub tag: u32,
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Statement that sent the message, such as "isend at ring.toml:7". Absent if several statements can have sent the
    /// message.
    pub site: Option<String>,
}

impl Unreceived {
    /// Adds an unreceived message. `site` is called only if the message may be reported individually.
    pub fn add(
        &mut self,
        from: u32,
        to: u32,
        tag: u32,
        (left, size): (SimTime, Bytes),
        site: impl Fn() -> Option<String>,
    ) {
        self.count += 1;
        if self.first.len() == LISTED && self.first.last().is_some_and(|last| last.left < left) {
            return;
        }
        self.first.push(UnreceivedMessage { left, from, to, tag, bytes: size.get(), site: site() });
        self.keep_first();
    }

    /// Adds the unreceived messages of `other`. The result does not depend on the order of additions.
    pub fn merge(&mut self, other: Unreceived) {
        self.count += other.count;
        self.first.extend(other.first);
        self.keep_first();
    }

    fn keep_first(&mut self) {
        self.first.sort_unstable();
        self.first.truncate(LISTED);
    }

    /// Returns the unreceived messages that were sent first.
    pub fn into_first(self) -> Vec<UnreceivedMessage> {
        self.first
    }
}

/// Requests for which no rank waited, by the statement that started them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwaited(BTreeMap<u32, UnwaitedRequests>);

/// Requests that one statement started and for which no rank waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UnwaitedRequests {
    /// Statement that started the requests: "irecv at ring.toml:7".
    pub site: String,
    /// Name of the requests in the statement, if the statement names them.
    pub name: Option<String>,
    /// Number of requests without a wait.
    pub count: u64,
    /// Number of ranks that ended with at least one of these requests.
    pub ranks: u64,
}

impl Unwaited {
    /// Adds the requests that a rank had at the end of its program. `steps` contains the number of requests per
    /// statement.
    pub fn add(&mut self, steps: &BTreeMap<u32, u64>, describe: impl Fn(u32) -> (String, Option<String>)) {
        for (&step, &count) in steps {
            let requests = self.0.entry(step).or_insert_with(|| {
                let (site, name) = describe(step);
                UnwaitedRequests { site, name, count: 0, ranks: 0 }
            });
            requests.count += count;
            requests.ranks += 1;
        }
    }

    /// Adds the requests of other ranks to the leftovers.
    pub fn merge(&mut self, other: Unwaited) {
        for (step, theirs) in other.0 {
            match self.0.get_mut(&step) {
                Some(mine) => {
                    mine.count += theirs.count;
                    mine.ranks += theirs.ranks;
                }
                None => _ = self.0.insert(step, theirs),
            }
        }
    }

    /// Returns the requests in the order of the program's statements.
    pub fn into_rows(self) -> Vec<UnwaitedRequests> {
        self.0.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_messages_are_told_in_whatever_order_they_are_found() {
        let of = |times: &[u64]| {
            let mut found = Unreceived::default();
            times.iter().for_each(|&at| found.add(0, 1, 7, (SimTime::from_ps(at), Bytes::new(8)), || None));
            found
        };
        let mut all = of(&[9, 3, 1, 8]);
        all.merge(of(&[2, 7, 4, 6, 5, 1]));
        assert_eq!(all, of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]));
        let left: Vec<u64> = all.into_first().iter().map(|message| message.left.as_ps()).collect();
        assert_eq!(left, [1, 1, 2, 3, 4]);
        let bytes = postcard::to_stdvec(&of(&[3, 4])).unwrap();
        assert_eq!(postcard::from_bytes::<Unreceived>(&bytes).unwrap(), of(&[3, 4]));
    }

    #[test]
    fn requests_are_counted_by_the_step_that_started_them() {
        let describe = |step| (format!("irecv at a.toml:{step}"), None);
        let of = |steps: &[(u32, u64)]| {
            let mut found = Unwaited::default();
            found.add(&steps.iter().copied().collect(), describe);
            found
        };
        let bytes = postcard::to_stdvec(&of(&[(4, 2), (7, 1)])).unwrap();
        assert_eq!(postcard::from_bytes::<Unwaited>(&bytes).unwrap(), of(&[(4, 2), (7, 1)]));
        let mut all = of(&[(4, 2)]);
        all.merge(of(&[(3, 1), (4, 1)]));
        let rows: Vec<(String, u64, u64)> =
            all.into_rows().into_iter().map(|row| (row.site, row.count, row.ranks)).collect();
        assert_eq!(rows, [("irecv at a.toml:3".to_owned(), 1, 1), ("irecv at a.toml:4".to_owned(), 3, 2)]);
    }
}
