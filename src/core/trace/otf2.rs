//! OTF2, the trace format of Score-P. C programs read and write OTF2 archives; mcpsim compiles them against the OTF2
//! library when needed.

/// File name of mcpsim's own trace in the directory of an OTF2 archive that mcpsim wrote. mcpsim replays this file,
/// because the OTF2 events lack collective calls, tags and requests.
pub const TRACE: &str = "mcpsim.trace";

/// C program that prints the events of an OTF2 archive as lines. The comment at the beginning of the program describes
/// the lines.
pub const READ: &str = include_str!("otf2/read.c");

/// C program that creates an OTF2 archive from lines. The comment at the beginning of the program describes the lines.
pub const WRITE: &str = include_str!("otf2/write.c");
