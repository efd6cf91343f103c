//! `mcpsim measure --layer`: times messages between two ranks on a software layer other than MPI: sockets, shared
//! memory, or a library of the user.
//!
//! The measurement has two ranks, 0 and 1. On a single host, rank 1 is a thread of the process of rank 0; for a user's
//! library, rank 1 is a separate process. Between two hosts, the user starts rank 1 with `--listen`, and rank 0 with
//! `--connect`.

mod library;
mod memory;
mod port;
mod tcp;

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use clap::Args;

use crate::config::note_input;
use crate::measure::{
    self, Binding, CampaignPlan, HostFacts, Kernel, MeasuredCores, MeasuredLibrary, MeasuredMachine, RankPort, Samples,
    Speed, measure_levels,
};

use super::super::exit::Failure;
use super::super::output::print;
use super::MeasureArgs;
use super::conclude::{ReportLine, Targets, conclude, fitted};
use super::{host, host_facts, speed};
use library::LoadedLayer;
use memory::SharedMemory;
use port::{LayerPort, PairLayer};
use tcp::Tcp;

/// C header that a library for `--layer` implements.
const HEADER: &str = include_str!("layers/mcpsim_layer.h");

/// Options for measuring a transport other than MPI.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LayerArgs {
    /// Measure this communication layer in place of MPI, with two ranks: tcp, memory, or a C library of five
    /// functions; header prints the C header for such a library
    #[arg(long, value_name = "tcp|memory|FILE.so|header", help_heading = "Other layers",
        conflicts_with_all = ["pairs", "collectives", "b_eff", "compute", "import", "simulate", "node"])]
    pub layer: Option<String>,

    /// Run as the second rank, and listen at this address for the first rank
    #[arg(
        long,
        value_name = "HOST:PORT",
        requires = "layer",
        conflicts_with = "connect",
        help_heading = "Other layers"
    )]
    pub listen: Option<String>,

    /// Address where the second rank listens, on another host
    #[arg(long, value_name = "HOST:PORT", requires = "layer", help_heading = "Other layers")]
    pub connect: Option<String>,
}

/// Software layer that transfers the measured messages.
#[derive(Clone, Debug, PartialEq)]
enum Layer {
    Tcp,
    Memory,
    Library(PathBuf),
}

impl Layer {
    fn parse(text: &str) -> Result<Layer, Failure> {
        match text {
            "tcp" => Ok(Layer::Tcp),
            "memory" => Ok(Layer::Memory),
            path if path.contains('/') => Ok(Layer::Library(PathBuf::from(path))),
            other => {
                let expected = "expected tcp, memory, or the path of a library such as ./layer.so";
                Err(Failure::bad_input(format!("--layer: {expected}; found \"{other}\"")))
            }
        }
    }
}

/// Measures the software layer with two ranks. Rank 0 writes the results.
pub(super) fn measure(args: &MeasureArgs) -> Result<(), Failure> {
    let given = args.layer.layer.as_deref().unwrap_or_default();
    if given == "header" {
        return print(HEADER);
    }
    let layer = Layer::parse(given)?;
    let (listen, connect) = (args.layer.listen.as_deref(), args.layer.connect.as_deref());
    if layer == Layer::Memory && (listen.is_some() || connect.is_some()) {
        return Err(Failure::bad_input(
            "--layer memory: expected neither --listen nor --connect, because both ranks \
                                       are on this host",
        ));
    }
    if let Some(address) = listen {
        let facts = [host_facts::local_facts(None)];
        bind_self(measure::bind(&facts)[0]);
        let layer: Box<dyn PairLayer> = match &layer {
            Layer::Library(path) => {
                Box::new(LoadedLayer::load(path).and_then(|loaded| loaded.start(1, address)).map_err(wrong)?)
            }
            _ => Box::new(Tcp::new(listened(&listening(address)?)?)),
        };
        second(layer);
        return Ok(());
    }
    let targets = Targets::new(args)?;
    let here = host_facts::local_facts(None);
    let mut facts = [here.clone(), here];
    if connect.is_some() {
        facts[1] = HostFacts { node: "other".to_owned(), machine: "other".to_owned(), ..facts[1].clone() };
    }
    let bindings = measure::bind(&facts);
    bind_self(bindings[0]);
    let mut child = None;
    let first: Box<dyn PairLayer> = match (&layer, connect) {
        (Layer::Library(path), None) => {
            let address = format!("mcpsim-{}", std::process::id());
            note_input(path);
            // The user's layer library is loaded before the second process starts, because both processes would print
            // the error message otherwise.
            let loaded = LoadedLayer::load(path).map_err(wrong)?;
            child = Some(OtherRank::start(path, &address)?);
            Box::new(loaded.start(0, &address).map_err(wrong)?)
        }
        (Layer::Library(path), Some(address)) => {
            Box::new(LoadedLayer::load(path).and_then(|loaded| loaded.start(0, address)).map_err(wrong)?)
        }
        (_, Some(address)) => {
            let stream = TcpStream::connect(address);
            let refused = |error: std::io::Error| wrong_address("--connect", address, &error);
            Box::new(Tcp::new(stream.map_err(refused)?))
        }
        (Layer::Tcp, None) => {
            let listener = listening("127.0.0.1:0")?;
            let address = listener.local_addr().map_err(|error| Failure::bad_input(format!("a socket: {error}")))?;
            let stream = TcpStream::connect(address);
            let stream = stream.map_err(|error| Failure::bad_input(format!("{address}: {error}")))?;
            let other = Tcp::new(listened(&listener)?);
            beside(bindings[1], move || second(Box::new(other)));
            Box::new(Tcp::new(stream))
        }
        (Layer::Memory, None) => {
            let (one, other) = SharedMemory::both();
            beside(bindings[1], move || second(Box::new(other)));
            Box::new(one)
        }
    };
    let samples = first_rank(args, first, &facts, &bindings);
    drop(child);
    write(args, &targets, given, (&facts, &bindings), samples)
}

