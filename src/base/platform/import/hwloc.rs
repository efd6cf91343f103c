//! XML files of hwloc 2, which `lstopo --of xml` writes: processors, cores, shared caches and NUMA domains of a node.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use roxmltree::{Document, Node, ParsingOptions};

use crate::config::ConfigError;
use crate::units::{Bytes, counted};

use super::super::Shape;
use super::{ImportedPlaces, shown};

/// Greatest number of XML nodes, far above that of real machines.
const MOST_XML_NODES: u32 = 4_000_000;

/// A topology with the name of its file.
struct Topology<'a> {
    name: &'a str,
    document: &'a Document<'a>,
    /// Type of the objects that count as cores.
    core: &'static str,
}

/// Cores of the domains of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DomainSize {
    cores: usize,
    /// Number per processor.
    per_package: usize,
}

/// Converts the file.
pub(super) fn import(name: &str, text: &str) -> Result<ImportedPlaces, ConfigError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_XML_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = error.pos().row;
        ConfigError::new(format!("{name}:{line}: expected XML of hwloc; {error}"))
    })?;
    let mut notes = Vec::new();
    let topology = Topology::new(name, &document, &mut notes)?;
    let packages = topology.packages(&mut notes)?;
    let cores = topology.cores_of(packages[0]);
    if let Some(other) = packages.iter().find(|package| topology.cores_of(**package) != cores) {
        let expected = format!("{} in each processor, as in the first", counted(cores as u64, "core"));
        return Err(topology.expected(*other, &expected, topology.cores_of(*other)));
    }
    let shape = Shape::new(1, packages.len() as u32, cores as u32);
    let shape = shape.map_err(|error| ConfigError::new(format!("{name}: {error}")))?;
    let mut toml = format!("# A node, from {}\nnct = {}\n", shown(name), bracketed(shape));
    if let Some(threads) = topology.threads(&mut notes).filter(|threads| *threads > 1) {
        let _ = write!(toml, "\n[core]\nthreads = {threads}\n");
    }
    let cache = topology.cache(&packages, &mut notes);
    match cache {
        Some((_, DomainSize { per_package: 1, .. }, size)) => {
            let _ = write!(toml, "\n[cmp]\ncache = \"{size}\"\n");
        }
        Some((kind, domain, size)) => {
            let _ = write!(toml, "\n[places.{kind}]\ncores = {}\ncache = \"{size}\"\n", domain.cores);
        }
        None => {}
    }
    let domain = cache.filter(|(_, domain, _)| domain.per_package > 1);
    if let Some(numa) = topology.numa(&packages, domain.map(|(kind, domain, _)| (kind, domain.cores)), &mut notes) {
        let _ = write!(toml, "\n[places.numa]\ncores = {}\n", numa.cores);
    }
    notes.push("rates, latencies and bandwidths are not in the file: measure them".to_owned());
    if cache.is_some() {
        notes.push("a platform file with \"cache\" also needs memory_bandwidth in [cmp]".to_owned());
    }
    topology.note_others(&mut notes);
    Ok(ImportedPlaces { toml, list: None, notes })
}

fn bracketed(shape: Shape) -> String {
    format!("[{}, {}, {}]", shape.nodes, shape.cmps, shape.cores)
}

fn kind<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("type").unwrap_or_default()
}

impl<'a> Topology<'a> {
    fn new(name: &'a str, document: &'a Document<'a>, notes: &mut Vec<String>) -> Result<Self, ConfigError> {
        let root = document.root_element();
        let mut topology = Topology { name, document, core: "Core" };
        if root.tag_name().name() != "topology" {
            return Err(topology.expected(root, "the element <topology> of hwloc", root.tag_name().name()));
        }
        let version = root.attribute("version").unwrap_or("1");
        if !version.starts_with("2.") {
            return Err(topology.expected(root, "version 2 of hwloc's XML, which lstopo of hwloc 2 writes", version));
        }
        if topology.all("Core").next().is_none() {
            if topology.all("PU").next().is_none() {
                return Err(topology.expected(root, "objects of the type Core", "none"));
            }
            topology.core = "PU";
            notes.push("the file has no cores: each hardware thread (PU) counts as a core".to_owned());
        }
        Ok(topology)
    }

    /// Returns the error for an element.
    fn expected(&self, node: Node, expected: &str, found: impl std::fmt::Display) -> ConfigError {
        let line = self.document.text_pos_at(node.range().start).row;
        ConfigError::new(format!("{}:{line}: expected {expected}; found {found}", self.name))
    }

    /// Returns all objects of a type.
    fn all(&self, of: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
        self.document.root_element().descendants().filter(move |node| kind(*node) == of)
    }

    fn cores_of(&self, node: Node) -> usize {
        node.descendants().filter(|below| kind(*below) == self.core).count()
    }

    /// Returns the processors with cores; the whole file if it has no processors.
    fn packages(&self, notes: &mut Vec<String>) -> Result<Vec<Node<'a, 'a>>, ConfigError> {
        let root = self.document.root_element();
        let packages: Vec<Node> = self.all("Package").filter(|package| self.cores_of(*package) > 0).collect();
        if packages.is_empty() {
            notes.push("the file has no processors (Package): all cores count as one CMP".to_owned());
            return Ok(vec![root]);
        }
        let (inside, all) =
            (packages.iter().map(|package| self.cores_of(*package)).sum::<usize>(), self.cores_of(root));
        if inside != all {
            let expected = format!("all {all} cores inside processors (Package), each in one");
            return Err(self.expected(root, &expected, inside));
        }
        Ok(packages)
    }

