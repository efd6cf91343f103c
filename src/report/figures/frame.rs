//! Elements around the data of a figure: title, legend, box, tick marks and axis labels.

use super::axis::PlotAxis;
use super::canvas::{Anchor, BLACK, Color, Dash, Figure, GRAY, GRID, Place, RED, Style};

/// Width of a figure in pixels.
pub(super) const WIDTH: f64 = 680.0;
/// Margin of a figure in pixels.
const EDGE: f64 = 14.0;
/// Line height of a legend in pixels.
const LEGEND_LINE: f64 = 18.0;

/// Rectangle in which the data are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlotFrame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl PlotFrame {
    /// Returns the horizontal pixel position at the fraction `at` of the plot frame's width.
    pub fn x(&self, at: f64) -> f64 {
        self.left + (self.right - self.left) * at
    }

    /// Returns the vertical pixel position at the fraction `at` of the plot frame's height, from below.
    pub fn y(&self, at: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * at
    }

    pub fn width(&self) -> f64 {
        self.right - self.left
    }
}

/// Texts above the data of a figure.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub title: String,
    /// Description of the figure's content, below the title.
    pub more: String,
    /// Name of the best point, shown next to a star.
    pub best: String,
    /// Text that all legend entries have in common; the legend shows it once.
    pub common: String,
    pub legend: Vec<(Color, String)>,
    /// Dash pattern of each legend entry. The list of dash patterns is empty for areas, or if all lines are solid.
    pub lines: Vec<Dash>,
}

/// Creates a figure with the texts of `head`, and returns the vertical position below these texts.
pub(super) fn begin(name: &str, head: &Head, height: f64) -> (Figure, f64) {
    let Head { title, more, best, common, legend, lines } = head;
    let mut figure = Figure::new(name, WIDTH, height);
    let room = WIDTH - 2.0 * EDGE;
    figure.text((EDGE, 24.0), &fit(title, Style::TITLE, room), Style::TITLE, Anchor::Start);
    let mut y = 24.0;
    let mut right = WIDTH - EDGE;
    if !more.is_empty() || !best.is_empty() {
        y += 17.0;
    }
    if !best.is_empty() {
        let style = Style::PLAIN.bold().colored(RED);
        let best = fit(best, style, room * 0.6);
        figure.text((right, y), &best, style, Anchor::End);
        right -= style.width(&best) + 12.0;
        figure.star((right, y - 4.0), 6.5, RED);
        right -= 18.0;
    }
    let style = Style::PLAIN.colored(GRAY);
    for (number, line) in lines_of(more, style, right - EDGE, room).iter().enumerate() {
        y += if number == 0 { 0.0 } else { 15.0 };
        figure.text((EDGE, y), line, style, Anchor::Start);
    }
    let mut x = EDGE;
    y += if legend.is_empty() { 0.0 } else { LEGEND_LINE + 3.0 };
    if !common.is_empty() && !legend.is_empty() {
        let common = fit(common, Style::PLAIN, room * 0.6);
        figure.text((x, y), &common, Style::PLAIN, Anchor::Start);
        x += Style::PLAIN.width(&common) + 14.0;
    }
    let is_lines = lines.iter().any(|dash| *dash != Dash::Solid);
    let sign = if is_lines { 26.0 } else { 10.0 };
    for (number, (color, text)) in legend.iter().enumerate() {
        let text = fit(text, Style::PLAIN, room - sign - 10.0);
        let width = sign + 5.0 + Style::PLAIN.width(&text) + 18.0;
        if x + width > WIDTH && x > EDGE {
            (x, y) = (EDGE, y + LEGEND_LINE);
        }
        match lines.get(number).filter(|_| is_lines) {
            Some(dash) => figure.line(vec![(x, y - 4.0), (x + sign, y - 4.0)], *color, 2.4, *dash),
            None => figure.rect((x, y - 9.0), (x + sign, y + 1.0), *color),
        }
        figure.text((x + sign + 5.0, y), &text, Style::PLAIN, Anchor::Start);
        x += width;
    }
    (figure, y + 14.0)
}

/// Returns the plot frame with room for the labels of the vertical axis, and with `below` pixels for the labels of the
/// horizontal axis.
pub(super) fn frame(figure: &Figure, top: f64, vertical: &PlotAxis, below: f64) -> PlotFrame {
    let widest = vertical.marks.iter().map(|(_, text)| Style::TICK.width(text)).fold(0.0, f64::max);
    PlotFrame {
        left: EDGE + 16.0 + widest + 8.0,
        top: top + 4.0,
        right: figure.width - EDGE - 4.0,
        bottom: figure.height - below,
    }
}

