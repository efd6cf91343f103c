//! Hash of the inputs of one run of a study. Runs with equal hashes have equal results.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

/// Hash of the inputs of one run of a study, independent of the host and of the build of mcpsim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputHash(u128);

impl InputHash {
    /// Returns the hash of the inputs `parts`, each with its name, in this order.
    pub fn of(parts: &[(&str, &[u8])]) -> InputHash {
        let mut hasher = SipHasher24::new();
        for (name, content) in parts {
            // The hash includes the lengths of the inputs, because otherwise different inputs could form the same
            // bytes.
            for bytes in [name.as_bytes(), content] {
                hasher.write(&(bytes.len() as u64).to_le_bytes());
                hasher.write(bytes);
            }
        }
        InputHash(hasher.finish128().as_u128())
    }

    /// Parses the text that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<InputHash> {
        if text.len() != 32 { None } else { u128::from_str_radix(text, 16).ok().map(InputHash) }
    }
}

impl fmt::Display for InputHash {
    /// Formats the hash as 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_same_in_every_build_and_tell_contents_apart() {
        let key = InputHash::of(&[("version", b"0.1.0"), ("app", b"main = []")]);
        assert_eq!(key.to_string(), "77cc068e260fdfb798f1d605fd0522af");
        assert_eq!(InputHash::parse(&key.to_string()), Some(key));
        for other in
            [&[("version", &b"0.1.0"[..]), ("app", b"main = [ ]")][..], &[("version", b"0.1.0a"), ("pp", b"main = []")]]
        {
            assert_ne!(InputHash::of(other), key);
        }
        assert_eq!(InputHash::parse("12"), None);
        assert_eq!(InputHash::parse(&"g".repeat(32)), None);
    }
}
