//! Text form of time matrices: the parameters of the measurement, host names, and a block of numbers per message
//! length.
//!
//! ```text
//! processors 4
//! test type "one_to_one"
//! data type "median"
//! begin message length 0
//! …
//! number of repeates 20
//! hosts:
//! node1
//! …
//! Message length 0
//! 0 2.914e-6 …
//! ```

use std::io::{Read, SeekFrom, Write};

use super::matrices_file::Matrices;
use super::netcdf::SeekRead;
use super::parameters::{MatrixError, PairTest, Parameters, Statistic};

/// First word of a matrix file in text form.
const BEGIN: &[u8] = b"processors";

/// Names of numeric parameters, in the order of text files.
const NUMBERS: [&str; 7] = [
    "begin message length",
    "end message length",
    "step length",
    "noise message length",
    "number of noise messages",
    "number of noise processes",
    "number of repeates",
];

/// Returns true if a matrix file has the text form.
pub(super) fn is_text(input: &mut dyn SeekRead) -> Result<bool, MatrixError> {
    let mut begin = Vec::new();
    input.take(BEGIN.len() as u64).read_to_end(&mut begin).map_err(unreadable)?;
    input.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    Ok(begin == BEGIN)
}

fn unreadable(error: std::io::Error) -> MatrixError {
    MatrixError::new(format!("cannot be read: {error}"))
}

/// Words of a matrix file in text form, with their line numbers.
struct MatrixWords<'a> {
    words: Box<dyn Iterator<Item = (usize, &'a str)> + 'a>,
}

impl<'a> MatrixWords<'a> {
    fn new(text: &'a str) -> MatrixWords<'a> {
        let lines = (1..).zip(text.lines());
        MatrixWords {
            words: Box::new(lines.flat_map(|(line, text)| text.split_whitespace().map(move |word| (line, word)))),
        }
    }

    fn next(&mut self, expected: &str) -> Result<(usize, &'a str), MatrixError> {
        self.words.next().ok_or_else(|| MatrixError::new(format!("truncated: expected {expected}; found the end")))
    }

    /// Reads words of the text file that must be equal to `words`.
    fn expect(&mut self, words: &str) -> Result<(), MatrixError> {
        for expected in words.split(' ') {
            let (line, found) = self.next(&format!("\"{words}\""))?;
            if found != expected {
                return Err(MatrixError::new(format!("line {line}: expected \"{words}\"; found \"{found}\"")));
            }
        }
        Ok(())
    }

    fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N, MatrixError> {
        let (line, found) = self.next(&format!("a number, {what}"))?;
        found
            .parse()
            .map_err(|_| MatrixError::new(format!("line {line}: expected a number, {what}; found \"{found}\"")))
    }

    /// Reads a name from the text file; the name may be quoted.
    fn name(&mut self, what: &str) -> Result<&'a str, MatrixError> {
        self.expect(what)?;
        Ok(self.next(what)?.1.trim_matches('"'))
    }
}

/// Reads a whole matrix file in text form.
pub(super) fn read_text(input: &mut dyn SeekRead) -> Result<Matrices, MatrixError> {
    let mut text = String::new();
    input.read_to_string(&mut text).map_err(unreadable)?;
    let mut words = MatrixWords::new(&text);
    words.expect("processors")?;
    let ranks = words.number("how many processors")?;
    let name = words.name("test type")?;
    let test = PairTest::of_name(name)
        .ok_or_else(|| MatrixError::new(format!("test type: expected one such as one_to_one; found \"{name}\"")))?;
    let name = words.name("data type")?;
    let statistic = Statistic::of_name(name).ok_or_else(|| {
        MatrixError::new(format!("data type: expected average, median, deviation or minimum; found \"{name}\""))
    })?;
    let mut numbers = [0; NUMBERS.len()];
    for (number, what) in numbers.iter_mut().zip(NUMBERS) {
        words.expect(what)?;
        *number = words.number(what)?;
    }
    let [begin, end, step, noise_bytes, noise_messages, noise_ranks, repeats] = numbers;
    let parameters = Parameters { ranks, test, begin, end, step, repeats, noise_bytes, noise_messages, noise_ranks };
    parameters.check()?;
    words.expect("hosts:")?;
    for _ in 0..ranks {
        words.next("one host name per processor")?;
    }
    let mut values = Vec::new();
    for matrix in 0..parameters.count() {
        words.expect("Message length")?;
        let (found, length): (u64, u64) = (words.number("a message length")?, parameters.length(matrix));
        if found != length {
            return Err(MatrixError::new(format!("Message length: expected {length}; found {found}")));
        }
        for _ in 0..parameters.elements() {
            values.push(words.number("an element of a matrix")?);
        }
    }
    Matrices::of(parameters, statistic, values)
}

/// Writes `matrices` in the text form. `hosts` contains one host name per rank.
///
/// # Errors
/// The time matrices cannot be read or written.
pub fn write_text(output: &mut dyn Write, matrices: &mut Matrices, hosts: &[String]) -> Result<(), MatrixError> {
    let parameters = matrices.parameters;
    let mut text = format!(
        "processors {}\n\ntest type \"{}\"\ndata type \"{}\"\n",
        parameters.ranks,
        parameters.test.name(),
        matrices.statistic.word()
    );
    let values = [
        parameters.begin,
        parameters.end,
        parameters.step,
        parameters.noise_bytes,
        parameters.noise_messages,
        parameters.noise_ranks,
        parameters.repeats,
    ];
    for (name, value) in NUMBERS.iter().zip(values) {
        text.push_str(&format!("{name} {value}\n"));
    }
    text.push_str("\nhosts:\n");
    for rank in 0..parameters.ranks as usize {
        text.push_str(hosts.get(rank).map_or("unknown", String::as_str));
        text.push('\n');
    }
    for matrix in 0..parameters.count() {
        text.push_str(&format!("\nMessage length {}\n", parameters.length(matrix)));
        for row in matrices.matrix(matrix)?.chunks(parameters.ranks as usize) {
            let row: Vec<String> = row.iter().map(|value| format!("{value:e}")).collect();
            text.push_str(&row.join(" "));
            text.push('\n');
        }
        output.write_all(text.as_bytes()).map_err(super::netcdf::unwritable)?;
        text.clear();
    }
    Ok(())
}
