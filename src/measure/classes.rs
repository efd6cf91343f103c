//! Classes of pairs of ranks, derived from clusters, and the file of pair classes that a platform file names.

use std::collections::BTreeMap;
use std::fmt::Write;

use mcpsim_core::platform::{NO_CLASS, Shape, Site};

use super::fit::{FitPiece, Floor, pieces};
use super::infer_platform::one_way;
use super::link::MORE_THAN_SEEN;
use super::text::{comment, stated_cost, told_flat};
use mcpsim_matrices::cluster::{ClusterOptions, LengthRange, cluster};
use mcpsim_matrices::{Matrices, MatrixError, PairTest};

/// Classes of pairs of ranks with their message times. Pairs of one class have similar times at all message lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredClasses {
    ranks: u32,
    test: PairTest,
    /// Class of each matrix element (pair of ranks) in row-major order; undefined on the diagonal.
    of_element: Vec<u32>,
    /// Times of messages in seconds by message size, for each class of rank pairs.
    times: Vec<Vec<(u64, f64)>>,
}

impl MeasuredClasses {
    /// Clusters the rank pairs in `matrices`. Pairs of ranks that are in one cluster at all message lengths form one
    /// class.
    ///
    /// # Errors
    /// The function returns the errors of [`cluster`]. Further errors are a test that does not measure the time of a
    /// message, and more classes than a platform can have.
    pub fn of(matrices: &mut Matrices, options: &ClusterOptions) -> Result<MeasuredClasses, MatrixError> {
        let of = matrices.parameters;
        let mut classes: Option<MeasuredClasses> = None;
        cluster(matrices, options, &mut |range| {
            match &mut classes {
                None => {
                    let times = vec![Vec::new(); range.values.len()];
                    let mut first =
                        MeasuredClasses { ranks: of.ranks, test: of.test, of_element: range.labels.clone(), times };
                    first.add(&range, &(0..range.values.len()).collect::<Vec<_>>(), |matrix| of.length(matrix));
                    classes = Some(first);
                }
                Some(before) => before.refine(&range, |matrix| of.length(matrix)),
            }
            Ok(())
        })?;
        let mut classes = classes.ok_or_else(|| MatrixError::new("classes of pairs: expected matrices; found none"))?;
        classes.times.iter_mut().for_each(|times| one_way(of.test, times));
        match classes.times.len() < usize::from(NO_CLASS) {
            true => Ok(classes),
            false => {
                let found = classes.times.len();
                let most = NO_CLASS - 1;
                Err(MatrixError::new(format!(
                    "classes of pairs: expected at most {most}; found {found}: give a greater --precision"
                )))
            }
        }
    }

    /// Returns the number of classes of rank pairs.
    pub fn count(&self) -> usize {
        self.times.len()
    }

    /// Divides the classes of rank pairs by the clusters of a further range of message lengths.
    fn refine(&mut self, range: &LengthRange, length: impl Fn(usize) -> u64) {
        let mut numbers: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (class, label) in self.of_element.iter_mut().zip(&range.labels) {
            let next = numbers.len() as u32;
            *class = *numbers.entry((*class, *label)).or_insert(next);
        }
        let mut origin = vec![(0, 0); numbers.len()];
        numbers.into_iter().for_each(|(key, number)| origin[number as usize] = key);
        self.times = origin.iter().map(|(before, _)| self.times[*before as usize].clone()).collect();
        let clusters: Vec<usize> = origin.iter().map(|(_, label)| *label as usize).collect();
        self.add(range, &clusters, length);
    }

    /// Adds the message times of a range of lengths to each class, from the cluster that contains the class in this
    /// range.
    fn add(&mut self, range: &LengthRange, clusters: &[usize], length: impl Fn(usize) -> u64) {
        for (times, cluster) in self.times.iter_mut().zip(clusters) {
            let values = &range.values[*cluster];
            times.extend((range.first..).zip(values).map(|(matrix, seconds)| (length(matrix), *seconds)));
        }
    }

