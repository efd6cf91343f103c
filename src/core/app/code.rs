//! Compiled statements of an application. All ranks share the compiled statements, and no rank changes them.

use std::sync::{Arc, OnceLock};

use crate::config::SourceLines;
use crate::platform::{Algorithm, Collective};
use crate::profile::StepSource;
use crate::rank::{Envelope, SendMode};
use crate::units::Bytes;

use super::expr::Expr;
use super::formula::Formula;
use super::random::DistributionKind;
use super::value::Value;
use super::world::AppWorld;

/// Program counter: index of an instruction in [`Code::ops`].
pub(super) type Pc = u32;

/// Index of the name of a request in an application.
pub(super) type RequestName = u32;

/// An application compiled for a number of ranks.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) world: AppWorld,
    pub(super) ops: Box<[Op]>,
    /// Path of each instruction's statement in the file, without the prefix of procedures: `main[2].do[0]`,
    /// `exchange[1]`.
    pub(super) places: Box<[Arc<str>]>,
    /// Keyword of the statement of each instruction; empty for generated instructions.
    pub(super) operations: Box<[&'static str]>,
    /// Source file, if reports state the lines of statements.
    pub(super) source: Option<CodeSource>,
    pub(super) procedures: Vec<Procedure>,
    pub(super) request_names: Vec<String>,
    /// Names of the communicators, indexed by identifier. MPI_COMM_WORLD has identifier 0.
    pub(super) comm_names: Vec<String>,
    /// Number of variables of each rank.
    pub(super) slots: u32,
    /// Code that computes the results of the application after all ranks have ended.
    pub(super) results: Option<ResultsCode>,
}

/// Compiled table `[results]` of an application.
#[derive(Debug)]
pub(super) struct ResultsCode {
    pub(super) start: Pc,
    pub(super) end: Pc,
    pub(super) shown: Vec<ResultCode>,
}

/// A result of an application: a value that the application reports.
#[derive(Debug)]
pub(super) struct ResultCode {
    pub(super) name: String,
    pub(super) value: Formula,
    /// Condition under which the application reports the value, if any.
    pub(super) condition: Option<Formula>,
    pub(super) unit: String,
}

/// Source file of a compiled application.
#[derive(Debug)]
pub(super) struct CodeSource {
    /// File name of the application without directories.
    pub(super) name: String,
    /// Text of the source file.
    pub(super) text: Arc<str>,
    /// Line of each instruction in the source file, computed when a line is first needed.
    lines: OnceLock<Box<[Option<u32>]>>,
}

impl CodeSource {
    /// Creates the source file `name` with the content `text`.
    pub(super) fn new(name: &str, text: Arc<str>) -> Self {
        let name = name.rsplit('/').next().unwrap_or(name).to_owned();
        CodeSource { name, text, lines: OnceLock::new() }
    }

    /// Source line of the instruction `pc`, whose path is in `places`. In an application file, procedures are below the
    /// key `procedures`. In a complete configuration, the application is below the key `app`.
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
    /// Path of the instruction `pc`, with file and line if known: `main[2].do[0] at app.toml:12`.
    pub(super) fn place_with_line(&self, pc: Pc) -> String {
        let place = &self.places[pc as usize];
        self.line(pc).map_or_else(|| place.to_string(), |line| format!("{place} at {line}"))
    }

    /// File and line of the instruction `pc`, if known: `app.toml:12`.
    fn line(&self, pc: Pc) -> Option<String> {
        let source = self.source.as_ref()?;
        source.line(&self.places, pc).map(|line| format!("{}:{line}", source.name))
    }

    /// Path of the instruction `pc` as printed in errors: `main[2].do[0] of app.toml:12`.
    pub(super) fn place_in_errors(&self, pc: Pc) -> String {
        self.step_source(pc).place(&self.places[pc as usize])
    }

    /// Keyword of the instruction `pc` as written in the file, and its source line.
    pub(super) fn step_source(&self, pc: Pc) -> StepSource {
        let operation = self.operations[pc as usize];
        StepSource { operation: (!operation.is_empty()).then(|| operation.to_owned()), line: self.line(pc) }
    }
}

/// Descriptions of instructions for reports after the end of a run.
impl Code {
    /// Keyword and source line of the instruction `pc`: `isend at ring.toml:7`.
    pub(super) fn site(&self, pc: Pc) -> String {
        let operation = self.operations[pc as usize];
        let place = self.line(pc).unwrap_or_else(|| self.places[pc as usize].to_string());
        format!("{operation} at {place}")
    }

