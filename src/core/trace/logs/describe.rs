//! Text descriptions of a recording of a real run.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::{LogInfo, LoggedCall, Logs};

/// Formats nanoseconds as a text in seconds.
fn seconds(ns: u64) -> String {
    format!("{:.6} s", ns as f64 * 1e-9)
}

/// Statistics of the calls of one MPI function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTimes {
    /// Number of calls of the function.
    pub calls: u64,
    /// Number of bytes that the calls sent.
    pub bytes: u64,
    /// Sum of the times of the calls in ns.
    pub total: u64,
    /// Time of the shortest call in ns.
    pub least: u64,
    /// Time of the longest call in ns.
    pub most: u64,
}

impl FunctionTimes {
    fn add(&mut self, bytes: u64, duration: u64) {
        self.least = if self.calls == 0 { duration } else { self.least.min(duration) };
        self.most = self.most.max(duration);
        self.calls += 1;
        self.bytes += bytes;
        self.total = self.total.saturating_add(duration);
    }
}

/// A call of a rank with its measured times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSpan {
    /// Start of the call on rank 0's clock in ns, counted from the beginning of the first rank.
    pub start: u64,
    /// Duration of the MPI call in ns.
    pub length: u64,
    /// Name of the called MPI function.
    pub name: &'static str,
}

