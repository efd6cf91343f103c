//! Text summary of a simulated run, and the selection of the summary's tables.

use crate::config::did_you_mean;
use crate::engine::Outcome;

use super::{
    basis, call_paths, collectives, copies, critical, efficiency, functions, headline, jobs, links, messages, notes,
    path, sizes, tasks, threads, time,
};

/// Table of the summary of a run.
struct SummaryTable {
    /// Name of the table in `--report`.
    name: &'static str,
    /// True if the short summary contains the table, although no option requests the table.
    short: bool,
    text: fn(&Outcome) -> String,
}

const fn short(name: &'static str, text: fn(&Outcome) -> String) -> SummaryTable {
    SummaryTable { name, short: true, text }
}

const fn long(name: &'static str, text: fn(&Outcome) -> String) -> SummaryTable {
    SummaryTable { name, short: false, text }
}

/// Tables of the summary in the order of the text. Tables that need an option of the run are short, because the option
/// requests them.
const TABLES: &[SummaryTable] = &[
    short("jobs", of_jobs),
    short("time", time::time_parts),
    short("threads", threads::thread_times),
    short("path", path::parts),
    short("what-if", path::what_if),
    short("efficiencies", efficiency::table),
    short("latency-tolerance", efficiency::tolerance),
    short("critical-path", critical::shares),
    short("functions", functions::table),
    short("sites", functions::by_site),
    short("call-paths", call_paths::table),
    long("collectives", collectives::by_algorithm),
    short("other-algorithms", collectives::by_other_algorithms),
    short("tasks", |outcome| tasks::brief(outcome.tasks.as_deref())),
    short("levels", messages::by_level),
    long("places", messages::by_place),
    long("kinds", messages::by_kind),
    long("counts", sizes::counts),
    long("volumes", sizes::volumes),
    long("times", sizes::times),
    short("pairs", messages::busiest_pairs),
    long("utilisation", copies::utilisation),
    long("links", links::links),
    long("copies", copies::copies),
    long("blocks", copies::blocks),
    short("notes", notes::notes),
    short("basis", basis::lines),
    short("host", notes::host),
    short("host-profile", notes::host_profile),
];

/// Tables that would mix the jobs of a run of several jobs.
const OF_ONE_JOB: [&str; 13] = [
    "time",
    "path",
    "what-if",
    "efficiencies",
    "latency-tolerance",
    "critical-path",
    "collectives",
    "other-algorithms",
    "tasks",
    "kinds",
    "counts",
    "volumes",
    "times",
];

/// Returns the tables of the jobs, and the heading of the tables that follow.
fn of_jobs(outcome: &Outcome) -> String {
    if outcome.jobs.is_empty() { String::new() } else { jobs::jobs(outcome) + "\nall jobs\n" }
}

/// Selection of the tables in the summary of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReportTables {
    /// The tables that fit one screen, and the tables that options of the run request.
    #[default]
    Short,
    /// All tables.
    Full,
    /// The named tables.
    Named(Vec<&'static str>),
}

impl ReportTables {
    /// Reads `full`, or names of tables with commas between them.
    ///
    /// # Errors
    /// A table with this name does not exist.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "full" => return Ok(ReportTables::Full),
            "short" => return Ok(ReportTables::Short),
            _ => {}
        }
        let known = || TABLES.iter().map(|table| table.name);
        let find = |name: &str| {
            known().find(|known| *known == name.trim()).ok_or_else(|| {
                let names = known().collect::<Vec<_>>().join(", ");
                let hint = match did_you_mean(name, known()) {
                    hint if hint.is_empty() => ".".to_owned(),
                    hint => hint,
                };
                format!("no table {name:?}{hint} Expected full, short, or names from: {names}")
            })
        };
        text.split(',').map(find).collect::<Result<_, _>>().map(ReportTables::Named)
    }

    fn contain(&self, table: &SummaryTable, has_jobs: bool) -> bool {
        match self {
            // Jobs share the machine, so their report also has the tables of its resources.
            ReportTables::Short => table.short || has_jobs,
            ReportTables::Full => true,
            ReportTables::Named(names) => names.contains(&table.name),
        }
    }

    fn text_of(&self, table: &SummaryTable, outcome: &Outcome) -> String {
        match self {
            ReportTables::Named(names) if table.name == "functions" && !names.contains(&"sites") => {
                functions::by_function(outcome)
            }
            _ => (table.text)(outcome),
        }
    }
}

