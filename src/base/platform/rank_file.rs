//! Files that name the host of each rank: rank files and host files of Open MPI, host files of MPICH, and lists of
//! hosts of Slurm.

use std::collections::HashMap;

use crate::config::{ConfigError, Lines};
use crate::units::counted;

use super::host_list::expand;
use super::{Places, Shape, Site};

/// Forms of the lines of a placement.
const FORMS: &str = "\"NODE CMP CORE\", \"rank N=HOST slot=CMP:CORE\", \"HOST slots=N\", \"HOST:N\" or \"HOST\"";

/// Greatest number of ranks of a file.
const MOST_RANKS: usize = 1 << 24;

/// Core of a rank on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostCore {
    /// The next core after those of the earlier ranks of the host.
    Next,
    /// Number of the core within the node.
    Core(u32),
    /// Numbers of the CMP within the node, and of the core within the CMP.
    OfCmp(u32, u32),
}

/// Numbers of hosts: those of the machine, or in the order in which the file names them.
struct HostNumbers<'a> {
    lines: &'a Lines,
    shape: Shape,
    numbers: HashMap<&'a str, u32>,
    named: HashMap<String, u32>,
}

/// Returns the core of each rank, rank 0 first, on a machine with this shape and places.
///
/// # Errors
/// A line has another form, names a host or a slot that the machine does not have, or a rank is missing or listed twice.
pub(super) fn sites(lines: &Lines, shape: Shape, places: &Places) -> Result<Vec<Site>, ConfigError> {
    let numbers = (0..).zip(&places.hosts).map(|(node, name)| (name.as_str(), node)).collect();
    let mut hosts = HostNumbers { lines, shape, numbers, named: HashMap::new() };
    let mut next = vec![0_u32; shape.nodes as usize];
    let mut ranks: Vec<Option<Site>> = Vec::new();
    for (number, line) in lines.iter() {
        let (rank, names, slot, count) = parse(line).ok_or_else(|| lines.expected(number, FORMS, line))?;
        let names = expand(names).map_err(|expected| lines.expected(number, expected, line))?;
        if rank.is_some() && names.len() != 1 {
            return Err(lines.expected(number, "one host for a rank", line));
        }
        for name in names {
            let node = hosts.number(number, name)?;
            for _ in 0..count {
                let at = rank.unwrap_or(ranks.len());
                if at >= MOST_RANKS {
                    return Err(lines.expected(number, format!("fewer than {MOST_RANKS} ranks"), line));
                }
                let site = match slot {
                    HostCore::Next => {
                        let core = &mut next[node as usize];
                        *core += 1;
                        in_node(shape, node, (*core - 1) % (shape.cmps * shape.cores))
                    }
                    HostCore::Core(core) => in_node(shape, node, core),
                    HostCore::OfCmp(cmp, core) => Site { node, cmp, core },
                };
                if !shape.contains(site) {
                    let (cmps, cores) = (shape.cmps, shape.cores);
                    let expected =
                        format!("a slot of a node with {} of {}", counted(cmps, "CMP"), counted(cores, "core"));
                    return Err(lines.expected(number, expected, line));
                }
                if at >= ranks.len() {
                    ranks.resize(at + 1, None);
                }
                if ranks[at].replace(site).is_some() {
                    return Err(lines.expected(number, "each rank once", &format!("rank {at} again")));
                }
            }
        }
    }
    let all: Option<Vec<Site>> = ranks.iter().copied().collect();
    match all.filter(|all| !all.is_empty()) {
        Some(all) => Ok(all),
        None => {
            let missing = ranks.iter().position(Option::is_none).unwrap_or(0);
            Err(lines.expected_in_all("a line for each rank", format!("none for rank {missing}")))
        }
    }
}

fn in_node(shape: Shape, node: u32, core: u32) -> Site {
    Site { node, cmp: core / shape.cores, core: core % shape.cores }
}

impl HostNumbers<'_> {
    /// Returns the number of the node with the name `name`.
    fn number(&mut self, line: usize, name: String) -> Result<u32, ConfigError> {
        if !self.numbers.is_empty() {
            let known = self.numbers.get(name.as_str()).copied().filter(|node| *node < self.shape.nodes);
            return known
                .ok_or_else(|| self.lines.expected(line, "a host that the key hosts of the platform names", &name));
        }
        let next = self.named.len() as u32;
        let node = *self.named.entry(name).or_insert(next);
        if node >= self.shape.nodes {
            let nodes = self.shape.nodes;
            return Err(self.lines.expected(
                line,
                format!("at most {}, as many as nodes", counted(nodes, "host")),
                "one more",
            ));
        }
        Ok(node)
    }
}

