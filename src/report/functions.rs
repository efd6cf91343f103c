//! The profile by function, as text and CSV.

use std::fmt::Write;

use crate::engine::Outcome;
use crate::profile::FunctionCalls;

use super::numbers;
use super::table::{Align, Table};

/// The functions with the most time.
pub(super) fn table(outcome: &Outcome) -> String {
    const MOST: usize = 20;
    let Some(functions) = outcome.functions.as_ref().filter(|functions| !functions.is_empty()) else {
        return String::new();
    };
    let all = outcome.predicted.as_ps() as f64 * f64::from(outcome.ranks);
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
        let share = if all > 0.0 { 100.0 * time.as_ps() as f64 / all } else { 0.0 };
        table.row([
            one.function.clone(),
            numbers::count(calls),
            numbers::count(bytes),
            time.to_string(),
            one.total.mean().to_string(),
            most.to_string(),
            format!("{share:.1} %"),
        ]);
    }
    let rest = functions.len().saturating_sub(MOST);
    let more = if rest > 0 { format!("  and {rest} more\n") } else { String::new() };
    format!("{}{more}", table.render())
}

/// The profile as tidy rows: one a function of all ranks, whose rank is empty, and one a function and rank.
pub fn functions_csv(outcome: &Outcome) -> String {
    let mut text = String::from("function,rank,calls,bytes,time_ps,mean_ps,least_ps,most_ps\n");
    let mut row = |function: &str, rank: &str, of: &FunctionCalls| {
        let name = if function.contains(',') { format!("\"{function}\"") } else { function.to_owned() };
        let [time, mean, least, most] = [of.time, of.mean(), of.least, of.most].map(|span| span.as_ps());
        writeln!(text, "{name},{rank},{},{},{time},{mean},{least},{most}", of.calls, of.bytes)
            .expect("a String takes all that is written");
    };
    for one in outcome.functions.iter().flatten() {
        row(&one.function, "", &one.total);
        one.per_rank.iter().for_each(|of| row(&one.function, &of.rank.to_string(), &of.calls));
    }
    text
}
