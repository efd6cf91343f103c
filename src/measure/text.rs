//! Text of the platform file of a measured machine, with the origin of each number, as option `--platform` reads it.

use std::fmt::Write;

use mcpsim_core::config::Document;
use mcpsim_core::platform::{Level, Shape};
use mcpsim_core::units::{Bandwidth, SimSpan, signed};

use super::caches::MeasuredCaches;
use super::cores::MeasuredCores;
use super::domains::CoreDomains;
use super::effects::MeasuredEffects;
use super::fit::FitPiece;
use super::kernels::Speed;
use super::library::MeasuredLibrary;
use super::link::{LinkFit, RankCosts, RowFit};
use super::occupancy::MeasuredOccupancy;
use super::samples::Samples;

/// Content of the platform file of a measured machine.
#[derive(Clone, Debug)]
pub struct MeasuredMachine {
    /// Name of the measured machine.
    pub name: String,
    /// Host and method of the measurement, one line each.
    pub provenance: Vec<String>,
    /// Nodes, CMPs per node and cores per CMP.
    pub shape: Shape,
    /// Compute and memory rates of the cores.
    pub speed: Speed,
    /// Measured network levels, at least one.
    pub links: Vec<LinkFit>,
    /// Samples from which the network levels were derived.
    pub samples: Samples,
    /// System noise of the cores, and speeds of unequal nodes.
    pub cores: MeasuredCores,
    /// Properties of the MPI library that ran the measurement.
    pub library: MeasuredLibrary,
    /// Domains of cores within each CMP, smaller domains first.
    pub domains: Vec<CoreDomains>,
    /// True if system noise is written as keys, not as comments.
    pub states_noise: bool,
}

/// Upper limit of bandwidths, bytes per second; higher bandwidths cannot be measured.
const MOST_BANDWIDTH: f64 = 1e15;

