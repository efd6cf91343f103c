//! Destinations of results: stdout, and files that are written atomically.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::engine::Outcome;
use crate::report;
use crate::run::{PredictError, check_no_input, directory_of, write_whole};

use super::exit::{Exit, Failure};
use super::otf2::Otf2Writer;

/// Results of a run that the user requests, with the destinations of the results.
#[derive(Debug)]
pub(super) struct Outputs {
    json: Option<OutputTarget>,
    profile: Option<OutputTarget>,
    timeline: Option<(PathBuf, TimelineFormat)>,
    otf2: Option<Otf2Writer>,
    trace: Option<PathBuf>,
    histogram: Option<OutputTarget>,
    task_logs: Option<PathBuf>,
    summary: bool,
    tables: report::ReportTables,
    quiet: bool,
}

/// Format of a timeline, which the extension of its file selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimelineFormat {
    Perfetto,
    Paje,
    Otf2,
}

/// Destination of one result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutputTarget {
    Stdout,
    File(PathBuf),
}

impl Outputs {
    /// Checks before a long run that the results can be written. The file name `-` selects stdout; then no summary is
    /// printed.
    pub fn new(json: Option<&OsStr>, profile: Option<&OsStr>, quiet: bool) -> Result<Self, Failure> {
        let json = json.map(|name| OutputTarget::new("--json", name)).transpose()?;
        let profile = profile.map(|name| OutputTarget::new("--profile", name)).transpose()?;
        if json.is_some() && json == profile {
            let place = match &json {
                Some(OutputTarget::File(path)) => path.display().to_string(),
                _ => "stdout".to_owned(),
            };
            return Err(Failure::bad_input(format!(
                "--json and --profile both write to {place}: give another file \
                                                   for one of them"
            )));
        }
        let (summary, task_logs) = (!quiet, None);
        let outputs = Outputs {
            json,
            profile,
            timeline: None,
            otf2: None,
            trace: None,
            histogram: None,
            task_logs,
            summary,
            tables: report::ReportTables::default(),
            quiet,
        };
        Ok(Outputs { summary: !quiet && !outputs.take_stdout(), ..outputs })
    }

    /// Adds a timeline of the run in the format that the extension of the timeline's file selects.
    pub fn with_timeline(self, name: Option<&OsStr>) -> Result<Self, Failure> {
        let Some(name) = name else { return Ok(self) };
        let format = match Path::new(name).extension().and_then(OsStr::to_str) {
            Some("json") => TimelineFormat::Perfetto,
            Some("paje") => TimelineFormat::Paje,
            Some("otf2") => TimelineFormat::Otf2,
            _ => {
                let name = Path::new(name).display();
                return Err(Failure::bad_input(format!(
                    "--timeline {name}: expected a file ending in .json (Perfetto, Chrome), .paje or .otf2"
                )));
            }
        };
        OutputTarget::new("--timeline", name)?;
        let otf2 = (format == TimelineFormat::Otf2).then(|| Otf2Writer::new(Path::new(name))).transpose()?;
        Ok(Outputs { timeline: Some((PathBuf::from(name), format)), otf2, ..self })
    }

    /// Selects the tables of the summary.
    pub fn with_tables(self, tables: report::ReportTables) -> Self {
        Outputs { tables, ..self }
    }

    /// Adds a trace file to the results.
    pub fn and_trace(self, trace: Option<&OsStr>) -> Result<Self, Failure> {
        let trace = match trace.map(|name| OutputTarget::new("--record", name)).transpose()? {
            Some(OutputTarget::Stdout) => {
                return Err(Failure::bad_input(
                    "--record -: expected the name of a trace \
            file; a trace cannot be written to stdout",
                ));
            }
            Some(OutputTarget::File(path)) => Some(path),
            None => None,
        };
        Ok(Outputs { trace, ..self })
    }

    /// Adds a file with the number of messages of each exact size to the results.
    pub fn and_histogram(self, name: Option<&OsStr>) -> Result<Self, Failure> {
        let histogram = name.map(|name| OutputTarget::new("--histogram", name)).transpose()?;
        let summary = self.summary && histogram != Some(OutputTarget::Stdout);
        if histogram == Some(OutputTarget::Stdout) && self.take_stdout() {
            return Err(Failure::bad_input(
                "--histogram and another result both write to stdout: give a file for one \
                                           of them",
            ));
        }
        Ok(Outputs { histogram, summary, ..self })
    }

    /// Adds a directory to the results, for the logs of the code fragments that a task runtime has executed.
    pub fn and_task_logs(self, directory: Option<&Path>) -> Result<Self, Failure> {
        let Some(directory) = directory else { return Ok(self) };
        std::fs::create_dir_all(directory).map_err(|error| {
            let shown = directory.display();
            Failure::bad_input(format!("--task-logs {shown}: cannot create this directory: {error}"))
        })?;
        Ok(Outputs { task_logs: Some(directory.to_owned()), ..self })
    }

