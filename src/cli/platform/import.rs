//! `mcpsim platform import`: creates places and networks from descriptions that other tools write.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::config::read_text;
use crate::platform::import_places;
use crate::report::imported_places_text;

use super::super::exit::Failure;
use super::super::output::{OutputTarget, print};

const EXAMPLES: &str = "\
Examples:
  Switches and groups of a cluster that Slurm manages
    mcpsim platform import /etc/slurm/topology.conf -o cluster
  Processors, caches and NUMA domains of a node
    lstopo --of xml node.xml
    mcpsim platform import node.xml
  Switches and links of an InfiniBand network
    ibnetdiscover > fabric.txt
    mcpsim platform import fabric.txt -o fabric
  SimGrid: a cluster (star, fat tree, torus, dragonfly), or hosts with links and routes
    mcpsim platform import platform.xml

-o PREFIX writes PREFIX.toml, a part of a platform file, and PREFIX.nodes.txt, the list
of nodes or of switches and links that this part names.

Exit codes: 0 done, 2 bad input or usage.";

/// Name of the list of nodes on stdout.
const LIST: &str = "nodes.txt";

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES,
    arg_required_else_help = true,
)]
pub(super) struct PlacesImportArgs {
    /// Slurm's topology.conf or topology.yaml, output of ibnetdiscover, or XML of hwloc or SimGrid
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Prefix of the names of the written files (default: stdout)
    #[arg(long, short, value_name = "PREFIX")]
    output: Option<PathBuf>,
}

/// Executes the command.
pub(super) fn import(args: &PlacesImportArgs) -> Result<(), Failure> {
    let text = read_text(&args.file, "Slurm's topology.conf, output of ibnetdiscover, or XML of hwloc or SimGrid")?;
    let name = args.file.display().to_string();
    let Some(prefix) = &args.output else {
        let found = import_places(&name, &text, LIST)?;
        return print(&imported_places_text(&found, LIST));
    };
    let Some(stem) = prefix.file_name().and_then(OsStr::to_str).filter(|_| prefix != Path::new("-")) else {
        let shown = prefix.display();
        return Err(Failure::bad_input(format!("--output {shown}: expected a prefix of file names")));
    };
    let list_name = format!("{stem}.nodes.txt");
    let target = |name: &str| OutputTarget::new("--output", prefix.with_file_name(name).as_os_str());
    let (toml, list) = (target(&format!("{stem}.toml"))?, target(&list_name)?);
    let found = import_places(&name, &text, &list_name)?;
    toml.put(&found.toml)?;
    let mut written = format!("wrote {}\n", prefix.with_file_name(format!("{stem}.toml")).display());
    if let Some(text) = &found.list {
        list.put(text)?;
        written.push_str(&format!("wrote {}\n", prefix.with_file_name(&list_name).display()));
    }
    written.extend(found.notes.iter().map(|note| format!("note: {note}\n")));
    print(&written)
}
