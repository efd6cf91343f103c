//! Names that an expression may use, and the meaning of these names.

use std::collections::BTreeMap;

use super::expr::Expr;
use super::functions::NumericFunction;
use super::grid::NONE;
use super::lexer;
use super::timers::TimerFunction;
use super::value::Value;
use crate::config::did_you_mean;

/// Names with a fixed meaning. Parameters, variables and loop variables must not have these names.
pub(super) const RESERVED: [&str; 10] =
    ["rank", "size", "seed", "peer", "none", "null", "true", "false", "any", "world"];

/// Functions of grids and communicators, in addition to [`NumericFunction::ALL`].
const PLACE_FUNCTIONS: [&str; 6] = ["coord", "dims", "neighbor", "rank_at", "comm_rank", "comm_size"];

/// Quantities that the expressions of a table may depend on. A variant also permits the quantities of the previous
/// variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Expressions in `[params]` may use earlier parameters.
    Params,
    /// Expressions in `[grids]` may also use the number of ranks and the seed.
    Run,
    /// Expressions in `[tasks]` may also use the indices and random numbers of a fragment.
    Tasks,
    /// Expressions in `[comms]` may also use the rank, grids and earlier communicators.
    Rank,
    /// All other expressions may also use the names of `[let]` and random numbers.
    All,
}

/// Names that an expression may use, with their meanings.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) reach: Reach,
    /// Whether the expression may use the name `peer`.
    pub(super) peer: bool,
    params: BTreeMap<String, Value>,
    globals: BTreeMap<String, u32>,
    /// Loop variables and procedure parameters with their variable indices, in order of nesting, innermost last.
    locals: Vec<(String, u32, Local)>,
    grids: Vec<(String, usize)>,
    comms: Vec<String>,
    timers: Vec<String>,
    /// Whether the timers of all ranks are known, as in expressions of `[results]`.
    pub(super) results: bool,
    run: Option<(u32, u64)>,
}

/// Type of a local name: loop variable or procedure parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Local {
    /// A loop variable, to which statements cannot assign values.
    Loop,
    /// A parameter of a procedure, to which statements may assign values.
    Parameter,
}

impl Scope {
    /// Creates a scope with only the parameters `params`. `run` is the number of ranks and the seed, if known.
    pub(super) fn new(params: BTreeMap<String, Value>, run: Option<(u32, u64)>) -> Self {
        Scope {
            reach: Reach::Params,
            peer: false,
            params,
            globals: BTreeMap::new(),
            locals: Vec::new(),
            grids: Vec::new(),
            comms: vec!["world".to_owned()],
            timers: Vec::new(),
            results: false,
            run,
        }
    }

    pub(super) fn size(&self) -> Option<u32> {
        self.run.map(|(size, _)| size)
    }

    /// Number of ranks and the seed, if known.
    pub(super) fn run(&self) -> Option<(u32, u64)> {
        self.run
    }

    pub(super) fn add_param(&mut self, name: &str, value: Value) {
        self.params.insert(name.to_owned(), value);
    }

    pub(super) fn into_params(self) -> BTreeMap<String, Value> {
        self.params
    }

    pub(super) fn add_global(&mut self, name: &str, slot: u32) {
        self.globals.insert(name.to_owned(), slot);
    }

    pub(super) fn add_grid(&mut self, name: &str, dimensions: usize) {
        self.grids.push((name.to_owned(), dimensions));
    }

    pub(super) fn add_comm(&mut self, name: &str) {
        self.comms.push(name.to_owned());
    }

    pub(super) fn add_timer(&mut self, name: &str) {
        self.timers.push(name.to_owned());
    }

    /// Index of the timer `name`.
    pub(super) fn timer(&self, name: &str) -> Result<u32, String> {
        let index = self.timers.iter().position(|timer| timer == name);
        let known = || self.timers.iter().map(String::as_str);
        index.map(|index| index as u32).ok_or_else(|| match did_you_mean(name, known()) {
            hint if hint.is_empty() => format!("unknown timer \"{name}\"{}", one_of("timers", known())),
            hint => format!("unknown timer \"{name}\"{hint}"),
        })
    }

    pub(super) fn push_local(&mut self, name: &str, slot: u32, kind: Local) {
        self.locals.push((name.to_owned(), slot, kind));
    }

    pub(super) fn pop_local(&mut self) {
        self.locals.pop();
    }

    /// Checks that the name `name` is unused and can be defined. The error states the present meaning of the name.
    pub(super) fn is_free(&self, name: &str) -> Result<(), String> {
        let well_formed = lexer::word(name) == Some(name) && !lexer::KEYWORDS.contains(&name);
        if !well_formed {
            return Err(format!("\"{name}\" is no name, expected letters, digits and \"_\", beginning with a letter"));
        }
        let taken = if RESERVED.contains(&name) {
            "has a fixed meaning"
        } else if self.params.contains_key(name) {
            "is a parameter"
        } else if self.locals.iter().any(|(local, ..)| local == name) {
            "is a loop variable or parameter around this"
        } else if self.globals.contains_key(name) {
            "is a name of [let] or set elsewhere"
        } else {
            return Ok(());
        };
        Err(format!("\"{name}\" {taken}, choose another name"))
    }

