//! Reader of a folded sequence, that is, a sequence of operations with repetitions stored as loops (see module `fold`).

use std::ops::Range;

use smallvec::SmallVec;

use super::bytes::{get, put};
use super::fold::DEEPEST;

/// Position of a reader in a folded sequence.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    at: usize,
    end: usize,
    last: usize,
    loops: SmallVec<[OpenLoop; 2]>,
}

/// A loop that contains the reader's position in a folded sequence.
#[derive(Clone, Debug)]
struct OpenLoop {
    start: usize,
    end: usize,
    /// Number of remaining iterations of the loop, including the present one.
    left: u64,
}

impl Cursor {
    /// Creates a cursor at the start of the folded sequence in the bytes `range`. The function [`check`] must have
    /// accepted the folded sequence before.
    pub fn new(range: Range<usize>) -> Self {
        Cursor { at: range.start, end: range.end, last: range.end, loops: SmallVec::new() }
    }

    /// Returns the next operation index of the folded sequence.
    #[inline(always)]
    pub fn next(&mut self, bytes: &[u8]) -> Option<u32> {
        loop {
            if self.at == self.end {
                if !self.turn() {
                    return None;
                }
                continue;
            }
            let word = get(bytes, &mut self.at)?;
            if word & 1 == 0 {
                return Some((word >> 1) as u32);
            }
            let length = get(bytes, &mut self.at)?;
            self.end = self.at + length as usize;
            self.loops.push(OpenLoop { start: self.at, end: self.end, left: word >> 1 });
        }
    }

    /// Moves the position from the end of a loop's body to the start of the body or to the end of the loop. Returns
    /// false at the end of the folded sequence.
    fn turn(&mut self) -> bool {
        let Some(turn) = self.loops.last_mut() else { return false };
        turn.left -= 1;
        if turn.left > 0 {
            self.at = turn.start;
        } else {
            self.loops.pop();
            self.end = self.loops.last().map_or(self.last, |turn| turn.end);
        }
        true
    }
}

/// Numbers of calls and messages of a rank in a folded sequence. Sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SequenceAmount {
    pub calls: u64,
    /// Number of sent messages that need a receive.
    pub sends: u64,
    pub receives: u64,
}

impl SequenceAmount {
    /// Returns the sum of these counts and `other`.
    pub fn plus(self, other: SequenceAmount) -> SequenceAmount {
        SequenceAmount {
            calls: self.calls.saturating_add(other.calls),
            sends: self.sends.saturating_add(other.sends),
            receives: self.receives.saturating_add(other.receives),
        }
    }

    fn times(self, times: u64) -> SequenceAmount {
        let SequenceAmount { calls, sends, receives } = self;
        let [calls, sends, receives] = [calls, sends, receives].map(|number| number.saturating_mul(times));
        SequenceAmount { calls, sends, receives }
    }
}

/// Checks the folded sequence in the bytes `range`. Every operation index must be valid; `of` returns the counts of an
/// operation. Each loop iteration must contain a call, so that a replay cannot loop without calls. Returns the total
/// counts of the sequence.
pub(super) fn check(
    bytes: &[u8],
    range: Range<usize>,
    of: &dyn Fn(u32) -> Option<SequenceAmount>,
) -> Result<SequenceAmount, String> {
    check_body(bytes, range, of, 0)
}

fn check_body(
    bytes: &[u8],
    range: Range<usize>,
    of: &dyn Fn(u32) -> Option<SequenceAmount>,
    depth: u8,
) -> Result<SequenceAmount, String> {
    let bytes = &bytes[..range.end];
    let mut at = range.start;
    let mut all = SequenceAmount::default();
    while at < range.end {
        let start = at;
        let number = |at: &mut usize| get(bytes, at).ok_or_else(|| format!("byte {start}: expected a number"));
        let word = number(&mut at)?;
        if word & 1 == 0 {
            let known = u32::try_from(word >> 1).ok().and_then(of);
            all = all.plus(known.ok_or_else(|| format!("byte {start}: there is no operation {}", word >> 1))?);
            continue;
        }
        let length = number(&mut at)?;
        if word >> 1 == 0 {
            return Err(format!("byte {start}: expected a loop of at least one turn"));
        }
        if depth == DEEPEST {
            return Err(format!("byte {start}: expected loops within loops at most {DEEPEST} deep"));
        }
        let end =
            usize::try_from(length).ok().and_then(|length| at.checked_add(length)).filter(|&end| end <= range.end);
        let end = end.ok_or_else(|| format!("byte {start}: a loop of {length} bytes goes past the end"))?;
        let body = check_body(bytes, at..end, of, depth + 1)?;
        if body.calls == 0 {
            return Err(format!("byte {start}: expected a loop with a call in it"));
        }
        all = all.plus(body.times(word >> 1));
        at = end;
    }
    Ok(all)
}

/// Copies a folded sequence and replaces each operation index by its value in `map`.
pub(super) fn renumber(bytes: &[u8], map: &[u32], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(word) = get(bytes, &mut at) {
        if word & 1 == 0 {
            put(out, u64::from(map[(word >> 1) as usize]) << 1);
            continue;
        }
        let length = get(bytes, &mut at).unwrap_or(0) as usize;
        let mut body = Vec::new();
        renumber(&bytes[at..at + length], map, &mut body);
        put(out, word);
        put(out, body.len() as u64);
        out.extend(body);
        at += length;
    }
}
