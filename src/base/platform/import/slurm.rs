//! Slurm's `topology.conf`: a tree of switches, or blocks of nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::config::{ConfigError, Lines};

use super::super::host_list::expand;
use super::{ImportedPlaces, hosts_key, shown};

const FORMATS: &str = "SwitchName=… or BlockName=…, as in Slurm's topology.conf, or output of ibnetdiscover, or XML of \
    hwloc 2 or SimGrid";

/// Names of kinds of groups of a tree, smallest first. Larger kinds are `level3`, `level4` and so on.
const KINDS: [&str; 2] = ["switch", "group"];

/// Greatest number of kinds of groups in a platform file.
const MOST_KINDS: usize = 8;

/// Greatest number of levels of switches.
const MOST_LEVELS: usize = 16;

/// A switch or a block.
struct NodeSet {
    name: String,
    line: usize,
    is_block: bool,
    nodes: Vec<String>,
    /// Names of smaller switches.
    below: Vec<String>,
}

/// Converts the file. `list` is the name of the list of nodes.
pub(super) fn import(name: &str, text: &str, list: &str) -> Result<ImportedPlaces, ConfigError> {
    let lines = Lines::parse(name, text);
    let mut notes = Vec::new();
    let sets = read(&lines, &mut notes)?;
    let parents = parents(&lines, &sets)?;
    let heights = heights(&lines, &sets, &parents)?;
    let nodes = nodes(&lines, &sets)?;
    for set in sets.iter().filter(|set| set.nodes.is_empty() && set.below.is_empty()) {
        notes.push(format!("{} {} has no nodes", set.word(), set.name));
    }
    // Groups of each node by kind: the largest set around the node whose height is at most that of the kind.
    let most = heights.iter().max().copied().unwrap_or(0);
    if most > MOST_LEVELS {
        return Err(lines.expected_in_all(format!("at most {MOST_LEVELS} levels of switches"), most));
    }
    let of_node = |leaf: usize| -> Vec<usize> {
        let around: Vec<usize> = std::iter::successors(Some(leaf), |&at| parents[at]).collect();
        let fits = |height: usize| around.iter().rev().find(|&&at| heights[at] <= height).copied().unwrap_or(leaf);
        (1..=most).map(fits).collect()
    };
    let groups: Vec<Vec<usize>> = nodes.iter().map(|(_, leaf)| of_node(*leaf)).collect();
    if nodes.iter().any(|(_, leaf)| heights[top(*leaf, &parents)] < most) {
        notes.push("switches have different heights: a switch also stands for the missing larger groups".to_owned());
    }
    let mut kinds = Vec::new();
    let mut before = 0;
    for kind in 0..most {
        let names: BTreeSet<usize> = groups.iter().map(|of| of[kind]).collect();
        if names.len() == 1 {
            let all = names.first().map_or("", |at| sets[*at].name.as_str());
            notes.push(format!("{all} contains all nodes: it is the machine, whose costs are in [inter_node]"));
            break;
        }
        if names.len() == before {
            notes.push(format!("the switches of height {} contain one smaller switch each: left out", kind + 1));
            continue;
        }
        before = names.len();
        kinds.push(kind);
    }
    if kinds.len() > MOST_KINDS {
        return Err(lines.expected_in_all(format!("at most {MOST_KINDS} kinds of switches"), kinds.len()));
    }
    let is_block = sets[0].is_block;
    let names: Vec<String> = (0..kinds.len()).map(|at| kind_name(at, is_block)).collect();
    notes.push(
        "latencies and bandwidths are not in the file: measure them, then add uplink_latency, uplink_bandwidth"
            .to_owned(),
    );
    Ok(ImportedPlaces {
        toml: toml(name, &nodes, &names, list),
        list: (!kinds.is_empty()).then(|| {
            let rows = nodes.iter().zip(&groups).map(|((node, _), of)| {
                let of = kinds.iter().map(|kind| sets[of[*kind]].name.as_str()).collect::<Vec<_>>();
                (node.as_str(), of)
            });
            listed(name, &names, rows)
        }),
        notes,
    })
}

impl NodeSet {
    fn word(&self) -> &'static str {
        if self.is_block { "block" } else { "switch" }
    }
}

fn kind_name(at: usize, is_block: bool) -> String {
    match KINDS.get(at) {
        _ if is_block => "block".to_owned(),
        Some(name) => (*name).to_owned(),
        None => format!("level{}", at + 1),
    }
}

