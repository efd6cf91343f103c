//! An application with a known number of ranks: grids have extents, communicators have members, and constant
//! expressions have values.

use std::sync::Arc;

use crate::config::{ConfigError, Document};
use crate::platform::{CoreRates, MemoryPart};
use crate::profile::{AppResult, TimerSums};
use crate::rank::Rank;

use super::code::Code;
use super::expr::Env;
use super::formula::Formula;
use super::grid::{Grid, NONE};
use super::node::Node;
use super::program::{AppProgram, FragmentProgram, RankProgram, SharedProgram};
use super::random::Random;
use super::scope::{Reach, Scope};
use super::slots::Slots;
use super::value::{EvalError, Evaluated};
use super::world::{AppWorld, CommTable};
use super::{results, tasks, timers};

/// Simulated machine and run for which an application is compiled.
#[derive(Clone, Debug)]
pub struct TargetMachine {
    /// Number of ranks; at least 1.
    pub ranks: u32,
    /// Computing rates of the ranks' cores.
    pub rates: CoreRates,
    /// Seed of the random numbers that ranks draw.
    pub seed: u64,
    /// Greatest number of loop iterations of a rank between two communications.
    pub max_turns: u64,
}

impl TargetMachine {
    /// Default of `max_turns`. No useful program reaches this number of iterations, which an endless loop reaches in a
    /// tenth of a second.
    pub const DEFAULT_MAX_TURNS: u64 = 10_000_000;
}

/// An application from which the program of each rank can be created.
#[derive(Clone, Debug)]
pub struct BoundApp {
    kind: ProgramKind,
}

/// Compiled form of an application: statements, or fragments of a task-based program.
#[derive(Clone, Debug)]
enum ProgramKind {
    Statements(Arc<SharedProgram>),
    Fragments(Arc<tasks::SharedTasks>),
}

impl BoundApp {
    pub(super) fn new(code: Code, target: TargetMachine) -> Self {
        let shared = SharedProgram { code, rates: target.rates, max_turns: target.max_turns };
        BoundApp { kind: ProgramKind::Statements(Arc::new(shared)) }
    }

    pub(super) fn of_fragments(shared: Arc<tasks::SharedTasks>) -> Self {
        BoundApp { kind: ProgramKind::Fragments(shared) }
    }

    /// Adds the names of fragments to the logs of the run, if the application is task-based.
    #[must_use]
    pub fn with_names(self) -> Self {
        match self.kind {
            ProgramKind::Fragments(shared) => BoundApp::of_fragments(tasks::named(shared)),
            kind => BoundApp { kind },
        }
    }

    /// Creates the program of `rank`. The rank may use the share `memory_share` of the memory bandwidth and caches. If
    /// `memory_share` is a number, it is the memory bandwidth in bytes per second (see [`CoreRates::memory_share`]).
    ///
    /// # Panics
    /// If `rank` is not below the number of ranks.
    pub fn program(&self, rank: Rank, memory_share: impl Into<MemoryPart>) -> AppProgram {
        let memory_share = memory_share.into();
        match &self.kind {
            ProgramKind::Statements(shared) => {
                assert!(rank < shared.code.world.size, "rank {rank} of {}", shared.code.world.size);
                AppProgram::Statements(RankProgram::new(shared.clone(), rank, memory_share))
            }
            ProgramKind::Fragments(shared) => {
                AppProgram::Fragments(FragmentProgram(tasks::program(shared, rank, memory_share)))
            }
        }
    }

    /// Computes the application's results from the timers of all ranks. A result that has no value contains the reason.
    pub fn results(&self, timed: &TimerSums) -> Vec<AppResult> {
        match &self.kind {
            ProgramKind::Statements(shared) => results::work_out(shared, timed),
            ProgramKind::Fragments(_) => Vec::new(),
        }
    }
}

/// Keys of a grid.
pub(super) const GRID_KEYS: [&str; 2] = ["dims", "periodic"];

/// Keys of a communicator.
pub(super) const COMM_KEYS: [&str; 4] = ["split", "key", "grid", "keep"];

/// Returns the names of communicators, in the order of their identifiers.
pub(super) fn comm_names(document: &Document) -> Vec<String> {
    let table = document.table().get("comms").and_then(toml::Value::as_table);
    ["world".to_owned()].into_iter().chain(table.into_iter().flat_map(|table| table.keys().cloned())).collect()
}

/// Reads the tables `[grids]` and `[comms]` of an application. If the number of ranks is known, computes the extents of
/// grids and the members of communicators.
pub(super) fn arrange(document: &Document, mut scope: Scope) -> Result<(Scope, AppWorld), ConfigError> {
    let mut arranged = AppWorld::default();
    if let Some((size, seed)) = scope.run() {
        arranged = AppWorld { size, seed, comms: vec![CommTable::world(size)], ..AppWorld::default() };
    }
    if let Some(grids) = Node::top(document, "grids") {
        scope.reach = Reach::Run;
        for (name, node) in grids.entries("a table of grids")? {
            scope.is_free(name).map_err(|what| node.error(what))?;
            let dimensions = grid(&node, &scope, &mut arranged)?;
            scope.add_grid(name, dimensions);
        }
    }
    if let Some(node) = Node::top(document, "timers") {
        timers::arrange(&node, &mut scope, &mut arranged)?;
    }
    scope.reach = Reach::Rank;
    if let Some(comms) = Node::top(document, "comms") {
        for (index, (name, node)) in comms.entries("a table of communicators")?.into_iter().enumerate() {
            scope.is_free(name).map_err(|what| node.error(what))?;
            comm(&node, index as u32 + 1, &scope, &mut arranged)?;
            scope.add_comm(name);
        }
    }
    Ok((scope, arranged))
}

