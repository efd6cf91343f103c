//! `mcpsim measure --collectives` and `mcpsim measure --b-eff`: measurements that involve all ranks, under MPI, on a
//! simulated machine, or both.

use std::io::Write;

use crate::engine::Processes;
use crate::measure::{
    CollectiveFit, CollectiveTests, Effective, TimedCollective, doubts_of_collectives, doubts_of_rings,
    simulate_collectives, simulate_rings,
};
use crate::platform::{Placement, Platform, Site};
use crate::report::{collectives_measured, collectives_measured_csv, effective_summary};
use crate::run::agree;

use super::super::cluster::platform;
use super::super::exit::Failure;
use super::super::output::{self, OutputTarget};
use super::MeasureArgs;
use super::conclude::unusable;

/// Number of calls of a collective on a simulated machine; one call suffices, because all calls take the same time.
const SIMULATED_REPEATS: u32 = 1;

/// Executes the measurement of all ranks. The first host process writes the results.
pub(super) fn measure(args: &MeasureArgs, processes: &Processes) -> Result<(), Failure> {
    let real = processes.count() > 1;
    let prepared = processes.is_first().then(|| PreparedTests::new(args, real.then(|| processes.count())));
    let prepared = agree(processes, prepared.transpose())?;
    let plan = CollectiveTests {
        most_bytes: args.max_size.get(),
        repeats: args.pairs.repeats,
        budget: args.time.as_seconds(),
    };
    let measured = if real { self::real(args, &plan) } else { (Vec::new(), None) };
    let Some(PreparedTests { target, simulated, ranks }) = prepared else { return Ok(()) };
    let mut doubts = doubts_of_collectives(&measured.0);
    doubts.extend(measured.1.iter().flat_map(|of| doubts_of_rings(of, ranks)));
    if !doubts.is_empty() && !args.force {
        return Err(unusable("nothing", ", or for a longer time (--time)", &doubts));
    }
    doubts.iter().for_each(|doubt| _ = writeln!(std::io::stderr(), "note: {doubt}"));
    let text = if args.together.collectives {
        let plan = CollectiveTests { repeats: SIMULATED_REPEATS, ..plan };
        let again = simulated.map(|(platform, sites)| simulate_collectives(&platform, sites, &plan)).transpose()?;
        let again = again.unwrap_or_default();
        if let Some(target) = &target {
            target.put(&collectives_measured_csv(&measured.0, &again))?;
        }
        let kinds = [("measured", CollectiveFit::all(&measured.0)), ("simulated", CollectiveFit::all(&again))];
        collectives_measured(&kinds)
    } else {
        let again = simulated.map(|(platform, sites)| simulate_rings(&platform, sites, plan.most_bytes)).transpose()?;
        let again = again.and_then(|samples| Effective::of(&samples, ranks));
        if let Some(target) = &target {
            target.put(&effective_csv(measured.1, again))?;
        }
        let kinds = [("measured", measured.1), ("simulated", again)];
        let kinds: Vec<(&str, Effective)> = kinds.into_iter().filter_map(|(kind, of)| Some((kind, of?))).collect();
        effective_summary(ranks, &kinds)
    };
    let shown = !args.quiet && target != Some(OutputTarget::Stdout);
    if shown { output::print(&text) } else { Ok(()) }
}

/// Returns the results of the b_eff benchmark as CSV, one row per quantity.
fn effective_csv(measured: Option<Effective>, simulated: Option<Effective>) -> String {
    let mut text = "figure,measured,simulated,unit\n".to_owned();
    let mut row = |name: &str, unit: &str, value: fn(&Effective) -> f64| {
        let cell = |of: &Option<Effective>| of.as_ref().map_or(String::new(), |of| format!("{:.6e}", value(of)));
        text.push_str(&format!("{name},{},{},{unit}\n", cell(&measured), cell(&simulated)));
    };
    row("b_eff", "B/s", |of| of.bandwidth);
    row("at_l_max_in_order", "B/s", |of| of.at_most[0]);
    row("at_l_max_at_random", "B/s", |of| of.at_most[1]);
    row("ring_latency", "s", |of| of.latency);
    row("l_max", "B", |of| of.most_bytes as f64);
    text
}

/// Input of a measurement that the first host process reads before the measurement.
struct PreparedTests {
    target: Option<OutputTarget>,
    simulated: Option<(Platform, Vec<Site>)>,
    ranks: u32,
}

impl PreparedTests {
    /// Reads the input of the measurement. `ranks` is the number of ranks of a real MPI library, if the library is
    /// measured.
    fn new(args: &MeasureArgs, ranks: Option<u32>) -> Result<PreparedTests, Failure> {
        let option = if args.together.collectives { "--collectives" } else { "--b-eff" };
        let target = || (args.output != "-").then(|| OutputTarget::new("--output", &args.output)).transpose();
        let Some(path) = &args.pairs.simulate else {
            let ranks = ranks.ok_or_else(|| Failure::bad_input(super::alone()))?;
            return Ok(PreparedTests { target: target()?, simulated: None, ranks });
        };
        let platform = platform(path, args.nct)?;
        let cores = u32::try_from(platform.shape.total_cores()).unwrap_or(u32::MAX);
        let ranks = ranks.or(args.pairs.ranks).unwrap_or(cores);
        if ranks < 2 {
            return Err(Failure::bad_input(format!("{option}: expected two ranks or more; found {ranks}")));
        }
        let sites = Placement::Block.sites(platform.shape, ranks, false);
        let sites = sites.map_err(|error| Failure::bad_input(format!("{option}: {}", error.of_a_rank_a_core())))?;
        Ok(PreparedTests { target: target()?, simulated: Some((platform, sites)), ranks })
    }
}

/// Measures collectives on the ranks of a real MPI library.
#[cfg(feature = "mpi")]
fn real(args: &MeasureArgs, plan: &CollectiveTests) -> (Vec<TimedCollective>, Option<Effective>) {
    use crate::measure::{RankPort, measure_effective, time_collectives};

    let mut port = super::port::RealPort::new(plan.most_bytes.max(8));
    let mut line = super::conclude::ReportLine::new(port.rank() == 0 && !args.quiet);
    let mut tell = |what: &str, part: f64| line.tell(what, part);
    let found = if args.together.collectives {
        (time_collectives(&mut port, plan, &mut tell), None)
    } else {
        let found = measure_effective(&mut port, plan.most_bytes, &mut tell);
        (Vec::new(), found.filter(|_| port.rank() == 0))
    };
    line.end();
    found
}

#[cfg(not(feature = "mpi"))]
fn real(_: &MeasureArgs, _: &CollectiveTests) -> (Vec<TimedCollective>, Option<Effective>) {
    unreachable!("a build without MPI has one process")
}
