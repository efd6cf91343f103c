//! Call paths of a program's own functions, if the program is compiled with `-finstrument-functions`.
//!
//! The compiler calls `__cyg_profile_func_enter` and `__cyg_profile_func_exit` in each function. MPI functions are the
//! ends of call paths.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;

use mcpsim_core::engine::PathTimes;
use mcpsim_core::units::{SimSpan, SimTime};

use super::{Function, NamedFunction, Process, current};

/// Functions that instrumented code calls.
pub const FUNCTIONS: &[NamedFunction] = &[
    ("__cyg_profile_func_enter", Function(enter as *const ())),
    ("__cyg_profile_func_exit", Function(leave as *const ())),
];

/// Greatest number of call paths of a rank. Deeper calls count as part of their caller.
const MOST_PATHS: usize = 10_000;

/// Call paths of a rank, as a tree.
#[derive(Debug, Default)]
pub struct CallTree {
    paths: RefCell<PathTree>,
    /// True while the rank is in an MPI function that is the end of a call path.
    in_mpi: Cell<bool>,
}

#[derive(Debug, Default)]
struct PathTree {
    nodes: Vec<PathNode>,
    known: HashMap<(usize, CodeName), usize>,
    /// Functions that have not returned: function, node, and time of the call.
    open: Vec<(CodeName, usize, SimTime)>,
}

/// Function at the end of a call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CodeName {
    Own(usize),
    Mpi(&'static str),
}

#[derive(Debug)]
struct PathNode {
    caller: usize,
    name: CodeName,
    times: PathTimes,
    /// Inclusive time of the called functions that have a path of their own.
    called: SimSpan,
}

impl PathNode {
    fn times(&self) -> PathTimes {
        PathTimes { exclusive: self.times.inclusive.saturating_sub(self.called), ..self.times }
    }
}

/// Number of the node of code outside of instrumented functions.
const OUTSIDE: usize = usize::MAX;

impl PathTree {
    fn begin(&mut self, name: CodeName, now: SimTime) {
        let caller = self.open.last().map_or(OUTSIDE, |open| open.1);
        let next = self.nodes.len();
        let node = match self.known.get(&(caller, name)) {
            Some(node) => *node,
            None if next == MOST_PATHS => caller,
            None => {
                self.nodes.push(PathNode { caller, name, times: PathTimes::default(), called: SimSpan::ZERO });
                self.known.insert((caller, name), next);
                next
            }
        };
        self.open.push((name, node, now));
    }

    /// Ends the function `name`, and functions that it called and that a jump has left.
    fn end(&mut self, name: CodeName, now: SimTime) {
        let Some(place) = self.open.iter().rposition(|open| open.0 == name) else { return };
        while self.open.len() > place {
            let Some((name, node, since)) = self.open.pop() else { return };
            // A call without a node of its own is a part of its caller.
            let Some(of) = self.nodes.get_mut(node).filter(|of| of.name == name) else { continue };
            let span = now.since(since);
            of.times.calls += 1;
            of.times.inclusive += span;
            let caller = of.caller;
            if let Some(caller) = self.nodes.get_mut(caller) {
                caller.called += span;
            }
        }
    }
}

impl CallTree {
    /// Begins the MPI function `name` at the end of the present call path.
    pub fn begin_mpi(&self, name: &'static str, now: SimTime) {
        let mut paths = self.paths.borrow_mut();
        if !paths.open.is_empty() && !self.in_mpi.replace(true) {
            paths.begin(CodeName::Mpi(name), now);
        }
    }

    /// Ends the MPI function at the end of the present call path.
    pub fn end_mpi(&self, now: SimTime) {
        if !self.in_mpi.replace(false) {
            return;
        }
        let mut paths = self.paths.borrow_mut();
        if let Some((name @ CodeName::Mpi(_), ..)) = paths.open.last().copied() {
            paths.end(name, now);
        }
    }

