//! Interface for messages between the host processes of a run, independent of the library that carries the messages.

/// Greatest number of bytes in one message between host processes, because MPI counts are C's int.
pub const MOST: usize = 1 << 30;

/// Connection between the host processes of a run. Operations start without waiting. Messages between two host
/// processes with the same tag stay in order. A failure of an operation ends all host processes. The package
/// `mcpsim-host-mpi` implements this trait with MPI.
///
/// All methods are called by the thread that created the connection.
pub trait HostNetwork: Sync {
    /// Number of this host process, from 0.
    fn me(&self) -> u32;

    /// Number of host processes of the run.
    fn size(&self) -> u32;

    /// Number of host processes of the run on this host.
    fn here(&self) -> u32;

    /// Name of this host.
    fn host(&self) -> String;

    /// Name of the library that carries the messages, in one line.
    fn library(&self) -> String;

    /// Starts to send at most `MOST` bytes to the host process `to`.
    ///
    /// # Safety
    /// The bytes must stay in place and unchanged until the request is complete.
    unsafe fn send(&self, bytes: &[u8], to: u32, tag: i32) -> HostRequest;

    /// Starts to receive exactly `bytes.len()` bytes, at most `MOST`, from the host process `from`.
    ///
    /// # Safety
    /// The bytes must stay in place and unused until the request is complete.
    unsafe fn receive(&self, bytes: &mut [u8], from: u32, tag: i32) -> HostRequest;

    /// Returns the sender and the size of an arrived message with this tag for which no receive has started.
    fn probe(&self, tag: i32) -> Option<(u32, usize)>;

    /// Creates a reduction of words of `length` numbers, which are combined by [`super::merge_words`].
    fn reduction(&self, length: usize) -> Box<dyn HostReduction + '_>;
}

/// Reduction of words over all host processes.
pub trait HostReduction {
    /// Starts to combine the words of all host processes into `all`.
    ///
    /// # Safety
    /// Both slices must stay in place and unused until the request is complete.
    unsafe fn start(&self, word: &[u64], all: &mut [u64]) -> HostRequest;
}

/// A started send, receive or reduction.
pub struct HostRequest(Box<dyn FnMut() -> bool>);

impl HostRequest {
    /// Creates a request that is complete when `test` returns true.
    pub fn new(test: impl FnMut() -> bool + 'static) -> HostRequest {
        HostRequest(Box::new(test))
    }

    /// Returns whether the send, receive or reduction is complete.
    pub fn is_complete(&mut self) -> bool {
        (self.0)()
    }
}
