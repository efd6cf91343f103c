//! Conversion of the arguments of a Python call to the request of a run.

use std::path::PathBuf;

use mcpsim::run::{
    Application, COMMAND_LINE, Details, Given, PredictError, RunRequest, SETTINGS, Setting, Shipped, jobs_text,
};
use pyo3::prelude::*;

/// Arguments that runs and sweeps have in common.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    /// Application file, name of a shipped application, or name of `text` in error messages.
    app: PathBuf,
    /// Text of an application in TOML.
    text: Option<String>,
    /// Jobs that run side by side, in place of an application.
    jobs: Vec<String>,
    /// Overrides of keys, each `KEY=VALUE`.
    set: Vec<String>,
    /// Settings by their keys, with values as on the command line.
    settings: Vec<(String, String)>,
    /// Names of the requested details.
    details: Vec<String>,
}

impl Asked {
    /// Returns the request of a run.
    ///
    /// # Errors
    /// A setting, a key or a detail is invalid.
    pub fn request(&self) -> Result<RunRequest, PredictError> {
        let mut given = Given::default();
        for (key, value) in &self.settings {
            let setting = Setting::of(key)
                .ok_or_else(|| PredictError::input(format!("expected a setting of a run; found \"{key}\"")))?;
            // The text is that of the command line.
            setting.set(&mut given, value).map_err(|what| {
                let (option, form) = (setting.option(), setting.value);
                PredictError::input(format!("invalid value '{value}' for '--{option} <{form}>': {what}"))
            })?;
        }
        let mut details = Details::default();
        for name in &self.details {
            *detail(&mut details, name)
                .ok_or_else(|| PredictError::input(format!("expected a detail of a run; found \"{name}\"")))? = true;
        }
        let request = match &self.text {
            _ if !self.jobs.is_empty() => RunRequest::of_text(COMMAND_LINE, &jobs_text(&self.jobs)?)?,
            Some(text) => RunRequest::of_text(&self.app.display().to_string(), text)?,
            None => RunRequest::new(&self.app),
        };
        let request = RunRequest { details, ..request.with(given) };
        self.set.iter().try_fold(request, |request, text| request.set(text))
    }
}

/// Returns true if the application has a real program, which must not run in the process of the interpreter.
pub fn has_program(application: &Application) -> bool {
    match application {
        Application::Real(_) => true,
        Application::Jobs(jobs) => jobs.has_program(),
        Application::Described(_) | Application::Trace(_) => false,
    }
}

fn detail<'d>(details: &'d mut Details, name: &str) -> Option<&'d mut bool> {
    Some(match name {
        "per_rank" => &mut details.per_rank,
        "functions" => &mut details.functions,
        "sites" => &mut details.sites,
        "critical_path" => &mut details.critical_path,
        "latency_tolerance" => &mut details.latency_tolerance,
        "timeline" => &mut details.timeline,
        "load_over_time" => &mut details.load_over_time,
        "host_profile" => &mut details.host_profile,
        _ => return None,
    })
}

/// Returns the settings of a run: key, option, form of the value, and effect. A switch has no form.
#[pyfunction]
pub fn settings() -> Vec<(&'static str, String, &'static str, &'static str)> {
    SETTINGS.iter().map(|setting| (setting.key, setting.option(), setting.value, setting.help)).collect()
}

/// Returns the shipped files: kind, name, and a description of each.
#[pyfunction]
pub fn list() -> Vec<(&'static str, &'static str, String)> {
    let kinds = [("application", Shipped::Application), ("platform", Shipped::Platform), ("study", Shipped::Study)];
    let of = |(kind, shipped): (&'static str, Shipped)| {
        shipped.all().into_iter().map(move |(name, about)| (kind, name, about))
    };
    kinds.into_iter().flat_map(of).collect()
}
