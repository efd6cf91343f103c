//! Type signatures of messages. A type signature is the sequence of basic elements of a message, without displacements
//! (MPI-3.1, section 4.1).

use std::fmt;

use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::datatype::{BasicKind, Datatype};

/// Maximum number of runs of equal elements that are compared. Signatures that are equal in the first `MOST_RUNS`
/// runs count as equal.
const MOST_RUNS: usize = 1 << 20;

/// Type signature of a number of items of a datatype. The basic elements are stored as a list of runs of equal
/// elements. The type signature repeats the list of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Named datatype and number of elements of each run of equal elements.
    runs: Vec<(Handle, u64)>,
    /// Number of repetitions of the list of runs.
    times: u64,
}

impl Signature {
    /// Returns the type signature of `count` items of `datatype`.
    pub fn new(datatype: &Datatype, count: usize) -> Self {
        let mut runs: Vec<(Handle, u64)> = Vec::new();
        if count > 0 {
            datatype.for_each_run(1, |kind: &'static BasicKind, _, length| match runs.last_mut() {
                Some((last, total)) if *last == kind.handle => *total += length as u64,
                _ => runs.push((kind.handle, length as u64)),
            });
        }
        match &mut runs[..] {
            [] => Signature::default(),
            [(_, length)] => {
                *length *= count as u64;
                Signature { runs, times: 1 }
            }
            _ => Signature { runs, times: count as u64 },
        }
    }

    /// Iterates over all runs of equal elements. Adjacent runs of equal elements are merged.
    fn elements(&self) -> impl Iterator<Item = (Handle, u64)> + '_ {
        let mut all = (0..self.times).flat_map(|_| self.runs.iter().copied()).peekable();
        std::iter::from_fn(move || {
            let (handle, mut length) = all.next()?;
            while let Some((_, more)) = all.next_if(|(next, _)| *next == handle) {
                length += more;
            }
            Some((handle, length))
        })
    }

    /// Returns true if the type signature contains packed data, which matches any signature.
    fn is_packed(&self) -> bool {
        self.runs.iter().any(|(handle, _)| *handle == abi::MPI_PACKED)
    }

    /// Returns true if the type signature and `other` have the same sequence of elements.
    pub fn matches(&self, other: &Signature) -> bool {
        if self == other || self.is_packed() || other.is_packed() {
            return true;
        }
        let (mut mine, mut theirs) = (self.elements(), other.elements());
        for _ in 0..MOST_RUNS {
            match (mine.next(), theirs.next()) {
                (None, None) => return true,
                (a, b) if a != b => return false,
                _ => {}
            }
        }
        true
    }

    /// Returns true if a receive with the type signature `room` can receive a message with the signature `self`,
    /// because the message's elements are the first elements of `room`. If the message is longer than `room`, only
    /// the elements within `room` are compared.
    pub fn fits(&self, room: &Signature) -> bool {
        if self == room || self.is_packed() || room.is_packed() {
            return true;
        }
        let (mut mine, mut theirs) = (self.elements(), room.elements());
        for _ in 0..MOST_RUNS {
            let (Some((a, sent)), Some((b, wanted))) = (mine.next(), theirs.next()) else { return true };
            if a != b {
                return false;
            }
            if sent != wanted {
                // The run of the message and the run of the receive have different lengths. If the message's run is
                // shorter, the signatures match only if the message ends after the run, because the message's next
                // run would have another datatype. If the receive's run is shorter, the signatures match only if the
                // receive ends after the run.
                return if sent < wanted { mine.next().is_none() } else { theirs.next().is_none() };
            }
        }
        true
    }

    /// Appends the encoded type signature to `out`. The decoder of the signature must receive the length separately.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.times.to_ne_bytes());
        for &(handle, length) in &self.runs {
            out.extend((handle as u64).to_ne_bytes());
            out.extend(length.to_ne_bytes());
        }
    }

    /// Decodes the result of [`Signature::encode`].
    pub fn decode(bytes: &[u8]) -> Signature {
        let (numbers, _) = bytes.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|&number| u64::from_ne_bytes(number));
        let times = numbers.next().unwrap_or_default();
        let mut runs = Vec::new();
        while let (Some(handle), Some(length)) = (numbers.next(), numbers.next()) {
            runs.push((handle as Handle, length));
        }
        Signature { runs, times }
    }
}

impl fmt::Display for Signature {
    /// Formats the type signature, for example as "2 MPI_INT" or "3 times (1 MPI_INT, 2 MPI_DOUBLE)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        let name = |handle| Datatype::named(handle).map_or("?", |named| named.name());
        let mut texts: Vec<String> =
            self.runs.iter().take(SHOWN).map(|&(handle, length)| format!("{length} {}", name(handle))).collect();
        if self.runs.len() > SHOWN {
            texts.push("…".to_owned());
        }
        match (texts.is_empty(), self.times) {
            (true, _) => f.write_str("nothing"),
            (false, 1) => f.write_str(&texts.join(", ")),
            (false, times) => write!(f, "{times} times ({})", texts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(handle: Handle, count: usize) -> Signature {
        Signature::new(Datatype::named(handle).unwrap(), count)
    }

    #[test]
    fn layouts_do_not_matter_and_elements_do() {
        let int = Datatype::named(abi::MPI_INT).unwrap();
        let spread = Datatype::vector(3, 2, 5, int).unwrap();
        assert!(Signature::new(&spread, 2).matches(&of(abi::MPI_INT, 12)));
        assert!(!Signature::new(&spread, 2).matches(&of(abi::MPI_INT, 11)));
        assert!(!of(abi::MPI_DOUBLE, 1).matches(&of(abi::MPI_INT, 2)));
        assert!(of(abi::MPI_DOUBLE, 0).matches(&of(abi::MPI_INT, 0)));
        assert!(of(abi::MPI_PACKED, 8).matches(&of(abi::MPI_INT, 2)));
        assert!(!of(abi::MPI_BYTE, 8).matches(&of(abi::MPI_INT, 2)));
        assert_eq!(Signature::new(&spread, 2).to_string(), "12 MPI_INT");
    }

    #[test]
    fn a_message_fits_the_beginning_of_a_longer_receive() {
        let (int, double) = (Datatype::named(abi::MPI_INT).unwrap(), Datatype::named(abi::MPI_DOUBLE).unwrap());
        let pair = Datatype::structure(&[1, 1], &[0, 8], &[int.clone(), double.clone()]).unwrap();
        let pairs = Signature::new(&pair, 2);
        assert!(
            of(abi::MPI_INT, 1).fits(&pairs)
                && !of(abi::MPI_INT, 2).fits(&pairs)
                && pairs.fits(&Signature::new(&pair, 3))
        );
        assert!(of(abi::MPI_INT, 3).fits(&of(abi::MPI_INT, 9)) && !of(abi::MPI_DOUBLE, 3).fits(&of(abi::MPI_INT, 9)));
        // A message that is longer than the receive is reported as truncation, not as a mismatch of signatures.
        assert!(of(abi::MPI_INT, 9).fits(&of(abi::MPI_INT, 3)));
        assert_eq!(pairs.to_string(), "2 times (1 MPI_INT, 1 MPI_DOUBLE)");
        let mut bytes = Vec::new();
        pairs.encode(&mut bytes);
        assert_eq!(Signature::decode(&bytes), pairs);
    }
}
