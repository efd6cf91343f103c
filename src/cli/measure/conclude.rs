//! Evaluation of the measured samples: fits the costs of each network level, writes the platform file and figures, and
//! prints a summary. Unusable measurements are rejected.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::Document;
use crate::measure::{
    self, CampaignPlan, Corrections, HostPlace, LevelPlan, LinkFit, MeasuredMachine, Samples, doubts, judged,
};
use crate::platform::Platform;
use crate::report::{Figure, measured_figures, measured_summary};

use super::super::exit::{Exit, Failure};
use super::super::output::{self, OutputTarget};
use super::super::report::draw;
use super::{MeasureArgs, WrittenContention};

/// Maximum number of iterations that refine the message costs under load.
const ROUNDS: usize = 4;

/// Creates the failure of an unusable measurement. `what` is the result that is not written without `--force`. `advice`
/// is appended to the advice of all measurements on how to repeat the measurement.
pub(super) fn unusable(what: &str, advice: &str, doubts: &[String]) -> Failure {
    let mut text = format!("this measurement is unusable, so {what} is written (--force writes results all the same):");
    doubts.iter().for_each(|doubt| text.push_str(&format!("\n  {doubt}")));
    text.push_str(&format!(
        "\nrepeat the measurement when the machine is less busy, or at a higher priority (chrt -f 20, nice -n -20){advice}"
    ));
    Failure { exit: Exit::OverLimit, text }
}

/// Fits the message costs of each network level, and returns the costs with the times of the tests on the resulting
/// platform. With the contention model `fair` the costs are fitted once. With other contention models the fit is
/// repeated until simulated concurrent transfers take as long as measured, and the fit with the smallest total error is
/// returned.
pub(super) fn fitted(
    mut measured: MeasuredMachine,
    plan: &CampaignPlan,
    places: &[HostPlace],
    contention: WrittenContention,
) -> Result<(MeasuredMachine, Samples), Failure> {
    let mut corrections = Corrections::default();
    let mut best: Option<(f64, Vec<LinkFit>, Samples)> = None;
    let rounds = if contention == WrittenContention::Fair { 0 } else { ROUNDS };
    for _ in 0..=rounds {
        let of = |level: &LevelPlan| {
            let fit = LinkFit::of(&measured.samples, level.level, &corrections)?;
            let fit =
                if contention == WrittenContention::Fair { fit.fair(&measured.samples) } else { return Some(fit) };
            Some(if level.shares_cpu(places) { fit.on_shared_core() } else { fit })
        };
        measured.links = plan.levels.iter().filter_map(of).collect();
        let platform = platform(&measured)?;
        let Some(sites) = measure::sites(places, platform.shape) else { break };
        let again = measure::simulate(&platform, sites, plan)?;
        corrections = corrections.refined(&measured.samples, &again);
        let distance = measured.samples.distance(&again);
        if best.as_ref().is_none_or(|(least, ..)| distance < *least) {
            best = Some((distance, measured.links.clone(), again));
        }
    }
    let Some((_, links, again)) = best else { return Ok((measured, Samples::default())) };
    measured.links = links;
    Ok((measured, again))
}

/// Returns the platform as mcpsim reads it from the text of the platform file.
fn platform(measured: &MeasuredMachine) -> Result<Platform, Failure> {
    let text = measured.text();
    Document::parse("the measured platform", &text)
        .and_then(|document| Platform::load(document, &[]))
        .map_err(|error| Failure { exit: Exit::Bug, text: format!("{error}\n{text}") })
}

/// Destinations of the measurement's results.
pub(super) struct Targets {
    output: OutputTarget,
    samples: Option<OutputTarget>,
}

impl Targets {
    pub fn new(args: &MeasureArgs) -> Result<Targets, Failure> {
        let output = OutputTarget::new("--output", &args.output)?;
        let samples = args.samples.as_ref().map(|name| OutputTarget::new("--samples", name)).transpose()?;
        if samples.as_ref() == Some(&output) {
            return Err(Failure::bad_input(
                "--output and --samples name the same file: give another file for one of \
                                           them",
            ));
        }
        if let Some(directory) = &args.figures {
            draw(&[], directory, &[])?;
        }
        Ok(Targets { output, samples })
    }
}

/// Writes the results of the measurement and prints a summary.
pub(super) fn conclude(
    args: &MeasureArgs,
    targets: &Targets,
    measured: &MeasuredMachine,
    again: &Samples,
) -> Result<(), Failure> {
    let mut text = measured.text();
    if let Some(samples) = &targets.samples {
        samples.put(&measured.samples.csv())?;
    }
    let judgement = judged(&measured.samples, again);
    let mut doubts = doubts(&measured.samples, &measured.links);
    doubts.extend(judgement.doubts);
    if !doubts.is_empty() && !args.force {
        return Err(unusable(
            "no platform",
            ", or for a longer time (--time); --samples FILE.csv writes the samples",
            &doubts,
        ));
    }
    // The platform file contains the notes of the measurement, too, for later readers of the file.
    for note in doubts.iter().chain(&judgement.warnings) {
        let _ = writeln!(std::io::stderr(), "note: {note}");
        text.push_str(&format!("\n# NOTE: {note}."));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    targets.output.put(&text)?;
    let shows = !args.quiet && targets.output != OutputTarget::Stdout && targets.samples != Some(OutputTarget::Stdout);
    if let Some(directory) = &args.figures {
        let figures: Vec<Figure> = measured_figures(&measured.name, &measured.samples);
        let drawn = draw(&figures, Path::new(directory), &args.format)?;
        if shows {
            output::print(&drawn)?;
        }
    }
    if !shows {
        return Ok(());
    }
    output::print(&measured_summary(measured, again))
}

/// Progress line of the measurement on the terminal.
pub(super) struct ReportLine {
    shown: bool,
    last: Option<Instant>,
}

impl ReportLine {
    pub fn new(wanted: bool) -> ReportLine {
        ReportLine { shown: wanted && std::io::stderr().is_terminal(), last: None }
    }

    pub fn tell(&mut self, what: &str, part: f64) {
        if self.shown && self.last.is_none_or(|last| last.elapsed() > Duration::from_millis(200)) {
            self.last = Some(Instant::now());
            let _ = write!(std::io::stderr(), "\r{:3.0}% {what}\x1b[K", part * 100.0);
        }
    }

    pub fn end(&mut self) {
        if self.last.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_only_the_ways_of_its_measurement() {
        let failure = unusable("nothing", "", &["the host was busy".to_owned()]);
        assert_eq!(failure.exit, Exit::OverLimit);
        assert_eq!(
            failure.text,
            "this measurement is unusable, so nothing is written (--force writes results all the same):\n  the host was busy\n\
             repeat the measurement when the machine is less busy, or at a higher priority (chrt -f 20, nice -n -20)"
        );
    }
}
