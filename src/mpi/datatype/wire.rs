//! Serialized datatypes, for MPI ranks that access the memory of other MPI ranks. The serialized form contains the
//! layout of a datatype, but not its constructor call. A vector datatype of any length is a loop, which needs a few
//! bytes.

use super::layout::{LayoutPiece, TypeMap};
use super::plan::{PackPlan, PlanNode};
use super::{Datatype, Type, TypeEnvelope};
use crate::abi;

/// Greatest accepted nesting depth of a serialized layout. Layouts of real programs are far below this limit.
const DEEPEST: u32 = 200;

const NAMED: u8 = 0;
const LAYOUT: u8 = 1;

const NOTHING: u8 = 0;
const RUN: u8 = 1;
const LOOP: u8 = 2;
const LIST: u8 = 3;

/// Reads the output of [`put_number`] and [`Datatype::encode`].
#[derive(Clone, Copy, Debug)]
pub struct WireReader<'a> {
    rest: &'a [u8],
}

/// Appends a number in a form in which small numbers need fewer bytes.
pub fn put_number(out: &mut Vec<u8>, number: i64) {
    let mut rest = (number << 1 ^ number >> 63) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

impl<'a> WireReader<'a> {
    /// Creates a reader at the first byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        WireReader { rest: bytes }
    }

    /// Returns the bytes that the reader has not read.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Reads the next byte of the serialized datatypes.
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Reads the next `N` bytes of the serialized datatypes.
    pub fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*first)
    }

    /// Reads the next integer of the serialized datatypes.
    pub fn number(&mut self) -> Option<i64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some((number >> 1) as i64 ^ -((number & 1) as i64));
            }
        }
        None
    }
}

impl Datatype {
    /// Appends the serialized layout of the datatype. [`Datatype::decode`] creates a datatype with the same layout.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Some(kind) = self.kind {
            return out.extend([NAMED, (kind.handle - abi::MPI_DATATYPE_NULL) as u8]);
        }
        out.push(LAYOUT);
        put_number(out, self.lb());
        put_number(out, self.extent());
        encode(&self.layout.typed, out);
    }

    /// Reads a datatype written by [`Datatype::encode`]. Returns `None` for bytes that are not a serialized datatype.
    pub fn decode(from: &mut WireReader<'_>) -> Option<Type> {
        if from.byte()? == NAMED {
            return Datatype::named(abi::MPI_DATATYPE_NULL + usize::from(from.byte()?)).cloned();
        }
        let (lb, extent) = (from.number()?, from.number()?);
        let layout = decode(from, DEEPEST)?.resized(lb, extent).ok()?;
        let envelope =
            TypeEnvelope { combiner: abi::MPI_COMBINER_RESIZED, integers: vec![], addresses: vec![], types: vec![] };
        Some(Datatype::new(layout, envelope, None).into())
    }
}

fn encode_run(at: i64, kind: &super::BasicKind, bytes: u64, out: &mut Vec<u8>) {
    out.extend([RUN, (kind.handle - abi::MPI_DATATYPE_NULL) as u8]);
    put_number(out, at);
    put_number(out, (bytes / kind.size() as u64) as i64);
}

fn encode(plan: &PackPlan, out: &mut Vec<u8>) {
    let list = |at: i64, n: usize, out: &mut Vec<u8>| {
        out.push(LIST);
        put_number(out, at);
        put_number(out, n as i64);
    };
    match &plan.node {
        PlanNode::Nothing => out.push(NOTHING),
        PlanNode::Run(kind) => encode_run(plan.at, kind, plan.bytes, out),
        PlanNode::Loop { count, stride, body } => {
            out.push(LOOP);
            [plan.at, *count as i64, *stride].into_iter().for_each(|number| put_number(out, number));
            encode(body, out);
        }
        PlanNode::Runs(runs) => {
            list(plan.at, runs.len(), out);
            runs.iter().for_each(|run| encode_run(run.at, run.kind, run.bytes, out));
        }
        PlanNode::Parts(parts) => {
            list(plan.at, parts.len(), out);
            parts.iter().for_each(|part| encode(&part.plan, out));
        }
    }
}

