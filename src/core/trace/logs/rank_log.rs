//! Reads the log of a rank and checks the chunks of the log.

use super::super::bytes::TraceReader;
use super::super::{TraceError, checksum};
use super::{LOG, OLDEST, ORDER, VERSION};

/// Description of the run, of the rank and of the host in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogInfo {
    /// Random identifier of the run, which is equal in the logs of all ranks of a run.
    pub run: u64,
    /// MPI rank that wrote the log.
    pub rank: u32,
    /// Number of ranks of the run.
    pub ranks: u32,
    /// Whether the time of the program's code is the thread's CPU time instead of wall-clock time.
    pub by_cpu: bool,
    /// Name of the host on which the rank ran.
    pub host: String,
    /// Version text of the MPI library.
    pub library: String,
    /// Name of the recorded program.
    pub program: String,
    /// Number of cores of the host; 0 if unknown.
    pub cores: u64,
    /// Clock of the host at the beginning of the log, and the lead of rank 0's clock over the host's clock, in ns.
    pub begin: (u64, i64),
    /// Time from the first comparison of clocks to the beginning of the log, in ns.
    pub asked_before: u64,
    /// Clock of the host at the last comparison of clocks, and the lead of rank 0's clock over the host's clock, in ns.
    /// If unknown, the values of the first comparison of clocks.
    pub end: (u64, i64),
    /// Number of unsuccessful polls (such as MPI_Test), and the total time of these polls in ns.
    pub polls: (u64, u64),
    /// Whether the rank reached MPI_Finalize.
    pub finished: bool,
    /// Time in ns in which the rank was runnable but had no processor core, if known.
    pub waited: Option<u64>,
}

impl LogInfo {
    /// Drift of rank 0's clock relative to the clock of this host, as a fraction of the elapsed time. The drift follows
    /// from the comparisons of clocks at the beginning and at the end of the run.
    pub(super) fn drift(&self) -> f64 {
        let compared = self.begin.0.saturating_sub(self.asked_before);
        let length = self.end.0.saturating_sub(compared).max(1) as f64;
        (i128::from(self.end.1) - i128::from(self.begin.1)) as f64 / length
    }
}

/// Log of a rank: the description of the run, and the records of MPI calls.
#[derive(Debug, Default)]
pub struct RankLog {
    pub info: LogInfo,
    /// Version of the log's format.
    pub version: u32,
    /// Concatenated records (calls with their times) of all chunks of the log.
    pub records: Vec<u8>,
}

/// Checks that the first 16 bytes of a file begin with `magic`. Returns the format version of the file.
pub fn check_head(bytes: &[u8], magic: &[u8; 8], what: &str) -> Result<u32, TraceError> {
    let wrong = |what: String| Err(TraceError::damaged(what));
    if bytes.len() < 16 && magic.starts_with(&bytes[..bytes.len().min(8)]) {
        return wrong("truncated: the file ends within its header".to_owned());
    }
    if bytes.len() < 16 || !bytes.starts_with(magic) {
        return wrong(format!("expected {what}; found another format"));
    }
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    match (word(8), word(12)) {
        (_, order) if order == ORDER.swap_bytes() => wrong(
            "recorded on a machine of another byte order (big-endian): expected one of little-endian machines"
                .to_owned(),
        ),
        (_, order) if order != ORDER => {
            wrong(format!("damaged: expected the mark of the byte order; found {order:#x}"))
        }
        (version @ OLDEST..=VERSION, _) => Ok(version),
        (version, _) => wrong(format!(
            "version {version} of the format: expected version {OLDEST} to {VERSION}; record again with a library \
             of this mcpsim"
        )),
    }
}

impl RankLog {
    /// Reads the log of a rank. Ignores an incomplete last chunk, which a killed program may leave.
    pub fn read(bytes: &[u8]) -> Result<RankLog, TraceError> {
        let version = check_head(bytes, LOG, "the log of a rank")?;
        let (mut at, mut log, mut number, mut ended) = (16, RankLog { version, ..RankLog::default() }, 0, false);
        while bytes.len() - at >= 16 && !ended {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let (kind, length) = (word(at), word(at + 4) as usize);
            let sum = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().expect("eight bytes"));
            let Some(content) = bytes.get(at + 16..at + 16 + length) else { break };
            if checksum(content) != sum {
                return Err(TraceError::damaged(format!("damaged: chunk {number} (byte {at}) has another checksum")));
            }
            match (kind, number) {
                (0, 0) => log.begin(content)?,
                (1, 1..) => log.records.extend_from_slice(content),
                (2, 1..) => {
                    log.end(content)?;
                    ended = true;
                }
                _ => {
                    let what = format!(
                        "damaged: chunk {number} (byte {at}) has kind {kind}, which cannot be at \
                                        this position"
                    );
                    return Err(TraceError::damaged(what));
                }
            }
            (at, number) = (at + 16 + length, number + 1);
        }
        if number == 0 {
            return Err(TraceError::damaged("truncated: the file ends before the description of its rank".to_owned()));
        }
        if ended && at != bytes.len() {
            return Err(TraceError::damaged(format!("damaged: {} bytes after its end", bytes.len() - at)));
        }
        Ok(log)
    }

    fn begin(&mut self, content: &[u8]) -> Result<(), TraceError> {
        let mut reader = TraceReader::new(content, 0);
        reader.part("the beginning");
        let text = |reader: &mut TraceReader<'_>, what| reader.text(what).map(str::to_owned);
        let run = u64::from_le_bytes(reader.array("a run's number")?);
        let (rank, ranks) = (reader.word("a rank")?, reader.at_most(1 << 24, "a number of ranks")? as u32);
        if rank >= ranks {
            return Err(reader.error(format_args!("expected a rank below {ranks}; found {rank}")));
        }
        let by_cpu = reader.number()? != 0;
        let begin = (u64::from_le_bytes(reader.array("a time")?), i64::from_le_bytes(reader.array("a time")?));
        let host = text(&mut reader, "a host")?;
        let (library, program) = (text(&mut reader, "a library")?, text(&mut reader, "a program")?);
        // In logs of older recording libraries, the description ends before this item.
        let cores = if reader.rest() > 0 { reader.number()? } else { 0 };
        let asked_before = if reader.rest() > 0 { reader.number()? } else { 0 };
        let (end, rest) = (begin, LogInfo::default());
        self.info =
            LogInfo { run, rank, ranks, by_cpu, host, library, program, cores, begin, asked_before, end, ..rest };
        Ok(())
    }

    fn end(&mut self, content: &[u8]) -> Result<(), TraceError> {
        let mut reader = TraceReader::new(content, 0);
        reader.part("the end");
        self.info.end = (u64::from_le_bytes(reader.array("a time")?), i64::from_le_bytes(reader.array("a time")?));
        reader.number()?;
        self.info.polls = (reader.number()?, reader.number()?);
        self.info.finished = reader.number()? == 1;
        self.info.waited = if reader.rest() > 0 { Some(reader.number()?) } else { None };
        Ok(())
    }
}
