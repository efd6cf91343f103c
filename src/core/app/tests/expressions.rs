//! Tests of the values and errors of expressions.

use proptest::prelude::*;

use super::super::expr::Env;
use super::super::grid::NONE;
use super::super::parser::parse;
use super::super::random::Random;
use super::super::scope::{Reach, Scope};
use super::super::slots::Slots;
use super::super::value::Value;
use super::super::world::AppWorld;

fn scope() -> Scope {
    let params = [("n", Value::Int(10)), ("x", Value::Float(2.5)), ("flag", Value::Bool(true))];
    let mut scope = Scope::new(params.map(|(name, value)| (name.to_owned(), value)).into(), Some((8, 42)));
    scope.reach = Reach::All;
    scope
}

/// Value of the expression `text` on rank 3 of 8 ranks, or the error of the expression.
fn value(text: &str) -> Result<Value, String> {
    let expr = parse(text, &scope()).map_err(|error| format!("column {}: {}", error.column, error.what))?;
    let world = AppWorld { size: 8, seed: 42, ..AppWorld::default() };
    let slots = Slots::new(0);
    let mut env = Env { world: &world, rank: 3, slots: &slots, random: &mut Random::default(), peer: NONE };
    expr.evaluate(&mut env).map_err(|fault| fault.to_string())
}

fn show(text: &str) -> String {
    match value(text) {
        // The debug format distinguishes the integer 2 from the float 2.0.
        Ok(Value::Float(x)) => format!("{x:?}"),
        Ok(value) => value.to_string(),
        Err(what) => what,
    }
}

