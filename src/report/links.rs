//! Tables of the links of a network: utilization by kind of link, and the busiest links.

use crate::engine::Outcome;

use super::numbers::{count, percent};
use super::study::quoted;
use super::table::{Align, Table};

/// Greatest number of busiest links in the table.
const MOST_ROWS: usize = 5;

/// Returns the utilisation of links. The text is empty if no message occupied a link.
pub(super) fn links(outcome: &Outcome) -> String {
    let Some(used) = outcome.links.as_ref().filter(|used| !used.layers.is_empty()) else { return String::new() };
    let right = |name| (name, Align::Right);
    let mut layers = Table::new(&[
        ("links", Align::Left),
        right("used"),
        right("of"),
        right("mean"),
        right("busiest"),
        right("greatest"),
    ]);
    for of in &used.layers {
        let [used, all] = [of.count, of.links.max(of.count)].map(count);
        layers.row([of.layer.clone(), used, all, percent(of.mean), percent(of.busiest), percent(of.greatest)]);
    }
    let mut busiest =
        Table::new(&[("busiest links", Align::Left), ("kind", Align::Left), right("mean"), right("greatest")]);
    for of in used.busiest.iter().take(MOST_ROWS) {
        busiest.row([of.link.clone(), of.layer.clone(), percent(of.mean), percent(of.greatest)]);
    }
    format!("{}\n{}", layers.render(), busiest.render())
}

/// Returns a CSV table of the loads of resources over time: a row per resource and span. `None` if the run did not
/// record loads. A row `path contention` has the part of the predicted time that the critical path waits for a kind of
/// link.
pub fn load_csv(outcome: &Outcome) -> Option<String> {
    let load = outcome.load_over_time.as_deref()?;
    let (span, end) = (load.span.as_seconds(), outcome.predicted_s);
    let mut text = "resource,kind,value,start_s,end_s,load\n".to_owned();
    let mut rows = |resource: &str, kind: &str, value: &str, loads: &[f64]| {
        for (number, load) in loads.iter().enumerate() {
            let [start, until] = [number, number + 1].map(|at| (span * at as f64).min(end));
            text.push_str(&format!("{},{},{value},{start:e},{until:e},{load}\n", quoted(resource), quoted(kind)));
        }
    };
    for of in &load.kinds {
        rows("all", &of.kind, "mean", &of.mean);
        rows("all", &of.kind, "busiest", &of.busiest);
    }
    for of in &load.links {
        rows(&of.link, &of.layer, "link", &of.load);
    }
    for of in &outcome.uplink_contention {
        let part = of.contention.as_seconds() / end;
        text.push_str(&format!("all,{},path contention,0e0,{end:e},{part}\n", quoted(&of.kind)));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{BusyLink, LayerUse, LinkTraffic, NetworkUse};
    use crate::report::samples::{busy, empty};

    #[test]
    fn links_have_tables_if_a_network_was_used() {
        assert_eq!(links(&empty()), "");
        let layer =
            LayerUse { layer: "local".to_owned(), count: 12, links: 24, mean: 0.25, busiest: 0.5, greatest: 1.0 };
        let link = BusyLink {
            link: "switch 0 of group 0 to switch 3 of group 1".to_owned(),
            layer: "local".to_owned(),
            mean: 0.5,
            greatest: 1.0,
        };
        let outcome = crate::engine::Outcome {
            links: Some(NetworkUse { traffic: LinkTraffic::default(), layers: vec![layer], busiest: vec![link; 9] }),
            ..busy()
        };
        let text = links(&outcome);
        assert!(text.contains("  local    12  24  25.0%    50.0%    100.0%\n"), "{text}");
        assert_eq!(text.matches("switch 0 of group 0").count(), MOST_ROWS);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
