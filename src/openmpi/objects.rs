//! Objects to which handles of Open MPI point. Open MPI's libraries for Fortran read some of their fields, so the fields
//! have the offsets of Open MPI 4.

use std::sync::{Mutex, PoisonError};

use mcpsim_core::mpi::abi as standard;

/// Upper half of the first word of an object. The lower half is the standard handle.
const MARK: usize = 0x6d63_7073 << 32;

/// Number of words of an object that the program creates.
const WORDS: usize = 64;

/// Word of a group that contains the Fortran handle, which is the standard handle, or the index of a predefined group.
const GROUP_INDEX: usize = 3;
/// Word of a request that contains the Fortran handle.
const REQUEST_INDEX: usize = 13;
/// Word of a generalised request whose low byte is 0 if the request's functions are Fortran code.
const REQUEST_LANGUAGE: usize = 24;
/// Word of a reduction operation with the flags in the upper half.
const OP_FLAGS: usize = 10;
/// Flag of an operation whose function is Fortran code.
const OP_FORTRAN: usize = 2 << 32;
/// Word of a communicator, a datatype and a window with the table of attributes. Here the word is the standard handle.
const ATTRIBUTES: [usize; 3] = [34, 26, 30];
/// Word of a communicator with flags, of which the lowest means an intercommunicator.
const COMM_FLAGS: usize = 29;
/// Words of a communicator with the addresses of the local and the remote group.
const COMM_GROUPS: [usize; 2] = [31, 32];
/// First words of the local and of the remote group within a communicator. The number of ranks follows two words later.
const GROUPS: [usize; 2] = [48, 52];

/// Kinds of handles, as in the low bits of a handle that the program has created.
const KIND_GROUP: usize = 2;
const KIND_REQUEST: usize = 5;

/// Writes the fields of the object with the standard handle `handle`.
pub const fn fill(object: &mut [usize], handle: usize) {
    object[0] = MARK | handle;
    if object.len() >= WORDS {
        object[ATTRIBUTES[0]] = handle;
        object[ATTRIBUTES[1]] = handle;
        object[ATTRIBUTES[2]] = handle;
    }
    if handle == standard::MPI_GROUP_EMPTY {
        object[GROUP_INDEX] = 1;
    }
    if handle >= standard::FIRST_USER {
        match (handle - standard::FIRST_USER) & 15 {
            KIND_GROUP => object[GROUP_INDEX] = handle,
            KIND_REQUEST => {
                object[REQUEST_INDEX] = handle;
                object[REQUEST_LANGUAGE] = 1;
            }
            _ => {}
        }
    }
}

/// Addresses of the objects that the program has created, by the kind and the index of the handle.
static OBJECTS: Mutex<[Vec<usize>; 16]> = Mutex::new([const { Vec::new() }; 16]);

/// Returns the address of the object with the standard handle `handle`, which the program has created.
pub fn address(handle: usize) -> usize {
    let rest = handle - standard::FIRST_USER;
    let (kind, index) = (rest & 15, rest >> 4);
    let mut all = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    let objects = &mut all[kind];
    if objects.len() <= index {
        objects.resize(index + 1, 0);
    }
    if objects[index] == 0 {
        let object: &'static mut [usize; WORDS] = Box::leak(Box::new([0; WORDS]));
        fill(object, handle);
        objects[index] = std::ptr::from_mut(object) as usize;
    }
    objects[index]
}

/// Returns the standard handle of the object at `address`, or a number that is no handle.
#[inline]
pub fn handle_of(address: usize) -> usize {
    // The first page of an address space contains no object.
    if address < 0x1000 {
        return usize::MAX;
    }
    // SAFETY: handles of the program are addresses of objects.
    let word = unsafe { *(address as *const usize) };
    if word & !0xffff_ffff == MARK { word & 0xffff_ffff } else { usize::MAX }
}

/// Clears the flags of a new operation.
pub unsafe fn new_operation(operation: usize) {
    // SAFETY: the caller passes the address of an operation.
    unsafe { *(operation as *mut usize).add(OP_FLAGS) = 0 };
}

/// Returns true if the function of the operation at `operation` is Fortran code.
pub unsafe fn is_fortran_operation(operation: usize) -> bool {
    // SAFETY: as in `new_operation`.
    operation != 0 && unsafe { *(operation as *const usize).add(OP_FLAGS) & OP_FORTRAN != 0 }
}

/// Notes whether the functions of the generalised request at `request` are Fortran code.
pub unsafe fn set_fortran_request(request: usize, is_fortran: bool) {
    // SAFETY: the caller passes the address of a request.
    unsafe { *(request as *mut usize).add(REQUEST_LANGUAGE) = usize::from(!is_fortran) };
}

/// Returns true if the functions of the generalised request at `request` are Fortran code.
pub unsafe fn is_fortran_request(request: usize) -> bool {
    // SAFETY: the caller passes the address of a request, or 0 for a request that could not start.
    request != 0 && unsafe { *(request as *const usize).add(REQUEST_LANGUAGE) & 0xff == 0 }
}

/// Clears the sizes of the communicator at `comm`, whose handle becomes free.
pub unsafe fn forget_comm(comm: usize) {
    if handle_of(comm) >= standard::FIRST_USER && handle_of(comm) != usize::MAX {
        // SAFETY: an object that the program has created has `WORDS` words.
        unsafe { *(comm as *mut usize).add(COMM_GROUPS[0]) = 0 };
    }
}

/// Writes the sizes of the groups of the communicator at `comm`. `remote` is the size of the remote group of an
/// intercommunicator.
pub unsafe fn set_sizes(comm: usize, local: u32, remote: Option<u32>) {
    let object = comm as *mut usize;
    // SAFETY: the caller passes the address of a communicator, which has `WORDS` words.
    unsafe {
        *object.add(COMM_FLAGS) = usize::from(remote.is_some());
        for (index, size) in [local, remote.unwrap_or(local)].into_iter().enumerate() {
            let group = object.add(GROUPS[index]);
            *group.add(2) = size as usize;
            *object.add(COMM_GROUPS[index]) = group as usize;
        }
    }
}

/// Returns true if [`set_sizes`] has written the sizes of the communicator at `comm`.
pub unsafe fn has_sizes(comm: usize) -> bool {
    // SAFETY: as in `set_sizes`.
    unsafe { *(comm as *const usize).add(COMM_GROUPS[0]) != 0 }
}
