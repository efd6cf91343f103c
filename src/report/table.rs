//! Text tables with aligned columns.

/// Alignment of the cells in a table column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Maximum width of a text table in characters.
const WIDTH: usize = 80;

/// Text table with a heading. Two blanks precede the first column and separate columns.
#[derive(Debug)]
pub(super) struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Number of key columns at the left of the table.
    keys: usize,
    /// For each table column, true if the column is always in the same block as the previous column.
    stays: Vec<bool>,
}

impl Table {
    /// Creates a text table whose first row has the headings in `columns`.
    pub(super) fn new(columns: &[(&str, Align)]) -> Self {
        let aligns = columns.iter().map(|column| column.1).collect();
        let heading = columns.iter().map(|column| column.0.to_owned()).collect();
        let stays = columns.iter().map(|column| column.0.is_empty() && column.1 == Align::Right).collect();
        Table { aligns, rows: vec![heading], keys: 1, stays }
    }

    /// Sets the number of key columns of the table; the default is one.
    pub(super) fn keyed(self, keys: usize) -> Self {
        Table { keys, ..self }
    }

    /// Puts the columns with the headings `headings` into the same block as the column before them. A column of numbers
    /// without a heading is in the block of the previous column by default.
    pub(super) fn with_previous(mut self, headings: &[&str]) -> Self {
        for (stays, heading) in self.stays.iter_mut().zip(&self.rows[0]) {
            *stays |= headings.contains(&heading.as_str());
        }
        self
    }

    /// Omits the columns whose cells are all `-`. A following column without a heading gets the heading of such a column.
    pub(super) fn without_empty_columns(mut self) -> Self {
        for column in (0..self.aligns.len()).rev() {
            let cells = self.rows[1..].iter().filter_map(|row| row.get(column));
            if self.rows.len() == 1 || !cells.clone().all(|cell| cell == "-") {
                continue;
            }
            let heading = self.rows[0][column].clone();
            if self.stays.get(column + 1) == Some(&true) && self.rows[0][column + 1].is_empty() {
                self.rows[0][column + 1] = heading;
                self.stays[column + 1] = self.stays[column];
            }
            self.rows.iter_mut().filter(|row| row.len() > column).for_each(|row| drop(row.remove(column)));
            self.aligns.remove(column);
            self.stays.remove(column);
        }
        self
    }

