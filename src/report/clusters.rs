//! Tables of the clusters of pairs of ranks.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::matrices::Parameters;
use crate::matrices::cluster::LengthRange;
use crate::measure::Guess;
use crate::units::SimSpan;

use super::table::{Align, Table};

/// Number of rows in the table of a partition (a range of message lengths). The last table row summarises further
/// clusters.
const MOST_ROWS: usize = 24;

/// Returns a table with the message lengths of a partition, the clusters of the partition, and the number of
/// exceptional elements.
pub fn partition_table(parameters: &Parameters, partition: &LengthRange) -> String {
    let last = partition.first + partition.matrices - 1;
    let (from, to) = (parameters.length(partition.first), parameters.length(last));
    let count = partition.clusters.len();
    let plural = if count == 1 { "" } else { "s" };
    let mut text = format!("lengths {from} to {to} B: {count} cluster{plural} of {} pairs\n\n", parameters.elements());
    let right = |name| (name, Align::Right);
    let (first, final_) = (format!("at {from} B"), format!("at {to} B"));
    let mut table = Table::new(&[right("cluster"), right("pairs"), right("mean time"), right(&first), right(&final_)]);
    // The table contains only the clusters with the most rank pairs, in the order of their times.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|cluster| std::cmp::Reverse(partition.clusters[*cluster].pairs));
    let (shown, others) = order.split_at(count.min(MOST_ROWS));
    let mut shown = shown.to_vec();
    shown.sort_unstable();
    for cluster in shown {
        let (of, values) = (partition.clusters[cluster], &partition.values[cluster]);
        table.row([
            (cluster + 1).to_string(),
            of.pairs.to_string(),
            span(of.mean),
            span(values[0]),
            span(values[values.len() - 1]),
        ]);
    }
    text.push_str(&table.render());
    if !others.is_empty() {
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        others.iter().for_each(|cluster| *sizes.entry(partition.clusters[*cluster].pairs).or_default() += 1);
        let sum: usize = sizes.iter().map(|(pairs, clusters)| pairs * clusters).sum();
        let most = sizes.keys().next_back().copied().unwrap_or(0);
        let _ = writeln!(text, "  and {} smaller clusters with {sum} pairs, each with at most {most}", others.len());
    }
    if !partition.exceptions.is_empty() {
        let all = parameters.elements() * partition.matrices;
        let _ = writeln!(text, "  {} of {all} elements are listed as exceptions", partition.exceptions.len());
    }
    text
}

/// Returns a text about the classes of rank pairs in an inferred machine, with notes on uncertain results.
pub fn guess_summary(guess: &Guess) -> String {
    let shape = guess.shape;
    let mut text = format!("nodes {}, CMPs per node {}, cores per CMP {}\n\n", shape.nodes, shape.cmps, shape.cores);
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[right("kind"), right("pairs"), right("groups"), right("mean time")]);
    for (number, kind) in (1..).zip(&guess.structure.kinds) {
        let cells = [kind.pairs.to_string(), kind.groups.len().to_string(), span(kind.median)];
        table.row([number.to_string()].into_iter().chain(cells));
    }
    text.push_str(&table.render());
    guess.notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
    text
}

/// Formats a message time of a time matrix.
pub fn span(seconds: f64) -> String {
    SimSpan::from_seconds(seconds).map_or_else(|| format!("{seconds:e} s"), |span| format!("{span:.3}"))
}
