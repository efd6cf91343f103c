//! Compares the arguments of collective calls between ranks (`--check`).

use std::collections::HashMap;
use std::sync::Mutex;

use super::signature::Signature;
use mcpsim_core::engine::{Mistake, MistakeKind};
use mcpsim_core::rank::Rank;

/// Call of an MPI collective by one rank.
#[derive(Debug)]
pub struct CollectiveRecord {
    /// Calling rank in MPI_COMM_WORLD.
    pub rank: Rank,
    /// Calling rank in the communicator of the collective.
    pub member: u32,
    /// MPI function and source position of the call, such as "MPI_Bcast at ring.c:42".
    pub position: String,
    /// Name of the MPI function.
    pub function: &'static str,
    /// Arguments of the collective that must match the arguments of other ranks.
    pub arguments: ComparedArguments,
}

/// Arguments of a collective that must be consistent between ranks.
#[derive(Debug, Default)]
pub struct ComparedArguments {
    /// Root argument of the collective, for collectives with a root.
    pub root: Option<i32>,
    /// Name of the reduction operator of the collective.
    pub operator: Option<&'static str>,
    /// Type signatures of data that must be equal on all ranks.
    pub alike: Vec<Signature>,
    /// Type signatures of the data that the rank sends to each rank.
    pub sent: Option<PeerSignatures>,
    /// Type signatures of the data that the rank receives from each rank.
    pub received: Option<PeerSignatures>,
}

/// Type signatures of the data that a rank sends to each rank, or receives from each rank.
#[derive(Clone, Debug)]
pub enum PeerSignatures {
    /// All peer ranks have the same type signature.
    Same(Signature),
    /// Each peer rank has its own type signature.
    Each(Vec<Signature>),
}

impl PeerSignatures {
    fn of(&self, member: u32) -> Option<&Signature> {
        match self {
            PeerSignatures::Same(signature) => Some(signature),
            PeerSignatures::Each(all) => all.get(member as usize),
        }
    }

    fn same(&self) -> Option<&Signature> {
        match self {
            PeerSignatures::Same(signature) => Some(signature),
            PeerSignatures::Each(_) => None,
        }
    }
}

/// Key of a collective operation: identifier of the communicator, first rank of the communicator, and sequence number
/// of the operation in the communicator.
pub type CollectiveKey = (u32, Rank, u32);

/// MPI collectives that only some of the ranks have called so far.
#[derive(Debug, Default)]
pub struct CollectiveChecks(Mutex<HashMap<CollectiveKey, Vec<CollectiveRecord>>>);

impl CollectiveChecks {
    /// Adds one rank's call of a collective whose communicator has `members` ranks. `add` for the last rank returns
    /// the mistakes of all ranks in the calls of the collective.
    pub fn add(&self, key: CollectiveKey, members: u32, record: CollectiveRecord) -> Vec<Mistake> {
        let mut open = self.0.lock().expect("nothing panics with this lock held");
        let records = open.entry(key).or_default();
        records.push(record);
        if records.len() < members as usize {
            return Vec::new();
        }
        let records = open.remove(&key).expect("just found");
        drop(open);
        judge(records)
    }

    /// Returns the mistakes in collectives that some ranks have not called.
    pub fn left(&self) -> Vec<Mistake> {
        let open = std::mem::take(&mut *self.0.lock().expect("nothing panics with this lock held"));
        open.into_values().flat_map(judge).collect()
    }
}

/// Compares the calls of one collective by all ranks with the call of the lowest rank.
fn judge(mut records: Vec<CollectiveRecord>) -> Vec<Mistake> {
    records.sort_unstable_by_key(|record| record.rank);
    let Some((first, others)) = records.split_first() else { return Vec::new() };
    let mistakes: Vec<Mistake> = others.iter().filter_map(|record| compare(first, record)).collect();
    if mistakes.is_empty() { compare_data(&records) } else { mistakes }
}

fn mistake(record: &CollectiveRecord, kind: MistakeKind, text: String) -> Mistake {
    let (call, place) = Mistake::call_and_place(&record.position);
    Mistake { rank: record.rank, kind, call, place, text }
}

/// Returns a mistake for the first difference between two ranks' calls of a collective.
fn compare(first: &CollectiveRecord, record: &CollectiveRecord) -> Option<Mistake> {
    let mismatch = |text| Some(mistake(record, MistakeKind::CollectiveMismatch, text));
    let (rank, position) = (first.rank, &first.position);
    if first.function != record.function {
        return mismatch(format!("rank {rank} calls {position}"));
    }
    let (theirs, mine) = (&first.arguments, &record.arguments);
    if theirs.root != mine.root {
        let [theirs, mine] = [theirs.root, mine.root].map(Option::unwrap_or_default);
        return mismatch(format!("root {mine}, but root {theirs} at rank {rank} in {position}"));
    }
    if theirs.operator != mine.operator {
        let [theirs, mine] = [theirs.operator, mine.operator].map(Option::unwrap_or_default);
        return mismatch(format!("operator {mine}, but {theirs} at rank {rank} in {position}"));
    }
    let differ = |(theirs, mine): (&Signature, &Signature)| {
        (!theirs.matches(mine)).then(|| format!("{mine}, but {theirs} at rank {rank} in {position}"))
    };
    let text = theirs.alike.iter().zip(&mine.alike).find_map(differ)?;
    Some(mistake(record, MistakeKind::TypeMismatch, text))
}

/// Compares the data that each rank sends in a collective with the data that the other ranks expect.
fn compare_data(records: &[CollectiveRecord]) -> Vec<Mistake> {
    let sent = || records.iter().filter_map(|record| record.arguments.sent.as_ref());
    let received = || records.iter().filter_map(|record| record.arguments.received.as_ref());
    let mut all = sent().chain(received()).map(PeerSignatures::same);
    if let Some(Some(first)) = all.next()
        && all.all(|other| other.is_some_and(|other| other.matches(first)))
    {
        return Vec::new();
    }
    records.iter().filter_map(|record| compare_received(record, records)).collect()
}

/// Returns the mistake for the first sender whose data differs from the data that the receiver `record` expects.
fn compare_received(record: &CollectiveRecord, records: &[CollectiveRecord]) -> Option<Mistake> {
    let received = record.arguments.received.as_ref()?;
    let differ = |sender: &CollectiveRecord| {
        let (expected, sent) = (received.of(sender.member)?, sender.arguments.sent.as_ref()?.of(record.member)?);
        let (rank, position) = (sender.rank, &sender.position);
        (!sent.matches(expected))
            .then(|| format!("expects {expected} from rank {rank}, which sends {sent} in {position}"))
    };
    let text = records.iter().find_map(differ)?;
    Some(mistake(record, MistakeKind::TypeMismatch, text))
}
