//! What the matrices of a file are: the test, its parameters, and which statistic of the repeats.

use std::fmt;

/// Why matrices cannot be read, written or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixError(String);

impl MatrixError {
    /// An error that says `what`.
    pub fn new(what: impl Into<String>) -> MatrixError {
        MatrixError(what.into())
    }
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MatrixError {}

/// What two ranks do for an element, with the numbers and names of `network_test2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairTest {
    /// A blocking send, answered; the time of the receive.
    OneToOne,
    /// All ranks send to all at once; when each message came.
    AllToAll,
    /// Both ranks send at once, without blocking; the time of both at the receiver.
    AsyncOneToOne,
    /// A message there and one back; the time of both at the receiver.
    SendRecvAndRecvSend,
    /// As [`PairTest::AsyncOneToOne`], while other ranks send.
    Noise,
    /// A blocking send, while other ranks send; the time of the receive.
    NoiseBlocking,
    /// A broadcast from the second rank; the time at the first.
    Bcast,
    /// MPI_Put and the unlock that completes it, by the first rank into the second one's window.
    Put,
    /// MPI_Get and the unlock that completes it, by the first rank from the second one's window.
    Get,
}

impl PairTest {
    /// All of them, in the order of their numbers.
    pub const ALL: [PairTest; 9] = [
        PairTest::OneToOne,
        PairTest::AllToAll,
        PairTest::AsyncOneToOne,
        PairTest::SendRecvAndRecvSend,
        PairTest::Noise,
        PairTest::NoiseBlocking,
        PairTest::Bcast,
        PairTest::Put,
        PairTest::Get,
    ];

    /// `test_type` in files.
    pub const fn number(self) -> i32 {
        self as i32 + 1
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            PairTest::OneToOne => "one_to_one",
            PairTest::AllToAll => "all_to_all",
            PairTest::AsyncOneToOne => "async_one_to_one",
            PairTest::SendRecvAndRecvSend => "send_recv_and_recv_send",
            PairTest::Noise => "noise",
            PairTest::NoiseBlocking => "noise_blocking",
            PairTest::Bcast => "bcast",
            PairTest::Put => "put",
            PairTest::Get => "get",
        }
    }

    /// That of this number.
    pub fn of_number(number: i32) -> Option<PairTest> {
        PairTest::ALL.into_iter().find(|test| test.number() == number)
    }

    /// That of this name.
    pub fn of_name(name: &str) -> Option<PairTest> {
        PairTest::ALL.into_iter().find(|test| test.name() == name)
    }

    /// Whether other ranks make noise meanwhile.
    pub const fn has_noise(self) -> bool {
        matches!(self, PairTest::Noise | PairTest::NoiseBlocking)
    }
}

/// Which statistic of the repeats a file holds, with the numbers of `network_test2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The arithmetic mean.
    Average,
    /// The value in the middle (the upper one of two).
    Median,
    /// The standard deviation.
    Deviation,
    /// The least.
    Minimum,
}

impl Statistic {
    /// All of them, in the order of their numbers.
    pub const ALL: [Statistic; 4] = [Statistic::Average, Statistic::Median, Statistic::Deviation, Statistic::Minimum];

    /// `data_type` in files.
    pub const fn number(self) -> i32 {
        self as i32 + 1
    }

    /// Its name, as at the end of files' names.
    pub const fn name(self) -> &'static str {
        match self {
            Statistic::Average => "average",
            Statistic::Median => "median",
            Statistic::Deviation => "deviation",
            Statistic::Minimum => "min",
        }
    }

    /// That of this number.
    pub fn of_number(number: i32) -> Option<Statistic> {
        Statistic::ALL.into_iter().find(|statistic| statistic.number() == number)
    }

    /// Whether `network_test2` leaves undefined what a rank has with itself. Here it is 0.
    pub const fn is_undefined_on_diagonal(self, test: PairTest) -> bool {
        match test {
            PairTest::NoiseBlocking => true,
            PairTest::OneToOne | PairTest::SendRecvAndRecvSend | PairTest::Put | PairTest::Get => {
                matches!(self, Statistic::Minimum)
            }
            _ => false,
        }
    }

    /// What the text form calls it: the name, but for the least.
    pub const fn word(self) -> &'static str {
        match self {
            Statistic::Minimum => "minimum",
            other => other.name(),
        }
    }

    /// That of this name or word.
    pub fn of_name(name: &str) -> Option<Statistic> {
        Statistic::ALL.into_iter().find(|statistic| [statistic.name(), statistic.word()].contains(&name))
    }
}

/// What a set of matrices was measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How many ranks there were: a matrix has their square of elements.
    pub ranks: u32,
    /// The test.
    pub test: PairTest,
    /// The least message, bytes.
    pub begin: u32,
    /// The first length that is not measured any more.
    pub end: u32,
    /// Between two lengths.
    pub step: u32,
    /// Samples an element.
    pub repeats: u32,
    /// The length of noise messages.
    pub noise_bytes: u32,
    /// Noise messages a sample, of each rank that makes noise to each other such.
    pub noise_messages: u32,
    /// Ranks that make noise.
    pub noise_ranks: u32,
}

