//! The representation external32: big-endian numbers of standard sizes without gaps (MPI-3.1, sections 4.3 and 13.5.2).
#![allow(unsafe_code)]

use super::Datatype;
use super::kind::{BasicKind, Scalar, TypeGroup};
use super::plan::{PackPlan, PlanNode};

impl PackPlan {
    /// Number of bytes of the scalar in external32.
    fn external(&self) -> u64 {
        let run = |kind: &BasicKind, bytes: u64| bytes / kind.size() as u64 * kind.external_size() as u64;
        match &self.node {
            PlanNode::Nothing => 0,
            PlanNode::Run(kind) => run(kind, self.bytes),
            PlanNode::Loop { count, body, .. } => count * body.external(),
            PlanNode::Runs(runs) => runs.iter().map(|piece| run(piece.kind, piece.bytes)).sum(),
            PlanNode::Parts(parts) => parts.iter().map(|part| part.plan.external()).sum(),
        }
    }
}

/// Scalars of a basic element. Per scalar: displacement in bytes, type, and number of bytes in external32.
fn scalars(kind: &BasicKind) -> impl Iterator<Item = (usize, Scalar, usize)> {
    let first = (0, kind.scalar, kind.external_scalar());
    let second = match kind.group {
        TypeGroup::Complex => Some((kind.scalar.size(), kind.scalar, kind.external_scalar())),
        TypeGroup::Pair(index) => Some((kind.index_at(), index, index.size())),
        _ => None,
    };
    std::iter::once(first).chain(second)
}

/// Appends the external32 form of a scalar that is in the machine's representation.
fn put(scalar: Scalar, from: &[u8], size: usize, out: &mut Vec<u8>) {
    match scalar {
        Scalar::F80 => out.extend(quad(from).to_be_bytes()),
        _ => out.extend(from[..size].iter().rev()),
    }
}

/// Converts a scalar from external32 to the machine's representation. Numbers that are shorter in external32 are
/// sign-extended, wide characters zero-extended.
fn get(scalar: Scalar, data: &[u8], wide_character: bool, to: &mut [u8]) {
    if scalar == Scalar::F80 {
        let quad = u128::from_be_bytes(data.try_into().expect("16 bytes"));
        to[..10].copy_from_slice(&long_double(quad).to_le_bytes()[..10]);
        return;
    }
    let signed = scalar == Scalar::I64 && !wide_character;
    let fill = if signed && data[0] & 0x80 != 0 { 0xff } else { 0 };
    to.fill(fill);
    to.iter_mut().zip(data.iter().rev()).for_each(|(to, &byte)| *to = byte);
}

/// Converts a long double of x86-64 to a binary128, which has the same exponent and 112 bits of fraction without the
/// leading 1.
fn quad(bytes: &[u8]) -> u128 {
    let significand = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    let head = u16::from_le_bytes([bytes[8], bytes[9]]);
    u128::from(head) << 112 | u128::from(significand << 1) << 48
}

/// Returns the long double nearest to a binary128; ties are rounded to even.
fn long_double(quad: u128) -> u128 {
    let (sign, magnitude) = (quad >> 127, quad & (u128::MAX >> 1));
    let special = magnitude >> 112 == 0x7fff;
    let (kept, dropped) = (magnitude >> 49, magnitude & ((1 << 49) - 1));
    let up = match dropped.cmp(&(1 << 48)) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => kept & 1,
        std::cmp::Ordering::Greater => 1,
    };
    // A carry out of the fraction correctly increments the exponent. The payload of a NaN is truncated, but never
    // becomes zero, because a payload of zero means infinity.
    let rounded = if special { kept | u128::from(dropped != 0) } else { kept + up };
    let (exponent, fraction) = (rounded >> 63, rounded & ((1 << 63) - 1));
    let leading = u128::from(exponent != 0);
    sign << 79 | exponent << 64 | leading << 63 | fraction
}

impl Datatype {
    /// Number of bytes of `count` items in external32 (MPI_Pack_external_size).
    pub fn external_size(&self, count: usize) -> usize {
        (self.layout.typed.external() as usize).saturating_mul(count)
    }

    /// Appends the external32 form of the `count` items at address `base` to `out`.
    ///
    /// # Safety
    /// The data of the items must be valid for reads.
    pub unsafe fn pack_external(&self, base: *const u8, count: usize, out: &mut Vec<u8>) {
        out.reserve(self.external_size(count));
        self.for_each_run(count, |kind, at, n| {
            for i in 0..n {
                let element = base.wrapping_offset(at + (i * kind.extent()) as isize);
                for (place, scalar, size) in scalars(kind) {
                    // SAFETY: the caller guarantees that all data of the items are readable; this scalar belongs to the
                    // data.
                    let from = unsafe { std::slice::from_raw_parts(element.add(place), scalar.size()) };
                    put(scalar, from, size, out);
                }
            }
        });
    }

    /// Converts `count` items from external32 to memory at address `base`, up to the last complete element in `data`.
    /// Returns the number of bytes read from `data`.
    ///
    /// # Safety
    /// The data of the items must be valid for writes.
    pub unsafe fn unpack_external(&self, base: *mut u8, count: usize, data: &[u8]) -> usize {
        let mut rest = data;
        self.for_each_run(count, |kind, at, n| {
            for i in 0..n.min(rest.len() / kind.external_size()) {
                let element = base.wrapping_offset(at + (i * kind.extent()) as isize);
                for (place, scalar, size) in scalars(kind) {
                    let (now, later) = rest.split_at(size);
                    rest = later;
                    // SAFETY: the caller guarantees that all data of the items are writable; this scalar belongs to the
                    // data.
                    let to = unsafe { std::slice::from_raw_parts_mut(element.add(place), scalar.size()) };
                    get(scalar, now, kind.group == TypeGroup::Character, to);
                }
            }
        });
        data.len() - rest.len()
    }
}
