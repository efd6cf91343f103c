//! Access to NetCDF classic files through the `netcdf3` crate: opening with checks, writing, and the measurement
//! parameters that plain and compressed matrix files contain.

use std::fmt;
use std::io::{Read, Seek, SeekFrom, Write};

use netcdf3::{DataSet, DataType, FileReader, InvalidDataSet, ReadError, WriteError};

use super::parameters::{MatrixError, PairTest, Parameters};
use super::scan::{MOST_HEADER, scan};

/// Seekable input of a NetCDF file.
pub trait SeekRead: Read + Seek {}
impl<T: Read + Seek> SeekRead for T {}

/// Seekable output of a NetCDF file.
pub trait SeekWrite: Write + Seek {}
impl<T: Write + Seek> SeekWrite for T {}

/// NetCDF variables that contain the parameters of the measurement, in their order in files.
pub(super) const SCALARS: [&str; 10] = [
    "proc_num",
    "test_type",
    "data_type",
    "begin_mes_length",
    "end_mes_length",
    "step_length",
    "noise_mes_length",
    "num_noise_mes",
    "num_noise_proc",
    "num_repeates",
];

/// A NetCDF file that is open for reading.
pub(super) struct NetcdfSource {
    reader: FileReader,
    size: u64,
}

impl fmt::Debug for NetcdfSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("size", &self.size).finish_non_exhaustive()
    }
}

fn unreadable(error: impl Into<ReadError>) -> MatrixError {
    MatrixError::new(format!("cannot be read as NetCDF: {}", damage(&error.into())))
}

/// Describes an error of the `netcdf3` reader in one line.
fn damage(error: &ReadError) -> String {
    match error {
        ReadError::IOErrorKind(kind) => kind.to_string(),
        ReadError::ParseHeader(error) if error.header_is_incomplete() => "the file ends within its header".to_owned(),
        ReadError::ParseHeader(_) => "the header is damaged".to_owned(),
        ReadError::DataSet(_) => "the header contradicts itself".to_owned(),
        ReadError::VariableNotDefined(name) => format!("no variable \"{name}\""),
        ReadError::VariableMismatchDataType { var_name, .. } => format!("variable \"{var_name}\" has another type"),
        ReadError::RecordIndexExceeded { index, num_records } => {
            format!("record {index} is missing: the file has {num_records}")
        }
        ReadError::ComputationNumberOfRecords | ReadError::Unexpected => "the number of records is damaged".to_owned(),
    }
}

impl NetcdfSource {
    /// Opens the NetCDF file that `input` reads.
    pub fn open(mut input: Box<dyn SeekRead>) -> Result<NetcdfSource, MatrixError> {
        let mut header = Vec::new();
        (&mut input).take(MOST_HEADER as u64).read_to_end(&mut header).map_err(unreadable)?;
        scan(&header)?;
        let size = input.seek(SeekFrom::End(0)).map_err(unreadable)?;
        input.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let reader = FileReader::open_seek_read("", Box::new(Whole(input))).map_err(unreadable)?;
        Ok(NetcdfSource { reader, size })
    }

    /// Returns true if the NetCDF file has a variable named `name`.
    pub fn has(&self, name: &str) -> bool {
        self.reader.data_set().has_var(name)
    }

    /// Returns the size of a dimension of the NetCDF file.
    pub fn dimension(&self, name: &str) -> Result<usize, MatrixError> {
        let found = self.reader.data_set().dim_size(name);
        found.ok_or_else(|| MatrixError::new(format!("no dimension \"{name}\": not a file of network_test2's layout")))
    }

    /// Checks that a NetCDF variable has the type `kind` and the given dimensions, and that the file is long enough for
    /// the variable.
    pub fn expect(&self, name: &str, kind: DataType, dimensions: &[&str]) -> Result<(), MatrixError> {
        let data_set = self.reader.data_set();
        let Some(variable) = data_set.get_var(name) else {
            return Err(MatrixError::new(format!("no variable \"{name}\": not a file of network_test2's layout")));
        };
        let found = variable.dim_names();
        if variable.data_type() != kind || found != dimensions {
            let (wanted, found) = (shown(&kind, dimensions), shown(&variable.data_type(), &found));
            return Err(MatrixError::new(format!("variable \"{name}\": expected {wanted}; found {found}")));
        }
        let width: u128 = match kind {
            DataType::F64 => 8,
            _ => 4,
        };
        let sizes = dimensions.iter().map(|name| data_set.dim_size(name).unwrap_or(0) as u128);
        let needed = sizes.product::<u128>() * width;
        if needed > u128::from(self.size) {
            let size = self.size;
            return Err(MatrixError::new(format!(
                "truncated: \"{name}\" takes {needed} bytes, and the file has {size} in all"
            )));
        }
        Ok(())
    }

    /// Reads a NetCDF variable without dimensions.
    pub fn scalar(&mut self, name: &str) -> Result<i32, MatrixError> {
        self.expect(name, DataType::I32, &[])?;
        let found = self.reader.read_var_i32(name).map_err(|error| self.truncated(name, error))?;
        found.first().copied().ok_or_else(|| MatrixError::new(format!("variable \"{name}\" is empty")))
    }

    fn truncated(&self, name: &str, error: ReadError) -> MatrixError {
        MatrixError::new(format!("truncated: \"{name}\" ends before its end ({})", damage(&error)))
    }

