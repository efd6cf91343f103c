//! Groups of nodes with similar message times (such as the nodes of a switch), as places of a platform file.

use super::infer_platform::fitted;
use super::text::{comment, place};
use mcpsim_core::platform::Level;

/// Groups of nodes of one kind. The pairs of nodes of a group have similar message times.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredGroups {
    /// Name of the places in the platform file.
    pub name: String,
    /// Group of each node.
    pub of_node: Vec<u32>,
    /// Half round trips of pairs of nodes without a smaller common group: message sizes and seconds.
    pub times: Vec<(u64, f64)>,
}

impl MeasuredGroups {
    /// Creates the groups of nodes that `groups` of ranks contain. `nodes` has the ranks of each node. `number` counts
    /// the kinds of groups from 0, smallest groups first.
    pub(super) fn new(number: usize, groups: &[Vec<u32>], nodes: &[Vec<u32>]) -> Self {
        let name = match number {
            0 => "switch".to_owned(),
            1 => "group".to_owned(),
            _ => format!("level{}", number + 1),
        };
        let group_of = |node: &Vec<u32>| groups.iter().position(|group| group.binary_search(&node[0]).is_ok());
        let of_node = nodes.iter().map(|node| group_of(node).unwrap_or_default() as u32).collect();
        MeasuredGroups { name, of_node, times: Vec::new() }
    }

    /// Number of nodes per group, if the groups are consecutive blocks of nodes.
    fn block(&self) -> Option<usize> {
        let size = self.of_node.iter().take_while(|group| **group == 0).count().max(1);
        let is_block = self.of_node.iter().enumerate().all(|(node, group)| node / size == *group as usize);
        is_block.then_some(size)
    }

    /// Writes the table of the platform file. `list` is the name of the file that assigns nodes to groups.
    pub(super) fn write(&self, text: &mut String, list: &str) {
        text.push('\n');
        comment(text, "Medians of all pairs of nodes of such a place without a smaller common place.");
        let nodes = self.block().map_or_else(|| toml::Value::from(list).to_string(), |size| size.to_string());
        place(text, (&self.name, &nodes), &fitted(Level::InterNode, &self.times));
    }
}

/// Returns the text of the file that assigns nodes to groups, if any groups need such a file.
pub(super) fn node_list(kinds: &[MeasuredGroups]) -> Option<String> {
    if kinds.iter().all(|kind| kind.block().is_some()) {
        return None;
    }
    let line = |first: String, of: &dyn Fn(&MeasuredGroups) -> String| {
        let words: Vec<String> = kinds.iter().map(of).collect();
        format!("{first} {}\n", words.join(" "))
    };
    let mut text = line("node".to_owned(), &|kind| kind.name.clone());
    for node in 0..kinds.iter().map(|kind| kind.of_node.len()).max().unwrap_or(0) {
        text.push_str(&line(node.to_string(), &|kind| kind.of_node[node].to_string()));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_consecutive_nodes_need_no_list() {
        // Four nodes of two ranks on two switches.
        let nodes: Vec<Vec<u32>> = (0..4).map(|node| vec![2 * node, 2 * node + 1]).collect();
        let mut blocks = MeasuredGroups::new(0, &[vec![0, 1, 2, 3], vec![4, 5, 6, 7]], &nodes);
        assert_eq!((blocks.of_node.as_slice(), blocks.block()), ([0, 0, 1, 1].as_slice(), Some(2)));
        assert_eq!(node_list(std::slice::from_ref(&blocks)), None);
        blocks.times = vec![(0, 2e-6), (1_000, 3e-6), (1_000_000, 1002e-6)];
        let mut text = String::new();
        blocks.write(&mut text, "x.nodes.txt");
        assert!(text.contains("[places.switch]\nnodes = 2\nhandshake = \"") && text.ends_with("]\n"), "{text}");
        // The nodes of a switch alternate with those of the other switch.
        let turns = MeasuredGroups::new(1, &[vec![0, 1, 4, 5], vec![2, 3, 6, 7]], &nodes);
        assert_eq!(turns.block(), None);
        let list = "node switch group\n0 0 0\n1 0 1\n2 1 0\n3 1 1\n";
        assert_eq!(node_list(&[blocks, turns]).as_deref(), Some(list));
    }
}
