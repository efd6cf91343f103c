//! Tables of textbook models: parameters, formulas, sources and errors of the models.

use crate::measure::{COURSE_MESSAGES, Course, LevelModels};
use crate::platform::{Hockney, LOGP_BYTES, Level, LogGp, Textbook};
use crate::units::{Bandwidth, Bytes, SimSpan};

use super::table::{Align, Table};
use super::validation::signed;

/// Returns the tables of all network levels. `processors` is the LogP parameter P, if known. `courses` contains the
/// parameters according to the measuring methods of university courses; it is empty without a machine.
pub fn models_summary(
    name: &str,
    processors: Option<u64>,
    models: &[LevelModels],
    courses: &[(Level, Course)],
) -> String {
    let of = processors.map_or(String::new(), |count| format!(", P = {count} processors"));
    let mut text = format!("{name}{of}\n");
    text.push_str("\nHockney: t(m) = t0 + m / r_inf; half of r_inf at n_1/2 = t0 r_inf (1994)\n");
    let mut table = Table::new(&headings(&["t0", "r_inf", "n_1/2", "error", "most", "of"]));
    for of in models {
        let half = of.hockney.half_size();
        let figures = [span(of.hockney.start), rate(of.hockney.per_byte), size(half)];
        table.row([level(of.level)].into_iter().chain(figures).chain(residual(of, Textbook::Hockney)));
    }
    text.push_str(&table.render());
    text.push_str(&ends(models));
    if models.iter().all(|of| of.log_p.is_none()) {
        text.push_str("\nLogP and LogGP: no overheads were measured\n");
        return text;
    }
    text.push_str("\nLogP: t = L + 2 o; sends every g, L/g in flight (Culler and others 1993)\n");
    let mut table = Table::new(&headings(&["m", "L", "o", "o_s", "o_r", "g", "L/g", "error"]));
    for of in models {
        let Some(small) = of.log_p else { continue };
        let log_p = small.log_p;
        let mut cells = vec![level(of.level), small.bytes.to_string()];
        cells.extend([log_p.latency, log_p.overhead, small.send, small.recv, log_p.gap].map(span));
        cells.push(if log_p.gap > 0.0 { format!("{:.0}", log_p.capacity()) } else { String::new() });
        cells.extend(residual(of, Textbook::LogP).into_iter().take(1));
        table.row(cells);
    }
    text.push_str(&table.render());
    text.push_str("\nLogGP: t(m) = L + 2 o + (m - 1) G (Alexandrov and others 1995)\n");
    let mut table = Table::new(&headings(&["L", "o", "G", "1/G", "error", "most", "of"]));
    for of in models {
        let Some(log_gp) = of.log_gp else { continue };
        let small = log_gp.small;
        let figures = [small.latency, small.overhead].map(span);
        let byte = format!("{:.4} ns", log_gp.per_byte * 1e9);
        table.row(
            [level(of.level)]
                .into_iter()
                .chain(figures)
                .chain([byte, rate(log_gp.per_byte)])
                .chain(residual(of, Textbook::LogGp)),
        );
    }
    text.push_str(&table.render());
    text.push_str(&course(courses));
    text.push_str("\nerror, most: mean and greatest error of half round trips; LogP: up to size m\n");
    text
}

/// Compares t0 and r_inf of Hockney's model with the measured times at the smallest and largest message sizes, because
/// a single line may fit neither of these times.
fn ends(models: &[LevelModels]) -> String {
    let mut table = Table::new(&headings(&["least", "takes", "t0 off", "to", "further bytes at", "r_inf off"]));
    for of in models {
        let (Some(&(least, start)), [.., (before, first), (most, second)]) = (of.points.first(), &of.points[..]) else {
            continue;
        };
        let per_byte = (second - first) / (most - before) as f64;
        if per_byte <= 0.0 {
            continue;
        }
        let off = |found: f64, there: f64| signed((found / there - 1.0) * 100.0);
        table.row([
            level(of.level),
            Bytes::new(least).to_string(),
            span(start),
            off(of.hockney.start + of.hockney.per_byte * least as f64, start),
            Bytes::new(*most).to_string(),
            rate(per_byte),
            off(per_byte, of.hockney.per_byte),
        ]);
    }
    format!("\nThe fit at the smallest and largest sizes; off at both if the curve bends\n{}", table.render())
}

/// Returns a text about LogP's parameters according to the measuring methods of university courses.
fn course(courses: &[(Level, Course)]) -> String {
    if courses.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&headings(&["L + 2 o", "g", "o", "L"]));
    for (of, found) in courses {
        let figures = [found.message, found.gap, found.overhead, found.latency()].map(span);
        table.row([level(*of)].into_iter().chain(figures));
    }
    format!(
        "\nLogP from simple tests, {COURSE_MESSAGES} messages of {LOGP_BYTES} B: ping-pong; sends; sends and work\n{}",
        table.render()
    )
}

fn headings<'a>(names: &[&'a str]) -> Vec<(&'a str, Align)> {
    [("level", Align::Left)].into_iter().chain(names.iter().map(|name| (*name, Align::Right))).collect()
}

fn level(level: Level) -> String {
    level.name().replace('_', "-").replace("cmp", "CMP")
}

