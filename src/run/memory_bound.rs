//! Part of the time of a real program's code that memory bounds: one part for all code, and parts of the code before
//! calls of MPI functions.

use std::collections::BTreeMap;
use std::str::FromStr;

use toml::Value;

use crate::engine::Outcome;
use crate::units::SimSpan;

use super::application::Application;
use super::conduct::{Conduct, Prediction};
use super::error::PredictError;
use super::placement::placed;
use super::resolved::Resolved;
use super::typical::CodeBlocks;

/// Expected text of the setting.
const PART: &str = "a number from 0 to 1, or parts by MPI function such as \"0.4,MPI_Wait=0.6\"";

/// Memory-bound parts from 0 to 1, stored in millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBound {
    all: u32,
    calls: BTreeMap<String, u32>,
}

const ONE: f64 = 1e6;

fn part(of_one: f64) -> Option<u32> {
    (0.0..=1.0).contains(&of_one).then(|| (of_one * ONE).round() as u32)
}

impl MemoryBound {
    /// Returns the part of code before calls without a part of their own, from 0 to 1.
    pub fn of_one(&self) -> f64 {
        f64::from(self.all) / ONE
    }

    /// Returns the value of the setting in files.
    pub(super) fn value(&self) -> Value {
        match self.calls.is_empty() {
            true => self.of_one().into(),
            false => {
                let calls = self.calls.iter().map(|(call, part)| format!(",{call}={}", f64::from(*part) / ONE));
                format!("{}{}", self.of_one(), calls.collect::<String>()).into()
            }
        }
    }

    /// Reads the value of the setting in a file.
    pub(super) fn of_value(value: &Value) -> Option<MemoryBound> {
        let number = value.as_float().or(value.as_integer().map(|number| number as f64));
        match value.as_str() {
            Some(text) => text.parse().ok(),
            None => Some(MemoryBound { all: part(number?)?, calls: BTreeMap::new() }),
        }
    }

    /// Text that describes the expected values of the setting.
    pub(super) fn expected() -> &'static str {
        PART
    }

    /// Returns the part of code before calls of the MPI function `call`, from 0 to 1.
    fn before(&self, call: &str) -> f64 {
        f64::from(*self.calls.get(call).unwrap_or(&self.all)) / ONE
    }

    /// Returns the factor on the time of code before a call of `call`. The time contains the slowdown of code with the
    /// part for all code. The slowdown of code that only streams is `streaming`.
    fn ratio(&self, call: &str, alone: f64, streaming: f64) -> f64 {
        let slowdown = |part: f64| alone + part * (streaming - alone);
        slowdown(self.before(call)) / slowdown(self.of_one())
    }
}

impl FromStr for MemoryBound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected {PART}; found \"{text}\"");
        let number = |text: &str| text.trim().parse().ok().and_then(part).ok_or_else(wrong);
        let mut words = text.split(',');
        let all = number(words.next().unwrap_or_default())?;
        let mut calls = BTreeMap::new();
        for word in words {
            let (call, value) = word.split_once('=').ok_or_else(wrong)?;
            if call.trim().is_empty() || calls.insert(call.trim().to_owned(), number(value)?).is_some() {
                return Err(wrong());
            }
        }
        Ok(MemoryBound { all, calls })
    }
}

impl Resolved {
    /// Returns true if memory bounds different parts of the program's code before different calls.
    pub(super) fn has_memory_bound_calls(&self) -> bool {
        let has_code = matches!(self.application, Application::Real(_) | Application::Trace(_));
        has_code && self.settings.memory_bound.as_ref().is_some_and(|bound| !bound.calls.is_empty())
    }

    /// Predicts the run as [`Resolved::run_in`] does. Blocks of code are slowed by other ranks according to the call
    /// that follows the block. The run must have a single host process.
    pub(super) fn memory_bound_in(&self, conduct: Conduct<'_>) -> Result<Option<Prediction>, PredictError> {
        let Some(bound) = &self.settings.memory_bound else { return self.run_in(conduct) };
        let mut alike = self.clone();
        alike.settings.memory_bound = Some(MemoryBound { all: bound.all, calls: BTreeMap::new() });
        let factors = |ranks: u32| self.streaming_slowdowns(ranks);
        let times = |blocks: &[CodeBlocks]| -> Result<Vec<Vec<SimSpan>>, PredictError> {
            let factors = factors(blocks.len() as u32)?;
            let scaled = |(blocks, [alone, streaming]): (&CodeBlocks, &[f64; 2])| {
                let block = |((call, _), span): &((String, u64), SimSpan)| {
                    let ratio = bound.ratio(call, *alone, *streaming);
                    SimSpan::from_ps((span.as_ps() as f64 * ratio).round() as u64)
                };
                blocks.iter().map(block).collect()
            };
            Ok(blocks.iter().zip(&factors).map(scaled).collect())
        };
        let Some(prediction) = alike.with_blocks(conduct, "--memory-bound", times)? else { return Ok(None) };
        let outcome = Outcome { config: self.to_json()?, ..prediction.outcome };
        Ok(Some(Prediction { outcome, ..prediction }))
    }

    /// Returns, for each rank, the slowdowns of code that only streams: alone on the CMP, and with the ranks of the CMP.
    fn streaming_slowdowns(&self, ranks: u32) -> Result<Vec<[f64; 2]>, PredictError> {
        let mut settings = self.settings.clone();
        settings.memory_bound = None;
        let (platform, sites) = placed(&settings, self.platform.platform.clone(), Some(ranks))?;
        let platform = platform.with_memory_bound(1.0);
        let mut on_cmp = BTreeMap::new();
        sites.iter().for_each(|site| *on_cmp.entry((site.node, site.cmp)).or_insert(0usize) += 1);
        let of_site = |site: &crate::platform::Site| {
            let slowdown = |ranks: usize| platform.slowdown_of(site.node, ranks);
            [slowdown(1), slowdown(on_cmp[&(site.node, site.cmp)])]
        };
        Ok(sites.iter().map(of_site).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_written() {
        for text in ["0.25", "0.4,MPI_Send=0,MPI_Wait=0.625"] {
            let bound: MemoryBound = text.parse().unwrap();
            assert_eq!(MemoryBound::of_value(&bound.value()), Some(bound.clone()));
            assert_eq!(bound.value().as_str().map_or_else(|| bound.value().to_string(), str::to_owned), text);
        }
        for text in ["", "1.5", "MPI_Wait=0.5", "0.5,MPI_Wait", "0.5,=1", "0.5,a=0.1,a=0.2", "0.5,a=2"] {
            assert_eq!(text.parse::<MemoryBound>().unwrap_err(), format!("expected {PART}; found \"{text}\""));
        }
    }

    /// Streaming takes 3 times as long with the other ranks. Of the code before MPI_Wait memory bounds nothing, of all
    /// code a half, which therefore takes 2 times as long.
    #[test]
    fn a_block_is_slowed_by_the_part_of_its_call() {
        let bound: MemoryBound = "0.5,MPI_Wait=0,MPI_Send=1".parse().unwrap();
        let ratio = |call| bound.ratio(call, 1.0, 3.0);
        assert_eq!([ratio("MPI_Wait"), ratio("MPI_Send"), ratio("MPI_Recv")], [0.5, 1.5, 1.0]);
        assert_eq!(bound.ratio("MPI_Send", 1.0, 1.0), 1.0);
    }
}