/// Draws the vertical axis of a figure with grid lines.
pub(super) fn vertical(figure: &mut Figure, frame: PlotFrame, axis: &PlotAxis) {
    for (value, text) in &axis.marks {
        let y = frame.y(axis.at(*value));
        figure.line(vec![(frame.left, y), (frame.right, y)], GRID, 1.0, Dash::Solid);
        figure.text((frame.left - 7.0, y + 3.6), text, Style::TICK, Anchor::End);
    }
    let middle = (frame.top + frame.bottom) / 2.0;
    let title = fit(&axis.title, Style::PLAIN, figure.height - 2.0 * EDGE);
    let half = Style::PLAIN.width(&title) / 2.0;
    let middle = middle.clamp(EDGE + half, figure.height - EDGE - half);
    figure.text((EDGE + 9.0, middle), &title, Style::PLAIN.up(), Anchor::Middle);
}

/// Draws the horizontal axis of a figure. Labels that would touch a neighbouring label are omitted.
pub(super) fn horizontal(figure: &mut Figure, frame: PlotFrame, axis: &PlotAxis) {
    let mut free = f64::NEG_INFINITY;
    for (value, text) in &axis.marks {
        let x = frame.x(axis.at(*value));
        let half = Style::TICK.width(text) / 2.0;
        figure.line(vec![(x, frame.bottom), (x, frame.bottom + 4.0)], BLACK, 1.0, Dash::Solid);
        // A wide label at the right end of the axis is moved left, because the label would extend beyond the figure.
        let middle = x.min(figure.width - half - 3.0);
        if middle - half > free {
            figure.text((middle, frame.bottom + 16.0), text, Style::TICK, Anchor::Middle);
            free = middle + half + 6.0;
        }
    }
    title_below(figure, frame, &axis.title, 34.0);
}

/// Draws the title of the horizontal axis, `below` pixels below the axis.
pub(super) fn title_below(figure: &mut Figure, frame: PlotFrame, title: &str, below: f64) {
    let title = fit(title, Style::PLAIN, frame.width());
    figure.text((frame.x(0.5), frame.bottom + below), &title, Style::PLAIN, Anchor::Middle);
}

/// Maximum length in pixels of the labels below the bars of a bar chart.
const BELOW: f64 = 240.0;

/// Labels below the bars of a bar chart, which have equal width. Labels that are too long are drawn vertically.
pub(super) struct BarWords<'a> {
    words: &'a [String],
    turned: bool,
    /// Height of the labels and the axis title, in pixels.
    height: f64,
}

impl BarWords<'_> {
    /// Returns the bar labels, and `frame` with room for the labels. The figure becomes higher if labels are long.
    pub fn below<'a>(figure: &mut Figure, frame: PlotFrame, words: &'a [String]) -> (PlotFrame, BarWords<'a>) {
        let widest = words.iter().map(|text| Style::TICK.width(text)).fold(0.0, f64::max);
        let turned = widest + 8.0 > frame.width() / words.len().max(1) as f64;
        let height = if turned { widest.min(BELOW) + 40.0 } else { 50.0 };
        figure.height += (height - 130.0).max(0.0);
        (PlotFrame { bottom: figure.height - height, ..frame }, BarWords { words, turned, height })
    }

    /// Draws the bar labels, and the axis title below the labels.
    pub fn draw(&self, figure: &mut Figure, frame: PlotFrame, title: &str) {
        let step = frame.width() / self.words.len().max(1) as f64;
        // If the bar chart has too many labels, only every n-th label is drawn.
        let every = (11.0 / step).ceil().max(1.0) as usize;
        for (index, text) in self.words.iter().enumerate().step_by(every) {
            let x = frame.left + step * (index as f64 + 0.5);
            figure.line(vec![(x, frame.bottom), (x, frame.bottom + 4.0)], BLACK, 1.0, Dash::Solid);
            let text = fit(text, Style::TICK, BELOW);
            match self.turned {
                true => figure.text((x + 3.6, frame.bottom + 8.0), &text, Style::TICK.up(), Anchor::End),
                false => figure.text((x, frame.bottom + 16.0), &text, Style::TICK, Anchor::Middle),
            }
        }
        title_below(figure, frame, title, self.height - 14.0);
    }
}

/// Returns the dash patterns of curves. A curve that an earlier curve partly covers is dashed, so that both curves
/// remain visible.
pub(super) fn dashes(curves: &[Vec<(f64, f64)>]) -> Vec<Dash> {
    // Distance below which two curves look equal, as a fraction of the frame, and the fraction of a curve that another
    // curve must cover.
    const NEAR: f64 = 0.02;
    const PART: f64 = 0.2;
    let mut dashes: Vec<Dash> = Vec::new();
    for (number, curve) in curves.iter().enumerate() {
        let covers = |other: &&(usize, &Vec<(f64, f64)>)| {
            let near = |(x, y): &&(f64, f64)| {
                let there = other.1.iter().find(|(at, _)| at == x);
                there.is_some_and(|(_, value)| (y - value).abs() <= NEAR * y.abs().max(value.abs()))
            };
            curve.iter().filter(near).count() as f64 > PART * curve.len() as f64
        };
        let others: Vec<(usize, &Vec<(f64, f64)>)> = curves[..number].iter().enumerate().collect();
        let taken: Vec<Dash> = others.iter().filter(covers).map(|(other, _)| dashes[*other]).collect();
        let free = Dash::ALL.into_iter().find(|dash| !taken.contains(dash));
        dashes.push(free.unwrap_or(Dash::Mixed));
    }
    dashes
}

