//! Compiles the statements of an application file to instructions. Names become variable indices, requests become
//! integers, and loops become jumps.
//!
//! The compiler runs when mcpsim loads the file, to find errors that do not depend on the number of ranks. The compiler
//! runs again for each number of ranks, and then replaces all expressions with known values by constants.

mod collective;
mod control;
mod operation;
mod procedure;
mod results;

pub(super) use collective::{by_name as collective_by_name, keys as collective_keys, names as collective_names};
pub(super) use control::CONTROL;
pub(super) use operation::{KEYS as OPERATION_KEYS, MODES, block, block_keys};
pub(super) use procedure::PROCEDURE_KEYS;
pub(super) use results::{RESULT_KEYS, RESULTS_KEYS};

use std::sync::Arc;

use crate::config::ConfigError;

use super::code::{Code, CompletionSlots, Op, Pc, Procedure, RequestName, Start};
use super::formula::Formula;
use super::node::Node;
use super::results::of_one_rank;
use super::scope::{Reach, Scope};
use super::world::AppWorld;

/// The sections of an application file that are compiled to code.
#[derive(Clone, Debug)]
pub(super) struct AppParts<'a> {
    pub(super) lets: Option<Node<'a>>,
    pub(super) procedures: Option<Node<'a>>,
    pub(super) main: Node<'a>,
    pub(super) results: Option<Node<'a>>,
}

/// Expected form of a list of statements, for error messages.
const STATEMENTS: &str = "an array of statements";

/// Greatest nesting depth of statements. It is below the limit of the TOML reader, so that this module reports the
/// error.
const MAX_DEPTH: u32 = 30;

/// Compiles `parts` with the parameters, grids and communicators of `scope`. A loop is an error if it never
/// communicates and has a constant number of iterations above `max_turns`.
pub(super) fn compile(parts: &AppParts<'_>, scope: Scope, max_turns: u64) -> Result<Code, ConfigError> {
    let mut compiler = Compiler::new(scope, max_turns);
    compiler.scope.reach = Reach::All;
    compiler.declare_procedures(parts.procedures.as_ref())?;
    compiler.compile_lets(parts)?;
    compiler.block(&parts.main)?;
    compiler.emit("end of main", Op::Finish);
    let results = compiler.compile_results(parts.results.as_ref())?;
    compiler.compile_procedures(parts.procedures.as_ref())?;
    if let Some(results) = &results {
        compiler.check_results(parts.results.as_ref(), results)?;
    }
    compiler.check_waits()?;
    find_reported(&mut compiler.ops);
    Ok(Code {
        world: AppWorld::default(),
        ops: compiler.ops.into(),
        places: compiler.places.into(),
        operations: compiler.operations.into(),
        source: None,
        procedures: compiler.procedures,
        request_names: compiler.requests,
        comm_names: Vec::new(),
        slots: compiler.slots,
        results,
    })
}

/// Finds the waits whose completions the program does not use, because the engine executes these waits faster.
fn find_reported(ops: &mut [Op]) {
    let nothing = CompletionSlots::default();
    let asks =
        |op: &Op| matches!(op, Op::Recv(receive) if receive.start != Start::Blocking && receive.outputs != nothing);
    let reported = ops.iter().any(asks);
    for op in ops {
        if let Op::Wait(wait) = op {
            wait.reported = reported || wait.outputs != nothing;
        }
    }
}

struct Compiler<'a> {
    scope: Scope,
    ops: Vec<Op>,
    places: Vec<Arc<str>>,
    operations: Vec<&'static str>,
    /// Keyword of the statement that the compiler compiles at present.
    word: &'static str,
    procedures: Vec<Procedure>,
    /// For each procedure, the procedures that it calls, in the order of the calls.
    calls: Vec<Vec<u32>>,
    /// Index of the procedure that the compiler compiles at present.
    current: Option<u32>,
    requests: Vec<String>,
    started: Vec<bool>,
    /// Named requests that statements wait for, with the position of each name in the file.
    waits: Vec<(RequestName, Node<'a>)>,
    /// Next free variable index for a loop.
    next_slot: u32,
    /// Number of variable indices assigned so far.
    slots: u32,
    /// Number of statements compiled so far that communicate, or that call a procedure, which may communicate.
    communicating: u64,
    max_turns: u64,
    depth: u32,
    /// Names of `[let]` with their variable indices. A name has also its value, if the value is equal for all ranks.
    lets: Vec<(String, u32, Option<Formula>)>,
}

