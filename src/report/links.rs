//! Tables of the links of a network: utilization by kind of link, and the busiest links.

use crate::engine::Outcome;

use super::numbers::{count, percent};
use super::table::{Align, Table};

/// Greatest number of busiest links in the table.
const MOST_ROWS: usize = 5;

/// Returns the utilisation of links. The text is empty if no link was used.
pub(super) fn links(outcome: &Outcome) -> String {
    let Some(used) = &outcome.links else { return String::new() };
    let right = |name| (name, Align::Right);
    let mut layers =
        Table::new(&[("links", Align::Left), right("of"), right("mean"), right("busiest"), right("greatest")]);
    for of in &used.layers {
        layers.row([of.layer.clone(), count(of.count), percent(of.mean), percent(of.busiest), percent(of.greatest)]);
    }
    let mut busiest =
        Table::new(&[("busiest links", Align::Left), ("kind", Align::Left), right("mean"), right("greatest")]);
    for of in used.busiest.iter().take(MOST_ROWS) {
        busiest.row([of.link.clone(), of.layer.clone(), percent(of.mean), percent(of.greatest)]);
    }
    format!("{}\n{}", layers.render(), busiest.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{BusyLink, LayerUse, NetworkUse};
    use crate::report::samples::{busy, empty};

    #[test]
    fn links_have_tables_if_a_network_was_used() {
        assert_eq!(links(&empty()), "");
        let layer = LayerUse { layer: "local".to_owned(), count: 12, mean: 0.25, busiest: 0.5, greatest: 1.0 };
        let link = BusyLink {
            link: "switch 0 of group 0 to switch 3 of group 1".to_owned(),
            layer: "local".to_owned(),
            mean: 0.5,
            greatest: 1.0,
        };
        let outcome = crate::engine::Outcome {
            links: Some(NetworkUse { layers: vec![layer], busiest: vec![link; 9] }),
            ..busy()
        };
        let text = links(&outcome);
        assert!(text.contains("  local  12  25.0%    50.0%    100.0%\n"), "{text}");
        assert_eq!(text.matches("switch 0 of group 0").count(), MOST_ROWS);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
