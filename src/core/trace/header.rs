//! Description of the recorded run at the beginning of a trace.

use super::TraceError;
use super::bytes::{TraceReader, put, put_text};
use crate::platform::CoreRates;
use crate::rank::Rank;

/// Keys of the platform file that determine the times of computing and of combining data in described programs.
const RATES: [&str; 5] =
    ["core.flops", "core.instructions", "core.memory_bandwidth", "cmp.memory_bandwidth", "node.memory_bandwidth"];

/// Description of the recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Version of mcpsim that recorded the run.
    pub mcpsim: String,
    /// Number of ranks of the run.
    pub ranks: u32,
    /// Name of the recorded application.
    pub app: String,
    /// Name of the platform that was simulated during the recording.
    pub platform: String,
    /// Name of the machine model: `mcpsim`, `two-level` or a textbook model.
    pub model: String,
    /// Numbers of nodes, CMPs per node and cores per CMP.
    pub nct: [u32; 3],
    /// Seed of the run's random numbers.
    pub seed: u64,
    /// Computing rates of the machine, in the order of the keys `RATES`.
    pub rates: [f64; 5],
    /// For each rank, the factor by which the measured times of the rank's own code were multiplied; empty if no times
    /// were measured.
    pub factors: Vec<f64>,
}

impl Header {
    /// Returns the computing rates of a machine in the order of the keys `RATES`.
    pub fn rates(core: &CoreRates) -> [f64; 5] {
        let bandwidths = [core.memory, core.cmp_memory, core.node_memory].map(|bandwidth| bandwidth.get() as f64);
        let [memory, cmp, node] = bandwidths;
        [core.flops.get(), core.instructions.get(), memory, cmp, node]
    }

    /// Keys of the computing rates that differ between this machine and the recorded machine.
    pub fn other_rates(&self, core: &CoreRates) -> Vec<&'static str> {
        let differ = RATES.into_iter().zip(self.rates).zip(Header::rates(core));
        differ.filter(|((_, recorded), here)| recorded != here).map(|((key, _), _)| key).collect()
    }

    /// Factor for the recorded times of the code of `rank`, in a replay in which times measured on the host are
    /// multiplied by `factor`.
    pub fn rescaled(&self, rank: Rank, factor: f64) -> f64 {
        self.factors.get(rank as usize).map_or(1.0, |recorded| factor / recorded)
    }

    /// Groups of consecutive ranks with equal factors of their code's time.
    fn runs(&self) -> impl Iterator<Item = &[f64]> {
        self.factors.chunk_by(|a, b| a == b)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_text(out, &self.mcpsim);
        put(out, self.ranks.into());
        put_text(out, &self.app);
        put_text(out, &self.platform);
        put_text(out, &self.model);
        self.nct.iter().for_each(|&part| put(out, part.into()));
        put(out, self.seed);
        self.rates.iter().for_each(|rate| out.extend_from_slice(&rate.to_le_bytes()));
        put(out, self.runs().count() as u64);
        for run in self.runs() {
            put(out, run.len() as u64);
            out.extend_from_slice(&run[0].to_le_bytes());
        }
    }

    pub(super) fn read(reader: &mut TraceReader<'_>) -> Result<Header, TraceError> {
        let text = |reader: &mut TraceReader<'_>, what| reader.text(what).map(str::to_owned);
        let mcpsim = text(reader, "a version")?;
        let ranks = reader.count("a number of ranks")? as u32;
        if ranks == 0 {
            return Err(reader.error("expected at least one rank"));
        }
        let (app, platform) = (text(reader, "an application")?, text(reader, "a platform")?);
        let model = text(reader, "a model")?;
        let mut nct = [0; 3];
        for part in &mut nct {
            *part = reader.word("a part of the shape")?;
        }
        let seed = reader.number()?;
        let mut rates = [0.0; 5];
        for rate in &mut rates {
            *rate = f64::from_le_bytes(reader.array("a rate")?);
        }
        let mut factors = Vec::new();
        for _ in 0..reader.count("a number of factors")? {
            let most = u64::from(ranks) - factors.len() as u64;
            let count = reader.at_most(most, "a number of ranks")? as usize;
            let factor = f64::from_le_bytes(reader.array("a factor")?);
            if !(factor.is_finite() && factor > 0.0) {
                return Err(reader.error(format_args!("expected a factor above 0; found {factor}")));
            }
            factors.resize(factors.len() + count, factor);
        }
        if ![0, ranks as usize].contains(&factors.len()) {
            return Err(reader.error(format_args!("expected a factor for each rank; found {}", factors.len())));
        }
        Ok(Header { mcpsim, ranks, app, platform, model, nct, seed, rates, factors })
    }
}
