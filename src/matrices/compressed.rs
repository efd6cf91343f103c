//! The compressed pair of matrix files: the cluster of each pair of ranks, and one value per cluster and message
//! length.
//!
//! ```text
//! PREFIX_info.nc: the dimensions and scalars of the matrices' file
//!     int info(n, x, y)   where in data the values of the pair's cluster begin
//!     int length(n)       the number of the first matrix that partition n describes
//! PREFIX_data.nc:
//!     double data(n)      seconds
//!     int exception_matrix(e), exception_x(e), exception_y(e), double exception_value(e)   where there are any
//! ```
//!
//! Element (x, y) of matrix s belongs to the last partition k with length(k) ≤ s. The value of the element is
//! data[info(k, x, y) + s − length(k)]. Elements that differ from this value by more than the precision are listed as
//! exceptional elements.

use std::io::SeekFrom;

use netcdf3::{DataSet, DataType, FileWriter, Version};

use super::matrices_file::element_of;
use super::netcdf::{NetcdfSource, SCALARS, SeekRead, SeekWrite, definition, scalars, undefinable, unwritable};
use super::parameters::{MatrixError, Parameters, Statistic};

/// Matrix element that differs from the value of its cluster by more than the precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exception {
    /// Index of the matrix that contains the exceptional element.
    pub matrix: u32,
    /// Row of the exceptional element.
    pub x: u32,
    /// Column of the exceptional element.
    pub y: u32,
    /// Value of the exceptional element, seconds.
    pub value: f64,
}

const EXCEPTION_PLACES: [&str; 3] = ["exception_matrix", "exception_x", "exception_y"];

/// Size of an exceptional element in the scratch file, bytes: three indices and the element's value.
const EXCEPTION_BYTES: usize = 3 * 4 + 8;

/// Writer of the compressed pair of files, which collects partitions (ranges of message lengths) until the files are
/// written.
///
/// `scratch` stores the clusters of pairs and the exceptional elements, one partition after another, so memory grows
/// only slightly with the number of message lengths.
#[derive(Debug)]
pub struct CompressedWriter<S> {
    parameters: Parameters,
    statistic: Statistic,
    scratch: S,
    kept: Vec<KeptPartition>,
    data: Vec<f64>,
}

/// A partition in the scratch file: the clusters of rank pairs, then the exceptional elements.
#[derive(Clone, Copy, Debug)]
struct KeptPartition {
    /// Index of the first time matrix in the partition.
    start: u32,
    /// Offset of the partition in the scratch file, bytes.
    begin: u64,
    exceptions: usize,
}

impl<S: SeekRead + SeekWrite> CompressedWriter<S> {
    /// Creates a writer of the compressed files that uses the empty scratch file `scratch`.
    pub fn new(parameters: Parameters, statistic: Statistic, scratch: S) -> CompressedWriter<S> {
        CompressedWriter { parameters, statistic, scratch, kept: Vec::new(), data: Vec::new() }
    }

    /// Adds the partition whose first matrix has the index `first`. `labels` contains the cluster of each pair of
    /// ranks. `values` contains the values of each cluster, one per matrix of the partition.
    ///
    /// # Errors
    /// The scratch file cannot be written, or positions exceed 32 bits.
    pub fn partition(
        &mut self,
        first: usize,
        labels: &[u32],
        values: &[Vec<f64>],
        exceptions: Vec<Exception>,
    ) -> Result<(), MatrixError> {
        let mut begins = Vec::with_capacity(values.len());
        for of_cluster in values {
            begins.push(
                i32::try_from(self.data.len()).map_err(|_| MatrixError::new("more than 2^31 values of clusters"))?,
            );
            self.data.extend_from_slice(of_cluster);
        }
        let begin = self.scratch.stream_position().map_err(unwritable)?;
        let info: Vec<u8> = labels.iter().flat_map(|label| begins[*label as usize].to_le_bytes()).collect();
        self.scratch.write_all(&info).map_err(unwritable)?;
        self.kept.push(KeptPartition { start: first as u32, begin, exceptions: exceptions.len() });
        let mut bytes = Vec::with_capacity(exceptions.len() * EXCEPTION_BYTES);
        for of in exceptions {
            [of.matrix, of.x, of.y].iter().for_each(|place| bytes.extend(place.to_le_bytes()));
            bytes.extend(of.value.to_le_bytes());
        }
        self.scratch.write_all(&bytes).map_err(unwritable)
    }

    /// Writes the compressed pair of files. Returns the number of values and the number of exceptional elements.
    ///
    /// # Errors
    /// A compressed file cannot be written.
    pub fn finish(mut self, info: Box<dyn SeekWrite>, data: Box<dyn SeekWrite>) -> Result<(usize, usize), MatrixError> {
        self.write_info(info)?;
        let exceptions = self.write_data(data)?;
        Ok((self.data.len(), exceptions))
    }

