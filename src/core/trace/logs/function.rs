//! MPI functions and their identifiers in logs, from the table of the recording library (`library/functions.h`).

use std::sync::OnceLock;

const TABLE: &str = include_str!("../library/functions.h");

/// An MPI function that occurs in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoggedFunction(u8);

/// Class of an MPI function. The class defines which arguments of a call a log contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionClass {
    /// The function has no effect on other ranks.
    Mark,
    /// The function sends a message and blocks (MPI_Send).
    Send,
    /// The function starts a send (MPI_Isend).
    Isend,
    /// The function receives a message and blocks (MPI_Recv).
    Recv,
    /// The function posts a receive (MPI_Irecv).
    Irecv,
    /// The function sends one message and receives another message (MPI_Sendrecv).
    Exchange,
    /// The function waits for a message without receiving the message (MPI_Probe).
    Probe,
    /// The function waits for requests (MPI_Wait).
    Wait,
    /// The function frees a request (MPI_Request_free).
    Release,
    /// The function is a blocking collective.
    Collective,
    /// The function is a non-blocking collective.
    StartedCollective,
    /// The function is a neighbourhood collective.
    Neighbours,
    /// The function creates a communicator.
    Comm,
    /// mcpsim cannot replay calls of the function.
    Refused,
    /// Time used by the recording library, which is not the program's time.
    Library,
    /// Time that the program slept, or waited for files or other threads. This time is the same on any machine.
    Sleep,
    /// The following records belong to another thread.
    Thread,
    /// The function creates a thread (pthread_create).
    Create,
    /// The function waits for the end of a thread (pthread_join).
    Join,
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
                    "THREAD" => FunctionClass::Thread,
                    "CREATE" => FunctionClass::Create,
                    "JOIN" => FunctionClass::Join,
                    _ => FunctionClass::Mark,
                };
                // The memory of each name is leaked once, so that names live as long as the host process.
                let prefix = if name.starts_with("pthread_") { "" } else { "MPI_" };
                FunctionEntry { name: Box::leak(format!("{prefix}{name}").into_boxed_str()), class }
            })
            .collect()
    })
}

impl LoggedFunction {
    /// MPI function with the identifier `number`, if the function exists.
    pub(super) fn from_number(number: u8) -> Option<LoggedFunction> {
        (usize::from(number) < table().len()).then_some(LoggedFunction(number))
    }

    /// MPI function with the name `name`, such as `MPI_Send`, if the function exists.
    pub fn named(name: &str) -> Option<LoggedFunction> {
        table().iter().position(|entry| entry.name == name).map(|place| LoggedFunction(place as u8))
    }

    /// Name of the MPI function, such as `MPI_Send`.
    pub fn name(self) -> &'static str {
        table()[usize::from(self.0)].name
    }

    /// Identifier of the MPI function in logs.
    #[cfg(test)]
    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// Class of the MPI function.
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
        let last = LoggedFunction::named("pthread_exit");
        assert_eq!(last.map(|last| usize::from(last.number()) + 1), Some(table().len()));
        assert_eq!(LoggedFunction::from_number(255), None);
    }
}
