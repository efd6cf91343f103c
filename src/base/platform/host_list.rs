//! Slurm's host list expressions, such as `n[001-016,020],gpu[1-2]`.

/// Greatest number of names of an expression.
const MOST_NAMES: usize = 1 << 20;

/// Consecutive numbers of names with the same prefix.
struct NumberRun {
    first: u64,
    last: u64,
    /// Number of digits, with leading zeros.
    width: usize,
}

/// Returns the names of an expression in order.
///
/// # Errors
/// The text says what is expected in place of the returned part of the expression.
pub fn expand(text: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for part in split(text)? {
        if part.is_empty() {
            return Err(format!("a name on each side of a comma in \"{text}\""));
        }
        names.extend(expand_one(part, MOST_NAMES - names.len())?);
    }
    Ok(names)
}

/// Returns an expression for names, from which [`expand`] returns the names. `None`: a name has a character with a
/// meaning in expressions.
pub(super) fn compressed<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Each prefix with its numbers, or a name without a number.
    let mut runs: Vec<(&str, Option<NumberRun>)> = Vec::new();
    for name in names {
        if name.is_empty() || name.contains(|of: char| matches!(of, '[' | ']' | ',' | '"' | '\\') || of.is_control()) {
            return None;
        }
        let prefix = name.trim_end_matches(|of: char| of.is_ascii_digit());
        let digits = &name[prefix.len()..];
        let number = digits.parse::<u64>().ok().filter(|_| digits.len() < 19);
        match (runs.last_mut(), number) {
            (Some((before, Some(run))), Some(number))
                if *before == prefix && run.last + 1 == number && run.width == digits.len() =>
            {
                run.last = number;
            }
            (_, Some(first)) => runs.push((prefix, Some(NumberRun { first, last: first, width: digits.len() }))),
            (_, None) => runs.push((name, None)),
        }
    }
    let text = |(prefix, run): &(&str, Option<NumberRun>)| match run {
        None => (*prefix).to_owned(),
        Some(NumberRun { first, last, width }) if first == last => format!("{prefix}{first:0width$}"),
        Some(NumberRun { first, last, width }) => format!("{prefix}[{first:0width$}-{last:0width$}]"),
    };
    Some(runs.iter().map(text).collect::<Vec<_>>().join(","))
}

/// Returns the first name in alphabetical order that occurs twice.
pub(super) fn first_repeated(names: &[String]) -> Option<&str> {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Splits an expression at the commas outside brackets.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut is_inside) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match (letter, is_inside) {
            ('[', false) => is_inside = true,
            (']', true) => is_inside = false,
            ('[' | ']', _) => return Err(format!("brackets in pairs in \"{text}\"")),
            (',', false) => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if is_inside {
        return Err(format!("brackets in pairs in \"{text}\""));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// Expands one name, which may have several brackets. The last brackets vary fastest.
fn expand_one(part: &str, most: usize) -> Result<Vec<String>, String> {
    let too_many = || format!("at most {MOST_NAMES} names in \"{part}\"");
    let mut names = vec![String::new()];
    let mut rest = part;
    while !rest.is_empty() {
        let (plain, inside) = match rest.split_once('[') {
            Some((plain, after)) => {
                let (inside, after) =
                    after.split_once(']').ok_or_else(|| format!("brackets in pairs in \"{part}\""))?;
                rest = after;
                (plain, Some(inside))
            }
            None => (std::mem::take(&mut rest), None),
        };
        names.iter_mut().for_each(|name| name.push_str(plain));
        if let Some(inside) = inside {
            let numbers = numbers(inside, most)?;
            if names.len().saturating_mul(numbers.len()) > most {
                return Err(too_many());
            }
            names = names.iter().flat_map(|name| numbers.iter().map(move |number| format!("{name}{number}"))).collect();
        }
    }
    if names.len() > most { Err(too_many()) } else { Ok(names) }
}

/// Expands the content of brackets, such as `001-016,020`. Numbers keep their leading zeros.
fn numbers(inside: &str, most: usize) -> Result<Vec<String>, String> {
    let wrong = |part: &str| format!("numbers such as [0-3,7] in place of \"[{part}]\"");
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    let mut all = Vec::new();
    for part in inside.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Some(from), Some(to)) = (number(first), number(last)) else { return Err(wrong(inside)) };
        if to < from {
            return Err(format!("a range from a smaller to a larger number in place of \"{part}\""));
        }
        if to - from >= (most - all.len().min(most)) as u64 {
            return Err(format!("at most {MOST_NAMES} names in \"[{inside}]\""));
        }
        let width = first.len();
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_expand_in_order() {
        for (text, expected) in [
            ("n1", "n1"),
            ("a,b", "a b"),
            ("n[1-3]", "n1 n2 n3"),
            ("n[001-003,020],gpu[1-2]", "n001 n002 n003 n020 gpu1 gpu2"),
            ("n[9-11]", "n9 n10 n11"),
            ("n[098-101]", "n098 n099 n100 n101"),
            ("r[0-1]n[0-1]x", "r0n0x r0n1x r1n0x r1n1x"),
        ] {
            assert_eq!(expand(text).unwrap().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn names_become_an_expression_for_the_same_names() {
        for (text, expected) in [
            ("n1", "n1"),
            ("n[1-3]", "n[1-3]"),
            ("n1,n2,a,b7,n3", "n[1-2],a,b7,n3"),
            ("n[09-11],gpu[1,3]", "n[09-11],gpu1,gpu3"),
            ("n[9-10]", "n9,n10"),
        ] {
            let names = expand(text).unwrap();
            let found = compressed(names.iter().map(String::as_str)).unwrap();
            assert_eq!((found.as_str(), expand(&found).unwrap()), (expected, names));
        }
        assert_eq!(compressed(["a,b"]), None);
    }

    #[test]
    fn wrong_expressions_are_refused() {
        for text in [
            "", "a,", ",a", "n[", "n]", "n[]", "n[1", "n[1-]", "n[-1]", "n[3-1]", "n[a-b]", "n[[1]]", "n[1,,2]",
            "n[+1]",
        ] {
            assert!(expand(text).is_err(), "{text}");
        }
        for text in ["n[0-99999999999]", "n[0-18446744073709551615]", "a[0-999999],b[0-99999]", "a[0-9999]b[0-9999]"] {
            assert!(expand(text).unwrap_err().contains("at most 1048576 names"), "{text}");
        }
    }
}