    fn write_info(&mut self, output: Box<dyn SeekWrite>) -> Result<(), MatrixError> {
        let mut data_set = definition(&self.parameters, self.kept.len())?;
        data_set.add_var_i32("info", &["n", "x", "y"]).map_err(undefinable)?;
        data_set.add_var_i32("length", &["n"]).map_err(undefinable)?;
        let mut writer = FileWriter::open_seek_write("", Box::new(output)).map_err(unwritable)?;
        writer.set_def(&data_set, Version::Offset64Bit, 0).map_err(unwritable)?;
        for (name, value) in SCALARS.iter().zip(scalars(&self.parameters, self.statistic.number())) {
            writer.write_var_i32(name, &[value]).map_err(unwritable)?;
        }
        let mut bytes = vec![0; 4 * self.parameters.elements()];
        for (record, KeptPartition { start, begin, .. }) in self.kept.iter().enumerate() {
            self.scratch.seek(SeekFrom::Start(*begin)).map_err(unwritable)?;
            self.scratch.read_exact(&mut bytes).map_err(unwritable)?;
            let info: Vec<i32> = bytes.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
            writer.write_record_i32("info", record, &info).map_err(unwritable)?;
            writer.write_record_i32("length", record, &[*start as i32]).map_err(unwritable)?;
        }
        writer.close().map_err(unwritable)
    }

    /// Returns one field of each exceptional element. `value` extracts the field from the element's bytes in the
    /// scratch file.
    fn of_exceptions<V>(&mut self, value: impl Fn(&[u8; EXCEPTION_BYTES]) -> V) -> Result<Vec<V>, MatrixError> {
        let mut found = Vec::with_capacity(self.kept.iter().map(|of| of.exceptions).sum());
        for KeptPartition { begin, exceptions, .. } in &self.kept {
            let begin = begin + 4 * self.parameters.elements() as u64;
            let mut bytes = vec![0; exceptions * EXCEPTION_BYTES];
            self.scratch.seek(SeekFrom::Start(begin)).map_err(unwritable)?;
            self.scratch.read_exact(&mut bytes).map_err(unwritable)?;
            found.extend(bytes.as_chunks::<EXCEPTION_BYTES>().0.iter().map(&value));
        }
        Ok(found)
    }

    /// Writes the compressed file of values; returns the number of exceptional elements.
    fn write_data(&mut self, output: Box<dyn SeekWrite>) -> Result<usize, MatrixError> {
        let exceptions: usize = self.kept.iter().map(|of| of.exceptions).sum();
        let mut data_set = DataSet::new();
        data_set.set_unlimited_dim("n", self.data.len()).map_err(undefinable)?;
        data_set.add_var_f64("data", &["n"]).map_err(undefinable)?;
        if exceptions > 0 {
            data_set.add_fixed_dim("e", exceptions).map_err(undefinable)?;
            for name in EXCEPTION_PLACES {
                data_set.add_var_i32(name, &["e"]).map_err(undefinable)?;
            }
            data_set.add_var_f64("exception_value", &["e"]).map_err(undefinable)?;
        }
        let mut writer = FileWriter::open_seek_write("", Box::new(output)).map_err(unwritable)?;
        writer.set_def(&data_set, Version::Offset64Bit, 0).map_err(unwritable)?;
        writer.write_var_f64("data", &self.data).map_err(unwritable)?;
        if exceptions > 0 {
            for (name, place) in EXCEPTION_PLACES.iter().zip([0, 4, 8]) {
                let number = |of: &[u8; EXCEPTION_BYTES]| i32::from_le_bytes(std::array::from_fn(|at| of[place + at]));
                writer.write_var_i32(name, &self.of_exceptions(number)?).map_err(unwritable)?;
            }
            let value = |of: &[u8; EXCEPTION_BYTES]| f64::from_le_bytes(std::array::from_fn(|at| of[12 + at]));
            writer.write_var_f64("exception_value", &self.of_exceptions(value)?).map_err(unwritable)?;
        }
        writer.close().map_err(unwritable)?;
        Ok(exceptions)
    }
}

/// Time matrices that are stored as values of clusters.
#[derive(Debug)]
pub struct Compressed {
    /// Parameters of the measurement that created the matrices.
    pub parameters: Parameters,
    /// Statistic of the samples that the matrix elements contain.
    pub statistic: Statistic,
    info: NetcdfSource,
    starts: Vec<usize>,
    data: Vec<f64>,
    exceptions: Vec<Exception>,
    /// Partition that was read last from the compressed files.
    last: Option<(usize, Vec<i32>)>,
}

