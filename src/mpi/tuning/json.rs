//! Open MPI's dynamic rules for collectives in JSON, the format of Open MPI 6.0. The first JSON object whose range
//! contains the communicator size applies, and in this object the first JSON object whose range contains the message
//! size. If no object applies, Open MPI chooses the algorithm.

use serde_json::{Map, Value};

use super::{NUMBERS, Rules, parameters, volume};
use crate::library::numbered;
use crate::names::collective_word;
use mcpsim_base::platform::{Collective, CollectiveRule, Method};
use mcpsim_base::units::Bytes;

/// Open MPI's names of the algorithms of `collective`, in the order of their identifiers, starting with 1.
fn words(collective: Collective) -> &'static [&'static str] {
    match collective {
        Collective::Allgather => &["linear", "bruck-k-fanout", "recursive_doubling", "ring", "neighbor", "two_proc"],
        Collective::Allgatherv => &["default", "bruck", "ring", "neighbor", "two_proc"],
        Collective::Allreduce => {
            &["basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"]
        }
        Collective::Alltoall => &["linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"],
        Collective::Alltoallv => &["basic_linear", "pairwise"],
        Collective::Barrier => &["linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"],
        Collective::Bcast => &[
            "basic_linear",
            "chain",
            "pipeline",
            "split_binary_tree",
            "binary_tree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ],
        Collective::Scan | Collective::Exscan => &["linear", "recursive_doubling"],
        Collective::Gather => &["basic_linear", "binomial", "linear_sync"],
        Collective::Reduce => &["linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"],
        Collective::ReduceScatter => &["non-overlapping", "recursive_halving", "ring", "butterfly"],
        Collective::Scatter => &["basic_linear", "binomial", "linear_nb"],
        Collective::Gatherv | Collective::Scatterv => &[],
    }
}

/// Names of collectives whose rules in a rules file mcpsim skips.
const OTHERS: [&str; 9] = [
    "alltoallw",
    "reduce_scatter_block",
    "gatherv",
    "scatterv",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
];

/// Replaces a comma before `}` or `]` by a space, because Open MPI's reader and Open MPI's documented example permit
/// such commas.
fn without_trailing_commas(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut comma, mut in_string, mut escaped) = (None, false, false);
    for at in 0..bytes.len() {
        let byte = bytes[at];
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(at) = comma.take() {
                    bytes[at] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => {
                in_string = byte == b'"';
                comma = None;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Reads the text of a rules file in JSON.
///
/// # Errors
/// Description of the error in the rules file, and the path of JSON keys to the error.
pub(super) fn read(text: &str) -> Result<Rules, String> {
    let root: Value = serde_json::from_str(&without_trailing_commas(text))
        .map_err(|error| format!("expected Open MPI's rules as JSON: {error}"))?;
    match root.get("rule_file_version").map(Value::as_u64) {
        None | Some(Some(3)) => {}
        Some(_) => {
            return Err(format!("expected rule_file_version 3; found {}", root["rule_file_version"]));
        }
    }
    if let Some(module) = root.get("module").filter(|module| *module != "tuned") {
        return Err(format!("expected module \"tuned\"; found {module}"));
    }
    let collectives = root.get("collectives").and_then(Value::as_object);
    let collectives = collectives.ok_or("expected \"collectives\", an object of collectives by name")?;
    let mut rules = Rules::new();
    for (word, entries) in collectives {
        let known = NUMBERS.into_iter().flatten().find(|collective| collective_word(*collective) == word);
        let Some(collective) = known else {
            if OTHERS.contains(&word.as_str()) {
                continue;
            }
            let words: Vec<_> = NUMBERS.into_iter().flatten().map(collective_word).collect();
            return Err(format!("collectives.{word}: expected a collective, one of {}", words.join(", ")));
        };
        let entries = entries.as_array().ok_or_else(|| format!("collectives.{word}: expected a list"))?;
        let mut list = Vec::new();
        let mut ranks_done = Vec::new();
        for (place, entry) in entries.iter().enumerate() {
            let here = format!("collectives.{word}[{place}]");
            let entry = entry.as_object().ok_or_else(|| format!("{here}: expected an object"))?;
            if let Some(other) = entry.get("comm_rank_distribution").filter(|text| *text != "any") {
                return Err(format!("{here}.comm_rank_distribution: expected \"any\"; found {other}"));
            }
            let ranks = (number(entry, "comm_size_min", 0, &here)?, number(entry, "comm_size_max", u64::MAX, &here)?);
            let messages = entry.get("rules").and_then(Value::as_array);
            let messages = messages.ok_or_else(|| format!("{here}.rules: expected a list"))?;
            let mut sized = Vec::new();
            let mut sizes_done = Vec::new();
            for (place, message) in messages.iter().enumerate() {
                let here = format!("{here}.rules[{place}]");
                let message = message.as_object().ok_or_else(|| format!("{here}: expected an object"))?;
                let sizes =
                    (number(message, "msg_size_min", 0, &here)?, number(message, "msg_size_max", u64::MAX, &here)?);
                if let Some(method) = method(collective, message, &here)? {
                    sized.extend(rest(sizes, &sizes_done).into_iter().map(|sizes| (sizes, method)));
                }
                sizes_done.push(sizes);
            }
            for (from, to) in rest(ranks, &ranks_done) {
                let narrow = |ranks: u64| u32::try_from(ranks).unwrap_or(u32::MAX);
                list.extend(sized.iter().map(|&((least, most), method)| CollectiveRule {
                    from_ranks: narrow(from),
                    up_to_ranks: narrow(to),
                    from_bytes: Bytes::new(least),
                    up_to_bytes: Bytes::new(most),
                    volume: volume(collective),
                    method,
                }));
            }
            ranks_done.push(ranks);
        }
        rules.push((collective, list));
    }
    Ok(rules)
}

/// Integer at the JSON key `key`; "inf" means the greatest integer. If the key is missing, returns `default`.
fn number(object: &Map<String, Value>, key: &str, default: u64, place: &str) -> Result<u64, String> {
    match object.get(key) {
        None => Ok(default),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("inf") => Ok(u64::MAX),
        Some(value) => {
            value.as_u64().ok_or_else(|| format!("{place}.{key}: expected a whole number, or \"inf\"; found {value}"))
        }
    }
}

/// Algorithm of a rule, with its parameters; `None` if the rule leaves the choice to Open MPI.
fn method(collective: Collective, entry: &Map<String, Value>, place: &str) -> Result<Option<Method>, String> {
    let methods = numbered(collective);
    let names = words(collective);
    let wrong = |found: &Value| {
        format!(
            "{place}.alg: expected an algorithm of {}, 0 to {}, ignore, {}; found {found}",
            collective_word(collective),
            methods.len(),
            names.join(", ")
        )
    };
    let found = entry.get("alg").ok_or_else(|| format!("{place}: expected \"alg\""))?;
    let at = match found {
        Value::String(text) if text == "ignore" => Some(0),
        Value::String(text) => names.iter().position(|name| name == text).map(|at| at as u64 + 1),
        value => value.as_u64(),
    };
    let at = at.filter(|at| *at <= methods.len() as u64).ok_or_else(|| wrong(found))? as usize;
    if at == 0 {
        return Ok(None);
    }
    let value = |key| number(entry, key, 0, place);
    let (fan, segment, reqs) = (value("faninout")?, value("seg_size")?, value("reqs")?);
    Ok(Some(parameters(collective, methods[at - 1], (fan, segment, reqs))))
}

/// Returns the parts of `range` that no range of `done` covers.
fn rest(range: (u64, u64), done: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut parts = vec![range];
    for &(first, last) in done {
        let without = |(from, to): (u64, u64)| {
            let before = (first > from).then(|| (from, to.min(first.wrapping_sub(1))));
            let after = (last < to).then(|| (from.max(last.saturating_add(1)), to));
            [before, after].into_iter().flatten().filter(|(from, to)| from <= to)
        };
        parts = parts.into_iter().flat_map(without).collect();
    }
    parts.retain(|(from, to)| from <= to);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_base::platform::{Algorithm, CollectiveRules};

    const FILE: &str = r#"{ "rule_file_version": 3, "module": "tuned", "collectives": {
      "allreduce": [
        { "comm_size_min": 64, "comm_size_max": 128, "rules": [
            { "msg_size_min": 512, "msg_size_max": 511999, "alg": 2 },
            { "msg_size_min": 1000, "msg_size_max": "inf", "alg": "recursive_doubling", "reqs": 8 } ] },
        { "comm_size_min": 100, "rules": [ { "alg": "ring" } ] } ],
      "alltoall": [ { "rules": [
            { "msg_size_max": 99, "alg": 0 }, { "alg": "linear_sync", "reqs": 4 } ] } ],
      "reduce_scatter_block": [] } }"#;

    #[test]
    fn the_first_entry_that_holds_is_taken() {
        let mut all = CollectiveRules::default();
        read(FILE).unwrap().into_iter().for_each(|(collective, rules)| all.set(collective, rules));
        let allreduce = |ranks, size| all.method(Collective::Allreduce, ranks, Bytes::new(size));
        assert_eq!(allreduce(63, 512), None);
        assert_eq!(allreduce(64, 512), Some(Algorithm::Nonoverlapping.into()));
        // The second JSON object contains the size as well, but the first object has precedence.
        assert_eq!(allreduce(128, 511), None);
        assert_eq!(allreduce(128, 511_999), Some(Algorithm::Nonoverlapping.into()));
        assert_eq!(allreduce(128, 512_000), Some(Algorithm::RecursiveDoubling.into()));
        assert_eq!(allreduce(129, 0), Some(Algorithm::Ring.into()));
        // The rules of an alltoall refer to all bytes that a rank sends.
        let alltoall = |size| all.method(Collective::Alltoall, 10, Bytes::new(size));
        assert_eq!(alltoall(9), None);
        assert_eq!(alltoall(10), Some(Method::from(Algorithm::LinearSync).by(4)));
    }

    #[test]
    fn names_are_as_many_as_numbers() {
        for collective in NUMBERS.into_iter().flatten() {
            assert_eq!(words(collective).len(), numbered(collective).len(), "{collective:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = |text: &str| read(text).unwrap_err();
        assert!(error("{").starts_with("expected Open MPI's rules as JSON: EOF while parsing"));
        assert_eq!(error("{\"rule_file_version\": 4}"), "expected rule_file_version 3; found 4");
        assert_eq!(error("{\"module\": \"han\"}"), "expected module \"tuned\"; found \"han\"");
        assert_eq!(error("{}"), "expected \"collectives\", an object of collectives by name");
        let with = |text: &str| error(&format!("{{\"collectives\": {{{text}}}}}"));
        assert!(with("\"bcats\": []").starts_with("collectives.bcats: expected a collective, one of allgather, "));
        assert_eq!(with("\"bcast\": [{}]"), "collectives.bcast[0].rules: expected a list");
        let rule = |text: &str| with(&format!("\"bcast\": [{{\"rules\": [{{{text}}}]}}]"));
        assert_eq!(rule(""), "collectives.bcast[0].rules[0]: expected \"alg\"");
        assert_eq!(
            rule("\"alg\": \"ring\""),
            "collectives.bcast[0].rules[0].alg: expected an algorithm of bcast, 0 to 9, ignore, basic_linear, chain, \
             pipeline, split_binary_tree, binary_tree, binomial, knomial, scatter_allgather, scatter_allgather_ring; found \"ring\""
        );
        assert_eq!(
            rule("\"msg_size_min\": -1, \"alg\": 1"),
            "collectives.bcast[0].rules[0].msg_size_min: expected a whole number, or \"inf\"; found -1"
        );
        assert_eq!(
            with("\"bcast\": [{\"comm_rank_distribution\": \"single-node\"}]"),
            "collectives.bcast[0].comm_rank_distribution: expected \"any\"; found \"single-node\""
        );
    }
}
