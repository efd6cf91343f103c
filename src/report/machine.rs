//! Tables of a machine: its places, the costs of messages by least common place, and the route of one message.

use crate::platform::{
    ImportedPlaces, LeastMost, MessageCosts, NetworkOverview, PairOverview, PlaceCosts, PlatformOverview, Site,
};

use super::numbers::count;
use super::table::{Align, Table};

/// Returns the tables of a machine.
pub fn machine_summary(machine: &PlatformOverview) -> String {
    let shape = machine.nct;
    let threads = match machine.threads {
        1 => String::new(),
        threads => format!(", {threads} hardware threads per core"),
    };
    let mut text = format!(
        "{}: {} x {} x {} = {}{threads}\n",
        machine.platform,
        counted(shape.nodes.into(), "node"),
        counted(shape.cmps.into(), "CMP"),
        counted(shape.cores.into(), "core"),
        counted(shape.total_cores(), "core"),
    );
    text.push('\n');
    text.push_str(&places(machine));
    if let Some(of) = &machine.network {
        text.push('\n');
        text.push_str(&network(of));
    }
    if !machine.costs.is_empty() {
        text.push('\n');
        text.push_str(&costs(&machine.costs));
        text.push_str("  latency includes uplinks; overheads: of sender and receiver; no other messages\n");
    }
    if machine.measured_classes > 0 {
        let classes = machine.measured_classes;
        text.push_str(&format!("  [pairs] replaces the costs of pairs in {classes} classes; --pair shows them\n"));
    }
    if let Some(pair) = &machine.pair {
        text.push('\n');
        text.push_str(&route(pair));
    }
    text
}

/// Returns the overview as indented JSON.
///
/// # Errors
/// The serializer fails, which is a bug.
pub fn machine_json(machine: &PlatformOverview) -> serde_json::Result<String> {
    serde_json::to_string_pretty(machine).map(|text| text + "\n")
}

/// Returns imported places as one text: the part of a platform file, the list of nodes under the name `list`, and the
/// notes as comments.
pub fn imported_places_text(found: &ImportedPlaces, list: &str) -> String {
    let mut text = found.toml.clone();
    if let Some(rows) = &found.list {
        text.push_str(&format!("\n# Save the following lines as {list}.\n{rows}"));
    }
    text.push('\n');
    text.extend(found.notes.iter().map(|note| format!("# note: {note}\n")));
    text
}

fn places(machine: &PlatformOverview) -> String {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("place", Align::Left),
        right("number"),
        right("has"),
        right("cache"),
        right("memory"),
        right("uplink"),
        right(""),
    ]);
    for place in &machine.places {
        let has = place.nodes.map_or_else(|| range(place.cores, "core"), |nodes| range(nodes, "node"));
        table.row([
            place.place.clone(),
            count(place.count),
            has,
            text(place.cache),
            text(place.memory_bandwidth),
            text(place.uplink_latency),
            text(place.uplink_bandwidth),
        ]);
    }
    table.without_empty_columns().render()
}

fn network(network: &NetworkOverview) -> String {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[("links", Align::Left), right("number"), right("latency"), right("bandwidth")]);
    for layer in &network.layers {
        table.row([layer.layer.clone(), count(layer.links), layer.latency.to_string(), text(layer.bandwidth)]);
    }
    format!(
        "{}  switches: {}; nodes: {}; links add at most {} to the latency\n",
        table.without_empty_columns().render(),
        count(network.switches.into()),
        count(network.nodes.into()),
        network.longest
    )
}

fn costs(all: &[PlaceCosts]) -> String {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("common place", Align::Left),
        right("message"),
        right("latency"),
        right("bandwidth"),
        right("overheads"),
        ("protocol", Align::Left),
        ("contention", Align::Left),
    ])
    .keyed(2);
    for of in all {
        for message in &of.messages {
            table.row([of.place.clone(), message.bytes.to_string()].into_iter().chain(figures(of, message)));
        }
    }
    table.render()
}

fn figures(of: &PlaceCosts, message: &MessageCosts) -> [String; 5] {
    [
        message.latency.to_string(),
        message.bandwidth.to_string(),
        (message.send_overhead + message.recv_overhead).to_string(),
        if message.rendezvous { "rendezvous" } else { "eager" }.to_owned(),
        of.contention.name().to_owned(),
    ]
}

fn route(pair: &PairOverview) -> String {
    let core = |site: Site| format!("{}.{}.{}", site.node, site.cmp, site.core);
    let mut text =
        format!("core {} to core {}: least common place {}\n", core(pair.from), core(pair.to), pair.costs.place);
    text.push_str(&costs(std::slice::from_ref(&pair.costs)));
    text.push('\n');
    if pair.resources.is_empty() {
        text.push_str("  the message passes no shared resource\n");
        return text;
    }
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("resource", Align::Left),
        ("at", Align::Left),
        right("latency"),
        right("bandwidth"),
        right("cache"),
    ])
    .keyed(2);
    for passed in &pair.resources {
        table.row([
            passed.resource.name().to_owned(),
            passed.at.clone(),
            self::text(passed.latency),
            self::text(passed.bandwidth),
            self::text(passed.cache),
        ]);
    }
    text.push_str(&table.without_empty_columns().render());
    text
}

fn text(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn range(LeastMost { least, most }: LeastMost, unit: &str) -> String {
    if least == most { counted(most, unit) } else { format!("{} to {}", count(least), counted(most, unit)) }
}

fn counted(number: u64, unit: &str) -> String {
    format!("{} {unit}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use crate::platform::Platform;

    use super::*;

    #[test]
    fn lines_fit_80_columns() {
        let platform = Platform::embedded();
        let last = platform.shape.site(platform.shape.total_cores() - 1);
        let text = machine_summary(&platform.overview(Some([platform.shape.site(0), last])));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("least common place machine"), "{text}");
    }

    #[test]
    fn numbers_agree_with_their_units() {
        assert_eq!(range(LeastMost { least: 1, most: 1 }, "core"), "1 core");
        assert_eq!(range(LeastMost { least: 3, most: 4 }, "node"), "3 to 4 nodes");
    }
}
