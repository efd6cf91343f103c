//! Compiled statements: what all ranks share, read-only.

use std::sync::{Arc, OnceLock};

use crate::config::SourceLines;
use crate::platform::{Algorithm, Collective};
use crate::profile::StepSource;
use crate::rank::{Envelope, SendMode};
use crate::units::Bytes;

use super::expr::Expr;
use super::formula::Formula;
use super::random::Family;
use super::value::Value;
use super::world::AppWorld;

/// A place in [`Code::ops`].
pub(super) type Pc = u32;

/// A request's name, by number.
pub(super) type RequestName = u32;

/// A compiled application for a number of ranks.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) world: AppWorld,
    pub(super) ops: Box<[Op]>,
    /// Where each op stands in the file, without the procedures' prefix: `main[2].do[0]`, `exchange[1]`.
    pub(super) places: Box<[Arc<str>]>,
    /// The word of the statement that each op was made of; empty for what no statement says.
    pub(super) operations: Box<[&'static str]>,
    /// The file, if places are to be told with their lines.
    pub(super) source: Option<CodeSource>,
    pub(super) procedures: Vec<Procedure>,
    pub(super) request_names: Vec<String>,
    /// By number; the world is 0.
    pub(super) comm_names: Vec<String>,
    /// Slots a rank.
    pub(super) slots: u32,
    /// What is worked out once all ranks have ended.
    pub(super) results: Option<ResultsCode>,
}

/// `[results]`
#[derive(Debug)]
pub(super) struct ResultsCode {
    pub(super) start: Pc,
    pub(super) end: Pc,
    pub(super) shown: Vec<ResultCode>,
}

/// A figure to show.
#[derive(Debug)]
pub(super) struct ResultCode {
    pub(super) name: String,
    pub(super) value: Formula,
    /// It is shown where this holds.
    pub(super) condition: Option<Formula>,
    pub(super) unit: String,
}

/// The file that code was compiled from.
#[derive(Debug)]
pub(super) struct CodeSource {
    /// Its name, without directories.
    pub(super) name: String,
    /// What it says.
    pub(super) text: Arc<str>,
    /// The line of each op's place, found when the first is asked for.
    lines: OnceLock<Box<[Option<u32>]>>,
}

impl CodeSource {
    /// The file `name` with this text.
    pub(super) fn new(name: &str, text: Arc<str>) -> Self {
        let name = name.rsplit('/').next().unwrap_or(name).to_owned();
        CodeSource { name, text, lines: OnceLock::new() }
    }

    /// The line of the place of op `pc` among `places`. A procedure stands below `procedures`, a whole configuration's
    /// application below `app`.
    fn line(&self, places: &[Arc<str>], pc: Pc) -> Option<u32> {
        let lines = self.lines.get_or_init(|| {
            let source = SourceLines::new(&self.text);
            let line = |place: &Arc<str>| {
                let prefixes: &[&str] = match place.starts_with("end of ") {
                    true => &[],
                    false => &["", "procedures.", "app.", "app.procedures."],
                };
                prefixes.iter().find_map(|at| source.line(&format!("{at}{place}")))
            };
            places.iter().map(line).collect()
        });
        lines.get(pc as usize).copied().flatten()
    }
}

impl Code {
    /// Where op `pc` stands, with file and line if they are known: `main[2].do[0] at app.toml:12`.
    pub(super) fn place_with_line(&self, pc: Pc) -> String {
        let place = &self.places[pc as usize];
        self.line(pc).map_or_else(|| place.to_string(), |line| format!("{place} at {line}"))
    }

    /// File and line of op `pc`, if they are known: `app.toml:12`.
    fn line(&self, pc: Pc) -> Option<String> {
        let source = self.source.as_ref()?;
        source.line(&self.places, pc).map(|line| format!("{}:{line}", source.name))
    }

    /// Where op `pc` stands, as errors tell it: `main[2].do[0] of app.toml:12`.
    pub(super) fn place_in_errors(&self, pc: Pc) -> String {
        self.step_source(pc).place(&self.places[pc as usize])
    }

    /// What op `pc` does, as the file has it, and where it stands.
    pub(super) fn step_source(&self, pc: Pc) -> StepSource {
        let operation = self.operations[pc as usize];
        StepSource { operation: (!operation.is_empty()).then(|| operation.to_owned()), line: self.line(pc) }
    }
}

/// What is told of steps after the end.
impl Code {
    /// What op `pc` does, and where it stands: `isend at ring.toml:7`.
    pub(super) fn site(&self, pc: Pc) -> String {
        let operation = self.operations[pc as usize];
        let place = self.line(pc).unwrap_or_else(|| self.places[pc as usize].to_string());
        format!("{operation} at {place}")
    }

    /// The statement that sent such a message, if there is only one that can have.
    pub(super) fn sender(&self, sent: &Envelope, size: Bytes) -> Option<String> {
        let may_be = |formula: &Formula, found: u64| match formula.expr {
            Expr::Const(Value::Int(stated)) => u64::try_from(stated) == Ok(found),
            _ => true,
        };
        let sends = |op: &Op| {
            let send = match op {
                Op::Send(send) => send,
                Op::Exchange(both) => &both.0,
                _ => return false,
            };
            self.world.comms[send.comm as usize].point_to_point() == sent.context
                && may_be(&send.tag, sent.tag.into())
                && may_be(&send.bytes, size.get())
        };
        let mut found = (0..).zip(&self.ops).filter(|(_, op)| sends(op)).map(|(pc, _)| pc);
        let first = found.next()?;
        found.next().is_none().then(|| self.site(first))
    }
}