/// Returns the rank if a line states it, the hosts, the slot, and the number of ranks.
fn parse(line: &str) -> Option<(Option<usize>, &str, HostCore, u32)> {
    if let Some(rest) = line.strip_prefix("rank ") {
        let (rank, rest) = rest.split_once('=')?;
        let (host, slot) = rest.trim().split_once(char::is_whitespace)?;
        let slot = slot.trim().strip_prefix("slot=")?;
        // A rank that may use several cores gets the first.
        let first = |text: &str| text.split(['-', ',']).next()?.parse::<u32>().ok();
        let slot = match slot.split_once(':') {
            Some((cmp, core)) => HostCore::OfCmp(cmp.parse().ok()?, first(core)?),
            None => HostCore::Core(first(slot)?),
        };
        return Some((Some(rank.trim().parse().ok()?), host, slot, 1));
    }
    let mut words = line.split_whitespace();
    let host = words.next()?;
    let mut count = None;
    for word in words {
        match word.split_once('=')? {
            ("slots", number) => count = Some(number.parse().ok()?),
            ("max_slots" | "max-slots", number) => drop(number.parse::<u32>().ok()?),
            _ => return None,
        }
    }
    let (host, count) = match (host.split_once(':'), count) {
        (Some((host, number)), None) => (host, number.parse().ok()?),
        (Some(_), Some(_)) => return None,
        (None, count) => (host, count.unwrap_or(1)),
    };
    (!host.contains('=')).then_some((None, host, HostCore::Next, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { nodes: 3, cmps: 2, cores: 2 };

    fn read(text: &str, hosts: &[&str]) -> Result<Vec<[u32; 3]>, String> {
        let places = Places { hosts: hosts.iter().map(|name| (*name).to_owned()).collect(), ..Places::default() };
        let found = sites(&Lines::parse("r.txt", text), SHAPE, &places).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|site| [site.node, site.cmp, site.core]).collect())
    }

    #[test]
    fn every_form_names_the_cores_of_ranks() {
        let hosts = ["n1", "n2", "n3"];
        let rank_file = "rank 1=n1 slot=1:0\nrank 0=n3 slot=3\nrank 2=n1 slot=0:0-1\n";
        assert_eq!(read(rank_file, &hosts), Ok(vec![[2, 1, 1], [0, 1, 0], [0, 0, 0]]));
        assert_eq!(read("n2 slots=3 max_slots=4\nn1\n", &hosts), Ok(vec![[1, 0, 0], [1, 0, 1], [1, 1, 0], [0, 0, 0]]));
        assert_eq!(read("n3:1\nn2:2\n", &hosts), Ok(vec![[2, 0, 0], [1, 0, 0], [1, 0, 1]]));
        // Slurm's list has a host per rank, and Slurm's expressions name several hosts.
        assert_eq!(read("n3\nn3\nn1\n", &hosts), Ok(vec![[2, 0, 0], [2, 0, 1], [0, 0, 0]]));
        assert_eq!(read("n[2-3]\nn1\n", &hosts), Ok(vec![[1, 0, 0], [2, 0, 0], [0, 0, 0]]));
        // Without names in the platform, hosts are numbered in the order of the file.
        assert_eq!(read("b\na\nb\n", &[]), Ok(vec![[0, 0, 0], [1, 0, 0], [0, 0, 1]]));
    }

    #[test]
    fn wrong_lines_are_refused() {
        for (text, expected) in [
            ("rank 0=n1\n", "r.txt:1: expected \"NODE CMP CORE\""),
            ("n1 slots=x\n", "r.txt:1: expected \"NODE CMP CORE\""),
            ("n1\nn9\n", "r.txt:2: expected a host that the key hosts of the platform names; found \"n9\""),
            ("rank 0=n1 slot=4\n", "r.txt:1: expected a slot of a node with 2 CMPs of 2 cores"),
            ("rank 0=n1 slot=0:2\n", "r.txt:1: expected a slot of a node with 2 CMPs of 2 cores"),
            ("rank 0=n1 slot=0\nrank 0=n1 slot=1\n", "r.txt:2: expected each rank once; found \"rank 0 again\""),
            ("rank 1=n1 slot=0\n", "expected a line for each rank; found none for rank 0"),
            ("rank 99999999999=n1 slot=0\n", "fewer than 16777216 ranks"),
            ("n[1\n", "brackets in pairs"),
            ("n1 slots=0\n", "none for rank 0"),
        ] {
            let error = read(text, &["n1", "n2", "n3"]).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(read("a\nb\nc\nd\n", &[]).unwrap_err().contains("at most 3 hosts"));
    }
}
