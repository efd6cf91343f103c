//! Keys of `[tasks]` that configure the management of fragments: manager, unfolding, threads, costs of the manager.
//! `--set app.tasks.KEY=VALUE` sets a key.

use crate::config::ConfigError;
use crate::units::{Bytes, SimSpan};

use super::super::expr::Env;
use super::super::formula::Formula;
use super::super::node::{Fields, Node, alternatives};
use super::super::scope::Scope;
use super::super::value::{EvalError, Value};
use super::message::MOST_HOPS;

/// All keys of `[tasks]` that configure the management of fragments.
pub(in super::super) const KEYS: [&str; 20] = [
    "manager",
    "unfold",
    "batch",
    "order",
    "threads",
    "progress",
    "victim",
    "take",
    "tries",
    "retry",
    "ahead",
    "threshold",
    "transfers",
    "distribute",
    "message",
    "dispatch",
    "unfolding",
    "finish",
    "fragment_bytes",
    "request_bytes",
];

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $name { $($(#[$of])* $variant),* }

        impl $name {
            const WORDS: &[(&str, $name)] = &[$(($word, $name::$variant)),*];
        }
    };
}

words! {
    /// Policy that decides on which process a fragment runs.
    Manager {
        /// The locators of fragments decide.
        Static = "static",
        /// A process without ready fragments requests fragments from other processes.
        Stealing = "stealing",
        /// Process 0 keeps all fragments and sends them to the other processes one by one.
        Queue = "queue",
    }
}
words! {
    /// Position of structured fragments (which create other fragments) among the ready fragments.
    Unfold {
        /// Structured fragments are before all others.
        Early = "early",
        /// All fragments are in the order in which they became ready.
        InTurn = "in-turn",
        /// Structured fragments are executed only if no other fragment is ready.
        Late = "late",
    }
}
words! {
    /// Order in which ready fragments are executed.
    Order {
        /// The fragment that became ready first is executed next.
        Fifo = "fifo",
        /// The fragment that became ready last is executed next.
        Lifo = "lifo",
    }
}
words! {
    /// Thread on which the manager of a process runs.
    Progress {
        /// The manager has its own thread, in addition to those that execute fragments.
        Thread = "thread",
        /// The manager runs between fragments, on the single thread that executes fragments.
        Between = "between",
    }
}
words! {
    /// Process that receives a request for work.
    Victim {
        /// A random other process.
        Random = "random",
        /// The process with the next number.
        Ring = "ring",
    }
}
words! {
    /// Number of fragments in the answer to a request for work.
    Take {
        /// One fragment.
        One = "one",
        /// Half of the ready fragments, rounded up.
        Half = "half",
    }
}

/// Options of the management of fragments.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub manager: Manager,
    pub unfold: Unfold,
    /// Greatest number of fragments that a structured fragment creates at a time; 0 means all.
    pub batch: u32,
    pub order: Order,
    /// Number of threads per process that execute fragments.
    pub threads: u32,
    pub progress: Progress,
    pub victim: Victim,
    pub take: Take,
    /// Greatest number of processes visited by a request for work.
    pub tries: u32,
    /// Pause after a request for work without success. Each further failure doubles the pause, up to 1024 times the
    /// first one.
    pub retry: SimSpan,
    /// Number of fragments that the work queue sends to a process in addition to its threads.
    pub ahead: u32,
    /// Number of fragments on a process from which a dynamic locator forwards new fragments to another process.
    pub threshold: u32,
    /// Greatest number of times that a dynamic locator forwards a fragment.
    pub transfers: u32,
    /// Time that the manager spends per fragment that enters the distribution stage.
    pub distribute: SimSpan,
    /// Time that the manager spends per message, both at the sender and at the receiver.
    pub message: SimSpan,
    /// Time that a thread spends to take a fragment from the queue of ready fragments.
    pub dispatch: SimSpan,
    /// Time that a thread spends per fragment that a structured fragment creates.
    pub unfolding: SimSpan,
    /// Time that the manager spends per executed fragment.
    pub finish: SimSpan,
    /// Size of the message that contains a migrating fragment.
    pub fragment_bytes: Bytes,
    /// Size of the message of a request for data or work.
    pub request_bytes: Bytes,
}

/// Reader of the keys whose values are numbers.
struct Numbers<'a, 'b> {
    fields: &'a Fields<'b>,
    scope: &'a Scope,
}

