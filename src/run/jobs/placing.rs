//! Cores of the ranks of each job.

use crate::platform::{Members, NodeGroup, Placement, Places, Platform, Shape, Site};
use crate::run::error::PredictError;
use crate::run::placement::sites_on;
use crate::run::settings::Settings;
use crate::run::values::PlacementChoice;
use crate::units::counted;

use super::allocation::{NodeRequest, allocate};
use super::{JobSet, JobSpec};

/// Job with a known number of ranks and, if a file lists them, known cores.
struct SizedJob<'a> {
    job: &'a JobSpec,
    settings: Settings,
    ranks: u32,
    cores: Vec<u32>,
    nodes: usize,
    listed: Option<Vec<Site>>,
    hosts: Option<Vec<u32>>,
}

/// Returns the cores of the ranks of each job on `platform`. `own_ranks` has the number of ranks of each job's trace or
/// program, if known.
///
/// # Errors
/// A job does not fit on its nodes or on the machine, or two jobs overlap.
pub(super) fn place_jobs(
    set: &JobSet,
    settings: &Settings,
    platform: &Platform,
    own_ranks: &[Option<u32>],
) -> Result<Vec<Vec<Site>>, PredictError> {
    let sized = set
        .jobs
        .iter()
        .zip(own_ranks)
        .map(|(job, own)| SizedJob::new(job, settings, platform, *own))
        .collect::<Result<Vec<_>, _>>()?;
    let requests: Vec<NodeRequest<'_>> = sized.iter().map(SizedJob::request).collect();
    let machine = (platform.shape, &*platform.places);
    let found = allocate(&requests, machine, set.free.as_deref(), (settings.seed, settings.oversubscribe));
    let allocated = found.map_err(PredictError::input)?;
    sized.iter().zip(allocated).map(|(job, nodes)| job.sites(platform, &nodes)).collect()
}

impl<'a> SizedJob<'a> {
    fn new(job: &'a JobSpec, run: &Settings, platform: &Platform, own: Option<u32>) -> Result<Self, PredictError> {
        let shape = platform.shape;
        let in_node = shape.cores_in_node() as u32;
        let name = &job.name;
        let cores = job.cores.clone().unwrap_or_else(|| (0..in_node).collect());
        if let Some(core) = cores.iter().find(|core| **core >= in_node) {
            let text = format!("job {name}: cores names core {core}: a node has cores 0 to {}", in_node - 1);
            return Err(PredictError::input(text));
        }
        let settings = Settings {
            ranks: None,
            placement: job.placement.clone().unwrap_or_else(|| run.placement.clone()),
            map_by: job.map_by.clone().or_else(|| run.map_by.clone().filter(|_| job.placement.is_none())),
            ranks_per_node: job.ranks_per_node.or(run.ranks_per_node),
            ..run.clone()
        };
        let listed = match &settings.placement {
            PlacementChoice::File(path) => Some(Placement::read_on(path, shape, &platform.places)?),
            _ => None,
        };
        let ranks = match (job.ranks, own) {
            (Some(asked), Some(own)) if asked != own => {
                return Err(PredictError::input(format!(
                    "job {name}: expected {own} ranks, those of {}; found {asked}",
                    job.typed
                )));
            }
            (asked, own) => asked.or(own).or(listed.as_ref().map(|sites| sites.len() as u32)),
        };
        let most = (cores.len() as u32).saturating_mul(platform.core.threads.count());
        let per_node = settings.ranks_per_node.map_or(most, |stated| stated.min(most));
        let hosts = job.hosts.as_ref().map(|hosts| hosts.numbers(name, &platform.places)).transpose()?;
        let stated = hosts.as_ref().map(|hosts| hosts.len() as u32).or(job.nodes);
        let ranks = match (ranks, stated) {
            (Some(ranks), _) => ranks,
            (None, Some(nodes)) => nodes.saturating_mul(per_node),
            (None, None) => {
                let text =
                    format!("job {name}: expected ranks, nodes or hosts, because jobs share the machine; found none");
                return Err(PredictError::input(text));
            }
        };
        if ranks > Shape::MOST_CORES {
            let text = format!("job {name}: {ranks} ranks: expected at most {}", Shape::MOST_CORES);
            return Err(PredictError::input(text));
        }
        let nodes = stated.unwrap_or(ranks.div_ceil(per_node)) as usize;
        let mut hosts = hosts;
        if let Some(sites) = &listed {
            if stated.is_some() || job.cores.is_some() {
                let text = format!(
                    "job {name}: expected no nodes, hosts or cores, because a file lists the cores of its ranks"
                );
                return Err(PredictError::input(text));
            }
            let mut nodes: Vec<u32> = sites.iter().map(|site| site.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            hosts = Some(nodes);
        }
        let cores = match &listed {
            None => cores,
            Some(sites) => {
                let mut cores: Vec<u32> = sites.iter().map(|site| site.cmp * shape.cores + site.core).collect();
                cores.sort_unstable();
                cores.dedup();
                cores
            }
        };
        Ok(SizedJob { job, settings, ranks, cores, nodes, listed, hosts })
    }

    fn request(&self) -> NodeRequest<'_> {
        let (hosts, cores) = (self.hosts.as_deref(), &self.cores[..]);
        NodeRequest { name: &self.job.name, count: self.nodes, hosts, cores, rule: &self.job.rule }
    }

