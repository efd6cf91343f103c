//! Arguments of `mcpsim measure --pairs`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::exit::Failure;
use crate::matrices::{PairTest, Parameters};

/// Options of `--pairs` and `--simulate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PairArgs {
    /// Measure the message time between every pair of ranks: one matrix per message length, for mcpsim cluster
    #[arg(long, help_heading = "All pairs", conflicts_with_all = ["samples", "figures", "compute"])]
    pub pairs: bool,

    /// Communication test of each pair: one_to_one, async_one_to_one, send_recv_and_recv_send,
    /// all_to_all, noise, noise_blocking, bcast, put or get
    #[arg(long, value_name = "KIND", default_value = "one_to_one", value_parser = parse_test, help_heading = "All pairs")]
    pub test: PairTest,

    /// Smallest message length
    #[arg(long, value_name = "BYTES", default_value_t = 0, help_heading = "All pairs")]
    pub begin: u32,

    /// End of the message lengths, exclusive
    #[arg(long, value_name = "BYTES", default_value_t = 10_000, help_heading = "All pairs")]
    pub end: u32,

    /// Step between message lengths
    #[arg(long, value_name = "BYTES", default_value_t = 500, help_heading = "All pairs")]
    pub step: u32,

    /// Number of samples per matrix element
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "All pairs")]
    pub repeats: u32,

    /// Length of each noise message, which ranks outside the measured pair send
    #[arg(long, value_name = "BYTES", default_value_t = 0, help_heading = "All pairs")]
    pub noise_length: u32,

    /// Number of ranks that send noise, in addition to the two ranks of a pair
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "All pairs")]
    pub noise_ranks: u32,

    /// Number of noise messages per sample
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "All pairs")]
    pub noise_messages: u32,

    /// Measure pairs that share no node at the same time, and measure some of them again one at a time
    #[arg(long, help_heading = "All pairs")]
    pub parallel: bool,

    /// Also write the matrices as text
    #[arg(long, help_heading = "All pairs")]
    pub text: bool,

    /// Measure the simulated machine of this platform (or default) in place of this host; under MPI, --collectives
    /// and --b-eff measure both
    #[arg(long, value_name = "PLATFORM", help_heading = "All pairs")]
    pub simulate: Option<PathBuf>,

    /// With --simulate: number of ranks, in block order (default: one per core)
    #[arg(long, value_name = "P", requires = "simulate", help_heading = "All pairs")]
    pub ranks: Option<u32>,

    /// With --simulate: standard deviation of the lognormal random factor on each sample, such as 0.05
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_jitter, help_heading = "All pairs")]
    pub jitter: f64,

    /// With --jitter: seed of the random factors
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "All pairs")]
    pub seed: u64,
}

/// Options of measurements with all ranks.
#[derive(Args, Clone, Debug)]
pub(crate) struct TogetherArgs {
    /// Time collectives by number of ranks and message size, and fit t0(n) and r_inf(n) of Xu and Hwang
    #[arg(long, help_heading = "All ranks together", conflicts_with_all = ["pairs", "samples", "figures", "compute", "import"])]
    pub collectives: bool,

    /// Measure the effective bandwidth b_eff, up to messages of --max-size
    #[arg(long, help_heading = "All ranks together", conflicts_with_all = ["collectives", "pairs", "samples", "figures", "compute", "import"])]
    pub b_eff: bool,
}

impl TogetherArgs {
    /// Returns true if any option of a measurement with all ranks is present.
    pub fn any(&self) -> bool {
        self.collectives || self.b_eff
    }
}

impl PairArgs {
    /// Returns the measurement parameters for `ranks` ranks, or the error in the options.
    pub fn parameters(&self, ranks: u32) -> Result<Parameters, Failure> {
        let wrong = |what: &str| Failure::bad_input(format!("--pairs: {what}"));
        let parameters = self.unchecked(ranks);
        parameters.check().map_err(|error| wrong(&error.to_string()))?;
        let (found, test) = (self.noise_ranks, self.test.name());
        if found > 0 && !self.test.has_noise() {
            let expected = "expected with --test noise or noise_blocking, in which other ranks send";
            return Err(wrong(&format!("--noise-ranks {found}: {expected}; found --test {test}")));
        }
        // Two ranks are the measured pair, and only the other ranks can send noise messages.
        let most = ranks - 2;
        if found > most {
            let expected = format!("expected at most {most}, which is {ranks} ranks without the two of a pair");
            return Err(wrong(&format!("--noise-ranks: {expected}; found {found}")));
        }
        Ok(parameters)
    }

    fn unchecked(&self, ranks: u32) -> Parameters {
        Parameters {
            ranks,
            test: self.test,
            begin: self.begin,
            end: self.end,
            step: self.step,
            repeats: self.repeats,
            noise_bytes: self.noise_length,
            noise_messages: self.noise_messages,
            noise_ranks: self.noise_ranks,
        }
    }
}

fn parse_test(text: &str) -> Result<PairTest, String> {
    PairTest::of_name(text).ok_or_else(|| {
        let names: Vec<&str> = PairTest::ALL.iter().map(|test| test.name()).collect();
        format!("expected one of {}; found \"{text}\"", names.join(", "))
    })
}

fn parse_jitter(text: &str) -> Result<f64, String> {
    let (number, unit) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |number| (number.trim(), 0.01));
    let found = number.parse::<f64>().ok().map(|number| number * unit).filter(|jitter| (0.0..=2.0).contains(jitter));
    found.ok_or_else(|| format!("expected 0 to 2, such as 0.05 or 5%; found \"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jitter_is_a_part_or_a_percentage() {
        assert_eq!((parse_jitter("0.05"), parse_jitter("20 %"), parse_jitter("0")), (Ok(0.05), Ok(0.2), Ok(0.0)));
        for text in ["x", "-1", "3", "300%", "nan", ""] {
            let expected = format!("expected 0 to 2, such as 0.05 or 5%; found \"{text}\"");
            assert_eq!(parse_jitter(text), Err(expected));
        }
    }
}