    /// Reads record `record` of a NetCDF variable of doubles.
    pub fn doubles(&mut self, name: &str, record: usize) -> Result<Vec<f64>, MatrixError> {
        self.reader.read_record_f64(name, record).map_err(|error| self.truncated(name, error))
    }

    /// Reads record `record` of a NetCDF variable of integers.
    pub fn integers(&mut self, name: &str, record: usize) -> Result<Vec<i32>, MatrixError> {
        self.reader.read_record_i32(name, record).map_err(|error| self.truncated(name, error))
    }

    /// Reads a whole NetCDF variable of doubles.
    pub fn all_doubles(&mut self, name: &str) -> Result<Vec<f64>, MatrixError> {
        self.reader.read_var_f64(name).map_err(|error| self.truncated(name, error))
    }

    /// Reads a whole NetCDF variable of integers.
    pub fn all_integers(&mut self, name: &str) -> Result<Vec<i32>, MatrixError> {
        self.reader.read_var_i32(name).map_err(|error| self.truncated(name, error))
    }

    /// Reads the parameters of the measurement, and the variable `data_type`.
    pub fn parameters(&mut self) -> Result<(Parameters, i32), MatrixError> {
        let mut values = [0; SCALARS.len()];
        for (value, name) in values.iter_mut().zip(SCALARS) {
            *value = self.scalar(name)?;
        }
        let [ranks, test, kind, begin, end, step, noise_bytes, noise_messages, noise_ranks, repeats] = values;
        let whole = |name: &str, value: i32| {
            u32::try_from(value).map_err(|_| MatrixError::new(format!("{name}: expected 0 or more; found {value}")))
        };
        let parameters = Parameters {
            ranks: whole("proc_num", ranks)?,
            test: PairTest::of_number(test)
                .ok_or_else(|| MatrixError::new(format!("test_type: expected 1 to 9; found {test}")))?,
            begin: whole("begin_mes_length", begin)?,
            end: whole("end_mes_length", end)?,
            step: whole("step_length", step)?,
            repeats: whole("num_repeates", repeats)?,
            noise_bytes: whole("noise_mes_length", noise_bytes)?,
            noise_messages: whole("num_noise_mes", noise_messages)?,
            noise_ranks: whole("num_noise_proc", noise_ranks)?,
        };
        parameters.check()?;
        let sides = [self.dimension("x")?, self.dimension("y")?];
        if sides != [parameters.ranks as usize; 2] {
            let (ranks, [x, y]) = (parameters.ranks, sides);
            return Err(MatrixError::new(format!(
                "matrices of {x} by {y} elements: expected {ranks} by {ranks}, proc_num"
            )));
        }
        Ok((parameters, kind))
    }
}

fn shown<S: AsRef<str>>(kind: &DataType, dimensions: &[S]) -> String {
    let kind = match kind {
        DataType::F64 => "double",
        DataType::F32 => "float",
        DataType::I32 => "int",
        DataType::I16 => "short",
        DataType::I8 => "byte",
        DataType::U8 => "char",
    };
    let names: Vec<&str> = dimensions.iter().map(AsRef::as_ref).collect();
    format!("{kind} of ({})", names.join(", "))
}

/// A reader that fills the whole buffer in each read, as the `netcdf3` crate requires.
struct Whole(Box<dyn SeekRead>);

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.0.read(&mut buffer[done..])? {
                0 => break,
                more => done += more,
            }
        }
        Ok(done)
    }
}

impl Seek for Whole {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

/// Returns the definition of a NetCDF file with the measurement parameters and `records` records along the dimension
/// `n`. The caller adds the variables that contain the matrices.
pub(super) fn definition(parameters: &Parameters, records: usize) -> Result<DataSet, MatrixError> {
    let mut data_set = DataSet::new();
    let side = parameters.ranks as usize;
    let define = |data_set: &mut DataSet| -> Result<(), InvalidDataSet> {
        data_set.add_fixed_dim("x", side)?;
        data_set.add_fixed_dim("y", side)?;
        data_set.set_unlimited_dim("n", records)?;
        data_set.add_fixed_dim("strings", 101)?;
        for name in SCALARS {
            data_set.add_var_i32::<&str>(name, &[])?;
        }
        Ok(())
    };
    define(&mut data_set).map_err(undefinable)?;
    Ok(data_set)
}

/// Returns the values of the scalar NetCDF variables.
pub(super) fn scalars(parameters: &Parameters, kind: i32) -> [i32; SCALARS.len()] {
    let of = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    [
        of(parameters.ranks),
        parameters.test.number(),
        kind,
        of(parameters.begin),
        of(parameters.end),
        of(parameters.step),
        of(parameters.noise_bytes),
        of(parameters.noise_messages),
        of(parameters.noise_ranks),
        of(parameters.repeats),
    ]
}

/// Creates the error of a NetCDF file that cannot be written.
pub(super) fn unwritable(error: impl Into<WriteError>) -> MatrixError {
    match error.into() {
        WriteError::IOErrorKind(kind) => MatrixError::new(format!("cannot be written: {kind}")),
        _ => misfit(),
    }
}

/// Creates the error of a file definition that exceeds the limits of NetCDF.
pub(super) fn undefinable(_: InvalidDataSet) -> MatrixError {
    misfit()
}

fn misfit() -> MatrixError {
    MatrixError::new("cannot be written: NetCDF classic has no room for so many values")
}
