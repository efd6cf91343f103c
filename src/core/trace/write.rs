//! Writes a recording to a file. Operations, folded sequences and tasks that are equal for several ranks are stored
//! once.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::bytes::{put, put_text, zigzag};
use super::called::{CalledOp, Members};
use super::code::renumber;
use super::late;
use super::op::{Entered, Sent, TraceOp, put_sent};
use super::record::{RecordedRank, Recording, Strands};
use super::task::{DeferredResult, RecordedTask};
use super::{Header, MAGIC, TraceError, VERSION, checksum};
use crate::rank::Tag;

/// A table of different items, such as operations. The table stores each item once and identifies the item by its
/// index.
#[derive(Debug)]
struct NumberedTable<T> {
    items: Vec<T>,
    numbers: FxHashMap<T, u32>,
}

impl<T: Hash + Eq + Clone> NumberedTable<T> {
    fn new() -> Self {
        NumberedTable { items: Vec::new(), numbers: FxHashMap::default() }
    }

    fn number(&mut self, item: T) -> u32 {
        if let Some(&number) = self.numbers.get(&item) {
            return number;
        }
        let number = self.items.len() as u32;
        self.items.push(item.clone());
        self.numbers.insert(item, number);
        number
    }
}

/// A task in the representation of the trace file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WrittenTask {
    name: u32,
    code: u32,
    spans: Vec<u8>,
    peers: Vec<u8>,
    sizes: Vec<u8>,
    late: Vec<u8>,
    withdrawn: Vec<u8>,
}

/// Tables of the trace file that all ranks share.
struct Tables {
    names: NumberedTable<String>,
    groups: NumberedTable<Members>,
    ops: NumberedTable<TraceOp>,
    codes: NumberedTable<Vec<u8>>,
    tasks: NumberedTable<WrittenTask>,
    answers: NumberedTable<Vec<Sent>>,
}

impl Recording {
    /// Bytes of the trace file of a completed run. All recorded programs must have been dropped.
    ///
    /// # Errors
    /// A rank performed an action that a trace cannot represent.
    pub fn finish(&self, header: &Header) -> Result<Vec<u8>, TraceError> {
        let mut tables = Tables {
            names: NumberedTable::new(),
            groups: NumberedTable::new(),
            ops: NumberedTable::new(),
            codes: NumberedTable::new(),
            tasks: NumberedTable::new(),
            answers: NumberedTable::new(),
        };
        let mut ranks = Vec::new();
        for (rank, log) in self.take().into_iter().enumerate() {
            let fault = |what: &str| TraceError::cannot_record(format!("rank {rank}: {what}"));
            let log = log.ok_or_else(|| fault("its program was not run"))?;
            tables.add_rank(log, &mut ranks).map_err(|what| fault(&what))?;
        }
        Ok(tables.file(&Header { ranks: self.ranks(), ..header.clone() }, &ranks))
    }
}

impl Tables {
    fn add_rank(&mut self, log: RecordedRank, out: &mut Vec<u8>) -> Result<(), String> {
        let RecordedRank { main, strands, served, fault } = log;
        let strands = strands.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(fault) = fault.as_ref().or(strands.fault()) {
            return Err(fault.clone());
        }
        let mut numbers: Vec<Option<u32>> = vec![None; strands.logs.len()];
        for log in starting_order(&strands) {
            numbers[log] = Some(self.add_task(&strands.logs[log], &strands, &numbers)?);
        }
        let main = self.add_task(&main, &strands, &numbers)?;
        put(out, main.into());
        put(out, served.runs.len() as u64);
        let answers: Vec<u32> = served.answers.into_iter().map(|answers| self.answers.number(answers)).collect();
        for (from, runs) in &served.runs {
            put(out, (*from).into());
            put(out, runs.len() as u64);
            for &(number, count) in runs {
                put(out, answers[number as usize].into());
                put(out, count);
            }
        }
        Ok(())
    }

