//! Progress of many simulation runs on stderr: a bar that is redrawn if stderr is a terminal, otherwise a few lines.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::report::count;

/// Minimum time between two drawings of the progress bar.
const PERIOD: Duration = Duration::from_millis(100);
/// Width of the progress bar in columns.
const WIDTH: usize = 24;
/// Maximum number of progress lines if stderr is no terminal, and the time before the first line.
const LINES: usize = 10;
const PATIENCE: Duration = Duration::from_secs(2);

/// Progress of many simulation runs. The progress bar is erased when this value is dropped.
#[derive(Debug)]
pub(super) struct Bar {
    shown: BarForm,
    runs: usize,
    /// Word for the simulation runs in the output, such as "points".
    name: &'static str,
    ended: usize,
    failed: usize,
    started: Instant,
    drawn: Option<Instant>,
}

/// Form in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BarForm {
    No,
    Lines,
    Terminal,
}

impl Bar {
    /// Starts to show the progress of `runs` simulation runs, which the output calls `name`.
    pub fn start(runs: usize, name: &'static str, quiet: bool) -> Bar {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let shown = match quiet {
            true => BarForm::No,
            false if std::io::stderr().is_terminal() && !dumb => BarForm::Terminal,
            false => BarForm::Lines,
        };
        Bar { shown, runs, name, ended: 0, failed: 0, started: Instant::now(), drawn: None }
    }

    /// Counts `ended` more finished simulation runs, of which `failed` have no prediction.
    pub fn advance(&mut self, ended: usize, failed: usize) {
        let tenth = |ended: usize| ended * LINES / self.runs.max(1);
        let next = tenth(self.ended + ended) > tenth(self.ended);
        self.ended += ended;
        self.failed += failed;
        let text = || line((self.ended, self.runs, self.name), self.failed, self.started.elapsed());
        match self.shown {
            BarForm::No => {}
            BarForm::Lines if next && self.started.elapsed() >= PATIENCE => {
                _ = writeln!(std::io::stderr(), "{}", text())
            }
            BarForm::Lines => {}
            BarForm::Terminal if self.drawn.is_some_and(|drawn| drawn.elapsed() < PERIOD) => {}
            BarForm::Terminal => {
                draw(&bar(self.ended, self.runs, &text()));
                self.drawn = Some(Instant::now());
            }
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.shown == BarForm::Terminal {
            draw("");
        }
    }
}

/// Redraws the progress line: moves the cursor to the start of the line, writes the text, and erases the remainder.
fn draw(text: &str) {
    let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
    let _ = std::io::stderr().flush();
}

fn bar(ended: usize, runs: usize, text: &str) -> String {
    let full = ended * WIDTH / runs.max(1);
    format!("  [{}{}] {text}", "#".repeat(full), "-".repeat(WIDTH - full))
}

/// Returns the text of a progress line, such as "512 of 1,000 points, 2 failed, 1 min 3 s left".
fn line((ended, runs, name): (usize, usize, &str), failed: usize, elapsed: Duration) -> String {
    let mut text = format!("{} of {} {name}", count(ended as u64), count(runs as u64));
    if failed > 0 {
        text.push_str(&format!(", {} failed", count(failed as u64)));
    }
    if ended > 0 && ended < runs {
        let left = elapsed.as_secs_f64() / ended as f64 * (runs - ended) as f64;
        text.push_str(&format!(", {} left", duration(left)));
    }
    text
}

/// Formats a duration, such as "3 s", "1 min 3 s" or "2 h 5 min".
fn duration(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_many_and_how_long_still() {
        assert_eq!(line((0, 10, "points"), 0, Duration::from_secs(1)), "0 of 10 points");
        assert_eq!(
            line((1000, 4000, "points"), 2, Duration::from_millis(20_900)),
            "1,000 of 4,000 points, 2 failed, 1 min 3 s left"
        );
        assert_eq!(line((10, 10, "calls"), 0, Duration::from_secs(1)), "10 of 10 calls");
        assert_eq!((duration(0.2), duration(7500.0)), ("1 s".into(), "2 h 5 min".into()));
        assert_eq!(bar(5, 10, "x"), "  [############------------] x");
        assert!(
            bar(1_000_000, 1_000_000, &line((999_999, 1_000_000, "points"), 999_999, Duration::from_secs(9_999_999)))
                .len()
                < 100
        );
    }
}
