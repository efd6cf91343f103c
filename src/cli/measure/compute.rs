//! `mcpsim measure --compute`: measures compute kernels, and the speed ratio between the cores of two machines.

use std::io::Write;
use std::path::Path;

use crate::config::Document;
use crate::measure::{Figures, Kernel};

use super::super::exit::Failure;
use super::super::output::{self, OutputTarget};
use super::MeasureArgs;
use super::host::{self, HostLoad};
use super::{conclude, speed};

/// Times the compute kernels, and compares the times with those of another machine if a file of the other machine is
/// given.
pub(super) fn compute(args: &MeasureArgs) -> Result<(), Failure> {
    let against = args.against.as_deref().map(read).transpose()?;
    let target = OutputTarget::new("--output", &args.output)?;
    if let (Some(other), Some(path)) = (&against, &args.against)
        && other.scale_factor(other).is_none()
    {
        return Err(nothing_in_common(path));
    }
    let before = HostLoad::now();
    let figures = speed::time(&mut Kernel::all(), &args.name(), || ());
    let doubts = HostLoad::now().doubts_since(&before);
    if !doubts.is_empty() && !args.force {
        return Err(conclude::unusable("nothing", "", &doubts));
    }
    for doubt in &doubts {
        let _ = writeln!(std::io::stderr(), "note: {doubt}");
    }
    let text = toml::to_string(&figures).map_err(|error| Failure::bad_input(error.to_string()))?;
    let about = "# CPU time in seconds of each of mcpsim's kernels on one core; each value is the median of several \
                 runs.\n";
    let about = format!("{about}# {}, {}, mcpsim {}\n", host::processor(), host::today(), env!("CARGO_PKG_VERSION"));
    if against.is_none() || target != OutputTarget::Stdout {
        target.put(&(about + &text))?;
    }
    if let (OutputTarget::File(path), false) = (&target, args.quiet) {
        output::print(&format!("the kernel times of {} are written to {}\n", figures.machine, path.display()))?;
    }
    let Some(other) = against else { return Ok(()) };
    let Some((factor, each)) = other.scale_factor(&figures) else {
        return Err(nothing_in_common(args.against.as_deref().unwrap_or(Path::new(""))));
    };
    if args.quiet {
        return output::print(&format!("scale_factor = {factor:.4}\n"));
    }
    let mut text = format!("{} compared with this host, by the CPU time of each kernel:\n", other.machine);
    for (name, ratio) in &each {
        text.push_str(&format!("  {name:<14} {ratio:>8.4}\n"));
    }
    text.push_str("Lines for the platform file of that machine (geometric mean of the kernels):\n[core]\n");
    text.push_str(&format!("scale_factor = {factor:.4}\n"));
    output::print(&text)
}

fn nothing_in_common(path: &Path) -> Failure {
    let file = path.display();
    Failure::bad_input(format!(
        "--against {file}: expected kernel times that mcpsim measure --compute of this \
                                version wrote; found none"
    ))
}

fn read(path: &Path) -> Result<Figures, Failure> {
    let figures: Figures = Document::read(path)?.deserialize()?;
    figures.check().map_err(|what| Failure::bad_input(format!("{}: {what}", path.display())))?;
    Ok(figures)
}
