//! Properties of the host on which a rank runs, read from Linux: the host name, the cores, and the cores that the rank
//! may use.

use std::fs;
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::measure::{CoreDomains, Cpu, CpuSets, HostFacts, cpu_list};
use crate::platform::Shape;

/// Environment variable that contains the name of a rank's node.
#[cfg(feature = "mpi")]
pub(super) const NODE: &str = "MCPSIM_NODE";

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// Returns the properties of this host. `node` is the name that the user gave to the node.
pub(super) fn local_facts(node: Option<&str>) -> HostFacts {
    let name = first_line("/proc/sys/kernel/hostname").unwrap_or_else(|| "host".to_owned());
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    HostFacts {
        node: node.map_or(name, str::to_owned),
        machine: first_line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        cpus: cpus(Path::new("/sys/devices/system/cpu")),
        allowed: (0..CpuSet::MAX_CPU as u32).filter(|cpu| set.is_set(*cpu as usize)).collect(),
    }
}

/// Returns the CPUs that a Linux directory such as `/sys/devices/system/cpu` lists. The returned list is empty if the
/// directory is missing.
fn cpus(directory: &Path) -> Vec<Cpu> {
    let text = |path: String| fs::read_to_string(directory.join(path)).ok();
    let online = text("online".to_owned()).and_then(|text| cpu_list(&text)).unwrap_or_default();
    let cpu = |cpu: u32| {
        // Virtual machines may report the core number -1, which is no valid number.
        let number = |what: &str| text(format!("cpu{cpu}/topology/{what}"))?.trim().parse::<i64>().ok();
        let or = |found: Option<i64>, otherwise: u32| found.and_then(|n| u32::try_from(n).ok()).unwrap_or(otherwise);
        let (package, core) = (number("physical_package_id"), number("core_id"));
        (package.is_some() || core.is_some()).then(|| Cpu { cpu, package: or(package, 0), core: or(core, cpu) })
    };
    online.into_iter().filter_map(cpu).collect()
}

/// Returns the domains of cores of this host, which has the facts `facts`, within the CMPs of `shape`.
pub(super) fn domains(facts: &HostFacts, shape: Shape) -> Vec<CoreDomains> {
    let system = Path::new("/sys/devices/system");
    CoreDomains::of(&facts.cpus, &cpu_sets(&system.join("cpu"), &system.join("node"), &facts.cpus), shape)
}

