//! Arguments of `mcpsim cluster`.

use std::path::PathBuf;

use clap::Parser;

use crate::matrices::cluster::Precision;
use crate::platform::Shape;
use crate::units::SimSpan;

use super::super::report::Format;

const EXAMPLES: &str = "\
Examples:
  Measure all pairs of a simulated machine, and cluster them
    mcpsim measure --pairs --simulate default --nct 4,2,2 --begin 1000 \\
        --end 10001 --step 500 --repeats 3 -o pairs
    mcpsim cluster pairs_median.nc
  Save the result as two small files, and restore the matrices
    mcpsim cluster pairs_median.nc -o small
    mcpsim cluster --expand small -o again.nc
  Write a platform with the levels and times that the pairs show
    mcpsim cluster pairs_median.nc --platform guessed.toml
  The same for a machine of irregular shape, with costs for each class of pairs
    mcpsim cluster pairs_median.nc --platform guessed.toml --pairs
  Print one matrix element: the time between ranks 0 and 1 for messages of 1500 B
    mcpsim cluster pairs_median.nc --at 0,1,1500
    mcpsim cluster --expand small --at 0,1,1500

Exit codes: 0 done, 2 bad input or usage.";

/// Clusters the pairs of ranks in matrices of their message times
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim cluster",
    override_usage = "mcpsim cluster [OPTIONS] FILE.nc\n       mcpsim cluster --expand [OPTIONS] PREFIX",
    term_width = 80,
    arg_required_else_help = true,
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES
)]
pub(crate) struct ClusterArgs {
    /// Matrices of message times from mcpsim measure --pairs or PARUS' network_test2, NetCDF or text;
    /// with --expand the PREFIX of -o
    #[arg(value_name = "FILE.nc|PREFIX")]
    pub file: PathBuf,

    /// Greatest difference between the times in a cluster: a share of the least time, or a time
    #[arg(long, value_name = "SHARE|TIME", default_value = "20%", value_parser = parse_precision)]
    pub precision: Precision,

    /// Number of matrices (message lengths) from which the first clusters are made
    #[arg(long, value_name = "M", default_value_t = 5, value_parser = parse_matrices)]
    pub first: usize,

    /// Number of matrices by which each further step extends the clusters
    #[arg(long, value_name = "M", default_value_t = 4, value_parser = parse_matrices)]
    pub further: usize,

    /// Greatest share of a cluster's pairs that may leave the cluster in such a step
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = parse_drop)]
    pub drop: f64,

    /// Write PREFIX_info.nc and PREFIX_data.nc; with --expand the matrix file
    #[arg(long, short, value_name = "PREFIX|FILE.nc")]
    pub output: Option<PathBuf>,

    /// Restore the matrices from the pair of files PREFIX_info.nc and PREFIX_data.nc
    #[arg(long)]
    pub expand: bool,

    /// Print one matrix element: the time in seconds of a message of LENGTH bytes between ranks X and Y
    #[arg(long, value_name = "X,Y,LENGTH", value_parser = parse_place)]
    pub at: Option<(u32, u32, u64)>,

    /// Write the matrices as text
    #[arg(long, value_name = "FILE.txt")]
    pub text: Option<PathBuf>,

    /// Compare the clusters with the levels of this platform (or default), with ranks in block order
    #[arg(long, value_name = "PLATFORM")]
    pub truth: Option<PathBuf>,

    /// With --truth: shape of that platform: N nodes, C CMPs (sockets) per node, T cores per CMP
    #[arg(long, value_name = "N,C,T", requires = "truth")]
    pub nct: Option<Shape>,

    /// Infer levels, nodes and groups of nodes, and write a platform; also FILE.placement.txt
    /// if ranks are not in block order, FILE.nodes.txt if groups are not blocks of nodes
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["expand", "output", "at", "text", "figures", "truth"])]
    pub platform: Option<PathBuf>,

    /// With --platform: state the costs of each class of rank pairs in FILE.pairs.toml, which the platform file
    /// names; for machines of irregular shape
    #[arg(long, requires = "platform")]
    pub pairs: bool,

    /// Draw the matrix, coloured by value and by cluster
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,

    /// With --figures: message length (default: the greatest)
    #[arg(long, value_name = "BYTES", requires = "figures")]
    pub length: Option<u64>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    pub format: Vec<Format>,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Parses a fraction such as "20%" or "0.2".
