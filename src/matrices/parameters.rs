//! Parameters of a set of time matrices: the test, the settings of the test, and the statistic of the samples.

use std::fmt;

/// Error of reading, writing or creating time matrices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixError(String);

impl MatrixError {
    /// Creates an error with the text `what`.
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

/// Test that measures the message time of a pair of ranks, with the numbers and names of `network_test2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairTest {
    /// A blocking send and an answer; the matrix element is the time of the receive.
    OneToOne,
    /// All ranks send to all ranks at once; the matrix element is the arrival time of a message.
    AllToAll,
    /// Both ranks of the pair send at once without blocking; the matrix element is the time of both transfers at the
    /// receiver.
    AsyncOneToOne,
    /// A message in each direction, one after the other; the matrix element is the time of both messages at the
    /// receiver.
    SendRecvAndRecvSend,
    /// The test [`PairTest::AsyncOneToOne`] while other ranks send noise messages.
    Noise,
    /// A blocking send while other ranks send; the matrix element is the time of the receive.
    NoiseBlocking,
    /// A broadcast from the second rank of the pair; the matrix element is the time at the first rank.
    Bcast,
    /// MPI_Put by the first rank into the window of the second rank, and the unlock that completes the put.
    Put,
    /// MPI_Get by the first rank from the window of the second rank, and the unlock that completes the get.
    Get,
}

impl PairTest {
    /// All pair tests in the order of their numbers.
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

    /// Returns the value of `test_type` in matrix files.
    pub const fn number(self) -> i32 {
        self as i32 + 1
    }

    /// Returns the name of the pair test.
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

    /// Returns the pair test with the number `number`.
    pub fn of_number(number: i32) -> Option<PairTest> {
        PairTest::ALL.into_iter().find(|test| test.number() == number)
    }

    /// Returns the pair test with the name `name`.
    pub fn of_name(name: &str) -> Option<PairTest> {
        PairTest::ALL.into_iter().find(|test| test.name() == name)
    }

    /// Returns true if other ranks send noise messages during the pair test.
    pub const fn has_noise(self) -> bool {
        matches!(self, PairTest::Noise | PairTest::NoiseBlocking)
    }
}

/// Statistic of the samples that a matrix file contains, with the numbers of `network_test2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Arithmetic mean of the samples.
    Average,
    /// Median of the samples (the upper of the two middle values if the number of samples is even).
    Median,
    /// Standard deviation of the samples.
    Deviation,
    /// Minimum of the samples.
    Minimum,
}

impl Statistic {
    /// All statistics in the order of their numbers.
    pub const ALL: [Statistic; 4] = [Statistic::Average, Statistic::Median, Statistic::Deviation, Statistic::Minimum];

    /// Returns the value of `data_type` in matrix files.
    pub const fn number(self) -> i32 {
        self as i32 + 1
    }

    /// Returns the name of the statistic in the suffix of file names.
    pub const fn name(self) -> &'static str {
        match self {
            Statistic::Average => "average",
            Statistic::Median => "median",
            Statistic::Deviation => "deviation",
            Statistic::Minimum => "min",
        }
    }

    /// Returns the statistic with the number `number`.
    pub fn of_number(number: i32) -> Option<Statistic> {
        Statistic::ALL.into_iter().find(|statistic| statistic.number() == number)
    }

    /// Returns true if `network_test2` leaves the diagonal of matrices undefined; mcpsim reads such a diagonal as 0.
    pub const fn is_undefined_on_diagonal(self, test: PairTest) -> bool {
        match test {
            PairTest::NoiseBlocking => true,
            PairTest::OneToOne | PairTest::SendRecvAndRecvSend | PairTest::Put | PairTest::Get => {
                matches!(self, Statistic::Minimum)
            }
            _ => false,
        }
    }

    /// Returns the name of the statistic in text files, which differs from `name` only for the minimum.
    pub const fn word(self) -> &'static str {
        match self {
            Statistic::Minimum => "minimum",
            other => other.name(),
        }
    }

    /// Returns the statistic with the name `name`, in the spelling of file names or of text files.
    pub fn of_name(name: &str) -> Option<Statistic> {
        Statistic::ALL.into_iter().find(|statistic| [statistic.name(), statistic.word()].contains(&name))
    }
}

/// Parameters of the measurement of a set of time matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Number of ranks. A time matrix has as many elements as the square of the number of ranks.
    pub ranks: u32,
    /// Test that is repeated for each pair of ranks.
    pub test: PairTest,
    /// Least measured message length, bytes.
    pub begin: u32,
    /// Exclusive upper limit of the measured message lengths, bytes.
    pub end: u32,
    /// Difference of consecutive message lengths, bytes.
    pub step: u32,
    /// Number of samples per matrix element.
    pub repeats: u32,
    /// Length of noise messages, bytes.
    pub noise_bytes: u32,
    /// Number of noise messages per sample between each pair of ranks that send noise.
    pub noise_messages: u32,
    /// Number of ranks that send noise messages.
    pub noise_ranks: u32,
}

impl Parameters {
    /// Greatest number of ranks, because matrix elements are numbered in 32 bits.
    pub const MOST_RANKS: u32 = 1 << 14;

    /// Greatest size of a matrix file in bytes; a greater size suggests a wrong step between message lengths.
    const MOST_BYTES: u128 = 1 << 40;

    /// Returns the number of time matrices, which is the number of message lengths.
    pub fn count(&self) -> usize {
        (self.end.saturating_sub(self.begin)).div_ceil(self.step.max(1)) as usize
    }

    /// Returns the message length of the matrix `matrix`, bytes.
    pub fn length(&self, matrix: usize) -> u64 {
        u64::from(self.begin) + matrix as u64 * u64::from(self.step)
    }

    /// Returns the index of the matrix for the message length `length`, if the length was measured.
    pub fn matrix_of(&self, length: u64) -> Option<usize> {
        let above = length.checked_sub(u64::from(self.begin))?;
        let matrix = (above / u64::from(self.step.max(1))) as usize;
        (above % u64::from(self.step.max(1)) == 0 && matrix < self.count()).then_some(matrix)
    }

    /// Returns the number of elements of a time matrix.
    pub fn elements(&self) -> usize {
        self.ranks as usize * self.ranks as usize
    }

    /// Checks that the parameters have at least two ranks, a step between message lengths, and ordered message lengths.
    ///
    /// # Errors
    /// A parameter of the measurement is invalid; the error message contains the name of the parameter and the expected
    /// value.
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
                "{} lengths of {} elements: expected files of 1 TiB at most, these files would have {:.1} TiB: give \
                 a greater step",
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
        let long = "2147483647 lengths of 10000 elements: expected files of 1 TiB at most, these files would have \
                    156.2 TiB: give a greater step";
        assert_eq!(error(parameters(100, 0, i32::MAX as u32, 1)), long);
        let none = Parameters { repeats: 0, ..parameters(2, 0, 1, 1) };
        assert_eq!(error(none), "repeats: expected 1 or more; found 0");
    }
}
