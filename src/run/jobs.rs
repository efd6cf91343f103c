//! Several jobs on one machine: the jobs file, and the jobs that it describes.
//!
//! ```text
//! jobs file or --job ─(read)─▶ JobSet ─(allocate nodes, place ranks)─▶ cores of each job
//!                                     ─(record real programs alone)──▶ programs of each job
//!                                     ─(simulate all, alone, without each)─▶ Outcome with the results of the jobs
//! ```

mod allocation;
mod command_line;
mod delays;
mod numbers;
mod placing;
mod scenario;
mod simulate;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use crate::config::{ConfigError, Document, Override, schema_part};
use crate::units::SimSpan;

use super::application::Application;
use super::error::PredictError;
use super::request::{RunRequest, set_arguments};
use super::values::PlacementChoice;

use allocation::AllocationRule;
pub use command_line::{COMMAND_LINE, jobs_text};
use numbers::{HostList, absolute_list, hosts_of, list_of};
pub(super) use simulate::simulate;

/// Greatest number of jobs for which the run without each job is simulated by default.
const MOST_COMPARED: usize = 16;

/// Jobs that run side by side on one machine.
#[derive(Clone, Debug)]
pub struct JobSet {
    /// The jobs in the order of their ranks.
    pub jobs: Vec<JobSpec>,
    /// Nodes that jobs may use; by default all nodes.
    pub(super) free: Option<Vec<u32>>,
    /// Runs with which the jobs are compared.
    pub(super) compared: JobComparison,
    table: Table,
}

/// One of several jobs: its application, its nodes and its start.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// Name of the job.
    pub name: String,
    /// Application that the job runs.
    pub application: Application,
    /// Application file as the user typed its name.
    pub(super) typed: String,
    /// Number of ranks of the job; by default one per core of its nodes.
    pub(super) ranks: Option<u32>,
    /// Number of nodes of the job; by default as many as the ranks need.
    pub(super) nodes: Option<u32>,
    /// Nodes of the job, in the order of ranks.
    pub(super) hosts: Option<HostList>,
    /// Cores of each node that the job may use, as numbers within the node; by default all cores.
    pub(super) cores: Option<Vec<u32>>,
    /// Rule that selects the nodes, unless the nodes are stated.
    pub(super) rule: AllocationRule,
    /// Greatest number of ranks on a node.
    pub(super) ranks_per_node: Option<u32>,
    /// Mapping of ranks to the cores of the nodes.
    pub(super) placement: Option<PlacementChoice>,
    /// Unit of the machine over which consecutive ranks are distributed.
    pub(super) map_by: Option<String>,
    /// Virtual time at which the job starts.
    pub(super) start: SimSpan,
    /// Seed of the random numbers of a described application.
    pub(super) seed: Option<u64>,
}

/// Runs with which the jobs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JobComparison {
    /// No other run.
    None,
    /// A run of each job alone.
    Alone,
    /// A run of each job alone, and a run without each job.
    #[default]
    Each,
}

/// Table of a job in the jobs file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobFile {
    app: Value,
    /// Name of the application's file as the user typed it, if `app` is the application itself.
    typed: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
    ranks: Option<u32>,
    nodes: Option<u32>,
    hosts: Option<Value>,
    cores: Option<Value>,
    allocation: Option<String>,
    ranks_per_node: Option<u32>,
    placement: Option<PathBuf>,
    map_by: Option<String>,
    start: Option<SimSpan>,
    seed: Option<u64>,
    #[serde(default)]
    set: Table,
}

/// Keys of the jobs file beside the table `jobs`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct JobsFile {
    name: Option<String>,
    allocation: Option<String>,
    free_nodes: Option<Value>,
    compare: JobComparison,
    jobs: Table,
}

impl JobSet {
    /// Returns the schema of each key of a file of jobs.
    pub(super) fn schema() -> serde_json::Value {
        let mut schema = schema_part::<JobsFile>();
        let job = schema_part::<JobFile>();
        schema["properties"]["jobs"] = serde_json::json!({ "type": "object", "additionalProperties": job });
        schema["properties"].take()
    }

    /// Returns true if `document` describes several jobs.
    pub(super) fn is_in(document: &Document) -> bool {
        document.table().contains_key("jobs")
    }