/// Reads all switches or blocks.
fn read(lines: &Lines, notes: &mut Vec<String>) -> Result<Vec<NodeSet>, ConfigError> {
    let mut sets: Vec<NodeSet> = Vec::new();
    let mut ignored: BTreeMap<String, usize> = BTreeMap::new();
    for (number, line) in joined(lines) {
        let mut set = NodeSet { name: String::new(), line: number, is_block: false, nodes: vec![], below: vec![] };
        for word in line.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else { return Err(lines.expected(number, FORMATS, word)) };
            let hosts = || expand(value).map_err(|expected| lines.expected(number, expected, word));
            match key.to_ascii_lowercase().as_str() {
                found @ ("switchname" | "blockname") if set.name.is_empty() && !value.is_empty() => {
                    set.is_block = found == "blockname";
                    value.clone_into(&mut set.name);
                }
                "nodes" => set.nodes.extend(hosts()?),
                "switches" => set.below.extend(hosts()?),
                "switchname" | "blockname" => {
                    return Err(lines.expected(number, "one name of a switch or block in a line", &line));
                }
                _ => *ignored.entry(key.to_owned()).or_default() += 1,
            }
        }
        if set.name.is_empty() {
            if set.nodes.is_empty() && set.below.is_empty() {
                continue;
            }
            return Err(lines.expected(number, FORMATS, &line));
        }
        if let Some(earlier) = sets.iter().find(|earlier| earlier.is_block != set.is_block) {
            let expected = format!("only switches or only blocks, as in line {}", earlier.line);
            return Err(lines.expected(number, expected, &line));
        }
        sets.push(set);
    }
    if sets.is_empty() {
        return Err(lines.expected_in_all(FORMATS, "none"));
    }
    let keys = ignored.iter().map(|(key, count)| format!("{key} ({count} times)")).collect::<Vec<_>>();
    if !keys.is_empty() {
        notes.push(format!("left out, as places have no such keys: {}", keys.join(", ")));
    }
    Ok(sets)
}

/// Returns the lines with their numbers. A backslash at the end of a line continues it.
fn joined(lines: &Lines) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut continues = false;
    for (number, line) in lines.iter() {
        let (text, goes_on) = line.strip_suffix('\\').map_or((line, false), |text| (text, true));
        match all.last_mut() {
            Some((_, before)) if continues => {
                before.push(' ');
                before.push_str(text);
            }
            _ => all.push((number, text.to_owned())),
        }
        continues = goes_on;
    }
    all
}

/// Returns the switch above each switch.
fn parents(lines: &Lines, sets: &[NodeSet]) -> Result<Vec<Option<usize>>, ConfigError> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, set) in sets.iter().enumerate() {
        if let Some(first) = numbers.insert(&set.name, at) {
            let expected = format!("each {} once (the first is in line {})", set.word(), sets[first].line);
            return Err(lines.expected(set.line, expected, &set.name));
        }
    }
    let mut parents = vec![None; sets.len()];
    for (at, set) in sets.iter().enumerate() {
        for name in &set.below {
            let Some(&below) = numbers.get(name.as_str()) else {
                return Err(lines.expected(set.line, "switches that have a line of their own", name));
            };
            if let Some(other) = parents[below].replace(at) {
                let other: &NodeSet = &sets[other];
                let expected = format!("a tree, in which {name} is below one switch (also in line {})", other.line);
                return Err(lines.expected(set.line, expected, &set.name));
            }
        }
    }
    Ok(parents)
}

fn top(from: usize, parents: &[Option<usize>]) -> usize {
    std::iter::successors(Some(from), |&at| parents[at]).last().unwrap_or(from)
}

/// Returns the height of each switch: 1 if it has no smaller switches.
fn heights(lines: &Lines, sets: &[NodeSet], parents: &[Option<usize>]) -> Result<Vec<usize>, ConfigError> {
    let mut heights = vec![1; sets.len()];
    // Switches whose smaller switches are all known. Switches of a cycle never are.
    let mut open = vec![0; sets.len()];
    parents.iter().flatten().for_each(|&above| open[above] += 1);
    let mut known: Vec<usize> = (0..sets.len()).filter(|at| open[*at] == 0).collect();
    let mut count = 0;
    while let Some(at) = known.pop() {
        count += 1;
        if let Some(above) = parents[at] {
            heights[above] = heights[above].max(heights[at] + 1);
            open[above] -= 1;
            if open[above] == 0 {
                known.push(above);
            }
        }
    }
    if count < sets.len()
        && let Some(set) = sets.iter().zip(&open).find(|(_, open)| **open > 0).map(|(set, _)| set)
    {
        return Err(lines.expected(set.line, "a tree without cycles of switches", &set.name));
    }
    Ok(heights)
}

/// Returns the nodes in the order of the file, each with its switch or block.
fn nodes(lines: &Lines, sets: &[NodeSet]) -> Result<Vec<(String, usize)>, ConfigError> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut nodes = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        for node in &set.nodes {
            if let Some(earlier) = first.insert(node, set.line) {
                return Err(lines.expected(set.line, format!("each node once (also in line {earlier})"), node));
            }
            nodes.push((node.clone(), at));
        }
    }
    if nodes.is_empty() {
        return Err(lines.expected_in_all("Nodes=… of at least one switch or block", "none"));
    }
    Ok(nodes)
}

fn toml(name: &str, nodes: &[(String, usize)], kinds: &[String], list: &str) -> String {
    let (count, hosts) = (nodes.len(), hosts_key(nodes.iter().map(|(node, _)| node.as_str())));
    let mut text = format!("# Groups of {count} nodes, from {}: nct = [{count}, …, …]\n", shown(name));
    if !hosts.is_empty() {
        let _ = write!(text, "# Names of the nodes, for the top of the platform file: {hosts}");
    }
    for kind in kinds {
        let _ = write!(text, "\n[places.{kind}]\nnodes = {}\n", toml::Value::from(list));
    }
    text
}

fn listed<'a>(name: &str, kinds: &[String], rows: impl Iterator<Item = (&'a str, Vec<&'a str>)>) -> String {
    let mut text =
        format!("# From {}. The name of each node follows its groups.\nnode {}\n", shown(name), kinds.join(" "));
    for (number, (node, groups)) in rows.enumerate() {
        let _ = writeln!(text, "{number} {} # {node}", groups.join(" "));
    }
    text
}