fn decode(from: &mut WireReader<'_>, deepest: u32) -> Option<TypeMap> {
    let deeper = deepest.checked_sub(1)?;
    match from.byte()? {
        NOTHING => Some(TypeMap::EMPTY),
        RUN => {
            let kind = Datatype::named(abi::MPI_DATATYPE_NULL + usize::from(from.byte()?))?.kind()?;
            let (at, n) = (from.number()?, from.number()?);
            moved(at, TypeMap::basic(kind).contiguous(n).ok()?)
        }
        LOOP => {
            let (at, count, stride) = (from.number()?, from.number()?, from.number()?);
            moved(at, decode(from, deeper)?.repeated(count, stride).ok()?)
        }
        LIST => {
            let (at, n) = (from.number()?, from.number()?);
            let parts: Option<Vec<TypeMap>> = (0..n).map(|_| decode(from, deeper)).collect();
            let parts = parts?;
            TypeMap::assembled(parts.iter().map(|of| LayoutPiece { at, n: 1, of })).ok()
        }
        _ => None,
    }
}

fn moved(at: i64, layout: TypeMap) -> Option<TypeMap> {
    if at == 0 { Some(layout) } else { TypeMap::assembled(std::iter::once(LayoutPiece { at, n: 1, of: &layout })).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(handle: abi::Handle) -> &'static Type {
        Datatype::named(handle).unwrap()
    }

    fn through(datatype: &Datatype) -> (Type, usize) {
        let mut bytes = Vec::new();
        datatype.encode(&mut bytes);
        let mut reader = WireReader::new(&bytes);
        let decoded = Datatype::decode(&mut reader).unwrap();
        assert!(reader.rest().is_empty());
        (decoded, bytes.len())
    }

    fn runs(datatype: &Datatype) -> Vec<(usize, isize, usize)> {
        let mut runs = Vec::new();
        datatype.for_each_run(3, |kind, at, n| runs.push((kind.handle, at, n)));
        runs
    }

    #[test]
    fn numbers_of_all_sizes_come_back() {
        let numbers = [0, 1, -1, 63, 64, -64, -65, 1 << 20, i64::MAX, i64::MIN];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| put_number(&mut bytes, number));
        let mut reader = WireReader::new(&bytes);
        assert_eq!(numbers.map(|_| reader.number().unwrap()), numbers);
        assert_eq!((reader.number(), reader.byte()), (None, None));
        assert_eq!(bytes[..4], [0, 2, 1, 126]);
    }

    #[test]
    fn a_named_datatype_stays_itself() {
        let (decoded, length) = through(named(abi::MPI_DOUBLE));
        assert!(std::ptr::eq(&*decoded, &**named(abi::MPI_DOUBLE)) && length == 2);
    }

    #[test]
    fn layouts_come_back_and_vectors_are_short() {
        let vector = Datatype::vector(1_000_000, 1, 10, named(abi::MPI_INT)).unwrap();
        let (decoded, length) = through(&vector);
        assert!(length < 30, "{length} bytes");
        assert_eq!((decoded.size(), decoded.extent(), decoded.lb()), (vector.size(), vector.extent(), vector.lb()));
        assert_eq!(decoded.span(2), vector.span(2));

        let pairs = Datatype::contiguous(3, named(abi::MPI_DOUBLE_INT)).unwrap();
        let lengths = [2, 1, 4];
        let at = [100, -8, 1000];
        let shorts = Datatype::vector(3, 2, -5, named(abi::MPI_SHORT)).unwrap();
        let types = [pairs, named(abi::MPI_CHAR).clone(), shorts];
        let mixed = Datatype::structure(&lengths, &at, &types).unwrap();
        let (decoded, _) = through(&mixed);
        assert_eq!(runs(&decoded), runs(&mixed));
        assert_eq!((decoded.span(5), decoded.uniform().is_none()), (mixed.span(5), true));
        let memory: Vec<u8> = (0..40_000u32).map(|i| (i % 251) as u8).collect();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        // SAFETY: the items lie within the buffer.
        unsafe {
            mixed.pack(memory.as_ptr().add(2000), 5, &mut a);
            decoded.pack(memory.as_ptr().add(2000), 5, &mut b);
        }
        assert_eq!(a, b);
    }

    #[test]
    fn bytes_of_something_else_are_no_datatype() {
        let mut bytes = Vec::new();
        Datatype::vector(5, 1, 3, named(abi::MPI_INT)).unwrap().encode(&mut bytes);
        for cut in 0..bytes.len() {
            assert!(Datatype::decode(&mut WireReader::new(&bytes[..cut])).is_none(), "cut at {cut}");
        }
        assert!(Datatype::decode(&mut WireReader::new(&[NAMED, 0])).is_none());
        assert!(Datatype::decode(&mut WireReader::new(&[LAYOUT, 0, 0, 9])).is_none());
    }
}
