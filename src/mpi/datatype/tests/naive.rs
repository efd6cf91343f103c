//! Datatypes as the standard defines them: an explicit list of basic elements and displacements.

use crate::abi::Aint;
use crate::datatype::{BasicKind, Datatype, Order, Type, TypeGroup};

/// A type map with the markers of bounds.
#[derive(Clone, Debug, Default)]
pub struct Map {
    pub entries: Vec<(&'static BasicKind, i64)>,
    pub lb_mark: Option<i64>,
    pub ub_mark: Option<i64>,
}

impl Map {
    pub fn basic(ty: &Type) -> Map {
        Map { entries: vec![(ty.kind().unwrap(), 0)], ..Map::default() }
    }

    pub fn true_bounds(&self) -> (i64, i64) {
        let end = |kind: &BasicKind| match kind.group {
            TypeGroup::Pair(index) => kind.index_at() + index.size(),
            _ => kind.size(),
        };
        let lb = self.entries.iter().map(|&(_, at)| at).min().unwrap_or(0);
        let ub = self.entries.iter().map(|&(kind, at)| at + end(kind) as i64).max().unwrap_or(0);
        (lb, ub)
    }

    pub fn bounds(&self) -> (i64, i64) {
        let (true_lb, true_ub) = self.true_bounds();
        let lb = self.lb_mark.unwrap_or(true_lb);
        let align = self.entries.iter().map(|(kind, _)| kind.align() as i64).max().unwrap_or(1);
        let mut ub = true_ub;
        while (ub - lb).rem_euclid(align) != 0 {
            ub += 1;
        }
        (lb, self.ub_mark.unwrap_or(ub))
    }

    pub fn extent(&self) -> i64 {
        let (lb, ub) = self.bounds();
        ub - lb
    }

    pub fn size(&self) -> usize {
        self.entries.iter().map(|(kind, _)| kind.size()).sum()
    }

    pub fn place(&mut self, at: i64, n: i64, of: &Map) {
        for i in 0..n {
            let at = at + i * of.extent();
            self.entries.extend(of.entries.iter().map(|&(kind, place)| (kind, place + at)));
            if let Some(mark) = of.lb_mark {
                self.lb_mark = Some(self.lb_mark.map_or(mark + at, |found| found.min(mark + at)));
            }
            if let Some(mark) = of.ub_mark {
                self.ub_mark = Some(self.ub_mark.map_or(mark + at, |found| found.max(mark + at)));
            }
        }
    }

    /// Displacements of the data bytes of `count` items, in the order of the packed form.
    pub fn bytes(&self, count: usize) -> Vec<i64> {
        let mut places = Vec::new();
        for item in 0..count as i64 {
            for &(kind, at) in &self.entries {
                let at = at + item * self.extent();
                let scalar = kind.scalar.size() as i64;
                match kind.group {
                    TypeGroup::Pair(index) => {
                        places.extend(at..at + scalar);
                        let at = at + kind.index_at() as i64;
                        places.extend(at..at + index.size() as i64);
                    }
                    _ => places.extend(at..at + kind.size() as i64),
                }
            }
        }
        places
    }
}

/// Instructions to construct a datatype and its naive type map.
#[derive(Clone, Debug)]
pub enum Recipe {
    Named(usize),
    Contiguous(i64, Box<Recipe>),
    Vector(i64, i64, i64, Box<Recipe>),
    Hvector(i64, i64, isize, Box<Recipe>),
    Indexed(Vec<(i64, i64)>, Box<Recipe>),
    Hindexed(Vec<(i64, isize)>, Box<Recipe>),
    IndexedBlock(i64, Vec<i64>, Box<Recipe>),
    HindexedBlock(i64, Vec<isize>, Box<Recipe>),
    Struct(Vec<(i64, isize, Recipe)>),
    Resized(isize, isize, Box<Recipe>),
    /// Subarray: size of the array, size of the subarray and start, per dimension.
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Recipe>),
    Dup(Box<Recipe>),
}

