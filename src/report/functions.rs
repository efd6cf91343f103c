//! The profile by function and by place in the program, as text and CSV.

use std::fmt::Write;

use crate::engine::Outcome;
use crate::profile::{FunctionCalls, RankFunction};

use super::numbers;
use super::table::{Align, Table};

/// The rows shown; JSON and CSV have them all.
const MOST: usize = 20;
/// How much of a place is shown in 80 columns.
const PLACE_WIDTH: usize = 34;

/// The functions with the most time.
pub(super) fn table(outcome: &Outcome) -> String {
    let Some(functions) = outcome.functions.as_ref().filter(|functions| !functions.is_empty()) else {
        return String::new();
    };
    let mut table = Table::new(&[
        ("calls of all ranks", Align::Left),
        ("calls", Align::Right),
        ("bytes", Align::Right),
        ("time", Align::Right),
        ("mean", Align::Right),
        ("most", Align::Right),
        ("share", Align::Right),
    ]);
    for one in functions.iter().take(MOST) {
        let FunctionCalls { calls, bytes, time, most, .. } = one.total;
        table.row([
            one.function.clone(),
            numbers::count(calls),
            numbers::count(bytes),
            time.to_string(),
            one.total.mean().to_string(),
            most.to_string(),
            share(outcome, &one.total),
        ]);
    }
    table.render() + &rest(functions.len())
}

/// The places in the program with the most time in calls.
pub(super) fn by_site(outcome: &Outcome) -> String {
    let Some(sites) = outcome.sites.as_ref().filter(|sites| !sites.is_empty()) else { return String::new() };
    if sites.iter().all(|one| one.site.is_none()) {
        return "  calls by place: not known, as for a trace, which has names of functions only\n".to_owned();
    }
    let mut table = Table::new(&[
        ("calls by place", Align::Left),
        ("calls", Align::Right),
        ("bytes", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
    ]);
    for one in sites.iter().take(MOST) {
        let place = match &one.site {
            Some(site) => shortened(&one.function, site),
            None => one.function.clone(),
        };
        let FunctionCalls { calls, bytes, time, .. } = one.total;
        let share = share(outcome, &one.total);
        table.row([place, numbers::count(calls), numbers::count(bytes), time.to_string(), share]);
    }
    table.render() + &rest(sites.len())
}

/// A function and where it is called: where that is too long, only file and line, or else the end of it.
fn shortened(function: &str, site: &str) -> String {
    let whole = format!("{function} in {site}");
    let fits = |text: &String| text.chars().count() <= PLACE_WIDTH;
    let brief = site.rsplit_once(" at ").map(|(_, line)| format!("{function} at {line}"));
    if let Some(text) = [Some(&whole), brief.as_ref()].into_iter().flatten().find(|text| fits(text)) {
        return text.clone();
    }
    let text = brief.unwrap_or(whole);
    let cut = text.chars().count() + 1 - PLACE_WIDTH;
    std::iter::once('~').chain(text.chars().skip(cut)).collect()
}

fn share(outcome: &Outcome, calls: &FunctionCalls) -> String {
    let all = outcome.predicted.as_ps() as f64 * f64::from(outcome.ranks);
    let share = if all > 0.0 { 100.0 * calls.time.as_ps() as f64 / all } else { 0.0 };
    format!("{share:.1} %")
}

fn rest(rows: usize) -> String {
    let rest = rows.saturating_sub(MOST);
    if rest > 0 { format!("  and {rest} more\n") } else { String::new() }
}

/// The profile as tidy rows: one a function of all ranks, whose rank is empty, and one a function and rank. Where
/// places are known, one a function and place instead.
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

/// A cell of a table in CSV.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::SiteProfile;
    use crate::report::samples::busy;
    use crate::units::SimSpan;

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
        assert_eq!(shortened("MPI_Send", "main+0x1f"), "MPI_Send in main+0x1f");
        let long = shortened("MPI_Reduce_scatter_block", "main at a_long_name_of_a_file.f90:1234");
        assert!(long.ends_with("a_long_name_of_a_file.f90:1234") && long.chars().count() == PLACE_WIDTH);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
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
    fn a_trace_says_that_it_has_no_places() {
        let mut outcome = with_sites();
        outcome.sites.as_mut().unwrap().remove(0);
        assert!(by_site(&outcome).starts_with("  calls by place: not known"));
    }
}
