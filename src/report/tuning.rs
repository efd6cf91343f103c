//! Tables and CSV of the times of each algorithm of an MPI collective.

use crate::mpi::{algorithm_word, collective_word};
use crate::platform::{Algorithm, Library, Method};
use crate::study::collectives::Sized;
use crate::units::Bytes;

use super::numbers::volume;
use super::table::{Align, Table};

/// Returns the name of a collective's algorithm with the algorithm's parameters, such as "pipeline 64 KiB" or "knomial
/// /4".
pub(super) fn method_text(method: Method) -> String {
    parts_text(Some(method.algorithm), method.segment, method.fan)
}

/// Returns the text of [`method_text`] from the algorithm and its parameters; "-" without an algorithm.
pub(super) fn parts_text(algorithm: Option<Algorithm>, segment: u32, fan: u32) -> String {
    let mut text = algorithm.map_or("-", algorithm_word).to_owned();
    if segment > 0 {
        text.push_str(&format!(" {}", Bytes::new(segment.into())));
    }
    if fan > 0 {
        text.push_str(&format!(" /{fan}"));
    }
    text
}

/// Returns one table per collective, with one row per size. A table row has the time of the algorithm that `library`
/// chooses and the time of the fastest algorithm. With `all`, the row has the times of every algorithm.
pub fn tuning_summary(found: &[Sized], library: Library, ranks: u32, all: bool) -> String {
    let mut text = String::new();
    let mut rest = found;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|sized| sized.collective == first.collective).count();
        let (these, others) = rest.split_at(count);
        rest = others;
        let word = collective_word(first.collective);
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{word} of {}, {}\n\n", of_ranks(ranks), library.name()));
        text.push_str(&if all { every(these, library) } else { best(these, library) });
    }
    text
}

/// Formats a number of ranks.
pub(super) fn of_ranks(ranks: u32) -> String {
    if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") }
}

fn best(found: &[Sized], library: Library) -> String {
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("taken", Align::Left),
        ("time", Align::Right),
        ("fastest", Align::Left),
        ("time", Align::Right),
        ("ratio", Align::Right),
    ]);
    for sized in found {
        let taken = taken(sized, library);
        let time = taken.and_then(|method| sized.time(method));
        let fastest = sized.fastest();
        let ratio = time.zip(fastest).map(|(time, (_, least))| time.as_ps() as f64 / least.as_ps().max(1) as f64);
        table.row([
            volume(sized.bytes.get()),
            taken.map_or("-".to_owned(), method_text),
            time.map_or("-".to_owned(), |time| time.to_string()),
            fastest.map_or("-".to_owned(), |(method, _)| method_text(method)),
            fastest.map_or("-".to_owned(), |(_, time)| time.to_string()),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        ]);
    }
    table.render()
}

fn every(found: &[Sized], library: Library) -> String {
    let mut table =
        Table::new(&[("size", Align::Right), ("algorithm", Align::Left), ("time", Align::Right), ("", Align::Left)]);
    for sized in found {
        let (taken, fastest) = (taken(sized, library), sized.fastest().map(|(method, _)| method));
        let mut times = sized.times.clone();
        times.sort_by_key(|(method, time)| (*time, *method));
        for (place, (method, time)) in times.into_iter().enumerate() {
            let notes = [(fastest, "fastest"), (taken, "taken")];
            let notes: Vec<&str> =
                notes.iter().filter(|(noted, _)| *noted == Some(method)).map(|(_, note)| *note).collect();
            let size = if place == 0 { volume(sized.bytes.get()) } else { String::new() };
            table.row([size, method_text(method), time.to_string(), notes.join(", ")]);
        }
    }
    table.render()
}

fn taken(sized: &Sized, library: Library) -> Option<Method> {
    sized.taken.iter().find(|(other, _)| *other == library).map(|(_, method)| *method)
}

/// Returns CSV with one row per algorithm, size and collective. The last columns name the MPI libraries that choose the
/// algorithm.
pub fn tuning_csv(found: &[Sized], library: Library, ranks: u32) -> String {
    let mut text = "collective,library,ranks,bytes,algorithm,segment,fan,time_us,fastest,taken_by\n".to_owned();
    for sized in found {
        let fastest = sized.fastest().map(|(method, _)| method);
        for (method, time) in &sized.times {
            let by: Vec<&str> =
                sized.taken.iter().filter(|(_, taken)| taken == method).map(|(library, _)| library.name()).collect();
            text.push_str(&format!(
                "{},{},{ranks},{},{},{},{},{:.3},{},{}\n",
                collective_word(sized.collective),
                library.name(),
                sized.bytes.get(),
                algorithm_word(method.algorithm),
                method.segment,
                method.fan,
                time.as_ps() as f64 / 1e6,
                if fastest == Some(*method) { "yes" } else { "no" },
                by.join(" "),
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Collective;
    use crate::units::SimSpan;

    fn found() -> Vec<Sized> {
        let sized = |bytes, ring, doubling| Sized {
            collective: Collective::Allreduce,
            size: Bytes::new(bytes),
            bytes: Bytes::new(bytes),
            own: Algorithm::Ring.into(),
            taken: vec![
                (Library::OpenMpi40, Algorithm::Ring.into()),
                (Library::Mpich4, Algorithm::RecursiveDoubling.into()),
            ],
            times: vec![
                (Algorithm::RecursiveDoubling.into(), SimSpan::from_us(doubling)),
                (Algorithm::Ring.into(), SimSpan::from_us(ring)),
            ],
        };
        vec![sized(8, 30, 10), sized(1 << 20, 200, 400)]
    }

    #[test]
    fn a_table_says_what_is_taken_and_what_is_fastest() {
        assert_eq!(
            tuning_summary(&found(), Library::OpenMpi40, 16, false),
            "allreduce of 16 ranks, openmpi-4.0\n\n       \
             size  taken      time  fastest                 time  ratio\n        \
             8 B  ring   30.00 us  recursive_doubling  10.00 us   3.00\n  \
             1.000 MiB  ring   200.0 us  ring                200.0 us   1.00\n"
        );
        let all = tuning_summary(&found(), Library::OpenMpi40, 16, true);
        assert!(all.contains("recursive_doubling") && all.contains("fastest, taken"), "{all}");
    }

    #[test]
    fn of_equals_what_the_library_takes_is_the_fastest() {
        let mut found = found();
        found[0].times.iter_mut().for_each(|(_, time)| *time = SimSpan::from_us(10));
        assert_eq!(found[0].fastest(), Some((Algorithm::Ring.into(), SimSpan::from_us(10))));
    }

    #[test]
    fn csv_has_a_row_an_algorithm() {
        let csv = tuning_csv(&found(), Library::OpenMpi40, 16);
        assert_eq!(csv.lines().count(), 5);
        assert_eq!(csv.lines().nth(1), Some("allreduce,openmpi-4.0,16,8,recursive_doubling,0,0,10.000,yes,mpich-4"));
        assert_eq!(csv.lines().nth(4), Some("allreduce,openmpi-4.0,16,1048576,ring,0,0,200.000,yes,openmpi-4.0"));
    }
}
