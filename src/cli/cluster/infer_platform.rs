//! `mcpsim cluster --platform`: infers the levels and nodes of a machine from the times of all pairs of ranks.

use std::path::Path;

use crate::matrices::Matrices;
use crate::matrices::cluster::Precision;
use crate::measure::{Guess, MeasuredClasses};
use crate::report::guess_summary;
use crate::run::write_whole;

use super::super::exit::Failure;
use super::super::matrix_files::{hosts, in_file, with_end};
use super::super::output::{cannot_write, print};
use super::ClusterArgs;

/// Infers the platform, writes its file, and prints a summary.
pub(super) fn write(args: &ClusterArgs, of: &mut Matrices, path: &Path) -> Result<(), Failure> {
    let Precision::Share(precision) = args.precision else {
        return Err(Failure::bad_input("--platform: expected a --precision that is a share, such as 20%"));
    };
    let hosts = hosts(&args.file)?;
    if !hosts.is_empty() && hosts.len() != of.parameters.ranks as usize {
        let (ranks, found) = (of.parameters.ranks, hosts.len());
        return Err(Failure::bad_input(format!(
            "{}: its hosts' file has {found} names: expected one for each of {ranks} ranks",
            args.file.display()
        )));
    }
    let guess = Guess::of(of, &hosts, precision).map_err(in_file(&args.file))?;
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("pairs");
    let made = format!(
        "Guessed by mcpsim cluster {} from {}: {} of {}, {} ranks, {} lengths.",
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
    if args.pairs {
        let classes = MeasuredClasses::of(of, &args.options()).map_err(in_file(&args.file))?;
        let of_pairs = with_end(&path.with_extension(""), ".pairs.toml");
        put(&of_pairs, classes.text(guess.shape, &guess.sites, &made))?;
        let file = of_pairs.file_name().unwrap_or_default().to_string_lossy().into_owned();
        put(path, guess.text_with(name, &made, Some(&file)))?;
        text.push_str(&format!("classes of pairs: {} in {}\n", classes.count(), of_pairs.display()));
    } else {
        put(path, guess.text(name, &made))?;
    }
    if !guess.is_in_blocks() {
        let placement = with_end(&path.with_extension(""), ".placement.txt");
        put(&placement, guess.placement())?;
        text.push_str(&format!("ranks are not in blocks: --placement {}\n", placement.display()));
    }
    text.push_str(&format!("platform in {}\n", path.display()));
    if args.quiet { Ok(()) } else { print(&text) }
}
