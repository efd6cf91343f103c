//! Information about the host: the processor, the CPU time of a thread, and the date.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Returns the name of the processor.
pub(in super::super) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    line.map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.trim().to_owned())
}

/// Returns the CPU time of this thread in seconds.
pub(super) fn thread_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// CPU times of the calling thread and of the host's processors at one moment, in seconds.
pub(in super::super) struct HostLoad {
    wall: f64,
    /// CPU time of the calling thread, seconds.
    own: f64,
    processors: Option<ProcessorTimes>,
}

/// Sums of `/proc/stat` over all processors, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ProcessorTimes {
    count: f64,
    busy: f64,
    all: f64,
}

/// Greatest share of all processors' time that other programs may use on a quiet host.
const OTHERS: f64 = 0.1;
/// Greatest ratio of the elapsed time to the CPU time of a thread that computes without pause, on a quiet host.
const WAITED: f64 = 1.1;

impl HostLoad {
    /// Reads the CPU times of the thread and of the host's processors.
    pub(in super::super) fn now() -> HostLoad {
        let wall = clock_gettime(ClockId::Monotonic);
        HostLoad {
            wall: wall.tv_sec as f64 + wall.tv_nsec as f64 * 1e-9,
            own: thread_time(),
            processors: fs::read_to_string("/proc/stat").ok().and_then(|text| ProcessorTimes::parse(&text)),
        }
    }

    /// Returns the reasons why the host was not quiet. The calling thread must have computed all the time since the
    /// moment `before`.
    pub(in super::super) fn doubts_since(&self, before: &HostLoad) -> Vec<String> {
        let (wall, own) = (self.wall - before.wall, self.own - before.own);
        let mut found = Vec::new();
        if wall > WAITED * own {
            found.push(format!(
                "the compute kernels waited {:.0}% of the time for a core of the \
                 host",
                (1.0 - own / wall) * 100.0
            ));
        }
        let others = before.processors.zip(self.processors).and_then(|(before, now)| {
            let all = now.all - before.all;
            (all > 0.0).then(|| (now.busy - before.busy) / all - own / (wall * now.count))
        });
        if let Some(others) = others.filter(|others| *others > OTHERS) {
            found.push(format!("other programs used {:.0}% of the host's CPU time", others * 100.0));
        }
        found
    }
}

impl ProcessorTimes {
    /// Parses `/proc/stat`: the line that starts with `cpu` has the times user, nice, system, idle, iowait, irq,
    /// softirq and steal.
    fn parse(text: &str) -> Option<ProcessorTimes> {
        let times = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let times: Vec<f64> = times.split_whitespace().take(8).filter_map(|time| time.parse().ok()).collect();
        let idle = times.get(3)? + times.get(4)?;
        let all: f64 = times.iter().sum();
        let count = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        (count > 0).then_some(ProcessorTimes { count: count as f64, busy: all - idle, all })
    }
}

/// Returns the current date in UTC, such as 2026-11-20.
pub(in super::super) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// Returns the date of a number of days after 1970-01-01. The computation lets years start in March, so that a leap day
/// is the last day of a year.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{}-{month:02}-{day:02}", era * 400 + year + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_others_use_is_noticed() {
        let stat = |busy: u32, idle: u32| {
            let text =
                format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\n");
            ProcessorTimes::parse(&text)
        };
        let load = |wall: f64, own: f64, busy: u32, idle: u32| HostLoad { wall, own, processors: stat(busy, idle) };
        let begin = load(0.0, 0.0, 1000, 1000);
        // Two processors run for 10 s with 100 ticks per second, and the measuring thread computes all the time.
        assert_eq!(load(10.0, 10.0, 2000, 2000).doubts_since(&begin), [""; 0]);
        assert_eq!(
            load(10.0, 9.9, 3000, 1000).doubts_since(&begin),
            ["other programs used 50% of the host's CPU time"]
        );
        assert_eq!(
            load(10.0, 5.0, 3000, 1000).doubts_since(&begin),
            [
                "the compute kernels waited 50% of the time for a core of the host",
                "other programs used 75% of the \
              host's CPU time"
            ]
        );
        let blind = HostLoad { processors: None, ..load(10.0, 5.0, 0, 0) };
        assert_eq!(blind.doubts_since(&begin), ["the compute kernels waited 50% of the time for a core of the host"]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!([0, 59, 11_016, 20_777].map(date), ["1970-01-01", "1970-03-01", "2000-02-29", "2026-11-20"]);
    }
}