impl MeasuredMachine {
    /// Returns the text of the platform file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let (all, apart) = self.samples.counts();
        for line in &self.provenance {
            comment(&mut text, line);
        }
        comment(
            &mut text,
            &format!(
                "{all} samples, {apart} of them outliers (far outside the quartiles of their series); values \
                      are medians."
            ),
        );
        for line in self.samples.worst_outliers() {
            comment(&mut text, &format!("  {line}"));
        }
        if let Some(effective) = self.samples.effective_bandwidth {
            let bandwidth = bandwidth(1.0 / effective);
            comment(&mut text, &format!("Effective bandwidth of all ranks (b_eff, rings): {bandwidth}."));
        }
        let Shape { nodes, cmps, cores } = self.shape;
        let name = toml::Value::String(self.name.clone());
        let _ = write!(text, "\nname = {name}\nnct = [{nodes}, {cmps}, {cores}]\n");
        self.progress(&mut text);
        text.push('\n');
        self.core(&mut text);
        let states_cache = self.caches_of_messages().is_some();
        self.domains.iter().for_each(|domain| domain.write(&mut text, states_cache));
        text.push_str(&self.library.text());
        for level in Level::ALL {
            self.level(&mut text, level);
        }
        text.push_str(&self.cores.text(self.states_noise));
        self.origins(&mut text);
        text
    }

    /// Writes the origins of the values. Values of a level without pairs of ranks are assumed.
    fn origins(&self, text: &mut String) {
        let of_level =
            |level: Level| if self.links.iter().any(|fit| fit.level == level) { "measured" } else { "assumed" };
        text.push_str("\n[origin]\ncore = \"measured\"\n");
        if self.speed.cmp_memory.is_some() {
            text.push_str("cmp = \"measured\"\n");
        }
        for level in Level::ALL.into_iter().filter(|_| !self.links.is_empty()) {
            let _ = writeln!(text, "{} = \"{}\"", level.name(), of_level(level));
        }
    }

    /// Writes to the platform file if a rendezvous progresses while its receiver computes. The written value is that of
    /// the highest network level with a result.
    fn progress(&self, text: &mut String) {
        let told = self.links.iter().rev().find_map(|fit| Some((fit.level, fit.effects.progresses?)));
        let Some((level, progresses)) = told else { return };
        let (engine, found) = if progresses { ("hardware", "progressed") } else { ("call", "did not progress") };
        comment(text, &format!("{}: a posted transfer {found} while its receiver computed.", level.name()));
        let _ = writeln!(text, "progress = \"{engine}\"");
    }

    fn core(&self, text: &mut String) {
        let speed = &self.speed;
        comment(
            text,
            "flops: multiplications and additions of doubles in a compiled loop; instructions: a chain of integer \
             operations;",
        );
        comment(
            text,
            "memory: a triad of arrays larger than most caches. A program's own code may be faster or \
                       slower.",
        );
        let _ = writeln!(text, "[core]\nflops = \"{:.2} Gflop/s\"", speed.flops / 1e9);
        let _ = writeln!(text, "instructions = \"{:.2} Ginstr/s\"", speed.instructions / 1e9);
        let _ = writeln!(text, "memory_bandwidth = \"{:.2} GB/s\"", speed.memory / 1e9);
        if let Some(switch) = self.links.iter().find_map(|fit| fit.effects.context_switch) {
            comment(
                text,
                "context_switch: the latency of small messages between ranks that share a core, because the core \
                 spends this time.",
            );
            let _ = writeln!(text, "context_switch = \"{}\"", span(switch));
        }
        let in_caches = self.library.moves_in_caches().filter(|rate| *rate > speed.memory);
        if let Some(rate) = in_caches.filter(|_| self.caches_of_messages().is_some()) {
            comment(
                text,
                "in_cache: 256 KiB that the MPI library copies or adds up in a rank's own memory, the lower rate.",
            );
            let _ = writeln!(text, "in_cache = {{ memory_bandwidth = \"{:.2} GB/s\" }}", rate / 1e9);
        }
        comment(
            text,
            "Slowdown of code with 1, 2, … ranks on a CMP: the median of the kernels. The stencil is larger than \
             most caches:",
        );
        for (name, factors) in &speed.slowdowns {
            let factors: Vec<String> = factors.iter().map(|factor| format!("{factor:.3}")).collect();
            comment(text, &format!("  {name}: {}", factors.join(", ")));
        }
        let slowdown: Vec<String> = speed.slowdown().iter().map(|factor| format!("{factor:.3}")).collect();
        let _ = writeln!(text, "slowdown = [{}]", slowdown.join(", "));
        if speed.memory_by_ranks.len() > 1 {
            let rate = |(ranks, rate): &(u32, f64)| format!("{ranks}: {:.2} GB/s", rate / 1e9);
            let rates: Vec<String> = speed.memory_by_ranks.iter().map(rate).collect();
            comment(text, &format!("Memory bandwidth of ranks on a CMP together: {}", rates.join(", ")));
        }
        if let Some(memory) = speed.cmp_memory {
            let _ = writeln!(text, "\n[cmp]\nmemory_bandwidth = \"{:.2} GB/s\"", memory / 1e9);
            self.caches(text, memory);
        }
    }

    /// Returns the caches of a CMP if the platform file contains caches. Only the `fair` contention model uses caches.
    fn caches_of_messages(&self) -> Option<MeasuredCaches> {
        let is_fair = self.links.iter().any(|fit| fit.level == Level::IntraCmp && fit.occupancy.is_some());
        MeasuredCaches::of(&self.samples).filter(|_| is_fair && self.speed.cmp_memory.is_some())
    }

    /// Writes the cache size that limits copies of messages.
    fn caches(&self, text: &mut String, memory: f64) {
        let Some(MeasuredCaches { cache, copied }) = self.caches_of_messages() else { return };
        let (size, rate) = (format!("{:.0} KiB", cache / 1024.0), bandwidth(1.0 / copied));
        comment(
            text,
            &format!("Copies of all ranks, each message with buffers of its own: {rate} beyond {size} of buffers."),
        );
        // The written copy bandwidth has as many digits as memory_bandwidth, so it does not exceed memory_bandwidth.
        let moved = (2.0 * copied).min(memory);
        if self.domains.iter().all(|domain| domain.cache.is_none()) {
            let _ = writeln!(text, "cache = \"{size}\"");
        }
        let _ = writeln!(text, "copy_bandwidth = \"{:.2} GB/s\"", (moved / 1e9).max(0.01));
    }

    fn level(&self, text: &mut String, level: Level) {
        text.push('\n');
        let (fit, copied) = match self.links.iter().find(|fit| fit.level == level) {
            Some(fit) => (fit, false),
            // A network level without pairs of ranks is copied from the next nearer level, or otherwise from the next
            // farther level.
            None => match self.links.iter().rev().find(|fit| fit.level < level).or(self.links.first()) {
                Some(fit) => (fit, true),
                None => return,
            },
        };
        if let Some(incast) = self.samples.incast(level) {
            comment(text, &incast);
        }
        if copied {
            let from = fit.level.name();
            comment(
                text,
                &format!(
                    "NOT MEASURED: no ranks use this level. Values are those of {from}, so that the file is \
                          complete."
                ),
            );
        } else if fit.eager.is_none() {
            comment(text, "Sends of all tested sizes completed without a receive.");
        }
        link(text, &LinkFit { level, errors: if copied { Vec::new() } else { fit.errors.clone() }, ..fit.clone() });
    }
}