fn span(seconds: f64) -> String {
    SimSpan::from_seconds(seconds.max(0.0)).map_or_else(|| format!("{seconds:e} s"), |span| span.to_string())
}

fn rate(per_byte: f64) -> String {
    Bandwidth::new((1.0 / per_byte).round() as u64)
        .filter(|_| per_byte > 0.0)
        .map_or_else(|| "no limit".to_owned(), |rate| rate.to_string())
}

fn size(bytes: f64) -> String {
    if bytes.is_finite() { Bytes::new(bytes.round() as u64).to_string() } else { "none".to_owned() }
}

fn residual(of: &LevelModels, model: Textbook) -> Vec<String> {
    let Some(found) = of.residual(model) else { return Vec::new() };
    let most = signed(found.most * 100.0);
    vec![format!("{:.1}%", found.mean * 100.0), most, Bytes::new(found.at).to_string()]
}

/// Returns one CSV row per parameter: network level, model, parameter, value, unit.
pub fn models_csv(models: &[LevelModels], courses: &[(Level, Course)]) -> String {
    let mut text = "level,model,parameter,value,unit\n".to_owned();
    let mut row = |level: Level, model: &str, parameter: &str, value: f64, unit: &str| {
        text.push_str(&format!("{},{model},{parameter},{value:.6e},{unit}\n", level.name()));
    };
    for of in models {
        let Hockney { start, per_byte } = of.hockney;
        row(of.level, "hockney", "t0", start, "s");
        row(of.level, "hockney", "r_inf", 1.0 / per_byte, "B/s");
        row(of.level, "hockney", "n_half", of.hockney.half_size(), "B");
        if let Some(small) = of.log_p {
            for (name, value) in [("L", small.log_p.latency), ("o", small.log_p.overhead), ("g", small.log_p.gap)] {
                row(of.level, "logp", name, value, "s");
            }
            row(of.level, "logp", "o_s", small.send, "s");
            row(of.level, "logp", "o_r", small.recv, "s");
        }
        if let Some(LogGp { small, per_byte }) = of.log_gp {
            for (name, value) in [("L", small.latency), ("o", small.overhead), ("g", small.gap)] {
                row(of.level, "loggp", name, value, "s");
            }
            row(of.level, "loggp", "G", per_byte, "s/B");
        }
        for (name, model) in [("hockney", Textbook::Hockney), ("logp", Textbook::LogP), ("loggp", Textbook::LogGp)] {
            if let Some(found) = of.residual(model) {
                row(of.level, name, "mean_error", found.mean * 100.0, "%");
            }
        }
    }
    for (level, found) in courses {
        row(*level, "course", "L+2o", found.message, "s");
        row(*level, "course", "g", found.gap, "s");
        row(*level, "course", "o", found.overhead, "s");
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use crate::measure::SmallMessage;
    use crate::platform::LogP;

    use super::*;

    /// Returns the models of ping-pongs between nodes that take 2 us and 1 ns per byte.
    pub(in crate::report) fn sample() -> LevelModels {
        let points: Vec<(u64, f64)> =
            [1, 8, 1001, 100_001].map(|bytes| (bytes, 2e-6 + 1e-9 * (bytes - 1) as f64)).to_vec();
        let log_p = LogP { latency: 1.407e-6, overhead: 300e-9, gap: 500e-9 };
        let small = LogP { latency: 1.4e-6, ..log_p };
        LevelModels {
            level: Level::InterNode,
            hockney: Hockney { start: 1.999e-6, per_byte: 1e-9 },
            log_p: Some(SmallMessage { bytes: 8, send: 250e-9, recv: 350e-9, log_p }),
            log_gp: Some(LogGp { small, per_byte: 1e-9 }),
            points,
        }
    }

    #[test]
    fn models_are_tables_with_their_formulas() {
        let course = Course { message: 2.007e-6, gap: 501e-9, overhead: 300e-9 };
        let text = models_summary("m", Some(4), &[sample()], &[(Level::InterNode, course)]);
        let squeezed: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "m, P = 4 processors",
            "inter-node 1.999 us 1.000 GB/s 1999 B 0.0%",
            "inter-node 1 B 2.000 us 0.0% 97.66 KiB 1.000 GB/s 0.0%",
            "inter-node 8 1.407 us 300.0 ns 250.0 ns 350.0 ns 500.0 ns 3 0.2%",
            "inter-node 1.400 us 300.0 ns 1.0000 ns 1.000 GB/s 0.0%",
            "inter-node 2.007 us 501.0 ns 300.0 ns 1.407 us",
        ] {
            assert!(squeezed.iter().any(|found| found.starts_with(line)), "{line} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let bare = LevelModels { log_p: None, log_gp: None, ..sample() };
        assert!(models_summary("m", None, &[bare], &[]).contains("no overheads were measured"));
    }

    #[test]
    fn a_row_of_the_csv_is_a_parameter() {
        let csv = models_csv(&[sample()], &[]);
        for row in ["inter_node,hockney,t0,1.999000e-6,s", "inter_node,loggp,G,1.000000e-9,s/B"] {
            assert!(csv.lines().any(|line| line == row), "{row} in\n{csv}");
        }
    }
}