/// A procedure's ops and the slot that holds where its call continues. As no procedure calls itself, one is enough.
#[derive(Clone, Debug, Default)]
pub(super) struct Procedure {
    pub(super) name: String,
    pub(super) start: Pc,
    pub(super) end: Pc,
    pub(super) return_slot: u32,
    /// Slots of its parameters.
    pub(super) parameters: Vec<(String, u32)>,
}

/// One step of a rank.
#[derive(Debug)]
pub(super) enum Op {
    Jump(Pc),
    /// Goes on at `to` unless the condition holds.
    Unless {
        condition: Formula,
        to: Pc,
    },
    /// Back to the start of a `while`.
    Again(Pc),
    For(Box<ForLoop>),
    /// Steps the loop begun at this place.
    Next(Pc),
    Repeat {
        count: Formula,
        left: u32,
        exit: Pc,
    },
    /// Counts down and goes on at `body` until nothing is left.
    Turn {
        left: u32,
        body: Pc,
    },
    Set {
        slot: u32,
        value: Formula,
    },
    /// Evaluates the arguments, then goes on in the procedure.
    Call {
        procedure: u32,
        arguments: Box<[(u32, Formula)]>,
    },
    Return {
        slot: u32,
    },
    Compute(Box<Block>),
    Send(Box<Send>),
    Recv(Box<ReceiveOp>),
    Exchange(Box<(Send, ReceiveOp)>),
    Wait(Box<WaitOp>),
    Probe(Box<ReceiveOp>),
    Iprobe {
        pattern: Box<ReceiveOp>,
        found: Option<u32>,
    },
    Collective(Box<CollectiveOp>),
    /// Begins what is timed.
    Time(Box<TimeBlock>),
    /// Ends what is timed, by the slots of its [`TimeBlock`].
    Timed {
        place: u32,
        began: u32,
    },
    Finish,
}

/// `for`: the values at its start are kept in hidden slots, unless they are constants.
#[derive(Debug)]
pub(super) struct ForLoop {
    pub(super) variable: u32,
    pub(super) from: Formula,
    pub(super) to: Formula,
    pub(super) step: Formula,
    /// Holds the value of `to`.
    pub(super) limit: u32,
    /// Holds the value of `step`.
    pub(super) stride: u32,
    pub(super) exit: Pc,
}

/// `time`
#[derive(Debug)]
pub(super) struct TimeBlock {
    pub(super) timer: u32,
    pub(super) at: Formula,
    /// Holds where the element stands.
    pub(super) place: u32,
    /// Holds the clock at the beginning.
    pub(super) began: u32,
}

/// `compute`
#[derive(Debug)]
pub(super) struct Block {
    pub(super) cost: Cost,
    pub(super) times: Option<Formula>,
}

/// What a local block costs.
#[derive(Debug)]
pub(super) enum Cost {
    /// In seconds.
    Time(Formula),
    Work {
        flops: Formula,
        instructions: Formula,
        bytes: Formula,
        /// What it uses; none: more than any cache holds.
        working_set: Option<Formula>,
    },
    /// In seconds.
    Draw { family: Family, a: Formula, b: Formula },
}

/// `send`, `isend`
#[derive(Debug)]
pub(super) struct Send {
    pub(super) to: Formula,
    pub(super) bytes: Formula,
    pub(super) tag: Formula,
    pub(super) comm: u32,
    pub(super) mode: SendMode,
    pub(super) start: Start,
}

/// `recv`, `irecv`, `probe`
#[derive(Debug)]
pub(super) struct ReceiveOp {
    /// `None` is any source.
    pub(super) from: Option<Formula>,
    /// `None` is any tag.
    pub(super) tag: Option<Formula>,
    pub(super) capacity: Option<Formula>,
    pub(super) comm: u32,
    pub(super) start: Start,
    pub(super) outputs: Outputs,
}

/// Whether a statement completes before the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Blocking,
    /// Starts a request, which may have a name.
    Request(Option<RequestName>),
}

/// The slots that take what a completion says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outputs {
    pub(super) source: Option<u32>,
    pub(super) tag: Option<u32>,
    pub(super) bytes: Option<u32>,
}

/// `wait`, `waitall`, `waitany`, `test`
#[derive(Debug)]
pub(super) struct WaitOp {
    pub(super) kind: WaitForm,
    /// `None` is all outstanding requests, in the order they were started.
    pub(super) requests: Option<Box<[RequestName]>>,
    pub(super) outputs: Outputs,
    /// Some name takes what a completion says, here or where a request was started.
    pub(super) told: bool,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitForm {
    All,
    /// With the slot for the index.
    Any(Option<u32>),
    /// With the slot for whether all are done.
    Test(Option<u32>),
}

/// Any collective.
#[derive(Debug)]
pub(super) struct CollectiveOp {
    pub(super) collective: Collective,
    pub(super) comm: u32,
    pub(super) root: Formula,
    pub(super) bytes: Formula,
    /// Whether `bytes` names `peer`.
    pub(super) by_peer: bool,
    /// The blocks of all ranks of the world, where they are the same for all that ask.
    pub(super) shared: Option<OnceLock<Arc<[Bytes]>>>,
    pub(super) algorithm: Option<Algorithm>,
    pub(super) start: Start,
}
