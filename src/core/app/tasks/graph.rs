//! All fragments of a run and their dependences: a few arrays shared by all processes, with no heap allocation per
//! fragment.

use crate::platform::CoreRates;
use crate::rank::Rank;

use super::super::work::Amount;
use super::options::Options;
use super::space::IndexSpace;
use super::store::DataPlace;

/// Number of a fragment, over all families.
pub(super) type Fragment = u32;

/// Number of a data fragment, over all families.
pub(super) type Data = u32;

/// Greatest number that fits in a message's tag.
pub(super) const MOST: u32 = (1 << 28) - 1;

/// Place of a fragment without a locator: the process that creates it.
pub(super) const HERE: Rank = Rank::MAX;
/// Place of a fragment with a dynamic locator.
pub(super) const DYNAMIC: Rank = Rank::MAX - 1;
/// Missing producer of data, or missing creator of a fragment that exists from the beginning.
pub(super) const NOBODY: u32 = u32::MAX;

/// Members of one kind, with consecutive numbers.
#[derive(Clone, Debug)]
pub(super) struct FamilyMembers {
    pub name: String,
    pub first: u32,
    pub space: IndexSpace,
}

/// Lists of numbers, one per index, in a single array.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

/// Place of a data fragment. The fields are read together, so they are stored together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping {
    /// Process that stores it and serves requests for it.
    pub home: Rank,
    /// Its number among the data stored there.
    pub kept: u32,
    /// Size in bytes.
    pub bytes: u64,
}

/// Fragments of a run.
#[derive(Debug)]
pub(super) struct TaskGraph {
    pub options: Options,
    pub processes: u32,
    pub seed: u64,
    pub rates: CoreRates,
    pub families: Vec<FamilyMembers>,
    pub data: Vec<FamilyMembers>,
    /// By fragment: its place, or [`HERE`], or [`DYNAMIC`].
    pub at: Vec<Rank>,
    /// By fragment: index of its cost in `amounts`.
    pub cost: Vec<u32>,
    pub amounts: Vec<Amount>,
    pub inputs: Lists,
    pub outputs: Lists,
    pub children: Lists,
    /// By data fragment: its place and size.
    pub keeping: Vec<Keeping>,
    /// By data fragment: its producer.
    pub maker: Vec<Fragment>,
    /// By data fragment: its readers; only for the work queue.
    pub readers: Option<Lists>,
    /// By process: fragments that exist from the beginning.
    pub roots: Lists,
    /// By process: number of data fragments stored there.
    pub homed: Vec<u32>,
    /// By process: number of fragments that it executes, if determined by the locators.
    pub expected: Option<Vec<u32>>,
}

impl Lists {
    pub fn new() -> Self {
        Lists { start: vec![0], items: Vec::new() }
    }

    /// Appends to the current list.
    pub fn push(&mut self, item: u32) {
        self.items.push(item);
    }

    /// Ends the current list.
    pub fn close(&mut self) {
        self.start.push(self.items.len() as u32);
    }

    #[inline]
    pub fn of(&self, number: u32) -> &[u32] {
        &self.items[self.start[number as usize] as usize..self.start[number as usize + 1] as usize]
    }

    /// Sorts `pairs` of a list's number and an item into `count` lists, in the order of the pairs.
    pub fn sorted(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut start = vec![0u32; count + 1];
        for (list, _) in pairs.clone() {
            start[list as usize + 1] += 1;
        }
        for list in 0..count {
            start[list + 1] += start[list];
        }
        let mut next = start.clone();
        let mut items = vec![0; start[count] as usize];
        for (list, item) in pairs {
            items[next[list as usize] as usize] = item;
            next[list as usize] += 1;
        }
        Lists { start, items }
    }
}

/// `step[3, 0]`, or `main` without indices.
fn name(families: &[FamilyMembers], number: u32) -> String {
    let family = &families[family(families, number)];
    let indices: Vec<String> = family.space.indices(number - family.first).iter().map(i64::to_string).collect();
    if indices.is_empty() { family.name.clone() } else { format!("{}[{}]", family.name, indices.join(", ")) }
}

/// Family of `number`.
pub(super) fn family(families: &[FamilyMembers], number: u32) -> usize {
    // Of several families with the same first number, all but the last are empty.
    families.partition_point(|family| family.first <= number) - 1
}

impl TaskGraph {
    /// Number of fragments.
    pub fn count(&self) -> u32 {
        self.at.len() as u32
    }

    pub fn name(&self, fragment: Fragment) -> String {
        name(&self.families, fragment)
    }

    pub fn data_name(&self, data: Data) -> String {
        name(&self.data, data)
    }

    /// Whether the fragment creates others.
    #[inline]
    pub fn is_structured(&self, fragment: Fragment) -> bool {
        !self.children.of(fragment).is_empty()
    }

    /// Place where `process` stores the state of `data`.
    #[inline]
    pub fn place(&self, data: Data, process: Rank) -> DataPlace {
        let Keeping { home, kept, .. } = self.keeping[data as usize];
        if home == process { DataPlace::Kept(kept) } else { DataPlace::Copy(data) }
    }

    /// Cost of the fragment.
    #[inline]
    pub fn amount(&self, fragment: Fragment) -> Amount {
        self.amounts[self.cost[fragment as usize] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_by_number_and_keep_the_order_of_their_items() {
        let pairs = [(2, 7), (0, 5), (2, 1), (0, 9)];
        let lists = Lists::sorted(4, pairs.into_iter());
        assert_eq!([0, 1, 2, 3].map(|list| lists.of(list).to_vec()), [vec![5, 9], vec![], vec![7, 1], vec![]]);
    }
}
