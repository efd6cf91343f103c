//! Environment variables by which launchers such as `mpirun` pass rank numbers to started processes.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};

use super::string_list::StringList;
use crate::process::job::Job;
use mcpsim_core::rank::Rank;

/// Environment variable that mcpsim sets for each simulated rank. If a simulated rank starts mcpsim, the started
/// mcpsim recognises by the variable that no launcher started mcpsim.
pub const SIMULATED_RANK: &str = "MCPSIM_COMM_WORLD_RANK";

/// Meaning of an environment variable that a launcher sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Rank,
    Ranks,
    RankInNode,
    RanksInNode,
    Node,
    Nodes,
}

/// Environment variables of Open MPI, PMI, MPICH's Hydra, MVAPICH2 and Slurm, with their meaning.
const VARIABLES: [(&str, Told); 24] = [
    (SIMULATED_RANK, Told::Rank),
    ("OMPI_COMM_WORLD_RANK", Told::Rank),
    ("OMPI_COMM_WORLD_SIZE", Told::Ranks),
    ("OMPI_COMM_WORLD_LOCAL_RANK", Told::RankInNode),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", Told::RanksInNode),
    ("OMPI_COMM_WORLD_NODE_RANK", Told::RankInNode),
    ("OMPI_UNIVERSE_SIZE", Told::Ranks),
    ("PMI_RANK", Told::Rank),
    ("PMI_SIZE", Told::Ranks),
    ("PMI_LOCAL_RANK", Told::RankInNode),
    ("PMI_LOCAL_SIZE", Told::RanksInNode),
    ("PMIX_RANK", Told::Rank),
    ("MPI_LOCALRANKID", Told::RankInNode),
    ("MPI_LOCALNRANKS", Told::RanksInNode),
    ("MV2_COMM_WORLD_RANK", Told::Rank),
    ("MV2_COMM_WORLD_SIZE", Told::Ranks),
    ("MV2_COMM_WORLD_LOCAL_RANK", Told::RankInNode),
    ("MV2_COMM_WORLD_LOCAL_SIZE", Told::RanksInNode),
    ("SLURM_PROCID", Told::Rank),
    ("SLURM_NTASKS", Told::Ranks),
    ("SLURM_NPROCS", Told::Ranks),
    ("SLURM_LOCALID", Told::RankInNode),
    ("SLURM_NODEID", Told::Node),
    ("SLURM_NNODES", Told::Nodes),
];

/// Length in bytes that most launcher variables do not exceed.
const LONGEST: usize = 36;

/// Returns for each rank the rank's index among the ranks of its node, and the number of ranks of that node. `nodes`
/// contains the node of each rank.
pub fn places_in_nodes(nodes: impl Iterator<Item = u32> + Clone) -> Vec<(u32, u32)> {
    let mut ranks: Vec<u32> = Vec::new();
    let mut count = |node: u32| {
        let node = node as usize;
        ranks.resize(ranks.len().max(node + 1), 0);
        ranks[node] += 1;
        ranks[node] - 1
    };
    let numbers: Vec<u32> = nodes.clone().map(&mut count).collect();
    numbers.into_iter().zip(nodes).map(|(number, node)| (number, ranks[node as usize])).collect()
}

/// Returns the environment of a simulated rank: the variables of the job's program and launcher variables for the rank.
pub fn environment(job: &Job, rank: Rank) -> impl Iterator<Item = Cow<'_, CStr>> {
    let environment = &job.programs[job.program_number(rank)].environment;
    environment.iter().map(|entry| Cow::from(entry.as_c_str())).chain(variables(job, rank).map(Cow::from))
}

/// Removes the launcher variables that mcpsim itself received from the environment of a program.
pub fn without_launcher(environment: &mut Vec<CString>) {
    environment.retain(|entry| !is_told(entry.to_bytes()));
}

/// Returns the environment of a simulated rank in the form of `environ`. The memory is never freed.
pub fn environment_list(job: &Job, rank: Rank) -> *mut *mut c_char {
    let environment = &job.programs[job.program_number(rank)].environment;
    let bytes: usize = environment.iter().map(|entry| entry.as_bytes_with_nul().len()).sum();
    let mut list = StringList::with_capacity(environment.len() + VARIABLES.len(), bytes + VARIABLES.len() * LONGEST);
    environment.iter().for_each(|entry| list.push(entry.to_bytes()));
    values(job, rank).for_each(|(name, value)| list.push_number(name, value));
    list.into_list()
}

/// Returns the launcher variables of a rank.
pub fn variables(job: &Job, rank: Rank) -> impl Iterator<Item = CString> + '_ {
    values(job, rank).map(|(name, value)| CString::new(format!("{name}={value}")).expect("names have no zero byte"))
}

/// Returns the names and values of the launcher variables of a rank.
fn values(job: &Job, rank: Rank) -> impl Iterator<Item = (&'static str, u32)> + '_ {
    let site = job.sites[rank as usize];
    let (number, ranks) = job.places_in_nodes[rank as usize];
    let value = move |told: Told| match told {
        Told::Rank => rank,
        Told::Ranks => job.size(),
        Told::RankInNode => number,
        Told::RanksInNode => ranks,
        Told::Node => site.node,
        Told::Nodes => job.nodes,
    };
    VARIABLES.into_iter().map(move |(name, told)| (name, value(told)))
}

fn is_told(entry: &[u8]) -> bool {
    let name = entry.split(|&byte| byte == b'=').next().unwrap_or_default();
    VARIABLES.iter().any(|(known, _)| known.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbered_within_their_nodes() {
        let places = places_in_nodes([0, 1, 0, 3, 0].into_iter());
        assert_eq!(places, [(0, 3), (0, 1), (1, 3), (0, 1), (2, 3)]);
    }

    #[test]
    fn variables_of_the_simulator_itself_are_left_out() {
        assert!(
            is_told(b"PMI_RANK=3") && is_told(b"SLURM_LOCALID=") && !is_told(b"PMI_RANKS=3") && !is_told(b"HOME=/")
        );
    }
}