/// Reads a grid and adds it to `arranged` if the number of ranks is known. Returns the number of dimensions of the
/// grid.
fn grid(node: &Node<'_>, scope: &Scope, arranged: &mut AppWorld) -> Result<usize, ConfigError> {
    let fields = node.fields("a grid such as { dims = [0, 0], periodic = true }", &GRID_KEYS)?;
    let dims_node = fields.need("dims", "the extents, 0 for one to choose")?;
    let dims_items = dims_node.items("an array of extents, 0 for one to choose")?;
    if !(1..=8).contains(&dims_items.len()) {
        return Err(dims_node.expected_value("1 to 8 extents", dims_items.len()));
    }
    let formulas = |nodes: &[Node<'_>]| nodes.iter().map(|node| node.formula(scope)).collect::<Result<Vec<_>, _>>();
    let dims = formulas(&dims_items)?;
    let periodic_node = fields.get("periodic");
    let periodic = match &periodic_node {
        None => Vec::new(),
        Some(node) if node.value.is_array() => formulas(&node.items("")?)?,
        Some(node) => vec![node.formula(scope)?; dims.len()],
    };
    if let Some(node) = periodic_node.as_ref().filter(|_| periodic.len() != dims.len()) {
        return Err(node.expected_value(
            format!("true, false or one of these for each of {} dimensions", dims.len()),
            format!("{} values", periodic.len()),
        ));
    }
    if scope.size().is_none() {
        return Ok(dims.len());
    }
    let mut extents = Vec::new();
    for (item, extent) in dims_items.iter().zip(&dims) {
        let extent = for_rank(arranged, 0, |env| extent.expr.evaluate(env)?.whole());
        let extent = extent.map_err(|fault| item.expected_value("an extent", fault))?;
        extents.push(u32::try_from(extent).map_err(|_| item.expected_value("an extent of at least 0", extent))?);
    }
    let mut wraps = vec![false; dims.len()];
    for (wraps, formula) in wraps.iter_mut().zip(&periodic) {
        *wraps = for_rank(arranged, 0, |env| formula.truth(env)).map_err(|fault| node.error(fault))?;
    }
    let grid = Grid::new(&extents, &wraps, arranged.size).ok_or_else(|| {
        let verb = if extents.contains(&0) { "divide" } else { "multiply to" };
        let expected = format!("extents that {verb} the number of ranks, {} (0 lets mcpsim choose)", arranged.size);
        dims_node.expected_value(expected, format!("{extents:?}"))
    })?;
    arranged.grids.push(grid);
    Ok(dims.len())
}

/// Reads a communicator and adds it to `arranged` if the number of ranks is known.
fn comm(node: &Node<'_>, id: u32, scope: &Scope, arranged: &mut AppWorld) -> Result<(), ConfigError> {
    const FORM: &str = "a communicator such as { split = \"rank // 4\" } or { grid = \"g\", keep = [true, false] }";
    let fields = node.fields(FORM, &COMM_KEYS)?;
    let places = if let Some(split) = fields.formula("split", scope)? {
        if fields.get("grid").or(fields.get("keep")).is_some() {
            return Err(node.expected(FORM));
        }
        let key = fields.formula_or("key", 0, scope)?;
        split_places(node, &split, &key, arranged)?
    } else {
        let grid_node = fields.need("grid", "a grid's name, unless there is a split")?;
        let grid = scope.grid(grid_node.text("a grid's name")?).map_err(|what| grid_node.error(what))?;
        let keep_node = fields.need("keep", "whether the ranks along a dimension stay together, for each dimension")?;
        let keep: Vec<bool> = keep_node.read()?;
        if keep.len() != scope.dimensions(grid) {
            let expected = format!("true or false for each of {} dimensions", scope.dimensions(grid));
            return Err(keep_node.expected_value(expected, format!("{} values", keep.len())));
        }
        let grid = arranged.grids.get(grid as usize);
        let color = |rank| grid.map(|grid| (grid.color(rank, &keep), 0));
        (0..arranged.size).map(color).collect()
    };
    if scope.size().is_some() {
        arranged.comms.push(CommTable::split(id, &places));
    }
    Ok(())
}

fn split_places(
    node: &Node<'_>,
    split: &Formula,
    key: &Formula,
    arranged: &AppWorld,
) -> Result<Vec<Option<(i64, i64)>>, ConfigError> {
    let place =
        |rank| {
            for_rank(arranged, rank, |env| {
                let (color, key) = (split.whole(env)?, key.whole(env)?);
                match color {
                    NONE => Ok(None),
                    0.. => Ok(Some((color, key))),
                    _ => Err(split
                        .explain(&EvalError::new(format!("expected a color of at least 0, or none; found {color}")))),
                }
            })
            .map_err(|fault| node.error(format!("{fault}, for rank {rank},")))
        };
    (0..arranged.size).map(place).collect()
}

fn for_rank<T>(arranged: &AppWorld, rank: Rank, evaluate: impl FnOnce(&mut Env<'_>) -> Evaluated<T>) -> Evaluated<T> {
    let slots = Slots::new(0);
    evaluate(&mut Env { world: arranged, rank, slots: &slots, random: &mut Random::default(), peer: NONE })
}