/// Writes the table of a network level. A comment states the deviation of the table's costs from the measured times.
pub(super) fn link(text: &mut String, fit: &LinkFit) {
    let least = fit.least_latency();
    let (fit, is_raised) = fit.clone().with_least_handshake();
    if !fit.errors.is_empty() {
        let (mean, most, size) = fit.error();
        comment(
            text,
            &format!(
                "Half round trips of {} sizes: the table is off by {:.1} % on average and by {} % at most ({size} B).",
                fit.errors.len(),
                mean * 100.0,
                signed(most * 100.0, 1)
            ),
        );
    }
    if is_raised {
        comment(
            text,
            "handshake: ASSUMED, a twentieth of the time of the smallest messages: the measured value is less.",
        );
    }
    let contention = match (fit.loads.len(), fit.level) {
        _ if fit.occupancy.is_some() => "fair",
        (2.., _) => "measured",
        (_, Level::InterNode) => "share",
        _ => "ideal",
    };
    if fit.rows.iter().any(|row| row.copy.is_some()) {
        comment(
            text,
            "recv_overhead, copy_bandwidth of intervals with both: additional time per message in windows of few.",
        );
    }
    let raised = fit.rows.iter().filter(|row| row.copy.is_none() && copied(&fit, row).is_some()).count();
    if let Some(rate) = fit.occupancy.and_then(|of| of.copy).filter(|_| raised > 0) {
        let s = if raised == 1 { "" } else { "s" };
        comment(
            text,
            &format!(
                "copy_bandwidth of {raised} interval{s}: RAISED from {} to the bandwidth of the ping-pong, which \
                 includes the copy.",
                bandwidth(1.0 / rate)
            ),
        );
    }
    // The upper limit of a copy rate from windows is the time per byte of its table row.
    let bound = fit.rows.iter().filter(|row| row.copy == Some(row.columns[0].1)).count();
    if bound > 0 {
        let s = if bound == 1 { "" } else { "s" };
        comment(
            text,
            &format!(
                "copy_bandwidth of {bound} interval{s}: RAISED from the rate in windows of few to the bandwidth of the \
                 ping-pong, which includes the copy."
            ),
        );
    }
    let _ = writeln!(text, "[{}]\ncontention = \"{contention}\"", fit.level.name());
    if contention == "measured" {
        let _ = writeln!(text, "loads = {:?}", fit.loads);
    }
    if !fit.ranks.is_empty() {
        comment(text, "Lists: values for each number of ranks per node that communicate at the same time.");
        let _ = writeln!(text, "ranks_per_node = {:?}", fit.ranks);
    }
    if let Some(MeasuredOccupancy { capacity, duplex, copy, .. }) = fit.occupancy {
        // Within a node there are no adapters, even if the level's costs were copied from the level between nodes.
        let [capacity, duplex] = [capacity, duplex].map(|rate| rate.filter(|_| fit.level == Level::InterNode));
        for (key, stated) in [("capacity", capacity), ("duplex", duplex), ("copy_bandwidth", copy)] {
            stated.iter().for_each(|rate| _ = writeln!(text, "{key} = \"{}\"", bandwidth(1.0 / rate)));
        }
    }
    if let Some(rate) = between_cmps(&fit) {
        let _ = writeln!(text, "capacity = \"{}\"", bandwidth(1.0 / rate));
    }
    if let Some(gap) = fit.occupancy.and_then(|of| of.duplex_gap).filter(|_| fit.level == Level::InterNode) {
        let _ = writeln!(text, "duplex_gap = \"{}\"", span(gap));
    }
    let MeasuredEffects { connection_time: connection, unexpected_copy_bandwidth, credits, .. } = fit.effects;
    connection.iter().for_each(|seconds| _ = writeln!(text, "connection_time = \"{}\"", span(*seconds)));
    let stated = |rate: &f64| _ = writeln!(text, "unexpected_copy_bandwidth = \"{}\"", bandwidth(1.0 / rate));
    unexpected_copy_bandwidth.iter().for_each(stated);
    credits.iter().for_each(|credits| _ = writeln!(text, "credits = {credits}"));
    if let Some(eager) = fit.eager {
        let _ = writeln!(text, "eager_threshold = {eager}");
    }
    let _ = writeln!(text, "handshake = \"{}\"\ninterval = [", span(fit.handshake));
    let mut above = 0;
    for row in &fit.rows {
        let mut row = row.clone();
        if let Some(capacity) = fit.occupancy.and_then(|of| of.capacity).filter(|_| fit.level == Level::InterNode) {
            keep_below(&mut row, above, 1.0 / capacity, least);
        }
        let copy = copied(&fit, &row);
        let copied = copy.map_or(String::new(), |byte| format!(", copy_bandwidth = \"{}\"", bandwidth(byte)));
        let _ =
            writeln!(text, "    {{ {}{copied} }},{}", interval(&row, contention == "measured"), told_flat(row.flat));
        above = row.up_to.unwrap_or(u64::MAX);
    }
    text.push_str("]\n");
}

