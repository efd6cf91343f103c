//! Columns of text that line up.

/// Which edge of a column its cells touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Rows of cells under a heading; two blanks in front of the table and between columns.
#[derive(Debug)]
pub(super) struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings, the first row.
    pub(super) fn new(columns: &[(&str, Align)]) -> Self {
        let aligns = columns.iter().map(|column| column.1).collect();
        let heading = columns.iter().map(|column| column.0.to_owned()).collect();
        Table { aligns, rows: vec![heading] }
    }

    /// Adds a row; missing cells at its end stay empty.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines, without blanks at their ends.
    pub(super) fn render(&self) -> String {
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.aligns.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &align), &width) in row.iter().zip(&self.aligns).zip(&widths) {
                line.push_str("  ");
                line.push_str(&match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right), ("note", Align::Left)]);
        table.row(["a".to_owned(), "100".to_owned(), String::new()]);
        table.row(["longer".to_owned(), "7".to_owned()]);
        assert_eq!(table.render(), "  name      n  note\n  a       100\n  longer    7\n");
    }
}
