//! Simulation runs that replay a trace.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::{Labels, Simulation};
use crate::mpi::{MpiDriver, check_rules};
use crate::platform::{MemoryShares, Platform, Site};
use crate::rank::{Program, Rank};
use crate::trace::import::ImportedTrace;
use crate::trace::logs::Logs;
use crate::trace::{Header, ReplayMachine, Trace};

use super::conduct::{Conduct, Prediction, agree};
use super::error::PredictError;
use super::placement::placed;
use super::record;
use super::resolved::Resolved;
use super::trace_file::{Content, TraceFile};
use super::typical::BlockPass;

/// Replays the trace that is the application of `run`.
pub(super) fn simulate(
    run: &Resolved,
    file: &TraceFile,
    conduct: Conduct<'_>,
) -> Result<Option<Prediction>, PredictError> {
    simulate_in_pass(run, file, conduct, None)
}

/// Replays the trace as [`simulate`] does. `pass` observes or replaces blocks of a recorded program's code.
pub(super) fn simulate_in_pass(
    run: &Resolved,
    file: &TraceFile,
    conduct: Conduct<'_>,
    pass: Option<&Arc<BlockPass>>,
) -> Result<Option<Prediction>, PredictError> {
    let LoadedTrace { content, platform, sites, header, labels } = agree(conduct.processes, load(run, file))?;
    let simulation = Simulation::new(&platform, sites.clone(), run.settings.options(), labels);
    let mut notes = Vec::new();
    let machine = || ReplayMachine::new(&platform, &sites).with_cores(run.settings.cores_per_rank);
    let recorded = match content {
        Content::Trace(trace) => {
            notes.extend(other_rates(&trace, &platform));
            let header_of = trace.header();
            let factors = (0..).zip(platform.code_factors(&sites));
            let factors = factors.map(|(rank, factor)| header_of.rescaled(rank, factor));
            let factors: Vec<f64> = factors.collect();
            let details = (conduct, run.settings.details);
            match pass {
                None => record::run(&simulation, &(), &trace.on(machine(), factors), details, &header),
                Some(pass) => {
                    let machine = machine();
                    let wrapped = |rank: Rank| {
                        let program = trace.program(rank, &machine.of(rank), factors[rank as usize]);
                        pass.wrap(rank, Box::new(program))
                    };
                    record::run(&simulation, &(), &wrapped, details, &header)
                }
            }
        }
        Content::Logs(logs) => {
            notes.extend(logs.fault());
            let make = of_logs(&logs, machine(), measured_factors(&logs, &platform, platform.code_factors(&sites)));
            let wrapped = |rank: Rank| match pass {
                None => make(rank),
                Some(pass) => pass.wrap(rank, make(rank)),
            };
            record::run(&simulation, &(), &wrapped, (conduct, run.settings.details), &header)
        }
        Content::Import(import) => {
            notes.extend(import.assumed().map(str::to_owned));
            let memory = MemoryShares::new(&platform, &sites);
            let make = of_import(&import, Arc::new(platform.clone()), &sites, memory);
            record::run(&simulation, &(), &make, (conduct, run.settings.details), &header)
        }
    }?;
    Ok(recorded.map(|(outcome, trace)| Prediction { outcome, trace, exit_code: 0, notes }))
}

/// Programs of the ranks of a trace.
pub(super) type ReplayedPrograms<'a> = Box<dyn Fn(Rank) -> Box<dyn Program> + Sync + 'a>;

/// Returns the programs of the ranks of a trace at `sites` on `platform`. The ranks have parts of `memory`, and times of
/// measured code are multiplied by `factors`.
pub(super) fn programs<'a>(
    content: &'a Content,
    platform: &Arc<Platform>,
    sites: &'a [Site],
    memory: MemoryShares,
    factors: Vec<f64>,
) -> ReplayedPrograms<'a> {
    match content {
        Content::Trace(trace) => {
            let header = trace.header();
            let factors: Vec<f64> = (0..).zip(factors).map(|(rank, factor)| header.rescaled(rank, factor)).collect();
            let machine = ReplayMachine::with_memory(platform.clone(), sites, memory);
            Box::new(move |rank| Box::new(trace.program(rank, &machine.of(rank), factors[rank as usize])))
        }
        Content::Logs(logs) => {
            let factors = measured_factors(logs, platform, factors);
            of_logs(logs, ReplayMachine::with_memory(platform.clone(), sites, memory), factors)
        }
        Content::Import(import) => of_import(import, platform.clone(), sites, memory),
    }
}

