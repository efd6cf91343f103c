//! Jobs on the command line: `--job APP[:KEY=VALUE]…`.

use std::path::Path;

use toml::{Table, Value};

use crate::config::{Override, did_you_mean};
use crate::run::error::PredictError;
use crate::run::shipped::Shipped;

/// Name of the jobs of the command line in error messages.
pub const COMMAND_LINE: &str = "--job";

/// Keys of a job on the command line. A key that starts with `set.` sets a key of the application.
const KEYS: [&str; 12] = [
    "name",
    "ranks",
    "nodes",
    "hosts",
    "cores",
    "allocation",
    "ranks_per_node",
    "placement",
    "map_by",
    "start",
    "seed",
    "arguments",
];

/// Returns the text of the jobs file that describes the same jobs as the options `--job` with the values `jobs`.
///
/// # Errors
/// A value does not have the form `APP[:KEY=VALUE]…`.
pub fn jobs_text(jobs: &[String]) -> Result<String, PredictError> {
    let mut tables = Table::new();
    for text in jobs {
        let (name, table) = job(text)?;
        let mut unique = name.clone();
        let mut number = 1;
        while tables.contains_key(&unique) {
            number += 1;
            unique = format!("{name}-{number}");
        }
        tables.insert(unique, table.into());
    }
    let file = Table::from_iter([("jobs".to_owned(), tables.into())]);
    toml::to_string(&file).map_err(|error| PredictError::input(format!("--job: {error}")))
}

/// Returns the name and the table of the job that `text` describes.
fn job(text: &str) -> Result<(String, Table), PredictError> {
    let wrong = |what: &str| {
        let form = "expected APP[:KEY=VALUE]..., such as halo.toml:ranks=64:nodes=4";
        PredictError::input(format!("--job {text}: {what}; {form}"))
    };
    let mut parts = text.split(':').map(str::trim);
    let app = parts.next().unwrap_or_default();
    if app.is_empty() {
        return Err(wrong("no application"));
    }
    let (mut table, mut set) = (Table::new(), Table::new());
    let mut words = app.split_whitespace();
    let first = words.next().unwrap_or_default();
    match Path::new(app).exists() {
        true => _ = table.insert("app".to_owned(), app.into()),
        false => {
            table.insert("app".to_owned(), first.into());
            let arguments: Vec<Value> = words.map(Value::from).collect();
            if !arguments.is_empty() {
                table.insert("arguments".to_owned(), arguments.into());
            }
        }
    }
    let mut name = None;
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            return Err(wrong(&format!("\"{part}\" has no \"=\"")));
        };
        let key = key.trim().replace('-', "_");
        let parsed = Override::parse(&format!("run.key={value}")).map_err(|_| wrong(&format!("\"{part}\"")))?.value;
        if let Some(of_app) = key.strip_prefix("set.") {
            set.insert(of_app.to_owned(), parsed);
            continue;
        }
        if !KEYS.contains(&key.as_str()) {
            let near = did_you_mean(&key, KEYS);
            let known = KEYS[..KEYS.len() - 1].join(", ");
            return Err(wrong(&format!("unknown key \"{key}\"{near}; keys are {known} and set.KEY")));
        }
        let previous = match key.as_str() {
            "name" => name.replace(value.trim().to_owned()).map(Value::from),
            // Words such as "64" are text only in these keys.
            "allocation" | "placement" | "map_by" | "start" => table.insert(key.clone(), value.trim().into()),
            _ => table.insert(key.clone(), parsed),
        };
        if previous.is_some() {
            return Err(wrong(&format!("{key} twice")));
        }
    }
    if !set.is_empty() {
        table.insert("set".to_owned(), set.into());
    }
    let path = Shipped::Application.named(Path::new(first))?;
    let stem = path.file_stem().map_or_else(|| first.to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok((name.unwrap_or(stem), table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(jobs: &[&str]) -> Result<String, String> {
        let jobs: Vec<String> = jobs.iter().map(|job| (*job).to_owned()).collect();
        jobs_text(&jobs).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_the_tables_of_a_jobs_file() {
        let found =
            text(&["a.toml:ranks=4:ranks-per-node=2:hosts=0-1", "./p -n 5:start=1 ms:name=p", "a.toml:set.n=7"]);
        let expected = "[jobs.a]\napp = \"a.toml\"\nranks = 4\nranks_per_node = 2\nhosts = \"0-1\"\n\n\
                        [jobs.p]\napp = \"./p\"\narguments = [\"-n\", \"5\"]\nstart = \"1 ms\"\n\n\
                        [jobs.a-2]\napp = \"a.toml\"\n\n[jobs.a-2.set]\nn = 7\n";
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn malformed_jobs_are_explained() {
        let form = "expected APP[:KEY=VALUE]..., such as halo.toml:ranks=64:nodes=4";
        for (job, what) in [
            ("", "no application"),
            (":ranks=4", "no application"),
            ("a.toml:4", "\"4\" has no \"=\""),
            ("a.toml:ranks=4:ranks=5", "ranks twice"),
        ] {
            assert_eq!(text(&[job]).unwrap_err(), format!("--job {job}: {what}; {form}"));
        }
        let error = text(&["a.toml:rank=4"]).unwrap_err();
        assert!(error.starts_with("--job a.toml:rank=4: unknown key \"rank\", did you mean \"ranks\"?"), "{error}");
    }
}
