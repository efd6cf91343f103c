//! `mcpsim measure --pairs`: measures matrices of the message times between all pairs of ranks, under MPI or on a
//! simulated machine.

mod args;
mod journal;
#[cfg(feature = "mpi")]
mod real;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::{Processes, Progress, RunError};
use crate::matrices::{Parameters, Statistic, write_matrices, write_text};
use crate::measure::pairs::{MeasuredPairs, PairPlan, simulate_length};
use crate::platform::{Placement, Platform};
use crate::units::SimSpan;

pub(crate) use args::{PairArgs, TogetherArgs};
use journal::Journal;

use super::super::cluster::platform;
use super::super::exit::{Exit, Failure};
use super::super::interrupt;
use super::super::matrix_files::{directory_of, matrices, put, with_end};
use super::super::output;
use super::MeasureArgs;
use crate::run::{agree, write_whole};

/// Relative difference between the medians of a pair of ranks measured concurrently with other pairs and alone, above
/// which a note is printed.
const DISTURBED: f64 = 0.1;

/// Measures the message times of all pairs of ranks. The first host process writes the matrix files.
pub(super) fn measure(args: &MeasureArgs, processes: &Processes) -> Result<(), Failure> {
    let prefix = Path::new(&args.output);
    let given = if args.output == "-" {
        Err(Failure::bad_input("--pairs: expected -o PREFIX, the common beginning of the names of the files to write"))
    } else {
        Ok(())
    };
    agree(processes, given)?;
    match &args.pairs.simulate {
        Some(_) if processes.count() > 1 => agree(
            processes,
            Err(Failure::bad_input("--simulate works in one process: start it without an MPI launcher")),
        ),
        Some(path) => simulated(args, path, prefix),
        #[cfg(feature = "mpi")]
        None => real::measure(args, prefix, processes),
        #[cfg(not(feature = "mpi"))]
        None => Err(Failure::bad_input(super::alone())),
    }
}

/// Measures the message times of all pairs of ranks on a simulated machine, with one rank per core in block order.
fn simulated(args: &MeasureArgs, path: &Path, prefix: &Path) -> Result<(), Failure> {
    let platform: Platform = platform(path, args.nct)?;
    let cores = u32::try_from(platform.shape.total_cores()).unwrap_or(u32::MAX);
    let ranks = args.pairs.ranks.unwrap_or(cores);
    let parameters = args.pairs.parameters(ranks)?;
    let refused = |what: String| Failure::bad_input(format!("--pairs: {what}"));
    let sites =
        Placement::Block.sites(platform.shape, ranks, false).map_err(|error| refused(error.of_a_rank_a_core()))?;
    let nodes = args.pairs.parallel.then(|| sites.iter().map(|site| site.node).collect());
    let jitter = (args.pairs.jitter > 0.0).then_some((args.pairs.jitter, args.pairs.seed));
    let plan = PairPlan { parameters, nodes, jitter };
    let hosts: Vec<String> = sites.iter().map(|site| format!("node{}", site.node)).collect();
    let about = format!("{:?} on {} {}", plan, platform.name, platform.shape);
    let progress = Arc::new(Progress::default());
    let by_signal = Arc::clone(&progress);
    // Before the journal exists: from then on an interrupt names it.
    let _listening = interrupt::listen(true, move || by_signal.cancel())?;
    let mut work = PairWork::start(args, prefix, &plan.parameters, &hosts, &about)?;
    for matrix in work.journal.done()..parameters.count() {
        match simulate_length(&platform, sites.clone(), &plan, parameters.length(matrix), &progress) {
            Err(RunError::Interrupted { .. }) => return Err(work.interrupted()),
            measured => work.add(measured?)?,
        }
    }
    work.end()
}

/// State of the first host process, which stores results, prints progress and writes files.
struct PairWork<'a> {
    args: &'a MeasureArgs,
    prefix: &'a Path,
    parameters: Parameters,
    hosts: Vec<String>,
    journal: Journal,
    line: Line,
    /// Greatest relative difference between a concurrent and a separate measurement of a pair of ranks; `None` without
    /// concurrent measurements.
    disturbed: Option<f64>,
}