fn parse_share(text: &str) -> Result<f64, String> {
    let wrong = || format!("expected a share in percent such as 10%; found \"{text}\"");
    let (number, unit) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |number| (number.trim(), 0.01));
    number
        .parse::<f64>()
        .ok()
        .filter(|share| share.is_finite() && *share >= 0.0)
        .map(|share| share * unit)
        .ok_or_else(wrong)
}

/// Parses a fraction below 1.
fn parse_drop(text: &str) -> Result<f64, String> {
    let wrong = || format!("expected a share of 0 to below 100%, such as 10%; found \"{text}\"");
    parse_share(text).ok().filter(|share| *share < 1.0).ok_or_else(wrong)
}

/// Parses a number of time matrices.
fn parse_matrices(text: &str) -> Result<usize, String> {
    let found = text.parse().ok().filter(|matrices| *matrices > 0);
    found.ok_or_else(|| format!("expected a number of matrices, 1 or more; found \"{text}\""))
}

/// Parses the precision of clusters: a fraction or a time, above 0.
fn parse_precision(text: &str) -> Result<Precision, String> {
    let wrong = || format!("expected a share such as 20% or a time such as \"300 ns\", above 0; found \"{text}\"");
    let precision = match text.parse::<SimSpan>() {
        Ok(span) => Precision::Seconds(span.as_seconds()),
        Err(_) => Precision::Share(parse_share(text).map_err(|_| wrong())?),
    };
    // If a user types 20, 20 % is meant and not a factor of twenty, so a precision above 1 needs a percent sign.
    if matches!(precision, Precision::Share(share) if share > 1.0) && !text.contains('%') {
        return Err(wrong());
    }
    let (Precision::Seconds(width) | Precision::Share(width)) = precision;
    if width > 0.0 { Ok(precision) } else { Err(wrong()) }
}

/// Parses a matrix element such as "0,1,1500": two ranks and a message length in bytes.
fn parse_place(text: &str) -> Result<(u32, u32, u64), String> {
    let wrong = || format!("expected two ranks and a message length in bytes such as 0,1,1500; found \"{text}\"");
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let &[x, y, length] = parts.as_slice() else { return Err(wrong()) };
    let all = x.parse().ok().zip(y.parse().ok()).zip(length.parse().ok());
    all.map(|((x, y), length)| (x, y, length)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definitions_are_sound_and_help_fits_80_columns() {
        ClusterArgs::command().debug_assert();
        let text = ClusterArgs::command().render_long_help().to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_precision_is_a_share_or_a_time_above_zero() {
        assert_eq!(parse_precision("20 %"), Ok(Precision::Share(0.2)));
        assert_eq!(parse_precision("0.001"), Ok(Precision::Share(0.001)));
        assert_eq!(parse_precision("500 us"), Ok(Precision::Seconds(0.0005)));
        assert_eq!(parse_precision("150%"), Ok(Precision::Share(1.5)));
        for text in ["0", "0%", "0 ns", "-1", "x", "nan", "20"] {
            let expected =
                format!("expected a share such as 20% or a time such as \"300 ns\", above 0; found \"{text}\"");
            assert_eq!(parse_precision(text), Err(expected));
        }
    }

    #[test]
    fn portions_have_matrices_and_a_cluster_keeps_something() {
        assert_eq!((parse_matrices("1"), parse_drop("0"), parse_drop("50%")), (Ok(1), Ok(0.0), Ok(0.5)));
        for text in ["0", "-1", "x"] {
            let expected = format!("expected a number of matrices, 1 or more; found \"{text}\"");
            assert_eq!(parse_matrices(text), Err(expected));
        }
        for text in ["100%", "2", "-1", "nan"] {
            let expected = format!("expected a share of 0 to below 100%, such as 10%; found \"{text}\"");
            assert_eq!(parse_drop(text), Err(expected));
        }
    }

    #[test]
    fn an_element_is_two_ranks_and_a_length() {
        assert_eq!(parse_place("0, 1,1500"), Ok((0, 1, 1500)));
        assert!(parse_place("0,1").is_err() && parse_place("0,-1,2").is_err());
    }
}