/// Writes the table of a place with its costs. `nodes` is the value of the key `nodes`.
pub(super) fn place(text: &mut String, (name, nodes): (&str, &str), fit: &LinkFit) {
    let (fit, _) = fit.clone().with_least_handshake();
    let _ = writeln!(text, "[places.{name}]\nnodes = {nodes}\nhandshake = \"{}\"\ninterval = [", span(fit.handshake));
    for row in &fit.rows {
        let _ = writeln!(text, "    {{ {} }},{}", interval(row, false), told_flat(row.flat));
    }
    text.push_str("]\n");
}

/// Returns the copy time of a core in seconds per byte for an interval of message sizes, if this time differs from the
/// value of the network level. Messages that fit into caches are copied faster, so a message is copied at least as fast
/// as it is transferred.
fn copied(fit: &LinkFit, row: &RowFit) -> Option<f64> {
    let byte = row.columns[0].1;
    let bound = fit.occupancy.and_then(|of| of.copy).filter(|copy| byte * copy < 1.0).map(|_| byte);
    row.copy.or(bound)
}

/// Returns the copy rate from one CMP to another in bytes per second, at the network level between CMPs. Returns `None`
/// if the rate does not exceed the copy rate of a core for the largest messages.
fn between_cmps(fit: &LinkFit) -> Option<f64> {
    let of = fit.occupancy.filter(|_| fit.level == Level::InterCmp)?;
    let largest = fit.rows.last()?;
    let byte = copied(fit, largest).or(of.copy.map(|rate| 1.0 / rate)).unwrap_or(largest.columns[0].1);
    of.between_cmps.filter(|rate| rate * byte > 1.01)
}

