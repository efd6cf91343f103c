//! Compiles statements that are collectives, blocking or non-blocking.

use std::sync::OnceLock;

use crate::config::ConfigError;
use crate::platform::Collective;

use super::super::code::{CollectiveOp, Op, Start};
use super::super::expr::Expr;
use super::super::formula::Formula;
use super::super::node::Node;
use super::Compiler;

/// Keywords of collectives: for each collective, the blocking and the non-blocking keyword.
const COLLECTIVES: [(&str, &str, Collective); 15] = [
    ("barrier", "ibarrier", Collective::Barrier),
    ("bcast", "ibcast", Collective::Bcast),
    ("reduce", "ireduce", Collective::Reduce),
    ("allreduce", "iallreduce", Collective::Allreduce),
    ("gather", "igather", Collective::Gather),
    ("gatherv", "igatherv", Collective::Gatherv),
    ("scatter", "iscatter", Collective::Scatter),
    ("scatterv", "iscatterv", Collective::Scatterv),
    ("allgather", "iallgather", Collective::Allgather),
    ("allgatherv", "iallgatherv", Collective::Allgatherv),
    ("alltoall", "ialltoall", Collective::Alltoall),
    ("alltoallv", "ialltoallv", Collective::Alltoallv),
    ("scan", "iscan", Collective::Scan),
    ("exscan", "iexscan", Collective::Exscan),
    ("reduce_scatter", "ireduce_scatter", Collective::ReduceScatter),
];

/// Returns all keywords of collectives.
pub(in super::super) fn names() -> impl Iterator<Item = &'static str> {
    COLLECTIVES.iter().flat_map(|(blocking, starting, _)| [*blocking, *starting])
}

/// Collective with the keyword `name`, and whether the keyword means a blocking collective.
pub(in super::super) fn by_name(name: &str) -> Option<(Collective, Start)> {
    COLLECTIVES.iter().find_map(|(blocking, starting, collective)| match name {
        _ if name == *blocking => Some((*collective, Start::Blocking)),
        _ if name == *starting => Some((*collective, Start::Request(None))),
        _ => None,
    })
}

/// Returns the arguments of a collective.
pub(in super::super) fn keys(collective: Collective, start: Start) -> Vec<&'static str> {
    let mut known = vec!["comm", "algorithm"];
    if collective != Collective::Barrier {
        known.push("bytes");
    }
    if is_rooted(collective) {
        known.push("root");
    }
    if start != Start::Blocking {
        known.push("request");
    }
    known
}

fn is_rooted(collective: Collective) -> bool {
    use Collective::{Bcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
    matches!(collective, Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv)
}

fn has_blocks(collective: Collective) -> bool {
    use Collective::{Allgatherv, Alltoallv, Gatherv, ReduceScatter, Scatterv};
    matches!(collective, Gatherv | Scatterv | Allgatherv | Alltoallv | ReduceScatter)
}

impl<'a> Compiler<'a> {
    pub(super) fn collective(
        &mut self,
        statement: &Node<'a>,
        node: &Node<'a>,
        name: &str,
        collective: Collective,
        start: Start,
    ) -> Result<(), ConfigError> {
        let fields = node.fields(format!("a table of {name}'s arguments"), &keys(collective, start))?;
        let comm = self.comm(&fields)?;
        let root = fields.formula_or("root", 0, &self.scope)?;
        let bytes = if collective == Collective::Barrier {
            Formula::constant(0)
        } else {
            self.scope.peer = has_blocks(collective);
            let bytes = fields.need("bytes", "a size").and_then(|node| node.size(&self.scope));
            self.scope.peer = false;
            bytes?
        };
        let by_peer = bytes.expr.any(&mut |expr| *expr == Expr::Peer);
        let everywhere_the_same = !bytes.expr.any(&mut depends_on_the_rank);
        let shared = (by_peer && comm == 0 && everywhere_the_same).then(OnceLock::new);
        let algorithm = fields.get("algorithm").map(|node| node.read()).transpose()?;
        let start = self.start(&fields, start)?;
        self.communicating += 1;
        let op = CollectiveOp { collective, comm, root, bytes, by_peer, shared, algorithm, start };
        self.emit(&statement.path, Op::Collective(Box::new(op)));
        Ok(())
    }

    /// Compiles a collective of MPI_COMM_WORLD without arguments.
    pub(super) fn bare_collective(&mut self, statement: &Node<'a>, collective: Collective, start: Start) {
        let zero = || Formula::constant(0);
        self.communicating += 1;
        let (root, bytes) = (zero(), zero());
        let op =
            CollectiveOp { collective, comm: 0, root, bytes, by_peer: false, shared: None, algorithm: None, start };
        self.emit(&statement.path, Op::Collective(Box::new(op)));
    }
}

fn depends_on_the_rank(expr: &Expr) -> bool {
    match expr {
        Expr::Rank | Expr::Name(..) | Expr::Grid(..) | Expr::CommRank(_) | Expr::CommSize(_) => true,
        Expr::Call(function, _) => function.is_random(),
        _ => false,
    }
}