/// Returns the CPUs that share last-level caches and NUMA memories, from Linux directories such as
/// `/sys/devices/system/cpu` and `/sys/devices/system/node`.
fn cpu_sets(cpu_directory: &Path, node_directory: &Path, cpus: &[Cpu]) -> CpuSets {
    let mut sets = CpuSets::default();
    for Cpu { cpu, .. } in cpus {
        let text = |index: u32, what: &str| {
            let path = cpu_directory.join(format!("cpu{cpu}/cache/index{index}/{what}"));
            fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        let levels = (0..16).map_while(|index| Some((text(index, "level")?.parse::<u32>().ok()?, index)));
        let Some((level, index)) = levels.max() else { continue };
        let shared = text(index, "shared_cpu_list").and_then(|text| cpu_list(&text)).unwrap_or_default();
        let bytes = text(index, "size").and_then(|size| Some(size.strip_suffix('K')?.parse::<u64>().ok()? << 10));
        sets.cache_level = level;
        sets.cache_bytes = sets.cache_bytes.or(bytes);
        if !sets.caches.contains(&shared) {
            sets.caches.push(shared);
        }
    }
    let list = |node: u32| fs::read_to_string(node_directory.join(format!("node{node}/cpulist"))).ok();
    let numbers = fs::read_to_string(node_directory.join("online")).ok().and_then(|text| cpu_list(&text));
    let memories = numbers.into_iter().flatten().filter_map(|node| cpu_list(&list(node)?));
    sets.memories = memories.collect();
    sets
}

/// Returns the data caches of a CPU by level, such as `L1 48 KiB, L2 2048 KiB, L3 32768 KiB shared by 16 CPUs`. Returns
/// `None` if the caches are unknown.
#[cfg(any(feature = "mpi", test))]
fn caches_of(directory: &Path, cpu: u32) -> Option<String> {
    let one = |index: u32| {
        let text = |what: &str| {
            let path = directory.join(format!("cpu{cpu}/cache/index{index}/{what}"));
            fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        if text("type")? == "Instruction" {
            return Some(String::new());
        }
        let kib: u64 = text("size")?.strip_suffix('K')?.parse().ok()?;
        let sharing = cpu_list(&text("shared_cpu_list")?)?.len();
        let shared = if sharing > 1 { format!(" shared by {sharing} CPUs") } else { String::new() };
        Some(format!("L{} {kib} KiB{shared}", text("level")?))
    };
    let all: Vec<String> = (0..16).map_while(one).filter(|told| !told.is_empty()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Returns the data caches of one of the CPUs that this process may use.
#[cfg(feature = "mpi")]
pub(super) fn caches() -> Option<String> {
    let set = sched_getaffinity(None).ok()?;
    let cpu = (0..CpuSet::MAX_CPU as u32).find(|cpu| set.is_set(*cpu as usize))?;
    caches_of(Path::new("/sys/devices/system/cpu"), cpu)
}

/// Returns the CPUs of this host that this process may use.
pub(super) fn usable_cpus() -> Vec<Cpu> {
    let facts = local_facts(None);
    facts.cpus.into_iter().filter(|cpu| facts.allowed.contains(&cpu.cpu)).collect()
}

/// Binds the calling thread to a CPU. Returns true if the binding succeeded.
pub(super) fn bind_to(cpu: u32) -> bool {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_what_the_system_says_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("online", "0-2,9\n");
        for (cpu, package, core) in [(0, "0", "0"), (1, "1", "0"), (2, "-1", "x")] {
            write(&format!("cpu{cpu}/topology/physical_package_id"), package);
            write(&format!("cpu{cpu}/topology/core_id"), core);
        }
        let cpu = |cpu, package, core| Cpu { cpu, package, core };
        assert_eq!(cpus(directory.path()), [cpu(0, 0, 0), cpu(1, 1, 0), cpu(2, 0, 2)]);
        assert_eq!(cpus(Path::new("/nonexistent")), []);
    }

    #[test]
    fn cpus_that_share_a_cache_or_a_memory_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let cpus: Vec<Cpu> = (0..4).map(|cpu| Cpu { cpu, package: 0, core: cpu }).collect();
        for Cpu { cpu, .. } in &cpus {
            let shared = if *cpu < 2 { "0-1" } else { "2-3" };
            for (index, level, size, list) in [(0, "1", "32K", "0"), (1, "3", "16384K", shared)] {
                let at = format!("cpu/cpu{cpu}/cache/index{index}");
                write(&format!("{at}/level"), level);
                write(&format!("{at}/size"), size);
                write(&format!("{at}/shared_cpu_list"), list);
            }
        }
        write("node/online", "0-1\n");
        write("node/node0/cpulist", "0-3\n");
        write("node/node1/cpulist", "\n");
        let [cpu, node] = ["cpu", "node"].map(|name| directory.path().join(name));
        let sets = cpu_sets(&cpu, &node, &cpus);
        assert_eq!(
            (sets.caches, sets.cache_bytes, sets.cache_level),
            (vec![vec![0, 1], vec![2, 3]], Some(16 << 20), 3)
        );
        assert_eq!(sets.memories, [vec![0, 1, 2, 3], vec![]]);
        assert_eq!(cpu_sets(Path::new("/nonexistent"), Path::new("/nonexistent"), &cpus), CpuSets::default());
    }

    #[test]
    fn caches_are_told_by_level_with_who_shares_them() {
        let directory = tempfile::tempdir().unwrap();
        let index = |index: u32, level: &str, kind: &str, size: &str, cpus: &str| {
            let at = directory.path().join(format!("cpu3/cache/index{index}"));
            fs::create_dir_all(&at).unwrap();
            for (file, text) in [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", cpus)] {
                fs::write(at.join(file), format!("{text}\n")).unwrap();
            }
        };
        index(0, "1", "Data", "48K", "3");
        index(1, "1", "Instruction", "32K", "3");
        index(2, "2", "Unified", "2048K", "3");
        index(3, "3", "Unified", "32768K", "0-7,16");
        let told = "L1 48 KiB, L2 2048 KiB, L3 32768 KiB shared by 9 CPUs";
        assert_eq!(caches_of(directory.path(), 3).as_deref(), Some(told));
        assert_eq!(caches_of(directory.path(), 0), None);
        // A cache description that cannot be read ends the list of caches.
        index(2, "2", "Unified", "much", "3");
        assert_eq!(caches_of(directory.path(), 3).as_deref(), Some("L1 48 KiB"));
    }
}
