//! All fragments of a run and their dependences, in a few arrays that all simulated processes share. No fragment of the
//! run has its own heap allocation.

use crate::platform::CoreRates;
use crate::rank::Rank;

use super::super::work::Amount;
use super::options::Options;
use super::space::IndexSpace;
use super::store::DataPlace;

/// Identifier of a computation fragment, unique among all families.
pub(super) type Fragment = u32;

/// Identifier of a data fragment, unique among all families.
pub(super) type Data = u32;

/// Greatest number of fragments. The limit follows from the number of bits in a message's tag.
pub(super) const MOST: u32 = (1 << 28) - 1;

/// Process of a fragment without a locator, which runs on the process that creates the fragment.
pub(super) const HERE: Rank = Rank::MAX;
/// Process of a fragment with a dynamic locator, which is decided at run time.
pub(super) const DYNAMIC: Rank = Rank::MAX - 1;
/// Marks data without a producer, or a fragment without a creator, which exists from the start of the run.
pub(super) const NOBODY: u32 = u32::MAX;

/// Members of one family of fragments, which have consecutive identifiers.
#[derive(Clone, Debug)]
pub(super) struct FamilyMembers {
    pub name: String,
    pub first: u32,
    pub space: IndexSpace,
}

/// Lists of integers, stored one after another in a single array.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

/// Process and size of a data fragment. Both fields are read together and are therefore stored together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping {
    /// MPI process that stores the data fragment and sends it to processes that request it.
    pub home: Rank,
    /// Index of the data fragment among the data fragments that the process `home` stores.
    pub kept: u32,
    /// Size of the data fragment in bytes.
    pub bytes: u64,
}

/// All fragments of a task-based run, and the dependences between the fragments.
#[derive(Debug)]
pub(super) struct TaskGraph {
    pub options: Options,
    pub processes: u32,
    pub seed: u64,
    pub rates: CoreRates,
    pub families: Vec<FamilyMembers>,
    pub data: Vec<FamilyMembers>,
    /// For each fragment, the process that executes it, or [`HERE`], or [`DYNAMIC`].
    pub at: Vec<Rank>,
    /// For each fragment, the index of its cost in `amounts`.
    pub cost: Vec<u32>,
    pub amounts: Vec<Amount>,
    pub inputs: Lists,
    pub outputs: Lists,
    pub children: Lists,
    /// For each data fragment, the process that stores it, and its size.
    pub keeping: Vec<Keeping>,
    /// For each data fragment, the fragment that produces it.
    pub maker: Vec<Fragment>,
    /// For each data fragment, the fragments that read it. Only the central work queue needs these lists.
    pub readers: Option<Lists>,
    /// For each process, the fragments that exist on it from the start of the run.
    pub roots: Lists,
    /// For each process, the number of data fragments that it stores.
    pub homed: Vec<u32>,
    /// For each process, the number of fragments that it executes, if the locators determine this number before the
    /// run.
    pub expected: Option<Vec<u32>>,
}

impl Lists {
    pub fn new() -> Self {
        Lists { start: vec![0], items: Vec::new() }
    }

    /// Appends an item to the list under construction.
    pub fn push(&mut self, item: u32) {
        self.items.push(item);
    }

    /// Ends the list under construction and begins the next list.
    pub fn close(&mut self) {
        self.start.push(self.items.len() as u32);
    }

    #[inline]
    pub fn of(&self, number: u32) -> &[u32] {
        &self.items[self.start[number as usize] as usize..self.start[number as usize + 1] as usize]
    }

    /// Creates `count` lists from pairs of a list index and an item. The items of a list are in the order of the pairs.
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

/// Name of the fragment with identifier `number`: `step[3, 0]`, or `main` for a family without indices.
fn name(families: &[FamilyMembers], number: u32) -> String {
    let family = &families[family(families, number)];
    let indices: Vec<String> = family.space.indices(number - family.first).iter().map(i64::to_string).collect();
    if indices.is_empty() { family.name.clone() } else { format!("{}[{}]", family.name, indices.join(", ")) }
}

/// Index of the family of the fragment with identifier `number`.
pub(super) fn family(families: &[FamilyMembers], number: u32) -> usize {
    // If several families have the same first identifier, all families except the last are empty.
    families.partition_point(|family| family.first <= number) - 1
}

impl TaskGraph {
    /// Number of computation fragments in the run.
    pub fn count(&self) -> u32 {
        self.at.len() as u32
    }

    pub fn name(&self, fragment: Fragment) -> String {
        name(&self.families, fragment)
    }

    pub fn data_name(&self, data: Data) -> String {
        name(&self.data, data)
    }

    /// Whether the computation fragment creates other fragments.
    #[inline]
    pub fn is_structured(&self, fragment: Fragment) -> bool {
        !self.children.of(fragment).is_empty()
    }

    /// Where `process` keeps the state of the data fragment `data`.
    #[inline]
    pub fn place(&self, data: Data, process: Rank) -> DataPlace {
        let Keeping { home, kept, .. } = self.keeping[data as usize];
        if home == process { DataPlace::Kept(kept) } else { DataPlace::Copy(data) }
    }

    /// Cost of the computation fragment `fragment`.
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
