//! GOAL schedules as text, the input of LogGOPSim's `txt2bin`: operations and their dependences, rank by rank.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 100
//! l2: send 8b to 1 tag 3
//! l2 requires l1
//! }
//! ```
//!
//! Times of `calc` are in nanoseconds. The line `a requires b` means that operation a starts after operation b ends.
//! The line `a irequires b` means that operation a starts after operation b starts. A rank has one core, so `cpu` must
//! be 0. mcpsim ignores `nic` because the platform file defines a node's network ports.

use std::collections::HashMap;

use super::ImportError;
use super::graph::{Graph, GraphMessage, GraphNode, GraphWork};
use super::words::Words;
use crate::rank::{Pattern, Source, TagPattern};
use crate::units::{Bytes, SimSpan};

/// Greatest number of ranks of a schedule.
const MOST_RANKS: i64 = 1 << 20;

/// Reads a GOAL schedule and returns the operations of every rank.
pub(super) fn read(text: &str) -> Result<Vec<Graph>, ImportError> {
    let mut ranks: Option<u32> = None;
    let mut graphs: Vec<Graph> = Vec::new();
    let mut open: Option<(usize, HashMap<String, u32>)> = None;
    let mut in_comment = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = without_comments(line, &mut in_comment);
        let line = separated(&line);
        let mut words = Words::new(number, &line);
        let Some(first) = words.peek() else { continue };
        match (first, &mut open) {
            ("num_ranks", None) => {
                words.next();
                let count = words.integer("a number of ranks")?;
                if ranks.is_some() || !(1..=MOST_RANKS).contains(&count) {
                    return Err(words.error(format!("expected one number of ranks, 1 to {MOST_RANKS}; found {count}")));
                }
                ranks = Some(count as u32);
                words.end()?;
            }
            ("rank", None) => {
                words.next();
                let rank = words.integer("a rank")?;
                let Some(count) = ranks else { return Err(words.error("expected num_ranks before the first rank")) };
                if !(0..i64::from(count)).contains(&rank) {
                    return Err(words.error(format!("expected a rank from 0 to {}; found {rank}", count - 1)));
                }
                let rank = rank as usize;
                if graphs.len() <= rank {
                    graphs.resize_with(rank + 1, Graph::default);
                }
                if !graphs[rank].nodes.is_empty() {
                    return Err(words.error(format!("rank {rank} is given twice")));
                }
                match words.next() {
                    Some("{") => open = Some((rank, HashMap::new())),
                    other => return Err(words.error(format!("expected {{; found {other:?}"))),
                }
                words.end()?;
            }
            ("}", Some((rank, _))) => {
                let graph = &graphs[*rank];
                if let Some(node) = graph.stuck() {
                    return Err(words.error(format!("{} of rank {rank} needs itself: expected no cycle", node.label)));
                }
                open = None;
            }
            (_, Some((rank, labels))) => {
                let count = ranks.unwrap_or(1);
                operation(&mut words, &mut graphs[*rank], labels, count)?;
            }
            (word, None) => {
                return Err(words.error(format!("expected num_ranks, rank or a comment; found \"{word}\"")));
            }
        }
    }
    if let Some((rank, _)) = open {
        return Err(ImportError { line: 0, what: format!("rank {rank} has no end: expected }}") });
    }
    let Some(ranks) = ranks else { return Err(ImportError { line: 0, what: "expected num_ranks".to_owned() }) };
    graphs.resize_with(ranks as usize, Graph::default);
    Ok(graphs)
}

/// Puts blanks around the signs in the line, so that each sign becomes a separate word.
fn separated(line: &str) -> String {
    let mut text = String::with_capacity(line.len() + 4);
    for sign in line.chars() {
        match sign {
            '{' | '}' | ':' => text.extend([' ', sign, ' ']),
            _ => text.push(sign),
        }
    }
    text
}

/// Removes `//` and `/* */` comments from the line.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut text = String::new();
    let mut rest = line;
    loop {
        if *in_comment {
            let Some(end) = rest.find("*/") else { return text };
            (rest, *in_comment) = (&rest[end + 2..], false);
        }
        match (rest.find("//"), rest.find("/*")) {
            (Some(at), block) if block.is_none_or(|block| at < block) => {
                text.push_str(&rest[..at]);
                return text;
            }
            (_, Some(at)) => {
                text.push_str(&rest[..at]);
                text.push(' ');
                (rest, *in_comment) = (&rest[at + 2..], true);
            }
            _ => {
                text.push_str(rest);
                return text;
            }
        }
    }
}

