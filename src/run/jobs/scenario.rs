//! A simulation of some of the jobs of a set: the machine, the ranks of the jobs, and their programs.

use std::sync::Arc;

use crate::app::BoundApp;
use crate::engine::{JobOutcome, JobRanks, Labels, Outcome, PreparedRun, RankPrograms, Simulation};
use crate::mpi::MpiDriver;
use crate::platform::{MemoryShares, NodeMap, Platform, Site};
use crate::rank::{JobPosition, Program, Rank, Shifted};
use crate::run::conduct::Conduct;
use crate::run::error::PredictError;
use crate::run::placement::as_modelled;
use crate::run::record;
use crate::run::replay::{ReplayedPrograms, programs};
use crate::run::request::Details;
use crate::run::resolved::Resolved;
use crate::run::trace_file::Content;
use crate::units::{SimSpan, SimTime};

/// Code of the ranks of a job.
pub(super) enum JobCode {
    Described(BoundApp),
    Recorded(Content),
}

/// A job that is ready to run.
pub(super) struct PlacedJob {
    pub name: String,
    pub app: String,
    /// Number of the job among all jobs of the set.
    pub number: u32,
    pub start: SimSpan,
    pub sites: Vec<Site>,
    pub code: JobCode,
}

/// Some jobs of a set on the machine.
pub(super) struct Scenario<'a> {
    jobs: Vec<&'a PlacedJob>,
    platform: Platform,
    sites: Vec<Site>,
    ranks: Vec<JobRanks>,
}

impl<'a> Scenario<'a> {
    /// Creates the simulation of `jobs` on the machine of `run`.
    ///
    /// # Errors
    /// The errors of [`as_modelled`].
    pub fn new(run: &Resolved, jobs: Vec<&'a PlacedJob>) -> Result<Self, PredictError> {
        let sites: Vec<Site> = jobs.iter().flat_map(|job| job.sites.iter().copied()).collect();
        let (platform, sites) = as_modelled(&run.settings, run.platform.platform.clone(), sites)?;
        let mut first = 0;
        let mut ranks = Vec::new();
        for job in &jobs {
            let count = job.sites.len() as u32;
            let start = SimTime::ZERO + job.start;
            let (name, app, number) = (job.name.clone(), job.app.clone(), job.number);
            ranks.push(JobRanks { name, app, first, count, start, number });
            first += count;
        }
        Ok(Scenario { jobs, platform, sites, ranks })
    }

    /// Returns the ranks of each job as a text, for errors of the simulation.
    pub fn ranks_text(&self) -> String {
        let text = |job: &JobRanks| format!("job {} = ranks {} to {}", job.name, job.first, job.first + job.count - 1);
        self.ranks.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    /// Simulates the jobs. The first host process gets the result.
    pub fn run(
        &self,
        run: &Resolved,
        labels: Labels,
        conduct: Conduct<'_>,
        details: Details,
    ) -> Result<Option<Outcome>, PredictError> {
        let options = crate::run::Settings { details, ..run.settings.clone() }.options();
        let header = record::header(&self.platform, self.sites.len(), &labels.app, &labels.model, labels.seed);
        let simulation =
            Simulation::new(&self.platform, self.sites.clone(), options, labels).with_jobs(self.ranks.clone());
        let programs = self.programs();
        let ran = record::run(&simulation, &(), &programs, (conduct, details), &header)?;
        Ok(ran.map(|(mut outcome, _)| {
            for (job, of_job) in self.jobs.iter().zip(&mut outcome.jobs) {
                if let JobCode::Described(app) = &job.code {
                    of_job.outcome.results = app.results(&std::mem::take(&mut of_job.outcome.timers));
                }
            }
            outcome
        }))
    }

    fn programs(&self) -> JobPrograms<'_> {
        let memory = MemoryShares::new(&self.platform, &self.sites);
        let factors = self.platform.code_factors(&self.sites);
        let jobs = self.ranks.iter().map(|ranks| ranks.number + 1).max().unwrap_or(1);
        let of_job = |(job, ranks): (&&'a PlacedJob, &JobRanks)| {
            let range = ranks.first as usize..(ranks.first + ranks.count) as usize;
            let sites = &self.sites[range.clone()];
            // The MPI library of a job knows only the nodes of the job.
            let mut own = self.platform.clone();
            own.collectives.nodes = Some(Arc::new(NodeMap::from_sites(sites)));
            let platform = Arc::new(own);
            let position = JobPosition { first: ranks.first, number: ranks.number, jobs };
            let make: ReplayedPrograms<'_> = match &job.code {
                JobCode::Recorded(content) => {
                    programs(content, &platform, sites, memory.clone(), factors[range].to_vec())
                }
                JobCode::Described(app) => {
                    let memory = memory.clone();
                    Box::new(move |rank: Rank| {
                        let part = memory.part(sites[rank as usize]);
                        Box::new(MpiDriver::new(app.program(rank, part), platform.clone(), part))
                    })
                }
            };
            (position, make)
        };
        JobPrograms { jobs: self.jobs.iter().zip(&self.ranks).map(of_job).collect() }
    }
}

/// Programs of the ranks of several jobs.
struct JobPrograms<'a> {
    jobs: Vec<(JobPosition, ReplayedPrograms<'a>)>,
}

impl RankPrograms for JobPrograms<'_> {
    fn program(&self, rank: Rank) -> Box<dyn Program> {
        let job = self.jobs.partition_point(|(position, _)| position.first <= rank) - 1;
        let (position, make) = &self.jobs[job];
        Box::new(Shifted::new(make(rank - position.first), *position))
    }

    fn run_prepared(&self, prepared: PreparedRun<'_>) -> crate::engine::RunResult {
        prepared.run_boxed(&|rank| self.program(rank))
    }
}

/// Returns the result of the job `name`.
pub(super) fn of_name<'o>(outcome: &'o Outcome, name: &str) -> &'o JobOutcome {
    outcome.jobs.iter().find(|job| job.name == name).expect("the job ran")
}
