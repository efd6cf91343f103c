//! OTF2, the trace format of Score-P: C programs that are compiled against the OTF2 library when needed.

/// File name of mcpsim's own trace in the directory of an OTF2 archive that mcpsim wrote. mcpsim replays this file,
/// because the OTF2 events lack collective calls, tags and requests.
pub const TRACE: &str = "mcpsim.trace";

/// C program that prints the events of an archive as lines; the comment at its beginning describes them.
pub const READ: &str = include_str!("otf2/read.c");

/// C program that creates an archive from lines; the comment at its beginning describes them.
pub const WRITE: &str = include_str!("otf2/write.c");