/// Reads a line between the braces of a rank in a GOAL schedule: an operation or a dependence.
fn operation(
    words: &mut Words<'_>,
    graph: &mut Graph,
    labels: &mut HashMap<String, u32>,
    ranks: u32,
) -> Result<(), ImportError> {
    let first = words.expect("an operation")?;
    let (label, kind) = match first {
        "send" | "recv" | "calc" => (None, first),
        label => match words.expect("a colon, requires or irequires")? {
            ":" => (Some(label), words.expect("calc, send or recv")?),
            relation @ ("requires" | "irequires") => {
                let other = words.expect("a label")?;
                words.end()?;
                let find = |label: &str| labels.get(label).copied();
                let [Some(node), Some(needed)] = [find(label), find(other)] else {
                    let missing = if find(label).is_none() { label } else { other };
                    return Err(words.error(format!("expected a label given before; found \"{missing}\"")));
                };
                graph.nodes[node as usize].needs += 1;
                let needed = &mut graph.nodes[needed as usize];
                let list = if relation == "requires" { &mut needed.at_end } else { &mut needed.at_start };
                list.push(node);
                return Ok(());
            }
            other => return Err(words.error(format!("expected a colon, requires or irequires; found \"{other}\""))),
        },
    };
    let work = work(words, kind, ranks)?;
    let number = graph.nodes.len() as u32;
    if let Some(label) = label
        && labels.insert(label.to_owned(), number).is_some()
    {
        return Err(words.error(format!("expected a new label; found \"{label}\" again")));
    }
    let label = label.unwrap_or(kind).to_owned();
    graph.nodes.push(GraphNode { work, label, needs: 0, at_start: Vec::new(), at_end: Vec::new() });
    Ok(())
}

fn work(words: &mut Words<'_>, kind: &str, ranks: u32) -> Result<GraphWork, ImportError> {
    let work = match kind {
        "calc" => {
            let time = words.integer("a time in ns")?;
            let span = u64::try_from(time).ok().filter(|ns| *ns <= u64::MAX / 1000).map(SimSpan::from_ns);
            GraphWork::Calc(span.ok_or_else(|| words.error(format!("expected a time in ns; found {time}")))?)
        }
        "send" | "recv" => {
            let word = words.expect("a size such as 8b")?;
            let size = match word.strip_suffix('b') {
                Some(digits) => digits.parse().ok(),
                None => word.parse().ok().filter(|_| words.next() == Some("b")),
            };
            let size = size.ok_or_else(|| words.error(format!("expected a size such as 8b; found \"{word}\"")))?;
            let (size, way) = (Bytes::new(size), if kind == "send" { "to" } else { "from" });
            match words.expect(way)? {
                word if word == way => {}
                other => return Err(words.error(format!("expected {way}; found \"{other}\""))),
            }
            let peer = words.integer("a rank")?;
            let mut tag = 0;
            if words.peek() == Some("tag") {
                words.next();
                tag = words.integer("a tag")?;
            }
            let any = kind == "recv";
            let least = if any { -1 } else { 0 };
            if !(least..i64::from(ranks)).contains(&peer) || !(least..i64::from(u32::MAX)).contains(&tag) {
                return Err(
                    words.error(format!("expected a rank up to {} and a tag; found {peer} and {tag}", ranks - 1))
                );
            }
            match any {
                true => GraphWork::Recv(Pattern {
                    from: u32::try_from(peer).map_or(Source::Any, Source::Rank),
                    context: 0,
                    tag: u32::try_from(tag).map_or(TagPattern::Any, TagPattern::Tag),
                    capacity: Bytes::MAX,
                    buffer: Default::default(),
                }),
                false => GraphWork::Send(GraphMessage { to: peer as u32, tag: tag as u32, size }),
            }
        }
        other => return Err(words.error(format!("expected calc, send or recv; found \"{other}\""))),
    };
    while let Some(word) = words.next() {
        match word {
            "cpu" => match words.integer("a core")? {
                0 => {}
                core => {
                    let what = format!(
                        "cpu {core}: expected 0, a rank has one core; give each core's work to a rank of its own"
                    );
                    return Err(words.error(what));
                }
            },
            "nic" => _ = words.integer("an adapter")?,
            other => return Err(words.error(format!("expected cpu, nic or the end of the line; found \"{other}\""))),
        }
    }
    Ok(work)
}
