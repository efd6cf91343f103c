//! OTF2, the trace format of Score-P: C programs that are compiled against its library when needed.

/// Name of the trace for replays, in the directory of an archive that mcpsim wrote: OTF2 events lack collective calls,
/// tags and requests.
pub const TRACE: &str = "mcpsim.trace";

/// Prints the events of an archive as lines; see the head of the file.
pub const READ: &str = include_str!("otf2/read.c");

/// Creates an archive from lines; see the head of the file.
pub const WRITE: &str = include_str!("otf2/write.c");
