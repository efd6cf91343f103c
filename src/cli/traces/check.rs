//! `mcpsim trace check`: comparison of a replayed trace with the measured times of the recorded run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use clap::Args;

use crate::cli::args::parse;
use crate::cli::commands::Parsed;
use crate::cli::exit::Failure;
use crate::cli::output::{cannot_write, print};
use crate::engine::Outcome;
use crate::report::{TimedCall, perfetto_beside, predicted_calls, wrapped};
use crate::run::{TraceFile, write_whole};
use crate::trace::logs::{CallSpan, Logs};
use crate::units::signed;

#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct CheckArgs {
    /// Options of mcpsim run, such as --platform FILE, and the trace of a real run
    #[arg(value_name = "OPTIONS FILE.trace", required = true, allow_hyphen_values = true, trailing_var_arg = true)]
    line: Vec<OsString>,
}

/// Replays the trace of a real run, and prints a comparison of the times.
pub(in crate::cli) fn check(args: &CheckArgs) -> Result<(), Failure> {
    // The replay prints only the comparison, and writes no results.
    let words = ["mcpsim", "--quiet", "--functions"].into_iter().map(OsString::from);
    let parsed = parse(words.chain(args.line.iter().cloned()).collect())?;
    let run = match parsed {
        Parsed::Run(run) => run,
        _ => {
            return Err(Failure::bad_input(
                "mcpsim trace check: expected options of mcpsim run and the trace of a \
                                            real run",
            ));
        }
    };
    let file = TraceFile { path: run.app.clone() };
    let Some(logs) = file.read_logs()? else {
        return Err(Failure::bad_input(format!(
            "{}: expected a run recorded under a real MPI; this trace has no measured times to compare with",
            run.app.display()
        )));
    };
    if let Some(fault) = logs.fault() {
        let name = run.app.display();
        return Err(Failure::bad_input(format!("{name}: {fault}; expected the trace of a complete run")));
    }
    let outcome = &run.request()?.resolve()?.run()?;
    if let Some(name) = &run.timeline {
        let (measured, predicted) = (measured_calls(&logs), predicted_calls(outcome));
        let runs = [("measured", &measured[..]), ("predicted", &predicted[..])];
        let path = Path::new(name);
        write_whole(path, perfetto_beside(&runs)).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    }
    print(&compared(&logs, outcome))
}

/// Returns the measured MPI calls of each rank.
pub(super) fn measured_calls(logs: &Logs) -> Vec<Vec<TimedCall>> {
    let ps = |ns: u64| ns.saturating_mul(1000);
    let call =
        |span: CallSpan| TimedCall { start: ps(span.start), length: ps(span.length), name: span.name.to_owned() };
    logs.spans().into_iter().map(|spans| spans.into_iter().map(call).collect()).collect()
}

/// Fraction of a rank's time that the rank may wait for a core before a note is printed.
const SHARE_TOLD: f64 = 0.01;

fn percent(replayed: f64, measured: f64) -> String {
    if measured > 0.0 { format!("{}%", signed(100.0 * (replayed / measured - 1.0), 1)) } else { "–".to_owned() }
}

/// Compares measured and replayed times: the total time, and the times by MPI function and by rank.
fn compared(logs: &Logs, outcome: &Outcome) -> String {
    let ranks = 0..logs.ranks();
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let mut out = String::new();
    let mut line = |name: &str, measured: f64, replayed: f64| {
        let off = percent(replayed, measured);
        let _ = writeln!(out, "{name:<28} {measured:>14.6} {replayed:>14.6} {off:>10}");
    };
    // A replay does not make some calls, such as MPI_Finalize, so such calls take no time in the replay.
    let mut left_out = String::new();
    let longest = ranks.clone().map(|rank| logs.measured(rank)).max().unwrap_or(0);
    line("total, s", seconds(longest), outcome.predicted_s);
    let code: u64 = ranks.clone().map(|rank| logs.code(rank).saturating_add(logs.slept(rank))).sum();
    let computed = outcome.mean_parts.compute.as_seconds() * f64::from(outcome.ranks);
    line("code of all ranks, s", seconds(code), computed);
    let mut functions: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
    for rank in ranks.clone() {
        for (name, of) in logs.functions(rank) {
            functions.entry(name).or_default().0 += seconds(of.total);
        }
    }
    for one in outcome.functions.iter().flatten() {
        *functions.entry(&one.function).or_default().1.get_or_insert(0.0) += one.total.time.as_seconds();
    }
    let mut sorted: Vec<_> =
        functions.into_iter().filter(|(_, (measured, replayed))| measured + replayed.unwrap_or(0.0) > 0.0).collect();
    sorted.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then(a.0.cmp(b.0)));
    for (name, (measured, replayed)) in sorted {
        match replayed {
            Some(replayed) => line(name, measured, replayed),
            None => _ = writeln!(left_out, "{name:<28} {measured:>14.6} {:>14}", "not replayed"),
        }
    }
    for rank in outcome.per_rank.iter().take(64) {
        line(&format!("rank {}", rank.rank), seconds(logs.measured(rank.rank)), rank.clock.as_seconds());
    }
    out.push_str(&left_out);
    if let Some((host, shared, cores)) = logs.crowded() {
        let note = format!(
            "note: {shared} ranks shared the {cores} cores of {host} during recording. The measured times of calls \
             include waits for a core, but the replay has no such waits. For a comparison, record the run with one \
             core per rank"
        );
        out.push_str(&wrapped(&note, 6));
    }
    if let Some((rank, waited, part)) = logs.waited().filter(|&(_, _, part)| part >= SHARE_TOLD) {
        let (waited, share) = (seconds(waited), 100.0 * part);
        let note = format!(
            "note: during recording, rank {rank} waited {waited:.3} s for a core, {share:.1} % of its time. The \
             measured times include this wait, but the replay does not"
        );
        out.push_str(&wrapped(&note, 6));
    }
    format!("{:<28} {:>14} {:>14} {:>10}\n{out}", "", "measured", "replayed", "off")
}
