//! The keys `progress`, `[noise]` and `[[nodes]]` of a platform file.

use std::path::Path;

use serde::Deserialize;

use crate::config::{ConfigError, Document, Lines};
use crate::units::SimSpan;

use super::super::{
    Conditions, Contention, NetworkNoise, NodeFactors, Noise, NoiseDistribution, ProgressEngine, Spread, SystemNoise,
};
use super::values::Factor;

/// Values of the key `progress`, which name a [`ProgressEngine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProgressName {
    Hardware,
    Call,
    Thread,
}

/// Table `[noise]` of a platform file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoiseFile {
    system: Option<SystemFile>,
    network: Option<NetworkFile>,
    nodes: Option<NodesNoiseFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemFile {
    period: SimSpan,
    length: SimSpan,
    deviation: Option<f64>,
    distribution: Option<NoiseDistribution>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkFile {
    delay: Option<SimSpan>,
    part: Option<f64>,
    deviation: Option<f64>,
    distribution: Option<NoiseDistribution>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodesNoiseFile {
    deviation: f64,
    distribution: Option<NoiseDistribution>,
}

/// An entry of the list `[[nodes]]` of a platform file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodesFile {
    /// Text for human readers, which mcpsim ignores.
    #[serde(rename = "about")]
    _about: Option<String>,
    only: Option<Vec<u32>>,
    cmp: Option<u32>,
    rate: Option<Factors>,
    memory: Option<Factors>,
    adapter: Option<Factors>,
    slowdown: Option<Vec<Factor>>,
}

/// One factor for several nodes, one factor per node, or the name of a file with one factor per line.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a number above zero, a list of these, or the name of a file with one per line")]
enum Factors {
    All(Factor),
    Each(Vec<Factor>),
    File(String),
}

/// Values of a platform file on which the conditions of the machine depend.
pub(super) struct StatedConditions<'a> {
    pub progress: Option<ProgressName>,
    pub share: Option<f64>,
    pub noise: Option<&'a NoiseFile>,
    pub nodes: &'a [NodesFile],
    /// Number of nodes.
    pub count: u32,
    /// Number of CMPs per node.
    pub cmps: u32,
    /// Contention model of the network.
    pub contention: Contention,
}

impl StatedConditions<'_> {
    /// Checks the values of the keys beyond the checks of serde, and adds defaults.
    pub fn conditions(&self, document: &Document) -> Result<Conditions, ConfigError> {
        Ok(Conditions {
            progress: self.progress(document)?,
            noise: self.noise.map_or(Ok(Noise::default()), |file| file.noise(document))?,
            nodes: self.factors(document)?,
        })
    }

    fn progress(&self, document: &Document) -> Result<ProgressEngine, ConfigError> {
        let share = self.share.unwrap_or(ProgressEngine::SHARE);
        if !(0.0..1.0).contains(&share) {
            return Err(document.expected("progress_share", "a part of a core from 0 to below 1", share));
        }
        Ok(match self.progress.unwrap_or(ProgressName::Hardware) {
            ProgressName::Hardware => ProgressEngine::Hardware,
            ProgressName::Call => ProgressEngine::Call,
            ProgressName::Thread => ProgressEngine::Thread { share },
        })
    }

    fn factors(&self, document: &Document) -> Result<NodeFactors, ConfigError> {
        let mut factors = NodeFactors::default();
        for (index, entry) in self.nodes.iter().enumerate() {
            let path = format!("nodes[{index}]");
            let only: Vec<u32> = match &entry.only {
                None => (0..self.count).collect(),
                Some(only) => only.clone(),
            };
            if let Some(wrong) = only.iter().find(|&&node| node >= self.count) {
                let expected = format!("nodes from 0 to {}", self.count - 1);
                return Err(document.expected(&format!("{path}.only"), expected, wrong));
            }
            if entry.adapter.is_some() && self.contention == Contention::Fair {
                let expected = "no \"adapter\", which contention \"fair\" does not model yet (\"share\" does),";
                return Err(document.expected(&format!("{path}.adapter"), expected, "one"));
            }
            let mut multiply = |stated: &Option<Factors>, key: &str, into: fn(&mut NodeFactors) -> &mut Vec<f64>| {
                let Some(stated) = stated else { return Ok(()) };
                let each = stated.each(document, &format!("{path}.{key}"), only.len())?;
                let into = into(&mut factors);
                into.resize(self.count as usize, 1.0);
                only.iter().zip(each).for_each(|(&node, factor)| into[node as usize] *= factor);
                Ok(())
            };
            if let Some(cmp) = entry.cmp {
                let each = self.of_cmp(document, entry, &path, only.len())?;
                for (&node, factor) in only.iter().zip(each) {
                    *factors.cmp_rate.entry((node, cmp)).or_insert(1.0) *= factor;
                }
                continue;
            }
            multiply(&entry.rate, "rate", |factors| &mut factors.rate)?;
            multiply(&entry.memory, "memory", |factors| &mut factors.memory)?;
            multiply(&entry.adapter, "adapter", |factors| &mut factors.adapter)?;
            if let Some(slowdown) = &entry.slowdown {
                if slowdown.is_empty() {
                    let expected = "a factor for 1, 2, … ranks per CMP such as [1.0, 1.1]";
                    return Err(document.expected(&format!("{path}.slowdown"), expected, "[]"));
                }
                factors.slowdown.resize(self.count as usize, Vec::new());
                for &node in &only {
                    factors.slowdown[node as usize] = slowdown.iter().map(|factor| factor.0).collect();
                }
            }
        }
        Ok(factors)
    }
}

