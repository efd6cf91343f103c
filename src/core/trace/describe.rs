//! Texts that the subcommand `mcpsim trace` prints about a trace, in at most 80 columns.

use std::fmt::Write;
use std::sync::Arc;

use super::count::OperationCounts;
use super::read::Trace;
use crate::rank::{
    COMPLETE, Call, DataBlock, MemoryBlock, Message, Pattern, Program, Rank, Reply, ReplyKind, SERVICE, SendMode,
    Source, TagPattern,
};
use crate::units::{Bytes, SimSpan, SimTime};

/// Text that describes the recorded run and the size of the trace.
pub fn info(trace: &Trace) -> String {
    let header = trace.header();
    let all = trace.counts().into_iter().fold(OperationCounts::default(), OperationCounts::plus);
    let [n, c, t] = header.nct;
    let size = trace.bytes.len() as u64;
    let least = header.factors.iter().copied().reduce(f64::min);
    let most = header.factors.iter().copied().reduce(f64::max);
    let compute = match least.zip(most) {
        None => "of stated length".to_owned(),
        Some((one, other)) if one == other => format!("real code, its times multiplied by {one}"),
        Some((least, most)) => format!("real code, its times multiplied by {least} to {most}"),
    };
    let mut text = format!("{}: {}\n\n", clip(&header.app, 60), count(header.ranks.into(), "rank", "ranks"));
    let mut line = |key: &str, value: String| _ = writeln!(text, "  {key:<12} {value}");
    line("recorded by", format!("mcpsim {}, format {}", clip(&header.mcpsim, 20), trace.version()));
    line("on", format!("{} ({n}, {c}, {t}), model {}", clip(&header.platform, 30), clip(&header.model, 10)));
    line("seed", header.seed.to_string());
    line("blocks", compute);
    line("calls", thousands(all.calls));
    line("messages", format!("{}, {}", thousands(all.messages), Bytes::new(all.bytes)));
    if all.collectives > 0 {
        line(
            "collectives",
            format!("{}, as calls: a replay's library decides their messages", thousands(all.collectives)),
        );
    }
    line("computing", format!("{}, all ranks together", all.compute));
    line("file", format!("{}{}", Bytes::new(size), each(size, all.messages)));
    let (ops, codes, tasks) = (trace.ops.len(), trace.codes.len(), trace.tasks.len());
    line("kept as", format!("{ops} operations, {codes} sequences, {tasks} tasks"));
    text
}

fn each(size: u64, messages: u64) -> String {
    if messages == 0 { String::new() } else { format!(", {:.3} B per message", size as f64 / messages as f64) }
}