#[test]
fn arithmetic_keeps_whole_numbers_whole_where_it_can() {
    for (text, expected) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("6 / 3", "2"),
        ("7 / 2", "3.5"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("7 // -2", "-4"),
        ("-1 % 8", "7"),
        ("1 % -8", "-7"),
        ("7.5 % 2", "1.5"),
        ("-0.5 % 2", "1.5"),
        ("7.5 // 2", "3.0"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "-4"),
        ("2 ** -1", "0.5"),
        ("2.0 * 3", "6.0"),
        ("1e3", "1000.0"),
        (".5", "0.5"),
        ("1_000", "1000"),
        ("8 - 2 - 1", "5"),
        ("16 / 4 / 2", "2"),
        ("+3", "3"),
        ("n * x", "25.0"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn conditions_compare_and_combine() {
    for (text, expected) in [
        ("rank == 3", "true"),
        ("rank != 3.0", "false"),
        ("1 < 2 and not 2 < 1", "true"),
        ("1 < 2 && !(2 < 1)", "true"),
        ("false or flag", "true"),
        ("false || false", "false"),
        ("true == flag", "true"),
        ("false and 1 / 0 == 1", "false"),
        ("true or 1 / 0 == 1", "true"),
        ("7 if rank < 2 else 8 if rank < 4 else 9", "8"),
        ("1 if true else 1 / 0", "1"),
        ("2 >= 2 and 2 <= 2 and 3 > 2", "true"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn literals_take_units_of_time_and_size() {
    for (text, expected) in [
        ("4 KiB", "4096"),
        ("4KiB * 2", "8192"),
        ("1.5 KB", "1500"),
        ("0.5 B", "0.5"),
        ("2.5 ms", "0.0025"),
        ("2 min", "120.0"),
        ("1 ms if flag else 2 ms", "0.001"),
        ("3 µs * 2", "6e-6"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn functions_compute() {
    for (text, expected) in [
        ("min(3, 1.5, 2)", "1.5"),
        ("max(3, 1.5, 2)", "3"),
        ("abs(-3)", "3"),
        ("floor(-1.5)", "-2"),
        ("ceil(1.2)", "2"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("int(-1.9)", "-1"),
        ("float(2)", "2.0"),
        ("sqrt(16)", "4.0"),
        ("log2(8)", "3.0"),
        ("log(exp(2))", "2.0"),
        ("bit_xor(rank, 1)", "2"),
        ("bit_and(6, 3) + bit_or(6, 3)", "9"),
        ("unpermuted(seed, permuted(seed, rank, size), size)", "3"),
        ("share(10, 0, 4)", "3"),
        ("share(10, 2, 4)", "2"),
        ("cyclic_share(10, 3, 0, 2)", "6"),
        ("cyclic_share(10, 3, 1, 2)", "4"),
        ("cyclic_share(0, 3, 1, 2)", "0"),
        ("comm_rank(world) + comm_size(world)", "11"),
        ("none", "-1"),
        ("randint(4, 4)", "4"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
    assert_eq!(show("random() < 1 and random() >= 0"), "true");
}

#[test]
fn what_has_no_value_says_why() {
    for (text, expected) in [
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("1.5 // 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("9223372036854775807 + 1", "the result is out of range"),
        ("2 ** 64", "the result is out of range"),
        ("(-9223372036854775807 - 1) / -1", "the result is out of range"),
        ("(-9223372036854775807 - 1) // -1", "the result is out of range"),
        ("(-9223372036854775807 - 1) % -1", "the result is out of range"),
        ("1e300 * 1e300", "the result is out of range"),
        ("int(1e300)", "the result is out of range"),
        ("sqrt(-1)", "sqrt(-1) is not defined"),
        ("log2(0)", "log2(0) is not defined"),
        ("1 + flag", "expected a number; found true"),
        ("1 if rank else 2", "expected a condition such as rank == 0; found 3"),
        ("bit_and(1.5, 1)", "expected a whole number; found 1.5"),
        ("share(10, 4, 4)", "10 elements have no part 4 of 4"),
        ("cyclic_share(10, 0, 1, 4)", "10 elements in blocks of 0 have no part 1 of 4"),
        ("permuted(1, 8, 8)", "element 8 is not in a permutation of 8 elements"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_read_names_the_column() {
    for (text, expected) in [
        ("", "column 1: expected a number, a name or \"(\", found the end"),
        ("1 +", "column 4: expected a number, a name or \"(\", found the end"),
        ("1 + * 2", "column 5: expected a number, a name or \"(\", found \"*\""),
        ("(1 + 2", "column 7: expected \")\", found the end"),
        ("1 2", "column 3: expected an operator, found \"2\""),
        ("a = 1", "column 1: unknown name \"a\", did you mean \"n\"?"),
        ("n = 1", "column 3: \"=\" does not compare, write \"==\""),
        ("rnak + 1", "column 1: unknown name \"rnak\", did you mean \"rank\"?"),
        ("frobnicate", "column 1: unknown name \"frobnicate\""),
        ("1 < 2 < 3", "column 7: comparisons do not chain, write \"a < b and b < c\""),
        ("5 parsecs", "column 1: unknown unit \"parsecs\" after \"5\", expected one of time or size such as us or KiB"),
        ("1..2", "column 3: expected an operator, found \"0.2\""),
        ("99999999999999999999", "column 1: \"99999999999999999999\" is out of range"),
        ("n # 2", "column 3: unexpected character \"#\""),
        ("sqr(2)", "column 1: unknown function \"sqr\", did you mean \"sqrt\"?"),
        ("sqrt", "column 1: \"sqrt\" is a function, expected \"(\" after it"),
        ("sqrt(1, 2)", "column 1: sqrt takes 1 argument, found 2"),
        ("min()", "column 1: min takes at least 1 argument, found 0"),
        ("1 if flag", "column 10: expected \"else\", found the end"),
        (
            "peer",
            "column 1: \"peer\" has a meaning only in the bytes of gatherv, scatterv, allgatherv, alltoallv and reduce_scatter",
        ),
        ("any", "column 1: \"any\" has a meaning only by itself, as the from or tag of a receive"),
        ("coord(g, 0)", "column 7: unknown grid \"g\", there are no [grids]"),
        ("comm_size(row)", "column 11: unknown communicator \"row\", expected world"),
        (
            "comm_size(1)",
            "column 11: expected the name of a communicator as the first argument of comm_size, found \"1\"",
        ),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
    assert_eq!(show(&"(".repeat(200)), "column 101: nested more than 100 deep");
    assert_eq!(show(&"-".repeat(200)), "column 101: nested more than 100 deep");
    assert_eq!(show(&"n+".repeat(600)), "column 1002: longer than 1000 numbers, names and operators");
}

#[test]
fn constants_are_folded_and_faults_are_kept_for_run_time() {
    let folded = |text| parse(text, &scope()).unwrap().constant();
    assert_eq!(folded("(n + 1) * size + min(2, 3)"), Some(Value::Int(90)));
    assert_eq!(folded("1 if flag else rank"), Some(Value::Int(1)));
    assert_eq!(folded("1 / 0"), None);
    assert_eq!(folded("random()"), None);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}") {
        let _ = value(&text);
    }

    #[test]
    fn any_row_of_tokens_is_read_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "1", "0", "2.5", "9223372036854775807", "1e308", "n", "x", "flag", "rank", "size", "random()", "(", ")", ",", "+",
        "-", "*", "/", "//", "%", "**", "<", "==", "and", "or", "not", "if", "else", "min(", "sqrt(", "int(", "permuted(",
        "randint(", "bit_xor(", "floor(", "share(", "cyclic_share(", "us", "KiB", "none", "true",
    ]), 0..20)) {
        let _ = value(&words.join(" "));
    }

    #[test]
    fn floor_division_and_modulo_fit_together(a in any::<i32>(), b in any::<i32>().prop_filter("zero", |b| *b != 0)) {
        let text = format!("(({a}) // ({b})) * ({b}) + ({a}) % ({b})");
        prop_assert_eq!(value(&text), Ok(Value::Int(i64::from(a))));
    }
}

#[test]
fn shares_add_up_and_follow_the_blocks() {
    for (n, block, p) in [(100, 7, 3), (1, 1, 5), (64, 8, 4), (37, 50, 2)] {
        let owner = |element: i64| element / block % p;
        for i in 0..p {
            let count = (0..n).filter(|element| owner(*element) == i).count();
            assert_eq!(show(&format!("cyclic_share({n}, {block}, {i}, {p})")), count.to_string());
        }
        let even: Vec<i64> = (0..p).map(|i| show(&format!("share({n}, {i}, {p})")).parse().unwrap()).collect();
        assert_eq!(even.iter().sum::<i64>(), n);
        assert!(even.iter().max().unwrap() - even.iter().min().unwrap() <= 1);
    }
}