impl<'a> Compiler<'a> {
    fn new(scope: Scope, max_turns: u64) -> Self {
        Compiler {
            scope,
            ops: Vec::new(),
            places: Vec::new(),
            operations: Vec::new(),
            word: "",
            procedures: Vec::new(),
            calls: Vec::new(),
            current: None,
            requests: Vec::new(),
            started: Vec::new(),
            waits: Vec::new(),
            next_slot: 0,
            slots: 0,
            communicating: 0,
            max_turns,
            depth: 0,
            lets: Vec::new(),
        }
    }

    fn emit(&mut self, place: &str, op: Op) -> Pc {
        let place = place.strip_prefix("procedures.").unwrap_or(place);
        let place = match self.places.last() {
            Some(last) if **last == *place => last.clone(),
            _ => place.into(),
        };
        self.ops.push(op);
        self.places.push(place);
        self.operations.push(self.word);
        self.here() - 1
    }

    /// Index that the next compiled instruction will have.
    fn here(&self) -> Pc {
        self.ops.len() as Pc
    }

    fn new_slot(&mut self) -> u32 {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.slots = self.slots.max(self.next_slot);
        slot
    }

    /// Compiles the table `[let]`, then declares all other names to which statements assign values.
    fn compile_lets(&mut self, parts: &AppParts<'a>) -> Result<(), ConfigError> {
        if let Some(lets) = &parts.lets {
            for (name, node) in lets.entries("a table of names and expressions")? {
                self.scope.is_free(name).map_err(|what| node.error(what))?;
                let value = node.formula(&self.scope)?;
                let slot = self.new_slot();
                self.scope.add_global(name, slot);
                let same = of_one_rank(&value.expr, &|slot| self.differs(slot)).is_none();
                self.lets.push((name.to_owned(), slot, same.then(|| value.clone())));
                self.emit(&node.path, Op::Set { slot, value });
            }
        }
        let mut names = Vec::new();
        assigned_names(parts.main.value, &[], &mut names);
        if let Some(node) = &parts.results {
            assigned_names(node.value, &[], &mut names);
        }
        if let Some(node) = &parts.procedures {
            for (name, body) in node.entries("a table of procedures")? {
                let procedure = self.procedures.iter().find(|procedure| procedure.name == name);
                let own: Vec<&str> =
                    procedure.map_or(Vec::new(), |p| p.parameters.iter().map(|(name, _)| &**name).collect());
                assigned_names(body.value, &own, &mut names);
            }
        }
        for name in names {
            // If a statement assigns to a name that it must not assign to, the compiler reports the error when it
            // compiles that statement.
            if self.scope.is_free(name).is_ok() {
                let slot = self.new_slot();
                self.scope.add_global(name, slot);
            }
        }
        Ok(())
    }

    /// Compiles a list of statements.
    fn block(&mut self, node: &Node<'a>) -> Result<(), ConfigError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(node.error(format!("statements nested more than {MAX_DEPTH} deep")));
        }
        for statement in node.items(STATEMENTS)? {
            self.statement(&statement)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Index of the request name `name`.
    fn request(&mut self, name: &str) -> RequestName {
        let index = self.requests.iter().position(|request| request == name).unwrap_or_else(|| {
            self.requests.push(name.to_owned());
            self.started.push(false);
            self.requests.len() - 1
        });
        index as RequestName
    }

    fn check_waits(&self) -> Result<(), ConfigError> {
        match self.waits.iter().find(|(name, _)| !self.started[*name as usize]) {
            None => Ok(()),
            Some((name, node)) => Err(node.error(format!(
                "no statement starts the request \"{}\", which is waited for",
                self.requests[*name as usize]
            ))),
        }
    }
}

/// Collects the names to which the statements within `value` assign, except the names `own`, in the order of the file.
fn assigned_names<'a>(value: &'a toml::Value, own: &[&str], names: &mut Vec<&'a str>) {
    match value {
        toml::Value::Array(items) => items.iter().for_each(|item| assigned_names(item, own, names)),
        toml::Value::Table(table) => {
            for (key, value) in table {
                let set: Vec<&str> = match value {
                    toml::Value::String(name) if key.ends_with("_as") => vec![name],
                    toml::Value::Table(set) if key == "set" => set.keys().map(String::as_str).collect(),
                    _ => {
                        assigned_names(value, own, names);
                        continue;
                    }
                };
                for name in set {
                    if !own.contains(&name) && !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        _ => {}
    }
}
