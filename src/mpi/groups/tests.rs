//! Groups of the standard's examples, error cases, and large groups.

use super::*;

/// Group of letters as in the standard's examples: a is world rank 0.
fn letters(text: &str) -> Group {
    Group::from_ranks(text.bytes().map(|letter| u32::from(letter - b'a')).collect())
}

fn class(result: Result<Group, Fault>) -> c_int {
    result.unwrap_err().class
}

#[test]
fn union_intersection_and_difference_keep_the_order_of_the_first() {
    let (one, two) = (letters("abcd"), letters("dea"));
    assert_eq!(union(&one, &two), letters("abcde"));
    assert_eq!(union(&two, &one), letters("deabc"));
    assert_eq!(intersection(&one, &two), letters("ad"));
    assert_eq!(intersection(&two, &one), letters("da"));
    assert_eq!(difference(&one, &two), letters("bc"));
    assert_eq!(difference(&two, &one), letters("e"));
    assert_eq!(difference(&one, &one), Group::EMPTY);
    assert_eq!(union(&Group::EMPTY, &two), two);
    assert_eq!(intersection(&one, &Group::EMPTY), Group::EMPTY);
}

#[test]
fn incl_and_excl_are_those_of_the_standard() {
    let group = letters("abcdef");
    assert_eq!(incl(&group, &[3, 1, 2]).unwrap(), letters("dbc"));
    assert_eq!(excl(&group, &[3, 1, 2]).unwrap(), letters("aef"));
    assert_eq!(incl(&group, &[]).unwrap(), Group::EMPTY);
    assert_eq!(excl(&group, &[]).unwrap(), group);
    assert_eq!(excl(&group, &[0, 1, 2, 3, 4, 5]).unwrap(), Group::EMPTY);
}

#[test]
fn ranges_are_those_of_the_standard() {
    let group = letters("abcdefghij");
    let ranges = [[6, 7, 1], [1, 6, 2], [0, 9, 4]];
    assert_eq!(range_incl(&group, &ranges).unwrap(), letters("ghbdfaei"));
    assert_eq!(range_excl(&group, &[[6, 7, 1], [1, 6, 2], [0, 9, 4]]).unwrap(), letters("cj"));
    assert_eq!(range_incl(&group, &[[5, 0, -2]]).unwrap(), letters("fdb"));
    assert_eq!(range_incl(&group, &[[9, 0, -1]]).unwrap(), letters("jihgfedcba"));
    assert_eq!(range_excl(&group, &[[9, 1, -1]]).unwrap(), letters("a"));
    assert_eq!(range_incl(&group, &[[3, 3, -7]]).unwrap(), letters("d"));
    assert_eq!(range_incl(&group, &[[8, 12, 9]]).unwrap(), letters("i"), "the last rank need not be reached");
    assert_eq!(range_incl(&group, &[[0, 9, 1]]).unwrap(), group);
    assert_eq!(range_incl(&group, &[]).unwrap(), Group::EMPTY);
}

#[test]
fn wrong_ranks_are_named() {
    let group = letters("abcd");
    for ranks in [[0, 4], [-1, 0], [2, 2]] {
        assert_eq!(class(incl(&group, &ranks)), MPI_ERR_RANK, "{ranks:?}");
        assert_eq!(class(excl(&group, &ranks)), MPI_ERR_RANK, "{ranks:?}");
    }
    let what = |result: Result<Group, Fault>| result.unwrap_err().what;
    assert_eq!(what(incl(&group, &[0, 4])), "rank 4 at index 1, expected a rank of a group of 4 members");
    assert_eq!(what(incl(&group, &[2, 1, 2])), "rank 2 is given twice");
    assert_eq!(what(range_incl(&group, &[[0, 3, 0]])), "range 0 has stride 0, expected a stride other than 0");
    assert_eq!(
        what(range_excl(&group, &[[0, 0, 1], [1, 3, -1]])),
        "range 1 goes from 1 to 3, but its stride -1 has the wrong sign"
    );
}

