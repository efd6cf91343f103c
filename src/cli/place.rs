//! `mcpsim place`: searches a placement of ranks with a short predicted time, and writes it as a rank file.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::config::Override;
use crate::engine::Outcome;
use crate::platform::Site;
use crate::run::{Application, Details, PlacementChoice, PredictError, Resolved, RunRequest};
use crate::study::{MOST_PLACED, PlacementSearch, search_placement};

use super::exit::Failure;
use super::output::{OutputTarget, print};
use super::setting_args::SettingArgs;

const EXAMPLES: &str = "\
Examples:
  A placement of 64 ranks on the cores that they have by default
    mcpsim place --nct 16,2,2 --ranks 64 app.toml -o ranks.txt
    mcpsim --nct 16,2,2 --ranks 64 --placement ranks.txt app.toml
  A rank file of Open MPI for the nodes of a job
    mcpsim place --nct 4,2,16 app.trace --format openmpi --host-names n1,n2,n3,n4 -o ranks
    mpirun --rankfile ranks ./program";

/// Searches a placement of ranks with a short predicted time
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim place",
    term_width = 80,
    override_usage = "mcpsim place [OPTIONS] APP",
    after_help = EXAMPLES
)]
pub(super) struct PlaceArgs {
    /// The application: a TOML description, a trace, or a name from mcpsim list
    #[arg(value_name = "APP")]
    app: PathBuf,

    /// Settings of the runs. Their placement is the first placement, and its cores are the allocation.
    #[command(flatten)]
    settings: SettingArgs,

    /// Override a key of the platform, the application or the run; repeatable
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Run")]
    set: Vec<String>,

    /// Greatest number of placements whose time is predicted
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tries: u32,

    /// Write the placement into this file (- is stdout)
    #[arg(long, short, value_name = "FILE")]
    output: Option<OsString>,

    /// Format of the file: mcpsim (for --placement), openmpi (--rankfile), mpich (-f) or slurm (SLURM_HOSTFILE)
    #[arg(long, value_name = "FORMAT", default_value = "mcpsim", hide_possible_values = true)]
    format: RankFileFormat,

    /// Names of the machine's nodes, separated by commas (default: node0,node1,…)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    host_names: Vec<String>,
}

/// Format of a file with the cores or nodes of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RankFileFormat {
    Mcpsim,
    Openmpi,
    Mpich,
    Slurm,
}

/// Executes `mcpsim place`.
pub(super) fn place(args: &PlaceArgs) -> Result<(), Failure> {
    let set = args.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let target = args.output.as_deref().map(|name| OutputTarget::new("--output", name)).transpose()?;
    let request = RunRequest { set, given: args.settings.given.clone(), ..RunRequest::new(&args.app) };
    let mut run = request.resolve()?;
    let name = args.app.display();
    match &run.application {
        Application::Described(_) | Application::Trace(_) => {}
        Application::Real(_) => {
            return Err(Failure::bad_input(format!(
                "{name}: expected a description or a trace; record the program first: mcpsim --record FILE.trace {name}"
            )));
        }
        Application::Jobs(_) => {
            return Err(Failure::bad_input(format!("{name}: expected one application; found several jobs")));
        }
    }
    if run.settings.model.name() != "mcpsim" {
        let model = run.settings.model.name();
        return Err(Failure::bad_input(format!(
            "--model {model}: expected mcpsim, because other models do not distinguish all cores"
        )));
    }
    run.settings.pairs = true;
    run.settings.details = Details { per_rank: true, ..Details::default() };
    let start = run.run()?;
    let first: Vec<Site> =
        start.per_rank.iter().map(|rank| Site { node: rank.node, cmp: rank.cmp, core: rank.core }).collect();
    if first.len() > MOST_PLACED {
        let ranks = first.len();
        return Err(Failure::bad_input(format!("{ranks} ranks: expected at most {MOST_PLACED}")));
    }
    let names = names(args, &start)?;
    run.settings.pairs = false;
    run.settings.details = Details::default();
    let pairs = start.pairs.as_deref().unwrap_or_default();
    let mut is_first = true;
    let found = search_placement(&first, pairs, (args.tries, run.settings.seed), |sites| {
        if std::mem::take(&mut is_first) {
            return Ok(start.predicted);
        }
        predict(&run, sites)
    })?;
    if let Some(target) = &target {
        target.put(&rank_file(args.format, &found.sites, &names))?;
        if *target == OutputTarget::Stdout {
            return Ok(());
        }
    }
    print(&summary(&start, &found))
}

/// Returns the predicted time of the ranks on the cores `sites`.
fn predict(run: &Resolved, sites: &[Site]) -> Result<crate::units::SimTime, PredictError> {
    let mut run = run.clone();
    run.settings.placement = PlacementChoice::Given(sites.to_vec());
    (run.settings.map_by, run.settings.ranks_per_node) = (None, None);
    run.settings.ranks = Some(sites.len() as u32);
    Ok(run.run()?.predicted)
}

/// Returns the names of all nodes.
fn names(args: &PlaceArgs, start: &Outcome) -> Result<Vec<String>, Failure> {
    let nodes = start.nct[0] as usize;
    match args.host_names.len() {
        0 => Ok((0..nodes).map(|node| format!("node{node}")).collect()),
        names if names == nodes => Ok(args.host_names.clone()),
        names => Err(Failure::bad_input(format!("--host-names: expected {nodes} names, one per node; found {names}"))),
    }
}

fn rank_file(format: RankFileFormat, sites: &[Site], names: &[String]) -> String {
    let mut text = String::new();
    for (rank, Site { node, cmp, core }) in sites.iter().enumerate() {
        let name = &names[*node as usize];
        let _ = match format {
            RankFileFormat::Mcpsim => writeln!(text, "{node} {cmp} {core}"),
            RankFileFormat::Openmpi => writeln!(text, "rank {rank}={name} slot={cmp}:{core}"),
            RankFileFormat::Mpich => writeln!(text, "{name}:1"),
            RankFileFormat::Slurm => writeln!(text, "{name}"),
        };
    }
    text
}

fn summary(start: &Outcome, found: &PlacementSearch) -> String {
    let shorter = |time: crate::units::SimTime| {
        let first = found.first.as_seconds();
        let percent = if first > 0.0 { 100.0 * (time.as_seconds() / first - 1.0) } else { 0.0 };
        format!("{time} ({percent:+.1}%)")
    };
    let mut text = format!("{}: {} ranks on {}\n\n", start.app, start.ranks, start.platform);
    let _ = writeln!(text, "  first placement   {}", found.first);
    if let Some(greedy) = found.greedy {
        let _ = writeln!(text, "  greedy placement  {}", shorter(greedy));
    }
    let _ = writeln!(text, "  best placement    {}", shorter(found.time));
    let (tried, improved) = (found.tried, found.improved);
    let _ = writeln!(text, "  placements tried  {tried}, {improved} exchanges of two ranks were shorter");
    text.push_str("  All other placements are unexplored: a shorter one may exist.\n");
    text
}
