//! Functions of logs by number, from the library's own table.

use std::sync::OnceLock;

const TABLE: &str = include_str!("../library/functions.h");

/// An MPI function of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoggedFunction(u8);

/// Class of a function, which defines the content after its number in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionClass {
    /// No effect on other ranks.
    Mark,
    /// Sends.
    Send,
    /// Starts a send.
    Isend,
    /// Receives.
    Recv,
    /// Posts a receive.
    Irecv,
    /// Sends and receives.
    Exchange,
    /// Waits for a message without receiving it.
    Probe,
    /// Waits for requests.
    Wait,
    /// Frees a request.
    Release,
    /// A blocking collective.
    Collective,
    /// A non-blocking collective.
    StartedCollective,
    /// A neighbourhood collective.
    Neighbours,
    /// Creates a communicator.
    Comm,
    /// Cannot be replayed.
    Refused,
    /// The library itself: elapsed time that is not the program's.
    Library,
    /// The program slept, or waited for files or other threads: time that passes on any machine.
    Sleep,
}

struct FunctionEntry {
    name: &'static str,
    class: FunctionClass,
}

fn table() -> &'static [FunctionEntry] {
    static READ: OnceLock<Vec<FunctionEntry>> = OnceLock::new();
    READ.get_or_init(|| {
        let lines = TABLE.lines().filter_map(|line| line.strip_prefix("F(")?.strip_suffix(')')?.split_once(", "));
        lines
            .map(|(name, class)| {
                let class = match class {
                    "SEND" => FunctionClass::Send,
                    "ISEND" => FunctionClass::Isend,
                    "RECV" => FunctionClass::Recv,
                    "IRECV" => FunctionClass::Irecv,
                    "EXCHANGE" => FunctionClass::Exchange,
                    "PROBE" => FunctionClass::Probe,
                    "WAIT" => FunctionClass::Wait,
                    "RELEASE" => FunctionClass::Release,
                    "COLLECTIVE" => FunctionClass::Collective,
                    "ICOLLECTIVE" => FunctionClass::StartedCollective,
                    "NEIGHBOUR" => FunctionClass::Neighbours,
                    "COMM" => FunctionClass::Comm,
                    "REFUSED" => FunctionClass::Refused,
                    "LIBRARY" => FunctionClass::Library,
                    "SLEEP" => FunctionClass::Sleep,
                    _ => FunctionClass::Mark,
                };
                // Leaked once per process: names of functions live as long as the process.
                FunctionEntry { name: Box::leak(format!("MPI_{name}").into_boxed_str()), class }
            })
            .collect()
    })
}

impl LoggedFunction {
    /// Function with this number, if there is one.
    pub(super) fn from_number(number: u8) -> Option<LoggedFunction> {
        (usize::from(number) < table().len()).then_some(LoggedFunction(number))
    }

    /// Function with this name, such as `MPI_Send`.
    pub fn named(name: &str) -> Option<LoggedFunction> {
        table().iter().position(|entry| entry.name == name).map(|place| LoggedFunction(place as u8))
    }

    /// Name, such as `MPI_Send`.
    pub fn name(self) -> &'static str {
        table()[usize::from(self.0)].name
    }

    /// Number in logs.
    #[cfg(test)]
    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// Class, which defines the content after its number in a call.
    pub fn class(self) -> FunctionClass {
        table()[usize::from(self.0)].class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_numbers_of_the_librarys_table() {
        assert_eq!(LoggedFunction::from_number(0).map(LoggedFunction::name), Some("MPI_Init"));
        assert_eq!(LoggedFunction::named("MPI_Alltoallw").map(LoggedFunction::class), Some(FunctionClass::Collective));
        assert_eq!(LoggedFunction::named("MPI_sleep").map(|last| usize::from(last.number()) + 1), Some(table().len()));
        assert_eq!(LoggedFunction::from_number(255), None);
    }
}
