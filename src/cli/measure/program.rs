//! `mcpsim measure --program`: measures which part of the time of a program's code memory bounds.
//!
//! The program runs in mcpsim on one core of the host, by turns alone and while a thread on another physical core
//! streams through memory.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Args;

use crate::measure::{CodeSeconds, HogTurn, Kernel, MemoryParts};
use crate::run::{Application, RunRequest, is_program};

use super::super::exit::{Exit, Failure};
use super::super::output::{self, OutputTarget};
use super::{MeasureArgs, host, host_facts};

/// Number of turns, each with a run alone and a run with the hog.
const TURNS: usize = 5;
/// Number of runs of the streaming kernel in a turn.
const KERNEL_RUNS: usize = 15;
/// Name of the streaming kernel.
const STREAMING: &str = "triad_far";

/// Options for the measurement of a program.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ProgramArgs {
    /// Measure which part of the time of this program's code memory bounds, and write it as a setting of runs; the
    /// following words are the program's arguments. Needs two physical cores, and no MPI
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true, help_heading = "A program",
          conflicts_with_all = ["compute", "import", "samples", "figures", "node", "layer"])]
    pub program: Vec<OsString>,

    /// With --program: number of ranks [default: 1]
    #[arg(long, value_name = "N", requires = "program", help_heading = "A program",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub program_ranks: Option<u32>,
}

/// Measures the program in `args`, and writes the setting `memory_bound`.
pub(super) fn measure(args: &MeasureArgs) -> Result<(), Failure> {
    let target = OutputTarget::new("--output", &args.output)?;
    let [own, other] = two_cores()?;
    let directory = tempfile::tempdir().map_err(|error| failed("a temporary directory", &error))?;
    let program = HoggedProgram { words: &args.program.program, ranks: args.program.program_ranks.unwrap_or(1) };
    let trace = directory.path().join("code.trace");
    if !host_facts::bind_to(own) {
        return Err(Failure::bad_input(format!("--program: cannot bind to CPU {own}")));
    }
    let hog = Hog::default();
    let turns = thread::scope(|scope| {
        scope.spawn(|| hog.stream(other));
        let turns = (0..TURNS).map(|_| turn(&program, &trace, &hog)).collect::<Result<Vec<_>, _>>();
        hog.ends.store(true, Ordering::Relaxed);
        turns
    })?;
    let parts = MemoryParts::new(&turns)
        .map_err(|error| Failure { exit: Exit::OverLimit, text: format!("--program: nothing is written: {error}") })?;
    let text = text(&program, &parts);
    target.put(&text)?;
    if let (OutputTarget::File(path), false) = (&target, args.quiet) {
        output::print(&format!("{}The parts are in {}\n", summary(&parts), path.display()))?;
    }
    Ok(())
}

/// Program and its arguments, with its number of ranks.
struct HoggedProgram<'a> {
    words: &'a [OsString],
    ranks: u32,
}

impl HoggedProgram<'_> {
    fn name(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// Runs the program in a further mcpsim process, and returns the seconds of its code before each MPI function.
    fn run(&self, trace: &Path) -> Result<CodeSeconds, Failure> {
        let own = std::env::current_exe().map_err(|error| failed("the mcpsim executable", &error))?;
        let mut command = Command::new(own);
        command.args(["run", "--quiet", "--set", "platform.core.scale_factor=1"]);
        command.args(["--nct", &format!("1,1,{}", self.ranks), "--workers", "1", "--ranks", &self.ranks.to_string()]);
        let ran = command.arg("--record").arg(trace).args(self.words).stdin(Stdio::null()).output();
        let ran = ran.map_err(|error| failed("another mcpsim process", &error))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            let why = said.lines().rfind(|line| !line.starts_with("note: ")).unwrap_or("no output");
            let why = why.trim_start_matches("error: ");
            return Err(Failure::bad_input(format!("--program {}: {why}", self.name())));
        }
        let run = RunRequest::new(trace.to_owned()).read()?.resolve(&[])?;
        let blocks = run.code_before_calls()?;
        Ok(blocks.into_iter().map(|(call, span)| (call, span.as_seconds())).collect())
    }
}