impl Parameters {
    /// The most ranks: elements of a matrix are numbered in 32 bits.
    pub const MOST_RANKS: u32 = 1 << 14;

    /// The greatest file, bytes: more is a slip of the step.
    const MOST_BYTES: u128 = 1 << 40;

    /// How many matrices there are.
    pub fn count(&self) -> usize {
        (self.end.saturating_sub(self.begin)).div_ceil(self.step.max(1)) as usize
    }

    /// The message length of a matrix.
    pub fn length(&self, matrix: usize) -> u64 {
        u64::from(self.begin) + matrix as u64 * u64::from(self.step)
    }

    /// The matrix of a message length, if it was measured.
    pub fn matrix_of(&self, length: u64) -> Option<usize> {
        let above = length.checked_sub(u64::from(self.begin))?;
        let matrix = (above / u64::from(self.step.max(1))) as usize;
        (above % u64::from(self.step.max(1)) == 0 && matrix < self.count()).then_some(matrix)
    }

    /// The elements of a matrix.
    pub fn elements(&self) -> usize {
        self.ranks as usize * self.ranks as usize
    }

    /// Whether they can be: two ranks at least, a step, lengths in order.
    ///
    /// # Errors
    /// If not, with the parameter and what was expected of it.
    pub fn check(&self) -> Result<(), MatrixError> {
        let wrong = |what: &str, expected: &str, found: u32| {
            Err(MatrixError::new(format!("{what}: expected {expected}; found {found}")))
        };
        if !(2..=Self::MOST_RANKS).contains(&self.ranks) {
            return wrong("ranks", "2 to 16384", self.ranks);
        }
        if self.step == 0 {
            return wrong("step of lengths", "a number of bytes above 0", 0);
        }
        if self.end <= self.begin {
            return wrong("end of lengths", &format!("more than the begin, {}", self.begin), self.end);
        }
        if self.end > i32::MAX as u32 || self.step > i32::MAX as u32 {
            return wrong("end of lengths", "less than 2147483648", self.end.max(self.step));
        }
        if self.repeats == 0 {
            return wrong("repeats", "1 or more", 0);
        }
        let bytes = self.elements() as u128 * self.count() as u128 * 8;
        if bytes > Self::MOST_BYTES {
            return Err(MatrixError::new(format!(
                "{} lengths of {} elements: expected files of 1 TiB at most, these would have {:.1} TiB; a greater step?",
                self.count(),
                self.elements(),
                bytes as f64 / (1u64 << 40) as f64
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn parameters(ranks: u32, begin: u32, end: u32, step: u32) -> Parameters {
        let test = PairTest::OneToOne;
        Parameters { ranks, test, begin, end, step, repeats: 20, noise_bytes: 0, noise_messages: 1, noise_ranks: 0 }
    }

    #[test]
    fn lengths_go_from_the_begin_by_steps_to_below_the_end() {
        let of = parameters(4, 0, 4000, 1000);
        assert_eq!((of.count(), of.length(3), of.matrix_of(3000)), (4, 3000, Some(3)));
        assert_eq!((of.matrix_of(4000), of.matrix_of(2500)), (None, None));
        let of = parameters(4, 1000, 10_001, 500);
        assert_eq!((of.count(), of.length(18), of.matrix_of(999)), (19, 10_000, None));
    }

    #[test]
    fn numbers_and_names_are_those_of_network_test2() {
        assert_eq!((PairTest::of_number(8), PairTest::of_name("noise")), (Some(PairTest::Put), Some(PairTest::Noise)));
        assert_eq!((PairTest::of_number(0), PairTest::of_number(10), PairTest::of_name("x")), (None, None, None));
        assert_eq!((Statistic::of_number(3), Statistic::of_number(5)), (Some(Statistic::Deviation), None));
        assert_eq!(
            ["min", "minimum", "least"].map(Statistic::of_name),
            [Some(Statistic::Minimum), Some(Statistic::Minimum), None]
        );
    }

    #[test]
    fn parameters_that_cannot_be_are_refused() {
        let error = |of: Parameters| of.check().unwrap_err().to_string();
        assert_eq!(error(parameters(1, 0, 10, 1)), "ranks: expected 2 to 16384; found 1");
        assert_eq!(error(parameters(2, 0, 10, 0)), "step of lengths: expected a number of bytes above 0; found 0");
        assert_eq!(error(parameters(2, 10, 10, 1)), "end of lengths: expected more than the begin, 10; found 10");
        assert!(parameters(2, 0, 10, 100).check().is_ok());
        let long = "2147483647 lengths of 10000 elements: expected files of 1 TiB at most, these would have 156.2 TiB; a greater step?";
        assert_eq!(error(parameters(100, 0, i32::MAX as u32, 1)), long);
        let none = Parameters { repeats: 0, ..parameters(2, 0, 1, 1) };
        assert_eq!(error(none), "repeats: expected 1 or more; found 0");
    }
}
