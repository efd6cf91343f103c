//! Figures of textbook models, one per network level: measured half round trips over the message size, and the times
//! that each model predicts.

use crate::measure::LevelModels;
use crate::platform::Textbook;
use crate::study::Measure;

use super::axis::PlotAxis;
use super::canvas::{BLACK, Figure, PALETTE, Place};
use super::frame::{Head, begin, dashes, feet, frame, horizontal, vertical};

const MODELS: [(Textbook, &str); 3] =
    [(Textbook::Hockney, "Hockney"), (Textbook::LogP, "LogP"), (Textbook::LogGp, "LogGP")];

/// Returns one figure of textbook models per network level.
pub fn model_figures(name: &str, models: &[LevelModels]) -> Vec<Figure> {
    models.iter().filter_map(|of| figure(name, of)).collect()
}

fn figure(name: &str, of: &LevelModels) -> Option<Figure> {
    // A logarithmic axis has no position for 0.
    let points: Vec<(u64, f64)> = of.points.iter().copied().filter(|(bytes, _)| *bytes > 0).collect();
    let largest = points.last()?.0;
    let times = || points.iter().flat_map(|&(bytes, seconds)| [Some(seconds), of.at(Textbook::LogGp, bytes)]).flatten();
    let (least, most) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    let level = of.level.name().replace('_', "-").replace("cmp", "CMP");
    let known = || MODELS.into_iter().zip(PALETTE).filter(|((model, _), _)| of.residual(*model).is_some());
    let curves: Vec<Vec<(f64, f64)>> = known()
        .map(|((model, _), _)| {
            points.iter().filter_map(|(bytes, _)| Some((*bytes as f64, of.at(model, *bytes)?))).collect()
        })
        .collect();
    let lines = dashes(&curves);
    let head = Head {
        title: format!("{name}: {level}, half a round trip"),
        more: "dots: as sampled; lines: the models".to_owned(),
        legend: known().map(|((_, name), color)| (color, name.to_owned())).collect(),
        common: "model:".to_owned(),
        lines: lines.clone(),
        ..Head::default()
    };
    let y = PlotAxis::log_time("time", least * 0.8, most * 1.2);
    let sizes: Vec<f64> =
        (0..).map(|power| 4f64.powi(power)).take_while(|size| *size <= largest as f64 * 2.0).collect();
    let x = PlotAxis::values("message size", Measure::Size, &sizes);
    let (mut figure, top) = begin(&format!("models-{}", of.level.name()), &head, 420.0);
    let frame = frame(&figure, top, &y, 50.0);
    vertical(&mut figure, frame, &y);
    horizontal(&mut figure, frame, &x);
    let place = |bytes: u64, seconds: f64| -> Place {
        (frame.x(x.at(bytes as f64)), frame.y(y.at(seconds.clamp(least * 0.8, most * 1.2))))
    };
    for ((curve, (_, color)), dash) in curves.iter().zip(known()).zip(lines) {
        let along = curve.iter().map(|(bytes, seconds)| place(*bytes as u64, *seconds)).collect();
        figure.line(along, color, 2.0, dash);
    }
    points.iter().for_each(|&(bytes, seconds)| figure.dot(place(bytes, seconds), 2.2, BLACK));
    feet(&mut figure, frame);
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::super::super::models::tests::sample;
    use super::*;

    #[test]
    fn each_level_has_a_figure_with_its_models() {
        let figures = model_figures("m", &[sample()]);
        assert_eq!(figures[0].name, "models-inter_node");
        let words: Vec<&str> = figures[0].words().collect();
        for word in ["m: inter-node, half a round trip", "Hockney", "LogP", "LogGP", "64 KiB"] {
            assert!(words.contains(&word), "{word} in {words:?}");
        }
    }
}
