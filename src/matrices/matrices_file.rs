//! Files of time matrices in the format of PARUS' `network_test2`.
//!
//! ```text
//! dimensions: x = ranks, y = ranks, n = unlimited, strings = 101
//! int proc_num, test_type, data_type, begin_mes_length, end_mes_length, step_length,
//!     noise_mes_length, num_noise_mes, num_noise_proc, num_repeates
//! double data(n, x, y)   seconds; slice n is of messages of begin + n * step bytes
//! ```
//!
//! Row x of a time matrix is the rank whose clock is used, and column y is the partner of this rank. If a test sends in
//! only one direction, rank y sends and rank x receives. For put and get, rank x is the origin.

use netcdf3::{DataType, FileWriter, Version};

use super::netcdf::{NetcdfSource, SCALARS, SeekRead, SeekWrite, definition, scalars, undefinable, unwritable};
use super::parameters::{MatrixError, Parameters, Statistic};
use super::text;

/// Matrices of message times, one per message length, that are read on demand.
#[derive(Debug)]
pub struct Matrices {
    /// Parameters of the measurement that created the matrices.
    pub parameters: Parameters,
    /// Statistic of the samples that the matrix elements contain.
    pub statistic: Statistic,
    values: Values,
}

/// Storage of the elements of all matrices.
#[derive(Debug)]
enum Values {
    /// An open matrix file, which is read on demand.
    File(NetcdfSource),
    /// Memory that holds the matrices one after another.
    Memory(Vec<f64>),
}

impl Matrices {
    /// Opens a matrix file in NetCDF or text form. The first bytes of the file determine the form. A text file is read
    /// completely.
    ///
    /// # Errors
    /// The form of the matrix file is unknown or its content is inconsistent.
    pub fn open(mut input: Box<dyn SeekRead>) -> Result<Matrices, MatrixError> {
        if text::is_text(&mut *input)? {
            return text::read_text(&mut *input);
        }
        let mut source = NetcdfSource::open(input)?;
        if source.has("info") {
            return Err(MatrixError::new(
                "a file of clusters (it has \"info\"): expected one of matrices, with \"data\"",
            ));
        }
        let (parameters, kind) = source.parameters()?;
        let statistic = Statistic::of_number(kind)
            .ok_or_else(|| MatrixError::new(format!("data_type: expected 1 to 4; found {kind}")))?;
        source.expect("data", DataType::F64, &["n", "x", "y"])?;
        let (there, expected) = (source.dimension("n")?, parameters.count());
        if there < expected {
            return Err(MatrixError::new(format!(
                "{there} matrices: expected {expected}, for lengths from {} to below {} in steps of {} B; the \
                 measurement has not ended",
                parameters.begin, parameters.end, parameters.step
            )));
        }
        Ok(Matrices { parameters, statistic, values: Values::File(source) })
    }

    /// Creates time matrices from `values`, which contain the matrices one after another in row-major order.
    ///
    /// # Errors
    /// The number of elements in `values` contradicts the parameters.
    pub fn of(parameters: Parameters, statistic: Statistic, values: Vec<f64>) -> Result<Matrices, MatrixError> {
        parameters.check()?;
        let expected = parameters.elements() * parameters.count();
        if values.len() != expected {
            return Err(MatrixError::new(format!("{} values: expected {expected}", values.len())));
        }
        Ok(Matrices { parameters, statistic, values: Values::Memory(values) })
    }

    /// Returns the time matrix of index `matrix` in row-major order.
    ///
    /// # Errors
    /// The matrix cannot be read, or contains a negative value or NaN.
    pub fn matrix(&mut self, matrix: usize) -> Result<Vec<f64>, MatrixError> {
        let elements = self.parameters.elements();
        let mut found = match &mut self.values {
            Values::File(source) => source.doubles("data", matrix)?,
            Values::Memory(values) => values[matrix * elements..(matrix + 1) * elements].to_vec(),
        };
        // `network_test2` writes uninitialised memory on the diagonal of matrices.
        if self.statistic.is_undefined_on_diagonal(self.parameters.test) {
            found.iter_mut().step_by(self.parameters.ranks as usize + 1).for_each(|value| *value = 0.0);
        }
        if let Some(wrong) = found.iter().position(|value| !value.is_finite() || *value < 0.0) {
            let (x, y) = (wrong / self.parameters.ranks as usize, wrong % self.parameters.ranks as usize);
            return Err(MatrixError::new(format!(
                "{} seconds at x {x}, y {y}, {} B: expected a time, 0 or more",
                found[wrong],
                self.parameters.length(matrix)
            )));
        }
        Ok(found)
    }

    /// Returns the matrix element of row `x` and column `y` for messages of `length` bytes.
    ///
    /// # Errors
    /// The matrix element does not exist or cannot be read.
    pub fn at(&mut self, x: u32, y: u32, length: u64) -> Result<f64, MatrixError> {
        let matrix = element_of(&self.parameters, x, y, length)?;
        Ok(self.matrix(matrix)?[x as usize * self.parameters.ranks as usize + y as usize])
    }
}

/// Returns the index of the matrix for messages of `length` bytes, after a check that the matrix element exists.
pub(super) fn element_of(parameters: &Parameters, x: u32, y: u32, length: u64) -> Result<usize, MatrixError> {
    let ranks = parameters.ranks;
    if x >= ranks || y >= ranks {
        return Err(MatrixError::new(format!("no element {x}, {y}: ranks are 0 to {}", ranks - 1)));
    }
    parameters.matrix_of(length).ok_or_else(|| {
        let last = parameters.length(parameters.count() - 1);
        MatrixError::new(format!(
            "no messages of {length} B: lengths are {} to {last} by {}",
            parameters.begin, parameters.step
        ))
    })
}

/// Writes the time matrices that `matrix` returns to a file.
///
/// # Errors
/// A matrix cannot be obtained or written.
pub fn write_matrices(
    output: Box<dyn SeekWrite>,
    parameters: &Parameters,
    statistic: Statistic,
    mut matrix: impl FnMut(usize) -> Result<Vec<f64>, MatrixError>,
) -> Result<(), MatrixError> {
    let mut data_set = definition(parameters, parameters.count())?;
    data_set.add_var_f64("data", &["n", "x", "y"]).map_err(undefinable)?;
    let mut writer = FileWriter::open_seek_write("", Box::new(output)).map_err(unwritable)?;
    writer.set_def(&data_set, Version::Offset64Bit, 0).map_err(unwritable)?;
    for (name, value) in SCALARS.iter().zip(scalars(parameters, statistic.number())) {
        writer.write_var_i32(name, &[value]).map_err(unwritable)?;
    }
    for number in 0..parameters.count() {
        writer.write_record_f64("data", number, &matrix(number)?).map_err(unwritable)?;
    }
    writer.close().map_err(unwritable)
}
