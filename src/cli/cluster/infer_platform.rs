//! `mcpsim cluster --platform`: infers the network levels and nodes of a machine from the times of all pairs of ranks.

use std::path::Path;

use crate::matrices::Matrices;
use crate::matrices::cluster::Precision;
use crate::measure::{Guess, MeasuredClasses, ReferredFiles};
use crate::report::guess_summary;
use crate::run::write_whole;

use super::super::exit::Failure;
use super::super::matrix_files::{hosts, in_file, with_end};
use super::super::output::{cannot_write, print};
use super::ClusterArgs;

/// Infers the platform from the time matrices, writes the platform file, and prints a summary.
pub(super) fn write(args: &ClusterArgs, of: &mut Matrices, path: &Path) -> Result<(), Failure> {
    let Precision::Share(precision) = args.precision else {
        return Err(Failure::bad_input("--platform: expected --precision as a share such as 20%, not as a time"));
    };
    let hosts = hosts(&args.file)?;
    if !hosts.is_empty() && hosts.len() != of.parameters.ranks as usize {
        let (ranks, found) = (of.parameters.ranks, hosts.len());
        return Err(Failure::bad_input(format!(
            "{}: the file of host names beside it has {found} names: expected one name for each of {ranks} ranks",
            args.file.display()
        )));
    }
    let guess = Guess::of(of, &hosts, precision).map_err(in_file(&args.file))?;
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("pairs");
    let made = format!(
        "Inferred by mcpsim cluster {} from {}: {} of the times of test {}, {} ranks, {} message lengths.",
        env!("CARGO_PKG_VERSION"),
        args.file.display(),
        of.statistic.name(),
        of.parameters.test.name(),
        of.parameters.ranks,
        of.parameters.count()
    );
    let put = |path: &Path, text: String| {
        write_whole(path, text).map_err(|error| cannot_write(&path.display().to_string(), &error))
    };
    let mut text = guess_summary(&guess);
    let mut files = ReferredFiles::default();
    let file_name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    if args.pairs {
        let classes = MeasuredClasses::of(of, &args.options()).map_err(in_file(&args.file))?;
        let of_pairs = with_end(&path.with_extension(""), ".pairs.toml");
        put(&of_pairs, classes.text(guess.shape, &guess.sites, &made))?;
        files.pairs = file_name(&of_pairs);
        text.push_str(&format!("costs of {} classes of pairs are in {}\n", classes.count(), of_pairs.display()));
    } else if let Some(list) = guess.node_list() {
        let of_nodes = with_end(&path.with_extension(""), ".nodes.txt");
        put(&of_nodes, list)?;
        files.nodes = file_name(&of_nodes);
        text.push_str(&format!("groups of nodes are in {}\n", of_nodes.display()));
    }
    put(path, guess.text(name, &made, &files))?;
    if !guess.is_in_blocks() {
        let placement = with_end(&path.with_extension(""), ".placement.txt");
        put(&placement, guess.placement())?;
        text.push_str(&format!("the ranks are not placed in blocks: run with --placement {}\n", placement.display()));
    }
    text.push_str(&format!("platform in {}\n", path.display()));
    if args.quiet { Ok(()) } else { print(&text) }
}
