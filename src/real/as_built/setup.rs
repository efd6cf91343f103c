//! Description of a run for the processes of its ranks.

use std::sync::Arc;

use mcpsim_core::config::Document;
use mcpsim_core::mpi::{read_mpich_selection, read_open_mpi_rules};
use mcpsim_core::platform::{Library, MemoryShares, Platform, Site};
use mcpsim_core::rank::Rank;
use mcpsim_core::units::{Bytes, SimSpan};
use serde::{Deserialize, Serialize};

use crate::process::{
    Buffering, Checks, ComputeMode, HostClock, Job, JobOptions, JobProgram, Output, ProcessNumbers, Started, Stream,
};

/// Description of a run from which the process of a rank creates its [`Job`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankSetup {
    /// Merged TOML table of the platform, with absolute paths.
    pub platform: String,
    /// Text of the selection rules for collectives, if the platform names a file of rules.
    pub rules: Option<String>,
    /// Location of each rank.
    pub sites: Vec<Site>,
    /// Memory-bound fraction of the code's time, if the run states it.
    pub memory_bound: Option<f64>,
    /// Number of ranks of each program.
    pub programs: Vec<u32>,
    /// True if messages state the identifiers of their buffers.
    pub states_buffers: bool,
    /// Ranks of a host process, with the descriptors of their output pipes in the simulator.
    pub pipes: Vec<(Rank, [i32; 2])>,
    /// Rank whose process waits for a debugger.
    pub debugged: Option<Rank>,
    /// True if ranks run ahead of virtual time, with early messages between their processes.
    pub runs_ahead: bool,
    /// True if several threads of a rank may call MPI at a time.
    pub has_threads: bool,
    /// Number of cores of each rank.
    cores_per_rank: u32,
    /// Cost of each block of code in picoseconds; `None`: the code is measured.
    compute: Option<u64>,
    wall: bool,
    unbuffered: bool,
    /// Size of the longest message that carries its data.
    most_data: Bytes,
    checks: Checks,
}

/// Environment variable with the result of [`place`].
pub const PLACE: &str = "MCPSIM_PLACE";
/// Environment variable of a process that may fork the processes of the ranks.
pub const START: &str = "MCPSIM_START";
/// Environment variable with the launcher variables of a process that may fork the processes of the ranks.
pub const VARIABLES: &str = "MCPSIM_RANK_VARIABLES";

/// Returns the name of the rank's node, its number of processors, the rank's first processor and the number of the
/// rank's processors.
pub fn place(job: &Job, rank: Rank) -> String {
    let site = job.sites[rank as usize];
    let shape = job.platform.shape;
    let processors = job.platform.most_ranks() / shape.nodes;
    let first = site.cmp * shape.cores + site.core;
    let earlier = job.sites[..rank as usize].iter().filter(|other| **other == site).count() as u32;
    // The second hardware threads of the cores follow all the first ones.
    let thread = earlier % (processors / shape.cores_in_node() as u32).max(1);
    let count = job.options.cores_per_rank;
    format!("node{} {processors} {} {count}", site.node, thread * shape.cores_in_node() as u32 + first)
}

/// Output of a rank in a process of its own. The process writes to its own streams.
struct OwnStreams;

impl Output for OwnStreams {
    fn write(&self, _: Rank, _: Stream, _: &[u8]) {}
}

impl RankSetup {
    /// Creates the description of a run. `platform` and `rules` are the texts of the platform and of its selection
    /// rules.
    pub fn new((platform, rules): (String, Option<String>), sites: Vec<Site>, options: &JobOptions) -> RankSetup {
        let compute = match options.compute {
            ComputeMode::Measure => None,
            ComputeMode::Skip => Some(0),
            ComputeMode::Fixed(span) => Some(span.as_ps()),
        };
        RankSetup {
            platform,
            rules,
            programs: vec![sites.len() as u32],
            sites,
            memory_bound: None,
            states_buffers: false,
            pipes: Vec::new(),
            debugged: options.debugged,
            runs_ahead: false,
            has_threads: false,
            cores_per_rank: options.cores_per_rank,
            compute,
            wall: options.clock == HostClock::Wall,
            unbuffered: options.buffering == Buffering::None,
            most_data: options.most_data,
            checks: options.checks,
        }
    }

    /// Returns the text of the description.
    pub fn text(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("the description has a known length")
    }

    /// Reads a description that [`RankSetup::text`] returned.
    pub fn read(text: &[u8]) -> Option<RankSetup> {
        postcard::from_bytes(text).ok()
    }

    fn platform(&self) -> Result<Platform, String> {
        let document = Document::parse("the platform", &self.platform).map_err(|error| error.to_string())?;
        let mut platform = Platform::load(document, &[]).map_err(|error| error.to_string())?;
        if let Some(rules) = &self.rules {
            match platform.collectives.library {
                Library::Mpich4 => platform.collectives.selection = Some(Arc::new(read_mpich_selection(rules)?)),
                _ => {
                    let read = read_open_mpi_rules(rules)?;
                    read.rules.into_iter().for_each(|(collective, rules)| platform.collectives.add(collective, rules));
                }
            }
        }
        platform.spread_ranks(&self.sites);
        Ok(match self.memory_bound {
            Some(part) => platform.with_memory_bound(part),
            None => platform,
        })
    }

    /// Creates the job of the run in the process of a rank.
    ///
    /// # Errors
    /// The platform cannot be read. This would be a fault of mcpsim.
    pub(super) fn job(&self) -> Result<Job, String> {
        let platform = self.platform()?;
        let compute = match self.compute {
            None => ComputeMode::Measure,
            Some(0) => ComputeMode::Skip,
            Some(ps) => ComputeMode::Fixed(SimSpan::from_ps(ps)),
        };
        let options = JobOptions {
            clock: if self.wall { HostClock::Wall } else { HostClock::Cpu },
            compute,
            buffering: if self.unbuffered { Buffering::None } else { Buffering::Platform },
            most_data: self.most_data,
            // Guards of heap blocks need the loader.
            checks: Checks { heap: false, ..self.checks },
            cores_per_rank: self.cores_per_rank,
            ..JobOptions::default()
        };
        let program = |&ranks: &u32| JobProgram {
            image: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            ranks,
        };
        let programs = self.programs.iter().map(program).collect();
        let shares = MemoryShares::new(&platform, &self.sites);
        let part = |rank: Rank| shares.part(self.sites[rank as usize]);
        let numbers = ProcessNumbers::of(std::process::id() as i32);
        let started = Started { numbers, states_buffers: self.states_buffers, lends: false, kernels: None };
        let sites = self.sites.clone();
        Ok(Job::new(programs, Arc::new(platform), sites, part, started, options, Box::new(OwnStreams)))
    }
}