/// Thread that streams through memory on a core of its own.
#[derive(Default)]
struct Hog {
    runs: AtomicBool,
    ends: AtomicBool,
}

impl Hog {
    fn stream(&self, cpu: u32) {
        host_facts::bind_to(cpu);
        let mut kernel = streaming();
        while !self.ends.load(Ordering::Relaxed) {
            match self.runs.load(Ordering::Relaxed) {
                true => kernel.run(),
                // With real-time priority, the loop keeps other processes from this core.
                false => std::hint::spin_loop(),
            }
        }
    }
}

fn streaming() -> Kernel {
    Kernel::all().into_iter().find(|kernel| kernel.name == STREAMING).expect("the kernel exists")
}

/// Times program and streaming kernel alone and with the hog.
fn turn(program: &HoggedProgram<'_>, trace: &Path, hog: &Hog) -> Result<HogTurn, Failure> {
    let (mut turn, mut kernel) = (HogTurn::default(), streaming());
    for (place, with_hog) in [false, true].into_iter().enumerate() {
        hog.runs.store(with_hog, Ordering::Relaxed);
        kernel.run();
        let mut seconds: Vec<f64> = (0..KERNEL_RUNS)
            .map(|_| {
                let started = host::thread_time();
                kernel.run();
                (host::thread_time() - started).max(1e-9)
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        turn.streaming[place] = seconds[KERNEL_RUNS / 2];
        turn.code[place] = program.run(trace)?;
    }
    hog.runs.store(false, Ordering::Relaxed);
    Ok(turn)
}

/// Returns two CPUs of different physical cores that this process may use.
fn two_cores() -> Result<[u32; 2], Failure> {
    let cpus = host_facts::usable_cpus();
    let first = cpus.first();
    let other = first.and_then(|first| cpus.iter().find(|cpu| (cpu.package, cpu.core) != (first.package, first.core)));
    match (first, other) {
        (Some(first), Some(other)) => Ok([first.cpu, other.cpu]),
        _ => Err(Failure::bad_input(
            "--program: expected two physical cores that mcpsim may use, one for the program and one for a thread that \
             streams through memory; found one",
        )),
    }
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::bad_input(format!("--program: {what}: {error}"))
}

fn summary(parts: &MemoryParts) -> String {
    let line =
        |(call, (part, share)): (&String, &(f64, f64))| format!("  {call:<24} {part:>8.3} {:>7.1}%\n", share * 100.0);
    let [least, most] = parts.range;
    format!(
        "Memory bounds {:.3} of the time of the code ({least:.3} to {most:.3} in {TURNS} turns). Streaming on another \
         core\nslows a streaming kernel by a factor of {:.2}.\n  {:<24} {:>8} {:>8}\n{}",
        parts.all,
        parts.slowdown,
        "code before",
        "part",
        "of time",
        parts.calls.iter().map(line).collect::<String>()
    )
}

/// Returns the content of the written file.
fn text(program: &HoggedProgram<'_>, parts: &MemoryParts) -> String {
    let [least, most] = parts.range;
    let about = format!(
        "# Part of the time of code that memory bounds, by the call that follows the code. Measured by mcpsim measure\n\
         # --program {} on {}, {}: part of all code {least:.3} to {most:.3} in {TURNS} turns,\n\
         # streaming slowed by a factor of {:.2}.\n",
        program.name(),
        host::processor(),
        host::today(),
        parts.slowdown
    );
    let code = Path::new(&program.words[0]);
    let run = RunRequest { arguments: program.words[1..].to_vec(), ..RunRequest::new(code) };
    let table = run.read().ok().and_then(|sources| sources.resolve(&[]).ok());
    let table = table.as_ref().filter(|_| is_program(code)).and_then(|run| match &run.application {
        Application::Real(file) => {
            toml::to_string(&toml::Table::from_iter([("program".to_owned(), file.config())])).ok()
        }
        _ => None,
    });
    let table = table.map_or(String::new(), |table| table + "\n");
    format!("{about}{table}[run]\nmemory_bound = \"{}\"\n", parts.setting())
}