impl Recipe {
    /// Constructs the datatype with the tested constructors, and the type map by the definitions of the standard.
    pub fn make(&self) -> (Type, Map) {
        let mut map = Map::default();
        let ty = match self {
            Recipe::Named(i) => {
                let ty = named(*i);
                map = Map::basic(&ty);
                ty
            }
            Recipe::Contiguous(n, old) => {
                let (old, of) = old.make();
                map.place(0, *n, &of);
                Datatype::contiguous(*n, &old).unwrap()
            }
            Recipe::Vector(n, length, stride, old) => {
                let (old, of) = old.make();
                (0..*n).for_each(|i| map.place(i * stride * of.extent(), *length, &of));
                Datatype::vector(*n, *length, *stride, &old).unwrap()
            }
            Recipe::Hvector(n, length, stride, old) => {
                let (old, of) = old.make();
                (0..*n).for_each(|i| map.place(i * *stride as i64, *length, &of));
                Datatype::hvector(*n, *length, *stride, &old).unwrap()
            }
            Recipe::Indexed(blocks, old) => {
                let (old, of) = old.make();
                blocks.iter().for_each(|&(n, at)| map.place(at * of.extent(), n, &of));
                let (lengths, places): (Vec<i64>, Vec<i64>) = blocks.iter().copied().unzip();
                Datatype::indexed(&lengths, &places, &old).unwrap()
            }
            Recipe::Hindexed(blocks, old) => {
                let (old, of) = old.make();
                blocks.iter().for_each(|&(n, at)| map.place(at as i64, n, &of));
                let (lengths, places): (Vec<i64>, Vec<Aint>) = blocks.iter().copied().unzip();
                Datatype::hindexed(&lengths, &places, &old).unwrap()
            }
            Recipe::IndexedBlock(n, places, old) => {
                let (old, of) = old.make();
                places.iter().for_each(|&at| map.place(at * of.extent(), *n, &of));
                Datatype::indexed_block(*n, places, &old).unwrap()
            }
            Recipe::HindexedBlock(n, places, old) => {
                let (old, of) = old.make();
                places.iter().for_each(|&at| map.place(at as i64, *n, &of));
                Datatype::hindexed_block(*n, places, &old).unwrap()
            }
            Recipe::Struct(fields) => {
                let made: Vec<(Type, Map)> = fields.iter().map(|(.., recipe)| recipe.make()).collect();
                fields.iter().zip(&made).for_each(|((n, at, _), (_, of))| map.place(*at as i64, *n, of));
                let lengths: Vec<i64> = fields.iter().map(|field| field.0).collect();
                let places: Vec<Aint> = fields.iter().map(|field| field.1).collect();
                let types: Vec<Type> = made.into_iter().map(|(ty, _)| ty).collect();
                Datatype::structure(&lengths, &places, &types).unwrap()
            }
            Recipe::Resized(lb, extent, old) => {
                let (old, of) = old.make();
                map = Map { lb_mark: Some(*lb as i64), ub_mark: Some((*lb + *extent) as i64), ..of };
                Datatype::resized(*lb, *extent, &old).unwrap()
            }
            Recipe::Subarray(dimensions, fortran, old) => {
                let (old, of) = old.make();
                let order = if *fortran { Order::Fortran } else { Order::C };
                let column = |f: fn(&(i64, i64, i64)) -> i64| dimensions.iter().map(f).collect::<Vec<i64>>();
                let (sizes, subsizes, starts) = (column(|d| d.0), column(|d| d.1), column(|d| d.2));
                for place in subarray_places(dimensions, *fortran) {
                    map.place(place * of.extent(), 1, &of);
                }
                let whole = sizes.iter().product::<i64>() * of.extent();
                (map.lb_mark, map.ub_mark) = (Some(0), Some(whole));
                Datatype::subarray(&sizes, &subsizes, &starts, order, &old).unwrap()
            }
            Recipe::Dup(old) => {
                let (old, of) = old.make();
                map = of;
                Datatype::dup(&old)
            }
        };
        (ty, map)
    }
}

/// Displacements of a subarray's items, in the order of memory.
fn subarray_places(dimensions: &[(i64, i64, i64)], fortran: bool) -> Vec<i64> {
    let slowest_first: Vec<_> = if fortran { dimensions.iter().rev().copied().collect() } else { dimensions.to_vec() };
    slowest_first.iter().fold(vec![0], |places, &(size, subsize, start)| {
        places.iter().flat_map(|place| (start..start + subsize).map(move |i| place * size + i)).collect()
    })
}

/// Returns the `i`th named datatype that has data.
pub fn named(i: usize) -> Type {
    let all: Vec<&Type> = Datatype::all_named().filter(|ty| ty.size() > 0).collect();
    all[i % all.len()].clone()
}
