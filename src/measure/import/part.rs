//! Option value that names a benchmark file and the network level of its messages.

use mcpsim_core::config::ConfigError;
use mcpsim_core::platform::Level;

/// `LEVEL[:PROCESSES]=FILE`: a benchmark file and the network levels that its tables measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportPart {
    /// Network levels that the benchmark tables measure. `intra_node` selects both levels within a node.
    pub levels: Vec<Level>,
    /// Numbers of processes of the selected benchmark tables; empty if all tables are selected.
    pub processes: Vec<u32>,
    /// Name of the benchmark file.
    pub file: String,
}

/// Name that selects both network levels within a node.
const INTRA_NODE: &str = "intra_node";

impl ImportPart {
    /// Parses an option value such as `inter_node=bw.txt` or `inter_node:32,64=Uniband.txt`.
    ///
    /// # Errors
    /// The option value has an unknown network level, no file name, or invalid numbers of processes.
    pub fn parse(text: &str) -> Result<ImportPart, ConfigError> {
        let wrong = |expected: &str| Err(ConfigError::new(format!("--import {text}: expected {expected}")));
        let Some((left, file)) = text.split_once('=').filter(|(_, file)| !file.is_empty()) else {
            return wrong("LEVEL=FILE or LEVEL:PROCESSES=FILE, such as inter_node=osu_latency.txt");
        };
        let (name, numbers) = left.split_once(':').map_or((left, None), |(name, numbers)| (name, Some(numbers)));
        let levels: Vec<Level> = match name {
            INTRA_NODE => vec![Level::IntraCmp, Level::InterCmp],
            _ => Level::ALL.into_iter().filter(|level| level.name() == name).collect(),
        };
        if levels.is_empty() {
            return wrong("a level: intra_cmp, inter_cmp, intra_node (both of these), inter_node");
        }
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 1);
        let numbers: Option<Vec<u32>> = numbers.map_or(Some(Vec::new()), |all| all.split(',').map(number).collect());
        let Some(processes) = numbers else {
            return wrong("numbers of processes behind the colon, such as inter_node:32,64=Uniband.txt");
        };
        Ok(ImportPart { levels, processes, file: file.to_owned() })
    }

    /// Returns the option value that selects the tables of `processes` processes, for an error message.
    pub(super) fn choosing(&self, processes: u32) -> String {
        let level = if self.levels.len() > 1 { INTRA_NODE } else { self.levels[0].name() };
        format!("--import {level}:{processes}={}", self.file)
    }
}
