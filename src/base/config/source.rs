//! Line numbers of values in the text of a TOML file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Text of a TOML file with the positions of its values.
#[derive(Debug)]
pub struct SourceLines<'t> {
    text: &'t str,
    root: Option<DeTable<'t>>,
}

impl<'t> SourceLines<'t> {
    /// Parses `text`. If the text is not TOML, [`SourceLines::line`] always returns `None`.
    pub fn new(text: &'t str) -> Self {
        SourceLines { text, root: DeTable::parse(text).ok().map(Spanned::into_inner) }
    }

    /// Line number, counted from 1, of the value at the dotted `path` (`main[2].do[0]`), or of the longest prefix of
    /// `path` in the file. `None` if the first key of `path` is not in the file.
    pub fn line(&self, path: &str) -> Option<u32> {
        let mut parts = path.split(['.', '[']);
        let mut value = self.root.as_ref()?.get(parts.next()?)?;
        for part in parts {
            let next = match (value.get_ref(), part.strip_suffix(']')) {
                (DeValue::Array(items), Some(index)) => index.parse().ok().and_then(|index: usize| items.get(index)),
                (DeValue::Table(table), None) => table.get(part),
                _ => None,
            };
            let Some(next) = next else { break };
            value = next;
        }
        let before = self.text.get(..value.span().start)?;
        Some(before.matches('\n').count() as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_tables_lists_and_lists_of_tables() {
        let text = "name = \"x\"\nmain = [\n  { send = { to = 1 } },\n  { repeat = 3, do = [\n    { recv = 0 },\n  ] },\n]\n\
                    [[steps]]\na = 1\n[[steps]]\nb = 2\n[procedures]\nexchange = [\n  { barrier = {} },\n]\n";
        let lines = SourceLines::new(text);
        for (path, line) in [
            ("name", Some(1)),
            ("main", Some(2)),
            ("main[0]", Some(3)),
            ("main[0].send.to", Some(3)),
            ("main[1].do[0]", Some(5)),
            ("main[1].do[7]", Some(4)),
            ("steps[1].b", Some(11)),
            ("procedures.exchange[0]", Some(14)),
            ("absent[0]", None),
        ] {
            assert_eq!(lines.line(path), line, "{path}");
        }
        assert_eq!(SourceLines::new("= no TOML").line("main"), None);
    }
}
