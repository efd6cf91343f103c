//! Measurement with the ranks of a real MPI library: detects the cores of the ranks, runs the tests, and evaluates the
//! samples on the first rank.

use std::io::Write;

use crate::engine::Processes;
use crate::measure::{
    self, Binding, CampaignPlan, Figures, HostFacts, HostPlace, Kernel, MeasuredLibrary, MeasuredMachine, PIECE,
    RankPort, Speed,
};
use crate::run::agree;

use super::super::exit::Failure;
use super::MeasureArgs;
use super::conclude::{ReportLine, Targets, conclude, fitted};
use super::datatypes::time_datatypes;
use super::own_data::time_own_data;
use super::port::RealPort;
use super::{host, host_facts, speed};

/// Largest number of ranks on a CMP (socket) for which kernels are timed with every number of concurrent ranks.
const ONE_BY_ONE: u32 = 8;

/// Measures the machine. The first host process writes the results.
pub(super) fn measure(args: &MeasureArgs, processes: &Processes) -> Result<(), Failure> {
    // A file that cannot be written is reported before the measurement.
    let targets = agree(processes, processes.is_first().then(|| Targets::new(args)).transpose())?;
    let named = args.node.clone().or_else(|| std::env::var(host_facts::NODE).ok().filter(|name| !name.is_empty()));
    let all: Vec<HostFacts> = processes.gather(host_facts::local_facts(named.as_deref()));
    let (seen, bindings): (Vec<HostFacts>, Vec<Binding>) = processes.broadcast(|| (all.clone(), measure::bind(&all)));
    let mine = bindings[processes.me() as usize];
    let bound = match mine {
        Binding::To(cpu) => host_facts::bind_to(cpu),
        Binding::Launcher => true,
        Binding::None => false,
    };
    let gathered = processes.gather(bound);
    let own_cores: Vec<bool> = processes.broadcast(|| gathered.clone());
    let unbound = own_cores.iter().filter(|own| !**own).count();
    let places = measure::places(&seen, &bindings);
    let notes = notes(&seen, &bindings, &places, unbound);
    if processes.is_first() && !args.quiet {
        notes.iter().for_each(|note| _ = writeln!(std::io::stderr(), "note: {note}"));
    }
    let levels = measure::levels_on_own_cores(&places, &own_cores);
    let plan =
        CampaignPlan { levels, most_bytes: args.max_size.get(), budget: args.time.as_seconds(), window: args.window };
    let mut port = RealPort::new(plan.most_bytes);
    let speed = speeds(&mut port, processes, &places);
    // The other ranks wait for the first rank in the next data exchange.
    let datatypes = if processes.is_first() { time_datatypes() } else { [0.0; 2] };
    let own_data = if processes.is_first() { time_own_data() } else { [0.0; 2] };
    // For a twentieth of the total time, one rank per node repeatedly runs a fixed piece of computation to observe
    // noise.
    let firsts: Vec<u32> =
        (0..).zip(&places).filter(|(rank, place)| place.node == *rank).map(|(rank, _)| rank).collect();
    let pieces = (args.time.as_seconds() / 20.0 / PIECE).clamp(1000.0, 100_000.0) as u32;
    let cores = measure::measure_cores(&mut port, &firsts, pieces);
    let mut line = ReportLine::new(processes.is_first() && !args.quiet);
    let samples = measure::measure(&mut port, &plan, &mut |what, part| line.tell(what, part));
    line.end();
    let Some(targets) = targets else { return Ok(()) };
    let (provenance, shape) = (provenance(&seen, &bindings, &notes), measure::shape(&seen, &places));
    let (name, states_noise) = (args.name(), args.noise);
    let library = MeasuredLibrary::new(&library(), datatypes, own_data);
    let (links, domains) = (Vec::new(), host_facts::domains(&seen[0], shape));
    let measured =
        MeasuredMachine { name, provenance, shape, speed, links, samples, cores, library, domains, states_noise };
    let (measured, again) = fitted(measured, &plan, &places, args.contention)?;
    conclude(args, &targets, &measured, &again)
}

