//! `mcpsim cluster`: reads matrices of message times and groups similar pairs of ranks into classes.

mod args;
mod infer_platform;

use std::path::Path;

use crate::config::Document;
use crate::matrices::cluster::{ClusterOptions, LengthRange, agreement, cluster as find, levels_of_pairs};
use crate::matrices::{CompressedWriter, Matrices, MatrixError, Parameters, write_matrices, write_text};
use crate::platform::{Platform, Shape};
use crate::report::{clusters_figure, partition_table, values_figure};

pub(super) use args::ClusterArgs;

use super::exit::Failure;
use super::matrix_files::{compressed, hosts, in_file, matrices, pair_of, put};
use super::output;
use super::report::draw;
use crate::run::{Shipped, hides};

/// Executes the command `mcpsim cluster`.
pub(super) fn cluster(args: &ClusterArgs) -> Result<(), Failure> {
    if args.expand {
        return expand(args);
    }
    let path = &args.file;
    let mut of = matrices(path)?;
    if let Some((x, y, length)) = args.at {
        let value = of.at(x, y, length).map_err(in_file(path))?;
        return output::print(&format!("{value:e}\n"));
    }
    if let Some(text) = &args.text {
        return text_of(args, &mut of, text, &hosts(path)?);
    }
    if let Some(platform) = &args.platform {
        return infer_platform::write(args, &mut of, platform);
    }
    let mut found = FoundClusters::new(args, &of)?;
    match &args.output {
        None => find(&mut of, &args.options(), &mut |partition| {
            found.take(&partition);
            Ok(())
        })
        .map_err(in_file(path))?,
        Some(prefix) => compress(args, &mut of, prefix, &mut found)?,
    }
    if let Some(directory) = &args.figures {
        let matrix = found.matrix;
        let values = of.matrix(matrix).map_err(in_file(path))?;
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("pairs");
        let figures = [
            values_figure(name, &of.parameters, matrix, &values),
            clusters_figure(name, &of.parameters, matrix, &found.drawn),
        ];
        found.text.push('\n');
        found.text.push_str(&draw(&figures, directory, &args.format)?);
    }
    if args.quiet { Ok(()) } else { output::print(&found.text) }
}

impl ClusterArgs {
    fn options(&self) -> ClusterOptions {
        ClusterOptions { precision: self.precision, first: self.first, further: self.further, drop: self.drop }
    }
}

/// Summary of the clusters of rank pairs that were found.
struct FoundClusters {
    text: String,
    partitions: usize,
    /// Index of the time matrix that figures show, and the clusters of the rank pairs in this matrix.
    matrix: usize,
    drawn: Vec<u32>,
    truth: Option<Vec<u32>>,
    parameters: Parameters,
}

impl FoundClusters {
    fn new(args: &ClusterArgs, of: &Matrices) -> Result<FoundClusters, Failure> {
        let parameters = of.parameters;
        let matrix = match args.length {
            None => parameters.count() - 1,
            Some(length) => parameters.matrix_of(length).ok_or_else(|| {
                let last = parameters.length(parameters.count() - 1);
                let (begin, step) = (parameters.begin, parameters.step);
                Failure::bad_input(format!(
                    "--length {length}: expected a message length of the file: {begin} to \
                                            {last} B in steps of {step} B"
                ))
            })?,
        };
        let truth = args.truth.as_ref().map(|path| {
            let platform = platform(path, args.nct)?;
            levels_of_pairs(&platform, parameters.ranks)
                .map_err(|error| Failure::bad_input(format!("--truth {}: {error}", path.display())))
        });
        let text = format!(
            "{}: {} of test {}, {} ranks, {} message lengths\n",
            args.file.display(),
            of.statistic.name(),
            parameters.test.name(),
            parameters.ranks,
            parameters.count()
        );
        Ok(FoundClusters { text, partitions: 0, matrix, drawn: Vec::new(), truth: truth.transpose()?, parameters })
    }

    fn take(&mut self, partition: &LengthRange) {
        self.text.push('\n');
        self.text.push_str(&partition_table(&self.parameters, partition));
        if let Some(truth) = &self.truth {
            let found = agreement(&partition.labels, truth);
            self.text.push_str(&format!(
                "  against the platform: adjusted Rand index {:.4}, {:.2}% of the pairs agree\n",
                found.rand_index,
                found.share * 100.0
            ));
        }
        if (partition.first..partition.first + partition.matrices).contains(&self.matrix) {
            self.drawn.clone_from(&partition.labels);
        }
        self.partitions += 1;
    }
}