impl Compressed {
    /// Opens the two compressed matrix files.
    ///
    /// # Errors
    /// A file has another format, or the two compressed files belong to different measurements.
    pub fn open(info: Box<dyn SeekRead>, data: Box<dyn SeekRead>) -> Result<Compressed, MatrixError> {
        let mut info = NetcdfSource::open(info)?;
        let (parameters, kind) = info.parameters()?;
        let statistic = Statistic::of_number(kind)
            .ok_or_else(|| MatrixError::new(format!("data_type: expected 1 to 4; found {kind}")))?;
        info.expect("info", DataType::I32, &["n", "x", "y"])?;
        info.expect("length", DataType::I32, &["n"])?;
        let starts: Vec<usize> = info
            .all_integers("length")?
            .into_iter()
            .map(|start| usize::try_from(start).unwrap_or(usize::MAX))
            .collect();
        let increase = starts.windows(2).all(|pair| pair[0] < pair[1]);
        if starts.first() != Some(&0) || !increase || starts.last().is_some_and(|last| *last >= parameters.count()) {
            return Err(MatrixError::new(format!(
                "length: expected numbers of matrices, increasing from 0 to below {}; found {}",
                parameters.count(),
                shown_starts(&starts)
            )));
        }
        let mut data = NetcdfSource::open(data)?;
        data.expect("data", DataType::F64, &["n"])?;
        let values = data.all_doubles("data")?;
        let exceptions = exceptions(&mut data, &parameters)?;
        Ok(Compressed { parameters, statistic, info, starts, data: values, exceptions, last: None })
    }

    /// Returns the number of partitions, the number of values and the number of exceptional elements.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.starts.len(), self.data.len(), self.exceptions.len())
    }

    /// Returns the index of the partition (range of message lengths) that contains a matrix, and the cluster labels of
    /// the partition.
    fn partition(&mut self, matrix: usize) -> Result<(usize, &[i32]), MatrixError> {
        let partition = self.starts.partition_point(|start| *start <= matrix) - 1;
        if self.last.as_ref().is_none_or(|(last, _)| *last != partition) {
            self.last = Some((partition, self.info.integers("info", partition)?));
        }
        let (_, info) = self.last.as_ref().expect("it was just read");
        Ok((self.starts[partition], info))
    }

    /// Returns the time matrix of index `matrix` in row-major order.
    ///
    /// # Errors
    /// The matrix cannot be read, or the files contain positions outside the data.
    pub fn matrix(&mut self, matrix: usize) -> Result<Vec<f64>, MatrixError> {
        let side = self.parameters.ranks as usize;
        let data = std::mem::take(&mut self.data);
        let (start, info) = self.partition(matrix)?;
        let value = |begin: &i32| {
            let place = usize::try_from(*begin).ok().and_then(|begin| begin.checked_add(matrix - start));
            place.and_then(|place| data.get(place)).copied()
        };
        let found: Option<Vec<f64>> = info.iter().map(value).collect();
        self.data = data;
        let mut found = found.ok_or_else(|| {
            MatrixError::new(
                "PREFIX_info refers to values that PREFIX_data lacks: the two \
                                                  files do not belong together",
            )
        })?;
        for exception in self.exceptions.iter().filter(|of| of.matrix as usize == matrix) {
            found[exception.x as usize * side + exception.y as usize] = exception.value;
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

fn exceptions(data: &mut NetcdfSource, parameters: &Parameters) -> Result<Vec<Exception>, MatrixError> {
    if !data.has("exception_value") {
        return Ok(Vec::new());
    }
    data.expect("exception_value", DataType::F64, &["e"])?;
    let mut places = Vec::new();
    for name in EXCEPTION_PLACES {
        data.expect(name, DataType::I32, &["e"])?;
        places.push(data.all_integers(name)?);
    }
    let values = data.all_doubles("exception_value")?;
    let each = |(index, value): (usize, &f64)| {
        let [matrix, x, y] = [0, 1, 2].map(|place| u32::try_from(places[place][index]).unwrap_or(u32::MAX));
        let inside = (matrix as usize) < parameters.count() && x < parameters.ranks && y < parameters.ranks;
        let found = Exception { matrix, x, y, value: *value };
        inside.then_some(found).ok_or_else(|| {
            MatrixError::new(format!(
                "exception {index} refers to no matrix \
        element"
            ))
        })
    };
    values.iter().enumerate().map(each).collect()
}
/// Returns the index of the first matrix of each partition, for an error message.
fn shown_starts(starts: &[usize]) -> String {
    const SHOWN: usize = 8;
    let number = |start: &usize| if *start == usize::MAX { "a negative one".to_owned() } else { start.to_string() };
    let first: Vec<String> = starts.iter().take(SHOWN).map(number).collect();
    match first.is_empty() {
        true => "none".to_owned(),
        false => first.join(", ") + if starts.len() > SHOWN { ", …" } else { "" },
    }
}