/// Reads the keys. If `env` is `None`, expressions with unknown values have the value 1, and the result serves only to
/// find errors. Otherwise returns the values for a run.
///
/// # Errors
/// A key has an unknown word, an expression without a value, or a number outside its limits.
pub(super) fn read(fields: &Fields<'_>, scope: &Scope, env: Option<&mut Env<'_>>) -> Result<Options, ConfigError> {
    let mut env = env;
    let numbers = Numbers { fields, scope };
    let mut whole = |key, default, low, high| numbers.whole(key, default, (low, high), env.as_deref_mut());
    let options = Options {
        manager: word(fields, "manager", Manager::WORDS)?,
        unfold: word(fields, "unfold", Unfold::WORDS)?,
        order: word(fields, "order", Order::WORDS)?,
        progress: word(fields, "progress", Progress::WORDS)?,
        victim: word(fields, "victim", Victim::WORDS)?,
        take: word(fields, "take", Take::WORDS)?,
        batch: whole("batch", 0, 0, i64::from(u32::MAX))?,
        threads: whole("threads", 1, 1, 1024)?,
        tries: whole("tries", 8, 1, 255)?,
        ahead: whole("ahead", 0, 0, 1_000_000)?,
        threshold: whole("threshold", 8, 1, i64::from(u32::MAX))?,
        transfers: whole("transfers", 1, 0, i64::from(MOST_HOPS))?,
        fragment_bytes: Bytes::new(u64::from(whole("fragment_bytes", 96, 0, 1 << 30)?)),
        request_bytes: Bytes::new(u64::from(whole("request_bytes", 40, 0, 1 << 30)?)),
        retry: numbers.time("retry", SimSpan::from_ps(20_000_000), env.as_deref_mut())?,
        distribute: numbers.time("distribute", SimSpan::ZERO, env.as_deref_mut())?,
        message: numbers.time("message", SimSpan::ZERO, env.as_deref_mut())?,
        dispatch: numbers.time("dispatch", SimSpan::ZERO, env.as_deref_mut())?,
        unfolding: numbers.time("unfolding", SimSpan::ZERO, env.as_deref_mut())?,
        finish: numbers.time("finish", SimSpan::ZERO, env)?,
    };
    if options.progress == Progress::Between && options.threads > 1 {
        let node = fields.get("threads").unwrap_or_else(|| fields.node.clone());
        return Err(node.expected_value("1 thread where progress = \"between\"", options.threads));
    }
    if options.retry == SimSpan::ZERO {
        let node = fields.get("retry").unwrap_or_else(|| fields.node.clone());
        return Err(node.expected_value("a time above 0, such as \"20 us\"", "0"));
    }
    Ok(options)
}

/// Value that the word at `key` selects. If `key` is missing, the value of the first word.
fn word<T: Copy>(fields: &Fields<'_>, key: &str, words: &[(&str, T)]) -> Result<T, ConfigError> {
    let Some(node) = fields.get(key) else { return Ok(words[0].1) };
    let found = node.value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
    found.map(|&(_, value)| value).ok_or_else(|| {
        let quoted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        node.expected(alternatives(&quoted.iter().map(String::as_str).collect::<Vec<_>>()))
    })
}

impl Numbers<'_, '_> {
    fn whole(
        &self,
        key: &str,
        default: i64,
        (low, high): (i64, i64),
        env: Option<&mut Env<'_>>,
    ) -> Result<u32, ConfigError> {
        let Some(node) = self.fields.get(key) else { return Ok(default as u32) };
        let formula = node.size(self.scope)?;
        let Some(env) = env else { return Ok(default as u32) };
        let value = formula.whole(env).map_err(|fault| node.error(fault))?;
        u32::try_from(value)
            .ok()
            .filter(|_| (low..=high).contains(&value))
            .ok_or_else(|| node.expected_value(format!("a whole number from {low} to {high}"), value))
    }

    fn time(&self, key: &str, default: SimSpan, env: Option<&mut Env<'_>>) -> Result<SimSpan, ConfigError> {
        let Some(node) = self.fields.get(key) else { return Ok(default) };
        let formula = node.time(self.scope)?;
        let Some(env) = env else { return Ok(default) };
        span(&node, &formula, env)
    }
}

fn span(node: &Node<'_>, formula: &Formula, env: &mut Env<'_>) -> Result<SimSpan, ConfigError> {
    let seconds = formula.number(env).map_err(|fault| node.error(fault))?;
    SimSpan::from_seconds(seconds).ok_or_else(|| {
        node.error(EvalError::new(format!("expected a time from 0 to 213 days; found {} s", Value::Float(seconds))))
    })
}
