//! Tests of matrix files: written files can be read again, and invalid files are rejected with a reason.

use std::cell::RefCell;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use proptest::prelude::*;

use super::parameters::tests::parameters;
use super::*;

/// A matrix file in memory that remains after its writer is dropped.
#[derive(Clone, Debug, Default)]
pub struct SharedCursor(pub Rc<RefCell<Cursor<Vec<u8>>>>);

impl SharedCursor {
    pub fn content(&self) -> Vec<u8> {
        self.0.borrow().get_ref().clone()
    }
}

impl Write for SharedCursor {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Read for SharedCursor {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl Seek for SharedCursor {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

fn open(bytes: &[u8]) -> Result<Matrices, MatrixError> {
    Matrices::open(Box::new(Cursor::new(bytes.to_vec())))
}

fn file(parameters: &Parameters, value: impl Fn(usize, usize) -> f64) -> Vec<u8> {
    let shared = SharedCursor::default();
    let matrix = |number: usize| Ok((0..parameters.elements()).map(|element| value(number, element)).collect());
    write_matrices(Box::new(shared.clone()), parameters, Statistic::Median, matrix).unwrap();
    shared.content()
}

#[test]
fn a_file_has_the_layout_of_network_test2() {
    let bytes = file(&parameters(4, 0, 4000, 1000), |matrix, element| (matrix * 100 + element) as f64);
    // The header has the magic and version of 64-bit offsets, four records, four dimensions, no attributes, and eleven
    // variables. A sample file of `network_test2` has the same 628 bytes before its 4 × 16 doubles.
    assert_eq!(&bytes[..16], b"CDF\x02\0\0\0\x04\0\0\0\x0a\0\0\0\x04");
    assert_eq!(bytes.len(), 628 + 4 * 16 * 8);
    let mut read = open(&bytes).unwrap();
    assert_eq!((read.parameters, read.statistic), (parameters(4, 0, 4000, 1000), Statistic::Median));
    assert_eq!(read.at(1, 2, 3000).unwrap(), 306.0);
    assert_eq!(read.matrix(0).unwrap()[15], 15.0);
}

#[test]
fn elements_and_lengths_that_there_are_not_are_named() {
    let mut read = open(&file(&parameters(4, 0, 4000, 1000), |_, _| 1.0)).unwrap();
    assert_eq!(read.at(4, 0, 0).unwrap_err().to_string(), "no element 4, 0: ranks are 0 to 3");
    let expected = "no messages of 1500 B: lengths are 0 to 3000 by 1000";
    assert_eq!(read.at(0, 0, 1500).unwrap_err().to_string(), expected);
}

#[test]
fn values_that_are_no_times_are_named_with_their_place() {
    for (value, shown) in [(f64::NAN, "NaN"), (-1.5, "-1.5"), (f64::INFINITY, "inf")] {
        let bytes = file(&parameters(4, 0, 2000, 1000), |m, e| if (m, e) == (1, 6) { value } else { 1.0 });
        let error = open(&bytes).unwrap().matrix(1).unwrap_err().to_string();
        assert_eq!(error, format!("{shown} seconds at x 1, y 2, 1000 B: expected a time, 0 or more"));
    }
}

#[test]
fn what_network_test2_leaves_undefined_on_the_diagonal_is_nothing() {
    let of = |test: PairTest, statistic: Statistic| {
        let parameters = Parameters { test, ..parameters(3, 0, 2, 1) };
        let shared = SharedCursor::default();
        let matrix = |_| Ok((0..9).map(|element| if element % 4 == 0 { f64::NAN } else { 1.0 }).collect());
        write_matrices(Box::new(shared.clone()), &parameters, statistic, matrix).unwrap();
        open(&shared.content()).unwrap().matrix(1)
    };
    let [first, second, third] = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]];
    let expected = Ok([first, second, third].concat());
    for test in [PairTest::OneToOne, PairTest::SendRecvAndRecvSend, PairTest::Put, PairTest::Get] {
        assert_eq!(of(test, Statistic::Minimum), expected);
        assert!(of(test, Statistic::Median).is_err());
    }
    assert_eq!(of(PairTest::NoiseBlocking, Statistic::Average), expected);
    assert!(of(PairTest::AllToAll, Statistic::Minimum).is_err());
}

#[test]
fn truncated_files_are_refused_wherever_they_end() {
    let bytes = file(&parameters(3, 0, 3000, 1000), |_, _| 1.0);
    for end in 0..bytes.len() {
        let read = open(&bytes[..end]).and_then(|mut read| read.matrix(2));
        assert!(read.is_err(), "{end} of {} bytes", bytes.len());
    }
    let error = open(&bytes[..200]).unwrap_err().to_string();
    assert_eq!(error, "a NetCDF file that ends within its header: it is truncated");
}

#[test]
fn errors_of_damaged_files_are_sentences() {
    let bytes = file(&parameters(3, 0, 3000, 1000), |_, _| 1.0);
    let mut texts = std::collections::BTreeSet::new();
    for place in 0..bytes.len().min(1200) {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = bytes.clone();
            damaged[place] = value;
            let read = open(&damaged).and_then(|mut read| read.matrix(2));
            texts.extend(read.err().map(|error| error.to_string()));
        }
    }
    // Names of Rust types and their fields, as in debug output.
    let is_raw = |text: &String| ["::", "Error", "Kind", "Some(", "{", "["].iter().any(|part| text.contains(part));
    assert_eq!(texts.iter().find(|text| is_raw(text)), None);
    for text in
        ["cannot be read as NetCDF: the header is damaged", "cannot be read as NetCDF: the header contradicts itself"]
    {
        assert!(texts.contains(text), "{texts:#?}");
    }
}

