//! Profile of MPI calls by function and by source position, as text and CSV.

use std::fmt::Write;

use crate::engine::Outcome;
use crate::profile::{FunctionCalls, FunctionProfile, RankFunction, SiteProfile};

use super::numbers;
use super::table::{Align, Table};
use super::threads::all_alive;

/// Number of table rows in the text; the JSON and CSV output have all rows.
const MOST: usize = 20;
/// Minimum width of a function name in the text.
const LEAST_WIDTH: usize = 24;

/// Returns a table of the MPI functions with the most time. The text of the table is empty if the table by source
/// position shows the same functions.
pub(super) fn table(outcome: &Outcome) -> String {
    let functions = outcome.functions.as_deref().unwrap_or_default();
    match are_places(functions, outcome.sites.as_deref().unwrap_or_default()) {
        true => String::new(),
        false => by_function(outcome),
    }
}

/// Returns a table of the MPI functions with the most time, for a report without the table by source position.
pub(super) fn by_function(outcome: &Outcome) -> String {
    let functions = outcome.functions.as_deref().unwrap_or_default();
    if functions.is_empty() {
        return String::new();
    }
    let rows = functions.iter().map(|one| (CallName::function(&one.function), &one.total));
    most(outcome, "calls of all ranks", rows.collect())
}

/// Returns a table of the source positions with the most time in MPI calls.
pub(super) fn by_site(outcome: &Outcome) -> String {
    let Some(sites) = outcome.sites.as_ref().filter(|sites| !sites.is_empty()) else { return String::new() };
    if sites.iter().all(|one| one.site.is_none()) {
        return "  calls by position: unknown: traces and programs as built have no positions\n".to_owned();
    }
    let rows = sites.iter().map(|one| (CallName::called(&one.function, one.site.as_deref()), &one.total));
    most(outcome, "calls by position", rows.collect())
}

/// Returns true if each MPI function has a single call site, so that the tables by function and by position would have
/// the same rows.
fn are_places(functions: &[FunctionProfile], sites: &[SiteProfile]) -> bool {
    let figures = |calls: &FunctionCalls| (calls.time, calls.calls, calls.bytes);
    let mut of_functions: Vec<_> = functions.iter().map(|one| figures(&one.total)).collect();
    let mut of_sites: Vec<_> = sites.iter().map(|one| figures(&one.total)).collect();
    of_functions.sort_unstable();
    of_sites.sort_unstable();
    sites.iter().all(|one| one.site.is_some()) && of_functions == of_sites
}

/// Returns a table of the rows with the most time, with as many columns as fit next to the names into 80 characters.
fn most(outcome: &Outcome, title: &str, rows: Vec<(CallName, &FunctionCalls)>) -> String {
    let figures: Vec<[String; 6]> = rows
        .iter()
        .take(MOST)
        .map(|(_, calls)| {
            let [mean, most] = [calls.mean(), calls.most].map(|span| span.to_string());
            let time = calls.time.to_string();
            [numbers::count(calls.calls), numbers::count(calls.bytes), time, share(outcome, calls), mean, most]
        })
        .collect();
    let heads = ["calls", "bytes", "time", "share", "mean", "most"];
    let room = |columns: usize| {
        let width = |column: usize| figures.iter().map(|row| row[column].len()).chain([5]).max().unwrap_or(0);
        (80 - 2_usize).saturating_sub((0..columns).map(|column| width(column) + 2).sum())
    };
    let shown = || rows.iter().take(MOST);
    let fit = |columns: &usize| shown().all(|(name, _)| name.shortest() <= room(*columns));
    let columns = [6, 5].into_iter().find(fit).unwrap_or(4);
    let columns_heads: Vec<(&str, Align)> =
        [(title, Align::Left)].into_iter().chain(heads[..columns].iter().map(|head| (*head, Align::Right))).collect();
    let mut table = Table::new(&columns_heads);
    for ((name, _), figures) in shown().zip(&figures) {
        let name = name.within(room(columns).max(LEAST_WIDTH));
        table.row(std::iter::once(name).chain(figures[..columns].iter().cloned()));
    }
    let rest = rows.len().saturating_sub(MOST);
    table.render() + &if rest > 0 { format!("  and {rest} more\n") } else { String::new() }
}