/// Times the kernels on the CMP (socket) of the first rank: first on one rank, then on a growing number of concurrent
/// ranks.
fn speeds(port: &mut RealPort, processes: &Processes, places: &[HostPlace]) -> Speed {
    let near: Vec<u32> =
        (0..).zip(places).filter(|(_, place)| place.is_near(&places[0])).map(|(rank, _)| rank).collect();
    let most = near.len() as u32;
    let mut kernels = Kernel::all();
    let mut crowded: Vec<Figures> = Vec::new();
    for ranks in 1..=most {
        if ranks > ONE_BY_ONE && ranks != most && !ranks.is_power_of_two() {
            let last = crowded.last().cloned().unwrap_or_default();
            crowded.push(last);
            continue;
        }
        let works = near[..ranks as usize].contains(&port.rank());
        if works {
            crowded.push(speed::time(&mut kernels, "", || port.barrier()));
        } else {
            kernels.iter().for_each(|_| port.barrier());
            crowded.push(Figures::default());
        }
        port.barrier();
    }
    // The first rank takes part in the timing with every number of concurrent ranks.
    let crowded = processes.broadcast(|| crowded.clone());
    Speed::of(&crowded[0], &crowded)
}

/// Returns notes on the placement of the ranks, which are printed for the user.
fn notes(seen: &[HostFacts], bindings: &[Binding], places: &[HostPlace], unbound: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if cfg!(debug_assertions) {
        notes.push(
            "this mcpsim was built without optimisation: its computation is slower than optimised code".to_owned(),
        );
    }
    let own = bindings.iter().filter(|binding| matches!(binding, Binding::To(_))).count();
    if own > 0 {
        notes.push(format!(
            "the launcher bound {own} of {} ranks to no core of their own, and mcpsim bound each of them to a core",
            seen.len()
        ));
    }
    let shares = |rank: &usize| places[..*rank].iter().any(|before| before.shares_cpu(&places[*rank]));
    let further = (0..places.len()).filter(shares).count();
    if unbound > further {
        notes.push(format!(
            "{} of {} ranks have no core of their own: the system may move them between cores, so their times are \
             unreliable",
            unbound - further,
            seen.len()
        ));
    }
    if further > 0 {
        notes.push(format!("{further} of {} ranks are bound to a core to which another rank is bound too", seen.len()));
    }
    if unbound > 0 {
        notes.push(
            "pairs of ranks are measured one at a time, because not every rank has a core of its \
                    own"
            .to_owned(),
        );
    }
    if seen.iter().any(|of| of.cpus.is_empty()) {
        notes.push(
            "/sys/devices/system/cpu does not state which cores share a CMP: each host counts as one CMP".to_owned(),
        );
    }
    let pairs = || seen.iter().flat_map(|one| seen.iter().map(move |other| (one, other)));
    if pairs().any(|(one, other)| one.machine == other.machine && one.node != other.node) {
        notes.push(
            "one machine has several host names (containers, network namespaces): each name counts as a \
                    node"
                .to_owned(),
        );
    }
    if pairs().any(|(one, other)| one.machine != other.machine && one.node == other.node) {
        notes.push("several machines have the same host name: each machine counts as a node".to_owned());
    }
    notes
}

/// Returns the version text of the MPI library, on one line.
fn library() -> String {
    let text = mpi::environment::library_version().unwrap_or_default();
    text.lines().next().unwrap_or_default().trim_end_matches(['\0', ',']).to_owned()
}

fn provenance(seen: &[HostFacts], bindings: &[Binding], notes: &[String]) -> Vec<String> {
    let bound = bindings.iter().filter(|binding| **binding != Binding::None).count();
    let mut lines = vec![
        format!("Measured by mcpsim measure {} on {}.", env!("CARGO_PKG_VERSION"), host::today()),
        format!("{}, {}, {} ranks, {bound} of them bound to a core.", host::processor(), library(), seen.len()),
        "Sources: latency and bandwidth from half round trips; overheads from message trains with delays and from \
         late receives; loads from exchanges of pairs."
            .to_owned(),
    ];
    if let Some(caches) = super::host_facts::caches() {
        lines.push(format!("Caches of a core, as the operating system reports them: {caches}."));
    }
    lines.extend(notes.iter().map(|note| format!("Note: {note}.")));
    lines
}