/// Draws the base line of the bars or curves.
pub(super) fn feet(figure: &mut Figure, frame: PlotFrame) {
    let corners: Vec<Place> = vec![(frame.left, frame.top), (frame.left, frame.bottom), (frame.right, frame.bottom)];
    figure.line(corners, BLACK, 1.0, Dash::Solid);
}

/// Wraps `text` to lines. The first line has at most `first` pixels, later lines have at most `others` pixels. The
/// third line is truncated if necessary.
fn lines_of(text: &str, style: Style, first: f64, others: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let count = lines.len();
        let room = if count == 1 { first } else { others };
        let line = lines.last_mut().expect("there is a line");
        let longer = format!("{line}{word}");
        if style.width(longer.trim_end()) > room && !line.is_empty() && count < 3 {
            lines.push(word.to_owned());
        } else {
            *line = longer;
        }
    }
    let room = |number: usize| if number == 0 { first } else { others };
    lines.iter().enumerate().map(|(number, line)| fit(line.trim_end(), style, room(number))).collect()
}

/// Returns the start of `text` that fits into a width of `room` pixels. A mark replaces the truncated end of the text.
pub(super) fn fit(text: &str, style: Style, room: f64) -> String {
    if style.width(text) <= room {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while kept.pop().is_some() {
        let cut = format!("{}…", kept.trim_end());
        if style.width(&cut) <= room {
            return cut;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::super::canvas::Mark;
    use super::*;

    #[test]
    fn what_is_said_above_goes_on_below_and_labels_stay_inside() {
        let head = Head { more: "some words ".repeat(20), best: "best: 1 s".to_owned(), ..Head::default() };
        let (mut figure, _) = begin("f", &head, 300.0);
        let said: String = figure.words().collect::<Vec<_>>().join(" ");
        assert_eq!((said.matches("some words").count(), said.contains('…')), (20, false), "{said}");
        let axis = PlotAxis::count("a title ", 1e12);
        let frame = frame(&figure, 60.0, &axis, 50.0);
        horizontal(&mut figure, frame, &axis);
        let inside = |mark: &Mark| match mark {
            Mark::Text { at, text, size, weight, .. } => at.0 + super::super::font::width(text, *size, *weight) < WIDTH,
            _ => true,
        };
        assert!(figure.marks.iter().all(inside));
    }

    #[test]
    fn long_words_below_bars_are_turned_up_and_the_figure_grows() {
        let axis = PlotAxis::count("n", 10.0);
        let words = |text: &str| vec![text.to_owned(); 9];
        let height = |words: &[String]| {
            let mut figure = Figure::new("f", WIDTH, 400.0);
            let guess = frame(&figure, 60.0, &axis, 50.0);
            let (frame, below) = BarWords::below(&mut figure, guess, words);
            below.draw(&mut figure, frame, "title");
            assert!(figure.words().any(|text| text == words[0]), "{:?}", figure.words().collect::<Vec<_>>());
            (below.turned, figure.height)
        };
        assert_eq!(height(&words("short")), (false, 400.0));
        let (turned, grown) = height(&words("[{ algorithm = recursive_doubling }]"));
        assert!(turned && grown > 420.0, "{grown}");
    }

    #[test]
    fn a_line_that_covers_another_is_broken() {
        let line = |factor: f64| (0..10).map(|x| (f64::from(x), factor * f64::from(x + 1))).collect::<Vec<_>>();
        // The last test curve covers only the second half of the first curve.
        let half = |factor: f64| {
            let there = |(x, y): (f64, f64)| (x, if x < 5.0 { 3.0 * y } else { y });
            line(factor).into_iter().map(there).collect::<Vec<_>>()
        };
        let found = dashes(&[line(1.0), line(2.0), line(1.01), half(1.0), line(2.0)]);
        assert_eq!(found, [Dash::Solid, Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::Dashed]);
        let mut head = Head { legend: vec![(BLACK, "a".into()), (GRAY, "b".into())], ..Head::default() };
        let lines = |figure: Figure| figure.svg().matches("<polyline").count();
        assert_eq!(lines(begin("f", &head, 100.0).0), 0);
        head.lines = vec![Dash::Solid, Dash::Dashed];
        assert_eq!(lines(begin("f", &head, 100.0).0), 2);
    }
}