    /// Index of the variable `name`, to which a statement assigns a value.
    pub(super) fn assignable(&self, name: &str) -> Result<u32, String> {
        match self.locals.iter().rev().find(|(local, ..)| local == name) {
            Some((_, slot, Local::Parameter)) => Ok(*slot),
            Some(_) => Err(format!("\"{name}\" counts a loop and cannot be set")),
            None => match self.globals.get(name) {
                Some(slot) => Ok(*slot),
                None => Err(format!("unknown name \"{name}\"")),
            },
        }
    }

    /// Expression for the value of the name `name`.
    pub(super) fn name(&self, name: &str) -> Result<Expr, String> {
        let needs = |reach: Reach, expr: Expr| {
            let part = match self.reach {
                Reach::Params => "parameters",
                Reach::Run => "grids",
                Reach::Tasks => "fragments",
                _ => "communicators",
            };
            if self.reach >= reach {
                Ok(expr)
            } else {
                Err(format!("\"{name}\" is not known where {part} are defined"))
            }
        };
        let int = |n: i64| Expr::Const(Value::Int(n));
        match name {
            "none" | "null" => return Ok(int(NONE)),
            "true" => return Ok(Expr::Const(Value::Bool(true))),
            "false" => return Ok(Expr::Const(Value::Bool(false))),
            "rank" => return needs(Reach::Rank, Expr::Rank),
            "size" => return needs(Reach::Run, self.run.map_or(Expr::Size, |(size, _)| int(i64::from(size)))),
            "seed" => return needs(Reach::Run, self.run.map_or(Expr::Seed, |(_, seed)| int(seed as i64))),
            "peer" if self.peer => return Ok(Expr::Peer),
            "peer" => {
                let forms = "gatherv, scatterv, allgatherv, alltoallv and reduce_scatter";
                return Err(format!("\"peer\" has a meaning only in the bytes of {forms}"));
            }
            "any" => return Err("\"any\" has a meaning only by itself, as the from or tag of a receive".to_owned()),
            _ => {}
        }
        if let Some((_, slot, _)) = self.locals.iter().rev().find(|(local, ..)| local == name) {
            return Ok(Expr::Name(*slot, name.into()));
        }
        if let Some(slot) = self.globals.get(name) {
            return Ok(Expr::Name(*slot, name.into()));
        }
        if let Some(value) = self.params.get(name) {
            return Ok(Expr::Const(*value));
        }
        if NumericFunction::ALL.iter().any(|function| function.name() == name) || PLACE_FUNCTIONS.contains(&name) {
            return Err(format!("\"{name}\" is a function, expected \"(\" after it"));
        }
        let known = self.params.keys().chain(self.globals.keys()).chain(self.locals.iter().map(|(name, ..)| name));
        let known = known.map(String::as_str).chain(["rank", "size", "seed"]);
        Err(format!("unknown name \"{name}\"{}", did_you_mean(name, known)))
    }

    pub(super) fn unknown_function(&self, name: &str) -> String {
        let known = NumericFunction::ALL.iter().map(|function| function.name()).chain(PLACE_FUNCTIONS);
        let known = known.chain(TimerFunction::ALL.map(TimerFunction::name));
        format!("unknown function \"{name}\"{}", did_you_mean(name, known))
    }

    /// Checks that the expression may use random numbers.
    pub(super) fn random(&self) -> Result<(), String> {
        if matches!(self.reach, Reach::All | Reach::Tasks) {
            return Ok(());
        }
        Err("random numbers differ from rank to rank and can be used only in [let] and statements".to_owned())
    }

    /// Index of the grid `name`.
    pub(super) fn grid(&self, name: &str) -> Result<u32, String> {
        if self.reach < Reach::Rank {
            return Err("grids are not known yet where parameters and grids are defined".to_owned());
        }
        match self.grids.iter().position(|(grid, _)| grid == name) {
            Some(index) => Ok(index as u32),
            None => {
                Err(format!("unknown grid \"{name}\"{}", one_of("grids", self.grids.iter().map(|(grid, _)| &**grid))))
            }
        }
    }

    pub(super) fn dimensions(&self, grid: u32) -> usize {
        self.grids[grid as usize].1
    }

    /// Identifier of the communicator `name`. MPI_COMM_WORLD has identifier 0.
    pub(super) fn comm(&self, name: &str) -> Result<u32, String> {
        if self.reach < Reach::Rank {
            return Err("communicators are not known yet where parameters and grids are defined".to_owned());
        }
        match self.comms.iter().position(|comm| comm == name) {
            Some(index) => Ok(index as u32),
            None => Err(format!("unknown communicator \"{name}\"{}", one_of("comms", self.comms.iter().map(|c| &**c)))),
        }
    }
}

/// Returns the text `, expected one of a, b`, or a text that the section defines no names.
pub(super) fn one_of<'a>(section: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [] => format!(", there are no [{section}]"),
        [name] => format!(", expected {name}"),
        [names @ .., last] => format!(", expected {} or {last}", names.join(", ")),
    }
}