/// Table of the recorded calls by type, and of their distribution over ranks.
pub fn stats(trace: &Trace) -> String {
    let mut text = String::from("  calls by kind          count    share\n");
    let kinds = trace.kinds();
    let all = kinds.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    for (word, number) in kinds {
        let share = number as f64 * 100.0 / all.max(1) as f64;
        _ = writeln!(text, "  {word:<10} {:>17} {share:>7.1}%", thousands(number));
    }
    let counts = trace.counts();
    _ = writeln!(
        text,
        "\n  {:<11} {:>16} {:>14} {:<6} {:>14} {:<6}",
        "a rank", "mean", "least", "@rank", "most", "@rank"
    );
    let mut row = |name: &str, value: fn(&OperationCounts) -> u64, shown: fn(u64) -> String| {
        let numbered = || counts.iter().map(value).zip(0u32..);
        let Some((least, at_least)) = numbered().min_by_key(|&(value, _)| value) else { return };
        let (most, at_most) =
            numbered().max_by_key(|&(value, rank)| (value, std::cmp::Reverse(rank))).unwrap_or((0, 0));
        let sum: u128 = numbered().map(|(value, _)| u128::from(value)).sum();
        let mean = shown((sum / counts.len().max(1) as u128) as u64);
        _ = writeln!(
            text,
            "  {name:<11} {mean:>16} {:>14} {at_least:<6} {:>14} {at_most:<6}",
            shown(least),
            shown(most)
        );
    };
    row("calls", |counts| counts.calls, thousands);
    row("messages", |counts| counts.messages, thousands);
    row("volume", |counts| counts.bytes, |bytes| Bytes::new(bytes).to_string());
    row("computing", |counts| counts.compute.as_ps(), |span| SimSpan::from_ps(span).to_string());
    row("collectives", |counts| counts.collectives, thousands);
    row("strands", |counts| counts.strands, thousands);
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Text of the first `calls` calls of `rank`, one call per line.
pub fn head(trace: &Arc<Trace>, rank: Rank, calls: u64) -> String {
    let mut program = trace.calls(rank);
    let mut text = String::new();
    let mut started = 0;
    let mut kind = ReplyKind::Begin;
    for number in 1..=calls {
        let call = program.next(Reply { clock: SimTime::ZERO, kind });
        _ = writeln!(text, "{}", clip(&format!("{number:>7}  {}", described(&call, started)), 80));
        kind = match call {
            Call::Finish | Call::Fail(_) => return text,
            Call::Isend(_) | Call::Irecv(_) | Call::Start(_) => {
                started += 1;
                ReplyKind::Started(started - 1)
            }
            _ => ReplyKind::Done,
        };
    }
    text
}

/// Text that describes a call of a trace. If the call starts a request, `next` identifies the request.
fn described(call: &Call, next: u32) -> String {
    let requests = |requests: &[u32]| {
        let shown = requests.iter().filter(|&&id| id != COMPLETE).map(|id| format!("#{id}"));
        shown.collect::<Vec<_>>().join(" ")
    };
    match call {
        Call::Compute(span) | Call::Code(span) => format!("compute {span}"),
        Call::Data(DataBlock { size, span, combines: false, .. }) => format!("copy {size} in {span}"),
        Call::Data(DataBlock { size, span, .. }) => format!("combine {size} in {span}"),
        Call::Work(MemoryBlock { core, bytes }) => format!("compute {core} {bytes} of memory"),
        Call::Send(message) => format!("send {}", sent(message)),
        Call::Recv(pattern) => format!("recv {}", received(pattern)),
        Call::Exchange(message, pattern) => format!("sendrecv {}, {}", sent(message), received(pattern)),
        Call::Isend(message) => format!("isend #{next} {}", sent(message)),
        Call::Irecv(pattern) if pattern.context == SERVICE => format!("irecv #{next} of another thread"),
        Call::Irecv(pattern) => format!("irecv #{next} {}", received(pattern)),
        Call::WaitAll(all) | Call::Complete(all) => format!("wait {}", requests(all)),
        Call::WaitAny(all) => format!("waitany {}", requests(all)),
        Call::Test { poll: true, .. } => "poll without success".to_owned(),
        Call::Test { requests, .. } if requests.is_empty() => "look in vain".to_owned(),
        Call::Test { requests: all, .. } if all.iter().all(|&id| id == COMPLETE) => "look".to_owned(),
        Call::Test { requests: all, .. } => format!("test {}", requests(all)),
        Call::Idle(span) => format!("idle at most {span}"),
        Call::Cancel(id) => format!("cancel #{id}"),
        Call::Probe(pattern) => format!("probe {}", received(pattern)),
        Call::Iprobe(pattern) => format!("iprobe {}", received(pattern)),
        Call::Start(strand) => format!("start #{next} {}", strand.position().unwrap_or_default()),
        Call::Enter(entry) if entry.bytes > Bytes::ZERO => format!("enter {}, {}", entry.name, entry.bytes),
        Call::Enter(entry) => format!("enter {}", entry.name),
        Call::Leave => "leave".to_owned(),
        Call::Mark(_) => "mark of a thread".to_owned(),
        Call::Yield => "yield".to_owned(),
        Call::Finish => "finish".to_owned(),
        Call::Fail(error) => format!("fail: {}", error.what),
    }
}

fn sent(message: &Message) -> String {
    let mode = match message.mode {
        SendMode::Standard => "",
        SendMode::Synchronous => ", synchronous",
        SendMode::Buffered => ", buffered",
    };
    let Message { to, tag, context, size, .. } = message;
    format!("{size} to {to}, tag {tag}, context {context}{mode}")
}

fn received(pattern: &Pattern) -> String {
    let from = match pattern.from {
        Source::Rank(rank) => rank.to_string(),
        Source::Any => "any".to_owned(),
    };
    let tag = match pattern.tag {
        TagPattern::Tag(tag) => tag.to_string(),
        TagPattern::Any => "any".to_owned(),
    };
    format!("from {from}, tag {tag}, context {}", pattern.context)
}

/// Formats an integer with thousands separators, or as a power of ten if the digits need too much space.
fn thousands(number: u64) -> String {
    if number >= 10_000_000_000 {
        return format!("{:.3e}", number as f64);
    }
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn count(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { more })
}

/// Returns at most `most` characters of the text, with control characters replaced.
fn clip(text: &str, most: usize) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).take(most).collect();
    shown
}