    /// Reads the jobs in `document`, a file of the directory `directory`. Overrides whose key starts with `app` replace
    /// values of the file.
    ///
    /// # Errors
    /// A value of the file is invalid, or the application of a job cannot be read.
    pub(super) fn load(
        mut document: Document,
        directory: &Path,
        overrides: &[Override],
    ) -> Result<JobSet, PredictError> {
        // Jobs of the command line have no lines.
        if document.name() != COMMAND_LINE {
            document = document.with_error_lines();
        }
        for over in overrides {
            document.set(&over.key[1..], over)?;
        }
        let file: JobsFile = document.deserialize()?;
        if file.jobs.is_empty() {
            return Err(document.expected("jobs", "a table for each job, such as [jobs.halo]", "none").into());
        }
        let mut table = document.table().clone();
        let free = file.free_nodes.as_ref().map(|value| list_of(&document, "free_nodes", value, directory));
        if let Some(value) = table.get_mut("free_nodes") {
            absolute_list(value, directory);
        }
        let mut jobs = Vec::new();
        for (name, value) in &file.jobs {
            let path = format!("jobs.{name}");
            if let Some(wrong) = name.chars().find(|c| c.is_control() || *c == ':') {
                return Err(document.expected("jobs", "names of jobs without \":\"", format!("{wrong:?}")).into());
            }
            let job: JobFile = document.deserialize_value(&path, value.clone())?;
            let reader = JobReader { document: &document, path, directory };
            let (job, application_table) = reader.job(name, job, file.allocation.as_deref())?;
            let of_job = table.get_mut("jobs").and_then(|jobs| jobs.get_mut(name)).and_then(Value::as_table_mut);
            let of_job = of_job.expect("it was read");
            of_job.insert("app".to_owned(), application_table.into());
            if job.application.program().is_some() {
                of_job.insert("typed".to_owned(), job.typed.clone().into());
            }
            ["arguments", "set"].iter().for_each(|key| _ = of_job.remove(*key));
            for key in ["hosts", "cores", "placement"] {
                of_job.get_mut(key).into_iter().for_each(|value| absolute_list(value, directory));
            }
            jobs.push(job);
        }
        Ok(JobSet { jobs, free: free.transpose()?, compared: file.compare, table })
    }

    /// Returns the jobs as a merged TOML table, from which the same jobs can be read again.
    pub(super) fn table(&self) -> Table {
        self.table.clone()
    }

    /// Returns whether a job runs a real program.
    pub fn has_program(&self) -> bool {
        self.jobs.iter().any(|job| job.application.program().is_some())
    }

    /// Returns the number of ranks of the jobs together, as far as the input states it.
    pub(super) fn ranks(&self) -> Option<u32> {
        self.jobs.iter().try_fold(0, |sum: u32, job| {
            sum.checked_add(job.ranks.or_else(|| job.application.program().and_then(|program| program.all_ranks()))?)
        })
    }

    /// Returns the files of the jobs that are traces, with their roles.
    pub fn trace_files(&self) -> Vec<(String, PathBuf)> {
        let traces = self.jobs.iter().filter_map(|job| match &job.application {
            Application::Trace(file) => Some(file.files()),
            _ => None,
        });
        traces.flatten().collect()
    }
}

/// Reader of one job's table.
struct JobReader<'a> {
    document: &'a Document,
    path: String,
    directory: &'a Path,
}

