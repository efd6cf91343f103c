//! Attributes that programs attach to communicators, datatypes and windows (MPI-3.1, section 6.7).
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::mpi_api::calls::TAG_UB;
use crate::mpi_api::error::{MpiError, MpiResult, expect};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Handle};

/// Attribute values by key, in the order they were set.
pub type Attributes = Vec<(c_int, usize)>;

/// What kind of object has an attribute: each has keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Holder {
    Comm,
    Type,
    Win,
}

/// A function that copies an attribute: object, key, extra state, value, where the new value goes, whether to attach
/// it.
pub type CopyFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// A function called when an attribute is deleted: object, key, value, extra state.
pub type DeleteFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// What happens to an attribute when its object is duplicated.
#[derive(Clone, Copy, Debug)]
pub enum Copying {
    /// It is left out: MPI_NULL_COPY_FN.
    Never,
    /// It is copied: MPI_DUP_FN.
    Always,
    /// As a function of the program's says.
    Ask(CopyFunction),
}

/// An attribute key.
#[derive(Clone, Copy, Debug)]
pub struct AttributeKey {
    pub of: Holder,
    pub copy: Copying,
    /// Called when an attribute is deleted.
    pub delete: Option<DeleteFunction>,
    /// For the functions.
    pub extra: *mut c_void,
    /// Freed keys live on with the attributes that have them.
    pub freed: bool,
}

/// The number of the first key that a program makes.
const FIRST_KEY: c_int = 1024;

/// The keys of a rank, and the values of predefined attributes.
#[derive(Debug)]
pub struct AttributeKeys {
    keys: RefCell<Vec<AttributeKey>>,
    /// The ints that predefined attributes point to, by key from [`abi::MPI_TAG_UB`] on.
    predefined: [Cell<c_int>; 7],
    /// What is attached to windows; their owner puts an entry in for each, and takes it out again.
    pub windows: RefCell<BTreeMap<Handle, Rc<OfWindow>>>,
}

/// What is attached to a window.
#[derive(Debug)]
pub struct OfWindow {
    pub attributes: RefCell<Attributes>,
    /// The values of MPI_WIN_BASE and its like as MPI_Win_get_attr gives them.
    pub predefined: Attributes,
    pub errhandler: Cell<Handle>,
}

impl OfWindow {
    /// What a new window has.
    pub fn new(predefined: Attributes) -> Self {
        OfWindow { attributes: RefCell::default(), predefined, errhandler: Cell::new(abi::MPI_ERRORS_ARE_FATAL) }
    }
}

impl AttributeKeys {
    /// The keys of a rank among `size` that runs program number `program`.
    pub fn new(size: u32, program: usize) -> Self {
        let value = |key| match key {
            abi::MPI_TAG_UB => TAG_UB,
            abi::MPI_IO => abi::MPI_ANY_SOURCE,
            abi::MPI_HOST => abi::MPI_PROC_NULL,
            abi::MPI_WTIME_IS_GLOBAL => 1,
            abi::MPI_LASTUSEDCODE => abi::MPI_ERR_LASTCODE,
            abi::MPI_UNIVERSE_SIZE => size as c_int,
            abi::MPI_APPNUM => program as c_int,
            _ => 0,
        };
        AttributeKeys {
            keys: RefCell::default(),
            predefined: std::array::from_fn(|i| Cell::new(value(abi::MPI_TAG_UB + i as c_int))),
            windows: RefCell::default(),
        }
    }

    /// The predefined attribute of communicators that `key` names.
    pub fn predefined(&self, key: c_int) -> Option<&Cell<c_int>> {
        self.predefined.get(usize::try_from(key.checked_sub(abi::MPI_TAG_UB)?).ok()?)
    }

    /// The greatest error code is another (MPI_LASTUSEDCODE).
    pub fn set_last_code(&self, code: c_int) {
        self.predefined[(abi::MPI_LASTUSEDCODE - abi::MPI_TAG_UB) as usize].set(code);
    }

    /// Takes up a key and gives its number.
    pub fn add(&self, key: AttributeKey) -> c_int {
        let mut keys = self.keys.borrow_mut();
        keys.push(key);
        FIRST_KEY + keys.len() as c_int - 1
    }

    /// Frees a key; one that was freed already may be in use still, and is freed by each who has its number.
    ///
    /// # Errors
    /// MPI_ERR_KEYVAL.
    pub fn free(&self, of: Holder, number: c_int) -> MpiResult {
        if self.key(number).is_some_and(|key| key.of == of) {
            self.keys.borrow_mut()[(number - FIRST_KEY) as usize].freed = true;
            return Ok(());
        }
        self.usable(of, number).map(|_| ())
    }

    fn key(&self, number: c_int) -> Option<AttributeKey> {
        self.keys.borrow().get(usize::try_from(number.checked_sub(FIRST_KEY)?).ok()?).copied()
    }

    /// The key with this number, for objects of this kind.
    ///
    /// # Errors
    /// MPI_ERR_KEYVAL.
    pub fn usable(&self, of: Holder, number: c_int) -> MpiResult<AttributeKey> {
        let what = match (number, of) {
            (abi::MPI_KEYVAL_INVALID, _) => "the key is MPI_KEYVAL_INVALID".to_owned(),
            (_, Holder::Comm) if self.predefined(number).is_some() => {
                format!("key {number} is of a predefined attribute: expected a key that the program made")
            }
            (abi::MPI_WIN_BASE..=abi::MPI_WIN_MODEL, Holder::Win) => {
                format!("key {number} is of a predefined attribute: expected a key that the program made")
            }
            _ => match self.key(number) {
                None => format!("{number} is no attribute key"),
                Some(AttributeKey { freed: true, .. }) => format!("attribute key {number} was freed"),
                Some(key) if key.of == of => return Ok(key),
                Some(key) => format!("attribute key {number} is of a {:?}: expected one of a {of:?}", key.of),
            },
        };
        Err(MpiError::new(abi::MPI_ERR_KEYVAL, what))
    }
}

