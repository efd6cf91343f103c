//! XML files of SimGrid. A cluster is a star of hosts, a fat tree, a torus or a dragonfly.

use std::fmt::Write as _;

use roxmltree::{Document, Node, ParsingOptions};

use crate::config::ConfigError;
use crate::units::{Bandwidth, SimSpan};

use super::simgrid_hosts::Zone;
use super::{ImportedPlaces, shown};

/// A cluster with the name of its file.
struct Cluster<'a> {
    name: &'a str,
    document: &'a Document<'a>,
    node: Node<'a, 'a>,
}

/// Greatest number of XML nodes.
const MOST_XML_NODES: u32 = 4_000_000;

/// Returns whether an XML text has the form.
pub(super) fn fits(text: &str) -> bool {
    text.contains("<platform") && !text.contains("<topology")
}

/// Parses a bandwidth. SimGrid writes MBps for bytes and Mbps for bits; a number has the unit B/s.
pub(super) fn bandwidth(text: &str) -> Option<Bandwidth> {
    let of_number = || text.parse::<f64>().ok().and_then(|_| format!("{text}B/s").parse().ok());
    text.strip_suffix("Bps")
        .map_or_else(|| text.parse().ok(), |number| format!("{number}B/s").parse().ok())
        .or_else(of_number)
}

/// Parses a time. A number has the unit s.
pub(super) fn latency(text: &str) -> Option<SimSpan> {
    let seconds = text.parse::<f64>().ok().and_then(SimSpan::from_seconds);
    seconds.or_else(|| text.parse().ok())
}

/// Converts the file. `list` is the name of a list of switches and links.
pub(super) fn import(name: &str, text: &str, list: &str) -> Result<ImportedPlaces, ConfigError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_XML_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = error.pos().row;
        ConfigError::new(format!("{name}:{line}: expected XML of SimGrid; {error}"))
    })?;
    let root = document.root_element();
    let mut clusters = root.descendants().filter(|node| node.has_tag_name("cluster"));
    let first = clusters.next();
    let Some(first) = first else { return Zone { name, document: &document, root }.convert(list) };
    let cluster = Cluster { name, document: &document, node: first };
    if let Some(second) = clusters.next() {
        let cluster = Cluster { node: second, ..cluster };
        return Err(cluster.expected("one element <cluster>", "a second one"));
    }
    cluster.convert()
}