/// Name of an MPI call in forms of different length.
struct CallName {
    whole: String,
    /// Form of the name that has only file and line.
    brief: Option<String>,
}

impl CallName {
    fn function(name: &str) -> CallName {
        CallName { whole: name.to_owned(), brief: None }
    }

    /// Returns the name of an MPI function with its call site.
    fn called(function: &str, site: Option<&str>) -> CallName {
        let Some(site) = site else { return CallName::function(function) };
        let brief = site.rsplit_once(" at ").map(|(_, line)| format!("{function} at {line}"));
        CallName { whole: format!("{function} in {site}"), brief }
    }

    /// Returns the number of characters in the shortest form of the name.
    fn shortest(&self) -> usize {
        self.brief.as_ref().map_or(usize::MAX, |brief| brief.chars().count()).min(self.whole.chars().count())
    }

    /// Returns the first form of the name that has at most `width` characters. If no form fits, returns the end of the
    /// last form.
    fn within(&self, width: usize) -> String {
        let forms = [Some(&self.whole), self.brief.as_ref()];
        if let Some(text) = forms.into_iter().flatten().find(|text| text.chars().count() <= width) {
            return text.clone();
        }
        let text = self.brief.as_ref().unwrap_or(&self.whole);
        let cut = text.chars().count() + 1 - width;
        std::iter::once('~').chain(text.chars().skip(cut)).collect()
    }
}

fn share(outcome: &Outcome, calls: &FunctionCalls) -> String {
    let all = outcome.predicted.as_ps() as f64 * f64::from(outcome.ranks) + all_alive(outcome).as_ps() as f64;
    let share = if all > 0.0 { 100.0 * calls.time.as_ps() as f64 / all } else { 0.0 };
    format!("{share:.1}%")
}

/// Returns the profile of MPI calls as CSV. Each function has one row over all ranks, in which the rank is empty, and
/// one row per rank. With source positions, a function has such rows for each position.
pub fn calls_csv(outcome: &Outcome) -> String {
    let mut text = String::from("function,site,rank,calls,bytes,time_ps,mean_ps,least_ps,most_ps\n");
    let mut rows = |function: &str, site: &str, total: &FunctionCalls, per_rank: &[RankFunction]| {
        let all =
            std::iter::once((String::new(), total)).chain(per_rank.iter().map(|of| (of.rank.to_string(), &of.calls)));
        for (rank, of) in all {
            let [time, mean, least, most] = [of.time, of.mean(), of.least, of.most].map(|span| span.as_ps());
            let [function, site] = [function, site].map(quoted);
            let FunctionCalls { calls, bytes, .. } = of;
            writeln!(text, "{function},{site},{rank},{calls},{bytes},{time},{mean},{least},{most}")
                .expect("a String takes all that is written");
        }
    };
    if let Some(sites) = &outcome.sites {
        for one in sites {
            rows(&one.function, one.site.as_deref().unwrap_or(""), &one.total, &one.per_rank);
        }
    } else {
        for one in outcome.functions.iter().flatten() {
            rows(&one.function, "", &one.total, &one.per_rank);
        }
    }
    text
}

