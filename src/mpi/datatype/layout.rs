//! Bounds and data locations of a type map, and the composition of type maps (MPI-3.1, sections 4.1.1, 4.1.6 to 4.1.8).
//!
//! Bounds follow the standard's formulas for the flat type map. If bound markers exist (from MPI-1 or from resizing),
//! the outermost marker is the bound. Otherwise the outermost data are the bound, and the upper bound is padded to
//! the alignment of the data.

use super::TypeError;
use super::kind::{BasicKind, TypeGroup};
use super::named::{BYTE, MPI_LB};
use super::plan::PackPlan;

/// Set of the basic elements that occur in a type map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mix {
    Nothing,
    One(&'static BasicKind),
    Several,
}

/// Type map of a datatype: its bounds, and the location of its data.
#[derive(Clone, Debug)]
pub(super) struct TypeMap {
    pub size: u64,
    /// Displacement of the first data byte, and displacement of the byte after the last data byte. If the type map has
    /// no data, the two displacements are 0.
    pub true_lb: i64,
    pub true_ub: i64,
    lb_mark: Option<i64>,
    ub_mark: Option<i64>,
    align: i64,
    pub mix: Mix,
    /// Location and basic elements of the data in the type map.
    pub typed: PackPlan,
    /// Location of the data as bytes; `None` if `typed` already consists of bytes.
    bytes: Option<PackPlan>,
}

/// `n` copies of a layout, one extent apart. The first copy of the layout is at displacement `at`.
#[derive(Clone, Copy)]
pub(super) struct LayoutPiece<'a> {
    pub at: i64,
    pub n: i64,
    pub of: &'a TypeMap,
}

/// Error for a layout that is too large to be addressed.
fn overflow() -> TypeError {
    TypeError::argument("the datatype spans more bytes than 64 bits can count".to_owned())
}

/// Replaces a basic element without gaps by bytes. In a plan of bytes, all other elements are already bytes.
fn as_bytes(_: &'static BasicKind) -> &'static BasicKind {
    &BYTE
}

impl TypeMap {
    pub const EMPTY: TypeMap = TypeMap {
        size: 0,
        true_lb: 0,
        true_ub: 0,
        lb_mark: None,
        ub_mark: None,
        align: 1,
        mix: Mix::Nothing,
        typed: PackPlan::NOTHING,
        bytes: None,
    };

    pub fn basic(kind: &'static BasicKind) -> TypeMap {
        if kind.group == TypeGroup::Marker {
            return match kind.handle {
                MPI_LB => TypeMap { lb_mark: Some(0), ..TypeMap::EMPTY },
                _ => TypeMap { ub_mark: Some(0), ..TypeMap::EMPTY },
            };
        }
        let halves = |index: u64| {
            let first = PackPlan::run(0, &BYTE, kind.scalar.size() as u64);
            [first, PackPlan::run(kind.index_at() as i64, &BYTE, index)]
        };
        let (end, bytes) = match kind.group {
            TypeGroup::Pair(index) if !kind.is_dense() => {
                let plan = PackPlan::sequence(halves(index.size() as u64).into_iter(), as_bytes);
                (kind.index_at() + index.size(), Some(plan))
            }
            _ => (kind.size(), None),
        };
        TypeMap {
            size: kind.size() as u64,
            true_ub: end as i64,
            align: kind.align() as i64,
            mix: Mix::One(kind),
            typed: PackPlan::run(0, kind, 1),
            bytes,
            ..TypeMap::EMPTY
        }
    }

    pub fn lb(&self) -> i64 {
        self.lb_mark.unwrap_or(self.true_lb)
    }

    pub fn ub(&self) -> i64 {
        self.ub_mark.unwrap_or_else(|| {
            let extent = self.true_ub.saturating_sub(self.lb());
            let padding = (self.align - extent.rem_euclid(self.align)) % self.align;
            self.true_ub.saturating_add(padding)
        })
    }

    pub fn extent(&self) -> i64 {
        self.ub().saturating_sub(self.lb())
    }

    /// Location of the data as bytes, without basic elements.
    pub fn bytes(&self) -> &PackPlan {
        self.bytes.as_ref().unwrap_or(&self.typed)
    }

    /// Returns this type map with other bounds.
    pub fn resized(&self, lb: i64, extent: i64) -> Result<TypeMap, TypeError> {
        let ub = lb.checked_add(extent).ok_or_else(overflow)?;
        Ok(TypeMap { lb_mark: Some(lb), ub_mark: Some(ub), ..self.clone() })
    }

    /// Returns the type map of `count` copies of this type map, `stride` bytes apart.
    pub fn repeated(&self, count: i64, stride: i64) -> Result<TypeMap, TypeError> {
        if count <= 0 {
            return Ok(TypeMap::EMPTY);
        }
        let mut layout = RunningBounds::default();
        layout.add(0, count, stride, self)?;
        let copies = count as u64;
        let typed = self.typed.clone().repeated(copies, stride);
        layout.into_layout(typed, || self.bytes().clone().repeated(copies, stride))
    }

    /// Returns the type map of `count` copies of this type map, one extent apart.
    pub fn contiguous(&self, count: i64) -> Result<TypeMap, TypeError> {
        self.repeated(count, self.extent())
    }

    /// Concatenates the layouts of `pieces` to one type map.
    pub fn assembled<'a>(pieces: impl Iterator<Item = LayoutPiece<'a>> + Clone) -> Result<TypeMap, TypeError> {
        let pieces = pieces.filter(|piece| piece.n > 0);
        let mut layout = RunningBounds::default();
        for piece in pieces.clone() {
            layout.add(piece.at, piece.n, piece.of.extent(), piece.of)?;
        }
        let plan = |of: fn(&TypeMap) -> &PackPlan, see| {
            let place =
                |piece: LayoutPiece| of(piece.of).clone().repeated(piece.n as u64, piece.of.extent()).shifted(piece.at);
            PackPlan::sequence(pieces.clone().map(place), see)
        };
        let typed = plan(|layout| &layout.typed, |kind| kind);
        layout.into_layout(typed, || plan(TypeMap::bytes, as_bytes))
    }
}

