//! Panic handler of mcpsim. A panic on any thread is a bug in mcpsim: the handler prints one report, and the process
//! exits with code 70.

use std::io::{IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

use super::exit::Exit;
use super::interrupt::end_at_once;

/// Installs a handler that ends the process at the first panic, before other threads can wait for the thread that
/// panicked.
pub(super) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        static REPORTED: AtomicBool = AtomicBool::new(false);
        if REPORTED.swap(true, Ordering::SeqCst) {
            // Another thread has panicked first; that thread prints the report and ends the host process.
            loop {
                std::thread::park();
            }
        }
        // The cursor may be at the end of a progress line, which is then erased.
        let erase = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
        let mut text = erase.to_owned() + &report(&message(info), &place(info));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            text.push_str(&std::backtrace::Backtrace::force_capture().to_string());
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
        end_at_once(Exit::Bug.code().into());
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

fn place(info: &PanicHookInfo<'_>) -> String {
    info.location().map_or("an unknown place".to_owned(), |place| format!("{}:{}", place.file(), place.line()))
}

fn report(message: &str, place: &str) -> String {
    format!(
        "error: bug in mcpsim {}: {message} ({place})\n\
         The input is not at fault. Please report this text with the command and its input files;\n\
         RUST_BACKTRACE=1 in the environment adds a backtrace.\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Panics in the child process that the next test starts.
    #[test]
    fn child_that_panics() {
        if std::env::var_os("MCPSIM_TEST_PANIC").is_some() {
            install_hook();
            let worker = std::thread::spawn(|| panic!("below the window"));
            let _ = worker.join();
            panic!("the join failed");
        }
    }

    #[test]
    fn a_panic_of_a_worker_thread_is_reported_once_and_ends_with_70() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["cli::bug::tests::child_that_panics", "--exact", "--nocapture"])
            .env("MCPSIM_TEST_PANIC", "1")
            .env_remove("RUST_BACKTRACE")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(70), "{text}");
        assert!(text.contains(": below the window (src/cli/bug.rs:"), "{text}");
        assert!(text.contains("Please report this text"), "{text}");
        assert!(!text.contains("the join failed") && !text.contains("stack backtrace"), "{text}");
    }
}