/// Reads a platform file, or a platform that is shipped with mcpsim. If the user gives a machine shape, it replaces the
/// shape in the platform file.
pub(super) fn platform(path: &Path, shape: Option<Shape>) -> Result<Platform, Failure> {
    let platform = match path.to_str() {
        Some("default") if !hides(path) => Platform::embedded(),
        _ => Platform::load(Document::read(&Shipped::Platform.resolve(path)?)?, &[])?,
    };
    let Some(shape) = shape else { return Ok(platform) };
    platform.places.check(shape).map_err(|error| Failure::bad_input(format!("--nct {shape}: {error}")))?;
    Ok(platform.with_shape(shape))
}

/// Clusters the time matrices of all rank pairs, and writes the compressed pair of files.
fn compress(args: &ClusterArgs, of: &mut Matrices, prefix: &Path, found: &mut FoundClusters) -> Result<(), Failure> {
    let scratch = tempfile::tempfile().map_err(|error| {
        Failure::bad_input(format!(
            "cannot create a temporary file: \
    {error}"
        ))
    })?;
    let mut writer = CompressedWriter::new(of.parameters, of.statistic, scratch);
    let whole = of.parameters.elements() * of.parameters.count() * 8;
    let take = &mut |partition: LengthRange| {
        found.take(&partition);
        writer.partition(partition.first, &partition.labels, &partition.values, partition.exceptions)
    };
    find(of, &args.options(), take).map_err(in_file(&args.file))?;
    let [info, data] = pair_of(prefix);
    let (values, exceptions) = put([&info, &data], |[info, data]| writer.finish(info, data))?;
    let size: u64 = [&info, &data].iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum();
    found.text.push_str(&format!(
        "\n{} and {}: {} partition{}, {values} values, {exceptions} exceptions\n{size} bytes in place of {whole}: {}\n",
        info.display(),
        data.display(),
        found.partitions,
        if found.partitions == 1 { "" } else { "s" },
        times_smaller(whole as f64 / size.max(1) as f64)
    ));
    Ok(())
}

fn times_smaller(ratio: f64) -> String {
    if ratio < 1.0 { format!("{:.1} times larger", 1.0 / ratio) } else { format!("{ratio:.1} times smaller") }
}

/// Expands a compressed pair of files to time matrices (option `--expand`).
fn expand(args: &ClusterArgs) -> Result<(), Failure> {
    // The name of any of the two compressed files identifies the pair of files.
    let name = args.file.to_str().unwrap_or_default();
    let prefix = ["_info.nc", "_data.nc"].iter().find_map(|end| name.strip_suffix(end)).map_or(&*args.file, Path::new);
    let mut of = compressed(prefix)?;
    if let Some((x, y, length)) = args.at {
        let value = of.at(x, y, length).map_err(in_file(prefix))?;
        return output::print(&format!("{value:e}\n"));
    }
    let (parameters, statistic) = (of.parameters, of.statistic);
    if let Some(text) = &args.text {
        let each = (0..parameters.count()).map(|matrix| of.matrix(matrix));
        let values: Vec<Vec<f64>> = each.collect::<Result<_, MatrixError>>().map_err(in_file(prefix))?;
        let mut all = Matrices::of(parameters, statistic, values.concat()).map_err(in_file(prefix))?;
        return text_of(args, &mut all, text, &[]);
    }
    let Some(path) = &args.output else {
        return Err(Failure::bad_input(
            "--expand: expected an action: -o FILE.nc or --text FILE to write the matrices, or --at X,Y,LENGTH",
        ));
    };
    put([path], |[output]| write_matrices(output, &parameters, statistic, |matrix| of.matrix(matrix)))?;
    written(args, &parameters, path)
}

fn text_of(args: &ClusterArgs, of: &mut Matrices, path: &Path, hosts: &[String]) -> Result<(), Failure> {
    put([path], |[mut output]| write_text(&mut output, of, hosts))?;
    written(args, &of.parameters, path)
}

/// Prints the names of the written files.
fn written(args: &ClusterArgs, parameters: &Parameters, path: &Path) -> Result<(), Failure> {
    let s = if parameters.count() == 1 { "" } else { "s" };
    let (ranks, lengths, shown) = (parameters.ranks, parameters.count(), path.display());
    let text = format!("message times of {ranks} ranks for {lengths} length{s} are written to {shown}\n");
    if args.quiet { Ok(()) } else { output::print(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_grow_are_not_called_smaller() {
        assert_eq!(times_smaller(16.27), "16.3 times smaller");
        assert_eq!(times_smaller(512.0 / 888.0), "1.7 times larger");
    }
}
