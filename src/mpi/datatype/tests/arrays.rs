//! Compares distributed-array datatypes with a naive owner function; checks constructor arguments and Fortran 90
//! numbers.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::abi::*;
use crate::datatype::{Datatype, Distributed, Order, Type};

fn named(handle: Handle) -> &'static Type {
    Datatype::named(handle).unwrap()
}

/// Dimension of a distributed array: size, number of processes, distribution, distribution argument.
type Dimension = (i32, i32, i32, i32);

fn dimension() -> impl Strategy<Value = Dimension> {
    (1i32..14, 1i32..4, 0i32..4, 1i32..5).prop_map(|(size, processes, which, argument)| match which {
        0 => (size, 1, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG),
        1 => (size, processes, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG),
        2 => (size, processes, MPI_DISTRIBUTE_BLOCK, (size + processes - 1) / processes + argument - 1),
        _ if argument == 4 => (size, processes, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG),
        _ => (size, processes, MPI_DISTRIBUTE_CYCLIC, argument),
    })
}

/// Process coordinate that owns an array index, as HPF defines its distributions.
fn owner(index: i32, (size, processes, distribution, argument): Dimension) -> i32 {
    let default = argument == MPI_DISTRIBUTE_DFLT_DARG;
    match distribution {
        MPI_DISTRIBUTE_NONE => 0,
        MPI_DISTRIBUTE_BLOCK if default => index / ((size + processes - 1) / processes),
        MPI_DISTRIBUTE_BLOCK => index / argument,
        _ if default => index % processes,
        _ => index / argument % processes,
    }
}

/// Displacements of the elements that a process owns in the global array, in ascending order.
fn owned(dimensions: &[Dimension], order: Order, rank: i32) -> Vec<isize> {
    let mut grid: Vec<i32> = Vec::new();
    let mut rest = rank;
    for &(_, processes, ..) in dimensions.iter().rev() {
        grid.insert(0, rest % processes);
        rest /= processes;
    }
    let mut places = vec![0isize];
    let axes: Vec<usize> = match order {
        Order::C => (0..dimensions.len()).collect(),
        Order::Fortran => (0..dimensions.len()).rev().collect(),
    };
    for axis in axes {
        let size = dimensions[axis].0;
        let mine = |&index: &i32| owner(index, dimensions[axis]) == grid[axis];
        let step = |place: isize| (0..size).filter(mine).map(move |index| place * size as isize + index as isize);
        places = places.into_iter().flat_map(step).collect();
    }
    places
}

proptest! {
    #[test]
    fn a_distributed_array_is_split_as_its_distributions_say(
        dimensions in vec(dimension(), 1..4),
        fortran in any::<bool>(),
    ) {
        let order = if fortran { Order::Fortran } else { Order::C };
        let column = |f: fn(&Dimension) -> i32| dimensions.iter().map(f).collect::<Vec<i32>>();
        let (gsizes, psizes) = (column(|d| d.0), column(|d| d.1));
        let (distributions, arguments) = (column(|d| d.2), column(|d| d.3));
        let (size, whole): (i32, i32) = (psizes.iter().product(), gsizes.iter().product());
        let mut all = Vec::new();
        for rank in 0..size {
            let of = Distributed {
                size,
                rank,
                gsizes: &gsizes,
                distributions: &distributions,
                arguments: &arguments,
                psizes: &psizes,
            };
            let ty = Datatype::darray(of, order, named(MPI_SHORT)).unwrap();
            prop_assert_eq!((ty.lb(), ty.extent()), (0, 2 * i64::from(whole)));
            let mut found = Vec::new();
            ty.for_each_run(1, |_, at, n| found.extend((0..n as isize).map(|i| at / 2 + i)));
            prop_assert_eq!(&found, &owned(&dimensions, order, rank));
            all.extend(found);
        }
        all.sort_unstable();
        prop_assert_eq!(all, (0..whole as isize).collect::<Vec<_>>());
    }
}

