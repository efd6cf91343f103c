//! Lists of node or core numbers in jobs files, such as `0-3,8`.

use std::collections::HashMap;
use std::path::Path;

use toml::Value;

use crate::config::{Document, Lines};
use crate::platform::{Places, expand_hosts};
use crate::run::error::PredictError;

/// Greatest number of entries of a list.
const MOST: usize = 1 << 24;

/// Form of a list in error messages.
const FORM: &str = "numbers from 0 such as \"0-3,8\", or a file with such lines";

/// Parses `0-3,8`. Ranges include both ends.
///
/// # Errors
/// The text of the part that is no number and no range.
pub(super) fn parse(text: &str) -> Result<Vec<u32>, String> {
    let mut numbers = Vec::new();
    for part in text.split([',', ' ', '\t']).map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) else {
            return Err(part.to_owned());
        };
        if first > last || numbers.len() + (last - first) as usize >= MOST {
            return Err(part.to_owned());
        }
        numbers.extend(first..=last);
    }
    if numbers.is_empty() { Err(text.to_owned()) } else { Ok(numbers) }
}

/// Returns the list in the value at `path` of `document`: a text such as `0-3,8`, a number, an array of numbers, or the
/// name of a file. A relative name starts at `directory`.
pub(super) fn list_of(
    document: &Document,
    path: &str,
    value: &Value,
    directory: &Path,
) -> Result<Vec<u32>, PredictError> {
    let wrong = |found: String| PredictError::from(document.expected(path, FORM, found));
    let number = |value: &Value| {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| wrong(value.to_string()))
    };
    let list = match value {
        Value::Integer(_) => vec![number(value)?],
        Value::Array(values) if !values.is_empty() => values.iter().map(number).collect::<Result<_, _>>()?,
        Value::String(text) if is_list(text) => parse(text).map_err(|part| wrong(format!("\"{part}\"")))?,
        Value::String(name) => of_file(&directory.join(name))?,
        other => return Err(wrong(other.to_string())),
    };
    if let Some(twice) = first_repeated(&list) {
        return Err(wrong(format!("{twice} twice")));
    }
    Ok(list)
}

/// Nodes of a job: their numbers or their names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HostList {
    Numbers(Vec<u32>),
    Names(Vec<String>),
}

impl HostList {
    pub(super) fn len(&self) -> usize {
        match self {
            HostList::Numbers(numbers) => numbers.len(),
            HostList::Names(names) => names.len(),
        }
    }

    /// Returns the numbers of the nodes of the job `job`.
    ///
    /// # Errors
    /// The machine does not state names of nodes, or has no node with a name.
    pub(super) fn numbers(&self, job: &str, places: &Places) -> Result<Vec<u32>, PredictError> {
        let names = match self {
            HostList::Numbers(numbers) => return Ok(numbers.clone()),
            HostList::Names(names) => names,
        };
        let known: HashMap<&str, u32> = (0..).zip(&places.hosts).map(|(node, name)| (name.as_str(), node)).collect();
        let number = |name: &String| {
            let expected = match known.is_empty() {
                true => "numbers of nodes, because the platform has no key hosts with names",
                false => "names that the key hosts of the platform has",
            };
            let known = known.get(name.as_str()).copied();
            known.ok_or_else(|| PredictError::input(format!("job {job}: hosts: expected {expected}; found \"{name}\"")))
        };
        names.iter().map(number).collect()
    }
}

/// Returns the nodes in the value at `path` of `document`: a list as in [`list_of`], or names such as `n[01-04]`.
pub(super) fn hosts_of(
    document: &Document,
    path: &str,
    value: &Value,
    directory: &Path,
) -> Result<HostList, PredictError> {
    let text = value.as_str().filter(|text| !is_list(text) && !directory.join(text).exists());
    let is_name = |text: &str| text.starts_with(|first: char| first.is_ascii_alphabetic());
    let Some(text) = text.filter(|text| is_name(text) && !text.contains(['/', '.'])) else {
        return list_of(document, path, value, directory).map(HostList::Numbers);
    };
    let names = expand_hosts(text).map_err(|expected| document.expected(path, expected, format!("\"{text}\"")))?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(document.expected(path, "each host once", format!("\"{}\" twice", pair[0])).into()),
        None => Ok(HostList::Names(names)),
    }
}

/// Makes the name of a file in `value` independent of the current directory.
pub(super) fn absolute_list(value: &mut Value, directory: &Path) {
    let file = value.as_str().filter(|text| !is_list(text)).map(|name| directory.join(name));
    if let Some(path) = file.filter(|path| path.exists()) {
        *value = std::path::absolute(&path).unwrap_or(path).display().to_string().into();
    }
}

/// Returns whether the text is a list of numbers and not the name of a file.
fn is_list(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '-' | ' ' | '\t'))
}

fn of_file(path: &Path) -> Result<Vec<u32>, PredictError> {
    let lines = Lines::read(path)?;
    let mut numbers = Vec::new();
    for (line, text) in lines.iter() {
        numbers.extend(parse(text).map_err(|part| lines.expected(line, "numbers from 0 such as \"0-3,8\"", &part))?);
    }
    if numbers.is_empty() {
        return Err(lines.expected_in_all("numbers from 0 such as \"0-3,8\"", "none").into());
    }
    Ok(numbers)
}

/// Returns the least number that occurs more than once.
fn first_repeated(list: &[u32]) -> Option<u32> {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(parse("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("5 2"), Ok(vec![5, 2]));
        for (text, part) in [("3-1", "3-1"), ("x", "x"), ("1,-2", "-2"), ("", ""), ("0-4294967295", "0-4294967295")] {
            assert_eq!(parse(text), Err(part.to_owned()));
        }
    }

    #[test]
    fn a_number_that_occurs_twice_is_found() {
        assert_eq!(first_repeated(&[4, 1, 4, 1]), Some(1));
        assert_eq!(first_repeated(&[4, 1]), None);
    }
}