impl Cluster<'_> {
    fn expected(&self, expected: &str, found: impl std::fmt::Display) -> ConfigError {
        let line = self.document.text_pos_at(self.node.range().start).row;
        ConfigError::new(format!("{}:{line}: expected {expected}; found {found}", self.name))
    }

    fn needed(&self, key: &str) -> Result<&str, ConfigError> {
        self.node.attribute(key).ok_or_else(|| self.expected(&format!("{key}=\"…\" in <cluster>"), "none"))
    }

    fn bandwidth(&self, key: &str) -> Result<Bandwidth, ConfigError> {
        let text = self.needed(key)?;
        let found = bandwidth(text);
        found.ok_or_else(|| self.expected(&format!("a bandwidth such as {key}=\"1GBps\""), format!("\"{text}\"")))
    }

    fn latency(&self, key: &str) -> Result<SimSpan, ConfigError> {
        let text = self.needed(key)?;
        latency(text).ok_or_else(|| self.expected(&format!("a time such as {key}=\"5us\""), format!("\"{text}\"")))
    }

    /// Number of hosts of the attribute `radical`, such as "0-63,70".
    fn hosts(&self) -> Result<u32, ConfigError> {
        let text = self.needed("radical")?;
        let count = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let [first, last] = [first, last].map(|number| number.trim().parse::<u32>().ok());
            last?.checked_sub(first?)?.checked_add(1)
        };
        let counts = text.split(',').map(count).try_fold(0_u32, |all, count| all.checked_add(count?));
        let found = counts.filter(|count| *count > 0);
        found.ok_or_else(|| self.expected("radical=\"0-63\", numbers and ranges of hosts,", format!("\"{text}\"")))
    }

    /// Returns the parameters of the topology: lists separated by semicolons.
    fn parameters(&self) -> Result<Vec<Vec<u32>>, ConfigError> {
        let text = self.needed("topo_parameters")?;
        let numbers = |list: &str| list.split(',').map(|number| number.trim().parse::<u32>().ok()).collect();
        let all: Option<Vec<Vec<u32>>> = text.split(';').map(numbers).collect();
        all.ok_or_else(|| self.expected("lists of numbers such as topo_parameters=\"2;4,4;1,2;1,2\"", text))
    }

    fn convert(&self) -> Result<ImportedPlaces, ConfigError> {
        let (hosts, bandwidth, latency) = (self.hosts()?, self.bandwidth("bw")?, self.latency("lat")?);
        let mut notes = Vec::new();
        let topology = self.node.attribute("topology").unwrap_or("FLAT");
        // A message passes the links of both hosts; those of a torus connect two hosts.
        let (network, between, connected) = match topology {
            "FLAT" => (String::new(), latency * 2, hosts),
            "FAT_TREE" => self.fat_tree().map(|(text, nodes)| (text, latency * 2, nodes))?,
            "TORUS" => self.torus().map(|(text, nodes)| (text, latency, nodes))?,
            "DRAGONFLY" => self.dragonfly(&mut notes).map(|(text, nodes)| (text, latency * 2, nodes))?,
            other => {
                return Err(self.expected("FLAT, FAT_TREE, TORUS or DRAGONFLY as topology", format!("\"{other}\"")));
            }
        };
        if connected != hosts {
            return Err(self.expected(&format!("{connected} hosts, as topo_parameters says,"), hosts));
        }
        let cores = self.node.attribute("core").and_then(|cores| cores.parse::<u32>().ok()).unwrap_or(1);
        let mut toml = format!(
            "# A cluster of SimGrid, from {}\nnct = [{hosts}, 1, {cores}]\n\n[inter_node]\ncontention = \"fair\"\n\
             latency = \"{between}\"\nbandwidth = \"{bandwidth}\"\n",
            shown(self.name)
        );
        if !network.is_empty() {
            let _ = write!(toml, "\n[network]\n{network}latency = \"{latency}\"\nbandwidth = \"{bandwidth}\"\n");
        }
        let sharing = self.node.attribute("sharing_policy").unwrap_or("SPLITDUPLEX");
        if sharing != "SPLITDUPLEX" {
            notes.push(format!("sharing_policy {sharing} is left out: both directions of a link are independent"));
        }
        for (key, what) in [
            ("bb_bw", "the backbone"),
            ("loopback_bw", "the link of a host to itself"),
            ("limiter_link", "the limiter link of a host"),
        ] {
            if let Some(stated) = self.node.attribute(key) {
                notes.push(format!("{what} ({key} {stated}) is left out"));
            }
        }
        notes.push("factors of SMPI by message size, and the rates of cores, are left out: measure them".to_owned());
        Ok(ImportedPlaces { toml, list: None, notes })
    }

    fn fat_tree(&self) -> Result<(String, u32), ConfigError> {
        let all = self.parameters()?;
        let expected = "topo_parameters=\"LEVELS;DOWN;UP;PARALLEL\" with a number per level in each list";
        let [levels, down, up, parallel] = all.as_slice() else {
            return Err(self.expected(expected, self.needed("topo_parameters")?));
        };
        let fits = |list: &Vec<u32>| levels.len() == 1 && list.len() == levels[0] as usize && !list.contains(&0);
        if ![down, up, parallel].into_iter().all(fits) {
            return Err(self.expected(expected, self.needed("topo_parameters")?));
        }
        if [up[0], parallel[0]] != [1, 1] {
            return Err(self.expected("one link per host, to one leaf switch,", format!("{} × {}", up[0], parallel[0])));
        }
        let nodes = self.product(down)?;
        let text =
            format!("topology = \"fat_tree\"\ndown = {down:?}\nup = {:?}\nparallel = {:?}\n", &up[1..], &parallel[1..]);
        Ok((text, nodes))
    }

    fn torus(&self) -> Result<(String, u32), ConfigError> {
        let all = self.parameters()?;
        let nodes = all.iter().flatten().copied().collect::<Vec<_>>();
        Ok((format!("topology = \"torus\"\ndimensions = {nodes:?}\n"), self.product(&nodes)?))
    }

    fn dragonfly(&self, notes: &mut Vec<String>) -> Result<(String, u32), ConfigError> {
        let all = self.parameters()?;
        let [groups, chassis, blades, nodes] = all.as_slice() else {
            let expected = "topo_parameters=\"GROUPS,LINKS;CHASSIS,LINKS;BLADES,LINKS;NODES\"";
            return Err(self.expected(expected, self.needed("topo_parameters")?));
        };
        let ([groups, global], [chassis, _], [blades, local], [nodes]) =
            (groups.as_slice(), chassis.as_slice(), blades.as_slice(), nodes.as_slice())
        else {
            let expected = "topo_parameters=\"GROUPS,LINKS;CHASSIS,LINKS;BLADES,LINKS;NODES\"";
            return Err(self.expected(expected, self.needed("topo_parameters")?));
        };
        if *chassis != 1 {
            return Err(self.expected("groups of one chassis, whose switches are connected to each other,", chassis));
        }
        notes.push("links between groups are spread over the switches of a group; SimGrid has one switch".to_owned());
        let text = format!(
            "topology = \"dragonfly\"\ngroups = {groups}\nswitches = {blades}\nnodes_per_switch = {nodes}\n\
             local_links = {local}\nglobal_links = {global}\n"
        );
        Ok((text, self.product(&[*groups, *blades, *nodes])?))
    }

    fn product(&self, numbers: &[u32]) -> Result<u32, ConfigError> {
        let product = numbers.iter().try_fold(1_u32, |all, number| all.checked_mul(*number)).filter(|all| *all > 0);
        product
            .ok_or_else(|| self.expected("topo_parameters of a machine of at least one host", format!("{numbers:?}")))
    }
}
