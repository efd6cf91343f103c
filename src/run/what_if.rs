//! Exact answers to what-if questions: simulations of the modified machines.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::engine::Processes;
use crate::platform::Level;
use crate::profile::{Change, WhatIf};
use crate::units::{SimSpan, SimTime};

use super::conduct::{Conduct, Prediction, silent};
use super::error::PredictError;
use super::request::Details;
use super::resolved::Resolved;
use super::values::Model;

impl Resolved {
    /// Predicts the run as [`Resolved::run_in`] does, and again on the machine of each what-if question. The Outcome then
    /// contains the predicted times of these machines. Several simulations run at the same time, each with one worker.
    /// The run must have a single host process.
    ///
    /// # Errors
    /// The errors are those of [`Resolved::run`], and textbook models, which have no such machines.
    pub fn what_if_in(&self, conduct: Conduct<'_>) -> Result<Option<Prediction>, PredictError> {
        if let Model::Textbook(_) = self.settings.model {
            return Err(PredictError::input("--what-if exact: expected --model mcpsim or two-level".to_owned()));
        }
        let Some(mut first) = self.first_in(conduct, "--what-if exact")? else { return Ok(None) };
        let mut again = first.again.clone();
        again.settings.details = Details::default();
        (again.settings.workers, again.settings.pairs) = (Some(1), false);
        let questions = &mut first.prediction.outcome.what_if;
        if again.platform.platform.places.has_hop_latency() {
            questions.push(WhatIf::new(Some(Level::InterNode), Change::HopLatencyHalved, SimSpan::ZERO));
        }
        let answers = answers(&again, questions, conduct)?;
        for (question, answer) in questions.iter_mut().zip(answers) {
            question.exact = Some(answer);
        }
        Ok(Some(first.prediction))
    }
}

/// Returns the predicted time of each modified machine.
fn answers(run: &Resolved, questions: &[WhatIf], conduct: Conduct<'_>) -> Result<Vec<SimTime>, PredictError> {
    let answer = |question: &WhatIf| {
        let mut other = run.clone();
        other.platform.platform = question.changed(&run.platform.platform);
        let (processes, console) = (Processes::one(), silent());
        let conduct = Conduct { progress: conduct.progress, processes: &processes, recorded: false, console: &console };
        let prediction = other.run_in(conduct)?;
        Ok(prediction.expect("the first process has the result").outcome.predicted)
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(questions.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(question) = questions.get(number) else { return found };
            found.push((number, answer(question)));
        }
    };
    let mut found: Vec<(usize, Result<SimTime, PredictError>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("simulations do not panic")).collect()
    });
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, answer)| answer).collect()
}