impl StatedConditions<'_> {
    /// Applies the rates of an entry of `[[nodes]]` to one CMP of each node of the entry.
    fn of_cmp(
        &self,
        document: &Document,
        entry: &NodesFile,
        path: &str,
        count: usize,
    ) -> Result<Vec<f64>, ConfigError> {
        let cmp = entry.cmp.unwrap_or_default();
        if cmp >= self.cmps {
            let expected = format!("a CMP from 0 to {}", self.cmps - 1);
            return Err(document.expected(&format!("{path}.cmp"), expected, cmp));
        }
        match (&entry.rate, &entry.memory, &entry.adapter, &entry.slowdown) {
            (Some(rate), None, None, None) => rate.each(document, &format!("{path}.rate"), count),
            _ => Err(document.expected(path, "\"rate\" as the only key with \"cmp\"", "another")),
        }
    }
}

impl Factors {
    /// Returns the factor of each of `count` nodes.
    fn each(&self, document: &Document, path: &str, count: usize) -> Result<Vec<f64>, ConfigError> {
        match self {
            Factors::All(factor) => Ok(vec![factor.0; count]),
            Factors::Each(factors) if factors.len() == count => Ok(factors.iter().map(|factor| factor.0).collect()),
            Factors::Each(factors) => {
                Err(document.expected(path, format!("a factor for each of {count} nodes"), factors.len()))
            }
            Factors::File(name) => {
                // A relative file name is relative to the directory of the platform file.
                let file = Path::new(document.name()).parent().unwrap_or(Path::new("")).join(name);
                let lines = Lines::read(&file)?;
                let factor = |(number, line): (usize, &str)| {
                    let factor = line.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
                    factor.ok_or_else(|| lines.expected(number, "a number above zero such as 0.95", line))
                };
                let factors = lines.iter().map(factor).collect::<Result<Vec<f64>, _>>()?;
                match factors.len() == count {
                    true => Ok(factors),
                    false => {
                        let expected = format!("a factor for each of {count} nodes, one per line");
                        Err(lines.expected_in_all(expected, factors.len()))
                    }
                }
            }
        }
    }
}

impl NoiseFile {
    fn noise(&self, document: &Document) -> Result<Noise, ConfigError> {
        let amount = |stated: f64, path: &str| match stated.is_finite() && stated >= 0.0 {
            true => Ok(stated),
            false => Err(document.expected(path, "a number of at least 0 such as 0.05", stated)),
        };
        let spread = |deviation: Option<f64>,
                      usual: f64,
                      distribution: Option<NoiseDistribution>,
                      usual_distribution,
                      path: &str| {
            let deviation = amount(deviation.unwrap_or(usual), path)?;
            Ok(Spread { distribution: distribution.unwrap_or(usual_distribution), deviation })
        };
        let system = match &self.system {
            None => None,
            Some(SystemFile { period, length, deviation, distribution }) => {
                if length >= period {
                    let expected = format!("a time below the period, {period},");
                    return Err(document.expected("noise.system.length", expected, length));
                }
                let spread =
                    spread(*deviation, 0.0, *distribution, NoiseDistribution::Normal, "noise.system.deviation")?;
                Some(SystemNoise { period: *period, length: *length, spread })
            }
        };
        let network = match &self.network {
            None => None,
            Some(NetworkFile { delay, part, deviation, distribution }) => Some(NetworkNoise {
                delay: delay.unwrap_or(SimSpan::ZERO),
                part: amount(part.unwrap_or(0.0), "noise.network.part")?,
                spread: spread(
                    *deviation,
                    1.0,
                    *distribution,
                    NoiseDistribution::Lognormal,
                    "noise.network.deviation",
                )?,
            }),
        };
        let nodes = match &self.nodes {
            None => None,
            Some(file) => Some(spread(
                Some(file.deviation),
                0.0,
                file.distribution,
                NoiseDistribution::Normal,
                "noise.nodes.deviation",
            )?),
        };
        Ok(Noise { system, network, nodes })
    }
}