    /// Returns the text of the file of pair classes for ranks at `sites` of a machine of shape `shape`. `made`
    /// describes the origin of the data.
    pub fn text(&self, shape: Shape, sites: &[Site], made: &str) -> String {
        let mut text = String::new();
        comment(&mut text, made);
        comment(
            &mut text,
            "class: rows by sending core, columns by receiving core; 0 means the costs of the level. cost: of class \
             1, 2, …: whole messages,",
        );
        comment(&mut text, "from the sender's start to the receiver's end.");
        let ranks = self.ranks as usize;
        let core = |rank: usize| {
            let Site { node, cmp, core } = sites[rank];
            ((node * shape.cmps + cmp) * shape.cores + core) as usize
        };
        let cores = shape.total_cores() as usize;
        let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
        let mut order: Vec<u32> = Vec::new();
        let mut class = vec![0; cores * cores];
        for (from, to) in
            (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))).filter(|(from, to)| from != to)
        {
            // A one-way test uses the receiver's clock, and the row of a matrix element is the rank whose clock is
            // used.
            let element = if self.test == PairTest::OneToOne { to * ranks + from } else { from * ranks + to };
            let of_element = self.of_element[element];
            let number = *numbers.entry(of_element).or_insert_with(|| {
                order.push(of_element);
                order.len()
            });
            class[core(from) * cores + core(to)] = number;
        }
        text.push_str("class = [\n");
        for row in class.chunks(cores) {
            let row: Vec<String> = row.iter().map(usize::to_string).collect();
            let _ = writeln!(text, "    [{}],", row.join(", "));
        }
        text.push_str("]\n");
        for of_element in order {
            let times = &self.times[of_element as usize];
            let least = Floor { start: 0.5 * times[0].1.min(times[times.len() - 1].1), per_byte: 0.0 };
            text.push_str("\n[[cost]]\ninterval = [\n");
            for piece in bounded_beyond(pieces(times, &[], least), times) {
                let _ = writeln!(text, "    {{ {} }},{}", stated_cost(&piece), told_flat(piece.flat));
            }
            text.push_str("]\n");
        }
        text
    }
}

/// Adds a fitted line for message sizes beyond the measured sizes if the last line implies a much higher bandwidth than
/// any measured bandwidth. Noise makes the fitted lines too flat, and short messages do not determine the costs of long
/// messages.
fn bounded_beyond(mut pieces: Vec<FitPiece>, times: &[(u64, f64)]) -> Vec<FitPiece> {
    let best = times.iter().map(|(bytes, seconds)| *bytes as f64 / seconds).fold(0.0, f64::max);
    let least = 1.0 / (best * MORE_THAN_SEEN);
    let last_size = times.last().map_or(0, |(bytes, _)| *bytes);
    if let Some(last) = pieces.last_mut().filter(|last| least.is_finite() && last_size > 0 && last.per_byte < least) {
        last.up_to = Some(last_size);
        let start = last.at(last_size) - least * last_size as f64;
        pieces.push(FitPiece { start: start.max(0.0), per_byte: least, up_to: None, flat: false });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_core::config::Document;
    use mcpsim_matrices::{Parameters, Statistic};

    #[test]
    fn pairs_of_a_ring_become_classes_of_cores() {
        // Ranks 0 to 3 form a ring. Neighbours take 2 us and opposite ranks 8 us; messages above 1 B between ranks 0
        // and 1 also take 8 us.
        let time = |x: i32, y: i32, length: i32| match (x - y).rem_euclid(4) {
            0 => 0.0,
            2 => 8e-6,
            _ if length > 1 && x + y == 1 => 8e-6,
            _ => 2e-6,
        };
        let values = (0..4).flat_map(|length| (0..16).map(move |element| time(element / 4, element % 4, length)));
        let test = PairTest::SendRecvAndRecvSend;
        let parameters = Parameters {
            ranks: 4,
            test,
            begin: 0,
            end: 4,
            step: 1,
            repeats: 1,
            noise_bytes: 0,
            noise_messages: 0,
            noise_ranks: 0,
        };
        let mut of = Matrices::of(parameters, Statistic::Median, values.collect()).unwrap();
        let options = ClusterOptions { first: 2, further: 2, ..ClusterOptions::default() };
        let classes = MeasuredClasses::of(&mut of, &options).unwrap();
        // The matrices have four classes: the diagonal, neighbours, opposite ranks, and the pair (0, 1), whose time
        // depends on the message size.
        assert_eq!(classes.count(), 4);
        let shape = Shape { nodes: 4, cmps: 1, cores: 1 };
        let sites: Vec<Site> = (0..4).map(|node| Site { node, cmp: 0, core: 0 }).collect();
        let text = classes.text(shape, &sites, "made by a test");
        let table = Document::parse("x", &text).unwrap();
        let class = table.table()["class"].as_array().unwrap();
        let row =
            |row: usize| class[row].as_array().unwrap().iter().map(|of| of.as_integer().unwrap()).collect::<Vec<_>>();
        assert_eq!([row(0), row(2)], [vec![0, 1, 2, 3], vec![2, 3, 0, 3]]);
        assert_eq!(table.table()["cost"].as_array().unwrap().len(), 3);
        // Half a round trip takes 8 us for any message size. The upper limit of the cost of 3 B is 0.4 % of the time 4
        // us, 16 ns.
        let flat = "{ up_to = 3, latency = \"3.984 us\", bandwidth = \"187.5 MB/s\" },  # no cost of bytes was seen";
        assert!(text.contains(flat), "{text}");
        // The bandwidth beyond 3 B is at most 1.5 times the bandwidth at 3 B, which is 3 B in 4 us.
        assert!(text.contains("{ latency = \"1.333 us\", bandwidth = \"1.125 MB/s\" }"), "{text}");
    }
}
