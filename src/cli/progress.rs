//! Progress line of a simulation run on the terminal: virtual time, number of messages, and messages per second.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::Progress;
use crate::report;
use crate::units::SimTime;

/// Time between two drawings of the progress line.
const PERIOD: Duration = Duration::from_millis(200);

/// Thread that draws the progress line. Dropping the [`ProgressLine`] erases the line and ends the thread.
#[derive(Debug)]
pub(super) struct ProgressLine {
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressLine {
    /// Starts to draw the progress line on stderr, if stderr is a terminal that can erase a line and `quiet` is false.
    pub fn start(progress: &Arc<Progress>, quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if quiet || dumb || !std::io::stderr().is_terminal() {
            return ProgressLine { drawing: None };
        }
        let (end, ended) = channel();
        let progress = Arc::clone(progress);
        let thread = std::thread::spawn(move || {
            let started = Instant::now();
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                draw(&line(progress.time(), progress.messages(), started.elapsed()));
            }
            draw("");
        });
        ProgressLine { drawing: Some((end, thread)) }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.drawing.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Redraws the progress line: moves the cursor to the start of the line, writes the text, and erases the remainder.
fn draw(text: &str) {
    let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
    let _ = std::io::stderr().flush();
}

fn line(time: SimTime, messages: u64, elapsed: Duration) -> String {
    let rate = report::rate(messages as f64 / elapsed.as_secs_f64(), "messages");
    format!("  virtual time {time}   {} messages   {rate}", report::count(messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_a_terminal_and_survives_no_time_at_all() {
        let text = line(SimTime::from_ps(12_345_678), 1_234_567, Duration::from_secs(2));
        assert_eq!(text, "  virtual time 12.35 us   1,234,567 messages   617.3 k messages/s");
        let text = line(SimTime::NEVER, u64::MAX, Duration::ZERO);
        assert!(text.len() < 80 && text.ends_with("- messages/s"), "{text}");
    }

    #[test]
    fn nothing_is_drawn_when_quiet() {
        assert!(ProgressLine::start(&Arc::default(), true).drawing.is_none());
    }
}