impl MpiProcess {
    /// Calls a function of the program's within an MPI function: it may call others.
    pub fn call_back<R>(&self, function: impl FnOnce() -> R) -> R {
        let name = self.function.get();
        self.start_timer();
        let result = function();
        self.function.set(name);
        result
    }

    fn callback_result(&self, code: c_int, which: &str, number: c_int) -> MpiResult {
        expect(code == abi::MPI_SUCCESS, code, || format!("the {which} function of attribute key {number} gave {code}"))
    }

    /// The attributes that a duplicate of `from` gets of those in `list` (MPI-3.1, section 6.7.2).
    ///
    /// # Errors
    /// Of the program's functions: the duplicate is not to be made.
    pub fn copy_attributes(&self, from: Handle, list: &[(c_int, usize)]) -> MpiResult<Attributes> {
        let mut copies = Attributes::new();
        for &(number, value) in list {
            let key = self.attributes.key(number).expect("attributes have keys");
            match key.copy {
                Copying::Never => {}
                Copying::Always => copies.push((number, value)),
                Copying::Ask(copy) => {
                    let (mut new, mut attach): (usize, c_int) = (0, 0);
                    let to: *mut usize = &mut new;
                    let value = value as *mut c_void;
                    // SAFETY: the program's function.
                    let code =
                        self.call_back(|| unsafe { copy(from, number, key.extra, value, to.cast(), &mut attach) });
                    self.callback_result(code, "copy", number)?;
                    if attach != 0 {
                        copies.push((number, new));
                    }
                }
            }
        }
        Ok(copies)
    }

    /// Deletes attributes of `from`, the last one set first; all of them, whatever the program's functions say.
    ///
    /// # Errors
    /// The first of these.
    pub fn delete_attributes(&self, from: Handle, list: Attributes) -> MpiResult {
        let mut result = Ok(());
        for (number, value) in list.into_iter().rev() {
            result = result.and(self.delete_attribute(from, number, value));
        }
        result
    }

    /// Calls the function for an attribute that goes.
    ///
    /// # Errors
    /// Its error.
    pub fn delete_attribute(&self, from: Handle, number: c_int, value: usize) -> MpiResult {
        let key = self.attributes.key(number).expect("attributes have keys");
        let Some(delete) = key.delete else { return Ok(()) };
        // SAFETY: the program's function.
        let code = self.call_back(|| unsafe { delete(from, number, value as *mut c_void, key.extra) });
        self.callback_result(code, "delete", number)
    }
}

/// Puts an attribute in; the value that it had before.
pub fn put(list: &mut Attributes, key: c_int, value: usize) -> Option<usize> {
    let before = take(list, key);
    list.push((key, value));
    before
}

/// Takes an attribute out.
pub fn take(list: &mut Attributes, key: c_int) -> Option<usize> {
    let place = list.iter().position(|&(known, _)| known == key)?;
    Some(list.remove(place).1)
}

/// The value of an attribute.
pub fn find(list: &Attributes, key: c_int) -> Option<usize> {
    list.iter().find(|&&(known, _)| known == key).map(|&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_of_one_kind_of_object_until_they_are_freed() {
        let keys = AttributeKeys::new(8, 0);
        let key = AttributeKey {
            of: Holder::Type,
            copy: Copying::Always,
            delete: None,
            extra: std::ptr::null_mut(),
            freed: false,
        };
        let (a, b) = (keys.add(key), keys.add(key));
        assert!(a != b && keys.usable(Holder::Type, a).is_ok());
        let refused = |of, number| keys.usable(of, number).unwrap_err().class == abi::MPI_ERR_KEYVAL;
        assert!(refused(Holder::Comm, a) && refused(Holder::Type, b + 1) && refused(Holder::Comm, abi::MPI_TAG_UB));
        assert!(refused(Holder::Type, 0) && refused(Holder::Type, c_int::MIN) && refused(Holder::Type, c_int::MAX));
        keys.free(Holder::Type, a).unwrap();
        assert!(refused(Holder::Type, a) && keys.free(Holder::Type, a).is_ok() && keys.key(a).is_some());
        assert_eq!(keys.predefined(abi::MPI_UNIVERSE_SIZE).unwrap().get(), 8);
        assert_eq!(keys.predefined(abi::MPI_TAG_UB).unwrap().get(), c_int::MAX);
        assert!(keys.predefined(a).is_none() && keys.predefined(0).is_none());
    }

    #[test]
    fn values_are_kept_in_the_order_they_were_set() {
        let mut list = Attributes::new();
        assert_eq!((put(&mut list, 1, 10), put(&mut list, 2, 20), put(&mut list, 1, 11)), (None, None, Some(10)));
        assert_eq!(list, [(2, 20), (1, 11)]);
        assert_eq!((find(&list, 2), take(&mut list, 2), find(&list, 2)), (Some(20), Some(20), None));
    }
}