impl<'a> PairWork<'a> {
    fn start(
        args: &'a MeasureArgs,
        prefix: &'a Path,
        parameters: &Parameters,
        hosts: &[String],
        about: &str,
    ) -> Result<PairWork<'a>, Failure> {
        if parameters.test.has_noise() && parameters.noise_ranks == 0 && !args.quiet {
            let what = "note: --noise-ranks is 0, so no other rank sends during this test, and its times contain no \
                        noise";
            let _ = writeln!(std::io::stderr(), "{what}");
        }
        let partial = with_end(prefix, ".partial");
        directory_of(&partial)?;
        let journal = Journal::open(&partial, about, parameters.elements())?;
        if journal.done() > 0 && !args.quiet {
            let (done, all) = (journal.done(), parameters.count());
            let _ = writeln!(
                std::io::stderr(),
                "note: {done} of {all} message lengths were measured before; the \
                                                 measurement continues with the others"
            );
        }
        if journal.dropped() > 0 {
            let path = partial.display();
            let records = match journal.dropped() {
                1 => "1 record is damaged or incomplete, and its message length is measured again".to_owned(),
                dropped => format!(
                    "{dropped} records are damaged or follow a damaged record, and their message \
                                    lengths are measured again"
                ),
            };
            let _ = writeln!(std::io::stderr(), "note: {path}: {records}");
        }
        let line = Line::new(!args.quiet, journal.done(), parameters.count());
        Ok(PairWork { args, prefix, parameters: *parameters, hosts: hosts.to_vec(), journal, line, disturbed: None })
    }

    /// Stores the measured times of all pairs of ranks for one message length.
    fn add(&mut self, measured: MeasuredPairs) -> Result<(), Failure> {
        self.journal.add(&measured.matrices)?;
        if let Some(check) = measured.check {
            self.disturbed = Some(self.disturbed.unwrap_or(0.0).max(check.greatest));
        }
        self.line.tell(&self.parameters, self.journal.done(), 0.0);
        Ok(())
    }

    /// Creates the failure of a measurement that the user interrupts.
    fn interrupted(mut self) -> Failure {
        self.line.end();
        let (done, all) = (self.journal.done(), self.parameters.count());
        let partial = with_end(self.prefix, ".partial");
        let text = format!(
            "interrupted after {done} of {all} message lengths, whose results are in {}: repeat the same command to \
             continue",
            partial.display()
        );
        Failure { exit: Exit::Interrupted, text }
    }

    /// Writes the matrix files, and deletes the journal file.
    fn end(mut self) -> Result<(), Failure> {
        self.line.end();
        let mut text = String::new();
        for (index, statistic) in Statistic::ALL.into_iter().enumerate() {
            let path = with_end(self.prefix, &format!("_{}.nc", statistic.name()));
            let journal = &mut self.journal;
            put([&path], |[output]| {
                write_matrices(output, &self.parameters, statistic, |matrix| journal.read(matrix, index))
            })?;
            text.push_str(&format!("{}\n", path.display()));
            if self.args.pairs.text {
                // Only one time matrix at once is in memory.
                let mut all = matrices(&path)?;
                let path = with_end(self.prefix, &format!("_{}.txt", statistic.name()));
                put([&path], |[mut output]| write_text(&mut output, &mut all, &self.hosts))?;
                text.push_str(&format!("{}\n", path.display()));
            }
        }
        let path = with_end(self.prefix, "_hosts.txt");
        let hosts: String = self.hosts.iter().map(|host| format!("{host}\n")).collect();
        write_whole(&path, hosts).map_err(|error| output::cannot_write(&path.display().to_string(), &error))?;
        text.push_str(&format!("{}\n", path.display()));
        self.journal.remove();
        if self.args.pairs.parallel {
            text.push_str(&match self.disturbed {
                // A huge difference is caused by other work on the host during one of the two measurements.
                Some(disturbed) if disturbed > 10.0 => {
                    format!(
                        "messages of pairs measured at the same time took up to {:.0} times as long as alone\n",
                        disturbed + 1.0
                    )
                }
                Some(disturbed) => format!(
                    "times of pairs measured at the same time differ from times alone by at most {:.1}%\n",
                    disturbed * 100.0
                ),
                None => "no pairs were measured at the same time: all ranks take part in this test, or there is \
                         only one node\n"
                    .to_owned(),
            });
        }
        if self.disturbed.is_some_and(|disturbed| disturbed > DISTURBED) {
            let _ = writeln!(
                std::io::stderr(),
                "note: pairs measured at the same time slowed each other, or other load slowed them: measure \
                 without --parallel"
            );
        }
        if self.args.quiet { Ok(()) } else { output::print(&text) }
    }
}

/// Progress line of the measurement of all pairs on the terminal.
struct Line {
    shown: bool,
    started: Instant,
    last: Option<Instant>,
    first: usize,
    all: usize,
}

impl Line {
    fn new(wanted: bool, first: usize, all: usize) -> Line {
        let shown = wanted && std::io::stderr().is_terminal();
        Line { shown, started: Instant::now(), last: None, first, all }
    }

    /// Prints the progress of the measurement: the number of finished message lengths, and the finished fraction of the
    /// next message length.
    fn tell(&mut self, parameters: &Parameters, done: usize, part: f64) {
        if !self.shown || self.last.is_some_and(|last| last.elapsed() < Duration::from_millis(200)) {
            return;
        }
        self.last = Some(Instant::now());
        let here = (done - self.first) as f64 + part;
        let left = match here > 0.0 {
            true => {
                let seconds = self.started.elapsed().as_secs_f64() * ((self.all - self.first) as f64 / here - 1.0);
                SimSpan::from_seconds(seconds).map_or(String::new(), |span| format!(", {span:.0} left"))
            }
            false => String::new(),
        };
        let _ = write!(
            std::io::stderr(),
            "\r{:3.0}%: {done} of {} message lengths, now {} B{left}\x1b[K",
            (done as f64 + part) / self.all as f64 * 100.0,
            self.all,
            parameters.length(done.min(self.all - 1))
        );
    }

    fn end(&mut self) {
        if self.last.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
