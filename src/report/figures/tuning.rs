//! Figures of MPI collectives: the time of each algorithm over the message size. Larger dots mark the algorithm that
//! the MPI library chooses.

use crate::mpi::collective_word;
use crate::platform::{Algorithm, Collective, Library, Method};
use crate::study::Measure;
use crate::study::collectives::Sized;

use super::super::tuning::{of_ranks, parts_text};
use super::axis::PlotAxis;
use super::canvas::{Dash, Figure, PALETTE, Place, colors};
use super::frame::{Head, begin, dashes, feet, frame, horizontal, vertical};

/// Returns one figure per MPI collective.
pub fn tuning_figures(found: &[Sized], library: Library, ranks: u32) -> Vec<Figure> {
    let mut collectives: Vec<Collective> = found.iter().map(|sized| sized.collective).collect();
    collectives.dedup();
    let of = |collective| found.iter().filter(move |sized| sized.collective == collective).collect::<Vec<_>>();
    collectives.into_iter().filter_map(|collective| figure(&of(collective), collective, library, ranks)).collect()
}

fn figure(found: &[&Sized], collective: Collective, library: Library, ranks: u32) -> Option<Figure> {
    // Each algorithm is drawn with its best segment size.
    let mut algorithms: Vec<_> =
        found.iter().flat_map(|sized| &sized.times).map(|(method, _)| method.algorithm).collect();
    algorithms.sort_unstable();
    algorithms.dedup();
    let seconds = |time: crate::units::SimSpan| time.as_ps() as f64 * 1e-12;
    let curve = |algorithm| -> Vec<(f64, f64)> {
        let best = |sized: &&Sized| {
            let times = sized.times.iter().filter(|(method, _)| method.algorithm == algorithm);
            let time = times.map(|(_, time)| *time).min()?;
            (sized.bytes.get() > 0).then(|| (sized.bytes.get() as f64, seconds(time)))
        };
        found.iter().filter_map(best).collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = algorithms.iter().map(|algorithm| curve(*algorithm)).collect();
    let values = || curves.iter().flatten().copied();
    let least = values().map(|(_, y)| y).reduce(f64::min).filter(|least| *least > 0.0)?;
    let most = values().map(|(_, y)| y).reduce(f64::max)?;
    let largest = values().map(|(x, _)| x).reduce(f64::max)?;
    let y = PlotAxis::log_time("time of a call", least, most);
    let sizes: Vec<f64> = (0..).map(|power| 4f64.powi(power)).take_while(|size| *size <= largest * 2.0).collect();
    let x = PlotAxis::values("size", Measure::Size, &sizes);
    // Lines of the same colour have different dash patterns.
    let again = |(number, dash): (usize, Dash)| match dash {
        Dash::Solid if number >= PALETTE.len() => Dash::Dashed,
        _ => dash,
    };
    let lines: Vec<Dash> = dashes(&curves).into_iter().enumerate().map(again).collect();
    let head = Head {
        title: format!("{} of {}, {}", collective_word(collective), of_ranks(ranks), library.name()),
        more: "large dots: the library's choice".to_owned(),
        legend: colors().zip(algorithms.iter().map(|algorithm| name(found, *algorithm))).collect(),
        common: "algorithm:".to_owned(),
        lines: lines.clone(),
        ..Head::default()
    };
    let (mut figure, top) = begin(&format!("collectives-{}", collective_word(collective)), &head, 420.0);
    let frame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    for (number, (points, color)) in curves.iter().zip(colors()).enumerate() {
        let along: Vec<Place> =
            points.iter().map(|&(size, value)| (frame.x(x.at(size)), frame.y(y.at(value)))).collect();
        along.iter().for_each(|at| figure.dot(*at, 1.8, color));
        if along.len() > 1 {
            figure.line(along, color, 1.8, lines[number]);
        }
    }
    for sized in found {
        let taken = sized.taken.iter().find(|(other, _)| *other == library).map(|(_, method): &(_, Method)| *method);
        let Some((method, time)) = taken.and_then(|method| Some((method, sized.time(method)?))) else { continue };
        let place = algorithms.iter().position(|algorithm| *algorithm == method.algorithm).unwrap_or_default();
        if sized.bytes.get() > 0 {
            let at = (frame.x(x.at(sized.bytes.get() as f64)), frame.y(y.at(seconds(time))));
            figure.dot(at, 4.5, colors().nth(place).expect("colours have no end"));
        }
    }
    feet(&mut figure, frame);
    Some(figure)
}

/// Returns the legend entry of an algorithm. The legend entry includes the number of chains or children if only one
/// number was timed.
fn name(found: &[&Sized], algorithm: Algorithm) -> String {
    let methods = found.iter().flat_map(|sized| &sized.times).map(|(method, _)| *method);
    let mut fans: Vec<u32> = methods.filter(|method| method.algorithm == algorithm).map(|method| method.fan).collect();
    fans.sort_unstable();
    fans.dedup();
    parts_text(Some(algorithm), 0, if let [fan] = fans[..] { fan } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, SimSpan};

    #[test]
    fn a_collective_has_a_figure_with_its_algorithms_named() {
        let sized = |bytes| Sized {
            collective: Collective::Bcast,
            size: Bytes::new(bytes),
            bytes: Bytes::new(bytes),
            own: Algorithm::Binomial.into(),
            taken: vec![(Library::OpenMpi41, Algorithm::Binomial.into())],
            times: vec![
                (Algorithm::Binomial.into(), SimSpan::from_us(5 + bytes)),
                (Algorithm::Linear.into(), SimSpan::from_us(9 + bytes)),
                (Method { fan: 4, ..Algorithm::Chains.into() }, SimSpan::from_us(7 + bytes)),
            ],
        };
        let figures = tuning_figures(&[sized(8), sized(64)], Library::OpenMpi41, 4);
        assert_eq!(figures.len(), 1);
        assert_eq!(figures[0].name, "collectives-bcast");
        let words: Vec<&str> = figures[0].words().collect();
        for word in ["binomial", "linear", "chains /4", "64 B"] {
            assert!(words.contains(&word), "{word} in {words:?}");
        }
    }
}
