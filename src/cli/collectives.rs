//! `mcpsim collectives`: predicts the time of each algorithm of a collective on a machine, and shows which algorithm an
//! MPI library chooses.

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Parser, ValueEnum};

use crate::config::{Document, Override};
use crate::mpi::{check_rules, collective_word, write_open_mpi_rules};
use crate::platform::{
    Algorithm, Collective, Library, MemoryShares, Method, Placement, Platform, PlatformSource, Shape,
};
use crate::report::{tuning_csv, tuning_figures, tuning_summary};
use crate::run::{Shipped, with_rules, write_whole};
use crate::study::collectives::{Field, Sized, Timing, size, taken, time, to_time};
use crate::study::{self, Limits, MemoryBudget, RankKind};
use crate::units::{Bytes, SimSpan};

use super::bar::Bar;
use super::exit::Failure;
use super::output::{cannot_write, print};
use super::report::{Format, draw};

const EXAMPLES: &str = "\
Examples:
  The algorithms that Open MPI 4.1 chooses on 2 nodes of 2 x 16 cores, and faster ones
    mcpsim collectives --nct 2,2,16 --library openmpi-4.1
  Every algorithm of one collective, as a table, as CSV and as a figure
    mcpsim collectives --nct 2,2,16 --of alltoall --all
    mcpsim collectives --nct 2,2,16 --of alltoall --csv - --figures figures
  Write the fastest algorithms as a rules file, and use the file on the real machine
    mcpsim collectives --nct 2,2,16 --library openmpi-4.1 --rules best.rules
    mpirun --mca coll_tuned_use_dynamic_rules 1 \\
           --mca coll_tuned_dynamic_rules_filename best.rules ./program";

/// Predicts the time of each algorithm of each collective
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim collectives",
    term_width = 80,
    override_usage = "mcpsim collectives [OPTIONS]",
    after_help = EXAMPLES
)]
pub(super) struct CollectivesArgs {
    /// Shape of the machine: N nodes, C CMPs (sockets) per node, T cores per CMP
    #[arg(long, value_name = "N,C,T")]
    nct: Option<Shape>,

    /// The simulated machine: a platform file, or a name from mcpsim list
    #[arg(long, value_name = "FILE|NAME")]
    platform: Option<PathBuf>,

    /// Override one key of the platform; repeatable
    #[arg(long, value_name = "platform.KEY=VALUE")]
    set: Vec<String>,

    /// Number of ranks (default: one per core)
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=Shape::MOST_CORES as i64))]
    ranks: Option<u32>,

    /// Placement of ranks on cores: block, cyclic, socket, or a file with one core per rank and line
    #[arg(long, value_name = "block|cyclic|socket|FILE", default_value = "block")]
    placement: PathBuf,

    /// Allow more than one rank per core
    #[arg(long)]
    oversubscribe: bool,

    /// MPI library whose choice of algorithms is simulated (default: the platform's)
    #[arg(long, value_name = "NAME", value_parser = parse_library)]
    library: Option<Library>,

    /// Collectives to predict
    #[arg(long = "of", value_name = "COLLECTIVES", value_delimiter = ',', value_parser = parse_collective, default_value = "allreduce,bcast,alltoall,allgather")]
    of: Vec<Collective>,

    /// Sizes of each rank's buffer, or of the block for each rank in collectives with blocks
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "8,64,512,4KiB,32KiB,256KiB,1MiB")]
    sizes: Vec<Bytes>,

    /// Timing of the calls: osu (a barrier after each call) or imb (calls back to back)
    #[arg(long, value_name = "HOW", default_value = "osu")]
    timing: TimingName,

    /// List every algorithm, the fastest first
    #[arg(long)]
    all: bool,

    /// Write one CSV row per algorithm; - is stdout
    #[arg(long, value_name = "FILE")]
    csv: Option<OsString>,

    /// Write one figure per collective into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    format: Vec<Format>,

    /// Write the fastest algorithms as a rules file for Open MPI 4
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    /// Number of concurrent runs (default: one per host core)
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Do not print progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TimingName {
    Osu,
    Imb,
}

fn parse_library(text: &str) -> Result<Library, String> {
    let names = || Library::ALL.map(Library::name).join(", ");
    let known = Library::ALL.into_iter().find(|library| library.name() == text);
    known.ok_or_else(|| format!("expected one of {}; found \"{text}\"", names()))
}

/// MPI collectives that may be timed: those in which every rank has the same amount of data.
const COLLECTIVES: [Collective; 11] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Gather,
    Collective::Scatter,
    Collective::Allgather,
    Collective::Alltoall,
    Collective::ReduceScatter,
    Collective::Scan,
    Collective::Exscan,
];

fn parse_collective(text: &str) -> Result<Collective, String> {
    let known = COLLECTIVES.into_iter().find(|collective| collective_word(*collective) == text);
    known.ok_or_else(|| format!("expected one of {}; found \"{text}\"", COLLECTIVES.map(collective_word).join(", ")))
}

