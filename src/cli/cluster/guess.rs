//! `mcpsim cluster --platform`: a machine's levels and nodes from the times of all pairs.

use std::path::Path;

use crate::measure::Guess;
use crate::measure::cluster::Precision;
use crate::measure::matrices::Matrices;
use crate::report::guess_summary;
use crate::run::write_whole;

use super::super::exit::Failure;
use super::super::matrix_files::{hosts, in_file, with_end};
use super::super::output::{cannot_write, print};
use super::ClusterArgs;

/// Writes the platform, and says what was found.
pub(super) fn write(args: &ClusterArgs, of: &mut Matrices, path: &Path) -> Result<(), Failure> {
    let Precision::Share(precision) = args.precision else {
        return Err(Failure::bad_input("--platform: expected a --precision that is a share, such as 20%"));
    };
    let guess = Guess::of(of, &hosts(&args.file), precision).map_err(in_file(&args.file))?;
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
    put(path, guess.text(name, &made))?;
    let mut text = guess_summary(&guess);
    if !guess.is_in_blocks() {
        let placement = with_end(&path.with_extension(""), ".placement.txt");
        put(&placement, guess.placement())?;
        text.push_str(&format!("ranks are not in blocks: --placement {}\n", placement.display()));
    }
    if args.quiet { Ok(()) } else { print(&text) }
}
