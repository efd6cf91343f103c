//! Keys of `[tasks]` that configure the management of fragments: policy of the task manager, creation of fragments,
//! threads, costs of the task manager. `--set app.tasks.KEY=VALUE` sets a key.

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
    /// Policy that decides on which MPI process a fragment runs.
    Manager {
        /// The locators of the fragments decide the process.
        Static = "static",
        /// A process without ready fragments requests fragments from other processes.
        Stealing = "stealing",
        /// Process 0 keeps all fragments and sends them to the other processes one by one.
        Queue = "queue",
    }
}
words! {
    /// Position of structured fragments, which create other fragments, among the ready fragments.
    Unfold {
        /// Structured fragments precede all other ready fragments.
        Early = "early",
        /// All ready fragments are in the order in which they became ready.
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
    /// Thread on which the task manager of an MPI process runs.
    Progress {
        /// The task manager has its own thread, in addition to the threads that execute fragments.
        Thread = "thread",
        /// The task manager runs between fragments, on the single thread that executes fragments.
        Between = "between",
    }
}
words! {
    /// MPI process to which a request for work is sent.
    Victim {
        /// The request for work goes to a random other MPI process.
        Random = "random",
        /// The request for work goes to the MPI process with the next rank.
        Ring = "ring",
    }
}
words! {
    /// Number of fragments that a victim sends in answer to a request for work.
    Take {
        /// The victim sends one fragment.
        One = "one",
        /// The victim sends half of its ready fragments, rounded up.
        Half = "half",
    }
}

/// Options that configure the management of fragments.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub manager: Manager,
    pub unfold: Unfold,
    /// Greatest number of fragments that a structured fragment creates without interruption; 0 means all its fragments.
    pub batch: u32,
    pub order: Order,
    /// Number of threads per MPI process that execute fragments.
    pub threads: u32,
    pub progress: Progress,
    pub victim: Victim,
    pub take: Take,
    /// Greatest number of processes that a request for work visits.
    pub tries: u32,
    /// Pause after an unsuccessful request for work. Each further failure doubles the pause, up to 1024 times the first
    /// pause.
    pub retry: SimSpan,
    /// Number of fragments that the central work queue sends to a process beyond the number of its threads.
    pub ahead: u32,
    /// Number of fragments on a process above which a dynamic locator forwards new fragments to another process.
    pub threshold: u32,
    /// Greatest number of times that a dynamic locator forwards a fragment.
    pub transfers: u32,
    /// Time that the task manager spends on each fragment that enters the distribution stage.
    pub distribute: SimSpan,
    /// Time that the task manager spends on each message, at the sender and at the receiver.
    pub message: SimSpan,
    /// Time that a thread spends to take one fragment from the queue of ready fragments.
    pub dispatch: SimSpan,
    /// Time that a thread spends on each fragment that a structured fragment creates.
    pub unfolding: SimSpan,
    /// Time that the task manager spends on each executed fragment.
    pub finish: SimSpan,
    /// Size of the message that moves a fragment to another process.
    pub fragment_bytes: Bytes,
    /// Size of a message that requests data or work.
    pub request_bytes: Bytes,
}

/// Reader of the keys of `[tasks]` whose values are numbers.
struct Numbers<'a, 'b> {
    fields: &'a Fields<'b>,
    scope: &'a Scope,
}

/// Reads the options from `fields`. If `env` is `None`, expressions with unknown values have the value 1, and the
/// function only finds errors. Otherwise the function returns the options for a run.
///
/// # Errors
/// The value of a key is an unknown word, an expression without a value, or a number outside its limits.
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

/// Value that the word at `key` selects. If the table lacks the key, the value of the first word.
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
