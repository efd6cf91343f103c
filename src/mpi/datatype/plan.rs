//! Location of the data of a datatype as a small tree. The nodes of the tree are runs of equal elements, loops over
//! runs, and lists of runs for irregular layouts.
//!
//! Data are in the order of the type map; the packed form has the same order without gaps. A vector datatype with a
//! million blocks is one loop. Adjacent runs are merged on construction, so contiguous data are a single run.

use std::sync::Arc;

use super::kind::BasicKind;

/// Greatest length of a list of runs that is copied into an enclosing list. Longer lists of runs are shared by
/// reference count.
const INLINE: usize = 64;

/// Location of the data of a datatype, `at` bytes from the datatype's origin.
#[derive(Clone, Debug)]
pub(super) struct PackPlan {
    pub at: i64,
    /// Number of bytes of data, which is the size of the packed form.
    pub bytes: u64,
    /// Number of basic elements in the data of the plan.
    pub basics: u64,
    pub node: PlanNode,
}

#[derive(Clone, Debug)]
pub(super) enum PlanNode {
    Nothing,
    /// A run: adjacent basic elements of the same type.
    Run(&'static BasicKind),
    /// Copies of the plan `body`, `stride` bytes apart. The displacement of `body` is 0.
    Loop {
        count: u64,
        stride: i64,
        body: Arc<PackPlan>,
    },
    /// A list of runs of basic elements at arbitrary displacements.
    Runs(Arc<[Run]>),
    /// A list of arbitrary plans at arbitrary displacements.
    Parts(Arc<[Part]>),
}

/// A run in a list of runs. `start` is the offset of the run in the packed form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub at: i64,
    pub start: u64,
    pub bytes: u64,
    pub kind: &'static BasicKind,
}

/// A plan in a list of plans. `start` is the offset of the plan's data in the packed form.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub start: u64,
    pub plan: PackPlan,
}

impl PackPlan {
    pub const NOTHING: PackPlan = PackPlan { at: 0, bytes: 0, basics: 0, node: PlanNode::Nothing };

    /// Returns the plan of `n` adjacent basic elements at displacement `at`.
    pub fn run(at: i64, kind: &'static BasicKind, n: u64) -> PackPlan {
        match n * kind.size() as u64 {
            0 => PackPlan::NOTHING,
            bytes => PackPlan { at, bytes, basics: n * kind.basics(), node: PlanNode::Run(kind) },
        }
    }

    pub fn shifted(mut self, by: i64) -> PackPlan {
        if self.bytes > 0 {
            self.at += by;
        }
        self
    }

    /// Returns the plan of `count` copies of this plan, `stride` bytes apart. The caller checks that all copies can be
    /// addressed.
    pub fn repeated(self, count: u64, stride: i64) -> PackPlan {
        if count == 0 || self.bytes == 0 {
            return PackPlan::NOTHING;
        }
        if count == 1 {
            return self;
        }
        let (at, bytes, basics) = (self.at, self.bytes * count, self.basics * count);
        let node = match self.node {
            PlanNode::Run(kind) if span(kind, self.bytes) == stride => PlanNode::Run(kind),
            PlanNode::Loop { count: inner, stride: step, body } if step.checked_mul(inner as i64) == Some(stride) => {
                PlanNode::Loop { count: inner * count, stride: step, body }
            }
            node => PlanNode::Loop { count, stride, body: Arc::new(PackPlan { at: 0, node, ..self }) },
        };
        PackPlan { at, bytes, basics, node }
    }

