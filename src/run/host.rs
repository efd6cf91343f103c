//! Measurement of the host resources that a simulation run uses. The engine reads only the virtual clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::engine::{HostUse, Outcome};
use crate::units::Bytes;

/// Measurement of the host time of one simulation run.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
}

impl Stopwatch {
    /// Starts the measurement of host time.
    pub fn start() -> Self {
        Stopwatch { started: Instant::now() }
    }

    /// Ends the measurement of host time and stores the time in the outcome.
    pub fn stop(self, outcome: &mut Outcome) {
        // A prediction of several jobs also simulates each job alone and without each other job.
        let messages = outcome.messages.count.max(outcome.host.all_messages);
        enter(&mut outcome.host, messages, self.started.elapsed());
    }
}

/// Returns the host clock in nanoseconds.
pub(super) fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Returns the peak resident set of this host process so far, in bytes; 0 if unknown.
pub(super) fn peak_rss() -> u64 {
    std::fs::read_to_string("/proc/self/status").ok().and_then(|status| high_water_mark(&status)).unwrap_or(0)
}

fn enter(host: &mut HostUse, messages: u64, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    host.wall_s = seconds;
    // JSON has no infinity, so a simulation run of immeasurable duration has no message rate.
    host.messages_per_s = if seconds > 0.0 { messages as f64 / seconds } else { 0.0 };
}

/// Returns the name of the host's processor, such as "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz".
pub(super) fn processor_name() -> String {
    model_name(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()).unwrap_or("unknown processor").to_owned()
}

/// Returns the first model name in Linux' `/proc/cpuinfo`.
fn model_name(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"))?;
    let name = line.trim_start().strip_prefix(':')?.trim();
    (!name.is_empty()).then_some(name)
}

/// Returns the host memory that is available to new work without swapping and within the limits of this host process;
/// `None` if unknown.
pub fn available_memory() -> Option<Bytes> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let free = kibibytes(&read("/proc/meminfo"), "MemAvailable:");
    let used = kibibytes(&read("/proc/self/status"), "VmSize:").unwrap_or(0);
    let limit = address_space(&read("/proc/self/limits")).map(|limit| limit.saturating_sub(used));
    free.into_iter().chain(limit).min().map(Bytes::new)
}

/// Returns the limit of the address space in `/proc/self/limits`, in bytes, if there is a limit.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the value of the line "VmHWM:  1234 kB" in Linux' `/proc/self/status` in bytes. Linux writes KiB as kB.
fn high_water_mark(status: &str) -> Option<u64> {
    kibibytes(status, "VmHWM:")
}

/// Returns the number of bytes in the line that starts with `name`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_as_linux_names_it() {
        let text = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 7763 64-Core Processor\nmodel name\t: B\n";
        assert_eq!(model_name(text), Some("AMD EPYC 7763 64-Core Processor"));
        assert_eq!([model_name(""), model_name("model name\t: \n")], [None, None]);
    }

    #[test]
    fn the_peak_of_memory_is_read_where_there_is_one() {
        assert_eq!(high_water_mark("Name:\tmcpsim\nVmHWM:\t    9216 kB\nVmRSS:\t 1 kB\n"), Some(9216 << 10));
        assert_eq!(high_water_mark("Name:\tmcpsim\n"), None);
        assert_eq!(high_water_mark("VmHWM:\tmuch\n"), None);
    }

    #[test]
    fn a_limit_of_the_address_space_is_read_where_there_is_one() {
        let line =
            |soft: &str| format!("Max open files 1024 4096 files\nMax address space  {soft}  unlimited  bytes\n");
        assert_eq!(address_space(&line("3072000000")), Some(3_072_000_000));
        assert_eq!(address_space(&line("unlimited")), None);
    }

    #[test]
    fn a_run_too_short_to_measure_has_no_rate() {
        let mut host = HostUse::default();
        enter(&mut host, 9, Duration::from_secs(2));
        assert_eq!(host.messages_per_s, 4.5);
        enter(&mut host, 9, Duration::ZERO);
        assert_eq!(host.messages_per_s, 0.0);
    }
}
