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
use super::program::ProgramArgs;

const EXAMPLES: &str = "\
Examples:
  Measure this machine, one rank per core, and predict a program on it
    mpirun -n 2 mcpsim measure -o here.toml
    mcpsim --platform here.toml app.toml
  Two nodes, a longer measurement, with all samples and figures
    mpirun -n 2 --map-by node mcpsim measure --time 5min -o pair.toml \\
        --samples pair.csv --figures figures
  A platform from OSU or IMB results; other values are those of the default machine
    mcpsim measure --import inter_node=osu_latency.txt \\
        --import inter_node=osu_bw.txt --base default -o cluster.toml
  Message times of every pair of ranks, one matrix per message length, for mcpsim cluster
    mpirun -n 8 mcpsim measure --pairs --begin 0 --end 10000 --step 500 -o all
  Times of collectives by ranks and sizes, next to the predictions for a platform
    mpirun -n 8 mcpsim measure --collectives --simulate here.toml -o all.csv
  The effective bandwidth of a simulated machine
    mcpsim measure --b-eff --simulate default --nct 4,2,2
  Sockets and shared memory in place of MPI, and a comparison of all three
    mcpsim measure --layer tcp --samples tcp.csv -o tcp.toml
    mcpsim measure --layer memory --samples memory.csv -o memory.toml
    mcpsim report here.csv tcp.csv memory.csv --figures figures
  Ratio of two machines' compute speeds: on the other machine, then here
    mcpsim measure --compute -o there.toml
    mcpsim measure --compute --against there.toml
  Rates of BLAS functions, for a program of mcpsim cc --model-blas
    mcpsim measure --kernels --blas libopenblas.so.0 -o kernels.toml
    mcpsim --kernels kernels.toml ./app
  Part of a program's time that memory bounds, for runs of 16 ranks
    mcpsim measure -o app.toml --program-ranks 4 --program ./app 128
    mcpsim --ranks 16 app.toml

Exit codes: 0 measured, 2 bad input or usage, 5 the measurement cannot be used,
70 a bug in mcpsim.";

/// Contention model of the platform file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrittenContention {
    /// Concurrent messages share the bandwidth of the network resources that they use.
    Fair,
    /// The costs of a message depend on the number of concurrent transfers.
    Measured,
}

/// Measures the machine that its ranks run on and writes a platform file
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim measure",
    override_usage = "mpirun -n RANKS mcpsim measure [OPTIONS]\n       mpirun -n RANKS mcpsim measure --pairs [OPTIONS] -o PREFIX\n       mcpsim measure --pairs --simulate PLATFORM [OPTIONS] -o PREFIX\n       [mpirun -n RANKS] mcpsim measure --collectives|--b-eff [OPTIONS]\n       mcpsim measure --layer tcp|memory|./FILE.so [OPTIONS]\n       mcpsim measure --compute [--against FILE]\n       mcpsim measure --kernels [--blas LIBRARY]\n       mcpsim measure [-o FILE.toml] --program PROGRAM [ARGS]\n       mcpsim measure --import LEVEL=FILE… [OPTIONS]",
    term_width = 80,
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES
)]
pub(crate) struct MeasureArgs {
    /// The platform file to write; - is stdout. With --pairs: the prefix of all file names
    #[arg(long, short, value_name = "FILE.toml", default_value = "-")]
    pub output: OsString,

    /// Approximate duration of the measurement
    #[arg(long, value_name = "TIME", default_value = "60 s", allow_hyphen_values = true)]
    pub time: SimSpan,

    /// Greatest message size
    #[arg(long, value_name = "SIZE", default_value = "4 MiB")]
    pub max_size: Bytes,

    /// Greatest number of messages in a window (messages in flight at the same time), for the message rate
    #[arg(long, value_name = "K", default_value_t = WINDOW, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub window: u32,

    /// Write the platform file even if the measurement is unusable: too noisy or implausible
    #[arg(long)]
    pub force: bool,

    /// Write the noise of the operating system as keys, which predictions use; otherwise as comments
    #[arg(long)]
    pub noise: bool,

    /// Contention model of the platform file: fair (capacities from windows) or measured (costs under load)
    #[arg(long, alias = "law", value_name = "MODEL", default_value = "fair")]
    pub contention: WrittenContention,

    /// Name of the machine in the platform file [default: the file name without extension, "here" on stdout]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Name of the node of this rank, if host names do not identify nodes (or MCPSIM_NODE in the environment)
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,

    /// Write all samples as CSV
    #[arg(long, value_name = "FILE.csv")]
    pub samples: Option<OsString>,

    /// Draw bandwidth, latency and message rate by message size into this directory
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    pub format: Vec<Format>,

    /// Time compute kernels on one core; no messages are measured, and MPI is not needed
    #[arg(long, conflicts_with_all = ["samples", "figures", "node"])]
    pub compute: bool,

    /// With --compute: the --compute output of another machine; prints the ratio of the two speeds
    #[arg(long, value_name = "FILE", requires = "compute")]
    pub against: Option<PathBuf>,

    /// Measure functions of the host's BLAS library on one core, for programs of mcpsim cc --model-blas; MPI is not needed
    #[arg(long, conflicts_with_all = ["compute", "samples", "figures", "node"])]
    pub kernels: bool,

    /// With --kernels: the BLAS library [default: libblas.so.3]
    #[arg(long, value_name = "LIBRARY", requires = "kernels")]
    pub blas: Option<PathBuf>,

    /// Create the platform file from the output of OSU or IMB benchmarks whose messages crossed LEVEL; MPI is not
    /// needed
    #[arg(long, value_name = "LEVEL[:PROCESSES]=FILE", conflicts_with_all = ["compute", "samples", "figures", "node"])]
    pub import: Vec<String>,

    /// With --import: the platform (or "default") that supplies the values that no imported file contains
    #[arg(long, value_name = "FILE", requires = "import")]
    pub base: Option<PathBuf>,

    /// With --import and --simulate: shape of the machine: N nodes, C CMPs (sockets) per node, T cores per CMP
    #[arg(long, value_name = "N,C,T")]
    pub nct: Option<Shape>,

    /// With --import: size of the greatest message that is sent eagerly at LEVEL
    #[arg(long, value_name = "LEVEL=SIZE", requires = "import")]
    pub eager: Vec<String>,

    /// With --import: message sizes whose window results are used; few: 8 B, 128 B and the greatest, so that the
    /// other sizes remain for validation
    #[arg(long, value_name = "SIZES", requires = "import", default_value = "all")]
    pub windows: ImportedSizes,

    #[command(flatten)]
    pub layer: LayerArgs,

    #[command(flatten)]
    pub program: ProgramArgs,

    #[command(flatten)]
    pub pairs: PairArgs,

    #[command(flatten)]
    pub together: TogetherArgs,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

impl MeasureArgs {
    /// Returns the name of the measured machine in its platform file.
    pub fn name(&self) -> String {
        let of_file = || {
            let stem = Path::new(&self.output).file_stem()?.to_str()?;
            (stem != "-").then(|| stem.to_owned())
        };
        self.name.clone().or_else(of_file).unwrap_or_else(|| "here".to_owned())
    }
}

/// Sizes of the imported message windows that determine the platform.
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