impl JobReader<'_> {
    /// Returns the job, and the TOML table from which its application can be read again.
    fn job(&self, name: &str, file: JobFile, rule: Option<&str>) -> Result<(JobSpec, Table), PredictError> {
        let positive = |key: &str, value: Option<u32>| match value {
            Some(0) => Err(self.wrong(key, "a number from 1", "0")),
            value => Ok(value),
        };
        let (ranks, nodes) = (positive("ranks", file.ranks)?, positive("nodes", file.nodes)?);
        let ranks_per_node = positive("ranks_per_node", file.ranks_per_node)?;
        let list = |key: &str, value: &Option<Value>| {
            let path = format!("{}.{key}", self.path);
            value.as_ref().map(|value| list_of(self.document, &path, value, self.directory)).transpose()
        };
        let path = format!("{}.hosts", self.path);
        let hosts = file.hosts.as_ref();
        let hosts = hosts.map(|value| hosts_of(self.document, &path, value, self.directory)).transpose()?;
        let cores = list("cores", &file.cores)?;
        if let (Some(_), Some(text)) = (&hosts, &file.allocation) {
            return Err(self.wrong("allocation", "no rule, because hosts states the nodes", text).into());
        }
        if let (Some(hosts), Some(nodes)) = (&hosts, nodes) {
            let expected = format!("no number of nodes, because hosts states {} nodes", hosts.len());
            return Err(self.wrong("nodes", &expected, &nodes.to_string()).into());
        }
        let rule = match file.allocation.as_deref().or(rule) {
            None => AllocationRule::Contiguous,
            Some(text) => AllocationRule::parse(text).map_err(|what| match &file.allocation {
                Some(_) => self.wrong("allocation", &what, text),
                None => self.document.expected("allocation", what, text),
            })?,
        };
        let placement = file.placement.as_deref().map(|text| match PlacementChoice::is_word(text) {
            true => PlacementChoice::new(text, self.directory),
            false => PlacementChoice::File(self.directory.join(text)),
        });
        if let (Some(_), Some(name)) = (&placement, &file.map_by) {
            return Err(self.wrong("map_by", "either placement or map_by", name).into());
        }
        let (application, own_ranks, typed) = self.application(&file)?;
        let mut table = application.table();
        if let Application::Described(app) = &application {
            table.insert("name".to_owned(), app.name().into());
        }
        let job = JobSpec {
            name: name.to_owned(),
            application,
            typed,
            ranks: ranks.or(own_ranks),
            nodes,
            hosts,
            cores,
            rule,
            ranks_per_node,
            placement,
            map_by: file.map_by,
            start: file.start.unwrap_or(SimSpan::ZERO),
            seed: file.seed,
        };
        Ok((job, table))
    }

    /// Reads the application of the job. Returns also the number of ranks in its table `run`, and the name of its file.
    fn application(&self, file: &JobFile) -> Result<(Application, Option<u32>, String), PredictError> {
        let (mut document, directory, arguments) = match &file.app {
            Value::String(typed) => self.document_of(typed, &file.arguments)?,
            Value::Table(table) => {
                let text = toml::to_string(table)
                    .map_err(|error| PredictError::input(format!("{}.app: {error}", self.path)))?;
                let arguments = file.arguments.iter().map(Into::into).collect();
                (Document::parse(&format!("{}.app", self.path), &text)?, self.directory.to_owned(), arguments)
            }
            other => return Err(self.wrong("app", "the name of an application", &other.to_string()).into()),
        };
        let run = document.take("run");
        let ranks = run.as_ref().and_then(|run| run.get("ranks")).and_then(Value::as_integer);
        let ranks = ranks.and_then(|ranks| u32::try_from(ranks).ok()).filter(|ranks| *ranks > 0);
        if JobSet::is_in(&document) {
            return Err(self.wrong("app", "one application", "a file of jobs").into());
        }
        let is_program = crate::cc::ProgramFile::is_in(&document);
        if let (Some(first), false) = (file.arguments.first(), is_program) {
            return Err(self.wrong("arguments", "arguments only for a real program", first).into());
        }
        if !arguments.is_empty() {
            set_arguments(&mut document, &arguments)?;
        }
        let over = |(key, value): (&String, &Value)| Override {
            key: std::iter::once("app").chain(key.split('.')).map(str::to_owned).collect(),
            value: value.clone(),
            text: format!("app.{}.set.{key}={value}", self.path),
        };
        let overrides: Vec<Override> = file.set.iter().map(over).collect();
        let typed = file.app.as_str().or(file.typed.as_deref()).unwrap_or(document.name()).to_owned();
        let application = Application::load(document, &directory, &overrides)?;
        if let Application::Described(app) = &application
            && app.has_fragments()
        {
            return Err(self.wrong("app", "an application without fragments of tasks", app.name()).into());
        }
        Ok((application, ranks, typed))
    }

    /// Reads the file of an application. Returns also the directory of the file, and the arguments of a real program.
    fn document_of(
        &self,
        typed: &str,
        arguments: &[String],
    ) -> Result<(Document, PathBuf, Vec<OsString>), PredictError> {
        let beside = self.directory.join(typed);
        let app = if beside.exists() { beside } else { PathBuf::from(typed) };
        let arguments = arguments.iter().map(Into::into).collect();
        let (request, document) = RunRequest { arguments, ..RunRequest::new(app) }.read()?.into_parts();
        Ok((document, request.app.parent().unwrap_or(Path::new("")).to_owned(), request.arguments))
    }

    fn wrong(&self, key: &str, expected: &str, found: &str) -> ConfigError {
        self.document.expected(&format!("{}.{key}", self.path), expected, format!("\"{found}\""))
    }
}