#[test]
fn text_is_read_as_it_is_written() {
    let mut read = open(&file(&parameters(2, 10, 40, 20), |m, e| 1e-6 * (m * 4 + e) as f64)).unwrap();
    let mut text = Vec::new();
    write_text(&mut text, &mut read, &["a".to_owned(), "b".to_owned()]).unwrap();
    let expected = "processors 2\n\ntest type \"one_to_one\"\ndata type \"median\"\nbegin message length 10\n\
        end message length 40\nstep length 20\nnoise message length 0\nnumber of noise messages 1\n\
        number of noise processes 0\nnumber of repeates 20\n\nhosts:\na\nb\n\nMessage length 10\n0e0 1e-6\n2e-6 3e-6\n\n\
        Message length 30\n4e-6 4.9999999999999996e-6\n6e-6 7e-6\n";
    assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
    let mut again = open(&text).unwrap();
    assert_eq!((again.parameters, again.statistic), (read.parameters, read.statistic));
    assert_eq!(again.matrix(1).unwrap(), read.matrix(1).unwrap());
    // Both words are names of `network_test` for the minimum.
    for word in ["min", "minimum"] {
        assert_eq!(open(expected.replace("median", word).as_bytes()).unwrap().statistic, Statistic::Minimum);
    }
    let error = |from: &str, to: &str| open(expected.replace(from, to).as_bytes()).unwrap_err().to_string();
    assert_eq!(error("one_to_one", "x"), "test type: expected one such as one_to_one; found \"x\"");
    assert_eq!(error("2e-6", "two"), "line 19: expected a number, an element of a matrix; found \"two\"");
    assert_eq!(error("7e-6", ""), "truncated: expected a number, an element of a matrix; found the end");
    assert_eq!(error("length 30", "length 31"), "Message length: expected 30; found 31");
    assert_eq!(error("step", "stop"), "line 7: expected \"step length\"; found \"stop\"");
}