/// Returns the text summary of a simulated run: the predicted time and the selected tables.
pub fn summary(outcome: &Outcome, tables: &ReportTables) -> String {
    let mut parts = vec![headline::headline(outcome)];
    let mut omitted = Vec::new();
    let has_jobs = !outcome.jobs.is_empty();
    for table in TABLES.iter().filter(|table| !has_jobs || !OF_ONE_JOB.contains(&table.name)) {
        match tables.text_of(table, outcome) {
            text if text.is_empty() => {
                if matches!(tables, ReportTables::Named(_)) && tables.contain(table, has_jobs) {
                    parts.push(format!("  {}: nothing to report about this run\n", table.name));
                }
            }
            text if tables.contain(table, has_jobs) => parts.push(text),
            _ => omitted.push(table.name),
        }
    }
    if *tables == ReportTables::Short && !omitted.is_empty() {
        parts.push(headline::wrapped(&format!("  --report full adds: {}", omitted.join(", ")), 4));
    }
    let mut text = parts.join("\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{busy, empty, huge};
    use super::*;
    use crate::profile::{FunctionCalls, FunctionProfile, SiteProfile};

    #[test]
    fn no_report_is_wider_than_80_columns_or_prints_what_is_no_number() {
        for outcome in [busy(), huge(), empty()] {
            for tables in [ReportTables::Short, ReportTables::Full] {
                let text = summary(&outcome, &tables);
                for line in text.lines() {
                    assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
                    assert_eq!(line.trim_end(), line, "blanks at the end");
                }
                for wrong in ["NaN", "inf", "-0"] {
                    assert!(!text.contains(wrong), "{wrong} in\n{text}");
                }
                assert!(text.is_ascii() && text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
            }
        }
    }

    #[test]
    fn a_full_report_of_16_ranks_has_all_tables() {
        let text = summary(&busy(), &ReportTables::Full);
        assert_eq!(text, include_str!("busy.txt"), "\n{text}");
    }

    #[test]
    fn a_short_report_fits_one_screen_and_names_the_other_tables() {
        let text = summary(&busy(), &ReportTables::Short);
        assert!(text.lines().count() <= 45, "{} lines\n{text}", text.lines().count());
        assert!(text.ends_with("\n  --report full adds: counts, volumes, times\n"), "{text}");
        let full = summary(&busy(), &ReportTables::Full);
        assert!(text.lines().rev().skip(1).all(|line| full.contains(line)), "{text}");
    }

    #[test]
    fn chosen_tables_are_printed_in_the_order_of_the_report() {
        let text = summary(&busy(), &ReportTables::parse("volumes,levels").unwrap());
        let heads = ["  predicted time ", "  messages ", "  volume by size "].map(|head| text.find(head).unwrap());
        assert!(heads.is_sorted() && !text.contains("rank time") && !text.contains("--report"), "{text}");
        // Both tables have the same rows, and the short report has one of them.
        let mut outcome = busy();
        let calls = FunctionCalls { calls: 1, ..FunctionCalls::default() };
        let site = SiteProfile {
            function: "MPI_Send".to_owned(),
            site: Some("main at a.c:1".to_owned()),
            total: calls,
            per_rank: Vec::new(),
        };
        let function = FunctionProfile { function: "MPI_Send".to_owned(), total: calls, per_rank: Vec::new() };
        (outcome.sites, outcome.functions) = (Some(vec![site]), Some(vec![function]));
        let has_functions = |tables| summary(&outcome, &tables).contains("calls of all ranks");
        assert!(has_functions(ReportTables::parse("functions").unwrap()) && !has_functions(ReportTables::Short));
        let error = ReportTables::parse("levels,volume").unwrap_err();
        assert!(error.starts_with("no table \"volume\", did you mean \"volumes\"? Expected full, "), "{error}");
    }

    #[test]
    fn a_run_without_a_message_says_so_and_stops() {
        let text = summary(&empty(), &ReportTables::Short);
        assert_eq!(text, include_str!("empty.txt"), "\n{text}");
    }
}