#[test]
fn wrong_ranges_have_their_classes() {
    let group = letters("abcd");
    for (ranges, expected) in [
        (vec![[0, 4, 1]], MPI_ERR_RANK),
        (vec![[-1, 2, 1]], MPI_ERR_RANK),
        (vec![[0, 2, 1], [3, 2, -1]], MPI_ERR_RANK),
        (vec![[0, 2, 0]], MPI_ERR_ARG),
        (vec![[0, 2, -1]], MPI_ERR_ARG),
        (vec![[i32::MIN, i32::MAX, 1], [0, i32::MAX, 1]], MPI_ERR_RANK),
        (vec![[i32::MAX, i32::MIN, -1]], MPI_ERR_RANK),
        (vec![[0, i32::MAX, i32::MAX]], MPI_ERR_RANK),
    ] {
        assert_eq!(class(range_incl(&group, &ranges)), expected, "{ranges:?}");
        assert_eq!(class(range_excl(&group, &ranges)), expected, "{ranges:?}");
    }
    assert_eq!(class(range_incl(&Group::EMPTY, &[[0, -1, 1]])), MPI_ERR_ARG);
    assert_eq!(class(range_incl(&Group::EMPTY, &[[0, 0, 1]])), MPI_ERR_RANK);
}

#[test]
fn ranks_are_translated_by_their_processes() {
    let (one, two) = (letters("abcd"), letters("dxa"));
    let ranks = [0, 3, 1, MPI_PROC_NULL];
    assert_eq!(translate_ranks(&one, &ranks, &two).unwrap(), [2, 0, MPI_UNDEFINED, MPI_PROC_NULL]);
    assert_eq!(translate_ranks(&one, &[4], &two).unwrap_err().class, MPI_ERR_RANK);
    assert_eq!(translate_ranks(&Group::EMPTY, &[MPI_PROC_NULL], &two).unwrap(), [MPI_PROC_NULL]);
}

#[test]
fn groups_are_identical_similar_or_unequal() {
    assert_eq!(compare(&letters("abc"), &letters("abc")), MPI_IDENT);
    assert_eq!(compare(&letters("abc"), &letters("cab")), MPI_SIMILAR);
    assert_eq!(compare(&letters("abc"), &letters("abd")), MPI_UNEQUAL);
    assert_eq!(compare(&letters("abc"), &letters("ab")), MPI_UNEQUAL);
    assert_eq!(compare(&Group::EMPTY, &letters("")), MPI_IDENT);
    assert_eq!(compare(&letters("bd"), &Group::Strided { first: 1, stride: 2, size: 2 }), MPI_IDENT);
}

#[test]
fn a_hundred_thousand_members_are_no_matter() {
    let size = 100_000;
    let world = Group::Strided { first: 0, stride: 1, size };
    let backwards = range_incl(&world, &[[size as c_int - 1, 0, -1]]).unwrap();
    let thirds = range_incl(&world, &[[0, size as c_int - 1, 3]]).unwrap();
    assert_eq!(thirds, Group::Strided { first: 0, stride: 3, size: 33_334 });
    assert_eq!(compare(&world, &backwards), MPI_SIMILAR);
    assert_eq!(union(&backwards, &world), backwards);
    let rest = difference(&backwards, &thirds);
    assert_eq!(rest.size(), 66_666);
    assert_eq!(intersection(&rest, &thirds), Group::EMPTY);
    let all: Vec<c_int> = (0..rest.size() as c_int).collect();
    let there = translate_ranks(&rest, &all, &world).unwrap();
    assert_eq!(translate_ranks(&world, &there, &rest).unwrap(), all);
    assert_eq!(excl(&world, &[0]).unwrap(), Group::Strided { first: 1, stride: 1, size: size - 1 });
}