/// Limits the bandwidth of a table row to the bandwidth of the adapter, which takes at least `least` seconds per byte,
/// if half round trips hardly grow for message sizes above `above`. The time of the greatest message size does not
/// change, and the latency is at least `least_latency`.
fn keep_below(row: &mut RowFit, above: u64, least: f64, least_latency: f64) {
    let greatest = row.up_to.unwrap_or(above) as f64;
    row.flat &= row.columns.iter().all(|(_, byte)| *byte >= least);
    for (latency, byte) in &mut row.columns {
        if *byte < least {
            *latency = (*latency + greatest * (*byte - least)).max(least_latency);
            *byte = least;
        }
    }
}

/// Writes a table of the base platform with comments, if the base platform has the table.
pub(super) fn taken(text: &mut String, base: &Document, key: &str, what: &[&str]) {
    let Some(value) = base.table().get(key) else { return };
    let table = toml::Table::from_iter([(key.to_owned(), value.clone())]);
    let Ok(written) = toml::to_string(&table) else { return };
    text.push('\n');
    what.iter().for_each(|line| comment(text, line));
    text.push_str(&written);
}

/// Writes a one-line comment to the platform file.
pub(super) fn comment(text: &mut String, line: &str) {
    // Control characters are replaced, because a line break would end the comment in the platform file.
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(text, "# {}", line.trim_end());
}

/// Formats a time for a platform file. The formatted time is at least the least time that the model permits.
fn span(seconds: f64) -> String {
    let span = SimSpan::from_seconds(seconds).unwrap_or(SimSpan::ZERO);
    format!("{:.4}", span.max(SimSpan::from_ps(1000)))
}

pub(super) fn overhead(seconds: f64) -> String {
    format!("{:.4}", SimSpan::from_seconds(seconds).unwrap_or(SimSpan::ZERO))
}

fn bandwidth(per_byte: f64) -> String {
    let rate = (1.0 / per_byte).clamp(1.0, MOST_BANDWIDTH) as u64;
    format!("{:.4}", Bandwidth::new(rate).unwrap_or(Bandwidth::MAX))
}

fn interval(row: &RowFit, measured: bool) -> String {
    let mut parts = Vec::new();
    parts.extend(row.up_to.map(|end| format!("up_to = {end}")));
    let list = |values: Vec<String>| {
        let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
        if measured { format!("[{}]", quoted.join(", ")) } else { quoted[0].clone() }
    };
    let by_ranks = |value: fn(&RankCosts) -> f64, one: f64, text: fn(f64) -> String| {
        let mut values: Vec<String> = row.by_ranks.iter().map(|costs| text(value(costs))).collect();
        if values.is_empty() {
            values.push(text(one));
        }
        let first = format!("\"{}\"", values[0]);
        if values.iter().all(|value| *value == values[0]) { first } else { format!("{values:?}") }
    };
    parts.push(match row.by_ranks.is_empty() {
        true => format!("latency = {}", list(row.columns.iter().map(|(latency, _)| span(*latency)).collect())),
        false => format!("latency = {}", by_ranks(|costs| costs.latency, 0.0, span)),
    });
    parts.push(format!("bandwidth = {}", list(row.columns.iter().map(|(_, byte)| bandwidth(*byte)).collect())));
    let send = by_ranks(|costs| costs.send_overhead, row.send_overhead, overhead);
    let recv = by_ranks(|costs| costs.recv_overhead, row.recv_overhead, overhead);
    let gap = by_ranks(|costs| costs.gap, row.gap, overhead);
    parts.push(format!("send_overhead = {send}, recv_overhead = {recv}, gap = {gap}"));
    parts.join(", ")
}

/// Returns the comment for an interval of message sizes without a measured cost per byte.
pub(super) fn told_flat(flat: bool) -> &'static str {
    if flat { "  # no cost of bytes was seen: this bandwidth or more" } else { "" }
}

/// Formats the costs for an interval of message sizes in which only the total time of a message is known.
pub(super) fn stated_cost(piece: &FitPiece) -> String {
    let mut parts = Vec::new();
    parts.extend(piece.up_to.map(|end| format!("up_to = {end}")));
    parts.push(format!("latency = \"{}\"", span(piece.start)));
    parts.push(format!("bandwidth = \"{}\"", bandwidth(piece.per_byte)));
    parts.join(", ")
}

#[cfg(test)]
mod tests;