impl Logs {
    /// Calls of the main thread of `rank`, in order.
    fn main_steps(&self, rank: u32) -> impl Iterator<Item = LoggedCall> + '_ {
        self.steps(rank).filter(|step| step.thread == 0)
    }

    /// Number of threads of `rank`, with the main thread.
    pub fn threads(&self, rank: u32) -> u32 {
        self.resolved[rank as usize].threads.as_ref().map_or(1, |of| of.threads.len() as u32)
    }

    /// Returns the calls of the main thread of each rank with their times. Times of other hosts are converted to rank 0's clock. The
    /// clocks are compared at the beginning and at the end of the run and interpolated linearly in between.
    pub fn spans(&self) -> Vec<Vec<CallSpan>> {
        let first = self.first_start();
        (0..self.ranks()).map(|rank| self.spans_of(rank, first).collect()).collect()
    }

    /// End of the last call on rank 0's clock in ns, counted from the beginning of the first rank. Includes the time
    /// that recording took.
    pub fn passed(&self) -> u64 {
        let first = self.first_start();
        let calls = (0..self.ranks()).flat_map(|rank| self.spans_of(rank, first));
        calls.map(|call| call.start.saturating_add(call.length)).max().unwrap_or(0)
    }

    /// Beginning of the log of `rank` on rank 0's clock, in ns.
    fn start_of(&self, rank: u32) -> i128 {
        let (clock, offset) = self.info(rank).begin;
        clock as i128 + i128::from(offset)
    }

    fn first_start(&self) -> i128 {
        (0..self.ranks()).map(|rank| self.start_of(rank)).min().unwrap_or(0)
    }

    /// Calls of `rank` with their times, relative to the time `first`.
    fn spans_of(&self, rank: u32, first: i128) -> impl Iterator<Item = CallSpan> + '_ {
        let (start, info) = (self.start_of(rank) - first, self.info(rank));
        let (drift, asked_before) = (info.drift(), info.asked_before as f64);
        let mut at = 0u64;
        self.main_steps(rank).map(move |step| {
            let begins = at.saturating_add(step.aside).saturating_add(step.gap);
            at = begins.saturating_add(step.duration);
            let here = start + i128::from(begins) + ((begins as f64 + asked_before) * drift) as i128;
            CallSpan { start: here.max(0) as u64, length: step.duration, name: step.call.function.name() }
        })
    }

    /// Measured time of `rank` from the end of MPI_Init to MPI_Finalize in ns, without the time that recording took.
    pub fn measured(&self, rank: u32) -> u64 {
        let of = |step: LoggedCall| match step.call.function.name() {
            "MPI_Finalize" => step.gap,
            _ => step.gap.saturating_add(step.duration),
        };
        self.main_steps(rank).map(of).fold(0, u64::saturating_add)
    }

    /// Time of the program's own code in the main thread of `rank`, in ns.
    pub fn code(&self, rank: u32) -> u64 {
        self.main_steps(rank).map(|step| step.code).fold(0, u64::saturating_add)
    }

    /// Time that the main thread of `rank` slept or waited outside of MPI, in ns.
    pub fn slept(&self, rank: u32) -> u64 {
        self.main_steps(rank).map(|step| step.slept).fold(0, u64::saturating_add)
    }

    /// Times of the calls of `rank`, by MPI function.
    pub fn functions(&self, rank: u32) -> BTreeMap<&'static str, FunctionTimes> {
        let mut found: BTreeMap<&'static str, FunctionTimes> = BTreeMap::new();
        for step in self.steps(rank) {
            found.entry(step.call.function.name()).or_default().add(step.call.bytes(), step.duration);
        }
        found
    }

    /// A host with more ranks than cores: name, number of ranks and number of cores; `None` if there is no such host.
    pub fn crowded(&self) -> Option<(&str, u64, u64)> {
        let on = |host: &str| self.ranks.iter().filter(|log| log.info.host == host).count() as u64;
        self.ranks.iter().find_map(|log| {
            let (host, cores) = (&log.info.host[..], log.info.cores);
            let ranks = on(host);
            (cores > 0 && ranks > cores).then_some((host, ranks, cores))
        })
    }

    /// For each host other than that of rank 0: the name, the lead of the host's clock over rank 0's clock at the
    /// beginning in seconds, and the drift of the host's clock in microseconds per second.
    pub fn clocks(&self) -> Vec<(&str, f64, f64)> {
        let mut found: Vec<(&str, f64, f64)> = Vec::new();
        for log in &self.ranks {
            let (info, host) = (&log.info, &log.info.host[..]);
            if host != self.info(0).host && found.iter().all(|(other, ..)| *other != host) {
                found.push((host, info.begin.1 as f64 * -1e-9, -1e6 * info.drift()));
            }
        }
        found
    }

    /// Rank that waited longest for a processor core: the rank, the waiting time in ns, and its fraction of the elapsed
    /// time. `None` if unknown.
    pub fn waited(&self) -> Option<(u32, u64, f64)> {
        let (rank, waited) = (0..self.ranks())
            .filter(|&rank| self.info(rank).finished)
            .filter_map(|rank| Some((rank, self.info(rank).waited?)))
            .max_by_key(|&(rank, waited)| (waited, Reverse(rank)))?;
        // The rank may also have waited for a core while the recording library ran, so the elapsed time includes the
        // library's time.
        let aside = self.main_steps(rank).map(|step| step.aside).fold(0, u64::saturating_add);
        let passed = self.measured(rank).saturating_add(aside).max(1);
        Some((rank, waited, waited as f64 / passed as f64))
    }

    /// Text that describes the recording of a real run.
    pub fn tell(&self) -> String {
        let info = self.info(0);
        let calls: u64 = self.resolved.iter().map(|one| one.calls).sum();
        let bytes: usize = self.ranks.iter().map(|log| log.records.len()).sum();
        let mut hosts: Vec<&str> = self.ranks.iter().map(|log| &log.info.host[..]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let clock = if info.by_cpu { "CPU time" } else { "the wall clock" };
        let longest = (0..self.ranks()).map(|rank| self.measured(rank)).max().unwrap_or(0);
        let code = (0..self.ranks()).map(|rank| self.code(rank)).max().unwrap_or(0);
        let mut out = String::new();
        let mut line = |name: &str, value: String| _ = writeln!(out, "{name:<14}{value}");
        // The version text of an MPI library also contains packages, identifiers and dates.
        line("recorded", format!("under {}", info.library.split(", ").next().unwrap_or_default()));
        line("program", info.program.clone());
        let shared = self
            .crowded()
            .map_or(String::new(), |(host, ranks, cores)| format!("; {ranks} shared the {cores} cores of {host}"));
        let plural = if hosts.len() == 1 { "" } else { "s" };
        line("ranks", format!("{} on {} host{plural}{shared}", self.ranks(), hosts.len()));
        let most = (0..self.ranks()).map(|rank| self.threads(rank)).max().unwrap_or(1);
        if most > 1 {
            line("threads", format!("up to {most} in a rank; the times below are those of main threads"));
        }
        line("calls", format!("{calls} in {bytes} bytes"));
        for (host, ahead, gained) in self.clocks() {
            line("clocks", format!("{host}: {ahead:.6} s ahead of rank 0, gained {gained:.1} us per second"));
        }
        line("code", format!("measured by {clock}; {} in the rank with most code", seconds(code)));
        if let Some(slept @ 1..) = (0..self.ranks()).map(|rank| self.slept(rank)).max() {
            line("slept", format!("{} without a core, outside MPI, in the rank that slept most", seconds(slept)));
        }
        let lacks = |info: &LogInfo| info.finished && info.by_cpu && info.waited.is_none();
        if let Some(log) = self.ranks.iter().find(|log| lacks(&log.info)) {
            let host = &log.info.host;
            line("slept", format!("unknown on {host}: the system has no scheduling statistics of threads"));
        }
        let of_program = format!("{} from MPI_Init to MPI_Finalize in the longest rank,", seconds(longest));
        line("measured", format!("{of_program}\n{:14}without the time of recording", ""));
        let of_all = format!("{} from the first MPI_Init to the end of the last call,", seconds(self.passed()));
        line("passed", format!("{of_all}\n{:14}with MPI_Finalize and the time of recording", ""));
        if let Some((rank, waited, part)) = self.waited() {
            let share = 100.0 * part;
            line(
                "waited",
                format!("{} for a core in rank {rank}, which waited most: {share:.1} % of its time", seconds(waited)),
            );
        }
        line("replay", self.fault().unwrap_or_else(|| "whole".to_owned()));
        out
    }

    /// Table of the calls of all ranks by MPI function.
    pub fn statistics(&self) -> String {
        let mut all: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for rank in 0..self.ranks() {
            for (name, one) in self.functions(rank) {
                let sum = all.entry(name).or_default();
                *sum = (sum.0 + one.calls, sum.1 + one.bytes, sum.2 + one.total);
            }
        }
        let mut out = format!("{:<28} {:>12} {:>16} {:>14}\n", "function", "calls", "bytes", "time, s");
        for (name, (calls, bytes, time)) in all {
            let _ = writeln!(out, "{name:<28} {calls:>12} {bytes:>16} {:>14.6}", time as f64 * 1e-9);
        }
        out
    }

    /// Text of the first `count` calls of `rank`, one call per line. If the rank has several threads, lines name the
    /// thread.
    pub fn head(&self, rank: u32, count: u64) -> String {
        let mut out = String::new();
        let has_threads = self.threads(rank) > 1;
        for step in self.steps(rank).take(usize::try_from(count).unwrap_or(usize::MAX)) {
            let bytes = step.call.bytes();
            let size = if bytes > 0 { format!("{bytes} B") } else { String::new() };
            let name = step.call.function.name();
            let thread = match step.thread {
                _ if !has_threads => String::new(),
                0 => format!("{:<11}", "main"),
                number => format!("{:<11}", format!("thread {number}")),
            };
            if step.slept > 0 {
                let _ = writeln!(out, "{thread}sleep {:>11} ns", step.slept);
            }
            let line = format!("{thread}code {:>12} ns  {name:<24} {:>12} ns  {size}", step.code, step.duration);
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }
}
