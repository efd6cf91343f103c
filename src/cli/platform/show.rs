//! `mcpsim platform show`: prints the machine that a platform file describes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::platform::{Shape, Site};
use crate::report::{MOST_DRAWN_SWITCHES, machine_figures, machine_json, machine_summary};

use super::super::exit::{Exit, Failure};
use super::super::output::{OutputTarget, print};
use super::super::report::{Format, draw};
use super::load_platform;

const EXAMPLES: &str = "\
Examples:
  Places and costs of an included machine
    mcpsim platform show archer2
  The resources that a message from core 0 to core 200 passes
    mcpsim platform show archer2 --nct 2,2,64 --pair 0,200
  The same cores by node, CMP and core
    mcpsim platform show archer2 --nct 2,2,64 --pair 0.0.0,1.1.8
  Figures of a node and of the switches
    mcpsim platform show fat-tree-hdr --figures figures

Exit codes: 0 done, 2 bad input or usage.";

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES,
)]
pub(super) struct ShowArgs {
    /// The platform: a file or a name
    #[arg(value_name = "FILE|NAME")]
    source: PathBuf,

    /// Nodes, CMPs per node, cores per CMP
    #[arg(long, value_name = "N,C,T")]
    nct: Option<Shape>,

    /// Override a key; repeatable
    #[arg(long, value_name = "platform.KEY=VALUE")]
    set: Vec<String>,

    /// Show the message from core A to core B, each a number or NODE.CMP.CORE
    #[arg(long, value_name = "A,B")]
    pair: Option<String>,

    /// Write the machine as JSON; - is stdout
    #[arg(long, value_name = "FILE.json")]
    json: Option<OsString>,

    /// Draw a node, and the switches or groups of nodes, into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    format: Vec<Format>,
}

/// Executes the command.
pub(super) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let json = args.json.as_ref().map(|name| OutputTarget::new("--json", name)).transpose()?;
    let platform = load_platform(&args.source, &args.set, args.nct)?;
    let pair = args.pair.as_deref().map(|text| pair(text, platform.shape)).transpose()?;
    let machine = platform.overview(pair);
    if let Some(target) = &json {
        let failed = |error| Failure { exit: Exit::Bug, text: format!("--json: {error}") };
        target.put(&machine_json(&machine).map_err(failed)?)?;
    }
    let mut text = match json {
        Some(OutputTarget::Stdout) => String::new(),
        _ => machine_summary(&machine),
    };
    if let Some(directory) = &args.figures {
        let drawing = platform.drawing(MOST_DRAWN_SWITCHES);
        let files = draw(&machine_figures(&machine, drawing.as_ref()), directory, &args.format)?;
        let is_large = drawing.is_none() && (platform.places.network.is_some() || !platform.places.groups.is_empty());
        // With JSON on stdout, nothing else is printed.
        if !text.is_empty() {
            text.push('\n');
            text.push_str(&files);
            if is_large {
                text.push_str(&format!("  not drawn: more than {MOST_DRAWN_SWITCHES} switches or groups\n"));
            }
        }
    }
    print(&text)
}

/// Parses two cores, each a number in block order or `NODE.CMP.CORE`.
fn pair(text: &str, shape: Shape) -> Result<[Site; 2], Failure> {
    let wrong = |expected: &str| Failure::bad_input(format!("--pair {text}: expected {expected}"));
    let cores: Option<Vec<Site>> = text.split(',').map(|core| parse_core(core.trim(), shape)).collect();
    let Some(&[from, to]) = cores.as_deref() else {
        return Err(wrong("two cores, each a number or NODE.CMP.CORE, such as 0,5 or 0.0.0,1.0.3"));
    };
    if !shape.contains(from) || !shape.contains(to) {
        let last = shape.site(shape.total_cores() - 1);
        let most = shape.total_cores() - 1;
        return Err(wrong(&format!("cores from 0 to {most}, or 0.0.0 to {}.{}.{}", last.node, last.cmp, last.core)));
    }
    Ok([from, to])
}

/// Parses one core. A number beyond the machine yields a site beyond the machine.
fn parse_core(text: &str, shape: Shape) -> Option<Site> {
    let numbers: Vec<u32> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match *numbers.as_slice() {
        [number] if u64::from(number) < shape.total_cores() => Some(shape.site(number.into())),
        [_] => Some(Site { node: shape.nodes, cmp: 0, core: 0 }),
        [node, cmp, core] => Some(Site { node, cmp, core }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_numbers_or_node_cmp_core() {
        let shape = Shape { nodes: 2, cmps: 2, cores: 4 };
        let site = |node, cmp, core| Site { node, cmp, core };
        assert_eq!(pair("0,13", shape).unwrap(), [site(0, 0, 0), site(1, 1, 1)]);
        assert_eq!(pair("0.1.2, 15", shape).unwrap(), [site(0, 1, 2), site(1, 1, 3)]);
        for text in ["", "1", "1,2,3", "a,b", "0.1,2", "-1,0", "0,4294967296", "0.0.0.0,1"] {
            let error = pair(text, shape).unwrap_err().text;
            assert!(error.contains("two cores, each a number"), "{text}: {error}");
        }
        for text in ["0,16", "0,2.0.0", "0.2.0,1", "0.0.4,1", "0,4294967295"] {
            let error = pair(text, shape).unwrap_err().text;
            assert!(error.ends_with("cores from 0 to 15, or 0.0.0 to 1.1.3"), "{text}: {error}");
        }
    }
}
