//! Habits of English that are hard to read, counted in documents and comments.

use regex::Regex;

/// A habit: a regular expression that finds it in a line, and advice.
type Habit = (&'static str, &'static str);

/// Habits that are counted. A line counts once per habit.
const HABITS: [Habit; 7] = [
    (
        r"\b[Ww]hat (an?|the|one|it|is|are|has|have|was|of|goes|comes|passes|stands|remains|lies|they)\b",
        "name the noun",
    ),
    (r"^\W*(What|Who|Whose|So many|As many|As much|Those that|That which)\b", "begin with the noun or the verb"),
    (r"\b(is|are|be|was|were) told\b|\b(tells?|told|hears?)\b|\bsays? (so|it)\b", "data are sent, reported or stored"),
    (
        r"\b(one|two|three|four|\d[\d,.]*( \w+)?|bytes|times?|file|line|row|column|link) an? (rank|node|core|CMP|worker|process|message|second|point|row|class|byte|fragment|pair|task|level)\b",
        "write \"per rank\"",
    ),
    (r"\b(where|if) (there (is|are)|it (is|has)) (none|one|not|any|such|some)\b", "name the thing"),
    (r"\b(goes|go|went|comes|come|came) (on|by|with|there|in|through|for)\b", "use the exact verb"),
    (r"\bof (those|that|them|these|which|it|what|all|whom)\b", "repeat the noun"),
];

/// Parts of the project, each with its greatest number of habits per thousand words. A file belongs to the part with
/// the longest matching path: files in `src/real/process` do not count in `src/real`.
pub const LEVELS: [(&str, f64); 27] = [
    ("ARCHITECTURE.md", 3.0),
    ("CHANGELOG.md", 3.0),
    ("README.md", 3.0),
    ("benches", 3.0),
    ("configs", 3.0),
    ("docs", 3.0),
    ("python", 3.0),
    ("src", 3.0),
    ("src/cli", 3.0),
    ("src/core", 3.0),
    ("src/engine", 3.0),
    ("src/engine/fair.rs", 37.0),
    ("src/engine/resource/flows", 29.0),
    ("src/engine/resource/flows.rs", 50.0),
    ("src/engine/memory", 33.5),
    ("src/engine/memory.rs", 46.5),
    ("src/matrices", 3.0),
    ("src/measure", 3.0),
    ("src/real", 3.0),
    ("src/real/process/clib", 27.0),
    ("src/report", 3.0),
    ("src/revisions", 3.0),
    ("src/run", 3.0),
    ("src/study", 3.0),
    ("tests", 3.0),
    ("validation", 3.0),
    ("workloads", 3.0),
];

/// Returns the lines of text in a file: comments of Rust and TOML, and text of Markdown outside blocks of code.
fn lines<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let mut code = false;
    let comment = |line: &'a str, mark: &str| {
        let at = line.find(mark)?;
        (at == 0 || !line[..at].ends_with(':')).then(|| line[at..].trim_start_matches(['/', '!', '#', ' ']))
    };
    text.lines()
        .filter_map(|line| match path.rsplit('.').next() {
            Some("rs") => comment(line, "//"),
            Some("toml") => comment(line, "#"),
            _ => {
                let fence = line.trim_start().starts_with("```");
                code ^= fence;
                (!code && !fence && !line.starts_with("    ")).then_some(line)
            }
        })
        .collect()
}

/// Returns the number of words and the number of habits in the files.
pub fn count(files: &[&(String, String)]) -> (usize, usize) {
    let habits: Vec<Regex> = HABITS.iter().map(|(habit, _)| Regex::new(habit).unwrap()).collect();
    let mut found = (0, 0);
    for (path, text) in files {
        for line in lines(path, text) {
            found.0 += line.split_whitespace().count();
            found.1 += habits.iter().filter(|habit| habit.is_match(line)).count();
        }
    }
    found
}

/// Returns the index in [`LEVELS`] of the part with the longest path that is a prefix of `path`.
fn part_of(path: &str) -> Option<usize> {
    let begins = |part: &str| path == part || path.strip_prefix(part).is_some_and(|rest| rest.starts_with('/'));
    let parts = LEVELS.iter().enumerate().filter(|(_, (part, _))| begins(part));
    parts.max_by_key(|(_, (part, _))| part.len()).map(|(index, _)| index)
}

/// Returns the parts that exceed their level, and the files that belong to no part.
pub fn above_level(files: &[(String, String)]) -> Vec<String> {
    let mut parts = vec![Vec::new(); LEVELS.len()];
    let mut wrong = Vec::new();
    for file in files {
        match part_of(&file.0) {
            Some(part) => parts[part].push(file),
            None => wrong.push(format!("{}: no level", file.0)),
        }
    }
    for ((part, level), files) in LEVELS.iter().zip(&parts) {
        let (words, habits) = count(files);
        let found = 1000.0 * habits as f64 / words.max(1) as f64;
        if found > *level {
            wrong.push(format!("{part}: {found:.1} per thousand words, expected at most {level}: {}", advice(files)));
        }
    }
    wrong
}

/// Returns the first lines that have a habit, with the advice.
fn advice(files: &[&(String, String)]) -> String {
    let mut found = Vec::new();
    for (habit, advice) in HABITS {
        let habit = Regex::new(habit).unwrap();
        let all = files.iter().flat_map(|(path, text)| lines(path, text).into_iter().map(move |line| (path, line)));
        found.extend(
            all.filter(|(_, line)| habit.is_match(line)).map(|(path, line)| format!("{path}: {line} ({advice})")),
        );
    }
    found.truncate(20);
    format!("\n  {}", found.join("\n  "))
}

#[test]
fn habits_are_counted_in_comments_and_text_alone() {
    let of = |path: &str, text: &str| count(&[&(path.to_owned(), text.to_owned())]);
    assert_eq!(of("a.rs", "let what_is = 1; // What the rank is told.\n/// Number of ranks.\n"), (8, 3));
    assert_eq!(of("a.rs", "let url = \"https://what.is\";\n"), (0, 0));
    assert_eq!(of("a.toml", "a = 1 # 8 bytes a message\n"), (4, 1));
    assert_eq!(of("a.md", "Bytes per message.\n```\nwhat is told\n```\n    what it is\n"), (3, 0));
}
