//! Output of `ibnetdiscover`: the switches, adapters and links of an InfiniBand network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::config::{ConfigError, Lines};

use super::{ImportedPlaces, hosts_key, shown};

/// Gbit/s of data per lane by the name of the rate.
const LANES: [(&str, f64); 8] = [
    ("XDR", 200.0),
    ("NDR", 100.0),
    ("HDR", 50.0),
    ("EDR", 25.0),
    ("FDR10", 10.0),
    ("FDR", 13.64),
    ("QDR", 8.0),
    ("DDR", 4.0),
];

/// A port of a switch with the other end of its cable.
struct Port {
    switch: String,
    number: u32,
    other: String,
    other_number: u32,
    /// Name of the node at the other end, if that is an adapter.
    node: Option<String>,
    rate: Option<String>,
}

/// Returns whether a text has the form.
pub(super) fn fits(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("Switch\t") || line.starts_with("switchguid="))
}

/// Converts the text. `list` is the name of the list of switches and links.
pub(super) fn import(name: &str, text: &str, list: &str) -> Result<ImportedPlaces, ConfigError> {
    let ports = ports(name, text)?;
    let mut notes = Vec::new();
    // Nodes in the order of the file; a node has the switch of its first adapter.
    let mut nodes: Vec<(&str, &str)> = Vec::new();
    let mut known = BTreeSet::new();
    let mut further = 0;
    for port in &ports {
        if let Some(node) = &port.node {
            if known.insert(node.as_str()) {
                nodes.push((node, &port.switch));
            } else {
                further += 1;
            }
        }
    }
    if nodes.is_empty() {
        return Err(Lines::parse(name, text).expected_in_all("a port of a switch with the adapter of a node", "none"));
    }
    if further > 0 {
        notes.push(format!("{further} further adapters of nodes are left out: a node has the switch of the first"));
    }
    let mut cables: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    for port in ports.iter().filter(|port| port.node.is_none()) {
        // A cable has a line at both of its switches.
        if (&port.switch, port.number) < (&port.other, port.other_number) {
            let rate = port.rate.as_deref().unwrap_or("");
            *cables.entry((&port.switch, &port.other, rate)).or_default() += 1;
        }
    }
    let mut rows = format!("# Switches and links of {}\n", shown(name));
    for (at, (node, switch)) in nodes.iter().enumerate() {
        let _ = writeln!(rows, "node {at} {switch} # {}", shown(node));
    }
    let mut unknown = BTreeSet::new();
    for ((from, to, rate), count) in cables {
        let bandwidth = bandwidth(rate).map(|rate| format!(" {rate}Gbit/s"));
        if bandwidth.is_none() {
            unknown.insert(rate);
        }
        let _ = writeln!(rows, "link {from} {to} {count}{}", bandwidth.unwrap_or_default());
    }
    if !unknown.is_empty() {
        let rates = unknown.into_iter().map(|rate| format!("\"{}\"", shown(rate))).collect::<Vec<_>>().join(", ");
        notes.push(format!("links of unknown rates ({rates}) have the bandwidth of [network]"));
    }
    notes.push("latencies are not in the file: measure them, then add latency and switch_latency".to_owned());
    let (count, names) = (nodes.len(), hosts_key(nodes.iter().map(|(node, _)| *node)));
    let toml = format!(
        "# {count} nodes, from {}\nnct = [{count}, 1, 1]\n{names}\n[network]\ntopology = \"graph\"\nfile = \"{list}\"\n",
        shown(name)
    );
    Ok(ImportedPlaces { toml, list: Some(rows), notes })
}

/// Returns the data rate in Gbit/s of a text such as "4xHDR".
fn bandwidth(rate: &str) -> Option<f64> {
    let (width, name) = rate.split_once('x')?;
    let width: f64 = width.parse::<u8>().ok()?.into();
    LANES.iter().find(|(known, _)| *known == name).map(|(_, lane)| width * lane)
}

/// Returns the ports of all switches.
fn ports(name: &str, text: &str) -> Result<Vec<Port>, ConfigError> {
    let mut found = Vec::new();
    let mut switch: Option<String> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |expected: &str| {
            ConfigError::new(format!("{name}:{number}: expected {expected}; found \"{}\"", shown(line.trim())))
        };
        let (head, comment) = line.split_once('#').unwrap_or((line, ""));
        if head.starts_with("Switch") {
            let id = quoted(head).ok_or_else(|| wrong("Switch PORTS \"S-GUID\""))?;
            switch = Some(id.0.to_owned());
        } else if !head.starts_with('[') {
            // Other lines belong to the description of a device; an adapter's ports repeat those of switches.
            if !head.trim().is_empty() && !head.contains('=') {
                switch = None;
            }
        } else if let Some(switch) = &switch {
            let expected = "[PORT] \"S-GUID\"[PORT] or [PORT] \"H-GUID\"[PORT]";
            let number = bracketed(head).ok_or_else(|| wrong(expected))?;
            let (other, rest) = quoted(head).ok_or_else(|| wrong(expected))?;
            let other_number = bracketed(rest).ok_or_else(|| wrong(expected))?;
            let is_switch = other.starts_with('S');
            let named = quoted(comment).map(|(name, _)| name.split_whitespace().next().unwrap_or(name));
            let node = (!is_switch).then(|| named.unwrap_or(other).to_owned());
            let rate = comment.split_whitespace().last().filter(|word| word.contains('x')).map(str::to_owned);
            let (switch, other) = (switch.clone(), other.to_owned());
            found.push(Port { switch, number, other, other_number, node, rate });
        }
    }
    Ok(found)
}

/// Returns the first text in double quotes, which has neither blanks nor the sign of a comment in names of devices, and
/// the rest of the line.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"').filter(|(name, _)| !name.is_empty())
}

/// Returns the number in the brackets with which a text begins.
fn bracketed(text: &str) -> Option<u32> {
    let (number, _) = text.strip_prefix('[')?.split_once(']')?;
    number.parse().ok()
}
