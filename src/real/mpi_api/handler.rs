//! Error handlers, and error classes and codes added by programs (MPI-3.1, sections 8.3 to 8.5).
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::c_int;

use crate::mpi_api::attribute::Holder;
use crate::mpi_api::error::{MpiError, MpiResult, On, class_text, expect};
use crate::mpi_api::handles::{HandleKind, HandleTable};
use crate::mpi_api::process::MpiProcess;
use crate::process::RankStage;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::rank::FailureKind;

/// Function type of error handlers, such as `MPI_Comm_errhandler_function`.
pub type HandlerFunction = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);

/// An error handler that the program has created.
#[derive(Debug)]
struct Handler {
    of: Holder,
    function: HandlerFunction,
    /// Number of handles that the program has for the error handler. An error handler that an MPI object uses remains
    /// valid even if the program has no handle for the error handler.
    handles: u32,
}

/// An error class or error code that the program has added.
#[derive(Debug)]
struct Added {
    class: c_int,
    text: String,
}

/// Error handlers and added error codes of a rank.
#[derive(Debug)]
pub struct Errors {
    handlers: RefCell<HandleTable<Handler>>,
    added: RefCell<Vec<Added>>,
}

/// First error code that a program can add.
const FIRST_ADDED: c_int = abi::MPI_ERR_LASTCODE + 1;

fn bad_handler(handle: Handle) -> MpiError {
    let what = match handle {
        abi::MPI_ERRHANDLER_NULL => "the error handler is MPI_ERRHANDLER_NULL".to_owned(),
        _ => format!("{handle:#x} is no handle of an error handler"),
    };
    MpiError::new(abi::MPI_ERR_ERRHANDLER, what)
}

fn is_predefined(handle: Handle) -> bool {
    [abi::MPI_ERRORS_ARE_FATAL, abi::MPI_ERRORS_ABORT, abi::MPI_ERRORS_RETURN].contains(&handle)
}

impl Errors {
    /// Creates tables without error handlers and without added error codes.
    pub const fn new() -> Self {
        Errors { handlers: RefCell::new(HandleTable::new(HandleKind::Errhandler)), added: RefCell::new(Vec::new()) }
    }

    /// Adds an error handler to the rank's table and returns the handle of the error handler.
    pub fn add_handler(&self, of: Holder, function: HandlerFunction) -> Handle {
        self.handlers.borrow_mut().insert(Handler { of, function, handles: 1 })
    }

    /// Checks that MPI objects of the class `of` can use the error handler `handle`.
    pub fn usable(&self, of: Holder, handle: Handle) -> MpiResult {
        if is_predefined(handle) {
            return Ok(());
        }
        match self.handlers.borrow().get(handle) {
            Some(handler) if handler.handles == 0 => Err(bad_handler(handle)),
            Some(handler) => expect(handler.of == of, abi::MPI_ERR_ERRHANDLER, || {
                format!("the error handler is for a {:?}: expected one for a {of:?}", handler.of)
            }),
            None => Err(bad_handler(handle)),
        }
    }

    /// Counts another handle of the program for an error handler that an MPI object uses.
    pub fn hand_out(&self, handle: Handle) {
        if let Some(handler) = self.handlers.borrow_mut().get_mut(handle) {
            handler.handles += 1;
        }
    }

    /// Removes one of the program's handles for an error handler.
    pub fn free(&self, handle: Handle) -> MpiResult {
        if is_predefined(handle) {
            return Ok(());
        }
        match self.handlers.borrow_mut().get_mut(handle) {
            Some(handler) if handler.handles > 0 => handler.handles -= 1,
            _ => return Err(bad_handler(handle)),
        }
        Ok(())
    }

    fn function(&self, handle: Handle) -> Option<HandlerFunction> {
        self.handlers.borrow().get(handle).map(|handler| handler.function)
    }

    /// Adds an error class, or an error code of the class `class`.
    pub fn add_code(&self, class: Option<c_int>) -> MpiResult<c_int> {
        if let Some(class) = class {
            expect(self.class(class) == Some(class), abi::MPI_ERR_ARG, || format!("{class} is no error class"))?;
        }
        let mut added = self.added.borrow_mut();
        let code = FIRST_ADDED + added.len() as c_int;
        added.push(Added { class: class.unwrap_or(code), text: String::new() });
        Ok(code)
    }

    /// Sets the text of an error class or error code that the program has added.
    pub fn set_text(&self, code: c_int, text: String) -> MpiResult {
        match self.added.borrow_mut().get_mut(code.wrapping_sub(FIRST_ADDED) as usize) {
            Some(added) => added.text = text,
            None => return Err(MpiError::new(abi::MPI_ERR_ARG, format!("{code} is no error code that was added"))),
        }
        Ok(())
    }

    /// Returns the error class of the error code `code`.
    pub fn class(&self, code: c_int) -> Option<c_int> {
        if class_text(code).is_some() {
            return Some(code);
        }
        self.added.borrow().get(code.wrapping_sub(FIRST_ADDED) as usize).map(|added| added.class)
    }