    /// Returns the number of hardware threads per core.
    fn threads(&self, notes: &mut Vec<String>) -> Option<usize> {
        let count = |core: Node| core.descendants().filter(|below| kind(*below) == "PU").count();
        let counts: BTreeSet<usize> = self.all(self.core).map(count).collect();
        if counts.len() > 1 {
            notes.push("cores have different numbers of hardware threads: left out".to_owned());
        }
        counts.first().copied().filter(|_| counts.len() == 1)
    }

    /// Returns the last-level cache: its kind, its domains and the size of each.
    fn cache(&self, packages: &[Node<'a, 'a>], notes: &mut Vec<String>) -> Option<(&'static str, DomainSize, Bytes)> {
        let levels = [("L5Cache", "l5"), ("L4Cache", "l4"), ("L3Cache", "l3"), ("L2Cache", "l2")];
        let (of, name) = levels.into_iter().find(|(of, _)| self.all(of).next().is_some())?;
        let sizes: BTreeSet<Option<u64>> =
            self.all(of).map(|cache| cache.attribute("cache_size").and_then(|size| size.parse().ok())).collect();
        let size = match sizes.first() {
            Some(&Some(size)) if sizes.len() == 1 && size > 0 => Bytes::new(size),
            _ => {
                notes.push(format!("caches {of} have different or no sizes: left out"));
                return None;
            }
        };
        let domain =
            self.domain(packages, of, |package| package.descendants().filter(|below| kind(*below) == of).collect());
        match domain {
            Ok(DomainSize { cores: 1, per_package: 2.. }) => {
                notes.push(format!("each core has a last-level cache ({of}, {size}) of its own: left out"));
                None
            }
            Ok(domain) => Some((name, domain, size)),
            Err(why) => {
                notes.push(why);
                None
            }
        }
    }

    /// Returns the NUMA domains within a processor. `cache` has the domains of caches.
    fn numa(
        &self,
        packages: &[Node<'a, 'a>],
        cache: Option<(&'static str, usize)>,
        notes: &mut Vec<String>,
    ) -> Option<DomainSize> {
        // A NUMA node is attached to the object with its cores, or to the cache of the memory below this object.
        let local = |memory: Node<'a, 'a>| memory.ancestors().skip(1).find(|above| kind(*above) != "MemCache");
        let mut places: Vec<Node> = Vec::new();
        let mut nodes = 0;
        for place in self.all("NUMANode").filter_map(local) {
            nodes += 1;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if nodes > places.len() {
            notes.push(
                "some cores have several memories (NUMANode), such as HBM and DRAM: only one domain each".to_owned(),
            );
        }
        // Memories of whole processors, or of several, are no domains within a CMP.
        if !places.iter().any(|place| {
            packages.iter().any(|package| place != package && place.ancestors().any(|above| above == *package))
        }) {
            return None;
        }
        let within = |package: Node<'a, 'a>| {
            places.iter().copied().filter(|place| place.ancestors().any(|above| above == package)).collect()
        };
        let numa = match self.domain(packages, "NUMANode", within) {
            Ok(numa) => numa,
            Err(why) => {
                notes.push(why);
                return None;
            }
        };
        match cache {
            Some((kind, cores)) if !numa.cores.is_multiple_of(cores) && !cores.is_multiple_of(numa.cores) => {
                notes.push(format!("NUMA domains of {} cores do not nest with places.{kind}: left out", numa.cores));
                None
            }
            _ => Some(numa),
        }
    }

    /// Returns the domains of one kind, if they are equal in all processors.
    ///
    /// # Errors
    /// The note on unequal domains.
    fn domain(
        &self,
        packages: &[Node<'a, 'a>],
        of: &str,
        within: impl Fn(Node<'a, 'a>) -> Vec<Node<'a, 'a>>,
    ) -> Result<DomainSize, String> {
        let mut found: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut is_whole = true;
        for package in packages {
            let domains = within(*package);
            let cores: Vec<usize> = domains.iter().map(|domain| self.cores_of(*domain)).collect();
            found.extend(cores.iter().map(|cores| (*cores, domains.len())));
            is_whole &= cores.iter().sum::<usize>() == self.cores_of(*package);
        }
        match found.first() {
            Some(&(cores, per_package)) if found.len() == 1 && is_whole && cores > 0 => {
                Ok(DomainSize { cores, per_package })
            }
            _ => Err(format!("objects {of} do not divide the cores of each processor evenly: left out")),
        }
    }

    /// Notes the types of objects that a platform file lacks.
    fn note_others(&self, notes: &mut Vec<String>) {
        let known = ["", "Machine", "Package", "NUMANode", "Core", "PU", "Group"];
        let mut others: Vec<&str> = Vec::new();
        for of in self.document.root_element().descendants().map(kind) {
            if !known.contains(&of) && !others.contains(&of) {
                others.push(of);
            }
        }
        let is_read = |of: &&str| ["L5Cache", "L4Cache", "L3Cache", "L2Cache"].contains(of);
        let last = others.iter().copied().filter(is_read).max();
        others.retain(|of| Some(*of) != last);
        if !others.is_empty() {
            notes.push(format!("objects left out: {}", others.join(", ")));
        }
    }
}