    /// Checks that no two results are written to one file.
    pub fn check_apart(&self) -> Result<(), Failure> {
        let file = |target: &Option<OutputTarget>| match target {
            Some(OutputTarget::File(path)) => Some(path.clone()),
            _ => None,
        };
        let timeline = self.timeline.as_ref().map(|(path, _)| path.clone());
        let written = [
            ("--json", file(&self.json)),
            ("--profile", file(&self.profile)),
            ("--timeline", timeline),
            ("--record", self.trace.clone()),
            ("--histogram", file(&self.histogram)),
        ];
        let mut known: Vec<(&str, PathBuf)> = Vec::new();
        for (option, path) in written {
            let Some(path) = path.filter(|path| path.is_file() || !path.exists()) else { continue };
            let whole = whole_path(&path);
            let shown = path.display();
            match known.iter().find(|(_, other)| *other == whole) {
                None => known.push((option, whole)),
                Some((other, _)) => {
                    return Err(Failure::bad_input(format!(
                        "{other} and {option} both write to {shown}: give another file for one of them"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Returns true if an OTF2 archive is written. An OTF2 archive contains a trace.
    pub fn have_archive(&self) -> bool {
        self.otf2.is_some()
    }

    /// Returns true if only the requested results are printed.
    pub fn are_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns true if a result is written to stdout.
    pub fn take_stdout(&self) -> bool {
        [&self.json, &self.profile, &self.histogram].into_iter().any(|target| *target == Some(OutputTarget::Stdout))
    }

    /// Returns true if a result is written to a file.
    pub fn have_files(&self) -> bool {
        let files = [&self.json, &self.profile, &self.histogram];
        files.into_iter().any(|target| matches!(target, Some(OutputTarget::File(_))))
            || self.timeline.is_some()
            || self.trace.is_some()
            || self.task_logs.is_some()
    }

    /// If JSON output is requested, writes how a simulated program without a prediction ended.
    pub fn write_end(&self, error: &PredictError, exit: Exit) -> Result<(), Failure> {
        let end = error.simulation().and_then(|why| report::end_json(why, error.mistakes(), exit.code()));
        match (&self.json, end) {
            (Some(target), Some(text)) => target.put(&text),
            _ => Ok(()),
        }
    }

    /// Writes the results of a run. Files are written before stdout, so that no file is missing if stdout is closed (`|
    /// head`).
    pub fn write(&self, outcome: &Outcome, trace: Option<&[u8]>) -> Result<(), Failure> {
        let put = |path: &Path, bytes: &[u8]| {
            write_whole(path, bytes).map_err(|error| cannot_write(&path.display().to_string(), &error))
        };
        if let (Some(path), Some(trace)) = (&self.trace, trace) {
            put(path, trace)?;
        }
        let mut results = Vec::new();
        if let Some(target) = &self.json {
            let text = report::json(outcome).map_err(|error| Failure::bad_input(format!("--json: {error}")))?;
            results.push((target, text));
        }
        if let Some(target) = &self.profile {
            results.push((target, report::profile_csv(outcome)));
        }
        if let (Some(target), Some(sizes)) = (&self.histogram, &outcome.sizes) {
            let sizes = sizes.iter().map(|(size, count)| (*size, *count));
            let text = match target {
                OutputTarget::File(path) if path.extension().is_some_and(|ending| ending == "csv") => {
                    report::sorts_csv(&outcome.sent)
                }
                _ => report::Histogram::of(sizes).text(),
            };
            results.push((target, text));
        }
        if let Some((path, format)) = &self.timeline {
            let write = |text: String| {
                write_whole(path, text.as_bytes()).map_err(|error| cannot_write(&path.display().to_string(), &error))
            };
            match format {
                TimelineFormat::Perfetto => write(report::perfetto(outcome))?,
                TimelineFormat::Paje => write(report::paje(outcome))?,
                TimelineFormat::Otf2 => {
                    let writer = self.otf2.as_ref().expect("it was made with the name");
                    writer.write(&report::otf2_events(outcome), trace)?;
                }
            }
        }
        if let Some(directory) = &self.task_logs {
            write_task_logs(outcome, directory)?;
        }
        results.sort_by_key(|(target, _)| **target == OutputTarget::Stdout);
        for (target, text) in results {
            target.put(&text)?;
        }
        if !self.summary {
            return Ok(());
        }
        let text = report::summary(outcome, &self.tables);
        print(&if has_colors() { with_bold_headings(&text) } else { text })
    }
}

/// Writes one log file per simulated process of a task runtime.
fn write_task_logs(outcome: &Outcome, directory: &Path) -> Result<(), Failure> {
    let logs = &outcome.task_logs;
    if logs.is_empty() {
        let app = &outcome.app;
        return Err(Failure::bad_input(format!(
            "--task-logs: {app} has no fragments: expected an application with a [tasks] table"
        )));
    }
    for log in logs {
        let path = directory.join(format!("prof_{:05}.json", log.process));
        let text = log.to_json(&outcome.app, logs.len());
        write_whole(&path, text).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    }
    Ok(())
}

/// Returns the path with symbolic links resolved, even if the file does not exist.
fn whole_path(path: &Path) -> PathBuf {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = || Some(directory.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}

impl OutputTarget {
    /// Checks before a long run that the result of the option `option` can be written to `name`; `-` is stdout.
    pub fn new(option: &str, name: &OsStr) -> Result<Self, Failure> {
        if name == "-" {
            return Ok(OutputTarget::Stdout);
        }
        let path = PathBuf::from(name);
        let wrong = |what: String| Failure::bad_input(format!("{option} {}: {what}", path.display()));
        if path.is_dir() {
            return Err(wrong("is a directory, expected a file to write".to_owned()));
        }
        check_no_input(&path).map_err(|error| wrong(error.to_string()))?;
        if path.exists() && !path.is_file() {
            // A test for a writable device or pipe would have to write to the device or pipe, so the function does not
            // test them.
            return Ok(OutputTarget::File(path));
        }
        let directory = directory_of(&path);
        if !directory.is_dir() {
            return Err(wrong(format!("no such directory: {}", directory.display())));
        }
        tempfile::tempfile_in(directory)
            .map_err(|error| wrong(format!("cannot write to {}: {error}", directory.display())))?;
        Ok(OutputTarget::File(path))
    }

    /// Writes `text` to the destination of a result.
    pub fn put(&self, text: &str) -> Result<(), Failure> {
        match self {
            OutputTarget::Stdout => print(text),
            OutputTarget::File(path) => {
                write_whole(path, text).map_err(|error| cannot_write(&path.display().to_string(), &error))
            }
        }
    }
}

/// Returns true if stdout is a terminal that shows styles, and the environment variable NO_COLOR is not set.
fn has_colors() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    io::stdout().is_terminal() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|kind| kind != "dumb")
}

/// Marks the first line of the text and of each table as bold.
fn with_bold_headings(text: &str) -> String {
    let mut is_first = true;
    let line = |line: &str| {
        let is_heading = std::mem::replace(&mut is_first, line.is_empty()) && !line.is_empty();
        if is_heading { format!("\x1b[1m{line}\x1b[0m\n") } else { format!("{line}\n") }
    };
    text.lines().map(line).collect()
}

/// Prints `text` to stdout. A reader that has closed the pipe (`| head`) causes no error.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(cannot_write("stdout", &error)),
        _ => Ok(()),
    }
}

/// Returns the failure for a file that cannot be written.
pub(super) fn cannot_write(name: &str, error: &io::Error) -> Failure {
    Failure::bad_input(format!("cannot write {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::busy;
    use std::fs;

    fn entries(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn outputs(json: Option<&Path>, profile: Option<&Path>) -> Result<Outputs, String> {
        Outputs::new(json.map(Path::as_os_str), profile.map(Path::as_os_str), true).map_err(|failure| failure.text)
    }

    #[test]
    fn results_are_whole_files_and_nothing_else_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let (json, csv) = (directory.path().join("a.json"), directory.path().join("a.csv"));
        fs::write(&json, "old").unwrap();
        outputs(Some(&json), Some(&csv)).unwrap().write(&busy(), None).unwrap();
        assert_eq!(entries(directory.path()), ["a.csv", "a.json"]);
        assert_eq!(fs::read_to_string(&json).unwrap(), report::json(&busy()).unwrap());
        assert_eq!(fs::read_to_string(&csv).unwrap(), report::profile_csv(&busy()));
    }

    #[test]
    fn headings_of_the_summary_are_bold_on_a_terminal() {
        let text = "app: 2 ranks\n\n  head  time\n  row   1 s\n\n  host: 1 s\n";
        let expected =
            "\x1b[1mapp: 2 ranks\x1b[0m\n\n\x1b[1m  head  time\x1b[0m\n  row   1 s\n\n\x1b[1m  host: 1 s\x1b[0m\n";
        assert_eq!(with_bold_headings(text), expected);
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let failure = outputs(Some(Path::new("/dev/full")), None).unwrap().write(&busy(), None).unwrap_err();
        assert_eq!(failure.text, "cannot write /dev/full: No space left on device (os error 28)");
        assert_eq!(failure.exit.code(), 2);
    }

    #[test]
    fn what_cannot_be_written_is_known_before_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let error = |path: &Path| outputs(Some(path), None).unwrap_err();
        let missing = here.join("no/x.json");
        assert_eq!(
            error(&missing),
            format!("--json {}: no such directory: {}", missing.display(), here.join("no").display())
        );
        assert_eq!(error(here), format!("--json {}: is a directory, expected a file to write", here.display()));
        assert_eq!(
            outputs(Some(Path::new("-")), Some(Path::new("-"))).unwrap_err(),
            "--json and --profile both write to stdout: give another file for one of them"
        );
        let same = here.join("x");
        assert!(outputs(Some(&same), Some(&same)).unwrap_err().contains(" both write to "));
        assert!(entries(here).is_empty());
    }

    #[test]
    fn a_summary_is_shown_unless_stdout_is_taken_or_quiet_is_wanted() {
        let summary = |json: Option<&str>, quiet| Outputs::new(json.map(OsStr::new), None, quiet).unwrap().summary;
        assert!(summary(None, false));
        assert!(!summary(Some("-"), false));
        assert!(!summary(None, true));
    }
}
