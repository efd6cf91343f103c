//! OTF2, the trace format of Score-P: C programs that are compiled against its library where they are needed.

/// Prints the events of an archive as lines, see its head.
pub const READ: &str = include_str!("otf2/read.c");

/// Makes an archive of the lines that it is given, see its head.
pub const WRITE: &str = include_str!("otf2/write.c");
