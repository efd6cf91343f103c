//! State of a benchmark table while mcpsim reads the lines of the table's section.

use mcpsim_core::config::ConfigError;

use super::table::{BenchmarkTable, TableLines};

/// Words that IMB prints in place of measured values.
const WITHOUT_FIGURES: [&str; 3] = ["time-out.", "int-overflow.", "out-of-mem."];

/// Unit of a column with measured values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FigureUnit {
    Microseconds,
    /// Millions of bytes per second.
    Megabytes,
    /// Messages per second.
    Messages,
}

/// Columns of a benchmark table.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Names of the columns up to the last column that is read.
    pub names: Vec<String>,
    /// Index of the column with the message size; `None` for barriers.
    pub size: Option<usize>,
    pub figure: usize,
    pub unit: FigureUnit,
    /// True if each group of processes has its own table row. The rows of all groups are averaged.
    pub by_group: bool,
}

/// A benchmark table with its position in the file.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Line number of the table's title, from 1.
    pub line: usize,
    pub table: BenchmarkTable,
    pub columns: Option<Columns>,
    /// Greatest message size according to the head of the file.
    pub most: Option<u64>,
    /// Message sizes without measured values, with the reason why no value was measured.
    pub without: Vec<String>,
    /// True if text of another form follows the table rows.
    interrupted: bool,
    /// Number of cells in the last table row.
    cells: usize,
    /// Number of consecutive table rows with the message size of the last row.
    alike: u32,
}

impl Section {
    pub fn new(line: usize, table: BenchmarkTable) -> Section {
        Section { line, table, columns: None, most: None, without: Vec::new(), interrupted: false, cells: 0, alike: 1 }
    }

    /// Records a line that is neither a comment nor a table row.
    pub fn interrupt(&mut self) {
        self.interrupted = !self.table.rows.is_empty();
    }

    /// Reads a table row, which is a line that starts with a digit.
    ///
    /// # Errors
    /// The row of the benchmark table is damaged.
    pub fn row(&mut self, lines: &TableLines<'_>, number: usize, text: &str) -> Result<(), ConfigError> {
        let Some(columns) = &self.columns else { return Ok(()) };
        let cells: Vec<&str> = text.split_whitespace().collect();
        let mark = cells.iter().find_map(|cell| WITHOUT_FIGURES.into_iter().find(|mark| cell.starts_with(mark)));
        if let Some(mark) = mark {
            let size = cells[columns.size.unwrap_or(0).min(cells.len() - 1)];
            self.without.push(format!("{size} B ({})", mark.trim_end_matches('.')));
            return Ok(());
        }
        let names: Vec<&str> = columns.names.iter().map(String::as_str).collect();
        let is_row = cells.len() >= names.len() && cells[..names.len()].iter().all(|cell| cell.parse::<f64>().is_ok());
        if !is_row && (self.interrupted || cells.len() > names.len()) {
            self.interrupt();
            return Ok(());
        }
        let figures = lines.numbers(number, text, &names)?;
        let bytes = columns.size.map_or(0.0, |column| figures[column]);
        let figure = figures[columns.figure];
        let figure = match columns.unit {
            FigureUnit::Microseconds => figure / 1e6,
            FigureUnit::Megabytes => figure * 1e6 / bytes.max(1.0),
            FigureUnit::Messages => figure,
        };
        let last = self.table.rows.last().map(|(size, _)| *size as f64);
        if self.interrupted && (cells.len() != self.cells || last.is_some_and(|last| last >= bytes)) {
            return Ok(());
        }
        self.interrupted = false;
        self.cells = cells.len();
        if columns.by_group && last == Some(bytes) {
            self.alike += 1;
            if let Some((_, mean)) = self.table.rows.last_mut() {
                *mean += (figure - *mean) / f64::from(self.alike);
            }
            return Ok(());
        }
        self.alike = 1;
        lines.push(number, &mut self.table, bytes, figure)
    }
}
