//! The host processes of a run, and the communication between host processes except for events.
//!
//! All host processes execute the same program with the same arguments. A function whose description names "all"
//! processes must be called by each host process, in the same order. The first host process, with MPI rank 0, reads
//! files, prints, and has the result.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::transport::processes::{HostNetwork, TransportWorld};

/// Printed output of the simulated ranks. Each host process collects the output of its own ranks, and the first host
/// process prints the output.
pub trait Screen: Sync {
    /// Returns the collected output for the first host process, in whole pieces.
    fn collect(&self) -> Vec<u8>;
    /// Prints the output that another host process collected; called in the first host process only.
    fn show(&self, printed: &[u8]);
}

/// The output of ranks that print nothing.
impl Screen for () {
    fn collect(&self) -> Vec<u8> {
        Vec::new()
    }
    fn show(&self, _: &[u8]) {}
}

/// Threads of a host process in addition to the thread that calls MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostThreads {
    /// No other threads, so MPI is as fast as in single-threaded programs.
    None,
    /// Several worker threads.
    Several,
}

/// Host processes of a run.
#[derive(Default)]
pub struct Processes {
    world: Option<TransportWorld>,
}

impl Processes {
    /// Creates a run whose only host process is this process.
    pub fn one() -> Self {
        Processes::default()
    }

    /// Creates a run of several host processes that are connected by `network`.
    ///
    /// # Errors
    /// There are no other host processes, or another host process has another version of mcpsim.
    pub fn over(network: Box<dyn HostNetwork>) -> Result<Self, String> {
        let world = TransportWorld::new(network);
        if world.size == 1 {
            return Err(format!(
                "but its MPI library, {}, finds no other process: use the launcher of that MPI library",
                world.network.library()
            ));
        }
        let processes = Processes { world: Some(world) };
        let version = || (env!("CARGO_PKG_VERSION").to_owned(), std::mem::size_of::<super::event::Event>() as u64);
        match processes.broadcast(version) == version() {
            true => Ok(processes),
            false => Err("with several versions of mcpsim: expected the same version on all hosts".to_owned()),
        }
    }

    /// Returns the number of host processes.
    pub fn count(&self) -> u32 {
        self.world.as_ref().map_or(1, |world| world.size)
    }

    /// Returns the number of this host process, from 0.
    pub fn me(&self) -> u32 {
        self.world.as_ref().map_or(0, |world| world.me)
    }

    /// Returns whether this is the first host process.
    pub fn is_first(&self) -> bool {
        self.me() == 0
    }

    /// Returns a name such as "process 3 on node17", for error messages that concern a single host process.
    pub fn name(&self) -> String {
        match &self.world {
            Some(world) => format!("process {} on {}", world.me, world.network.host()),
            None => "the process".to_owned(),
        }
    }

    /// Sends the value that `make` returns in the first host process to all host processes.
    pub fn broadcast<T: Serialize + DeserializeOwned>(&self, make: impl FnOnce() -> T) -> T {
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

    /// Returns the values of all host processes to the first host process, in the order of processes. The other host
    /// processes receive an empty vector.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, value: T) -> Vec<T> {
        if let Some(world) = &self.world {
            let all = world.gather(packed(&value));
            return all.iter().map(|bytes| unpacked(bytes)).collect();
        }
        vec![value]
    }

    pub(super) fn world(&self) -> Option<&TransportWorld> {
        self.world.as_ref()
    }
}

fn packed<T: Serialize + DeserializeOwned>(value: &T) -> Vec<u8> {
    let bytes = postcard::to_stdvec(value).expect("a vector takes everything");
    // The format has no field names, so a type that omits fields when it is serialized cannot be read back.
    debug_assert!(
        postcard::take_from_bytes::<T>(&bytes).is_ok_and(|(_, rest)| rest.is_empty()),
        "{} can be packed but not unpacked",
        std::any::type_name::<T>()
    );
    bytes
}

fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).expect("what a process of the same version has packed")
}