#[test]
fn files_of_another_kind_are_refused() {
    let of = parameters(2, 0, 2, 1);
    let files = [SharedCursor::default(), SharedCursor::default()];
    let mut writer = CompressedWriter::new(of, Statistic::Median, SharedCursor::default());
    writer.partition(0, &[0, 1, 1, 0], &[vec![0.0, 0.0], vec![1.0, 2.0]], Vec::new()).unwrap();
    writer.finish(Box::new(files[0].clone()), Box::new(files[1].clone())).unwrap();
    let error = open(&files[0].content()).unwrap_err().to_string();
    assert_eq!(error, "a file of clusters (it has \"info\"): expected one of matrices, with \"data\"");
    let error = open(&files[1].content()).unwrap_err().to_string();
    assert_eq!(error, "no variable \"proc_num\": not a file of network_test2's layout");
}

#[test]
fn a_compressed_pair_is_read_by_the_rule_of_access() {
    let of = parameters(2, 0, 4, 1);
    let files = [SharedCursor::default(), SharedCursor::default()];
    let mut writer = CompressedWriter::new(of, Statistic::Minimum, SharedCursor::default());
    // The first partition has three matrices of two clusters, the second partition has one matrix of one cluster with
    // an exception.
    writer.partition(0, &[0, 1, 1, 0], &[vec![0.0, 0.1, 0.2], vec![1.0, 2.0, 3.0]], Vec::new()).unwrap();
    let exception = Exception { matrix: 3, x: 1, y: 0, value: 9.0 };
    writer.partition(3, &[0, 0, 0, 0], &[vec![5.0]], vec![exception]).unwrap();
    assert_eq!(writer.finish(Box::new(files[0].clone()), Box::new(files[1].clone())).unwrap(), (7, 1));
    let boxed = |file: &SharedCursor| Box::new(Cursor::new(file.content()));
    let mut read = Compressed::open(boxed(&files[0]), boxed(&files[1])).unwrap();
    assert_eq!((read.parameters, read.statistic, read.counts()), (of, Statistic::Minimum, (2, 7, 1)));
    assert_eq!(read.matrix(1).unwrap(), [0.1, 2.0, 2.0, 0.1]);
    assert_eq!(read.matrix(3).unwrap(), [5.0, 5.0, 9.0, 5.0]);
    assert_eq!(read.at(0, 1, 2).unwrap(), 3.0);
    // The two compressed files come from different measurements.
    let other = SharedCursor::default();
    let mut writer = CompressedWriter::new(of, Statistic::Minimum, SharedCursor::default());
    writer.partition(0, &[0; 4], &[vec![0.0; 4]], Vec::new()).unwrap();
    writer.finish(Box::new(SharedCursor::default()), Box::new(other.clone())).unwrap();
    let mut read = Compressed::open(boxed(&files[0]), boxed(&other)).unwrap();
    let expected = "PREFIX_info refers to values that PREFIX_data lacks: the two files do not belong together";
    assert_eq!(read.matrix(2).unwrap_err().to_string(), expected);
}

proptest! {
    #[test]
    fn damaged_files_give_errors_and_never_a_panic(
        changes in prop::collection::vec((0usize..900, any::<u8>()), 1..6), end in 0usize..900,
    ) {
        let mut bytes = file(&parameters(3, 0, 3000, 1000), |matrix, element| (matrix + element) as f64);
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let whole = open(&bytes).and_then(|mut read| (0..read.parameters.count().min(9)).try_for_each(|m| read.matrix(m).map(drop)));
        let cut = open(&bytes[..end.min(bytes.len())]).and_then(|mut read| read.matrix(0).map(drop));
        let _ = (whole, cut);
    }

    #[test]
    fn damaged_texts_give_errors_and_never_a_panic(at in 0usize..400, with in "\\PC{0,4}") {
        let mut read = open(&file(&parameters(2, 10, 40, 20), |_, element| element as f64)).unwrap();
        let mut text = Vec::new();
        write_text(&mut text, &mut read, &[]).unwrap();
        let at = at.min(text.len());
        text.splice(at..(at + 1).min(text.len()), with.bytes());
        let _ = open(&text);
    }
}
