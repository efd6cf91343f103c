//! Lists of C strings in the form of `argv` and `environ`.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::ptr;

/// List of C strings under construction. The strings and the list are in one allocation each.
pub struct StringList {
    bytes: Vec<u8>,
    /// Index in `bytes` of the first byte of each string.
    starts: Vec<usize>,
}

impl StringList {
    /// Creates an empty list with memory for `strings` strings of `bytes` bytes in total.
    pub fn with_capacity(strings: usize, bytes: usize) -> StringList {
        // One pointer more than strings, for the null pointer at the end of the list.
        StringList { bytes: Vec::with_capacity(bytes), starts: Vec::with_capacity(strings + 1) }
    }

    /// Appends a string.
    pub fn push(&mut self, text: &[u8]) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
    }

    /// Appends the string `NAME=value`.
    pub fn push_number(&mut self, name: &str, value: u32) {
        let mut digits = [0; 10];
        let (mut start, mut rest) = (digits.len(), value);
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(b'=');
        self.bytes.extend_from_slice(&digits[start..]);
        self.bytes.push(0);
    }

    /// Returns the list, which ends with a null pointer. The list and its strings are never freed.
    pub fn into_list(self) -> *mut *mut c_char {
        let bytes = self.bytes.leak().as_mut_ptr();
        let mut list: Vec<*mut c_char> =
            self.starts.into_iter().map(|start| bytes.wrapping_add(start).cast()).collect();
        list.push(ptr::null_mut());
        list.leak().as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_list_has_all_strings_and_a_null_pointer() {
        let mut list = StringList::with_capacity(1, 1);
        list.push(b"HOME=/");
        for value in [0, 10, 4_294_967_295] {
            list.push_number("RANK", value);
        }
        list.push(b"");
        let list = list.into_list();
        // SAFETY: the list ends with a null pointer and has C strings before it.
        let strings = unsafe {
            let strings = (0..).map(|index| *list.add(index)).take_while(|string| !string.is_null());
            strings.map(|string| CStr::from_ptr(string).to_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(strings, ["HOME=/", "RANK=0", "RANK=10", "RANK=4294967295", ""]);
    }
}
