//! Info objects (MPI-3.1, chapter 9): pairs of a key and a value, in the order in which the keys were first set. Keys
//! and values are byte strings of a C program.

use std::ffi::c_int;

use crate::abi::{
    MPI_ERR_ARG, MPI_ERR_INFO_KEY, MPI_ERR_INFO_NOKEY, MPI_ERR_INFO_VALUE, MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL,
};
use crate::fault::Fault;

type Text = Box<[u8]>;

/// An info object (MPI_Info). The method `clone` implements MPI_Info_dup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pairs: Vec<(Text, Text)>,
}

impl Info {
    /// Sets the value of a key. A key that already exists in the info object keeps its position.
    ///
    /// # Errors
    /// The key is empty, or the key with the final zero byte exceeds MPI_MAX_INFO_KEY bytes, or the value exceeds
    /// MPI_MAX_INFO_VAL bytes.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        check(key)?;
        if value.len() >= MPI_MAX_INFO_VAL {
            let what = format!("a value of {} bytes, expected less than {MPI_MAX_INFO_VAL}", value.len());
            return Err(Fault::new(MPI_ERR_INFO_VALUE, what));
        }
        match self.pairs.iter_mut().find(|(known, _)| **known == *key) {
            Some((_, old)) => *old = value.into(),
            None => self.pairs.push((key.into(), value.into())),
        }
        Ok(())
    }

    /// Sets all keys and values of another info object in this info object.
    pub fn merge(&mut self, other: &Info) {
        for (key, value) in &other.pairs {
            self.set(key, value).expect("it was set once");
        }
    }

    /// Returns the value of a key, or `None` if the info object does not have the key.
    ///
    /// # Errors
    /// [`Info::set`] does not accept the key.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, Fault> {
        check(key)?;
        Ok(self.pairs.iter().find(|(known, _)| **known == *key).map(|(_, value)| &**value))
    }

    /// Removes a key from the info object.
    ///
    /// # Errors
    /// [`Info::set`] does not accept the key, or the key is not set.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        check(key)?;
        let Some(place) = self.pairs.iter().position(|(known, _)| **known == *key) else {
            let what = format!("there is no key \"{}\"", String::from_utf8_lossy(key));
            return Err(Fault::new(MPI_ERR_INFO_NOKEY, what));
        };
        self.pairs.remove(place);
        Ok(())
    }

    /// Number of keys in the info object.
    pub fn keys(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the key with index `n` of the info object, counted from 0.
    ///
    /// # Errors
    /// `n` is not the index of a key of the info object.
    pub fn nth_key(&self, n: c_int) -> Result<&[u8], Fault> {
        let pair = usize::try_from(n).ok().and_then(|n| self.pairs.get(n));
        pair.map(|(key, _)| &**key)
            .ok_or_else(|| Fault::new(MPI_ERR_ARG, format!("key number {n} of {}, counted from 0", self.keys())))
    }
}

fn check(key: &[u8]) -> Result<(), Fault> {
    if (1..MPI_MAX_INFO_KEY).contains(&key.len()) {
        return Ok(());
    }
    let what = format!("a key of {} bytes, expected 1 to {}", key.len(), MPI_MAX_INFO_KEY - 1);
    Err(Fault::new(MPI_ERR_INFO_KEY, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_in_the_order_they_were_set() {
        let mut info = Info::default();
        for (key, value) in [("one", "1"), ("two", "2"), ("three", ""), ("one", "uno")] {
            info.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        let keys =
            |info: &Info| (0..info.keys()).map(|n| info.nth_key(n as c_int).unwrap().to_vec()).collect::<Vec<_>>();
        assert_eq!(keys(&info), [&b"one"[..], b"two", b"three"]);
        assert_eq!(info.get(b"one").unwrap(), Some(&b"uno"[..]));
        assert_eq!(info.get(b"three").unwrap(), Some(&b""[..]));
        let copy = info.clone();
        info.delete(b"one").unwrap();
        assert_eq!((keys(&info), info.get(b"one").unwrap()), (vec![b"two".to_vec(), b"three".to_vec()], None));
        assert_eq!(copy.keys(), 3, "a copy has its own keys");
        info.merge(&copy);
        assert_eq!(keys(&info), [&b"two"[..], b"three", b"one"]);
    }

    #[test]
    fn lengths_have_limits() {
        let mut info = Info::default();
        let (key, value) = ([b'k'; MPI_MAX_INFO_KEY], [b'v'; MPI_MAX_INFO_VAL]);
        info.set(&key[1..], &value[1..]).unwrap();
        assert_eq!(info.get(&key[1..]).unwrap().unwrap().len(), 1023);
        let class = |result: Result<(), Fault>| result.unwrap_err().class;
        assert_eq!(class(info.set(&key, b"v")), MPI_ERR_INFO_KEY);
        assert_eq!(class(info.set(b"", b"v")), MPI_ERR_INFO_KEY);
        assert_eq!(class(info.set(b"k", &value)), MPI_ERR_INFO_VALUE);
        assert_eq!(info.get(&key).unwrap_err().what, "a key of 256 bytes, expected 1 to 255");
        assert_eq!(class(info.delete(&key)), MPI_ERR_INFO_KEY);
        assert_eq!(info.keys(), 1);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let mut info = Info::default();
        info.set(b"here", b"1").unwrap();
        let missing = info.delete(b"away").unwrap_err();
        assert_eq!((missing.class, &*missing.what), (MPI_ERR_INFO_NOKEY, "there is no key \"away\""));
        for n in [-1, 1] {
            assert_eq!(info.nth_key(n).unwrap_err().class, MPI_ERR_ARG);
        }
    }
}
