//! Arguments of `mcpsim measure`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

use crate::measure::{WINDOW, WindowSizes};
use crate::platform::Shape;
use crate::units::{Bytes, SimSpan};

use super::super::report::Format;
use super::layers::LayerArgs;
use super::pairs::{PairArgs, TogetherArgs};

const EXAMPLES: &str = "\
Examples:
  Measure this machine, a rank a core, and predict a program on it
    mpirun -n 2 mcpsim measure -o here.toml
    mcpsim --platform here.toml app.toml
  Two nodes, longer, with all samples and figures
    mpirun -n 2 --map-by node mcpsim measure --time 5min -o pair.toml \\
        --samples pair.csv --figures figures
  A platform from what OSU's or IMB's programs measured, the rest assumed
    mcpsim measure --import inter_node=osu_latency.txt \\
        --import inter_node=osu_bw.txt --base default -o cluster.toml
  Every pair of ranks, a matrix a message length, for mcpsim cluster
    mpirun -n 8 mcpsim measure --pairs --begin 0 --end 10000 --step 500 -o all
  Collectives over ranks and sizes, beside what a platform makes of them
    mpirun -n 8 mcpsim measure --collectives --simulate here.toml -o all.csv
  The effective bandwidth of a simulated machine
    mcpsim measure --b-eff --simulate default --nct 4,2,2
  Sockets and shared memory instead of MPI, and all side by side
    mcpsim measure --layer tcp --samples tcp.csv -o tcp.toml
    mcpsim measure --layer memory --samples memory.csv -o memory.toml
    mcpsim report here.csv tcp.csv memory.csv --figures figures
  How much slower is another machine? There, then here:
    mcpsim measure --compute -o there.toml
    mcpsim measure --compute --against there.toml

Exit codes: 0 measured, 2 bad input or usage, 5 the measurement cannot be used,
70 a bug in mcpsim.";

/// The contention model of the file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrittenContention {
    /// Shares over time of what messages occupy.
    Fair,
    /// Costs by the number of transfers at a time.
    Measured,
}

/// Measures the machine that its ranks run on and writes a platform file
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim measure",
    override_usage = "mpirun -n RANKS mcpsim measure [OPTIONS]\n       mpirun -n RANKS mcpsim measure --pairs [OPTIONS] -o PREFIX\n       mcpsim measure --pairs --simulate PLATFORM [OPTIONS] -o PREFIX\n       [mpirun -n RANKS] mcpsim measure --collectives|--b-eff [OPTIONS]\n       mcpsim measure --layer tcp|memory|./FILE.so [OPTIONS]\n       mcpsim measure --compute [--against FILE]\n       mcpsim measure --import LEVEL=FILE… [OPTIONS]",
    term_width = 80,
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES
)]
pub(crate) struct MeasureArgs {
    /// The platform file to write; - is stdout. With --pairs how files' names begin
    #[arg(long, short, value_name = "FILE.toml", default_value = "-")]
    pub output: OsString,

    /// About how long it may take
    #[arg(long, value_name = "TIME", default_value = "60 s", allow_hyphen_values = true)]
    pub time: SimSpan,

    /// The greatest message
    #[arg(long, value_name = "SIZE", default_value = "4 MiB")]
    pub max_size: Bytes,

    /// Messages of a window at most, for messages a second
    #[arg(long, value_name = "K", default_value_t = WINDOW, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub window: u32,

    /// Write what was measured even if it cannot be used: too noisy, or unlike any machine
    #[arg(long)]
    pub force: bool,

    /// State the noise of the operating system as keys, in predictions, and not as comments
    #[arg(long)]
    pub noise: bool,

    /// Contention model of the file: fair (capacities from windows) or measured (costs under load)
    #[arg(long, alias = "law", value_name = "MODEL", default_value = "fair")]
    pub contention: WrittenContention,

    /// What the file calls the machine [default: the file's own name without its end, "here" on stdout]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// The node of this rank, where hosts' names do not tell (or MCPSIM_NODE)
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,

    /// Write all samples as CSV
    #[arg(long, value_name = "FILE.csv")]
    pub samples: Option<OsString>,

    /// Draw bandwidth, latency and messages a second over size
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,

    /// What is written of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    pub format: Vec<Format>,

    /// Time kernels on one core instead, without MPI
    #[arg(long, conflicts_with_all = ["samples", "figures", "node"])]
    pub compute: bool,

    /// With --compute: what another machine wrote, for the factor between both
    #[arg(long, value_name = "FILE", requires = "compute")]
    pub against: Option<PathBuf>,

    /// Make the file of what OSU's or IMB's programs wrote, without MPI: whose messages crossed LEVEL
    #[arg(long, value_name = "LEVEL[:PROCESSES]=FILE", conflicts_with_all = ["compute", "samples", "figures", "node"])]
    pub import: Vec<String>,

    /// With --import: the platform that gives what no file tells, or "default"
    #[arg(long, value_name = "FILE", requires = "import")]
    pub base: Option<PathBuf>,

    /// With --import and --simulate: nodes, CMPs a node, cores a CMP
    #[arg(long, value_name = "N,C,T")]
    pub nct: Option<Shape>,

    /// With --import: the greatest eager message of a level
    #[arg(long, value_name = "LEVEL=SIZE", requires = "import")]
    pub eager: Vec<String>,

    /// With --import: the sizes of windows that count; few: 8 B, 128 B and the greatest, for others to judge
    #[arg(long, value_name = "SIZES", requires = "import", default_value = "all")]
    pub windows: ImportedSizes,

    #[command(flatten)]
    pub layer: LayerArgs,

    #[command(flatten)]
    pub pairs: PairArgs,

    #[command(flatten)]
    pub together: TogetherArgs,

    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl MeasureArgs {
    /// Name of the machine in its file.
    pub fn name(&self) -> String {
        let of_file = || {
            let stem = Path::new(&self.output).file_stem()?.to_str()?;
            (stem != "-").then(|| stem.to_owned())
        };
        self.name.clone().or_else(of_file).unwrap_or_else(|| "here".to_owned())
    }
}

/// Which sizes of imported windows count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportedSizes {
    All,
    Few,
}

impl From<ImportedSizes> for WindowSizes {
    fn from(sizes: ImportedSizes) -> WindowSizes {
        match sizes {
            ImportedSizes::All => WindowSizes::All,
            ImportedSizes::Few => WindowSizes::Few,
        }
    }
}
