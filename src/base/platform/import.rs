//! Import of places and networks from descriptions that other tools write: Slurm's `topology.conf` and `topology.yaml`,
//! XML files of hwloc and of SimGrid, and output of `ibnetdiscover`.
//!
//! All functions convert text to text. The result is a part of a platform file, and a list of nodes.

mod hwloc;
mod infiniband;
mod simgrid;
mod simgrid_hosts;
mod slurm;
#[cfg(test)]
mod tests;
mod yaml;

use crate::config::ConfigError;

use super::host_list::compressed;

/// Places of a machine as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedPlaces {
    /// Part of a platform file.
    pub toml: String,
    /// List that assigns nodes to groups, or list of switches and links, if the description has any.
    pub list: Option<String>,
    /// Parts of the description that the result lacks, and assumptions.
    pub notes: Vec<String>,
}

/// Converts a description. `name` is its name in errors, and `list` the name under which the platform file finds the
/// list of nodes.
///
/// # Errors
/// The description is malformed, or has a form that places cannot express. The error names the line.
pub fn import_places(name: &str, text: &str, list: &str) -> Result<ImportedPlaces, ConfigError> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        if simgrid::fits(text) { simgrid::import(name, text, list) } else { hwloc::import(name, text) }
    } else if infiniband::fits(text) {
        infiniband::import(name, text, list)
    } else if yaml::fits(text) {
        slurm::import(name, &yaml::as_conf(text), list)
    } else {
        slurm::import(name, text, list)
    }
}

/// Returns the key `hosts` of a platform file for the names of nodes in order; empty if the names have no such form.
fn hosts_key<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let distinct: std::collections::HashSet<&str> = names.iter().copied().collect();
    let is_list = distinct.len() == names.len();
    compressed(names).filter(|_| is_list).map_or_else(String::new, |text| format!("hosts = \"{text}\"\n"))
}

/// Returns the name of a file without control characters, for comments.
fn shown(name: &str) -> String {
    name.replace(char::is_control, "?")
}
