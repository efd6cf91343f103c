//! The host processes that simulate together, and what they tell each other beside events.
//!
//! All of them go through the same program; where a function here says "all", each has to call it, in the same order.
//! The first process, which has rank 0, is the one that users hear of: it reads files, prints, and has the result.

use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "mpi")]
use super::transport::mpi::{TransportWorld, end_all, leave, leave_soon};

/// What ranks print: each process collects what its own have printed, the first shows it.
pub trait Screen: Sync {
    /// Takes what there is to be sent to the first process, in whole pieces.
    fn collect(&self) -> Vec<u8>;
    /// Shows what another process has collected; on the first only.
    fn show(&self, printed: &[u8]);
}

/// Ranks that print nothing.
impl Screen for () {
    fn collect(&self) -> Vec<u8> {
        Vec::new()
    }
    fn show(&self, _: &[u8]) {}
}

/// How many threads of a process there are to be beside the one that calls MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostThreads {
    /// None: MPI is as fast as for programs that have none.
    None,
    /// Workers.
    Several,
}

/// The host processes of a run.
#[derive(Default)]
pub struct Processes {
    #[cfg(feature = "mpi")]
    world: Option<TransportWorld>,
}

impl Processes {
    /// This process alone.
    pub fn one() -> Self {
        Processes::default()
    }

    /// The processes that an MPI launcher has started, of which there are several: starts MPI.
    ///
    /// # Errors
    /// If this build cannot, or the processes do not find each other.
    #[cfg(feature = "mpi")]
    pub fn join(threads: HostThreads) -> Result<Self, String> {
        let world = TransportWorld::join(threads)?;
        if world.size == 1 {
            return Err(format!(
                "but its MPI library, {}, finds no other: start it with that library's own launcher",
                TransportWorld::library()
            ));
        }
        let processes = Processes { world: Some(world) };
        let version = || (env!("CARGO_PKG_VERSION").to_owned(), std::mem::size_of::<super::event::Event>() as u64);
        match processes.broadcast(version) == version() {
            true => Ok(processes),
            false => Err("with several versions of mcpsim: expected the same everywhere".to_owned()),
        }
    }

    /// As the other: this build has no MPI.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "mpi"))]
    pub fn join(_: HostThreads) -> Result<Self, String> {
        Err("but this build simulates in one process: build one that can with cargo build --release --features mpi, \
             which needs an MPI library and libclang (see docs/guide/many-hosts.md)"
            .to_owned())
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.size;
        }
        1
    }

    /// Which this is, from 0 on.
    pub fn me(&self) -> u32 {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.me;
        }
        0
    }

    /// Whether this is the one that users hear of.
    pub fn is_first(&self) -> bool {
        self.me() == 0
    }

    /// "process 3 on node17", for errors that only one has.
    pub fn name(&self) -> String {
        #[cfg(feature = "mpi")]
        if self.world.is_some() {
            return format!("process {} on {}", self.me(), TransportWorld::host());
        }
        "the process".to_owned()
    }

    /// Gives all what the first process makes.
    pub fn broadcast<T: Serialize + DeserializeOwned>(&self, make: impl FnOnce() -> T) -> T {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            if world.me == 0 {
                let value = make();
                world.broadcast(&mut packed(&value));
                return value;
            }
            let mut bytes = Vec::new();
            world.broadcast(&mut bytes);
            return unpacked(&bytes);
        }
        make()
    }

    /// Gives the first process what all have, in order of processes; the others get nothing.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, value: T) -> Vec<T> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let all = world.gather(packed(&value));
            return all.iter().map(|bytes| unpacked(bytes)).collect();
        }
        vec![value]
    }

    #[cfg(feature = "mpi")]
    pub(super) fn world(&self) -> Option<&TransportWorld> {
        self.world.as_ref()
    }
}

#[cfg(feature = "mpi")]
fn packed<T: Serialize + DeserializeOwned>(value: &T) -> Vec<u8> {
    let bytes = postcard::to_stdvec(value).expect("a vector takes everything");
    // The format has no field names: a type that leaves out fields where it is written for users cannot be read back.
    debug_assert!(
        postcard::take_from_bytes::<T>(&bytes).is_ok_and(|(_, rest)| rest.is_empty()),
        "{} can be packed but not unpacked",
        std::any::type_name::<T>()
    );
    bytes
}

#[cfg(feature = "mpi")]
fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("what a process of the same version has packed")
}

/// Ends this process with this code, and with it all others of the run, from whatever thread and wherever they are.
pub fn end_processes(code: i32) -> ! {
    #[cfg(feature = "mpi")]
    end_all(code);
    std::process::exit(code)
}

/// Ends this process with this code, where the launcher or the user ends all of them.
pub fn end_process(code: i32) -> ! {
    #[cfg(feature = "mpi")]
    leave(code);
    std::process::exit(code)
}

/// Ends this process with this code if it has not ended by itself in a moment: the others may be gone, and MPI wait for
/// them.
pub fn end_process_soon(code: i32) {
    #[cfg(feature = "mpi")]
    leave_soon(code);
    let _ = code;
}
