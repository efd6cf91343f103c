//! Results of a test over the revisions of a program: a text table, a CSV table and a list of changes.

use crate::revisions::{RevisionChange, RevisionRow, RevisionTable, Verdict};
use crate::units::{SimSpan, signed};

use super::headline::{clip, wrapped};
use super::numbers::count;
use super::study::quoted;
use super::table::{Align, Table};

/// Returns the text summary of a test over the revisions of a program.
pub fn revisions_summary(table: &RevisionTable) -> String {
    let rows = &table.revisions;
    let with_arguments = rows.iter().any(|row| !row.arguments.is_empty());
    let with_messages = rows.iter().any(|row| !row.messages.is_empty());
    let kind = if table.real { "real runs" } else { "simulated runs" };
    let mut text = format!("{}: {} of {}\n\n", clip(&table.run, 50), kind, rows_text(table));
    let right = |name: &'static str| (name, Align::Right);
    let mut columns = vec![("revision", Align::Left)];
    columns.extend(with_arguments.then_some(("arguments", Align::Left)));
    columns.extend([right("runs"), right("time"), right("deviation"), right("change"), right("p")]);
    columns.extend(
        with_messages
            .then_some([right("messages"), right("change"), right("bytes"), right("change")])
            .into_iter()
            .flatten(),
    );
    columns.push(("subject", Align::Left));
    let shown = Table::new(&columns).keyed(1 + usize::from(with_arguments));
    let mut shown = shown.with_previous(&["deviation", "change", "p"]);
    for row in rows {
        let mut cells = vec![row.commit.short()];
        cells.extend(with_arguments.then(|| clip(&row.arguments, 20)));
        if let Some(error) = &row.error {
            cells.extend(vec!["-".to_owned(); columns.len() - cells.len() - 1]);
            cells.push(clip(error.lines().next().unwrap_or_default(), 70));
            shown.row(cells);
            continue;
        }
        cells.push(row.times_s.len().to_string());
        cells.push(row.mean_s().map_or("-".to_owned(), seconds));
        let percent = |deviation: f64| format!("{:.2}%", deviation / row.mean_s().unwrap_or(1.0).max(1e-300) * 100.0);
        cells.push(row.deviation_s().map_or("-".to_owned(), percent));
        cells.push(change(row.time_change));
        cells.push(probability(row.time_change));
        if with_messages {
            cells.extend([
                row.mean_messages().map_or("-".to_owned(), |number| count(number.round() as u64)),
                change(row.messages_change),
                row.mean_bytes().map_or("-".to_owned(), |number| count(number.round() as u64)),
                change(row.bytes_change),
            ]);
        }
        cells.push(clip(&row.commit.subject, 40));
        shown.row(cells);
    }
    text.push_str(&shown.render());
    text.push('\n');
    let changed: Vec<String> = rows.iter().flat_map(changes).collect();
    if changed.is_empty() {
        let ran = rows.iter().filter(|row| row.error.is_none()).count();
        text.push_str(match ran {
            0 => "  no revision has a result\n",
            _ if rows.iter().all(|row| row.time_change.is_none()) => "  no two revisions can be compared\n",
            _ => "  no revision changed a result beyond noise\n",
        });
    }
    for line in changed {
        text.push_str(&wrapped(&format!("  {line}"), 4));
    }
    if table.bisected {
        text.push_str(&match &table.first_change {
            Some(hash) => format!("  the first revision that differs from the oldest revision is {hash}\n"),
            None => "  no change found: the oldest and the newest revision do not differ, or one failed\n".to_owned(),
        });
    }
    text
}

fn rows_text(table: &RevisionTable) -> String {
    let failed = table.failed();
    let rows = count(table.revisions.len() as u64);
    let s = if table.revisions.len() == 1 { "" } else { "s" };
    if failed == 0 { format!("{rows} revision{s}") } else { format!("{rows} revision{s}, {failed} without a result") }
}

/// Returns the changes of a revision's results that exceed noise, one line per change.
pub(super) fn changes(row: &RevisionRow) -> Vec<String> {
    let line = |(what, change): (&str, RevisionChange)| {
        let verb = match (change.verdict, what) {
            (Verdict::More, "time") => "slower",
            (Verdict::Less, "time") => "faster",
            (Verdict::More, _) => "more",
            (Verdict::Less, _) => "fewer",
            _ => return None,
        };
        let how = match change.p {
            Some(p) => format!("p {}", p_text(p)),
            None => "exact: all runs of a revision are equal".to_owned(),
        };
        let arguments = if row.arguments.is_empty() { String::new() } else { format!(" with {}", row.arguments) };
        let what = if what == "time" { String::new() } else { format!(" {what}") };
        let percent = change.percent.abs();
        let (hash, subject) = (row.commit.short(), clip(&row.commit.subject, 40));
        Some(format!("{hash}{arguments}: {percent:.2}% {verb}{what} ({how}): {subject}"))
    };
    row.changes().filter_map(line).collect()
}

pub(super) fn seconds(value: f64) -> String {
    SimSpan::from_seconds(value).map_or_else(|| format!("{value:.4e} s"), |span| span.to_string())
}

/// Formats the change of a result with a mark for its significance test.
fn change(change: Option<RevisionChange>) -> String {
    change.map_or("-".to_owned(), |change| {
        let mark = match change.verdict {
            Verdict::More | Verdict::Less => "*",
            Verdict::Untested => "?",
            Verdict::Same => "",
        };
        format!("{}%{mark}", signed(change.percent, 2))
    })
}

fn probability(change: Option<RevisionChange>) -> String {
    match change {
        Some(RevisionChange { p: Some(p), .. }) => p_text(p),
        Some(RevisionChange { verdict: Verdict::Untested, .. }) | None => "-".to_owned(),
        Some(_) => "exact".to_owned(),
    }
}

fn p_text(p: f64) -> String {
    if p < 1e-3 { format!("{p:.0e}") } else { format!("{p:.3}") }
}

/// Returns a CSV table with one row per revision and set of arguments.
pub fn revisions_csv(table: &RevisionTable) -> String {
    let mut text = "revision,date,subject,arguments,runs,mean_s,deviation_s,least_s,greatest_s,time_change_percent,time_p,time_verdict,\
                    messages,messages_change_percent,messages_verdict,bytes,bytes_change_percent,bytes_verdict,error\n"
        .to_owned();
    for row in &table.revisions {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let least = row.times_s.iter().copied().reduce(f64::min);
        let greatest = row.times_s.iter().copied().reduce(f64::max);
        let percent = |change: Option<RevisionChange>| number(change.map(|change| change.percent));
        let verdict =
            |change: Option<RevisionChange>| change.map_or("", |change| verdict_text(change.verdict)).to_owned();
        let cells = [
            row.commit.hash.clone(),
            row.commit.date.clone(),
            quoted(&row.commit.subject),
            quoted(&row.arguments),
            row.times_s.len().to_string(),
            number(row.mean_s()),
            number(row.deviation_s()),
            number(least),
            number(greatest),
            percent(row.time_change),
            number(row.time_change.and_then(|change| change.p)),
            verdict(row.time_change),
            number(row.mean_messages()),
            percent(row.messages_change),
            verdict(row.messages_change),
            number(row.mean_bytes()),
            percent(row.bytes_change),
            verdict(row.bytes_change),
            quoted(row.error.as_deref().unwrap_or_default()),
        ];
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::More => "more",
        Verdict::Less => "less",
        Verdict::Untested => "untested",
    }
}
