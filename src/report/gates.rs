//! Results of gates over revisions: lines of text, JUnit's XML, and a Markdown page.

use std::fmt::Write;

use crate::revisions::{GateResult, RevisionTable};
use crate::units::{Bytes, signed};

use super::numbers::count;
use super::revisions::{changes, seconds};

/// Returns one line per gate and argument set.
pub fn gates_summary(table: &RevisionTable) -> String {
    let line = |result: &GateResult| format!("  gate {}: {}\n", named(result), verdict(result));
    table.gates.iter().map(line).collect()
}

/// Returns the results of gates in the XML format of JUnit, which most continuous integration systems show.
pub fn gates_junit(table: &RevisionTable) -> String {
    let failed = |result: &&GateResult| !result.holds && result.error.is_none();
    let (tests, failures) = (table.gates.len(), table.gates.iter().filter(failed).count());
    let errors = table.gates.iter().filter(|result| result.error.is_some()).count();
    let run = escaped(&table.run);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"mcpsim revisions\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\">\n"
    );
    for result in &table.gates {
        let kind = if result.error.is_some() { "error" } else { "failure" };
        let (name, what) = (escaped(&named(result)), escaped(&verdict(result)));
        _ = match result.holds {
            true => writeln!(text, "<testcase classname=\"{run}\" name=\"{name}\"/>"),
            false => writeln!(
                text,
                "<testcase classname=\"{run}\" name=\"{name}\">\n<{kind} message=\"{what}\"/>\n</testcase>"
            ),
        };
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Returns the results of gates and the changes of revisions as a Markdown page, for a comment or a job summary.
pub fn gates_markdown(table: &RevisionTable) -> String {
    let rows = |result: &GateResult| {
        let [first, last] = &result.revisions;
        let mark = if result.holds { "yes" } else { "**no**" };
        format!("| `{}` | {first} to {last} | {} | {mark} |\n", cell(&named(result)), cell(&verdict(result)))
    };
    let mut text =
        format!("### {}\n\n| condition | revisions | result | holds |\n|---|---|---|---|\n", cell(&table.run));
    text.extend(table.gates.iter().map(rows));
    let changed: Vec<String> = table.revisions.iter().flat_map(changes).collect();
    if !changed.is_empty() {
        text.push_str("\nChanges:\n\n");
        text.extend(changed.iter().map(|line| format!("- {}\n", cell(line))));
    }
    text
}

/// Returns the condition and the program's arguments.
fn named(result: &GateResult) -> String {
    match result.arguments.as_str() {
        "" => result.gate.clone(),
        arguments => format!("{} with {arguments}", result.gate),
    }
}

/// Describes the change of the value, or the reason why the revisions cannot be compared.
fn verdict(result: &GateResult) -> String {
    if let Some(error) = &result.error {
        return error.lines().next().unwrap_or_default().to_owned();
    }
    let [old, new] = result.values.unwrap_or_default().map(|value| match result.gate.split(' ').next() {
        Some("predicted_time") => seconds(value),
        Some("bytes") => Bytes::new(value as u64).to_string(),
        _ => count(value as u64),
    });
    let holds = if result.holds { "holds" } else { "does not hold" };
    let percent = result.ratio.map_or("-".to_owned(), |ratio| format!("{}%", signed((ratio - 1.0) * 100.0, 2)));
    format!("{holds}, {old} to {new} ({percent})")
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    // XML has no control characters.
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns a text without characters that end a cell of a Markdown table or a piece of code.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['`', '\n'], " ")
}
