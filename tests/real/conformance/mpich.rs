//! Compares the messages of each rank in a collective between mcpsim with `library = "mpich-4"` and the real MPICH 4.
//! Messages of MPICH are counted by the calls of UCX. MPICH is configured to treat its ranks as if they were on several
//! nodes (`MPIR_CVAR_NUM_CLIQUES`). If MPICH was built with its own shared-memory transport, messages within a node
//! cannot be counted and are excluded.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{real, sends, support};

/// Number of messages and bytes by sending rank.
type Sends = BTreeMap<u64, (u64, u64)>;

/// Collectives with message sizes in bytes, below and above each threshold of the algorithm selection. The prefix `i`
/// means a nonblocking collective.
const CASES: [(&str, &[u32]); 8] = [
    ("barrier", &[0]),
    ("bcast", &[8, 100_000, 600_000]),
    ("reduce", &[8, 100_000]),
    ("allreduce", &[8, 100_000]),
    ("ibarrier", &[0]),
    ("ibcast", &[8, 100_000]),
    ("ireduce", &[8, 100_000]),
    ("iallreduce", &[1000, 98_304]),
];

/// Number of nodes and number of ranks per node.
const SHAPES: [(u32, u32); 2] = [(2, 4), (3, 3)];

/// Returns the messages that MPICH's ranks send in a program with `times` collectives. Messages of other operations are
/// included. Returns an error if the messages cannot be counted.
fn counted(program: &Path, (nodes, per_node): (u32, u32), what: &str, bytes: u32, times: u32) -> Result<Sends, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new("mpiexec.mpich");
    command
        .env("LD_PRELOAD", program.with_file_name("ucx_sends.so"))
        .env("SENDS_TO", directory.path())
        .env("MPIR_CVAR_NUM_CLIQUES", nodes.to_string())
        .env("MPIR_CVAR_CLIQUES_BY_BLOCK", "1")
        .env("UCX_TLS", "tcp,self,sm")
        .args(["-n", &(nodes * per_node).to_string()])
        .arg(program)
        .args([what, &bytes.to_string(), &times.to_string()]);
    let ran = real::limited(&command);
    if ran.code != Some(0) {
        return Err(real::told("mpiexec.mpich", &ran));
    }
    let mut sends = Sends::new();
    for entry in fs::read_dir(directory.path()).map_err(|error| error.to_string())?.flatten() {
        let rank = entry.file_name().to_string_lossy().parse().map_err(|error| format!("{entry:?}: {error}"))?;
        let text = fs::read_to_string(entry.path()).map_err(|error| error.to_string())?;
        let counts: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [messages, bytes] = counts[..] else { return Err(format!("rank {rank}: {text}")) };
        sends.insert(rank, (messages, bytes));
    }
    let ranks = (nodes * per_node) as usize;
    if sends.len() == ranks { Ok(sends) } else { Err(format!("{} files of {ranks} ranks", sends.len())) }
}

/// Returns the messages of one collective: the difference between runs with different numbers of collectives.
fn one_more(program: &Path, shape: (u32, u32), what: &str, bytes: u32) -> Result<Sends, String> {
    let (one, three) = (counted(program, shape, what, bytes, 1)?, counted(program, shape, what, bytes, 3)?);
    sends::one_more(&one, three)
}

/// Returns the messages that mcpsim predicts, and the algorithm. Messages within a node are included if `within` is
/// true.
fn predicted(directory: &Path, (nodes, per_node): (u32, u32), within: bool, what: &str, bytes: u32) -> (Sends, String) {
    let shape = format!("{nodes},1,{per_node}");
    let (pairs, algorithm) = sends::predicted(directory, &shape, "mpich-4", what, bytes);
    let mut sends = Sends::new();
    for ((from, to), (count, sent)) in pairs {
        if within || from / u64::from(per_node) != to / u64::from(per_node) {
            let sum = sends.entry(from).or_default();
            *sum = (sum.0 + count, sum.1 + sent);
        }
    }
    (sends, algorithm)
}

#[test]
fn collectives_send_what_mpich_s_send() {
    if !support::is_full("what collectives of MPICH send") {
        return;
    }
    let directory = real::directory();
    let program = directory.path().join("sends_of");
    let source = |name: &str| real::file("tests/real/conformance").join(name);
    let compiled = |compiler: &str, options: &[&str], from: &str, to: &Path| {
        let output = Command::new(compiler).args(options).arg("-o").arg(to).arg(source(from)).output();
        output.is_ok_and(|output| output.status.success())
    };
    let library = directory.path().join("ucx_sends.so");
    if !compiled("mpicc.mpich", &[], "sends_of.c", &program)
        || !compiled("cc", &["-shared", "-fPIC"], "ucx_sends.c", &library)
    {
        return support::skipped("what MPICH sends: there is no MPICH or no C compiler");
    }
    match one_more(&program, (2, 1), "bcast", 8) {
        Ok(sends) if sends == BTreeMap::from([(0, (1, 8))]) => {}
        found => return support::not_allowed(&format!("what MPICH sends: not over UCX here: {found:?}")),
    }
    let within = one_more(&program, (1, 2), "bcast", 8).is_ok_and(|sends| !sends.is_empty());
    let mut wrong = Vec::new();
    for shape in SHAPES {
        for (what, sizes) in CASES {
            for &bytes in sizes {
                let (mine, algorithm) = predicted(directory.path(), shape, within, what, bytes);
                match one_more(&program, shape, what, bytes) {
                    Ok(theirs) if theirs == mine => {}
                    found => {
                        wrong.push(format!(
                            "{what} of {bytes} bytes on {shape:?} by {algorithm}: {mine:?}, not {found:?}"
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
