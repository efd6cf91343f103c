//! Functions of logs by number, from the library's own table.

use std::sync::OnceLock;

const TABLE: &str = include_str!("../library/functions.h");

/// An MPI function of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function(u8);

/// Class of a function, which defines the content after its number in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
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
    class: Class,
}

fn table() -> &'static [FunctionEntry] {
    static READ: OnceLock<Vec<FunctionEntry>> = OnceLock::new();
    READ.get_or_init(|| {
        let lines = TABLE.lines().filter_map(|line| line.strip_prefix("F(")?.strip_suffix(')')?.split_once(", "));
        lines
            .map(|(name, class)| {
                let class = match class {
                    "SEND" => Class::Send,
                    "ISEND" => Class::Isend,
                    "RECV" => Class::Recv,
                    "IRECV" => Class::Irecv,
                    "EXCHANGE" => Class::Exchange,
                    "PROBE" => Class::Probe,
                    "WAIT" => Class::Wait,
                    "RELEASE" => Class::Release,
                    "COLLECTIVE" => Class::Collective,
                    "ICOLLECTIVE" => Class::StartedCollective,
                    "NEIGHBOUR" => Class::Neighbours,
                    "COMM" => Class::Comm,
                    "REFUSED" => Class::Refused,
                    "LIBRARY" => Class::Library,
                    "SLEEP" => Class::Sleep,
                    _ => Class::Mark,
                };
                // Leaked once per process: names of functions live as long as the process.
                FunctionEntry { name: Box::leak(format!("MPI_{name}").into_boxed_str()), class }
            })
            .collect()
    })
}

impl Function {
    /// Function with this number, if there is one.
    pub(super) fn from_number(number: u8) -> Option<Function> {
        (usize::from(number) < table().len()).then_some(Function(number))
    }

    /// Function with this name, such as `MPI_Send`.
    pub fn named(name: &str) -> Option<Function> {
        table().iter().position(|entry| entry.name == name).map(|place| Function(place as u8))
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
    pub fn class(self) -> Class {
        table()[usize::from(self.0)].class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_numbers_of_the_librarys_table() {
        assert_eq!(Function::from_number(0).map(Function::name), Some("MPI_Init"));
        assert_eq!(Function::named("MPI_Alltoallw").map(Function::class), Some(Class::Collective));
        assert_eq!(Function::named("MPI_sleep").map(|last| usize::from(last.number()) + 1), Some(table().len()));
        assert_eq!(Function::from_number(255), None);
    }
}