/// Formats a cell of a CSV table.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{SiteProfile, ThreadTime, TimeParts};
    use crate::report::samples::busy;
    use crate::units::{SimSpan, SimTime};

    fn with_sites() -> Outcome {
        let mut outcome = busy();
        let mut calls = FunctionCalls::default();
        calls.record(SimSpan::from_us(3));
        let of_rank = RankFunction { rank: 2, calls };
        let site = |site: Option<&str>| SiteProfile {
            function: "MPI_Send".to_owned(),
            site: site.map(str::to_owned),
            total: calls,
            per_rank: vec![of_rank],
        };
        outcome.sites = Some(vec![site(Some("exchange_of_the_halo<double, 3> at halo.cpp:42")), site(None)]);
        outcome
    }

    #[test]
    fn a_place_that_is_too_long_keeps_its_file_and_line() {
        let text = by_site(&with_sites());
        assert!(text.lines().nth(1).unwrap().starts_with("  MPI_Send at halo.cpp:42 "), "{text}");
        assert_eq!(CallName::called("MPI_Send", Some("main+0x1f")).within(21), "MPI_Send in main+0x1f");
        let long =
            CallName::called("MPI_Reduce_scatter_block", Some("main at a_long_name_of_a_file.f90:1234")).within(34);
        assert!(long.ends_with("a_long_name_of_a_file.f90:1234") && long.chars().count() == 34);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn each_call_stands_in_one_table_and_each_table_in_one_block() {
        let mut outcome = busy();
        let mut calls = FunctionCalls::default();
        calls.record(SimSpan::from_us(3));
        calls.bytes = 1_310_720;
        let function = |name: &str| FunctionProfile { function: name.to_owned(), total: calls, per_rank: vec![] };
        outcome.functions = Some(vec![function("isend in a_procedure_of_halo[6]"), function("recv in main[0]")]);
        let alone = table(&outcome);
        assert!(alone.starts_with("  calls of all ranks ") && alone.lines().count() == 3, "{alone}");
        assert!(alone.contains("share") && !alone.contains("most"), "{alone}");
        assert!(alone.lines().all(|line| line.chars().count() <= 80), "{alone}");

        let site = |function: &str, site: &str| SiteProfile {
            function: function.to_owned(),
            site: Some(site.to_owned()),
            total: calls,
            per_rank: vec![],
        };
        let first = site("isend", "a_procedure_of_halo[6] at halo.toml:20");
        outcome.sites = Some(vec![first.clone(), site("recv", "main[0] at halo.toml:3")]);
        assert_eq!(table(&outcome), "", "the table by place says the same");
        let places = by_site(&outcome);
        assert!(places.contains("  isend at halo.toml:20 ") && places.lines().count() == 3, "{places}");
        // This call site is the second site of one of the functions.
        outcome.sites.as_mut().unwrap().push(first);
        assert_eq!(table(&outcome), alone);
    }

    #[test]
    fn csv_has_a_row_for_all_and_one_a_rank() {
        let csv = calls_csv(&with_sites());
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 4);
        assert_eq!(&rows[0][1], "exchange_of_the_halo<double, 3> at halo.cpp:42");
        assert_eq!((&rows[0][2], &rows[1][2], &rows[3][1]), ("", "2", ""));
        assert_eq!(&rows[1][5], "3000000");
    }

    #[test]
    fn shares_are_of_the_time_of_ranks_and_threads() {
        let mut outcome = with_sites();
        let calls = FunctionCalls { time: outcome.predicted.since(SimTime::ZERO), ..FunctionCalls::default() };
        let ranks = f64::from(outcome.ranks);
        assert_eq!(share(&outcome, &calls), format!("{:.1}%", 100.0 / ranks));
        let thread = ThreadTime {
            rank: 0,
            thread: 1,
            start: SimTime::ZERO,
            end: outcome.predicted,
            parts: TimeParts::default(),
            thread_wait: SimSpan::ZERO,
        };
        outcome.per_thread = vec![thread];
        assert_eq!(share(&outcome, &calls), format!("{:.1}%", 100.0 / (ranks + 1.0)));
    }

    #[test]
    fn a_trace_says_that_it_has_no_places() {
        let mut outcome = with_sites();
        outcome.sites.as_mut().unwrap().remove(0);
        assert!(by_site(&outcome).starts_with("  calls by position: unknown"));
    }
}
