//! Values of the variables of a rank. A variable needs nine bytes.

use super::value::Value;

/// Values of the variables of a rank, indexed by variable, in blocks of eight variables. The last block may be shorter.
///
/// ```text
/// words: [ kinds of slots 0–7, a byte each | payloads of slots 0–7 | kinds of slots 8–15 | … ]
/// ```
#[derive(Clone, Debug)]
pub(super) struct Slots {
    words: Box<[u64]>,
}

impl Slots {
    /// Creates `count` variables without values.
    pub(super) fn new(count: u32) -> Self {
        Slots::with_words(count, 0)
    }

    /// Creates `count` variables without values, followed by `words` 64-bit words of 0.
    pub(super) fn with_words(count: u32, words: usize) -> Self {
        Slots { words: vec![0; (count + count.div_ceil(8)) as usize + words].into_boxed_slice() }
    }

    /// Returns the last `count` 64-bit words.
    pub(super) fn last_words(&self, count: usize) -> &[u64] {
        &self.words[self.words.len() - count..]
    }

    /// Returns the last `count` 64-bit words for modification.
    pub(super) fn last_words_mut(&mut self, count: usize) -> &mut [u64] {
        let first = self.words.len() - count;
        &mut self.words[first..]
    }

    /// 64-bit word at distance `place` from the end; the last word has distance 1.
    pub(super) fn word_from_end(&self, place: usize) -> u64 {
        self.words[self.words.len() - place]
    }

    /// Sets the 64-bit word at distance `place` from the end.
    pub(super) fn set_word_from_end(&mut self, place: usize, word: u64) {
        let index = self.words.len() - place;
        self.words[index] = word;
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> Value {
        let word = self.words[payload(slot)];
        match (self.words[kinds(slot)] >> shift(slot)) as u8 {
            0 => Value::Unset,
            1 => Value::Int(word as i64),
            2 => Value::Float(f64::from_bits(word)),
            _ => Value::Bool(word != 0),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, slot: u32, value: Value) {
        let (kind, word) = match value {
            Value::Unset => (0u64, 0),
            Value::Int(n) => (1, n as u64),
            Value::Float(x) => (2, x.to_bits()),
            Value::Bool(b) => (3, u64::from(b)),
        };
        self.words[payload(slot)] = word;
        let kinds = &mut self.words[kinds(slot)];
        *kinds = *kinds & !(0xff << shift(slot)) | kind << shift(slot);
    }

    /// Value of the variable, if the value is an integer.
    #[inline]
    pub(super) fn int(&self, slot: u32) -> Option<i64> {
        let is_int = (self.words[kinds(slot)] >> shift(slot)) as u8 == 1;
        is_int.then(|| self.words[payload(slot)] as i64)
    }

    /// Value of a hidden counter variable, which is always an integer.
    #[inline]
    pub(super) fn counter(&self, slot: u32) -> i64 {
        self.words[payload(slot)] as i64
    }

    /// Sets the hidden counter variable `slot` to `n`.
    #[inline]
    pub(super) fn set_counter(&mut self, slot: u32, n: i64) {
        self.words[payload(slot)] = n as u64;
    }
}

#[inline]
fn kinds(slot: u32) -> usize {
    (slot / 8 * 9) as usize
}

#[inline]
fn payload(slot: u32) -> usize {
    (slot + slot / 8 + 1) as usize
}

#[inline]
fn shift(slot: u32) -> u32 {
    slot % 8 * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_kind_and_value_for_any_count() {
        for count in 1..40u32 {
            let mut slots = Slots::new(count);
            let value = |i: u32| match i % 4 {
                0 => Value::Int(-i64::from(i)),
                1 => Value::Float(f64::from(i) + 0.5),
                2 => Value::Bool(i > 9),
                _ => Value::Unset,
            };
            for i in 0..count {
                slots.set(i, Value::Int(7));
            }
            for i in 0..count {
                slots.set(i, value(i));
            }
            for i in 0..count {
                assert_eq!(slots.get(i), value(i));
            }
        }
    }
}