    /// Returns the text of the error code `code`.
    pub fn text(&self, code: c_int) -> Option<Cow<'static, str>> {
        let added = self.added.borrow();
        let own = || added.get(code.wrapping_sub(FIRST_ADDED) as usize).map(|added| added.text.clone().into());
        class_text(code).map(Cow::Borrowed).or_else(own)
    }
}

/// Returns the name of an error class or error code, such as "MPI_ERR_TRUNCATE".
fn code_name(code: c_int) -> String {
    match class_text(code).and_then(|text| text.split_once(':')) {
        Some((name, _)) => name.to_owned(),
        None => format!("error code {code}"),
    }
}

impl MpiProcess {
    /// Calls the responsible error handler for the error, and returns the error code that the MPI function returns.
    #[cold]
    pub fn raise(&self, error: MpiError) -> c_int {
        let (class, what, on) = (error.class, &error.what, error.on);
        if on == On::Nobody {
            return class;
        }
        let text = |place: &str| match what.is_empty() {
            true => format!("{}{place}", code_name(class)),
            false => format!("{}{place}: {what}", code_name(class)),
        };
        if self.stage.get() != RankStage::Initialised {
            self.fail(FailureKind::Error, text(""));
        }
        let of_comm = |handle| Some((handle, self.comm(handle).ok()?.errhandler.get()));
        let of_win = |handle| Some((handle, self.of_window(handle).ok()?.errhandler.get()));
        let found = match on {
            On::Comm(comm) => of_comm(comm),
            On::Win(win) => of_win(win),
            On::World | On::Nobody => self.given.get().and_then(of_comm),
        };
        let (object, handler) = found.unwrap_or_else(|| (abi::MPI_COMM_WORLD, self.world.errhandler.get()));
        if handler == abi::MPI_ERRORS_RETURN {
            return class;
        }
        match self.errors.function(handler) {
            Some(function) => {
                let (mut object, mut code) = (object, class);
                // SAFETY: the program registered the function with this signature, and both pointers point to local
                // variables.
                self.call_back(|| unsafe { function(&mut object, &mut code) });
                class
            }
            None => {
                let place = match (on, self.comm(object)) {
                    (On::Win(win), _) => format!(" on window {win:#x}"),
                    (_, Ok(comm)) => format!(" on {}", comm.describe()),
                    (_, Err(_)) => String::new(),
                };
                self.fail(FailureKind::Error, text(&place))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn function(_: *mut Handle, _: *mut c_int) {}

    #[test]
    fn a_handler_in_use_outlives_its_handles() {
        let errors = Errors::new();
        // SAFETY: the function pointer is not null, and the test never calls the function.
        let function = unsafe { std::mem::transmute::<usize, HandlerFunction>(function as *const () as usize) };
        let handle = errors.add_handler(Holder::Comm, function);
        assert_eq!(errors.usable(Holder::Comm, handle), Ok(()));
        assert_eq!(errors.usable(Holder::Win, handle).unwrap_err().class, abi::MPI_ERR_ERRHANDLER);
        errors.hand_out(handle);
        errors.free(handle).unwrap();
        assert!(errors.usable(Holder::Comm, handle).is_ok());
        errors.free(handle).unwrap();
        assert!(errors.usable(Holder::Comm, handle).is_err() && errors.free(handle).is_err());
        assert!(errors.function(handle).is_some());
        assert!(
            errors.usable(Holder::Win, abi::MPI_ERRORS_RETURN).is_ok() && errors.free(abi::MPI_ERRORS_ABORT).is_ok()
        );
        assert!(errors.usable(Holder::Comm, abi::MPI_ERRHANDLER_NULL).is_err());
    }

    #[test]
    fn added_codes_have_classes_and_texts() {
        let errors = Errors::new();
        let class = errors.add_code(None).unwrap();
        let code = errors.add_code(Some(class)).unwrap();
        assert!(class > abi::MPI_ERR_LASTCODE && code > class);
        assert_eq!((errors.class(class), errors.class(code), errors.class(code + 1)), (Some(class), Some(class), None));
        assert_eq!(errors.class(abi::MPI_ERR_TRUNCATE), Some(abi::MPI_ERR_TRUNCATE));
        assert!(errors.add_code(Some(code)).is_err() && errors.add_code(Some(-1)).is_err());
        errors.set_text(code, "mine".to_owned()).unwrap();
        assert_eq!((errors.text(code).as_deref(), errors.text(class).as_deref()), (Some("mine"), Some("")));
        assert!(errors.set_text(abi::MPI_ERR_ARG, String::new()).is_err() && errors.text(c_int::MIN).is_none());
        assert_eq!((&*code_name(abi::MPI_ERR_TAG), &*code_name(code)), ("MPI_ERR_TAG", "error code 16385"));
    }
}