    /// Returns the cores of the ranks on the nodes `nodes`.
    fn sites(&self, platform: &Platform, nodes: &[u32]) -> Result<Vec<Site>, PredictError> {
        let (shape, threads) = (platform.shape, platform.core.threads.count());
        let name = &self.job.name;
        let wrong = |error: PredictError| PredictError::input(format!("job {name}: {error}"));
        if self.listed.is_some() {
            return sites_on(&self.settings, (shape, threads, &platform.places), self.ranks, None).map_err(wrong);
        }
        if self.job.cores.is_some() {
            return self.on_some_cores(shape, threads, nodes);
        }
        let own = Shape { nodes: nodes.len() as u32, ..shape };
        let group = |group: &NodeGroup| {
            let members = Members::List(nodes.iter().map(|&node| group.of(node)).collect());
            NodeGroup { members, ..group.clone() }
        };
        let places = Places {
            groups: platform.places.groups.iter().map(group).collect(),
            network: None,
            ..(*platform.places).clone()
        };
        let sites = sites_on(&self.settings, (own, threads, &places), self.ranks, None).map_err(wrong)?;
        Ok(sites.into_iter().map(|site| Site { node: nodes[site.node as usize], ..site }).collect())
    }

    /// Returns the cores of the ranks if the job may use only some cores of each node.
    fn on_some_cores(&self, shape: Shape, threads: u32, nodes: &[u32]) -> Result<Vec<Site>, PredictError> {
        let name = &self.job.name;
        let by_node = match (&self.settings.placement, self.settings.map_by.as_deref()) {
            (PlacementChoice::Block, None | Some("core")) => false,
            (PlacementChoice::Cyclic, None) | (PlacementChoice::Block, Some("node")) => true,
            _ => {
                let text =
                    format!("job {name}: expected placement block or cyclic, because the job has only some cores");
                return Err(PredictError::input(text));
            }
        };
        let (of_node, count) = (self.cores.len() as u64, nodes.len() as u64);
        let most = of_node * u64::from(threads);
        let per_node = self.settings.ranks_per_node.map_or(most, |stated| u64::from(stated).min(most));
        if u64::from(self.ranks) > per_node * count && !self.settings.oversubscribe {
            return Err(PredictError::input(format!(
                "job {name}: {} on {} with at most {} each: give fewer ranks, more nodes or cores, or --oversubscribe",
                counted(self.ranks, "rank"),
                counted(count, "node"),
                counted(per_node, "rank")
            )));
        }
        let site = |rank: u64| {
            let (node, at) = match by_node {
                true => (rank % count, rank / count),
                false => (rank / per_node % count, rank % per_node),
            };
            let core = self.cores[(at % of_node) as usize];
            Site { node: nodes[node as usize], cmp: core / shape.cores, core: core % shape.cores }
        };
        Ok((0..u64::from(self.ranks)).map(site).collect())
    }
}