/// Bounds of a type map under construction.
struct RunningBounds {
    size: u64,
    data: Option<(i64, i64)>,
    lb_mark: Option<i64>,
    ub_mark: Option<i64>,
    align: i64,
    mix: Mix,
}

impl Default for RunningBounds {
    fn default() -> RunningBounds {
        RunningBounds { size: 0, data: None, lb_mark: None, ub_mark: None, align: 1, mix: Mix::Nothing }
    }
}

impl RunningBounds {
    /// Extends the bounds to `n` > 0 copies of a layout at the displacements `at`, `at + stride`, …
    fn add(&mut self, at: i64, n: i64, stride: i64, layout: &TypeMap) -> Result<(), TypeError> {
        let mut sum = || {
            let last = (n - 1).checked_mul(stride)?.checked_add(at)?;
            let (low, high) = (at.min(last), at.max(last));
            if let Some(mark) = layout.lb_mark {
                let mark = mark.checked_add(low)?;
                self.lb_mark = Some(self.lb_mark.map_or(mark, |found| found.min(mark)));
            }
            if let Some(mark) = layout.ub_mark {
                let mark = mark.checked_add(high)?;
                self.ub_mark = Some(self.ub_mark.map_or(mark, |found| found.max(mark)));
            }
            if layout.size > 0 {
                let (lb, ub) = (layout.true_lb.checked_add(low)?, layout.true_ub.checked_add(high)?);
                self.data = Some(self.data.map_or((lb, ub), |(least, most)| (least.min(lb), most.max(ub))));
                let bytes = layout.size.checked_mul(n as u64)?;
                self.size = self.size.checked_add(bytes).filter(|&size| i64::try_from(size).is_ok())?;
            }
            self.align = self.align.max(layout.align);
            self.mix = match (self.mix, layout.mix) {
                (Mix::Nothing, other) | (other, Mix::Nothing) => other,
                (Mix::One(a), Mix::One(b)) if a.handle == b.handle => Mix::One(a),
                _ => Mix::Several,
            };
            Some(())
        };
        sum().ok_or_else(overflow)
    }

    fn into_layout(self, typed: PackPlan, bytes: impl FnOnce() -> PackPlan) -> Result<TypeMap, TypeError> {
        let (true_lb, true_ub) = self.data.unwrap_or((0, 0));
        true_ub.checked_sub(true_lb).ok_or_else(overflow)?;
        let bytes = match self.mix {
            Mix::One(kind) if kind.is_dense() => None,
            Mix::Nothing => None,
            _ => Some(bytes()),
        };
        let RunningBounds { size, lb_mark, ub_mark, align, mix, .. } = self;
        let layout = TypeMap { size, true_lb, true_ub, lb_mark, ub_mark, align, mix, typed, bytes };
        layout.ub().checked_sub(layout.lb()).ok_or_else(overflow)?;
        Ok(layout)
    }
}
