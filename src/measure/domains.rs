//! Domains of cores within a CMP (shared last-level cache, NUMA memory), as the operating system of a host reports
//! them.

use std::fmt::Write;

use mcpsim_core::platform::Shape;

use super::topology::Cpu;

/// CPUs of the operating system that share a resource, for each such resource of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSets {
    /// CPUs of each last-level cache.
    pub caches: Vec<Vec<u32>>,
    /// Size of each last-level cache, bytes.
    pub cache_bytes: Option<u64>,
    /// Level of the last-level caches, such as 3.
    pub cache_level: u32,
    /// CPUs of each NUMA memory.
    pub memories: Vec<Vec<u32>>,
}

/// Domains of equal size within each CMP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreDomains {
    /// Name of the places in the platform file.
    pub name: String,
    /// Number of cores per domain.
    pub cores: u32,
    /// Size of the cache that the cores of a domain share, bytes.
    pub cache: Option<u64>,
}

impl CoreDomains {
    /// Returns the domains of a host with the CPUs `cpus` within the CMPs of `shape`, smaller domains first.
    ///
    /// Only domains of several consecutive cores, all of one size and smaller than a CMP, become places.
    pub fn of(cpus: &[Cpu], sets: &CpuSets, shape: Shape) -> Vec<CoreDomains> {
        let name = format!("l{}", sets.cache_level);
        let caches =
            cores_per_set(cpus, &sets.caches, shape).map(|cores| CoreDomains { name, cores, cache: sets.cache_bytes });
        let memories = cores_per_set(cpus, &sets.memories, shape);
        let numa = memories.map(|cores| CoreDomains { name: "numa".to_owned(), cores, cache: None });
        let mut domains: Vec<CoreDomains> = caches.into_iter().collect();
        // Domains that do not nest are left out.
        let nests = |numa: &CoreDomains| {
            domains.iter().all(|of| of.cores.is_multiple_of(numa.cores) || numa.cores.is_multiple_of(of.cores))
        };
        domains.extend(numa.filter(nests));
        domains.sort_by_key(|domain| domain.cores);
        domains
    }

    /// Writes the table of the platform file. The cache is written only if `states_cache`.
    pub(super) fn write(&self, text: &mut String, states_cache: bool) {
        let CoreDomains { name, cores, cache } = self;
        let _ = write!(text, "\n# As the operating system reports.\n[places.{name}]\ncores = {cores}\n");
        if let Some(bytes) = cache.filter(|_| states_cache) {
            let _ = writeln!(text, "cache = \"{} KiB\"", bytes >> 10);
        }
    }
}

/// Returns the number of cores of each set of CPUs, if all sets have this number of consecutive cores of one CMP, and
/// if it is a divisor of the cores of a CMP.
fn cores_per_set(cpus: &[Cpu], sets: &[Vec<u32>], shape: Shape) -> Option<u32> {
    let mut all: Vec<(u32, u32)> = cpus.iter().map(|cpu| (cpu.package, cpu.core)).collect();
    all.sort_unstable();
    all.dedup();
    let of_cmp = shape.cores as usize;
    if all.len() != of_cmp * shape.cmps as usize {
        return None;
    }
    let mut starts = Vec::new();
    let mut count = None;
    for set in sets {
        let mut places: Vec<usize> = Vec::new();
        for cpu in cpus.iter().filter(|cpu| set.contains(&cpu.cpu)) {
            places.extend(all.binary_search(&(cpu.package, cpu.core)).ok());
        }
        places.sort_unstable();
        places.dedup();
        // A NUMA memory without cores is no domain.
        let Some(first) = places.first() else { continue };
        let is_consecutive = places.last() == Some(&(first + places.len() - 1));
        if !is_consecutive || count.is_some_and(|count| count != places.len()) || first % places.len() != 0 {
            return None;
        }
        count = Some(places.len());
        starts.push(*first);
    }
    starts.sort_unstable();
    starts.dedup();
    let count = count.filter(|count| *count > 1 && *count < of_cmp && of_cmp.is_multiple_of(*count))?;
    (starts.len() * count == all.len()).then_some(count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of eight cores with two hardware threads. The second threads have CPU numbers from 16 on.
    fn cpus() -> Vec<Cpu> {
        (0..32).map(|cpu| Cpu { cpu, package: cpu % 16 / 8, core: cpu % 8 }).collect()
    }

    /// Sets of `cores` consecutive cores with both hardware threads.
    fn sets(cores: u32) -> Vec<Vec<u32>> {
        let set = |number: u32| {
            let first = (number * cores..(number + 1) * cores).collect::<Vec<u32>>();
            first.iter().map(|cpu| cpu + 16).chain(first.iter().copied()).collect()
        };
        (0..16 / cores).map(set).collect()
    }

    const SHAPE: Shape = Shape { nodes: 1, cmps: 2, cores: 8 };

    fn found(caches: Vec<Vec<u32>>, memories: Vec<Vec<u32>>, shape: Shape) -> Vec<(String, u32)> {
        let sets = CpuSets { caches, cache_bytes: Some(1 << 20), cache_level: 3, memories };
        CoreDomains::of(&cpus(), &sets, shape).into_iter().map(|of| (of.name, of.cores)).collect()
    }

    #[test]
    fn caches_and_memories_within_a_cmp_become_domains() {
        let named =
            |all: &[(&str, u32)]| all.iter().map(|(name, cores)| (name.to_string(), *cores)).collect::<Vec<_>>();
        assert_eq!(found(sets(2), sets(4), SHAPE), named(&[("l3", 2), ("numa", 4)]));
        assert_eq!(found(sets(4), sets(2), SHAPE), named(&[("numa", 2), ("l3", 4)]));
        // A cache or memory of a whole CMP is no domain. Equal domains have two names.
        assert_eq!(found(sets(8), sets(4), SHAPE), named(&[("numa", 4)]));
        assert_eq!(found(sets(4), sets(4), SHAPE), named(&[("l3", 4), ("numa", 4)]));
        // A memory without CPUs does not count. Without sets there are no domains.
        let mut memories = sets(4);
        memories.push(Vec::new());
        assert_eq!(found(Vec::new(), memories, SHAPE), named(&[("numa", 4)]));
        assert_eq!(found(Vec::new(), Vec::new(), SHAPE), []);
    }

    #[test]
    fn unequal_scattered_or_missing_domains_are_left_out() {
        let mut unequal = sets(4);
        let moved = unequal[0].pop().unwrap();
        unequal[1].push(moved);
        let scattered = vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7], vec![8, 9, 10, 11], vec![12, 13, 14, 15]];
        let missing = sets(4)[1..].to_vec();
        for sets in [unequal, scattered, missing] {
            assert_eq!(found(sets, Vec::new(), SHAPE), []);
        }
        // The machine has other cores than the host, because the ranks do not use all cores.
        assert_eq!(found(sets(4), Vec::new(), Shape { cores: 4, ..SHAPE }), []);
    }

    #[test]
    fn the_cache_is_written_if_the_file_states_caches() {
        let domains = CoreDomains { name: "l3".to_owned(), cores: 4, cache: Some(16 << 20) };
        let mut text = String::new();
        domains.write(&mut text, true);
        assert_eq!(text, "\n# As the operating system reports.\n[places.l3]\ncores = 4\ncache = \"16384 KiB\"\n");
        let mut text = String::new();
        domains.write(&mut text, false);
        assert!(!text.contains("cache ="), "{text}");
    }
}
