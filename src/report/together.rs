//! Tables of measurements that involve all ranks: collectives in the model of Xu and Hwang, and the effective
//! bandwidth.

use crate::measure::{CollectiveFit, Effective, Growth, GrowthForm, TimedCollective};
use crate::mpi::collective_word;
use crate::units::{Bandwidth, Bytes, SimSpan};

use super::table::{Align, Table};

/// Returns a table of the fits of collectives. Fits of simulated collectives follow the fits of measured collectives.
pub fn collectives_measured(kinds: &[(&str, Vec<CollectiveFit>)]) -> String {
    let mut text = "t(m, n) = t0(n) + m / r_inf(n), m bytes, n ranks (Xu and Hwang 1996)\n\n".to_owned();
    let mut table = Table::new(&[
        ("collective", Align::Left),
        ("", Align::Left),
        ("n", Align::Right),
        ("t0", Align::Right),
        ("r_inf", Align::Right),
        ("error", Align::Right),
    ])
    .keyed(3);
    let collectives: Vec<_> = kinds.iter().flat_map(|(_, fits)| fits).map(|fit| fit.collective).collect();
    let mut seen = Vec::new();
    for collective in collectives {
        if seen.contains(&collective) {
            continue;
        }
        seen.push(collective);
        let of = |fits: &[CollectiveFit]| fits.iter().find(|fit| fit.collective == collective).cloned();
        for (kind, fits) in kinds {
            let Some(fit) = of(fits) else { continue };
            for (ranks, hockney, error) in &fit.by_ranks {
                let rate = if hockney.per_byte > 0.0 { rate(1.0 / hockney.per_byte) } else { String::new() };
                let cells = [collective_word(collective).to_owned(), (*kind).to_owned(), ranks.to_string()];
                let error = if rate.is_empty() { String::new() } else { format!("{:.0}%", error * 100.0) };
                table.row(cells.into_iter().chain([span(hockney.start), rate, error]));
            }
        }
    }
    text.push_str(&table.render());
    // With a single number of ranks, the growth of times with the number of ranks is unknown.
    let grows = |fit: &&CollectiveFit| fit.by_ranks.len() > 1;
    let columns = ["collective", "", "t0, us", "1/r_inf, ns"].map(|name| (name, Align::Left));
    let mut growths = Table::new(&columns).keyed(2);
    let mut any = false;
    for (kind, fits) in kinds {
        for fit in fits.iter().filter(grows) {
            let start = fit.start.map_or("not above 0 for every n".to_owned(), |growth| form(growth, 1e6));
            let byte = fit.per_byte.map_or(String::new(), |growth| form(growth, 1e9));
            growths.row([collective_word(fit.collective).to_owned(), (*kind).to_owned(), start, byte]);
            any = true;
        }
    }
    if any {
        text.push_str("\ngrowth of t0 and 1/r_inf with n, and the mean error of this fit\n");
        text.push_str(&growths.render());
    }
    text
}

fn form(growth: Growth, scale: f64) -> String {
    let of = if growth.form == GrowthForm::Logarithm { "log2 n" } else { "n" };
    let sign = if growth.slope < 0.0 { '-' } else { '+' };
    let (constant, slope) = (growth.constant * scale, (growth.slope * scale).abs());
    format!("{constant:.3} {sign} {slope:.3} {of} ({:.0}%)", growth.error * 100.0)
}

fn span(seconds: f64) -> String {
    SimSpan::from_seconds(seconds.max(0.0)).map_or_else(|| format!("{seconds:e} s"), |span| span.to_string())
}

fn rate(rate: f64) -> String {
    Bandwidth::new(rate.round() as u64).map_or_else(|| "0 B/s".to_owned(), |rate| rate.to_string())
}

/// Returns CSV with one row per collective, number of ranks and size. Cells without a measurement or simulation are
/// empty.
pub fn collectives_measured_csv(measured: &[TimedCollective], simulated: &[TimedCollective]) -> String {
    let mut text = "collective,ranks,bytes,measured_s,simulated_s\n".to_owned();
    let key = |of: &TimedCollective| (of.collective, of.ranks, of.bytes);
    let all = if measured.is_empty() { simulated } else { measured };
    for of in all {
        let cell = |from: &[TimedCollective]| {
            let same = from.iter().find(|other| key(other) == key(of));
            same.map_or(String::new(), |same| format!("{:.6e}", same.seconds))
        };
        let word = collective_word(of.collective);
        text.push_str(&format!("{word},{},{},{},{}\n", of.ranks, of.bytes, cell(measured), cell(simulated)));
    }
    text
}

/// Returns a text about b_eff and its components, for each of `kinds` (measured or simulated).
pub fn effective_summary(ranks: u32, kinds: &[(&str, Effective)]) -> String {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("b_eff", Align::Right),
        ("per rank", Align::Right),
        ("rings, L_max", Align::Right),
        ("random, L_max", Align::Right),
        ("ring latency", Align::Right),
    ]);
    for (kind, of) in kinds {
        let [ordered, random] = of.at_most.map(rate);
        let own = rate(of.bandwidth / f64::from(ranks));
        table.row([(*kind).to_owned(), rate(of.bandwidth), own, ordered, random, span(of.latency)]);
    }
    let most = kinds.first().map_or(0, |(_, of)| of.most_bytes);
    let head = format!("effective bandwidth of {ranks} ranks, L_max = {}\n\n", Bytes::new(most));
    head + &table.render()
}

#[cfg(test)]
mod tests {
    use crate::platform::Collective;

    use super::*;

    #[test]
    fn collectives_are_told_by_ranks_and_by_growth() {
        let mut timed = Vec::new();
        for (ranks, log) in [(2, 1.0), (4, 2.0), (8, 3.0)] {
            for bytes in [8, 4096] {
                let seconds = log * (2e-6 + 1e-9 * bytes as f64);
                timed.push(TimedCollective { collective: Collective::Bcast, ranks, bytes, seconds, unsure: 0.0 });
            }
        }
        let fits = CollectiveFit::all(&timed);
        let text = collectives_measured(&[("measured", fits.clone()), ("simulated", fits)]);
        let squeezed: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in ["bcast measured 4 4.000 us 500.0 MB/s 0%", "bcast simulated 8 6.000 us 333.3 MB/s 0%"] {
            assert!(squeezed.iter().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(text.contains("+ 2.000 log2 n (0%)  "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let csv = collectives_measured_csv(&timed, &timed[..1]);
        assert!(csv.starts_with("collective,ranks,bytes,measured_s,simulated_s\nbcast,2,8,2.008000e-6,2.008000e-6\n"));
        assert!(csv.contains("\nbcast,2,4096,6.096000e-6,\n"), "{csv}");
    }

    #[test]
    fn the_effective_bandwidth_is_a_line() {
        let of = Effective { bandwidth: 8e9, at_most: [12e9, 6e9], latency: 2e-6, most_bytes: 1 << 22, spread: 1.0 };
        let text = effective_summary(4, &[("simulated", of)]);
        assert!(text.starts_with("effective bandwidth of 4 ranks, L_max = 4 MiB\n"), "{text}");
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last.join(" "), "simulated 8.000 GB/s 2.000 GB/s 12.00 GB/s 6.000 GB/s 2.000 us");
    }
}