/// Constructor call of a datatype: combiner, integers, addresses, and names of the old types.
fn envelope(ty: &Type) -> (i32, Vec<i64>, Vec<Aint>, Vec<&'static str>) {
    let envelope = ty.envelope();
    let names = envelope.types.iter().map(|old| old.name()).collect();
    (envelope.combiner, envelope.integers.clone(), envelope.addresses.clone(), names)
}

#[test]
fn envelopes_hold_the_arguments_in_the_order_of_the_standard() {
    let int = named(MPI_INT);
    let one = vec!["MPI_INT"];
    assert_eq!(envelope(int), (MPI_COMBINER_NAMED, vec![], vec![], vec![]));
    assert_eq!(envelope(&Datatype::dup(int)), (MPI_COMBINER_DUP, vec![], vec![], one.clone()));
    let made = Datatype::contiguous(7, int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_CONTIGUOUS, vec![7], vec![], one.clone()));
    let made = Datatype::vector(7, 2, 3, int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_VECTOR, vec![7, 2, 3], vec![], one.clone()));
    let made = Datatype::hvector(7, 2, 30, int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_HVECTOR, vec![7, 2], vec![30], one.clone()));
    let made = Datatype::indexed(&[1, 2], &[5, 9], int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_INDEXED, vec![2, 1, 2, 5, 9], vec![], one.clone()));
    let made = Datatype::hindexed(&[1, 2], &[5, 9], int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_HINDEXED, vec![2, 1, 2], vec![5, 9], one.clone()));
    let made = Datatype::indexed_block(3, &[5, 9], int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_INDEXED_BLOCK, vec![2, 3, 5, 9], vec![], one.clone()));
    let made = Datatype::hindexed_block(3, &[5, 9], int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_HINDEXED_BLOCK, vec![2, 3], vec![5, 9], one.clone()));
    let made = Datatype::structure(&[1, 2], &[5, 9], &[int.clone(), named(MPI_CHAR).clone()]).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_STRUCT, vec![2, 1, 2], vec![5, 9], vec!["MPI_INT", "MPI_CHAR"]));
    let made = Datatype::resized(-4, 9, int).unwrap();
    assert_eq!(envelope(&made), (MPI_COMBINER_RESIZED, vec![], vec![-4, 9], one.clone()));
    let made = Datatype::subarray(&[4, 5], &[2, 3], &[1, 0], Order::Fortran, int).unwrap();
    let order = i64::from(MPI_ORDER_FORTRAN);
    assert_eq!(envelope(&made), (MPI_COMBINER_SUBARRAY, vec![2, 4, 5, 2, 3, 1, 0, order], vec![], one.clone()));
    let of = Distributed {
        size: 3,
        rank: 1,
        gsizes: &[8],
        distributions: &[MPI_DISTRIBUTE_CYCLIC],
        arguments: &[2],
        psizes: &[3],
    };
    let made = Datatype::darray(of, Order::C, int).unwrap();
    let cyclic = i64::from(MPI_DISTRIBUTE_CYCLIC);
    let integers = vec![3, 1, 1, 8, cyclic, 2, 3, i64::from(MPI_ORDER_C)];
    assert_eq!(envelope(&made), (MPI_COMBINER_DARRAY, integers, vec![], one));
}

#[test]
fn numbers_of_fortran_90_are_the_least_that_hold_what_is_asked() {
    let real = |p, r| Datatype::f90_real(p, r).unwrap().kind().unwrap().name;
    assert_eq!(real(6, 37), "MPI_REAL4");
    assert_eq!(real(7, MPI_UNDEFINED), "MPI_REAL8");
    assert_eq!(real(MPI_UNDEFINED, 308), "MPI_LONG_DOUBLE");
    assert_eq!(real(19, 37), "MPI_REAL16");
    let complex = Datatype::f90_complex(15, 307).unwrap();
    assert_eq!((complex.size(), complex.name()), (16, ""));
    assert_eq!(envelope(&complex), (MPI_COMBINER_F90_COMPLEX, vec![15, 307], vec![], vec![]));
    let sizes = [1, 4, 9, 10, 30].map(|r| Datatype::f90_integer(r).unwrap().size());
    assert_eq!(sizes, [1, 2, 4, 8, 16]);
}