    /// Returns true if the rank is in an MPI function that is the end of a call path.
    #[inline]
    pub fn is_in_mpi(&self) -> bool {
        self.in_mpi.get()
    }

    /// Returns the call paths, whose functions are separated by " > ", with their times.
    pub fn take(&self, p: &Process, now: SimTime) -> BTreeMap<String, PathTimes> {
        let mut paths = self.paths.take();
        while let Some((name, ..)) = paths.open.last().copied() {
            paths.end(name, now);
        }
        let mut names: Vec<String> = Vec::with_capacity(paths.nodes.len());
        let mut found = BTreeMap::<String, PathTimes>::new();
        for node in &paths.nodes {
            let name = match node.name {
                CodeName::Mpi(name) => name.to_owned(),
                CodeName::Own(address) => function_name(p, address),
            };
            let path = names.get(node.caller).map_or(name.clone(), |caller| format!("{caller} > {name}"));
            *found.entry(path.clone()).or_default() += node.times();
            names.push(path);
        }
        found
    }
}

/// Name of the function at `address`, without its position.
fn function_name(p: &Process, address: usize) -> String {
    let instance = p.instance.borrow();
    let Some((module, offset)) = instance.as_ref().and_then(|instance| instance.contains(address)) else {
        return format!("{address:#x}");
    };
    let place = p.job.describe(module, offset);
    let name = place.split_once(" at ").map_or(place.as_str(), |(name, _)| name);
    name.split_once("+0x").map_or(name, |(name, _)| name).to_owned()
}

/// Calls `record` with the call paths and the present time of the rank, whose timer stands still meanwhile.
fn with_tree(record: impl FnOnce(&mut PathTree, SimTime)) {
    let Some(p) = current().filter(|p| p.counts.has_paths.get() && !p.tree.is_in_mpi()) else { return };
    p.pause_timer();
    record(&mut p.tree.paths.borrow_mut(), p.reached());
    p.start_timer();
}

extern "C" fn enter(function: *const c_void, _: *const c_void) {
    with_tree(|paths, now| paths.begin(CodeName::Own(function as usize), now));
}

extern "C" fn leave(function: *const c_void, _: *const c_void) {
    with_tree(|paths, now| paths.end(CodeName::Own(function as usize), now));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_for_its_path_and_exclusive_times_add_up() {
        let at = |us| SimTime::ZERO + SimSpan::from_us(us);
        let tree = CallTree::default();
        let begin = |name, us| tree.paths.borrow_mut().begin(CodeName::Own(name), at(us));
        let end = |name, us| tree.paths.borrow_mut().end(CodeName::Own(name), at(us));
        // main calls 1 and 2, and each calls the barrier.
        begin(0, 0);
        begin(1, 10);
        tree.begin_mpi("MPI_Barrier", at(12));
        tree.begin_mpi("MPI_Send", at(13));
        tree.end_mpi(at(15));
        end(1, 20);
        begin(2, 20);
        tree.begin_mpi("MPI_Barrier", at(20));
        tree.end_mpi(at(26));
        end(2, 30);
        end(0, 31);
        let paths = tree.paths.borrow();
        let found: Vec<_> = paths
            .nodes
            .iter()
            .map(|node| {
                let PathTimes { calls, inclusive, exclusive } = node.times();
                (node.name, calls, inclusive.as_ps() / 1_000_000, exclusive.as_ps() / 1_000_000)
            })
            .collect();
        let (own, mpi) = (CodeName::Own, CodeName::Mpi("MPI_Barrier"));
        assert_eq!(
            found,
            [(own(0), 1, 31, 11), (own(1), 1, 10, 7), (mpi, 1, 3, 3), (own(2), 1, 10, 4), (mpi, 1, 6, 6)]
        );
        let total: u64 = found.iter().map(|row| row.3).sum();
        assert_eq!(total, 31);
    }
}