/// Runs rank 0 of the measurement, and returns the measured samples.
fn first_rank(args: &MeasureArgs, layer: Box<dyn PairLayer>, facts: &[HostFacts], bindings: &[Binding]) -> Samples {
    let mut port = LayerPort::new(0, layer);
    let plan = plan(args, facts, bindings);
    let level = plan.levels[0].level as u32;
    let mut numbers = vec![plan.most_bytes as f64, plan.budget, f64::from(plan.window), f64::from(level)];
    port.share(0, &mut numbers);
    port.make_room(plan.most_bytes);
    let mut line = ReportLine::new(!args.quiet);
    let samples = measure_levels(&mut port, &plan, &mut |what, part| line.tell(what, part));
    line.end();
    samples
}

/// Runs rank 1 of the measurement, which follows the instructions of rank 0.
fn second(layer: Box<dyn PairLayer>) {
    let mut port = LayerPort::new(1, layer);
    let mut numbers = Vec::new();
    port.share(0, &mut numbers);
    let [most, budget, window, level] = numbers[..] else { return };
    let level = crate::platform::Level::ALL[(level as usize).min(2)];
    let pairs = vec![measure::RankPair { first: 0, second: 1 }];
    let levels = vec![measure::LevelPlan { level, pairs }];
    let plan = CampaignPlan { levels, most_bytes: most as u64, budget, window: window as u32 };
    port.make_room(plan.most_bytes);
    measure_levels(&mut port, &plan, &mut |_, _| ());
}

fn plan(args: &MeasureArgs, facts: &[HostFacts], bindings: &[Binding]) -> CampaignPlan {
    CampaignPlan {
        levels: measure::levels(&measure::places(facts, bindings)),
        most_bytes: args.max_size.get(),
        budget: args.time.as_seconds(),
        window: args.window,
    }
}

/// Fits the message costs to the samples and writes the results.
fn write(
    args: &MeasureArgs,
    targets: &Targets,
    layer: &str,
    (facts, bindings): (&[HostFacts], &[Binding]),
    samples: Samples,
) -> Result<(), Failure> {
    let places = measure::places(facts, bindings);
    let alone = speed::time(&mut Kernel::all(), "", || ());
    let speed = Speed::of(&alone, std::slice::from_ref(&alone));
    let bound = bindings.iter().filter(|binding| **binding != Binding::None).count();
    let provenance = vec![
        format!("Measured by mcpsim measure {} --layer {layer} on {}.", env!("CARGO_PKG_VERSION"), host::today()),
        format!("{}, 2 ranks, {bound} of them bound to a core.", host::processor()),
        "These figures exclude the overhead of MPI.".to_owned(),
    ];
    let shape = measure::shape(facts, &places);
    let name = args.name();
    let measured = MeasuredMachine {
        name,
        provenance,
        shape,
        speed,
        links: Vec::new(),
        samples,
        cores: MeasuredCores::default(),
        library: MeasuredLibrary::default(),
        domains: host_facts::domains(&facts[0], shape),
        states_noise: false,
    };
    let (measured, again) = fitted(measured, &plan(args, facts, bindings), &places, args.contention)?;
    conclude(args, targets, &measured, &again)
}

fn bind_self(binding: Binding) {
    if let Binding::To(cpu) = binding {
        host_facts::bind_to(cpu);
    }
}

/// Starts rank 1 as a thread. The thread of rank 1 ends at the latest when the host process ends.
fn beside(binding: Binding, work: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        bind_self(binding);
        work();
    });
}

fn listening(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| wrong_address("--listen", address, &error))
}

/// Returns the reason why a connection failed, with advice for known causes.
fn wrong_address(option: &str, address: &str, error: &std::io::Error) -> Failure {
    Failure::bad_input(match error.kind() {
        ErrorKind::ConnectionRefused => format!(
            "{option} {address}: no process listens there; start mcpsim measure --layer tcp --listen on that host first"
        ),
        ErrorKind::InvalidInput => format!("{option} {address}: expected HOST:PORT such as 10.0.0.1:5000"),
        _ => format!("{option} {address}: {error}"),
    })
}

fn listened(listener: &TcpListener) -> Result<TcpStream, Failure> {
    listener.accept().map(|(stream, _)| stream).map_err(|error| Failure::bad_input(format!("--listen: {error}")))
}

fn wrong(what: String) -> Failure {
    Failure::bad_input(what)
}

/// Rank 1 for a layer library of the user, whose global state requires a separate host process. The process of rank 1
/// is killed when this value is dropped.
struct OtherRank(Child);

impl OtherRank {
    fn start(library: &Path, address: &str) -> Result<OtherRank, Failure> {
        let failed = |error: std::io::Error| {
            Failure::bad_input(format!(
                "--layer: cannot start the process of the \
        second rank: {error}"
            ))
        };
        let own = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(own);
        command.args(["measure", "--quiet", "--layer"]).arg(library).args(["--listen", address]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map_err(failed)?;
        Ok(OtherRank(child))
    }
}

impl Drop for OtherRank {
    fn drop(&mut self) {
        // The process of rank 1 has ended or is no longer needed, so errors are ignored.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
