//! Summary of a platform that was imported from benchmark files, with imported values and assumed values.

use crate::measure::{ImportedKey, ImportedPlatform};
use crate::platform::Shape;

use super::headline::{clip, lines};
use super::table::{Align, Table};

/// Maximum width in characters of a table cell that names the source of values.
const WIDEST: usize = 36;

/// Returns a table with one row per source of values. In each network level, imported values precede assumed values.
pub fn imported_summary(name: &str, made: &ImportedPlatform) -> String {
    let Shape { nodes, cmps, cores } = made.shape;
    let mut text = format!("{}: ({nodes}, {cmps}, {cores})\n\n", clip(name, 60));
    let mut table = Table::new(&["in", "figures", "", "from"].map(|name| (name, Align::Left)));
    let mut last = "";
    for of in made.keys.iter().filter(|of| !of.keys.is_empty()) {
        let ImportedKey { table: place, keys, from, assumed } = of;
        let place = if place == last { "" } else { place };
        last = &of.table;
        let keys = keys.replace("send_overhead, recv_overhead", "send, recv_overhead");
        let kind = if *assumed { "assumed" } else { "data" };
        let mut row = [place.to_owned(), keys, kind.to_owned(), String::new()];
        for line in lines(from, WIDEST, WIDEST) {
            row[3] = line;
            table.row(std::mem::take(&mut row));
        }
    }
    text.push_str(&table.render());
    text.push_str("\nread\n");
    for of in made.keys.iter().filter(|of| of.keys.is_empty()) {
        text.push_str(&format!("  {}\n", lines(&format!("{} {}", of.table, of.from), 78, 76).join("\n    ")));
    }
    if !made.skipped.is_empty() {
        text.push_str("\nskipped\n");
    }
    for what in &made.skipped {
        text.push_str(&format!("  {}\n", lines(what, 78, 76).join("\n    ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_with_data_and_assumed_ones_are_told_apart() {
        let key = |keys: &str, from: &str, assumed| ImportedKey {
            table: "inter_node".into(),
            keys: keys.into(),
            from: from.into(),
            assumed,
        };
        let keys = vec![
            ImportedKey { table: "core".into(), ..key("all", "that of configs/default.toml", true) },
            key("", "osu.txt: osu_latency 7.4, 2 processes", false),
            key("", &format!("{}osu_bw.txt: osu_bw 7.4", "far/".repeat(15)), false),
            key("latency, bandwidth", "half round trips", false),
            key("send_overhead, recv_overhead", &"windows ".repeat(9), false),
            key("gap", "none", true),
        ];
        let made = ImportedPlatform {
            text: String::new(),
            shape: Shape { nodes: 2, cmps: 1, cores: 4 },
            keys,
            skipped: Vec::new(),
        };
        let text = imported_summary("m", &made);
        let expected = "m: (2, 1, 4)

  in          figures                       from
  core        all                  assumed  that of configs/default.toml
  inter_node  latency, bandwidth   data     half round trips
              send, recv_overhead  data     windows windows windows windows
                                            windows windows windows windows
                                            windows
              gap                  assumed  none

read
  inter_node osu.txt: osu_latency 7.4, 2 processes
  inter_node
    far/far/far/far/far/far/far/far/far/far/far/far/far/far/far/osu_bw.txt:
    osu_bw 7.4
";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
