//! Part of the time of a program's code that memory bounds, by the call that follows the code.
//!
//! The code is timed alone, and while another core of the host streams through memory (the *hog*). Code that only
//! streams is slowed as much as a streaming kernel. Code that never waits for memory is not slowed. Between both,
//!
//! ```text
//! part = (time with the hog / time alone − 1) / (kernel with the hog / kernel alone − 1)
//! ```

use std::collections::BTreeMap;
use std::fmt;

use super::Summary;

/// Least slowdown of the streaming kernel by the hog with which parts can be measured.
const LEAST_SLOWDOWN: f64 = 1.05;
/// Least share of a program's code time of a call that gets a part of its own.
const LEAST_SHARE: f64 = 0.01;
/// Greatest spread of the repeated parts of the whole program.
const MOST_SPREAD: f64 = 0.5;

/// Seconds of code before each MPI function, over all ranks.
pub type CodeSeconds = BTreeMap<String, f64>;

/// Times of one turn of the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HogTurn {
    /// Seconds of the streaming kernel, alone and with the hog.
    pub streaming: [f64; 2],
    /// Seconds of the program's code, alone and with the hog.
    pub code: [CodeSeconds; 2],
}

/// Parts of the time of a program's code that memory bounds, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryParts {
    /// Slowdown of the streaming kernel by the hog.
    pub slowdown: f64,
    /// Part of all code.
    pub all: f64,
    /// Least and greatest part of all code in a turn.
    pub range: [f64; 2],
    /// Part of the code before each MPI function, with the share of this code in the time of all code.
    pub calls: BTreeMap<String, (f64, f64)>,
}

/// Reason why the parts cannot be measured.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryPartsError {
    /// The program has no code that takes time.
    NoCode,
    /// The hog slows the streaming kernel only by this factor.
    NoEffect(f64),
    /// The parts of the turns differ by more than the range of useful parts.
    Scatter([f64; 2]),
}

impl fmt::Display for MemoryPartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryPartsError::NoCode => write!(f, "expected a program whose code takes time; found none"),
            MemoryPartsError::NoEffect(factor) => write!(
                f,
                "streaming on another core slows a streaming kernel by a factor of {factor:.2}, expected at least \
                 {LEAST_SLOWDOWN}: the memory of this host is too fast for one core to disturb another"
            ),
            MemoryPartsError::Scatter([least, most]) => write!(
                f,
                "the part that memory bounds is {least:.2} to {most:.2} in repeated measurements, expected a \
                 difference of at most {MOST_SPREAD}: other load on the host disturbs the times"
            ),
        }
    }
}

impl std::error::Error for MemoryPartsError {}

impl MemoryParts {
    /// Derives the parts from `turns`. Medians over turns reduce the effect of other load on the host.
    ///
    /// # Errors
    /// The times contain no usable information.
    pub fn new(turns: &[HogTurn]) -> Result<MemoryParts, MemoryPartsError> {
        let median = |values: Vec<f64>| Summary::of(&values).map_or(f64::NAN, |summary| summary.median);
        let slowdown = median(turns.iter().map(|turn| turn.streaming[1] / turn.streaming[0]).collect());
        let total = |code: &CodeSeconds| code.values().sum::<f64>();
        if turns.is_empty() || turns.iter().any(|turn| total(&turn.code[0]) <= 0.0) {
            return Err(MemoryPartsError::NoCode);
        }
        if slowdown < LEAST_SLOWDOWN || slowdown.is_nan() {
            return Err(MemoryPartsError::NoEffect(slowdown));
        }
        let part = |ratio: f64| ((ratio - 1.0) / (slowdown - 1.0)).clamp(0.0, 1.0);
        let whole: Vec<f64> = turns.iter().map(|turn| total(&turn.code[1]) / total(&turn.code[0])).collect();
        let ends = whole.iter().copied().map(part);
        let range = [ends.clone().fold(f64::INFINITY, f64::min), ends.fold(0.0, f64::max)];
        if range[1] - range[0] > MOST_SPREAD {
            return Err(MemoryPartsError::Scatter(range));
        }
        let all_alone = median(turns.iter().map(|turn| total(&turn.code[0])).collect());
        let mut calls = BTreeMap::new();
        for call in turns[0].code[0].keys() {
            let alone = |turn: &HogTurn| turn.code[0].get(call).copied().unwrap_or(0.0);
            let ratio = |turn: &HogTurn| turn.code[1].get(call).copied().unwrap_or(0.0) / alone(turn);
            let share = median(turns.iter().map(alone).collect()) / all_alone;
            let found = median(turns.iter().map(ratio).collect());
            if share >= LEAST_SHARE && found.is_finite() {
                calls.insert(call.clone(), (part(found), share));
            }
        }
        Ok(MemoryParts { slowdown, all: part(median(whole)), range, calls })
    }

    /// Returns the value of the setting `memory_bound`, such as "0.4,MPI_Wait=0.6".
    pub fn setting(&self) -> String {
        let calls = self.calls.iter().map(|(call, (part, _))| format!(",{call}={part:.3}"));
        format!("{:.3}{}", self.all, calls.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(streaming: f64, barrier: [f64; 2], wait: [f64; 2]) -> HogTurn {
        let code = |at: usize| {
            let all = [("MPI_Barrier", barrier[at]), ("MPI_Wait", wait[at]), ("MPI_Send", 0.001)];
            all.into_iter().map(|(call, seconds)| (call.to_owned(), seconds)).collect()
        };
        HogTurn { streaming: [1.0, streaming], code: [code(0), code(1)] }
    }

    /// The hog doubles the time of streaming. Code before MPI_Barrier takes 1.5 times as long: memory bounds 0.5.
    /// Code before MPI_Wait takes as long as before: 0. In total (1.5 + 2) / (1 + 2) − 1 = 0.167.
    #[test]
    fn parts_follow_from_slowdowns_compared_with_a_streaming_kernel() {
        let even = turn(2.0, [1.0, 1.5], [2.0, 2.0]);
        // Other load slows one turn, which the medians discard.
        let disturbed = turn(2.1, [1.0, 1.7], [2.0, 2.2]);
        let parts = MemoryParts::new(&[even.clone(), disturbed, even]).unwrap();
        assert_eq!(parts.setting(), "0.167,MPI_Barrier=0.500,MPI_Wait=0.000");
        assert!((parts.slowdown - 2.0).abs() < 1e-12 && (parts.calls["MPI_Wait"].1 - 2.0 / 3.001).abs() < 1e-12);
    }

    #[test]
    fn times_without_information_are_refused() {
        let error = |turns: &[HogTurn]| MemoryParts::new(turns).unwrap_err();
        assert_eq!(error(&[turn(1.02, [1.0, 1.0], [2.0, 2.0])]), MemoryPartsError::NoEffect(1.02));
        assert_eq!(error(&[]), MemoryPartsError::NoCode);
        assert_eq!(error(&[HogTurn { streaming: [1.0, 2.0], ..HogTurn::default() }]), MemoryPartsError::NoCode);
        let scatter = error(&[turn(2.0, [1.0, 1.0], [1.0, 1.0]), turn(2.0, [1.0, 2.0], [1.0, 2.0])]);
        assert!(
            matches!(scatter, MemoryPartsError::Scatter([least, most]) if least < 0.01 && most > 0.99),
            "{scatter}"
        );
        assert!(scatter.to_string().starts_with("the part that memory bounds is 0.00 to 1.00 in repeated"));
    }
}