fn of_logs<'a>(logs: &'a Logs, machine: ReplayMachine<'a>, factors: Vec<f64>) -> ReplayedPrograms<'a> {
    Box::new(move |rank| logs.program(rank, &machine.of(rank), factors[rank as usize]))
}

fn of_import<'a>(
    import: &'a ImportedTrace,
    platform: Arc<Platform>,
    sites: &'a [Site],
    memory: MemoryShares,
) -> ReplayedPrograms<'a> {
    Box::new(move |rank| {
        let program = import.program(rank, &platform.core);
        Box::new(MpiDriver::new(program, platform.clone(), memory.part(sites[rank as usize])))
    })
}

/// Returns the factors that convert the measured times of program code. The measured times include the slowdown by
/// other ranks on the same recorded host. The platform's table for the number of ranks on that host states the
/// slowdown.
fn measured_factors(logs: &Logs, platform: &Platform, factors: Vec<f64>) -> Vec<f64> {
    let host = |rank: u32| logs.info(rank).host.as_str();
    let mut on_host = HashMap::new();
    (0..logs.ranks()).for_each(|rank| *on_host.entry(host(rank)).or_insert(0usize) += 1);
    let there = |rank: u32| platform.core.slowdown_of(on_host[host(rank)].div_ceil(platform.shape.cmps as usize));
    (0..).zip(factors).map(|(rank, factor)| factor / there(rank)).collect()
}

/// Returns a note on the recorded times that do not change with the machine's compute rates, if the rates of the
/// machine differ from the recorded rates.
fn other_rates(trace: &Trace, platform: &Platform) -> Option<String> {
    let keys = trace.header().other_rates(&platform.core);
    let what = match trace.header().factors.is_empty() {
        true => "work",
        false if trace.repeats_collectives() => "combining and copying in collectives",
        false => return None,
    };
    let other = keys.join(", another ");
    (!keys.is_empty())
        .then(|| format!("{what} takes the time that was recorded, although this machine has another {other}"))
}

/// A trace that was read from its file, and the machine that replays the trace.
struct LoadedTrace {
    content: Content,
    platform: Platform,
    sites: Vec<Site>,
    header: Header,
    labels: Labels,
}

fn load(run: &Resolved, file: &TraceFile) -> Result<LoadedTrace, PredictError> {
    let settings = &run.settings;
    check_rules(&run.platform.platform)?;
    let name = file.name();
    let content = file.content()?;
    let (ranks, app, seed, recorded) = match &content {
        Content::Trace(trace) => {
            let header = trace.header();
            (header.ranks, header.app.clone(), settings.asked_seed.unwrap_or(header.seed), Some(header))
        }
        Content::Logs(logs) => {
            if let Some(fault) = logs.fault().filter(|_| logs.replayed().0 == 0) {
                return Err(PredictError::input(format!("{name}: {fault}")));
            }
            (logs.ranks(), logs.info(0).program.clone(), settings.seed, None)
        }
        Content::Import(import) => {
            let stem = file.path.file_stem().map_or("trace".into(), |stem| stem.to_string_lossy());
            (import.ranks(), stem.into_owned(), settings.seed, None)
        }
    };
    if let Some(asked) = settings.ranks.filter(|asked| *asked != ranks) {
        return Err(PredictError::input(format!("--ranks {asked}: expected {ranks}, the ranks of {name}")));
    }
    let (platform, sites) = placed(settings, run.platform.platform.clone(), Some(ranks))?;
    let model = settings.model.name();
    let labels = Labels { app: app.clone(), model: model.to_owned(), seed, config: run.to_json()? };
    let mut header = record::header(&platform, sites.len(), &app, model, seed);
    if let Some(recorded) = recorded {
        header.rates = recorded.rates;
        if !recorded.factors.is_empty() {
            header.factors = platform.code_factors(&sites);
        }
    } else if let Content::Logs(_) = content {
        header.factors = platform.code_factors(&sites);
    }
    Ok(LoadedTrace { content, platform, sites, header, labels })
}