    fn add_task(&mut self, log: &RecordedTask, strands: &Strands, numbers: &[Option<u32>]) -> Result<u32, String> {
        let names: Vec<u32> = log.names.iter().map(|name| self.names.number(name.clone())).collect();
        let groups: Vec<u32> = log.groups.iter().map(|group| self.groups.number(group.clone())).collect();
        let global = |op: &TraceOp| match op {
            TraceOp::Enter(name) => TraceOp::Enter(names[*name as usize]),
            TraceOp::EnterBy(entered) => {
                let global = entered.names.map(|name| names[name as usize]);
                TraceOp::EnterBy(Box::new(Entered { names: global, ..**entered }))
            }
            TraceOp::Called(called) => TraceOp::Called(Box::new(CalledOp {
                name: names[called.name as usize],
                group: groups[called.group as usize],
                algorithm: called.algorithm.map(|name| names[name as usize]),
                ..(**called).clone()
            })),
            op => op.clone(),
        };
        let map: Vec<u32> = log.ops.iter().map(|op| self.ops.number(global(op))).collect();
        let mut code = Vec::with_capacity(log.code.len());
        renumber(&log.code, &map, &mut code);
        let mut late = Vec::new();
        let mut last: Tag = 0;
        let mut last_point = 0;
        let mut relative = |tag: Tag| zigzag(i64::from(tag) - i64::from(std::mem::replace(&mut last, tag)));
        for what in &log.late {
            match what {
                DeferredResult::Got(None) => put(&mut late, late::NOTHING),
                DeferredResult::Got(Some((peer, tag))) => {
                    put(&mut late, u64::from(*peer) << 2 | late::GOT);
                    put(&mut late, relative(*tag));
                }
                DeferredResult::Moves(bytes) => put(&mut late, (bytes + 1) << 2 | late::NOTHING),
                DeferredResult::Point(point) => {
                    let before = std::mem::replace(&mut last_point, *point);
                    put(&mut late, late::point(i64::from(*point) - i64::from(before)));
                }
                DeferredResult::Withdrawn(it_was) => put(&mut late, u64::from(*it_was) << 2 | late::WITHDRAWN),
                DeferredResult::Strand(number) => {
                    let ended = strands.ended[*number as usize];
                    let task = ended.and_then(|(log, base)| Some((numbers[log as usize]?, base)));
                    let (task, base) = task.ok_or("a strand has not ended")?;
                    match strands.threads[*number as usize] {
                        0 => {
                            put(&mut late, u64::from(task) << 2 | late::STRAND);
                            put(&mut late, relative(base));
                        }
                        thread => {
                            put(&mut late, late::thread(task));
                            put(&mut late, thread.into());
                        }
                    }
                }
            }
        }
        let mut withdrawn = Vec::new();
        let mut sorted = log.withdrawn.clone();
        sorted.sort_unstable();
        let mut before = 0;
        for receive in sorted {
            put(&mut withdrawn, receive - before);
            before = receive;
        }
        let (name, code) = (self.names.number(log.name.clone()), self.codes.number(code));
        let [spans, peers, sizes] = [&log.spans, &log.peers, &log.sizes].map(Clone::clone);
        Ok(self.tasks.number(WrittenTask { name, code, spans, peers, sizes, late, withdrawn }))
    }

    fn file(&self, header: &Header, ranks: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        header.put(&mut out);
        let list = |out: &mut Vec<u8>, bytes: &[u8]| {
            put(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        };
        put(&mut out, self.names.items.len() as u64);
        self.names.items.iter().for_each(|name| put_text(&mut out, name));
        put(&mut out, self.groups.items.len() as u64);
        self.groups.items.iter().for_each(|group| group.put(&mut out));
        put(&mut out, self.ops.items.len() as u64);
        self.ops.items.iter().for_each(|op| op.put(&mut out));
        put(&mut out, self.codes.items.len() as u64);
        self.codes.items.iter().for_each(|code| list(&mut out, code));
        put(&mut out, self.tasks.items.len() as u64);
        for task in &self.tasks.items {
            put(&mut out, task.name.into());
            put(&mut out, task.code.into());
            let parts = [&task.spans, &task.peers, &task.sizes, &task.late, &task.withdrawn];
            parts.into_iter().for_each(|part| list(&mut out, part));
        }
        put(&mut out, self.answers.items.len() as u64);
        for answers in &self.answers.items {
            put(&mut out, answers.len() as u64);
            answers.iter().for_each(|answer| put_sent(&mut out, answer));
        }
        out.extend_from_slice(ranks);
        seal(&out)
    }
}

/// Returns the indexes of the logs of `strands` in an order in which each strand precedes the one that starts it.
fn starting_order(strands: &Strands) -> Vec<usize> {
    let mut order = Vec::with_capacity(strands.logs.len());
    let mut is_listed = vec![false; strands.logs.len()];
    // Logs whose started strands are listed next, with the number of their late values that have been read.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for first in 0..strands.logs.len() {
        if !std::mem::replace(&mut is_listed[first], true) {
            open.push((first, 0));
        }
        while let Some((log, read)) = open.last_mut() {
            match strands.logs[*log].late.get(*read) {
                None => {
                    order.push(*log);
                    open.pop();
                }
                Some(what) => {
                    *read += 1;
                    if let DeferredResult::Strand(number) = what
                        && let Some((log, _)) = strands.ended[*number as usize]
                        && !std::mem::replace(&mut is_listed[log as usize], true)
                    {
                        open.push((log as usize, 0));
                    }
                }
            }
        }
    }
    order
}

/// Bytes of a trace file: magic bytes, version, length and checksum, then the body.
pub(super) fn seal(body: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(body.len() + 32);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    file.extend_from_slice(&checksum(body).to_le_bytes());
    file.extend_from_slice(body);
    file
}