    /// Statement that sent a message with envelope `sent` and size `size`; `None` if several statements can have sent
    /// the message.
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

/// Instructions of a procedure, and the variable for its return address. One variable suffices because procedures are
/// not recursive.
#[derive(Clone, Debug, Default)]
pub(super) struct Procedure {
    pub(super) name: String,
    pub(super) start: Pc,
    pub(super) end: Pc,
    pub(super) return_slot: u32,
    /// Names and variables of the procedure's parameters.
    pub(super) parameters: Vec<(String, u32)>,
}

/// An instruction of a rank's code.
#[derive(Debug)]
pub(super) enum Op {
    Jump(Pc),
    /// Jumps to `to` unless the condition is true.
    Unless {
        condition: Formula,
        to: Pc,
    },
    /// Jumps back to the start of a `while` loop.
    Again(Pc),
    For(Box<ForLoop>),
    /// Advances the `for` loop that begins at this instruction.
    Next(Pc),
    Repeat {
        count: Formula,
        left: u32,
        exit: Pc,
    },
    /// Decrements the counter of a `repeat` loop, and jumps to `body` until the counter is zero.
    Turn {
        left: u32,
        body: Pc,
    },
    Set {
        slot: u32,
        value: Formula,
    },
    /// Evaluates the arguments of a procedure call, then jumps to the procedure.
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
    /// Begins a timed block of statements.
    Time(Box<TimeBlock>),
    /// Ends a timed block of statements; the variables are the variables of the block's [`TimeBlock`].
    Timed {
        place: u32,
        began: u32,
    },
    Finish,
}

/// A `for` loop. Hidden variables store the values of `to` and `step` at the start of the loop, unless `to` and `step`
/// are constants.
#[derive(Debug)]
pub(super) struct ForLoop {
    pub(super) variable: u32,
    pub(super) from: Formula,
    pub(super) to: Formula,
    pub(super) step: Formula,
    /// Hidden variable that stores the value of `to`.
    pub(super) limit: u32,
    /// Hidden variable that stores the value of `step`.
    pub(super) stride: u32,
    pub(super) exit: Pc,
}

/// A compiled `time` statement, which measures the time of a block of statements.
#[derive(Debug)]
pub(super) struct TimeBlock {
    pub(super) timer: u32,
    pub(super) at: Formula,
    /// Variable that stores the position of the timer element of the block.
    pub(super) place: u32,
    /// Variable that stores the virtual time at the beginning of the timed block.
    pub(super) began: u32,
}

/// A compiled `compute` statement.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) cost: Cost,
    pub(super) times: Option<Formula>,
}

/// Cost of a block of local computing.
#[derive(Debug)]
pub(super) enum Cost {
    /// Time of the block in seconds.
    Time(Formula),
    Work {
        flops: Formula,
        instructions: Formula,
        bytes: Formula,
        /// Size of the working set in bytes. `None` means that the working set exceeds every cache.
        working_set: Option<Formula>,
    },
    /// Random time of the block in seconds.
    Draw { family: DistributionKind, a: Formula, b: Formula },
}

/// A compiled `send` or `isend` statement.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) to: Formula,
    pub(super) bytes: Formula,
    pub(super) tag: Formula,
    pub(super) comm: u32,
    pub(super) mode: SendMode,
    pub(super) start: Start,
}

/// A compiled `recv`, `irecv` or `probe` statement.
#[derive(Debug)]
pub(super) struct ReceiveOp {
    /// Expression for the source; `None` means any source.
    pub(super) from: Option<Formula>,
    /// Expression for the tag; `None` means any tag.
    pub(super) tag: Option<Formula>,
    pub(super) capacity: Option<Formula>,
    pub(super) comm: u32,
    pub(super) start: Start,
    pub(super) outputs: CompletionSlots,
}

/// Whether a communication statement blocks until its operation completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Blocking,
    /// The statement starts a request, which may have a name.
    Request(Option<RequestName>),
}

/// Variables to which the values of a completion are assigned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CompletionSlots {
    pub(super) source: Option<u32>,
    pub(super) tag: Option<u32>,
    pub(super) bytes: Option<u32>,
}

/// A compiled `wait`, `waitall`, `waitany` or `test` statement.
#[derive(Debug)]
pub(super) struct WaitOp {
    pub(super) kind: WaitForm,
    /// Names of the requests; `None` means all outstanding requests, in the order of their start.
    pub(super) requests: Option<Box<[RequestName]>>,
    pub(super) outputs: CompletionSlots,
    /// Whether variables receive values of the completions, by this statement or by the statement that started a
    /// request.
    pub(super) reported: bool,
}

/// Which requests a wait or test statement completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitForm {
    All,
    /// Waits for any one request. The variable, if stated, receives the index of the completed request.
    Any(Option<u32>),
    /// Tests all requests. The variable, if stated, receives whether all requests are complete.
    Test(Option<u32>),
}

/// A compiled collective statement, such as a bcast.
#[derive(Debug)]
pub(super) struct CollectiveOp {
    pub(super) collective: Collective,
    pub(super) comm: u32,
    pub(super) root: Formula,
    pub(super) bytes: Formula,
    /// Whether the expression `bytes` of the collective contains the name `peer`.
    pub(super) by_peer: bool,
    /// Sizes of the blocks of all ranks of MPI_COMM_WORLD, if all callers compute the same list.
    pub(super) shared: Option<OnceLock<Arc<[Bytes]>>>,
    pub(super) algorithm: Option<Algorithm>,
    pub(super) start: Start,
}