    /// Concatenates several plans to one plan. The function `see` may replace the basic element of each run.
    pub fn sequence(
        plans: impl Iterator<Item = PackPlan>,
        see: fn(&'static BasicKind) -> &'static BasicKind,
    ) -> PackPlan {
        let mut list: Vec<PackPlan> = Vec::new();
        let mut push = |mut plan: PackPlan| {
            if let PlanNode::Run(kind) = &mut plan.node {
                *kind = see(kind);
            }
            push(&mut list, plan);
        };
        for plan in plans {
            match &plan.node {
                PlanNode::Nothing => {}
                PlanNode::Runs(runs) if runs.len() <= INLINE => {
                    for run in runs.iter() {
                        let n = run.bytes / run.kind.size() as u64;
                        push(PackPlan::run(plan.at + run.at, run.kind, n));
                    }
                }
                PlanNode::Parts(parts) if parts.len() <= INLINE => {
                    parts.iter().for_each(|part| push(part.plan.clone().shifted(plan.at)));
                }
                _ => push(plan),
            }
        }
        match list.len() {
            0 => return PackPlan::NOTHING,
            1 => return list.swap_remove(0),
            _ => {}
        }
        if let Some(stride) = regular(&list) {
            let count = list.len() as u64;
            return list.swap_remove(0).repeated(count, stride);
        }
        let basics = list.iter().map(|plan| plan.basics).sum();
        let mut bytes = 0;
        let node = if list.iter().all(|plan| matches!(plan.node, PlanNode::Run(_))) {
            let run = |plan: &PackPlan| match plan.node {
                PlanNode::Run(kind) => {
                    Run { at: plan.at, start: advance(&mut bytes, plan.bytes), bytes: plan.bytes, kind }
                }
                _ => unreachable!("only runs are here"),
            };
            PlanNode::Runs(list.iter().map(run).collect())
        } else {
            PlanNode::Parts(
                list.into_iter().map(|plan| Part { start: advance(&mut bytes, plan.bytes), plan }).collect(),
            )
        };
        PackPlan { at: 0, bytes, basics, node }
    }

    /// Number of basic elements in the first `bytes` bytes of the packed form. `None` if these bytes end within an
    /// element.
    pub fn basics_in(&self, bytes: u64) -> Option<u64> {
        if bytes >= self.bytes {
            return Some(self.basics);
        }
        match &self.node {
            PlanNode::Nothing => Some(0),
            PlanNode::Run(kind) => run_basics(kind, bytes),
            PlanNode::Loop { body, .. } => Some(bytes / body.bytes * body.basics + body.basics_in(bytes % body.bytes)?),
            PlanNode::Runs(runs) => {
                let before = runs.partition_point(|run| run.start + run.bytes <= bytes);
                let whole: u64 =
                    runs[..before].iter().map(|run| run.bytes / run.kind.size() as u64 * run.kind.basics()).sum();
                Some(whole + run_basics(runs[before].kind, bytes - runs[before].start)?)
            }
            PlanNode::Parts(parts) => {
                let before = parts.partition_point(|part| part.start + part.plan.bytes <= bytes);
                let whole: u64 = parts[..before].iter().map(|part| part.plan.basics).sum();
                Some(whole + parts[before].plan.basics_in(bytes - parts[before].start)?)
            }
        }
    }
}

/// Number of bytes in memory from the first element of a run to the end of its last element, with padding.
fn span(kind: &BasicKind, bytes: u64) -> i64 {
    (bytes / kind.size() as u64 * kind.extent() as u64) as i64
}

fn run_basics(kind: &BasicKind, bytes: u64) -> Option<u64> {
    let (whole, rest) = (bytes / kind.size() as u64, bytes % kind.size() as u64);
    let half = match rest {
        0 => 0,
        _ if kind.basics() == 2 && rest == kind.scalar.size() as u64 => 1,
        _ => return None,
    };
    Some(whole * kind.basics() + half)
}

fn advance(total: &mut u64, by: u64) -> u64 {
    let before = *total;
    *total += by;
    before
}

/// Appends a plan to a list of plans, or extends the last run of the list.
fn push(list: &mut Vec<PackPlan>, plan: PackPlan) {
    if let (Some(last), PlanNode::Run(kind)) = (list.last_mut(), &plan.node)
        && let PlanNode::Run(before) = last.node
        && before.handle == kind.handle
        && last.at + span(before, last.bytes) == plan.at
    {
        last.bytes += plan.bytes;
        last.basics += plan.basics;
    } else {
        list.push(plan);
    }
}

/// Distance in bytes between the plans of a list, if at least two equal plans are at equal distances.
fn regular(list: &[PackPlan]) -> Option<i64> {
    let stride = list[1].at.checked_sub(list[0].at)?;
    let holds = |pair: &[PackPlan]| pair[1].at.checked_sub(pair[0].at) == Some(stride) && alike(&pair[0], &pair[1]);
    list.windows(2).all(holds).then_some(stride)
}

/// Whether two plans of datatypes are equal except for their displacements. The function may return false for equal
/// plans.
fn alike(a: &PackPlan, b: &PackPlan) -> bool {
    a.bytes == b.bytes
        && match (&a.node, &b.node) {
            (PlanNode::Run(a), PlanNode::Run(b)) => a.handle == b.handle,
            (PlanNode::Loop { count, stride, body }, PlanNode::Loop { count: n, stride: step, body: other }) => {
                count == n && stride == step && (Arc::ptr_eq(body, other) || alike(body, other))
            }
            (PlanNode::Runs(a), PlanNode::Runs(b)) => Arc::ptr_eq(a, b),
            (PlanNode::Parts(a), PlanNode::Parts(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
}
