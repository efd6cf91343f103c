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

/// Attribute keys with their values, in the order in which the program set the attributes.
pub type Attributes = Vec<(c_int, usize)>;

/// Class of MPI objects with attributes: communicators, datatypes or windows. Each class of objects has separate
/// attribute keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Holder {
    Comm,
    Type,
    Win,
}

/// Function of a program that copies an attribute. The arguments are object, key, extra state, value, location of the
/// new value, and location of a flag. The copy function sets the flag if the duplicate gets the attribute.
pub type CopyFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Function of a program that is called when an attribute is deleted. The arguments are object, key, value and extra
/// state.
pub type DeleteFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// Treatment of an attribute when the object with the attribute is duplicated.
#[derive(Clone, Copy, Debug)]
pub enum Copying {
    /// MPI_NULL_COPY_FN: the attribute is not copied.
    Never,
    /// MPI_DUP_FN: the attribute is copied.
    Always,
    /// The program's copy function in the field decides whether the attribute is copied.
    Ask(CopyFunction),
}

/// An attribute key of the program.
#[derive(Clone, Copy, Debug)]
pub struct AttributeKey {
    pub of: Holder,
    pub copy: Copying,
    /// Function of the program that is called when an attribute with the key is deleted.
    pub delete: Option<DeleteFunction>,
    /// Extra state that is passed to the copy function and to the delete function.
    pub extra: *mut c_void,
    /// True after MPI_Comm_free_keyval or a similar function. A freed key exists as long as attributes use the key.
    pub freed: bool,
}

/// Value of the first attribute key that a program creates.
const FIRST_KEY: c_int = 1024;

/// Attribute keys of a rank, and the values of predefined attributes.
#[derive(Debug)]
pub struct AttributeKeys {
    keys: RefCell<Vec<AttributeKey>>,
    /// Integers to which the values of predefined attributes point. The first integer is the value of
    /// [`abi::MPI_TAG_UB`].
    predefined: [Cell<c_int>; 7],
    /// Attributes of windows, by window handle. The creation of a window adds its attributes, and MPI_Win_free
    /// removes the attributes.
    pub windows: RefCell<BTreeMap<Handle, Rc<OfWindow>>>,
}

/// Attributes of a window.
#[derive(Debug)]
pub struct OfWindow {
    pub attributes: RefCell<Attributes>,
    /// Values of MPI_WIN_BASE and related attributes, as MPI_Win_get_attr returns the values.
    pub predefined: Attributes,
    pub errhandler: Cell<Handle>,
}

impl OfWindow {
    /// Creates the attributes of a new window.
    pub fn new(predefined: Attributes) -> Self {
        OfWindow { attributes: RefCell::default(), predefined, errhandler: Cell::new(abi::MPI_ERRORS_ARE_FATAL) }
    }
}

impl AttributeKeys {
    /// Creates the table of attribute keys for a rank. The rank runs the program with the index `program` in a run
    /// with `size` ranks.
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

    /// Returns the value of the predefined communicator attribute `key`.
    pub fn predefined(&self, key: c_int) -> Option<&Cell<c_int>> {
        self.predefined.get(usize::try_from(key.checked_sub(abi::MPI_TAG_UB)?).ok()?)
    }

    /// Sets the value of the attribute MPI_LASTUSEDCODE, which is the greatest error code.
    pub fn set_last_code(&self, code: c_int) {
        self.predefined[(abi::MPI_LASTUSEDCODE - abi::MPI_TAG_UB) as usize].set(code);
    }

    /// Adds an attribute key and returns the integer that identifies the key in the program.
    pub fn add(&self, key: AttributeKey) -> c_int {
        let mut keys = self.keys.borrow_mut();
        keys.push(key);
        FIRST_KEY + keys.len() as c_int - 1
    }

    /// Frees an attribute key. Attributes may still use a freed key, and the program may free the key again.
    ///
    /// # Errors
    /// MPI_ERR_KEYVAL if `number` is not a valid attribute key for objects of the class `of`.
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

    /// Returns the attribute key with the value `number` if the key belongs to objects of the class `of`.
    ///
    /// # Errors
    /// MPI_ERR_KEYVAL if `number` is not a valid attribute key for objects of the class `of`.
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
    /// Calls a function of the program within an MPI function. The function of the program may call MPI functions.
    pub fn call_back<R>(&self, function: impl FnOnce() -> R) -> R {
        let name = self.function.get();
        self.start_timer();
        let result = self.counts.within(function);
        self.function.set(name);
        result
    }

    fn callback_result(&self, code: c_int, which: &str, number: c_int) -> MpiResult {
        expect(code == abi::MPI_SUCCESS, code, || format!("the {which} function of attribute key {number} gave {code}"))
    }

    /// Calls the copy functions of the attributes in `list`, and returns the attributes of a duplicate of the object
    /// `from` (MPI-3.1, section 6.7.2).
    ///
    /// # Errors
    /// A copy function of the program returns an error, and the duplicate must not be created.
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
                    // SAFETY: the program registered the function with this signature, and the two result pointers
                    // point to local variables.
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

    /// Deletes the attributes in `list` of the object `from` in reverse order of creation. If a delete function returns
    /// an error, the remaining attributes are still deleted.
    ///
    /// # Errors
    /// The first error that a delete function of an attribute returned.
    pub fn delete_attributes(&self, from: Handle, list: Attributes) -> MpiResult {
        let mut result = Ok(());
        for (number, value) in list.into_iter().rev() {
            result = result.and(self.delete_attribute(from, number, value));
        }
        result
    }

    /// Calls the delete function of an attribute of the object `from`.
    ///
    /// # Errors
    /// The error that the delete function of the attribute returned.
    pub fn delete_attribute(&self, from: Handle, number: c_int, value: usize) -> MpiResult {
        let key = self.attributes.key(number).expect("attributes have keys");
        let Some(delete) = key.delete else { return Ok(()) };
        // SAFETY: the program registered the function with this signature, and provided the value and the extra
        // state.
        let code = self.call_back(|| unsafe { delete(from, number, value as *mut c_void, key.extra) });
        self.callback_result(code, "delete", number)
    }
}

/// Sets an attribute and returns the attribute's previous value.
pub fn put(list: &mut Attributes, key: c_int, value: usize) -> Option<usize> {
    let before = take(list, key);
    list.push((key, value));
    before
}

/// Removes an attribute and returns the attribute's value.
pub fn take(list: &mut Attributes, key: c_int) -> Option<usize> {
    let place = list.iter().position(|&(known, _)| known == key)?;
    Some(list.remove(place).1)
}

/// Returns the value of the attribute `key` in `list`.
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