/// Executes the command `mcpsim collectives`.
pub(super) fn collectives(args: &CollectivesArgs) -> Result<(), Failure> {
    let platform = machine(args)?;
    let library = args.library.unwrap_or(platform.collectives.library);
    if args.rules.is_some() && !library.is_open_mpi() {
        let name = library.name();
        return Err(Failure::bad_input(format!("--rules: expected --library openmpi-4.0, -4.1 or -5.0; found {name}")));
    }
    let shape = platform.shape;
    let ranks = args.ranks.unwrap_or(platform.most_ranks());
    let placement = match args.placement.to_str() {
        Some("block") => Placement::Block,
        Some("cyclic") => Placement::Cyclic,
        Some("socket") => Placement::Socket,
        _ => Placement::Explicit(Placement::read_on(&args.placement, shape, &platform.places)?),
    };
    let sites = placement.sites_by_threads(shape, platform.core.threads.count(), ranks, args.oversubscribe);
    let sites = sites.map_err(|error| Failure::bad_input(error.to_string()))?;
    let memory = MemoryShares::of_ranks(&platform, &sites);
    let timing = if args.timing == TimingName::Osu { Timing::Osu } else { Timing::Imb };
    let field = Field { platform: &platform, sites: &sites, memory: &memory, timing };
    let found = run(args, field, library)?;
    let csv = tuning_csv(&found, library, ranks);
    match &args.csv {
        Some(name) if name == "-" => return print(&csv),
        Some(name) => write(Path::new(name), &csv)?,
        None => {}
    }
    if let Some(path) = &args.rules {
        write(path, &write_open_mpi_rules(ranks, &best(&found)))?;
    }
    print(&tuning_summary(&found, library, ranks, args.all))?;
    match &args.figures {
        Some(directory) => print(&draw(&tuning_figures(&found, library, ranks), directory, &args.format)?),
        None => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_whole(path, text).map_err(|error| cannot_write(&path.display().to_string(), &error))
}

/// Returns the platform with the overrides and the shape in the arguments.
fn machine(args: &CollectivesArgs) -> Result<Platform, Failure> {
    let (document, beside) = match &args.platform {
        Some(name) => {
            let path = Shipped::Platform.resolve(name)?;
            (Document::read(&path)?, path.parent().map(Path::to_owned).unwrap_or_default())
        }
        None => (Platform::default_document(), PathBuf::new()),
    };
    let overrides = args.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(other) = overrides.iter().find(|over| over.key[0] != "platform") {
        let key = other.key.join(".");
        return Err(Failure::bad_input(format!(
            "--set {key}: expected a platform key, which begins with \"platform.\""
        )));
    }
    let source = PlatformSource::load(document, &overrides)?;
    let source = match args.nct {
        Some(shape) => {
            source.with_shape(shape).map_err(|error| Failure::bad_input(format!("--nct {shape}: {error}")))?
        }
        None => source,
    };
    let (platform, note) = with_rules(source.platform, &beside)?;
    if let Some(note) = note {
        let _ = writeln!(std::io::stderr(), "note: {note}");
    }
    check_rules(&platform)?;
    Ok(platform)
}

/// Predicts the time of every algorithm of each MPI collective at every message size.
fn run(args: &CollectivesArgs, field: Field<'_>, library: Library) -> Result<Vec<Sized>, Failure> {
    let ranks = field.sites.len() as u32;
    let mut all: Vec<Sized> = Vec::new();
    let mut points: Vec<(usize, Method)> = Vec::new();
    for &collective in &args.of {
        let sizes: &[Bytes] = if collective == Collective::Barrier { &[Bytes::ZERO] } else { &args.sizes };
        for &bytes in sizes {
            let what = (collective, bytes, ranks);
            let of = |library| taken(field, library, what).map(|method| (library, method));
            let own = of(library).map_err(Failure::bad_input)?.1;
            let size = size(collective, bytes, ranks);
            let taken = Library::ALL.into_iter().filter_map(|library| of(library).ok()).collect();
            points.extend(to_time(field, library, what, own).into_iter().map(|method| (all.len(), method)));
            all.push(Sized { collective, size, bytes, own, taken, times: Vec::new() });
        }
    }
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let each = MemoryBudget::of_run(ranks, RankKind::Described);
    let tasks: Vec<_> = (0..points.len()).map(|task| (task, each)).collect();
    let mut times: Vec<Option<Result<SimSpan, String>>> = points.iter().map(|_| None).collect();
    let mut bar = Bar::start(points.len(), "simulations", args.quiet);
    study::run(
        &tasks,
        Limits { jobs, memory: None },
        &AtomicBool::new(false),
        |task| {
            let (place, method) = points[task];
            let Sized { collective, bytes, .. } = all[place];
            time(field, library, collective, bytes, Some(method)).map_err(|error| error.to_string())
        },
        |done| {
            bar.advance(done.len(), done.iter().filter(|(_, time)| time.is_err()).count());
            done.into_iter().for_each(|(task, time)| times[task] = Some(time));
        },
    );
    drop(bar);
    for ((place, method), time) in points.into_iter().zip(times) {
        let time = time.expect("every task was run").map_err(Failure::bad_input)?;
        all[place].times.push((method, time));
    }
    Ok(all)
}

/// Returns the fastest algorithm of each MPI collective at each message size, in increasing order of sizes.
fn best(found: &[Sized]) -> Vec<(Collective, Vec<(Bytes, Method)>)> {
    let mut best: Vec<(Collective, Vec<(Bytes, Method)>)> = Vec::new();
    for sized in found {
        // A rules file of Open MPI selects only algorithms of collectives that ignore the node of a rank.
        let flat = sized.fastest_of(|method| method.algorithm != Algorithm::NodeAware);
        let Some((method, _)) = flat else { continue };
        // Open MPI's rules for an allgather use the total size of all blocks.
        match best.iter_mut().find(|(collective, _)| *collective == sized.collective) {
            Some((_, sizes)) => sizes.push((sized.size, method)),
            None => best.push((sized.collective, vec![(sized.size, method)])),
        }
    }
    best.iter_mut().for_each(|(_, sizes)| sizes.sort_unstable_by_key(|(size, _)| *size));
    best
}
