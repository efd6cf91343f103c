//! `mcpsim doctor`: lists the tools and limits of this host, and what each makes possible.

use std::process::{Command, Stdio};

use clap::Parser;

use super::exit::Failure;
use super::output::print;

/// Lists compilers, MPI libraries and limits of this host, and what each makes possible
#[derive(Clone, Debug, Parser)]
pub(super) struct DoctorArgs {}

/// Tool of the host: its command line, and what mcpsim does with it.
type HostTool = (&'static [&'static str], &'static str);

const TOOLS: &[HostTool] = &[
    (&["cc", "--version"], "C programs (mcpsim cc), recording library, OTF2 files"),
    (&["c++", "--version"], "C++ programs (mcpsim cxx)"),
    (&["mpirun.openmpi", "--version"], "programs as built for Open MPI; recording; mcpsim measure"),
    (&["mpirun.mpich", "--version"], "programs as built for MPICH; recording; mcpsim measure"),
    (&["mpirun", "--version"], "a build with the feature mpi: several hosts, mcpsim measure"),
    (&["otf2-config", "--version"], "timelines as OTF2 archives"),
    (&["git", "--version"], "mcpsim revisions"),
    (&["python3", "--version"], "the Python package; programs with mpi4py"),
];

/// Executes the command `mcpsim doctor`.
pub(super) fn doctor(_: &DoctorArgs) -> Result<(), Failure> {
    let mut text = format!("mcpsim {}\n\n", env!("CARGO_PKG_VERSION"));
    for (command, purpose) in TOOLS {
        let found = version(command).unwrap_or_else(|| "not found".to_owned());
        text.push_str(&format!("  {:<15} {found}\n  {:<15} needed for: {purpose}\n", command[0], ""));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    text.push_str(&format!("\n  cores           {cores}: the greatest useful number of --workers and of -j\n"));
    text.push_str(&format!("  measuring       {}\n", measuring(cfg!(feature = "mpi"))));
    if let Some(limit) = first_line("/proc/sys/vm/max_map_count") {
        let note = "mappings per process (vm.max_map_count): limits the ranks of programs of mcpsim cc";
        text.push_str(&format!("  mappings        {limit} {note}\n"));
    }
    if let Some(level) = first_line("/proc/sys/kernel/perf_event_paranoid") {
        let usable = level.parse().is_ok_and(|level: i32| level <= 2);
        let note = if usable { "counters of own processes can be read" } else { "counters cannot be read" };
        text.push_str(&format!("  counters        perf_event_paranoid is {level}: {note}\n"));
    }
    print(&text)
}

fn measuring(has_mpi: bool) -> &'static str {
    match has_mpi {
        true => "this mcpsim measures under mpirun, and runs on several hosts",
        false => "built without the feature mpi: mcpsim measure only with --layer tcp and --layer memory",
    }
}

fn first_line(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

/// Returns the first line that a tool prints about its version; `None` if the tool cannot be started.
fn version(command: &[&str]) -> Option<String> {
    let ran = Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("found").trim().to_owned();
    ran.status.success().then_some(line.chars().take(60).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_described_by_its_first_line_or_is_not_found() {
        assert_eq!(version(&["echo", "tool 1.2\nmore"]).as_deref(), Some("tool 1.2"));
        assert_eq!(version(&["false"]), None);
        assert_eq!(version(&["no-such-tool-of-this-host"]), None);
    }
}