    /// Adds a row to the table. Missing cells at the end of the row are empty.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns the lines of the table without trailing blanks, at most 80 characters each. Columns that do not fit
    /// follow in a further block of lines, after a blank line. Each block repeats the key columns, and omits table rows
    /// that have no content in the block. A line is longer than 80 characters only if the key columns and one further
    /// column do not fit.
    pub(super) fn render(&self) -> String {
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.aligns.len()).map(width).collect();
        self.blocks(&widths).iter().map(|block| self.lines(block, &widths)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the columns of each block of the table.
    fn blocks(&self, widths: &[usize]) -> Vec<Vec<usize>> {
        let wide = |columns: &[usize]| columns.iter().map(|&column| widths[column] + 2).sum::<usize>();
        let mut blocks: Vec<Vec<usize>> = vec![(0..self.keys.min(widths.len())).collect()];
        let mut from = self.keys;
        while from < widths.len() {
            let until = (from + 1..widths.len()).find(|&column| !self.stays[column]).unwrap_or(widths.len());
            let last = blocks.last_mut().expect("there is a block");
            let fits = wide(last) + wide(&(from..until).collect::<Vec<_>>()) <= WIDTH;
            if fits || last.len() == self.keys {
                last.extend(from..until);
            } else {
                blocks.push((0..self.keys).chain(from..until).collect());
            }
            from = until;
        }
        blocks
    }

    fn lines(&self, columns: &[usize], widths: &[usize]) -> String {
        let mut text = String::new();
        // The first block of the table contains all rows.
        let whole = columns.get(self.keys).is_none_or(|&column| column == self.keys);
        for (number, row) in self.rows.iter().enumerate() {
            let cell = |column: usize| row.get(column).map_or("", String::as_str);
            if !whole && number > 0 && columns[self.keys..].iter().all(|&column| cell(column).is_empty()) {
                continue;
            }
            let mut line = String::new();
            for &column in columns {
                let (cell, width) = (cell(column), widths[column]);
                line.push_str("  ");
                line.push_str(&match self.aligns[column] {
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

/// Returns headings of at most `widest` characters. Letters replace longer names, and the returned text explains the
/// letters.
pub(super) fn short_headings(names: &[String], widest: usize) -> (Vec<String>, String) {
    if names.iter().all(|name| name.chars().count() <= widest) {
        return (names.to_vec(), String::new());
    }
    let letters: Vec<String> = (0..names.len()).map(letter).collect();
    let legend = letters.iter().zip(names).map(|(letter, name)| format!("  {letter}: {name}\n")).collect();
    (letters, legend)
}

/// Returns the letter of a heading by its index: A to Z, then A1 to Z1 and so on.
fn letter(index: usize) -> String {
    let name = char::from(b'A' + (index % 26) as u8);
    if index < 26 { name.to_string() } else { format!("{name}{}", index / 26) }
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

    #[test]
    fn columns_without_values_are_omitted() {
        let right = |name| (name, Align::Right);
        let mut table = Table::new(&[("place", Align::Left), right("cache"), right("uplink"), right("")]);
        table.row(["leaf", "-", "-", "1 GB/s"].map(str::to_owned));
        table.row(["node", "-", "-", "-"].map(str::to_owned));
        assert_eq!(table.without_empty_columns().render(), "  place  uplink\n  leaf   1 GB/s\n  node        -\n");
    }

    #[test]
    fn columns_beyond_80_characters_follow_below_with_the_first_again() {
        let heads = ["key", "a", "b", "c"].map(|head| (head, Align::Right));
        let mut table = Table::new(&heads);
        let cell = |letter: &str, width| letter.repeat(width);
        // The column widths are 2 + 10, and three times 2 + 22: 84 in total, and 60 without the last column.
        table.row([cell("k", 10), cell("x", 22), cell("y", 22), cell("z", 22)]);
        let text = table.render();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert_eq!(lines[1], format!("  kkkkkkkkkk  {}  {}", cell("x", 22), cell("y", 22)));
        assert_eq!((lines[2], lines[4]), ("", format!("  kkkkkkkkkk  {}", cell("z", 22)).as_str()));

        let mut fits = Table::new(&heads);
        fits.row([cell("k", 9), cell("x", 21), cell("y", 21), cell("z", 21)]);
        assert_eq!(fits.render().lines().map(str::len).max(), Some(80));

        let mut stays = Table::new(&heads).with_previous(&["c"]);
        stays.row(["k", "x", "y", "z"].map(|letter| cell(letter, 24)));
        stays.row(["k".to_owned(), "x".to_owned()]);
        let text = stays.render();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(lines[1].ends_with("xxx") && lines[5].ends_with("zzz"), "{text}");
        assert_eq!(lines.len(), 6, "a row that has nothing there is not in the block: {text}");

        let mut wide = Table::new(&heads[..2]);
        wide.row([cell("k", 50), cell("x", 50)]);
        assert_eq!(wide.render().lines().count(), 2, "the first column and one other stay together");
    }

    #[test]
    fn long_names_become_letters_with_a_legend() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let short = names(&["late.json", "early.json"]);
        assert_eq!(short_headings(&short, 10), (short.clone(), String::new()));
        let (heads, legend) = short_headings(&short, 9);
        assert_eq!((heads, legend.as_str()), (names(&["A", "B"]), "  A: late.json\n  B: early.json\n"));
        assert_eq!(["A", "Z", "A1", "B2"], [0, 25, 26, 53].map(letter).each_ref().map(String::as_str));
    }
}
